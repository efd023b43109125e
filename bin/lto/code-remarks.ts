/**
 * What LLVM's code generator says of the size of each function in optimisation records, by its names, which llvm-remarkutil
 * (`instruction-count`, `size-diff`) and scripts look for.
 */
import { stackBytes } from "../../lto/codegen/late/cfi.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import { OpFact } from "../../lto/codegen/target.js";
import { type Remarks, words } from "../../lto/pass/remarks.js";

/** The passes that say this in LLVM. */
const printing = "asm-printer";
const frames = "prologepilog";

/** Instructions that are printed; assembly counts as one. */
function printedInstructions({ blocks, target: { instructions } }: MFunction): number {
  let count = 0;
  for (const { insts } of blocks)
    for (const inst of insts)
      if ((instructions.facts[inst.op]! & OpFact.Asm) !== 0 || instructions.length(inst) !== 0) count++;
  return count;
}

/** @param mf laid out  @param remarks takes what is wanted of it */
export function tellSizes(mf: MFunction, remarks: Remarks): void {
  const about = { kind: "Analysis", function: mf.name } as const;
  if (remarks.wants(printing))
    remarks.add({
      ...about,
      pass: printing,
      name: "InstructionCount",
      facts: [["NumInstructions", printedInstructions(mf)], words(" instructions in function")],
    });
  const bytes = remarks.wants(frames) ? stackBytes(mf) : null;
  if (bytes !== null)
    remarks.add({
      ...about,
      pass: frames,
      name: "StackSize",
      facts: [["NumStackBytes", bytes], words(" stack bytes in function")],
    });
}
