/** Calls before a return that several paths share are jumps: recursion runs in constant space. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { compile, link } from "./compile.js";

const dir = mkdtempSync(join(tmpdir(), "tail-calls-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** `@even` and `@odd` call `next` each, from one of two paths to one return. */
const recursive = (even: string, odd: string, attributes = "", mark = "tail "): string => {
  const half = (name: string, next: string, last: number): string => `
define internal i32 @${name}(i64 %n) noinline ${attributes} {
  %c = icmp eq i64 %n, 0
  br i1 %c, label %end, label %more
more:
  %m = sub i64 %n, 1
  %x = ${mark}call i32 @${next}(i64 %m)
  br label %end
end:
  %r = phi i32 [ ${last}, %0 ], [ %x, %more ]
  ret i32 %r
}`;
  return `${half("even", even, 0)}${half("odd", odd, 1)}
@count = global i64 30000000
define i32 @main() {
  %n = load volatile i64, ptr @count
  %r = call i32 @even(i64 %n)
  ret i32 %r
}`;
};
const callsOf = (assembly: string, name: string): number =>
  [...assembly.matchAll(new RegExp(`\\tcall\\t${name}\\n`, "g"))].length;

describe("recursion over a shared return", () => {
  const runs = (text: string, level: "O2" | "Oz"): void => {
    const { assembly } = compile(link(text), { level });
    writeFileSync(join(dir, "a.s"), assembly);
    execFileSync("cc", [join(dir, "a.s"), "-o", join(dir, "a")]);
    expect(() => execFileSync(join(dir, "a"))).not.toThrow();
  };
  it("of two functions", () => runs(recursive("odd", "even"), "O2"));
  it("of one function", () => runs(recursive("even", "odd"), "O2"));
  it("of one function, for size", () => runs(recursive("even", "odd"), "Oz"));
});

it("what must stay a call does", () => {
  const { assembly } = compile(link(recursive("odd", "even")), { level: "O2" });
  expect(callsOf(assembly, "odd")).toBe(0);
  const marked = compile(link(recursive("odd", "even", "", "")), { level: "O2" });
  expect(callsOf(marked.assembly, "odd")).toBe(1);
  const disabled = compile(link(recursive("odd", "even", '"disable-tail-calls"="true"')), { level: "O2" });
  expect(callsOf(disabled.assembly, "odd")).toBe(1);
});
