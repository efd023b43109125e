/**
 * The child process of the fuzz test: gives damaged files to `tsc-lto` one after another, as a user would, through to
 * the end: assembly, linked IR or a linked object. The parent bounds its memory and its time.
 *
 * Arguments: folder of fixtures, first case, number of cases, [folder of more files]. One line a case is printed
 * before it begins, so that a hang has a name, and one of its own where it fails; the last line is the outcome as
 * JSON. The working directory is used
 * for files. Everything follows from the number of a case.
 */

import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { realFiles } from "../../bin/host/libraries.js";
import { parseLinkerArguments } from "../../bin/ld/arguments.js";
import { main } from "../../bin/lto/main.js";
import { InputError } from "../../lto/ir/errors.js";
import { Random } from "../support/random.js";
import { companion, companionText, makeCorpus } from "./corpus.js";
import { type Format, mutate, type Seed } from "./mutations.js";

export interface FuzzOutcome {
  /** Cases by format, and of these how many were compiled to the end. */
  readonly cases: Record<string, number>;
  readonly compiled: Record<string, number>;
  readonly failures: readonly string[];
  readonly peakMiB: number;
}

const [fixtures, first, count, more] = process.argv.slice(2) as [string, string, string, string | undefined];
const keep = process.env["FUZZ_KEEP"];
const assembler = process.env["FUZZ_ASSEMBLE"];
const only = process.env["FUZZ_FORMAT"];

const seeds = makeCorpus(fixtures, more);
const byFormat = new Map<Format, Seed[]>();
for (const seed of seeds) byFormat.set(seed.format, [...(byFormat.get(seed.format) ?? []), seed]);
/** Microseconds of CPU time that no case may exceed. */
const patience = 5_000_000;
/** How often each format comes: what is large inside is worth more. */
const weights: readonly (readonly [Format, number])[] = [
  ["bitcode", 8],
  ["text", 8],
  ["object", 6],
  ["archive", 2],
  ["elf", 2],
  ["list", 1],
  ["script", 1],
  ["response", 1],
];
const bag = weights.flatMap(([format, n]) =>
  only === undefined || only === format ? Array<Format>(n).fill(format) : [],
);
writeFileSync(companion, companionText);

const outcome = {
  cases: {} as Record<string, number>,
  compiled: {} as Record<string, number>,
  failures: [] as string[],
  peakMiB: 0,
};
const extensions: Record<Format, string> = {
  bitcode: "bc",
  text: "ll",
  object: "o",
  archive: "a",
  elf: "o",
  list: "txt",
  script: "ld",
  response: "rsp",
};

for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const random = new Random(number);
  const format = random.pick(bag);
  const list = byFormat.get(format)!;
  const seed = random.pick(list);
  const bytes = mutate(seed, random.pick(list), random);
  // What is damaged must not reach out of the working directory.
  const safe = format === "response" ? bytes.map((b) => (b === 0x2f || b === 0x2d ? 0x2d : b)) : bytes;
  const file = `input.${extensions[format]}`;
  writeFileSync(file, safe);
  process.stdout.write(`${number} ${seed.name}\n`);
  const emit = random.pick(["asm", "asm", "asm", "ir", "object"]);
  const inputs =
    format === "list"
      ? [companion, random.pick(["--export-list", "--dynamic-list", "--version-script"]), file]
      : format === "response"
        ? [`@${file}`]
        : format === "archive" && random.oneIn(2)
          ? ["--whole-archive", file]
          : [file];
  const options = [
    ...random.pick([[], [], ["--shared"], ["--relocatable"], ["-O0"], ["-O2"], ["-Oz"]]),
    ...random.pick([[], ["--relocation-model", "pic"], ["--relocation-model", "static"], ["--no-ipra"]]),
    ...random.pick([[], [], [], ["--regalloc", "greedy"], ["--regalloc", "linear"], ["--regalloc", "graph"]]),
    ...random.pick([[], [], [], ["--guard-callees"], ["--no-shrink-wrap"], ["--spill-cost", "speed"]]),
    ...(random.oneIn(4) ? [companion] : []),
  ];
  const begun = process.cpuUsage();
  const problem =
    format === "script"
      ? checkScript(file, safe)
      : await check(
          ["-j1", "--verify", "--check-regalloc", "--emit", emit, "-o", "out", ...options, ...inputs],
          emit,
          format,
        );
  const { user, system } = process.cpuUsage(begun);
  if (user + system > patience) fail(number, seed, `${((user + system) / 1e6).toFixed(1)} seconds`, safe);
  outcome.cases[format] = (outcome.cases[format] ?? 0) + 1;
  if (problem !== null) fail(number, seed, problem, safe);
}
outcome.peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(`${JSON.stringify(outcome)}\n`);

function fail(number: number, seed: Seed, problem: string, bytes: Uint8Array): void {
  const text = `case ${number} (${seed.name}): ${problem}`;
  outcome.failures.push(text);
  process.stdout.write(`${JSON.stringify({ failure: text })}\n`);
  if (keep !== undefined) writeFileSync(`${keep}/${number}.${extensions[seed.format]}`, bytes);
}

/** Linker scripts in the place of libraries, and a linker's options: read without a run of tsc-lto. */
function checkScript(file: string, bytes: Uint8Array): string | null {
  const words = Buffer.from(bytes).toString("latin1").split(/\s+/);
  try {
    const found = realFiles(file);
    const items = parseLinkerArguments(words);
    if (found.length > 0 || items.length > 0)
      outcome.compiled["script"] = (outcome.compiled["script"] ?? 0) + 1;
    return items.flatMap((item) => item.words).length === words.length
      ? null
      : "words of a command line are lost";
  } catch (e) {
    return e instanceof InputError ? null : ((e as Error).stack ?? String(e));
  }
}

/** What is wrong with how tsc-lto took the arguments, or null. */
async function check(args: readonly string[], emit: string, format: Format): Promise<string | null> {
  rmSync("out", { force: true });
  let stderr = "";
  let code: number;
  try {
    code = await main(args, {
      cwd: process.cwd(),
      env: process.env,
      colour: false,
      workers: false,
      stdin: () => new Uint8Array(),
      stdout: () => {},
      stderr: (text) => (stderr += Buffer.from(text).toString("utf8")),
    });
  } catch (e) {
    const { stack } = e as Error;
    return `[${args.join(" ")}] ${stack?.split("\n").slice(0, 6).join("\n") ?? String(e)}`;
  }
  if (code === 0) {
    outcome.compiled[format] = (outcome.compiled[format] ?? 0) + 1;
    // A damaged response file may name another output.
    if (format === "response") return null;
    if (!existsSync("out")) return "success without an output";
    if (assembler !== undefined && emit === "asm") {
      const { status, stderr: complaint } = spawnSync(assembler, ["-o", "/dev/null", "out"], {
        encoding: "utf8",
      });
      if (status !== 0) return `[${args.join(" ")}] ${complaint.split("\n").slice(0, 3).join("\n")}`;
    }
    return null;
  }
  if (existsSync("out")) return `an output was left (${stderr.slice(0, 200)})`;
  if (!/^tsc-lto: (error|warning): /.test(stderr)) return `exit code ${code} with '${stderr.slice(0, 200)}'`;
  return null;
}
