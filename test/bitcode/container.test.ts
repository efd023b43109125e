/** The file around modules: magic numbers, wrapper, string tables, several modules. */
import { describe, expect, test } from "vitest";
import { isBitcode, readBitcode } from "../../frontend/llvm/bitcode.js";
import { InputError } from "../../lto/ir/errors.js";
import { BitWriter, basicTypes, moduleFile } from "./bit-writer.js";
import { fixtureBytes, func, readFixture } from "./fixture.js";

function wrapped(bytes: Uint8Array, padding = 0): Uint8Array {
  const file = new Uint8Array(20 + bytes.length + padding);
  const view = new DataView(file.buffer);
  const header = [0x0b17c0de, 0, 20, bytes.length, 0x01000007];
  for (const [i, word] of header.entries()) view.setUint32(i * 4, word, true);
  file.set(bytes, 20);
  return file;
}

describe("isBitcode", () => {
  test("raw and wrapped", () => {
    expect(isBitcode(fixtureBytes("constructs-19.bc"))).toBe(true);
    expect(isBitcode(wrapped(fixtureBytes("constructs-19.bc")))).toBe(true);
  });
  test("something else", () => {
    expect(isBitcode(Buffer.from("\x7fELF"))).toBe(false);
    expect(isBitcode(Buffer.from("BC"))).toBe(false);
    expect(isBitcode(new Uint8Array(0))).toBe(false);
    expect(() => readBitcode(Buffer.from("hello, world"), "x")).toThrow(InputError);
  });
});

test("a wrapper is taken off", () => {
  const bytes = fixtureBytes("constructs-19.bc");
  const [module] = readBitcode(wrapped(bytes, 8), "w.bc");
  expect(module!.globals.map((g) => g.name)).toEqual(
    readFixture("constructs-19.bc").globals.map((g) => g.name),
  );
  expect(func(module!, "loop").view().blocks).toHaveLength(3);
  expect(() => readBitcode(wrapped(bytes).subarray(0, 3000), "w.bc")).toThrow("wrapper header");
});

test("bytes at any offset of a buffer", () => {
  const bytes = fixtureBytes("constructs-19.bc");
  const buffer = new Uint8Array(bytes.length + 1);
  buffer.set(bytes, 1);
  const [module] = readBitcode(buffer.subarray(1), "odd.bc");
  expect(func(module!, "loop").view().blocks).toHaveLength(3);
});

test("a file of two modules", () => {
  const modules = readBitcode(fixtureBytes("split-19.bc"), "split.bc");
  expect(modules).toHaveLength(2);
  const [code, vtables] = modules;
  expect(code!.functions.some((f) => f.name === "_ZNK5Shape4areaEv" && !f.isDeclaration)).toBe(true);
  expect(vtables!.variables.map((v) => v.name)).toContain("_ZTV5Shape");
  for (const fn of modules.flatMap((m) => m.functions)) if (!fn.isDeclaration) fn.view();
});

test("files that follow each other", () => {
  const first = fixtureBytes("constructs-19.bc");
  const second = fixtureBytes("newer-22.bc");
  const modules = readBitcode(Buffer.concat([first, second]), "joined.bc");
  expect(modules.map((m) => m.sourceName)).toEqual(["constructs.c", "newer.c"]);
  expect(func(modules[1]!, "flags_of").view().blocks).toHaveLength(1);
});

test("padding after the last block", () => {
  const bytes = fixtureBytes("newer-22.bc");
  expect(readBitcode(Buffer.concat([bytes, new Uint8Array(4)]), "x")).toHaveLength(1);
});

test("names from a symbol table, as LLVM 4 wrote them", () => {
  const bytes = moduleFile(
    (w) => {
      basicTypes(w);
      w.record(7, 0, 2, 0, 0, 0, 0); // a variable of type i32 without initialiser
      w.record(8, 3, 0, 0, 0, 0, 0, 0, 0); // a function void ()
      w.block(12, () => w.record(1, 1).record(10));
      w.block(14, () => w.record(1, 0, "counter").record(3, 1, 99, "\x01run"));
    },
    "",
    1,
  );
  const [module] = readBitcode(bytes, "old.bc");
  expect(module!.globals.map((g) => g.name)).toEqual(["counter", "run"]);
  expect(func(module!, "run").view().blocks).toHaveLength(1);
});

test("errors name the file and their class", () => {
  const bytes = fixtureBytes("constructs-19.bc").slice(0, 2000);
  try {
    readBitcode(bytes, "short.bc");
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).file).toBe("short.bc");
  }
});

test("a future epoch is refused", () => {
  const writer = new BitWriter();
  writer.block(13, () => writer.record(1, "LLVM99").record(2, 1));
  expect(() => readBitcode(writer.bytes(), "x")).toThrow("future version");
});
