/** `tsc-lto diff` and `tsc-lto size --budget`: comparing builds. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { type Difference, differences, plainName } from "../../formats/size-report/diff.js";
import {
  reportFormat,
  reportVersion,
  type SizeReport,
  type SymbolReport,
} from "../../formats/size-report/schema.js";
import { printReport } from "../../formats/size-report/text.js";
import { capture, temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const run = (...args: string[]) => capture(main, args, { cwd: folder });

const report = (...symbols: (Partial<SymbolReport> & { name: string })[]): SizeReport => ({
  format: reportFormat,
  version: reportVersion,
  kind: "program",
  file: "p",
  sections: [
    { name: ".text", size: symbols.reduce((sum, { bytes }) => sum + (bytes?.code ?? 0), 0), use: "code" },
  ],
  symbols: symbols.map((symbol) => ({ kind: "function", bytes: {}, ...symbol })),
  decisions: [],
});
const changesOf = (before: SizeReport, after: SizeReport) =>
  Object.fromEntries(
    differences(before, after).map(({ name, change, before: a, after: b, oldName }: Difference) => [
      name,
      [change, a, b, oldName],
    ]),
  );

describe("differences", () => {
  it("new, gone, grown, shrunk, and what is as it was", () => {
    const before = report(
      { name: "same", bytes: { code: 5 } },
      { name: "grows", bytes: { code: 5 } },
      { name: "shrinks", bytes: { code: 5, unwind: 4 } },
      { name: "goes", bytes: { code: 7 } },
    );
    const after = report(
      { name: "same", bytes: { code: 5 } },
      { name: "grows", bytes: { code: 6 } },
      { name: "shrinks", bytes: { code: 5 } },
      { name: "comes", bytes: { data: 9 } },
    );
    expect(changesOf(before, after)).toEqual({
      grows: ["grown", 5, 6, null],
      shrinks: ["shrunk", 9, 5, null],
      goes: ["gone", 7, 0, null],
      comes: ["new", 0, 9, null],
    });
  });

  it("renamed functions, by their code and by their names", () => {
    const before = report(
      { name: "f.llvm.123", bytes: { code: 50 }, hash: "a" },
      { name: "old_name", bytes: { code: 60 }, hash: "b" },
      { name: "g.part.1", bytes: { code: 70 }, hash: "c" },
    );
    const after = report(
      { name: "f.llvm.456", bytes: { code: 51 }, hash: "x" },
      { name: "new_name", bytes: { code: 60 }, hash: "b" },
      { name: "g.part.2", bytes: { code: 70 }, hash: "y" },
    );
    expect(changesOf(before, after)).toEqual({
      "f.llvm.456": ["grown", 50, 51, "f.llvm.123"],
      new_name: ["renamed", 60, 60, "old_name"],
      "g.part.2": ["renamed", 70, 70, "g.part.1"],
    });
  });

  it("local functions of one name belong to their files, and may move", () => {
    const f = (file: string, code: number) => ({ name: "init", file, bytes: { code } });
    const changes = differences(report(f("a.o", 10), f("b.o", 20)), report(f("b.o", 21), f("a.o", 10)));
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ file: "b.o", before: 20, after: 21 });
    expect(differences(report(f("a.o", 10)), report(f("c.o", 10)))[0]).toMatchObject({
      change: "moved",
      file: "c.o",
      oldFile: "a.o",
    });
  });

  it("names without what compilers append", () => {
    expect(plainName("f.llvm.1234567890")).toBe("f");
    expect(plainName("g.part.0.cold")).toBe("g");
    expect(plainName(".str.5")).toBe(".str");
    expect(plainName("outlined.deadbeef")).toBe("outlined");
    expect(plainName("plain")).toBe("plain");
  });
});

describe("two builds of a program", () => {
  beforeAll(() => {
    const build = (name: string, text: string): void => {
      writeFileSync(join(folder, `${name}.c`), text);
      execFileSync("cc", ["-O1", "-o", name, `${name}.c`], { cwd: folder });
    };
    const helper = (name: string): string =>
      `__attribute__((noinline)) int ${name}(int x) { for (int i = 0; i < x; i++) x ^= i * puts("a"); return x; }\n`;
    const start = "int puts(const char *);\n";
    build("old", `${start}${helper("helper")}int main(int n, char **v) { return helper(n); }\n`);
    build(
      "new",
      `${start}__attribute__((noinline)) void more(void) { puts("more"); }\n${helper("renamed")}int main(int n, char **v) { more(); return renamed(n); }\n`,
    );
  });

  it("are compared as programs and as saved reports alike", async () => {
    const { code, out } = await run("diff", "old", "new", "--json");
    expect(code).toBe(0);
    const { differences: all } = JSON.parse(out) as { differences: Difference[] };
    const find = (name: string) => all.find((one) => one.name === name);
    expect(find("more")).toMatchObject({ change: "new", before: 0 });
    // The same code, which calls other places.
    expect(find("renamed")).toMatchObject({ change: "renamed", oldName: "helper" });
    expect(find("main")).toMatchObject({ change: "grown" });
    for (const name of ["old", "new"])
      writeFileSync(join(folder, `${name}.json`), (await run("size", name, "--json")).out);
    const saved = await run("diff", "old.json", "new.json", "--json");
    expect(JSON.parse(saved.out)).toMatchObject({ differences: all });
  });

  it("are not compared with what a link wrote, which lacks what the linker adds", async () => {
    const link: SizeReport = { ...report({ name: "f", bytes: { code: 5 } }), kind: "link", sections: [] };
    writeFileSync(join(folder, "link.json"), printReport(link));
    writeFileSync(join(folder, "program.json"), printReport(report({ name: "f", bytes: { code: 5 } })));
    writeFileSync(join(folder, "mixed.json"), '{ "baseline": "link.json", "total": 9 }');
    const err =
      "tsc-lto: error: link.json is what a link wrote, program.json is a linked program: compare two of a kind (what tsc-lto size --json saved is a program's)\n";
    for (const args of [
      ["diff", "link.json", "program.json"],
      ["diff", "program.json", "link.json"],
      ["size", "program.json", "--html", "mixed.html", "--before", "link.json"],
    ])
      expect(await run(...args)).toEqual({ code: 1, out: "", err });
    expect(await run("size", "program.json", "--budget", "mixed.json")).toMatchObject({ code: 1, out: "" });
    const { code, out } = await run("diff", "link.json", "link.json");
    expect([code, out.split("\n")[0]]).toEqual([0, expect.stringMatching(/^symbol /)]);
  });

  it("as text and as Markdown", async () => {
    const text = (await run("diff", "old", "new")).out;
    expect(text).toMatch(/^more +new +0 +\d+ +\+\d+$/m);
    expect(text).toMatch(/^renamed +renamed .* was helper$/m);
    expect(text).toMatch(/^total +\d+ +\d+ +\+\d+$/m);
    const markdown = (await run("diff", "old", "new", "--markdown")).out;
    expect(markdown).toContain("### symbol\n\n| symbol |");
    const csv = (await run("diff", "old", "old", "--csv")).out;
    expect(csv.split("\n").at(-2)).toBe("symbol,,old,new,change,note");
  });
});

describe("a budget", () => {
  const program = report(
    { name: "parse_a", bytes: { code: 100 }, file: "parse.o" },
    { name: "parse_b", bytes: { code: 200 }, file: "parse.o" },
    { name: "other", bytes: { code: 50, unwind: 10 }, file: "other.o" },
  );
  const smaller = report(
    { name: "parse_a", bytes: { code: 100 }, file: "parse.o" },
    { name: "parse_b", bytes: { code: 190 }, file: "parse.o" },
    { name: "other", bytes: { code: 50, unwind: 10 }, file: "other.o" },
  );
  beforeAll(() => {
    writeFileSync(join(folder, "program.json"), printReport(program));
    writeFileSync(join(folder, "smaller.json"), printReport(smaller));
  });
  async function check(budget: object): Promise<{ code: number; broken: string[]; err: string }> {
    writeFileSync(join(folder, "budget.json"), JSON.stringify(budget));
    const { code, out, err } = await run("size", "program.json", "--budget=budget.json", "--csv");
    const broken = out.split("\n").filter((line) => line.endsWith(",NO"));
    return { code, broken: broken.map((line) => line.split(",")[0]!), err };
  }

  it("holds", async () => {
    const budget = {
      total: 360,
      section: { ".text": 350 },
      file: { "parse.*": 300, "*": 360 },
      symbol: { other: 60 },
      use: { unwind: 10 },
    };
    expect(await check(budget)).toEqual({ code: 0, broken: [], err: "" });
  });

  it("is broken by what is too large, with exit code 3", async () => {
    const budget = {
      total: 359,
      section: { ".t*": 349 },
      file: { "parse.o": 299 },
      symbol: { "parse_*": 299 },
    };
    expect(await check(budget)).toEqual({
      code: 3,
      broken: ["total", "section .t*", "file parse.o", "symbol parse_*"],
      err: "",
    });
  });

  it("counts from a baseline, in bytes and percent", async () => {
    const baseline = "smaller.json";
    expect((await check({ baseline, total: "+10", symbol: { parse_b: "+6%" } })).code).toBe(0);
    expect((await check({ baseline, total: "+9", symbol: { parse_b: "+5%" } })).broken).toEqual([
      "total",
      "symbol parse_b",
    ]);
  });

  it("warns of what it limits in vain", async () => {
    const { code, err } = await check({ symbol: { nobody: 5 } });
    expect(code).toBe(0);
    expect(err).toBe("tsc-lto: warning: budget budget.json: no symbol is named nobody\n");
  });

  it.each([
    [{ totals: 5 }, 'unknown key "totals"'],
    [{ total: "5" }, "expected a number of bytes"],
    [{ total: -5 }, "expected a number of bytes"],
    [{ symbol: 7 }, "symbol: expected an object"],
    [{ total: "+1%" }, "needs a baseline"],
    [[], "expected an object"],
  ])("%j is refused", async (budget, message) => {
    const { code, err } = await check(budget);
    expect(code).toBe(1);
    expect(err).toContain(`tsc-lto: error: budget.json: budget: `);
    expect(err).toContain(message);
  });
});
