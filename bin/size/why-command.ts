/** `tsc-lto why`: answers about one symbol, from a size report. */
import { Argument } from "commander";
import type { SymbolReport } from "../../formats/size-report/schema.js";
import { totalOf } from "../../formats/size-report/schema.js";
import { Explainer } from "../../formats/size-report/why.js";
import { InputError } from "../../lto/ir/errors.js";
import { findReport } from "./load.js";
import type { AddSubcommand } from "./main.js";

const questions = ["kept", "open", "mask", "saves"] as const;
type Question = (typeof questions)[number];

/** Shown of lists. */
const most = 8;

export const addWhy: AddSubcommand = (command, { host, print }, finish) => {
  command
    .command("why")
    .description(
      "Answer from what a link wrote with --size-report, or tsc-lto size --json: why a function or variable is in the program, why unknown code may enter it, who makes its calls change registers, and who saves them.",
    )
    .argument("<symbol>", "a function or variable, by the linker's name")
    .addArgument(new Argument("[question]", "one of them; default: all").choices(questions))
    .option(
      "--report <file>",
      "the report, or a program that has PROGRAM.size.json beside it; default: the only *.size.json here",
    )
    .option("--json", "as JSON")
    .action((name: string, question: Question | undefined, options: { report?: string; json?: boolean }) => {
      const { file, report } = findReport(options.report, host);
      const explainer = new Explainer(report);
      const symbol = explainer.find(name);
      if (symbol === undefined) {
        const similar = explainer.similar(name);
        const hint = similar.length === 0 ? "" : `; there are ${similar.join(", ")}`;
        throw new InputError(`no symbol ${name}${hint}`, file);
      }
      const asked = question === undefined ? questions : [question];
      if (options.json === true) {
        const answers = asked.map((one) => [one, answer[one](symbol, explainer)]);
        print(`${JSON.stringify({ symbol: name, ...Object.fromEntries(answers) }, null, 1)}\n`);
      } else print([about(symbol), ...asked.map((one) => text[one](symbol, explainer))].join(""));
      finish(0);
    });
};

const answer: Readonly<Record<Question, (symbol: SymbolReport, explainer: Explainer) => unknown>> = {
  kept: (symbol, explainer) => explainer.kept(symbol),
  open: ({ open }) => open ?? null,
  mask: (symbol, explainer) => explainer.mask(symbol),
  saves: (symbol, explainer) => explainer.savers(symbol),
};

function about({ name, kind, bytes, file, madeBy, madeOf, standsFor }: SymbolReport): string {
  const parts = [`${kind}, ${totalOf(bytes)} bytes`];
  if (file !== undefined) parts.push(`from ${file}`);
  if (madeBy !== undefined) parts.push(`made by ${madeBy}`);
  if (madeOf !== undefined && madeOf.length > 0) parts.push(`of ${shortened(madeOf)}`);
  if (standsFor !== undefined) parts.push(`stands for ${shortened(standsFor)}`);
  return `${name}: ${parts.join(", ")}\n`;
}

const text: Readonly<Record<Question, (symbol: SymbolReport, explainer: Explainer) => string>> = {
  kept(symbol, explainer) {
    const kept = explainer.kept(symbol);
    if (kept === null) return "kept: the report knows of nothing that keeps it\n";
    const steps = kept.path.map(
      ({ how, to, isOnly }) => `  ${how} ${to}${isOnly ? "" : " (there are other ways)"}\n`,
    );
    if (kept.through.length > 0) steps.push(`  every way leads through ${shortened(kept.through)}\n`);
    return `kept: from ${kept.root}, ${kept.reasons.join("; ")}\n${steps.join("")}`;
  },
  open(symbol, explainer) {
    const { open } = symbol;
    if (open === undefined) return "open: the report does not say\n";
    if (open.length > 0) return `open:\n${open.map((reason) => `  ${reason}\n`).join("")}`;
    const { calls } = explainer.usersOf(symbol);
    return `closed: ${symbol.kind === "function" ? `entered only from ${calls.length === 0 ? "calls by pointer that are known" : shortened(calls)}` : "used only in the program"}\n`;
  },
  mask(symbol, explainer) {
    const { registers } = symbol;
    if (registers === undefined) return "";
    const lines = explainer.mask(symbol).map(({ registers: names, path, by }) => {
      const chain = path.map((name) => `calls ${name}`).join(", which ");
      const end =
        by === "itself" ? "" : `${chain === "" ? "" : ", which "}calls code that is not known: ${by}`;
      return `  ${names.join(" ")}: ${chain === "" && end === "" ? "its own instructions" : `${chain}${end}`}\n`;
    });
    const { preserves, convention } = registers;
    if (preserves.length > 0) lines.push(`  preserved, beyond the convention: ${preserves.join(" ")}\n`);
    if (convention !== undefined) lines.push(`  arguments and results: ${convention}\n`);
    return `changes in a call:\n${lines.join("")}`;
  },
  saves(symbol, explainer) {
    if (symbol.registers === undefined) return "";
    const lines = explainer.savers(symbol).map(({ register, by, isOwn }) => {
      if (isOwn) return `  ${register}: saved here\n`;
      const savers = by.length === 0 ? "nobody needs it" : `saved in ${shortened(by)}`;
      return `  ${register}: not saved here; ${savers}\n`;
    });
    return lines.length === 0
      ? "saves: changes no register that callers rely on\n"
      : `saves:\n${lines.join("")}`;
  },
};

function shortened(names: readonly string[]): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
