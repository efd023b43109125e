/** Instructions that need no opcode of their own: inline assembly, as a program could have written it. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { noAttributeList } from "../../ir/attributes.js";
import { makeInst, Op } from "../../ir/instructions.js";
import { functionType, type Type } from "../../ir/types.js";
import { InlineAsm, type Value } from "../../ir/values.js";

/** A register that nothing else has: any two; `A`: rdx:rax, though `a` and `d` alone are one each. */
export function pairConstraints(constraint: string): readonly [string, string] | null {
  if (constraint === "A") return ["{rax}", "{rdx}"];
  return /^(?:[rqlRg]|[rqlRg][mi]+|m[rqlR])$/.test(constraint) ? ["r", "r"] : null;
}

/**
 * A call of inline assembly with legal operands.
 * @param hasEffects it does more than compute its result
 */
export function assembly(
  l: Lowering,
  template: string,
  constraints: string,
  result: Type,
  args: readonly Value[],
  hasEffects = true,
): Value {
  const type = functionType(
    result,
    args.map((a) => a.type),
  );
  const code = new InlineAsm(type, template, constraints, hasEffects, false, false, false);
  return l.push(
    makeInst(Op.Call, result, [code, ...args], {
      functionType: type,
      callingConvention: 0,
      attributes: noAttributeList,
      tail: "",
      argumentCount: args.length,
      bundles: [],
    }),
  );
}
