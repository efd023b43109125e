/** Operations of eight bytes of which the low half alone is read: which become operations of four, and what they compute. */
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/command.js";
import { bodyOf, type WordFunction, WordProgram } from "./word-functions.js";

/** Functions of two words, and what tells whether they were narrowed. */
const cases: Record<string, WordFunction & { readonly has?: RegExp; readonly not?: RegExp }> = {
  masked: { body: "%s = add i64 %a, 3\n %r = and i64 %s, 15\n ret i64 %r", not: /addq|andq/ },
  truncated: {
    body: `%p = mul i64 %a, %b
  %q = sub i64 %p, %a
  %x = shl i64 %q, 7
  %t = trunc i64 %x to i32
  %r = zext i32 %t to i64
  ret i64 %r`,
    not: /imulq|subq|shlq/,
  },
  signed: {
    // The extension is of no use to who reads the low half.
    body: `%n = trunc i64 %a to i32
  %w = sext i32 %n to i64
  %s = add i64 %w, %b
  %r = and i64 %s, 65535
  ret i64 %r`,
    not: /movslq|cltq/,
  },
  whole: { body: "%s = add i64 %a, %b\n %r = xor i64 %s, %a\n ret i64 %r", has: /xorq/ },
  shifted: {
    body: "%s = add i64 %a, %b\n %h = lshr i64 %s, 40\n %r = and i64 %h, 255\n ret i64 %r",
    has: /addq|leaq/,
  },
  far: { body: "%s = shl i64 %a, 33\n %t = add i64 %s, %b\n %r = and i64 %t, 1023\n ret i64 %r" },
  negative: { body: "%s = add i64 %a, %b\n %r = and i64 %s, -16\n ret i64 %r", has: /andq/ },
  constant: {
    body: `%s = add i64 %a, 81985529216486895
  %t = mul i64 %s, 1311768467463790320
  %r = and i64 %t, 2147483647
  ret i64 %r`,
    not: /movabs/,
  },
  flags: {
    // The flags are those of eight bytes.
    body: `%o = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %a, i64 %b)
  %s = extractvalue { i64, i1 } %o, 0
  %c = extractvalue { i64, i1 } %o, 1
  %l = and i64 %s, 255
  %r = select i1 %c, i64 77, i64 %l
  ret i64 %r`,
    has: /addq/,
  },
  zero: {
    body: `%s = sub i64 %a, %b
  %c = icmp eq i64 %s, 0
  %l = and i64 %s, 255
  %r = select i1 %c, i64 77, i64 %l
  ret i64 %r`,
    has: /subq|cmpq/,
  },
  chosen: {
    body: `%c = icmp ult i64 %a, %b
  %s = select i1 %c, i64 %a, i64 %b
  %t = add i64 %s, 5
  %r = and i64 %t, 4095
  ret i64 %r`,
    has: /cmpq/,
  },
  index: {
    // An address is read whole, what its access leaves is not.
    body: `%i = and i64 %a, 7
  %p = getelementptr i64, ptr @table, i64 %i
  %v = load i64, ptr %p
  %s = add i64 %v, %b
  %r = and i64 %s, 255
  ret i64 %r`,
  },
  assembly: {
    // An address in assembly is read whole, as any other.
    body: `%i = and i64 %a, 7
  %j = sub i64 %i, 8
  %k = mul i64 %j, 12
  %q = getelementptr i8, ptr getelementptr (i8, ptr @words, i64 96), i64 %k
  call void asm sideeffect "incl $0", "=*m,*m,~{flags}"(ptr elementtype(i32) %q, ptr elementtype(i32) %q)
  %v = load i32, ptr @words
  %r = zext i32 %v to i64
  ret i64 %r`,
    not: /imull|leal/,
  },
  loop: {
    body: ` br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %j, %head ]
  %x = phi i64 [ %a, %0 ], [ %y, %head ]
  %z = phi i64 [ %b, %0 ], [ %x, %head ]
  %m = mul i64 %x, 1103515245
  %y = add i64 %m, %z
  %j = add i64 %i, 1
  %d = icmp eq i64 %j, 9
  br i1 %d, label %out, label %head
out:
  %r = and i64 %y, 65535
  ret i64 %r`,
    not: /imulq/,
  },
  spilled: {
    body: `%s = add i64 %a, %b
  %t = mul i64 %a, %b
  call void asm sideeffect "", "~{rax},~{rbx},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14},~{r15},~{rbp}"()
  %u = xor i64 %s, %t
  %l = and i64 %u, 65535
  %r = add i64 %l, %t
  ret i64 %r`,
  },
};

const values = ["0", "1", "-1", "4294967295", "4294967296", "-4294967297", "81985529216486895", "-16"];
const declarations = `
@table = internal global [8 x i64] [i64 1, i64 -1, i64 4294967297, i64 -4294967296, i64 3, i64 5, i64 7, i64 -9]
@words = internal global [64 x i32] zeroinitializer
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)`;
const program = new WordProgram(temporaryFolder(), cases, values, declarations);

describe("the low half", () => {
  test("is what it was", async () => {
    const plain = await program.output("O0");
    expect(plain.split("\n").length).toBe(program.lines + 1);
    for (const level of ["O2", "Oz"] as const) expect(await program.output(level), level).toBe(plain);
  });

  test("is made in four bytes where it is all that is read", () => {
    const assembly = program.assembly("O2");
    for (const [name, { has, not }] of Object.entries(cases)) {
      const body = bodyOf(assembly, name);
      expect(body.length, name).toBeGreaterThan(0);
      if (has !== undefined) expect(body, name).toMatch(has);
      if (not !== undefined) expect(body, name).not.toMatch(not);
    }
  });
});
