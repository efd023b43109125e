/** `tsc-lto why`: answers about one symbol, from a size report. */
import { Argument } from "commander";
import type { SymbolReport } from "../../formats/size-report/schema.js";
import { totalOf } from "../../formats/size-report/schema.js";
import { Explainer } from "../../formats/size-report/why.js";
import { InputError } from "../../lto/ir/errors.js";
import { findReport } from "./load.js";
import type { AddSubcommand } from "./main.js";
import {
  findRemarks,
  noRemarks,
  type Refusal,
  type RemarkQuestion,
  refusals,
  remarkQuestions,
} from "./why-remarks.js";

const questions = ["kept", "open", "mask", "saves"] as const;
type Question = (typeof questions)[number];
const isOfRemarks = (question: string | undefined): question is RemarkQuestion =>
  remarkQuestions.some((one) => one === question);

interface WhyOptions {
  readonly report?: string;
  readonly remarks?: string;
  readonly json?: boolean;
}

/** Shown of lists. */
const most = 8;

export const addWhy: AddSubcommand = (command, { host, print }, finish) => {
  command
    .command("why")
    .description(
      "Answer from what a link wrote with --size-report, or tsc-lto size --json: why a function or variable is in the program, why unknown code may enter it, who makes its calls change registers, who saves them, and from what --opt-remarks-filename wrote, why it or code in it was not inlined, outlined or merged.",
    )
    .argument("<symbol>", "a function or variable, by the linker's name")
    .addArgument(
      new Argument("[question]", "one of them; default: all").choices([...questions, ...remarkQuestions]),
    )
    .argument(
      "[other]",
      "not-inlined: a callee; not-outlined, not-merged: a function that would share the code",
    )
    .option(
      "--report <file>",
      "the report, or a program that has PROGRAM.size.json beside it; default: the only *.size.json here",
    )
    .option("--remarks <file>", "optimisation records; default: PROGRAM.opt.yaml beside the report")
    .option("--json", "as JSON")
    .action(
      (
        name: string,
        question: Question | RemarkQuestion | undefined,
        other: string | undefined,
        options: WhyOptions,
      ) => {
        const { file, report } = findReport(options.report, host);
        const explainer = new Explainer(report);
        const symbol = explainer.find(name);
        if (symbol === undefined) {
          const similar = explainer.similar(name);
          const hint = similar.length === 0 ? "" : `; there are ${similar.join(", ")}`;
          throw new InputError(`no symbol ${name}${hint}`, file);
        }
        if (other !== undefined && !isOfRemarks(question))
          throw new InputError(`${question} is asked of one symbol: ${other} is one too many`);
        const asked = question === undefined ? questions : questions.filter((one) => one === question);
        const remarks = findRemarks(options.remarks, file, host);
        if (remarks === null && isOfRemarks(question)) throw noRemarks();
        const refused = remarkQuestions
          .filter((one) => remarks !== null && (question ?? one) === one)
          .map((one) => [one, refusals(remarks!, one, symbol.name, other ?? null)] as const);
        if (options.json === true) {
          const answers = asked.map((one) => [one, answer[one](symbol, explainer)]);
          print(
            `${JSON.stringify({ symbol: name, ...Object.fromEntries([...answers, ...refused]) }, null, 1)}\n`,
          );
        } else {
          const parts = asked.map((one) => text[one](symbol, explainer));
          print([about(symbol), ...parts, ...refused.map(([one, list]) => refusalText(one, list))].join(""));
        }
        finish(0);
      },
    );
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

/** How a function that unknown code does not enter is entered. */
function entrances({ calls, mentions }: ReturnType<Explainer["usersOf"]>): string {
  const pointers = "calls by pointer that are known";
  if (mentions.length === 0) return calls.length === 0 ? pointers : shortened(calls);
  return `${calls.length === 0 ? "" : `${shortened(calls)} and `}${pointers}; its address is in ${shortened(mentions)}`;
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
    return `closed: ${symbol.kind === "function" ? `entered only from ${entrances(explainer.usersOf(symbol))}` : "used only in the program"}\n`;
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

function refusalText(question: RemarkQuestion, list: readonly Refusal[]): string {
  if (list.length === 0) return `${question}: no pass considered it\n`;
  const lines = list.slice(0, most).map(({ pass, text: said }) => `  ${pass}: ${said}\n`);
  const rest = list.length - lines.length;
  return `${question}:\n${lines.join("")}${rest > 0 ? `  and ${rest} more\n` : ""}`;
}

function shortened(names: readonly string[]): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
