//! The versions of PTX and the targets that have an instruction, or some of its forms: the "PTX ISA Notes" and "Target
//! ISA Notes" of the manual's sections. An instruction without an entry exists in every version of PTX that has its
//! target.

use rumba_ptx::ast::Instruction;

/// Where the forms with certain modifiers exist.
pub struct Availability {
    /// Modifiers all of which the forms have.
    with: &'static [&'static str],
    /// Modifiers none of which the forms have.
    without: &'static [&'static str],
    /// The least number of operands, destinations included.
    operands: usize,
    version: (u32, u32),
    target: u32,
    /// The first target that lacks the forms again.
    below: u32,
    limit: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    /// From this version, for this target and later ones.
    Since,
    /// From this version, for the target itself and its family only: `sm_90a`.
    Specific,
    /// No longer from this version for this target and later ones.
    Until,
}

impl Availability {
    const fn new(version: (u32, u32), target: u32, limit: Limit) -> Self {
        Self { with: &[], without: &[], operands: 0, version, target, below: u32::MAX, limit }
    }

    /// All forms exist from a version of PTX and for a target and later ones.
    pub const fn since(version: (u32, u32), target: u32) -> Self {
        Self::new(version, target, Limit::Since)
    }

    /// All forms exist from a version of PTX, for targets of this architecture only (`sm_90a`).
    pub const fn specific(version: (u32, u32), target: u32) -> Self {
        Self::new(version, target, Limit::Specific)
    }

    /// From a version of PTX, the forms no longer exist for a target and later ones.
    pub const fn until(version: (u32, u32), target: u32) -> Self {
        Self::new(version, target, Limit::Until)
    }

    /// States the first target that lacks the forms again.
    pub const fn below(self, target: u32) -> Self {
        Self { below: target, ..self }
    }

    /// Restricts the entry to forms with all of these modifiers.
    pub const fn with(self, modifiers: &'static [&'static str]) -> Self {
        Self { with: modifiers, ..self }
    }

    /// Restricts the entry to forms with none of these modifiers.
    pub const fn without(self, modifiers: &'static [&'static str]) -> Self {
        Self { without: modifiers, ..self }
    }

    /// Restricts the entry to forms with at least this number of operands, destinations included.
    pub const fn operands(self, operands: usize) -> Self {
        Self { operands, ..self }
    }

    /// Whether the entry applies to an instruction.
    pub(crate) fn concerns(&self, instruction: &Instruction<'_>) -> bool {
        let has = |modifier: &&str| instruction.opcode.modifiers.contains(modifier);
        instruction.operands.len() >= self.operands && self.with.iter().all(has) && !self.without.iter().any(has)
    }

    /// The reason why a module of a version and a target cannot have these forms, as the end of a sentence.
    pub(crate) fn missing(&self, version: (u32, u32), target: Target) -> Option<String> {
        let Self { version: (major, minor), target: number, .. } = *self;
        match self.limit {
            Limit::Until => (target.number >= number && version >= self.version).then(|| {
                let without = self.without.join(" ");
                format!("without {without} does not exist for .target sm_{number} and later")
            }),
            _ if version < self.version => Some(format!("needs .version {major}.{minor} or later")),
            _ if target.number < number => Some(format!("needs .target sm_{number} or later")),
            _ if target.number >= self.below => Some(format!("does not exist for .target sm_{}", target.number)),
            Limit::Specific if !target.specific => Some(format!("needs .target sm_{number}a")),
            Limit::Since | Limit::Specific => None,
        }
    }
}

/// An architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// 90 for `sm_90a`.
    pub(crate) number: u32,
    /// Whether the target has the features specific to its architecture or family (`sm_90a`, `sm_100f`).
    pub(crate) specific: bool,
}
