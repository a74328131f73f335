//! The last uses of parts of an allocation by streams, from which the order between streams follows.
//!
//! Parts are ranges of bytes and uses are reads or writes, so that streams which work on different parts of one buffer, or
//! only read it, overlap. Nothing here knows the driver; waiting is [`crate::context::queue::Queue`]'s business.
//!
//! The lists of all allocations of a context are behind one lock, since a launch looks at several, and notes its uses and
//! puts itself on its stream without another coming in between.

use qcell::{QCell, QCellOwner, QCellOwnerID};
use smallvec::SmallVec;
use std::ops::Range;

/// An access of some work to an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The bytes, counted from the start of the allocation.
    pub(crate) bytes: Range<u64>,
    pub(crate) writes: bool,
}

/// The right to look at the uses of a context's allocations and to change them. A context has one, behind its lock.
pub(crate) struct Order(QCellOwner);

/// The right to access the uses of an allocation.
#[derive(Clone, Copy)]
pub(crate) struct OrderId(QCellOwnerID);

/// The uses of one allocation that later work may have to wait for.
pub(crate) struct Uses(QCell<List>);

/// An access by a stream, known by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Use {
    queue: u64,
    access: Access,
}

#[derive(Default)]
pub(crate) struct List {
    uses: SmallVec<[Use; 1]>,
}

impl Access {
    pub(crate) fn conflicts(&self, other: &Access) -> bool {
        let both = self.bytes.start.max(other.bytes.start)..self.bytes.end.min(other.bytes.end);
        (self.writes || other.writes) && !both.is_empty()
    }

    /// Whether waiting for this waits for the other, too: both are of one stream, and this is the later one.
    pub(crate) fn covers(&self, other: &Access) -> bool {
        self.bytes.start <= other.bytes.start && other.bytes.end <= self.bytes.end && (self.writes || !other.writes)
    }
}

impl Order {
    pub(crate) fn new() -> Order {
        Order(QCellOwner::new())
    }

    pub(crate) fn id(&self) -> OrderId {
        OrderId(self.0.id())
    }
}

impl Uses {
    /// The list for an allocation in the context of this order.
    pub(crate) fn new(id: OrderId) -> Uses {
        Uses(id.0.cell(List::default()))
    }

    /// The list; `order` is that of the allocation's context.
    pub(crate) fn list<'o>(&'o self, order: &'o mut Order) -> &'o mut List {
        self.0.rw(&mut order.0)
    }
}

impl List {
    /// Parts that are told apart at most.
    const MOST: usize = 64;

    /// Whether the list is true after this use as well, and there is nothing to wait for: the common case.
    #[inline]
    pub(crate) fn knows(&self, queue: u64, access: &Access) -> bool {
        let mut covered = false;
        for earlier in &self.uses {
            if earlier.queue == queue {
                covered |= earlier.access.covers(access);
            } else if earlier.access.conflicts(access) {
                return false;
            }
        }
        covered
    }

    /// The other streams whose uses are in the way of this one, each once.
    pub(crate) fn in_the_way(&self, queue: u64, access: &Access) -> SmallVec<[u64; 4]> {
        // When there are too many parts to remember, the stream waits for all and then stands for them.
        let full = self.uses.len() >= List::MOST;
        let mut queues = SmallVec::new();
        for other in self.uses.iter().filter(|other| other.queue != queue) {
            if (full || other.access.conflicts(access)) && !queues.contains(&other.queue) {
                queues.push(other.queue);
            }
        }
        queues
    }

    /// Notes a use by a stream that waits for all that are [`List::in_the_way`].
    pub(crate) fn note(&mut self, queue: u64, access: Access) {
        if self.uses.len() >= List::MOST {
            let all = self.uses.drain(..).map(|earlier| earlier.access.bytes);
            let bytes = all.fold(access.bytes, |all, bytes| all.start.min(bytes.start)..all.end.max(bytes.end));
            let access = Access { bytes, writes: true };
            self.uses.push(Use { queue, access });
            return;
        }
        let covered = |earlier: &Use| earlier.queue == queue && earlier.access.covers(&access);
        if access.bytes.is_empty() || !access.writes && self.uses.iter().any(covered) {
            return;
        }
        // The earlier uses that the new use replaces: a write replaces all uses of its part, a read replaces its
        // queue's own reads.
        let replaced = |earlier: &Use| access.writes || earlier.queue == queue && !earlier.access.writes;
        let mut uses: SmallVec<[Use; 1]> = SmallVec::new();
        for earlier in self.uses.drain(..) {
            if !replaced(&earlier) {
                uses.push(earlier);
                continue;
            }
            let Range { start, end } = earlier.access.bytes;
            for bytes in [start..end.min(access.bytes.start), start.max(access.bytes.end)..end] {
                if !bytes.is_empty() {
                    let access = Access { bytes, ..earlier.access };
                    uses.push(Use { access, ..earlier });
                }
            }
        }
        // A neighbour of the same kind grows instead.
        let neighbour = uses.iter_mut().find(|earlier| {
            earlier.queue == queue
                && earlier.access.writes == access.writes
                && (earlier.access.bytes.end == access.bytes.start || access.bytes.end == earlier.access.bytes.start)
        });
        match neighbour {
            Some(earlier) => {
                let bytes = &mut earlier.access.bytes;
                *bytes = bytes.start.min(access.bytes.start)..bytes.end.max(access.bytes.end);
            }
            None => uses.push(Use { queue, access }),
        }
        self.uses = uses;
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, List};

