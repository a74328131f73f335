//! `discard`: a hint that data will not be read again. Only its operands are checked.

use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `discard`
pub(super) static DISCARD: Instruction = Instruction {
    name: "discard",
    section: "9.7.9.18",
    forms: &[Form { syntax: "discard{.global}.L2 [a], size;", lower }],
    availability: &[Availability::since((7, 4), 80)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.address(0).map(drop)
}
