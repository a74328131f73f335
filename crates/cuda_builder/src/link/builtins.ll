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

define float @__rumba_ex2_approx_ftz(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.ex2.approx.ftz.f(float %x)
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
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
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

; Copies from global to shared memory that go on by themselves.

define void @__rumba_cp_async_4(ptr %to, ptr %from) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %shared, ptr addrspace(1) %global)
  ret void
}

define void @__rumba_cp_async_8(ptr %to, ptr %from) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %shared, ptr addrspace(1) %global)
  ret void
}

define void @__rumba_cp_async_16(ptr %to, ptr %from) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %shared, ptr addrspace(1) %global)
  ret void
}

declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))

; The same of as many bytes of the source as are there; the rest becomes zeros.

define void @__rumba_cp_async_4_of(ptr %to, ptr %from, i32 %bytes) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3) %shared, ptr addrspace(1) %global, i32 %bytes)
  ret void
}

define void @__rumba_cp_async_8_of(ptr %to, ptr %from, i32 %bytes) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3) %shared, ptr addrspace(1) %global, i32 %bytes)
  ret void
}

define void @__rumba_cp_async_16_of(ptr %to, ptr %from, i32 %bytes) alwaysinline nounwind {
  %shared = addrspacecast ptr %to to ptr addrspace(3)
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %shared, ptr addrspace(1) %global, i32 %bytes)
  ret void
}

declare void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)

; Waits until all but the last so many groups of copies are there.

define void @__rumba_cp_async_wait_1() alwaysinline nounwind {
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  ret void
}

define void @__rumba_cp_async_wait_2() alwaysinline nounwind {
  call void @llvm.nvvm.cp.async.wait.group(i32 2)
  ret void
}

declare void @llvm.nvvm.cp.async.wait.group(i32)

; Matrix fragments. The intrinsics give structures, which Rust's foreign functions cannot: results go through memory,
; which inlining removes.

define void @__rumba_mma_f16(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr <2 x half>, ptr %a, i32 0
  %a0 = load <2 x half>, ptr %ap0, align 4
  %ap1 = getelementptr <2 x half>, ptr %a, i32 1
  %a1 = load <2 x half>, ptr %ap1, align 4
  %ap2 = getelementptr <2 x half>, ptr %a, i32 2
  %a2 = load <2 x half>, ptr %ap2, align 4
  %ap3 = getelementptr <2 x half>, ptr %a, i32 3
  %a3 = load <2 x half>, ptr %ap3, align 4
  %bp0 = getelementptr <2 x half>, ptr %b, i32 0
  %b0 = load <2 x half>, ptr %bp0, align 4
  %bp1 = getelementptr <2 x half>, ptr %b, i32 1
  %b1 = load <2 x half>, ptr %bp1, align 4
  %dp0 = getelementptr float, ptr %d, i32 0
  %d0 = load float, ptr %dp0, align 4
  %dp1 = getelementptr float, ptr %d, i32 1
  %d1 = load float, ptr %dp1, align 4
  %dp2 = getelementptr float, ptr %d, i32 2
  %d2 = load float, ptr %dp2, align 4
  %dp3 = getelementptr float, ptr %d, i32 3
  %d3 = load float, ptr %dp3, align 4
  %r = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a1, <2 x half> %a2, <2 x half> %a3, <2 x half> %b0, <2 x half> %b1, float %d0, float %d1, float %d2, float %d3)
  %r0 = extractvalue { float, float, float, float } %r, 0
  store float %r0, ptr %dp0, align 4
  %r1 = extractvalue { float, float, float, float } %r, 1
  store float %r1, ptr %dp1, align 4
  %r2 = extractvalue { float, float, float, float } %r, 2
  store float %r2, ptr %dp2, align 4
  %r3 = extractvalue { float, float, float, float } %r, 3
  store float %r3, ptr %dp3, align 4
  ret void
}

declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)

