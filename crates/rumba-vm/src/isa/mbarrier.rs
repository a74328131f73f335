//! `mbarrier`: barriers that are objects in shared memory, count arrivals and bytes, and are waited for by polling.
//!
//! [`crate::mem::mbarrier`] documents the bits of an object. A wait never suspends a thread here: it ends the warp's
//! turn instead, so that a phase that never ends becomes a timeout that names the line.

use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::order::{ORDER_BITS, Order};
use crate::exec::group_sync::Bytes;
use crate::exec::memory::{Addresses, Flat, Shared, Space, scattered};
use crate::isa::memory;
use crate::lower::address::Address;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::block::BlockState;
use crate::machine::cluster::Cluster;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handler, Handlers, Pc};
use crate::machine::program::{ChoiceKind, ChoiceMbarrier};
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;
use crate::mem::mbarrier::{Arrival, Object};

/// `mbarrier`
pub(super) static MBARRIER: Instruction = Instruction {
    name: "mbarrier",
    section: "9.7.13.16",
    forms: &[
        Form {
            syntax: "
                mbarrier.init!{.ss}.b64  [addr], count;
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| {
                let count = l.source(1, ScalarType::U32)?;
                emit(l, m, 0, init, (VReg::None, count), 0, ChoiceMbarrier::Whole)
            },
        },
        Form {
            syntax: "
                mbarrier.inval!{.ss}.b64  [addr];
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| emit(l, m, 0, inval, (VReg::None, VReg::None), 0, ChoiceMbarrier::Whole),
        },
        Form {
            syntax: "
                mbarrier.expect_tx!{.sem}{.scope}{.ss}.b64  [addr], txCount;
                .sem = { .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta, ::cluster} };
            ",
            lower: |l, m| lower_transaction(l, m, transaction::<true>, ChoiceMbarrier::Expects),
        },
        Form {
            syntax: "
                mbarrier.complete_tx!{.sem}{.scope}{.ss}.b64  [addr], txCount;
                .sem = { .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta, ::cluster} };
            ",
            lower: |l, m| lower_transaction(l, m, transaction::<false>, BYTES),
        },
        Form {
            syntax: "
                mbarrier.arrive!{.sem}{.scope}{.ss}.b64            state, [addr]{, count};
                mbarrier.arrive.expect_tx!{.sem}{.scope}{.ss}.b64  state, [addr], txCount;
                mbarrier.arrive!.noComplete{.sem}{.scope}{.ss}.b64  state, [addr], count;
                .sem = { .release, .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta, ::cluster} };
            ",
            lower: |l, m| lower_arrive(l, m, 0),
        },
        Form {
            syntax: "
                mbarrier.arrive_drop!{.sem}{.scope}{.ss}.b64            state, [addr]{, count};
                mbarrier.arrive_drop.expect_tx!{.sem}{.scope}{.ss}.b64  state, [addr], txCount;
                mbarrier.arrive_drop!.noComplete{.sem}{.scope}{.ss}.b64  state, [addr], count;
                .sem = { .release, .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta, ::cluster} };
            ",
            lower: |l, m| lower_arrive(l, m, DROPS),
        },
        Form {
            syntax: "
                mbarrier.test_wait!{.parity!}{.sem}{.scope}{.ss}.b64  waitComplete, [addr], state;
                .sem = { .acquire, .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| lower_wait(l, m, 0),
        },
        Form {
            syntax: "
                mbarrier.try_wait!{.parity!}{.sem}{.scope}{.ss}.b64  waitComplete, [addr], state{, suspendTimeHint};
                .sem = { .acquire, .relaxed };
                .scope = { .cta, .cluster };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| lower_wait(l, m, SUSPENDS),
        },
        Form {
            syntax: "mbarrier.pending_count!.b64  count, state;",
            lower: |l, _| {
                l.choose_nothing(ChoiceKind::Unexplored);
                let state = l.source(1, ScalarType::B64)?;
                let count = l.destination(0, ScalarType::U32)?;
                l.emit(VirtualOp::unary(Handlers::same(pending_count), count, state));
                Ok(())
            },
        },
    ],
    availability: &[Availability::since((7, 0), 80)],
    optional_result: true,
    convergence: Convergence::Warp,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// Bits of an operation's `extra`, beside those of the state space and of the order.
