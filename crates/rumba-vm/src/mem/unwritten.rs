//! The map of undefined bytes, by which reads of them are found. A byte is undefined if nothing was written to it since
//! the memory was handed out, or if the last value written was undefined (see [`crate::load::instrument::registers`]).
//!
//! A bit for each byte of the windows for shared memory, stacks and heap lies at a fixed place, so that workers look and
//! write side by side. Memory that was never entered here counts as written: module variables, the parameters, the
//! host's own.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::mem::shadow::Shadow;

/// Bytes of a word of the map.
const WORD: u64 = 64;

/// The least number of consecutive unwritten bytes of a read that is reported (all bytes of a shorter read). The
/// padding of a structure is copied with its fields, and is no mistake.
const LEAST: u64 = 8;

/// Bytes of a structure that may be copied by itself, and then have any padding.
const STRUCTURE: u64 = 256;

/// Gaps of which one is found again in the next element of a copy, if they lie between fields.
const MOST_GAPS: usize = 16;

/// The largest number of words whose origin is remembered.
const ORIGINS: usize = 1 << 12;

/// Where native code finds the bits of undefined bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct UnwrittenBits {
    /// The address of the bits of the eight bytes from `start` on.
    pub(crate) bits: *const u8,
    pub(crate) start: u64,
    /// How far behind `start` an access of [`MARGIN`] bytes may begin: less than this.
    pub(crate) reach: u64,
}

/// The most bytes that native code looks at together.
pub(crate) const MARGIN: u64 = 4096;

impl UnwrittenBits {
    /// The bits of no byte.
    pub(crate) const NONE: Self = Self { bits: (&raw const NO_BITS).cast(), start: 0, reach: 0 };
}

/// As many as are loaded for an access, wherever it begins.
static NO_BITS: [u64; MARGIN as usize / 64 + 1] = [0; MARGIN as usize / 64 + 1];

/// The map of undefined bytes.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// The addresses that it knows.
    window: Range<u64>,
    /// A bit for each undefined byte of the window.
    bits: Shadow,
    /// A bit for each undefined byte to which an undefined value was written. The bit is
    /// meaningless for other bytes.
    undefined: Shadow,
    /// Whether there ever was such a byte.
    has_undefined: AtomicBool,
    /// The origin of such a byte, by number of the word.
    origins: Mutex<HashMap<u64, String>>,
    /// Where a byte of memory of a block or a thread came from that was never written and was copied there, in the same way.
    copied: Mutex<HashMap<u64, String>>,
    /// Whether there ever was one.
    has_copied: AtomicBool,
    /// Whether a read of a single unwritten byte is reported.
    every_byte: bool,
    /// Allocations that were not found to be wholly written, by start: where the first byte may be that was not.
    partial: Mutex<BTreeMap<u64, u64>>,
}

/// The words that a range touches: number of the word, the range's bits.
fn words(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = start + bytes;
    let last = if bytes == 0 { start / WORD } else { end.div_ceil(WORD) };
    (start / WORD..last).map(move |word| {
        let first = start.max(word * WORD) - word * WORD;
        let last = end.min((word + 1) * WORD) - word * WORD;
        (word, (u64::MAX >> (WORD - (last - first))) << first)
    })
}

