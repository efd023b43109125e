/**
 * `npm run bench [-- package…]`: code size and link cost beside the peers.
 *
 * Size is .text of the linked program (with any other section of code), everything at -Oz. Cost is CPU time (user + system, worker threads included)
 * and peak memory of the whole-program step on the same sources: tsc-lto from objects to assembly, beside ld.lld with
 * LTO from bitcode to executable. All numbers come from one run on one machine, one job at a time; ratios are to
 * plain clang -Oz for size and to clang -Oz -flto for cost, and the last line is their geometric means.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { programSizes } from "./elf-size.js";
import { parseCommandLine } from "./options.js";
import { selectRecipes } from "./packages/registry.js";
import type { Prepared } from "./prepared.js";
import { buildProgram, prepare } from "./prepared.js";
import { cacheDir, findProgram } from "./root.js";
import type { BuildResult, Toolchain } from "./toolchain.js";
import { clangOption, ours, systemCompiler, toolchain } from "./toolchain.js";

const usage = `usage: npm run bench -- [package…] [options]
  --functions    instead: functions by how much larger they are than clang -Oz makes them
  --against NAME with --functions: the other side (default clang; clang-lto, gcc, …)
  --top N        with --functions: lines to show (default 40)
  --level L      level for all (default Oz)
  --repeat N     measure each link N times, take the least CPU time (default 3)
  --variants S   tsc-lto option sets to compare, separated by commas (default: none), as "--no-ipra,--regalloc=ssa"
  --columns S    toolchains to show (default clang,clang-lto,clang-lto-ipra,gcc,gcc-lto,ours)
  --pie          position-independent executables (default: -no-pie)
  --out FILE     all numbers as JSON`;

interface Measurement {
  readonly text: number;
  readonly rodata: number;
  readonly cpuSeconds: number;
  readonly peakKiB: number;
  readonly failed: string | undefined;
}

const { values, words } = parseCommandLine(
  {
    functions: { type: "boolean", default: false },
    against: { type: "string", default: "clang" },
    top: { type: "string", default: "40" },
    level: { type: "string", default: "Oz" },
    repeat: { type: "string", default: "3" },
    variants: { type: "string", default: "" },
    columns: { type: "string", default: "clang,clang-lto,clang-lto-ipra,gcc,gcc-lto,ours" },
    pie: { type: "boolean", default: false },
  },
  usage,
);
const level = String(values["level"]);
const pie = Boolean(values["pie"]);
const repeat = Number(values["repeat"]);
const jobs = Number(values["jobs"]);

function columns(): Toolchain[] {
  const variants = String(values["variants"]).split(",").filter(Boolean);
  return [
    ...String(values["columns"])
      .split(",")
      .filter((n) => !n.startsWith("gcc") || findProgram("gcc"))
      .map(toolchain),
    ...variants.map((v) => ours(v.split(" "), clangOption())),
  ];
}

/** gcc has no -Oz before version 12's alias; -Os is its level for size. */
function levelOf(tool: Toolchain): string {
  return tool.name.startsWith("gcc") && level === "Oz" ? "Os" : level;
}

async function build(p: Prepared, tool: Toolchain): Promise<{ exe: string; result: BuildResult }> {
  const dir = cacheDir("bench", p.recipe.name, tool.name.replace(/\W+/g, "_"));
  const program = p.recipe.main;
  let best: BuildResult | undefined;
  for (let i = 0; i < repeat; i++) {
    const result = await buildProgram(p, program, tool, levelOf(tool), dir, { jobs, pie, measure: true });
    if (result.failed !== undefined) return { exe: join(dir, program), result };
    if (best === undefined || result.cpuSeconds < best.cpuSeconds) best = result;
    if (tool.name === "clang" || tool.name === "gcc") break; // their link step is not whole-program
  }
  return { exe: join(dir, program), result: best! };
}

async function measure(p: Prepared, tool: Toolchain): Promise<Measurement> {
  const { exe, result } = await build(p, tool);
  if (result.failed !== undefined) {
    const none = Number.NaN;
    const failed = `${result.failed}: ${result.message.split("\n")[0]}`;
    return { text: none, rodata: none, cpuSeconds: none, peakKiB: none, failed };
  }
  const { sections, code } = programSizes(exe);
  const size = (name: string) => sections.get(name) ?? 0;
  const { cpuSeconds, peakKiB } = result;
  return { text: code, rodata: size(".rodata"), cpuSeconds, peakKiB, failed: undefined };
}

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((r) => (r[c] ?? "").length)));
  for (const r of rows) {
    console.log(
      r.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!))).join("  "),
    );
  }
}

function geometricMean(list: readonly number[]): number {
  const good = list.filter((x) => Number.isFinite(x) && x > 0);
  return good.length === 0 ? Number.NaN : Math.exp(good.reduce((s, x) => s + Math.log(x), 0) / good.length);
}

const ratio = (x: number) => (Number.isFinite(x) ? x.toFixed(3) : "-");