define void @__rumba_mma_bf16(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr i32, ptr %a, i32 0
  %a0 = load i32, ptr %ap0, align 4
  %ap1 = getelementptr i32, ptr %a, i32 1
  %a1 = load i32, ptr %ap1, align 4
  %ap2 = getelementptr i32, ptr %a, i32 2
  %a2 = load i32, ptr %ap2, align 4
  %ap3 = getelementptr i32, ptr %a, i32 3
  %a3 = load i32, ptr %ap3, align 4
  %bp0 = getelementptr i32, ptr %b, i32 0
  %b0 = load i32, ptr %bp0, align 4
  %bp1 = getelementptr i32, ptr %b, i32 1
  %b1 = load i32, ptr %bp1, align 4
  %dp0 = getelementptr float, ptr %d, i32 0
  %d0 = load float, ptr %dp0, align 4
  %dp1 = getelementptr float, ptr %d, i32 1
  %d1 = load float, ptr %dp1, align 4
  %dp2 = getelementptr float, ptr %d, i32 2
  %d2 = load float, ptr %dp2, align 4
  %dp3 = getelementptr float, ptr %d, i32 3
  %d3 = load float, ptr %dp3, align 4
  %r = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %d0, float %d1, float %d2, float %d3)
  %r0 = extractvalue { float, float, float, float } %r, 0
  store float %r0, ptr %dp0, align 4
  %r1 = extractvalue { float, float, float, float } %r, 1
  store float %r1, ptr %dp1, align 4
  %r2 = extractvalue { float, float, float, float } %r, 2
  store float %r2, ptr %dp2, align 4
  %r3 = extractvalue { float, float, float, float } %r, 3
  store float %r3, ptr %dp3, align 4
  ret void
}

declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)

define void @__rumba_mma_tf32(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr i32, ptr %a, i32 0
  %a0 = load i32, ptr %ap0, align 4
  %ap1 = getelementptr i32, ptr %a, i32 1
  %a1 = load i32, ptr %ap1, align 4
  %ap2 = getelementptr i32, ptr %a, i32 2
  %a2 = load i32, ptr %ap2, align 4
  %ap3 = getelementptr i32, ptr %a, i32 3
  %a3 = load i32, ptr %ap3, align 4
  %bp0 = getelementptr i32, ptr %b, i32 0
  %b0 = load i32, ptr %bp0, align 4
  %bp1 = getelementptr i32, ptr %b, i32 1
  %b1 = load i32, ptr %bp1, align 4
  %dp0 = getelementptr float, ptr %d, i32 0
  %d0 = load float, ptr %dp0, align 4
  %dp1 = getelementptr float, ptr %d, i32 1
  %d1 = load float, ptr %dp1, align 4
  %dp2 = getelementptr float, ptr %d, i32 2
  %d2 = load float, ptr %dp2, align 4
  %dp3 = getelementptr float, ptr %d, i32 3
  %d3 = load float, ptr %dp3, align 4
  %r = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %d0, float %d1, float %d2, float %d3)
  %r0 = extractvalue { float, float, float, float } %r, 0
  store float %r0, ptr %dp0, align 4
  %r1 = extractvalue { float, float, float, float } %r, 1
  store float %r1, ptr %dp1, align 4
  %r2 = extractvalue { float, float, float, float } %r, 2
  store float %r2, ptr %dp2, align 4
  %r3 = extractvalue { float, float, float, float } %r, 3
  store float %r3, ptr %dp3, align 4
  ret void
}

declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float)

define void @__rumba_mma_f64(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr double, ptr %a, i32 0
  %a0 = load double, ptr %ap0, align 8
  %bp0 = getelementptr double, ptr %b, i32 0
  %b0 = load double, ptr %bp0, align 8
  %dp0 = getelementptr double, ptr %d, i32 0
  %d0 = load double, ptr %dp0, align 8
  %dp1 = getelementptr double, ptr %d, i32 1
  %d1 = load double, ptr %dp1, align 8
  %r = call { double, double } @llvm.nvvm.mma.m8n8k4.row.col.f64(double %a0, double %b0, double %d0, double %d1)
  %r0 = extractvalue { double, double } %r, 0
  store double %r0, ptr %dp0, align 8
  %r1 = extractvalue { double, double } %r, 1
  store double %r1, ptr %dp1, align 8
  ret void
}

