/**
 * What modules ask of code generation besides their instructions, and what becomes of it: hardening, instrumentation,
 * and whatever else is said in function attributes and module flags. Nothing is dropped without a word: each request is
 * done, harmless, or refused with a message that names the file and the construct.
 *
 * A target has one table of answers. Of what no table knows, a name that speaks of protecting, checking or instrumenting
 * is refused, since whoever wrote it relies on it; other names tune or inform, as most of LLVM's do.
 * Linear in functions, each set of attributes is looked at once.
 */
import type { AttributeSet } from "../ir/attributes.js";
import type { Func, Module, ModuleFlag } from "../ir/module.js";

/** `done`: the code has it. `harmless`: code without it does what is asked. `refused`: an error. */
export type Fate = "done" | "harmless" | "refused";

export interface Answer {
  readonly fate: Fate;
  /** Why that is right; of a refusal, what is missing. */
  readonly reason: string;
  /** Values ("" of attributes without one) for which the answer is another; by default none. */
  readonly unless?: Readonly<Record<string, Fate>>;
}

export interface RequestTable {
  /** Attributes of functions that LLVM knows by number, all of them. */
  readonly attributes: ReadonlyMap<string, Answer>;
  /** Attributes of functions that are strings. */
  readonly strings: ReadonlyMap<string, Answer>;
  /** Words of `target-features` that ask for more than instructions, with their signs. */
  readonly features: ReadonlyMap<string, Answer>;
  /** Module flags. */
  readonly flags: ReadonlyMap<string, Answer>;
}

/** Names that nobody knows here and that somebody may rely on. */
const relies =
  /protect|guard|probe|harden|sanit|instrument|patch|hook|safe-?stack|split-?stack|shadow|sign|thunk|retpoline|zero-|xray|cfi|trap|seal|mitigat|fence/i;

const unknown = (name: string): Fate => (relies.test(name) ? "refused" : "harmless");

function fateOf(table: ReadonlyMap<string, Answer>, name: string, value: string): Fate {
  const answer = table.get(name);
  if (answer === undefined) return unknown(name);
  return answer.unless?.[value] ?? answer.fate;
}

/** The requests in a function's attributes that are refused: names, and the words for them. */
function refusedAttributes(set: AttributeSet, table: RequestTable): [name: string, what: string][] {
  const refused: [string, string][] = [];
  for (const name of set.kinds.keys())
    if (fateOf(table.attributes, name, "") === "refused") refused.push([name, `attribute ${name}`]);
  for (const [name, value] of set.strings) {
    if (name === "target-features") {
      for (const word of value.split(","))
        if (table.features.get(word)?.fate === "refused") refused.push([word, `target feature ${word}`]);
    } else if (fateOf(table.strings, name, value) === "refused")
      refused.push([name, `attribute "${name}"${value === "" ? "" : `="${value}"`}`]);
  }
  return refused;
}

/** Whether a module flag is refused. A flag that is 0 asks for nothing. */
const isRefusedFlag = ({ key, value }: ModuleFlag, table: RequestTable): boolean =>
  value !== 0 && fateOf(table.flags, key, String(value)) === "refused";

/** What nobody can do, and who asks for it. */
export interface Refusal {
  readonly what: string;
  /** The first function that asks, or the module flag. */
  readonly by: { readonly fn: Func } | { readonly flag: string };
}

/** What the flags and the definitions of a module ask for in vain: each request once, with who asks first. */
export function refusedRequests(module: Module, table: RequestTable): Refusal[] {
  const refusals = new Map<string, Refusal>();
  const add = (name: string, what: string, by: Refusal["by"]): void => {
    if (!refusals.has(name)) refusals.set(name, { what, by });
  };
  for (const flag of module.flags)
    if (isRefusedFlag(flag, table))
      add(`flag ${flag.key}`, `module flag "${flag.key}" = ${flag.value}`, { flag: flag.key });
  const seen = new Set<AttributeSet>();
  for (const fn of module.functions) {
    const set = fn.attributes.fn;
    if (fn.isDeclaration || seen.has(set)) continue;
    seen.add(set);
    for (const [name, what] of refusedAttributes(set, table)) add(name, what, { fn });
  }
  return [...refusals.values()];
}
