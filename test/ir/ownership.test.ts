/** Who owns a body: an edit can neither be lost nor be seen by those who should not see it. */
import { describe, expect, it } from "vitest";
import { bodyCodec, readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { summarizeModule } from "../../lto/analysis/summary.js";
import { type Body, type Inst, makeInst, Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import { constI32 } from "../../lto/ir/values.js";

const source = `@x = global i32 0
declare void @g()
define i32 @f(i32 %a) {
  %b = add i32 %a, 1
  ret i32 %b
}
`;

/** The module with its bodies encoded, and its function @f. */
function encoded(): { module: Module; fn: Func } {
  const { module } = readObjectContents(writeObject(parseModule(source, "a.ll")), "a.o");
  return { module, fn: module.functions.find((f) => f.name === "f")! };
}
const first = (fn: Func): Inst => fn.view().blocks[0]!.insts[0]!;
const addend = (fn: Func): unknown => first(fn).operands[1];
function setAddend(body: Body, value: number): void {
  raw(body.blocks[0]!.insts[0]!).operands[1] = constI32(value);
}

describe("a view", () => {
  it("can be forgotten and decoded again", () => {
    const { fn } = encoded();
    expect(fn.isDecoded).toBe(false);
    const view = fn.view();
    expect(fn.view()).toBe(view);
    fn.release();
    expect(fn.isDecoded).toBe(false);
    expect(fn.view()).not.toBe(view);
    expect(fn.revision).toBe(0);
  });

  it("that is a peek leaves a function as it was", () => {
    const { fn } = encoded();
    expect(fn.peek((body) => body.blocks.length)).toBe(1);
    expect(fn.isDecoded).toBe(false);
    const view = fn.view();
    expect(fn.peek((body) => body)).toBe(view);
    expect(fn.isDecoded).toBe(true);
  });

  it("of a declaration is refused", () => {
    const fn = parseModule(source, "a.ll").functions.find((f) => f.name === "g")!;
    expect(() => fn.view()).toThrow("@g is a declaration");
    expect(() => fn.rewrite()).toThrow("@g is a declaration");
    expect(() => fn.take()).toThrow("@g is a declaration");
  });
});

describe("an edited body", () => {
  it("cannot be forgotten", () => {
    const { fn } = encoded();
    fn.view();
    setAddend(fn.rewrite(), 7);
    expect(fn.source).toBeNull();
    fn.release();
    expect(addend(fn)).toMatchObject({ num: 7 });
    fn.peek(() => {});
    expect(addend(fn)).toMatchObject({ num: 7 });
    expect(fn.revision).toBe(1);
  });

  it("is what is written, not the source it came from", () => {
    const { module, fn } = encoded();
    const summary = summarizeModule(module);
    const body = fn.rewrite();
    const call = makeInst(Op.Call, fn.valueType.result, [module.functions[0]!], {
      functionType: module.functions[0]!.valueType,
      callingConvention: 0,
      attributes: module.functions[0]!.attributes,
      tail: "",
      argumentCount: 0,
      bundles: [],
    });
    Object.assign(call, { type: module.functions[0]!.valueType.result });
    call.parent = body.blocks[0]!;
    raw(body.blocks[0]!).insts.unshift(call);
    setAddendAt(body, 1, 9);
    // The summary is of the module before the edit: that of the edited function is made anew.
    const { module: read, summary: written } = readObjectContents(writeObject(module, summary), "b.o");
    expect(printModule(read)).toContain("add i32 %0, 9");
    const index = read.globals.findIndex((g) => g.name === "f");
    expect(written.symbols[index]!.calls).toEqual([read.globals.findIndex((g) => g.name === "g")]);
  });

  it("with an editor is swept before anybody else sees it", () => {
    const { module, fn } = encoded();
    const editor = fn.edit();
    editor.replace(first(fn), fn.args[0]!);
    fn.release();
    expect(printModule(readObjectContents(writeObject(module), "b.o").module)).not.toContain("add i32");
    fn.commit(bodyCodec());
    expect(fn.view().blocks[0]!.insts).toHaveLength(1);
    expect(fn.edit()).not.toBe(editor);
  });

  it("that is committed can be forgotten and comes back as it was edited", () => {
    const { module, fn } = encoded();
    const codec = bodyCodec();
    setAddend(fn.rewrite(), 11);
    const text = printModule(module);
    fn.commit(codec);
    expect(fn.isDecoded).toBe(false);
    expect(fn.source).not.toBeNull();
    expect(printModule(module)).toBe(text);
    expect(text).toContain("add i32 %0, 11");
    // A second edit starts from the committed one.
    setAddend(fn.rewrite(), 12);
    fn.release();
    expect(addend(fn)).toMatchObject({ num: 12 });
    fn.commit(codec);
    expect(printModule(readObjectContents(writeObject(module), "c.o").module)).toContain("add i32 %0, 12");
  });

  it("that was never encoded is committed too; one that was not edited keeps its source", () => {
    const parsed = parseModule(source, "a.ll");
    const fn = parsed.functions.find((f) => f.name === "f")!;
    const text = printModule(parsed);
    fn.commit(bodyCodec());
    expect(fn.isDecoded).toBe(false);
    expect(printModule(parsed)).toBe(text);
    const unchanged = encoded().fn;
    const before = unchanged.source;
    unchanged.view();
    unchanged.commit(bodyCodec());
    expect(unchanged.source).toBe(before);
    expect(unchanged.isDecoded).toBe(false);
  });
});

describe("a taken body", () => {
  it("leaves the function its source, unchanged by what becomes of the body", () => {
    const { fn } = encoded();
    setAddend(fn.take(), 99);
    expect(fn.isDeclaration).toBe(false);
    expect(addend(fn)).toMatchObject({ num: 1 });
  });

  it("is gone where it was owned, and the function is still no declaration", () => {
    const { fn } = encoded();
    fn.rewrite();
    fn.take();
    expect(fn.isDeclaration).toBe(false);
    expect(() => fn.view()).toThrow("@f has no body any more");
    expect(() => fn.take()).toThrow("@f has no body any more");
    fn.dropBody();
    expect(fn.isDeclaration).toBe(true);
  });
});

function setAddendAt(body: Body, at: number, value: number): void {
  raw(body.blocks[0]!.insts[at]!).operands[1] = constI32(value);
}
