/** Equality and hash of machine instructions with physical operands: same text, same effect. */
import type { JumpTable, MExtra, MemOperand, MInst, RegOperand, SymbolRef } from "./mir.js";

function sameRegister(a: RegOperand | null, b: RegOperand | null): boolean {
  return a === null || b === null ? a === b : a.loc === b.loc;
}

/** The two tables lead to the same blocks. */
function sameTable({ targets: a }: JumpTable, { targets: b }: JumpTable): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every((target, i) => target === b[i]);
}

export function sameSymbol(a: SymbolRef | null, b: SymbolRef | null): boolean {
  if (a === null || b === null) return a === b;
  if (a === b) return true;
  const x = a.target;
  const y = b.target;
  if (a.kind !== b.kind || x.kind !== y.kind) return false;
  switch (x.kind) {
    case "global":
      return y.kind === "global" && x.global === y.global;
    case "block":
      return y.kind === "block" && x.block === y.block;
    case "foreign-block":
      return y.kind === "foreign-block" && x.global === y.global && x.block === y.block;
    case "constant":
      return y.kind === "constant" && x.constant === y.constant;
    case "jump-table":
      return y.kind === "jump-table" && sameTable(x.table, y.table);
    case "external":
      return y.kind === "external" && x.name === y.name;
  }
}

export function sameMem(a: MemOperand | null, b: MemOperand | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.disp === b.disp &&
    a.mode === b.mode &&
    a.slot === b.slot &&
    sameRegister(a.base, b.base) &&
    sameRegister(a.index, b.index) &&
    sameSymbol(a.symbol, b.symbol)
  );
}

function sameExtra(a: MExtra | null, b: MExtra | null): boolean {
  if (a === b) return true;
  if (a === null || b === null || a.kind !== b.kind) return false;
  if (a.kind === "call" && b.kind === "call")
    return (
      a.callee === b.callee &&
      a.calleeSet === b.calleeSet &&
      a.noReturn === b.noReturn &&
      a.returnsTwice === b.returnsTwice &&
      a.unwind === b.unwind &&
      a.noUnwind === b.noUnwind &&
      a.pushed === b.pushed &&
      a.hasStored === b.hasStored
    );
  if (a.kind === "number" && b.kind === "number") return a.value === b.value;
  if (a.kind === "unwind" && b.kind === "unwind")
    return a.directive === b.directive && a.register === b.register && a.offset === b.offset;
  // Two pieces of inline assembly stay two: their text may define symbols.
  return a.kind === "jump-table" && b.kind === "jump-table" && sameTable(a.table, b.table);
}

function sameLocations(a: readonly RegOperand[], b: readonly RegOperand[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i]!.loc !== b[i]!.loc) return false;
  return true;
}

/** The two do the same and are printed the same. */
export function sameInst(a: MInst, b: MInst): boolean {
  if (a.op !== b.op || a.size !== b.size || a.imm !== b.imm) return false;
  if (a.condition !== b.condition || a.marks !== b.marks) return false;
  if (!sameLocations(a.defs, b.defs) || !sameLocations(a.uses, b.uses) || !sameMem(a.mem, b.mem))
    return false;
  if (!sameSymbol(a.symbol, b.symbol) || !sameExtra(a.extra, b.extra)) return false;
  if (a.targets.length !== b.targets.length) return false;
  for (let i = 0; i < a.targets.length; i++) if (a.targets[i] !== b.targets[i]) return false;
  return true;
}

const mix = (hash: number, value: number): number => (Math.imul(hash, 0x01000193) ^ value) | 0;

/** A number that is equal for equal instructions. */
export function hashInst(inst: MInst): number {
  let hash = inst.op * 31 + inst.size;
  hash = mix(hash, inst.condition);
  if (inst.imm !== null) hash = mix(hash, Number(inst.imm) | 0);
  for (const def of inst.defs) hash = mix(hash, def.loc);
  for (const use of inst.uses) hash = mix(hash, use.loc + 64);
  const { mem } = inst;
  if (mem !== null) {
    hash = mix(hash, mem.disp);
    if (mem.base !== null) hash = mix(hash, mem.base.loc + 128);
    if (mem.index !== null) hash = mix(hash, mem.index.loc + 192);
  }
  for (const target of inst.targets) hash = mix(hash, target.id + 1024);
  return hash;
}
