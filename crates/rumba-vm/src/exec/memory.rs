//! The access check: every access of a kernel passes here and comes out as host addresses, or not at all.
//!
//! It checks bounds, alignment, use after free and writes to read-only memory. The instruction decides what to do with
//! the addresses; the contents of the memory do not matter here.

use rumba_checks::Check;
use std::mem::MaybeUninit;

use crate::base::lanes::{FULL, GROUP, GROUPS, LANES, MAX_CLUSTER, SHARED_START, STACK_START, lanes_of};
use crate::base::report::{Access, AccessKind};
use crate::check::order::Order;
use crate::check::strided::Strided;
use crate::exec::processor::Processor;
use crate::machine::bounds::{self, Bounds, BoundsCheck};
use crate::machine::cluster::{Cluster, RANK_SHIFT};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::Pc;
use crate::machine::tensor_memory::TensorAddress;
use crate::machine::warp::Warp;
use crate::mem::allocations::AllocationKind;
use crate::mem::arena::BLOCK_STRIDE;

/// The worker's [`Bounds`] for an operation.
#[inline(always)]
fn cache_of(warp: &Warp, pc: Pc, kind: AccessKind) -> *mut Bounds {
    warp.caches.wrapping_add(bounds::index_of(pc.source, kind, false))
}

/// The same for monitored memory: accesses within these bounds are valid, but must be reported to the monitor.
#[inline(always)]
fn monitored_cache_of(warp: &Warp, pc: Pc, kind: AccessKind) -> *mut Bounds {
    warp.caches.wrapping_add(bounds::index_of(pc.source, kind, true))
}

/// A state space as an access names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Space {
    Generic = 0,
    Global = 1,
    Const = 2,
    Param = 3,
    Shared = 4,
    Local = 5,
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Global => "global",
            Self::Const => "const",
            Self::Param => "param",
            Self::Shared => "shared",
            Self::Local => "local",
        }
    }

    /// The space in the lower half of an operation's `extra`; the upper half is the instruction's.
    pub(crate) fn from_bits(bits: u16) -> Self {
        match bits & 0xff {
            1 => Self::Global,
            2 => Self::Const,
            3 => Self::Param,
            4 => Self::Shared,
            5 => Self::Local,
            _ => Self::Generic,
        }
    }
}

/// How an address of a group of spaces becomes a host address.
pub(crate) trait AddressSpace {
    /// Whether every lane has memory of its own.
    const PER_LANE: bool;
    /// Whether it is the block's own memory.
    const IS_SHARED: bool = false;

    /// The addresses that need no further check.
    ///
    /// # Safety
    /// The warp is set up for a launch.
    unsafe fn bounds(warp: &Warp, pc: Pc, kind: AccessKind) -> Bounds;

    /// The addresses that need no further check, but must be reported to the monitor.
    ///
    /// # Safety
    /// As for [`Self::bounds`].
    unsafe fn monitored(warp: &Warp, pc: Pc, kind: AccessKind) -> Bounds;

    /// The offset added to an address, except for the lane's part.
    fn base(warp: &Warp) -> u64;
}

/// Generic, global, constant and parameter addresses: they are host addresses.
pub(crate) struct Flat;

impl AddressSpace for Flat {
    const PER_LANE: bool = false;

    #[inline(always)]
    unsafe fn bounds(warp: &Warp, pc: Pc, kind: AccessKind) -> Bounds {
        // SAFETY: a worker has that many.
        unsafe { *cache_of(warp, pc, kind) }
    }

    unsafe fn monitored(warp: &Warp, pc: Pc, kind: AccessKind) -> Bounds {
        // SAFETY: a worker has that many.
        unsafe { *monitored_cache_of(warp, pc, kind) }
    }

    #[inline(always)]
    fn base(_: &Warp) -> u64 {
        0
    }
}

/// Shared memory: addresses count from the start of the block's window.
pub(crate) struct Shared;

impl AddressSpace for Shared {
    const PER_LANE: bool = false;
    const IS_SHARED: bool = true;

    #[inline(always)]
    unsafe fn bounds(warp: &Warp, _: Pc, _: AccessKind) -> Bounds {
        Bounds { start: SHARED_START, bytes: warp.shared_known() - SHARED_START }
    }

    unsafe fn monitored(warp: &Warp, _: Pc, _: AccessKind) -> Bounds {
        Bounds { start: SHARED_START, bytes: warp.shared_end.saturating_sub(SHARED_START) }
    }

    #[inline(always)]
    fn base(warp: &Warp) -> u64 {
        warp.shared_base
    }
}

/// Local memory: addresses count from the start of the thread's stack.
pub(crate) struct Local;

