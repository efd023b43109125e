/**
 * When to collect garbage. By itself the engine lets the heap grow to several times of what was in use when it last
 * looked. Where a link has just let go of much, a collection is cheap, and what follows starts from a small heap:
 * SQLite's peak is 209 MB instead of 410, Lua's the same. Links of much bitcode leave it to the engine (bin/engine.cts).
 */
/**
 * Bytes in use below which time counts more: a collection throws away optimised code that mentions what died. With 28e6 bzip2's
 * peak is 84 MB instead of 104, for 1.18 of the time; bin/engine.cts has the figures.
 */
const worthCollecting = 48e6;
/** How far the heap may grow between steps from what was in use after the last collection. */
const growth = 1.5;
/** Steps from one look to the next: the look is dear, and hardly any step allocates a megabyte. */
const stepsApart = 16;

/** Bytes that have to be new since the last collection: a look at what is still in use takes 15 to 45 ms. */
const leastNew = 4e6;

let bound = worthCollecting;
/** In use after the last collection. */
let kept = 0;
let steps = 0;

/** For the moments when much has been let go. Does nothing where the launcher has not asked for the way to collect. */
export function collectGarbage(): void {
  collectAbove(worthCollecting);
}

/**
 * For the time between two steps of a long computation. The engine marks what is in use while the program runs, but ends that
 * in the event loop, which a command does not come back to, or when the heap is much larger: Lua's peak is 103 MB instead of
 * 124, zstd's 184 instead of 206, in a time of 0.95 to 1.08 (single runs on a busy machine).
 */
export function collectBetweenSteps(): void {
  if (++steps % stepsApart === 0) collectWhenGrown();
}

/**
 * For the time between larger parts of a computation. With lists of bodies that have no spare room, zstd's peak is 140 MB
 * instead of 153, SQLite's 178 instead of 196, zstd in 0.98 of the time (two runs in turn on a busy machine). A heap that may
 * grow by less, by 30% or by 14 MB, takes away 1 to 2 MB more: what is left is in use, bodies above all.
 */
export function collectWhenGrown(): void {
  collectAbove(bound);
}

function collectAbove(bytes: number): void {
  if (globalThis.gc === undefined || heapUsed() <= Math.max(bytes, kept + leastNew)) return;
  globalThis.gc();
  kept = heapUsed();
  bound = Math.max(worthCollecting, growth * kept);
}

/**
 * `process.memoryUsage` would ask the system for what it tells besides: over twice the processor time, and on a busy machine a
 * millisecond on the clock. Lua's link looks 460 times.
 */
const heapUsed = (): number => process.getBuiltinModule("node:v8").getHeapStatistics().used_heap_size;
