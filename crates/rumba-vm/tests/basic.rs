//! Kernels without divergence: the machine from end to end.

mod common;

use common::{Bench, bytes_of, f32s};

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
    let bench = Bench::new(VECADD);
    for n in [1usize, 31, 32, 33, 100, 1000, 4097] {
        let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let b: Vec<f32> = (0..n).map(|i| 2.0 * i as f32).collect();
        let (x, y, z) = (bench.upload(&a), bench.upload(&b), bench.zeros(4 * n));
        bench
            .run(
                "vecadd",
                n.div_ceil(128) as u32,
                128,
                &[x.into(), y.into(), z.into(), (n as u32).into()],
            )
            .unwrap();
        let expected: Vec<f32> = (0..n).map(|i| 3.0 * i as f32).collect();
        assert_eq!(f32s(&bench.download(z, 4 * n)), expected, "n = {n}");
        assert_eq!(bytes_of(&a).len(), 4 * n);
    }
}
