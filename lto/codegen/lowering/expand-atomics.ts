/**
 * expand-atomics: atomic operations that the target has no instruction for become loops around compare-and-exchange.
 *
 *     old = load; do { new = op(old, value) } while (!cmpxchg(old, new))
 *
 * The first load need not be atomic: what it gets wrong the exchange notices. A scan of the body for each operation.
 */
import {
  type AtomicRMWData,
  type Block,
  type Body,
  Flag,
  type Inst,
  type InstWith,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i1, structType, voidType } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import { countUses, newBlock, replaceUses, splitBefore } from "./blocks.js";
import type { BlockOrder, LoweringContext } from "./context.js";

function atomicLoop(body: Body, block: Block, index: number, order: BlockOrder): Block {
  const rmw = block.insts[index] as InstWith<Op.AtomicRMW>;
  const { type, data } = rmw;
  const [pointer, operand] = rmw.operands as [Value, Value];
  const rest = splitBefore(body, block, index + 1);
  raw(block).insts.length = index;
  const loop = newBlock(body);
  order.after(block, loop);
  order.after(block, rest);
  const memory = { align: data.align, ordering: "monotonic" as const, scope: data.scope };
  const first = block.append(makeInst(Op.Load, type, [pointer], memory, [], rmw.flags & Flag.Volatile));
  block.append(makeInst(Op.Br, voidType, [], null, [loop]));
  const old = loop.append(makeInst(Op.Phi, type, [first], null, [block]));
  const next = updated(loop, data, old, operand);
  const exchange = loop.append(
    makeInst(
      Op.CmpXchg,
      structType([type, i1]),
      [pointer, old, next],
      {
        align: data.align,
        ordering: data.ordering,
        scope: data.scope,
        failureOrdering: "monotonic",
        weak: false,
      },
      [],
      rmw.flags & Flag.Volatile,
    ),
  );
  const seen = loop.append(makeInst(Op.ExtractValue, type, [exchange], [0]));
  const done = loop.append(makeInst(Op.ExtractValue, i1, [exchange], [1]));
  loop.append(makeInst(Op.CondBr, voidType, [done], null, [rest, loop]));
  raw(old).operands.push(seen);
  raw(old).blocks.push(loop);
  replaceUses(body, new Map<Value, Value>([[rmw, seen]]));
  return rest;
}

const predicates: Readonly<Record<string, "sgt" | "slt" | "ugt" | "ult">> = {
  max: "sgt",
  min: "slt",
  umax: "ugt",
  umin: "ult",
};

function updated(loop: Block, data: AtomicRMWData, old: Inst, value: Value): Value {
  const { type } = old;
  const binary = (op: Op.And | Op.Or | Op.Xor): Inst => loop.append(makeInst(op, type, [old, value], null));
  switch (data.rmw) {
    case "and":
      return binary(Op.And);
    case "or":
      return binary(Op.Or);
    case "xor":
      return binary(Op.Xor);
    case "nand": {
      const and = binary(Op.And);
      return loop.append(makeInst(Op.Xor, type, [and, constInt(type, -1)], null));
    }
    default: {
      const predicate = predicates[data.rmw];
      if (predicate === undefined) throw new Error(`expand-atomics: ${data.rmw} must have been legalised`);
      const keep = loop.append(makeInst(Op.ICmp, i1, [old, value], predicate));
      return loop.append(makeInst(Op.Select, type, [keep, old, value], null));
    }
  }
}

/** @returns the number of operations that became loops */
function expandAtomics(body: Body, { target, order }: LoweringContext): number {
  let expanded = 0;
  let uses: Map<Inst, number> | null = null;
  for (const first of [...body.blocks]) {
    let block = first;
    for (let i = 0; i < block.insts.length; i++) {
      const inst = block.insts[i]!;
      if (inst.op !== Op.AtomicRMW) continue;
      uses ??= countUses(body);
      if (!target.needsLoop(inst.data.rmw, (uses.get(inst) ?? 0) > 0)) continue;
      block = atomicLoop(body, block, i, order);
      expanded++;
      i = -1;
    }
  }
  return expanded;
}

export const expandAtomicsPass: FunctionPass<LoweringContext> = {
  name: "expand-atomics",
  level: "function",
  description: "makes loops around compare-and-exchange of atomic operations without an instruction",
  counters: { expanded: "atomic operations made loops" },
  requires: [],
  preserves: [],
  run(_, context) {
    const expanded = expandAtomics(context.rewrite(), context);
    if (expanded > 0) context.count("expanded", expanded);
    return expanded > 0;
  },
};
