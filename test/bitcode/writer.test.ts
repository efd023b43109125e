/**
 * Bitcode that is written means what the module means: our reader gives the same module back, and LLVM's tools, where there
 * are some, take it for valid and print it as what they print of the module's text.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newestBitcode, oldestBitcode, writeBitcode } from "../../formats/bitcode/index.js";
import { parseModule } from "../../formats/text/parser.js";
import { printModule } from "../../formats/text/printer.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { fixtureBytes } from "./fixture.js";

const fixtures = resolve(import.meta.dirname, "../../fixtures");
const below = (folder: string): string[] =>
  readdirSync(join(fixtures, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ll"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
const texts = ["text", "passes", "bitcode"].flatMap(below).filter((path) => {
  try {
    return verifyModule(parse(path)).length === 0;
  } catch {
    // Some are there to be refused.
    return false;
  }
});

function parse(path: string): Module {
  return parseModule(readFileSync(path, "utf8"), path);
}

/**
 * Text in which blocks whose addresses are taken are called by their order, and pointers are not cast to pointers; without
 * what no version has that is written for.
 */
function canonical(module: Module): string {
  const labels = new Map<string, string>();
  return printModule(module)
    .replace(/taken\.\d+/g, (label) => {
      if (!labels.has(label)) labels.set(label, `taken-${labels.size}`);
      return labels.get(label)!;
    })
    .replace(/bitcast \(ptr (@[\w.]+) to ptr\)/g, "$1")
    .replace(/ (?:nooutline|dead_on_return\(\d+\)|range\(i200 [^)]*\))/g, "");
}

const again = (module: Module, version: number): Module =>
  readBitcode(writeBitcode(module, version), module.file)[0]!;

describe("bitcode that is written", () => {
  it("has fixtures", () => expect(texts.length).toBeGreaterThan(100));

  it.each(texts.map((path) => [path.slice(fixtures.length + 1), path]))("is what %s is", (_, path) => {
    const module = again(parse(path), newestBitcode);
    expect(verifyModule(module)).toEqual([]);
    expect(canonical(module)).toBe(canonical(again(module, newestBitcode)));
    expect(canonical(module)).toBe(canonical(parse(path)));
  });

  it.each(
    readdirSync(join(fixtures, "bitcode")).filter((name) => /\.bc$/.test(name) && !name.includes("-14")),
  )("is what %s is", (name) => {
    const module = readBitcode(fixtureBytes(name), name)[0]!;
    const text = canonical(module);
    const bytes = writeBitcode(module, newestBitcode);
    expect(canonical(readBitcode(bytes, name)[0]!)).toBe(text);
    expect(writeBitcode(readBitcode(bytes, name)[0]!, newestBitcode)).toEqual(bytes);
  });

  it("leaves out what an older version does not know", () => {
    const text = `define range(i32 0, 9) i32 @f(ptr captures(none) %p, i32 %x) memory(argmem: read) {
  %a = getelementptr nuw i8, ptr %p, i64 4
  %b = zext nneg i32 %x to i64
  %c = trunc nuw i64 %b to i8
  %d = icmp samesign ult i32 %x, 5
  ret i32 0
}`;
    const old = printModule(again(parseModule(text, "a.ll"), oldestBitcode));
    for (const word of ["range", "nneg", "nuw", "samesign"]) expect(old, word).not.toContain(word);
    expect(old).toContain("nocapture");
    expect(old).toContain("memory(argmem: read)");
  });

  it.each([
    ["non-leaf-no-reserve", 21, "non-leaf"],
    ["non-leaf-no-reserve", 22, "non-leaf-no-reserve"],
    ["reserved", 19, "non-leaf"],
    ["all", 15, "all"],
  ])("has frames with pointers (%s) for LLVM %i as it knows them", (value, version, expected) => {
    const module = parseModule(`define void @f() "frame-pointer"="${value}" {\n  ret void\n}`, "a.ll");
    expect(printModule(again(module, version))).toContain(`"frame-pointer"="${expected}"`);
  });

  it("refuses what an older version could not mean", () => {
    const module = parseModule(
      "define i32 @f(ptr %p) {\n  %1 = atomicrmw usub_sat ptr %p, i32 1 seq_cst, align 4\n  ret i32 %1\n}",
      "a.ll",
    );
    expect(() => writeBitcode(module, 19)).toThrow("atomicrmw usub_sat in bitcode for LLVM 19");
    expect(printModule(again(module, 20))).toContain("usub_sat");
  });

  it.each([
    ["in a phi of the block that it jumped to", "phi i32 [ %r, %entry ]", true],
    ["in a block that it jumped to", "add i32 %r, 1", true],
    ["nowhere there", "add i32 %x, 1", false],
  ])("has results of assembly that may jump %s for whom it may", (_, use, isRefused) => {
    const text = `define i32 @f(i32 %x) {
entry:
  %r = callbr i32 asm "", "=r,r,!i"(i32 %x) to label %next [label %jumped]

next:
  ret i32 %r

jumped:
  %u = ${use}
  ret i32 %u
}`;
    const write = (version: number) => () => writeBitcode(parseModule(text, "a.ll"), version);
    if (isRefused) expect(write(16)).toThrow("assembly that jumped, in bitcode for LLVM 16");
    else expect(write(16)).not.toThrow();
    expect(write(17)).not.toThrow();
  });
});