/** A table of one quantity: absolute values, and ratios to the column called `base`, with their geometric mean. */
function report(
  title: string,
  packages: readonly string[],
  names: readonly string[],
  cells: ReadonlyMap<string, Measurement>,
  of: (m: Measurement) => number,
  base: string,
  format: (x: number) => string,
): void {
  const value = (p: string, n: string) => of(cells.get(`${p} ${n}`)!);
  console.log(`\n${title}; in parentheses: ratio to ${base}`);
  const rows = [["", ...names]];
  for (const p of packages) {
    const shown = names.map((n) =>
      Number.isFinite(value(p, n)) ? `${format(value(p, n))} (${ratio(value(p, n) / value(p, base))})` : "-",
    );
    rows.push([p, ...shown]);
  }
  rows.push([
    "geometric mean",
    ...names.map((n) => ratio(geometricMean(packages.map((p) => value(p, n) / value(p, base))))),
  ]);
  printTable(rows);
}

async function compareAll(): Promise<void> {
  const recipes = selectRecipes(words);
  const tools = columns();
  const cells = new Map<string, Measurement>();
  for (const recipe of recipes) {
    const p = await prepare(recipe);
    for (const tool of tools) {
      const m = await measure(p, tool);
      if (m.failed !== undefined) console.error(`${recipe.name}: ${tool.name} failed: ${m.failed}`);
      cells.set(`${recipe.name} ${tool.name}`, m);
    }
  }
  const packages = recipes.map((r) => r.name);
  const names = tools.map((t) => t.name);
  const base = names.includes("clang") ? "clang" : names[0]!;
  console.log(`-${level}, ${pie ? "PIE" : "-no-pie"}, ${systemCompiler()}`);
  report(
    ".text, bytes",
    packages,
    names,
    cells,
    (m) => m.text,
    base,
    (x) => String(x),
  );
  report(
    ".text + .rodata, bytes",
    packages,
    names,
    cells,
    (m) => m.text + m.rodata,
    base,
    (x) => String(x),
  );
  const whole = names.filter((n) => n !== "clang" && n !== "gcc");
  const peer = whole.includes("clang-lto") ? "clang-lto" : whole[0];
  if (peer !== undefined) {
    report(
      "whole-program step, CPU seconds",
      packages,
      whole,
      cells,
      (m) => m.cpuSeconds,
      peer,
      (x) => x.toFixed(2),
    );
    report(
      "whole-program step, peak MiB",
      packages,
      whole,
      cells,
      (m) => m.peakKiB / 1024,
      peer,
      (x) => x.toFixed(0),
    );
  }
  if (values["out"] !== undefined) writeFileSync(String(values["out"]), JSON.stringify([...cells], null, 1));
}

/**
 * One program's functions, ours beside the other side's. Functions that only one side has (inlined, dropped, split)
 * are summed in a line of their own, so that inlining does not pass for a loss or a gain.
 */
async function compareFunctions(): Promise<void> {
  const other = toolchain(String(values["against"]));
  const mine = toolchain(String(values["tool"]));
  for (const recipe of selectRecipes(words)) {
    const p = await prepare(recipe);
    const [a, b] = [await build(p, mine), await build(p, other)];
    for (const [tool, r] of [
      [mine, a],
      [other, b],
    ] as const) {
      if (r.result.failed !== undefined)
        throw new Error(`${tool.name}: ${r.result.failed}: ${r.result.message}`);
    }
    const [left, right] = [programSizes(a.exe), programSizes(b.exe)];
    const rows: [string, number, number][] = [];
    let [onlyLeft, onlyRight, common] = [0, 0, 0];
    for (const [name, size] of left.functions) {
      const theirs = right.functions.get(name);
      if (theirs === undefined) onlyLeft += size;
      else {
        rows.push([name, size, theirs]);
        common += size - theirs;
      }
    }
    for (const [name, size] of right.functions) if (!left.functions.has(name)) onlyRight += size;
    rows.sort((x, y) => y[1] - y[2] - (x[1] - x[2]) || (x[0] < y[0] ? -1 : 1));
    const [t1, t2] = [left.code, right.code];
    console.log(
      `\n${recipe.name}: .text ${t1} (${mine.name}) against ${t2} (${other.name}), ratio ${ratio(t1 / t2)}`,
    );
    const shown = rows
      .slice(0, Number(values["top"]))
      .map(([n, x, y]) => [n, String(x), String(y), `+${x - y}`, ratio(x / y)]);
    printTable([
      ["function", mine.name, other.name, "difference", "ratio"],
      ...shown.map((r) => r.map((c) => c.replace("+-", "-"))),
    ]);
    console.log(`${rows.length} functions on both sides: ${common >= 0 ? "+" : ""}${common} bytes`);
    console.log(
      `only ${mine.name}: ${onlyLeft} bytes; only ${other.name}: ${onlyRight} bytes (inlined or dropped)`,
    );
  }
}

await (values["functions"] ? compareFunctions() : compareAll());
