/**
 * Linker maps: which object each byte of a program is from. GNU ld's (`-Map`), and lld's.
 *
 * GNU ld: a line ` SECTION 0xADDRESS 0xSIZE FILE`, the section on a line of its own where its name is long.
 * lld: `VMA LMA SIZE ALIGN         FILE:(SECTION)`, numbers in hexadecimal without prefix.
 */
import { InputError } from "../../lto/ir/errors.js";

interface Range {
  readonly start: number;
  readonly end: number;
  readonly file: string;
}

export class MapFile {
  private readonly ranges: readonly Range[];

  private constructor(ranges: Range[]) {
    this.ranges = ranges.sort((a, b) => a.start - b.start || a.end - b.end);
  }

  /** @param name in messages @throws InputError when there is nothing of a linker's map in it */
  static parse(text: string, name: string): MapFile {
    const lines = text.split("\n");
    const isLld = lines.some((line) => /^\s*VMA\s+LMA\s+Size\s+Align/.test(line));
    const ranges = isLld ? lldRanges(lines) : gnuRanges(lines);
    if (ranges.length === 0) throw new InputError("not a map of GNU ld or lld", name);
    return new MapFile(ranges);
  }

  /** The object, `lib.a(member.o)` of a member, that the byte at an address is from; null: the linker's own, or unknown. */
  fileAt(address: number): string | null {
    const { ranges } = this;
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle]!.start <= address) low = middle + 1;
      else high = middle;
    }
    // Contents that the linker merged are all at one place, each with its former size.
    for (let i = low - 1; i >= 0 && i >= low - 64; i--) if (address < ranges[i]!.end) return ranges[i]!.file;
    return null;
  }
}

function gnuRanges(lines: readonly string[]): Range[] {
  const ranges: Range[] = [];
  // Discarded sections come first, at the same addresses as others.
  const begin = lines.findIndex((line) => /^Linker script and memory map/.test(line));
  let isNamed = false;
  for (const line of lines.slice(begin + 1)) {
    const [, section, start, size, file] =
      /^ (\S+)?\s+0x([\da-f]+)\s+0x([\da-f]+)\s+(\S.*)$/.exec(line) ?? [];
    const isWhole = file !== undefined && (section !== undefined || isNamed);
    isNamed = /^ \S+$/.test(line);
    if (!isWhole || section === "*fill*" || !/[./]/.test(file)) continue;
    add(ranges, Number.parseInt(start!, 16), Number.parseInt(size!, 16), file);
  }
  return ranges;
}

function lldRanges(lines: readonly string[]): Range[] {
  const ranges: Range[] = [];
  for (const line of lines) {
    const [, start, size, file] =
      /^\s*([\da-f]+)\s+[\da-f]+\s+([\da-f]+)\s+\d+\s{9}(\S.*):\(.*\)$/.exec(line) ?? [];
    if (file !== undefined && !file.startsWith("<"))
      add(ranges, Number.parseInt(start!, 16), Number.parseInt(size!, 16), file);
  }
  return ranges;
}

/** Sections that are not loaded are all at 0. */
function add(ranges: Range[], start: number, size: number, file: string): void {
  if (start > 0 && size > 0) ranges.push({ start, end: start + size, file });
}
