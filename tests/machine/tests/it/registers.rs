//! Registers that are used before anything is in them: kernels that do it, and near misses that do not.

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind};

fn run(declarations: &str, body: &str) -> Vec<Finding> {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Init), ..Config::default() };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(4 * 65);
    if let Err(error) = bench.run("k", 1, 64, &[out.into(), 0_u32.into()]) {
        panic!("{error}");
    }
    bench.download(out, 4 * 65);
    bench.device.take_findings()
}

/// Undefined values that `body` stores are reported when the host reads them.
#[track_caller]
fn wrong_output(body: &str, bytes: u64) {
    let found = run("", body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].count), (FindingKind::UnwrittenCopy, bytes), "{}", found[0]);
    let text = &found[0].place;
    assert!(text.contains("kernel `k` stored an uninitialised register there at test.ptx:"), "{text}");
}

#[track_caller]
fn wrong(body: &str, name: &str, count: u64) {
    let found = run("", body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].count), (FindingKind::UnwrittenRegister, count), "{}", found[0]);
    assert!(found[0].place.contains(name), "{}", found[0]);
}

#[track_caller]
fn right(body: &str) {
    let found = run("", body);
    assert!(found.is_empty(), "{}", found[0]);
}

#[test]
fn a_register_is_written_before_it_is_stored() {
    wrong_output("st.global.u32 [%rd2], %r20;", 256);
    right("mov.u32 %r20, 1; st.global.u32 [%rd2], %r20;");
    wrong_output("st.global.f32 [%rd2], %f3;", 256);
    wrong_output("st.global.v2.u32 [%rd1], {%r2, %r20};", 4);
    wrong_output("st.global.u8 [%rd2+1], %r20;", 64);
    // A later store of a defined value counts.
    right("st.global.u32 [%rd2], %r20; st.global.u32 [%rd2], %r2;");
}

#[test]
fn on_every_path() {
    let one_way = |other: &str| {
        format!(
            "setp.lt.u32 %p1, %r2, 10;\n @%p1 bra low;\n mov.u32 %r20, 1;\n bra.uni done;\nlow:\n {other}\ndone:\n st.global.u32 [%rd2], %r20;"
        )
    };
    wrong_output(&one_way(""), 40);
    right(&one_way("mov.u32 %r20, 2;"));
    // The path without a value is never taken.
    right(&one_way("").replace("%r2, 10", "%r2, 0"));
    let guards = |second: &str| {
        format!("setp.lt.u32 %p1, %r2, 10;\n @%p1 mov.u32 %r20, 1;\n {second}\n st.global.u32 [%rd2], %r20;")
    };
    wrong_output(&guards(""), 216);
    right(&guards("@!%p1 mov.u32 %r20, 2;"));
}

#[test]
fn in_the_first_turn_of_a_loop() {
    let sum = |start: &str| {
        format!(
            "
    mov.u32 %r10, 0;
    {start}
again:
    add.u32 %r20, %r20, %r10;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 8;
    @%p1 bra again;
    st.global.u32 [%rd2], %r20;"
        )
    };
    wrong_output(&sum(""), 256);
    right(&sum("mov.u32 %r20, 0;"));
}

#[test]
fn what_is_computed_from_nothing_is_nothing() {
    wrong_output("add.u32 %r21, %r20, 1; shl.b32 %r22, %r21, 2; st.global.u32 [%rd2], %r22;", 256);
    // Compilers compute values speculatively, and select later.
    let unused = "
    setp.lt.u32 %p1, %r2, 100;
    add.u32 %r21, %r20, 1;
    mov.b64 %rd20, {%r21, %r20};
    st.global.u32 [%rd2], %r2;";
    right(unused);
}

#[test]
fn branches_and_addresses_are_uses() {
    wrong("@%p9 bra done;\n st.global.u32 [%rd2], %r2;\ndone:", "%p9", 64);
    wrong("setp.eq.u32 %p9, %r20, 5;\n @%p9 st.global.u32 [%rd2], %r2;", "%p9", 64);
    wrong(
        "setp.eq.u32 %p1, %r2, 64;\n @%p1 mov.u64 %rd20, %rd2;\n add.u64 %rd21, %rd20, %rd2;\n xor.b64 %rd22, %rd20, %rd20;\n add.u64 %rd23, %rd22, %rd2;\n st.global.u32 [%rd23], %r2;",
        "%rd23",
        64,
    );
    for decides in [
        "bar.warp.sync %r20;",
        "shfl.sync.idx.b32 %r21, %r2, 0, 31, %r20;",
        "vote.sync.any.pred %p1, %p9, 0xffffffff;",
        "red.global.add.u32 [%rd1+256], %r20;",
        "match.any.sync.b32 %r21, %r20, 0xffffffff;",
    ] {
        let full =
            format!("setp.ge.u32 %p8, %r2, 64;\n @%p8 mov.u32 %r20, 1;\n @%p8 setp.eq.u32 %p9, %r2, 1;\n {decides}");
        let found = run_to_fault(&full);
        assert!(found.iter().any(|finding| finding.kind == FindingKind::UnwrittenRegister), "{decides}: {found:#?}");
    }
    // The number of the source lane decides something, its value does not.
    wrong("and.b32 %r22, %r20, 1; shfl.sync.idx.b32 %r21, %r2, %r22, 31, 0xffffffff;", "a value", 64);
    right("shfl.sync.idx.b32 %r21, %r20, 0, 31, 0xffffffff;");
}

