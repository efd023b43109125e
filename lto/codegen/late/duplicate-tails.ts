/**
 * Copies of short final blocks in place of jumps to them.
 *
 * Exits: a block that returns takes the place of a jump to it, where that makes the code no longer, or for speed a little.
 * Dispatches, for speed: a block that ends in a jump by an address, as interpreters have one for all of their operations.
 *   op1: …; jmp next        op1: …; load; jmp *table[op]
 *   op2: …; jmp next   →    op2: …; load; jmp *table[op]
 *   next: load; jmp *table[op]
 * saves a jump each time, and the processor predicts each operation by the one before it (Ertl and Gregg, "The Structure
 * and Performance of Efficient Interpreters", 2003).
 *
 * Right because: instructions are copied with all of their operands, registers and slots hold at the jump what they hold
 * at its target, and a copy leads where the block leads. Frames need not match by themselves: the jump was one between
 * blocks with the same frame.
 * Breaks if: a block is not only its instructions (inline assembly may define labels; a landing pad or an exception table
 * names it), or something counts the ways into a target of the dispatch (edges are kept up to date here).
 * Linear in instructions, copies included, which are bounded for each dispatch.
 */
import { cloneInst } from "../clone.js";
import { type MBlock, type MFunction, type MInst, unwindTarget } from "../mir.js";
import { OpFact } from "../target.js";

/** Longest exit code that takes the place of a jump to it: 1 byte saves one, 2 cost nothing and save a jump. */
const exitBytes = { none: 0, speed: 24, size: 2, minsize: 2 } as const;
/** For speed: all callee-saved registers, the frame, a result and the return. */
const exitInstructions = { none: 0, speed: 10, size: 4, minsize: 4 } as const;
/** For speed, exits of more than so many bytes are copied only where control comes often. */
const shortExit = 6;
/** Executions for each of the function's from which on control comes often. */
const often = 1 / 8;

/** Instructions of a dispatch, and of all its copies. */
const dispatchInstructions = 24;
const dispatchCopies = 6000;

/** The instruction that jumps to one block from the end of `block`, if it ends like that. */
function finalJump({ insts }: MBlock, facts: Uint32Array): MInst | null {
  const last = insts[insts.length - 1];
  return last !== undefined && (facts[last.op]! & OpFact.Jump) !== 0 ? last : null;
}

/**
 * Puts a copy of `target` in place of the jump that `block` ends in, and corrects the edges from `block`.
 * @returns whether `block` leads to `target` no more, which the caller takes out of its predecessors: they may be many
 */
function copyInto(block: MBlock, target: MBlock): boolean {
  block.insts.pop();
  for (const inst of target.insts) block.insts.push(cloneInst(inst));
  for (const next of target.succs) {
    if (!block.succs.includes(next)) block.succs.push(next);
    if (!next.preds.includes(block)) next.preds.push(block);
  }
  if (block.insts.some((inst) => inst.targets.includes(target))) return false;
  block.succs = block.succs.filter((next) => next !== target);
  return true;
}

function dropPredecessors(target: MBlock, dropped: ReadonlySet<MBlock>): void {
  target.preds = target.preds.filter((from) => !dropped.has(from));
}

/** Copies short exits into the places that jump to them. */
export function copyExits(mf: MFunction): void {
  const { goal } = mf;
  const limit = exitBytes[goal];
  const { facts, length } = mf.target.instructions;
  const bytesOf = (inst: MInst): number =>
    length(inst) +
    (goal !== "speed" && mf.unwind === "async" ? mf.target.frame.tableBytes(inst, mf.framePointer) : 0);
  /** By exit: the blocks that have copies of it. */
  const copied = new Map<MBlock, Set<MBlock>>();
  for (const block of mf.blocks) {
    const target = finalJump(block, facts)?.targets[0];
    if (target === undefined || target === block || target.insts.length === 0) continue;
    const { insts } = target;
    if ((facts[insts[insts.length - 1]!.op]! & OpFact.Return) === 0) continue;
    if (insts.length > exitInstructions[goal]) continue;
    if (insts.some((i) => i.targets.length > 0 || (facts[i.op]! & OpFact.Asm) !== 0)) continue;
    const bytes = insts.reduce((sum, inst) => sum + bytesOf(inst), 0);
    if (bytes > limit || (bytes > shortExit && block.frequency < often)) continue;
    if (!copyInto(block, target)) continue;
    const blocks = copied.get(target);
    if (blocks === undefined) copied.set(target, new Set([block]));
    else blocks.add(block);
  }
  for (const [target, blocks] of copied) dropPredecessors(target, blocks);
}

/** Whether the block can stand a second time. */
function isDispatch({ insts, landingPad }: MBlock, facts: Uint32Array): boolean {
  if (landingPad || insts.length === 0 || insts.length > dispatchInstructions) return false;
  const last = insts.length - 1;
  if ((facts[insts[last]!.op]! & OpFact.IndirectJump) === 0) return false;
  return insts.every(
    (inst, i) =>
      (facts[inst.op]! & (OpFact.Asm | OpFact.Entry)) === 0 &&
      unwindTarget(inst) === null &&
      (i === last || inst.targets.length === 0),
  );
}

/** Copies dispatches into the blocks that jump to them. Before the order of blocks is chosen. */
export function copyDispatches(mf: MFunction): void {
  if (mf.goal !== "speed") return;
  const { facts } = mf.target.instructions;
  for (const target of mf.blocks) {
    if (target.preds.length < 2 || !isDispatch(target, facts)) continue;
    let left = dispatchCopies;
    const copied = new Set<MBlock>();
    for (const block of [...target.preds]) {
      left -= target.insts.length + target.succs.length;
      if (left < 0) break;
      if (block !== target && finalJump(block, facts)?.targets[0] === target && copyInto(block, target))
        copied.add(block);
    }
    dropPredecessors(target, copied);
  }
  dropUnentered(mf);
}

/** Drops blocks that nothing leads to any more. */
function dropUnentered(mf: MFunction): void {
  const [entry] = mf.blocks;
  mf.blocks = mf.blocks.filter((block) => {
    if (block === entry || block.preds.length > 0 || block.addressTaken || block.landingPad) return true;
    for (const next of block.succs) next.preds = next.preds.filter((from) => from !== block);
    return false;
  });
}
