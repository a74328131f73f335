//! Native code's accesses to memory: what their addresses look like, what is compared with bounds, and what is prefetched.

use super::{leaving_a_loop, native, on_both, text, text_beside, text_of};
use crate::common::{Bench, HEADER, kernel};
use rumba_vm::{Config, LaunchFailure};

#[test]
fn the_text_does_not_tell_where_memory_is() {
    let declarations = ".global .align 8 .b64 counter;\n.const .align 8 .b64 table[4];";
    let body = "
    mov.u64 %rd10, counter;
    st.global.u64 [%rd1], %rd10;
    ld.const.u64 %rd11, [table+8];
    atom.global.add.u64 %rd12, [counter], %rd11;
    mov.b64 %fd1, 0d3FF8000000000000;
    st.global.f64 [%rd1+8], %fd1;";
    // The second device is made while the first one has its memory.
    text_beside(declarations, body, 64, |first| {
        let second = text_beside(declarations, body, 64, |_| ());
        assert_eq!(first, second);
    });
}

#[test]
fn accesses_around_a_register_are_compared_with_bounds_at_once() {
    let declarations = ".shared .align 16 .b8 tile[1024];";
    let body = |last: u32| {
        format!(
            "
    mov.u64 %rd10, tile;
    mul.wide.u32 %rd11, %r2, 4;
    add.s64 %rd10, %rd10, %rd11;
    st.shared.u32 [%rd10], %r2;
    st.shared.u32 [%rd10+256], %r1;
    ld.shared.u32 %r12, [%rd10];
    ld.shared.u32 %r13, [%rd10+256];
    ld.shared.u32 %r14, [%rd10+{last}];
    add.u32 %r12, %r12, %r13;
    add.u32 %r12, %r12, %r14;
    st.global.u32 [%rd2], %r12;"
        )
    };
    let good = text_beside(declarations, &body(0), 64, |_| ());
    let comparisons = good.matches("sub i64 %field.shared_known").count();
    assert_eq!(comparisons, 2, "one for all lanes and one for some of them:\n{good}");
    // The last one is behind the end for some lanes: the report is the interpreter's.
    let Some(config) = native() else { return };
    let faults = [config, Config::default()].map(|config| {
        let bench = Bench::on_the_engine_of(config, &kernel(declarations, &body(800)));
        let out = bench.zeros(256);
        let fault = bench.fault("k", 1, 64, &[out.into(), 0_u32.into()]);
        (fault.kind, fault.thread, fault.ptx_line, fault.address)
    });
    assert_eq!(faults[0], faults[1]);
    assert_eq!(faults[0].1, [56, 0, 0]);
}

#[test]
fn shared_atomics_whose_results_are_not_read_count_each_lane() {
    let declarations = ".shared .align 4 .b32 counts[8];";
    // The lanes meet at eight counters; the first result is overwritten where lanes wait that still hold the number before.
    let body = "
    mov.u64 %rd3, counts;
    and.b32 %r10, %r2, 7;
    mul.wide.u32 %rd4, %r10, 4;
    add.u64 %rd3, %rd3, %rd4;
    mov.u32 %r11, 7;
    st.shared.u32 [%rd3], %r11;
    bar.sync 0;
    atom.shared.add.u32 %r12, [%rd3], %r2;
    atom.shared.max.u32 %r12, [%rd3], 40;
    atom.shared.xor.b32 %r12, [%rd3], %r2;
    setp.lt.u32 %p1, %r2, 37;
    @%p1 bra STORE;
    atom.shared.add.u32 %r11, [%rd3], 1;
    mov.u32 %r11, 9;
STORE:
    bar.sync 0;
    ld.shared.u32 %r12, [%rd3];
    add.u32 %r11, %r11, %r12;
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both(declarations, body, 50, 64, 7) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.0[37] - native.0[5], 2);
}

