/**
 * `--guard-callees`, for entries: functions that unknown code is said not to enter get names that only compiled code
 * knows, and a trap stands under the old ones. So whatever mentions one of them in assembly, unseen, fails in a run.
 */
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import { quoteSymbol } from "./names.js";

/**
 * Renames functions. To be called before anything is printed.
 * @param taken all globals of the module
 * @returns the traps, as assembly text
 */
export function trapEntries(functions: readonly Func[], taken: readonly GlobalValue[]): string {
  const names = new Set(taken.map((global) => global.name));
  let text = "";
  for (const fn of functions) {
    const symbol = quoteSymbol(fn.linkage === "private" ? `.L${fn.name}` : fn.name);
    let name = `${fn.name}.sealed`;
    while (names.has(name)) name += "_";
    names.add(name);
    fn.name = name;
    text += `\t.type\t${symbol},@function\n${symbol}:\n\tud2\n\t.size\t${symbol}, .-${symbol}\n`;
  }
  return text === "" ? "" : `\t.text\n${text}`;
}

/**
 * `--guard-entries`: the variable in which a thread's calls say where they lead.
 * @returns its definition, as assembly text
 */
export const entryVariable = (name: string): string =>
  `\t.section\t.tbss,"awT",@nobits\n\t.p2align\t3\n\t.type\t${name},@object\n${name}:\n\t.zero\t8\n` +
  `\t.size\t${name}, 8\n\t.text\n`;
