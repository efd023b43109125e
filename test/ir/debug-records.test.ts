/** What is said of source variables while code changes: it goes on being true, or nothing is said any more. */
import { describe, expect, it } from "vitest";
import { DebugReconciliation } from "../../lto/ir/debug-reconcile.js";
import { DebugRecord, Dw, fragmentOf, unknownBefore } from "../../lto/ir/debug-records.js";
import { salvage } from "../../lto/ir/debug-salvage.js";
import { Block, Body, type Inst, makeInst, Op } from "../../lto/ir/instructions.js";
import { raw } from "../../lto/ir/raw.js";
import { i8, i32, i64, ptr, voidType } from "../../lto/ir/types.js";
import { Argument, constInt, type Value } from "../../lto/ir/values.js";

const argument = new Argument(i32, 0);
const record = (value: Value, expression: readonly number[] = [], variable = 1): DebugRecord =>
  new DebugRecord(variable, expression, [value], false, 0);

describe("salvaging", () => {
  const salvaged = (inst: Inst, expression: readonly number[] = []): DebugRecord => {
    const found = record(inst, expression);
    salvage(found, inst);
    return found;
  };
  const binary = (op: Op.Add | Op.Sub | Op.UDiv, constant: number): Inst =>
    makeInst(op, i32, [argument, constInt(i32, constant)], null) as Inst;

  it("says a sum by what was added to", () => {
    const { values, expression } = salvaged(binary(Op.Add, 5));
    expect(values).toEqual([argument]);
    expect(expression).toEqual([Dw.PlusUconst, 5, Dw.StackValue]);
  });

  it("says differences and negative numbers", () => {
    expect(salvaged(binary(Op.Sub, 5)).expression).toEqual([Dw.Constu, 5, Dw.Minus, Dw.StackValue]);
    expect(salvaged(binary(Op.Add, -2)).expression).toEqual([Dw.Constu, 2, Dw.Minus, Dw.StackValue]);
  });

  it("says how many bits extensions had", () => {
    const wide = makeInst(Op.SExt, i64, [argument], null) as Inst;
    expect(salvaged(wide).expression).toEqual([Dw.Convert, 32, 5, Dw.Convert, 64, 5, Dw.StackValue]);
  });

  it("keeps which part of the variable is meant at the end", () => {
    const { expression } = salvaged(binary(Op.Add, 5), [Dw.Fragment, 32, 32]);
    expect(expression).toEqual([Dw.PlusUconst, 5, Dw.StackValue, Dw.Fragment, 32, 32]);
    expect(fragmentOf(expression)).toEqual({ offset: 32, size: 32 });
  });

  it("says what was made of two values by both", () => {
    const other = new Argument(i32, 1);
    const sum = makeInst(Op.Add, i32, [argument, other], null) as Inst;
    const found = salvaged(sum, [Dw.Fragment, 0, 32]);
    expect(found.values).toEqual([argument, other]);
    const both = [Dw.Arg, 0, Dw.Arg, 1, Dw.Plus];
    expect(found.expression).toEqual([...both, Dw.StackValue, Dw.Fragment, 0, 32]);
    const base = new Argument(ptr, 2);
    const index = new Argument(i64, 3);
    const address = makeInst(Op.GetElementPtr, ptr, [base, index], { elementType: i32 } as never) as Inst;
    expect(salvaged(address, [Dw.Deref]).expression).toEqual([
      Dw.Arg,
      0,
      Dw.Arg,
      1,
      Dw.Constu,
      4,
      Dw.Mul,
      Dw.Plus,
      Dw.Deref,
    ]);
  });

  it("follows each of several values", () => {
    const other = new Argument(i32, 1);
    const product = makeInst(Op.Mul, i32, [argument, constInt(i32, 3)], null) as Inst;
    const difference = makeInst(Op.Sub, i32, [product, other], null) as Inst;
    const found = new DebugRecord(
      1,
      [Dw.Arg, 0, Dw.Arg, 1, Dw.Xor, Dw.StackValue],
      [difference, other],
      false,
      0,
    );
    salvage(found, difference);
    expect(found.values).toEqual([product, other]);
    salvage(found, product);
    expect(found.values).toEqual([argument, other]);
    expect(found.expression).toEqual([
      Dw.Arg,
      0,
      Dw.Constu,
      3,
      Dw.Mul,
      Dw.Arg,
      1,
      Dw.Minus,
      Dw.Arg,
      1,
      Dw.Xor,
      Dw.StackValue,
    ]);
  });

  it("extends what is shifted to the right", () => {
    const shifted = makeInst(Op.AShr, i32, [argument, constInt(i32, 3)], null) as Inst;
    expect(salvaged(shifted).expression).toEqual([
      Dw.Convert,
      32,
      5,
      Dw.Convert,
      64,
      5,
      Dw.Constu,
      3,
      Dw.Shra,
      Dw.StackValue,
    ]);
  });

  it("knows nothing of what memory held, and of upper bits", () => {
    const address = new Argument(ptr, 1);
    const load = makeInst(Op.Load, i8, [address], {
      align: 1,
      volatile: false,
      ordering: null,
      scope: "",
    } as never);
    expect(salvaged(load as Inst).isKnown).toBe(false);
    expect(salvaged(binary(Op.UDiv, 3)).isKnown).toBe(false);
  });
});

