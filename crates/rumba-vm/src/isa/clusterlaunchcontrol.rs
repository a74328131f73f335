//! `clusterlaunchcontrol`: asks that a cluster which has not begun yet is never begun, so that the asking one can do its
//! work.
//!
//! The answer comes like a bulk copy, when the mbarrier is next looked at. Its bits are this machine's own: programs only
//! pass them on. Clusters that a worker has taken are no longer given away, as on a device that has begun to launch them.

use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::agent::{Agent, Completion};
use crate::exec::group_sync::Bytes;
use crate::exec::memory::Space;
use crate::exec::range::{Range, range};
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::matrix::operands;
use crate::isa::mbarrier::{count, update};
use crate::isa::memory;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use crate::mem::copies::{Delivery, Tracked};

/// `clusterlaunchcontrol`
pub(super) static CLUSTERLAUNCHCONTROL: Instruction = Instruction {
    name: "clusterlaunchcontrol",
    section: "9.7.13.17",
    forms: &[
        Form {
            syntax: "
                clusterlaunchcontrol.try_cancel.async!{.ss}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128
                    [addr], [mbar];
                .ss = { .shared::cta };
            ",
            lower: lower_try_cancel,
        },
        Form {
            syntax: "clusterlaunchcontrol.query_cancel.is_canceled!.pred.b128  p, response;",
            lower: |l, _| {
                let answer = l.source(1, ScalarType::B128)?;
                let dst = l.destination(0, ScalarType::Pred)?;
                l.emit(VirtualOp::unary(Handlers::same(is_canceled), dst, answer));
                Ok(())
            },
        },
        Form {
            syntax: "clusterlaunchcontrol.query_cancel.get_first_ctaid!.v4.b32.b128  d, response;",
            lower: |l, _| {
                let answer = l.source(1, ScalarType::B128)?;
                for (axis, place) in operands::destinations(l, 0, 4, 32)?.into_iter().enumerate() {
                    first_ctaid(l, place, answer, axis);
                }
                Ok(())
            },
        },
        Form {
            syntax: "
                clusterlaunchcontrol.query_cancel.axis!.b32.b128  d, response;
                .axis = { .get_first_ctaid::x, .get_first_ctaid::y, .get_first_ctaid::z };
            ",
            lower: |l, m| {
                let answer = l.source(1, ScalarType::B128)?;
                let axes = [(".get_first_ctaid::x", 0), (".get_first_ctaid::y", 1), (".get_first_ctaid::z", 2)];
                let dst = l.destination(0, ScalarType::B32)?;
                first_ctaid(l, dst, answer, m.choose("axis", &axes)?);
                Ok(())
            },
        },
    ],
    availability: &[
        Availability::since((8, 6), 100),
        Availability::specific((8, 6), 100).with(&[".multicast::cluster::all"]),
    ],
    convergence: Convergence::Warp,
    ..Instruction::NEW
};

/// The bit of a response that says that a cluster was cancelled; below lie the coordinates of its first block.
const CANCELLED: u32 = 127;

/// Above the state space in an operation's `extra`: every block of the cluster gets the answer.
const TO_ALL: u16 = 0x100;

fn response(cancelled: Option<[u32; 3]>) -> u128 {
    cancelled.map_or(0, |[x, y, z]| u128::from(x) | u128::from(y) << 32 | u128::from(z) << 64 | 1 << CANCELLED)
}

fn lower_try_cancel(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let space = memory::space(l, m, 0);
    let to = operands::address(l, 0, space)?;
    let barrier = operands::address(l, 1, space)?;
    l.pool.uses_proxies = true;
    l.emit(VirtualOp {
        a: to,
        b: barrier,
        extra: space as u16 | if m.has(".multicast::cluster::all") { TO_ALL } else { 0 },
        defines: 0,
        ..VirtualOp::new(Handlers::same(try_cancel))
    });
    Ok(())
}

