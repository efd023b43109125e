/**
 * The assembly of a function with an early exit, with its unwind directives: no stack instruction on the way out.
 * `npm run bless` writes the golden file anew.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tscLto } from "../support/command.js";
import { expectFile } from "../support/expected.js";

const golden = join(import.meta.dirname, "golden");
const dir = mkdtempSync(join(tmpdir(), "wrap-golden-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** The function's lines and what tsc-lto said. */
async function compile(...options: string[]): Promise<{ text: string; said: string }> {
  const source = join(dir, "early-exit.ll");
  writeFileSync(source, readFileSync(join(golden, "early-exit.ll")));
  const out = join(dir, "out.s");
  const args = [source, "-r", "-o", out, "--check-ipra", "--check-regalloc", ...options];
  const { code: status, err: said } = await tscLto(args, { cwd: dir });
  expect(status, said).toBe(0);
  const text = readFileSync(out, "utf8");
  const start = text.indexOf("\ntotal:\n") + 1;
  return { text: text.slice(start, text.indexOf("\t.size\ttotal,", start)), said };
}

const firstStackInstruction = (text: string): number => text.search(/\t(push|sub.*%rsp)/);

describe("a function with an early exit", () => {
  it("has its frame after the test", async () => {
    const { text, said } = await compile("-O2", "--stats");
    expectFile(text, join(golden, "early-exit.s"));
    expect(firstStackInstruction(text)).toBeGreaterThan(text.search(/\tj(n?e|mp)\t/));
    expect(said).toMatch(/^ +1 {2}functions with paths that run without their frame$/m);
  });

  it("has it at the entry with --no-shrink-wrap", async () => {
    const { text, said } = await compile("-O2", "--stats", "--no-shrink-wrap");
    expect(firstStackInstruction(text)).toBeLessThan(text.search(/\tj(n?e|mp)\t/));
    expect(said).toMatch(/^ +0 {2}functions with paths that run without their frame$/m);
  });

  it("has it at the entry without optimisation", async () => {
    const { text } = await compile("-O0");
    expect(firstStackInstruction(text)).toBeLessThan(text.search(/\tj(n?e|mp)\t/));
  });
});
