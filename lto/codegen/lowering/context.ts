/**
 * What the passes right before instruction selection know beside their function: the target, the conventions of
 * callees, and where new blocks belong.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Block, Body, BodyView, CallInst, Inst, RMWOp } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { FunctionContext, FunctionPass, Goal, Step } from "../../pass/pass.js";
import { type PassRunner, RunContext } from "../../pass/runner.js";
import type { LegalFunction } from "../legalize/index.js";
import type { LegalizerTarget, ResultRoom, RoomOf } from "../legalize/target.js";

/** What lowering asks of a target. */
export interface LoweringTarget extends LegalizerTarget {
  /** How many results a convention returns in registers. */
  resultRoom(convention: number): ResultRoom;
  /** Addressing multiplies an index by this number of bytes. */
  isScale(stride: number): boolean;
  /** A select of a legal type takes one instruction, without a branch. */
  selectsWithoutBranch(select: Inst): boolean;
  /** The operation has to be a loop around compare-and-exchange. @param resultUsed somebody reads the old value */
  needsLoop(rmw: RMWOp, resultUsed: boolean): boolean;
  /**
   * What stores an output of inline assembly to memory, in both dialects; `isByte`: it writes the lowest byte alone. Null if
   * there is no such instruction.
   * @param constraint of the output @param output @param slot the operands, as templates name them
   */
  storeAsmOutput(
    constraint: string,
    output: string,
    slot: string,
    type: Type,
  ): { readonly att: string; readonly intel: string; readonly isByte: boolean } | null;
  /** A call of `llvm.memcpy`, `llvm.memmove` or `llvm.memset` becomes instructions, or none, not a call of a routine. */
  transfersInline(call: CallInst, goal: Goal): boolean;
}

/** What is known of the program's calls through pointers. */
export interface KnownCallees {
  /** Functions by number. */
  readonly functions: readonly Func[];
  readonly indirect: IndirectCalls;
  /** Whether calls lead from the function to itself through this callee. */
  readonly isRecursive: (callee: Value) => boolean;
}

export interface LoweringContext extends FunctionContext {
  readonly target: LoweringTarget;
  /** How many results the function and those it calls return in registers. */
  readonly roomOf: RoomOf;
  readonly knownCallees: KnownCallees;
  readonly order: BlockOrder;
  /** Once it is legal. */
  legal: LegalFunction | null;
}

export type OptimizationLevel = "O0" | "O1" | "O2" | "O3" | "Os" | "Oz";
/** A step of a lowering pipeline. */
export type LoweringStep = Step<FunctionPass<LoweringContext>>;
export type LoweringPipelines = Readonly<Record<OptimizationLevel, readonly LoweringStep[]>>;

export class LoweringRunContext extends RunContext implements LoweringContext {
  readonly order = new BlockOrder();
  legal: LegalFunction | null = null;
  constructor(
    runner: PassRunner,
    layout: DataLayout,
    readonly goal: Goal,
    /** Taken from the function. */
    private readonly body: Body,
    readonly target: LoweringTarget,
    readonly roomOf: RoomOf,
    readonly knownCallees: KnownCallees,
  ) {
    super(runner, layout);
  }
  view(): BodyView {
    return this.body;
  }
  rewrite(): Body {
    return this.runner.reconciles(this.body);
  }
}

/**
 * The order in which blocks should be laid out. In the body, new blocks come after all others, since a block address
 * names its block by position; here each follows the block that it was split from.
 */
export class BlockOrder {
  /** New blocks after an older one, in order. */
  private readonly behind = new Map<Block, Block[]>();
  private readonly placed = new Set<Block>();

  /** Puts a new block after an older one and all that are there already. */
  after(block: Block, next: Block): void {
    const list = this.behind.get(block);
    if (list === undefined) this.behind.set(block, [next]);
    else list.push(next);
    this.placed.add(next);
  }

  /** The blocks that control or somebody with their address may enter. */
  of(body: Body): Block[] {
    const entered = enteredBlocks(body);
    const order: Block[] = [];
    const stack = body.blocks.filter((block) => !this.placed.has(block)).reverse();
    while (stack.length > 0) {
      const block = stack.pop()!;
      if (entered[block.id] === 1) order.push(block);
      const next = this.behind.get(block);
      if (next !== undefined) for (let i = next.length - 1; i >= 0; i--) stack.push(next[i]!);
    }
    return order;
  }
}

function enteredBlocks({ blocks }: Body): Uint8Array {
  for (let b = 0; b < blocks.length; b++) blocks[b]!.id = b;
  const entered = new Uint8Array(blocks.length);
  const work: Block[] = blocks.filter((block, b) => b === 0 || block.addressTaken);
  for (const block of work) entered[block.id] = 1;
  for (let block = work.pop(); block !== undefined; block = work.pop())
    for (const next of block.successors)
      if (entered[next.id] === 0) {
        entered[next.id] = 1;
        work.push(next);
      }
  return entered;
}
