; Approximate functions for fast mathematics: what nvcc's `-use_fast_math` takes for the functions of the
; same names (CUDA C++ Programming Guide, "Intrinsic Functions"). Subnormals are flushed, as there.

define float @__rumba_fast_sinf(float %x) alwaysinline nounwind {
  %y = call afn float @llvm.sin.f32(float %x)
  ret float %y
}

define float @__rumba_fast_cosf(float %x) alwaysinline nounwind {
  %y = call afn float @llvm.cos.f32(float %x)
  ret float %y
}

define float @__rumba_fast_tanf(float %x) alwaysinline nounwind {
  %s = call afn float @llvm.sin.f32(float %x)
  %c = call afn float @llvm.cos.f32(float %x)
  %y = fdiv afn float %s, %c
  ret float %y
}

define float @__rumba_fast_expf(float %x) alwaysinline nounwind {
  ; Times the logarithm of e to base 2.
  %s = fmul float %x, 0x3FF7154760000000
  %y = call float @llvm.nvvm.ex2.approx.ftz.f(float %s)
  ret float %y
}

define float @__rumba_fast_exp10f(float %x) alwaysinline nounwind {
  ; Times the logarithm of 10 to base 2.
  %s = fmul float %x, 0x400A934F00000000
  %y = call float @llvm.nvvm.ex2.approx.ftz.f(float %s)
  ret float %y
}

define float @__rumba_fast_logf(float %x) alwaysinline nounwind {
  %l = call float @llvm.nvvm.lg2.approx.ftz.f(float %x)
  ; Times the natural logarithm of 2.
  %y = fmul float %l, 0x3FE62E4300000000
  ret float %y
}

define float @__rumba_fast_log2f(float %x) alwaysinline nounwind {
  %y = call float @llvm.nvvm.lg2.approx.ftz.f(float %x)
  ret float %y
}

define float @__rumba_fast_log10f(float %x) alwaysinline nounwind {
  %l = call float @llvm.nvvm.lg2.approx.ftz.f(float %x)
  ; Times the logarithm of 2 to base 10.
  %y = fmul float %l, 0x3FD3441360000000
  ret float %y
}

define float @__rumba_fast_powf(float %x, float %e) alwaysinline nounwind {
  %l = call float @llvm.nvvm.lg2.approx.ftz.f(float %x)
  %s = fmul float %e, %l
  %y = call float @llvm.nvvm.ex2.approx.ftz.f(float %s)
  ret float %y
}

declare float @llvm.sin.f32(float)
declare float @llvm.cos.f32(float)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.nvvm.lg2.approx.ftz.f(float)
