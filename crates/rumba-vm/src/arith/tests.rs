//! Both readings of every operation, over edges, constants and random operands: as numbers of Rust, and as code of LLVM.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::fmt::Write as _;

use rumba_jit::{Code, Jit, Settings, Source};

use crate::arith::emit::Operand;
use crate::arith::possible::all;
use crate::arith::primitive as p;
use crate::arith::primitive::{NAMES, Primitive};
use crate::arith::{Arith, Builder, Emit, Operands, Scalar, Steps};
use crate::base::ir::{Element, Value, Writer};
use crate::base::lanes::LANES;
use crate::words::{EDGES, Words};

/// How the operands of a function are given.
#[derive(Clone, Copy, Debug)]
enum Variant {
    /// As vectors.
    Vectors,
    /// As one number each.
    Numbers,
    /// As vectors, except for a constant at this position.
    Constant(usize, u64),
    /// As vectors of numbers of 32 bits, and at this position as one number.
    Short(Option<usize>),
}

/// The operations that are written otherwise where operands have few bits.
const OF_FEW_BITS: &[&str] = &["Less"];

/// The low half of a number.
const LOW: u64 = u32::MAX as u64;

/// The variants of an operation of so many operands.
fn variants(name: &str, count: usize) -> Vec<Variant> {
    let constants = [0, 1, 31, 0xffff_ffff, 0x3f80_0000, 0x3ff0_0000_0000_0000, u64::MAX];
    let positions = if count == 1 { 0..0 } else { 0..count };
    let with_constant = positions.flat_map(|at| constants.map(|constant| Variant::Constant(at, constant)));
    let short = [None, Some(0), Some(1)].map(Variant::Short);
    let short = short.into_iter().filter(|_| OF_FEW_BITS.contains(&name));
    [Variant::Vectors, Variant::Numbers].into_iter().chain(short).chain(with_constant).collect()
}

/// An operation of [`crate::arith::primitive`] with both of its readings, of words as operands.
struct Operation {
    name: &'static str,
    /// The number of operands.
    count: usize,
    result: Element,
    /// The operation as code of LLVM.
    emit: fn(&Builder, &[Value]) -> Operand,
    /// The results as numbers of Rust, with a fused multiply-add and without.
    native: fn(&[u64]) -> [u64; 2],
}

/// Operands of words.
trait OfWords {
    fn of_words(words: &[u64]) -> Self;
}

macro_rules! of_words {
    ($($($T:ident)*;)*) => {$(
        impl<$($T: Scalar),*> OfWords for ($($T,)*) {
            fn of_words(words: &[u64]) -> Self {
                let mut words = words.iter().copied();
                ($($T::from_word(words.next().expect("a word for each operand")),)*)
            }
        }
    )*};
}

of_words! { A; A B; A B C; }

impl Operation {
    fn of<P: Primitive<Operands: OfWords>>() -> Self {
        fn emit<P: Primitive>(builder: &Builder, operands: &[Value]) -> Operand {
            Emit::apply::<P>(P::Operands::inputs(builder, operands)).operand()
        }
        fn native<P: Primitive<Operands: OfWords>>(words: &[u64]) -> [u64; 2] {
            let operands = P::Operands::of_words(words);
            [P::native::<true>(operands), P::native::<false>(operands)].map(Scalar::to_word)
        }
        Self {
            name: P::NAME,
            count: P::Operands::COUNT,
            result: P::Result::ELEMENT,
            emit: emit::<P>,
            native: native::<P>,
        }
    }

