//! Launches that begin beside others and are checked together with them, and their ends.

use std::io;

use crate::check::cells::{Accesses, Cells, OWN, whole_lines};
use crate::check::clock::launch_of;
use crate::check::launches::LaunchShape;
use crate::check::program::OfProgram;
use crate::check::race::Races;
use crate::check::record::Conflict;
use crate::mem::arena::Window;

impl Races {
    /// A launch begins beside others. It can access these ranges of the host's own memory. The instructions of its program are
    /// counted from `first_source`; a program whose instructions are known has none.
    ///
    /// # Errors
    /// If the system refuses address space.
    pub(crate) fn join(
        &mut self,
        shape: LaunchShape,
        host: &[Window],
        program: &OfProgram<'_>,
        first_source: Option<u32>,
    ) -> io::Result<()> {
        self.cells.join((program, shape), host, &mut self.found)?;
        if let Some(first_source) = first_source {
            self.updates.join(program.updates, first_source);
        }
        Ok(())
    }

    /// A launch has ended. Launches that begin later come after it.
    pub(crate) fn end_launch(&mut self, index: u32) {
        // Blocks of a launch that was stopped have not ended by themselves.
        let left: Vec<u32> = self.blocks.keys().copied().filter(|block| launch_of(*block) == index).collect();
        for block in left {
            self.end(block);
            self.end_stores(block);
        }
        self.cells.launches.end(index);
    }
}

