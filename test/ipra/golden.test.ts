/**
 * What interprocedural allocation does to a caller, across files: `quantize` in one object calls `magnitude` in
 * another, and keeps its two parameters across the call. By the convention that takes callee-saved registers, which
 * it has to push and pop; knowing what the callee changes, it takes others and touches the stack no more.
 * The golden files hold the caller's assembly; `npm run bless` writes them anew.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { tscLto } from "../support/command.js";
import { expectFile } from "../support/expected.js";

const dir = mkdtempSync(join(tmpdir(), "ipra-golden-"));
afterAll(() => rmSync(dir, { recursive: true }));
const golden = join(import.meta.dirname, "golden");

const objectsOf = (...names: string[]): string[] =>
  names.map((name) => {
    const text = readFileSync(join(golden, `${name}.ll`), "utf8");
    const object = join(dir, `${name}.o`);
    writeFileSync(object, writeObject(parseModule(text, `${name}.ll`)));
    return object;
  });
const direct = objectsOf("caller", "callee");
const indirect = objectsOf("sort", "callbacks");
/** Constant propagation sees which functions are passed, and makes the calls direct ones. */
const asWritten = "--skip-pass=ipsccp,deadargelim,inline,simplify";

/** The lines of a function in the assembly of objects linked with some options. */
async function assemblyFrom(objects: string[], fn: string, ...options: string[]): Promise<string> {
  const out = join(dir, "out.s");
  const args = [...objects, "-o", out, "--check-ipra", "--check-regalloc", ...options];
  const { code: status, err: said } = await tscLto(args, { cwd: dir });
  expect({ status, said }).toEqual({ status: 0, said: "" });
  const text = readFileSync(out, "utf8");
  const start = text.indexOf(`\n${fn}:\n`) + 1;
  return text.slice(start, text.indexOf(`\t.size\t${fn},`, start));
}
const assemblyOf = (fn: string, ...options: string[]): Promise<string> =>
  assemblyFrom(direct, fn, ...options);
const stackInstructions = (text: string): string[] => text.match(/\t(push|pop|leave)\w*\b.*|.*%rsp.*/g) ?? [];

describe("a caller and its callee in two objects", () => {
  it("without IPRA the caller saves registers", async () => {
    const text = await assemblyOf("quantize", "--no-ipra");
    expect(stackInstructions(text)).toEqual([
      "\tpushq\t%rbx",
      "\tpushq\t%rbp",
      ...stackInstructions(text).slice(2, -2),
      "\tpopq\t%rbp",
      "\tpopq\t%rbx",
    ]);
    expectFile(text, join(golden, "quantize.no-ipra.s"));
  });
  it("with IPRA no push and no pop is left in it", async () => {
    const text = await assemblyOf("quantize");
    expect(text).toContain("\tcall\tmagnitude");
    expect(stackInstructions(text)).toEqual([]);
    expectFile(text, join(golden, "quantize.ipra.s"));
  });
  it("the callee needs no stack either way", async () => {
    expect(stackInstructions(await assemblyOf("magnitude"))).toEqual([]);
    expect(stackInstructions(await assemblyOf("magnitude", "--no-ipra"))).toEqual([]);
  });
});

describe("calls through pointers", () => {
  const saves = async (fn: string, ...options: string[]): Promise<number> => {
    const text = await assemblyFrom(indirect, fn, ...options);
    expect(text).toMatch(/\tcall\t\*/);
    return stackInstructions(text).length;
  };
  it("a table of operations: with IPRA the stack is not touched", async () => {
    expect(await saves("evaluate", "--no-ipra")).toBeGreaterThan(4);
    expect(await saves("evaluate")).toBe(0);
    expectFile(await assemblyFrom(indirect, "evaluate", asWritten), join(golden, "evaluate.ipra.s"));
  });
  it("a comparison that is passed to a sort: at most two saves are left", async () => {
    expect(await saves("sort", "--no-ipra")).toBeGreaterThan(10);
    expect(await saves("sort")).toBeLessThanOrEqual(4);
    expectFile(await assemblyFrom(indirect, "sort", asWritten), join(golden, "sort.ipra.s"));
  });
});
