/**
 * The programs of fixtures/c, each about one construct: compiled by the embedded clang, linked and translated by
 * the project, assembled and linked by the system's cc, and run. Their output has to be what clang -O0 and gcc
 * gave when the fixture was written.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { inThisProcess } from "../support/command.js";
import { fixtureJob, listFixtures, runBuilt, runFixture } from "../tools/fixtures.js";
import { ours } from "../tools/toolchain.js";

// tsc-lto finds package.json from where it is built to (dist/bin/lto), which is a folder deeper than its source.
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const readFileSync = (path: unknown, ...rest: unknown[]): unknown => {
    const inner = fs.readFileSync as (...args: unknown[]) => unknown;
    const nearer = path instanceof URL && path.href.endsWith("/package.json") && !fs.existsSync(path);
    return inner(nearer ? new URL("../../package.json", import.meta.url) : path, ...rest);
  };
  return { ...fs, readFileSync };
});

const scratch = mkdtempSync(join(tmpdir(), "fixtures-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const checks = ["--check-regalloc", "--check-ipra", "--verify"];
const tool = ours(["-j1", ...checks], ["--clang=embedded"], inThisProcess(scratch));
const fixtures = listFixtures(join(import.meta.dirname, "..", "..", "fixtures", "c"));

describe("there are programs to run", () => {
  it("at least thirty", () => expect(fixtures.length).toBeGreaterThan(30));
});

for (const level of ["O0", "O2", "Oz"]) {
  describe(`C programs at -${level}`, () => {
    for (const fixture of fixtures) {
      it(fixture.name, async () => {
        const dir = join(scratch, `${fixture.name}-${level}`);
        mkdirSync(dir);
        const output = await runFixture(fixture, tool, level, dir);
        expect(output).toBe(readFileSync(fixture.expected, "latin1"));
      });
    }
  });
}

describe("programs about interprocedural register allocation, without it", () => {
  const plain = ours(["-j1", ...checks, "--no-ipra"], ["--clang=embedded"], inThisProcess(scratch));
  for (const fixture of fixtures.filter((f) => f.name.startsWith("ipra-"))) {
    it(fixture.name, async () => {
      const dir = join(scratch, `${fixture.name}-plain`);
      mkdirSync(dir);
      expect(await runFixture(fixture, plain, "O2", dir)).toBe(readFileSync(fixture.expected, "latin1"));
    });
  }
});

describe("programs about interprocedural register allocation, linked fast", () => {
  const fast = ours(["-j1", ...checks, "--effort=fast"], ["--clang=embedded"], inThisProcess(scratch));
  for (const fixture of fixtures.filter((f) => f.name.startsWith("ipra-")))
    for (const level of ["O2", "Oz"])
      it(`${fixture.name} at -${level}`, async () => {
        const dir = join(scratch, `${fixture.name}-${level}-fast`);
        mkdirSync(dir);
        expect(await runFixture(fixture, fast, level, dir)).toBe(readFileSync(fixture.expected, "latin1"));
      });
});

describe("programs that check as they run what passes inferred, whom pointers reach, and who enters functions", () => {
  const checked = ours(
    ["-j1", "--verify", "--check-attributes", "--guard-callees", "--guard-entries"],
    ["--clang=embedded"],
    inThisProcess(scratch),
  );
  for (const level of ["O2", "Oz"])
    for (const fixture of fixtures)
      it(`${fixture.name} at -${level}`, async () => {
        const dir = join(scratch, `${fixture.name}-${level}-checked`);
        mkdirSync(dir);
        const output = await runFixture(fixture, checked, level, dir);
        expect(output).toBe(readFileSync(fixture.expected, "latin1"));
      });
});

describe("programs that unwind from each instruction, with each form of outlined code", () => {
  const forms = {
    call: /\tcall\toutlined\./,
    thunk: /\tcall\toutlined\./,
    jump: /\tjmp\toutlined\.(?!epilogue)/,
  };
  for (const fixture of fixtures.filter((f) => f.name.startsWith("unwind-"))) {
    it(fixture.name, async () => {
      const dir = join(scratch, `${fixture.name}-forms`);
      mkdirSync(dir);
      const job = fixtureJob(fixture, "Oz", dir, true);
      const objects = await tool.compile(job);
      if (!Array.isArray(objects)) throw new Error(objects.message);
      for (const [form, transfer] of Object.entries(forms)) {
        const options = ["-j1", ...checks, `--outline-forms=${form}`];
        const linker = ours(options, ["--clang=embedded"], inThisProcess(scratch));
        const output = await runBuilt(await linker.link(job, objects as string[]), job.exe, dir);
        expect(output, form).toBe(readFileSync(fixture.expected, "latin1"));
        if (fixture.name === "unwind-outlined")
          expect(readFileSync(join(job.dir, "program.s"), "latin1"), form).toMatch(transfer);
      }
    });
  }
});
