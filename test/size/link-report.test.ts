/** `--size-report`: what a link says of its symbols. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SizeReport, SymbolReport } from "../../formats/size-report/schema.js";
import { parseReport } from "../../formats/size-report/text.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const merged = join(import.meta.dirname, "../../fixtures/passes/merge-similar-functions/constants.ll");

async function linked(files: Readonly<Record<string, string>>, ...options: string[]): Promise<SizeReport> {
  const names = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  return reportOf(names, options);
}

async function reportOf(inputs: readonly string[], options: readonly string[]): Promise<SizeReport> {
  const words = ["-o", "out.s", "--size-report", "out.json", ...options, ...inputs];
  const { code, err } = await tscLto(words, { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return parseReport(readFileSync(join(folder, "out.json"), "utf8"), "out.json");
}

const named = (report: SizeReport, name: string): SymbolReport => {
  const symbol = report.symbols.find((one) => one.name === name);
  if (symbol === undefined) throw new Error(`no ${name} in the report`);
  return symbol;
};

const main = `
@table = global [2 x ptr] [ptr @taken, ptr null]
declare void @f(i32) noinline
define internal void @taken(i32 %x) noinline { ret void }
define i32 @main(i32 %n) {
  call void @f(i32 %n)
  %p = load ptr, ptr @table
  call void %p(i32 %n)
  ret i32 0
}
define void @visible() noinline { ret void }
define void @gone() { ret void }
`;
const other = `
declare void @printf(i32)
define void @f(i32 %x) noinline {
  call void @printf(i32 %x)
  ret void
}
`;

describe("the size report of a link", () => {
  it("says where symbols come from, who calls whom, and why some are open", async () => {
    const report = await linked({ "main.ll": main, "other.ll": other }, "-Oz", "--export=vis*");
    expect(report.kind).toBe("link");
    expect(named(report, "f")).toMatchObject({
      kind: "function",
      file: join(folder, "other.ll"),
      open: [],
      local: true,
    });
    expect(named(report, "f").calls).toContain("printf");
    expect(named(report, "main")).toMatchObject({
      file: join(folder, "main.ll"),
      open: ["the entry"],
      root: ["the entry"],
    });
    expect(named(report, "main").calls).toContain("f");
    expect(named(report, "visible").open).toEqual(["named by --export"]);
    expect(report.symbols.some(({ name }) => name === "gone")).toBe(false);
    expect(named(report, "main").bytes.code).toBeGreaterThan(5);
  });

  it("names who takes an address", async () => {
    const taken = await linked({ "main.ll": main, "other.ll": other }, "-O0", "--export=table");
    expect(named(taken, "taken").open).toEqual(["its address, or that of a label in it, is taken in table"]);
    expect(named(taken, "table")).toMatchObject({
      kind: "variable",
      bytes: { data: 16 },
      mentions: ["taken"],
    });
  });

  it("names lists of exports by their files", async () => {
    writeFileSync(join(folder, "exports.txt"), "visible\n");
    const report = await linked(
      { "main.ll": main, "other.ll": other },
      `--export-list=${folder}/exports.txt`,
    );
    expect(named(report, "visible").root).toEqual([`named by --export-list ${folder}/exports.txt`]);
  });

  it("says what a call changes, and what of that is the function's own doing", async () => {
    const report = await linked({ "main.ll": main, "other.ll": other }, "-O0", "--export=table");
    const { registers } = named(report, "taken");
    expect(registers?.own).toEqual([]);
    const f = named(report, "f").registers!;
    expect(f.changes).toContain("rdi");
    expect(f.preserves).toEqual([]);
  });

  it("names the pass that made a function, and of what", async () => {
    const report = await reportOf([merged], ["-Oz", "--relocatable"]);
    const made = report.symbols.filter(({ madeBy }) => madeBy === "merge-similar-functions");
    expect(made.map(({ madeOf }) => madeOf)).toContainEqual(["numbers1", "numbers2"]);
    for (const { file } of made) expect(file).toBe(merged);
    expect(report.decisions).toContainEqual({
      by: "merge-similar-functions",
      counter: "merged",
      count: expect.any(Number),
    });
  });

  it("names functions that the outliner made, and that share epilogues", async () => {
    const body = (n: number): string => `define void @g${n}(i32 %x) {
  call void @e(i32 11, i32 %x, i32 77)
  call void @e(i32 %x, i32 1234567, i32 5)
  call void @e(i32 %x, i32 7654321, i32 %x)
  call void @e(i32 ${n}, i32 ${n}, i32 0)
  ret void
}\n`;
    const text = `declare void @e(i32, i32, i32)\n${[1, 2, 3, 4].map(body).join("")}`;
    const options = [
      "-Oz",
      "--relocatable",
      "--skip-pass=ir-outline,merge-similar-functions,constant-argument-thunks",
    ];
    const report = await linked({ "g.ll": text }, ...options);
    const made = report.symbols.find(({ madeBy }) => madeBy === "outline");
    expect(made?.madeOf).toEqual(["g1", "g2", "g3", "g4"]);
    expect(made?.file).toBe(join(folder, "g.ll"));
  });

  it("names copies that folding took away", async () => {
    const copy = (name: string): string =>
      `define internal void @${name}(i32 %x) noinline {\n  call void @e(i32 %x)\n  call void @e(i32 3)\n  ret void\n}\n`;
    const text = `declare void @e(i32)\n${copy("a")}${copy("b")}define void @r(i32 %x) {\n  call void @a(i32 %x)\n  call void @b(i32 %x)\n  ret void\n}\n`;
    const report = await linked(
      { "fold.ll": text },
      "-Oz",
      "--export=r",
      "--skip-pass=constant-argument-thunks",
    );
    expect(named(report, "a").standsFor).toEqual(["b"]);
  });

  it("leaves the output as it is without one", async () => {
    await reportOf([merged], ["-Oz", "--relocatable"]);
    const before = readFileSync(join(folder, "out.s"), "utf8");
    const { code } = await tscLto(["-Oz", "--relocatable", "-o", "plain.s", merged], { cwd: folder });
    expect(code).toBe(0);
    expect(readFileSync(join(folder, "plain.s"), "utf8")).toBe(before);
  });

  it("is refused in a folder that is not there", async () => {
    const { code, err } = await tscLto(["-o", "x.s", "--relocatable", "--size-report=no/x.json", merged], {
      cwd: folder,
    });
    expect(code).toBe(1);
    expect(err).toContain("cannot write the size report");
  });
});
