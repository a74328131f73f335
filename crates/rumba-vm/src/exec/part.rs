//! The part of its slots that an operation over lanes works on: all 32 lanes, or the bases of an affine value.
//!
//! [`crate::exec::shape`] decides what is computed, [`crate::exec::lockstep`] when the bases suffice.

use crate::base::lanes::{FULL, GROUP, GROUPS, LANES};
use crate::exec::lane::{Lane, Raw};
use crate::exec::processor::Processor;
use crate::machine::warp::Warp;

/// Lanes that are read together.
pub(crate) const CHUNK: usize = GROUP;

/// A part of a slot.
pub(crate) trait Part {
    /// One lane of a slot, or one base.
    ///
    /// # Safety
    /// `slot` is a slot for `T` of the warp's program; `lane` is below the number of lanes that [`Self::write`] asks for.
    unsafe fn lane<T: Lane>(warp: &Warp, slot: u16, lane: usize) -> T;

    /// Eight lanes of a slot, given the stride of an affine value.
    ///
    /// # Safety
    /// `slot` is a slot for `T` of the warp's program; `chunk` is below 4.
    unsafe fn chunk<T: Lane>(warp: &Warp, slot: u16, chunk: usize, stride: i32) -> [T::Raw; CHUNK];

    /// Writes a slot from a function of the lane.
    ///
    /// The values are collected first: a loop that stores to a place of its own is one that the compiler vectorises, and
    /// it keeps them in registers on their way to the slot. A source may share the slot.
    ///
    /// # Safety
    /// `slot` is a slot for `R` of the warp's program; the processor is `X`.
    unsafe fn write<X: Processor, R: Raw>(warp: &Warp, slot: u16, compute: impl Fn(usize) -> R);
}

/// Computes all lanes, and writes the active ones.
pub(crate) struct Whole;

impl Part for Whole {
    #[inline(always)]
    unsafe fn lane<T: Lane>(warp: &Warp, slot: u16, lane: usize) -> T {
        // SAFETY: the slot has 32 lanes.
        T::from_raw(unsafe { warp.lanes::<T::Raw>(slot).add(lane).read() })
    }

    #[inline(always)]
    unsafe fn chunk<T: Lane>(warp: &Warp, slot: u16, chunk: usize, _: i32) -> [T::Raw; CHUNK] {
        // SAFETY: the slot has 32 lanes.
        unsafe { warp.lanes::<[T::Raw; CHUNK]>(slot).add(chunk).read() }
    }

    #[inline(always)]
    unsafe fn write<X: Processor, R: Raw>(warp: &Warp, slot: u16, compute: impl Fn(usize) -> R) {
        let mut values = [R::ZERO; LANES];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = compute(X::index(lane));
        }
        let place = warp.lanes::<R>(slot);
        // SAFETY: both places have 32 lanes.
        unsafe {
            if warp.active == FULL {
                place.cast::<[R; LANES]>().write(values);
            } else {
                // A copy, so that `values` itself may stay in registers.
                let values = values;
                X::select::<R>(place, values.as_ptr(), place, warp.active);
            }
        }
    }
}

/// The bases of an affine value; a warp in lockstep has no inactive lanes.
pub(crate) struct Bases;

impl Part for Bases {
    #[inline(always)]
    unsafe fn lane<T: Lane>(warp: &Warp, slot: u16, lane: usize) -> T {
        // SAFETY: the slot has four bases.
        T::from_raw(unsafe { warp.bases::<T::Raw>(slot).add(lane).read() })
    }

    #[inline(always)]
    unsafe fn chunk<T: Lane>(warp: &Warp, slot: u16, chunk: usize, stride: i32) -> [T::Raw; CHUNK] {
        // SAFETY: the slot has four bases.
        let base = unsafe { warp.bases::<T::Raw>(slot).add(chunk).read() };
        let mut lanes = [base; CHUNK];
        for (index, lane) in lanes.iter_mut().enumerate() {
            *lane = base.affine_lane(stride.into(), index);
        }
        lanes
    }

    #[inline(always)]
    unsafe fn write<X: Processor, R: Raw>(warp: &Warp, slot: u16, compute: impl Fn(usize) -> R) {
        let mut values = [R::ZERO; GROUPS];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = compute(lane);
        }
        // SAFETY: the slot has four bases.
        unsafe { warp.bases::<[R; GROUPS]>(slot).write_unaligned(values) };
    }
}
