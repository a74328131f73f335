//! Operations that go on when their thread does: what is known of them before and behind the wait. The corpus in tests/ui has
//! more of them.

use super::{is_clean, races};
use rumba_vm::FindingKind;

/// A thread copies 128 bytes into a tile, `behind` which the block's threads come.
fn copy(before: &str, behind: &str) -> String {
    format!(
        "mov.u32 %r9, tile; shl.b32 %r10, %r2, 2; and.b32 %r10, %r10, 127; add.u32 %r10, %r9, %r10;
    setp.ne.u32 %p0, %r2, 0;
    @%p0 bra ready;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
ready:
    {before}
    bar.sync 0;
    @%p0 bra begun;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bar];
begun:
    {behind}"
    )
}

const TILE: &str = ".shared .align 16 .b8 tile[256]; .shared .align 8 .b64 bar;";
const WAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra wait;";
const READ: &str = "ld.shared.u32 %r11, [%r10];";
const WRITE: &str = "st.shared.u32 [%r10], %r2;";

#[test]
fn copies_are_known_behind_their_phase() {
    is_clean(TILE, &copy("", &format!("{WAIT} {READ}")), 1, 64);
    is_clean(TILE, &copy(READ, WAIT), 1, 64);
    races(TILE, &copy("", &format!("{READ} {WAIT}")), 1, 64, FindingKind::PendingCopy);
    // A thread that has not waited itself does not know that the copy is over, even when another thread has waited.
    let other = format!("setp.ge.u32 %p2, %r2, 32; @%p2 bra late; {WAIT} bra done; late: bar.sync 1, 32; {READ} done:");
    races(TILE, &copy("", &other), 1, 64, FindingKind::PendingCopy);
}

#[test]
fn a_copy_waits_for_those_who_read() {
    let body = |between: &str| {
        format!(
            "mov.u32 %r9, tile; shl.b32 %r10, %r2, 2; and.b32 %r10, %r10, 127; add.u32 %r10, %r9, %r10;
    setp.ne.u32 %p0, %r2, 32; setp.ge.u32 %p2, %r2, 32;
    @%p0 bra ready;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
ready:
    bar.sync 0;
    @%p2 bra second;
    {READ}
second:
    {between}
    @%p0 bra done;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bar];
    {WAIT}
done:"
        )
    };
    is_clean(TILE, &body("bar.sync 0;"), 1, 64);
    races(TILE, &body(""), 1, 64, FindingKind::EarlyRefill);
}

#[test]
fn what_threads_write_is_known_to_copies_behind_a_proxy_fence() {
    let fenced = format!("{WRITE} fence.proxy.async.shared::cta;");
    let one_writes = |body: &str| format!("@%p0 bra other; {body} other:");
    is_clean(TILE, &copy(&one_writes(&fenced), WAIT), 1, 64);
    races(TILE, &copy(&one_writes(WRITE), WAIT), 1, 32, FindingKind::MissingProxyFence);
}

/// A thread learns of another one between its arrival at the barrier of the cluster and the wait there.
#[test]
fn what_is_learnt_between_arrival_and_wait_is_kept() {
    let body = |between: &str| {
        format!(
            "mov.u32 %r9, tile; setp.ne.u32 %p0, %r2, 0; setp.ne.u32 %p3, %r2, 32;
    @%p0 bra ready;
    mbarrier.init.shared.b64 [bar], 1;
ready:
    bar.sync 0;
    barrier.cluster.arrive;
    @%p0 bra second;
    st.shared.u32 [tile], 1;
    mbarrier.arrive.shared.b64 _, [bar];
second:
    {between}
    barrier.cluster.wait;
    @%p3 bra done;
    ld.shared.u32 %r11, [tile];
done:"
        )
    };
    is_clean(TILE, &body(WAIT), 1, 64);
    races(TILE, &body(""), 1, 64, FindingKind::DataRace);
}
