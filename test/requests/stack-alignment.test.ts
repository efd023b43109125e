/** Stacks that are aligned to more than the ABI says: code outside of the program finds them so, whoever calls the program. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);

/** What `outside` returns is how far the stack is from being aligned. */
const text = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare i32 @outside(i64, i64, i64, i64, i64, i64, i64, i64)
@pointer = global ptr @outside
define i32 @plain() noinline ATTRIBUTES {
  %r = call i32 @outside(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8)
  ret i32 %r
}
define i32 @few(i64 %n) noinline ATTRIBUTES {
  %f = load volatile ptr, ptr @pointer
  %r = tail call i32 %f(i64 %n)
  ret i32 %r
}
define i32 @dynamic(i64 %n) noinline ATTRIBUTES {
  %a = alloca i8, i64 %n
  store volatile i8 1, ptr %a
  %f = load volatile ptr, ptr @pointer
  %r = call i32 %f(ptr %a, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7)
  ret i32 %r
}
define i32 @main() ATTRIBUTES {
  %a = call i32 @plain()
  %b = call i32 @few(i64 1)
  %c = call i32 @dynamic(i64 77)
  %d = or i32 %a, %b
  %e = or i32 %c, %d
  ret i32 %e
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"override-stack-alignment", i32 64}
`;
const native = `int outside(void);
__asm__(".globl outside\\noutside:\\n leaq 8(%rsp), %rax\\n andl $63, %eax\\n ret");
`;

it.each(["-O0", "-O2", "-Oz"])("calls find them so, %s", async (level) => {
  for (const attributes of ["", "minsize optsize"]) {
    writeFileSync(at("a.ll"), text.replaceAll("ATTRIBUTES", attributes));
    writeFileSync(at("native.c"), native);
    const options = [level, "--verify", "--check-regalloc", "--check-packing", "--check-ipra"];
    const made = await tscLto([at("a.ll"), ...options, "-o", at("a.s")], { cwd: folder });
    expect(made.err).toBe("");
    expect((await run(["cc", "-w", at("a.s"), at("native.c"), "-o", at("a")])).stderr).toBe("");
    expect((await run([at("a")])).status).toBe(0);
  }
});
