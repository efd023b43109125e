/**
 * Differential runs of many small programs: each is built by a reference compiler and by the tool under test at
 * several levels and in several ways of linking, run, and compared by output and exit status.
 *
 * Method: a program counts at a level only when the reference compiler's own builds at -O0 and at that level run
 * and agree (so programs with undefined behaviour drop out); those verdicts are kept in the cache by the hash of
 * the sources. Results are appended to a file of JSON lines as they come, so that a run can be resumed and two runs
 * compared. Where the reference's output changes from run to run (it prints addresses), the exit status alone counts.
 * Breaks if a program depends on time or the environment otherwise: such programs show as failures that come and go.
 */
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mapLimit, run } from "./process.js";
import type { BuildResult, Toolchain, Unit } from "./toolchain.js";

export interface Case {
  readonly name: string;
  readonly units: readonly Unit[];
  readonly libs: readonly string[];
  /**
   * What the program may do though no two levels need to do it alike, as clang's `-fsanitize` names it: programs that differ
   * are asked whether they do, by traps.
   */
  readonly mayBeUndefined?: string;
}

export type Verdict = "pass" | "unsupported" | "fail" | "skipped";

/** One line of the results file. */
export interface Outcome {
  readonly name: string;
  /** The level, and after it the options of the way of linking. */
  readonly level: string;
  readonly verdict: Verdict;
  /** Where it failed: compile, lto, assemble, native link, run, output; or why it was skipped. */
  readonly stage?: string;
  readonly message?: string;
}

export interface BatchOptions {
  readonly tool: Toolchain;
  readonly reference: Toolchain;
  readonly levels: readonly string[];
  /** Options of the tool's whole-program step: each program is compiled once a level, and linked with each of these. */
  readonly ways: readonly (readonly string[])[];
  readonly jobs: number;
  readonly pie: boolean;
  /** Time limit of a run of a program, in milliseconds. */
  readonly timeoutMs: number;
  /** Names the file of cached reference verdicts. */
  readonly referenceCache?: string;
  /** Require that the reference agrees with itself at each level (off for programs known to be well defined). */
  readonly referenceAtLevels: boolean;
  /** Words before the program's name, for one of another machine. */
  readonly runner?: readonly string[];
  /** File that outcomes are appended to. */
  readonly results?: string;
  /** Skip what the results file already holds. */
  readonly resume?: boolean;
  /** Called after each case. */
  readonly progress?: (done: number, outcomes: readonly Outcome[]) => void;
}

interface Behaviour {
  readonly status: number;
  readonly output: string;
  readonly timedOut: boolean;
}

/** Cached answer of the reference: a digest of the behaviour, or undefined when the program is not usable. */
type ReferenceTable = Record<string, string | null>;

/** Outcomes recorded in a results file; the last one wins where a case was run twice. */
export function readOutcomes(file: string): Map<string, Outcome> {
  const map = new Map<string, Outcome>();
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line === "") continue;
    const o = JSON.parse(line) as Outcome;
    map.set(`${o.name} ${o.level}`, o);
  }
  return map;
}

/** Names of a level's ways of linking in outcomes. */
export const waysAt = (level: string, ways: readonly (readonly string[])[]): string[] =>
  ways.map((flags) => [level, ...flags].join(" "));

/** Runs all cases at all levels, in all ways; outcomes in the order of the cases. */
export async function runBatch(cases: readonly Case[], options: BatchOptions): Promise<Outcome[]> {
  const known =
    options.resume && options.results && existsSync(options.results)
      ? readOutcomes(options.results)
      : new Map<string, Outcome>();
  if (options.results && !options.resume) writeFileSync(options.results, "");
  const table = loadReferences(options.referenceCache);
  const scratch = mkdtempSync(join(tmpdir(), "batch-"));
  let done = 0;
  const lists = await mapLimit(cases, options.jobs, async (c, index) => {
    const dir = join(scratch, String(index));
    const outcomes: Outcome[] = [];
    for (const level of options.levels) {
      const names = waysAt(level, options.ways);
      outcomes.push(...names.flatMap((way) => known.get(`${c.name} ${way}`) ?? []));
      const missing = options.ways.filter((_, i) => !known.has(`${c.name} ${names[i]!}`));
      if (missing.length === 0) continue;
      mkdirSync(dir, { recursive: true });
      const found = await runCase(c, level, missing, dir, options, table);
      rmSync(dir, { recursive: true, force: true });
      outcomes.push(...found);
      for (const outcome of found)
        if (options.results) appendFileSync(options.results, JSON.stringify(outcome) + "\n");
    }
    done++;
    if (done % 100 === 0) saveReferences(options.referenceCache, table);
    options.progress?.(done, outcomes);
    return outcomes;
  });
  saveReferences(options.referenceCache, table);
  rmSync(scratch, { recursive: true, force: true });
  return lists.flat();
}