/// The findings in a kernel that may end with a fault.
fn run_to_fault(body: &str) -> Vec<Finding> {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Init), ..Config::default() };
    let bench = Bench::with(&kernel("", body), config);
    let out = bench.zeros(4 * 65);
    let _ = bench.run("k", 1, 64, &[out.into(), 0_u32.into()]);
    bench.device.take_findings()
}

#[test]
fn what_does_not_depend_on_nothing_has_a_value() {
    let used = |what: &str, result: &str| {
        let compare = match result {
            "%p1" => String::new(),
            "%rd20" => format!("setp.eq.u64 %p1, {result}, 5;"),
            "%rs2" => format!("setp.eq.u16 %p1, {result}, 5;"),
            _ => format!("setp.eq.u32 %p1, {result}, 5;"),
        };
        format!("setp.lt.u32 %p2, %r2, 100;\n {what}\n {compare}\n @%p1 st.global.u32 [%rd2], %r2;")
    };
    let cases = [
        ("and.b32 %r21, %r20, 0;", "and.b32 %r21, %r20, 255;", "%r21"),
        ("or.b32 %r21, 0xffffffff, %r20;", "or.b32 %r21, 1, %r20;", "%r21"),
        ("and.b64 %rd20, %rd19, 0;", "xor.b64 %rd20, %rd19, 0;", "%rd20"),
        ("mul.lo.u32 %r21, %r20, 0;", "mul.lo.u32 %r21, %r20, 2;", "%r21"),
        ("mul.wide.s32 %rd20, %r20, 0;", "mul.wide.s32 %rd20, %r20, 4;", "%rd20"),
        ("mad.lo.s32 %r21, %r20, 0, %r2;", "mad.lo.s32 %r21, %r2, 0, %r20;", "%r21"),
        ("mul.hi.u32 %r21, %r20, 1;", "mul.hi.s32 %r21, %r20, 0x80000000;", "%r21"),
        ("shl.b32 %r21, %r20, 32;", "shl.b32 %r21, %r20, 31;", "%r21"),
        ("selp.b32 %r21, %r2, %r20, %p2;", "selp.b32 %r21, %r20, %r2, %p2;", "%r21"),
        ("selp.b32 %r21, %r2, %r2, %p9;", "selp.b32 %r21, %r2, 1, %p9;", "%r21"),
        ("min.u32 %r21, %r20, 0;", "min.u32 %r21, %r20, 1;", "%r21"),
        ("max.u32 %r21, %r20, 0xffffffff;", "max.s32 %r21, %r20, 0xffffffff;", "%r21"),
        ("min.s32 %r21, %r20, 0x80000000;", "min.f32 %f4, %f3, 0fc0a00000; mov.b32 %r21, %f4;", "%r21"),
        ("max.s64 %rd20, %rd19, 0x7fffffffffffffff;", "max.s64 %rd20, %rd19, 7;", "%rd20"),
        ("lop3.b32 %r21, %r20, %r2, 0, 0x80;", "lop3.b32 %r21, %r20, %r2, 0, 0x3c;", "%r21"),
        ("prmt.b32 %r21, %r2, %r20, 0x3210;", "prmt.b32 %r21, %r2, %r20, 0x4321;", "%r21"),
        ("or.pred %p1, %p2, %p9;", "and.pred %p1, %p2, %p9;", "%p1"),
        ("setp.eq.or.u32 %p1, %r20, 5, %p2;", "setp.eq.and.u32 %p1, %r20, 5, %p2;", "%p1"),
        ("setp.ne.or.u32 %p1, %r2, 200, %p9;", "setp.ne.and.u32 %p1, %r2, 200, %p9;", "%p1"),
    ];
    for (defined, undefined, result) in cases {
        let found = run("", &used(defined, result));
        assert!(found.is_empty(), "{defined} {}", found[0]);
        let found = run("", &used(undefined, result));
        let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [FindingKind::UnwrittenRegister], "{undefined}");
    }
}

