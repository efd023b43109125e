/** What assembly text mentions: module asm as the assembler reads it, and templates of inline assembly. */
import { describe, expect, it } from "vitest";
import { templateText } from "../../lto/link/asm-template.js";
import { scanModuleAsm } from "../../lto/link/module-asm.js";

const mentions = (text: string): string[] => [...scanModuleAsm(text, "").references].sort();

describe("names in assembly", () => {
  it.each([
    ["quoted", 'jmp "quoted name"; .quad "dq"+8', ["dq", "quoted name"]],
    ["quoted, with escapes", String.raw`call "a\"b"; call "c\\d"; call "e\101"`, ['a"b', "c\\d", "eA"]],
    [
      "after a character constant",
      "movb $'#, %al; call f\nmovb $'\\n', %al; call g\nmovb $'\"', %al; call h",
      ["f", "g", "h"],
    ],
    ["that begin with a dot", "jmp .dotted; .quad .other - .", [".dotted", ".other"]],
    ["beyond ASCII", "call grüße", ["grüße"]],
    ["with a dollar sign", "mov $imm, %eax; call a$b", ["a$b", "imm"]],
    [
      "over several lines of a comment",
      "/* call no\ncall no */ call yes # call no\ncall f // call no",
      ["f", "yes"],
    ],
    ["after prefixes", "lock; incl a(%rip); addr32 call b; notrack jmp *c(%rip)", ["a", "b", "c"]],
    ["after a pseudo-prefix", "{vex3} vmovaps v(%rip), %xmm0", ["v", "vex3", "vmovaps"]],
    ["not in strings of data", '.ascii "call no"; .section "no","ax"; .print "no"', []],
  ])("%s", (_, text, expected) => {
    expect(mentions(text)).toEqual(expected);
    expect(scanModuleAsm(text, "").opaque).toBe(false);
  });

  it.each([
    ["riscv64-unknown-linux-gnu", "call fn # g\nla a0, va // h\nlui a1, %hi(wo)\n lw t0, 4(sp)"],
    ["aarch64-linux-gnu", "bl fn // g\nadrp x0, va\nadd x0, x0, :lo12:wo\nmov x1, #4\n# h"],
    ["thumbv7m-none-eabi", "bl fn @ g\nldr r0, =va\nmovw r1, #:lower16:wo\n.type fn, %function"],
  ])("for %s", (triple, text) => {
    const symbols = scanModuleAsm(text, triple);
    expect([...symbols.references].sort()).toEqual(["fn", "va", "wo"]);
    expect(symbols.opaque).toBe(false);
  });

  it("perhaps, where registers have no mark: a function may be called `s1`", () => {
    const symbols = scanModuleAsm("call s1\n mv a0, s1", "riscv32-unknown-elf");
    expect([...symbols.references]).toEqual([]);
    expect([...symbols.weakReferences].sort()).toEqual(["a0", "s1"]);
  });

  it("as far as it is sure, for targets whose assembly is not known", () => {
    expect(scanModuleAsm("call f", "hexagon-unknown-elf").opaque).toBe(true);
    expect(scanModuleAsm("", "hexagon-unknown-elf").opaque).toBe(false);
  });

  it("defined under quoted names", () => {
    const { globals, locals } = scanModuleAsm(
      '.globl "a b"\n"a b": "c" = 5\n.local d; .comm d, 8; d: ret',
      "",
    );
    expect([...globals]).toEqual(["a b"]);
    expect([...locals]).toEqual(["c", "d"]);
  });

  it.each([
    ".macro m n\njmp fn_\\n\n.endm",
    ".irp n, 1, 2\n.quad fn_\\n\n.endr",
    ".rept 2\nnop\n.endr",
    '.include "other.s"',
    ".altmacro",
    "jmp fn_\\name",
  ])("that macros make: %j", (text) => {
    expect(scanModuleAsm(text, "").opaque).toBe(true);
  });
});

describe("templates of inline assembly", () => {
  it.each([
    ["$(call f$|call g$)", "call f"],
    ["mov $$imm, $0", "mov $imm, 0"],
    [`jmp .Lx\${:uid}; \${:comment} call f`, "jmp .Lx0; # call f"],
    [`call \${0:P}@PLT`, "call 0@PLT"],
    ["vaddps %xmm0 {%k1$) $|", "vaddps %xmm0 {%k1} |"],
    [`call \${:private}f`, "call .Lf"],
    ["cost $", "cost "],
  ])("%s", (template, text) => {
    expect(templateText(template)).toEqual({ text, pastes: false });
  });
  it("that paste names", () => {
    for (const template of [`call fn_\${0:c}`, `call \${0:P}_slow`, "jmp fn$0"])
      expect(templateText(template).pastes, template).toBe(true);
    for (const template of [`mov\${0:z} f, $1`, "mov 8$0, $1", `.L\${0:c}: nop`, `mov $$\${0:c}, %eax`])
      expect(templateText(template).pastes, template).toBe(false);
  });
});
