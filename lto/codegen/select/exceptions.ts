/**
 * Exceptions: `invoke`, `landingpad`, `resume` and `llvm.eh.typeid.for`.
 *
 * An invoke is a call that ends its machine block. What belongs after the call on the way on, taking off stack
 * arguments and results in places of their own, stands at the start of the block it returns to, which nothing else leads to
 * (codegen/lowering/split-edges.ts). A landing pad starts with a pseudo instruction that defines the exception pointer and the selector
 * where the personality leaves them, and changes everything that the unwinder does not restore: the caller-saved
 * registers, however little the callee itself changes.
 * Source: Itanium C++ ABI, Exception Handling, level I, section 1.6.3.
 */
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type Body, type CallInst, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";
import { i32 } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { type MBlock, type MFunction, MInst, type PadClause, RegOperand } from "../mir.js";
import { single } from "../register-set.js";
import { connect } from "./blocks.js";
import type { FunctionSelection } from "./function-selection.js";

/**
 * Ends the block of an invoke whose call has just been emitted.
 * @param afterwards emits what follows the call when it returns
 */
export function endInvoke(s: FunctionSelection, call: CallInst, block: MBlock, afterwards: () => void): void {
  const [normal, unwind] = (call.blocks as [Block, Block]).map((target) => s.blocks.head(target)) as [
    MBlock,
    MBlock,
  ];
  connect(block, normal);
  connect(block, unwind);
  unwind.landingPad = true;
  s.jump(normal);
  const insts = s.code.aside(afterwards);
  if (insts.length > 0) s.onReturn.set(normal, insts);
}

/** Puts what follows the calls of invokes where they return to, once all blocks are there. */
export function placeReturns(s: FunctionSelection): void {
  for (const [block, insts] of s.onReturn) {
    if (block.preds.length !== 1) throw new Error(`@${s.mf.name}: an invoke returns into shared code`);
    // Nothing follows where the program says that the call does not return.
    if (block.insts.length > 0) block.insts.unshift(...insts);
  }
}

export function selectLandingPad(s: FunctionSelection, inst: InstWith<Op.LandingPad>): void {
  const { type } = inst;
  const isPair = type.kind === "struct" && type.elements.length === 2;
  if (!isPair || type.elements[0]!.kind !== "ptr" || !type.elements[1]!.isInt(32))
    s.unsupported(`landingpad of type ${type}`);
  const { op, registers } = s.landingPad;
  const pad = new MInst(op, 8);
  registers.forEach((register, i) => {
    const vreg = s.values.partOf(inst, i);
    if (vreg >= 0) pad.defs.push(new RegOperand(vreg, single(register)));
  });
  pad.clobbers = s.mf.target.registers.callClobbers;
  const clauses = inst.operands.map((operand, i) => clauseOf(s, inst.data.clauses[i]!, operand));
  pad.extra = { kind: "landing-pad", cleanup: inst.data.cleanup, clauses };
  s.emit(pad);
}

function clauseOf(s: FunctionSelection, kind: "catch" | "filter", operand: Value): PadClause {
  const { mf } = s;
  if (kind === "catch") return { kind, type: typeIndex(mf, operand) };
  if (operand.valueKind === "aggregate")
    return { kind, types: operand.elements.map((element) => typeIndex(mf, element)) };
  if (operand.type.kind === "array" && operand.type.count === 0) return { kind, types: [] };
  if (operand.type.kind === "array" && operand.valueKind === "zero")
    return { kind, types: Array.from({ length: operand.type.count }, () => typeIndex(mf, null)) };
  return s.unsupported("landingpad with a filter that is no list of types");
}

/** Number of a type among those that the function names in landing pads and selectors; null: any type. */
function typeIndex({ typeInfos, name }: MFunction, type: Value | null): number {
  let info = null;
  if (type !== null && type.valueKind !== "zero") {
    if (type.valueKind !== "global")
      throw new UnsupportedError("exception type that is no symbol", `function '${name}'`);
    info = type;
  }
  const known = typeInfos.indexOf(info);
  return known >= 0 ? known : typeInfos.push(info) - 1;
}

/** Replaces each `llvm.eh.typeid.for` by the selector value of its type: its place in the type table, from 1 on. */
export function numberTypes(mf: MFunction, body: Body): void {
  const numbers = new Map<Value, Value>();
  for (const block of body.blocks)
    for (const inst of block.insts) {
      if (inst.op !== Op.Call) continue;
      const callee = inst.operands[0]!;
      if (intrinsicOf(callee) === intrinsics["eh.typeid.for"])
        numbers.set(inst, constInt(i32, typeIndex(mf, inst.operands[1]!) + 1));
    }
  if (numbers.size === 0) return;
  for (const block of body.blocks) {
    const kept = block.insts.filter((inst) => !numbers.has(inst));
    if (kept.length < block.insts.length) raw(block).insts.splice(0, block.insts.length, ...kept);
    for (const inst of kept)
      for (let i = 0; i < inst.operands.length; i++) {
        const number = numbers.get(inst.operands[i]!);
        if (number !== undefined) raw(inst).operands[i] = number;
      }
  }
}

/** Unwinding goes on above this function, as if the exception had passed it. */
export function selectResume(s: FunctionSelection, inst: Inst): void {
  s.callRoutine("_Unwind_Resume", [inst.operands[0]!], true);
}
