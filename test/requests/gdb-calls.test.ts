/** gdb shows functions that left for others by jumps, and with what arguments functions were called that changed them since. */
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const gdb = findProgram("gdb");
const fixture = join(import.meta.dirname, "../../fixtures/debug/tail-calls.c");
const lines = readFileSync(fixture, "utf8").split("\n");
const at = (mark: string): string =>
  `tail-calls.c:${lines.findIndex((line) => line.includes(`/* ${mark} */`)) + 1}`;

describe.skipIf(gdb === undefined).each([
  ["-O2", "-gdwarf-5"],
  ["-O2", "-gdwarf-4"],
  ["-Oz", "-gdwarf-5"],
])("gdb and calls of a program of %s %s", (level, version) => {
  const command = builtCommands();
  const folder = temporaryFolder();

  beforeAll(() => {
    copyFileSync(fixture, join(folder, "tail-calls.c"));
    const { status, stderr } = spawnSync(
      process.execPath,
      [command("tsc-cc"), version, level, "tail-calls.c", "-o", "program"],
      { cwd: folder, encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }, 240_000);

  const session = (...commands: string[]): string =>
    spawnSync(
      gdb!,
      ["-q", "-nx", "-batch", ...["set width 0", ...commands].flatMap((text) => ["-ex", text])],
      { cwd: folder, encoding: "utf8", env: { ...process.env, DEBUGINFOD_URLS: "" }, timeout: 60_000 },
    ).stdout;

  it("shows functions that left for the one that stopped", () => {
    const said = session(
      "file program",
      `break ${at("leaf-late")}`,
      "run",
      "bt",
      "up",
      "info frame",
      "continue",
      "bt",
    );
    const found = [...said.matchAll(/^#\d+ +(?:0x[0-9a-f]+ in )?([\w.]+) \(/gm)].map(([, name]) => name);
    expect(found).toEqual(["leaf", "middle", "top", "main", "middle", "leaf", "other", "top", "main"]);
    expect(said).toContain("tail call frame");
  });

  it("knows what was passed", () => {
    const said = session("file program", `break ${at("other-first")}`, "run", "bt 2", "continue", "bt 2");
    const passed = [...said.matchAll(/^#0 +other \((.*)\) at/gm)].map(([, text]) => text);
    expect(passed).toEqual(["a=1, b=6", "a=3, b=6"]);
    expect([...said.matchAll(/ in top \((.*)\) at/g)].map(([, text]) => text)).toEqual(["x=1", "x=3"]);
  });
});
