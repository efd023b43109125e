/** Data layouts of old producers, as current ones. */
import { DataLayout } from "./data-layout.js";
import { InputError } from "./errors.js";

const maxLength = 4096;
const powerOfTwo = (n: number): boolean => n >= 1 && Number.isInteger(Math.log2(n));

const afterIntegers = (parts: string[], component: string): void => {
  if (parts.some((part) => part.startsWith("i128:"))) return;
  let end = 1;
  while (end < parts.length && /^[mpiF]/.test(parts[end]!)) end++;
  parts.splice(end, 0, component);
};

/**
 * What newer versions say of a target that older ones left out, by architecture: LLVM 18 gave `i128` its alignment on x86, 20 on others;
 * 15 named 32-bit registers of RISC-V; 20 gave AArch64 the address spaces of 32-bit and 64-bit pointers. Source:
 * `UpgradeDataLayoutString` of LLVM 22's AutoUpgrade, as far as LLVM 15 and newer need it for little-endian ELF targets.
 */
const upgrades: readonly (readonly [architecture: RegExp, upgrade: (parts: string[]) => void])[] = [
  [/^(?:x86_64|amd64|i[3-7]86)/, (parts) => afterIntegers(parts, "i128:128")],
  [
    /^(?:mips64|mipsisa64|powerpc64|ppc64|wasm|sparc)/,
    (parts) => {
      if (parts.includes("i64:64") && !parts.includes("m:m")) afterIntegers(parts, "i128:128");
    },
  ],
  [
    /^(?:aarch64|arm64)/,
    (parts) => {
      if (/^m:/.test(parts[1] ?? "") && !parts.some((part) => part.startsWith("p270:")))
        parts.splice(2, 0, "p270:32:32", "p271:32:32", "p272:64:64");
      if (!parts.some((part) => part.startsWith("F"))) parts.push("Fn32");
    },
  ],
  [
    /^(?:riscv64|loongarch64)/,
    (parts) => {
      const i = parts.indexOf("n64");
      if (i >= 0) parts.splice(i, 1, "n32:64");
    },
  ],
];

/**
 * The data layout of a module for `triple`. Layouts of older versions of LLVM say what current ones do, as when LLVM reads them, so
 * that modules of different ages can be linked.
 * @throws InputError for a layout that is malformed, big-endian, or asks for impossible alignments
 */
export function currentDataLayout(layout: string, triple: string): DataLayout {
  if (layout.length > maxLength) throw new InputError("malformed data layout");
  const parts = layout.split("-");
  for (const part of parts) {
    const match = /^([pifv])\d*((?::\d+)*)$/.exec(part);
    if (match === null) continue;
    // Pointers are size:alignment:…, everything else alignment:….
    const checked = match[2]!.split(":").slice(1, match[1] === "p" ? 3 : 2);
    if (!checked.every((bits) => powerOfTwo(Number(bits) / 8)))
      throw new InputError(`malformed data layout component '${part}'`);
  }
  if (parts[0] === "e")
    for (const [architecture, upgrade] of upgrades) if (architecture.test(triple)) upgrade(parts);
  return new DataLayout(parts.join("-"));
}