declare { double, double } @llvm.nvvm.mma.m8n8k4.row.col.f64(double, double, double, double)

define void @__rumba_mma_f64_large(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr double, ptr %a, i32 0
  %a0 = load double, ptr %ap0, align 8
  %ap1 = getelementptr double, ptr %a, i32 1
  %a1 = load double, ptr %ap1, align 8
  %bp0 = getelementptr double, ptr %b, i32 0
  %b0 = load double, ptr %bp0, align 8
  %dp0 = getelementptr double, ptr %d, i32 0
  %d0 = load double, ptr %dp0, align 8
  %dp1 = getelementptr double, ptr %d, i32 1
  %d1 = load double, ptr %dp1, align 8
  %dp2 = getelementptr double, ptr %d, i32 2
  %d2 = load double, ptr %dp2, align 8
  %dp3 = getelementptr double, ptr %d, i32 3
  %d3 = load double, ptr %dp3, align 8
  %r = call { double, double, double, double } @llvm.nvvm.mma.m16n8k4.row.col.f64(double %a0, double %a1, double %b0, double %d0, double %d1, double %d2, double %d3)
  %r0 = extractvalue { double, double, double, double } %r, 0
  store double %r0, ptr %dp0, align 8
  %r1 = extractvalue { double, double, double, double } %r, 1
  store double %r1, ptr %dp1, align 8
  %r2 = extractvalue { double, double, double, double } %r, 2
  store double %r2, ptr %dp2, align 8
  %r3 = extractvalue { double, double, double, double } %r, 3
  store double %r3, ptr %dp3, align 8
  ret void
}

declare { double, double, double, double } @llvm.nvvm.mma.m16n8k4.row.col.f64(double, double, double, double, double, double, double)

define void @__rumba_mma_i8(ptr %d, ptr %a, ptr %b) alwaysinline convergent nounwind {
  %ap0 = getelementptr i32, ptr %a, i32 0
  %a0 = load i32, ptr %ap0, align 4
  %ap1 = getelementptr i32, ptr %a, i32 1
  %a1 = load i32, ptr %ap1, align 4
  %ap2 = getelementptr i32, ptr %a, i32 2
  %a2 = load i32, ptr %ap2, align 4
  %ap3 = getelementptr i32, ptr %a, i32 3
  %a3 = load i32, ptr %ap3, align 4
  %bp0 = getelementptr i32, ptr %b, i32 0
  %b0 = load i32, ptr %bp0, align 4
  %bp1 = getelementptr i32, ptr %b, i32 1
  %b1 = load i32, ptr %bp1, align 4
  %dp0 = getelementptr i32, ptr %d, i32 0
  %d0 = load i32, ptr %dp0, align 4
  %dp1 = getelementptr i32, ptr %d, i32 1
  %d1 = load i32, ptr %dp1, align 4
  %dp2 = getelementptr i32, ptr %d, i32 2
  %d2 = load i32, ptr %dp2, align 4
  %dp3 = getelementptr i32, ptr %d, i32 3
  %d3 = load i32, ptr %dp3, align 4
  %r = call { i32, i32, i32, i32 } @llvm.nvvm.mma.m16n8k32.row.col.s8(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, i32 %d0, i32 %d1, i32 %d2, i32 %d3)
  %r0 = extractvalue { i32, i32, i32, i32 } %r, 0
  store i32 %r0, ptr %dp0, align 4
  %r1 = extractvalue { i32, i32, i32, i32 } %r, 1
  store i32 %r1, ptr %dp1, align 4
  %r2 = extractvalue { i32, i32, i32, i32 } %r, 2
  store i32 %r2, ptr %dp2, align 4
  %r3 = extractvalue { i32, i32, i32, i32 } %r, 3
  store i32 %r3, ptr %dp3, align 4
  ret void
}

