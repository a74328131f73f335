//! How threads synchronise: kernels that do it wrong, and near misses that do it right.

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, FaultKind, Finding, FindingKind, LaunchFailure, Severity};

/// Runs a kernel under the check of synchronisation.
fn run(declarations: &str, body: &str, grid: u32, block: u32) -> (Vec<Finding>, Result<(), LaunchFailure>) {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Sync), ..Config::default() };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(4 * (grid * block).max(64) as usize);
    let outcome = bench.run("k", grid, block, &[out.into(), 0_u32.into()]);
    (bench.device.take_findings(), outcome.map(drop))
}

/// Runs a kernel that goes on in spite of its mistake, of which there is one of `kind`; gives the lines of its sides.
#[track_caller]
fn wrong(declarations: &str, body: &str, block: u32, kind: FindingKind) -> Finding {
    let (mut found, outcome) = run(declarations, body, 1, block);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(found.len(), 1, "{found:#?}");
    let finding = found.remove(0);
    assert_eq!(finding.kind, kind, "{finding}");
    assert!(finding.sides.iter().all(|side| side.ptx_line > 0), "{finding}");
    finding
}

/// Runs a kernel that cannot go on after its mistake.
#[track_caller]
fn stuck(declarations: &str, body: &str, block: u32, kind: FaultKind, message: &str) -> Vec<Finding> {
    let (found, outcome) = run(declarations, body, 1, block);
    let Err(LaunchFailure::Fault(fault)) = outcome else {
        panic!("a fault was expected, not {outcome:?}");
    };
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.to_string().contains(message), "{fault}");
    found
}

#[track_caller]
fn right(declarations: &str, body: &str, block: u32) {
    let (found, outcome) = run(declarations, body, 2, block);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(found.is_empty(), "{}", found[0]);
}

/// The lower half of each warp takes the branch to `low`.
const HALVES: &str = "
    mov.u32 %r9, %laneid;
    setp.lt.u32 %p1, %r9, 16;";

#[test]
fn the_lanes_of_a_warp_take_one_barrier() {
    let two = |barrier: &str| format!("{HALVES}\n @%p1 bra low;\n {barrier}\n bra.uni done;\nlow:\n {barrier}\ndone:");
    let finding = wrong("", &two("bar.sync 0;"), 64, FindingKind::DivergentBarrier);
    assert_eq!(finding.sides.len(), 2);
    assert_ne!(finding.sides[0].ptx_line, finding.sides[1].ptx_line);
    assert_eq!(finding.sides[0].threads, 16);
    wrong("", &two("barrier.sync.aligned 0;"), 64, FindingKind::DivergentBarrier);
    right("", &two("barrier.sync 0;"), 64);
    // Whole warps go to different ones.
    let warps = "setp.lt.u32 %p1, %r2, 32;\n @%p1 bra low;\n bar.sync 0;\n bra.uni done;\nlow:\n bar.sync 0;\ndone:";
    right("", warps, 64);
    // The lanes come one after another, to the same one.
    let late = format!("{HALVES}\n @%p1 bra low;\n add.u32 %r10, %r9, 1;\nlow:\n bar.sync 0;");
    right("", &late, 64);
}

#[test]
fn a_named_barrier_is_for_whole_warps() {
    // Half of each of two warps makes a barrier for 32 threads complete.
    let half = format!("{HALVES}\n @!%p1 bra done;\n bar.sync 3, 32;\ndone:\n bar.sync 0;");
    let finding = wrong("", &half, 64, FindingKind::DivergentBarrier);
    assert!(finding.place.contains("barrier 3") && finding.place.contains("0x0000ffff"), "{finding}");
    assert_eq!(finding.sides.len(), 2, "{finding}");
    let whole = "setp.lt.u32 %p1, %r2, 32;\n @!%p1 bra done;\n bar.sync 3, 32;\ndone:\n bar.sync 0;";
    right("", whole, 64);
}

#[test]
fn threads_that_have_exited_are_information() {
    let early = |limit: u32, barrier: &str| {
        format!("setp.ge.u32 %p1, %r2, {limit};\n @%p1 ret;\n st.global.u32 [%rd2], %r2;\n {barrier}")
    };
    for limit in [16, 32, 40] {
        let finding = wrong("", &early(limit, "bar.sync 0;"), 64, FindingKind::ExitBeforeBarrier);
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.sides[1].what, "exit");
        assert_eq!(finding.sides[1].thread, [limit, 0, 0]);
    }
    // No thread returns; there is nothing to wait at; the barrier is for the first warp.
    right("", &early(64, "bar.sync 0;"), 64);
    right("", &early(40, ""), 64);
    right("", &early(32, "bar.sync 1, 32;"), 64);
    // The block ends in the middle of a warp.
    right("", "bar.sync 0;", 48);
    // A producer is gone before its consumer comes.
    let produce = "
    setp.lt.u32 %p1, %r2, 32;
    @!%p1 bra consume;
    bar.arrive 1, 64;
    ret;
