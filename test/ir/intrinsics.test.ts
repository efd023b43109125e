import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { intrinsicNamed, intrinsics } from "../../lto/ir/intrinsics.js";
import { Memory } from "../../lto/ir/memory-effects.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";

const declared = parseModule(
  readFileSync(new URL("../../fixtures/intrinsics/llvm-22.ll", import.meta.url), "utf8"),
  "llvm-22.ll",
).functions;

const positions = (mask: number): number[] => [0, 1, 2, 3, 4].filter((i) => (mask & (1 << i)) !== 0);

describe("the table promises no more than LLVM 22 does", () => {
  it("and LLVM knows most of it", () => expect(declared.length).toBeGreaterThan(160));

  it.each(declared.map((fn) => [fn.name, fn] as const))("%s", (_, fn) => {
    const intrinsic = fn.intrinsic!;
    expect(intrinsic.origin).toBe("known");
    const { fn: own, result } = fn.attributes;
    const memory = own.int("memory") ?? Memory.Any;
    expect({ memory: memory & ~intrinsic.memory }).toEqual({ memory: 0 });
    const promised = {
      nounwind: intrinsic.noUnwind,
      willreturn: intrinsic.willReturn,
      nosync: intrinsic.noSync,
      nofree: intrinsic.noFree,
      nocallback: intrinsic.noCallback,
      speculatable: intrinsic.speculatable,
    };
    for (const [name, promise] of Object.entries(promised))
      if (promise) expect(own.has(name), name).toBe(true);
    expect(intrinsic.convergent).toBe(own.has("convergent"));
    expect(intrinsic.noDuplicate).toBe(own.has("noduplicate"));
    expect(intrinsic.noReturn || !own.has("noreturn")).toBe(true);
    expect(result.has("immarg")).toBe(false);
    fn.args.forEach((_arg, i) => {
      const set = fn.attributes.parameter(i);
      expect(((intrinsic.immediates >> i) & 1) === 1, `immarg of ${i}`).toBe(set.has("immarg"));
    });
    for (const i of positions(intrinsic.readOnly))
      expect(fn.attributes.parameter(i).has("readonly")).toBe(true);
    for (const i of positions(intrinsic.writeOnly))
      expect(fn.attributes.parameter(i).has("writeonly")).toBe(true);
    const pointers = positions(intrinsic.noCapture).filter((i) => fn.args[i]?.type.isPointer);
    for (const i of pointers) expect(fn.attributes.parameter(i).int("captures"), `captures of ${i}`).toBe(0);
  });
});

describe("names", () => {
  it.each([
    ["llvm.memcpy.p0.p0.i64", intrinsics.memcpy],
    ["llvm.memcpy.inline.p0.p0.i64", intrinsics["memcpy.inline"]],
    ["llvm.memcpy.p0i8.p0i8.i64", intrinsics.memcpy],
    ["llvm.umul.with.overflow.v4i32", intrinsics["umul.with.overflow"]],
    ["llvm.ssa.copy.sl_p0s_struct.foos", intrinsics["ssa.copy"]],
    ["llvm.sadd.sat.i7", intrinsics["sadd.sat"]],
    ["llvm.trap", intrinsics.trap],
    ["llvm.abs.bf16", intrinsics.abs],
  ])("%s", (name, intrinsic) => expect(intrinsicNamed(name)).toBe(intrinsic));

  it("of other functions are none", () => {
    expect(intrinsicNamed("memcpy")).toBeNull();
    expect(intrinsicNamed("llvm_memcpy")).toBeNull();
  });

  it("that the table lacks promise nothing", () => {
    const strange = intrinsicNamed("llvm.memcpy.strange")!;
    expect(strange).toBe(intrinsicNamed("llvm.memcpy.strange"));
    expect(strange).not.toBe(intrinsics.memcpy);
    expect(strange).toMatchObject({
      name: "memcpy.strange",
      origin: "unknown",
      memory: Memory.Any,
      noUnwind: false,
      willReturn: false,
      pure: false,
      removable: false,
      convergent: true,
      signatures: [],
    });
  });

  it("are looked at once", () => {
    const fn = new Func("llvm.trap", functionType(voidType, []));
    expect(fn.intrinsic).toBe(intrinsics.trap);
    fn.name = "other";
    expect(fn.intrinsic).toBe(intrinsics.trap);
  });
});

it("what may go when it is not used", () => {
  expect(intrinsics.stacksave.removable).toBe(true);
  expect(intrinsics["masked.load"].removable).toBe(true);
  expect(intrinsics["launder.invariant.group"].removable).toBe(true);
  expect(intrinsics["launder.invariant.group"].pure).toBe(false);
  expect(intrinsics.ctlz.pure).toBe(true);
  expect(intrinsics.assume.removable).toBe(false);
  expect(intrinsics.memset.removable).toBe(false);
  expect(intrinsics.trap.removable).toBe(false);
});
