/** Machines by target triple: those there is code for, and what code costs on all. */
import type { MachineRuleInfo } from "./codegen/late/rule-use.js";
import type { Target } from "./codegen/target.js";
import { foreignCosts } from "./foreign/index.js";
import { UnsupportedError } from "./ir/errors.js";
import type { Module } from "./ir/module.js";
import type { TargetCosts } from "./target/costs.js";
import { x64Target } from "./x64/target.js";

const architectures: ReadonlyMap<string, Target> = new Map([
  ["x86_64", x64Target],
  ["amd64", x64Target],
]);

/** The rules of all machines' peepholes. */
export const machineRules: readonly MachineRuleInfo[] = [...new Set(architectures.values())].flatMap(
  ({ rules }) => rules,
);

type Triple = Pick<Module, "triple">;
const architectureOf = ({ triple }: Triple): string => triple.split("-", 1)[0]!;

/** The machine that a module is for; one that names none is for x86-64. Null: LLVM has to generate its code. */
const findTarget = (module: Triple): Target | null =>
  module.triple === "" ? x64Target : (architectures.get(architectureOf(module)) ?? null);

/** Whether there is a code generator for the machine that a module is for. */
export const isTarget = (module: Triple): boolean => findTarget(module) !== null;

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

/** Numbers of machines in ELF files (System V ABI, e_machine), by architecture. */
const elfMachines: readonly (readonly [architecture: RegExp, number: number, name: string])[] = [
  [/^(?:|x86_64|amd64)$/, 62, "x86-64"],
  [/^i[3-6]86$/, 3, "i386"],
  [/^(?:aarch64|arm64)/, 183, "AArch64"],
  [/^(?:arm|thumb)/, 40, "Arm"],
  [/^riscv/, 243, "RISC-V"],
  [/^loongarch/, 258, "LoongArch"],
  [/^mips/, 8, "MIPS"],
  [/^(?:ppc|powerpc)64/, 21, "PowerPC64"],
];

/** The number that native objects for a module's machine have; null where it is not known. */
export function elfMachineOf(module: Triple): { readonly number: number; readonly name: string } | null {
  const architecture = architectureOf(module);
  const [, number, name] = elfMachines.find(([pattern]) => pattern.test(architecture)) ?? [];
  return number === undefined ? null : { number, name: name! };
}