#[test]
fn halves_of_packed_registers_have_values_of_their_own() {
    let used = |what: &str| {
        format!("mov.b64 %rd20, {{%r2, %r20}};\n {what}\n setp.eq.u32 %p1, %r21, 5;\n @%p1 st.global.u32 [%rd2], %r2;")
    };
    let is_silent = |what: &str| right(&used(what));
    let is_found = |what: &str| wrong(&used(what), "%p1", 64);
    for (low, high) in [
        ("cvt.u32.u64 %r21, %rd20;", "shr.u64 %rd21, %rd20, 32; cvt.u32.u64 %r21, %rd21;"),
        ("mov.b64 {%r21, _}, %rd20;", "mov.b64 {_, %r21}, %rd20;"),
        ("mov.b64 {%r21, %r22}, %rd20;", "mov.b64 {%r22, %r21}, %rd20;"),
        ("mov.b64 %rd21, %rd20; cvt.u32.u64 %r21, %rd21;", "cvt.rn.f32.u64 %r21, %rd20;"),
        ("cvt.u16.u64 %rs1, %rd20; cvt.u32.u16 %r21, %rs1;", "cvt.sat.u32.u64 %r21, %rd20;"),
        ("and.b64 %rd21, %rd20, 0xffffffff; cvt.u32.u64 %r21, %rd21;", "popc.b64 %r21, %rd20;"),
    ] {
        is_silent(low);
        is_found(high);
        // The other way round.
        is_found(&format!("mov.b64 %rd20, {{%r20, %r2}};\n {low}"));
    }
    // What the register holds afterwards, on both ways.
    is_silent("mov.u64 %rd20, 7; cvt.u32.u64 %r21, %rd20;");
    is_found("mov.u64 %rd20, %rd19; cvt.u32.u64 %r21, %rd20;");
    is_silent("setp.lt.u32 %p2, %r2, 9; @%p2 mov.b64 %rd20, {%r1, %r20}; cvt.u32.u64 %r21, %rd20;");
    wrong(&used("setp.lt.u32 %p2, %r2, 9; @%p2 mov.b64 %rd20, {%r20, %r1}; cvt.u32.u64 %r21, %rd20;"), "%p1", 9);
    // Pairs of halves, and through memory.
    let pair = "cvt.u16.u32 %rs1, %r2; mov.b32 %r22, {%rs1, %rs2};";
    is_silent(&format!("{pair} mov.b32 {{%rs3, _}}, %r22; cvt.u32.u16 %r21, %rs3;"));
    is_found(&format!("{pair} mov.b32 {{_, %rs3}}, %r22; cvt.u32.u16 %r21, %rs3;"));
    let through =
        "shl.b32 %r10, %r2, 3; cvt.u64.u32 %rd5, %r10; add.u64 %rd5, %rd5, slots; st.shared.b64 [%rd5], %rd20;";
    let through = format!(
        ".shared .align 8 .b8 slots[512]; {}",
        through.replace("add.u64 %rd5, %rd5, slots;", "mov.u64 %rd6, slots; add.u64 %rd5, %rd5, %rd6;")
    );
    is_silent(&format!("{through} ld.shared.u32 %r21, [%rd5];"));
    is_found(&format!("{through} ld.shared.u32 %r21, [%rd5+4];"));
}

#[test]
fn a_shuffle_takes_along_whether_there_is_a_value() {
    let leader = |lane: &str, mask: &str| {
        format!(
            "and.b32 %r10, %r2, 31;
    setp.eq.u32 %p1, %r10, 0;
    @%p1 mov.u32 %r20, 5;
    shfl.sync.idx.b32 %r20, %r20, {lane}, 31, {mask};
    setp.eq.u32 %p2, %r20, 5;
    @%p2 st.global.u32 [%rd2], %r2;"
        )
    };
    right(&leader("0", "0xffffffff"));
    wrong(&leader("1", "0xffffffff"), "%p2", 64);
    // Half of the lanes read the other half's leader, which has nothing.
    wrong(
        &leader("%r11", "0xffffffff").replace("setp.eq.u32 %p1", "and.b32 %r11, %r10, 16;\n setp.eq.u32 %p1"),
        "%p2",
        32,
    );
    // Lanes that come one after another.
    let late = leader("0", "0xffffffff")
        .replace("shfl.sync", "setp.lt.u32 %p3, %r10, 7;\n @%p3 bra early;\n mov.u32 %r12, 1;\nearly:\n shfl.sync");
    right(&late);
}

