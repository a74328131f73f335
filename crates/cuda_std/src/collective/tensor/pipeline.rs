//! Stages of shared memory that a producer fills by tensor copies and consumers multiply.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::meeting::{Meet, Meeting, MeetingAt};
use super::tile::sealed as tile;
use super::tile::{Factor, StageTile, TileRef, TileSource};
use super::wait::{InVain, Notes, NotesAt, Position, note_of, unequal, wait, wait_together};
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::{FULL_MASK, WARP_SIZE, shfl_sync};
use crate::device::intrinsics;
use crate::device::sync::{launch_dependents, sync_threads, sync_threads_count, sync_warp, wait_for_prior_kernels};
use crate::device::thread::{index_in_block, lane_id, threads_in_block};
use crate::device::{waiting, wgmma};
use crate::mem::shared::dynamic_shared_tensors;

/// Threads of a warp group: four warps, of which the first has a number that four divides.
pub const WARP_GROUP: u32 = 128;
/// Registers of a multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities", 9.0.
pub(super) const REGISTERS: u32 = 64 << 10;

/// The tiles of a stage: a pair, such as `(Swizzled<f16, 128, 64>, Swizzled<f16, 256, 64>)`.
pub trait Stage: sealed::Stage + 'static {}

pub(super) mod sealed {
    use super::{StageTile, tile};

    pub trait Stage {
        /// The tiles' memory.
        type Memory;
        /// Bytes of all tiles, which a full stage has received.
        const BYTES: u32;
        /// Whether the blocks of a cluster have a tile in common.
        const SHARED: bool;
    }

    impl<A: StageTile, B: StageTile> Stage for (A, B) {
        type Memory = Tiles<<A::Tile as tile::Tile>::Memory, <B::Tile as tile::Tile>::Memory>;
        const BYTES: u32 = {
            let bytes = <A::Tile as tile::Tile>::BYTES + <B::Tile as tile::Tile>::BYTES;
            assert!(bytes < 1 << 20, "a barrier counts less than 1 MiB");
            bytes
        };
        const SHARED: bool = A::COMMON.0 != 1 || B::COMMON.0 != 1;
    }

    /// One after the other: each has a multiple of 1024 bytes.
    #[derive(Debug)]
    #[repr(C)]
    pub struct Tiles<A, B>(A, B);
}

impl<A: StageTile, B: StageTile> Stage for (A, B) {}

/// The memory of a pipeline: the tiles of its stages, two barriers for each, and how far its roles have come.
#[derive(Debug)]
#[repr(C)]
pub struct PipelineMemory<S: Stage, const STAGES: usize> {
    stages: [S::Memory; STAGES],
    full: [u64; STAGES],
    empty: [u64; STAGES],
    notes: Notes,
    meeting: Meeting,
}

/// `STAGES` stages in shared memory, each with the tiles `S`, which go round between one thread that fills them, the producer,
/// and `GROUPS` warp groups that multiply them, the consumers. A parameter of a kernel, which the host does not pass; the block
/// has `GROUPS + 1` warp groups.
///
/// With a `CLUSTER` of several blocks, which the kernel states as well, tiles that are [`Multicast`](super::Multicast) are
/// copied once for all of them, and a stage is filled only when it is empty in each.
#[derive(Debug)]
pub struct TensorPipeline<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32 = 1> {
    pub(super) base: u32,
    /// With how many each thread begins.
    registers: u32,
    trust: Trust,
    launch: PhantomData<&'l S>,
}

