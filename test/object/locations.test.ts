/** Source locations: where passes merge, drop and move them, and how a program's table takes those of inputs. */
import { describe, expect, it } from "vitest";
import type { DILexicalBlock, DILocation, DISubprogram } from "../../lto/ir/debug/nodes.js";
import { blankNode } from "../../lto/ir/debug/nodes.js";
import { fieldsOf } from "../../lto/ir/debug/schema.js";
import { Func } from "../../lto/ir/module.js";
import { Origins } from "../../lto/ir/origins.js";
import { functionType, voidType } from "../../lto/ir/types.js";

function fn(name: string): Func {
  const made = new Func(name, functionType(voidType, []));
  made.subprogram = { ...blankNode("DISubprogram", true, fieldsOf("DISubprogram")), name };
  return made;
}
const block = (scope: DISubprogram | DILexicalBlock): DILexicalBlock => ({
  ...blankNode("DILexicalBlock", true, fieldsOf("DILexicalBlock")),
  scope,
});

const f = fn("f");
const g = fn("g");
const h = fn("h");

describe("one instruction that does for two", () => {
  const inner = block(f.subprogram!);
  const other = block(f.subprogram!);

  it("has the line that both have", () => {
    const origins = new Origins();
    const a = origins.located(f, origins.place(7, 3, inner, null));
    const b = origins.located(f, origins.place(7, 9, inner, null));
    expect(origins.locationOf(origins.merged(a, b))).toMatchObject({ line: 7, column: 0, scope: inner });
    expect(origins.merged(a, a)).toBe(a);
  });
  it("has no line but the nearest scope where lines differ", () => {
    const origins = new Origins();
    const a = origins.located(f, origins.place(7, 3, inner, null));
    const b = origins.located(f, origins.place(8, 3, other, null));
    expect(origins.locationOf(origins.merged(a, b))).toMatchObject({ line: 0, scope: f.subprogram });
    expect(origins.merged(a, 0)).toBe(0);
  });
  it("is in the caller where only one was inlined, or from elsewhere", () => {
    const origins = new Origins();
    const call = origins.located(f, origins.place(5, 1, f.subprogram!, null));
    const inlined = origins.moved(g, origins.located(g, origins.place(2, 1, g.subprogram!, null)), call);
    expect(origins.locationOf(inlined)).toMatchObject({
      line: 2,
      scope: g.subprogram,
      inlinedAt: { line: 5, scope: f.subprogram },
    });
    const own = origins.located(f, origins.place(5, 8, f.subprogram!, null));
    expect(origins.locationOf(origins.merged(inlined, own))).toMatchObject({ line: 5, scope: f.subprogram });
  });
});

describe("calls at one place that are inlined", () => {
  const origins = new Origins();
  const call = origins.located(f, origins.place(5, 1, f.subprogram!, null));
  const inG = origins.located(g, origins.place(2, 1, g.subprogram!, null));
  const inlined = [0, 1, 2].map(() => origins.moved(g, inG, origins.inlined(call, f)));
  const places = (numbers: readonly number[]): DILocation[] =>
    numbers.map((number) => origins.locationOf(number)!);

  it("are several, each at that place", () => {
    const calls = places(inlined).map(({ inlinedAt }) => inlinedAt!);
    for (const { line, scope } of calls) expect({ line, scope }).toEqual({ line: 5, scope: f.subprogram });
    expect(new Set(calls).size).toBe(3);
  });
  it("stay so where all of it is inlined in turn", () => {
    const outer = origins.located(h, origins.place(8, 1, h.subprogram!, null));
    const moved = inlined.map((number) => origins.moved(f, number, origins.inlined(outer, h)));
    const calls = places(moved).map(({ inlinedAt }) => inlinedAt!);
    expect(new Set(calls).size).toBe(3);
    for (const { inlinedAt } of calls) expect(inlinedAt?.line).toBe(8);
    const again = inlined.map((number) => origins.moved(f, number, outer));
    expect(new Set(places(again).map(({ inlinedAt }) => inlinedAt)).size).toBe(3);
    expect(new Set(places(again).map(({ inlinedAt }) => inlinedAt!.inlinedAt)).size).toBe(1);
  });
  it("are several where nothing is known of the calls, too", () => {
    const unknown = [0, 1].map(() => origins.moved(g, inG, origins.inlined(0, f)));
    const calls = places(unknown).map(({ inlinedAt }) => inlinedAt!);
    expect(new Set(calls).size).toBe(2);
    for (const { line, scope } of calls) expect({ line, scope }).toEqual({ line: 0, scope: f.subprogram });
  });
  it("have only the caller in common", () => {
    const both = origins.locationOf(origins.merged(inlined[0]!, inlined[1]!));
    expect(both).toMatchObject({ scope: f.subprogram, inlinedAt: null });
  });
});

describe("an instruction for several", () => {
  it("is where the first was, and names the others, wherever it goes", () => {
    const origins = new Origins();
    const [a, b] = [3, 4].map((line) => origins.located(g, origins.place(line, 1, g.subprogram!, null)));
    const both = origins.standingFor([0, a!, b!, a!]);
    expect(origins.locationOf(both)?.line).toBe(3);
    expect(origins.othersOf(both)).toEqual([b]);
    const call = origins.located(f, origins.place(9, 1, f.subprogram!, null));
    const moved = origins.moved(g, both, call);
    expect(origins.othersOf(moved).map((other) => origins.locationOf(other))).toMatchObject([
      { line: 4, inlinedAt: { line: 9 } },
    ]);
  });
});

it("code that runs elsewhere has no line; a call keeps its scope", () => {
  const origins = new Origins();
  const a = origins.located(f, origins.place(7, 3, f.subprogram!, null));
  expect(origins.unplaced(a, false)).toBe(0);
  expect(origins.locationOf(origins.unplaced(a, true))).toMatchObject({ line: 0, scope: f.subprogram });
});

it("a program's table takes those of inputs", () => {
  const input = new Origins();
  const before = input.located(f, input.place(7, 3, f.subprogram!, null));
  const program = new Origins();
  program.located(g, program.place(1, 1, g.subprogram!, null));
  input.join(program);
  const joined = input.joined(before);
  expect(program.locationOf(joined)?.line).toBe(7);
  expect(input.located(f, input.place(8, 1, f.subprogram!, null))).toBe(joined + 1);
});
