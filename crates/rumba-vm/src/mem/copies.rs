//! Asynchronous copies that were begun and have not arrived: `cp.async`, `cp.async.bulk`, tensor copies and reductions.
//!
//! A copy may arrive at any time up to the wait for it. The machine lets it arrive as late as possible, so that a
//! program that forgets to wait reads the old contents: copies of groups arrive in `wait_group`, copies that an
//! mbarrier tracks when a thread tests the mbarrier. `cp.async.mbarrier.arrive` is different: it lets the thread's
//! copies and the arrival happen at once, since both the mbarrier and a later `wait_group` may wait for them.
//!
//! Addresses are checked when a copy is begun.

use crate::base::lanes::{LANES, lanes_of};
use crate::mem::atomic::Element;
use crate::mem::tensor::{Reduction, TensorCopy};

/// A copy. The memory at both ends stays mapped as long as the launch runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Bytes that are copied, and bytes behind them that become zero.
    pub(crate) bytes: u32,
    pub(crate) zeros: u32,
    /// The mask of the bytes written in each 16 bytes.
    pub(crate) mask: u16,
}

impl Copy {
    /// A copy of all bytes.
    pub(crate) fn whole(from: u64, to: u64, bytes: u32) -> Self {
        Self { from, to, bytes, zeros: 0, mask: u16::MAX }
    }

    /// Performs the copy.
    ///
    /// # Safety
    /// The addresses passed the access check in this launch.
    pub(crate) unsafe fn arrive(self) {
        let (from, to, bytes) = (self.from, self.to, u64::from(self.bytes));
        // SAFETY: as the caller promises. Every access is atomic: a race is the kernel's own, and yields old or new bytes.
        unsafe {
            if self.mask == u16::MAX {
                crate::mem::atomic::copy(from, to, bytes);
            } else {
                for byte in (0..bytes).filter(|byte| self.mask >> (byte % 16) & 1 != 0) {
                    u8::write(to + byte, u8::read(from + byte));
                }
            }
            for zero in 0..u64::from(self.zeros) {
                u8::write(to + bytes + zero, 0);
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Pending {
    lane: usize,
    group: u32,
    delivery: Delivery,
}

/// The copies of a warp's lanes that come in groups.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Groups that each lane has committed: the number of the open one.
    committed: [u32; LANES],
    /// In the order in which they were begun.
    pending: Vec<Pending>,
    /// Operations whose completion must be reported to their lanes: lane, group, number.
    told: Vec<(usize, u32, u32)>,
    /// Whether any copy was begun since the last clear.
    used: bool,
}

impl Groups {
    pub(crate) fn new() -> Self {
        Self { committed: [0; LANES], pending: Vec::new(), told: Vec::new(), used: false }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.used) {
            self.committed = [0; LANES];
            self.pending.clear();
            self.told.clear();
        }
    }

    /// Whether no copy is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The lanes whose copies are under way.
    pub(crate) fn lanes_under_way(&self) -> u32 {
        self.pending.iter().fold(0, |lanes, pending| lanes | 1 << pending.lane)
    }

    /// Whether a lane's copy to a host address is under way.
    pub(crate) fn holds(&self, lane: usize, to: u64) -> bool {
        self.pending.iter().any(|pending| pending.lane == lane && pending.delivery.target() == to)
    }

    /// Begins a copy in the lane's open group.
    pub(crate) fn begin(&mut self, lane: usize, delivery: Delivery) {
        self.used = true;
        let group = self.committed[lane];
        self.pending.push(Pending { lane, group, delivery });
    }

    /// Registers an operation's number, to be reported when the lane's open group is over.
    pub(crate) fn follow(&mut self, lane: usize, number: u32) {
        self.used = true;
        self.told.push((lane, self.committed[lane], number));
    }

    /// The numbers of what is over when lanes have waited for all groups but the last `but`. Unless it is only known that the
    /// sources were read, they are not given again.
    pub(crate) fn over(&mut self, mask: u32, but: u32, only_reads: bool) -> Vec<(usize, u32)> {
        let committed = self.committed;
        let is_over = |(lane, group, _): &(usize, u32, u32)| {
            mask >> lane & 1 != 0 && *group < committed[*lane].saturating_sub(but)
        };
        let over = self.told.iter().filter(|told| is_over(told));
        let over = over.map(|(lane, _, number)| (*lane, *number)).collect();
        if !only_reads {
            self.told.retain(|told| !is_over(told));
        }
        over
    }

    /// Closes the open groups of lanes.
    pub(crate) fn commit(&mut self, mask: u32) {
        self.used = true;
        for lane in lanes_of(mask) {
            self.committed[lane] += 1;
        }
    }

    /// Lets all groups of the lanes arrive but the last `but` that were closed, and the open one.
    ///
    /// # Safety
    /// As for [`Copy::arrive`].
    pub(crate) unsafe fn wait(&mut self, mask: u32, but: u32) {
        let committed = self.committed;
        let due = |pending: &Pending| pending.group < committed[pending.lane].saturating_sub(but);
        // SAFETY: as the caller promises.
        unsafe { self.arrive(mask, due) };
    }

    /// Lets all copies of the lanes arrive.
    ///
    /// # Safety
    /// As for [`Copy::arrive`].
    pub(crate) unsafe fn wait_all(&mut self, mask: u32) {
        // SAFETY: as the caller promises.
        unsafe { self.arrive(mask, |_| true) };
    }

    unsafe fn arrive(&mut self, mask: u32, due: impl Fn(&Pending) -> bool) {
        self.pending.retain(|pending| {
            let now = mask >> pending.lane & 1 != 0 && due(pending);
            if now {
                // SAFETY: as the caller promises.
                unsafe { pending.delivery.arrive() };
            }
            !now
        });
    }
}

/// A transaction that an mbarrier tracks by its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Tracked {
    /// The host address of the mbarrier.
    pub(crate) barrier: u64,
    /// Its number in the explored order.
    pub(crate) number: u32,
    pub(crate) delivery: Delivery,
    /// Its number for the checks.
    pub(crate) operation: u32,
}

/// Elements that a bulk reduction combines with the elements in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduce {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Bytes of all elements, and of one element.
    pub(crate) bytes: u32,
    pub(crate) unit: u32,
    pub(crate) reduction: Reduction,
}

