/**
 * `npm run bench:pipeline -- [package…] [--levels Oz]`: what each optional pass is worth. Every benchmark program is
 * linked with the whole pipeline, without any optional pass on the program, and with each of these left out in turn;
 * what is loaded of the assembled result (code, unwind and exception tables, read-only data) is compared with the
 * whole pipeline's.
 *
 * A figure above 1 says that programs are so much larger without the pass. Sizes only: nothing is run.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { benchmarkObjects } from "./benchmark-objects.js";
import { loadedSizes, programSizes } from "./elf-size.js";
import { parseCommandLine, splitWords } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { mapLimit, mustRun } from "./process.js";
import { projectRoot } from "./root.js";

const usage = `usage: npm run bench:pipeline -- [package… | all] [options]
  package         of ${packageNames()}
  --levels L      levels of optimization, separated by commas (default Oz)
  --flags="…"     further options of tsc-lto
  --jobs N        links at the same time (default: one for each processor)`;

/** The shape of lto/pass/pipelines.ts that is read here. */
interface Pipelines {
  readonly pipelines: Record<
    string,
    { program: { steps: { pass: { name: string }; isRequired: boolean }[] }[] } | undefined
  >;
}

/** Bytes that are loaded of an assembled program, without its writable data. */
interface Loaded {
  readonly text: number;
  readonly sum: number;
}

const { values, words, levels, ltoFlags } = parseCommandLine(
  { levels: { type: "string", default: "Oz" } },
  usage,
);
const built = pathToFileURL(join(projectRoot(), "dist", "lto", "pass", "pipelines.js"));
const { pipelines } = (await import(built.href)) as Pipelines;

async function linked(objects: readonly string[], out: string, flags: readonly string[]): Promise<Loaded> {
  await mustRun([join(projectRoot(), "bin", "tsc-lto"), "-j1", ...objects, "-o", out, ...flags]);
  await mustRun(["as", "-o", `${out}.o`, out]);
  const { text, unwind, rodata } = loadedSizes(programSizes(`${out}.o`));
  return { text, sum: text + unwind + rodata };
}

const mean = (of: readonly number[]): number =>
  Math.exp(of.reduce((sum, x) => sum + Math.log(x), 0) / of.length);

for (const level of levels) {
  const stages = pipelines[level]?.program;
  if (stages === undefined) throw new Error(`no pipeline ${level}`);
  const optional = stages.flatMap(({ steps }) => steps.filter((s) => !s.isRequired).map((s) => s.pass.name));
  const passes = [...new Set(optional)];
  const ways: readonly (readonly [string, string])[] = [
    ["none of them", `--skip-pass=${passes.join(",")}`],
    ...passes.map((name) => [`without ${name}`, `--skip-pass=${name}`] as const),
  ];
  const programs = await mapLimit(selectRecipes(words), Number(values["jobs"]), async (recipe) => {
    const { objects, dir } = await benchmarkObjects(recipe, level);
    const flags = [`-${level}`, ...ltoFlags];
    const out = join(dir, "pipeline.s");
    const whole = await linked(objects, out, flags);
    const results: Loaded[] = [];
    for (const [, skip] of ways) results.push(await linked(objects, out, [...flags, ...splitWords(skip)]));
    return { name: recipe.name, whole, results };
  });
  console.log(`-${level}: size relative to the whole pipeline's, ${programs.length} programs`);
  console.log("| | .text | all that is loaded | least | most |\n| --- | --- | --- | --- | --- |");
  ways.forEach(([name], way) => {
    const sums = programs.map(({ whole, results }) => ({ by: results[way]!.sum / whole.sum }));
    const text = mean(programs.map(({ whole, results }) => results[way]!.text / whole.text));
    const order = programs.map((p, i) => ({ name: p.name, by: sums[i]!.by })).sort((a, b) => a.by - b.by);
    const show = ({ name, by }: { name: string; by: number }): string => `${name} ${by.toFixed(4)}`;
    const all = mean(sums.map((s) => s.by));
    console.log(
      `| ${name} | ${text.toFixed(4)} | ${all.toFixed(4)} | ${show(order[0]!)} | ${show(order[order.length - 1]!)} |`,
    );
  });
}
