/** Definitions of shared libraries that other definitions take the place of at load time, for the library itself, too. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LinkOptions } from "../../lto/link/index.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { ir, link } from "./harness.js";

const library = `@value = constant i32 5
@own = dso_local constant i32 6
define i32 @hook(i32 %x) {
  %a = add i32 %x, 1
  ret i32 %a
}
define dso_local i32 @promised(i32 %x) {
  %a = add i32 %x, 2
  ret i32 %a
}
define i32 @other(i32 %x) {
  %a = add i32 %x, 3
  ret i32 %a
}
define hidden i32 @inside(i32 %x) {
  %a = add i32 %x, 4
  ret i32 %a
}
define weak_odr i32 @same(i32 %x) {
  %a = add i32 %x, 5
  ret i32 %a
}
@hidden_alias = hidden alias i32 (i32), ptr @hook
define i32 @use() noinline {
  %v = load i32, ptr @value
  %a = call i32 @hook(i32 %v)
  %b = call i32 @other(i32 %a)
  %c = call i32 @inside(i32 %b)
  %d = call i32 @promised(i32 %c)
  %e = call i32 @same(i32 %d)
  %f = call i32 @hidden_alias(i32 %e)
  ret i32 %f
}
`;

describe("what is listed", () => {
  const everything = ["*"];
  const linkages = (options: Partial<LinkOptions>): Record<string, string> => {
    const linked = link([ir("l.o", library)], { exports: options.replaceable ?? [], ...options });
    const shown = linked.module.globals.map((g) => [g.name, `${g.linkage}${g.dsoLocal ? " local" : ""}`]);
    return Object.fromEntries(shown) as Record<string, string>;
  };

  it("is weak in a shared library", () => {
    expect(linkages({ output: "shared", replaceable: everything })).toEqual({
      value: "weak",
      own: "weak",
      hook: "weak",
      promised: "weak",
      other: "weak",
      inside: "external local",
      same: "weak_odr",
      hidden_alias: "external local",
      use: "weak",
    });
  });

  it("is not bound to the library by -Bsymbolic, which binds other functions", () => {
    const bound = linkages({ output: "shared", symbolicFunctions: true, replaceable: ["hook", "val*"] });
    expect(bound).toMatchObject({
      value: "weak",
      hook: "weak",
      other: "external local",
      use: "external local",
    });
    expect(bound).toMatchObject({ own: "external local", promised: "external local", same: "weak_odr" });
  });

  it("stays what it is in an executable, where nothing takes its place", () => {
    const entry = { entry: "use", replaceable: everything };
    expect(linkages(entry)).toMatchObject({ hook: "external local", other: "external local" });
    expect(linkages({ ...entry, exportDynamic: true })).toMatchObject({ hook: "external local" });
  });

  it("is not what a version script or an export list names: that is visible as by default", () => {
    const versions = { global: everything, local: [] };
    expect(linkages({ output: "shared", versions })).toMatchObject({ hook: "external", value: "external" });
    const exports = ["hook", "value"];
    expect(linkages({ output: "shared", exports })).toMatchObject({ hook: "external", value: "external" });
    const closed = { global: [], local: everything };
    expect(linkages({ output: "shared", versions: closed, exports })).toMatchObject({ hook: "external" });
  });
});

describe("a program with definitions of its own", () => {
  const folder = temporaryFolder();
  const path = (name: string): string => join(folder, name);
  writeFileSync(path("l.ll"), library);
  writeFileSync(path("list"), "{ hook; value; };\n");
  writeFileSync(path("names"), "hook\nvalue\n");
  writeFileSync(
    path("m.c"),
    `#include <stdio.h>
const int value = 50;
int hook(int x) { return x + 100; }
int other(int x) { return x + 10000; }
int use(void);
int main(void) { printf("%d\\n", use()); return 0; }
`,
  );
  execFileSync("cc", ["-fPIE", "-c", "m.c", "-o", "m.o"], { cwd: folder });

  /** What the program gets from the library. */
  async function result(level: string, own: readonly string[], linker: readonly string[]): Promise<number> {
    const { err } = await tscLto([path("l.ll"), "--shared", level, ...own, "-o", path("l.s")], {
      cwd: folder,
      env: {},
    });
    expect(err).toBe("");
    const run = (command: string, ...args: string[]): string =>
      execFileSync(command, args, { cwd: folder, encoding: "utf8" });
    run("cc", "-shared", ...linker, "l.s", "-o", "l.so");
    run("cc", "-pie", "m.o", "./l.so", "-Wl,-rpath,.", "-o", "p");
    return Number(run(path("p")));
  }

  describe.each(["-O0", "-O2", "-Oz"])("%s", (level) => {
    // 50 + 100 of the program's hook, 3 of the library's other, 4 + 2 + 5 of its own, 1 by its own name for hook.
    it.each([
      ["--dynamic-list", ["--dynamic-list", path("list")], ["-Wl,--dynamic-list=list"]],
      [
        "-Bsymbolic-functions with --export-dynamic-symbol",
        ["--symbolic-functions", "--export-dynamic-symbol", "hook", "--export-dynamic-symbol", "val*"],
        ["-Wl,-Bsymbolic-functions", "-Wl,--dynamic-list=list"],
      ],
      [
        "--export-dynamic-symbol-list",
        ["--symbolic-functions", "--export-dynamic-symbol-list", path("names")],
        ["-Wl,-Bsymbolic-functions", "-Wl,--dynamic-list=list"],
      ],
    ])("the library takes what %s says", async (_, own, linker) => {
      expect(await result(level, own, linker)).toBe(50 + 100 + 3 + 4 + 2 + 5 + 1);
    });

    it("a library that is bound to itself keeps its own functions", async () => {
      const bound = ["-Wl,-Bsymbolic"];
      expect(await result(level, ["--symbolic-functions"], bound)).toBe(5 + 1 + 3 + 4 + 2 + 5 + 1);
    });
  });
});