consume:
    bar.sync 1, 64;";
    right("", produce, 64);
}

#[test]
fn a_barrier_in_a_loop_is_for_all() {
    // Each thread comes as often as its number says.
    let body = |count: &str| {
        format!(
            "
    mov.u32 %r10, 0;
    {count}
again:
    bar.sync 0;
    add.u32 %r10, %r10, 1;
    setp.le.u32 %p1, %r10, %r11;
    @%p1 bra again;
    st.global.u32 [%rd2], %r10;"
        )
    };
    let (found, outcome) = run("", &body("shr.u32 %r11, %r2, 5;"), 1, 64);
    assert!(outcome.is_ok());
    assert_eq!(found[0].kind, FindingKind::ExitBeforeBarrier, "{found:#?}");
    let (found, outcome) = run("", &body("mov.u32 %r11, %r2;"), 1, 64);
    assert!(outcome.is_ok());
    assert!(!found.is_empty());
    right("", &body("mov.u32 %r11, 5;"), 64);
}

#[test]
fn who_has_arrived_does_not_again() {
    let arrive = |between: &str| {
        format!(
            "
    setp.lt.u32 %p1, %r2, 32;
    @!%p1 bra consume;
    bar.arrive 1, 64;
    {between}
    bar.arrive 1, 64;
    bra.uni done;
consume:
    bar.sync 1, 64;
    {between}
    bar.sync 1, 64;
done:"
        )
    };
    // Warp 0 comes first and arrives twice before warp 1 has arrived; the barrier is not completed a second time.
    let found = stuck("", &arrive(""), 64, FaultKind::Deadlock, "barrier 1, where 32 of 64 threads");
    assert_eq!(found[0].kind, FindingKind::RepeatedArrival, "{found:#?}");
    right("", &arrive("bar.sync 2, 64;"), 64);
}

#[test]
fn arrivals_complete_a_barrier_that_threads_wait_at() {
    let body = |other: &str| {
        format!("setp.lt.u32 %p1, %r2, 32;\n @%p1 bra low;\n {other}\n bra.uni done;\nlow:\n bar.arrive 1, 64;\ndone:")
    };
    let finding = wrong("", &body("bar.sync 2, 32;"), 64, FindingKind::AbandonedBarrier);
    assert!(finding.place.contains("32 of 64"), "{finding}");
    right("", &body("bar.sync 1, 64;"), 64);
}

#[test]
fn barriers_exist_and_fit() {
    let count = "mov.u32 %r10, 48; bar.sync 1, %r10;";
    stuck("", count, 64, FaultKind::Synchronisation, "a multiple of 32");
    let id = "add.u32 %r10, %r1, 16; bar.sync %r10;";
    stuck("", id, 64, FaultKind::Synchronisation, "numbered from 0 to 15");
    let disagree = "
    setp.lt.u32 %p1, %r2, 32;
    selp.u32 %r10, 64, 96, %p1;
    bar.sync 1, %r10;";
    stuck("", disagree, 96, FaultKind::Synchronisation, "barrier 1 is used for 96 threads here");
    let few = "setp.lt.u32 %p1, %r2, 32;\n @!%p1 bra done;\n bar.sync 1, 64;\ndone:";
    stuck("", few, 64, FaultKind::Deadlock, "barrier 1, where 32 of 64 threads have arrived");
}

