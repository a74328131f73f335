//! Accesses of every kind, on every engine: state spaces, widths, vectors, strides, shapes of blocks, masks.
//!
//! A kernel has many accesses, each to memory of its own, and writes down what it has loaded. The expected memory and the
//! expected values are computed here, thread by thread, from the same description. No engine is the reference for another one.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::common::compiler;
use crate::common::{Arg, Bench, HEADER};
use rumba_vm::{Config, Engine};

/// The state space of an access, and how its addresses are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    Global,
    Shared,
    /// Shared memory by addresses of 64 bits.
    WideShared,
    Local,
    Const,
    Param,
    /// Generic addresses of global, of shared and of local memory.
    Generic,
    GenericShared,
    GenericLocal,
}

impl Space {
    /// The state space in the instruction's name.
    fn name(self) -> &'static str {
        match self {
            Self::Global => ".global",
            Self::Shared | Self::WideShared => ".shared",
            Self::Local => ".local",
            Self::Const => ".const",
            Self::Param => ".param",
            Self::Generic | Self::GenericShared | Self::GenericLocal => "",
        }
    }

    /// Whether each thread has memory of its own.
    fn is_local(self) -> bool {
        matches!(self, Self::Local | Self::GenericLocal)
    }

    fn is_read_only(self) -> bool {
        matches!(self, Self::Const | Self::Param)
    }

    fn is_shared(self) -> bool {
        matches!(self, Self::Shared | Self::WideShared | Self::GenericShared)
    }

    /// Bytes that all accesses of a kernel may take.
    fn most(self) -> i64 {
        if self.is_shared() { 200 << 10 } else { 1 << 20 }
    }

    /// Threads of the largest block: a kernel has few bytes of parameters.
    fn threads(self) -> i64 {
        if self == Self::Param { 64 } else { THREADS }
    }
}

/// The operation at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Load,
    Store,
    /// Two stores and two loads by one address, at two offsets.
    Twice,
    Atomic,
}

/// An access of a kernel.
#[derive(Debug, Clone, Copy)]
struct Access {
    space: Space,
    operation: Operation,
    /// Bytes of an element, and the elements of a thread.
    width: i64,
    count: i64,
    /// From the address of a thread to that of the next one.
    stride: i64,
    stride_number: usize,
    /// Only one thread executes it, as the addresses of the others lie outside of all memory.
    is_alone: bool,
    /// Where its memory begins, in that of the kernel.
    start: i64,
}

/// Threads of the largest block.
const THREADS: i64 = 256;

/// Bytes of what a thread writes down of each access.
const RESULT: usize = 32;

impl Access {
    fn bytes(self) -> i64 {
        self.width * self.count
    }

    /// Bytes from the address of a thread to the end of its access.
    fn reach(self) -> i64 {
        match self.operation {
            Operation::Twice => 2 * self.bytes(),
            _ => self.bytes(),
        }
    }

    /// The memory of all threads.
    fn size(self) -> i64 {
        let way = if self.is_alone { 0 } else { self.stride.abs() * (self.space.threads() - 1) };
        (way + self.reach() + 15) / 16 * 16
    }

    /// The place where thread `thread` accesses memory; `alone` is the thread that performs single-thread accesses.
    fn place(self, thread: i64, alone: i64) -> i64 {
        if self.is_alone {
            assert_eq!(thread, alone);
            return self.start;
        }
        let first = if self.stride < 0 { -self.stride * (self.space.threads() - 1) } else { 0 };
        self.start + first + thread * self.stride
    }

    /// Whether threads write to memory of their own, or the operation does not write.
    fn is_possible(self) -> bool {
        let distance = self.stride.unsigned_abs();
        let is_apart = self.is_alone || distance >= self.reach().unsigned_abs();
        let is_aligned = self.stride % self.bytes() == 0;
        let is_wide = self.bytes() > 16;
        let fits = match self.operation {
            Operation::Load => true,
            Operation::Store | Operation::Twice => is_apart && !self.space.is_read_only(),
            Operation::Atomic => {
                let is_good = self.width >= 4 && self.count == 1 && (is_apart || self.stride == 0);
                is_good && !self.space.is_read_only() && !self.space.is_local()
            }
        };
        fits && is_aligned && !is_wide
    }
}

type Stride = fn(i64) -> i64;

