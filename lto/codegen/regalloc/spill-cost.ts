/**
 * What it costs to keep a value in memory, apart from any allocator (the policy is a parameter).
 *
 * `size` counts bytes: every occurrence once, and what the time of executing it is worth in bytes. `speed` weighs the same
 * accesses by block frequency. The numbers of bytes are the target's; allocators only compare them.
 */
import { UseKind } from "../liveness.js";
import type { MBlock } from "../mir.js";
import type { TargetRegisters } from "../target.js";

export interface CostPolicy {
  readonly name: "size" | "speed";
  /** Factor for accesses in `block`. */
  weight(block: MBlock): number;
  /** Factor for bytes that it takes to name registers in `block`. */
  byteWeight(block: MBlock): number;
  /** Cost of a register-to-register move of `size` bytes. */
  move(size: number): number;
  /** Cost of a load from or a store to a slot. */
  memory(size: number): number;
  /** Extra cost of a slot as operand of an instruction instead of a register. */
  readonly fold: number;
  /** Cost of recomputing a constant. */
  readonly remat: number;
  /** Cost of a byte more for naming one register rather than another. */
  readonly byte: number;
  /**
   * Instructions added to a bundle's size when its cost is divided by it: a large number makes the whole cost
   * decide who keeps a contested register, a small one the cost for each instruction it is kept for.
   */
  readonly inertia: number;
}

/** Of a reload or a store, which is an instruction. */
const bytesOfAccess = 4;

/** A trace of the frequency decides between places of equal size. */
const weightOfBytes = ({ frequency }: MBlock): number => 1 + 0.01 * Math.log2(1 + Math.min(frequency, 1e6));

/** @param timeOf bytes that an instruction is worth which is executed less in a block */
export const sizePolicy = (
  { bytes }: Pick<TargetRegisters, "bytes">,
  timeOf: (block: MBlock) => number = () => 0,
): CostPolicy => ({
  name: "size",
  weight: (block) => weightOfBytes(block) + timeOf(block) / bytesOfAccess,
  byteWeight: weightOfBytes,
  ...bytes,
  byte: 1,
  inertia: 300,
});

const executions = ({ frequency }: MBlock): number => Math.max(0.001, Math.min(frequency, 1e9));

export const speedPolicy: CostPolicy = {
  name: "speed",
  weight: executions,
  byteWeight: executions,
  move: () => 1,
  memory: () => 4,
  fold: 3,
  remat: 1,
  // Prefixes decide between registers that are as good otherwise: no move is worth less than they are.
  byte: 1 / 1024,
  inertia: 60,
};

/** Cost of one occurrence of a value that is in memory, by kind. `size` is the value's, in bytes. */
export function occurrenceCost(policy: CostPolicy, kind: UseKind, size: number, remat: boolean): number {
  if (remat) {
    switch (kind) {
      // Recomputing everywhere saves the definition itself.
      case UseKind.Def:
      case UseKind.AnyDef:
        return -policy.remat;
      case UseKind.Fixed:
        return policy.remat - policy.move(size);
      default:
        return policy.remat;
    }
  }
  switch (kind) {
    case UseKind.Any:
    case UseKind.AnyDef:
      return policy.fold;
    case UseKind.Fixed:
    case UseKind.FixedDef:
    case UseKind.Copied:
      return policy.memory(size) - policy.move(size) * 0.8;
    // Depends on where the other end is; see `Assignment.prefersMemory`.
    case UseKind.Arg:
    case UseKind.Param:
      return 0;
    default:
      return policy.memory(size);
  }
}
