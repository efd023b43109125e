/**
 * Conditions: i1 values as condition codes right before their consumer.
 *
 * `selectCondition` emits the instructions that set the flags and says which condition codes mean "true".
 * Floating-point equality needs two of them because an unordered result sets ZF, PF and CF together
 * (Intel SDM, UCOMISS).
 */
import { type MemOperand, MInst, RegOperand } from "../../codegen/mir.js";
import { loadFolds } from "../../codegen/select/loads.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { overflowOf } from "../../codegen/select/overflow.js";
import { isStillDue, strictCompare } from "../../codegen/select/strict-operations.js";
import { floatFormat, isNaNBits } from "../../ir/fold/floats.js";
import {
  type CallInst,
  type FloatPredicate,
  type Inst,
  type InstWith,
  type IntPredicate,
  Op,
  swappedPredicate,
} from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { Cc, invert, X } from "../isa/ops.js";
import { address } from "./address.js";
import { emitTestOfBit, emitTestOfShifted } from "./bit-test.js";
import { fitsImm8 } from "./operand-facts.js";
import { emitOverflow } from "./overflow.js";
import type { Selector } from "./selector.js";
import { type Condition, setCondition } from "./set-condition.js";
import { foldLoad, immediate, registerSource, setSource, setVectorSource } from "./source.js";
import { emitX87Compare } from "./x87.js";

const single = (first: Cc): Condition => ({ first, second: -1, and: false });

export function invertCondition(c: Condition): Condition {
  return c.second < 0
    ? single(invert(c.first))
    : { first: invert(c.first), second: invert(c.second as Cc), and: !c.and };
}

const intConditions: Readonly<Record<IntPredicate, Cc>> = {
  eq: Cc.E,
  ne: Cc.NE,
  ugt: Cc.A,
  uge: Cc.AE,
  ult: Cc.B,
  ule: Cc.BE,
  sgt: Cc.G,
  sge: Cc.GE,
  slt: Cc.L,
  sle: Cc.LE,
};

/** Emits flag-setting code for an i1 value, to be consumed by the very next instruction(s). */
export function selectCondition(s: Selector, value: Value): Condition {
  const inst = s.resolve(value);
  if (inst.valueKind === "inst") {
    if (inst.op === Op.ICmp && fuses(s, inst)) return selectIntCompare(s, inst);
    if (inst.op === Op.FCmp && fuses(s, inst)) return selectFloatCompare(s, inst);
    if (inst.op === Op.Call && isStillDue(s, inst)) {
      const strict = strictCompare(inst)!;
      s.values.sunk.add(inst.id);
      return selectFloatCompare(s, strict.compare, strict.signals);
    }
    if (inst.op === Op.Xor && s.values.vregs[inst.id]! < 0 && isTrue(inst.operands[1]!))
      return invertCondition(selectCondition(s, inst.operands[0]!));
    if (inst.op === Op.ExtractValue) {
      const overflow = overflowOf(s, inst);
      if (overflow !== null) return single(emitOverflow(s, overflow));
    }
    if (
      inst.op === Op.And &&
      inst.type.bits === 1 &&
      s.values.uses[inst.id] === 1 &&
      s.values.vregs[inst.id]! < 0
    ) {
      // Both bits at once: their conjunction is the lowest bit of the and.
      const test = new MInst(X.Test, 1);
      if (s.isBoolean(inst.operands[0]!) || s.isBoolean(inst.operands[1]!)) {
        test.uses.push(new RegOperand(s.reg(inst.operands[0]!)), new RegOperand(s.reg(inst.operands[1]!)));
        s.emit(test);
        return single(Cc.NE);
      }
    }
  }
  const bit = emitTestOfShifted(s, inst);
  if (bit !== null) return single(bit);
  const test = new MInst(X.Test, 1);
  test.imm = 1;
  test.uses = [new RegOperand(s.reg(value))];
  s.emit(test);
  return single(Cc.NE);
}

const isTrue = (value: Value): boolean => value.valueKind === "int" && value.num !== 0;

