//! `pmevent`: an event for profilers. It does nothing here.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `pmevent`
pub(super) static PMEVENT: Instruction = Instruction {
    name: "pmevent",
    section: "9.7.19.4",
    syntax: "pmevent{.mask} a;",
    lower,
};

fn lower(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    Ok(())
}
