/** Golden files of the textual form. `npm run bless` rewrites the expectations, to be reviewed as a diff. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { printModule } from "../../formats/text/printer.js";
import { type Op, opNames } from "../../lto/ir/instructions.js";
import type { Module } from "../../lto/ir/module.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { expectFile } from "../support/expected.js";
import { fixtureFolder, fixtureNames, readFixture } from "./fixtures.js";

const parseFixture = (name: string): Module => parseModule(readFixture(`${name}.ll`), `${name}.ll`);

describe("golden text", () => {
  it.each(fixtureNames)("%s prints as expected", (name) => {
    const text = printModule(parseFixture(name));
    expectFile(text, join(fixtureFolder, `${name}.tir`));
  });

  it.each(fixtureNames)("%s round-trips", (name) => {
    const text = readFixture(`${name}.tir`);
    expect(printModule(parseModule(text, name))).toBe(text);
  });

  it.each(fixtureNames)("%s is valid", (name) => {
    expect(verifyModule(parseFixture(name))).toEqual([]);
  });

  it("covers every operation", () => {
    const seen = new Set<Op>();
    for (const name of fixtureNames)
      for (const fn of parseFixture(name).functions)
        for (const block of fn.isDeclaration ? [] : fn.view().blocks)
          for (const inst of block.insts) seen.add(inst.op);
    const missing = Object.entries(opNames).filter(([op]) => !seen.has(Number(op)));
    expect(missing.map(([, name]) => name)).toEqual([]);
  });
});
