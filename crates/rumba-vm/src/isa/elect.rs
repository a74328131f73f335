//! `elect`: one lane of a mask, the same for all.

use super::availability::Availability;
use super::instruction::{Form, Instruction, Undefined};
use super::notation::Matched;
use crate::lower::{Control, DST_AND_C, Draft, LowerError, Lowering, Place};
use crate::op::{Handlers, Pc};
use crate::rendezvous;
use crate::types::ScalarType;
use crate::warp::{Warp, fill};

/// `elect`
pub(super) static ELECT: Instruction = Instruction {
    name: "elect",
    section: "9.7.13.15",
    forms: &[Form {
        syntax: "elect.sync d|p, membermask;",
        lower,
    }],
    availability: &[Availability::since((8, 0), 90)],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let (dst, predicate) = l.destination_pair(0, ScalarType::B32)?;
    let dst = if dst == Place::None {
        l.scratch(ScalarType::B32)
    } else {
        dst
    };
    let c = if predicate == Place::None {
        l.scratch(ScalarType::Pred)
    } else {
        predicate
    };
    let b = l.source(1, ScalarType::U32)?;
    l.emit_control(
        Draft {
            dst,
            b,
            c,
            defines: DST_AND_C,
            ..Draft::new(Handlers::same(elect))
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
