//! `nanosleep`: lets others run.

use crate::base::types::ScalarType;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `nanosleep`
pub(super) static NANOSLEEP: Instruction = Instruction {
    name: "nanosleep",
    section: "9.7.19.3",
    forms: &[Form { syntax: "nanosleep.u32 t;", lower }],
    availability: &[Availability::since((6, 3), 70)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.source(0, ScalarType::U32)?;
    l.emit(VirtualOp::new(Handlers::same(nanosleep)));
    Ok(())
}

unsafe fn nanosleep(warp: &mut Warp, pc: Pc) -> Pc {
    warp.fuel.rest();
    pc.next()
}
