/** Functions get other signatures together with all their calls. */
import { describe, expect, it } from "vitest";
import { bodyCodec, readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { changeSignature, type SignatureChange } from "../../lto/ir/signature.js";
import { functionType, i32, i64, ptr, voidType } from "../../lto/ir/types.js";
import { constInt } from "../../lto/ir/values.js";
import { verifyModule } from "../../lto/verify/verifier.js";

const source = `
define internal i32 @f(i32 %dead, ptr readonly %p, i64 signext %n) allocsize(2) {
entry:
  %v = load i32, ptr %p, align 4
  %small = icmp slt i64 %n, 1
  br i1 %small, label %stop, label %again
again:
  %m = sub i64 %n, 1
  %r = call i32 @f(i32 %v, ptr readonly %p, i64 signext %m)
  br label %stop
stop:
  %s = phi i32 [ %v, %entry ], [ %r, %again ]
  ret i32 %s
}
define i32 @caller(ptr %q) personality ptr @personality {
entry:
  %a = call i32 @f(i32 1, ptr %q, i64 2) [ "deopt"(i32 9) ]
  br label %next
next:
  %b = invoke i32 @f(i32 %a, ptr %q, i64 3) to label %fine unwind label %pad
fine:
  %c = phi i32 [ %b, %next ]
  %d = add i32 %a, %c
  ret i32 %d
pad:
  %x = landingpad { ptr, i32 } cleanup
  ret i32 0
}
define void @other() {
  ret void
}
declare i32 @personality(...)
`;

/** The module with bodies encoded, and its functions by name. */
function read(text = source): {
  module: Module;
  fn: (name: string) => Func;
  change: (c: SignatureChange) => boolean;
} {
  const { module } = readObjectContents(writeObject(parseModule(text, "s.ll")), "s.o");
  const fn = (name: string): Func => module.functions.find((f) => f.name === name)!;
  return { module, fn, change: (c) => changeSignature(fn("f"), c, module.functions) };
}

describe("a function with another signature", () => {
  it("loses a parameter, and others change places", () => {
    const { module, fn, change } = read();
    expect(change({ type: functionType(i32, [i64, ptr]), from: [2, 1] })).toBe(true);
    expect(verifyModule(module)).toEqual([]);
    const text = printModule(module);
    expect(text).toContain("define internal i32 @f(i64 signext %0, ptr readonly %1) {");
    expect(text).toMatch(/call i32 @f\(i64 signext %\d+, ptr readonly %1\)/);
    expect(text).toContain('call i32 @f(i64 2, ptr %0) [ "deopt"(i32 9) ]');
    expect(text).toMatch(/invoke i32 @f\(i64 3, ptr %0\)/);
    expect(fn("other").isDecoded).toBe(false);
    expect(fn("f").edit().uses.check()).toBeNull();
    expect(fn("caller").edit().uses.check()).toBeNull();
    // What was edited can be encoded again.
    for (const f of module.functions) if (!f.isDeclaration) f.commit(bodyCodec());
    expect(printModule(module)).toBe(text);
  });

  it("takes a value instead of the pointer to it", () => {
    const { module, fn, change } = read();
    const changed = change({
      type: functionType(i32, [i32, i64]),
      from: [-1, 2],
      newArgument: (_, call, before) => before.load(i32, call.operands[2]!, 4),
      replaceArgument: (old, [value], entry) => {
        expect(old.index).toBe(1);
        const slot = entry.alloca(i32, 4);
        entry.store(value!, slot, 4);
        return slot;
      },
    });
    expect(changed).toBe(true);
    expect(verifyModule(module)).toEqual([]);
    expect(printModule(module)).toMatch(
      /%\d+ = load i32, ptr %0, align 4\n +%\d+ = call i32 @f\(i32 %\d+, i64 2\)/,
    );
    expect(
      fn("f")
        .view()
        .blocks[0]!.insts.map((inst) => inst.op)
        .slice(0, 2),
    ).toEqual([Op.Alloca, Op.Store]);
  });

  it("returns nothing, or something else", () => {
    const { module, change } = read();
    const nothing = change({
      type: functionType(voidType, [i32, ptr, i64]),
      from: [0, 1, 2],
      oldResult: () => constInt(i32, 77),
    });
    expect(nothing).toBe(true);
    expect(verifyModule(module)).toEqual([]);
    const text = printModule(module);
    expect(text).toContain("define internal void @f(");
    expect(text).toMatch(/call void @f\(i32 77, ptr readonly|call void @f\(i32 %/);
    expect(text).toContain("invoke void @f(i32 77, ptr %0, i64 3)");
    const wide = read();
    const widened = wide.change({
      type: functionType(i64, [i32, ptr, i64]),
      from: [0, 1, 2],
      returned: (ret, before) => before.cast(Op.SExt, ret.operands[0]!, i64),
      oldResult: (made, after) => after.cast(Op.Trunc, made, i32),
    });
    expect(widened).toBe(true);
    expect(verifyModule(wide.module)).toEqual([]);
    for (const name of ["f", "caller"]) expect(wide.fn(name).edit().uses.check()).toBeNull();
    expect(printModule(wide.module)).toMatch(/trunc i64 %\d+ to i32/);
  });

  it("keeps variadic arguments", () => {
    const { module, change } = read(`
define internal void @f(i32 %dead, ...) {
  ret void
}
define void @caller() {
  call void (i32, ...) @f(i32 1, double 2.0, ptr null)
  ret void
}
`);
    expect(change({ type: functionType(voidType, [], true), from: [] })).toBe(true);
    expect(verifyModule(module)).toEqual([]);
    expect(printModule(module)).toContain("call void (...) @f(double 2.000000e+00, ptr null)");
  });
});

describe("a signature stays what it is", () => {
  const type = functionType(voidType, []);
  const refused = (body: string, callee = "ret void"): void => {
    const { module, change } = read(
      `define internal void @f(i32 %x) {\n  ${callee}\n}\ndefine void @g(i32 %x) {\n  ${body}\n  ret void\n}\n`,
    );
    const before = printModule(module);
    expect(change({ type, from: [] })).toBe(false);
    expect(printModule(module)).toBe(before);
  };
  it("where the function is mentioned otherwise", () => {
    refused("%p = ptrtoint ptr @f to i64");
    refused("%p = add i64 ptrtoint (ptr @f to i64), 1");
    refused("call void @g(i32 ptrtoint (ptr @f to i32))");
  });
  it("where a call goes by another type or convention", () => {
    refused("call void @f()");
    refused("call fastcc void @f(i32 1)");
  });
  it("where frames are passed on", () => {
    refused("musttail call void @f(i32 %x)");
    refused("call void @f(i32 1)", "musttail call void @g(i32 %x)\n  ret void");
  });
  it("where there is no body; and what is used is not dropped in silence", () => {
    const { change } = read("declare void @f(i32)\n");
    expect(change({ type, from: [] })).toBe(false);
    const other = read("define internal i32 @f(i32 %x) {\n  ret i32 %x\n}\n");
    expect(() => other.change({ type: functionType(i32, []), from: [] })).toThrow("parameter 0 is used");
    expect(() => read().change({ type: functionType(i32, [i64]), from: [0] })).toThrow("another type");
  });
});
