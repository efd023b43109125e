/** Instructions as records; the reader (frontend/llvm/bitcode) has the same layouts at its functions. */
import { UnsupportedError } from "../../lto/ir/errors.js";
import { type CallInst, Flag, type Inst, type InstWith, Op } from "../../lto/ir/instructions.js";
import {
  FunctionCode,
  firstIntPredicate,
  floatPredicates,
  intPredicates,
  orderings,
  rmwOps,
} from "./codes.js";
import type { VariableCall } from "./debug-records.js";
import type { FunctionWriter, LocalMetadata } from "./function.js";
import { binaryFlags, binaryNumber, castFlags, castNumber, fastMathFlags, gepFlags } from "./numbers.js";
import { maskOf } from "./operands.js";

/** Versions that are the first to know these. */
const sameSignVersion = 20;
const gepFlagsVersion = 19;
const rmwVersions: Readonly<Record<string, number>> = {
  uinc_wrap: 16,
  udec_wrap: 16,
  usub_cond: 20,
  usub_sat: 20,
  fmaximum: 21,
  fminimum: 21,
};

// Bits of the calling-convention operand of calls.
const tailBit = 1 << 0;
const mustTailBit = 1 << 14;
const explicitTypeBit = 1 << 15;
const noTailBit = 1 << 16;
const fastMathBit = 1 << 17;
const invokeExplicitTypeBit = 1 << 13;

/** Log2 + 1. */
const alignment = (bytes: number): number => Math.log2(bytes) + 1;
const volatility = (flags: number): number => ((flags & Flag.Volatile) !== 0 ? 1 : 0);
/** Flags at the end of a record, where there are any. */
const optional = (bits: number): number[] => (bits === 0 ? [] : [bits]);

