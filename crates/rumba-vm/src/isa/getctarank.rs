//! `getctarank`: the rank in its cluster of the block that a shared address belongs to. Clusters are single blocks here.

use super::Instruction;
use super::memory::copy;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::Class;
use crate::types::ScalarType;

/// `getctarank`
pub(super) static GETCTARANK: Instruction = Instruction {
    name: "getctarank",
    section: "9.7.9.22",
    syntax: "
        getctarank{.shared::cluster}.type d, a;
        .type = { .u32, .u64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    l.source(1, ty)?;
    let zero = l.constant(ScalarType::U32, 0);
    let to = l.destination(0, ScalarType::U32)?;
    l.emit(Draft::unary(copy(Class::W32), to, zero));
    Ok(())
}
