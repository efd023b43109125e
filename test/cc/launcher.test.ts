/** The launcher: what clang does alone it runs without Node, and only then; and what is remembered of clangs. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ability, knownCompiler, rememberCompiler } from "../../bin/cc/compiler-choice.js";
import { processHost } from "../../bin/host/host.js";
import { takesNextWord } from "../../frontend/clang/command-line.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();
const bin = join(import.meta.dirname, "../../bin");
const w = new Workspace({});
const program = (path: string, says: string): void => {
  writeFileSync(path, `#!/bin/sh\necho "${says} $*"\n`);
  chmodSync(path, 0o755);
};
mkdirSync(w.path("tools"));
program(w.path("tools/node"), "node");
program(w.path("tools/clang-90"), "clang");
const searched = `${w.path("tools")}:/usr/bin:/bin`;
const environment = { PATH: searched, XDG_CACHE_HOME: w.path("cache") };
const host = { ...processHost(), env: environment };

const launched = (name: string, words: readonly string[], env: Record<string, string> = {}): string => {
  const result = spawnSync("/bin/sh", [join(bin, name), ...words], {
    encoding: "utf8",
    env: { ...environment, ...env },
  });
  return result.stdout.trim().replace(/^node .*start\.cjs/, "node");
};
const named = { TSC_LTO_CLANG: "clang-90" };

describe("the launcher", () => {
  it.each([
    "-E a.c",
    "a.c -E -dM",
    "-O2 -DX -E a.c",
    "--version",
    "-dumpmachine",
    "-print-prog-name=ld",
    "-M a.c",
    "-std=c11 -fsyntax-only a.c",
    "-c -### a.c",
    "-o -x -E a.c",
    "-S a.c -o a.s",
    "-v",
    "-V -qversion",
  ])("runs clang for %s", (line) => {
    expect(launched("tsc-cc", line.split(" "), named)).toBe(`clang ${line}`);
    expect(launched("tsc-c++", line.split(" "), named)).toBe(`clang --driver-mode=g++ ${line}`);
  });

  it.each([
    "-c a.c",
    "a.c -o prog",
    "-Xlinker -E a.c",
    "-x c a.c -o conftest",
    "@more conftest.c",
    "-E -- a.c",
    "-o -E a.c",
    "-include -E a.c",
    "-mllvm -E a.c",
    "-E @more",
    "-E -save-temps a.c",
    "--clang=other -E a.c",
    "--driver-mode=gcc -E a.c",
    "-E --codegen=llvm a.c",
    "-E -j2 a.c",
    "--help",
  ])("leaves %s to Node", (line) => {
    expect(launched("tsc-cc", line.split(" "), named)).toBe(`node cc ${line}`);
    expect(launched("tsc-c++", line.split(" "), named)).toBe(`node cc --driver-mode=g++ ${line}`);
  });

  /** As the driver writes it. Changes before have to be over. */
  const remember = (file: string, path: string, able: readonly Ability[]): void => {
    utimesSync(w.path("tools"), 1000, 1000);
    utimesSync(w.path("tools/clang-90"), 1000, 1000);
    rememberCompiler(file, { path, version: "90.1", able }, host);
  };
  const all = ["links-c", "links-c++", "fat"] as const;

  it.each([
    ["-O2 -c conftest.c", "-O2 -c conftest.c"],
    ["conftest.c -o conftest", "conftest.c -o conftest"],
    ["-o conftest -g conftest.cpp -lm -L/lib", "-o conftest -g conftest.cpp -lm -L/lib"],
    ["-flto -ffat-lto-objects -c conftest.c", "-c conftest.c"],
    ["-flto=auto -o -flto conftest.c", "-o -flto conftest.c"],
    ["-Wl,-z,now,--as-needed -o conftest conftest.o", "-Wl,-z,now,--as-needed -o conftest conftest.o"],
    ["-fno-lto -c a.c", "-fno-lto -c a.c"],
    ["-fno-lto a.c -o a", "-fno-lto a.c -o a"],
    ["-Wa,--noexecstack -c a.S -o a.o", "-Wa,--noexecstack -c a.S -o a.o"],
    ["-flto -c -x assembler-with-cpp a.x", "-c -x assembler-with-cpp a.x"],
    ["-O2 -ffat-lto-objects -flto=auto -c a.c", "-flto=full -O2 -ffat-lto-objects -c a.c"],
    ["-c a.c -o /dev/null", "-c a.c -o /dev/null"],
    ["-Werror -x c - -o /dev/null", "-Werror -x c - -o /dev/null"],
    ["-c /b/meson-private/tmp1/testfile.c -o x", "-c /b/meson-private/tmp1/testfile.c -o x"],
    ["-o CMakeFiles/cmTC_1.dir/any.c.o -c /p/any.c", "-o CMakeFiles/cmTC_1.dir/any.c.o -c /p/any.c"],
    [
      "-rdynamic CMakeFiles/cmTC_1.dir/any.c.o -o cmTC_1",
      "-rdynamic CMakeFiles/cmTC_1.dir/any.c.o -o cmTC_1",
    ],
    ["CMakeCCompilerId.c", "CMakeCCompilerId.c"],
  ])("has clang do %s alone", (line, words) => {
    remember("named-clang", "clang-90", all);
    expect(launched("tsc-cc", line.split(" "), named)).toBe(`clang ${words}`);
    expect(launched("tsc-c++", line.split(" "), named)).toBe(`clang --driver-mode=g++ ${words}`);
  });

  it.each([
    "-c a.c",
    "a.o -o a",
    "-c a.c a.S",
    "-fno-lto a.c b.o",
    "-ffat-lto-objects -fno-fat-lto-objects -c a.c",
    "conftest.c ../liba.a -o conftest",
    "conftest.c -Wl,--size-report=x -o conftest",
    "conftest.c -Wl,-z,now,--icf=all",
    "conftest.c -fuse-ld=mold",
    "conftest.c -Xlinker --as-needed",
    "-fwhole-program-vtables -c conftest.cc",
    "-c conftest.c a.o",
    "-c conftest.h",
    "-x c++-header -c conftest.x",
    "-x c - -lm -o /dev/null",
    "-c conftest.c -o",
  ])("leaves %s to Node, whatever clang is able to do", (line) => {
    remember("named-clang", "clang-90", all);
    expect(launched("tsc-cc", line.split(" "), named)).toBe(`node cc ${line}`);
  });

  it("leaves to Node what this clang is not able to do, or another one was asked about", () => {
    remember("named-clang", "clang-90", ["links-c"]);
    expect(launched("tsc-cc", ["conftest.c"], named)).toBe("clang conftest.c");
    expect(launched("tsc-c++", ["conftest.c"], named)).toBe("node cc --driver-mode=g++ conftest.c");
    expect(launched("tsc-cc", ["-ffat-lto-objects", "-c", "a.c"], named)).toMatch(/^node/);
    const other = { TSC_LTO_CLANG: "clang-89" };
    expect(launched("tsc-cc", ["conftest.c"], other)).toBe("node cc conftest.c");
    writeFileSync(w.path("tools/clang-89"), "#!/bin/sh\necho another\n");
    chmodSync(w.path("tools/clang-89"), 0o755);
    remember("named-clang", "clang-89", all);
    expect(launched("tsc-cc", ["conftest.c"], other)).toBe("another");
  });

  it("passes words as they are", () => {
    const odd = ["-DX=a  b", "-DY=$HOME;`id`", "-I", "-flto", "-DZ=*", "-D\n"];
    const script = w.path("tools/clang-91");
    writeFileSync(script, '#!/bin/sh\nfor word do printf "<%s>" "$word"; done\n');
    chmodSync(script, 0o755);
    remember("named-clang", "clang-91", all);
    const env = { TSC_LTO_CLANG: "clang-91" };
    for (const more of [["-c"], ["-flto", "-c"], ["-ffat-lto-objects", "-c"], ["-lm"]]) {
      const kept = more.filter((word) => !/lto/.test(word));
      const words = ["conftest.c", ...odd, ...more];
      expect(launched("tsc-cc", words, env)).toBe(
        ["conftest.c", ...odd, ...kept].map((word) => `<${word}>`).join(""),
      );
    }
  });

  it("goes on with Node where a library has objects of ours", () => {
    const script = w.path("tools/clang-92");
    const marker = "undefined reference to `__lto_object_without_machine_code_needs_tsc_lto'";
    writeFileSync(script, `#!/bin/sh\necho "${marker.replace("`", "\\`")}" >&2\nexit 1\n`);
    chmodSync(script, 0o755);
    remember("named-clang", "clang-92", all);
    const env = { TSC_LTO_CLANG: "clang-92" };
    expect(launched("tsc-cc", ["conftest.c", "-lours"], env)).toBe("node cc conftest.c -lours");
    expect(launched("tsc-cc", ["conftest.c"], env)).toBe("");
    writeFileSync(script, "#!/bin/sh\necho no such library >&2\nexit 5\n");
    for (const changed of [script, w.path("tools")]) utimesSync(changed, 1000, 1000);
    const { status, stderr } = spawnSync("/bin/sh", [join(bin, "tsc-cc"), "conftest.c", "-lnone"], {
      encoding: "utf8",
      env: { ...environment, ...env },
    });
    expect({ status, stderr }).toEqual({ status: 5, stderr: "no such library\n" });
  });

  it("knows the same options with values as the driver", () => {
    const shell = readFileSync(join(bin, "clang-only.sh"), "utf8");
    const [, body = ""] = /^takesValue\(\) \{\n([\s\S]*?)^\}/m.exec(shell) ?? [];
    const inShell = [...body.matchAll(/--?[A-Za-z][\w+-]*(?=\*? \||\*?\))/g)].map(([word]) => word);
    const driver = readFileSync(join(import.meta.dirname, "../../frontend/clang/command-line.ts"), "utf8");
    const inDriver = [...driver.matchAll(/"(--?[A-Za-z][\w+-]*)"/g)].map(([, word]) => word!);
    expect(inShell.length).toBeGreaterThan(80);
    expect(inShell.filter((word) => !takesNextWord(word))).toEqual([]);
    expect(inDriver.filter((word) => takesNextWord(word) && !inShell.includes(word))).toEqual([]);
  });

  it("knows the clang that was found last, as long as nothing on PATH has changed", () => {
    expect(launched("tsc-cc", ["--version"])).toBe("node cc --version");
    // What is written in the moment of a change is not believed.
    utimesSync(w.path("tools"), 1000, 1000);
    rememberCompiler("clang", { path: w.path("tools/clang-90"), version: "90.1", able: [] }, host);
    expect(launched("tsc-cc", ["--version"])).toBe("clang --version");
    expect(launched("tsc-cc", ["--version"], { PATH: `${searched}:/usr/sbin` })).toBe("node cc --version");
    for (const TSC_LTO_CLANG of ["embedded", "cc", "clang-nowhere"])
      expect(launched("tsc-cc", ["--version"], { TSC_LTO_CLANG }), TSC_LTO_CLANG).toBe("node cc --version");
    const later = Date.now() / 1000 + 100;
    utimesSync(w.path("tools"), later, later);
    expect(launched("tsc-cc", ["--version"])).toBe("node cc --version");
  });
});

