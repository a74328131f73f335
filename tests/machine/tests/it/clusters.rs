//! Thread block clusters: their registers, their barrier, each other's shared memory, and what can go wrong with them.

use crate::common::{Bench, kernel, u32s};
use rumba_vm::{Check, CheckSet, Config, FaultKind, FindingKind, Launch, LaunchFailure};

const SHARED: &str = ".shared .align 4 .b32 values[64];";

fn launch(grid: u32, block: u32, cluster: [u32; 3]) -> Launch<'static> {
    Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: Some(cluster),
        device: 0,
    }
}

/// Runs a kernel in clusters and gives `count` values of `out`.
fn run(declarations: &str, body: &str, launch: Launch<'_>, count: usize) -> Vec<u32> {
    let bench = Bench::new(&kernel(declarations, body));
    let out = bench.zeros(4 * count);
    if let Err(error) = bench.launch_as("k", launch, &[out.into(), 0u32.into()]) {
        panic!("{error}");
    }
    u32s(&bench.download(out, 4 * count))
}

fn fault(declarations: &str, body: &str, launch: Launch<'_>) -> (FaultKind, String) {
    let bench = Bench::new(&kernel(declarations, body));
    let out = bench.zeros(4096);
    match bench.launch_as("k", launch, &[out.into(), 0u32.into()]) {
        Err(LaunchFailure::Fault(fault)) => (fault.kind, fault.to_string()),
        other => panic!("a fault was expected of {body}, not {other:?}"),
    }
}

#[test]
fn registers_say_where_a_block_lies_in_its_cluster() {
    let body = "
        mov.u32 %r10, %cluster_ctaid.x;
        mov.u32 %r11, %cluster_ctaid.y;
        mov.u32 %r12, %cluster_ctarank;
        mov.u32 %r13, %clusterid.x;
        mov.u32 %r14, %clusterid.y;
        mov.u32 %r15, %ctaid.y;
        mov.u32 %r16, %nctaid.x;
        mad.lo.u32 %r17, %r15, %r16, %r3;
        mul.wide.u32 %rd10, %r17, 4;
        add.s64 %rd10, %rd1, %rd10;
        mul.lo.u32 %r20, %r14, 10;
        add.u32 %r20, %r20, %r13;
        mul.lo.u32 %r20, %r20, 10;
        add.u32 %r20, %r20, %r12;
        mul.lo.u32 %r20, %r20, 10;
        add.u32 %r20, %r20, %r11;
        mul.lo.u32 %r20, %r20, 10;
        add.u32 %r20, %r20, %r10;
        mov.pred %p1, %is_explicit_cluster;
        mov.u32 %r21, %cluster_nctarank;
        mov.u32 %r22, %cluster_nctaid.y;
        mov.u32 %r23, %nclusterid.x;
        setp.eq.and.u32 %p1, %r21, 6, %p1;
        setp.eq.and.u32 %p1, %r22, 2, %p1;
        setp.eq.and.u32 %p1, %r23, 2, %p1;
        @%p1 st.global.u32 [%rd10], %r20;";
    let out = run("", body, Launch { grid: [6, 4, 1], ..launch(6, 1, [3, 2, 1]) }, 24);
    for (index, value) in out.into_iter().enumerate() {
        let (x, y) = (index as u32 % 6, index as u32 / 6);
        let rank = x % 3 + 3 * (y % 2);
        let expected = (y / 2) * 10_000 + (x / 3) * 1000 + rank * 100 + (y % 2) * 10 + x % 3;
        assert_eq!(value, expected, "block ({x}, {y})");
    }
}

/// Each block leaves its number in shared memory; thread `t` reads what block `t` of the cluster has left, by an address
/// in the window of the cluster or by a generic one.
fn neighbours(map_and_load: &str) -> Vec<u32> {
    let body = format!(
        "
        mov.u64 %rd10, values;
        cvt.u32.u64 %r10, %rd10;
        add.u32 %r11, %r3, 100;
        st.shared.u32 [values], %r11;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        {map_and_load}
        st.global.u32 [%rd2], %r20;
        barrier.cluster.arrive.relaxed.aligned;
        barrier.cluster.wait.aligned;"
    );
    run(SHARED, &body, launch(12, 4, [4, 1, 1]), 48)
}

