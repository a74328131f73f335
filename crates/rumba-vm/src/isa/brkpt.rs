//! `brkpt`: a breakpoint. There is no debugger, so it ends the kernel with a fault.

use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `brkpt`
pub(super) static BRKPT: Instruction = Instruction {
    name: "brkpt",
    section: "9.7.19.1",
    forms: &[Form { syntax: "brkpt;", lower }],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(VirtualOp::new(Handlers::same(brkpt)), Control::End);
    Ok(())
}

unsafe fn brkpt(warp: &mut Warp, pc: Pc) -> Pc {
    let lane = warp.active.trailing_zeros() as usize;
    warp.raise(RawFault::new(
        FaultKind::Trap,
        pc.source,
        lane,
        "the kernel executed `brkpt`, and no debugger is attached",
    ))
}