const DROPS: u16 = 0x100;
const NO_COMPLETE: u16 = 0x4000;
const EXPECTS: u16 = 0x8000;
const PARITY: u16 = 0x100;
const SUSPENDS: u16 = 0x4000;

const _: () = assert!((0xff | ORDER_BITS) & (DROPS | NO_COMPLETE | EXPECTS | PARITY | SUSPENDS) == 0);

/// Emits an operation on the mbarrier at operand `index`.
fn emit(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    index: usize,
    handler: Handler,
    (dst, b): (VReg, VReg),
    flags: u16,
    operation: ChoiceMbarrier,
) -> Result<(), LowerError> {
    let space = memory::space(l, m, index);
    let address = memory::address(l, index, space)?;
    let counts = operation == ChoiceMbarrier::Arrives && flags & EXPECTS == 0;
    l.choose(ChoiceKind::Mbarrier { operation, counts }, (address.base, b), (space, address.offset));
    l.pool.uses_proxies = true;
    l.emit(VirtualOp {
        dst,
        a: address.base,
        b,
        imm: address.offset.cast_unsigned(),
        extra: space as u16 | flags,
        ..VirtualOp::new(Handlers::same(handler))
    });
    Ok(())
}

fn lower_transaction(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    handler: Handler,
    operation: ChoiceMbarrier,
) -> Result<(), LowerError> {
    let bytes = l.source(1, ScalarType::U32)?;
    let order = Order::of_mbarrier(m, ".relaxed", ".cta");
    emit(l, m, 0, handler, (VReg::None, bytes), order.bits(), operation)
}

fn lower_arrive(l: &mut Lowering<'_>, m: &Matched<'_>, drops: u16) -> Result<(), LowerError> {
    let mut flags = Order::of_mbarrier(m, ".release", ".cta").bits() | drops;
    if m.has(".expect_tx") {
        flags |= EXPECTS;
    }
    if m.has(".noComplete") {
        flags |= NO_COMPLETE;
    }
    let value = if l.operand_count() > 2 { l.source(2, ScalarType::U32)? } else { l.constant(ScalarType::U32, 1) };
    let state = l.destination(0, ScalarType::B64)?;
    emit(l, m, 1, arrive, (state, value), flags, ChoiceMbarrier::Arrives)
}

fn lower_wait(l: &mut Lowering<'_>, m: &Matched<'_>, suspends: u16) -> Result<(), LowerError> {
    // By default it is `.cta`, but the phase may end with a copy from another block, whose completion has the scope
    // `.cluster`: CUDA C++ waits for those without saying more.
    let mut flags = Order::of_mbarrier(m, ".acquire", ".cluster").bits() | suspends;
    let ty = if m.has(".parity") {
        flags |= PARITY;
        ScalarType::U32
    } else {
        ScalarType::B64
    };
    if l.operand_count() > 3 {
        l.source(3, ScalarType::U32)?;
    }
    let value = l.source(2, ty)?;
    let result = l.destination(0, ScalarType::Pred)?;
    emit(l, m, 1, wait, (result, value), flags, ChoiceMbarrier::Looks)
}

/// The effect of arriving bytes, which do not count as arrivals.
const BYTES: ChoiceMbarrier = ChoiceMbarrier::Brings;

/// Places a point of choice before an arrival at an mbarrier in shared memory, or before bytes that come there.
pub(super) fn choose_arrival(l: &mut Lowering<'_>, address: Address, arrives: bool) {
    let operation = if arrives { ChoiceMbarrier::Arrives } else { BYTES };
    let kind = ChoiceKind::Mbarrier { operation, counts: false };
    l.choose(kind, (address.base, VReg::None), (Space::Shared, address.offset));
}

