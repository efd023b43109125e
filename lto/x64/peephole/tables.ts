/** Rules by opcode: what the engine asks for each instruction. Made once for each choice of rules. */
import { opcodeCount } from "../isa/op-info.js";
import type { Rule, RuleInfo } from "./rule.js";
import { backwardRules, forwardRules, indexedRules, rules } from "./rules/index.js";

type ByOpcode = readonly (readonly Rule[])[];

export interface RuleTables {
  readonly forward: ByOpcode;
  readonly backward: ByOpcode;
  /** About any instruction whose memory operand has an index. */
  readonly indexed: readonly Rule[];
  readonly isWanted: (rule: RuleInfo) => boolean;
}

const numbers: ReadonlyMap<RuleInfo, number> = new Map(rules.map((rule, i) => [rule, i]));

/** Position in the list of all rules. */
export const numberOf = (rule: RuleInfo): number => numbers.get(rule)!;

function byOpcode(list: readonly Rule[], isWanted: (rule: RuleInfo) => boolean): ByOpcode {
  const none: readonly Rule[] = [];
  const table: (readonly Rule[])[] = Array.from({ length: opcodeCount }, () => none);
  for (const rule of list)
    if (isWanted(rule)) for (const op of rule.opcodes) table[op] = [...table[op]!, rule];
  return table;
}

function tablesWithout(skipped: readonly string[]): RuleTables {
  const isWanted = ({ name }: RuleInfo): boolean => !skipped.includes(name);
  return {
    forward: byOpcode(forwardRules, isWanted),
    backward: byOpcode(backwardRules, isWanted),
    indexed: indexedRules.filter(isWanted),
    isWanted,
  };
}

let last: { readonly skipped: readonly string[]; readonly tables: RuleTables } | null = null;

/** Of all rules but those with these names. Options are one object for all functions of a link. */
export function ruleTables(skipped: readonly string[]): RuleTables {
  if (last?.skipped !== skipped) last = { skipped, tables: tablesWithout(skipped) };
  return last.tables;
}
