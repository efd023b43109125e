/** What the parser says about bad text: always an InputError that names the line. */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";

const failure = (text: string): InputError => {
  try {
    parseModule(text, "bad.ll");
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return error as InputError;
  }
  throw new Error(`accepted: ${text}`);
};
const inBody = (line: string): string => `define void @f(i32 %a, ptr %p) {\n  ${line}\n  ret void\n}\n`;

const topLevel: readonly (readonly [text: string, message: string])[] = [
  ["garbage", "line 1: expected a top-level entity, found 'garbage'"],
  ["\n\n\x01", "line 3: unexpected character '\x01'"],
  ['@x = global [2 x i8] c"ab', "line 1: unterminated string"],
  ["@ = global i32 0", "line 1: '@' without a name"],
  ["@x = global i32 0\n@x = global i32 0", "line 2: redefinition of '@x'"],
  ["@1 = global i32 0\n@0 = global i32 0", "line 2: '@0' is out of order: expected '@2'"],
  ["@x = global i32 @y", "line 1: use of undefined value '@y'"],
  ["@x = global i32 0.5", "line 1: floating point constant for type 'int'"],
  ["@x = global float 1", "line 1: integer constant for type 'float'"],
  ["@x = global float 0.1", "line 1: floating point constant '0.1' does not fit type 'float'"],
  ["@x = global i8 256", "line 1: integer constant '256' does not fit type 'i8'"],
  ["@x = global i0 0", "line 1: integer width of 'i0' is out of range"],
  ["@x = global i9999999 0", "line 1: integer width of 'i9999999' is out of range"],
  ["@x = global i32 null", "line 1: 'null' for type 'int'"],
  ["@x = global [2 x i32] [i32 1]", "line 1: constant of type '[1 x i32]' where '[2 x i32]' is expected"],
  ["@x = global [2 x i32] [i32 1, i64 2]", "line 1: elements of different types in one constant"],
  ["@x = global { i32 } { i64 1 }", "line 1: struct constant does not fit its type"],
  ["@x = global <0 x i32> undef", "line 1: a vector without elements"],
  ["@x = global <4 x [2 x i8]> undef", "line 1: a vector cannot have elements of type 'array'"],
  ["@x = global void undef", "line 1: a value cannot have type 'void' here"],
  ["@x = global %t undef", "line 1: use of undefined type '%t'"],
  ["%t = type { %t }\n@x = global %t undef", "line 1: type '%t' contains itself"],
  ["@x = global i32 0, align 3", "line 1: alignment 3 is not a power of two"],
  ["@x = global i32 0, comdat", "line 1: use of undefined comdat '$x'"],
  ["$x = comdat some\n@x = global i32 0, comdat", "line 1: expected a comdat selection, found 'some'"],
  ["@x = frobnicated global i32 0", "line 1: expected 'global', found 'frobnicated'"],
  ["@x = global ptr blockaddress(@x, %b)", "line 1: blockaddress of something that is not a function"],
  ["@x = global ptr getelementptr (i8, i64 1)", "line 1: base of getelementptr is not a pointer"],
  ["@x = global i64 add (i64 1)", "line 1: 'add' takes 2 operands"],
  ["@x = global i64 frobnicate (i64 1)", "line 1: expected a value, found 'frobnicate'"],
  ["@x = alias i32", "line 1: expected ',', found the end of the file"],
  ["declare label @f()", "line 1: a function cannot return type 'label'"],
  ["declare void @f(void)", "line 1: a parameter cannot have type 'void'"],
  ["declare void @f(i32 align 7)", "line 1: alignment 7 is not a power of two"],
  ["declare void @f() memory(sometimes)", "line 1: expected a kind of memory access, found 'sometimes'"],
  ["define void @f()", "line 1: expected '{', found the end of the file"],
  ["define void @f() {", "line 1: function body without an end"],
  ["define void @f() {\n}", "line 2: function '@f' has an empty body"],
  ["define void @f(i32 %x, i32 %x) { ret void }", "line 1: redefinition of '%x'"],
  ['target datalayout = "E-m:e"', "line 1: big-endian targets are not supported"],
  ["!llvm.module.flags = !{!0}", "line 1: use of undefined metadata '!0'"],
];

