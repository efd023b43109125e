/**
 * Divisions by constants, natively, beside the processor's own: by divisors of every kind, of dividends where a wrong reciprocal
 * shows. Results are narrow, extended, or quotient and rest at once; dividends are of any bits, of known ones, or multiples.
 */
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

/** How the division's result leaves the function. */
const kinds = ["narrow", "extended", "both", "exact", "cut", "multiple", "other"] as const;
type Kind = (typeof kinds)[number];

interface Division {
  readonly bits: number;
  readonly isSigned: boolean;
  readonly divisor: bigint;
  readonly kind: Kind;
  /** Bits of the dividend that are not known to be zero. */
  readonly known: number;
}

const some = [3n, 5n, 6n, 7n, 9n, 10n, 11n, 12n, 14n, 25n, 28n, 60n, 100n, 125n, 641n, 1000n, 10000n];
const large = [1000003n, 1000000007n, 6700417n, 0x7fffffffn, 0x80000001n, 274177n * 2n, 67280421310721n];

function divisorsOf(bits: number): bigint[] {
  const top = 1n << BigInt(bits - 1);
  const near: bigint[] = [];
  for (let i = 1; i < bits; i += bits > 16 ? 5 : 2)
    near.push((1n << BigInt(i)) - 1n, 1n << BigInt(i), (1n << BigInt(i)) + 1n);
  const all = new Set([...some, ...large, ...near, 2n, 4n, 16n, top - 1n, top - 2n]);
  return [...all].filter((d) => d > 1n && d < top);
}

function divisions(): Division[] {
  const found: Division[] = [];
  for (const bits of [8, 16, 32, 64])
    for (const d of divisorsOf(bits)) {
      for (const kind of kinds)
        for (const divisor of [d, -d]) found.push({ bits, isSigned: true, divisor, kind, known: bits });
      for (const kind of kinds) found.push({ bits, isSigned: false, divisor: d, kind, known: bits });
      for (const known of [bits - 1, bits - 5, bits >> 1, (bits >> 1) + 3])
        found.push({ bits, isSigned: false, divisor: d, kind: "both", known });
    }
  return found;
}

/** What the rest of the last kind is compared with, for inequality. */
const restOf = ({ isSigned, divisor }: Pick<Division, "isSigned" | "divisor">): bigint =>
  isSigned ? 0n : (divisor * 5n) / 7n;

function define({ bits, isSigned, divisor, kind, known }: Division, i: number): string {
  const type = `i${bits}`;
  const sign = isSigned ? "s" : "u";
  const ext = bits === 64 ? "add i64 0," : `${isSigned ? "sext" : "zext"} ${type}`;
  const to = bits === 64 ? "" : " to i64";
  const mask =
    known === bits ? "" : `%m = and ${type} %x, ${BigInt.asIntN(bits, (1n << BigInt(known)) - 1n)}\n`;
  const x = known === bits ? "%x" : "%m";
  const lines = [`define void @f${i}(ptr %p, ptr %to, ptr %rest) {\n%x = load ${type}, ptr %p\n${mask}`];
  if (kind === "multiple" || kind === "other") {
    const rest = kind === "other" ? restOf({ isSigned, divisor }) : 0n;
    lines.push(
      `%r = ${sign}rem ${type} ${x}, ${divisor}\n%c = icmp ${kind === "other" ? "ne" : "eq"} ${type} %r, ${rest}\n`,
    );
    lines.push("%w = zext i1 %c to i64\nstore i64 %w, ptr %to\nret void\n}\n");
    return lines.join("");
  }
  const isExact = kind === "exact" || kind === "cut";
  const exact = isExact ? " exact" : "";
  lines.push(`%q = ${sign}div${exact} ${type} ${x}, ${divisor}\n`);
  if (!isExact) lines.push(`%r = ${sign}rem ${type} ${x}, ${divisor}\n`);
  else lines.push(`%r = add ${type} 0, 0\n`);
  if (kind === "narrow") lines.push(`%n = xor ${type} %q, 1\n%w = ${ext} %n${to}\n`);
  else if (kind === "cut" && bits === 64) lines.push("%c = trunc i64 %q to i32\n%w = zext i32 %c to i64\n");
  else lines.push(`%w = ${ext} %q${to}\n`);
  lines.push("store i64 %w, ptr %to\n");
  if (kind === "narrow") lines.push("ret void\n}\n");
  else lines.push(`%v = ${ext} %r${to}\nstore i64 %v, ptr %rest\nret void\n}\n`);
  return lines.join("");
}

