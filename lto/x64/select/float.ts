/** Scalar float and double: arithmetic, conversions, bit casts; half and fp128 only move. */

import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { Flag, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import { poolMem } from "./constants.js";
import type { Selector } from "./selector.js";
import { foldLoad, registerSource, setVectorSource, vectorOperands } from "./source.js";
import * as x87 from "./x87.js";

const scalarOps: Partial<Record<Op, readonly [X, X]>> = {
  [Op.FAdd]: [X.Addss, X.Addsd],
  [Op.FSub]: [X.Subss, X.Subsd],
  [Op.FMul]: [X.Mulss, X.Mulsd],
  [Op.FDiv]: [X.Divss, X.Divsd],
};
const packedOps: Partial<Record<Op, readonly [X, X]>> = {
  [Op.FAdd]: [X.Addps, X.Addpd],
  [Op.FSub]: [X.Subps, X.Subpd],
  [Op.FMul]: [X.Mulps, X.Mulpd],
  [Op.FDiv]: [X.Divps, X.Divpd],
};

/** fadd, fsub, fmul, fdiv on scalars and vectors. */
export function selectFloatBinary(s: Selector, inst: Inst): void {
  const { type } = inst;
  if (type.kind === "x86_fp80") return x87.selectX87Binary(s, inst);
  const wide = type.scalar.kind === "double" ? 1 : 0;
  const size = s.layout.storeSize(type);
  const ops = (type.isVector ? packedOps : scalarOps)[inst.op];
  if (ops === undefined || (type.scalar.kind !== "float" && type.scalar.kind !== "double"))
    return s.unsupported(`floating-point arithmetic on ${type}`);
  const [a, b] = vectorOperands(s, ops[wide], inst.operands[0]!, inst.operands[1]!, size);
  const machine = new MInst(ops[wide], size);
  machine.defs = [RegOperand.tied(s.resultOf(inst))];
  machine.uses = [s.use(a)];
  setVectorSource(s, machine, b, size);
  s.emit(machine);
}

/** A literal, of 16 bytes or as many as said, whose lanes of `lane` bytes all hold `bits`. */
function splat(lane: 4 | 8, low: number, high: number, size = 16): MemOperand {
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < size; i += lane) {
    view.setUint32(i, low, true);
    if (lane === 8) view.setUint32(i + 4, high, true);
  }
  return poolMem(bytes);
}
export const signMask = (double: boolean, size = 16): MemOperand =>
  double ? splat(8, 0, 0x80000000, size) : splat(4, 0x80000000, 0, size);
export const magnitudeMask = (double: boolean): MemOperand =>
  double ? splat(8, 0xffffffff, 0x7fffffff) : splat(4, 0x7fffffff, 0);

function bitwise(s: Selector, op: X, result: VReg, a: VReg, mask: MemOperand, size = 16): void {
  const inst = new MInst(op, size);
  inst.defs = [RegOperand.tied(result)];
  inst.uses = [new RegOperand(a)];
  inst.mem = mask;
  s.emit(inst);
}

export function selectFNeg(s: Selector, inst: Inst): void {
  const source = inst.operands[0]!;
  if (inst.type.kind === "x86_fp80") return x87.selectX87Unary(s, X.Fchs, source, inst);
  const size = Math.max(16, s.layout.storeSize(inst.type));
  const mask = signMask(inst.type.scalar.kind === "double", size);
  bitwise(s, X.Xorps, s.resultOf(inst), s.reg(source), mask, size);
}

export function selectFAbs(s: Selector, inst: Inst, source: Value): void {
  if (inst.type.kind === "x86_fp80") return x87.selectX87Unary(s, X.Fabs, source, inst);
  bitwise(s, X.Andps, s.resultOf(inst), s.reg(source), magnitudeMask(inst.type.scalar.kind === "double"));
}

export function selectSqrt(s: Selector, inst: Inst, source: Value): void {
  if (inst.type.kind === "x86_fp80") return x87.selectX87Unary(s, X.Fsqrt, source, inst);
  const double = inst.type.scalar.kind === "double";
  const op = inst.type.isVector ? (double ? X.Sqrtpd : X.Sqrtps) : double ? X.Sqrtsd : X.Sqrtss;
  const size = s.layout.storeSize(inst.type);
  const machine = new MInst(op, size);
  machine.defs = [new RegOperand(s.resultOf(inst))];
  setVectorSource(s, machine, source, size);
  s.emit(machine);
}

