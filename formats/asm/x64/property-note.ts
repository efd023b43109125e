/**
 * The note by which an object says what protection its code is made for: the linker keeps what all objects say.
 * Source: System V ABI AMD64, "Program Property" (GNU_PROPERTY_X86_FEATURE_1_AND); Linux gABI extensions, ".note.gnu.property".
 */
import type { Module } from "../../../lto/ir/module.js";

/** Indirect branches lead to marked places only. */
const indirectBranchTracking = 1;
/** Returns go where calls came from: code that does nothing else has this. */
const shadowStack = 2;

export function propertyNote(module: Module): string {
  const asks = (key: string): boolean => Number(module.flag(key) ?? 0) !== 0;
  const features =
    (asks("cf-protection-branch") ? indirectBranchTracking : 0) |
    (asks("cf-protection-return") ? shadowStack : 0);
  if (features === 0) return "";
  const words = [4, 16, 5];
  return (
    '\t.section\t".note.gnu.property","a",@note\n\t.p2align\t3\n' +
    words.map((word) => `\t.long\t${word}\n`).join("") +
    '\t.asciz\t"GNU"\n' +
    `\t.long\t0xc0000002\n\t.long\t4\n\t.long\t${features}\n\t.long\t0\n`
  );
}
