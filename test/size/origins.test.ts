/** Origins of code: who wrote the bytes of a function, through all that moves them. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runDriver } from "../../bin/cc/main.js";
import { main } from "../../bin/lto/main.js";
import { bodyCodec, inMemoryCodec } from "../../formats/object/body-codec.js";
import type { SizeReport, SymbolReport } from "../../formats/size-report/schema.js";
import { parseReport } from "../../formats/size-report/text.js";
import { rowsOf } from "../../formats/size-report/views.js";
import { parseModule } from "../../formats/text/index.js";
import { Origins } from "../../lto/ir/origins.js";
import { capture, temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();

async function linked(
  files: Readonly<Record<string, string>>,
  ...options: string[]
): Promise<{ readonly report: SizeReport; readonly assembly: string }> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const inputs = Object.keys(files).map((name) => join(folder, name));
  const words = ["-o", "out.s", "--size-report=out.json", ...options, ...inputs];
  const { code, err } = await tscLto(words, { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return { report: parseReport(read("out.json"), "out.json"), assembly: read("out.s") };
}

const symbol = (report: SizeReport, name: string): SymbolReport =>
  report.symbols.find((one) => one.name === name)!;

/** Of a function's code what others wrote, by the chain of calls from the writer to the function. */
function chains(report: SizeReport, name: string): Map<string, number> {
  const table = report.origins!;
  const chain = (at: number): string[] => {
    const { name: written, into } = table[at]!;
    return [written, ...(into === undefined ? [] : chain(into))];
  };
  return new Map((symbol(report, name).origins ?? []).map(([at, bytes]) => [chain(at).join(" in "), bytes]));
}

const inner = `source_filename = "src/inner.c"
@v = external global i32
define i32 @inner(i32 %x) alwaysinline {
  %a = mul i32 %x, 12345
  store volatile i32 %a, ptr @v
  ret i32 %a
}
`;
const outer = `source_filename = "src/outer.c"
@v = global i32 0
declare i32 @inner(i32)
define i32 @middle(i32 %x) alwaysinline {
  store volatile i32 77, ptr @v
  %r = call i32 @inner(i32 %x)
  ret i32 %r
}
define i32 @main(i32 %x) {
  store volatile i32 1, ptr @v
  %r = call i32 @middle(i32 %x)
  ret i32 %r
}
`;
const both = { "inner.ll": inner, "outer.ll": outer };