export function selectCopySign(s: Selector, inst: Inst, magnitude: Value, sign: Value): void {
  if (inst.type.kind === "x86_fp80") return x87.selectX87CopySign(s, magnitude, sign, inst);
  const double = inst.type.scalar.kind === "double";
  const a = s.newXmm();
  const b = s.newXmm();
  bitwise(s, X.Andps, a, s.reg(magnitude), magnitudeMask(double));
  bitwise(s, X.Andps, b, s.reg(sign), signMask(double));
  s.binary(X.Orps, 16, s.resultOf(inst), a, b);
}

// ── Conversions ──

export function selectFPExt(s: Selector, inst: InstWith<Op.FPExt>): void {
  if (inst.type.kind === "x86_fp80") return x87.selectX87Extend(s, inst);
  convert(s, X.Cvtss2sd, 4, s.resultOf(inst), inst.operands[0]!);
}

export function selectFPTrunc(s: Selector, inst: InstWith<Op.FPTrunc>): void {
  if (inst.operands[0]!.type.kind === "x86_fp80") return x87.selectX87Truncate(s, inst);
  convert(s, X.Cvtsd2ss, 8, s.resultOf(inst), inst.operands[0]!);
}

function convert(s: Selector, op: X, sourceSize: number, result: VReg, source: Value): void {
  const machine = new MInst(op, sourceSize);
  machine.defs = [new RegOperand(result)];
  const mem = foldLoad(s, source, sourceSize);
  if (mem !== null) machine.mem = mem;
  else machine.uses.push(registerSource(s, source, sourceSize));
  s.emit(machine);
}

/** i32/i64 → float/double/fp80. */
export function selectIntToFloat(s: Selector, inst: InstWith<Op.SIToFP | Op.UIToFP>): void {
  if (inst.type.kind === "x86_fp80") return x87.selectIntToX87(s, inst);
  const source = inst.operands[0]!;
  const double = inst.type.kind === "double";
  const op = double ? X.Cvtsi2sd : X.Cvtsi2ss;
  const result = s.resultOf(inst);
  const bits = source.type.bits;
  // What is not negative is the same number with a sign.
  const isUnsigned = inst.op === Op.UIToFP && (inst.flags & Flag.NonNeg) === 0;
  if (isUnsigned && bits === 64) return unsignedLongToFloat(s, source, result, op, double);
  const machine = new MInst(op, bits === 64 ? 8 : 4);
  machine.defs = [new RegOperand(result)];
  if (isUnsigned) {
    const wide = s.newGpr();
    s.unary(X.Mov, 4, wide, s.reg(source));
    machine.size = 8;
    machine.uses.push(new RegOperand(wide));
  } else {
    const mem = foldLoad(s, source, bits / 8);
    if (mem !== null) machine.mem = mem;
    else machine.uses.push(registerSource(s, source, bits / 8));
  }
  s.emit(machine);
}

/**
 * u64 → float without a branch: the high and the low 32 bits convert exactly as doubles; their sum rounds
 * once. For float the value is first made odd-rounded to 63 bits when its top bit is set, so that the second
 * rounding cannot differ.
 */
function unsignedLongToFloat(s: Selector, source: Value, result: VReg, op: X, double: boolean): void {
  const value = s.reg(source);
  if (double) {
    const high = s.newGpr();
    s.binaryImm(X.Shr, 8, high, value, 32);
    const low = s.newGpr();
    s.unary(X.Mov, 4, low, value);
    const highFloat = s.newXmm(8);
    s.unary(X.Cvtsi2sd, 8, highFloat, high);
    const scaled = s.newXmm(8);
    const mul = new MInst(X.Mulsd, 8);
    mul.defs = [RegOperand.tied(scaled)];
    mul.uses = [new RegOperand(highFloat)];
    mul.mem = poolMem(new Uint8Array([0, 0, 0, 0, 0, 0, 0xf0, 0x41])); // 2^32
    s.emit(mul);
    const lowFloat = s.newXmm(8);
    s.unary(X.Cvtsi2sd, 8, lowFloat, low);
    s.binary(X.Addsd, 8, result, scaled, lowFloat);
    return;
  }
  // half = top bit set ? (v >> 1 | v & 1) : v, and the result is doubled accordingly.
  const sign = s.newGpr();
  s.binaryImm(X.Shr, 8, sign, value, 63);
  const shifted = s.newGpr();
  s.binaryImm(X.Shr, 8, shifted, value, 1);
  const lowBit = s.newGpr(4);
  s.binaryImm(X.And, 4, lowBit, value, 1);
  const sticky = s.newGpr();
  s.binary(X.Or, 8, sticky, shifted, lowBit);
  const test = new MInst(X.Test, 8);
  test.uses = [new RegOperand(value), new RegOperand(value)];
  s.emit(test);
  const chosen = s.newGpr();
  const cmov = new MInst(X.Cmov, 8);
  cmov.condition = Cc.NS;
  cmov.defs = [RegOperand.tied(chosen)];
  cmov.uses = [new RegOperand(sticky), new RegOperand(value)];
  s.emit(cmov);
  const converted = s.newXmm(4);
  s.unary(op, 8, converted, chosen);
  const base = s.newGpr();
  const lea = new MInst(X.Lea, 8);
  lea.defs = [new RegOperand(base)];
  lea.mem = poolMem(new Uint8Array([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40])); // 1.0f, 2.0f
  s.emit(lea);
  const mul = new MInst(X.Mulss, 4);
  mul.defs = [RegOperand.tied(result)];
  mul.uses = [new RegOperand(converted)];
  mul.mem = memory(new RegOperand(base), new RegOperand(sign), 4);
  s.emit(mul);
}

