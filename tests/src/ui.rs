//! The corpus of tests/ui: what its comments say of each kernel, and how one is launched.
//!
//! A kernel's own line of comment says whether it is wrong and how it is launched:
//!
//! ```text
//! //@ wrong, 2 x 64, shared 256: in 128, raw 64, out 128, 7
//! ```
//!
//! two blocks of 64 threads with 256 bytes of dynamic shared memory and four arguments: pointers to 128 words that count
//! from 0, to 64 words that nobody has written, to 128 such words that the host reads afterwards, and the number 7. `zero N`
//! are zeros, `freed N` is memory that was freed again, `null` is a pointer to nothing. `cooperative` launches all blocks at once.
//!
//! On each line of a finding stands its kind. Lines with the same kind, and the same number behind it if there is one, are
//! one finding:
//!
//! ```text
//! tile.add(i).write(x);          //~ data-race
//! let y = tile.add(i ^ 1).read(); //~ data-race
//! ```
//!
//! A `?` behind the kind allows the finding without asking for it; of a wrong kernel at least one is found. A finding without a line, as of a copy to the host, stands
//! in the kernel's own line of comment: `finds unwritten-copy`. `sometimes` stands there if some orders of the threads are
//! right, and `missed` if we are known not to find it, which fails once we do. Here nothing is checked: that is for tests/ui.rs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use cuda_std::Contract;
use cuda_std::launch::{Call, Kernel, Parameter};
use cust::memory::{CopyDestination, DeviceBuffer};
use rumba::{Device, LaunchConfig};

/// One argument of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Words that count from 0.
    In(usize),
    /// Zeros.
    Zero(usize),
    /// Words that nobody has written.
    Raw(usize),
    /// The same, and the host reads them afterwards.
    Out(usize),
    /// Memory that was freed again.
    Freed(usize),
    /// A number.
    Number(u32),
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
    /// Its file, below tests/ui.
    pub file: &'static str,
    /// The check that it is about: the name of its folder or file.
    pub check: &'static str,
    /// Whether it is wrong.
    pub is_wrong: bool,
    /// Whether it is known that we do not find it.
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
    /// What is found in it: mistakes if it is wrong, information if it is right.
    pub expected: Vec<Expected>,
}

