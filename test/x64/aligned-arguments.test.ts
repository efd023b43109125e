/** Arguments in memory that are aligned to more than the stack: run, with what the callee finds. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

const dir = mkdtempSync(join(tmpdir(), "aligned-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Calls `@low`, which returns the low bits of its argument's address, from a frame with `slots` and this count of calls before. */
const program = (align: number, slots: string): string => `
%s = type { [${align} x i8] }
declare i32 @rand()
define i64 @low(i64 %a, ptr byval(%s) align ${align} %p) noinline {
  %i = ptrtoint ptr %p to i64
  %r = and i64 %i, ${align - 1}
  %w = load volatile i8, ptr %p
  %x = zext i8 %w to i64
  %y = sub i64 %x, %a
  %z = or i64 %r, %y
  ret i64 %z
}
define i64 @call(ptr %p, i64 %n) noinline {
  ${slots}
  %q = call i32 @rand()
  %b = load i8, ptr %p
  %a = zext i8 %b to i64
  %r = call i64 @low(i64 %a, ptr byval(%s) align ${align} %p)
  %t = call i64 @low(i64 %a, ptr byval(%s) align ${align} %p)
  %u = or i64 %r, %t
  %v = xor i64 %n, 3
  %w = add i64 %u, %v
  ret i64 %w
}
define i32 @main() {
  %m = alloca %s
  store i8 77, ptr %m
  %r = call i64 @call(ptr %m, i64 3)
  %e = icmp ne i64 %r, 0
  %x = zext i1 %e to i32
  ret i32 %x
}`;

const frames: Record<string, string> = {
  "no slots": "",
  "a slot of 8 bytes": "%k = alloca i64\n  store volatile i64 %n, ptr %k",
  "a slot of the same alignment": "%k = alloca i64, align 64\n  store volatile i64 %n, ptr %k",
  "a slot of a size that is not known": "%k = alloca i8, i64 %n\n  store volatile i8 1, ptr %k",
};
it.each([16, 32, 64].flatMap((align) => Object.keys(frames).map((frame) => [align, frame] as const)))(
  "aligned to %d, %s",
  (align, frame) => {
    for (const level of ["O0", "O2", "Oz"] as const) {
      const { assembly } = compile(link(program(align, frames[frame]!)), { level });
      writeFileSync(join(dir, "a.s"), assembly);
      execFileSync("cc", [join(dir, "a.s"), "-o", join(dir, "a")]);
      expect(() => execFileSync(join(dir, "a")), level).not.toThrow();
    }
  },
);
