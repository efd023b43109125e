/** Which linker a driver's words name: beside clang, however that is called, before PATH. */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { processHost } from "../../bin/host/host.js";
import { chosenLinker, wordsForGcc } from "../../bin/host/linkers.js";
import { temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const program = (path: string): string => {
  const file = join(folder, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
  return file;
};
const clang = program("llvm/clang");
const beside = program("llvm/ld.own");
const onPath = program("bin/ld.own");
const other = program("bin/ld.other");
symlinkSync(clang, join(folder, "bin/clang-named"));
writeFileSync(join(folder, "bin/ld.text"), "");
const host = { ...processHost(), cwd: folder, env: { PATH: join(folder, "bin") } };
const chosen = (word: string, from: string | null): string | null => chosenLinker([word], from, host);

describe("the linker that words name", () => {
  it.each([clang, "clang-named", "bin/clang-named"])("lies beside clang '%s'", (path) => {
    expect(chosen("-fuse-ld=own", path)).toBe(beside);
    expect(chosen("-fuse-ld=other", path)).toBe(other);
  });

  it.each([null, "clang-gone", "bin/clang-gone"])("is on PATH where clang is '%s'", (path) => {
    expect(chosen("-fuse-ld=own", path)).toBe(onPath);
  });

  it("is that on PATH where a path was asked for", () => {
    expect(chosen("--ld-path=ld.own", clang)).toBe(onPath);
    expect(chosen("--ld-path=llvm/ld.own", null)).toBe(beside);
  });

  it("is a program", () => {
    expect(() => chosen("-fuse-ld=text", clang)).toThrow(
      "invalid linker name in '-fuse-ld=text': not on PATH",
    );
    expect(() => chosen("-fuse-ld=gone", null)).toThrow(
      "invalid linker name in '-fuse-ld=gone': not on PATH",
    );
  });
});

describe("the linker that GCC finds", () => {
  const found = (linker: string, directory: string): string => {
    const [word] = wordsForGcc(linker, join(folder, directory));
    return join(word!.slice("-B".length), "ld");
  };

  it("is told nothing of where GCC looked, if it is a script: it may ask a compiler for a linker, which would be itself", () => {
    const script = program("it's/ld.asking");
    writeFileSync(script, '#!/bin/sh\nenv | grep -c ^COMPILER_PATH=\necho "$0" "$2"\n');
    const env = { ...process.env, COMPILER_PATH: join(folder, "first/linker") };
    expect(execFileSync(found(script, "first"), ["-o", "a b"], { encoding: "utf8", env })).toBe(
      `0\n${script} a b\n`,
    );
  });

  it("is the program itself otherwise", () => {
    expect(realpathSync(found(process.execPath, "second"))).toBe(realpathSync(process.execPath));
  });
});
