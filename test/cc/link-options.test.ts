/** Options of link steps, through to the program: who links, what is kept, what is linked when it is needed. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { builtDriver } from "../shell/built-driver.js";
import { builtCommands } from "../support/built.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();
const driver = builtDriver();
const command = builtCommands();

const w = new Workspace({
  "main.c": "extern int helper(int);\nint main(int c, char **v) { return helper(c) + 40; }\n",
  "helper.c": "int twice(int);\nint helper(int x) { return twice(x); }\n",
  "twice.c": "int twice(int x) { return 2 * x; }\n",
  "unneeded.c": "int nowhere(void);\nint unneeded(void) { return nowhere(); }\n",
});
const cc = (...args: string[]) => driver(w, args);
const run = (program: string, ...args: string[]): { status: number | null; text: string } => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: w.directory, encoding: "utf8" });
  return { status, text: stdout + stderr };
};
const native = (name: string): void => {
  expect(run("cc", "-O1", "-c", `${name}.c`, "-o", `${name}.native.o`)).toEqual({ status: 0, text: "" });
};

describe("tsc-cc", () => {
  it("takes options of tsc-lto by their names", () => {
    const { code, stderr } = cc(
      "-O2",
      "-v",
      "main.c",
      "helper.c",
      "twice.c",
      "-Wl,--no-ipra,--outline-rounds,3,--gc-sections",
      "-o",
      "named",
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/tsc-lto" .*"--no-ipra" .*"--outline-rounds=3"/);
    expect(stderr).toMatch(/"cc" .*"--gc-sections"/);
    expect(stderr).not.toMatch(/"cc" .*(?:no-ipra|outline)/);
    expect(run("./named").status).toBe(42);
    expect(cc("-O2", "main.c", "-Wl,--thinlto-index-only=x", "-o", "none")).toMatchObject({
      code: 1,
      stderr:
        "tsc-cc: error: unsupported linker option '--thinlto-index-only=x': there is no distributed ThinLTO\n",
    });
  }, 120_000);

  it("reads symbols after -u and -e in one word", () => {
    const words = ["-O2", "main.c", "helper.c", "twice.c", "unneeded.c", "-o", "kept"];
    expect(
      cc(...words, "-Wl,-unowhere2,-uunneeded,-emain", "-Wl,--defsym=nowhere=0,--defsym=nowhere2=0"),
    ).toMatchObject({ code: 0, stderr: "" });
    expect(run("nm", "kept").text).toMatch(/ T unneeded$/m);
    expect(run("readelf", "-h", "kept").text).toMatch(/Entry point address/);
  }, 120_000);

  it("links objects between --start-lib and --end-lib when they are needed, native ones with GNU ld, too", () => {
    for (const name of ["twice", "unneeded"]) native(name);
    const words = ["-Wl,--start-lib", "twice.native.o", "unneeded.native.o", "helper.c", "-Wl,--end-lib"];
    expect(cc("-O2", "main.c", ...words, "-o", "lazy")).toMatchObject({ code: 0, stderr: "" });
    expect(run("./lazy").status).toBe(42);
    expect(run("nm", "lazy").text).not.toMatch(/unneeded/);
  }, 120_000);

  it("has another linker where --ld-path and -fuse-ld name one, by whatever name", () => {
    // What it was called with goes to a file.
    const linker = (name: string): string => {
      writeFileSync(w.path(name), `#!/bin/sh\necho "$0 $*" >> ${w.path("called")}\nexec ld "$@"\n`);
      chmodSync(w.path(name), 0o755);
      return w.path(name);
    };
    const path = linker("my linker");
    expect(cc("-O2", "main.c", "helper.c", "twice.c", `--ld-path=${path}`, "-o", "other")).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(w.text("called")).toMatch(/\/my linker .*-o other/);
    expect(run("./other").status).toBe(42);
    linker("ld.mine-7");
    const env = { PATH: `${w.directory}:${process.env["PATH"]}` };
    writeFileSync(w.path("called"), "");
    expect(
      driver(w, ["main.c", "helper.c", "twice.c", "-fuse-ld=mine-7", "-o", "other"], { env }).stderr,
    ).toBe("");
    expect(w.text("called")).toContain("-o other");
    // rustc has its lld in a folder of its own.
    mkdirSync(w.path("tools"));
    linker("tools/ld.theirs");
    for (const words of [["-Btools"], ["-B", `${w.directory}/tools`]]) {
      writeFileSync(w.path("called"), "");
      const sources = ["main.c", "helper.c", "twice.c"];
      expect(cc(...words, ...sources, "-fuse-ld=theirs", "-o", "other")).toMatchObject({
        code: 0,
        stderr: "",
      });
      expect(w.text("called")).toContain("-o other");
    }
    expect(cc("main.c", "-fuse-ld=nowhere", "-o", "other").stderr).toBe(
      "tsc-cc: error: invalid linker name in '-fuse-ld=nowhere': not on PATH\n",
    );
  }, 120_000);

  for (const [name, own] of [
    ["lld-22", "--icf=all"],
    ["lld", "--icf=all"],
    ["mold", "--icf=all"],
    ["gold", "--icf=all"],
  ] as const)
    it.skipIf(spawnSync(`ld.${name}`, ["-v"]).error !== undefined)(
      `links with ${name}, and its options`,
      () => {
        const made = cc("-O2", "main.c", "helper.c", "twice.c", `-fuse-ld=${name}`, `-Wl,${own}`, "-o", "by");
        expect(made).toMatchObject({ code: 0, stderr: "" });
        expect(run("./by").status).toBe(42);
      },
      60_000,
    );

  it("translates for GNU ld what others have, or names it", () => {
    const sources = ["main.c", "helper.c", "twice.c"];
    const words = "-Wl,--icf=all,--threads=2,--color-diagnostics,--pack-dyn-relocs=relr,--error-limit=3";
    expect(cc("-O2", "-fuse-ld=bfd", ...sources, words, "-o", "gnu")).toMatchObject({ code: 0, stderr: "" });
    expect(run("./gnu").status).toBe(42);
    expect(cc("-fuse-ld=bfd", ...sources, "-Wl,--why-extract=x", "-o", "none").stderr).toMatch(
      /^tsc-cc: error: linker option '--why-extract=x': GNU ld has nothing like it .*\n$/,
    );
  }, 120_000);

  it("keeps what --save-temps, --lto-obj-path and --lto-emit-asm ask for", () => {
    const sources = ["main.c", "helper.c", "twice.c"];
    expect(cc("-O2", ...sources, "-Wl,--save-temps,--lto-obj-path=kept.o", "-o", "temps")).toMatchObject({
      code: 0,
      stderr: "",
    });
    for (const suffix of ["", ".0.2.internalize.bc", ".0.4.opt.bc", ".lto.s", ".lto.o"])
      expect(existsSync(w.path(`temps${suffix}`)), suffix).toBe(true);
    expect(w.text("temps.lto.s")).toMatch(/^\s*\.globl\s+main$/m);
    expect(w.read("kept.o").equals(w.read("temps.lto.o"))).toBe(true);
    const llvm = run("llvm-dis-22", "temps.0.2.internalize.bc", "-o", "-");
    if (llvm.status === 0) expect(llvm.text).toContain("@main(");
    expect(cc("-O2", ...sources, "-Wl,--lto-emit-asm", "-o", "asm")).toMatchObject({ code: 0, stderr: "" });
    expect([existsSync(w.path("asm")), w.text("asm.lto.s")]).toEqual([false, w.text("temps.lto.s")]);
    expect(cc("-O2", ...sources, "-Wl,-plugin-opt=emit-llvm", "-o", "program.bc")).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(w.read("program.bc").subarray(0, 2).toString()).toBe("BC");
  }, 120_000);

  it("adds to maps where symbols are from, and what was left out", () => {
    const t = new Workspace({
      "a.c": `int small(int), large(int); int unused(void) { return 1; }
        int main(int c, char **v) { return small(c) + large(c) + large(2); }`,
      "b.c": `int state = 1; int small(int x) { return x * 2; }
        __attribute__((noinline)) int large(int x) { for (int i = 0; i < x; i++) state += x / state; return state; }`,
    });
    expect(driver(t, ["-O2", "-c", "a.c", "b.c"])).toMatchObject({ code: 0, stderr: "" });
    expect(driver(t, ["a.o", "b.o", "-Wl,-Map=p.map,--cref", "-o", "p"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const map = t.text("p.map");
    expect(map).toMatch(/^ 0x[0-9a-f]{16} +0x[0-9a-f]+ main: a\.c \(a\.o\)$/m);
    expect(map).toMatch(/^ 0x[0-9a-f]{16} +0x[0-9a-f]+ large: b\.c \(b\.o\)$/m);
    expect(map).toMatch(/^ 0x[0-9a-f]{16} +0x4 state: b\.c \(b\.o\)$/m);
    expect(map).toMatch(/^ unused: a\.c \(a\.o\): nothing needs it$/m);
    expect(map).toMatch(/^ small: b\.c \(b\.o\): its code is where it was called$/m);
    expect(map).toMatch(/^large +b\.c \(b\.o\)\n +a\.c \(a\.o\)$/m);
    const main = /^ 0x0*([0-9a-f]+) +\S+ main:/m.exec(map)![1]!;
    const { stdout } = spawnSync("nm", ["p"], { cwd: t.directory, encoding: "utf8" });
    expect(stdout).toMatch(new RegExp(`^0*${main} T main$`, "m"));
    // A report that is wanted besides stays; without a file the map goes to standard output.
    const printed = driver(t, ["a.o", "b.o", "-Wl,--print-map,--size-report=%.json", "-s", "-o", "p"]);
    expect(printed.stdout).toMatch(/^ {20,}main: a\.c \(a\.o\)$/m);
    expect(t.list()).toEqual(["a.c", "a.o", "b.c", "b.o", "p", "p.json", "p.map"]);
    const lines = ["-shared", "-o", "p.so", "--print-map", "a.o", "b.o"];
    const linked = spawnSync(process.execPath, [command("tsc-ld"), ...lines], {
      cwd: t.directory,
      encoding: "utf8",
    });
    expect(linked.stdout).toMatch(/^ 0x[0-9a-f]{16} +0x[0-9a-f]+ large: b\.c \(b\.o\)$/m);
  }, 120_000);

  it("keeps with -save-temps what is made of each source, and of the program", () => {
    const t = new Workspace({
      "src/main.c": "#define ANSWER 42\nint main(void) { return ANSWER; }\n",
      "src/more.cc": "int more() { return 1; }\n",
    });
    expect(driver(t, ["-save-temps=obj", "-Oz", "src/main.c", "src/more.cc", "-o", "src/p"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const ofProgram = [".0.2.internalize.bc", ".0.4.opt.bc", ".lto.o", ".lto.s"].map(
      (suffix) => `p${suffix}`,
    );
    expect(t.list("src")).toEqual(
      [
        ...["bc", "c", "i", "o"].map((each) => `main.${each}`),
        ...["bc", "cc", "ii", "o"].map((each) => `more.${each}`),
        "p",
        ...ofProgram,
      ].sort(),
    );
    expect(t.text("src/main.i")).toMatch(/^int main\(void\) \{ return 42; \}$/m);
    expect(t.read("src/main.bc").subarray(0, 2).toString()).toBe("BC");
    expect(driver(t, ["-save-temps", "-Oz", "-c", "src/main.c", "-o", "src/x.o"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(t.list()).toEqual(["main.bc", "main.i", "src"]);
    // What was preprocessed before is not written over.
    expect(driver(t, ["-save-temps", "-c", "main.i"])).toMatchObject({ code: 0, stderr: "" });
    expect(driver(t, ["-save-temps", "-Oz", "main.o", "-o", "src/q"])).toMatchObject({ code: 0, stderr: "" });
    expect(t.list()).toEqual([
      ...["main.bc", "main.i", "main.o", "q.0.2.internalize.bc", "q.0.4.opt.bc", "q.lto.o", "q.lto.s", "src"],
    ]);
  }, 120_000);

  it("warns of options of LLVM that mean nothing here", () => {
    const { code, stderr } = cc(
      "-O2",
      "main.c",
      "helper.c",
      "twice.c",
      "-Wl,-mllvm,-import-instr-limit=5",
      "-o",
      "llvm",
    );
    expect([code, stderr]).toEqual([
      0,
      "tsc-cc: warning: -mllvm -import-instr-limit=5: not an option that means something here\n",
    ]);
  }, 120_000);
});

describe("ld.tsc-lto", () => {
  const link = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [command("tsc-ld"), ...args], {
      cwd: w.directory,
      encoding: "utf8",
    });
    return { status, stderr };
  };
  it("does the same", () => {
    for (const name of ["twice", "unneeded"]) native(name);
    expect(cc("-O2", "-fPIC", "-c", "main.c", "helper.c")).toMatchObject({ code: 0, stderr: "" });
    const inputs = ["main.o", "--start-lib", "unneeded.native.o", "helper.o", "twice.native.o", "--end-lib"];
    const own = ["--no-ipra", "--outline-rounds", "2", "--icf=all", "--save-temps", "-mllvm", "-x=1"];
    expect(link("-shared", "-o", "lib.so", ...own, ...inputs)).toEqual({
      status: 0,
      stderr: "ld.tsc-lto: warning: -mllvm -x=1: not an option that means something here\n",
    });
    const names = run("nm", "-D", "lib.so").text;
    expect(names).toMatch(/ T main$/m);
    expect(names).not.toMatch(/unneeded/);
    for (const suffix of [".0.2.internalize.bc", ".0.4.opt.bc", ".lto.s", ".lto.o"])
      expect(existsSync(w.path(`lib.so${suffix}`)), suffix).toBe(true);
    expect(link("-shared", "-o", "lib2.so", "--lto-emit-asm", ...inputs)).toEqual({ status: 0, stderr: "" });
    expect([existsSync(w.path("lib2.so")), existsSync(w.path("lib2.so.lto.s"))]).toEqual([false, true]);
    expect(link("-shared", "-o", "none.so", "--why-live=f", ...inputs).stderr).toMatch(
      /^ld.tsc-lto: error: linker option '--why-live=f': GNU ld has nothing like it/,
    );
  }, 120_000);
});

describe("tsc-lto", () => {
  const lto = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [command("tsc-lto"), ...args], {
      cwd: w.directory,
      encoding: "utf8",
    });
    return { status, stderr };
  };
  it("writes an object with --emit elf, and says what a name does not", () => {
    expect(cc("-O2", "-c", "main.c", "helper.c", "twice.c")).toMatchObject({ code: 0, stderr: "" });
    const objects = ["main.o", "helper.o", "twice.o"];
    expect(lto("--emit", "elf", ...objects, "-o", "whole.o")).toEqual({ status: 0, stderr: "" });
    expect(run("cc", "whole.o", "-o", "whole")).toEqual({ status: 0, text: "" });
    expect(run("./whole").status).toBe(42);
    expect(lto("--emit=elf", ...objects)).toEqual({ status: 0, stderr: "" });
    expect(w.read("a.o").equals(w.read("whole.o"))).toBe(true);
    expect(lto(...objects, "-o", "prog")).toEqual({
      status: 0,
      stderr:
        "tsc-lto: warning: prog holds assembly, which cc links if it is called .s; --emit elf writes an object\n",
    });
    expect(lto(...objects, "-o", "prog.s")).toEqual({ status: 0, stderr: "" });
    expect(lto("main.c", "-o", "x.s").stderr).toBe(
      "tsc-lto: error: main.c: unknown file type: sources are compiled to objects first, by tsc-cc -c\n",
    );
    expect(
      lto("--export", "nosuch", "--export", "helper", "--export", "no*", ...objects, "-o", "x.s"),
    ).toEqual({
      status: 0,
      stderr: "tsc-lto: warning: --export nosuch: nothing defines it\n",
    });
    expect(lto("--export-dynamic-symbol", "nosuch", ...objects, "-o", "x.s")).toEqual({
      status: 0,
      stderr: "",
    });
  }, 120_000);

  it("keeps and loads what --undefined-glob matches", () => {
    expect(cc("-O2", "-c", "main.c", "helper.c", "twice.c", "unneeded.c")).toMatchObject({
      code: 0,
      stderr: "",
    });
    run("ar", "rcs", "lib.a", "twice.o", "unneeded.o");
    expect(lto("--undefined-glob=un*d", "main.o", "helper.o", "lib.a", "-o", "glob.s")).toEqual({
      status: 0,
      stderr: "",
    });
    expect(w.text("glob.s")).toMatch(/^unneeded:/m);
    expect(w.text("glob.s")).not.toMatch(/^(?:twice|helper):/m);
  }, 120_000);
});
