/**
 * Rules for single instructions other than calls (LLVM Language Reference, "Instruction Reference"):
 * number and types of operands, type of the result, data that fits the operation.
 */
import { fastMathMask, type Inst, type InstWith, type MemoryData, Op } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { i1, structType, Type } from "../ir/types.js";
import { callProblem } from "./calls.js";
import { describeType } from "./describe.js";
import { legalFlags } from "./flags.js";
import { hintsProblem } from "./hints.js";
import {
  binaryProblem,
  castProblem,
  comparisonProblem,
  gepProblem,
  isBinary,
  isCast,
  isFirstClass,
  isPowerOfTwo,
  type Problem,
  selectProblem,
  typeAt,
} from "./rules.js";

/** Number of operands and of blocks, -1 where it varies. */
const shapes = new Int8Array(2 * (Op.Freeze + 1)).fill(-1);
for (const [op, operands, blocks] of [
  [Op.Ret, -1, 0],
  [Op.Br, 0, 1],
  [Op.CondBr, 1, 2],
  [Op.Switch, 1, -1],
  [Op.IndirectBr, 1, -1],
  [Op.Invoke, -1, 2],
  [Op.CallBr, -1, -1],
  [Op.Resume, 1, 0],
  [Op.Unreachable, 0, 0],
  [Op.FNeg, 1, 0],
  [Op.Alloca, 1, 0],
  [Op.Load, 1, 0],
  [Op.Store, 2, 0],
  [Op.Fence, 0, 0],
  [Op.CmpXchg, 3, 0],
  [Op.AtomicRMW, 2, 0],
  [Op.GetElementPtr, -1, 0],
  [Op.ICmp, 2, 0],
  [Op.FCmp, 2, 0],
  [Op.Phi, -1, -1],
  [Op.Select, 3, 0],
  [Op.Call, -1, 0],
  [Op.VAArg, 1, 0],
  [Op.ExtractElement, 2, 0],
  [Op.InsertElement, 3, 0],
  [Op.ShuffleVector, 2, 0],
  [Op.ExtractValue, 1, 0],
  [Op.InsertValue, 2, 0],
  [Op.LandingPad, -1, 0],
  [Op.Freeze, 1, 0],
] as const) {
  shapes[2 * op] = operands;
  shapes[2 * op + 1] = blocks;
}
for (let op = Op.Add; op <= Op.AddrSpaceCast; op++)
  if (isBinary(op) || isCast(op)) {
    shapes[2 * op] = isBinary(op) ? 2 : 1;
    shapes[2 * op + 1] = 0;
  }

/** Whether the number of operands and blocks fits; until it does, nothing else can be said. */
export function shapeProblem(inst: Inst): Problem {
  const { op } = inst;
  if (!Number.isInteger(op) || op < Op.Ret || op > Op.Freeze) return "unknown operation";
  const operands = shapes[2 * op]!;
  const blocks = shapes[2 * op + 1]!;
  if (operands >= 0 && inst.operands.length !== operands)
    return `${inst.operands.length} operands instead of ${operands}`;
  if (blocks >= 0 && inst.blocks.length !== blocks)
    return `${inst.blocks.length} blocks instead of ${blocks}`;
  for (const operand of inst.operands)
    if (operand === undefined || operand === null) return "missing operand";
  for (const block of inst.blocks) if (block === undefined || block === null) return "missing block";
  return null;
}

