/** `tsc-lto size`: every loaded byte of programs of whatever make is some symbol's, or said to be none's. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { Image } from "../../formats/program/image.js";
import { attribute } from "../../formats/program/parts.js";
import { type SizeReport, type SymbolReport, totalOf } from "../../formats/size-report/schema.js";
import { parseReport } from "../../formats/size-report/text.js";
import { capture, temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
const clang = ["clang-22", "clang-19", "clang"].find(has);

const cxx = `
#include <stdexcept>
#include <string>
#include <vector>
#include <cstdio>
struct A { virtual ~A(); virtual int f(int); };
A::~A() {}
int A::f(int x) { if (x > 3) throw std::runtime_error("x"); return x; }
thread_local int initialised = 5;
thread_local int zeroed[10];
static int hidden[100];
int main(int argc, char **argv) {
  std::vector<std::string> v;
  for (int i = 0; i < argc; i++) v.push_back(argv[i]);
  try { A a; std::printf("%d %d\\n", a.f(argc), initialised + zeroed[argc] + hidden[argc]); }
  catch (std::exception &e) { std::puts(e.what()); }
}
`;
const c = `
int g(int);
static int zero[9];
__attribute__((noinline)) static int local(int x) { return x * 3; }
int f(int x) { return g(x) + zero[x] + local(x); }
int values[3] = {1, 2, 3};
int *pointer = values;
const char text[] = "constant";
`;

/** What the system's tool says of each section, by name. */
function sizeTool(file: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const line of execFileSync("size", ["-A", file], { encoding: "utf8" }).split("\n")) {
    const [, name, size] = /^(\S+)\s+(\d+)\s+\d+$/.exec(line) ?? [];
    if (name !== undefined && name !== "Total") sizes.set(name, (sizes.get(name) ?? 0) + Number(size));
  }
  return sizes;
}