describe("origins of code", () => {
  it("say who wrote inlined code, and through which calls it came", async () => {
    const { report } = await linked(both, "-Oz");
    const found = chains(report, "main");
    expect([...found.keys()].sort()).toEqual(["inner in middle", "middle"]);
    const { bytes } = symbol(report, "main");
    const others = [...found.values()].reduce((a, b) => a + b, 0);
    // A store of a constant to a variable takes ten bytes, one of a register six, a multiplication six; then there is the return.
    expect(found.get("middle")).toBe(10);
    expect(found.get("inner in middle")).toBe(12);
    expect(bytes.code! - others).toBe(11);
    expect(report.origins!.map(({ name, file, object }) => [name, file, object])).toContainEqual([
      "inner",
      "src/inner.c",
      join(folder, "inner.ll"),
    ]);
    expect(symbol(report, "main").file).toBe("src/outer.c");
  });

  it("are counted where the code was written", async () => {
    const { report } = await linked(both, "-Oz");
    const code = (view: "file" | "function" | "directory"): Record<string, number> =>
      Object.fromEntries(rowsOf(report, view).map(({ name, bytes }) => [name, bytes.code ?? 0]));
    expect(code("function")).toMatchObject({ inner: 12, middle: 10, main: 11 });
    expect(code("file")).toMatchObject({ "src/inner.c": 12, "src/outer.c": 21 });
    expect(code("directory")).toEqual({ src: 33 });
  });

  it("change nothing, and are the same with threads and bodies in memory", async () => {
    const { report, assembly } = await linked(both, "-Oz", "-j1");
    const { report: threaded } = await linked(both, "-Oz", "-j2", "--parallel-threshold=0");
    expect(threaded).toEqual(report);
    await tscLto(["-o", "plain.s", "-Oz", ...Object.keys(both).map((name) => join(folder, name))], {
      cwd: folder,
    });
    expect(readFileSync(join(folder, "plain.s"), "utf8")).toBe(assembly);
  });

  it("tell what the compiler inlined before the link apart where there are line tables", async () => {
    const header = `extern int printf(const char *, ...);
static inline int shared(int x) { return x * 12345 + x / 7; }
__attribute__((noinline)) int other(int x);
`;
    const first = `#include "shared.h"
static int square(int x) { return x * x * 77 + 1; }
static int twice(int x) { return square(x) ^ shared(x + 1); }
int main(int argc, char **argv) { return printf("%d %d", twice(argc), other(argc)); }
`;
    const second = `#include "shared.h"
int other(int x) { return shared(x) + shared(x + 77); }
`;
    writeFileSync(join(folder, "shared.h"), header);
    writeFileSync(join(folder, "first.c"), first);
    writeFileSync(join(folder, "second.c"), second);
    const compiled = async (...options: string[]): Promise<SizeReport> => {
      const words = ["first.c", "second.c", "-O2", ...options, "-o", "p", "-Wl,--size-report=p.json"];
      const { code, err } = await capture(runDriver, words, { cwd: folder });
      expect(err).toBe("");
      expect(code).toBe(0);
      return parseReport(readFileSync(join(folder, "p.json"), "utf8"), "p.json");
    };
    const report = await compiled("-g1");
    expect([...chains(report, "main").keys()].sort()).toEqual([
      "shared in twice",
      "square in twice",
      "twice",
    ]);
    expect([...chains(report, "other").keys()]).toEqual(["shared"]);
    const placed = (name: string) => report.origins!.filter((one) => one.name === name);
    expect(placed("square")).toMatchObject([{ file: "first.c" }]);
    // Called in two functions, of two files, both by what the header says.
    expect(placed("shared").map(({ file }) => file)).toEqual(["./shared.h", "./shared.h"]);
    const without = await compiled();
    expect(chains(without, "main").size).toBe(0);
    expect(symbol(without, "main").bytes).toEqual(symbol(report, "main").bytes);
  });

  it("go with code that outliners move", async () => {
    const piece = (n: number): string => `define void @g${n}(i32 %x) {
  call void @e(i32 11, i32 %x, i32 77)
  call void @e(i32 %x, i32 1234567, i32 5)
  call void @e(i32 %x, i32 7654321, i32 %x)
  call void @e(i32 ${n}, i32 ${n}, i32 0)
  ret void
}\n`;
    const files = Object.fromEntries(
      [1, 2, 3, 4].map((n) => [`g${n}.ll`, `declare void @e(i32, i32, i32)\n${piece(n)}`]),
    );
    for (const [pass, skipped] of [
      ["outline", "ir-outline,merge-similar-functions,constant-argument-thunks"],
      ["ir-outline", "merge-similar-functions,constant-argument-thunks"],
    ]) {
      const options = ["-Oz", "--relocatable", `--skip-pass=${skipped}`];
      const { report } = await linked(files, ...options);
      const made = report.symbols.find(({ madeBy }) => madeBy === pass)!;
      const [[origin, bytes]] = made.origins! as [[number, number]];
      expect(report.origins![origin]).toMatchObject({ name: "g1", file: join(folder, "g1.ll") });
      // What saves registers in it and returns is the piece's own.
      expect(bytes).toBeGreaterThan(0.7 * made.bytes.code!);
      expect(made.file).toBeUndefined();
      // A call of a piece is its function's own.
      expect(symbol(report, "g2").origins).toBeUndefined();
    }
  });

  it("survive encoding, and are refused when malformed", () => {
    const module = parseModule(outer, "outer.ll");
    const fn = module.functions.find(({ name }) => name === "main")!;
    for (const codec of [bodyCodec(), inMemoryCodec()]) {
      fn.rewrite().blocks[0]!.insts.forEach((inst, i) => {
        inst.origin = i === 2 ? 0 : 70000;
      });
      fn.commit(codec);
      expect(fn.view().blocks[0]!.insts.map(({ origin }) => origin)).toEqual([70000, 70000, 0]);
    }
  });

  it("are chains that name each function that code came through", () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => ({ name }) as never);
    const origins = new Origins();
    const bInC = origins.moved(b!, 0, 0);
    expect(origins.moved(b!, 0, 0)).toBe(bInC);
    const aInB = origins.moved(a!, 0, 0);
    const whole = origins.moved(b!, aInB, bInC);
    // a in b, which stands where b was called in code of b.
    expect(origins.codeOrigins[whole - 1]!.fn).toBe(a);
    const middle = origins.codeOrigins[whole - 1]!.into;
    expect(origins.codeOrigins[middle - 1]!).toEqual({ fn: b, into: bInC, place: null, copy: 0 });
    expect(origins.moved(c!, 0, 0)).not.toBe(bInC);
  });

  it("have names that fit a line, and whole ones for programs", async () => {
    const name = `f${"x".repeat(99)}`;
    await linked({ "long.ll": `define void @${name}() {\n  ret void\n}\n` }, "--relocatable", "-Oz");
    execFileSync("cc", ["-c", "-o", "long.o", "out.s"], { cwd: folder });
    const words = ["size", "long.o", "--by=function", "--report=out.json"];
    const text = (await capture(main, words, { cwd: folder })).out;
    expect(text).toContain(`${"x".repeat(50)}…${"x".repeat(20)} `);
    expect((await capture(main, [...words, "--csv"], { cwd: folder })).out).toContain(`\n${name},`);
  });

  it("are found beside the program", async () => {
    await linked(both, "-Oz", `--size-report=${folder}/beside.size.json`);
    execFileSync("cc", ["-o", "beside", "out.s"], { cwd: folder });
    const run = async (...words: string[]): Promise<string> =>
      (await capture(main, words, { cwd: folder })).out;
    expect(await run("size", "beside", "--by=function", "--top=0", "--csv")).toMatch(/^middle,10,/m);
    for (const words of [[], ["--report=beside"], ["--report=beside.size.json"]])
      expect(await run("why", "main", "kept", ...words)).toContain("the entry");
    writeFileSync(join(folder, "another.size.json"), "");
    const { code, err } = await capture(main, ["why", "main"], { cwd: folder });
    expect(code).toBe(1);
    expect(err).toContain("several reports (another.size.json, beside.size.json)");
  });

  it("account for every byte of a program's text", async () => {
    const { report } = await linked(both, "-Oz");
    execFileSync("cc", ["-o", "prog", "out.s"], { cwd: folder });
    const run = async (...options: string[]): Promise<string> =>
      (await capture(main, ["size", "prog", ...options], { cwd: folder })).out;
    const words = ["--report", "out.json", "--by", "function,file", "--top", "0", "--csv"];
    const tables = await run(...words);
    const text = execFileSync("size", ["-A", "prog"], { cwd: folder, encoding: "utf8" });
    const code = [...text.matchAll(/^\.(?:text|init|fini|plt\S*)\s+(\d+)/gm)].reduce(
      (sum, m) => sum + Number(m[1]),
      0,
    );
    for (const table of tables.split("\n\n").filter((one) => one !== "")) {
      const [head, ...rows] = table
        .trim()
        .split("\n")
        .map((line) => line.split(","));
      const column = head!.indexOf("code");
      const plt = [...text.matchAll(/^\.plt\S*\s+(\d+)/gm)].reduce((sum, m) => sum + Number(m[1]), 0);
      expect(rows.reduce((sum, row) => sum + Number(row[column]), 0)).toBe(code - plt);
    }
    expect(tables).toContain("src/inner.c,");
    expect(report.symbols.length).toBeGreaterThan(1);
  });
});
