//! Reads that no write can race with yet, as patterns: a warp that reads in a loop is one entry.
//!
//! A region is a part of an allocation, or the shared memory of a block. A region is clean as long as no thread has written
//! to it since the launch began, or, in the shared memory of one block, since all threads of the block have met at a
//! barrier. A read of a clean region is ordered after all earlier writes, so that the read matters only for later writes.
//! Before the first of them the region's reads become records of cells ([`crate::check::cells`]), and the region is clean
//! no more. A barrier of the whole block drops them.

use rustc_hash::FxHashMap;

use crate::base::lanes::{GROUP, GROUPS};
use crate::check::cells::CELL;
use crate::check::record::Record;
use crate::mem::arena::{SHARED_STRIDE, Window};

/// Most bytes of a region, at multiples of which regions of global memory end, too.
const REGION: u64 = SHARED_STRIDE as u64;

/// Most patterns of a region. Further reads become records of cells at once.
const MOST: usize = 1 << 14;

/// A bound of the strides of patterns.
pub(crate) const MOST_STRIDE: u64 = 1 << 20;

/// Patterns that may still grow: one for each instruction, by its number.
const GROWING: usize = 64;

/// Written regions that are remembered beside the table.
const REMEMBERED: usize = 64;

/// An access by all lanes of a warp: those of each group of lanes begin at an address and go on with a stride.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupAccess {
    /// The access, without lanes and bytes.
    pub(super) record: Record,
    /// The epoch that the warp knows of all threads of its block.
    pub(super) block: u32,
    /// Bytes of a lane.
    pub(super) bytes: u32,
    /// Bytes from the address of a lane to that of the next lane.
    pub(super) stride: u32,
    pub(super) hosts: [u64; GROUPS],
}

impl GroupAccess {
    /// Whether the lanes of each group access whole words one behind the other.
    #[inline(always)]
    pub(super) fn is_in_a_row(&self) -> bool {
        self.stride == self.bytes && self.bytes >= 4 && self.hosts.iter().all(|host| host % 4 == 0)
    }

    /// The address of a lane.
    #[inline(always)]
    pub(super) fn host(&self, lane: usize) -> u64 {
        self.hosts[lane / GROUP] + u64::from(self.stride) * (lane % GROUP) as u64
    }

    /// Whether all accessed bytes lie in a window.
    #[inline(always)]
    fn is_in(&self, window: &Window) -> bool {
        let whole = u64::from(self.bytes) + u64::from(self.stride) * (GROUP as u64 - 1);
        let most = (window.end - window.start).wrapping_sub(whole);
        whole <= window.end - window.start && self.hosts.iter().all(|host| host.wrapping_sub(window.start) <= most)
    }
}

/// Equal reads at a fixed distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    first: GroupAccess,
    /// Bytes from one read to the next.
    step: u64,
    count: u64,
}

impl Pattern {
    /// The reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = GroupAccess> {
        let Self { first, step, count } = *self;
        (0..count).map(move |index| {
            let hosts = first.hosts.map(|host| host.wrapping_add(step.wrapping_mul(index)));
            GroupAccess { hosts, ..first }
        })
    }

    fn last(&self) -> [u64; GROUPS] {
        self.first.hosts.map(|host| host.wrapping_add(self.step.wrapping_mul(self.count - 1)))
    }

    /// Takes in another read that continues the pattern.
    fn extend(&mut self, reads: &GroupAccess) -> bool {
        let first = &self.first;
        let is_same = first.record.is_of_access(&reads.record)
            && (first.block, first.bytes, first.stride) == (reads.block, reads.bytes, reads.stride);
        if !is_same {
            return false;
        }
        let last = self.last();
        let step = reads.hosts[0].wrapping_sub(last[0]);
        let follows = (0..GROUPS).all(|group| reads.hosts[group].wrapping_sub(last[group]) == step);
        if !follows || self.count > 1 && step != self.step {
            return false;
        }
        self.step = step;
        self.count += 1;
        true
    }
}

/// A region and its reads.
#[derive(Debug)]
struct Region {
    window: Window,
    /// `None` if the region is written.
    patterns: Option<Vec<Pattern>>,
}

/// The reads of clean regions.
#[derive(Debug)]
pub(super) struct Reads {
    /// Allocations and the window of shared memory, by their addresses.
    windows: Vec<Window>,
    regions: Vec<Region>,
    /// The regions by their start, as indices.
    by_start: FxHashMap<u64, usize>,
    /// Patterns that may grow, with the indices of their regions.
    growing: Box<[Option<(usize, Pattern)>; GROWING]>,
    /// Some of the written regions.
    written: Box<[Window; REMEMBERED]>,
}

