/** What sanitizers, profiles and coverage add to a link. Programs run where clang's run-time libraries are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { addedWords } from "../../bin/cc/instrumentation.js";
import { builtCommands } from "../support/built.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();

const program = builtCommands();
const clang = "/usr/lib/llvm-22/lib/clang/22/lib/linux";

it("words that only the longer of two command lines has", () => {
  const mark = "-ltsc-lto-inputs";
  const plain = ["-pie", "a.o", mark, "-lc", "--as-needed", "-lc", "b.o"];
  expect(addedWords(plain, plain)).toEqual([mark]);
  const more = [
    "-pie",
    "a.o",
    "--whole-archive",
    "x.a",
    mark,
    "--as-needed",
    "-lm",
    "-lc",
    "--as-needed",
    "-lc",
    "b.o",
  ];
  expect(addedWords(more, plain)).toEqual(["--whole-archive", "x.a", mark, "--as-needed", "-lm"]);
  expect(addedWords(["gcrt1.o", mark], ["crt1.o", mark])).toEqual(["gcrt1.o", mark]);
});

describe("with a clang that only tells its link line", () => {
  /** A linker that writes down its arguments, and a clang whose libraries are beside it. */
  const workspace = (): Workspace => {
    const w = new Workspace({
      "bin/cc": '#!/bin/sh\ncase $1 in -print*) exit ;; esac\nfor i in "$@"; do echo "$i"; done > words\n',
      "bin/clang": `#!/bin/sh
case $1 in --version) echo clang version 22.1.0; exit ;; esac
echo "clang version 22.1.0" >&2
case "$*" in *bogus*) echo "clang: error: unsupported argument 'bogus' to option '-fsanitize='" >&2; exit 1 ;; esac
case "$*" in
  *-fsanitize=address*) echo ' "ld" "-pie" "crt.o" "--whole-archive" "'$PWD'/rt.a" "--no-whole-archive" "--dynamic-list='$PWD'/rt.a.syms" "-ltsc-lto-inputs" "-lrt" "-lc"' ;;
  *-fprofile-generate*) echo ' "ld" "-pie" "crt.o" "-ltsc-lto-inputs" "-u__rt" "'$PWD'/lib/libclang_rt.none-x86_64.a" "-lc"' ;;
  *) echo ' "ld" "-pie" "crt.o" "-ltsc-lto-inputs" "-lc"' ;;
esac >&2
`,
      "rt.a": "!<arch>\n",
      "rt.a.syms": "{ f; };\n",
      "x.s": ".globl main\nmain: ret\n",
    });
    for (const name of ["cc", "clang"]) chmodSync(w.path(`bin/${name}`), 0o755);
    execFileSync("as", ["x.s", "-o", "x.o"], { cwd: w.directory });
    return w;
  };
  const run = (w: Workspace, ...args: string[]) => {
    const env = { PATH: `${w.path("bin")}:${process.env["PATH"]}` };
    return w.run([...args, "-o", "p"], { clang: w.path("bin/clang"), env });
  };

  it("its libraries come before and after the inputs, and cc sees none of clang's options", async () => {
    const w = workspace();
    const options = [
      "-fsanitize=address",
      "-fno-sanitize-recover",
      "-fsanitize-address-use-after-scope",
      "-s",
    ];
    expect(await run(w, ...options, "x.o", "-lm")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(w.text("words").trim().split("\n")).toEqual([
      ...["-o", "p", "-Wl,--whole-archive", w.path("rt.a"), "-Wl,--no-whole-archive"],
      ...[`-Wl,--dynamic-list=${w.path("rt.a.syms")}`, "-s", "x.o", "-lm", "-lrt"],
    ]);
  });

  it("a library that is not installed is an error with its name", async () => {
    const { code, stderr } = await run(workspace(), "-fprofile-generate", "x.o");
    expect([code, stderr]).toEqual([
      1,
      "tsc-cc: error: cannot find libclang_rt.none.a of clang 22's run-time libraries (compiler-rt); " +
        "install them (Debian and Ubuntu: libclang-rt-22-dev)\n",
    ]);
  });

  it("what clang refuses is refused", async () => {
    const { code, stderr } = await run(workspace(), "-fsanitize=bogus", "x.o");
    expect([code, stderr]).toEqual([
      1,
      "tsc-cc: error: unsupported argument 'bogus' to option '-fsanitize='\n",
    ]);
  });
});

describe("counts of gcov", () => {
  it("are named after the object or the program, not after temporary files", async () => {
    const w = new Workspace({ "sub/a.c": "int f(void) { return 1; }\n" });
    expect(await w.run(["--coverage", "-c", "sub/a.c", "-o", "x.y.o"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(await w.run(["--coverage", "-c", "sub/a.c"])).toMatchObject({ code: 0, stderr: "" });
    expect(w.list()).toEqual(["a.gcno", "a.o", "sub", "x.y.gcno", "x.y.o"]);
  });
});

describe.skipIf(!existsSync(`${clang}/libclang_rt.profile-x86_64.a`))("with clang's libraries", () => {
  const source = `
    #include <stdio.h>
    #include <stdlib.h>
    static int table[10];
    static int work(int n) { int s = 0; for (int i = 0; i < n; i++) if (i % 3) s += i; else s ^= i; return s; }
    int main(int argc, char **argv) {
      volatile int ten = 10;
      if (argc > 1) { table[ten] = 1; table[0] = 0x7fffffff; table[0] += ten; }
      printf("%d %d\\n", work(100), table[5]);
    }`;
  const build = (w: Workspace, ...args: string[]) => {
    const words = [program("tsc-cc"), "--clang=embedded", "p.c", "-o", "p", ...args];
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: w.directory, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  };
  const start = (w: Workspace, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(w.path("p"), args, { cwd: w.directory, encoding: "utf8" });
    return { status, stdout, stderr };
  };

  it.each([
    ["-fsanitize=address", "-Oz", /AddressSanitizer: global-buffer-overflow/, 1],
    ["-fsanitize=undefined", "-O0", /index 10 out of bounds.*signed integer overflow/s, 0],
  ])("%s %s finds the fault, and none where there is none", (flag, level, message, status) => {
    const w = new Workspace({ "p.c": source });
    build(w, flag, level);
    expect(start(w)).toEqual({ status: 0, stdout: "3424 0\n", stderr: "" });
    expect(start(w, "x")).toEqual({
      status,
      stdout: expect.anything() as string,
      stderr: expect.stringMatching(message) as string,
    });
  });

  it("profiles and counts are written, also where objects are compiled before", () => {
    const w = new Workspace({ "p.c": source });
    build(w, "-O2", "-fprofile-instr-generate", "-fcoverage-mapping", "--coverage");
    expect(start(w)).toEqual({ status: 0, stdout: "3424 0\n", stderr: "" });
    expect(w.list()).toEqual(["default.profraw", "p", "p-p.gcda", "p-p.gcno", "p.c"]);
    // The header of a raw profile, and how many functions and counters follow: main, work.
    const raw = w.read("default.profraw");
    expect(raw.subarray(0, 8).toString("latin1")).toBe("\x81rforpl\xff");
    expect(Number(raw.readBigUInt64LE(24))).toBe(2);
    // Of the loop in work: 100 iterations, of which 66 are not divisible.
    const counts = Array.from({ length: raw.length >> 3 }, (_, i) => raw.readBigUInt64LE(i * 8));
    expect(counts).toContain(100n);
    expect(counts).toContain(66n);
  });
});
