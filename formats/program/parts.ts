/**
 * What each loaded byte of a program is for, and whose it is: the parts of all loaded sections, which together are their
 * sizes exactly. Bytes that describe other bytes (unwind tables, tables of handlers, relocations) are those' owners'.
 */
import { Addresses } from "./addresses.js";
import { type Image, type ImageSection, SectionFlag, SectionType } from "./image.js";
import { type Owner, type Segment, segmentsOf } from "./owners.js";
import { headerEntries, type UnwindRecord, unwindRecords } from "./unwind.js";

/** What bytes are for; `linkage` is what the linker adds to find symbols at load time. */
export const uses = ["code", "unwind", "constants", "data", "zero", "relocations", "linkage"] as const;
export type Use = (typeof uses)[number];

/** Why bytes are no symbol's. */
export type Rest = "padding" | "unnamed" | "shared";

export interface Part {
  readonly section: ImageSection;
  readonly use: Use;
  /** Where it lies; of bytes in several places the first. */
  readonly address: number;
  readonly size: number;
  readonly owner: Owner | Rest;
}

export interface Attribution {
  readonly addresses: Addresses;
  /** Sections that are loaded, in the order of the file. */
  readonly sections: readonly ImageSection[];
  readonly owners: readonly Owner[];
  readonly parts: readonly Part[];
}

/** What the bytes of a section are for. */
export function useOf({ name, type, flags }: ImageSection): Use {
  if (type === SectionType.Rela || type === SectionType.Rel || type === SectionType.Relr)
    return "relocations";
  if (/^\.(?:eh_frame|eh_frame_hdr|gcc_except_table|ARM\.ex(?:idx|tab))(?:\.|$)/.test(name)) return "unwind";
  if (/^\.(?:got|plt|iplt|interp|dyn\w+|hash|gnu\.\w+|note)(?:[.-]|$)/.test(name)) return "linkage";
  if ((flags & SectionFlag.Code) !== 0) return "code";
  if (type === SectionType.Nobits) return "zero";
  return (flags & SectionFlag.Write) !== 0 ? "data" : "constants";
}

/** Attributes every loaded byte. */
export function attribute(image: Image): Attribution {
  return new Attributing(image).run();
}

class Attributing {
  private readonly addresses: Addresses;
  private readonly parts: Part[] = [];
  private readonly owners = new Map<Owner, Owner>();
  /** Of code and of data, by address; thread-local variables without contents lie where others do. */
  private readonly segments: Segment[] = [];
  private readonly handlers: { readonly start: number; readonly code: NonNullable<UnwindRecord["code"]> }[] =
    [];

  constructor(private readonly image: Image) {
    this.addresses = new Addresses(image);
  }

  run(): Attribution {
    const { image, addresses } = this;
    const bySection = new Map<number, Image["symbols"][number][]>();
    for (const symbol of image.symbols) {
      const list = bySection.get(symbol.section);
      if (list === undefined) bySection.set(symbol.section, [symbol]);
      else list.push(symbol);
    }
    const described = addresses.loaded.filter((section) => this.isTable(section));
    for (const section of addresses.loaded) {
      if (described.includes(section)) continue;
      const use = useOf(section);
      const segments = segmentsOf(image, addresses, section, bySection.get(section.index) ?? []);
      for (const { start, end, owner } of segments) this.add(section, use, start, end - start, owner);
      const overlaps = (section.flags & SectionFlag.ThreadLocal) !== 0 && section.type === SectionType.Nobits;
      if (!overlaps) for (const segment of segments) this.segments.push(segment);
    }
    this.segments.sort((a, b) => a.start - b.start);
    // Descriptions of code say where the tables of handlers are.
    const rank = ({ name }: ImageSection): number => (name.startsWith(".eh_frame") ? 0 : 1);
    for (const section of [...described].sort((a, b) => rank(a) - rank(b))) this.table(section);
    return { addresses, sections: addresses.loaded, owners: [...this.owners.keys()], parts: this.parts };
  }

  private add(section: ImageSection, use: Use, address: number, size: number, owner: Owner | Rest): void {
    if (size === 0) return;
    if (typeof owner !== "string") this.owners.set(owner, owner);
    this.parts.push({ section, use, address, size, owner });
  }

  private isTable(section: ImageSection): boolean {
    const use = useOf(section);
    return section.bytes.length > 0 && (use === "unwind" || use === "relocations");
  }

  private table(section: ImageSection): void {
    const { name } = section;
    if (useOf(section) === "relocations") this.relocations(section);
    else if (/^\.eh_frame_hdr/.test(name)) this.header(section);
    else if (/^\.eh_frame/.test(name)) this.descriptions(section);
    else if (/^\.gcc_except_table/.test(name)) this.handlerTables(section);
    else if (/^\.ARM\.exidx/.test(name)) this.index(section);
    else this.add(section, "unwind", this.addresses.of(section), section.size, "shared");
  }

