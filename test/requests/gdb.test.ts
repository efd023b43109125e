/**
 * gdb goes through programs as through any others: it stops at lines, steps, unwinds, and finishes functions, through code
 * that was outlined, epilogues that functions share, and descriptions of frames that they share.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const gdb = findProgram("gdb");
const fixture = join(import.meta.dirname, "../../fixtures/debug/steps.c");
const source = readFileSync(fixture, "utf8").split("\n");

/** The line that a comment marks. */
function line(mark: string): number {
  const found = source.findIndex((text) => text.includes(`/* ${mark} */`));
  expect(found, mark).toBeGreaterThan(-1);
  return found + 1;
}

/** Functions of a backtrace, without those that were outlined. */
const frames = (text: string): string[] =>
  [...text.matchAll(/^#\d+ +(?:0x[0-9a-f]+ in )?([\w.]+) \(/gm)]
    .map(([, name]) => name!)
    .filter((name) => !/^outlined\b/.test(name));

describe.skipIf(gdb === undefined).each(["-Og", "-O2", "-Oz"])("gdb and a program of %s", (level) => {
  const command = builtCommands();
  const folder = temporaryFolder();

  beforeAll(() => {
    copyFileSync(fixture, join(folder, "steps.c"));
    const { status, stderr } = spawnSync(
      process.execPath,
      [command("tsc-cc"), "-g", level, "steps.c", "-o", "steps"],
      { cwd: folder, encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }, 240_000);

  /** What gdb says to commands, each alone. */
  function session(...commands: string[]): string[] {
    const script = commands.map((text, i) => `echo \\n==${i}\\n\n${text}\n`).join("");
    writeFileSync(join(folder, "script"), `set pagination off\nset confirm off\nset width 0\n${script}`);
    const { stdout } = spawnSync(gdb!, ["-q", "-nx", "-batch", "-x", "script", "steps"], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, DEBUGINFOD_URLS: "" },
      timeout: 60_000,
    });
    return stdout.split(/^==\d+\n/m).slice(1);
  }

  it("stops at lines, and unwinds from there", () => {
    const said = session(`break steps.c:${line("leaf-first")}`, "run", "bt", "up", "delete", "continue");
    expect(said[1]).toMatch(/Breakpoint 1, leaf \(a=\S+, b=\S+\) at steps\.c/);
    expect(frames(said[2]!)).toEqual(["leaf", "first", "main"]);
    expect(said[3]).toContain(`\n${line("first-call")}\t`);
    expect(said[5]).toContain("exited normally");
  });

  it("stops where code was outlined, for each of its lines", () => {
    const said = session(`break steps.c:${line("second-store")}`, "run", "bt", "delete", "continue");
    expect(frames(said[2]!)).toEqual(["second", "main"]);
    expect(said[4]).toContain("exited normally");
  });

  it("finishes functions", () => {
    const said = session(`break steps.c:${line("leaf-first")}`, "run", "delete", "finish", "bt");
    expect(said[3]).toContain("Value returned is $1 = 2");
    expect(frames(said[4]!)).toEqual(["first", "main"]);
  });

  it("unwinds through what was outlined, wherever it is called", () => {
    const stops = Array.from({ length: 9 }, () => ["bt", "continue"]).flat();
    const said = session("break store", "run", ...stops);
    const seen = said.slice(2).flatMap((text, i) => (i % 2 === 0 ? [frames(text).join(" ")] : []));
    const around = ["first", "second", "third"].flatMap((caller) => [
      `store leaf ${caller} main`,
      `store ${caller} main`,
      `store ${caller} main`,
    ]);
    expect(seen).toEqual(around);
  });

  it("steps from line to line, over calls, and out of functions", () => {
    const steps = Array.from({ length: 40 }, () => "next");
    const said = session(`break steps.c:${line("main-second")}`, "run", "delete", "step", "bt", ...steps);
    expect(frames(said[4]!).slice(-2)).toEqual(["second", "main"]);
    const lines = said.slice(5).flatMap((text) => {
      const found = /^(?:0x[0-9a-f]+\s)?(\d+)\t/m.exec(text);
      return found === null ? [] : [Number(found[1])];
    });
    // It comes out of the function, and to the end of main. Lines of outlined code are passed in one step.
    const passed = level === "-Oz" ? ["main-inlined"] : ["second-store", "main-inlined"];
    for (const mark of passed) expect(lines, mark).toContain(line(mark));
    expect(said.join("")).toContain("exited normally");
  });

  it("knows what was inlined", () => {
    const said = session(`break steps.c:${line("inlined-body")}`, "run", "bt", "finish", "up");
    expect(frames(said[2]!)).toEqual(["inlined", "main"]);
    expect(said[2]).toMatch(new RegExp(`main .*steps\\.c:${line("main-inlined")}\n`));
  });

  it("stops at labels, in inlined code too", () => {
    const said = session("break search:found", "run", "bt", "break search:again");
    expect(said[1]).toMatch(/Breakpoint 1, search \(/);
    expect(frames(said[2]!)).toEqual(["search", "main"]);
    expect(said[2]).toMatch(new RegExp(`main .*steps\\.c:${line("main-search")}\n`));
    expect(said[3]).toContain("Breakpoint 2 at");
  });
});
