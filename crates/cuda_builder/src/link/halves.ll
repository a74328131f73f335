; Arithmetic of numbers of 16 bits: what the crate `half` computes with integers.

define float @__rumba_f16_to_f32(i16 %x) alwaysinline nounwind {
  %h = bitcast i16 %x to half
  %y = fpext half %h to float
  ret float %y
}

define i16 @__rumba_f32_to_f16(float %x) alwaysinline nounwind {
  %h = fptrunc float %x to half
  %y = bitcast half %h to i16
  ret i16 %y
}

define double @__rumba_f16_to_f64(i16 %x) alwaysinline nounwind {
  %h = bitcast i16 %x to half
  %y = fpext half %h to double
  ret double %y
}

define i16 @__rumba_f64_to_f16(double %x) alwaysinline nounwind {
  %h = fptrunc double %x to half
  %y = bitcast half %h to i16
  ret i16 %y
}

define float @__rumba_bf16_to_f32(i16 %x) alwaysinline nounwind {
  %h = bitcast i16 %x to bfloat
  %y = fpext bfloat %h to float
  ret float %y
}

define i16 @__rumba_f32_to_bf16(float %x) alwaysinline nounwind {
  %h = fptrunc float %x to bfloat
  %y = bitcast bfloat %h to i16
  ret i16 %y
}

define double @__rumba_bf16_to_f64(i16 %x) alwaysinline nounwind {
  %h = bitcast i16 %x to bfloat
  %y = fpext bfloat %h to double
  ret double %y
}

define i16 @__rumba_f64_to_bf16(double %x) alwaysinline nounwind {
  %h = fptrunc double %x to bfloat
  %y = bitcast bfloat %h to i16
  ret i16 %y
}

define i16 @__rumba_add_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = fadd half %a.f, %b.f
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_sub_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = fsub half %a.f, %b.f
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_mul_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = fmul half %a.f, %b.f
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_div_f16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to half
  %b.f = bitcast i16 %b to half
  %d.f = fdiv half %a.f, %b.f
  %d = bitcast half %d.f to i16
  ret i16 %d
}

define i16 @__rumba_add_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = fadd bfloat %a.f, %b.f
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i16 @__rumba_sub_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = fsub bfloat %a.f, %b.f
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i16 @__rumba_mul_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = fmul bfloat %a.f, %b.f
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}

define i16 @__rumba_div_bf16(i16 %a, i16 %b) alwaysinline nounwind {
  %a.f = bitcast i16 %a to bfloat
  %b.f = bitcast i16 %b to bfloat
  %d.f = fdiv bfloat %a.f, %b.f
  %d = bitcast bfloat %d.f to i16
  ret i16 %d
}
