/**
 * `npm run debug-info -- [package…]`: what links say to debuggers, beside clang's link-time optimisation of the same bitcode.
 *
 *  - loaded: what the assembler makes of links with debug information and with --strip-debug differs in nothing that is
 *    loaded. Of bitcode that was made without -g it may differ: clang's own passes are not always the same with -g;
 *  - sound: neither `llvm-dwarfdump --verify` nor `readelf -w` complains of what they do not complain of in clang's program;
 *  - lines: source lines with a place to stop at, of those that clang's program has; of which how many are the same;
 *  - code: bytes of code that have a line, beside clang's;
 *  - variables: those of which a place is known somewhere, of those that the sources have, and in how much of their
 *    scopes; both beside clang's;
 *  - bytes: of debug sections, for each byte of code;
 *  - cost: processor time and memory of the link with -g, as a share of lld's, over the same without.
 *
 * Status 0: all of what is loaded is the same, all is sound, and no program has fewer than `--least` of clang's lines.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dump, lineRows, statistics } from "./line-rows.js";
import { parseCommandLine, splitWords } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import { prepare } from "./prepared.js";
import { run } from "./process.js";
import { cacheDir, projectRoot } from "./root.js";
import { type BuildJob, toolchain } from "./toolchain.js";

const usage = `usage: npm run debug-info -- [package… | all] [options]
  package         of ${packageNames()}
  --levels L      levels of optimization, separated by commas (default Oz,O2)
  --least SHARE   least share of clang's lines (default 0.97)
  --flags F       options for tsc-lto
  --lost N        print N of the lines that clang's programs have and ours do not
  --cost          measure processor time and memory`;

const { values, words, levels } = parseCommandLine(
  {
    levels: { type: "string", default: "Oz,O2" },
    least: { type: "string", default: "0.97" },
    flags: { type: "string", default: "" },
    lost: { type: "string", default: "0" },
    cost: { type: "boolean", default: false },
  },
  usage,
);
const flags = splitWords(String(values["flags"]));

/** @throws Error with what the command wrote */
async function succeed(command: readonly string[]): Promise<void> {
  const { status, stderr } = await run(command);
  if (status !== 0) throw new Error(`${command[0]}: ${stderr.split("\n").slice(0, 3).join(" | ")}`);
}

interface Cost {
  readonly cpuSeconds: number;
  readonly peakKiB: number;
}

/** A job's bitcode with more options; kept while the sources are. */
async function bitcode(job: BuildJob, extra: readonly string[]): Promise<string[]> {
  const units = job.units.map((unit) => ({ ...unit, flags: [...unit.flags, ...extra] }));
  const objects = await toolchain("clang-lto").compile({ ...job, units });
  if (!Array.isArray(objects)) throw new Error(objects.message);
  return objects;
}

async function linkOurs(
  job: BuildJob,
  objects: readonly string[],
  name: string,
  ...more: string[]
): Promise<Cost & { object: string }> {
  const assembly = join(job.dir, `${name}.s`);
  const object = join(job.dir, `${name}.o`);
  const command = [
    join(projectRoot(), "bin", "tsc-lto"),
    ...objects,
    "-o",
    assembly,
    `-${job.level}`,
    ...flags,
    ...more,
  ];
  const result = await run(command, { measure: true });
  if (result.status !== 0) throw new Error(`tsc-lto: ${result.stderr.split("\n")[0]}`);
  await succeed(["as", "-o", object, assembly]);
  return { ...result, object };
}

/** The object without what is not loaded. */
async function stripped(object: string): Promise<Buffer> {
  await succeed(["strip", "-g", "-o", `${object}.stripped`, object]);
  return readFileSync(`${object}.stripped`);
}

interface Told {
  /** Lines to stop at. */
  readonly stops: ReadonlySet<string>;
  /** Bytes of code that have a line. */
  readonly placed: number;
  /** Shares: of variables that are known somewhere, and of their scopes in which they are. */
  readonly known: number;
  readonly covered: number;
}

async function told(program: string): Promise<Told> {
  const stops = new Set<string>();
  let placed = 0;
  for (const { file, line, isStatement, bytes } of await lineRows(program)) {
    if (isStatement && line > 0) stops.add(`${file}:${line}`);
    if (line > 0) placed += bytes;
  }
  const counts = await statistics(program);
  const share = (of: string, all: string): number => (counts.get(of) ?? 0) / (counts.get(all) ?? 0);
  const scope = "sum_all_variables(#bytes in parent scope";
  return {
    stops,
    placed,
    known: share("#source variables with location", "#source variables"),
    covered: share(`${scope} covered by DW_AT_location)`, `${scope})`),
  };
}

