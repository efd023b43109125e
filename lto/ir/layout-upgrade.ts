/** Data layouts of old producers, as current ones. */
import { DataLayout } from "./data-layout.js";
import { InputError } from "./errors.js";

const maxLength = 4096;
const powerOfTwo = (n: number): boolean => n >= 1 && Number.isInteger(Math.log2(n));

/**
 * The data layout of a module for `triple`. On x86-64, LLVM 18 gave `i128` its alignment of 16; older
 * layouts get it too, as when LLVM reads them, so that modules of different ages can be linked.
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
  if (triple.startsWith("x86_64") && parts[0] === "e" && !layout.includes("-i128:")) {
    // After the components for mangling, pointers and integers.
    let end = 1;
    while (end < parts.length && /^[mpi]/.test(parts[end]!)) end++;
    parts.splice(end, 0, "i128:128");
  }
  return new DataLayout(parts.join("-"));
}
