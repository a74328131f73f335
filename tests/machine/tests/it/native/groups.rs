//! Groups of lanes that work together on a row of their own, and blocks that end a kernel early.

use super::{Bench, Config, kernel, native, on_both, text, text_beside};

/// Eight lanes work on each row, of a length that differs from row to row, and find where it begins with the lane that knows. `load` and
/// `store` access an element of 4 bytes at `%rd11`.
fn rows(load: &str, store: &str) -> String {
    format!(
        "
    mad.lo.u32 %r10, %r2, 7, 3;
    st.global.u32 [%rd2], %r10;
    bar.sync 0;
    // Each lane knows one place, and the first lane of a row the row's.
    mov.u32 %r11, %laneid;
    mad.lo.u32 %r12, %r3, %r5, %r2;
    shr.u32 %r13, %r11, 3;
    shl.b32 %r14, %r13, 3;
    shfl.sync.idx.b32 %r15, %r12, %r14, 31, -1;
    and.b32 %r16, %r11, 7;
    // Rows of up to eight elements, which end with the block.
    mad.lo.u32 %r17, %r13, 3, %r1;
    rem.u32 %r17, %r17, 9;
    mad.lo.u32 %r18, %r3, %r5, %r5;
    sub.u32 %r18, %r18, %r15;
    min.u32 %r17, %r17, %r18;
    add.u32 %r19, %r15, %r16;
    mul.wide.u32 %rd10, %r19, 4;
    add.s64 %rd11, %rd1, %rd10;
    mov.u32 %r20, 0;
AGAIN:
    setp.ge.u32 %p1, %r16, %r17;
    @%p1 bra NEXT;
    {load}
    add.u32 %r21, %r21, %r20;
    {store}
NEXT:
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p2, %r20, 3;
    @%p2 bra AGAIN;"
    )
}

/// Shared memory with a cell for each row, or for each thread.
const CELLS: &str = ".shared .align 16 .b8 cells[2048];";

fn text_of_cells(body: &str) -> String {
    text_beside(CELLS, body, 64, |_| ())
}

/// Compares the engines for rows with all, some and none of their lanes, in whole warps and others.
fn agree(body: &str) {
    for block in [32, 20, 100] {
        for n in 0..9 {
            let Some([native, interpreted]) = on_both(CELLS, body, 2, block, n) else { return };
            assert_eq!(native.0, interpreted.0, "block {block}, n {n}: {body}");
        }
    }
}

#[test]
fn lanes_of_a_row_access_neighbours() {
    let accesses = [
        ("ld.global.u32 %r21, [%rd11];", "st.global.u32 [%rd11], %r21;"),
        (
            "ld.global.v2.u16 {%rs1, %rs2}, [%rd11]; mov.b32 %r21, {%rs1, %rs2};",
            "mov.b32 {%rs1, %rs2}, %r21; st.global.v2.u16 [%rd11], {%rs1, %rs2};",
        ),
        (
            "ld.global.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%rd11]; cvt.u32.u16 %r21, %rs2;",
            "cvt.u16.u32 %rs2, %r21; st.global.v4.u8 [%rd11], {%rs1, %rs2, %rs3, %rs4};",
        ),
    ];
    for (load, store) in accesses {
        let body = rows(load, store);
        let text = text(&body, 64);
        for scattered in ["masked.gather", "masked.scatter"] {
            assert!(!text.contains(scattered), "{scattered}: {text}");
        }
        agree(&body);
    }
}

/// The lanes of the last row read up to two elements behind their own: with 2 active lanes in the buffer, with 4 behind its end.
#[test]
fn rows_at_the_end_of_a_buffer_are_compared_by_lane() {
    let sums = rows("ld.global.u32 %r21, [%rd11+8];", "add.u32 %r26, %r26, %r21;");
    let body = &format!("mov.u32 %r26, 0;{sums}\n    st.global.u32 [%rd2], %r26;");
    let Some(config) = native() else { return };
    let outcomes = [config, Config::default()].map(|config| {
        let bench = Bench::on_the_engine_of(config, &kernel("", body));
        let out = bench.zeros(4 * 20);
        bench.run("k", 1, 20, &[out.into(), 5_u32.into()]).unwrap();
        let fault = bench.fault("k", 1, 20, &[out.into(), 7_u32.into()]);
        (bench.download(out, 4 * 20), fault.kind, fault.thread, fault.ptx_line)
    });
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[0].2, [18, 0, 0]);
}

