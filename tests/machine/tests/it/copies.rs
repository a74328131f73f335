//! Asynchronous copies and mbarriers: the arrival of data, waits, and misuse.

use crate::common::{Bench, kernel, run, u32s};
use rumba_vm::{FaultKind, Launch};

const SHARED: &str = "
.shared .align 16 .b8 tile[2048];
.shared .align 8 .b64 barrier;
.shared .align 8 .b64 other;
.global .align 16 .b32 source[256] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};";

/// The start of kernels whose threads copy 16 bytes each: their addresses in the tile and the source.
const ADDRESSES: &str = "
    mov.u64 %rd10, tile;
    mul.wide.u32 %rd11, %r2, 16;
    add.s64 %rd12, %rd10, %rd11;
    mov.u64 %rd13, source;
    add.s64 %rd14, %rd13, %rd11;
    cvt.u32.u64 %r30, %rd12;";

fn fault(body: &str, block: u32) -> (FaultKind, String) {
    let bench = Bench::new(&kernel(SHARED, body));
    let out = bench.zeros(4096);
    let fault = bench.fault("k", 1, block, &[out.into(), 0u32.into()]);
    (fault.kind, fault.to_string())
}

#[test]
fn groups_arrive_when_they_are_waited_for() {
    // Two groups of one copy each. What the second brings is not there before the second wait.
    let body = format!(
        "{ADDRESSES}
        st.shared.u32 [%rd12], 77;
        st.shared.u32 [%rd12+1024], 88;
        cp.async.ca.shared.global [%r30], [%rd14], 16;
        cp.async.commit_group;
        cp.async.cg.shared.global.L2::128B [%r30+1024], [%rd14], 16;
        cp.async.commit_group;
        ld.shared.u32 %r10, [%rd12];
        cp.async.wait_group 1;
        ld.shared.u32 %r11, [%rd12];
        ld.shared.u32 %r12, [%rd12+1024];
        cp.async.wait_group 0;
        ld.shared.u32 %r13, [%rd12+1024];
        ld.shared.u32 %r14, [%rd12+1036];
        mul.wide.u32 %rd20, %r2, 20;
        add.s64 %rd21, %rd1, %rd20;
        st.global.u32 [%rd21], %r10;
        st.global.u32 [%rd21+4], %r11;
        st.global.u32 [%rd21+8], %r12;
        st.global.u32 [%rd21+12], %r13;
        st.global.u32 [%rd21+16], %r14;"
    );
    let out = run(SHARED, &body, 1, 4, 0, 20);
    for (thread, seen) in out.chunks(5).enumerate() {
        let first = 4 * thread as u32 + 1;
        assert_eq!(seen, [77, first, 88, first, first + 3]);
    }
}

#[test]
fn what_is_not_copied_becomes_zero() {
    // Thread t takes 4 * t of 16 bytes; thread 4 ignores its source, which is no address at all.
    let body = format!(
        "{ADDRESSES}
        st.shared.v4.u32 [%rd12], {{77, 77, 77, 77}};
        mul.lo.u32 %r10, %r2, 4;
        setp.eq.u32 %p1, %r2, 4;
        @%p1 mov.u64 %rd14, 0;
        @%p1 bra IGNORE;
        cp.async.ca.shared.global [%r30], [%rd14], 16, %r10;
        cp.async.ca.shared.global [%r30+1024], [%rd14+4], 4;
        cp.async.ca.shared.global [%r30+1032], [%rd14+8], 8;
        bra WAIT;
    IGNORE:
        cp.async.ca.shared.global [%r30], [%rd14], 16, %p1;
    WAIT:
        cp.async.wait_all;
        ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%rd12];
        mul.wide.u32 %rd20, %r2, 16;
        add.s64 %rd21, %rd1, %rd20;
        st.global.v4.u32 [%rd21], {{%r11, %r12, %r13, %r14}};
        @%p1 bra DONE;
        ld.shared.u32 %r15, [%rd12+1024];
        ld.shared.v2.u32 {{%r16, %r17}}, [%rd12+1032];
        sub.u32 %r17, %r17, %r16;
        sub.u32 %r16, %r16, %r15;
        add.u32 %r17, %r17, %r16;
        setp.ne.u32 %p2, %r17, 2;
        @%p2 trap;
    DONE:"
    );
    let out = run(SHARED, &body, 1, 5, 0, 20);
    assert_eq!(&out[..16], [0, 0, 0, 0, 5, 0, 0, 0, 9, 10, 0, 0, 13, 14, 15, 0]);
    assert_eq!(&out[16..], [0; 4]);
}

