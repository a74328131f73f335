//! `pmevent`: an event for profilers. It does nothing here.

use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `pmevent`
pub(super) static PMEVENT: Instruction = Instruction {
    name: "pmevent",
    section: "9.7.19.4",
    forms: &[Form {
        syntax: "pmevent{.mask} a;",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if l.literal(0).is_none() {
        return Err(LowerError::new("the number of an event is a constant"));
    }
    l.expect_at_most(0, if m.has(".mask") { 0xFFFF } else { 15 })
}
