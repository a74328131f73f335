//! `mapa`: the address of a shared variable in another block of the cluster.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Names};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::cluster::Cluster;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `mapa`
pub(super) static MAPA: Instruction = Instruction {
    name: "mapa",
    section: "9.7.9.21",
    forms: &[Form {
        syntax: "
            mapa{.shared::cluster}.type d, a, b;
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
        ScalarType::U64 => Handlers::same(mapa::<u64>),
        _ => Handlers::same(mapa::<u32>),
    };
    let from = l.source(1, ty)?;
    let rank = l.source(2, ScalarType::U32)?;
    let to = l.destination(0, ty)?;
    l.emit(VirtualOp { extra: if window { WINDOW } else { 0 }, ..VirtualOp::binary(handlers, to, from, rank) });
    Ok(())
}

unsafe fn mapa<T: Copy + Into<u64> + TryFrom<u64> + Default>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from, ranks) = (warp.lanes::<T>(pc.dst), warp.lanes::<T>(pc.a), warp.lanes::<u32>(pc.b));
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &*warp.block };
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes.
        let (address, rank): (u64, u32) = unsafe { ((*from.add(lane)).into(), *ranks.add(lane)) };
        let cluster = block.cluster();
        let Some(base) = cluster.base(rank) else {
            let message = format!("the cluster has {} blocks, and block {rank} is asked for", cluster.size());
            return warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message));
        };
        let mapped = if pc.extra == WINDOW {
            Cluster::address(rank, Cluster::split(address, block.rank).1)
        } else {
            match cluster.owner(address) {
                Some((_, offset)) => base + offset,
                None => {
                    let message = format!("{address:#x} is not an address in shared memory of the cluster");
                    return warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message));
                }
            }
        };
        // SAFETY: as above. An address of the window fits 32 bits.
        unsafe { *to.add(lane) = T::try_from(mapped).unwrap_or_default() };
    }
    pc.next()
}
