/** Loops that jump back to a condition at their start: for size, too, the condition stands at the end. */

import { expect, test } from "vitest";
import { compile, link } from "../ipra/compile.js";

/** The mnemonics of `@f`, labels as ":" and jumps with an arrow for where they lead. */
function shape(body: string): string[] {
  const text = `declare void @g(i64)
define i64 @f(ptr %p, i64 %n) nounwind minsize optsize {
${body}
}
@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"
`;
  const { assembly } = compile(link(text));
  const start = assembly.indexOf("\nf:");
  const lines = assembly.slice(start, assembly.indexOf(".size\tf,", start)).split("\n");
  const at = (label: string): number => lines.indexOf(`${label}:`);
  return lines.flatMap((line, i) => {
    if (/^\.L\w+:$/.test(line)) return [":"];
    const [, op, operand] = /^\t([a-z]\w*)\t?(\S*)/.exec(line) ?? [];
    if (op === undefined) return [];
    if (!op.startsWith("j") || !operand!.startsWith(".L")) return [op];
    return [`${op} ${at(operand!) < i ? "back" : "on"}`];
  });
}

test("a loop that tests before each round jumps to the test, and branches back from it", () => {
  const code = shape(`entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  %c = icmp ugt i64 %v, %n
  br i1 %c, label %body, label %out
body:
  %w = mul i64 %v, %v
  store i64 %w, ptr %q
  %next = add i64 %i, 1
  br label %head
out:
  ret i64 %i`);
  const back = code.findIndex((line) => line.endsWith("back"));
  expect(code.filter((line) => line.startsWith("j"))).toHaveLength(2);
  expect(code.find((line) => line.startsWith("j"))).toBe("jmp on");
  expect(code[back]).toMatch(/^j[a-z]+ back$/);
  expect(code[back]).not.toBe("jmp back");
});

test("a test at the end stays where it is", () => {
  const code = shape(`entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %q = getelementptr i64, ptr %p, i64 %i
  %v = load i64, ptr %q
  %w = mul i64 %v, %v
  store i64 %w, ptr %q
  %next = add i64 %i, 1
  %c = icmp ugt i64 %v, %n
  br i1 %c, label %body, label %out
out:
  ret i64 %n`);
  expect(code.filter((line) => line.startsWith("j"))).toEqual([expect.stringMatching(/^j[^m]\w* back$/)]);
});