const has = (tool: string): boolean => spawnSync(tool, ["--version"]).status === 0;
const versions = [15, 16, 17, 18, 19, 20, 21, 22].filter((n) => has(`opt-${n}`) && has(`llvm-dis-${n}`));
const directory = mkdtempSync(join(tmpdir(), "bitcode-writer-"));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (tool: string, args: readonly string[]): string =>
  execFileSync(tool, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

describe.skipIf(versions.length === 0)("LLVM reads bitcode that is written", () => {
  /** Constants of old producers, which newer versions have no form for; assembly that is none, and lifetimes of what is no variable. */
  const unreadable = /^text\/(?:globals|newer)|^bitcode\/(?:older|typed-pointers)|^text\/typed-pointers/;
  const sample = [...below("text"), ...below("bitcode"), ...below("passes").filter((_, i) => i % 10 === 0)]
    .filter((path) => texts.includes(path))
    .map((path) => [path.slice(fixtures.length + 1), path] as const)
    .filter(([name]) => !unreadable.test(name));

  it.each(versions)("LLVM %i takes it for valid", (version) => {
    let written = 0;
    for (const [name, path] of sample) {
      const file = join(directory, "a.bc");
      let bytes: Uint8Array;
      try {
        bytes = writeBitcode(parse(path), version);
      } catch (e) {
        expect(e, name).toBeInstanceOf(UnsupportedError);
        continue;
      }
      writeFileSync(file, bytes);
      run(`opt-${version}`, ["-passes=verify", file, "-o", join(directory, "b.bc")]);
      written++;
    }
    expect(written).toBeGreaterThan(20);
  });

  it.skipIf(!versions.includes(newestBitcode))("and prints it like the text", () => {
    let compared = 0;
    for (const [, path] of sample) {
      const [bitcode, text] = [join(directory, "a.bc"), join(directory, "a.ll")];
      const module = parse(path);
      const own = printModule(module);
      // Large types have names in text, and so have blocks whose addresses are taken. Of bitcode LLVM takes calls as not
      // builtin that are `strictfp` in functions that are not.
      if (/%T0 =|taken\.|range\(i200|nooutline|dead_on_return\(|strictfp/.test(own)) continue;
      writeFileSync(bitcode, writeBitcode(module, newestBitcode));
      writeFileSync(text, own);
      const shown = (file: string): string =>
        run(`opt-${newestBitcode}`, ["-S", "-passes=verify", file, "-o", "-"])
          .replace(/^; ModuleID.*\n/, "")
          .replace(/; No predecessors!|; preds = .*/g, "");
      expect(shown(bitcode)).toBe(shown(text));
      compared++;
    }
    expect(compared).toBeGreaterThan(20);
  });
});