#[test]
fn masks_agree() {
    // The lower half names all lanes, the upper half itself.
    let shuffle = |low: &str, high: &str| {
        format!("{HALVES}\n selp.u32 %r10, {low}, {high}, %p1;\n shfl.sync.idx.b32 %r11, %r2, 0, 31, %r10;")
    };
    let (found, _) = run("", &shuffle("0xffffffff", "0xffff0000"), 1, 32);
    let mismatch = found.iter().find(|finding| finding.kind == FindingKind::MaskMismatch);
    let mismatch = mismatch.unwrap_or_else(|| panic!("{found:#?}"));
    assert!(mismatch.place.contains("0xffff0000"), "{mismatch}");
    right("", &shuffle("0xffffffff", "0xffffffff"), 32);
    let vote = |low: &str| {
        format!("{HALVES}\n selp.u32 %r10, {low}, 0xffff0000, %p1;\n vote.sync.ballot.b32 %r11, %p1, %r10;")
    };
    right("", &vote("0x0000ffff"), 32);
    // Each waits for the other with another mask.
    let pairs = format!(
        "{HALVES}
    @%p1 bra low;
    bar.warp.sync 0xffffffff;
    bra.uni done;
low:
    bar.warp.sync 0x7fffffff;
done:"
    );
    let found = stuck("", &pairs, 32, FaultKind::Deadlock, "waiting for lanes");
    assert_eq!(found[0].kind, FindingKind::MaskMismatch, "{found:#?}");
    assert_ne!(found[0].sides[0].ptx_line, found[0].sides[1].ptx_line);
    right("", &pairs.replace("0x7f", "0xff"), 32);
}

#[test]
fn lanes_are_in_the_masks_that_they_give() {
    for operation in [
        "bar.warp.sync 0x0000ffff;",
        "vote.sync.ballot.b32 %r11, %p1, 0x0000ffff;",
        "shfl.sync.idx.b32 %r11, %r2, 0, 31, 0x0000ffff;",
    ] {
        let found = wrong("", &format!("{HALVES}\n {operation}"), 32, FindingKind::MaskWithoutCaller);
        assert!(found.place.contains("lanes 0xffff0000 give the mask 0x0000ffff"), "{found}");
        right("", &format!("{HALVES}\n @!%p1 bra done;\n {operation}\ndone:"), 32);
    }
    // Lanes that come alone wait for none of the mask.
    let alone = "
    @%p1 bra done;
    bar.warp.sync 1;
    shfl.sync.idx.b32 %r11, %r2, 20, 31, 2;
done:
    @!%p1 exit;
    bar.warp.sync 0x0000ffff;";
    let (found, outcome) = run("", &format!("{HALVES}\n {alone}"), 1, 32);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), [FindingKind::MaskWithoutCaller; 2]);
}

#[test]
fn masks_name_lanes_that_come() {
    let early = |operation: &str, mask: &str| format!("{HALVES}\n @!%p1 ret;\n mov.u32 %r10, {mask};\n {operation}");
    for operation in [
        "bar.warp.sync %r10;",
        "shfl.sync.down.b32 %r11, %r2, 1, 0x101f, %r10;",
        "vote.sync.any.pred %p2, %p1, %r10;",
        "redux.sync.add.u32 %r11, %r2, %r10;",
    ] {
        let finding = wrong("", &early(operation, "0xffffffff"), 32, FindingKind::ExitedLanes);
        assert_eq!(finding.sides[1].what, "exit", "{finding}");
        right("", &early(operation, "0x0000ffff"), 32);
    }
    // They come first, and wait until the others are gone.
    let late = format!("{HALVES}\n @%p1 bra low;\n bar.warp.sync 0xffff0000;\n ret;\nlow:\n bar.warp.sync 0xffffffff;");
    wrong("", &late, 32, FindingKind::ExitedLanes);
    // A block that ends within a warp has no such lanes at all.
    right("", "bar.warp.sync 0xffffffff;", 48);
}

#[test]
fn shuffles_read_lanes_that_take_part() {
    let half = |delta: u32, clamp: &str| {
        format!("{HALVES}\n @!%p1 bra done;\n shfl.sync.down.b32 %r11, %r2, {delta}, {clamp}, 0x0000ffff;\ndone:")
    };
    let finding = wrong("", &half(4, "0x1f"), 32, FindingKind::ShuffleSource);
    assert!(finding.place.contains("0x000f0000"), "{finding}");
    assert!(finding.place.contains("0x0000f000"), "{finding}");
    right("", &half(4, "0x101f"), 32);
    // Lanes that the block does not have.
    wrong("", "shfl.sync.down.b32 %r11, %r2, 8, 31, 0xffffffff;", 48, FindingKind::ShuffleSource);
    right("", "shfl.sync.down.b32 %r11, %r2, 8, 31, 0xffffffff;", 64);
}

