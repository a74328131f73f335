//! Warp operations: shuffles, votes, matches, reductions; lanes that wait for each other.

use crate::common::run;

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn shuffles() {
    let body = |shuffle: &str| {
        format!(
            "add.s32 %r10, %r2, 100;
             {shuffle}
             selp.b32 %r12, 1000, 0, %p1;
             add.s32 %r11, %r11, %r12;
             st.global.u32 [%rd2], %r11;"
        )
    };
    let check = |shuffle: &str, f: &dyn Fn(u32) -> u32| {
        assert_eq!(run("", &body(shuffle), 1, 32, 0, 32), lanes(f), "{shuffle}");
    };
    check("shfl.sync.down.b32 %r11|%p1, %r10, 3, 31, -1;", &|i| {
        if i + 3 <= 31 { 1103 + i } else { 100 + i }
    });
    check("shfl.sync.up.b32 %r11|%p1, %r10, 3, 0, -1;", &|i| {
        if i >= 3 { 1097 + i } else { 100 + i }
    });
    check("shfl.sync.bfly.b32 %r11|%p1, %r10, 5, 31, -1;", &|i| 1100 + (i ^ 5));
    check("shfl.sync.idx.b32 %r11|%p1, %r10, 7, 31, -1;", &|_| 1107);
    // Segments of 8 lanes: the mask is 0x18.
    check("shfl.sync.idx.b32 %r11|%p1, %r10, 2, 0x181f, -1;", &|i| 1102 + (i & 24));
    check("shfl.sync.down.b32 %r11|%p1, %r10, 2, 0x181f, -1;", &|i| {
        if i % 8 + 2 < 8 { 1102 + i } else { 100 + i }
    });
    check("mov.u32 %r20, 31; mov.u32 %r21, -1; shfl.sync.idx.b32 %r11|%p1, %r10, %r2, %r20, %r21;", &|i| 1100 + i);
}

