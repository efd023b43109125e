/** Debug information of programs whose code LLVM makes: it comes through our passes, and LLVM takes it for valid. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fixtureBytes } from "../bitcode/fixture.js";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";
import { findClang } from "../tools/toolchain.js";

const clang = findClang();
const dump = findProgram("llvm-dwarfdump-22", "llvm-dwarfdump", "llvm-dwarfdump-19");
/** The system's own may be for its own machine alone. */
const lld = findProgram("ld.lld-22", "ld.lld-19", "ld.lld");
const target = "--target=aarch64-linux-gnu";
const source = `__attribute__((noinline)) int twice(int x) { return 2 * x; }
struct pair { int first, second; };
int sum(struct pair *p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += twice(p[i].first);
  return s;
}
int again(int n) {
  int s = 0;
more:
  s += twice(n);
  if (--n > 0)
    goto more;
  return s;
}
`;

describe.skipIf(clang === undefined)("code that LLVM makes", () => {
  const command = builtCommands();
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.c"), source);
  const run = (tool: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(tool, args, { cwd: folder, encoding: "utf8" });
    // Clang drops debug information that is not valid, and says so.
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  };

  it.skipIf(dump === undefined || lld === undefined)(
    "has lines, types, scopes, labels and where variables are; none without -g, or with -S at the link",
    () => {
      const dwarf = (flags: string[], linkFlags: string[]): string => {
        const compiler = [command("tsc-cc"), target, `--clang=${clang}`, "-O2"];
        const linker = `--ld-path=${lld}`;
        run(process.execPath, ...compiler, ...flags, "-c", "a.c", "-o", "a.o");
        run(process.execPath, ...compiler, ...linkFlags, linker, "-r", "a.o", "-o", "r.o");
        return run(dump!, "--debug-info", "--debug-line", "r.o");
      };
      const full = dwarf(["-g"], []);
      expect(full).toMatch(/DW_AT_name\s+\("sum"\)/);
      expect(full).toMatch(/DW_TAG_structure_type\s+DW_AT_name\s+\("pair"\)/);
      expect(full).toMatch(/DW_TAG_label\s+DW_AT_name\s+\("more"\)/);
      const entries = full.split(/^0x[0-9a-f]+: /m);
      for (const variable of ["s", "n", "x"])
        expect(
          entries.some((entry) => entry.includes(`("${variable}")`) && entry.includes("DW_AT_location")),
          variable,
        ).toBe(true);
      for (const line of [1, 5, 6, 7]) expect(full).toMatch(new RegExp(`^0x[0-9a-f]+\\s+${line}\\s`, "m"));
      for (const none of [dwarf([], []), dwarf(["-g"], ["-Wl,-S"])]) expect(none).not.toContain("sum");
    },
  );

  it.each(["-O2", "-Oz", "-O0"])("is valid after our passes (%s)", (level) => {
    writeFileSync(join(folder, "nodes.bc"), fixtureBytes("nodes-15.bc"));
    run(
      process.execPath,
      command("tsc-lto"),
      "nodes.bc",
      level,
      "--emit=bitcode",
      "--bitcode-version",
      "15",
      "-o",
      "out.bc",
    );
    run(clang!, "-x", "ir", "-c", "out.bc", "-o", "out.o", "-Wno-override-module");
  });
});
