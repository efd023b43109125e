/**
 * Mentions of variables as addresses from a base register: `lto/codegen/late/section-anchors.ts` decides which.
 * In static code an address fits 32 bits, so that what loads it may clear the upper half.
 */
import { withMemory } from "../codegen/clone.js";
import { anchorSymbol } from "../codegen/late/global-cluster.js";
import { type MemOperand, type MFunction, MInst, type RegOperand, type SymbolRef } from "../codegen/mir.js";
import { hasRegister } from "../codegen/register-set.js";
import type { BaseRegisters } from "../codegen/target.js";
import type { GlobalValue } from "../ir/module.js";
import { movesStack } from "./frame/cfa.js";
import { lea, physical } from "./isa/build.js";
import { writtenRegisters } from "./isa/effects.js";
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

const addend = ({ mem, imm }: MInst): number => (mem === null ? Number(imm ?? 0) : mem.disp);

function rebase(inst: MInst, register: number, offset: (variable: GlobalValue) => number): MInst | null {
  const from = offset(mentioned(inst)!) + addend(inst);
  if (from < -128 || from > 127) return null;
  if (inst.mem === null) return lea(4, inst.defs[0]!.loc, memory(physical(register), null, 1, from));
  const { base, index } = inst.mem;
  const scale = index === null ? 1 : scaleOf(inst.mem);
  return withMemory(inst, memory(physical(register), index ?? base, scale, from));
}

function setTo(register: number, symbol: SymbolRef, bytes: number, isPositionIndependent: boolean): MInst {
  if (isPositionIndependent) return lea(8, register, memory(null, null, 1, bytes, symbol, true));
  const inst = new MInst(X.Mov, 4);
  inst.defs = [physical(register)];
  inst.symbol = symbol;
  if (bytes !== 0) inst.imm = bytes;
  return inst;
}

function distance(inst: MInst): number {
  const { mem } = inst;
  if (mem === null || mem.base === null || mem.symbol !== null || mem.slot >= 0) return Number.NaN;
  if (hasSegment(mem) || opFormat[inst.op] === Format.Pseudo) return Number.NaN;
  // What is popped to memory is addressed from where rsp is then.
  if (mem.base.loc === RSP && (inst.op === X.Push || inst.op === X.Pop)) return Number.NaN;
  // The unwinder follows these from the very registers they name.
  if (inst.op === X.Lea && isFrame(mem.base) && isFrame(inst.defs[0]!)) return Number.NaN;
  return mem.disp;
}
const isFrame = ({ loc }: RegOperand): boolean => loc === RSP || loc === RBP;

function atDistance(inst: MInst, register: number, distance: number): MInst {
  const { index } = inst.mem!;
  const scale = index === null ? 1 : scaleOf(inst.mem!);
  return withMemory(inst, memory(physical(register), index, scale, distance));
}

/** Of rsp nothing else tells: in sets of registers its place is that of the flags. */
function changes(inst: MInst, register: number): boolean {
  if (register !== RSP) return hasRegister(writtenRegisters(inst), register);
  return (
    movesStack(inst) ||
    inst.op === X.Pop ||
    inst.op === X.PopSaved ||
    inst.defs.some(({ loc }) => loc === RSP)
  );
}

export const x64BaseRegisters: BaseRegisters = {
  // As a base, r12 needs a byte more.
  registers: ({ framePointer }: MFunction) =>
    Array.from({ length: 16 }, (_, r) => r).filter(
      (r) => r !== RSP && r !== R12 && !(framePointer && r === RBP),
    ),
  mentioned,
  addend,
  rebase,
  set: (register, isPositionIndependent) => setTo(register, anchor, 0, isPositionIndependent),
  setBehind: (register, global, bytes, isPositionIndependent) =>
    setTo(register, { kind: "direct", target: { kind: "global", global } }, bytes, isPositionIndependent),
  distance,
  pointer: (inst) => inst.mem!.base!.loc,
  atDistance,
  setDistance: (register, from, distance) => lea(8, register, memory(physical(from), null, 1, distance)),
  changes,
};
