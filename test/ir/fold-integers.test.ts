/** The folder on integers: small widths exhaustively, others by random numbers, against evaluations of their own. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataLayout } from "../../lto/ir/data-layout.js";
import { Folder } from "../../lto/ir/fold/index.js";
import { type BinaryOp, Flag, type IntPredicate, Op, opNames } from "../../lto/ir/instructions.js";
import { i1, intType, structType, type Type, vectorType } from "../../lto/ir/types.js";
import {
  ConstAggregate,
  type Constant,
  ConstUndef,
  ConstZero,
  constBool,
  constInt,
  sameConstant,
} from "../../lto/ir/values.js";
import {
  binary,
  cast,
  compare,
  intIntrinsic,
  Undefined,
  withOverflow,
} from "../support/interpreter/scalar-ops.js";

const folder = new Folder(new DataLayout("e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"));
const ops: BinaryOp[] = [
  Op.Add,
  Op.Sub,
  Op.Mul,
  Op.UDiv,
  Op.SDiv,
  Op.URem,
  Op.SRem,
  Op.Shl,
  Op.LShr,
  Op.AShr,
  Op.And,
  Op.Or,
  Op.Xor,
];
const predicates: IntPredicate[] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];

const fold = (op: Op, type: Type, operands: Constant[], data: unknown = null, flags = 0): Constant | null =>
  folder.operation(op, type, operands, data as never, flags);
const u = (bits: number, n: bigint): bigint => BigInt.asUintN(bits, n);
const s = (bits: number, n: bigint): bigint => BigInt.asIntN(bits, n);

/** Unsigned number, "poison", or null for undefined behaviour: by definition, with the result computed exactly. */
function expected(op: BinaryOp, bits: number, a: bigint, b: bigint, flags: number): bigint | "poison" | null {
  let result: bigint | null;
  try {
    result = binary(op, intType(bits), a, b);
  } catch (error) {
    if (error instanceof Undefined) return null;
    throw error;
  }
  if (result === null) return "poison";
  const [sa, sb] = [s(bits, a), s(bits, b)];
  const exact: { readonly [op: number]: readonly [bigint, bigint] } = {
    [Op.Add]: [sa + sb, a + b],
    [Op.Sub]: [sa - sb, a - b],
    [Op.Mul]: [sa * sb, a * b],
    [Op.Shl]: [sa * 2n ** (b % BigInt(bits)), a * 2n ** (b % BigInt(bits))],
  };
  const wide = exact[op];
  if (wide !== undefined) {
    if ((flags & Flag.Nsw) !== 0 && wide[0] !== s(bits, result)) return "poison";
    if ((flags & Flag.Nuw) !== 0 && wide[1] !== result) return "poison";
  }
  if ((flags & Flag.Exact) !== 0) {
    const back =
      op === Op.UDiv ? result * b === a : op === Op.SDiv ? u(bits, s(bits, result) * sb) === a : true;
    const shifted = op === Op.LShr || op === Op.AShr ? u(bits, result << b) === a : true;
    if (!back || !shifted) return "poison";
  }
  if ((flags & Flag.Disjoint) !== 0 && op === Op.Or && (a & b) !== 0n) return "poison";
  return result;
}

function show(c: Constant | null): bigint | "poison" | "undef" | null | string {
  if (c === null) return null;
  if (c.valueKind === "undef") return c.poison ? "poison" : "undef";
  return c.valueKind === "int" ? u(c.type.bits, c.value) : c.valueKind;
}

function flagsOf(op: BinaryOp): number[] {
  if (op === Op.Or) return [0, Flag.Disjoint];
  if (op === Op.Add || op === Op.Sub || op === Op.Mul || op === Op.Shl)
    return [0, Flag.Nsw, Flag.Nuw, Flag.Nsw | Flag.Nuw];
  return op === Op.UDiv || op === Op.SDiv || op === Op.LShr || op === Op.AShr ? [0, Flag.Exact] : [0];
}

