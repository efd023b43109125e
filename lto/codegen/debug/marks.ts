/**
 * What is said of source variables in machine code, from selection until their places are known (`locate.ts`).
 *
 * Marks stand before instructions, beside the code: no step looks at them, so code is the same without. Values go by numbers:
 * those of virtual registers, which definitions keep when they have their registers (`RegOperand.vreg`), so that the end
 * of all steps on a function can tell where each value is. What is copied without change has one number (`roots`).
 */
import type { Expression } from "../../ir/debug-records.js";
import { changedBlocks, keptInBlock, madeAfter, placesIn } from "../../ir/kept-order.js";
import type { Location, MBlock, MemOperand, MInst } from "../mir.js";

/** What a variable, or a part of it, is made of. */
export type MarkValue =
  | { readonly kind: "unknown" }
  /** Of several, which the expression names by their numbers. */
  | { readonly kind: "several"; readonly parts: readonly OneValue[] }
  | OneValue;

export type OneValue =
  /** A value of so many bits; above them its register holds anything. */
  | { readonly kind: "value"; readonly value: number; readonly bits: number }
  /** The address of a slot. */
  | { readonly kind: "slot"; readonly slot: number }
  /** Words of a constant, the lower one first, of so many bits. */
  | { readonly kind: "constant"; readonly low: number; readonly high: number; readonly bits: number };

/** From here on a variable is this. */
export interface VariableMark {
  readonly kind: "variable";
  /** As in `DebugRecord`. */
  readonly variable: number;
  readonly origin: number;
  readonly expression: Expression;
  /** What is said of an address holds in all of the function. */
  readonly isDeclaration: boolean;
  readonly of: MarkValue;
}
/** A location holds a new value here, which no instruction brought there: parameters of functions and blocks. */
export interface PlaceMark {
  readonly kind: "place";
  readonly value: number;
  readonly location: Location;
  readonly bytes: number;
}
/** A label of the source is here. */
export interface LabelMark {
  readonly kind: "label";
  readonly variable: number;
  readonly origin: number;
}
export type Mark = VariableMark | PlaceMark | LabelMark;

export const partsOf = (of: MarkValue): readonly OneValue[] =>
  of.kind === "several" ? of.parts : of.kind === "unknown" ? [] : [of];

/** What a part of a mark's value is: of a value, the one that there is at the mark. */
export function partKey(part: OneValue): string {
  switch (part.kind) {
    case "value":
      return `v${part.value}.${part.bits}`;
    case "slot":
      return `s${part.slot}`;
    case "constant":
      return `c${part.low},${part.high}.${part.bits}`;
  }
}

const unknownMark = (mark: VariableMark): VariableMark => ({
  ...mark,
  isDeclaration: false,
  of: { kind: "unknown" },
});

/** Where a slot lies in the frame: at a distance from a register, or (-1) from the CFA. */
export interface SlotPlace {
  /** DWARF's number of it. */
  readonly register: number;
  readonly offset: number;
  /** The register that code addresses it from. */
  readonly base: number;
}

const saysUnknown = (of: Mark, mark: VariableMark): boolean =>
  of.kind === "variable" &&
  of.of.kind === "unknown" &&
  of.variable === mark.variable &&
  of.origin === mark.origin &&
  of.expression === mark.expression;

export class FunctionMarks {
  readonly before = new Map<MInst, Mark[]>();
  /** Variables of which a mark was lost: nothing is known of them. */
  readonly forgotten = new Set<number>();
  /** The number of each virtual register's value; null: its own. */
  roots: Int32Array | null = null;
  /** Values that are the same whenever they are computed, by number. */
  readonly constant = new Set<number>();
  /** What operands are that the frame pass has given addresses. */
  readonly slotOf = new Map<MemOperand, number>();
  /** Registers in which values are when the function is entered; they are made nowhere else. */
  readonly arrivals = new Map<number, number>();
  /** Values that instructions leave in the slots that they name. */
  readonly slotDefinitions = new Map<MInst, number>();
  /** By slot, once there is a frame. */
  slotPlaces: readonly (SlotPlace | null)[] = [];

  rootOf(vreg: number): number {
    return vreg < 0 ? -1 : (this.roots?.[vreg] ?? vreg);
  }

  /** Of the values that `isHalf` names no more than their low four bytes are kept: of wider ones nothing is known then. */
  forgetHighHalves(isHalf: (value: number) => boolean): void {
    const isLost = (part: OneValue): boolean => part.kind === "value" && part.bits > 32 && isHalf(part.value);
    for (const [inst, marks] of this.before) {
      const left = marks.map((mark) =>
        mark.kind === "variable" && partsOf(mark.of).some(isLost) ? unknownMark(mark) : mark,
      );
      this.before.set(inst, left);
    }
  }