/// The kinds of delivered data.
#[derive(Debug, Clone)]
pub(crate) enum Delivery {
    Copy(Copy),
    Reduce(Reduce),
    Tensor(Box<TensorCopy>),
    /// Sixteen bytes given as values, not from memory.
    Value {
        to: u64,
        bits: u128,
    },
}

impl Delivery {
    /// Bytes that it brings.
    pub(crate) fn bytes(&self) -> u32 {
        match self {
            Self::Copy(copy) => copy.bytes,
            Self::Reduce(reduce) => reduce.bytes,
            Self::Tensor(tensor) => tensor.bytes() as u32,
            Self::Value { .. } => 16,
        }
    }

    /// A host address that it goes to; of a tensor the one in shared memory, which it goes to or comes from.
    fn target(&self) -> u64 {
        match self {
            Self::Copy(copy) => copy.to,
            Self::Reduce(reduce) => reduce.to,
            Self::Tensor(tensor) => tensor.shared,
            Self::Value { to, .. } => *to,
        }
    }

    /// Where in shared memory the byte comes from that a copy to global memory writes to an address, if it writes one.
    pub(crate) fn source_of(&self, address: u64) -> Option<u64> {
        match self {
            Self::Copy(copy) => {
                let offset = address.wrapping_sub(copy.to);
                let is_written = offset < u64::from(copy.bytes) && copy.mask >> (offset % 16) & 1 != 0;
                is_written.then(|| copy.from + offset)
            }
            Self::Tensor(tensor) => tensor.source_of(address),
            Self::Reduce(_) | Self::Value { .. } => None,
        }
    }

    /// Writes the data to memory.
    ///
    /// # Safety
    /// As for [`Copy::arrive`].
    pub(crate) unsafe fn arrive(&self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Self::Copy(copy) => copy.arrive(),
                Self::Reduce(reduce) => {
                    for offset in (0..u64::from(reduce.bytes)).step_by(reduce.unit as usize) {
                        (reduce.reduction)(reduce.to + offset, reduce.from + offset);
                    }
                }
                Self::Tensor(tensor) => tensor.run(),
                Self::Value { to, bits } => (*to as *mut u128).write_unaligned(*bits),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_arrive_in_order_and_lane_by_lane() {
        let (mut source, mut target) = ([1u8, 2, 3, 4], [9u8; 4]);
        let (from, to) = (source.as_mut_ptr() as u64, (&raw mut target).cast::<u8>() as u64);
        // SAFETY: the array is alive.
        let seen = || unsafe { (to as *const [u8; 4]).read() };
        let mut groups = Groups::new();
        for index in 0..3 {
            groups.begin(0, Delivery::Copy(Copy::whole(from + index, to + index, 1)));
            groups.commit(1);
        }
        groups.begin(1, Delivery::Copy(Copy::whole(from + 3, to + 3, 1)));
        // SAFETY: the arrays are alive.
        unsafe { groups.wait(0b11, 1) };
        assert_eq!(seen(), [1, 2, 9, 9]);
        // SAFETY: as above.
        unsafe { groups.wait(0b11, 0) };
        assert_eq!(seen(), [1, 2, 3, 9]);
        // SAFETY: as above.
        unsafe { groups.wait_all(0b10) };
        assert_eq!(seen(), [1, 2, 3, 4]);
        assert!(groups.is_empty());
    }
}
