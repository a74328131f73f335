//! Blocks: shared memory, barriers, atomics, blocks that wait for each other, special registers.

use crate::common::{Bench, HEADER, kernel, run, u32s};
use rumba_vm::{Check, CheckSet, Config, Launch};

const SHARED: &str = ".shared .align 4 .b32 values[256];";

#[test]
fn a_reduction_in_shared_memory() {
    let body = "
        mov.u64 %rd10, values;
        mul.wide.u32 %rd11, %r2, 4;
        add.s64 %rd11, %rd10, %rd11;
        st.shared.u32 [%rd11], %r4;
        mov.u32 %r10, 128;
    LOOP:
        bar.sync 0;
        setp.ge.u32 %p1, %r2, %r10;
        @%p1 bra SKIP;
        mul.wide.u32 %rd12, %r10, 4;
        add.s64 %rd12, %rd11, %rd12;
        ld.shared.u32 %r11, [%rd12];
        ld.shared.u32 %r12, [%rd11];
        add.s32 %r12, %r12, %r11;
        st.shared.u32 [%rd11], %r12;
    SKIP:
        shr.u32 %r10, %r10, 1;
        setp.ne.u32 %p2, %r10, 0;
        @%p2 bra LOOP;
        bar.sync 0;
        ld.shared.u32 %r13, [%rd10];
        st.global.u32 [%rd2], %r13;";
    let out = run(SHARED, body, 3, 256, 0, 768);
    for block in 0..3u32 {
        let sum = (0..256).map(|i| block * 256 + i).sum::<u32>();
        assert!(out[block as usize * 256..][..256].iter().all(|value| *value == sum), "block {block}");
    }
}

#[test]
fn barriers_with_reductions() {
    let body = "
        setp.lt.u32 %p1, %r2, %r1;
        bar.red.popc.u32 %r10, 0, %p1;
        bar.red.and.pred %p2, 1, %p1;
        bar.red.or.pred %p3, 2, 96, !%p1;
        selp.b32 %r11, 1000, 0, %p2;
        selp.b32 %r12, 2000, 0, %p3;
        add.s32 %r10, %r10, %r11;
        add.s32 %r10, %r10, %r12;
        st.global.u32 [%rd2], %r10;";
    assert_eq!(run("", body, 1, 96, 40, 96), vec![2040; 96]);
    assert_eq!(run("", body, 1, 96, 96, 96), vec![1096; 96]);
}

#[test]
fn named_barriers_serve_producers_and_consumers() {
    // Warp 0 waits at barrier 3 for what warp 1 arrives with; warps 2 and 3 have a barrier of their own.
    let body = "
        mov.u64 %rd10, values;
        shr.u32 %r10, %r2, 5;
        setp.eq.u32 %p1, %r10, 0;
        @%p1 bra CONSUMER;
        setp.eq.u32 %p2, %r10, 1;
        @%p2 bra PRODUCER;
        bar.sync 4, 64;
        bra JOIN;
    PRODUCER:
        st.shared.u32 [%rd10], 55;
        bar.arrive 3, 64;
        bra JOIN;
    CONSUMER:
        bar.sync 3, 64;
        ld.shared.u32 %r11, [%rd10];
        st.global.u32 [%rd2], %r11;
    JOIN:
        bar.sync 0;";
    assert_eq!(run(SHARED, body, 1, 128, 0, 32), vec![55; 32]);
}

#[test]
fn threads_that_exit_are_not_waited_for() {
    let body = "
        setp.ge.u32 %p1, %r2, 40;
        @%p1 exit;
        bar.sync 0;
        st.global.u32 [%rd2], 1;";
    assert_eq!(run("", body, 1, 128, 0, 128).iter().sum::<u32>(), 40);
}

#[test]
fn divergent_lanes_may_arrive_at_one_barrier_in_turns() {
    let body = "
        and.b32 %r10, %r2, 1;
        setp.eq.u32 %p1, %r10, 0;
        @%p1 bra EVEN;
        barrier.sync 0;
        mov.u32 %r11, 1;
        bra JOIN;
    EVEN:
        barrier.sync 0;
        mov.u32 %r11, 2;
    JOIN:
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..64).map(|i| if i % 2 == 0 { 2 } else { 1 }).collect();
    assert_eq!(run("", body, 1, 64, 0, 64), expected);
}

