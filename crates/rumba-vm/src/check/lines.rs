//! The last accesses to a line of memory, as long as warps access it in rows: a row for each access instead of a record for each
//! of its cells.
//!
//! A line has few rows, and compares only what is surely in order. For everything else the line is *split*: its rows become
//! records of the cells ([`crate::check::cells`]), where accesses are compared from then on.

use crate::check::record::View;
use crate::check::row::Row;

/// Lists of a line, as those of a cell.
const WRITES: usize = 0;
const READS: usize = 1;

/// Most rows of each list.
const MOST: usize = 2;

/// The accesses to a line.
#[repr(C, align(128))]
pub(super) struct Line {
    /// The number of the launch that the contents belong to.
    generation: u16,
    /// Whether the cells have the accesses.
    is_split: bool,
    /// Lengths of both lists: of accesses that write, and of accesses that only read.
    lengths: [u8; 2],
    /// The first row of each list, then the second one.
    rows: [[Row; 2]; MOST],
}

impl Line {
    /// The line in a launch, which nothing has accessed before the first look.
    #[inline(always)]
    pub(super) fn of_launch(&mut self, generation: u16) -> &mut Self {
        if self.generation != generation {
            (self.generation, self.is_split, self.lengths) = (generation, false, [0; 2]);
        }
        self
    }

    pub(super) fn is_split(&self) -> bool {
        self.is_split
    }

    /// Forgets all accesses; returns whether the cells have had them.
    pub(super) fn forget(&mut self) -> bool {
        self.lengths = [0; 2];
        std::mem::take(&mut self.is_split)
    }

    /// Leaves the accesses to the cells: returns those so far, the ones that write first.
    pub(super) fn split(&mut self) -> impl Iterator<Item = Row> + use<> {
        self.is_split = true;
        let (rows, lengths) = (self.rows, std::mem::take(&mut self.lengths));
        [WRITES, READS].into_iter().flat_map(move |list| (0..usize::from(lengths[list])).map(move |at| rows[at][list]))
    }

    /// Remembers an access, unless something about it is not plain: the line has to be split then. `forgets` says of each list
    /// whether accesses that all threads of the block know of need not be kept.
    #[inline(always)]
    pub(super) fn put(&mut self, mine: Row, view: &View<'_>, forgets: [bool; 2]) -> bool {
        if self.is_split {
            return false;
        }
        let list = usize::from(mine.is_read());
        let only = match self.lengths {
            [0, 0] => {
                self.rows[0][list] = mine;
                self.lengths[list] = 1;
                return true;
            }
            [1, 0] => Some(WRITES),
            [0, 1] => Some(READS),
            _ => None,
        };
        // Mostly an access goes on with the only row, or supersedes the row.
        if let Some(only) = only {
            let row = &mut self.rows[0][only];
            if row.words & mine.words == 0 {
                if only == list && row.merge(&mine) {
                    return true;
                }
            } else if (list == WRITES || only == READS) && mine.supersedes(row, view) {
                self.rows[0][list] = mine;
                self.lengths = [u8::from(list == WRITES), u8::from(list == READS)];
                return true;
            }
        }
        // A copy, so that the row of the usual case is in registers.
        let row = mine;
        self.put_beside(list, &row, view, forgets)
    }

    #[inline(never)]
    fn put_beside(&mut self, list: usize, mine: &Row, view: &View<'_>, forgets: [bool; 2]) -> bool {
        let words = [WRITES, READS].map(|list| self.list(list).fold(0, |words, row| words | row.words));
        if (words[WRITES] | words[READS]) & mine.words != 0 && !self.compare(list, mine, view) {
            return false;
        }
        if self.list(list).any(|row| row.merge(mine)) {
            return true;
        }
        if usize::from(self.lengths[list]) == MOST && forgets[list] {
            self.cover(list, |row| {
                if row.is_known(mine.block, view) {
                    row.words = 0;
                }
            });
        }
        let length = usize::from(self.lengths[list]);
        if length == MOST {
            return false;
        }
        self.rows[length][list] = *mine;
        self.lengths[list] += 1;
        true
    }

    /// Compares an access with rows of the same words, and drops the words that it covers; returns whether all rows are in order.
    fn compare(&mut self, list: usize, mine: &Row, view: &View<'_>) -> bool {
        let lists = if list == READS { &[WRITES][..] } else { &[WRITES, READS] };
        for of in lists {
            let conflicts = |row: &Row| {
                row.words & mine.words != 0
                    && (row.is_non_coherent() || mine.is_non_coherent() || !mine.follows(row, view))
            };
            if self.list(*of).any(|row| conflicts(row)) {
                return false;
            }
        }
        if list == WRITES {
            self.cover(WRITES, |row| row.words &= !mine.words);
            self.cover(READS, |row| row.words &= !mine.words);
        } else {
            self.cover(READS, |row| {
                let is_same = row.is_non_coherent() == mine.is_non_coherent();
                if is_same && row.words & !mine.words == 0 && mine.follows(row, view) {
                    row.words = 0;
                }
            });
        }
        true
    }

    fn list(&mut self, list: usize) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut().take(self.lengths[list].into()).map(move |rows| &mut rows[list])
    }

    /// Changes the rows of a list, and drops those that have no words left.
    fn cover(&mut self, list: usize, mut change: impl FnMut(&mut Row)) {
        let mut kept = 0;
        for at in 0..usize::from(self.lengths[list]) {
            let mut row = self.rows[at][list];
            change(&mut row);
            if row.words != 0 {
                self.rows[kept][list] = row;
                kept += 1;
            }
        }
        self.lengths[list] = kept as u8;
    }
}
