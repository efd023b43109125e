/**
 * `llvm.*.with.overflow`: arithmetic whose carry or overflow flag is the second result.
 *
 * When the overflow bit's only user is the instruction being lowered and nothing in between needs the sum,
 * the arithmetic moves down to that user and the flag is used as it is.
 */

import { MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { checkedArithmetic } from "../../codegen/select/overflow.js";
import type { CallInst } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { isConstant, type Value } from "../../ir/values.js";
import { Cc, X } from "../isa/ops.js";
import { maskOf, RAX, RDX } from "../isa/registers.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { immediate, registerSource, setSource } from "./source.js";

/** Emits the arithmetic here; returns the condition that means overflow. */
export function emitOverflow(s: Selector, call: CallInst): Cc {
  s.values.sunk.add(call.id);
  return emitArithmetic(s, call);
}

/** Lowers the call at its own place. */
export function selectOverflow(s: Selector, call: CallInst): void {
  if (s.values.sunk.has(call.id)) return;
  const bit = s.values.partOf(call, 1);
  if (bit < 0 && s.values.partOf(call, 0) < 0) return;
  const cc = emitArithmetic(s, call);
  if (bit >= 0) setCondition(s, bit, { first: cc, second: -1, and: false });
}

function emitArithmetic(s: Selector, call: CallInst): Cc {
  const { signed, operation } = checkedArithmetic.get(intrinsicOf(call.operands[0]!)!)!;
  let [, a, b] = call.operands as [Value, Value, Value];
  if (operation !== "sub" && isConstant(a)) [a, b] = [b, a];
  const size = operationSize(s.layout, a.type);
  const wanted = s.values.partOf(call, 0);
  if (operation === "mul") return emitMultiply(s, signed, a, b, size, wanted);
  const cc = signed ? Cc.O : Cc.B;
  if (operation === "sub" && wanted < 0) {
    const cmp = new MInst(X.Cmp, size);
    cmp.uses = [s.use(a)];
    setSource(s, cmp, b, size);
    s.emit(cmp);
    return cc;
  }
  const inst = new MInst(operation === "add" ? X.Add : X.Sub, size);
  inst.defs = [RegOperand.tied(wanted >= 0 ? wanted : s.newReg(a.type))];
  inst.uses = [s.use(a)];
  setSource(s, inst, b, size);
  s.emit(inst);
  return cc;
}

function emitMultiply(s: Selector, signed: boolean, a: Value, b: Value, size: number, wanted: VReg): Cc {
  const result = wanted >= 0 ? wanted : s.newReg(a.type);
  if (signed && size > 1) {
    const imm = immediate(s, b, size);
    if (imm !== null) {
      const mul = new MInst(X.ImulImm, size);
      mul.defs = [new RegOperand(result)];
      mul.uses = [s.use(a)];
      mul.imm = imm;
      s.emit(mul);
    } else {
      const mul = new MInst(X.Imul, size);
      mul.defs = [RegOperand.tied(result)];
      mul.uses = [s.use(a)];
      setSource(s, mul, b, size);
      s.emit(mul);
    }
    return Cc.O;
  }
  const mul = new MInst(signed ? X.IMulWide : X.Mul, size);
  mul.uses = [new RegOperand(s.reg(a), maskOf(RAX)), registerSource(s, b, size)];
  mul.defs = [new RegOperand(result, maskOf(RAX))];
  if (size > 1) mul.defs.push(new RegOperand(s.newGpr(size), maskOf(RDX)));
  s.emit(mul);
  return Cc.O;
}
