/**
 * A made-up machine for testing allocators: few registers, every kind of constraint, and an interpreter.
 *
 * Class 0 are registers 0–15, class 1 registers 16–31; how many are allocatable is a parameter. Registers 3, 5
 * and from 12 on are callee-saved.
 */

import { MemOperand, type MFunction, MInst, RegOperand, unwindTarget } from "../../lto/codegen/mir.js";
import { isEmptySet, lowWord, setOfWords } from "../../lto/codegen/register-set.js";
import type { Target, TargetRegisters } from "../../lto/codegen/target.js";

export enum Op {
  Copy = 0,
  Store,
  Load,
  Swap,
  /** Recomputable: imm. */
  Const,
  /** Anything with operands; imm is its identity. */
  Work,
  Call,
  LandingPad,
  Jump,
  Branch,
  Return,
}

export const calleeSaved = (1 << 3) | (1 << 5) | 0xf000;

/** A target with `general` allocatable registers of class 0 and `vector` of class 1. */
export function mockTarget(general: number, vector: number): TargetRegisters {
  const masks = [(2 ** general - 1) | 0, ((2 ** vector - 1) << 16) | 0];
  const physical = RegOperand.physical;
  return {
    dwarfNumber: (register) => register,
    names: Array.from({ length: 32 }, (_, r) => (r < 16 ? `r${r}` : `x${r - 16}`)),
    generalCount: 16,
    stackPointer: -1,
    framePointer: -1,
    flags: -1,
    classCount: 2,
    count: 32,
    all: setOfWords(-1),
    allocatable: (_fn, cls) => setOfWords(masks[cls]!),
    calleeSaved: setOfWords(calleeSaved),
    callClobbers: setOfWords(~calleeSaved),
    mentionCost: (reg) => (reg >= 8 && reg < 16 ? 1 : 0),
    bytes: {
      move: (size) => (size === 8 || size === 16 ? 3 : 2),
      memory: (size) => (size === 4 ? 4 : 5),
      fold: 2,
      remat: 5,
    },
    saveCost: (reg) => (reg < 8 ? 2 : 4),
    move(_cls, size, to, from) {
      const inst = new MInst(Op.Copy, size);
      inst.defs.push(physical(to));
      inst.uses.push(physical(from));
      return inst;
    },
    store(_cls, size, slot, from) {
      const inst = new MInst(Op.Store, size);
      inst.uses.push(physical(from));
      inst.mem = new MemOperand(null, null, 0, null, slot);
      return inst;
    },
    load(_cls, size, to, slot) {
      const inst = new MInst(Op.Load, size);
      inst.defs.push(physical(to));
      inst.mem = new MemOperand(null, null, 0, null, slot);
      return inst;
    },
    swap(cls, a, b) {
      if (cls !== 0) return null;
      const inst = new MInst(Op.Swap, 8);
      inst.defs.push(physical(a), physical(b));
      inst.uses.push(physical(a), physical(b));
      return inst;
    },
    rematerialize(definition, to) {
      const inst = new MInst(definition.op, definition.size);
      inst.imm = definition.imm;
      inst.defs.push(physical(to));
      return inst;
    },
    storeConstant(definition, size, slot) {
      if (((definition.imm as number) & 1) === 0) return null;
      const inst = new MInst(Op.Store, size);
      inst.imm = definition.imm;
      inst.mem = new MemOperand(null, null, 0, null, slot);
      return inst;
    },
    terminatorStart(insts) {
      let start = insts.length;
      while (start > 0 && (insts[start - 1]!.op >= Op.Jump || unwindTarget(insts[start - 1]!) !== null))
        start--;
      return start;
    },
  };
}

/** A readable listing, for failing tests. */
export function show(fn: MFunction): string {
  const place = (loc: number): string => (loc === -(2 ** 31) ? "" : loc < 0 ? `@s${~loc}` : `@${loc}`);
  const operand = (o: RegOperand): string =>
    `${o.vreg >= 0 ? `v${o.vreg}` : ""}${isEmptySet(o.allowed) ? "" : `:${(lowWord(o.allowed) >>> 0).toString(16)}`}${
      o.mayBeSlot ? "?" : ""
    }${o.early ? "!" : ""}${o.tiedTo >= 0 ? `=${o.tiedTo}` : ""}${place(o.loc)}`;
  const lines: string[] = [];
  for (const block of fn.blocks) {
    lines.push(`b${block.id}(${block.params.map(operand).join(", ")}):${block.landingPad ? " pad" : ""}`);
    for (const inst of block.insts) {
      const mem = inst.mem;
      const address =
        mem === null
          ? ""
          : ` [${mem.base ? operand(mem.base) : ""}+${mem.index ? operand(mem.index) : ""}${mem.slot >= 0 ? `s${mem.slot}` : ""}]`;
      const clobbers = isEmptySet(inst.clobbers)
        ? ""
        : ` clobbers ${(lowWord(inst.clobbers) >>> 0).toString(16)}`;
      lines.push(
        `  ${inst.defs.map(operand).join(", ")} <- ${Op[inst.op]} ${inst.imm ?? ""} ${inst.uses.map(operand).join(", ")}${address}${clobbers}`,
      );
    }
    for (let s = 0; s < block.succs.length; s++) {
      lines.push(`  -> b${block.succs[s]!.id}(${(block.succArgs[s] ?? []).map(operand).join(", ")})`);
    }
  }
  return lines.join("\n");
}

/** What functions for the mock target are made for: allocation asks for no more of a target than registers. */
export const mockMachine = { registers: mockTarget(16, 16) } as Target;