impl<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>
    TensorPipeline<'l, S, STAGES, GROUPS, CLUSTER>
{
    /// Divides the block into roles and waits for all of them: `producer` is called by one thread of the first warp group,
    /// whose threads then have `LOW` registers, `consumer` by all threads of the others, which have `HIGH`.
    ///
    /// The producer fills as many stages as each consumer takes, and those of a cluster whose blocks have tiles in common fill
    /// equally many. If a thread of a role panics, those that wait for it exit, too.
    ///
    /// `setmaxnreg`; PTX 8.0, sm_90a. `mbarrier.init`; PTX 7.0, sm_80.
    ///
    /// # Panics
    /// If the block has not `GROUPS + 1` warp groups, all of which come here, or the cluster not `CLUSTER` blocks, all of which come here
    /// if they have tiles in common; if it has fewer registers than the roles want, by the kernel's `min_blocks` or `max_registers`; if the
    /// roles do not pass equally many stages.
    #[inline(always)]
    pub fn roles<const LOW: u32, const HIGH: u32>(
        self,
        producer: impl for<'r> FnOnce(&mut Producer<'r, S, STAGES, CLUSTER>),
        consumer: impl for<'r> FnOnce(&mut Consumer<'r, S, STAGES, GROUPS, CLUSTER>),
    ) {
        let joint = is_joint::<S>();
        let meet = (self.trust == Trust::None).then_some(Meet { task: None, joint });
        self.divide::<LOW, HIGH, true>(meet, producer, consumer);
    }

    /// The pipeline, whose producer does not panic, and whose roles all pass equally many stages. Then consumers need not look why a wait
    /// is long, which costs those that use all registers; a producer looks whether a thread has panicked, and goes on, so that the other
    /// consumers find their stages full.
    ///
    /// # Safety
    /// * All threads of the block come to [`roles`](Self::roles), and where blocks of a cluster have tiles in common, all threads of these.
    /// * The producer and each consumer of these blocks pass equally many stages.
    /// * No producer panics.
    #[inline(always)]
    #[must_use]
    pub unsafe fn assume_equal(self) -> Self {
        Self { trust: Trust::Equal, ..self }
    }

    /// The same where no role panics at all, so that no thread looks, which costs a producer that uses all registers, too.
    ///
    /// # Safety
    /// As for [`assume_equal`](Self::assume_equal), and no consumer panics.
    #[inline(always)]
    #[must_use]
    pub unsafe fn assume_infallible(self) -> Self {
        Self { trust: Trust::Infallible, ..self }
    }

    /// The roles, of which so much is known. Where `WAITS` is not set, they begin before the launches ahead of this one have ended, and wait
    /// themselves, by [`wait_for_prior_kernels`]: the producer before it reads what those may write, each consumer before it
    /// writes, and in any case before it ends, so that what waits for this launch waits for those ahead of it too.
    /// Unless who comes here is known, they [meet](Meet) first.
    #[inline(always)]
    pub(super) fn divide<const LOW: u32, const HIGH: u32, const WAITS: bool>(
        self,
        meet: Option<Meet>,
        producer: impl for<'r> FnOnce(&mut Producer<'r, S, STAGES, CLUSTER>),
        consumer: impl for<'r> FnOnce(&mut Consumer<'r, S, STAGES, GROUPS, CLUSTER>),
    ) {
        const {
            assert!(STAGES >= 1, "a pipeline has a stage at least");
            assert!(GROUPS >= 1 && GROUPS <= 7, "a block has 1 to 7 warp groups of consumers");
            assert!(CLUSTER >= 1 && CLUSTER <= 8, "a cluster has 1 to 8 blocks");
            assert!(
                WARP_GROUP * (LOW + GROUPS * HIGH) <= REGISTERS,
                "a multiprocessor has 65536 registers: those of all warp groups are more"
            );
        }
        assert_registers::<LOW, HIGH, GROUPS>(self.registers);
        assert!(
            threads_in_block() == WARP_GROUP * (GROUPS + 1),
            "a block has as many warp groups as its pipeline has consumers, and one more"
        );
        let trust = self.trust;
        let thread = index_in_block();
        // Broadcast, so that ptxas knows the value is warp-uniform.
        let group = shfl_sync(FULL_MASK, thread / WARP_GROUP, 0, WARP_SIZE);
        self.initialise(thread, meet);
        // The block has read only its parameters from global memory so far.
        launch_dependents();
        if WAITS {
            wait_for_prior_kernels();
        }
        if group == 0 {
            // SAFETY: the whole warp group is here, and what follows needs few registers.
            unsafe { wgmma::set_registers::<LOW, false>() };
            if thread == 0 {
                let mut role = Producer::new(self.base, trust);
                producer(&mut role);
                role.end();
                role.finish(|| {});
            }
        } else {
            // SAFETY: the whole warp group is here; the first one gives away what this takes.
            unsafe { wgmma::set_registers::<HIGH, true>() };
            let mut role = Consumer::new(self.base, group - 1, trust);
            consumer(&mut role);
            role.finish();
        }
        // What other blocks do to this one's memory is over, if all filled and took as many stages: a stage is full when each
        // has copied its part, and the producer has waited until it is released by all. If one did not, a producer still
        // waits, and with it the cluster, so that no memory goes away.
        // SAFETY: all threads of all blocks of the cluster come here.
        unsafe {
            if CLUSTER > 1 {
                wgmma::cluster_arrive();
            }
            wgmma::store_wait_read();
            if CLUSTER > 1 {
                wgmma::cluster_wait();
            }
        }
    }

    /// Makes the barriers, once for the block, and known to all of the cluster.
    #[inline(always)]
    fn initialise(&self, thread: u32, meet: Option<Meet>) {
        assert_cluster(CLUSTER);
        let meeting = meeting::<S, STAGES>(self.base);
        let Meet { task, joint } = meet.unwrap_or(Meet { task: None, joint: false });
        if thread == 0 {
            // SAFETY: the barriers are in this pipeline's memory, and no thread uses them yet.
            unsafe { make_barriers::<S, STAGES, CLUSTER>(self.base, GROUPS, self.trust) };
            if CLUSTER > 1 || task.is_some() {
                meeting.come(task.unwrap_or_default());
            }
            // SAFETY: always.
            unsafe { wgmma::fence_mbarrier_init() };
        }
        if CLUSTER > 1 {
            // SAFETY: all threads of all blocks of the cluster come here, or to `MeetingAt::leave`.
            unsafe {
                if joint {
                    wgmma::cluster_arrive_release();
                    wgmma::cluster_wait();
                } else {
                    wgmma::cluster_arrive();
                }
            }
        }
        if joint && CLUSTER > 1 {
            assert!(
                meeting.is_complete::<CLUSTER>(task.unwrap_or_default()),
                "all threads of all blocks of a cluster take a role in a tensor pipeline together, with the same operands and results"
            );
            return;
        }
        if let Some(task) = task {
            sync_threads();
            assert!(
                meeting.is_complete::<1>(task),
                "all threads of a block take a role in a tensor pipeline together, with the same operands and results"
            );
        } else {
            // A thread that has returned before is not waited for.
            let here = sync_threads_count(true);
            assert!(here == threads_in_block(), "all threads of a block take a role");
        }
        if CLUSTER > 1 {
            // SAFETY: they have arrived.
            unsafe { wgmma::cluster_wait() };
        }
    }
}

