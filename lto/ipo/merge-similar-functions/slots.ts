/**
 * Which operands of an instruction may be a parameter where they were a constant, and what that does to its size.
 *
 * Left alone is what has to be a constant by the rules of the IR (members of structures, cases, immediate arguments, inputs
 * of assembly), what makes other code when it is one (divisors, lengths of copies,
 * callees of the program), and what no register holds.
 */
import { type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Constant, Value } from "../../ir/values.js";
import { isConstant } from "../../ir/values.js";
import { isPassable } from "../similar/parameters.js";

/** Whether a constant can be computed by somebody else and passed. */
export function isPassed(value: Value): value is Constant {
  if (!isConstant(value) || !isPassable(value.type)) return false;
  switch (value.valueKind) {
    case "int":
    case "float":
    case "zero":
      return true;
    case "global":
      return (value.kind === "function" || value.kind === "variable") && value.threadLocal === "none";
    case "expr":
      return value.op === Op.GetElementPtr && isPassed(value.operands[0]!);
    default:
      return false;
  }
}

/** Whether operand `slot`, a constant, could be a value of its type as well. */
export function mayVary(inst: Inst, slot: number): boolean {
  const { op, operands } = inst;
  if (!isPassed(operands[slot]!)) return false;
  switch (op) {
    case Op.Ret:
    case Op.Load:
    case Op.Store:
    case Op.ICmp:
    case Op.FCmp:
    case Op.Phi:
      return true;
    case Op.Select:
      return slot > 0;
    case Op.GetElementPtr:
      return slot === 0 || !indexesStructure(inst, slot);
    default:
      if (op >= Op.Add && op <= Op.FMul) return true;
      if (op >= Op.Shl && op <= Op.Xor) return true;
      return isCall(inst) && passesAnything(inst, slot);
  }
}

function indexesStructure(gep: Inst, slot: number): boolean {
  if (gep.op !== Op.GetElementPtr || slot === 1) return false;
  let type = gep.data.elementType;
  for (let i = 2; i < slot; i++) {
    if (type.kind === "struct") {
      const index = gep.operands[i]!;
      if (index.valueKind !== "int" || Number.isNaN(index.num)) return true;
      type = type.elements[index.num]!;
    } else type = type.element;
  }
  return type.kind === "struct";
}

function passesAnything(call: Inst, slot: number): boolean {
  if (!isCall(call) || slot > call.data.argumentCount) return false;
  const callee = call.operands[0]!;
  if (slot === 0) return isPassedCallee(callee);
  if (callee.valueKind === "asm") return false;
  if (call.data.attributes.parameter(slot - 1).has("immarg")) return false;
  const intrinsic = intrinsicOf(callee);
  if (intrinsic === null) return true;
  return /^mem(?:cpy|move|set)$/.test(intrinsic.name) && slot <= (intrinsic.name === "memset" ? 1 : 2);
}

/**
 * Whether a callee may be called through a pointer instead: one outside of the program, of which nothing but the platform's
 * convention is known at calls either way.
 */
export function isPassedCallee(callee: Value): boolean {
  if (callee.valueKind !== "global" || callee.kind !== "function") return false;
  const { isDeclaration, intrinsic, attributes } = callee;
  return isDeclaration && intrinsic === null && !attributes.fn.has("returns_twice");
}

/** Bytes by which an instruction is longer when the operand is in a register. */
export function bytesOfVariable({ op }: Inst, slot: number): number {
  switch (op) {
    // The count has to be in one register.
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return slot === 1 ? 4 : 0;
    default:
      return 0;
  }
}
