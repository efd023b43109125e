/** Options of tsc-lto by their names, for link steps: what a linker has no option of that name for is meant for it. */
import { passOptions } from "../../lto/pass/options.js";
import { optionTable } from "./option-table.js";

/** Options of single passes, of which the registry knows; a test holds the list. */
export const optionsOfPasses: readonly string[] = [
  "check-attributes",
  "guard-callees",
  "guard-entries",
  "ir-outline-early",
  "no-ir-outline",
];

/** What a link step says in its own words: where the output goes, and what it is. GNU ld has --stats and --verbose. */
const ofLinkSteps = new Set(["native-modules", "emit", "help", "version", "stats", "verbose", "z"]);

/** Whether each takes a value, by its long name. */
const names: ReadonlyMap<string, boolean> = new Map(
  [
    ...optionTable
      .flatMap(({ rows }) =>
        Object.values(rows).map(({ flags }) => /--([a-z][\w-]*)(?: ([<[]).*)?$/.exec(flags) ?? []),
      )
      .map(([, name, bracket]) => [name ?? "", bracket === "<"] as const),
    ...passOptions.map(({ name, value }) => [name, value.startsWith("<")] as const),
    ...optionsOfPasses.map((name) => [name, false] as const),
  ].filter(([name]) => name !== "" && !ofLinkSteps.has(name)),
);

/** The option that a word is, in two dashes; null: it is none of tsc-lto's. */
export function ownOptionOf(
  word: string,
): { readonly name: string; readonly value: string | undefined; readonly takesValue: boolean } | null {
  const [, name, value] = /^--?([a-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? [];
  const takesValue = name === undefined ? undefined : names.get(name);
  return takesValue === undefined ? null : { name: name!, value, takesValue };
}

/** Those whose value may be the next word. */
export const ownNamesWithValue: readonly string[] = [...names].flatMap(([name, takes]) =>
  takes ? [name] : [],
);
