/**
 * Independent check that a legalised function is what selection expects.
 *
 * Restates the contract from the types and operations themselves rather than by the legaliser's tables, so
 * that one mistake is not made twice. For tests: not tuned for speed.
 */
import { type Inst, isTerminator, Op, opNames } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { isConstant, type Value } from "../../ir/values.js";
import type { LegalFunction } from "./index.js";

const scalars = new Set(["i1", "i8", "i16", "i32", "i64", "float", "double", "x86_fp80"]);
const moved = new Set(["half", "bfloat", "fp128"]);
const vectors = new Set(["<16 x i8>", "<8 x i16>", "<4 x i32>", "<2 x i64>", "<4 x float>", "<2 x double>"]);
/** Where registers are as wide. */
const wideVectors = new Set([
  "<32 x i8>",
  "<16 x i16>",
  "<8 x i32>",
  "<4 x i64>",
  "<8 x float>",
  "<4 x double>",
]);
const widestVectors = new Set([
  "<64 x i8>",
  "<32 x i16>",
  "<16 x i32>",
  "<8 x i64>",
  "<16 x float>",
  "<8 x double>",
]);
const movers = new Set<Op>([
  Op.Load,
  Op.Store,
  Op.Phi,
  Op.Select,
  Op.Freeze,
  Op.BitCast,
  Op.Call,
  Op.Invoke,
  Op.Ret,
]);
const aggregateMakers = new Set<Op>([Op.Call, Op.Invoke, Op.CallBr, Op.CmpXchg, Op.LandingPad]);

function isValueType(type: Type, { registerBytes }: LegalFunction): boolean {
  const text = String(type);
  if (registerBytes >= 32 && wideVectors.has(text)) return true;
  if (registerBytes === 64 && widestVectors.has(text)) return true;
  return type.kind === "ptr" || scalars.has(text) || moved.has(text) || vectors.has(text);
}

/** @returns one line per violation; empty when the function is legal */
export function checkLegal(f: LegalFunction): string[] {
  const problems: string[] = [];
  const seen = new Set<Inst>();
  for (const block of f.body.blocks) for (const inst of block.insts) seen.add(inst);
  f.body.blocks.forEach((block, b) => {
    const complain = (inst: Inst, what: string): void => {
      problems.push(`@${f.fn.name} block ${b}: ${opNames[inst.op]}: ${what}`);
    };
    if (block.insts.length === 0) problems.push(`@${f.fn.name} block ${b}: empty`);
    const before = new Set<Inst>();
    block.insts.forEach((inst, i) => {
      if (inst.op !== Op.Phi)
        for (const operand of inst.operands)
          if (operand.valueKind === "inst" && operand.parent === block && !before.has(operand))
            complain(inst, "an operand is computed after it");
      before.add(inst);
      if (isTerminator(inst.op) !== (i === block.insts.length - 1)) complain(inst, "terminator out of place");
      if (inst.parent !== block) complain(inst, "wrong parent");
      checkInst(inst, f, seen, complain);
    });
  });
  for (const { argument } of f.args)
    if (!isValueType(argument.type, f)) problems.push(`argument of type ${argument.type}`);
  f.args.forEach(({ argument }, i) => {
    if (argument.index !== i) problems.push(`argument ${i} has index ${argument.index}`);
  });
  checkPredecessors(f, problems);
  return problems;
}

function checkPredecessors(f: LegalFunction, problems: string[]): void {
  const predecessors = new Map<unknown, unknown[]>();
  for (const block of f.body.blocks) predecessors.set(block, []);
  for (const block of f.body.blocks)
    for (const successor of block.successors) {
      const list = predecessors.get(successor);
      if (list === undefined) problems.push("a successor is not in the body");
      else list.push(block);
    }
  f.body.blocks.forEach((block, b) => {
    const expected = predecessors.get(block)!;
    let phisOver = false;
    for (const inst of block.insts) {
      if (inst.op !== Op.Phi) {
        phisOver = true;
        continue;
      }
      if (phisOver) problems.push(`block ${b}: phi after other instructions`);
      if (inst.operands.length !== inst.blocks.length) problems.push(`block ${b}: ragged phi`);
      const unmatched = [...expected];
      for (const from of inst.blocks) {
        const at = unmatched.indexOf(from);
        if (at < 0) problems.push(`block ${b}: phi names a block that is no predecessor`);
        else unmatched.splice(at, 1);
      }
      if (unmatched.length > 0) problems.push(`block ${b}: phi lacks a predecessor`);
    }
  });
}

type Complain = (inst: Inst, what: string) => void;

