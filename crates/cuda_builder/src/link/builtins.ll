; Instructions that Rust has no name for. `cuda_std` declares these functions; where a kernel uses
; one, it is linked in and inlined. As LLVM's own instructions they find out by themselves which
; memory they are on, which inline assembly cannot.

; The hardware's approximations, for `cuda_std::float::approx`.

define float @__rumba_sin_approx(float %x) alwaysinline nounwind {
  %y = call afn float @llvm.sin.f32(float %x)
  ret float %y
}

define float @__rumba_cos_approx(float %x) alwaysinline nounwind {
  %y = call afn float @llvm.cos.f32(float %x)
  ret float %y
}

define float @__rumba_ex2_approx(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.ex2.approx.f(float %x)
  ret float %y
}

define float @__rumba_lg2_approx(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.lg2.approx.f(float %x)
  ret float %y
}

define float @__rumba_sqrt_approx(float %x) alwaysinline nounwind {
  %y = call afn float @llvm.sqrt.f32(float %x)
  ret float %y
}

define float @__rumba_rsqrt_approx(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.rsqrt.approx.f(float %x)
  ret float %y
}

define float @__rumba_tanh_approx(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.tanh.approx.f32(float %x)
  ret float %y
}

define float @__rumba_rcp_approx(float %x) alwaysinline nounwind {
  %y = fdiv afn float 1.0, %x
  ret float %y
}

define float @__rumba_div_approx(float %x, float %y) alwaysinline nounwind {
  %q = fdiv afn float %x, %y
  ret float %q
}

declare float @llvm.sin.f32(float)
declare float @llvm.cos.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare float @llvm.nvvm.tanh.approx.f32(float)

; Numbers of 16 bits, alone and in pairs, for `cuda_std::half`. Where the target has no instruction LLVM takes `f32`.

define i16 @__rumba_fma_f16(i16 %a, i16 %b, i16 %c) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %c.f = bitcast i16 %c to half
  %d.f = call half @llvm.fma.f16(half %a.f, half %b.f, half %c.f)
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_min_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = call half @llvm.minnum.f16(half %a.f, half %b.f)
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_max_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = call half @llvm.maxnum.f16(half %a.f, half %b.f)
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i32 @__rumba_add_f16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %d.f = fadd <2 x half> %a.f, %b.f
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_sub_f16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %d.f = fsub <2 x half> %a.f, %b.f
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_mul_f16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %d.f = fmul <2 x half> %a.f, %b.f
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_neg_f16x2(i32 %a) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %d.f = fneg <2 x half> %a.f
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_abs_f16x2(i32 %a) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %d.f = call <2 x half> @llvm.fabs.v2f16(<2 x half> %a.f)
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_fma_f16x2(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %c.f = bitcast i32 %c to <2 x half>
  %d.f = call <2 x half> @llvm.fma.v2f16(<2 x half> %a.f, <2 x half> %b.f, <2 x half> %c.f)
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_min_f16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %d.f = call <2 x half> @llvm.minnum.v2f16(<2 x half> %a.f, <2 x half> %b.f)
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_max_f16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x half>
  %b.f = bitcast i32 %b to <2 x half>
  %d.f = call <2 x half> @llvm.maxnum.v2f16(<2 x half> %a.f, <2 x half> %b.f)
  %d = bitcast <2 x half> %d.f to i32
  ret i32 %d
}

define i16 @__rumba_fma_bf16(i16 %a, i16 %b, i16 %c) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %c.f = bitcast i16 %c to bfloat
  %d.f = call bfloat @llvm.fma.bf16(bfloat %a.f, bfloat %b.f, bfloat %c.f)
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i16 @__rumba_min_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = call bfloat @llvm.minnum.bf16(bfloat %a.f, bfloat %b.f)
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i16 @__rumba_max_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = call bfloat @llvm.maxnum.bf16(bfloat %a.f, bfloat %b.f)
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i32 @__rumba_add_bf16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %d.f = fadd <2 x bfloat> %a.f, %b.f
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_sub_bf16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %d.f = fsub <2 x bfloat> %a.f, %b.f
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_mul_bf16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %d.f = fmul <2 x bfloat> %a.f, %b.f
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_neg_bf16x2(i32 %a) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %d.f = fneg <2 x bfloat> %a.f
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_abs_bf16x2(i32 %a) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %d.f = call <2 x bfloat> @llvm.fabs.v2bf16(<2 x bfloat> %a.f)
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_fma_bf16x2(i32 %a, i32 %b, i32 %c) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %c.f = bitcast i32 %c to <2 x bfloat>
  %d.f = call <2 x bfloat> @llvm.fma.v2bf16(<2 x bfloat> %a.f, <2 x bfloat> %b.f, <2 x bfloat> %c.f)
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_min_bf16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %d.f = call <2 x bfloat> @llvm.minnum.v2bf16(<2 x bfloat> %a.f, <2 x bfloat> %b.f)
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

define i32 @__rumba_max_bf16x2(i32 %a, i32 %b) alwaysinline nounwind {
  %a.f = bitcast i32 %a to <2 x bfloat>
  %b.f = bitcast i32 %b to <2 x bfloat>
  %d.f = call <2 x bfloat> @llvm.maxnum.v2bf16(<2 x bfloat> %a.f, <2 x bfloat> %b.f)
  %d = bitcast <2 x bfloat> %d.f to i32
  ret i32 %d
}

declare half @llvm.fma.f16(half, half, half)
declare half @llvm.minnum.f16(half, half)
declare half @llvm.maxnum.f16(half, half)
declare <2 x half> @llvm.fabs.v2f16(<2 x half>)
declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)
declare <2 x half> @llvm.minnum.v2f16(<2 x half>, <2 x half>)
declare <2 x half> @llvm.maxnum.v2f16(<2 x half>, <2 x half>)
declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)
declare bfloat @llvm.minnum.bf16(bfloat, bfloat)
declare bfloat @llvm.maxnum.bf16(bfloat, bfloat)
declare <2 x bfloat> @llvm.fabs.v2bf16(<2 x bfloat>)
declare <2 x bfloat> @llvm.fma.v2bf16(<2 x bfloat>, <2 x bfloat>, <2 x bfloat>)
declare <2 x bfloat> @llvm.minnum.v2bf16(<2 x bfloat>, <2 x bfloat>)
declare <2 x bfloat> @llvm.maxnum.v2bf16(<2 x bfloat>, <2 x bfloat>)

; `match.all` gives the mask, or 0, and a predicate that says the same again.

define i32 @__rumba_match_all_32(i32 %mask, i32 %value) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 %mask, i32 %value)
  %lanes = extractvalue { i32, i1 } %pair, 0
  ret i32 %lanes
}

define i32 @__rumba_match_all_64(i32 %mask, i64 %value) alwaysinline convergent nounwind {
  %pair = call { i32, i1 } @llvm.nvvm.match.all.sync.i64p(i32 %mask, i64 %value)
  %lanes = extractvalue { i32, i1 } %pair, 0
  ret i32 %lanes
}

declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i64p(i32, i64)
