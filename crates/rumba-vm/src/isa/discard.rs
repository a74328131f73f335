//! `discard`: a hint that data will not be read again. It does nothing here.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `discard`
pub(super) static DISCARD: Instruction = Instruction {
    name: "discard",
    section: "9.7.9.18",
    syntax: "discard{.global}.L2 [a], size;",
    lower,
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
