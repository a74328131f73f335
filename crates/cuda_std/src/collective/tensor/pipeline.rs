//! Stages of shared memory that a producer fills by tensor copies and consumers multiply.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::tile::sealed as tile;
use super::tile::{Factor, StageTile, TileRef, TileSource};
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::{FULL_MASK, WARP_SIZE, shfl_sync};
use crate::device::intrinsics;
use crate::device::sync::{sync_threads_count, sync_warp};
use crate::device::thread::{index_in_block, lane_id, threads_in_block};
use crate::device::wgmma;
use crate::mem::shared::dynamic_shared_tensors;

/// Threads of a warp group: four warps, of which the first has a number that four divides.
pub const WARP_GROUP: u32 = 128;
/// Registers of a multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities", 9.0.
const REGISTERS: u32 = 64 << 10;

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

/// The memory of a pipeline: the tiles of its stages, and two barriers for each.
#[derive(Debug)]
#[repr(C)]
pub struct PipelineMemory<S: Stage, const STAGES: usize> {
    stages: [S::Memory; STAGES],
    full: [u64; STAGES],
    empty: [u64; STAGES],
}

/// `STAGES` stages in shared memory, each with the tiles `S`, which go round between one thread that fills them, the producer,
/// and `GROUPS` warp groups that multiply them, the consumers. A parameter of a kernel, which the host does not pass; the block
/// has `GROUPS + 1` warp groups.
///
/// With a `CLUSTER` of several blocks, which the kernel states as well, tiles that are [`Multicast`](super::Multicast) are
/// copied once for all of them, and a stage is filled only when it is empty in each.
#[derive(Debug)]
pub struct TensorPipeline<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32 = 1> {
    base: u32,
    launch: PhantomData<&'l S>,
}

