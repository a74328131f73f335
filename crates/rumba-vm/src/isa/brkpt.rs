//! `brkpt`: a breakpoint. There is no debugger, so it ends the kernel with a fault.

use super::instruction::{Convergence, Form, Instruction};
use super::notation::Matched;
use crate::fault::{FaultKind, RawFault};
use crate::lower::{Control, Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::warp::Warp;

/// `brkpt`
pub(super) static BRKPT: Instruction = Instruction {
    name: "brkpt",
    section: "9.7.19.1",
    forms: &[Form {
        syntax: "brkpt;",
        lower,
    }],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.emit_control(Draft::new(Handlers::same(brkpt)), Control::End);
    Ok(())
}

unsafe fn brkpt(warp: &mut Warp, pc: Pc) -> Pc {
    let lane = warp.active.trailing_zeros() as usize;
    warp.raise(RawFault::new(
        FaultKind::Trap,
        pc,
        lane,
        "the kernel executed `brkpt`, and no debugger is attached",
    ))
}
