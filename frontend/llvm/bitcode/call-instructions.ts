/** Calls, invokes and their operand bundles. The record layouts are given at each function. */
import { UnsupportedError } from "../../../lto/ir/errors.js";
import {
  type Block,
  type CallData,
  type Inst,
  makeInst,
  Op,
  type OperandBundle,
  type TailKind,
} from "../../../lto/ir/instructions.js";
import type { Type } from "../../../lto/ir/types.js";
import type { Value } from "../../../lto/ir/values.js";
import { fastMathFlags } from "./flags.js";
import type { FunctionReader } from "./function.js";
import { isSized } from "./types.js";

export interface PendingBundle {
  readonly tag: string;
  readonly inputs: readonly Value[];
}

/** In place of a value's distance: what follows is metadata. */
const metadataMarker = 0x80000000;

// Bits of the calling-convention operand of call and callbr.
const tailBit = 1 << 0;
const mustTailBit = 1 << 14;
const explicitTypeBit = 1 << 15;
const noTailBit = 1 << 16;
const fastMathBit = 1 << 17;
/** The same of invoke, where the convention is in the bits below. */
const invokeExplicitTypeBit = 1 << 13;

/** [tag, value…] */
export function readOperandBundle(r: FunctionReader): void {
  const tag = r.module.bundleTags[r.take()];
  if (tag === undefined) throw r.malformed("tag of an operand bundle");
  const inputs: Value[] = [];
  while (r.left > 0) {
    if (r.reader.lo[r.at] === metadataMarker && r.left > 1)
      throw new UnsupportedError("metadata in an operand bundle");
    const value = r.pair();
    if (!isSized(value.type) && value.type.kind !== "token") throw r.malformed("input of an operand bundle");
    inputs.push(value);
  }
  r.bundles.push({ tag, inputs });
}

interface Operands {
  readonly functionType: Type;
  readonly operands: Value[];
  readonly argumentCount: number;
  readonly bundles: readonly OperandBundle[];
}

const noBundles: readonly OperandBundle[] = [];

/** [function type?, callee, argument…]; variable arguments come with their types. */
function readOperands(r: FunctionReader, explicit: boolean): Operands {
  const declared = explicit ? r.type() : null;
  const callee = r.pair();
  let functionType: Type;
  if (declared !== null) functionType = declared;
  else if (callee.valueKind === "asm" || (callee.valueKind === "global" && callee.kind === "function"))
    functionType = callee.valueKind === "asm" ? callee.functionType : callee.valueType;
  else throw new UnsupportedError("call record without its function type");
  if (functionType.kind !== "function") throw r.malformed("type of a call");
  if (callee.valueKind === "asm" ? callee.functionType !== functionType : callee.type.kind !== "ptr")
    throw r.malformed("callee");
  const operands: Value[] = [callee];
  const { elements } = functionType;
  for (let i = 1; i < elements.length; i++) operands.push(r.value(elements[i]!));
  if (functionType.isVarArg)
    while (r.left > 0) {
      const argument = r.pair();
      if (!isSized(argument.type) && argument.type.kind !== "metadata") throw r.malformed("argument");
      operands.push(argument);
    }
  if (r.left !== 0) throw r.malformed("call with too many arguments");
  const argumentCount = operands.length - 1;
  let bundles = noBundles;
  if (r.bundles.length > 0) {
    bundles = r.bundles.map(({ tag, inputs }) => {
      for (const input of inputs) operands.push(input);
      return { tag, inputs: inputs.length };
    });
    r.bundles = [];
  }
  return { functionType, operands: operands.slice(), argumentCount, bundles };
}

function tailKind(bits: number): TailKind {
  if ((bits & noTailBit) !== 0) return "notail";
  if ((bits & mustTailBit) !== 0) return "musttail";
  return (bits & tailBit) !== 0 ? "tail" : "";
}

/**
 * [attributes, convention and bits, fast-math flags?, function type?, callee, argument…]
 * @returns null for a call that only carries debug information
 */
export function readCall(r: FunctionReader): Inst | null {
  const attributes = r.module.attributes.get(r.take());
  const bits = r.take();
  const flags = (bits & fastMathBit) !== 0 ? fastMathFlags(r.take()) : 0;
  if (isDebugCall(r, (bits & explicitTypeBit) !== 0)) return null;
  const { functionType, operands, argumentCount, bundles } = readOperands(r, (bits & explicitTypeBit) !== 0);
  const data: CallData = {
    functionType,
    callingConvention: (bits >> 1) & 0x3ff,
    attributes,
    tail: tailKind(bits),
    argumentCount,
    bundles,
  };
  return makeInst(Op.Call, functionType.result, operands, data, [], flags);
}

/** Looks ahead at the callee, so that the metadata of debug intrinsics need not be decoded. */
function isDebugCall(r: FunctionReader, explicit: boolean): boolean {
  const { debugIntrinsics } = r.module;
  if (debugIntrinsics.size === 0) return false;
  const { at } = r;
  if (explicit) r.take();
  const callee = r.pair();
  const debug = callee.valueKind === "global" && callee.kind === "function" && debugIntrinsics.has(callee);
  const isDropped = debug && callee.valueType.result.kind === "void";
  if (isDropped) r.debugCall(callee.name.replace("llvm.dbg.", ""));
  r.at = at;
  return isDropped;
}

/** [attributes, convention and bits, normal, unwind, function type?, callee, argument…] */
export function readInvoke(r: FunctionReader): Inst {
  const attributes = r.module.attributes.get(r.take());
  const bits = r.take();
  const blocks = [r.block(), r.block()];
  const explicit = (bits & invokeExplicitTypeBit) !== 0;
  const { functionType, operands, argumentCount, bundles } = readOperands(r, explicit);
  const data: CallData = {
    functionType,
    callingConvention: bits & 0x3ff,
    attributes,
    tail: "",
    argumentCount,
    bundles,
  };
  return makeInst(Op.Invoke, functionType.result, operands, data, blocks);
}

/** [attributes, convention and bits, fallthrough, number, indirect…, function type?, callee, argument…] */
export function readCallBr(r: FunctionReader): Inst {
  const attributes = r.module.attributes.get(r.take());
  const bits = r.take();
  const blocks: Block[] = [r.block()];
  const indirect = r.take();
  if (indirect > r.left) throw r.malformed("callbr");
  for (let i = 0; i < indirect; i++) blocks.push(r.block());
  const explicit = (bits & explicitTypeBit) !== 0;
  const { functionType, operands, argumentCount, bundles } = readOperands(r, explicit);
  const data: CallData = {
    functionType,
    callingConvention: (bits >> 1) & 0x3ff,
    attributes,
    tail: "",
    argumentCount,
    bundles,
  };
  return makeInst(Op.CallBr, functionType.result, operands, data, blocks);
}
