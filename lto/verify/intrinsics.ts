/**
 * Signatures of intrinsics.
 *
 * Whoever lowers an intrinsic relies on the types of its operands, so calls are held to what the table of
 * intrinsics says. A declaration that nothing calls is harmless, and compilers that upgrade older modules leave
 * some after. Intrinsics without a signature there may be called in any way, and are refused where they are
 * lowered.
 */
import type { Func } from "../ir/module.js";
import { i1, type Type, vectorType } from "../ir/types.js";
import { describeType } from "./describe.js";
import type { Problem } from "./rules.js";

/** What is wrong with a definition that has the name of an intrinsic, or null. */
export const intrinsicBodyProblem = (fn: Func): Problem =>
  fn.isDeclaration || fn.intrinsic?.origin !== "known" ? null : "an intrinsic with a body";

/**
 * What is wrong with a call to a function that may have the name of an intrinsic, or null.
 * @param type that of the call: modules of different ages may disagree with the declaration
 */
export function intrinsicCallProblem(fn: Func, type: Type): Problem {
  const signatures = fn.intrinsic?.signatures ?? [];
  return signatures.length === 0 || signatures.some((signature) => fits(signature, type))
    ? null
    : `${describeType(type)} is not a type of @${fn.name.slice(0, 60)}`;
}

function fits(signature: string, type: Type): boolean {
  const { elements } = type;
  if (type.isVarArg || elements.length !== signature.length) return false;
  for (let i = 0; i < elements.length; i++) if (!matches(signature[i]!, elements[i]!, elements)) return false;
  return true;
}

/** i1, or as many of them as `type` has lanes. */
const truth = (type: Type): Type => (type.isVector ? vectorType(type.count, i1) : i1);

/**
 * @param code a character of a signature; see `ir/intrinsics/facts.ts`
 * @param all the result and the parameters
 */
function matches(code: string, type: Type, all: readonly Type[]): boolean {
  switch (code) {
    case "v":
      return type.kind === "void";
    case "b":
      return type === i1;
    case "c":
      return type.isInt(8);
    case "h":
      return type.isInt(16);
    case "w":
      return type.isInt(32);
    case "x":
      return type.isInt(64);
    case "d":
      return type.kind === "double";
    case "m":
      return type.kind === "metadata";
    case "p":
      return type.isPointer;
    case "i":
      return type.kind === "int";
    case "N":
      return type.scalar.kind === "int";
    case "f":
      return type.isFloat;
    case "F":
      return type.scalar.isFloat;
    case "P":
      return type.scalar.isPointer;
    case "V":
      return type.isVector;
    case "*":
      return true;
    case "E":
      return all.slice(1).find((t) => t.isVector)?.element === type;
    case "B":
      return type === truth(all[1]!);
    case "O":
      return (
        type.kind === "struct" &&
        type.elements.length === 2 &&
        type.elements[0] === all[1] &&
        type.elements[1] === truth(all[1]!)
      );
    default:
      return type === all[Number(code)];
  }
}
