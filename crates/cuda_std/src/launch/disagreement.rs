//! The description of a kernel in PTX, compared with its launcher's.

use core::fmt;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::Kernel;
use crate::abi::description::{CLAUSES, Description};

/// How the PTX of a kernel differs from its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disagreement {
    /// The launcher's parameter, if the difference concerns a parameter.
    pub parameter: Option<&'static str>,
    /// The behaviour of the kernel in the PTX: `takes ..`.
    pub found: String,
    /// The behaviour of its launcher: `passes ..`.
    pub expected: String,
}

impl Kernel {
    /// The text that its macro writes into the PTX: see [`disagreement`](Self::disagreement).
    #[must_use]
    pub fn describe(&self) -> String {
        let description = Description {
            module_path: self.module_path,
            version: self.version,
            contract: self.contract,
            parameters: self.parameters,
            tiles: self.tiles,
        };
        let mut text = std::vec![0; description.length()];
        description.write(&mut text);
        // It is made of whole strings.
        String::from_utf8(text).unwrap_or_default()
    }

    /// Compares a description of a kernel, which the compilation for the device wrote, with this launcher's: the first
    /// thing that a launch relies on in which both differ.
    #[must_use]
    pub fn disagreement(&self, described: &str) -> Option<Disagreement> {
        let own = self.describe();
        if own == described {
            return None;
        }
        let (own, described) = (Stated::read(&own), Stated::read(described));
        let difference = |parameter, found, expected| Some(Disagreement { parameter, found, expected });
        if own.origin != described.origin {
            let of = |stated: &Stated<'_>| format!("is of the crate `{}`", stated.origin);
            return difference(None, of(&described), of(&own));
        }
        for ((own, described), (name, _)) in own.clauses.iter().zip(&described.clauses).zip(CLAUSES) {
            if own != described {
                let states = |numbers: &[u64]| match numbers {
                    [.., last] if *last == 0 => format!("states no `{name}`"),
                    [_] if matches!(name, "cooperative" | "dependent") => format!("states `{name}`"),
                    [number] => format!("states `{name} = {number}`"),
                    shape => format!("states `{name} = {shape:?}`"),
                };
                return difference(None, states(described), states(own));
            }
        }
        if own.parameters.len() != described.parameters.len() {
            let list = |verb: &str, stated: &Stated<'_>| {
                let labels: Vec<String> = stated.parameters.iter().map(|p| format!("`{}`", p.label)).collect();
                match labels.as_slice() {
                    [] => format!("{verb} no parameters"),
                    labels => format!("{verb} {}", labels.join(", ")),
                }
            };
            return difference(None, list("takes", &described), list("passes", &own));
        }
        let parameters = self.parameters.iter().chain(self.tiles);
        for ((own, described), parameter) in own.parameters.iter().zip(&described.parameters).zip(parameters) {
            if (own.role, &own.numbers) != (described.role, &described.numbers) {
                let (found, expected) = (format!("takes {described}"), format!("passes {own}"));
                return difference(Some(parameter.name), found, expected);
            }
        }
        None
    }
}

/// Whether the kernel of a description is `#[kernel(cooperative)]`.
#[must_use]
pub fn is_cooperative(described: &str) -> bool {
    let stated = Stated::read(described);
    stated.clauses.iter().zip(CLAUSES).any(|(numbers, (name, _))| name == "cooperative" && numbers[..] == [1])
}

/// A description, taken apart.
struct Stated<'t> {
    /// Crate and version.
    origin: &'t str,
    clauses: Vec<Vec<u64>>,
    parameters: Vec<StatedParameter<'t>>,
}

struct StatedParameter<'t> {
    role: &'t str,
    numbers: Vec<u64>,
    /// Name and type.
    label: &'t str,
}

/// Rank, elements of a thread, size, alignment, four PTX parameters, and a block.
const NUMBERS: usize = 11;

