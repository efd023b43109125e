/** Single bits by number: where `bt`, `bts`, `btr` and `btc` are selected, and that they compute what plain C does. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;

interface Operation {
  readonly name: string;
  /** Of %x, %n below the width, and what %p leads to; T stands for the type. */
  readonly body: string;
  /** The same in C, of x, n and *p. */
  readonly c: string;
  /** Mnemonics without suffix at -O2 and at -Oz, by width where it matters. */
  readonly fast: string;
  readonly small?: string;
  readonly widths?: readonly number[];
}

const bit = "%b = shl T 1, %n\n";
const tested = "%c = icmp ne T %t, 0\n%r = select i1 %c, T %x, T 77";
const all = [8, 16, 32, 64];
const operations: readonly Operation[] = [
  { name: "set", body: `${bit}%r = or T %x, %b`, c: "x | (T)1 << n", fast: "bts", widths: all },
  { name: "set_left", body: `${bit}%r = or T %b, %x`, c: "x | (T)1 << n", fast: "bts" },
  { name: "clear", body: `${bit}%m = xor T %b, -1\n%r = and T %x, %m`, c: "x & ~((T)1 << n)", fast: "btr" },
  { name: "flip", body: `${bit}%r = xor T %x, %b`, c: "x ^ (T)1 << n", fast: "btc", widths: all },
  {
    name: "masked",
    body: "%k = and T %n, MASK\n%b = shl T 1, %k\n%r = or T %x, %b",
    c: "x | (T)1 << (n & MASK)",
    fast: "bts",
  },
  {
    name: "test",
    body: `${bit}%t = and T %x, %b\n${tested}`,
    c: "x >> n & 1 ? x : 77",
    fast: "bt",
    widths: all,
  },
  {
    name: "test_shifted",
    body: `%s = lshr T %x, %n\n%t = and T %s, 1\n${tested}`,
    c: "x >> n & 1 ? x : 77",
    fast: "bt",
    widths: all,
  },
  {
    name: "test_signed",
    body: `%s = ashr T %x, %n\n%t = and T %s, 1\n${tested}`,
    c: "x >> n & 1 ? x : 77",
    fast: "bt",
    widths: all,
  },
  {
    name: "test_truncated",
    body: "%s = lshr T %x, %n\n%c = trunc T %s to i1\n%r = select i1 %c, T %x, T 77",
    c: "x >> n & 1 ? x : 77",
    fast: "bt",
    widths: all,
  },
  { name: "value", body: "%s = lshr T %x, %n\n%r = and T %s, 1", c: "x >> n & 1", fast: "bt", widths: all },
  // Of a constant, and of what is in memory: it is loaded.
  { name: "constant", body: `${bit}%t = and T %b, 77\n${tested}`, c: "(T)77 >> n & 1 ? x : 77", fast: "bt" },
  {
    name: "loaded",
    body: `%m = load T, ptr %p\n${bit}%t = and T %m, %b\n${tested}`,
    c: "*p >> n & 1 ? x : 77",
    fast: "bt",
  },
  // Both readers of the bit.
  {
    name: "twice",
    body: `${bit}%y = xor T %x, %b\n%t = and T %x, %b\n%c = icmp eq T %t, 0\n%r = select i1 %c, T %y, T 77`,
    c: "x >> n & 1 ? 77 : x ^ (T)1 << n",
    fast: "btc, bt",
  },
  // In different blocks.
  {
    name: "blocks",
    body: `${bit}%t = and T %x, %b\n%c = icmp ne T %t, 0\nbr i1 %c, label %yes, label %no\nyes:\n%y = xor T %x, %b\nstore T %y, ptr %p\nbr label %no\nno:\n%r = load T, ptr %p`,
    c: "x >> n & 1 ? x ^ (T)1 << n : *p",
    fast: "bt, btc",
  },
  // The bit is wanted as such, too.
  {
    name: "apart",
    body: `${bit}%o = or T %x, %b\n%r = mul T %o, %b`,
    c: "(x | (T)1 << n) * ((T)1 << n)",
    fast: "",
  },
  { name: "complement", body: `${bit}%m = xor T %b, -1\n%r = add T %m, %x`, c: "~((T)1 << n) + x", fast: "" },
  // By a constant.
  {
    name: "high_test",
    body: `%t = and T %x, 35184372088832\n${tested}`,
    c: "x >> 45 & 1 ? x : 77",
    fast: "bt",
    widths: [64],
  },
  {
    name: "high_test_31",
    body: `%t = and T %x, 2147483648\n${tested}`,
    c: "x >> 31 & 1 ? x : 77",
    fast: "bt",
    widths: [64],
  },
  {
    name: "high_loaded",
    body: `%m = load T, ptr %p\n%t = and T %m, 140737488355328\n${tested}`,
    c: "*p >> 47 & 1 ? x : 77",
    fast: "",
    widths: [64],
  },
  {
    name: "high_set",
    body: "%r = or T %x, 35184372088832",
    c: "x | 1ul << 45",
    fast: "",
    small: "bts",
    widths: [64],
  },
  {
    name: "high_clear",
    body: "%r = and T %x, -35184372088833",
    c: "x & ~(1ul << 45)",
    fast: "",
    small: "btr",
    widths: [64],
  },
  {
    name: "high_flip",
    body: "%r = xor T %x, -9223372036854775808",
    c: "x ^ 1ul << 63",
    fast: "",
    small: "btc",
    widths: [64],
  },
  // Masks that an immediate holds.
  {
    name: "mask_test",
    body: `%t = and T %x, 4096\n${tested}`,
    c: "x & 4096 ? x : 77",
    fast: "",
    small: "bt",
  },
  { name: "mask_test_byte", body: `%t = and T %x, 64\n${tested}`, c: "x & 64 ? x : 77", fast: "" },
  { name: "mask_set", body: "%r = or T %x, 4096", c: "x | 4096", fast: "", small: "bts" },
  { name: "mask_clear", body: "%r = and T %x, -4097", c: "x & ~(T)4096", fast: "", small: "btr" },
  { name: "mask_flip", body: "%r = xor T %x, 4096", c: "x ^ 4096", fast: "", small: "btc" },
  { name: "mask_byte", body: "%r = xor T %x, 64", c: "x ^ 64", fast: "" },
  // The result is tested, of which these tell nothing.
  {
    name: "mask_tested",
    body: "%o = xor T %x, 4096\n%c = icmp eq T %o, 0\n%r = select i1 %c, T 5, T %o",
    c: "x ^ 4096 ? x ^ 4096 : 5",
    fast: "",
  },
];

