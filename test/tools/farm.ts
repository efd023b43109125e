/**
 * `npm run farm [-- package…]`: links on a farm of this machine's own: the same bytes as one process makes, whatever happens to
 * workers, blobs and Redis; how many functions are compiled; and how long links take, beside a model of that (farm/model.ts).
 */
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Random } from "./bench/random.js";
import { benchmarkObjects } from "./benchmark-objects.js";
import { tellLarge } from "./farm/large.js";
import { edited, type FarmLink, farmLink } from "./farm/links.js";
import { linkTime, type Unit } from "./farm/model.js";
import { FarmPlace } from "./farm/place.js";
import { type SeenUnit, Sleepers, sameFiles } from "./farm/sleepers.js";
import { parseCommandLine } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { mustRun } from "./process.js";
import { cacheDir, findProgram } from "./root.js";
import { makeTally } from "./tally.js";

const usage = `usage: npm run farm -- [package…] [options]
  package         of ${packageNames()} (default sqlite3)
  --objects DIR   instead: the bitcode in DIR
  --level L       level of optimisation of packages (default Oz)
  --parts L       of same,counts,kills,faults,scale (default all)
  --kills N       links in which workers are killed (default 20)
  --workers L     sleeping workers to measure with (default 1,2,4,8,16,32,64)
  --latency L     milliseconds to Redis and back (default 0,50)
  --pace P        how long sleeping workers sleep against what was measured (default 1)
  --instructions N  size of the program that is extrapolated to (default 10000000)
  --seed S        of what is random (default 1)`;

const { values, words } = parseCommandLine(
  {
    objects: { type: "string" },
    level: { type: "string", default: "Oz" },
    parts: { type: "string", default: "same,counts,kills,faults,scale" },
    kills: { type: "string", default: "20" },
    workers: { type: "string", default: "1,2,4,8,16,32,64" },
    latency: { type: "string", default: "0,50" },
    pace: { type: "string", default: "1" },
    instructions: { type: "string", default: "10000000" },
    seed: { type: "string", default: "1" },
  },
  usage,
);
const parts = new Set(String(values["parts"]).split(","));
const numbers = (name: string): number[] => String(values[name]).split(",").map(Number);
const random = new Random(Number(values["seed"]));
const tally = makeTally();
const folder = cacheDir("farm");
const place = new FarmPlace();
const sleep = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

type Check = (what: string, link: FarmLink, expected?: FarmLink) => void;
const told = ({ seconds, came, known, here, phases, bytes }: FarmLink): string =>
  `${seconds.toFixed(1)} s, ${phases.reduce((a, b) => a + b, 0)} units in ${phases.length} phases, ${came} functions came, ${known} known, ${here} here, ${(bytes / 1e6).toFixed(1)} MB`;

async function programs(): Promise<[string, readonly string[]][]> {
  const dir = values["objects"];
  if (typeof dir === "string") {
    const names = readdirSync(dir).filter((name) => /\.(?:o|bc|ll)$/.test(name));
    return [[basename(dir), names.sort().map((name) => join(dir, name))]];
  }
  const list: [string, readonly string[]][] = [];
  for (const recipe of selectRecipes(words.length > 0 ? words : ["sqlite3"]))
    list.push([recipe.name, (await benchmarkObjects(recipe, String(values["level"]))).objects]);
  return list;
}

async function examine(name: string, objects: readonly string[]): Promise<void> {
  const address = await place.address();
  const farm = [`--farm=${address}`];
  const plain = await farmLink(objects, folder, ["-j1"]);
  const same = (what: string, link: FarmLink, expected = plain): void =>
    tally.report(link.status === 0 && link.text === expected.text, `${name}: ${what}`, told(link));
  const startTwo = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) await place.startWorker(address);
  };
  if (["same", "counts", "kills", "faults"].some((part) => parts.has(part))) await startTwo();
  if (parts.has("same") || parts.has("counts")) {
    same("two workers, nothing known", await farmLink(objects, folder, farm));
    if (parts.has("counts")) await counts(name, objects, farm, same);
  }
  if (parts.has("kills")) await kills(objects, farm, address, same);
  if (parts.has("faults")) await faults(objects, farm, same);
  await place.endWorkers();
  if (parts.has("scale")) await scale(name, objects, plain);
}

