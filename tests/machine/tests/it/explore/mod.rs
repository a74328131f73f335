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

/// The outcome of a program's orders.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: ExplorationReport,
    /// The contents of `out` after orders without a fault.
    pub(crate) results: BTreeSet<Vec<u32>>,
    /// The findings, each with the first order that has it.
    pub(crate) found: BTreeMap<String, Schedule>,
}

pub(crate) fn checks() -> CheckSet {
    CheckSet::default().with(Check::Race).with(Check::Sync)
}

/// Runs a program in each order of an exploration.
pub(crate) fn explore(program: &Program<'_>, exploration: &Exploration) -> Outcome {
    let config = Config { memory_bytes: 16 << 20, workers: 1, checks: checks(), ..Config::default() };
    let device = Device::exploring(config, exploration.clone()).unwrap();
    let ptx = kernel(program.declarations, program.body);
    let module = match device.load(&[Source { name: "test.ptx", ptx: &ptx }]) {
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
                found.entry(format!("{:?}", finding.kind)).or_insert_with(|| schedule.clone());
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
    Outcome { report: exploration.report(), results, found }
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
        device: 0,
    };
    bench.launch_as("k", launch, &[out.into(), 0_u32.into()])
}

/// An exploration of one order of each class.
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
fn orders_are_run_again() {
    // The other thread comes between the two additions of the first.
    let row = PROGRAMS.iter().find(|row| row.name == "something_in_between").unwrap();
    let body = body(row);
    let outcome = explore(&program(row, &body), &all_orders());
    let schedule = &outcome.found["Trap"];
    let operations: Vec<(u32, &str)> = schedule.steps.iter().map(|step| (step.thread[0], &*step.operation)).collect();
    let add = "atom.acq_rel.gpu.global.add.u32";
    assert_eq!(operations[..2], [(0, add), (32, add)]);
    assert!(schedule.steps[0].to_string().starts_with("thread (0, 0, 0) of block (0, 0, 0): atom"));
    let again = Exploration::replaying(&schedule.replay, ExplorationBound::default()).unwrap();
    let outcome = explore(&program(row, &body), &again);
    assert_eq!(outcome.report.orders, 1);
    assert_eq!(outcome.found["Trap"], *schedule);
    let natural = Exploration::replaying("natural", ExplorationBound::default()).unwrap();
    assert!(explore(&program(row, &body), &natural).report.orders == 1);
    let wrong = Exploration::replaying("0:7", ExplorationBound::default()).unwrap();
    let report = explore(&program(row, &body), &wrong).report;
    assert!(report.limits[0].contains("did something else"), "{report:?}");
}

#[test]
fn what_is_not_explored_is_named() {
    let of = |body: &str, shape, bound| {
        let program = Program { declarations: CELLS, body, shape };
        explore(&program, &Exploration::new(bound)).report
    };
    let bound = ExplorationBound::default();
    let add = "atom.global.add.u32 %r10, [%rd1], 1;";
    let report = of(add, (33, 32, 1), bound);
    assert_eq!(report.limits, ["a launch of `k` has 33 blocks, and launches of up to 32 are explored"]);
    let report = of(add, (4, 32, 1), ExplorationBound { orders: 5, ..bound });
    assert_eq!((report.orders, &*report.limits[0]), (5, "stopped after the bound of 5 orders"));
    // A loop that counts how often it looks comes back with other values.
    let count = "L: add.u32 %r11, %r11, 1; ld.relaxed.gpu.global.u32 %r10, [%rd1]; setp.eq.u32 %p1, %r10, 0; @%p1 bra L; st.global.u32 [%rd1+4], %r11;";
    let report = of(count, (1, 32, 1), ExplorationBound { steps: 50, ..bound });
    assert!(report.limits[0].starts_with("an order of `k` was left after the bound of 50 operations"), "{report:?}");
    let pending = "mov.u32 %r42, cells; mbarrier.init.shared.b64 [%r42], 32; bar.warp.sync -1; mbarrier.arrive.shared.b64 %rd10, [%r42]; mbarrier.pending_count.b64 %r10, %rd10;";
    let report = of(pending, (1, 32, 1), bound);
    assert_eq!(report.limits, ["what `mbarrier.pending_count.b64` finds is that of one order"]);
}

#[test]
fn lanes_that_parted_are_threads_of_their_own() {
    // A lane has the lock while another of its warp asks for it.
    let body = "
        and.b32 %r51, %r2, 31;
        setp.gt.u32 %p1, %r51, 1;
        @%p1 exit;
    TRY:
        atom.acquire.gpu.global.cas.b32 %r10, [%rd1], 0, 1;
        setp.ne.u32 %p2, %r10, 0;
        @%p2 bra TRY;
        ld.global.u32 %r11, [%rd1+4];
        add.u32 %r11, %r11, 1;
        st.global.u32 [%rd1+4], %r11;
        st.release.gpu.global.u32 [%rd1], 0;";
    let program = Program { declarations: "", body, shape: (1, 64, 1) };
    let outcome = explore(&program, &all_orders());
    assert_eq!(outcome.found.len(), 0, "{outcome:?}");
    assert!(outcome.results.iter().all(|out| out[..2] == [0, 4]), "{outcome:?}");
    assert!(outcome.report.orders > 2 && outcome.report.limits.is_empty(), "{outcome:?}");
}