/// Strides as functions of a thread's bytes. Sevenfold and 31-fold products of the large ones wrap in 32 or in 64 bits; only
/// one thread accesses memory by them.
const STRIDES: [(&str, Stride); 12] = [
    ("0", |_| 0),
    ("size", |bytes| bytes),
    ("2 size", |bytes| 2 * bytes),
    ("3 size", |bytes| 3 * bytes),
    ("12", |_| 12),
    ("-size", |bytes| -bytes),
    ("-3 size", |bytes| -3 * bytes),
    ("2^29", |_| 1 << 29),
    ("2^31", |_| 1 << 31),
    ("2^31 - 16", |_| (1 << 31) - 16),
    ("2^61", |_| 1 << 61),
    ("2^63", |_| i64::MIN),
];

/// The first of the strides that lead out of all memory.
const FIRST_ALONE: usize = 7;

const FORMS: [(i64, i64); 11] =
    [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2), (1, 4), (2, 4), (4, 4)];

/// Blocks of one, two and three dimensions: rows of every kind of length, whole and partial warps.
const BLOCKS: [[u32; 3]; 15] = [
    [32, 1, 1],
    [33, 1, 1],
    [64, 1, 1],
    [100, 1, 1],
    [8, 4, 1],
    [16, 2, 1],
    [16, 4, 1],
    [16, 16, 1],
    [8, 8, 1],
    [5, 7, 1],
    [24, 2, 1],
    [32, 3, 1],
    [4, 4, 4],
    [8, 2, 3],
    [16, 2, 2],
];

/// Lanes that execute the accesses, and the thread that executes those of one thread.
const MASKS: [(&str, u32, i64); 4] = [
    ("full", u32::MAX, 0),
    ("divergent in groups", 0x5a3c_96f1, 12),
    ("divergent between groups", 0x00ff_ff00, 9),
    ("one lane", 1 << 20, 20),
];

/// Combinations of operation, element and stride in a space, in kernels of some length. Those of words in global and shared memory
/// are all there; of others some are drawn, as LLVM takes long for them: it writes each lane for itself.
fn kernels(space: Space) -> Vec<Vec<Access>> {
    let mut kernels: Vec<Vec<Access>> = vec![Vec::new()];
    let mut end = 0;
    for (number, (width, count)) in FORMS.into_iter().enumerate() {
        for (index, (_, stride)) in STRIDES.into_iter().enumerate() {
            for operation in [Operation::Load, Operation::Store, Operation::Twice, Operation::Atomic] {
                let mut access = Access {
                    space,
                    operation,
                    width,
                    count,
                    stride: stride(width * count),
                    stride_number: index,
                    is_alone: index >= FIRST_ALONE,
                    start: 0,
                };
                let has_all = matches!(space, Space::Global | Space::Shared)
                    && matches!((width, count), (4, 1) | (4, 2) | (8, 1));
                let turn = 3 * number + 5 * index + 7 * operation as usize + 11 * space as usize;
                let is_drawn = (has_all && !access.is_alone) || turn.is_multiple_of(if width < 4 { 17 } else { 11 });
                if !access.is_possible() || !is_drawn {
                    continue;
                }
                // All threads may read read-only memory.
                if space.is_read_only() {
                    end = 0;
                }
                if end + access.size() > space.most() || kernels.last().is_some_and(|last| last.len() == LENGTH) {
                    kernels.push(Vec::new());
                    end = 0;
                }
                access.start = end;
                end += access.size();
                kernels.last_mut().unwrap().push(access);
            }
        }
    }
    kernels
}

/// Accesses of a kernel: so many that LLVM compiles them in less than a second.
const LENGTH: usize = 40;

/// The initial value of a byte of memory.
fn initial(place: i64) -> u8 {
    (place as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0] ^ (place >> 3) as u8
}

/// The value that a thread stores in an element.
fn stored(thread: i64, number: usize, element: i64) -> u64 {
    let own = (thread as u64 + 1).wrapping_mul(FACTOR);
    own.wrapping_add(shift(number, element))
}

/// The factor of a thread's value.
const FACTOR: u64 = 0x0101_0301_0701_1101;

/// The addend for an element of an access.
fn shift(number: usize, element: i64) -> u64 {
    number as u64 * 0x1_0001 + element as u64 * 77
}

/// The registers of a list, such as `{%a, %b}`.
fn list(name: &str, count: i64) -> String {
    let names: Vec<_> = (0..count).map(|element| format!("%{name}{element}")).collect();
    match &names[..] {
        [name] => name.clone(),
        names => format!("{{{}}}", names.join(", ")),
    }
}

