/**
 * Neighbouring stores of constants become fewer, wider ones.
 *
 * A run is a row of plain immediate stores off the same registers and symbol. Its bytes, laid out by address, are cut again into
 * the widest pieces that one immediate can express (8 bytes where the upper half is the sign of the lower). Taken when
 * there are fewer pieces than stores before.
 * n log n in a run.
 * Proof obligations: the stores are neither volatile nor atomic (`AccessMark.Plain`), nothing lies between them, and
 * no two of them overlap.
 */
import { type MemOperand, MInst } from "../../../codegen/mir.js";
import { sameSymbol } from "../../../codegen/same-inst.js";
import { physical } from "../../isa/build.js";
import { isRipRelative, memory, scaleOf, segmentOf } from "../../isa/memory-operand.js";
import { AccessMark, X } from "../../isa/ops.js";
import { Gain, Needs, type Rule, type RuleGroup } from "../rule.js";

/** Stores of a run; longer rows are cut. */
const runLimit = 32;

function isConstantStore(inst: MInst): boolean {
  return inst.op === X.MovM && inst.marks === AccessMark.Plain && inst.imm !== null && inst.symbol === null;
}

/** Addresses that differ by their displacement only. */
function sameButDisplacement(a: MemOperand, b: MemOperand): boolean {
  return (
    (a.base === null ? -1 : a.base.loc) === (b.base === null ? -1 : b.base.loc) &&
    (a.index === null ? -1 : a.index.loc) === (b.index === null ? -1 : b.index.loc) &&
    scaleOf(a) === scaleOf(b) &&
    sameSymbol(a.symbol, b.symbol) &&
    isRipRelative(a) === isRipRelative(b) &&
    segmentOf(a) === segmentOf(b) &&
    a.slot < 0 &&
    b.slot < 0
  );
}

/** The store's bytes, lowest address first. */
function bytesOf(inst: MInst): number[] {
  const value = Number(inst.imm) | 0;
  const bytes: number[] = [];
  for (let i = 0; i < inst.size; i++) bytes.push(i < 4 ? (value >> (8 * i)) & 0xff : value < 0 ? 0xff : 0);
  return bytes;
}

const word = (bytes: readonly number[], at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

/** Immediate of a store of `size` bytes from `at`, or null where there is none. */
function immediateAt(bytes: readonly number[], at: number, size: number): number | null {
  if (at + size > bytes.length) return null;
  switch (size) {
    case 8: {
      const low = word(bytes, at);
      return word(bytes, at + 4) === low >> 31 ? low : null;
    }
    case 4:
      return word(bytes, at);
    case 2:
      return bytes[at]! | (bytes[at + 1]! << 8);
    default:
      return bytes[at]!;
  }
}

function storeOf(like: MemOperand, disp: number, size: number, imm: number): MInst {
  const inst = new MInst(X.MovM, size);
  inst.imm = imm;
  inst.marks = AccessMark.Plain;
  const base = like.base === null ? null : physical(like.base.loc);
  const index = like.index === null ? null : physical(like.index.loc);
  inst.mem = memory(base, index, scaleOf(like), disp, like.symbol, isRipRelative(like), -1, segmentOf(like));
  return inst;
}

/** The run's bytes in new pieces; null if there would not be fewer. */
function recut(run: readonly MInst[]): MInst[] | null {
  const sorted = [...run].sort((a, b) => a.mem!.disp - b.mem!.disp);
  const pieces: MInst[] = [];
  for (let i = 0; i < sorted.length; ) {
    const start = sorted[i]!.mem!.disp;
    const bytes: number[] = [];
    for (; i < sorted.length && sorted[i]!.mem!.disp <= start + bytes.length; i++) {
      if (sorted[i]!.mem!.disp < start + bytes.length) return null; // they overlap: order counts
      bytes.push(...bytesOf(sorted[i]!));
    }
    for (let at = 0; at < bytes.length; ) {
      let size = 8;
      let imm = immediateAt(bytes, at, size);
      while (imm === null) imm = immediateAt(bytes, at, (size /= 2));
      pieces.push(storeOf(sorted[0]!.mem!, start + at, size, imm));
      at += size;
    }
  }
  return pieces.length < run.length ? pieces : null;
}

const mergeConstantStores: Rule = {
  name: "merge-constant-stores",
  description: "movb $1, m; movb $2, m+1 → movw $0x201, m, and likewise for all sizes",
  opcodes: [X.MovM],
  needs: Needs.Immediate,
  window: 0,
  gain: Gain.Shorter,
  apply(m) {
    const { inst, insts, index } = m;
    if (index < m.nextRun || !isConstantStore(inst)) return;
    let end = index + 1;
    while (
      end < insts.length &&
      end - index < runLimit &&
      isConstantStore(insts[end]!) &&
      sameButDisplacement(inst.mem!, insts[end]!.mem!)
    )
      end++;
    m.nextRun = end;
    if (end - index < 2) return;
    const pieces = recut(insts.slice(index, end));
    if (pieces !== null) m.replaceRun(end, pieces);
  },
};

export const storeRules: RuleGroup = {
  forward: [mergeConstantStores],
};
