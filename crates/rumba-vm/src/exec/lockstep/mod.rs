//! Programs for warps whose 32 lanes are all active and execute the same operation.
//!
//! While that lasts, a value that is affine (see [`crate::run::lockstep_analysis`]) is computed once per group of 8 lanes, and an access
//! through such an address is checked and served group by group. A warp that diverges leaves at that operation for the
//! program that every warp can run: what it holds as bases only is written out to all lanes. It comes back at the start of
//! a block where its lanes have met again, if the values are found to be affine there. So nothing rests on the analysis
//! alone: it says what to look for, and a warp in lockstep has been looked at.
//!
//! `run::lockstep_analysis` finds the affine values of a program, `run::lockstep_build` writes the program, `handlers` and
//! `access` are the operations that only such programs have. Which instruction can do what is not known here; its kind says so.

pub(crate) mod access;
pub(crate) mod handlers;

use crate::base::lanes::{FULL, GROUP, GROUPS, lanes_of};
use crate::exec::lane::Raw;
use crate::machine::op::{Op, Pc};
use crate::machine::program::{Affine, Class, Lockstep, NO_ENTRY};
use crate::machine::warp::Warp;

/// The number of operations in lockstep from which an entry has paid.
const WORTHWHILE: u64 = 512;

/// The number of entries in a row that did not pay beyond which the back-off does not grow.
const MAX_FAILURES: u32 = 10;

impl Warp {
    fn lockstep(&self) -> Option<&'static Lockstep> {
        // SAFETY: the program outlives the launch, and a warp runs within one only; the reference is not kept.
        unsafe { self.tier.lockstep.as_ref() }
    }

    /// Joins the program for lanes in lockstep at `target`, if they are and there is a way in.
    #[inline]
    pub(crate) fn join_lockstep(&mut self, target: Pc) -> Pc {
        if self.tier.lockstep.is_null() || self.active != FULL || !self.frames.is_empty() {
            return target;
        }
        self.gather(target)
    }

    #[cold]
    #[inline(never)]
    fn gather(&mut self, target: Pc) -> Pc {
        let Some(lockstep) = self.lockstep() else { return target };
        let index = (target.as_ptr() as usize).wrapping_sub(lockstep.whole as usize) / size_of::<Op>();
        let entry = lockstep.entry_at.get(index).filter(|entry| **entry != NO_ENTRY);
        let Some(entry) = entry.map(|entry| &lockstep.entries[*entry as usize]) else {
            return target;
        };
        if self.tier.back_off.skips() {
            return target;
        }
        for value in &entry.values {
            // SAFETY: the slot is one of the program's.
            let affine = unsafe {
                match value.class {
                    Class::W32 => gather::<u32>(self, value.slot, value.stride),
                    Class::W64 => gather::<u64>(self, value.slot, value.stride),
                    Class::W128 => false,
                }
            };
            if !affine {
                self.bail_out();
                return target;
            }
        }
        self.tier.in_lockstep_since = self.executed();
        Pc::new(lockstep.ops.as_ptr().wrapping_add(entry.op as usize))
    }

    /// Counts an exit for the back-off.
    fn bail_out(&mut self) {
        let executed = self.executed().saturating_sub(self.tier.in_lockstep_since);
        self.tier.back_off.record(executed > WORTHWHILE, MAX_FAILURES);
    }

    /// Leaves by an exit; the operation there has not been executed.
    #[cold]
    #[inline(never)]
    fn leave_lockstep(&mut self, exit: u32) -> Pc {
        let Some(lockstep) = self.lockstep() else {
            return Pc::STOP;
        };
        let (exit, target) = lockstep.exit(exit);
        self.write_of_block(lockstep);
        self.write_out(&exit.values, self.active);
        // The exit may lie within a guard that all lanes have passed, of which the lockstep program keeps no mask.
        self.outside_guard = self.active;
        self.bail_out();
        target
    }

    /// Where lanes of `mask`, which are not the whole warp, go on that stand at `pc`.
    #[inline]
    pub(crate) fn out_of_lockstep(&mut self, pc: Pc, mask: u32) -> Pc {
        if mask == FULL || self.tier.lockstep.is_null() {
            return pc;
        }
        self.leave_apart(pc, mask)
    }

    #[cold]
    #[inline(never)]
    fn leave_apart(&mut self, pc: Pc, mask: u32) -> Pc {
        let Some(lockstep) = self.lockstep() else { return pc };
        let Some(exit) = lockstep.index(pc).and_then(|index| lockstep.parks.get(&index)) else {
            return pc;
        };
        let (exit, target) = lockstep.exit(*exit);
        self.write_of_block(lockstep);
        self.write_out(&exit.values, mask);
        target
    }

    /// Writes out the values of the block that the launch has given as bases only.
    fn write_of_block(&mut self, lockstep: &Lockstep) {
        if std::mem::take(&mut self.tier.lacks_of_block) {
            for (slot, class) in &lockstep.of_block {
                let (slot, class, stride) = (*slot, *class, 0);
                self.write_out(&[Affine { slot, class, stride }], FULL);
            }
        }
    }

    fn write_out(&self, values: &[Affine], mask: u32) {
        for value in values {
            // SAFETY: the slot is one of the program's and holds an affine value.
            unsafe {
                match value.class {
                    Class::W32 => write_out::<u32>(self, value.slot, value.stride, mask),
                    Class::W64 => write_out::<u64>(self, value.slot, value.stride, mask),
                    Class::W128 => {}
                }
            }
        }
    }
}

/// Writes the bases of a slot if its value is affine with this stride.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program.
unsafe fn gather<T: Raw + PartialEq>(warp: &Warp, slot: u16, stride: i64) -> bool {
    // SAFETY: a slot has 32 lanes and a base for each group.
    let (lanes, bases) = unsafe { (&*warp.lanes::<[[T; GROUP]; GROUPS]>(slot), warp.bases::<T>(slot)) };
    for (index, group) in lanes.iter().enumerate() {
        for (lane, value) in group.iter().enumerate() {
            if *value != group[0].affine_lane(stride, lane) {
                return false;
            }
        }
        // SAFETY: as above.
        unsafe { bases.add(index).write(group[0]) };
    }
    true
}

/// Writes lanes of an affine value.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program, and its bases are good.
unsafe fn write_out<T: Raw>(warp: &Warp, slot: u16, stride: i64, mask: u32) {
    for lane in lanes_of(mask) {
        // SAFETY: a slot has 32 lanes and a base for each group.
        unsafe {
            let base = *warp.bases::<T>(slot).add(lane / GROUP);
            *warp.lanes::<T>(slot).add(lane) = base.affine_lane(stride, lane % GROUP);
        }
    }
}
