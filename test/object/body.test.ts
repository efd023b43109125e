import { describe, expect, it } from "vitest";
import { hashBody } from "../../formats/object/body-hash.js";
import {
  bodySymbols,
  decodeBody,
  encodeBody,
  moduleNumbers,
  moduleTables,
  readObject,
  writeObject,
} from "../../formats/object/index.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import { InputError } from "../../lto/ir/errors.js";
import { tagOfId } from "../../lto/ir/hints/tbaa.js";
import { Block, Body, makeInst, Op } from "../../lto/ir/instructions.js";
import { Func, type GlobalValue, GlobalVariable, Module } from "../../lto/ir/module.js";
import {
  arrayType,
  functionType,
  i8,
  i64,
  ptr,
  structType,
  type Type,
  voidType,
} from "../../lto/ir/types.js";
import { ConstAggregate, type Constant, ConstExpr, ConstZero, constInt } from "../../lto/ir/values.js";
import { Random } from "../support/random.js";
import { dumpBody, Generator } from "./random-module.js";

function encoded(module: Module, fn: Func): { bytes: Uint8Array; symbols: (index: number) => GlobalValue } {
  const bytes = encodeBody(
    fn,
    moduleNumbers((g) => module.globals.indexOf(g)),
  );
  const symbols = (index: number): GlobalValue => {
    const global = module.globals[index];
    if (global === undefined) throw new InputError(`no symbol ${index}`);
    return global;
  };
  return { bytes, symbols };
}
const text = (source: string): Module => parseModule(source, "a.ll");
const bodyOf = (source: string, name: string): { bytes: Uint8Array; module: Module } => {
  const module = text(source);
  return { bytes: encoded(module, module.functions.find((f) => f.name === name)!).bytes, module };
};

describe("body codec", () => {
  it("gives back every body, numbered", () => {
    for (let seed = 1; seed <= 80; seed++) {
      const module = new Generator(seed).run();
      for (const fn of module.functions) {
        if (fn.isDeclaration) continue;
        const { bytes, symbols } = encoded(module, fn);
        const body = decodeBody(bytes, fn, moduleTables(symbols));
        const numbers = body.blocks.flatMap((block) => block.insts.map((inst) => inst.id));
        expect(numbers).toEqual(numbers.map((_, i) => i));
        const nameOf = (g: GlobalValue): string => `@${module.globals.indexOf(g)}`;
        expect(dumpBody(body, nameOf)).toBe(dumpBody(fn.view(), nameOf));
        fn.define(body);
        expect(encoded(module, fn).bytes).toEqual(bytes);
      }
    }
  });

  it("is canonical: equal constants and types share entries whatever objects stand for them", () => {
    const source = (x: string): string =>
      `define i64 @f(i64 %a) {\n  %x = add i64 %a, 7\n  %y = mul i64 %x, ${x}\n  %z = sub i64 7, %y\n  ret i64 %z\n}`;
    const shared = bodyOf(source("7"), "f").bytes;
    const different = bodyOf(source("9"), "f").bytes;
    // One more leaf: tag, type, value.
    expect(different.length).toBe(shared.length + 3);
  });

  it("is compact", () => {
    const lines = Array.from({ length: 1000 }, (_, i) => `  %x${i + 1} = add i32 %x${i}, 1`).join("\n");
    const { bytes } = bodyOf(`define i32 @f(i32 %x0) {\n${lines}\n  ret i32 %x1000\n}`, "f");
    expect(bytes.length).toBeLessThan(4 * 1000 + 64);
  });

  it("lists its symbols, and hashes by their names and not their numbers", () => {
    const body = "define void @f() {\n  call void @g()\n  store i32 0, ptr @v\n  ret void\n}";
    const one = bodyOf(`${body}\ndeclare void @g()\n@v = external global i32`, "f");
    const two = bodyOf(`@v = external global i32\n@unused = global i32 0\ndeclare void @g()\n${body}`, "f");
    const other = bodyOf(`${body.replace("@g", "@h")}\ndeclare void @h()\n@v = external global i32`, "f");
    const hash = ({ bytes, module }: typeof one): string =>
      hashBody(bytes, { symbol: (i) => module.globals[i]!.name, tag: (i) => tagOfId(i)! });
    expect(bodySymbols(one.bytes).map((i) => one.module.globals[i]!.name)).toEqual(["g", "v"]);
    expect(one.bytes).not.toEqual(two.bytes);
    expect(hash(one)).toBe(hash(two));
    expect(hash(one)).not.toBe(hash(other));
  });

  it("refuses a body for a function with other parameters", () => {
    const { bytes, module } = bodyOf("define void @f(i32 %x) {\n  ret void\n}\ndeclare void @g()", "f");
    const g = module.functions.find((f) => f.name === "g")!;
    expect(() =>
      decodeBody(
        bytes,
        g,
        moduleTables(() => g),
      ),
    ).toThrow(InputError);
  });

  it("gives a body or an InputError for any damaged bytes", () => {
    const random = new Random(99);
    let read = 0;
    let refused = 0;
    for (let seed = 500; seed < 530; seed++) {
      const module = new Generator(seed).run();
      for (const fn of module.functions) {
        if (fn.isDeclaration) continue;
        const { bytes, symbols } = encoded(module, fn);
        for (let round = 0; round < 80; round++) {
          const damaged = bytes.slice(0, random.oneIn(8) ? random.below(bytes.length) : undefined);
          for (let i = 1 + random.below(3); i > 0 && damaged.length > 0; i--) {
            const at = random.below(damaged.length);
            damaged[at] = random.oneIn(3)
              ? random.pick([0, 0x7f, 0x80, 0xff])
              : damaged[at]! ^ (1 << random.below(8));
          }
          try {
            const body = decodeBody(damaged, fn, moduleTables(symbols));
            expect(dumpBody(body, (g) => g.name)).not.toContain("BROKEN");
            for (const block of body.blocks)
              for (const inst of block.insts)
                if (inst.operands.includes(undefined as never)) throw new Error("an operand is missing");
            read++;
          } catch (error) {
            if (!(error instanceof InputError)) throw error;
            refused++;
          }
        }
      }
    }
    expect(read).toBeGreaterThan(200);
    expect(refused).toBeGreaterThan(2000);
  });

  it("does not allocate what a small input claims", () => {
    const fn = new Func("f", functionType(voidType, []));
    const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
    // A huge count in the place of each table in turn, of the blocks and of the instructions.
    for (let empty = 0; empty < 16; empty++)
      expect(() =>
        decodeBody(
          Uint8Array.from([...Array(empty).fill(0), ...huge, 0, 0]),
          fn,
          moduleTables(() => fn),
        ),
      ).toThrow(InputError);
  });
});

