//! The corpus of tests/ui and tests/kernels/src/ui: what its comments say of each kernel, and how one is launched.
//!
//! A kernel's own line of comment says whether it is wrong and how it is launched:
//!
//! ```text
//! //@ wrong, 2 x 64, shared 256: in 128, raw 64, out 128, 7
//! ```
//!
//! two blocks of 64 threads with 256 bytes of dynamic shared memory and four arguments: pointers to 128 words that count
//! from 0, to 64 words that were never written, to 128 such words that the host reads afterwards, and the number 7. `zero N`
//! are zeros, `freed N` is memory that was freed again, `map N` a tensor map of N words that count from 0, `null` is a pointer to nothing. `cooperative` launches all blocks at once.
//! `out 128 = 2 * i + 1` states the words' values in a right kernel, by their index; all kinds of memory allow it.
//!
//! A comment on each line of a finding names its kind. Lines that name the same kind and the same number, if any,
//! belong to one finding:
//!
//! ```text
//! tile.add(i).write(x);          //~ data-race
//! let y = tile.add(i ^ 1).read(); //~ data-race
//! ```
//!
//! A `?` behind the kind allows the finding without asking for it; of a wrong kernel at least one is found. A finding without a line, as of a copy to the host, stands
//! in the kernel's own line of comment: `finds unwritten-copy`. `sometimes` stands there if some orders of the threads are
//! right, and `missed` if we are known to get the kernel wrong, which fails once we do not. Here nothing is checked: that is for tests/trials/ui.rs.
//!
//! In CUDA C++ a right kernel and its mutations are one text. A line of comment within a kernel makes a further, wrong kernel
//! of this name, which is launched as the right one and has this code instead of the line above:
//!
//! ```text
//! tile[t] = x[t]; //~ data-race
//! __syncthreads();
//! //@ wrong, exchange_by_warps: __syncwarp();
//! y[t] = tile[63 - t]; //~ data-race
//! ```
//!
//! The marks of a kernel apply to all of its mutations. A mark that names a mutation, as in `//~ NAME: data-race`,
//! replaces the other marks for this mutation. `cargo xtask nvcc NAME` makes the PTX. Kernels in PTX have mutations
//! too, which may also be right: the marks of a right mutation alone are information.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use cuda_std::Contract;
use cuda_std::launch::{Call, Kernel, Parameter};
use cust::memory::{CopyDestination, DeviceBuffer};
use rumba::{Device, LaunchConfig};

use crate::tensor_map::{Element, TensorMap};

mod formula;

pub use formula::Formula;

/// Words of a row of a tensor behind a tensor map, and the words and rows of a box.
const MAP_ROW: u64 = 16;
const MAP_BOX: [u32; 2] = [16, 4];

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Words that count from 0.
    In(usize),
    /// Zeros.
    Zero(usize),
    /// Words that were never written.
    Raw(usize),
    /// The same, and the host reads them afterwards.
    Out(usize),
    /// Memory that was freed again.
    Freed(usize),
    /// A number.
    Number(u32),
    /// A tensor map in global memory: of words that count from 0, in rows of 16, and boxes of 4 rows.
    Map(usize),
    /// A pointer to nothing.
    Null,
}

/// A finding that is expected: its kind, and the lines of its sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// The short name of the kind.
    pub kind: String,
    /// The lines, each once.
    pub lines: BTreeSet<u32>,
    /// Whether it may be missing.
    pub optional: bool,
}

/// A kernel of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The kernel's name.
    pub name: String,
    /// Its file, below tests/ui, or in Rust below tests/kernels/src.
    pub file: &'static str,
    /// The check that it is about: the name of its folder or file.
    pub check: &'static str,
    /// Whether it is wrong.
    pub is_wrong: bool,
    /// Whether it is known that we do not find it, or find something in a right kernel.
    pub is_missed: bool,
    /// Whether it goes wrong in some orders of its threads only.
    pub is_by_chance: bool,
    /// Blocks and threads of a block.
    pub size: [u32; 2],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether all blocks are launched at once.
    pub cooperative: bool,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The resulting words of arguments, by the argument's index.
    pub results: Vec<(usize, Formula)>,
    /// The findings in the kernel: mistakes if the kernel is wrong, information if it is right.
    pub expected: Vec<Expected>,
    /// For a mutation in PTX: the kernel, the number of the line from 0, and the replacement.
    pub mutation: Option<Mutation>,
}

