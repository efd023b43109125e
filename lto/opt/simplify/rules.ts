/** All rules of `simplify`, and which are asked about which instruction. */
import type { Inst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { compareRules } from "./compares.js";
import { floatRules } from "./floats.js";
import type { Forms } from "./forms.js";
import { integerRules } from "./integers.js";
import type { SimplifyRule } from "./rule.js";
import { constantRules, valueRules } from "./values.js";

/** In the order in which they are asked. */
export const simplifyRules: readonly SimplifyRule[] = [
  ...constantRules,
  ...integerRules,
  ...compareRules,
  ...valueRules,
  ...floatRules,
];

/** Rules by operation. */
export type RuleTable = readonly (readonly SimplifyRule[])[];

function tableOf(rules: readonly SimplifyRule[]): RuleTable {
  const table: SimplifyRule[][] = [];
  for (const rule of rules)
    for (const op of rule.ops) {
      while (table.length <= op) table.push([]);
      table[op]!.push(rule);
    }
  return table;
}

let last: { readonly skipped: readonly string[]; readonly table: RuleTable } | null = null;

/** Of all rules but those that options call by these names. They are one object for all functions of a link. */
export function rulesWithout(skipped: readonly string[]): RuleTable {
  if (last?.skipped !== skipped) {
    const wanted = simplifyRules.filter(({ name }) => !skipped.includes(`simplify:${name}`));
    last = { skipped, table: tableOf(wanted) };
  }
  return last.table;
}

/** What an instruction is by the first rule that knows. */
export class Simpler {
  value!: Value;
  rule!: SimplifyRule;
}

/**
 * What an instruction is, in fewer or simpler operations. See forms.ts.
 * @param found is told what it is, and by which rule
 * @returns whether that is something else
 */
export function findSimpler(inst: Inst, table: RuleTable, forms: Forms, found: Simpler): boolean {
  const rules = table[inst.op];
  if (rules === undefined || rules.length === 0) return false;
  const { operands } = inst;
  const a = operands[0]!;
  const b = operands[1]!;
  for (let i = 0; i < rules.length; i++) {
    const value = rules[i]!.apply(inst, a, b, forms);
    if (value === null) continue;
    if (value === inst) return false;
    found.value = value;
    found.rule = rules[i]!;
    return true;
  }
  return false;
}
