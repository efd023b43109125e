import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { verifyModule } from "../../lto/verify/verifier.js";

describe("signatures of intrinsics", () => {
  it.each([
    "i8 @llvm.umax.i8(i8, i8)",
    "<4 x i32> @llvm.umax.v4i32(<4 x i32>, <4 x i32>)",
    "void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly, ptr noalias readonly, i64, i1 immarg)",
    "void @llvm.memcpy.inline.p0.p0.i32(ptr, ptr addrspace(1), i32, i1)",
    "void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "void @llvm.lifetime.start.p0(i64, ptr)",
    "void @llvm.lifetime.start.p0(ptr)",
    "{ i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)",
    "{ <2 x i32>, <2 x i1> } @llvm.sadd.with.overflow.v2i32(<2 x i32>, <2 x i32>)",
    "i64 @llvm.vector.reduce.add.v4i64(<4 x i64>)",
    "double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)",
    "i1 @llvm.is.fpclass.f32(float, i32)",
    "<2 x i1> @llvm.is.fpclass.v2f32(<2 x float>, i32)",
    "i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)",
    "i64 @llvm.read_register.i64(metadata)",
    "i1 @llvm.is.constant.f64(double)",
    "float @llvm.not.known(i8, ...)",
    "void @llvm.memcpy.element.unordered.atomic.p0.p0.i32(ptr, ptr, i32, i32)",
    "ptr @llvm.ptrmask.p0.i64(ptr, i64)",
    "i16 @llvm.convert.to.fp16.f64(double)",
  ])("%s", (declaration) => {
    const [, result, name, list] = /^(.*) (@[^(]*)\((.*)\)$/.exec(declaration)!;
    const types = list!
      .split(/, (?![^<{]*[>}])/)
      .map((type) => type.split(" noalias")[0]!.replace(" immarg", ""));
    const values = types
      .filter((type) => type !== "...")
      .map((type) => `${type} ${type === "metadata" ? "!0" : "zeroinitializer"}`);
    const call = `call ${result} (${types.join(", ")}) ${name}(${values.join(", ")})`;
    const text = `declare ${declaration}\ndefine void @f() {\n ${call}\n ret void\n}\n!0 = !{!"rsp"}`;
    expect(verifyModule(parseModule(text, "x"))).toEqual([]);
  });
});
