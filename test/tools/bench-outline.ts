/**
 * `npm run bench:outline -- [package…] [--corpus DIR] [--level Oz]`: what each outliner is worth. Every program is linked
 * without outliners, with each of the two on the IR, with the one on machine code, and with them together; after all
 * passes on the program, as in every link.
 *
 * Counted is what is loaded of the assembled result: code, unwind and exception tables with the header that the linker
 * makes, read-only data, and their sum. Figures below 1 say that outlining made the program smaller. Sizes only: nothing
 * is run. The names of the ways are those of the comparison that River Riddle posted with LLVM's IR outliner in 2017.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { bitcodeFolders } from "./bench/bitcode-folders.js";
import { formatRatio, geometricMean, printTable } from "./bench/tables.js";
import { benchmarkObjects } from "./benchmark-objects.js";
import { assembledSizes } from "./elf-size.js";
import { parseCommandLine, splitWords } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { mapLimit, mustRun } from "./process.js";
import { cacheDir, projectRoot } from "./root.js";

const usage = `usage: npm run bench:outline -- [package… | all] [options]
  package         of ${packageNames()}
  --corpus DIR    instead of packages: programs as folders of bitcode, DIR/PROGRAM/LEVEL/*.o or DIR/PROGRAM/*.o
                  (with packages: those folders of DIR)
  --level L       level of optimization (default Oz)
  --ways S        ways to link, separated by commas (default all; the first is what others are compared with)
  --flags="…"     further options of tsc-lto
  --jobs N        links at the same time (default: one for each processor)`;

/** How a program is linked, and with which options. The last one has everything. */
const allWays: ReadonlyMap<string, string> = new Map([
  ["none", "--no-outline --no-ir-outline"],
  ["early", "--no-outline --ir-outline-early --no-ir-outline"],
  ["late", "--no-outline"],
  ["machine", "--no-ir-outline"],
  ["late+machine", ""],
  ["early+late+machine", "--ir-outline-early"],
]);

interface Sizes {
  readonly text: number;
  readonly unwind: number;
  readonly rodata: number;
  readonly sum: number;
}
interface Program {
  readonly name: string;
  readonly objects: readonly string[];
  /** Folder for what is made of them. */
  readonly dir: string;
}

const { values, words, ltoFlags } = parseCommandLine(
  {
    level: { type: "string", default: "Oz" },
    corpus: { type: "string" },
    ways: { type: "string", default: [...allWays.keys()].join(",") },
  },
  usage,
);
const level = String(values["level"]).replace(/^-/, "");
const ways = String(values["ways"]).split(",");
for (const way of ways)
  if (!allWays.has(way)) throw new Error(`${way}: not one of ${[...allWays.keys()].join(", ")}`);

async function programs(): Promise<Program[]> {
  const corpus = values["corpus"];
  if (corpus !== undefined)
    return bitcodeFolders(String(corpus), level, words).map(({ name, objects }) => {
      return { name, objects, dir: cacheDir("outline", name, level) };
    });
  const list: Program[] = [];
  for (const recipe of selectRecipes(words))
    list.push({ name: recipe.name, ...(await benchmarkObjects(recipe, level)) });
  return list;
}

/** @throws Error when the link or the assembler fails */
async function linked({ objects, dir }: Program, way: string): Promise<Sizes> {
  mkdirSync(dir, { recursive: true });
  const out = join(dir, `${way}.s`);
  const flags = [`-${level}`, ...ltoFlags, ...splitWords(allWays.get(way)!)];
  await mustRun([join(projectRoot(), "bin", "tsc-lto"), "-j1", ...objects, "-o", out, ...flags]);
  await mustRun(["as", "-o", `${out}.o`, out]);
  return assembledSizes(`${out}.o`);
}

const list = await programs();
const jobs = list.flatMap((program) => ways.map((way) => ({ program, way })));
const results = new Map<string, Sizes>();
await mapLimit(jobs, Number(values["jobs"]), async ({ program, way }) => {
  const sizes = await linked(program, way);
  results.set(`${program.name} ${way}`, sizes);
  // A run over many programs takes its time.
  console.error(`${program.name} ${way}: ${sizes.sum}`);
});
const cell = (name: string, way: string): Sizes => results.get(`${name} ${way}`)!;

const base = ways[0]!;
const columns: readonly (readonly [keyof Sizes, string])[] = [
  ["text", ".text"],
  ["unwind", "unwind tables"],
  ["rodata", ".rodata"],
  ["sum", "sum"],
];
const names = list.map(({ name }) => name);
console.log(`-${level}, ${names.length} programs: bytes, and the sum relative to ${base}`);
const rows = [["", "outliners", ...columns.map(([, title]) => title), "ratio"]];
for (const name of names)
  for (const way of ways) {
    const sizes = cell(name, way);
    const amounts = columns.map(([column]) => String(sizes[column]));
    rows.push([way === base ? name : "", way, ...amounts, (sizes.sum / cell(name, base).sum).toFixed(4)]);
  }
printTable(rows);

console.log(`\nrelative to ${base}: geometric mean | of the total`);
const ratios = [["", ...columns.map(([, title]) => title), "programs larger in the sum"]];
for (const way of ways.slice(1)) {
  const cells = columns.map(([column]) => {
    const mean = geometricMean(names.map((n) => cell(n, way)[column] / cell(n, base)[column]));
    const total = (w: string): number => names.reduce((sum, n) => sum + cell(n, w)[column], 0);
    return `${formatRatio(mean)} | ${formatRatio(total(way) / total(base))}`;
  });
  ratios.push([way, ...cells, largerThan(way, base)]);
}
printTable(ratios);
if (ways.includes("machine")) {
  console.log("\nlarger in the sum than with the machine outliner alone");
  for (const way of ways.filter((w) => w.endsWith("+machine")))
    console.log(`  ${way}: ${largerThan(way, "machine")}`);
}

/** Programs that a way makes larger than another one does, with the bytes. */
function largerThan(way: string, other: string): string {
  const more = names
    .map((n) => [n, cell(n, way).sum - cell(n, other).sum] as const)
    .filter(([, difference]) => difference > 0);
  return more.length === 0 ? "none" : more.map(([n, difference]) => `${n} +${difference}`).join(" ");
}