#[test]
fn indices_of_few_bits_are_known_to_be_in_shared_memory() {
    // The lanes take indices in any order, and some of them part from the others.
    let body = |index: &str| {
        format!(
            "
    mul.lo.u32 %r10, %r2, 0x12345;
    {index}
    mul.wide.u32 %rd4, %r10, 4;
    mov.u64 %rd3, tile;
    add.u64 %rd3, %rd3, %rd4;
    mov.u32 %r13, 0;
    st.shared.u32 [%rd3], %r13;
    bar.sync 0;
    atom.shared.add.u32 %r11, [%rd3], 5;
    bar.sync 0;
    setp.lt.u32 %p1, %r10, 100;
    @%p1 bra FEW;
    ld.shared.u32 %r11, [%rd3];
    st.shared.u32 [%rd3], %r2;
FEW:
    bar.sync 0;
    ld.shared.u32 %r12, [%rd3];
    mad.lo.u32 %r11, %r11, %r12, %r10;
    st.global.u32 [%rd2], %r11;"
        )
    };
    let known = |declarations: &str, index: &str| {
        // The comparison with the end of the variable, which follows the first 1024 bytes.
        text_beside(declarations, &body(index), 128, |_| ()).contains("icmp uge i64 %field.shared_known, 2048")
    };
    let tile = ".shared .align 4 .b32 tile[256];";
    let in_bounds = [
        "and.b32 %r10, %r10, 255;",
        "shr.u32 %r10, %r10, 24;",
        "bfe.u32 %r10, %r10, 7, 8;",
        "shr.u32 %r10, %r10, 9;\nand.b32 %r10, %r10, 255;",
        "and.b32 %r10, %r10, 127;\nadd.u32 %r10, %r10, 128;",
        "and.b32 %r10, %r10, 254;\nor.b32 %r10, %r10, 1;",
        "cvt.u32.u8 %r10, %r10;",
        "prmt.b32 %r10, %r10, 0, 0x4442;",
        "min.u32 %r10, %r10, 255;",
    ];
    let unknown = ["shr.s32 %r10, %r10, 24;\nabs.s32 %r10, %r10;", "rem.u32 %r10, %r10, 250;"];
    let larger = ["and.b32 %r10, %r10, 511;", "and.b32 %r10, %r10, 255;\nadd.u32 %r10, %r10, 1;"];
    for index in in_bounds {
        assert!(known(tile, index), "{index}");
    }
    for index in unknown {
        assert!(!known(tile, index), "{index}");
    }
    let larger_tile = ".shared .align 4 .b32 tile[512];";
    for (tile, index) in larger
        .map(|index| (larger_tile, index))
        .into_iter()
        .chain([in_bounds.as_slice(), &unknown].concat().into_iter().map(|index| (tile, index)))
    {
        if let Some([native, interpreted]) = on_both(tile, &body(index), 50, 256, 7) {
            assert_eq!(native.0, interpreted.0, "{index}");
        }
    }
    // An index that is one too large is a fault on both engines.
    for config in [native().unwrap_or_default(), Config::default()] {
        let bench = Bench::with(&kernel(tile, &body(larger[1])), config);
        let out = bench.zeros(4 * 256);
        bench.fault("k", 1, 256, &[out.into(), 7_u32.into()]);
    }
}

#[test]
fn addresses_put_together_by_or_are_neighbours() {
    let kernel = |limit: &str, shift: u32| {
        format!(
            "{HEADER}
.visible .entry k(.param .u64 out, .param .u32 n)
{limit}
{{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, {shift};
    or.b32 %r4, %r3, %r1;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}}
"
        )
    };
    let text = |limit, shift| text_of(&kernel(limit, shift), 64, |_| ());
    assert!(!text(".reqntid 64, 1, 1", 6).contains("scatter"));
    // Threads may have numbers with the bits of the block's, but the lanes of a group do not differ in these bits.
    assert!(!text("", 6).contains("scatter"));
    assert!(!text("", 4).contains("scatter"));
    assert!(text("", 2).contains("scatter"));
}

#[test]
fn addresses_stay_neighbours_where_lanes_might_part() {
    let text = text(leaving_a_loop(), 32);
    // Only warps with some lanes active gather: for pointers that are selected by the active lanes.
    let count = |parts: [&str; 2]| text.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count();
    let gathers = count(["call <32 x i32>", "@llvm.masked.gather"]);
    assert!(gathers > 0 && gathers == count(["= select <32 x i1>", "<32 x ptr>"]), "{text}");
    // The lanes' addresses are neighbouring ones after all, and are not.
    for n in [0, 4] {
        let Some([native, interpreted]) = on_both("", leaving_a_loop(), 1, 32, n) else {
            return;
        };
        assert_eq!(native.0, interpreted.0);
        assert_eq!(native.0[0], 2 * n);
    }
}

