/**
 * `npm run foreign [-- machine…]`: programs whose code LLVM generates, after our passes and after clang's own link-time
 * optimisation, from the same bitcode and with the same options; sizes beside each other, and both run.
 */

import { printRatios, type RatioColumn } from "./bench/tables.js";
import {
  compile,
  installedVersions,
  type Linked,
  link,
  type Objects,
  transcript,
  verify,
} from "./foreign/build.js";
import { type Machine, machineNamed, machines, missing } from "./foreign/machines.js";
import { programNamed, programs } from "./foreign/programs.js";
import type { Sizes } from "./foreign/sizes.js";
import { parseCommandLine, splitWords } from "./options.js";
import { makeTally } from "./tally.js";

const usage = `usage: npm run foreign [-- machine…] [options]
  machine          ${machines.map(({ name }) => name).join(" ")} (default: all)
  --programs S     separated by commas (default: ${programs.map(({ recipe }) => recipe.name).join(",")})
  -Oz, -O2         levels (default: Oz)
  --ways S         options of tsc-lto for further columns, separated by |: --ways="|--skip-pass=gvn"
  --llvm S         options of LLVM's for both sides, separated by spaces: -enable-machine-outliner=never
  --no-run         only sizes
  --verify         what is written for each LLVM that is installed passes its verifier, and its assembler and back
  --limits         sizes fail where a mean is above ${0.95}, one program above 1, or a mean with unwind tables above ${0.97}
  -j, --jobs N     compilations at a time
CLANG=NAME chooses clang.`;

const { values, words, levels, ways } = parseCommandLine(
  {
    programs: { type: "string", default: "" },
    llvm: { type: "string", default: "" },
    levels: { type: "string", default: "Oz" },
    "no-run": { type: "boolean", default: false },
    verify: { type: "boolean", default: false },
    limits: { type: "boolean", default: false },
  },
  usage,
);
const llvm = splitWords(String(values["llvm"]));
const jobs = Number(values["jobs"]);
const { report, finish } = makeTally(values["verbose"] === true);

const chosenMachines = words.length === 0 ? machines : words.map(machineNamed);
const names = String(values["programs"]).split(",").filter(Boolean);
const chosenPrograms = names.length === 0 ? programs : names.map(programNamed);

/** Links in all ways; compares what programs do with clang's. */
async function compare(objects: Objects): Promise<(Sizes | null)[]> {
  const what = `${objects.machine.name} ${objects.program.recipe.name} -${objects.level}`;
  const reference = await link(objects, null, llvm);
  report(reference.sizes !== null, `${what} clang`, reference.error);
  const runs = values["no-run"] !== true;
  const expected = reference.sizes === null || !runs ? "" : await transcript(objects, reference.program);
  if (expected !== "" && !/\nstatus 0\n$/.test(expected))
    report(false, `${what} clang's program`, expected.slice(-300));
  const sizes: (Sizes | null)[] = [reference.sizes];
  for (const way of ways) {
    const made: Linked = await link(objects, way, llvm);
    report(made.sizes !== null, [what, ...way].join(" "), made.error);
    if (made.sizes !== null && expected !== "") {
      const found = await transcript(objects, made.program);
      report(
        found === expected,
        [what, ...way, "runs"].join(" "),
        found === expected ? "" : difference(expected, found),
      );
    }
    sizes.push(made.sizes);
  }
  if (values["verify"])
    for (const text of await verify(objects, installedVersions())) report(false, `${what} ${text}`);
  return sizes;
}

function difference(a: string, b: string): string {
  const [x, y] = [a.split("\n"), b.split("\n")];
  const i = x.findIndex((line, k) => line !== y[k]);
  return `line ${i + 1}: expected ${JSON.stringify(x[i]?.slice(0, 160))}, got ${JSON.stringify(y[i]?.slice(0, 160))}`;
}

function printTables(
  machine: Machine,
  level: string,
  table: ReadonlyMap<string, readonly (Sizes | null)[]>,
): void {
  const amount = (of: (s: Sizes) => number, column: number) => (name: string) => {
    const sizes = table.get(name)?.[column];
    return sizes === null || sizes === undefined ? Number.NaN : of(sizes);
  };
  const kinds: readonly (readonly [string, (s: Sizes) => number])[] = [
    [".text", (s) => s.text],
    ["+ unwind", (s) => s.text + s.unwind],
    ["+ .rodata", (s) => s.text + s.unwind + s.constants],
  ];
  const columns = ways.flatMap((way, i): RatioColumn[] =>
    kinds.map(([kind, of]) => ({
      title: way.length === 0 || kind !== ".text" ? kind : way.join(" "),
      above: amount(of, i + 1),
      below: amount(of, 0),
    })),
  );
  const shown = [
    { title: "(clang)", of: amount((s) => s.text, 0) },
    { title: "(+ unwind)", of: amount((s) => s.text + s.unwind, 0) },
    { title: "(ours)", of: amount((s) => s.text, 1) },
    { title: "(+ unwind)", of: amount((s) => s.text + s.unwind, 1) },
  ].map(({ title, of }) => ({ title, of: (name: string) => String(of(name)) }));
  printRatios(`${machine.name} -${level}, ratio to clang -flto`, [...table.keys()], columns, shown);
  if (values["limits"]) {
    const ratios = columns.map(({ above, below }) =>
      [...table.keys()].map((name) => above(name) / below(name)),
    );
    const mean = (list: readonly number[]): number =>
      Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);
    report(mean(ratios[0]!) <= 0.95, `${machine.name} -${level}: mean of .text`, mean(ratios[0]!).toFixed(4));
    report(
      Math.max(...ratios[0]!) <= 1,
      `${machine.name} -${level}: largest`,
      Math.max(...ratios[0]!).toFixed(4),
    );
    report(
      mean(ratios[1]!) <= 0.97,
      `${machine.name} -${level}: mean with unwind tables`,
      mean(ratios[1]!).toFixed(4),
    );
  }
}

for (const machine of chosenMachines) {
  const lacking = missing(machine);
  if (lacking.length > 0) {
    console.log(`${machine.name}: left out, not installed: ${lacking.join(" ")}`);
    continue;
  }
  for (const level of levels) {
    const table = new Map<string, readonly (Sizes | null)[]>();
    for (const program of chosenPrograms) {
      try {
        table.set(program.recipe.name, await compare(await compile(program, machine, level, jobs)));
      } catch (e) {
        report(false, `${machine.name} ${program.recipe.name} -${level}`, (e as Error).message);
      }
    }
    printTables(machine, level, table);
  }
}
console.log("");
finish();
