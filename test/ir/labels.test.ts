/** Addresses of blocks: labels stay with their blocks, and addresses of blocks that are gone lose their meaning. */
import { describe, expect, it } from "vitest";
import { bodyCodec, readObject, readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { removeBlocks, replaceTerminator } from "../../lto/ir/cfg-edit.js";
import { Block, makeInst, Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { voidType } from "../../lto/ir/types.js";
import { droppedAddress } from "../../lto/ir/values.js";
import { verifyModule } from "../../lto/verify/verifier.js";

const source = `@table = internal global [2 x ptr] [ptr blockaddress(@f, %b), ptr blockaddress(@f, %c)]
define i32 @f(i32 %i) {
a:
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i32 %i
  %t = load ptr, ptr %p
  indirectbr ptr %t, [label %b, label %c]
x:
  br label %b
b:
  ret i32 1
c:
  ret i32 2
}
define ptr @g() {
  ret ptr blockaddress(@f, %c)
}
`;
const read = (): Module => parseModule(source, "labels.ll");
const named = (module: Module, name: string): Func => module.functions.find((fn) => fn.name === name)!;

describe("labels", () => {
  it("are positions at first, and stay when blocks move or go", () => {
    const module = read();
    const fn = named(module, "f");
    expect(fn.view().blocks.map((block) => block.label)).toEqual([-1, -1, 2, 3]);
    const editor = fn.edit();
    removeBlocks(editor, [editor.body.blocks[1]!]);
    editor.body.blocks.splice(1, 0, editor.body.blocks.pop()!);
    expect(editor.body.blocks.map((block) => block.label)).toEqual([-1, 3, 2]);
    expect(verifyModule(module)).toEqual([]);
    const text = printModule(module);
    expect(text).toContain("blockaddress(@f, %taken.2), ptr blockaddress(@f, %taken.3)");
    expect(text).toMatch(/taken\.3:\n +ret i32 2\n\ntaken\.2:\n +ret i32 1/);
    // Text and objects keep them.
    expect(printModule(parseModule(text, "labels.ll"))).toBe(text);
    expect(printModule(readObject(writeObject(module), "labels.o"))).toBe(text);
    fn.commit(bodyCodec());
    expect(printModule(module)).toBe(text);
  });

  it("in text avoid those that are taken", () => {
    const module = parseModule(
      "define void @f() {\n  ret void\ntaken.2:\n  ret void\nx:\n  ret void\n}\n@a = global ptr blockaddress(@f, %x)\n",
      "l.ll",
    );
    expect(
      named(module, "f")
        .view()
        .blocks.map((block) => block.label),
    ).toEqual([-1, 2, 3]);
  });

  it("are given to blocks whose address is taken anew, never twice", () => {
    const module = read();
    const fn = named(module, "f");
    const editor = fn.edit();
    const block = editor.addBlock(new Block());
    editor.append(makeInst(Op.Unreachable, voidType, [], null), block);
    expect(editor.addressOf(block).label).toBe(4);
    expect(editor.addressOf(editor.body.blocks[2]!).label).toBe(2);
    removeBlocks(editor, [block]);
    const other = editor.addBlock(new Block());
    editor.append(makeInst(Op.Unreachable, voidType, [], null), other);
    expect(editor.addressOf(other).label).toBe(5);
    expect(() => editor.addressOf(editor.body.blocks[0]!)).toThrow("the address of the entry block");
  });
});

describe("a block that is removed although its address was taken", () => {
  /** @f without its block %c. */
  function removed(module: Module): Func {
    const fn = named(module, "f");
    const editor = fn.edit();
    const [a, , b, c] = editor.body.blocks;
    const jump = makeInst(Op.IndirectBr, voidType, [a!.terminator.operands[0]!], null, [b!]);
    replaceTerminator(editor, a!, jump);
    removeBlocks(editor, [c!]);
    return fn;
  }

  it("has the address inttoptr (1) in text, in objects, and in bodies that nobody has decoded", () => {
    const { module } = readObjectContents(writeObject(read()), "labels.o");
    const fn = removed(module);
    const g = named(module, "g");
    expect(g.isDecoded).toBe(false);
    const written = readObject(writeObject(module), "labels.o");
    expect(g.isDecoded).toBe(false);
    for (const text of [printModule(module), printModule(written)]) {
      expect(text).toContain("[ptr blockaddress(@f, %taken.2), ptr inttoptr (i64 1 to ptr)]");
      expect(text).toContain("ret ptr inttoptr (i64 1 to ptr)");
    }
    expect(verifyModule(module)).toEqual([]);
    expect(verifyModule(written)).toEqual([]);
    const address = g.view().blocks[0]!.terminator.operands[0]!;
    if (address.valueKind !== "blockaddress") throw new Error(address.valueKind);
    expect(droppedAddress(address)).toMatchObject({ op: Op.IntToPtr });
    expect(fn.hasDropped(2)).toBe(false);
  });

  it("may go with its whole body", () => {
    const module = read();
    const [f, g] = [named(module, "f"), named(module, "g")];
    f.define(parseModule("define i32 @f(i32 %i) {\n  ret i32 3\n}\n", "other.ll").functions[0]!.take());
    expect(f.hasDropped(2)).toBe(true);
    expect(verifyModule(module)).toEqual([]);
    expect(printModule(module)).not.toContain("blockaddress");
    expect(g.isDeclaration).toBe(false);
  });
});
