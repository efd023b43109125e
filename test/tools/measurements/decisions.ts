/** What `tsc-lto measure` found of whole programs, kept as data, and its tables in MEASUREMENTS.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Bytes of a program by what they are for, and those that are loaded. */
export interface SettingFigure {
  readonly code: number;
  readonly unwind: number;
  readonly constants: number;
  readonly relocations: number;
  readonly loaded: number;
}

/** Where the bytes of .text are from, by `tsc-lto size --json`. */
export interface OriginFigure {
  readonly text: number;
  /** Of functions from one file, pieces that were inlined into them included. */
  readonly oneFile: number;
  /** Of functions that a pass made of several files' code, and says so. */
  readonly several: number;
  readonly padding: number;
  /** Sections that are loaded, and those of them whose size is not what `size -A` says. */
  readonly sections: number;
  readonly differ: number;
}

export interface DecisionsOfProgram {
  /** What the program is, and how its objects were compiled. */
  readonly subject: string;
  readonly origins: OriginFigure;
  /** Empty where only origins were looked at. By name: `all`, `none`, `without NAME`, and LLVM's. */
  readonly settings: Readonly<Record<string, SettingFigure>>;
  /** Bytes that are loaded more without both of two, and how many of them are beyond the sum of each alone. */
  readonly pairs: readonly {
    readonly decisions: readonly string[];
    readonly costs: number;
    readonly beyond: number;
  }[];
}

export interface DecisionFigures {
  readonly commit: string;
  readonly command: string;
  readonly programs: Readonly<Record<string, DecisionsOfProgram>>;
}

export const decisionFiguresIn = (root: string): DecisionFigures =>
  JSON.parse(readFileSync(join(root, "fixtures/measurements/decisions.json"), "utf8")) as DecisionFigures;

const without = "without ";
const peers: Readonly<Record<string, string>> = {
  lld: "lld",
  "lld-ipra": "lld with IPRA",
  "lld-outliner": "lld with its outliner",
  "lld-both": "lld with both",
};

/** @returns bytes that are loaded more without a decision; undefined where it was not left out */
export function savedBy(program: DecisionsOfProgram, decision: string): number | undefined {
  const left = program.settings[without + decision];
  return left && left.loaded - program.settings["all"]!.loaded;
}

const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

/** @param words columns that hold no numbers, the first ones */
function table(words: number, head: readonly string[], rows: readonly string[]): string {
  return [row(...head), row(...head.map((_, i) => (i < words ? "---" : "---:"))), ...rows].join("\n");
}

function byUse(programs: readonly (readonly [string, DecisionsOfProgram])[]): string {
  const rows = programs.flatMap(([name, { settings }]) =>
    Object.entries(settings)
      .filter(([setting]) => !setting.startsWith(without))
      .map(([setting, { code, unwind, constants, relocations, loaded }]) => {
        const ratio = (loaded / settings["all"]!.loaded).toFixed(3);
        return row(name, peers[setting] ?? setting, code, unwind, constants, relocations, loaded, ratio);
      }),
  );
  return table(
    2,
    ["program", "setting", "code", "unwind", "constants", "relocations", "loaded", "of all"],
    rows,
  );
}

function byDecision(programs: readonly (readonly [string, DecisionsOfProgram])[]): string {
  const names = new Set(
    programs.flatMap(([, { settings }]) =>
      Object.keys(settings)
        .filter((setting) => setting.startsWith(without))
        .map((setting) => setting.slice(without.length)),
    ),
  );
  const rows = [...names].map((name) =>
    row(name, ...programs.map(([, program]) => savedBy(program, name) ?? "–")),
  );
  return table(1, ["bytes more without", ...programs.map(([name]) => name)], rows);
}

function byPair(programs: readonly (readonly [string, DecisionsOfProgram])[]): string {
  const rows = programs.flatMap(([name, { pairs }]) =>
    pairs.map(({ decisions, costs, beyond }) => row(name, decisions.join(", "), costs, beyond)),
  );
  return table(2, ["program", "without both of", "bytes more", "beyond each alone"], rows);
}

function byOrigin(programs: readonly (readonly [string, DecisionsOfProgram])[]): string {
  const rows = programs.map(([name, { origins }]) => {
    const { text, oneFile, several, padding, sections, differ } = origins;
    const unknown = text - oneFile - several - padding;
    return row(name, text, oneFile, several, padding, unknown, sections, differ);
  });
  const head = [
    "of one file",
    "made by a pass of several",
    "padding",
    "unknown",
    "sections",
    "not as `size -A` says",
  ];
  return table(1, ["program", ".text", ...head], rows);
}

/** @returns Markdown, the same for the same figures */
export function decisionsSection({ programs, command, commit }: DecisionFigures): string {
  const all = Object.entries(programs);
  const measured = all.filter(([, { settings }]) => settings["all"] !== undefined);
  return `## What each decision saves

The same objects linked under settings in turn, at commit ${commit}:

\`\`\`sh
${command}
\`\`\`

${all.map(([name, { subject }]) => `- ${name}: ${subject}`).join("\n")}

Bytes of the finished program, with what the C library and the compiler's start files bring. "none" is without any of the decisions that
have a number for the program in the next table; lld links LLVM's bitcode of the same objects.

${byUse(measured)}

What a decision saves where all others are taken; a minus says that the program is smaller without it, "–" that it was not left out.

${byDecision(measured)}

Of the three that save most, without two of them at once. Above 0 they do each other's work: what one does not save, the other does.

${byPair(measured)}

Where the bytes of .text are from, where the link wrote a report and a map (\`tsc-lto size --json --map MAP PROGRAM\`), and how many of the
sections that are loaded have another size than \`size -A PROGRAM\` says:

${byOrigin(all)}
`;
}
