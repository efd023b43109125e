/** What `npm run dispatch` measured, kept as data, and its table in MEASUREMENTS.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { geometricMean } from "../bench/tables.js";

export interface MeasuredCommand {
  readonly title: string;
  /** The function for the processor that was reached, and the widest registers that it uses. */
  readonly reached: string;
  readonly widest: string;
  /** Processor time relative to clang's. */
  readonly ratio: number;
}

export interface DispatchFigure {
  /** Whether the library's own tests passed. */
  readonly tests: boolean;
  readonly commands: readonly MeasuredCommand[];
}

export interface DispatchFigures {
  readonly commit: string;
  readonly command: string;
  readonly libraries: Readonly<Record<string, DispatchFigure>>;
}

export const dispatchFiguresIn = (root: string): DispatchFigures =>
  JSON.parse(readFileSync(join(root, "fixtures/measurements/dispatch.json"), "utf8")) as DispatchFigures;

/** @returns Markdown, the same for the same figures */
export function dispatchSection({ libraries, command, commit }: DispatchFigures): string {
  const rows = Object.entries(libraries).flatMap(([name, { tests, commands }]) =>
    commands.map(
      ({ title, reached, widest, ratio }) =>
        `| ${[name, tests ? "pass" : "fail", title, `\`${reached}\``, widest, ratio.toFixed(2)].join(" | ")} |`,
    ),
  );
  const ratios = Object.values(libraries).flatMap(({ commands }) => commands.map(({ ratio }) => ratio));
  return `## Code chosen by the processor

Libraries that have functions for several processors and choose at run time, as they are, with \`CC=tsc-cc\` and \`-O3 -flto\` beside
\`clang -O3 -flto\` with lld (\`${command}\`, last at commit ${commit}): their own tests (BLAKE3 against its portable code), a function for the processor that a
breakpoint is reached in, the widest registers in it, and the least processor time of several runs in turn, relative to clang's. Times vary
by some percent on a busy machine.

| library | tests | what | reached | registers | time |
| --- | --- | --- | --- | --- | ---: |
${rows.join("\n")}
| **geometric mean** | | | | | **${geometricMean(ratios).toFixed(3)}** |
`;
}
