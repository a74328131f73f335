//! `nanosleep`: lets others run.

use super::availability::Availability;
use super::instruction::{Form, Instruction};
use super::notation::Matched;
use crate::lower::{Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::types::ScalarType;
use crate::warp::Warp;

/// `nanosleep`
pub(super) static NANOSLEEP: Instruction = Instruction {
    name: "nanosleep",
    section: "9.7.19.3",
    forms: &[Form {
        syntax: "nanosleep.u32 t;",
        lower,
    }],
    availability: &[Availability::since((6, 3), 70)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    l.source(0, ScalarType::U32)?;
    l.emit(Draft::new(Handlers::same(nanosleep)));
    Ok(())
}

unsafe fn nanosleep(warp: &mut Warp, pc: Pc) -> Pc {
    warp.rest();
    pc.next()
}
