//! The state of 32 threads that execute together, as instructions see it.
//!
//! `schedule` describes how warps diverge and reconverge.

use std::cell::Cell;

use crate::base::lanes::{FULL, LANES, lanes_of};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::base::seed::Chance;
use crate::check::products::Products;
use crate::check::reads::{Growth, ReadKey};
use crate::machine::back_off::BackOff;
use crate::machine::block::BlockState;
use crate::machine::bounds::{Bounds, CACHES, TABLES};
use crate::machine::context::Context;
use crate::machine::fault::RawFault;
use crate::machine::fuel::Fuel;
use crate::machine::op::{Op, Pc};
use crate::machine::polls::Polls;
use crate::machine::program::Native;
use crate::mem::copies::Groups;
use crate::mem::unwritten::UnwrittenBits;

/// Bytes of one slot unit of the register file: 32 lanes of 32 bits.
pub const UNIT: usize = LANES * 4;

/// Return addresses of the functions that lanes are in.
pub(crate) type Frames = SmallVec<[Pc; 4]>;

/// The condition that lanes wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: they can run.
    Ready,
    /// The other lanes of a mask, at the same operation.
    Lanes { members: u32 },
    /// The other lanes of a mask, at any `bar.warp.sync`.
    AnyLanes { members: u32 },
    /// A barrier of the block.
    Barrier { id: u8, phase: u32 },
    /// A barrier of the block with a reduction, whose result goes to the operation's destination.
    BarrierResult { id: u8, phase: u32 },
    /// The barrier of the cluster.
    Cluster { phase: u32 },
    /// The barrier of the grid.
    Grid { phase: u32 },
    /// The exploration of orders: until it schedules the operation after the point of choice.
    Choice,
    /// The other warps of the warp group: until they have committed this many groups of products.
    Products { groups: u32 },
    /// So many free columns of tensor memory in a row.
    Columns { columns: u32 },
}

/// Lanes at another position than the active lanes.
#[derive(Clone)]
pub(crate) struct Split {
    pub(crate) pc: Pc,
    pub(crate) mask: u32,
    /// How often it was sent to the back of the queue since it last met other lanes.
    pub(crate) turn: u32,
    pub(crate) wait: Wait,
    pub(crate) frames: Frames,
}

/// Why the inner loop was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The loop was not left, or the turn of the warp is over: the warp continues at its position.
    Turn,
    /// No lane can run, but some wait.
    Blocked,
    /// All lanes have exited.
    Done,
    /// An operation found a fault.
    Fault,
}

/// The state of a warp's entries into native code.
#[derive(Debug)]
pub(crate) struct Tier {
    /// The native code of the program, if there is some.
    pub(crate) native: *const Native,
    /// One more than the entry at which native code resumes behind a barrier, if the register file holds only the first lanes of
    /// uniform and affine registers; otherwise 0.
    pub(crate) resume_at: u32,
    pub(crate) back_off: BackOff,
}

impl Tier {
    /// The interpreter alone.
    pub(crate) const NONE: Self = Self::with(None);

    /// Native code, if there is some.
    pub(crate) const fn with(native: Option<&Native>) -> Self {
        let native = match native {
            Some(native) => std::ptr::from_ref(native),
            None => std::ptr::null(),
        };
        Self { native, resume_at: 0, back_off: BackOff::NONE }
    }
}

