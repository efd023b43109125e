target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define i32 @dropped(i32 %a, ptr %p) {
  call void @llvm.lifetime.start.p0(i64 4, ptr %p)
  %e = call i32 @llvm.expect.i32(i32 %a, i32 0)
  %c = icmp eq i32 %e, 0
  call void @llvm.assume(i1 %c)
  %s = call i64 @llvm.objectsize.i64.p0(ptr %p, i1 false, i1 true, i1 false)
  %t = trunc i64 %s to i32
  %r = add i32 %e, %t
  call void @llvm.lifetime.end.p0(i64 4, ptr %p)
  ret i32 %r
}

define i32 @population(i32 %a) {
  %r = call i32 @llvm.ctpop.i32(i32 %a)
  ret i32 %r
}

define i16 @leading(i16 %a) {
  %r = call i16 @llvm.ctlz.i16(i16 %a, i1 false)
  ret i16 %r
}

define i32 @saturate(i32 %a, i32 %b) {
  %r = call i32 @llvm.usub.sat.i32(i32 %a, i32 %b)
  ret i32 %r
}

define double @number(double %a, double %b) {
  %r = call double @llvm.minnum.f64(double %a, double %b)
  ret double %r
}

define i32 @bounded(float %a) {
  %r = call i32 @llvm.fptosi.sat.i32.f32(float %a)
  ret i32 %r
}

define half @half(half %a, half %b) {
  %r = fadd half %a, %b
  ret half %r
}

define void @copy(ptr %a, ptr %b, i32 %n) {
  call void @llvm.memcpy.p0.p0.i32(ptr %a, ptr %b, i32 %n, i1 false)
  ret void
}

define double @add_atomically(ptr %p, double %v) {
  %r = atomicrmw fadd ptr %p, double %v seq_cst, align 8
  ret double %r
}

define i32 @argument(ptr %list) {
  %r = va_arg ptr %list, i32
  ret i32 %r
}

declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.lifetime.end.p0(i64, ptr)
declare i32 @llvm.expect.i32(i32, i32)
declare void @llvm.assume(i1)
declare i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i16 @llvm.ctlz.i16(i16, i1)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare double @llvm.minnum.f64(double, double)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare void @llvm.memcpy.p0.p0.i32(ptr, ptr, i32, i1)

declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i32(ptr, ptr, i32, i32)
declare void @llvm.memmove.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)
declare void @llvm.memset.element.unordered.atomic.p0.i64(ptr, i8, i64, i32)

define void @elements(ptr %p, ptr %q, i8 %b, i64 %n, i32 %m) {
  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i32(ptr align 4 %p, ptr align 4 %q, i32 %m, i32 4)
  call void @llvm.memmove.element.unordered.atomic.p0.p0.i64(ptr align 16 %p, ptr align 16 %q, i64 %n, i32 16)
  call void @llvm.memset.element.unordered.atomic.p0.i64(ptr align 1 %p, i8 %b, i64 %n, i32 1)
  ret void
}
