//! `applypriority`: a hint about the cache. It does nothing here.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `applypriority`
pub(super) static APPLYPRIORITY: Instruction = Instruction {
    name: "applypriority",
    section: "9.7.9.17",
    syntax: "applypriority{.global}.L2::evict_normal [a], size;",
    lower,
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
