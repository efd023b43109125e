/** select: arithmetic on the condition bit where that is short, else a conditional move; minima and maxima of numbers. */

import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { strictCompare } from "../../codegen/select/strict-operations.js";
import { type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { type Cc, invert, X } from "../isa/ops.js";
import { invertCondition, selectCondition } from "./condition.js";
import { minMaxOf, selectMinMax } from "./min-max.js";
import { fitsImm32 } from "./operand-facts.js";
import type { Selector } from "./selector.js";
import { type Condition, setCondition } from "./set-condition.js";
import { foldLoad } from "./source.js";

export function selectSelect(s: Selector, inst: InstWith<Op.Select>): void {
  const extremum = minMaxOf(inst);
  if (extremum !== null) return selectMinMax(s, inst, extremum);
  const [condition, a, b] = inst.operands as [Value, Value, Value];
  const result = s.resultOf(inst);
  const size = operationSize(s.layout, inst.type);
  if (inst.type.bits === 1 && s.optimize && selectBits(s, condition, a, b, result)) return;
  const x = constantNumber(a);
  const y = constantNumber(b);
  if (
    s.optimize &&
    x !== null &&
    y !== null &&
    size <= 8 &&
    selectConstants(s, condition, x, y, result, size, inst.type.bits)
  )
    return;
  conditionalMove(s, condition, a, b, result, size);
}

/** c ? a : false is c and a; c ? true : b is c or b. Only the lowest bit of the operands counts. */
function selectBits(s: Selector, condition: Value, a: Value, b: Value, result: VReg): boolean {
  const isAnd = b.valueKind === "int" && b.num === 0;
  const isOr = a.valueKind === "int" && a.num !== 0;
  if (!isAnd && !isOr) return false;
  const first = s.reg(condition);
  s.binary(isAnd ? X.And : X.Or, 4, result, first, s.reg(isAnd ? a : b));
  return true;
}

/** c ? x : y for constants that differ by 1, 2, 4 or 8: y + (x − y)·bit. */
function selectConstants(
  s: Selector,
  value: Value,
  x: number,
  y: number,
  result: VReg,
  size: number,
  bits: number,
): boolean {
  if (bits === 1) return false;
  let difference = x - y;
  const negated = difference < 0;
  const base = negated ? x : y;
  if (negated) difference = -difference;
  if (!fitsImm32(base) || ![1, 2, 4, 8].includes(difference)) return false;
  let condition: Condition = selectCondition(s, value);
  if (negated) condition = invertCondition(condition);
  const bit = s.newGpr(4);
  setCondition(s, bit, condition);
  const plain = base === 0 && difference === 1;
  const wide = plain ? result : s.newGpr(4);
  s.unary(X.Movzx8, 4, wide, bit);
  if (plain) return true;
  const width = size === 8 ? 8 : 4;
  if (base === 0) {
    s.binaryImm(X.Shl, width, result, wide, Math.log2(difference));
    return true;
  }
  const lea = new MInst(X.Lea, width);
  lea.defs = [new RegOperand(result)];
  lea.mem =
    difference === 1
      ? memory(new RegOperand(wide), null, 1, base)
      : difference === 2
        ? memory(new RegOperand(wide), new RegOperand(wide), 1, base)
        : memory(null, new RegOperand(wide), difference as 4 | 8, base);
  s.emit(lea);
  return true;
}

function conditionalMove(s: Selector, value: Value, a: Value, b: Value, result: VReg, size: number): void {
  const width = Math.max(size, 4);
  // Both inputs are ready before the flags are set.
  // A floating-point test may need two moves, which must not load twice.
  const test = s.resolve(value);
  const once = (test.valueKind !== "inst" || test.op !== Op.FCmp) && strictCompare(test) === null;
  const loadB = s.optimize && once ? foldLoad(s, b, width) : null;
  const first = s.reg(a);
  const second = loadB === null ? s.reg(b) : -1;
  const condition = selectCondition(s, value);
  const move = (to: VReg, keep: VReg, other: VReg, mem: MemOperand | null, cc: Cc): void => {
    const inst = new MInst(X.Cmov, width);
    inst.condition = cc;
    inst.defs = [RegOperand.tied(to)];
    inst.uses = [new RegOperand(keep)];
    if (mem !== null) inst.mem = mem;
    else inst.uses.push(new RegOperand(other));
    s.emit(inst);
  };
  if (condition.second < 0) return move(result, first, second, loadB, invert(condition.first));
  const other = condition.second as Cc;
  return twice(second);

  function twice(otherValue: VReg): void {
    const middle = s.newGpr(width);
    if (condition.and) {
      // Either code failing selects b.
      move(middle, first, otherValue, null, invert(condition.first));
      move(result, middle, otherValue, null, invert(other));
    } else {
      // Either code holding selects a: start from b.
      move(middle, otherValue, first, null, condition.first);
      move(result, middle, first, null, other);
    }
  }
}
