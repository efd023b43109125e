/**
 * Operations that AVX-512 has instructions or short sequences for, on registers of 512 bits, and what works with masks at any
 * width; what is none of these is null, and is done on halves.
 */
import { elementOf } from "../../codegen/legalize/constants.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import {
  type BinaryOp,
  type FloatPredicate,
  type Inst,
  type IntPredicate,
  Op,
} from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { constInt, isConstant, type Value, zeroOf } from "../../ir/values.js";
import {
  compareImmediates,
  isElsewhere,
  multiplyQuads,
  pinnedParts,
  type Shift,
  shiftBy,
} from "./avx-native.js";
import { halvesOf, isWide, isWidest, vex } from "./avx-registers.js";
import { makeMask, wordType } from "./evex-assembly.js";
import { nativeEvexCast } from "./evex-cast.js";
import { knownWord, maskOfWord, wordOf } from "./evex-masks.js";
import { blendByWord, type Evex, isMaskable, isWhole, joinWords, wordAt } from "./evex-parts.js";
import { nativeEvexShuffle } from "./evex-shuffle.js";
import { isNonNegative, isSplat, uniformConstant } from "./vectors-facts.js";
import { shiftCount } from "./vectors-lanes.js";
import { shapeOf } from "./vectors-shape.js";
import { letterOf } from "./vectors-sse.js";

/** The parts of an instruction on vectors; null: it is done on halves. */
export function nativeEvexOperation(l: Lowering, inst: Inst, evex: Evex): Parts | null {
  const { operands } = inst;
  switch (inst.op) {
    case Op.ICmp:
    case Op.FCmp:
      return compare(l, inst.data, inst.type, operands[0]!, operands[1]!, evex);
    case Op.Select:
      return select(l, operands[0]!, operands[1]!, operands[2]!, evex);
    case Op.ShuffleVector:
      return nativeEvexShuffle(l, operands[0]!, operands[1]!, inst.type, inst.data, evex);
    case Op.FNeg:
      if (!isWhole(inst.type, evex.features) || !shapeOf(inst.type).lane.isFloat) return null;
      return pinnedParts(l, operands[0]!).map((r) => l.fneg(r, inst.flags));
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.FPTrunc:
    case Op.FPExt:
    case Op.FPToUI:
    case Op.FPToSI:
    case Op.UIToFP:
    case Op.SIToFP:
      return nativeEvexCast(l, inst, operands[0]!, evex);
    default:
      if (inst.op >= Op.Add && inst.op <= Op.Xor)
        return binary(l, inst.op as BinaryOp, inst.type, operands[0]!, operands[1]!, inst.flags, evex);
      return null;
  }
}

function binary(
  l: Lowering,
  op: BinaryOp,
  type: Type,
  left: Value,
  right: Value,
  flags: number,
  evex: Evex,
): Parts | null {
  if (shapeOf(type).representation === "mask") return logical(l, op, type, left, right, evex);
  const { laneBits, lane } = shapeOf(type);
  if (!isWhole(type, evex.features) && !(isMaskable(type, evex.features) && isOnlyEvex(op, laneBits, evex)))
    return null;
  const a = pinnedParts(l, left);
  const b = pinnedParts(l, right);
  const each = (f: (x: Value, y: Value) => Value): Parts => a.map((x, i) => f(x, b[i]!));
  switch (op) {
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.Add:
    case Op.Sub:
      return each((x, y) => l.bin(op, x, y, flags));
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
      return lane.isFloat ? each((x, y) => l.bin(op, x, y, flags)) : null;
    case Op.Mul:
      if (laneBits === 8) return null;
      if (laneBits < 64) return each((x, y) => l.bin(Op.Mul, x, y));
      return multiplyQuads(
        l,
        left,
        right,
        evex.features.dq ? (x, y) => vex(l, "Pmullq", x.type, x, y) : null,
      );
    case Op.Shl:
      return shift(l, "ll", right, a, b);
    case Op.LShr:
      return shift(l, "rl", right, a, b);
    case Op.AShr:
      return shift(l, "ra", right, a, b);
    default:
      return null;
  }
}

/** Whether AVX2 has no instruction for what AVX-512 has one for, of 128 bits and up. */
function isOnlyEvex(op: BinaryOp, laneBits: number, { features }: Evex): boolean {
  if (laneBits === 64) return op === Op.AShr || (op === Op.Mul && features.dq);
  return laneBits === 16 && (op === Op.Shl || op === Op.LShr || op === Op.AShr);
}