describe("binary operations", () => {
  for (const bits of [1, 2, 3, 4])
    it(`on all pairs of i${bits}`, () => {
      const type = intType(bits);
      for (const op of ops)
        for (const flags of flagsOf(op))
          for (let a = 0n; a < 1n << BigInt(bits); a++)
            for (let b = 0n; b < 1n << BigInt(bits); b++) {
              const result = show(fold(op, type, [constInt(type, a), constInt(type, b)], null, flags));
              if (result !== expected(op, bits, a, b, flags))
                expect(result, `${opNames[op]} ${flags} ${a} ${b}`).toBe(expected(op, bits, a, b, flags));
            }
    });

  it("on numbers of any width", () => {
    const sample = fc.tuple(
      fc.integer({ min: 1, max: 200 }),
      fc.bigInt(),
      fc.bigInt(),
      fc.constantFrom(...ops),
      fc.nat(3),
      fc.boolean(),
    );
    fc.assert(
      fc.property(sample, ([bits, x, y, op, which, small]) => {
        const type = intType(bits);
        const choice = flagsOf(op);
        const flags = choice[which % choice.length]!;
        const a = u(bits, x);
        const b = u(bits, small ? BigInt.asUintN(8, y) : y);
        const result = show(fold(op, type, [constInt(type, a), constInt(type, b)], null, flags));
        expect(result).toBe(expected(op, bits, a, b, flags));
      }),
      { numRuns: 3000, seed: 7 },
    );
  });

  /** With undef, the result must be one that some choice gives; poison only where some choice gives it. */
  it("on undef give something that a choice of it can give", () => {
    const type = intType(3);
    const undef = new ConstUndef(type, false);
    const all = Array.from({ length: 8 }, (_, i) => BigInt(i));
    for (const op of ops)
      for (const side of [0, 1, 2])
        for (const known of all) {
          const operands = [0, 1].map((i) => (side === 2 || side === i ? undef : constInt(type, known)));
          const result = fold(op, type, operands as Constant[]);
          const choices = (i: number): bigint[] => (side === 2 || side === i ? all : [known]);
          const possible = new Set(
            choices(0).flatMap((a) => choices(1).map((b) => expected(op, 3, a, b, 0))),
          );
          if (result === null) {
            expect(possible.has(null), `${opNames[op]} ${side} ${known}`).toBe(true);
            continue;
          }
          const shown = show(result);
          if (possible.has("poison") || possible.has(null)) continue;
          if (shown === "undef")
            for (const value of all)
              expect(possible.has(value), `${opNames[op]} ${side} ${known}`).toBe(true);
          else
            expect(possible.has(shown as bigint), `${opNames[op]} ${side} ${known}: ${String(shown)}`).toBe(
              true,
            );
        }
  });

  it("on poison are poison, unless they divide by it", () => {
    const type = intType(8);
    const poison = new ConstUndef(type, true);
    for (const op of ops) {
      expect(show(fold(op, type, [poison, constInt(type, 3)]))).toBe("poison");
      const divides = op === Op.UDiv || op === Op.SDiv || op === Op.URem || op === Op.SRem;
      expect(show(fold(op, type, [constInt(type, 3), poison]))).toBe(divides ? null : "poison");
    }
  });
});

describe("comparisons", () => {
  it("of all pairs of i1 and i3, with and without samesign", () => {
    for (const bits of [1, 3]) {
      const type = intType(bits);
      for (const predicate of predicates)
        for (let a = 0n; a < 1n << BigInt(bits); a++)
          for (let b = 0n; b < 1n << BigInt(bits); b++) {
            const operands = [constInt(type, a), constInt(type, b)];
            expect(show(fold(Op.ICmp, i1, operands, predicate))).toBe(compare(predicate, type, a, b));
            const differs = s(bits, a) < 0n !== s(bits, b) < 0n;
            expect(show(fold(Op.ICmp, i1, operands, predicate, Flag.SameSign))).toBe(
              differs ? "poison" : compare(predicate, type, a, b),
            );
          }
    }
  });

  it("with undef and poison", () => {
    const type = intType(8);
    const undef = new ConstUndef(type, false);
    expect(show(fold(Op.ICmp, i1, [undef, constInt(type, 4)], "eq"))).toBe("undef");
    expect(show(fold(Op.ICmp, i1, [undef, constInt(type, 4)], "sge"))).toBe(1n);
    expect(show(fold(Op.ICmp, i1, [constInt(type, 4), undef], "ugt"))).toBe(0n);
    expect(show(fold(Op.ICmp, i1, [new ConstUndef(type, true), undef], "ne"))).toBe("poison");
  });
});

