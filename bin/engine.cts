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
 * The size of the young generation can be set on the command line only (bin/tsc-lto, bin/tsc-ld): with halves of 4 MiB instead
 * of 16 links take 12 to 27% less memory at peak (SQLite, Lua, bzip2, Expat, -Oz), in the same processor time; with 1 MiB 0.98 to
 * 1.27 of the time.
 *
 * Since then passes were added: there is more code, of which each function runs less, and more garbage. On a busy machine, in turn,
 * processor time and memory against a budget of 800 kB with 2 MiB: 1.6 MB with 4 MiB take 0.94 and 1.00 for Lua (least of four; the median
 * 0.87), 0.97 and 1.03 for SQLite (one run each at the same time); of them 4 MiB alone 1.09 and 1.02 for Lua, 0.89 and 0.99 for zstd, where
 * 1.6 MB take 0.96 of that. 400 kB with 4 MiB take 1.05 (zstd) and 1.17 (Lua). With 8 and 16 MiB zstd's memory is 1.04 and 1.12, its time
 * 0.87 and 0.95; Lua's is not less.
 *
 * Collecting garbage throws away optimised code that mentions what died, so how early that is tried decides what a budget is worth
 * (bin/lto/memory.ts). Collecting from 28 MB in use on, with a budget of 1.6 MB and, below a megabyte of bitcode, a heap that
 * grows by 30% at a time under `--optimize-for-size` (as it was before), against collecting from 48 MB on with 800 kB and growth as V8 has it,
 * least of two in turn on a quiet machine, processor time and memory as parts of lld's: bzip2 2.58, 0.94 and 2.19,
 * 1.16; Lua 2.41, 1.04 and 2.33, 1.15; zstd, one run each, 2.00, 1.25 and 1.87, 1.27. From 64 MB on: 2.18, 1.20; 2.42, 1.28. Never,
 * with a budget of 400 kB and 8 MiB halves: zstd 1.76, but 2.26 of the memory.
 *
 * Without effect on top of that, beyond the noise of a busy machine (bzip2, least of two in turn, without any collection):
 * `--single-threaded-gc`, scavenges in one thread, one thread in V8's pool, no incremental marking, feedback after 300 or 4000 bytes,
 * a budget of 3 MB, an old space of 64 MB from the start, no optimising of functions above 4000 bytes, no always-sparkplug.
 *
 * From V8 12 on (Node 22 and 24), functions are optimised by calls and not by executed bytes, and Maglev comes before TurboFan.
 * Without settings for that, the same links take 1.4 to 1.6 of Node 20's processor time and 1.2 to 1.6 of its memory (gzip and
 * MuJS, the least of three in turn). Without Maglev and with TurboFan after 100 000 calls instead of 3000 that is 0.92
 * and 1.03 on Node 22, 1.00 and 1.09 on 24, with 1.06 to 1.11 of the memory; after 30 000 0.97 and 1.03, 1.03 and 1.14, with
 * 1.09 to 1.18; after 10 000 1.22 to 1.30. (V8 multiplies the number by a function's bytes in 32 bits: that holds for functions
 * of up to 21 kB of bytecode.) Without always-sparkplug gzip takes 0.99 of the time there, and 1.04 of the memory; one thread less
 * for baseline code, or halves of 1 MiB, change nothing.
 *
 * What does not pay, with constant enumerations and loops by index (bzip2 at -Oz on a busy machine, the median of four runs
 * each, in turn, against the settings below): a budget of 400 kB 1.15, of 200 kB 1.28; of 600 kB with a cheaper TurboFan
 * (mid-tier register allocation, neither loop peeling nor escape analysis nor load elimination) 1.02; scavenges in one
 * thread 1.01; 8 MiB halves 0.97 with 1.09 of the memory, with all of garbage collection in one thread 0.96 and 1.12.
 *
 * Links of a megabyte of bitcode and more do not ask for collections. The engine's own throw away less optimised code, so optimising
 * earlier pays, and a heap that may grow by half keeps the memory. With halves of 8 MiB and a budget of 800 kB, against halves of 4 MiB,
 * asking from 48 MB on and 1.6 MB, processor time and memory, on a quiet machine, in turn (one run each after one that made the caches):
 * SQLite 0.87, 1.10, zstd 0.91, 1.18; without a bound on growth 0.83, 1.75 and 0.90, 1.37; growth by 30% zstd 0.94, 1.03, by 80% 0.92,
 * 1.27; with 1.6 MB zstd 0.96, 1.15. Smaller links lose by it: bzip2 1.08, 1.09, Lua 0.96, 1.21, mawk 0.97, 1.14.
 *
 * With that, halves of 8 MiB instead of 4 are no gain: SQLite 0.96, 1.05, zstd 1.0, 1.15 (least of two, in turn), and for what is
 * smaller Lua 0.97, 1.05, mawk 1.0, 1.06 (least of three).
 */
import v8 = require("node:v8");

/** Newer engines count calls instead of executed bytes; each complains of the other's setting. */
const budgets = Number.parseInt(process.versions.v8, 10) < 12;

/** A process that runs one link, of little bitcode or much, or one that runs many. */
type Run = "usual" | "large" | "service";

/** Executed bytes until a function is optimised. Where much is to be done, functions are used again. */
const budgetOf: Readonly<Record<Run, number>> = { usual: 1_600_000, large: 800_000, service: 800_000 };
/** How far the heap of a large link may grow from what was in use, in percent, before the engine collects. */
const growth = 50;

const settings = (run: Run): readonly string[] => [
  "--always-sparkplug",
  ...(budgets
    ? [`--interrupt-budget=${budgetOf[run]}`]
    : ["--no-maglev", "--invocation-count-for-turbofan=100000"]),
  "--no-use-osr",
  "--max-inlined-bytecode-size-cumulative=200",
  // What ran at the start stays compiled, for the caches of bin/start.cts.
  "--no-flush-bytecode",
  ...(run === "large" ? [`--heap-growing-percent=${growth}`] : []),
];

function apply(run: Run): void {
  for (const setting of settings(run)) v8.setFlagsFromString(setting);
}

export = { apply };
