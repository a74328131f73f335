//! Loads and stores at addresses that have passed the access check.
//!
//! Kernels share memory with each other and with the host, so every access is atomic or made by assembly: a race is the
//! kernel's mistake and never undefined behaviour of the machine. A full warp that accesses consecutive elements is
//! served by wide copies, one that accesses a single element by one access.

use crate::mem::atomic::Element;
use std::marker::PhantomData;

use crate::base::lanes::{FULL, GROUP, LANES, lanes_of};
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

/// The direction in which elements are copied between lanes and memory.
trait Direction: 'static {
    /// What an access of memory does there.
    const KIND: AccessKind;

    /// Copies the element of a lane.
    ///
    /// # Safety
    /// The address has passed the access check; the lane is one of a slot for `E`.
    unsafe fn element<E: Element>(lane: *mut E::Raw, address: u64);

    /// Copies the one element that the lanes of a group have in common.
    ///
    /// # Safety
    /// As for [`Self::element`]; `lanes` is the first lane of a group.
    unsafe fn common<E: Element>(lanes: *mut E::Raw, address: u64);

    /// Copies the elements of a group, of `BYTES` bytes each, which lie in memory as they do in the slot.
    ///
    /// # Safety
    /// As for [`Self::common`], for all bytes of the group; the processor is `X`.
    unsafe fn group<X: Processor, const BYTES: usize>(lanes: *mut u8, address: u64);
}

/// From memory to lanes.
struct Load;

impl Direction for Load {
    const KIND: AccessKind = AccessKind::Read;

    #[inline(always)]
    unsafe fn element<E: Element>(lane: *mut E::Raw, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { *lane = E::read(address) }
    }

    #[inline(always)]
    unsafe fn common<E: Element>(lanes: *mut E::Raw, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { *lanes.cast::<[E::Raw; GROUP]>() = [E::read(address); GROUP] }
    }

    #[inline(always)]
    unsafe fn group<X: Processor, const BYTES: usize>(lanes: *mut u8, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { X::copy_group::<BYTES>(lanes, address as *const u8) }
    }
}

/// From lanes to memory.
struct Store;

impl Direction for Store {
    const KIND: AccessKind = AccessKind::Write;

    #[inline(always)]
    unsafe fn element<E: Element>(lane: *mut E::Raw, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { E::write(address, *lane) }
    }

    /// The manual does not specify which lane wins; here the last lane does.
    #[inline(always)]
    unsafe fn common<E: Element>(lanes: *mut E::Raw, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { E::write(address, *lanes.add(GROUP - 1)) }
    }

    #[inline(always)]
    unsafe fn group<X: Processor, const BYTES: usize>(lanes: *mut u8, address: u64) {
        // SAFETY: as the caller promises.
        unsafe { X::copy_group::<BYTES>(address as *mut u8, lanes) }
    }
}

/// Copies `N` consecutive elements per lane.
struct Transfer<T, E, D, const N: usize>(PhantomData<(T, E, D)>);

impl<T: Direction, E: Element, D: AddressSpace, const N: usize> Body for Transfer<T, E, D, N> {
    const OPCODE: Opcode = Opcode::access(matches!(T::KIND, AccessKind::Write), E::BYTES, N, D::PER_LANE, D::IS_SHARED);

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the operation was made by `load` or `store`; the access check has found that the addresses are those of live, aligned
        // elements; the slots have 32 lanes.
        unsafe {
            let (groups, is_contiguous) = match affine::<D, X>(warp, pc, N as u64 * E::BYTES, T::KIND) {
                Some(Pattern::Contiguous(groups)) => (groups, true),
                Some(Pattern::Uniform(groups)) => (groups, false),
                None => return scattered_lanes::<T, E, D, N>(warp, pc),
            };
            for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
                let offset = part as u64 * E::BYTES;
                for (group, address) in groups.into_iter().enumerate() {
                    let lanes = warp.lanes::<E::Raw>(slot).add(group * GROUP);
                    if !is_contiguous {
                        T::common::<E>(lanes, address + offset);
                    } else if N == 1 && size_of::<E::Raw>() as u64 == E::BYTES {
                        match E::BYTES {
                            4 => T::group::<X, 4>(lanes.cast(), address),
                            8 => T::group::<X, 8>(lanes.cast(), address),
                            _ => T::group::<X, 16>(lanes.cast(), address),
                        }
                    } else {
                        for lane in 0..GROUP {
                            T::element::<E>(lanes.add(lane), address + (lane * N) as u64 * E::BYTES + offset);
                        }
                    }
                }
            }
        }
        pc.next()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_by_lane(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: as in `run`.
        unsafe { scattered_lanes::<T, E, D, N>(warp, pc) }
    }
}

