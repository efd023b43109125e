/** Minimal ELF files, for tests of what reads them. */

export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

export type ElfSymbol = [
  name: string,
  info: number,
  other: number,
  section: number,
  value: number,
  size: number,
];

/**
 * A minimal ELF64 file: sections .strtab (names of sections and symbols), .symtab, and given others.
 * @param contents of the given sections; by default something that says which it is
 */
export function elf(
  symbols: ElfSymbol[],
  extra: string[] = [],
  type = 1,
  contents = (name: string): Uint8Array => ascii(`<${name}>`),
): Uint8Array {
  const names = ["", ".strtab", type === 3 ? ".dynsym" : ".symtab", ...extra, ...symbols.map((s) => s[0])];
  const strings = ascii(names.join("\0") + "\0");
  const offsetOf = (name: string): number => {
    let offset = 0;
    for (const n of names) {
      if (n === name) return offset;
      offset += n.length + 1;
    }
    throw new Error(name);
  };
  const table = Buffer.alloc(24 * (symbols.length + 1));
  symbols.forEach(([name, info, other, section, value, size], i) => {
    const at = 24 * (i + 1);
    table.writeUInt32LE(offsetOf(name), at);
    table.writeUInt8(info, at + 4);
    table.writeUInt8(other, at + 5);
    table.writeUInt16LE(section, at + 6);
    table.writeBigUInt64LE(BigInt(value), at + 8);
    table.writeBigUInt64LE(BigInt(size), at + 16);
  });
  const parts: { name: string; type: number; link: number; data: Uint8Array }[] = [
    { name: "", type: 0, link: 0, data: new Uint8Array(0) },
    { name: ".strtab", type: 3, link: 0, data: strings },
    { name: type === 3 ? ".dynsym" : ".symtab", type: type === 3 ? 11 : 2, link: 1, data: table },
    ...extra.map((name) => ({ name, type: 1, link: 0, data: contents(name) })),
  ];
  const file = Buffer.alloc(64);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(type, 16);
  file.writeUInt16LE(62, 18);
  let offset = 64;
  const headers = parts.map((part) => {
    const h = Buffer.alloc(64);
    h.writeUInt32LE(offsetOf(part.name), 0);
    h.writeUInt32LE(part.type, 4);
    h.writeBigUInt64LE(BigInt(offset), 0x18);
    h.writeBigUInt64LE(BigInt(part.data.length), 0x20);
    h.writeUInt32LE(part.link, 0x28);
    offset += part.data.length;
    return h;
  });
  file.writeBigUInt64LE(BigInt(offset), 0x28);
  file.writeUInt16LE(64, 0x3a);
  file.writeUInt16LE(parts.length, 0x3c);
  file.writeUInt16LE(1, 0x3e);
  return new Uint8Array(Buffer.concat([file, ...parts.map((p) => p.data), ...headers]));
}
