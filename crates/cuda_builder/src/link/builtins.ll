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
