//! Registers that are used before anything is in them: kernels that do it, and near misses that do not.

mod common;

use common::{Bench, kernel};
use rumba_vm::{Checks, Config, Finding, FindingKind};

fn run(declarations: &str, body: &str) -> Vec<Finding> {
    let config = Config {
        memory_bytes: 64 << 20,
        checks: Checks {
            initcheck: true,
            ..Checks::default()
        },
        ..Config::default()
    };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(4 * 64);
    if let Err(error) = bench.run("k", 1, 64, &[out.into(), 0_u32.into()]) {
        panic!("{error}");
    }
    bench.device.take_findings()
}

#[track_caller]
fn wrong(body: &str, name: &str, count: u64) {
    let found = run("", body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].kind, found[0].count),
        (FindingKind::UnwrittenRegister, count),
        "{}",
        found[0]
    );
    assert!(found[0].place.contains(name), "{}", found[0]);
}

#[track_caller]
fn right(body: &str) {
    let found = run("", body);
    assert!(found.is_empty(), "{}", found[0]);
}

#[test]
fn a_register_is_written_before_it_is_stored() {
    wrong("st.global.u32 [%rd2], %r20;", "%r20", 64);
    right("mov.u32 %r20, 1; st.global.u32 [%rd2], %r20;");
    wrong("st.global.f32 [%rd2], %f3;", "%f3", 64);
    wrong("st.global.v2.u32 [%rd1], {%r2, %r20};", "%r20", 64);
}

#[test]
fn on_every_path() {
    let one_way = |other: &str| {
        format!(
            "setp.lt.u32 %p1, %r2, 10;\n @%p1 bra low;\n mov.u32 %r20, 1;\n bra.uni done;\nlow:\n {other}\ndone:\n st.global.u32 [%rd2], %r20;"
        )
    };
    wrong(&one_way(""), "%r20", 10);
    right(&one_way("mov.u32 %r20, 2;"));
    // The path without a value is never taken.
    right(&one_way("").replace("%r2, 10", "%r2, 0"));
    let guards = |second: &str| {
        format!("setp.lt.u32 %p1, %r2, 10;\n @%p1 mov.u32 %r20, 1;\n {second}\n st.global.u32 [%rd2], %r20;")
    };
    wrong(&guards(""), "%r20", 54);
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
    wrong(&sum(""), "%r20", 64);
    right(&sum("mov.u32 %r20, 0;"));
}

#[test]
fn what_is_computed_from_nothing_is_nothing() {
    wrong(
        "add.u32 %r21, %r20, 1; shl.b32 %r22, %r21, 2; st.global.u32 [%rd2], %r22;",
        "%r22",
        64,
    );
    // Compilers compute what they do not use, and choose later.
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
    wrong(
        "bar.warp.sync %r20;"
            .replace("%r20", "0xffffffff; shfl.sync.idx.b32 %r21, %r20, 0, 31, 0xffffffff")
            .as_str(),
        "%r20",
        64,
    );
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
        &function("@%q0 bra done;\n mov.u32 %t1, 1;\ndone:\n mov.u32 %out, %in;\n st.local.u32 [0], %t1;").replace(
            "st.local.u32 [0], %t1;",
            "@%q0 bra over;\n add.u32 %out, %in, %t1;\nover:",
        ),
        call,
    );
    assert!(found.is_empty(), "{}", found[0]);
    let found = run(
        &function("@%q0 mov.u32 %t1, 1;\n shfl.sync.idx.b32 %out, %t1, 0, 31, 0xffffffff;"),
        call,
    );
    assert_eq!((found.len(), found[0].count), (1, 32), "{found:#?}");
}
