/**
 * Addresses of what is loaded. Those of a program are its own; in an object, where every section starts at 0, each section
 * gets a place of its own, so that whatever follows need not tell the two apart.
 */
import { type Image, type ImageSection, type ImageSymbol, SectionFlag, SectionType } from "./image.js";

/** A page between sections of objects, so that no table runs from one into the next. */
const gap = 0x1000;

export class Addresses {
  private readonly base = new Map<number, number>();
  /** Sections that are loaded and have a size, by address; of thread-local variables without contents only the template. */
  readonly loaded: readonly ImageSection[];

  constructor(private readonly image: Image) {
    let next = gap;
    const loaded = image.sections.filter(({ flags, size }) => (flags & SectionFlag.Alloc) !== 0 && size > 0);
    for (const section of loaded) {
      this.base.set(section.index, image.isObject ? next : section.address);
      next += Math.ceil(section.size / gap) * gap + gap;
    }
    this.loaded = loaded;
  }

  /** Where a section starts. */
  of(section: Pick<ImageSection, "index">): number {
    return this.base.get(section.index) ?? 0;
  }

  /** Where a symbol is; undefined for one that is not defined in a section that is loaded. */
  ofSymbol({ section, value, type }: ImageSymbol): number | undefined {
    const base = this.base.get(section);
    if (base === undefined) return undefined;
    if (this.image.isObject) return base + value;
    // Values of thread-local variables count from the start of their segment.
    return type === 6 ? this.threadLocalStart() + value : value;
  }

  private segment: number | null = null;
  private threadLocalStart(): number {
    this.segment ??= Math.min(
      ...this.loaded.filter(({ flags }) => (flags & SectionFlag.ThreadLocal) !== 0).map((s) => this.of(s)),
    );
    return this.segment;
  }

  /** What relocations of an object put into the places of a section: offset to address. In programs there is none left. */
  targetsIn(section: ImageSection): ReadonlyMap<number, { readonly to: number; readonly added: boolean }> {
    const targets = new Map<number, { readonly to: number; readonly added: boolean }>();
    const { image } = this;
    if (!image.isObject) return targets;
    for (const table of image.sections) {
      if (table.type !== SectionType.Rela && table.type !== SectionType.Rel) continue;
      if (table.info !== section.index) continue;
      for (const { offset, symbol, addend } of image.relocationsOf(table)) {
        const base = this.ofSymbol(image.symbols[symbol]!);
        // Where the table has no addends they are in the place itself.
        if (base !== undefined)
          targets.set(offset, { to: base + addend, added: table.type === SectionType.Rela });
      }
    }
    return targets;
  }
}