/// A warp.
///
/// The register file is structure-of-arrays. A slot is an index in units of [`UNIT`] bytes: registers of 8, 16 and 32
/// bits are one unit (`[u32; 32]`, small values zero-extended), 64-bit registers two (`[u64; 32]`), 128-bit registers
/// four (`[u128; 32]`). A predicate is one `u32` mask in an array of its own. Every slot is aligned to 64 bytes.
///
/// Handlers write active lanes only: the others belong to threads that are elsewhere, and the same slot may mean
/// another register there.
#[repr(C, align(64))]
pub struct Warp {
    /// Lanes that execute the current operation.
    pub active: u32,
    /// The carry flag `CC.CF`, one bit per lane.
    pub carry: u32,
    registers: *mut u8,
    predicates: *mut u32,
    /// Active lanes outside of the guard that is being executed.
    pub(crate) outside_guard: u32,
    /// When the warp enters a block at or behind this position, it reconverges with other lanes of its own.
    pub(crate) merge_at: *const Op,
    pub(crate) fuel: Fuel,
    /// The bounds of the memory that each operation has accessed.
    pub(crate) caches: *mut Bounds,
    /// Where native code notes the addresses that the warp accesses at its sites.
    pub(crate) sites: *mut u64,
    /// Under the check for races, what native code compares with the patterns of reads, and where these are. Whatever changes
    /// the warp's clock takes the key away until the next report.
    pub(crate) read_key: Cell<ReadKey>,
    pub(crate) growths: *mut Growth,
    /// Under the check for undefined values, the map of undefined bytes.
    pub(crate) unwritten: UnwrittenBits,
    /// Where shared memory with offset 0 would lie, and the offset of its end.
    pub(crate) shared_base: u64,
    pub(crate) shared_end: u64,
    /// Where the stack of lane 0 lies, and how far apart the stacks of lanes are.
    pub(crate) stack_base: u64,
    pub(crate) stack_stride: u64,
    /// The end of the part of the stacks that needs no further check; see [`BlockState::shared_known`].
    pub(crate) stack_known: u64,
    pub(crate) context: *const Context<'static>,
    pub(crate) block: *mut BlockState,
    // The scheduler owns the fields below.
    /// Index in the block.
    pub(crate) index: u32,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Where the active lanes go on when the warp runs again.
    pub(crate) pc: Pc,
    pub(crate) stop: Stop,
    pub(crate) turn: u32,
    pub(crate) frames: Frames,
    pub(crate) splits: Vec<Split>,
    /// Waits at mbarriers that have failed, by the number of changes of mbarriers.
    pub(crate) mbarrier_polls: Polls,
    /// Reads of the state of the grid's barrier.
    pub(crate) grid_polls: Polls,
    pub(crate) fault: Option<Box<RawFault>>,
    /// Lanes that others of their warp have run ahead of, in a run with a seed, and what decides that.
    pub(crate) behind: u32,
    pub(crate) chance: Chance,
    /// Registers of recursive functions, by depth of the call.
    pub(crate) saves: Vec<Vec<u32>>,
    pub(crate) tier: Tier,
    /// Copies that lanes have begun, by `cp.async` and by `cp.async.bulk`.
    pub(crate) copies: Groups,
    pub(crate) bulk_copies: Groups,
    /// Whether lanes have written to memory, in an order that is explored, since this was last reset.
    pub(crate) wrote: bool,
    /// The products under way and their registers, if products are checked.
    pub(crate) products: Products,
    /// The origins of undefined values, by the predicates that mark these values; see
    /// [`crate::load::instrument::registers`].
    pub(crate) origins: FxHashMap<u16, Origin>,
}

impl Warp {
    /// Where native code finds the register file and the predicates.
    pub(crate) const REGISTERS: usize = std::mem::offset_of!(Self, registers);
    pub(crate) const PREDICATES: usize = std::mem::offset_of!(Self, predicates);

    /// A warp that has nothing to do and nowhere to keep registers.
    pub(crate) fn idle() -> Self {
        Self {
            active: 0,
            carry: 0,
            registers: std::ptr::null_mut(),
            predicates: std::ptr::null_mut(),
            outside_guard: 0,
            merge_at: usize::MAX as *const Op,
            fuel: Fuel::default(),
            caches: std::ptr::null_mut(),
            sites: std::ptr::null_mut(),
            read_key: Cell::new(ReadKey::NONE),
            growths: std::ptr::null_mut(),
            unwritten: UnwrittenBits::NONE,
            shared_base: 0,
            shared_end: 0,
            stack_base: 0,
            stack_stride: 0,
            stack_known: 0,
            context: std::ptr::null(),
            block: std::ptr::null_mut(),
            index: 0,
            live: 0,
            pc: Pc::STOP,
            stop: Stop::Done,
            turn: 0,
            frames: Frames::new(),
            splits: Vec::new(),
            mbarrier_polls: Polls::default(),
            grid_polls: Polls::default(),
            fault: None,
            behind: 0,
            chance: Chance::default(),
            saves: Vec::new(),
            tier: Tier::NONE,
            copies: Groups::new(),
            bulk_copies: Groups::new(),
            wrote: false,
            products: Products::default(),
            origins: FxHashMap::default(),
        }
    }

