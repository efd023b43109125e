/** Sizes of functions that a link tells are those that the assembler makes, jumps between functions included. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type PlacedFunction, settleJumps } from "../../bin/lto/jump-sizes.js";
import { Image } from "../../formats/program/image.js";
import { parseReport } from "../../formats/size-report/text.js";
import type { CodeSizes, OpenBranch } from "../../lto/codegen/late/code-origins.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

/** Functions of a program by name: what the link says, and what the assembler made. */
async function sizes(text: string, ...options: string[]) {
  writeFileSync(path("p.ll"), text);
  const words = [path("p.ll"), "-o", "p.s", "--size-report=p.json", "-Oz", ...options];
  expect(await tscLto(words, { cwd: folder })).toMatchObject({ code: 0, err: "" });
  execFileSync("as", ["-o", path("p.o"), path("p.s")]);
  const report = parseReport(readFileSync(path("p.json"), "utf8"), "p.json");
  const said = new Map(
    report.symbols.flatMap(({ name, kind, bytes }) => (kind === "function" ? [[name, bytes.code]] : [])),
  );
  const functions = new Image(readFileSync(path("p.o"))).symbols.filter(({ type }) => type === 2);
  return { report, said, made: new Map(functions.map(({ name, size }) => [name, size])) };
}

const store = (n: number): string => `  store volatile i32 ${n}, ptr @v\n`;
const fill = (count: number): string => Array.from({ length: count }, (_, i) => store(1000 + i)).join("");
const jumping = (name: string, to: string, count: number): string =>
  `define void @${name}() noinline minsize optsize {\n${fill(count)}  tail call void @${to}()\n  ret void\n}\n`;
const plain = (name: string, count: number): string =>
  `define void @${name}() noinline minsize optsize {\n${fill(count)}  ret void\n}\n`;
const options = [
  "--relocatable",
  "--no-outline",
  "--skip-pass=ir-outline,icf,merge-similar-functions,inline",
];

describe("sizes in the report of a link", () => {
  it.each([
    [
      "near and far jumps",
      `${jumping("a", "z", 1)}${jumping("b", "a", 3)}${plain("far", 40)}${jumping("c", "a", 1)}${plain("z", 2)}`,
    ],
    [
      "back over just what a short jump reaches",
      `${plain("z", 1)}${plain("y", 11)}${jumping("a", "z", 0)}${jumping("b", "z", 1)}`,
    ],
    [
      "jumps that others push apart",
      Array.from({ length: 30 }, (_, i) => jumping(`f${i}`, `f${(i * 7 + 11) % 30}`, 1 + (i % 3))).join(""),
    ],
    [
      "what is weak, from elsewhere, or in a section of its own",
      `declare void @gone()\n${jumping("a", "gone", 1)}${jumping("b", "w", 1)}${plain("w", 1).replace("void", "weak void")}${jumping("c", "s", 1)}${plain("s", 1).replace("noinline", 'section "own" noinline')}`,
    ],
  ])("%s", async (_, text) => {
    for (const more of [[], ["--no-function-layout"], ["-O2"], ["--function-sections"]]) {
      const { said, made } = await sizes(`@v = global i32 0\n${text}`, ...options, ...more);
      expect(made.size).toBeGreaterThan(3);
      expect(said, more.join(" ")).toEqual(made);
    }
  });

  it("count jumps where they were written", async () => {
    const text = `@v = global i32 0\n${plain("z", 1)}${plain("y", 0)}
define void @inner() alwaysinline minsize optsize {\n${store(7)}  tail call void @z()\n  ret void\n}
define void @outer() noinline minsize optsize {\n${store(3)}  tail call void @inner()\n  ret void\n}\n`;
    const { report, said, made } = await sizes(text, ...options, "--no-function-layout");
    expect(said).toEqual(made);
    const outer = report.symbols.find(({ name }) => name === "outer")!;
    // A store of ten bytes each, and the short jump, which the inlined function has.
    expect(outer.bytes.code).toBe(22);
    expect(outer.origins!.map(([, bytes]) => bytes)).toEqual([12]);
  });
});

describe("settled jumps", () => {
  const branch = (bytes: number, to: OpenBranch["to"], counted = 5): OpenBranch => ({
    short: 2,
    near: 5,
    back: 128,
    ahead: 127,
    bytes,
    to,
    counted,
    origin: 0,
  });
  const place = (symbol: string, more: Partial<PlacedFunction> = {}): PlacedFunction => ({
    symbol,
    section: "text",
    align: 1,
    runsOn: false,
    ...more,
  });
  const settle = (
    known: Record<string, CodeSizes>,
    placed: readonly PlacedFunction[],
  ): Record<string, number> =>
    Object.fromEntries(
      [
        ...settleJumps(
          placed,
          (name) => known[name],
          () => true,
        ),
      ].map(([name, { code }]) => [name, code]),
    );
  const fixed = (code: number): CodeSizes => ({ code, origins: [], branches: null });
  const open = (code: number, ...branches: OpenBranch[]): CodeSizes => ({ code, origins: [], branches });

  it("reach as far as a signed byte does, from their end", () => {
    for (const [between, bytes] of [
      [127, 2],
      [128, 5],
    ] as const)
      expect(
        settle(
          { a: open(5, branch(0, "b")), m: fixed(between), b: fixed(1) },
          ["a", "m", "b"].map((name) => place(name)),
        ),
      ).toEqual({ a: bytes });
    for (const [between, bytes] of [
      [126, 2],
      [127, 5],
    ] as const)
      expect(
        settle(
          { a: open(5, branch(0, "b")), b: fixed(between) },
          ["b", "a"].map((name) => place(name)),
        ),
      ).toEqual({ a: bytes });
  });
  it("that grow make branches in their function grow", () => {
    const inner = branch(0, { bytes: 123, branches: 2 }, 2);
    const sizes = { a: open(123 + 2 + 5, inner, branch(60, "b")), m: fixed(500), b: fixed(1) };
    expect(
      settle(
        sizes,
        ["a", "b"].map((name) => place(name)),
      ),
    ).toEqual({ a: 127 });
    expect(
      settle(
        sizes,
        ["a", "m", "b"].map((name) => place(name)),
      ),
    ).toEqual({ a: 133 });
  });
  it("are left out where their target follows, and count alignment", () => {
    const known = { a: open(5, branch(0, "b")), m: fixed(120), b: fixed(1) };
    expect(settle(known, [place("a", { runsOn: true }), place("b")])).toEqual({ a: 0 });
    expect(settle(known, [place("a"), place("m"), place("b", { align: 64 })])).toEqual({ a: 2 });
    expect(settle(known, [place("a"), place("m"), place("b", { align: 256 })])).toEqual({ a: 5 });
    expect(settle(known, [place("a"), place("b", { section: "other" })])).toEqual({ a: 5 });
  });
});
