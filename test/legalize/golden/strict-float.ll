target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

; What raises flags that somebody looks at stays; what only depends on the rounding mode keeps its place; the rest is plain.
define double @strictness(double %a, double %b) strictfp {
  %flags = call double @llvm.experimental.constrained.fadd.f64(double %a, double %b, metadata !"round.tonearest", metadata !"fpexcept.strict")
  %traps = call double @llvm.experimental.constrained.fsub.f64(double %flags, double %b, metadata !"round.tonearest", metadata !"fpexcept.maytrap")
  %mode = call double @llvm.experimental.constrained.fmul.f64(double %traps, double %b, metadata !"round.dynamic", metadata !"fpexcept.ignore")
  %plain = call double @llvm.experimental.constrained.fdiv.f64(double %mode, double %b, metadata !"round.tonearest", metadata !"fpexcept.ignore")
  %root = call double @llvm.experimental.constrained.sqrt.f64(double %plain, metadata !"round.upward", metadata !"fpexcept.strict")
  ret double %root
}

define i1 @comparisons(double %a, double %b) strictfp {
  %quiet = call i1 @llvm.experimental.constrained.fcmp.f64(double %a, double %b, metadata !"olt", metadata !"fpexcept.strict")
  %signals = call i1 @llvm.experimental.constrained.fcmps.f64(double %a, double %b, metadata !"olt", metadata !"fpexcept.strict")
  %plain = call i1 @llvm.experimental.constrained.fcmp.f64(double %a, double %b, metadata !"une", metadata !"fpexcept.ignore")
  %either = or i1 %quiet, %signals
  %all = or i1 %either, %plain
  ret i1 %all
}

define i32 @narrow(half %a, i8 %i) strictfp {
  %n = call i8 @llvm.experimental.constrained.fptoui.i8.f16(half %a, metadata !"fpexcept.strict")
  %f = call half @llvm.experimental.constrained.uitofp.f16.i8(i8 %i, metadata !"round.dynamic", metadata !"fpexcept.strict")
  %x = call half @llvm.experimental.constrained.fmul.f16(half %f, half %a, metadata !"round.dynamic", metadata !"fpexcept.strict")
  %m = call i32 @llvm.experimental.constrained.fptosi.i32.f16(half %x, metadata !"fpexcept.strict")
  %w = zext i8 %n to i32
  %r = add i32 %m, %w
  ret i32 %r
}

; Three lanes are three operations.
define <3 x float> @lanes(<3 x float> %a, <3 x float> %b) strictfp {
  %r = call <3 x float> @llvm.experimental.constrained.fdiv.v3f32(<3 x float> %a, <3 x float> %b, metadata !"round.dynamic", metadata !"fpexcept.strict")
  ret <3 x float> %r
}

; The routines of libgcc that order signal for quiet NaNs, those of equality do not.
define i1 @quiet_order(fp128 %a, fp128 %b) strictfp {
  %r = call i1 @llvm.experimental.constrained.fcmp.f128(fp128 %a, fp128 %b, metadata !"uge", metadata !"fpexcept.strict")
  ret i1 %r
}
define i1 @signaling_order(fp128 %a, fp128 %b) strictfp {
  %r = call i1 @llvm.experimental.constrained.fcmps.f128(fp128 %a, fp128 %b, metadata !"uge", metadata !"fpexcept.strict")
  ret i1 %r
}
define i1 @signaling_equality(fp128 %a, fp128 %b) strictfp {
  %r = call i1 @llvm.experimental.constrained.fcmps.f128(fp128 %a, fp128 %b, metadata !"oeq", metadata !"fpexcept.strict")
  ret i1 %r
}

define double @minima(double %a, double %b) strictfp {
  %m = call double @llvm.experimental.constrained.minnum.f64(double %a, double %b, metadata !"fpexcept.strict")
  %n = call double @llvm.experimental.constrained.minimum.f64(double %m, double %b, metadata !"fpexcept.strict")
  %o = call double @llvm.experimental.constrained.maximum.f64(double %n, double %b, metadata !"fpexcept.ignore")
  ret double %o
}

; No comparison, which would raise a flag for signaling NaNs.
define i1 @is_nan(double %a) strictfp {
  %r = call i1 @llvm.is.fpclass.f64(double %a, i32 3)
  ret i1 %r
}

define void @environment() strictfp {
  %e = call i256 @llvm.get.fpenv.i256()
  call void @llvm.reset.fpenv()
  call void @llvm.set.fpenv.i256(i256 %e)
  %m = call i64 @llvm.get.fpmode.i64()
  call void @llvm.reset.fpmode()
  call void @llvm.set.fpmode.i64(i64 %m)
  ret void
}

declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.fsub.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.fmul.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.fdiv.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.sqrt.f64(double, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f64(double, double, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmps.f64(double, double, metadata, metadata)
declare i8 @llvm.experimental.constrained.fptoui.i8.f16(half, metadata)
declare half @llvm.experimental.constrained.uitofp.f16.i8(i8, metadata, metadata)
declare half @llvm.experimental.constrained.fmul.f16(half, half, metadata, metadata)
declare i32 @llvm.experimental.constrained.fptosi.i32.f16(half, metadata)
declare <3 x float> @llvm.experimental.constrained.fdiv.v3f32(<3 x float>, <3 x float>, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f128(fp128, fp128, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmps.f128(fp128, fp128, metadata, metadata)
declare double @llvm.experimental.constrained.minnum.f64(double, double, metadata)
declare double @llvm.experimental.constrained.minimum.f64(double, double, metadata)
declare double @llvm.experimental.constrained.maximum.f64(double, double, metadata)
declare i1 @llvm.is.fpclass.f64(double, i32)
declare i256 @llvm.get.fpenv.i256()
declare void @llvm.set.fpenv.i256(i256)
declare void @llvm.reset.fpenv()
declare i64 @llvm.get.fpmode.i64()
declare void @llvm.set.fpmode.i64(i64)
declare void @llvm.reset.fpmode()
