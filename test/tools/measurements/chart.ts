/** The picture of the result: bars of what programs load, relative to clang's without link-time optimisation. */
import { geometricMean } from "../bench/tables.js";
import { type Figures, loaded, ratios } from "./figures.js";

/** Toolchains of the chart: column, title, colour. */
const series = [
  ["gcc-lto", "gcc -Os -flto", "#9aa5b1"],
  ["clang-lto", "clang -Oz -flto", "#f0a35e"],
  ["ours", "tsc-lto", "#2f7d5b"],
] as const;
const base = "clang";

const barHeight = 12;
const groupGap = 14;
const left = 120;
/** Pixels of a ratio of 1. */
const unit = 460;
const top = 56;

interface Group {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

function groupsOf(figures: Figures): Group[] {
  const columns = series.map(([column]) => new Map(ratios(figures, column, base, loaded)));
  const groups = Object.keys(figures.programs).map((name) => ({
    name,
    values: columns.map((column) => column.get(name)),
  }));
  const means = columns.map((column) => geometricMean([...column.values()]));
  return [...groups, { name: "geometric mean", values: means }];
}

/** @returns an SVG image, the same for the same figures */
export function chart(figures: Figures): string {
  const groups = groupsOf(figures);
  const groupHeight = series.length * barHeight + groupGap;
  const height = top + groups.length * groupHeight + 24;
  const bottom = height - 24;
  const lines: string[] = [];
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    const x = left + tick * unit;
    lines.push(`<line x1="${x}" y1="${top - 6}" x2="${x}" y2="${bottom}" stroke="#d8dde3"/>`);
    lines.push(`<text x="${x}" y="${bottom + 16}" text-anchor="middle">${tick.toFixed(2)}</text>`);
  }
  series.forEach(([, title, colour], i) => {
    const x = left + i * 150;
    lines.push(`<rect x="${x}" y="26" width="12" height="12" fill="${colour}"/>`);
    lines.push(`<text x="${x + 18}" y="36">${title}</text>`);
  });
  groups.forEach(({ name, values }, g) => {
    const y = top + g * groupHeight;
    const weight = name === "geometric mean" ? ' font-weight="bold"' : "";
    const middle = y + (series.length * barHeight) / 2 + 4;
    lines.push(`<text x="${left - 8}" y="${middle}" text-anchor="end"${weight}>${name}</text>`);
    values.forEach((value, i) => {
      if (value === undefined || !Number.isFinite(value)) return;
      const width = (value * unit).toFixed(1);
      lines.push(
        `<rect x="${left}" y="${y + i * barHeight}" width="${width}" height="${barHeight - 1}" fill="${series[i]![2]}"/>`,
      );
      const end = (left + value * unit + 4).toFixed(1);
      lines.push(`<text x="${end}" y="${y + i * barHeight + 10}"${weight}>${value.toFixed(3)}</text>`);
    });
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 ${height}" font-family="sans-serif" font-size="11">`,
    `<title>Bytes loaded by programs, relative to clang -Oz without link-time optimisation</title>`,
    `<rect width="640" height="${height}" fill="#ffffff"/>`,
    `<text x="${left}" y="16" font-size="13">Bytes loaded (.text, unwind tables, .rodata), clang -Oz without LTO = 1</text>`,
    ...lines,
    "</svg>",
    "",
  ].join("\n");
}
