//! Accesses of the lanes of a warp, put together into as few records as their addresses allow: one for each cell, by word or
//! by the set of lanes.

use crate::base::lanes::lanes_of;
use crate::check::cells::Cells;
use crate::check::record::{CELL, Conflict, Record, View, words_of};

/// 1 in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// The parts of a range in each cell: an address in the cell, and the range's bytes in the cell. The address of the
/// first part is also that of its cell.
#[inline(always)]
pub(super) fn parts(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u32)> {
    let end = start + bytes.max(1);
    let mut next = start / CELL * CELL;
    std::iter::from_fn(move || {
        (next < end).then(|| {
            let cell = next;
            next += CELL;
            let first = start.saturating_sub(cell) as u32;
            let beyond = next.saturating_sub(end) as u32;
            (cell, u32::MAX << first & u32::MAX >> beyond)
        })
    })
}

/// Accesses of lanes to one cell that make one record.
#[derive(Default)]
struct Batch {
    cell: u64,
    bytes: u32,
    /// The lanes, if all access the same bytes.
    lanes: u32,
    /// Otherwise the lanes by word, and the words that have a lane.
    table: u64,
    words: u32,
}

impl Batch {
    /// Adds an access of a lane, unless that makes another record.
    #[inline(always)]
    fn add(&mut self, cell: u64, bytes: u32, lane: usize, may_share: bool) -> bool {
        if self.bytes == 0 {
            (self.cell, self.bytes, self.lanes) = (cell, bytes, 1 << lane);
            return true;
        }
        if self.cell != cell {
            return false;
        }
        if self.bytes == bytes && self.words == 0 {
            self.lanes |= u32::from(may_share) << lane;
            return may_share;
        }
        if self.words == 0 {
            if !self.lanes.is_power_of_two() {
                return false;
            }
            self.by_word(self.bytes, self.lanes.trailing_zeros() as usize);
        }
        let words = words_of(bytes);
        if words & self.words != 0 {
            // Two lanes access the same word, but not the same bytes: the access makes a record of its own.
            return false;
        }
        self.by_word(bytes, lane);
        self.bytes |= bytes;
        true
    }

    #[inline(always)]
    fn by_word(&mut self, bytes: u32, lane: usize) {
        let words = words_of(bytes);
        self.words |= words;
        let mut left = words;
        while left != 0 {
            self.table |= (lane as u64) << (8 * left.trailing_zeros());
            left &= left - 1;
        }
    }

    #[inline(always)]
    fn put(&self, record: &Record, view: &View<'_>, cells: &mut Cells, found: &mut Vec<Conflict>) {
        if self.bytes == 0 {
            return;
        }
        let record = if self.words == 0 && self.lanes.is_power_of_two() {
            record.by_word(self.bytes, EACH * u64::from(self.lanes.trailing_zeros()))
        } else if self.words == 0 {
            record.by_set(self.bytes, self.lanes)
        } else {
            record.by_word(self.bytes, self.table)
        };
        cells.put(self.cell, &record, view, found);
    }
}

/// Accesses of so many bytes by lanes that know the same, of each at a host address. Lanes share a record if they may.
pub(super) fn put_lanes(
    cells: &mut Cells,
    (record, view): (&Record, &View<'_>),
    (lanes, bytes, may_share): (u32, u64, bool),
    host: impl Fn(usize) -> u64,
    found: &mut Vec<Conflict>,
) {
    let mut batch = Batch::default();
    let mut add = |start, bytes, lane| {
        if !batch.add(start, bytes, lane, may_share) {
            batch.put(record, view, cells, found);
            batch = Batch::default();
            batch.add(start, bytes, lane, may_share);
        }
    };
    for lane in lanes_of(lanes) {
        let address = host(lane);
        let first = address % CELL;
        if bytes < CELL && first + bytes <= CELL {
            add(address - first, ((1 << bytes) - 1) << first, lane);
        } else {
            parts(address, bytes).for_each(|(start, bytes)| add(start, bytes, lane));
        }
    }
    batch.put(record, view, cells, found);
}
