/**
 * `npm run torture -- --dir DIR`: builds and runs every self-checking C program below DIR with the tool under test.
 *
 * Made for the "execute" part of the GCC C torture tests (a copy is in LLVM's test-suite repository, under
 * SingleSource/Regression/C/gcc-c-torture/execute), and good for any folder of single-file programs. Programs that
 * the reference compiler cannot build or that misbehave with it are left out. In a folder called `builtins` a
 * program NAME.c is built together with NAME-lib.c and lib/main.c.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Case } from "./batch.js";
import { runBatch, summarize, waysAt } from "./batch.js";
import { fastToolchain } from "./in-process.js";
import { askedOfPasses, parseCommandLine, rawOption } from "./options.js";
import { passWays } from "./pipelines.js";
import { cacheDir } from "./root.js";
import { toolchain } from "./toolchain.js";

const usage = `usage: npm run torture -- --dir DIR [-O0 -Oz -O2] [options]
  --dir DIR      folder of C programs (required)
  --filter RE    only programs whose path matches
  --tool NAME    tool under test: ours (default), ours-embedded, llvm, gcc, …
  --jobs N       programs at a time
  --out FILE     results, one JSON object a line (default: in the cache directory)
  --resume       keep what the results file already holds
  --raw          bitcode as clang's front end makes it for the level, before any of clang's passes;
                 without __OPTIMIZE__, by which some programs demand certain optimisations
  --no-pie       position-dependent code
  --flags="…"    more options for tsc-lto
  --guarded      programs check as they run who enters what, and what passes inferred
  --ways="…|…"   link each program with each of these sets of options
  --pass-orders N, --order-seed S   … and with passes in N random orders (seed S, default 1)
  --each-pass-off                   … and without each pass that may be left out
  --list FILE    only programs named in FILE, one a line
  -v             print every failure as it happens`;

/** What modern C made errors and these old programs rely on. */
const permissive = [
  "-w",
  "-std=gnu17",
  "-Wno-implicit-int",
  "-Wno-implicit-function-declaration",
  "-Wno-int-conversion",
  "-Wno-incompatible-function-pointer-types",
  "-Wno-return-type",
];

/** The options a test asks for in its DejaGnu comments, without levels and without conditions on targets. */
function requestedFlags(text: string): string[] {
  const flags: string[] = [];
  for (const m of text.matchAll(/dg-(?:additional-)?options\s+"([^"]*)"\s*\}/g)) {
    flags.push(...m[1]!.split(/\s+/).filter((f) => /^-(f|std|D|W[^l]|m)/.test(f)));
  }
  return flags;
}

/** `__OPTIMIZE__` has programs demand that the compiler does certain things; without it they ask what they compute. */
function collect(dir: string, demands: boolean): Case[] {
  const cases: Case[] = [];
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((f) => f.endsWith(".c"))
    .sort();
  for (const file of files) {
    const path = join(dir, file);
    const folder = dirname(path);
    if (basename(folder) === "lib" || file.endsWith("-lib.c")) continue;
    const flags = [
      ...permissive,
      ...(demands ? [] : ["-U__OPTIMIZE__"]),
      ...requestedFlags(readFileSync(path, "utf8")),
    ];
    const units = [{ source: path, flags }];
    if (basename(folder) === "builtins") {
      const library = path.replace(/\.c$/, "-lib.c");
      if (existsSync(library)) units.push({ source: library, flags: [...flags, "-fno-builtin"] });
      units.push({ source: join(folder, "lib", "main.c"), flags });
    }
    cases.push({ name: relative(dir, path).replace(/\.c$/, ""), units, libs: ["-lm"] });
  }
  return cases;
}

const {
  values,
  levels,
  ltoFlags,
  ways: asked,
} = parseCommandLine({ dir: { type: "string" }, list: { type: "string" }, ...rawOption }, usage);
if (values["dir"] === undefined) {
  console.error(usage);
  process.exit(2);
}
const ways = await passWays(asked, askedOfPasses(values));
const dir = resolve(String(values["dir"]));
const raw = values["raw"] === true;
let cases = collect(dir, !raw);
if (values["filter"] !== undefined) {
  const pattern = new RegExp(String(values["filter"]));
  cases = cases.filter((c) => pattern.test(c.name));
}
if (values["list"] !== undefined) {
  const wanted = new Set(readFileSync(String(values["list"]), "utf8").split(/\s+/));
  cases = cases.filter((c) => wanted.has(c.name));
}
const name = String(values["tool"]);
const jobs = Number(values["jobs"]);
const tool = await fastToolchain(name, jobs, ltoFlags, raw);
const results = String(
  values["out"] ?? join(cacheDir("results"), `torture-${name}${raw ? "-raw" : ""}.jsonl`),
);
let failures = 0;
const outcomes = await runBatch(cases, {
  tool,
  reference: toolchain("clang"),
  levels,
  ways,
  jobs,
  pie: !values["no-pie"],
  timeoutMs: 10_000,
  referenceAtLevels: true,
  referenceCache: join(cacheDir("references"), `torture${values["no-pie"] ? "-no-pie" : ""}.json`),
  results,
  resume: Boolean(values["resume"]),
  progress: (done, of) => {
    for (const o of of) {
      if (o.verdict !== "fail") continue;
      failures++;
      if (values["verbose"])
        console.log(`FAIL ${o.name} ${o.level} ${o.stage}: ${(o.message ?? "").split("\n")[0]}`);
    }
    if (done % 100 === 0) console.error(`${done}/${cases.length} (${failures} failures)`);
  },
});
console.log(
  summarize(
    outcomes,
    levels.flatMap((level) => waysAt(level, ways)),
  ),
);
console.log(`results: ${results}`);
await tool.close();
process.exitCode = outcomes.some((o) => o.verdict === "fail") ? 1 : 0;
