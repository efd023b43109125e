/**
 * `npm run fixtures -- [-O0 -O2 -Oz]`: the programs of fixtures/c and fixtures/cpp, built by the tool under test and compared with
 * the outputs beside them.
 *
 * A program is NAME.c or NAME.cpp, or a folder NAME of several files; NAME.expected is its output. Its first comment may say
 * `cflags: …`, `libs: …`, and `cc: clang` where gcc lacks a construct. With --bless the expected files are written
 * anew by clang -O0, which is then compared with gcc where gcc can build the program.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fastToolchain } from "./in-process.js";
import { parseCommandLine } from "./options.js";
import { mapLimit, run } from "./process.js";
import { findProgram, projectRoot } from "./root.js";
import type { BuildJob, BuildResult, Toolchain } from "./toolchain.js";
import { toolchain } from "./toolchain.js";

export interface Fixture {
  readonly name: string;
  readonly sources: readonly string[];
  readonly flags: readonly string[];
  readonly libs: readonly string[];
  readonly clangOnly: boolean;
  /** Path of the file with the expected output. */
  readonly expected: string;
}

const isSource = (file: string): boolean => /\.c(pp)?$/.test(file);

/** All fixtures below `dir`, by name. */
export function listFixtures(dir: string): Fixture[] {
  const fixtures: Fixture[] = [];
  for (const entry of readdirSync(dir).sort()) {
    const path = join(dir, entry);
    const folder = statSync(path).isDirectory();
    if (!folder && !isSource(entry)) continue;
    const name = entry.replace(/\.c(pp)?$/, "");
    // In a folder main.c comes first: the order of the files is that of the link line.
    const files = folder ? readdirSync(path).filter(isSource).sort() : [];
    const isMain = (file: string): boolean => /^main\.c(pp)?$/.test(file);
    const ordered = [...files.filter(isMain), ...files.filter((file) => !isMain(file))];
    const sources = folder ? ordered.map((f) => join(path, f)) : [path];
    const isCxx = sources[0]!.endsWith(".cpp");
    const comment = readFileSync(sources[0]!, "utf8").split("*/")[0]!;
    const words = (key: string) =>
      new RegExp(`\\b${key}: (.*)`).exec(comment)?.[1]?.trim().split(/\s+/) ?? [];
    fixtures.push({
      name,
      sources,
      flags: ["-w", ...words("cflags")],
      libs: [...words("libs"), ...(isCxx ? ["-lstdc++", "-lm"] : [])],
      clangOnly: words("cc").includes("clang"),
      expected: join(dir, `${name}.expected`),
    });
  }
  return fixtures;
}

/** Whether the machine has a C++ library to compile and link with: it comes with g++. */
export const hasCxxLibrary = (): boolean => findProgram("c++", "g++") !== undefined;

/** How a fixture becomes the program `dir/program`. */
export function fixtureJob(f: Fixture, level: string, dir: string, pie: boolean): BuildJob {
  return {
    units: f.sources.map((source) => ({ source, flags: f.flags })),
    level,
    libs: f.libs,
    exe: join(dir, "program"),
    dir: join(dir, "build"),
    pie,
    timeoutMs: 60_000,
  };
}

/** Builds a fixture in `dir` and runs it: its output, or what failed. */
export async function runFixture(
  f: Fixture,
  tool: Toolchain,
  level: string,
  dir: string,
  pie = true,
): Promise<string> {
  const job = fixtureJob(f, level, dir, pie);
  return runBuilt(await tool.build(job), job.exe, dir);
}

/** Runs what a build made: its output, or what failed. */
export async function runBuilt(build: BuildResult, exe: string, dir: string): Promise<string> {
  if (build.failed !== undefined) return `${build.failed} failed: ${build.message}`;
  const r = await run([exe], { cwd: dir, timeoutMs: 10_000, sandbox: true });
  const status = r.timedOut ? "timed out\n" : r.status >= 128 ? `died with status ${r.status}\n` : "";
  return r.stdout.toString("latin1") + status;
}

async function bless(fixtures: readonly Fixture[], dir: string): Promise<void> {
  for (const f of fixtures) {
    const output = await runFixture(f, toolchain("clang"), "O0", dir);
    writeFileSync(f.expected, output, "latin1");
    if (f.clangOnly) continue;
    const other = await runFixture(f, toolchain("gcc"), "O2", dir);
    if (other !== output) console.log(`${f.name}: gcc -O2 differs`);
  }
}

async function main(): Promise<void> {
  const usage =
    "usage: npm run fixtures -- [-O0 -O2 -Oz] [--filter RE] [--tool NAME] [--no-pie] [--guarded] [--bless]";
  const { values, levels, ltoFlags } = parseCommandLine(
    { bless: { type: "boolean", default: false } },
    usage,
  );
  const pattern = new RegExp(String(values["filter"] ?? ""));
  const folder = (name: string): Fixture[] => listFixtures(join(projectRoot(), "fixtures", name));
  const fixtures = [...folder("c"), ...(hasCxxLibrary() ? folder("cpp") : [])].filter((f) =>
    pattern.test(f.name),
  );
  const scratch = mkdtempSync(join(tmpdir(), "fixtures-"));
  if (values["bless"]) {
    await bless(fixtures, scratch);
    rmSync(scratch, { recursive: true });
    return;
  }
  const jobs = Number(values["jobs"]);
  const tool = await fastToolchain(String(values["tool"]), jobs, ltoFlags);
  const work = fixtures.flatMap((f) => levels.map((level) => ({ f, level })));
  let failed = 0;
  await mapLimit(work, jobs, async ({ f, level }) => {
    const dir = mkdtempSync(join(scratch, "f-"));
    const output = await runFixture(f, tool, level, dir, !values["no-pie"]);
    const expected = readFileSync(f.expected, "latin1");
    if (output !== expected) {
      failed++;
      const [found, wanted] = [output.split("\n"), expected.split("\n")];
      const at = found.findIndex((line, i) => line !== wanted[i]);
      const line =
        at < 0
          ? "output ends early"
          : `line ${at + 1}: ${found[at]!.slice(0, 300)} | expected: ${(wanted[at] ?? "").slice(0, 120)}`;
      console.log(`FAIL ${f.name} -${level} ${line}`);
    }
    rmSync(dir, { recursive: true, force: true });
  });
  rmSync(scratch, { recursive: true, force: true });
  await tool.close();
  console.log(`${work.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
