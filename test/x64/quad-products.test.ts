/** Products of 64-bit lanes of which halves are known: how many multiplications are left, and that nothing is masked for them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
@rounds = external global i32
`;

interface Product {
  readonly name: string;
  /** Of %a and %b, <2 x i64>, to %r. */
  readonly body: string;
  /** Of lanes a and b in C. */
  readonly c: string;
  /** Multiplications that are left. */
  readonly multiplications: number;
}

const low = "<i64 4294967295, i64 4294967295>";
const halves = (mask: string, order: string): string => `%l = and <2 x i64> %a, ${low}
%x = bitcast <2 x i64> %b to <4 x i32>
%m = and <4 x i32> %x, ${mask}
%s = shufflevector <4 x i32> %m, <4 x i32> poison, <4 x i32> ${order}
%h = bitcast <4 x i32> %s to <2 x i64>
%r = mul nuw <2 x i64> %l, %h`;
const products: readonly Product[] = [
  {
    name: "low",
    body: `%x = and <2 x i64> %a, ${low}\n%y = and <2 x i64> %b, ${low}\n%r = mul <2 x i64> %x, %y`,
    c: "(a & M) * (b & M)",
    multiplications: 1,
  },
  {
    name: "high",
    body: halves("<i32 0, i32 -1, i32 poison, i32 -1>", "<i32 1, i32 0, i32 3, i32 0>"),
    c: "(a & M) * (b >> 32)",
    multiplications: 1,
  },
  {
    name: "shifted",
    body: `%x = and <2 x i64> %a, ${low}\n%y = lshr <2 x i64> %b, <i64 32, i64 32>\n%r = mul <2 x i64> %x, %y`,
    c: "(a & M) * (b >> 32)",
    multiplications: 1,
  },
  // What is masked away from a lower half stays so.
  {
    name: "masked",
    body: halves("<i32 0, i32 65535, i32 0, i32 -1>", "<i32 1, i32 0, i32 3, i32 0>"),
    c: "(a & M) * (b >> 32 & (i ? M : 65535))",
    multiplications: 1,
  },
  {
    name: "constant",
    body: "%r = mul <2 x i64> %a, <i64 2654435761, i64 2654435761>",
    c: "a * 2654435761",
    multiplications: 2,
  },
  {
    name: "constant_high",
    body: "%r = mul <2 x i64> %a, <i64 -7046029290881679360, i64 -7046029290881679360>",
    c: "a * -7046029290881679360",
    multiplications: 1,
  },
  {
    // What comes into a loop is as short as what comes back.
    name: "looped",
    body: `%k = load volatile i32, ptr @rounds
%u = lshr <2 x i64> %a, <i64 32, i64 32>
%y = lshr <2 x i64> %b, <i64 32, i64 32>
br label %loop
loop:
%i = phi i32 [ 0, %0 ], [ %n, %loop ]
%x = phi <2 x i64> [ %u, %0 ], [ %z, %loop ]
%r = mul <2 x i64> %x, %y
%z = lshr <2 x i64> %r, <i64 32, i64 32>
%n = add i32 %i, 1
%c = icmp ult i32 %n, %k
br i1 %c, label %loop, label %end
end:`,
    c: "(((a >> 32) * (b >> 32) >> 32) * (b >> 32) >> 32) * (b >> 32)",
    multiplications: 1,
  },
  { name: "whole", body: "%r = mul <2 x i64> %a, %b", c: "a * b", multiplications: 3 },
];

const define = ({ name, body }: Product, level: string, features: string): string =>
  `define void @${name}_${level}(ptr %p, ptr %q) "target-features"="${features}" {
%a = load <2 x i64>, ptr %p, align 8
%b = load <2 x i64>, ptr %q, align 8
${body}
store <2 x i64> %r, ptr %p, align 8
ret void
}
`;

const harness = `#include <stdio.h>
#define M 0xffffffffu
volatile int rounds = 3;
static unsigned long state = 88172645463325252ul;
static unsigned long next(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state;
}
${products.map(({ name }) => `void ${name}_sse(void *, void *), ${name}_avx(void *, void *);`).join("\n")}
static void check(const char *name, void f(void *, void *), unsigned long (*g)(unsigned long, unsigned long, int)) {
  for (int k = 0; k < 100; k++) {
    unsigned long a[2] = {next(), next()}, b[2] = {next(), next()}, r[2] = {g(a[0], b[0], 0), g(a[1], b[1], 1)};
    f(a, b);
    if (a[0] != r[0] || a[1] != r[1]) { puts(name); break; }
  }
}
${products.map(({ name, c }) => `static unsigned long ${name}_c(unsigned long a, unsigned long b, int i) { return ${c}; }`).join("\n")}
int main(void) {
${products.map(({ name }) => `  check("${name}", ${name}_sse, ${name}_c);\n  if (__builtin_cpu_supports("avx2")) check("${name}, AVX2", ${name}_avx, ${name}_c);`).join("\n")}
}
`;

test.each(["O2", "Oz"])("products of lanes at -%s", async (level) => {
  const text = products.map((p) => define(p, "sse", "+sse2") + define(p, "avx", "+avx2")).join("");
  writeFileSync(path("a.ll"), head + text);
  const options = ["-r", `-${level}`, "--no-outline", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  const assembly = readFileSync(path("a.s"), "utf8");
  for (const { name, multiplications } of products)
    for (const kind of ["sse", "avx"]) {
      const body = new RegExp(`^${name}_${kind}:\\n([\\s\\S]*?)\\n\\t\\.size`, "m").exec(assembly)![1]!;
      const made = [body.match(/pmuludq/g)?.length, /\tv?p?and/.test(body)];
      expect([name, kind, ...made]).toEqual([name, kind, multiplications, name === "masked"]);
    }
  writeFileSync(path("h.c"), harness);
  const command = ["cc", "-w", "-O1", path("h.c"), path("a.s"), "-no-pie", "-o", path("h")];
  expect((await run(command)).stderr).toBe("");
  expect((await run([path("h")])).stdout.toString()).toBe("");
});