#[test]
fn blocks_read_each_others_shared_memory() {
    let expected: Vec<u32> = (0..48).map(|i| 100 + i / 16 * 4 + i % 4).collect();
    let ways = [
        "mapa.shared::cluster.u32 %r12, %r10, %r2; ld.shared::cluster.u32 %r20, [%r12];",
        "mapa.shared::cluster.u64 %rd11, %rd10, %r2; ld.shared::cluster.u32 %r20, [%rd11];",
        "cvta.shared.u64 %rd11, %rd10; mapa.u64 %rd12, %rd11, %r2; ld.u32 %r20, [%rd12];",
        "mapa.shared::cluster.u64 %rd11, %rd10, %r2; cvta.shared::cluster.u64 %rd12, %rd11; ld.u32 %r20, [%rd12];",
        "cvta.shared.u64 %rd11, %rd10; mapa.u64 %rd12, %rd11, %r2; cvta.to.shared::cluster.u64 %rd13, %rd12;
         ld.shared::cluster.u32 %r20, [%rd13];",
    ];
    for way in ways {
        assert_eq!(neighbours(way), expected, "{way}");
    }
    let ranks: Vec<u32> = (0..48).map(|i| i % 4).collect();
    for way in [
        "mapa.shared::cluster.u32 %r12, %r10, %r2; getctarank.shared::cluster.u32 %r20, %r12;",
        "cvta.shared.u64 %rd11, %rd10; mapa.u64 %rd12, %rd11, %r2; getctarank.u64 %r20, %rd12;",
    ] {
        assert_eq!(neighbours(way), ranks, "{way}");
    }
    let spaces: Vec<u32> = (0..48).map(|i| if i % 4 == i / 4 % 4 { 11 } else { 10 }).collect();
    let way = "
        cvta.shared.u64 %rd11, %rd10;
        mapa.u64 %rd12, %rd11, %r2;
        isspacep.shared::cta %p1, %rd12;
        isspacep.shared::cluster %p2, %rd12;
        selp.b32 %r20, 1, 0, %p1;
        selp.b32 %r21, 10, 0, %p2;
        add.u32 %r20, %r20, %r21;";
    assert_eq!(neighbours(way), spaces);
}

#[test]
fn a_histogram_over_a_cluster() {
    // Block 0 of each cluster holds the bins; all threads of the cluster count there.
    let body = "
        mov.u64 %rd10, values;
        cvt.u32.u64 %r10, %rd10;
        mov.u32 %r11, %cluster_ctarank;
        setp.eq.u32 %p1, %r11, 0;
        setp.lt.and.u32 %p1, %r2, 8, %p1;
        shl.b32 %r12, %r2, 2;
        add.u32 %r13, %r10, %r12;
        @%p1 st.shared.u32 [%r13], 0;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        and.b32 %r14, %r4, 7;
        shl.b32 %r14, %r14, 2;
        add.u32 %r14, %r10, %r14;
        mapa.shared::cluster.u32 %r15, %r14, 0;
        atom.shared::cluster.add.u32 %r16, [%r15], 1;
        mapa.shared::cluster.u32 %r17, %r10, 0;
        red.shared::cluster.add.u32 [%r17], 100;
        barrier.cluster.arrive.release;
        barrier.cluster.wait.acquire;
        @!%p1 bra DONE;
        ld.shared.u32 %r18, [%r13];
        mul.wide.u32 %rd12, %r3, 32;
        mul.wide.u32 %rd13, %r2, 4;
        add.s64 %rd12, %rd12, %rd13;
        add.s64 %rd12, %rd1, %rd12;
        st.global.u32 [%rd12], %r18;
    DONE:";
    let out = run(SHARED, body, launch(16, 96, [8, 1, 1]), 128);
    for cluster in 0..2 {
        let bins = &out[cluster * 64..][..8];
        assert_eq!(bins[0], 96 + 100 * 8 * 96);
        assert!(bins[1..].iter().all(|bin| *bin == 96), "{bins:?}");
    }
}

