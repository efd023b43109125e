/** Conventions of closed functions: what is read off bodies, what is chosen, and what may not be touched. */

import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { type ArgumentFlow, argumentFlow, dyingValue } from "../../lto/codegen/ipra/argument-flow.js";
import { chooseConventions } from "../../lto/codegen/ipra/choose-conventions.js";
import { PassedValues } from "../../lto/codegen/ipra/passed-values.js";
import { decideConventions } from "../../lto/codegen/program/conventions.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import { hasRegister } from "../../lto/codegen/register-set.js";
import type { Convention } from "../../lto/codegen/target.js";
import { finish } from "../../lto/ir/steps.js";
import { buildCallGraph } from "../../lto/link/index.js";
import {
  argumentPlace,
  defaultConvention,
  extraArguments,
  extraResults,
  integerResults,
  substitutes,
  withArgument,
} from "../../lto/x64/frame/convention.js";
import { calleeSavedMask, integerArguments, R14, RBX, RDI, RDX, RSI } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { codegenOptions, link } from "./compile.js";

/** A function of two parameters; the first lives across a call. */
const plain: ArgumentFlow = {
  positions: 2,
  narrow: 0,
  lives: 1,
  living: 1,
  sources: 10,
  rigid: false,
  sites: [],
  mustTail: [],
  leavesByMustTail: false,
  mismatched: [],
};
const site = (callee: number, ...sources: number[]): ArgumentFlow["sites"][number] => ({
  callee,
  sources,
  tail: false,
});
const jump = (callee: number, ...sources: number[]): ArgumentFlow["sites"][number] => ({
  ...site(callee, ...sources),
  tail: true,
});
const { bytes } = x64Target.conventions;
const argumentLimit = x64Target.costs.calls.integers;
/** @param long by substitute, whether its name is long */
const substitutesOf = (...long: boolean[] | [boolean[]]) => ({ substituteIsLong: long.flat(), bytes });

/** By function, the position of the argument in each of so many substitutes. */
const choose = (flows: readonly ArgumentFlow[], closed = flows.map(() => 1), count = 1): number[] => [
  ...chooseConventions(flows, Uint8Array.from(closed), substitutesOf(new Array<boolean>(count).fill(false))),
];

/** The flow of the function `f` of a module. */
function flowOf(text: string): ArgumentFlow {
  const module = parseModule(text, "test.ll");
  const functions = definedFunctions(module);
  return argumentFlow(
    functions.find((fn) => fn.name === "f")!,
    (callee) => functions.indexOf(callee as never),
    argumentLimit,
  );
}

describe("chooseConventions", () => {
  it("gives the register to a context that is handed down", () => {
    const top = { ...plain, sites: [site(1, 0), site(2, 0)] };
    expect(choose([top, plain, plain], [0, 1, 1])).toEqual([-1, 0, 0]);
  });
  it("takes the context wherever it comes among the arguments", () => {
    const second = { ...plain, lives: 2 };
    const top = { ...plain, sites: [site(1, 0), site(2, dyingValue, 0)] };
    expect(choose([top, plain, second], [0, 1, 1])).toEqual([-1, 0, 1]);
  });
  it("gives a second register to a second context", () => {
    const both = { ...plain, lives: 3 };
    const top = { ...both, sites: [site(1, 0, 1), site(2, 1, 0)] };
    expect(choose([top, both, both], [0, 1, 1], 2)).toEqual([-1, -1, 1, 0, 0, 1]);
  });
  it("passes no narrow argument in a register with a long name", () => {
    const narrow = { ...plain, lives: 3, narrow: 1 };
    const top = { ...plain, lives: 3, sites: [site(1, 0, 1), site(1, 0, 1)] };
    const closed = Uint8Array.of(0, 1);
    expect([...chooseConventions([top, narrow], closed, substitutesOf(false))]).toEqual([-1, 0]);
    expect([...chooseConventions([top, narrow], closed, substitutesOf(true))]).toEqual([-1, 1]);
    expect([...chooseConventions([top, narrow], closed, substitutesOf(true, false))]).toEqual([-1, -1, 1, 0]);
  });
  it("leaves open and rigid functions alone", () => {
    expect(choose([{ ...plain, sites: [site(1, 0)] }, plain], [0, 0])).toEqual([-1, -1]);
    expect(
      choose([
        { ...plain, rigid: true },
        { ...plain, positions: 0 },
      ]),
    ).toEqual([-1, -1]);
  });
  it("leaves functions alone that only dying values are passed to", () => {
    const caller = { ...plain, lives: 0, sites: [1, 1, 1].map((f) => site(f, dyingValue)) };
    const callee = { ...plain, lives: 0 };
    expect(choose([caller, callee], [0, 1])).toEqual([-1, -1]);
  });
  it("leaves the callee of a tail call alone when the caller would have to restore the register", () => {
    const caller = { ...plain, lives: 0, sites: [jump(1, 0)] };
    expect(choose([caller, plain], [0, 1])).toEqual([-1, -1]);
    expect(choose([caller, plain], [1, 1])).toEqual([0, 0]);
  });
  it("never chooses what a musttail call reaches", () => {
    const caller = { ...plain, sites: [site(1, 0), site(1, 0)], mustTail: [1] };
    expect(choose([caller, plain], [1, 1])[1]).toBe(-1);
  });
  it("decides recursive functions together", () => {
    const recursive = (self: number): ArgumentFlow => ({ ...plain, sites: [site(self, 0)] });
    expect(choose([recursive(1), recursive(0)])).toEqual([0, 0]);
  });
  it("counts calls of unknown code only where a parameter is passed on", () => {
    const caller = { ...plain, lives: 0, sites: [site(-1, 0)] };
    expect(choose([caller])).toEqual([-1]);
  });
});

