/** Bit manipulation instructions: where they are selected, and that they compute what plain code does. */
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
  /** Of %a and %b, and of what the pointer %p leads to; T stands for the type. The result is %r. */
  readonly body: string;
  /** Mnemonics without the suffix, with and without memory operand, where speed counts; and where size does. */
  readonly fast: string;
  readonly small: string;
}

const not = "%n = xor T %b, -1\n";
const load = "%m = load T, ptr %p\n";
const operations: readonly Operation[] = [
  { name: "andn", body: `${not}%r = and T %a, %n`, fast: "andn", small: "andn" },
  { name: "andn_first", body: `${not}%r = and T %n, %a`, fast: "andn", small: "andn" },
  { name: "andn_memory", body: `${not}${load}%r = and T %m, %n`, fast: "andn mem", small: "andn mem" },
  { name: "blsr", body: "%n = add T %a, -1\n%r = and T %n, %a", fast: "blsr", small: "blsr" },
  { name: "blsi", body: "%n = sub T 0, %a\n%r = and T %a, %n", fast: "blsi", small: "blsi" },
  { name: "blsmsk", body: "%n = add T %a, -1\n%r = xor T %a, %n", fast: "blsmsk", small: "blsmsk" },
  // Another reader of the intermediate result.
  { name: "apart", body: `${not}%s = and T %a, %n\n%r = add T %s, %n`, fast: "", small: "" },
  { name: "or_apart", body: "%n = add T %a, -1\n%r = or T %a, %n", fast: "", small: "" },
  { name: "shl", body: "%c = and T %b, MASK\n%r = shl T %a, %c", fast: "shlx", small: "" },
  { name: "shr", body: "%c = and T %b, MASK\n%r = lshr T %a, %c", fast: "shrx", small: "" },
  { name: "sar", body: `%c = and T %b, MASK\n${load}%r = ashr T %m, %c`, fast: "sarx mem", small: "" },
  {
    name: "rotate",
    body: "%n = call T @llvm.fshl.iW(T %a, T %a, T 13)\n%s = xor T %n, %b\n%r = add T %s, %a",
    fast: "rorx",
    small: "rorx",
  },
  {
    name: "rotate_right",
    body: "%n = call T @llvm.fshr.iW(T %a, T %a, T 5)\n%s = xor T %n, %b\n%r = add T %s, %a",
    fast: "rorx",
    small: "rorx",
  },
  // Of what is not needed any more.
  { name: "rotate_last", body: "%r = call T @llvm.fshl.iW(T %a, T %a, T 13)", fast: "", small: "" },
  {
    name: "lowest",
    body: "%c = and T %b, MASK\n%m = shl T -1, %c\n%k = xor T %m, -1\n%r = and T %a, %k",
    fast: "bzhi",
    small: "bzhi",
  },
  {
    name: "lowest_memory",
    body: `%c = and T %b, MASK\n%d = or T %c, 1\n%s = sub T W, %d\n%k = lshr T -1, %s\n${load}%r = and T %k, %m`,
    fast: "bzhi mem",
    small: "bzhi mem",
  },
  // By a constant.
  { name: "shl_five", body: "%r = shl T %a, 5", fast: "", small: "" },
];

