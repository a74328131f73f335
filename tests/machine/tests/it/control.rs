//! Divergence and reconvergence, loops, jump tables, guards, calls, recursion.

use crate::common::{HEADER, kernel, run};

#[test]
fn both_sides_of_a_branch_run_for_their_lanes() {
    let body = "
        and.b32 %r10, %r2, 1;
        setp.eq.s32 %p1, %r10, 0;
        @%p1 bra EVEN;
        mul.lo.s32 %r11, %r2, 3;
        bra JOIN;
    EVEN:
        add.s32 %r11, %r2, 1000;
    JOIN:
        activemask.b32 %r12;
        setp.eq.s32 %p2, %r12, -1;
        selp.b32 %r13, 1000000, 0, %p2;
        add.s32 %r11, %r11, %r13;
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..128).map(|i| 1_000_000 + if i % 2 == 0 { i + 1000 } else { i * 3 }).collect();
    assert_eq!(run("", body, 1, 128, 0, 128), expected);
}

#[test]
fn loops_with_different_trip_counts_meet_behind_the_loop() {
    let body = "
        mov.u32 %r10, 0;
        mov.u32 %r11, 0;
    LOOP:
        setp.ge.u32 %p1, %r10, %r2;
        @%p1 bra DONE;
        add.s32 %r11, %r11, %r10;
        add.s32 %r10, %r10, 1;
        bra LOOP;
    DONE:
        activemask.b32 %r12;
        setp.eq.s32 %p2, %r12, -1;
        @!%p2 mov.u32 %r11, 77777;
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..64).map(|i: u32| i * i.saturating_sub(1) / 2).collect();
    assert_eq!(run("", body, 1, 64, 0, 64), expected);
}

