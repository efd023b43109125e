/**
 * Single bits whose number only running tells, or which lie above what an immediate reaches: tested by `bt`, and set, cleared and
 * complemented by `bts`, `btr` and `btc`. Of registers only: with memory and a number in a register, bits beyond the
 * operand are meant as well, and processors are slow at it.
 *
 * Numbers count modulo the operation's size, as those of shifts do; a shift by as much or more is poison, so that operations
 * of 4 bytes serve narrower types: the bits of their registers that are not theirs are never meant.
 * Source: Intel SDM volume 2.
 */
import { MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { foldedInteger } from "../../codegen/select/constants.js";
import { foldableLoad } from "../../codegen/select/loads.js";
import { type Inst, Op } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { signedImmediate } from "../isa/lengths.js";
import { opFeature } from "../isa/op-info.js";
import { Cc, X } from "../isa/ops.js";
import { maskOf, RCX } from "../isa/registers.js";
import { address } from "./address.js";
import { amountOf, complemented, foldable } from "./bit-manipulation.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";

const isOne = (value: Value): boolean => value.valueKind === "int" && value.num === 1 && value.type.bits > 1;

/** The number of a bit: in a register, or as a constant. */
type BitNumber = Value | number;

/**
 * The bit that `value`, 1 shifted left by what is no constant, has; null if it is none such, or is made anyway. Of another block of
 * the same loop, too: its number is in a register then, in place of it.
 */
function shiftedOne(s: Selector, value: Value): Value | null {
  if (value.valueKind !== "inst" || value.op !== Op.Shl || s.values.vregs[value.id]! >= 0) return null;
  const [one, number] = value.operands as [Value, Value];
  if (!isOne(one) || isConstant(number)) return null;
  const { header } = s.loops;
  return header[value.parent!.id] === header[s.at.parent!.id] ? number : null;
}

/** The only bit of a constant of 8 bytes that no immediate holds; -1 if there is none. @param inverted all but it are set */
function highBit(s: Selector, value: Value, inverted: boolean): number {
  if (!isConstant(value)) return -1;
  const folded = foldedInteger(s.layout, value);
  if (folded === null) return -1;
  const bits = BigInt.asUintN(64, inverted ? ~folded : folded);
  if (bits < 1n << 31n || (bits & (bits - 1n)) !== 0n) return -1;
  return bits.toString(2).length - 1;
}

function emitBit(s: Selector, inst: MInst, value: Value, number: BitNumber, size: number): MInst {
  inst.uses = [s.use(value)];
  if (typeof number === "number") inst.imm = number;
  else inst.uses.push(s.use(amountOf(s, number, size)));
  return s.emit(inst);
}

/** The carry is the bit with this number of `value`. */
const emitTest = (s: Selector, value: Value, number: BitNumber, size: number): MInst =>
  emitBit(s, new MInst(X.Bt, size), value, number, size);

/** A byte of what a load reads is enough. @returns the condition for a one, or null if it is no load that folds */
function emitTestOfMemory(s: Selector, value: Value, number: number, size: number): Cc | null {
  const load = foldableLoad(s, value, size);
  if (load === null) return null;
  const test = new MInst(X.TestM, 1);
  test.mem = address(s, load.operands[0]!, number >> 3);
  test.imm = signedImmediate(1 << (number & 7), 1);
  s.emit(test);
  return Cc.NE;
}

/**
 * A comparison with zero, of `size` bytes, of one bit of something: emits the test if the value is that.
 * @param folds loads may move into the test
 * @returns the condition for "not zero", or null
 */
export function emitTestOfBit(s: Selector, value: Value, size: number, folds: boolean): Cc | null {
  const and = s.optimize ? foldable(s, value, Op.And) : null;
  if (and === null) return null;
  const [a, b] = and.operands as [Value, Value];
  const wide = Math.max(size, 4);
  if (isOne(b)) {
    const shifted = shiftedRight(s, a);
    if (shifted === null) return null;
    emitTest(s, shifted.operands[0]!, shifted.operands[1]!, wide);
    return Cc.B;
  }
  const high = size === 8 ? highBit(s, b, false) : -1;
  if (high >= 0) {
    const condition = folds ? emitTestOfMemory(s, a, high, size) : null;
    if (condition !== null) return condition;
    emitTest(s, a, high, high < 32 ? 4 : 8);
    return Cc.B;
  }
  for (const [one, other] of [
    [b, a],
    [a, b],
  ] as const) {
    const number = shiftedOne(s, one);
    if (number === null) continue;
    emitTest(s, other, number, wide);
    return Cc.B;
  }
  return null;
}

/** What shifts right by what is no constant, for the instruction being lowered alone. */
function shiftedRight(s: Selector, value: Value): Inst | null {
  const shift = foldable(s, value, Op.LShr) ?? foldable(s, value, Op.AShr);
  return shift === null || shift.type.bits === 1 || isConstant(shift.operands[1]!) ? null : shift;
}

/** A bit that is wanted as such, the lowest of a shift; emits the test if it is that. @returns the condition for a one, or null */
export function emitTestOfShifted(s: Selector, value: Value): Cc | null {
  const shift = s.optimize ? shiftedRight(s, value) : null;
  if (shift === null) return null;
  emitTest(s, shift.operands[0]!, shift.operands[1]!, shift.type.bits > 32 ? 8 : 4);
  return Cc.B;
}

/** Where shifts change no flags and take the number from any register, they are as good for a bit as a number. */
const hasFreeShifts = (s: Selector, size: number): boolean =>
  size >= 4 && s.mf.goal === "speed" && s.features.has(opFeature[X.Shrx]!);

const operations: Partial<Record<Op, X>> = { [Op.Or]: X.Bts, [Op.Xor]: X.Btc };

/** A bitwise operation that is about one bit; false if it is none. @param size of its type in bytes */
export function selectBitOperation(s: Selector, inst: Inst, result: VReg, size: number): boolean {
  if (!s.optimize || inst.type.bits === 1) return false;
  const [a, b] = inst.operands as [Value, Value];
  return selectOrdered(s, inst, result, size, a, b) || selectOrdered(s, inst, result, size, b, a);
}

/** The same with the bit on the right. */
function selectOrdered(s: Selector, inst: Inst, result: VReg, size: number, a: Value, b: Value): boolean {
  const isAnd = inst.op === Op.And;
  if (isAnd && isOne(b)) return selectBit(s, result, size, a);
  // Constants in registers serve loops, and cost processors less than a bit's number.
  const high = size === 8 && s.mf.goal !== "speed" ? highBit(s, b, isAnd) : -1;
  const bit = isAnd ? complemented(s, b) : b;
  const number = high >= 0 ? high : bit === null ? null : shiftedOne(s, bit);
  if (number === null) return false;
  const op = isAnd ? X.Btr : operations[inst.op]!;
  emitBit(s, new MInst(op, Math.max(size, 4), [RegOperand.tied(result)]), a, number, size);
  return true;
}

/** result = the bit of a shift, with zeros above. */
function selectBit(s: Selector, result: VReg, size: number, value: Value): boolean {
  if (hasFreeShifts(s, size)) return false;
  const condition = emitTestOfShifted(s, value);
  if (condition === null) return false;
  const bit = s.newGpr(4);
  setCondition(s, bit, { first: condition, second: -1, and: false });
  s.unary(X.Movzx8, 4, result, bit);
  return true;
}

/** result = all ones but the bit that `value` has: -2, rotated, is shorter than a shift and its complement. */
export function selectOnesButBit(s: Selector, result: VReg, size: number, value: Value): boolean {
  if (!s.optimize || size < 4 || hasFreeShifts(s, size)) return false;
  const shift = foldable(s, value, Op.Shl);
  const number = shift === null ? null : shiftedOne(s, shift);
  if (number === null) return false;
  const ones = s.newGpr(size);
  s.moveImm(ones, size, -2);
  const rotate = new MInst(X.Rol, size, [RegOperand.tied(result)]);
  rotate.uses = [new RegOperand(ones), new RegOperand(s.reg(amountOf(s, number, size)), maskOf(RCX))];
  s.emit(rotate);
  return true;
}
