/**
 * Ranges of code, and places of variables within them: `.debug_rnglists` and `.debug_loclists`, or of DWARF 4
 * `.debug_ranges` and `.debug_loc`. Ranges within a function count from where it begins. Entries have the places of
 * locations, of which a table would cost more. Ranges go by numbers of a table all the same: binutils 2.40 looks into those that have
 * places, and gives up where addresses have numbers.
 */
import type { CodeRange, LocatedVariable, VariablePlaces } from "../../lto/codegen/debug/function-info.js";
import { PlaceField } from "../../lto/codegen/program/function-compilers.js";
import { At, Form } from "./constants.js";
import type { UnitEntries } from "./context.js";
import type { AddressPool, Entry } from "./entries.js";

/** DW_RLE_* and DW_LLE_*, which have the same numbers. */
const endOfList = 0;
const baseAddressx = 1;
const startxLength = 3;
const offsetPair = 4;

/** Where a variable is. */
interface LocationList {
  readonly variable: LocatedVariable;
  /** The function's. */
  readonly within: CodeRange;
  /** Number of the address where that begins; before version 5 it has none. */
  readonly address: number;
}

export class RangeLists {
  private readonly rangeTexts: string[] = [];
  private readonly locationLists: LocationList[] = [];
  /** Numbers of entries' lists of locations. */
  private readonly listOf = new Map<Entry, number>();
  private readonly order: number[] = [];
  private readonly unitRanges = new Map<UnitEntries, CodeRange[]>();

  /** @param version DWARF's */
  constructor(
    private readonly version: number,
    private readonly addresses: AddressPool,
    private readonly places: VariablePlaces,
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
        root.put(At.LowPc, Form.Addr, "0");
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
    if (this.version >= 5) entry.put(At.Ranges, Form.Rnglistx, number);
    else entry.put(At.Ranges, Form.SecOffset, `.Ldebug_ranges${number}`);
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

  /** Says of a variable where it is. */
  locations(entry: Entry, variable: LocatedVariable, within: CodeRange): void {
    const { rows, expressions } = this.places;
    const { first, end } = variable;
    const isWhole =
      end - first === PlaceField.Count &&
      rows[first + PlaceField.From] === -1 &&
      rows[first + PlaceField.To] === -1 &&
      rows[first + PlaceField.EndsInCall] === 0;
    if (isWhole) {
      entry.expression(At.Location, expressions[rows[first + PlaceField.Location]!]!);
      return;
    }
    const number = this.locationLists.length;
    const address = this.version >= 5 ? this.addresses.of(within.begin) : -1;
    this.locationLists.push({ variable, within, address });
    this.listOf.set(entry, number);
    const name = this.version >= 5 ? locationLists : ".Ldebug_loc";
    entry.put(At.Location, Form.SecOffset, `${name}${number}`);
  }

  /** Made when it is written, since all of them are several times as large as what they are made of. */
  private locationText({ variable, within, address }: LocationList): string {
    const { rows, expressions } = this.places;
    let text =
      this.version >= 5
        ? `\t.byte\t${baseAddressx}\n\t.uleb128 ${address}\n`
        : `\t.quad\t-1\n\t.quad\t${within.begin}\n`;
    for (let at = variable.first; at < variable.end; at += PlaceField.Count) {
      const from = rows[at + PlaceField.From]!;
      const to = rows[at + PlaceField.To]!;
      const expression = expressions[rows[at + PlaceField.Location]!]!;
      const begin = from < 0 ? within.begin : debugLabel(from);
      let end = to < 0 ? within.end : debugLabel(to);
      if (rows[at + PlaceField.EndsInCall] !== 0) end += "-1";
      const bytes = expression.length === 0 ? "" : `\t.byte\t${expression.join(",")}\n`;
      text +=
        this.version >= 5
          ? `${pair(begin, end, within)}\t.uleb128 ${expression.length}\n${bytes}`
          : `\t.quad\t${begin}-${within.begin}\n\t.quad\t${end}-${within.begin}\n\t.short\t${expression.length}\n${bytes}`;
    }
    return text;
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

  write(write: (text: string) => void): void {
    const ranges = this.rangeTexts;
    const lists = this.locationLists;
    const location = (i: number): string => this.locationText(lists[i]!);
    if (this.version >= 5) {
      section(".debug_rnglists", rangeLists, ranges.keys(), (i) => ranges[i]!, ranges.length, write);
      section(".debug_loclists", locationLists, this.order, location, 0, write);
      return;
    }
    if (ranges.length > 0) write('\t.section\t.debug_ranges,"",@progbits\n');
    inParts(ranges.keys(), (i) => `.Ldebug_ranges${i}:\n${ranges[i]}\t.quad\t0\n\t.quad\t0\n`, write);
    if (lists.length > 0) write('\t.section\t.debug_loc,"",@progbits\n');
    inParts(this.order, (i) => `.Ldebug_loc${i}:\n${location(i)}\t.quad\t0\n\t.quad\t0\n`, write);
  }
}

/** Writes texts, several at a time. */
function inParts(of: Iterable<number>, text: (i: number) => string, write: (text: string) => void): void {
  let part: string[] = [];
  let length = 0;
  for (const i of of) {
    const next = text(i);
    part.push(next);
    length += next.length;
    if (length < partLength) continue;
    write(part.join(""));
    part = [];
    length = 0;
  }
  if (part.length > 0) write(part.join(""));
}
const partLength = 1 << 16;

/** A place in the code that something is told of, by its number. */
export const debugLabel = (number: number): string => `.Ldebug${number}`;

const pair = (begin: string, end: string, within: CodeRange): string =>
  `\t.byte\t${offsetPair}\n\t.uleb128 ${begin}-${within.begin}\n\t.uleb128 ${end}-${within.begin}\n`;

const rangeLists = ".Ldebug_rnglists";
const locationLists = ".Ldebug_loclists";

/** Says of an entry how long its code is, in as few bytes as that surely takes. */
export function putLength(entry: Entry, { begin, end, most = Number.POSITIVE_INFINITY }: CodeRange): void {
  // Half of what is possible, for those who take the numbers for signed ones.
  const form = most < 0x80 ? Form.Data1 : most < 0x8000 ? Form.Data2 : Form.Data4;
  entry.put(At.HighPc, form, `${end}-${begin}`);
}

/**
 * Writes lists of DWARF 5.
 * @param base what their labels begin with @param order their numbers
 * @param tabled so many of them stand in a table of where each is, which goes by numbers
 */
function section(
  name: string,
  base: string,
  order: Iterable<number>,
  textOf: (i: number) => string,
  tabled: number,
  write: (text: string) => void,
): void {
  const lists = [...order];
  if (lists.length === 0) return;
  write(`\t.section\t${name},"",@progbits\n\t.long\t${base}_end-${base}_start\n${base}_start:\n`);
  write(`\t.short\t5\n\t.byte\t8\n\t.byte\t0\n\t.long\t${tabled}\n${base}:\n`);
  if (tabled > 0) inParts(lists, (i) => `\t.long\t${base}${i}-${base}\n`, write);
  inParts(lists, (i) => `${base}${i}:\n${textOf(i)}\t.byte\t${endOfList}\n`, write);
  write(`${base}_end:\n`);
}
