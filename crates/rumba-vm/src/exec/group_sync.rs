//! Warp groups, their registers and products, and the counts of mbarriers: mistakes that the check of synchronization
//! finds.
//!
//! The state of the check is in [`crate::check::products`], [`crate::check::groups`] and
//! [`crate::check::transactions`].

use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::check::groups::WarpGroup;
use crate::check::notes::Actor;
use crate::check::products::Mistake;
use crate::exec::sync::{EXITS, VAIN};
use crate::machine::block::{BlockState, GROUP_WARPS};
use crate::machine::cluster::Cluster;
use crate::machine::op::Pc;
use crate::machine::warp::{Stop, Warp};
use rumba_checks::FindingKind;

const PRODUCT: &str = "product";
const TOGETHER: &str = "instruction of the warp group";

/// A bit in the `extra` of an operation that reports an access to a register.
pub(crate) const WRITES: u16 = 1;

/// Registers of a multiprocessor.
const REGISTERS: u32 = 64 * 1024;

impl Warp {
    /// A product has begun, which the operation numbers.
    pub(crate) fn record_product(&mut self, pc: Pc) {
        let context = self.context;
        // SAFETY: the context outlives the launch, and a warp runs within one only.
        let program = unsafe { (*context).program };
        let Some(product) = program.products.get(pc.imm as usize) else {
            return;
        };
        let Some(mistake) = self.products.begin(product) else {
            return;
        };
        let actor = self.actor(pc.source, self.active, PRODUCT);
        let at = |source, what| self.actor(source, self.active, what);
        match mistake {
            Mistake::Unfenced(None) => self.note(FindingKind::MissingProductFence, actor, None, || {
                "no `wgmma.fence` is before the warp's first product".into()
            }),
            Mistake::Unfenced(Some(source)) => {
                let other = Some(at(source, "access to a register of the product"));
                self.note(FindingKind::MissingProductFence, actor, other, || {
                    "the product uses registers that were accessed since the last product, and no `wgmma.fence` is between".into()
                });
            }
            Mistake::Pending(source) => {
                self.note(FindingKind::PendingAccumulator, actor, Some(at(source, PRODUCT)), || {
                    "a product multiplies what another one, which is under way, adds to".into()
                });
            }
        }
    }

    /// A load from tensor memory has begun, whose registers the operation numbers.
    pub(crate) fn record_tensor_load(&mut self, pc: Pc) {
        let context = self.context;
        // SAFETY: the context outlives the launch, and a warp runs within one only.
        let program = unsafe { (*context).program };
        if let Some(registers) = program.products.get(pc.imm as usize) {
            self.products.begin_load(registers);
        }
    }

    /// A register of a product, or of a load from tensor memory, is read or written.
    pub(crate) fn record_register(&mut self, pc: Pc) {
        let writes = pc.extra & WRITES != 0;
        let Some(product) = self.products.access(pc.imm, writes, pc.source) else {
            return;
        };
        let what = if writes { "write of the register" } else { "read of the register" };
        let actor = self.actor(pc.source, self.active, what);
        if self.products.are_loads {
            let other = self.actor(product, FULL, "load");
            // Further accesses before the wait are not reported: compilers move many at once.
            self.products.wait_loads();
            return self.note(FindingKind::PendingTensorLoad, actor, Some(other), || {
                "the warp has not waited for the load".into()
            });
        }
        let other = self.actor(product, FULL, PRODUCT);
        self.note(FindingKind::PendingAccumulator, actor, Some(other), || {
            "the group of the product was not waited for".into()
        });
    }