#[test]
fn some_lanes_access_several_neighbouring_elements() {
    // Groups of eight lanes with all, some and no active lanes.
    for count in [2, 7, 8, 9, 16, 20, 31] {
        let body = format!(
            "
    mul.wide.u32 %rd10, %r2, 16;
    add.s64 %rd10, %rd1, %rd10;
    setp.lt.u32 %p1, %r4, {count};
    @!%p1 bra DONE;
    add.u32 %r10, %r2, 10;
    add.u32 %r11, %r2, 20;
    mul.lo.u32 %r12, %r2, 3;
    st.global.v4.u32 [%rd10], {{%r10, %r11, %r12, %r1}};
    ld.global.v2.u32 {{%r13, %r14}}, [%rd10];
    ld.global.v4.u32 {{%r10, %r11, %r12, %r15}}, [%rd10];
    sub.u32 %r10, %r11, %r10;
    add.u32 %r12, %r12, %r14;
    st.global.v4.u32 [%rd10], {{%r10, %r13, %r12, %r15}};
DONE:"
        );
        let text = text(&body, 32);
        assert!(text.contains("@llvm.masked.load.v128i32"), "{text}");
        assert!(text.contains("@llvm.masked.store.v32i32"), "{text}");
        let Some([native, interpreted]) = on_both("", &body, 4, 32, 7) else {
            return;
        };
        assert_eq!(native.0, interpreted.0, "{count} lanes");
        for (lane, found) in (0..count).zip(native.0.chunks(4)) {
            assert_eq!(found, [10, 10 + lane, 20 + 4 * lane, 7], "lane {lane} of {count}");
        }
        assert!(native.0[4 * count as usize..].iter().all(|word| *word == 0), "{count} lanes");
    }
}