describe("casts and selections", () => {
  it("of integers between all small widths", () => {
    for (let from = 1; from <= 5; from++)
      for (let to = 1; to <= 6; to++)
        for (const op of from > to ? ([Op.Trunc] as const) : from < to ? ([Op.ZExt, Op.SExt] as const) : [])
          for (let n = 0n; n < 1n << BigInt(from); n++) {
            const [a, b] = [intType(from), intType(to)];
            expect(show(fold(op, b, [constInt(a, n)]))).toBe(cast(op, a, b, n));
            if (op === Op.Trunc) {
              const result = u(to, n);
              expect(show(fold(op, b, [constInt(a, n)], null, Flag.Nuw))).toBe(
                result === n ? result : "poison",
              );
              const fits = s(to, n) === s(from, n);
              expect(show(fold(op, b, [constInt(a, n)], null, Flag.Nsw))).toBe(fits ? result : "poison");
            }
            if (op === Op.ZExt)
              expect(show(fold(op, b, [constInt(a, n)], null, Flag.NonNeg))).toBe(
                s(from, n) < 0n ? "poison" : n,
              );
          }
  });

  it("of undef", () => {
    const undef = new ConstUndef(intType(8), false);
    expect(show(fold(Op.ZExt, intType(16), [undef]))).toBe(0n);
    expect(show(fold(Op.SExt, intType(16), [undef]))).toBe(0n);
    expect(show(fold(Op.Trunc, intType(4), [undef]))).toBe("undef");
    expect(show(fold(Op.Trunc, intType(4), [new ConstUndef(intType(8), true)]))).toBe("poison");
  });

  it("select what the condition says", () => {
    const type = intType(8);
    const [a, b] = [constInt(type, 1), constInt(type, 2)];
    expect(fold(Op.Select, type, [constBool(true), a, b])).toBe(a);
    expect(fold(Op.Select, type, [constBool(false), a, b])).toBe(b);
    expect(show(fold(Op.Select, type, [new ConstUndef(i1, true), a, b]))).toBe("poison");
    expect(fold(Op.Select, type, [new ConstUndef(i1, false), a, b])).toBe(b);
    const undef = new ConstUndef(type, false);
    expect(fold(Op.Select, type, [new ConstUndef(i1, false), undef, b])).toBe(undef);
  });

  it("freeze what is undefined to zero, and nothing that may be poison unseen", () => {
    const type = intType(8);
    expect(show(fold(Op.Freeze, type, [new ConstUndef(type, true)]))).toBe(0n);
    expect(show(fold(Op.Freeze, type, [constInt(type, 5)]))).toBe(5n);
    const pair = structType([type, type]);
    const half = new ConstAggregate(pair, [constInt(type, 5), new ConstUndef(type, false)]);
    const frozen = fold(Op.Freeze, pair, [half])!;
    expect(show(fold(Op.ExtractValue, type, [frozen], [0]))).toBe(5n);
    expect(show(fold(Op.ExtractValue, type, [frozen], [1]))).toBe(0n);
  });
});

