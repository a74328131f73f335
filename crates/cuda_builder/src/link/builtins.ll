; Instructions that Rust has no name for. `cuda_std` declares these functions; where a kernel uses
; one, it is linked in and inlined. As LLVM's own instructions they find out by themselves which
; memory they are on, which inline assembly cannot.

define float @__rumba_atomic_add_f32(ptr %address, float %value) alwaysinline nounwind {
  %old = atomicrmw fadd ptr %address, float %value syncscope("device") monotonic, align 4
  ret float %old
}

define double @__rumba_atomic_add_f64(ptr %address, double %value) alwaysinline nounwind {
  %old = atomicrmw fadd ptr %address, double %value syncscope("device") monotonic, align 8
  ret double %old
}

define i32 @__rumba_atomic_inc_u32(ptr %address, i32 %limit) alwaysinline nounwind {
  %old = atomicrmw uinc_wrap ptr %address, i32 %limit syncscope("device") monotonic, align 4
  ret i32 %old
}

define i32 @__rumba_atomic_dec_u32(ptr %address, i32 %limit) alwaysinline nounwind {
  %old = atomicrmw udec_wrap ptr %address, i32 %limit syncscope("device") monotonic, align 4
  ret i32 %old
}

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
