import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isArchive, readArchive } from "../../formats/archive.js";
import { isElf, readElf } from "../../formats/elf.js";
import { InputError } from "../../lto/ir/errors.js";
import { Random } from "../support/random.js";
import { ascii, elf } from "./elf-writer.js";

const folder = mkdtempSync(join(tmpdir(), "archive-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const header = (name: string, size: number): string =>
  name.padEnd(16) +
  "0".padEnd(12) +
  "0".padEnd(6) +
  "0".padEnd(6) +
  "644".padEnd(8) +
  `${size}`.padEnd(10) +
  "`\n";
const member = (name: string, data: string): string =>
  header(name, data.length) + data + (data.length % 2 ? "\n" : "");
const contents = (bytes: Uint8Array | null): string => Buffer.from(bytes!).toString("latin1");
const names = (bytes: Uint8Array): string[] => readArchive(bytes, "lib.a").members.map((m) => m.name);

const longName = "a_name_of_more_than_fifteen_characters.o";
function tool(name: string, args: string[]): boolean {
  try {
    execFileSync(name, args, { cwd: folder, stdio: "pipe" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

describe("archives", () => {
  it("are read in GNU's form: short, long and odd-sized members, tables skipped", () => {
    const bytes = ascii(
      "!<arch>\n" +
        member("/", "\0\0\0\0") +
        member("//", `${longName}/\nb/c.o/\n`) +
        member("x.o/", "odd") +
        member("/0", "long") +
        member(`/${longName.length + 2}`, "path"),
    );
    const { members, thin } = readArchive(bytes, "lib.a");
    expect(thin).toBe(false);
    expect(members.map((m) => [m.name, contents(m.bytes), m.path])).toEqual([
      ["x.o", "odd", null],
      [longName, "long", null],
      ["b/c.o", "path", null],
    ]);
  });

  it("are read in BSD's form", () => {
    const data = `${longName}\0\0\0\0contents`;
    const bytes = ascii(
      "!<arch>\n" +
        member("__.SYMDEF SORTED", "xx") +
        member("short.o", "s") +
        member(`#1/${longName.length + 4}`, data),
    );
    const { members } = readArchive(bytes, "lib.a");
    expect(members.map((m) => [m.name, contents(m.bytes)])).toEqual([
      ["short.o", "s"],
      [longName, "contents"],
    ]);
  });

  it("may be thin, and then give paths", () => {
    const bytes = ascii(
      "!<thin>\n" +
        member("//", `sub/${longName}/\nb/c.o/\n`) +
        header("x.o/", 12345) +
        header("/0", 99) +
        header(`/${longName.length + 6}`.padEnd(15) + "/", 99),
    );
    expect(readArchive(bytes, "lib.a")).toEqual({
      thin: true,
      members: [
        { name: "x.o", bytes: null, path: "x.o" },
        { name: `sub/${longName}`, bytes: null, path: `sub/${longName}` },
        { name: "b/c.o", bytes: null, path: "b/c.o" },
      ],
    });
  });

  it("are read as ar and llvm-ar write them", () => {
    for (const [name, text] of [
      ["x.o", "one"],
      [longName, "two!"],
      ["y.o", ""],
    ] as const)
      writeFileSync(join(folder, name), text);
    const made = ["ar", "llvm-ar-19"].filter((ar) => tool(ar, ["rcS", `${ar}.a`, "x.o", longName, "y.o"]));
    for (const ar of made) {
      const { members } = readArchive(readFileSync(join(folder, `${ar}.a`)), "lib.a");
      expect(members.map((m) => [m.name, contents(m.bytes)])).toEqual([
        ["x.o", "one"],
        [longName, "two!"],
        ["y.o", ""],
      ]);
      if (tool(ar, ["rcST", `${ar}.thin.a`, "x.o", longName])) {
        const thin = readArchive(readFileSync(join(folder, `${ar}.thin.a`)), "lib.a");
        expect(thin.members.map((m) => m.path)).toEqual(["x.o", longName]);
      }
    }
  });

  it("are refused when malformed", () => {
    const good = "!<arch>\n" + member("//", `${longName}/\n`) + member("/0", "data");
    const bad: [string, RegExp][] = [
      ["not one", /not an archive/],
      [good.slice(0, 30), /cut short/],
      [good.slice(0, -2), /cut short/],
      [good.replace("`\n", "``"), /no header/],
      [good.replace(/\/0 /, "/99"), /name table/],
      ["!<arch>\n" + member("/0", "x"), /name table/],
      ["!<arch>\n" + header("x.o/", 0).replace(/0 {9}`/, "-1        `"), /not a size/],
      ["!<arch>\n" + member("#1/9", "abc"), /shorter than its name/],
    ];
    for (const [text, message] of bad) {
      expect(() => readArchive(ascii(text), "lib.a")).toThrow(message);
      expect(() => readArchive(ascii(text), "lib.a")).toThrow(InputError);
    }
    expect(names(ascii("!<arch>\n"))).toEqual([]);
    expect(names(ascii("!<arch>\n" + member("x.o/", "ab") + "\n"))).toEqual(["x.o"]);
    expect(isArchive(ascii("!<arc"))).toBe(false);
  });

  it("give members or an InputError for any damaged bytes", () => {
    const random = new Random(7);
    const originals = [
      ascii(
        "!<arch>\n" +
          member("/", "1234") +
          member("//", `${longName}/\nzz.o/\n`) +
          member("x.o/", "odd") +
          member("/0", "long") +
          member("#1/4", "abcdef"),
      ),
      ascii("!<thin>\n" + member("//", `sub/${longName}/\n`) + header("x.o/", 5) + header("/0", 9)),
    ];
    let refused = 0;
    for (let round = 0; round < 4000; round++) {
      const bytes = random.pick(originals).slice(0, random.oneIn(4) ? random.below(300) : undefined);
      for (let i = 1 + random.below(3); i > 0 && bytes.length > 8; i--)
        bytes[8 + random.below(bytes.length - 8)] = random.oneIn(2)
          ? 48 + random.below(10)
          : random.below(256);
      try {
        for (const m of readArchive(bytes, "lib.a").members) expect(m.bytes === null).toBe(m.path !== null);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(500);
  });
});

describe("ELF files", () => {
  const symbols: Parameters<typeof elf>[0] = [
    ["file.c", 4, 0, 0xfff1, 0, 0],
    ["f", 0x12, 0, 1, 0, 10],
    ["w", 0x22, 2, 1, 0, 4],
    ["u", 0x10, 0, 0, 0, 0],
    ["uw", 0x20, 0, 0, 0, 0],
    ["c", 0x11, 0, 0xfff2, 16, 40],
    ["t", 0x16, 3, 2, 0, 4],
    ["local", 0x01, 0, 1, 0, 4],
  ];
  it("give their global symbols", () => {
    const file = readElf(elf(symbols), "n.o");
    expect(file.type).toBe("relocatable");
    expect(file.symbols.map((s) => [s.name, s.defined, s.weak, s.common, s.visibility, s.tls])).toEqual([
      ["f", true, false, false, "default", false],
      ["w", true, true, false, "hidden", false],
      ["u", false, false, false, "default", null],
      ["uw", false, true, false, "default", null],
      ["c", true, false, true, "default", false],
      ["t", true, false, false, "protected", true],
    ]);
    expect(file.symbols.find((s) => s.name === "c")).toMatchObject({ size: 40, align: 16 });
    expect(file.fatBitcode).toBeNull();
    expect(readElf(elf(symbols, [], 3), "l.so").type).toBe("shared");
  });

  it("tell intermediate code apart", () => {
    const fat = readElf(elf(symbols, [".llvm.lto"]), "fat.o");
    expect(contents(fat.fatBitcode)).toBe("<.llvm.lto>");
    const gcc = readElf(elf(symbols, [".gnu.lto_.symtab.1"]), "g.o");
    expect([gcc.isGccLto, gcc.isSlimGccLto]).toEqual([true, false]);
    const slim = readElf(elf([["__gnu_lto_slim", 0x11, 0, 0xfff2, 1, 1]], [".gnu.lto_.opts"]), "g.o");
    expect(slim.isSlimGccLto).toBe(true);
  });

  it("are read as the system's compiler makes them", () => {
    writeFileSync(
      join(folder, "n.c"),
      "int common[4]; __thread int t; static int s; extern int u(void); __attribute__((weak)) int w(void) { return u() + s++; }",
    );
    if (!tool("gcc", ["-fcommon", "-c", "n.c", "-o", "n.o"])) return;
    const { symbols: read } = readElf(readFileSync(join(folder, "n.o")), "n.o");
    const by = new Map(read.map((s) => [s.name, s]));
    expect(by.get("common")).toMatchObject({ common: true, size: 16 });
    expect(by.get("t")).toMatchObject({ defined: true, tls: true });
    expect(by.get("u")).toMatchObject({ defined: false });
    expect(by.get("w")).toMatchObject({ defined: true, weak: true });
    expect(by.has("s")).toBe(false);
    if (tool("gcc", ["-flto", "-c", "n.c", "-o", "lto.o"])) {
      const lto = readElf(readFileSync(join(folder, "lto.o")), "lto.o");
      expect([lto.isGccLto, lto.isSlimGccLto]).toEqual([true, true]);
    }
    if (tool("gcc", ["-shared", "-fPIC", "-Wl,-soname,libn.so.1", "n.c", "-o", "libn.so"])) {
      const shared = readElf(readFileSync(join(folder, "libn.so")), "libn.so");
      expect([shared.type, shared.soname]).toEqual(["shared", "libn.so.1"]);
      expect(shared.symbols.find((s) => s.name === "w")).toMatchObject({ defined: true });
    }
    if (tool("clang-19", ["-flto", "-ffat-lto-objects", "-c", "n.c", "-o", "fat.o"])) {
      const fat = readElf(readFileSync(join(folder, "fat.o")), "fat.o");
      expect([...fat.fatBitcode!.subarray(0, 2)]).toEqual([0x42, 0x43]);
    }
  });

  it("give symbols or an InputError for any damaged bytes", () => {
    const random = new Random(11);
    const original = elf(symbols, [".llvm.lto", ".text"]);
    expect(isElf(original)).toBe(true);
    let refused = 0;
    for (let round = 0; round < 6000; round++) {
      const bytes = original.slice(0, random.oneIn(5) ? random.below(original.length) : undefined);
      for (let i = 1 + random.below(3); i > 0 && bytes.length > 16; i--)
        bytes[random.below(bytes.length)] = random.below(256);
      try {
        readElf(bytes, "bad.o");
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(1000);
  });
});