/// The suffix of an access's elements, and the letter of their registers.
fn form(access: Access) -> (String, &'static str) {
    let vector = if access.count == 1 { String::new() } else { format!(".v{}", access.count) };
    let (ty, register) = match access.width {
        1 => ("u8", "h"),
        2 => ("u16", "h"),
        4 => ("u32", "w"),
        _ => ("u64", "d"),
    };
    (format!("{vector}.{ty}"), register)
}

fn kernel(name: &str, space: Space, accesses: &[Access]) -> String {
    let mut body = String::new();
    for (number, access) in accesses.iter().enumerate() {
        section(&mut body, number, *access);
    }
    let size = accesses.iter().map(|access| access.start + access.size()).max().unwrap_or(16);
    let (mut parameter, mut memory, mut after) = (String::new(), String::new(), String::new());
    let before;
    let copy = |label: &str, load: &str, store: &str| {
        format!(
            "mov.u32 %copied, %thread;\n{label}:\nsetp.ge.u32 %done, %copied, {};\n@%done bra {label}_END;\n\
             mul.lo.u32 %at, %copied, 4;\ncvt.u64.u32 %far, %at;\nadd.u64 %far, %far, %data;\n{load}\n{store}\n\
             add.u32 %copied, %copied, %threads;\nbra {label};\n{label}_END:\nbar.sync 0;\n",
            size / 4
        )
    };
    match space {
        Space::Global | Space::Generic => before = "mov.u64 %memory, %data;\n".to_owned(),
        Space::Shared | Space::WideShared | Space::GenericShared => {
            memory = format!(".extern .shared .align 16 .b8 own_{name}[];\n");
            let generic = if space == Space::GenericShared { "cvta.shared.u64 %memory, %memory;\n" } else { "" };
            before = format!("mov.u32 %near, own_{name};\n")
                + &copy("FILL", "ld.global.u32 %w0, [%far];", "add.u32 %at, %at, %near; st.shared.u32 [%at], %w0;")
                + "cvt.u64.u32 %memory, %near;\n"
                + generic;
            after = "bar.sync 0;\n".to_owned()
                + &copy("DUMP", "add.u32 %at, %at, %near; ld.shared.u32 %w0, [%at];", "st.global.u32 [%far], %w0;");
        }
        Space::Local | Space::GenericLocal => {
            let generic = if space == Space::GenericLocal { "cvta.local.u64 %memory, %memory;\n" } else { "" };
            before = format!(".local .align 16 .b8 own[{size}];\nmov.u64 %memory, own;\n{generic}");
        }
        Space::Const => {
            before = "mov.u64 %memory, table;\n".to_owned();
        }
        Space::Param => {
            parameter = format!(", .param .align 16 .b8 bytes[{size}]");
            before = "mov.b64 %memory, bytes;\n".to_owned();
        }
    }
    format!(
        "{memory}.visible .entry {name}(.param .u64 data, .param .u64 out, .param .u64 zero, .param .u32 mask, .param .u32 alone{parameter})
{{
.reg .pred %done; .reg .pred %on; .reg .pred %is_alone; .reg .pred %off;
.reg .b16 %h<8>; .reg .b32 %w<8>; .reg .b64 %d<8>; .reg .b16 %i<8>; .reg .b32 %x<8>; .reg .b64 %e<8>;
.reg .b32 %thread; .reg .b32 %threads; .reg .b32 %copied; .reg .b32 %at; .reg .b32 %near; .reg .b32 %t<4>; .reg .b32 %mask; .reg .b32 %alone;
.reg .b64 %far; .reg .b64 %data; .reg .b64 %memory; .reg .b64 %out; .reg .b64 %wide; .reg .b64 %value; .reg .b64 %a; .reg .b64 %b; .reg .b64 %u<3>;
.reg .b32 %s; .reg .b64 %zero;
ld.param.u64 %data, [data];
ld.param.u64 %out, [out];
ld.param.u64 %zero, [zero];
ld.param.u32 %mask, [mask];
ld.param.u32 %alone, [alone];
mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y; mov.u32 %t2, %tid.z;
mov.u32 %t3, %ntid.y; mad.lo.u32 %t2, %t2, %t3, %t1;
mov.u32 %t3, %ntid.x; mad.lo.u32 %thread, %t2, %t3, %t0;
mov.u32 %threads, %ntid.y; mul.lo.u32 %threads, %threads, %t3;
mov.u32 %t3, %ntid.z; mul.lo.u32 %threads, %threads, %t3;
ld.global.u64 %zero, [%zero];
and.b32 %t0, %thread, 31; shr.u32 %t0, %mask, %t0; and.b32 %t0, %t0, 1; setp.eq.u32 %on, %t0, 1;
setp.eq.u32 %is_alone, %thread, %alone; and.pred %is_alone, %is_alone, %on;
cvt.u64.u32 %wide, %thread;
mad.lo.u64 %value, %wide, {FACTOR}, {FACTOR};
mad.wide.u32 %out, %thread, {RESULT}, %out;
{before}
{body}
{after}
ret;
}}
"
    )
}

