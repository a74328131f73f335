//! Which bytes nobody has written since the memory was handed out: what reads of them are told by.
//!
//! Memory that was never entered here counts as written: module variables, the parameters, the host's own.

use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a word of the map, of which there are 64 in a page.
const WORD: u64 = 64;
const PAGE: u64 = 64 * WORD;

/// A read is told of where this many bytes of it, or all if it is shorter, were never written. What is between the fields
/// of a structure is copied with them, and is no mistake.
const LEAST: u64 = 8;

/// The bytes that were not written.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    /// A bit for each byte; pages without any are not there.
    pages: HashMap<u64, Box<[u64; 64]>>,
}

/// The words that a range touches: page, word in the page, the range's bits.
fn words(start: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, u64)> {
    let end = start.saturating_add(bytes);
    let last = if bytes == 0 { start / WORD } else { end.div_ceil(WORD) };
    (start / WORD..last).map(move |word| {
        let first = start.max(word * WORD) - word * WORD;
        let last = end.min((word + 1) * WORD) - word * WORD;
        let bits = (u64::MAX >> (WORD - (last - first))) << first;
        (word / 64, (word % 64) as usize, bits)
    })
}

impl Unwritten {
    /// Memory is handed out.
    pub(crate) fn hand_out(&mut self, start: u64, bytes: u64) {
        let mut at = start;
        let end = start.saturating_add(bytes);
        while at < end {
            let next = ((at / PAGE + 1) * PAGE).min(end);
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; 64]));
            words(at, next - at).for_each(|(_, word, bits)| page[word] |= bits);
            at = next;
        }
    }

    /// Bytes are written, or nobody's any more.
    pub(crate) fn write(&mut self, start: u64, bytes: u64) {
        let mut at = start;
        let end = start.saturating_add(bytes);
        while at < end {
            let (number, next) = (at / PAGE, ((at / PAGE + 1) * PAGE).min(end));
            if let Some(page) = self.pages.get_mut(&number) {
                words(at, next - at).for_each(|(_, word, bits)| page[word] &= !bits);
                if **page == [0; 64] {
                    self.pages.remove(&number);
                }
            }
            at = next;
        }
    }

    /// Bytes are copied, with what is known of them.
    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        let runs = self.runs(from, bytes);
        self.write(to, bytes);
        for run in runs {
            self.hand_out(to + (run.start - from), run.end - run.start);
        }
    }

    /// The ranges that were not written.
    pub(crate) fn runs(&self, start: u64, bytes: u64) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (page, word, bits) in words(start, bytes) {
            let Some(found) = self.pages.get(&page) else { continue };
            let mut left = found[word] & bits;
            let address = page * PAGE + word as u64 * WORD;
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

    /// The first byte of those that a read should not have met.
    pub(crate) fn met(&self, start: u64, bytes: u64) -> Option<u64> {
        if self.pages.is_empty() {
            return None;
        }
        let least = bytes.min(LEAST);
        let run = self
            .runs(start, bytes)
            .into_iter()
            .find(|run| run.end - run.start >= least)?;
        Some(run.start)
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Unwritten};
    use std::collections::HashSet;

    #[test]
    fn reads_meet_what_was_not_written() {
        let mut map = Unwritten::default();
        map.hand_out(PAGE - 8, 16);
        assert_eq!(map.met(PAGE - 8, 4), Some(PAGE - 8));
        assert_eq!(map.met(PAGE + 8, 4), None);
        map.write(PAGE - 8, 12);
        assert_eq!(map.met(PAGE - 8, 4), None);
        assert_eq!(map.met(PAGE + 4, 4), Some(PAGE + 4));
        // Half of it was written: padding.
        assert_eq!(map.met(PAGE, 8), None);
        map.write(PAGE, 8);
        assert!(map.pages.is_empty());
    }

    /// Against a set of bytes, over ranges of all alignments.
    #[test]
    fn it_is_a_set_of_bytes() {
        let (mut map, mut set) = (Unwritten::default(), HashSet::new());
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let (start, bytes) = (random(3 * PAGE), random(300));
            match random(3) {
                0 => {
                    map.hand_out(start, bytes);
                    set.extend(start..start + bytes);
                }
                1 => {
                    map.write(start, bytes);
                    set.retain(|byte| !(start..start + bytes).contains(byte));
                }
                _ => {
                    let to = start + 4 * PAGE;
                    map.copy(to, start, bytes);
                    let copied: Vec<u64> = (start..start + bytes).filter(|byte| set.contains(byte)).collect();
                    set.retain(|byte| !(to..to + bytes).contains(byte));
                    set.extend(copied.iter().map(|byte| byte + 4 * PAGE));
                }
            }
            let found: HashSet<u64> = map.runs(0, 8 * PAGE).into_iter().flatten().collect();
            assert_eq!(found, set);
        }
    }
}