#[test]
fn the_exit_of_a_loop_may_stand_before_its_body_in_the_text() {
    // Exits in the middle of nested loops, and blocks in an unhelpful order.
    let body = "
        mov.u32 %r10, 0;
        mov.u32 %r11, 0;
        bra OUTER;
    DONE:
        activemask.b32 %r12;
        popc.b32 %r12, %r12;
        mul.lo.s32 %r12, %r12, 65536;
        add.s32 %r11, %r11, %r12;
        st.global.u32 [%rd2], %r11;
        ret;
    OUTER:
        setp.ge.u32 %p1, %r10, 4;
        @%p1 bra DONE;
        mov.u32 %r13, 0;
    INNER:
        add.s32 %r13, %r13, 1;
        add.s32 %r11, %r11, 1;
        and.b32 %r14, %r11, 63;
        setp.eq.u32 %p3, %r14, %r2;
        @%p3 bra DONE;
        setp.lt.u32 %p2, %r13, %r2;
        @%p2 bra INNER;
        add.s32 %r10, %r10, 1;
        bra OUTER;";
    let reference = |tid: u32| {
        let mut sum = 0;
        for _ in 0..4 {
            let mut inner = 0;
            loop {
                inner += 1;
                sum += 1;
                if sum & 63 == tid {
                    return sum;
                }
                if inner >= tid {
                    break;
                }
            }
        }
        sum
    };
    let expected: Vec<u32> = (0..32).map(|tid| reference(tid) + 32 * 65536).collect();
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn jump_tables_send_every_lane_to_its_target() {
    let body = "
        and.b32 %r10, %r2, 3;
        { targets: .branchtargets A, B, C, A;
        brx.idx %r10, targets; }
    A:
        mov.u32 %r11, 10;
        bra JOIN;
    B:
        mov.u32 %r11, 20;
        bra JOIN;
    C:
        mov.u32 %r11, 30;
    JOIN:
        activemask.b32 %r12;
        not.b32 %r12, %r12;
        add.s32 %r11, %r11, %r12;
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..32).map(|i| [10, 20, 30, 10][i % 4]).collect();
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn guards_apply_to_single_instructions() {
    let body = "
        setp.lt.u32 %p1, %r2, 10;
        mov.u32 %r10, 1;
        @%p1 add.s32 %r10, %r10, 100;
        @!%p1 mul.lo.s32 %r10, %r10, 7;
        setp.eq.u32 %p2, %r2, 3;
        @%p2 exit;
        st.global.u32 [%rd2], %r10;
        @%p1 ret;
        @!%p1 st.global.u32 [%rd2], 9;";
    let mut expected: Vec<u32> = (0..32).map(|i| if i < 10 { 101 } else { 9 }).collect();
    expected[3] = 0;
    assert_eq!(run("", body, 1, 32, 0, 32), expected);
}

#[test]
fn partial_warps_leave_missing_lanes_alone() {
    let body = "
        activemask.b32 %r10;
        st.global.u32 [%rd2], %r10;";
    let mut expected = vec![u32::MAX; 32];
    expected.extend([0b11111; 5]);
    expected.extend([0; 27]);
    assert_eq!(run("", body, 1, 37, 0, 64), expected);
}

const FUNCTIONS: &str = "
.func (.param .b32 result) triple(.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    mul.lo.s32 %r2, %r1, 3;
    st.param.b32 [result], %r2;
    ret;
}
.func (.param .b32 result) square(.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    mul.lo.s32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.func (.param .b64 result) factorial(.param .b64 n)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<8>;
    .local .align 8 .b8 frame[16];
    ld.param.b64 %rd1, [n];
    st.local.b64 [frame+8], %rd1;
    setp.lt.u64 %p1, %rd1, 2;
    @%p1 bra BASE;
    add.s64 %rd2, %rd1, -1;
    { .param .b64 param0;
      .param .b64 retval0;
      st.param.b64 [param0], %rd2;
      call.uni (retval0), factorial, (param0);
      ld.param.b64 %rd3, [retval0]; }
    ld.local.b64 %rd4, [frame+8];
    mul.lo.s64 %rd5, %rd3, %rd4;
    st.param.b64 [result], %rd5;
    ret;
BASE:
    st.param.b64 [result], 1;
    ret;
}
";

#[test]
fn calls_pass_parameters_and_results() {
    let body = "
        { .param .b32 param0;
          .param .b32 retval0;
          st.param.b32 [param0], %r2;
          call.uni (retval0), triple, (param0);
          ld.param.b32 %r10, [retval0]; }
        { .param .b32 param0;
          .param .b32 retval0;
          st.param.b32 [param0], %r10;
          call (retval0), square, (param0);
          ld.param.b32 %r11, [retval0]; }
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..32).map(|i| 9 * i * i).collect();
    assert_eq!(run(FUNCTIONS, body, 1, 32, 0, 32), expected);
}

#[test]
fn divergent_calls_of_pointers_reach_every_target() {
    let body = "
        and.b32 %r10, %r2, 1;
        setp.eq.u32 %p1, %r10, 0;
        mov.b64 %rd10, triple;
        mov.b64 %rd11, square;
        selp.b64 %rd12, %rd10, %rd11, %p1;
        { .param .b32 param0;
          .param .b32 retval0;
          st.param.b32 [param0], %r2;
          prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
          call (retval0), %rd12, (param0), prototype_0;
          ld.param.b32 %r11, [retval0]; }
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { 3 * i } else { i * i }).collect();
    assert_eq!(run(FUNCTIONS, body, 1, 32, 0, 32), expected);
}

#[test]
fn recursion_of_different_depth_in_each_lane() {
    let body = "
        and.b32 %r10, %r2, 7;
        cvt.u64.u32 %rd10, %r10;
        { .param .b64 param0;
          .param .b64 retval0;
          st.param.b64 [param0], %rd10;
          call.uni (retval0), factorial, (param0);
          ld.param.b64 %rd11, [retval0]; }
        cvt.u32.u64 %r11, %rd11;
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..64).map(|i| (1..=i % 8).product()).collect();
    assert_eq!(run(FUNCTIONS, body, 1, 64, 0, 64), expected);
}