/// A line of a kernel in PTX that is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The name of the kernel.
    pub kernel: String,
    /// The line, from 0.
    pub line: usize,
    /// The replacement of the line.
    pub code: String,
}

/// A source of kernels.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The file, below tests/ui, or in Rust below tests/kernels/src.
    pub file: &'static str,
    /// The check that its kernels are about.
    pub check: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The PTX of its kernels.
    pub ptx: &'static str,
}

/// The PTX of the kernels in Rust.
pub const PTX: &str = include_str!(env!("UI_PTX"));

macro_rules! sources {
    ($(rust $check:ident: $($name:ident),*;)* ptx $($ptx:ident),*; $(cuda $arch:ident: $($cuda:ident),*;)*) => {
        /// The sources.
        pub const SOURCES: &[Source] = &[
            $($(Source {
                file: concat!("ui/", stringify!($check), "/", stringify!($name), ".rs"),
                check: stringify!($check),
                text: include_str!(concat!("../kernels/src/ui/", stringify!($check), "/", stringify!($name), ".rs")),
                ptx: PTX,
            },)*)*
            $(Source {
                file: concat!("ptx/", stringify!($ptx), ".ptx"),
                check: stringify!($ptx),
                text: include_str!(concat!("../ui/ptx/", stringify!($ptx), ".ptx")),
                ptx: include_str!(concat!("../ui/ptx/", stringify!($ptx), ".ptx")),
            },)*
            $($(Source {
                file: concat!("cuda/", stringify!($cuda), ".cu"),
                check: stringify!($arch),
                text: include_str!(concat!("../ui/cuda/", stringify!($cuda), ".cu")),
                ptx: include_str!(concat!("../ui/cuda/", stringify!($arch), "/", stringify!($cuda), ".ptx")),
            },)*)*
        ];
    };
}

sources! {
    rust mem: global, shared, heap, copies;
    rust init: global, shared, local;
    rust race: barriers, warps, atomics, blocks, copies;
    rust port: lockstep, order;
    rust sync: barriers, warps, mbarriers;
    rust arith: instructions, panics;
    ptx mem, init, race, updates, sync, stages, proxies, products, phases, groups, clusters;
    cuda sm_80: atomics, barriers, cub_block, cub_warp, groups, pipelines, semaphores;
    cuda sm_90: barriers, clusters, groups, pipelines;
}

/// The path of a file of the corpus, from tests.
#[must_use]
pub fn path(file: &str) -> String {
    if file.ends_with(".rs") { format!("kernels/src/{file}") } else { format!("ui/{file}") }
}

/// All kernels of the corpus.
///
/// # Errors
/// If a comment cannot be read; it is named.
pub fn cases() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for source in SOURCES {
        cases.extend(read(source).with_context(|| format!("in tests/{}", path(source.file)))?);
    }
    Ok(cases)
}

fn read(source: &Source) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = Vec::new();
    // Mutations of the last kernel.
    let mut mutations: Vec<Case> = Vec::new();
    // The line that mutations change.
    let mut changed = 0;
    let mut marks: BTreeMap<Mark, Expected> = BTreeMap::new();
    // Reads the current file if available: a changed expectation needs no new build.
    let now = std::fs::read_to_string(format!("{}/{}", env!("CARGO_MANIFEST_DIR"), path(source.file)));
    for (index, text) in now.as_deref().unwrap_or(source.text).lines().enumerate() {
        let line = index as u32 + 1;
        if let Some(launch) = text.trim().strip_prefix("//@ ") {
            let of = cases.last().filter(|_| text.starts_with(' '));
            let is_mutation = of.is_some();
            let mut case = head(launch, source, of).with_context(|| format!("line {line}: {text}"))?;
            if is_mutation {
                if source.file.ends_with(".ptx")
                    && let (Some(of), Some((_, code))) = (cases.last(), launch.split_once(':'))
                {
                    case.mutation =
                        Some(Mutation { kernel: of.name.clone(), line: changed, code: code.trim().to_owned() });
                }
                mutations.push(case);
            } else {
                finish(&mut cases, &mut mutations, &mut marks);
                cases.push(case);
            }
            continue;
        }
        changed = index;
        let Some(case) = cases.last_mut() else { continue };
        // Each trial is a process that reads all sources: most of their lines say nothing.
        let name = ["fn ", ".entry ", "__global__ void "]
            .iter()
            .filter(|_| case.name.is_empty())
            .find_map(|word| Some(text.split_once(word)?.1));
        if let Some(name) = name {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            case.name = name[..end].to_owned();
        }
        let Some((_, found)) = text.split_once("//~ ") else {
            continue;
        };
        for mark in found.split(',').map(str::trim) {
            let (of, mark) = mark.split_once(": ").unwrap_or(("", mark));
            let (kind, number) = mark.split_once(' ').unwrap_or((mark, ""));
            let known = marks.entry([of, kind, number].map(str::to_owned));
            let expected = known.or_insert_with(|| Expected {
                kind: kind.trim_end_matches('?').to_owned(),
                lines: BTreeSet::new(),
                optional: kind.ends_with('?'),
            });
            expected.lines.insert(line);
        }
    }
    finish(&mut cases, &mut mutations, &mut marks);
    for case in &cases {
        ensure!(!case.name.is_empty(), "a line `//@` without a kernel behind it");
        ensure!(!case.is_wrong || !case.expected.is_empty(), "`{}`: it is wrong, and no mark says how", case.name);
    }
    Ok(cases)
}

