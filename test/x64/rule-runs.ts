/** Runs of the peepholes' rules on machine functions, as tests want them. */
import { postLiveness } from "../../lto/codegen/late/liveness.js";
import { RuleUse } from "../../lto/codegen/late/rule-use.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import { noRegisters, type RegisterSet } from "../../lto/codegen/register-set.js";
import { runEdgeRules } from "../../lto/x64/peephole/edge-engine.js";
import { Engine } from "../../lto/x64/peephole/engine.js";
import { runPeepholes } from "../../lto/x64/peephole/index.js";
import { rules } from "../../lto/x64/peephole/rules/index.js";
import { ruleTables } from "../../lto/x64/peephole/tables.js";

export interface RunOptions {
  readonly redZone?: boolean;
  readonly preserved?: RegisterSet;
  /** Names of rules that are left out. */
  readonly skipped?: readonly string[];
}

const useOf = (mf: MFunction, skipRule: readonly string[]): RuleUse =>
  new RuleUse(rules, { skipRule, ruleBisectLimit: null, sizeTime: 0 }, mf.name);

/** All of them. @returns what each did, by its place in the list of rules */
export function runRules(mf: MFunction, { redZone, preserved, skipped }: RunOptions = {}): RuleUse {
  const use = useOf(mf, skipped ?? []);
  runPeepholes(mf, redZone ?? false, preserved ?? noRegisters, use);
  return use;
}

/** Those across edges alone. */
export function runRulesOfEdges(mf: MFunction, skipped: readonly string[] = []): void {
  const engine = new Engine();
  engine.begin(mf, false, useOf(mf, skipped), () => 0);
  runEdgeRules(mf, noRegisters, postLiveness(mf, noRegisters), engine, ruleTables(skipped));
}
