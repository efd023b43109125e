/** Strings at the ends of others: which share bytes, and that every linker finds them. */
import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { printModule } from "../../formats/asm/index.js";
import { stringTails } from "../../formats/asm/string-tails.js";
import { parseModule } from "../../formats/text/index.js";
import type { GlobalVariable } from "../../lto/ir/module.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const folder = temporaryFolder();
const head =
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n' +
  'target triple = "x86_64-unknown-linux-gnu"\n';
const print = (ir: string, relocation: "static" | "pie" = "static"): string =>
  printModule(parseModule(head + ir, "m.ll"), [], { relocation });

/** What lies inside of what: `short=host+offset`. */
const shared = (ir: string): string[] =>
  [...print(ir).matchAll(/^\t\.set\t(\S+), (\S+)$/gm)].map(([, name, place]) => `${name}=${place}`);
const string = (
  name: string,
  text: string,
  how = "private unnamed_addr constant",
  more = ", align 1",
): string => `@${name} = ${how} [${text.length + 1} x i8] c"${text}\\00"${more}\n`;

describe("a string", () => {
  it("lies in the longest that ends with it", () =>
    expect(
      shared(
        string("a", "file") +
          string("b", "cannot open file") +
          string("c", "open file") +
          string("d", "open"),
      ),
    ).toEqual([".La=.Lb+12", ".Lc=.Lb+7"]));
  it("of no characters is the end of any", () =>
    expect(shared(string("a", "x") + string("b", ""))).toEqual([".Lb=.La+1"]));
  it("that is equal to another is the same", () =>
    expect(shared(string("a", "same") + string("b", "same"))).toEqual([".Lb=.La+0"]));
  it("may have a symbol", () => {
    const text = print(string("a", "profile") + string("b", "file", "internal unnamed_addr constant"));
    expect(text).toContain("\t.type\tb,@object\n\t.set\tb, .La+3\n\t.size\tb, 5\n");
  });
  it("keeps its alignment", () => {
    const aligned = (n: number): string =>
      string("a", "12345678", undefined, ", align 4") +
      string("b", "87654321".slice(n), undefined, ", align 4");
    expect(shared(aligned(0))).toEqual([]);
    const tails = (n: number): string[] =>
      shared(
        string("a", "12345678", undefined, ", align 4") +
          string("b", "12345678".slice(n), undefined, ", align 4"),
      );
    expect([1, 2, 3, 4, 5].map((n) => tails(n).length)).toEqual([0, 0, 0, 1, 0]);
  });
  it("of wide characters ends at whole ones", () =>
    expect(
      shared(
        "@a = private unnamed_addr constant [3 x i32] [i32 65, i32 66, i32 0], align 4\n" +
          "@b = private unnamed_addr constant [2 x i32] [i32 66, i32 0], align 4\n" +
          "@c = private unnamed_addr constant [2 x i32] [i32 16896, i32 0], align 4\n",
      ),
    ).toEqual([".Lb=.La+4"]));
  it.each([
    ["whose address means something", string("b", "file", "private constant")],
    [
      "of which only this module's address means nothing",
      string("b", "file", "private local_unnamed_addr constant"),
    ],
    ["that others see", string("b", "file", "unnamed_addr constant")],
    ["that changes", string("b", "file", "private unnamed_addr global")],
    ["in a section of its own", string("b", "file", undefined, ', section "own", align 1')],
    ["with a terminator inside", '@b = private unnamed_addr constant [5 x i8] c"fi\\00e\\00", align 1\n'],
    ["without one", '@b = private unnamed_addr constant [4 x i8] c"file", align 1\n'],
    ["that is more aligned", string("b", "file", undefined, ", align 2")],
  ])("%s stays", (_, other) => expect(shared(string("a", "profile") + other)).toEqual([]));
});

it("order of what is given does not matter", () => {
  const texts = ["abc", "bc", "c", "xbc", "abcx", "", "cc", "ccc", "zabc"];
  const strings = texts.map((text) => ({
    variable: { name: text } as GlobalVariable,
    bytes: Buffer.from(`${text}\0`),
    align: 1,
    section: "s",
  }));
  const result = (list: typeof strings): string[] =>
    [...stringTails(list)].map(([v, { host, offset }]) => `${v.name}@${host.name}+${offset}`).sort();
  expect(result(strings.slice().reverse())).toEqual(result(strings));
  for (const [variable, { host, offset }] of stringTails(strings))
    expect(host.name.slice(offset)).toBe(variable.name);
  // Every string that another ends with is one of them.
  expect(result(strings)).toHaveLength(5);
});

describe("programs print them", () => {
  const texts = ["file", "cannot open file", "open file", "", "le", "no tail"];
  const names = texts.map((_, i) => `s${i}`);
  const ir =
    texts.map((text, i) => string(names[i]!, text)).join("") +
    `@table = constant [${texts.length} x ptr] [${names.map((n) => `ptr @${n}`).join(", ")}]\n` +
    `@inside = constant ptr getelementptr (i8, ptr @s2, i64 5)\n`;
  writeFileSync(
    join(folder, "main.c"),
    `#include <stdio.h>
extern const char *const table[], *const inside;
int main(void) { for (int i = 0; i < ${texts.length}; i++) printf("%s|", table[i]); puts(inside); return 0; }`,
  );
  const lld = findProgram("ld.lld", "ld.lld-22", "ld.lld-19");
  // Compilers look for the plain name.
  if (lld !== undefined) symlinkSync(lld, join(folder, "ld.lld"));
  const levels = lld === undefined ? [] : ["-O0", "-O1", "-O2"];
  const linkers = [
    ["-fuse-ld=bfd"],
    ["-fuse-ld=bfd", "-Wl,-O2"],
    ...levels.map((level) => ["-fuse-ld=lld", `-B${folder}`, `-Wl,${level}`]),
  ];
  it.each(linkers.map((flags) => [flags.filter((flag) => !flag.startsWith("-B")).join(" "), flags] as const))(
    "linked with %s",
    (_, flags) => {
      for (const pie of [false, true]) {
        writeFileSync(join(folder, "m.s"), print(ir, pie ? "pie" : "static"));
        execFileSync("cc", [pie ? "-pie" : "-no-pie", ...flags, "main.c", "m.s", "-o", "m"], { cwd: folder });
        expect(execFileSync(join(folder, "m"), { encoding: "utf8" })).toBe(`${texts.join("|")}|file\n`);
      }
    },
  );
});
