/**
 * Appending globals: arrays that linking concatenates (LLVM Language Reference, "The llvm.used Global
 * Variable", "The llvm.global_ctors Global Variable").
 */

import { baseObject } from "../analysis/references.js";
import { isReservedName } from "../ir/intrinsics.js";
import type { GlobalVariable } from "../ir/module.js";
import { ptr, structType } from "../ir/types.js";
import { ConstAggregate, type Constant, ConstZero, zeroOf } from "../ir/values.js";
import { isDropped } from "./resolve.js";
import { isDefinition, isLinkable, type LinkSymbol, type LoadedModule } from "./symbol-table.js";

export const isUsedList = (name: string): boolean => name === "llvm.used" || name === "llvm.compiler.used";
const isStructorList = (name: string): boolean =>
  name === "llvm.global_ctors" || name === "llvm.global_dtors";

/**
 * The elements that a module contributes. A constructor that belongs to a global whose definition lost goes
 * with it, or a static member's initialiser would run once for each file that has a copy; so does a local
 * member of a lost comdat group on a used list.
 */
export function appendedElements(
  global: GlobalVariable,
  file: LoadedModule,
  symbols: ReadonlyMap<string, LinkSymbol>,
): Constant[] {
  let elements = listElements(global);
  if (isStructorList(global.name)) {
    elements = elements.map(withKey);
    return elements.filter((element) => {
      const key = element.valueKind === "aggregate" ? baseObject(element.elements[2]!) : null;
      if (key === null || !isDefinition(key)) return true;
      return isLinkable(key) ? symbols.get(key.name)?.global === key : !isDropped(file, key);
    });
  }
  if (isUsedList(global.name))
    return elements.filter((element) => {
      const base = baseObject(element);
      return base === null || !base.isLocal || !isDropped(file, base);
    });
  return elements;
}

/** Elements of an array initialiser in whatever form it is held. */
export function listElements(global: GlobalVariable): Constant[] {
  const { initializer, valueType } = global;
  if (initializer === null || valueType.kind !== "array") return [];
  if (initializer.valueKind === "aggregate") return [...initializer.elements];
  // Nulls have no effect on any of the known lists; an unknown list keeps them, within reason.
  if (initializer.valueKind === "zero" && !isReservedName(global.name) && valueType.count < 1 << 20)
    return Array.from({ length: valueType.count }, () => zeroOf(valueType.element));
  return [];
}

/** The older form { priority, function } becomes { priority, function, null }. */
function withKey(element: Constant): Constant {
  const { type } = element;
  if (element.valueKind !== "aggregate" || type.elements.length !== 2) return element;
  const wide = structType([...type.elements, ptr], type.packed);
  return new ConstAggregate(wide, [...element.elements, new ConstZero(ptr)]);
}
