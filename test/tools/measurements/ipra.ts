/** What interprocedural register allocation costs and brings, kept as data, and its tables in MEASUREMENTS.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { geometricMean } from "../bench/tables.js";

/** With, relative to without. */
export interface IpraFigure {
  /** Processor time of the link, least of several in turn. */
  readonly linkTime: number;
  /** Instructions that the program's own code executes. */
  readonly instructions: number;
  /** Processor time of a run, least of several in turn; null where it is too short to be measured. */
  readonly runTime: number | null;
  readonly text: number;
  /** With unwind tables and constants. */
  readonly loaded: number;
}

/** By compiler. */
export type IpraOfProgram = Readonly<Record<string, IpraFigure>>;

export interface IpraFigures {
  readonly command: string;
  readonly commit: string;
  /** By level of optimization, then by program. */
  readonly levels: Readonly<Record<string, Readonly<Record<string, IpraOfProgram>>>>;
}

/** Compilers with the toolchains of each, with and without, and what the difference is. */
export const ipraCompilers = [
  { name: "tsc-lto", tools: ["ours", "ours-no-ipra"] },
  { name: "LLVM", tools: ["clang-lto-ipra", "clang-lto"] },
  { name: "GCC", tools: ["gcc-lto", "gcc-lto-no-ipra"] },
] as const;

export const ipraFiguresIn = (root: string): IpraFigures =>
  JSON.parse(readFileSync(join(root, "fixtures/measurements/ipra.json"), "utf8")) as IpraFigures;

const percent = (ratio: number | null): string => {
  if (ratio === null || !Number.isFinite(ratio)) return "–";
  const text = (100 * (ratio - 1)).toFixed(2);
  return `${text.startsWith("-") ? "" : "+"}${text}%`;
};

const columns: readonly (readonly [string, (figure: IpraFigure) => number | null])[] = [
  ["link time", (figure) => figure.linkTime],
  ["run time", (figure) => figure.runTime],
  ["instructions", (figure) => figure.instructions],
  [".text", (figure) => figure.text],
  ["loaded", (figure) => figure.loaded],
];

function levelTable(level: string, programs: Readonly<Record<string, IpraOfProgram>>): string {
  const all = Object.values(programs);
  const rows = Object.entries(programs).flatMap(([program, by]) =>
    ipraCompilers.flatMap(({ name }) => {
      const figure = by[name];
      return figure === undefined ? [] : [[program, name, ...columns.map(([, of]) => percent(of(figure)))]];
    }),
  );
  const means = ipraCompilers.map(({ name }) => {
    const figures = all.flatMap((by) => by[name] ?? []);
    return [
      "**geometric mean**",
      name,
      ...columns.map(
        ([, of]) => `**${percent(geometricMean(figures.map(of).filter((ratio) => ratio !== null)))}**`,
      ),
    ];
  });
  const head = [`-${level}`, "compiler", ...columns.map(([title]) => title)];
  return [head, head.map((_, i) => (i < 2 ? "---" : "---:")), ...rows, ...means]
    .map((cells) => `| ${cells.join(" | ")} |\n`)
    .join("");
}

/** @returns Markdown, the same for the same figures */
export function ipraSection({ command, commit, levels }: IpraFigures): string {
  const tables = Object.entries(levels).map(([level, programs]) => levelTable(level, programs));
  return `The programs with which LLVM's documentation measures LLVM's own, from the LLVM test suite: SPASS (a prover), make_dparser (a parser
generator), oggenc's encoder and sphereflake (C++). With it relative to without, at the link: LLVM's \`-enable-ipra\`, GCC's
\`-fipa-ra\` (\`${command}\`, at commit ${commit}). Times are the least processor times of several runs in turn, and vary by some
percent on a busy machine; "–" is a run of less than a fifth of a second. Instructions are those of the program's own code; these and bytes are exact.

${tables.join("\n")}`;
}
