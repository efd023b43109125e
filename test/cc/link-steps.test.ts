/** Link steps as builds have them, from objects to a program that runs. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { anyClangOption } from "../support/clang.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();

const command = builtCommands();

/** tsc-cc in the workspace. @returns what it printed on standard error, where it succeeds */
function cc(w: Workspace, ...args: string[]): string {
  const words = [command("tsc-cc"), anyClangOption, ...args];
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: w.directory, encoding: "utf8" });
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
  return stderr;
}

/** A native object. */
function native(w: Workspace, source: string, output: string, ...options: string[]): void {
  execFileSync("cc", ["-O1", ...options, "-c", source, "-o", output], { cwd: w.directory });
}

const output = (w: Workspace, program = "p"): string =>
  execFileSync(w.path(program), [], { cwd: w.directory, encoding: "utf8" });

const levels = ["-O0", "-Oz"];

/** A workspace that is made once. */
function once(make: (w: Workspace) => void, files: Readonly<Record<string, string>>): () => Workspace {
  let made: Workspace | undefined;
  return () => {
    if (made === undefined) make((made = new Workspace(files)));
    return made;
  };
}

describe("archives of IR and native members", () => {
  const files = {
    "ir.c": "int n(int); int i(int x) { return n(x) + 1; }",
    "na.c": "int n(int x) { return x; }",
    "m.c": '#include <stdio.h>\nint i(int);\nint main(void) { printf("%d\\n", i(5)); return 0; }',
  };
  const objects = once((w) => {
    cc(w, "-Oz", "-c", "ir.c", "m.c");
    native(w, "na.c", "na.o");
    execFileSync("ar", ["rc", "l.a", "ir.o", "na.o"], { cwd: w.directory });
  }, files);
  it.each([
    ["all members", ["-Wl,--whole-archive", "l.a", "-Wl,--no-whole-archive"]],
    ["all members, between saved states", ["-Wl,--push-state,--whole-archive", "l.a", "-Wl,--pop-state"]],
    ["members that are needed", ["l.a"]],
  ])("%s", (_, words) => {
    const w = objects();
    cc(w, "m.o", ...words, "-o", "p");
    expect(output(w)).toBe("6\n");
  });
});

describe("entries", () => {
  it("keep main, which the C library's start-up code calls wherever the program is entered", () => {
    const w = new Workspace({
      "e.c": `#include <unistd.h>
        void start2(void) { write(1, "entered\\n", 8); _exit(0); }
        int main(void) { return 1; }`,
      "start.s":
        '.globl mystart\nmystart: and $-16, %rsp\n call start2@PLT\n.section .note.GNU-stack,"",@progbits\n',
    });
    native(w, "start.s", "start.o");
    cc(w, "-Oz", "-fPIE", "e.c", "start.o", "-Wl,-e,mystart", "-o", "p");
    expect(output(w)).toBe("entered\n");
  });
});

describe("several definitions", () => {
  const files = {
    "a.c": "int f(void) { return 1; } int fa(void) { return f(); }",
    "b.c": "int f(void) { return 2; } int fb(void) { return 3; }",
    "m.c":
      '#include <stdio.h>\nint f(void), fa(void), fb(void);\nint main(void) { printf("%d%d%d\\n", f(), fa(), fb()); return 0; }',
  };
  const objects = once((w) => {
    cc(w, "-O1", "-c", "a.c", "b.c", "m.c");
    native(w, "a.c", "native.o");
  }, files);
  it.each(["-Wl,-z,muldefs", "-Wl,--allow-multiple-definition"])("%s: the first counts", (option) => {
    const w = objects();
    cc(w, "m.o", "a.o", "b.o", option, "-o", "p");
    expect(output(w)).toBe("113\n");
    cc(w, "m.o", "b.o", "a.o", option, "-o", "p");
    expect(output(w)).toMatch(/^2[12]3\n$/);
  });
  it("of IR and of native code", () => {
    const w = objects();
    cc(w, "m.o", "b.o", "native.o", "-Wl,-z,muldefs", "-o", "p");
    expect(output(w)).toMatch(/^2/);
  });
});

