/** `tsc-cc -c` from end to end, with the embedded compiler. */
import { chmodSync, existsSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isObject, readObject } from "../../formats/object/index.js";
import { printModule } from "../../formats/text/index.js";
import { isBitcode } from "../../frontend/llvm/bitcode.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();

const one = "int one(void) { return 1; }\n";

const ir = (w: Workspace, name: string): string => printModule(readObject(w.object(name), name));

describe("objects", () => {
  it("come out where clang would put them", async () => {
    const w = new Workspace({ "src/a.c": one, "src/b.c": "int two(void) { return 2; }\n" });
    expect(await w.run(["-c", "src/a.c", "src/b.c"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(w.list()).toEqual(["a.o", "b.o", "src"]);
    expect(isObject(w.object("a.o"))).toBe(true);
    expect(ir(w, "b.o")).toMatch(/define .*@two\(/);
    expect((await w.run(["-c", "src/a.c", "-o", "src/x.obj"])).code).toBe(0);
    expect(w.list("src")).toEqual(["a.c", "b.c", "x.obj"]);
    expect(w.read("src/x.obj").equals(w.read("a.o"))).toBe(true);
  });

  it("may be executed by no one and read by all that the umask allows", async () => {
    const w = new Workspace({ "a.c": one });
    await w.run(["-c", "a.c"]);
    expect(statSync(w.path("a.o")).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  it("hold what the options of the compiler ask for", async () => {
    const w = new Workspace({
      "a.c":
        "#include <stddef.h>\n#include INC\nsize_t f(int *p) { for (int i = 0; i < N; i++) p[i] = 0; return V; }\n",
      "inc/x.h": "#define V sizeof(long)\n",
      "pre.h": "#define N 8\n",
    });
    const args = ["-c", "-O2", '-DINC="x.h"', "-Iinc", "-include", "pre.h", "a.c"];
    expect(await w.run(args)).toEqual({ code: 0, stdout: "", stderr: "" });
    const text = ir(w, "a.o");
    expect(text).toContain("ret i64 8");
    expect(text).toContain("x86_64");
    expect(text).not.toContain("alloca");
  });

  it("keep calls for the link to inline with -fdefer-inlining", async () => {
    const w = new Workspace({
      "a.c": `static int twice(int x) { return x * x * x * (x + 3) % 7 * (x ^ 5) / (x | 1); }
        static int once(int x) { return x * x * x * (x + 5) % 9 * (x ^ 7) / (x | 1); }
        static inline __attribute__((always_inline)) int always(int x) { return x * 3; }
        int f(int x) { return twice(x) + always(x) + twice(x + 9) + once(x); }\n`,
    });
    const text = async (...options: string[]): Promise<string> => {
      expect(await w.run(["-c", ...options, "a.c"])).toEqual({ code: 0, stdout: "", stderr: "" });
      return ir(w, "a.o");
    };
    for (const level of ["-Oz", "-Os"]) {
      const made = await text(level, "-fdefer-inlining");
      expect(made, level).toMatch(/call .*@twice\(/);
      // What is called once has no copies to fold.
      expect(made, level).not.toMatch(/@always|@once|noinline/);
    }
    for (const options of [
      ["-Os"],
      ["-Os", "-fdefer-inlining", "-fno-defer-inlining"],
      ["-Oz", "-fdefer-inlining", "-O2"],
      // A threshold that is given counts.
      ["-Os", "-fdefer-inlining", "-mllvm", "-inline-threshold=1000"],
      ["-Os", "-fdefer-inlining", "-mllvm=-inline-threshold=1000"],
    ])
      expect(await text(...options), options.join(" ")).not.toContain("@twice");
  });

  it("inline what C calls inline and no file defines externally", async () => {
    const w = new Workspace({
      "a.c": "inline int tiny(int x) { return x + 1; } int f(int x) { return tiny(x); }\n",
    });
    expect((await w.run(["-c", "-Oz", "a.c"])).code).toBe(0);
    expect(ir(w, "a.o")).not.toContain("@tiny");
  });

  it("are optimised in full even with -flto", async () => {
    const w = new Workspace({
      "a.c": "static int g(int x) { return x * 2; } int f(int x) { return g(x) + g(x); }\n",
    });
    expect((await w.run(["-c", "-O2", "-flto", "a.c"])).code).toBe(0);
    expect(ir(w, "a.o")).not.toContain("@g");
  });

  it("depend on the source alone, not on the place of the output", async () => {
    const w = new Workspace({ "a.c": one, "out/.keep": "" });
    await w.run(["-c", "a.c", "-g"]);
    await w.run(["-c", "a.c", "-g", "-o", "out/other.o"]);
    expect(w.read("out/other.o").equals(w.read("a.o"))).toBe(true);
  });

  it("are made of LLVM assembly and bitcode too", async () => {
    const w = new Workspace({
      "a.ll": 'target triple = "x86_64-pc-linux-gnu"\ndefine i32 @f() {\n  ret i32 7\n}\n',
    });
    expect((await w.run(["-c", "-emit-llvm", "a.ll", "-o", "b.bc"])).code).toBe(0);
    expect(isBitcode(w.read("b.bc"))).toBe(true);
    expect((await w.run(["-c", "a.ll", "b.bc"])).code).toBe(0);
    expect(ir(w, "a.o")).toContain("ret i32 7");
    expect(ir(w, "b.o")).toContain("ret i32 7");
  });

  it("are made of assembly by the native assembler", async () => {
    const w = new Workspace({ "a.S": "#ifdef X\n.globl f\nf: ret\n#endif\n" });
    expect(await w.run(["-c", "-DX", "-O2", "-fno-plt", "a.S"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(w.read("a.o").subarray(0, 4).toString("latin1")).toBe("\x7fELF");
    expect(w.read("a.o").includes("f\0")).toBe(true);
  });

  it("go to standard devices without replacing them", async () => {
    const w = new Workspace({ "a.c": one });
    expect(await w.run(["-c", "a.c", "-o", "/dev/null"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
    expect((await w.run(["-c", "a.c", "-o", "-"])).stdout).toContain("one");
    expect(w.list()).toEqual(["a.c"]);
  });
});

describe("paths", () => {
  it("mean what they mean to the operating system, and print as they were written", async () => {
    const w = new Workspace({
      "x/y/a.c":
        '#include "../up.h"\n#include "sub/../z.h"\n#include ABS\nconst char *f(void) { return __FILE__; }\n',
      "x/up.h": "const char *up(void) { return __FILE__; }\n",
      "x/y/z.h": "",
      "x/y/sub/.keep": "",
      "abs.h": "",
    });
    const abs = `-DABS="${w.path("abs.h")}"`;
    expect(await w.run(["-c", "-O1", abs, "../y/a.c", "-o", "../../a.o"], { cwd: "x/y" })).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(ir(w, "a.o")).toContain('c"../y/a.c\\00"');
    expect(ir(w, "a.o")).toContain('c"../y/../up.h\\00"');
  });

  it("may begin with a dash after --", async () => {
    const w = new Workspace({ "-a.c": one });
    expect((await w.run(["-c", "-o", "a.o", "--", "-a.c"])).code).toBe(0);
    expect(isObject(w.object("a.o"))).toBe(true);
  });
});

describe("diagnostics", () => {
  it("are the compiler's own, with its exit code", async () => {
    const w = new Workspace({ "bad.c": "int f(void) { return x; }\n", "good.c": one, "bad.o": "stale" });
    const { code, stderr, stdout } = await w.run(["-c", "bad.c", "good.c"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^bad\.c:1:22: error: use of undeclared identifier 'x'\n.*return x; \}\n.*\^ *\n1 error generated\.\n$/s,
    );
    // As with clang, the other input is compiled; the failed one leaves no object, not even a stale one.
    expect(w.list()).toEqual(["bad.c", "good.c", "good.o"]);
  });

  it("are coloured where the terminal is, unless told otherwise", async () => {
    const w = new Workspace({ "a.c": "int f(void) { return x; }\n" });
    const sequence = "\u001b[";
    expect((await w.run(["-c", "a.c"], { colour: true })).stderr).toContain(sequence);
    expect((await w.run(["-c", "a.c", "-fno-color-diagnostics"], { colour: true })).stderr).not.toContain(
      sequence,
    );
    expect((await w.run(["-c", "a.c"])).stderr).not.toContain(sequence);
  });

  it("name files that are missing, and nothing is compiled then", async () => {
    const w = new Workspace({ "a.c": one });
    const { code, stderr } = await w.run(["-c", "a.c", "nowhere.c"]);
    expect([code, stderr]).toEqual([1, "tsc-cc: error: no such file or directory: 'nowhere.c'\n"]);
    expect(w.list()).toEqual(["a.c"]);
  });

  it("name outputs that cannot be written", async () => {
    const w = new Workspace({ "a.c": one, "locked/.keep": "" });
    const fails = async (output: string, why: string) => {
      const { code, stderr } = await w.run(["-c", "a.c", "-o", output]);
      expect([code, stderr]).toEqual([
        1,
        `tsc-cc: error: unable to open output file '${output}': '${why}'\n`,
      ]);
    };
    await fails("no/such/a.o", "No such file or directory");
    await fails("locked", "Is a directory");
    await fails("a.c/b.o", "Not a directory");
    if (process.getuid?.() !== 0) {
      chmodSync(w.path("locked"), 0o555);
      await fails("locked/a.o", "Permission denied");
      chmodSync(w.path("locked"), 0o755);
    }
  });

  it("cover wrong usage", async () => {
    const w = new Workspace({ "a.c": one, "b.c": one });
    expect(await w.run(["-c", "a.c", "b.c", "-o", "x.o"])).toMatchObject({
      code: 1,
      stderr: "tsc-cc: error: cannot specify -o when generating multiple output files\n",
    });
    expect((await w.run(["-c"])).code).toBe(1);
    expect((await w.run(["-c", "a.c", "-o"])).stderr).toBe("tsc-cc: error: argument to '-o' is missing\n");
    expect((await w.run(["-c", "a.c"], { clang: "/no/such/clang" })).stderr).toContain(
      "is not a clang that runs",
    );
  });

  it("say which target cannot be compiled for", async () => {
    const w = new Workspace({ "a.c": one });
    const { code, stderr } = await w.run(["-c", "--target=x86_64-pc-windows-msvc", "a.c"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tsc-cc: error: a\.c: unsupported: target x86_64-pc-windows/);
    expect(w.list()).toEqual(["a.c"]);
  });
});

describe("dependency files", () => {
  const files = { "a.c": '#include <stddef.h>\n#include "inc/h.h"\n', "inc/h.h": "", "out/.keep": "" };

  it("are named after the object and name it", async () => {
    const w = new Workspace(files);
    expect((await w.run(["-c", "-MMD", "a.c"])).code).toBe(0);
    expect(w.text("a.d")).toBe("a.o: a.c inc/h.h\n");
    expect((await w.run(["-c", "-MMD", "-MP", "a.c", "-o", "out/x.y.o"])).code).toBe(0);
    expect(w.text("out/x.y.d")).toBe("out/x.y.o: a.c inc/h.h\ninc/h.h:\n");
  });

  it("go where -MF says, with the target of -MT", async () => {
    const w = new Workspace(files);
    expect((await w.run(["-c", "-MD", "-MF", "out/deps", "-MT", "all", "a.c"])).code).toBe(0);
    expect(w.text("out/deps")).toMatch(/^all: a\.c( \\\n | )/);
    expect(w.text("out/deps")).toContain("inc/h.h");
    expect(w.text("out/deps")).not.toContain("stddef.h");
    expect(existsSync(w.path("a.d"))).toBe(false);
  });

  it("come on standard output with -M", async () => {
    const w = new Workspace(files);
    expect(await w.run(["-M", "a.c"])).toEqual({ code: 0, stdout: "a.o: a.c inc/h.h\n", stderr: "" });
  });
});

describe("other ways to run it", () => {
  it("reads standard input", async () => {
    const w = new Workspace();
    expect(await w.run(["-c", "-x", "c", "-", "-o", "s.o"], { stdin: one })).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(ir(w, "s.o")).toContain("@one");
  });

  it("reads response files", async () => {
    const w = new Workspace({ "a.c": "int v = V;\n", args: "-c @more\n-o 'out file.o'", more: "a.c -DV=42" });
    expect((await w.run(["@args"])).code).toBe(0);
    expect(ir(w, "out file.o")).toContain("i32 42");
  });

  it("preprocesses", async () => {
    const w = new Workspace({ "a.c": "#define X y\nint X;\n", "b.c": "int b;\n" });
    const { code, stdout } = await w.run(["-E", "-P", "a.c", "b.c"]);
    expect([code, stdout]).toEqual([0, "\nint y;\nint b;\n"]);
    expect((await w.run(["-dM", "-E", "-"], { stdin: "" })).stdout).toContain("#define __x86_64__ 1");
  });

  it("answers the questions of configure scripts", async () => {
    const w = new Workspace();
    expect((await w.run(["--version"])).stdout).toContain("clang version");
    expect((await w.run(["-dumpmachine"])).stdout).toMatch(/^x86_64-.*linux/);
    expect((await w.run(["--help"])).stdout).toMatch(/^Usage: tsc-cc/);
  });

  it("shows which compiler runs", async () => {
    const w = new Workspace({ "a.c": one });
    const { stderr } = await w.run(["-v", "-c", "a.c"]);
    expect(stderr).toMatch(/^tsc-cc: compiler: embedded/);
    expect(stderr).toContain("clang version");
  });

  it("warns of inputs that only a linker takes", async () => {
    const w = new Workspace({ "a.c": one, "b.o": "" });
    expect(await w.run(["-c", "a.c", "b.o", "-lm"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "tsc-cc: warning: b.o: 'linker' input unused\n",
    });
  });
});
