/** What the entries of a program say, as the system's reader of them reads them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { debugEntries, writeEntries } from "../../formats/dwarf/debug-entries.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { i8 } from "../../lto/ir/types.js";
import { constInt } from "../../lto/ir/values.js";
import { fixtureBytes } from "../bitcode/fixture.js";

const dir = mkdtempSync(join(tmpdir(), "debug-entries-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** The entries of a fixture's globals and types: one text each, with what they have. */
function entries(version: number, change: (name: string) => boolean = () => false): string[] {
  const module = readBitcode(fixtureBytes("nodes-22.bc"), "nodes-22.bc")[0]!;
  module.loadDebug();
  for (const variable of module.variables) if (change(variable.name)) variable.retype(i8, constInt(i8, 0));
  let text = "";
  const made = debugEntries(
    module,
    { functions: [], places: { rows: [], expressions: [] } },
    new Map(),
    { label: () => null, file: () => 1 },
    version,
    (global) => (global.isDeclaration ? null : global.name),
  );
  writeEntries(made, (part) => (text += part));
  const symbols = module.variables
    .filter(({ isDeclaration }) => !isDeclaration)
    .map(({ name, threadLocal }) => {
      const section = threadLocal === "none" ? ".data" : '.section .tdata,"awT",@progbits';
      return `\t${section}\n"${name}":\n\t.quad 0\n`;
    });
  const source = join(dir, "entries.s");
  const object = join(dir, "entries.o");
  writeFileSync(source, symbols.join("") + text);
  execFileSync("cc", ["-c", source, "-o", object]);
  const read = execFileSync("readelf", ["--debug-dump=info", object], { encoding: "utf8", stdio: "pipe" });
  return read.split(/^ <\d+><[0-9a-f]+>: /m).slice(1);
}

const named = (list: readonly string[], tag: string, name: string): string | undefined =>
  list.find(
    (entry) => entry.includes(`(${tag})`) && new RegExp(`DW_AT_name.*[ )]${name}\\s*$`, "m").test(entry),
  );

describe.each([4, 5])("entries of DWARF %d", (version) => {
  const list = entries(version);

  it("have types with their members", () => {
    expect(named(list, "DW_TAG_structure_type", "S")).toMatch(/DW_AT_byte_size\s*: 32/);
    expect(named(list, "DW_TAG_member", "next")).toMatch(/DW_AT_data_member_location: 16/);
    expect(named(list, "DW_TAG_member", "bits")).toMatch(/DW_AT_bit_size\s*: 3/);
    expect(named(list, "DW_TAG_enumerator", "B")).toMatch(/DW_AT_const_value\s*: 200/);
    expect(named(list, "DW_TAG_namespace", "n")).toBeDefined();
  });

  it("have variables with their places", () => {
    expect(named(list, "DW_TAG_variable", "arr")).toContain("DW_AT_location");
    expect(named(list, "DW_TAG_variable", "tls")).toMatch(/DW_OP_GNU_push_tls_address/);
  });
});

it("a variable of another shape than its source's has no place", () => {
  expect(
    named(
      entries(5, (name) => name.includes("hidden")),
      "DW_TAG_variable",
      "hidden",
    ),
  ).not.toContain("DW_AT_location");
  expect(named(entries(5), "DW_TAG_variable", "hidden")).toContain("DW_AT_location");
});