/** Nothing is compiled twice, and after small edits little. */
async function counts(
  name: string,
  objects: readonly string[],
  farm: readonly string[],
  same: Check,
): Promise<void> {
  const again = await farmLink(objects, folder, farm);
  same("unchanged", again);
  tally.report(again.came + again.here === 0, `${name}: nothing is compiled again`);
  const dis = findProgram("llvm-dis-22", "llvm-dis");
  const as = findProgram("llvm-as-22", "llvm-as");
  if (dis === undefined || as === undefined) return console.log("no llvm-dis and llvm-as: no edits");
  const changed = [...objects];
  // In three files, or three places of the one that there is.
  const files = objects.length > 2 ? [0.2, 0.5, 0.8].map((at) => Math.floor(at * objects.length)) : [0, 0, 0];
  for (const file of new Set(files)) {
    const { stdout, status } = spawnSync(dis, ["-o", "-", objects[file]!], {
      encoding: "utf8",
      maxBuffer: 1 << 30,
    });
    if (status !== 0) return console.log(`${objects[file]} cannot be read by ${dis}`);
    const places = objects.length > 2 ? [0.5] : [0.2, 0.5, 0.8];
    const text = join(folder, `edited-${file}.ll`);
    writeFileSync(text, edited(stdout, places));
    // As the others are: declarations that are read from assembly have other attributes, and so code that calls them another key.
    changed[file] = join(folder, `edited-${file}.o`);
    await mustRun([as, "-o", changed[file]!, text]);
  }
  const plain = await farmLink(changed, folder, ["-j1"]);
  const link = await farmLink(changed, folder, farm);
  same("three small edits", link, plain);
  const share = (link.came + link.here) / (link.came + link.here + link.known);
  tally.report(
    share <= 0.06,
    `${name}: few functions are compiled after edits`,
    `${(100 * share).toFixed(1)}%`,
  );
}

/** Waits until a link has left a unit, or has ended: a small program has none. */
async function firstUnit(link: Promise<FarmLink>): Promise<void> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  void link.then(end, end);
  while (!isOver && (await place.redis.keys("tsc-lto:blob:unit-*")).length === 0) await sleep(20);
}

/** Workers are killed while a link waits for them; another takes the place of each. */
async function kills(
  objects: readonly string[],
  farm: readonly string[],
  address: string,
  same: Check,
): Promise<void> {
  const count = Number(values["kills"]);
  let spare = await place.startWorker(address);
  for (let i = 0; i < count; i++) {
    await place.forget();
    const link = farmLink(objects, folder, farm);
    await firstUnit(link);
    await sleep(random.below(4000));
    await place.kill(spare);
    spare = await place.startWorker(address);
    same(`a worker killed, ${i + 1}`, await link);
  }
}

async function faults(objects: readonly string[], farm: readonly string[], same: Check): Promise<void> {
  const { redis } = place;
  await place.forget();
  const first = farmLink(objects, folder, farm);
  await firstUnit(first);
  await sleep(1000);
  await place.restart();
  same("Redis restarted, all forgotten", await first);
  await farmLink(objects, folder, farm);
  const names = await redis.keys("tsc-lto:blob:code-*");
  for (const [i, key] of names.entries()) {
    const blob = (await redis.getBuffer(key))!;
    if (i % 4 === 0) blob[random.below(blob.length)]! ^= 1 << random.below(8);
    const other = names[random.below(names.length)]!;
    const made =
      i % 4 === 1
        ? blob.subarray(0, random.below(blob.length))
        : i % 4 === 2
          ? await redis.getBuffer(other)
          : blob;
    await redis.set(key, made!);
  }
  same("blobs damaged, cut and exchanged", await farmLink(objects, folder, farm));
  // While the link runs, whatever is there is damaged now and then, and units, too.
  await place.forget();
  let isOver = false;
  const damaging = (async () => {
    while (!isOver) {
      const some = await redis.keys("tsc-lto:blob:*");
      for (let i = 0; i < 20 && some.length > 0; i++) {
        const key = some[random.below(some.length)]!;
        const blob = await redis.getBuffer(key);
        if (blob === null) continue;
        blob[random.below(blob.length)]! ^= 1 << random.below(8);
        await redis.set(key, blob, "KEEPTTL", "XX");
      }
      await sleep(50);
    }
  })();
  const damaged = await farmLink(objects, folder, farm);
  isOver = true;
  await damaging;
  same("blobs and units damaged all the time", damaged);
}

