//! Strings that end before the opcode does, and what completes them.
//!
//! LLVM prints parts of an opcode from fields of its instructions: the kind of comparison, `.ftz`, the memory order.
//! Such a string counts as covered if each completion is. The completions are those that LLVM's print methods can give
//! and NVIDIA's assembler takes, in a notation of this file: `{a,b}` stands for `a` and for `b`, `{,a}` for nothing and
//! for `a`. Every other string is a complete opcode.

/// The beginning, and the complete opcodes.
const COMPLETIONS: &[(&str, &str)] = &[
    ("abs", "abs{,.ftz}.{f32,f16,f16x2} abs.{bf16,bf16x2}"),
    (
        "add",
        "add{,.ftz}{,.sat}.{f32,f16,f16x2} add.{f64,bf16,bf16x2} add.{u16,s16,u32,s32,u64,s64,u16x2,s16x2} add.sat.s32",
    ),
    ("add.rn", "add.rn{,.ftz}{,.sat}.{f32,f16,f16x2} add.rn.{f64,bf16,bf16x2} add.rn{,.ftz}.f32x2"),
    (
        "atom",
        "atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .{and,or,xor,exch}.{b32,b64} \
         atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .cas.{b16,b32,b64} \
         atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .{min,max}.{s32,s64,u32,u64} \
         atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .add.{u32,s32,u64,f32,f64,noftz.f16,noftz.bf16} \
         atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .{inc,dec}.u32 \
         atom{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cluster}\
         .{exch,cas}.b128",
    ),
    ("cos.approx", "cos.approx{,.ftz}.f32"),
    (
        "cvt",
        "cvt.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64} \
         cvt.sat.u8.{s8,u16,s16,u32,s32,u64,s64} cvt.sat.s8.{u8,u16,s16,u32,s32,u64,s64} \
         cvt.sat.u16.{s8,s16,u32,s32,u64,s64} cvt.sat.s16.{u16,u32,s32,u64,s64} \
         cvt.sat.u32.{s8,s16,s32,u64,s64} cvt.sat.s32.{u32,u64,s64} cvt.sat.u64.{s8,s16,s32,s64} cvt.sat.s64.u64 \
         cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}.{u8,s8,u16,s16,u32,s32,u64,s64}.f32 \
         cvt.{rni,rzi,rmi,rpi}{,.sat}.{u8,s8,u16,s16,u32,s32,u64,s64}.{f16,f64} \
         cvt.{rni,rzi,rmi,rpi}.{u16,s16,u32,s32,u64,s64}.bf16 \
         cvt.{rn,rz,rm,rp}{,.sat}.{f16,f32,f64}.{u8,s8,u16,s16,u32,s32,u64,s64} \
         cvt.{rn,rz,rm,rp}.bf16.{u16,s16,u32,s32,u64,s64} \
         cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}.f32.f32 cvt.{rni,rzi,rmi,rpi}{,.sat}.{f16.f16,f64.f64} \
         cvt.{rni,rzi,rmi,rpi}.bf16.bf16 cvt{,.ftz}{,.sat}.f32.f32 cvt{,.sat}.f64.f64 \
         cvt{,.ftz}{,.sat}.f64.f32 cvt{,.ftz}{,.sat}.f32.f16 cvt{,.sat}.f64.f16 cvt{,.ftz}.f32.bf16 \
         cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64 cvt.{rn,rz}{,.sat}.f16.f64 cvt.{rn,rz}.bf16.f64 \
         cvt.{rn,rz,rm,rp}{,.sat}.f16.f32 cvt.{rn,rz}{,.relu}{,.satfinite}.{f16,bf16}.f32 \
         cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32 \
         cvt.rs{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32 \
         cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32 \
         cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2 \
         cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2} \
         cvt.rs{,.relu}.satfinite.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.f32 \
         cvt.{rz,rp}{,.satfinite}.ue8m0x2.{f32,bf16x2}",
    ),
    (
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}.tile.bulk_group{,.L2::cache_hint}",
    ),
    (
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}.tile.bulk_group{,.L2::cache_hint}",
    ),
    (
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta",
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}{.tile,.im2col_no_offs}.bulk_group{,.L2::cache_hint}",
    ),
    (
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta",
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}{.tile,.im2col_no_offs}.bulk_group{,.L2::cache_hint}",
    ),
    (
        "cp.reduce.async.bulk.tensor.5d.global.shared::cta",
        "cp.reduce.async.bulk.tensor.5d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}{.tile,.im2col_no_offs}.bulk_group{,.L2::cache_hint}",
    ),
    ("div.approx", "div.approx{,.ftz}.f32"),
    ("div.full", "div.full{,.ftz}.f32"),
    ("div.rn", "div.rn{,.ftz}.f32 div.rn.f64"),
    ("ex2.approx", "ex2.approx{,.ftz}.f32 ex2.approx.{f16,f16x2} ex2.approx.ftz.{bf16,bf16x2}"),
    (
        "fma.rn",
        "fma.rn{,.ftz}{,.sat}.{f32,f16,f16x2} fma.rn{,.ftz}.relu.{f16,f16x2} fma.rn{,.relu}.{bf16,bf16x2} \
         fma.rn.f64 fma.rn{,.ftz}.f32x2",
    ),
    (
        "ld",
        "ld{,.volatile}{,.global,.shared,.shared::cluster,.local}{,.v2,.v4}.{b8,b16,b32,u8,s8,u32,f32} \
         ld{,.volatile}{,.global,.shared,.shared::cluster,.local}{,.v2}.{b64,u64,f64} ld{,.global,.shared}.b128 \
         ld.global{,.nc}{.v8.b32,.v4.b64} ld.{const,param}{,.v2,.v4}.{b8,b16,b32} ld.{const,param}{,.v2}.b64 \
         ld.global.nc{,.v2,.v4}.{b8,b16,b32} ld.global.nc{,.v2}.b64 \
         ld.{relaxed,acquire}.{cta,cluster,gpu,sys}{,.global,.shared,.shared::cluster}.{b8,b16,b32,b64} \
         ld.mmio.relaxed.sys{,.global}.{b8,b16,b32,b64}",
    ),
    ("ldu.global.b", "ldu.global.b{8,16,32,64}"),
    ("ldu.global.v2.b", "ldu.global.v2.b{8,16,32,64}"),
    ("ldu.global.v4.b", "ldu.global.v4.b{8,16,32}"),
    ("lg2.approx", "lg2.approx{,.ftz}.f32"),
    ("max", "max{,.ftz}{,.NaN}.f32 max.{s16,s32,s64,u16,u32,u64}"),
    ("min", "min{,.ftz}{,.NaN}.f32 min.{s16,s32,s64,u16,u32,u64}"),
    ("mul", "mul{,.ftz}{,.sat}.{f32,f16,f16x2} mul.{f64,bf16,bf16x2}"),
    ("mul.rn", "mul.rn{,.ftz}{,.sat}.{f32,f16,f16x2} mul.rn.{f64,bf16,bf16x2} mul.rn{,.ftz}.f32x2"),
    ("neg", "neg{,.ftz}.{f32,f16,f16x2} neg.{bf16,bf16x2}"),
    ("prmt.b32", "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}"),
    ("rcp.approx", "rcp.approx{,.ftz}.f32"),
    ("rcp.rn", "rcp.rn{,.ftz}.f32 rcp.rn.f64"),
    ("rsqrt.approx", "rsqrt.approx{,.ftz}.f32 rsqrt.approx{,.ftz}.f64"),
    (
        "setp.",
        "setp.{eq,ne}.b{16,32,64} setp.{eq,ne,lt,le,gt,ge}.{s,u}{16,32,64} setp.{lo,ls,hi,hs}.u{16,32,64} \
         setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.{f32,f16,f16x2} \
         setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{f64,bf16,bf16x2} \
         setp.{eq,lt}.{and,or,xor}.{s32,f32}",
    ),
    ("sin.approx", "sin.approx{,.ftz}.f32"),
    ("sqrt.rn", "sqrt.rn{,.ftz}.f32 sqrt.rn.f64"),
    (
        "st",
        "st{,.volatile}{,.global,.shared,.shared::cluster,.local}{,.v2,.v4}.{b8,b16,b32,u8,u32,f32} \
         st{,.volatile}{,.global,.shared,.shared::cluster,.local}{,.v2}.{b64,u64,f64} st{,.global,.shared}.b128 \
         st.global{.v8.b32,.v4.b64} st.param{,.v2,.v4}.{b8,b16,b32} st.param{,.v2}.b64 \
         st.{relaxed,release}.{cta,cluster,gpu,sys}{,.global,.shared,.shared::cluster}.{b8,b16,b32,b64} \
         st.mmio.relaxed.sys{,.global}.{b8,b16,b32,b64}",
    ),
    ("sub", "sub{,.ftz}{,.sat}.{f32,f16,f16x2} sub.{f64,bf16,bf16x2} sub.{u16,s16,u32,s32,u64,s64}"),
    ("sub.rn", "sub.rn{,.ftz}{,.sat}.{f32,f16,f16x2} sub.rn.{f64,bf16,bf16x2} sub.rn{,.ftz}.f32x2"),
    (
        "wmma.load.a.sync",
        "wmma.load.a.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}{,.global,.shared}.{f16,bf16,s8,u8} \
         wmma.load.a.sync.aligned.{row,col}.{m16n16k8.tf32,m8n8k4.f64} \
         wmma.load.a.sync.aligned.row.{m8n8k32.s4,m8n8k32.u4,m8n8k128.b1}",
    ),
    (
        "wmma.load.b.sync",
        "wmma.load.b.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}{,.global,.shared}.{f16,bf16,s8,u8} \
         wmma.load.b.sync.aligned.{row,col}.{m16n16k8.tf32,m8n8k4.f64} \
         wmma.load.b.sync.aligned.col.{m8n8k32.s4,m8n8k32.u4,m8n8k128.b1}",
    ),
    (
        "wmma.load.c.sync",
        "wmma.load.c.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}{,.global,.shared}.{f16,f32,s32} \
         wmma.load.c.sync.aligned.{row,col}.{m16n16k8.f32,m8n8k4.f64,m8n8k32.s32,m8n8k128.s32}",
    ),
    (
        "wmma.store.d.sync",
        "wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m32n8k16,m8n32k16}{,.global,.shared}.{f16,f32,s32} \
         wmma.store.d.sync.aligned.{row,col}.{m16n16k8.f32,m8n8k4.f64,m8n8k32.s32,m8n8k128.s32}",
    ),
    (
        "wmma.mma.sync",
        "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m32n8k16,m8n32k16}\
         .{f16.f16,f32.f16,f16.f32,f32.f32} \
         wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m32n8k16,m8n32k16}\
         {.f32.bf16.bf16.f32,.s32.s8.s8.s32,.s32.u8.u8.s32,.s32.s8.s8.s32.satfinite} \
         wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32 \
         wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64 \
         wmma.mma.sync.aligned.row.col.m8n8k32.s32.{s4.s4,u4.u4}.s32{,.satfinite}",
    ),
    ("wmma.mma.and.popc.sync", "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
    ("wmma.mma.xor.popc.sync", "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
];

/// The complete opcodes that a listed string stands for; mostly itself.
pub(super) fn complete(listed: &str) -> Vec<String> {
    match COMPLETIONS.iter().find(|(start, _)| *start == listed) {
        Some((_, patterns)) => patterns.split_whitespace().flat_map(expand).collect(),
        None => expand(listed),
    }
}

/// The texts that a pattern stands for.
pub(super) fn expand(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (choices, tail) = rest.split_once('}').unwrap_or((rest, ""));
    let tails = expand(tail);
    choices.split(',').flat_map(|choice| tails.iter().map(move |tail| format!("{head}{choice}{tail}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_expand() {
        assert_eq!(expand("a{,.b}.{c,d}"), ["a.c", "a.d", "a.b.c", "a.b.d"]);
        assert_eq!(complete("lg2.approx"), ["lg2.approx.f32", "lg2.approx.ftz.f32"]);
        assert_eq!(complete("add.s32"), ["add.s32"]);
    }

    #[test]
    fn completions_complete() {
        for (start, patterns) in COMPLETIONS {
            for pattern in patterns.split_whitespace() {
                assert_eq!(pattern.matches('{').count(), pattern.matches('}').count(), "{pattern}");
            }
            for opcode in complete(start) {
                let mnemonic = start.split('.').next().unwrap();
                assert!(opcode.split('.').next() == Some(mnemonic), "{opcode} does not complete {start}");
            }
        }
    }
}
