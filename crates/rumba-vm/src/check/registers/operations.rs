//! The operations that keep track of which registers hold something: put into programs by [`super::track`], one predicate
//! for each register.

use crate::check::finding::FindingKind;
use crate::check::memory::Space;
use crate::cluster::RANK_SHIFT;
use crate::instrument::Probe;
use crate::op::{Handlers, Pc};
use crate::warp::{FULL, Warp, lanes_of};

/// `dst` = the lanes of no value
pub(super) const CLEAR: Handlers = Handlers::same(clear);
/// `dst` = all lanes
pub(super) const SET: Handlers = Handlers::same(set);
/// `dst = a & b`
pub(super) const BOTH: Handlers = Handlers::same(both);
/// `dst = a | b`
pub(super) const EITHER: Handlers = Handlers::same(either);
/// `dst = a | !b`
pub(super) const UNLESS: Handlers = Handlers::same(unless);
/// `dst` = the lanes of `c` for which the predicates `a` and `b` are equal
pub(super) const ALIKE: Handlers = Handlers::same(alike);
/// `dst` = `a` in the lanes of `b`, `imm` in the others; `extra` is the [`Part`] that `imm` replaces
pub(super) const FILL: [Handlers; 2] = [Handlers::same(fill::<u32>), Handlers::same(fill::<u64>)];
/// `dst` = the lanes of `c` in which `a` and `b` are equal
pub(super) const SAME: [Handlers; 2] = [Handlers::same(same::<u32>), Handlers::same(same::<u64>)];
/// What is in memory holds nothing in the lanes that are not in `b`: a [`Probe`].
pub(super) const UNDEFINE: Handlers = Handlers::same(undefine);
/// `dst` = the lanes of which memory holds something: a [`Probe`].
pub(super) const DEFINED: Handlers = Handlers::same(defined);
/// Looks whether all active lanes are in `a`; `imm` is the number of the register.
pub(super) const LOOK: Handlers = Handlers::same(look);

unsafe fn clear(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, 0) };
    pc.next()
}

unsafe fn set(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, FULL) };
    pc.next()
}

unsafe fn both(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operands are predicates of the program.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) & warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn either(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) | warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn unless(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) | !warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn alike(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe {
        let equal = !(warp.predicate(pc.a) ^ warp.predicate(pc.b));
        warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal);
    }
    pc.next()
}

/// A part of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Part {
    Whole,
    Low,
    High,
}

impl Part {
    /// Its bits, where an operation's `extra` holds it, of a word of so many.
    pub(super) fn bits(extra: u16, bits: u32) -> u64 {
        let low = u64::MAX >> (64 - bits / 2);
        match extra {
            1 => low,
            2 => !low,
            _ => u64::MAX,
        }
    }
}

/// What a slot holds of a lane.
trait Word: Copy + PartialEq {
    const BITS: u32;

    /// With these bits of `imm` instead of its own.
    fn with(self, imm: u64, bits: u64) -> Self;
}

impl Word for u32 {
    const BITS: u32 = 32;

    fn with(self, imm: u64, bits: u64) -> Self {
        self & !bits as Self | (imm & bits) as Self
    }
}

impl Word for u64 {
    const BITS: u32 = 64;

    fn with(self, imm: u64, bits: u64) -> Self {
        self & !bits | imm & bits
    }
}

unsafe fn fill<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let defined = unsafe { warp.predicate(pc.b) };
    let (to, from) = (warp.lanes::<T>(pc.dst), warp.lanes::<T>(pc.a));
    let bits = Part::bits(pc.extra, T::BITS);
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots are the operation's, with 32 lanes.
        unsafe {
            let value = *from.add(lane);
            *to.add(lane) = if defined >> lane & 1 != 0 {
                value
            } else {
                value.with(pc.imm, bits)
            };
        }
    }
    pc.next()
}

unsafe fn same<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    let (a, b) = (warp.lanes::<T>(pc.a), warp.lanes::<T>(pc.b));
    // SAFETY: the slots are the operation's, with 32 lanes.
    let equal = |lane: &usize| unsafe { *a.add(*lane) == *b.add(*lane) };
    let equal = lanes_of(warp.active)
        .filter(equal)
        .fold(0, |lanes, lane| lanes | 1 << lane);
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal) };
    pc.next()
}

/// The host address that a lane's access goes to, if it may be one of memory that is its block's or everybody's.
fn host(warp: &Warp, space: Space, address: u64, lane: usize) -> Option<u64> {
    match space {
        Space::Shared => (address >> RANK_SHIFT == 0).then(|| warp.shared_base.wrapping_add(address)),
        Space::Local => Some(warp.stack_base + lane as u64 * warp.stack_stride).map(|base| base.wrapping_add(address)),
        Space::Generic | Space::Global | Space::Const | Space::Param => Some(address),
    }
}

unsafe fn undefine(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above; the operation was made of a probe.
    let (defined, addresses) = unsafe { (warp.predicate(pc.b), Probe::addresses(warp, &pc)) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let context = warp.context();
    let Some(map) = &context.allocations.unwritten else {
        return pc.next();
    };
    for lane in lanes_of(warp.active & !defined) {
        let Some(host) = host(warp, space, addresses[lane], lane) else {
            continue;
        };
        let allocation = || context.allocations.bounds(host, |allocation| allocation.start);
        map.undefine(host, bytes, allocation, || {
            let debug = &context.program.debug;
            let place = match debug.locations(pc.source).first() {
                Some(location) => location.to_string(),
                None => {
                    let (ptx, line) = debug.ptx(pc.source);
                    format!("{ptx}:{line}")
                }
            };
            format!(
                "kernel `{}` stored an uninitialised register there at {place}",
                context.program.name
            )
        });
    }
    pc.next()
}

unsafe fn defined(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made of a probe.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let mut defined = FULL;
    if let Some(map) = &warp.context().allocations.unwritten {
        for lane in lanes_of(warp.active) {
            let host = host(warp, space, addresses[lane], lane);
            if host.is_some_and(|host| map.is_undefined(host, bytes)) {
                defined &= !(1 << lane);
            }
        }
    }
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, defined) };
    pc.next()
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let without = warp.active & !unsafe { warp.predicate(pc.a) };
    if without != 0 {
        let actor = warp.actor(pc.source, without, "use");
        warp.note(FindingKind::UnwrittenRegister, actor, None, || {
            let names = &warp.context().program.debug.registers;
            match names.get(pc.imm as usize) {
                Some(name) => format!("`{name}` holds nothing in lanes {without:#010x}"),
                None => format!("a value that comes from a register without one, in lanes {without:#010x}"),
            }
        });
    }
    pc.next()
}