/// Some lanes of each warp load: what inactive lanes would load is the next warp's, or lies behind the end of the buffer.
#[test]
fn loads_of_some_lanes_may_read_what_all_would() {
    const WARPS: u32 = 12;
    /// A load, the bytes from lane to lane, and the bytes that lanes load.
    const LOADS: [(&str, u32, u32); 8] = [
        ("ld.global.u32 %r20, [%rd10];", 4, 4),
        ("ld.global.v2.u32 {%r20, %r21}, [%rd10];", 8, 8),
        ("ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd10];", 16, 16),
        ("ld.global.v2.u64 {%rd20, %rd21}, [%rd10];\ncvt.u32.u64 %r20, %rd20;\ncvt.u32.u64 %r21, %rd21;", 16, 16),
        ("ld.global.v4.u8 {%r20, %r21, %r22, %r23}, [%rd10];", 4, 4),
        ("ld.global.u32 %r20, [%rd10];", 16, 4),
        ("ld.global.u16 %r20, [%rd10];", 12, 2),
        ("ld.global.v2.u32 {%r20, %r21}, [%rd10];", 24, 8),
    ];
    let Some(native) = native() else { return };
    // Lanes in one row, and in rows of 8 that lie further apart.
    for (load, step, bytes) in LOADS {
        for (row, apart) in [(32_u32, 0), (8, 8)] {
            let pitch = (row + apart) * step;
            let body = format!(
                "
    mov.u32 %r20, 0;
    mov.u32 %r21, 0;
    mov.u32 %r22, 0;
    mov.u32 %r23, 0;
    shr.u32 %r10, %r2, {shift};
    and.b32 %r11, %r2, {last};
    mul.lo.u32 %r12, %r10, {pitch};
    mad.lo.u32 %r12, %r11, {step}, %r12;
    // No lane loads where `n` is 7.
    and.b32 %r13, %r1, 255;
    sub.u32 %r13, %r13, 128;
    // A number without a stride, so that only the load asks whether all lanes are in bounds.
    xor.b32 %r15, %r11, 5;
    xor.b32 %r15, %r15, 5;
    setp.ge.s32 %p1, %r15, %r13;
    @%p1 bra DONE;
    shr.u32 %r14, %r1, 8;
    mad.lo.u32 %r12, %r3, %r14, %r12;
    cvt.u64.u32 %rd11, %r12;
    add.u64 %rd10, %rd1, %rd11;
    add.u64 %rd10, %rd10, {results};
    {load}
    add.u32 %r20, %r20, %r21;
    add.u32 %r20, %r20, %r22;
    add.u32 %r20, %r20, %r23;
    st.global.u32 [%rd2], %r20;
DONE:",
                shift = row.ilog2(),
                last = row - 1,
                results = 4 * 32 * WARPS
            );
            let code = text(&body, 32);
            assert!(code.contains("freeze i1"), "{load} in rows of {row}:\n{code}");
            for count in [1, 3, row - 3, row] {
                // A warp's elements begin behind the last one of the warp before.
                let lanes = (32 / row - 1) * (row + apart) + count;
                let shift = count * step;
                let end = (WARPS - 1) * shift + (lanes - 1) * step + bytes;
                let run = |config: &Config, short: u32| {
                    let bench = Bench::on_the_engine_of(config.clone(), &kernel("", &body));
                    let source = (0..end - short).map(|at| (at * 37 + at / 251) as u8);
                    let buffer: Vec<u8> = std::iter::repeat_n(0, 4 * 32 * WARPS as usize).chain(source).collect();
                    let out = bench.upload(&buffer);
                    let ended = bench.run("k", WARPS, 32, &[out.into(), (shift << 8 | 128 | count).into()]);
                    let fault = match ended {
                        Err(LaunchFailure::Fault(fault)) => Some((fault.kind, fault.thread)),
                        Ok(_) | Err(LaunchFailure::Refused(_)) => None,
                    };
                    (fault, bench.download(out, 4 * 32 * WARPS as usize))
                };
                let [found, expected] = [&native, &Config::default()].map(|config| run(config, 0));
                assert_eq!(found, expected, "{load}, {count} of rows of {row}");
                assert_eq!(found.0, None, "{load}, {count} of rows of {row}");
                assert!(found.1.iter().any(|byte| *byte != 0));
                let [found, expected] = [&native, &Config::default()].map(|config| run(config, 1).0);
                assert_eq!(found, expected, "{load}, {count} of rows of {row}, the last byte missing");
                assert!(found.is_some(), "{load}, {count} of rows of {row}, the last byte missing");
            }
        }
    }
}

#[test]
fn loops_prefetch_what_they_load_next() {
    let of = |access: &str| {
        let body = format!(
            "
    mov.u32 %r10, 0;
    mov.u32 %r11, 0;
AGAIN:
    {access}
    add.u32 %r11, %r11, %r12;
    add.s64 %rd2, %rd2, 256;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 3;
    @%p1 bra AGAIN;
    st.global.u32 [%rd1], %r11;"
        );
        text(&body, 32)
    };
    let loads = of("ld.global.u32 %r12, [%rd2];");
    assert!(loads.contains("call void @llvm.prefetch"), "{loads}");
    for others in ["mov.u32 %r12, 1;\nst.global.u32 [%rd2], %r2;", "ld.global.u32 %r12, [%rd1];"] {
        assert!(!of(others).contains("@llvm.prefetch"), "{others}");
    }
}

#[test]
fn null_in_shared_memory_is_no_way_out() {
    // As LLVM compares the address of a variable with null.
    let declarations = ".shared .align 4 .b32 tile[64];";
    let body = "
    mov.b64 %rd10, 0;
    bar.sync 0;
    cvta.to.shared.u64 %rd11, %rd10;
    mov.b64 %rd12, tile;
    setp.eq.b64 %p1, %rd11, %rd12;
    cvta.shared.u64 %rd13, %rd12;
    cvta.to.shared.u64 %rd14, %rd13;
    sub.s64 %rd14, %rd14, %rd12;
    cvt.u32.u64 %r10, %rd14;
    selp.u32 %r11, 5, 6, %p1;
    mad.lo.u32 %r11, %r11, %r2, %r10;
    st.global.u32 [%rd2], %r11;";
    let Some([native, interpreted]) = on_both(declarations, body, 2, 64, 0) else {
        return;
    };
    assert_eq!(native.0, interpreted.0);
    assert_eq!(native.0[..3], [0, 6, 12]);
}