    /// Gives the warp its register file.
    ///
    /// # Safety
    /// All stay valid, large enough for the warp's program and unused by others, as long as the warp runs;
    /// `registers` is aligned to 64 bytes.
    pub(crate) unsafe fn set_registers(&mut self, registers: *mut u8, predicates: *mut u32) {
        self.registers = registers;
        self.predicates = predicates;
    }

    /// The lanes of a slot.
    ///
    /// The result points to 32 values and is aligned to 64 bytes.
    #[inline(always)]
    pub fn lanes<T>(&self, slot: u16) -> *mut T {
        self.registers.wrapping_add(slot as usize * UNIT).cast()
    }

    /// The mask of a predicate.
    ///
    /// # Safety
    /// `index` is a predicate of the program that this warp was set up for.
    #[inline(always)]
    pub unsafe fn predicate(&self, index: u16) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { *self.predicates.add(index as usize) }
    }

    /// Forgets the bounds that operations have cached on this worker.
    pub(crate) fn forget_bounds(&self) {
        // SAFETY: a worker has that many, and no reference to them exists: they are read and written through this pointer.
        unsafe { std::slice::from_raw_parts_mut(self.caches, TABLES * CACHES) }.fill(Bounds::default());
    }

    /// See [`BlockState::shared_known`].
    #[inline(always)]
    pub(crate) fn shared_known(&self) -> u64 {
        // SAFETY: the block outlives its warps' turns, and is not in use elsewhere while one of them runs.
        unsafe { (*self.block).shared_known }
    }

    /// Sets a predicate to `mask` in the active lanes.
    ///
    /// # Safety
    /// `index` is a predicate of the program that this warp was set up for.
    #[inline(always)]
    pub unsafe fn set_predicate(&mut self, index: u16, mask: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            let place = self.predicates.add(index as usize);
            // Without reading the old mask, the write does not wait for the previous write to this predicate.
            *place = if self.active == FULL { mask } else { (*place & !self.active) | (mask & self.active) };
        }
    }

    /// Where a predicate lies.
    pub(crate) fn predicate_place(&self, index: u16) -> *mut u32 {
        self.predicates.wrapping_add(index as usize)
    }

    /// Sets the carry flag to `mask` in the active lanes.
    #[inline(always)]
    pub fn set_carry(&mut self, mask: u32) {
        self.carry = (self.carry & !self.active) | (mask & self.active);
    }

    /// The launch that the warp belongs to.
    #[inline(always)]
    pub(crate) fn context(&self) -> &Context<'static> {
        // SAFETY: the context outlives the launch, and a warp runs within one only.
        unsafe { &*self.context }
    }

    /// The operations that the warp has executed in its block.
    pub(crate) fn executed(&self) -> u64 {
        self.fuel.executed()
    }

    /// Ends the launch with a fault.
    #[cold]
    pub(crate) fn raise(&mut self, fault: RawFault) -> Pc {
        self.fault.get_or_insert_with(|| Box::new(fault));
        self.stop = Stop::Fault;
        Pc::STOP
    }
}

/// Writes `value` to the lanes of `mask`.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program.
#[inline(always)]
pub(crate) unsafe fn fill<T: Copy>(warp: &Warp, slot: u16, mask: u32, value: T) {
    // SAFETY: a slot has 32 lanes.
    unsafe {
        if mask == FULL {
            *warp.lanes::<[T; LANES]>(slot) = [value; LANES];
        } else {
            let to = warp.lanes::<T>(slot);
            for lane in lanes_of(mask) {
                *to.add(lane) = value;
            }
        }
    }
}

/// The lanes of `mask` that hold the same as the first of them.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program; `mask` is not empty.
#[inline(always)]
pub(crate) unsafe fn same<T: Copy + PartialEq>(warp: &Warp, slot: u16, mask: u32) -> u32 {
    // SAFETY: a slot has 32 lanes.
    let values = unsafe { &*warp.lanes::<[T; LANES]>(slot) };
    let first = values[mask.trailing_zeros() as usize & (LANES - 1)];
    if mask == FULL && values.iter().fold(true, |all, value| all & (*value == first)) {
        return mask;
    }
    lanes_of(mask).filter(|lane| values[*lane] == first).fold(0, |same, lane| same | 1 << lane)
}

/// Where an undefined value comes from: a load of shared or local memory that was never written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The load.
    pub(crate) source: u32,
    /// The lanes that loaded such a value.
    pub(crate) lanes: u32,
    /// The first byte, as a host address.
    pub(crate) address: u64,
}