impl<'t> Stated<'t> {
    fn read(text: &'t str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let end = first.match_indices(' ').nth(1).map_or(first.len(), |(at, _)| at);
        let (origin, numbers) = first.split_at(end);
        let mut numbers = numbers.split_whitespace().map_while(|number| number.parse().ok());
        Self {
            origin,
            clauses: CLAUSES.iter().map(|&(_, count)| numbers.by_ref().take(count).collect()).collect(),
            parameters: lines.map(StatedParameter::read).collect(),
        }
    }
}

impl<'t> StatedParameter<'t> {
    fn read(line: &'t str) -> Self {
        let mut words = line.splitn(NUMBERS + 2, ' ');
        Self {
            role: words.next().unwrap_or_default(),
            numbers: words.by_ref().take(NUMBERS).map_while(|word| word.parse().ok()).collect(),
            label: words.next().unwrap_or_default(),
        }
    }
}

/// The parameter and its compared properties.
impl fmt::Display for StatedParameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok([rank, elements, size, align, words @ .., x, y, z]) = <[u64; NUMBERS]>::try_from(&*self.numbers) else {
            return write!(f, "`{}`", self.label);
        };
        write!(f, "`{}` as ", self.label)?;
        match self.role {
            "value" => write!(f, "a value")?,
            "input" => write!(f, "elements to read, each")?,
            "atomic" => write!(f, "atomic cells, each")?,
            "per-thread" if elements == 1 => write!(f, "an output for {rank}-D launches, each element")?,
            "per-thread" => write!(f, "an output for {rank}-D launches with {elements} elements a thread, each")?,
            "per-block" => write!(f, "an output with an element for each block")?,
            "shared" => write!(f, "dynamic shared memory with elements")?,
            "tile" => write!(f, "shared memory for blocks of at most {:?} threads", [x, y, z])?,
            "pointer" => write!(f, "a pointer to something")?,
            "tensor-map" => write!(f, "a tensor map of tiles of {rank} x {elements}")?,
            "tensor-output" => write!(f, "an output in tiles of {rank} x {elements}")?,
            other => write!(f, "{other}")?,
        }
        write!(f, " of {size} bytes, aligned to {align}")?;
        let words: Vec<String> = words.iter().filter(|word| **word > 0).map(ToString::to_string).collect();
        match words.as_slice() {
            [] => Ok(()),
            [word] => write!(f, " (a PTX parameter of {word} bytes)"),
            words => write!(f, " (PTX parameters of {} bytes)", words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Disagreement, Kernel};
    use crate::array::output::{Disjoint, DisjointSlice, PerBlock, Striped};
    use crate::launch::{Contract, Parameter};
    use crate::mem::shared::{Shared, Tile};
    use std::string::ToString;

    const fn kernel(parameters: &'static [Parameter]) -> Kernel {
        Kernel::new("k", "kernels::inner", "", 0, parameters).of_version(Some("0.1.0"))
    }

    const TILES: &[Parameter] = &[Parameter::tile::<Shared<Tile<u32, 64>>>("tile", "Shared<Tile<u32, 64>>")];
    const PARAMETERS: &[Parameter] = &[
        Parameter::bound::<f32>("a", "f32"),
        Parameter::bound::<[f32]>("x", "&[f32]"),
        Parameter::bound::<DisjointSlice<f32>>("y", "DisjointSlice<f32>"),
    ];

    #[test]
    fn a_description_is_a_line_for_each_parameter() {
        let kernel = kernel(PARAMETERS)
            .with_tiles(TILES)
            .with_contract(Contract::ANY.block([64, 1, 1]).dynamic_shared(1024).min_blocks(2));
        assert_eq!(
            kernel.describe(),
            "kernels 0.1.0 64 1 1 0 0 0 0 1024 0 0\n\
             value 0 0 4 4 4 0 0 0 0 0 0 a: f32\n\
             input 0 0 4 4 8 8 0 0 0 0 0 x: &[f32]\n\
             per-thread 1 1 4 4 8 8 0 0 0 0 0 y: DisjointSlice<f32>\n\
             tile 0 0 256 4 0 0 0 0 64 1 1 tile: Shared<Tile<u32, 64>>"
        );
        assert_eq!(kernel.disagreement(&kernel.describe()), None);
    }

    #[test]
    fn what_differs_is_named() {
        let own = kernel(PARAMETERS);
        let compare = |other: Kernel| own.disagreement(&other.describe());
        let differs = |parameter, found: &str, expected: &str| {
            Some(Disagreement { parameter, found: found.to_string(), expected: expected.to_string() })
        };
        const WIDER: &[Parameter] = &[
            Parameter::bound::<f32>("a", "f32"),
            Parameter::bound::<[f32]>("x", "&[f32]"),
            Parameter::bound::<DisjointSlice<[f32; 8]>>("y", "DisjointSlice<Row>"),
        ];
        assert_eq!(
            compare(kernel(WIDER)),
            differs(
                Some("y"),
                "takes `y: DisjointSlice<Row>` as an output for 1-D launches, each element of 32 bytes, aligned to 4 \
                 (PTX parameters of 8, 8 bytes)",
                "passes `y: DisjointSlice<f32>` as an output for 1-D launches, each element of 4 bytes, aligned to 4 \
                 (PTX parameters of 8, 8 bytes)",
            )
        );
        const LESS: &[Parameter] = &[Parameter::bound::<f32>("a", "f32")];
        assert_eq!(
            compare(kernel(LESS)),
            differs(None, "takes `a: f32`", "passes `a: f32`, `x: &[f32]`, `y: DisjointSlice<f32>`")
        );
        assert_eq!(
            compare(kernel(PARAMETERS).with_contract(Contract::ANY.block([64, 1, 1]))),
            differs(None, "states `block = [64, 1, 1]`", "states no `block`")
        );
        assert_eq!(
            compare(kernel(PARAMETERS).with_contract(Contract::ANY.cooperative())),
            differs(None, "states `cooperative`", "states no `cooperative`")
        );
        assert_eq!(
            compare(kernel(PARAMETERS).with_contract(Contract::ANY.dependent())),
            differs(None, "states `dependent`", "states no `dependent`")
        );
        assert_eq!(
            compare(Kernel::new("k", "others", "", 0, PARAMETERS).of_version(Some("0.1.0"))),
            differs(None, "is of the crate `others 0.1.0`", "is of the crate `kernels 0.1.0`")
        );
        assert!(compare(kernel(PARAMETERS).of_version(Some("0.2.0"))).is_some());
        assert!(compare(kernel(PARAMETERS).with_tiles(TILES)).is_some());
        assert!(own.disagreement("").is_some(), "of nothing");
    }

    #[test]
    fn roles_are_compared_and_names_are_not() {
        const PER_BLOCK: &[Parameter] = &[Parameter::bound::<Disjoint<f32, PerBlock>>("y", "Disjoint<f32, PerBlock>")];
        const PER_THREAD: &[Parameter] = &[Parameter::bound::<DisjointSlice<f32>>("y", "DisjointSlice<f32>")];
        const RENAMED: &[Parameter] = &[Parameter::bound::<DisjointSlice<u32>>("z", "Output")];
        const CHUNKS: &[Parameter] = &[Parameter::bound::<Disjoint<f32, Striped<4>>>("y", "Disjoint<f32, Striped<4>>")];
        let own = kernel(PER_THREAD);
        assert!(own.disagreement(&kernel(PER_BLOCK).describe()).is_some());
        assert!(own.disagreement(&kernel(CHUNKS).describe()).is_some());
        assert_eq!(own.disagreement(&kernel(RENAMED).describe()), None);
        // Clauses that concern only the driver's compiler.
        let contract = Contract::ANY.min_blocks(2).max_registers(32);
        assert_eq!(own.disagreement(&kernel(PER_THREAD).with_contract(contract).describe()), None);
    }
}
