/**
 * Assembly text as statements of tokens, by GNU as' rules (manual, "Syntax"): comments are the target's (asm-syntax.ts),
 * `;` and line ends separate statements, `'c` and `'\c` are characters with or without a closing quote, names may
 * be written in double quotes. Linear in the text; never fails.
 */
import type { AsmSyntax } from "./asm-syntax.js";

export interface AsmToken {
  /** `word`: a name, mnemonic, directive or number. `string`: what stood in quotes. `mark`: one other character. */
  readonly kind: "word" | "string" | "mark";
  readonly text: string;
  /** White space, or the start of the statement, comes before it. */
  readonly spaced: boolean;
  /** Where it stands in the text, with its quotes. */
  readonly start: number;
  readonly end: number;
}

export interface AsmText {
  readonly statements: readonly (readonly AsmToken[])[];
  /** A backslash stands outside of strings and characters: only an expansion of macros can tell what the text means. */
  readonly backslashes: boolean;
}

const word = /[A-Za-z0-9_.\u0080-\uffff][A-Za-z0-9_.$\u0080-\uffff]*/y;
const string = /"([^"\\]*(?:\\[\s\S][^"\\]*)*)"?/y;
const character = /'(?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]+|[\s\S])|[^\\\n])?'?/y;
const escaped = /\\([0-7]{1,3}|[\s\S])/g;

/** Splits text into statements without comments; empty statements are left out. */
export function readAsm(text: string, { blank }: AsmSyntax): AsmText {
  const statements: AsmToken[][] = [];
  let current: AsmToken[] = [];
  let backslashes = false;
  let spaced = true;
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const add = (kind: AsmToken["kind"], contents: string, start: number): void => {
    current.push({ kind, text: contents, spaced, start, end: at });
    spaced = false;
  };
  while (at < text.length) {
    if (match(blank) !== null) {
      spaced = true;
      continue;
    }
    const c = text[at]!;
    const start = at;
    if (c === "\n" || c === ";") {
      if (current.length > 0) statements.push(current);
      current = [];
      spaced = true;
      at++;
    } else if (c === '"') add("string", withoutEscapes(match(string)![1]!), start);
    else if (c === "'") {
      match(character);
      add("word", "0", start);
    } else {
      const name = match(word);
      if (name !== null) add("word", name[0], start);
      else {
        backslashes ||= c === "\\";
        at++;
        add("mark", c, start);
      }
    }
  }
  if (current.length > 0) statements.push(current);
  return { statements, backslashes };
}

/** A quoted name without its escapes. */
const withoutEscapes = (text: string): string =>
  text.replace(escaped, (_, code: string) =>
    /^[0-7]/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : code,
  );
