target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define <4 x i32> @splat(i32 %a) {
  %i = insertelement <4 x i32> poison, i32 %a, i32 0
  %r = shufflevector <4 x i32> %i, <4 x i32> poison, <4 x i32> zeroinitializer
  ret <4 x i32> %r
}

define <4 x i32> @multiply(<4 x i32> %a, <4 x i32> %b) {
  %r = mul <4 x i32> %a, %b
  ret <4 x i32> %r
}

define <4 x i32> @multiply_words(<4 x i16> %a, <4 x i16> %b) {
  %x = sext <4 x i16> %a to <4 x i32>
  %y = sext <4 x i16> %b to <4 x i32>
  %r = mul <4 x i32> %x, %y
  ret <4 x i32> %r
}

define <8 x float> @select(<8 x float> %a, <8 x float> %b) {
  %c = fcmp olt <8 x float> %a, %b
  %r = select <8 x i1> %c, <8 x float> %a, <8 x float> %b
  ret <8 x float> %r
}

define <2 x float> @narrow(ptr %p) {
  %a = load <2 x float>, ptr %p, align 8
  %r = fadd <2 x float> %a, <float 1.0, float 2.0>
  store <2 x float> %r, ptr %p, align 8
  ret <2 x float> %r
}

define <4 x i32> @widen(<4 x i8> %a) {
  %r = zext <4 x i8> %a to <4 x i32>
  ret <4 x i32> %r
}

define i32 @any(<4 x i32> %a, <4 x i32> %b) {
  %c = icmp eq <4 x i32> %a, %b
  %m = bitcast <4 x i1> %c to i4
  %r = zext i4 %m to i32
  ret i32 %r
}

define i32 @variable_lane(<4 x i32> %a, i64 %i) {
  %r = extractelement <4 x i32> %a, i64 %i
  ret i32 %r
}

define i32 @sum(<8 x i32> %a) {
  %r = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %a)
  ret i32 %r
}

define <16 x i8> @reverse(<16 x i8> %a) {
  %r = shufflevector <16 x i8> %a, <16 x i8> poison, <16 x i32> <i32 15, i32 14, i32 13, i32 12, i32 11, i32 10, i32 9, i32 8, i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  ret <16 x i8> %r
}

declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
