//! The last accesses to memory: a cell for each 32 bytes that threads can share, at a fixed distance from the memory.
//!
//! A record describes one access of a whole warp to the bytes of a cell, so that a warp that walks through memory in
//! order needs one or two records per cell. Records that no later access can race with are dropped at once: an access
//! ordered after a later write to the same bytes is also ordered after them. Of many readers of the same bytes some are
//! kept. [`crate::check::clock`] has the clocks of threads; [`crate::check::race`] says when a cell is queried.
//!
//! As long as all accesses to a line of 128 bytes are in rows, [`crate::check::lines`] has them, and the line's cells are empty.

use std::io;
use std::ops::Range;

use crate::base::lanes::{GROUP, GROUPS, lanes_of};
use crate::base::prefetch::prefetch;
use crate::check::batch::parts;
use crate::check::clock::VectorClock;
use crate::check::launches::{LaunchShape, Launches};
use crate::check::lines::Line;
use crate::check::order::Scope;
use crate::check::program::OfProgram;
use crate::check::proxy::{AGENT, Proxy};
use crate::check::reads::{GroupAccess, Reads};
use crate::check::record::{CELL, Conflict, ConflictKind, Record, View, WORD, WORDS, bytes_of, lanes_apart};
use crate::check::row::{LINE, Row, Rows, Runs};
use crate::mem::arena::{Arena, Window};
use crate::mem::shadow::Shadow;

/// Lists of a cell.
const WRITES: usize = 0;
const READS: usize = 1;

/// Most records of each list.
const LIST: [u8; 2] = [8, 3];
/// The number of records after which a list need not be exact, if none of its records can race with each other.
const EXACT: u8 = 3;

/// The number of accesses to a cell after which further accesses are sampled, if they cannot race with each other.
const MANY: u8 = 16;

/// The records of 32 bytes.
#[repr(C, align(128))]
struct Cell {
    /// The number of the launch that the contents belong to, or 0.
    generation: u16,
    /// Lengths of both lists: of accesses that write, and of accesses that only read. Beyond a list's capacity, the
    /// length counts the accesses since.
    lengths: [u8; 2],
    /// Number of the chunk, if it has one.
    chunk: [u8; 3],
    /// The flags that all accesses that write share, or [`MIXED`].
    common: u8,
    /// The first access that writes; the others are in the chunk.
    write: Record,
    reads: [Record; LIST[READS] as usize],
}

impl Cell {
    /// Whether it has many accesses like one for a list, none of which race with each other, and no others. The scope `whole` includes
    /// all threads that can access it.
    #[inline(always)]
    fn has_many(&self, list: usize, mine: &Record, whole: Scope) -> bool {
        self.lengths[list] >= MANY
            && self.lengths[1 - list] == 0
            && (list == READS || self.common == mine.nature() && mine.is_harmless(whole))
    }

    /// Nothing has accessed the cell before in a launch, unless the cell has begun.
    #[inline(always)]
    fn begin(&mut self, generation: u16) {
        if self.generation != generation {
            (self.generation, self.chunk, self.lengths) = (generation, [0; 3], [0; 2]);
        }
    }
}

/// Flags that no kind of access has.
const MIXED: u8 = 0x7f;

/// The other accesses that write.
type Chunk = [Record; LIST[WRITES] as usize - 1];

/// Most chunks of a launch: they are counted in three bytes, from 1.
const CHUNKS: usize = (1 << 24) - 1;

/// How many lines ahead of an access a line is prefetched: those of a block of 256 threads.
const AHEAD: usize = 8;

/// The accesses to a window of memory.
pub(super) struct Accesses {
    pub(super) window: Window,
    lines: Shadow,
    cells: Shadow,
}

impl Accesses {
    /// None yet.
    pub(super) fn new(window: Window) -> io::Result<Self> {
        let shadow = |unit: u64, bytes: usize| Shadow::new(window.bytes().div_ceil(unit as usize) * bytes);
        Ok(Self { window, lines: shadow(LINE, size_of::<Line>())?, cells: shadow(CELL, size_of::<Cell>())? })
    }

    #[inline(always)]
    fn line(&self, address: u64) -> *mut Line {
        self.lines.base::<Line>().wrapping_add(((address - self.window.start) / LINE) as usize)
    }

