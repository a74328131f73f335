//! `cp.async` and `cp.async.bulk`: copies that arrive later.
//!
//! [`crate::mem::copies`] says when copies arrive. Tensor copies and reductions are in [`crate::isa::tensor`].

use crate::base::lanes::lanes_of;
use crate::base::prefetch::prefetch;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::agent::{Agent, Completion};
use crate::exec::group_sync::Bytes;
use crate::exec::memory::{Addresses, Flat, Shared, Space, scattered};
use crate::exec::range::{Range, observe_range, range, translate};
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::mbarrier::{choose_arrival, count, objects, update};
use crate::isa::memory;
use crate::isa::tensor;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Memory, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Op, Pc};
use crate::machine::warp::Warp;
use crate::mem::copies::{Copy, Delivery, Tracked};
use crate::mem::mbarrier::Arrival;

/// `cp`
pub(super) static CP: Instruction = Instruction {
    name: "cp",
    section: "9.7.9.25",
    forms: &[
        Form {
            syntax: "
                cp.async!.ca.state.global{.hint}{.prefetch}  [dst], [src], size{, srcsize}{, policy};
                .state = { .shared{::cta} };
                .hint = { .L2::cache_hint };
                .prefetch = { .L2::64B, .L2::128B, .L2::256B };
            ",
            lower: |l, m| lower_copy(l, m, true),
        },
        Form {
            syntax: "
                cp.async!.cg.state.global{.hint}{.prefetch}  [dst], [src], size{, srcsize}{, policy};
                .state = { .shared{::cta} };
                .hint = { .L2::cache_hint };
                .prefetch = { .L2::64B, .L2::128B, .L2::256B };
            ",
            lower: |l, m| lower_copy(l, m, false),
        },
        Form { syntax: "cp.async.commit_group!;", lower: |l, _| emit(l, Handlers::same(commit::<false>)) },
        Form { syntax: "cp.async.wait_group!  n;", lower: |l, _| lower_wait(l, Handlers::same(wait)) },
        Form { syntax: "cp.async.wait_all!;", lower: |l, _| emit(l, Handlers::same(wait_all)) },
        Form {
            syntax: "
                cp.async.mbarrier.arrive!{.noinc}{.ss}.b64  [addr];
                .ss = { .shared{::cta} };
            ",
            lower: lower_arrive,
        },
        Form {
            syntax: "
                cp.async.bulk!.to.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.hint}
                    [dst], [src], size, [mbar]{, mask}{, policy};
                .to = { .shared::cluster, .shared::cta };
                .hint = { .L2::cache_hint };
            ",
            lower: |l, m| lower_bulk(l, m, FROM_GLOBAL),
        },
        Form {
            syntax: "cp.async.bulk!.shared::cluster.shared::cta.mbarrier::complete_tx::bytes  [dst], [src], size, [mbar];",
            lower: |l, m| lower_bulk(l, m, FROM_SHARED),
        },
        Form {
            syntax: "
                cp.async.bulk!.global.shared::cta.bulk_group{.hint}{.cp_mask}  [dst], [src], size{, policy}{, mask};
                .hint = { .L2::cache_hint };
            ",
            lower: |l, m| lower_bulk(l, m, TO_GLOBAL),
        },
        tensor::LOAD,
        tensor::STORE,
        tensor::REDUCE,
        tensor::PREFETCH,
        tensor::BULK_REDUCE,
        Form { syntax: "cp.async.bulk.commit_group!;", lower: |l, _| emit(l, Handlers::same(commit::<true>)) },
        Form {
            syntax: "cp.async.bulk.wait_group!{.read}  n;",
            lower: |l, m| {
                let wait = if m.has(".read") { wait_bulk::<true> } else { wait_bulk::<false> };
                lower_wait(l, Handlers::same(wait))
            },
        },
        Form {
            syntax: "
                cp.async.bulk.prefetch!.L2.global{.hint}  [src], size{, policy};
                .hint = { .L2::cache_hint };
            ",
            lower: |l, _| {
                // A prefetch changes nothing that a program can observe.
                memory::address(l, 0, Space::Global)?;
                l.source(1, ScalarType::U32)?;
                Ok(())
            },
        },
    ],
    availability: &[
        Availability::since((7, 0), 80).with(&[".async"]),
        Availability::since((8, 0), 90).with(&[".bulk"]),
        Availability::since((8, 6), 100).with(&[".tile::gather4"]),
        Availability::since((8, 6), 100).with(&[".tile::scatter4"]),
        Availability::specific((8, 6), 100).with(&[".im2col::w"]),
        Availability::specific((8, 6), 100).with(&[".im2col::w::128"]),
    ],
    convergence: Convergence::Warp,
    memory: Memory::Copies,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn emit(l: &mut Lowering<'_>, handlers: Handlers) -> Result<(), LowerError> {
    l.emit(VirtualOp::new(handlers));
    Ok(())
}

