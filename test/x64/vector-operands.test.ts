/** Operands of SSE instructions: loads where they commute, numbers in the low lane, and comparisons of a value with itself. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

interface Case {
  readonly name: string;
  /** Of the parameters %p, of the type, and %x, which is a double for doubles. */
  readonly body: string;
  readonly type: string;
  /** What the code has, and what it has not. */
  readonly has: RegExp;
  readonly not: RegExp;
  /** In C, of `*p` and `x`. */
  readonly expected: string;
}

const scalar = (name: string, type: "float" | "double", op: "fadd" | "fmul", first: boolean): Case => {
  const mnemonic = `${op === "fadd" ? "add" : "mul"}${type === "float" ? "ss" : "sd"}`;
  return {
    name,
    type,
    body: `%l = load ${type}, ptr %p
%m = fmul ${type} %x, ${type === "float" ? "3.0" : "5.0"}
%r = ${op} ${type} ${first ? "%l, %m" : "%m, %l"}
ret ${type} %r`,
    has: new RegExp(`${mnemonic}\\t\\(%rdi\\), %xmm0`),
    not: /movs[sd]\t\(%rdi\)/,
    expected: `*p ${op === "fadd" ? "+" : "*"} (x * ${type === "float" ? "3.0f" : "5.0"})`,
  };
};
/** Whether it is NaN, by a comparison with a number. */
const unordered = (name: string, type: "float" | "double", operands: string): Case => ({
  name,
  type,
  body: `%c = fcmp uno ${type} ${operands}
%r = select i1 %c, ${type} 1.0, ${type} %x
ret ${type} %r`,
  has: /ucomis[sd]\t%xmm0, %xmm0/,
  not: /xorps|ucomis[sd]\t[^%]/,
  expected: "x != x ? 1 : x",
});

const cases: readonly Case[] = [
  scalar("float_first", "float", "fadd", true),
  scalar("float_second", "float", "fmul", false),
  scalar("double_first", "double", "fmul", true),
  scalar("double_second", "double", "fadd", false),
  unordered("nan_zero", "double", "%x, 0.0"),
  unordered("nan_number", "float", "2.0, %x"),
  {
    name: "broadcast",
    type: "float",
    // The number lives on: it is read where it is.
    body: `%a = insertelement <4 x float> poison, float %x, i64 0
%b = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> zeroinitializer
%v = load <4 x float>, ptr %p, align 16
%m = fmul <4 x float> %v, %b
%e = extractelement <4 x float> %m, i64 0
%r = fadd float %e, %x
ret float %r`,
    has: /mulps\t\(%rdi\)/,
    not: /movaps\t%xmm0, %xmm(\d)\n\tpshufd\t\$\d+, %xmm\1, %xmm\1/,
    expected: "*p * x + x",
  },
  {
    name: "splat",
    type: "double",
    // The number dies: it becomes the vector.
    body: `%a = insertelement <2 x double> poison, double %x, i64 0
%b = shufflevector <2 x double> %a, <2 x double> poison, <2 x i32> zeroinitializer
%v = load <2 x double>, ptr %p, align 16
%m = fmul <2 x double> %v, %b
%e = extractelement <2 x double> %m, i64 0
%f = extractelement <2 x double> %m, i64 1
%r = fadd double %e, %f
ret double %r`,
    has: /unpcklpd\t%xmm0, %xmm0\n\tmulpd\t\(%rdi\), %xmm0/,
    not: /movaps\t%xmm0, %xmm(\d)\n\tunpcklpd/,
    expected: "*p * x + p[1] * x",
  },
  {
    name: "unaligned",
    type: "float",
    body: `%a = load <4 x float>, ptr %p, align 4
%b = fadd <4 x float> %a, %a
%l = load <4 x float>, ptr %p, align 4
%s = fmul <4 x float> %l, %b
%e = extractelement <4 x float> %s, i64 0
%r = fadd float %e, %x
ret float %r`,
    has: /movups/,
    not: /(?:mul|add)ps\t\(%rdi\)/,
    expected: "*p * (*p + *p) + x",
  },
];

test.each(["O2", "Oz"])("operands at -%s", async (level) => {
  const functions = cases.map(
    ({ name, type, body }) => `define ${type} @${name}(ptr %p, ${type} %x) {\n${body}\n}\n`,
  );
  writeFileSync(path("a.ll"), `target triple = "x86_64-unknown-linux-gnu"\n${functions.join("")}`);
  const options = ["-r", `-${level}`, "--no-outline", "--verify"];
  expect((await tscLto([path("a.ll"), ...options, "-o", path("a.s")], { cwd: folder })).err).toBe("");
  const text = readFileSync(path("a.s"), "latin1");
  for (const { name, has, not } of cases) {
    const code = text.slice(text.indexOf(`\n${name}:`), text.indexOf(`.size\t${name},`));
    expect(code, name).toMatch(has);
    expect(code, name).not.toMatch(not);
  }
  const checks = cases.map(
    ({
      name,
      type,
      expected,
    }) => `static ${type} expect_${name}(${type} *p, ${type} x) { return ${expected}; }
static void check_${name}(void) {
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 6; k++) {
      _Alignas(16) ${type} p[4] = { values[i], 1, 2, 3 }, x = values[k];
      ${type} have = ${name}(p, x), want = expect_${name}(p, x);
      if (have == have ? have != want : want == want) printf("${name} %g %g: %g\\n", (double)p[0], (double)x, (double)have);
    }
}
`,
  );
  writeFileSync(
    path("main.c"),
    `#include <stdio.h>
static const float values[] = { 0.0f, -1.5f, 3.25f, 1e30f, __builtin_nanf(""), __builtin_inff() };
${cases.map(({ name, type }) => `${type} ${name}(void *, ${type});`).join("\n")}
${checks.join("")}int main(void) {
  ${cases.map(({ name }) => `check_${name}();`).join("\n  ")}
}
`,
  );
  const built = await run(["cc", "-O1", "-no-pie", path("main.c"), path("a.s"), "-o", path("main")]);
  expect(built.stderr).toBe("");
  expect((await run([path("main")])).stdout.toString()).toBe("");
});

test.each(["O0", "O2", "Oz"])("what is compared with a NaN of x87 is unordered, at -%s", async (level) => {
  const nan = "0xK7FFFC000000000000000";
  writeFileSync(
    path("x87.ll"),
    `target triple = "x86_64-unknown-linux-gnu"
define i32 @nan(x86_fp80 %x) noinline optnone {
  %c = fcmp uno x86_fp80 %x, ${nan}
  %r = zext i1 %c to i32
  ret i32 %r
}
define i32 @number(x86_fp80 %x) noinline optnone {
  %c = fcmp uno x86_fp80 %x, 0xK3FFF8000000000000000
  %r = zext i1 %c to i32
  ret i32 %r
}
`,
  );
  const options = ["-r", `-${level}`, "--verify"];
  expect((await tscLto([path("x87.ll"), ...options, "-o", path("x87.s")], { cwd: folder })).err).toBe("");
  writeFileSync(
    path("x87.c"),
    `int nan(long double), number(long double);
int main(void) { return !(nan(1) == 1 && nan(__builtin_nanl("")) == 1 && number(2) == 0 && number(__builtin_nanl("")) == 1); }
`,
  );
  const built = await run(["cc", "-fno-builtin", "-no-pie", path("x87.c"), path("x87.s"), "-o", path("x87")]);
  expect(built.stderr).toBe("");
  expect((await run([path("x87")])).status).toBe(0);
});
