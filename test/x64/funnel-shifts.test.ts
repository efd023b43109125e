/** Funnel shifts of vectors: lanes stay in their registers, at each width, and give what a scalar shift does. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;

const declared = (bits: number): string =>
  directions
    .map((direction) => {
      const vector = `<${128 / bits} x i${bits}>`;
      return `declare ${vector} @llvm.fsh${direction}.v${128 / bits}i${bits}(${vector}, ${vector}, ${vector})\n`;
    })
    .join("");

const widths = [8, 16, 32, 64];
const kinds = ["rotated", "constant", "zero", "variable", "splat"] as const;
const directions = ["l", "r"] as const;
type Kind = (typeof kinds)[number];
const nameOf = (bits: number, kind: Kind, direction: string): string => `${kind}_${direction}${bits}`;
const cases = widths.flatMap((bits) =>
  kinds.flatMap((kind) =>
    directions.map((direction) => ({ bits, kind, direction, name: nameOf(bits, kind, direction) })),
  ),
);

function define({ bits, kind, direction, name }: (typeof cases)[number]): string {
  const lanes = 128 / bits;
  const vector = `<${lanes} x i${bits}>`;
  const all = (n: number): string =>
    `${vector} <${Array.from({ length: lanes }, () => `i${bits} ${n}`).join(", ")}>`;
  // More than a lane has: what is beyond counts again from zero.
  const fixed: Partial<Record<Kind, string>> = { rotated: all(5), constant: all(bits + 3), zero: all(bits) };
  return `define void @${name}(ptr %p, ptr %q, ptr %r) {
%a = load ${vector}, ptr %p, align 8
%b = load ${vector}, ptr %q, align 8
%c = load ${vector}, ptr %r, align 8
%s = shufflevector ${vector} %c, ${vector} poison, <${lanes} x i32> zeroinitializer
%z = call ${vector} @llvm.fsh${direction}.v${lanes}i${bits}(${vector} %a, ${vector} ${kind === "rotated" ? "%a" : "%b"}, ${fixed[kind] ?? `${vector} ${kind === "splat" ? "%s" : "%c"}`})
store ${vector} %z, ptr %p, align 8
ret void
}
`;
}

const harness = `#include <stdio.h>
#include <string.h>
static unsigned long state = 88172645463325252ul;
static unsigned long next(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state;
}
${cases.map(({ name }) => `void ${name}(void *, void *, void *);`).join("\n")}
${widths
  .map((bits) => {
    const type = `unsigned ${{ 8: "char", 16: "short", 32: "int", 64: "long" }[bits]}`;
    return `static void check${bits}(const char *name, void f(void *, void *, void *), int left, int rotated, int fixed, int splat) {
  enum { lanes = ${128 / bits} };
  for (int k = 0; k < 200; k++) {
    ${type} a[lanes], b[lanes], c[lanes], r[lanes];
    for (int i = 0; i < lanes; i++) a[i] = next(), b[i] = next(), c[i] = k < ${bits} ? k : next();
    for (int i = 0; i < lanes; i++) {
      unsigned n = (fixed >= 0 ? fixed : c[splat ? 0 : i]) % ${bits};
      ${type} low = rotated ? a[i] : b[i];
      if (!left) n = ${bits} - n;
      r[i] = n == 0 ? a[i] : n == ${bits} ? low : (${type})(a[i] << n) | low >> (${bits} - n);
    }
    f(a, b, c);
    if (memcmp(a, r, sizeof a)) { puts(name); break; }
  }
}`;
  })
  .join("\n")}
int main(void) {
${cases
  .map(({ bits, kind, direction, name }) => {
    const fixed = { rotated: 5, constant: bits + 3, zero: bits, variable: -1, splat: -1 }[kind];
    return `  check${bits}("${name}", ${name}, ${Number(direction === "l")}, ${Number(kind === "rotated")}, ${fixed}, ${Number(kind === "splat")});`;
  })
  .join("\n")}
}
`;

test.each(["O2", "Oz"])("funnel shifts of vectors with SSE2 at -%s", async (level) => {
  writeFileSync(path("a.ll"), head + widths.map(declared).join("") + cases.map(define).join(""));
  const options = ["-r", `-${level}`, "--no-outline", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  const assembly = readFileSync(path("a.s"), "utf8");
  expect(assembly).not.toMatch(/\t(?:sh[lr]d|ro[lr]|pinsrw)/);
  writeFileSync(path("h.c"), harness);
  const command = ["cc", "-w", "-O1", path("h.c"), path("a.s"), "-no-pie", "-o", path("h")];
  expect((await run(command)).stderr).toBe("");
  expect((await run([path("h")])).stdout.toString()).toBe("");
});