describe("code that was compiled for fixed addresses", () => {
  const objects = once((w) => void cc(w, "-O2", "-fno-pie", "-c", "m.c"), {
    "m.c":
      '#include <stdio.h>\nint v = 4;\nint *p = &v;\nint main(void) { printf("%d %d\\n", *p, p == &v); return 0; }',
  });
  it.each([[[]], [["-no-pie"]], [["-pie"]]])("links with %j", (options) => {
    const w = objects();
    cc(w, "m.o", ...options, "-o", "p");
    expect(output(w)).toBe("4 1\n");
  });
});

describe.each(["-fno-semantic-interposition", "-Wl,-Bsymbolic-functions", "-Wl,-Bsymbolic"])(
  "%s",
  (option) => {
    it.each(levels)("definitions are reached directly, and stay in the symbol table (%s)", (level) => {
      const w = new Workspace({
        "x.c": `int a(int x) { return x + 1; }
        int v = 3;
        int (*fp)(int) = a;
        int via(int x) { return a(x) + (fp == a) + v; }`,
        "other.c": "int a(int x) { return 100 * x; }",
        "m.c":
          '#include <stdio.h>\nint a(int), via(int);\nextern int v;\nextern int (*fp)(int);\nint main(void) { v = 10; printf("%d %d %d\\n", a(1), via(1), fp(4)); return 0; }',
      });
      cc(w, level, "-fPIC", option, "-shared", "x.c", "-o", "x.so");
      native(w, "m.c", "m.o", "-fPIE");
      execFileSync("cc", ["m.o", "./x.so", "-Wl,-rpath,.", "-o", "p"], { cwd: w.directory });
      // With -Bsymbolic the library has a variable of its own.
      expect(output(w)).toBe(option === "-Wl,-Bsymbolic" ? "2 6 5\n" : "2 13 5\n");
      // A function of that name elsewhere is not called by the library.
      native(w, "other.c", "other.o", "-fPIE");
      execFileSync("cc", ["m.o", "other.o", "./x.so", "-Wl,-rpath,.", "-o", "p"], { cwd: w.directory });
      expect(output(w)).toMatch(/^100 /);
      expect(Number(output(w).split(" ")[1])).toBeLessThan(50);
    });
  },
);

describe("bitcode that no pass has seen", () => {
  it.each(levels)("bodies for calls that must be inlined are there for that (%s)", (level) => {
    const w = new Workspace({
      "m.c": `#include <stdio.h>
        extern inline __attribute__((gnu_inline, always_inline)) int local(int x) { return x * 3; }
        int main(int c, char **v) { printf("%d\\n", local(c)); return 0; }`,
    });
    cc(w, level, "-Xclang", "-disable-llvm-passes", "m.c", "-o", "p");
    expect(output(w)).toBe("3\n");
  });
});

