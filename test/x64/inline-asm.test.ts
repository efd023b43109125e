/** Inline assembly and the registers a frame is addressed by: what gives way, and what is refused. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { tscLto } from "../support/command.js";

const head =
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n' +
  'target triple = "x86_64-unknown-linux-gnu"\n';

const folder = mkdtempSync(join(tmpdir(), "inline-asm-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command on IR text: its output, or what it says. */
async function compile(ir: string): Promise<{ out: string; err: string }> {
  writeFileSync(join(folder, "a.ll"), head + ir);
  return tscLto(["--verify", "--check-regalloc", "-r", join(folder, "a.ll"), "-o", "-"], {
    cwd: folder,
    env: {},
  });
}

const clobber = (register: string) => `call void asm sideeffect "nop", "~{${register}}"()`;

describe("inline assembly that changes", () => {
  test("rbp: a frame pointer that is merely asked for is left out", async () => {
    const { out, err } = await compile(
      `define i32 @f(i32 %x) "frame-pointer"="all" {\n  ${clobber("rbp")}\n  ret i32 %x\n}\n`,
    );
    expect(err).toBe("");
    expect(out).toContain("pushq\t%rbp");
    expect(out).not.toContain("movq\t%rsp, %rbp");
  });

  test("rbp where the frame cannot do without it: refused", async () => {
    const { err } = await compile(
      `declare void @use(ptr)\ndefine void @f(i64 %n) {\n  %p = alloca i8, i64 %n\n` +
        `  ${clobber("ebp")}\n  call void @use(ptr %p)\n  ret void\n}\n`,
    );
    expect(err).toMatch(/unsupported: .*frame.*function 'f'/);
  });

  test("r15 next to a variable-size object and an over-aligned one: refused", async () => {
    const body = (aligned: number) =>
      `declare void @use(ptr, ptr)\ndefine void @f(i64 %n) {\n  %a = alloca i32, align ${aligned}\n` +
      `  %p = alloca i8, i64 %n\n  ${clobber("r15")}\n  call void @use(ptr %p, ptr %a)\n  ret void\n}\n`;
    expect((await compile(body(64))).err).toMatch(/unsupported: .*frame.*function 'f'/);
    expect((await compile(body(16))).err).toBe("");
  });
});

test("an output at any depth of the x87 stack: refused, as by clang", async () => {
  const { err } = await compile(
    `define double @f() {\n  %r = call double asm "fld1", "=f"()\n  ret double %r\n}\n`,
  );
  expect(err).toContain("unsupported: inline assembly constraint '=f' (in function 'f')");
});

test("operands stay out of clobbered registers", async () => {
  const clobbers = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"]
    .map((r) => `~{${r}}`)
    .join(",");
  const { out, err } = await compile(
    `define i64 @f(i64 %x, i64 %y, ptr %p) {\n` +
      `  %r = call i64 asm "# $0 $1 $2 $3", "=r,r,r,*m,${clobbers}"(i64 %x, i64 %y, ptr elementtype(i64) %p)\n` +
      `  ret i64 %r\n}\n`,
  );
  expect(err).toBe("");
  const line = out.split("\n").find((l) => l.includes("# %"))!;
  expect(line).not.toMatch(/%(rax|rcx|rdx|rsi|rdi|r8|r9|r10|r11)\b/);
});

test("syscall changes rcx and r11, whether a program says so or not", async () => {
  const call = (outputs: string, clobbers: string) =>
    `define internal i64 @ask(i64 %x, ptr %p) noinline {\n  %r = call i64 asm sideeffect "syscall", "=${outputs},0,{di}${clobbers},~{memory}"(i64 228, i64 %x)\n  ret i64 %r\n}\n` +
    `define i64 @f(i64 %x, i64 %y, i64 %z, ptr %p) {\n  %r = call i64 @ask(i64 %x, ptr %p)\n  %s = add i64 %r, %y\n  %t = add i64 %s, %z\n  store i64 %t, ptr %p\n  ret i64 %t\n}\n`;
  const unsaid = await compile(call("{ax}", ""));
  const said = await compile(call("{ax}", ",~{rcx},~{r11}"));
  expect(unsaid.err).toBe("");
  expect(unsaid.out).toBe(said.out);
  // Where it is the result, its being changed is said.
  expect((await compile(call("{cx}", ",~{rax}"))).err).toBe("");
});

test("a number that a constraint does not take is in a register", async () => {
  const and = (constraint: string, type: string, value: string) =>
    `  call void asm sideeffect "and $1, $0", "=*m,${constraint}"(ptr elementtype(${type}) %p, ${type} ${value})\n`;
  const cases = [
    ["er", "i64", "-256", "$-256"],
    ["er", "i64", "4294967295", "%r"],
    ["er", "i64", "-2147483649", "%r"],
    ["Zr", "i64", "4294967295", "$4294967295"],
    ["Zr", "i64", "-1", "%r"],
    ["ri", "i64", "4294967296", "$4294967296"],
    ["Kr", "i32", "-128", "$-128"],
    ["Kr", "i32", "200", "%"],
    ["Ir", "i32", "31", "$31"],
    ["Ir", "i32", "32", "%"],
    ["Nr", "i32", "256", "%"],
    ["Lr", "i32", "65535", "$65535"],
    ["Lr", "i32", "65534", "%"],
  ] as const;
  const { out, err } = await compile(
    `define void @f(ptr %p) {\n${cases.map(([code, type, value]) => and(code, type, value)).join("")}  ret void\n}\n`,
  );
  expect(err).toBe("");
  const operands = [...out.matchAll(/\tand (\S+), /g)].map(([, operand]) => operand!);
  expect(operands.length).toBe(cases.length);
  for (const [i, [code, , value, expected]] of cases.entries())
    expect([code, value, operands[i]!.startsWith(expected)]).toEqual([code, value, true]);
  const refused = await compile(
    `define void @f() {\n  call void asm sideeffect "int $0", "N"(i32 256)\n  ret void\n}\n`,
  );
  expect(refused.err).toMatch(/inline assembly constraint 'N' for this operand/);
});