#[test]
fn two_counters() {
    let body = format!(
        "{ONE_LANE} atom.global.add.u32 %r10, [%rd1], 1; mul.wide.u32 %rd10, %r50, 4; add.u64 %rd11, %rd1, %rd10; st.global.u32 [%rd11+4], %r10;"
    );
    let program = Program { declarations: "", body: &body, shape: (1, 96, 1) };
    let outcome = explore(&program, &all_orders());
    assert_eq!(outcome.found.len(), 0, "{outcome:?}");
    assert_eq!((outcome.results.len(), outcome.report.orders, outcome.report.redundant), (6, 6, 0), "{outcome:?}");
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
    let program = Program { declarations: "", body: &body, shape: (1, 64, 1) };
    let outcome = explore(&program, &all_orders());
    assert_eq!(outcome.found.len(), 0, "{outcome:?}");
    assert_eq!((outcome.results.len(), outcome.report.orders), (1, 1), "{outcome:?}");
}

mod programs;

use programs::{Expected, PROGRAMS, Row, Seeds, expand};

/// The kernel of a row: the mbarriers are made, and then each thread does what it is to do.
fn body(row: &Row) -> String {
    let mut body = String::from("mov.u32 %r42, cells;\n");
    if !row.mbarriers.is_empty() {
        body += "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra READY;\n";
        for (index, count) in row.mbarriers.iter().enumerate() {
            body += &format!("mbarrier.init.shared.b64 [%r42+{}], {count};\n", 8 * index);
        }
        body += "READY: bar.sync 0;\n";
    }
    let is_whole = row.threads.iter().any(|code| code.contains("BAR ") || code.contains("SIGNAL "));
    body += "and.b32 %r51, %r2, 31;\nsetp.eq.u32 %p28, %r51, 0;\nshr.u32 %r50, %r2, 5;\n";
    body += if is_whole { "" } else { ONE_LANE };
    body += &format!("\nmad.lo.u32 %r50, %r3, {}, %r50;\n", row.warps);
    for (thread, code) in row.threads.iter().enumerate() {
        body += &format!("setp.ne.u32 %p2, %r50, {thread};\n@%p2 bra NOT{thread};\n");
        body += &expand(code, thread);
        body += &format!("bra END;\nNOT{thread}:\n");
    }
    body + "END:"
}

const CELLS: &str = ".shared .align 16 .b8 cells[256];";

fn program<'a>(row: &Row, body: &'a str) -> Program<'a> {
    let grid = row.threads.len() as u32 / row.warps;
    Program { declarations: CELLS, body, shape: (grid, 32 * row.warps, row.cluster.max(1)) }
}

/// The findings in the order of a seed.
fn seeded(row: &Row, seed: u64) -> BTreeSet<String> {
    let body = body(row);
    let program = program(row, &body);
    let config = Config {
        checks: checks(),
        seed: Some(seed),
        instruction_limit: 1 << 20,
        memory_bytes: 16 << 20,
        ..Config::default()
    };
    let bench = Bench::with(&kernel(program.declarations, program.body), config);
    let out = bench.zeros(4 * WORDS);
    let outcome = launch(&bench, &program, out);
    let findings = bench.device.take_findings();
    let mut found: BTreeSet<String> = findings.iter().map(|finding| format!("{:?}", finding.kind)).collect();
    if let Err(LaunchFailure::Fault(fault)) = outcome {
        // Threads that ask for ever.
        let kind = format!("{:?}", fault.kind);
        found.insert(if kind == "Timeout" { "Deadlock".into() } else { kind });
    }
    found
}

/// The largest number of orders that are run without reduction: programs with more orders are not compared.
const MOST: u64 = 2000;

#[test]
fn programs() {
    let mut wrong = String::new();
    let (mut right, mut mistakes, mut missed) = (0, 0, 0);
    let (mut compared, mut orders, mut plain_orders) = (0, 0, 0);
    for row in PROGRAMS {
        let body = body(row);
        let outcome = explore(&program(row, &body), &all_orders());
        let found: Vec<&str> = outcome.found.keys().map(String::as_str).collect();
        let plain = explore(&program(row, &body), &Exploration::plain(ExplorationBound { orders: MOST, steps: 1000 }));
        if plain.report.limits.is_empty() {
            // Whether a racing access comes before or behind the beginning of a copy is no point of choice.
            let races =
                |outcome: &Outcome| ["DataRace", "EarlyRefill"].iter().any(|kind| outcome.found.contains_key(*kind));
            let kinds = |outcome: &Outcome| {
                let kinds = outcome.found.keys().filter(|kind| *kind != "PendingCopy" || !races(outcome));
                kinds.cloned().collect::<Vec<_>>()
            };
            assert_eq!((&plain.results, kinds(&plain)), (&outcome.results, kinds(&outcome)), "{}", row.name);
            compared += 1;
            orders += outcome.report.orders;
            plain_orders += plain.report.orders;
        }
        let (is_right, expected) = match row.expected {
            Expected::Right(orders) => {
                right += 1;
                (found.is_empty() && outcome.report.orders == orders, format!("Right({orders})"))
            }
            Expected::Wrong(kinds, seeds) => {
                mistakes += 1;
                // Lost updates are found in any order.
                let of_orders = || kinds.iter().filter(|kind| **kind != "LostUpdate");
                let by_seeds = (0..20).any(|seed| of_orders().any(|kind| seeded(row, seed).contains(*kind)));
                missed += u32::from(!by_seeds);
                let is_right = found == kinds && by_seeds == (seeds == Seeds::Find);
                (is_right, format!("Wrong({kinds:?}, {seeds:?}); by seeds: {by_seeds}"))
            }
        };
        if !is_right || !outcome.report.limits.is_empty() {
            wrong += &format!("{}: {expected}; found {found:?}, {:?}\n", row.name, outcome.report);
        }
    }
    println!("{right} right, {mistakes} wrong, of which 20 seeds miss {missed}");
    println!("of {compared} programs, {plain_orders} orders without reduction, {orders} with it");
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(right >= 25 && mistakes >= 25 && missed >= 10);
}
