/**
 * Reciprocals: which multiplication and shift divide by a constant.
 *
 * Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), theorems 4.2 and 5.1.
 * For 0 <= n < 2^bits: n / d = (n · m) >> shift, rounded down, if 0 < m·d - 2^shift <= 2^(shift - bits).
 * For -2^bits <= n < 0, under the same condition: n / d, rounded towards zero, is one more than that.
 * Constant time.
 */

export interface Reciprocal {
  readonly multiplier: bigint;
  /** Bits that the product is shifted right by. */
  readonly shift: number;
}

/**
 * The reciprocal of `divisor` with the least shift, `from` or more, for dividends below 2^bits; null: it has more than
 * `multiplierBits`.
 * @param divisor at least 2, below 2^bits
 * @param from at least `bits`
 */
function leastReciprocal(
  divisor: bigint,
  bits: number,
  from: number,
  multiplierBits: number,
): Reciprocal | null {
  for (let shift = from; ; shift++) {
    const power = 1n << BigInt(shift);
    const multiplier = power / divisor + 1n;
    if (multiplier >> BigInt(multiplierBits) !== 0n) return null;
    if (multiplier * divisor - power <= 1n << BigInt(shift - bits)) return { multiplier, shift };
  }
}

/** One whose product has 64 bits; null: there is none. */
export const reciprocal = (divisor: bigint, bits: number): Reciprocal | null =>
  leastReciprocal(divisor, bits, bits, 64 - bits);

/** One of 64 bits, with a shift of 64 or more, for dividends of up to 64 bits; null: there is none. */
export const wideReciprocal = (divisor: bigint, bits: number): Reciprocal | null =>
  leastReciprocal(divisor, bits, 64, 64);

/** The same with a multiplier of one bit more than `bits`: always there. `shift` is above `bits`. */
export function longReciprocal(divisor: bigint, bits: number): Reciprocal {
  const log = (divisor - 1n).toString(2).length;
  const shift = bits + log;
  return { multiplier: (1n << BigInt(shift)) / divisor + 1n, shift };
}

/**
 * For -2^(bits-1) <= n < 2^(bits-1): n / divisor, rounded towards zero, = (n · m) >> shift, rounded down, and one more for n < 0.
 * The product has twice as many bits with its sign, the multiplier no more than `bits` and none; `shift` is `bits` or more.
 * @param divisor at least 3, below 2^(bits-1), no power of two
 */
export function signedReciprocal(divisor: bigint, bits: number): Reciprocal {
  // With log = ⌈log2 divisor⌉, a shift of bits + log - 1 meets the condition, and the multiplier is below 2^bits there.
  return leastReciprocal(divisor, bits - 1, bits, bits)!;
}

/** What exact multiples of `divisor` are multiplied by, modulo 2^bits, to be divided by it. @param divisor odd */
export function inverse(divisor: bigint, bits: number): bigint {
  // Newton's iteration doubles the bits that are right; the divisor is its own inverse modulo 8.
  let x = divisor;
  for (let right = 3; right < bits; right *= 2) x = BigInt.asUintN(bits, x * (2n - divisor * x));
  return BigInt.asUintN(bits, x);
}