it("PassedValues names the only value in a register", () => {
  const passed = new PassedValues(4, 2);
  passed.count(1, 3, false, 1);
  passed.count(1, 3, true, 1);
  expect([passed.only(0, -1), passed.only(1, -1), passed.only(1, 0), passed.tails[1]]).toEqual([-1, 3, 3, 1]);
  passed.count(1, 2, false, 1);
  expect(passed.only(1, 2)).toBe(-1);
  passed.count(1, 2, false, -1);
  passed.count(1, dyingValue, false, 1);
  expect([passed.only(1, -1), passed.dying[1], passed.totals[1]]).toEqual([3, 1, 3]);
});

describe("argumentFlow", () => {
  const declarations = "declare void @u()\ndefine void @g(ptr %p) {\n  ret void\n}\n";
  it("sees parameters that live across calls, in a block and through a loop", () => {
    const body = (code: string): ArgumentFlow =>
      flowOf(`${declarations}define void @f(i32 %i, ptr %p) {\n${code}\n}`);
    expect(body("call void @u()\nstore i32 1, ptr %p\nret void").lives).toBe(2);
    expect(body("store i32 1, ptr %p\ncall void @u()\nret void").lives).toBe(0);
    const loop = "br label %l\nl:\nstore i32 %i, ptr %p\ncall void @u()\nbr label %l";
    expect(body(loop).lives).toBe(3);
  });
  it("tells the own parameters, values that live on, and dying ones apart", () => {
    const flow = flowOf(`${declarations}define void @f(ptr %p, ptr %q) {
      %a = load ptr, ptr %q
      %b = load ptr, ptr %a
      call void @g(ptr %q)
      call void @g(ptr %a)
      call void @g(ptr %b)
      store i32 1, ptr %a
      ret void
    }`);
    expect(flow.sites.map((s) => s.sources).reverse()).toEqual([[1], [2], [dyingValue]]);
    expect(flow).toMatchObject({ positions: 2, sources: 3 });
  });
  it("counts integer parameters only, and none after one that is passed otherwise", () => {
    const positions = (parameters: string): number =>
      flowOf(`define void @f(${parameters}) {\n  ret void\n}`).positions;
    expect(positions("double %d, i32 %n, float %e, ptr %p")).toBe(2);
    expect(positions("i32 %n, i128 %x, ptr %p")).toBe(1);
    expect(positions("ptr byval(i64) %x, ptr %p")).toBe(0);
    expect(positions("i64 %a, ptr nest %x, ptr %p")).toBe(1);
    expect(positions("i8 %a, i8 %b, i8 %c, i8 %d, i8 %e, i8 %f, i8 %g")).toBe(6);
  });
  it("gives no position to what may come after a hidden result pointer", () => {
    expect(flowOf("define [4 x i64] @f(ptr %p) {\n  ret [4 x i64] zeroinitializer\n}").positions).toBe(0);
  });
  it.each([
    ["variable arguments", "define void @f(ptr %p, ...) {\n  ret void\n}"],
    ["naked", "define void @f(ptr %p) naked {\n  ret void\n}"],
    ["optnone", "define void @f(ptr %p) noinline optnone {\n  ret void\n}"],
    ...[
      '"fentry-call"="true"',
      '"instrument-function-entry-inlined"="mcount"',
      '"patchable-function-entry"="5"',
      '"split-stack"',
      '"probe-stack"="__probe"',
    ].map((attribute): [string, string] => [
      `${attribute}: code that runs before the entry`,
      `define void @f(ptr %p) ${attribute} {\n  ret void\n}`,
    ]),
    [
      "setjmp",
      "declare i32 @s(ptr) returns_twice\ndefine void @f(ptr %p) {\n  %a = call i32 @s(ptr %p) returns_twice\n  ret void\n}",
    ],
  ])("is rigid: %s", (_, text) => {
    expect(flowOf(text).rigid).toBe(true);
  });
  it("is not rigid when the stack is probed by the function itself", () => {
    const text = 'define void @f(ptr %p) "probe-stack"="inline-asm" {\n  ret void\n}';
    expect(flowOf(text).rigid).toBe(false);
  });
  it("lists callees whose definition disagrees with the call", () => {
    const text = (call: string): string =>
      `define void @f(ptr %p) {\n  call ${call}\n  ret void\n}\ndefine i64 @h(i64 %a, ptr byval(i64) %b) {\n  ret i64 %a\n}`;
    expect(flowOf(text("i64 @h(i64 1, ptr byval(i64) %p)")).mismatched).toEqual([]);
    for (const call of [
      "i64 @h(i64 1, ptr %p)",
      "i64 @h(i64 1, ptr byval(i32) %p)",
      "i64 @h(i64 1)",
      "i32 @h(i64 1, ptr byval(i64) %p)",
      "i64 (i64, ...) @h(i64 1, ptr byval(i64) %p)",
    ])
      expect(flowOf(text(call)).mismatched).toEqual([1]);
  });
});