/// Whether blocks of a cluster use each other's stages.
pub(super) const fn is_joint<S: Stage>() -> bool {
    S::SHARED
}

/// The compile-time knowledge about the roles of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing.
    None,
    /// Producers do not panic, and all roles pass equally many stages.
    Equal,
    /// No role panics, besides.
    Infallible,
}

/// Makes the barriers of the stages, for so many warp groups of consumers, of which a lane of each warp arrives; and the notes.
///
/// # Safety
///
/// The memory of a pipeline is at `base`, and no thread uses its barriers yet.
#[inline(always)]
pub(super) unsafe fn make_barriers<S: Stage, const STAGES: usize, const CLUSTER: u32>(
    base: u32,
    groups: u32,
    trust: Trust,
) {
    let blocks = if S::SHARED { CLUSTER } else { 1 };
    for stage in 0..STAGES as u32 {
        // SAFETY: the caller's.
        unsafe {
            wgmma::mbarrier_init(full::<S, STAGES>(base, stage), 1);
            wgmma::mbarrier_init(empty::<S, STAGES>(base, stage), 4 * groups * blocks);
        }
    }
    if trust == Trust::None {
        // SAFETY: the caller's.
        unsafe { notes::<S, STAGES, CLUSTER>(base).initialise(groups) };
    }
}

