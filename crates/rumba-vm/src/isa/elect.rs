//! `elect`: one lane of a mask, the same for all.

use crate::base::types::ScalarType;
use crate::exec::rendezvous;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, DST_AND_C, VReg, VirtualOp};
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::{Warp, fill};

/// `elect`
pub(super) static ELECT: Instruction = Instruction {
    name: "elect",
    section: "9.7.13.15",
    forms: &[Form { syntax: "elect.sync d|p, membermask;", lower }],
    availability: &[Availability::since((8, 0), 90)],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let (dst, predicate) = l.destination_pair(0, ScalarType::B32)?;
    let dst = if dst == VReg::None { l.scratch(ScalarType::B32) } else { dst };
    let c = if predicate == VReg::None { l.scratch(ScalarType::Pred) } else { predicate };
    let b = l.source(1, ScalarType::U32)?;
    l.emit_control(
        VirtualOp {
            dst,
            b,
            c,
            defines: DST_AND_C,
            ..VirtualOp::new(Handlers::same(elect).together(Members::Operand(2), None))
        },
        Control::Park,
    );
    Ok(())
}

unsafe fn elect(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp, group: u32| {
        let leader = group.trailing_zeros();
        // SAFETY: `dst` is a 32-bit slot.
        unsafe { fill(warp, pc.dst, group, leader) };
        // SAFETY: `c` is a predicate of the program.
        unsafe { warp.set_predicate(pc.c, 1 << leader) };
    };
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.b, body) }
}