impl AddressSpace for Local {
    const PER_LANE: bool = true;

    #[inline(always)]
    unsafe fn bounds(warp: &Warp, _: Pc, _: AccessKind) -> Bounds {
        Bounds { start: STACK_START, bytes: warp.stack_known - STACK_START }
    }

    unsafe fn monitored(warp: &Warp, _: Pc, _: AccessKind) -> Bounds {
        Bounds { start: STACK_START, bytes: warp.stack_stride.saturating_sub(STACK_START) }
    }

    #[inline(always)]
    fn base(warp: &Warp) -> u64 {
        warp.stack_base
    }
}

/// How the addresses of a full warp lie, given the first address of each group of [`GROUP`] lanes.
pub(crate) enum Pattern {
    /// Within a group, each lane has its bytes right behind those of the lane before.
    Contiguous([u64; GROUPS]),
    /// Within a group, all lanes have the same address.
    Uniform([u64; GROUPS]),
}

/// Host addresses, one for each lane; those of active lanes are set by [`scattered`].
#[repr(C, align(64))]
pub(crate) struct Addresses(MaybeUninit<[u64; LANES]>);

impl Addresses {
    /// No addresses.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// The address of an active lane.
    ///
    /// # Safety
    /// [`scattered`] has set it: the lane was active.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, lane: usize) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { self.0.as_ptr().cast::<u64>().add(lane).read() }
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, address: u64) {
        debug_assert!(lane < LANES);
        // SAFETY: there are 32 lanes.
        unsafe { self.0.as_mut_ptr().cast::<u64>().add(lane).write(address) };
    }
}

/// Checks and translates an access of `bytes` bytes per lane at `[a + imm]`, if the warp is full, its addresses lie in
/// one of the common patterns, and the operation has been there before.
///
/// # Safety
/// `pc` is an operation of the warp's program whose `a` is a 64-bit slot and whose `extra` holds the [`Space`]; the
/// processor is `X`.
#[inline(always)]
pub(crate) unsafe fn affine<D: AddressSpace, X: Processor>(
    warp: &Warp,
    pc: Pc,
    bytes: u64,
    kind: AccessKind,
) -> Option<Pattern> {
    if D::PER_LANE || warp.active != FULL {
        return None;
    }
    let given = warp.lanes::<u64>(pc.a);
    // SAFETY: the slot has 32 lanes of 64 bits.
    let stride = unsafe { (*given.add(1)).wrapping_sub(*given) };
    if stride != bytes && stride != 0 {
        return None;
    }
    // SAFETY: the slot has 32 lanes of 64 bits.
    let bases = std::array::from_fn(|group| unsafe { *given.add(group * GROUP) });
    let whole = if stride == bytes { bytes * GROUP as u64 } else { bytes };
    // SAFETY: as the caller promises.
    let (hosts, check) = groups::<D>(warp, pc, unsafe { D::bounds(warp, pc, kind) }, bases, whole);
    // SAFETY: as the caller promises.
    if !check.is_aligned(bytes) || !unsafe { X::is_affine(given, stride) } {
        return None;
    }
    let hosts = if check.is_inside() {
        hosts
    } else {
        // SAFETY: as the caller promises.
        unsafe { monitored::<D>(warp, pc, bases, (bytes, stride), kind)? }
    };
    Some(if stride == bytes { Pattern::Contiguous(hosts) } else { Pattern::Uniform(hosts) })
}

/// Compares accesses of `whole` bytes, one of each group of lanes, with bounds, and translates their addresses.
#[inline(always)]
fn groups<D: AddressSpace>(
    warp: &Warp,
    pc: Pc,
    bounds: Bounds,
    bases: [u64; GROUPS],
    whole: u64,
) -> ([u64; GROUPS], BoundsCheck) {
    let mut check = BoundsCheck::new(bounds, whole);
    let mut hosts = [0; GROUPS];
    for (host, base) in hosts.iter_mut().zip(bases) {
        let address = base.wrapping_add(pc.imm);
        check.add(address);
        *host = D::base(warp).wrapping_add(address);
    }
    (hosts, check)
}

