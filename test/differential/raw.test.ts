/**
 * Programs from bitcode that none of clang's passes has seen, as `--raw` of the differential tools has it: what clang
 * tidies away otherwise, from variables in memory to code that nothing reaches, is left to this project's passes.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runDriver } from "../../bin/cc/main.js";
import { anyClangOption } from "../support/clang.js";
import { capture, inThisProcess, temporaryFolder, tscLto } from "../support/command.js";
import { listFixtures, runFixture } from "../tools/fixtures.js";
import { compilerOptions, ours, toolchain } from "../tools/toolchain.js";

const scratch = temporaryFolder();
const clang = [anyClangOption];
const raw = compilerOptions(true, clang);

describe("--raw", () => {
  it("leaves variables in memory, which clang's passes do not", async () => {
    const source = join(scratch, "variable.c");
    writeFileSync(source, "int twice(int x) { int y = x; y += x; return y; }\n");
    const variables = async (flags: readonly string[]): Promise<number> => {
      const object = join(scratch, "variable.o");
      const made = await capture(runDriver, ["-O2", ...flags, "-c", source, "-o", object], { cwd: scratch });
      expect(made.err).toBe("");
      const only = ["--only-passes=dce", "--emit=ir", "--export=twice"];
      return (await tscLto([object, ...only, "-o", "-"], { cwd: scratch })).out.split(" alloca ").length - 1;
    };
    expect(await variables(compilerOptions(false, clang))).toBe(0);
    expect(await variables(raw)).toBe(2);
  });

  it("is refused for compilers that are not this project's", () => {
    expect(() => toolchain("clang-lto", true)).toThrow(
      "--raw is for this project's own compiler, not for 'clang-lto'",
    );
    expect(toolchain("ours-no-ipra", true).name).toBe("ours-no-ipra");
  });
});

const tool = ours(["-j1", "--check-regalloc", "--check-ipra", "--verify"], raw, inThisProcess(scratch));
/** Some of all kinds, since the names are sorted by what the programs are about. */
const fixtures = listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "c")).filter(
  (_, i) => i % 6 === 3,
);

describe("C programs without clang's passes", () => {
  it("at least ten", () => expect(fixtures.length).toBeGreaterThanOrEqual(10));
  for (const [i, fixture] of fixtures.entries()) {
    const level = i % 2 === 0 ? "Oz" : "O2";
    it(`${fixture.name} at -${level}`, async () => {
      const dir = join(scratch, fixture.name);
      mkdirSync(dir);
      expect(await runFixture(fixture, tool, level, dir)).toBe(readFileSync(fixture.expected, "latin1"));
    });
  }
});