#[test]
fn a_kernel_may_say_itself_how_large_its_clusters_are() {
    let ptx = kernel("", "mov.u32 %r10, %cluster_nctarank; st.global.u32 [%rd2], %r10;");
    let required = ptx.replace(".param .u32 n)", ".param .u32 n) .explicitcluster .reqnctapercluster 2, 1, 1");
    let bench = Bench::new(&required);
    let out = bench.zeros(64);
    bench.run("k", 4, 1, &[out.into(), 0u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 16)), [2; 4]);
    let refused = |bench: &Bench, launch| match bench.launch_as("k", launch, &[out.into(), 0u32.into()]) {
        Err(LaunchFailure::Refused(error)) => error.to_string(),
        other => panic!("a refusal was expected, not {other:?}"),
    };
    assert!(refused(&bench, launch(4, 1, [4, 1, 1])).contains(".reqnctapercluster"));
    assert!(refused(&bench, launch(3, 1, [2, 1, 1])).contains("is not a multiple of that"));
    let bench = Bench::new(&ptx.replace(".param .u32 n)", ".param .u32 n) .maxclusterrank 4"));
    assert!(refused(&bench, launch(8, 1, [8, 1, 1])).contains("a cluster has 1 to 4 blocks"));
    let bench = Bench::new(&ptx);
    assert!(refused(&bench, launch(32, 1, [32, 1, 1])).contains("a cluster has 1 to 16 blocks"));
}

#[test]
fn blocks_that_wait_for_each_other_by_polling() {
    // Block 0 waits for a flag in its own shared memory that the last block sets; all others wait for block 0.
    let body = "
        mov.u64 %rd10, values;
        cvt.u32.u64 %r10, %rd10;
        st.shared.u32 [values], 0;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        mov.u32 %r11, %cluster_ctarank;
        mapa.shared::cluster.u32 %r12, %r10, 0;
        setp.ne.u32 %p1, %r11, 15;
        @%p1 bra SPIN;
        st.release.cluster.shared::cluster.u32 [%r12], 7;
    SPIN:
        ld.acquire.cluster.shared::cluster.u32 %r13, [%r12];
        setp.eq.u32 %p2, %r13, 0;
        @%p2 bra SPIN;
        st.global.u32 [%rd2], %r13;
        barrier.cluster.arrive;
        barrier.cluster.wait;";
    assert_eq!(run(SHARED, body, launch(32, 33, [16, 1, 1]), 32 * 33), vec![7; 32 * 33]);
}