export function writeInstruction(inst: Inst, f: FunctionWriter): void {
  const { op, operands, blocks, flags } = inst;
  const { w } = f;
  const pair = (i: number): number[] => f.pair(operands[i]!);
  const value = (i: number): number => f.value(operands[i]!);
  const block = (i: number): number => f.block(blocks[i]!);
  switch (op) {
    case Op.Ret:
      return w.record(FunctionCode.Ret, operands.length === 0 ? [] : pair(0));
    case Op.Br:
      return w.record(FunctionCode.Br, [block(0)]);
    case Op.CondBr:
      return w.record(FunctionCode.Br, [block(0), block(1), value(0)]);
    case Op.Switch:
      return w.record(FunctionCode.Switch, [
        f.type(operands[0]!.type),
        value(0),
        block(0),
        ...inst.data.flatMap((constant, i) => [f.absolute(constant), block(i + 1)]),
      ]);
    case Op.IndirectBr:
      return w.record(FunctionCode.IndirectBr, [
        f.type(operands[0]!.type),
        value(0),
        ...blocks.map((b) => f.block(b)),
      ]);
    case Op.Resume:
      return w.record(FunctionCode.Resume, pair(0));
    case Op.Unreachable:
      return w.record(FunctionCode.Unreachable, []);
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr:
      return writeCall(inst, f);
    case Op.FNeg:
      return w.record(FunctionCode.UnOp, [...pair(0), 0, ...optional(fastMathFlags(flags))]);
    case Op.GetElementPtr: {
      const isOld = f.tables.version < gepFlagsVersion;
      const bits = isOld ? Number((flags & Flag.InBounds) !== 0) : gepFlags(flags);
      return w.record(FunctionCode.Gep, [
        bits,
        f.type(inst.data.elementType),
        ...operands.flatMap((_, i) => pair(i)),
      ]);
    }
    case Op.ICmp: {
      const sameSign = (flags & Flag.SameSign) !== 0 && f.tables.version >= sameSignVersion ? 1 : 0;
      const predicate = intPredicates.indexOf(inst.data) + firstIntPredicate;
      return w.record(FunctionCode.Cmp2, [...pair(0), value(1), predicate, ...optional(sameSign)]);
    }
    case Op.FCmp:
      return w.record(FunctionCode.Cmp2, [
        ...pair(0),
        value(1),
        floatPredicates.indexOf(inst.data),
        ...optional(fastMathFlags(flags)),
      ]);
    case Op.Phi:
      return w.record(FunctionCode.Phi, [
        f.type(inst.type),
        ...operands.flatMap((operand, i) => [f.signedValue(operand), block(i)]),
        ...optional(fastMathFlags(flags)),
      ]);
    case Op.Select:
      return w.record(FunctionCode.VSelect, [
        ...pair(1),
        value(2),
        ...pair(0),
        ...optional(fastMathFlags(flags)),
      ]);
    case Op.VAArg:
      return w.record(FunctionCode.VAArg, [f.type(operands[0]!.type), value(0), f.type(inst.type)]);
    case Op.ExtractElement:
      return w.record(FunctionCode.ExtractElt, [...pair(0), ...pair(1)]);
    case Op.InsertElement:
      return w.record(FunctionCode.InsertElt, [...pair(0), value(1), ...pair(2)]);
    case Op.ShuffleVector:
      return w.record(FunctionCode.ShuffleVec, [...pair(0), value(1), ...f.pair(maskOf(inst.data))]);
    case Op.ExtractValue:
      return w.record(FunctionCode.ExtractVal, [...pair(0), ...inst.data]);
    case Op.InsertValue:
      return w.record(FunctionCode.InsertVal, [...pair(0), ...pair(1), ...inst.data]);
    case Op.LandingPad:
      return w.record(FunctionCode.LandingPad, [
        f.type(inst.type),
        inst.data.cleanup ? 1 : 0,
        operands.length,
        ...operands.flatMap((_, i) => [inst.data.clauses[i] === "filter" ? 1 : 0, ...pair(i)]),
      ]);
    case Op.Freeze:
      return w.record(FunctionCode.Freeze, pair(0));
    case Op.Alloca:
    case Op.Load:
    case Op.Store:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
      return writeMemory(inst, f);
    default: {
      const cast = castNumber(op);
      if (cast >= 0) {
        const bits = castFlags(op, flags, f.tables.version);
        return w.record(FunctionCode.Cast, [...pair(0), f.type(inst.type), cast, ...optional(bits)]);
      }
      const bits = binaryFlags(op, flags);
      return w.record(FunctionCode.BinOp, [...pair(0), value(1), binaryNumber(op), ...optional(bits)]);
    }
  }
}

type MemoryInst = InstWith<Op.Alloca | Op.Load | Op.Store | Op.Fence | Op.CmpXchg | Op.AtomicRMW>;

