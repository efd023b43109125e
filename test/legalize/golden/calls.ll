target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

declare i128 @wide(i64, i128, i8)
declare { i64, i64, i64, i64 } @many()
declare <2 x float> @narrow(<2 x float>, <8 x float>, <3 x i16>)
declare i32 @__gxx_personality_v0(...)
declare { i32, i64 } @throws(i32)

define i128 @pass_pairs(i128 %a) {
  %r = call i128 @wide(i64 1, i128 %a, i8 zeroext 2)
  ret i128 %r
}

define i64 @receive_demoted() {
  %r = call { i64, i64, i64, i64 } @many()
  %x = extractvalue { i64, i64, i64, i64 } %r, 3
  ret i64 %x
}

define { i64, i64, i64, i64 } @return_demoted(i64 %a) {
  %r = insertvalue { i64, i64, i64, i64 } zeroinitializer, i64 %a, 2
  ret { i64, i64, i64, i64 } %r
}

define <2 x float> @pass_vectors(<2 x float> %a, <8 x float> %b, <3 x i16> %c) {
  %r = call <2 x float> @narrow(<2 x float> %a, <8 x float> %b, <3 x i16> %c)
  ret <2 x float> %r
}

define i64 @take_apart_after_invoke(i1 %c) personality ptr @__gxx_personality_v0 {
entry:
  br i1 %c, label %try, label %join
try:
  %r = invoke { i32, i64 } @throws(i32 1) to label %join unwind label %pad
join:
  %v = phi { i32, i64 } [ %r, %try ], [ { i32 1, i64 2 }, %entry ]
  %x = extractvalue { i32, i64 } %v, 1
  ret i64 %x
pad:
  %p = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %p
}

define void @invoke_nothing() personality ptr @__gxx_personality_v0 {
entry:
  invoke void @llvm.donothing() to label %done unwind label %pad
done:
  ret void
pad:
  %p = landingpad { ptr, i32 } cleanup
  unreachable
}

declare void @llvm.donothing()