fn lower_arrive(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let space = memory::space(l, m, 0);
    let address = memory::address(l, 0, space)?;
    choose_arrival(l, address, m.has(".noinc"));
    l.emit(VirtualOp {
        a: address.base,
        imm: address.offset.cast_unsigned(),
        extra: space as u16 | if m.has(".noinc") { NO_INCREMENT } else { 0 },
        defines: 0,
        ..VirtualOp::new(Handlers::same(arrive))
    });
    Ok(())
}

/// Operand `index` as an address without an offset.
pub(super) fn whole_address(l: &mut Lowering<'_>, index: usize, space: Space) -> Result<VReg, LowerError> {
    let address = memory::address(l, index, space)?;
    if address.offset == 0 {
        return Ok(address.base);
    }
    let sum = l.scratch(ScalarType::U64);
    let offset = l.constant(ScalarType::U64, u128::from(address.offset.cast_unsigned()));
    let add = shape::lanes(function!(|a: u64, b: u64| -> u64 { a + b }));
    l.emit(VirtualOp::binary(add, sum, address.base, offset));
    Ok(sum)
}

fn number(l: &Lowering<'_>, index: usize) -> Result<i128, LowerError> {
    let span = l.operand(index)?.span;
    l.literal(index).ok_or_else(|| LowerError::new("a number is needed here").at(span))
}

/// Bits of an operation's `extra`.
const IGNORES: u16 = 0x100;
const NO_INCREMENT: u16 = 0x100;

fn lower_copy(l: &mut Lowering<'_>, m: &Matched<'_>, any_size: bool) -> Result<(), LowerError> {
    let bytes = number(l, 2)?;
    if !(bytes == 16 || any_size && (bytes == 4 || bytes == 8)) {
        let sizes = if any_size { "4, 8 or 16" } else { "16" };
        return Err(LowerError::new(format!("such a copy has {sizes} bytes")).at(l.operand(2)?.span));
    }
    let a = whole_address(l, 0, Space::Shared)?;
    let b = whole_address(l, 1, Space::Global)?;
    let extras = l.operand_count() - 3 - usize::from(m.has(".L2::cache_hint") || m.get("hint").is_some());
    let mut extra = bytes as u16;
    let c = if extras == 0 {
        l.constant(ScalarType::U32, bytes as u128)
    } else if let Some(ScalarType::Pred) = l.register_type(l.operand(3)?)? {
        extra |= IGNORES;
        l.source(3, ScalarType::Pred)?
    } else {
        l.source(3, ScalarType::U32)?
    };
    l.function.begins_copies = true;
    l.emit(VirtualOp { a, b, c, extra, defines: 0, ..VirtualOp::new(Handlers::same(copy)) });
    Ok(())
}

fn lower_wait(l: &mut Lowering<'_>, handlers: Handlers) -> Result<(), LowerError> {
    let but = u32::try_from(number(l, 0)?).map_err(|_| LowerError::new("this many groups there cannot be"))?;
    l.emit(VirtualOp { imm: u64::from(but), ..VirtualOp::new(handlers) });
    Ok(())
}

/// The kind of bulk copy, in an operation's `extra`.
const FROM_GLOBAL: u16 = 0;
const FROM_SHARED: u16 = 1;
const TO_GLOBAL: u16 = 2;
/// There is a mask: of blocks, or of bytes.
const MASKED: u16 = 0x100;

