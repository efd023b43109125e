/**
 * Answers from a size report: why a symbol is in the program, why unknown code may enter it, which of its callees makes
 * calls of it change a register, and who saves what. An answer names what would have to go for it to change. Paths are
 * the shortest, found from the roots in breadth-first order.
 */
import type { SizeReport, SymbolReport } from "./schema.js";

/** A step from one symbol to the next. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly how: "calls" | "mentions";
  /** Without it, the symbol asked for would go. */
  readonly isOnly: boolean;
}

export interface Kept {
  readonly root: string;
  readonly reasons: readonly string[];
  readonly path: readonly Edge[];
  /** Those on it that every other way leads through as well, the root aside. */
  readonly through: readonly string[];
}

/** Bounds of a section, which keep all that is in it. */
const bounds = /^__(?:start|stop)_([A-Za-z_]\w*)$/;

type Link = readonly [from: SymbolReport, to: SymbolReport, how: Edge["how"]];

/** The graph of a report's symbols. */
export class Explainer {
  private readonly byName = new Map<string, SymbolReport>();
  private readonly bySection = new Map<string, SymbolReport[]>();

  constructor(private readonly report: SizeReport) {
    for (const symbol of report.symbols) {
      if (symbol.kind === "rest") continue;
      for (const name of [symbol.name, ...(symbol.aliases ?? [])])
        if (!this.byName.has(name)) this.byName.set(name, symbol);
      if (symbol.section === undefined) continue;
      const list = this.bySection.get(symbol.section);
      if (list === undefined) this.bySection.set(symbol.section, [symbol]);
      else list.push(symbol);
    }
  }

  find(name: string): SymbolReport | undefined {
    return this.byName.get(name);
  }

  /** Names that have a part of a word, for those who misspell one. */
  similar(word: string): string[] {
    return [...this.byName.keys()].filter((name) => name.includes(word)).slice(0, 10);
  }

  private *linksOf(symbol: SymbolReport): Iterable<Link> {
    for (const name of symbol.calls ?? []) {
      const to = this.byName.get(name);
      if (to !== undefined) yield [symbol, to, "calls"];
    }
    for (const name of symbol.mentions ?? []) {
      const to = this.byName.get(name);
      if (to !== undefined) yield [symbol, to, "mentions"];
      const section = bounds.exec(name)?.[1];
      for (const member of this.bySection.get(section ?? "") ?? []) yield [symbol, member, "mentions"];
    }
  }

  /** How each symbol that can be reached is reached first. @param without steps that are not to be taken, of any source or one */
  private reach(
    without: { readonly from: string | null; readonly to: string } | null,
  ): Map<SymbolReport, Link | null> {
    const reached = new Map<SymbolReport, Link | null>();
    const work: SymbolReport[] = [];
    for (const symbol of this.report.symbols)
      if ((symbol.root ?? []).length > 0) {
        reached.set(symbol, null);
        work.push(symbol);
      }
    for (let i = 0; i < work.length; i++)
      for (const link of this.linksOf(work[i]!)) {
        const [from, to] = link;
        if (reached.has(to)) continue;
        if (to.name === without?.to && (without.from === null || from.name === without.from)) continue;
        reached.set(to, link);
        work.push(to);
      }
    return reached;
  }

  /** The shortest way from a root; null: the report knows of none. */
  kept(symbol: SymbolReport): Kept | null {
    const reached = this.reach(null);
    if (!reached.has(symbol)) return null;
    const path: Edge[] = [];
    let at = symbol;
    for (let link = reached.get(at)!; link !== null; link = reached.get(at)!) {
      const [from, to, how] = link;
      const edge = { from: from.name, to: to.name, how };
      path.unshift({ ...edge, isOnly: !this.reach(edge).has(symbol) });
      at = from;
    }
    const between = path.slice(0, -1).map(({ to }) => to);
    const through = between.filter((to) => !this.reach({ from: null, to }).has(symbol));
    return { root: at.name, reasons: at.root!, path, through };
  }

