/** The launcher: what clang does alone it runs without Node, and only then; and what is remembered of clangs. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { knownCompiler, rememberCompiler } from "../../bin/cc/compiler-choice.js";
import { processHost } from "../../bin/host/host.js";
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
  ])("runs clang for %s", (line) => {
    expect(launched("tsc-cc", line.split(" "), named)).toBe(`clang ${line}`);
    expect(launched("tsc-c++", line.split(" "), named)).toBe(`clang --driver-mode=g++ ${line}`);
  });

  it.each([
    "-c a.c",
    "a.c -o prog",
    "-Xlinker -E a.c",
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

  it("knows the clang that was found last, as long as nothing on PATH has changed", () => {
    expect(launched("tsc-cc", ["--version"])).toBe("node cc --version");
    // What is written in the moment of a change is not believed.
    utimesSync(w.path("tools"), 1000, 1000);
    rememberCompiler("clang", { path: w.path("tools/clang-90"), version: "90.1" }, host);
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
    const compiler = { path: w.path("tools/clang-90"), version: "90.1" };
    const known = (more: Record<string, string> = {}) =>
      knownCompiler("named-clang", { ...host, env: { ...environment, ...more } });
    expect(known()).toBeUndefined();
    // Changes of the folders before have to be over.
    utimesSync(w.path("tools"), 1000, 1000);
    await new Promise((done) => setTimeout(done, 20));
    rememberCompiler("named-clang", compiler, host);
    expect(known()).toEqual(compiler);
    expect(known({ PATH: "/usr/bin" })).toBeUndefined();
    expect(known({ XDG_CACHE_HOME: "", HOME: "" })).toBeUndefined();
    rememberCompiler("named-clang", compiler, { ...host, env: { ...environment, PATH: `.:${searched}` } });
    expect(known()).toEqual(compiler);
    await new Promise((done) => setTimeout(done, 20));
    program(compiler.path, "another");
    expect(known()).toBeUndefined();
  });
});
