/**
 * Atomic accesses that selection has no instruction for.
 *
 * Floats go as integers of their size; 128-bit accesses are compare-exchange, where the processor is known to have
 * that, else calls of libatomic (the `__atomic_*_16` of GCC's "Atomic library" interface), which does the same on such a
 * processor; other read-modify-write operations are compare-exchange loops.
 */

import { AttributeList, noAttributes } from "../../ir/attributes.js";
import {
  type CmpXchgData,
  Flag,
  type InstWith,
  type MemoryData,
  makeInst,
  Op,
  type Ordering,
} from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { functionType, i1, i8, i64, i128, intType, structType, type Type, voidType } from "../../ir/types.js";
import { constI32, type Value } from "../../ir/values.js";
import { bitCast } from "./bits.js";
import { floatBinary, floatMinMax } from "./floats.js";
import { intBinary, intCompare, intConstant, isZero, selectParts } from "./integers.js";
import { libraryFunction } from "./internal.js";
import { isLegalType } from "./legal-types.js";
import { isDirectRMW } from "./legality.js";
import type { Lowering, Parts } from "./lowering.js";
import { loadParts, storeParts } from "./memory-parts.js";
import { pairAttributes } from "./wide.js";

const pairType = structType([i64, i64]);

/** The memory model constants of C11's <stdatomic.h>. */
function orderNumber(ordering: Ordering): number {
  switch (ordering) {
    case "acquire":
      return 2;
    case "release":
      return 3;
    case "acq_rel":
      return 4;
    case "seq_cst":
      return 5;
    default:
      return 0;
  }
}

/** The library's routines for this size take aligned objects. */
function refuseMisaligned(l: Lowering, { align }: MemoryData): void {
  if (align < 16) throw l.unsupported(`atomic access of 16 bytes aligned to ${align} only`);
}

/** The integer type that carries a value in atomic accesses. */
function carrier(l: Lowering, type: Type): Type {
  const bits = l.layout.bitWidth(type);
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64 && bits !== 128)
    throw l.unsupported(`atomic access of ${type}`);
  return type.kind === "ptr" ? type : intType(bits);
}

export function lowerAtomicLoad(l: Lowering, inst: InstWith<Op.Load>, pointer: Value): Parts {
  const as = carrier(l, inst.type);
  if (as.bits === 128) {
    refuseMisaligned(l, inst.data);
    const zero = intConstant(128, 0n);
    // What is there takes the place of zero, or nothing of anything.
    const direct = l.target.exchangePair(l, pointer, zero, zero);
    if (direct !== null) return bitCast(l, i128, inst.type, direct[0]);
    const order = constI32(orderNumber(inst.data.ordering));
    const call = l.library("__atomic_load_16", pairType, [pointer, order]);
    return bitCast(l, i128, inst.type, [l.extract(call, 0), l.extract(call, 1)]);
  }
  const loaded = l.push(makeInst(Op.Load, as, [pointer], inst.data, [], inst.flags));
  return bitCast(l, as, inst.type, [loaded]);
}

export function lowerAtomicStore(l: Lowering, inst: InstWith<Op.Store>, pointer: Value): void {
  const value = inst.operands[0]!;
  const as = carrier(l, value.type);
  const bits = bitCast(l, value.type, as, l.parts(value));
  if (as.bits === 128) {
    refuseMisaligned(l, inst.data);
    if (l.target.hasPairExchange(l)) {
      exchangeLoop(l, as, as, pointer, bits, inst.data, inst.flags, "xchg");
      return;
    }
    libAtomic(
      l,
      "__atomic_store_16",
      voidType,
      [pointer, bits[0]!, bits[1]!, constI32(orderNumber(inst.data.ordering))],
      1,
    );
    return;
  }
  l.push(makeInst(Op.Store, voidType, [bits[0]!, pointer], inst.data, [], inst.flags));
}