#[test]
fn mistakes_with_clusters_are_named() {
    let pair = launch(2, 32, [2, 1, 1]);
    let map = "mov.u64 %rd10, values; mapa.shared::cluster.u64 %rd11, %rd10, 1;";
    let (kind, text) = fault(SHARED, "barrier.cluster.arrive; barrier.cluster.arrive;", pair);
    assert_eq!(kind, FaultKind::Synchronisation, "{text}");
    let (kind, text) = fault("", "barrier.cluster.wait;", pair);
    assert_eq!(kind, FaultKind::Synchronisation, "{text}");
    let (kind, text) = fault(SHARED, &map.replace("%rd10, 1", "%rd10, 2"), pair);
    assert_eq!(kind, FaultKind::InvalidInstruction, "{text}");
    let body = format!("{map} ld.shared::cluster.u32 %r10, [%rd11+256];");
    let (kind, text) = fault(SHARED, &body, pair);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(text.contains("the shared memory of block 1 of the cluster has 256 bytes"), "{text}");
    // Block 0 waits long enough for block 1 to be gone.
    let body = format!(
        "setp.eq.u32 %p1, %r3, 1; @%p1 bra LAST;
        SPIN: ld.volatile.global.u32 %r10, [%rd1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra SPIN;
        nanosleep.u32 1000; mov.u32 %r12, 0;
        WAIT: ld.volatile.global.u32 %r11, [%rd1]; add.u32 %r12, %r12, 1; setp.lt.u32 %p3, %r12, 9999; @%p3 bra WAIT;
        {map} ld.shared::cluster.u32 %r10, [%rd11]; exit;
        LAST: st.volatile.global.u32 [%rd1], 1;"
    );
    let (kind, text) = fault(SHARED, &body, pair);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(text.contains("block 1 of the cluster, which has ended"), "{text}");
    // One warp that waits for the other warp of its block is enough to keep all others waiting.
    let body = "
        setp.gt.u32 %p1, %r4, 31;
        @%p1 bra CLUSTER;
        bar.sync 1, 64;
    CLUSTER:
        barrier.cluster.arrive;
        barrier.cluster.wait;";
    let (kind, text) = fault("", body, launch(2, 64, [2, 1, 1]));
    assert_eq!(kind, FaultKind::Deadlock);
    assert!(text.contains("every thread of the cluster waits for others"), "{text}");
    assert!(text.contains("waiting at the barrier of the cluster, where 96 of 128 threads have arrived"), "{text}");
}

const ANSWER: &str = "
.shared .align 16 .b8 answer[16];
.shared .align 8 .b64 barrier;";

/// Waits for a phase of `barrier`, whose parity is in `%r20`, and takes the cancelled block's coordinates to `%r21`, `%r22`
/// and `%r23`; goes to END if there is none.
const TAKE: &str = "
    WAIT:
        mbarrier.try_wait.parity.shared.b64 %p1, [barrier], %r20;
        @!%p1 bra WAIT;
        xor.b32 %r20, %r20, 1;
        ld.shared.b128 %q1, [answer];
        clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1;
        @!%p2 bra END;
        clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r21, %r22, _, _}, %q1;
        clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r23, %q1;";

#[test]
fn what_blocks_take_over_is_done_once() {
    // Every block counts itself and all that it could keep from being launched.
    let body = format!(
        "
        .reg .b128 %q1;
        mbarrier.init.shared.b64 [barrier], 1;
        mov.u32 %r20, 0;
        mov.u32 %r21, %ctaid.x;
        mov.u32 %r22, %ctaid.y;
        mov.u32 %r23, %ctaid.z;
    NEXT:
        mad.lo.u32 %r24, %r23, 5, %r22;
        mad.lo.u32 %r24, %r24, 7, %r21;
        mul.wide.u32 %rd10, %r24, 4;
        add.s64 %rd10, %rd1, %rd10;
        atom.global.add.u32 %r25, [%rd10], 1;
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [barrier];
        mbarrier.arrive.expect_tx.shared.b64 %rd11, [barrier], 16;
        {TAKE}
        bra NEXT;
    END:"
    );
    let launch = Launch { grid: [7, 5, 3], cluster: None, ..launch(1, 1, [1; 3]) };
    assert_eq!(run(ANSWER, &body, launch, 7 * 5 * 3), [1; 7 * 5 * 3]);
}

#[test]
fn a_cluster_takes_over_another_one() {
    let body = format!(
        "
        .reg .b128 %q1;
        mbarrier.init.shared.b64 [barrier], 1;
        mov.u32 %r20, 0;
        mov.u32 %r21, %clusterid.x;
        mul.lo.u32 %r21, %r21, 2;
        mov.u32 %r26, %cluster_ctarank;
        setp.eq.u32 %p3, %r26, 0;
    NEXT:
        add.u32 %r24, %r21, %r26;
        mul.wide.u32 %rd10, %r24, 4;
        add.s64 %rd10, %rd1, %rd10;
        atom.global.add.u32 %r25, [%rd10], 1;
        mbarrier.arrive.expect_tx.shared.b64 %rd11, [barrier], 16;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        @%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
            [answer], [barrier];
        {TAKE}
        bra NEXT;
    END:
        barrier.cluster.arrive;
        barrier.cluster.wait;"
    );
    assert_eq!(run(ANSWER, &body, launch(24, 1, [2, 1, 1]), 24), [1; 24]);
}

