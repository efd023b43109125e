/**
 * Adds a section to a relocatable ELF file, for what a compiler's object should have beside its code. What is there stays where it
 * is, so that no offset changes; only the table of sections, and the names in front of it, are written anew.
 * Little-endian ELF64. Layout: System V ABI (gABI), chapter 4.
 */
import { bytesOfText } from "../lto/ir/byte-text.js";
import { InputError } from "../lto/ir/errors.js";
import { isElf } from "./elf.js";
import { SHF_EXCLUDE, SHT_LLVM_LTO } from "./elf-constants.js";

export interface AddedSection {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly bytes: Uint8Array;
}

const sectionHeaderSize = 64;

/** A fat object, as clang's -ffat-lto-objects makes it: linkers that know bitcode take that, others leave it out. */
export const withBitcode = (file: Uint8Array, bitcode: Uint8Array): Uint8Array =>
  withSection(file, { name: ".llvm.lto", type: SHT_LLVM_LTO, flags: SHF_EXCLUDE, bytes: bitcode });

/** @throws InputError for what is no such file */
export function withSection(file: Uint8Array, added: AddedSection): Uint8Array {
  if (!isElf(file) || file.length < 64 || file[4] !== 2 || file[5] !== 1)
    throw new InputError("the compiler's object is no little-endian ELF64 file");
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const tableAt = Number(view.getBigUint64(0x28, true));
  const count = view.getUint16(0x3c, true);
  const names = view.getUint16(0x3e, true);
  // Numbers beyond 16 bits lie elsewhere: compilers write that for thousands of sections.
  if (count === 0 || names === 0xffff || tableAt + count * sectionHeaderSize > file.length)
    throw new InputError("the compiler's object has too many sections, or none");
  const old = Buffer.from(file.subarray(tableAt, tableAt + count * sectionHeaderSize));
  const namesHeader = names * sectionHeaderSize;
  const namesAt = Number(old.readBigUInt64LE(namesHeader + 0x18));
  const namesSize = Number(old.readBigUInt64LE(namesHeader + 0x20));
  const nameTable = Buffer.concat([
    file.subarray(namesAt, namesAt + namesSize),
    bytesOfText(`${added.name}\0`),
  ]);
  // Compilers put the names last, in front of the table: then both make room.
  const end = endOfContents(old, count, names);
  const contentsAt = end;
  const newNamesAt = contentsAt + added.bytes.length;
  const newTableAt = Math.ceil((newNamesAt + nameTable.length) / 8) * 8;
  const out = Buffer.alloc(newTableAt + (count + 1) * sectionHeaderSize);
  out.set(file.subarray(0, end));
  out.set(added.bytes, contentsAt);
  out.set(nameTable, newNamesAt);
  old.writeBigUInt64LE(BigInt(newNamesAt), namesHeader + 0x18);
  old.writeBigUInt64LE(BigInt(nameTable.length), namesHeader + 0x20);
  out.set(old, newTableAt);
  const header = newTableAt + count * sectionHeaderSize;
  out.writeUInt32LE(namesSize, header);
  out.writeUInt32LE(added.type, header + 4);
  out.writeBigUInt64LE(BigInt(added.flags), header + 8);
  out.writeBigUInt64LE(BigInt(contentsAt), header + 0x18);
  out.writeBigUInt64LE(BigInt(added.bytes.length), header + 0x20);
  out.writeBigUInt64LE(1n, header + 0x30);
  out.writeBigUInt64LE(BigInt(newTableAt), 0x28);
  out.writeUInt16LE(count + 1, 0x3c);
  return out;
}

/** Where the contents of all sections but the names end. */
function endOfContents(headers: Buffer, count: number, names: number): number {
  let end = 64;
  for (let i = 1; i < count; i++) {
    const at = i * sectionHeaderSize;
    const takesRoom = headers.readUInt32LE(at + 4) !== 8;
    if (i === names || !takesRoom) continue;
    end = Math.max(
      end,
      Number(headers.readBigUInt64LE(at + 0x18)) + Number(headers.readBigUInt64LE(at + 0x20)),
    );
  }
  return end;
}
