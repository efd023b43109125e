/**
 * The programs of fixtures/cpp: exceptions in every kind of frame, and what else C++ needs. Each is compiled once a
 * level and then linked in several ways, with the checkers on. Their output has to be what clang -O0 and g++ gave
 * when the fixture was written.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { fixtureJob, hasCxxLibrary, listFixtures, runBuilt } from "../tools/fixtures.js";
import { ours } from "../tools/toolchain.js";

const scratch = temporaryFolder();
const fixtures = listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "cpp"));
const checks = ["--check-regalloc", "--check-ipra", "--verify"];
const clang = [anyClangOption];

interface Way {
  readonly name: string;
  readonly options: readonly string[];
  /** The fixtures linked so. */
  readonly of: RegExp;
}
const plain: Way = { name: "default", options: [], of: /./ };
const fixed: Way = {
  name: "static, no IPRA",
  options: ["--relocation-model", "static", "--no-ipra"],
  of: /./,
};
const unwrapped: Way = { name: "no shrink-wrapping", options: ["--no-shrink-wrap"], of: /^(throw|ipra)/ };
const allocators: Way[] = ["greedy", "linear", "graph"].map((allocator) => ({
  name: allocator,
  options: ["--regalloc", allocator],
  of: /^(throw-(basic|registers|frames|stack|many)|ipra)/,
}));
/** Each form of outlined code by itself. */
const forms: Way[] = ["call", "thunk", "jump"].map((form) => ({
  name: `--outline-forms=${form}`,
  options: ["--outline-forms", form],
  of: /^throw-(outlined|neighbours)/,
}));
const ways: Readonly<Record<string, readonly Way[]>> = {
  O0: [plain],
  O2: [plain, fixed, ...allocators],
  Oz: [plain, fixed, unwrapped, ...forms],
};

describe("there are C++ programs to run", () => {
  it("at least fifteen", () => expect(fixtures.length).toBeGreaterThanOrEqual(15));
});

for (const [level, list] of Object.entries(ways)) {
  describe.skipIf(!hasCxxLibrary())(`C++ programs at -${level}`, () => {
    for (const fixture of fixtures) {
      it(fixture.name, async () => {
        const dir = join(scratch, `${fixture.name}-${level}`);
        mkdirSync(dir);
        const compiler = ours([], clang, inThisProcess(scratch));
        const objects = await compiler.compile(fixtureJob(fixture, level, dir, true));
        if (!Array.isArray(objects)) throw new Error(objects.message);
        const expected = readFileSync(fixture.expected, "latin1");
        for (const { name, options, of } of list) {
          if (!of.test(fixture.name)) continue;
          const tool = ours(["-j1", ...checks, ...options], clang, inThisProcess(scratch));
          const job = fixtureJob(fixture, level, dir, !options.includes("static"));
          const output = await runBuilt(await tool.link(job, objects as string[]), job.exe, dir);
          expect(output, name).toBe(expected);
        }
      }, 300_000);
    }
  });
}
