/**
 * Machine functions of any size, each extreme in one respect, for measuring how allocation time grows. The same
 * shape and size give the same function. All are linear in size, in time and in result.
 */

import { type MBlock, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { noRegisters, setOfWords, single } from "../../lto/codegen/register-set.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { Random } from "../support/random.js";
import { generateLong } from "./generate.js";
import { mockMachine, Op } from "./mock-target.js";

/** Builds one function; keeps the values that later instructions may use. */
class Builder {
  readonly fn = new MFunction({} as GlobalValue, "shape", "minsize", mockMachine);
  readonly random: Random;
  block: MBlock;
  /** Values defined so far, the latest last. */
  recent: number[] = [];
  count = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.block = this.fn.newBlock();
    this.fn.hasCalls = true;
  }

  emit(op: Op, defs: RegOperand[], uses: RegOperand[]): MInst {
    const inst = new MInst(op, 8);
    inst.imm = ++this.count;
    inst.defs = defs;
    inst.uses = uses;
    this.block.insts.push(inst);
    return inst;
  }
  /** A value computed from others, the first of which it is tied to. */
  work(...uses: number[]): number {
    const vreg = this.fn.newVReg(0, 8);
    const tied = uses.length > 1 ? 0 : -1;
    this.emit(
      Op.Work,
      [new RegOperand(vreg, noRegisters, false, tied)],
      uses.map((use, k) => new RegOperand(use, noRegisters, k === 1)),
    );
    this.recent.push(vreg);
    return vreg;
  }
  consume(...uses: number[]): void {
    this.emit(
      Op.Work,
      [],
      uses.map((use) => new RegOperand(use)),
    );
  }
  call(...args: number[]): number {
    const vreg = this.fn.newVReg(0, 8);
    const inst = this.emit(
      Op.Call,
      [new RegOperand(vreg, single(0))],
      args.map((arg, k) => new RegOperand(arg, single(k))),
    );
    inst.clobbers = setOfWords(~((1 << 3) | (1 << 5) | 0xf000));
    this.recent.push(vreg);
    return vreg;
  }
  /** One of the last `reach` values. */
  pick(reach: number): number {
    return this.recent[Math.max(0, this.recent.length - 1 - this.random.below(reach))]!;
  }
  link(from: MBlock, to: MBlock, args: readonly number[] = []): void {
    from.succs.push(to);
    from.succArgs.push(args.map((arg) => new RegOperand(arg)));
    to.preds.push(from);
  }
  param(block: MBlock): number {
    const vreg = this.fn.newVReg(0, 8);
    block.params.push(new RegOperand(vreg));
    return vreg;
  }
  /** Ends the current block: its successors are linked already. */
  end(): void {
    const { succs } = this.block;
    const op = succs.length === 0 ? Op.Return : succs.length === 1 ? Op.Jump : Op.Branch;
    this.emit(op, [], []).targets = [...succs];
  }
  forget(limit: number): void {
    if (this.recent.length > 2 * limit) this.recent.splice(0, this.recent.length - limit);
  }
}

/** One block; about thirty values live at each point, more than there are registers. */
function straight(size: number): MFunction {
  const b = new Builder(1);
  for (let k = 0; k < 30; k++) b.work();
  while (b.count < size) {
    b.work(b.pick(30), b.pick(30));
    b.forget(60);
  }
  b.consume(b.pick(3));
  b.end();
  return b.fn;
}

/** One block; each value is used once, a thousand instructions later. */
function wide(size: number): MFunction {
  const b = new Builder(2);
  const width = Math.min(1000, size >> 2);
  const waiting: number[] = [];
  for (let k = 0; b.count < size; k++) {
    const value = b.work(...(waiting.length > 0 ? [waiting[k % waiting.length]!] : []));
    if (waiting.length < width) waiting.push(value);
    else waiting[k % width] = value;
    b.forget(4);
  }
  b.consume(...waiting.slice(-3));
  b.end();
  return b.fn;
}

