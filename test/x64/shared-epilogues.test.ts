/** Epilogues that functions share: what they save, that programs run and unwind, and when functions keep their own. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import { assemble } from "../ipra/compile.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { loadedSizes, programSizes } from "../tools/elf-size.js";

const folder = temporaryFolder();
const input = join(folder, "in.ll");
const output = join(folder, "out.s");

const calls = ["a", "b", "c", "d"];
/** Keeps a value across calls for each of the names, and counts the frames that a call sees. */
const user = (n: number, values: readonly string[], attributes: string, more = ""): string => `
define i32 @user${n}(i32 %x) noinline ${attributes} ${more} {
  ${values.map((name, i) => `%${name} = call i32 @next(i32 ${n * 16 + i})`).join("\n  ")}
  %count = call i32 @backtrace(ptr @buffer, i32 64)
  store i32 %count, ptr @frames
  ${values.map((name, i) => `%s${i} = add i32 ${i === 0 ? "%x" : `%s${i - 1}`}, %${name}`).join("\n  ")}
  ret i32 %s${values.length - 1}
}`;
const program = (attributes: string, count = 8, more = ""): string => `
target triple = "x86_64-unknown-linux-gnu"
@frames = global i32 0
@buffer = global [64 x ptr] zeroinitializer
@format = private constant [6 x i8] c"%d %d\\00"
declare i32 @backtrace(ptr, i32)
declare i32 @printf(ptr, ...)
define i32 @next(i32 %x) noinline ${attributes} {
  %y = load volatile i32, ptr @frames
  %z = add i32 %x, %y
  ret i32 %z
}
${Array.from({ length: count }, (_, n) => user(n, calls.slice(0, 4 - (n & 1)), attributes, more)).join("")}
define i32 @main() ${attributes} {
  %here = call i32 @backtrace(ptr @buffer, i32 64)
  store i32 0, ptr @frames
  ${Array.from({ length: count }, (_, n) => `%r${n} = call i32 @user${n}(i32 ${n})`).join("\n  ")}
  %there = load i32, ptr @frames
  %deep = sub i32 %there, %here
  %sum = add i32 %r0, %r1
  call i32 (ptr, ...) @printf(ptr @format, i32 %deep, i32 %sum)
  ret i32 0
}`;
const forSize = "minsize optsize uwtable";