async function runCase(
  c: Case,
  level: string,
  ways: readonly (readonly string[])[],
  dir: string,
  options: BatchOptions,
  table: ReferenceTable,
): Promise<Outcome[]> {
  const names = waysAt(level, ways);
  const all = (result: Result): Outcome[] => names.map((way) => ({ name: c.name, level: way, ...result }));
  const expected = await reference(c, level, dir, options, table);
  if (expected === null) return all({ verdict: "skipped", stage: "reference" });
  const { tool, pie } = options;
  const { units, libs } = c;
  const job = { units, level, libs, exe: join(dir, "ours"), dir: join(dir, "build"), pie, timeoutMs: 60_000 };
  const objects = await tool.compile(job);
  if (!Array.isArray(objects)) return all(notBuilt(objects));
  const outcomes: Outcome[] = [];
  for (const [i, ltoFlags] of ways.entries()) {
    const build = await tool.link({ ...job, ltoFlags }, objects);
    const result =
      build.failed === undefined ? await compare(c, level, expected, dir, options) : notBuilt(build);
    outcomes.push({ name: c.name, level: names[i]!, ...result });
  }
  return outcomes;
}

type Result = Omit<Outcome, "name" | "level">;

const notBuilt = ({ unsupported, failed, message }: BuildResult): Result => ({
  verdict: unsupported ? "unsupported" : "fail",
  stage: failed!,
  message,
});

/** Runs what was built. */
async function compare(
  c: Case,
  level: string,
  expected: string,
  dir: string,
  options: BatchOptions,
): Promise<Result> {
  const seen = await behaviour(join(dir, "ours"), dir, options.timeoutMs, options.runner);
  if (digest(seen) === expected) return { verdict: "pass" };
  if (expected.startsWith(`${seen.status} `) && (await outputVaries(c, level, dir, options)))
    return { verdict: "pass", message: "only the exit status is compared" };
  if (c.mayBeUndefined !== undefined && (await traps(c, c.mayBeUndefined, dir, options)))
    return { verdict: "skipped", stage: "reference", message: "undefined" };
  if (seen.timedOut) return { verdict: "fail", stage: "run", message: "timed out" };
  const stage = seen.status >= 128 ? "run" : "output";
  return { verdict: "fail", stage, message: `status ${seen.status}; ${seen.output.slice(0, 200)}` };
}

/** Whether the reference's build ends by a trap if it is to do so where checks fail. */
async function traps(c: Case, checks: string, dir: string, options: BatchOptions): Promise<boolean> {
  const flags = [`-fsanitize=${checks}`, `-fsanitize-trap=${checks}`];
  const checked = { ...c, units: c.units.map((unit) => ({ ...unit, flags: [...unit.flags, ...flags] })) };
  const exe = await buildReference(checked, "O0", dir, options);
  return exe !== null && (await behaviour(exe, dir, options.timeoutMs, options.runner)).status >= 128;
}

async function reference(
  c: Case,
  level: string,
  dir: string,
  options: BatchOptions,
  table: ReferenceTable,
): Promise<string | null> {
  const key = `${c.name} ${level} ${hashOf(c)}`;
  const cached = table[key];
  if (cached !== undefined) return cached;
  const compute = async (): Promise<string | null> => {
    const plain = level === "O0" ? undefined : await reference(c, "O0", dir, options, table);
    if (plain !== undefined && (plain === null || !options.referenceAtLevels)) return plain;
    const exe = await buildReference(c, level, dir, options);
    if (exe === null) return null;
    const seen = await behaviour(exe, dir, options.timeoutMs / 2, options.runner);
    if (seen.timedOut || seen.status >= 128) return null;
    const answer = digest(seen);
    return plain === undefined || plain === answer ? answer : null;
  };
  return (table[key] = await compute());
}

