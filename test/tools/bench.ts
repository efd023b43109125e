/**
 * `npm run bench [-- package…]`: code size, interprocedural register allocation and link cost beside the peers.
 *
 * Size is .text of the linked program (with any other section of code), everything at -Oz. Cost is CPU time (user +
 * system, worker threads included) and peak memory of the whole-program step on the same sources: tsc-lto from
 * objects to assembly, beside ld.lld with LTO from bitcode to executable. All numbers come from one run on one
 * machine, one measured step at a time; tables show ratios, and their geometric means at the foot.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { compareFunctions } from "./bench/functions.js";
import { countInstructions } from "./bench/instructions.js";
import type { Measurement } from "./bench/measure.js";
import { available, build, inThreads, measure } from "./bench/measure.js";
import { compareSuite } from "./bench/suite.js";
import { compareIpra } from "./bench/suite-ipra.js";
import type { RatioColumn } from "./bench/tables.js";
import { printRatios } from "./bench/tables.js";
import { threadPool } from "./in-process.js";
import { parseCommandLine, splitWords } from "./options.js";
import { selectRecipes } from "./packages/registry.js";
import { prepare } from "./prepared.js";
import { findProgram } from "./root.js";
import type { Toolchain } from "./toolchain.js";
import { clangOption, ours, systemCompiler, toolchain } from "./toolchain.js";

const sizeColumns =
  "clang,ours-per-file,ours-no-ipra,ours,clang-lto,clang-lto-ipra,gcc,gcc-lto-no-ipra,gcc-lto";

const usage = `usage: npm run bench -- [package… | all] [options]
  package         as npm run upstream -- --help lists them; default: lua bzip2 zlib sqlite3
  --functions     instead: functions by how much larger they are than clang -Oz makes them
  --against NAME  with --functions: the other side (default clang; clang-lto, gcc, …)
  --top N         with --functions: lines to show (default 40)
  --instructions  instead: instructions executed by each package's workload (needs valgrind); default: packages
                  whose workload computes. CLANG=NAME chooses the clang of all columns
  --suite DIR     instead: programs of a checkout of the LLVM test suite beside clang -flto: sizes, instructions that they
                  execute (needs valgrind), time. Words are programs, 'others' (default: ten that nobody works on),
                  'worked' (ten that optimisations are tried on), or all
  --sizes         with --suite: sizes alone
  --ipra          with --suite: what interprocedural register allocation costs and brings, of ours, LLVM's and GCC's;
                  default programs: SPASS make_dparser oggenc sphereflake. --out FILE puts it beside other levels' figures
  --level L       level for all (default Oz; O2 with --instructions)
  --repeat N      measure each link N times, take the least CPU time (default 3)
  --columns S     toolchains, separated by commas (default ${sizeColumns})
  --variants=S    more columns: option sets of tsc-lto, separated by commas, as --variants=--no-ipra,--regalloc=ssa
  --cflags="…"    more options for all compilations
  --pie           position-independent executables (default: -no-pie)
  -j, --jobs N    compilations at a time; links are measured one at a time
  --out FILE      all numbers as JSON, written after each package
  --resume        take what FILE has already from there`;

const { values, words } = parseCommandLine(
  {
    functions: { type: "boolean", default: false },
    instructions: { type: "boolean", default: false },
    suite: { type: "string" },
    sizes: { type: "boolean", default: false },
    ipra: { type: "boolean", default: false },
    against: { type: "string", default: "clang" },
    top: { type: "string", default: "40" },
    level: { type: "string" },
    repeat: { type: "string", default: "3" },
    variants: { type: "string", default: "" },
    columns: { type: "string", default: sizeColumns },
    cflags: { type: "string", default: "" },
    pie: { type: "boolean", default: false },
  },
  usage,
);
const counting = Boolean(values["instructions"]);
const level = String(values["level"] ?? (counting ? "O2" : "Oz")).replace(/^-/, "");
const options = {
  level,
  pie: Boolean(values["pie"]),
  jobs: Number(values["jobs"]),
  compilerFlags: splitWords(String(values["cflags"])),
};
/** Packages with a workload that computes. */
const computing = "lua bzip2 zlib sqlite3 gzip lz4 expat mawk libpng zstd xz dash bc mujs byacc".split(" ");
const suite = values["suite"];
const recipes = suite !== undefined ? [] : selectRecipes(words.length === 0 && counting ? computing : words);
const pool = threadPool(options.jobs);

