/** Which intermediate code of an ELF object stands for it in a link, if any. */
import { InputError } from "../lto/ir/errors.js";
import type { ElfObject } from "./elf.js";

/** Whose bitcode is taken in the place of the machine code beside it. */
export interface EmbeddedIrPolicy {
  /** Of objects made with -ffat-lto-objects (`.llvm.lto`). */
  readonly fat: boolean;
  /** Of objects made with -fembed-bitcode (`.llvmbc`); `rust`: of those in Rust's libraries (`.rlib`). */
  readonly embedded: "all" | "rust" | "none";
}

export const defaultEmbeddedIr: EmbeddedIrPolicy = { fat: true, embedded: "rust" };

/** `objects`: IR objects of ours, one after another. `optional`: the machine code beside it means the same. */
export interface ElfIr {
  readonly form: "objects" | "bitcode";
  readonly bytes: Uint8Array;
  readonly optional: boolean;
}

/**
 * Null where the machine code counts. What `ld -r` joined from several objects counts as machine code if it has any: of these
 * not all need have had bitcode.
 * @param file as messages name it, `lib.a(member.o)` for members
 * @throws InputError for a shell that has lost its IR, or was joined with machine code
 */
export function irOf(elf: ElfObject, file: string, policy: EmbeddedIrPolicy): ElfIr | null {
  if (elf.type !== "relocatable") return null;
  if (elf.isShell || elf.ir !== null) {
    if (elf.ir === null || elf.ir.length === 0)
      throw new InputError("object of tsc-cc without its IR, which some tool has removed", file);
    if (elf.hasContents)
      throw new InputError(
        "IR joined with machine code by a linker that does not know it (use tsc-cc -r, or ld.tsc-lto -r)",
        file,
      );
    return { form: "objects", bytes: elf.ir, optional: false };
  }
  if (elf.files > 1) return null;
  if (policy.fat && elf.fatBitcode !== null)
    return { form: "bitcode", bytes: elf.fatBitcode, optional: true };
  const isTaken = policy.embedded === "all" || (policy.embedded === "rust" && /\.rlib\(/.test(file));
  // Without contents it is the mark of a compilation that was to have none.
  if (isTaken && elf.embeddedBitcode !== null && elf.embeddedBitcode.length > 1)
    return { form: "bitcode", bytes: elf.embeddedBitcode, optional: true };
  return null;
}