    /// The warp executes an instruction of its whole warp group.
    pub(crate) fn record_together(&self, pc: Pc) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        let group = &mut sync_history.groups[self.index as usize / GROUP_WARPS];
        let actor = self.actor(pc.source, self.active, TOGETHER);
        if let Some((source, warp)) = group.come(self.index, pc.source) {
            let other = Actor { source, warp, ..actor };
            return self.note(FindingKind::PartialWarpGroup, actor, Some(other), || {
                format!("warp {} comes to one instruction and warp {warp} to another", self.index)
            });
        }
        // Warps that have exited never reach the instruction.
        let first = self.index / GROUP_WARPS as u32 * GROUP_WARPS as u32;
        // SAFETY: the block outlives its warps' turns, and is not changed meanwhile.
        let live = unsafe { (*self.block).live };
        for warp in (first..first + GROUP_WARPS as u32).filter(|warp| live[*warp as usize] == 0) {
            if group.missed_by(warp).is_some() {
                let exit = sync_history.exits.iter().find(|(of, ..)| *of == warp);
                let other = exit.map(|(warp, lanes, source)| Actor {
                    warp: *warp,
                    lanes: *lanes,
                    source: *source,
                    what: EXITS,
                    ..actor
                });
                return self.note(FindingKind::PartialWarpGroup, actor, other, || {
                    format!("warp {warp} of the warp group has exited")
                });
            }
        }
    }

    /// The number of registers of the warp group's threads changes: to more, or to fewer.
    pub(crate) fn record_registers(&self, pc: Pc, count: u32, is_more: bool) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        let actor = self.actor(pc.source, self.active, "change of the registers");
        let note = |detail: String| self.note(FindingKind::RegisterCount, actor, None, || detail);
        let context = self.context();
        let Some(cap) = context.program.register_cap else {
            return note("the kernel says with no `.maxnreg`, `.maxntid` or `.reqntid` how many it starts with".into());
        };
        let group = &mut sync_history.groups[self.index as usize / GROUP_WARPS];
        // The warps of a group arrive one by one. The assembler chooses with how many registers, up to the cap, the
        // kernel starts.
        match group.registers {
            Some((known, at)) if known == count && at.source == pc.source => return,
            Some((known, _)) if is_more && count < known => {
                note(format!("`setmaxnreg.inc` to {count} registers of threads that have {known}"));
            }
            Some((known, _)) if !is_more && count > known => {
                note(format!("`setmaxnreg.dec` to {count} registers of threads that have {known}"));
            }
            None if !is_more && count > cap => {
                note(format!("`setmaxnreg.dec` to {count} registers of threads that start with {cap} at most"));
            }
            Some(_) | None => {}
        }
        group.registers = Some((count, actor));
    }

    /// The active lanes exit, at an instruction.
    pub(crate) fn record_end(&self, source: u32) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        for lane in lanes_of(self.bulk_copies.lanes_under_way() & self.active) {
            if let Some(copy) = sync_history.copies.get(&(self.index, lane)) {
                self.note(FindingKind::AbandonedOperation, *copy, None, || {
                    "its thread exits without `cp.async.bulk.wait_group`".into()
                });
            }
        }
        if self.live & !self.active != 0 {
            return;
        }
        let exit = self.actor(source, self.active, EXITS);
        if let Some(product) = self.products.under_way().filter(|_| !self.products.are_loads) {
            let actor = self.actor(product, FULL, PRODUCT);
            self.note(FindingKind::AbandonedOperation, actor, Some(exit), || {
                "the warp exits without waiting for its products".into()
            });
        }
        let group = &mut sync_history.groups[self.index as usize / GROUP_WARPS];
        if let Some((source, warp)) = group.missed_by(self.index) {
            let actor = Actor { source, warp, lanes: FULL, what: TOGETHER, ..exit };
            self.note(FindingKind::PartialWarpGroup, actor, Some(exit), || {
                format!("warp {} of the warp group exits", self.index)
            });
        }
    }

    /// A lane waits for a phase of an mbarrier that has ended. Called before copies that have arrived meanwhile are
    /// delivered, and, if the lane then continues, once more with `passes`.
    pub(crate) fn record_wait(&self, pc: Pc, lane: usize, owner: *mut BlockState, object: u64, passes: bool) {
        // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
        let Some(sync_history) = (unsafe { (*owner).sync_history.as_deref_mut() }) else {
            return;
        };
        let Some(mbarrier) = sync_history.mbarriers.get_mut(&object) else {
            return;
        };
        let actor = self.actor(pc.source, 1 << lane, "wait");
        if passes {
            return mbarrier.pass(lane, actor);
        }
        if let Some(earlier) = mbarrier.passed_before(self.index, lane) {
            let other = Some(Actor { what: "first wait", ..earlier });
            self.note(FindingKind::StaleParity, actor, other, || {
                "the thread has seen this phase end before, and the next one is under way".into()
            });
        }
    }

    /// A lane lets an mbarrier expect bytes, or begins a copy that brings bytes.
    pub(crate) fn record_bytes(&self, pc: Pc, lane: usize, owner: *mut BlockState, object: u64, bytes: Bytes) {
        // SAFETY: as above.
        let Some(sync_history) = (unsafe { (*owner).sync_history.as_deref_mut() }) else {
            return;
        };
        let Some(mbarrier) = sync_history.mbarriers.get_mut(&object) else {
            return;
        };
        let actor = |what| Some(self.actor(pc.source, 1 << lane, what));
        match bytes {
            Bytes::Expected(bytes) => {
                mbarrier.expected += u64::from(bytes);
                mbarrier.expect = actor("expectation");
            }
            Bytes::Brought(bytes) => {
                mbarrier.brought += u64::from(bytes);
                mbarrier.copy = actor("copy");
            }
        }
    }

    /// Lanes access shared memory of the block with a rank in the cluster.
    pub(crate) fn check_block(&self, source: u32, lanes: u32, cluster: &Cluster, rank: u32) {
        if cluster.has_ended(rank) && self.sync_history().is_some() {
            let actor = self.actor(source, lanes, "access");
            self.note(FindingKind::ExitedBlock, actor, None, || {
                format!("the threads of block {rank} of the cluster have exited")
            });
        }
    }

    /// A lane begins a copy in a group.
    pub(crate) fn record_copy(&self, pc: Pc, lane: usize) {
        if let Some(sync_history) = self.sync_history() {
            let actor = self.actor(pc.source, 1 << lane, "copy");
            sync_history.copies.insert((self.index, lane), actor);
        }
    }
}

