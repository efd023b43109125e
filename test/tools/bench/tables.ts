/** Tables of ratios: one line a package, the base's own amount, and the geometric means at the foot. */

/** Prints rows of cells, the first column to the left, the others to the right. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((r) => (r[c] ?? "").length)));
  for (const r of rows) {
    const cells = r.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)));
    console.log(cells.join("  ").trimEnd());
  }
}

/** Of the finite positive numbers; NaN when there are none. */
export function geometricMean(list: readonly number[]): number {
  const good = list.filter((x) => Number.isFinite(x) && x > 0);
  return good.length === 0 ? Number.NaN : Math.exp(good.reduce((s, x) => s + Math.log(x), 0) / good.length);
}

export const formatRatio = (x: number): string => (Number.isFinite(x) ? x.toFixed(3) : "-");

/** A column of ratios between two quantities of each package. */
export interface RatioColumn {
  readonly title: string;
  readonly above: (name: string) => number;
  readonly below: (name: string) => number;
}

/** A column of amounts, shown beside the ratios. */
export interface AmountColumn {
  readonly title: string;
  readonly of: (name: string) => string;
}

/** Prints the table; columns in which nothing is known are left out. */
export function printRatios(
  title: string,
  names: readonly string[],
  ratios: readonly RatioColumn[],
  amounts: readonly AmountColumn[] = [],
): void {
  const shown = ratios.filter((c) => names.some((n) => Number.isFinite(c.above(n) / c.below(n))));
  if (shown.length === 0) return;
  console.log(`\n${title}`);
  const rows = [["", ...shown.map((c) => c.title), ...amounts.map((c) => c.title)]];
  for (const n of names) {
    const cells = shown.map((c) => formatRatio(c.above(n) / c.below(n)));
    rows.push([n, ...cells, ...amounts.map((c) => c.of(n))]);
  }
  const means = shown.map((c) => formatRatio(geometricMean(names.map((n) => c.above(n) / c.below(n)))));
  rows.push(["geometric mean", ...means, ...amounts.map(() => "")]);
  const largest = (c: RatioColumn): number =>
    Math.max(...names.map((n) => c.above(n) / c.below(n)).filter((x) => Number.isFinite(x)));
  rows.push(["largest", ...shown.map((c) => formatRatio(largest(c))), ...amounts.map(() => "")]);
  printTable(rows);
}
