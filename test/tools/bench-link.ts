/**
 * `npm run bench:link [-- package… | all]`: what a link costs, beside ld.lld on the same bitcode.
 *
 * CPU time (user and system, all threads) and peak memory of one process each: tsc-lto from objects to assembly, ld.lld
 * from the same objects to a program. The least of N runs counts, both in turn, since noise only adds. Besides: a
 * program that does nothing beside an empty Node, links that follow each other in one process or in a service, a relink with
 * `--cache-dir` after one of at least twenty files changed, by itself and in a service, a program of six renamed copies of
 * another, how cost grows with the size of generated programs, and what
 * each phase and pass of a link takes by IR instruction when it runs once, cold.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assembleBitcode } from "./bench/assemble.js";
import { renamedCopies } from "./bench/copies.js";
import { generateProgram } from "./bench/generated.js";
import { WarmService } from "./bench/warm-service.js";
import { benchmarkObjects } from "./benchmark-objects.js";
import { loadedSizes, programSizes } from "./elf-size.js";
import { parseCommandLine } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { mustRun, type RunResult, run } from "./process.js";
import { cacheDir, findProgram, projectRoot } from "./root.js";
import { findClang } from "./toolchain.js";

const usage = `usage: npm run bench:link -- [package… | all] [options]
  package         of ${packageNames()}; default: all
  --corpus DIR    instead: every DIR/PROGRAM/Oz/*.o, with DIR/PROGRAM/O2/*.o for changed files
  --sizes L       IR instructions of generated programs (default 10000,30000,100000,300000,1000000)
  --repeat N      runs of each link below 100000 instructions (default 3); larger ones run once
  --options S     options of tsc-lto, as --options="--effort fast"
  --parts L       of programs,copies,start,process,service,cache,growth,phases (default all)`;

const { values, words } = parseCommandLine(
  {
    corpus: { type: "string" },
    sizes: { type: "string", default: "10000,30000,100000,300000,1000000" },
    repeat: { type: "string", default: "3" },
    options: { type: "string", default: "" },
    parts: { type: "string", default: "start,programs,copies,process,service,cache,growth,phases" },
  },
  usage,
);
const repeat = Number(values["repeat"]);
const options = String(values["options"])
  .split(" ")
  .filter((word) => word !== "");
const lto = join(projectRoot(), "bin", "tsc-lto");
const lld = findProgram("ld.lld-22", "ld.lld", "ld.lld-19");
if (lld === undefined) throw new Error("there is no ld.lld");
const folder = cacheDir("bench-link");

interface Cost {
  readonly seconds: number;
  readonly megabytes: number;
}
interface Program {
  readonly name: string;
  readonly objects: readonly string[];
  /** The same at another level, of which one stands for a changed file; empty without. */
  readonly others: readonly string[];
}

const ours = (objects: readonly string[], ...more: string[]): string[] => [
  lto,
  "-j1",
  ...objects,
  ...["-o", join(folder, "ours.s")],
  ...options,
  ...more,
];
// What the C library would define is left open.
const theirs = (objects: readonly string[]): string[] => [
  lld,
  ...["--entry=main", "--unresolved-symbols=ignore-all", "--thinlto-jobs=1"],
  ...objects,
  ...["-o", join(folder, "theirs")],
];

async function once(command: readonly string[]): Promise<Cost & { readonly result: RunResult }> {
  // Of an empty Node reading certificates would be the larger part; commands do not read them.
  const result = await run(command, { measure: true, env: { NODE_EXTRA_CA_CERTS: "" } });
  if (result.status !== 0) throw new Error(`${command[0]}: ${result.stderr.slice(0, 2000)}`);
  return { seconds: result.cpuSeconds, megabytes: result.peakKiB / 1024, result };
}
/** The least of each, both in turn. @param prepare runs before each, unmeasured */
async function least(
  commands: readonly (readonly string[])[],
  times = repeat,
  prepare: () => void = () => {},
): Promise<Cost[]> {
  const costs = commands.map((): Cost => ({ seconds: Infinity, megabytes: Infinity }));
  for (let i = 0; i < times; i++)
    for (const [k, command] of commands.entries()) {
      prepare();
      const { seconds, megabytes } = await once(command);
      costs[k] = {
        seconds: Math.min(seconds, costs[k]!.seconds),
        megabytes: Math.min(megabytes, costs[k]!.megabytes),
      };
    }
  return costs;
}

