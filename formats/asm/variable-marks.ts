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
import type { LocatedRange } from "../../lto/codegen/debug/locate.js";
import type { MFunction, MInst } from "../../lto/codegen/mir.js";
import type { PrintedPlace, PrintedVariable } from "../../lto/codegen/program/function-compilers.js";
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

/** In instructions of the text. */
interface Piece {
  readonly from: number;
  to: number;
  endsInCall: boolean;
  readonly bytes: readonly number[];
  readonly described: number;
}

/** Where a number that is not less stands in a rising list. */
function lowerBound(list: readonly number[], least: number): number {
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
  readonly variables: readonly PrintedVariable[];
  private readonly code: MInst[] = [];
  /** By their positions. */
  private readonly runs: Run[] = [];
  private readonly firstPositions: readonly number[];
  /** Positions of instructions that are there, rising. */
  private known: readonly number[] = [];
  /** By register, in instructions of the text. */
  private readonly overwritten: ReadonlyMap<number, readonly Stretch[]>;
  /** Instructions of the text that do what several did before. */
  private readonly standing = new Set<number>();

  constructor(
    private readonly mf: MFunction,
    { variables, positions }: Located,
  ) {
    this.overwritten = overwrittenStretches(mf.blocks, this.findRuns(positions));
    this.runs.sort((a, b) => a.positions[0]! - b.positions[0]!);
    this.firstPositions = this.runs.map((run) => run.positions[0]!);
    this.variables = variables.flatMap(({ variable, origin, ranges, bytes, described }) => {
      const places: PrintedPlace[] =
        ranges === null ? [{ from: -1, to: -1, endsInCall: false, bytes, described }] : this.printed(ranges);
      return places.length === 0 ? [] : [{ variable, origin, places }];
    });
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
    this.known = [...positions.keys()].map((inst) => own(inst)!).sort((a, b) => a - b);
    const ranks = new Map(this.known.map((position, rank) => [position, rank]));
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
          const own = ranks.get(position)!;
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

  private printed(ranges: readonly LocatedRange[]): PrintedPlace[] {
    const pieces: Piece[] = [];
    for (const range of ranges) this.addPieces(range, pieces);
    pieces.sort((a, b) => a.from - b.from);
    const joined: Piece[] = [];
    for (const piece of pieces) {
      const last = joined.at(-1);
      const isSame =
        last !== undefined &&
        last.to === piece.from &&
        !last.endsInCall &&
        sameBytes(last.bytes, piece.bytes);
      if (!isSame) joined.push(piece);
      else {
        last.to = piece.to;
        last.endsInCall = piece.endsInCall;
      }
    }
    return joined.map(({ from, to, endsInCall, bytes, described }) => ({
      from: from === 0 ? -1 : this.markAt(from),
      to: to === this.code.length ? -1 : this.markAt(to),
      endsInCall,
      bytes,
      described,
    }));
  }

  private markAt(place: number): number {
    const inst = this.code[place]!;
    let mark = this.marks.get(inst);
    if (mark === undefined) this.marks.set(inst, (mark = this.marks.size));
    return mark;
  }

  /** Where all of these registers are what they were. */
  private kept(stretch: Stretch, registers: number): readonly Stretch[] {
    let left: readonly Stretch[] = [stretch];
    for (let rest = this.overwritten.size === 0 ? 0 : registers; rest !== 0; rest &= rest - 1) {
      const others = this.overwritten.get(31 - Math.clz32(rest & -rest));
      if (others !== undefined) left = left.flatMap((each) => outside(each, others));
    }
    return left;
  }

  private addPieces(range: LocatedRange, pieces: Piece[]): void {
    const { from, to, endsInCall, bytes, described } = range;
    const first = Math.max(0, lowerBound(this.firstPositions, from + 1) - 1);
    for (let r = first; r < this.runs.length && this.firstPositions[r]! < to; r++) {
      const { positions, places, end } = this.runs[r]!;
      const low = lowerBound(positions, from);
      const high = lowerBound(positions, to);
      if (low >= high) continue;
      const last = positions[high - 1]!;
      const place = places[high - 1]!;
      // What ends among several instructions ends in the call that does what they did.
      const isWhole =
        to >= (this.known[lowerBound(this.known, Math.floor(last) + 1)] ?? Number.POSITIVE_INFINITY);
      const isStanding = this.standing.has(place) && !isWhole;
      const goesOn = high === positions.length && to > last + 1 && !isStanding;
      const whole: Stretch = [places[low]!, goesOn ? end : place + 1];
      const ends = isStanding || (endsInCall && last === to - 1);
      for (const [begin, stop] of this.kept(whole, range.registers))
        pieces.push({ from: begin, to: stop, endsInCall: ends && stop === whole[1], bytes, described });
    }
  }
}

/** A position after another one and before the next whole one. */
const between = (position: number): number => (position + Math.floor(position) + 1) / 2;

const sameBytes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** No function has so many instructions. */
const unknownPlace = 2 ** 30;

const noCode = OpFact.Entry | OpFact.Undefined;
