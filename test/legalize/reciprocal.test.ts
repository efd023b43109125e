/** Reciprocals against division, at the dividends where a wrong one shows: next to multiples, and at the ends. */
import { expect, it } from "vitest";
import {
  inverse,
  longReciprocal,
  reciprocal,
  signedReciprocal,
  wideReciprocal,
} from "../../lto/codegen/lowering/reciprocal.js";
import { Random } from "../support/random.js";

const random = new Random(20);
const divisors = (bits: number): bigint[] => {
  const top = 1n << BigInt(bits - 1);
  const some = Array.from({ length: 60 }, (_, i) =>
    BigInt(random.below(2 ** Math.min(bits - 1, 3 + (i % 29)))),
  );
  const near = Array.from({ length: bits - 1 }, (_, i) => [
    (1n << BigInt(i)) - 1n,
    (1n << BigInt(i)) + 1n,
  ]).flat();
  return [...some, ...near, 10n, 100n, 641n, top - 1n].filter(
    (d) => d >= 3n && d < top && (d & (d - 1n)) !== 0n,
  );
};
/** Dividends from 0 to below 2^bits. */
const dividends = (divisor: bigint, bits: number): bigint[] => {
  const end = 1n << BigInt(bits);
  const last = (end / divisor) * divisor;
  const out = [0n, 1n, end - 1n, end / 2n - 1n, end / 2n];
  for (const multiple of [
    divisor,
    last,
    last - divisor,
    (end / 2n / divisor) * divisor,
    BigInt(random.below(1e9)) * divisor,
  ])
    out.push(multiple - 1n, multiple, multiple + 1n);
  return out.filter((n) => n >= 0n && n < end);
};

it("divide unsigned numbers", () => {
  let short = 0;
  const wrong: string[] = [];
  for (const bits of [8, 16, 31, 32])
    for (const d of divisors(bits)) {
      const found = reciprocal(d, bits);
      if (found !== null) short++;
      const long = longReciprocal(d, bits);
      if (long.multiplier >> BigInt(bits) !== 1n) wrong.push(`${d}: ${long.multiplier}`);
      for (const n of dividends(d, bits)) {
        const product = n * (found?.multiplier ?? 0n);
        if (product >> 64n !== 0n) wrong.push(`${n} / ${d}: a product of more than 64 bits`);
        if (found !== null && product >> BigInt(found.shift) !== n / d) wrong.push(`${n} / ${d}`);
        if ((n * long.multiplier) >> BigInt(long.shift) !== n / d) wrong.push(`${n} / ${d}, long`);
      }
    }
  expect(wrong).toEqual([]);
  expect(short).toBeGreaterThan(200);
  expect(reciprocal(7n, 32)).toBeNull();
});

it("divide unsigned numbers of up to 64 bits", () => {
  let short = 0;
  const wrong: string[] = [];
  for (const bits of [33, 48, 63, 64])
    for (const d of divisors(bits)) {
      const found = wideReciprocal(d, bits);
      const long = longReciprocal(d, bits);
      if (long.multiplier >> BigInt(bits) !== 1n) wrong.push(`${d}: ${long.multiplier}`);
      if (found !== null) {
        short++;
        if (found.multiplier >> 64n !== 0n || found.shift < 64 || found.shift > 127)
          wrong.push(`${d}: ${found.multiplier} >> ${found.shift}`);
      }
      for (const n of dividends(d, bits)) {
        if (found !== null && (n * found.multiplier) >> BigInt(found.shift) !== n / d)
          wrong.push(`${n} / ${d}`);
        if ((n * long.multiplier) >> BigInt(long.shift) !== n / d) wrong.push(`${n} / ${d}, long`);
      }
    }
  expect(wrong).toEqual([]);
  expect(short).toBeGreaterThan(200);
  expect(wideReciprocal(7n, 64)).toBeNull();
});

it.each([8, 16, 32, 64])("divide signed numbers of %s bits", (bits) => {
  const wrong: string[] = [];
  for (const d of divisors(bits)) {
    const { multiplier, shift } = signedReciprocal(d, bits);
    if (multiplier >> BigInt(bits) !== 0n || shift < bits) wrong.push(`${d}: ${multiplier} >> ${shift}`);
    for (const n of dividends(d, bits - 1))
      for (const x of [n, -n, -n - 1n])
        if (((x * multiplier) >> BigInt(shift)) + (x < 0n ? 1n : 0n) !== x / d) wrong.push(`${x} / ${d}`);
  }
  expect(wrong).toEqual([]);
});

it.each([8, 32, 64])("multiples of %s bits are multiplied by inverses", (bits) => {
  for (const d of [...divisors(bits), -3n, -25n].filter((n) => (n & 1n) === 1n)) {
    const odd = BigInt.asUintN(bits, d);
    expect(BigInt.asUintN(bits, odd * inverse(odd, bits))).toBe(1n);
  }
});
