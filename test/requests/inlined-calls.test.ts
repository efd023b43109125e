/** Two calls at one place, as macros make them, are two to debuggers where both are inlined: each has its own variables. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";

const command = builtCommands();

it("calls of one macro that the link inlines are told apart", () => {
  const folder = temporaryFolder();
  // In another file, so that no compiler inlines them before.
  writeFileSync(
    join(folder, "callee.c"),
    "extern volatile int sink;\nint callee(int x) { sink = x; int y = x * 3; sink = y; return y + x; }\n",
  );
  writeFileSync(
    join(folder, "caller.c"),
    `volatile int sink;
int callee(int);
#define BOTH(a, b) (callee(a) + callee(b))
__attribute__((noinline)) int caller(int p, int q) { return BOTH(p, q); }
int main(int argc, char **argv) { return caller(argc, argc + 5); }
`,
  );
  const run = (file: string, ...more: string[]): string => {
    const { status, stdout, stderr } = spawnSync(file, more, { cwd: folder, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  };
  run(process.execPath, command("tsc-cc"), "-g", "-O2", "callee.c", "caller.c", "-o", "program");
  const entries = run("readelf", "--debug-dump=info", "program").split(/^ <\d+><[0-9a-f]+>: /m);
  const calls = entries.filter((entry) => entry.includes("(DW_TAG_inlined_subroutine)"));
  const inBoth = calls.filter((entry) => /DW_AT_call_line\s*: (\(data1\) )?4\s/.test(entry));
  expect(inBoth.length).toBe(2);
}, 240_000);
