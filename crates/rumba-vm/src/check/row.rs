//! Accesses in rows: lanes of a warp, one behind the other, each of which accesses whole words at a fixed distance from those
//! of the lane before. A row is the part of such an access in one line.
//!
//! [`crate::check::lines`] keeps the rows.

use smallvec::SmallVec;

use crate::base::lanes::{FULL, GROUP, GROUPS, LANES, lanes_of, mask_of};
use crate::check::reads::GroupAccess;
use crate::check::record::{CELL, Record, View, WORD, WORDS, bytes_of};

/// Bytes of a line.
pub(super) const LINE: u64 = 128;

/// Words of a line.
const LINE_WORDS: i64 = LINE as i64 / WORD as i64;

/// The most words from one lane to the next.
const MOST_PERIOD: usize = 8;

/// By period, for a number of words less than 32: the remainder.
const REMAINDERS: [[u8; LINE_WORDS as usize]; MOST_PERIOD + 1] = {
    let mut table = [[0; LINE_WORDS as usize]; MOST_PERIOD + 1];
    let mut period = 1;
    while period <= MOST_PERIOD {
        let mut words = 0;
        while words < LINE_WORDS as usize {
            table[period][words] = (words % period) as u8;
            words += 1;
        }
        period += 1;
    }
    table
};

/// By period: what adds to the number of a line's first field for that of the next line, but for whole periods.
const NEXT_FIELDS: [usize; MOST_PERIOD + 1] = {
    let mut table = [0; MOST_PERIOD + 1];
    let mut period = 1;
    while period <= MOST_PERIOD {
        table[period] = (period - LINE_WORDS as usize % period) % period;
        period += 1;
    }
    table
};

/// By period: the first of each period of words, as bits.
const FIRST_WORDS: [u32; MOST_PERIOD + 1] = {
    let mut table = [0; MOST_PERIOD + 1];
    let mut period = 1;
    while period <= MOST_PERIOD {
        let mut word = 0;
        while word < LINE_WORDS as usize {
            table[period] |= 1 << word;
            word += period;
        }
        period += 1;
    }
    table
};

/// An access by lanes of a warp in a row to words of a line.
///
/// A lane accesses one or several of the words of its period, its *fields*, counted from the start of the line. Word `w` belongs
/// to lane `(w + offset) / period`. Accesses to some fields alone leave open where the periods begin: the offset is one of a range.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Row {
    pub(super) block: u32,
    epoch: u32,
    /// The first of its instructions, which follow each other closely.
    source: u32,
    /// The mask of words in the line.
    pub(super) words: u32,
    /// Four bits for each field: how far behind `source` its instruction is.
    behind: u32,
    /// The least offset.
    offset: i16,
    /// How much more the offset may be.
    slack: u8,
    period: u8,
    /// The mask of fields.
    fields: u8,
    warp: u8,
    /// As those of [`Record`].
    flags: u8,
    width: u8,
}

impl Row {
    /// A row of no words, of lanes that access so many bytes with a stride. `record` is without lanes and bytes.
    #[inline(always)]
    fn new(record: &Record, bytes: u32, stride: u32) -> Self {
        let (flags, width) = record.flags();
        let period = (stride / WORD) as u8;
        Self {
            block: record.block,
            epoch: record.epoch,
            source: record.source,
            words: 0,
            behind: 0,
            offset: 0,
            slack: period - (bytes / WORD) as u8,
            period,
            fields: 0,
            warp: record.warp,
            flags,
            width,
        }
    }

    /// The rows of lanes whose accesses begin at an address, given the first lane and their number; of these, some lanes make the access.
    #[inline(always)]
    fn of_run(self, lanes: u32, start: u64, (first, count): (usize, usize)) -> Rows {
        let (period, own) = (u32::from(self.period), u32::from(self.period - self.slack));
        let line = start / LINE * LINE;
        let word = ((start - line) / u64::from(WORD)) as i64;
        Rows {
            row: self,
            lanes,
            words: ((1u32 << own) - 1).wrapping_mul(FIRST_WORDS[period as usize]),
            fields: (1u32 << own) - 1,
            offset: first as i64 * i64::from(period),
            line,
            end: start + u64::from(WORD) * u64::from(period * (count as u32 - 1) + own),
            word,
            field: u32::from(REMAINDERS[period as usize][word as usize]),
        }
    }

    /// The access, without lanes and bytes.
    #[inline(always)]
    fn access(&self) -> Record {
        Record::of_flags((self.block, self.warp, self.epoch), self.source, (self.flags, self.width))
    }

