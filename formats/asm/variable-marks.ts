/**
 * Where source variables are in the text of a function: what is known by positions in the code as it was when they were
 * found (lto/codegen/debug/locate.ts), by marks in the code as it is printed.
 *
 * Steps since then have put blocks in another order, put instructions in, and made one of several. A place holds from one
 * instruction to the next that was next to it before, with what is new in between, except where new instructions have written
 * its registers (overwritten.ts).
 * Linear in the code, in the pieces of ranges, and in where registers are overwritten for each of these.
 */
import type { Located } from "../../lto/codegen/debug/function-debug.js";
import {
  type LocatedVariables,
  NumberList,
  RangeField,
  VariableField,
} from "../../lto/codegen/debug/located-ranges.js";
import type { MFunction, MInst } from "../../lto/codegen/mir.js";
import { PlaceField, type PrintedVariables } from "../../lto/codegen/program/function-compilers.js";
import { lowWord } from "../../lto/codegen/register-set.js";
import { OpFact } from "../../lto/codegen/target.js";
import { outside, overwrittenStretches, type Stretch, type Writer } from "./overwritten.js";

/** Instructions that were in this order before, and are so in the text. */
interface Run {
  /** Rising: where each instruction was; a fraction more than the one before where that is not known. */
  readonly positions: number[];
  /** Where each is, counted in instructions of the text. */
  readonly places: number[];
  /** Where what belongs to the last of them ends: with the new instructions that follow it. */
  end: number;
}

