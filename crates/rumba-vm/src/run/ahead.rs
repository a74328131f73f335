//! Prefetching what the next blocks of a launch access.
//!
//! Threads with several elements a row of threads apart, which is how a kernel coalesces its accesses, go through memory in
//! many short sequences, warp after warp. The processor's prefetcher does not follow these sequences: such a kernel takes two
//! to three times as long as a loop over the same memory. Native code notes at its *sites*, accesses outside of loops, which
//! address a warp has accessed. From the sites of two successive blocks, [`Ahead`] finds the memory that a block
//! accesses as a whole, and prefetches the memory of the next block in the order of its addresses, a part before each warp.

use crate::base::engine::LINE;
use crate::base::prefetch::prefetch;
use crate::machine::program::SITES;

/// How many blocks ahead memory is prefetched.
const AHEAD: u64 = 1;

/// The most bytes of a stream that are prefetched for one block: half of a usual first-level cache.
const MOST_STEP: u64 = 16 << 10;

/// How often streams are looked for, or turn out to be wrong, before the launch runs without prefetching.
const TRIES: u32 = 4;

/// What a worker knows in a launch about the memory of the next blocks.
pub(super) struct Ahead {
    streams: Vec<Stream>,
    tries: u32,
    /// The number of a block that has ended, and its sites.
    known: Option<(u64, [u64; SITES])>,
}

/// Memory that successive blocks access without gaps.
#[derive(Debug, PartialEq, Eq)]
struct Stream {
    /// The bytes of each block.
    step: u64,
    /// The bytes that are prefetched before each warp: whole lines.
    part: u64,
    /// The first byte of block 0. Addresses wrap around.
    start: u64,
    /// One of the stream's sites, and its address in block 0.
    site: usize,
    address: u64,
}

/// The memory that a block accesses at a site.
#[derive(Clone, Copy)]
struct Part {
    site: usize,
    address: u64,
    start: u64,
    end: u64,
    step: u64,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { streams: Vec::new(), tries: TRIES, known: None }
    }
}

impl Ahead {
    /// Prefetches a warp's part of what a later block accesses, given the block that the warp belongs to and the end of
    /// the blocks that the worker runs next.
    ///
    /// Processors drop prefetches beyond the number of cache misses that they track at once, so that prefetching for the
    /// whole block at once would have no effect.
    pub(super) fn before(&self, warp: usize, block: u64, end: u64) {
        let later = block + AHEAD;
        if later >= end {
            return;
        }
        for stream in &self.streams {
            let start = stream.start.wrapping_add(later.wrapping_mul(stream.step));
            let part = stream.part * warp as u64;
            let lines = part..(part + stream.part).min(stream.step);
            lines.step_by(LINE).for_each(|line| prefetch(start.wrapping_add(line)));
        }
    }

    /// Learns from a block that has run, given the addresses at its sites, the bytes of a warp's access there, and the
    /// number of its warps.
    pub(super) fn after(&mut self, block: u64, sites: &[u64; SITES], bytes: &[u32], warps: usize) {
        if bytes.len() < 2 || self.tries == 0 {
            return;
        }
        if !self.streams.is_empty() {
            let is_right =
                |stream: &Stream| sites[stream.site] == stream.address.wrapping_add(block.wrapping_mul(stream.step));
            if !self.streams.iter().all(is_right) {
                self.streams.clear();
                self.tries -= 1;
            }
            return;
        }
        if let Some((known, before)) = &self.known
            && known + 1 == block
        {
            self.streams = streams(block, (before, sites), bytes, warps);
            self.tries -= u32::from(self.streams.is_empty());
        }
        self.known = Some((block, *sites));
    }
}

