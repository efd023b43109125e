/**
 * extended-sums: sign extensions of sums become sums of what is extended already.
 *
 *     %x = sext i32 %i to i64                         %x = sext i32 %i to i64
 *     %n = add nsw i32 %i, 1                     →    %m = add nsw i64 %x, 1        ; part of the address
 *     %m = sext i32 %n to i64                         %p = getelementptr i32, ptr %a, i64 %m
 *     %p = getelementptr i32, ptr %a, i64 %m
 *
 * Why: an array's neighbours are at sums of narrow indices, each of which is computed and extended by itself. Addresses hold
 * constants; what is left is an addition, where there were an addition and an extension.
 *
 * Method: sums that only the extension uses, in which one side's extension is there and the other is a constant, or is
 * extended, too, or does not change in the loop, so that it is extended where it is computed. Where nothing is
 * extended yet, sums with constants whose extension is nothing but an index. Linear in the body.
 *
 * Proof obligations: without signed wrap (`nsw`) the narrow sum is the wide one; with it, it is poison. The extension that is
 * taken dominates the place.
 */
import type { DominatorTree } from "../../analysis/dominators.js";
import type { LoopNest } from "../../analysis/loop-nest.js";
import {
  type Body,
  type BodyView,
  Flag,
  type Inst,
  isTerminator,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i32, i64 } from "../../ir/types.js";
import { constI64, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { countUses, replaceUses } from "./blocks.js";
import type { LoweringContext } from "./context.js";

/** An extension of a sum, by the sum's operands. */
interface Extended {
  readonly inst: Inst;
  readonly op: Op.Add | Op.Sub;
  readonly a: Value;
  readonly b: Value;
}

/** So many addresses may take a byte each for the constant in place of one addition. */
const mostAddresses = 2;

/** For size, an extension that is made for sums alone is for so many. */
const leastForSize = 2;

function extendedSum(inst: Inst): Extended | null {
  if (inst.op !== Op.SExt || inst.type !== i64) return null;
  const sum = inst.operands[0]!;
  if (sum.valueKind !== "inst" || sum.type !== i32 || (sum.op !== Op.Add && sum.op !== Op.Sub)) return null;
  if ((sum.flags & Flag.Nsw) === 0) return null;
  const [a, b] = sum.operands as [Value, Value];
  return { inst, op: sum.op, a, b };
}

const constantOf = (value: Value): number | null => (value.valueKind === "int" ? value.num | 0 : null);

export const extendedSums: FunctionPass<LoweringContext> = {
  name: "extended-sums",
  level: "function",
  description: "makes sums of what is extended from extensions of sums that indices are made of",
  counters: { sums: "extensions that became sums" },
  requires: [cfg, dominators, loops],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const found = sumsIn(context.view());
    if (found.length === 0) return false;
    const body = context.rewrite();
    body.renumber();
    const work = new Sums(
      body,
      context.ofBody(dominators, body),
      context.ofBody(loops, body),
      context.goal === "speed" ? 0 : leastForSize,
    );
    for (const sum of found) work.ask(sum);
    for (const sum of found) work.look(sum);
    work.finish();
    context.count("sums", work.count);
    return work.count > 0;
  },
};

function sumsIn({ blocks }: BodyView): Extended[] {
  const found: Extended[] = [];
  for (const { insts } of blocks)
    for (const inst of insts) {
      const sum = extendedSum(inst);
      if (sum !== null) found.push(sum);
    }
  return found;
}

class Sums {
  count = 0;
  private readonly uses: ReadonlyMap<Inst, number>;
  /** Of each narrow value. */
  private readonly extensions = new Map<Value, Inst[]>();
  /** Extensions of which all uses are indices: how many. */
  private readonly indices = new Map<Value, number>();
  /** By value, how many sums want its extension. */
  private readonly asked = new Map<Value, number>();
  private readonly replaced = new Map<Value, Value>();
  /** What stands before an instruction. */
  private readonly before = new Map<Inst, Inst[]>();
  /** The extension that stands after a value. */
  private readonly behind = new Map<Value, Inst>();

