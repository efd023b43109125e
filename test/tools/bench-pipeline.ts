/**
 * `npm run bench:pipeline -- [package…] [--corpus DIR]`: what each optional pass is worth, and a search for a better
 * order.
 *
 * Every program is linked with the whole pipeline, without any optional pass on the program, without those of code
 * generation on the IR and bounds of variable arguments either, and with each optional pass left out in turn; what is in the
 * file of the assembled result (code, unwind and exception tables with the header that the linker makes, data) is
 * compared with the whole pipeline's. A figure above 1 says that programs are so much larger without the pass. `--search N` looks for another order of the passes after the inliner (bench/pass-order.ts)
 * with at most N links, and compares what it finds on the programs of `--check`. Sizes only: nothing is run. Outliners
 * are off unless asked for: they find again what passes leave.
 *
 * Links are made in threads that stay, which is several times faster than a process for each.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { bitcodeFolders } from "./bench/bitcode-folders.js";
import { type Order, searchOrder } from "./bench/pass-order.js";
import { Random } from "./bench/random.js";
import { geometricMean } from "./bench/tables.js";
import { benchmarkObjects } from "./benchmark-objects.js";
import { assembledSizes } from "./elf-size.js";
import { threadPool } from "./in-process.js";
import { parseCommandLine, splitWords } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { type OptionalPasses, optionalPasses } from "./pipelines.js";
import { mapLimit, mustRun } from "./process.js";
import { cacheDir } from "./root.js";

const usage = `usage: npm run bench:pipeline -- [package… | all] [options]
  package         of ${packageNames()}
  --corpus DIR    instead of packages: programs as folders of bitcode, DIR/PROGRAM/LEVEL/*.o or DIR/PROGRAM/*.o
                  (with packages: those folders of DIR)
  --levels L      levels of optimization, separated by commas (default Oz)
  --without S     passes to leave out, separated by commas: in turn only these (none: only all of them together)
  --search N      look for an order of the passes behind the inliner, with at most N links
  --seed S        of the search (default 1)
  --check S       programs that what the search finds is compared on, separated by commas
  --order S       compare this order of the passes behind the inliner, separated by commas
  --outline       with the outliners
  --flags="…"     further options of tsc-lto
  --jobs N        links at the same time (default: one for each processor)`;

interface Program {
  readonly name: string;
  readonly objects: readonly string[];
  /** Folder for what is made of them. */
  readonly dir: string;
}
interface Sizes {
  readonly text: number;
  readonly sum: number;
}

const { values, words, levels, ltoFlags } = parseCommandLine(
  {
    levels: { type: "string", default: "Oz" },
    corpus: { type: "string" },
    without: { type: "string" },
    search: { type: "string" },
    seed: { type: "string", default: "1" },
    check: { type: "string", default: "" },
    order: { type: "string" },
    outline: { type: "boolean", default: false },
  },
  usage,
);
const jobs = Number(values["jobs"]);
const pool = threadPool(jobs);
const common = [...(values["outline"] === true ? [] : ["--no-outline", "--no-ir-outline"]), ...ltoFlags];

async function programsAt(level: string, names: readonly string[]): Promise<Program[]> {
  const corpus = values["corpus"];
  if (corpus !== undefined)
    return bitcodeFolders(String(corpus), level, names).map(({ name, objects }) => {
      return { name, objects, dir: cacheDir("pipeline", name, level) };
    });
  const list: Program[] = [];
  for (const recipe of selectRecipes([...names]))
    list.push({ name: recipe.name, ...(await benchmarkObjects(recipe, level)) });
  return list;
}

let links = 0;
async function linked(
  { name, objects, dir }: Program,
  level: string,
  flags: readonly string[],
): Promise<Sizes> {
  const out = join(dir, `pipeline-${process.pid}-${links++}.s`);
  const args = ["-j1", `-${level}`, ...common, ...flags, ...objects, "-o", out];
  const { status, stderr } = await pool.execute(["tsc-lto", ...args], { cwd: dir });
  if (status !== 0) throw new Error(`${name} ${flags.join(" ")}: ${stderr}`);
  await mustRun(["as", "-o", `${out}.o`, out]);
  const { text, sum, data } = assembledSizes(`${out}.o`);
  for (const file of [out, `${out}.o`]) rmSync(file);
  // Tables that nobody writes become read-only: with the data they were in, that is no difference.
  return { text, sum: sum + data };
}