/// Asserts that the registers that all roles request fit into the block's, of which each thread starts with as many as
/// the kernel states; a warp group that requests more would wait forever. Compiles to nothing if the registers suffice.
/// If the kernel states nothing, or no block fits, no warp group changes its registers.
///
/// # Panics
/// If the registers do not suffice.
#[inline(always)]
pub(super) fn assert_registers<const LOW: u32, const HIGH: u32, const GROUPS: u32>(stated: u32) {
    let most = if LOW < HIGH { HIGH } else { LOW };
    let each = if stated < most { stated } else { most };
    assert!(
        stated == 0 || LOW + GROUPS * HIGH <= (GROUPS + 1) * each,
        "the warp groups of a block have not as many registers as their roles want: lower the kernel's `min_blocks`, or the roles' numbers"
    );
}

/// The blocks of a cluster are as many as a type says. No instruction where the kernel states its cluster.
///
/// # Panics
/// If they are not.
#[inline(always)]
pub(super) fn assert_cluster(blocks: u32) {
    if blocks > 1 {
        assert!(
            intrinsics::blocks_in_cluster() == blocks,
            "the kernel's cluster has not as many blocks as its types say"
        );
    }
}

/// Where the tiles of a stage are.
#[inline(always)]
fn tiles<S: Stage>(base: u32, stage: u32) -> u32 {
    base + stage * S::BYTES
}

/// The barrier that is passed when a stage has received all bytes.
#[inline(always)]
fn full<S: Stage, const STAGES: usize>(base: u32, stage: u32) -> u32 {
    base + core::mem::offset_of!(PipelineMemory<S, STAGES>, full) as u32 + 8 * stage
}

/// The barrier that is passed when all consumers have released a stage.
#[inline(always)]
fn empty<S: Stage, const STAGES: usize>(base: u32, stage: u32) -> u32 {
    base + core::mem::offset_of!(PipelineMemory<S, STAGES>, empty) as u32 + 8 * stage
}

/// Where a block says that it has come to its roles.
#[inline(always)]
fn meeting<S: Stage, const STAGES: usize>(base: u32) -> MeetingAt {
    MeetingAt(base + core::mem::offset_of!(PipelineMemory<S, STAGES>, meeting) as u32)
}

/// The notes that roles leave for each other; for a cluster with shared tiles, the notes of all its blocks.
#[inline(always)]
fn notes<S: Stage, const STAGES: usize, const CLUSTER: u32>(base: u32) -> NotesAt {
    NotesAt {
        address: base + core::mem::offset_of!(PipelineMemory<S, STAGES>, notes) as u32,
        blocks: if S::SHARED { CLUSTER } else { 1 },
    }
}

