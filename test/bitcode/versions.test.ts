/** What differs between versions of LLVM comes out alike. */
import { describe, expect, test } from "vitest";
import { Dw, forEachRecord } from "../../lto/ir/debug-records.js";
import { Flag, Op } from "../../lto/ir/instructions.js";
import { i8, i32, ptr, structType } from "../../lto/ir/types.js";
import { func, insts, instsOf, readFixture, text, variable } from "./fixture.js";

describe("what LLVM 15 wrote", () => {
  const module = readFixture("older-15.bc");

  test("constant expressions of all kinds", () => {
    const init = (name: string): string => text(variable(module, name).initializer);
    expect(init("compared")).toBe(`i1 expr ${Op.ICmp} ult(@a, @b)`);
    expect(init("chosen")).toBe(`ptr expr ${Op.Select}(i1 expr ${Op.ICmp} ult(@a, @b), @a, @b)`);
    expect(init("shifted")).toBe(`i64 expr ${Op.Shl}(i64 expr ${Op.PtrToInt}(@a), i64 4)`);
    expect(init("extended")).toBe(`i64 expr ${Op.ZExt}(i32 expr ${Op.PtrToInt}(@a))`);
    expect(init("masked")).toBe(`i64 expr ${Op.And}(i64 expr ${Op.PtrToInt}(@a), i64 -16)`);
    expect(init("in_range")).toBe(`ptr expr ${Op.GetElementPtr}(@table, i32 0, i32 0, i32 2)`);
  });

  test("memory attributes and nocapture", () => {
    const memory = (name: string): number | undefined => func(module, name).attributes.fn.int("memory");
    expect(memory("pure")).toBe(0);
    expect(memory("reads")).toBe(0b01);
    expect(memory("writes")).toBe(0b1010);
    expect(memory("general")).toBeUndefined();
    const parameter = func(module, "pure").attributes.parameter(0);
    expect(parameter.int("captures")).toBe(0);
    expect(parameter.has("nocapture")).toBe(false);
    expect(parameter.has("readonly")).toBe(true);
    expect(func(module, "table_of_unwinding").attributes.fn.int("uwtable")).toBe(2);
  });
});

describe("what LLVM 22 wrote", () => {
  const module = readFixture("newer-22.bc");

  test("flags", () => {
    const flags = (op: Op): number[] =>
      insts(module, "flags_of")
        .filter((i) => i.op === op)
        .map((i) => i.flags);
    expect(flags(Op.Or)).toEqual([Flag.Disjoint]);
    expect(flags(Op.ZExt)).toEqual([Flag.NonNeg]);
    expect(flags(Op.UIToFP)).toEqual([Flag.NonNeg]);
    expect(flags(Op.Trunc)).toEqual([Flag.Nuw | Flag.Nsw]);
    expect(flags(Op.ICmp)).toEqual([Flag.SameSign]);
    expect(flags(Op.GetElementPtr)).toEqual([Flag.Nusw, Flag.Nuw, Flag.InBounds | Flag.Nuw]);
    expect(flags(Op.FPTrunc)).toEqual([0x7f * Flag.NoNaNs]);
    expect(flags(Op.FPExt)).toEqual([Flag.NoNaNs]);
    expect(instsOf(module, "flags_of", Op.AtomicRMW).map((i) => i.data.rmw)).toEqual([
      "usub_sat",
      "fmaximum",
    ]);
  });

  test("attributes", () => {
    expect(func(module, "pure").attributes.fn.int("memory")).toBe(0);
    expect(func(module, "reads").attributes.fn.int("memory")).toBe(0b01);
    // errno counts as other memory.
    expect(func(module, "errno_only").attributes.fn.int("memory")).toBe(0b100000);
    expect(func(module, "pure").attributes.parameter(0).int("captures")).toBe(0);
    // Ranges are kept up to 64 bits; of those that are skipped, nothing after them is lost.
    const { attributes } = func(module, "starts");
    expect(attributes.parameter(0).isEmpty).toBe(true);
    expect(attributes.parameter(1).range).toEqual({ type: i32, from: 0n, to: 10n });
    expect(attributes.parameter(2).isEmpty).toBe(true);
    expect(func(module, "starts").args).toHaveLength(3);
  });

  test("lifetime markers without a size", () => {
    const call = instsOf(module, "flags_of", Op.Call)[0]!;
    expect(call.operands[0]).toBe(func(module, "llvm.lifetime.start.p0"));
    expect(call.data.argumentCount).toBe(1);
  });

  test("constant getelementptr with a range and with nuw", () => {
    const expr = variable(module, "in_range").initializer!;
    expect(expr).toMatchObject({ valueKind: "expr", op: Op.GetElementPtr, flags: Flag.InBounds });
    expect(variable(module, "flags").initializer).toMatchObject({ flags: Flag.Nuw, elementType: i8 });
  });
});

