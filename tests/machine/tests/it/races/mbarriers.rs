//! Synchronization of threads by the phases of an mbarrier.

use super::{OWN, TILE, is_clean, races};
use rumba_vm::FindingKind;

/// All threads write, arrive at an mbarrier, wait for its phase, and read what others have written.
fn phase(arrive: &str, wait: &str) -> String {
    format!(
        "{OWN}
    setp.ne.u32 %p0, %r2, 0;
    @%p0 bra ready;
    mbarrier.init.shared.b64 [bar], 128;
ready:
    bar.sync 0;
    st.shared.u32 [%r10], %r2;
    {arrive}
again:
    {wait}
    @!%p1 bra again;
    sub.u32 %r11, 508, %r10;
    add.u32 %r11, %r11, %r9;
    add.u32 %r11, %r11, %r9;
    ld.shared.u32 %r12, [%r11];
    st.global.u32 [%rd2], %r12;"
    )
}

#[test]
fn phases_of_mbarriers_order() {
    let declarations = format!("{TILE} .shared .align 8 .b64 bar;");
    let is_silent = |arrive: &str, wait: &str| is_clean(&declarations, &phase(arrive, wait), 1, 128);
    let is_found = |arrive: &str, wait: &str| {
        races(&declarations, &phase(arrive, wait), 1, 128, FindingKind::DataRace);
    };
    // How an arrival and a wait that order are spelled (manual, sections 9.7.13.16.13 and 9.7.13.16.16).
    let arrivals = [
        "mbarrier.arrive.shared.b64 %rd10, [bar];",
        "mbarrier.arrive.release.cta.shared::cta.b64 %rd10, [bar];",
        "mbarrier.arrive.release.cluster.shared::cta.b64 %rd10, [bar], 1;",
        "mbarrier.arrive.expect_tx.release.cta.shared.b64 %rd10, [bar], 0;",
        "mbarrier.arrive_drop.shared.b64 %rd10, [bar];",
        "fence.acq_rel.cta; mbarrier.arrive.relaxed.cta.shared.b64 %rd10, [bar];",
    ];
    let waits = [
        "mbarrier.test_wait.shared.b64 %p1, [bar], %rd10;",
        "mbarrier.try_wait.shared.b64 %p1, [bar], %rd10;",
        "mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd10, 1000;",
        "mbarrier.try_wait.acquire.cta.shared::cta.b64 %p1, [bar], %rd10;",
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [bar], %rd10;",
        "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;",
        "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0, 1000;",
        "mbarrier.try_wait.relaxed.cta.shared.b64 %p1, [bar], %rd10; fence.acq_rel.cta;",
    ];
    for arrive in arrivals {
        waits.iter().for_each(|wait| is_silent(arrive, wait));
    }
    let relaxed = "mbarrier.arrive.relaxed.cta.shared.b64 %rd10, [bar];";
    waits.iter().for_each(|wait| is_found(relaxed, wait));
    let relaxed = "mbarrier.try_wait.relaxed.cta.shared.b64 %p1, [bar], %rd10;";
    arrivals.iter().for_each(|arrive| is_found(arrive, relaxed));
    is_found(arrivals[0], "setp.eq.u32 %p1, 0, 0;");
}

#[test]
fn waits_learn_of_the_phases_that_have_ended() {
    let declarations = format!("{TILE} .shared .align 8 .b64 bar;");
    // One thread writes and arrives, then sets a flag that orders nothing; the second warp waits for the flag, asks for the
    // first phase, and reads.
    let body = |arrivals: &str, between: &str| {
        format!(
            "{OWN}
    setp.ne.u32 %p0, %r2, 0;
    @%p0 bra ready;
    mbarrier.init.shared.b64 [bar], 1;
ready:
    bar.sync 0;
    setp.ge.u32 %p2, %r2, 32;
    @%p2 bra second;
    setp.ne.u32 %p3, %r2, 5;
    @%p3 bra done;
    {arrivals}
    st.relaxed.cta.global.u32 [%rd1], 1;
    bra done;
second:
    ld.relaxed.cta.global.u32 %r13, [%rd1];
    setp.eq.u32 %p4, %r13, 0;
    @%p4 bra second;
    {between}
    ld.shared.u32 %r12, [%r9];
    st.global.u32 [%rd2], %r12;
done:"
        )
    };
    let arrive = "mbarrier.arrive.shared.b64 %rd10, [bar];";
    let write = "st.shared.u32 [%r9], 7;";
    let wait = "wait:\n mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n @!%p1 bra wait;";
    let is_silent = |arrivals: &str, wait: &str| is_clean(&declarations, &body(arrivals, wait), 1, 64);
    let is_found = |arrivals: &str, wait: &str| {
        races(&declarations, &body(arrivals, wait), 1, 64, FindingKind::DataRace);
    };
    is_silent(&format!("{write} {arrive}"), wait);
    // Behind the last arrival of the phase; before an arrival at the next one.
    is_found(&format!("{arrive} {write}"), wait);
    let of_two = |arrivals: &str, wait: &str| body(arrivals, wait).replace("[bar], 1;", "[bar], 2;");
    let later = of_two(&format!("{arrive} {arrive} {write} {arrive}"), wait);
    races(&declarations, &later, 1, 64, FindingKind::DataRace);
    let in_time = of_two(&format!("{arrive} {write} {arrive} {arrive}"), wait);
    is_clean(&declarations, &in_time, 1, 64);
    // A wait that has not seen its phase end has learnt of nothing.
    let asked = of_two(&format!("{write} {arrive}"), "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;");
    races(&declarations, &asked, 1, 64, FindingKind::DataRace);
}
