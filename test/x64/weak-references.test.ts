/** Symbols that may stay undefined, with every visibility: programs that move are linked and see null. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

const dir = mkdtempSync(join(tmpdir(), "weak-"));
afterAll(() => rmSync(dir, { recursive: true }));

const text = `
@a = extern_weak hidden global i64
@b = extern_weak dso_local global i64
@c = extern_weak global i64
@table = global [2 x ptr] [ptr @a, ptr @f]
declare extern_weak hidden void @f()
define i32 @main() {
  %1 = icmp ne ptr @a, null
  %2 = icmp ne ptr @b, null
  %3 = icmp ne ptr @c, null
  %4 = icmp ne ptr @f, null
  br i1 %4, label %call, label %end
call:
  call void @f()
  br label %end
end:
  %t = load volatile ptr, ptr @table
  %5 = icmp ne ptr %t, null
  %6 = or i1 %1, %2
  %7 = or i1 %3, %4
  %8 = or i1 %6, %7
  %9 = or i1 %8, %5
  %r = zext i1 %9 to i32
  ret i32 %r
}`;

it.each([
  ["pie", "-pie"],
  ["pie", "-static-pie"],
  ["pic", "-pie"],
  ["static", "-no-pie"],
] as const)("code of model %s, linked with %s", (relocation, flag) => {
  const { assembly } = compile(link(text), { relocation });
  writeFileSync(join(dir, "a.s"), assembly);
  execFileSync("cc", [flag, join(dir, "a.s"), "-o", join(dir, "a")], { stdio: "pipe" });
  expect(() => execFileSync(join(dir, "a"))).not.toThrow();
  if (relocation !== "static") expect(assembly.match(/\b[abf]@GOTPCREL/g)).toHaveLength(3);
});
