/**
 * Shrink-wrapping: random functions compute the same with their frames wrapped, keep the ABI and unwind from every
 * instruction; and the shapes that matter, one by one.
 */

import { describe, expect, test } from "vitest";
import { finishFunction, functionSize } from "../../lto/codegen/late/finish.js";
import { type MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import {
  hasRegister,
  intersect,
  type RegisterSet,
  single,
  withRegister,
} from "../../lto/codegen/register-set.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { aluImm, aluReg, copy, lea, movImm, physical, slotOperand } from "../../lto/x64/isa/build.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Cc, X } from "../../lto/x64/isa/ops.js";
import {
  callClobbers,
  calleeSavedMask,
  R12,
  R13,
  RAX,
  RBX,
  RCX,
  RDI,
  RDX,
  RSI,
  RSP,
} from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { Random } from "../support/random.js";
import { Machine } from "./machine.js";

// ── Building machine functions ──

function newFunction(goal: MFunction["goal"] = "speed"): MFunction {
  return new MFunction(new Func("f", functionType(voidType, [])), "f", goal, x64Target);
}

const newBlocks = (mf: MFunction, count: number): MBlock[] =>
  Array.from({ length: count }, () => mf.newBlock());

function connect(from: MBlock, to: MBlock): MBlock {
  if (!from.succs.includes(to)) {
    from.succs.push(to);
    to.preds.push(from);
  }
  return to;
}

function jump(from: MBlock, to: MBlock): void {
  const inst = new MInst(X.Jmp, 8);
  inst.targets = [connect(from, to)];
  from.insts.push(inst);
}

/** `if (register == 0) goto zero; else goto other` */
function branch(from: MBlock, register: number, zero: MBlock, other: MBlock): void {
  const compare = new MInst(X.Test, 8);
  compare.uses = [physical(register), physical(register)];
  const jcc = new MInst(X.Jcc, 8);
  jcc.condition = Cc.E;
  jcc.targets = [connect(from, zero)];
  from.insts.push(compare, jcc);
  jump(from, other);
}

function ret(block: MBlock): void {
  const inst = new MInst(X.Ret, 8);
  inst.uses = [physical(RAX)];
  block.insts.push(inst);
}

function tailCall(block: MBlock): void {
  const inst = new MInst(X.TailCall, 8);
  inst.uses = [physical(RDI)];
  inst.symbol = { kind: "direct", target: { kind: "external", name: "h" } };
  block.insts.push(inst);
}

/** rax = g(rdi) */
function call(mf: MFunction, block: MBlock, noReturn = false): void {
  mf.hasCalls = true;
  const inst = new MInst(X.Call, 8);
  inst.symbol = { kind: "plt", target: { kind: "external", name: "g" } };
  inst.uses = [physical(RDI)];
  inst.defs = [physical(RAX)];
  inst.clobbers = callClobbers;
  inst.extra = {
    kind: "call",
    callee: null,
    calleeSet: -1,
    noReturn,
    returnsTwice: false,
    unwind: null,
    noUnwind: false,
    pushed: 0,
    hasStored: false,
  };
  block.insts.push(inst);
}

function entry(block: MBlock, ...registers: number[]): void {
  const inst = new MInst(X.Entry, 8);
  inst.defs = registers.map(physical);
  block.insts.push(inst);
}

function store(slot: number, register: number): MInst {
  const inst = new MInst(X.MovM, 8);
  inst.mem = slotOperand(slot);
  inst.uses = [physical(register)];
  return inst;
}

function load(register: number, slot: number): MInst {
  const inst = new MInst(X.Mov, 8);
  inst.mem = slotOperand(slot);
  inst.defs = [physical(register)];
  return inst;
}

function finish(mf: MFunction, written: RegisterSet, shrinkWrap = true): boolean {
  const counts = { moves: 0, spills: 0, spillSlots: 0, reloads: 0, rematerializations: 0 };
  const usedCalleeSaved = intersect(written, calleeSavedMask);
  return finishFunction(mf, { written, usedCalleeSaved, ...counts }, { shrinkWrap });
}

// ── Running them ──