describe("reconciliation", () => {
  /** A block of additions, the first of the argument, each of the one before; with a return. */
  function chain(count: number): { body: Body; block: Block; sums: Inst[]; ret: Inst } {
    const body = new Body();
    const block = new Block();
    body.blocks.push(block);
    body.hasDebug = true;
    const sums: Inst[] = [];
    for (let i = 0; i < count; i++)
      sums.push(
        block.append(makeInst(Op.Add, i32, [sums.at(-1) ?? argument, constInt(i32, 1)], null) as Inst),
      );
    const ret = block.append(makeInst(Op.Ret, voidType, [], null)) as Inst;
    return { body, block, sums, ret };
  }
  const said = (inst: Inst): (number | null)[] =>
    (inst.debug ?? []).map(({ variable, isKnown }) => (isKnown ? variable : null));

  it("moves what stood before an instruction that is gone to the next", () => {
    const { body, block, sums, ret } = chain(3);
    sums[1]!.debug = [record(sums[0]!)];
    const change = new DebugReconciliation(body);
    raw(block).insts = [sums[0]!, sums[2]!, ret];
    raw(sums[2]!).operands = [sums[0]!, constInt(i32, 1)];
    change.settle();
    expect(said(sums[2]!)).toEqual([1]);
  });

  it("leaves in place what stood before an instruction that is elsewhere now", () => {
    const { body, block, sums, ret } = chain(1);
    const free = makeInst(Op.Add, i32, [argument, constInt(i32, 9)], null) as Inst;
    const second = makeInst(Op.Add, i32, [argument, constInt(i32, 8)], null) as Inst;
    raw(block).insts = [sums[0]!, second, free, ret];
    for (const inst of [second, free]) inst.parent = block;
    free.debug = [record(sums[0]!)];
    const change = new DebugReconciliation(body);
    raw(block).insts = [free, sums[0]!, second, ret];
    change.settle();
    expect(said(free)).toEqual([]);
    expect(said(ret)).toEqual([1]);
  });

  it("knows nothing between new instructions that stand for several", () => {
    const { body, block, sums, ret } = chain(3);
    sums[1]!.debug = [record(constInt(i32, 1), [], 1)];
    sums[2]!.debug = [record(constInt(i32, 2), [], 1)];
    const change = new DebugReconciliation(body);
    const made = makeInst(Op.Add, i32, [sums[0]!, constInt(i32, 2)], null) as Inst;
    made.parent = block;
    raw(block).insts = [sums[0]!, made, ret];
    change.settle();
    // The first was there; whether the second was already cannot be said before the end.
    expect(said(made)).toEqual([1, null]);
    expect(said(ret)).toEqual([1]);
  });

  it("says what is gone by what it was made of", () => {
    const { body, block, sums, ret } = chain(2);
    ret.debug = [record(sums[1]!)];
    const change = new DebugReconciliation(body);
    raw(block).insts = [sums[0]!, ret];
    change.settle();
    expect(ret.debug[0]!.values).toEqual([sums[0]]);
    expect(ret.debug[0]!.expression).toEqual([Dw.PlusUconst, 1, Dw.StackValue]);
  });
});

it("says once that nothing is known, however many ways lead past", () => {
  const whole = record(argument);
  const part = record(argument, [Dw.Fragment, 0, 8]);
  const other = record(argument, [], 2);
  const first = unknownBefore([], [whole, part, other, record(argument)]);
  expect(first.map(({ variable, values }) => [variable, values])).toEqual([
    [1, []],
    [1, []],
    [2, []],
  ]);
  expect(unknownBefore(first, [whole, part, other])).toEqual([]);
  // What is said there of the same part comes after.
  expect(unknownBefore([part], [whole, part])).toHaveLength(1);
  const declaration = new DebugRecord(1, [], [argument], true, 0);
  expect(unknownBefore([declaration], [declaration, whole])).toHaveLength(1);
});