#[test]
fn memory_takes_over_what_has_no_value() {
    let through = |store: &str, between: &str| {
        format!(
            ".shared .align 16 .b8 tile[512];
    .local .align 16 .b8 own[16];
    mov.u32 %r10, tile;
    shl.b32 %r11, %r2, 3;
    add.u32 %r10, %r10, %r11;
    setp.lt.u32 %p1, %r2, 48;
    @%p1 mov.u32 %r20, 5;
    {store}
    {between}
    @%p2 st.global.u32 [%rd2], %r2;"
        )
    };
    let test = "setp.eq.u32 %p2, %r21, 5;";
    let shared = "st.shared.u32 [%r10], %r20; ld.shared.u32 %r21, [%r10];";
    wrong(&through(shared, test), "%p2", 16);
    right(&through(shared, &format!("{test} and.pred %p2, %p1, %p2;")));
    // A vector of which one half is wanted; another address space; the generic one.
    let half = "st.shared.v2.u32 [%r10], {%r20, %r2}; ld.shared.v2.u32 {%r22, %r21}, [%r10];";
    right(&through(half, test));
    wrong(&through(&half.replace("{%r22, %r21}", "{%r21, %r22}"), test), "%p2", 16);
    let local = "st.local.u32 [own+4], %r20; ld.local.u32 %r21, [own+4];";
    wrong(&through(local, test), "%p2", 16);
    let global = "st.global.u32 [%rd2], %r20; ld.u32 %r21, [%rd2]; st.global.u32 [%rd2], %r2;";
    wrong(&through(global, test), "%p2", 16);
    // A later store of a defined value makes the memory defined.
    let other =
        "st.shared.u32 [%r10], %r20; bar.sync 0; st.shared.u32 [%r10], %r2; bar.sync 0; ld.shared.u32 %r21, [%r10];";
    right(&through(other, test));
    // An atomic operation on undefined memory is a use.
    let found =
        run("", &through("st.shared.u32 [%r10], %r20; red.shared.add.u32 [%r10], 1;", "setp.eq.u32 %p2, %r2, 0;"));
    assert_eq!((found.len(), found[0].kind, found[0].count), (1, FindingKind::UnwrittenRead, 16), "{found:#?}");
}

#[test]
fn what_another_kernel_loads_has_to_have_a_value() {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Init), ..Config::default() };
    let second = "
.visible .entry second(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%rd1], 1;
    ret;
}";
    let ptx = kernel("", "st.global.u32 [%rd2], %r20;") + second;
    let bench = Bench::with(&ptx, config);
    let out = bench.zeros(4 * 64);
    bench.run("k", 1, 64, &[out.into(), 0_u32.into()]).unwrap();
    assert!(bench.device.take_findings().is_empty());
    bench.run("second", 1, 1, &[out.into()]).unwrap();
    bench.run("second", 1, 1, &[out.into()]).unwrap();
    let found = bench.device.take_findings();
    assert_eq!((found.len(), found[0].kind, found[0].count), (1, FindingKind::UnwrittenRead, 1), "{found:#?}");
    assert!(found[0].place.contains("kernel `k` stored an uninitialised register there"), "{}", found[0]);
}

#[test]
fn functions_have_registers_of_their_own() {
    let function = |body: &str| {
        format!(
            ".func (.reg .u32 %out) f(.reg .u32 %in) {{
    .reg .u32 %t<4>; .reg .pred %q<2>;
    setp.lt.u32 %q0, %in, 32;
    {body}
    ret;
}}"
        )
    };
    let call = "call (%r20), f, (%r2);\n st.global.u32 [%rd2], %r20;";
    let found = run(
        &function("@%q0 bra done;\n mov.u32 %t1, 1;\ndone:\n mov.u32 %out, %in;\n st.local.u32 [0], %t1;")
            .replace("st.local.u32 [0], %t1;", "@%q0 bra over;\n add.u32 %out, %in, %t1;\nover:"),
        call,
    );
    assert!(found.is_empty(), "{}", found[0]);
    let found = run(&function("@%q0 mov.u32 %t1, 1;\n setp.eq.u32 %q1, %t1, 1;\n selp.u32 %out, 1, 0, %q1;"), call);
    assert!(found.is_empty(), "{found:#?}");
    let found = run(&function("@%q0 mov.u32 %t1, 1;\n setp.eq.u32 %q1, %t1, 1;\n @%q1 mov.u32 %out, 1;"), call);
    assert_eq!((found.len(), found[0].count), (1, 32), "{found:#?}");
}