/** A libatomic call; arguments `pairAt` and the next are one 128-bit integer. */
function libAtomic(l: Lowering, name: string, result: Type, args: Value[], pairAt: number): Value {
  const fn = libraryFunction(
    name,
    functionType(
      result,
      args.map((a) => a.type),
    ),
  );
  const parameters = args.map((_, i) => (i === pairAt ? pairAttributes(1).parameter(0) : noAttributes));
  return l.call(fn, args, new AttributeList(noAttributes, noAttributes, parameters));
}

/** Compare-exchange of an integer or pointer: [old value's parts, success as i1]. */
function exchangeIfEqual(
  l: Lowering,
  type: Type,
  pointer: Value,
  expected: Parts,
  replacement: Parts,
  data: CmpXchgData,
  flags: number,
): readonly [Parts, Value] {
  if (type.bits === 128) {
    refuseMisaligned(l, data);
    const direct = l.target.exchangePair(l, pointer, expected, replacement);
    if (direct !== null) return direct;
    const slot = l.scratchSlot(i128, 16);
    storeParts(l, i128, expected, slot, 16);
    const done = libAtomic(
      l,
      "__atomic_compare_exchange_16",
      i8,
      [
        pointer,
        slot,
        replacement[0]!,
        replacement[1]!,
        constI32(orderNumber(data.ordering)),
        constI32(orderNumber(data.failureOrdering)),
      ],
      2,
    );
    return [loadParts(l, i128, slot, 16), l.cast(Op.Trunc, done, i1)];
  }
  const result = l.push(
    makeInst(
      Op.CmpXchg,
      structType([type, i1]),
      [pointer, expected[0]!, replacement[0]!],
      data,
      [],
      flags & Flag.Volatile,
    ),
  );
  return [[l.extract(result, 0)], l.extract(result, 1)];
}

export function lowerCmpXchg(l: Lowering, inst: InstWith<Op.CmpXchg>): Parts {
  const pointer = l.value(inst.operands[0]!);
  const type = inst.operands[1]!.type;
  const as = carrier(l, type);
  const [old, success] = exchangeIfEqual(
    l,
    as,
    pointer,
    bitCast(l, type, as, l.parts(inst.operands[1]!)),
    bitCast(l, type, as, l.parts(inst.operands[2]!)),
    inst.data,
    inst.flags,
  );
  return [...bitCast(l, as, type, old), success];
}

function failureOrderingOf(ordering: Ordering): Ordering {
  return ordering === "release" ? "monotonic" : ordering === "acq_rel" ? "acquire" : ordering;
}

const fetchNames: Readonly<Record<string, string>> = {
  xchg: "__atomic_exchange_16",
  add: "__atomic_fetch_add_16",
  sub: "__atomic_fetch_sub_16",
  and: "__atomic_fetch_and_16",
  or: "__atomic_fetch_or_16",
  xor: "__atomic_fetch_xor_16",
  nand: "__atomic_fetch_nand_16",
};

export function lowerAtomicRMW(l: Lowering, inst: InstWith<Op.AtomicRMW>): Parts {
  const { data, type } = inst;
  const pointer = l.value(inst.operands[0]!);
  const operand = l.parts(inst.operands[1]!);
  const as = carrier(l, type);
  if (as.bits === 128) refuseMisaligned(l, data);
  if (as.bits === 128 && fetchNames[data.rmw] !== undefined && !l.target.hasPairExchange(l)) {
    const bits = bitCast(l, type, as, operand);
    const order = constI32(orderNumber(data.ordering));
    const call = libAtomic(l, fetchNames[data.rmw]!, pairType, [pointer, bits[0]!, bits[1]!, order], 1);
    return bitCast(l, as, type, [l.extract(call, 0), l.extract(call, 1)]);
  }
  if (
    as.bits !== 128 &&
    (data.rmw === "xchg" || (type.kind !== "ptr" && isDirectRMW(data.rmw) && isLegalType(type, l.vectors)))
  ) {
    const bits = bitCast(l, type, as, operand)[0]!;
    const old = l.push(makeInst(Op.AtomicRMW, as, [pointer, bits], data, [], inst.flags));
    return bitCast(l, as, type, [old]);
  }
  return exchangeLoop(l, type, as, pointer, operand, data, inst.flags, data.rmw);
}

