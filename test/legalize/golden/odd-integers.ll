target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define i24 @load(ptr %p) {
  %v = load i24, ptr %p, align 1
  ret i24 %v
}

define void @store(ptr %p, i24 %v) {
  store i24 %v, ptr %p, align 4
  ret void
}

define i7 @divide(i7 %a, i7 %b) {
  %r = udiv i7 %a, %b
  ret i7 %r
}

define signext i24 @promise(i24 signext %a) {
  %r = add i24 %a, 1
  ret i24 %r
}

define i1 @bits(i1 %a, i1 %b) {
  %c = add i1 %a, %b
  %d = icmp ult i1 %c, %b
  ret i1 %d
}

define { i24, i1 } @overflow(i24 %a, i24 %b) {
  %r = call { i24, i1 } @llvm.smul.with.overflow.i24(i24 %a, i24 %b)
  ret { i24, i1 } %r
}

declare { i24, i1 } @llvm.smul.with.overflow.i24(i24, i24)