#[test]
fn dynamic_shared_memory_follows_the_static() {
    let declarations = "
        .extern .shared .align 16 .b8 dynamic[];
        .shared .align 4 .b32 fixed[4];";
    let bench = Bench::new(&crate::common::kernel(
        declarations,
        "
        mov.u64 %rd10, dynamic;
        mov.u64 %rd14, fixed;
        mul.wide.u32 %rd11, %r2, 4;
        add.s64 %rd12, %rd10, %rd11;
        st.shared.u32 [fixed], 0;
        st.shared.u32 [%rd12], %r2;
        bar.sync 0;
        xor.b32 %r10, %r2, 63;
        mul.wide.u32 %rd11, %r10, 4;
        add.s64 %rd12, %rd10, %rd11;
        ld.shared.u32 %r11, [%rd12];
        mov.u32 %r12, %dynamic_smem_size;
        add.s32 %r11, %r11, %r12;
        st.global.u32 [%rd2], %r11;",
    ));
    let out = bench.zeros(256);
    bench.launch("k", [1, 1, 1], [64, 1, 1], 256, &[out.into(), 0u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 256)), (0..64).map(|i| 256 + 63 - i).collect::<Vec<u32>>());
}

#[test]
fn generic_addresses_reach_every_space() {
    let body = "
        .local .align 4 .b32 own[4];
        mov.u64 %rd10, values;
        cvta.shared.u64 %rd11, %rd10;
        mul.wide.u32 %rd12, %r2, 4;
        add.s64 %rd11, %rd11, %rd12;
        st.u32 [%rd11], %r2;
        mov.u64 %rd13, own;
        cvta.local.u64 %rd14, %rd13;
        mul.lo.s32 %r10, %r2, 3;
        st.u32 [%rd14+8], %r10;
        bar.sync 0;
        ld.shared.u32 %r11, [%rd10+40];
        ld.local.u32 %r12, [own+8];
        ld.u32 %r13, [%rd14+8];
        sub.s32 %r12, %r12, %r13;
        add.s32 %r11, %r11, %r12;
        add.s32 %r11, %r11, %r13;
        isspacep.shared %p1, %rd11;
        isspacep.local %p2, %rd14;
        isspacep.global %p3, %rd2;
        selp.b32 %r14, 1000, 0, %p1;
        selp.b32 %r15, 2000, 0, %p2;
        selp.b32 %r16, 4000, 0, %p3;
        add.s32 %r11, %r11, %r14;
        add.s32 %r11, %r11, %r15;
        add.s32 %r11, %r11, %r16;
        cvta.to.shared.u64 %rd15, %rd11;
        sub.s64 %rd15, %rd15, %rd10;
        sub.s64 %rd15, %rd15, %rd12;
        cvt.u32.u64 %r17, %rd15;
        add.s32 %r11, %r11, %r17;
        st.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..64).map(|i| 7010 + 3 * i).collect();
    assert_eq!(run(SHARED, body, 1, 64, 0, 64), expected);
}

#[test]
fn atomics_of_all_blocks_add_up() {
    let globals = ".global .align 8 .u64 total = 0;\n.global .align 4 .f32 sum = 0f00000000;";
    let body = "
        cvt.u64.u32 %rd10, %r4;
        atom.global.add.u64 %rd11, [total], %rd10;
        red.global.add.f32 [sum], 0f3F800000;
        atom.shared.add.u32 %r10, [values], 1;
        red.global.add.u32 [%rd1], 1;
        atom.global.max.u32 %r11, [%rd1+4], %r4;
        atom.global.min.s32 %r11, [%rd1+8], -5;
        atom.global.inc.u32 %r11, [%rd1+12], 6;
        bar.sync 0;
        membar.gl;
        atom.global.add.u32 %r12, [%rd1+16], 1;
        setp.ne.u32 %p1, %r12, 9999;
        @%p1 bra DONE;
        ld.global.u32 %r13, [sum];
        st.global.u32 [%rd1+20], %r13;
        ld.global.u64 %rd12, [total];
        st.global.u64 [%rd1+24], %rd12;
    DONE:";
    let out = run(&format!("{globals}{SHARED}"), body, 100, 100, 0, 8);
    assert_eq!(out[0], 10_000);
    assert_eq!(out[1], 9_999);
    assert_eq!(out[2] as i32, -5);
    assert_eq!(out[3], 10_000 % 7);
    // Some blocks may still be adding to the sums when the last one counts itself, but not before they counted.
    assert_eq!(f32::from_bits(out[5]), 10_000.0);
    assert_eq!(u64::from(out[6]) | u64::from(out[7]) << 32, 9_999 * 10_000 / 2);
}

