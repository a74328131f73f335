//! Kernels without divergence: the machine from end to end.

use crate::common::{Bench, HEADER, bytes_of, f32s};
use rumba_vm::Config;

const VECADD: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .entry vecadd(
    .param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<12>;

    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra $L__BB0_2;
    cvta.to.global.u64 %rd4, %rd1;
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd4, %rd5;
    cvta.to.global.u64 %rd7, %rd2;
    add.s64 %rd8, %rd7, %rd5;
    ld.global.f32 %f1, [%rd6];
    ld.global.f32 %f2, [%rd8];
    add.f32 %f3, %f1, %f2;
    cvta.to.global.u64 %rd9, %rd3;
    add.s64 %rd10, %rd9, %rd5;
    st.global.f32 [%rd10], %f3;
$L__BB0_2:
    ret;
}
"#;

#[test]
fn adds_vectors_of_any_length() {
    for vector_instructions in [true, false] {
        adds_vectors(&Bench::with(VECADD, Config { vector_instructions, ..Config::default() }));
    }
}

fn adds_vectors(bench: &Bench) {
    for n in [1usize, 31, 32, 33, 100, 1000, 4097] {
        let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
        let (x, y, z) = (bench.upload(&a), bench.upload(&b), bench.zeros(4 * n));
        bench.run("vecadd", n.div_ceil(128) as u32, 128, &[x.into(), y.into(), z.into(), (n as u32).into()]).unwrap();
        let expected: Vec<f32> = (0..n).map(|i| 3.0 * i as f32).collect();
        assert_eq!(f32s(&bench.download(z, 4 * n)), expected, "n = {n}");
        assert_eq!(bytes_of(&a).len(), 4 * n);
    }
}

#[test]
fn accesses_of_every_width_and_pattern() {
    // Each element goes through registers to its place in another buffer, in several patterns.
    for (ty, bytes, registers) in [("b8", 1, "%r"), ("b16", 2, "%rs"), ("b32", 4, "%r"), ("b64", 8, "%rd")] {
        for vector in [1usize, 2, 4] {
            for (name, map) in PATTERNS {
                for vector_instructions in [true, false] {
                    copies(ty, bytes, registers, vector, (name, *map), vector_instructions);
                }
            }
        }
    }
}

type Map = fn(u32) -> u32;

/// The element that thread `%r2` of a block of 64 reads, in PTX and in Rust.
const PATTERNS: &[(&str, Map)] = &[
    ("mov.u32 %r3, %r2;", |i| i),
    ("and.b32 %r3, %r2, 7;", |i| i & 7),
    ("shr.u32 %r3, %r2, 3;", |i| i >> 3),
    ("xor.b32 %r3, %r2, 63;", |i| i ^ 63),
    ("mul.lo.u32 %r3, %r2, 37; and.b32 %r3, %r3, 63;", |i| (i * 37) & 63),
    ("mov.u32 %r3, 5;", |_| 5),
];

