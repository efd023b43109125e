import { type CallInst, makeInst, Op } from "../../ir/instructions.js";
import type { Intrinsic } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import { Strictness, strictnessOf } from "../../ir/strict-float.js";
import { functionType, i1, i32, i64, intType, ptr, structType, type Type, voidType } from "../../ir/types.js";
import { constBool, type Value, zeroOf } from "../../ir/values.js";
import { pointerToInt } from "./conversions.js";
import type { LaneHandler } from "./elementwise.js";
import { floatEnvironment } from "./float-environment.js";
import { floatIntrinsics } from "./float-intrinsics.js";
import { cttz, integerIntrinsics } from "./integer-intrinsics.js";
import { intConstant, intResize } from "./integers.js";
import { internalIntrinsic } from "./internal.js";
import { isKept } from "./intrinsic-legality.js";
import type { Lowering, Parts } from "./lowering.js";
import { maskedIntrinsics } from "./masked.js";

/** Lowers a call; `args` are original operands. */
export type IntrinsicHandler = (l: Lowering, call: CallInst, args: readonly Value[]) => Parts;

const handlers = new Map<string, IntrinsicHandler>();
const laneHandlers = new Map<string, LaneHandler>([...integerIntrinsics, ...floatIntrinsics]);

const drop: IntrinsicHandler = () => [];
const operand: IntrinsicHandler = (l, _call, args) => l.parts(args[0]!);
const always =
  (value: boolean): IntrinsicHandler =>
  () => [constBool(value)];

for (const name of `lifetime.start lifetime.end assume donothing sideeffect var.annotation pseudoprobe dbg.declare
  dbg.value dbg.label dbg.assign experimental.noalias.scope.decl invariant.end codeview.annotation fake.use
  clear_cache`.split(/\s+/))
  handlers.set(name, drop);
for (const name of `expect expect.with.probability annotation ptr.annotation launder.invariant.group
  strip.invariant.group ssa.copy arithmetic.fence`.split(/\s+/))
  handlers.set(name, operand);
handlers.set("is.constant", always(false));
handlers.set("allow.runtime.check", always(true));
handlers.set("allow.ubsan.check", always(true));
handlers.set("experimental.widenable.condition", always(true));
handlers.set("type.test", always(true));
handlers.set("public.type.test", always(true));
handlers.set("invariant.start", () => [zeroOf(ptr)]);
handlers.set("get.dynamic.area.offset", (_l, call) => intConstant(call.type.bits, 0n));

/** Unknown size: 0 if the minimum is asked for, else the largest value. */
handlers.set("objectsize", (_l, call, args) => {
  const wantsMinimum = args[1]!.valueKind === "int" && args[1]!.value !== 0n;
  return intConstant(call.type.bits, wantsMinimum ? 0n : -1n);
});

/** The 32-bit displacement at pointer + offset, added to the pointer. */
handlers.set("load.relative", (l, _call, args) => {
  const base = l.value(args[0]!);
  const offset = intResize(l, args[1]!.type.bits, 64, l.parts(args[1]!), true)[0]!;
  const displacement = l.load(i32, l.offsetBy(base, offset), 4);
  return [l.offsetBy(base, l.cast(Op.SExt, displacement, i64))];
});

laneHandlers.set("ptrmask", (l, c) => {
  const mask = intResize(l, c.argTypes[1]!.bits, 64, c.args[1]!, true)[0]!;
  const bits = l.and(pointerToInt(l, c.args[0]![0]!, 64)[0]!, mask);
  return [l.cast(Op.IntToPtr, bits, c.result)];
});

for (const name of ["memcpy", "memmove", "memset", "memcpy.inline", "memset.inline"])
  handlers.set(name, (l, call, args) => {
    const values = args.map((a) => l.parts(a));
    const length = intResize(l, args[2]!.type.bits, 64, values[2]!, false)[0]!;
    const legal = [values[0]![0]!, values[1]![0]!, length, values[3]![0]!];
    const callee = call.operands[0] as Func;
    const prefix = callee.name.replace(/\.i\d+$/, ".i64");
    const type = functionType(
      voidType,
      legal.map((v) => v.type),
    );
    const fn = internalIntrinsic(prefix, type);
    const data = { ...call.data, functionType: type, bundles: [] };
    l.push(makeInst(Op.Call, voidType, [fn, ...legal], data));
    return [];
  });

/** Memory that others may be looking at: routines by the size of elements, none of which is seen half-written. */
for (const name of ["memcpy", "memmove", "memset"])
  handlers.set(`${name}.element.unordered.atomic`, (l, _call, args) => {
    const size = args[3]!;
    if (size.valueKind !== "int") throw l.unsupported(`llvm.${name}.element.unordered.atomic of any size`);
    const length = intResize(l, args[2]!.type.bits, 64, l.parts(args[2]!), false)[0]!;
    const routine = `__llvm_${name}_element_unordered_atomic_${size.num}`;
    l.library(routine, voidType, [l.value(args[0]!), l.value(args[1]!), length]);
    return [];
  });