declare { i32, i32, i32, i32 } @llvm.nvvm.mma.m16n8k32.row.col.s8(i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)

define void @__rumba_ldmatrix_x4(ptr %d, ptr %row) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %row to ptr addrspace(3)
  %r = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %shared)
  %r0 = extractvalue { i32, i32, i32, i32 } %r, 0
  %dp0 = getelementptr i32, ptr %d, i32 0
  store i32 %r0, ptr %dp0, align 4
  %r1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %dp1 = getelementptr i32, ptr %d, i32 1
  store i32 %r1, ptr %dp1, align 4
  %r2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %dp2 = getelementptr i32, ptr %d, i32 2
  store i32 %r2, ptr %dp2, align 4
  %r3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %dp3 = getelementptr i32, ptr %d, i32 3
  store i32 %r3, ptr %dp3, align 4
  ret void
}

declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))

define void @__rumba_ldmatrix_x2(ptr %d, ptr %row) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %row to ptr addrspace(3)
  %r = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %shared)
  %r0 = extractvalue { i32, i32 } %r, 0
  %dp0 = getelementptr i32, ptr %d, i32 0
  store i32 %r0, ptr %dp0, align 4
  %r1 = extractvalue { i32, i32 } %r, 1
  %dp1 = getelementptr i32, ptr %d, i32 1
  store i32 %r1, ptr %dp1, align 4
  ret void
}

declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))

define void @__rumba_ldmatrix_x2_trans(ptr %d, ptr %row) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %row to ptr addrspace(3)
  %r = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %shared)
  %r0 = extractvalue { i32, i32 } %r, 0
  %dp0 = getelementptr i32, ptr %d, i32 0
  store i32 %r0, ptr %dp0, align 4
  %r1 = extractvalue { i32, i32 } %r, 1
  %dp1 = getelementptr i32, ptr %d, i32 1
  store i32 %r1, ptr %dp1, align 4
  ret void
}

declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))

define void @__rumba_ldmatrix_x4_trans(ptr %d, ptr %row) alwaysinline convergent nounwind {
  %shared = addrspacecast ptr %row to ptr addrspace(3)
  %r = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3) %shared)
  %r0 = extractvalue { i32, i32, i32, i32 } %r, 0
  %dp0 = getelementptr i32, ptr %d, i32 0
  store i32 %r0, ptr %dp0, align 4
  %r1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %dp1 = getelementptr i32, ptr %d, i32 1
  store i32 %r1, ptr %dp1, align 4
  %r2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %dp2 = getelementptr i32, ptr %d, i32 2
  store i32 %r2, ptr %dp2, align 4
  %r3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %dp3 = getelementptr i32, ptr %d, i32 3
  store i32 %r3, ptr %dp3, align 4
  ret void
}

declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3))

; Loads and stores with a hint to the caches, through a place for the value that inlining removes.

define void @__rumba_ld_cs_4(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.cs.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %global)
  store i32 %r, ptr %value, align 4
  ret void
}

define void @__rumba_st_cs_4(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i32, ptr %value, i32 0
  %v0 = load i32, ptr %p0, align 4
  call void asm sideeffect "st.global.cs.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %global, i32 %v0)
  ret void
}

define void @__rumba_ld_cs_8(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.cs.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %global)
  store i64 %r, ptr %value, align 8
  ret void
}

define void @__rumba_st_cs_8(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i64, ptr %value, i32 0
  %v0 = load i64, ptr %p0, align 8
  call void asm sideeffect "st.global.cs.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %global, i64 %v0)
  ret void
}

define void @__rumba_ld_cs_16(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.cs.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %global)
  %r0 = extractvalue { i32, i32, i32, i32 } %r, 0
  %p0 = getelementptr i32, ptr %value, i32 0
  store i32 %r0, ptr %p0, align 4
  %r1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %p1 = getelementptr i32, ptr %value, i32 1
  store i32 %r1, ptr %p1, align 4
  %r2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %p2 = getelementptr i32, ptr %value, i32 2
  store i32 %r2, ptr %p2, align 4
  %r3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %p3 = getelementptr i32, ptr %value, i32 3
  store i32 %r3, ptr %p3, align 4
  ret void
}

