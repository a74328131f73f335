//! Exploration of the orders of synchronising operations: what is found in small programs, how many orders they have, and that the
//! orders left out are equivalent to those that are run.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Bench, kernel, u32s};
use rumba_vm::{
    Check, CheckSet, Config, Device, Exploration, ExplorationBound, ExplorationReport, Launch, LaunchFailure, Schedule,
    Source,
};

mod equivalence;

/// Words of `out` that programs may use; all are zero at first.
const WORDS: usize = 64;

/// A kernel and its launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) declarations: &'a str,
    pub(crate) body: &'a str,
    /// Blocks, threads of a block, and blocks of a cluster.
    pub(crate) shape: (u32, u32, u32),
}

/// What the orders of a program came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: ExplorationReport,
    /// What was left in `out` by orders without a fault.
    pub(crate) results: BTreeSet<Vec<u32>>,
    /// What was found, and the first order that it was found in.
    pub(crate) found: BTreeMap<String, Schedule>,
}

pub(crate) fn checks() -> CheckSet {
    CheckSet::default().with(Check::Race).with(Check::Sync)
}

/// Runs a program in each order of an exploration.
pub(crate) fn explore(program: &Program<'_>, exploration: &Exploration) -> Outcome {
    let config = Config {
        memory_bytes: 16 << 20,
        workers: 1,
        checks: checks(),
        ..Config::default()
    };
    let device = Device::exploring(config, exploration.clone()).unwrap();
    let ptx = kernel(program.declarations, program.body);
    let module = match device.load(&[Source {
        name: "test.ptx",
        ptx: &ptx,
    }]) {
        Ok(module) => module,
        Err(error) => panic!("{error}"),
    };
    let bench = Bench { device, module };
    let out = bench.zeros(4 * WORDS);
    let (mut results, mut found) = (BTreeSet::new(), BTreeMap::new());
    loop {
        exploration.begin();
        bench.fill(out, &[0], 4 * WORDS).unwrap();
        let outcome = launch(&bench, program, out);
        let schedule = exploration.schedule();
        let findings = bench.device.take_findings();
        if !exploration.is_left() {
            for finding in findings {
                found
                    .entry(format!("{:?}", finding.kind))
                    .or_insert_with(|| schedule.clone());
            }
            match outcome {
                Ok(_) => {
                    results.insert(u32s(&bench.download(out, 4 * WORDS)));
                }
                Err(LaunchFailure::Fault(fault)) => {
                    found.entry(format!("{:?}", fault.kind)).or_insert(schedule);
                }
                Err(error) => panic!("{error}"),
            }
        }
        if !exploration.end() {
            break;
        }
    }
    Outcome {
        report: exploration.report(),
        results,
        found,
    }
}

pub(crate) fn launch(bench: &Bench, program: &Program<'_>, out: u64) -> Result<rumba_vm::Statistics, LaunchFailure> {
    let (grid, block, cluster) = program.shape;
    let launch = Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: (cluster > 1).then_some([cluster, 1, 1]),
    };
    bench.launch_as("k", launch, &[out.into(), 0_u32.into()])
}

/// One of each class of orders.
pub(crate) fn all_orders() -> Exploration {
    Exploration::new(ExplorationBound::default())
}

/// One lane of each warp goes on; `%r50` is the number of the warp.
pub(crate) const ONE_LANE: &str = "
    shr.u32 %r50, %r2, 5;
    and.b32 %r51, %r2, 31;
    setp.ne.u32 %p29, %r51, 0;
    @%p29 exit;";

#[test]
fn two_counters() {
    let body = format!(
        "{ONE_LANE} atom.global.add.u32 %r10, [%rd1], 1; mul.wide.u32 %rd10, %r50, 4; add.u64 %rd11, %rd1, %rd10; st.global.u32 [%rd11+4], %r10;"
    );
    let program = Program {
        declarations: "",
        body: &body,
        shape: (1, 96, 1),
    };
    let outcome = explore(&program, &all_orders());
    assert_eq!(outcome.found.len(), 0, "{outcome:?}");
    assert_eq!(
        (outcome.results.len(), outcome.report.orders, outcome.report.redundant),
        (6, 6, 0),
        "{outcome:?}"
    );
    assert_eq!(outcome.report.limits, Vec::<String>::new());
}

#[test]
fn a_flag_is_waited_for_once() {
    let body = format!(
        "{ONE_LANE}
        setp.eq.u32 %p1, %r50, 0;
        @%p1 bra WRITE;
    SPIN:
        ld.acquire.gpu.global.u32 %r10, [%rd1];
        setp.eq.u32 %p2, %r10, 0;
        @%p2 bra SPIN;
        ld.global.u32 %r11, [%rd1+4];
        st.global.u32 [%rd1+8], %r11;
        bra END;
    WRITE:
        st.global.u32 [%rd1+4], 7;
        st.release.gpu.global.u32 [%rd1], 1;
    END:"
    );
    let program = Program {
        declarations: "",
        body: &body,
        shape: (1, 64, 1),
    };
    let outcome = explore(&program, &all_orders());
    assert_eq!(outcome.found.len(), 0, "{outcome:?}");
    assert_eq!((outcome.results.len(), outcome.report.orders), (1, 1), "{outcome:?}");
}
