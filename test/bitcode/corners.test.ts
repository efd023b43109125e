/** Rare constants and instructions; and every fixture passes the verifier. */
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { Flag, Op } from "../../lto/ir/instructions.js";
import { i8, i32, intType } from "../../lto/ir/types.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { fixtureBytes, func, insts, instsOf, readFixture, text, variable } from "./fixture.js";

const fixtures = readdirSync(new URL("../../fixtures/bitcode", import.meta.url)).filter((f) =>
  f.endsWith(".bc"),
);

test.each(fixtures)("%s is valid", (file) => {
  expect(readBitcode(fixtureBytes(file), file).flatMap((module) => verifyModule(module))).toEqual([]);
});

describe("corners", () => {
  const module = readFixture("corners-19.bc");
  const init = (name: string): string => text(variable(module, name).initializer);

  test("integers of all widths", () => {
    for (const bits of [1, 2, 7, 8, 9, 16, 24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 200, 1000]) {
      const half = 2n ** BigInt(bits - 1);
      const values = [0n, 1n, -1n, half - 1n, -half, bits > 3 ? 5n : 1n];
      values.forEach((value, k) => {
        const constant = variable(module, `i${bits}_${k}`).initializer!;
        expect(constant).toMatchObject({ valueKind: "int", value: BigInt.asIntN(bits, value) });
        expect(constant.type).toBe(intType(bits));
      });
    }
    expect(variable(module, "i64_4").initializer).toMatchObject({ num: Number.NaN });
    expect(variable(module, "i32_3").initializer).toMatchObject({ num: 2 ** 31 - 1 });
  });

  test("rare constants", () => {
    expect(init("eq")).toBe("dso_local_equivalent @f");
    expect(init("nc")).toBe("no_cfi @f");
    expect(init("bf")).toBe("<2 x bfloat> [bfloat 0x3f80, bfloat 0x4000]");
    expect(init("hh")).toBe("[2 x half] 003c0040");
    expect(init("ff")).toBe("[2 x float] 0000803f0000c07f");
    expect(init("v1")).toBe("<3 x i1> [i1 -1, i1 0, i1 -1]");
    expect(init("i24s")).toBe("[2 x i24] [i24 1, i24 -1]");
    expect(init("un")).toBe("[2 x ptr] [ptr undef, ptr poison]");
    expect(init("q")).toBe("[1 x fp128] [fp128 0x123456789abcdef0123456789abcdef]");
    expect(init("itp")).toBe(`ptr expr ${Op.IntToPtr}(i64 4096)`);
    expect(init("ba")).toBe("block 1 of @bb2");
    expect(variable(module, "ad").initializer).toMatchObject({ op: Op.Add, flags: Flag.Nuw | Flag.Nsw });
    expect(module.globals.filter((g) => g.name === "")).toHaveLength(2);
  });

  test("a block whose address only another function takes is marked in time", () => {
    // Only @bb4 is decoded here.
    expect(
      func(module, "bb4")
        .view()
        .blocks.map((b) => b.addressTaken),
    ).toEqual([false, true]);
    expect(func(module, "bb3").isDecoded).toBe(false);
    const address = insts(module, "bb3")[0]!.operands[0]!;
    if (address.valueKind !== "blockaddress") throw new Error(address.valueKind);
    expect(address.fn).toBe(func(module, "bb4"));
    expect(address.label).toBe(1);
  });

  test("predicates and orderings", () => {
    const names = "eq ne ugt uge ult ule sgt sge slt sle".split(" ");
    expect(instsOf(module, "cmp", Op.ICmp).map((i) => i.data)).toEqual(names.flatMap((n) => [n, n]));
    const floats = "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true".split(" ");
    expect(instsOf(module, "cmp", Op.FCmp).map((i) => i.data)).toEqual(floats.flatMap((n) => [n, n]));
    const exchanges = instsOf(module, "atom", Op.CmpXchg).slice(1);
    expect(
      exchanges.slice(-3).map((i) => `${i.data.ordering} ${i.data.failureOrdering} ${i.data.scope}`),
    ).toEqual([...["seq_cst monotonic agent", "seq_cst acquire agent", "seq_cst seq_cst agent"]]);
    expect(instsOf(module, "atom", Op.Fence).map((i) => i.data.scope)).toEqual(Array(4).fill("workgroup"));
    expect(new Set(instsOf(module, "atom", Op.AtomicRMW).map((i) => i.data.rmw)).size).toBe(17);
  });

  test("switches on wide integers and without cases", () => {
    const [wide, narrow, none] = instsOf(module, "sw", Op.Switch);
    expect(wide!.data.map((c) => c.value)).toEqual([2n ** 127n - 1n, -(2n ** 127n), 2n ** 64n]);
    expect(narrow!.data.map((c) => c.num)).toEqual([-64, 63]);
    expect(none!.blocks).toHaveLength(1);
  });

  test("allocations", () => {
    const all = instsOf(module, "alloca", Op.Alloca).map((i) => i.data);
    expect(all.map((d) => d.align)).toEqual([1, 4, 8, 2 ** 32, 64]);
    expect(all[0]!.allocatedType).toBe(i8);
    expect(all.map((d) => d.swifterror)).toEqual([false, false, true, false, false]);
    expect(all.map((d) => d.inalloca)).toEqual([false, false, false, true, false]);
  });

  test("tokens, bundles and conventions", () => {
    const [setup, , pre] = instsOf(module, "prealloc", Op.Call);
    expect(pre!.operands.at(-1)).toBe(setup);
    expect(pre!.data.attributes.parameter(0).type("preallocated")).toBe(i32);
    expect(instsOf(module, "bundles", Op.Call)[0]!.data.bundles).toEqual([
      { tag: "deopt", inputs: 3 },
      { tag: "kcfi", inputs: 1 },
    ]);
    expect(instsOf(module, "bundles", Op.Invoke)[0]!.data.bundles).toEqual([{ tag: "deopt", inputs: 0 }]);
    expect(instsOf(module, "ccs", Op.Call).map((i) => i.data.callingConvention)).toEqual([
      ...[9, 1000, 15, 78, 79, 10, 18],
    ]);
    expect(func(module, "ccs").callingConvention).toBe(92);
  });

  test("phis with several edges from one block", () => {
    const [p] = instsOf(module, "phis", Op.Phi);
    expect(p!.blocks).toHaveLength(2);
    expect(p!.blocks[0]).toBe(p!.blocks[1]);
    expect(p!.flags).toBe(Flag.NoNaNs);
  });
});