    /// Writes a function that applies the operation to the operands at `in`, 32 words for each.
    fn write(&self, w: &mut Writer, name: &str, variant: Variant) {
        let is_vector = !matches!(variant, Variant::Numbers);
        w.line(format_args!("define void @{name}(ptr %in, ptr %out) {{"));
        let operands: Vec<Value> = (0..self.count)
            .map(|position| match variant {
                Variant::Constant(at, constant) if at == position => Value::integer(Element::I64, constant),
                Variant::Vectors | Variant::Numbers | Variant::Constant(..) | Variant::Short(_) => {
                    let is_vector = is_vector && !matches!(variant, Variant::Short(Some(at)) if at == position);
                    let place = w.name("%p");
                    w.line(format_args!("{place} = getelementptr i8, ptr %in, i64 {}", position * LANES * 8));
                    let ty = if is_vector { "<32 x i64>" } else { "i64" };
                    let value = w.value(Element::I64, is_vector, format_args!("load {ty}, ptr {place}, align 8"));
                    match variant {
                        Variant::Short(_) if is_vector => w.and_with(&value, LOW).with_possible_bits(LOW),
                        _ => value,
                    }
                }
            })
            .collect();
        let builder = Builder::new();
        let result = (self.emit)(&builder, &operands);
        let [result] = builder.finish(w, [result]);
        let result = w.extended(&result, Element::I64);
        let result = if is_vector { w.spread(&result) } else { result };
        w.line(format_args!("store {result}, ptr %out, align 8"));
        w.line("ret void");
        w.line("}");
    }

    /// The result of the native reading for words as operands.
    fn native(&self, words: &[u64]) -> u64 {
        let [fused, unfused] = (self.native)(words);
        assert!(self.is_same(fused, unfused), "{} of {words:x?}: {fused:#x} fused, {unfused:#x} otherwise", self.name);
        fused
    }

    /// Whether results agree: the bits of most NaNs are unspecified.
    fn is_same(&self, a: u64, b: u64) -> bool {
        let is_exact = matches!(self.name, "Canonical" | "Select" | "Neg" | "Abs" | "Copysign" | "Reinterpret");
        let is_nan = |word| match self.result {
            Element::F32 => f32::from_bits(word as u32).is_nan(),
            Element::F64 => f64::from_bits(word).is_nan(),
            _ => false,
        };
        a == b || !is_exact && is_nan(a) && is_nan(b)
    }
}

/// The operations that were compared, and a source of masks.
struct Compared {
    names: BTreeSet<&'static str>,
    masks: Words,
    /// How often each operation had a result that differs from lane to lane by a known step.
    strided: BTreeMap<&'static str, u32>,
    /// How often that was known because of the bits of first lanes alone.
    of_groups: BTreeMap<&'static str, u32>,
}