#[test]
fn promised_uniformity_holds() {
    let branch = |suffix: &str, condition: &str| {
        format!("{condition}\n @%p1 bra{suffix} low;\n add.u32 %r10, %r2, 1;\nlow:\n st.global.u32 [%rd2], %r2;")
    };
    let by_warp = "setp.lt.u32 %p1, %r2, 32;";
    let finding = wrong("", &branch(".uni", HALVES), 64, FindingKind::DivergentUniform);
    assert_eq!(finding.sides[0].threads, 16);
    right("", &branch("", HALVES), 64);
    right("", &branch(".uni", by_warp), 64);
    let function = ".func f() { ret; }";
    let call = |suffix: &str| format!("{HALVES}\n @%p1 call{suffix} f;");
    wrong(function, &call(".uni"), 32, FindingKind::DivergentUniform);
    right(function, &call(""), 32);
    let table = |suffix: &str| {
        format!(
            "{HALVES}
    selp.u32 %r10, 0, 1, %p1;
    targets: .branchtargets one, two;
    brx.idx{suffix} %r10, targets;
one:
    add.u32 %r11, %r2, 1;
two:"
        )
    };
    wrong("", &table(".uni"), 32, FindingKind::DivergentUniform);
    right("", &table(""), 32);
}

const OBJECT: &str = ".shared .align 8 .b64 gate;";

/// Thread 0 initialises the mbarrier for `count` arrivals.
fn gate(count: u32, then: &str) -> String {
    format!(
        "
    mov.u32 %r9, gate;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared.b64 [%r9], {count};
    bar.sync 0;
    {then}"
    )
}

const ARRIVE_AND_WAIT: &str = "
    mbarrier.arrive.shared.b64 %rd10, [%r9];
again:
    mbarrier.try_wait.shared.b64 %p2, [%r9], %rd10;
    @!%p2 bra again;";

#[test]
fn mbarriers_are_initialised_once() {
    right(OBJECT, &gate(64, ARRIVE_AND_WAIT), 64);
    let twice = "@%p1 mbarrier.init.shared.b64 [%r9], 64;\n bar.sync 0;";
    let finding = wrong(OBJECT, &gate(64, twice), 64, FindingKind::MbarrierInUse);
    assert_ne!(finding.sides[0].ptx_line, finding.sides[1].ptx_line);
    let properly = format!("@%p1 mbarrier.inval.shared.b64 [%r9];\n {twice}");
    right(OBJECT, &gate(64, &properly), 64);
    let never = "mov.u32 %r9, gate; mbarrier.arrive.shared.b64 %rd10, [%r9];";
    stuck(OBJECT, never, 32, FaultKind::Synchronisation, "was not initialised");
    let gone = format!("@%p1 mbarrier.inval.shared.b64 [%r9];\n bar.sync 0;\n {ARRIVE_AND_WAIT}");
    stuck(OBJECT, &gate(64, &gone), 64, FaultKind::Synchronisation, "was invalidated");
}

#[test]
fn phases_of_mbarriers_end() {
    stuck(
        OBJECT,
        &gate(65, ARRIVE_AND_WAIT),
        64,
        FaultKind::Deadlock,
        "a phase of an mbarrier that no thread completes",
    );
    stuck(
        OBJECT,
        &gate(32, "mbarrier.arrive.shared.b64 %rd10, [%r9], 33;"),
        32,
        FaultKind::Synchronisation,
        "waits for 32 more",
    );
    // Some threads wait, and others at a barrier for them.
    let half = format!(
        "setp.lt.u32 %p3, %r2, 32;
    @!%p3 bra done;
    {ARRIVE_AND_WAIT}
done:
    bar.sync 0;"
    );
    stuck(OBJECT, &gate(64, &half), 64, FaultKind::Deadlock, "barrier 0, where 32 of 64");
    right(OBJECT, &gate(32, &half), 64);
    // The last to arrive takes its time.
    let slow = format!(
        "setp.ne.u32 %p3, %r2, 63;
    @%p3 bra go;
    mov.u32 %r20, 0;
work:
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p4, %r20, 2000000;
    @%p4 bra work;
go:
    {ARRIVE_AND_WAIT}"
    );
    right(OBJECT, &gate(64, &slow), 64);
}

#[test]
fn findings_of_blocks_are_counted_together() {
    let body = format!("{HALVES}\n @%p1 bra low;\n bar.sync 0;\n bra.uni done;\nlow:\n bar.sync 0;\ndone:");
    let (found, _) = run("", &body, 50, 32);
    assert_eq!((found.len(), found[0].count), (1, 50 * 16));
    assert_eq!(found[0].sides[0].block, [0; 3]);
    let text = found[0].to_string();
    assert!(text.starts_with("error: divergent barrier in kernel `k`: "), "{text}");
    assert!(text.contains("and 15 more of its warp"), "{text}");
    assert!(text.contains("help: move the barrier out of the branch"), "{text}");
}
