/**
 * npm run fuzz -- [--count N] [--seed S] [--inputs FOLDER] [--keep FOLDER] [--assemble]
 *
 * Gives N damaged files of all formats, from case S on, to the readers and what is after them; see run.ts. Cases are
 * given to child processes, 50 000 to each (a warm one takes half as long), with 512 MiB of heap; one that says nothing
 * for five minutes, or ends before its last case, failed in that case, and another goes on after it. --inputs: more
 * files to damage; --keep: where failing inputs go; --assemble: all assembly through `as`. Failures are printed as they
 * come. Status 1 if there were any.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { optionsOf } from "../tools/options.js";
import type { FuzzOutcome } from "./run.js";

const values = optionsOf(
  {
    count: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    inputs: { type: "string" },
    keep: { type: "string" },
    assemble: { type: "boolean", default: false },
  },
  "usage: npm run fuzz -- [--count N] [--seed S] [--inputs FOLDER] [--keep FOLDER] [--assemble]",
);

const heap = 512;
/** A child's whole memory, in MiB: its heap, what lies beside it, the program itself. */
const memory = 1024;
const silence = 300_000;
const portion = 50_000;

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly outcome: FuzzOutcome | null;
  /** The last case that was begun. */
  readonly last: number;
  readonly failures: number;
  readonly end: string;
}

function run(first: number, count: number): Promise<Run> {
  const work = join(folder, `${first}`);
  mkdirSync(work);
  const env = {
    ...process.env,
    ...(values.keep === undefined ? {} : { FUZZ_KEEP: resolve(values.keep) }),
    ...(values.assemble ? { FUZZ_ASSEMBLE: "as" } : {}),
  };
  const more = values.inputs === undefined ? [] : [resolve(values.inputs)];
  const program = join(import.meta.dirname, "run.js");
  const args = [
    `--max-old-space-size=${heap}`,
    program,
    resolve("fixtures"),
    `${first}`,
    `${count}`,
    ...more,
  ];
  return new Promise((done) => {
    const child = spawn(process.execPath, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
    let silent = false;
    const stop = (): void => {
      silent = true;
      child.kill("SIGKILL");
    };
    let timer = setTimeout(stop, silence);
    let rest = "";
    let errors = "";
    let last = first - 1;
    let failures = 0;
    let outcome: FuzzOutcome | null = null;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      clearTimeout(timer);
      timer = setTimeout(stop, silence);
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (!line.startsWith("{")) {
          last = Number.parseInt(line, 10);
          continue;
        }
        const value = JSON.parse(line) as FuzzOutcome | { failure: string };
        if ("failure" in value) {
          failures++;
          console.log(value.failure);
        } else outcome = value;
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      rmSync(work, { recursive: true, force: true });
      const end = silent
        ? `nothing for ${silence / 1000} seconds`
        : `ended by ${signal ?? `status ${code}`}: ${errors.slice(0, 400)}`;
      done({ outcome, last, failures, end });
    });
  });
}

const count = Number(values.count);
const first = Number(values.seed);
const cases: Record<string, number> = {};
const compiled: Record<string, number> = {};
let failed = 0;
let peak = 0;
for (let at = first; at < first + count; ) {
  const size = Math.min(portion, first + count - at);
  const { outcome, last, failures, end } = await run(at, size);
  failed += failures;
  at = outcome === null ? last + 1 : at + size;
  if (outcome === null) {
    failed++;
    console.log(`case ${last}: ${end}`);
    continue;
  }
  for (const [format, n] of Object.entries(outcome.cases)) cases[format] = (cases[format] ?? 0) + n;
  for (const [format, n] of Object.entries(outcome.compiled)) compiled[format] = (compiled[format] ?? 0) + n;
  peak = Math.max(peak, outcome.peakMiB);
  if (outcome.peakMiB > memory) {
    failed++;
    console.log(`cases from ${at - size} on: ${outcome.peakMiB} MiB`);
  }
  console.log(`${at - first} of ${count}, ${failed} failed, ${peak} MiB`);
}
const list = Object.keys(cases).map((format) => `${format} ${cases[format]} (${compiled[format] ?? 0})`);
console.log(`${count} inputs (compiled to the end), ${failed} failed, ${peak} MiB: ${list.join(", ")}`);
process.exitCode = failed > 0 ? 1 : 0;