impl Cells {
    /// A launch begins beside others, whose accesses stay. Kernels can also access these ranges of the host's own memory.
    fn join(
        &mut self,
        (program, shape): (&OfProgram<'_>, LaunchShape),
        host: &[Window],
        found: &mut Vec<Conflict>,
    ) -> io::Result<()> {
        for window in host.iter().map(whole_lines) {
            if !self.windows[OWN..].iter().any(|known| known.window == window) {
                self.windows.push(Accesses::new(window)?);
            }
        }
        self.cluster = self.cluster.max(shape.cluster);
        self.uses_proxies |= program.uses_proxies;
        let before = self.launches.whole();
        self.launches.begin(shape);
        if self.launches.whole() != before {
            // The logged accesses may not be atomic for threads of another device.
            for address in self.reads.logged() {
                if let Some(noted) = self.reads.before(address, false) {
                    self.put_noted(&noted, found);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{LaunchShape, Races};
    use crate::base::report::AccessKind;
    use crate::check::clock::MOST_BLOCKS;
    use crate::check::order::{Order, Scope, Semantics};
    use crate::check::program::OfProgram;
    use crate::check::race::Access;
    use crate::check::record::ConflictKind;
    use crate::mem::arena::{Arena, Window};

    const SCOPES: [Scope; 4] = [Scope::Block, Scope::Cluster, Scope::Device, Scope::System];

    /// A detector of launches on these devices.
    struct Bench {
        races: Races,
        launches: u32,
        data: u64,
    }

    impl Bench {
        fn new(devices: &[u32], has_allocation: bool) -> Self {
            let arena = Arena::new(64 << 20, 1).unwrap();
            let mut races = Races::new(&arena).unwrap();
            let data = arena.heap.start;
            let allocations = if has_allocation { vec![Window { start: data, end: data + 4096 }] } else { Vec::new() };
            let updates = Arc::default();
            let program = OfProgram { instructions: 8, updates: &updates, uses_proxies: false };
            let shape = LaunchShape { device: devices[0], threads: 32, cluster: 1 };
            races.launch(shape, &[], allocations, &program).unwrap();
            races.begin(0, 0..0);
            let mut bench = Self { races, launches: 1, data };
            devices[1..].iter().for_each(|device| bench.join(*device));
            bench
        }

        fn join(&mut self, device: u32) {
            let updates = Arc::default();
            let program = OfProgram { instructions: 8, updates: &updates, uses_proxies: false };
            self.races.join(LaunchShape { device, threads: 32, cluster: 1 }, &[], &program, None).unwrap();
            self.races.begin(self.launches * MOST_BLOCKS, 0..0);
            self.launches += 1;
        }

        /// The first lane of a launch accesses a word.
        fn access(&mut self, launch: u32, word: u64, kind: AccessKind, order: Order) -> Vec<ConflictKind> {
            let block = launch * MOST_BLOCKS;
            let access = Access { block, warp: 0, source: 0, bytes: 4, kind, order, agent: None };
            let address = self.data + 4 * word;
            self.races.lanes(&access, 1, |_| address);
            self.races.take().into_iter().map(|conflict| conflict.kind).collect()
        }

        fn write(&mut self, launch: u32, word: u64) -> Vec<ConflictKind> {
            self.access(launch, word, AccessKind::Write, Order::WEAK)
        }

        fn read(&mut self, launch: u32, word: u64) -> Vec<ConflictKind> {
            self.access(launch, word, AccessKind::Read, Order::WEAK)
        }

        fn release(&mut self, launch: u32, scope: Scope) {
            let order = Order { semantics: Semantics::Release, scope };
            self.access(launch, 64, AccessKind::Write, order);
        }

        fn acquire(&mut self, launch: u32, scope: Scope) {
            let order = Order { semantics: Semantics::Acquire, scope };
            self.access(launch, 64, AccessKind::Read, order);
        }
    }

    #[test]
    fn both_scopes_have_to_include_the_other_launch() {
        for (released, acquired) in SCOPES.into_iter().flat_map(|one| SCOPES.map(|other| (one, other))) {
            for (devices, least) in [([0, 1], Scope::System), ([1, 1], Scope::Device)] {
                let mut bench = Bench::new(&devices, false);
                bench.write(0, 0);
                bench.release(0, released);
                bench.acquire(1, acquired);
                let found = bench.read(1, 0);
                let is_ordered = released >= least && acquired >= least;
                assert_eq!(found.is_empty(), is_ordered, "{released:?} {acquired:?} on {devices:?}: {found:?}");
            }
        }
    }

    #[test]
    fn what_is_passed_on_keeps_its_scope() {
        // The middle launch is on the device of the first one, and passes on what it has acquired.
        let mut bench = Bench::new(&[0, 0, 1], false);
        bench.write(0, 0);
        bench.release(0, Scope::Device);
        bench.acquire(2, Scope::System);
        bench.acquire(1, Scope::Device);
        bench.release(1, Scope::System);
        assert_eq!(bench.read(2, 0), [ConflictKind::Race]);
        bench.acquire(2, Scope::System);
        assert_eq!(bench.read(2, 0), []);
    }

    #[test]
    fn accesses_are_atomic_within_their_scope() {
        let relaxed = |scope| Order { semantics: Semantics::Relaxed, scope };
        // With an allocation, the accesses of the first launch are logged. The second one joins later.
        for has_allocation in [false, true] {
            for (mine, other) in SCOPES.into_iter().flat_map(|one| SCOPES.map(|other| (one, other))) {
                for (device, least) in [(1, Scope::System), (0, Scope::Device)] {
                    let mut bench = Bench::new(&[0], has_allocation);
                    bench.access(0, 0, AccessKind::Atomic, relaxed(mine));
                    bench.join(device);
                    let found = bench.access(1, 0, AccessKind::Atomic, relaxed(other));
                    let is_atomic = mine >= least && other >= least;
                    let expected: &[_] = if is_atomic { &[] } else { &[ConflictKind::Scoped] };
                    assert_eq!(found, expected, "{mine:?} {other:?} on device {device}");
                }
            }
        }
    }

    #[test]
    fn what_an_ended_launch_has_written_is_not_stale() {
        let mut bench = Bench::new(&[0, 0], false);
        bench.write(0, 0);
        bench.write(1, 1);
        bench.races.end_launch(1);
        bench.join(0);
        let read = |bench: &mut Bench, word| bench.access(2, word, AccessKind::Read, Order::NON_COHERENT);
        // The first launch is still running.
        assert_eq!(read(&mut bench, 0), [ConflictKind::Stale]);
        assert_eq!(read(&mut bench, 1), []);
        bench.races.end_launch(2);
        bench.join(0);
        assert_eq!(bench.write(3, 1), []);
    }

    #[test]
    fn a_launch_knows_what_ended_launches_knew() {
        let mut bench = Bench::new(&[0, 1], false);
        bench.write(0, 0);
        bench.release(0, Scope::System);
        bench.acquire(1, Scope::System);
        bench.write(1, 1);
        bench.write(0, 2);
        bench.races.end_launch(1);
        bench.join(2);
        // The ended launch had acquired the first word, and not the third one.
        assert_eq!([bench.read(2, 0), bench.read(2, 1)], [[], []]);
        assert_eq!(bench.read(2, 2), [ConflictKind::Race]);
    }
}
