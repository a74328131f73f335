//! Reads that no write can race with yet, as patterns: a warp that reads in a loop is one entry.
//!
//! A region is a part of an allocation, or the shared memory of a block. A region is clean as long as no thread has written
//! to it since the launch began, or, in the shared memory of one block, since all threads of the block have met at a
//! barrier. A read of a clean region is ordered after all earlier writes, so that the read matters only for later writes.
//! Before the first of them the region's reads become records of cells ([`crate::check::cells`]), and the region is clean
//! no more. A barrier of the whole block drops them. Reads without a stride are kept in a log ([`crate::check::log`]), and so are strong
//! accesses to a clean region without reads.

use std::io;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::base::lanes::{FULL, GROUP, GROUPS, lanes_of};
use crate::check::log::{Log, LoggedAccess};
use crate::check::order::Scope;
use crate::check::record::{CELL, Record};
use crate::check::strided::Strided;
use crate::mem::arena::{SHARED_STRIDE, Window};
use crate::mem::shadow::Shadow;
use crate::mem::unwritten::Unwritten;

/// Most bytes of a region, at multiples of which regions of global memory end, too.
const REGION: u64 = SHARED_STRIDE as u64;

/// The most reads that native code takes in before a report.
const MOST_ROOM: u64 = u32::MAX as u64;

/// The most of these where memory may be unwritten: reads, the bytes from the first of them to the last, and reads if memory between
/// them was not written.
const LOOKED_AT: u64 = 64;
const LOOKED_AT_BYTES: u64 = 1024;
const LOOKED_AT_APART: u64 = 8;

/// Most patterns of a region. Further reads become records of cells at once.
const MOST: usize = 1 << 14;

/// Most lists of patterns that are kept for later launches.
const MOST_SPARE: usize = 64;

/// A bound of the strides of patterns.
pub(crate) const MOST_STRIDE: u64 = 1 << 20;

/// Most accesses in all logs.
const MOST_LOGGED: usize = 1 << 17;

/// Regions whose accesses are not noted, as remembered beside the table.
const REMEMBERED: usize = 256;

/// An access by lanes of a warp: those of each group of lanes begin at an address and go on with a stride.
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
    /// The lanes that make the access.
    pub(super) lanes: u32,
    /// The address of the first lane of each group, whether it makes the access or not.
    pub(super) hosts: [u64; GROUPS],
}

impl GroupAccess {
    /// The access of lanes at these addresses, each of so many bytes, if they have a stride. `record` is without lanes and bytes.
    pub(super) fn of_lanes(
        (record, block): (Record, u32),
        bytes: u64,
        lanes: u32,
        host: impl Fn(usize) -> u64,
    ) -> Option<Self> {
        // Lanes whose next lane in their group makes the access, too.
        let pairs = lanes & lanes >> 1 & 0x7f7f_7f7f;
        if pairs == 0 {
            return None;
        }
        let first = pairs.trailing_zeros() as usize;
        let stride = host(first + 1).wrapping_sub(host(first));
        if stride >= MOST_STRIDE {
            return None;
        }
        let mut hosts = [0; GROUPS];
        for (group, begin) in hosts.iter_mut().enumerate() {
            let mut left = lanes_of(lanes >> (group * GROUP) & ((1 << GROUP) - 1));
            let start = |lane: usize| host(group * GROUP + lane).wrapping_sub(stride * lane as u64);
            let Some(lane) = left.next() else { continue };
            *begin = start(lane);
            if !left.all(|lane| start(lane) == *begin) {
                return None;
            }
        }
        let Strided { hosts, .. } = Strided::new(lanes, hosts, stride);
        Some(Self { record, block, bytes: bytes as u32, stride: stride as u32, lanes, hosts })
    }

    /// The address of a lane.
    #[inline(always)]
    pub(super) fn host(&self, lane: usize) -> u64 {
        self.hosts[lane / GROUP] + u64::from(self.stride) * (lane % GROUP) as u64
    }

