//! Reading special registers that are not filled in by the launch: `%clock`, `%clock64` and `%globaltimer` with their
//! halves, and `%is_explicit_cluster`, which is a predicate.
//!
//! The clock counts executed warp instructions, so that it does not depend on the machine underneath; the global timer
//! is the system's time in nanoseconds.

use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::lanes::LANES;
use crate::machine::op::{Handlers, Pc};
use crate::machine::special::Special;
use crate::machine::warp::Warp;

/// The operation that reads such a register into its destination.
pub(crate) fn read(special: Special) -> Handlers {
    match special {
        Special::Clock64 => Handlers::same(read_64::<false>),
        Special::GlobalTimer => Handlers::same(read_64::<true>),
        Special::ClockHi => Handlers::same(read_32::<false, true>),
        Special::GlobalTimerLo => Handlers::same(read_32::<true, false>),
        Special::GlobalTimerHi => Handlers::same(read_32::<true, true>),
        Special::IsExplicitCluster => Handlers::same(is_explicit_cluster),
        _ => Handlers::same(read_32::<false, false>),
    }
}

fn now(warp: &Warp, global: bool) -> u64 {
    warp.context().variance.clock.store(true, Ordering::Relaxed);
    if global && warp.context().seed.is_none() {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
    } else {
        warp.executed()
    }
}

unsafe fn is_explicit_cluster(warp: &mut Warp, pc: Pc) -> Pc {
    let mask = if warp.context().explicit_cluster { u32::MAX } else { 0 };
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, mask) };
    pc.next()
}

unsafe fn read_64<const GLOBAL: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let value = now(warp, GLOBAL);
    let place = warp.lanes::<u64>(pc.dst);
    for lane in (0..LANES).filter(|lane| warp.active >> lane & 1 != 0) {
        // SAFETY: the slot has 32 lanes of 64 bits.
        unsafe { place.add(lane).write(value) };
    }
    pc.next()
}

unsafe fn read_32<const GLOBAL: bool, const HIGH: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let value = now(warp, GLOBAL);
    let value = if HIGH { (value >> 32) as u32 } else { value as u32 };
    let place = warp.lanes::<u32>(pc.dst);
    for lane in (0..LANES).filter(|lane| warp.active >> lane & 1 != 0) {
        // SAFETY: the slot has 32 lanes of 32 bits.
        unsafe { place.add(lane).write(value) };
    }
    pc.next()
}