/// Emits that `bytes` bytes have come, which the mbarrier at operand `index` keeps track of.
pub(super) fn lower_complete(l: &mut Lowering<'_>, index: usize, bytes: u32) -> Result<(), LowerError> {
    let address = memory::address(l, index, Space::Shared)?;
    let bytes = l.constant(ScalarType::U32, u128::from(bytes));
    choose_arrival(l, address, false);
    l.emit(VirtualOp {
        a: address.base,
        b: bytes,
        imm: address.offset.cast_unsigned(),
        extra: Space::Shared as u16 | Order::COMPLETION.bits(),
        defines: 0,
        ..VirtualOp::new(Handlers::same(transaction::<false>))
    });
    Ok(())
}

/// The host addresses of the objects at `[a + imm]`.
pub(super) fn objects(warp: &mut Warp, pc: Pc, kind: AccessKind) -> Result<Addresses, Pc> {
    let mut addresses = Addresses::new();
    let is_shared = pc.extra & 0xff == Space::Shared as u16;
    // SAFETY: `a` is a 64-bit slot, and the space is in `extra`.
    unsafe {
        if is_shared {
            scattered::<Shared>(warp, pc, 8, kind, &mut addresses)?;
        } else {
            scattered::<Flat>(warp, pc, 8, kind, &mut addresses)?;
        }
    }
    Ok(addresses)
}

#[cold]
fn mistake(warp: &mut Warp, pc: Pc, lane: usize, message: String) -> Pc {
    warp.raise(RawFault::new(FaultKind::Synchronisation, pc.source, lane, message))
}

/// The block in whose shared memory an object lies.
fn owner(warp: &mut Warp, pc: Pc, lane: usize, object: u64) -> Result<*mut BlockState, Pc> {
    let own = warp.block;
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &*own };
    let found = match block.cluster().owner(object) {
        Some((rank, _)) if rank == block.rank => Some(own),
        Some((rank, _)) => block.cluster().state(rank),
        None => None,
    };
    found.ok_or_else(|| mistake(warp, pc, lane, "an mbarrier lies in shared memory, and this does not".into()))
}

/// Changes the object at a host address.
pub(super) fn update<R>(
    warp: &mut Warp,
    pc: Pc,
    lane: usize,
    object: u64,
    change: impl FnOnce(&mut Object) -> Result<R, String>,
) -> Result<R, Pc> {
    let owner = owner(warp, pc, lane, object)?;
    // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
    if !unsafe { (*owner).mbarriers.contains(&object) } {
        let ended = warp.sync_history().and_then(|sync_history| sync_history.invalidated.get(&object).copied());
        let message = match ended.map(|ended| warp.context().program.debug.locations(ended.source)) {
            None => "there is no mbarrier here: it was not initialised, or is no longer valid".into(),
            Some(locations) => match locations.first() {
                Some(location) => format!("the mbarrier here was invalidated at {location}"),
                None => "the mbarrier here was invalidated".into(),
            },
        };
        return Err(mistake(warp, pc, lane, message));
    }
    // SAFETY: the address passed the access check, and shared memory is this worker's alone.
    let before = Object::from_bits(unsafe { u64::read(object) });
    let mut state = before;
    match change(&mut state) {
        Ok(result) => {
            // SAFETY: as above.
            unsafe {
                if before != state {
                    u64::write(object, state.to_bits());
                    (*warp.block).mbarrier_changes += 1;
                    let sync_history = (*owner).sync_history.as_deref_mut();
                    if let Some(mbarrier) =
                        sync_history.and_then(|sync_history| sync_history.mbarriers.get_mut(&object))
                    {
                        mbarrier.change(state.has_left(before));
                    }
                }
            }
            if state.has_left(before) {
                warp.context().observe_phase(object);
            }
            Ok(result)
        }
        Err(message) => Err(mistake(warp, pc, lane, message)),
    }
}

/// Tells the checks of bytes that an object counts.
pub(super) fn count(warp: &mut Warp, pc: Pc, lane: usize, object: u64, bytes: Bytes) -> Result<(), Pc> {
    if warp.sync_history().is_some() {
        let owner = owner(warp, pc, lane, object)?;
        warp.record_bytes(pc, lane, owner, object, bytes);
    }
    Ok(())
}

