//! The instruction set: one file per instruction, one line here to register it.
//!
//! An instruction describes its syntax in the PTX manual's notation and lowers itself to operations. Nothing else in
//! the machine matches on mnemonics.

pub mod notation;

use crate::lower::{LowerError, Lowering};
use notation::Matched;

/// A PTX instruction.
pub struct Instruction {
    /// The mnemonic.
    pub name: &'static str,
    /// Where the PTX manual describes it.
    pub section: &'static str,
    /// Its forms, in the manual's notation.
    pub syntax: &'static str,
    /// Turns one occurrence into operations.
    pub lower: fn(&mut Lowering<'_>, &Matched<'_>) -> Result<(), LowerError>,
}

/// Every instruction, by mnemonic.
pub static INSTRUCTIONS: &[&Instruction] = &[];

/// The instruction of a mnemonic.
pub fn find(name: &str) -> Option<&'static Instruction> {
    INSTRUCTIONS
        .iter()
        .find(|instruction| instruction.name == name)
        .copied()
}
