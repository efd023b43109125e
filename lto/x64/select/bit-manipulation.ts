/**
 * What the bit manipulation extensions (BMI, BMI2), and checksums, do in one instruction: selected where the function's features have
 * them and that is shorter or faster.
 * Source: Intel SDM volume 2.
 */
import { MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { type CallInst, callArguments, type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { opFeature, opFormat } from "../isa/op-info.js";
import { Format, X } from "../isa/ops.js";
import type { Selector } from "./selector.js";
import { foldLoad, registerSource, setSource } from "./source.js";

/** The function's features have the instruction. */
export const offers = (s: Selector, op: X): boolean => s.features.has(opFeature[op]!);

/** The operation that makes `value` if the instruction being lowered may do it as well: nobody else reads its result. */
export function foldable(s: Selector, value: Value, op: Op): Inst | null {
  if (value.valueKind !== "inst" || value.op !== op) return null;
  return s.values.uses[value.id] === 1 && s.values.vregs[value.id]! < 0 && value.parent === s.at.parent
    ? value
    : null;
}

/**
 * A value of which the instruction being lowered looks at the lowest `bits` alone, without an extension that brings in others. A narrow
 * value's register has any bits above it.
 */
export function withoutExtension(s: Selector, value: Value, bits: number): Value {
  const extension = foldable(s, value, Op.ZExt) ?? foldable(s, value, Op.SExt);
  const source = extension?.operands[0] ?? value;
  return s.optimize && source.type.kind === "int" && source.type.bits >= Math.max(8, bits) ? source : value;
}

/** What `value` is the complement of. */
export function complemented(s: Selector, value: Value): Value | null {
  const inst = foldable(s, value, Op.Xor);
  return inst !== null && constantNumber(inst.operands[1]!) === -1 ? inst.operands[0]! : null;
}

const isDecremented = (s: Selector, value: Value, from: Value): boolean => {
  const sum = foldable(s, value, Op.Add);
  return sum !== null && sum.operands[0] === from && constantNumber(sum.operands[1]!) === -1;
};

const isNegated = (s: Selector, value: Value, from: Value): boolean => {
  const difference = foldable(s, value, Op.Sub);
  return (
    difference !== null && difference.operands[1] === from && constantNumber(difference.operands[0]!) === 0
  );
};

/** `a` and `b` of a bitwise operation, `size` bytes; false if no instruction does it together with what makes `b`. */
function selectPattern(s: Selector, op: Op, result: VReg, size: number, a: Value, b: Value): boolean {
  const one = (opcode: X): boolean => {
    const inst = new MInst(opcode, size);
    inst.defs = [new RegOperand(result)];
    inst.uses = [registerSource(s, a, size)];
    s.emit(inst);
    return true;
  };
  if (isDecremented(s, b, a) && op !== Op.Or) return one(op === Op.And ? X.Blsr : X.Blsmsk);
  if (op !== Op.And) return false;
  if (isNegated(s, b, a)) return one(X.Blsi);
  const inverted = complemented(s, b);
  // Short registers that die are shorter to change in place.
  if (inverted === null || (size < 8 && s.mf.goal !== "speed" && s.diesHere(inverted))) return false;
  emitThree(s, X.Andn, result, size, inverted, a);
  return true;
}

/** result = a op b. */
function emitThree(s: Selector, op: X, result: VReg, size: number, a: Value, b: Value): void {
  const inst = new MInst(op, size);
  inst.defs = [new RegOperand(result)];
  inst.uses = [s.use(a)];
  setSource(s, inst, b, size, false);
  s.emit(inst);
}

/**
 * How many of its lowest bits `mask` keeps, if that is what it does: it is ¬(−1 << n), or −1 >> (width − n), which is poison where n is
 * not less than the width, or not from 1 to it. Bzhi keeps all bits where n is the width.
 */
function keptBits(s: Selector, mask: Value, size: number): Value | null {
  const inverted = complemented(s, mask);
  const left = inverted === null ? null : foldable(s, inverted, Op.Shl);
  if (left !== null) return constantNumber(left.operands[0]!) === -1 ? left.operands[1]! : null;
  const right = foldable(s, mask, Op.LShr);
  if (right === null || mask.type.bits !== size * 8 || constantNumber(right.operands[0]!) !== -1) return null;
  const rest = foldable(s, right.operands[1]!, Op.Sub);
  return rest !== null && constantNumber(rest.operands[0]!) === size * 8 ? rest.operands[1]! : null;
}

/** Of a number of which the lowest 8 bits count: itself, without what clears or extends others. */
function lowByteOf(s: Selector, value: Value): Value {
  const inner = withoutExtension(s, value, 8);
  if (inner.valueKind !== "inst" || inner.op !== Op.And) return inner;
  const mask = constantNumber(inner.operands[1]!);
  return mask !== null && (mask & 0xff) === 0xff ? inner.operands[0]! : inner;
}

/** A value of `size` bytes without all but its lowest bits, as many as running tells; false if that is not what the two are. */
function selectLowestBits(s: Selector, result: VReg, size: number, value: Value, mask: Value): boolean {
  const count = keptBits(s, mask, size);
  if (count === null) return false;
  emitCounted(s, X.Bzhi, result, size, value, lowByteOf(s, count));
  return true;
}

/** A bitwise operation of `size` bytes with what makes one of its operands; false if there is no instruction for both. */
export function selectBitPattern(s: Selector, { op, operands }: Inst, result: VReg, size: number): boolean {
  if (size < 4 || !s.optimize) return false;
  const [a, b] = operands as [Value, Value];
  if (op === Op.And && offers(s, X.Bzhi))
    if (selectLowestBits(s, result, size, a, b) || selectLowestBits(s, result, size, b, a)) return true;
  if (!offers(s, X.Andn)) return false;
  return selectPattern(s, op, result, size, a, b) || selectPattern(s, op, result, size, b, a);
}

const shifts: Partial<Record<Op, X>> = { [Op.Shl]: X.Shlx, [Op.LShr]: X.Shrx, [Op.AShr]: X.Sarx };

/** Drops a mask of a shift amount, or of a number of a bit, that the instruction applies itself. */
export function amountOf(s: Selector, amount: Value, size: number): Value {
  const inst = s.resolve(amount);
  if (s.optimize && inst.valueKind === "inst" && inst.op === Op.And && size >= 4) {
    const mask = constantNumber(inst.operands[1]!);
    const bits = size === 8 ? 63 : 31;
    if (mask !== null && (mask & bits) === bits) return inst.operands[0]!;
  }
  if (inst.valueKind === "inst" && inst.op === Op.ZExt && s.optimize && inst.operands[0]!.type.bits >= 8)
    return inst.operands[0]!;
  return amount;
}

/** A shift by a number that only running tells: with neither flags nor a register that is fixed, but longer. */
export function selectFlaglessShift(
  s: Selector,
  op: Op,
  result: VReg,
  size: number,
  value: Value,
  count: Value,
): boolean {
  if (size < 4 || s.mf.goal !== "speed" || !offers(s, X.Shlx)) return false;
  emitCounted(s, shifts[op]!, result, size, value, count);
  return true;
}

/** result = value by count, which is in a register. */
function emitCounted(s: Selector, op: X, result: VReg, size: number, value: Value, count: Value): void {
  const inst = new MInst(op, size);
  inst.defs = [new RegOperand(result)];
  const mem = foldLoad(s, value, size);
  if (mem !== null) inst.mem = mem;
  else inst.uses = [registerSource(s, value, size)];
  inst.uses.push(s.use(count));
  s.emit(inst);
}

/** A rotation by a constant of a value that lives on, without a copy of it; false if another instruction is better. */
export function selectFlaglessRotate(
  s: Selector,
  left: boolean,
  result: VReg,
  size: number,
  value: Value,
  count: number,
): boolean {
  if (size < 4 || !s.optimize || !offers(s, X.Rorx) || s.diesHere(value)) return false;
  // A copy and a rotation in place take 5 bytes or 7.
  if (size === 4 && s.mf.goal !== "speed") return false;
  const inst = new MInst(X.Rorx, size);
  inst.defs = [new RegOperand(result)];
  inst.uses = [registerSource(s, value, size)];
  inst.imm = (left ? -count : count) & (size * 8 - 1);
  s.emit(inst);
  return true;
}

/** result, and `a` before, are one register, which `b` of `size` bytes is added to. */
function emitAccumulated(s: Selector, op: X, result: VReg, size: number, a: Value, b: Value): void {
  const inst = new MInst(op, size);
  inst.defs = [RegOperand.tied(result)];
  inst.uses = [s.use(a)];
  setSource(s, inst, b, size, false);
  s.emit(inst);
}

/** Intrinsics by name after `tsc.x64.`. */
const instructions: Readonly<Record<string, readonly [X, number]>> = {
  bextr32: [X.Bextr, 4],
  bextr64: [X.Bextr, 8],
  bzhi32: [X.Bzhi, 4],
  bzhi64: [X.Bzhi, 8],
  pdep32: [X.Pdep, 4],
  pdep64: [X.Pdep, 8],
  pext32: [X.Pext, 4],
  pext64: [X.Pext, 8],
  crc32b: [X.Crc32, 1],
  crc32w: [X.Crc32, 2],
  crc32l: [X.Crc32, 4],
  crc32q: [X.Crc32, 8],
};

/** Lowers a call of `tsc.x64.<name>`; false when it is none of these. */
export function selectBitIntrinsic(s: Selector, call: CallInst, name: string): boolean {
  const entry = instructions[name];
  if (entry === undefined) return false;
  const [op, size] = entry;
  if (!offers(s, op)) s.unsupported(`intrinsic of ${name} without feature ${opFeature[op]}`);
  const [a, b] = callArguments(call) as [Value, Value];
  const format = opFormat[op];
  const emit = format === Format.Three ? emitThree : format === Format.Alu ? emitAccumulated : emitCounted;
  emit(s, op, s.resultOf(call), size, a, b);
  return true;
}
