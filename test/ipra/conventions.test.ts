/** Conventions of closed functions: what is read off bodies, what is chosen, and what may not be touched. */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import {
  type ArgumentFlow,
  argumentFlow,
  dyingValue,
  ownParameter,
} from "../../lto/codegen/ipra/argument-flow.js";
import { chooseConventions } from "../../lto/codegen/ipra/choose-conventions.js";
import { decideConventions, definedFunctions } from "../../lto/program.js";
import { argumentPlace, Convention } from "../../lto/x64/convention.js";
import { RBX, RDI, RSI } from "../../lto/x64/registers.js";
import { codegenOptions } from "./compile.js";

const plain: ArgumentFlow = {
  hasFirst: true,
  firstLives: true,
  living: 1,
  rigid: false,
  sites: [],
  mustTail: [],
};
const site = (callee: number, source: number, tail = false): ArgumentFlow["sites"][number] => ({
  callee,
  source,
  tail,
});
const choose = (flows: readonly ArgumentFlow[], closed = flows.map(() => 1)): number[] => [
  ...chooseConventions(flows, Uint8Array.from(closed)),
];

/** The flow of the function `f` of a module. */
function flowOf(text: string): ArgumentFlow {
  const module = parseModule(text, "test.ll");
  const functions = definedFunctions(module);
  return argumentFlow(functions.find((fn) => fn.name === "f")!, (callee) =>
    functions.indexOf(callee as never),
  );
}

describe("chooseConventions", () => {
  it("gives the register to a context that is handed down", () => {
    const top = { ...plain, sites: [site(1, ownParameter), site(2, ownParameter)] };
    expect(choose([top, plain, plain], [0, 1, 1])).toEqual([0, 1, 1]);
  });
  it("leaves open and rigid functions alone", () => {
    expect(choose([{ ...plain, sites: [site(1, ownParameter)] }, plain], [0, 0])).toEqual([0, 0]);
    expect(
      choose([
        { ...plain, rigid: true },
        { ...plain, hasFirst: false },
      ]),
    ).toEqual([0, 0]);
  });
  it("leaves functions alone that only dying values are passed to", () => {
    const caller = { ...plain, sites: [1, 1, 1].map((f) => site(f, dyingValue)) };
    const callee = { ...plain, firstLives: false };
    expect(choose([caller, callee], [0, 1])).toEqual([0, 0]);
  });
  it("leaves the callee of a tail call alone when the caller would have to restore the register", () => {
    const caller = { ...plain, firstLives: false, sites: [site(1, ownParameter, true)] };
    expect(choose([caller, plain], [0, 1])).toEqual([0, 0]);
    expect(choose([caller, plain], [1, 1])).toEqual([1, 1]);
  });
  it("never chooses what a musttail call reaches", () => {
    const caller = { ...plain, sites: [site(1, ownParameter), site(1, ownParameter)], mustTail: [1] };
    expect(choose([caller, plain], [1, 1])[1]).toBe(0);
  });
  it("decides recursive functions together", () => {
    const recursive = (self: number): ArgumentFlow => ({ ...plain, sites: [site(self, ownParameter)] });
    expect(choose([recursive(1), recursive(0)])).toEqual([1, 1]);
  });
});

describe("argumentFlow", () => {
  const declarations = "declare void @u()\ndefine void @g(ptr %p) {\n  ret void\n}\n";
  it("sees parameters that live across calls, in a block and through a loop", () => {
    const body = (code: string): ArgumentFlow =>
      flowOf(`${declarations}define void @f(ptr %p) {\n${code}\n}`);
    expect(body("call void @u()\nstore i32 1, ptr %p\nret void").firstLives).toBe(true);
    expect(body("store i32 1, ptr %p\ncall void @u()\nret void").firstLives).toBe(false);
    const loop = "br label %l\nl:\nstore i32 1, ptr %p\ncall void @u()\nbr label %l";
    expect(body(loop).firstLives).toBe(true);
  });
  it("tells the own parameter, values that live on, and dying ones apart", () => {
    const flow = flowOf(`${declarations}define void @f(ptr %p, ptr %q) {
      %a = load ptr, ptr %q
      %b = load ptr, ptr %a
      call void @g(ptr %p)
      call void @g(ptr %a)
      call void @g(ptr %b)
      store i32 1, ptr %a
      ret void
    }`);
    const sources = flow.sites.map((s) => s.source).reverse();
    expect(sources[0]).toBe(ownParameter);
    expect(sources[1]).toBeGreaterThan(0);
    expect(sources[2]).toBe(dyingValue);
  });
  it("takes the first integer parameter, after floating ones", () => {
    const flow = flowOf("define double @f(double %d, i32 %n) {\n  ret double %d\n}");
    expect(flow).toMatchObject({ hasFirst: true, rigid: false });
  });
  it.each([
    ["variable arguments", "define void @f(ptr %p, ...) {\n  ret void\n}"],
    ["an aggregate result", "define { i64, i64 } @f(ptr %p) {\n  ret { i64, i64 } zeroinitializer\n}"],
    ["an i128", "define void @f(i128 %x, ptr %p) {\n  ret void\n}"],
    ["byval", "define void @f(ptr byval(i64) %x, ptr %p) {\n  ret void\n}"],
    ["naked", "define void @f(ptr %p) naked {\n  ret void\n}"],
    [
      "setjmp",
      "declare i32 @s(ptr) returns_twice\ndefine void @f(ptr %p) {\n  %a = call i32 @s(ptr %p) returns_twice\n  ret void\n}",
    ],
  ])("is rigid: %s", (_, text) => {
    expect(flowOf(text).rigid).toBe(true);
  });
});

describe("decideConventions", () => {
  const text = `
    declare void @u()
    define internal void @context(ptr %p) minsize {
      call void @u()
      store i32 1, ptr %p
      ret void
    }
    define void @main(ptr %p) minsize {
      call void @context(ptr %p)
      call void @context(ptr %p)
      store i32 2, ptr %p
      ret void
    }`;
  it("leaves functions that are not optimised alone", () => {
    const module = parseModule(text, "test.ll");
    const open = Uint8Array.from(definedFunctions(module), (fn) => (fn.isLocal ? 0 : 1));
    expect([...decideConventions(module, open, codegenOptions)]).toEqual([1, 0]);
    expect([...decideConventions(module, open, { ...codegenOptions, level: "O0" })]).toEqual([0, 0]);
    expect([...decideConventions(module, open.fill(1), codegenOptions)]).toEqual([0, 0]);
  });
});

it("a convention renames one register", () => {
  expect(argumentPlace(Convention.Default, RDI)).toBe(RDI);
  expect(argumentPlace(Convention.FirstInRbx, RDI)).toBe(RBX);
  expect(argumentPlace(Convention.FirstInRbx, RSI)).toBe(RSI);
});