/// Checks and translates an affine access, given the first address of each group, and tells the monitor, if there is
/// one and the operation has been there before.
///
/// # Safety
/// `pc` is an operation of the warp's program whose `extra` holds the [`Space`]; all lanes are active.
#[cold]
#[inline(never)]
unsafe fn monitored<D: AddressSpace>(
    warp: &Warp,
    pc: Pc,
    bases: [u64; GROUPS],
    (bytes, stride): (u64, u64),
    kind: AccessKind,
) -> Option<[u64; GROUPS]> {
    if D::PER_LANE || !warp.is_monitored() {
        return None;
    }
    let whole = bytes + stride * (GROUP as u64 - 1);
    // SAFETY: as the caller promises.
    let (hosts, check) = groups::<D>(warp, pc, unsafe { D::monitored(warp, pc, kind) }, bases, whole);
    if !check.is_inside() || !check.is_aligned(bytes) {
        return None;
    }
    let what = (bytes, kind, Order::from_bits(pc.extra, kind));
    warp.observe_strided(pc.source, &Strided::new(FULL, hosts, stride), what, |address| {
        describe(warp, address, 1, Space::Generic)
    });
    Some(hosts)
}

/// Checks and translates any access of `bytes` bytes per lane at `[a + imm]`. On failure, the warp knows about the fault.
///
/// # Safety
/// `pc` is an operation of the warp's program whose `a` is a 64-bit slot and whose `extra` holds the [`Space`].
#[inline(always)]
pub(crate) unsafe fn scattered<D: AddressSpace>(
    warp: &mut Warp,
    pc: Pc,
    bytes: u64,
    kind: AccessKind,
    out: &mut Addresses,
) -> Result<(), Pc> {
    // SAFETY: the slot has 32 lanes of 64 bits, and is not written meanwhile.
    let given = unsafe { &*warp.lanes::<[u64; LANES]>(pc.a).cast_const() };
    // SAFETY: as the caller promises.
    unsafe { checked::<D>(warp, Request::of(warp, pc, given, bytes, kind), out) }
}

/// An access of some lanes, which need not be active.
#[derive(Clone, Copy)]
struct Request<'a> {
    pc: Pc,
    lanes: u32,
    given: &'a [u64; LANES],
    /// Added to each address.
    offset: u64,
    /// Of each lane; a power of two.
    bytes: u64,
    kind: AccessKind,
    /// The [`Space`] and the [`Order`], as an operation holds them.
    extra: u16,
}

impl<'a> Request<'a> {
    /// The request of an operation for the active lanes.
    #[inline(always)]
    fn of(warp: &Warp, pc: Pc, given: &'a [u64; LANES], bytes: u64, kind: AccessKind) -> Self {
        Self { pc, lanes: warp.active, given, offset: pc.imm, bytes, kind, extra: pc.extra }
    }

    #[inline(always)]
    fn address(&self, lane: usize) -> u64 {
        self.given[lane].wrapping_add(self.offset)
    }

    /// Compares the accesses with bounds, and hands on each address.
    #[inline(always)]
    fn compare(&self, bounds: Bounds, mut each: impl FnMut(usize, u64)) -> bool {
        let mut check = BoundsCheck::new(bounds, self.bytes);
        let mut take = |lane: usize| {
            let address = self.address(lane);
            check.add(address);
            each(lane, address);
        };
        if self.lanes == FULL {
            for lane in 0..LANES {
                take(lane);
            }
        } else {
            for lane in lanes_of(self.lanes) {
                take(lane);
            }
        }
        check.is_inside() && check.is_aligned(self.bytes)
    }
}

