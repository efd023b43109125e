/**
 * `npm run upstream [-- package…]`: builds upstream packages with the tool under test and with plain clang, runs
 * their tests with both, and compares.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseCommandLine, rawOption } from "./options.js";
import { packageNames, selectRecipes } from "./packages/registry.js";
import type { Prepared } from "./prepared.js";
import { buildProgram, prepare, transcript } from "./prepared.js";
import { mapLimit } from "./process.js";
import { cacheDir } from "./root.js";
import { makeTally } from "./tally.js";
import { referenceToolchain, toolchain } from "./toolchain.js";

const usage = `usage: npm run upstream -- [package…] [-Oz -O2] [options]
  package        ${packageNames()}
                 (default: lua bzip2 zlib sqlite3; all: all but sqlite3-files)
  --tool NAME    tool under test: ours (default), ours-embedded, llvm, gcc, clang-lto, …
  --lto-flags S  options for the whole-program step, separated by spaces
  --guarded      programs check as they run who enters what, and what passes inferred
  --filter RE    only checks whose name matches
  --jobs N       compilations at a time
  --raw          bitcode as clang's front end makes it, before any of clang's passes
  --no-pie       position-dependent code
  -v             show the first difference of every failing check`;

const {
  values,
  words,
  levels,
  ltoFlags: guards,
} = parseCommandLine(
  {
    "lto-flags": { type: "string", default: "" },
    levels: { type: "string", default: "Oz,O2" },
    ...rawOption,
  },
  usage,
);
const name = String(values["tool"]);
const raw = values["raw"] === true;
const tool = toolchain(name, raw);
const reference = referenceToolchain();
const jobs = Number(values["jobs"]);
const pie = !values["no-pie"];
const ltoFlags = [...String(values["lto-flags"]).split(" ").filter(Boolean), ...guards];
const pattern = new RegExp(String(values["filter"] ?? ""));
const { report, finish } = makeTally();

/** Transcripts of the reference build, which is made once for all levels. */
async function referenceTranscripts(p: Prepared): Promise<Map<string, string>> {
  const dir = cacheDir("upstream", p.recipe.name, "reference");
  await mapLimit([...p.programs.keys()], 1, async (program) => {
    const r = await buildProgram(p, program, reference, "O1", dir, { jobs, pie });
    if (r.failed !== undefined) throw new Error(`reference build of ${program}: ${r.message}`);
  });
  const texts = new Map<string, string>();
  for (const check of p.recipe.checks(p.dir)) {
    if (!pattern.test(check.name)) continue;
    const text = await transcript(p, check, dir);
    if (/\nstatus 0\n$/.test(text)) texts.set(check.name, text);
    else report(false, `${p.recipe.name} ${check.name} with the reference`, text.slice(-300));
  }
  return texts;
}

function firstDifference(a: string, b: string): string {
  const [x, y] = [a.split("\n"), b.split("\n")];
  const i = x.findIndex((line, k) => line !== y[k]);
  const shown = (line: string | undefined) => JSON.stringify((line ?? "(end)").slice(0, 160));
  return `line ${i + 1}: expected ${shown(x[i])}, got ${shown(y[i])}`;
}

for (const recipe of selectRecipes(words)) {
  const p = await prepare(recipe);
  const expected = await referenceTranscripts(p);
  for (const level of levels) {
    const dir = cacheDir("upstream", recipe.name, `${name}-${level}${raw ? "-raw" : ""}`);
    mkdirSync(dir, { recursive: true });
    let complete = true;
    for (const program of p.programs.keys()) {
      const what = `${recipe.name} -${level} build ${program}`;
      const r = await buildProgram(p, program, tool, level, dir, { jobs, pie, ltoFlags });
      report(r.failed === undefined, what, r.failed === undefined ? "" : `${r.failed}: ${r.message}`);
      complete &&= r.failed === undefined;
    }
    for (const [check, text] of expected) {
      const what = `${recipe.name} -${level} ${check}`;
      if (!complete) {
        report(false, what, "not built");
        continue;
      }
      const found = await transcript(p, p.recipe.checks(p.dir).find((c) => c.name === check)!, dir);
      report(found === text, what, found === text ? "" : firstDifference(text, found));
      if (found !== text) {
        writeFileSync(join(dir, `${check.replace(/\W/g, "_")}.expected`), text, "latin1");
        writeFileSync(join(dir, `${check.replace(/\W/g, "_")}.found`), found, "latin1");
      }
    }
  }
}
finish();
