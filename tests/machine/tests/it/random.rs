//! Random control flow: what a warp of 32 threads computes is what 32 warps of one thread compute.
//!
//! Kernels are made from a seed: arithmetic on a few registers, branches to arbitrary labels, tables, calls, loops that
//! are bounded by a counter. Where lanes meet again must not matter for the result.

use std::fmt::Write;

use crate::common::{Bench, HEADER, Random, u32s};
use rumba_vm::Config;

/// A register that kernels compute with.
fn register(random: &mut Random) -> String {
    format!("%r{}", 10 + random.below(6))
}

fn kernel(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let blocks = 3 + random.below(12);
    let mut body = String::new();
    for block in 0..blocks {
        writeln!(body, "L{block}:").unwrap();
        // Every block counts, and gives up in the end.
        writeln!(body, "add.u32 %r2, %r2, 1; setp.gt.u32 %p9, %r2, 200; @%p9 bra END;").unwrap();
        for _ in 0..random.below(5) {
            let (d, a, b) = (register(&mut random), register(&mut random), register(&mut random));
            let text = match random.below(7) {
                0 => format!("add.s32 {d}, {a}, {b};"),
                1 => format!("mul.lo.s32 {d}, {a}, {b};"),
                2 => format!("xor.b32 {d}, {a}, {};", random.below(1000)),
                3 => format!("setp.lt.u32 %p1, {a}, {b}; @%p1 add.s32 {d}, {d}, 3;"),
                4 => format!("shr.u32 {d}, {a}, 3; @!%p1 sub.s32 {d}, {d}, {b};"),
                5 => format!("mul.wide.u32 %rd4, {a}, {b}; shr.u64 %rd4, %rd4, 7; cvt.u32.u64 {d}, %rd4;"),
                _ => format!("call ({d}), mix, ({a}, {b});"),
            };
            writeln!(body, "{text}").unwrap();
        }
        let a = register(&mut random);
        let target = random.below(blocks);
        match random.below(6) {
            0 => writeln!(body, "bra L{target};").unwrap(),
            1 => {
                let others: Vec<String> = (0..4).map(|_| format!("L{}", random.below(blocks))).collect();
                writeln!(body, "and.b32 %r5, {a}, 3; {{ T{block}: .branchtargets {}; ", others.join(", ")).unwrap();
                writeln!(body, "brx.idx %r5, T{block}; }}").unwrap();
            }
            _ => {
                let bit = random.below(6);
                writeln!(body, "shr.u32 %r5, {a}, {bit}; and.b32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0;").unwrap();
                writeln!(body, "@%p2 bra L{target};").unwrap();
            }
        }
    }
    format!(
        "{HEADER}
.func (.reg .u32 %out) mix (.reg .u32 %a, .reg .u32 %b)
{{
    .reg .pred %p<2>;
    setp.gt.u32 %p1, %a, %b;
    @%p1 bra GREATER;
    sub.u32 %out, %b, %a;
    ret;
GREATER:
    mul.lo.u32 %out, %a, 5;
    @%p1 ret;
    trap;
}}
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<10>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mad.lo.u32 %r1, %r4, %r5, %r3;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, 0;
    mov.u32 %r10, %r1;
    mul.lo.u32 %r11, %r1, 2654435761;
    mov.u32 %r12, 17;
    xor.b32 %r13, %r11, 0x5555;
    shr.u32 %r14, %r11, 16;
    mov.u32 %r15, 3;
    setp.eq.u32 %p1, %r1, 0;
{body}
END:
    add.u32 %r10, %r10, %r11;
    xor.b32 %r12, %r12, %r13;
    add.u32 %r10, %r10, %r12;
    xor.b32 %r10, %r10, %r14;
    add.u32 %r10, %r10, %r15;
    mad.lo.u32 %r10, %r2, 31, %r10;
    st.global.u32 [%rd1], %r10;
    ret;
}}
"
    )
}

#[test]
fn lanes_that_run_together_compute_what_they_compute_alone() {
    for seed in 1..150 {
        let ptx = kernel(seed);
        // Every other kernel does without the processor's vector instructions.
        let bench = Bench::with(&ptx, Config { vector_instructions: seed % 2 == 0, ..Config::default() });
        let (together, alone) = (bench.zeros(4 * 96), bench.zeros(4 * 96));
        bench.run("k", 2, 48, &[together.into()]).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        bench.run("k", 96, 1, &[alone.into()]).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        let (together, alone) = (u32s(&bench.download(together, 384)), u32s(&bench.download(alone, 384)));
        assert_eq!(together, alone, "seed {seed}\n{ptx}");
    }
}
