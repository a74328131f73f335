//! Loads and stores at addresses that have passed the access check.
//!
//! Kernels share memory with each other and with the host, so every access is atomic or made by assembly: a race is the
//! kernel's mistake and never undefined behaviour of the machine. A full warp that accesses consecutive elements is
//! served by wide copies, one that accesses a single element by one access.

use crate::mem::atomic::Element;
use std::marker::PhantomData;

use crate::base::lanes::{FULL, GROUP, GROUPS, LANES, lanes_of};
use crate::base::report::AccessKind;
use crate::exec::body::{Body, handlers};
use crate::exec::memory::{AddressSpace, Addresses, Flat, Local, Pattern, Shared, Space, affine, scattered};
use crate::exec::processor::Processor;
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// The slots of a vector: the first is the destination, the others lie behind the address.
#[inline(always)]
fn slots(pc: Pc) -> [u16; 4] {
    [pc.dst, pc.b, pc.c, pc.d]
}

/// Loads `N` consecutive elements per lane.
struct Load<E, D, const N: usize>(PhantomData<(E, D)>);

impl<E: Element, D: AddressSpace, const N: usize> Body for Load<E, D, N> {
    const OPCODE: Opcode = Opcode::load(E::BYTES, N, D::PER_LANE, D::IS_SHARED);

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the operation was made by `load`; the access check has found that the addresses are those of live, aligned elements;
        // the slots have 32 lanes.
        unsafe {
            match affine::<D, X>(warp, pc, N as u64 * E::BYTES, AccessKind::Read) {
                Some(Pattern::Contiguous(groups)) => {
                    load_contiguous::<X, E, N>(warp, pc, groups);
                    pc.next()
                }
                Some(Pattern::Uniform(groups)) => {
                    load_uniform::<E, N>(warp, pc, groups);
                    pc.next()
                }
                None => X::handler(load_scattered::<E, D, N>, load_scattered_avx2::<E, D, N>)(warp, pc),
            }
        }
    }
}

/// Loads elements that lie one behind the other within each group of lanes.
///
/// # Safety
/// `pc` is an operation made by [`load`], `groups` has passed the access check, and the processor is `X`.
#[inline(always)]
unsafe fn load_contiguous<X: Processor, E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
    // SAFETY: as the caller promises; the slots have 32 lanes.
    unsafe {
        if N == 1 && size_of::<E::Raw>() as u64 == E::BYTES {
            for (group, from) in groups.into_iter().enumerate() {
                let to = warp.lanes::<E::Raw>(pc.dst).add(group * GROUP).cast();
                match E::BYTES {
                    4 => X::copy_group::<4>(to, from as *const u8),
                    8 => X::copy_group::<8>(to, from as *const u8),
                    _ => X::copy_group::<16>(to, from as *const u8),
                }
            }
            return;
        }
        for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
            for (group, from) in groups.into_iter().enumerate() {
                let to = warp.lanes::<E::Raw>(slot).add(group * GROUP);
                for lane in 0..GROUP {
                    *to.add(lane) = E::read(from + (lane * N + part) as u64 * E::BYTES);
                }
            }
        }
    }
}

/// Loads one element for each group of lanes.
///
/// # Safety
/// `pc` is an operation made by [`load`], and `groups` has passed the access check.
#[inline(always)]
unsafe fn load_uniform<E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
        for (group, from) in groups.into_iter().enumerate() {
            // SAFETY: as the caller promises; the slots have 32 lanes.
            unsafe {
                let value = E::read(from + part as u64 * E::BYTES);
                *warp.lanes::<[E::Raw; GROUP]>(slot).add(group) = [value; GROUP];
            }
        }
    }
}

/// Loads from arbitrary addresses, with AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load_scattered_avx2<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { load_scattered::<E, D, N>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use load_scattered as load_scattered_avx2;

/// Loads from arbitrary addresses.
#[inline(always)]
unsafe fn load_scattered<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as in `Load`.
    unsafe {
        if let Err(stop) = scattered::<D>(warp, pc, N as u64 * E::BYTES, AccessKind::Read, &mut addresses) {
            return stop;
        }
        load_lanes::<E, N>(warp, pc, &addresses);
    }
    pc.next()
}

/// Loads from addresses that have passed the access check.
///
/// # Safety
/// They were set for the active lanes, and `pc` is an operation made by [`load`].
#[inline(always)]
unsafe fn load_lanes<E: Element, const N: usize>(warp: &Warp, pc: Pc, addresses: &Addresses) {
    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
        let to = warp.lanes::<E::Raw>(slot);
        // SAFETY: as the caller promises; the slots have 32 lanes.
        let take = |lane: usize| unsafe {
            *to.add(lane) = E::read(addresses.get(lane) + part as u64 * E::BYTES);
        };
        if warp.active == FULL {
            (0..LANES).for_each(take);
        } else {
            lanes_of(warp.active).for_each(take);
        }
    }
}

/// Stores `N` consecutive elements per lane.
struct Store<E, D, const N: usize>(PhantomData<(E, D)>);