    #[inline(always)]
    fn cell(&self, address: u64) -> *mut Cell {
        self.cells.base::<Cell>().wrapping_add(((address - self.window.start) / CELL) as usize)
    }
}

/// The cells of a device's memory.
pub(crate) struct Cells {
    /// Those of the heap, of shared memory, of the grids' barriers, then of the host's own memory.
    pub(super) windows: Vec<Accesses>,
    chunks: Shadow,
    used: usize,
    generation: u16,
    pub(super) launches: Launches,
    /// The most blocks of a cluster.
    pub(super) cluster: u32,
    /// Whether operations of proxies other than the generic proxy may query the cells: accesses that a block knows of
    /// are then kept.
    pub(super) keeps: bool,
    /// Whether the program may begin such operations.
    pub(super) uses_proxies: bool,
    pub(super) reads: Reads,
    /// Where the device's memory begins, which is another address in each process.
    origin: u64,
}

/// The number of the device's own windows, and the index of the window of shared memory.
pub(super) const OWN: usize = 3;
const SHARED: usize = 1;

impl Cells {
    /// Cells for the memory of a device.
    pub(crate) fn new(arena: &Arena) -> io::Result<Self> {
        Ok(Self {
            windows: [arena.heap, arena.shared, arena.grids]
                .into_iter()
                .map(Accesses::new)
                .collect::<io::Result<_>>()?,
            chunks: Shadow::new((CHUNKS + 1) * size_of::<Chunk>())?,
            used: 0,
            generation: 0,
            launches: Launches::new(LaunchShape { device: 0, threads: 0, cluster: 1 }),
            cluster: 1,
            keeps: false,
            uses_proxies: false,
            reads: Reads::new()?,
            origin: arena.functions.start,
        })
    }

    /// Begins a launch of a program: forgets all accesses. Kernels can also access these ranges of the host's own memory, and
    /// `allocations` in all.
    pub(crate) fn begin(
        &mut self,
        (program, shape): (&OfProgram<'_>, LaunchShape),
        host: &[Window],
        allocations: Vec<Window>,
    ) -> io::Result<()> {
        let mut rest = self.windows.split_off(OWN);
        for window in host.iter().map(whole_lines) {
            let known = rest.iter().position(|known| known.window == window);
            let known = known.map_or_else(|| Accesses::new(window), |known| Ok(rest.swap_remove(known)))?;
            self.windows.push(known);
        }
        self.used = 0;
        self.launches = Launches::new(shape);
        self.cluster = shape.cluster;
        self.keeps = false;
        self.uses_proxies = program.uses_proxies;
        self.reads.begin(program.instructions, self.windows[SHARED].window, allocations)?;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            // Launch numbers start again, and old cells must not be taken for cells of the new launch.
            self.windows.iter().flat_map(|known| [&known.lines, &known.cells]).for_each(Shadow::clear);
            self.generation = 1;
        }
        Ok(())
    }

    /// The narrowest scope that includes all threads that can access memory, which one block alone accesses if it is private.
    #[inline(always)]
    fn whole(&self, private: bool) -> Scope {
        if private { Scope::Block } else { self.launches.whole() }
    }

    /// Announces operations of proxies other than the generic proxy.
    pub(crate) fn keep_for_proxies(&mut self) {
        debug_assert!(self.uses_proxies, "the program is known to use no other proxies");
        if !self.keeps {
            self.keeps = true;
            self.reads.revoke();
        }
    }

    /// The reads of clean regions.
    pub(super) fn reads(&mut self) -> &mut Reads {
        &mut self.reads
    }

    /// Whether there is a cell for an address.
    pub(crate) fn knows(&self, address: u64) -> bool {
        self.windows.iter().any(|known| known.window.contains(address))
    }