const NOWHERE: Window = Window { start: 0, end: 0 };

/// The place of a region among [`Reads::written`].
#[inline(always)]
fn place_of(address: u64) -> usize {
    (address / REGION) as usize % REMEMBERED
}

impl Reads {
    pub(super) fn new() -> Self {
        Self {
            windows: Vec::new(),
            regions: Vec::new(),
            by_start: FxHashMap::default(),
            growing: Box::new([None; GROWING]),
            written: Box::new([NOWHERE; REMEMBERED]),
        }
    }

    /// A launch begins that may access this shared memory and these allocations, in the order of their addresses.
    pub(super) fn begin(&mut self, shared: Window, allocations: Vec<Window>) {
        // A cell is in one region.
        self.windows = allocations;
        self.windows.retain(|window| window.start.is_multiple_of(CELL));
        let place = self.windows.partition_point(|window| window.start < shared.start);
        self.windows.insert(place, shared);
        self.regions.clear();
        self.by_start.clear();
        self.growing.fill(None);
        self.written.fill(NOWHERE);
    }

    /// The index of the region of an address.
    fn region(&mut self, address: u64) -> Option<usize> {
        let behind = self.windows.partition_point(|window| window.start <= address);
        let window = self.windows[..behind].last().filter(|window| window.contains(address))?;
        let start = address / REGION * REGION;
        let window = Window { start: start.max(window.start), end: (start + REGION).min(window.end) };
        let regions = &mut self.regions;
        Some(*self.by_start.entry(window.start).or_insert_with(|| {
            regions.push(Region { window, patterns: Some(Vec::new()) });
            regions.len() - 1
        }))
    }

    /// Notes reads, if they lie in one clean region.
    #[inline]
    pub(super) fn note(&mut self, reads: &GroupAccess) -> bool {
        let slot = reads.record.source as usize % GROWING;
        if let Some((region, pattern)) = &mut self.growing[slot]
            && reads.is_in(&self.regions[*region].window)
            && pattern.extend(reads)
        {
            return true;
        }
        let first = reads.hosts[0];
        !self.written[place_of(first)].contains(first) && self.start_pattern(slot, reads)
    }

    #[inline(never)]
    fn start_pattern(&mut self, slot: usize, reads: &GroupAccess) -> bool {
        let first = reads.hosts[0];
        // An instruction mostly stays in its region.
        let last = self.growing[slot].as_ref().map(|(region, _)| *region);
        self.end_growth(slot);
        let is_whole = |reads: &GroupAccess, region: &Region| reads.is_in(&region.window);
        let last = last.filter(|region| is_whole(reads, &self.regions[*region]));
        let Some(index) = last.or_else(|| self.region(first)) else { return false };
        let region = &self.regions[index];
        if !is_whole(reads, region) {
            return false;
        }
        match &region.patterns {
            Some(patterns) if patterns.len() < MOST => {
                self.growing[slot] = Some((index, Pattern { first: *reads, step: 0, count: 1 }));
                true
            }
            Some(_) => false,
            None => {
                self.written[place_of(first)] = region.window;
                false
            }
        }
    }

    /// Puts a pattern to its region.
    fn end_growth(&mut self, slot: usize) {
        if let Some((region, pattern)) = self.growing[slot].take()
            && let Some(patterns) = &mut self.regions[region].patterns
        {
            patterns.push(pattern);
        }
    }

    /// A write to an address follows: the reads that have to become records before.
    #[inline(always)]
    pub(super) fn before_write(&mut self, address: u64) -> Option<Vec<Pattern>> {
        if self.written[place_of(address)].contains(address) { None } else { self.write(address) }
    }

    #[inline(never)]
    fn write(&mut self, address: u64) -> Option<Vec<Pattern>> {
        let region = self.region(address)?;
        for slot in 0..GROWING {
            if matches!(&self.growing[slot], Some((of, _)) if *of == region) {
                self.end_growth(slot);
            }
        }
        let region = &mut self.regions[region];
        self.written[place_of(address)] = region.window;
        region.patterns.take().filter(|patterns| !patterns.is_empty())
    }

    /// All threads that can access a block's shared memory know of all accesses to it: it is clean.
    pub(super) fn settle(&mut self, shared: u64) {
        let Some(index) = self.region(shared) else { return };
        for growing in self.growing.iter_mut() {
            if matches!(growing, Some((of, _)) if *of == index) {
                *growing = None;
            }
        }
        let region = &mut self.regions[index];
        region.patterns.get_or_insert_default().clear();
        let written = &mut self.written[place_of(region.window.start)];
        if *written == region.window {
            *written = NOWHERE;
        }
    }
}
