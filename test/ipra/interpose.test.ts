/**
 * A shared library whose functions another library replaces at load time: its callers must not rely on what its own
 * definition leaves unchanged. The replacement changes every register the convention allows.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tscLto } from "../support/command.js";

const dir = mkdtempSync(join(tmpdir(), "ipra-interpose-"));
afterAll(() => rmSync(dir, { recursive: true }));
const file = (name: string, text = ""): string => {
  const path = join(dir, name);
  if (text !== "") writeFileSync(path, text);
  return path;
};

const library = (linkage: string): string => `
define ${linkage} i64 @hook(i64 %x) noinline {
  %r = add i64 %x, 1
  ret i64 %r
}
define i64 @work(i64 %a, i64 %b) {
  %r = call i64 @hook(i64 %a)
  %s = mul i64 %r, 1000
  %t = mul i64 %a, 10
  %u = add i64 %s, %t
  %v = add i64 %u, %b
  ret i64 %v
}
`;
const program =
  '#include <stdio.h>\nlong work(long, long);\nint main(void) { printf("%ld\\n", work(2, 3)); }\n';
const other = `	.globl	hook
	.type	hook,@function
hook:
	leaq	2(%rdi), %rax
${["rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"].map((r) => `\tmovq\t$-1, %${r}\n`).join("")}	ret
	.size	hook, .-hook
	.section	.note.GNU-stack,"",@progbits
`;

async function compile(text: string, ...options: string[]): Promise<string> {
  const out = file("library.s");
  const args = ["--shared", "--check-ipra", file("library.ll", text), "-o", out, ...options];
  expect(await tscLto(args, { cwd: dir })).toEqual({ code: 0, out: "", err: "" });
  return out;
}

describe("interposition", () => {
  for (const linkage of ["", "weak", "linkonce_odr"])
    for (const options of [[], ["--no-ipra"]])
      it(`of a definition that is ${linkage || "external"}, ${options[0] ?? "with IPRA"}`, async () => {
        const cc = (...args: string[]): Buffer => execFileSync("cc", args, { cwd: dir });
        cc("-shared", "-o", "libwork.so", await compile(library(linkage), ...options));
        cc("-shared", "-o", "libother.so", file("other.s", other));
        cc("-o", "program", file("program.c", program), "-L.", "-lwork", "-Wl,-rpath,$ORIGIN");
        const run = (env: NodeJS.ProcessEnv): string =>
          execFileSync("./program", { cwd: dir, env: { ...process.env, ...env }, encoding: "utf8" });
        expect(run({})).toBe("3023\n");
        expect(run({ LD_PRELOAD: file("libother.so") })).toBe("4023\n");
      });
});
