//! Counts for each instruction of a launch: executions, memory traffic, bank conflicts, divergence.
//!
//! The counts are those of an NVIDIA GPU's load and store unit, as its profiler tells them: 32-byte sectors for each
//! request to global memory, and wavefronts for each request to shared memory, of 32 banks that are 4 bytes wide. Caches
//! are not modelled, and no count is a time.
//!
//! Counting is done by operations that are put before those of the program ([`crate::load::instrument`]). Loads and stores are
//! counted; atomic operations, copies and matrix loads are not.
//!
//! The profile of a launch is one JSON object:
//!
//! ```json
//! {"kernel":"saxpy","grid":[4,1,1],"block":[256,1,1],"instructions":[
//!   {"ptx":"kernels.ptx","ptx_line":31,"instruction":"ld.global.b32 %r5, [%rd4];",
//!    "locations":[{"file":"src/saxpy.rs","line":12,"column":9,"function":null}],
//!    "executions":32,"threads":1024,
//!    "global":{"requests":32,"sectors":128,"ideal_sectors":128},"shared":null,"branch":null}]}
//! ```
//!
//! `shared` has `requests`, `wavefronts` and `ideal_wavefronts`, `branch` has `executions` and `divergent`. The innermost
//! inlined function comes first in `locations`, which is empty for PTX without line information. Instructions stand in the
//! order of the PTX; those that were never executed are left out.

use crate::machine::counters::Count;

use crate::base::lanes::{LANES, lanes_of};
use crate::exec::memory::Space;
use crate::load::instrument::{Probe, Rewriter};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Control, Node, VirtualOp};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Counts an execution.
const EXECUTION: Handlers = Handlers::same(execution);
/// Counts an access: a [`Probe`].
const ACCESS: Handlers = Handlers::same(access);
/// Counts a branch on `a`.
const BRANCH: Handlers = Handlers::same(branch);

/// Puts the counting operations before the operations of a function.
pub(crate) fn count(function: &mut Function<'_>) {
    let mut out = Rewriter::default();
    let mut last = None;
    for node in std::mem::take(&mut function.nodes) {
        if let Node::Op { virtual_op, control, source, .. } = &node {
            if last.replace(*source) != Some(*source) {
                out.insert(VirtualOp::new(EXECUTION), *source);
            }
            if let Some(probe) = Probe::before(virtual_op, ACCESS) {
                out.insert(probe, *source);
            }
            if let Control::Branch(_) = control {
                let probe = VirtualOp { a: virtual_op.a, ..VirtualOp::new(BRANCH) };
                out.insert(probe, *source);
            }
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}

unsafe fn execution(warp: &mut Warp, pc: Pc) -> Pc {
    if let Some(counters) = warp.context().profile {
        counters.add(pc.source, Count::Executions, 1);
        counters.add(pc.source, Count::Threads, warp.active.count_ones().into());
    }
    pc.next()
}

unsafe fn branch(warp: &mut Warp, pc: Pc) -> Pc {
    if let Some(counters) = warp.context().profile {
        // SAFETY: `a` is a predicate of the program.
        let taken = unsafe { warp.predicate(pc.a) } & warp.active;
        counters.add(pc.source, Count::Branches, 1);
        counters.add(pc.source, Count::Divergent, u64::from(taken != 0 && taken != warp.active));
    }
    pc.next()
}

unsafe fn access(warp: &mut Warp, pc: Pc) -> Pc {
    let context = warp.context();
    let Some(counters) = context.profile else {
        return pc.next();
    };
    let probe @ Probe { space, bytes, stores } = Probe::of(&pc);
    // SAFETY: the operation is a probe of the warp's program.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    let (mut global, mut shared) = (Vec::with_capacity(LANES), Vec::with_capacity(LANES));
    for lane in lanes_of(warp.active) {
        let address = addresses[lane];
        if let Some(offset) = probe.shared_offset(context, address) {
            shared.push((lane, offset));
            continue;
        }
        match space {
            Space::Generic if context.arena.local.contains(address) => {}
            Space::Generic | Space::Global => global.push(address),
            Space::Const | Space::Param | Space::Shared | Space::Local => {}
        }
    }
    if !global.is_empty() {
        let (sectors, ideal) = sectors(&mut global, bytes);
        counters.add(pc.source, Count::GlobalRequests, 1);
        counters.add(pc.source, Count::Sectors, sectors);
        counters.add(pc.source, Count::IdealSectors, ideal);
    }
    if !shared.is_empty() {
        let request = Request { accesses: &shared, bytes, is_load: !stores };
        let (wavefronts, ideal) = request.wavefronts();
        counters.add(pc.source, Count::SharedRequests, 1);
        counters.add(pc.source, Count::Wavefronts, wavefronts);
        counters.add(pc.source, Count::IdealWavefronts, ideal);
    }
    pc.next()
}

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// The number of sectors that accesses of `bytes` bytes touch, and the least number that this many bytes need.
fn sectors(addresses: &mut Vec<u64>, bytes: u64) -> (u64, u64) {
    addresses.sort_unstable();
    addresses.dedup();
    let (mut count, mut next, mut end, mut touched) = (0, 0, 0, 0);
    for address in addresses.iter().copied() {
        let (first, last) = (address / SECTOR, (address + bytes - 1) / SECTOR);
        count += (last + 1).saturating_sub(first.max(next));
        next = next.max(last + 1);
        touched += (address + bytes).saturating_sub(address.max(end));
        end = end.max(address + bytes);
    }
    (count, touched.div_ceil(SECTOR))
}

const BANKS: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;

/// A warp's request to shared memory: lanes and addresses, and the number of bytes per lane.
struct Request<'a> {
    accesses: &'a [(usize, u64)],
    bytes: u64,
    is_load: bool,
}

impl Request<'_> {
    /// The number of wavefronts that serve the request, and their number without bank conflicts.
    ///
    /// A step takes the words of 32 lanes, of half a warp for accesses of 8 bytes, of a quarter for 16 bytes; lanes that want
    /// the same word of a bank share it. Where that makes no conflict, a load is served for twice as many lanes at once if
    /// half of them are idle, or if in each pair of neighbours or of next neighbours both want the same; the result goes to
    /// no more lanes than in two steps. Found on an H200 with the requests of `wavefronts.txt`.
    fn wavefronts(&self) -> (u64, u64) {
        let lanes = LANES / ((self.bytes / WORD).max(1) as usize).min(LANES);
        let steps = |conflicts| self.steps(0, LANES, lanes, conflicts);
        (steps(true), steps(false))
    }

    /// The steps for `size` lanes from `first` on, of which `lanes` are served at once.
    fn steps(&self, first: usize, size: usize, lanes: usize, conflicts: bool) -> u64 {
        let range = first..first + size;
        let active: Vec<(usize, u64)> =
            self.accesses.iter().copied().filter(|(lane, _)| range.contains(lane)).collect();
        let needed = self.conflicts(&active);
        let at_once = if conflicts { needed } else { needed.min(1) };
        if size <= lanes || (self.is_load && at_once <= 1 && is_narrow(&active, lanes)) {
            return at_once;
        }
        let half = size / 2;
        self.steps(first, half, lanes, conflicts) + self.steps(first + half, half, lanes, conflicts)
    }

    /// The largest number of distinct words requested from one bank.
    fn conflicts(&self, active: &[(usize, u64)]) -> u64 {
        let end = |address: u64| (address + self.bytes).div_ceil(WORD);
        let mut words: Vec<u64> = active.iter().flat_map(|&(_, at)| at / WORD..end(at)).collect();
        words.sort_unstable();
        words.dedup();
        let mut wanted = [0_u64; BANKS as usize];
        words.iter().for_each(|word| wanted[(word % BANKS) as usize] += 1);
        wanted.into_iter().max().unwrap_or(0)
    }
}