/** Kinds of what tools complain of: without numbers. @throws Error without llvm-dwarfdump */
async function complaints(object: string): Promise<Set<string>> {
  // As output, of which nothing is left out.
  const script = 'readelf -w "$0" 2>&1 >/dev/null';
  const { stdout } = await run(["sh", "-c", script, object], { maxOutput: 1 << 30 });
  const lines = `${await dump("--verify", object)}\n${stdout.toString()}`.split("\n");
  const found = lines.filter((line) => /^(readelf: )?(error|warning):/i.test(line));
  return new Set(found.map((line) => line.replace(/-?(0x)?[0-9a-f]*\d[0-9a-f]*/g, "N")));
}

/** Bytes of sections that debuggers read, and of code. */
async function sectionBytes(program: string): Promise<{ debug: number; code: number }> {
  const { stdout } = await run(["size", "-A", program]);
  let debug = 0;
  let code = 0;
  for (const [, name, bytes] of stdout.toString().matchAll(/^(\.\S+)\s+(\d+)/gm)) {
    if (name!.startsWith(".debug")) debug += Number(bytes);
    else if (/^\.text/.test(name!)) code += Number(bytes);
  }
  return { debug, code };
}

const beside = (ours: number, theirs: number): string =>
  `${ours.toFixed(3)}/${theirs.toFixed(3)} = ${(ours / theirs).toFixed(3)}`;

let bad = 0;
for (const recipe of selectRecipes(words)) {
  const prepared = await prepare(recipe);
  const program = prepared.programs.get(recipe.main)!;
  for (const level of levels) {
    const base = cacheDir("debug-info", recipe.name, level);
    const jobIn = (name: string): BuildJob => {
      const dir = join(base, name);
      mkdirSync(dir, { recursive: true });
      return { ...program, level, exe: join(dir, "exe"), dir, pie: false, jobs: 2, measure: true };
    };
    const [plain, full] = [jobIn("plain"), jobIn("debug")];
    try {
      const without = await bitcode(plain, []);
      const withDebug = await bitcode(full, ["-g"]);
      const ours = await linkOurs(full, withDebug, "ours");
      const dropped = await linkOurs(full, withDebug, "dropped", "--strip-debug");
      const bare = await linkOurs(plain, without, "ours");
      const loaded = await stripped(ours.object);
      const isSame = loaded.equals(await stripped(dropped.object));
      const isOfClang = !loaded.equals(await stripped(bare.object));
      const lto = toolchain("clang-lto");
      const theirs = await lto.link(full, withDebug);
      if (theirs.failed !== undefined) throw new Error(theirs.message);
      const [clangs, own] = [await told(full.exe), await told(ours.object)];
      const [wanted, got] = [clangs.stops, own.stops];
      const lost = [...wanted].filter((line) => !got.has(line));
      const share = got.size / wanted.size;
      const known = await complaints(full.exe);
      const bugs = [...(await complaints(ours.object))].filter((kind) => !known.has(kind));
      if (!isSame || bugs.length > 0 || share < Number(values["least"])) bad++;
      const bytes = { ours: await sectionBytes(ours.object), theirs: await sectionBytes(full.exe) };
      const placed = [own.placed / bytes.ours.code, clangs.placed / bytes.theirs.code];
      const relative = bytes.ours.debug / bytes.ours.code / (bytes.theirs.debug / bytes.theirs.code);
      console.log(
        `${recipe.name} ${level}: loaded ${isSame ? "same" : "DIFFERENT"}` +
          `${isOfClang ? " (other than without -g)" : ""}, ${bugs.length === 0 ? "sound" : "COMPLAINTS"}, lines ${got.size}/${wanted.size} = ` +
          `${share.toFixed(3)} (${(1 - lost.length / wanted.size).toFixed(3)} the same), ` +
          `code with a line ${beside(placed[0]!, placed[1]!)}, variables known ${beside(own.known, clangs.known)}, ` +
          `covered ${beside(own.covered, clangs.covered)}, ` +
          `debug bytes ${(bytes.ours.debug / bytes.theirs.debug).toFixed(2)} of clang's, ` +
          `${relative.toFixed(2)} a byte of code`,
      );
      for (const line of bugs.slice(0, 5)) console.log(`  ${line}`);
      for (const line of lost.sort().slice(0, Number(values["lost"]))) console.log(`  ${line}`);
      if (values["cost"] === true) {
        const theirsPlain = await lto.link(plain, without);
        const ratio = (key: keyof Cost): string =>
          (ours[key] / theirs[key] / (bare[key] / theirsPlain[key])).toFixed(2);
        console.log(
          `  cost with -g over cost without, of lld's: cpu ${ratio("cpuSeconds")}, memory ${ratio("peakKiB")}`,
        );
      }
    } catch (e) {
      console.log(`${recipe.name} ${level}: ${(e as Error).message}`);
      bad++;
    }
  }
}
process.exitCode = bad > 0 ? 1 : 0;