/** Intrinsics, with what they compute in C; W stands for the width. */
const intrinsics: readonly (Operation & { readonly c: string })[] = [
  {
    name: "bextr",
    body: "%r = call T @llvm.x86.bmi.bextr.W(T %a, T %b)",
    c: "{ unsigned s = b & 255, n = b >> 8 & 255; T x = s < W ? a >> s : 0; return n < W ? x & (((T)1 << n) - 1) : x; }",
    fast: "bextr",
    small: "bextr",
  },
  {
    name: "bzhi",
    body: `${load}%r = call T @llvm.x86.bmi.bzhi.W(T %m, T %b)`,
    c: "{ unsigned n = b & 255; return n < W ? *p & (((T)1 << n) - 1) : *p; }",
    fast: "bzhi mem",
    small: "bzhi mem",
  },
  {
    name: "pdep",
    body: "%r = call T @llvm.x86.bmi.pdep.W(T %a, T %b)",
    c: "{ T r = 0; for (int i = 0; i < W; i++) if (b >> i & 1) { r |= (a & 1) << i; a >>= 1; } return r; }",
    fast: "pdep",
    small: "pdep",
  },
  {
    name: "crc_same",
    body: "%r = call T @llvm.x86.sse42.crc32.W.W(T %a, T %b)",
    c: "{ return checksum(a, b, W); }",
    fast: "crc32",
    small: "crc32",
  },
  {
    name: "crc_byte",
    body: `%x = zext T %a to i128
      %v = trunc i128 %x to i32
      %n = load i8, ptr %p
      %s = call i32 @llvm.x86.sse42.crc32.32.8(i32 %v, i8 %n)
      %y = zext T %b to i128
      %o = trunc i128 %y to i8
      %t = call i32 @llvm.x86.sse42.crc32.32.8(i32 %s, i8 %o)
      %w = zext i32 %t to i128
      %r = trunc i128 %w to T`,
    c: "{ return checksum(checksum(a, *(unsigned char *)p, 8), b & 255, 8); }",
    fast: "crc32 mem, crc32",
    small: "crc32 mem, crc32",
  },
  {
    name: "crc_word",
    body: `%x = zext T %a to i128
      %v = trunc i128 %x to i32
      %y = zext T %b to i128
      %o = trunc i128 %y to i16
      %s = call i32 @llvm.x86.sse42.crc32.32.16(i32 %v, i16 %o)
      %w = zext i32 %s to i128
      %r = trunc i128 %w to T`,
    c: "{ return checksum(a, b & 65535, 16); }",
    fast: "crc32",
    small: "crc32",
  },
  {
    name: "pext",
    body: `${load}%r = call T @llvm.x86.bmi.pext.W(T %a, T %m)`,
    c: "{ T r = 0; for (int i = 0, k = 0; i < W; i++) if (*p >> i & 1) r |= (a >> i & 1) << k++; return r; }",
    fast: "pext mem",
    small: "pext mem",
  },
];

const widths = [32, 64] as const;
const cType = (width: number): string => `unsigned ${width === 32 ? "int" : "long"}`;

function functionText({ name, body }: Operation, width: number, features: string): string {
  const type = `i${width}`;
  const text = body
    .replace(/\bT\b/g, type)
    .replace(/MASK/g, String(width - 1))
    .replace(/\bi?W\b/g, (w) => w.replace("W", String(width)));
  const suffix = features === "" ? "_plain" : "";
  const attributes = features === "" ? "" : `"target-features"="${features}"`;
  return `define ${type} @${name}${width}${suffix}(${type} %a, ${type} %b, ptr %p) ${attributes} {\n${text}\nret ${type} %r\n}\n`;
}

const features = "+bmi,+bmi2,+crc32";
const declarations = ["bextr", "bzhi", "pdep", "pext"]
  .flatMap((name) => widths.map((w) => `declare i${w} @llvm.x86.bmi.${name}.${w}(i${w}, i${w})\n`))
  .concat(widths.map((w) => `declare i${w} @llvm.x86.sse42.crc32.${w}.${w}(i${w}, i${w})\n`))
  .concat(["8", "16"].map((w) => `declare i32 @llvm.x86.sse42.crc32.32.${w}(i32, i${w})\n`))
  .concat(
    ["fshl", "fshr"].flatMap((name) =>
      widths.map((w) => `declare i${w} @llvm.${name}.i${w}(i${w}, i${w}, i${w})\n`),
    ),
  )
  .join("");
const program = `${head}${declarations}${widths
  .flatMap((width) => [
    ...operations.map((o) => functionText(o, width, "") + functionText(o, width, features)),
    ...intrinsics.map((o) => functionText(o, width, features)),
  ])
  .join("")}`;

