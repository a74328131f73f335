//! Memory of `cp.async` that is under way: it is accessed in the generic proxy, and the thread itself waits. Other asynchronous
//! operations are told of in [`crate::check::agent`].

use std::ops::{Range, RangeInclusive};

use rustc_hash::FxHashMap;

use crate::check::notes::Actor;

/// A copy that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) actor: Actor,
    pub(crate) lane: usize,
    /// Host addresses.
    pub(crate) to: Range<u64>,
    pub(crate) from: Range<u64>,
}

impl Flight {
    /// Whether an access of this memory meets the copy: any access meets its destination, and a store its source.
    fn meets(&self, accessed: &Range<u64>, stores: bool) -> bool {
        overlap(accessed, &self.to) || stores && overlap(accessed, &self.from)
    }

    /// Which end of the copy an access meets, and the bytes there.
    pub(crate) fn end_met_by(&self, accessed: &Range<u64>) -> (&'static str, u64) {
        let (end, range) = if overlap(accessed, &self.to) { ("destination", &self.to) } else { ("source", &self.from) };
        (end, range.end - range.start)
    }
}

/// Whether two ranges have a byte in common.
fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// The copies of a block that are under way.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    all: Vec<Flight>,
    /// Their number, where native code finds it.
    pub(crate) count: u64,
    destinations: Units,
    sources: Units,
}

impl Flights {
    pub(crate) fn push(&mut self, flight: Flight) {
        self.destinations.add(&flight.to);
        self.sources.add(&flight.from);
        self.all.push(flight);
        self.count = self.all.len() as u64;
    }

    pub(crate) fn retain(&mut self, is_under_way: impl Fn(&Flight) -> bool) {
        self.all.retain(|flight| {
            let stays = is_under_way(flight);
            if !stays {
                self.destinations.remove(&flight.to);
                self.sources.remove(&flight.from);
            }
            stays
        });
        self.count = self.all.len() as u64;
    }

    /// The first copy that an access of this memory meets.
    pub(crate) fn met_by(&self, accessed: &Range<u64>, stores: bool) -> Option<&Flight> {
        let may_meet = self.destinations.have(accessed) || stores && self.sources.have(accessed);
        if !may_meet {
            return None;
        }
        self.all.iter().find(|flight| flight.meets(accessed, stores))
    }
}

/// How many copies have some of each unit of memory, which is as long and as aligned as the longest copy. A block has thousands of copies
/// under way, and nearly no access meets one.
#[derive(Debug, Default)]
struct Units(FxHashMap<u64, u32>);

impl Units {
    /// The units of memory that is not empty.
    fn of(range: &Range<u64>) -> RangeInclusive<u64> {
        range.start / 16..=range.end.saturating_sub(1) / 16
    }

    fn add(&mut self, range: &Range<u64>) {
        for unit in Self::of(range) {
            *self.0.entry(unit).or_default() += 1;
        }
    }

    fn remove(&mut self, range: &Range<u64>) {
        for unit in Self::of(range) {
            if let Some(count) = self.0.get_mut(&unit) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&unit);
                }
            }
        }
    }

    fn have(&self, range: &Range<u64>) -> bool {
        Self::of(range).any(|unit| self.0.contains_key(&unit))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{Flight, Flights};
    use crate::check::notes::Actor;

    fn flight(lane: usize, to: Range<u64>, from: Range<u64>) -> Flight {
        let actor = Actor { block: [0; 3], warp: 0, lanes: 1 << lane, source: 0, what: "copy" };
        Flight { actor, lane, to, from }
    }

    /// Copies of 4 bytes that share a unit, one of 16 bytes and one of zeros without a source, and accesses of 1 to 32 bytes.
    #[test]
    fn accesses_meet_copies_that_they_overlap() {
        let copies = [(32..36, 96..100), (36..40, 100..104), (48..64, 128..144), (32..36, 200..200)];
        let mut flights = Flights::default();
        for (lane, (to, from)) in copies.iter().enumerate() {
            flights.push(flight(lane, to.clone(), from.clone()));
        }
        for landed in 0..=copies.len() {
            flights.retain(|flight| flight.lane >= landed);
            assert_eq!(flights.count as usize, copies.len() - landed);
            for (start, bytes, stores) in (0..224)
                .flat_map(|start| [1, 4, 16, 32].map(|bytes| [(start, bytes, false), (start, bytes, true)]))
                .flatten()
            {
                let accessed = start..start + bytes;
                let met = flights.met_by(&accessed, stores).map(|flight| flight.lane);
                let expected = copies.iter().enumerate().skip(landed).find(|(_, (to, from))| {
                    accessed.clone().any(|byte| to.contains(&byte) || stores && from.contains(&byte))
                });
                assert_eq!(met, expected.map(|(lane, _)| lane), "{accessed:?}, stores: {stores}, {landed} landed");
            }
        }
    }
}