/** A comparison is redone at its consumer when that is no longer than testing its materialised result. */
function fuses(s: Selector, inst: Inst): boolean {
  return s.optimize || s.values.uses[inst.id] === 1;
}

// ── Integers ──

export function selectIntCompare(s: Selector, cmp: InstWith<Op.ICmp>): Condition {
  let [a, b] = cmp.operands as [Value, Value];
  let predicate = cmp.data;
  const type = a.type;
  // Loads may move into the comparison only if it is emitted this once, at this place.
  const folds = s.values.uses[cmp.id] === 1 && cmp.parent === s.at.parent;
  if (isConstant(a) && !isConstant(b)) {
    [a, b] = [b, a];
    predicate = swappedPredicate[predicate];
  }
  if (type.kind === "int" && type.bits === 1) return compareBits(s, a, b, predicate);
  const size = type.kind === "ptr" ? s.layout.bitWidth(type) / 8 : operationSize(s.layout, type);
  const imm = immediate(s, b, size);
  if (imm !== null) return compareImmediate(s, a, imm, predicate, size, folds);
  const cmpInst = new MInst(X.Cmp, size);
  if (folds && !canFold(s, b, size) && canFold(s, a, size)) {
    const mem = foldLoad(s, a, size)!;
    const inst = new MInst(X.CmpM, size);
    inst.mem = mem;
    inst.uses = [s.use(b)];
    s.emit(inst);
    return single(intConditions[predicate]);
  }
  cmpInst.uses = [s.use(a)];
  if (folds) setSource(s, cmpInst, b, size, false);
  else cmpInst.uses.push(registerSource(s, b, size));
  s.emit(cmpInst);
  return single(intConditions[predicate]);
}

function canFold(s: Selector, value: Value, size: number): boolean {
  return value.valueKind === "inst" && value.op === Op.Load && loadFolds(s, value, size);
}

/** i1 operands: compare the low bits only. */
function compareBits(s: Selector, a: Value, b: Value, predicate: IntPredicate): Condition {
  const left = s.newGpr(4);
  s.binaryImm(X.And, 4, left, s.reg(a), 1);
  const right = s.newGpr(4);
  s.binaryImm(X.And, 4, right, s.reg(b), 1);
  const cmp = new MInst(X.Cmp, 4);
  cmp.uses = [new RegOperand(left), new RegOperand(right)];
  s.emit(cmp);
  // As signed numbers the bit 1 is -1: the order is reversed.
  const cc = intConditions[predicate];
  const signedReversed: Partial<Record<IntPredicate, Cc>> = { sgt: Cc.B, sge: Cc.BE, slt: Cc.A, sle: Cc.AE };
  return single(signedReversed[predicate] ?? cc);
}

function compareImmediate(
  s: Selector,
  a: Value,
  imm: number,
  predicate: IntPredicate,
  size: number,
  folds: boolean,
): Condition {
  let cc = intConditions[predicate];
  // Signed tests against 0 and −1 read the sign bit alone.
  if (predicate === "sgt" && imm === -1) [cc, imm] = [Cc.NS, 0];
  else if (predicate === "slt" && imm === 0) cc = Cc.S;
  else if (predicate === "sge" && imm === 0) cc = Cc.NS;
  else if (predicate === "ult" && imm === 1) [cc, imm] = [Cc.E, 0];
  else if (predicate === "ugt" && imm === 0) cc = Cc.NE;
  else [cc, imm] = shorterBound(cc, imm, size);
  if (
    imm === 0 &&
    (cc === Cc.E || cc === Cc.NE || cc === Cc.S || cc === Cc.NS || cc === Cc.G || cc === Cc.LE)
  ) {
    const bit = cc === Cc.E || cc === Cc.NE ? emitTestOfBit(s, a, size, folds) : null;
    if (bit !== null) return single(cc === Cc.NE ? bit : invert(bit));
    if (folds && emitTestOfAnd(s, a, size, cc === Cc.E || cc === Cc.NE)) return single(cc);
    if (folds && canFold(s, a, size)) {
      emitCompareMemory(s, foldLoad(s, a, size)!, size, 0);
      return single(cc);
    }
    const test = new MInst(X.Test, size);
    const value = s.reg(a);
    test.uses = [new RegOperand(value), new RegOperand(value)];
    s.emit(test);
    return single(cc);
  }
  if (folds && canFold(s, a, size)) {
    emitCompareMemory(s, foldLoad(s, a, size)!, size, imm);
    return single(cc);
  }
  const cmp = new MInst(X.Cmp, size);
  cmp.uses = [registerSource(s, a, size)];
  cmp.imm = imm;
  s.emit(cmp);
  return single(cc);
}

