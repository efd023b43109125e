/**
 * Functions of the C library that return twice, by name. Front ends that know C's functions say so themselves; declarations
 * of others, or under another name in the source, do not, and passes would move code across the second return.
 * Which ones there are is the list of clang's builtins with that attribute (Builtins.td), which is GCC's (`special_function_p`).
 */
import { AttributeList, AttributeSet } from "../ir/attributes.js";
import type { Module } from "../ir/module.js";

const names = ["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "savectx", "vfork", "getcontext"];

/** Lets declarations say that they return twice; definitions are what they are. */
export function declareReturnsTwice({ globals }: Module): void {
  for (const fn of globals) {
    if (fn.kind !== "function" || !fn.isDeclaration || !names.includes(fn.name)) continue;
    const { fn: own, result, parameters } = fn.attributes;
    if (own.has("returns_twice")) continue;
    const kinds = new Map([...own.kinds, ["returns_twice", true] as const]);
    fn.attributes = new AttributeList(new AttributeSet(kinds, own.strings), result, parameters);
  }
}
