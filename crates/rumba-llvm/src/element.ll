; The element that the highest bit of a mask names, or any number if the mask has no bit.
define i32 @element(<32 x i32> %values, i32 %mask) {
  %zeros = call i32 @llvm.ctlz.i32(i32 %mask, i1 true)
  %last = xor i32 %zeros, 31
  %value = extractelement <32 x i32> %values, i32 %last
  %any = freeze i32 %value
  ret i32 %any
}
declare i32 @llvm.ctlz.i32(i32, i1)