/** Types, data and flags. Expects what `shapeProblem` checks. */
export function instructionProblem(inst: Inst, fn: Func): Problem {
  const legal = legalFlags(inst.op);
  if ((inst.flags & ~legal) !== 0) return "flags that the operation cannot have";
  const ofHints = inst.hints === null ? null : hintsProblem(inst, inst.hints);
  if (ofHints !== null) return ofHints;
  if ((inst.flags & fastMathMask) !== 0 && !takesFastMath(inst))
    return "fast-math flags without a floating point value";
  const { op } = inst;
  if (isBinary(op))
    return plainData(inst) ?? binaryProblem(op, inst.type, inst.operands[0]!.type, inst.operands[1]!.type);
  if (isCast(op)) return plainData(inst) ?? castProblem(op, inst.operands[0]!.type, inst.type);
  switch (inst.op) {
    case Op.Ret:
    case Op.Br:
    case Op.CondBr:
    case Op.Switch:
    case Op.IndirectBr:
    case Op.Resume:
    case Op.Unreachable:
      return inst.type.kind === "void" ? terminatorProblem(inst, fn) : "a terminator with a value";
    case Op.Invoke:
    case Op.Call:
    case Op.CallBr:
      return callProblem(inst);
    case Op.Alloca:
    case Op.Load:
    case Op.Store:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.GetElementPtr:
      return memoryProblem(inst);
    default:
      return otherProblem(inst, fn);
  }
}

const plainData = (inst: Inst): Problem =>
  inst.data === null ? null : "data that the operation does not have";

function takesFastMath(inst: Inst): boolean {
  if (inst.op === Op.FCmp) return true;
  let { type } = inst;
  while (type.kind === "array") type = type.element;
  if (type.kind === "struct" && type.elements.length > 0)
    return type.elements.every((element) => element.scalar.isFloat);
  return type.scalar.isFloat;
}

function terminatorProblem(inst: Inst, fn: Func): Problem {
  if (inst.op === Op.Switch) return switchProblem(inst);
  const wrong = plainData(inst);
  if (wrong !== null) return wrong;
  const type = inst.operands[0]?.type;
  switch (inst.op) {
    case Op.Ret: {
      const { result } = fn.valueType;
      if (inst.operands.length > 1) return "more than one value returned";
      if (type === undefined ? result.kind !== "void" : type !== result)
        return `returns ${type === undefined ? "nothing" : describeType(type)} from a function of ${describeType(result)}`;
      return null;
    }
    case Op.CondBr:
      return type === i1 ? null : `condition of type ${describeType(type)}`;
    case Op.IndirectBr:
      return type!.isPointer ? null : `address of type ${describeType(type)}`;
    case Op.Resume:
      if (fn.personality === null) return "resume in a function without a personality";
      return isFirstClass(type!) ? null : `resumes with type ${describeType(type)}`;
    default:
      return null;
  }
}

function switchProblem(inst: InstWith<Op.Switch>): Problem {
  const { type } = inst.operands[0]!;
  if (type.kind !== "int") return `condition of type ${describeType(type)}`;
  if (!Array.isArray(inst.data)) return "no cases";
  if (inst.blocks.length !== inst.data.length + 1) return "cases and targets differ in number";
  const seen = new Set<bigint>();
  for (const value of inst.data) {
    if (value?.valueKind !== "int" || value.type !== type)
      return "case of a different type than the condition";
    if (seen.has(value.value)) return `case ${value.value} occurs twice`;
    seen.add(value.value);
  }
  return null;
}

const orderings = new Set([
  "not_atomic",
  "unordered",
  "monotonic",
  "acquire",
  "release",
  "acq_rel",
  "seq_cst",
]);

/** @param excluded orderings that the operation cannot have */
function orderingProblem(data: MemoryData, excluded: readonly string[]): Problem {
  if (!orderings.has(data.ordering) || excluded.includes(data.ordering)) return `ordering ${data.ordering}`;
  return typeof data.scope === "string" ? null : "no synchronization scope";
}

/** Atomic accesses are to integers, pointers and floats of a power-of-two number of bytes. */
function atomicTypeProblem(type: Type, floats: boolean): Problem {
  const fits =
    type.kind === "ptr" ||
    (type.kind === "int" && type.bits >= 8 && isPowerOfTwo(type.bits)) ||
    (floats && type.isFloat);
  return fits ? null : `atomic access to ${describeType(type)}`;
}