  /** Who calls a symbol, and who mentions it otherwise, by name. */
  usersOf(symbol: SymbolReport): { readonly calls: string[]; readonly mentions: string[] } {
    const names = new Set([symbol.name, ...(symbol.aliases ?? [])]);
    const having = (list: (one: SymbolReport) => readonly string[] | undefined): string[] =>
      this.report.symbols.filter((one) => list(one)?.some((name) => names.has(name))).map(({ name }) => name);
    return { calls: having(({ calls }) => calls), mentions: having(({ mentions }) => mentions) };
  }

  /** For each way to who changes registers, those that come that way; own ones first. */
  mask(symbol: SymbolReport): Changed[] {
    const ways = new Map<string, Changed & { registers: string[] }>();
    for (const register of symbol.registers?.changes ?? []) {
      const way = this.wayOf(symbol, register);
      const key = JSON.stringify(way);
      const known = ways.get(key);
      if (known === undefined) ways.set(key, { ...way, registers: [register] });
      else known.registers.push(register);
    }
    return [...ways.values()].sort((a, b) => a.path.length - b.path.length);
  }

  /** The shortest chain of calls to a function that changes a register by itself, or to code that is not known. */
  private wayOf(symbol: SymbolReport, register: string): Omit<Changed, "registers"> {
    const from = new Map<SymbolReport, SymbolReport | null>([[symbol, null]]);
    const work = [symbol];
    const pathTo = (end: SymbolReport): string[] => {
      const path: string[] = [];
      for (let at = end; at !== symbol; at = from.get(at)!) path.unshift(at.name);
      return path;
    };
    let unknown: Omit<Changed, "registers"> | null = null;
    for (let i = 0; i < work.length; i++) {
      const at = work[i]!;
      if (at.registers?.own.includes(register) === true) return { path: pathTo(at), by: "itself" };
      const outside = (at.calls ?? []).filter((name) => !this.byName.has(name));
      const why = [...outside, ...(at.registers?.callsUnknown ?? [])];
      if (unknown === null && why.length > 0) unknown = { path: pathTo(at), by: why.join(", ") };
      for (const name of at.calls ?? []) {
        const callee = this.byName.get(name);
        if (callee === undefined || from.has(callee)) continue;
        // Pieces of other functions' code have no mask of their own.
        if (callee.madeBy === undefined && callee.registers?.changes.includes(register) !== true) continue;
        from.set(callee, at);
        work.push(callee);
      }
    }
    return unknown ?? { path: [], by: "nobody that the report knows" };
  }

  /** Of each callee-saved register that it or its callees write: who of its callers, near or far, saves it. */
  savers(symbol: SymbolReport): Saved[] {
    const { saves = [], gives = [] } = symbol.registers ?? {};
    return [
      ...saves.map((register): Saved => ({ register, by: [symbol.name], isOwn: true })),
      ...gives.map(
        (register): Saved => ({ register, by: this.callersThatSave(symbol, register), isOwn: false }),
      ),
    ];
  }

  /** The nearest on each way up the calls. */
  private callersThatSave(symbol: SymbolReport, register: string): string[] {
    const callers = new Map<SymbolReport, SymbolReport[]>();
    for (const caller of this.report.symbols)
      for (const name of caller.calls ?? []) {
        const callee = this.byName.get(name);
        if (callee === undefined) continue;
        const list = callers.get(callee);
        if (list === undefined) callers.set(callee, [caller]);
        else list.push(caller);
      }
    const seen = new Set([symbol]);
    const work = [symbol];
    const savers: string[] = [];
    for (let i = 0; i < work.length; i++)
      for (const caller of callers.get(work[i]!) ?? []) {
        if (seen.has(caller)) continue;
        seen.add(caller);
        if (caller.registers?.saves.includes(register) === true) savers.push(caller.name);
        else work.push(caller);
      }
    return savers;
  }
}

/** Registers that a call may change, and who does it. */
export interface Changed {
  readonly registers: readonly string[];
  /** Functions from a callee on to the one that does it; empty: the function asked for. */
  readonly path: readonly string[];
  /** `itself`, or the code that is not known and that is called there. */
  readonly by: string;
}

export interface Saved {
  readonly register: string;
  readonly by: readonly string[];
  readonly isOwn: boolean;
}