function checkInst(inst: Inst, f: LegalFunction, seen: ReadonlySet<Inst>, complain: Complain): void {
  const type = inst.type;
  if (type.isAggregate) {
    if (!aggregateMakers.has(inst.op)) complain(inst, `aggregate result ${type}`);
    for (const member of type.elements)
      if (!isValueType(member, f)) complain(inst, `result member ${member}`);
  } else if (type.kind !== "void" && type.kind !== "token" && !isValueType(type, f))
    complain(inst, `result ${type}`);
  inst.operands.forEach((operand, i) => {
    checkOperand(inst, operand, i, f, seen, complain);
  });
  if (inst.operands.some((o) => moved.has(String(o.type))) || moved.has(String(type)))
    if (!movers.has(inst.op)) complain(inst, "arithmetic on a type that only moves");
  checkOp(inst, f, complain);
}

function checkOperand(
  inst: Inst,
  operand: Value,
  index: number,
  f: LegalFunction,
  seen: ReadonlySet<Inst>,
  complain: Complain,
): void {
  if (operand.valueKind === "inst") {
    if (!seen.has(operand)) complain(inst, `operand ${index} is not in the body`);
    if (operand.type.isAggregate && inst.op !== Op.ExtractValue) complain(inst, "aggregate operand");
  }
  if (operand.valueKind === "argument" && f.args[operand.index]?.argument !== operand)
    complain(inst, `operand ${index} is not a legal argument`);
  if (operand.valueKind === "asm" || operand.valueKind === "metadata" || inst.op === Op.LandingPad) return;
  const type = operand.type;
  if (!type.isAggregate && type.kind !== "token" && !isValueType(type, f))
    complain(inst, `operand ${index} of type ${type}`);
  if (isConstant(operand) && type.isAggregate) complain(inst, `operand ${index} is an aggregate constant`);
}

function isVectorOpAllowed(inst: Inst, { registerBytes }: LegalFunction): boolean {
  const isFloat = inst.type.element.isFloat;
  switch (inst.op) {
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return !isFloat;
    case Op.Mul:
      return registerBytes >= 32
        ? !isFloat && inst.type.element.bits !== 8
        : String(inst.type) === "<8 x i16>";
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
    case Op.FNeg:
      return isFloat;
    case Op.Load:
    case Op.Phi:
    case Op.Select:
    case Op.BitCast:
    case Op.Freeze:
    case Op.Call:
    case Op.Invoke:
    case Op.ExtractValue:
      return true;
    default:
      return false;
  }
}

function checkOp(inst: Inst, f: LegalFunction, complain: Complain): void {
  const first = inst.operands[0];
  if (inst.type.kind === "vector" && !isVectorOpAllowed(inst, f))
    complain(inst, `not available on ${inst.type}`);
  switch (inst.op) {
    case Op.FRem:
    case Op.ExtractElement:
    case Op.InsertElement:
    case Op.ShuffleVector:
    case Op.InsertValue:
    case Op.VAArg:
      complain(inst, "must not remain");
      break;
    case Op.ExtractValue:
      if (inst.data.length !== 1 || first!.valueKind !== "inst")
        complain(inst, "must be one member of an instruction");
      break;
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      if (inst.type.isInt(1)) complain(inst, "arithmetic on i1");
      break;
    case Op.ICmp:
      if (first!.type.kind === "vector") complain(inst, "vector comparison");
      if (first!.type.isInt(1) && inst.data !== "eq" && inst.data !== "ne") complain(inst, "order of i1");
      break;
    case Op.FCmp:
      if (first!.type.kind === "vector") complain(inst, "vector comparison");
      break;
    case Op.Load:
      if (inst.type.isInt(1)) complain(inst, "load of i1");
      break;
    case Op.Store:
      if (first!.type.isInt(1)) complain(inst, "store of i1");
      break;
    case Op.PtrToInt:
      if (!inst.type.isInt(64)) complain(inst, "not to i64");
      break;
    case Op.IntToPtr:
      if (!first!.type.isInt(64)) complain(inst, "not from i64");
      break;
    case Op.FPToSI:
    case Op.FPToUI:
      if (!inst.type.isInt(32) && !inst.type.isInt(64)) complain(inst, `to ${inst.type}`);
      break;
    case Op.SIToFP:
    case Op.UIToFP:
      if (!first!.type.isInt(32) && !first!.type.isInt(64)) complain(inst, `from ${first!.type}`);
      break;
    case Op.Switch:
      if (inst.data.some((c) => c.type !== first!.type)) complain(inst, "case of another type");
      break;
    default:
      break;
  }
}