/** Rows of the table, and a program that tries each. */
const harness = (all: readonly Division[]): string => `#include <stdio.h>
typedef unsigned long u;
struct division { void (*f)(void *, long *, long *); int bits, isSigned, kind, known; long divisor, compared; };
${all.map((_, i) => `void f${i}(void *, long *, long *);`).join("")}
static const struct division all[] = {
${all
  .map((d, i) => {
    const kind = kinds.indexOf(d.kind);
    return `{f${i},${d.bits},${Number(d.isSigned)},${kind},${d.known},${d.divisor}l,${restOf(d)}l}`;
  })
  .join(",\n")}};
static u state = 88172645463325252ul;
static u next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
static int wrong;
static long extend(u n, const struct division *d) {
  int spare = 64 - d->bits;
  return d->isSigned ? (long)(n << spare) >> spare : (long)(n << spare >> spare);
}
static void check(const struct division *d, u given) {
  long n = extend(given, d), divisor = d->divisor, to = 0, rest = 0, q, r;
  if (d->known < d->bits) n &= (1l << d->known) - 1;
  if (d->kind == 3 || d->kind == 4) n -= d->isSigned ? n % divisor : (long)((u)n % (u)divisor);
  q = d->isSigned ? n / divisor : (long)((u)n / (u)divisor);
  r = d->isSigned ? n % divisor : (long)((u)n % (u)divisor);
  if (d->kind == 0) q = extend((u)q ^ 1, d), r = 0;
  if (d->kind == 5) q = r == 0, r = 0;
  if (d->kind == 6) q = r != d->compared, r = 0;
  if (d->kind == 4 && d->bits == 64) q = (unsigned)q;
  long in = d->known < d->bits ? n | (given & (u)-1 << d->known) : n;
  d->f(&in, &to, &rest);
  if ((to != q || rest != r) && wrong++ < 20)
    printf("%d bits, signed %d, kind %d, known %d: %ld by %ld: %ld %ld, not %ld %ld\\n", d->bits, d->isSigned, d->kind, d->known, n, divisor, to, rest, q, r);
}
int main(void) {
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    const struct division *d = all + i;
    u top = 1ul << (d->bits - 1), divisor = d->divisor;
    u ends[] = {0, 1, -1ul, top, top - 1, top + 1, divisor, -divisor};
    for (int k = 0; k < 8; k++) check(d, ends[k]);
    u full = d->bits == 64 ? -1ul : (top << 1) - 1, magnitude = d->divisor < 0 ? -divisor : divisor;
    u bases[] = {full / magnitude * magnitude, top / magnitude * magnitude, (top - 1) / magnitude * magnitude, 0};
    for (int k = 0; k < 4; k++)
      for (u m = 0; m < 4; m++)
        for (int e = -1; e <= 1; e++) check(d, bases[k] - m * magnitude + e), check(d, -(bases[k] - m * magnitude) + e);
    for (int k = 0; k < 40; k++) {
      u n = next() >> (next() & 63);
      check(d, n), check(d, n * divisor), check(d, n * divisor - 1), check(d, -n);
      check(d, n / magnitude * magnitude + d->compared), check(d, n * magnitude + d->compared);
    }
  }
  return wrong != 0;
}
`;