impl<E: Element, D: AddressSpace, const N: usize> Body for Store<E, D, N> {
    const OPCODE: Opcode = Opcode::store(E::BYTES, N, D::PER_LANE, D::IS_SHARED);

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the operation was made by `store`; the access check has found that the addresses are those of live, aligned elements;
        // the slots have 32 lanes.
        unsafe {
            match affine::<D, X>(warp, pc, N as u64 * E::BYTES, AccessKind::Write) {
                Some(Pattern::Contiguous(groups)) => {
                    store_contiguous::<X, E, N>(warp, pc, groups);
                    pc.next()
                }
                Some(Pattern::Uniform(groups)) => {
                    store_uniform::<E, N>(warp, pc, groups);
                    pc.next()
                }
                None => X::handler(store_scattered::<E, D, N>, store_scattered_avx2::<E, D, N>)(warp, pc),
            }
        }
    }
}

/// Stores elements that lie one behind the other within each group of lanes.
///
/// # Safety
/// `pc` is an operation made by [`store`], `groups` has passed the access check, and the processor is `X`.
#[inline(always)]
unsafe fn store_contiguous<X: Processor, E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
    // SAFETY: as the caller promises; the slots have 32 lanes.
    unsafe {
        if N == 1 && size_of::<E::Raw>() as u64 == E::BYTES {
            for (group, to) in groups.into_iter().enumerate() {
                let from = warp.lanes::<E::Raw>(pc.dst).add(group * GROUP).cast();
                match E::BYTES {
                    4 => X::copy_group::<4>(to as *mut u8, from),
                    8 => X::copy_group::<8>(to as *mut u8, from),
                    _ => X::copy_group::<16>(to as *mut u8, from),
                }
            }
            return;
        }
        for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
            for (group, to) in groups.into_iter().enumerate() {
                let from = warp.lanes::<E::Raw>(slot).add(group * GROUP);
                for lane in 0..GROUP {
                    E::write(to + (lane * N + part) as u64 * E::BYTES, *from.add(lane));
                }
            }
        }
    }
}

/// Stores to one element for each group of lanes. The manual does not specify which lane wins; here the last lane does.
///
/// # Safety
/// `pc` is an operation made by [`store`], and `groups` has passed the access check.
#[inline(always)]
unsafe fn store_uniform<E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
        for (group, to) in groups.into_iter().enumerate() {
            // SAFETY: as the caller promises; the slots have 32 lanes.
            unsafe {
                let value = *warp.lanes::<E::Raw>(slot).add(group * GROUP + GROUP - 1);
                E::write(to + part as u64 * E::BYTES, value);
            }
        }
    }
}

/// Stores to arbitrary addresses, with AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn store_scattered_avx2<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { store_scattered::<E, D, N>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use store_scattered as store_scattered_avx2;

/// Stores to arbitrary addresses.
#[inline(always)]
unsafe fn store_scattered<E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as in `Store`.
    unsafe {
        if let Err(stop) = scattered::<D>(warp, pc, N as u64 * E::BYTES, AccessKind::Write, &mut addresses) {
            return stop;
        }
        store_lanes::<E, N>(warp, pc, &addresses);
    }
    pc.next()
}

/// Stores to addresses that have passed the access check.
///
/// # Safety
/// They were set for the active lanes, and `pc` is an operation made by [`store`].
#[inline(always)]
unsafe fn store_lanes<E: Element, const N: usize>(warp: &Warp, pc: Pc, addresses: &Addresses) {
    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
        let from = warp.lanes::<E::Raw>(slot);
        for lane in lanes_of(warp.active) {
            // SAFETY: as the caller promises; the slots have 32 lanes.
            unsafe { E::write(addresses.get(lane) + part as u64 * E::BYTES, *from.add(lane)) };
        }
    }
}

macro_rules! table {
    ($name:ident, $body:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The operation has its address in `a` and `imm`, the space in `extra`, the elements in `dst`, `b`, `c`, `d`.
        pub(crate) fn $name(space: Space, bytes: u32, count: usize) -> Option<Handlers> {
            fn of<D: AddressSpace>(bytes: u32, count: usize) -> Option<Handlers> {
                Some(match (bytes, count) {
                    (1, 1) => handlers::<$body<u8, D, 1>>(),
                    (1, 2) => handlers::<$body<u8, D, 2>>(),
                    (1, 4) => handlers::<$body<u8, D, 4>>(),
                    (2, 1) => handlers::<$body<u16, D, 1>>(),
                    (2, 2) => handlers::<$body<u16, D, 2>>(),
                    (2, 4) => handlers::<$body<u16, D, 4>>(),
                    (4, 1) => handlers::<$body<u32, D, 1>>(),
                    (4, 2) => handlers::<$body<u32, D, 2>>(),
                    (4, 4) => handlers::<$body<u32, D, 4>>(),
                    (8, 1) => handlers::<$body<u64, D, 1>>(),
                    (8, 2) => handlers::<$body<u64, D, 2>>(),
                    (8, 4) => handlers::<$body<u64, D, 4>>(),
                    (16, 1) => handlers::<$body<u128, D, 1>>(),
                    _ => return None,
                })
            }
            match space {
                Space::Generic | Space::Global | Space::Const | Space::Param => of::<Flat>(bytes, count),
                Space::Shared => of::<Shared>(bytes, count),
                Space::Local => of::<Local>(bytes, count),
            }
        }
    };
}

table!(load, Load, "How `count` elements of `bytes` bytes are loaded.");
table!(store, Store, "How `count` elements of `bytes` bytes are stored.");