/// Checks and translates accesses. On failure, the warp knows about the fault.
///
/// # Safety
/// The operation is one of the warp's program, and `extra` holds the [`Space`].
#[inline(always)]
unsafe fn checked<D: AddressSpace>(warp: &mut Warp, request: Request<'_>, out: &mut Addresses) -> Result<(), Pc> {
    // SAFETY: as the caller promises.
    let bounds = unsafe { D::bounds(warp, request.pc, request.kind) };
    let base = D::base(warp);
    let stride = if D::PER_LANE { warp.stack_stride } else { 0 };
    let passes = request.compare(bounds, |lane, address| {
        let own = stride.wrapping_mul(lane as u64);
        out.set(lane, base.wrapping_add(address).wrapping_add(own));
    });
    if passes {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    unsafe { unusual::<D>(warp, request, out) }
}

/// Checks accesses outside of the known bounds, and accesses that must be reported to the monitor. Accesses within the
/// bounds of monitored memory are translated already.
///
/// # Safety
/// As for [`checked`].
#[cold]
#[inline(never)]
unsafe fn unusual<D: AddressSpace>(warp: &mut Warp, request: Request<'_>, out: &mut Addresses) -> Result<(), Pc> {
    // SAFETY: as the caller promises.
    let is_monitored_memory = || request.compare(unsafe { D::monitored(warp, request.pc, request.kind) }, |_, _| {});
    if !warp.is_monitored() || !is_monitored_memory() {
        examine(warp, &request, out)?;
    }
    if warp.is_monitored() {
        let Request { pc, lanes, bytes, kind, extra, .. } = request;
        // SAFETY: the addresses of these lanes were set.
        let host = |lane| unsafe { out.get(lane) };
        warp.observe(pc.source, lanes, host, (bytes, kind, Order::from_bits(extra, kind)), None, |address| {
            describe(warp, address, 1, Space::Generic)
        });
    }
    Ok(())
}

/// Checks and translates accesses of `bytes` bytes, a power of two, at any addresses: one for each lane of `lanes`, which
/// need not be active. On failure, the warp knows about the fault.
pub(crate) fn at_addresses(
    warp: &mut Warp,
    pc: Pc,
    given: &[u64; LANES],
    lanes: u32,
    (bytes, kind): (u64, AccessKind),
    space: Space,
    out: &mut Addresses,
) -> Result<(), Pc> {
    let request = Request { pc, lanes, given, offset: 0, bytes, kind, extra: space as u16 };
    // SAFETY: the warp is set up for a launch.
    unsafe {
        match space {
            Space::Shared => checked::<Shared>(warp, request, out),
            Space::Local => checked::<Local>(warp, request, out),
            Space::Generic | Space::Global | Space::Const | Space::Param => checked::<Flat>(warp, request, out),
        }
    }
}

/// Checks an access outside of the known bounds.
#[inline(never)]
fn examine(warp: &mut Warp, request: &Request<'_>, out: &mut Addresses) -> Result<(), Pc> {
    let Request { pc, lanes, bytes, kind, .. } = *request;
    let space = Space::from_bits(request.extra);
    let mut known = Bounds { start: u64::MAX, bytes: 0 };
    let mut single = true;
    let shared_start = warp.context().program.shared_start;
    // The unit that accesses memory looks at the alignment before the address is translated: where both are wrong, in one
    // lane or in two, a GPU reports the alignment.
    let misaligned = lanes_of(lanes).find(|lane| request.address(*lane) & (bytes - 1) != 0);
    for lane in lanes_of(misaligned.map_or(lanes, |lane| 1 << lane)) {
        let address = request.address(lane);
        let found = match space {
            Space::Shared if (1..=u64::from(MAX_CLUSTER)).contains(&(address >> RANK_SHIFT)) => {
                let (rank, offset) = Cluster::split(address, 0);
                // SAFETY: the block is not in use elsewhere while one of its warps runs.
                let cluster = unsafe { (*warp.block).cluster() };
                warp.check_block(request.pc.source, 1 << lane, cluster, rank);
                cluster.resolve(rank, offset, bytes, warp.shared_end)
            }
            Space::Shared => within(warp, address, bytes, shared_start, warp.shared_end, warp.shared_base),
            Space::Local => {
                let own = warp.stack_base + lane as u64 * warp.stack_stride;
                within(warp, address, bytes, STACK_START, warp.stack_stride, own)
            }
            Space::Generic | Space::Global | Space::Const | Space::Param => {
                let hit = address.wrapping_sub(known.start) <= known.bytes.wrapping_sub(bytes) && known.bytes >= bytes;
                if hit {
                    Ok(address)
                } else {
                    flat(warp, lane, address, bytes, kind, space).map(|bounds| {
                        match bounds {
                            Some(bounds) if known.bytes == 0 => known = bounds,
                            _ => single = false,
                        }
                        address
                    })
                }
            }
        };
        let access = Access { kind, bytes: bytes as u32, space: space.name() };
        let (kind, place) = match (found, misaligned) {
            (Ok(host), None) => {
                out.set(lane, host);
                continue;
            }
            (Err(place), None) => (FaultKind::IllegalAddress, place),
            (Err(place), Some(_)) => (FaultKind::MisalignedAddress, place),
            (Ok(_), Some(_)) => (FaultKind::MisalignedAddress, describe(warp, address, bytes, space)),
        };
        return Err(warp.raise(RawFault::access(kind, pc.source, lane, address, access, place)));
    }
    if single && known.bytes != 0 {
        let cache = if warp.watches(known.start, known.bytes) {
            monitored_cache_of(warp, pc, kind)
        } else {
            cache_of(warp, pc, kind)
        };
        // SAFETY: a worker has that many.
        unsafe { *cache = known };
    }
    Ok(())
}

pub(crate) fn within(warp: &Warp, address: u64, bytes: u64, start: u64, end: u64, base: u64) -> Result<u64, String> {
    if address >= start && address.checked_add(bytes).is_some_and(|last| last <= end) {
        return Ok(base + address);
    }
    Err(window_place(warp, address, bytes, start, end, base == warp.shared_base))
}

/// Where an address in shared or local memory lies.
fn window_place(warp: &Warp, address: u64, bytes: u64, start: u64, end: u64, shared: bool) -> String {
    let size = end.saturating_sub(start);
    if size == 0 {
        let space = if shared { "shared" } else { "local" };
        return format!("the kernel has no {space} memory");
    }
    if shared {
        let variables = &warp.context().program.debug.shared_variables;
        let nearest = variables.iter().filter(|(_, offset, _)| *offset <= address).max_by_key(|(_, offset, _)| *offset);
        if let Some((name, offset, length)) = nearest
            && address.saturating_add(bytes) > offset + length
        {
            let past = address.saturating_add(bytes) - (offset + length);
            return format!("it ends {past} bytes after the end of `{name}`, and shared memory has {size} bytes");
        }
        return format!("the block's shared memory has {size} bytes and starts at {start:#x}");
    }
    format!("the thread's stack has {size} bytes and starts at {start:#x}")
}

/// Describes an offset in shared memory.
fn shared_place(offset: u64) -> String {
    match offset.checked_sub(SHARED_START) {
        Some(offset) => format!("{offset} bytes into shared memory"),
        None => format!("{offset} bytes into the reserved part of shared memory"),
    }
}

pub(crate) fn describe(warp: &Warp, address: u64, bytes: u64, space: Space) -> String {
    match space {
        Space::Shared => shared_place(Cluster::split(address, 0).1),
        Space::Local => format!("{} bytes into the thread's stack", address - STACK_START),
        Space::Generic | Space::Global | Space::Const | Space::Param => {
            let arena = warp.context().arena;
            if arena.shared.contains(address) {
                let offset = (address - arena.shared.start) % BLOCK_STRIDE as u64;
                TensorAddress::at(offset).map_or_else(|| shared_place(offset), |cell| cell.to_string())
            } else if arena.local.contains(address) {
                "in the thread's stack".into()
            } else {
                warp.context().allocations.describe(address, bytes)
            }
        }
    }
}

/// Checks one host address; the bounds are those of its allocation, if later accesses may rely on them.
pub(crate) fn flat(
    warp: &Warp,
    lane: usize,
    address: u64,
    bytes: u64,
    kind: AccessKind,
    space: Space,
) -> Result<Option<Bounds>, String> {
    let context = warp.context();
    let arena = context.arena;
    if arena.shared.contains(address) {
        if space != Space::Generic {
            return Err("that is an address in shared memory".into());
        }
        let (start, offset) = (context.program.shared_start, address.wrapping_sub(warp.shared_base));
        return if offset >= start && offset.saturating_add(bytes) <= warp.shared_end {
            Ok(None)
        } else if offset < crate::mem::arena::SHARED_STRIDE as u64 {
            Err(window_place(warp, offset, bytes, start, warp.shared_end, true))
        } else {
            // SAFETY: the block is not in use elsewhere while one of its warps runs.
            let cluster = unsafe { (*warp.block).cluster() };
            match cluster.owner(address) {
                Some((rank, offset)) => cluster.resolve(rank, offset, bytes, warp.shared_end).map(|_| None),
                None => Err("that is the shared memory of another block".into()),
            }
        };
    }
    if arena.local.contains(address) {
        if space != Space::Generic {
            return Err("that is an address in local memory".into());
        }
        let offset = address.wrapping_sub(warp.stack_base + lane as u64 * warp.stack_stride);
        return if offset >= STACK_START && offset.saturating_add(bytes) <= warp.stack_stride {
            Ok(None)
        } else {
            Err("that is outside of the thread's own stack".into())
        };
    }
    let found = context
        .allocations
        .bounds(address, |allocation| (allocation.start, allocation.end(), allocation.is_writable(), allocation.kind));
    match found {
        Some((start, end, writable, held)) if address.saturating_add(bytes) <= end => {
            if kind != AccessKind::Read && !writable {
                let what = if held == AllocationKind::Parameters { "parameters" } else { "constants" };
                let place = context.allocations.describe(address, bytes);
                return Err(format!("kernels cannot write to {what}; that is {place}"));
            }
            Ok(Some(Bounds { start, bytes: end - start }))
        }
        None if !context.checks.contains(Check::Mem) && arena.is_committed(address, bytes) => {
            Ok(Some(Bounds { start: arena.heap.start, bytes: arena.committed_heap() }))
        }
        _ if arena.functions.contains(address) => Err("that is the address of a function".into()),
        _ if address < 4096 => Err("that is a null pointer".into()),
        _ => Err(context.allocations.describe(address, bytes)),
    }
}
