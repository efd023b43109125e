/**
 * What a linker script, or `--defsym`, says of symbols: those that the linker gives a value of its own, whatever a
 * module defines, and those that it mentions. Sections, regions and the rest are the system linker's alone.
 *
 * Read as words, not by its grammar: a word before an assignment operator is assigned, each other word may be a
 * symbol. A word that is no symbol (a section, a keyword) costs nothing unless a module defines that name, which then
 * merely stays. What would break it: an assignment that is not seen. Source: GNU ld's manual, "Assigning Values to Symbols".
 */

export interface ScriptSymbols {
  /** The linker's value replaces any definition. */
  readonly assigned: readonly string[];
  /** Names that stay, definitions and all: operands, `ENTRY`, `EXTERN`, what `PROVIDE` defines if nobody else does. */
  readonly mentioned: readonly string[];
  /** Globs of sections that stay although nothing refers to them (`KEEP`). */
  readonly kept: readonly string[];
  /** Where the program starts (`ENTRY`); null: it does not say. */
  readonly entry: string | null;
  /** Files of `INCLUDE`, which stand for their text. */
  readonly included: readonly string[];
}

/** Not in the middle of a word, where it is of a pattern of files (`lib/*.o`). */
const comment = /(?<![\w.$/*-])\/\*[\s\S]*?(?:\*\/|$)/g;
const token =
  /"(?<quoted>[^"]*)"|\d\w*|(?<word>[A-Za-z_.$][\w.$]*)|(?<operator><<=|>>=|[-+*/&|]=|[=!<>]=|=)|(?<other>\S)/g;
const isAssignment = /^(?:=|[-+*/&|]=|<<=|>>=)$/;

/** @param text a script; `SYMBOL=EXPRESSION`, as options have it, is one too */
export function readLinkerScript(text: string): ScriptSymbols {
  const assigned = new Set<string>();
  const mentioned = new Set<string>();
  const code = text.replace(comment, " ");
  const tokens = [...code.matchAll(token)].map(({ groups }) => groups!);
  tokens.forEach(({ quoted, word }, i) => {
    const name = quoted ?? word;
    if (name === undefined || name === ".") return;
    const operator = tokens[i + 1]?.["operator"] ?? "";
    const opening = tokens[i - 1]?.["other"] === "(" ? tokens[i - 2]?.["word"] : undefined;
    const isTarget = isAssignment.test(operator) && !/^PROVIDE(?:_HIDDEN)?$/.test(opening ?? "");
    if (isTarget) assigned.add(name);
    // `a += 1` reads what it replaces.
    if (!isTarget || operator !== "=") mentioned.add(name);
  });
  const included = [...code.matchAll(/\bINCLUDE\s+(?:"([^"]+)"|([^\s;]+))/g)];
  return {
    assigned: [...assigned],
    mentioned: [...mentioned],
    kept: keptSections(code),
    entry: /\bENTRY\s*\(\s*"?([^\s")]+)"?\s*\)/.exec(code)?.[1] ?? null,
    included: included.map(([, quoted, word]) => quoted ?? word!),
  };
}

/** A pattern of files with lists of sections in brackets, which may be sorted or exclude files. */
const keep = /\bKEEP\s*\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)/g;

const keptSections = (code: string): string[] =>
  [...code.matchAll(keep)].flatMap(([text]) =>
    [...text.slice(4).matchAll(/(?<=[(\s])"?([.\w*?[\]$-]*[.\w][.\w*?[\]$-]*)"?(?=[)\s])/g)].map(
      ([, name]) => name!,
    ),
  );
