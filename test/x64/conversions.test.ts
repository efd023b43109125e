/** Conversions of scalars: what they wait for, and numbers that are known not to be negative. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = join(folder, "a.ll");
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;

/** Instructions of a function's body. */
async function code(body: string, signature: string, level = "O2", attributes = ""): Promise<string[]> {
  writeFileSync(
    path,
    `${head}declare double @llvm.sqrt.f64(double)\ndefine ${signature} ${attributes} {\n${body}\n}\n`,
  );
  const out = join(folder, "a.s");
  expect((await tscLto([path, "-r", `-${level}`, "--verify", "-o", out], { cwd: folder })).err).toBe("");
  return [...readFileSync(out, "utf8").matchAll(/^\t([a-z]\w*)(?:\t(.*))?$/gm)].map(([, op, operands]) =>
    operands === undefined ? op! : `${op} ${operands}`,
  );
}

describe("the result's other lanes", () => {
  const ofInteger = ["%r = sitofp i32 %n to double\nret double %r", "double @f(double %x, i32 %n)"] as const;
  test("are zeroed where speed counts", async () => {
    expect(await code(...ofInteger)).toEqual(
      ["xorps %xmm0, %xmm0", "cvtsi2sd %edi, %xmm0", "ret"].map((line) =>
        line.replace("cvtsi2sd", "cvtsi2sdl"),
      ),
    );
    expect(
      await code(
        "%v = load float, ptr %p\n%r = fpext float %v to double\nret double %r",
        "double @f(ptr %p)",
      ),
    ).toEqual(["xorps %xmm0, %xmm0", "cvtss2sd (%rdi), %xmm0", "ret"]);
    expect(
      await code(
        "%r = call double @llvm.sqrt.f64(double %y)\nret double %r",
        "double @f(double %x, double %y)",
      ),
    ).toEqual(["xorps %xmm0, %xmm0", "sqrtsd %xmm1, %xmm0", "ret"]);
  });
  test("wait for the source alone where that is the same register", async () => {
    expect(await code("%r = fptrunc double %x to float\nret float %r", "float @f(double %x)")).toEqual([
      "cvtsd2ss %xmm0, %xmm0",
      "ret",
    ]);
  });
  test.each(["O0", "Os", "Oz"])("are left alone at -%s", async (level) => {
    expect((await code(...ofInteger, level)).filter((line) => line.startsWith("xor"))).toEqual([]);
  });
  test("with AVX they are an operand", async () => {
    const lines = await code(...ofInteger, "O2", '"target-features"="+avx"');
    expect(lines.length).toBe(2);
    expect(lines[0]).toMatch(/^vcvtsi2sdl %edi, %xmm\d+, %xmm0$/);
  });
});

describe("numbers that are not negative", () => {
  test.each([
    ["i32", "double", ["cvtsi2sdl %edi, %xmm0"]],
    ["i64", "double", ["cvtsi2sdq %rdi, %xmm0"]],
    ["i64", "float", ["cvtsi2ssq %rdi, %xmm0"]],
  ])("%s to %s", async (from, to, lines) => {
    const body = (flag: string): string => `%r = uitofp ${flag}${from} %n to ${to}\nret ${to} %r`;
    expect(await code(body("nneg "), `${to} @f(${from} %n)`, "Oz")).toEqual([...lines, "ret"]);
    expect(await code(body(""), `${to} @f(${from} %n)`, "Oz")).not.toEqual([...lines, "ret"]);
  });
  test("to long double", async () => {
    const lines = await code(
      "%r = uitofp nneg i64 %n to x86_fp80\nret x86_fp80 %r",
      "x86_fp80 @f(i64 %n)",
      "Oz",
    );
    expect(lines.some((line) => line.startsWith("fadd"))).toBe(false);
  });
});
