/**
 * `npm run vector-functions -- --count N --seed S`: random functions of vector operations (vector-programs.ts), for processors from
 * SSE2 to AVX-512: what ours and clang's code of the same IR make of the same data. Modules that differ are kept.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threadPool } from "./in-process.js";
import { parseCommandLine } from "./options.js";
import { mapLimit, mustRun, run } from "./process.js";
import { cacheDir } from "./root.js";
import { systemClang } from "./toolchain.js";
import { type Level, vectorLevels, vectorMain } from "./vector-levels.js";
import { vectorModule } from "./vector-programs.js";

const usage = `usage: npm run vector-functions -- [--count N] [--seed S] [--levels O0,O2,Oz] [--features AVX2,…] [options]
  --count N      number of functions (default 400)
  --each N       functions in a module (default 40)
  --seed S       seed of the first module (default 1)
  --features S   of ${vectorLevels.map(({ name }) => name).join(", ")} (default: all that the machine has);
                 what none of those named has is not assembled
  --keep DIR     where failing modules go (default: in the cache directory)
  --jobs N, --flags="…" of tsc-lto   as for torture`;

const { values, levels, ltoFlags } = parseCommandLine(
  {
    count: { type: "string", default: "400" },
    each: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    features: { type: "string" },
    keep: { type: "string" },
  },
  usage,
);

const cpuinfo = existsSync("/proc/cpuinfo") ? readFileSync("/proc/cpuinfo", "utf8") : "";
const flags = new Set((/^flags\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? "").trim().split(" "));
const isThere = ({ needs }: Level): boolean => needs.every((name) => flags.has(name));
const asked = values["features"] === undefined ? null : String(values["features"]).split(",");
const chosen = vectorLevels.flatMap((level, i) =>
  (asked?.includes(level.name) ?? true) && isThere(level) ? [i] : [],
);
if (chosen.length === 0) throw new Error("this machine has none of these features");
const hasWide = flags.has("avx512f");
// What the assembler takes: nothing that the features do not have, which a machine that has more would run. To LLVM, AVX-512 has FMA.
const extensions = new Set(chosen.flatMap((i) => vectorLevels[i]!.features.split(",")));
if (extensions.has("+avx512f")) for (const brought of ["+fma", "+f16c"]) extensions.add(brought);
const assemblerNames = [...extensions].join("").replace(/avx512(?=vbmi2|bitalg|vpopcntdq|vnni)/g, "avx512_");
const onlyThese = `-Wa,-march=generic64${assemblerNames}`;

const each = Number(values["each"]);
const first = Number(values["seed"]);
const keep = String(values["keep"] ?? cacheDir("vector-failures"));
const scratch = mkdtempSync(join(tmpdir(), "vector-functions-"));
const pool = threadPool(Number(values["jobs"]));
const clang = systemClang();
let equal = 0;
let failures = 0;

const linesOf = async (exe: string): Promise<string[]> => {
  const { status, stdout } = await run([exe], { timeoutMs: 20_000, sandbox: true });
  return [...stdout.toString().split("\n"), `status ${status}`];
};

async function oneModule(seed: number): Promise<void> {
  const dir = join(scratch, String(seed));
  mkdirSync(dir);
  const at = (name: string): string => join(dir, name);
  writeFileSync(at("functions.ll"), vectorModule(seed, each, chosen));
  writeFileSync(at("main.c"), vectorMain(each, hasWide));
  const wide = hasWide ? ["-mavx512f"] : [];
  await mustRun(["cc", "-O1", ...wide, "-c", at("main.c"), "-o", at("main.o")]);
  await mustRun([clang, "-w", "-O1", "-c", at("functions.ll"), "-o", at("clang.o")]);
  await mustRun(["cc", at("main.o"), at("clang.o"), "-lm", "-o", at("clang")]);
  const expected = await linesOf(at("clang"));
  for (const level of levels) {
    const problem = await tried(level, at, expected);
    if (problem === null) {
      equal += each;
      continue;
    }
    failures++;
    cpSync(dir, join(keep, String(seed)), { recursive: true });
    console.log(`FAIL seed ${seed}, -${level}: ${problem.slice(0, 1000)}`);
  }
  rmSync(dir, { recursive: true, force: true });
}

/** What is wrong with our code of a module, or null. */
async function tried(
  level: string,
  at: (name: string) => string,
  expected: readonly string[],
): Promise<string | null> {
  const [assembly, object, exe] = [at(`${level}.s`), at(`${level}.o`), at(level)];
  const checks = ["--check-regalloc", "--check-ipra", "--verify"];
  const made = await pool.execute(
    ["tsc-lto", "-r", `-${level}`, "-j1", ...checks, ...ltoFlags, at("functions.ll"), "-o", assembly],
    { cwd: at("") },
  );
  if (made.status !== 0) return `not compiled: ${made.stderr}`;
  for (const step of [
    ["cc", "-c", onlyThese, assembly, "-o", object],
    ["cc", at("main.o"), object, "-lm", "-o", exe],
  ]) {
    const { status, stderr } = await run(step);
    if (status !== 0) return `not built: ${stderr}`;
  }
  const lines = await linesOf(exe);
  const wrong = new Set(expected.flatMap((line, i) => (line === lines[i] ? [] : [line.split(" ")[0]!])));
  return wrong.size === 0
    ? null
    : `differs in ${[...wrong].map((i) => `f${i}`).join(", ")} (${lines.at(-1)})`;
}

const modules = Math.ceil(Number(values["count"]) / each);
await mapLimit(
  Array.from({ length: modules }, (_, i) => first + i),
  Number(values["jobs"]),
  oneModule,
);
await pool.close();
rmSync(scratch, { recursive: true, force: true });
if (failures > 0) console.log(`failing modules are in ${keep}`);
console.log(`${equal} functions equal, ${failures} modules failed, each level counted`);
process.exitCode = failures > 0 ? 1 : 0;