impl<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>
    TensorPipeline<'l, S, STAGES, GROUPS, CLUSTER>
{
    /// Divides the block into roles and waits for all of them: `producer` is called by one thread of the first warp group,
    /// whose threads then have `LOW` registers, `consumer` by all threads of the others, which have `HIGH`.
    ///
    /// The producer fills as many stages as each consumer takes. If it fills more, it waits for their copies before the block
    /// ends; if it fills fewer, the consumers wait for ever.
    ///
    /// `setmaxnreg`; PTX 8.0, sm_90a. `mbarrier.init`; PTX 7.0, sm_80.
    ///
    /// # Panics
    /// If the block has not `GROUPS + 1` warp groups, all of which come here, or the cluster not `CLUSTER` blocks.
    #[inline(always)]
    pub fn roles<const LOW: u32, const HIGH: u32>(
        self,
        producer: impl for<'r> FnOnce(&mut Producer<'r, S, STAGES, CLUSTER>),
        consumer: impl for<'r> FnOnce(&mut Consumer<'r, S, STAGES, GROUPS, CLUSTER>),
    ) {
        self.divide::<LOW, HIGH, true>(producer, consumer);
    }

    /// The same, but where `WAITS` is not set, the roles begin before the launches ahead of this one have ended. They wait
    /// themselves, by [`wait_for_prerequisites`]: the producer before it reads what those may write, each consumer before it
    /// writes, and in any case before it ends, so that what waits for this launch waits for those ahead of it too.
    #[inline(always)]
    pub(super) fn divide<const LOW: u32, const HIGH: u32, const WAITS: bool>(
        self,
        producer: impl for<'r> FnOnce(&mut Producer<'r, S, STAGES, CLUSTER>),
        consumer: impl for<'r> FnOnce(&mut Consumer<'r, S, STAGES, GROUPS, CLUSTER>),
    ) {
        const {
            assert!(STAGES >= 1, "a pipeline has a stage at least");
            assert!(
                GROUPS >= 1 && GROUPS <= 7,
                "a block has 1 to 7 warp groups of consumers"
            );
            assert!(CLUSTER >= 1 && CLUSTER <= 8, "a cluster has 1 to 8 blocks");
            assert!(
                WARP_GROUP * (LOW + GROUPS * HIGH) <= REGISTERS,
                "a multiprocessor has 65536 registers: those of all warp groups are more"
            );
        }
        assert!(
            threads_in_block() == WARP_GROUP * (GROUPS + 1),
            "a block has as many warp groups as its pipeline has consumers, and one more"
        );
        let thread = index_in_block();
        // Of the same value in all lanes, which the shuffle tells the compiler of the driver.
        let group = shfl_sync(FULL_MASK, thread / WARP_GROUP, 0, WARP_SIZE);
        self.initialise(thread);
        // SAFETY: always. What the block has read of global memory before is its parameters.
        unsafe { wgmma::launch_dependents() };
        if WAITS {
            wait_for_prerequisites();
        }
        if group == 0 {
            // SAFETY: the whole warp group is here, and what follows needs few registers.
            unsafe { wgmma::set_registers::<LOW, false>() };
            if thread == 0 {
                let mut role = Producer::new(self.base);
                producer(&mut role);
                role.finish();
            }
        } else {
            // SAFETY: the whole warp group is here; the first one gives away what this takes.
            unsafe { wgmma::set_registers::<HIGH, true>() };
            let mut role = Consumer::new(self.base, group - 1);
            consumer(&mut role);
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
    fn initialise(&self, thread: u32) {
        assert_cluster::<CLUSTER>();
        if thread == 0 {
            let blocks = if S::SHARED { CLUSTER } else { 1 };
            // SAFETY: the barriers are in this pipeline's memory, and no thread uses them yet.
            unsafe { make_barriers::<S, STAGES>(self.base, GROUPS * blocks) };
            // SAFETY: always.
            unsafe { wgmma::fence_mbarrier_init() };
        }
        if CLUSTER > 1 {
            // SAFETY: all threads of all blocks of the cluster come here.
            unsafe { wgmma::cluster_arrive() };
        }
        // A thread that has returned before is not waited for.
        let here = sync_threads_count(true);
        assert!(here == threads_in_block(), "all threads of a block take a role");
        if CLUSTER > 1 {
            // SAFETY: they have arrived.
            unsafe { wgmma::cluster_wait() };
        }
    }
}

/// Until the launches ahead of this one are over and their writes are there; at once, if this one did not begin early.
#[inline(always)]
pub(super) fn wait_for_prerequisites() {
    // SAFETY: always.
    unsafe { wgmma::wait_for_prerequisites() }
}

/// Makes the barriers of the stages, for so many consumers, of which a lane of each warp arrives.
///
/// # Safety
///
/// The memory of a pipeline is at `base`, and no thread uses its barriers yet.
#[inline(always)]
pub(super) unsafe fn make_barriers<S: Stage, const STAGES: usize>(base: u32, consumers: u32) {
    for stage in 0..STAGES as u32 {
        // SAFETY: the caller's.
        unsafe {
            wgmma::mbarrier_init(full::<S, STAGES>(base, stage), 1);
            wgmma::mbarrier_init(empty::<S, STAGES>(base, stage), 4 * consumers);
        }
    }
}

/// The blocks of a cluster are as many as a type says. No instruction where the kernel states its cluster.
///
/// # Panics
/// If they are not.
#[inline(always)]
pub(super) fn assert_cluster<const CLUSTER: u32>() {
    if CLUSTER > 1 {
        assert!(
            intrinsics::blocks_in_cluster() == CLUSTER,
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

/// The stage that comes next, and the parity of the round.
#[derive(Clone, Copy, Debug)]
struct Position {
    stage: u32,
    round: u32,
}

impl Position {
    const START: Self = Self { stage: 0, round: 0 };

    #[inline(always)]
    fn advance<const STAGES: usize>(&mut self) {
        self.stage += 1;
        if self.stage == STAGES as u32 {
            self.stage = 0;
            self.round ^= 1;
        }
    }
}

/// Waits until the phase of a barrier is over.
///
/// It orders no ordinary accesses, nor need it: tensor copies write the stages and products read them, and both are over when
/// the barrier counts them. So arrivals at the barriers of other blocks need no wider scope either, which would have each
/// consumer wait for its earlier stores.
#[inline(always)]
fn wait(barrier: u32, parity: u32) {
    // SAFETY: a barrier of a pipeline, which is initialised.
    while unsafe { wgmma::mbarrier_try_wait(barrier, parity) } == 0 {}
}

/// The same for what other blocks of the cluster wrote before they arrived, which is seen afterwards.
#[inline(always)]
pub(super) fn wait_for_cluster(barrier: u32, parity: u32) {
    // SAFETY: a barrier that is initialised.
    while unsafe { wgmma::mbarrier_try_wait_acquire_cluster(barrier, parity) } == 0 {}
}

/// The thread that fills stages, while its role lasts, `'r`.
#[derive(Debug)]
pub struct Producer<'l, S: Stage, const STAGES: usize, const CLUSTER: u32> {
    base: u32,
    at: Position,
    filled: u32,
    launch: PhantomData<(&'l S, *mut ())>,
}

impl<S: Stage, const STAGES: usize, const CLUSTER: u32> Producer<'_, S, STAGES, CLUSTER> {
    /// That of the pipeline whose memory is at `base`.
    #[inline(always)]
    pub(super) fn new(base: u32) -> Self {
        Self {
            base,
            at: Position::START,
            filled: 0,
            launch: PhantomData,
        }
    }

    /// Waits until the next stage is empty.
    ///
    /// `mbarrier.try_wait.parity`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use = "a stage that is not filled keeps the consumers waiting"]
    pub fn acquire(&mut self) -> Empty<'_, S, STAGES, CLUSTER> {
        let Position { stage, round } = self.at;
        // In the first round the phase before the first is over.
        wait(empty::<S, STAGES>(self.base, stage), round ^ 1);
        self.at.advance::<STAGES>();
        Empty {
            tiles: tiles::<S>(self.base, stage),
            barrier: full::<S, STAGES>(self.base, stage),
            filled: &mut self.filled,
            stage: PhantomData,
        }
    }

    /// Waits until the stages that were filled last are full and have been released: copies to them and arrivals from other
    /// blocks go to memory that is not the block's when it ends.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        for _ in 0..self.filled.min(STAGES as u32) {
            let Position { stage, round } = &mut self.at;
            if *stage == 0 {
                *stage = STAGES as u32;
                *round ^= 1;
            }
            *stage -= 1;
            wait(full::<S, STAGES>(self.base, *stage), *round);
            wait(empty::<S, STAGES>(self.base, *stage), *round);
        }
    }
}

