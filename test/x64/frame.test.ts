/** Frames of random functions: run on a small machine that checks the ABI and the unwind table at every step. */

import { describe, expect, test } from "vitest";
import { finishFunction } from "../../lto/codegen/late/finish.js";
import { type MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import {
  hasRegister,
  intersect,
  noRegisters,
  type RegisterSet,
  union,
  withoutRegister,
  withRegister,
} from "../../lto/codegen/register-set.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { needsBasePointer, needsFramePointer } from "../../lto/x64/frame/frame-registers.js";
import { aluImm, movImm, physical, slotOperand } from "../../lto/x64/isa/build.js";
import { hasSegment } from "../../lto/x64/isa/memory-operand.js";
import { X } from "../../lto/x64/isa/ops.js";
import { callClobbers, calleeSavedMask, R15, RAX, RBP, RCX } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { Random } from "../support/random.js";
import { Machine } from "./machine.js";

const goals = ["none", "speed", "size", "minsize"] as const;

const relaxed = new Func("relaxed", functionType(voidType, []));

interface Made {
  readonly mf: MFunction;
  readonly written: RegisterSet;
}

/** A function of some blocks with slot accesses, calls, pushed arguments and dynamic allocas. */
function makeFunction(random: Random): Made {
  const fn = new Func("f", functionType(voidType, []));
  const mf = new MFunction(fn, "f", goals[random.below(4)]!, x64Target);
  const calls = random.chance(0.6);
  if (random.chance(0.15)) mf.hasDynamicAlloca = true;
  if (random.chance(0.1)) mf.needsFramePointer = true;
  if (random.chance(0.2)) mf.noRedZone = true;
  const aligns = random.chance(0.15) ? [8, 32, 64] : [1, 4, 8, 16];
  const slots = random.below(6);
  for (let i = 0; i < slots; i++) {
    const align = aligns[random.below(aligns.length)]!;
    mf.newSlot(
      1 + random.below(random.chance(0.2) ? 300 : 24),
      align,
      random.chance(0.5) ? "local" : "spill",
    );
  }
  if (random.chance(0.3)) mf.newSlot(8, 8, "incoming", 8 * random.below(3));
  let usable = calleeSavedMask;
  if (needsFramePointer(mf)) usable = withoutRegister(usable, RBP);
  if (needsBasePointer(mf)) usable = withoutRegister(usable, R15);
  let written = noRegisters;
  for (let r = 0; r < 16; r++)
    if (hasRegister(usable, r) && random.chance(0.3)) written = withRegister(written, r);
  const count = 1 + random.below(5);
  for (let i = 0; i < count; i++) mf.newBlock();
  mf.blocks.forEach((block, i) => {
    fillBlock(mf, block, random, calls, written);
    endBlock(mf, block, i, random);
  });
  if (calls) written = union(written, callClobbers);
  return { mf, written };
}

function fillBlock(mf: MFunction, block: MBlock, random: Random, calls: boolean, written: RegisterSet): void {
  for (let r = 0; r < 16; r++) if (hasRegister(written, r)) block.insts.push(movImm(8, r, 77));
  for (let n = random.below(5); n > 0; n--) {
    if (mf.slots.length > 0 && random.chance(0.6)) block.insts.push(access(mf, random));
    else if (calls) call(mf, block, random);
    else if (mf.hasDynamicAlloca) allocate(block, random);
  }
  if (calls && random.chance(0.5)) call(mf, block, random);
}

/** A store of one byte somewhere in a slot. */
function access(mf: MFunction, random: Random): MInst {
  const slot = random.below(mf.slots.length);
  const inst = new MInst(X.MovM, 1);
  inst.mem = slotOperand(slot);
  inst.mem.disp = random.below(mf.slots[slot]!.size);
  inst.uses.push(physical(RCX));
  return inst;
}

function call(mf: MFunction, block: MBlock, random: Random): void {
  mf.hasCalls = true;
  const args = random.chance(0.4) ? 1 + random.below(3) : 0;
  const pseudo = (op: X): void => {
    const inst = new MInst(op, 8);
    inst.imm = 8 * args;
    block.insts.push(inst);
  };
  if (args > 0) pseudo(X.CallSetup);
  for (let i = 0; i < args; i++) {
    const push = new MInst(X.Push, 8);
    push.imm = i;
    block.insts.push(push);
    if (mf.slots.length > 0 && random.chance(0.3)) block.insts.push(access(mf, random));
  }
  const inst = new MInst(X.Call, 8);
  inst.symbol = { kind: "plt", target: { kind: "external", name: "g" } };
  inst.clobbers = callClobbers;
  // Half of the callees need no alignment: the checks below know them by their names.
  const callee = random.chance(0.5) ? relaxed : null;
  if (callee !== null) inst.symbol = { kind: "plt", target: { kind: "global", global: callee } };
  inst.extra = {
    kind: "call",
    callee,
    calleeSet: -1,
    noReturn: false,
    returnsTwice: false,
    unwind: null,
    noUnwind: false,
    pushed: 0,
    hasStored: false,
  };
  block.insts.push(inst);
  if (args > 0) pseudo(X.CallCleanup);
}

function allocate(block: MBlock, random: Random): void {
  block.insts.push(movImm(8, RAX, random.below(100)));
  const inst = new MInst(X.DynamicAlloca, 8);
  inst.uses.push(physical(RAX));
  inst.defs.push(physical(RAX));
  inst.imm = 16;
  block.insts.push(inst);
}

function endBlock(mf: MFunction, block: MBlock, index: number, random: Random): void {
  const later = mf.blocks.slice(index + 1);
  const target = (): MBlock => later[random.below(later.length)]!;
  const connect = (to: MBlock): MBlock => {
    if (!block.succs.includes(to)) {
      block.succs.push(to);
      to.preds.push(block);
    }
    return to;
  };
  if (later.length === 0 || random.chance(0.25)) {
    const op = random.chance(0.2) ? X.TailCall : X.Ret;
    const exit = new MInst(op, 8);
    if (op === X.TailCall) exit.symbol = { kind: "direct", target: { kind: "external", name: "h" } };
    block.insts.push(exit);
    return;
  }
  if (random.chance(0.6)) {
    block.insts.push(aluImm(X.Add, 4, RAX, 3));
    const branch = new MInst(X.Jcc, 8);
    branch.condition = 4;
    branch.targets = [connect(target())];
    block.insts.push(branch);
  }
  const jump = new MInst(X.Jmp, 8);
  jump.targets = [connect(target())];
  block.insts.push(jump);
}

/** Finishes the function and runs a few paths; returns what went wrong. */
function check(seed: number): string | null {
  const random = new Random(seed * 7919 + 1);
  const { mf, written } = makeFunction(random);
  const stats = { moves: 0, spills: 0, spillSlots: 0, reloads: 0, rematerializations: 0 };
  try {
    finishFunction(
      mf,
      { written, usedCalleeSaved: intersect(written, calleeSavedMask), ...stats },
      {
        alignedCall: (callee) => callee !== relaxed,
      },
    );
    for (let path = 0; path < 6; path++) {
      const machine = new Machine(mf, {
        choose: (n) => random.below(n),
        access: (address, _size, inst, rsp) => {
          if (hasSegment(inst.mem!)) return;
          const leaf = !mf.hasCalls;
          if (address < rsp - (leaf && !mf.noRedZone ? 128 : 0)) throw new Error("access below the stack");
        },
      });
      machine.run();
    }
    return null;
  } catch (error) {
    return `seed ${seed} (${mf.goal}): ${(error as Error).message}`;
  }
}

describe("frames", () => {
  test("of random functions keep the ABI and unwind from every instruction", () => {
    const complaints: string[] = [];
    for (let seed = 1; seed <= 3000; seed++) {
      const complaint = check(seed);
      if (complaint !== null) complaints.push(complaint);
    }
    expect(complaints.slice(0, 20)).toEqual([]);
  });
});
