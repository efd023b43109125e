/**
 * `llvm.*.with.overflow`: arithmetic whose carry or overflow flag is the second result.
 *
 * When the overflow bit's only user is the instruction being lowered and nothing in between needs the sum,
 * the arithmetic moves down to that user and the flag is used as it is.
 */
import { MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { type CallInst, type InstWith, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import { isConstant, type Value } from "../../ir/values.js";
import { Cc, X } from "../isa/ops.js";
import { maskOf, RAX, RDX } from "../isa/registers.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { immediate, registerSource, setSource } from "./source.js";

interface Arithmetic {
  readonly signed: boolean;
  readonly operation: "add" | "sub" | "mul";
}
const checked = new Map<Intrinsic, Arithmetic>([
  [intrinsics["sadd.with.overflow"], { signed: true, operation: "add" }],
  [intrinsics["uadd.with.overflow"], { signed: false, operation: "add" }],
  [intrinsics["ssub.with.overflow"], { signed: true, operation: "sub" }],
  [intrinsics["usub.with.overflow"], { signed: false, operation: "sub" }],
  [intrinsics["smul.with.overflow"], { signed: true, operation: "mul" }],
  [intrinsics["umul.with.overflow"], { signed: false, operation: "mul" }],
]);

export const isOverflowIntrinsic = (intrinsic: Intrinsic): boolean => checked.has(intrinsic);

/** The call whose overflow bit `extract` is, if it may be emitted at the current instruction. */
export function overflowOf(s: Selector, extract: InstWith<Op.ExtractValue>): CallInst | null {
  const call = extract.operands[0]!;
  if (extract.data[0] !== 1 || call.valueKind !== "inst" || call.op !== Op.Call) return null;
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null || !isOverflowIntrinsic(intrinsic)) return null;
  if (!s.optimize || s.values.uses[extract.id] !== 1 || call.parent !== s.at.parent) return null;
  if (s.values.sunk.has(call.id) || s.values.partOf(call, 1) >= 0) return null;
  const insts = call.parent!.insts;
  for (let i = insts.indexOf(call) + 1; insts[i] !== s.at; i++) {
    const between = insts[i]!;
    if (between === extract) continue;
    for (const operand of between.operands)
      if (operand.valueKind === "inst" && operand.op === Op.ExtractValue && operand.operands[0] === call)
        return null;
  }
  // The consumer itself may read the sum only if it does so as a separate value later; selects may not.
  for (const operand of s.at.operands)
    if (
      operand !== extract &&
      operand.valueKind === "inst" &&
      operand.op === Op.ExtractValue &&
      operand.operands[0] === call
    )
      if (s.at.op !== Op.Select) return null;
  return call;
}

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
  const { signed, operation } = checked.get(intrinsicOf(call.operands[0]!)!)!;
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