fn lower_bulk(l: &mut Lowering<'_>, m: &Matched<'_>, kind: u16) -> Result<(), LowerError> {
    let (to, from) = match kind {
        FROM_GLOBAL => (Space::Shared, Space::Global),
        FROM_SHARED => (Space::Shared, Space::Shared),
        _ => (Space::Global, Space::Shared),
    };
    let a = whole_address(l, 0, to)?;
    let b = whole_address(l, 1, from)?;
    let c = l.source(2, ScalarType::U32)?;
    let hint = m.get("hint").is_some();
    let (d, mask) = if kind == TO_GLOBAL {
        (VReg::None, m.has(".cp_mask").then_some(3 + usize::from(hint)))
    } else {
        let barrier = whole_address(l, 3, Space::Shared)?;
        (barrier, m.has(".multicast::cluster").then_some(4))
    };
    let expected = 3 + usize::from(kind != TO_GLOBAL) + usize::from(hint) + usize::from(mask.is_some());
    if l.operand_count() != expected {
        return Err(LowerError::new(format!(
            "these modifiers ask for {expected} operands, and {} are given",
            l.operand_count()
        )));
    }
    let dst = match mask {
        Some(index) => l.source(index, ScalarType::B16)?,
        None => VReg::None,
    };
    l.pool.uses_proxies = true;
    l.emit(VirtualOp {
        dst,
        a,
        b,
        c,
        d,
        extra: kind | if mask.is_some() { MASKED } else { 0 },
        defines: 0,
        ..VirtualOp::new(Handlers::same(bulk))
    });
    Ok(())
}

/// The operation with an address in `slot` of `space`, as the access check wants it.
fn with_address(pc: Pc, slot: u16, space: Space) -> Op {
    Op { a: slot, imm: 0, extra: space as u16, ..*pc }
}

/// Begins a copy of `extra` bytes from `b` to `a`, of which `c` come from there or, if `c` is a predicate, all or none.
unsafe fn copy(warp: &mut Warp, pc: Pc) -> Pc {
    let size = u32::from(pc.extra & 0xff);
    let active = warp.active;
    let mut takes = [0; 32];
    let (mut whole, mut partial) = (0, 0);
    for lane in lanes_of(active) {
        // SAFETY: `c` is a predicate of the program, or a slot of 32 bits.
        let take = unsafe {
            if pc.extra & IGNORES == 0 {
                *warp.lanes::<u32>(pc.c).add(lane)
            } else if warp.predicate(pc.c) >> lane & 1 != 0 {
                0
            } else {
                size
            }
        };
        if take > size {
            let message = format!("a copy of {size} bytes takes {take} from its source");
            return warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message));
        }
        takes[lane] = take;
        whole |= u32::from(take == size) << lane;
        partial |= u32::from(take != size && take != 0) << lane;
    }
    let (mut to, mut from) = (Addresses::new(), Addresses::new());
    let target = with_address(pc, pc.a, Space::Shared);
    let source = with_address(pc, pc.b, Space::Global);
    // SAFETY: `a` and `b` are 64-bit slots, and the operations have their spaces.
    unsafe {
        let bytes = u64::from(size);
        if let Err(stop) = scattered::<Shared>(warp, Pc::new(&target), bytes, AccessKind::Write, &mut to) {
            return stop;
        }
        if whole != 0 {
            warp.active = whole;
            let outcome = scattered::<Flat>(warp, Pc::new(&source), bytes, AccessKind::Read, &mut from);
            warp.active = active;
            if let Err(stop) = outcome {
                return stop;
            }
        }
    }
    for lane in lanes_of(active) {
        let take = takes[lane];
        let from = if whole >> lane & 1 != 0 {
            // SAFETY: the lane was active when the addresses were looked at.
            unsafe { from.get(lane) }
        } else if partial >> lane & 1 != 0 {
            let wanted = Range {
                // SAFETY: `b` is a 64-bit slot.
                address: unsafe { *warp.lanes::<u64>(pc.b).add(lane) },
                bytes: u64::from(take),
                align: u64::from(size),
                kind: AccessKind::Read,
                space: Space::Global,
                agent: None,
            };
            match range(warp, pc, lane, wanted) {
                Ok(from) => from,
                Err(stop) => return stop,
            }
        } else {
            // SAFETY: the lane was active when the addresses were looked at. No byte is read there.
            unsafe { to.get(lane) }
        };
        // The source is read when the copy arrives.
        prefetch(from);
        // SAFETY: as above.
        let to = unsafe { to.get(lane) };
        let copy = Copy { zeros: size - take, ..Copy::whole(from, to, take) };
        warp.copies.begin(lane, Delivery::Copy(copy));
        let (to, from) = (to..to + u64::from(size), from..from + u64::from(take));
        warp.begin_flight(pc, lane, to, from);
    }
    pc.next()
}

