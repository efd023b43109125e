/** Instructions on memory and addresses. The record layouts are given at each function. */

import { orderings, rmwOps } from "../../../formats/bitcode/codes.js";
import { UnsupportedError } from "../../../lto/ir/errors.js";
import {
  Flag,
  type Inst,
  type MemoryData,
  makeInst,
  Op,
  type Ordering,
} from "../../../lto/ir/instructions.js";
import { i1, pointerType, structType, type Type, voidType } from "../../../lto/ir/types.js";
import type { Value } from "../../../lto/ir/values.js";
import { gepFlags } from "./flags.js";
import type { FunctionReader } from "./function.js";
import { checkGep } from "./type-rules.js";

const explicitType = 1 << 6;

/** [type, type of count, count (absolute), packed, address space?]; see below for `packed`. */
export function readAlloca(r: FunctionReader): Inst {
  const typeId = r.take();
  const countType = r.type();
  if (countType.kind !== "int") throw r.malformed("alloca");
  const count = r.absolute(countType);
  // Bits: 0-4 alignment, 5 inalloca, 6 explicit type, 7 swifterror, 8-10 upper bits of the alignment.
  const packed = r.take();
  if ((packed & explicitType) === 0) throw new UnsupportedError("alloca record without its type");
  const allocatedType = r.types.sized(typeId);
  const addressSpace = r.left > 0 ? r.take() : 0;
  if (addressSpace >= 1 << 24) throw r.malformed("alloca");
  const align = r.alignment((packed & 31) | (((packed >> 8) & 7) << 5));
  return makeInst(Op.Alloca, pointerType(addressSpace), [count], {
    allocatedType,
    align: align || r.module.dataLayout.preferredAlign(allocatedType),
    inalloca: (packed & 32) !== 0,
    swifterror: (packed & 128) !== 0,
  });
}

const volatility = (bit: number): number => (bit !== 0 ? Flag.Volatile : 0);

function ordering(r: FunctionReader): Ordering {
  return orderings[r.take()] ?? "seq_cst";
}

function scope(r: FunctionReader): string {
  return r.module.syncScopes[r.take()] ?? "";
}

/** [ordering, scope]; forbids what `excluded` lists. */
function atomicData(r: FunctionReader, align: number, excluded: readonly Ordering[]): MemoryData {
  const order = ordering(r);
  if (excluded.includes(order)) throw r.malformed(`atomic access that is ${order}`);
  return { align, ordering: order, scope: scope(r) };
}

/** [pointer, type, alignment, volatile], and for an atomic load [ordering, scope]. */
export function readLoad(r: FunctionReader, atomic: boolean): Inst {
  const pointer = r.pointer();
  if (r.left < (atomic ? 5 : 3)) throw new UnsupportedError("load record without its type");
  const type = r.sizedType();
  const align = r.take();
  const flags = volatility(r.take());
  const data = atomic
    ? atomicData(r, atomicAlign(r, align), ["not_atomic", "release", "acq_rel"])
    : r.plainAccess(align, type);
  if (r.left > 0 && r.take() !== 0) throw new UnsupportedError("elementwise atomic load");
  return makeInst(Op.Load, type, [pointer], data, [], flags);
}

/** [pointer, value, alignment, volatile], and for an atomic store [ordering, scope]. */
export function readStore(r: FunctionReader, atomic: boolean): Inst {
  const pointer = r.pointer();
  const value = r.sizedPair();
  const align = r.take();
  const flags = volatility(r.take());
  const data = atomic
    ? atomicData(r, atomicAlign(r, align), ["not_atomic", "acquire", "acq_rel"])
    : r.plainAccess(align, value.type);
  if (r.left > 0 && r.take() !== 0) throw new UnsupportedError("elementwise atomic store");
  return makeInst(Op.Store, voidType, [value, pointer], data, [], flags);
}

function atomicAlign(r: FunctionReader, encoded: number): number {
  if (encoded === 0) throw r.malformed("atomic access without alignment");
  return r.alignment(encoded);
}

/** Bytes of a store of the type, what the alignment of these two instructions was before it was written. */
function optionalAlign(r: FunctionReader, type: Type): number {
  const align = r.left > 0 ? r.alignment(r.take()) : 0;
  if (align !== 0) return align;
  return 2 ** Math.ceil(Math.log2(r.module.dataLayout.storeSize(type)));
}

const scalarAccess = (type: Type): boolean => type.kind === "int" || type.kind === "ptr";

/** [pointer, expected, replacement, volatile, ordering, scope, failure ordering, weak, alignment?] */
export function readCmpXchg(r: FunctionReader, old: boolean): Inst {
  const pointer = r.pointer();
  const expected = old ? r.untyped() : r.pair();
  const { type } = expected;
  if (!scalarAccess(type)) throw r.malformed("cmpxchg");
  const replacement = r.value(type);
  const flags = volatility(r.take());
  const success = ordering(r);
  const syncScope = scope(r);
  if (r.left < 2) throw new UnsupportedError("cmpxchg record of LLVM 3.4 or older");
  const failure = ordering(r);
  const weak = r.take() !== 0;
  for (const order of [success, failure])
    if (order === "not_atomic" || order === "unordered") throw r.malformed("ordering of a cmpxchg");
  if (failure === "release" || failure === "acq_rel") throw r.malformed("ordering of a cmpxchg");
  return makeInst(
    Op.CmpXchg,
    structType([type, i1]),
    [pointer, expected, replacement],
    {
      align: optionalAlign(r, type),
      ordering: success,
      failureOrdering: failure,
      scope: syncScope,
      weak,
    },
    [],
    flags,
  );
}

/** [pointer, value, operation, volatile, ordering, scope, alignment?] */
export function readAtomicRMW(r: FunctionReader, old: boolean): Inst {
  const pointer = r.pointer();
  const value = old ? r.untyped() : r.pair();
  const { type } = value;
  const number = r.take();
  const rmw = rmwOps[number];
  if (rmw === undefined) throw new UnsupportedError(`atomicrmw operation ${number}`);
  const float = rmw.startsWith("f");
  if (float ? !type.scalar.isFloat : !scalarAccess(type) && !(rmw === "xchg" && type.isFloat))
    throw r.malformed("atomicrmw");
  const flags = volatility(r.take());
  const order = ordering(r);
  if (order === "not_atomic" || order === "unordered") throw r.malformed("ordering of an atomicrmw");
  const syncScope = scope(r);
  const align = optionalAlign(r, type);
  return makeInst(
    Op.AtomicRMW,
    type,
    [pointer, value],
    { align, ordering: order, scope: syncScope, rmw },
    [],
    flags,
  );
}

/** [ordering, scope] */
export function readFence(r: FunctionReader): Inst {
  return makeInst(Op.Fence, voidType, [], atomicData(r, 1, ["not_atomic", "unordered", "monotonic"]));
}

/** [flags, element type, base, index…] */
export function readGep(r: FunctionReader): Inst {
  const flags = gepFlags(r.take());
  const elementType = r.sizedType();
  const operands: Value[] = [];
  do operands.push(r.pair());
  while (r.left > 0);
  const type = checkGep(elementType, operands);
  return makeInst(Op.GetElementPtr, type, operands.slice(), { elementType }, [], flags);
}
