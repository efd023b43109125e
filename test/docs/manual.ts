/** The registry as text: what PASSES.md says. `npm run docs` writes it, and a test holds it up to date. */

import {
  emission,
  fallThroughStep,
  framePasses,
  lateTailCalls,
  outlineStep,
  shareEpiloguesStep,
  shrinkWrap,
} from "../../lto/codegen/late/pipeline.js";
import { analyses } from "../../lto/pass/analyses.js";
import type { Stage } from "../../lto/pass/module-pipeline.js";
import { passOptions } from "../../lto/pass/options.js";
import type { Analysis, AnyPass, Step } from "../../lto/pass/pass.js";
import type { Pipeline } from "../../lto/pipeline/pipelines.js";
import { type PassSet, rulesOf } from "../../lto/pipeline/registry.js";
import { machineRules } from "../../lto/targets.js";

/** A table in Markdown with aligned columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`;
  const [first, ...rest] = cells;
  return [line(first!), line(widths.map((width) => "-".repeat(width))), ...rest.map(line)].join("");
}

const namesOf = (list: readonly Analysis[]): string => list.map(({ name }) => name).join(", ");

const conditionOf = ({ name, option, offOption }: AnyPass): string =>
  option !== undefined
    ? `; only with \`--${name}\``
    : offOption !== undefined
      ? `; not with \`--no-${name}\``
      : "";

const passRow = (pass: AnyPass): string[] => [
  `\`${pass.name}\``,
  pass.level,
  `${pass.description}${conditionOf(pass)}`,
  namesOf(pass.requires),
  namesOf(pass.preserves),
];

/** Steps that other steps rely on in bold, those for functions that others changed in italics. */
const nameOf = ({ pass, isRequired, isForChanged }: Step): string =>
  isRequired ? `**${pass.name}**` : isForChanged ? `*${pass.name}*` : pass.name;
const steps = (list: readonly Step[]): string => list.map(nameOf).join(", ");

const over: Readonly<Record<Stage["over"], string>> = {
  module: "the whole module",
  components: "each component of the call graph, callees first",
  functions: "each function",
};

function pipelineText({ program, lowering }: Pipeline): string {
  const stages = program.map((stage) => `- ${over[stage.over]}: ${steps(stage.steps)}\n`);
  return `${stages.join("")}- each function before selection: ${steps(lowering)}\n`;
}

/** Levels with the same pipeline together. */
function pipelineSections({ pipelines }: PassSet): string {
  const byText = new Map<string, string[]>();
  for (const [level, pipeline] of Object.entries(pipelines)) {
    const text = pipelineText(pipeline as Pipeline);
    byText.set(text, [...(byText.get(text) ?? []), `-${level}`]);
  }
  return [...byText].map(([text, levels]) => `### ${levels.join(", ")}\n\n${text}`).join("\n");
}

const programStepNames = (): string =>
  [outlineStep, shareEpiloguesStep, fallThroughStep]
    .map((step) => `${step.name} (${step.description})`)
    .join(", ");
const machineRows = (): string[][] =>
  [lateTailCalls, shrinkWrap, ...framePasses, ...emission].map(({ name, description, isRequired }) => [
    isRequired ? `**${name}**` : `\`${name}\``,
    description,
  ]);

/** The text of PASSES.md. */
export function passManual(set: PassSet): string {
  const counters = set.passes.flatMap((pass) =>
    Object.values(pass.counters ?? {}).map((meaning) => [`\`${pass.name}\``, meaning]),
  );
  const options = passOptions.map(({ name, value, choices, description, llvm }) => [
    `\`--${name}${value === "" ? "" : ` ${value}`}\``,
    choices === undefined ? description : `${description} (${choices.join(", ")})`,
    llvm.map((other) => `\`-${other}\``).join(", "),
  ]);
  return [
    "# Passes",
    "Generated from the registry by `npm run docs`. How to add a pass: `pass.ts`. Why they run in this order: `pipelines.ts`.",
    table(["pass", "level", "what it does", "requires", "preserves"], set.passes.map(passRow)).trim(),
    "## Pipelines",
    "Passes in bold cannot be left out; those in italics leave alone what no pass in front of them changed.",
    pipelineSections(set).trim(),
    "## Steps on machine code",
    `After register allocation: function by function up to its final code, then, with all code of the program at hand, steps
on the program (${programStepNames()}), then layout. Those in bold cannot be left out.`,
    table(["step", "what it does"], machineRows()).trim(),
    "## Rules of the peepholes",
    "In the order in which they are asked at an instruction; `--skip-rule` leaves them out by these names.",
    table(
      ["rule", "what it makes of what"],
      machineRules.map(({ name, description }) => [`\`${name}\``, description]),
    ).trim(),
    "## Rules of passes",
    "Likewise.",
    table(
      ["rule", "what it makes of what"],
      rulesOf(set).map(({ name, description }) => [`\`${name}\``, description]),
    ).trim(),
    "## Analyses",
    table(
      ["analysis", "of", "what it says"],
      analyses.map((a) => [`\`${a.name}\``, a.unit, a.description]),
    ).trim(),
    "## Counters of `--stats`",
    table(["pass", "counter"], counters).trim(),
    "## Options of the runner",
    table(["option", "what it does", "LLVM's name, behind `-mllvm`"], options).trim(),
  ]
    .join("\n\n")
    .concat("\n");
}
