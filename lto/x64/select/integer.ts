/** Integer arithmetic, shifts, casts between integers. */

import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { constantNumber, foldedInteger } from "../../codegen/select/constants.js";
import { foldableLoad, loadFolds } from "../../codegen/select/loads.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { Flag, type Inst, type InstWith, isPlainAccess, Op } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import { maskOf, RAX, RCX, RDX } from "../isa/registers.js";
import {
  amountOf,
  foldable,
  selectBitPattern,
  selectFlaglessRotate,
  selectFlaglessShift,
  withoutExtension,
} from "./bit-manipulation.js";
import { selectBitOperation, selectOnesButBit } from "./bit-test.js";
import { fitsImm32 } from "./operand-facts.js";
import type { Selector } from "./selector.js";
import { foldLoad, immediate, inOrder, registerSource, setSource } from "./source.js";

const aluOps: Partial<Record<Op, X>> = {
  [Op.Add]: X.Add,
  [Op.Sub]: X.Sub,
  [Op.And]: X.And,
  [Op.Or]: X.Or,
  [Op.Xor]: X.Xor,
  [Op.Mul]: X.Imul,
};
const shiftOps: Partial<Record<Op, X>> = { [Op.Shl]: X.Shl, [Op.LShr]: X.Shr, [Op.AShr]: X.Sar };

/**
 * Width at which arithmetic whose upper bits do not matter is done: 32 bits for narrow types (no operand
 * size prefix, no partial register), else the type's own.
 */
const wideSize = (size: number): number => Math.max(size, 4);

export function selectBinary(s: Selector, inst: Inst): void {
  const result = s.resultOf(inst);
  const size = operationSize(s.layout, inst.type);
  switch (inst.op) {
    case Op.Add:
      return selectAdd(s, inst, result, size);
    case Op.Sub:
      return selectSub(s, inst, result, size);
    case Op.Mul:
      return selectMul(s, inst, result, size);
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return selectLogic(s, inst, result, size);
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return selectShift(s, inst, result, size);
    default:
      return selectDivision(s, inst, result, size);
  }
}

function ordered(s: Selector, inst: Inst, size: number): [Value, Value] {
  const [a, b] = inst.operands as [Value, Value];
  if (!s.optimize && !isConstant(a)) return [a, b];
  return inOrder(s, a, b, (value) => canFold(s, value, size));
}

function canFold(s: Selector, value: Value, size: number): boolean {
  const inst = s.resolve(value);
  return inst.valueKind === "inst" && inst.op === Op.Load && loadFolds(s, inst, size);
}

const isLoad = (value: Value): boolean => value.valueKind === "inst" && value.op === Op.Load;

function selectAdd(s: Selector, inst: Inst, result: VReg, size: number): void {
  const [a, b] = ordered(s, inst, size);
  const wide = wideSize(size);
  const imm = immediate(s, b, size);
  if (s.optimize && !s.diesHere(a) && size >= 4) {
    // Three-operand form: the first operand lives on.
    if (imm !== null) return lea32(s, result, wide, memory(new RegOperand(s.reg(a)), null, 1, imm));
    if (!isConstant(b) && !s.diesHere(b) && !canFold(s, b, size)) {
      const base = s.reg(a);
      return lea32(s, result, wide, memory(new RegOperand(base), new RegOperand(s.reg(b)), 1, 0));
    }
  }
  if (s.optimize && size >= 4 && imm === null) {
    const scaled = scaledOperand(s, b) ?? scaledOperand(s, a);
    if (scaled !== null) {
      const other = scaledOperand(s, b) !== null ? a : b;
      const base = s.reg(other);
      return lea32(
        s,
        result,
        wide,
        memory(new RegOperand(base), new RegOperand(s.reg(scaled.value)), scaled.scale),
      );
    }
  }
  emitAlu(s, X.Add, result, wide, size, [a, b]);
}

