//! A case: a module, its launches and their arguments, as one file of PTX.
//!
//! The launches and arguments are lines of comment in front of the module, so that a case can be kept, read, reduced and run again.

use std::fmt::{Display, Write as _};

use thiserror::Error;

/// The prefix of each line that does not belong to the module.
const MARK: &str = "//@ ";

/// A module and how its kernel is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The arguments of each launch.
    pub arguments: Vec<Argument>,
    /// The launches, one after the other.
    pub launches: Vec<Shape>,
    /// Variables of the module that engines leave alike, as they do buffers.
    pub variables: Vec<String>,
    /// The module. Its kernels are launched in the order of their names.
    pub ptx: String,
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
}

/// An argument of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The address of a buffer of so many bytes, whose contents follow from a seed.
    Buffer(usize, u64),
    /// A number of 32 bits.
    Word(u32),
    /// A number of 64 bits.
    Wide(u64),
}

/// Why a text is no case.
#[derive(Debug, Error)]
#[error("line `{0}` is none of `//@ launch X Y Z of X Y Z`, `//@ argument buffer|word|wide …` and `//@ variable NAME`")]
pub struct CaseError(String);

impl Shape {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Whether the launch has one warp: its lanes run in one order.
    pub fn is_one_warp(&self) -> bool {
        self.grid == [1; 3] && self.threads() <= 32
    }
}

impl Argument {
    /// The bytes of a buffer: zeros, small numbers, extreme numbers and any numbers.
    pub fn contents(bytes: usize, seed: u64) -> Vec<u8> {
        const EXTREME: [u32; 10] = [
            0x8000_0000,
            0xffff_ffff,
            0x7f80_0000,
            0x7fc0_0001,
            0x3f80_0000,
            0x0080_0000,
            1,
            0x7fff_ffff,
            0x3ff0_0000,
            0x7ff0_0000,
        ];
        let mut choices = crate::choices::Choices::of_seed(seed);
        let words = (0..bytes.div_ceil(4)).flat_map(|word| {
            let word = match (seed, choices.below(4)) {
                // The seed of buffers that kernels write to.
                (0, _) => 0xee_ee_ee_ee,
                (_, 0) => choices.below(40) as u32,
                (_, 1) => choices.of(&EXTREME),
                (_, 2) => word as u32,
                _ => choices.wide() as u32,
            };
            word.to_le_bytes()
        });
        words.take(bytes).collect()
    }
}

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// If a marked line is not understood.
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let mut case = Self { arguments: Vec::new(), launches: Vec::new(), variables: Vec::new(), ptx: String::new() };
        for line in text.lines() {
            let Some(marked) = line.strip_prefix(MARK) else {
                case.ptx.push_str(line);
                case.ptx.push('\n');
                continue;
            };
            let bad = || CaseError(line.to_owned());
            let words: Vec<&str> = marked.split_whitespace().collect();
            let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
            let small = |text: &str| text.parse::<u32>().map_err(|_| bad());
            match words[..] {
                ["launch", a, b, c, "of", x, y, z] => case
                    .launches
                    .push(Shape { grid: [small(a)?, small(b)?, small(c)?], block: [small(x)?, small(y)?, small(z)?] }),
                ["argument", "buffer", bytes, seed] => {
                    let bytes = small(bytes)? as usize;
                    case.arguments.push(Argument::Buffer(bytes, number(seed)?));
                }
                ["argument", "word", value] => case.arguments.push(Argument::Word(small(value)?)),
                ["argument", "wide", value] => case.arguments.push(Argument::Wide(number(value)?)),
                ["variable", name] => case.variables.push(name.to_owned()),
                // Words for people.
                ["difference", ..] => {}
                _ => return Err(bad()),
            }
        }
        Ok(case)
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut head = String::new();
        for Shape { grid, block } in &self.launches {
            let [[a, b, c], [x, y, z]] = [grid, block];
            writeln!(head, "{MARK}launch {a} {b} {c} of {x} {y} {z}")?;
        }
        for argument in &self.arguments {
            match argument {
                Argument::Buffer(bytes, seed) => writeln!(head, "{MARK}argument buffer {bytes} {seed}")?,
                Argument::Word(value) => writeln!(head, "{MARK}argument word {value}")?,
                Argument::Wide(value) => writeln!(head, "{MARK}argument wide {value}")?,
            }
        }
        for name in &self.variables {
            writeln!(head, "{MARK}variable {name}")?;
        }
        write!(f, "{head}{}", self.ptx)
    }
}

#[cfg(test)]
mod tests {
    use super::{Argument, Case, Shape};

    #[test]
    fn a_case_is_what_its_file_says() {
        let case = Case {
            arguments: vec![Argument::Buffer(100, 7), Argument::Word(u32::MAX), Argument::Wide(u64::MAX)],
            launches: vec![Shape { grid: [2, 1, 3], block: [8, 4, 1] }],
            variables: vec!["counter".to_owned()],
            ptx: ".version 9.0\n.visible .entry k() { ret; }\n".to_owned(),
        };
        assert_eq!(Case::parse(&case.to_string()).unwrap(), case);
        for bad in ["//@ launch 1 1 1", "//@ argument buffer x 1", "//@ argument word 4294967296"] {
            assert!(Case::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn buffers_have_the_bytes_of_their_seed() {
        assert_eq!(Argument::contents(7, 3), Argument::contents(7, 3));
        assert_eq!(Argument::contents(7, 3).len(), 7);
        assert_ne!(Argument::contents(64, 3), Argument::contents(64, 4));
    }
}
