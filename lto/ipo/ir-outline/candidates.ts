/**
 * From repeats of operations to candidates: pieces that are the same function of their inputs.
 *
 * A repeat's occurrences are put into groups by the structure of their operands. Of each group there may be two kinds of
 * candidates (input partitioning): all of them, with parameters for what they differ in, and those of them that have the
 * same constants. Ends of repeats are shortened where that saves bytes, for instance an output. What a candidate saves
 * in competition is for `outline/select.ts` to say.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { mix } from "../../ir/hash.js";
import type { Repeat } from "../../outline/repeats.js";
import type { Candidate } from "../../outline/select.js";
import { alike, type OutlinePlan, planFor } from "./plan.js";
import { isInput, type Sequence, structureOf } from "./sequence.js";

/** Shorter ends that are tried. */
const mostShortened = 3;
/** Occurrences that are looked at together. */
const mostStarts = 2048;
/**
 * Instructions of occurrences that are looked at, for each instruction of the program: repeats are nested, and of runs of
 * one operation there are as many as the run is long.
 */
const mostLooks = 32;
const leastLooks = 40_000;

export interface Piece extends Candidate {
  readonly length: number;
  readonly starts: Int32Array;
}

/** Estimated bytes below which nothing is certain: part of what is there, and in any case. */
const doubt = 0.08;
const leastBenefit = 5;

/** What a plan saves beyond doubt; 0: nothing. */
export function benefitOf(plan: OutlinePlan, count: number): number {
  const benefit = plan.before - plan.after;
  return benefit >= leastBenefit + (doubt * plan.before) / Math.sqrt(count) ? benefit : 0;
}

/** Candidates of the repeats that could save most, as far as the work for them is linear in the program. */
export function allPieces(sequence: Sequence, repeats: readonly Repeat[], layout: DataLayout): Piece[] {
  const most = repeats.map(({ length, starts }) => sequence.bytes(starts[0]!, length) * (starts.length - 1));
  const order = [...repeats.keys()].sort((a, b) => most[b]! - most[a]! || a - b);
  let looks = Math.max(leastLooks, mostLooks * sequence.insts.length);
  const pieces: Piece[] = [];
  for (const index of order) {
    const repeat = repeats[index]!;
    looks -= repeat.length * Math.min(repeat.starts.length, mostStarts);
    if (looks < 0) break;
    for (const piece of piecesOf(sequence, repeat, layout)) pieces.push(piece);
  }
  return pieces;
}

function piecesOf(sequence: Sequence, repeat: Repeat, layout: DataLayout): Piece[] {
  const pieces: Piece[] = [];
  const { shortest } = repeat;
  const starts = repeat.starts.length > mostStarts ? repeat.starts.slice(0, mostStarts) : repeat.starts;
  for (const group of groupsBy(starts, (start) => structureOf(sequence, start, repeat.length))) {
    addBest(pieces, sequence, group, repeat.length, shortest, layout);
    if (group.length < 3) continue;
    const byConstants = groupsBy(group, (start) => constantsOf(sequence, start, repeat.length));
    if (byConstants.length > 0 && byConstants[0]!.length < group.length)
      for (const part of byConstants) addBest(pieces, sequence, part, repeat.length, shortest, layout);
  }
  return pieces;
}

/** Groups of at least two. */
function groupsBy(starts: Int32Array, keyOf: (start: number) => number): Int32Array[] {
  const groups = new Map<number, number[]>();
  for (const start of starts) {
    const key = keyOf(start);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [start]);
    else group.push(start);
  }
  const result: Int32Array[] = [];
  for (const group of groups.values()) if (group.length > 1) result.push(Int32Array.from(group));
  return result;
}

/** A hash of the constants among the inputs. */
function constantsOf(sequence: Sequence, start: number, length: number): number {
  let hash = 0;
  for (let k = 0; k < length; k++) {
    const inst = sequence.insts[start + k]!;
    for (let i = 0; i < inst.operands.length; i++)
      if (isInput(inst, i)) hash = mix(hash, sequence.constantNumber(start + k, i));
  }
  return hash;
}

/** Adds the best of a group's lengths, if one saves anything. */
function addBest(
  pieces: Piece[],
  sequence: Sequence,
  group: Int32Array,
  length: number,
  shortest: number,
  layout: DataLayout,
): void {
  let best: Piece | null = null;
  let most = 0;
  const same = alike(sequence, group, length);
  for (let cut = length; cut >= shortest && cut > length - mostShortened; cut--) {
    const starts = apart(same, cut);
    if (starts.length < 2) continue;
    const plan = planFor(sequence, starts, cut, layout);
    const benefit = plan === null ? 0 : benefitOf(plan, starts.length);
    if (benefit > most) {
      most = benefit;
      best = { length: cut, starts };
    }
  }
  if (best !== null) pieces.push(best);
}

/** Those that do not overlap, left to right. */
function apart(starts: Int32Array, length: number): Int32Array {
  let end = 0;
  return starts.filter((start) => {
    if (start < end) return false;
    end = start + length;
    return true;
  });
}
