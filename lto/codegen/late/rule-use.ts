/**
 * Rules of a target's peepholes as the rest of the program knows them: by name. What of them is wanted in a function,
 * and what they did there.
 *
 * Applications are numbered from 1 in each function and each attempt to complete it, so that the numbers are the same
 * for any number of threads, and whatever becomes of other functions.
 */

import type { PassOptions } from "../../pass/options.js";

/** A rule, for options, reports and the manual. */
export interface MachineRuleInfo {
  /** As options spell it: words with dashes. */
  readonly name: string;
  /** What it makes of what, in a line. */
  readonly description: string;
}

/** What options say of rules: plain data. */
export interface RuleSettings {
  /** Names of rules that are not applied. */
  readonly skipRule: readonly string[];
  /** How many applications there are in a function; -1: all, and they are listed; null: all. */
  readonly ruleBisectLimit: number | null;
  /** What time is worth in functions for size (analysis/heat.ts); 0: nothing. */
  readonly sizeTime: number;
}

export const allRules: RuleSettings = { skipRule: [], ruleBisectLimit: null, sizeTime: 0 };

/** What options say of the rules in a function. */
export function ruleSettings(
  { skipRule, ruleBisectLimit, filterFunction }: PassOptions,
  fn: string,
  sizeTime: number,
): RuleSettings {
  return filterFunction === null || filterFunction === fn
    ? { skipRule, ruleBisectLimit, sizeTime }
    : { skipRule, ruleBisectLimit: null, sizeTime };
}

export class RuleUse {
  /** By number of the rule in the target's list: applications, and bytes of code and tables that they took away. */
  readonly applied: Int32Array;
  readonly saved: Int32Array;
  private count = 0;

  /**
   * @param rules of the target
   * @param tell is told of each application where there is a limit
   */
  constructor(
    private readonly rules: readonly MachineRuleInfo[],
    readonly settings: RuleSettings,
    private readonly fn: string,
    private readonly tell: (text: string) => void = () => {},
  ) {
    this.applied = new Int32Array(rules.length);
    this.saved = new Int32Array(rules.length);
  }

  /** Whether the rule may be applied once more, which it then is. */
  take(rule: number, bytes: number): boolean {
    const { ruleBisectLimit } = this.settings;
    if (ruleBisectLimit !== null) {
      const number = ++this.count;
      const isApplied = ruleBisectLimit < 0 || number <= ruleBisectLimit;
      const { name } = this.rules[rule]!;
      this.tell(
        `BISECT: ${isApplied ? "" : "NOT "}applying rule (${number}) ${name} in function ${this.fn}\n`,
      );
      if (!isApplied) return false;
    }
    this.applied[rule]!++;
    this.saved[rule]! += bytes;
    return true;
  }
}
