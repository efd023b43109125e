/**
 * `npm run warm-up`: compiles and links the demo, so that the caches of compiled code (bin/start.cts) are there
 * before anybody waits for them, and were made by a program of some size. Without them nothing is wrong, so neither
 * is a machine without what the demo needs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownPackage } from "./package.js";

const root = ownPackage().directory;
const demo = join(root, "fixtures/demo");
const directory = mkdtempSync(join(tmpdir(), "tsc-lto-warm-up-"));

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(join(root, "bin", command), args, { cwd: directory }).status === 0;
}

try {
  const names = readdirSync(demo).filter((name) => name.endsWith(".c"));
  const sources = names.map((name) => join(demo, name));
  const objects = names.map((name) => name.replace(/\.c$/, ".o"));
  const done =
    run("tsc-cc", ["-c", "-j1", "-O2", ...sources]) && run("tsc-lto", [...objects, "-o", "program.s"]);
  if (!done) console.log("The demo could not be built here; the first links will take a little longer.");
} finally {
  rmSync(directory, { recursive: true });
}
