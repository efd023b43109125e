/** What code costs on machines whose code LLVM generates, by the architecture of the target triple. */
import type { TargetCosts } from "../target/costs.js";
import { aarch64Costs } from "./aarch64.js";
import { plainCosts } from "./plain.js";
import { riscv32Costs, riscv64Costs } from "./riscv.js";
import { thumbCosts } from "./thumb.js";

const machines: readonly (readonly [architecture: RegExp, costs: TargetCosts])[] = [
  [/^riscv64/, riscv64Costs],
  [/^riscv32/, riscv32Costs],
  [/^(?:aarch64|arm64)/, aarch64Costs],
  [/^(?:thumb|arm)/, thumbCosts],
  // Their conventions extend words in registers of 64 bits.
  [
    /^(?:mips64|loongarch64|ppc64|powerpc64)/,
    { ...plainCosts, calls: { ...plainCosts.calls, signExtendsWords: true } },
  ],
];

/** The costs of an architecture, or those of a plain machine. */
export const foreignCosts = (architecture: string): TargetCosts =>
  machines.find(([pattern]) => pattern.test(architecture))?.[1] ?? plainCosts;
