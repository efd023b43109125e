/**
 * Signatures, calls and returns in terms of parts, as LLVM lowers them before it assigns registers.
 *
 * A result that does not fit the return registers of the function's convention (`ResultRoom`) is
 * returned through a hidden first pointer argument marked `sret`.
 */

import { AttributeList, AttributeSet, type AttributeValue, noAttributes } from "../../ir/attributes.js";
import {
  type CallData,
  type CallInst,
  type Inst,
  type InstWith,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { functionType, ptr, structType, type Type, voidType } from "../../ir/types.js";
import { Argument, type Value } from "../../ir/values.js";
import { abiTypes, fromAbi, startsOfPairs, toAbi } from "./abi-parts.js";
import { isMaskType, maskAsInteger, maskLanes, withIntegers, withMasks } from "./assembly-masks.js";
import { splitPairs } from "./assembly-pairs.js";
import { extended } from "./extension.js";
import { pairAttribute } from "./internal.js";
import { classOf, isLegalType, TypeClass } from "./legal-types.js";
import type { Lowering, Parts } from "./lowering.js";
import { loadParts, storeParts } from "./memory-parts.js";
import type { ResultRoom, VectorTarget } from "./target.js";

/** Whether a convention has return registers for all parts. */
export function resultsFit(parts: readonly Type[], room: ResultRoom): boolean {
  let integers = 0;
  let vectors = 0;
  let extended = 0;
  for (const part of parts) {
    if (part.kind === "int" || part.kind === "ptr") integers++;
    else if (part.kind === "x86_fp80") extended++;
    else if (++vectors > (part.kind === "vector" ? room.vectors : room.floats)) return false;
  }
  return integers <= room.integers && extended <= room.extended;
}

/** Attributes of what is passed for one parameter. */
function partAttributes(set: AttributeSet, type: Type, vectors: VectorTarget): AttributeSet[] {
  if (isLegalType(type, vectors)) return [set];
  return startsOfPairs(type, vectors).map((isPair) => (isPair ? withKind(set, pairAttribute, 2) : set));
}
function withKind(set: AttributeSet, name: string, value: AttributeValue): AttributeSet {
  return new AttributeSet(new Map([...set.kinds, [name, value]]), set.strings);
}
const hiddenResult = (type: Type, align: number): AttributeSet =>
  new AttributeSet(
    new Map<string, AttributeValue>([
      ["sret", type],
      ["align", align],
      ["noalias", true],
    ]),
    new Map(),
  );

export interface Signature {
  readonly args: { readonly argument: Argument; readonly attributes: AttributeSet }[];
  /** New arguments of each original one, as passed; null when nothing changes. */
  readonly passed: readonly Parts[] | null;
  readonly resultTypes: readonly Type[];
  readonly resultPointer: Argument | null;
}

/** The legal arguments and results of a function. */
export function legalSignature(
  fn: Func,
  vectors: VectorTarget,
  room: ResultRoom,
  alignOf: (type: Type) => number,
): Signature {
  const result = fn.valueType.result;
  const resultTypes = abiTypes(result, vectors);
  const demoted = !resultsFit(resultTypes, room);
  const attributes = fn.attributes;
  if (!demoted && fn.args.every((a) => isLegalType(a.type, vectors)))
    return {
      args: fn.args.map((argument, i) => ({ argument, attributes: attributes.parameter(i) })),
      passed: null,
      resultTypes,
      resultPointer: null,
    };
  const args: Signature["args"] = [];
  const passed: Parts[] = [];
  let resultPointer: Argument | null = null;
  if (demoted) {
    resultPointer = new Argument(ptr, 0);
    args.push({ argument: resultPointer, attributes: hiddenResult(result, alignOf(result)) });
  }
  for (const old of fn.args) {
    const types = abiTypes(old.type, vectors);
    const sets = partAttributes(attributes.parameter(old.index), old.type, vectors);
    const own = types.map((type, i) => {
      const argument = new Argument(type, args.length);
      args.push({ argument, attributes: sets[i]! });
      return argument;
    });
    passed.push(own);
  }
  return { args, passed, resultTypes: demoted ? [] : resultTypes, resultPointer };
}

/** An integer of odd width with the upper bits that its attributes promise. */
function promised(l: Lowering, set: AttributeSet, type: Type, parts: Parts): Parts {
  if (type.kind !== "int" || isLegalType(type, l.vectors)) return parts;
  const signed = set.has("signext");
  if (!signed && !set.has("zeroext")) return parts;
  const top = parts.length - 1;
  return [...parts.slice(0, top), extended(l, parts[top]!, ((type.bits - 1) % 64) + 1, signed)];
}

interface LoweredCall {
  readonly inst: CallInst;
  /** Where a demoted result is, else null. */
  readonly slot: Value | null;
  /** It is assembly with integers in place of masks. */
  readonly hasMasks: boolean;
}

/** Makes the call with legal operands and result, not yet placed in a block. */
function legalCall(l: Lowering, call: CallInst): LoweredCall {
  const { data, operands, type } = call;
  const callee = operands[0]!;
  const isAsm = callee.valueKind === "asm";
  const lanes = isAsm ? maskLanes(type, argumentTypes(call)) : null;
  const masked = isAsm && lanes !== null ? l.target.maskAssembly(callee, lanes) : null;
  const hasMasks = masked !== null;
  const ownType = hasMasks ? withIntegers(type) : type;
  const split = isAsm
    ? splitPairs(masked ?? callee, type, argumentTypes(call), l.target.pairConstraints)
    : null;
  const mayBePair = (t: Type): boolean => split !== null && t.kind === "int" && t.bits === 128;
  const args: Value[] = [split ?? l.value(callee)];
  const sets: AttributeSet[] = [];
  const types: Type[] = [];
  let resultTypes = abiTypes(ownType, l.vectors);
  let slot: Value | null = null;
  if (!isAsm && !resultsFit(resultTypes, l.roomOf(callee.valueKind === "global" ? callee : null))) {
    const align = l.layout.abiAlign(type);
    slot = data.tail === "musttail" && l.resultPointer !== null ? l.resultPointer : l.stackSlot(type, align);
    args.push(slot);
    types.push(ptr);
    sets.push(hiddenResult(type, align));
    resultTypes = [];
  }
  const fixed = data.functionType.parameters.length;
  let hasAttributes = slot !== null;
  for (let i = 0; i < data.argumentCount; i++) {
    const operand = operands[i + 1]!;
    const operandType = operand.type;
    const set = data.attributes.parameter(i);
    const isMask = hasMasks && isMaskType(operandType);
    const parts = isMask
      ? maskAsInteger(l, operand)
      : toAbi(l, operandType, promised(l, set, operandType, l.parts(operand)));
    if (isAsm && !isMask && !mayBePair(operandType) && (parts.length !== 1 || !isAsmType(operandType)))
      throw l.unsupported(`inline assembly operand of type ${operandType}`);
    const own = isMask ? [noAttributes] : partAttributes(set, operandType, l.vectors);
    for (let p = 0; p < parts.length; p++) {
      args.push(parts[p]!);
      sets.push(own[p]!);
      if (!own[p]!.isEmpty) hasAttributes = true;
      if (i < fixed) types.push(parts[p]!.type);
    }
  }
  const count = args.length - 1;
  for (let i = 1 + data.argumentCount; i < operands.length; i++) {
    const parts = l.parts(operands[i]!);
    if (parts.length !== 1) throw l.unsupported(`operand bundle input of type ${operands[i]!.type}`);
    args.push(parts[0]!);
  }
  if (isAsm && type.kind !== "void")
    for (const member of ownType.isAggregate ? ownType.elements : [ownType])
      if (!mayBePair(member) && !isAsmType(member))
        throw l.unsupported(`inline assembly result of type ${member}`);
  const result =
    resultTypes.length === 0
      ? voidType
      : resultTypes.length === 1
        ? resultTypes[0]!
        : structType(resultTypes);
  const newData: CallData = {
    functionType: functionType(result, types, data.functionType.isVarArg),
    callingConvention: data.callingConvention,
    attributes: new AttributeList(
      data.attributes.fn,
      slot === null ? data.attributes.result : noAttributes,
      hasAttributes ? sets : [],
    ),
    tail: slot !== null && data.tail === "tail" ? "" : data.tail,
    argumentCount: count,
    bundles: data.bundles,
    ...(data.calleeSet === undefined ? {} : { calleeSet: data.calleeSet }),
  };
  return { inst: makeInst(call.op, result, args, newData, [...call.blocks], call.flags), slot, hasMasks };
}

const argumentTypes = ({ operands, data }: CallInst): Type[] =>
  operands.slice(1, 1 + data.argumentCount).map((v) => v.type);

/** Types an inline assembly operand may have: one legal part of the same size. */
function isAsmType(type: Type): boolean {
  const c = classOf(type);
  return (c >= TypeClass.Bool && c <= TypeClass.Vector) || (c === TypeClass.OddInt && type.bits < 64);
}

/** Parts of a call's result, from code placed after it. */
function resultParts(l: Lowering, call: CallInst, made: LoweredCall): Parts {
  if (made.slot !== null) return loadParts(l, call.type, made.slot, l.layout.abiAlign(call.type));
  const count = abiTypes(made.hasMasks ? withIntegers(call.type) : call.type, l.vectors).length;
  if (count === 0) return [];
  const parts: Value[] = [];
  if (count === 1) parts.push(made.inst);
  else for (let i = 0; i < count; i++) parts.push(l.extract(made.inst, i));
  return made.hasMasks ? withMasks(l, call.type, parts) : fromAbi(l, call.type, parts);
}

export function lowerCall(l: Lowering, call: InstWith<Op.Call>): Parts {
  const made = legalCall(l, call);
  l.push(made.inst);
  return resultParts(l, call, made);
}

/** An invoke ends its block: its result is taken apart in a block on the normal edge. */
export function lowerInvoke(l: Lowering, call: InstWith<Op.Invoke>): Parts {
  const made = legalCall(l, call);
  if (made.slot === null && (made.inst.type.kind === "void" || isLegalType(call.type, l.vectors))) {
    l.push(made.inst);
    return made.inst.type.kind === "void" ? [] : [made.inst];
  }
  const normal = call.blocks[0]!;
  const via = l.newBlock();
  raw(made.inst).blocks = [via, call.blocks[1]!];
  l.push(made.inst);
  l.edges.push({ from: call.parent!, to: normal, via });
  const block = l.block;
  const out = l.out;
  l.block = via;
  l.out = raw(via).insts;
  const parts = resultParts(l, call, made);
  l.jump(normal);
  l.block = block;
  l.out = out;
  return parts;
}

export function lowerCallBr(l: Lowering, call: InstWith<Op.CallBr>): Parts {
  const made = legalCall(l, call);
  l.push(made.inst);
  // Nobody uses results of assembly: they are in memory (lowering/demote-asm-outputs.ts).
  return made.inst.type.kind === "void" ? [] : [made.inst];
}

export function lowerRet(l: Lowering, inst: Inst): Parts {
  const value = inst.operands[0];
  if (value === undefined) {
    l.push(makeInst(Op.Ret, voidType, [], null));
    return [];
  }
  const parts = l.parts(value);
  if (l.resultPointer !== null) {
    // After a musttail call that wrote through our own result pointer there is nothing left to store.
    const isForwarded = value.valueKind === "inst" && value.op === Op.Call && value.data.tail === "musttail";
    if (!isForwarded) storeParts(l, value.type, parts, l.resultPointer, l.layout.abiAlign(value.type));
    l.push(makeInst(Op.Ret, voidType, [], null));
    return [];
  }
  const operands = toAbi(l, value.type, promised(l, l.fn.attributes.result, value.type, parts));
  l.push(makeInst(Op.Ret, voidType, [...operands], null));
  return [];
}

/** The landing pad's {pointer, selector} taken apart. */
export function lowerLandingPad(l: Lowering, inst: InstWith<Op.LandingPad>): Parts {
  const clauses = [...inst.operands];
  const pad = l.push(makeInst(Op.LandingPad, inst.type, clauses, inst.data, [], inst.flags));
  if (!inst.type.isAggregate) return [pad];
  return inst.type.elements.map((_, i) => l.extract(pad, i));
}