/// Takes a coordinate out of a response; the fourth, which programs ignore, is 0.
fn first_ctaid(l: &mut Lowering<'_>, dst: VReg, answer: VReg, axis: usize) {
    if axis == 3 {
        let zero = l.constant(ScalarType::B32, 0);
        l.emit(VirtualOp::unary(shape::lanes(function!(|value: u32| -> u32 { value })), dst, zero));
        return;
    }
    l.emit(VirtualOp { imm: axis as u64, ..VirtualOp::unary(Handlers::same(get_first_ctaid), dst, answer) });
}

unsafe fn try_cancel(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        if let Err(stop) = request(warp, pc, lane) {
            return stop;
        }
    }
    pc.next()
}

/// Asks for a lane.
fn request(warp: &mut Warp, pc: Pc, lane: usize) -> Result<(), Pc> {
    let space = if pc.extra & 0xff == Space::Shared as u16 { Space::Shared } else { Space::Generic };
    // SAFETY: `b` is a slot of 64 bits.
    let barrier = unsafe { *warp.lanes::<u64>(pc.b).add(lane) };
    let agent = warp.begin_operation(lane, Completion::Barrier(barrier));
    let mut reach = |slot: u16, bytes: u64, kind: AccessKind, agent: Option<Agent>| {
        // SAFETY: the slot is one of the operation's, with 32 lanes of 64 bits.
        let address = unsafe { *warp.lanes::<u64>(slot).add(lane) };
        let align = bytes;
        let wanted = Range { address, bytes, align, kind, space, agent };
        range(warp, pc, lane, wanted)
    };
    let to = reach(pc.a, 16, AccessKind::Write, agent)?;
    let barrier = reach(pc.b, 8, AccessKind::Atomic, agent.map(Agent::in_any_proxy))?;
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let (cluster, own) = unsafe { ((*warp.block).cluster(), (*warp.block).rank) };
    let offset_of = |address| cluster.owner(address).filter(|(rank, _)| *rank == own);
    let (Some((_, to)), Some((_, barrier))) = (offset_of(to), offset_of(barrier)) else {
        let message: String = "the answer and its mbarrier lie in the block's own shared memory".into();
        return Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)));
    };
    let ranks = if pc.extra & TO_ALL != 0 { 0..cluster.size() } else { own..own + 1 };
    // Whether there are mbarriers is seen at once, and not when the answer arrives.
    for rank in ranks.clone() {
        if let Some(base) = cluster.base(rank) {
            update(warp, pc, lane, base + barrier, |_| Ok(()))?;
            count(warp, pc, lane, base + barrier, Bytes::Brought(16))?;
        }
    }
    let number = agent.map_or(0, |agent| agent.number);
    warp.context().observe_copies(number, ranks.len());
    let bits = response(warp.context().cancel_cluster());
    for rank in ranks {
        let (Some(base), Some(state)) = (cluster.base(rank), cluster.state(rank)) else {
            continue;
        };
        let tracked = Tracked {
            barrier: base + barrier,
            number: warp.observe_tracked(lane),
            operation: number,
            delivery: Delivery::Value { to: base + to, bits },
        };
        // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
        unsafe { (*state).tracked.push(tracked) };
    }
    Ok(())
}

unsafe fn is_canceled(warp: &mut Warp, pc: Pc) -> Pc {
    let answers = warp.lanes::<u128>(pc.a);
    let mut mask = 0;
    for lane in lanes_of(warp.active) {
        // SAFETY: the slot has 32 lanes of 128 bits.
        mask |= ((unsafe { *answers.add(lane) } >> CANCELLED) as u32) << lane;
    }
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, mask) };
    pc.next()
}

unsafe fn get_first_ctaid(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, answers) = (warp.lanes::<u32>(pc.dst), warp.lanes::<u128>(pc.a));
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes.
        unsafe { *to.add(lane) = (*answers.add(lane) >> (32 * pc.imm)) as u32 };
    }
    pc.next()
}
