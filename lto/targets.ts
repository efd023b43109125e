/** Machines by target triple: those there is code for, and what code costs on all. */
import type { MachineRuleInfo } from "./codegen/late/rule-use.js";
import type { Target } from "./codegen/target.js";
import { foreignCosts } from "./foreign/index.js";
import { UnsupportedError } from "./ir/errors.js";
import type { Module } from "./ir/module.js";
import type { TargetCosts } from "./target/costs.js";
import { architectureOf, type Triple } from "./targets-by-triple.js";
import { x64Target } from "./x64/target.js";

const architectures: ReadonlyMap<string, Target> = new Map([
  ["x86_64", x64Target],
  ["amd64", x64Target],
]);

/** The rules of all machines' peepholes. */
export const machineRules: readonly MachineRuleInfo[] = [...new Set(architectures.values())].flatMap(
  ({ rules }) => rules,
);

/** The machine that a module is for; one that names none is for x86-64. Null: LLVM has to generate its code. */
const findTarget = (module: Triple): Target | null =>
  module.triple === "" ? x64Target : (architectures.get(architectureOf(module)) ?? null);

/** The machine that a module is for. @throws UnsupportedError */
export function targetOf(module: Pick<Module, "triple" | "file">): Target {
  const target = findTarget(module);
  if (target === null)
    throw new UnsupportedError(`code for target '${module.triple}'`, undefined, module.file);
  return target;
}

/** What code costs on the machine that a module is for. */
export const costsOf = (module: Triple): TargetCosts =>
  findTarget(module)?.costs ?? foreignCosts(architectureOf(module));