/** Where a number that is not less stands in a rising list. */
function lowerBound(list: ArrayLike<number>, least: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class VariableMarks {
  /** By the instruction that they stand before. */
  readonly marks = new Map<MInst, number>();
  readonly variables: PrintedVariables;
  private readonly code: MInst[] = [];
  /** By their positions. */
  private readonly runs: Run[] = [];
  private readonly firstPositions: readonly number[];
  /** Positions of instructions that are there, rising. */
  private known = new Float64Array(0);
  /** Places of a variable, as those of `PrintedVariables`, but by instructions of the text. */
  private readonly pieces = new NumberList();
  /** By register, in instructions of the text. */
  private readonly overwritten: ReadonlyMap<number, readonly Stretch[]>;
  /** Instructions of the text that do what several did before. */
  private readonly standing = new Set<number>();

  constructor(
    private readonly mf: MFunction,
    located: Located,
  ) {
    this.overwritten = overwrittenStretches(mf.blocks, this.findRuns(located.positions));
    this.runs.sort((a, b) => a.positions[0]! - b.positions[0]!);
    this.firstPositions = this.runs.map((run) => run.positions[0]!);
    this.variables = this.printed(located);
  }

  private printed({ variables, ranges, locations }: LocatedVariables): PrintedVariables {
    const rows: number[] = [];
    const places: number[] = [];
    for (let v = 0; v < variables.length; v += VariableField.Count) {
      const first = places.length;
      const location = variables[v + VariableField.Location]!;
      if (location >= 0) places.push(-1, -1, 0, location);
      else {
        this.pieces.length = 0;
        const end = variables[v + VariableField.End]!;
        for (let at = variables[v + VariableField.First]!; at < end; at += RangeField.Count)
          this.addPieces(ranges, at);
        this.addPlaces(places);
      }
      if (places.length === first) continue;
      const origin = variables[v + VariableField.Origin]!;
      rows.push(variables[v + VariableField.Variable]!, origin, location, first, places.length);
    }
    return { variables: Int32Array.from(rows), places: Int32Array.from(places), locations };
  }

  /** @returns of each block's instructions, what they write */
  private findRuns(positions: ReadonlyMap<MInst, number>): Writer[][] {
    const { blocks, target } = this.mf;
    const { facts, writes } = target.instructions;
    const written: Writer[][] = [];
    const own = (inst: MInst): number | undefined => {
      const position = positions.get(inst);
      return position === undefined || position >= 0 ? position : -2 - position;
    };
    this.known = Float64Array.from(positions.keys(), (inst) => own(inst)!).sort();
    let run: Run | null = null;
    /** Of the last of the run whose position is known. */
    let rank = 0;
    for (const { insts } of blocks) {
      const writers: Writer[] = [];
      written.push(writers);
      /** The run has instructions of the block. */
      let isHere = false;
      for (let i = 0; i < insts.length; i++) {
        const inst = insts[i]!;
        if (inst.op === target.frame.directive || (facts[inst.op]! & noCode) !== 0) continue;
        const place = this.code.push(inst) - 1;
        const position = own(inst);
        const isUnknown = position !== undefined && position >= unknownPlace;
        const isStanding = isUnknown || (position !== undefined && positions.get(inst)! < 0);
        // Of several instructions, some may be new.
        const isOld = position !== undefined && !isUnknown ? (isStanding ? null : true) : false;
        writers.push({ writes: lowWord(writes(inst)), isOld });
        if (position === undefined) {
          if (run !== null) run.end = place + 1;
          continue;
        }
        if (isStanding) this.standing.add(place);
        if (isUnknown) {
          // The others came after those before it in the block.
          if (!isHere) run = null;
        } else {
          // The last one where several have it.
          const own = lowerBound(this.known, position + 0.5) - 1;
          if (run === null || own !== rank + 1) this.runs.push((run = { positions: [], places: [], end: 0 }));
          rank = own;
          isHere = true;
        }
        if (run === null) continue;
        run.positions.push(isUnknown ? between(run.positions.at(-1)!) : position);
        run.places.push(place);
        run.end = place + 1;
      }
    }
    return written;
  }

  /** Adds the pieces in order, joined where they are the same, by marks. */
  private addPlaces(places: number[]): void {
    const { items, length } = this.inOrder();
    let at = 0;
    while (at < length) {
      const from = items[at + PlaceField.From]!;
      const location = items[at + PlaceField.Location]!;
      let to = items[at + PlaceField.To]!;
      let endsInCall = items[at + PlaceField.EndsInCall]!;
      for (
        at += PlaceField.Count;
        at < length &&
        endsInCall === 0 &&
        items[at + PlaceField.From] === to &&
        items[at + PlaceField.Location] === location;
        at += PlaceField.Count
      ) {
        to = items[at + PlaceField.To]!;
        endsInCall = items[at + PlaceField.EndsInCall]!;
      }
      const begin = from === 0 ? -1 : this.markAt(from);
      places.push(begin, to === this.code.length ? -1 : this.markAt(to), endsInCall, location);
    }
  }

  private inOrder(): { readonly items: ArrayLike<number>; readonly length: number } {
    const { items, length } = this.pieces;
    let isSorted = true;
    for (let i = PlaceField.Count; i < length; i += PlaceField.Count)
      if (items[i - PlaceField.Count]! > items[i]!) isSorted = false;
    if (isSorted) return this.pieces;
    const starts = Array.from({ length: length / PlaceField.Count }, (_, row) => row * PlaceField.Count);
    starts.sort((a, b) => items[a]! - items[b]!);
    const sorted = new Int32Array(length);
    for (let i = 0; i < starts.length; i++)
      for (let f = 0; f < PlaceField.Count; f++) sorted[i * PlaceField.Count + f] = items[starts[i]! + f]!;
    return { items: sorted, length };
  }

  private markAt(place: number): number {
    const inst = this.code[place]!;
    let mark = this.marks.get(inst);
    if (mark === undefined) this.marks.set(inst, (mark = this.marks.size));
    return mark;
  }

  /** Adds where all of these registers are what they were. @param ends 1: the stretch ends in a call */
  private addKept(from: number, to: number, registers: number, ends: number, location: number): void {
    let left: readonly Stretch[] | null = null;
    for (let rest = this.overwritten.size === 0 ? 0 : registers; rest !== 0; rest &= rest - 1) {
      const others = this.overwritten.get(31 - Math.clz32(rest & -rest));
      if (others === undefined) continue;
      left = (left ?? [[from, to] as const]).flatMap((each) => outside(each, others));
    }
    if (left === null) this.addPiece(from, to, ends, location);
    else for (const [begin, stop] of left) this.addPiece(begin, stop, stop === to ? ends : 0, location);
  }

  private addPiece(from: number, to: number, endsInCall: number, location: number): void {
    const { pieces } = this;
    pieces.push(from);
    pieces.push(to);
    pieces.push(endsInCall);
    pieces.push(location);
  }

  /** @param row where in the ranges the one is that is meant */
  private addPieces(ranges: Int32Array, row: number): void {
    const from = ranges[row + RangeField.From]!;
    const to = ranges[row + RangeField.To]!;
    const endsInCall = ranges[row + RangeField.EndsInCall] !== 0;
    const location = ranges[row + RangeField.Location]!;
    const registers = ranges[row + RangeField.Registers]!;
    const first = Math.max(0, lowerBound(this.firstPositions, from + 1) - 1);
    for (let r = first; r < this.runs.length && this.firstPositions[r]! < to; r++) {
      const { positions, places, end } = this.runs[r]!;
      const low = lowerBound(positions, from);
      const high = lowerBound(positions, to);
      if (low >= high) continue;
      const last = positions[high - 1]!;
      const place = places[high - 1]!;
      let isStanding = this.standing.has(place);
      if (isStanding) {
        // What ends among several instructions ends in the call that does what they did.
        const next = lowerBound(this.known, Math.floor(last) + 1);
        isStanding = to < (next < this.known.length ? this.known[next]! : Number.POSITIVE_INFINITY);
      }
      const goesOn = high === positions.length && to > last + 1 && !isStanding;
      const ends = isStanding || (endsInCall && last === to - 1) ? 1 : 0;
      this.addKept(places[low]!, goesOn ? end : place + 1, registers, ends, location);
    }
  }
}

/** A position after another one and before the next whole one. */
const between = (position: number): number => (position + Math.floor(position) + 1) / 2;

/** No function has so many instructions. */
const unknownPlace = 2 ** 30;

const noCode = OpFact.Entry | OpFact.Undefined;
