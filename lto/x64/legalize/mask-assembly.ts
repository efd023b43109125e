/**
 * Inline assembly with operands in mask registers (`k`, `Yk`, or one by name): it loads them from general registers at its start
 * and stores them there at its end, since allocation has no registers for masks.
 *
 *     asm "kandw $1, $2, $0", "=k,k,k"   →   asm "kmovw ${1:k}, %k1; kmovw ${2:k}, %k2; kandw %k1, %k2, %k3; kmovw %k3, ${0:k}", "=r,r,r"
 *
 * Results are stored when all else is done, so that they may share the registers of operands. What the assembly names or changes
 * itself is left alone. Linear in the template.
 */
import { InlineAsm } from "../../ir/values.js";
import { moveOf } from "./evex-assembly.js";

const marks = /^[=+&%*]*/;

/**
 * @param lanes of each operand, of results, then of arguments: of a mask, else 0
 * @returns null: the constraints are others, or there are more masks than registers
 */
export function maskAssembly(asm: InlineAsm, lanes: readonly number[]): InlineAsm | null {
  const constraints = asm.constraints.match(/(?:\{[^}]*\}|[^,{])+/g) ?? [];
  const isResult = (c: string): boolean => c.startsWith("=") && !c.includes("*");
  const named = new Set(
    [...`${asm.template} ${asm.constraints}`.matchAll(/\bk([0-7])\b/g)].map((m) => Number(m[1])),
  );
  const free = [1, 2, 3, 4, 5, 6, 7].filter((k) => !named.has(k));
  let nextResult = 0;
  let nextArgument = constraints.filter(isResult).length;
  /** By number of an operand: its mask register. */
  const registers = new Map<number, number>();
  const loads: string[] = [];
  const stores: string[] = [];
  const made: string[] = [];
  const intel = asm.intelDialect;
  let number = -1;
  for (const constraint of constraints) {
    if (!constraint.startsWith("~")) number++;
    const isLabel = constraint.startsWith("!");
    const count =
      constraint.startsWith("~") || isLabel
        ? 0
        : lanes[isResult(constraint) ? nextResult++ : nextArgument++]!;
    const rest = constraint.slice(marks.exec(constraint)![0].length);
    if (count === 0) {
      made.push(constraint);
      continue;
    }
    const tied = /^\d+$/.test(rest) ? registers.get(Number(rest)) : undefined;
    const own = /^\{k([0-7])\}$/.exec(rest);
    const register =
      tied ?? (own !== null ? Number(own[1]) : /^(?:k|\^Yk)$/.test(rest) ? free.shift() : undefined);
    if (register === undefined) return null;
    registers.set(number, register);
    const [move, modifier] = moveOf(count);
    const general = `\${${number}:${modifier}}`;
    if (isResult(constraint)) {
      stores.push(intel ? `\n\t${move} ${general}, k${register}` : `\n\t${move} %k${register}, ${general}`);
      made.push("=r");
    } else {
      loads.push(intel ? `${move} k${register}, ${general}\n\t` : `${move} ${general}, %k${register}\n\t`);
      made.push(tied === undefined ? "r" : rest);
    }
  }
  const template = asm.template.replace(
    /\$(?:\{(\d+)(?::\w+)?\}|(\d+)|[\s\S])/g,
    (text, braced?: string, plain?: string) => {
      const register = registers.get(Number(braced ?? plain ?? -1));
      return register === undefined ? text : `${intel ? "" : "%"}k${register}`;
    },
  );
  return new InlineAsm(
    asm.functionType,
    loads.join("") + template + stores.join(""),
    made.join(","),
    asm.sideEffects,
    asm.alignStack,
    intel,
    asm.canUnwind,
  );
}