/** The columns that this machine has the compilers for. */
function columns(): Toolchain[] {
  const variants = String(values["variants"]).split(",").filter(Boolean);
  return [
    ...String(values["columns"])
      .split(",")
      .map(available)
      .filter((t) => t !== undefined),
    ...variants.map((v) => ours(v.split(" "), clangOption())),
  ].map((t) => inThreads(t, pool));
}

/** What is divided by what to see the effect of interprocedural register allocation. */
const ipraPairs = [
  ["tsc-lto", "ours", "ours-no-ipra"],
  ["LLVM", "clang-lto-ipra", "clang-lto"],
  ["GCC", "gcc-lto", "gcc-lto-no-ipra"],
] as const;

type Cell = (name: string, column: string) => number;

function ipraColumns(cell: Cell): RatioColumn[] {
  return ipraPairs.map(([title, above, below]) => ({
    title,
    above: (n) => cell(n, above),
    below: (n) => cell(n, below),
  }));
}

/** Prints ratios of every column to `base`, with the base's amounts. */
function againstBase(
  title: string,
  names: readonly string[],
  titles: readonly string[],
  base: string,
  cell: Cell,
  format: (x: number) => string,
): void {
  const columns = titles
    .filter((t) => t !== base)
    .map((t) => ({ title: t, above: (n: string) => cell(n, t), below: (n: string) => cell(n, base) }));
  const amounts = [base, ...(titles.includes("ours") && base !== "ours" ? ["ours"] : [])];
  printRatios(
    `${title}, ratio to ${base}`,
    names,
    columns,
    amounts.map((a) => ({ title: `(${a})`, of: (n) => format(cell(n, a)) })),
  );
}

/** The numbers of an interrupted run, by package and column. */
function earlierNumbers<T>(): Map<string, T> {
  const file = values["out"];
  if (!values["resume"] || file === undefined || !existsSync(String(file))) return new Map();
  const entries = JSON.parse(readFileSync(String(file), "utf8")) as [string, T & { failed?: string }][];
  return new Map(entries.filter(([, value]) => value !== null && value.failed === undefined));
}

function saveNumbers(cells: ReadonlyMap<string, unknown>): void {
  if (values["out"] !== undefined) writeFileSync(String(values["out"]), JSON.stringify([...cells], null, 1));
}

