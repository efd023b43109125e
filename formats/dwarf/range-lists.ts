/**
 * Ranges of code, and places of variables within them: `.debug_rnglists` and `.debug_loclists`, or of DWARF 4
 * `.debug_ranges` and `.debug_loc`. Ranges within a function count from where it begins. Entries have the places of
 * locations, of which a table would cost more. Ranges go by numbers of a table all the same: binutils 2.40 looks into those that have
 * places, and gives up where addresses have numbers.
 */
import type { CodeRange, VariablePlace } from "../../lto/codegen/debug/function-info.js";
import { SectionBytes } from "./bytes.js";
import { At, Form } from "./constants.js";
import type { UnitEntries } from "./context.js";
import type { AddressPool, Entry } from "./entries.js";

/** DW_RLE_* and DW_LLE_*, which have the same numbers. */
const endOfList = 0;
const baseAddressx = 1;
const startxLength = 3;
const offsetPair = 4;

export class RangeLists {
  private readonly rangeTexts: string[] = [];
  private readonly locationTexts: string[] = [];
  /** Numbers of entries' lists of locations. */
  private readonly listOf = new Map<Entry, number>();
  private readonly order: number[] = [];
  private readonly unitRanges = new Map<UnitEntries, CodeRange[]>();

  /** @param version DWARF's */
  constructor(
    private readonly version: number,
    private readonly addresses: AddressPool,
  ) {}

  /** A unit has this code, too. */
  ofUnit(unit: UnitEntries, range: CodeRange): void {
    const list = this.unitRanges.get(unit);
    if (list === undefined) this.unitRanges.set(unit, [range]);
    else list.push(range);
  }

  hasCode(unit: UnitEntries): boolean {
    return this.unitRanges.has(unit);
  }

  /** Says of units where their code is. */
  putUnits(): void {
    for (const [{ root }, ranges] of this.unitRanges)
      if (ranges.length === 1) this.one(root, ranges[0]!);
      else {
        root.put(At.LowPc, { form: Form.Addr, label: "0" });
        let text = "";
        for (const { begin, end } of ranges)
          text +=
            this.version >= 5
              ? `\t.byte\t${startxLength}\n\t.uleb128 ${this.addresses.of(begin)}\n\t.uleb128 ${end}-${begin}\n`
              : `\t.quad\t${begin}\n\t.quad\t${end}\n`;
        this.list(root, text);
      }
  }

  private one(entry: Entry, range: CodeRange): void {
    entry.address(At.LowPc, range.begin);
    putLength(entry, range);
  }

  private list(entry: Entry, text: string): void {
    const number = this.rangeTexts.length;
    this.rangeTexts.push(text);
    if (this.version >= 5) entry.put(At.Ranges, { form: Form.Rnglistx, number });
    else entry.put(At.Ranges, { form: Form.SecOffset, label: `.Ldebug_ranges${number}` });
  }

  /** Says of an entry where its code is. @param within the function that all of it is in */
  put(entry: Entry, ranges: readonly CodeRange[], within: CodeRange): void {
    if (ranges.length === 1) this.one(entry, ranges[0]!);
    if (ranges.length < 2) return;
    let text = this.version >= 5 ? this.base(within) : "";
    for (const { begin, end } of ranges)
      text += this.version >= 5 ? pair(begin, end, within) : `\t.quad\t${begin}\n\t.quad\t${end}\n`;
    this.list(entry, text);
  }

  private base({ begin }: CodeRange): string {
    return `\t.byte\t${baseAddressx}\n\t.uleb128 ${this.addresses.of(begin)}\n`;
  }