#[test]
fn lanes_of_a_row_share_an_address() {
    let accesses = [
        ("ld.global.u32 %r21, [%rd12];", "mad.lo.u32 %r22, %r16, 3, %r21; st.global.u32 [%rd12], %r22;"),
        ("ld.global.u8 %r21, [%rd12+3];", "st.global.u8 [%rd12+1], %r16;"),
        // Four numbers, which groups without active lanes must not store over anything.
        ("ld.shared.v4.u32 {%r21, %r22, %r23, %r24}, [%rd14];", "st.shared.v4.u32 [%rd14], {%r21, %r16, %r17, %r20};"),
        ("ld.global.f32 %f1, [%rd12]; mov.b32 %r21, %f1;", "st.global.v2.u16 [%rd12], {%rs1, %rs2};"),
    ];
    for (load, store) in accesses {
        let first = format!(
            "mul.wide.u32 %rd13, %r15, 4;\n    add.s64 %rd12, %rd1, %rd13;\n    mov.u64 %rd14, cells;\n    \
             shr.u32 %r25, %r2, 3; mad.wide.u32 %rd14, %r25, 16, %rd14;\n    {load}"
        );
        let body = format!(
            "mov.u64 %rd15, cells; mad.wide.u32 %rd15, %r2, 16, %rd15; st.shared.v4.u32 [%rd15], {{1, 2, 3, 4}};\n{}",
            rows(&first, store)
        );
        let text = text_of_cells(&body);
        // What else lies on the stack decides whether a store over the end of a shorter place shows.
        assert!(!text.contains("%aside.parts = alloca i64"), "{text}");
        for scattered in ["masked.gather", "masked.scatter"] {
            assert!(!text.contains(scattered), "{scattered}: {text}");
        }
        agree(&body);
    }
}

/// Kernels that are too long for copies for any lanes keep registers in the register file.
#[test]
fn lanes_of_a_row_share_an_address_in_long_kernels() {
    let sums = "add.u32 %r30, %r30, 3;\nxor.b32 %r30, %r30, %r21;\n".repeat(700);
    let load = "mul.wide.u32 %rd13, %r15, 4;\n    add.s64 %rd12, %rd1, %rd13;\n    ld.global.u32 %r21, [%rd12];";
    let first = format!("mov.u32 %r30, %r16;\n{load}\n{sums}");
    let body = rows(&first, "mad.lo.u32 %r22, %r30, 3, %r21; st.global.u32 [%rd12], %r22;");
    let text = text(&body, 64);
    assert!(!text.contains("entry0.Masked:") && text.contains("%wait"), "there are copies for any lanes, or for none");
    agree(&body);
}

#[test]
fn threads_of_one_dimension_have_rows_in_tiles() {
    // Rows of 16 threads, and a tile with a column more.
    let declarations = ".shared .align 4 .b32 tile[1088];";
    let body = "
    shr.u32 %r10, %r2, 4;
    and.b32 %r11, %r2, 15;
    mad.lo.u32 %r12, %r10, 17, %r11;
    mul.wide.u32 %rd10, %r12, 4;
    mov.u64 %rd11, tile;
    add.s64 %rd11, %rd11, %rd10;
    mad.lo.u32 %r13, %r2, 5, %r1;
    st.shared.u32 [%rd11], %r13;
    bar.sync 0;
    ld.shared.u32 %r14, [%rd11];
    st.global.u32 [%rd2], %r14;";
    text_beside(declarations, body, 128, |text| {
        assert!(!text.contains("masked.gather") && !text.contains("masked.scatter"), "{text}");
    });
    for block in [256, 40] {
        let Some([native, interpreted]) = on_both(declarations, body, 2, block, 3) else { return };
        assert_eq!(native.0, interpreted.0, "block {block}");
    }
}

/// A loop in which the threads with the numbers of a condition leave early, as a panic does.
fn leaves_early(leaving: &str) -> String {
    format!(
        "
    mov.u32 %r10, 0;
    mov.u32 %r11, %r2;
AGAIN:
    {leaving}
    @%p1 bra PANIC;
    and.b32 %r12, %r11, 1;
    setp.eq.u32 %p2, %r12, 0;
    @%p2 bra EVEN;
    mad.lo.u32 %r11, %r11, 3, 1;
    bra NEXT;
EVEN:
    shr.u32 %r11, %r11, 1;
NEXT:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 20;
    @%p3 bra AGAIN;
    st.global.u32 [%rd2], %r11;
    bra DONE;
PANIC:
    add.u32 %r13, %r11, 987654;
    st.global.u32 [%rd2], %r13;
    setp.eq.u32 %p4, %r1, 99;
    @%p4 trap;
    exit;
DONE:"
    )
}

#[test]
fn the_interpreter_executes_panics() {
    let conditions = [
        "setp.gt.u32 %p1, %r11, 90;",
        "setp.eq.u32 %p1, %r11, %r2; setp.eq.and.u32 %p1, %r10, 3, %p1;",
        "setp.eq.u32 %p1, %r10, %r1;",
        "setp.eq.u32 %p1, %r10, 5; setp.lt.and.u32 %p1, %r2, 40, %p1;",
    ];
    for condition in conditions {
        let body = leaves_early(condition);
        let text = text(&body, 64);
        assert!(text.contains("shl") || text.contains("lshr"), "{text}");
        assert!(!text.contains("987654"), "{text}");
        for block in [32, 20, 100] {
            for n in [0, 7, 30] {
                let Some([native, interpreted]) = on_both("", &body, 2, block, n) else { return };
                assert_eq!(native.0, interpreted.0, "{condition} block {block}, n {n}");
                assert_eq!(
                    native.1.warp_instructions, interpreted.1.warp_instructions,
                    "{condition} block {block}, n {n}"
                );
            }
        }
    }
}

/// A kernel that ends with `exit` alone has native code for all of its blocks.
#[test]
fn a_kernel_without_a_return_is_compiled() {
    let body = leaves_early("setp.gt.u32 %p1, %r11, 90;").replace("DONE:", "DONE:\n    exit;");
    assert!(text(&body, 64).contains("987654"));
}
