/**
 * `npm run compare-checkouts -- OTHER [package…]`: links the benchmark programs with this checkout and with another
 * one (built: it must have `dist/`) from the same bitcode, and compares the assembly byte by byte, the bytes it
 * assembles to, and the CPU time and peak memory of both, alternating in one run.
 *
 * Status 0: no program differs in a way that makes it larger.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { benchmarkObjects } from "./benchmark-objects.js";
import { programSizes } from "./elf-size.js";
import { parseCommandLine, splitWords } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { run } from "./process.js";
import { projectRoot } from "./root.js";

const usage = `usage: npm run compare-checkouts -- OTHER [package… | all] [options]
  OTHER           folder of the other checkout, built
  package         of ${packageNames()}
  --levels L      levels of optimization, separated by commas (default Oz,O2)
  --settings S    option sets of tsc-lto, separated by commas (default "-j1,-j1 --no-ipra")
  --repeat N      links of each, alternating; the least CPU time counts (default 1)
  --objects       only compile, and print where the objects are`;

const { values, words, levels } = parseCommandLine(
  {
    levels: { type: "string", default: "Oz,O2" },
    settings: { type: "string", default: "-j1,-j1 --no-ipra" },
    repeat: { type: "string", default: "1" },
    objects: { type: "boolean", default: false },
  },
  usage,
);
const [other, ...names] = values["objects"] === true ? ["", ...words] : words;
if (other === undefined) {
  console.error(usage);
  process.exit(2);
}
const checkouts = [resolve(other), projectRoot()];
for (const dir of values["objects"] === true ? [] : checkouts)
  if (!existsSync(join(dir, "dist"))) {
    console.error(`${dir} is not built`);
    process.exit(2);
  }
const settings = String(values["settings"]).split(",");

interface Linked {
  readonly assembly: Buffer;
  readonly cpuSeconds: number;
  readonly peakKiB: number;
}

async function link(
  checkout: string,
  objects: readonly string[],
  out: string,
  flags: readonly string[],
): Promise<Linked> {
  const command = [join(checkout, "bin", "tsc-lto"), ...objects, "-o", out, ...flags];
  const result = await run(command, { measure: true });
  if (result.status !== 0) throw new Error(`${command[0]}: ${result.stderr.split("\n")[0]}`);
  return { assembly: readFileSync(out), cpuSeconds: result.cpuSeconds, peakKiB: result.peakKiB };
}

async function sizeOf(assembly: string): Promise<number> {
  const object = `${assembly}.o`;
  const result = await run(["as", "-o", object, assembly]);
  return result.status === 0 ? programSizes(object).code : Number.NaN;
}

/** The first line in which two texts differ. */
function firstDifference(a: Buffer, b: Buffer): string {
  const before = a.toString("latin1").split("\n");
  const after = b.toString("latin1").split("\n");
  const at = before.findIndex((line, i) => line !== after[i]);
  return `line ${at + 1}: ${before[at]} | ${after[at]}`;
}

let larger = 0;
const ratios: { cpu: number; memory: number }[] = [];
for (const recipe of selectRecipes(names)) {
  for (const level of levels) {
    const { objects, dir } = await benchmarkObjects(recipe, level);
    if (values["objects"] === true) {
      console.log(`${recipe.name} ${level} ${join(dir, "objects")}`);
      continue;
    }
    for (const setting of settings) {
      const runs: Linked[][] = [[], []];
      const files = checkouts.map((_, side) => join(dir, `${side}.s`));
      try {
        for (let i = 0; i < Number(values["repeat"]); i++)
          for (const side of [0, 1])
            runs[side]!.push(
              await link(checkouts[side]!, objects, files[side]!, [`-${level}`, ...splitWords(setting)]),
            );
      } catch (e) {
        console.log(`${recipe.name} ${level} ${setting}: ${(e as Error).message}`);
        larger++;
        continue;
      }
      const [before, after] = runs as [Linked[], Linked[]];
      const least = (of: readonly Linked[], key: "cpuSeconds" | "peakKiB"): number =>
        Math.min(...of.map((r) => r[key]));
      const cpu = least(after, "cpuSeconds") / least(before, "cpuSeconds");
      const memory = least(after, "peakKiB") / least(before, "peakKiB");
      ratios.push({ cpu, memory });
      let verdict = "same";
      if (!before[0]!.assembly.equals(after[0]!.assembly)) {
        const [was, is] = [await sizeOf(files[0]!), await sizeOf(files[1]!)];
        if (!(is <= was)) larger++;
        verdict = `DIFFERENT, code ${was} → ${is}; ${firstDifference(before[0]!.assembly, after[0]!.assembly)}`;
      }
      const figures = `cpu ${cpu.toFixed(2)} memory ${memory.toFixed(2)}`;
      console.log(`${recipe.name} ${level} ${setting}: ${figures} ${verdict}`);
    }
  }
}
const mean = (of: readonly number[]): string =>
  Math.exp(of.reduce((sum, x) => sum + Math.log(x), 0) / of.length).toFixed(3);
if (ratios.length > 0)
  console.log(
    `geometric means: cpu ${mean(ratios.map((r) => r.cpu))}, memory ${mean(ratios.map((r) => r.memory))}`,
  );
process.exitCode = larger > 0 ? 1 : 0;
