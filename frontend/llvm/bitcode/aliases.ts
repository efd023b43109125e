/** Rejects aliases and ifuncs that stand, through any expression, for themselves. */
import { InputError } from "../../../lto/ir/errors.js";
import type { Alias, IFunc } from "../../../lto/ir/module.js";
import type { Constant } from "../../../lto/ir/values.js";

const maxDepth = 2000;

/**
 * Depth-first search from aliases through expressions; each constant is entered once.
 * @throws InputError for a cycle, and for a path of more than `maxDepth` constants
 */
export function checkAliasCycles(symbols: readonly (Alias | IFunc)[]): void {
  const finished = new Map<Constant, boolean>();
  const visit = (constant: Constant, depth: number): void => {
    const next = referents(constant);
    if (next.length === 0) return;
    const known = finished.get(constant);
    if (known === true) return;
    if (known === false) throw new InputError("an alias stands for itself");
    if (depth > maxDepth) throw new InputError("aliases are nested too deeply");
    finished.set(constant, false);
    for (const other of next) visit(other, depth + 1);
    finished.set(constant, true);
  };
  for (const symbol of symbols) visit(symbol, 0);
}

function referents(constant: Constant): readonly Constant[] {
  switch (constant.valueKind) {
    case "expr":
      return constant.operands;
    case "aggregate":
      return constant.elements;
    case "globalref":
      return [constant.global];
    case "global":
      if (constant.kind === "alias") return [constant.aliasee];
      return constant.kind === "ifunc" ? [constant.resolver] : [];
    default:
      return [];
  }
}
