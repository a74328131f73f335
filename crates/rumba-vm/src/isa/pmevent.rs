//! `pmevent`: an event for profilers. It does nothing here.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `pmevent`
pub(super) static PMEVENT: Instruction = Instruction {
    name: "pmevent",
    section: "9.7.19.4",
    forms: &[Form { syntax: "pmevent{.mask} a;", lower }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if l.literal(0).is_none() {
        return Err(LowerError::new("the number of an event is a constant"));
    }
    l.expect_at_most(0, if m.has(".mask") { 0xFFFF } else { 15 })
}