/** Links with workers that sleep, against the model. */
async function scale(name: string, objects: readonly string[], plain: FarmLink): Promise<void> {
  const address = await place.address();
  await place.forget();
  const learner = await Sleepers.make(address);
  await learner.start(1, 0);
  const cold = await farmLink(objects, folder, [`--farm=${address}`], sameFiles);
  await learner.stop();
  tally.report(cold.text === plain.text, `${name}: sleepers have seen the link`, told(cold));
  const bySeen = inPhases([...learner.seen.values()], cold.phases);
  const phases: readonly (readonly Unit[])[] = bySeen;
  const work = phases.flat().reduce((sum, { seconds }) => sum + seconds, 0);
  const instructions = [...learner.seen.values()].reduce((sum, unit) => sum + unit.instructions, 0);
  const warm = await farmLink(objects, folder, [`--farm=${address}`], sameFiles);
  const rounds = [...warm.said.matchAll(/functions of others taken/g)].length - phases.length;
  const run = async (workers: number, latency: number, pace: number): Promise<FarmLink> => {
    await place.forget();
    const way = await place.address(latency);
    const sleepers = await Sleepers.make(way);
    for (const [digest, unit] of learner.seen) sleepers.seen.set(digest, unit);
    await sleepers.start(workers, pace);
    const link = await farmLink(objects, folder, [`--farm=${way}`], sameFiles);
    await sleepers.close();
    tally.report(
      link.text === plain.text,
      `${name}: ${workers} sleepers, ${latency} ms`,
      `${sleepers.unseen} units not seen before`,
    );
    return link;
  };
  // What is left when the work takes no time: the link itself, and the queue.
  const central = Math.min((await run(8, 0, 0)).seconds, (await run(8, 0, 0)).seconds);
  console.log(
    `${name}: ${instructions} instructions in ${learner.seen.size} units, ${work.toFixed(2)} s of work, ${central.toFixed(2)} s without it; ${(cold.bytes / 1e6).toFixed(1)} MB, ${cold.megabytes.toFixed(0)} MB of memory`,
  );
  const pace = Number(values["pace"]);
  const slower = phases.map((units) => units.map((unit) => ({ ...unit, seconds: unit.seconds * pace })));
  console.log("| workers | latency, ms | measured, s | model, s | |\n| ---: | ---: | ---: | ---: | ---: |");
  for (const latency of numbers("latency"))
    for (const workers of numbers("workers")) {
      const { seconds } = await run(workers, latency, pace);
      const model = linkTime(central, slower, rounds, { workers, latency: latency / 1000, perJob: 0 });
      console.log(
        `| ${workers} | ${latency} | ${seconds.toFixed(2)} | ${model.toFixed(2)} | ${(100 * (seconds / model - 1)).toFixed(0)}% |`,
      );
    }
  await learner.close();
  const ofPhases = bySeen.map((units) => {
    const size = units.reduce((sum, unit) => sum + unit.instructions, 0);
    return { instructions: size, perInstruction: units.reduce((sum, unit) => sum + unit.seconds, 0) / size };
  });
  const nothing = join(folder, "nothing.ll");
  writeFileSync(
    nothing,
    'target triple = "x86_64-unknown-linux-gnu"\ndefine i32 @main() {\n  ret i32 0\n}\n',
  );
  const empty = await farmLink([nothing], folder, ["-j1"], sameFiles);
  const [last] = ofPhases.slice(-1);
  for (const latency of numbers("latency"))
    tellLarge(
      {
        // All functions are completed in one phase.
        instructions: last!.instructions,
        central: cold.cpuSeconds - empty.cpuSeconds,
        phases: ofPhases,
        bytesPerInstruction: cold.bytes / instructions,
        megabytes: cold.megabytes - empty.megabytes,
        empty: rounds,
      },
      Number(values["instructions"]),
      latency / 1000,
    );
}

/** Units of each phase: jobs are numbered as they are made. */
function inPhases(seen: readonly SeenUnit[], counts: readonly number[]): SeenUnit[][] {
  const ordered = [...seen].sort((a, b) => a.job - b.job);
  return counts.map((count) => ordered.splice(0, count));
}

for (const [name, objects] of await programs())
  try {
    await place.start();
    await examine(name, objects);
  } finally {
    await place.endWorkers();
  }
await place.close();
tally.finish();
