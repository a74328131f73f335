//! `setmaxnreg`: registers that a warp group releases or requests. The machine always has enough registers, so that
//! only the operands are checked.

use crate::isa::matrix::operands::{emit, whole_warp};
use crate::isa::matrix::warpgroup::expect_group;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `setmaxnreg`
pub(super) static SETMAXNREG: Instruction = Instruction {
    name: "setmaxnreg",
    section: "9.7.19.6",
    forms: &[Form { syntax: "setmaxnreg.action!.sync.aligned.u32 n; .action = { .inc, .dec };", lower }],
    availability: &[Availability::specific((8, 0), 90)],
    ..Instruction::NEW
};

/// In `imm`, above the number: `.inc`.
const MORE: u64 = 1 << 16;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    match l.literal(0) {
        Some(count @ 24..=256) if count % 8 == 0 => {
            let virtual_op = VirtualOp {
                imm: count as u64 | if m.get("action") == Some(".inc") { MORE } else { 0 },
                ..VirtualOp::new(Handlers::same(setmaxnreg))
            };
            emit(l, virtual_op, &[], &[]);
            Ok(())
        }
        _ => {
            let message = "a number of registers is needed here: a multiple of 8, from 24 to 256";
            Err(LowerError::new(message).at(l.operand(0)?.span))
        }
    }
}

unsafe fn setmaxnreg(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made by `operands::emit`.
    unsafe {
        whole_warp(warp, pc, |warp| {
            expect_group(warp, pc)?;
            warp.record_registers(pc, (pc.imm & 0xffff) as u32, pc.imm & MORE != 0);
            Ok(())
        })
    }
}