  /** Says of a variable where it is: nothing where that is nowhere. */
  locations(entry: Entry, places: readonly VariablePlace[], within: CodeRange): void {
    const [first] = places;
    if (first === undefined) return;
    const isWhole =
      places.length === 1 && first.range.begin === within.begin && first.range.end === within.end;
    if (isWhole) {
      const bytes = new SectionBytes();
      for (const byte of first.expression) bytes.byte(byte);
      entry.expression(At.Location, bytes);
      return;
    }
    let text = this.version >= 5 ? this.base(within) : `\t.quad\t-1\n\t.quad\t${within.begin}\n`;
    for (const { range, expression } of places) {
      const { begin, end } = range;
      const bytes = expression.length === 0 ? "" : `\t.byte\t${[...expression].join(",")}\n`;
      text +=
        this.version >= 5
          ? `${pair(begin, end, within)}\t.uleb128 ${expression.length}\n${bytes}`
          : `\t.quad\t${begin}-${within.begin}\n\t.quad\t${end}-${within.begin}\n\t.short\t${expression.length}\n${bytes}`;
    }
    const number = this.locationTexts.length;
    this.locationTexts.push(text);
    this.listOf.set(entry, number);
    const name = this.version >= 5 ? locationLists : ".Ldebug_loc";
    entry.put(At.Location, { form: Form.SecOffset, label: `${name}${number}` });
  }

  /** What units need to know to find ranges; null where there are none. */
  get rangesBase(): string | null {
    return this.version >= 5 && this.rangeTexts.length > 0 ? rangeLists : null;
  }

  /** Puts lists of locations in the order of the entries that they are of, as readelf has it. */
  arrange(roots: readonly Entry[]): void {
    const work = [...roots].reverse();
    for (let entry = work.pop(); entry !== undefined; entry = work.pop()) {
      const list = this.listOf.get(entry);
      if (list !== undefined) this.order.push(list);
      for (let i = entry.children.length - 1; i >= 0; i--) work.push(entry.children[i]!);
    }
  }

  text(): string {
    if (this.version >= 5)
      return (
        section(".debug_rnglists", rangeLists, this.rangeTexts, true) +
        section(".debug_loclists", locationLists, this.locationTexts, false, this.order)
      );
    let text = "";
    if (this.rangeTexts.length > 0) text += '\t.section\t.debug_ranges,"",@progbits\n';
    this.rangeTexts.forEach((list, i) => {
      text += `.Ldebug_ranges${i}:\n${list}\t.quad\t0\n\t.quad\t0\n`;
    });
    if (this.locationTexts.length > 0) text += '\t.section\t.debug_loc,"",@progbits\n';
    for (const i of this.order) text += `.Ldebug_loc${i}:\n${this.locationTexts[i]}\t.quad\t0\n\t.quad\t0\n`;
    return text;
  }
}

const pair = (begin: string, end: string, within: CodeRange): string =>
  `\t.byte\t${offsetPair}\n\t.uleb128 ${begin}-${within.begin}\n\t.uleb128 ${end}-${within.begin}\n`;

const rangeLists = ".Ldebug_rnglists";
const locationLists = ".Ldebug_loclists";

/** Says of an entry how long its code is, in as few bytes as that surely takes. */
export function putLength(entry: Entry, { begin, end, most = Number.POSITIVE_INFINITY }: CodeRange): void {
  // Half of what is possible, for those who take the numbers for signed ones.
  const form = most < 0x80 ? Form.Data1 : most < 0x8000 ? Form.Data2 : Form.Data4;
  entry.put(At.HighPc, { form, label: `${end}-${begin}` });
}

/** Lists of DWARF 5. @param base what their labels begin with @param hasTable of where each is, which goes by numbers */
function section(
  name: string,
  base: string,
  lists: readonly string[],
  hasTable: boolean,
  order: Iterable<number> = lists.keys(),
): string {
  if (lists.length === 0) return "";
  let text = `\t.section\t${name},"",@progbits\n\t.long\t${base}_end-${base}_start\n${base}_start:\n`;
  text += `\t.short\t5\n\t.byte\t8\n\t.byte\t0\n\t.long\t${hasTable ? lists.length : 0}\n${base}:\n`;
  if (hasTable) for (let i = 0; i < lists.length; i++) text += `\t.long\t${base}${i}-${base}\n`;
  for (const i of order) text += `${base}${i}:\n${lists[i]}\t.byte\t${endOfList}\n`;
  return `${text}${base}_end:\n`;
}