/** A switch of many cases in a loop, with a few values that live all through it and two that each case changes. */
function manyCases(size: number): MFunction {
  const b = new Builder(3);
  const constant = [b.work(), b.work(), b.work(), b.work(), b.work()];
  const header = b.fn.newBlock();
  b.link(b.block, header, [b.work(), b.work()]);
  b.end();
  const state = [b.param(header), b.param(header)];
  const cases: MBlock[] = [];
  for (let k = 0; k < Math.max(2, size >> 3); k++) {
    const block = b.fn.newBlock();
    cases.push(block);
    b.link(header, block);
  }
  b.block = header;
  b.consume(state[0]!);
  b.end();
  const latch = b.fn.newBlock();
  const carried = [b.param(latch), b.param(latch)];
  for (const block of cases) {
    b.block = block;
    b.recent = [...constant, ...state];
    for (let k = 0; k < 5; k++) b.work(b.pick(7), b.pick(7));
    if (b.random.chance(0.3)) b.call(b.pick(3), b.pick(3));
    b.link(block, latch, [b.pick(3), state[1]!]);
    b.end();
  }
  b.block = latch;
  const exit = b.fn.newBlock();
  const back = b.fn.newBlock();
  b.link(latch, back);
  b.link(latch, exit);
  b.end();
  b.block = back;
  b.link(back, header, carried);
  b.end();
  b.block = exit;
  for (const value of constant) b.consume(value);
  b.end();
  return b.fn;
}

/** One block of calls, with values that live across some of them. */
function calls(size: number): MFunction {
  const b = new Builder(4);
  for (let k = 0; k < 8; k++) b.work();
  while (b.count < size) {
    for (let k = 0; k < 3; k++) b.work(b.pick(12), b.pick(4));
    b.call(b.pick(12), b.pick(4), b.pick(4));
    b.forget(40);
  }
  b.end();
  return b.fn;
}

/** A chain of blocks of two instructions, each of which may leave for the end. */
function smallBlocks(size: number): MFunction {
  const b = new Builder(5);
  for (let k = 0; k < 8; k++) b.work();
  const exit = b.fn.newBlock();
  const result = b.param(exit);
  while (b.count < size) {
    b.work(b.pick(10), b.pick(10));
    const next = b.fn.newBlock();
    const leave = b.fn.newBlock();
    b.link(b.block, next);
    b.link(b.block, leave);
    b.end();
    b.block = leave;
    b.link(leave, exit, [b.pick(10)]);
    b.end();
    b.block = next;
    b.forget(20);
  }
  b.link(b.block, exit, [b.pick(4)]);
  b.end();
  b.block = exit;
  b.consume(result);
  b.end();
  return b.fn;
}

/** Loops one after the other, each with ten values carried around, in groups of three nested ones. */
function loops(size: number): MFunction {
  const b = new Builder(6);
  let carried: number[] = [];
  for (let k = 0; k < 10; k++) carried.push(b.work());
  while (b.count < size) carried = loop(b, carried, 2);
  b.consume(...carried.slice(0, 3));
  b.end();
  return b.fn;
}

function loop(b: Builder, initial: readonly number[], depth: number): number[] {
  const header = b.fn.newBlock();
  b.link(b.block, header, initial);
  b.end();
  b.block = header;
  let values = initial.map(() => b.param(header));
  b.recent = [...values];
  for (let k = 0; k < 12; k++) values[k % values.length] = b.work(values[k % values.length]!, b.pick(12));
  if (depth > 0) values = loop(b, values, depth - 1);
  const latch = b.fn.newBlock();
  const exit = b.fn.newBlock();
  b.link(b.block, latch);
  b.link(b.block, exit);
  b.end();
  b.block = latch;
  b.recent = [...values];
  const next = values.map((value) => (b.random.chance(0.5) ? b.work(value, b.pick(10)) : value));
  b.link(latch, header, next);
  b.end();
  b.block = exit;
  return values;
}

export const shapes: Readonly<Record<string, (size: number) => MFunction>> = {
  straight,
  wide,
  switch: manyCases,
  calls,
  blocks: smallBlocks,
  loops,
  mixed: (size) => generateLong(7, size),
};