    /// Bytes from the first one of a group to the last one.
    #[inline(always)]
    fn span(&self) -> u64 {
        u64::from(self.bytes) + u64::from(self.stride) * (GROUP as u64 - 1)
    }

    /// Whether all accessed bytes lie in a window.
    #[inline(always)]
    fn is_in(&self, window: &Window) -> bool {
        let whole = self.span();
        let most = (window.end - window.start).wrapping_sub(whole);
        whole <= window.end - window.start && self.hosts.iter().all(|host| host.wrapping_sub(window.start) <= most)
    }
}

/// Equal reads at a fixed distance, by one warp or by warps that follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    first: GroupAccess,
    /// Bytes from one read to the next.
    step: u64,
    /// Warps from one read to the next: 0 or 1.
    warp_step: u8,
    count: u64,
}

impl Pattern {
    /// The reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = GroupAccess> {
        let Self { first, step, warp_step, count } = *self;
        let different = if (step, warp_step) == (0, 0) { 1 } else { count };
        (0..different).map(move |index| {
            let mut access = first;
            access.hosts = first.hosts.map(|host| host.wrapping_add(step.wrapping_mul(index)));
            access.record.warp += warp_step * index as u8;
            access
        })
    }
}

/// Where no region is.
const NOWHERE: u32 = u32::MAX;

/// A pattern that may still grow, and what the next read is if the pattern goes on. An instruction has at most one growing pattern.
///
/// Native code compares its reads with the next read, and takes one in without a call ([`crate::compile::reads`]).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Growth {
    /// The number of further reads that native code may take in.
    pub(crate) room: u64,
    /// What the clocks of warps must be ([`ReadKey`]), and their number in the block.
    pub(crate) key: ReadKey,
    pub(crate) warp: u64,
    /// Warps from one read to the next: 0 or 1.
    pub(crate) warp_step: u64,
    /// The bytes of a lane, and in the upper half the stride of lanes.
    pub(crate) what: u64,
    /// Where the next read begins, for each group of lanes. Native code goes on from those that it compares.
    pub(crate) next: [u64; GROUPS],
    /// Bytes from one read to the next. Before the second read, those of the pattern before.
    pub(crate) step: u64,
    /// The number of reads; 0 if there is no pattern.
    pub(crate) count: u64,
    first: GroupAccess,
    region: u32,
}

/// The clock of a warp whose lanes have the same past, as far as reads of clean regions depend on it, with its block. 0 stands for
/// no such clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(crate) struct ReadKey(u64);

impl ReadKey {
    pub(crate) const NONE: Self = Self(0);

    /// The key in an epoch of a warp that knows of one epoch of all threads of its block.
    pub(crate) fn new(block: u32, epoch: u32, known: u32) -> Self {
        let is_known = epoch <= u16::MAX.into() && known <= u16::MAX.into() && block < u32::MAX;
        Self(if is_known { u64::from(block + 1) << 32 | u64::from(epoch) << 16 | u64::from(known) } else { 0 })
    }
}

/// The bytes and the stride of lanes, as [`Growth`] has them.
pub(crate) fn what_of(bytes: u64, stride: u64) -> u64 {
    bytes | stride << 32
}

impl Growth {
    /// A pattern of one read in a region. The pattern before is likely to come again.
    fn start(&mut self, read: &GroupAccess, region: u32, window: &Window) {
        let what = what_of(read.bytes.into(), read.stride.into());
        if self.what != what {
            (self.step, self.warp_step, self.what) = (0, 0, what);
        }
        (self.first, self.region, self.count) = (*read, region, 1);
        self.expect(read, window);
    }