/** A way to link beside the usual one. */
interface Way {
  readonly title: string;
  readonly flags: readonly string[];
}

/** Prints a line for each way: sizes relative to those without its flags. */
async function compare(programs: readonly Program[], level: string, ways: readonly Way[]): Promise<void> {
  const all = [{ title: "", flags: [] }, ...ways];
  const pairs = programs.flatMap((program) => all.map((way) => ({ program, way })));
  const found = new Map<string, Sizes>();
  const key = (program: Program, way: Way): string => `${program.name} ${way.title}`;
  await mapLimit(pairs, jobs, async ({ program, way }) => {
    const sizes = await linked(program, level, way.flags);
    found.set(key(program, way), sizes);
    // A run over many programs takes its time.
    console.error(`${program.name} ${way.title}: .text ${sizes.text}, sum ${sizes.sum}`);
  });
  const ratio = (program: Program, way: Way, of: keyof Sizes): number =>
    found.get(key(program, way))![of] / found.get(key(program, all[0]!))![of];
  console.log(`-${level}: size relative to the whole pipeline's, ${programs.length} programs`);
  console.log("| | .text | all that is loaded | least | most |\n| --- | --- | --- | --- | --- |");
  for (const way of ways) {
    const order = programs
      .map((program) => ({ name: program.name, by: ratio(program, way, "sum") }))
      .sort((a, b) => a.by - b.by);
    const show = ({ name, by }: { name: string; by: number }): string => `${name} ${by.toFixed(4)}`;
    const mean = (of: keyof Sizes): string =>
      geometricMean(programs.map((p) => ratio(p, way, of))).toFixed(4);
    const range = `${show(order[0]!)} | ${show(order[order.length - 1]!)}`;
    console.log(`| ${way.title} | ${mean("text")} | ${mean("sum")} | ${range} |`);
  }
}

/** The ways to leave passes out. */
function withoutPasses({ program, lowering }: OptionalPasses): Way[] {
  const passes = program.filter((name) => values["outline"] === true || name !== "ir-outline");
  const skipped = (names: readonly string[]): string => `--skip-pass=${names.join(",")}`;
  const none: Way[] = [
    { title: "none of them on the program", flags: [skipped(passes)] },
    { title: "none at all", flags: [skipped([...passes, ...lowering]), "--no-bound-variable-arguments"] },
  ];
  const chosen = values["without"] === undefined ? null : String(values["without"]).split(",");
  const each = [...passes, ...lowering].filter((name) => chosen === null || chosen.includes(name));
  return [...none, ...each.map((name) => ({ title: `without ${name}`, flags: [skipped([name])] }))];
}

async function search(programs: readonly Program[], level: string, usual: Order): Promise<void> {
  const seed = Number(values["seed"]);
  const start = values["order"] === undefined ? usual : String(values["order"]).split(",");
  console.log(`-${level}, seed ${seed}, from ${start.join(",")}`);
  const { order, ratio } = await searchOrder({
    start,
    passes: [...new Set(usual)],
    programs: programs.map(({ name }) => name),
    budget: Number(values["search"]),
    random: new Random(seed),
    size: async (name, tried) => {
      const program = programs.find((p) => p.name === name)!;
      return (await linked(program, level, [`--pass-order=${tried.join(",")}`])).sum;
    },
    log: (line) => console.log(line),
  });
  console.log(`${ratio.toFixed(5)}: ${order.join(",")}`);
  const names = splitWords(String(values["check"]).replaceAll(",", " "));
  if (names.length === 0) return;
  const way = { title: "found", flags: [`--pass-order=${order.join(",")}`] };
  await compare(await programsAt(level, names), level, [way]);
}

for (const level of levels) {
  const passes = await optionalPasses(level);
  const programs = await programsAt(level, words);
  if (values["search"] !== undefined) await search(programs, level, passes.order);
  else if (values["order"] !== undefined) {
    const order = String(values["order"]);
    await compare(programs, level, [{ title: order, flags: [`--pass-order=${order}`] }]);
  } else await compare(programs, level, withoutPasses(passes));
}
await pool.close();
