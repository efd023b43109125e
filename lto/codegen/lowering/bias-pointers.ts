/**
 * bias-pointers: pointers into the middle of what is accessed through them, so that distances fit a byte, for size.
 *
 *     mov rbx, rdi; mov eax, [rbx+172]; add eax, [rbx+200]    each access 7 and 6 bytes
 *     lea rbx, [rdi+127]; mov eax, [rbx+45]; add eax, [rbx+73]                4 and 3, for one byte more where rbx is set
 *
 * Why: structures of more than 127 bytes are what large programs keep their state in, and most mentions of a field past
 * that take three bytes more. No register is needed: the center takes the place of the pointer, and where the pointer
 * itself is wanted, `lea` makes it in a byte more than the copy that it takes anyhow.
 *
 * Method: for each parameter, and each loaded, called or merged pointer, the bytes of all its uses from few possible centers
 * (analysis/pointer-distances.ts); the cheapest is set right after the pointer, as a `freeze` that addressing does not look
 * through, and everything is computed from it. Linear in the operands of the body.
 *
 * Right because: addresses are sums modulo 2^64, and are the same from another start; nothing is claimed of the steps
 * any more. A null test compares with the center of null.
 * Breaks if: a pass after it takes `freeze` of an address away: then all is as it was, but longer.
 */
import {
  bytesFrom,
  Distances,
  PointerUses,
  possibleCenters,
  settingBytes,
  settingFrom,
} from "../../analysis/pointer-distances.js";
import { forEachRecord } from "../../ir/debug-records.js";
import { adding, speakOf } from "../../ir/debug-salvage.js";
import { type Block, type Body, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { addressBehind, type Move, movePointers } from "../../ir/move-pointers.js";
import { raw } from "../../ir/raw.js";
import { ptr } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { AddressCosts } from "../../target/addresses.js";
import type { LoweringContext } from "./context.js";

/** Bytes that have to be saved: code that differs from function to function is not shared. */
const leastGain = 5;

function bestCenter(pointer: Value, uses: PointerUses, costs: AddressCosts): number {
  const setting = settingBytes(costs, pointer);
  let best = 0;
  let least = bytesFrom(uses, 0, costs) - leastGain + 1;
  for (const center of possibleCenters(uses, costs)) {
    const bytes = bytesFrom(uses, center, costs) + settingFrom(costs, setting, center);
    if (bytes >= least) continue;
    best = center;
    least = bytes;
  }
  return best;
}

/** Puts instructions after the pointers' own, and those of parameters at the start of the body. */
function putBehind(body: Body, behind: ReadonlyMap<Value, readonly Inst[]>): void {
  const byBlock = new Map<Block, Inst[]>();
  for (const [pointer, insts] of behind) {
    const block = pointer.valueKind === "inst" ? pointer.parent! : body.blocks[0]!;
    for (const inst of insts) inst.parent = block;
    let here = byBlock.get(block);
    if (here === undefined) byBlock.set(block, (here = []));
    if (pointer.valueKind !== "inst" || pointer.op === Op.Phi) here.push(...insts);
  }
  for (const [block, first] of byBlock) {
    const { insts } = block;
    let start = 0;
    while (insts[start]!.op === Op.Phi || insts[start]!.op === Op.LandingPad) start++;
    const all = [...insts.slice(0, start), ...first];
    for (let i = start; i < insts.length; i++) {
      const inst = insts[i]!;
      all.push(inst);
      if (inst.op !== Op.Phi) for (const next of behind.get(inst) ?? []) all.push(next);
    }
    raw(block).insts = all;
  }
}

export const biasPointers: FunctionPass<LoweringContext> = {
  name: "bias-pointers",
  level: "function",
  description:
    "computes addresses from the middle of what a pointer leads to, where distances are shorter, for size",
  counters: { centered: "pointers replaced" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    if (context.goal !== "minsize") return false;
    const all = new Map<Value, PointerUses>();
    new Distances(context.layout).addUp(context.view(), (pointer) => {
      let uses = all.get(pointer);
      if (uses === undefined) all.set(pointer, (uses = new PointerUses()));
      return uses;
    });
    const moves = new Map<Value, Move>();
    const settings = new Map<Value, readonly Inst[]>();
    for (const [pointer, uses] of all) {
      const center = bestCenter(pointer, uses, context.costs.addresses);
      if (center === 0) continue;
      const address = addressBehind(pointer, center);
      const frozen = makeInst(Op.Freeze, ptr, [address], null);
      moves.set(pointer, { to: frozen, bytes: center });
      settings.set(pointer, [address, frozen]);
    }
    if (moves.size === 0) return false;
    const body = context.rewrite();
    movePointers(body, context.layout, moves);
    putBehind(body, settings);
    // What is in a register from here on is the middle.
    forEachRecord(body, (record) => {
      for (const value of new Set(record.values)) {
        const move = moves.get(value);
        if (move !== undefined) speakOf(record, value, move.to, adding(-move.bytes));
      }
    });
    context.count("centered", moves.size);
    return true;
  },
};