/** What a run shows: arguments of calls, and the result or the argument of a tail call. */
class Trace {
  readonly events: string[] = [];
  readonly record = (inst: MInst, registers: Float64Array): void => {
    // A jump to what is called is a call and a return of its result.
    const isCalled = inst.op === X.TailCall && calls(inst, "g");
    const shown = inst.op === X.Ret ? RAX : RDI;
    const name = isCalled ? "Call" : opcodeNames[inst.op];
    this.events.push(`${name} ${inst.op === X.Ud2 ? "" : registers[shown]}`);
    if (inst.op === X.Call || isCalled)
      registers[RAX] = registers[RDI]! % 3 === 0 ? 0 : registers[RDI]! * 2 + 1;
    if (isCalled) this.events.push(`Ret ${registers[RAX]}`);
  };
}

const calls = ({ symbol }: MInst, name: string): boolean =>
  symbol !== null && symbol.target.kind === "external" && symbol.target.name === name;

const argumentRegisters = [RDI, RSI, RDX];

/** Runs a function without frame on registers and slots. */
function reference(mf: MFunction, args: readonly number[]): string[] {
  const trace = new Trace();
  const registers = new Float64Array(32).map((_, r) => 1000 + r);
  argumentRegisters.forEach((r, i) => {
    registers[r] = args[i]!;
  });
  const slots = new Map<number, number>();
  let compared = 1;
  let block = mf.blocks[0]!;
  for (let steps = 0; steps < 4000; steps++) {
    let next: MBlock | null = null;
    for (const inst of block.insts) {
      const to = inst.defs.length > 0 ? inst.defs[0]!.loc : -1;
      const from = inst.uses.length > 0 ? inst.uses[0]!.loc : -1;
      if (inst.op === X.Copy) registers[to] = registers[from]!;
      else if (inst.op === X.Mov)
        registers[to] = inst.mem === null ? Number(inst.imm) : slots.get(inst.mem.slot)!;
      else if (inst.op === X.MovM) slots.set(inst.mem!.slot, registers[from]!);
      else if (inst.op === X.Add)
        registers[to]! += inst.imm === null ? registers[inst.uses[1]!.loc]! : Number(inst.imm);
      else if (inst.op === X.Test) compared = registers[from]!;
      else if (inst.op === X.Jcc && (compared === 0) === (inst.condition === Cc.E)) next ??= inst.targets[0]!;
      else if (inst.op === X.Jmp) next ??= inst.targets[0]!;
      else if (inst.op === X.Call) {
        trace.record(inst, registers);
        for (let r = 0; r < 32; r++) if (hasRegister(callClobbers, r) && r !== RAX) registers[r] = Number.NaN;
      } else if (inst.op === X.Ret || inst.op === X.TailCall || inst.op === X.Ud2) {
        trace.record(inst, registers);
        return trace.events;
      }
    }
    block = next!;
  }
  throw new Error("endless path");
}

/** Runs a finished function; checks the ABI and the unwind table on the way. Also counts pushes. */
function execute(mf: MFunction, args: readonly number[]): { events: string[]; pushes: number } {
  const trace = new Trace();
  const machine = new Machine(mf, { choose: () => 0, values: trace.record });
  argumentRegisters.forEach((r, i) => {
    machine.registers[r] = args[i]!;
  });
  machine.run();
  return { events: trace.events, pushes: machine.pushes };
}

const kept = [RBX, R12, R13];

/**
 * A function as allocation leaves it: arguments copied to callee-saved registers and spill slots at the start, tests
 * on them, blocks with and without calls, several ways out.
 */
