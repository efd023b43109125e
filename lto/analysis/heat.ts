/**
 * What time is worth in code for size: how often code runs, estimated for the whole program, and the bytes that it may take so
 * that less is executed.
 *
 * A place is as hot as its function, times its executions for one of the function. Loops count for eight executions,
 * recursion likewise; chains of calls through loops multiply, so both factors are bounded: what is called from a loop, however deep,
 * is eight times as hot as what is not, and beyond that estimates say nothing (with a bound of 64 nearly all of an interpreter is hot).
 * Loops that constants are known to run through more often count for that (`counted-loops.ts`), without a bound.
 * One measure for all that weighs bytes against time, `timeBytes`, with one knob, `--size-time`.
 */

/** Two instructions in a loop nested twice: what the knob's value is for. */
const unit = 128;
/** A loop nested three times, or twice in what is called from a loop. */
const mostHeat = 512;
/** Of a function, for one execution of the program. */
const mostOfFunction = 8;
/** What is rare is not looked at. */
const leastOfFunction = 1 / 64;

/** Bytes that two instructions may take which are executed less in a loop nested twice, where nobody says. */
export const defaultSizeTime = 1;

/** How hot a function is, by its estimated executions for one of the program. */
export const functionHeat = (executions: number): number =>
  Math.min(Math.max(executions, leastOfFunction), mostOfFunction);

/**
 * Bytes that code may take so that fewer instructions are executed.
 * @param sizeTime the knob: bytes for two instructions in a loop nested twice
 * @param heat of the function, times executions of the place for one of the function
 * @param instructions executed less
 * @param times as often it is known to run as the heat says: `countedLoops`. What is known has no bound.
 */
export const timeBytes = (sizeTime: number, heat: number, instructions: number, times: number): number =>
  ((sizeTime * Math.min(heat, mostHeat) * times) / unit) * instructions;
