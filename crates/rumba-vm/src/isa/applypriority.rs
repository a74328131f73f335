//! `applypriority`: a hint about the cache. Only its operands are checked.

use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `applypriority`
pub(super) static APPLYPRIORITY: Instruction = Instruction {
    name: "applypriority",
    section: "9.7.9.17",
    forms: &[Form { syntax: "applypriority{.global}.L2::evict_normal [a], size;", lower }],
    availability: &[Availability::since((7, 4), 80)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.address(0).map(drop)
}