/** `shl x, 1…3` with a single use, as an address index. */
function scaledOperand(s: Selector, value: Value): { value: Value; scale: 2 | 4 | 8 } | null {
  const inst = s.resolve(value);
  if (
    inst.valueKind !== "inst" ||
    inst.op !== Op.Shl ||
    s.values.uses[inst.id] !== 1 ||
    s.values.vregs[inst.id]! >= 0
  )
    return null;
  if (value !== inst || inst.parent !== s.at.parent) return null;
  const amount = constantNumber(inst.operands[1]!);
  if (amount !== 1 && amount !== 2 && amount !== 3) return null;
  return { value: inst.operands[0]!, scale: (1 << amount) as 2 | 4 | 8 };
}

/** An address computation used as 32- or 64-bit arithmetic. Upper halves of the inputs do not matter at 32. */
function lea32(s: Selector, result: VReg, size: number, mem: MemOperand): void {
  const lea = new MInst(X.Lea, size);
  lea.defs = [new RegOperand(result)];
  lea.mem = mem;
  s.emit(lea);
}

function selectSub(s: Selector, inst: Inst, result: VReg, size: number): void {
  const [a, b] = inst.operands as [Value, Value];
  const wide = wideSize(size);
  if (constantNumber(a) === 0) {
    s.tiedUnary(X.Neg, wide, result, s.reg(b));
    return;
  }
  const imm = immediate(s, b, size);
  if (imm !== null && s.optimize && size >= 4 && fitsImm32(-imm) && !s.diesHere(a))
    return lea32(s, result, wide, memory(new RegOperand(s.reg(a)), null, 1, -imm));
  emitAlu(s, X.Sub, result, wide, size, [a, b]);
}

function selectMul(s: Selector, inst: Inst, result: VReg, size: number): void {
  const [a, b] = ordered(s, inst, size);
  const wide = wideSize(size);
  const imm = immediate(s, b, size);
  if (imm !== null) {
    if (s.optimize && (imm === 3 || imm === 5 || imm === 9) && size >= 4) {
      const base = s.reg(a);
      const scale = (imm - 1) as 2 | 4 | 8;
      return lea32(s, result, wide, memory(new RegOperand(base), new RegOperand(base), scale));
    }
    const mul = new MInst(X.ImulImm, wide);
    mul.defs = [new RegOperand(result)];
    mul.imm = imm;
    const mem = foldLoad(s, a, wide);
    if (mem !== null) mul.mem = mem;
    else mul.uses.push(registerSource(s, a, wide));
    s.emit(mul);
    return;
  }
  emitAlu(s, X.Imul, result, wide, size, [a, b]);
}

function selectLogic(s: Selector, inst: Inst, result: VReg, size: number): void {
  const wide = wideSize(size);
  const [a, b] = ordered(s, inst, size);
  if (inst.op === Op.Xor && constantNumber(b) === -1 && inst.type.bits > 1) {
    if (selectOnesButBit(s, result, size, a)) return;
    s.tiedUnary(X.Not, wide, result, s.reg(a));
    return;
  }
  if (selectBitOperation(s, inst, result, size)) return;
  if (inst.op === Op.And && isConstant(b)) {
    const mask = foldedInteger(s.layout, b);
    if (mask !== null && size === 8 && selectLowField(s, result, a, mask)) return;
    if (mask !== null && selectMask(s, result, size, mask, () => s.reg(a))) return;
  }
  if (selectBitPattern(s, inst, result, size)) return;
  if (isAddress(s, inst, size, a, b)) return selectAdd(s, inst, result, size);
  const op = aluOps[inst.op]!;
  if (inst.type.bits === 1) {
    const imm = constantNumber(b);
    if (imm !== null) s.binaryImm(op, 4, result, s.reg(a), imm & 1);
    else s.binary(op, 4, result, s.reg(a), s.reg(b));
    return;
  }
  // The zeros above one loaded operand are enough for `and` as a whole, into the register of that.
  if (inst.op === Op.And && size < 4 && s.values.zeroExtended[inst.id] === 1 && isLoad(b) !== isLoad(a))
    return emitAlu(s, op, result, wide, size, isLoad(b) ? [b, a] : [a, b], false);
  emitAlu(s, op, result, wide, size, [a, b]);
}

