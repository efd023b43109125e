/** Numbers that look random and are the same each time: xorshift, 32 bits. */
export class Random {
  private state: number;
  constructor(seed: number) {
    this.state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  }
  /** From 0 up to but not including `limit`. */
  below(limit: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % limit;
  }
}