/// A source of kernels.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The file, below tests/ui.
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
    ($(rust $check:ident: $($name:ident),*;)* ptx $($(#[$_:meta])* $ptx:ident),*;) => {
        /// The sources.
        pub const SOURCES: &[Source] = &[
            $($(Source {
                file: concat!("src/", stringify!($check), "/", stringify!($name), ".rs"),
                check: stringify!($check),
                text: include_str!(concat!("../ui/src/", stringify!($check), "/", stringify!($name), ".rs")),
                ptx: PTX,
            },)*)*
            $(Source {
                file: concat!("ptx/", stringify!($ptx), ".ptx"),
                check: stringify!($ptx),
                text: include_str!(concat!("../ui/ptx/", stringify!($ptx), ".ptx")),
                ptx: include_str!(concat!("../ui/ptx/", stringify!($ptx), ".ptx")),
            },)*
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
    ptx mem, init, race, sync;
}

/// All kernels of the corpus.
///
/// # Errors
/// If a comment cannot be read; it is named.
pub fn cases() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for source in SOURCES {
        cases.extend(read(source).with_context(|| format!("in tests/ui/{}", source.file))?);
    }
    Ok(cases)
}

fn read(source: &Source) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = Vec::new();
    let mut marks: BTreeMap<(String, String), Expected> = BTreeMap::new();
    let finish = |cases: &mut Vec<Case>, marks: &mut BTreeMap<_, _>| {
        if let Some(case) = cases.last_mut() {
            case.expected.extend(std::mem::take(marks).into_values());
        }
    };
    // As it is now, where it is at hand: an expectation that changes needs no new build.
    let now = std::fs::read_to_string(format!("{}/ui/{}", env!("CARGO_MANIFEST_DIR"), source.file));
    for (index, text) in now.as_deref().unwrap_or(source.text).lines().enumerate() {
        let line = index as u32 + 1;
        if let Some(launch) = text.trim().strip_prefix("//@ ") {
            finish(&mut cases, &mut marks);
            cases.push(head(launch, source).with_context(|| format!("line {line}: {text}"))?);
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let name = ["fn ", ".entry "]
            .iter()
            .find_map(|word| Some(text.split_once(word)?.1));
        if let Some(name) = name.filter(|_| case.name.is_empty()) {
            let end = name
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            case.name = name[..end].to_owned();
        }
        let Some((_, found)) = text.split_once("//~ ") else {
            continue;
        };
        for mark in found.split(',').map(str::trim) {
            let (kind, number) = mark.split_once(' ').unwrap_or((mark, ""));
            let known = marks.entry((kind.to_owned(), number.to_owned()));
            let expected = known.or_insert_with(|| Expected {
                kind: kind.trim_end_matches('?').to_owned(),
                lines: BTreeSet::new(),
                optional: kind.ends_with('?'),
            });
            expected.lines.insert(line);
        }
    }
    finish(&mut cases, &mut marks);
    for case in &cases {
        ensure!(!case.name.is_empty(), "a line `//@` without a kernel behind it");
        ensure!(
            !case.is_wrong || !case.expected.is_empty(),
            "`{}`: it is wrong, and no mark says how",
            case.name
        );
    }
    Ok(cases)
}

/// Reads what stands behind `//@`.
fn head(text: &str, source: &Source) -> Result<Case> {
    let (launch, arguments) = text.split_once(':').unwrap_or((text, ""));
    let mut case = Case {
        name: String::new(),
        file: source.file,
        check: source.check,
        is_wrong: false,
        is_missed: false,
        is_by_chance: false,
        size: [0; 2],
        shared: 0,
        cooperative: false,
        arguments: Vec::new(),
        expected: Vec::new(),
    };
    for word in launch.split(',').map(str::trim) {
        match word.split_once(' ') {
            None if word == "wrong" => case.is_wrong = true,
            None if word == "right" => case.is_wrong = false,
            None if word == "missed" => case.is_missed = true,
            None if word == "sometimes" => case.is_by_chance = true,
            None if word == "cooperative" => case.cooperative = true,
            Some(("shared", bytes)) => case.shared = bytes.parse()?,
            Some(("finds", kind)) => case.expected.push(Expected {
                kind: kind.to_owned(),
                lines: BTreeSet::new(),
                optional: false,
            }),
            Some((blocks, threads)) => {
                let threads = threads.strip_prefix("x ").context("a launch is `blocks x threads`")?;
                case.size = [blocks.parse()?, threads.parse()?];
            }
            None => bail!("`{word}` is no property of a launch"),
        }
    }
    for word in arguments.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        case.arguments.push(match word.split_once(' ') {
            None if word == "null" => Argument::Null,
            None => Argument::Number(word.parse()?),
            Some(("in", words)) => Argument::In(words.parse()?),
            Some(("zero", words)) => Argument::Zero(words.parse()?),
            Some(("raw", words)) => Argument::Raw(words.parse()?),
            Some(("out", words)) => Argument::Out(words.parse()?),
            Some(("freed", words)) => Argument::Freed(words.parse()?),
            Some(_) => bail!("`{word}` is no argument"),
        });
    }
    Ok(case)
}

impl Case {
    /// PTX with this kernel and no other, which keeps its place in the text.
    ///
    /// # Errors
    /// If the PTX cannot be parsed or does not have the kernel.
    pub fn ptx(&self) -> Result<String> {
        let source = SOURCES.iter().find(|source| source.file == self.file);
        let text = source.context("a case has a source")?.ptx;
        let mut own = text.as_bytes().to_vec();
        let mut found = false;
        let mut start = 0;
        while let Some(at) = text[start..].find(".entry ").map(|at| start + at) {
            let begin = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let end = text[at..].find("\n}").map_or(text.len(), |end| at + end + 2);
            start = end;
            let name = text[at + ".entry ".len()..].trim_start();
            if name
                .strip_prefix(&self.name)
                .is_some_and(|rest| rest.starts_with(['(', '\n', ' ']))
            {
                found = true;
                continue;
            }
            // Lines stay where they are.
            own[begin..end]
                .iter_mut()
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
        }
        ensure!(found, "there is no kernel `{}` in the PTX of {}", self.name, self.file);
        Ok(String::from_utf8(own)?)
    }

    /// Launches it once, waits, and reads what the host wants to have.
    ///
    /// # Errors
    /// If it is not in the PTX, and what a launch returns: a kernel that faults is an error.
    pub fn launch(&self, device: &Device) -> Result<()> {
        // SAFETY: the kernel gets its own parameters below; what it does with them is the point.
        let module = unsafe { device.load_unchecked(self.file, &self.ptx()?) }?;
        let mut words: Vec<Word> = Vec::new();
        let mut inputs: Vec<rumba::DeviceBuffer<u32>> = Vec::new();
        let mut outputs: Vec<(DeviceBuffer<u32>, bool)> = Vec::new();
        for argument in &self.arguments {
            // SAFETY: the memory is read by nobody but kernels that are wrong on purpose, and any bits are a word.
            let uninitialised = |words| unsafe { DeviceBuffer::<u32>::uninitialized(words) };
            match *argument {
                Argument::Number(number) => words.push(Word::Number(number)),
                Argument::Null => words.push(Word::Address(0)),
                Argument::In(length) => {
                    let values: Vec<u32> = (0..length as u32).collect();
                    inputs.push(device.buffer_from(&values)?);
                }
                Argument::Zero(length) => inputs.push(device.zeros(length)?),
                Argument::Raw(length) => outputs.push((uninitialised(length)?, false)),
                Argument::Out(length) => outputs.push((uninitialised(length)?, true)),
                Argument::Freed(length) => {
                    words.push(Word::Address(uninitialised(length)?.as_device_ptr().as_raw()));
                }
            }
            match argument {
                Argument::In(_) | Argument::Zero(_) => {
                    let address = inputs.last().map(|buffer| buffer.as_device_pointer().address());
                    words.extend(address.map(Word::Address));
                }
                Argument::Raw(_) | Argument::Out(_) => {
                    let address = outputs.last().map(|(buffer, _)| buffer.as_device_ptr().as_raw());
                    words.extend(address.map(Word::Address));
                }
                Argument::Number(_) | Argument::Null | Argument::Freed(_) => {}
            }
        }
        let [blocks, threads] = self.size;
        let config = LaunchConfig::new(blocks, threads).shared(self.shared);
        // SAFETY: parameters in number and size as the kernel declares them; what it does with them is the point.
        module.launch(config, unsafe { self.call(&words) })?;
        device.synchronize()?;
        for (buffer, _) in outputs.iter().filter(|(_, is_read)| *is_read) {
            let mut values = vec![0; buffer.len()];
            buffer.copy_to(&mut values)?;
        }
        Ok(())
    }

    /// The call that a launcher would make.
    ///
    /// # Safety
    /// The words are what the kernel's parameters are.
    unsafe fn call(&self, words: &[Word]) -> Call<'static> {
        let parameters = vec![Parameter::bound::<u64>("", ""); words.len()];
        let mut contract = Contract::ANY;
        contract.cooperative = self.cooperative;
        // A corpus is run by tests and ends with them.
        let name = String::leak(self.name.clone());
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

/// What is passed to a kernel.
#[derive(Debug, Clone, Copy)]
enum Word {
    Number(u32),
    Address(u64),
}