const widthsOf = ({ widths }: Operation): readonly number[] => widths ?? [32, 64];
const cTypes: Readonly<Record<number, string>> = {
  8: "unsigned char",
  16: "unsigned short",
  32: "unsigned",
  64: "unsigned long",
};

function irText({ name, body }: Operation, width: number, features: string): string {
  const type = `i${width}`;
  const text = body.replace(/\bT\b/g, type).replace(/MASK/g, String(width - 1));
  const suffix = features === "" ? "" : "_bmi";
  return `define ${type} @${name}${width}${suffix}(${type} %x, ${type} %n, ptr %p) "target-features"="${features}" {\n${text}\nret ${type} %r\n}\n`;
}

const program =
  head +
  operations
    .flatMap((o) => widthsOf(o).flatMap((width) => [irText(o, width, ""), irText(o, width, "+bmi,+bmi2")]))
    .join("");

/** Numbers with few bits, with all, and others. */
const harness = `#include <stdio.h>
static unsigned long state = 88172645463325252ul;
static unsigned long next(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  unsigned long x = state;
  switch (x >> 61) { case 0: return 0; case 1: return ~0ul; case 2: return 1ul << (x & 63); case 3: return 4096; default: return x; }
}
int bmi;
${operations
  .flatMap((o) =>
    widthsOf(o).map((width) => {
      const type = cTypes[width]!;
      const f = `${o.name}${width}`;
      const c = o.c.replace(/\bT\b/g, type).replace(/MASK/g, String(width - 1));
      return `${type} ${f}(${type}, unsigned long, ${type} *), ${f}_bmi(${type}, unsigned long, ${type} *);
