//! `getctarank`: the rank in its cluster of the block that a shared address belongs to.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Names};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::cluster::Cluster;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `getctarank`
pub(super) static GETCTARANK: Instruction = Instruction {
    name: "getctarank",
    section: "9.7.9.22",
    forms: &[Form {
        syntax: "
            getctarank{.shared::cluster}.type d, a;
            .type = { .u32, .u64 };
        ",
        lower,
    }],
    availability: &[Availability::since((7, 8), 90)],
    names: Names::Addresses,
    ..Instruction::NEW
};

/// In an operation's `extra`: addresses count within shared memory instead of being generic.
const WINDOW: u16 = 1;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    // A generic address has 64 bits, so that one of 32 bits is within the window.
    let window = m.has(".shared::cluster") || ty == ScalarType::U32;
    let handlers = match ty {
        ScalarType::U64 => Handlers::same(getctarank::<u64>),
        _ => Handlers::same(getctarank::<u32>),
    };
    let from = l.source(1, ty)?;
    let to = l.destination(0, ScalarType::U32)?;
    l.emit(VirtualOp { extra: if window { WINDOW } else { 0 }, ..VirtualOp::unary(handlers, to, from) });
    Ok(())
}

unsafe fn getctarank<T: Copy + Into<u64>>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<u32>(pc.dst), warp.lanes::<T>(pc.a));
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &*warp.block };
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes.
        let address: u64 = unsafe { (*from.add(lane)).into() };
        let rank = if pc.extra == WINDOW {
            Cluster::split(address, block.rank).0
        } else {
            // The manual leaves the result for other memory unspecified.
            block.cluster().owner(address).map_or(0, |(rank, _)| rank)
        };
        // SAFETY: as above.
        unsafe { *to.add(lane) = rank };
    }
    pc.next()
}
