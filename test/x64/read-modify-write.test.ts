/** Values that are changed in memory, and what keeps them from it. */

import { describe, expect, test } from "vitest";
import { compile, link } from "../ipra/compile.js";

const counter = "@counter = internal global i32 0\n@cursor = internal global ptr null\n";

/** The instructions of `@f` that name a variable, with the registers they name left out. */
function accesses(body: string, attributes = "minsize optsize"): string[] {
  const text = `${counter}declare void @g()\ndefine i32 @f(ptr %p, i64 %n) nounwind ${attributes} {\n${body}}`;
  const { assembly } = compile(
    link(`${text}\n@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"`),
  );
  return [...assembly.matchAll(/^\t(\w+\t.*(?:counter|cursor).*\(%rip\).*)$/gm)]
    .map((m) => m[1]!.replace("\t", " ").replace(/%[er](?!ip)\w+/, "REG"))
    .filter((line) => !line.startsWith("."));
}

describe("values changed in memory", () => {
  test("a counter whose old value is needed", () => {
    expect(
      accesses(`%old = load i32, ptr @counter
        %new = add i32 %old, 1
        store i32 %new, ptr @counter
        ret i32 %old\n`),
    ).toEqual(["movl counter(%rip), REG", "incl counter(%rip)"]);
  });
  test("the old value is used by an instruction that reads it from memory", () => {
    expect(
      accesses(`%old = load i32, ptr @counter
        %c = icmp eq i32 %old, 7
        %r = zext i1 %c to i32
        %new = sub i32 %old, 5
        store i32 %new, ptr @counter
        ret i32 %r\n`),
    ).toEqual(["cmpl $7, counter(%rip)", "subl $5, counter(%rip)"]);
  });
  test("a pointer moves on by a constant, and by a variable", () => {
    const by = (index: string): string => `%old = load ptr, ptr @cursor
        %new = getelementptr i8, ptr %old, i64 ${index}
        store ptr %new, ptr @cursor
        %r = load i32, ptr %old
        ret i32 %r\n`;
    expect(accesses(by("16"))).toEqual(["movq cursor(%rip), REG", "addq $16, cursor(%rip)"]);
    expect(accesses(by("%n"))).toEqual(["movq cursor(%rip), REG", "addq REG, cursor(%rip)"]);
  });
  test("not by a multiple of a variable, nor where speed counts", () => {
    const words = `%old = load ptr, ptr @cursor
        %new = getelementptr i32, ptr %old, i64 %n
        store ptr %new, ptr @cursor
        %r = load i32, ptr %old
        ret i32 %r\n`;
    expect(accesses(words)).toEqual(["movq cursor(%rip), REG", "movq REG, cursor(%rip)"]);
    const bytes = words.replace("getelementptr i32", "getelementptr i8");
    expect(accesses(bytes, "")).toEqual(["movq cursor(%rip), REG", "movq REG, cursor(%rip)"]);
  });
  test.each([
    ["memory is written in between", "store i32 3, ptr %p"],
    ["a call is in between", "call void @g()"],
    ["a volatile load is in between", "%v = load volatile i32, ptr %p"],
  ])("not where %s", (_, between) => {
    const found = accesses(`%old = load i32, ptr @counter
        ${between}
        %new = add i32 %old, 1
        store i32 %new, ptr @counter
        ret i32 %old\n`);
    expect(found).toEqual(["movl counter(%rip), REG", "movl REG, counter(%rip)"]);
  });
  test.each(["load volatile i32, ptr @counter", "load atomic i32, ptr @counter monotonic, align 4"])(
    "not of what %s reads",
    (load) => {
      const found = accesses(`%old = ${load}
        %new = add i32 %old, 1
        store i32 %new, ptr @counter
        ret i32 %old\n`);
      expect(found).toEqual(["movl counter(%rip), REG", "movl REG, counter(%rip)"]);
    },
  );
  const counted = (use: string): string => `%old = load i32, ptr @counter
        %new = add i32 %old, -1
        store i32 %new, ptr @counter
        ${use}
        ret i32 %r\n`;
  test("not where both the old and the new value are needed", () => {
    const found = accesses(counted("%r = mul i32 %old, %new"));
    expect(found).toEqual(["movl counter(%rip), REG", "movl REG, counter(%rip)"]);
  });
  test("the new value is read back", () => {
    const found = accesses(counted("%r = mul i32 %new, %new"));
    expect(found).toEqual(["decl counter(%rip)", "movl counter(%rip), REG"]);
    expect(accesses(counted("%r = mul i32 %new, %new"), "")).toHaveLength(2);
  });
  test.each([
    [16, ["decw counter(%rip)", "movzwl counter(%rip), REG"]],
    [8, ["decb counter(%rip)", "movb counter(%rip), %al"]],
  ])("narrow ones of %i bits, too", (bits, expected) => {
    const found = accesses(`%old = load i${bits}, ptr @counter
        %new = add i${bits} %old, -1
        store i${bits} %new, ptr @counter
        %r = zext i${bits} %new to i32
        ret i32 %r\n`);
    expect(found).toEqual(expected);
  });
  test.each([8, 16, 32, 64])("what %i bits become is only tested", (bits) => {
    const found = accesses(`%old = load i${bits}, ptr @counter
        %new = add i${bits} %old, -1
        store i${bits} %new, ptr @counter
        %c = icmp eq i${bits} %new, 0
        %r = zext i1 %c to i32
        ret i32 %r\n`);
    expect(found).toEqual([`dec${{ 8: "b", 16: "w", 32: "l", 64: "q" }[bits]} counter(%rip)`]);
  });
  test("not where it is needed before the store", () => {
    const early = `%old = load i32, ptr @counter
        %new = add i32 %old, -1
        %r = mul i32 %new, %new
        store i32 %new, ptr @counter
        ret i32 %r\n`;
    expect(accesses(early)).toEqual(["movl counter(%rip), REG", "movl REG, counter(%rip)"]);
  });
  test("loads extend the sign for all who use them", () => {
    const both = (extension: string, other: string): string[] =>
      accesses(`%old = load i32, ptr @counter
        ${extension}
        store i64 %wide, ptr %p
        ${other}
        ret i32 %old\n`);
    expect(both("%wide = sext i32 %old to i64", "")).toEqual(["movslq counter(%rip), REG"]);
    const relied = "%z = zext i32 %old to i64\n%q = getelementptr i64, ptr %p, i64 %z\nstore i64 %n, ptr %q";
    expect(both("%wide = sext i32 %old to i64", relied)).toEqual(["movl counter(%rip), REG"]);
    expect(both(`${relied}\n%wide = sext i32 %old to i64`, "")).toEqual(["movslq counter(%rip), REG"]);
  });
});