/// Whether lanes need no more than a step's paths back to them.
fn is_narrow(active: &[(usize, u64)], lanes: usize) -> bool {
    let agree = |distance: usize| {
        let partner = |lane: usize| active.iter().find(|(other, _)| *other == lane ^ distance);
        active.iter().all(|&(lane, address)| partner(lane).is_none_or(|&(_, other)| other == address))
    };
    active.len() <= lanes || (active.len() <= 2 * lanes && (agree(1) || agree(2)))
}

#[cfg(test)]
mod tests {
    use super::{Request, sectors};

    fn lanes(address: impl Fn(u64) -> u64) -> Vec<u64> {
        (0..32).map(address).collect()
    }

    fn wavefronts(address: impl Fn(u64) -> u64, bytes: u64) -> (u64, u64) {
        let accesses: Vec<(usize, u64)> = lanes(address).into_iter().enumerate().collect();
        let request = Request { accesses: &accesses, bytes, is_load: true };
        request.wavefronts()
    }

    #[test]
    fn sectors_are_counted_once() {
        assert_eq!(sectors(&mut lanes(|lane| 4 * lane), 4), (4, 4));
        assert_eq!(sectors(&mut lanes(|lane| 4 + 4 * lane), 4), (5, 4));
        assert_eq!(sectors(&mut lanes(|lane| 128 * lane), 4), (32, 4));
        assert_eq!(sectors(&mut lanes(|_| 64), 4), (1, 1));
        assert_eq!(sectors(&mut lanes(|lane| 16 * lane), 16), (16, 16));
        assert_eq!(sectors(&mut lanes(|lane| 8 * lane), 4), (8, 4));
    }

    #[test]
    fn conflicts_are_words_of_one_bank() {
        assert_eq!(wavefronts(|lane| 4 * lane, 4), (1, 1));
        assert_eq!(wavefronts(|_| 4, 4), (1, 1));
        assert_eq!(wavefronts(|lane| 8 * lane, 4), (2, 1));
        assert_eq!(wavefronts(|lane| 128 * lane, 4), (32, 1));
        assert_eq!(wavefronts(|lane| 132 * lane, 4), (1, 1));
        // Four bytes each, of one word.
        assert_eq!(wavefronts(|lane| lane, 1), (1, 1));
        assert_eq!(wavefronts(|lane| 8 * lane, 8), (2, 2));
        assert_eq!(wavefronts(|lane| 16 * lane, 16), (4, 4));
        assert_eq!(wavefronts(|lane| 256 * lane, 8), (32, 2));
    }

    /// Each line: bytes, active lanes, the address of every lane, wavefronts of the load and of the store.
    #[test]
    fn wavefronts_are_those_of_a_gpu() {
        for line in include_str!("wavefronts.txt").lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
            let [bytes, mask, addresses @ .., load, store] = &*numbers else {
                panic!("too few numbers: {line}");
            };
            let accesses = addresses.iter().copied().enumerate();
            let accesses: Vec<(usize, u64)> = accesses.filter(|(lane, _)| mask >> lane & 1 != 0).collect();
            for (is_load, expected) in [(true, load), (false, store)] {
                let request = Request { accesses: &accesses, bytes: *bytes, is_load };
                assert_eq!(request.wavefronts().0, *expected, "load: {is_load}, {line}");
            }
        }
    }
}
