import { expect, test } from "vitest";
import { gnuAsm, gnuModuleAsm } from "../../lto/link/gnu-asm.js";

test.each([
  ["addl $1, %eax // one\n\tret", "addl $1, %eax \n\tret"],
  ['.ascii "http://x\\"//" // "y"', '.ascii "http://x\\"//" '],
  ["movb $'/, %al; movb $'/, %bl // 'c", "movb $'/, %al; movb $'/, %bl "],
  ["# a // b's\nnop // c", "# a // b's\nnop "],
  ["/* // */ nop", "/* // */ nop"],
  [".addrsig\n\t.addrsig_sym f; nop", "\n; nop"],
  [".intel_syntax\nnop\n.intel_syntax noprefix", ".intel_syntax noprefix\nnop\n.intel_syntax noprefix"],
])("%j", (text, expected) => {
  expect(gnuAsm(text)).toBe(expected);
});

test("each module's assembly begins with AT&T's syntax", () => {
  expect(gnuModuleAsm(".intel_syntax", "x86_64-unknown-linux-gnu")).toBe(
    ".intel_syntax noprefix\n.att_syntax prefix\n",
  );
  expect(gnuModuleAsm("nop // x", "aarch64-linux-gnu")).toBe("nop // x\n");
});
