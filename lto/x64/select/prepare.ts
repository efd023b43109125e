/**
 * Control-flow preparation of a legal body, so that selection meets only simple cases:
 *
 *  1. blocks that nothing reaches are emptied out of phis and left behind;
 *  2. a conditional branch to one place becomes unconditional;
 *  3. selects of values that have no conditional move become branches;
 *  4. atomic operations without an instruction of their own become compare-exchange loops;
 *  5. phis of blocks entered by indirect branches move to memory (their edges cannot be split);
 *  6. every other edge from a block with several successors to a block with phis is split, so phi values
 *     are passed only on edges out of a block with a single successor; so is every edge on which an invoke returns,
 *     unless nothing else leads to its target: what completes the call stands there.
 *
 * Blocks are only appended, and laid out in the order that is returned.
 */

import {
  type AtomicRMWData,
  Block,
  type Body,
  Flag,
  type Inst,
  type InstWith,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i1, i64, ptr, structType, type Type } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { needsLoop } from "./atomics.js";

export interface Prepared {
  /** Reachable blocks in the order they should be laid out. */
  readonly order: readonly Block[];
}

export function prepare(body: Body, optimize: boolean): Prepared {
  const placed = new Map<Block, Block[]>();
  const after = (block: Block, next: Block): void => {
    const list = placed.get(block);
    if (list === undefined) placed.set(block, [next]);
    else list.push(next);
  };
  const original = [...body.blocks];
  for (const block of original) mergeEqualTargets(block);
  const reachable = reachableBlocks(body);
  for (const block of original) if (reachable.has(block)) dropDeadEdges(block, reachable);
  for (const block of original)
    if (reachable.has(block)) splitComplexOperations(body, block, after, optimize);
  demoteIndirectPhis(body);
  const live = reachableBlocks(body);
  const shared = sharedReturns(live);
  for (const block of [...body.blocks]) if (live.has(block)) splitEdges(body, block, after, shared);
  return { order: layoutOrder(original, placed, reachableBlocks(body)) };
}

function layoutOrder(original: readonly Block[], placed: Map<Block, Block[]>, live: Set<Block>): Block[] {
  const order: Block[] = [];
  const stack: Block[] = [...original].reverse();
  while (stack.length > 0) {
    const block = stack.pop()!;
    if (live.has(block)) order.push(block);
    const next = placed.get(block);
    if (next !== undefined) for (let i = next.length - 1; i >= 0; i--) stack.push(next[i]!);
  }
  return order;
}

function reachableBlocks(body: Body): Set<Block> {
  const seen = new Set<Block>([body.blocks[0]!]);
  const stack = [body.blocks[0]!];
  while (stack.length > 0)
    for (const next of stack.pop()!.successors)
      if (!seen.has(next)) {
        seen.add(next);
        stack.push(next);
      }
  // An address can be taken without a branch that shows it.
  for (const block of body.blocks)
    if (block.addressTaken && !seen.has(block)) {
      seen.add(block);
      stack.push(block);
      while (stack.length > 0)
        for (const next of stack.pop()!.successors)
          if (!seen.has(next)) {
            seen.add(next);
            stack.push(next);
          }
    }
  return seen;
}

/** br c, X, X → br X; one of the doubled phi entries goes. */
function mergeEqualTargets(block: Block): void {
  const terminator = block.terminator;
  if (terminator.op !== Op.CondBr || terminator.blocks[0] !== terminator.blocks[1]) return;
  const target = terminator.blocks[0]!;
  raw(block).insts.pop();
  block.append(makeInst(Op.Br, terminator.type, [], null, [target]));
  for (const phi of target.insts) {
    if (phi.op !== Op.Phi) break;
    const index = phi.blocks.indexOf(block);
    raw(phi).blocks.splice(index, 1);
    raw(phi).operands.splice(index, 1);
  }
}

function dropDeadEdges(block: Block, reachable: Set<Block>): void {
  for (const phi of block.insts) {
    if (phi.op !== Op.Phi) break;
    for (let i = phi.blocks.length - 1; i >= 0; i--)
      if (!reachable.has(phi.blocks[i]!)) {
        raw(phi).blocks.splice(i, 1);
        raw(phi).operands.splice(i, 1);
      }
  }
}

function retargetPhis(block: Block, from: Block, to: Block): void {
  for (const successor of new Set(block.successors))
    for (const phi of successor.insts) {
      if (phi.op !== Op.Phi) break;
      phi.blocks.forEach((incoming, i) => {
        if (incoming === from) raw(phi).blocks[i] = to;
      });
    }
}

type After = (block: Block, next: Block) => void;

function newBlock(body: Body): Block {
  const block = new Block();
  body.blocks.push(block);
  return block;
}