/** Numbers that matter to shifts, fields and lowest bits, and others. */
const harness = `#include <stdio.h>
static unsigned long state = 88172645463325252ul;
static unsigned long next(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  unsigned long x = state;
  switch (x >> 60) { case 0: return 0; case 1: return ~0ul; case 2: return x & 255; case 3: return x & 0x3f3f; default: return x; }
}
/* CRC-32C, least bits first. */
static unsigned long checksum(unsigned sum, unsigned long value, int bits) {
  for (int i = 0; i < bits; i++) sum = sum >> 1 ^ ((sum ^ value >> i) & 1 ? 0x82f63b78u : 0);
  return sum;
}
${widths
  .flatMap((width) => {
    const type = cType(width);
    const declare = (name: string): string => `${type} ${name}(${type}, ${type}, ${type} *);\n`;
    return [
      ...operations.map(({ name }) => declare(`${name}${width}`) + declare(`${name}${width}_plain`)),
      ...intrinsics.map(({ name, c }) => {
        const body = c.replace(/\bT\b/g, type).replace(/\bW\b/g, String(width));
        return `${declare(`${name}${width}`)}static ${type} ${name}${width}_plain(${type} a, ${type} b, ${type} *p) ${body}\n`;
      }),
    ];
  })
  .join("")}
int main(void) {
  for (int i = 0; i < 3000; i++) {
    unsigned long a = next(), b = next(), m = next();
${widths
  .flatMap((width) =>
    [...operations, ...intrinsics].map(({ name }) => {
      const call = `(a, b, &m${width})`;
      const f = `${name}${width}`;
      return `    { ${cType(width)} m${width} = m; if (${f}${call} != ${f}_plain${call}) printf("${f} %lx %lx %lx\\n", a, b, m); }\n`;
    }),
  )
  .join("")}  }
  return 0;
}
`;

const files = ["a.ll", "a.s", "h.c", "h"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
  string,
];
const [input, assembly, source, executable] = files;

async function compiled(level: string): Promise<string> {
  writeFileSync(input, program);
  const options = ["-r", `-${level}`, "--verify", "--check-regalloc"];
  expect((await tscLto([input, ...options, "-o", assembly], { cwd: folder })).err).toBe("");
  return readFileSync(assembly, "utf8");
}

/** The bit manipulation instructions of each function. */
function used(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, body] of text.matchAll(/^(\w+):\n([\s\S]*?)\n\t\.size/gm)) {
    const lines = [
      ...body!.matchAll(/^\t(andn|bls\w+?|s[ha][lr]x|bextr|bzhi|pdep|pext|rorx|crc32)[bwlq]\t(.*)$/gm),
    ];
    found[name!] = lines.map(([, op, operands]) => (operands!.includes("(") ? `${op} mem` : op!)).join(", ");
  }
  return found;
}

const flags = readFileSync("/proc/cpuinfo", "utf8");
const canRun = /\bsse4_2\b/.test(flags) && /\bbmi1\b/.test(flags) && /\bbmi2\b/.test(flags);

describe("bit manipulation", () => {
  test.each(["O2", "Oz"] as const)("where it is selected, and what it computes: -%s", async (level) => {
    const found = used(await compiled(level));
    for (const width of widths)
      for (const { name, fast, small } of [...operations, ...intrinsics]) {
        // Short registers that die are shorter to change in place.
        const inPlace = level === "Oz" && width === 32 && /^andn|^rotate/.test(name);
        expect([name, width, found[`${name}${width}`]]).toEqual([
          name,
          width,
          level === "O2" ? fast : inPlace ? "" : small,
        ]);
        if (found[`${name}${width}_plain`] !== undefined) expect(found[`${name}${width}_plain`]).toBe("");
      }
    if (!canRun) return;
    writeFileSync(source, harness);
    expect((await run(["cc", "-w", "-O1", source, assembly, "-no-pie", "-o", executable])).stderr).toBe("");
    const { status, stdout } = await run([executable]);
    expect(stdout.toString()).toBe("");
    expect(status).toBe(0);
  });
  test("counts of bits are zero above", async () => {
    const count = (width: number): string =>
      `declare i${width} @llvm.ctpop.i${width}(i${width})
define i32 @f${width}(i${width} %a) "target-features"="+popcnt" {
  %r = call i${width} @llvm.ctpop.i${width}(i${width} %a)
  %z = zext i${width} %r to i32
  ret i32 %z
}
`;
    writeFileSync(input, head + count(8) + count(16));
    expect((await tscLto([input, "-r", "-O2", "-o", assembly], { cwd: folder })).err).toBe("");
    expect(readFileSync(assembly, "utf8").match(/\t(?:movz|popcnt|and)\w*/g)).toEqual([
      "\tmovzbl",
      "\tpopcntl",
      "\tmovzwl",
      "\tpopcntl",
    ]);
  });
  test("intrinsics that the features do not allow are refused", async () => {
    writeFileSync(input, program.replaceAll("+bmi2,", ""));
    const { err } = await tscLto([input, "-r", "-O2", "-o", assembly], { cwd: folder });
    expect(err).toMatch(/bzhi.*without feature bmi2/);
  });
});
