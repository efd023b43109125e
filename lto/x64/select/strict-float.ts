/**
 * Floating-point operations that keep their places (see codegen/legalize/strict-operations.ts): the instructions of plain
 * ones, but for those that would raise flags which the operation has no right to, and comparisons that signal.
 */

import { strictInstructions } from "../../codegen/legalize/strict-operations.js";
import { MInst, RegOperand } from "../../codegen/mir.js";
import { plainInst, strictName } from "../../codegen/select/strict-operations.js";
import { type CallInst, type InstWith, Op } from "../../ir/instructions.js";
import type { Intrinsic } from "../../ir/intrinsics.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import { poolMem } from "./constants.js";
import * as float from "./float.js";
import type { Selector } from "./selector.js";
import { selectX87ToInt } from "./x87.js";

/** Lowers a strict operation other than a comparison; false when it is none. */
export function selectStrict(s: Selector, call: CallInst, intrinsic: Intrinsic): boolean {
  const name = strictName(intrinsic);
  if (name === null) return false;
  if (name === "sqrt") {
    float.selectSqrt(s, call, call.operands[1]!);
    return true;
  }
  const op = strictInstructions[name as keyof typeof strictInstructions] as Op | undefined;
  if (op === undefined) return false;
  const inst = plainInst(call, op, null) as never;
  switch (op) {
    case Op.FPExt:
      float.selectFPExt(s, inst);
      break;
    case Op.FPTrunc:
      float.selectFPTrunc(s, inst);
      break;
    case Op.SIToFP:
    case Op.UIToFP:
      float.selectIntToFloat(s, inst);
      break;
    case Op.FPToSI:
    case Op.FPToUI:
      selectToInt(s, inst);
      break;
    default:
      float.selectFloatBinary(s, inst);
  }
  return true;
}

function selectToInt(s: Selector, inst: InstWith<Op.FPToSI | Op.FPToUI>): void {
  const source = inst.operands[0]!;
  // What does not fit raises a flag, which a wider store would not.
  if (source.type.kind === "x86_fp80")
    return selectX87ToInt(s, inst, inst.op === Op.FPToSI ? inst.type.bits / 8 : 8);
  if (inst.op === Op.FPToUI && inst.type.bits === 64) return floatToUnsignedLong(s, source, s.resultOf(inst));
  float.selectFloatToInt(s, inst);
}

/** From 2^63 on that much is taken off first, which is exact, and put back after; else zero is. */
function floatToUnsignedLong(s: Selector, source: Value, result: number): void {
  const double = source.type.kind === "double";
  const size = double ? 8 : 4;
  // 0 and 2^63.
  const table = new Uint8Array(2 * size);
  table.set(double ? [0, 0, 0, 0, 0, 0, 0xe0, 0x43] : [0, 0, 0, 0x5f], size);
  const value = s.reg(source);
  const base = s.newGpr();
  const lea = new MInst(X.Lea, 8);
  lea.defs = [new RegOperand(base)];
  lea.mem = poolMem(table);
  s.emit(lea);
  const compare = new MInst(double ? X.Ucomisd : X.Ucomiss, size);
  compare.uses = [new RegOperand(value)];
  compare.mem = memory(new RegOperand(base), null, 1, size);
  s.emit(compare);
  const flag = s.newGpr(4);
  const set = new MInst(X.Setcc, 1);
  set.condition = Cc.AE; // Not if unordered.
  set.defs = [new RegOperand(flag)];
  s.emit(set);
  const above = s.newGpr();
  s.unary(X.Movzx8, 4, above, flag);
  const reduced = s.newXmm(size);
  const sub = new MInst(double ? X.Subsd : X.Subss, size);
  sub.defs = [RegOperand.tied(reduced)];
  sub.uses = [new RegOperand(value)];
  sub.mem = memory(new RegOperand(base), new RegOperand(above), size);
  s.emit(sub);
  const low = s.newGpr();
  s.unary(double ? X.Cvttsd2si : X.Cvttss2si, 8, low, reduced);
  const top = s.newGpr();
  s.binaryImm(X.Shl, 8, top, above, 63);
  s.binary(X.Xor, 8, result, low, top);
}