/** Moves everything from instruction `index` on into a new block. */
function splitBefore(body: Body, block: Block, index: number): Block {
  const rest = newBlock(body);
  for (const inst of raw(block).insts.splice(index)) rest.append(inst);
  retargetPhis(rest, block, rest);
  return rest;
}

const hasNoConditionalMove = (type: Type): boolean => type.kind !== "int" && type.kind !== "ptr";

function splitComplexOperations(body: Body, first: Block, after: After, optimize: boolean): void {
  let block = first;
  let uses: Map<Inst, number> | null = null;
  for (let i = 0; i < block.insts.length; i++) {
    const inst = block.insts[i]!;
    if (inst.op === Op.Select && hasNoConditionalMove(inst.type)) {
      const rest = selectToBranch(body, block, i, after, optimize);
      block = rest;
      i = -1;
    } else if (inst.op === Op.AtomicRMW) {
      uses ??= countUses(body);
      if (!needsLoop(inst.data.rmw, (uses.get(inst) ?? 0) > 0)) continue;
      block = atomicLoop(body, block, i, after);
      i = -1;
    }
  }
}

function countUses(body: Body): Map<Inst, number> {
  const uses = new Map<Inst, number>();
  for (const block of body.blocks)
    for (const inst of block.insts)
      for (const operand of inst.operands)
        if (operand.valueKind === "inst") uses.set(operand, (uses.get(operand) ?? 0) + 1);
  return uses;
}

/**
 * A run of selects on one condition becomes a diamond whose join has phis in their place. A select may use
 * the result of an earlier one of the run: then it takes what that one would have on each side.
 */
function selectToBranch(body: Body, block: Block, index: number, after: After, optimize: boolean): Block {
  const condition = block.insts[index]!.operands[0]!;
  let end = index + 1;
  while (
    optimize &&
    block.insts[end]!.op === Op.Select &&
    block.insts[end]!.operands[0] === condition &&
    hasNoConditionalMove(block.insts[end]!.type)
  )
    end++;
  const selects = block.insts.slice(index, end);
  const join = splitBefore(body, block, end);
  raw(block).insts.length = index;
  const side = newBlock(body);
  after(block, side);
  after(block, join);
  side.append(makeInst(Op.Br, voidOf(join), [], null, [join]));
  block.append(makeInst(Op.CondBr, voidOf(join), [condition], null, [join, side]));
  const replaced = new Map<Value, [Value, Value]>();
  const phis: Inst[] = [];
  const phiOf = new Map<Value, Inst>();
  for (const select of selects) {
    const a = replaced.get(select.operands[1]!)?.[0] ?? select.operands[1]!;
    const b = replaced.get(select.operands[2]!)?.[1] ?? select.operands[2]!;
    replaced.set(select, [a, b]);
    const phi = makeInst(Op.Phi, select.type, [a, b], null, [block, side], select.flags);
    phi.parent = join;
    phis.push(phi);
    phiOf.set(select, phi);
  }
  raw(join).insts.unshift(...phis);
  replaceUses(body, phiOf);
  return join;
}

/** Any terminator's type: void. */
const voidOf = (block: Block): Type => block.terminator.type;

function replaceUses(body: Body, map: ReadonlyMap<Value, Value>): void {
  for (const block of body.blocks)
    for (const inst of block.insts)
      for (let i = 0; i < inst.operands.length; i++) {
        const to = map.get(inst.operands[i]!);
        if (to !== undefined) raw(inst).operands[i] = to;
      }
}

/** old = load; do { new = op(old, value) } while (!cmpxchg(old, new)). */
function atomicLoop(body: Body, block: Block, index: number, after: After): Block {
  const rmw = block.insts[index] as InstWith<Op.AtomicRMW>;
  const { type, data } = rmw;
  const [pointer, operand] = rmw.operands as [Value, Value];
  const rest = splitBefore(body, block, index + 1);
  raw(block).insts.length = index;
  const loop = newBlock(body);
  after(block, loop);
  after(block, rest);
  const memory = { align: data.align, ordering: "monotonic" as const, scope: data.scope };
  const first = block.append(makeInst(Op.Load, type, [pointer], memory, [], rmw.flags & Flag.Volatile));
  block.append(makeInst(Op.Br, voidOf(rest), [], null, [loop]));
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
  loop.append(makeInst(Op.CondBr, voidOf(rest), [done], null, [rest, loop]));
  raw(old).operands.push(seen);
  raw(old).blocks.push(loop);
  replaceUses(body, new Map<Value, Value>([[rmw, seen]]));
  return rest;
}

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
      const predicate = { max: "sgt", min: "slt", umax: "ugt", umin: "ult" }[data.rmw as string] as
        | "sgt"
        | "slt"
        | "ugt"
        | "ult"
        | undefined;
      if (predicate === undefined) throw new Error(`atomicLoop: ${data.rmw} must have been legalised`);
      const keep = loop.append(makeInst(Op.ICmp, i1, [old, value], predicate));
      return loop.append(makeInst(Op.Select, type, [keep, old, value], null));
    }
  }
}

