//! `trap`: the end of the kernel, with a fault.

use super::instruction::{Form, Instruction, Undefined};
use super::notation::Matched;
use crate::fault::{FaultKind, RawFault};
use crate::lower::{Control, Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::warp::Warp;

/// `trap`
pub(super) static TRAP: Instruction = Instruction {
    name: "trap",
    section: "9.7.19.5",
    forms: &[Form { syntax: "trap;", lower }],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(Draft::new(Handlers::same(trap)), Control::End);
    Ok(())
}

unsafe fn trap(warp: &mut Warp, pc: Pc) -> Pc {
    let lane = warp.active.trailing_zeros() as usize;
    warp.raise(RawFault::new(FaultKind::Trap, pc, lane, "the kernel executed `trap`"))
}