const show = (x: number, digits = 2): string => x.toFixed(digits);
const both = (them: Cost, us: Cost): string =>
  `${show(them.seconds)} / ${show(them.megabytes, 0)} | ${show(us.seconds)} / ${show(us.megabytes, 0)} | ` +
  `${show(us.seconds / them.seconds)} | ${show(us.megabytes / them.megabytes)} |`;
const head = (first: string): void =>
  console.log(
    `\n| ${first} | lld, s / MB | tsc-lto, s / MB | CPU | memory |\n| --- | --- | --- | ---: | ---: |`,
  );

async function programs(): Promise<Program[]> {
  const corpus = values["corpus"];
  if (typeof corpus === "string") {
    const list = (...path: string[]): string[] => {
      const directory = join(corpus, ...path);
      const names = readdirSync(directory).filter((name) => name.endsWith(".o"));
      return names.sort().map((name) => join(directory, name));
    };
    const names = words.length > 0 ? words : readdirSync(corpus).sort();
    return names.map((name) => ({ name, objects: list(name, "Oz"), others: list(name, "O2") }));
  }
  const result: Program[] = [];
  for (const recipe of selectRecipes(words.length > 0 ? words : ["all"])) {
    const { objects } = await benchmarkObjects(recipe, "Oz");
    const others = objects.length < 20 ? [] : (await benchmarkObjects(recipe, "O2")).objects;
    result.push({ name: recipe.name, objects, others });
  }
  return result;
}

