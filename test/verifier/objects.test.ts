/** Invalid objects that no text can express, and what the verifier says about them. */

import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { type Body, type Inst, makeInst, Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import {
  arrayType,
  doubleType,
  halfType,
  i8,
  i32,
  ptr,
  structType,
  vectorType,
  voidType,
} from "../../lto/ir/types.js";
import {
  BlockAddress,
  ConstAggregate,
  type Constant,
  ConstData,
  ConstExpr,
  ConstFloat,
  type ConstInt,
  ConstUndef,
  ConstZero,
  constI32,
  constI64,
  type Value,
} from "../../lto/ir/values.js";
import { verifyFunction, verifyModule } from "../../lto/verify/verifier.js";

const functionOf = (module: Module, name = "f"): Func => module.functions.find((fn) => fn.name === name)!;

/** Damage that text cannot express, done to a valid function. */
describe("damaged objects", () => {
  const text = `
declare i32 @callee(i32)
define i32 @f(i32 %a, ptr %p) {
entry:
  %x = add i32 %a, 1
  %c = icmp eq i32 %x, 0
  br i1 %c, label %then, label %join
then:
  %y = call i32 @callee(i32 %x)
  %l = load i32, ptr %p, align 4
  br label %join
join:
  %r = phi i32 [ %x, %entry ], [ %y, %then ]
  ret i32 %r
}`;
  const damage = (change: (body: Body, fn: Func) => void): string[] => {
    const fn = functionOf(parseModule(text, "x.ll"));
    expect(verifyFunction(fn)).toEqual([]);
    change(fn.rewrite(), fn);
    return verifyFunction(fn);
  };
  const first = (body: Body, op: Op): Inst => {
    for (const block of body.blocks) for (const inst of block.insts) if (inst.op === op) return inst;
    throw new Error("no such instruction");
  };
  const setData = (inst: Inst, data: unknown): void => {
    (inst as { data: unknown }).data = data;
  };

  it.each<readonly [string, (body: Body, fn: Func) => void, string]>([
    ["no blocks", (body) => body.blocks.splice(0), "it has no blocks"],
    ["an empty block", (body) => raw(body.blocks[1]!).insts.splice(0), "block %5: it is empty"],
    ["a block twice", (body) => body.blocks.push(body.blocks[1]!), "block number 1 occurs twice"],
    ["no terminator", (body) => raw(body.blocks[1]!).insts.pop(), "the block does not end in a terminator"],
    [
      "a terminator inside",
      (body) =>
        raw(body.blocks[1]!).insts.unshift(adopt(body, 1, makeInst(Op.Unreachable, voidType, [], null))),
      "'unreachable': a terminator inside a block",
    ],
    [
      "a wrong parent",
      (body) => (first(body, Op.Call).parent = body.blocks[0]!),
      "its parent is another block",
    ],
    ["a detached parent", (body) => (first(body, Op.Call).parent = null), "its parent is another block"],
    [
      "an instruction twice",
      (body) => raw(body.blocks[1]!).insts.unshift(first(body, Op.Load)),
      "it occurs twice",
    ],
    ["a removed operand", (body) => raw(body.blocks[0]!).insts.shift(), "operand 0 is not in the function"],
    ["a missing operand", (body) => raw(first(body, Op.Add)).operands.pop(), "1 operands instead of 2"],
    [
      "an undefined operand",
      (body) => (raw(first(body, Op.Add)).operands[1] = undefined as unknown as Value),
      "missing operand",
    ],
    ["a missing target", (body) => raw(first(body, Op.Br)).blocks.pop(), "0 blocks instead of 1"],
    [
      "an undefined target",
      (body) => (raw(first(body, Op.Br)).blocks[0] = undefined as never),
      "missing block",
    ],
    ["a removed target", (body) => body.blocks.pop(), "it goes to a block outside the function"],
    ["phi arity", (body) => raw(first(body, Op.Phi)).blocks.pop(), "values and blocks differ in number"],
    [
      "a void operand",
      (body) => (raw(first(body, Op.Add)).operands[0] = first(body, Op.Br)),
      "operands have different types",
    ],
    ["an unknown flag", (body) => (first(body, Op.Load).flags = 1), "flags that the operation cannot have"],
    ["load without data", (body) => setData(first(body, Op.Load), null), "no data"],
    ["call without data", (body) => setData(first(body, Op.Call), null), "no function type"],
    ["add with data", (body) => setData(first(body, Op.Add), 1), "data that the operation does not have"],
    ["an unknown predicate", (body) => setData(first(body, Op.ICmp), "oeq"), "unknown predicate"],
    [
      "alignment zero",
      (body) => setData(first(body, Op.Load), { align: 0, ordering: "not_atomic", scope: "" }),
      "alignment 0",
    ],
    [
      "alignment NaN",
      (body) => setData(first(body, Op.Load), { align: Number.NaN, ordering: "not_atomic", scope: "" }),
      "alignment NaN",
    ],
    [
      "an unknown operation",
      (body) => ((first(body, Op.Add) as { op: number }).op = 999),
      "unknown operation",
    ],
    [
      "a foreign argument",
      (body) => (raw(first(body, Op.Add)).operands[0] = functionOf(parseModule(text, "y")).args[0]!),
      "operand 0 is an argument of another function",
    ],
    [
      "call arity",
      (body) => setData(first(body, Op.Call), { ...(first(body, Op.Call).data as object), argumentCount: 2 }),
      "arguments and bundle inputs do not add up to the operands",
    ],
    [
      "a tail marker",
      (body) => setData(first(body, Op.Call), { ...(first(body, Op.Call).data as object), tail: "sibling" }),
      "tail marker 'sibling'",
    ],
    [
      "a convention",
      (body) =>
        setData(first(body, Op.Call), { ...(first(body, Op.Call).data as object), callingConvention: -1 }),
      "calling convention -1",
    ],
  ])("%s", (_, change, message) => {
    expect(damage(change).join("\n")).toContain(message);
  });

  function adopt(body: Body, block: number, inst: Inst): Inst {
    inst.parent = body.blocks[block]!;
    return inst;
  }

  it("shows instructions through a callback", () => {
    const fn = functionOf(parseModule(text, "x.ll"));
    raw(fn.view().blocks[1]!).insts.pop();
    expect(verifyFunction(fn, (inst) => `<${inst.op}>`)[0]).toBe(
      `@f: '<${Op.Load}>': the block does not end in a terminator`,
    );
  });

  it("limits the number of messages", () => {
    const fn = functionOf(parseModule(text, "x.ll"));
    const block = fn.view().blocks[0]!;
    for (let i = 0; i < 100; i++) {
      const inst = makeInst(Op.Add, i32, [constI32(1), constI64(1)], null);
      inst.parent = block;
      raw(block).insts.unshift(inst);
    }
    const messages = verifyFunction(fn);
    expect(messages).toHaveLength(21);
    expect(messages[20]).toBe("@f: more problems are not shown");
  });

  it("keeps messages short for types that share their parts many times over", () => {
    let type = structType([i8, i8]);
    for (let i = 0; i < 60; i++) type = structType([type, type]);
    const fn = functionOf(parseModule(text, "x.ll"));
    raw(first(fn.rewrite(), Op.Add)).operands[1] = new ConstUndef(type, false);
    const [message] = verifyFunction(fn);
    expect(message).toMatch(/operands have different types/);
    expect(message!.length).toBeLessThan(500);
  });

  it.each<readonly [string, (fn: Func) => Constant, string]>([
    [
      "integers",
      () => ({ ...constI32(1), value: 1n << 40n }) as ConstInt,
      "integer constant does not fit i32",
    ],
    ["floats", () => new ConstFloat(halfType, 0x10000n), "floating point constant does not fit half"],
    ["floats of other types", () => new ConstFloat(i32, 0n), "floating point constant of type i32"],
    ["zeros", () => new ConstZero(voidType), "zero of type void"],
    ["undefined values", () => new ConstUndef(voidType, true), "undefined value of type void"],
    ["data", () => new ConstData(arrayType(3, i8), new Uint8Array(2)), "data constant with 2 bytes"],
    [
      "data elements",
      () => new ConstData(arrayType(1, ptr), new Uint8Array(8)),
      "data constant with elements of type ptr",
    ],
    [
      "aggregates",
      () => new ConstAggregate(arrayType(2, i32), [constI32(1)]),
      "constant with 1 of 2 elements",
    ],
    [
      "aggregate elements",
      () => new ConstAggregate(structType([i32]), [constI64(1)]),
      "element 0 of a constant has type i64 instead of i32",
    ],
    ["aggregates of scalars", () => new ConstAggregate(i32, []), "aggregate constant of type i32"],
    ["expression arity", () => new ConstExpr(i32, Op.Add, [constI32(1)]), "1 operands instead of 2"],
    ["expression kinds", () => new ConstExpr(i32, Op.Load, [constI32(1)]), "not an operation on constants"],
    ["gep without type", () => new ConstExpr(ptr, Op.GetElementPtr, [new ConstZero(ptr)]), "no element type"],
    ["float negation", () => new ConstExpr(i32, Op.FNeg, [constI32(1)]), "operand of type i32"],
    [
      "comparisons",
      () => new ConstExpr(i32, Op.ICmp, [constI32(1), constI32(1)], 0, null, "xx"),
      "unknown predicate",
    ],
    [
      "shuffles",
      () => new ConstExpr(vectorType(2, i32), Op.ShuffleVector, [constI32(1), constI32(1), constI32(1)]),
      "operands do not fit the operation",
    ],
    ["block addresses", (fn) => new BlockAddress(ptr, fn, 7), "blockaddress of block 7"],
    ["block address types", (fn) => new BlockAddress(doubleType, fn, 1), "blockaddress of type double"],
  ])("checks constants: %s", (_, make, message) => {
    const fn = functionOf(parseModule(text, "x.ll"));
    const value = make(fn);
    const block = fn.view().blocks[0]!;
    const inst = makeInst(Op.Store, voidType, [value, fn.args[1]!], {
      align: 1,
      ordering: "not_atomic",
      scope: "",
    });
    inst.parent = block;
    raw(block).insts.unshift(inst);
    expect(verifyFunction(fn).join("\n")).toMatch(/@f: '/);
    // A value of no storable type is refused as such before it is looked at.
    const shown = verifyFunction(fn).join("\n");
    if (value.type.kind === "void") expect(shown).toContain("stores void");
    else expect(shown).toContain(message);
  });

  it("checks that globals belong to the module", () => {
    const module = parseModule(text, "x.ll");
    const other = parseModule(text, "y.ll");
    const call = first(functionOf(module).rewrite(), Op.Call);
    raw(call).operands[0] = functionOf(other, "callee");
    expect(verifyModule(module).join("\n")).toContain("@callee is not in the module");
  });

  it("finds duplicates, missing aliasees and unmatched comdats", () => {
    const module = parseModule(
      "$c = comdat any\n@x = global i32 0, comdat($c)\n@y = global i32 0, comdat($c)\n@a = alias i32, ptr @x",
      "x",
    );
    const [x, y, a] = module.globals;
    y!.comdat = { ...y!.comdat! };
    (a as unknown as { aliasee: undefined }).aliasee = undefined;
    expect(verifyModule(module)).toEqual(["@y: comdat c exists twice", "@a: an alias of nothing"]);
    y!.name = x!.name;
    expect(verifyModule(module)[0]).toBe("@x: defined twice");
  });
});
