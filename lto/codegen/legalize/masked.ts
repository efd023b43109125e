/**
 * Masked vector memory accesses (LangRef, "Masked Vector Load and Store Intrinsics"): one branch per lane
 * around a scalar access, since only the enabled lanes may be touched.
 */
import { type CallInst, makeInst, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { IntrinsicHandler } from "./intrinsics.js";
import type { Lowering, Parts } from "./lowering.js";
import { alignAt, loadParts, storeParts } from "./memory-parts.js";

/** Runs `inside` only if the bit is set; parts it gives are merged with `otherwise`. */
function whenSet(l: Lowering, bit: Value, otherwise: Parts, inside: () => Parts): Parts {
  if (bit.valueKind === "int") return bit.value === 0n ? otherwise : inside();
  const before = l.block;
  const body = l.newBlock();
  const after = l.newBlock();
  l.branch(bit, body, after);
  l.continueIn(body);
  const parts = inside();
  const end = l.block;
  l.jump(after);
  l.continueIn(after);
  return parts.map((p, i) => {
    const phi = makeInst(Op.Phi, p.type, [p, otherwise[i]!], null, [end, before]);
    return l.push(phi);
  });
}

function laneBits(l: Lowering, mask: Value): Value[] {
  return l.vectors.elements(l, mask.type, l.parts(mask)).map((p) => p[0]!);
}
/**
 * Arguments without the alignment, and the alignment in bytes: an argument of its own at `at` until LLVM 21,
 * since then an attribute of the pointer, which is the argument before.
 */
function splitAlign(call: CallInst, args: readonly Value[], at: number): [readonly Value[], number] {
  const candidate = args[at]!;
  if (candidate.type.isInt(32) && candidate.valueKind === "int")
    return [args.filter((_, i) => i !== at), Math.max(1, candidate.num)];
  return [args, call.data.attributes.parameter(at - 1).int("align") ?? 1];
}

/** Element addresses of a contiguous vector. */
function elementAt(l: Lowering, pointer: Value, element: Type, lane: number): Value {
  return l.offset(pointer, lane * l.layout.allocSize(element));
}

const maskedLoad: IntrinsicHandler = (l, call, given) => {
  const [args, align] = splitAlign(call, given, 1);
  const pointer = l.value(args[0]!);
  const element = call.type.element;
  const size = l.layout.allocSize(element);
  const whole = l.vectors.maskedLoad?.(l, call.type, pointer, args[1]!, args[2]!) ?? null;
  if (whole !== null) return whole;
  const bits = laneBits(l, args[1]!);
  const rest = l.vectors.elements(l, call.type, l.parts(args[2]!));
  const lanes = rest.map((parts, i) =>
    whenSet(l, bits[i]!, parts, () =>
      loadParts(l, element, elementAt(l, pointer, element, i), alignAt(align, i * size)),
    ),
  );
  return l.vectors.build(l, call.type, lanes);
};

const maskedStore: IntrinsicHandler = (l, call, given) => {
  const [args, align] = splitAlign(call, given, 2);
  const type = args[0]!.type;
  const element = type.element;
  const size = l.layout.allocSize(element);
  const pointer = l.value(args[1]!);
  if (l.vectors.maskedStore?.(l, args[0]!, pointer, args[2]!) === true) return [];
  const values = l.vectors.elements(l, type, l.parts(args[0]!));
  const bits = laneBits(l, args[2]!);
  values.forEach((parts, i) => {
    whenSet(l, bits[i]!, [], () => {
      storeParts(l, element, parts, elementAt(l, pointer, element, i), alignAt(align, i * size));
      return [];
    });
  });
  return [];
};

const gather: IntrinsicHandler = (l, call, given) => {
  const [args, align] = splitAlign(call, given, 1);
  const pointers = l.vectors.elements(l, args[0]!.type, l.parts(args[0]!));
  const bits = laneBits(l, args[1]!);
  const rest = l.vectors.elements(l, call.type, l.parts(args[2]!));
  const lanes = rest.map((parts, i) =>
    whenSet(l, bits[i]!, parts, () => loadParts(l, call.type.element, pointers[i]![0]!, align)),
  );
  return l.vectors.build(l, call.type, lanes);
};

const scatter: IntrinsicHandler = (l, call, given) => {
  const [args, align] = splitAlign(call, given, 2);
  const type = args[0]!.type;
  const values = l.vectors.elements(l, type, l.parts(args[0]!));
  const pointers = l.vectors.elements(l, args[1]!.type, l.parts(args[1]!));
  const bits = laneBits(l, args[2]!);
  values.forEach((parts, i) => {
    whenSet(l, bits[i]!, [], () => {
      storeParts(l, type.element, parts, pointers[i]![0]!, align);
      return [];
    });
  });
  return [];
};

/** Enabled lanes come from consecutive elements, without gaps. */
const expandLoad: IntrinsicHandler = (l, call, args) => {
  const element = call.type.element;
  const size = l.layout.allocSize(element);
  let pointer = l.value(args[0]!);
  const direct = l.vectors.expandLoad?.(l, call.type, pointer, args[1]!, args[2]!) ?? null;
  if (direct !== null) return direct;
  const bits = laneBits(l, args[1]!);
  const rest = l.vectors.elements(l, call.type, l.parts(args[2]!));
  const lanes = rest.map((parts, i) => {
    const both = whenSet(l, bits[i]!, [...parts, pointer], () => [
      ...loadParts(l, element, pointer, 1),
      l.offset(pointer, size),
    ]);
    pointer = both[both.length - 1]!;
    return both.slice(0, -1);
  });
  return l.vectors.build(l, call.type, lanes);
};

const compressStore: IntrinsicHandler = (l, _call, args) => {
  const type = args[0]!.type;
  const size = l.layout.allocSize(type.element);
  let pointer = l.value(args[1]!);
  if (l.vectors.compressStore?.(l, args[0]!, pointer, args[2]!) === true) return [];
  const values = l.vectors.elements(l, type, l.parts(args[0]!));
  const bits = laneBits(l, args[2]!);
  values.forEach((parts, i) => {
    pointer = whenSet(l, bits[i]!, [pointer], () => {
      storeParts(l, type.element, parts, pointer, 1);
      return [l.offset(pointer, size)];
    })[0]!;
  });
  return [];
};

export const maskedIntrinsics: readonly (readonly [string, IntrinsicHandler])[] = [
  ["masked.load", maskedLoad],
  ["masked.store", maskedStore],
  ["masked.gather", gather],
  ["masked.scatter", scatter],
  ["masked.expandload", expandLoad],
  ["masked.compressstore", compressStore],
];
