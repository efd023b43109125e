/** Bodies that rest in a process come back as they were, whatever else its pool holds. */
import { describe, expect, it } from "vitest";
import { bodyCodec, inMemoryCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction } from "../../formats/text/index.js";
import { type Inst, isCall } from "../../lto/ir/instructions.js";
import type { BodyCodec, Func, GlobalVariable, Module } from "../../lto/ir/module.js";
import { remapFunction } from "../../lto/ir/remap.js";

const text = `target datalayout = "e-m:e-i64:64-n8:16:32:64-S128"
@a = internal global [4 x i64] zeroinitializer
@b = internal global [4 x i64] zeroinitializer
declare i32 @callee(ptr, i32)
define i32 @first(ptr %p, i32 %n) {
  %x = load i64, ptr getelementptr ([4 x i64], ptr @a, i64 0, i64 2), align 8
  %y = call i32 @callee(ptr nonnull @a, i32 %n)
  %z = call i32 @callee(ptr %p, i32 range(i32 0, 9) %n) nounwind
  %w = call i64 asm sideeffect "movq $1, $0", "=r,r"(i64 %x)
  %s = trunc i64 %w to i32
  switch i32 %y, label %other [ i32 1000, label %one
                                i32 -7, label %two ]
one:
  ret i32 1000
two:
  %t = phi i32 [ -7, %0 ]
  %f = fcmp olt double 0x7FF8000000000000, 1.5
  %u = select i1 %f, i32 %t, i32 %z
  ret i32 %u
other:
  indirectbr ptr blockaddress(@first, %there), [label %there]
there:
  ret i32 %s
}
define i32 @second(i32 %a, i32 %b, i32 %c, i32 %d) {
  %y = call i32 @callee(ptr nonnull @a, i32 1000)
  %e = getelementptr { i32, [4 x i64] }, ptr @b, i32 0, i32 1, i64 2
  %v = load volatile i64, ptr %e, align 4
  %s = trunc i64 %v to i32
  %r = add nsw i32 %s, %d
  ret i32 %r
}
`;

function functionsOf(module: Module): Func[] {
  return module.functions.filter((fn) => !fn.isDeclaration);
}

function rested(codec: BodyCodec): Module {
  const module = parseModule(text, "a.ll");
  for (const fn of functionsOf(module)) {
    fn.commit(codec);
    expect(fn.isDecoded).toBe(false);
  }
  return module;
}

const instructions = (fn: Func): Inst[] => fn.view().blocks.flatMap(({ insts }) => [...insts]);

describe("a resting body", () => {
  it("is what it was, and what the form of object files makes of it", () => {
    const before = functionsOf(parseModule(text, "a.ll")).map(printFunction);
    expect(functionsOf(rested(inMemoryCodec())).map(printFunction)).toEqual(before);
    expect(functionsOf(rested(bodyCodec())).map(printFunction)).toEqual(before);
  });

  it("can be changed without a change of others that mention the same", () => {
    const codec = inMemoryCodec();
    const [first, second] = functionsOf(rested(codec));
    const before = printFunction(first!);
    const editor = second!.edit();
    // The call, whose result nobody uses.
    editor.erase(editor.body.blocks[0]!.insts[0]!);
    second!.commit(codec);
    expect(instructions(second!)).toHaveLength(5);
    first!.release();
    expect(printFunction(first!)).toBe(before);
  });

  it("has one object for equal constants and attributes", () => {
    const [first, second] = functionsOf(rested(inMemoryCodec()));
    const calls = [first!, second!].map((fn) => instructions(fn).find(isCall)!);
    expect(calls[0]!.data.attributes).toBe(calls[1]!.data.attributes);
    const returned = instructions(first!).find(({ operands }) => operands[0]?.valueKind === "int")!;
    expect(returned.operands[0]).toBe(calls[1]!.operands[2]);
  });

  it("mentions what globals were replaced by", () => {
    const module = rested(inMemoryCodec());
    const [a, b] = ["a", "b"].map((name) => module.globals.find((g) => g.name === name) as GlobalVariable);
    const [first] = functionsOf(module);
    remapFunction(first!, new Map([[a!, b!]]));
    expect(printFunction(first!)).not.toContain("@a");
    expect(printFunction(first!)).toContain("ptr @b, i64 0, i64 2");
  });
});
