//! Loads and stores by affine addresses.
//!
//! The check is the one of every access; only how many addresses there are to check is known beforehand.

use crate::base::lanes::GROUP;
use crate::base::report::AccessKind;
use crate::exec::access::{load_contiguous, load_lanes, load_uniform, store_contiguous, store_lanes, store_uniform};
use crate::exec::memory::{AddressSpace, Addresses, affine_groups, affine_lanes};
use crate::exec::processor::Avx2;
use crate::machine::op::Pc;
use crate::machine::op::opcode::Opcode;
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// The kind of a load, for affine addresses.
pub(crate) const fn load_opcode<E: Element, D: AddressSpace, const N: usize>() -> Opcode {
    if D::PER_LANE {
        return Opcode::Local { bytes: (N * E::BYTES as usize) as u8, count: N as u8, stores: false };
    }
    Opcode::Load {
        bytes: (N * E::BYTES as usize) as u8,
        count: N as u8,
        shared: D::IS_SHARED,
        uniform: uniform_load::<E, D, N>,
        bases: if N == 1 && E::BYTES <= 8 { Some(bases_load::<E, D>) } else { None },
        contiguous: contiguous_load::<E, D, N>,
    }
}

/// The kind of a store, for affine addresses.
pub(crate) const fn store_opcode<E: Element, D: AddressSpace, const N: usize>() -> Opcode {
    if D::PER_LANE {
        return Opcode::Local { bytes: (N * E::BYTES as usize) as u8, count: N as u8, stores: true };
    }
    Opcode::Store {
        bytes: (N * E::BYTES as usize) as u8,
        count: N as u8,
        shared: D::IS_SHARED,
        uniform: uniform_store::<E, D, N>,
        contiguous: contiguous_store::<E, D, N>,
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn contiguous_load<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let bytes = N as u64 * E::BYTES;
    // SAFETY: the caller runs this in lockstep, for an operation whose address is affine with that stride.
    unsafe {
        match affine_groups::<D>(warp, pc, bytes, bytes * GROUP as u64, AccessKind::Read) {
            Some(groups) => load_contiguous::<Avx2, E, N>(warp, pc, groups),
            None => return missed_load::<E, D, N>(warp, pc, bytes),
        }
    }
    pc.next()
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn uniform_load<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let bytes = N as u64 * E::BYTES;
    // SAFETY: as above.
    unsafe {
        match affine_groups::<D>(warp, pc, bytes, bytes, AccessKind::Read) {
            Some(groups) => load_uniform::<E, N>(warp, pc, groups),
            None => return missed_load::<E, D, N>(warp, pc, 0),
        }
    }
    pc.next()
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn bases_load<E: Element, D: AddressSpace>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above; the destination has a base for each group.
    unsafe {
        match affine_groups::<D>(warp, pc, E::BYTES, E::BYTES, AccessKind::Read) {
            Some(groups) => {
                let bases = warp.bases::<E::Raw>(pc.dst);
                for (group, from) in groups.into_iter().enumerate() {
                    *bases.add(group) = E::read(from);
                }
            }
            None => return missed_bases_load::<E, D>(warp, pc),
        }
    }
    pc.next()
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn contiguous_store<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let bytes = N as u64 * E::BYTES;
    // SAFETY: as above.
    unsafe {
        match affine_groups::<D>(warp, pc, bytes, bytes * GROUP as u64, AccessKind::Write) {
            Some(groups) => store_contiguous::<Avx2, E, N>(warp, pc, groups),
            None => return missed_store::<E, D, N>(warp, pc, bytes),
        }
    }
    pc.next()
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn uniform_store<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let bytes = N as u64 * E::BYTES;
    // SAFETY: as above.
    unsafe {
        match affine_groups::<D>(warp, pc, bytes, bytes, AccessKind::Write) {
            Some(groups) => store_uniform::<E, N>(warp, pc, groups),
            None => return missed_store::<E, D, N>(warp, pc, 0),
        }
    }
    pc.next()
}

/// Loads lane by lane what did not pass group by group.
#[cold]
#[inline(never)]
unsafe fn missed_load<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc, stride: u64) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as above.
    unsafe {
        match affine_lanes::<D>(warp, pc, N as u64 * E::BYTES, stride, AccessKind::Read, &mut addresses) {
            Ok(()) => load_lanes::<E, N>(warp, pc, &addresses),
            Err(stop) => return stop,
        }
    }
    pc.next()
}

#[cold]
#[inline(never)]
unsafe fn missed_bases_load<E: Element, D: AddressSpace>(warp: &mut Warp, pc: Pc) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as above; the destination has a base for each group.
    unsafe {
        if let Err(stop) = affine_lanes::<D>(warp, pc, E::BYTES, 0, AccessKind::Read, &mut addresses) {
            return stop;
        }
        let bases = warp.bases::<E::Raw>(pc.dst);
        for group in 0..crate::base::lanes::GROUPS {
            *bases.add(group) = E::read(addresses.get(group * GROUP));
        }
    }
    pc.next()
}

/// Stores lane by lane what did not pass group by group.
#[cold]
#[inline(never)]
unsafe fn missed_store<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc, stride: u64) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as above.
    unsafe {
        match affine_lanes::<D>(warp, pc, N as u64 * E::BYTES, stride, AccessKind::Write, &mut addresses) {
            Ok(()) => store_lanes::<E, N>(warp, pc, &addresses),
            Err(stop) => return stop,
        }
    }
    pc.next()
}
