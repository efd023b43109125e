/** The driver as a program of its own: worker threads, and link mode. The program is built for the test. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { isObject } from "../../formats/object/index.js";
import { builtCommands } from "../support/built.js";
import { anyClangOption } from "../support/clang.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();

const command = builtCommands();

function run(w: Workspace, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const program = [command("tsc-cc"), anyClangOption, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, {
    cwd: w.directory,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("several sources at a time", () => {
  it("give the same objects and the same diagnostics in the same order for any -j", () => {
    const files: Record<string, string> = {};
    for (let i = 0; i < 6; i++)
      files[`f${i}.c`] =
        i % 3 === 1
          ? `int broken${i}(void) { return missing${i}; }\n`
          : `#include <string.h>\nint f${i}(char *s) { return strlen(s) + ${i}; }\n`;
    const names = Object.keys(files);
    const one = new Workspace(files);
    const many = new Workspace(files);
    const first = run(one, "--clang=embedded", "-c", "-O2", "-j1", ...names);
    const second = run(many, "--clang=embedded", "-c", "-O2", "-j", "3", ...names);
    expect(first.status).toBe(1);
    expect(first.stderr).toMatch(/missing1.*missing4/s);
    expect(second).toEqual(first);
    expect(many.list()).toEqual(one.list());
    expect(one.list().filter((n) => n.endsWith(".o"))).toEqual(["f0.o", "f2.o", "f3.o", "f5.o"]);
    for (const name of ["f0.o", "f5.o"]) expect(many.read(name).equals(one.read(name))).toBe(true);
  });
});

describe("sources that nest deeply", () => {
  it("do not exhaust the stack", () => {
    const w = new Workspace({
      "deep.c": `int f(int x) { return ${"x + ".repeat(20_000)}x; }\nint g(int x) { return ${"(".repeat(250)}x${")".repeat(250)}; }\n`,
    });
    expect(run(w, "--clang=embedded", "-c", "-O1", "deep.c")).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(isObject(w.object("deep.o"))).toBe(true);
  });
});

describe("a compiler that is not there", () => {
  it("is named, and waited for no longer", () => {
    const w = new Workspace({ "a.c": "int a;\n" });
    const program = [command("tsc-cc"), "--clang=/no/such/clang", "-c", "a.c"];
    // Half of the time after which one that says nothing is given up.
    const ended = spawnSync(process.execPath, program, {
      cwd: w.directory,
      encoding: "utf8",
      timeout: 10_000,
    });
    const stderr = "tsc-cc: error: '/no/such/clang' is not a clang that runs\n";
    expect(ended).toMatchObject({ status: 1, stdout: "", stderr });
    expect(w.list()).toEqual(["a.c"]);
  });
});

describe("link mode", () => {
  const files = {
    "main.c": `
      #include <stdio.h>
      int twice(int), from_assembly(void);
      int called_from_assembly(void) { return 40; }
      int main(int argc, char **argv) {
        printf("%s %d %d\\n", GREETING, twice(argc), from_assembly());
        return 3;
      }`,
    "twice.c": "int twice(int x) { return x * 2; }\n",
    "unused.c": "int nowhere(void); int unused(void) { return nowhere(); }\n",
    // Something only the linker understands.
    "script.ld": "PROVIDE(unused_symbol = 7);\n",
    "native.S":
      '.globl from_assembly\nfrom_assembly: jmp called_from_assembly@PLT\n.section .note.GNU-stack,"",@progbits\n',
  };

  const start = (w: Workspace, ...args: string[]) => {
    const { status, stdout } = spawnSync(w.path(args[0]!), args.slice(1), { encoding: "utf8" });
    return [status, stdout];
  };

  it("makes a program of sources, IR archives and native code", () => {
    const w = new Workspace(files);
    expect(run(w, "-c", "-O2", "twice.c", "unused.c").status).toBe(0);
    execFileSync("ar", ["rcs", "libpart.a", "twice.o", "unused.o"], { cwd: w.directory });
    const result = run(
      w,
      "-O2",
      '-DGREETING="hi"',
      "main.c",
      "script.ld",
      "native.S",
      "-L.",
      "-lpart",
      "-o",
      "program",
    );
    expect(result).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(start(w, "program", "x")).toEqual([3, "hi 4 40\n"]);
    expect(w.list().sort()).toEqual(
      [...Object.keys(files), "libpart.a", "program", "twice.o", "unused.o"].sort(),
    );
  });

  it("has the tools beside it that CMake makes archives with", () => {
    const w = new Workspace(files);
    expect(run(w, "-c", "-O2", "-flto=thin", "twice.c").status).toBe(0);
    const tool = (name: string, ...args: string[]) =>
      execFileSync(resolve("bin", `tsc-llvm-${name}`), args, { cwd: w.directory });
    tool("ar", "qc", "libpart.a", "twice.o");
    tool("ranlib", "libpart.a");
    w.write("main.c", "int twice(int); int main(void) { return twice(4); }");
    expect(run(w, "-flto=thin", "main.c", "libpart.a", "-o", "p")).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    expect(start(w, "p")).toEqual([8, ""]);
  });

  it("takes whole archives from where it is told to, and only those", () => {
    const w = new Workspace({
      "main.c": "int f(void) { return 1; }\nint main(void) { return f(); }\n",
      "kept.c": "int kept(void) { return 7; }\n",
      "clash.c": "int f(void) { return 2; }\nint g(void) { return 3; }\n",
    });
    expect(run(w, "-c", "-O1", "kept.c", "clash.c").status).toBe(0);
    for (const name of ["kept", "clash"])
      execFileSync("ar", ["rcs", `lib${name}.a`, `${name}.o`], { cwd: w.directory });
    const line = "-Wl,--export-dynamic -Wl,--whole-archive libkept.a -Wl,--no-whole-archive libclash.a -o p";
    expect(run(w, "main.c", ...line.split(" "))).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(start(w, "p")).toEqual([1, ""]);
    expect(execFileSync("nm", ["-D", w.path("p")], { encoding: "utf8" })).toMatch(/ T kept$/m);
  });

  it("shows the commands it runs, and keeps the start of a program without the C library", () => {
    const w = new Workspace({
      "start.c": `int main(void) { return 7; }
        __attribute__((force_align_arg_pointer)) void _start(void) {
          int r = main();
          __asm__ volatile("syscall" : : "a"(60), "D"(r));
        }`,
    });
    const { status, stderr } = run(w, "--clang=embedded", "-v", "-O1", "-nostdlib", "start.c", "-o", "p");
    expect(status).toBe(0);
    expect(stderr).toMatch(/^tsc-cc: compiler: embedded/m);
    expect(stderr).toMatch(/^ ".*tsc-lto" .*"--undefined" "_start"/m);
    expect(stderr).toMatch(/^ "cc" "-v" "-o" "p"/m);
    expect(start(w, "p")).toEqual([7, ""]);
  });

  it("refuses to write over a source", () => {
    const w = new Workspace({ "main.c": "int x = y;\n" });
    for (const args of [
      ["-c", "main.c", "-o", "main.c"],
      ["main.c", "-o", "./main.c"],
    ]) {
      const { status, stderr } = run(w, ...args);
      expect([status, stderr]).toEqual([
        1,
        "tsc-cc: error: input file 'main.c' is the same as the output file\n",
      ]);
      expect(w.text("main.c")).toBe("int x = y;\n");
    }
  });

  it("fails with the diagnostics of the step that fails", () => {
    const w = new Workspace({ ...files, "bad.c": "int x = y;\n" });
    const compiling = run(w, "main.c", "bad.c", '-DGREETING=""');
    expect([compiling.status, compiling.stderr.includes("undeclared identifier 'y'")]).toEqual([1, true]);
    const linking = run(w, "main.c", '-DGREETING=""');
    expect(linking.status).not.toBe(0);
    expect(linking.stderr).toContain("from_assembly");
    expect(w.list()).toEqual([...Object.keys(files), "bad.c"].sort());
  });
});

describe("in the place of a compiler's linker", () => {
  const files = {
    "main.c": `#include <stdio.h>
      int helper(int), native(int);
      int called_back(int x) { return x + 100; }
      int main(int argc, char **argv) { return printf("%d %d\\n", helper(argc), native(argc)) < 0; }`,
    "helper.c": "int helper(int x) { return x * 3; }\nint unused(void) { return 5; }\n",
    "native.c": "int called_back(int);\nint native(int x) { return called_back(x) + 1; }\n",
  };
  /** A workspace with objects of all, and `ld` in a folder for `cc -B`. */
  const prepare = (): Workspace => {
    const w = new Workspace(files);
    expect(run(w, "-c", "-O2", "main.c", "helper.c").status).toBe(0);
    execFileSync("cc", ["-c", "native.c"], { cwd: w.directory });
    execFileSync("ar", ["rcs", "libhelper.a", "helper.o"], { cwd: w.directory });
    mkdirSync(w.path("tools"));
    symlinkSync(command("tsc-ld"), w.path("tools/ld"));
    return w;
  };
  const cc = (w: Workspace, ...args: string[]) =>
    spawnSync("cc", ["-Btools", ...args], { cwd: w.directory, encoding: "utf8" });

  it("links IR with native code, and drops what nothing needs", () => {
    const w = prepare();
    const { status, stderr } = cc(w, "main.o", "native.o", "-L.", "-lhelper", "-o", "p");
    expect([status, stderr]).toEqual([0, ""]);
    const { stdout } = spawnSync(w.path("p"), { encoding: "utf8" });
    expect(stdout).toBe("3 102\n");
    const names = execFileSync("nm", [w.path("p")], { encoding: "utf8" });
    expect(names).toMatch(/ T called_back$/m);
    expect(names).not.toMatch(/ unused$/m);
  });

  it.each([
    ["a script among the inputs", "names.ld"],
    ["an option", "-Wl,--defsym=helper=called_back"],
  ])("leaves to the linker what it defines: %s", (_, word) => {
    const w = prepare();
    w.write("names.ld", "helper = called_back;\n");
    const parts = ["main.o", "native.o", "helper.o", word];
    expect(cc(w, ...parts, "-o", "p").stderr).toBe("");
    expect(run(w, ...parts, "-o", "q").stderr).toBe("");
    for (const program of ["p", "q"])
      expect(spawnSync(w.path(program), { encoding: "utf8" }).stdout).toBe("101 102\n");
  });

  it("passes on what has no IR, and errors of either linker", () => {
    const w = prepare();
    expect(cc(w, "-shared", "-fPIC", "native.c", "-o", "lib.so").status).toBe(0);
    const missing = cc(w, "main.o", "native.o", "-o", "p");
    expect([missing.status, missing.stderr.includes("helper")]).toEqual([1, true]);
    const twice = cc(w, "main.o", "main.o", "native.o", "-o", "p");
    expect(twice.stderr).toContain("error: duplicate symbol: main");
    expect(w.list()).not.toContain("p");
  });

  it.each([
    ["lld's option", ["-Wl,--opt-remarks-filename=r.yaml,--opt-remarks-passes=^inline$"]],
    [
      "the plug-in's",
      ["-Wl,-plugin-opt=opt-remarks-filename=r.yaml", "-Wl,-plugin-opt=opt-remarks-format=yaml"],
    ],
  ])("writes optimisation records: %s", (_, words) => {
    const w = prepare();
    const { status, stderr } = cc(w, "main.o", "native.o", "helper.o", "-o", "p", ...words);
    expect([status, stderr]).toEqual([0, ""]);
    expect(w.read("r.yaml").toString()).toMatch(/--- !Passed\nPass: +inline\nName: +Inlined\n/);
  });

  it.each([
    ["-plugin-opt=-emulated-tls", "-femulated-tls"],
    ["-plugin-opt=-stack-size-section", "-fstack-size-section"],
    ["-mllvm,-basic-block-sections=all", "-fbasic-block-sections"],
  ])("refuses what only LLVM's code generator does: %s", (word, option) => {
    const w = prepare();
    const { status, stderr } = cc(w, "main.o", "native.o", "helper.o", "-o", "p", `-Wl,${word}`);
    expect([status, stderr]).toEqual([1, expect.stringContaining(`unsupported: ${option}`)]);
  });

  it.each([
    ["one word", ["-Wl,--tsc-lto=--no-outline,--tsc-lto=--stats"]],
    ["two words", ["-Xlinker", "--tsc-lto=--no-outline", "-Wl,--tsc-lto=--stats"]],
  ])("takes options of tsc-lto: %s", (_, words) => {
    const w = prepare();
    const parts = ["main.o", "native.o", "helper.o", "-o"];
    for (const { status, stderr } of [cc(w, ...parts, "p", ...words), run(w, ...parts, "q", ...words)])
      expect([status, stderr]).toEqual([0, expect.stringContaining("functions")]);
    for (const refused of [
      cc(w, ...parts, "r", "-Wl,--tsc-lto=main.o"),
      run(w, ...parts, "r", "-Wl,--tsc-lto=main.o"),
    ])
      expect([refused.status, refused.stderr]).toEqual([
        1,
        expect.stringMatching(/^\S+: error: --tsc-lto=main\.o: an option of tsc-lto in one word/m),
      ]);
    expect(cc(w, ...parts, "r", "-Wl,--tsc-lto=--no-such").stderr).toContain("unknown option '--no-such'");
    expect(w.list()).not.toContain("r");
  });

  it("says what it is", () => {
    const { stdout, status } = spawnSync(process.execPath, [command("tsc-ld"), "--version"], {
      encoding: "utf8",
    });
    expect([status, stdout]).toEqual([
      0,
      expect.stringMatching(/^tsc-lto \S+ \(compatible with LLD \/ GNU linkers\)$/m),
    ]);
  });
});