    fn read(bytes: std::ops::Range<u64>) -> Access {
        Access { bytes, writes: false }
    }

    fn write(bytes: std::ops::Range<u64>) -> Access {
        Access { bytes, writes: true }
    }

    /// Does it, and says which streams it waited for.
    fn uses(list: &mut List, queue: u64, access: Access) -> Vec<u64> {
        let waited = list.in_the_way(queue, &access).to_vec();
        list.note(queue, access);
        waited
    }

    #[test]
    fn parts_that_do_not_overlap_do_not_wait() {
        let mut list = List::default();
        assert!(uses(&mut list, 1, write(0..10)).is_empty());
        assert!(uses(&mut list, 2, write(10..20)).is_empty());
        assert!(uses(&mut list, 1, write(20..30)).is_empty());
        assert_eq!(uses(&mut list, 3, read(15..25)), [2, 1]);
        // A write of what two streams have read waits for both of them and for no other stream.
        assert_eq!(uses(&mut list, 2, write(15..25)), [1, 3]);
        assert_eq!(uses(&mut list, 4, write(15..25)), [2]);
    }

    #[test]
    fn readers_share() {
        let mut list = List::default();
        uses(&mut list, 1, write(0..100));
        assert_eq!(uses(&mut list, 2, read(0..100)), [1]);
        assert_eq!(uses(&mut list, 3, read(0..100)), [1]);
        assert!(uses(&mut list, 1, read(0..100)).is_empty());
        assert_eq!(uses(&mut list, 1, write(50..60)), [2, 3]);
        assert_eq!(uses(&mut list, 2, read(55..56)), [1]);
        assert_eq!(uses(&mut list, 3, read(0..100)), [1]);
    }

    #[test]
    fn the_same_stream_again_is_known() {
        let mut list = List::default();
        assert!(!list.knows(1, &read(0..8)));
        uses(&mut list, 1, write(0..8));
        assert!(list.knows(1, &read(0..8)) && list.knows(1, &write(2..4)));
        assert!(!list.knows(1, &write(2..9)) && !list.knows(2, &read(0..1)));
        uses(&mut list, 1, write(8..16));
        assert!(list.knows(1, &write(0..16)), "neighbours are one");
    }

    #[test]
    fn a_use_of_nothing_is_none() {
        let mut list = List::default();
        uses(&mut list, 1, write(4..4));
        assert!(uses(&mut list, 2, write(0..8)).is_empty());
    }

    #[test]
    fn many_parts_become_one() {
        let mut list = List::default();
        for part in 0..if cfg!(miri) { 200 } else { 10_000 } {
            list.note(1 + part % 3, write(part * 16..part * 16 + 8));
            assert!(list.uses.len() <= List::MOST);
        }
        let all = Access { bytes: 0..u64::MAX, writes: true };
        assert!(!list.in_the_way(9, &all).is_empty());
    }

    /// Against a list for each byte.
    #[test]
    fn random_uses_wait_for_those_they_must() {
        // Few enough bytes that no list is ever full.
        const BYTES: usize = 12;
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut list = List::default();
        let mut bytes: Vec<Vec<(u64, bool)>> = vec![Vec::new(); BYTES];
        for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
            let (a, b) = (random(BYTES as u64 + 1), random(BYTES as u64 + 1));
            let access = Access { bytes: a.min(b)..a.max(b), writes: random(2) == 0 };
            let queue = 1 + random(4);
            let mut must = Vec::new();
            for uses in &mut bytes[access.bytes.start as usize..access.bytes.end as usize] {
                let others = uses.iter().filter(|other| other.0 != queue && (other.1 || access.writes));
                must.extend(others.map(|other| other.0));
                if access.writes {
                    uses.clear();
                }
                uses.push((queue, access.writes));
            }
            must.sort_unstable();
            must.dedup();
            let mut waited = list.in_the_way(queue, &access).to_vec();
            waited.sort_unstable();
            if list.knows(queue, &access) {
                assert!(waited.is_empty());
            } else {
                list.note(queue, access);
            }
            assert_eq!(waited, must);
        }
    }
}