#[test]
fn structures_are_passed_by_value() {
    let functions = "
.func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 pair[16])
{
    .reg .b64 %rd<4>;
    ld.param.v2.b64 {%rd1, %rd2}, [pair];
    st.param.v2.b64 [result], {%rd2, %rd1};
    ret;
}";
    let body = "
        cvt.u64.u32 %rd10, %r2;
        { .param .align 8 .b8 param0[16];
          .param .align 8 .b8 retval0[16];
          st.param.b64 [param0], %rd10;
          st.param.b64 [param0+8], 5;
          call.uni (retval0), swap, (param0);
          ld.param.v2.b64 {%rd11, %rd12}, [retval0]; }
        mul.lo.s64 %rd11, %rd11, 100;
        add.s64 %rd11, %rd11, %rd12;
        cvt.u32.u64 %r11, %rd11;
        st.global.u32 [%rd2], %r11;";
    let expected: Vec<u32> = (0..32).map(|i| 500 + i).collect();
    assert_eq!(run(functions, body, 1, 32, 0, 32), expected);
}

#[test]
fn old_style_functions_take_registers() {
    let functions = "
.func (.reg .u32 %out) plus (.reg .u32 %a, .reg .u32 %b)
{
    add.u32 %out, %a, %b;
    ret;
}";
    let body = "
        call (%r10), plus, (%r2, 100);
        st.global.u32 [%rd2], %r10;";
    let expected: Vec<u32> = (0..32).map(|i| 100 + i).collect();
    assert_eq!(run(functions, body, 1, 32, 0, 32), expected);
}

#[test]
fn names_may_be_declared_again_in_inner_scopes() {
    let body = "
        mov.u32 %r10, 1;
        { .reg .b32 tmp; mov.u32 tmp, 2; add.s32 %r10, %r10, tmp; }
        { .reg .b64 tmp; mov.u64 tmp, 4; cvt.u32.u64 %r11, tmp; add.s32 %r10, %r10, %r11; }
        st.global.u32 [%rd2], %r10;";
    assert_eq!(run("", body, 1, 32, 0, 32), vec![7; 32]);
}

#[test]
fn unusual_but_valid_modules_load() {
    let device =
        rumba_vm::Device::new(rumba_vm::Config { workers: 1, memory_bytes: 1 << 28, ..Default::default() }).unwrap();
    let empty = format!("{HEADER}.visible .entry k() {{ ret; }}");
    let endless = kernel("", "LOOP: bra LOOP;");
    let unreachable = kernel("", "ret; DEAD: add.s32 %r10, %r10, 1; bra DEAD;");
    for ptx in [HEADER, &empty, &endless, &unreachable] {
        device.load(&[rumba_vm::Source { name: "test", ptx }]).unwrap();
    }
}

#[test]
fn functions_with_several_results() {
    let declarations = "
.func (.reg .u32 quotient, .reg .pred odd, .reg .v2 .u64 both) split(.reg .u32 x, .reg .pred keep, .reg .v2 .u32 more)
{
    .reg .u32 %t;
    shr.u32 quotient, x, 1;
    and.b32 %t, x, 1;
    setp.ne.and.u32 odd, %t, 0, keep;
    cvt.u64.u32 both.x, more.y;
    cvt.u64.u32 both.y, more.x;
    ret;
}";
    let body = "
        .reg .v2 .u32 more; .reg .v2 .u64 both;
        setp.ne.u32 %p1, %r2, 3;
        mov.v2.u32 more, {%r2, 100};
        call (%r10, %p2, both), split, (%r2, %p1, more);
        cvt.u32.u64 %r11, both.x; cvt.u32.u64 %r12, both.y;
        @%p2 add.u32 %r10, %r10, 1000000;
        mad.lo.u32 %r10, %r11, 10, %r10;
        mad.lo.u32 %r10, %r12, 10000, %r10;
        call (_, %p2, _), split, (7, %p1, more);
        @!%p2 add.u32 %r10, %r10, 500;
        st.global.u32 [%rd2], %r10;";
    let expected: Vec<u32> =
        (0..8).map(|i| i / 2 + 1000 + 10_000 * i + if i == 3 { 500 } else { i % 2 * 1_000_000 }).collect();
    assert_eq!(run(declarations, body, 1, 8, 0, 8), expected);
}
