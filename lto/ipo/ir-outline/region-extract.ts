/**
 * Makes functions of regions, and calls in their places.
 *
 * The function has a copy of each block: the head's from where the region begins, with sums of parameters before it, and the
 * exit's up to where it ends; where the exit stays, edges to it lead to a block that returns. In its place the head ends with
 * the call and one edge to the exit, which keeps what did not move. Edits of all regions are made at once: what they
 * are told by is instructions and blocks, which stay the same ones until then.
 */
import {
  Block,
  Body,
  copyInst,
  type Inst,
  isCall,
  makeInst,
  Op,
  setCallData,
} from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import { raw } from "../../ir/raw.js";
import { type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import {
  appendReturn,
  Extractor,
  inputValue,
  loseRecords,
  replaceOperands,
  replaceTaken,
} from "./extract.js";
import { isTailCall, type OutlinePlan } from "./plan.js";
import { type Extent, instsOf, type Region } from "./regions.js";
import type { Sequence } from "./sequence.js";

/** What is to be changed in the functions that regions are in. */
export class RegionEdits {
  private readonly results = new Map<Inst, Value>();
  private readonly moved = new Set<Inst>();
  private readonly gone = new Set<Block>();
  /** By head: what it ends with. */
  private readonly ends = new Map<Block, readonly Inst[]>();
  /** By the blocks that edges to exits came from: the heads they come from now. */
  private readonly heads = new Map<Block, Block>();
  readonly changed = new Set<Func>();

  /** @param callFor makes the call, with what takes its results apart */
  replace(extent: Extent, callFor: (results: Map<Inst, Value>) => Inst[]): void {
    const { fn, order, count, exit } = extent.region;
    const head = order[0]!;
    const taken = [...instsOf(extent)];
    for (const inst of taken) this.moved.add(inst);
    for (let i = 0; i < count; i++) {
      if (i > 0) this.gone.add(order[i]!);
      this.heads.set(order[i]!, head);
    }
    const end = callFor(this.results);
    const call = end[0]!;
    if (taken.some(({ debug }) => debug !== null)) loseRecords(taken, call);
    const jump =
      exit !== null
        ? makeInst(Op.Br, voidType, [], null, [exit])
        : returnsFrom(extent.region)
          ? makeInst(Op.Ret, voidType, call.type.kind === "void" ? [] : [call], null)
          : makeInst(Op.Unreachable, voidType, [], null);
    this.ends.set(head, [...end, jump]);
    this.changed.add(fn);
  }

  finish(): void {
    for (const fn of this.changed) {
      const body = fn.rewrite();
      body.blocks = body.blocks.filter((block) => !this.gone.has(block));
      for (const block of body.blocks) {
        const kept = block.insts.filter((inst) => !this.moved.has(inst));
        for (const inst of this.ends.get(block) ?? []) {
          inst.parent = block;
          kept.push(inst);
        }
        raw(block).insts = kept;
      }
      for (const { insts } of body.blocks) {
        for (const inst of insts) if (inst.op === Op.Phi) this.joinEdges(inst);
        replaceOperands(insts, this.results);
      }
      replaceTaken(body, this.moved, this.results);
    }
  }

  /** One edge is left of those that came from a region; they had one value. */
  private joinEdges(phi: Inst): void {
    const { operands, blocks } = phi;
    if (!blocks.some((block) => this.heads.has(block))) return;
    const values: Value[] = [];
    const from: Block[] = [];
    const joined = new Set<Block>();
    for (let i = 0; i < blocks.length; i++) {
      const head = this.heads.get(blocks[i]!);
      if (head !== undefined) {
        if (joined.has(head)) continue;
        joined.add(head);
      }
      from.push(head ?? blocks[i]!);
      values.push(operands[i]!);
    }
    raw(phi).operands = values;
    raw(phi).blocks = from;
  }
}

/** Whether ways through a region end with a return; then all do that do not end in nothing. */
export const returnsFrom = ({ order, count }: Region): boolean =>
  order.slice(0, count).some(({ terminator }) => terminator.op === Op.Ret);

/** Of pieces that are regions, in a sequence of such. */
export class RegionExtractor extends Extractor {
  /** @param extents by first position */
  constructor(
    sequence: Sequence,
    names: Set<string>,
    origins: Origins | null,
    private readonly extents: ReadonlyMap<number, Extent>,
  ) {
    super(sequence, names, origins);
  }

  /** Makes the function, and tells what is to be changed for it. */
  extract(starts: Int32Array, length: number, plan: OutlinePlan, edits: RegionEdits): Func {
    const fn = this.namedFor(starts, length, plan);
    starts.forEach((start, i) => {
      edits.replace(this.extents.get(start)!, (results) => this.callFor(start, length, fn, plan, i, results));
    });
    return fn;
  }

  protected override resultOf(first: number, plan: OutlinePlan): Type {
    const extent = this.extents.get(first)!;
    return returnsFrom(extent.region) ? extent.region.fn.valueType.result : super.resultOf(first, plan);
  }

  protected override bodyFor(
    fn: Func,
    starts: Int32Array,
    length: number,
    { inputs, outputs }: OutlinePlan,
    result: Type,
  ): Body {
    const { sequence } = this;
    const first = starts[0]!;
    const extent = this.extents.get(first)!;
    const { order, count, exit } = extent.region;
    const body = new Body();
    const copies: Inst[] = [];
    const blocks = new Map<Block, Block>();
    for (let i = 0; i < count; i++) blocks.set(order[i]!, new Block());
    if (exit !== null) blocks.set(exit, new Block());
    body.blocks.push(...blocks.values());
    // Sums before all else: phis may have them.
    const sums = new Map<string, Inst>();
    const values = inputs.map((input) => inputValue(input, fn, body.blocks[0]!, sums));
    let next = 0;
    for (let k = 0; k < length; k++) {
      const inst = sequence.insts[first + k]!;
      const operands = inst.operands.map((operand, i): Value => {
        const inside = sequence.definition(first + k, i) - first;
        if (inside >= 0 && inside < length) return copies[inside]!;
        return sequence.isInput(first + k, i) ? values[next++]! : operand;
      });
      const copy = copyInst(
        inst,
        operands,
        inst.blocks.map((block) => blocks.get(block)!),
      );
      this.weaken(copy, starts, k);
      copies.push(blocks.get(inst.parent!)!.append(copy));
    }
    const last = copies[length - 1]!;
    if (isCall(last) && isTailCall(sequence, first, outputs, length))
      setCallData(last, { ...last.data, tail: "tail" });
    if (exit !== null)
      appendReturn(
        blocks.get(exit)!,
        result,
        outputs.map((k) => copies[k]!),
      );
    return body;
  }
}
