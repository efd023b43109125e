/**
 * How long jumps between functions are, for size reports: the assembler takes the short form where what they lead to is near. As
 * within a function (lto/codegen/late/branch-sizes.ts) all start short, and grow until nothing changes.
 * Breaks if: inline assembly is longer than estimated.
 */
import type { CodeSizes, OpenBranch } from "../../lto/codegen/late/code-origins.js";

/** A function where it stands in the text, in order. */
export interface PlacedFunction {
  readonly symbol: string;
  readonly section: string;
  /** Of the entry, in bytes. */
  readonly align: number;
  /** The jump at its end is left out, since what it leads to follows. */
  readonly runsOn: boolean;
}

/** A function whose size is open. */
class OpenFunction {
  /** Bytes of each branch. */
  readonly size: Int32Array;
  /** Of branches before each one. */
  private readonly before: Int32Array;
  /** Of all else. */
  private readonly fixed: number;

  constructor(
    { code }: CodeSizes,
    readonly branches: readonly OpenBranch[],
    runsOn: boolean,
  ) {
    this.size = Int32Array.from(branches, ({ short }) => short);
    if (runsOn) this.size[branches.length - 1] = 0;
    this.before = new Int32Array(branches.length + 1);
    this.fixed = branches.reduce((rest, { counted }) => rest - counted, code);
  }

  /** Sums up. @returns bytes of the function */
  place(): number {
    const { size, before } = this;
    for (let k = 0; k < size.length; k++) before[k + 1] = before[k]! + size[k]!;
    return this.fixed + before[size.length]!;
  }

  /** Where a branch ends, and where a place in the function is; after `place`. */
  end(k: number): number {
    return this.branches[k]!.bytes + this.before[k + 1]!;
  }
  at({ bytes, branches }: Exclude<OpenBranch["to"], string>): number {
    return bytes + this.before[branches]!;
  }

  /** @param distance of a branch's target from its end, negative: back @returns whether any branch had to grow */
  grow(distance: (branch: OpenBranch, k: number) => number): boolean {
    let grows = false;
    for (const [k, branch] of this.branches.entries()) {
      const { short, near, back, ahead } = branch;
      if (this.size[k] !== short || short === near) continue;
      const far = distance(branch, k);
      if (far >= -back && far <= ahead) continue;
      this.size[k] = near;
      grows = true;
    }
    return grows;
  }
}

/**
 * @param placed all functions, in order
 * @param sizesOf what is known of a function, by its symbol
 * @param mayBeShort whether the assembler knows where a jump to a symbol leads
 * @returns sizes of those that have others than were known
 */
export function settleJumps(
  placed: readonly PlacedFunction[],
  sizesOf: (symbol: string) => CodeSizes | undefined,
  mayBeShort: (symbol: string) => boolean,
): Map<string, CodeSizes> {
  const open = new Map<string, OpenFunction>();
  for (const { symbol, runsOn } of placed) {
    const known = sizesOf(symbol);
    if (known?.branches == null) continue;
    open.set(symbol, new OpenFunction(known, known.branches, runsOn));
  }
  const start = new Map<string, number>();
  const sectionOf = new Map(placed.map(({ symbol, section }) => [symbol, section]));
  const ends = new Map<string, number>();
  for (let grows = true; grows; ) {
    ends.clear();
    for (const { symbol, section, align } of placed) {
      const at = Math.ceil((ends.get(section) ?? 0) / align) * align;
      start.set(symbol, at);
      ends.set(section, at + (open.get(symbol)?.place() ?? sizesOf(symbol)?.code ?? 0));
    }
    grows = false;
    for (const [symbol, fn] of open) {
      const section = sectionOf.get(symbol)!;
      const distance = ({ to }: OpenBranch, k: number): number => {
        const end = fn.end(k);
        if (typeof to !== "string") return fn.at(to) - end;
        if (sectionOf.get(to) !== section || !mayBeShort(to)) return Number.POSITIVE_INFINITY;
        return start.get(to)! - (start.get(symbol)! + end);
      };
      if (fn.grow(distance)) grows = true;
    }
  }
  return new Map([...open].map(([symbol, fn]) => [symbol, settled(sizesOf(symbol)!, fn)]));
}

/** Sizes with branches as they became. */
function settled({ origins }: CodeSizes, fn: OpenFunction): CodeSizes {
  const sums = new Map(origins);
  for (const [k, { origin, counted }] of fn.branches.entries())
    if (origin > 0) sums.set(origin, sums.get(origin)! + fn.size[k]! - counted);
  return { code: fn.place(), origins: [...sums].filter(([, bytes]) => bytes > 0), branches: null };
}
