/** Which linker a driver's words name: beside clang, however that is called, before PATH. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { processHost } from "../../bin/host/host.js";
import { chosenLinker } from "../../bin/host/linkers.js";
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