/** The reference compiler's build; null when it cannot build the program. */
async function buildReference(
  c: Case,
  level: string,
  dir: string,
  options: BatchOptions,
): Promise<string | null> {
  const exe = join(dir, `reference-${level}`);
  const build = await options.reference.build({
    units: c.units,
    level,
    libs: c.libs,
    exe,
    dir: join(dir, `r-${level}`),
    pie: options.pie,
    timeoutMs: 60_000,
  });
  return build.failed === undefined ? exe : null;
}

/** Whether the reference's own output changes from run to run, as that of a program that prints addresses does. */
async function outputVaries(c: Case, level: string, dir: string, options: BatchOptions): Promise<boolean> {
  const exe = await buildReference(c, options.referenceAtLevels ? level : "O0", dir, options);
  if (exe === null) return false;
  const first = await behaviour(exe, dir, options.timeoutMs, options.runner);
  return digest(first) !== digest(await behaviour(exe, dir, options.timeoutMs, options.runner));
}

async function behaviour(
  exe: string,
  dir: string,
  timeoutMs: number,
  runner: readonly string[] = [],
): Promise<Behaviour> {
  const cwd = mkdtempSync(join(dir, "run-"));
  // Emulators take more memory than programs may.
  const sandbox = runner.length === 0;
  const r = await run([...runner, exe], { cwd, timeoutMs, sandbox, maxOutput: 2 ** 24 });
  return { status: r.status, output: r.stdout.toString("latin1"), timedOut: r.timedOut };
}

function digest(b: Behaviour): string {
  return `${b.status} ${createHash("sha256").update(b.output, "latin1").digest("hex").slice(0, 20)}`;
}

function hashOf(c: Case): string {
  const h = createHash("sha256");
  for (const u of c.units) h.update(readFileSync(u.source)).update(u.flags.join(" "));
  return h.digest("hex").slice(0, 16);
}

function loadReferences(file: string | undefined): ReferenceTable {
  return file !== undefined && existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as ReferenceTable)
    : {};
}

function saveReferences(file: string | undefined, table: ReferenceTable): void {
  if (file !== undefined) writeFileSync(file, JSON.stringify(table));
}

/** Counts of the verdicts, and the failures grouped by stage and first line of the message, most frequent first. */
export function summarize(outcomes: readonly Outcome[], levels: readonly string[]): string {
  const lines: string[] = [];
  for (const level of levels) {
    const at = outcomes.filter((o) => o.level === level);
    const count = (v: Verdict) => at.filter((o) => o.verdict === v).length;
    lines.push(
      `${level}: ${count("pass")} pass, ${count("unsupported")} unsupported, ${count("fail")} FAIL, ${count("skipped")} skipped`,
    );
  }
  const groups = new Map<string, Outcome[]>();
  for (const o of outcomes) {
    if (o.verdict !== "fail" && o.verdict !== "unsupported") continue;
    const key = `${o.verdict === "fail" ? "FAIL" : "unsupported"} ${o.stage}: ${generalize(o)}`;
    groups.set(key, [...(groups.get(key) ?? []), o]);
  }
  for (const [key, list] of [...groups].sort((a, b) => b[1].length - a[1].length)) {
    const names = [...new Set(list.map((o) => `${o.name}@${o.level}`))];
    lines.push(`${String(list.length).padStart(5)}  ${key}`);
    lines.push(`       ${names.slice(0, 8).join(" ")}${names.length > 8 ? " …" : ""}`);
  }
  return lines.join("\n");
}

/** The first telling line of a message with what differs from case to case blotted out, so that causes group. */
function generalize(o: Outcome): string {
  if (o.stage === "output" || o.stage === "run") return (o.message ?? "").split(";")[0]!;
  const text = (o.message ?? "").split("\n");
  const line = text.find((l) => /error|unsupported/i.test(l)) ?? text[0] ?? "";
  return line
    .replace(/\S*\/\S+?:/g, "")
    .replace(/[%@.$]?[A-Za-z_.]*\d[\w.]*/g, "N")
    .replace(/'[^']*'/g, "'…'")
    .slice(0, 140);
}