define void @__rumba_st_cs_16(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i32, ptr %value, i32 0
  %v0 = load i32, ptr %p0, align 4
  %p1 = getelementptr i32, ptr %value, i32 1
  %v1 = load i32, ptr %p1, align 4
  %p2 = getelementptr i32, ptr %value, i32 2
  %v2 = load i32, ptr %p2, align 4
  %p3 = getelementptr i32, ptr %value, i32 3
  %v3 = load i32, ptr %p3, align 4
  call void asm sideeffect "st.global.cs.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr addrspace(1) %global, i32 %v0, i32 %v1, i32 %v2, i32 %v3)
  ret void
}

define void @__rumba_ld_cg_4(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call i32 asm sideeffect "ld.global.cg.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %global)
  store i32 %r, ptr %value, align 4
  ret void
}

define void @__rumba_st_cg_4(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i32, ptr %value, i32 0
  %v0 = load i32, ptr %p0, align 4
  call void asm sideeffect "st.global.cg.b32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %global, i32 %v0)
  ret void
}

define void @__rumba_ld_cg_8(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call i64 asm sideeffect "ld.global.cg.b64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %global)
  store i64 %r, ptr %value, align 8
  ret void
}

define void @__rumba_st_cg_8(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i64, ptr %value, i32 0
  %v0 = load i64, ptr %p0, align 8
  call void asm sideeffect "st.global.cg.b64 [$0], $1;", "l,l,~{memory}"(ptr addrspace(1) %global, i64 %v0)
  ret void
}

define void @__rumba_ld_cg_16(ptr %from, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %from to ptr addrspace(1)
  %r = call { i32, i32, i32, i32 } asm sideeffect "ld.global.cg.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}"(ptr addrspace(1) %global)
  %r0 = extractvalue { i32, i32, i32, i32 } %r, 0
  %p0 = getelementptr i32, ptr %value, i32 0
  store i32 %r0, ptr %p0, align 4
  %r1 = extractvalue { i32, i32, i32, i32 } %r, 1
  %p1 = getelementptr i32, ptr %value, i32 1
  store i32 %r1, ptr %p1, align 4
  %r2 = extractvalue { i32, i32, i32, i32 } %r, 2
  %p2 = getelementptr i32, ptr %value, i32 2
  store i32 %r2, ptr %p2, align 4
  %r3 = extractvalue { i32, i32, i32, i32 } %r, 3
  %p3 = getelementptr i32, ptr %value, i32 3
  store i32 %r3, ptr %p3, align 4
  ret void
}

define void @__rumba_st_cg_16(ptr %to, ptr %value) alwaysinline nounwind {
  %global = addrspacecast ptr %to to ptr addrspace(1)
  %p0 = getelementptr i32, ptr %value, i32 0
  %v0 = load i32, ptr %p0, align 4
  %p1 = getelementptr i32, ptr %value, i32 1
  %v1 = load i32, ptr %p1, align 4
  %p2 = getelementptr i32, ptr %value, i32 2
  %v2 = load i32, ptr %p2, align 4
  %p3 = getelementptr i32, ptr %value, i32 3
  %v3 = load i32, ptr %p3, align 4
  call void asm sideeffect "st.global.cg.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr addrspace(1) %global, i32 %v0, i32 %v1, i32 %v2, i32 %v3)
  ret void
}

; The address of shared memory in its own window.

define i32 @__rumba_shared_address(ptr %address) alwaysinline nounwind {
  %shared = addrspacecast ptr %address to ptr addrspace(3)
  %number = ptrtoint ptr addrspace(3) %shared to i32
  ret i32 %number
}

; A number that the optimiser does not see through, nor computes elsewhere.

define i32 @__rumba_opaque(i32 %value) alwaysinline nounwind {
  %same = call i32 asm sideeffect "mov.b32 $0, $1;", "=r,r"(i32 %value)
  ret i32 %same
}