    #[inline(always)]
    pub(super) fn is_read(&self) -> bool {
        self.access().is_read()
    }

    #[inline(always)]
    pub(super) fn is_non_coherent(&self) -> bool {
        self.access().is_non_coherent()
    }

    /// Whether an earlier access to the same words is ordered before this one: all threads of the block or of the warp know of it,
    /// or each word is accessed by the same thread.
    #[inline(always)]
    pub(super) fn follows(&self, earlier: &Self, view: &View<'_>) -> bool {
        self.block == earlier.block
            && (earlier.epoch <= view.block
                || self.warp == earlier.warp && (earlier.epoch <= view.warp || self.agrees(earlier)))
    }

    /// Whether an earlier access need not be kept: this access follows the earlier one, and has all of its words, so that a later access
    /// which races with the earlier one races with this one, too. Non-coherent loads are kept: all writes are compared with them.
    #[inline(always)]
    pub(super) fn supersedes(&self, earlier: &Self, view: &View<'_>) -> bool {
        let is_covered = earlier.words & !self.words == 0;
        is_covered && !self.is_non_coherent() && !earlier.is_non_coherent() && self.follows(earlier, view)
    }

    /// Whether all threads of the block know of it.
    #[inline(always)]
    pub(super) fn is_known(&self, block: u32, view: &View<'_>) -> bool {
        self.block == block && self.epoch <= view.block
    }

    /// Whether words belong to the same lanes here and there.
    #[inline(always)]
    fn agrees(&self, other: &Self) -> bool {
        let range = |row: &Self| (row.offset, row.offset + i16::from(row.slack));
        let ((low, high), (least, most)) = (range(self), range(other));
        self.period == other.period && low <= most && least <= high
    }

    /// Takes in another access of the warp to other words, in the same epoch, if its instruction is close behind.
    #[inline(always)]
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let behind = other.source.wrapping_sub(self.source);
        let is_same = (self.block, self.epoch, self.warp, self.flags, self.width)
            == (other.block, other.epoch, other.warp, other.flags, other.width);
        if !is_same || behind >= WORDS as u32 || self.words & other.words != 0 || !self.agrees(other) {
            return false;
        }
        if self.fields & other.fields == 0 {
            self.behind |= (behind * 0x1111_1111) & bytes_of(other.fields.into());
        } else if behind != 0 || self.behind != 0 {
            return false;
        }
        let most = (self.offset + i16::from(self.slack)).min(other.offset + i16::from(other.slack));
        self.offset = self.offset.max(other.offset);
        self.slack = (most - self.offset) as u8;
        self.words |= other.words;
        self.fields |= other.fields;
        true
    }

    /// The records of the cells of its line, with the numbers of these cells in the line.
    pub(super) fn records(&self) -> impl Iterator<Item = (u64, Record)> {
        let row = *self;
        (0..LINE / CELL).filter_map(move |cell| {
            let first = cell as usize * WORDS;
            let words = row.words >> first & 0xff;
            (words != 0).then(|| (cell, row.access().by_word(bytes_of(words), row.table(first))))
        })
    }

    /// The words of the line that may belong to lanes of a mask.
    fn words_of(&self, lanes: u32) -> u32 {
        if self.period == 1 {
            let distance = u32::from(self.offset.unsigned_abs());
            let words = if self.offset < 0 { lanes.checked_shl(distance) } else { lanes.checked_shr(distance) };
            return words.unwrap_or(0);
        }
        let first = |lane: usize| lane as i64 * i64::from(self.period) - i64::from(self.offset);
        // The least offset: words before the first one of a lane belong to no other lane.
        let all = (1u64 << self.period) - 1;
        lanes_of(lanes)
            .map(first)
            .filter(|word| (-31..LINE_WORDS).contains(word))
            .fold(0, |words, word| words | if word < 0 { all >> -word } else { all << word } as u32)
    }

    /// The lanes of eight words, a byte for each, with how far behind each instruction is, as [`Record`] has them.
    fn table(&self, first: usize) -> u64 {
        let period = usize::from(self.period);
        let lane = |word: usize| (word as i64 + i64::from(self.offset)).max(0) as usize / period % LANES;
        let behind = |word: usize| self.behind as usize >> (4 * (word % period)) & 7;
        let byte = |at: usize| (lane(first + at) | behind(first + at) << 5) as u64;
        (0..WORDS).fold(0, |table, at| table | byte(at) << (8 * at))
    }
}

