/** What is in the symbol tables of programs: the sources of local symbols, and versions of those that a library has. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { builtDriver } from "../shell/built-driver.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();
const driver = builtDriver();

/** The names of local symbols after the symbol of each source. */
function localsBySource(w: Workspace, program: string): Map<string, string[]> {
  const rows = execFileSync("readelf", ["-sW", program], { cwd: w.directory, encoding: "utf8" }).split("\n");
  const sources = new Map<string, string[]>();
  let current: string[] = [];
  for (const row of rows.slice(rows.findIndex((line) => line.includes("'.symtab'")))) {
    const [, , , type, binding, , , name = ""] = row.trim().split(/\s+/);
    if (binding !== "LOCAL") continue;
    if (type === "FILE") sources.set(name, (current = []));
    else if (name !== "") current.push(name);
  }
  return sources;
}

describe("local symbols", () => {
  it("come after the symbol of their source, whatever the order of the code", () => {
    const w = new Workspace({
      "sub/one.c": `static int state = 1;
        __attribute__((noinline)) static int same(int x) { state += x; return state; }
        int two(int); int one(int x) { return same(x) + two(x); }`,
      "two.c": `static int state = 2;
        __attribute__((noinline)) static int same(int x) { state -= x; return state; }
        int two(int x) { return same(x) * same(x + 1); }`,
      "empty.c": "int unused(void) { return 0; }",
      "main.c": "int one(int); int main(int c, char **v) { return one(c) == 1 ? 0 : 1; }",
    });
    expect(driver(w, ["-O1", "main.c", "sub/one.c", "empty.c", "two.c", "-o", "p"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(spawnSync(w.path("p")).status).toBe(0);
    const sources = localsBySource(w, "p");
    const own = [...sources.keys()].filter((name) => name === "tsc-lto" || /^[^c].*\.c$/.test(name));
    expect(own).toEqual(["main.c", "one.c", "empty.c", "two.c", "tsc-lto"]);
    expect(sources.get("empty.c")).toEqual([]);
    expect(sources.get("one.c")).toEqual(expect.arrayContaining(["same", "state"]));
    expect(sources.get("two.c")).toEqual(expect.arrayContaining(["same.1", "state.1"]));
    expect(
      execFileSync("nm", ["-u", "p"], { cwd: w.directory, encoding: "utf8" }),
      "nothing that is mentioned is missing",
    ).not.toMatch(/ U (?:same|state|one|two)/);
  }, 60_000);
});

describe("versions of symbols", () => {
  const files = {
    "lib.c": `__asm__(".symver old, v@V1\\n.symver new, v@@V2");
      int old(void) { return 1; } int new(void) { return 2; }`,
    "lib.map": "V1 { global: v; }; V2 { global: v; } V1;",
    "a.c": `__asm__(".symver v, v@V1");
      int v(void); int a(void) { return v(); } int (*pointer)(void) = v;`,
    "b.c": `__asm__(".symver \\"v\\", v@V1; .pushsection .data; .globl word; word: .quad v; .popsection");
      int v(void); int b(void) { return v(); }`,
    "main.c": `#include <stdio.h>
      int v(void), a(void), b(void); extern int (*pointer)(void), (*word)(void);
      int main(void) { printf("%d%d%d%d%d\\n", v(), a(), b(), pointer(), word()); return 0; }`,
  };
  it.each(["-O0", "-Oz"])(
    "are those of the module that asks for them, at %s",
    (level) => {
      const w = new Workspace(files);
      execFileSync("cc", ["-fPIC", "-shared", "-Wl,--version-script=lib.map", "lib.c", "-o", "lib.so"], {
        cwd: w.directory,
      });
      for (const [sources, printed] of [
        [["main.c", "a.c", "b.c"], "21111\n"],
        [["a.c", "b.c", "main.c"], "21111\n"],
      ] as const) {
        const words = [level, ...sources, "./lib.so", "-Wl,-rpath,.", "-Wl,-z,defs", "-o", "p"];
        expect(driver(w, words)).toMatchObject({ code: 0, stderr: "" });
        expect(execFileSync("./p", { cwd: w.directory, encoding: "utf8" })).toBe(printed);
      }
      const names = execFileSync("nm", ["-D", "p"], { cwd: w.directory, encoding: "utf8" });
      expect(names.match(/v@V\d/g)?.sort()).toEqual(["v@V1", "v@V2"]);
    },
    60_000,
  );

  it("hold for the whole program, of what code generation itself calls", () => {
    const copies = (name: string, more: string): string =>
      `${more}void *${name}(void *a, const void *b, __SIZE_TYPE__ n) { return __builtin_memcpy(a, b, n); }`;
    const w = new Workspace({
      "old.c": copies("one", '__asm__(".symver memcpy, memcpy@GLIBC_2.2.5");'),
      "new.c": copies("two", ""),
    });
    expect(driver(w, ["-O2", "-fPIC", "-shared", "new.c", "old.c", "-o", "l.so"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const names = execFileSync("nm", ["-D", "l.so"], { cwd: w.directory, encoding: "utf8" });
    expect(names.match(/memcpy.*/g)).toEqual(["memcpy@GLIBC_2.2.5"]);
  }, 60_000);
});
