/**
 * What time is worth in code for size: how often code runs, estimated for the whole program, and the bytes that it may take so
 * that less is executed.
 *
 * What is executed less is weighed by what it is of the time of its loop (`loop-shares.ts`): a call in a loop of ten instructions is
 * worth bytes, among two hundred, or beside a call that executes so many (`call-work.ts`), it is not.
 * A place is as hot as its function, times its executions for one of the function. Loops count for eight executions,
 * recursion likewise; chains of calls through loops multiply, so both factors are bounded: what is called from a loop, however deep,
 * is eight times as hot as what is not, and beyond that estimates say nothing (with a bound of 64 nearly all of an interpreter is hot).
 * Loops that constants are known to run through more often count for that (`counted-loops.ts`), without a bound.
 * How likely a loop is to be one that the program spends its time in grows slower than heat: as its root.
 * One measure for all that weighs bytes against time, `timeBytes`, with one knob, `--size-time`.
 */

/** Bytes that the hottest loop may take so that it needs no time at all, for each that the knob gives. */
const hottestLoopWorth = 400;
/** Where rounds are known: heat for which an instruction is worth a byte. */
const unit = 128;
/** A loop nested three times, or twice in what is called from a loop. */
const mostHeat = 512;
/** Of a function, for one execution of the program. */
const mostOfFunction = 8;
/** What is rare is not looked at. */
const leastOfFunction = 1 / 64;

/** Bytes for a 400th of the time of a hot loop, where nobody says. */
export const defaultSizeTime = 1;

/** How hot a function is, by its estimated executions for one of the program. */
export const functionHeat = (executions: number): number =>
  Math.min(Math.max(executions, leastOfFunction), mostOfFunction);

/** How hot a place is. */
export interface PlaceHeat {
  /** Of the function, times executions of the place for one of the function. */
  readonly heat: number;
  /** As often it is known to run as the heat says: `countedLoops`. What is known has no bound. */
  readonly times: number;
  /** What an instruction there is of the time of its loop: `loopShares`. */
  readonly share: number;
}

/**
 * Bytes that code may take so that fewer instructions are executed.
 * @param sizeTime the knob: bytes for a 400th of the time of a hot loop
 * @param instructions executed less
 */
export function timeBytes(sizeTime: number, { heat, times, share }: PlaceHeat, instructions: number): number {
  // What is run once for one run of the program is in no loop of a caller's either.
  if (heat <= 1 && times <= 1) return 0;
  const most = Math.min(heat, mostHeat);
  const known = times > 1 ? (most * times) / unit : 0;
  const likely = Math.sqrt(Math.min(most * times, mostHeat) / mostHeat);
  return sizeTime * Math.max(known, hottestLoopWorth * likely * share) * instructions;
}