#[test]
fn a_mask_without_its_caller_ends_nothing() {
    // All 32 lanes come together, and the mask names 16 of them: a GPU shuffles them all.
    let body = "
        add.s32 %r10, %r2, 100;
        shfl.sync.idx.b32 %r11, %r10, 3, 31, 0x0000ffff;
        bar.warp.sync 0x0000ffff;
        st.global.u32 [%rd2], %r11;";
    assert_eq!(run("", body, 1, 32, 0, 32), lanes(|_| 103));
    // The upper half comes alone and does not wait for the lower one, which has left.
    let body = "
        mov.u32 %r11, 7;
        setp.lt.u32 %p1, %r2, 16;
        @%p1 bra DONE;
        add.s32 %r10, %r2, 100;
        shfl.sync.bfly.b32 %r11, %r10, 1, 31, 0x0000ffff;
    DONE:
        st.global.u32 [%rd2], %r11;";
    let expected = lanes(|lane| if lane < 16 { 7 } else { 100 + (lane ^ 1) });
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn shuffles_of_parts_of_a_warp_wait_for_their_members_only() {
    // The two halves reach the same shuffle at different times, with different masks.
    let body = "
        setp.lt.u32 %p1, %r2, 16;
        mov.u32 %r20, 0xffff0000;
        @%p1 mov.u32 %r20, 0x0000ffff;
        @%p1 bra LATER;
        add.s32 %r2, %r2, 0;
    LATER:
        add.s32 %r10, %r2, 100;
        shfl.sync.down.b32 %r11, %r10, 1, 31, %r20;
        st.global.u32 [%rd2], %r11;";
    let out = run("", body, 1, 32, 0, 32);
    for lane in (0..15).chain(16..31) {
        assert_eq!(out[lane as usize], 101 + lane);
    }
}

#[test]
fn votes() {
    let body = "
        setp.lt.u32 %p1, %r2, %r1;
        vote.sync.ballot.b32 %r10, %p1, -1;
        vote.ballot.sync.b32 %r11, !%p1, -1;
        vote.sync.all.pred %p2, %p1, -1;
        vote.sync.any.pred %p3, %p1, -1;
        vote.sync.uni.pred %p4, %p1, -1;
        selp.b32 %r12, 1, 0, %p2;
        selp.b32 %r13, 2, 0, %p3;
        selp.b32 %r14, 4, 0, %p4;
        or.b32 %r12, %r12, %r13;
        or.b32 %r12, %r12, %r14;
        xor.b32 %r11, %r11, %r10;
        not.b32 %r11, %r11;
        add.s32 %r10, %r10, %r11;
        mul.lo.s32 %r10, %r10, 8;
        add.s32 %r10, %r10, %r12;
        st.global.u32 [%rd2], %r10;";
    for n in [0u32, 1, 5, 31, 32] {
        let ballot = if n == 32 { u32::MAX } else { (1 << n) - 1 };
        let flags = u32::from(n == 32) | if n > 0 { 2 } else { 0 } | if n == 0 || n == 32 { 4 } else { 0 };
        assert_eq!(run("", body, 1, 32, n, 32), vec![ballot.wrapping_mul(8).wrapping_add(flags); 32], "n = {n}");
    }
}

#[test]
fn votes_do_not_wait_for_lanes_that_have_exited() {
    let body = "
        setp.ge.u32 %p1, %r2, 20;
        @%p1 exit;
        setp.lt.u32 %p2, %r2, 7;
        vote.sync.ballot.b32 %r10, %p2, -1;
        st.global.u32 [%rd2], %r10;";
    let mut expected = vec![127; 20];
    expected.extend([0; 12]);
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn matches_and_reductions() {
    let body = "
        and.b32 %r10, %r2, 3;
        match.any.sync.b32 %r11, %r10, -1;
        st.global.u32 [%rd2], %r11;";
    assert_eq!(run("", body, 1, 32, 0, 32), lanes(|i| 0x1111_1111 << (i & 3)));
    let body = "
        cvt.u64.u32 %rd10, %r1;
        match.all.sync.b64 %r11|%p1, %rd10, -1;
        selp.b32 %r12, 0, 1, %p1;
        add.s32 %r11, %r11, %r12;
        st.global.u32 [%rd2], %r11;";
    assert_eq!(run("", body, 1, 32, 3, 32), vec![u32::MAX; 32]);
    let reduce = |op: &str, expected: u32| {
        let body = format!("sub.s32 %r10, %r2, 5; redux.sync.{op} %r11, %r10, -1; st.global.u32 [%rd2], %r11;");
        assert_eq!(run("", &body, 1, 32, 0, 32), vec![expected; 32], "{op}");
    };
    reduce("add.s32", 31 * 16 - 5 * 32);
    reduce("min.s32", -5i32 as u32);
    reduce("max.s32", 26);
    reduce("min.u32", 0);
    reduce("max.u32", u32::MAX);
    reduce("and.b32", 0);
    reduce("or.b32", u32::MAX);
}

#[test]
fn elect_chooses_one_lane() {
    let body = "
        elect.sync %r10|%p1, -1;
        selp.b32 %r11, 1, 0, %p1;
        st.global.u32 [%rd2], %r11;";
    let mut expected = vec![0; 32];
    expected[0] = 1;
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn warp_barriers_join_lanes_from_different_places() {
    let shared = ".shared .align 4 .b32 values[32];";
    let body = "
        mov.u64 %rd10, values;
        mul.wide.u32 %rd11, %r2, 4;
        add.s64 %rd11, %rd10, %rd11;
        setp.lt.u32 %p1, %r2, 16;
        @%p1 bra LOW;
        st.shared.u32 [%rd11], %r2;
        bar.warp.sync -1;
        bra JOIN;
    LOW:
        mul.lo.s32 %r10, %r2, 2;
        st.shared.u32 [%rd11], %r10;
        bar.warp.sync -1;
    JOIN:
        xor.b32 %r12, %r2, 31;
        mul.wide.u32 %rd12, %r12, 4;
        add.s64 %rd12, %rd10, %rd12;
        ld.shared.u32 %r13, [%rd12];
        st.global.u32 [%rd2], %r13;";
    assert_eq!(run(shared, body, 1, 32, 0, 32), lanes(|i| if 31 - i < 16 { 2 * (31 - i) } else { 31 - i }));
}

#[test]
fn a_lock_between_lanes_of_a_warp_is_passed_on() {
    let globals = ".global .align 4 .u32 lock = 0;\n.global .align 4 .u32 counter = 0;";
    let body = "
        mov.u64 %rd10, lock;
        mov.u64 %rd11, counter;
    ACQUIRE:
        atom.global.acquire.gpu.cas.b32 %r10, [%rd10], 0, 1;
        setp.ne.s32 %p1, %r10, 0;
        @%p1 bra ACQUIRE;
        ld.volatile.global.u32 %r11, [%rd11];
        add.s32 %r11, %r11, 1;
        st.volatile.global.u32 [%rd11], %r11;
        membar.gl;
        atom.global.exch.b32 %r12, [%rd10], 0;
        bar.sync 0;
        st.global.u32 [%rd2], %r11;";
    let mut out = run(globals, body, 4, 64, 0, 256);
    out.sort_unstable();
    assert_eq!(out, (1..=256).collect::<Vec<u32>>());
}

#[test]
fn a_lane_that_waits_for_another_lane_of_its_warp_is_served() {
    // Lane 0 spins on a flag that lane 31 sets behind the loop: the spinner has the lower position.
    let shared = ".shared .align 4 .b32 flag;";
    let body = "
        st.shared.u32 [flag], 0;
        bar.warp.sync -1;
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra OTHERS;
    SPIN:
        ld.volatile.shared.u32 %r10, [flag];
        setp.eq.u32 %p2, %r10, 0;
        @%p2 bra SPIN;
        bra JOIN;
    OTHERS:
        setp.ne.u32 %p3, %r2, 31;
        @%p3 bra JOIN;
        st.volatile.shared.u32 [flag], 5;
    JOIN:
        ld.shared.u32 %r11, [flag];
        st.global.u32 [%rd2], %r11;";
    let out = run(shared, body, 1, 32, 0, 32);
    assert_eq!((out[0], out[31]), (5, 5));
}
