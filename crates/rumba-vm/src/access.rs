//! Loads and stores: what is done with addresses that have come through the door.
//!
//! Kernels share memory with each other and with the host, so every access is atomic or made by assembly: a race is the
//! kernel's mistake and never undefined behaviour of the machine. A full warp that accesses consecutive elements is
//! served by wide copies, one that accesses a single element by one access.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::check::memory::{Addresses, Door, Flat, GROUPS, Local, Pattern, Shared, Space, regular, scattered};
use crate::fault::AccessKind;
use crate::form::Form;
use crate::op::{Handlers, Pc};
use crate::target::{Avx2, Baseline, GROUP, Target};
use crate::warp::{FULL, LANES, Warp, lanes_of};

/// What lies in memory, and the lane that holds it.
pub(crate) trait Element: Copy + 'static {
    /// The lane: small elements are zero-extended.
    type Raw: Copy + 'static;
    /// Bytes in memory.
    const BYTES: u64;

    /// Reads an element.
    ///
    /// # Safety
    /// The address is one of a live element, aligned.
    unsafe fn read(address: u64) -> Self::Raw;

    /// Writes an element.
    ///
    /// # Safety
    /// The address is one of a live element, aligned.
    unsafe fn write(address: u64, value: Self::Raw);
}

macro_rules! element {
    ($($ty:ty, $raw:ty, $atomic:ty;)*) => {$(
        impl Element for $ty {
            type Raw = $raw;
            const BYTES: u64 = size_of::<$ty>() as u64;

            #[inline(always)]
            unsafe fn read(address: u64) -> $raw {
                // SAFETY: as the caller promises.
                unsafe { <$atomic>::from_ptr(address as *mut $ty) }.load(Ordering::Relaxed) as $raw
            }

            #[inline(always)]
            unsafe fn write(address: u64, value: $raw) {
                // SAFETY: as the caller promises.
                unsafe { <$atomic>::from_ptr(address as *mut $ty) }.store(value as $ty, Ordering::Relaxed);
            }
        }
    )*};
}

element! {
    u8, u32, AtomicU8;
    u16, u32, AtomicU16;
    u32, u32, AtomicU32;
    u64, u64, AtomicU64;
}

impl Element for u128 {
    type Raw = u128;
    const BYTES: u64 = 16;

    #[inline(always)]
    unsafe fn read(address: u64) -> u128 {
        // SAFETY: as the caller promises; the two halves may come from two writes.
        unsafe { u128::from(u64::read(address)) | u128::from(u64::read(address + 8)) << 64 }
    }

    #[inline(always)]
    unsafe fn write(address: u64, value: u128) {
        // SAFETY: as the caller promises.
        unsafe {
            u64::write(address, value as u64);
            u64::write(address + 8, (value >> 64) as u64);
        }
    }
}

/// Copies bytes from one place to another, of which other threads may access both meanwhile. Where the places overlap, it is
/// not said what is copied.
///
/// # Safety
/// Both ranges are live memory that may be written: an atomic access asks for that even where it reads.
pub(crate) unsafe fn copy(from: u64, to: u64, bytes: u64) {
    /// Copies the whole elements from an offset on, and gives the offset behind them.
    unsafe fn elements<E: Element>(from: u64, to: u64, mut offset: u64, bytes: u64) -> u64 {
        while offset + E::BYTES <= bytes {
            // SAFETY: the element is in the range, and aligned as the caller has seen.
            unsafe { E::write(to + offset, E::read(from + offset)) };
            offset += E::BYTES;
        }
        offset
    }
    let mut offset = 0;
    // SAFETY: as the caller promises.
    unsafe {
        if (from | to).is_multiple_of(8) {
            offset = elements::<u64>(from, to, offset, bytes);
        }
        if (from | to).is_multiple_of(4) {
            offset = elements::<u32>(from, to, offset, bytes);
        }
        elements::<u8>(from, to, offset, bytes);
    }
}

/// What an access does, for each target.
trait Body {
    /// What it can do with regular addresses.
    const FORM: Form;

    /// # Safety
    /// As for [`crate::op::Handler`]; the processor is `X`.
    unsafe fn run<X: Target>(warp: &mut Warp, pc: Pc) -> Pc;
}

unsafe fn baseline<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Baseline>(warp, pc) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Avx2>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use baseline as avx2;

const fn handlers<B: Body>() -> Handlers {
    Handlers {
        baseline: baseline::<B>,
        avx2: avx2::<B>,
        form: B::FORM,
    }
}

