/**
 * Legalised forms of small functions, as text. `npm run bless` rewrites the expectations; review them as a diff.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseModule, printFunction } from "../../formats/text/index.js";
import { checkLegal, type LegalFunction } from "../../lto/codegen/legalize/index.js";
import { noAttributeList } from "../../lto/ir/attributes.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { makeInst, Op } from "../../lto/ir/instructions.js";
import { Func } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import { functionType, structType, voidType } from "../../lto/ir/types.js";
import { expectFile } from "../support/expected.js";
import { legalized } from "../support/lowering.js";

const folder = fileURLToPath(new URL("./golden/", import.meta.url));
const cases = readdirSync(folder).filter((name) => name.endsWith(".ll"));

/** A `ret` of several values has no text form of its own: shown as a call that takes them. */
function spellOutResults(legal: LegalFunction): void {
  for (const block of legal.body.blocks) {
    const ret = block.terminator;
    if (ret.op !== Op.Ret || ret.operands.length < 2) continue;
    const type = functionType(voidType, legal.resultTypes);
    raw(block).insts.pop();
    block.append(
      makeInst(Op.Call, voidType, [new Func("results", type), ...ret.operands], {
        functionType: type,
        callingConvention: 0,
        attributes: noAttributeList,
        tail: "",
        argumentCount: ret.operands.length,
        bundles: [],
      }),
    );
    block.append(makeInst(Op.Unreachable, voidType, [], null));
  }
}

/** The legal function under its own signature, so that it prints like any other. */
function show(legal: LegalFunction): string {
  spellOutResults(legal);
  const { resultTypes: results } = legal;
  const result = results.length === 0 ? voidType : results.length === 1 ? results[0]! : structType(results);
  const type = functionType(
    result,
    legal.args.map((a) => a.argument.type),
  );
  const shown = Object.assign(new Func(legal.fn.name, type), {
    args: legal.args.map((a) => a.argument),
  });
  shown.define(legal.body);
  return printFunction(shown);
}

function legalText(name: string): string {
  const module = parseModule(readFileSync(folder + name, "utf8"), name);
  const texts: string[] = [];
  for (const fn of module.functions) {
    if (fn.isDeclaration) continue;
    const legal = legalized(fn, module.dataLayout);
    expect(checkLegal(legal)).toEqual([]);
    const pairs = legal.args.filter((a) => a.attributes.has("tsc.pair")).map((a) => a.argument.index);
    const notes = [
      legal.sretDemoted ? "; result through the first argument\n" : "",
      pairs.length > 0 ? `; pairs start at ${pairs.join(", ")}\n` : "",
    ];
    texts.push(notes.join("") + show(legal));
  }
  return texts.join("\n");
}

describe("legalised functions", () => {
  for (const name of cases)
    it(name, () => {
      const actual = legalText(name);
      const path = folder + name.replace(/\.ll$/, ".expected");
      expectFile(actual, path);
    });
});

describe("what cannot be lowered", () => {
  const layout = 'target datalayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n';
  const rejected: readonly (readonly [string, string])[] = [
    [
      "intrinsic llvm.matrix.transpose.v4f32",
      "define <4 x float> @f(<4 x float> %a) {\n  %r = call <4 x float> @llvm.matrix.transpose.v4f32(<4 x float> %a, i32 2, i32 2)\n  ret <4 x float> %r\n}\ndeclare <4 x float> @llvm.matrix.transpose.v4f32(<4 x float>, i32, i32)\n",
    ],
  ];
  for (const [construct, text] of rejected)
    it(construct, () => {
      const module = parseModule(layout + text, "rejected.ll");
      const fn = module.functions.find((f) => !f.isDeclaration)!;
      expect(() => legalized(fn, module.dataLayout)).toThrow(UnsupportedError);
      const again = parseModule(layout + text, "rejected.ll");
      const other = again.functions.find((f) => !f.isDeclaration)!;
      expect(() => legalized(other, again.dataLayout)).toThrow(`${construct} (in @f)`);
    });
});

describe("a function that is legal already", () => {
  it("is left as it is", () => {
    const module = parseModule(
      "define i32 @f(i32 %a, ptr %p) {\n  %v = load i32, ptr %p, align 4\n  %r = add nsw i32 %a, %v\n  ret i32 %r\n}\n",
      "legal.ll",
    );
    const fn = module.functions[0]!;
    const body = fn.view();
    const insts = body.blocks[0]!.insts;
    const before = [...insts];
    const legal = legalized(fn, module.dataLayout);
    expect(legal.body).toBe(body);
    expect(legal.body.blocks[0]!.insts).toBe(insts);
    expect(insts).toEqual(before);
    expect(legal.args.map((a) => a.argument)).toEqual(fn.args);
  });
});

describe("a function whose result is legalised", () => {
  it("is rewritten though it never returns", () => {
    const text = (result: string) =>
      `define ${result} @f() {\n  call void @abort()\n  unreachable\n}\ndeclare void @abort()\n`;
    const isRewritten = (result: string): boolean => {
      const module = parseModule(text(result), "never.ll");
      return legalized(module.functions.find((f) => !f.isDeclaration)!, module.dataLayout).isRewritten;
    };
    expect(["void", "i32", "ptr"].map(isRewritten)).toEqual([false, false, false]);
    expect(["i128", "{ i64, i64 }", "i7"].map(isRewritten)).toEqual([true, true, true]);
  });
});