/** The bits of a mask that is shorter done than by `and` of the size; false: that is as good. */
function selectMask(s: Selector, result: VReg, size: number, mask: bigint, source: () => VReg): boolean {
  // Masks of the low 8 or 16 bits are zero extensions; of the low 32 bits a 32-bit move.
  if (mask === 0xffn && size > 1) s.unary(X.Movzx8, 4, result, source());
  else if (mask === 0xffffn && size > 2) s.unary(X.Movzx16, 4, result, source());
  else if (mask === 0xffffffffn && size === 8) s.unary(X.Mov, 4, result, source());
  // A mask that clears the upper half anyway needs no 64-bit operation.
  else if (size === 8 && mask >= 0n && mask <= 0xffffffffn)
    s.binaryImm(X.And, 4, result, source(), Number(BigInt.asIntN(32, mask)));
  else return false;
  return true;
}

/** Bits of the lower half, shifted down: 32-bit operations have them, and the upper half away. */
function selectLowField(s: Selector, result: VReg, shifted: Value, mask: bigint): boolean {
  const shift = s.optimize ? foldable(s, shifted, Op.LShr) : null;
  const count = shift === null ? null : constantNumber(shift.operands[1]!);
  if (count === null || count <= 0 || count >= 32) return false;
  const whole = (1n << BigInt(32 - count)) - 1n;
  if (mask < 0n || mask > whole) return false;
  const source = s.reg(shift!.operands[0]!);
  if (mask === whole) {
    s.binaryImm(X.Shr, 4, result, source, count);
    return true;
  }
  const field = s.newGpr(4);
  s.binaryImm(X.Shr, 4, field, source, count);
  return selectMask(s, result, 8, mask, () => field);
}

/** A disjunction without common bits is a sum, which the three operands of an address spare a copy or a shift. */
function isAddress(s: Selector, inst: Inst, size: number, a: Value, b: Value): boolean {
  if (inst.op !== Op.Or || (inst.flags & Flag.Disjoint) === 0 || !s.optimize || size < 4) return false;
  return (
    (!s.diesHere(a) && (immediate(s, b, size) !== null || (!isConstant(b) && !s.diesHere(b)))) ||
    scaledOperand(s, a) !== null ||
    scaledOperand(s, b) !== null
  );
}

/**
 * result = a op b; register sources at `wide`. A memory source is exactly as wide as its load: a narrow one makes the operation
 * narrow, which leaves the first operand's bits above the result as they are.
 * @param foldsNarrow nobody relies on bits above the result that only the wide operation makes
 */
function emitAlu(
  s: Selector,
  op: X,
  result: VReg,
  wide: number,
  size: number,
  operands: readonly [Value, Value],
  foldsNarrow = true,
): void {
  let [a, b] = operands;
  const imm = immediate(s, b, size);
  // What dies is overwritten at no cost, and may be in the register where the result goes.
  if (op !== X.Sub && imm === null && isToOverwrite(s, b) && (!s.diesHere(a) || canFold(s, a, wide)))
    [a, b] = [b, a];
  // Products of bytes have other operands.
  const isNarrow =
    size < wide && foldsNarrow && op !== X.Imul && imm === null && foldableLoad(s, b, size) !== null;
  const alu = new MInst(op, isNarrow ? size : wide);
  alu.defs = [RegOperand.tied(result)];
  alu.uses = [new RegOperand(s.reg(a))];
  if (imm !== null) alu.imm = imm;
  else setSource(s, alu, b, alu.size);
  s.emit(alu);
}

/** What the constant is made in, for the instruction being lowered alone, is as good a place for the result as any. */
const isToOverwrite = (s: Selector, value: Value): boolean =>
  s.optimize && value.valueKind === "int" && s.isLastUse(value);

