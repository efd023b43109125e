/** What debuggers show of programs of C++ and Rust, and lldb of all: lines, frames of inlined code, types, values. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const fixtures = join(import.meta.dirname, "../../fixtures/debug");
const gdb = findProgram("gdb");
const lldb = findProgram("lldb-22", "lldb-19", "lldb");

/** Where a comment marks a line of a source. */
function at(source: string, mark: string): string {
  const lines = readFileSync(join(fixtures, source), "utf8").split("\n");
  const line = lines.findIndex((text) => text.includes(`// ${mark}`));
  expect(line, mark).toBeGreaterThan(-1);
  return `${source}:${line + 1}`;
}

function run(folder: string, words: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(words[0]!, words.slice(1), {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, DEBUGINFOD_URLS: "" },
    timeout: 120_000,
  });
  expect({ words, status, stderr: status === 0 ? "" : stderr }).toEqual({ words, status: 0, stderr: "" });
  return stdout;
}

const gdbSays = (folder: string, program: string, ...commands: string[]): string =>
  run(folder, [
    gdb!,
    "-q",
    "-nx",
    "-batch",
    ...["set width 0", ...commands].flatMap((text) => ["-ex", text]),
    program,
  ]);

describe.each(["-O2", "-Oz"])("a C++ program of %s", (level) => {
  const command = builtCommands();
  const folder = temporaryFolder();

  beforeAll(() => {
    copyFileSync(join(fixtures, "steps.cpp"), join(folder, "steps.cpp"));
    const words = ["-g", level, "-Wl,--no-shared-unwind", "steps.cpp", "-lstdc++", "-o", "program"];
    run(folder, [process.execPath, command("tsc-cc"), ...words]);
  }, 240_000);

  it.skipIf(gdb === undefined)("has its methods, objects and locals in gdb", () => {
    const stop = at("steps.cpp", "area-body");
    const said = gdbSays(
      folder,
      "program",
      `break ${stop}`,
      "run",
      "bt",
      "info locals",
      "print *this",
      "continue",
      "bt 1",
    );
    expect(said).toMatch(/^#0 +Box<int>::area \(this=0x[0-9a-f]+, scale=2\) at /m);
    expect(said).toMatch(/^#1 +0x[0-9a-f]+ in total \(/m);
    expect(said).toMatch(/^#2 +0x[0-9a-f]+ in main \(/m);
    expect(said).toContain("product = 6\n");
    expect(said).toMatch(/\{<Shape> = .*width = 2, height = 3/);
    expect(said).toMatch(/^#0 +Box<short>::area \(/m);
  });

  it.skipIf(lldb === undefined)("has them in lldb", () => {
    const [file, line] = at("steps.cpp", "area-body").split(":");
    const commands = [`breakpoint set -f ${file} -l ${line}`, "run", "bt", "frame variable"];
    const said = run(folder, [lldb!, "-b", ...commands.flatMap((text) => ["-o", text]), "program"]);
    expect(said).toMatch(/frame #0: .*`Box<int>::area\(this=0x[0-9a-f]+, scale=2\) const at steps\.cpp/);
    expect(said).toMatch(/frame #1: .*`total\(/);
    expect(said).toMatch(/frame #2: .*`main\(/);
    expect(said).toContain("(int) product = 6\n");
  });
});

const hasRust = /^LLVM version: (1[5-9]|2[0-2])\b/m.test(
  spawnSync("rustc", ["--version", "--verbose"], { encoding: "utf8" }).stdout ?? "",
);

describe.skipIf(gdb === undefined || !hasRust)("a Rust program", () => {
  const command = builtCommands();
  const folder = temporaryFolder();

  it("has its lines, what was inlined, and locals in gdb", () => {
    const tools = join(folder, "tools");
    mkdirSync(tools);
    symlinkSync(command("tsc-ld"), join(tools, "ld"));
    copyFileSync(join(fixtures, "steps.rs"), join(folder, "steps.rs"));
    const words = ["linker-plugin-lto", "linker=gcc", `link-arg=-B${tools}`, "opt-level=2"];
    const options = words.flatMap((word) => ["-C", word]);
    run(folder, ["rustc", "--edition=2021", "-g", ...options, "steps.rs", "-o", "program"]);
    const stops = ["area-last", "inlined-body"].map((mark) => `break ${at("steps.rs", mark)}`);
    const said = gdbSays(
      folder,
      "program",
      ...stops,
      "run",
      "bt",
      "info locals",
      "print *point",
      "continue",
      "bt",
    );
    expect(said).toMatch(/^#0 +steps::area \(point=0x[0-9a-f]+, .* at .*steps\.rs:/m);
    expect(said).toContain("height = 5\n");
    expect(said).toContain("width = 4\n");
    expect(said).toContain("steps::Point {x: 3, y: 4}");
    expect(said).toMatch(/^#0 +steps::square \(side=20\) at .*\n#1 +steps::main \(\)/m);
  }, 240_000);
});
