/** Values that make room for another one that gains more by their register than they do. */
import { expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

it("leaves a result where it is returned, though an index was there first", () => {
  const source = `target triple = "x86_64-unknown-linux-gnu"
define i64 @pick(ptr %p, i64 %k) {
  %i = and i64 %k, 15
  %j = add i64 %k, 3
  %m = and i64 %j, 15
  %q = getelementptr i64, ptr %p, i64 %m
  %r = getelementptr i64, ptr %p, i64 %i
  %a = load i64, ptr %q
  %b = load i64, ptr %r
  %c = add i64 %a, %b
  ret i64 %c
}`;
  const { assembly } = compile(link(source), { level: "Oz" });
  const body = assembly.slice(assembly.indexOf("\npick:"), assembly.indexOf(".size\tpick"));
  const lines = body.split("\n").filter((line) => /^\t[a-z]/.test(line));
  const [last, ret] = lines.slice(-2);
  expect(ret).toBe("\tret");
  expect(last).toMatch(/^\taddq\t\(%rdi,%r\w+,8\), %rax$/);
});
