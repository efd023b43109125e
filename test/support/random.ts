/** Random choices from a seed, the same on every machine: pure-rand's xoroshiro128+ with the methods generators need. */
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

export class Random {
  private readonly source;
  constructor(seed: number) {
    this.source = xoroshiro128plus(Math.imul(seed, 0x9e3779b1));
    // The first numbers of neighbouring seeds are alike.
    for (let i = 0; i < 8; i++) this.source.next();
  }
  /** 32 random bits, unsigned. */
  bits(): number {
    return this.source.next() >>> 0;
  }
  /** An integer from 0 up to, but not including, `limit`. */
  below(limit: number): number {
    return uniformInt(this.source, 0, limit - 1);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
  /** True once in `n` times. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }
  /** True with a probability from 0 to 1. */
  chance(probability: number): boolean {
    return this.bits() / 2 ** 32 < probability;
  }
}