/// The rows of lanes that follow each other, with the lines in which the rows are. A row may have no words.
///
/// Rows are values, as the iterator is: a row that is read from memory as a whole waits for its fields, which were written one by one.
pub(super) struct Rows {
    /// The row, without what differs from line to line.
    row: Row,
    /// The lanes that make the access.
    lanes: u32,
    /// The words of a line whose first word is the first one of a lane.
    words: u32,
    /// The fields of a lane, if its first word is field 0.
    fields: u32,
    /// The offset of a line that begins with the word of the first lane.
    offset: i64,
    line: u64,
    /// Where the last lane's access ends.
    end: u64,
    /// The first lane's word, counted from the start of the line, and its field.
    word: i64,
    field: u32,
}

impl Iterator for Rows {
    type Item = (u64, Row);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Row)> {
        let Self { line, word, field, .. } = *self;
        if line >= self.end {
            return None;
        }
        let period = u32::from(self.row.period);
        let beyond = LINE_WORDS - (((self.end - line) / u64::from(WORD)) as i64).min(LINE_WORDS);
        // The words of a lane may reach into the next period of the line.
        let all = self.words << field | self.words >> (period - field);
        let fields = self.fields << field;
        let mut row = Row {
            words: all & u32::MAX << word.max(0) & u32::MAX >> beyond,
            offset: (self.offset - word) as i16,
            fields: (fields | fields >> period) as u8 & (u32::MAX >> (32 - period)) as u8,
            ..self.row
        };
        if self.lanes != FULL {
            row.words &= row.words_of(self.lanes);
        }
        (self.line, self.word) = (line + LINE, word - LINE_WORDS);
        let next = field as usize + NEXT_FIELDS[period as usize];
        self.field = u32::from(REMAINDERS[period as usize][next]);
        Some((line, row))
    }
}

impl GroupAccess {
    /// Whether lanes of each group access whole words in a row.
    #[inline(always)]
    pub(super) fn is_in_rows(&self) -> bool {
        (self.bytes | self.stride).is_multiple_of(WORD)
            && self.bytes <= self.stride
            && self.bytes != 0
            && self.stride as usize <= MOST_PERIOD * WORD as usize
            && self.hosts.iter().all(|host| host.is_multiple_of(u64::from(WORD)))
    }

    /// The rows of each run of lanes. The access is in rows.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = Rows> {
        let group_bytes = u64::from(self.stride) * GROUP as u64;
        let row = Row::new(&self.record, self.bytes, self.stride);
        let mut group = 0;
        std::iter::from_fn(move || {
            let first = group;
            let start = *self.hosts.get(first)?;
            group += 1;
            while group < GROUPS && self.hosts[group] == start + group_bytes * (group - first) as u64 {
                group += 1;
            }
            Some(row.of_run(self.lanes, start, (first * GROUP, (group - first) * GROUP)))
        })
    }
}

/// Accesses of lanes whose bytes lie one behind the other in runs of several lanes.
pub(super) struct Runs {
    row: Row,
    /// The host address, the first lane and the number of lanes of each run.
    runs: SmallVec<[(u64, usize, usize); MOST_RUNS]>,
}

/// The most runs: each of as many lanes as make rows shorter than records of cells.
const MOST_RUNS: usize = LANES / 4;

impl Runs {
    /// The runs of lanes at these addresses, each of so many bytes. `record` is without lanes and bytes.
    pub(super) fn of_lanes(record: &Record, bytes: u64, lanes: u32, host: impl Fn(usize) -> u64) -> Option<Self> {
        let first = lanes.trailing_zeros() as usize;
        if lanes >> first & 2 == 0 {
            return None;
        }
        let stride = host(first + 1).wrapping_sub(host(first));
        let (word, most) = (u64::from(WORD), MOST_PERIOD as u64 * u64::from(WORD));
        if bytes == 0 || !(bytes | stride).is_multiple_of(word) || !(bytes..=most).contains(&stride) {
            return None;
        }
        let mut runs = SmallVec::new();
        let mut left = lanes;
        while left != 0 {
            let start = left.trailing_zeros() as usize;
            let begin = host(start);
            let goes_on = |lane: &usize| left >> lane & 1 != 0 && host(*lane) == begin + stride * (lane - start) as u64;
            let count = 1 + (start + 1..LANES).take_while(goes_on).count();
            if runs.len() == MOST_RUNS || !begin.is_multiple_of(word) {
                return None;
            }
            runs.push((begin, start, count));
            left &= !(mask_of(count as u32) << start);
        }
        Some(Self { row: Row::new(record, bytes as u32, stride as u32), runs })
    }

    /// The rows of each run.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = Rows> {
        self.runs.iter().map(|(start, first, count)| self.row.of_run(FULL, *start, (*first, *count)))
    }
}
