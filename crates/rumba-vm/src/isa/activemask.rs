//! `activemask`: the lanes that execute this instruction together.

use crate::base::types::ScalarType;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::{Warp, fill};

/// `activemask`
pub(super) static ACTIVEMASK: Instruction = Instruction {
    name: "activemask",
    section: "9.7.13.12",
    forms: &[Form { syntax: "activemask.b32 d;", lower }],
    availability: &[Availability::since((6, 2), 30)],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let dst = l.destination(0, ScalarType::B32)?;
    l.emit(VirtualOp {
        dst,
        ..VirtualOp::new(
            Handlers::same(activemask).together(Members::Active, Some((|_, _, lanes, _| (lanes.clone(), None), true))),
        )
    });
    Ok(())
}

unsafe fn activemask(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: `dst` is a 32-bit slot.
    unsafe { fill(warp, pc.dst, warp.active, warp.active) };
    pc.next()
}