    /// Forgets the accesses to a range of shared memory, which another block gets.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        if start < end {
            self.reads.begin_block(start);
        }
        for number in start / LINE..end.div_ceil(LINE) {
            let address = number * LINE;
            let Some((known, _)) = self.accesses(address) else { continue };
            // SAFETY: lines and cells belong to `self`, which is borrowed mutably, and any bytes are valid ones.
            unsafe {
                if (*known.line(address)).forget() {
                    (0..LINE / CELL).for_each(|cell| (*known.cell(address + cell * CELL)).generation = 0);
                }
            }
        }
    }

    /// All threads of a block know of all accesses to its shared memory.
    pub(super) fn settle(&mut self, shared: &Range<u64>) {
        // Other blocks of a cluster and operations under way know nothing of that.
        if self.cluster == 1 && !self.keeps && !shared.is_empty() {
            self.reads.settle(shared.start);
        }
    }

    /// Accesses at a fixed distance from lane to lane; returns whether they have been put, in a form that is shorter than one
    /// access of each lane.
    #[inline(always)]
    pub(super) fn put_affine(&mut self, access: &GroupAccess, view: &View<'_>, found: &mut Vec<Conflict>) -> bool {
        access.record.is_read() && self.note(access) || self.put_in_short(access, view, found)
    }

    #[inline(always)]
    pub(super) fn put_in_short(&mut self, access: &GroupAccess, view: &View<'_>, found: &mut Vec<Conflict>) -> bool {
        if access.is_in_rows() {
            self.put_rows(access.rows(), view, found);
            return true;
        }
        // Lanes that write to the same place race with each other.
        let reads_one_place = access.stride == 0 && access.record.is_read();
        if reads_one_place {
            self.put_groups(access, view, found);
        }
        reads_one_place
    }

    /// Accesses by lanes of a warp in runs.
    pub(super) fn put_runs(&mut self, runs: &Runs, view: &View<'_>, found: &mut Vec<Conflict>) {
        self.put_rows(runs.rows(), view, found);
    }

    #[inline(always)]
    fn put_rows(&mut self, runs: impl Iterator<Item = Rows>, view: &View<'_>, found: &mut Vec<Conflict>) {
        for rows in runs {
            for (line, row) in rows {
                if row.words != 0 {
                    self.put_row(line, row, view, found);
                }
            }
        }
    }

    /// The lanes whose accesses are not skipped because their cells have many like them.
    pub(super) fn not_left_out(&self, record: &Record, lanes: u32, host: impl Fn(usize) -> u64) -> u32 {
        // Only accesses that do not race with each other are skipped.
        if !record.is_harmless(Scope::Block) {
            return lanes;
        }
        let is_left_out = |lane: &usize| {
            let address = host(*lane);
            let Some((known, private)) = self.accesses(address) else { return false };
            // SAFETY: `self` owns the cells, which nothing changes meanwhile.
            let cell = unsafe { &*known.cell(address) };
            let list = usize::from(record.is_read());
            cell.generation == self.generation
                && cell.has_many(list, record, self.whole(private))
                && is_left_out(address.wrapping_sub(self.origin), record)
        };
        lanes_of(lanes).filter(|lane| !is_left_out(lane)).fold(0, |left, lane| left | 1 << lane)
    }

    /// Accesses by lanes of a warp, whose groups read one place each.
    fn put_groups(&mut self, access: &GroupAccess, view: &View<'_>, found: &mut Vec<Conflict>) {
        let GroupAccess { record, bytes, hosts, .. } = access;
        let mut left: u32 = (1 << GROUPS) - 1;
        while left != 0 {
            let host = hosts[left.trailing_zeros() as usize];
            let mut lanes = 0;
            for group in lanes_of(left).filter(|group| hosts[*group] == host) {
                lanes |= access.lanes & 0xff << (group * GROUP);
                left &= !(1 << group);
            }
            if lanes == 0 {
                continue;
            }
            for (start, bytes) in parts(host, u64::from(*bytes)) {
                self.put(start, &record.by_set(bytes, lanes), view, found);
            }
        }
    }

    /// Compares an access to one line with earlier accesses, and remembers it.
    #[inline(always)]
    fn put_row(&mut self, address: u64, mine: Row, view: &View<'_>, found: &mut Vec<Conflict>) {
        let first = address + u64::from(mine.words.trailing_zeros() * WORD);
        if let Some(noted) = self.reads.before(first, mine.is_read()) {
            self.put_noted(&noted, found);
        }
        let (generation, keeps) = (self.generation, self.keeps);
        let Some((known, private)) = self.accesses(address) else {
            return;
        };
        let place = known.line(address);
        prefetch(place.wrapping_add(AHEAD).addr() as u64);
        // SAFETY: the lines belong to `self`, which is borrowed mutably, and any bytes are a valid line.
        let line = unsafe { &mut *place };
        if !line.of_launch(generation).put(mine, view, [private && !keeps, private]) {
            for (cell, record) in mine.records() {
                self.put(address + cell * CELL, &record, view, found);
            }
        }
    }

    /// Makes the rows of an address's line records of its cells, before the first access to a cell of the line.
    #[cold]
    #[inline(never)]
    fn split(&mut self, address: u64) {
        let address = address / LINE * LINE;
        let generation = self.generation;
        let Some((known, private)) = self.accesses(address) else {
            return;
        };
        // SAFETY: as above.
        let line = unsafe { &mut *known.line(address) };
        if line.of_launch(generation).is_split() {
            return;
        }
        let cells = known.cell(address);
        // Which of the rows are in order was found when they came.
        let nothing = VectorClock::default();
        let view = View { block: 0, warp: 0, plain: true, known: &nothing, proxy: None };
        for row in line.split() {
            for (number, record) in row.records() {
                let place = cells.wrapping_add(number as usize);
                // SAFETY: the cells belong to `self`, which is borrowed mutably, and the lengths of their lists are correct.
                unsafe {
                    (*place).begin(generation);
                    if row.is_read() {
                        self.push_read(place, &record, &view);
                    } else {
                        self.push_write(place, &record, private);
                    }
                }
            }
        }
    }

    /// What is known of the memory at an address, and whether one block alone can access it.
    #[inline(always)]
    fn accesses(&self, address: u64) -> Option<(&Accesses, bool)> {
        let index = self.windows.iter().position(|known| known.window.contains(address))?;
        Some((&self.windows[index], index == SHARED && self.cluster == 1))
    }

    /// The cell of an address, begun and its line split, and whether one block alone can access it.
    #[inline(always)]
    fn cell(&mut self, address: u64) -> Option<(*mut Cell, bool)> {
        let (known, private) = self.accesses(address)?;
        let place = known.cell(address);
        // SAFETY: `self`, which is borrowed mutably, owns the cells, and any bytes are a valid cell.
        unsafe {
            if (*place).generation != self.generation {
                self.split(address);
                (*place).begin(self.generation);
            }
        }
        Some((place, private))
    }

    /// A record of a cell.
    ///
    /// # Safety
    /// `cell` belongs to `self`; it has a chunk if `index` is not 0 in the list of accesses that write.
    #[inline(always)]
    unsafe fn record(&self, cell: *mut Cell, list: usize, index: usize) -> *mut Record {
        // SAFETY: as the caller promises; a chunk has a record for each index but 0.
        unsafe {
            if list == READS {
                return &raw mut (*cell).reads[index];
            }
            if index == 0 {
                return &raw mut (*cell).write;
            }
            let [a, b, c] = (*cell).chunk.map(usize::from);
            let chunk = self.chunks.base::<Chunk>().wrapping_add(a | b << 8 | c << 16);
            &raw mut (*chunk)[index - 1]
        }
    }

    /// The capacity of a list of a cell: more than one record of accesses that write need a chunk.
    ///
    /// # Safety
    /// `cell` belongs to `self`.
    unsafe fn capacity(&mut self, cell: *mut Cell, list: usize) -> u8 {
        if list == READS {
            return LIST[READS];
        }
        // SAFETY: as the caller promises.
        let chunk = unsafe { &mut (*cell).chunk };
        if *chunk == [0; 3] {
            if self.used == CHUNKS {
                return 1;
            }
            self.used += 1;
            let [a, b, c, ..] = self.used.to_le_bytes();
            *chunk = [a, b, c];
        }
        LIST[WRITES]
    }

    /// Compares an access to one cell with earlier accesses, and remembers it. `address` is in the cell.
    #[inline(always)]
    pub(crate) fn put(&mut self, address: u64, mine: &Record, view: &View<'_>, found: &mut Vec<Conflict>) {
        let list = usize::from(mine.is_read());
        if let Some(noted) = self.reads.before(address, mine.is_read()) {
            self.put_noted(&noted, found);
        }
        let Some((place, private)) = self.cell(address) else {
            return;
        };
        // SAFETY: `self`, which is borrowed mutably, owns the cells, and any bytes are a valid cell.
        let cell = unsafe { &mut *place };
        // Usually an access of a warp supersedes all records of the cell.
        let [writes, reads] = cell.lengths;
        let is_over = |length: u8, first: &Record| length == 0 || length == 1 && mine.supersedes(first, view);
        let is_over =
            is_over(reads, &cell.reads[0]) && if list == READS { writes == 0 } else { is_over(writes, &cell.write) };
        if !is_over {
            if cell.has_many(list, mine, self.whole(private)) && is_left_out(address.wrapping_sub(self.origin), mine) {
                return;
            }
            return self.put_beside((place, private), address, mine, view, found);
        }
        cell.lengths = [(list == WRITES).into(), (list == READS).into()];
        cell.common = mine.nature();
        if list == READS {
            cell.reads[0] = *mine;
        } else {
            cell.write = *mine;
        }
    }

    /// [`put`](Self::put) for an asynchronous operation, which is not in the program order of a thread.
    pub(crate) fn put_apart(&mut self, address: u64, mine: &Record, view: &View<'_>, found: &mut Vec<Conflict>) {
        // Others may have read the memory while the operation is under way, without being ordered with it.
        if let Some(noted) = self.reads.before(address, false) {
            self.put_noted(&noted, found);
        }
        let Some(place) = self.cell(address) else {
            return;
        };
        self.put_beside(place, address, mine, view, found);
    }

    /// The general case of [`put`](Self::put): the cell keeps records of other accesses, too.
    #[inline(never)]
    fn put_beside(
        &mut self,
        (place, private): (*mut Cell, bool),
        address: u64,
        mine: &Record,
        view: &View<'_>,
        found: &mut Vec<Conflict>,
    ) {
        let mut at = At { start: address / CELL * CELL, private, told: 0 };
        let is_read = mine.is_read();
        // SAFETY: the cell belongs to `self`, which is borrowed mutably, and the lengths of its lists are correct.
        unsafe {
            let is_harmless = !is_read && (*place).common == mine.nature() && mine.is_harmless(self.whole(private));
            if (*place).lengths[WRITES] > 0 && !is_harmless {
                if is_read && mine.is_non_coherent() {
                    self.stale(place, WRITES, mine, at.start, found);
                } else if is_read && !private {
                    self.compare::<false>(place, WRITES, mine, view, &mut at, found);
                } else {
                    self.compare::<true>(place, WRITES, mine, view, &mut at, found);
                }
            }
            if is_read {
                return self.push_read(place, mine, view);
            }
            if (*place).lengths[READS] > 0 {
                if (*place).reads.iter().any(Record::is_non_coherent) {
                    self.stale(place, READS, mine, at.start, found);
                }
                self.compare::<true>(place, READS, mine, view, &mut at, found);
            }
            self.push_write(place, mine, private);
        }
    }

    /// Compares an access with the records of a list, and removes the records that it supersedes.
    ///
    /// # Safety
    /// `cell` belongs to `self`, and the lengths of its lists are correct.
    #[inline]
    unsafe fn compare<const REMOVE: bool>(
        &self,
        cell: *mut Cell,
        list: usize,
        mine: &Record,
        view: &View<'_>,
        at: &mut At,
        found: &mut Vec<Conflict>,
    ) {
        // A read supersedes no write.
        let removes = !mine.is_read();
        // SAFETY: as the caller promises.
        unsafe {
            let length = (*cell).lengths[list].min(LIST[list]);
            let (mut kept, mut common) = (0, None);
            for index in 0..usize::from(length) {
                let place = self.record(cell, list, index);
                let record = &mut *place;
                let overlap = record.bytes & mine.bytes;
                let may_go = list == READS || !self.keeps;
                if record.block == mine.block && record.epoch <= view.block && at.private && may_go {
                    // All threads that can access the cell know of the record.
                    record.bytes = 0;
                } else if overlap != 0 {
                    let ordered = record.ordered_before(mine, overlap, view);
                    if ordered != overlap {
                        self.conflict(record, mine, overlap & !ordered, view, at, found);
                    } else if let Some(proxy) = view.proxy {
                        self.unfenced(record, mine, record.unknown_to(proxy, overlap, view), proxy, at, found);
                    }
                    if REMOVE && removes && mine.hides(record) {
                        record.bytes &= !ordered;
                    }
                }
                if REMOVE && record.bytes != 0 {
                    let flags = record.nature();
                    common = match common {
                        None => Some(flags),
                        Some(same) if same == flags => common,
                        Some(_) => Some(MIXED),
                    };
                    if kept != index {
                        *self.record(cell, list, kept) = *place;
                    }
                    kept += 1;
                }
            }
            if REMOVE && list == WRITES {
                (*cell).common = common.unwrap_or(MIXED);
            }
            if REMOVE {
                (*cell).lengths[list] = kept as u8;
            }
        }
    }

    /// Notes conflicts of non-coherent loads, which need not see the kernel's writes: one such load with the writes
    /// before it, or a write with such loads before it, since the memory is then not read-only for the kernel.
    ///
    /// # Safety
    /// `cell` belongs to `self`, and the lengths of its lists are correct.
    #[cold]
    #[inline(never)]
    unsafe fn stale(&self, cell: *mut Cell, list: usize, mine: &Record, start: u64, found: &mut Vec<Conflict>) {
        // SAFETY: as the caller promises.
        unsafe {
            for index in 0..usize::from((*cell).lengths[list].min(LIST[list])) {
                let record = &*self.record(cell, list, index);
                let overlap = record.bytes & mine.bytes;
                if overlap == 0
                    || list == READS && !record.is_non_coherent()
                    || self.launches.had_ended(record.block, mine.block)
                {
                    continue;
                }
                // Records of other threads are preferred to a thread that overwrites memory that only it has read.
                let words = (0..WORDS).filter(|word| overlap & bytes_of(1 << word) != 0);
                let Some(word) = words.min_by_key(|word| record.is_of_one_thread(mine, *word)) else {
                    continue;
                };
                let byte = (overlap & bytes_of(1 << word)).trailing_zeros();
                let (lane, other) = lanes_apart(mine.lanes_at(word), record.lanes_at(word));
                found.push(Conflict {
                    touch: mine.touch(lane, word),
                    earlier: record.touch(other, word),
                    loads: [None; 2],
                    address: start + u64::from(byte),
                    kind: ConflictKind::Stale,
                });
            }
        }
    }

    /// Notes an access whose proxy was not told of an earlier write by a proxy fence.
    #[cold]
    #[inline(never)]
    fn unfenced(
        &self,
        record: &Record,
        mine: &Record,
        bytes: u32,
        proxy: Proxy,
        at: &mut At,
        found: &mut Vec<Conflict>,
    ) {
        if bytes == 0 || at.told != 0 {
            return;
        }
        let byte = bytes.trailing_zeros();
        let word = (byte / WORD) as usize;
        let touch = |record: &Record| record.touch(record.lanes_at(word).trailing_zeros(), word);
        at.told = u32::MAX;
        found.push(Conflict {
            touch: touch(mine),
            earlier: touch(record),
            loads: [None; 2],
            address: at.start + u64::from(byte),
            kind: ConflictKind::Unfenced(proxy),
        });
    }

    /// Notes two accesses that nothing orders, unless both are atomic for each other.
    #[cold]
    #[inline(never)]
    fn conflict(
        &self,
        record: &Record,
        mine: &Record,
        bytes: u32,
        view: &View<'_>,
        at: &mut At,
        found: &mut Vec<Conflict>,
    ) {
        let Some(kind) = record.conflict_with(mine, &self.launches) else {
            return;
        };
        for word in 0..WORDS {
            let here = bytes & bytes_of(1 << word);
            if here == 0 {
                continue;
            }
            for lane in lanes_of(mine.lanes_at(word) & !at.told) {
                let own = mine.thread(lane as u32);
                let mut others = lanes_of(record.lanes_at(word)).map(|lane| lane as u32);
                let Some(other) = others.find(|other| {
                    let other = record.thread(*other);
                    // Asynchronous operations of a thread are not ordered with its later accesses.
                    (other != own || own.block & AGENT != 0) && view.known.epoch(other) < record.epoch
                }) else {
                    continue;
                };
                // A pair that is no race must not suppress the report of a race.
                at.told |= u32::from(kind != ConflictKind::Volatile) << lane;
                found.push(Conflict {
                    touch: mine.touch(lane as u32, word),
                    earlier: record.touch(other, word),
                    loads: [None; 2],
                    address: at.start + u64::from(here.trailing_zeros()),
                    kind,
                });
            }
        }
    }

    /// Remembers a read.
    ///
    /// # Safety
    /// `cell` belongs to `self`, and the lengths of its lists are correct.
    #[inline]
    unsafe fn push_read(&mut self, cell: *mut Cell, mine: &Record, view: &View<'_>) {
        // SAFETY: as the caller promises.
        unsafe {
            let reads = (*cell).lengths[READS];
            let known = usize::from(reads.min(LIST[READS]));
            let records = &mut (*cell).reads;
            for record in records.iter_mut().take(known) {
                if mine.supersedes(record, view) {
                    *record = *mine;
                    return;
                }
                if record.merge(mine) {
                    return;
                }
            }
            (*cell).lengths[READS] = self.push(cell, READS, reads, mine, EXACT);
        }
    }

    /// Remembers an access that writes.
    ///
    /// # Safety
    /// `cell` belongs to `self`, and the lengths of its lists are correct.
    #[inline]
    unsafe fn push_write(&mut self, cell: *mut Cell, mine: &Record, private: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            let (writes, flags) = ((*cell).lengths[WRITES], mine.nature());
            (*cell).common = match writes {
                0 => flags,
                _ if (*cell).common == flags => flags,
                _ => MIXED,
            };
            let harmless = (*cell).common == flags && mine.is_harmless(self.whole(private));
            if harmless {
                for index in 0..usize::from(writes.min(EXACT)) {
                    let record = &mut *self.record(cell, WRITES, index);
                    if mine.repeats(record) && record.bytes & !mine.bytes == 0 {
                        *record = *mine;
                        return;
                    }
                    if record.merge(mine) {
                        return;
                    }
                }
            } else if writes > 0 && (*self.record(cell, WRITES, usize::from(writes.min(LIST[WRITES])) - 1)).merge(mine)
            {
                return;
            }
            let exact = if harmless { EXACT } else { LIST[WRITES] };
            (*cell).lengths[WRITES] = self.push(cell, WRITES, writes, mine, exact);
        }
    }

    /// Adds a record to a list, which is exact up to a length of `exact`; returns the new length.
    ///
    /// # Safety
    /// `cell` belongs to `self`, and the lengths of its lists are correct.
    #[inline]
    unsafe fn push(&mut self, cell: *mut Cell, list: usize, length: u8, mine: &Record, exact: u8) -> u8 {
        // SAFETY: as the caller promises.
        unsafe {
            if length == 0 {
                *self.record(cell, list, 0) = *mine;
                return 1;
            }
            let capacity = self.capacity(cell, list);
            if length < exact && length < capacity {
                *self.record(cell, list, usize::from(length)) = *mine;
                return length + 1;
            }
            for index in usize::from(length)..usize::from(capacity) {
                (*self.record(cell, list, index)).bytes = 0;
            }
            // The slot depends on the accessing warp, so that a warp with many accesses does not evict the records of
            // all others.
            let slot = u32::from(mine.warp).wrapping_add(mine.block) % u32::from(capacity);
            let record = &mut *self.record(cell, list, slot as usize);
            if !record.merge(mine) {
                *record = *mine;
            }
            length.max(capacity).saturating_add(u8::from(capacity > 1))
        }
    }
}

/// The lines that hold a window.
pub(super) fn whole_lines(window: &Window) -> Window {
    Window { start: window.start / LINE * LINE, end: window.end.next_multiple_of(LINE) }
}

/// The cell that is compared.
struct At {
    /// Where the cell starts.
    start: u64,
    /// Whether one block alone can access it.
    private: bool,
    /// Lanes whose conflict was already reported.
    told: u32,
}

/// Whether an access is among the three of four that are skipped when a cell has many: the choice is fixed for each
/// warp and cell, given by its offset in the device's memory, and differs from cell to cell.
#[inline(always)]
fn is_left_out(offset: u64, mine: &Record) -> bool {
    let place = (offset / CELL) as u32 ^ mine.block.wrapping_mul(0x9e37_79b9) ^ u32::from(mine.warp) << 16;
    place.wrapping_mul(0x85eb_ca6b) >> 30 != 0
}