/// The thread that fills stages, while its role lasts, `'r`.
#[derive(Debug)]
pub struct Producer<'l, S: Stage, const STAGES: usize, const CLUSTER: u32> {
    base: u32,
    at: Position,
    filled: u32,
    trust: Trust,
    /// Whether the consumers were given the next stage, behind the end of the role.
    closed: Cell<bool>,
    launch: PhantomData<(&'l S, *mut ())>,
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Producer<'_, S, STAGES, CLUSTER> {
    /// The producer of the pipeline whose memory is at `base`.
    #[inline(always)]
    pub(super) fn new(base: u32, trust: Trust) -> Self {
        Self { base, at: Position::START, filled: 0, trust, closed: Cell::new(false), launch: PhantomData }
    }

    /// Waits until the next stage is empty.
    ///
    /// `mbarrier.try_wait.parity`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use = "a stage that is not filled keeps the consumers waiting"]
    pub fn acquire(&mut self) -> Empty<'_, S, STAGES, CLUSTER> {
        let Position { stage, round } = self.at;
        // In the first round the phase before the first is over. Otherwise waits for the release of the round before.
        let before = Position { round: round ^ 1, ..self.at };
        self.wait(empty::<S, STAGES>(self.base, stage), before, || {});
        self.at.advance::<STAGES>();
        Empty {
            tiles: tiles::<S>(self.base, stage),
            barrier: full::<S, STAGES>(self.base, stage),
            filled: &mut self.filled,
            stage: PhantomData,
        }
    }

    /// Waits until a stage is released, or filled.
    #[inline(always)]
    fn wait(&self, barrier: u32, at: Position, look: impl Fn()) {
        match self.trust {
            Trust::Infallible => wait::<CLUSTER>(barrier, at.round, InVain::Wait, || {}),
            Trust::Equal => wait::<CLUSTER>(barrier, at.round, InVain::GoOn, || {}),
            Trust::None => wait::<CLUSTER>(barrier, at.round, InVain::Leave, || {
                self.notes().check(note_of::<STAGES>(at));
                look();
            }),
        }
    }

    /// Tells the other producers that this role fills no more stages.
    #[inline(always)]
    pub(super) fn end(&self) {
        if self.trust == Trust::None {
            self.notes().end(0, note_of::<STAGES>(self.at));
        }
    }

    /// Waits until the stages that were filled last are full and have been released: copies to them and arrivals from other
    /// blocks go to memory that is not the block's when it ends. And until the consumers' roles have ended.
    #[inline(always)]
    pub(super) fn finish(&self, look: impl Fn()) {
        let mut at = self.oldest();
        // Whether each is full, and then whether it has been released: one wait, in a loop that is not unrolled, since it stands
        // between what kernels do all the time.
        let (mut number, all) = (0, 2 * self.filled.min(STAGES as u32));
        while number < all {
            let is_released = number % 2 == 1;
            let barrier = if is_released {
                empty::<S, STAGES>(self.base, at.stage)
            } else {
                full::<S, STAGES>(self.base, at.stage)
            };
            self.wait(barrier, at, &look);
            if is_released {
                at.advance::<STAGES>();
            }
            // SAFETY: always.
            number = unsafe { waiting::add_one(number) };
        }
        if self.trust != Trust::None {
            return;
        }
        if !self.closed.get() {
            self.close();
        }
        wait::<CLUSTER>(self.notes().left(), 0, InVain::Leave, || {
            self.close();
            look();
        });
        self.close();
    }

    /// The stage that was filled first of those that may not have been released.
    #[inline(always)]
    fn oldest(&self) -> Position {
        if self.filled < STAGES as u32 { Position::START } else { Position { round: self.at.round ^ 1, ..self.at } }
    }

    /// When all stages have been released, lets the consumers have one that no copy fills. Afterwards panics, if they have released that.
    #[inline(always)]
    fn close(&self) {
        let Position { stage, round } = self.at;
        // SAFETY: barriers of the pipeline, which are initialised; no thread fills the stage any more.
        unsafe {
            if !self.closed.replace(true) {
                wgmma::mbarrier_arrive(full::<S, STAGES>(self.base, stage));
            } else if waiting::mbarrier_test(empty::<S, STAGES>(self.base, stage), round) != 0 {
                unequal();
            }
        }
    }

    /// The same, if all stages have been released by now.
    #[inline(always)]
    pub(super) fn close_if_released(&self) {
        let mut at = self.oldest();
        for _ in 0..self.filled.min(STAGES as u32) {
            // SAFETY: as above.
            if unsafe { wgmma::mbarrier_try_wait(empty::<S, STAGES>(self.base, at.stage), at.round) } == 0 {
                return;
            }
            at.advance::<STAGES>();
        }
        self.close();
    }

    #[inline(always)]
    fn notes(&self) -> NotesAt {
        notes::<S, STAGES, CLUSTER>(self.base)
    }
}

/// An empty stage, which the producer must fill.
///
/// # Panics
/// If the stage is dropped: the consumers would wait for it.
#[derive(Debug)]
pub struct Empty<'p, S: Stage, const STAGES: usize, const CLUSTER: u32> {
    tiles: u32,
    barrier: u32,
    filled: &'p mut u32,
    stage: PhantomData<S>,
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Empty<'_, S, STAGES, CLUSTER> {
    /// Prepares the stage for its copies: the address of the tiles, and the address of the barrier.
    #[inline(always)]
    pub(super) fn begin(self) -> (u32, u32) {
        let mut this = ManuallyDrop::new(self);
        *this.filled += 1;
        (this.tiles, this.barrier)
    }
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Drop for Empty<'_, S, STAGES, CLUSTER> {
    #[inline(always)]
    fn drop(&mut self) {
        panic!("a stage of a pipeline is acquired and not filled");
    }
}