describe("debug information", () => {
  it("is there unless the program is stripped, and changes nothing that is loaded", () => {
    const w = new Workspace({
      "a.c": "int f(void) { return 0; }",
      "m.c": "int f(void);\nint main(void) { return f(); }",
    });
    cc(w, "-g", "-O1", "-c", "a.c", "m.c");
    const words = [command("tsc-cc"), "m.o", "a.o", "-o", "p"];
    const link = (...more: string[]) =>
      spawnSync(process.execPath, [...words, ...more], { cwd: w.directory, encoding: "utf8" });
    const sections = (): string =>
      execFileSync("objdump", ["-h", "p"], { cwd: w.directory, encoding: "utf8" });
    const loaded = (): string =>
      execFileSync("objdump", ["-s", "-j", ".text", "-j", ".rodata", "-j", ".eh_frame", "p"], {
        cwd: w.directory,
        encoding: "utf8",
      });
    expect(link()).toMatchObject({ status: 0, stderr: "" });
    expect(sections()).toContain(".debug_line");
    const code = loaded();
    for (const option of ["-s", "-Wl,-S", "-Wl,--strip-debug", "-g0"]) {
      expect(link(option)).toMatchObject({ status: 0, stderr: "" });
      expect(sections()).not.toContain(".debug_line");
      expect(loaded()).toBe(code);
    }
  });

  it("is not in text of the IR, which a warning says", () => {
    const w = new Workspace({
      "a.ll": `define i32 @main() {\n  ret i32 0\n}\n!llvm.module.flags = !{!0}\n!0 = !{i32 7, !"Dwarf Version", i32 5}\n`,
    });
    const link = (...more: string[]) =>
      spawnSync(process.execPath, [command("tsc-lto"), "a.ll", "-o", "a.s", ...more], {
        cwd: w.directory,
        encoding: "utf8",
      });
    expect(link().stderr).toContain("warning: debug information is left out, that of a.ll and others");
    expect(link("--strip-debug")).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("files that can be read once", () => {
  it.each(["-Wl,--version-script=pipe", "-Wl,--version-script,pipe"])("%s", (option) => {
    const w = new Workspace({ "x.c": "int kept(void) { return 1; }\nint hidden(void) { return 2; }" });
    cc(w, "-O1", "-fPIC", "-c", "x.c");
    execFileSync("mkfifo", ["pipe"], { cwd: w.directory });
    const writer = spawn("sh", ["-c", "echo '{ global: kept; local: *; };' > pipe"], { cwd: w.directory });
    cc(w, "-shared", "x.o", option, "-o", "x.so");
    writer.kill();
    const names = execFileSync("nm", ["-D", "--defined-only", "x.so"], {
      cwd: w.directory,
      encoding: "utf8",
    });
    expect(names).toMatch(/ T kept$/m);
    expect(names).not.toMatch(/hidden/);
  });
});

describe("measuring a build's own link", () => {
  const files = {
    "a.c": "int b(int); int n(int); int main(void) { return b(2) + n(3) - 11; }",
    "b.c": "__attribute__((noinline)) int b(int x) { return x * 4; }",
    "n.c": "int n(int x) { return x; }",
  };
  const built = once((w) => {
    cc(w, "-Oz", "-c", "a.c", "b.c");
    native(w, "n.c", "n.o");
    const words = [
      command("tsc-cc"),
      "a.o",
      "b.o",
      "n.o",
      "-o",
      "p",
      "-Wl,--size-report=p.link.json,-Map=p.map",
    ];
    const env = { ...process.env, TSC_LTO_RECORD: w.path("records") };
    const { status, stderr } = spawnSync(process.execPath, words, {
      cwd: w.directory,
      encoding: "utf8",
      env,
    });
    expect([status, stderr]).toEqual([0, ""]);
  }, files);
  const lto = (w: Workspace, ...words: string[]): string => {
    const args = [command("tsc-lto"), ...words];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: w.directory,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    return stdout;
  };
  const loaded = (csv: string): string[] => csv.split("\n").filter((line) => /^(all|without)/.test(line));

  it("the report and the map say where symbols are from", () => {
    const out = lto(
      built(),
      "size",
      "p",
      "--report=p.link.json",
      "--map=p.map",
      "--by=file",
      "--csv",
      "--top=0",
    );
    expect(out).toMatch(/^a\.c,/m);
    expect(out).toMatch(/^n\.o,/m);
  });
  it("its record is linked again, and its link line in the same way", () => {
    const w = built();
    const options = ["measure", "--without=ipra", "--run=$PROGRAM", "--runs=1", "--csv", "--"];
    const recorded = loaded(lto(w, ...options, "records/p"));
    const line = loaded(lto(w, ...options, "cc", "a.o", "b.o", "n.o", "-o", "q"));
    expect(recorded).toHaveLength(2);
    // All but the times.
    const sizes = (rows: readonly string[]) => rows.map((row) => row.split(",").slice(0, 8));
    expect(sizes(line)).toEqual(sizes(recorded));
  });
});