/** `x < 128` as `x ≤ 127` and the like, where that makes the immediate a byte. */
function shorterBound(cc: Cc, imm: number, size: number): [Cc, number] {
  if (size === 1 || fitsImm8(imm)) return [cc, imm];
  const down: Partial<Record<Cc, Cc>> = { [Cc.L]: Cc.LE, [Cc.GE]: Cc.G, [Cc.B]: Cc.BE, [Cc.AE]: Cc.A };
  const other = down[cc];
  if (imm === 128 && other !== undefined) return [other, 127];
  const up: Partial<Record<Cc, Cc>> = { [Cc.LE]: Cc.L, [Cc.G]: Cc.GE };
  const upper = up[cc];
  if (imm === -129 && upper !== undefined) return [upper, -128];
  return [cc, imm];
}

function emitCompareMemory(s: Selector, mem: MemOperand, size: number, imm: number): void {
  const cmp = new MInst(X.CmpM, size);
  cmp.mem = mem;
  cmp.imm = imm;
  s.emit(cmp);
}

/**
 * (x & y) against zero as `test`, when the conjunction has no other use. Narrowing to one byte is right for
 * equality only: other conditions look at the sign bit of the full width.
 */
function emitTestOfAnd(s: Selector, value: Value, size: number, equality: boolean): boolean {
  const and = s.resolve(value);
  if (and !== value || and.valueKind !== "inst" || and.op !== Op.And) return false;
  if (s.values.uses[and.id] !== 1 || s.values.vregs[and.id]! >= 0 || and.parent !== s.at.parent) return false;
  const [a, b] = and.operands as [Value, Value];
  const imm = immediate(s, b, size);
  if (imm === null) {
    const test = new MInst(X.Test, size);
    const [first, second] = canFold(s, b, size) || !canFold(s, a, size) ? [a, b] : [b, a];
    test.uses = [new RegOperand(s.reg(first))];
    const mem = foldLoad(s, second, size);
    if (mem !== null) test.mem = mem;
    else test.uses.push(new RegOperand(s.reg(second)));
    s.emit(test);
    return true;
  }
  const mask = imm < 0 && size < 8 ? imm + 2 ** (size * 8) : imm;
  if (canFold(s, a, size)) {
    // One byte of memory is enough when the mask has bits in one byte only.
    const shift = equality ? byteOfMask(mask, size) : null;
    const test = new MInst(X.TestM, shift === null ? size : 1);
    test.mem = address(s, (a as InstWith<Op.Load>).operands[0]!, shift === null ? 0 : shift / 8);
    test.imm = shift === null ? imm : signedByte(mask / 2 ** shift);
    s.emit(test);
    return true;
  }
  let width = size;
  if (equality && mask >= 0) width = mask <= 0xff ? 1 : mask <= 0x7fffffff ? Math.min(size, 4) : size;
  const test = new MInst(X.Test, width);
  test.uses = [new RegOperand(s.reg(a))];
  test.imm = width === 1 ? signedByte(mask) : imm;
  s.emit(test);
  return true;
}

const signedByte = (n: number): number => (n > 127 ? n - 256 : n);

/** Bit offset of the only byte in which the mask has bits, or null. */
function byteOfMask(mask: number, size: number): number | null {
  if (mask < 0 || size === 1) return null;
  for (let shift = 0; shift < Math.min(size * 8, 48); shift += 8) {
    const byte = Math.floor(mask / 2 ** shift) % 256;
    if (byte * 2 ** shift === mask) return shift;
  }
  return null;
}

