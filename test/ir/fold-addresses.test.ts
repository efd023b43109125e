/** The folder on addresses, and loads from constant variables. */
import { describe, expect, it } from "vitest";
import { parseModule, printModule } from "../../formats/text/index.js";
import { Builder } from "../../lto/ir/builder.js";
import { Folder, floatModeOf } from "../../lto/ir/fold/index.js";
import type { Inst } from "../../lto/ir/instructions.js";
import type { Module } from "../../lto/ir/module.js";
import { constI32 } from "../../lto/ir/values.js";

const globals = `target datalayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"
%pair = type { i32, { i8, ptr } }
@a = global [4 x i32] zeroinitializer
@b = internal global i32 0
@m = unnamed_addr constant i32 7
@w = weak global i32 0
@e = external global {}
@u = extern_weak global i32
@text = constant [6 x i8] c"hello\\00"
@words = constant [3 x i32] [i32 1, i32 -2, i32 65536]
@mixed = constant %pair { i32 5, { i8, ptr } { i8 6, ptr @a } }
@zeros = constant [1000 x %pair] zeroinitializer
@partly = constant { i32, i32 } { i32 undef, i32 9 }
@float = constant double 1.0
@changing = externally_initialized constant i32 4
@replaced = weak constant i32 4
@odd = constant i17 -1
declare void @g()
declare i32 @llvm.ctpop.i32(i32)
`;

/** What the instructions of a function body fold to, as the operand of a `ret` would be printed; null: not folded. */
function folded(lines: string, result = "ptr"): string | null {
  const module = parseModule(`${globals}define ${result} @f() {\n  ${lines}\n}\n`, "fold.ll");
  return fold(module);
}

function fold(module: Module): string | null {
  const fn = module.functions.find((f) => !f.isDeclaration)!;
  const folder = new Folder(module.dataLayout, floatModeOf(fn));
  const editor = fn.edit();
  for (const inst of [...editor.body.blocks[0]!.insts] as Inst[]) {
    const value = folder.inst(inst);
    if (value !== null) editor.replace(inst, value);
  }
  const { insts } = fn.view().blocks[0]!;
  if (insts.length > 1) return null;
  return /ret (?:<[^>]*>|\S+) (.*)\n}/.exec(printModule(module))![1]!;
}

describe("addresses", () => {
  it("become a global and bytes", () => {
    const gep = (text: string): string | null => folded(`%p = getelementptr ${text}\n  ret ptr %p`);
    expect(gep("inbounds [4 x i32], ptr @a, i64 0, i64 3")).toBe(
      "getelementptr inbounds (i8, ptr @a, i64 12)",
    );
    expect(gep("%pair, ptr @a, i32 1, i32 1, i32 1")).toBe("getelementptr (i8, ptr @a, i64 40)");
    expect(gep("i32, ptr @a, i64 0")).toBe("@a");
    expect(gep("i32, ptr null, i64 2")).toBe("inttoptr (i64 8 to ptr)");
    expect(gep("i32, ptr null, i64 0")).toBe("null");
    expect(gep("i32, ptr inttoptr (i64 100 to ptr), i64 -1")).toBe("inttoptr (i64 96 to ptr)");
    expect(gep("i32, ptr poison, i64 1")).toBe("poison");
    expect(gep("i32, ptr @a, i64 poison")).toBe("poison");
    expect(gep("i32, ptr @a, i64 ptrtoint (ptr @b to i64)")).toBeNull();
    expect(gep("i32, ptr getelementptr inbounds (i8, ptr @a, i64 4), i64 1")).toBe(
      "getelementptr (i8, ptr @a, i64 8)",
    );
    expect(gep("inbounds i32, ptr getelementptr inbounds (i8, ptr @a, i64 4), i64 -1")).toBe("@a");
  });

  it("are cast to numbers and back", () => {
    expect(folded("%x = ptrtoint ptr @a to i64\n  %p = inttoptr i64 %x to ptr\n  ret ptr %p")).toBe("@a");
    expect(folded("%p = inttoptr i64 0 to ptr\n  ret ptr %p")).toBe("null");
    expect(folded("%p = inttoptr i32 -1 to ptr\n  ret ptr %p")).toBe("inttoptr (i64 4294967295 to ptr)");
    expect(folded("%x = ptrtoint ptr null to i32\n  ret i32 %x", "i32")).toBe("0");
    expect(folded("%x = ptrtoint ptr @a to i32\n  ret i32 %x", "i32")).toBeNull();
    const difference =
      "%p = getelementptr [4 x i32], ptr @a, i64 0, i64 3\n  %x = ptrtoint ptr %p to i64\n  %y = ptrtoint ptr @a to i64\n";
    expect(folded(`${difference}  %d = sub i64 %x, %y\n  ret i64 %d`, "i64")).toBe("12");
    expect(folded(`${difference}  %d = sub i64 %y, %x\n  ret i64 %d`, "i64")).toBe("-12");
  });

  it("compare as far as that holds whatever is linked", () => {
    const compare = (predicate: string, a: string, b: string): string | null =>
      folded(`%c = icmp ${predicate} ptr ${a}, ${b}\n  ret i1 %c`, "i1");
    const third = "getelementptr inbounds (i8, ptr @a, i64 8)";
    expect(compare("eq", "@a", "null")).toBe("false");
    expect(compare("ne", "null", "@g")).toBe("true");
    expect(compare("eq", "@u", "null")).toBeNull();
    expect(compare("eq", third, "null")).toBe("false");
    expect(compare("eq", "getelementptr (i8, ptr @a, i64 8)", "null")).toBeNull();
    expect(compare("eq", "@a", "@b")).toBe("false");
    expect(compare("eq", "@g", "@b")).toBe("false");
    for (const other of ["@m", "@w", "@e", third]) expect(compare("eq", "@b", other), other).toBeNull();
    expect(compare("eq", third, third)).toBe("true");
    expect(compare("ult", "@a", third)).toBe("true");
    expect(compare("ult", "@a", "getelementptr (i8, ptr @a, i64 8)")).toBeNull();
    expect(compare("slt", "@a", third)).toBeNull();
    expect(compare("ult", "null", "inttoptr (i64 5 to ptr)")).toBe("true");
    expect(compare("ugt", "@a", "null")).toBeNull();
  });
});