/// The mutation that a mark is of, if it is of one alone, the mark's kind and its number.
type Mark = [String; 3];

/// Ends a kernel: its marks are its own, or those of its mutations.
fn finish(cases: &mut Vec<Case>, mutations: &mut Vec<Case>, marks: &mut BTreeMap<Mark, Expected>) {
    let marks = std::mem::take(marks);
    let of = |name: &str| -> Vec<Expected> {
        let own = marks.iter().filter(|([of, ..], _)| of == name);
        own.map(|(_, expected)| expected.clone()).collect()
    };
    if let Some(case) = cases.last_mut()
        && (mutations.is_empty() || case.is_wrong)
    {
        case.expected.extend(of(""));
    }
    for mut mutation in mutations.drain(..) {
        mutation.expected = of(&mutation.name);
        if mutation.expected.is_empty() && mutation.is_wrong {
            mutation.expected = of("");
        }
        cases.push(mutation);
    }
}

/// Parses the text behind `//@`: of a kernel, or of a kernel's mutation, which has the kernel's launch.
fn head(text: &str, source: &Source, of: Option<&Case>) -> Result<Case> {
    let (launch, arguments) = text.split_once(':').unwrap_or((text, ""));
    // The name of a mutation is followed by its code.
    let arguments = if of.is_none() { arguments } else { "" };
    let mut case = Case {
        name: String::new(),
        file: source.file,
        check: source.check,
        is_wrong: false,
        is_missed: false,
        is_by_chance: false,
        size: of.map_or([0; 2], |of| of.size),
        shared: of.map_or(0, |of| of.shared),
        cooperative: of.is_some_and(|of| of.cooperative),
        arguments: of.map(|of| of.arguments.clone()).unwrap_or_default(),
        results: Vec::new(),
        expected: Vec::new(),
        mutation: None,
    };
    for word in launch.split(',').map(str::trim) {
        match word.split_once(' ') {
            None if word == "wrong" => case.is_wrong = true,
            None if word == "right" => case.is_wrong = false,
            None if word == "missed" => case.is_missed = true,
            None if word == "sometimes" => case.is_by_chance = true,
            None if word == "cooperative" => case.cooperative = true,
            None if of.is_some() => case.name = word.to_owned(),
            Some(("shared", bytes)) => case.shared = bytes.parse()?,
            Some(("finds", kind)) => {
                case.expected.push(Expected { kind: kind.to_owned(), lines: BTreeSet::new(), optional: false });
            }
            Some((blocks, threads)) => {
                let threads = threads.strip_prefix("x ").context("a launch is `blocks x threads`")?;
                case.size = [blocks.parse()?, threads.parse()?];
            }
            None => bail!("`{word}` is no property of a launch"),
        }
    }
    for word in arguments.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (word, result) = match word.split_once(" = ") {
            Some((word, formula)) => (word, Some(formula.parse()?)),
            None => (word, None),
        };
        case.results.extend(result.map(|result| (case.arguments.len(), result)));
        case.arguments.push(match word.split_once(' ') {
            None if word == "null" => Argument::Null,
            None => Argument::Number(word.parse()?),
            Some(("in", words)) => Argument::In(words.parse()?),
            Some(("zero", words)) => Argument::Zero(words.parse()?),
            Some(("raw", words)) => Argument::Raw(words.parse()?),
            Some(("out", words)) => Argument::Out(words.parse()?),
            Some(("freed", words)) => Argument::Freed(words.parse()?),
            Some(("map", words)) => Argument::Map(words.parse()?),
            Some(_) => bail!("`{word}` is no argument"),
        });
    }
    Ok(case)
}

