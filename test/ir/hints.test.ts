import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { CloneMap, cloneBody } from "../../lto/ir/clone.js";
import {
  AliasDomain,
  AliasScope,
  intersectScopes,
  joinScopes,
  scopesMayAlias,
} from "../../lto/ir/hints/scopes.js";
import { commonTag, tbaaMayAlias, tbaaTag, tbaaType } from "../../lto/ir/hints/tbaa.js";
import {
  dropUBImplying,
  HintFlag,
  hintsOfTag,
  makeHints,
  mergeHints,
  noHints,
  permuteWeights,
  sameHints,
  withHints,
} from "../../lto/ir/hints.js";
import { verifyModule } from "../../lto/verify/verifier.js";

describe("types of accesses", () => {
  const root = tbaaType("Simple C/C++ TBAA", null, [], []);
  const char = tbaaType("omnipotent char", null, [root], [0]);
  const int = tbaaType("int", null, [char], [0]);
  const float = tbaaType("float", null, [char], [0]);
  const inner = tbaaType("inner", null, [int, float], [0, 4]);
  const outer = tbaaType("outer", null, [float, inner, int], [0, 4, 12]);
  const scalar = (type: typeof int) => tbaaTag(type, type, 0);
  const both = (a: ReturnType<typeof scalar>, b: ReturnType<typeof scalar>): boolean => {
    expect(tbaaMayAlias(a, b)).toBe(tbaaMayAlias(b, a));
    return tbaaMayAlias(a, b);
  };

  it("are one object when they are equal", () => {
    expect(tbaaType("int", null, [char], [0])).toBe(int);
    expect(tbaaTag(int, int, 0)).toBe(scalar(int));
    expect(tbaaTag(int, int, 0, -1, true)).not.toBe(scalar(int));
    expect(hintsOfTag(scalar(int))).toBe(hintsOfTag(scalar(int)));
  });

  it("scalars alias what they derive from", () => {
    expect(both(scalar(int), scalar(int))).toBe(true);
    expect(both(scalar(int), scalar(float))).toBe(false);
    expect(both(scalar(int), scalar(char))).toBe(true);
    expect(tbaaMayAlias(null, scalar(int))).toBe(true);
  });

  it("members alias what lies at their place", () => {
    expect(both(tbaaTag(inner, int, 0), tbaaTag(inner, float, 4))).toBe(false);
    expect(both(tbaaTag(inner, int, 0), tbaaTag(inner, int, 0))).toBe(true);
    expect(both(tbaaTag(outer, int, 4), tbaaTag(inner, int, 0))).toBe(true);
    expect(both(tbaaTag(outer, int, 12), tbaaTag(inner, int, 0))).toBe(false);
    expect(both(tbaaTag(outer, float, 8), tbaaTag(inner, float, 4))).toBe(true);
    expect(both(tbaaTag(outer, int, 12), scalar(int))).toBe(true);
    expect(both(tbaaTag(outer, int, 12), scalar(float))).toBe(false);
    expect(both(tbaaTag(outer, int, 12), scalar(char))).toBe(true);
  });

  it("of different type systems say nothing", () => {
    const other = tbaaType("other", null, [], []);
    expect(both(scalar(int), scalar(tbaaType("int", null, [other], [0])))).toBe(true);
  });

  it("with sizes: accesses of aggregates cover their members", () => {
    const sizedRoot = tbaaType("sized", null, [], []);
    const byte = tbaaType("byte", sizedRoot, [], [], [], 1);
    const word = tbaaType("word", byte, [], [], [], 4);
    const half = tbaaType("half", byte, [], [], [], 2);
    const struct = tbaaType("struct", byte, [word, half], [0, 4], [4, 2], 8);
    expect(both(tbaaTag(struct, word, 0, 4), tbaaTag(struct, half, 4, 2))).toBe(false);
    expect(both(tbaaTag(struct, struct, 0, 8), tbaaTag(half, half, 0, 2))).toBe(true);
    expect(both(tbaaTag(struct, word, 0, 4), tbaaTag(word, word, 0, 4))).toBe(true);
    expect(both(tbaaTag(struct, word, 0, 4), tbaaTag(half, half, 0, 2))).toBe(false);
    expect(both(tbaaTag(word, word, 0, 4), tbaaTag(byte, byte, 0, 1))).toBe(true);
  });

  it("meet in the type that both derive from", () => {
    expect(commonTag(scalar(int), scalar(float))).toBe(scalar(char));
    expect(commonTag(tbaaTag(inner, int, 0), scalar(int))).toBe(scalar(int));
    expect(commonTag(scalar(int), null)).toBeNull();
    expect(commonTag(scalar(char), scalar(tbaaType("other", null, [root], [0])))).toBeNull();
  });
});

describe("scopes", () => {
  const domain = new AliasDomain("d");
  const [a, b] = ["a", "b"].map((name) => new AliasScope(domain, name)) as [AliasScope, AliasScope];
  const elsewhere = new AliasScope(new AliasDomain("e"), "c");

  it("say no where all scopes of a domain are excluded", () => {
    expect(scopesMayAlias([a], [a, b])).toBe(false);
    expect(scopesMayAlias([a, b], [a])).toBe(true);
    expect(scopesMayAlias([elsewhere], [a])).toBe(true);
    expect(scopesMayAlias([a, elsewhere], [a])).toBe(false);
    expect(scopesMayAlias(null, [a])).toBe(true);
  });

  it("join and intersect", () => {
    expect(joinScopes([a], [b, elsewhere])).toEqual([a, b]);
    expect(joinScopes([a], [elsewhere])).toBeNull();
    expect(intersectScopes([a, b], [b, elsewhere])).toEqual([b]);
    expect(intersectScopes([a], null)).toBeNull();
  });
});

