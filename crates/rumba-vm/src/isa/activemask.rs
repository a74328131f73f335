//! `activemask`: the lanes that execute this instruction together.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::types::ScalarType;
use crate::warp::{Warp, lanes_of};

/// `activemask`
pub(super) static ACTIVEMASK: Instruction = Instruction {
    name: "activemask",
    section: "9.7.13.12",
    syntax: "activemask.b32 d;",
    lower,
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let dst = l.destination(0, ScalarType::B32)?;
    l.emit(Draft { dst, ..Draft::new(Handlers::same(activemask)) });
    Ok(())
}

unsafe fn activemask(warp: &mut Warp, pc: Pc) -> Pc {
    let to = warp.lanes::<u32>(pc.dst);
    for lane in lanes_of(warp.active) {
        // SAFETY: the slot has 32 lanes.
        unsafe { *to.add(lane) = warp.active };
    }
    pc.next()
}