test("divisions by constants for speed", async () => {
  const all = divisions();
  writeFileSync(path("a.ll"), head + all.map(define).join(""));
  const options = ["-r", "-O2", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  expect(readFileSync(path("a.s"), "utf8")).not.toMatch(/\t(?:idiv|div)/);
  writeFileSync(path("h.c"), harness(all));
  const command = ["cc", "-w", "-O1", path("h.c"), path("a.s"), "-no-pie", "-o", path("h")];
  expect((await run(command)).stderr).toBe("");
  expect((await run([path("h")])).stdout.toString()).toBe("");
});

/** Instructions of each, with the one that returns. */
const lengths: readonly {
  readonly name: string;
  readonly body: string;
  readonly count: number;
  readonly parameters?: string;
}[] = [
  { name: "product", body: "%r = sdiv i64 %x, 1000", count: 7 },
  { name: "negative", body: "%r = sdiv i64 %x, -1000", count: 7 },
  { name: "added", body: "%r = sdiv i64 %x, 60", count: 7 },
  { name: "rest", body: "%r = srem i64 %x, 1000", count: 10 },
  { name: "word", body: "%y = trunc i64 %x to i32\n%q = sdiv i32 %y, 10\n%r = sext i32 %q to i64", count: 6 },
  {
    name: "unsigned",
    body: "%y = trunc i64 %x to i32\n%q = udiv i32 %y, 7\n%r = zext i32 %q to i64",
    count: 5,
  },
  { name: "upper", body: "%y = lshr i64 %x, 34\n%r = udiv i64 %y, 1000003", count: 4 },
  { name: "power", body: "%r = sdiv i64 %x, 8", count: 5 },
  { name: "half", body: "%r = sdiv i64 %x, 2", count: 5 },
  { name: "exact", body: "%r = sdiv exact i64 %x, 24", count: 5 },
  {
    name: "cut",
    body: "%q = sdiv exact i64 %x, 24\n%c = trunc i64 %q to i32\n%r = zext i32 %c to i64",
    count: 3,
  },
  { name: "multiple", body: "%q = srem i64 %x, 6\n%c = icmp eq i64 %q, 0\n%r = zext i1 %c to i64", count: 9 },
  { name: "other", body: "%q = urem i64 %x, 7\n%c = icmp ne i64 %q, 3\n%r = zext i1 %c to i64", count: 8 },
  {
    name: "twice",
    body: "%q = urem i64 %x, 7\n%c = icmp ne i64 %q, 3\n%d = icmp ne i64 %q, 4\n%b = and i1 %c, %d\n%r = zext i1 %b to i64",
    count: 16,
  },
  { name: "any", body: "%r = udiv i64 %x, 7", count: 8 },
  { name: "declared", body: "%r = udiv i64 %x, 7", count: 3, parameters: "i64 range(i64 0, 99) %x" },
  {
    // The second word is not the second parameter.
    name: "passed",
    body: "%h = lshr i128 %a, 64\n%x = trunc i128 %h to i64\n%r = udiv i64 %x, 7",
    count: 8,
    parameters: "i128 %a, i64 range(i64 0, 99) %b",
  },
];

test("divisions by constants take few instructions", async () => {
  const text = lengths.map(
    ({ name, body, parameters }) =>
      `define i64 @${name}(${parameters ?? "i64 %x"}) {\n${body}\nret i64 %r\n}\n`,
  );
  writeFileSync(path("b.ll"), head + text.join(""));
  expect((await tscLto([path("b.ll"), "-r", "-O2", "-o", path("b.s")], { cwd: folder })).err).toBe("");
  const assembly = readFileSync(path("b.s"), "utf8");
  const counts = lengths.map(({ name }) => {
    const body = new RegExp(`^${name}:\\n([\\s\\S]*?)\\n\\t\\.size`, "m").exec(assembly)![1]!;
    return [name, body.split("\n").filter((line) => /^\t[a-z]/.test(line)).length];
  });
  expect(counts).toEqual(lengths.map(({ name, count }) => [name, count]));
});
