//! `prefetchu`: a hint that memory will be read. Only its operands are checked.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `prefetchu`
pub(super) static PREFETCHU: Instruction = Instruction {
    name: "prefetchu",
    section: "9.7.9.16",
    forms: &[Form { syntax: "prefetchu.L1 [a];", lower }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.address(0).map(drop)
}
