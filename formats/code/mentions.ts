/**
 * How often compiled code mentions each symbol, by the assembly text: in operands of instructions and data, without
 * what assembly of the program's own says (module asm, inline assembly), and without what functions say of themselves.
 * The checker counts the same in the assembled object; what is more there was not compiled. Linear in the text.
 */

const silent =
  /^\t\.(?:type|size|globl|weak|hidden|protected|internal|local|set|section|text|data|bss|file|ident|ascii|asciz|string|p2align|zero|cfi_(?!personality|lsda))\b/;
const name = /"((?:[^"\\]|\\.)*)"|[A-Za-z_.][\w.$]*/g;
const start = /^\t\.type\t("(?:[^"\\]|\\.)*"|[^,\s]+),\s*@function/;
const label = /^(?:"(?:[^"\\]|\\.)*"|[^\s"]+):/;

/** @param moduleAsm as it is in the text */
export function compiledMentions(text: string, moduleAsm: string): Map<string, number> {
  const at = moduleAsm === "" ? -1 : text.indexOf(moduleAsm);
  const rest = at < 0 ? text : text.slice(0, at) + text.slice(at + moduleAsm.length);
  const counts = new Map<string, number>();
  let own = "";
  let inline = false;
  for (const line of rest.split("\n")) {
    if (line === "\t#APP") inline = true;
    else if (line === "\t#NO_APP") inline = false;
    else if (!inline && !line.startsWith("#") && !label.test(line)) {
      const entered = start.exec(line)?.[1];
      if (entered !== undefined) own = entered;
      // The function is over: what follows, tables of constants too, is no longer its own.
      else if (line.startsWith("\t.size\t")) own = "";
      else if (!silent.test(line))
        for (const [token, quoted] of line.matchAll(name))
          if (token !== own) {
            const symbol = quoted === undefined ? token : quoted.replace(/\\(.)/g, "$1");
            counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
          }
    }
  }
  return counts;
}