impl Case {
    /// The name of the kernel that is launched.
    fn kernel(&self) -> &str {
        self.mutation.as_ref().map_or(&self.name, |mutation| &mutation.kernel)
    }

    /// PTX with this kernel and no other. In a source that is PTX, the kernel keeps its lines.
    ///
    /// # Errors
    /// If the PTX cannot be parsed or does not have the kernel.
    pub fn ptx(&self) -> Result<String> {
        let mut sources = SOURCES.iter();
        let source = sources.find(|source| (source.file, source.check) == (self.file, self.check));
        let mut text = source.context("a case has a source")?.ptx.to_owned();
        let is_ptx = self.file.ends_with(".ptx");
        if is_ptx {
            // Reads the current file, as `read` does.
            let now = std::fs::read_to_string(format!("{}/{}", env!("CARGO_MANIFEST_DIR"), path(self.file)));
            text = now.unwrap_or(text);
        }
        if let Some(Mutation { line, code, .. }) = &self.mutation {
            let mut lines: Vec<&str> = text.lines().collect();
            lines[*line] = code;
            text = lines.join("\n");
        }
        let kernel = self.kernel();
        let mut own = String::new();
        let mut found = false;
        let (mut copied, mut start) = (0, 0);
        while let Some(at) = text[start..].find(".entry ").map(|at| start + at) {
            let begin = text[..at].rfind('\n').map_or(0, |at| at + 1);
            start = at + body(&text[at..]);
            let name = text[at + ".entry ".len()..].trim_start();
            if name.strip_prefix(kernel).is_some_and(|rest| rest.starts_with(['(', '\n', ' '])) {
                found = true;
                continue;
            }
            own.push_str(&text[copied..begin]);
            if is_ptx {
                own.extend(text[begin..start].chars().filter(|char| *char == '\n'));
            }
            copied = start;
        }
        own.push_str(&text[copied..]);
        ensure!(found, "there is no kernel `{kernel}` in the PTX of {}", self.file);
        Ok(own)
    }

    /// Launches it once from its own PTX, waits, and reads what the host wants to have.
    ///
    /// # Errors
    /// If the PTX cannot be loaded, or a launch fails, as with a kernel that faults. If a word has an unexpected value:
    /// the first such word.
    pub fn launch(&self, device: &Device, ptx: &str) -> Result<()> {
        // SAFETY: the kernel gets its own parameters below; what it does with them is the point.
        let module = unsafe { device.load_unchecked(self.file, ptx) }?;
        let mut words: Vec<Word> = Vec::new();
        let mut buffers: Vec<(usize, DeviceBuffer<u32>)> = Vec::new();
        for (index, argument) in self.arguments.iter().enumerate() {
            let buffer = match *argument {
                Argument::Number(number) => {
                    words.push(Word::Number(number));
                    continue;
                }
                Argument::Null => {
                    words.push(Word::Address(0));
                    continue;
                }
                Argument::In(length) => DeviceBuffer::from_slice(&(0..length as u32).collect::<Vec<_>>())?,
                Argument::Map(length) => {
                    let of = DeviceBuffer::from_slice(&(0..length as u32).collect::<Vec<_>>())?;
                    let (address, rows) = (of.as_device_ptr().as_raw(), length as u64 / MAP_ROW);
                    let map = TensorMap::tiled(address, Element::Uint32, &[MAP_ROW, rows], &MAP_BOX, 0)?;
                    buffers.push((usize::MAX, of));
                    DeviceBuffer::from_slice(&map.words())?
                }
                Argument::Zero(length) => DeviceBuffer::from_slice(&vec![0; length])?,
                // SAFETY: only kernels that are wrong on purpose read the memory first, and any bits are a word.
                Argument::Raw(length) | Argument::Out(length) | Argument::Freed(length) => unsafe {
                    DeviceBuffer::uninitialized(length)?
                },
            };
            words.push(Word::Address(buffer.as_device_ptr().as_raw()));
            if !matches!(argument, Argument::Freed(_)) {
                buffers.push((index, buffer));
            }
        }
        let [blocks, threads] = self.size;
        let config = LaunchConfig::new(blocks, threads).shared(self.shared);
        // SAFETY: parameters in number and size as the kernel declares them; what it does with them is the point.
        module.launch(config, unsafe { self.call(&words) })?;
        device.synchronize()?;
        for (index, buffer) in &buffers {
            let result = self.results.iter().find(|(of, _)| of == index);
            if result.is_none() && !matches!(self.arguments.get(*index), Some(Argument::Out(_))) {
                continue;
            }
            let mut values = vec![0; buffer.len()];
            buffer.copy_to(&mut values)?;
            let Some((_, formula)) = result else { continue };
            for (at, found) in values.into_iter().enumerate() {
                let expected = formula.at(at as u32)?;
                ensure!(found == expected, "word {at} of argument {index} is {found} instead of {expected}");
            }
        }
        Ok(())
    }

