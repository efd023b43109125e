/**
 * Settings of the JavaScript engine for programs that run for seconds. To be applied before anything large is
 * compiled, and after Node's own modules are loaded: V8 takes code that was compiled before only if the settings
 * are the same.
 *
 * V8's defaults suit servers: optimise early and inline much, since the program will run for hours. With them
 * half of the processor time of a link goes into optimising compilations in background threads. Baseline code
 * from the start, optimising later and with less inlining take about a third off the processor time of a link
 * (Lua and SQLite, -Oz).
 *
 * Four times the budget and no replacing of functions while they run take 0.74 to 0.77 of the processor time with a budget
 * of 400 kB (programs of 81 and 212 kB on a quiet machine; bzip2 on a busy one 0.91, the least of four runs each, in
 * turn). On top of that `--single-threaded-gc` (0.86 and 1.11 of it) and slower growth of the heap (1.0 and 1.25) do not
 * pay for all sizes; Maglev, more inlining and no lazy feedback cost time. With the passes on the whole program, budgets of
 * 400 kB, 800 kB, 4 MB and 12 MB take 1.08, 0.98, 1.08 and 1.15 of it, not beyond the noise of a busy machine (bzip2, the
 * median of three runs each, in turn).
 *
 * The size of the young generation can be set on the command line only (bin/tsc-lto, bin/tsc-ld): with 4 MiB halves instead
 * of 16 links take 12 to 27% less memory at peak (SQLite, Lua, bzip2, Expat, -Oz), in the same processor time. Heaps of links
 * below a megabyte of bitcode grow by 30% at a time: with that and halves of 2 MiB their peak is 0.77 to 0.90 of what it was
 * (bzip2 gzip expat lua mawk mujs, -Oz), near lld's, for a processor time of 0.94 to 1.11 (medians of two to eight runs in turn
 * on a busy machine; zstd, which is larger: 0.71 and 1.12). Halves of 1 MiB: 0.76 to 0.87, and 0.98 to 1.27.
 *
 * What does not pay, with constant enumerations and loops by index (bzip2 at -Oz on a busy machine, the median of four runs
 * each, in turn, against the settings below): a budget of 400 kB 1.15, of 200 kB 1.28; of 600 kB with a cheaper TurboFan
 * (mid-tier register allocation, neither loop peeling nor escape analysis nor load elimination) 1.02; scavenges in one
 * thread 1.01; 8 MiB halves 0.97 with 1.09 of the memory, with all of garbage collection in one thread 0.96 and 1.12.
 */
import v8 = require("node:v8");

/** Newer engines count calls instead of executed bytes, and complain of the old setting. */
const budgets = Number.parseInt(process.versions.v8, 10) < 12;

const settings = [
  "--always-sparkplug",
  ...(budgets ? ["--interrupt-budget=1600000"] : []),
  "--no-use-osr",
  "--max-inlined-bytecode-size-cumulative=200",
  // What ran at the start stays compiled, for the caches of bin/start.cts.
  "--no-flush-bytecode",
];

/** Where the heap is small, letting it grow slowly costs little. */
const slowGrowth = "--heap-growing-percent=30";

function apply(size: "usual" | "large"): void {
  for (const setting of settings) v8.setFlagsFromString(setting);
  if (size === "usual") v8.setFlagsFromString(slowGrowth);
}

export = { apply };
