//! Instructions on memory whose results unit tests of single instructions cannot see.

use crate::common::{Bench, kernel, u32s};
use rumba_vm::FaultKind;

#[test]
fn atomics_on_vectors_work_element_by_element() {
    let body = "
    ld.global.v2.b32 {%r10, %r11}, [%rd1];
    mov.b32 %r12, 0x3f800000; mov.b32 %r13, 0x40000000;
    // The results take the places of the sources, crosswise.
    atom.global.add.v2.f32 {%r13, %r12}, [%rd1], {%r12, %r13};
    st.global.v2.b32 [%rd1+8], {%r13, %r12};
    mov.b32 {%rs1, %rs2}, 0x4000bc00;
    red.global.max.noftz.v2.f16 [%rd1+16], {%rs1, %rs2};
    red.global.v2.f16x2.add.noftz [%rd1+20], {%r10, %r12};
    ";
    let bench = Bench::new(&kernel("", body));
    let out = bench.upload(&[0x4040_0000_u32, 0x4080_0000, 0, 0, 0x3c00_c000, 0x3c00_3c00, 0x3c00_4000, 0]);
    bench.run("k", 1, 1, &[out.into(), 1_u32.into()]).unwrap();
    assert_eq!(
        u32s(&bench.download(out, 28)),
        [
            0x4080_0000,
            0x40c0_0000,
            0x4040_0000,
            0x4080_0000,
            0x4000_bc00,
            // As halves: 1 + 2.125 over 1 + 0, and 1 + 2.25 over 2 + 0.
            0x4240_3c00,
            0x4280_4000,
        ]
    );
}

#[test]
fn bulk_stores_fill_shared_memory() {
    let body = "
    mov.u64 %rd10, buffer;
    st.shared.b32 [buffer], -1; st.shared.b32 [buffer+8], -1; st.shared.b32 [buffer+24], -1;
    add.u64 %rd10, %rd10, 8;
    st.bulk.weak.shared::cta [%rd10], 16, 0;
    ld.shared.b32 %r10, [buffer]; ld.shared.b32 %r11, [buffer+8]; ld.shared.b32 %r12, [buffer+24];
    st.global.b32 [%rd1], %r10; st.global.b32 [%rd1+4], %r11; st.global.b32 [%rd1+8], %r12;
    cvta.shared.u64 %rd11, %rd10;
    mov.u64 %rd12, 32;
    setp.eq.u32 %p1, %r1, 7;
    @%p1 st.bulk [%rd11], %rd12, 0;
    ";
    let bench = Bench::new(&kernel(".shared .align 8 .b8 buffer[32];", body));
    let out = bench.zeros(16);
    bench.run("k", 1, 1, &[out.into(), 1_u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 12)), [u32::MAX, 0, u32::MAX]);
    let fault = bench.fault("k", 1, 1, &[out.into(), 7_u32.into()]);
    assert_eq!(fault.kind, FaultKind::IllegalAddress, "{fault}");
}

#[test]
fn elements_of_arrays_are_operands() {
    let declarations = ".global .align 8 .v2 .b32 pairs[2];\n.global .align 2 .b16 halves[4] = {1, 2, 3, 4};";
    let body = "
    .local .align 8 .b64 stack[4];
    .shared .align 4 .b32 tile[4][8];
    st.shared.b32 tile[10], 7;
    mov.u64 %rd10, tile[2];
    ld.shared.b32 %r10, [%rd10+32];
    mov.b32 %r20, 9;
    ld.shared.b32 %r11, tile[%r20+1];
    mov.u64 %rd11, stack[3];
    mov.u64 %rd12, stack;
    sub.s64 %rd13, %rd11, %rd12;
    cvt.u32.u64 %r12, %rd13;
    mov.u64 %rd14, 2;
    mov.u64 %rd15, stack[%rd14];
    sub.s64 %rd13, %rd15, %rd12;
    cvt.u32.u64 %r13, %rd13;
    // An index counts scalars, and wraps in 32 bits.
    st.global.b32 pairs[3], 5;
    ld.global.v2.b32 {%r14, %r15}, [pairs+8];
    mov.b32 %r21, -1;
    ld.global.u16 %rs1, halves[%r21+3];
    cvt.u32.u16 %r16, %rs1;
    st.global.b32 [%rd1], %r10; st.global.b32 [%rd1+4], %r11; st.global.b32 [%rd1+8], %r12;
    st.global.b32 [%rd1+12], %r13; st.global.b32 [%rd1+16], %r15; st.global.b32 [%rd1+20], %r16;
    ";
    assert_eq!(crate::common::run(declarations, body, 1, 1, 1, 6), [7, 7, 24, 16, 5, 3]);
}