/// Writes an access.
fn section(body: &mut String, number: usize, access: Access) {
    let (form, register) = form(access);
    let (other, space) =
        (["i", "x", "e"][["h", "w", "d"].iter().position(|name| *name == register).unwrap()], access.space);
    let predicate = if access.is_alone { "%is_alone" } else { "%on" };
    let first = if access.is_alone { access.start } else { access.place(0, 0) };
    let stride = access.stride;
    let mut lines = vec![format!("not.pred %off, {predicate};\n@%off bra SKIP{number};")];
    let is_near = space == Space::Shared;
    let address = if is_near {
        // As nvcc has addresses in shared memory.
        lines.push(format!("mad.lo.s32 %s, %thread, {}, %near;", stride as i32));
        if access.is_alone {
            lines.push(format!("mul.lo.s32 %t0, %alone, {}; sub.s32 %s, %s, %t0;", stride as i32));
        }
        "%s"
    } else {
        lines.push(match number % 3 {
            0 if i32::try_from(stride).is_ok() => {
                format!("mad.wide.s32 %a, %thread, {stride}, %memory;")
            }
            1 if stride > 0 && stride.count_ones() == 1 => {
                format!("shl.b64 %a, %wide, {}; add.s64 %a, %memory, %a;", stride.trailing_zeros())
            }
            _ => format!("mul.lo.s64 %a, %wide, {stride}; add.s64 %a, %a, %memory;"),
        });
        if access.is_alone {
            lines.push(format!("cvt.u64.u32 %u0, %alone; mul.lo.s64 %u0, %u0, {stride}; sub.s64 %a, %a, %u0;"));
        }
        "%a"
    };
    lines.push(if is_near { format!("add.s32 %s, %s, {first};") } else { format!("add.s64 %a, %a, {first};") });
    let (name, out) = (space.name(), number * RESULT * THREADS as usize);
    let values = |lines: &mut Vec<String>, registers: &str| {
        for element in 0..access.count {
            lines.push(format!("add.u64 %u1, %value, {};", shift(number, element)));
            lines.push(match access.width {
                8 => format!("mov.u64 %{registers}{element}, %u1;"),
                4 => format!("cvt.u32.u64 %{registers}{element}, %u1;"),
                _ => format!("cvt.u16.u64 %{registers}{element}, %u1;"),
            });
        }
    };
    let (one, two) = (list(register, access.count), list(other, access.count));
    let at = |offset: i64| format!("[{address}+{offset}]");
    // Where local memory is not under test, it is accessed by an address that the analysis does not know.
    let hidden = |lines: &mut Vec<String>| lines.push("xor.b64 %b, %a, %zero;".to_owned());
    let behind = "[%b]";
    match access.operation {
        Operation::Load => {
            if space.is_local() {
                hidden(&mut lines);
                values(&mut lines, other);
                lines.push(format!("st{name}{form} {behind}, {two};"));
            }
            lines.push(format!("ld{name}{form} {one}, {};", at(0)));
        }
        Operation::Store => {
            values(&mut lines, register);
            lines.push(format!("st{name}{form} {}, {one};", at(0)));
            if space.is_local() {
                hidden(&mut lines);
                lines.push(format!("ld{name}{form} {one}, {behind};"));
            }
        }
        Operation::Twice => {
            let bytes = access.bytes();
            values(&mut lines, register);
            lines.push(format!("st{name}{form} {}, {one};", at(0)));
            values(&mut lines, other);
            lines.push(format!("st{name}{form} {}, {two};", at(bytes)));
            lines.push(format!("ld{name}{form} {one}, {};", at(0)));
            lines.push(format!("ld{name}{form} {two}, {};", at(bytes)));
        }
        Operation::Atomic => {
            values(&mut lines, other);
            lines.push(if access.stride == 0 {
                format!("red{name}.add{form} {}, {two}; mov.b{} {one}, 0;", at(0), 8 * access.width)
            } else {
                format!("atom{name}.add{form} {one}, {}, {two};", at(0))
            });
        }
    }
    lines.push(format!("st.global{form} [%out+{out}], {one};"));
    if access.operation == Operation::Twice {
        lines.push(format!("st.global{form} [%out+{}], {two};", out + 16));
    }
    lines.push(format!("SKIP{number}:"));
    let _ = writeln!(body, "{}", lines.join("\n"));
}

