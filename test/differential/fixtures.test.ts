/**
 * The programs of fixtures/c, each about one construct: compiled once a level, then linked and translated by the project
 * in several ways, assembled and linked by the system's cc, and run. Their output has to be what clang -O0 and gcc gave
 * when the fixture was written.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess } from "../support/command.js";
import { type Fixture, fixtureJob, listFixtures, runBuilt } from "../tools/fixtures.js";
import { ours } from "../tools/toolchain.js";

const scratch = mkdtempSync(join(tmpdir(), "fixtures-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const fixtures = listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "c"));
const isIpra = ({ name }: Fixture): boolean => name.startsWith("ipra-");
const isUnwind = ({ name }: Fixture): boolean => name.startsWith("unwind-");

/** A way to link a program. */
interface Way {
  readonly name: string;
  readonly options: readonly string[];
  readonly of: (fixture: Fixture) => boolean;
  /** What the assembly has. */
  readonly shows?: RegExp;
}
const all = (): boolean => true;
const checks = ["--check-regalloc", "--check-ipra", "--verify"];
const plain: Way = { name: "plain", options: checks, of: all };
/** Checks as it runs what passes inferred, whom pointers reach, and who enters functions. */
const checked: Way = {
  name: "checked as it runs",
  options: ["--verify", "--check-attributes", "--guard-callees", "--guard-entries"],
  of: all,
};
const alone: Way = { name: "without IPRA", options: [...checks, "--no-ipra"], of: isIpra };
const fast: Way = { name: "fast", options: [...checks, "--effort=fast"], of: isIpra };
/** Programs that unwind from each instruction, with each form of outlined code. */
const forms: readonly Way[] = [
  ["call", /\tcall\toutlined\./] as const,
  ["thunk", /\tcall\toutlined\./] as const,
  ["jump", /\tjmp\toutlined\.(?!epilogue)/] as const,
].map(([form, shows]) => ({
  name: `outlined code of the form ${form}`,
  options: [...checks, `--outline-forms=${form}`],
  of: isUnwind,
  shows,
}));
/** By level: the compiler, and the ways of linking what it made. */
const levels: Readonly<Record<string, readonly [string, readonly Way[]]>> = {
  O0: [anyClangOption, [plain]],
  O2: ["--clang=embedded", [plain, checked, alone, fast]],
  Oz: [anyClangOption, [plain, checked, fast, ...forms]],
};

describe("there are programs to run", () => {
  it("at least thirty", () => expect(fixtures.length).toBeGreaterThan(30));
});

for (const [level, [clang, ways]] of Object.entries(levels)) {
  describe(`C programs at -${level}`, () => {
    const compiler = ours([], [clang], inThisProcess(scratch));
    for (const fixture of fixtures)
      it(fixture.name, async () => {
        const dir = join(scratch, `${fixture.name}-${level}`);
        mkdirSync(dir);
        const job = fixtureJob(fixture, level, dir, true);
        const objects = await compiler.compile(job);
        if (!Array.isArray(objects)) throw new Error(objects.message);
        const expected = readFileSync(fixture.expected, "latin1");
        for (const { name, options, of, shows } of ways) {
          if (!of(fixture)) continue;
          const linker = ours(["-j1", ...options], [clang], inThisProcess(scratch));
          const output = await runBuilt(await linker.link(job, objects), job.exe, dir);
          expect(output, name).toBe(expected);
          if (shows !== undefined && fixture.name === "unwind-outlined")
            expect(readFileSync(join(job.dir, "program.s"), "latin1"), name).toMatch(shows);
        }
      });
  });
}