    /// The call that a launcher would make.
    ///
    /// # Safety
    /// The words match the kernel's parameters.
    unsafe fn call(&self, words: &[Word]) -> Call<'static> {
        let parameters = vec![Parameter::bound::<u64>("", ""); words.len()];
        let mut contract = Contract::ANY;
        contract.cooperative = self.cooperative;
        // A corpus is run by tests and ends with them.
        let name = String::leak(self.kernel().to_owned());
        let kernel = Kernel::new(name, "", self.file, 0, Vec::leak(parameters)).with_contract(contract);
        // SAFETY: the caller's, with what is bound below.
        let mut call = unsafe { Call::new(Box::leak(Box::new(kernel))) };
        for word in words {
            // SAFETY: the caller's.
            let arguments = unsafe { call.arguments_mut() };
            match *word {
                Word::Number(number) => arguments.push_value(number),
                Word::Address(address) => arguments.push_value(address),
            }
        }
        call
    }
}

/// Where the body ends that the text of a kernel begins with; inlined assembly and vectors have braces of their own.
fn body(text: &str) -> usize {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
enum Word {
    Number(u32),
    Address(u64),
}

#[cfg(test)]
mod tests {
    use super::{Source, read};

    #[test]
    fn a_mutation_is_launched_as_its_kernel_and_has_its_marks() {
        let text = "\
            //@ right, 2 x 64, cooperative: in 128, out 2 = 3 * i, 7\n\
            extern \"C\" __global__ void k(const int *x, int *y, int n) {\n\
            \x20   a(); //~ data-race\n\
            \x20   //@ wrong, first: b();\n\
            \x20   //@ wrong, sometimes, second:\n\
            \x20   c(); //~ data-race, second: deadlock?\n\
            }\n\
            //@ right, 1 x 32: zero 1\n\
            extern \"C\" __global__ void alone(int *y) {}\n";
        let source = Source { file: "cuda/none.cu", check: "sm_80", text, ptx: "" };
        let cases = read(&source).expect("the text is right");
        let names: Vec<&str> = cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names, ["k", "first", "second", "alone"]);
        let (right, mutations) = (&cases[0], &cases[1..3]);
        assert!(!right.is_wrong && right.cooperative && right.expected.is_empty());
        assert_eq!(right.results.len(), 1);
        for mutation in mutations {
            assert!(mutation.is_wrong && mutation.cooperative && mutation.results.is_empty());
            assert_eq!((mutation.size, &mutation.arguments), (right.size, &right.arguments));
        }
        let marks = |at: usize| -> Vec<_> {
            let expected = cases[at].expected.iter();
            let marks = expected.map(|mark| (&*mark.kind, mark.optional, mark.lines.iter().copied().collect()));
            marks.collect::<Vec<(&str, bool, Vec<u32>)>>()
        };
        assert_eq!(marks(1), [("data-race", false, vec![3, 6])]);
        assert_eq!(marks(2), [("deadlock", true, vec![6])]);
        assert!(!mutations[0].is_by_chance && mutations[1].is_by_chance);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, message) in [
            ("//@ right, 2 by 64\nfn k() {}", "line 1: //@ right, 2 by 64"),
            ("//@ right, 1 x 1: out 1 = j\nfn k() {}", "line 1: //@ right, 1 x 1: out 1 = j"),
            ("//@ wrong, 1 x 1\nfn k() {}", "`k`: it is wrong, and no mark says how"),
            ("//@ right, 1 x 1\n", "a line `//@` without a kernel behind it"),
        ] {
            let source = Source { file: "src/none.rs", check: "race", text, ptx: "" };
            let error = read(&source).expect_err(text);
            assert_eq!(error.to_string(), message);
        }
    }
}
