/**
 * Every allocator with every coalescer, cost policy, with and without interprocedural allocation, on programs that
 * are hard on registers: each has to give the output that the fixture states, with all checkers on.
 *
 * Each program sees all allocators, coalescers and policies; interprocedural allocation alternates with the program,
 * so that every combination meets half of them. Combinations that give the same assembly are run once.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess } from "../support/command.js";
import { type Fixture, listFixtures } from "../tools/fixtures.js";
import { run } from "../tools/process.js";
import { ours } from "../tools/toolchain.js";

const scratch = mkdtempSync(join(tmpdir(), "allocators-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const execute = inThisProcess(scratch);
const tool = ours([], [anyClangOption], execute);

/** Name and level of the programs. */
const programs: readonly (readonly [string, string])[] = [
  ["pressure", "O2"],
  ["pressure", "Oz"],
  ["calls-arguments", "O2"],
  ["calls-recursion-registers", "Oz"],
  ["control-flow", "O2"],
  ["asm-constraints", "Oz"],
  ["int-arithmetic", "O0"],
  ["float-arithmetic", "Oz"],
  ["setjmp", "O2"],
  ["switch-dense", "Oz"],
  ["varargs-define", "O0"],
  ["vector-16", "O2"],
];

const fixtures = new Map<string, Fixture>(
  listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "c")).map((f) => [f.name, f]),
);

/** Flags of each combination. */
function combinations(ipra: boolean): string[][] {
  const result: string[][] = [];
  for (const allocator of ["ssa", "greedy", "linear", "graph"]) {
    for (const coalescer of ["pereira", "dominance", "none"]) {
      for (const policy of ["size", "speed"]) {
        const flags = [`--regalloc=${allocator}`, `--coalesce=${coalescer}`, `--spill-cost=${policy}`];
        result.push(ipra ? flags : [...flags, "--no-ipra"]);
      }
    }
  }
  return result;
}

describe("every way of allocating registers", () => {
  for (const [turn, [name, level]] of programs.entries()) {
    it(`is right for ${name} at -${level}`, async () => {
      const fixture = fixtures.get(name)!;
      const dir = join(scratch, `${name}-${level}`);
      mkdirSync(dir);
      const units = fixture.sources.map((source) => ({ source, flags: fixture.flags }));
      const objects = await tool.compile({ units, level, libs: [], exe: "", dir, pie: true });
      if (!Array.isArray(objects)) throw new Error(objects.message);
      const expected = readFileSync(fixture.expected, "latin1");
      const seen = new Set<string>();
      for (const flags of combinations(turn % 2 === 0)) {
        const label = flags.join(" ");
        const [asm, exe] = [join(dir, "program.s"), join(dir, "program")];
        const checks = ["--check-regalloc", "--verify", "-j1"];
        const made = await execute(["tsc-lto", ...objects, "-o", asm, `-${level}`, ...checks, ...flags]);
        expect(made.stderr, label).toBe("");
        const text = readFileSync(asm, "latin1");
        if (seen.has(text)) continue;
        seen.add(text);
        const linked = await run(["cc", "-pie", asm, "-o", exe, ...fixture.libs], { timeoutMs: 60_000 });
        expect(linked.stderr, label).toBe("");
        const output = await run([exe], { cwd: dir, timeoutMs: 20_000, sandbox: true });
        expect(output.stdout.toString("latin1"), label).toBe(expected);
      }
      expect(seen.size).toBeGreaterThan(1);
    });
  }
});
