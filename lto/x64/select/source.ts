/**
 * The second operand of a machine instruction: immediate, folded load, symbol, or register.
 */

import { type MemOperand, type MInst, RegOperand } from "../../codegen/mir.js";
import { noRegisters } from "../../codegen/register-set.js";
import { constantBytes, foldedInteger } from "../../codegen/select/constants.js";
import { foldableLoad } from "../../codegen/select/loads.js";
import { type Inst, Op } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { opCommutes } from "../isa/op-info.js";
import { address } from "./address.js";
import { poolMem } from "./constants.js";
import { fitsImm32 } from "./operand-facts.js";
import type { Selector } from "./selector.js";

/** Memory operand of a foldable load, or null. */
export function foldLoad(s: Selector, value: Value, size: number): MemOperand | null {
  const load = foldableLoad(s, value, size);
  return load === null ? null : address(s, load.operands[0]!);
}

/**
 * An immediate that `value` can be in an instruction of `size` bytes (sign-extended 32 bits), or null. A constant i1 is
 * what its register would hold, 0 or 1: LLVM writes `true` as -1.
 */
export function immediate(s: Selector, value: Value, size: number): number | null {
  if (!isConstant(value)) return null;
  const folded = foldedInteger(s.layout, value);
  if (folded === null) return null;
  if (value.type.bits === 1) return Number(folded & 1n);
  const n = Number(BigInt.asIntN(size * 8, folded));
  return fitsImm32(n) ? n : null;
}

/** Sets the source of an integer instruction: immediate, memory or register. */
export function setSource(s: Selector, inst: MInst, value: Value, size: number, immediates = true): void {
  if (immediates) {
    const imm = immediate(s, value, size);
    if (imm !== null) {
      inst.imm = imm;
      return;
    }
  }
  const mem = foldLoad(s, value, size);
  if (mem !== null) inst.mem = mem;
  else inst.uses.push(registerSource(s, value, size));
}

/** A register source that may become a memory operand if it is spilled. */
export function registerSource(s: Selector, value: Value, size: number): RegOperand {
  const vreg = s.reg(value);
  return new RegOperand(vreg, noRegisters, s.optimize && size <= s.mf.vregs[vreg]!.size);
}

/** Whether only the instruction being lowered reads a value that nothing has made yet. */
const isOnlyHere = (s: Selector, { id }: Inst): boolean => s.values.uses[id] === 1 && s.values.vregs[id]! < 0;

/** Memory operand of `bytes` that are loaded as a number, or as one that is extended to more; else null. */
export function foldScalar(s: Selector, value: Value, bytes: number): MemOperand | null {
  if (value.valueKind === "inst" && value.op === Op.ZExt) {
    const [inner] = value.operands;
    return isOnlyHere(s, value) && s.layout.storeSize(inner!.type) === bytes
      ? foldLoad(s, inner!, bytes)
      : null;
  }
  return s.layout.storeSize(value.type) === bytes ? foldLoad(s, value, bytes) : null;
}

const toRegister = /^tsc\.x64\.(?:movd|movq|ss|sd)\.to$/;

/** The same of what is at the low end of a vector register, for instructions that read no more of it. */
export function foldLowEnd(s: Selector, value: Value, bytes: number): MemOperand | null {
  let v = value;
  while (v.valueKind === "inst" && v.op === Op.BitCast && isOnlyHere(s, v)) v = v.operands[0]!;
  if (v.valueKind !== "inst" || v.op !== Op.Call || !isOnlyHere(s, v)) return null;
  const callee = v.operands[0]!;
  if (callee.valueKind !== "global" || !toRegister.test(callee.name)) return null;
  return foldScalar(s, v.operands[1]!, bytes);
}

/** A load that an SSE instruction may perform itself, or null: without AVX packed operands have to be aligned. */
const vectorLoad = (s: Selector, value: Value, size: number) => {
  const load = foldableLoad(s, value, size);
  return load !== null && (size !== 16 || s.vectorFeatures.avx || load.data.align >= 16) ? load : null;
};

/** Sets the source of an SSE instruction: literal pool, folded load or register. */
export function setVectorSource(s: Selector, inst: MInst, value: Value, size: number): void {
  if (isConstant(value) && value.valueKind !== "undef") {
    const bytes = constantBytes(s.layout, value);
    if (bytes !== null && bytes.length === size && bytes.some((b) => b !== 0) && !s.code.constants.hasRoom) {
      inst.mem = poolMem(bytes);
      return;
    }
  }
  const load = vectorLoad(s, value, size);
  if (load !== null) inst.mem = address(s, load.operands[0]!);
  else inst.uses.push(registerSource(s, value, size));
}

/** Operands of an SSE instruction in the order that serves, where they commute. */
export function vectorOperands(s: Selector, op: number, a: Value, b: Value, size: number): [Value, Value] {
  return opCommutes[op] === 1 ? inOrder(s, a, b, (value) => vectorLoad(s, value, size) !== null) : [a, b];
}

/** Operands that commute in the order that serves: a constant or what folds second, else what dies first. */
export function inOrder(s: Selector, a: Value, b: Value, folds: (value: Value) => boolean): [Value, Value] {
  if (isConstant(b)) return [a, b];
  if (isConstant(a)) return [b, a];
  if (folds(b)) return [a, b];
  if (folds(a)) return [b, a];
  return !s.diesHere(a) && s.diesHere(b) ? [b, a] : [a, b];
}
