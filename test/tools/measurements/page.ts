/** MEASUREMENTS.md, from figures of one commit. */
import { geometricMean } from "../bench/tables.js";
import { type BuildFigures, buildsSection } from "./builds.js";
import { type DecisionFigures, decisionsSection } from "./decisions.js";
import { type DispatchFigures, dispatchSection } from "./dispatch.js";
import { type Figures, loaded, type ProgramBytes, ratios } from "./figures.js";
import { type IpraFigures, ipraSection } from "./ipra.js";

const base = "clang";
/** Columns of the tables that are there, with their titles. */
const columns = [
  ["ours-per-file", "`tsc-lto` per file"],
  ["ours-no-ipra", "`tsc-lto --no-ipra`"],
  ["ours", "`tsc-lto`"],
  ["clang-lto", "`clang -flto`"],
  ["clang-lto-ipra", "… and IPRA"],
  ["gcc", "`gcc -Os`"],
  ["gcc-lto", "`gcc -Os -flto`"],
] as const;

function ratioTable(figures: Figures, title: string, of: (bytes: ProgramBytes) => number): string {
  const shown = columns
    .map(([column, head]) => ({ head, values: new Map(ratios(figures, column, base, of)) }))
    .filter(({ values }) => values.size > 0);
  const cell = (x: number | undefined): string => (x === undefined ? "–" : x.toFixed(3));
  const row = (name: string, cells: readonly string[]): string => `| ${[name, ...cells].join(" | ")} |`;
  return [
    row(
      title,
      shown.map(({ head }) => head),
    ),
    row(
      "---",
      shown.map(() => "---:"),
    ),
    ...Object.keys(figures.programs).map((name) =>
      row(
        name,
        shown.map(({ values }) => cell(values.get(name))),
      ),
    ),
    row(
      "**geometric mean**",
      shown.map(({ values }) => `**${cell(geometricMean([...values.values()]))}**`),
    ),
    "",
  ].join("\n");
}

/** Interprocedural register allocation: with relative to without. */
function ipraTable(figures: Figures): string {
  const ours = new Map(ratios(figures, "ours", "ours-no-ipra", ({ text }) => text));
  const llvm = new Map(ratios(figures, "clang-lto-ipra", "clang-lto", ({ text }) => text));
  const cell = (x: number | undefined): string => (x === undefined ? "–" : x.toFixed(3));
  return [
    "| .text | `tsc-lto` | LLVM `-enable-ipra` |",
    "| --- | ---: | ---: |",
    ...Object.keys(figures.programs).map(
      (name) => `| ${name} | ${cell(ours.get(name))} | ${cell(llvm.get(name))} |`,
    ),
    `| **geometric mean** | **${cell(geometricMean([...ours.values()]))}** | **${cell(geometricMean([...llvm.values()]))}** |`,
    "",
  ].join("\n");
}