  private descriptions(section: ImageSection): void {
    const base = this.addresses.of(section);
    let end = 0;
    for (const { offset, size, code, handlers } of unwindRecords(this.image, this.addresses, section)) {
      end = offset + size;
      if (code === null) this.add(section, "unwind", base + offset, size, "shared");
      else this.share(section, base + offset, size, code.start, code.start + code.size);
      if (code !== null && handlers !== null) this.handlers.push({ start: handlers, code });
    }
    this.add(section, "unwind", base + end, section.size - end, "unnamed");
  }

  private header(section: ImageSection): void {
    const base = this.addresses.of(section);
    const entries = headerEntries(this.image, section, base);
    const last = entries.at(-1);
    this.add(section, "unwind", base, entries[0]?.offset ?? section.size, "shared");
    for (const { offset, size, start } of entries) this.share(section, base + offset, size, start, start + 1);
    if (last !== undefined)
      this.add(
        section,
        "unwind",
        base + last.offset + last.size,
        section.size - last.offset - last.size,
        "unnamed",
      );
  }

  /** Each table of handlers reaches to the next one. */
  private handlerTables(section: ImageSection): void {
    const base = this.addresses.of(section);
    const end = base + section.size;
    const inside = this.handlers.filter(({ start }) => start >= base && start < end);
    inside.sort((a, b) => a.start - b.start || a.code.start - b.code.start);
    this.add(section, "unwind", base, (inside[0]?.start ?? end) - base, "unnamed");
    inside.forEach(({ start, code }, i) => {
      const next = inside[i + 1]?.start ?? end;
      this.share(section, start, next - start, code.start, code.start + code.size);
    });
  }

  /** ARM's: a word that leads to a function, relative to itself, and one that tells how to unwind. */
  private index(section: ImageSection): void {
    const base = this.addresses.of(section);
    const view = this.image.viewOf(section);
    const targets = this.addresses.targetsIn(section);
    const whole = section.size - (section.size % 8);
    for (let offset = 0; offset < whole; offset += 8) {
      const relative = (this.image.u32(view, offset) << 1) >> 1;
      const start = targets.get(offset)?.to ?? base + offset + relative;
      this.share(section, base + offset, 8, start, start + 1);
    }
    this.add(section, "unwind", base + whole, section.size - whole, "unnamed");
  }

  /** What has to be done at load time belongs to the place where it is done. */
  private relocations(section: ImageSection): void {
    const { image } = this;
    const base = this.addresses.of(section);
    if (section.type === SectionType.Relr) return this.packedRelocations(section);
    const size = image.wordSize * (section.type === SectionType.Rela ? 3 : 2);
    const entries = image.relocationsOf(section);
    entries.forEach(({ offset }, i) => {
      this.add(section, "relocations", base + i * size, size, this.ownerAt(offset));
    });
    this.add(
      section,
      "relocations",
      base + entries.length * size,
      section.size - entries.length * size,
      "unnamed",
    );
  }

  /** `.relr.dyn`: even words are addresses, odd ones say which of the 31 or 63 words that follow are places as well. */
  private packedRelocations(section: ImageSection): void {
    const { image } = this;
    const { wordSize } = image;
    const base = this.addresses.of(section);
    const view = image.viewOf(section);
    let place = 0;
    for (let at = 0; at + wordSize <= section.size; at += wordSize) {
      const low = image.u32(view, image.is64 && !image.littleEndian ? at + 4 : at);
      const isAddress = low % 2 === 0;
      if (isAddress) place = image.word(view, at);
      const first = isAddress ? 0 : firstBit(low >>> 1);
      this.add(section, "relocations", base + at, wordSize, this.ownerAt(place + first * wordSize));
      place += isAddress ? wordSize : wordSize * (wordSize * 8 - 1);
    }
  }

  private firstSegmentAfter(address: number): number {
    let low = 0;
    let high = this.segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.segments[middle]!.end <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private ownerAt(address: number): Owner | Rest {
    const segment = this.segments[this.firstSegmentAfter(address)];
    return segment !== undefined && segment.start <= address ? segment.owner : "unnamed";
  }

  /** Bytes that describe a range of code: each function in it has a share by its size, the first what is left over. */
  private share(section: ImageSection, address: number, size: number, from: number, to: number): void {
    const covered = new Map<Owner, number>();
    let total = 0;
    for (let i = this.firstSegmentAfter(from); i < this.segments.length; i++) {
      const { start, end, owner } = this.segments[i]!;
      if (start >= to) break;
      if (typeof owner === "string") continue;
      const bytes = Math.min(end, to) - Math.max(start, from);
      covered.set(owner, (covered.get(owner) ?? 0) + bytes);
      total += bytes;
    }
    const [first, ...others] = covered;
    if (first === undefined) return this.add(section, "unwind", address, size, "unnamed");
    let left = size;
    for (const [owner, bytes] of others) {
      const share = Math.floor((size * bytes) / total);
      this.add(section, "unwind", address, share, owner);
      left -= share;
    }
    this.add(section, "unwind", address, left, first[0]);
  }
}

/** The number of the lowest bit that is set; of 0, which says nothing, 0. */
const firstBit = (bits: number): number => (bits === 0 ? 0 : 31 - Math.clz32(bits & -bits));