function shift(l: Lowering, kind: Shift, amounts: Value, a: Parts, b: Parts): Parts | null {
  const { bits } = a[0]!.type.element;
  if (bits === 8) return null;
  const constant = uniformConstant(amounts);
  if (constant !== null)
    return a.map((r) => (constant >= bits ? zeroOf(r.type) : shiftBy(l, kind, r, constant)));
  if (isSplat(amounts) && !isElsewhere(l, amounts)) {
    let first = b[0]!;
    while (isWide(first.type) || isWidest(first.type)) first = halvesOf(l, first)[0];
    const count = shiftCount(l, amounts, first);
    return a.map((r) => vex(l, `Ps${kind}${letterOf(bits)}`, r.type, r, count));
  }
  return a.map((r, i) => vex(l, `Ps${kind}v${letterOf(bits)}`, r.type, r, b[i]!));
}

/** Operations on masks of which one at least is known by its bits. */
function logical(l: Lowering, op: BinaryOp, type: Type, left: Value, right: Value, evex: Evex): Parts | null {
  const machine = op === Op.Add || op === Op.Sub ? Op.Xor : op === Op.Mul ? Op.And : op;
  if (machine !== Op.And && machine !== Op.Or && machine !== Op.Xor) return null;
  const a = l.parts(left);
  const b = l.parts(right);
  if (type.count > 64 || (knownWord(a) ?? knownWord(b)) === undefined) return null;
  const word = l.bin(machine, operandWord(l, type, left, a, evex), operandWord(l, type, right, b, evex));
  return maskOfWord(l, evex.avx, type, word);
}

function operandWord(l: Lowering, type: Type, value: Value, parts: Parts, { avx }: Evex): Value {
  if (!isConstant(value) || value.valueKind === "expr") return wordOf(l, avx, type, parts);
  let bits = 0n;
  for (let i = 0; i < type.count; i++) {
    const element = elementOf(value, i);
    if (element.valueKind === "int" && (element.num & 1) !== 0) bits |= 1n << BigInt(i);
  }
  return constInt(wordType(type.count), bits);
}

/** Immediates of vpcmp and vpcmpu (Intel SDM, VPCMPD). */
const integerPredicates: Readonly<Record<string, number>> = { eq: 0, lt: 1, le: 2, ne: 4, ge: 5, gt: 6 };

/** Lane letters of instructions on packed floats. */
const floatSuffix = (type: Type): string => (type.element.kind === "float" ? "ps" : "pd");

/** The bits of a comparison of registers. @param text the mnemonic and the immediate */
function compareParts(l: Lowering, text: string, type: Type, a: Parts, b: Parts): Value {
  const own = a.map((r, i) => makeMask(l, `${text}, $2, $1`, r.type.count, [r, b[i]!]));
  return joinWords(l, type.count, a[0]!.type.count, own);
}

function compare(
  l: Lowering,
  predicate: IntPredicate | FloatPredicate,
  result: Type,
  left: Value,
  right: Value,
  evex: Evex,
): Parts | null {
  if (!isWhole(left.type, evex.features) || left.type.count > 64) return null;
  const { lane, laneBits, element } = shapeOf(left.type);
  const a = pinnedParts(l, left);
  const b = pinnedParts(l, right);
  let text: string;
  if (lane.isFloat) {
    if (!element.isFloat) return null;
    text = `vcmp${floatSuffix(a[0]!.type)} $$${compareImmediates[predicate]!}`;
  } else {
    if (element.kind !== "int" && element.kind !== "ptr") return null;
    const isUnsigned = predicate[0] === "u" && !(isNonNegative(left) && isNonNegative(right));
    const name = /^[us]/.test(predicate) ? predicate.slice(1) : predicate;
    text = `vpcmp${isUnsigned ? "u" : ""}${letterOf(laneBits)} $$${integerPredicates[name]!}`;
  }
  return maskOfWord(l, evex.avx, result, compareParts(l, text, left.type, a, b));
}

function select(l: Lowering, condition: Value, left: Value, right: Value, evex: Evex): Parts | null {
  const { type } = left;
  const conditionType = condition.type;
  if (conditionType.kind !== "vector") return null;
  if (shapeOf(type).representation === "mask") {
    const mask = l.parts(condition);
    if (type.count > 64 || knownWord(mask) === undefined) return null;
    const word = knownWord(mask)!;
    const a = operandWord(l, type, left, l.parts(left), evex);
    const b = operandWord(l, type, right, l.parts(right), evex);
    const kept = l.bin(Op.And, l.bin(Op.Xor, a, b), word);
    return maskOfWord(l, evex.avx, type, l.bin(Op.Xor, kept, b));
  }
  if (!isMaskable(type, evex.features) || type.count > 64) return null;
  const mask = l.parts(condition);
  const isLarge = isWhole(type, evex.features);
  if (!isLarge && knownWord(mask) === undefined) return null;
  const word = operandWord(l, conditionType, condition, mask, evex);
  const b = l.parts(right);
  return l.parts(left).map((r, i) => {
    const own = wordAt(l, word, type.count, r.type.count, i);
    return blendByWord(l, own, r, b[i]!);
  });
}