function memoryProblem(inst: Inst): Problem {
  const { operands } = inst;
  switch (inst.op) {
    case Op.Alloca: {
      const { data } = inst;
      if (data === null || typeof data !== "object") return "no data";
      if (!isPowerOfTwo(data.align)) return `alignment ${data.align}`;
      if (!(data.allocatedType instanceof Type)) return "no type to allocate";
      if (!isFirstClass(data.allocatedType)) return `allocates ${describeType(data.allocatedType)}`;
      if (operands[0]!.type.kind !== "int") return `count of type ${describeType(operands[0]!.type)}`;
      return inst.type.isPointer ? null : `the result has type ${describeType(inst.type)}`;
    }
    case Op.GetElementPtr:
      if (!(inst.data?.elementType instanceof Type)) return "no element type";
      return gepProblem(inst.data.elementType, inst.type, operands);
    case Op.Fence:
      if (inst.type.kind !== "void") return "a fence with a value";
      if (inst.data === null || typeof inst.data !== "object") return "no data";
      return orderingProblem(inst.data, ["not_atomic", "unordered", "monotonic"]);
    case Op.Load:
    case Op.Store:
    case Op.CmpXchg:
    case Op.AtomicRMW:
      return accessProblem(inst);
    default:
      return null;
  }
}

function accessProblem(inst: InstWith<Op.Load | Op.Store | Op.CmpXchg | Op.AtomicRMW>): Problem {
  const { operands } = inst;
  const { data } = inst;
  if (data === null || typeof data !== "object") return "no data";
  if (!isPowerOfTwo(data.align)) return `alignment ${data.align}`;
  const pointer = inst.op === Op.Store ? operands[1]! : operands[0]!;
  if (!pointer.type.isPointer) return `address of type ${describeType(pointer.type)}`;
  switch (inst.op) {
    case Op.Load: {
      if (!isFirstClass(inst.type)) return `loads ${describeType(inst.type)}`;
      const problem = orderingProblem(data, ["release", "acq_rel"]);
      if (problem !== null) return problem;
      return data.ordering === "not_atomic" ? null : atomicTypeProblem(inst.type, true);
    }
    case Op.Store: {
      const { type } = operands[0]!;
      if (inst.type.kind !== "void") return "a store with a value";
      if (!isFirstClass(type)) return `stores ${describeType(type)}`;
      const problem = orderingProblem(data, ["acquire", "acq_rel"]);
      if (problem !== null) return problem;
      return data.ordering === "not_atomic" ? null : atomicTypeProblem(type, true);
    }
    case Op.CmpXchg: {
      const { type } = operands[1]!;
      if (operands[2]!.type !== type) return "values of different types";
      if (inst.type !== structType([type, i1])) return `the result has type ${describeType(inst.type)}`;
      const { failureOrdering } = inst.data;
      if (
        !orderings.has(failureOrdering) ||
        ["not_atomic", "unordered", "release", "acq_rel"].includes(failureOrdering)
      )
        return `failure ordering ${failureOrdering}`;
      return orderingProblem(data, ["not_atomic", "unordered"]) ?? atomicTypeProblem(type, false);
    }
    default:
      return rmwProblem(inst as InstWith<Op.AtomicRMW>);
  }
}

const rmwOps = new Set(
  "xchg add sub and nand or xor max min umax umin uinc_wrap udec_wrap usub_cond usub_sat".split(" "),
);
const floatRmwOps = new Set(["fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum"]);

function rmwProblem(inst: InstWith<Op.AtomicRMW>): Problem {
  const { type } = inst.operands[1]!;
  const { rmw } = inst.data;
  if (inst.type !== type) return `the result has type ${describeType(inst.type)}`;
  const problem = orderingProblem(inst.data, ["not_atomic", "unordered"]);
  if (problem !== null) return problem;
  if (floatRmwOps.has(rmw)) return type.scalar.isFloat ? null : `${rmw} of ${describeType(type)}`;
  if (!rmwOps.has(rmw)) return "unknown atomicrmw operation";
  if (rmw !== "xchg" && type.kind !== "int") return `${rmw} of ${describeType(type)}`;
  return atomicTypeProblem(type, true);
}