/// Computes memory and the results after a launch of `threads` threads.
fn evaluate(accesses: &[Access], memory: &mut [u8], out: &mut [u8], threads: i64, mask: u32, alone: i64) {
    for (number, access) in accesses.iter().enumerate() {
        let (width, bytes) = (access.width as usize, access.bytes() as usize);
        for thread in 0..threads {
            let is_on = mask >> (thread & 31) & 1 != 0 && (!access.is_alone || thread == alone);
            if !is_on {
                continue;
            }
            let place = access.place(thread, alone) as usize;
            let result = (number * THREADS as usize + thread as usize) * RESULT;
            let values = || -> Vec<u8> {
                let elements = (0..access.count)
                    .flat_map(|element| stored(thread, number, element).to_le_bytes()[..width].to_vec());
                elements.collect()
            };
            // A thread's local memory is private: other threads' values do not count.
            match access.operation {
                Operation::Load if access.space.is_local() => out[result..result + bytes].copy_from_slice(&values()),
                Operation::Load => out[result..result + bytes].copy_from_slice(&memory[place..place + bytes]),
                Operation::Store => {
                    memory[place..place + bytes].copy_from_slice(&values());
                    out[result..result + bytes].copy_from_slice(&values());
                }
                Operation::Twice => {
                    for part in 0..2 {
                        let (place, result) = (place + part * bytes, result + part * 16);
                        memory[place..place + bytes].copy_from_slice(&values());
                        out[result..result + bytes].copy_from_slice(&values());
                    }
                }
                Operation::Atomic => {
                    let (old, new) = (&memory[place..place + width], values());
                    if access.stride != 0 {
                        out[result..result + width].copy_from_slice(old);
                    }
                    let number = |bytes: &[u8]| {
                        let mut whole = [0; 8];
                        whole[..width].copy_from_slice(bytes);
                        u64::from_le_bytes(whole)
                    };
                    let sum = number(old).wrapping_add(number(&new));
                    memory[place..place + width].copy_from_slice(&sum.to_le_bytes()[..width]);
                }
            }
        }
    }
}

/// Native code with the instructions that LLVM chooses for an Intel processor with AVX-512; they are instructions of this processor
/// all the same.
fn native_as_for_intel() -> Option<Engine> {
    let tune = |text: &str| text.replace("attributes #0 = { ", "attributes #0 = { \"tune-cpu\"=\"sapphirerapids\" ");
    Some(Engine::compiled(compiler::of(Some(tune))?))
}

/// The engines that run the rows of a space, by name.
fn engines() -> Vec<(&'static str, Config)> {
    let config = |engine: Engine| Config { engine, ..Config::default() };
    let mut engines = vec![("interpreter", config(Engine::interpreter()))];
    if let Some(native) = crate::common::compiler::native() {
        engines.push(("compiled", config(native)));
    }
    // LLVM chooses other instructions there, and made wrong ones.
    if cfg!(target_arch = "x86_64")
        && let Some(native) = native_as_for_intel()
    {
        engines.push((TUNED, config(native)));
    }
    engines
}

/// Whether an engine runs the kernels of a space in blocks of a shape. What LLVM does for another processor differs where there are
/// groups of lanes with addresses of their own.
fn is_run(engine: &str, space: Space, [x, ..]: [u32; 3]) -> bool {
    engine != TUNED || matches!(space, Space::Shared | Space::Global) && [8, 16, 24].contains(&x)
}

const TUNED: &str = "compiled for another processor";

/// The blocks that a space's kernels are launched with.
fn blocks(space: Space) -> impl Iterator<Item = [u32; 3]> {
    let most = space.threads();
    BLOCKS.into_iter().filter(move |block| i64::from(block.iter().product::<u32>()) <= most)
}