#[test]
fn a_variable_that_is_named_is_accessed_where_it_lies() {
    let body = "
        .local .align 8 .b32 own[4]; .shared .align 8 .b32 room[64];
        st.u32 [own+4], %r2;
        st.v2.u32 [own+8], {%r2, 7};
        mov.u64 %rd10, room; mad.wide.u32 %rd10, %r2, 4, %rd10; st.shared.u32 [%rd10], 0;
        bar.sync 0;
        atom.add.u32 %r12, [room], 1; red.add.u32 [room+4], 2;
        bar.sync 0;
        ld.u32 %r10, [own+4]; ld.v2.u32 {%r11, _}, [own+8]; ld.volatile.u32 %r12, [room]; ld.u32 %r13, [room+4];
        add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12; add.u32 %r10, %r10, %r13;
        st.global.u32 [%rd2], %r10;";
    let expected: Vec<u32> = (0..64).map(|i| 2 * i + 3 * 64).collect();
    assert_eq!(crate::common::run("", body, 1, 64, 0, 64), expected);
}

#[test]
fn a_number_can_be_added_to_a_register_that_is_an_operand() {
    let declarations = ".global .align 4 .u32 base[4];";
    // Each body computes %r10, the thread's number plus 5, or a value with the same bits.
    for body in [
        "st.global.u32 [%rd2], %r2 + 5; ld.global.u32 %r10, [%rd2];",
        "add.u32 %r10, %r2 + 3, 2;",
        "mad.lo.u32 %r10, %r2 + 0, 1, %r2 + 5; sub.u32 %r10, %r10, %r2;",
        "mov.u32 %r10, %r2 + 0xffffffff; add.u32 %r10, %r10, 6;",
        "mov.u32 %r10, %r2 + -1; add.u32 %r10, %r10, 6;",
        "cvt.u64.u32 %rd10, %r2; st.global.u32 [%rd2], %rd10 + 5; ld.global.u32 %r10, [%rd2];",
        "cvt.u64.u32 %rd10, %r2; mov.u64 %rd11, %rd10 + -4294967291; cvt.u32.u64 %r10, %rd11;",
        "cvt.u16.u32 %rs1, %r2; cvt.u32.u16 %r10, %rs1 + 65541;",
        "setp.lt.u32 %p1, %r2 + 1, 5; selp.u32 %r10, %r2 + 5, 5, %p1; @!%p1 add.u32 %r10, %r10, %r2;",
        // The address of a variable with something added, too.
        "sub.u64 %rd10, base + 8, 3; mov.u64 %rd11, base; sub.u64 %rd10, %rd10, %rd11; cvt.u32.u64 %r10, %rd10; add.u32 %r10, %r10, %r2;",
    ] {
        let body = format!("{body} st.global.u32 [%rd2], %r10;");
        let expected: Vec<u32> = (0..64).map(|i| i + 5).collect();
        assert_eq!(crate::common::run(declarations, &body, 1, 64, 0, 64), expected, "{body}");
    }
    // Where NVIDIA's assembler refuses it as well, or ends without a word.
    for (body, message) in [
        (".reg .f32 %g<3>; mul.f32 %g1, %g2 + 1, %g2;", "a number is added to integer registers"),
        ("add.u64 %rd10, base, 3;", "its address is taken by mov"),
        ("add.u64 %rd10, %r2 + 1, 3;", "does not fit an operand of type .u64"),
        ("st.global.u32 [%rd2], %r2 - 1;", "+"),
    ] {
        let text = crate::faults::load_error(&kernel(declarations, body));
        assert!(text.contains(message), "{body}: {text}");
    }
}

#[test]
fn the_reserved_part_of_shared_memory() {
    // As cooperative groups use it for tiles of several warps: zero when a block begins.
    let body = "
        .reg .b32 %start; .reg .b64 %wide;
        mov.u32 %start, %reserved_smem_offset_1;
        cvt.u64.u32 %wide, %start;
        cvta.shared.u64 %wide, %wide;
        atom.add.u32 %r10, [%wide], 1;
        bar.sync 0;
        ld.u32 %r11, [%wide];
        st.global.u32 [%rd2], %r11;";
    assert_eq!(crate::common::run("", body, 4, 64, 0, 256), vec![64; 256]);
}
