/**
 * Rules for inline assembly: its constraints and its function type must tell of the same operands
 * (LLVM Language Reference, "Inline Asm Constraint String"). What the template does with them, only the assembler
 * knows.
 */
import type { Type } from "../ir/types.js";
import type { InlineAsm } from "../ir/values.js";
import type { Problem } from "./rules.js";

/** One constraint: modifiers, then register names in braces, letters, or the number of an output. */
const constraint = /^([=+]?)([&%*]*)(.*)$/s;

/** What is wrong with assembly that is called, or null. @param labels targets of a callbr */
export function asmProblem(asm: InlineAsm, functionType: Type, labels: number): Problem {
  if (functionType.isVarArg) return "assembly with variable arguments";
  let results = 0;
  let parameters = 0;
  let targets = 0;
  const outputs: boolean[] = [];
  const parts = asm.constraints === "" ? [] : (asm.constraints.match(/(?:\{[^}]*\}|[^,{])+/g) ?? []);
  for (const part of parts) {
    if (part.startsWith("~")) continue;
    if (part.startsWith("!")) {
      targets++;
      continue;
    }
    const [, output, modifiers, codes] = constraint.exec(part)!;
    if (codes === "") return `assembly constraint '${part.slice(0, 20)}'`;
    if (/^\d+$/.test(codes!) && outputs[Number(codes)] !== true)
      return `assembly constraint '${part.slice(0, 20)}' names no output`;
    outputs.push(output !== "");
    if (output === "" || modifiers!.includes("*")) parameters++;
    else results++;
  }
  const { result, elements } = functionType;
  const given = result.kind === "void" ? 0 : result.kind === "struct" ? result.elements.length : 1;
  if (results !== given) return `assembly with ${results} outputs that returns ${given} values`;
  if (parameters !== elements.length - 1)
    return `assembly with ${parameters} inputs and ${elements.length - 1} parameters`;
  if (targets > labels) return `assembly with ${targets} labels and ${labels} targets`;
  return null;
}
