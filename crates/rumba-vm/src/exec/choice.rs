//! Points of choice: where lanes wait until the exploration of orders lets them execute an operation that synchronises.
//!
//! This module reads the operation's effect from registers; [`crate::explore::tree`] decides which lanes are next.
//! Programs have these operations only on devices that explore.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::base::lanes::{LANES, SHARED_START, lanes_of};
use crate::base::report::AccessKind;
use crate::exec::memory::{Space, flat, within};
use crate::explore::event::{Access, Effect, Object, Role};
use crate::machine::cluster::{Cluster, RANK_SHIFT};
use crate::machine::context::Context;
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{ChoiceAccess, ChoiceKind, ChoiceMbarrier, ChoicePoint, Class};
use crate::machine::warp::{Split, Wait, Warp};
use crate::mem::atomic::Element;
use crate::mem::mbarrier::Object as MbarrierState;

/// Lets lanes wait for their turn; `imm` is the index of a [`ChoicePoint`].
pub(crate) const CHOICE: Handlers = Handlers::same(choose);
/// Notes that lanes write to memory.
pub(crate) const WRITE: Handlers = Handlers::same(write);

unsafe fn choose(warp: &mut Warp, pc: Pc) -> Pc {
    if warp.context().explores { warp.park(pc, Wait::Choice) } else { pc.next() }
}

unsafe fn write(warp: &mut Warp, pc: Pc) -> Pc {
    warp.wrote = true;
    pc.next()
}

/// The point of choice that an operation is.
pub(crate) fn point<'a>(context: &Context<'a>, pc: Pc) -> &'a ChoicePoint {
    &context.program.choices[pc.imm as usize]
}

/// The operation that lanes wait for at a point of choice, when no order lets them continue.
pub(crate) fn awaited(context: &Context<'_>, pc: Pc) -> String {
    match point(context, pc).kind {
        ChoiceKind::Mbarrier { operation: ChoiceMbarrier::Looks, .. } => {
            "waiting for a phase of an mbarrier that no thread completes".into()
        }
        ChoiceKind::Memory { .. } => "waiting for a value in memory that no thread writes".into(),
        ChoiceKind::Meet => "waiting for other threads of the warp".into(),
        ChoiceKind::Done | ChoiceKind::Mbarrier { .. } | ChoiceKind::Barrier | ChoiceKind::Unexplored => {
            "running".into()
        }
    }
}

/// The host address of an access that is allowed.
fn host(warp: &Warp, lane: usize, address: u64, bytes: u64, space: Space) -> Option<u64> {
    match space {
        Space::Shared if address >> RANK_SHIFT != 0 => {
            let (rank, offset) = Cluster::split(address, 0);
            // SAFETY: the block is not in use elsewhere.
            unsafe { (*warp.block).cluster() }.resolve(rank, offset, bytes, warp.shared_end).ok()
        }
        Space::Shared => within(warp, address, bytes, SHARED_START, warp.shared_end, warp.shared_base).ok(),
        Space::Local | Space::Const | Space::Param => None,
        Space::Generic | Space::Global => flat(warp, lane, address, bytes, AccessKind::Read, space)
            .ok()
            .filter(|_| address.is_multiple_of(bytes))
            .map(|_| address),
    }
}

/// The host addresses of the lanes of a split, as far as they are good ones.
fn hosts(warp: &Warp, split: &Split, point: &ChoicePoint, bytes: u64) -> Vec<(usize, u64)> {
    let addresses = warp.lanes::<u64>(split.pc.a);
    let space = Space::from_bits(point.space);
    let of_lane = |lane: usize| {
        // SAFETY: the slot has 32 lanes of 64 bits.
        let address = unsafe { *addresses.add(lane) }.wrapping_add(point.offset);
        Some((lane, host(warp, lane, address, bytes, space)?))
    };
    lanes_of(split.mask).filter_map(of_lane).collect()
}

fn word(warp: &Warp, slot: u16, lane: usize) -> u32 {
    // SAFETY: the slot is one of the operation's, with 32 lanes of 32 bits.
    unsafe { *warp.lanes::<u32>(slot).add(lane) }
}

