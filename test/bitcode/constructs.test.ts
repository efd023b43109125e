/** Every construct of `constructs.ll`, as three versions of LLVM wrote it. */
import { describe, expect, test } from "vitest";
import { Flag, Op } from "../../lto/ir/instructions.js";
import { doubleType, fp80Type, i32, i64, intType, ptr, structType } from "../../lto/ir/types.js";
import { alias, func, insts, instsOf, readFixture, text, variable } from "./fixture.js";

describe.each(["constructs-15.bc", "constructs-19.bc", "constructs-22.bc"])("%s", (file) => {
  const module = readFixture(file);
  const init = (name: string): string => text(variable(module, name).initializer);

  test("module properties", () => {
    expect(module.file).toBe(file);
    expect(module.sourceName).toBe("constructs.c");
    expect(module.triple).toMatch(/^x86_64-.*linux-gnu$/);
    expect(module.dataLayout.allocSize(fp80Type)).toBe(16);
    expect(module.moduleAsm).toBe(".globl in_asm\nin_asm: ret\n");
    expect(module.flags).toEqual([
      { behavior: 1, key: "wchar_size", value: 4 },
      { behavior: 8, key: "PIC Level", value: 2 },
      { behavior: 1, key: "note", value: "some text" },
    ]);
    expect(module.dependentLibraries).toEqual(["m"]);
  });

  test("initialisers", () => {
    expect(init("plain")).toBe("i32 7");
    expect(init("zero")).toBe("[16 x i8] zero");
    expect(init("text")).toBe("[6 x i8] 68656c6c6f00");
    expect(init("words")).toBe("[3 x i16] 0100feff2c01");
    expect(init("quads")).toBe("[2 x i64] 0000000000000080efcdab8967452301");
    expect(init("floats")).toBe("[2 x double] 000000000000f83f0000000000000080");
    expect(init("external")).toBe("none");
    expect(variable(module, "external").valueType).toBe(structType([]));
    expect(init("pointer")).toBe("@plain");
    expect(init("cycle_a")).toBe("{ i32, ptr } [i32 1, @cycle_b]");
    expect(init("cycle_b")).toBe("{ i32, ptr } [i32 2, @cycle_a]");
    expect(init("difference")).toBe(
      `i64 expr ${Op.Sub}(i64 expr ${Op.PtrToInt}(@plain), i64 expr ${Op.PtrToInt}(@zero))`,
    );
    expect(init("packed_value")).toBe("<{ i8, i64 }> [i8 1, i64 2]");
    expect(init("addresses")).toBe("[2 x ptr] [block 1 of @computed_goto, block 2 of @computed_goto]");
    expect(init("wide")).toBe("i200 -5");
    expect(init("long_double")).toBe("x86_fp80 0x4000c000000000000000");
    expect(init("quad_double")).toBe("fp128 0x40000000000000000000000000000000");
    expect(init("half")).toBe("half 0x3c00");
    expect(init("undefined")).toBe("{ i32, [2 x i8] } [i32 undef, [2 x i8] poison]");
    expect(init("vector")).toBe("<4 x i32> 01000000020000000300000004000000");
    expect(init("pointers")).toBe("<2 x ptr> [@plain, ptr zero]");
  });

  test("constant getelementptr", () => {
    const expr = variable(module, "inside").initializer!;
    if (expr.valueKind !== "expr") throw new Error(expr.valueKind);
    expect(expr.op).toBe(Op.GetElementPtr);
    const { elementType, operands } = expr;
    // LLVM 22 writes the byte offset; the others the path.
    if (elementType === structType([i32, ptr]))
      expect(operands.map(text)).toEqual(["@cycle_a", "i64 0", "i32 1"]);
    else expect(operands.map(text)).toEqual(["@cycle_a", "i64 8"]);
    expect(expr.flags & Flag.InBounds).toBe(Flag.InBounds);
    expect(expr.flags & Flag.Nusw).toBe(0);
  });

  test("properties of globals", () => {
    const get = (name: string) => variable(module, name);
    expect(get("plain")).toMatchObject({ align: 4, linkage: "external", dsoLocal: false, isConstant: false });
    expect(get("zero")).toMatchObject({ align: 16, linkage: "internal", dsoLocal: true });
    expect(get("text")).toMatchObject({ linkage: "private", unnamedAddr: "global", isConstant: true });
    expect(get("pointer")).toMatchObject({ section: ".mydata", align: 8 });
    expect(get("thread").threadLocal).toBe("initialexec");
    expect(get("thread_general").threadLocal).toBe("generaldynamic");
    expect(get("grouped")).toMatchObject({
      linkage: "linkonce_odr",
      visibility: "hidden",
      unnamedAddr: "local",
      dsoLocal: true,
      comdat: { name: "group", selection: "any" },
    });
    expect(get("large").comdat).toMatchObject({ name: "biggest", selection: "largest" });
    expect(get("weak_reference")).toMatchObject({ linkage: "extern_weak", isDeclaration: true });
    expect(get("tentative")).toMatchObject({ linkage: "common", isDeclaration: false });
    expect(get("shown")).toMatchObject({ visibility: "protected", dsoLocal: true });
    expect(get("other_space").type.addressSpace).toBe(1);
    expect(get('odd name "é').initializer).not.toBeNull();
    expect(get("escaped").initializer).not.toBeNull();
    expect(get("llvm.used")).toMatchObject({ linkage: "appending", section: "llvm.metadata" });
  });

  test("aliases and ifuncs", () => {
    expect(alias(module, "alias").aliasee).toBe(variable(module, "plain"));
    expect(alias(module, "alias_inside")).toMatchObject({ linkage: "weak", visibility: "hidden" });
    const resolved = module.globals.find((g) => g.kind === "ifunc")!;
    expect(resolved.name).toBe("resolved");
    expect(resolved.resolver).toBe(func(module, "resolver"));
  });

  test("properties of functions", () => {
    const fn = func(module, "arithmetic");
    expect(fn).toMatchObject({ callingConvention: 8, linkage: "internal", unnamedAddr: "global" });
    expect(fn.attributes.fn.has("noinline")).toBe(true);
    expect(fn.attributes.fn.has("optsize")).toBe(true);
    expect(fn.attributes.fn.int("uwtable")).toBe(2);
    expect(fn.attributes.fn.string("frame-pointer")).toBe("all");
    expect(fn.attributes.fn.string("no-jump-tables")).toBe("");
    expect(fn.attributes.parameter(1).has("noundef")).toBe(true);
    expect(fn.attributes.parameter(1).has("signext")).toBe(true);
    expect(func(module, "void_function")).toMatchObject({ section: ".text.mine", align: 32 });
    const callee = func(module, "callee");
    expect(callee.isDeclaration).toBe(true);
    expect(callee.valueType.isVarArg).toBe(true);
    expect(callee.attributes.parameter(1).int("align")).toBe(8);
    expect(callee.attributes.parameter(1).int("dereferenceable")).toBe(16);
    expect(func(module, "byval").attributes.parameter(0).type("byval")).toBe(structType([i32, ptr]));
    expect(func(module, "allocate").attributes.fn.has("allocsize")).toBe(true);
    const collected = func(module, "collected");
    expect(collected.gc).toBe("statepoint-example");
    expect(text(collected.prefix)).toBe("i32 123");
    expect(text(collected.prologue)).toBe("i8 -112");
    expect(func(module, "exceptions").personality).toBe(func(module, "personality"));
  });

  test("integer arithmetic", () => {
    const all = insts(module, "arithmetic");
    expect(all.map((i) => i.op)).toEqual([
      ...[Op.Add, Op.Sub, Op.Mul, Op.UDiv, Op.SDiv, Op.URem, Op.SRem, Op.Shl, Op.LShr, Op.AShr],
      ...[Op.And, Op.Or, Op.Xor, Op.Freeze, Op.Ret],
    ]);
    expect(all.map((i) => i.flags)).toEqual([
      ...[Flag.Nuw | Flag.Nsw, Flag.Nsw, Flag.Nuw, Flag.Exact, 0, 0, 0, Flag.Nuw, Flag.Exact, 0],
      ...[0, 0, 0, 0, 0],
    ]);
    const [add, sub] = all;
    expect(add!.operands).toEqual([...func(module, "arithmetic").args]);
    expect(sub!.operands[0]).toBe(add);
    expect(all.every((i) => i.parent === func(module, "arithmetic").view().blocks[0])).toBe(true);
  });

  test("floating point and fast-math flags", () => {
    const all = insts(module, "floating");
    const flagsOf = (op: Op): number => all.find((i) => i.op === op)!.flags;
    const fast = 0x7f * Flag.NoNaNs;
    expect(flagsOf(Op.FAdd)).toBe(fast);
    expect(flagsOf(Op.FSub)).toBe(Flag.NoNaNs | Flag.NoInfs);
    expect(flagsOf(Op.FMul)).toBe(Flag.NoSignedZeros | Flag.AllowReciprocal);
    expect(flagsOf(Op.FDiv)).toBe(Flag.AllowContract);
    expect(flagsOf(Op.FRem)).toBe(Flag.ApproxFunc | Flag.AllowReassoc);
    expect(flagsOf(Op.FCmp)).toBe(Flag.NoNaNs);
    expect(flagsOf(Op.Select)).toBe(Flag.NoSignedZeros);
    expect(instsOf(module, "floating", Op.FCmp)[0]!.data).toBe("olt");
    expect(instsOf(module, "floating", Op.FNeg)).toHaveLength(2);
    expect(text(instsOf(module, "floating", Op.FMul)[0]!.operands[1] as never)).toBe(
      "double 0x4000000000000000",
    );
  });

  test("conversions and comparisons", () => {
    const all = insts(module, "conversions");
    expect(all.slice(0, 11).map((i) => i.op)).toEqual([
      ...[Op.Trunc, Op.ZExt, Op.SExt, Op.FPToUI, Op.FPToSI, Op.UIToFP, Op.SIToFP, Op.BitCast],
      ...[Op.PtrToInt, Op.IntToPtr, Op.AddrSpaceCast],
    ]);
    expect(all[10]!.type.addressSpace).toBe(1);
    expect(instsOf(module, "conversions", Op.ICmp).map((i) => i.data)).toEqual(["eq", "ult", "sge"]);
  });

  test("memory", () => {
    const [one, many] = instsOf(module, "memory", Op.Alloca);
    expect(one!.data).toEqual({ allocatedType: i32, align: 4, inalloca: false, swifterror: false });
    expect(many!.data.align).toBe(16);
    expect(many!.operands[0]).toBe(func(module, "memory").args[1]);
    const [plain, volatile, atomic] = instsOf(module, "memory", Op.Load);
    expect(plain!.data).toEqual({ align: 4, ordering: "not_atomic", scope: "" });
    expect(volatile!.flags).toBe(Flag.Volatile);
    expect(volatile!.data.align).toBe(2);
    expect(atomic!.data).toEqual({ align: 4, ordering: "seq_cst", scope: "" });
    const stores = instsOf(module, "memory", Op.Store);
    expect(stores[0]!.operands).toEqual([plain, one]);
    expect(stores[2]!.data).toEqual({ align: 4, ordering: "release", scope: "singlethread" });
    const [field, far] = instsOf(module, "memory", Op.GetElementPtr);
    expect(field!.flags).toBe(Flag.InBounds);
    expect(field!.data.elementType).toBe(structType([i32, ptr]));
    expect(far!.flags).toBe(0);
    expect(far!.operands).toHaveLength(3);
    const fences = instsOf(module, "memory", Op.Fence).map((i) => `${i.data.ordering} ${i.data.scope}`);
    expect(fences).toEqual(["acquire ", "seq_cst singlethread"]);
    const [exchange] = instsOf(module, "memory", Op.CmpXchg);
    expect(exchange!.data).toEqual({
      ...{ align: 4, ordering: "acq_rel", failureOrdering: "monotonic", scope: "", weak: true },
    });
    expect(exchange!.flags).toBe(Flag.Volatile);
    expect(exchange!.type).toBe(structType([i32, intType(1)]));
    const rmws = instsOf(module, "memory", Op.AtomicRMW);
    expect(rmws.map((i) => i.data.rmw)).toEqual(["add", "umax"]);
    expect(rmws[1]!.data.scope).toBe("singlethread");
  });

  test("aggregates and vectors", () => {
    const extract = instsOf(module, "aggregates", Op.ExtractValue)[0]!;
    expect(extract.data).toEqual([1, 0]);
    expect(extract.type).toBe(i64);
    expect(instsOf(module, "aggregates", Op.InsertValue).map((i) => i.data)).toEqual([[1, 1], [0]]);
    const shuffles = instsOf(module, "vectors", Op.ShuffleVector);
    expect(shuffles.map((i) => i.data)).toEqual([
      [1, -1, 0, 1],
      [0, 0, 0, 0],
    ]);
    expect(shuffles[0]!.type.count).toBe(4);
    expect(instsOf(module, "vectors", Op.ICmp)[0]!.type.count).toBe(4);
    expect(instsOf(module, "vectors", Op.InsertElement)[0]!.operands).toHaveLength(3);
  });

  test("control flow", () => {
    const { blocks } = func(module, "loop").view();
    const [entry, body, exit] = blocks;
    expect(entry!.terminator.blocks).toEqual([body, exit]);
    expect(body!.terminator.blocks).toEqual([body, exit]);
    const [i, sum, result] = instsOf(module, "loop", Op.Phi);
    expect(i!.blocks).toEqual([entry, body]);
    expect(text(i!.operands[0] as never)).toBe("i32 0");
    expect(i!.operands[1]).toBe(body!.insts[3]);
    expect(sum!.operands[1]).toBe(body!.insts[2]);
    expect(text(result!.operands[0] as never)).toBe("i32 -1");

    const choice = instsOf(module, "choose", Op.Switch)[0]!;
    expect(choice.data.map((c) => c.num)).toEqual([0, -1, 100]);
    expect(choice.blocks).toHaveLength(4);
    expect(choice.blocks[2]).toBe(choice.blocks[3]);

    const jump = func(module, "computed_goto").view();
    expect(jump.blocks[0]!.terminator.op).toBe(Op.IndirectBr);
    expect(jump.blocks.map((b) => b.addressTaken)).toEqual([false, true, true]);
  });

  test("values that are used before they are defined", () => {
    const { blocks } = func(module, "later_values").view();
    const made = blocks[2]!.insts[0]!;
    expect(made.op).toBe(Op.Add);
    const [used, both] = blocks[1]!.insts;
    expect(used!.operands[0]).toBe(made);
    expect(both!.operands).toEqual([used, made]);
  });

  test("calls", () => {
    const calls = instsOf(module, "calls", Op.Call);
    const [first, varargs, fastcc, notail, fast, byval, asm, intel, assume] = calls;
    expect(first!.operands[0]).toBe(func(module, "callee"));
    expect(first!.data).toMatchObject({ tail: "tail", argumentCount: 2, callingConvention: 0, bundles: [] });
    expect(first!.data.attributes.parameter(1).has("noundef")).toBe(true);
    expect(first!.data.attributes.fn.has("nounwind")).toBe(true);
    expect(varargs!.data.argumentCount).toBe(4);
    expect(varargs!.operands[3]!.type).toBe(doubleType);
    expect(fastcc!.data.callingConvention).toBe(8);
    expect(fastcc!.operands[0]).toBe(func(module, "calls").args[2]);
    expect(notail!.data.tail).toBe("notail");
    expect(fast!.flags).toBe(0x7f * Flag.NoNaNs);
    expect(byval!.data.attributes.parameter(0).type("byval")).toBe(structType([i32, ptr]));
    expect(asm!.operands[0]).toMatchObject({
      valueKind: "asm",
      template: "nop # $0",
      constraints: "r,~{memory}",
      sideEffects: true,
      intelDialect: false,
    });
    expect(intel!.operands[0]).toMatchObject({ constraints: "=r,r", sideEffects: false, intelDialect: true });
    expect(assume!.data).toMatchObject({
      argumentCount: 1,
      bundles: [
        { tag: "align", inputs: 2 },
        { tag: "nonnull", inputs: 1 },
      ],
    });
    expect(assume!.operands).toHaveLength(5);
    expect(calls.at(-1)!.data.tail).toBe("musttail");
  });

  test("metadata operands", () => {
    const [register, sum] = instsOf(module, "metadata_operands", Op.Call);
    expect(register!.operands[1]).toMatchObject({ valueKind: "metadata", text: "esp" });
    expect(sum!.operands.slice(3)).toMatchObject([{ text: "round.dynamic" }, { text: "fpexcept.strict" }]);
  });

  test("exceptions", () => {
    const invoke = instsOf(module, "exceptions", Op.Invoke)[0]!;
    const { blocks } = func(module, "exceptions").view();
    expect(invoke.data.functionType.result).toBe(i32);
    expect(func(module, "exceptions").view().blocks[0]!.terminator.blocks).toEqual([blocks[1], blocks[2]]);
    const pad = instsOf(module, "exceptions", Op.LandingPad)[0]!;
    expect(pad.data).toEqual({ cleanup: true, clauses: ["catch", "filter"] });
    expect(pad.operands[0]).toBe(variable(module, "plain"));
    expect(instsOf(module, "exceptions", Op.Resume)[0]!.operands).toEqual([pad]);
  });

  test("callbr and va_arg", () => {
    const jump = instsOf(module, "asm_goto", Op.CallBr)[0]!;
    expect(jump.blocks).toHaveLength(3);
    expect(jump.operands[0]).toMatchObject({ constraints: "r,!i,!i" });
    expect(instsOf(module, "variadic", Op.VAArg)[0]!.type).toBe(i32);
  });

  test("a body is decoded again after its release", () => {
    const fn = func(module, "loop");
    const first = fn.view();
    expect(fn.view()).toBe(first);
    fn.release();
    expect(fn.isDecoded).toBe(false);
    const second = fn.view();
    expect(second).not.toBe(first);
    expect(second.blocks.map((b) => b.insts.map((i) => i.op))).toEqual(
      first.blocks.map((b) => b.insts.map((i) => i.op)),
    );
    // Arguments belong to the function, not to the body.
    expect(second.blocks[0]!.insts[0]!.operands[0]).toBe(fn.args[0]);
  });
});
