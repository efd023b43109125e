/**
 * Reads `ar` archives (System V/GNU, thin, and BSD long names).
 *
 * Layout: "!<arch>\n" or "!<thin>\n", then members at even offsets, each with a 60-byte text header. Special
 * members: "/" and "/SYM64/" (symbol index) and "__.SYMDEF" (BSD's), skipped: GNU ar indexes no bitcode, so the
 * index proves nothing about a member; "//" (long names), referred to as "/offset". BSD puts a long name in
 * front of the data and writes "#1/length". Source: ar(5) of System V Release 4, FreeBSD and GNU binutils.
 */
import { InputError } from "../lto/ir/errors.js";

export interface ArchiveMember {
  readonly name: string;
  /** The contents, a view into the archive; null in a thin archive. */
  readonly bytes: Uint8Array | null;
  /** In a thin archive, the file, relative to the archive's folder unless absolute; else null. */
  readonly path: string | null;
}

export interface Archive {
  readonly thin: boolean;
  readonly members: readonly ArchiveMember[];
}

const plainMagic = "!<arch>\n";
const thinMagic = "!<thin>\n";
const headerSize = 60;

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
const utf8 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");

/** Whether the bytes start like an archive, thin or not. */
export function isArchive(bytes: Uint8Array): boolean {
  const start = latin1(bytes.subarray(0, 8));
  return start === plainMagic || start === thinMagic;
}

/**
 * The names in the symbol index of an archive of native objects, zero bytes between them; "" without an index.
 * @param read gives bytes of the file, fewer where it ends
 * @throws InputError when it is malformed
 */
export function archiveIndex(read: (offset: number, size: number) => Uint8Array): string {
  const start = read(0, 8 + headerSize);
  if (!isArchive(start)) throw new InputError("not an archive");
  const [, field, size] = /^(\S*).*?(\d+) *`\n$/s.exec(latin1(start.subarray(8))) ?? [];
  const wide = field === "/SYM64/";
  if (field !== "/" && !wide) return "";
  const index = read(8 + headerSize, Number(size));
  const number = wide ? 8 : 4;
  if (index.length < number) throw new InputError("malformed archive: the symbol index is cut short");
  // A big-endian count, an offset for each symbol, and the names.
  const count = new DataView(index.buffer, index.byteOffset).getUint32(number - 4);
  return latin1(index.subarray(number * (count + 1)));
}

/**
 * Lists the members of an archive in order, indices and name tables left out.
 * @throws InputError when it is malformed
 */
export function readArchive(bytes: Uint8Array, file: string): Archive {
  const fail = (message: string): never => {
    throw new InputError(`malformed archive: ${message}`, file);
  };
  if (!isArchive(bytes)) throw new InputError("not an archive", file);
  const thin = latin1(bytes.subarray(0, 8)) === thinMagic;
  const members: ArchiveMember[] = [];
  let longNames: Uint8Array | null = null;

  const longName = (offset: number): string => {
    if (longNames === null || offset >= longNames.length)
      return fail(`a member's name lies outside of the name table`);
    // Names end in "/\n"; some writers end them with a zero byte.
    let end = offset;
    while (end < longNames.length && longNames[end] !== 0x0a && longNames[end] !== 0) end++;
    if (end > offset && longNames[end - 1] === 0x2f) end--;
    return utf8(longNames.subarray(offset, end));
  };

  for (let pos = 8; pos < bytes.length; ) {
    if (bytes.length - pos < headerSize) {
      // Padding of a newline or two after the last member is harmless.
      if (latin1(bytes.subarray(pos)).trim() === "") break;
      fail("the last header is cut short");
    }
    const header = latin1(bytes.subarray(pos, pos + headerSize));
    if (header.slice(58) !== "`\n") fail(`no header at offset ${pos}`);
    const sizeText = header.slice(48, 58).trimEnd();
    if (!/^\d{1,10}$/.test(sizeText)) fail(`'${sizeText}' is not a size`);
    const size = Number(sizeText);
    const field = header.slice(0, 16).trimEnd();
    const start = pos + headerSize;
    const special = field === "/" || field === "//" || field === "/SYM64/";
    // A thin archive holds only its own tables; the sizes of members are those of the files.
    const stored = thin && !special ? 0 : size;
    if (stored > bytes.length - start) fail(`member '${field}' is cut short`);
    let data = bytes.subarray(start, start + stored);
    pos = start + stored + (stored % 2);

    if (field === "//") {
      longNames = data;
      continue;
    }
    if (special) continue;
    let name: string;
    // GNU ar writes an offset over a name that it has cut short, of which the last character is left.
    const reference = /^(?:\/|#1\/)(\d+)(?: .*)?$/.exec(field);
    if (reference === null) name = field.endsWith("/") ? field.slice(0, -1) : field;
    else if (field.startsWith("#1/")) {
      const length = Number(reference[1]);
      if (length > data.length) fail("a member is shorter than its name");
      name = utf8(data.subarray(0, length)).replace(/\0+$/, "");
      data = data.subarray(length);
    } else name = longName(Number(reference[1]));
    if (name.startsWith("__.SYMDEF")) continue;
    members.push({ name, bytes: thin ? null : data, path: thin ? name : null });
  }
  return { thin, members };
}