/** The first element that is not zero; their number if there is none, unless that is undefined. */
handlers.set("experimental.cttz.elts", (l, call, args) => {
  const mask = args[0]!;
  const { type } = mask;
  if (type.kind !== "vector" || type.element !== i1)
    throw l.unsupported(`llvm.experimental.cttz.elts of ${type}`);
  const bits = intType(type.count);
  const count = cttz(l, {
    base: "cttz",
    type: bits,
    result: bits,
    args: [l.vectors.toBits(l, type, pin(l, mask)), l.parts(args[1]!)],
    argTypes: [bits, i1],
    flags: 0,
    metadata: [],
  });
  return intResize(l, type.count, call.type.bits, count, false);
});

for (const [name, handler] of floatEnvironment) handlers.set(name, handler);
for (const [name, handler] of maskedIntrinsics) handlers.set(name, handler);

/** Lowers a call of an intrinsic whose form is not legal. */
export function lowerIntrinsic(l: Lowering, call: CallInst, intrinsic: Intrinsic): Parts {
  if (!intrinsic.constrained) return lowerCallOf(l, call, intrinsic);
  l.strictness = strictnessOf(call);
  const parts = lowerCallOf(l, call, intrinsic);
  l.strictness = Strictness.None;
  return parts;
}

function lowerCallOf(l: Lowering, call: CallInst, intrinsic: Intrinsic): Parts {
  const base = intrinsic.name;
  const args = call.operands.slice(1, 1 + call.data.argumentCount);
  const handler = handlers.get(base);
  if (handler !== undefined) return handler(l, call, args);
  const lane = laneHandlers.get(base);
  if (args.some((a) => a.type.kind === "vector") || hasVector(call.type)) {
    const parts = l.vectors.intrinsic(l, base, call);
    if (parts !== null) return parts;
    if (lane !== undefined) return byLanes(l, lane, base, call, args);
  } else if (lane !== undefined) {
    const values = args.filter((a) => a.type.kind !== "metadata");
    return lane(l, {
      base,
      type: values[0]!.type,
      result: call.type,
      args: values.map((a) => pin(l, a)),
      argTypes: values.map((a) => a.type),
      flags: call.flags,
      metadata: args.filter((a) => a.valueKind === "metadata").map((a) => a.text),
    });
  }
  const only = l.vectors.intrinsic(l, base, call);
  if (only !== null) return only;
  if (isKept(intrinsic)) return keep(l, call, args);
  throw l.unsupported(`intrinsic ${(call.operands[0] as Func).name}`);
}

const hasVector = (type: Type): boolean =>
  type.kind === "vector" || (type.kind === "struct" && type.elements.some((e) => e.kind === "vector"));

function pin(l: Lowering, value: Value): Parts {
  const parts = l.parts(value);
  return parts.some((p) => p.valueKind === "undef")
    ? parts.map((p) => (p.valueKind === "undef" ? zeroOf(p.type) : p))
    : parts;
}

/** An intrinsic for selection that got here only because an operand needed replacing. */
function keep(l: Lowering, call: CallInst, args: readonly Value[]): Parts {
  const operands = [call.operands[0]!];
  for (const arg of args) operands.push(l.value(arg));
  const data = { ...call.data, bundles: [] };
  const inst = l.push(makeInst(Op.Call, call.type, operands, data));
  return call.type.kind === "void" ? [] : [inst];
}

/** Applies a lane handler to each lane and puts the results together again. */
function byLanes(
  l: Lowering,
  handler: LaneHandler,
  base: string,
  call: CallInst,
  allArgs: readonly Value[],
): Parts {
  const args = allArgs.filter((a) => a.type.kind !== "metadata");
  const metadata = allArgs.filter((a) => a.valueKind === "metadata").map((a) => a.text);
  const columns = args.map((a) =>
    a.type.kind === "vector" ? l.vectors.elements(l, a.type, l.parts(a)) : null,
  );
  const scalars = args.map((a) => (a.type.kind === "vector" ? null : l.parts(a)));
  const members = call.type.kind === "struct" ? call.type.elements : [call.type];
  const scalarMembers = members.map((m) => m.scalar);
  const count = (members.find((m) => m.kind === "vector") ?? args.find((a) => a.type.kind === "vector")!.type)
    .count;
  const lanes: Parts[][] = members.map(() => []);
  for (let lane = 0; lane < count; lane++) {
    const parts = handler(l, {
      base,
      type: args[0]!.type.scalar,
      result: call.type.kind === "struct" ? structType(scalarMembers) : scalarMembers[0]!,
      args: columns.map((column, i) => column?.[lane] ?? scalars[i]!),
      argTypes: args.map((a) => a.type.scalar),
      flags: call.flags,
      metadata,
    });
    members.forEach((_, m) => {
      lanes[m]!.push(l.slice(scalarMembers, m, parts));
    });
  }
  return members.flatMap((m, i) => [...l.vectors.build(l, m, lanes[i]!)]);
}