    /// Takes in another read of the window that continues the pattern.
    #[inline(always)]
    fn extend(&mut self, read: &GroupAccess, window: &Window) -> bool {
        let first = &self.first;
        let is_same = first.record.is_of_instruction(&read.record)
            && (first.block, first.bytes, first.stride, first.lanes)
                == (read.block, read.bytes, read.stride, read.lanes);
        let last = self.count.wrapping_sub(1);
        let is_second = last == 0;
        let back = self.step.wrapping_mul(last);
        let step = read.hosts[0].wrapping_sub(first.hosts[0]).wrapping_sub(back);
        let is_step = |group: usize| read.hosts[group].wrapping_sub(first.hosts[group]).wrapping_sub(back) == step;
        let warps = u64::from(read.record.warp).wrapping_sub(first.record.warp.into());
        let warp_step = warps.wrapping_sub(self.warp_step.wrapping_mul(last));
        let goes_on = if is_second { warp_step <= 1 } else { (step, warp_step) == (self.step, self.warp_step) };
        let follows = self.count != 0 && is_same && goes_on && (1..GROUPS).all(is_step);
        if !follows {
            return false;
        }
        self.count += 1;
        if is_second || self.room == 0 {
            (self.step, self.warp_step) = (step, warp_step);
            self.expect(read, window);
        } else {
            self.room -= 1;
            self.warp += warp_step;
            self.next = read.hosts.map(|host| host.wrapping_add(step));
        }
        true
    }

    /// Expects the read that follows the last one, if it lies in the region, too.
    fn expect(&mut self, last: &GroupAccess, window: &Window) {
        let lowest = last.hosts.iter().min().map_or(0, |host| host - window.start);
        let highest = last.hosts.iter().max().map_or(0, |host| window.end - last.span() - host);
        let step = self.step.cast_signed();
        let room =
            if step < 0 { lowest / step.unsigned_abs() } else { highest.checked_div(step as u64).unwrap_or(MOST_ROOM) };
        // Native code does not look whether addresses are aligned.
        let is_aligned = self.step.is_multiple_of(u64::from(last.bytes.max(1)));
        self.key = ReadKey::new(last.record.block, last.record.epoch, last.block);
        let may_go_on = is_aligned && last.lanes == FULL && self.key != ReadKey::NONE;
        self.room = if may_go_on { room.min(MOST_ROOM) } else { 0 };
        self.warp = u64::from(last.record.warp) + self.warp_step;
        self.next = last.hosts.map(|host| host.wrapping_add(self.step));
    }

    /// Leaves native code only reads of memory of which each byte was written: of the next few, those before the first other one.
    fn limit(&mut self, is_written: impl Fn(u64, u64) -> bool) {
        let whole = self.first.span();
        let is_in_a_row = self.next.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == whole);
        let (first, whole) =
            if is_in_a_row { (&self.next[..1], whole * GROUPS as u64) } else { (&self.next[..], whole) };
        // What lies between the reads mostly was written as well.
        let distance = self.step.cast_signed().unsigned_abs();
        let count = self.room.min(LOOKED_AT).min(LOOKED_AT_BYTES / distance.max(1) + 1);
        let beyond = distance * (count - 1);
        let back = if self.step.cast_signed() < 0 { beyond } else { 0 };
        if first.iter().all(|host| is_written(host - back, whole + beyond)) {
            self.room = count;
            return;
        }
        let is_good = |read: &u64| {
            let ahead = self.step.wrapping_mul(*read);
            first.iter().all(|host| is_written(host.wrapping_add(ahead), whole))
        };
        self.room = (0..self.room.min(LOOKED_AT_APART)).take_while(is_good).count() as u64;
    }

    fn pattern(&self) -> Pattern {
        Pattern { first: self.first, step: self.step, warp_step: self.warp_step as u8, count: self.count }
    }

    /// The pattern grows no more.
    fn end(&mut self) {
        (self.room, self.count, self.region) = (0, 0, NOWHERE);
    }
}

/// A region and its reads.
#[derive(Debug)]
struct Region {
    window: Window,
    /// `None` if the region is written.
    patterns: Option<Vec<Pattern>>,
    /// Whether the cells have reads of the region.
    is_read: bool,
    /// Reads of the region without a stride, or strong accesses to it. A region with strong accesses has no patterns.
    log: Log,
    /// Of a block's shared memory: the number of revocations until then, if each byte was found to be written.
    whole: Option<u32>,
    /// Whether that was looked for since the last barrier.
    is_looked_at: bool,
}