describe("nesting", () => {
  const moduleWith = (initializer: Constant): Module => {
    const module = new Module("a.o", "", "", new DataLayout("e"));
    const variable = new GlobalVariable("v", initializer.type);
    variable.initializer = initializer;
    module.globals.push(variable);
    return module;
  };
  it("of constants is limited the same way on both sides, without overflowing the stack", () => {
    const nested = (depth: number): Constant => {
      let value: Constant = new ConstZero(ptr);
      for (let i = 0; i < depth; i++)
        value = new ConstExpr(ptr, Op.GetElementPtr, [value, constInt(i64, 1)], 0, i8);
      return value;
    };
    expect(() => readObject(writeObject(moduleWith(nested(1000))), "a.o")).not.toThrow();
    expect(() => writeObject(moduleWith(nested(1001)))).toThrow(InputError);
    expect(() => writeObject(moduleWith(nested(200_000)))).toThrow(InputError);
  });
  it("of types is limited", () => {
    let type: Type = i8;
    for (let i = 0; i < 300; i++) type = structType([type]);
    expect(() => writeObject(moduleWith(new ConstZero(type)))).toThrow(/nested too deep/);
  });
  it("of shared parts may not stand for more than fits memory", () => {
    let value: Constant = constInt(i8, 1);
    for (let i = 0; i < 40; i++) value = new ConstAggregate(arrayType(2, value.type), [value, value]);
    const bytes = writeObject(moduleWith(value));
    expect(bytes.length).toBeLessThan(2000);
    expect(() => readObject(bytes, "a.o")).toThrow(/too large/);
  });
});

describe("text and objects", () => {
  it("agree on instructions of every kind", () => {
    const source = `
@v = global i128 170141183460469231731687303715884105727
@s = private unnamed_addr constant [6 x i8] c"hello\\00"
@w = global i200 -5
@labels = internal global [1 x ptr] [ptr blockaddress(@f, %next)]
define i32 @f(i32 %x, ptr %p, <4 x float> %vec) #0 {
entry:
  %slot = alloca [4 x i32], align 16
  %e = getelementptr inbounds [4 x i32], ptr %slot, i64 0, i64 2
  store volatile i32 %x, ptr %e, align 8
  %old = atomicrmw add ptr %p, i32 1 seq_cst, align 4
  %pair = cmpxchg weak ptr %p, i32 0, i32 1 acq_rel monotonic, align 4
  %ok = extractvalue { i32, i1 } %pair, 1
  fence syncscope("singlethread") acquire
  %f = fadd fast <4 x float> %vec, %vec
  %sh = shufflevector <4 x float> %f, <4 x float> poison, <2 x i32> <i32 3, i32 poison>
  switch i32 %x, label %next [
    i32 1, label %other
    i32 -5, label %other
  ]
other:
  %r = tail call fastcc i32 @g(i32 noundef zeroext %x, ptr byval(i64) align 8 %p) [ "deopt"(i32 %x) ]
  call void asm sideeffect "nop", "~{memory}"()
  br label %next
next:
  %m = phi i32 [ 0, %entry ], [ %r, %other ], [ 0, %entry ], [ %r, %other ]
  %z = select i1 %ok, i32 %m, i32 -2147483648
  ret i32 %z
}
declare fastcc i32 @g(i32, ptr)
attributes #0 = { noinline "frame-pointer"="all" }
`.replace(
      "  %m = phi i32 [ 0, %entry ], [ %r, %other ], [ 0, %entry ], [ %r, %other ]",
      "  %m = phi i32 [ 0, %entry ], [ %r, %other ]",
    );
    const module = text(source);
    expect(printModule(readObject(writeObject(module), "a.ll"))).toBe(printModule(module));
  });
});

describe("encoding", () => {
  it("refuses bodies that are not well-formed, as a bug and not an input error", () => {
    const fn = new Func("f", functionType(voidType, []));
    const body = new Body();
    fn.define(body);
    body.blocks.push(new Block());
    expect(() =>
      encodeBody(
        fn,
        moduleNumbers(() => 0),
      ),
    ).toThrow(/is empty/);
    body.blocks[0]!.append(makeInst(Op.Br, voidType, [], null, [new Block()]));
    expect(() =>
      encodeBody(
        fn,
        moduleNumbers(() => 0),
      ),
    ).toThrow(/another body/);
  });
});
