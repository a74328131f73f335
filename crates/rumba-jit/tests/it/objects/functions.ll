; What the linker has to do for objects of AArch64: constants by page and by 16 bytes, a table of a switch, variables, calls near
; and far, the address of a function outside.

@zero = internal global i32 0
@seven = internal global i32 7
@where = internal global ptr @seven
@bytes = internal constant [5 x i8] c"abcde"
@held = global ptr @memset

declare ptr @memset(ptr, i32, i64)
declare double @fmod(double, double)

define internal i32 @leaf(i32 %x) noinline {
  %o = load i32, ptr @zero
  %n = add i32 %o, 1
  store volatile i32 %n, ptr @zero
  %y = mul i32 %x, 3
  ret i32 %y
}

define i32 @choose(i32 %n) {
  switch i32 %n, label %other [ i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d i32 4, label %e ]
a:
  %ra = call i32 @leaf(i32 11)
  ret i32 %ra
b:
  %rb = call i32 @leaf(i32 5)
  %sb = xor i32 %rb, 77
  ret i32 %sb
c:
  %rc = load i32, ptr @seven
  ret i32 %rc
d:
  %rd = call i32 @leaf(i32 %n)
  %sd = sub i32 1000, %rd
  ret i32 %sd
e:
  %re = load volatile i32, ptr @zero
  ret i32 %re
other:
  ret i32 -1
}

define i32 @deref() {
  %p = load volatile ptr, ptr @where
  %n = load i32, ptr %p
  ret i32 %n
}

define i8 @byte(i64 %n) {
  %p = getelementptr i8, ptr @bytes, i64 %n
  %v = load i8, ptr %p
  ret i8 %v
}

define void @scale(ptr %p) {
  %x = load <8 x float>, ptr %p, align 4
  %y = fmul <8 x float> %x, <float 0.0, float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0>
  store <8 x float> %y, ptr %p, align 4
  ret void
}

define double @remainder(double %a, double %b) {
  %r = call double @fmod(double %a, double %b)
  ret double %r
}

define i1 @is_held() {
  %h = load volatile ptr, ptr @held
  %e = icmp eq ptr %h, @memset
  ret i1 %e
}