const bodies: readonly (readonly [line: string, message: string])[] = [
  ["%x = add i32 %y, 1", "line 2: use of undefined value '%y'"],
  ["%x = add i64 %a, 1", "line 2: '%a' has type 'i32' but is used as 'i64'"],
  ["%a = add i32 1, 1", "line 2: redefinition of '%a'"],
  ["%5 = add i32 1, 1\n  %4 = add i32 1, 1", "line 3: '%4' is out of order: expected '%6'"],
  ["%x = store i32 1, ptr %p", "line 2: an instruction without a result is named '%x'"],
  ["%x = add exact i32 1, 1", "line 2: a flag that the instruction cannot have"],
  ["%x = icmp oeq i32 1, 1", "line 2: expected a comparison predicate, found 'oeq'"],
  ["%x = load i32 ptr %p", "line 2: expected ',', found 'ptr'"],
  ["%x = load atomic i32, ptr %p, align 4", "line 2: expected an atomic ordering, found ','"],
  ["%x = atomicrmw frob ptr %p, i32 1 seq_cst", "line 2: unknown atomicrmw operation 'frob'"],
  ["br label %nowhere\nx:", "line 2: use of undefined label '%nowhere'"],
  ["br i1 true, label %a, label %x\nx:", "line 2: use of undefined label '%a'"],
  ["%x = add i32 1, 1\nnext:", "line 2: block without a terminator"],
  ["%x = extractvalue { i32 } undef, 1", "line 2: index 1 is out of range"],
  ["%x = extractvalue { i32 } undef", "line 3: expected an index, found 'ret'"],
  ["%x = insertvalue { i32 } undef, i64 1, 0", "line 2: inserted value does not have the type of its place"],
  ["%x = extractelement i32 %a, i32 0", "line 2: expected a vector, found type 'int'"],
  [
    "%x = shufflevector <2 x i32> undef, <2 x i32> undef, <2 x i64> undef",
    "line 2: shufflevector mask is not a vector of i32",
  ],
  [
    "switch i32 %a, label %x [ i64 1, label %x ]\nx:",
    "line 2: switch case is not an integer of the type of the condition",
  ],
  ["call void @g()", "line 2: use of undefined value '@g'"],
  ["call void %p(void)", "line 2: an argument cannot have type 'void'"],
  ["invoke void %p()", "line 3: expected 'to', found 'ret'"],
  ["ret i32", "line 3: expected a value, found 'ret'"],
  ["%x = getelementptr i8, i64 1", "line 2: base of getelementptr is not a pointer"],
  ["%x = phi void", "line 2: a value cannot have type 'void'"],
];

const unsupported: readonly (readonly [text: string, construct: string])[] = [
  ["@x = global <vscale x 4 x i32> undef", "scalable vector"],
  ["@x = global ppc_fp128 undef", "type ppc_fp128"],
  ['@x = global target("spirv.Image") undef', "type target"],
  ["declare void @f(x86_amx)", "type x86_amx"],
  ["@x = global ptr ptrauth (ptr @x, i32 0)", "ptrauth"],
  [inBody("%x = catchswitch within none [label %h] unwind to caller"), "instruction 'catchswitch'"],
  [inBody("%x = cleanuppad within none []"), "instruction 'cleanuppad'"],
  [inBody("%x = frobnicate i32 %a"), "instruction 'frobnicate'"],
  [inBody("call void %p()\n  frobnicate i32 %a"), "instruction 'frobnicate'"],
];

describe("errors of the parser", () => {
  it.each(topLevel)("%j", (text, message) => {
    const error = failure(text);
    expect(error.message).toBe(message);
    expect(error.file).toBe("bad.ll");
  });
  it.each(bodies)("%j", (line, message) => {
    expect(failure(inBody(line)).message).toBe(message);
  });
  it.each(unsupported)("%j is unsupported", (text, construct) => {
    const error = failure(text);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as UnsupportedError).construct).toBe(construct);
    expect(error.message).toMatch(/^line \d+: unsupported: /);
  });

  const deep = 100_000;
  it.each([
    ["types", `@x = global ${"{".repeat(deep)}${"}".repeat(deep)} undef`],
    ["array types", `@x = global ${"[1 x ".repeat(deep)}i8${"]".repeat(deep)} undef`],
    ["function types", `@x = alias ${"void (".repeat(deep)}${")".repeat(deep)}, ptr @x`],
    ["constants", `@x = global ptr ${"getelementptr (i8, ptr ".repeat(deep)}`],
    ["aggregates", `@x = global i8 ${"[i8 ".repeat(deep)}`],
    [
      "named types",
      `${Array.from({ length: deep }, (_, i) => `%t${i} = type { %t${i + 1} }\n`).join("")}%t${deep} = type i8\n@x = global %t0 undef`,
    ],
    [
      "named types, inner first",
      `%t0 = type i8\n${Array.from({ length: 1000 }, (_, i) => `%t${i + 1} = type { %t${i} }\n@x${i} = global %t${i + 1} undef\n`).join("")}`,
    ],
    ["attributes", `declare void @f(${"ptr sret(".repeat(deep)}`],
    ["metadata", `!0 = ${"!{".repeat(deep)}`],
  ])("deep nesting of %s is an error, not an overflow", (_, text) => {
    expect(failure(text).message).toMatch(/^line \d+: /);
  });
  it("deep metadata that is balanced is skipped", () => {
    expect(parseModule(`!0 = ${"!{".repeat(deep)}${"}".repeat(deep)}`, "x").globals).toEqual([]);
  });
});
