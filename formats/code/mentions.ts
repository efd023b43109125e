/**
 * How often compiled code mentions each symbol, by the assembly text: in operands of instructions and data, without
 * what assembly of the program's own says (module asm, inline assembly), and without what functions say of themselves.
 * The checker counts the same in the assembled object; what is more there was not compiled. Linear in the text.
 *
 * What is assembled into a mention of an entry counts, too: of a label there (lists of places to patch), and control that
 * goes on into it (after the number of a type, which is an instruction for those who disassemble).
 */

const silent =
  /^\t\.(?:type|size|globl|weak|hidden|protected|internal|local|set|section|text|data|bss|file|ident|ascii|asciz|string|p2align|zero|cfi_(?!personality|lsda)\w*)\b/;
const name = /"((?:[^"\\]|\\.)*)"|[A-Za-z_.][\w.$]*/g;
const start = /^\t\.type\t("(?:[^"\\]|\\.)*"|[^,\s]+),\s*@function/;
/** The symbol of the number of a function's type. */
const typeNumber = /^"?__cfi_(.*?)"?$/;
const label = /^(?:"(?:[^"\\]|\\.)*"|[^\s"]+):/;

const plain = (symbol: string): string =>
  symbol.startsWith('"') ? symbol.slice(1, -1).replace(/\\(.)/g, "$1") : symbol;

/** @param moduleAsm as it is in the text */
export function compiledMentions(text: string, moduleAsm: string): Map<string, number> {
  const at = moduleAsm === "" ? -1 : text.indexOf(moduleAsm);
  const rest = at < 0 ? text : text.slice(0, at) + text.slice(at + moduleAsm.length);
  const counts = new Map<string, number>();
  const count = (symbol: string): void => {
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  };
  /** Functions by the labels of their entries. */
  const entries = new Map<string, string>();
  let own = "";
  let isEntry = false;
  let inline = false;
  for (const line of rest.split("\n")) {
    if (line === "\t#APP") inline = true;
    else if (line === "\t#NO_APP") inline = false;
    else if (inline || line.startsWith("#")) continue;
    else if (label.test(line)) {
      const name = line.slice(0, line.lastIndexOf(":"));
      if (name === own) isEntry = true;
      else if (isEntry) entries.set(name, own);
    } else {
      const entered = start.exec(line)?.[1];
      if (!silent.test(line)) isEntry = false;
      if (entered !== undefined) {
        own = entered;
        const behind = typeNumber.exec(own)?.[1];
        if (behind !== undefined) count(plain(own.startsWith('"') ? `"${behind}"` : behind));
      }
      // The function is over: what follows, tables of constants too, is no longer its own.
      else if (line.startsWith("\t.size\t")) own = "";
      else if (!silent.test(line))
        for (const [token] of line.matchAll(name))
          if (token !== own) count(plain(entries.get(token) ?? token));
    }
  }
  return counts;
}