/// The first gap in a copy of `bytes` bytes that does not repeat with the size of any element, if there is one.
fn without_period(gaps: &[Range<u64>], bytes: u64) -> Option<&Range<u64>> {
    let first = gaps.first()?;
    let length = |gap: &Range<u64>| gap.end - gap.start;
    // The size is the distance of gaps that are one element apart.
    let distances = gaps.iter().take(MOST_GAPS).map(|gap| gap.start - first.start);
    let sizes = distances.filter(|size| *size > 0 && size * 2 <= bytes);
    let stray = |size: u64| {
        let class = |gap: &Range<u64>| (gap.start % size, length(gap));
        let mut counts: HashMap<(u64, u64), u64> = HashMap::new();
        gaps.iter().for_each(|gap| *counts.entry(class(gap)).or_default() += 1);
        gaps.iter().find(|gap| counts[&class(gap)] * 2 <= bytes / size)
    };
    let mut found = None;
    for size in sizes {
        let gap = stray(size)?;
        found.get_or_insert(gap);
    }
    found.or(Some(first))
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unwritten {
    /// A map of a window, which starts at a multiple of a page. Reads are told of where a value was not written or, of
    /// `every_byte`, where a part of it was not.
    pub(crate) fn new(window: Range<u64>, every_byte: bool) -> io::Result<Self> {
        let words = (window.end - window.start).div_ceil(WORD) + 1;
        Ok(Self {
            bits: Shadow::new(words as usize * size_of::<u64>())?,
            undefined: Shadow::new(words as usize * size_of::<u64>())?,
            has_undefined: AtomicBool::new(false),
            origins: Mutex::default(),
            copied: Mutex::default(),
            has_copied: AtomicBool::new(false),
            window,
            every_byte,
            partial: Mutex::default(),
        })
    }

    /// Where native code finds its bits.
    pub(crate) fn bits(&self) -> UnwrittenBits {
        let bytes = self.window.end - self.window.start;
        UnwrittenBits { bits: self.bits.base(), start: self.window.start, reach: bytes.saturating_sub(MARGIN) }
    }

    /// Whether it knows the memory at an address.
    #[inline(always)]
    pub(crate) fn knows(&self, address: u64) -> bool {
        address.wrapping_sub(self.window.start) < self.window.end - self.window.start
    }

    /// The part of a range that it knows, counted from the start of the window, and its length.
    fn inside(&self, start: u64, bytes: u64) -> (u64, u64) {
        let end = start.saturating_add(bytes).min(self.window.end);
        let start = start.max(self.window.start);
        (start.wrapping_sub(self.window.start), end.saturating_sub(start))
    }

    /// A word of the map.
    #[inline(always)]
    fn word(&self, number: u64) -> &AtomicU64 {
        Self::word_of(&self.bits, number)
    }

    #[inline(always)]
    fn word_of(bits: &Shadow, number: u64) -> &AtomicU64 {
        debug_assert!((number as usize) < bits.bytes() / size_of::<u64>());
        // SAFETY: callers stay inside of the window, which has that many words, and all access is atomic.
        unsafe { AtomicU64::from_ptr(bits.base::<u64>().wrapping_add(number as usize)) }
    }

    fn partial(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        lock(&self.partial)
    }

    /// An allocation is made.
    pub(crate) fn allocate(&self, start: u64, bytes: u64) {
        self.hand_out(start, bytes);
        self.partial().insert(start, start);
    }

    /// An allocation was freed.
    pub(crate) fn free(&self, start: u64, bytes: u64) {
        self.write(start, bytes);
        self.partial().remove(&start);
    }

    /// Whether all allocated memory in a range has been written. The answer stays valid until memory is allocated in
    /// the range or copied to it.
    pub(crate) fn is_written(&self, start: u64, end: u64) -> bool {
        let mut partial = self.partial();
        let inside: Vec<(u64, u64)> = partial.range(start..end).map(|(start, first)| (*start, *first)).collect();
        for (allocation, first) in inside {
            let (from, bytes) = self.inside(first, end - first);
            match words(from, bytes).find(|(word, bits)| self.word(*word).load(Ordering::Relaxed) & bits != 0) {
                Some((word, _)) => {
                    partial.insert(allocation, first.max(self.window.start + word * WORD));
                    return false;
                }
                None => drop(partial.remove(&allocation)),
            }
        }
        true
    }

    /// Something undefined has been written, to an allocation if one holds it. `origin` says where it came from.
    pub(crate) fn undefine(
        &self,
        start: u64,
        bytes: u64,
        allocation: impl FnOnce() -> Option<u64>,
        origin: impl FnOnce() -> String,
    ) {
        let (offset, inside) = self.inside(start, bytes);
        if inside == 0 {
            return;
        }
        self.hand_out(start, bytes);
        self.has_undefined.store(true, Ordering::Relaxed);
        for (word, bits) in words(offset, inside) {
            Self::word_of(&self.undefined, word).fetch_or(bits, Ordering::Relaxed);
        }
        if let Some(allocation) = allocation() {
            self.partial().insert(allocation, allocation);
        }
        let mut origins = lock(&self.origins);
        if origins.len() < ORIGINS {
            origins.entry(offset / WORD).or_insert_with(origin);
        }
    }

    /// Unwritten bytes have been copied to memory of a block or a thread, which is then unwritten again.
    pub(crate) fn take_over(&self, start: u64, bytes: u64, origin: impl FnOnce() -> String) {
        let (offset, inside) = self.inside(start, bytes);
        if inside == 0 {
            return;
        }
        self.hand_out(start, bytes);
        self.has_copied.store(true, Ordering::Relaxed);
        let mut copied = lock(&self.copied);
        if copied.len() < ORIGINS {
            copied.entry(offset / WORD).or_insert_with(origin);
        }
    }

    /// A block or a thread begins, with this memory.
    pub(crate) fn begin(&self, start: u64, bytes: u64) {
        if self.has_copied.load(Ordering::Relaxed) {
            let (offset, bytes) = self.inside(start, bytes);
            let words = offset / WORD..(offset + bytes).div_ceil(WORD);
            lock(&self.copied).retain(|word, _| !words.contains(word));
        }
        self.hand_out(start, bytes);
    }

    /// Whether any byte of a range holds something undefined that was written there.
    pub(crate) fn is_undefined(&self, start: u64, bytes: u64) -> bool {
        if !self.has_undefined.load(Ordering::Relaxed) {
            return false;
        }
        let (start, bytes) = self.inside(start, bytes);
        words(start, bytes).any(|(word, bits)| {
            let undefined = Self::word_of(&self.undefined, word).load(Ordering::Relaxed);
            self.word(word).load(Ordering::Relaxed) & undefined & bits != 0
        })
    }

    /// The description of a place, with the origin of the undefined value there, if it is known.
    pub(crate) fn explain(&self, address: u64, place: String) -> String {
        match self.origin(address) {
            Some(origin) => format!("{place}; {origin}"),
            None => place,
        }
    }

    /// Where the byte at an address came from, if it holds nothing and that is known.
    fn origin(&self, address: u64) -> Option<String> {
        let origins = if self.is_undefined(address, 1) {
            &self.origins
        } else if self.has_copied.load(Ordering::Relaxed) && self.any(address, 1) {
            &self.copied
        } else {
            return None;
        };
        let word = (address - self.window.start) / WORD;
        lock(origins).get(&word).cloned()
    }

    /// Memory is handed out.
    pub(crate) fn hand_out(&self, start: u64, bytes: u64) {
        let (start, bytes) = self.inside(start, bytes);
        if self.has_undefined.load(Ordering::Relaxed) {
            for (word, bits) in words(start, bytes) {
                let word = Self::word_of(&self.undefined, word);
                if word.load(Ordering::Relaxed) & bits != 0 {
                    word.fetch_and(!bits, Ordering::Relaxed);
                }
            }
        }
        for (word, bits) in words(start, bytes) {
            let word = self.word(word);
            if bits == u64::MAX {
                word.store(bits, Ordering::Relaxed);
            } else {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// The one word that a range lies in, if it does, and the range's bits.
    #[inline(always)]
    fn one(&self, start: u64, bytes: u64) -> Option<(&AtomicU64, u64)> {
        let offset = start.wrapping_sub(self.window.start);
        let first = offset % WORD;
        (self.knows(start) && bytes != 0 && first + bytes <= WORD)
            .then(|| (self.word(offset / WORD), (u64::MAX >> (WORD - bytes)) << first))
    }

    /// Bytes are written.
    #[inline]
    pub(crate) fn write(&self, start: u64, bytes: u64) {
        if let Some((word, bits)) = self.one(start, bytes) {
            if word.load(Ordering::Relaxed) & bits != 0 {
                word.fetch_and(!bits, Ordering::Relaxed);
            }
            return;
        }
        let (start, bytes) = self.inside(start, bytes);
        for (word, bits) in words(start, bytes) {
            let word = self.word(word);
            // Most bytes were written before, and then need only a read of the map.
            if word.load(Ordering::Relaxed) & bits == 0 {
                continue;
            }
            if bits == u64::MAX {
                word.store(0, Ordering::Relaxed);
            } else {
                word.fetch_and(!bits, Ordering::Relaxed);
            }
        }
    }

    /// Copies the state of bytes that are copied, to the allocation at `allocation`, if one holds them.
    pub(crate) fn copy(&self, allocation: Option<u64>, to: u64, from: u64, bytes: u64) {
        let runs = self.runs(from, bytes);
        let undefined: Vec<u64> = if self.has_undefined.load(Ordering::Relaxed) {
            let all = runs.iter().flat_map(Range::clone);
            all.filter(|address| self.is_undefined(*address, 1)).collect()
        } else {
            Vec::new()
        };
        let origins: Vec<String> = undefined.first().and_then(|address| self.origin(*address)).into_iter().collect();
        self.write(to, bytes);
        for run in &runs {
            self.hand_out(to + (run.start - from), run.end - run.start);
        }
        for address in undefined {
            let origin = || origins.first().cloned().unwrap_or_default();
            self.undefine(to + (address - from), 1, || None, origin);
        }
        if let Some(allocation) = allocation.filter(|_| !runs.is_empty() && self.knows(to)) {
            self.partial().insert(allocation, allocation);
        }
    }

    /// Whether any byte of a range was not written.
    #[inline]
    pub(crate) fn any(&self, start: u64, bytes: u64) -> bool {
        if let Some((word, bits)) = self.one(start, bytes) {
            return word.load(Ordering::Relaxed) & bits != 0;
        }
        let (start, bytes) = self.inside(start, bytes);
        words(start, bytes).any(|(word, bits)| self.word(word).load(Ordering::Relaxed) & bits != 0)
    }

    /// The ranges that were not written.
    pub(crate) fn runs(&self, start: u64, bytes: u64) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let (start, bytes) = self.inside(start, bytes);
        for (word, bits) in words(start, bytes) {
            let mut left = self.word(word).load(Ordering::Relaxed) & bits;
            let address = self.window.start + word * WORD;
            while left != 0 {
                let first = u64::from(left.trailing_zeros());
                let length = u64::from((left >> first).trailing_ones());
                left &= !((u64::MAX >> (WORD - length)) << first);
                let run = address + first..address + first + length;
                match runs.last_mut() {
                    Some(last) if last.end == run.start => last.end = run.end,
                    _ => runs.push(run),
                }
            }
        }
        runs
    }

    /// The first byte of those that a copy to the host should not have met: of an element that is missing or incomplete.
    ///
    /// The elements' type is not known here, and what is between the fields of a structure is copied with them. A gap may
    /// be padding if it is shorter than [`LEAST`] and a field of twice the size, which alone asks for padding, was written
    /// nearby. Where more is copied than one structure may have, padding also repeats: most of the elements have it.
    pub(crate) fn met_by_copy(&self, start: u64, bytes: u64) -> Option<u64> {
        let gaps = self.any(start, bytes).then(|| self.runs(start, bytes))?;
        let end = start + bytes;
        let is_padding = |gap: &Range<u64>| {
            let length = gap.end - gap.start;
            let field = 2 << length.ilog2();
            let (near, far) = (start.max(gap.start.saturating_sub(WORD)), end.min(gap.end + WORD));
            let mut fields = (near.next_multiple_of(field)..far.saturating_sub(field - 1)).step_by(field as usize);
            length < LEAST && !self.is_undefined(gap.start, length) && fields.any(|at| !self.any(at, field))
        };
        let missing = gaps.iter().find(|gap| !is_padding(gap));
        let missing = missing.or_else(|| if bytes > STRUCTURE { without_period(&gaps, bytes) } else { None });
        missing.map(|gap| gap.start)
    }

    /// The first byte of those that a read should not have met.
    #[inline]
    pub(crate) fn met(&self, start: u64, bytes: u64) -> Option<u64> {
        if !self.any(start, bytes) {
            return None;
        }
        let least = if self.every_byte { 1 } else { bytes.min(LEAST) };
        let run = self.runs(start, bytes).into_iter().find(|run| run.end - run.start >= least)?;
        Some(run.start)
    }
}

#[cfg(test)]
mod tests {
    use super::Unwritten;

    const START: u64 = 1 << 20;
    const SIZE: u64 = 1 << 16;

    fn map() -> Unwritten {
        Unwritten::new(START..START + SIZE, false).expect("there is address space")
    }

    #[test]
    fn reads_meet_what_was_not_written() {
        let map = map();
        let at = START + 4096;
        map.allocate(at - 8, 16);
        assert_eq!(map.met(at - 8, 4), Some(at - 8));
        assert_eq!(map.met(at + 8, 4), None);
        map.write(at - 8, 12);
        assert_eq!(map.met(at - 8, 4), None);
        assert_eq!(map.met(at + 4, 4), Some(at + 4));
        // Half of it was written: padding.
        assert_eq!(map.met(at, 8), None);
        assert!(!map.is_written(at - 8, at + 8));
        map.write(at, 8);
        assert!(map.is_written(at - 8, at + 8));
        let every_byte = Unwritten::new(START..START + SIZE, true).expect("there is address space");
        every_byte.allocate(at, 8);
        every_byte.write(at, 3);
        assert_eq!((every_byte.met(at, 4), every_byte.met(at, 2)), (Some(at + 3), None));
        // Elsewhere nothing is known.
        assert_eq!(map.met(0, 8), None);
        assert_eq!(map.met(START + SIZE, 8), None);
    }

    #[test]
    fn a_copy_takes_along_what_was_not_written() {
        let map = map();
        let (a, b) = (START, START + 1024);
        map.allocate(a, 512);
        map.allocate(b, 512);
        map.write(b, 512);
        assert!(map.is_written(b, b + 512) && !map.is_written(a, a + 512));
        map.write(a, 256);
        map.copy(Some(b), b, a, 512);
        assert!(!map.is_written(b, b + 512));
        assert_eq!(map.met(b + 252, 8), None);
        assert_eq!(map.met(b + 256, 8), Some(b + 256));
        map.free(b, 512);
        assert!(map.is_written(b, b + 512));
    }

    #[test]
    fn gaps_between_fields_are_told_from_missing_elements() {
        // What is written of each element, its size, whether the rest is padding.
        type Fields = &'static [(u64, u64)];
        let layouts: [(Fields, u64, bool); 9] = [
            (&[(0, 4)], 8, false),
            (&[(0, 2)], 4, false),
            (&[(0, 1)], 2, false),
            (&[(0, 1), (2, 2)], 4, true),
            (&[(0, 4), (4, 1)], 8, true),
            (&[(0, 4), (8, 8)], 16, true),
            (&[(0, 8), (8, 4)], 16, true),
            (&[(0, 1), (2, 2), (4, 4)], 8, true),
            (&[(0, 8)], 16, false),
        ];
        for (fields, size, is_padding) in layouts {
            for count in [1, 2, 100] {
                let (map, at) = (map(), START + 4096);
                map.allocate(at, size * count);
                for element in 0..count {
                    for (offset, bytes) in fields {
                        map.write(at + element * size + offset, *bytes);
                    }
                }
                let met = map.met_by_copy(at, size * count);
                let first = map.runs(at, size * count)[0].start;
                assert_eq!(met, (!is_padding).then_some(first), "{count} x {fields:?} of {size}");
                map.write(at, size * count);
                assert_eq!(map.met_by_copy(at, size * count), None);
            }
        }
    }

    #[test]
    fn an_incomplete_element_is_no_padding() {
        let written = |size: u64, count: u64, gaps: &[(u64, u64)]| {
            let (map, at) = (map(), START + 4096);
            map.allocate(at, size * count);
            map.write(at, size * count);
            for (start, bytes) in gaps {
                map.hand_out(at + start, *bytes);
            }
            map.met_by_copy(at, size * count).map(|first| first - at)
        };
        // One byte of 123 numbers, or the same byte of a few of them.
        assert_eq!(written(4, 123, &[(201, 1)]), Some(201));
        assert_eq!(written(4, 123, &[(201, 1), (241, 1), (401, 1)]), Some(201));
        assert_eq!(written(8, 64, &[(0, 4), (264, 4)]), Some(0));
        // Structures of 8 bytes with a gap, of which some were copied as a whole.
        let gaps: Vec<(u64, u64)> =
            (0..64).filter(|element| element % 3 != 0).map(|element| (element * 8 + 1, 1)).collect();
        assert_eq!(written(8, 64, &gaps), None);
        let with_missing = [&gaps[..], &[(8 * 12 + 5, 1)]].concat();
        let mut sorted = with_missing;
        sorted.sort_unstable();
        assert_eq!(written(8, 64, &sorted), Some(8 * 12 + 5));
        // Two gaps in each structure of 24 bytes.
        let gaps: Vec<(u64, u64)> =
            (0..20).flat_map(|element| [(element * 24 + 1, 1), (element * 24 + 12, 4)]).collect();
        assert_eq!(written(24, 20, &gaps), None);
        // A small structure by itself.
        assert_eq!(written(16, 1, &[(5, 1)]), None);
    }

    #[test]
    fn what_was_stored_undefined_is_remembered() {
        let (map, at) = (map(), START + 4096);
        map.allocate(at, 64);
        map.write(at, 64);
        assert!(map.is_written(at, at + 64));
        map.undefine(at + 8, 4, || Some(at), || "here".into());
        assert!(!map.is_written(at, at + 64) && map.is_undefined(at, 64) && !map.is_undefined(at, 8));
        assert_eq!(map.origin(at + 9).as_deref(), Some("here"));
        // The undefined value is no padding, and a copy copies its state.
        assert_eq!(map.met_by_copy(at, 64), Some(at + 8));
        let to = START + 8192;
        map.allocate(to, 64);
        map.copy(Some(to), to, at, 64);
        assert_eq!(map.origin(to + 8).as_deref(), Some("here"));
        map.write(at + 8, 4);
        assert!(!map.is_undefined(at, 64) && map.origin(at + 9).is_none());
        // Memory that is handed out anew was not stored to.
        map.hand_out(to, 64);
        assert!(!map.is_undefined(to, 64));
        assert_eq!(map.met(to, 4), Some(to));
    }

    /// Against one flag for each byte, over ranges of all alignments.
    #[test]
    fn it_is_a_set_of_bytes() {
        const COPY: u64 = 4 << 12;
        let (map, mut flags) = (map(), vec![false; 2 * COPY as usize]);
        let at = |start: u64, bytes: u64| (start - START) as usize..(start + bytes - START) as usize;
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let (start, bytes) = (START + random(3 << 12), random(300));
            match random(3) {
                0 => {
                    map.hand_out(start, bytes);
                    flags[at(start, bytes)].fill(true);
                }
                1 => {
                    map.write(start, bytes);
                    flags[at(start, bytes)].fill(false);
                }
                _ => {
                    let to = start + COPY;
                    map.copy(Some(to), to, start, bytes);
                    flags.copy_within(at(start, bytes), at(to, 0).start);
                }
            }
            let mut found = vec![false; flags.len()];
            for run in map.runs(0, u64::MAX) {
                found[at(run.start, run.end - run.start)].fill(true);
            }
            assert!(found == flags);
            assert_eq!(map.any(start, bytes), flags[at(start, bytes)].contains(&true));
        }
    }
}