/// Accesses to a region that become records.
pub(super) struct Noted {
    pub(super) patterns: Vec<Pattern>,
    /// Where the region starts.
    pub(super) start: u64,
    pub(super) log: Log,
}

/// How a region was accessed, in the order of what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// By the strong accesses of its log alone.
    Logged,
    /// The cells have reads.
    Read,
    Written,
}

/// A region that was accessed.
#[derive(Debug, Clone, Copy)]
struct Used {
    window: Window,
    index: usize,
    how: Use,
}

impl Used {
    const NOTHING: Self = Self { window: Window { start: 0, end: 0 }, index: 0, how: Use::Logged };
}

impl Region {
    /// Adds a pattern that grows no more.
    fn add(&mut self, pattern: Pattern) {
        if let Some(patterns) = &mut self.patterns {
            patterns.push(pattern);
        }
    }
}

/// The reads of clean regions.
#[derive(Debug)]
pub(super) struct Reads {
    /// Allocations and the window of shared memory, by their addresses.
    windows: Vec<Window>,
    regions: Vec<Region>,
    /// The regions by their start, as indices.
    by_start: FxHashMap<u64, usize>,
    /// By instruction.
    growths: Shadow,
    instructions: usize,
    /// The instructions whose patterns may grow.
    growing: Vec<u32>,
    /// Some of the regions whose accesses are not noted, or logged.
    used: Box<[Used; REMEMBERED]>,
    /// The window of shared memory.
    shared: Window,
    /// The accesses in all logs.
    logged: usize,
    /// Logs and lists of patterns of earlier launches, for their memory.
    spare: Vec<Log>,
    spare_patterns: Vec<Vec<Pattern>>,
    /// The region that was looked up last.
    last: usize,
    /// How often native code was to report its reads again.
    revocations: u32,
}

/// The place of a region among [`Reads::used`].
#[inline(always)]
fn place_of(address: u64) -> usize {
    (address / REGION) as usize % REMEMBERED
}