/** The conventions of a program's functions, by name. */
function conventionsOf(text: string, options = {}): Record<string, Convention> {
  const { module, summary } = link(text);
  const functions = definedFunctions(module);
  const graph = buildCallGraph(summary);
  const open = Uint8Array.from(graph.symbolOf, (_, node) => graph.openToCallers[node]!);
  const conventions = finish(decideConventions(module, open, { ...codegenOptions, ...options }, x64Target));
  return Object.fromEntries(functions.map((fn, i) => [fn.name, conventions[i]!]));
}

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
    const first = withArgument(defaultConvention, 0, 0);
    expect(conventionsOf(text)).toEqual({ context: first, main: defaultConvention });
    expect(conventionsOf(text, { level: "O0" })).toEqual({ context: 0, main: 0 });
    const module = parseModule(text, "test.ll");
    expect([...finish(decideConventions(module, Uint8Array.of(1, 1), codegenOptions, x64Target))]).toEqual([
      0, 0,
    ]);
  });
});

describe("extra argument and result registers", () => {
  const seven = "i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g";
  const ones = "i64 1, i64 1, i64 1, i64 1, i64 1, i64 1, i64 1";
  /** The flags of the function `f` in a program that calls it. */
  const extrasOf = (definition: string, call = `call i64 @f(${ones})`, more = ""): Convention => {
    const main = `define i32 @main() {\n  ${call}\n  ret i32 0\n}`;
    return conventionsOf(`${definition}\n${main}\n${more}`).f! & (extraArguments | extraResults);
  };
  const taking = (parameters: string, attributes = "", linkage = "internal"): string =>
    `define ${linkage} i64 @f(${parameters}) ${attributes} {\n  ret i64 1\n}`;

  it("where the platform's do not suffice", () => {
    expect(extrasOf(taking(seven))).toBe(extraArguments);
    expect(extrasOf(taking("i64 %a"), "call i64 @f(i64 1)")).toBe(0);
    expect(
      extrasOf(taking("i64 %a, i128 %b, i128 %c, i128 %d"), "call i64 @f(i64 1, i128 1, i128 1, i128 1)"),
    ).toBe(extraArguments);
    const doubles = Array.from({ length: 9 }, (_, i) => `double %d${i}`).join(", ");
    expect(extrasOf(taking(doubles), `call i64 @f(${doubles.replaceAll(/%d\d/g, "1.0")})`)).toBe(
      extraArguments,
    );
  });
  it("for results of several parts", () => {
    const giving = (type: string): Convention =>
      extrasOf(`define internal ${type} @f() {\n  ret ${type} zeroinitializer\n}`, `call ${type} @f()`);
    expect(giving("{ i64, i64, i64 }")).toBe(0);
    expect(giving("{ i64, i64, ptr, i1 }")).toBe(extraResults);
    expect(giving("[9 x i64]")).toBe(extraResults);
    expect(giving("[10 x i64]")).toBe(0);
    expect(giving("{ double, float, double }")).toBe(extraResults);
    expect(giving("[8 x double]")).toBe(extraResults);
    expect(giving("[9 x double]")).toBe(0);
    expect(giving("<8 x i64>")).toBe(0);
    expect(giving("<16 x i64>")).toBe(extraResults);
    expect(giving("{ x86_fp80, x86_fp80, x86_fp80 }")).toBe(0);
    expect(giving("i256")).toBe(extraResults);
    expect(giving("{}")).toBe(0);
  });

  it.each([
    [
      "its address is taken",
      taking(seven),
      `call void @sink(ptr @f)\n  call i64 @f(${ones})`,
      "declare void @sink(ptr)",
    ],
    [
      "it has an alias",
      taking(seven),
      `call i64 @g(${ones})\n  call i64 @f(${ones})`,
      "@g = internal alias i64 (i64), ptr @f",
    ],
    [
      "variable arguments",
      taking(`${seven}, ...`),
      `call i64 (i64, i64, i64, i64, i64, i64, i64, ...) @f(${ones})`,
    ],
    ["naked", taking(seven, "naked").replace("ret i64 1", "unreachable"), undefined],
    ["optnone", taking(seven, "noinline optnone"), undefined],
    ["a call with fewer arguments", taking(seven), "call i64 @f(i64 1)"],
    ["a call with another result", taking(seven), `call i32 @f(${ones})`],
    ["an old-style call", taking(seven), `call i64 (...) @f(${ones})`],
    [
      "a call that passes a copy",
      taking(`${seven}, ptr %h`),
      `%x = alloca i64\n  call i64 @f(${ones}, ptr byval(i64) %x)`,
    ],
    [
      "setjmp",
      `declare i32 @s() returns_twice\n${taking(seven).replace("ret", "%x = call i32 @s() returns_twice\n  ret")}`,
      undefined,
    ],
    [
      "a musttail call of it",
      taking(seven),
      `call i64 @g(${ones})`,
      `define internal i64 @g(${seven}) {\n  %r = musttail call i64 @f(${seven})\n  ret i64 %r\n}`,
    ],
    [
      "a musttail call in it",
      taking(seven).replace("ret i64 1", `%r = musttail call i64 @g(${seven})\n  ret i64 %r`),
      undefined,
      `declare i64 @g(${seven})`,
    ],
  ])("not: %s", (_, definition, call, more = "") => {
    expect(extrasOf(definition, call, more)).toBe(0);
  });
  it("not: visible definitions", () => {
    const text = `${taking(seven, "", "")}\ndefine i32 @main() {\n  call i64 @f(${ones})\n  ret i32 0\n}`;
    const module = parseModule(text, "test.ll");
    expect([...finish(decideConventions(module, Uint8Array.of(1, 1), codegenOptions, x64Target))]).toEqual([
      0, 0,
    ]);
  });
  it("not: functions that are not optimised", () => {
    const text = `${taking(seven)}\ndefine i32 @main() {\n  call i64 @f(${ones})\n  ret i32 0\n}`;
    expect(conventionsOf(text, { level: "O0" }).f).toBe(0);
  });
});

it("a convention renames registers", () => {
  expect(substitutes).toEqual([R14, RBX]);
  expect(argumentPlace(defaultConvention, RDI)).toBe(RDI);
  const both = withArgument(withArgument(defaultConvention, 0, 1), 1, 0);
  expect([RDI, RSI, RDX].map((r) => argumentPlace(both, r))).toEqual([RBX, R14, RDX]);
  expect(argumentPlace(withArgument(both, 0, -1), RSI)).toBe(RSI);
});
it("substitutes are preserved by the platform's convention, other registers of a convention are not", () => {
  for (const register of substitutes) expect(hasRegister(calleeSavedMask, register)).toBe(true);
  for (const register of [...integerResults, ...integerArguments])
    expect(hasRegister(calleeSavedMask, register)).toBe(false);
});