function randomFunction(seed: number): { mf: MFunction; written: RegisterSet } {
  const random = new Random(seed * 7919 + 1);
  const mf = newFunction((["speed", "speed", "size", "minsize"] as const)[random.below(4)]!);
  const start = mf.newBlock();
  entry(start, ...argumentRegisters);
  const copies = kept.filter(() => random.chance(0.6));
  copies.forEach((r, i) => {
    start.insts.push(copy(random.chance(0.85) ? 8 : 4, r, argumentRegisters[(i + random.below(3)) % 3]!));
  });
  const slots: number[] = [];
  for (const r of argumentRegisters)
    if (random.chance(0.3)) {
      slots.push(mf.newSlot(8, 8, random.chance(0.8) ? "spill" : "local"));
      start.insts.push(store(slots[slots.length - 1]!, r));
    }
  for (const r of kept) if (!copies.includes(r) && random.chance(0.3)) start.insts.push(movImm(8, r, 5));
  const defined = [
    ...new Set([
      ...copies,
      ...start.insts.flatMap((i) => i.defs.map((d) => d.loc)).filter((r) => kept.includes(r)),
    ]),
  ];
  const count = 2 + random.below(7);
  for (let i = 0; i < count; i++) mf.newBlock();
  const { blocks } = mf;
  /** A register to read: arguments only before any call. */
  const value = (early: boolean): number => {
    const from = early ? [...defined, RDI, RSI, RDX] : defined;
    return from.length === 0 ? RAX : from[random.below(from.length)]!;
  };
  // Blocks that no path reaches after a call: those all of whose predecessors are of that kind and call nothing.
  const early = new Array<boolean>(blocks.length).fill(true);
  blocks.forEach((block, b) => {
    let fresh = early[b]!;
    if (!fresh) block.insts.push(movImm(8, RAX, b));
    else if (b > 0) block.insts.push(copy(8, RAX, value(true)));
    else block.insts.push(movImm(8, RAX, 1));
    for (let n = random.below(4); n > 0; n--) {
      const what = random.below(7);
      if (what < 2 && b > 0) {
        block.insts.push(copy(8, RDI, value(fresh)));
        call(mf, block);
        fresh = false;
      } else if (what === 2) block.insts.push(aluReg(X.Add, 8, RAX, value(fresh)));
      else if (what === 3 && defined.length > 0 && b > 0)
        block.insts.push(aluImm(X.Add, 8, defined[random.below(defined.length)]!, 1 + random.below(3)));
      else if (what === 4 && slots.length > 0) {
        block.insts.push(load(RCX, slots[random.below(slots.length)]!));
        block.insts.push(aluReg(X.Add, 8, RAX, RCX));
      } else if (what === 5 && slots.length > 0 && random.chance(0.4))
        block.insts.push(store(slots[random.below(slots.length)]!, RAX));
      else if (what === 6 && fresh && b > 0) {
        const address = lea(8, RCX, slotOperand(mf.newSlot(16, 8)));
        if (random.chance(0.3)) block.insts.push(address);
      }
    }
    const later = blocks.length - b - 1;
    const target = (): MBlock => {
      const t = b + 1 + random.below(later);
      if (!fresh) early[t] = false;
      return blocks[t]!;
    };
    if (later === 0 || (b > 0 && random.chance(0.3))) {
      const way = random.below(8);
      if (way === 0) {
        block.insts.push(copy(8, RDI, value(fresh)));
        tailCall(block);
      } else if (way === 1) block.insts.push(new MInst(X.Ud2, 8));
      else if (way === 2) {
        block.insts.push(copy(8, RDI, value(fresh)));
        call(mf, block, true);
        block.insts.push(new MInst(X.Ud2, 8));
      } else ret(block);
    } else if (random.chance(0.75)) {
      const zero = target();
      const other = target();
      if (zero === other) jump(block, zero);
      else branch(block, random.chance(0.7) ? value(fresh) : RAX, zero, other);
    } else jump(block, target());
  });
  const written = kept.reduce(
    (mask, r) => (defined.includes(r) ? withRegister(mask, r) : mask),
    mf.hasCalls ? callClobbers : single(RAX),
  );
  return { mf: removeUnreached(mf), written };
}

function removeUnreached(mf: MFunction): MFunction {
  const seen = new Set<MBlock>([mf.blocks[0]!]);
  for (const block of mf.blocks) if (seen.has(block)) for (const s of block.succs) seen.add(s);
  mf.blocks = mf.blocks.filter((b) => seen.has(b));
  for (const block of mf.blocks) block.preds = block.preds.filter((p) => seen.has(p));
  return mf;
}

describe("shrink-wrapped functions", () => {
  test("compute what they did, keep the ABI and unwind from everywhere", () => {
    const complaints: string[] = [];
    let wrapped = 0;
    for (let seed = 1; seed <= 4000; seed++) {
      const made = randomFunction(seed);
      const args = [seed % 2, seed % 3, seed % 5].map((n) => n * 7);
      try {
        const expected = reference(made.mf, args);
        if (finish(made.mf, made.written)) wrapped++;
        const { events } = execute(made.mf, args);
        if (events.join() !== expected.join())
          throw new Error(`${events.join()} instead of ${expected.join()}`);
      } catch (error) {
        complaints.push(`seed ${seed} (${made.mf.goal}): ${(error as Error).message}`);
      }
    }
    expect(complaints.slice(0, 10)).toEqual([]);
    expect(wrapped).toBeGreaterThan(500);
  });
});