/// Bytes that an mbarrier counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bytes {
    Expected(u32),
    Brought(u32),
}

/// Checks the state that a block leaves when all its threads have exited, or none can continue.
#[cold]
pub(crate) fn left(state: &BlockState, warps: &[Warp], has_ended: bool) {
    let (Some(sync_history), Some(warp)) = (state.sync_history.as_deref(), warps.first()) else {
        return;
    };
    let mut mbarriers: Vec<_> = sync_history.mbarriers.iter().collect();
    mbarriers.sort_unstable_by_key(|(object, _)| **object);
    for (object, mbarrier) in mbarriers {
        let (expected, brought) = (mbarrier.expected, mbarrier.brought);
        let (first, second) = match (mbarrier.expect, mbarrier.copy) {
            (Some(expect), copy) => (expect, copy),
            (None, Some(copy)) => (copy, None),
            (None, None) => continue,
        };
        if expected != brought {
            warp.note(FindingKind::TransactionBytes, first, second, || {
                format!("the mbarrier was told to expect {expected} bytes in all, and copies bring {brought}")
            });
        }
        if let Some(copy) = mbarrier.copy
            && has_ended
            && state.tracked.iter().any(|tracked| tracked.barrier == *object)
        {
            warp.note(FindingKind::AbandonedOperation, copy, None, || {
                "no thread has waited for the phase of the mbarrier that keeps track of the copy".into()
            });
        }
    }
    if !has_ended {
        return;
    }
    for one in &state.tensor.allocated {
        warp.note(FindingKind::UnfreedTensorMemory, one.actor, None, || {
            format!("{} columns, from column {} on, are allocated at the end of the block", one.columns, one.first)
        });
    }
    registers(sync_history.groups.as_slice(), warps);
}

/// Checks the registers that the warp groups have at the end: groups can only get registers that other groups have
/// released.
fn registers(groups: &[WarpGroup], warps: &[Warp]) {
    let Some(warp) = warps.first() else { return };
    let Some(cap) = warp.context().program.register_cap else {
        return;
    };
    let changed: Vec<_> = groups.iter().filter_map(|group| group.registers).collect();
    let (wanted, there) = (changed.iter().map(|(count, _)| count).sum::<u32>(), cap * changed.len() as u32);
    if wanted > there
        && let Some((_, actor)) = changed.iter().max_by_key(|(count, _)| *count)
    {
        warp.note(FindingKind::RegisterCount, *actor, None, || {
            format!(
                "threads of the {} warp groups that change their registers have {wanted} in all then, and {there} at most before",
                changed.len()
            )
        });
    }
}

/// Checks the warp groups of a block in which no thread can continue.
#[cold]
pub(crate) fn stuck(state: *mut BlockState, warps: &[Warp]) {
    // SAFETY: no warp runs, and the calls on warps below only read.
    let Some(sync_history) = (unsafe { (*state).sync_history.as_deref_mut() }) else {
        return;
    };
    for warp in
        warps.iter().filter(|warp| warp.live != 0 && warp.stop == Stop::Blocked && !warp.mbarrier_polls.is_vain(VAIN))
    {
        let group = &mut sync_history.groups[warp.index as usize / GROUP_WARPS];
        let Some((source, other)) = group.missed_by(warp.index) else {
            continue;
        };
        let actor = Actor { warp: other, ..warp.actor(source, FULL, TOGETHER) };
        let elsewhere = warp.whereabouts(warp.live);
        warp.note(FindingKind::PartialWarpGroup, actor, elsewhere, || {
            format!("warp {} of the warp group waits elsewhere", warp.index)
        });
    }
    // SAFETY: as above.
    left(unsafe { &*state }, warps, false);
}

/// The registers that threads of a kernel start with, as ptxas gives them for these limits: `.maxnreg`, or as many as fit for
/// the threads of a block and the blocks of a multiprocessor.
pub(crate) fn register_cap(limit: Option<u32>, threads: Option<u32>, blocks: u32) -> Option<u32> {
    let fit = threads.map(|threads| {
        let threads = threads.next_multiple_of(LANES as u32).saturating_mul(blocks.max(1)).max(1);
        (REGISTERS / threads).min(256)
    });
    limit.or(fit).map(|registers| registers / 8 * 8)
}
