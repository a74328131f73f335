//! Random accesses of two blocks, compared with all pairs of them.

use std::sync::Arc;

use super::{Access, Arriving, BarrierPhase, LANES, Races};
use crate::base::lanes::GROUP;
use crate::base::report::AccessKind;
use crate::check::launches::LaunchShape;
use crate::check::order::Order;
use crate::check::order::{Scope, Semantics};
use crate::check::program::OfProgram;
use crate::check::record::ThreadAccess;
use crate::check::strided::Strided;
use crate::mem::arena::{Arena, Window};

const WARPS: u8 = 2;
/// The bytes that warps access.
const BYTES: u64 = 4096;

/// An access of one lane, and how often its block had met before.
struct Past {
    block: u32,
    warp: u8,
    lane: usize,
    source: u32,
    start: u64,
    bytes: u64,
    writes: bool,
    strong: bool,
    phase: u32,
}

impl Past {
    /// Whether two accesses race, where threads meet at barriers of their block alone.
    fn races(&self, later: &Self) -> bool {
        let overlap = self.start < later.start + later.bytes && later.start < self.start + self.bytes;
        let same = (self.block, self.warp, self.lane) == (later.block, later.warp, later.lane);
        let met = self.block == later.block && self.phase < later.phase;
        overlap && (self.writes || later.writes) && !(self.strong && later.strong) && !same && !met
    }
}

/// The accesses so far, which are found by the bytes that they touch.
struct History {
    accesses: Vec<Past>,
    /// For each byte, the positions of its accesses in the list.
    of_byte: Vec<Vec<usize>>,
    /// The first byte.
    start: u64,
}

impl History {
    fn new(start: u64) -> Self {
        Self { accesses: Vec::new(), of_byte: vec![Vec::new(); BYTES as usize], start }
    }

    /// Adds an access, and returns whether it races with an earlier one.
    fn add(&mut self, mine: Past) -> bool {
        let first = (mine.start - self.start) as usize;
        let touched = &mut self.of_byte[first..first + mine.bytes as usize];
        let is_race = touched.iter().flatten().any(|earlier| self.accesses[*earlier].races(&mine));
        touched.iter_mut().for_each(|byte| byte.push(self.accesses.len()));
        self.accesses.push(mine);
        is_race
    }
}

/// The memory that is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// Memory of which the detector knows no allocations: no reads are kept as patterns.
    Unknown,
    Allocation,
    /// The shared memory of one block.
    Shared,
}

/// How warps access memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Each lane where it likes.
    Irregular,
    /// Whole warps at a fixed distance from lane to lane.
    Regular,
    /// Now so, now so.
    Mixed,
    /// As mixed, but mostly strong.
    Strong,
}

impl Shape {
    /// The number of accesses per weak access.
    const fn weak(self) -> u64 {
        match self {
            Self::Irregular | Self::Regular | Self::Mixed => 1,
            Self::Strong => 8,
        }
    }
}

const RELAXED: Order = Order { semantics: Semantics::Relaxed, scope: Scope::Device };

