import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  LocalNumbers,
  parseModule,
  printConstant,
  printFunction,
  printInst,
  printModule,
} from "../../formats/text/index.js";
import { AttributeList, AttributeSet, noAttributes } from "../../lto/ir/attributes.js";
import { Block, Flag, makeInst, Op } from "../../lto/ir/instructions.js";
import { arrayType, i8, i32, i64, ptr, structType } from "../../lto/ir/types.js";
import {
  ConstAggregate,
  ConstData,
  ConstExpr,
  ConstZero,
  constI32,
  constInt,
  type Value,
} from "../../lto/ir/values.js";
import { fixtureFolder, fixtureNames } from "./fixtures.js";

describe("printing parts", () => {
  const module = parseModule(
    "@g = global i32 0\ndefine i32 @f(i32 %a) #0 {\n %b = add nsw i32 %a, 1\n br label %x\nx:\n ret i32 %b\n}\nattributes #0 = { nounwind }",
    "x",
  );
  const fn = module.functions[0]!;

  it("prints a function with its attributes in place", () => {
    expect(printFunction(fn)).toBe(
      "define i32 @f(i32 %0) nounwind {\n  %2 = add nsw i32 %0, 1\n  br label %3\n\n3:\n  ret i32 %2\n}\n",
    );
  });

  it("prints the large types of a function before it", () => {
    const type = structType(new Array(9).fill(i32));
    const text = printFunction(parseModule(`define void @f(${type} %a) {\n ret void\n}`, "x").functions[0]!);
    expect(text).toBe(`%T0 = type ${type}\n\ndefine void @f(%T0 %0) {\n  ret void\n}\n`);
  });

  it("prints an instruction by ids, or by the numbers of its function", () => {
    const [add, br] = fn.view().blocks[0]!.insts;
    fn.view().renumber();
    expect(printInst(add!)).toBe("%i0 = add nsw i32 %arg0, 1");
    expect(printInst(br!)).toBe("br label %bb1");
    const names = new LocalNumbers(1, fn.view());
    expect(printInst(add!, names)).toBe("%2 = add nsw i32 %0, 1");
  });

  it("shows what is broken instead of failing", () => {
    const detached = makeInst(Op.Add, i32, [constI32(1), constI32(2)], null);
    const use = makeInst(Op.Mul, i32, [detached, detached], null, [], Flag.Nuw);
    expect(printInst(use, new LocalNumbers(0, fn.view()))).toBe(
      "%<detached> = mul nuw i32 %<detached>, %<detached>",
    );
    expect(printInst(makeInst(Op.Br, use.type, [], null, [new Block()]))).toBe("%i-1 = br label %bb-1");
    const empty = parseModule("", "x").functions;
    expect(empty).toEqual([]);
  });

  it("prints constants with their types", () => {
    expect(printConstant(constInt(i64, -5n))).toBe("i64 -5");
    expect(printConstant(module.variables[0]!)).toBe("ptr @g");
    expect(printConstant(new ConstZero(i32))).toBe("i32 0");
    const gep = new ConstExpr(
      ptr,
      Op.GetElementPtr,
      [module.variables[0]!, constI32(4)],
      Flag.InBounds | Flag.Nusw,
      i8,
    );
    expect(printConstant(gep)).toBe("ptr getelementptr inbounds (i8, ptr @g, i32 4)");
  });

  it("spells a byte array alike whichever class holds it", () => {
    const type = arrayType(2, i8);
    const text = 'c"A\\FF"';
    expect(printConstant(new ConstData(type, Uint8Array.of(65, 255)))).toBe(`[2 x i8] ${text}`);
    expect(printConstant(new ConstAggregate(type, [constInt(i8, 65), constInt(i8, -1)]))).toBe(
      `[2 x i8] ${text}`,
    );
  });

  it("does not depend on the order of attributes", () => {
    const listing = (names: string[], strings: [string, string][]): string => {
      const copy = parseModule("declare void @f()", "x");
      const set = new AttributeSet(new Map(names.map((name) => [name, true])), new Map(strings));
      copy.functions[0]!.attributes = new AttributeList(set, noAttributes, []);
      return printModule(copy);
    };
    expect(
      listing(
        ["nounwind", "cold"],
        [
          ["b", ""],
          ["a", "1"],
        ],
      ),
    ).toBe(
      listing(
        ["cold", "nounwind"],
        [
          ["a", "1"],
          ["b", ""],
        ],
      ),
    );
    expect(listing(["cold"], [["a", "1"]])).toContain('attributes #0 = { cold "a"="1" }');
  });

  it("sees calls that pass metadata", () => {
    const text =
      'declare i64 @llvm.read_register.i64(metadata)\n\ndefine i64 @f() {\n  %1 = call i64 @llvm.read_register.i64(metadata !{!"rsp"})\n  ret i64 %1\n}\n';
    const call = parseModule(text, "x").functions[1]!.view().blocks[0]!.insts[0]!;
    const operand = call.operands[1] as Extract<Value, { valueKind: "metadata" }>;
    expect(operand.text).toBe("rsp");
    expect(printModule(parseModule(text, "x"))).toContain(text);
  });
});

const assembler = ["llvm-as-19", "llvm-as"].find((tool) => {
  const { status, stdout } = spawnSync(tool, ["--version"], { encoding: "utf8" });
  return status === 0 && Number(/LLVM version (\d+)/.exec(stdout)?.[1]) >= 19;
});

describe.skipIf(assembler === undefined)("LLVM", () => {
  it.each(fixtureNames.filter((name) => name !== "newer"))("takes %s.tir", (name) => {
    const { status, stderr } = spawnSync(
      assembler!,
      [join(fixtureFolder, `${name}.tir`), "-o", "/dev/null"],
      {
        encoding: "utf8",
      },
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });
});
