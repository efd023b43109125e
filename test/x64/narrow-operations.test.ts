/**
 * Operations of 8 and 16 bits with an operand in memory: done there, in as many bits, not after a load that extends it; and results
 * that are zero above without another extension.
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

const operators = { add: "+", sub: "-", and: "&", or: "|", xor: "^", mul: "*" } as const;
type Operation = keyof typeof operators;
/** A register with memory, memory with a register, or both in memory. */
const shapes = ["register", "memory", "both"] as const;
const extensions = ["zext", "sext"] as const;

interface Case {
  readonly name: string;
  readonly bits: 8 | 16;
  readonly operation: Operation;
  readonly shape: (typeof shapes)[number];
  readonly extension: (typeof extensions)[number];
}
const cases: Case[] = ([8, 16] as const).flatMap((bits) =>
  (Object.keys(operators) as Operation[]).flatMap((operation) =>
    shapes.flatMap((shape) =>
      extensions.map((extension) => ({
        name: `${operation}${bits}_${shape}_${extension}`,
        bits,
        operation,
        shape,
        extension,
      })),
    ),
  ),
);

/** The second parameter is a pointer in bits where both are in memory. */
function define({ name, bits, operation, shape, extension }: Case, level: string): string {
  const first =
    shape === "both"
      ? `%q = inttoptr i64 %x to ptr\n%a = load i${bits}, ptr %q`
      : `%a = trunc i64 %x to i${bits}`;
  const operands = shape === "memory" ? "%b, %a" : "%a, %b";
  return `define i32 @${name}_${level}(ptr %p, i64 %x) {
${first}
%b = load i${bits}, ptr %p
%n = ${operation} i${bits} ${operands}
%r = ${extension} i${bits} %n to i32
ret i32 %r
}
`;
}

const harness = (level: string): string => `#include <stdio.h>
static unsigned long state = 88172645463325252ul;
static unsigned long next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
${cases
  .map(({ name, bits, operation, shape, extension }) => {
    const type = `${extension === "zext" ? "unsigned" : "signed"} ${bits === 8 ? "char" : "short"}`;
    const operator = operators[operation];
    const value = shape === "memory" ? `b ${operator} (unsigned)a` : `(unsigned)a ${operator} b`;
    return `unsigned ${name}_${level}(void *, unsigned long);
static void check_${name}(void) {
  for (int i = 0; i < 50; i++) {
    unsigned long a = next(), b = next();
    unsigned r = ${name}_${level}(&b, ${shape === "both" ? "(unsigned long)&a" : "a"}), e = (${type})(${value});
    if (r != e) { puts("${name}"); break; }
  }
}`;
  })
  .join("\n")}
int main(void) {
${cases.map(({ name }) => `  check_${name}();`).join("\n")}
}
`;

/** Instructions with the one that returns, for speed. Zeros above loads stay zeros above what is made of them bitwise. */
function most({ operation, shape, extension }: Case): number {
  if (operation === "mul") return 5;
  if (shape !== "both") return operation === "sub" && shape === "memory" ? 4 : 3;
  return extension === "zext" && ["and", "or", "xor"].includes(operation) ? 3 : 4;
}

test.each(["O2", "Oz"])("operands in memory at -%s", async (level) => {
  writeFileSync(path("a.ll"), head + cases.map((c) => define(c, level)).join(""));
  const options = ["-r", `-${level}`, "--no-outline", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  const assembly = readFileSync(path("a.s"), "utf8");
  const long = cases.flatMap((c) => {
    const body = new RegExp(`^${c.name}_${level}:\\n([\\s\\S]*?)\\n\\t\\.size`, "m").exec(assembly)![1]!;
    const count = body.split("\n").filter((line) => /^\t[a-z]/.test(line)).length;
    return count > most(c) ? [`${c.name}: ${count}`] : [];
  });
  if (level === "O2") expect(long).toEqual([]);
  writeFileSync(path("h.c"), harness(level));
  const command = ["cc", "-w", "-O1", path("h.c"), path("a.s"), "-no-pie", "-o", path("h")];
  expect((await run(command)).stderr).toBe("");
  expect((await run([path("h")])).stdout.toString()).toBe("");
});
