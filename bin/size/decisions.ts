/**
 * What can be left out of a link, one by one, to see what it saves: switches of code generation and groups of passes that
 * belong together. Passes that have no entry can be named as they are.
 */

import { type IpraPart, ipraParts } from "../../lto/codegen/program/options.js";
import { InputError } from "../../lto/ir/errors.js";
import { isSkippable, machineSteps, passes, productPasses } from "../../lto/pipeline/registry.js";

export interface Decision {
  readonly name: string;
  readonly meaning: string;
  /** Options that leave it out. */
  readonly off: readonly string[];
  /** Passes and steps to be skipped. */
  readonly skip: readonly string[];
}

const option = (name: string, meaning: string): Decision => ({
  name,
  meaning,
  off: [`--no-${name}`],
  skip: [],
});
const group = (name: string, meaning: string, ...skip: string[]): Decision => ({
  name,
  meaning,
  off: [],
  skip: skip.length === 0 ? [name] : skip,
});

const partMeanings: Readonly<Record<IpraPart, string>> = {
  masks: "calls change no more than their callees do",
  conventions: "arguments and results where closed functions want them",
  pointers: "sets of callees of calls through pointers",
  saves: "who saves a register",
  alignment: "stacks that are aligned only where somebody relies on it",
};

/** Those that are measured where nothing else is asked for. */
export const decisions: readonly Decision[] = [
  option("shared-unwind", "unwind descriptions shared by neighbouring functions"),
  option("ipra", "interprocedural register allocation: masks, conventions, placing of saves"),
  option("outline", "the outliner of machine code"),
  group("ir-outline", "the outliner of IR"),
  group("constant-argument-thunks", "entries that set arguments which many calls share"),
  group("narrow-constant-tables", "tables with no wider entries than their values need"),
  group("inline", "inlining"),
  group("merge-similar-functions", "functions that differ in constants made one"),
  group("icf", "equal functions made one"),
  option("base-register", "registers that lead among small variables and far fields"),
  group(
    "bias-pointers",
    "pointers to the middle of what is accessed",
    "bias-pointer-arguments",
    "bias-pointers",
  ),
  option("shared-epilogues", "epilogues that functions share"),
  option("function-layout", "functions placed so that they run into what they end with"),
  option("shrink-wrap", "frames only where they are needed"),
  option("bound-variable-arguments", "functions with variable arguments save what they are passed"),
  group("propagation", "constants and facts from function to function", "ipsccp", "function-attrs"),
  group("arguments", "arguments that are not needed, or by value", "deadargelim", "argpromotion"),
  group(
    "globals",
    "variables that are constant, small or not needed",
    "globalopt",
    "shrink-globals",
    "constmerge",
  ),
  group("memory", "loads and stores that are not needed", "gvn", "dse", "licm"),
  group("hoist-sink", "equal code of branches in one place", "hoist-sink"),
];

/** The parts of interprocedural register allocation: they are looked at where it is asked for by name. */
const parts: readonly Decision[] = ipraParts.map((part) => ({
  name: `ipra-${part}`,
  meaning: `of interprocedural register allocation: ${partMeanings[part]}`,
  off: [`--skip-ipra=${part}`],
  skip: [],
}));

const byName = new Map([...decisions, ...parts].map((decision) => [decision.name, decision]));

/** What a list of names asks for; `ipra-parts` are all parts of interprocedural register allocation. */
export const namedDecisions = (list: string): Decision[] =>
  list.split(",").flatMap((name) => (name === "ipra-parts" ? parts : [decisionNamed(name)]));

/** A decision, or a pass or step that can be skipped, by its name. @throws InputError for another word */
export function decisionNamed(name: string): Decision {
  const known = byName.get(name);
  if (known !== undefined) return known;
  const pass = [...passes, ...machineSteps].find((one) => one.name === name);
  if (pass === undefined || !isSkippable(name, productPasses))
    throw new InputError(
      `nothing to leave out is called ${name}; there are ${[...byName.keys()].join(", ")}, and passes`,
    );
  return { name, meaning: pass.description, off: [], skip: [name] };
}

/** Every pass and step that can be skipped, each by itself. */
export const everyPass = (): Decision[] =>
  [...passes, ...machineSteps]
    .filter(
      (pass) => !("option" in pass && pass.option !== undefined) && isSkippable(pass.name, productPasses),
    )
    .map(({ name }) => decisionNamed(name));

/** Options that leave decisions out. */
export function optionsWithout(left: readonly Decision[]): string[] {
  const skip = [...new Set(left.flatMap((decision) => decision.skip))];
  return [
    ...new Set(left.flatMap(({ off }) => off)),
    ...(skip.length === 0 ? [] : [`--skip-pass=${skip.join(",")}`]),
  ];
}
