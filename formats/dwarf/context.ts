/** What the makers of entries share: the units, and which entries nodes have. */
import type { DebugNode, DICompileUnit, DIFile } from "../../lto/ir/debug/nodes.js";
import type { Uniquer } from "../../lto/ir/debug/unique.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import type { SectionBytes } from "./bytes.js";
import { At, DwOp } from "./constants.js";
import { type AddressPool, type Entry, Unit } from "./entries.js";

/** Where lines of code are said: a table a unit. */
export interface LineNumbers {
  /** Of the unit's table; null: it has none. */
  label(unit: DICompileUnit): string | null;
  /** The number of a file in the unit's table. */
  file(unit: DICompileUnit, file: DIFile): number;
}

/** A compile unit with its entries. */
export interface UnitEntries {
  readonly node: DICompileUnit;
  readonly unit: Unit;
  readonly root: Entry;
  /** Entries that each unit has its own of: namespaces and modules. */
  readonly own: Map<DebugNode, Entry>;
}

export class Context {
  private readonly byNode = new Map<DICompileUnit, UnitEntries>();
  private readonly byRoot = new Map<Entry, UnitEntries>();
  /** Types, declarations and definitions: each is there once, in the unit that asked first or that it is of. */
  readonly shared = new Map<DebugNode, Entry>();
  /** What is left to do for entries that are there: those that lead to others make them on the way. */
  private readonly later: (() => void)[] = [];
  private readonly last: (() => void)[] = [];
  private done = 0;

  /**
   * @param version DWARF's
   * @param symbol a global of the module as the assembler takes it; null: it has no place in the program
   * @param collect is called now and then: much of what entries are made of serves for a moment
   */
  constructor(
    readonly version: number,
    readonly lines: LineNumbers,
    readonly uniquer: Uniquer,
    readonly addresses: AddressPool,
    readonly symbol: (global: GlobalValue) => string | null,
    private readonly collect: () => void,
  ) {}

  unitOf(node: DICompileUnit): UnitEntries {
    let entries = this.byNode.get(node);
    if (entries === undefined) {
      const unit = new Unit();
      entries = { node, unit, root: unit.root, own: new Map() };
      this.byNode.set(node, entries);
      this.byRoot.set(unit.root, entries);
    }
    return entries;
  }

  /** The unit that an entry is in, whose numbers of files it has; one that stands nowhere as yet will be in `otherwise`. */
  home(entry: Entry, otherwise: UnitEntries): UnitEntries {
    let at = entry;
    while (at.parent !== null) at = at.parent;
    return this.byRoot.get(at) ?? otherwise;
  }

  get units(): Iterable<UnitEntries> {
    return this.byNode.values();
  }

  /** Does it once all that is under way is done, so that long chains of nodes need no deep stack. */
  defer(work: () => void): void {
    this.later.push(work);
  }
  /** Does it when all entries are there. */
  atEnd(work: () => void): void {
    this.last.push(work);
  }
  finish(): void {
    for (const work of this.last) work();
  }
  run(): void {
    for (let work = this.later.pop(); work !== undefined; work = this.later.pop()) {
      work();
      if (++this.done % workBetween === 0) this.collect();
    }
  }

  /** Where something was declared. Nothing without a line. */
  place(entry: Entry, unit: UnitEntries, file: DIFile | null, line: number): void {
    if (line === 0) return;
    if (file !== null) entry.number(At.DeclFile, this.lines.file(unit.node, file));
    entry.number(At.DeclLine, line);
  }

  /** The operations that push the address of a symbol. */
  pushAddress(out: SectionBytes, symbol: string): void {
    if (this.version >= 5) {
      out.byte(DwOp.Addrx);
      out.uleb(this.addresses.of(symbol));
    } else {
      out.byte(DwOp.Addr);
      out.hole(symbol, 8);
    }
  }
}

const workBetween = 64;

/** Whether C's rules of prototypes hold: DW_LANG_C89, C, C99, ObjC, C11, C17, C23. */
export const isC = (unit: DICompileUnit): boolean =>
  unit.sourceLanguageVersion < 0 && [0x01, 0x02, 0x0c, 0x10, 0x1d, 0x2c, 0x3e].includes(unit.language);