/** Phis of blocks that an indirect branch (or an unwind edge) enters live in stack memory. */
function demoteIndirectPhis(body: Body): void {
  const entered = new Set<Block>();
  for (const block of body.blocks) {
    const terminator = block.terminator;
    if (terminator.op === Op.IndirectBr || terminator.op === Op.CallBr)
      for (const target of terminator.blocks) entered.add(target);
    if (terminator.op === Op.Invoke) entered.add(terminator.blocks[1]!);
  }
  for (const target of entered) {
    const phis = target.insts.filter((inst) => inst.op === Op.Phi);
    if (phis.length === 0) continue;
    const loads = new Map<Value, Value>();
    // All loads read before any successor could store again: one slot per phi is enough, as stores happen
    // at the ends of predecessors, after everything the phi's old value is needed for is in registers.
    raw(target).insts.splice(0, phis.length);
    // A landing pad stays in front: it takes what the unwinder has left in registers.
    const first = target.insts[0]!.op === Op.LandingPad ? 1 : 0;
    phis.forEach((phi, n) => {
      const slot = entryAlloca(body, phi.type);
      const align = slot.data.align;
      const memory = { align, ordering: "not_atomic" as const, scope: "" };
      const stored = new Set<Block>();
      phi.operands.forEach((value, i) => {
        const from = phi.blocks[i]!;
        if (stored.has(from)) return;
        stored.add(from);
        const at = from.insts.length - 1;
        const store = makeInst(Op.Store, voidOf(from), [value, slot], memory);
        store.parent = from;
        raw(from).insts.splice(at, 0, store);
      });
      const load = makeInst(Op.Load, phi.type, [slot], memory);
      load.parent = target;
      raw(target).insts.splice(first + n, 0, load);
      loads.set(phi, load);
    });
    replaceUses(body, loads);
  }
}

function entryAlloca(body: Body, type: Type): InstWith<Op.Alloca> {
  const entry = body.blocks[0]!;
  const align = type.kind === "vector" || type.kind === "x86_fp80" || type.kind === "fp128" ? 16 : 8;
  const alloca = makeInst(Op.Alloca, ptr, [constInt(i64, 1)], {
    allocatedType: type,
    align,
    inalloca: false,
    swifterror: false,
  });
  alloca.parent = entry;
  raw(entry).insts.unshift(alloca);
  return alloca;
}

/** Blocks that an invoke returns to and that something else leads to as well. */
function sharedReturns(live: ReadonlySet<Block>): Set<Block> {
  const shared = new Set<Block>();
  let any = false;
  for (const { terminator } of live) any ||= terminator.op === Op.Invoke;
  if (!any) return shared;
  const entered = new Set<Block>();
  for (const block of live) {
    if (block.addressTaken) shared.add(block);
    for (const next of new Set(block.successors)) {
      if (entered.has(next)) shared.add(next);
      entered.add(next);
    }
  }
  return shared;
}

/** Gives each edge from a branching block to a block with phis a block of its own. */
function splitEdges(body: Body, block: Block, after: After, shared: ReadonlySet<Block>): void {
  const terminator = block.terminator;
  const distinct = new Set(terminator.blocks);
  if (terminator.op === Op.Br || terminator.op === Op.IndirectBr || terminator.op === Op.CallBr) return;
  if (distinct.size === 1 && terminator.op !== Op.Switch && terminator.op !== Op.Invoke) return;
  for (const target of distinct) {
    const phi = target.insts[0]!;
    const returns = terminator.op === Op.Invoke && target === terminator.blocks[0];
    const joins = phi.op === Op.Phi && (phi.operands.length > 1 || terminator.op === Op.Invoke);
    if (!joins && !(returns && shared.has(target))) continue;
    const middle = newBlock(body);
    after(block, middle);
    middle.append(makeInst(Op.Br, terminator.type, [], null, [target]));
    raw(terminator).blocks = terminator.blocks.map((b) => (b === target ? middle : b));
    for (const p of target.insts) {
      if (p.op !== Op.Phi) break;
      const keep = p.blocks.indexOf(block);
      for (let i = p.blocks.length - 1; i > keep; i--)
        if (p.blocks[i] === block) {
          raw(p).blocks.splice(i, 1);
          raw(p).operands.splice(i, 1);
        }
      raw(p).blocks[keep] = middle;
    }
  }
}