#[test]
fn compare_and_swap_of_all_widths() {
    let body = "
        add.s64 %rd20, %rd1, 256;
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra DONE;
        atom.global.cas.b32 %r10, [%rd20], 0, 7;
        atom.global.cas.b32 %r11, [%rd20], 7, 9;
        ld.global.u32 %r12, [%rd20];
        st.global.u32 [%rd1], %r10;
        st.global.u32 [%rd1+4], %r11;
        st.global.u32 [%rd1+8], %r12;
        atom.global.cas.b64 %rd10, [%rd20+8], 1, 7;
        atom.global.exch.b64 %rd11, [%rd20+8], 0x100000002;
        ld.global.v2.u32 {%r13, %r14}, [%rd20+8];
        st.global.u32 [%rd1+12], %r13;
        st.global.u32 [%rd1+16], %r14;
        mov.b16 %rs1, 0;
        mov.b16 %rs2, 300;
        atom.global.cas.b16 %rs3, [%rd20+18], %rs1, %rs2;
        ld.global.u32 %r15, [%rd20+16];
        st.global.u32 [%rd1+20], %r15;
    DONE:";
    assert_eq!(run("", body, 1, 128, 0, 6), [0, 7, 9, 2, 1, 300 << 16]);
}

const WAITING: &str = "
    // The block with the number n-1 sets the flag that all others wait for.
    sub.s32 %r10, %r1, 1;
    setp.eq.u32 %p1, %r3, %r10;
    @%p1 bra LAST;
SPIN:
    ld.acquire.gpu.global.u32 %r11, [%rd1];
    setp.eq.u32 %p2, %r11, 0;
    @%p2 bra SPIN;
    bra DONE;
LAST:
    st.release.gpu.global.u32 [%rd1], 1;
DONE:
    add.s64 %rd10, %rd1, 4;
    red.global.add.u32 [%rd10], 1;";

#[test]
fn blocks_that_wait_for_later_blocks_are_overtaken() {
    let out = run("", WAITING, 20, 32, 20, 2);
    assert_eq!(out, [1, 640]);
}