describe("integer intrinsics", () => {
  const one = ["bswap", "bitreverse", "ctpop", "abs", "ctlz", "cttz"];
  const two = [
    "smax",
    "smin",
    "umax",
    "umin",
    "sadd.sat",
    "ssub.sat",
    "uadd.sat",
    "usub.sat",
    "sshl.sat",
    "ushl.sat",
  ];
  const three = ["fshl", "fshr"];

  it("agree with their definitions on all small numbers", () => {
    for (const bits of [1, 2, 3, 4]) {
      const type = intType(bits);
      const limit = 1n << BigInt(bits);
      for (const name of [...one, ...two, ...three]) {
        if (name === "bswap") continue;
        for (let a = 0n; a < limit; a++)
          for (let b = 0n; b < (two.includes(name) || three.includes(name) ? limit : 2n); b++)
            for (let c = 0n; c < (three.includes(name) ? limit : 1n); c++) {
              const flag = name === "ctlz" || name === "cttz" || name === "abs";
              const args = [constInt(type, a), flag ? constInt(i1, b) : constInt(type, b), constInt(type, c)];
              const used = args.slice(0, three.includes(name) ? 3 : one.includes(name) && !flag ? 1 : 2);
              const result = show(folder.intrinsic(name, type, used));
              const least = a === limit / 2n && name === "abs" && b === 1n;
              const wanted = least ? null : intIntrinsic(name, bits, [a, b, c]);
              expect(result, `${name} i${bits} ${a} ${b} ${c}`).toBe(wanted === null ? "poison" : wanted);
            }
      }
    }
  });

  it("agree on random numbers of larger widths", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(8, 16, 24, 32, 48, 64, 128),
        fc.bigInt(),
        fc.bigInt(),
        fc.bigInt(),
        (bits, x, y, z) => {
          const type = intType(bits);
          const [a, b, c] = [u(bits, x), u(bits, y), u(bits, z)];
          for (const name of [...one, ...two, ...three]) {
            if (name === "bswap" && bits % 16 !== 0) continue;
            const flag = name === "ctlz" || name === "cttz" || name === "abs";
            const args = [constInt(type, a), flag ? constBool(false) : constInt(type, b), constInt(type, c)];
            const wanted = intIntrinsic(name, bits, [a, flag ? 0n : b, c]);
            const used = args.slice(0, three.includes(name) ? 3 : one.includes(name) && !flag ? 1 : 2);
            expect(show(folder.intrinsic(name, type, used)), name).toBe(wanted === null ? "poison" : wanted);
          }
        },
      ),
      { numRuns: 300, seed: 3 },
    );
  });

  it("say whether arithmetic overflowed", () => {
    const type = intType(3);
    const pair = structType([type, i1]);
    for (const name of ["sadd", "ssub", "smul", "uadd", "usub", "umul"])
      for (let a = 0n; a < 8n; a++)
        for (let b = 0n; b < 8n; b++) {
          const folded = folder.intrinsic(`${name}.with.overflow`, pair, [
            constInt(type, a),
            constInt(type, b),
          ])!;
          const parts = [0, 1].map((i) => show(fold(Op.ExtractValue, i === 0 ? type : i1, [folded], [i])));
          expect(parts, `${name} ${a} ${b}`).toEqual(withOverflow(name, 3, a, b));
          expect(folded.type).toBe(pair);
        }
  });

  it("compare, reduce, and leave undef and strangers alone", () => {
    const type = intType(8);
    const n = (value: number): Constant => constInt(type, value);
    expect(show(folder.intrinsic("scmp", type, [n(-1), n(1)]))).toBe(255n);
    expect(show(folder.intrinsic("ucmp", type, [n(-1), n(1)]))).toBe(1n);
    expect(show(folder.intrinsic("ucmp", type, [n(4), n(4)]))).toBe(0n);
    const vector = new ConstAggregate(vectorType(3, type), [n(100), n(100), n(60)]);
    expect(show(folder.intrinsic("vector.reduce.add", type, [vector]))).toBe(4n);
    expect(show(folder.intrinsic("vector.reduce.umin", type, [vector]))).toBe(60n);
    expect(show(folder.intrinsic("vector.reduce.smax", type, [vector]))).toBe(100n);
    expect(folder.intrinsic("ctpop", type, [new ConstUndef(type, false)])).toBeNull();
    expect(show(folder.intrinsic("ctpop", type, [new ConstUndef(type, true)]))).toBe("poison");
    expect(folder.intrinsic("objectsize", type, [n(1)])).toBeNull();
  });
});

