/**
 * As much of CMake's language as the LLVM test suite's lists of programs are written in: commands, variables that are
 * lists, conditions on strings, folders below. Whoever evaluates is told of every other command, with its words.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A command as it is written: each argument is text before variables are looked up; `(` and `)` stand for themselves. */
interface Command {
  readonly name: string;
  readonly args: readonly { readonly text: string; readonly quoted: boolean }[];
}

export type Variables = Map<string, readonly string[]>;

/** What a command that this file does not know is given. @param words its arguments, variables looked up */
export type OnCommand = (
  name: string,
  words: readonly string[],
  variables: Variables,
  folder: string,
) => void;

const token = /#[^\n]*|\s+|"((?:[^"\\]|\\.)*)"|([()])|((?:\\.|"[^"\n]*"|[^\s()"#\\])+)/gsy;

function* tokens(text: string): Generator<{ text: string; quoted: boolean; paren: boolean }> {
  token.lastIndex = 0;
  for (let m = token.exec(text); m !== null; m = token.exec(text)) {
    if (m[1] !== undefined) yield { text: m[1].replace(/\\(.)/gs, "$1"), quoted: true, paren: false };
    else if (m[2] !== undefined) yield { text: m[2], quoted: false, paren: true };
    else if (m[3] !== undefined) yield { text: m[3].replace(/\\(.)/gs, "$1"), quoted: false, paren: false };
  }
}

/** @throws Error where parentheses do not match */
export function parseCommands(text: string): Command[] {
  const commands: Command[] = [];
  const all = [...tokens(text)];
  for (let i = 0; i < all.length; ) {
    const name = all[i++]!.text.toLowerCase();
    if (!all[i++]?.paren) throw new Error(`no '(' after ${name}`);
    const args: Command["args"][number][] = [];
    for (let depth = 1; ; i++) {
      const t = all[i];
      if (t === undefined) throw new Error(`no ')' after ${name}(`);
      if (t.paren) depth += t.text === "(" ? 1 : -1;
      if (depth === 0) break;
      args.push(t);
    }
    i++;
    commands.push({ name, args });
  }
  return commands;
}

/** The words of arguments: an unquoted variable is as many as it has elements. */
function expand(args: Command["args"], variables: Variables): string[] {
  const words: string[] = [];
  for (const { text, quoted } of args) {
    const whole = /^\$\{(\w+)\}$/.exec(text);
    if (whole !== null && !quoted) words.push(...(variables.get(whole[1]!) ?? []));
    else words.push(text.replace(/\$\{(\w+)\}/g, (_, name: string) => (variables.get(name) ?? []).join(";")));
  }
  return words;
}

const isFalse = (text: string): boolean => /^(|0|off|no|false|n|ignore|notfound|.*-notfound)$/i.test(text);

/** Whether a condition holds; questions that are not about strings are answered with no. */
function holds(args: Command["args"], variables: Variables): boolean {
  const words = args.map((a) => ({ ...a, value: expand([a], variables).join(";") }));
  let at = 0;
  const next = (): string => words[at]?.text ?? "";
  const value = (w: (typeof words)[number]): string =>
    !w.quoted && variables.has(w.text) ? variables.get(w.text)!.join(";") : w.value;
  const one = (): boolean => {
    const w = words[at++];
    if (w === undefined) return false;
    if (w.text === "(") {
      const inside = either();
      at++;
      return inside;
    }
    if (w.text === "NOT") return !one();
    if (/^(DEFINED|EXISTS|TARGET|COMMAND)$/.test(w.text)) {
      const asked = words[at++]?.text ?? "";
      return w.text === "DEFINED" && variables.has(asked);
    }
    if (/^(STREQUAL|EQUAL|MATCHES|VERSION_\w+|LESS|GREATER|IN_LIST)$/.test(next())) {
      const how = words[at++]!.text;
      const other = value(words[at++]!);
      if (how === "MATCHES") return new RegExp(other).test(value(w));
      return /EQUAL$/.test(how) && value(w) === other;
    }
    if (/^\d+$/.test(w.value) || w.quoted) return !isFalse(w.value);
    return variables.has(w.value)
      ? !isFalse(variables.get(w.value)!.join(";"))
      : /^(ON|YES|TRUE|Y)$/i.test(w.value);
  };
  const both = (): boolean => {
    let all = one();
    while (next() === "AND") {
      at++;
      all = one() && all;
    }
    return all;
  };
  const either = (): boolean => {
    let any = both();
    while (next() === "OR") {
      at++;
      any = both() || any;
    }
    return any;
  };
  return either();
}

/** Evaluates the `CMakeLists.txt` of a folder, and those of folders that it adds, if there are any. */
export function evaluate(folder: string, variables: Variables, onCommand: OnCommand): void {
  const file = join(folder, "CMakeLists.txt");
  if (!existsSync(file)) return;
  /** Of each `if` around: whether its commands run, and whether none of its branches did yet. */
  const open: { active: boolean; pending: boolean }[] = [];
  for (const { name, args } of parseCommands(readFileSync(file, "utf8"))) {
    const innermost = open.at(-1);
    const outer = open.slice(0, -1).every((o) => o.active);
    if (name === "if") {
      const active = open.every((o) => o.active) && holds(args, variables);
      open.push({ active, pending: !active });
    } else if (name === "elseif" && innermost !== undefined) {
      innermost.active = outer && innermost.pending && holds(args, variables);
      innermost.pending &&= !innermost.active;
    } else if (name === "else" && innermost !== undefined) {
      innermost.active = outer && innermost.pending;
      innermost.pending = false;
    } else if (name === "endif") open.pop();
    else if (open.every((o) => o.active))
      runCommand(name, expand(args, variables), variables, folder, onCommand);
  }
}

function runCommand(
  name: string,
  words: readonly string[],
  variables: Variables,
  folder: string,
  onCommand: OnCommand,
): void {
  const [first = "", second = "", ...rest] = words;
  if (name === "set") variables.set(first, words.slice(1));
  else if (name === "list" && first === "APPEND")
    variables.set(second, [...(variables.get(second) ?? []), ...rest]);
  else if (name === "list" && first === "REMOVE_ITEM")
    variables.set(
      second,
      (variables.get(second) ?? []).filter((w) => !rest.includes(w)),
    );
  else if (name === "add_subdirectory") {
    const below = join(folder, first);
    evaluate(below, new Map(variables).set("CMAKE_CURRENT_SOURCE_DIR", [below]), onCommand);
  } else onCommand(name, words, variables, folder);
}