/** @returns the page as Markdown, the same for the same figures */
export function measurementsPage(
  figures: Figures,
  builds: BuildFigures,
  decisions: DecisionFigures,
  ipra: IpraFigures,
  dispatch: DispatchFigures,
): string {
  return `# Measurements

Made by \`${figures.command}\` at commit ${figures.commit}; \`npm run measurements\` writes this page, the
[chart](fixtures/measurements/sizes.svg) and the [figures](fixtures/measurements/sizes.json) anew. Sizes are exact: the same inputs
give the same bytes on any machine.

Compared with: ${figures.peers.join("; ")}. All at -Oz (gcc: -Os), not position-independent, linked by the same linker, relative to
\`clang -Oz\` without LTO. "Per file" is tsc-lto without any pass on the program: each object alone, with \`-r --no-ipra\`.

## What is loaded

${ratioTable(figures, ".text, unwind tables, .rodata", loaded)}
${ratioTable(figures, ".text", ({ text }) => text)}
## Interprocedural register allocation

.text with relative to without:

${ipraTable(figures)}
${ipraSection(ipra)}
${decisionsSection(decisions)}
${buildsSection(builds)}
${dispatchSection(dispatch)}
## What time is worth in code for size

Loaded bytes at -Oz with \`--size-time=N\`, relative to 0 (\`tsc-lto -Oz -j1 --size-time N\` on the objects of each, assembled); the sum is
that of these and of bzip2 and of cfrac, HACCKernels, hexxagon, miniGMG, minisat, toast and yacr2 of the LLVM test suite. With the
default, HACCKernels takes 0.56 of the processor time that it took when bytes went by frequency alone, tramp3d-v4 0.67, hexxagon and toast
0.75, miniGMG 0.90 (least of three runs in turn).

| \`--size-time\` | lua | expat | sum of ten |
| ---: | ---: | ---: | ---: |
| 1 (default) | 1.0062 | 1.0085 | 1.0074 |
| 2 | 1.0120 | 1.0163 | 1.0139 |
| 4 | 1.0232 | 1.0233 | 1.0219 |

Thirty-one programs of the LLVM test suite beside \`clang -Oz -flto\` of clang 22 at the same level (\`npm run bench -- --suite DIR --level Oz\`): .text
0.835, loaded bytes 0.806, executed instructions 1.021. Most instructions more: lambda 1.23, tsp 1.16, rsbench 1.14, siod 1.12, cfrac and
minisat 1.09, sphereflake 1.08, huffbench 1.08; sgefa 0.88 (1.12 before pointers beside counters were indexed). Processor time, the least of ten
runs each, five in turn at two times, on a busy machine: 1.080 (1.063 before, on a quieter one), most lambda 1.6 and siod 1.4 to 1.6, whose
time is calls through pointers; hexxagon 1.06 (1.48 before). The same binaries took 1.2 to 2 s of the same work (fhourstones, which waits for
memory), and code that is the same but starts elsewhere 1.0 or 1.25 (huffbench, a loop of five instructions across a line of the cache).
Clang 19 executes 1.7 times as many instructions in hexxagon as clang 22, and 1.3 times as many in tsp.

For speed, executed instructions beside \`clang -O2 -flto\` of clang 22: fifteen packages 0.977 (\`npm run bench -- --instructions
--columns ours,clang-lto\`), most lua 1.035, bzip2 1.024, byacc 1.023; fifteen programs of the LLVM test suite on which code for speed was not
tried before (\`npm run bench -- --suite DIR --level O2\`: oourafft, salsa20, ecbdes, beamformer, analyzer, fftbench, lpbench, health, pcompress2,
mason, bmm, huffbench, richards_benchmark, himenobmtxpa, mst) 1.002, most mst 1.117, salsa20 1.092, oourafft 1.085, huffbench 1.084; .text 0.942 of clang's, most himenobmtxpa and
salsa20 1.14, mason 1.09, loaded bytes 0.938 (before vector constants were shared and loops with many ways out stayed loops 0.997 and 0.987:
fftbench had 1.75, himenobmtxpa 1.49). The packages are from before that.

## What a link costs

Processor time and memory beside lld 22 (\`--thinlto-jobs=1\`) on \`clang -flto -Oz\`'s objects of the same sources, -j1, in turn on a quiet machine
with Node 20 (\`npm run bench:link -- bzip2 gzip mawk lua zstd sqlite3 --parts programs\`; least of three; zstd, SQLite and \`fast\` one run).
\`fast\` is \`--effort fast\`. Warm: the fourth to tenth of ten different programs through the service (\`--parts service\`, two runs).

| program | .text | time | memory | time, \`fast\` |
| --- | ---: | ---: | ---: | ---: |
| bzip2 | 30 kB | 2.56 | 1.19 | 2.30 |
| gzip | 27 kB | 3.16 | 1.20 | |
| mawk | 52 kB | 3.24 | 1.23 | |
| lua | 94 kB | 2.71 | 1.13 | 2.29 |
| zstd | 248 kB | 2.09 | 1.36 | 1.73 |
| sqlite3 | 566 kB | 1.72 | 1.46 | 1.40 |

Warm: zstd 1.32 and 1.42, SQLite 1.12 and 1.14, lz4 0.97 and 1.09, gzip, expat, grep and bc 1.16 to 1.33. With \`--cache-dir\`, where nothing has changed 0.06
(Lua) and 0.03 (zstd), where one file has 1.88 and 1.59; in a warm service 1.39 and 0.80, grep 1.13, gzip 0.99 (beside other work). Six copies
of Lua with names of their own in one program (\`--parts copies\`): 2.09 of the time, 1.60 of the memory.

A smaller program's link is over before the engine has optimised much of the code that it runs; a profile has no function above 4%.
Lua's link allocates 918 MB (V8's sampling, what was collected included), and collections take 9% of its time; growing arrays are 12% of
that, in many places (the largest 0.5%), taking packed functions apart 5%, and nothing else comes to 4%: less than 3% of the time is to be had by any of it.
\`bin/engine.cts\` has what settings were tried.

## What else is measured, and how

| command | what it prints |
| --- | --- |
| \`npm run bench -- --instructions\` | instructions that programs execute, beside \`clang -O2 -flto\` |
| \`npm run bench -- --suite DIR\` | programs of the LLVM test suite beside \`clang -flto\`: sizes, instructions, time |
| \`npm run bench:link\` | processor time and memory of links beside lld's, relinks, growth with the program |
| \`npm run bench:outline\` | what each outliner is worth |
| \`npm run bench:pipeline\` | bytes that each optional pass is worth |
| \`npm run bench:allocators\` | register allocators beside each other: bytes and processor time |
| \`npm run bench:regalloc\` | how their time grows with the size of a function |

Times depend on the machine, and are ratios of runs in turn.
`;
}