describe("vectors and aggregates", () => {
  const type = intType(8);
  const vector = vectorType(4, type);
  const n = (value: number): Constant => constInt(type, value);
  const of = (...values: (number | null)[]): Constant =>
    new ConstAggregate(
      vector,
      values.map((v) => (v === null ? new ConstUndef(type, true) : n(v))),
    );
  const elements = (c: Constant | null): unknown[] =>
    [0, 1, 2, 3].map((i) => show(fold(Op.ExtractElement, type, [c!, constInt(intType(32), i)])));

  it("are folded element by element", () => {
    const sum = fold(Op.Add, vector, [of(1, 2, 3, 4), of(10, null, 30, 250)]);
    expect(elements(sum)).toEqual([11n, "poison", 33n, 254n]);
    const compared = fold(Op.ICmp, vectorType(4, i1), [of(1, 2, 3, 4), of(2, 2, 2, 2)], "ult");
    expect(elements(fold(Op.Select, vector, [compared!, of(1, 1, 1, 1), new ConstZero(vector)]))).toEqual([
      1n,
      0n,
      0n,
      0n,
    ]);
    expect(elements(folder.intrinsic("ctlz", vector, [of(1, 0, 128, 16), constBool(true)]))).toEqual([
      7n,
      "poison",
      0n,
      3n,
    ]);
    expect(fold(Op.UDiv, vector, [of(1, 2, 3, 4), of(1, 0, 1, 1)])).toBeNull();
  });

  it("shuffle, insert and extract, out of range to poison", () => {
    expect(elements(fold(Op.ShuffleVector, vector, [of(1, 2, 3, 4), of(5, 6, 7, 8)], [7, 0, -1, 4]))).toEqual(
      [8n, 1n, "poison", 5n],
    );
    const at = (index: number): Constant => constInt(intType(32), index);
    expect(elements(fold(Op.InsertElement, vector, [of(1, 2, 3, 4), n(9), at(2)]))).toEqual([1n, 2n, 9n, 4n]);
    expect(show(fold(Op.InsertElement, vector, [of(1, 2, 3, 4), n(9), at(4)]))).toBe("poison");
    expect(show(fold(Op.ExtractElement, type, [of(1, 2, 3, 4), at(-1)]))).toBe("poison");
    const nested = structType([type, structType([type, type])]);
    const inner = fold(Op.InsertValue, nested, [new ConstUndef(nested, true), n(3)], [1, 0])!;
    expect(show(fold(Op.ExtractValue, type, [inner], [1, 0]))).toBe(3n);
    expect(show(fold(Op.ExtractValue, type, [inner], [1, 1]))).toBe("poison");
  });

  it("come out in one shape", () => {
    expect(
      sameConstant(fold(Op.And, vector, [of(1, 2, 3, 4), new ConstZero(vector)])!, new ConstZero(vector)),
    ).toBe(true);
    expect(fold(Op.Add, vector, [of(1, 2, 3, 4), of(1, 1, 1, 1)])!.valueKind).toBe("data");
    expect(show(fold(Op.Add, vector, [of(null, null, null, null), of(1, 1, 1, 1)]))).toBe("poison");
  });

  it("are cast bit by bit", () => {
    const i16 = intType(16);
    const pairs = fold(Op.BitCast, vectorType(2, i16), [of(1, 2, 3, 4)])!;
    expect(show(fold(Op.ExtractElement, i16, [pairs, constInt(intType(32), 1)]))).toBe(0x0403n);
    expect(show(fold(Op.BitCast, intType(32), [of(1, 2, 3, 4)]))).toBe(0x04030201n);
    expect(elements(fold(Op.BitCast, vector, [constInt(intType(32), 0x04030201)]))).toEqual([1n, 2n, 3n, 4n]);
    expect(fold(Op.BitCast, intType(32), [of(1, null, 3, 4)])).toBeNull();
  });
});
