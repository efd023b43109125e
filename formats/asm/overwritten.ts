/**
 * Where registers hold something else than what data flow over the code as it was before found in them, since instructions that
 * came later wrote them: from such an instruction on, on every way, until one that was there before writes the register.
 * That one is right: what it reads is right, as the program depends on it, and what is known of its result followed from it.
 *
 * Method: forwards data flow over the blocks, a bit for each of the first 32 registers; each block is visited as often as bits
 * arrive at it.
 * Breaks if: an instruction that was there before reads a register that a later step gave another value. Then the program is
 * wrong, too.
 */
import type { MBlock } from "../../lto/codegen/mir.js";

/** An instruction of the text. */
export interface Writer {
  /** A bit for each register that it writes, of the first 32. */
  readonly writes: number;
  /** It was there before; null: it does what several did, of which nothing is taken from or added to what is known. */
  readonly isOld: boolean | null;
}

/** In instructions of the text, from one to before another. */
export type Stretch = readonly [from: number, to: number];

/** @param code of each block, in the order of the text @returns by register, rising, where it is overwritten; those that never are have none */
export function overwrittenStretches(
  blocks: readonly MBlock[],
  code: readonly (readonly Writer[])[],
): ReadonlyMap<number, readonly Stretch[]> {
  const found = new Map<number, Stretch[]>();
  if (!code.some((writers) => writers.some(({ isOld, writes }) => isOld === false && writes !== 0)))
    return found;
  const after = (mask: number, { writes, isOld }: Writer): number =>
    isOld === null ? mask : isOld ? mask & ~writes : mask | writes;
  const numbers = new Map(blocks.map((block, b) => [block, b]));
  const entry = new Int32Array(blocks.length);
  const queued = new Set(blocks.keys());
  for (const b of queued) {
    queued.delete(b);
    const leaving = code[b]!.reduce(after, entry[b]!);
    for (const next of blocks[b]!.succs) {
      const n = numbers.get(next);
      if (n === undefined || (entry[n]! | leaving) === entry[n]) continue;
      entry[n]! |= leaving;
      queued.add(n);
    }
  }
  let place = 0;
  const add = (register: number): void => {
    const list = found.get(register);
    const last = list?.at(-1);
    if (list === undefined) found.set(register, [[place, place + 1]]);
    else if (last![1] === place) list[list.length - 1] = [last![0], place + 1];
    else list.push([place, place + 1]);
  };
  for (let b = 0; b < blocks.length; b++) {
    let mask = entry[b]!;
    for (const writer of code[b]!) {
      for (let rest = mask; rest !== 0; rest &= rest - 1) add(31 - Math.clz32(rest & -rest));
      mask = after(mask, writer);
      place++;
    }
  }
  return found;
}

/** What is left of a stretch outside of others, which rise. */
export function outside([from, to]: Stretch, others: readonly Stretch[]): Stretch[] {
  const left: Stretch[] = [];
  let at = from;
  for (const [begin, end] of others) {
    if (end <= at) continue;
    if (begin >= to) break;
    if (begin > at) left.push([at, begin]);
    at = end;
  }
  if (at < to) left.push([at, to]);
  return left;
}
