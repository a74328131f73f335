//! Divisions by zero and shifts beyond the width: kernels that do it, and near misses that do not.

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind, Severity};

fn run(body: &str) -> Vec<Finding> {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Arith), ..Config::default() };
    let bench = Bench::with(&kernel("", body), config);
    let out = bench.zeros(4 * 64);
    if let Err(error) = bench.run("k", 1, 64, &[out.into(), 0_u32.into()]) {
        panic!("{error}");
    }
    bench.device.take_findings()
}

#[track_caller]
fn wrong(body: &str, kind: FindingKind, count: u64) {
    let found = run(body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].count), (kind, count), "{}", found[0]);
}

#[track_caller]
fn right(body: &str) {
    let found = run(body);
    assert!(found.is_empty(), "{}", found[0]);
}

const ZERO: FindingKind = FindingKind::DivisionByZero;
const SHIFT: FindingKind = FindingKind::ShiftBeyondWidth;

#[test]
fn divisors_are_not_zero() {
    for instruction in ["div.u32", "div.s32", "rem.u32", "rem.s32"] {
        // Thread 0 only.
        wrong(&format!("{instruction} %r10, %r1, %r2; st.global.u32 [%rd2], %r10;"), ZERO, 1);
        let guarded = "setp.ne.u32 %p1, %r2, 0;\n @%p1";
        right(&format!("{guarded} {instruction} %r10, %r1, %r2;\n st.global.u32 [%rd2], %r2;"));
        right(&format!("{instruction} %r10, %r2, 7; st.global.u32 [%rd2], %r10;"));
    }
    wrong("cvt.u64.u32 %rd10, %r2; div.s64 %rd11, %rd1, %rd10; st.global.u64 [%rd1], %rd11;", ZERO, 1);
    // A divisor whose lower half is zero.
    right("cvt.u64.u32 %rd10, %r2; add.u64 %rd10, %rd10, 1; shl.b64 %rd10, %rd10, 32; div.u64 %rd11, %rd1, %rd10;");
    // Of 16 bits.
    wrong("cvt.u16.u32 %rs1, %r2; rem.u16 %rs2, %rs1, %rs1; st.global.u16 [%rd2], %rs2;", ZERO, 1);
    wrong("rem.u32 %r10, %r2, 0; st.global.u32 [%rd2], %r10;", ZERO, 64);
    // Floating-point division is defined for all operands.
    right("cvt.rn.f32.u32 %f1, %r2; div.rn.f32 %f2, %f1, %f1; st.global.f32 [%rd2], %f2;");
}

#[test]
fn amounts_are_below_the_width() {
    let shift = |instruction: &str, use_it: &str| format!("{instruction} %r10, %r5, %r2;\n {use_it}");
    let store = "st.global.u32 [%rd2], %r10;";
    for instruction in ["shl.b32", "shr.u32", "shr.s32"] {
        wrong(&shift(instruction, store), SHIFT, 32);
        // As compiled from `wrapping_shl`.
        right(&format!("and.b32 %r11, %r2, 31;\n {instruction} %r10, %r5, %r11;\n {store}"));
        right(&format!("{instruction} %r10, %r5, 31;\n {store}"));
    }
    wrong("shl.b64 %rd10, %rd1, %r6;\n st.global.u64 [%rd1], %rd10;".replace("%r6", "64").as_str(), SHIFT, 64);
    right("shl.b64 %rd10, %rd1, %r2;\n st.global.u64 [%rd1], %rd10;");
    wrong("cvt.u16.u32 %rs1, %r2; shl.b16 %rs2, %rs1, %r2; st.global.u16 [%rd2], %rs2;", SHIFT, 48);
    assert_eq!(SHIFT.severity(), Severity::Warning);
}

#[test]
fn compilers_may_shift_first_and_ask_later() {
    let store = "st.global.u32 [%rd2], %r10;";
    // `checked_shl`: the amount is compared with the width, before or after.
    right(&format!("shl.b32 %r11, %r5, %r2;\n setp.lt.u32 %p1, %r2, 32;\n selp.u32 %r10, %r11, 0, %p1;\n {store}"));
    right(&format!("setp.gt.u32 %p1, %r2, 31;\n @%p1 bra done;\n shl.b32 %r10, %r5, %r2;\n {store}\ndone:"));
    // The halves of a wide shift: the result is chosen by a sign.
    let wide = "
    sub.s32 %r11, 32, %r2;
    shl.b32 %r12, %r5, %r2;
    shr.u32 %r13, %r5, %r11;
    or.b32 %r14, %r12, %r13;
    setp.lt.s32 %p1, %r11, 0;
    selp.b32 %r10, %r5, %r14, %p1;";
    right(&format!("{wide}\n {store}"));
    // A bit that is tested together with the amount.
    let bit = "
    shr.u32 %r11, %r5, %r2;
    and.b32 %r12, %r11, 1;
    setp.eq.b32 %p1, %r12, 1;
    setp.lt.u32 %p2, %r2, %r3;
    and.pred %p3, %p1, %p2;
    selp.u32 %r10, 1, 0, %p3;";
    right(&format!("{bit}\n {store}"));
    // Chosen from and stored.
    wrong(
        &format!("shl.b32 %r10, %r5, %r2;\n setp.lt.u32 %p1, %r2, 7;\n selp.u32 %r11, %r10, 0, %p1;\n {store}"),
        SHIFT,
        32,
    );
}