function selectShift(s: Selector, inst: Inst, result: VReg, size: number): void {
  const [a, amount] = inst.operands as [Value, Value];
  const op = shiftOps[inst.op]!;
  const n = constantNumber(amount);
  // Left shifts may run wide; right shifts bring in upper bits and must not.
  const width = inst.op === Op.Shl ? wideSize(size) : size;
  if (n !== null) {
    const count = n & (size * 8 - 1);
    if (inst.op === Op.Shl && width === 4) {
      const source = withoutExtension(s, a, size * 8 - count);
      if (source !== a) return void s.binaryImm(op, width, result, s.reg(source), count);
    }
    if (s.optimize && inst.op === Op.Shl && count === 1 && size >= 4 && !s.diesHere(a)) {
      const base = s.reg(a);
      return lea32(s, result, width, memory(new RegOperand(base), new RegOperand(base), 1));
    }
    s.binaryImm(op, width, result, s.reg(a), count);
    return;
  }
  const count = amountOf(s, amount, size);
  if (selectFlaglessShift(s, inst.op, result, size, a, count)) return;
  const shift = new MInst(op, width);
  shift.defs = [RegOperand.tied(result)];
  shift.uses = [new RegOperand(s.reg(a)), new RegOperand(s.reg(count), maskOf(RCX))];
  s.emit(shift);
}

function selectDivision(s: Selector, inst: Inst, result: VReg, size: number): void {
  const signed = inst.op === Op.SDiv || inst.op === Op.SRem;
  const remainder = inst.op === Op.URem || inst.op === Op.SRem;
  const [a, b] = inst.operands as [Value, Value];
  const width = wideSize(size);
  const dividend = extended(s, a, size, signed);
  const divide = new MInst(signed ? X.IDiv : X.Div, width);
  let high: VReg;
  if (signed) {
    high = s.newGpr(width);
    const sign = new MInst(X.SignRax, width);
    sign.defs = [new RegOperand(high, maskOf(RDX))];
    sign.uses = [new RegOperand(dividend, maskOf(RAX))];
    // The divisor must be ready before rax and rdx are occupied.
    const divisor = size < 4 ? extended(s, b, size, signed) : -1;
    s.emit(sign);
    divide.uses.push(new RegOperand(dividend, maskOf(RAX)), new RegOperand(high, maskOf(RDX)));
    pushDivisor(s, divide, b, divisor, width);
  } else {
    const divisor = size < 4 ? extended(s, b, size, signed) : -1;
    high = s.newGpr(4);
    s.moveImm(high, 4, 0);
    divide.uses.push(new RegOperand(dividend, maskOf(RAX)), new RegOperand(high, maskOf(RDX)));
    pushDivisor(s, divide, b, divisor, width);
  }
  const quotient = remainder ? s.newGpr(width) : result;
  const rest = remainder ? result : s.newGpr(width);
  divide.defs.push(new RegOperand(quotient, maskOf(RAX)), new RegOperand(rest, maskOf(RDX)));
  s.emit(divide);
}

function pushDivisor(s: Selector, divide: MInst, b: Value, extendedDivisor: VReg, width: number): void {
  if (extendedDivisor >= 0) {
    divide.uses.push(new RegOperand(extendedDivisor));
    return;
  }
  const mem = foldLoad(s, b, width);
  if (mem !== null) divide.mem = mem;
  else divide.uses.push(registerSource(s, b, width));
}

/** The value widened to at least 32 bits. */
export function extended(s: Selector, value: Value, size: number, signed: boolean): VReg {
  if (size >= 4) return s.reg(value);
  const folded = isConstant(value) ? foldedInteger(s.layout, value) : null;
  if (folded !== null) {
    const vreg = s.newGpr(4);
    s.moveImm(vreg, 4, Number(signed ? BigInt.asIntN(size * 8, folded) : BigInt.asUintN(size * 8, folded)));
    return vreg;
  }
  const wide = s.newGpr(4);
  const op = size === 1 ? (signed ? X.Movsx8 : X.Movzx8) : signed ? X.Movsx16 : X.Movzx16;
  s.unary(op, 4, wide, s.reg(value));
  return wide;
}

