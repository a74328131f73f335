//! `applypriority`: a hint about the cache. Only its operands are checked.

use super::availability::Availability;
use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `applypriority`
pub(super) static APPLYPRIORITY: Instruction = Instruction {
    name: "applypriority",
    section: "9.7.9.17",
    forms: &[Form {
        syntax: "applypriority{.global}.L2::evict_normal [a], size;",
        lower,
    }],
    availability: &[Availability::since((7, 4), 80)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.address(0).map(drop)
}
