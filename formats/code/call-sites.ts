/**
 * Exception tables in a relocatable object: which call leads to which landing pad, for which types. The layout is told
 * in formats/asm/exception-table.ts; here it is read, with the encodings that compilers for x86-64 use.
 * Source: Itanium C++ ABI, "Exception Handling Tables"; Linux Standard Base, Core, "Exception Frames".
 */
import { InputError } from "../../lto/ir/errors.js";
import { ByteCursor } from "./byte-cursor.js";
import type { CodeObject, CodeRelocation } from "./object.js";

/** One thing that a landing pad is for. */
export type Action =
  | { readonly kind: "cleanup" }
  /** Symbol of the type, or of the word that holds its address if that is elsewhere; "" catches everything. */
  | { readonly kind: "catch"; readonly type: string }
  | { readonly kind: "filter"; readonly types: readonly string[] };

/** A range of code, as offsets in its function. */
export interface CallSiteEntry {
  readonly start: number;
  readonly end: number;
  /** Offset of the landing pad; -1: exceptions pass the function. */
  readonly pad: number;
  readonly actions: readonly Action[];
}

const DW_EH_PE_indirect = 0x80;
const DW_EH_PE_omit = 0xff;

/** @throws InputError when the table is malformed */
export function readCallSites(object: CodeObject, section: number, offset: number): CallSiteEntry[] {
  const home = object.sections[section];
  if (home === undefined) throw new InputError("malformed ELF file: an exception table is nowhere");
  return new TableReader(object, section, offset).run();
}

class TableReader {
  private readonly bytes: Uint8Array;
  private readonly references: ReadonlyMap<number, CodeRelocation>;
  private typeEncoding = DW_EH_PE_omit;
  /** Where the types end and the filters begin. */
  private typeBase = 0;
  private actionStart = 0;

  constructor(
    private readonly object: CodeObject,
    section: number,
    private readonly offset: number,
  ) {
    const { bytes, relocations } = object.sections[section]!;
    this.bytes = bytes;
    this.references = new Map(relocations.map((r) => [r.offset, r]));
  }

  private cursor(at: number): ByteCursor {
    return new ByteCursor(this.bytes, "an exception table", at);
  }

  run(): CallSiteEntry[] {
    const cursor = this.cursor(this.offset);
    if (cursor.u8() !== DW_EH_PE_omit)
      throw new InputError("unsupported: exception table with a base of its landing pads");
    this.typeEncoding = cursor.u8();
    if (this.typeEncoding !== DW_EH_PE_omit) {
      const distance = cursor.uleb();
      this.typeBase = cursor.at + distance;
    }
    const encoding = cursor.u8();
    const size = cursor.uleb();
    this.actionStart = cursor.at + size;
    const number = (): number => (encoding === 1 ? cursor.uleb() : cursor.u32());
    const sites: CallSiteEntry[] = [];
    while (cursor.at < this.actionStart) {
      const start = number();
      const end = start + number();
      const pad = number();
      const action = cursor.uleb();
      sites.push({
        start,
        end,
        pad: pad === 0 ? -1 : pad,
        actions: action === 0 ? (pad === 0 ? [] : [{ kind: "cleanup" }]) : this.actions(action - 1),
      });
    }
    return sites;
  }

  private actions(first: number): Action[] {
    const list: Action[] = [];
    for (let at = this.actionStart + first; ; ) {
      const cursor = this.cursor(at);
      const filter = cursor.sleb();
      const from = cursor.at;
      const next = cursor.sleb();
      if (filter === 0) list.push({ kind: "cleanup" });
      else if (filter > 0) list.push({ kind: "catch", type: this.type(filter) });
      else list.push({ kind: "filter", types: this.filter(-filter - 1) });
      if (next === 0 || list.length > 10_000) return list;
      at = from + next;
    }
  }

  private type(index: number): string {
    const size = (this.typeEncoding & 15) === 0x0 ? 8 : 4;
    const reference = this.references.get(this.typeBase - index * size);
    if (reference === undefined) return "";
    const { symbol, addend } = reference;
    if ((this.typeEncoding & DW_EH_PE_indirect) === 0) return symbol.name;
    const word = this.object.sections[symbol.section]?.relocations.find(
      ({ offset }) => offset === symbol.value + addend,
    );
    return word?.symbol.name ?? symbol.name;
  }

  private filter(offset: number): string[] {
    const cursor = this.cursor(this.typeBase + offset);
    const types: string[] = [];
    for (let index = cursor.uleb(); index !== 0; index = cursor.uleb()) types.push(this.type(index));
    return types;
  }
}