  constructor(
    private readonly body: Body,
    private readonly tree: DominatorTree,
    private readonly nest: LoopNest,
    /** An extension is made for no fewer. */
    private readonly leastSums: number,
  ) {
    this.uses = countUses(body);
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        if (inst.op === Op.SExt && inst.type === i64 && inst.operands[0]!.type === i32) {
          const value = inst.operands[0]!;
          this.extensions.set(value, [...(this.extensions.get(value) ?? []), inst]);
        }
        for (const [i, operand] of inst.operands.entries()) {
          if (operand.valueKind !== "inst" || operand.op !== Op.SExt) continue;
          const isIndex = inst.op === Op.GetElementPtr && i > 0;
          this.indices.set(operand, isIndex ? (this.indices.get(operand) ?? 0) + 1 : Number.NaN);
        }
      }
  }

  /** Counts a sum for the side of it that is not extended. */
  ask({ inst, a, b }: Extended): void {
    const [isThereA, isThereB] = [this.extensionOf(a, inst) !== null, this.extensionOf(b, inst) !== null];
    if (isThereA === isThereB) return;
    const other = isThereA ? b : a;
    this.asked.set(other, (this.asked.get(other) ?? 0) + 1);
  }

  /** Replaces an extension, if that is cheaper. */
  look({ inst, op, a, b }: Extended): void {
    if (!this.tree.isReachable(inst.parent!.id) || this.uses.get(inst.operands[0] as Inst) !== 1) return;
    const [isThereA, isThereB] = [this.extensionOf(a, inst), this.extensionOf(b, inst)];
    let wideA = isThereA ?? (isThereB !== null ? this.widened(a, inst) : null);
    const wideB = isThereB ?? (isThereA !== null ? this.widened(b, inst) : null);
    if (wideA === null && constantOf(b) !== null && (this.indices.get(inst) ?? 0) <= mostAddresses)
      wideA = this.put(makeInst(Op.SExt, i64, [a], null), inst);
    if (wideA === null || wideB === null) return;
    this.replaced.set(inst, this.put(makeInst(op, i64, [wideA, wideB], null, [], Flag.Nsw), inst));
    this.count++;
  }

  /** A narrow value as a wide one that is there. */
  private extensionOf(value: Value, at: Inst): Value | null {
    const n = constantOf(value);
    if (n !== null) return constI64(n);
    const behind = this.behind.get(value);
    if (behind !== undefined) return behind;
    return (
      this.extensions.get(value)?.find((other) => other !== at && this.tree.runsBefore(other, at)) ?? null
    );
  }

  /** A narrow value that does not change in the innermost loop, extended where it is computed. */
  private widened(value: Value, at: Inst): Value | null {
    const isInst = value.valueKind === "inst";
    if (!isInst && value.valueKind !== "argument") return null;
    if (isInst && isTerminator(value.op)) return null;
    const depth = isInst ? this.nest.depth[value.parent!.id]! : 0;
    if (depth >= this.nest.depth[at.parent!.id]!) return null;
    if ((this.asked.get(value) ?? 0) < this.leastSums) return null;
    const made = makeInst(Op.SExt, i64, [value], null);
    this.behind.set(value, made);
    return made;
  }

  private put(inst: Inst, place: Inst): Inst {
    inst.origin = place.origin;
    const before = this.before.get(place) ?? [];
    before.push(inst);
    this.before.set(place, before);
    return inst;
  }

  /** Puts everything in its place. What it replaces is left, without uses. */
  finish(): void {
    if (this.count === 0) return;
    for (const [b, block] of this.body.blocks.entries()) {
      const all: Inst[] = [];
      const add = (inst: Inst): void => {
        inst.parent = block;
        all.push(inst);
      };
      const waiting =
        b === 0 ? [...this.behind].flatMap(([of, made]) => (of.valueKind === "argument" ? [made] : [])) : [];
      for (const inst of block.insts) {
        const isPhi = inst.op === Op.Phi || inst.op === Op.LandingPad;
        if (!isPhi) for (const made of [...waiting.splice(0), ...(this.before.get(inst) ?? [])]) add(made);
        add(inst);
        const made = this.behind.get(inst);
        if (made !== undefined && isPhi) waiting.push(made);
        else if (made !== undefined) add(made);
      }
      raw(block).insts = all;
    }
    replaceUses(this.body, this.replaced);
  }
}