/// Runs all rows of a space, and says how many these were.
fn run(space: Space) -> usize {
    let kernels = kernels(space);
    let mut module = HEADER.to_owned();
    if space == Space::Const {
        let size = kernels.iter().flatten().map(|access| access.size()).max().unwrap_or(0);
        let bytes: Vec<_> = (0..size).map(|place| initial(place).to_string()).collect();
        let _ = writeln!(module, ".const .align 16 .b8 table[{size}] = {{{}}};", bytes.join(", "));
    }
    for (number, accesses) in kernels.iter().enumerate() {
        module += &kernel(&format!("k{number}"), space, accesses);
    }
    let benches: Vec<_> =
        engines().into_iter().map(|(engine, config)| (engine, Bench::with(&module, config))).collect();
    let mut rows = 0;
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, accesses) in kernels.iter().enumerate() {
        let size = accesses.iter().map(|access| access.start + access.size()).max().unwrap_or(0);
        let initial: Vec<u8> = (0..size).map(initial).collect();
        for block in blocks(space) {
            for (mask_name, mask, alone) in MASKS {
                let threads = i64::from(block.iter().product::<u32>());
                let (mut memory, mut out) = (initial.clone(), vec![0; accesses.len() * THREADS as usize * RESULT]);
                evaluate(accesses, &mut memory, &mut out, threads, mask, alone);
                for (engine, bench) in &benches {
                    if !is_run(engine, space, block) {
                        continue;
                    }
                    let what = format!("{space:?}, {engine}, block {block:?}, mask {mask_name}");
                    let (on_device, results) = (bench.upload(&initial), bench.zeros(out.len()));
                    let zero = bench.zeros(8);
                    let mut args =
                        vec![on_device.into(), results.into(), zero.into(), mask.into(), (alone as u32).into()];
                    if space == Space::Param {
                        let words = initial.chunks_exact(8);
                        args.extend(words.map(|word| Arg::U64(u64::from_le_bytes(word.try_into().unwrap()))));
                    }
                    let dynamic = if space.is_shared() { size as u32 } else { 0 };
                    if let Err(error) = bench.launch(&format!("k{number}"), [1, 1, 1], block, dynamic, &args) {
                        panic!("{what}: {error}");
                    }
                    let (found, found_memory) =
                        (bench.download(results, out.len()), bench.download(on_device, memory.len()));
                    for (index, access) in accesses.iter().enumerate() {
                        let results = index * THREADS as usize * RESULT..(index + 1) * THREADS as usize * RESULT;
                        let place = access.start as usize..(access.start + access.size()) as usize;
                        let is_good = found[results.clone()] == out[results]
                            && (space.is_local() || found_memory[place.clone()] == memory[place]);
                        if !is_good {
                            let Access { operation, width, count, stride, .. } = access;
                            let row = format!("{operation:?} of {count} * {width} bytes, stride {stride}");
                            wrong.entry(what.clone()).or_default().push(row);
                        }
                    }
                    rows += accesses.len();
                    for address in [on_device, results, zero] {
                        bench.device.free(address).unwrap();
                    }
                }
            }
        }
    }
    let count: usize = wrong.values().map(Vec::len).sum();
    let examples: Vec<_> =
        wrong.iter().take(20).map(|(what, rows)| format!("{what}: {}", rows[..rows.len().min(4)].join("; "))).collect();
    assert!(wrong.is_empty(), "{count} of {rows} rows are wrong, such as\n{}", examples.join("\n"));
    rows
}

macro_rules! spaces {
    ($($name:ident, $space:ident;)*) => {
        $(
            #[test]
            fn $name() {
                assert!(run(Space::$space) > 0);
            }
        )*

        const SPACES: &[Space] = &[$(Space::$space),*];
    };
}

spaces! {
    global, Global;
    shared, Shared;
    shared_by_64_bits, WideShared;
    local, Local;
    constant, Const;
    parameters, Param;
    generic, Generic;
    generic_shared, GenericShared;
    generic_local, GenericLocal;
}

#[test]
fn rows_are_many_of_each_kind() {
    let engines = engines();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for space in SPACES {
        for access in kernels(*space).into_iter().flatten() {
            for block in blocks(*space) {
                for (mask, ..) in MASKS {
                    for (engine, _) in &engines {
                        if !is_run(engine, *space, block) {
                            continue;
                        }
                        let (name, _) = STRIDES[access.stride_number];
                        for kind in [
                            "rows".to_owned(),
                            format!("{space:?}"),
                            format!("{:?}", access.operation),
                            format!("{} * {} bytes", access.count, access.width),
                            format!("stride {name}"),
                            format!("block {block:?}"),
                            format!("mask {mask}"),
                            (*engine).to_owned(),
                        ] {
                            *rows.entry(kind).or_default() += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{rows:#?}");
    assert!(rows["rows"] > 10_000, "{rows:#?}");
    assert!(rows.values().all(|count| *count > 200), "{rows:#?}");
}