#[test]
fn a_grid_barrier_of_a_cooperative_launch() {
    let body = "
        setp.ne.u32 %p1, %r2, 0;
        mov.u32 %r20, 0;
    ROUND:
        bar.sync 0;
        @%p1 bra WAITED;
        membar.gl;
        atom.global.add.u32 %r10, [%rd1], 1;
        add.s32 %r21, %r20, 1;
        mov.u32 %r22, %nctaid.x;
        mul.lo.s32 %r21, %r21, %r22;
    SPIN:
        ld.volatile.global.u32 %r11, [%rd1];
        setp.lt.u32 %p2, %r11, %r21;
        @%p2 bra SPIN;
        membar.gl;
    WAITED:
        bar.sync 0;
        add.s32 %r20, %r20, 1;
        setp.lt.u32 %p3, %r20, 5;
        @%p3 bra ROUND;";
    let bench = Bench::new(&kernel("", body));
    let out = bench.zeros(4096);
    let function = bench.module.function("k").unwrap();
    let mut parameters = out.to_le_bytes().to_vec();
    parameters.extend(0u32.to_le_bytes());
    let launch = Launch {
        grid: [32, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        parameters: &parameters,
        cooperative: true,
        cluster: None,
        device: 0,
    };
    bench.device.launch(&function, &launch).unwrap();
    assert_eq!(u32s(&bench.download(out, 4)), [160]);
    let error = bench.device.launch(&function, &Launch { grid: [5000, 1, 1], ..launch }).unwrap_err();
    assert!(error.to_string().contains("cooperative launch of 5000 blocks"), "{error}");
}

#[test]
fn the_largest_cooperative_grid_fits_on_one_active_worker() {
    // Seeds and checks for races run a launch on one worker, which then keeps all blocks of a cooperative launch.
    let configs = [
        Config::default(),
        Config { seed: Some(7), ..Config::default() },
        Config { checks: CheckSet::default().with(Check::Race), ..Config::default() },
    ];
    for config in configs {
        let config = Config { workers: 3, multiprocessors: 6, ..config };
        let body = "mov.u32 %r10, shared; st.shared.u32 [%r10], %r4; bar.sync 0; ld.shared.u32 %r11, [%r10];
            st.global.u32 [%rd2], %r11;";
        let bench = Bench::with(&kernel(".shared .align 4 .b8 shared[16];", body), config);
        let blocks = 6 * 32;
        let out = bench.zeros(4 * blocks as usize);
        let launch = Launch {
            grid: [blocks, 1, 1],
            block: [1; 3],
            dynamic_shared: 0,
            parameters: &[],
            cooperative: true,
            cluster: None,
            device: 0,
        };
        bench.launch_as("k", launch, &[out.into(), 0_u32.into()]).unwrap();
        assert_eq!(u32s(&bench.download(out, 4 * blocks as usize)), (0..blocks).collect::<Vec<_>>());
    }
}

#[test]
fn special_registers_in_three_dimensions() {
    let ptx = format!(
        "{HEADER}
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<40>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
    mov.u32 %r6, %tid.x; mov.u32 %r7, %tid.y; mov.u32 %r8, %tid.z;
    mov.u32 %r9, %ntid.x; mov.u32 %r10, %ntid.y; mov.u32 %r11, %ntid.z;
    mad.lo.u32 %r12, %r3, %r5, %r2;
    mad.lo.u32 %r12, %r12, %r4, %r1;
    mad.lo.u32 %r13, %r8, %r10, %r7;
    mad.lo.u32 %r13, %r13, %r9, %r6;
    mul.lo.u32 %r14, %r9, %r10;
    mul.lo.u32 %r14, %r14, %r11;
    mad.lo.u32 %r15, %r12, %r14, %r13;
    mul.wide.u32 %rd2, %r15, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r16, %laneid;
    mov.u32 %r17, %warpid;
    mad.lo.u32 %r18, %r17, 32, %r16;
    sub.u32 %r18, %r18, %r13;
    add.u32 %r15, %r15, %r18;
    mov.u32 %r20, %lanemask_lt;
    popc.b32 %r21, %r20;
    sub.u32 %r21, %r21, %r16;
    add.u32 %r15, %r15, %r21;
    mov.u32 %r20, %lanemask_ge;
    popc.b32 %r21, %r20;
    add.u32 %r21, %r21, %r16;
    sub.u32 %r21, %r21, 32;
    add.u32 %r15, %r15, %r21;
    st.global.u32 [%rd3], %r15;
    ret;
}}"
    );
    let bench = Bench::new(&ptx);
    let count = 3 * 2 * 2 * 5 * 3 * 4;
    let out = bench.zeros(4 * count);
    bench.launch("k", [3, 2, 2], [5, 3, 4], 0, &[out.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 4 * count)), (0..count as u32).collect::<Vec<u32>>());
}

#[test]
fn local_arrays_belong_to_their_thread() {
    let body = "
        .local .align 16 .b8 depot[64];
        .reg .b64 %SP;
        .reg .b64 %SPL;
        mov.b64 %SPL, depot;
        cvta.local.u64 %SP, %SPL;
        mov.u32 %r10, 0;
    FILL:
        mul.wide.u32 %rd10, %r10, 4;
        add.u64 %rd11, %SPL, %rd10;
        mul.lo.u32 %r11, %r10, %r2;
        st.local.u32 [%rd11], %r11;
        add.u32 %r10, %r10, 1;
        setp.lt.u32 %p1, %r10, 16;
        @%p1 bra FILL;
        and.b32 %r12, %r2, 15;
        mul.wide.u32 %rd12, %r12, 4;
        add.u64 %rd13, %SP, %rd12;
        ld.u32 %r13, [%rd13];
        ld.local.v4.u32 {%r14, %r15, %r16, %r17}, [%SPL+16];
        add.u32 %r13, %r13, %r14;
        sub.u32 %r13, %r13, %r15;
        st.global.u32 [%rd2], %r13;";
    let expected: Vec<u32> = (0..96u32).map(|i| ((i & 15) * i).wrapping_sub(i)).collect();
    assert_eq!(run("", body, 1, 96, 0, 96), expected);
}