/** Blocks of a function of two arguments whose first is copied to rbx, and of which the first goes to `early`. */
function withEarlyExit(goal: MFunction["goal"] = "speed"): { mf: MFunction; early: MBlock; main: MBlock } {
  const mf = newFunction(goal);
  const start = mf.newBlock();
  const early = mf.newBlock();
  const main = mf.newBlock();
  entry(start, RDI, RSI);
  start.insts.push(copy(8, RBX, RDI), movImm(4, RAX, 0));
  branch(start, RBX, early, main);
  return { mf, early, main };
}

const pushesFor = (mf: MFunction, ...args: number[]): number => execute(mf, [...args, 0, 0, 0]).pushes;

/** Sum over rbx after a call, as the end of a function. */
function callAndReturn(mf: MFunction, block: MBlock): void {
  call(mf, block);
  block.insts.push(aluReg(X.Add, 8, RAX, RBX));
  ret(block);
}

const writes = withRegister(callClobbers, RBX);

describe("a path without frame", () => {
  test("is an early exit; the copy of the argument waits", () => {
    const { mf, early, main } = withEarlyExit();
    ret(early);
    callAndReturn(mf, main);
    expect(finish(mf, writes)).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
    expect(pushesFor(mf, 7)).toBe(1);
  });

  test("is an early exit before a loop that is left in three places", () => {
    const mf = newFunction();
    const [start, loop, found, next, out] = newBlocks(mf, 5) as [MBlock, MBlock, MBlock, MBlock, MBlock];
    entry(start, RDI, RSI);
    start.insts.push(copy(8, RBX, RDI), copy(8, R12, RSI));
    branch(start, RBX, out, loop);
    branch(loop, R12, found, next);
    jump(found, out);
    call(mf, next);
    next.insts.push(copy(8, RBX, RAX));
    branch(next, RBX, out, loop);
    ret(out);
    expect(finish(mf, withRegister(writes, R12))).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
    // Two registers, and what aligns the call.
    expect(pushesFor(mf, 7)).toBe(3);
  });

  test("ends in a tail call", () => {
    const { mf, early, main } = withEarlyExit();
    tailCall(early);
    callAndReturn(mf, main);
    expect(finish(mf, writes)).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
  });

  test("avoids a call that never returns; the call is aligned", () => {
    const mf = newFunction();
    const [start, fatal, main] = [mf.newBlock(), mf.newBlock(), mf.newBlock()];
    entry(start, RDI);
    branch(start, RDI, fatal, main);
    call(mf, fatal, true);
    fatal.insts.push(new MInst(X.Ud2, 8));
    main.insts.push(movImm(8, RAX, 1));
    ret(main);
    expect(finish(mf, callClobbers)).toBe(true);
    expect(pushesFor(mf, 5)).toBe(0);
    // The interpreter refuses a misaligned call.
    expect(pushesFor(mf, 0)).toBe(1);
  });

  test("goes around a spilled argument", () => {
    const mf = newFunction();
    const [start, early, main] = [mf.newBlock(), mf.newBlock(), mf.newBlock()];
    const slot = mf.newSlot(8, 8, "spill");
    entry(start, RDI, RSI);
    start.insts.push(store(slot, RDI), movImm(4, RAX, 3));
    branch(start, RSI, early, main);
    ret(early);
    call(mf, main);
    main.insts.push(load(RAX, slot));
    ret(main);
    expect(finish(mf, callClobbers)).toBe(true);
    expect(execute(mf, [9, 0, 0])).toEqual({ events: ["Ret 3"], pushes: 0 });
    expect(execute(mf, [9, 1, 0]).events).toEqual(["Call 9", "Ret 9"]);
  });

  test("lies before a dynamic alloca", () => {
    const { mf, early, main } = withEarlyExit();
    mf.hasDynamicAlloca = true;
    ret(early);
    const alloca = new MInst(X.DynamicAlloca, 8);
    alloca.uses = [physical(RAX)];
    alloca.defs = [physical(RCX)];
    alloca.imm = 16;
    main.insts.push(movImm(8, RAX, 40), alloca);
    callAndReturn(mf, main);
    expect(finish(mf, writes)).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
    expect(pushesFor(mf, 7)).toBeGreaterThan(1);
  });
});

