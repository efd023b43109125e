/** Looking up names in shared libraries, against reading all of their symbols. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { archiveIndex } from "../../formats/archive.js";
import { DynamicSymbols, hashedName } from "../../formats/dynamic-symbols.js";
import { readElf } from "../../formats/elf.js";
import { InputError } from "../../lto/ir/errors.js";
import { temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const reading =
  (bytes: Uint8Array) =>
  (offset: number, size: number): Uint8Array =>
    bytes.slice(offset, offset + size);

/** Functions, versions of one name, weak and strong references, variables, a local symbol and a name of other letters. */
const source = `
${Array.from({ length: 200 }, (_, i) => `void f${i}(void) {}\n`).join("")}
int data = 1; __thread int tls; int *shared_data(void) { return &data; }
void wanted(void); __attribute__((weak)) void hoped(void);
__attribute__((visibility("hidden"))) void hidden(void) {}
void gr\u00f6\u00dfe(void) { wanted(); if (hoped) hoped(); hidden(); }
void old(void) {} void new(void) {}
__asm__(".symver old, v@V1\\n.symver new, v@@V2\\n.symver old, past@V1");
static void local(void) {}
void (*pointer)(void) = local;
`;

it.each(["gnu", "sysv", "both"])("names by the hash tables of --hash-style=%s", (style) => {
  writeFileSync(path("l.c"), source);
  writeFileSync(path("l.map"), "V1 { };\nV2 { };\n");
  const words = ["-shared", "-fPIC", "-nostdlib", `-Wl,--hash-style=${style}`, "-Wl,--version-script"];
  execFileSync("cc", [...words, path("l.map"), path("l.c"), "-o", path("l.so")]);
  const bytes = readFileSync(path("l.so"));
  const symbols = new DynamicSymbols(reading(bytes));
  const listed = readElf(bytes, "l.so").symbols;
  expect(listed.length).toBeGreaterThan(200);
  for (const { name, defined } of listed)
    expect(symbols.mention(hashedName(name)), name).toBe(defined ? "defined" : "undefined");
  for (const name of ["v", "past", "gr\u00f6\u00dfe", "f0", "f199", "data", "tls"])
    expect(symbols.mention(hashedName(name)), name).toBe("defined");
  for (const name of ["wanted", "hoped"]) expect(symbols.mention(hashedName(name)), name).toBe("undefined");
  for (const name of ["hidden", "local", "f200", "f", "", "v@V1", ...listed.map((s) => `${s.name}x`)])
    expect(symbols.mention(hashedName(name)), name).toBe(null);
});

it("a library without definitions", () => {
  writeFileSync(path("e.c"), "void wanted(void); static void f(void) { wanted(); }\n");
  for (const style of ["gnu", "sysv"]) {
    const words = ["-shared", "-nostdlib", `-Wl,--hash-style=${style}`, "-Wl,-u,wanted"];
    execFileSync("cc", [...words, path("e.c"), "-o", path("e.so")]);
    const symbols = new DynamicSymbols(reading(readFileSync(path("e.so"))));
    expect(symbols.mention(hashedName("f"))).toBe(null);
  }
});

it("damaged libraries are refused or answer, and never break", () => {
  const bytes = readFileSync(path("l.so"));
  let state = 12345;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let refused = 0;
  for (let run = 0; run < 500; run++) {
    const damaged = new Uint8Array(bytes);
    for (let i = 0; i < 20; i++) {
      // Headers of the file and of its sections, where tables begin, and anywhere.
      const areas = [random(64), bytes.length - 1 - random(30 * 64), random(0x800), random(bytes.length)];
      damaged[areas[random(4)]!] = random(256);
    }
    const whole = run % 5 === 0 ? damaged.subarray(0, random(bytes.length)) : damaged;
    try {
      const symbols = new DynamicSymbols(reading(whole));
      for (const name of ["f7", "wanted", "nothing"])
        expect([null, "defined", "undefined"]).toContain(symbols.mention(hashedName(name)));
    } catch (e) {
      expect(e).toBeInstanceOf(InputError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(50);
  expect(refused).toBeLessThan(500);
});

it("the index of an archive", () => {
  writeFileSync(path("a.c"), "void one(void) {}\nint two;\nvoid three(void);\n");
  execFileSync("cc", ["-c", path("a.c"), "-o", path("a.o")]);
  execFileSync("ar", ["rcs", path("a.a"), path("a.o")]);
  execFileSync("ar", ["rcS", path("none.a"), path("a.o")]);
  const index = (name: string): string[] => archiveIndex(reading(readFileSync(path(name)))).split("\0");
  expect(index("a.a").filter((name) => /\w/.test(name))).toEqual(["one", "two"]);
  expect(index("none.a")).toEqual([""]);
  expect(() => archiveIndex(reading(Buffer.from("!<arch")))).toThrow(InputError);
  expect(() => archiveIndex(reading(readFileSync(path("a.a")).subarray(0, 69)))).toThrow(InputError);
});