#[test]
fn memory_of_all_widths() {
    let body = "
        setp.ne.u32 %p1, %r2, 0;
        @%p1 exit;
        add.s64 %rd10, %rd1, 96;
        st.global.u32 [%rd10], 0x80f1e2d3;
        ld.global.u8 %r10, [%rd10];
        ld.global.s8 %r11, [%rd10];
        ld.global.u16 %r12, [%rd10+2];
        ld.global.s16 %r13, [%rd10+2];
        ld.global.s8 %rs1, [%rd10+3];
        cvt.u32.u16 %r14, %rs1;
        ld.global.b32 %rd11, [%rd10];
        shr.u64 %rd11, %rd11, 4;
        cvt.u32.u64 %r15, %rd11;
        ld.global.s32 %rd12, [%rd10];
        shr.u64 %rd12, %rd12, 4;
        cvt.u32.u64 %r16, %rd12;
        st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
        st.global.v2.u32 [%rd1+16], {%r14, %r15};
        st.global.u32 [%rd1+24], %r16;
        mov.b64 %rd13, 0x1122334455667788;
        st.global.b8 [%rd1+28], %rd13;
        st.global.b16 [%rd1+30], %rd13;
        ld.global.v2.b64 {%rd14, %rd15}, [%rd1];
        mov.b64 {%r20, %r21}, %rd15;
        mov.b64 %rd16, {%r21, %r20};
        st.global.v2.b64 [%rd1+32], {%rd14, %rd16};
        mov.b32 {%rs2, %rs3}, 0x12345678;
        mov.b32 %r22, {%rs3, %rs2};
        st.global.u32 [%rd1+48], %r22;
        mov.b64 {_, %r23}, %rd13;
        st.global.u32 [%rd1+52], %r23;";
    let out = run("", body, 1, 32, 0, 14);
    assert_eq!(
        out,
        [
            0xd3,
            0xffff_ffd3,
            0x80f1,
            0xffff_80f1,
            0xff80,
            0x080f_1e2d,
            0xf80f_1e2d,
            0x7788_0088,
            0xd3,
            0xffff_ffd3,
            0xffff_80f1,
            0x80f1,
            0x5678_1234,
            0x1122_3344,
        ]
    );
}

#[test]
fn variables_start_with_their_initial_values() {
    let globals = "
.global .align 4 .b8 bytes[8] = {1, 2, 3};
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.global .align 8 .u64 pointers[2] = {generic(bytes)+2, table};
.global .align 4 .f32 number = 0f40490FDB;
.visible .global .align 4 .u32 plain;";
    let body = "
        setp.ne.u32 %p1, %r2, 0;
        @%p1 exit;
        ld.global.u64 %rd10, [pointers];
        ld.u8 %r10, [%rd10];
        ld.global.u64 %rd11, [pointers+8];
        ld.const.u32 %r11, [%rd11+8];
        ld.global.u32 %r12, [number];
        ld.global.u32 %r13, [plain];
        ld.global.u32 %r14, [bytes+4];
        st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};
        st.global.u32 [%rd1+16], %r14;";
    assert_eq!(run(globals, body, 1, 32, 0, 5), [3, 30, 0x4049_0fdb, 0, 0]);
    let bench = Bench::new(&crate::common::kernel(globals, body));
    let (address, bytes) = bench.module.global("table").unwrap();
    assert_eq!(u32s(&bench.download(address, bytes)), [10, 20, 30, 40]);
    assert!(bench.module.global("nothing").is_none());
}

#[test]
fn sources_are_linked() {
    let first = format!(
        "{HEADER}
.extern .func (.param .b32 result) helper (.param .b32 x);
.extern .global .align 4 .u32 factor;
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [factor];
    {{ .param .b32 param0; .param .b32 retval0;
      st.param.b32 [param0], %r1;
      call (retval0), helper, (param0);
      ld.param.b32 %r2, [retval0]; }}
    st.global.u32 [%rd1], %r2;
    ret;
}}"
    );
    let second = format!(
        "{HEADER}
.visible .global .align 4 .u32 factor = 21;
.visible .func (.param .b32 result) helper (.param .b32 x)
{{
    .reg .b32 %r<8>;
    ld.param.b32 %r1, [x];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}}"
    );
    let bench = Bench::new(HEADER);
    let sources = [rumba_vm::Source { name: "first", ptx: &first }, rumba_vm::Source { name: "second", ptx: &second }];
    let module = bench.device.load(&sources).unwrap();
    let out = bench.zeros(4);
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        parameters: &out.to_le_bytes(),
        cooperative: false,
        cluster: None,
        device: 0,
    };
    bench.device.launch(&module.function("k").unwrap(), &launch).unwrap();
    assert_eq!(u32s(&bench.download(out, 4)), [42]);
    let error = bench.device.load(&sources[..1]).unwrap_err().to_string();
    assert!(error.contains("`helper` is called, but no source defines it"), "{error}");
    assert!(error.contains("`factor` is .extern, and no source defines it"), "{error}");
}