// ── Casts ──

export function selectTrunc(s: Selector, inst: InstWith<Op.Trunc>): void {
  // Reached only for constants: everything else is a view (see Selector.resolve).
  const size = s.spillSize(inst.type);
  s.copy(s.resultOf(inst), s.reg(inst.operands[0]!), size);
}

export function selectExtension(s: Selector, inst: InstWith<Op.ZExt | Op.SExt>): void {
  const source = inst.operands[0]!;
  const result = s.resultOf(inst);
  const from = source.type.bits;
  const to = inst.type.bits;
  const signed = inst.op === Op.SExt;
  if (from === 1) return extendBool(s, source, result, to, signed);
  const size = to <= 32 || (!signed && from <= 32) ? 4 : 8;
  if (from === 32 && !signed) {
    const load = foldLoad(s, source, 4);
    if (load !== null) s.load(X.Mov, 4, result, load);
    else s.unary(X.Mov, 4, result, s.reg(source));
    return;
  }
  const mem = foldLoad(s, source, from / 8);
  if (mem === null && signed && extendAtLoad(s, source, result, size)) return;
  const op =
    from === 32 ? X.Movsxd : from === 16 ? (signed ? X.Movsx16 : X.Movzx16) : signed ? X.Movsx8 : X.Movzx8;
  const extend = new MInst(op, size);
  extend.defs = [new RegOperand(result)];
  if (mem !== null) extend.mem = mem;
  else extend.uses.push(registerSource(s, source, from / 8));
  s.emit(extend);
}

/**
 * Has a load with further users extend what it reads: they see the low part. Not where one of them relies on zeros
 * above it; those that would like to from now on are told no.
 */
function extendAtLoad(s: Selector, source: Value, result: VReg, size: number): boolean {
  if (!s.optimize || source.valueKind !== "inst" || source.op !== Op.Load || !isPlainAccess(source))
    return false;
  if (s.values.zeroExtended[source.id] === 1) return false;
  s.values.signExtended[source.id] = Math.max(s.values.signExtended[source.id]!, size);
  s.copy(result, s.reg(source), size);
  return true;
}

function extendBool(s: Selector, source: Value, result: VReg, to: number, signed: boolean): void {
  const size = to > 32 ? 8 : 4;
  const bit = s.newGpr(4);
  if (s.isBoolean(source)) {
    // setcc leaves 0 or 1 in the low byte.
    s.unary(X.Movzx8, 4, signed ? bit : result, s.reg(source));
  } else {
    s.binaryImm(X.And, 4, signed ? bit : result, s.reg(source), 1);
  }
  if (signed) s.tiedUnary(X.Neg, size, result, bit);
}

/** Multiplication with both halves of the product: `tsc.umul.wide` and `tsc.smul.wide`. One factor is in rax, which it leaves. */
export function selectWideMul(s: Selector, signed: boolean, args: Value[], low: VReg, high: VReg): void {
  let [a, b] = args as [Value, Value];
  // A constant that nobody else reads is made there, where the other factor may have to be copied.
  if (isToOverwrite(s, b)) [a, b] = [b, a];
  const mul = new MInst(signed ? X.IMulWide : X.Mul, 8);
  mul.uses = [new RegOperand(s.reg(a), maskOf(RAX))];
  const mem = foldLoad(s, b, 8);
  if (mem !== null) mul.mem = mem;
  else mul.uses.push(registerSource(s, b, 8));
  mul.defs = [new RegOperand(low, maskOf(RAX)), new RegOperand(high, maskOf(RDX))];
  s.emit(mul);
}