#[test]
fn cancelling_needs_an_mbarrier() {
    let body = "
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [barrier];";
    let (kind, text) = fault(ANSWER, body, launch(2, 1, [1; 3]));
    assert_eq!(kind, FaultKind::Synchronisation, "{text}");
    assert!(text.contains("there is no mbarrier here"), "{text}");
}

#[test]
fn an_arrival_at_the_mbarrier_of_a_block_that_has_ended_has_no_effect() {
    // The barrier of the cluster is complete without the second block, which has ended.
    let body = |arrive: &str| {
        format!(
            "mov.u32 %r10, %cluster_ctarank; setp.ne.u32 %p1, %r10, 0; setp.ne.u32 %p2, %r2, 0;
            mov.u32 %r11, values; mapa.shared::cluster.u32 %r12, %r11, 1;
            cvt.u64.u32 %rd10, %r11; cvta.shared.u64 %rd10, %rd10; mapa.u64 %rd10, %rd10, 1;
            @%p2 bra READY;
            mbarrier.init.shared.b64 [%r11], 64;
        READY:
            barrier.cluster.arrive; barrier.cluster.wait;
            @%p1 bra DONE;
            barrier.cluster.arrive; barrier.cluster.wait;
            {arrive}
            st.global.u32 [%rd2], 7;
        DONE:"
        )
    };
    let shared = ".shared .align 8 .b64 values[1];";
    let checks = |checks: &[Check]| CheckSet::from_iter(checks.iter().copied());
    let local = "mapa.shared::cluster.u32 %r12, %r11, 0; mbarrier.arrive.shared::cluster.b64 _, [%r12];";
    for (arrive, is_wrong) in [
        ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];", true),
        ("mbarrier.arrive.shared::cluster.b64 _, [%r12], 2;", true),
        ("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%r12], 16;", true),
        ("mbarrier.arrive.b64 _, [%rd10];", true),
        (local, false),
        // Each second lane arrives at the mbarrier of its own block.
        (
            "and.b32 %r13, %r2, 1; mapa.shared::cluster.u32 %r12, %r11, %r13; mbarrier.arrive.shared::cluster.b64 _, [%r12];",
            true,
        ),
    ] {
        for checks in [checks(&[]), checks(&[Check::Mem]), checks(&[Check::Mem, Check::Sync])] {
            let config = Config { checks, ..Config::default() };
            let bench = Bench::with(&kernel(shared, &body(arrive)), config);
            let out = bench.zeros(256);
            if let Err(error) = bench.launch_as("k", launch(2, 32, [2, 1, 1]), &[out.into(), 0u32.into()]) {
                panic!("{arrive}: {error}");
            }
            let found: Vec<_> = bench.device.take_findings().iter().map(|finding| finding.kind).collect();
            let is_told = is_wrong && checks.contains(Check::Sync);
            assert_eq!(found.contains(&FindingKind::ExitedBlock), is_told, "{arrive}: {found:?}");
            assert_eq!(u32s(&bench.download(out, 128)), [7; 32], "{arrive}");
        }
    }
    // Other accesses to a block that has ended are faults, under any set of checks.
    for access in ["ld.shared::cluster.u32 %r13, [%r12];", "mbarrier.test_wait.b64 %p3, [%rd10], %rd11;"] {
        let (kind, message) = fault(shared, &body(access), launch(2, 32, [2, 1, 1]));
        assert_eq!(kind, FaultKind::IllegalAddress, "{message}");
        assert!(message.contains("which has ended"), "{message}");
    }
}