/// Lets everything arrive that an object keeps track of.
fn deliver(warp: &mut Warp, pc: Pc, lane: usize, object: u64) -> Result<(), Pc> {
    let owner = owner(warp, pc, lane, object)?;
    // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
    let tracked = unsafe { &mut (*owner).tracked };
    if warp.context().explores {
        // They arrive by themselves.
        return Ok(());
    }
    if tracked.iter().all(|one| one.barrier != object) {
        return Ok(());
    }
    // SAFETY: as above.
    let block = unsafe { (*owner).number };
    let due: Vec<_> = tracked.extract_if(.., |one| one.barrier == object).collect();
    for one in due {
        // SAFETY: the addresses passed the access check when the copy was begun.
        unsafe { one.delivery.arrive() };
        warp.context().observe_delivery(block, object, one.operation);
        update(warp, pc, lane, object, |state| state.complete(one.delivery.bytes()))?;
    }
    Ok(())
}

/// Does something for each active lane, given its object's address, until one of them is at fault.
fn each(warp: &mut Warp, pc: Pc, body: impl FnMut(&mut Warp, usize, u64) -> Result<(), Pc>) -> Pc {
    each_by(warp, pc, AccessKind::Atomic, body)
}

/// The same by another kind of access: an initialisation writes, a wait reads.
fn each_by(
    warp: &mut Warp,
    pc: Pc,
    kind: AccessKind,
    mut body: impl FnMut(&mut Warp, usize, u64) -> Result<(), Pc>,
) -> Pc {
    let addresses = match objects(warp, pc, kind) {
        Ok(addresses) => addresses,
        Err(stop) => return stop,
    };
    for lane in lanes_of(warp.active) {
        // SAFETY: the lane is active.
        let object = unsafe { addresses.get(lane) };
        if let Err(stop) = body(warp, lane, object) {
            return stop;
        }
    }
    pc.next()
}

fn word(warp: &Warp, slot: u16, lane: usize) -> u32 {
    // SAFETY: the slot is one of the operation's, with 32 lanes of 32 bits.
    unsafe { *warp.lanes::<u32>(slot).add(lane) }
}

unsafe fn init(warp: &mut Warp, pc: Pc) -> Pc {
    each_by(warp, pc, AccessKind::Write, |warp, lane, object| {
        let owner = owner(warp, pc, lane, object)?;
        let state = Object::new(word(warp, pc.b, lane)).map_err(|message| mistake(warp, pc, lane, message))?;
        // SAFETY: all blocks of the cluster belong to this worker; the address passed the access check.
        unsafe {
            warp.check_mbarrier_init(pc, lane, object, (*owner).mbarriers.contains(&object));
            if !(*owner).mbarriers.contains(&object) {
                (*owner).mbarriers.push(object);
            }
            u64::write(object, state.to_bits());
        }
        warp.context().observe_mbarrier(object, Some(pc.source));
        Ok(())
    })
}

unsafe fn inval(warp: &mut Warp, pc: Pc) -> Pc {
    each(warp, pc, |warp, lane, object| {
        update(warp, pc, lane, object, |_| Ok(()))?;
        warp.record_invalidation(pc, lane, object);
        let owner = owner(warp, pc, lane, object)?;
        // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
        unsafe { (*owner).mbarriers.retain(|known| *known != object) };
        warp.context().observe_mbarrier(object, None);
        Ok(())
    })
}

unsafe fn transaction<const EXPECT: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    each(warp, pc, |warp, lane, object| {
        let bytes = word(warp, pc.b, lane);
        let counted = if EXPECT { Bytes::Expected(bytes) } else { Bytes::Brought(bytes) };
        count(warp, pc, lane, object, counted)?;
        update(warp, pc, lane, object, |state| if EXPECT { state.expect(bytes) } else { state.complete(bytes) })
    })
}

