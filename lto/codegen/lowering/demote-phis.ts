/**
 * demote-phis: phis of blocks that an indirect branch or unwinding enters live in memory.
 *
 * Why: their edges cannot be split, so there is no place for the moves that a phi stands for.
 * Where one indirect branch enters beside plain branches, the block is split instead: what has the address only goes on to
 * the rest, which keeps the phis and the other edges, so that interpreters dispatch with their state in registers.
 * One slot a phi is enough: stores happen at the ends of predecessors, when everything that still needs the old value
 * has been read at the start of the block. A scan of the body for each block with such phis.
 * Breaks if: a block moves that has an address; new ones go to the end.
 */
import { type Block, type Body, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i1, i8, i64, ptr, type Type, voidType } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import { replaceUses, splitBefore } from "./blocks.js";
import type { BlockOrder, LoweringContext } from "./context.js";

const isHeld = ({ terminator }: Block): boolean => terminator.op === Op.IndirectBr;

/**
 * Leaves only the edges that cannot be split to the block, and moves its code to a new one, with the others.
 * @returns whether it did
 */
function splitEntered(body: Body, target: Block, order: BlockOrder): boolean {
  const phis = target.insts.filter((inst) => inst.op === Op.Phi);
  if (phis.length === 0 || target.insts[phis.length]!.op === Op.LandingPad) return false;
  const from = new Set(phis[0]!.blocks);
  const others = [...from].filter((block) => !isHeld(block));
  const held = from.size - others.length;
  if (held === 0 || (others.length === 0 && held > 1)) return false;
  const rest = splitBefore(body, target, 0);
  order.after(target, rest);
  for (const block of others) {
    const { terminator } = block === target ? rest : block;
    raw(terminator).blocks = terminator.blocks.map((next) => (next === target ? rest : next));
  }
  for (const phi of phis) {
    const entries = phi.blocks.map((block, i) => ({ block, value: phi.operands[i]! }));
    const kept = entries.filter(({ block }) => isHeld(block === target ? rest : block));
    const left = entries.filter((entry) => !kept.includes(entry));
    const isOne = kept.every(({ value }) => value === kept[0]!.value);
    const sources = kept.map(({ block }) => (block === target ? rest : block));
    const values = kept.map(({ value }) => value);
    const value = isOne ? values[0]! : makeInst(Op.Phi, phi.type, values, null, sources);
    if (!isOne) target.append(value as Inst);
    raw(phi).operands = [...left.map((entry) => entry.value), value];
    raw(phi).blocks = [...left.map(({ block }) => (block === target ? rest : block)), target];
  }
  target.append(makeInst(Op.Br, voidType, [], null, [rest]));
  return true;
}

/** @returns phis that are in memory now, and blocks that were split */
function demotePhis(body: Body, order: BlockOrder): readonly [number, number] {
  const entered = new Set<Block>();
  for (const block of body.blocks) {
    const { terminator } = block;
    if (terminator.op === Op.IndirectBr) for (const target of terminator.blocks) entered.add(target);
    if (terminator.op === Op.Invoke) entered.add(terminator.blocks[1]!);
  }
  let split = 0;
  for (const target of entered) if (splitEntered(body, target, order)) split++;
  let demoted = 0;
  for (const target of entered) demoted += demoteBlock(body, target);
  return [demoted, split];
}

function demoteBlock(body: Body, target: Block): number {
  const phis = target.insts.filter((inst) => inst.op === Op.Phi);
  if (phis.length === 0) return 0;
  const loads = new Map<Value, Value>();
  raw(target).insts.splice(0, phis.length);
  // A landing pad stays in front: it takes what the unwinder has left in registers.
  let at = target.insts[0]!.op === Op.LandingPad ? 1 : 0;
  for (const phi of phis) {
    // Memory has no single bits.
    const isBit = phi.type === i1;
    const type = isBit ? i8 : phi.type;
    const slot = entryAlloca(body, type);
    const memory = { align: slot.data.align, ordering: "not_atomic" as const, scope: "" };
    const seen = new Set<Block>();
    phi.operands.forEach((value, i) => {
      const from = phi.blocks[i]!;
      if (seen.has(from)) return;
      seen.add(from);
      const stored = isBit ? asByte(value) : value;
      const store = makeInst(Op.Store, voidType, [stored, slot], memory);
      const added = stored !== value && stored.valueKind === "inst" ? [stored, store] : [store];
      for (const inst of added) inst.parent = from;
      raw(from).insts.splice(from.insts.length - 1, 0, ...added);
    });
    const load = makeInst(Op.Load, type, [slot], memory);
    const bit = isBit ? makeInst(Op.Trunc, i1, [load], null) : null;
    const added = bit === null ? [load] : [load, bit];
    for (const inst of added) inst.parent = target;
    raw(target).insts.splice(at, 0, ...added);
    at += added.length;
    loads.set(phi, bit ?? load);
  }
  replaceUses(body, loads);
  return phis.length;
}

function asByte(bit: Value): Value {
  return bit.valueKind === "int" ? constInt(i8, bit.value & 1n) : makeInst(Op.ZExt, i8, [bit], null);
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

export const demotePhisPass: FunctionPass<LoweringContext> = {
  name: "demote-phis",
  level: "function",
  description: "moves phis to memory in blocks entered by edges that cannot be split",
  counters: { demoted: "phis moved to memory", split: "blocks split instead" },
  requires: [],
  preserves: [],
  run(_, context) {
    const [demoted, split] = demotePhis(context.rewrite(), context.order);
    if (demoted > 0) context.count("demoted", demoted);
    if (split > 0) context.count("split", split);
    return demoted + split > 0;
  },
};
