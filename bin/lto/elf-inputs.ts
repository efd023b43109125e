/** What an ELF object contributes to a link: its IR, if it has any that is wanted, else its symbols. */
import { type ElfObject, readElf } from "../../formats/elf.js";
import { type EmbeddedIrPolicy, irOf } from "../../formats/elf-ir.js";
import { splitObjects } from "../../formats/object/container.js";
import { readObjectContents } from "../../formats/object/reader.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { attributed, InputError } from "../../lto/ir/errors.js";
import type { ModuleInput, NativeInput } from "../../lto/link/input.js";

/** @throws InputError */
export function readElfInput(
  bytes: Uint8Array,
  file: string,
  policy: EmbeddedIrPolicy,
): (ModuleInput | NativeInput)[] {
  const elf = readElf(bytes, file);
  const ir = irOf(elf, file, policy);
  if (ir === null) return [nativeInput(elf, file)];
  if (ir.form === "bitcode") return readBitcode(ir.bytes, file).map((module) => ({ kind: "module", module }));
  const objects = attributed(file, () => splitObjects(ir.bytes));
  if (elf.files > objects.length)
    throw new InputError("IR joined with other objects by a linker that does not know it", file);
  return objects.map((object) => ({ kind: "module", ...readObjectContents(object, file) }));
}

/** @throws InputError for what no linker takes */
export function nativeInput(elf: ElfObject, file: string): NativeInput {
  if (elf.isSlimGccLto)
    throw new InputError(
      "GCC LTO object: its intermediate code cannot be read (compile with clang or tsc-cc)",
      file,
    );
  if (elf.type === "executable") throw new InputError("an executable cannot be linked", file);
  const { machine, symbols } = elf;
  return { kind: "native", file, machine, shared: elf.type === "shared", symbols };
}