/// Copies from or to arbitrary addresses.
///
/// # Safety
/// `pc` is an operation made by [`load`] or [`store`].
#[inline(never)]
unsafe fn scattered_lanes<T: Direction, E: Element, D: AddressSpace, const N: usize>(warp: &mut Warp, pc: Pc) -> Pc {
    let mut addresses = Addresses::new();
    // SAFETY: as the caller promises.
    if let Err(stop) = unsafe { scattered::<D>(warp, pc, N as u64 * E::BYTES, T::KIND, &mut addresses) } {
        return stop;
    }
    for (part, slot) in slots(pc).into_iter().take(N).enumerate() {
        let lanes = warp.lanes::<E::Raw>(slot);
        // SAFETY: the addresses of active lanes were set by the access check; the slot has 32 lanes.
        let copy =
            |lane: usize| unsafe { T::element::<E>(lanes.add(lane), addresses.get(lane) + part as u64 * E::BYTES) };
        if warp.active == FULL {
            (0..LANES).for_each(copy);
        } else {
            lanes_of(warp.active).for_each(copy);
        }
    }
    pc.next()
}

/// How `count` elements of `bytes` bytes are loaded.
///
/// The operation has its address in `a` and `imm`, the space in `extra`, the elements in `dst`, `b`, `c`, `d`.
pub(crate) fn load(space: Space, bytes: u32, count: usize) -> Option<Handlers> {
    in_space::<Load>(space, bytes, count)
}

/// How `count` elements of `bytes` bytes are stored. The operation is as for [`load`].
pub(crate) fn store(space: Space, bytes: u32, count: usize) -> Option<Handlers> {
    in_space::<Store>(space, bytes, count)
}

fn in_space<T: Direction>(space: Space, bytes: u32, count: usize) -> Option<Handlers> {
    match space {
        Space::Generic | Space::Global | Space::Const | Space::Param => of_size::<T, Flat>(bytes, count),
        Space::Shared => of_size::<T, Shared>(bytes, count),
        Space::Local => of_size::<T, Local>(bytes, count),
    }
}

fn of_size<T: Direction, D: AddressSpace>(bytes: u32, count: usize) -> Option<Handlers> {
    Some(match (bytes, count) {
        (1, 1) => handlers::<Transfer<T, u8, D, 1>>(),
        (1, 2) => handlers::<Transfer<T, u8, D, 2>>(),
        (1, 4) => handlers::<Transfer<T, u8, D, 4>>(),
        (2, 1) => handlers::<Transfer<T, u16, D, 1>>(),
        (2, 2) => handlers::<Transfer<T, u16, D, 2>>(),
        (2, 4) => handlers::<Transfer<T, u16, D, 4>>(),
        (4, 1) => handlers::<Transfer<T, u32, D, 1>>(),
        (4, 2) => handlers::<Transfer<T, u32, D, 2>>(),
        (4, 4) => handlers::<Transfer<T, u32, D, 4>>(),
        (8, 1) => handlers::<Transfer<T, u64, D, 1>>(),
        (8, 2) => handlers::<Transfer<T, u64, D, 2>>(),
        (8, 4) => handlers::<Transfer<T, u64, D, 4>>(),
        (16, 1) => handlers::<Transfer<T, u128, D, 1>>(),
        _ => return None,
    })
}
