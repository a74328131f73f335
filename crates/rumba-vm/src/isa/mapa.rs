//! `mapa`: the address of a shared variable in another block of the cluster. Clusters are single blocks here.

use super::Instruction;
use super::memory::copy;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::program::Class;
use crate::types::ScalarType;

/// `mapa`
pub(super) static MAPA: Instruction = Instruction {
    name: "mapa",
    section: "9.7.9.21",
    syntax: "
        mapa{.shared::cluster}.type d, a, b;
        .type = { .u32, .u64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let from = l.source(1, ty)?;
    l.source(2, ScalarType::U32)?;
    let to = l.destination(0, ty)?;
    l.emit(Draft::unary(copy(Class::of(ty)), to, from));
    Ok(())
}
