//! The check of one lane's access to a range of any length: what copies read and write.
//!
//! It asks the same as [`crate::exec::memory`], where the single accesses of whole warps pass.

use crate::base::lanes::{MAX_CLUSTER, STACK_START};
use crate::base::report::{Access, AccessKind};
use crate::check::agent::Agent;
use crate::check::order::Order;
use crate::exec::memory::{Space, describe, flat, within};
use crate::machine::cluster::{Cluster, RANK_SHIFT};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::Pc;
use crate::machine::warp::Warp;

/// A range of memory that a lane accesses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
    pub(crate) kind: AccessKind,
    pub(crate) space: Space,
    /// The operation that accesses it, if that is not the lane itself.
    pub(crate) agent: Option<Agent>,
}

/// Checks, translates and observes a lane's access to a range of any length: the host address, or where the warp stops.
pub(crate) fn range(warp: &mut Warp, pc: Pc, lane: usize, wanted: Range) -> Result<u64, Pc> {
    let host = translate(warp, pc, lane, wanted)?;
    observe_range(warp, pc, lane, host, (wanted.bytes, wanted.kind), wanted.agent);
    Ok(host)
}

/// Checks and translates a lane's access to a range, of which the caller observes the parts that are accessed.
#[inline(never)]
pub(crate) fn translate(warp: &mut Warp, pc: Pc, lane: usize, wanted: Range) -> Result<u64, Pc> {
    let Range { address, bytes, align, kind, space, agent: _ } = wanted;
    let found = match space {
        Space::Shared if (1..=u64::from(MAX_CLUSTER)).contains(&(address >> RANK_SHIFT)) => {
            let (rank, offset) = Cluster::split(address, 0);
            // SAFETY: the block is not in use elsewhere while one of its warps runs.
            let cluster = unsafe { (*warp.block).cluster() };
            warp.check_block(pc.source, 1 << lane, cluster, rank);
            cluster.resolve(rank, offset, bytes, warp.shared_end)
        }
        Space::Shared => {
            within(warp, address, bytes, warp.context().program.shared_start, warp.shared_end, warp.shared_base)
        }
        Space::Local => {
            let own = warp.stack_base + lane as u64 * warp.stack_stride;
            within(warp, address, bytes, STACK_START, warp.stack_stride, own)
        }
        Space::Generic | Space::Global | Space::Const | Space::Param => {
            flat(warp, lane, address, bytes, kind, space).map(|_| address)
        }
    };
    let access = Access { kind, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), space: space.name() };
    // As in `memory`: where both are wrong, the alignment is reported.
    let aligned = address % align == 0;
    match (found, aligned) {
        (Ok(host), true) => Ok(host),
        (Err(place), true) => {
            let fault = RawFault::access(FaultKind::IllegalAddress, pc.source, lane, address, access, place);
            Err(warp.raise(fault))
        }
        (found, false) => {
            let message = format!("{access} at {address:#x}, which is not a multiple of {align}");
            let place = found.err().unwrap_or_else(|| describe(warp, address, bytes, space));
            let fault = RawFault::access(FaultKind::MisalignedAddress, pc.source, lane, address, access, place);
            Err(warp.raise(RawFault { message, ..fault }))
        }
    }
}

/// Checks and translates a lane's write of any number of bytes of shared memory: the host address, or where the warp
/// stops.
#[inline(never)]
pub(crate) fn written_range(warp: &mut Warp, pc: Pc, lane: usize, address: u64, bytes: u64) -> Result<u64, Pc> {
    let (kind, space) = (AccessKind::Write, Space::from_bits(pc.extra));
    let found = match space {
        Space::Shared => {
            within(warp, address, bytes, warp.context().program.shared_start, warp.shared_end, warp.shared_base)
        }
        Space::Local => {
            let own = warp.stack_base + lane as u64 * warp.stack_stride;
            within(warp, address, bytes, STACK_START, warp.stack_stride, own)
        }
        Space::Generic | Space::Global | Space::Const | Space::Param => flat(warp, lane, address, bytes, kind, space)
            .and_then(|bounds| match bounds {
                None => Ok(address),
                Some(_) => Err("that is not an address in shared memory".into()),
            }),
    };
    let access = Access { kind, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), space: space.name() };
    let host = found.map_err(|place| {
        warp.raise(RawFault::access(FaultKind::IllegalAddress, pc.source, lane, address, access, place))
    })?;
    observe_range(warp, pc, lane, host, (bytes, kind), None);
    Ok(host)
}

/// Tells the monitor of a lane's access to a range that has passed the access check.
pub(crate) fn observe_range(
    warp: &Warp,
    pc: Pc,
    lane: usize,
    host: u64,
    (bytes, kind): (u64, AccessKind),
    agent: Option<Agent>,
) {
    let what = (bytes, kind, Order::usual(kind));
    let place = |address| describe(warp, address, 1, Space::Generic);
    warp.observe(pc.source, 1 << lane, |_| host, what, agent, place);
}
