/** Functions of the run-time library that passes make calls of. */
import { AttributeList, AttributeSet, noAttributeList, noAttributes } from "../ir/attributes.js";
import type { CallData } from "../ir/instructions.js";
import { Func, type GlobalValue, type Module } from "../ir/module.js";
import type { Type } from "../ir/types.js";

const attributesOf = (names: readonly string[]): AttributeList =>
  names.length === 0
    ? noAttributeList
    : new AttributeList(
        new AttributeSet(new Map(names.map((name) => [name, true])), new Map()),
        noAttributes,
        [],
      );

/** The function of a name: what the module has under it, or a declaration that is added. */
export function runtimeFunction(
  module: Module,
  name: string,
  type: Type,
  attributes: readonly string[],
): GlobalValue {
  const known = module.globals.find((global) => global.name === name);
  if (known !== undefined) return known;
  const fn = new Func(name, type);
  fn.attributes = attributesOf(attributes);
  module.globals.push(fn);
  return fn;
}

/** What a plain call says. */
export const plainCall = (functionType: Type, attributes: readonly string[] = []): CallData => ({
  functionType,
  callingConvention: 0,
  attributes: attributesOf(attributes),
  tail: "",
  argumentCount: functionType.parameters.length,
  bundles: [],
});