describe("loads", () => {
  const load = (type: string, address: string): string | null =>
    folded(`%v = load ${type}, ptr ${address}\n  ret ${type} %v`, type);
  const at = (global: string, offset: number): string => `getelementptr (i8, ptr ${global}, i64 ${offset})`;

  it("find members by their offsets", () => {
    expect(load("i8", at("@text", 1))).toBe("101");
    expect(load("i32", at("@words", 4))).toBe("-2");
    expect(load("ptr", at("@mixed", 16))).toBe("@a");
    expect(load("i8", at("@mixed", 8))).toBe("6");
    expect(load("i32", at("@zeros", 12345))).toBe("0");
    expect(load("ptr", at("@zeros", 16))).toBe("null");
    expect(load("i32", at("@partly", 4))).toBe("9");
    expect(load("i32", "@partly")).toBe("undef");
    expect(load("i17", "@odd")).toBe("-1");
  });

  it("read other types byte by byte", () => {
    expect(load("i32", "@text")).toBe(String(0x6c6c6568));
    expect(load("i16", at("@words", 10))).toBe("1");
    expect(load("i64", "@words")).toBe(String(BigInt.asIntN(64, 0xfffffffe00000001n)));
    expect(load("i64", "@float")).toBe(String(0x3ff0000000000000n));
    expect(load("double", "@float")).toBe("1.000000e+00");
    expect(load("i64", "@mixed")).toBe("5");
    expect(load("i64", at("@mixed", 16))).toBeNull();
    expect(load("<2 x i16>", "@words")).toBe("<i16 1, i16 0>");
    expect(load("i64", "@partly")).toBeNull();
  });

  it("past the end are poison, and others are left alone", () => {
    expect(load("i8", at("@text", 6))).toBe("poison");
    expect(load("i8", at("@text", -1))).toBe("poison");
    expect(load("i32", at("@text", 4))).toBeNull();
    for (const global of ["@a", "@changing", "@replaced", "@u"])
      expect(load("i32", global), global).toBeNull();
    expect(folded("%v = load volatile i8, ptr @text\n  ret i8 %v", "i8")).toBeNull();
    expect(folded("%v = load atomic i32, ptr @words monotonic, align 4\n  ret i32 %v", "i32")).toBeNull();
  });
});

describe("instructions", () => {
  it("fold calls of intrinsics, in sequence", () => {
    const text =
      "%x = call i32 @llvm.ctpop.i32(i32 255)\n  %y = mul nsw i32 %x, 6\n  %z = add i32 %y, -6\n  ret i32 %z";
    expect(folded(text, "i32")).toBe("42");
    expect(folded("call void @g()\n  ret ptr null")).toBeNull();
  });

  it("serve the builder", () => {
    const module = parseModule(`${globals}define i32 @f(i32 %a) {\n  ret i32 %a\n}\n`, "fold.ll");
    const editor = module.functions.find((f) => f.name === "f")!.edit();
    const ret = editor.body.blocks[0]!.terminator;
    const b = new Builder(editor, new Folder(module.dataLayout).operation).before(ret);
    const six = b.mul(constI32(2), constI32(3));
    expect(six).toMatchObject({ num: 6 });
    editor.setOperand(ret, 0, b.add(ret.operands[0]!, six));
    expect(printModule(module)).toContain("add i32 %0, 6");
  });

  it("know when a function may flush subnormal numbers", () => {
    const mode = (attribute: string): boolean =>
      floatModeOf(parseModule(`define void @f() ${attribute} {\n  ret void\n}\n`, "f.ll").functions[0]!)
        .subnormals;
    expect(mode("")).toBe(true);
    expect(mode('"denormal-fp-math"="ieee,ieee"')).toBe(true);
    expect(mode('"denormal-fp-math"="preserve-sign,preserve-sign"')).toBe(false);
    expect(mode('"denormal-fp-math-f32"="dynamic"')).toBe(false);
  });
});