async function assembly(text: string, ...options: string[]): Promise<string> {
  writeFileSync(input, text);
  // Passes would make one function of those that are alike, and callers save for them otherwise.
  const apart = ["--no-ipra", "--no-outline", "--no-function-layout"];
  const args = ["--only-passes=shrink-wrap,peepholes,merge-tails", ...apart];
  const { code, err } = await tscLto([...args, ...options, input, "-o", output], { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return readFileSync(output, "utf8");
}
const jumps = (text: string): number => text.match(/\tjmp\toutlined\.epilogue\./g)?.length ?? 0;
function run(): string {
  execFileSync("cc", ["-no-pie", output, "-o", "program"], { cwd: folder });
  return execFileSync(join(folder, "program"), { cwd: folder, encoding: "utf8" });
}
function loaded(): number {
  execFileSync("as", [output, "-o", "out.o"], { cwd: folder });
  const { text, unwind, rodata } = loadedSizes(programSizes(join(folder, "out.o")));
  return text + unwind + rodata;
}

describe("remarks", () => {
  it("tell each end that is shared, and which are not, with bytes of both sides", async () => {
    const file = join(folder, "remarks.yaml");
    const options = [`--opt-remarks-filename=${file}`, "--opt-remarks-passes=^share-epilogues$"];
    const text = await assembly(program(forSize), ...options);
    const records = readFileSync(file, "utf8").split("--- ").slice(1);
    const number = (record: string, key: string): number =>
      Number(new RegExp(`- ${key}: +(\\d+)`).exec(record)![1]);
    const taken = records.filter((record) => record.startsWith("!Passed"));
    const names = taken.map((record) => /^Function: +(\S+)$/m.exec(record)![1]);
    expect(names).toEqual(text.match(/^outlined\.epilogue\.[\w.]+(?=:)/gm));
    expect(taken.reduce((sum, record) => sum + number(record, "NumOccurrences"), 0)).toBe(jumps(text));
    for (const record of taken) expect(number(record, "Threshold")).toBeGreaterThan(number(record, "Cost"));
    const others = records.filter((record) => record.startsWith("!Missed"));
    expect(others.length).toBeGreaterThan(0);
    for (const record of others) {
      expect(record).toMatch(/^Name: +(?:PlacesTaken|NotOutliningCheaper)$/m);
      expect(number(record, "Threshold")).toBeLessThanOrEqual(number(record, "Cost"));
    }
  });
});

describe("functions with equal epilogues", () => {
  it("share one, and print and unwind as before", async () => {
    expect(jumps(await assembly(program(forSize), "--no-shared-epilogues"))).toBe(0);
    const expected = run();
    const bytes = loaded();
    for (const options of [[], ["--relocation-model=pie"], ["--check-packing"]]) {
      const text = await assembly(program(forSize), "--check-ipra", ...options);
      expect(jumps(text), options.join()).toBe(8);
      expect(run(), options.join()).toBe(expected);
      if (options.length === 0) expect(loaded()).toBeLessThan(bytes);
    }
  });
  it("in more of them where each takes a description", async () => {
    expect(jumps(await assembly(program(forSize, 4), "--no-shared-unwind"))).toBe(0);
    expect(jumps(await assembly(program(forSize, 24), "--no-shared-unwind", "--check-ipra"))).toBe(24);
    expect(run()).toMatch(/^\d+ \d+$/);
  });
  it("with a frame pointer, too", async () => {
    const text = await assembly(program(`${forSize} "frame-pointer"="all"`, 24), "--check-ipra");
    expect(run()).toMatch(/^\d+ \d+$/);
    expect(text).toContain("main:");
  });
});

describe("functions keep their epilogues", () => {
  it.each([
    ["where nothing is gained", program(forSize, 2), []],
    ["where tables are not asked for and the code is short", program("minsize optsize", 2), []],
    ["for speed", program("uwtable"), []],
    ["for -Os", program("optsize uwtable"), []],
    ["in sections of their own", program(forSize, 8, 'section "elsewhere"'), []],
    ["with marks at their ends", program(`${forSize} "target-features"="+harden-sls-ret"`), []],
    ["where asked to", program(forSize), ["--no-shared-epilogues"]],
  ])("%s", async (_, text, options) => {
    expect(jumps(await assembly(text, ...options))).toBe(0);
  });
});

describe("the checker", () => {
  const claim = (symbol: string, outlined = false): FunctionClaim => ({
    symbol,
    sites: [],
    results: 0,
    undefinedRegisters: 0,
    closed: false,
    sealed: false,
    outlined,
    unwind: "async",
  });
  const start = (name: string, binding = "globl"): string =>
    `\t.${binding}\t${name}\n\t.type\t${name},@function\n${name}:\n`;
  const user = (saved: string): string =>
    `${start("f")}\tpushq %${saved}\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %${saved}, -16\n\tmovl %edi, %ebx\n\tjmp e\n\t.size f, .-f\n`;
  const epilogue = (offset: number): string =>
    `${start("e", "local")}\t.cfi_def_cfa_offset ${offset}\n\tpopq %rbx\n\t.cfi_def_cfa_offset 8\n\t.cfi_restore %rbx\n\tret\n\t.size e, .-e\n`;
  const violations = (code: string): readonly string[] => {
    const object = assemble(`\t.text\n\t.cfi_startproc\n${code}\t.cfi_endproc\n`);
    const report = checkObject(object, [claim("f"), claim("e", true)], { interposable: false });
    return [...report.violations, ...report.unchecked];
  };
  it("takes it for part of who jumps there", () =>
    expect(violations(user("rbx") + epilogue(16))).toEqual([]));
  it("sees that another register was saved", () =>
    expect(violations(user("r12") + epilogue(16)).join()).toContain("not preserved"));
  it("sees that the unwinder is led astray in there", () =>
    expect(violations(user("rbx") + epilogue(24)).join()).toContain("does not find the frame"));
});