/// The active lanes whose objects lie in shared memory of blocks of the cluster that have ended.
fn lanes_at_ended_blocks(warp: &Warp, pc: Pc) -> u32 {
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let (cluster, own) = unsafe { ((*warp.block).cluster(), (*warp.block).rank) };
    if cluster.unfinished == cluster.size() {
        return 0;
    }
    let mut lanes = 0;
    for lane in lanes_of(warp.active) {
        // SAFETY: `a` is a 64-bit slot.
        let address = unsafe { *warp.lanes::<u64>(pc.a).add(lane) }.wrapping_add(pc.imm);
        let rank = match Space::from_bits(pc.extra) {
            Space::Shared => Some(Cluster::split(address, own).0),
            _ => cluster.owner(address).map(|(rank, _)| rank),
        };
        if let Some(rank) = rank.filter(|rank| cluster.has_ended(*rank)) {
            warp.check_block(pc.source, 1 << lane, cluster, rank);
            lanes |= 1 << lane;
        }
    }
    lanes
}

/// Arrives. PTX forbids an arrival at an object of a block that has ended; a GPU executes it, and no thread can see what it did.
unsafe fn arrive(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    let without_effect = lanes_at_ended_blocks(warp, pc);
    if without_effect == active {
        return pc.next();
    }
    warp.active = active & !without_effect;
    let next = arrive_lanes(warp, pc);
    warp.active = active;
    next
}

fn arrive_lanes(warp: &mut Warp, pc: Pc) -> Pc {
    each(warp, pc, |warp, lane, object| {
        let value = word(warp, pc.b, lane);
        let expects = pc.extra & EXPECTS != 0;
        let arrival = Arrival {
            count: if expects { 1 } else { value },
            expect: if expects { value } else { 0 },
            drops: pc.extra & DROPS != 0,
            no_complete: pc.extra & NO_COMPLETE != 0,
        };
        if expects {
            count(warp, pc, lane, object, Bytes::Expected(value))?;
        }
        let state = update(warp, pc, lane, object, |state| state.arrive(arrival))?;
        // SAFETY: the slot has 32 lanes of 64 bits.
        unsafe { *warp.lanes::<u64>(pc.dst).add(lane) = state.to_bits() };
        Ok(())
    })
}

unsafe fn wait(warp: &mut Warp, pc: Pc) -> Pc {
    let mut complete = 0;
    let next = each_by(warp, pc, AccessKind::Read, |warp, lane, object| {
        if warp.sync_history().is_some() && pc.extra & PARITY != 0 {
            let parity = word(warp, pc.b, lane) & 1 != 0;
            if update(warp, pc, lane, object, |state| Ok(state.has_left_parity(parity)))? {
                let owner = owner(warp, pc, lane, object)?;
                warp.record_wait(pc, lane, owner, object, false);
            }
        }
        deliver(warp, pc, lane, object)?;
        let left = if pc.extra & PARITY != 0 {
            let parity = word(warp, pc.b, lane) & 1 != 0;
            update(warp, pc, lane, object, |state| Ok(state.has_left_parity(parity)))?
        } else {
            // SAFETY: the slot has 32 lanes of 64 bits.
            let token = Object::from_bits(unsafe { *warp.lanes::<u64>(pc.b).add(lane) });
            update(warp, pc, lane, object, |state| Ok(state.has_left(token)))?
        };
        if left {
            let owner = owner(warp, pc, lane, object)?;
            warp.record_wait(pc, lane, owner, object, true);
            complete |= 1 << lane;
            warp.observe_wait(pc, lane, object);
        }
        Ok(())
    });
    if next.is_stop() {
        return next;
    }
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, complete) };
    if complete != warp.active {
        warp.record_failed_wait();
        if pc.extra & SUSPENDS != 0 {
            warp.fuel.rest();
        } else {
            warp.fuel.poll();
        }
    }
    next
}

unsafe fn pending_count(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<u32>(pc.dst), warp.lanes::<u64>(pc.a));
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes.
        unsafe { *to.add(lane) = Object::from_bits(*from.add(lane)).pending };
    }
    pc.next()
}