/// The streams of accesses whose memory is dense, given the sites of the block before and of this block.
fn streams(block: u64, (before, now): (&[u64; SITES], &[u64; SITES]), bytes: &[u32], warps: usize) -> Vec<Stream> {
    let parts = bytes.iter().enumerate().filter_map(|(site, bytes)| {
        let (address, bytes) = (now[site], u64::from(*bytes));
        let step = address.wrapping_sub(before[site]);
        // The sites have the addresses of the last warp.
        let start = address.wrapping_sub(bytes * (warps as u64 - 1));
        let part = Part { site, address, start, end: address.wrapping_add(bytes), step };
        (before[site] != 0 && (1..=MOST_STEP).contains(&step)).then_some(part)
    });
    let mut parts: Vec<Part> = parts.collect();
    parts.sort_by_key(|part| part.start);
    parts.dedup_by_key(|part| (part.start, part.end, part.step));
    let neighbours = parts.chunk_by(|a, b| a.end == b.start && a.step == b.step);
    let dense = neighbours.filter_map(|parts| {
        let ([first, .., last], step) = (parts, parts[0].step) else { return None };
        let before = block.wrapping_mul(step);
        (last.end.wrapping_sub(first.start) == step).then(|| Stream {
            step,
            part: step.div_ceil(warps as u64).next_multiple_of(LINE as u64),
            start: first.start.wrapping_sub(before),
            site: first.site,
            address: first.address.wrapping_sub(before),
        })
    });
    dense.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARPS: usize = 8;

    /// The sites of a block: the last warp's addresses, for four bytes per lane, where blocks are `step` bytes apart and sites
    /// a row of threads.
    fn striped(block: u64, count: usize, (base, step): (u64, u64)) -> [u64; SITES] {
        let mut sites = [0; SITES];
        for (number, site) in sites.iter_mut().take(count).enumerate() {
            *site = base + block * step + (number * WARPS * 128 + (WARPS - 1) * 128) as u64;
        }
        sites
    }

    #[test]
    fn rows_of_threads_make_a_stream() {
        let at = |block| striped(block, 4, (1 << 20, 4096));
        let found = streams(6, (&at(5), &at(6)), &[128; 4], WARPS);
        let address = (1 << 20) + 7 * 128;
        assert_eq!(found, [Stream { step: 4096, part: 512, start: 1 << 20, site: 0, address }]);
    }

    #[test]
    fn a_load_and_a_store_of_the_same_memory_are_one_part() {
        let twice = |block| {
            let mut sites = striped(block, 2, (1 << 20, 2048));
            (sites[2], sites[3]) = (sites[0], sites[1]);
            sites
        };
        assert_eq!(streams(1, (&twice(0), &twice(1)), &[128; 4], WARPS).len(), 1);
    }

    #[test]
    fn one_row_gaps_and_other_steps_make_none() {
        let one = |block| striped(block, 1, (1 << 20, 1024));
        assert!(streams(1, (&one(0), &one(1)), &[128; 1], WARPS).is_empty(), "the hardware prefetches one row");
        let gaps = |block| striped(block, 4, (1 << 20, 8192));
        assert!(streams(1, (&gaps(0), &gaps(1)), &[128; 4], WARPS).is_empty());
        let back = |block: u64| striped(7 - block, 4, (1 << 20, 4096));
        assert!(streams(1, (&back(0), &back(1)), &[128; 4], WARPS).is_empty());
        let still = |_| striped(0, 4, (1 << 20, 4096));
        assert!(streams(1, (&still(0), &still(1)), &[128; 4], WARPS).is_empty());
    }

    #[test]
    fn a_wrong_stream_is_given_up() {
        let mut ahead = Ahead::default();
        let at = |block| striped(block, 4, (1 << 20, 4096));
        for block in 0..2 {
            ahead.after(block, &at(block), &[128; 4], WARPS);
        }
        assert_eq!(ahead.streams.len(), 1);
        ahead.after(2, &at(2), &[128; 4], WARPS);
        assert_eq!(ahead.streams.len(), 1);
        ahead.after(3, &at(7), &[128; 4], WARPS);
        assert!(ahead.streams.is_empty());
        for block in 4..10 {
            ahead.after(block, &at(block * block), &[128; 4], WARPS);
        }
        assert_eq!(ahead.tries, 0, "the search ends");
        ahead.after(10, &at(10), &[128; 4], WARPS);
        ahead.after(11, &at(11), &[128; 4], WARPS);
        assert!(ahead.streams.is_empty());
    }
}