impl Reads {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            windows: Vec::new(),
            regions: Vec::new(),
            by_start: FxHashMap::default(),
            growths: Shadow::new(1)?,
            instructions: 0,
            growing: Vec::new(),
            used: Box::new([Used::NOTHING; REMEMBERED]),
            shared: Window { start: 0, end: 0 },
            logged: 0,
            spare: Vec::new(),
            spare_patterns: Vec::new(),
            last: 0,
            revocations: 0,
        })
    }

    /// A launch of a program of so many instructions begins that may access this shared memory and these allocations, in the order
    /// of their addresses.
    pub(super) fn begin(&mut self, instructions: usize, shared: Window, allocations: Vec<Window>) -> io::Result<()> {
        // A cell is in one region.
        self.windows = allocations;
        self.windows.retain(|window| window.start.is_multiple_of(CELL));
        let place = self.windows.partition_point(|window| window.start < shared.start);
        self.windows.insert(place, shared);
        (self.shared, self.logged) = (shared, 0);
        for Region { log, patterns, .. } in self.regions.drain(..) {
            self.spare.extend(Some(log).filter(Log::has_memory));
            self.spare_patterns.extend(patterns.filter(|patterns| patterns.capacity() != 0));
        }
        self.spare.iter_mut().for_each(Log::clear);
        self.spare_patterns.iter_mut().for_each(Vec::clear);
        self.spare_patterns.truncate(MOST_SPARE);
        self.by_start.clear();
        self.end_all(|_| true);
        if self.growths.bytes() < instructions * size_of::<Growth>() {
            self.growths = Shadow::new(instructions * size_of::<Growth>())?;
        }
        self.instructions = instructions;
        self.used.fill(Used::NOTHING);
        Ok(())
    }

    /// The patterns that may grow, by instruction.
    pub(super) fn growths(&self) -> *mut Growth {
        self.growths.base()
    }

    fn growth(&mut self, instruction: u32) -> &mut Growth {
        // SAFETY: the table has a place for each instruction; `self`, which is borrowed mutably, owns it, and native code has no
        // reference to a place. Zeros are a pattern of no reads.
        unsafe { &mut *self.growths.base::<Growth>().wrapping_add(instruction as usize) }
    }

    /// Lets native code take in only reads of memory of which each byte was written, by an instruction that has just read in a block with
    /// this shared memory.
    pub(super) fn limit(&mut self, instruction: u32, shared: &Range<u64>, map: &Unwritten) {
        if (instruction as usize) >= self.instructions || self.growth(instruction).room == 0 {
            return;
        }
        let index = self.growth(instruction).region as usize;
        let Window { start, .. } = self.regions[index].window;
        let is_whole = if self.shared.contains(start) {
            self.is_whole(index, shared, map)
        } else {
            self.allocation(start).is_some_and(|whole| map.is_written(whole.start, whole.end))
        };
        if !is_whole {
            self.growth(instruction).limit(|start, bytes| !map.any(start, bytes));
        }
    }

    /// Whether each byte of a block's shared memory was written, if the region is that memory. It is looked at once between two barriers.
    fn is_whole(&mut self, index: usize, shared: &Range<u64>, map: &Unwritten) -> bool {
        let region = &mut self.regions[index];
        if !region.is_looked_at && region.window.contains(shared.start) && shared.end <= region.window.end {
            region.is_looked_at = true;
            region.whole = (!map.any(shared.start, shared.end - shared.start)).then_some(self.revocations);
        }
        region.whole == Some(self.revocations)
    }

    /// The allocation of an address, or all shared memory.
    fn allocation(&self, address: u64) -> Option<Window> {
        let behind = self.windows.partition_point(|window| window.start <= address);
        self.windows[..behind].last().copied().filter(|window| window.contains(address))
    }

    /// Lets native code take in no more reads before a report.
    pub(super) fn revoke(&mut self) {
        self.revocations = self.revocations.wrapping_add(1);
        for at in 0..self.growing.len() {
            self.growth(self.growing[at]).room = 0;
        }
    }

    /// Ends the growth of patterns of some regions, without a trace.
    fn end_all(&mut self, is_over: impl Fn(u32) -> bool) {
        let mut growing = std::mem::take(&mut self.growing);
        growing.retain(|instruction| {
            let growth = self.growth(*instruction);
            let goes_on = !is_over(growth.region);
            if !goes_on {
                growth.end();
            }
            goes_on
        });
        self.growing = growing;
    }

    /// The index of the region of an address.
    fn region(&mut self, address: u64) -> Option<usize> {
        if self.regions.get(self.last).is_some_and(|last| last.window.contains(address)) {
            return Some(self.last);
        }
        let window = self.allocation(address)?;
        let start = address / REGION * REGION;
        let window = Window { start: start.max(window.start), end: (start + REGION).min(window.end) };
        let (regions, spare) = (&mut self.regions, &mut self.spare_patterns);
        self.last = *self.by_start.entry(window.start).or_insert_with(|| {
            regions.push(Region {
                window,
                patterns: Some(spare.pop().unwrap_or_default()),
                is_read: false,
                log: Log::default(),
                whole: None,
                is_looked_at: false,
            });
            regions.len() - 1
        });
        Some(self.last)
    }

    /// Notes reads, if they lie in one clean region.
    #[inline]
    pub(super) fn note(&mut self, read: &GroupAccess) -> bool {
        if read.record.source as usize >= self.instructions {
            return false;
        }
        // SAFETY: as in `growth`.
        let growth = unsafe { &mut *self.growths.base::<Growth>().wrapping_add(read.record.source as usize) };
        if growth.count != 0 {
            let window = &self.regions[growth.region as usize].window;
            if read.is_in(window) && growth.extend(read, window) {
                return true;
            }
        }
        let first = read.hosts[0];
        !self.is_used(first, Use::Written) && self.start_pattern(read)
    }

    #[inline(never)]
    fn start_pattern(&mut self, read: &GroupAccess) -> bool {
        let (first, instruction) = (read.hosts[0], read.record.source);
        let growth = *self.growth(instruction);
        // An instruction mostly stays in its region.
        let last = (growth.count != 0).then_some(growth.region as usize);
        if let Some(region) = last {
            self.regions[region].add(growth.pattern());
        }
        let last = last.filter(|region| read.is_in(&self.regions[*region].window));
        let region = last.or_else(|| self.region(first)).filter(|region| read.is_in(&self.regions[*region].window));
        let Some((index, region)) = region.map(|index| (index, &self.regions[index])) else {
            self.forget(instruction);
            return false;
        };
        match &region.patterns {
            Some(patterns) if patterns.len() < MOST && region.log.may_have(false) => {
                let window = region.window;
                if growth.count == 0 {
                    self.growing.push(instruction);
                }
                self.growth(instruction).start(read, index as u32, &window);
                true
            }
            Some(_) => {
                self.forget(instruction);
                false
            }
            None => {
                self.remember(index, Use::Written);
                self.forget(instruction);
                false
            }
        }
    }

    /// The pattern of an instruction, which is noted elsewhere, grows no more.
    fn forget(&mut self, instruction: u32) {
        if self.growth(instruction).count != 0 {
            self.growth(instruction).end();
            self.growing.retain(|growing| *growing != instruction);
        }
    }

    /// Whether the region of an address is remembered as one that was accessed in some way at least.
    #[inline(always)]
    fn is_used(&self, address: u64, how: Use) -> bool {
        let used = &self.used[place_of(address)];
        used.window.contains(address) && used.how >= how
    }

    fn remember(&mut self, index: usize, how: Use) {
        let window = self.regions[index].window;
        self.used[place_of(window.start)] = Used { window, index, how };
    }

    /// An access to an address follows that is not noted: the accesses that have to become records before.
    #[inline(always)]
    pub(super) fn before(&mut self, address: u64, is_read: bool) -> Option<Noted> {
        let how = if is_read { Use::Read } else { Use::Written };
        if self.is_used(address, how) { None } else { self.begin_use(address, is_read) }
    }

    #[inline(never)]
    fn begin_use(&mut self, address: u64, is_read: bool) -> Option<Noted> {
        let index = self.region(address)?;
        let region = &mut self.regions[index];
        // An empty log keeps its memory.
        let log = if region.log.is_empty() { Log::default() } else { std::mem::take(&mut region.log) };
        self.logged -= log.accesses().len();
        let start = region.window.start;
        if is_read && !log.writes() {
            region.is_read = true;
            let how = if region.patterns.is_some() { Use::Read } else { Use::Written };
            self.remember(index, how);
            return (!log.is_empty()).then_some(Noted { patterns: Vec::new(), start, log });
        }
        for at in 0..self.growing.len() {
            let growth = *self.growth(self.growing[at]);
            if growth.region as usize == index {
                self.regions[index].add(growth.pattern());
            }
        }
        self.end_all(|of| of as usize == index);
        self.remember(index, Use::Written);
        let patterns = self.regions[index].patterns.take().unwrap_or_default();
        let has_any = !patterns.is_empty() || !log.is_empty();
        has_any.then_some(Noted { patterns, start, log })
    }

    /// Notes a strong access by the lanes whose region is clean and without reads; returns the other lanes. The scope `whole` includes
    /// all threads.
    #[inline(always)]
    pub(super) fn log_strong(&mut self, access: LoggedAccess, whole: Scope, host: impl Fn(usize) -> u64) -> u32 {
        self.log(access, host, |reads, address| reads.log_of_strong(address, &access.record, whole))
    }

    /// Notes a read by the lanes whose region is clean and without strong accesses; returns the other lanes.
    #[inline(always)]
    pub(super) fn log_read(&mut self, access: LoggedAccess, host: impl Fn(usize) -> u64) -> u32 {
        self.log(access, host, Self::log_of_reads)
    }

    /// Notes an access by the lanes to whose addresses there is a log, given the index of a region; returns the other lanes.
    #[inline(always)]
    fn log(
        &mut self,
        access: LoggedAccess,
        host: impl Fn(usize) -> u64,
        log_of: impl Fn(&mut Self, u64) -> Option<usize>,
    ) -> u32 {
        let (mut left, mut others) = (access.lanes, 0);
        while left != 0 {
            let first = left & left.wrapping_neg();
            let address = host(first.trailing_zeros() as usize);
            let noted = match log_of(self, address) {
                Some(index) if self.logged < MOST_LOGGED => {
                    let region = &mut self.regions[index];
                    region.log.add(LoggedAccess { lanes: left, ..access }, &region.window, &host)
                }
                Some(_) | None => 0,
            };
            self.logged += usize::from(noted != 0);
            others |= if noted == 0 { first } else { 0 };
            left &= !(noted | first);
        }
        others
    }

    /// The addresses of regions with logs that are not empty.
    pub(super) fn logged(&self) -> Vec<u64> {
        let logged = self.regions.iter().filter(|region| !region.log.is_empty());
        logged.map(|region| region.window.start).collect()
    }

    /// The index of the region of an address, if its log can take in reads.
    #[inline(always)]
    fn log_of_reads(&mut self, address: u64) -> Option<usize> {
        let used = &self.used[place_of(address)];
        if !used.window.contains(address) {
            return self.begin_log_of_reads(address);
        }
        let index = (used.how != Use::Written).then_some(used.index)?;
        self.regions[index].log.may_have(false).then_some(index)
    }

    #[inline(never)]
    fn begin_log_of_reads(&mut self, address: u64) -> Option<usize> {
        let index = self.region(address)?;
        let region = &mut self.regions[index];
        if region.patterns.is_none() {
            self.remember(index, Use::Written);
            return None;
        }
        if !region.log.has_memory() {
            region.log = self.spare.pop().unwrap_or_default();
        }
        let how = if region.is_read { Use::Read } else { Use::Logged };
        self.remember(index, how);
        self.regions[index].log.may_have(false).then_some(index)
    }

    /// The index of the region of an address, if its log can take in a strong access.
    #[inline(always)]
    fn log_of_strong(&mut self, address: u64, record: &Record, whole: Scope) -> Option<usize> {
        let whole = if self.shared.contains(address) { Scope::Block } else { whole };
        if !record.is_harmless(whole) {
            return None;
        }
        let used = &self.used[place_of(address)];
        if !used.window.contains(address) {
            return self.begin_log(address);
        }
        match used.how {
            Use::Logged if self.regions[used.index].log.is_of_strong() => Some(used.index),
            Use::Logged => self.begin_log(address),
            Use::Read | Use::Written => None,
        }
    }

    #[inline(never)]
    fn begin_log(&mut self, address: u64) -> Option<usize> {
        let index = self.region(address)?;
        let is_growing = (0..self.growing.len()).any(|at| self.growth(self.growing[at]).region as usize == index);
        let region = &self.regions[index];
        let is_clean = region.patterns.as_ref().is_some_and(Vec::is_empty) && region.log.may_have(true);
        if !is_clean || region.is_read || is_growing {
            return None;
        }
        if !region.log.has_memory() {
            self.regions[index].log = self.spare.pop().unwrap_or_default();
        }
        self.remember(index, Use::Logged);
        Some(index)
    }

    /// A block begins with this shared memory.
    pub(super) fn begin_block(&mut self, shared: u64) {
        self.settle(shared);
        if let Some(index) = self.region(shared) {
            (self.regions[index].whole, self.regions[index].is_looked_at) = (None, false);
        }
    }

    /// All threads that can access a block's shared memory know of all accesses to it: it is clean.
    pub(super) fn settle(&mut self, shared: u64) {
        let Some(index) = self.region(shared) else { return };
        self.end_all(|of| of as usize == index);
        let region = &mut self.regions[index];
        region.patterns.get_or_insert_default().clear();
        (region.is_read, region.is_looked_at) = (false, region.whole == Some(self.revocations));
        self.logged -= region.log.accesses().len();
        region.log.clear();
        let used = &mut self.used[place_of(region.window.start)];
        if used.window == region.window && used.how != Use::Logged {
            *used = Used::NOTHING;
        }
    }
}
