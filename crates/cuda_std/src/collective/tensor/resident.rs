//! Stages beside tiles that stay for many of them.

use core::marker::PhantomData;

use super::Stage;
use super::pipeline::{
    Consumer, PipelineMemory, Producer, REGISTERS, Trust, WARP_GROUP, assert_registers, make_barriers,
};
use super::turns::Turns;
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::{FULL_MASK, WARP_SIZE, shfl_sync};
use crate::device::intrinsics;
use crate::device::sync::sync_threads_count;
use crate::device::thread::{index_in_block, threads_in_block};
use crate::device::wgmma;
use crate::mem::shared::dynamic_shared_tensors;

/// `STAGES` stages with the tiles `S`, and `RESIDENT` with the tiles `Q`, each of which is kept while many of the others come and
/// go. A parameter of a kernel, which the host does not pass; the block has `GROUPS` warp groups of consumers, and one more.
///
/// A [`TensorPipeline`](super::TensorPipeline) with stages of two kinds, each kind in its own order.
#[derive(Debug)]
pub struct ResidentPipeline<'l, Q: Stage, S: Stage, const RESIDENT: usize, const STAGES: usize, const GROUPS: u32> {
    base: u32,
    barrier: u32,
    /// With how many each thread begins.
    registers: u32,
    trust: Trust,
    launch: PhantomData<&'l (Q, S)>,
}

/// The memory of a [`ResidentPipeline`].
#[allow(missing_debug_implementations, reason = "memory of tiles, which no thread reads")]
#[repr(C)]
pub struct ResidentMemory<Q: Stage, S: Stage, const RESIDENT: usize, const STAGES: usize> {
    resident: PipelineMemory<Q, RESIDENT>,
    stages: PipelineMemory<S, STAGES>,
}

impl<Q: Stage, S: Stage, const RESIDENT: usize, const STAGES: usize, const GROUPS: u32>
    ResidentPipeline<'_, Q, S, RESIDENT, STAGES, GROUPS>
{
    /// The pipeline, whose producer does not panic, and whose roles all pass equally many stages: see
    /// [`TensorPipeline::assume_equal`](super::TensorPipeline::assume_equal).
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    #[must_use]
    pub unsafe fn assume_equal(self) -> Self {
        Self { trust: Trust::Equal, ..self }
    }

    /// Divides the block into roles, as [`TensorPipeline::roles`](super::TensorPipeline::roles) does. Each has its side of both
    /// kinds of stages, and consumers have their [turns](Turns).
    ///
    /// `setmaxnreg`; PTX 8.0, sm_90a. `mbarrier.init`; PTX 7.0, sm_80.
    ///
    /// # Panics
    /// If the block has not `GROUPS + 1` warp groups, all of which come here; if the roles do not pass equally many stages.
    #[inline(always)]
    pub fn roles<const LOW: u32, const HIGH: u32>(
        self,
        producer: impl for<'r> FnOnce(&mut Producer<'r, Q, RESIDENT, 1>, &mut Producer<'r, S, STAGES, 1>),
        consumer: impl for<'r> FnOnce(
            &mut Consumer<'r, Q, RESIDENT, GROUPS, 1>,
            &mut Consumer<'r, S, STAGES, GROUPS, 1>,
            &mut Turns<'r, GROUPS>,
        ),
    ) {
        let trust = self.trust;
        const {
            assert!(RESIDENT >= 1 && STAGES >= 1, "a pipeline has a stage at least");
            assert!(GROUPS >= 1 && GROUPS <= 7, "a block has 1 to 7 warp groups of consumers");
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
        let resident = self.base;
        let stages = self.base + core::mem::offset_of!(ResidentMemory<Q, S, RESIDENT, STAGES>, stages) as u32;
        let thread = index_in_block();
        // Broadcast, so that ptxas knows the value is warp-uniform.
        let group = shfl_sync(FULL_MASK, thread / WARP_GROUP, 0, WARP_SIZE);
        if thread == 0 {
            // SAFETY: the memory is the pipeline's, and no thread uses it yet.
            unsafe {
                make_barriers::<Q, RESIDENT, 1>(resident, GROUPS, trust);
                make_barriers::<S, STAGES, 1>(stages, GROUPS, trust);
                wgmma::fence_mbarrier_init();
            }
        }
        // A thread that has returned before is not waited for.
        let here = sync_threads_count(true);
        assert!(here == threads_in_block(), "all threads of a block take a role");
        if group == 0 {
            // SAFETY: the whole warp group is here, and what follows needs few registers.
            unsafe { wgmma::set_registers::<LOW, false>() };
            if thread == 0 {
                let (mut resident, mut stages) = (Producer::new(resident, trust), Producer::new(stages, trust));
                producer(&mut resident, &mut stages);
                // Consumers may wait for the one while the other is drained.
                resident.end();
                stages.end();
                resident.finish(|| stages.close_if_released());
                stages.finish(|| {});
            }
        } else {
            // SAFETY: the whole warp group is here; the first one gives away what this takes.
            unsafe { wgmma::set_registers::<HIGH, true>() };
            let rank = group - 1;
            // SAFETY: the barriers are this parameter's.
            let mut turns = unsafe { Turns::begin(self.barrier, rank) };
            let (mut resident, mut stages) = (Consumer::new(resident, rank, trust), Consumer::new(stages, rank, trust));
            consumer(&mut resident, &mut stages, &mut turns);
            resident.finish();
            stages.finish();
            turns.end();
        }
        // SAFETY: always.
        unsafe { wgmma::store_wait_read() };
    }
}

// SAFETY: a part of the launch's dynamic shared memory, which the launcher lays out; all threads get the same.
unsafe impl<Q: Stage, S: Stage, const RESIDENT: usize, const STAGES: usize, const GROUPS: u32> KernelParameter
    for ResidentPipeline<'_, Q, S, RESIDENT, STAGES, GROUPS>
{
    const ROLE: Role = Role::Shared;
    const ROLES: usize = 1;
    const BARRIERS: u32 = GROUPS;
    type Element = ResidentMemory<Q, S, RESIDENT, STAGES>;
    type A = u32;
    type B = u32;
    type C = ();
    type D = ();
    type Value<'l> = ResidentPipeline<'l, Q, S, RESIDENT, STAGES, GROUPS>;

    #[inline(always)]
    unsafe fn assemble(offset: u32, _: u32, (): (), (): ()) -> Self::Value<'static> {
        ResidentPipeline {
            base: intrinsics::shared_address(dynamic_shared_tensors()) + offset,
            barrier: 0,
            registers: 0,
            trust: Trust::None,
            launch: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn with_barrier<const BARRIER: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        ResidentPipeline { barrier: BARRIER, ..value }
    }

    #[inline(always)]
    unsafe fn with_registers<const REGISTERS: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        ResidentPipeline { registers: REGISTERS, ..value }
    }
}
