//! A writer of LLVM's assembly language: values that are one number or a vector of 32, and instructions on them.
//!
//! The writer does not know the semantics of PTX. An instruction on both numbers and vectors first makes vectors of the
//! numbers, so that a form is written once for both.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use crate::base::lanes::LANES;

/// The bits of the NaN that arithmetic on `f32` gives.
pub const NAN_F32: u32 = 0x7fff_ffff;

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// A truth value.
    I1,
    /// An integer of 8 bits.
    I8,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A floating-point number of 32 bits.
    F32,
    /// A floating-point number of 64 bits.
    F64,
}

impl Element {
    /// Its name in LLVM.
    pub fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Its width.
    pub fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8 => 8,
            Self::I16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
        }
    }

    /// The integer of the same width.
    #[must_use]
    pub fn integer(self) -> Self {
        match self {
            Self::F32 => Self::I32,
            Self::F64 => Self::I64,
            Self::I1 | Self::I8 | Self::I16 | Self::I32 | Self::I64 => self,
        }
    }

    /// The type's suffix in the names of intrinsics.
    fn suffix(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I1 | Self::I8 | Self::I16 | Self::I32 | Self::I64 => self.name(),
        }
    }
}

/// A number, or a vector with a number for each lane of a warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    text: String,
    element: Element,
    is_vector: bool,
    /// The text is a constant number.
    is_constant: bool,
    /// The number, of a constant integer.
    number: Option<u64>,
    /// The bits that may be set in a number.
    possible_bits: u64,
}

impl Value {
    /// The value of a name.
    pub fn named(text: impl Into<String>, element: Element, is_vector: bool) -> Self {
        Self { text: text.into(), element, is_vector, is_constant: false, number: None, possible_bits: u64::MAX }
    }

    /// The value, of which only these bits may be set.
    #[must_use]
    pub fn with_possible_bits(self, possible_bits: u64) -> Self {
        Self { possible_bits, ..self }
    }

    /// An integer.
    pub fn integer(element: Element, value: u64) -> Self {
        let element = element.integer();
        let number = match element {
            Element::I1 => None,
            Element::I8 => Some(u64::from(value as u8)),
            Element::I16 => Some(u64::from(value as u16)),
            Element::I32 | Element::F32 => Some(u64::from(value as u32)),
            Element::I64 | Element::F64 => Some(value),
        };
        let text = number.map_or_else(|| (value & 1 != 0).to_string(), |number| number.to_string());
        Self { text, element, is_vector: false, is_constant: true, number, possible_bits: value }
    }

    /// A number with these bits.
    pub fn constant(element: Element, bits: u64) -> Self {
        let integer = Self::integer(element, bits);
        if integer.element == element {
            return integer;
        }
        Self { text: format!("bitcast ({integer} to {})", element.name()), element, number: None, ..integer }
    }

    /// The type of its numbers.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Whether it is a vector.
    pub fn is_vector(&self) -> bool {
        self.is_vector
    }

    /// The number, if it is a constant integer.
    pub fn number(&self) -> Option<u64> {
        self.number.filter(|_| !self.is_vector)
    }

    /// Whether it is a constant number.
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }

    /// The bits that may be set in a number.
    pub fn possible_bits(&self) -> u64 {
        self.possible_bits
    }

    /// Its type.
    pub fn ty(&self) -> String {
        ty(self.element, self.is_vector)
    }

    /// Its name or number.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Value {
    /// The value with its type, as an argument.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty(), self.text)
    }
}

/// A type in LLVM.
pub(crate) fn ty(element: Element, is_vector: bool) -> String {
    if is_vector { format!("<{LANES} x {}>", element.name()) } else { element.name().to_owned() }
}

/// Operations on integers that this crate uses in many places, of two values and of a value and a constant.
macro_rules! operations {
    ($($name:ident, $with:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), " a, b`, of integers.")]
        #[must_use]
        pub fn $name(&mut self, a: &Value, b: &Value) -> Value {
            self.binary(stringify!($name), a, b)
        }

        #[doc = concat!("`", stringify!($name), " a, b`, of an integer and a constant.")]
        #[must_use]
        pub fn $with(&mut self, a: &Value, b: u64) -> Value {
            self.binary_with(stringify!($name), a, b)
        }
    )*};
}

