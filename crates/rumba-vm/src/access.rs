//! Loads and stores: what is done with addresses that have come through the door.
//!
//! Kernels share memory with each other and with the host, so every access is atomic or made by assembly: a race is the
//! kernel's mistake and never undefined behaviour of the machine. A full warp that accesses consecutive elements is
//! served by wide copies, one that accesses a single element by one access.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::check::memory::{Addresses, Door, Flat, Local, Pattern, Shared, Space, pass};
use crate::fault::AccessKind;
use crate::op::{Handlers, Pc};
use crate::warp::{LANES, Warp, lanes_of};

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

/// How a processor copies between memory and registers.
trait Target {
    /// Copies `CHUNKS` times 128 bytes.
    ///
    /// # Safety
    /// Both ranges are valid, and the processor is the target.
    unsafe fn copy<const CHUNKS: usize>(to: *mut u8, from: *const u8);
}

struct Baseline;

impl Target for Baseline {
    #[inline(always)]
    unsafe fn copy<const CHUNKS: usize>(to: *mut u8, from: *const u8) {
        for word in 0..CHUNKS * 16 {
            // SAFETY: as the caller promises; both sides are aligned to at least 4 bytes.
            unsafe {
                let low = AtomicU32::from_ptr(from.add(word * 8).cast_mut().cast()).load(Ordering::Relaxed);
                let high = AtomicU32::from_ptr(from.add(word * 8 + 4).cast_mut().cast()).load(Ordering::Relaxed);
                AtomicU32::from_ptr(to.add(word * 8).cast()).store(low, Ordering::Relaxed);
                AtomicU32::from_ptr(to.add(word * 8 + 4).cast()).store(high, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Target for Avx2 {
    #[inline(always)]
    unsafe fn copy<const CHUNKS: usize>(to: *mut u8, from: *const u8) {
        for chunk in 0..CHUNKS {
            // SAFETY: as the caller promises.
            unsafe { copy_128(to.add(chunk * 128), from.add(chunk * 128)) };
        }
    }
}

/// Copies 128 bytes by assembly: what it does is invisible to the compiler, like relaxed accesses of whole vectors.
///
/// # Safety
/// Both ranges are valid.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn copy_128(to: *mut u8, from: *const u8) {
    // SAFETY: the ranges are valid as the caller promises, and the processor has these instructions.
    unsafe {
        std::arch::asm!(
            "vmovdqu {a}, [{from}]",
            "vmovdqu {b}, [{from} + 32]",
            "vmovdqu {c}, [{from} + 64]",
            "vmovdqu {d}, [{from} + 96]",
            "vmovdqu [{to}], {a}",
            "vmovdqu [{to} + 32], {b}",
            "vmovdqu [{to} + 64], {c}",
            "vmovdqu [{to} + 96], {d}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            c = out(ymm_reg) _,
            d = out(ymm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
use Baseline as Avx2;

/// What an access does, for each target.
trait Body {
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
    Handlers { baseline: baseline::<B>, avx2: avx2::<B> }
}

/// The slots of a vector: the first is the destination, the others lie behind the address.
#[inline(always)]
fn slots(pc: Pc) -> [u16; 4] {
    [pc.dst, pc.b, pc.c, pc.d]
}

/// Loads `N` consecutive elements per lane.
struct Load<E, D, const N: usize>(PhantomData<(E, D)>);

impl<E: Element, D: Door, const N: usize> Body for Load<E, D, N> {
    #[inline(always)]
    unsafe fn run<X: Target>(warp: &mut Warp, pc: Pc) -> Pc {
        let mut addresses = Addresses::new();
        // SAFETY: the operation was made by `load`.
        let pattern = unsafe { pass::<D>(warp, pc, N as u64 * E::BYTES, AccessKind::Read, &mut addresses) };
        let pattern = match pattern {
            Ok(pattern) => pattern,
            Err(stop) => return stop,
        };
        // SAFETY: the door says that the addresses are those of live, aligned elements; the slots have 32 lanes.
        unsafe {
            match pattern {
                Pattern::Contiguous(first) if N == 1 && size_of::<E::Raw>() as u64 == E::BYTES => {
                    let to = warp.lanes::<u8>(pc.dst);
                    match E::BYTES {
                        4 => X::copy::<1>(to, first as *const u8),
                        8 => X::copy::<2>(to, first as *const u8),
                        _ => X::copy::<4>(to, first as *const u8),
                    }
                }
                Pattern::Contiguous(first) => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let to = warp.lanes::<E::Raw>(slot);
                        for lane in 0..LANES {
                            *to.add(lane) = E::read(first + (lane * N + part) as u64 * E::BYTES);
                        }
                    }
                }
                Pattern::Uniform(address) => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let value = E::read(address + part as u64 * E::BYTES);
                        *warp.lanes::<[E::Raw; LANES]>(slot) = [value; LANES];
                    }
                }
                Pattern::Scattered if warp.active == u32::MAX => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let to = warp.lanes::<E::Raw>(slot);
                        for lane in 0..LANES {
                            *to.add(lane) = E::read(addresses.get(lane) + part as u64 * E::BYTES);
                        }
                    }
                }
                Pattern::Scattered => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let to = warp.lanes::<E::Raw>(slot);
                        for lane in lanes_of(warp.active) {
                            *to.add(lane) = E::read(addresses.get(lane) + part as u64 * E::BYTES);
                        }
                    }
                }
            }
        }
        pc.next()
    }
}

/// Stores `N` consecutive elements per lane.
struct Store<E, D, const N: usize>(PhantomData<(E, D)>);

impl<E: Element, D: Door, const N: usize> Body for Store<E, D, N> {
    #[inline(always)]
    unsafe fn run<X: Target>(warp: &mut Warp, pc: Pc) -> Pc {
        let mut addresses = Addresses::new();
        // SAFETY: the operation was made by `store`.
        let pattern = unsafe { pass::<D>(warp, pc, N as u64 * E::BYTES, AccessKind::Write, &mut addresses) };
        let pattern = match pattern {
            Ok(pattern) => pattern,
            Err(stop) => return stop,
        };
        // SAFETY: the door says that the addresses are those of live, aligned elements; the slots have 32 lanes.
        unsafe {
            match pattern {
                Pattern::Contiguous(first) if N == 1 && size_of::<E::Raw>() as u64 == E::BYTES => {
                    let from = warp.lanes::<u8>(pc.dst);
                    match E::BYTES {
                        4 => X::copy::<1>(first as *mut u8, from),
                        8 => X::copy::<2>(first as *mut u8, from),
                        _ => X::copy::<4>(first as *mut u8, from),
                    }
                }
                Pattern::Contiguous(first) => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let from = warp.lanes::<E::Raw>(slot);
                        for lane in 0..LANES {
                            E::write(first + (lane * N + part) as u64 * E::BYTES, *from.add(lane));
                        }
                    }
                }
                Pattern::Uniform(address) => {
                    // Which lane wins is not specified; here it is always the last.
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let value = *warp.lanes::<E::Raw>(slot).add(LANES - 1);
                        E::write(address + part as u64 * E::BYTES, value);
                    }
                }
                Pattern::Scattered => {
                    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                        let from = warp.lanes::<E::Raw>(slot);
                        for lane in lanes_of(warp.active) {
                            E::write(addresses.get(lane) + part as u64 * E::BYTES, *from.add(lane));
                        }
                    }
                }
            }
        }
        pc.next()
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
