/** Loops of bundles mean what they meant: programs with and without the change say the same. */
import { describe, expect, it } from "vitest";
import { indexedLoops } from "../../rolldown.loops.js";

/** What a program returns, in which `say` adds to a list. */
function run(program: string): unknown {
  const said: unknown[] = [];
  const result: unknown = new Function("say", program)((...what: unknown[]) => void said.push(what));
  return { said, result };
}

const programs: Record<string, string> = {
  "an array": "for (const x of [1, 2, 3]) say(x);",
  "an array that grows": "const a = [1]; for (const x of a) { say(x); if (a.length < 5) a.push(x * 2); }",
  "an array that shrinks": "const a = [1, 2, 3, 4]; for (const x of a) { say(x); a.pop(); }",
  "an array with holes": "for (const x of [1, , 3]) say(x);",
  "a typed array": "for (const x of new Int32Array([5, 6])) say(x);",
  "a string": "for (const x of 'a\\u{1f600}b') say(x);",
  "a set that grows": "const s = new Set([1]); for (const x of s) { say(x); if (s.size < 5) s.add(x + 1); }",
  "a map": "for (const [k, v] of new Map([[1, 2], [3, 4]])) say(k, v);",
  arguments: "(function () { for (const x of arguments) say(x); })(1, 2);",
  "a generator":
    "function* g() { yield 1; yield 2; yield 3; } for (const x of g()) { if (x === 3) break; say(x); }",
  "entries of an array": "for (const [i, x] of ['a', 'b'].entries()) say(i, x);",
  "entries of a map": "for (const [k, v] of new Map([['a', 'b']]).entries()) say(k, v);",
  "pairs, and what has no second": "for (const [a, b] of [[1, 2], [3], 'xy', new Set([7, 8])]) say(a, b);",
  "patterns in patterns": "for (const { a, b: [c, ...d] } of [{ a: 1, b: [2, 3, 4] }]) say(a, c, d);",
  defaults: "for (const [a = 7, b] of [[undefined, 1]]) say(a, b); const [c = 5] = []; say(c);",
  "no braces, and an empty body":
    "for (const x of [1, 2]) if (x > 1) say(x); else say(-x); for (const y of [1]);",
  "loops in loops":
    "outer: for (const x of [1, 2, 3]) for (const y of [x, 10]) { if (x === 2) continue outer; if (x === 3) break outer; say(x, y); }",
  "loops that end together": "for (const x of [[1], [2]]) for (const y of x) for (const z of [y, y]) say(z);",
  "loops in what is looped over":
    "for (const x of (() => { const a = []; for (const y of [1, 2]) a.push(y); return a; })()) say(x);",
  "an operator that a loop's head may not begin with": "for (const x of 'a' in { a: 1 } ? [1] : [2]) say(x);",
  closures: "const all = []; for (const x of [1, 2, 3]) all.push(() => x); for (const f of all) say(f());",
  "variables that change": "for (let x of [1, 2]) { x += 1; say(x); }",
  "what hides a variable": "const x = [1]; for (const y of x) { const x = y + 1; say(x); } say(x);",
  returns: "for (const x of [1, 2]) if (x === 2) return x;",
  exceptions: "try { for (const x of null) say(x); } catch (e) { say(e instanceof TypeError); }",
  recursion: "const walk = (t) => { for (const x of t) { walk(x); say(x.length); } }; walk([[[]], []]);",
  "inside of a generator": "function* g(a) { for (const x of a) yield* x; } say([...g([[1], [2, 3]])]);",
  tuples:
    "const [a, b] = [1, 2], c = 3; const [d] = new Set([4, 5]); const [e, f] = 'x'; say(a, b, c, d, e, f);",
  "tuples of tuples": "const [a, b] = (() => { const [c, d] = [1, 2]; return [d, c]; })(); say(a, b);",
  "only as many as there are names":
    "function* g() { yield 1; say('more'); yield 2; } const [a] = g(); say(a);",
  assignments: "let a = 1, b = 2; [a, b] = [b, a]; let x; for (x of [a, b]) say(x); say(x);",
};

describe("loops by index", () => {
  it.each(Object.keys(programs))("%s", (name) => {
    const program = `"use strict"; ${programs[name]!}`;
    // Functions and labels have the program around them.
    const rewritten = indexedLoops(`function program(say) {${program}}`);
    const before = run(program);
    expect(run(`${rewritten}\nreturn program(say);`)).toEqual(before);
    expect(before).not.toEqual({ said: [], result: undefined });
  });

  it("takes no iterator where there is an array", () => {
    const program = indexedLoops("const a = [1]; for (const x of a) say(x); const [b] = a; say(b);");
    const saved = Array.prototype[Symbol.iterator];
    try {
      Array.prototype[Symbol.iterator] = () => {
        throw new Error("asked for an iterator");
      };
      expect(() => new Function("say", program)(() => {})).not.toThrow();
    } finally {
      Array.prototype[Symbol.iterator] = saved;
    }
  });

  it("refuses a generator with a `finally`", () => {
    expect(() => indexedLoops("function* g() { try { yield 1; } finally { h(); } }")).toThrow("finally");
    expect(() =>
      indexedLoops("function* g() { (() => { try { f(); } finally { h(); } })(); }"),
    ).not.toThrow();
  });

  it("refuses names of its own", () => {
    expect(() => indexedLoops("const $list0 = 1;")).toThrow("in use");
  });
});
