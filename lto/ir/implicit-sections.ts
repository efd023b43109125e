/**
 * Sections that attributes name for what has none of its own (`#pragma clang section`): which of a variable's four it
 * gets depends on its contents (LLVM Language Reference, "Global Attributes"). Decided once, when a module is read.
 * Linear in the initialisers of variables with such attributes.
 */
import type { AttributeSet } from "./attributes.js";
import type { GlobalVariable, Module } from "./module.js";
import type { Constant } from "./values.js";

function isZero(value: Constant): boolean {
  switch (value.valueKind) {
    case "zero":
    case "undef":
      return true;
    case "int":
      return value.value === 0n;
    case "float":
      return value.bits === 0n;
    case "aggregate":
      return value.elements.every(isZero);
    default:
      return false;
  }
}

function holdsAddress(value: Constant): boolean {
  switch (value.valueKind) {
    case "aggregate":
      return value.elements.some(holdsAddress);
    case "expr":
      return value.operands.some(holdsAddress);
    case "global":
    case "globalref":
    case "blockaddress":
      return true;
    default:
      return false;
  }
}

function kindOf(variable: GlobalVariable, initializer: Constant, moves: boolean): string {
  if (variable.isConstant) return moves && holdsAddress(initializer) ? "relro" : "rodata";
  return isZero(initializer) ? "bss" : "data";
}

/** @param attributes of the variables that have any */
export function placeImplicitly(module: Module, attributes: ReadonlyMap<GlobalVariable, AttributeSet>): void {
  const moves = Number(module.flag("PIC Level") ?? 0) > 0;
  for (const [variable, set] of attributes) {
    const { initializer } = variable;
    if (initializer === null || variable.section !== "" || variable.threadLocal !== "none") continue;
    variable.section = set.string(`${kindOf(variable, initializer, moves)}-section`) ?? "";
  }
  for (const fn of module.functions)
    if (fn.section === "") fn.section = fn.attributes.fn.string("implicit-section-name") ?? "";
}