impl<A: StageTile, B: StageTile, const STAGES: usize, const CLUSTER: u32> Empty<'_, (A, B), STAGES, CLUSTER> {
    /// Starts to copy the tiles; when all bytes have come, the stage is full.
    ///
    /// The blocks of a cluster copy the same rows and columns of what they have in common.
    ///
    /// `mbarrier.arrive.expect_tx`, `cp.async.bulk.tensor.2d`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn fill<T: Factor>(self, a: impl TileSource<T>, b: impl TileSource<T>)
    where
        A: StageTile<Tile: super::Tile<Element = T>>,
        B: StageTile<Tile: super::Tile<Element = T>>,
    {
        let (tiles, barrier) = self.begin();
        let second = tiles + <A::Tile as tile::Tile>::BYTES;
        // SAFETY: the stage is empty, in all blocks of the cluster if it has several, and as many bytes are copied as are
        // expected: all of each tile, of which the blocks of the cluster copy the same parts if they have it in common.
        unsafe {
            wgmma::mbarrier_arrive_expect_tx(barrier, <(A, B) as sealed::Stage>::BYTES);
            a.fill::<A, CLUSTER>(tiles, barrier);
            b.fill::<B, CLUSTER>(second, barrier);
        }
    }
}

/// A thread of a warp group that multiplies what is in the stages, while its role lasts, `'r`.
#[derive(Debug)]
pub struct Consumer<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32> {
    base: u32,
    rank: u32,
    at: Position,
    trust: Trust,
    /// Whether launches ahead of this one may be running.
    early: bool,
    launch: PhantomData<(&'l S, *mut ())>,
}

impl<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>
    Consumer<'l, S, STAGES, GROUPS, CLUSTER>
{
    /// The consumer of the pipeline whose memory is at `base`, for a warp group.
    #[inline(always)]
    pub(super) fn new(base: u32, rank: u32, trust: Trust) -> Self {
        Self { base, rank, at: Position::START, trust, early: false, launch: PhantomData }
    }

    /// From here on, launches ahead of this one may be running until the consumer waits for them.
    #[inline(always)]
    pub(super) fn begin_early(&mut self) {
        self.early = true;
    }

    /// Waits for launches ahead that may be running, once.
    ///
    /// `griddepcontrol.wait`; PTX 7.8, sm_90.
    #[inline(always)]
    pub(super) fn wait_for_launches(&mut self) {
        if self.early {
            wait_for_prior_kernels();
            self.early = false;
        }
    }

    /// The number of this warp group among the consumers.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self) -> u32 {
        // SAFETY: the block has no more warp groups.
        unsafe { core::hint::assert_unchecked(self.rank < GROUPS) };
        self.rank
    }

    /// The number of this warp among the consumers' warps.
    #[inline(always)]
    pub(super) fn warp(&self) -> u32 {
        self.rank() * 4 + index_in_block() / WARP_SIZE % 4
    }

    /// Waits until the next stage is full. All threads of the warp group come here together.
    ///
    /// `mbarrier.try_wait.parity`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use = "a stage that is dropped is released"]
    pub fn wait(&mut self) -> Full<'l, S, STAGES, CLUSTER> {
        let Position { stage, round } = self.at;
        let in_vain = match self.trust {
            Trust::Equal | Trust::Infallible => InVain::Wait,
            Trust::None => InVain::Leave,
        };
        wait_together::<CLUSTER>(full::<S, STAGES>(self.base, stage), round, in_vain);
        self.at.advance::<STAGES>();
        Full { base: self.base, stage, launch: PhantomData }
    }
}

