/** What code for AVX-512 shares: which vectors it applies to, and bits of masks by register. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import type { VectorTarget } from "../../codegen/legalize/target.js";
import { type Inst, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { VectorFeatures } from "../isa/vector-features.js";
import { itsOwn, underMask, wordType } from "./evex-assembly.js";
import { bitsOf, shapeOf } from "./vectors-shape.js";
import { letterOf } from "./vectors-sse.js";

/** Moves of lanes under a mask, which need no alignment. */
export const laneMoves: Readonly<Record<number, string>> = {
  8: "vmovdqu8",
  16: "vmovdqu16",
  32: "vmovdqu32",
  64: "vmovdqu64",
};

export interface Evex {
  readonly features: VectorFeatures;
  /** What does the rest, on 256 bits. */
  readonly avx: VectorTarget;
}

/** Whether a vector fills registers of 512 bits with lanes that there are instructions for. */
export function isWhole(type: Type, { bw }: VectorFeatures): boolean {
  if (type.kind !== "vector") return false;
  const { representation, isExact, laneBits, count } = shapeOf(type);
  return representation === "lanes" && isExact && (count * laneBits) % 512 === 0 && (bw || laneBits >= 32);
}

/** The same, or a register of 128 or 256 bits, where masks apply to these. */
export function isMaskable(type: Type, features: VectorFeatures): boolean {
  if (isWhole(type, features)) return true;
  if (!features.vl || type.kind !== "vector") return false;
  const { representation, isExact, laneBits, count } = shapeOf(type);
  const bits = count * laneBits;
  return (
    representation === "lanes" && isExact && (bits === 128 || bits === 256) && (features.bw || laneBits >= 32)
  );
}

/** Bits of registers in a row, of a vector of `count` lanes. */
export function joinWords(l: Lowering, count: number, perRegister: number, own: readonly Value[]): Value {
  const result = wordType(count);
  let word: Value | null = null;
  own.forEach((bits, i) => {
    const wide = bits.type === result ? bits : l.cast(Op.ZExt, bits, result);
    const moved = i === 0 ? wide : l.shl(wide, i * perRegister);
    word = word === null ? moved : l.or(word, moved);
  });
  return word!;
}

/** What selection makes one instruction of that AVX-512 has under a mask as well, by operation; `L` is the letter of its lanes. */
const maskedOperations: Readonly<Record<number, string>> = {
  [Op.Add]: "vpaddL",
  [Op.Sub]: "vpsubL",
  [Op.Mul]: "vpmullL",
  [Op.And]: "vpandL",
  [Op.Or]: "vporL",
  [Op.Xor]: "vpxorL",
  [Op.FAdd]: "vaddpL",
  [Op.FSub]: "vsubpL",
  [Op.FMul]: "vmulpL",
};
/** The same among instructions of the table, on lanes of the letter at the end, in the order of their sources. */
const maskedInstructions = /^tsc\.x64\.v\.((?:Max|Min)p|P(?:max|min)[su])([bwdqs])$/;

/** The mnemonic of an operation on two registers, where it takes a mask of as many lanes as it has; null: it does not, or is dear. */
function maskedMnemonic(l: Lowering, set: Value): string | null {
  if (set.valueKind !== "inst" || set.parent !== l.block) return null;
  const { element } = set.type;
  const isFloat = element.kind === "float" || element.kind === "double";
  const letter = isFloat ? (element.kind === "float" ? "s" : "d") : letterOf(bitsOf(element));
  if (set.op === Op.Call) {
    const callee = set.operands[0]!;
    const match = callee.valueKind === "global" ? maskedInstructions.exec(callee.name) : null;
    return match !== null && match[2] === letter ? `v${match[1]!.toLowerCase()}${letter}` : null;
  }
  const name = maskedOperations[set.op];
  if (name === undefined) return null;
  // Bitwise operations have lanes of 32 and 64 bits alone; products of bytes and quadwords are several instructions, or dear.
  const isBitwise = set.op === Op.And || set.op === Op.Or || set.op === Op.Xor;
  if (isBitwise && bitsOf(element) < 32) return null;
  if (set.op === Op.Mul && bitsOf(element) !== 16 && bitsOf(element) !== 32) return null;
  return name.replace("L", letter);
}

/**
 * Lanes of registers chosen by the bits of a mask. An operation whose lanes are chosen is done under the mask: as cheap as the choice
 * where somebody else reads it, too, and otherwise it goes.
 */
export function blendByWord(l: Lowering, word: Value, set: Value, clear: Value): Value {
  const { type } = set;
  if (set === clear) return set;
  const bits = bitsOf(type.element);
  const mnemonic = maskedMnemonic(l, set);
  if (mnemonic !== null && clear.valueKind !== "undef") {
    const [a, b] = (set as Inst).operands.slice(-2) as [Value, Value];
    const rest = clear.valueKind === "zero" ? null : clear;
    return underMask(l, `${mnemonic} $2, $1`, type, type.count, word, rest, [a, b]);
  }
  if (clear.valueKind === "zero") {
    return underMask(l, `${laneMoves[bits]!} $1`, type, type.count, word, null, [set]);
  }
  return underMask(l, `vpblendm${letterOf(bits)} $1, $2`, type, type.count, word, itsOwn, [set, clear]);
}

/** The bits of a mask that belong to register `at` of a vector. */
export function wordAt(l: Lowering, word: Value, count: number, perRegister: number, at: number): Value {
  if (count === perRegister) return word;
  const type = wordType(perRegister);
  const moved = at === 0 ? word : l.lshr(word, at * perRegister);
  return moved.type === type ? moved : l.cast(Op.Trunc, moved, type);
}
