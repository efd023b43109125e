/**
 * From repeats of operations to candidates: pieces that are the same function of their inputs.
 *
 * A repeat's occurrences are put into groups by the structure of their operands. Of each group there may be two kinds of
 * candidates (input partitioning): all of them, with parameters for what they differ in, and those of them that have the
 * same constants. Shorter ends of repeats are candidates too, since that may save an output. What a candidate saves
 * in competition is for `outline/select.ts` to say: here is only what it saves at most, and what for certain.
 */

import { type BlockTimes, callInstructions } from "../../analysis/function-times.js";
import type { Repeat } from "../../outline/repeats.js";
import type { Candidate } from "../../outline/select.js";
import { wantedStarts } from "../../outline/select.js";
import { leastPassed, leastReturned, mostBenefit } from "./plan.js";
import type { Sequence } from "./sequence.js";

/** Ends that are tried, with the whole one. */
const mostShortened = 3;
/** Occurrences that are looked at together. */
const mostStarts = 2048;
/**
 * Occurrences that are looked at, for each instruction of the program: repeats are nested, and of runs of one operation there
 * are as many as the run is long.
 */
const mostLooks = 24;
const leastLooks = 40_000;

export interface Piece extends Candidate {
  readonly length: number;
  readonly starts: Int32Array;
  /** What it saves at most where it has all its places. */
  readonly most: number;
}

interface Adding {
  readonly pieces: Piece[];
  readonly sequence: Sequence;
  /** Bytes that parameters take at least, by length. */
  readonly passed: Float64Array;
  /** Also those that parameters make too large are asked for: somebody is told why they are none. */
  readonly isTold: boolean;
  readonly times: BlockTimes;
}

/**
 * Candidates of the repeats that could save most, as far as the work for them is linear in the program.
 * @param longest of the repeats
 */
export function allPieces(
  sequence: Sequence,
  repeats: readonly Repeat[],
  longest: number,
  isTold: boolean,
  times: BlockTimes,
): Piece[] {
  const most = repeats.map(({ length, starts }) => sequence.bytes(starts[0]!, length) * (starts.length - 1));
  const order = [...repeats.keys()].sort((a, b) => most[b]! - most[a]! || a - b);
  let looks = Math.max(leastLooks, mostLooks * sequence.insts.length);
  const adding = { pieces: [], sequence, passed: new Float64Array(longest + 1), isTold, times };
  for (const index of order) {
    const repeat = repeats[index]!;
    looks -= Math.min(repeat.starts.length, mostStarts);
    if (looks < 0) break;
    addPieces(adding, repeat);
  }
  return adding.pieces;
}

function addPieces(adding: Adding, { length, shortest, starts: all }: Repeat): void {
  const { sequence } = adding;
  // Most repeats occur twice.
  if (all.length === 2) {
    if (sequence.haveOneStructure(all[0]!, all[1]!, length)) addEnds(adding, all, length, shortest);
    return;
  }
  const starts = all.length > mostStarts ? all.slice(0, mostStarts) : all;
  for (const group of groupsBy(starts, (start) => sequence.structureOf(start, length))) {
    // Parts of what could save nothing save nothing.
    if (!addEnds(adding, group, length, shortest) || group.length < 3) continue;
    const byConstants = groupsBy(group, (start) => sequence.constantsOf(start, length));
    if (byConstants.length > 0 && byConstants[0]!.length < group.length)
      for (const part of byConstants) addEnds(adding, part, length, shortest);
  }
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

/** Those of which each saves more than the time of a call there is worth. */
function worthTime({ sequence, times }: Adding, starts: Int32Array, length: number): Int32Array {
  const { placeAt, places, insts, costs } = sequence;
  const isWorth = (start: number): boolean => {
    const spent = times.bytes(places[placeAt[start]!]!.fn, insts[start]!.parent!, callInstructions);
    return spent === 0 || sequence.bytes(start, length) - costs.calls.call > spent;
  };
  return wantedStarts(starts, isWorth);
}

/** Adds a group with the ends that could save anything. @returns whether there are any, if nothing had to be passed */
function addEnds(adding: Adding, all: Int32Array, length: number, shortest: number): boolean {
  const { pieces, sequence, passed, isTold } = adding;
  const starts = worthTime(adding, all, length);
  let isPassedKnown = false;
  let couldPay = false;
  for (let cut = length; cut >= shortest && cut > length - mostShortened; cut--) {
    let most = mostBenefit(sequence, starts, cut, 0);
    if (most <= 0) continue;
    couldPay = true;
    if (!isTold) {
      if (!isPassedKnown) leastPassed(sequence, starts, cut, passed);
      isPassedKnown = true;
      const returned = leastReturned(sequence, starts, cut);
      most = mostBenefit(sequence, starts, cut, passed[cut]! + returned);
    }
    if (most > 0) pieces.push({ length: cut, starts, most });
  }
  return couldPay;
}
