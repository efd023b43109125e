/** Modules with odd flags, layouts and texts: what our writers write, our readers read, and it is the same again. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readObject } from "../../formats/object/index.js";
import { writeObject } from "../../formats/object/writer.js";
import { parseModule } from "../../formats/text/parser.js";
import { printModule } from "../../formats/text/printer.js";
import type { MetadataReader } from "../../frontend/llvm/bitcode/metadata.js";
import { readModuleFlags } from "../../frontend/llvm/bitcode/module-flags.js";
import type { Module } from "../../lto/ir/module.js";

const fixtures = join(import.meta.dirname, "../../fixtures");
const listings = readdirSync(fixtures, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ll"),
);

/** Through text and through an object. */
function expectStable(module: Module): void {
  const text = printModule(module);
  expect(printModule(parseModule(text, "again.ll"))).toBe(text);
  const bytes = writeObject(module);
  const again = readObject(bytes, "again.o");
  expect(printModule(again)).toBe(text);
  expect(Buffer.compare(writeObject(readObject(bytes, "again.o")), bytes)).toBe(0);
}

const flag = (behavior: number | string, key: string, value: string): string =>
  `!llvm.module.flags = !{!0}\n!0 = !{i32 ${behavior}, !"${key}", ${value}}\n`;

describe("written and read again", () => {
  it.each([
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((behavior) => flag(behavior, "my flag", "i32 5")),
    flag(1, "odd", '!"\\00\\01\\22\\5C\\0A text"'),
    flag(1, "\\EF\\BB\\BF\\00\\22", '!"\\EF\\BB\\BF"'),
    flag(1, "\\FF\\C3(", '!"\\FF"'),
    flag(1, "", '!""'),
    flag(1, "big", "i64 9007199254740991"),
    flag(1, "negative", "i32 -5"),
    flag(1, "wide", "i64 -9007199254740991"),
    'source_filename = "a\\FFb\\0A\\22"\n',
    'target datalayout = ""\n',
    'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n',
    '!llvm.dependent-libraries = !{!0}\n!0 = !{!"\\FF\\EF"}\n',
    'module asm "# \\FF\\01 \\22"\nmodule asm "\\EF\\BB\\BF"\n',
    '@a = global i8 0, section "\\EF\\BB\\BF\\FF\\22"\n',
    'define void @f() "\\FF"="\\EF\\BB\\BF\\00" { ret void }\n',
  ])("%s", (text) => {
    expectStable(parseModule(text, "a.ll"));
  });
});

describe("behaviours that nobody knows", () => {
  it.each([0, 9, 255, 256, -1])("%i", (behavior) => {
    let module: Module;
    try {
      module = parseModule(flag(behavior, "my flag", "i32 5"), "a.ll");
    } catch (e) {
      expect((e as Error).name).toBe("InputError");
      return;
    }
    expectStable(module);
  });
});

it("all fixtures", () => {
  expect(listings.length).toBeGreaterThan(80);
  for (const file of listings) expectStable(parseModule(readFileSync(join(fixtures, file), "utf8"), file));
});

it("names with zero bytes are refused by the writer, since readers refuse them", () => {
  const texts = ['@"a\\00" = global i8 0', '@a = global i8 0, section "b\\00"'];
  for (const text of texts) expect(() => writeObject(parseModule(`${text}\n`, "a.ll"))).toThrow(/zero byte/);
});

it.each([-1, 256, 4_294_967_295])("bitcode: a module flag of behaviour %i is refused", (behavior) => {
  const entries = [
    { kind: "node", operands: [1, 2, 1] },
    { kind: "value", value: { valueKind: "int", num: behavior } },
    { kind: "string", text: "my flag" },
  ];
  const named = new Map([["llvm.module.flags", [0]]]);
  const metadata = { named, entry: (id: number) => entries[id] } as unknown as MetadataReader;
  expect(() => readModuleFlags(metadata)).toThrow(
    `module flag 'my flag' has the invalid behavior ${behavior}`,
  );
  entries[1] = { kind: "value", value: { valueKind: "int", num: 8 } };
  expect(readModuleFlags(metadata)).toEqual([{ behavior: 8, key: "my flag", value: 8 }]);
});