impl Compared {
    /// Compares the readings of an operation.
    fn compare(&mut self, operation: &Operation) {
        self.names.insert(operation.name);
        let variants = variants(operation.name, operation.count);
        let mut w = Writer::new();
        for (index, variant) in variants.iter().enumerate() {
            operation.write(&mut w, &format!("f{index}"), *variant);
        }
        let mut text = String::new();
        for declaration in w.declarations() {
            writeln!(text, "{declaration}").unwrap();
        }
        text.push_str(w.text());
        let jit = Jit::new(Settings {
            library: rumba_llvm::find::library,
            cache: None,
            build: "test".to_owned(),
            pipeline: rumba_jit::WARP_PASSES,
            level: rumba_llvm::Level::O3,
            log: |_| (),
        });
        let code = jit
            .compile_now(&Source::of_text(operation.name, &text))
            .unwrap_or_else(|error| panic!("{}: {error}\n{text}", operation.name));
        let rounds = operands(operation.count);
        for (index, variant) in variants.into_iter().enumerate() {
            let rounds = match variant {
                Variant::Constant(..) => &rounds[..rounds.len() - RANDOM_ROUNDS_OF_VARIABLES],
                Variant::Vectors | Variant::Numbers | Variant::Short(_) => &rounds[..],
            };
            for round in rounds {
                let results = run(&code, &format!("f{index}"), variant, round);
                for (lane, result) in results.into_iter().enumerate() {
                    let mut words: Vec<u64> = round.iter().map(|operand| operand[lane]).collect();
                    match variant {
                        Variant::Constant(at, constant) => words[at] = constant,
                        Variant::Short(one) => {
                            words.iter_mut().for_each(|word| *word &= LOW);
                            one.into_iter().for_each(|at| words[at] = round[at][0]);
                        }
                        Variant::Vectors | Variant::Numbers => {}
                    }
                    let expected = operation.native(&words);
                    assert!(
                        operation.is_same(result, expected),
                        "{} of {words:x?} ({variant:?}) is {result:#x} in native code and {expected:#x} in Rust",
                        operation.name
                    );
                    // Each pair of edges comes with many constants.
                    match self.masks.word() % 16 {
                        0 => self.bound(operation, &words, variant),
                        1 => self.step(operation, &words, variant),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Looks whether a result has only bits that may be set, for operands of which only some bits may be set.
    fn bound(&mut self, operation: &Operation, words: &[u64], variant: Variant) {
        let operands: Vec<_> = (0..words.len())
            .map(|position| match variant {
                Variant::Constant(at, constant) if at == position => Value::integer(Element::I64, constant),
                _ => Value::named("%x", Element::I64, true).with_possible_bits(self.mask()),
            })
            .collect();
        let words: Vec<_> = words.iter().zip(&operands).map(|(word, operand)| word & operand.possible_bits()).collect();
        let builder = Builder::new();
        let possible = builder.known((operation.emit)(&builder, &operands), &Steps::default()).bits;
        let found = operation.native(&words);
        assert_eq!(
            found & !possible,
            0,
            "{} of {words:x?} is {found:#x}, but of {operands:x?} only {possible:#x} is possible",
            operation.name
        );
    }

    /// Looks whether a result differs from lane to lane as its stride says, for operands that differ by random steps.
    fn step(&mut self, operation: &Operation, words: &[u64], variant: Variant) {
        let (mut operands, mut steps) = (Vec::new(), Vec::new());
        let mut words = words.to_vec();
        for (position, word) in words.iter_mut().enumerate() {
            // As addresses of groups have them, the low bits of some first lanes are zeros.
            if self.masks.word().is_multiple_of(2) {
                *word &= !31;
            }
            let (operand, step) = match variant {
                Variant::Constant(at, constant) if at == position => (Value::integer(Element::I64, constant), 0),
                // Operands without steps, with small steps and with any.
                _ => match self.masks.word() % 4 {
                    0 => (Value::named("%x", Element::I64, true), 0),
                    1 => (Value::named("%x", Element::I64, true), self.masks.word().cast_signed()),
                    _ => (Value::named("%x", Element::I64, true), (self.masks.word() % 17).cast_signed() - 8),
                },
            };
            operands.push(operand);
            steps.push(step);
        }
        let lane = |lane: i64| -> Vec<u64> {
            let all = words.iter().zip(&steps).enumerate();
            let of = |(position, (word, step)): (usize, (&u64, &i64))| match variant {
                Variant::Constant(at, constant) if at == position => constant,
                _ => word.wrapping_add(step.wrapping_mul(lane).cast_unsigned()),
            };
            all.map(of).collect()
        };
        let lanes: Vec<Vec<u64>> = (0..4).map(lane).collect();
        // The bits that are set in some lane.
        for (position, operand) in operands.iter_mut().enumerate().filter(|(_, operand)| operand.number().is_none()) {
            let bits = lanes.iter().fold(0, |bits, words| bits | words[position]);
            *operand = Value::named("%x", Element::I64, true).with_possible_bits(bits);
        }
        let firsts: Vec<u64> = words.iter().map(|word| word | self.mask() & self.mask()).collect();
        let known = |steps| {
            let builder = Builder::new();
            builder.known((operation.emit)(&builder, &operands), &steps)
        };
        let known_steps = Steps { steps: &steps, ..Steps::default() };
        let without_firsts = known(known_steps);
        let known = known(Steps { firsts: &firsts, others: 3, ..known_steps });
        let first = operation.native(&lanes[0]);
        assert_eq!(first & all(operation.result) & !known.first, 0, "{} of {firsts:x?}", operation.name);
        let Some(stride) = known.stride else { return };
        *self.of_groups.entry(operation.name).or_default() += u32::from(without_firsts.stride.is_none());
        let wraps = |position: usize| {
            let low = |words: &Vec<u64>| words[position] as u32;
            lanes.windows(2).any(|pair| {
                let (here, next) = (low(&pair[0]), low(&pair[1]));
                let step = i64::from(steps[position] as i32);
                let is_in = |operands: u8| operands >> position & 1 != 0;
                is_in(stride.unsigned) && i64::from(here) + step != i64::from(next)
                    || is_in(stride.signed) && i64::from(here as i32) + step != i64::from(next as i32)
            })
        };
        if (0..words.len()).any(wraps) {
            return;
        }
        *self.strided.entry(operation.name).or_default() += u32::from(stride.step != 0);
        let results: Vec<u64> = lanes.iter().map(|words| operation.native(words)).collect();
        for pair in results.windows(2) {
            let next = pair[0].wrapping_add(stride.step.cast_unsigned());
            let differing = (next ^ pair[1]) & all(operation.result);
            assert_eq!(differing, 0, "{} of {lanes:x?} is {results:x?}, not in steps of {stride:?}", operation.name);
        }
    }

    /// Few bits, low bits, high bits, or any bits.
    fn mask(&mut self) -> u64 {
        let word = self.masks.word();
        match word % 4 {
            0 => 1 << (word >> 58),
            1 => u64::MAX >> (word >> 58),
            2 => u64::MAX << (word >> 58),
            _ => self.masks.word(),
        }
    }
}

/// Runs a function on operands, 32 words each.
fn run(code: &Code, name: &str, variant: Variant, operands: &[[u64; LANES]]) -> [u64; LANES] {
    let symbol = code.symbol(name).expect("the text defines it");
    // SAFETY: the text defines the function with these parameters.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const u64, *mut u64)>(symbol.as_ptr()) };
    let words: Vec<u64> = operands.concat();
    let mut results = [0; LANES];
    // SAFETY: the function reads 32 words for each operand, or one word of each, and writes as many.
    unsafe {
        match variant {
            Variant::Numbers => {
                for lane in 0..LANES {
                    function(words.as_ptr().add(lane), results.as_mut_ptr().add(lane));
                }
            }
            Variant::Vectors | Variant::Constant(..) | Variant::Short(_) => {
                function(words.as_ptr(), results.as_mut_ptr());
            }
        }
    }
    results
}

/// Rounds of random words that every function gets, and those that only functions without a constant get.
const RANDOM_ROUNDS: usize = 8;
const RANDOM_ROUNDS_OF_VARIABLES: usize = 24;

/// Rounds of operands: all pairs of edges, and random words.
fn operands(count: usize) -> Vec<Vec<[u64; LANES]>> {
    let mut words = Words::new(0x9e37_79b9_7f4a_7c15);
    let pairs: Vec<[u64; 2]> = EDGES.iter().flat_map(|a| EDGES.map(|b| [*a, b])).collect();
    let of_edges = pairs.chunks(LANES).map(|pairs| {
        let of = |position: usize, lane: usize| pairs[lane % pairs.len()][position];
        (0..count)
            .map(|position| match position {
                0 | 1 => std::array::from_fn(|lane| of(position, lane)),
                _ => std::array::from_fn(|lane| EDGES[lane % EDGES.len()]),
            })
            .collect::<Vec<_>>()
    });
    let mut rounds: Vec<_> = of_edges.collect();
    let random = 0..RANDOM_ROUNDS + RANDOM_ROUNDS_OF_VARIABLES;
    rounds.extend(random.map(|_| (0..count).map(|_| std::array::from_fn(|_| words.word())).collect::<Vec<_>>()));
    rounds
}

/// Compares operations at types: `Name<type>`, for each of some types.
macro_rules! compare {
    ($compared:ident: $($name:ident)*; $types:tt) => {$(
        compare!(@types $compared $name $types);
    )*};
    (@types $compared:ident $name:ident [$($T:ty),*]) => {$(
        $compared.compare(&Operation::of::<p::$name<$T>>());
    )*};
}

#[test]
fn readings_of_operations_agree() {
    if cfg!(miri) || rumba_llvm::find::library().is_none() {
        return;
    }
    let mut compared =
        Compared { names: BTreeSet::new(), masks: Words::new(1), strided: BTreeMap::new(), of_groups: BTreeMap::new() };
    compare!(compared: Add Sub Mul Neg Equal Less LessOrEqual; [u16, i16, u32, i32, u64, i64, f32, f64]);
    compare!(compared: And Or Xor; [bool, u16, u32, u64]);
    compare!(compared: Select; [bool, u16, u32, u64, f32, f64]);
    compare!(compared: OfBool; [u16, u32, i64]);
    compare!(compared: Shl Shr High Quotient Min Max; [u16, i16, u32, i32, u64, i64]);
    compare!(compared: SaturatingAdd SaturatingSub; [i32, u32]);
    compare!(compared: CountOnes LeadingZeros ReverseBits; [u32, u64, i32, i64]);
    compare!(compared: FunnelLeft FunnelRight; [u32, u64]);
    compare!(compared: Div IsNan Abs Copysign Sqrt Fma RoundEven Truncate Floor Ceiling; [f32, f64]);
    macro_rules! conversions {
        ($($T:ty)*) => {$(
            compared.compare(&Operation::of::<p::Cast<$T, u8>>());
            compared.compare(&Operation::of::<p::Cast<$T, i16>>());
            compared.compare(&Operation::of::<p::Cast<$T, u32>>());
            compared.compare(&Operation::of::<p::Cast<$T, i64>>());
            compared.compare(&Operation::of::<p::OfInteger<f32, $T>>());
            compared.compare(&Operation::of::<p::OfInteger<f64, $T>>());
            compared.compare(&Operation::of::<p::ToInteger<f32, $T>>());
            compared.compare(&Operation::of::<p::ToInteger<f64, $T>>());
        )*};
    }
    conversions!(u8 i8 u16 i16 u32 i32 u64 i64);
    compared.compare(&Operation::of::<p::Widen>());
    compared.compare(&Operation::of::<p::Narrow>());
    compared.compare(&Operation::of::<p::Canonical>());
    compared.compare(&Operation::of::<p::Invalid>());
    compared.compare(&Operation::of::<p::Reinterpret<u32, f32>>());
    compared.compare(&Operation::of::<p::Reinterpret<f64, u64>>());
    compared.names.remove("Reinterpret");
    assert_eq!(compared.names, NAMES.iter().copied().collect(), "operations of the table that are not compared");
    let names = |counts: &BTreeMap<&'static str, u32>| -> BTreeSet<&'static str> {
        counts.iter().filter(|(_, count)| **count > 0).map(|(name, _)| *name).collect()
    };
    assert_eq!(names(&compared.of_groups), ["And", "Or", "Shr", "Xor"].into_iter().collect());
    // The second row has strides where constants make the result an operand.
    let expected = [
        ["Add", "And", "Cast", "Mul", "Neg", "Or", "Reinterpret", "Shl", "Shr", "Sub", "Xor"].as_slice(),
        ["Select"].as_slice(),
    ];
    assert_eq!(names(&compared.strided), expected.concat().into_iter().collect());
}

#[test]
fn constants_are_folded_and_unused_operations_dropped() {
    let mut w = Writer::new();
    let builder = Builder::new();
    let x = crate::arith::V::<Emit<'_>, u32>(builder.input(&Value::named("%x", Element::I32, true)));
    let unused = x * 3;
    let selected = crate::arith::select(false, unused, (x & u32::MAX) + 0);
    let back = selected.reinterpret::<f32>().to_bits();
    let [value] = builder.finish(&mut w, [back.operand()]);
    assert_eq!((value.text(), w.text()), ("%x", ""));
}

/// Bits that no active lane has may be set in the number of the first lane: an `or` would drop the carry.
#[test]
fn a_union_of_affine_numbers_is_a_sum_in_the_first_lane() {
    let operand = |name, bits| Value::named(name, Element::I32, false).with_possible_bits(bits);
    let written = |bits: [u64; 2]| {
        let (mut w, builder) = (Writer::new(), Builder::new());
        let [a, b] = [("%a", bits[0]), ("%b", bits[1])]
            .map(|(name, bits)| crate::arith::V::<Emit<'_>, u32>(builder.input(&operand(name, bits))));
        let _ = builder.finish_first(&mut w, (a | b).operand(), &Steps { steps: &[4, 0], ..Steps::default() });
        w.text().to_owned()
    };
    assert!(written([0x7c, 0x80]).contains("= add i32 %a, %b"), "{}", written([0x7c, 0x80]));
    assert!(written([0xfc, 0x80]).contains("= or i32 %a, %b"), "{}", written([0xfc, 0x80]));
}