#[test]
fn copies_pass_the_access_check() {
    let (kind, text) = fault(&format!("{ADDRESSES} cp.async.cg.shared.global [%r30+4096], [%rd14], 16;"), 1);
    assert_eq!(kind, FaultKind::IllegalAddress, "{text}");
    let (kind, text) = fault(&format!("{ADDRESSES} cp.async.cg.shared.global [%r30], [%rd14+1024], 16;"), 1);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(text.contains("read of 16 bytes of global memory"), "{text}");
    let (kind, text) = fault(&format!("{ADDRESSES} cp.async.ca.shared.global [%r30], [%rd14+4], 8;"), 1);
    assert_eq!(kind, FaultKind::MisalignedAddress, "{text}");
    let (kind, text) =
        fault(&format!("{ADDRESSES} mov.u32 %r10, 17; cp.async.cg.shared.global [%r30], [%rd14], 16, %r10;"), 1);
    assert_eq!(kind, FaultKind::InvalidInstruction, "{text}");
    // Only the 8 bytes that are read count, and the alignment is looked at first.
    for (offset, expected) in [(1024, FaultKind::IllegalAddress), (1020, FaultKind::MisalignedAddress)] {
        let copy = format!("cp.async.cg.shared.global [%r30], [%rd14+{offset}], 16, %r10;");
        let (kind, text) = fault(&format!("{ADDRESSES} mov.u32 %r10, 8; {copy}"), 1);
        assert_eq!(kind, expected, "{text}");
    }
}

#[test]
fn copies_arrive_at_an_mbarrier() {
    // Warp 0 copies and lets its copies arrive; warp 1 waits for the phase and reads. With and without `.noinc`.
    for (arrive, count) in [
        ("cp.async.mbarrier.arrive.noinc.shared.b64 [barrier];", 32),
        ("cp.async.mbarrier.arrive.shared.b64 [barrier]; mbarrier.arrive.shared.b64 _, [barrier];", 32),
    ] {
        let body = format!(
            "{ADDRESSES}
            setp.ne.u32 %p1, %r2, 0;
            @!%p1 mbarrier.init.shared.b64 [barrier], {count};
            bar.sync 0;
            setp.ge.u32 %p2, %r2, 32;
            @%p2 bra CONSUMER;
            cp.async.ca.shared.global [%r30], [%rd14], 16;
            {arrive}
            bra DONE;
        CONSUMER:
            mbarrier.test_wait.parity.shared.b64 %p3, [barrier], 0;
            @!%p3 bra CONSUMER;
            ld.shared.u32 %r10, [%rd12+-512];
            st.global.u32 [%rd2], %r10;
        DONE:"
        );
        let out = run(SHARED, &body, 1, 64, 0, 64);
        assert_eq!(&out[32..36], [1, 5, 9, 13], "{arrive}");
    }
}

#[test]
fn a_pipeline_of_bulk_copies() {
    // Four rounds through one buffer: thread 0 asks for 256 bytes, all threads wait and add up what has come.
    let body = "
        mov.u64 %rd10, tile;
        cvt.u32.u64 %r30, %rd10;
        mov.u64 %rd13, source;
        setp.eq.u32 %p1, %r2, 0;
        @%p1 mbarrier.init.shared::cta.b64 [barrier], 1;
        fence.mbarrier_init.release.cluster;
        bar.sync 0;
        mov.u32 %r10, 0;
        mov.u32 %r20, 0;
    ROUND:
        @!%p1 bra WAIT;
        mbarrier.arrive.expect_tx.shared.b64 %rd20, [barrier], 256;
        mul.wide.u32 %rd14, %r10, 256;
        add.s64 %rd15, %rd13, %rd14;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r30], [%rd15], 256, [barrier];
    WAIT:
        and.b32 %r11, %r10, 1;
        mbarrier.try_wait.parity.shared.b64 %p2, [barrier], %r11;
        @!%p2 bra WAIT;
        mul.wide.u32 %rd16, %r2, 4;
        add.s64 %rd16, %rd10, %rd16;
        ld.shared.u32 %r12, [%rd16];
        add.u32 %r20, %r20, %r12;
        add.u32 %r20, %r20, 100;
        bar.sync 0;
        add.u32 %r10, %r10, 1;
        setp.lt.u32 %p3, %r10, 4;
        @%p3 bra ROUND;
        st.global.u32 [%rd2], %r20;
        // Back to global memory, without the last byte of each word.
        st.shared.u32 [%rd16+256], 0x01020304;
        fence.proxy.async.shared::cta;
        bar.sync 0;
        @!%p1 bra DONE;
        add.s64 %rd17, %rd1, 256;
        mov.b16 %rs1, 0x7777;
        cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd17], [%r30+256], 256, %rs1;
        cp.async.bulk.commit_group;
        ld.global.u32 %r21, [%rd17];
        cp.async.bulk.wait_group.read 0;
        st.global.u32 [%rd17+256], %r21;
        cp.async.bulk.prefetch.L2.global [%rd13], 64;
    DONE:";
    let out = run(SHARED, body, 1, 64, 0, 129);
    let expected: Vec<u32> = (0..64).map(|i| 400 + if i < 16 { i + 1 } else { 0 }).collect();
    assert_eq!(&out[..64], expected);
    assert_eq!(&out[64..128], [0x0002_0304; 64]);
    assert_eq!(out[128], 0, "the copy must not arrive before it is waited for");
}