/// Writes instructions.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    next: u32,
    declarations: BTreeSet<String>,
    /// Whether arithmetic may leave NaNs uncanonical for now, and whether some operation has done so.
    nan_stays: bool,
    nan_stayed: bool,
}

impl Writer {
    /// A writer without instructions.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name that is not in use, for a value or a label.
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "  {text}");
    }

    /// Begins a block.
    pub(crate) fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// The text written so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Exchanges the text written so far for another text, to which the writer then appends.
    pub(crate) fn exchange(&mut self, text: &mut String) {
        std::mem::swap(&mut self.text, text);
    }

    /// The intrinsics that were used.
    pub(crate) fn declarations(&self) -> impl Iterator<Item = &str> {
        self.declarations.iter().map(String::as_str)
    }

    /// Remembers a declaration.
    pub(crate) fn declare(&mut self, declaration: impl Into<String>) {
        self.declarations.insert(declaration.into());
    }

    /// The result of an instruction.
    pub(crate) fn value(&mut self, element: Element, is_vector: bool, instruction: impl fmt::Display) -> Value {
        let name = self.name("%t");
        self.line(format_args!("{name} = {instruction}"));
        Value::named(name, element, is_vector)
    }

    /// A vector that has the number in each lane.
    #[must_use]
    pub fn spread(&mut self, value: &Value) -> Value {
        if value.is_vector {
            return value.clone();
        }
        let vector = ty(value.element, true);
        if value.is_constant {
            return Value { text: format!("splat ({value})"), is_vector: true, ..value.clone() };
        }
        let one = self.value(value.element, true, format_args!("insertelement {vector} poison, {value}, i32 0"));
        self.value(
            value.element,
            true,
            format_args!("shufflevector {one}, {vector} poison, <{LANES} x i32> zeroinitializer"),
        )
    }

    /// The operands, all of them made vectors if any operand is a vector; and whether they are vectors.
    fn alike<const N: usize>(&mut self, values: [&Value; N]) -> ([Value; N], bool) {
        let is_vector = values.iter().any(|value| value.is_vector);
        let values = values.map(|value| if is_vector { self.spread(value) } else { value.clone() });
        (values, is_vector)
    }

    /// `operation a, b`, such as `add` or `fmul`.
    #[must_use]
    pub fn binary(&mut self, operation: &str, a: &Value, b: &Value) -> Value {
        let ([a, b], is_vector) = self.alike([a, b]);
        self.value(a.element, is_vector, format_args!("{operation} {a}, {}", b.text))
    }

    /// The same operation with a constant of the same type as second operand.
    #[must_use]
    pub fn binary_with(&mut self, operation: &str, a: &Value, b: u64) -> Value {
        let b = Value::integer(a.element, b);
        self.binary(operation, a, &b)
    }

    operations! {
        add, add_with;
        sub, sub_with;
        mul, mul_with;
        and, and_with;
        or, or_with;
        xor, xor_with;
    }

    /// The result of arithmetic on `f32`, with all NaNs made canonical. Inside of [`Self::leave_nan`], the NaNs are
    /// made canonical later.
    #[must_use]
    pub fn canonical(&mut self, x: &Value) -> Value {
        if self.nan_stays {
            self.nan_stayed = true;
            return x.clone();
        }
        // The comparison is one of integers: LLVM does not distinguish the bits of NaNs.
        let bits = self.bits_as(x, Element::I32);
        let magnitude = self.and_with(&bits, 0x7fff_ffff);
        let is_nan = self.compare_with("icmp ugt", &magnitude, 0x7f80_0000);
        let nan = Value::integer(Element::I32, NAN_F32.into());
        let bits = self.select(&is_nan, &nan, &bits);
        self.bits_as(&bits, x.element)
    }

    /// Writes code in which arithmetic may leave NaNs uncanonical. Says whether any did.
    pub(crate) fn leave_nan<R>(&mut self, stays: bool, write: impl FnOnce(&mut Self) -> R) -> (R, bool) {
        (self.nan_stays, self.nan_stayed) = (stays, false);
        let written = write(self);
        self.nan_stays = false;
        (written, self.nan_stayed)
    }

    /// Writes code in which NaNs are made canonical at once, even inside of [`Self::leave_nan`].
    pub(crate) fn at_once<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let stays = std::mem::replace(&mut self.nan_stays, false);
        let written = write(self);
        self.nan_stays = stays;
        written
    }

    /// `fneg a`
    #[must_use]
    pub fn negated(&mut self, a: &Value) -> Value {
        self.value(a.element, a.is_vector, format_args!("fneg {a}"))
    }

    /// A comparison, such as `icmp ult` or `fcmp uno`.
    #[must_use]
    pub fn compare(&mut self, comparison: &str, a: &Value, b: &Value) -> Value {
        if let Some(truth) = self.compare_halves(comparison, a, b) {
            return truth;
        }
        let ([a, b], is_vector) = self.alike([a, b]);
        self.value(Element::I1, is_vector, format_args!("{comparison} {a}, {}", b.text))
    }

    /// `icmp ult` of the low halves of 64-bit lanes whose high halves are zero: there are half as many vectors of them. LLVM does not see
    /// this where the other operand is one number, such as a length.
    fn compare_halves(&mut self, comparison: &str, a: &Value, b: &Value) -> Option<Value> {
        const HALF: u64 = u32::MAX as u64;
        let is_half = |value: &Value| value.is_vector && value.possible_bits() <= HALF;
        if comparison != "icmp ult" || a.element != Element::I64 || (!is_half(a) && !is_half(b)) {
            return None;
        }
        if [a, b].iter().any(|value| value.is_vector && !is_half(value)) {
            return None;
        }
        let half = |w: &mut Self, value: &Value| {
            let low = if value.is_vector { value.clone() } else { w.least(value, HALF) };
            w.bits_as(&low, Element::I32)
        };
        let halves = [half(self, a), half(self, b)];
        let truth = self.compare(comparison, &halves[0], &halves[1]);
        if b.is_vector {
            return Some(truth);
        }
        // Any low half is below a number that has a high half.
        let above = self.compare_with("icmp ugt", b, HALF);
        Some(self.or(&truth, &above))
    }

    /// The smaller one of an unsigned number and a constant.
    fn least(&mut self, a: &Value, most: u64) -> Value {
        let most = Value::integer(a.element, most);
        self.intrinsic("umin", &[a, &most])
    }

    /// The same operation with a constant of the same type as second operand.
    #[must_use]
    pub fn compare_with(&mut self, comparison: &str, a: &Value, b: u64) -> Value {
        let b = Value::integer(a.element, b);
        self.compare(comparison, a, &b)
    }

    /// `condition ? a : b`
    #[must_use]
    pub fn select(&mut self, condition: &Value, a: &Value, b: &Value) -> Value {
        let (condition, a, b) = if condition.is_vector {
            let ([condition, a, b], _) = self.alike([condition, a, b]);
            (condition, a, b)
        } else {
            let ([a, b], _) = self.alike([a, b]);
            (condition.clone(), a, b)
        };
        self.value(a.element, a.is_vector, format_args!("select {condition}, {a}, {b}"))
    }

    /// A conversion, such as `zext` or `sitofp`.
    #[must_use]
    pub fn convert(&mut self, conversion: &str, a: &Value, element: Element) -> Value {
        let to = ty(element, a.is_vector);
        self.value(element, a.is_vector, format_args!("{conversion} {a} to {to}"))
    }

    /// The same bits as another type of the same width, or the lowest bits of an integer as a narrower type.
    #[must_use]
    pub fn bits_as(&mut self, a: &Value, element: Element) -> Value {
        if a.element == element {
            return a.clone();
        }
        let whole =
            if a.element == a.element.integer() { a.clone() } else { self.convert("bitcast", a, a.element.integer()) };
        let cut = if whole.element.bits() > element.bits() {
            self.convert("trunc", &whole, element.integer())
        } else {
            whole
        };
        if cut.element == element { cut } else { self.convert("bitcast", &cut, element) }
    }

    /// The bits of a number, zero-extended to an integer.
    #[must_use]
    pub fn extended(&mut self, a: &Value, element: Element) -> Value {
        let bits = self.bits_as(a, a.element.integer());
        if bits.element == element { bits } else { self.convert("zext", &bits, element) }
    }

    /// A conversion by an intrinsic, such as `fptosi.sat`.
    #[must_use]
    pub fn converting(&mut self, name: &str, a: &Value, element: Element) -> Value {
        let (to, from) = (ty(element, a.is_vector), a.ty());
        let suffix = |element: Element| {
            if a.is_vector { format!("v{LANES}{}", element.suffix()) } else { element.suffix().to_owned() }
        };
        let name = format!("llvm.{name}.{}.{}", suffix(element), suffix(a.element));
        self.declare(format!("declare {to} @{name}({from})"));
        self.value(element, a.is_vector, format_args!("call {to} @{name}({a})"))
    }

    /// The number with these bits.
    #[must_use]
    pub fn number(&mut self, element: Element, bits: u64) -> Value {
        let integer = Value::integer(element, bits);
        self.bits_as(&integer, element)
    }

    /// An intrinsic whose operands and result have one type: `fma` for `llvm.fma`.
    #[must_use]
    pub fn intrinsic(&mut self, name: &str, operands: &[&Value]) -> Value {
        self.intrinsic_with(name, operands, "")
    }

    /// The reduction of a vector's lanes, such as by `add`.
    #[must_use]
    pub fn reduced(&mut self, reduction: &str, a: &Value) -> Value {
        let a = self.spread(a);
        let (one, suffix) = (a.element.name(), format!("v{LANES}{}", a.element.suffix()));
        self.declare(format!("declare {one} @llvm.vector.reduce.{reduction}.{suffix}({})", a.ty()));
        self.value(a.element, false, format_args!("call {one} @llvm.vector.reduce.{reduction}.{suffix}({a})"))
    }

    /// A lane of a vector.
    #[must_use]
    pub fn lane(&mut self, a: &Value, lane: usize) -> Value {
        self.value(a.element, false, format_args!("extractelement {a}, i32 {lane}"))
    }

    /// A vector with one lane replaced.
    #[must_use]
    pub fn with_lane(&mut self, a: &Value, one: &Value, lane: usize) -> Value {
        self.value(a.element, true, format_args!("insertelement {a}, {one}, i32 {lane}"))
    }

    /// Truth values of all lanes as a mask.
    #[must_use]
    pub fn mask_of(&mut self, truth: &Value) -> Value {
        let truth = self.spread(truth);
        self.value(Element::I32, false, format_args!("bitcast {truth} to i32"))
    }

    /// The number of the first lane of a mask, or of any lane if the mask has none.
    #[must_use]
    pub fn first_lane(&mut self, mask: &Value) -> Value {
        let mask = self.or_with(mask, 1 << (LANES - 1));
        self.intrinsic_with("cttz", &[&mask], "i1 true")
    }

    /// The number of the last lane of a mask, or of any lane if the mask has none.
    ///
    /// Behind a branch that leaves out empty masks, LLVM selects `bsr` for the leading zeros of the mask alone, takes the result for
    /// less than 32, and moves it before the branch, with a load of the vector's element from the stack. Of an empty mask `bsr` gives
    /// any number (docs/llvm-element). So the mask has a bit here.
    #[must_use]
    pub fn last_lane(&mut self, mask: &Value) -> Value {
        let mask = self.or_with(mask, 1);
        let behind = self.intrinsic_with("ctlz", &[&mask], "i1 true");
        self.xor_with(&behind, LANES as u64 - 1)
    }

    /// An intrinsic whose last operand is a constant of a fixed type, such as `i1 false`.
    #[must_use]
    pub fn intrinsic_with(&mut self, name: &str, operands: &[&Value], last: &str) -> Value {
        let is_vector = operands.iter().any(|value| value.is_vector);
        let operands: Vec<_> =
            operands.iter().map(|value| if is_vector { self.spread(value) } else { (*value).clone() }).collect();
        let element = operands[0].element;
        let one = ty(element, is_vector);
        let suffix = if is_vector { format!("v{LANES}{}", element.suffix()) } else { element.suffix().to_owned() };
        let mut types = vec![one.clone(); operands.len()];
        let mut arguments: Vec<_> = operands.iter().map(ToString::to_string).collect();
        if let Some((ty, _)) = last.split_once(' ') {
            types.push(format!("{ty} immarg"));
            arguments.push(last.to_owned());
        }
        self.declare(format!("declare {one} @llvm.{name}.{suffix}({})", types.join(", ")));
        self.value(element, is_vector, format_args!("call {one} @llvm.{name}.{suffix}({})", arguments.join(", ")))
    }
}
