//! `prefetchu`: a hint that memory will be read. Only its operands are checked.

use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `prefetchu`
pub(super) static PREFETCHU: Instruction = Instruction {
    name: "prefetchu",
    section: "9.7.9.16",
    forms: &[Form {
        syntax: "prefetchu.L1 [a];",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.address(0).map(drop)
}