#[test]
fn states_and_dropping_out() {
    let body = "
        mbarrier.init.shared.b64 [barrier], 3;
        mbarrier.arrive.shared.b64 %rd10, [barrier];
        mbarrier.pending_count.b64 %r10, %rd10;
        mbarrier.arrive_drop.noComplete.shared.b64 %rd11, [barrier], 1;
        mbarrier.pending_count.b64 %r11, %rd11;
        mbarrier.test_wait.shared.b64 %p1, [barrier], %rd10;
        mbarrier.arrive.release.cta.shared.b64 %rd12, [barrier], 1;
        mbarrier.test_wait.acquire.cta.shared.b64 %p2, [barrier], %rd10;
        mbarrier.try_wait.parity.shared.b64 %p3, [barrier], 1, 1000;
        mov.u64 %rd20, barrier;
        cvta.shared.u64 %rd21, %rd20;
        mbarrier.arrive.b64 %rd13, [%rd21], 2;
        mbarrier.pending_count.b64 %r12, %rd13;
        mbarrier.try_wait.parity.b64 %p4, [%rd21], 1;
        mbarrier.expect_tx.relaxed.cta.shared.b64 [barrier], 64;
        mbarrier.complete_tx.relaxed.cta.shared.b64 [barrier], 64;
        mbarrier.inval.shared.b64 [barrier];
        selp.u32 %r13, 1, 0, %p1;
        selp.u32 %r14, 1, 0, %p2;
        selp.u32 %r15, 1, 0, %p3;
        selp.u32 %r16, 1, 0, %p4;
        st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
        st.global.u32 [%rd1+16], %r14;
        st.global.u32 [%rd1+20], %r15;
        st.global.u32 [%rd1+24], %r16;";
    assert_eq!(run(SHARED, body, 1, 1, 0, 7), [3, 2, 2, 0, 1, 0, 1]);
}

#[test]
fn misuse_of_mbarriers_is_named() {
    let cases = [
        ("mbarrier.arrive.shared.b64 _, [barrier];", "was not initialised"),
        (
            "mbarrier.init.shared.b64 [barrier], 1; mbarrier.inval.shared.b64 [barrier];
             mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;",
            "no longer valid",
        ),
        (
            "mbarrier.init.shared.b64 [barrier], 2; mbarrier.arrive.shared.b64 _, [barrier], 3;",
            "3 arrival(s) at an mbarrier whose phase waits for 2 more",
        ),
        ("mbarrier.init.shared.b64 [barrier], 0;", "1 to 1048575 are possible"),
        (
            "mbarrier.init.shared.b64 [barrier], 1; mbarrier.arrive.noComplete.shared.b64 %rd10, [barrier], 1;",
            ".noComplete",
        ),
        ("mbarrier.init.b64 [%rd1], 1;", "an mbarrier lies in shared memory"),
    ];
    for (body, part) in cases {
        let (kind, text) = fault(body, 1);
        assert_eq!(kind, FaultKind::Synchronisation, "{text}");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn blocks_of_a_cluster_arrive_at_each_others_mbarriers() {
    // Block 0 sends 64 bytes of its shared memory to both blocks; each block's mbarrier waits for the bytes and for one
    // arrival from every block.
    let body = "
        mov.u64 %rd10, tile;
        cvt.u32.u64 %r30, %rd10;
        mov.u64 %rd11, barrier;
        cvt.u32.u64 %r31, %rd11;
        mov.u32 %r10, %cluster_ctarank;
        add.u32 %r11, %r10, 40;
        st.shared.u32 [%r30], %r11;
        mbarrier.init.shared::cta.b64 [%r31], 3;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r31], 68;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 bra ARRIVE;
        mapa.shared::cluster.u32 %r12, %r30, 1;
        mapa.shared::cluster.u32 %r13, %r31, 1;
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12+64], [%r30], 64, [%r13];
        mov.b16 %rs1, 1;
        mov.u64 %rd13, source;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
            [%r30+64], [%rd13], 64, [%r31], %rs1;
    ARRIVE:
        mapa.shared::cluster.u32 %r14, %r31, 0;
        mapa.shared::cluster.u32 %r15, %r31, 1;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r15];
        xor.b32 %r16, %r10, 1;
        mapa.shared::cluster.u32 %r17, %r30, %r16;
        mapa.shared::cluster.u32 %r18, %r31, %r16;
        add.u32 %r19, %r10, 70;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r17+128], %r19, [%r18];
    WAIT:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r31], 0;
        @!%p2 bra WAIT;
        ld.shared.u32 %r20, [%r30+64];
        ld.shared.u32 %r21, [%r30+128];
        mad.lo.u32 %r20, %r21, 1000, %r20;
        st.global.u32 [%rd2], %r20;
        barrier.cluster.arrive;
        barrier.cluster.wait;";
    let bench = Bench::new(&kernel(SHARED, body));
    let out = bench.zeros(8);
    let launch = Launch {
        grid: [2, 1, 1],
        block: [1, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: Some([2, 1, 1]),
        device: 0,
    };
    if let Err(error) = bench.launch_as("k", launch, &[out.into(), 0u32.into()]) {
        panic!("{error}");
    }
    assert_eq!(u32s(&bench.download(out, 8)), [71_001, 70_040]);
}