fn copies(
    ty: &str,
    bytes: usize,
    registers: &str,
    vector: usize,
    (pattern, map): (&str, Map),
    vector_instructions: bool,
) {
    let list: Vec<String> = (20..20 + vector).map(|i| format!("{registers}{i}")).collect();
    let (suffix, list) = match vector {
        1 => (String::new(), list[0].clone()),
        _ => (format!(".v{vector}"), format!("{{{}}}", list.join(", "))),
    };
    let size = bytes * vector;
    let ptx = format!(
        "{HEADER}
.visible .entry k(.param .u64 from, .param .u64 to)
{{
    .reg .pred %p<4>;
    .reg .b16 %rs<30>;
    .reg .b32 %r<30>;
    .reg .b64 %rd<30>;
    .shared .align 16 .b8 buffer[4096];
    .local .align 16 .b8 own[32];
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r2, %tid.x;
    {pattern}
    mul.wide.u32 %rd3, %r3, {size};
    add.s64 %rd4, %rd1, %rd3;
    ld.global{suffix}.{ty} {list}, [%rd4];
    st.local{suffix}.{ty} [own], {list};
    ld.local{suffix}.{ty} {list}, [own];
    mul.wide.u32 %rd5, %r2, {size};
    mov.u64 %rd6, buffer;
    add.s64 %rd7, %rd6, %rd5;
    st.shared{suffix}.{ty} [%rd7], {list};
    bar.sync 0;
    ld.shared{suffix}.{ty} {list}, [%rd7];
    add.s64 %rd8, %rd2, %rd5;
    setp.eq.u32 %p1, %r2, 9;
    @!%p1 st.global{suffix}.{ty} [%rd8], {list};
    @%p1 st{suffix}.{ty} [%rd8], {list};
    ret;
}}"
    );
    let bench = Bench::with(&ptx, Config { vector_instructions, ..Config::default() });
    let values: Vec<u8> = (0..64 * size).map(|i| (i * 7 + i / 64) as u8).collect();
    let (from, to) = (bench.upload(&values), bench.zeros(64 * size));
    bench.run("k", 1, 64, &[from.into(), to.into()]).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let expected: Vec<u8> = (0..64).flat_map(|thread| values[map(thread) as usize * size..][..size].to_vec()).collect();
    assert_eq!(bench.download(to, 64 * size), expected, "{ptx}");
}

/// A module with one kernel that the machine executes and two that it does not.
const PARTLY: &str = "
.version 8.6
.target sm_100a
.address_size 64
.func sampled() { tcgen05.shift.cta_group::1.down [0]; ret; }
.visible .entry good(.param .u64 out) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 7; ret; }
.visible .entry bad() { tcgen05.shift.cta_group::1.down [0]; ret; }
.visible .entry indirectly() { call sampled; ret; }
";

#[test]
fn a_kernel_that_is_not_executed_does_not_spoil_its_module() {
    let bench = Bench::new(PARTLY);
    let out = bench.zeros(4);
    bench.run("good", 1, 1, &[out.into()]).unwrap();
    assert_eq!(bench.download(out, 4), [7, 0, 0, 0]);
    for (name, line) in [("bad", "test.ptx:7"), ("indirectly", "test.ptx:5")] {
        assert!(bench.module.function(name).is_none());
        let refusal = bench.module.refusal(name).unwrap().to_string();
        assert!(refusal.contains("`tcgen05.shift.cta_group::1.down` is not executed by this device"), "{refusal}");
        assert!(refusal.contains(line), "{refusal}");
    }
    assert!(bench.module.refusal("good").is_none());
}

#[test]
fn registers_that_are_vectors() {
    let body = "
        .reg .v2 .u32 pair<2>; .reg .v4 .u32 four; .reg .v4 .u32 index; .reg .b64 %both; .shared .align 16 .b8 room[16];
        mov.v2.u32 pair0, {%r2, 1000};
        mov.v2.u32 {pair0.y, pair0.x}, pair0;
        mov.b64 %both, pair0;
        mov.b64 pair1, %both;
        mov.v4.u32 index, %tid;
        mov.v4.u32 four, {pair1.y, index.x, 5, pair1.x};
        st.shared.v4.u32 [room], four;
        ld.shared.v4.u32 four, [room];
        add.u32 %r10, four.r, four.g;
        add.u32 %r10, %r10, four.z;
        add.u32 %r10, %r10, four.w;
        st.global.u32 [%rd2], %r10;";
    let expected: Vec<u32> = (0..32).map(|_| 1005).collect();
    assert_eq!(
        crate::common::run("", &body.replace("%r2,", "%r3,"), 32, 1, 0, 32),
        (0..32).map(|i| i + 1005).collect::<Vec<u32>>()
    );
    assert_eq!(crate::common::run("", body, 32, 1, 0, 32), expected);
}

#[test]
fn a_variable_of_a_function_s_own() {
    let body = "
        .global .u32 seen = 40;
        { .const .u32 seen[] = {1, 2}; ld.const.u32 %r10, [seen+4]; }
        ld.global.u32 %r11, [seen];
        add.u32 %r10, %r10, %r11;
        st.global.u32 [%rd2], %r10;";
    assert_eq!(crate::common::run("", body, 1, 1, 0, 1), [42]);
}