describe("edits", () => {
  const full = makeHints({
    ...noHints,
    flags: HintFlag.NonNull | HintFlag.NoUndef | HintFlag.Unpredictable,
    align: 16,
    dereferenceable: 8,
    range: [0n, 5n],
    weights: [3, 4],
    accuracy: 2.5,
  })!;

  it("merging keeps what both say", () => {
    const other = withHints(full, {
      flags: HintFlag.NonNull,
      align: 4,
      dereferenceable: 0,
      dereferenceableOrNull: 4,
    });
    const merged = mergeHints(full, other)!;
    expect(merged).toMatchObject({
      flags: HintFlag.NonNull | HintFlag.Unpredictable,
      align: 4,
      dereferenceable: 0,
      dereferenceableOrNull: 4,
      range: [0n, 5n],
      weights: [6, 8],
      accuracy: 2.5,
    });
    expect(sameHints(mergeHints(other, full), merged)).toBe(true);
    expect(mergeHints(full, null)).toMatchObject({ flags: HintFlag.Unpredictable, align: 0, range: null });
    expect(mergeHints(null, null)).toBeNull();
    expect(mergeHints(full, withHints(full, { range: [0n, 6n] }))!.range).toBeNull();
  });

  it("execution elsewhere keeps only claims on the result", () => {
    expect(dropUBImplying(full)).toMatchObject({
      flags: HintFlag.NonNull | HintFlag.Unpredictable,
      align: 16,
      dereferenceable: 0,
      range: [0n, 5n],
      tbaa: null,
    });
    const int = tbaaType("int", null, [tbaaType("r", null, [], [])], [0]);
    expect(dropUBImplying(hintsOfTag(tbaaTag(int, int, 0)))).toBeNull();
  });

  it("weights follow their arms", () => {
    expect(permuteWeights(full, [1, 0])!.weights).toEqual([4, 3]);
    expect(permuteWeights(full, [0])!.weights).toEqual([3]);
    expect(permuteWeights(null, [1, 0])).toBeNull();
  });
});

describe("the verifier refuses", () => {
  const problems = (fields: Parameters<typeof withHints>[1], body: string): string => {
    const module = parseModule(`define i32 @f(ptr %p, i1 %c) {\n${body}\n}`, "x");
    const fn = module.functions[0]!;
    fn.rewrite().blocks[0]!.insts[0]!.hints = withHints(null, fields);
    return verifyModule(module).join("\n");
  };
  const load = "%x = load i32, ptr %p\n ret i32 %x";
  const branch = "br i1 %c, label %a, label %a\na:\n ret i32 0";
  const add = "%x = add i32 1, 2\n ret i32 %x";

  it.each([
    ["flags", { flags: HintFlag.NoUndef }, add, "hints that the operation cannot have"],
    ["nonnull of an integer", { flags: HintFlag.NonNull }, load, "a hint on a pointer that is not loaded"],
    ["alignment of an integer", { align: 8 }, load, "a hint on a pointer that is not loaded"],
    [
      "types of what is no access",
      { tbaa: tbaaTag(tbaaType("a", null, [], []), tbaaType("a", null, [], []), 0) },
      add,
      "does not access it",
    ],
    ["a range too wide", { range: [0n, 1n << 40n] }, load, "does not fit i32"],
    ["an empty range", { range: [4n, 4n] }, load, "an empty range"],
    ["half of a range", { range: [4n] }, load, "half of a range"],
    ["a range of a branch", { range: [0n, 1n] }, branch, "a range of something else"],
    ["too few weights", { weights: [1] }, branch, "1 weights for 2 ways"],
    ["weights that are no numbers", { weights: [1, Number.NaN] }, branch, "a weight that is no number"],
    [
      "callees of a branch",
      { callees: { members: [], open: false } },
      branch,
      "callees of something else than a call",
    ],
    ["accuracy of an integer", { accuracy: 2 }, add, "accuracy"],
  ] as const)("%s", (_, fields, body, message) => expect(problems(fields, body)).toContain(message));

  it("and takes those that fit", () => {
    expect(problems({ range: [0n, 5n], flags: HintFlag.NoUndef }, load)).toBe("");
    expect(problems({ weights: [1, 2], flags: HintFlag.Unpredictable }, branch)).toBe("");
  });
});

describe("copies of code", () => {
  it("have hints, and alias scopes of their own", () => {
    const scopes = "!1 = !{!2}\n!2 = distinct !{!2, !3}\n!3 = distinct !{!3}\n!4 = !{i32 0, i32 5}";
    const text = `define i32 @f(ptr %p) {\n %x = load i32, ptr %p, !alias.scope !1, !range !4\n store i32 1, ptr %p, !noalias !1\n ret i32 %x\n}\n${scopes}`;
    const body = parseModule(text, "x").functions[0]!.view();
    const copy = cloneBody(body, new CloneMap());
    const [load, store] = copy.blocks[0]!.insts;
    const original = body.blocks[0]!.insts[0]!.hints!;
    expect(load!.hints!.range).toEqual([0n, 5n]);
    expect(scopesMayAlias(load!.hints!.scopes, store!.hints!.noalias)).toBe(false);
    expect(scopesMayAlias(original.scopes, store!.hints!.noalias)).toBe(true);
  });
});
