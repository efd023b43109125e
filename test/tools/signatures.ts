/**
 * `npm run signatures -- --count N --seed S`: random signatures (signature-programs.ts) across the boundary to native
 * code, in both directions: one file compiled and linked by the tool under test, the other by a native compiler. A
 * program whose sides are both native comes first: where that fails the compilers disagree, and nothing is said of ours;
 * nor where the native compiler breaks down (GCC 12, with some of AVX-512).
 * Options of the link and the side that is native rotate with the seed. Programs that fail are kept.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseCommandLine } from "./options.js";
import { mapLimit, type RunResult, run } from "./process.js";
import { cacheDir, findProgram, projectRoot } from "./root.js";
import { type SignatureProgram, signatureProgram } from "./signature-programs.js";
import { systemClang } from "./toolchain.js";

const usage = `usage: npm run signatures -- [--count N] [--seed S] [--levels O0,O2,Oz] [--native gcc|clang-22] [options]
  --count N      number of signatures (default 400)
  --each N       signatures in a program (default 40)
  --seed S       seed of the first program (default 1)
  --native NAME  the other side's compiler (default: gcc and clang in turn)
  --machine FLAG of all compilers, such as -mavx2 (default: none)
  --keep DIR     where failing programs go (default: in the cache directory)
  --jobs N, --flags="…" of tsc-lto in place of those that rotate, -v   as for torture`;

/** Ways of linking, by seed. */
const ways: readonly (readonly string[])[] = [[], ["--no-ipra"], ["--regalloc=greedy"], ["--no-shrink-wrap"]];

const { values, levels, ltoFlags } = parseCommandLine(
  {
    count: { type: "string", default: "400" },
    each: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    native: { type: "string" },
    machine: { type: "string" },
    keep: { type: "string" },
  },
  usage,
);
const each = Number(values["each"]);
const first = Number(values["seed"]);
const keep = String(values["keep"] ?? cacheDir("signature-failures"));
const scratch = mkdtempSync(join(tmpdir(), "signatures-"));
const clang = systemClang();
const named = values["native"];
const gcc = findProgram("gcc");
const natives = named === undefined ? [...(gcc === undefined ? [] : [gcc]), clang] : [String(named)];
const machine = values["machine"] === undefined ? [] : [String(values["machine"])];
/** Of vector registers with those flags. */
const has = (pattern: RegExp): boolean => machine.some((flag) => pattern.test(flag));
const registerBytes = has(/avx512|v4$/) ? 64 : has(/avx|v3$/) ? 32 : 16;
const isGcc = (native: string): boolean => /(^|\/)gcc[^/]*$/.test(native);
const tscCc = join(projectRoot(), "bin", "tsc-cc");
const limits = { timeoutMs: 120_000 };
let passed = 0;
let failed = 0;
let disputed = 0;

/** What is wrong with a program, or null. */
async function tried(command: readonly string[], exe: string): Promise<string | null> {
  const made = await run(command, limits);
  if (made.status !== 0) return `not built: ${made.stderr.slice(0, 1000)}`;
  const found: RunResult = await run([exe], { timeoutMs: 20_000, sandbox: true });
  if (found.status === 0 && / checks\n$/.test(found.stdout.toString())) return null;
  return `status ${found.status}: ${found.stdout.toString().split("\n").slice(0, 3).join("; ")}`;
}

/** Compiles to an object; what went wrong, or null. */
async function compiled(command: readonly string[], source: string, object: string): Promise<string | null> {
  const { status, stderr } = await run(
    [...command, ...machine, "-w", "-fPIE", "-c", source, "-o", object],
    limits,
  );
  return status === 0 ? null : `not compiled: ${stderr.slice(0, 1000)}`;
}

async function program(seed: number): Promise<void> {
  const native = natives[seed % natives.length]!;
  const dir = join(scratch, String(seed));
  mkdirSync(dir);
  const { first: one, second: two }: SignatureProgram = signatureProgram(
    seed,
    each,
    !isGcc(native),
    registerBytes,
  );
  const sources = [join(dir, "first.c"), join(dir, "second.c")];
  writeFileSync(sources[0]!, one);
  writeFileSync(sources[1]!, two);
  const turn = Math.floor(seed / natives.length);
  const mine = turn % 2;
  const way = ltoFlags.length > 0 ? ltoFlags : ways[Math.floor(turn / 2) % ways.length]!;
  const fail = (what: string): void => {
    failed += each;
    cpSync(dir, join(keep, String(seed)), { recursive: true });
    console.log(`FAIL seed ${seed}, ${native}, ${what}`);
  };
  const theirs = join(dir, "native.o");
  const wrong = await compiled(
    [native, "-O2", ...(isGcc(native) ? ["-Wno-psabi"] : [])],
    sources[1 - mine]!,
    theirs,
  );
  if (wrong !== null) {
    if (!wrong.includes("internal compiler error")) return fail(wrong);
    disputed += each;
    console.log(`seed ${seed}: ${native} fails: ${wrong}`);
    return;
  }
  const plain = join(dir, "plain.o");
  const whole = join(dir, "plain");
  const problem =
    (await compiled([clang, "-O1"], sources[mine]!, plain)) ??
    (await tried(["cc", plain, theirs, "-o", whole], whole));
  if (problem !== null) {
    disputed += each;
    console.log(`seed ${seed}: ${native} and ${clang} disagree: ${problem}`);
    return;
  }
  for (const level of levels) {
    const object = join(dir, `${level}.o`);
    const exe = join(dir, level);
    const options = [`-${level}`, `--clang=${clang}`];
    const flags = way.map((flag) => `-Wl,--tsc-lto=${flag}`);
    const bad =
      (await compiled([tscCc, ...options], sources[mine]!, object)) ??
      (await tried([tscCc, ...options, object, theirs, ...flags, "-o", exe], exe));
    if (bad === null) passed += each;
    else fail(`-${level} ${way.join(" ")}, ${mine === 0 ? "first" : "second"}.c is ours: ${bad}`);
  }
  if (values["verbose"]) console.log(`seed ${seed}: ${native} ${way.join(" ")}`);
  rmSync(dir, { recursive: true, force: true });
}

const programs = Math.ceil(Number(values["count"]) / each);
const seeds = Array.from({ length: programs }, (_, i) => first + i);
await mapLimit(seeds, Number(values["jobs"]), program);
rmSync(scratch, { recursive: true, force: true });
if (failed > 0) console.log(`failing programs are in ${keep}`);
if (disputed > 0) console.log(`${disputed} signatures are in programs that compilers disagree about`);
console.log(`${passed} signatures passed, ${failed} failed, each level counted`);
process.exitCode = failed > 0 ? 1 : 0;
