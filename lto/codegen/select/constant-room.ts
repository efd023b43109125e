/**
 * For speed: around which loops constants of vectors are kept in registers, rather than read from memory by each operation that
 * wants one.
 *
 * An operation takes a constant from memory at no instruction's cost, and where registers are scarce, one that is kept would be
 * loaded again, or something else stored. So a loop has room for its constants if they and what is alive at once anywhere in it have
 * a register each. What is wanted behind the loop alone is not counted. Linear in instructions times how deep loops are nested;
 * loops of more blocks than `mostBlocks` have no room.
 */
import { type Block, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type Constant, isConstant, type Value } from "../../ir/values.js";

const mostBlocks = 64;

export interface ConstantRoom {
  /** Registers for vectors. */
  readonly registers: number;
  /** Values of the type are in them. */
  readonly inVector: (type: Type) => boolean;
  /** What is the same of constants that one register can hold; null: none does. */
  readonly key: (value: Constant) => string | null;
}

/**
 * @param homes by `Block.id`, where constants are made (constant-homes.ts)
 * @returns by `Block.id`: 1 where the loop around the block has room for its constants
 */
export function roomForConstants(
  blocks: readonly Block[],
  homes: Int32Array,
  { registers, inVector, key }: ConstantRoom,
): Uint8Array {
  const room = new Uint8Array(blocks.length);
  const loops = new Map<number, Block[]>();
  for (const block of blocks) {
    const home = homes[block.id]!;
    if (home === block.id) continue;
    const loop = loops.get(home);
    if (loop === undefined) loops.set(home, [block]);
    else loop.push(block);
  }
  for (const loop of loops.values()) {
    if (loop.length > mostBlocks) continue;
    const constants = new Set<string>();
    for (const { insts } of loop)
      for (const { operands } of insts)
        for (const operand of operands) {
          if (!isConstant(operand) || operand.type.kind !== "vector") continue;
          const name = key(operand);
          if (name !== null) constants.add(name);
        }
    if (constants.size === 0 || constants.size + aliveAtOnce(loop, inVector) > registers) continue;
    for (const { id } of loop) room[id] = 1;
  }
  return room;
}

/** How many values of a loop need registers at once, at most. */
function aliveAtOnce(loop: readonly Block[], inVector: (type: Type) => boolean): number {
  /** By block: what is alive at its start. */
  const atStart = new Map<Block, Set<Value>>(loop.map((block) => [block, new Set()]));
  let most = 0;
  let hasChanged = true;
  const scan = (block: Block): void => {
    const alive = new Set<Value>();
    const use = (value: Value): void => {
      if ((value.valueKind === "inst" || value.valueKind === "argument") && inVector(value.type))
        alive.add(value);
    };
    for (const next of block.successors) {
      for (const value of atStart.get(next) ?? []) alive.add(value);
      if (!atStart.has(next)) continue;
      for (const inst of next.insts) {
        if (inst.op !== Op.Phi) break;
        alive.delete(inst);
      }
      for (const inst of next.insts) {
        if (inst.op !== Op.Phi) break;
        use(inst.operands[inst.blocks.indexOf(block)]!);
      }
    }
    most = Math.max(most, alive.size);
    for (let i = block.insts.length - 1; i >= 0; i--) {
      const inst = block.insts[i]!;
      if (inst.op === Op.Phi) break;
      alive.delete(inst);
      inst.operands.forEach(use);
      most = Math.max(most, alive.size);
    }
    const start = atStart.get(block)!;
    for (const value of alive) {
      if (start.has(value)) continue;
      start.add(value);
      hasChanged = true;
    }
  };
  while (hasChanged) {
    hasChanged = false;
    for (let b = loop.length - 1; b >= 0; b--) scan(loop[b]!);
  }
  return most;
}
