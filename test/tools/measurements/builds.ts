/** What `npm run builds` measured, kept as data, and its table in MEASUREMENTS.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { geometricMean } from "../bench/tables.js";

export interface BuildFigure {
  readonly system: string;
  /** Bytes that are loaded of the files of a package together, by compiler. */
  readonly loaded: { readonly ours: number; readonly clang?: number; readonly gcc?: number };
  /** Processor time relative to clang's. */
  readonly cpu?: { readonly configure?: number; readonly build?: number };
}

export interface BuildFigures {
  readonly commit: string;
  readonly command: string;
  readonly packages: Readonly<Record<string, BuildFigure>>;
}

export const buildFiguresIn = (root: string): BuildFigures =>
  JSON.parse(readFileSync(join(root, "fixtures/measurements/builds.json"), "utf8")) as BuildFigures;

/** Of the smaller of the others; undefined where nobody else built it. */
export function ofTheSmaller({ loaded: { ours, clang, gcc } }: BuildFigure): number | undefined {
  const others = [clang, gcc].filter((bytes) => bytes !== undefined);
  return others.length === 0 ? undefined : ours / Math.min(...others);
}

/** @returns Markdown, the same for the same figures */
export function buildsSection({ packages, command, commit }: BuildFigures): string {
  const all = Object.entries(packages);
  const ratios = all.flatMap(([, figure]) => ofTheSmaller(figure) ?? []);
  const fixed = (x: number | undefined, digits: number): string => x?.toFixed(digits) ?? "–";
  const rows = all.map(([name, figure]) => {
    const { system, loaded, cpu } = figure;
    const bytes = [loaded.ours, loaded.clang ?? "–", loaded.gcc ?? "–"];
    const cells = [fixed(ofTheSmaller(figure), 3), fixed(cpu?.configure, 2), fixed(cpu?.build, 2)];
    return `| ${[name, system, ...bytes, ...cells].join(" | ")} |`;
  });
  return `## In people's builds

Debian's source packages as they are, by their own build systems, with \`CC=tsc-cc CXX=tsc-c++\`, beside \`clang -Oz -flto\` with lld and
\`gcc -Os -flto\` (\`${command}\`, last at commit ${commit}). Bytes are what is loaded of all files of a package that are measured: code, unwind tables,
data, relocations, names. Processor time is relative to clang's build. Where a package is above 0.85, its bytes are mostly such as no
compiler makes fewer of: tables (fribidi, brotli, cmark with its relocations, libogg), names and entries of what a shared library exports
(double-conversion, libjsoncpp, yajl, which hides its own names from GCC only), and Rust's standard library, which comes optimised for speed.

| package | build system | tsc-lto | clang -Oz -flto | gcc -Os -flto | of the smaller | configure | build |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
${rows.join("\n")}
| **geometric mean** | | | | | **${fixed(geometricMean(ratios), 3)}** | | |
`;
}
