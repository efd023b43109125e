/** The registry as text: what PASSES.md says. `npm run docs` writes it, and a test holds it up to date. */

import { completion, emission, programSteps, shrinkWrap } from "../../lto/codegen/late/pipeline.js";
import { analyses } from "../../lto/pass/analyses.js";
import type { Stage } from "../../lto/pass/module-pipeline.js";
import { passOptions } from "../../lto/pass/options.js";
import type { Analysis, AnyPass, Step } from "../../lto/pass/pass.js";
import type { Pipeline } from "../../lto/pass/pipelines.js";
import type { PassSet } from "../../lto/pass/registry.js";

const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
const head = (...cells: readonly string[]): string => row(...cells) + row(...cells.map(() => "---"));
const namesOf = (list: readonly Analysis[]): string => list.map(({ name }) => name).join(", ");

const passRow = ({ name, level, description, requires, preserves, option }: AnyPass): string =>
  row(
    `\`${name}\``,
    level,
    option === undefined ? description : `${description}; only with \`--${name}\``,
    namesOf(requires),
    namesOf(preserves),
  );

/** Steps that other steps rely on in bold. */
const steps = (list: readonly Step[]): string =>
  list.map(({ pass, isRequired }) => (isRequired ? `**${pass.name}**` : pass.name)).join(", ");

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
  programSteps.length === 0 ? "none yet" : programSteps.map(({ name }) => name).join(", ");
const machineRows = (): string =>
  [shrinkWrap, ...completion, ...emission]
    .map(({ name, description, isRequired }) => row(isRequired ? `**${name}**` : `\`${name}\``, description))
    .join("");

/** The text of PASSES.md. */
export function passManual(set: PassSet): string {
  return `# Passes

Generated from the registry by \`npm run docs\`. How to add a pass: \`pass.ts\`. Why they run in this order: \`pipelines.ts\`.

${head("pass", "level", "what it does", "requires", "preserves")}${set.passes.map(passRow).join("")}
## Pipelines

Passes in bold cannot be left out.

${pipelineSections(set)}
## Steps on machine code

After register allocation: function by function up to its final code, then, with all code of the program at hand, steps
on the program (${programStepNames()}), then layout. Those in bold cannot be left out.

${head("step", "what it does")}${machineRows()}
## Analyses

${head("analysis", "of", "what it says")}${analyses.map((a) => row(`\`${a.name}\``, a.unit, a.description)).join("")}
## Counters of \`--stats\`

${head("pass", "counter")}${set.passes
  .flatMap((pass) => Object.values(pass.counters ?? {}).map((meaning) => row(`\`${pass.name}\``, meaning)))
  .join("")}
## Options of the runner

${head("option", "what it does", "LLVM's name, behind `-mllvm`")}${passOptions
  .map(({ name, value, choices, description, llvm }) =>
    row(
      `\`--${name}${value === "" ? "" : ` ${value}`}\``,
      choices === undefined ? description : `${description} (${choices.join(", ")})`,
      llvm.map((other) => `\`-${other}\``).join(", "),
    ),
  )
  .join("")}`;
}