// ── Floating point ──

interface FloatTest {
  /** Compare with operands exchanged. */
  readonly swap: boolean;
  readonly condition: Condition;
}
const both = (first: Cc, second: Cc): Condition => ({ first, second, and: true });
const either = (first: Cc, second: Cc): Condition => ({ first, second, and: false });
const floatTests: Readonly<Record<FloatPredicate, FloatTest | null>> = {
  false: null,
  true: null,
  oeq: { swap: false, condition: both(Cc.E, Cc.NP) },
  une: { swap: false, condition: either(Cc.NE, Cc.P) },
  ogt: { swap: false, condition: single(Cc.A) },
  oge: { swap: false, condition: single(Cc.AE) },
  olt: { swap: true, condition: single(Cc.A) },
  ole: { swap: true, condition: single(Cc.AE) },
  one: { swap: false, condition: single(Cc.NE) },
  ueq: { swap: false, condition: single(Cc.E) },
  ord: { swap: false, condition: single(Cc.NP) },
  uno: { swap: false, condition: single(Cc.P) },
  ugt: { swap: true, condition: single(Cc.B) },
  uge: { swap: true, condition: single(Cc.BE) },
  ult: { swap: false, condition: single(Cc.B) },
  ule: { swap: false, condition: single(Cc.BE) },
};

/** @param signals the invalid flag is raised for quiet NaNs, too */
export function selectFloatCompare(s: Selector, cmp: InstWith<Op.FCmp>, signals = false): Condition {
  const test = floatTests[cmp.data];
  if (test === null) {
    // Constant predicates: compare a register with itself.
    const zero = s.newGpr(4);
    s.moveImm(zero, 4, 0);
    const inst = new MInst(X.Test, 4);
    inst.uses = [new RegOperand(zero), new RegOperand(zero)];
    s.emit(inst);
    return single(cmp.data === "true" ? Cc.E : Cc.NE);
  }
  let [a, b] = cmp.operands as [Value, Value];
  if (test.swap) [a, b] = [b, a];
  // Whether one of them is no number: what is one has no part in it.
  if (!signals && (cmp.data === "uno" || cmp.data === "ord")) {
    if (isNumber(b)) b = a;
    else if (isNumber(a)) a = b;
  }
  if (a.type.kind === "x86_fp80") {
    emitX87Compare(s, a, b, signals);
    return test.condition;
  }
  if (a.type.kind !== "float" && a.type.kind !== "double") return s.unsupported(`fcmp on ${a.type}`);
  const size = a.type.kind === "float" ? 4 : 8;
  const folds = s.values.uses[cmp.id] === 1 && cmp.parent === s.at.parent;
  const quiet = size === 4 ? X.Ucomiss : X.Ucomisd;
  const inst = new MInst(signals ? (size === 4 ? X.Comiss : X.Comisd) : quiet, size);
  inst.uses = [s.use(a)];
  if (folds) setVectorSource(s, inst, b, size);
  else inst.uses.push(s.use(b));
  s.emit(inst);
  return test.condition;
}

/** A constant that is not NaN. */
function isNumber(value: Value): boolean {
  if (value.valueKind === "zero") return true;
  if (value.valueKind !== "float") return false;
  const format = floatFormat(value.type.kind);
  return format !== undefined && !isNaNBits(format, value.bits);
}

// ── Materialised results ──

/** Lowers a strict comparison at its place, unless its user has made it; false when the call is none. */
export function selectStrictCompare(s: Selector, call: CallInst): boolean {
  const strict = strictCompare(call);
  if (strict === null) return false;
  if (!s.values.sunk.has(call.id))
    setCondition(s, s.resultOf(call), selectFloatCompare(s, strict.compare, strict.signals));
  return true;
}

export function selectCompareResult(s: Selector, cmp: InstWith<Op.ICmp | Op.FCmp>): void {
  const condition = cmp.op === Op.ICmp ? selectIntCompare(s, cmp) : selectFloatCompare(s, cmp);
  setCondition(s, s.resultOf(cmp), condition);
}
