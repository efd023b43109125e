/** Outputs and temporary files that the system refuses: one line, exit code 1, nothing left. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";

const command = builtCommands();
const folder = mkdtempSync(join(tmpdir(), "tsc-lto-full-"));
const temporary = join(folder, "tmp");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(() => {
  mkdirSync(temporary);
  const functions = Array.from(
    { length: 100 },
    (_, i) => `define i32 @f${i}(i32 %0) {\n  %2 = mul i32 %0, ${i + 3}\n  ret i32 %2\n}\n`,
  ).join("");
  writeFileSync(join(folder, "p.ll"), functions);
  writeFileSync(join(folder, "p.c"), "int main(void) { return 0; }\n");
});

type Name = "tsc-cc" | "tsc-lto" | "tsc-ld";

/** @param blocks the largest file that can be written, in the shell's units of 512 or 1024 bytes */
function run(
  name: Name,
  args: readonly string[],
  { blocks = "unlimited", stdout = "pipe" as "pipe" | number, TMPDIR = temporary } = {},
) {
  const words = [process.execPath, command(name), ...args];
  const script = 'ulimit -f "$1"; shift; exec "$@"';
  const { status, stderr } = spawnSync("sh", ["-c", script, "sh", blocks, ...words], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", stdout, "pipe"],
    env: { ...process.env, TMPDIR },
  });
  return { status, stderr };
}

const left = (): string[] => [...readdirSync(folder), ...readdirSync(temporary)].sort();

describe("no room", () => {
  it("for the assembly", () => {
    const before = left();
    expect(run("tsc-lto", ["-r", "p.ll", "-o", "p.s"], { blocks: "1" })).toEqual({
      status: 1,
      stderr: "tsc-lto: error: unable to write output file 'p.s': 'File too large'\n",
    });
    expect(left()).toEqual(before);
  });

  it("for a compiler's bitcode", () => {
    const before = left();
    const { status, stderr } = run("tsc-cc", ["--clang=embedded", "-c", "p.ll", "-o", "p.o"], {
      blocks: "1",
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: unable to open output file/m)]);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(left()).toEqual(before);
  });

  it.each<[Name, string[], string]>([
    ["tsc-lto", ["-r", "p.ll", "-o", "-"], "tsc-lto: error: "],
    ["tsc-cc", ["--clang=embedded", "-c", "p.c", "-o", "-"], "tsc-cc: error: "],
    ["tsc-cc", ["--help"], "tsc-cc: error: "],
    ["tsc-ld", ["--version"], "ld.tsc-lto: error: "],
    ["tsc-lto", ["--help"], "tsc-lto: error: "],
  ])("on standard output of %s %j", (name, args, who) => {
    expect(run(name, args, { stdout: openSync("/dev/full", "w") })).toEqual({
      status: 1,
      stderr: `${who}cannot write to standard output: No space left on device\n`,
    });
  });
});

describe("a missing directory for temporary files", () => {
  const TMPDIR = join(folder, "missing");
  const objects = (): string => {
    expect(run("tsc-lto", ["-r", "--emit", "object", "p.ll", "-o", "p.o"]).status).toBe(0);
    return "p.o";
  };

  it("is named by the linker, by the compiler driver and by the checker", () => {
    const object = objects();
    const runs: [Name, string[], string][] = [
      ["tsc-ld", ["-shared", object, "-o", "p"], "ld.tsc-lto: error: cannot make a temporary directory in"],
      ["tsc-cc", ["-shared", object, "-o", "p"], "tsc-cc: error: cannot make a temporary directory in"],
      [
        "tsc-lto",
        ["-r", "--check-ipra", object, "-o", "p.s"],
        "tsc-lto: error: cannot make a temporary file in",
      ],
    ];
    const before = left();
    for (const [name, args, message] of runs)
      expect(run(name, args, { TMPDIR })).toEqual({
        status: 1,
        stderr: `${message} ${TMPDIR}: No such file or directory\n`,
      });
    expect(left()).toEqual(before);
    rmSync(join(folder, object));
  });

  it("does not matter to a compilation or a link to assembly", () => {
    expect(run("tsc-cc", ["--clang=embedded", "-c", "p.c", "-o", "c.o"], { TMPDIR })).toEqual({
      status: 0,
      stderr: "",
    });
    expect(run("tsc-lto", ["-r", "p.ll", "-o", "p.s"], { TMPDIR })).toEqual({ status: 0, stderr: "" });
  });
});