async function sizeOf(file: string, ...options: string[]): Promise<SizeReport> {
  const { code, out, err } = await capture(main, ["size", file, "--json", ...options], { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return parseReport(out, file);
}

const named = (report: SizeReport, name: string): SymbolReport =>
  report.symbols.find((symbol) => symbol.name === name)!;

/** Holds each section, and the sum of all symbols, against the system's tool. */
async function expectSums(file: string): Promise<SizeReport> {
  const report = await sizeOf(file);
  const expected = sizeTool(path(file));
  const own = new Map<string, number>();
  for (const { name, size } of report.sections) own.set(name, (own.get(name) ?? 0) + size);
  const attributed = new Map<string, number>();
  for (const { section, size } of attribute(new Image(readFileSync(path(file)))).parts)
    attributed.set(section.name, (attributed.get(section.name) ?? 0) + size);
  expect(own.size).toBeGreaterThan(0);
  for (const [name, size] of own) {
    expect(size, name).toBe(expected.get(name));
    expect(attributed.get(name), name).toBe(size);
  }
  // What the tool has besides is not loaded.
  for (const [name, size] of expected)
    if (!own.has(name) && size > 0) expect(name).toMatch(/^\.(comment|debug|note|group|llvm|annobin|gnu)/);
  const total = report.symbols.reduce((sum, { bytes }) => sum + totalOf(bytes), 0);
  expect(total).toBe([...own.values()].reduce((sum, size) => sum + size, 0));
  return report;
}

beforeAll(() => {
  writeFileSync(path("a.cpp"), cxx);
  writeFileSync(path("a.c"), c);
  writeFileSync(
    path("main.c"),
    "int f(int);\nint g(int x) { return x; }\nint main(int n, char **v) { return f(n); }\n",
  );
});

const cc = (...args: string[]): void => void execFileSync("cc", args, { cwd: folder });

describe("sums are those of size -A", () => {
  it("of a C++ program with exceptions and thread-local variables", async () => {
    execFileSync("c++", ["-O2", "-o", "cxx", "a.cpp"], { cwd: folder });
    const report = await expectSums("cxx");
    const main = named(report, "main");
    expect(main.kind).toBe("function");
    // Its own code, its description, its table of handlers.
    expect(main.bytes.code).toBeGreaterThan(50);
    expect(main.bytes.unwind).toBeGreaterThan(20);
    const table = named(report, "_ZTV1A");
    expect(table.bytes.relocations).toBeGreaterThanOrEqual(24);
    expect(named(report, "zeroed").bytes).toEqual({ zero: 40 });
    expect(named(report, "initialised").bytes).toEqual({ data: 4 });
  });

  it("of a static program, with the C library's", async () => {
    cc("-O2", "-static", "-o", "static", "a.c", "main.c");
    const report = await expectSums("static");
    expect(report.symbols.length).toBeGreaterThan(500);
  });

  it("of a stripped program", async () => {
    cc("-s", "-o", "stripped", "a.c", "main.c");
    await expectSums("stripped");
  });

  it("of a shared library", async () => {
    cc("-fPIC", "-shared", "-Wl,-z,pack-relative-relocs", "-o", "library.so", "a.c");
    const report = await expectSums("library.so");
    expect(named(report, "pointer").bytes.data).toBe(8);
    expect(named(report, "text").bytes).toEqual({ constants: 9 });
  });

  it.skipIf(clang === undefined).each([
    ["x86_64-linux-gnu", "unwind"],
    ["i386-linux-gnu", "unwind"],
    ["aarch64-linux-gnu", "unwind"],
    ["aarch64_be-linux-gnu", "unwind"],
    ["armv7-linux-gnueabihf", "unwind"],
    ["mips-linux-gnu", "code"],
    ["s390x-linux-gnu", "unwind"],
  ] as const)("of an object for %s", async (triple, use) => {
    const args = ["-target", triple, "-O2", "-funwind-tables", "-c", "a.c", "-o", `${triple}.o`];
    if (spawnSync(clang!, args, { cwd: folder }).status !== 0) return; // It was built without that target.
    const report = parseReport(
      (await capture(main, ["size", `${triple}.o`, "--json"], { cwd: folder })).out,
      "",
    );
    expect(named(report, "f").bytes[use]).toBeGreaterThan(0);
    expect(named(report, "values").bytes.data).toBe(12);
    if (triple.startsWith("x86_64") || triple.startsWith("i386")) await expectSums(`${triple}.o`);
  });

  it("of a program of our own, with the origins of its symbols", async () => {
    const text = (name: string, callee: string): string =>
      `declare void @${callee}(i32)\ndefine void @${name}(i32 %x) noinline uwtable {\n  call void @${callee}(i32 %x)\n  call void @${callee}(i32 3)\n  ret void\n}\n`;
    writeFileSync(path("one.ll"), text("one", "two"));
    writeFileSync(path("two.ll"), text("two", "srand"));
    writeFileSync(
      path("start.ll"),
      "declare void @one(i32)\ndefine i32 @main(i32 %n) {\n  call void @one(i32 %n)\n  ret i32 0\n}\n",
    );
    const words = ["-Oz", "-o", path("own.s"), "--size-report", path("own.json"), "--relocation-model=pie"];
    const { code } = await tscLto([...words, path("one.ll"), path("two.ll"), path("start.ll")], {
      cwd: folder,
    });
    expect(code).toBe(0);
    cc("-o", "own", "own.s", "-Wl,-Map=own.map");
    await expectSums("own");
    const report = await sizeOf("own", "--report=own.json", "--map=own.map");
    expect(named(report, "one")).toMatchObject({ file: path("one.ll"), open: [] });
    expect(named(report, "two").bytes.unwind).toBeGreaterThan(0);
    expect(named(report, "_start").file).toMatch(/crt1\.o$/);
  });
});

describe("what is refused", () => {
  const run = (...args: string[]) => capture(main, args, { cwd: folder });
  it("a file that is no program", async () => {
    const { code, err } = await run("size", "a.c");
    expect(code).toBe(1);
    expect(err).toBe("tsc-lto: error: a.c: not an ELF file\n");
  });
  it("a program that ends too early", async () => {
    cc("-c", "a.c", "-o", "whole.o");
    const bytes = readFileSync(path("whole.o"));
    for (const length of [40, 60, 100, 300, bytes.length - 100]) {
      writeFileSync(path("cut.o"), bytes.subarray(0, length));
      const { code, err } = await run("size", "cut.o");
      expect(code).toBe(1);
      expect(err).toMatch(/^tsc-lto: error: cut\.o: (not an|malformed) ELF file/);
    }
  });
  it("an unknown view, and no program", async () => {
    expect((await run("size", "--by=colour", "a")).code).toBe(2);
    expect((await run("size")).code).toBe(2);
  });
  it("a map that is none", async () => {
    cc("-c", "a.c", "-o", "map.o");
    expect((await run("size", "map.o", "--map=a.c")).err).toContain("a.c: not a map of GNU ld or lld");
  });
});
