/** Masks of what is loaded: `test` reads memory, whichever operand is there. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

const types = [8, 16, 32, 64];
const suffixes: Readonly<Record<number, string>> = { 8: "b", 16: "w", 32: "l", 64: "q" };
const orders = ["%x, %m", "%m, %x"];
const nameOf = (bits: number, order: number): string => `masked${bits}_${order}`;
const cases = types.flatMap((bits) => orders.map((operands, order) => ({ bits, order, operands })));

test.each(["O2", "Oz"])("masks of loaded numbers at -%s", async (level) => {
  const functions = cases.map(
    ({ bits, order, operands }) => `define i32 @${nameOf(bits, order)}(ptr %p, i${bits} %m) {
%x = load i${bits}, ptr %p
%y = and i${bits} ${operands}
%c = icmp ne i${bits} %y, 0
%r = zext i1 %c to i32
ret i32 %r
}
`,
  );
  writeFileSync(path("a.ll"), `target triple = "x86_64-unknown-linux-gnu"\n${functions.join("")}`);
  const options = ["-r", `-${level}`, "--no-outline", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  const text = readFileSync(path("a.s"), "latin1");
  for (const { bits, order } of cases) {
    const name = nameOf(bits, order);
    const code = text.slice(text.indexOf(`\n${name}:`), text.indexOf(`.size\t${name},`));
    expect(code, name).toContain(`test${suffixes[bits]}\t(%rdi), %`);
  }
  const checks = cases.map(({ bits, order }) => {
    const type = `unsigned ${{ 8: "char", 16: "short", 32: "int", 64: "long" }[bits]}`;
    return `{ ${type} a = x, b = y; if (${nameOf(bits, order)}(&a, b) != ((a & b) != 0)) puts("${nameOf(bits, order)}"); }`;
  });
  writeFileSync(
    path("main.c"),
    `#include <stdio.h>
${cases.map(({ bits, order }) => `int ${nameOf(bits, order)}(void *, unsigned long);`).join("\n")}
int main(void) {
  for (int i = 0; i < 64; i++)
    for (int k = 0; k < 64; k++) {
      unsigned long x = 1ul << i, y = 1ul << k | 1ul << 63;
      ${checks.join("\n      ")}
    }
}
`,
  );
  const built = await run(["cc", "-w", "-O1", "-no-pie", path("main.c"), path("a.s"), "-o", path("main")]);
  expect(built.stderr).toBe("");
  expect((await run([path("main")])).stdout.toString()).toBe("");
});
