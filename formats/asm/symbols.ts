/** Binding, visibility and type of symbols as directives. */
import type { GlobalValue } from "../../lto/ir/module.js";

/** `.globl`/`.weak` and visibility of a definition; "" for a local symbol. */
export function bindingText(global: GlobalValue, symbol: string): string {
  let out = "";
  switch (global.linkage) {
    case "internal":
    case "private":
      return "";
    case "weak":
    case "weak_odr":
    case "linkonce":
    case "linkonce_odr":
    case "extern_weak":
      out = `\t.weak\t${symbol}\n`;
      break;
    default:
      out = `\t.globl\t${symbol}\n`;
  }
  return out + visibilityText(global, symbol);
}

export function visibilityText(global: GlobalValue, symbol: string): string {
  return global.visibility === "default" ? "" : `\t.${global.visibility}\t${symbol}\n`;
}
