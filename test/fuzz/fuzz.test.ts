/**
 * Damaged files of every format, through the whole of tsc-lto: each must end in a clear error or in a result, and
 * never in another exception, a hang or much memory. More cases: FUZZ_CASES, from another place: FUZZ_FIRST.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FuzzOutcome } from "./run.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "fuzz-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Heap of the child in MiB; what inputs of a few kilobytes need is far below. */
const heap = 512;
/** No single case may take that long. */
const patience = 60_000;

/** The child runs what the package would ship, so it is compiled first. */
beforeAll(() => {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "tsc-lto", version: "0.0.0", type: "module" }),
  );
  const compilerOptions = { noEmit: false, rootDir: root, outDir: join(folder, "dist"), types: ["node"] };
  const project = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { ...compilerOptions, typeRoots: [join(root, "node_modules/@types")] },
    files: [join(root, "test/fuzz/run.ts"), join(root, "bin/lto/worker.ts")],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
  expect(status, stdout).toBe(0);
}, 300_000);

/** Runs the child, which is stopped when it prints nothing for too long. */
function run(first: number, count: number): Promise<{ code: number | null; last: string; stderr: string }> {
  const work = join(folder, `work-${first}`);
  mkdirSync(work);
  return new Promise((done) => {
    const args = [`--max-old-space-size=${heap}`, join(folder, "dist/test/fuzz/run.js")];
    const child = spawn(process.execPath, [...args, join(root, "fixtures"), `${first}`, `${count}`], {
      cwd: work,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const stop = (): boolean => child.kill("SIGKILL");
    let timer = setTimeout(stop, patience);
    let last = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => {
      clearTimeout(timer);
      timer = setTimeout(stop, patience);
      last = (last + data.toString("utf8")).split("\n").slice(-2).join("\n");
    });
    child.stderr.on("data", (data: Buffer) => {
      stderr += data.toString("utf8");
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      done({ code, last: last.trim(), stderr });
    });
  });
}

test("damaged files end in an error or in a result", { timeout: 1_200_000 }, async () => {
  const count = Number(process.env["FUZZ_CASES"] ?? 2000);
  const { code, last, stderr } = await run(Number(process.env["FUZZ_FIRST"] ?? 1), count);
  expect(code, `ended at case ${last}\n${stderr}`).toBe(0);
  const { cases, compiled, failures, peakMiB } = JSON.parse(last) as FuzzOutcome;
  expect(failures).toEqual([]);
  expect(peakMiB).toBeLessThan(heap + 512);
  // The damage must be neither fatal to all nor harmless to all.
  for (const format of ["bitcode", "text", "object", "archive", "elf", "list", "response"]) {
    expect(compiled[format], format).toBeGreaterThan(0);
    expect(compiled[format], format).toBeLessThan(cases[format]!);
  }
});
