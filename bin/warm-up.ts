/**
 * `npm run warm-up`: compiles and links the demo and a program of one line, so that the caches of compiled code
 * (bin/start.cts) are there before anybody waits for them, and were made by programs of the sizes that they are for.
 * Without them nothing is wrong, so neither is a machine without what the demo needs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
  const small = join(directory, "small.c");
  writeFileSync(small, 'int puts(const char *);\nint main(void) { return puts("") < 0; }\n');
  const done =
    run("tsc-cc", ["-c", "-j1", "-O2", ...sources, small]) &&
    run("tsc-lto", [...objects, "-o", "program.s"]) &&
    run("tsc-lto", ["small.o", "-o", "small.s"]);
  if (!done) console.log("The demo could not be built here; the first links will take a little longer.");
} finally {
  rmSync(directory, { recursive: true });
}