unsafe fn commit<const BULK: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    let groups = if BULK { &mut warp.bulk_copies } else { &mut warp.copies };
    groups.commit(active);
    pc.next()
}

unsafe fn wait(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    // SAFETY: the addresses passed the access check when the copies were begun.
    unsafe { warp.copies.wait(active, pc.imm as u32) };
    warp.land_groups();
    pc.next()
}

/// Waits for bulk copies, or until these have `READ` their sources.
unsafe fn wait_bulk<const READ: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let (active, but) = (warp.active, pc.imm as u32);
    // SAFETY: the addresses passed the access check when the copies were begun.
    unsafe { warp.bulk_copies.wait(active, but) };
    let over = warp.bulk_copies.over(active, but, READ);
    warp.observe_groups_landed(&over, READ);
    pc.next()
}

unsafe fn wait_all(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    // SAFETY: the addresses passed the access check when the copies were begun.
    unsafe { warp.copies.wait_all(active) };
    warp.land_groups();
    pc.next()
}

/// Arrives at an mbarrier for the copies that were begun.
unsafe fn arrive(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    // SAFETY: the addresses passed the access check when the copies were begun.
    unsafe { warp.copies.wait_all(active) };
    warp.land_groups();
    let objects = match objects(warp, pc, AccessKind::Atomic) {
        Ok(objects) => objects,
        Err(stop) => return stop,
    };
    for lane in lanes_of(active) {
        // Otherwise the phase waits for one arrival more, which is this one.
        let counts = pc.extra & NO_INCREMENT != 0;
        let arrival = Arrival { count: 1, drops: false, no_complete: false, expect: 0 };
        // SAFETY: the lane is active.
        let object = unsafe { objects.get(lane) };
        let outcome = update(warp, pc, lane, object, |state| {
            if counts {
                state.arrive(arrival)?;
            }
            Ok(())
        });
        if let Err(stop) = outcome {
            return stop;
        }
    }
    pc.next()
}

/// Begins a bulk copy of `c` bytes from `b` to `a`; `d` is the mbarrier, `dst` a mask.
unsafe fn bulk(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        if let Err(stop) = bulk_of_lane(warp, pc, lane) {
            return stop;
        }
    }
    pc.next()
}

/// The error of a bulk copy from shared memory to that of the cluster in a launch without clusters: an H200 takes it
/// for an illegal instruction, even if it would stay within the block.
pub(super) fn outside_of_clusters(warp: &Warp) -> Option<String> {
    (!warp.context().explicit_cluster).then(|| {
        "a bulk copy from shared memory to that of a cluster, in a kernel that is not launched in clusters".to_owned()
    })
}

fn bulk_of_lane(warp: &mut Warp, pc: Pc, lane: usize) -> Result<(), Pc> {
    // SAFETY: the slots are the operation's, with 32 lanes of 64, 64 and 32 bits.
    let (to, from, bytes) = unsafe {
        (*warp.lanes::<u64>(pc.a).add(lane), *warp.lanes::<u64>(pc.b).add(lane), *warp.lanes::<u32>(pc.c).add(lane))
    };
    let kind = pc.extra & 0xff;
    let masked = pc.extra & MASKED != 0;
    let mask = if masked {
        // SAFETY: `dst` is a slot of 32 bits then.
        unsafe { *warp.lanes::<u32>(pc.dst).add(lane) as u16 }
    } else {
        u16::MAX
    };
    let mistake = |warp: &mut Warp, message: String| {
        Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)))
    };
    if bytes % 16 != 0 {
        return mistake(warp, format!("a bulk copy of {bytes} bytes: only multiples of 16 can be copied"));
    }
    if kind == FROM_SHARED
        && let Some(message) = outside_of_clusters(warp)
    {
        return mistake(warp, message);
    }
    let (to_space, from_space) = match kind {
        FROM_GLOBAL => (Space::Shared, Space::Global),
        FROM_SHARED => (Space::Shared, Space::Shared),
        _ => (Space::Global, Space::Shared),
    };
    let completion = match kind {
        TO_GLOBAL => Completion::Group,
        // SAFETY: `d` is a 64-bit slot then.
        _ => Completion::Barrier(unsafe { *warp.lanes::<u64>(pc.d).add(lane) }),
    };
    let agent = warp.begin_operation(lane, completion);
    let side = |address, space, kind| Range {
        address,
        bytes: u64::from(bytes),
        align: 16,
        kind,
        space,
        agent: agent.map(|agent| agent.accessing(space == Space::Shared).of_kind(kind)),
    };
    let from = range(warp, pc, lane, side(from, from_space, AccessKind::Read))?;
    let target = side(to, to_space, AccessKind::Write);
    let to = translate(warp, pc, lane, target)?;
    let observe = |warp: &Warp| observe_range(warp, pc, lane, to, (target.bytes, target.kind), target.agent);
    let Completion::Barrier(barrier) = completion else {
        let copy = Copy { mask, ..Copy::whole(from, to, bytes) };
        // The report of a race depends on the bytes that the copy writes.
        begin_group(warp, pc, lane, Delivery::Copy(copy), agent);
        observe(warp);
        return Ok(());
    };
    observe(warp);
    deliver_to(warp, pc, lane, (to, barrier, masked.then_some(mask)), agent, |to| {
        Delivery::Copy(Copy::whole(from, to, bytes))
    })
}