async function compareAll(): Promise<void> {
  const tools = columns();
  const repeat = Number(values["repeat"]);
  const cells = earlierNumbers<Measurement>();
  for (const recipe of recipes) {
    const p = await prepare(recipe);
    for (const tool of tools) {
      if (cells.has(`${recipe.name} ${tool.name}`)) continue;
      const timed = tool.name === "ours" || tool.name === "clang-lto" || tool.name.startsWith("ours -");
      const m = await measure(p, tool, options, timed ? repeat : 0);
      if (m.failed !== undefined) console.error(`${recipe.name}: ${tool.name} failed: ${m.failed}`);
      cells.set(`${recipe.name} ${tool.name}`, m);
    }
    saveNumbers(cells);
  }
  const names = recipes.map((r) => r.name);
  const titles = tools.map((t) => t.name);
  const base = titles.includes("clang") ? "clang" : titles[0]!;
  const peer = titles.includes("clang-lto") ? "clang-lto" : "ours";
  const value = (of: (m: Measurement) => number) => (n: string, column: string) => {
    const m = cells.get(`${n} ${column}`);
    return m === undefined ? Number.NaN : (of(m) ?? Number.NaN); // JSON has null for NaN
  };
  const text = value((m) => m.text);
  const more = options.compilerFlags.map((flag) => ` ${flag}`).join("");
  console.log(`-${level}${more}, ${options.pie ? "PIE" : "-no-pie"}, ${systemCompiler()}; gcc -Os for -Oz`);
  againstBase(".text", names, titles, base, text, String);
  const unwind = value((m) => m.unwind);
  againstBase(
    "unwind tables (.eh_frame, .eh_frame_hdr, .gcc_except_table)",
    names,
    titles,
    base,
    unwind,
    String,
  );
  againstBase(
    ".rodata",
    names,
    titles,
    base,
    value((m) => m.rodata),
    String,
  );
  const sum = value((m) => m.text + m.unwind + m.rodata);
  againstBase(".text + unwind tables + .rodata", names, titles, base, sum, String);
  printRatios(".text with interprocedural register allocation, ratio to without", names, ipraColumns(text));
  const timed = titles.filter((t) => t === "ours" || t === "clang-lto" || t.startsWith("ours -"));
  const seconds = value((m) => m.cpuSeconds);
  againstBase("whole-program step, CPU seconds", names, timed, peer, seconds, (x) => x.toFixed(2));
  const memory = value((m) => m.peakKiB / 1024);
  againstBase("whole-program step, peak MiB", names, timed, peer, memory, (x) => x.toFixed(0));
}

async function compareInstructions(): Promise<void> {
  if (findProgram("valgrind") === undefined) throw new Error("--instructions needs valgrind");
  const tools = columns().filter((t) => !/^(clang|gcc|ours-per-file)$/.test(t.name));
  const cells = earlierNumbers<number | null>();
  for (const recipe of recipes) {
    const p = await prepare(recipe);
    for (const tool of tools) {
      if (cells.has(`${recipe.name} ${tool.name}`)) continue;
      const { exe, result } = await build(p, tool, options);
      const failed = result.failed !== undefined;
      if (failed) console.error(`${recipe.name}: ${tool.name} failed: ${result.failed}: ${result.message}`);
      cells.set(`${recipe.name} ${tool.name}`, failed ? null : await countInstructions(p, exe));
    }
    saveNumbers(cells);
  }
  const names = recipes.map((r) => r.name);
  const titles = tools.map((t) => t.name);
  const cell: Cell = (n, column) => cells.get(`${n} ${column}`) ?? Number.NaN;
  const base = titles.includes("clang-lto") ? "clang-lto" : titles[0]!;
  console.log(`instructions executed in the program's own code, -${level}`);
  againstBase("instructions", names, titles, base, cell, (x) => `${(x / 1e6).toFixed(1)}M`);
  printRatios("with interprocedural register allocation, ratio to without", names, ipraColumns(cell));
}

if (suite !== undefined && values["ipra"] === true)
  await compareIpra(String(suite), words, { ...options, repeat: Number(values["repeat"]) }, values["out"]);
else if (suite !== undefined) {
  const sizes = Boolean(values["sizes"]);
  const more = {
    suite: String(suite),
    count: !sizes && findProgram("valgrind") !== undefined,
    repeat: sizes ? 0 : Number(values["repeat"]),
    variants: String(values["variants"]).split(",").filter(Boolean),
    out: values["out"] === undefined ? undefined : String(values["out"]),
    resume: Boolean(values["resume"]),
  };
  await compareSuite(words, { ...options, ...more }, pool);
} else if (counting) await compareInstructions();
else if (values["functions"]) {
  const mine = toolchain(String(values["tool"]));
  const other = toolchain(String(values["against"]));
  await compareFunctions(recipes, mine, other, Number(values["top"]), options);
} else await compareAll();
await pool.close();
if (words.length === 0 && suite === undefined) console.log("\nAll packages: npm run bench -- all");