describe("what is remembered of a clang", () => {
  it("holds for this PATH and this program", async () => {
    const compiler = { path: w.path("tools/clang-90"), version: "90.1", able: ["fat", "links-c"] as const };
    const known = (more: Record<string, string> = {}) =>
      knownCompiler("named-clang", { ...host, env: { ...environment, ...more } });
    expect(known()).toBeUndefined();
    // Changes of the folders before have to be over.
    utimesSync(w.path("tools"), 1000, 1000);
    await new Promise((done) => setTimeout(done, 20));
    rememberCompiler("named-clang", compiler, host);
    expect(known()).toEqual(compiler);
    expect(known({ PATH: "/usr/bin" })).toBeUndefined();
    // Another PATH has an entry of its own.
    const other = { ...host, env: { ...environment, PATH: "/usr/bin" } };
    rememberCompiler("named-clang", { path: "/bin/sh", version: "91", able: [] }, other);
    expect(known({ PATH: "/usr/bin" })?.version).toBe("91");
    expect(known()).toEqual(compiler);
    expect(knownCompiler("named-clang", host, "clang-89")).toBeUndefined();
    expect(known({ XDG_CACHE_HOME: "", HOME: "" })).toBeUndefined();
    rememberCompiler("named-clang", compiler, { ...host, env: { ...environment, PATH: `.:${searched}` } });
    expect(known()).toEqual(compiler);
    await new Promise((done) => setTimeout(done, 20));
    program(compiler.path, "another");
    expect(known()).toBeUndefined();
  });
});