static void try_${f}(unsigned long a, unsigned long b, unsigned long c) {
  ${type} x = a, m = c, *p = &m, r;
  unsigned long n = b & ${width - 1};
  r = ${c};
  if (${f}(a, n, p) != r || (bmi && ${f}_bmi(a, n, p) != r)) printf("${f} %lx %lu %lx\\n", a, n, c);
}`;
    }),
  )
  .join("\n")}
int main(void) {
  bmi = __builtin_cpu_supports("bmi2");
  for (int i = 0; i < 2000; i++) {
    unsigned long a = next(), b = next(), c = next();
${operations.flatMap((o) => widthsOf(o).map((width) => `    try_${o.name}${width}(a, b, c);`)).join("\n")}
  }
  return 0;
}
`;

const [input, assembly, source, executable] = ["a.ll", "a.s", "h.c", "h"].map((name) =>
  join(folder, name),
) as [string, string, string, string];

/** The instructions about bits of each function. */
function used(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name, body] of text.matchAll(/^(\w+):\n([\s\S]*?)\n\t\.size/gm))
    found.set(name!, [...body!.matchAll(/^\t(bt[src]?)[wlq]\t/gm)].map(([, op]) => op!).join(", "));
  return found;
}

describe("single bits", () => {
  test.each(["O0", "O2", "Oz"] as const)("-%s", async (level) => {
    writeFileSync(input, program);
    const options = ["-r", `-${level}`, "--no-outline", "--verify", "--check-regalloc"];
    expect((await tscLto([input, ...options, "-o", assembly], { cwd: folder })).err).toBe("");
    const found = used(readFileSync(assembly, "utf8"));
    for (const o of operations)
      for (const width of widthsOf(o)) {
        const expected = level === "O0" ? "" : level === "Oz" ? (o.small ?? o.fast) : o.fast;
        expect([o.name, width, found.get(`${o.name}${width}`)]).toEqual([o.name, width, expected]);
        // A shift by a number in any register is as good for a bit by itself.
        const bmi = level === "O2" && o.name === "value" && width >= 32 ? "" : expected;
        expect([o.name, width, found.get(`${o.name}${width}_bmi`)]).toEqual([o.name, width, bmi]);
      }
    writeFileSync(source, harness);
    expect((await run(["cc", "-w", "-O1", source, assembly, "-no-pie", "-o", executable])).stderr).toBe("");
    const { status, stdout } = await run([executable]);
    expect(stdout.toString()).toBe("");
    expect(status).toBe(0);
  });
});

describe("disjunctions without common bits", () => {
  const module = (attributes: string): string => `${head}define i64 @constant(i64 %x) ${attributes} {
  %e = shl i64 %x, 1
  %o = or disjoint i64 %e, 1
  %r = mul i64 %o, %e
  ret i64 %r
}
define i64 @scaled(i64 %x, i64 %y) ${attributes} {
  %e = shl i64 %x, 3
  %l = and i64 %y, 7
  %r = or disjoint i64 %e, %l
  ret i64 %r
}
define i64 @common(i64 %x) ${attributes} {
  %e = shl i64 %x, 1
  %o = or i64 %e, 1
  %r = mul i64 %o, %e
  ret i64 %r
}
`;
  test("are sums where an address spares something", async () => {
    writeFileSync(input, module(""));
    expect((await tscLto([input, "-r", "-O2", "--verify", "-o", assembly], { cwd: folder })).err).toBe("");
    const text = readFileSync(assembly, "utf8");
    const body = (name: string): string =>
      new RegExp(`^${name}:\\n([\\s\\S]*?)\\n\\t\\.size`, "m").exec(text)![1]!;
    expect(body("constant")).toMatch(/leaq\t1\(%r\w+\), %r\w+\n\timulq/);
    expect(body("scaled")).toMatch(/leaq\t\(%r\w+,%r\w+,8\), %rax/);
    expect(body("constant") + body("scaled")).not.toMatch(/\tor[lq]/);
    expect(body("common")).toMatch(/\tor[lq]/);
  });
});