/** float/double/fp80 → i32/i64, truncating. */
export function selectFloatToInt(s: Selector, inst: InstWith<Op.FPToSI | Op.FPToUI>): void {
  const source = inst.operands[0]!;
  if (source.type.kind === "x86_fp80") return x87.selectX87ToInt(s, inst);
  const double = source.type.kind === "double";
  const op = double ? X.Cvttsd2si : X.Cvttss2si;
  const bits = inst.type.bits;
  const result = s.resultOf(inst);
  if (inst.op === Op.FPToUI && bits === 64) return floatToUnsignedLong(s, source, result, op, double);
  const machine = new MInst(op, bits === 64 || inst.op === Op.FPToUI ? 8 : 4);
  machine.defs = [new RegOperand(result)];
  const mem = foldLoad(s, source, double ? 8 : 4);
  if (mem !== null) machine.mem = mem;
  else machine.uses.push(registerSource(s, source, double ? 8 : 4));
  s.emit(machine);
}

/** Below 2^63 the direct conversion is right; from there on it yields the sign bit and x − 2^63 has the rest. */
function floatToUnsignedLong(s: Selector, source: Value, result: VReg, op: X, double: boolean): void {
  const size = double ? 8 : 4;
  const value = s.reg(source);
  const direct = s.newGpr();
  s.unary(op, 8, direct, value);
  const sign = s.newGpr();
  s.binaryImm(X.Sar, 8, sign, direct, 63);
  const reduced = s.newXmm(size);
  const sub = new MInst(double ? X.Subsd : X.Subss, size);
  sub.defs = [RegOperand.tied(reduced)];
  sub.uses = [new RegOperand(value)];
  sub.mem = poolMem(
    double ? new Uint8Array([0, 0, 0, 0, 0, 0, 0xe0, 0x43]) : new Uint8Array([0, 0, 0, 0x5f]),
  );
  s.emit(sub);
  const rest = s.newGpr();
  s.unary(op, 8, rest, reduced);
  const masked = s.newGpr();
  s.binary(X.And, 8, masked, rest, sign);
  s.binary(X.Or, 8, result, direct, masked);
}

/** Bit casts that cross register files; others are views. */
export function selectBitCast(s: Selector, inst: InstWith<Op.BitCast>): void {
  const source = inst.operands[0]!;
  const result = s.resultOf(inst);
  const toGpr = s.isGeneral(inst.type);
  const fromGpr = s.isGeneral(source.type);
  const size = operationSize(s.layout, inst.type);
  if (toGpr === fromGpr) {
    s.copy(result, s.reg(source), s.mf.vregs[result]!.size);
    return;
  }
  if (size === 2) {
    // half ↔ i16: through the low 32 bits; the upper half of neither is looked at.
    if (toGpr) s.unary(X.MovdFrom, 4, result, s.reg(source));
    else s.unary(X.MovdTo, 4, result, s.reg(source));
    return;
  }
  const load = foldLoad(s, source, size);
  if (toGpr) {
    if (load !== null) s.load(X.Mov, size, result, load);
    else s.unary(size === 8 ? X.MovqFrom : X.MovdFrom, size, result, s.reg(source));
  } else if (load !== null) s.load(size === 8 ? X.Movsd : X.Movss, size, result, load);
  else s.unary(size === 8 ? X.MovqTo : X.MovdTo, size, result, s.reg(source));
}
