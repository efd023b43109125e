/** Instructions that need no opcode of their own: inline assembly, as a program could have written it. */
import { classOf, TypeClass } from "../../codegen/legalize/legal-types.js";
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

/** By bytes of a general register: the suffix of `mov`, and the modifier of an operand. */
const moves: Readonly<Record<number, readonly [suffix: string, modifier: string]>> = {
  1: ["b", "b"],
  2: ["w", "w"],
  4: ["l", "k"],
  8: ["q", "q"],
};

export function storeAsmOutput(
  constraint: string,
  output: string,
  slot: string,
  type: Type,
): { readonly att: string; readonly intel: string; readonly isByte: boolean } | null {
  const flag = /^=\{@cc(\w+)\}$/.exec(constraint)?.[1];
  if (flag !== undefined)
    return type.kind === "int"
      ? { att: `set${flag} ${slot}`, intel: `set${flag} byte ptr ${slot}`, isByte: true }
      : null;
  if (/[ftu]|\{st/.test(constraint.replace(/^=&?/, ""))) return null;
  if (type.kind === "float" || type.kind === "double") {
    const op = type.kind === "float" ? "movss" : "movsd";
    return { att: `${op} ${output}, ${slot}`, intel: `${op} ${slot}, ${output}`, isByte: false };
  }
  if (classOf(type) >= TypeClass.WideVector)
    return { att: `vmovups ${output}, ${slot}`, intel: `vmovups ${slot}, ${output}`, isByte: false };
  if (type.kind === "fp128" || classOf(type) === TypeClass.Vector)
    return { att: `movups ${output}, ${slot}`, intel: `movups ${slot}, ${output}`, isByte: false };
  const move = type.kind === "ptr" ? moves[8] : type.kind === "int" ? moves[type.bits / 8] : undefined;
  if (move === undefined) return null;
  const register = output.replace("}", `:${move[1]}}`);
  return {
    att: `mov${move[0]} ${register}, ${slot}`,
    intel: `mov ${slot}, ${register}`,
    isByte: false,
  };
}