/// The slots of a vector: the first is the destination, the others lie behind the address.
#[inline(always)]
fn slots(pc: Pc) -> [u16; 4] {
    [pc.dst, pc.b, pc.c, pc.d]
}

/// Loads `N` consecutive elements per lane.
struct Load<E, D, const N: usize>(PhantomData<(E, D)>);

impl<E: Element, D: Door, const N: usize> Body for Load<E, D, N> {
    const FORM: Form = crate::lockstep::access::load_form::<E, D, N>();

    #[inline(always)]
    unsafe fn run<X: Target>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the operation was made by `load`; the door says that the addresses are those of live, aligned elements;
        // the slots have 32 lanes.
        unsafe {
            match regular::<D, X>(warp, pc, N as u64 * E::BYTES, AccessKind::Read) {
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
/// `pc` is an operation made by [`load`], `groups` has come through the door, and the processor is `X`.
#[inline(always)]
pub(crate) unsafe fn load_contiguous<X: Target, E: Element, const N: usize>(
    warp: &Warp,
    pc: Pc,
    groups: [u64; GROUPS],
) {
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
/// `pc` is an operation made by [`load`], and `groups` has come through the door.
#[inline(always)]
pub(crate) unsafe fn load_uniform<E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
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

/// Loads from addresses of which nothing is known, with AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load_scattered_avx2<E: Element, D: Door, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { load_scattered::<E, D, N>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use load_scattered as load_scattered_avx2;

/// Loads from addresses of which nothing is known.
#[inline(always)]
unsafe fn load_scattered<E: Element, D: Door, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
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

/// Loads from addresses that have come through the door.
///
/// # Safety
/// They were set for the active lanes, and `pc` is an operation made by [`load`].
#[inline(always)]
pub(crate) unsafe fn load_lanes<E: Element, const N: usize>(warp: &Warp, pc: Pc, addresses: &Addresses) {
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

impl<E: Element, D: Door, const N: usize> Body for Store<E, D, N> {
    const FORM: Form = crate::lockstep::access::store_form::<E, D, N>();

    #[inline(always)]
    unsafe fn run<X: Target>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the operation was made by `store`; the door says that the addresses are those of live, aligned elements;
        // the slots have 32 lanes.
        unsafe {
            match regular::<D, X>(warp, pc, N as u64 * E::BYTES, AccessKind::Write) {
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
/// `pc` is an operation made by [`store`], `groups` has come through the door, and the processor is `X`.
#[inline(always)]
pub(crate) unsafe fn store_contiguous<X: Target, E: Element, const N: usize>(
    warp: &Warp,
    pc: Pc,
    groups: [u64; GROUPS],
) {
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

/// Stores to one element for each group of lanes. Which lane wins is not specified; here it is always the last.
///
/// # Safety
/// `pc` is an operation made by [`store`], and `groups` has come through the door.
#[inline(always)]
pub(crate) unsafe fn store_uniform<E: Element, const N: usize>(warp: &Warp, pc: Pc, groups: [u64; GROUPS]) {
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

/// Stores to addresses of which nothing is known, with AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn store_scattered_avx2<E: Element, D: Door, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { store_scattered::<E, D, N>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use store_scattered as store_scattered_avx2;

/// Stores to addresses of which nothing is known.
#[inline(always)]
unsafe fn store_scattered<E: Element, D: Door, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
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

/// Stores to addresses that have come through the door.
///
/// # Safety
/// They were set for the active lanes, and `pc` is an operation made by [`store`].
#[inline(always)]
pub(crate) unsafe fn store_lanes<E: Element, const N: usize>(warp: &Warp, pc: Pc, addresses: &Addresses) {
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
            fn of<D: Door>(bytes: u32, count: usize) -> Option<Handlers> {
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

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn copies_of_every_length_and_alignment_are_whole() {
        let mut source: Vec<u8> = (1..=48).collect();
        let offsets = || [0, 1, 3, 4, 8];
        let places = offsets().into_iter().flat_map(|from| offsets().map(|to| (from, to)));
        for ((from, to), bytes) in places.flat_map(|places| (0..33).map(move |bytes| (places, bytes))) {
            let mut target = [0_u8; 48];
            // SAFETY: both ranges lie in arrays of 48 bytes.
            unsafe {
                copy(
                    source[from..].as_mut_ptr() as u64,
                    target[to..].as_mut_ptr() as u64,
                    bytes as u64,
                );
            };
            let mut expected = [0; 48];
            expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
            assert_eq!(target, expected, "{bytes} bytes from {from} to {to}");
        }
    }
}