/// Lets warps of two blocks access a few bytes at random, and compares the findings with all pairs of accesses. Returns the number of
/// accesses that race, and of the findings.
fn compare(seed: u64, shape: Shape, memory: Memory, uses_proxies: bool) -> (u32, u32) {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let arena = Arena::new(64 << 20, 1).expect("there is address space");
    let mut races = Races::new(&arena).expect("there is address space");
    let start = if memory == Memory::Shared { arena.shared.start } else { arena.heap.start };
    let allocation = Window { start, end: start + BYTES };
    let allocations = if memory == Memory::Allocation { vec![allocation] } else { Vec::new() };
    let threads = u32::from(WARPS) * LANES as u32;
    let updates = Arc::default();
    let program = OfProgram { instructions: 12, updates: &updates, uses_proxies };
    races
        .launch(LaunchShape { device: 0, threads, cluster: 1 }, &[], allocations, &program)
        .expect("nothing more is needed");
    let blocks = if memory == Memory::Shared { 1 } else { 2 };
    let shared = if memory == Memory::Shared { start..start + BYTES } else { 0..0 };
    (0..blocks).for_each(|block| races.begin(block, shared.clone()));
    let mut phases = [0; 2];
    let mut history = History::new(start);
    let (mut real, mut found) = (0, 0);
    for _ in 0..60 {
        let block = random(u64::from(blocks)) as u32;
        if random(6) == 0 {
            let phase = phases[block as usize];
            let barrier = BarrierPhase::Block { block, id: 0, phase };
            (0..WARPS).for_each(|warp| races.arrive(barrier, block, warp, u32::MAX, Arriving::Waiting));
            (0..WARPS).for_each(|warp| races.leave(barrier, block, warp, u32::MAX));
            phases[block as usize] += 1;
            continue;
        }
        let is_regular = match shape {
            Shape::Irregular => false,
            Shape::Regular => true,
            Shape::Mixed | Shape::Strong => random(3) != 0,
        };
        let bytes = if is_regular { 4 << random(2) } else { 1 << random(4) };
        let order = if random(shape.weak()) == 0 { Order::WEAK } else { RELAXED };
        let kind = match random(3) {
            0 if order == RELAXED => AccessKind::Atomic,
            0 => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let access = Access {
            block,
            warp: random(u64::from(WARPS)) as u8,
            source: random(12) as u32,
            bytes,
            kind,
            order,
            agent: None,
        };
        let base = start + random(32) * bytes;
        // Reads and writes of the whole warp, mostly one lane behind the other.
        let stride = match (kind, random(4)) {
            (AccessKind::Read, 0) => 0,
            (_, 1) => (2 + random(6)) * bytes,
            _ => bytes,
        };
        // From group to group, of eight or four lanes, a gap.
        let gap = if random(3) == 0 { 4 * random(16) } else { 0 };
        let group = if random(3) == 0 { 4 } else { GROUP };
        let hosts: [u64; LANES] = if is_regular {
            std::array::from_fn(|lane| base + lane as u64 * stride + (lane / group) as u64 * gap / bytes * bytes)
        } else {
            std::array::from_fn(|_| start + random(512 / bytes) * bytes)
        };
        let lanes = match random(2) {
            0 if is_regular => u32::MAX,
            // Few, so that cells keep the record of each.
            _ if shape == Shape::Strong => (random(1 << 32) & random(1 << 32) & random(1 << 32)) as u32,
            _ => random(1 << 32) as u32,
        };
        if lanes == 0 {
            continue;
        }
        let before = history.accesses.len();
        let mut is_race = false;
        for lane in crate::base::lanes::lanes_of(lanes) {
            is_race |= history.add(Past {
                block,
                warp: access.warp,
                lane,
                source: access.source,
                start: hosts[lane],
                bytes,
                writes: kind != AccessKind::Read,
                strong: order == RELAXED,
                phase: phases[block as usize],
            });
        }
        if is_regular && group == GROUP {
            races.strided(&access, &Strided::new(lanes, [0, 8, 16, 24].map(|lane| hosts[lane]), stride));
        } else {
            races.lanes(&access, lanes, |lane| hosts[lane]);
        }
        for conflict in races.found.drain(..) {
            // Both sides are accesses that were made, and they race.
            let at = |touch: &ThreadAccess, past: &Past| {
                past.block == touch.thread.block
                    && usize::from(past.warp) * LANES + past.lane == usize::from(touch.thread.index)
                    && (past.bytes, past.source) == (touch.bytes, touch.source)
                    && (past.start..past.start + past.bytes).contains(&conflict.address)
            };
            let past = &history.accesses;
            let mut mine = past[before..].iter().filter(|past| at(&conflict.touch, past));
            assert!(
                mine.any(|mine| past.iter().any(|other| at(&conflict.earlier, other) && other.races(mine))),
                "{conflict:?} is no race"
            );
            found += 1;
        }
        real += u32::from(is_race);
    }
    (real, found)
}

const MEMORIES: [Memory; 3] = [Memory::Unknown, Memory::Allocation, Memory::Shared];

#[test]
fn nothing_is_found_that_is_no_race() {
    for (seed, memory) in (0..60).flat_map(|seed| MEMORIES.map(|memory| (seed, memory))) {
        let (real, found) = compare(seed, Shape::Irregular, memory, false);
        assert_eq!(real > 0, found > 0, "seed {seed}, {memory:?}");
    }
}

#[test]
fn races_of_whole_warps_are_found() {
    for memory in MEMORIES {
        let mut all = 0;
        for seed in 0..200 {
            let (real, found) = compare(seed, Shape::Regular, memory, false);
            assert!(found >= real, "seed {seed}, {memory:?}: {found} of {real}");
            all += real;
        }
        assert!(all > 100, "{memory:?}");
    }
}

#[test]
fn accesses_in_rows_and_others_are_compared() {
    for (seed, memory) in (0..200).flat_map(|seed| MEMORIES.map(|memory| (seed, memory))) {
        let (real, found) = compare(seed, Shape::Mixed, memory, false);
        assert_eq!(real > 0, found > 0, "seed {seed}, {memory:?}");
    }
}

#[test]
fn logs_of_strong_accesses_miss_no_race() {
    for memory in MEMORIES {
        let (mut all, mut missed) = (0, [0; 2]);
        for seed in 0..400 {
            // Programs that use other proxies have no logs.
            for (missed, uses_proxies) in missed.iter_mut().zip([false, true]) {
                let (real, found) = compare(seed, Shape::Strong, memory, uses_proxies);
                assert!(found == 0 || real > 0, "seed {seed}, {memory:?}");
                all += real;
                *missed += real.saturating_sub(found);
            }
        }
        // Cells with many accesses do not keep the record of each.
        assert!(missed.iter().all(|missed| missed * 500 < all), "{memory:?}: of {all}, {missed:?}");
    }
}
