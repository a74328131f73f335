//! `trap`: the end of the kernel, with a fault.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `trap`
pub(super) static TRAP: Instruction = Instruction {
    name: "trap",
    section: "9.7.19.5",
    forms: &[Form { syntax: "trap;", lower }],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(VirtualOp::new(Handlers::same(trap)), Control::End);
    Ok(())
}

unsafe fn trap(warp: &mut Warp, pc: Pc) -> Pc {
    let lane = warp.active.trailing_zeros() as usize;
    warp.raise(RawFault::new(FaultKind::Trap, pc.source, lane, "the kernel executed `trap`"))
}