/** Bitcode of a generated program. */
async function generated(instructions: number, files: number, seed = 1): Promise<string[]> {
  const directory = join(folder, `generated-${instructions}-${seed}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const objects: string[] = [];
  for (const { name, text } of generateProgram(instructions, files, seed)) {
    const file = join(directory, name);
    writeFileSync(file, text);
    objects.push(await assembleBitcode(file));
  }
  return objects;
}

async function measureStart(): Promise<void> {
  const file = join(folder, "empty.cjs");
  writeFileSync(file, "");
  const source = join(folder, "trivial.ll");
  const object = join(folder, "trivial.o");
  writeFileSync(source, 'target triple = "x86_64-unknown-linux-gnu"\ndefine i32 @main() {\n  ret i32 0\n}\n');
  await mustRun([findClang()!, "-flto", "-Oz", "-Wno-override-module", "-c", source, "-o", object]);
  await once(ours([object])); // Makes the code cache.
  const [node, them, us] = await least(
    [[process.execPath, file], theirs([object]), ours([object])],
    3 * repeat,
  );
  head("trivial program");
  console.log(`| beside lld | ${both(them!, us!)}`);
  console.log(`| beside an empty Node | ${both(node!, us!)}`);
}

const classes: readonly (readonly [string, number])[] = [
  ["below 50 kB", 50e3],
  ["50 to 130 kB", 130e3],
  ["150 to 400 kB and what is between", 400e3],
  ["larger", Infinity],
];

async function measurePrograms(list: readonly Program[]): Promise<void> {
  head("program, .text");
  const rows: { text: number; cpu: number; memory: number }[] = [];
  for (const { name, objects } of list) {
    const [them, us] = await least([theirs(objects), ours(objects)]);
    await mustRun(["as", "-o", join(folder, "ours.o"), join(folder, "ours.s")]);
    const { text } = loadedSizes(programSizes(join(folder, "ours.o")));
    console.log(`| ${name}, ${show(text / 1000, 0)} kB | ${both(them!, us!)}`);
    rows.push({ text, cpu: us!.seconds / them!.seconds, memory: us!.megabytes / them!.megabytes });
  }
  const mean = (of: readonly number[]): string =>
    show(Math.exp(of.reduce((sum, x) => sum + Math.log(x), 0) / of.length));
  console.log(
    "\n| .text | programs | CPU | worst | memory | worst |\n| --- | ---: | ---: | ---: | ---: | ---: |",
  );
  let from = 0;
  for (const [name, below] of classes) {
    const of = rows.filter(({ text }) => text >= from && text < below);
    from = below;
    if (of.length === 0) continue;
    const [cpu, memory] = [of.map((row) => row.cpu), of.map((row) => row.memory)];
    const worst = [show(Math.max(...cpu)), show(Math.max(...memory))];
    console.log(`| ${name} | ${of.length} | ${mean(cpu)} | ${worst[0]} | ${mean(memory)} | ${worst[1]} |`);
  }
}

async function measureCopies({ name, objects }: Program): Promise<void> {
  const copies = await renamedCopies(objects, 6, join(folder, `copies-${name}`));
  const [them, us] = await least([theirs(copies), ours(copies)]);
  console.log(`| ${name}, ${copies.length} files | ${both(them!, us!)}`);
}

/** Links of one process, each beside lld's. */
async function measureProcess({ name, objects }: Program): Promise<void> {
  const script = `
    import { link } from ${JSON.stringify(join(projectRoot(), "dist", "bin", "api.js"))};
    let before = process.cpuUsage();
    for (let i = 0; i < 6; i++) {
      await link(${JSON.stringify(objects)}, { jobs: 1 });
      const { user, system } = process.cpuUsage(before);
      before = process.cpuUsage();
      console.log((user + system) / 1e6, process.memoryUsage().rss / 1e6);
    }`;
  const [them] = await least([theirs(objects)]);
  const { stdout } = await mustRun([process.execPath, "--input-type=module", "-e", script]);
  console.log(`\n${name}, links that follow each other in one process: CPU beside lld, resident MB`);
  for (const [i, line] of stdout.toString().trim().split("\n").entries()) {
    const [seconds, megabytes] = line.split(" ").map(Number);
    console.log(`  ${i + 1}: ${show(seconds! / them!.seconds)}, ${show(megabytes!, 0)}`);
  }
}

/** Client and service together. */
interface WarmCost extends Cost {
  readonly client: number;
}

async function inService(service: WarmService, command: readonly string[]): Promise<WarmCost> {
  const before = await service.cost();
  const client = await run(command, { measure: true, env: { ...service.env, NODE_EXTRA_CA_CERTS: "" } });
  if (client.status !== 0 || client.stderr !== "") throw new Error(`${command[0]}: ${client.stderr}`);
  const after = await service.cost();
  const idle = await service.cost();
  // Asking for the cost has a cost, too.
  const ofService = after.seconds - before.seconds - (idle.seconds - after.seconds);
  return {
    seconds: ofService + client.cpuSeconds,
    megabytes: after.megabytes,
    client: client.cpuSeconds,
  };
}

/** Each program once, in a service that has linked those before it; then those of many files again, one of them changed. */
async function measureService(list: readonly Program[]): Promise<void> {
  const service = new WarmService();
  await service.start();
  console.log(
    "\n| in a service, in this order | lld, s | tsc-lto, s | of it the client | CPU | service, MB |\n| --- | ---: | ---: | ---: | ---: | ---: |",
  );
  const row = (name: string, them: Cost, us: WarmCost): void =>
    console.log(
      `| ${name} | ${show(them.seconds)} | ${show(us.seconds)} | ${show(us.client, 3)} | ${show(us.seconds / them.seconds)} | ${show(us.megabytes, 0)} |`,
    );
  const cache = ["--cache-dir", join(folder, "service-cache")];
  rmSync(cache[1]!, { recursive: true, force: true });
  try {
    for (const [i, { name, objects }] of list.entries()) {
      const [them] = await least([theirs(objects)]);
      row(`${i + 1}: ${name}`, them!, await inService(service, ours(objects)));
    }
    for (const program of list) {
      if (!isRelinked(program)) continue;
      const { name, objects } = program;
      const changed = withOneChanged(program);
      const [them] = await least([theirs(changed)]);
      row(`${name}, cold cache`, them!, await inService(service, ours(objects, ...cache)));
      row(`${name}, one file changed`, them!, await inService(service, ours(changed, ...cache)));
    }
  } finally {
    await service.stop();
  }
}

const isRelinked = ({ objects, others }: Program): boolean =>
  objects.length >= 20 && others.length === objects.length;
/** The file of middle size, compiled at another level. */
function withOneChanged({ objects, others }: Program): string[] {
  const which = objects.length >> 1;
  return objects.map((object, i) => (i === which ? others[i]! : object));
}

/** A relink after one file changed. */
async function measureCache(program: Program): Promise<void> {
  if (!isRelinked(program)) return;
  const { name, objects } = program;
  const changed = withOneChanged(program);
  const cache = join(folder, "cache");
  const cached = ["--cache-dir", cache];
  rmSync(cache, { recursive: true, force: true });
  const cold = await once(ours(objects, ...cached));
  const file = join(cache, readdirSync(cache)[0]!);
  const kept = await import("node:fs").then(({ readFileSync }) => readFileSync(file));
  const restore = (): void => writeFileSync(file, kept);
  // Inputs have the same names each time, as a build's have.
  const [them, plain, same, relink] = await least(
    [theirs(changed), ours(changed), ours(objects, ...cached), ours(changed, ...cached)],
    repeat,
    restore,
  );
  console.log(`| ${name}, ${objects.length} files: cold, with cache | ${both(them!, cold)}`);
  console.log(`| ${name}: one changed, without cache | ${both(them!, plain!)}`);
  console.log(`| ${name}: nothing changed | ${both(them!, same!)}`);
  console.log(`| ${name}: one changed | ${both(them!, relink!)}`);
}

async function measureGrowth(sizes: readonly number[]): Promise<void> {
  head("IR instructions (generated)");
  const rows: string[] = [];
  for (const size of sizes) {
    const objects = await generated(size, 4);
    const [them, us] = await least([theirs(objects), ours(objects)], size < 100_000 ? repeat : 1);
    console.log(`| ${size} | ${both(them!, us!)}`);
    rows.push(
      `| ${size} | ${[them!, us!].map((c) => `${show((c.seconds / size) * 1e6, 1)} | ${show((c.megabytes / size) * 1e3)}`).join(" | ")} |`,
    );
  }
  console.log(
    `\n| IR instructions | lld, µs each | MB a thousand | tsc-lto, µs each | MB a thousand |\n| --- | ---: | ---: | ---: | ---: |\n${rows.join("\n")}`,
  );
}

async function measurePhases(size: number): Promise<void> {
  const { result } = await once(ours(await generated(size, 4), "--time-passes"));
  const times = [...result.stderr.matchAll(/^ *([\d.]+) ms .*?(\S+(?: \S+)?)$/gm)]
    .map(([, milliseconds, name]) => ({
      name: name!.replace(/^runs /, ""),
      each: (Number(milliseconds) * 1000) / size,
    }))
    .sort((a, b) => b.each - a.each);
  console.log(`\n| phase or pass, cold, ${size} IR instructions | µs an instruction |\n| --- | ---: |`);
  for (const { name, each } of times) if (each >= 0.05) console.log(`| ${name} | ${show(each)} |`);
}

const parts = new Set(String(values["parts"]).split(","));
const list = ["programs", "copies", "process", "service", "cache"].some((part) => parts.has(part))
  ? await programs()
  : [];
if (parts.has("start")) await measureStart();
if (parts.has("programs")) await measurePrograms(list);
if (parts.has("copies")) {
  head("six copies");
  for (const program of list) await measureCopies(program);
}
if (parts.has("process")) for (const program of list.slice(0, 2)) await measureProcess(program);
if (parts.has("service")) await measureService(list);
if (parts.has("cache")) {
  head("relink with --cache-dir");
  for (const program of list) await measureCache(program);
}
if (parts.has("growth")) await measureGrowth(String(values["sizes"]).split(",").map(Number));
if (parts.has("phases")) await measurePhases(30_000);