/// A stage that is empty.
#[derive(Debug)]
pub struct Empty<'p, S: Stage, const STAGES: usize, const CLUSTER: u32> {
    pub(super) tiles: u32,
    pub(super) barrier: u32,
    pub(super) filled: &'p mut u32,
    stage: PhantomData<S>,
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
        *self.filled += 1;
        let second = self.tiles + <A::Tile as tile::Tile>::BYTES;
        // SAFETY: the stage is empty, in all blocks of the cluster if it has several, and as many bytes are copied as are
        // expected: all of each tile, of which the blocks of the cluster copy the same parts if they have it in common.
        unsafe {
            wgmma::mbarrier_arrive_expect_tx(self.barrier, <(A, B) as sealed::Stage>::BYTES);
            a.fill::<A, CLUSTER>(self.tiles, self.barrier);
            b.fill::<B, CLUSTER>(second, self.barrier);
        }
    }
}

/// A thread of a warp group that multiplies what is in the stages, while its role lasts, `'r`.
#[derive(Debug)]
pub struct Consumer<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32> {
    base: u32,
    rank: u32,
    at: Position,
    /// Whether launches ahead of this one may be running.
    early: bool,
    launch: PhantomData<(&'l S, *mut ())>,
}

impl<'l, S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>
    Consumer<'l, S, STAGES, GROUPS, CLUSTER>
{
    /// That of the pipeline whose memory is at `base`, and of a warp group.
    #[inline(always)]
    pub(super) fn new(base: u32, rank: u32) -> Self {
        Self {
            base,
            rank,
            at: Position::START,
            early: false,
            launch: PhantomData,
        }
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
            wait_for_prerequisites();
            self.early = false;
        }
    }

    /// Which of the consumers' warp groups this one is.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self) -> u32 {
        // SAFETY: the block has no more warp groups.
        unsafe { core::hint::assert_unchecked(self.rank < GROUPS) };
        self.rank
    }

    /// Which of the consumers' warps this one is.
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
        wait(full::<S, STAGES>(self.base, stage), round);
        self.at.advance::<STAGES>();
        Full {
            base: self.base,
            stage,
            launch: PhantomData,
        }
    }
}

/// A stage that is full. When it is dropped, it is released, to be filled again when all consumers have released it.
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
        unsafe {
            (
                TileRef::new(first),
                TileRef::new(first + <A::Tile as tile::Tile>::BYTES),
            )
        }
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

    /// One lane of each warp arrives; in a cluster one for each block, at that block's barrier.
    ///
    /// `mbarrier.arrive`; PTX 7.0, sm_80. `mapa`; PTX 7.8, sm_90.
    #[inline(always)]
    fn arrive(&self) {
        let barrier = empty::<S, STAGES>(self.base, self.stage);
        let lane = lane_id();
        // SAFETY: the barrier counts these arrivals; other blocks of the cluster are there until all of it are done.
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
        TensorPipeline {
            base: intrinsics::shared_address(dynamic_shared_tensors()) + offset,
            launch: PhantomData,
        }
    }
}
