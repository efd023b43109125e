/**
 * Mentions of variables as addresses from a base register: `lto/codegen/late/base-registers.ts` decides which.
 * In static code an address fits 32 bits, so that what loads it may clear the upper half.
 */
import { cloneInst } from "../codegen/clone.js";
import { anchorSymbol } from "../codegen/late/global-cluster.js";
import { type MemOperand, type MFunction, MInst, type SymbolRef } from "../codegen/mir.js";
import type { BaseRegisters } from "../codegen/target.js";
import type { GlobalValue } from "../ir/module.js";
import { lea, physical } from "./isa/build.js";
import { hasSegment, memory, scaleOf } from "./isa/memory-operand.js";
import { opFormat } from "./isa/op-info.js";
import { Format, X } from "./isa/ops.js";
import { R12, RBP, RSP } from "./isa/registers.js";

const anchor: SymbolRef = { kind: "direct", target: { kind: "external", name: anchorSymbol } };

const globalOf = (symbol: SymbolRef | null): GlobalValue | null =>
  symbol !== null && symbol.kind === "direct" && symbol.target.kind === "global"
    ? symbol.target.global
    : null;

/** The operand has a register to spare. */
const isOpen = (mem: MemOperand): boolean =>
  !hasSegment(mem) && mem.slot < 0 && (mem.base === null || (mem.index === null && mem.base.loc !== RSP));

/** `mov $variable, register`. */
const loadsAddress = (inst: MInst): boolean =>
  inst.op === X.Mov &&
  inst.mem === null &&
  inst.size >= 4 &&
  inst.defs.length === 1 &&
  inst.uses.length === 0;

function mentioned(inst: MInst): GlobalValue | null {
  if (inst.mem !== null)
    return opFormat[inst.op] !== Format.Pseudo && isOpen(inst.mem) ? globalOf(inst.mem.symbol) : null;
  return loadsAddress(inst) ? globalOf(inst.symbol) : null;
}

function rebase(inst: MInst, register: number, offset: (variable: GlobalValue) => number): MInst | null {
  const variable = mentioned(inst)!;
  const addend = inst.mem === null ? Number(inst.imm ?? 0) : inst.mem.disp;
  const from = offset(variable) + addend;
  if (from < -128 || from > 127) return null;
  if (inst.mem === null) return lea(4, inst.defs[0]!.loc, memory(physical(register), null, 1, from));
  const copy = cloneInst(inst);
  const { base, index } = copy.mem!;
  copy.mem = memory(physical(register), index ?? base, index === null ? 1 : scaleOf(copy.mem!), from);
  return copy;
}

function set(register: number, isPositionIndependent: boolean): MInst {
  if (isPositionIndependent) return lea(8, register, memory(null, null, 1, 0, anchor, true));
  const inst = new MInst(X.Mov, 4);
  inst.defs = [physical(register)];
  inst.symbol = anchor;
  return inst;
}

export const x64BaseRegisters: BaseRegisters = {
  // As a base, r12 needs a byte more.
  registers: ({ framePointer }: MFunction) =>
    Array.from({ length: 16 }, (_, r) => r).filter(
      (r) => r !== RSP && r !== R12 && !(framePointer && r === RBP),
    ),
  mentioned,
  rebase,
  set,
};