describe("typed pointers of LLVM 14", () => {
  const module = readFixture("typed-pointers-14.bc");
  const node = structType([i32, ptr, ptr]);

  test("all pointers are opaque", () => {
    expect(variable(module, "head").valueType).toBe(node);
    expect(variable(module, "bytes").initializer).toBe(variable(module, "head"));
    expect(text(variable(module, "second").initializer)).toBe(
      `ptr expr ${Op.GetElementPtr}(@head, i64 0, i32 1)`,
    );
    expect(func(module, "use").args.map((a) => a.type)).toEqual([ptr, ptr]);
    expect(func(module, "use").attributes.parameter(1).type("byval")).toBe(i8);
  });

  test("instructions name the types they need", () => {
    expect(instsOf(module, "use", Op.GetElementPtr)[0]!.data.elementType).toBe(node);
    expect(instsOf(module, "use", Op.Load).map((i) => i.type)).toEqual([ptr, ptr]);
    expect(instsOf(module, "use", Op.AtomicRMW)[0]!.type).toBe(i32);
    const [indirect, asm] = instsOf(module, "use", Op.Call);
    expect(indirect!.data.functionType.result).toBe(i32);
    expect(asm!.operands[0]).toMatchObject({ valueKind: "asm", constraints: "*m" });
    expect(asm!.data.attributes.parameter(0).type("elementtype")).toBe(i32);
  });
});

describe.each(["debug-15.bc", "debug-19.bc", "debug-22.bc"])("debug information in %s", (file) => {
  const module = readFixture(file);

  test("is skipped, but not the module flags", () => {
    const flags = Object.fromEntries(module.flags.map((f) => [f.key, f.value]));
    expect(flags).toMatchObject({ wchar_size: 4, "PIC Level": 2, "PIE Level": 2, "Dwarf Version": 5 });
    expect(module.flags.find((f) => f.key === "PIC Level")!.behavior).toBe(8);
    const all = insts(module, "add");
    expect(all.some((i) => i.op === Op.Call)).toBe(false);
    expect(all.filter((i) => i.op === Op.Mul)).toHaveLength(1);
  });
});

describe.each(["assignments-19.bc", "assignments-22.bc"])("tracked assignments in %s", (file) => {
  const module = readFixture(file);
  module.loadDebug();
  const body = func(module, "tracked").view();

  /** What is said of a variable, in order. */
  function said(name: string): string[] {
    const found: string[] = [];
    forEachRecord(body, ({ variable, isDeclaration, isKnown, values, expression }) => {
      if (module.origins!.variableOf(variable).name !== name) return;
      const [value] = values;
      const isMemory = value?.valueKind === "inst" && value.op === Op.Alloca;
      const where = isMemory ? `memory ${expression.join()}`.trim() : "value";
      found.push(isDeclaration ? `declared, ${where}` : isKnown ? where : "unknown");
    });
    return found;
  }

  test("declare what lies in memory all the time", () => {
    expect(said("home")).toEqual(["declared, memory"]);
    expect(said("table")).toEqual(["declared, memory"]);
  });

  test("say that nothing is known from where a store is gone until the next one", () => {
    const memory = `memory ${Dw.Deref}`;
    expect(said("lost")).toEqual([memory, memory, "unknown", memory]);
  });

  test("are values where there is no memory", () => {
    expect(said("a")).toEqual(["value"]);
  });
});
