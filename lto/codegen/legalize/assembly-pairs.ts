/**
 * Operands of inline assembly that are 128-bit integers: two operands each, of which the template sees the lower.
 *
 *     asm "mulq $2", "=A,{rax},r"   →   asm "mulq $3", "={rax},={rdx},{rax},r"
 *
 * So numbers after them change, in the template and in constraints that tie an input to an output.
 * Linear in the template. Source: LLVM Language Reference, "Inline Asm Constraint String".
 */
import { type Type, voidType } from "../../ir/types.js";
import { InlineAsm } from "../../ir/values.js";

const isPair = (type: Type): boolean => type.kind === "int" && type.bits === 128;
const marks = /^[=+&%*]*/;

/**
 * @param types of the arguments
 * @param halves the target's: constraints for the lower and the upper half; null where there are none
 * @returns the assembly with pairs as two operands; null where a constraint cannot be met by two registers
 */
export function splitPairs(
  asm: InlineAsm,
  result: Type,
  types: readonly Type[],
  halves: (constraint: string) => readonly [string, string] | null,
): InlineAsm | null {
  const results = result === voidType ? [] : result.kind === "struct" ? result.elements : [result];
  if (!results.some(isPair) && !types.some(isPair)) return asm;
  const constraints = asm.constraints.match(/(?:\{[^}]*\}|[^,{])+/g) ?? [];
  const made: string[] = [];
  /** By number of an operand, what it is now. */
  const numbers: number[] = [];
  let nextResult = 0;
  let nextArgument = 0;
  for (const constraint of constraints) {
    if (constraint.startsWith("~") || constraint.startsWith("!")) {
      // Labels have numbers, too.
      if (constraint.startsWith("!")) numbers.push(made.length);
      made.push(constraint);
      continue;
    }
    const mark = marks.exec(constraint)![0];
    const direct = mark.includes("=") && !mark.includes("*");
    const type = direct ? results[nextResult++] : types[nextArgument++];
    if (type === undefined) return null;
    const rest = constraint.slice(mark.length);
    numbers.push(made.length);
    const tied = /^\d+$/.test(rest) ? numbers[Number(rest)] : undefined;
    if (!isPair(type)) {
      made.push(tied === undefined ? constraint : `${mark}${tied}`);
      continue;
    }
    const [low, high] = tied === undefined ? (halves(rest) ?? []) : [String(tied), String(tied + 1)];
    if (low === undefined || high === undefined || mark.includes("*")) return null;
    made.push(mark + low, mark + high);
  }
  const template = asm.template.replace(
    /\$(?:\{(\d+)|(\d+)|[\s\S])/g,
    (text, braced?: string, plain?: string) => {
      const number = numbers[Number(braced ?? plain)];
      if (number === undefined) return text;
      return braced === undefined ? `$${number}` : `\${${number}`;
    },
  );
  return new InlineAsm(
    asm.functionType,
    template,
    made.join(","),
    asm.sideEffects,
    asm.alignStack,
    asm.intelDialect,
    asm.canUnwind,
  );
}