/// Begins a bulk copy in the lane's open group.
pub(super) fn begin_group(warp: &mut Warp, pc: Pc, lane: usize, delivery: Delivery, agent: Option<Agent>) {
    warp.record_copy(pc, lane);
    if let Some(agent) = agent {
        warp.bulk_copies.follow(lane, agent.number);
        warp.observe_store(lane, agent.number, &delivery);
    }
    warp.bulk_copies.begin(lane, delivery);
}

/// Lets an mbarrier, whose address in shared memory is given, keep track of what goes to a host address in shared memory; with
/// a mask, in each of these blocks of the cluster.
pub(super) fn deliver_to(
    warp: &mut Warp,
    pc: Pc,
    lane: usize,
    (to, barrier, mask): (u64, u64, Option<u16>),
    agent: Option<Agent>,
    delivery: impl Fn(u64) -> Delivery,
) -> Result<(), Pc> {
    let mistake = |warp: &mut Warp, message: String| {
        Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)))
    };
    let wanted = Range {
        address: barrier,
        bytes: 8,
        align: 8,
        kind: AccessKind::Atomic,
        space: Space::Shared,
        agent: agent.map(Agent::in_any_proxy),
    };
    let barrier = range(warp, pc, lane, wanted)?;
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let cluster = unsafe { (*warp.block).cluster() };
    let (Some((to_rank, to_offset)), Some((barrier_rank, barrier_offset))) =
        (cluster.owner(to), cluster.owner(barrier))
    else {
        return mistake(warp, "target and mbarrier lie in shared memory of the cluster".into());
    };
    if to_rank != barrier_rank {
        return mistake(warp, "the mbarrier of a bulk copy lies in the block that the copy goes to".into());
    }
    let ranks: Vec<u32> = match mask {
        Some(mask) => lanes_of(u32::from(mask)).map(|rank| rank as u32).collect(),
        None => vec![to_rank],
    };
    let number = agent.map_or(0, |agent| agent.number);
    warp.context().observe_copies(number, ranks.len());
    for rank in ranks {
        let (Some(base), Some(state)) = (cluster.base(rank), cluster.state(rank)) else {
            let message = format!("the cluster has {} blocks, and block {rank} is to get a copy", cluster.size());
            return mistake(warp, message);
        };
        warp.check_block(pc.source, 1 << lane, cluster, rank);
        let barrier = base + barrier_offset;
        // Whether there is an mbarrier is seen at once, and not when the copy arrives.
        update(warp, pc, lane, barrier, |_| Ok(()))?;
        let delivery = delivery(base + to_offset);
        let bytes = u64::from(delivery.bytes());
        count(warp, pc, lane, barrier, Bytes::Brought(delivery.bytes()))?;
        if rank != to_rank {
            // The checks already know of the accesses in the block `to_rank`.
            observe_range(warp, pc, lane, base + to_offset, (bytes, AccessKind::Write), agent);
            let any = agent.map(Agent::in_any_proxy);
            observe_range(warp, pc, lane, barrier, (8, AccessKind::Atomic), any);
        }
        // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
        unsafe {
            (*state).tracked.push(Tracked { barrier, number: warp.observe_tracked(lane), operation: number, delivery });
        }
    }
    Ok(())
}
