//! `barrier`: barriers between the threads of a block, and the one between the threads of a cluster.
//!
//! [`crate::run::block`] and [`crate::machine::cluster`] keep the arrivals of threads.

use crate::base::lanes::{BARRIERS, FULL, LANES};
use crate::base::types::ScalarType;
use crate::check::race::Arriving;
use crate::exec::memory::Space;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VReg, VirtualOp};
use crate::machine::block::{RESULT_ALL, RESULT_ANY, RESULT_COUNT};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::ChoiceKind;
use crate::machine::warp::{Wait, Warp, same};

/// `barrier`
pub(super) static BARRIER: Instruction = Instruction {
    name: "barrier",
    section: "9.7.13.1, 9.7.13.3",
    forms: &[
        Form { syntax: "barrier{.cta!}.sync{.aligned}  a{, b};", lower: |l, m| lower_sync(l, m.has(".aligned")) },
        Form { syntax: "barrier{.cta}.arrive!{.aligned}  a, b;", lower: |l, m| lower_arrive(l, m.has(".aligned")) },
        Form {
            syntax: "
                barrier{.cta}.red!.op{.aligned}.pred   p, a, c;
                barrier{.cta}.red!.op{.aligned}.pred   p, a, b, c;
                barrier{.cta}.red!.popc{.aligned}.u32  d, a, c;
                barrier{.cta}.red!.popc{.aligned}.u32  d, a, b, c;
                .op = { .and, .or };
            ",
            lower: |l, m| lower_red(l, m, m.has(".aligned")),
        },
        Form {
            syntax: "
                barrier.cluster.arrive!{.sem}{.aligned};
                .sem = { .release, .relaxed };
            ",
            lower: |l, m| {
                let arrive = VirtualOp {
                    imm: if m.get("sem") == Some(".relaxed") { RELAXED } else { 0 },
                    ..VirtualOp::new(Handlers::same(cluster_arrive))
                };
                // It does not wait, but it is the block's business: one that was not started has no part of its cluster.
                l.emit_control(arrive, Control::Park);
                Ok(())
            },
        },
        Form {
            syntax: "barrier.cluster.wait!{.acquire}{.aligned};",
            lower: |l, _| {
                l.emit_control(VirtualOp::new(Handlers::same(cluster_wait)), Control::Park);
                Ok(())
            },
        },
    ],
    availability: &[Availability::since((7, 8), 90).with(&[".cluster"])],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// Bits of an operation's `imm`.
const ARRIVES_ONLY: u64 = 1;
const GIVES_RESULT: u64 = 2;
const NEGATED: u64 = 4;
const RELAXED: u64 = 8;

/// An operation on the barrier that operand `id` names, for all threads of the block or for so many as the operand behind it
/// says.
fn virtual_op(l: &mut Lowering<'_>, aligned: bool, id: usize, counted: bool) -> Result<VirtualOp, LowerError> {
    let ty = ScalarType::U32;
    let none = l.constant(ty, 0);
    l.expect_at_most(id, 15)?;
    if l.literal(id + 1).is_some_and(|threads| threads % 32 != 0) {
        return Err(LowerError::new("the number of threads at a barrier is a multiple of 32"));
    }
    let (a, b) = (l.source(id, ty)?, if counted { l.source(id + 1, ty)? } else { none });
    l.choose(ChoiceKind::Barrier, (a, b), (Space::Generic, 0));
    Ok(VirtualOp {
        a,
        b,
        c: VReg::Predicate(1),
        d: VReg::Predicate(u16::from(aligned)),
        ..VirtualOp::new(Handlers::same(barrier).with_opcode(Opcode::Barrier))
    })
}

pub(super) fn lower_sync(l: &mut Lowering<'_>, aligned: bool) -> Result<(), LowerError> {
    let counted = l.operand_count() > 1;
    let virtual_op = virtual_op(l, aligned, 0, counted)?;
    l.emit_control(virtual_op, Control::Park);
    Ok(())
}

pub(super) fn lower_arrive(l: &mut Lowering<'_>, aligned: bool) -> Result<(), LowerError> {
    // It does not wait.
    let virtual_op =
        VirtualOp { handlers: Handlers::same(barrier), imm: ARRIVES_ONLY, ..virtual_op(l, aligned, 0, true)? };
    l.emit_control(virtual_op, Control::Park);
    Ok(())
}

pub(super) fn lower_red(l: &mut Lowering<'_>, m: &Matched<'_>, aligned: bool) -> Result<(), LowerError> {
    let last = l.operand_count() - 1;
    let virtual_op = virtual_op(l, aligned, 1, last == 3)?;
    let (predicate, negated) = l.predicate_source(last)?;
    let (extra, ty) = match m.get("op") {
        Some(_) => (m.choose("op", &[(".and", RESULT_ALL), (".or", RESULT_ANY)])?, ScalarType::Pred),
        None => (RESULT_COUNT, ScalarType::U32),
    };
    let virtual_op = VirtualOp {
        dst: l.destination(0, ty)?,
        c: predicate,
        extra,
        imm: GIVES_RESULT | if negated { NEGATED } else { 0 },
        ..virtual_op
    };
    l.emit_control(virtual_op, Control::Park);
    Ok(())
}

unsafe fn barrier(warp: &mut Warp, pc: Pc) -> Pc {
    let (ids, counts) = (warp.lanes::<u32>(pc.a), warp.lanes::<u32>(pc.b));
    let lane = warp.active.trailing_zeros() as usize;
    // SAFETY: the slots have 32 lanes.
    let (id, count) = unsafe { (*ids.add(lane), *counts.add(lane)) };
    // SAFETY: as above.
    let group = unsafe { same::<u32>(warp, pc.b, same::<u32>(warp, pc.a, warp.active)) };
    if group != warp.active {
        // The other lanes arrive, at other barriers, in their own turn.
        let others = warp.active & !group;
        warp.put(pc, others, Wait::Ready);
        warp.active = group;
    }
    let fault = |message: String| RawFault::new(FaultKind::Synchronisation, pc.source, lane, message);
    if id as usize >= BARRIERS {
        return warp.raise(fault(format!("barrier {id} does not exist: barriers are numbered from 0 to 15")));
    }
    if !count.is_multiple_of(LANES as u32) {
        return warp.raise(fault(format!("a barrier for {count} threads was asked for; it must be a multiple of 32")));
    }
    let threads = warp.context().threads().next_multiple_of(LANES as u32);
    if count > threads {
        return warp.raise(fault(format!("a barrier for {count} threads can never complete in a block of {threads}")));
    }
    let flip = if pc.imm & NEGATED != 0 { FULL } else { 0 };
    // SAFETY: `c` is a predicate of the program.
    let positive = unsafe { (warp.predicate(pc.c) ^ flip) & group }.count_ones();
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let phase = unsafe { (*warp.block).phase(id as usize) };
    // The constant predicates are 0 and 1.
    warp.record_arrival(pc, id as usize, phase, group, pc.d == 1);
    // SAFETY: as above.
    let arrived = unsafe { (*warp.block).arrive(id as usize, warp.index, group, count, positive) };
    if let Err(message) = arrived {
        return warp.raise(fault(message));
    }
    let id = id as u8;
    warp.observe_arrival(id, phase, group, pc.imm & ARRIVES_ONLY != 0);
    if pc.imm & ARRIVES_ONLY != 0 {
        return if warp.splits.is_empty() { pc.next() } else { warp.reschedule(pc.next()) };
    }
    if pc.imm & GIVES_RESULT != 0 {
        warp.park(pc, Wait::BarrierResult { id, phase })
    } else {
        warp.park(pc.next(), Wait::Barrier { id, phase })
    }
}

unsafe fn cluster_arrive(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &mut *warp.block };
    let phase = block.cluster().phase();
    match block.arrive_at_cluster(warp.index, warp.active) {
        Ok(()) => {
            let how = if pc.imm & RELAXED != 0 { Arriving::Relaxed } else { Arriving::Waiting };
            warp.observe_cluster(phase, warp.active, Some(how));
            pc.next()
        }
        Err(message) => {
            let lane = warp.active.trailing_zeros() as usize;
            warp.raise(RawFault::new(FaultKind::Synchronisation, pc.source, lane, message))
        }
    }
}

unsafe fn cluster_wait(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &*warp.block };
    match block.change_cluster(|cluster| cluster.wait(block.rank, warp.index, warp.active)) {
        Ok((waiting, phase)) => {
            // The others find the phase over that they arrived in.
            warp.observe_cluster(phase.wrapping_sub(1), warp.active & !waiting, None);
            warp.park_some(pc.next(), waiting, Wait::Cluster { phase })
        }
        Err(message) => {
            let lane = warp.active.trailing_zeros() as usize;
            warp.raise(RawFault::new(FaultKind::Synchronisation, pc.source, lane, message))
        }
    }
}