  put(inst: MInst, marks: readonly Mark[]): void {
    if (marks.length === 0) return;
    const there = this.before.get(inst);
    this.before.set(inst, there === undefined ? [...marks] : [...marks, ...there]);
  }
  /** After those that are there. */
  append(inst: MInst, marks: readonly Mark[]): void {
    if (marks.length > 0) this.before.set(inst, [...(this.before.get(inst) ?? []), ...marks]);
  }
  take(inst: MInst): readonly Mark[] {
    const marks = this.before.get(inst);
    if (marks === undefined) return [];
    this.before.delete(inst);
    return marks;
  }

  /** A mark has no place any more. */
  lose(marks: readonly Mark[]): void {
    for (const mark of marks) if (mark.kind === "variable") this.forgotten.add(mark.variable);
  }

  /** Control goes past an instruction, to a block: what the instruction's marks say is not known there. */
  skip(inst: MInst, to: MBlock): void {
    const marks = this.before.get(inst);
    const first = to.insts[0];
    if (marks === undefined || first === undefined) return;
    const there = this.before.get(first) ?? [];
    const unknown = marks.flatMap((mark) =>
      mark.kind === "variable" && !there.some((other) => saysUnknown(other, mark)) ? [unknownMark(mark)] : [],
    );
    // Parameters of the block come first.
    const places = there.filter(({ kind }) => kind === "place");
    this.before.set(first, [...places, ...unknown, ...there.filter(({ kind }) => kind !== "place")]);
  }

  /** Instructions stand for others as well, of which something else may be said: nothing is known of either's variables. */
  blur(kept: MInst, gone: MInst): void {
    const marks = [...(this.before.get(kept) ?? []), ...this.take(gone)];
    if (marks.length === 0) return;
    this.before.set(
      kept,
      marks.flatMap((mark) => (mark.kind === "variable" ? [unknownMark(mark)] : [])),
    );
  }
}

/** The instructions of each block before a step changed them. */
export type Snapshot = readonly (readonly [MBlock, readonly MInst[]])[];
export const snapshot = (blocks: readonly MBlock[]): Snapshot =>
  blocks.map((block) => [block, block.insts.slice()]);

/**
 * After a step: marks before instructions that are gone stand before what followed them. New instructions define values that no
 * mark speaks of. @param keepsLabels whether what is new still defines the values that its operands name
 */
export function follow(
  marks: FunctionMarks,
  before: Snapshot,
  blocks: readonly MBlock[],
  keepsLabels: boolean,
): void {
  const changed = changedBlocks<MInst, MBlock>(before, blocks);
  const here = new Set(changed.now);
  const old = new Set<MInst>();
  for (const [, insts] of changed.before) for (const inst of insts) old.add(inst);
  const made = madeAfter(changed.now, old, () => true);
  const places = placesIn(changed.now);
  for (const [block, insts] of changed.before) {
    const kept = keptInBlock(block, insts, places);
    let waiting: Mark[] = [];
    let last: MInst | MBlock = block;
    let isNext = true;
    for (const inst of insts) {
      if (kept.has(inst)) {
        if (waiting.length > 0) marks.put(inst, waiting);
        waiting = [];
        last = inst;
        isNext = true;
        continue;
      }
      const own = marks.take(inst);
      // Where nothing was taken out in front, what is new there is not before the mark; else that is not known.
      const first = made.get(last);
      if (isNext && first !== undefined) marks.put(first, own);
      else if (isNext) waiting.push(...own);
      else {
        const said = own.filter(({ kind }) => kind !== "place");
        const unknown = said.flatMap((mark) => (mark.kind === "variable" ? [unknownMark(mark)] : []));
        if (first !== undefined) marks.append(first, unknown);
        waiting.push(...said);
      }
      isNext = false;
    }
    if (waiting.length === 0) continue;
    const end = here.has(block) ? block.insts[block.insts.length - 1] : undefined;
    if (end !== undefined)
      marks.put(
        end,
        waiting.filter(({ kind }) => kind !== "place"),
      );
    else marks.lose(waiting);
  }
  if (keepsLabels) return;
  for (const { insts } of changed.now)
    for (const inst of insts) if (!old.has(inst)) for (const def of inst.defs) def.vreg = -1;
}