impl<S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32> Consumer<'_, S, STAGES, GROUPS, CLUSTER> {
    /// Tells the producers that this role has ended.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        if self.trust != Trust::None {
            return;
        }
        let notes = notes::<S, STAGES, CLUSTER>(self.base);
        if index_in_block().is_multiple_of(WARP_GROUP) {
            notes.end(1 + self.rank, note_of::<STAGES>(self.at));
        }
        if lane_id() == 0 {
            // SAFETY: the barrier counts these arrivals.
            unsafe { wgmma::mbarrier_arrive(notes.left()) };
        }
    }
}

/// A full stage. Dropping it releases the stage, which is filled again after all consumers have released it.
#[derive(Debug)]
pub struct Full<'l, S: Stage, const STAGES: usize, const CLUSTER: u32> {
    base: u32,
    stage: u32,
    launch: PhantomData<(&'l S, *mut ())>,
}

impl<A: StageTile, B: StageTile, const STAGES: usize, const CLUSTER: u32> Full<'_, (A, B), STAGES, CLUSTER> {
    /// The tiles.
    #[inline(always)]
    pub(super) fn tiles(&self) -> (TileRef<'_, A::Tile>, TileRef<'_, B::Tile>) {
        let first = self.address();
        // SAFETY: the stage is full until it is dropped.
        unsafe { (TileRef::new(first), TileRef::new(first + <A::Tile as tile::Tile>::BYTES)) }
    }
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Full<'_, S, STAGES, CLUSTER> {
    /// Where its tiles are.
    #[inline(always)]
    pub(super) fn address(&self) -> u32 {
        tiles::<S>(self.base, self.stage)
    }

    /// Releases the stage where the lanes of the warp are together, and what read it is over for all of them.
    #[inline(always)]
    pub(super) fn release_together(self) {
        ManuallyDrop::new(self).arrive();
    }

    /// One lane of each warp arrives; in a cluster a lane for each block, at this block's barrier.
    ///
    /// `mbarrier.arrive`; PTX 7.0, sm_80. `mapa`; PTX 7.8, sm_90.
    #[inline(always)]
    fn arrive(&self) {
        let barrier = empty::<S, STAGES>(self.base, self.stage);
        let lane = lane_id();
        // SAFETY: the barrier counts these arrivals; other blocks of the cluster exist until all blocks are done.
        unsafe {
            if CLUSTER > 1 && S::SHARED {
                if lane < CLUSTER {
                    wgmma::mbarrier_arrive_cluster(barrier, lane);
                }
            } else if lane == 0 {
                wgmma::mbarrier_arrive(barrier);
            }
        }
    }
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Drop for Full<'_, S, STAGES, CLUSTER> {
    #[inline(always)]
    fn drop(&mut self) {
        sync_warp(FULL_MASK);
        self.arrive();
    }
}

// SAFETY: a part of the launch's dynamic shared memory, which the launcher lays out; all threads get the same.
unsafe impl<S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32> KernelParameter
    for TensorPipeline<'_, S, STAGES, GROUPS, CLUSTER>
{
    const ROLE: Role = Role::Shared;
    const ROLES: usize = 1;
    type Element = PipelineMemory<S, STAGES>;
    type A = u32;
    type B = u32;
    type C = ();
    type D = ();
    type Value<'l> = TensorPipeline<'l, S, STAGES, GROUPS, CLUSTER>;

    #[inline(always)]
    unsafe fn assemble(offset: u32, _: u32, (): (), (): ()) -> Self::Value<'static> {
        let base = intrinsics::shared_address(dynamic_shared_tensors()) + offset;
        if CLUSTER > 1 {
            meeting::<S, STAGES>(base).open();
        }
        TensorPipeline { base, registers: 0, trust: Trust::None, launch: PhantomData }
    }

    #[inline(always)]
    fn place(value: &Self::Value<'static>) -> u32 {
        value.base
    }

    #[inline(always)]
    unsafe fn leave(base: u32) {
        if CLUSTER > 1 {
            meeting::<S, STAGES>(base).leave();
        }
    }

    #[inline(always)]
    unsafe fn with_registers<const REGISTERS: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        TensorPipeline { registers: REGISTERS, ..value }
    }
}
