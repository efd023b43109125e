/**
 * `npm run measurements [-- package…]`: measures sizes at this commit, and writes MEASUREMENTS.md, its figures and its chart.
 * The tree must be clean, so that the commit says what was measured.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFiguresIn } from "./measurements/builds.js";
import { chart } from "./measurements/chart.js";
import { decisionFiguresIn } from "./measurements/decisions.js";
import { dispatchFiguresIn } from "./measurements/dispatch.js";
import type { Figures, ProgramBytes } from "./measurements/figures.js";
import { ipraFiguresIn } from "./measurements/ipra.js";
import { measurementsPage } from "./measurements/page.js";
import { parseCommandLine } from "./options.js";
import { findProgram, projectRoot } from "./root.js";
import { systemCompiler } from "./toolchain.js";

const usualPackages = "lua bzip2 zlib sqlite3 expat gzip mawk xz";
const usage = `usage: npm run measurements [-- package…] [options]
  package     as npm run upstream -- --help lists them; default: ${usualPackages}
  -j N        compilations at a time`;

const { values, words } = parseCommandLine({}, usage);
const root = projectRoot();
const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

function versionOf(command: string): string {
  return execFileSync(command, ["--version"], { encoding: "utf8" }).split("\n", 1)[0]!;
}

function measured(packages: readonly string[]): [string, ProgramBytes & { failed?: string }][] {
  const dir = mkdtempSync(join(tmpdir(), "tsc-lto-measurements-"));
  try {
    const out = join(dir, "cells.json");
    const columns = "clang,ours-per-file,ours-no-ipra,ours,clang-lto,clang-lto-ipra,gcc,gcc-lto";
    const options = ["--columns", columns, "--repeat", "1", "--out", out, "-j", String(values["jobs"])];
    execFileSync(process.execPath, [join(root, "dist/tools/bench.js"), ...packages, ...options], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
    });
    return JSON.parse(readFileSync(out, "utf8"));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

if (git("status", "--porcelain") !== "") {
  console.error("the tree has changes that no commit has: the figures would be of no commit");
  process.exit(1);
}
const packages = words.length > 0 ? words : usualPackages.split(" ");
const programs: Record<string, Record<string, ProgramBytes>> = {};
for (const [key, { text, unwind, rodata, failed }] of measured(packages)) {
  const [program, column] = key.split(" ") as [string, string];
  if (failed !== undefined && failed !== null) continue;
  programs[program] ??= {};
  programs[program][column] = { text, unwind, rodata };
}
const figures: Figures = {
  commit: git("rev-parse", "--short", "HEAD"),
  command: `npm run measurements${words.length > 0 ? ` -- ${words.join(" ")}` : ""}`,
  peers: [versionOf(systemCompiler()), ...(findProgram("gcc") === undefined ? [] : [versionOf("gcc")])],
  programs,
};
writeFileSync(join(root, "fixtures/measurements/sizes.json"), `${JSON.stringify(figures, null, 1)}\n`);
writeFileSync(join(root, "fixtures/measurements/sizes.svg"), chart(figures));
writeFileSync(
  join(root, "MEASUREMENTS.md"),
  measurementsPage(
    figures,
    buildFiguresIn(root),
    decisionFiguresIn(root),
    ipraFiguresIn(root),
    dispatchFiguresIn(root),
  ),
);