/// The effects of the operation after a point of choice, for the lanes that wait there.
pub(crate) fn accesses(warp: &Warp, split: &Split, point: &ChoicePoint, block: u32) -> Vec<Access> {
    let mut found: Vec<Access> = Vec::new();
    match point.kind {
        ChoiceKind::Meet | ChoiceKind::Done | ChoiceKind::Unexplored => {}
        ChoiceKind::Memory { bytes, access } => {
            let bytes = u64::from(bytes);
            let effect = match access {
                ChoiceAccess::Reads => Effect::Reads,
                ChoiceAccess::Writes => Effect::Writes,
                ChoiceAccess::Combines(kind) => Effect::Combines(kind),
            };
            for (_, address) in hosts(warp, split, point, bytes) {
                let object = Object::Memory { address, bytes };
                let access = Access { object, effect };
                if !found.contains(&access) {
                    found.push(access);
                }
            }
        }
        ChoiceKind::Mbarrier { operation, counts } => {
            for (lane, address) in hosts(warp, split, point, 8) {
                let object = Object::Mbarrier(address);
                let (role, count) = match operation {
                    ChoiceMbarrier::Whole => {
                        found.push(Access { object, effect: Effect::All });
                        continue;
                    }
                    ChoiceMbarrier::Expects => (Role::Expects, 0),
                    ChoiceMbarrier::Looks => (Role::Looks, 0),
                    ChoiceMbarrier::Brings => (Role::Arrives, 0),
                    ChoiceMbarrier::Arrives if counts => (Role::Arrives, word(warp, split.pc.b, lane)),
                    ChoiceMbarrier::Arrives => (Role::Arrives, 1),
                };
                arrive(&mut found, object, role, count, 0);
            }
        }
        ChoiceKind::Barrier => {
            let whole = split.mask == warp.live;
            for lane in lanes_of(split.mask) {
                let (id, expected) = (word(warp, split.pc.a, lane), word(warp, split.pc.b, lane));
                arrive(&mut found, Object::Barrier { block, id }, Role::Arrives, 1, expected);
            }
            if let [Access { effect: Effect::Phase { count, .. }, .. }] = &mut found[..]
                && whole
            {
                *count = LANES as u32;
            }
        }
    }
    found
}

/// Adds to what lanes do with a barrier.
fn arrive(found: &mut Vec<Access>, object: Object, role: Role, more: u32, wanted: u32) {
    let same = found.iter_mut().find_map(|access| match &mut access.effect {
        Effect::Phase { count, expected, .. } if access.object == object && *expected == wanted => Some(count),
        _ => None,
    });
    match same {
        Some(count) => *count = count.saturating_add(more),
        None => found.push(Access { object, effect: Effect::Phase { role, phase: 0, count: more, expected: wanted } }),
    }
}

/// A number for what objects hold, as far as a wait could see it.
pub(crate) fn contents(accesses: &[Access]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for access in accesses {
        match access.object {
            Object::Memory { address, bytes } => {
                for byte in address..address + bytes {
                    // SAFETY: the access was found to be allowed, and all blocks that could free it belong to this worker.
                    unsafe { u8::read(byte) }.hash(&mut hasher);
                }
            }
            Object::Mbarrier(address) => {
                let state = mbarrier(address);
                match access.effect {
                    Effect::Phase { role: Role::Looks, .. } => state.has_left_parity(false).hash(&mut hasher),
                    _ => state.to_bits().hash(&mut hasher),
                }
            }
            Object::Barrier { .. } => {}
        }
    }
    hasher.finish()
}

/// The state of an mbarrier, or of what lies where one should be.
pub(crate) fn mbarrier(address: u64) -> MbarrierState {
    // SAFETY: the access was found to be allowed.
    MbarrierState::from_bits(unsafe { u64::read(address) })
}

/// The values of lanes that are needed at a point of choice or behind it.
pub(crate) fn live(warp: &Warp, mask: u32, point: &ChoicePoint) -> Vec<u64> {
    let mut values = Vec::new();
    for (slot, class) in &point.live {
        for lane in lanes_of(mask) {
            // SAFETY: the slot is one of the program's, of this class, with 32 lanes.
            unsafe {
                match class {
                    Class::W32 => values.push(u64::from(*warp.lanes::<u32>(*slot).add(lane))),
                    Class::W64 => values.push(*warp.lanes::<u64>(*slot).add(lane)),
                    Class::W128 => {
                        let value = *warp.lanes::<u128>(*slot).add(lane);
                        values.extend([value as u64, (value >> 64) as u64]);
                    }
                }
            }
        }
    }
    for predicate in &point.predicates {
        // SAFETY: the predicate is one of the program's.
        values.push(u64::from(unsafe { warp.predicate(*predicate) } & mask));
    }
    values.push(u64::from(warp.carry & mask));
    values
}