function exchangeLoop(
  l: Lowering,
  type: Type,
  as: Type,
  pointer: Value,
  operand: Parts,
  data: MemoryData,
  flags: number,
  rmw: string,
): Parts {
  const volatile = flags & Flag.Volatile;
  // A torn or stale first value only costs one more round.
  const first = loadParts(l, as, pointer, data.align, volatile);
  const before = l.block;
  const loop = l.newBlock();
  const after = l.newBlock();
  l.jump(loop);
  l.continueIn(loop);
  const old = first.map((p) => l.phi(p.type, [[p, before]]));
  const next = combine(l, rmw, type, bitCast(l, as, type, old), operand);
  const [seen, success] = exchangeIfEqual(
    l,
    as,
    pointer,
    old,
    bitCast(l, type, as, next),
    { ...data, failureOrdering: failureOrderingOf(data.ordering), weak: false },
    flags,
  );
  old.forEach((phi, i) => {
    raw(phi).operands.push(seen[i]!);
    raw(phi).blocks.push(l.block);
  });
  l.branch(success, after, loop);
  l.continueIn(after);
  return bitCast(l, as, type, old);
}

/** The new value that a read-modify-write operation stores (LangRef, `atomicrmw`). */
function combine(l: Lowering, rmw: string, type: Type, old: Parts, operand: Parts): Parts {
  const width = l.layout.bitWidth(type);
  switch (rmw) {
    case "fadd":
      return floatBinary(l, Op.FAdd, type, old, operand, 0);
    case "fsub":
      return floatBinary(l, Op.FSub, type, old, operand, 0);
    case "fmax":
    case "fmin":
    case "fmaximum":
    case "fminimum":
      return floatMinMax(
        l,
        rmw === "fmax" ? "maxnum" : rmw === "fmin" ? "minnum" : rmw.slice(1),
        type,
        old,
        operand,
        0,
      );
    case "xchg":
      return operand;
    case "add":
      return intBinary(l, Op.Add, width, old, operand);
    case "sub":
      return intBinary(l, Op.Sub, width, old, operand);
    case "and":
      return intBinary(l, Op.And, width, old, operand);
    case "or":
      return intBinary(l, Op.Or, width, old, operand);
    case "xor":
      return intBinary(l, Op.Xor, width, old, operand);
    case "nand":
      return intBinary(l, Op.And, width, old, operand).map((p) => l.not(p));
    case "max":
      return selectParts(l, intCompare(l, "sgt", width, old, operand), old, operand);
    case "min":
      return selectParts(l, intCompare(l, "slt", width, old, operand), old, operand);
    case "umax":
      return selectParts(l, intCompare(l, "ugt", width, old, operand), old, operand);
    case "umin":
      return selectParts(l, intCompare(l, "ult", width, old, operand), old, operand);
    case "uinc_wrap": {
      const wraps = intCompare(l, "uge", width, old, operand);
      const next = intBinary(l, Op.Add, width, old, intConstant(width, 1n));
      return selectParts(l, wraps, intConstant(width, 0n), next);
    }
    case "udec_wrap": {
      const wraps = l.or(isZero(l, width, old), intCompare(l, "ugt", width, old, operand));
      return selectParts(l, wraps, operand, intBinary(l, Op.Sub, width, old, intConstant(width, 1n)));
    }
    case "usub_cond": {
      const fits = intCompare(l, "uge", width, old, operand);
      return selectParts(l, fits, intBinary(l, Op.Sub, width, old, operand), old);
    }
    case "usub_sat": {
      const fits = intCompare(l, "uge", width, old, operand);
      return selectParts(l, fits, intBinary(l, Op.Sub, width, old, operand), intConstant(width, 0n));
    }
    default:
      throw l.unsupported(`atomicrmw ${rmw}`);
  }
}