function writeMemory(inst: MemoryInst, f: FunctionWriter): void {
  const { op, operands, flags } = inst;
  const { w } = f;
  const pair = (i: number): number[] => f.pair(operands[i]!);
  switch (op) {
    case Op.Alloca: {
      const { allocatedType, align, inalloca, swifterror } = inst.data;
      const log = alignment(align);
      // Bits: 0-4 alignment, 5 inalloca, 6 explicit type, 7 swifterror, 8-10 upper bits of the alignment.
      const packed = (log & 31) | (inalloca ? 32 : 0) | 64 | (swifterror ? 128 : 0) | ((log >> 5) << 8);
      const space = inst.type.addressSpace;
      const count = operands[0]!;
      return w.record(FunctionCode.Alloca, [
        f.type(allocatedType),
        f.type(count.type),
        f.absolute(count),
        packed,
        ...optional(space),
      ]);
    }
    case Op.Load:
    case Op.Store: {
      const { align, ordering, scope } = inst.data;
      const places = op === Op.Load ? [...pair(0), f.type(inst.type)] : [...pair(1), ...pair(0)];
      const plain = [...places, alignment(align), volatility(flags)];
      if (ordering === "not_atomic")
        return w.record(op === Op.Load ? FunctionCode.Load : FunctionCode.Store, plain);
      return w.record(op === Op.Load ? FunctionCode.LoadAtomic : FunctionCode.StoreAtomic, [
        ...plain,
        orderings.indexOf(ordering),
        f.tables.scopes.of(scope),
      ]);
    }
    case Op.Fence: {
      const { ordering, scope } = inst.data;
      return w.record(FunctionCode.Fence, [orderings.indexOf(ordering), f.tables.scopes.of(scope)]);
    }
    case Op.CmpXchg: {
      const { align, ordering, failureOrdering, scope, weak } = inst.data;
      return w.record(FunctionCode.CmpXchg, [
        ...pair(0),
        ...pair(1),
        f.value(operands[2]!),
        volatility(flags),
        orderings.indexOf(ordering),
        f.tables.scopes.of(scope),
        orderings.indexOf(failureOrdering),
        weak ? 1 : 0,
        alignment(align),
      ]);
    }
    case Op.AtomicRMW: {
      const { align, ordering, scope, rmw } = inst.data;
      const { version } = f.tables;
      if ((rmwVersions[rmw] ?? 0) > version)
        throw new UnsupportedError(
          `atomicrmw ${rmw} in bitcode for LLVM ${version}`,
          `function '${f.fn.name}'`,
        );
      return w.record(FunctionCode.AtomicRMW, [
        ...pair(0),
        ...pair(1),
        rmwOps.indexOf(rmw),
        volatility(flags),
        orderings.indexOf(ordering),
        f.tables.scopes.of(scope),
        alignment(align),
      ]);
    }
  }
}

/** @param locals have the numbers of what calls are about */
export function writeVariableCall(call: VariableCall, locals: LocalMetadata, f: FunctionWriter): void {
  const { metadata, variables } = f.tables;
  const callee = variables!.of(call);
  const variable = metadata.ofDebug(call.variable);
  const nodes =
    call.expression === null ? [variable] : [locals.of(call), variable, metadata.ofDebug(call.expression)];
  f.w.record(FunctionCode.Call, [
    0,
    explicitTypeBit,
    f.type(callee.valueType),
    ...f.pair(callee),
    ...nodes.map((number) => f.entry(number)),
  ]);
}

function writeCall(inst: CallInst, f: FunctionWriter): void {
  const { data, operands, blocks, flags, op } = inst;
  const { functionType, attributes, argumentCount, callingConvention, tail } = data;
  const { w } = f;
  let at = 1 + argumentCount;
  for (const { tag, inputs } of data.bundles) {
    const values = operands.slice(at, (at += inputs));
    w.record(FunctionCode.OperandBundle, [
      f.tables.bundles.of(tag),
      ...values.flatMap((operand) => f.pair(operand)),
    ]);
  }
  const rest = [f.type(functionType), ...f.pair(operands[0]!)];
  const fixed = functionType.elements.length - 1;
  for (let i = 0; i < argumentCount; i++) {
    const operand = operands[i + 1]!;
    if (operand.valueKind === "metadata") rest.push(f.metadata(operand, inst));
    else if (i < fixed) rest.push(f.value(operand));
    else rest.push(...f.pair(operand));
  }
  const list = f.tables.attributes.of(attributes);
  if (op === Op.Invoke) {
    const targets = [f.block(blocks[0]!), f.block(blocks[1]!)];
    return w.record(FunctionCode.Invoke, [
      list,
      callingConvention | invokeExplicitTypeBit,
      ...targets,
      ...rest,
    ]);
  }
  const bits = (callingConvention << 1) | explicitTypeBit;
  if (op === Op.CallBr) {
    const [next, ...indirect] = blocks.map((b) => f.block(b));
    return w.record(FunctionCode.CallBr, [list, bits, next!, indirect.length, ...indirect, ...rest]);
  }
  const fast = fastMathFlags(flags);
  const how = { "": 0, tail: tailBit, musttail: mustTailBit, notail: noTailBit }[tail];
  w.record(FunctionCode.Call, [
    list,
    bits | how | (fast === 0 ? 0 : fastMathBit),
    ...optional(fast),
    ...rest,
  ]);
}