describe("the frame", () => {
  test("comes once for a loop that needs it in a rare branch", () => {
    const mf = newFunction();
    const [start, early, head, body, rare, out] = newBlocks(mf, 6);
    entry(start!, RDI);
    start!.insts.push(copy(8, RBX, RDI), movImm(4, RAX, 0));
    branch(start!, RBX, early!, head!);
    ret(early!);
    branch(head!, RBX, out!, body!);
    body!.insts.push(aluImm(X.Add, 8, RBX, -1));
    branch(body!, RBX, rare!, head!);
    rare!.insts.push(copy(8, RDI, RBX));
    call(mf, rare!);
    jump(rare!, head!);
    ret(out!);
    expect(finish(mf, writes)).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
    expect(pushesFor(mf, 5)).toBe(1);
    const pushes = mf.blocks.flatMap((b) => b.insts).filter((i) => i.op === X.PushSaved);
    expect(pushes.length).toBe(1);
  });

  test("comes twice for two rare regions", () => {
    const mf = newFunction();
    const [start, first, middle, second, last] = newBlocks(mf, 5);
    const slot = mf.newSlot(8, 8, "spill");
    entry(start!, RDI, RSI);
    start!.insts.push(store(slot, RSI));
    branch(start!, RDI, first!, middle!);
    call(mf, first!);
    first!.insts.push(load(RSI, slot));
    jump(first!, middle!);
    branch(middle!, RSI, second!, last!);
    second!.insts.push(movImm(8, RDI, 3));
    call(mf, second!);
    jump(second!, last!);
    last!.insts.push(movImm(8, RAX, 1));
    ret(last!);
    expect(finish(mf, callClobbers)).toBe(true);
    expect(execute(mf, [1, 1, 0]).events).toEqual(["Ret 1"]);
    expect(execute(mf, [0, 1, 0]).events).toEqual(["Call 0", "Ret 1"]);
    expect(execute(mf, [0, 0, 0]).events).toEqual(["Call 0", "Call 3", "Ret 1"]);
    expect(execute(mf, [1, 1, 0]).pushes).toBe(0);
  });

  test("stays once the address of a slot is known", () => {
    const mf = newFunction();
    const [start, early, object, middle, last] = newBlocks(mf, 5);
    const slot = mf.newSlot(8, 8);
    entry(start!, RDI, RSI);
    start!.insts.push(movImm(4, RAX, 2));
    branch(start!, RDI, early!, object!);
    ret(early!);
    object!.insts.push(lea(8, RDI, slotOperand(slot)), copy(8, RCX, RDI));
    call(mf, object!);
    jump(object!, middle!);
    // Nothing here needs the frame, but what the pointer means must stay.
    middle!.insts.push(movImm(4, RAX, 3));
    jump(middle!, last!);
    ret(last!);
    expect(finish(mf, callClobbers)).toBe(true);
    expect(pushesFor(mf, 0)).toBe(0);
    const insts = mf.blocks.flatMap((b) => b.insts);
    const position = (op: X): number => insts.findIndex((i) => i.op === op && i.defs[0]?.loc !== RDI);
    // The value 3 is set before the frame is taken away.
    const set = insts.findIndex((i) => i.op === X.Mov && i.imm === 3);
    expect(set).toBeGreaterThan(position(X.Call));
    expect(insts.slice(set).some((i) => i.op === X.Pop || i.defs[0]?.loc === RSP)).toBe(true);
  });

  test.each([
    ["a call that returns twice", (mf: MFunction): void => void (mf.returnsTwice = true), "speed"],
    ["a frame pointer asked for", (mf: MFunction): void => void (mf.needsFramePointer = true), "speed"],
    ["no optimisation", (): void => {}, "none"],
  ] as const)("is there from the entry with %s", (_, prepare, goal) => {
    const { mf, early, main } = withEarlyExit(goal);
    prepare(mf);
    ret(early);
    callAndReturn(mf, main);
    expect(finish(mf, writes)).toBe(false);
    expect(pushesFor(mf, 0)).toBeGreaterThan(0);
  });

  test("is where the option says", () => {
    const { mf, early, main } = withEarlyExit();
    ret(early);
    callAndReturn(mf, main);
    expect(finish(mf, writes, false)).toBe(false);
    expect(pushesFor(mf, 0)).toBe(1);
  });
});

test("wrapping makes no function larger at minimum size", () => {
  let smaller = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const [plain, wrapped] = [false, true].map((wrap) => {
      const { mf, written } = randomFunction(seed);
      finish(mf, written, wrap);
      return mf.goal === "speed" ? 0 : functionSize(mf);
    });
    expect(wrapped!, `seed ${seed}`).toBeLessThanOrEqual(plain!);
    if (wrapped! < plain!) smaller++;
  }
  expect(smaller).toBeGreaterThan(20);
});