/** Two-word addition or subtraction: `tsc.add128` and `tsc.sub128`. */
export function selectWideAdd(s: Selector, subtract: boolean, args: Value[], low: VReg, high: VReg): void {
  const [aLow, aHigh, bLow, bHigh] = args as [Value, Value, Value, Value];
  // Every register operand first: what makes them may not come between the two instructions (flags).
  const first = new MInst(subtract ? X.Sub : X.Add, 8);
  const second = new MInst(subtract ? X.Sbb : X.Adc, 8);
  first.uses = [new RegOperand(s.reg(aLow))];
  setSource(s, first, bLow, 8);
  second.uses = [new RegOperand(s.reg(aHigh))];
  setSource(s, second, bHigh, 8);
  first.defs.push(RegOperand.tied(low));
  second.defs.push(RegOperand.tied(high));
  s.emit(first);
  s.emit(second);
}

/** fshl/fshr: rotates when both words are the same, else double shifts. */
export function selectFunnel(s: Selector, left: boolean, args: Value[], result: VReg, size: number): void {
  const [a, b, amount] = args as [Value, Value, Value];
  const n = constantNumber(amount);
  const bits = size * 8;
  if (s.resolve(a) === s.resolve(b)) {
    if (n !== null) {
      if (selectFlaglessRotate(s, left, result, size, a, n)) return;
      return void s.binaryImm(left ? X.Rol : X.Ror, size, result, s.reg(a), n & (bits - 1));
    }
    const rotate = new MInst(left ? X.Rol : X.Ror, size);
    rotate.defs = [RegOperand.tied(result)];
    rotate.uses = [new RegOperand(s.reg(a)), new RegOperand(s.reg(amountOf(s, amount, size)), maskOf(RCX))];
    s.emit(rotate);
    return;
  }
  if (size === 1) return selectByteFunnel(s, left, a, b, amount, result);
  // shld fills from the top of its second operand; fshr keeps b and fills from the bottom of a.
  const count = n === null ? null : n & (bits - 1);
  if (count === 0) return s.copy(result, s.reg(left ? a : b), s.mf.vregs[result]!.size);
  const shift = new MInst(left ? X.Shld : X.Shrd, size);
  shift.defs = [RegOperand.tied(result)];
  shift.uses = [new RegOperand(s.reg(left ? a : b)), new RegOperand(s.reg(left ? b : a))];
  if (count !== null) shift.imm = count;
  else shift.uses.push(new RegOperand(maskedAmount(s, amount, size), maskOf(RCX)));
  s.emit(shift);
}

/** The hardware masks counts to 5 bits for 16-bit operands; the IR wants modulo 16. */
function maskedAmount(s: Selector, amount: Value, size: number): VReg {
  if (size !== 2) return s.reg(amount);
  const masked = s.newGpr(4);
  s.binaryImm(X.And, 4, masked, s.reg(amount), 15);
  return masked;
}

/** 8-bit funnel shift through a 16-bit value (a:b), shifted as 32 bits. */
function selectByteFunnel(s: Selector, left: boolean, a: Value, b: Value, amount: Value, result: VReg): void {
  const high = s.newGpr(4);
  s.binaryImm(X.Shl, 4, high, s.reg(a), 8);
  const low = extended(s, b, 1, false);
  const both = s.newGpr(4);
  s.binary(X.Or, 4, both, high, low);
  const n = constantNumber(amount);
  const shifted = left ? s.newGpr(4) : result;
  if (n !== null) s.binaryImm(left ? X.Shl : X.Shr, 4, shifted, both, n & 7);
  else {
    const masked = s.newGpr(4);
    s.binaryImm(X.And, 4, masked, s.reg(amount), 7);
    const shift = new MInst(left ? X.Shl : X.Shr, 4);
    shift.defs = [RegOperand.tied(shifted)];
    shift.uses = [new RegOperand(both), new RegOperand(masked, maskOf(RCX))];
    s.emit(shift);
  }
  if (left) s.binaryImm(X.Shr, 4, result, shifted, 8);
}
