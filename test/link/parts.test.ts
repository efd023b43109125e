import { describe, expect, it } from "vitest";
import { InputError } from "../../lto/ir/errors.js";
import { compilePatterns, parseExportList, RUNTIME_SYMBOLS } from "../../lto/link/index.js";
import { scanModuleAsm } from "../../lto/link/module-asm.js";
import { compatibleTriples } from "../../lto/link/target.js";

describe("module asm", () => {
  const scan = (text: string): Record<string, string[]> =>
    Object.fromEntries(
      Object.entries(scanModuleAsm(text, "")).flatMap(([key, set]) =>
        typeof set === "boolean" ? [] : [[key, [...(set as Set<string>)].sort()]],
      ),
    );
  it("has definitions and references", () => {
    expect(
      scan(`
  .text; .globl f, g   # comment naming nothing
f: g:
  call  ext@PLT
  movq  var@GOTPCREL(%rip), %rax ; leaq table+8(,%rcx,8), %rdx
  mov $imm, %eax
  .weak w
w: jmp 1f
1: nop
local_label:
  .L1: jmp .L1
  .set alias, target
  other = thing + 4
  .quad data_ref - f, 0x10
  .symver versioned, versioned@V1
  .section .foo,"ax",@progbits
  .string "call nothing"
  .comm shared_block, 8, 8
  .weak maybe
  lock incl counter(%rip)
  /* call commented */
`),
    ).toEqual({
      globals: ["f", "g", "shared_block", "w"],
      weak: ["w"],
      absolute: [],
      locals: ["alias", "local_label", "other"],
      references: ["counter", "data_ref", "ext", "imm", "table", "target", "thing", "var", "versioned"],
      weakReferences: ["maybe"],
    });
  });
  it("may be empty or nonsense", () => {
    expect(scan("").globals).toEqual([]);
    expect(() => scan('"""\n:::;;=\n.set\n.globl\n.comm')).not.toThrow();
  });
});

describe("name patterns", () => {
  it("match globs as a shell does", () => {
    const test = compilePatterns(["exact", "pre*", "a?c", "x[0-9]y", "n[!a]z", "dot.*"]);
    const yes = ["exact", "pre", "prefix", "abc", "x5y", "nbz", "dot.x"];
    const no = ["exactly", "apre", "ac", "abbc", "xay", "naz", "dotx"];
    expect([...yes, ...no].filter(test)).toEqual(yes);
    expect(compilePatterns(["a+b(*"])("a+b(x")).toBe(true);
  });
  it("are read from lists", () => {
    expect(parseExportList("f # comment\n\n{ g; h*; };\n", "list")).toEqual(["f", "g", "h*"]);
    expect(() => parseExportList("f g", "list")).toThrow(InputError);
    const commented = '{ f; /* not\n this; */ g; extern "C" { c; };\n';
    expect(parseExportList(`${commented}};\n`, "list")).toEqual(["f", "g", "c"]);
    expect(() => parseExportList(`${commented} h i; };\n`, "list")).toThrow("line 3: 'h i'");
    // Sources' names are not matched one by one.
    const cxx = '{ extern "C++" { "operator new*"; std::type_info::*;\n typeinfo* }; h; };';
    expect(parseExportList(cxx, "list")).toEqual(["_Z*", "h"]);
  });
});

it("triples differ by what matters", () => {
  expect(compatibleTriples("x86_64-unknown-linux-gnu", "x86_64-pc-linux-gnu")).toBe(true);
  expect(compatibleTriples("x86_64-linux-gnu", "amd64-redhat-linux-gnu")).toBe(true);
  expect(compatibleTriples("x86_64-unknown-freebsd13.1", "x86_64-unknown-freebsd14")).toBe(true);
  expect(compatibleTriples("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl")).toBe(false);
  expect(compatibleTriples("x86_64-unknown-linux-gnu", "i686-unknown-linux-gnu")).toBe(false);
});

it("runtime symbols include what code generation calls", () => {
  for (const name of [
    "memcpy",
    "memset",
    "memmove",
    "memcmp",
    "bcmp",
    "__udivti3",
    "sqrt",
    "sqrtf",
    "fmodl",
    "__stack_chk_fail",
  ])
    expect(RUNTIME_SYMBOLS.has(name), name).toBe(true);
});
