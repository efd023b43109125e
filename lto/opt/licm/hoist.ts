/**
 * Finds what loops compute anew in each round.
 *
 * What is cheap in itself (addresses, casts, comparisons that a branch is made of) moves only if something that is not
 * needs it, if they are rows that each round goes on from (regroup.ts), or, of sign extensions, if nothing else in the loop needs what they extend: a register holds the one or the
 * other. Outer loops come first: what moves before one is outside of all in it.
 */
import { type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { isConstant, type Value } from "../../ir/values.js";
import { callReturns, neverUnwinds } from "../call-effects.js";
import { isExpression } from "../gvn/expressions.js";
import type { CertainInstructions } from "../loops/certain.js";
import { canHavePreheader, type Loop, type Loops } from "../loops/loop.js";
import type { LoopMemory } from "./loop-memory.js";
import { fixedRows } from "./regroup.js";

export interface Hoist {
  readonly inst: Inst;
  readonly loop: Loop;
  /** It was executed whenever the loop was entered. */
  readonly isCertain: boolean;
  readonly isLoad: boolean;
}

const notMoving = -1;

export class Hoisting {
  /** By instruction: number of the loop before which it can go. */
  private readonly target: Int32Array;
  /** By instruction: it is executed whenever that loop is entered. */
  private readonly isCertain: Uint8Array;
  private readonly isWanted: Uint8Array;
  /** What can move, in an order in which it can do so one by one. */
  private readonly movable: Inst[] = [];

  constructor(
    readonly loops: Loops,
    private readonly predecessors: readonly (readonly number[])[],
    private readonly certain: CertainInstructions,
    private readonly memory: LoopMemory,
    count: number,
  ) {
    this.target = new Int32Array(count).fill(notMoving);
    this.isCertain = new Uint8Array(count);
    this.isWanted = new Uint8Array(count);
  }

  /** Finds what can move. */
  look(): void {
    const { all } = this.loops;
    for (let number = 0; number < all.length; number++) {
      const loop = all[number]!;
      if (!this.hasPreheader(loop)) continue;
      for (const { insts } of loop.blocks)
        for (let i = 0; i < insts.length; i++) {
          const inst = insts[i]!;
          if (this.target[inst.id] !== notMoving || !this.canMove(inst, loop)) continue;
          this.target[inst.id] = number;
          this.movable.push(inst);
        }
    }
  }

  /** Whether a value is the same in all rounds of a loop, and there before it, or can be. */
  isFixed(value: Value, loop: Loop): boolean {
    if (value.valueKind !== "inst" || !this.loops.contains(loop, value.parent!.id)) return true;
    const number = this.target[value.id]!;
    return number !== notMoving && this.loops.contains(this.loops.all[number]!, loop.header.id);
  }
  /** Something else needs what can move to do so. */
  want(value: Value): void {
    if (value.valueKind === "inst" && this.target[value.id] !== notMoving) this.isWanted[value.id] = 1;
  }

  /**
   * What moves, in an order in which it can do so one by one.
   * @param leastDepth only for what loops compute that are nested so often, and what is slow
   */
  list(leastDepth: number): Hoist[] {
    const { movable } = this;
    const { all } = this.loops;
    for (const row of fixedRows(this.loops, (value, loop) => this.isFixed(value, loop), leastDepth))
      this.want(row);
    // What the one that moves needs moves as well: it comes earlier in the list.
    for (let i = movable.length - 1; i >= 0; i--) {
      const inst = movable[i]!;
      if (this.isWanted[inst.id] === 0 && !this.isWorth(inst, leastDepth)) continue;
      this.isWanted[inst.id] = 1;
      for (const operand of inst.operands) this.want(operand);
    }
    for (const cast of this.extensionsInPlace(leastDepth)) this.isWanted[cast.id] = 1;
    const hoists: Hoist[] = [];
    for (const inst of movable)
      if (this.isWanted[inst.id] === 1)
        hoists.push({
          inst,
          loop: all[this.target[inst.id]!]!,
          isCertain: this.isCertain[inst.id] === 1,
          isLoad: inst.op === Op.Load,
        });
    return hoists;
  }

  private isWorth(inst: Inst, leastDepth: number): boolean {
    return isWorth(inst) && (this.depthOf(inst) >= leastDepth || isSlow(inst));
  }
  private depthOf(inst: Inst): number {
    return this.loops.of[inst.parent!.id]!.depth;
  }

  /** Sign extensions that take no register more outside: of what only they use in loops. */
  private extensionsInPlace(leastDepth: number): Inst[] {
    const waiting = this.movable.filter(
      (inst) => inst.op === Op.SExt && this.isWanted[inst.id] === 0 && this.depthOf(inst) >= leastDepth,
    );
    if (waiting.length === 0) return [];
    const moving = new Set(waiting);
    const needed = new Set<Value>();
    for (const { blocks } of this.loops.all)
      for (const { insts } of blocks)
        for (const inst of insts) {
          if (moving.has(inst) || this.isWanted[inst.id] === 1) continue;
          for (const operand of inst.operands) needed.add(operand);
        }
    return waiting.filter((cast) => {
      const value = cast.operands[0]!;
      // What is computed in the loop stays there.
      return (
        !needed.has(value) &&
        this.isFixed(value, this.loops.all[this.target[cast.id]!]!) &&
        !this.isLeft(value)
      );
    });
  }
  /** It could move, and does not. */
  private isLeft(value: Value): boolean {
    return value.valueKind === "inst" && this.target[value.id] !== notMoving && this.isWanted[value.id] === 0;
  }

  /** Whether a loop can have a block before it. */
  hasPreheader(loop: Loop): boolean {
    return canHavePreheader(loop, this.loops, this.predecessors);
  }

  private canMove(inst: Inst, loop: Loop): boolean {
    const { op, operands } = inst;
    if (op === Op.Load ? !isPlainAccess(inst) : op !== Op.Call && !isExpression(inst)) return false;
    for (let i = 0; i < operands.length; i++) if (!this.isInvariant(operands[i]!, loop)) return false;
    switch (op) {
      case Op.Load:
        return (
          this.memory.isUnchanged(inst, loop) &&
          (this.asCertain(inst, loop) || this.memory.isAlwaysReadable(inst))
        );
      case Op.UDiv:
      case Op.SDiv:
      case Op.URem:
      case Op.SRem:
        return isHarmlessDivisor(operands[1]!) || this.asCertain(inst, loop);
      case Op.Call:
        return this.canMoveCall(inst, loop);
      default:
        return true;
    }
  }
  private isInvariant(value: Value, loop: Loop): boolean {
    if (value.valueKind !== "inst") return true;
    return this.target[value.id] !== notMoving || !this.loops.contains(loop, value.parent!.id);
  }
  private asCertain(inst: Inst, loop: Loop): boolean {
    if (!this.certain.isCertain(inst, loop)) return false;
    this.isCertain[inst.id] = 1;
    return true;
  }

  /** Calls that only compute. */
  private canMoveCall(call: Inst, loop: Loop): boolean {
    if (!isCall(call) || !callReturns(call) || !neverUnwinds(call) || !isExpression(call)) return false;
    const intrinsic = intrinsicOf(call.operands[0]!);
    const isFree = intrinsic?.speculatable === true && !promises(call);
    return isFree || this.asCertain(call, loop);
  }
}

/** Whether a call is undefined where an argument or its result is poison, or null. */
function promises(call: Inst): boolean {
  if (!isCall(call)) return true;
  const { result, parameters } = call.data.attributes;
  return [result, ...parameters].some(
    (set) => set.has("noundef") || set.has("nonnull") || set.has("dereferenceable"),
  );
}

/** Where it is neither 0 nor -1, division does not trap. */
const isHarmlessDivisor = (value: Value): boolean =>
  value.valueKind === "int" && value.value !== 0n && BigInt.asIntN(value.type.bits, value.value) !== -1n;

/** Whether doing it once is worth a register all through the loop. */
function isWorth(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Load:
    case Op.Call:
    case Op.Mul:
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
      return true;
    default:
      return inst.op >= Op.FNeg && inst.op <= Op.Xor;
  }
}

/** Intrinsics that are functions of the library, or instructions that take as long as ten others. */
const slowIntrinsics = new Set(
  "sqrt pow powi sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 exp10 log log2 log10".split(" "),
);

/** Whether it takes as long as ten others: even where each byte counts it is done once. */
export function isSlow({ op, operands }: Inst): boolean {
  switch (op) {
    case Op.FDiv:
    case Op.FRem:
      return true;
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
      return !isConstant(operands[1]!);
    case Op.Call: {
      const intrinsic = intrinsicOf(operands[0]!);
      return intrinsic === null ? operands[0]!.valueKind !== "asm" : slowIntrinsics.has(intrinsic.name);
    }
    default:
      return false;
  }
}