function otherProblem(inst: Inst, fn: Func): Problem {
  const { operands, type } = inst;
  const a = operands[0]?.type;
  const b = operands[1]?.type;
  const c = operands[2]?.type;
  switch (inst.op) {
    case Op.FNeg:
      return a === type && type.scalar.isFloat ? plainData(inst) : `operand of type ${describeType(a)}`;
    case Op.Freeze:
      return a === type && isFirstClass(type) ? plainData(inst) : `the result has type ${describeType(type)}`;
    case Op.ICmp:
    case Op.FCmp:
      return comparisonProblem(inst.op, inst.data, type, a!, b!);
    case Op.Select:
      return plainData(inst) ?? selectProblem(a!, type, b!, c!);
    case Op.Phi:
      if (operands.length !== inst.blocks.length) return "values and blocks differ in number";
      if (!isFirstClass(type)) return `phi of type ${describeType(type)}`;
      for (const operand of operands)
        if (operand.type !== type)
          return `value of type ${describeType(operand.type)} in a phi of ${describeType(type)}`;
      return plainData(inst);
    case Op.VAArg:
      if (!a!.isPointer) return `list of type ${describeType(a)}`;
      return isFirstClass(type) ? plainData(inst) : `the result has type ${describeType(type)}`;
    case Op.ExtractElement:
      if (!a!.isVector || a!.element !== type) return `the result has type ${describeType(type)}`;
      return b!.kind === "int" ? plainData(inst) : `index of type ${describeType(b)}`;
    case Op.InsertElement:
      if (!a!.isVector || a !== type) return `the result has type ${describeType(type)}`;
      if (b !== a!.element) return `element of type ${describeType(b)}`;
      return c!.kind === "int" ? plainData(inst) : `index of type ${describeType(c)}`;
    case Op.ShuffleVector:
      return shuffleProblem(inst);
    case Op.ExtractValue:
    case Op.InsertValue: {
      const path: unknown = inst.data;
      if (!Array.isArray(path) || path.length === 0) return "no index";
      const place = typeAt(a!, path);
      if (place === undefined) return `index leads nowhere in ${describeType(a)}`;
      if (inst.op === Op.ExtractValue)
        return place === type ? null : `the result has type ${describeType(type)}`;
      if (b !== place) return `inserts ${describeType(b)} where ${describeType(place)} belongs`;
      return a === type ? null : `the result has type ${describeType(type)}`;
    }
    case Op.LandingPad:
      return landingPadProblem(inst, fn);
    default:
      return "unknown operation";
  }
}

function shuffleProblem(inst: InstWith<Op.ShuffleVector>): Problem {
  const [a, b] = inst.operands as [(typeof inst.operands)[0], (typeof inst.operands)[0]];
  const mask: unknown = inst.data;
  if (!a.type.isVector || a.type !== b.type) return "operands are not vectors of one type";
  if (!Array.isArray(mask)) return "no mask";
  const { type } = inst;
  if (!type.isVector || type.element !== a.type.element || type.count !== mask.length)
    return `the result has type ${describeType(type)}`;
  const lanes = 2 * a.type.count;
  for (const lane of mask)
    if (!Number.isInteger(lane) || lane < -1 || lane >= lanes) return `mask element ${lane} is out of range`;
  return null;
}

function landingPadProblem(inst: InstWith<Op.LandingPad>, fn: Func): Problem {
  const { data, operands } = inst;
  if (data === null || typeof data !== "object" || !Array.isArray(data.clauses)) return "no data";
  if (data.clauses.length !== operands.length) return "clauses and operands differ in number";
  if (!data.cleanup && operands.length === 0) return "neither a cleanup nor a clause";
  if (fn.personality === null) return "landingpad in a function without a personality";
  for (let i = 0; i < operands.length; i++) {
    const { type, valueKind } = operands[i]!;
    if (valueKind === "inst" || valueKind === "argument") return "a clause that is not a constant";
    if (data.clauses[i] === "catch" ? !type.isPointer : type.kind !== "array")
      return `${data.clauses[i]} of type ${describeType(type)}`;
  }
  return isFirstClass(inst.type) ? null : `the result has type ${describeType(inst.type)}`;
}
