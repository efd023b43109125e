/** What is known of machines by target triple without their code: for who only asks. */
import type { Module } from "./ir/module.js";

export type Triple = Pick<Module, "triple">;

export const architectureOf = ({ triple }: Triple): string => triple.split("-", 1)[0]!;

/** Whether there is a code generator for the machine that a module is for (targets.ts); one that names none is for x86-64. */
export const isTarget = (module: Triple): boolean => /^(?:x86_64|amd64)?$/.test(architectureOf(module));

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
