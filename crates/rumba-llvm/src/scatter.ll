; Each of the 16 lanes stores two words, at base + offsets[lane / 8] + 8 * (lane % 8) and 4 bytes behind that.
define void @scatter(i64 %base, ptr %offsets, <16 x i32> %values) {
  %narrow = load <2 x i32>, ptr %offsets
  %wide = zext <2 x i32> %narrow to <2 x i64>
  %groups = shufflevector <2 x i64> %wide, <2 x i64> poison, <16 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %one = insertelement <16 x i64> poison, i64 %base, i64 0
  %all = shufflevector <16 x i64> %one, <16 x i64> poison, <16 x i32> zeroinitializer
  %steps = add <16 x i64> %all, <i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56, i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56>
  %first = add <16 x i64> %steps, %groups
  %pointers = inttoptr <16 x i64> %first to <16 x ptr>
  call void @llvm.masked.scatter.v16i32.v16p0(<16 x i32> %values, <16 x ptr> align 4 %pointers, <16 x i1> splat (i1 true))
  %second = add <16 x i64> %first, splat (i64 4)
  %others = inttoptr <16 x i64> %second to <16 x ptr>
  call void @llvm.masked.scatter.v16i32.v16p0(<16 x i32> %values, <16 x ptr> align 4 %others, <16 x i1> splat (i1 true))
  ret void
}
