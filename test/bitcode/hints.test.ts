/** Metadata that becomes hints is read alike from text, bitcode of several versions, and objects. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readObject, writeObject } from "../../formats/object/index.js";
import { printModule } from "../../formats/text/printer.js";
import { readFixture } from "./fixture.js";

const textOf = (name: string): string =>
  readFileSync(new URL(`../../fixtures/text/${name}.tir`, import.meta.url), "utf8");
/** Without what differs between the containers: there, types without a name are called by where they stand. */
const contents = (text: string): string =>
  text
    .replace(/^(?:source_filename|target datalayout) = .*\n/gm, "")
    .replace(/"\d+ of [^"]*"/g, '"one of this module"');

describe.each([
  ["hints-14.bc", "hints"],
  ["hints-19.bc", "hints"],
  ["hints-22.bc", "hints"],
  ["ranges-19.bc", "ranges"],
  ["ranges-22.bc", "ranges"],
])("%s", (name, text) => {
  const expected = textOf(text);

  it("says the same as the text", () => {
    expect(contents(printModule(readFixture(name)))).toBe(contents(expected));
  });

  it("goes through an object", () => {
    const module = readObject(writeObject(readFixture(name)), name);
    expect(contents(printModule(module))).toBe(contents(expected));
  });
});
