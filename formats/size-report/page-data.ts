/**
 * What the page of `--html` shows, made of size reports: small enough for 50 000 functions, columns instead of objects, and
 * lists of registers and functions as numbers. The page reads it as it is (bin/page).
 */
import { type Use, uses } from "../program/parts.js";
import { type SizeReport, type SymbolReport, totalOf } from "./schema.js";
import { type Portion, portionsOf } from "./views.js";

/** One decision of a link as `tsc-lto measure --json` has it. */
export interface MeasuredStep {
  readonly name: string;
  readonly meaning: string;
  /** Bytes that are loaded more without it, and less with it alone than with none. */
  readonly saves: number;
  readonly alone: number | null;
  /** Its share of all that is saved together. */
  readonly shapley: number | null;
}

export interface MeasuredSteps {
  /** Bytes that are loaded with all decisions, and with none. */
  readonly all: number;
  readonly none: number;
  readonly steps: readonly MeasuredStep[];
}

/** A column has an entry for each leaf or symbol. */
export interface PageData {
  readonly program: string;
  /** The program before; null: there is nothing to compare with. */
  readonly before: string | null;
  readonly uses: readonly Use[];
  readonly files: readonly string[];
  /** Functions and variables by where they were written: what was inlined elsewhere is theirs. */
  readonly leaves: {
    readonly names: readonly string[];
    /** Positions in `files`. */
    readonly files: readonly number[];
    /** The symbol of that name, by position; -1: all of it was inlined, or is no symbol's. */
    readonly symbols: readonly number[];
    /** Bytes by use, in the order of `uses`; and before, empty where there is nothing to compare with. */
    readonly bytes: readonly (readonly number[])[];
    readonly before: readonly (readonly number[])[];
  };
  readonly registers: readonly string[];
  readonly symbols: readonly PageSymbol[];
  /** What passes say that they saved, in bytes; an estimate. */
  readonly estimates: readonly (readonly [pass: string, bytes: number])[];
  readonly measured: MeasuredSteps | null;
}

/** Lists of symbols and registers are positions. */
export interface PageSymbol {
  readonly name: string;
  readonly bytes: number;
  readonly code: number;
  readonly file?: string;
  readonly madeBy?: string;
  readonly calls?: readonly number[];
  /** Functions of other files that it calls, by name. */
  readonly outside?: readonly string[];
  readonly open?: readonly string[];
  readonly root?: readonly string[];
  readonly changes?: readonly number[];
  readonly own?: readonly number[];
  readonly saves?: readonly number[];
  readonly gives?: readonly number[];
  readonly preserves?: readonly number[];
  readonly unknown?: readonly string[];
  readonly convention?: string;
  readonly stack?: number;
  /** With its callees; at least that, where calls are recursive, lead to unknown code, or frames grow as they run. */
  readonly depth?: number;
  readonly isLeastDepth?: boolean;
}

interface Leaf {
  readonly name: string;
  readonly file: string;
  readonly bytes: number[];
  readonly before: number[];
}

const unknownFile = "[unknown]";

/** @param show names as they are shown @param before null: nothing to compare with */
export function pageData(
  report: SizeReport,
  before: SizeReport | null,
  measured: MeasuredSteps | null,
  show: (name: string) => string,
): PageData {
  const leaves = leavesOf(report, before);
  const files = [...new Set(leaves.map(({ file }) => file))].sort();
  const fileNumbers = new Map(files.map((file, i) => [file, i]));
  const present = report.symbols.filter(
    ({ kind, bytes, registers }) => kind !== "rest" && (totalOf(bytes) > 0 || registers !== undefined),
  );
  const numbers = new Map<string, number>();
  present.forEach(({ name, aliases = [] }, i) => {
    for (const one of [name, ...aliases]) if (!numbers.has(one)) numbers.set(one, i);
  });
  const registers = new Numbered();
  const symbols = present.map((symbol) => pageSymbol(symbol, numbers, registers, show));
  return {
    program: report.file,
    before: before?.file ?? null,
    uses,
    files,
    leaves: {
      names: leaves.map(({ name }) => show(name)),
      files: leaves.map(({ file }) => fileNumbers.get(file)!),
      symbols: leaves.map(({ name }) => numbers.get(name) ?? -1),
      bytes: leaves.map(({ bytes }) => bytes),
      before: before === null ? [] : leaves.map((leaf) => leaf.before),
    },
    registers: registers.names,
    symbols: withDepths(symbols),
    estimates: estimatesOf(report),
    measured,
  };
}

class Numbered {
  readonly names: string[] = [];
  private readonly numbers = new Map<string, number>();

  all(names: readonly string[]): number[] {
    return names.map((name) => {
      let number = this.numbers.get(name);
      if (number === undefined) this.numbers.set(name, (number = this.names.push(name) - 1));
      return number;
    });
  }
}

function leavesOf(report: SizeReport, before: SizeReport | null): Leaf[] {
  const leaves = new Map<string, Leaf>();
  const add = (of: SizeReport, which: "bytes" | "before"): void => {
    for (const symbol of of.symbols)
      for (const portion of portionsOf(symbol, of)) {
        if (totalOf(portion.bytes) === 0) continue;
        const sums = leafOf(leaves, portion)[which];
        uses.forEach((use, i) => {
          sums[i]! += portion.bytes[use] ?? 0;
        });
      }
  };
  add(report, "bytes");
  if (before !== null) add(before, "before");
  return [...leaves.values()];
}

function leafOf(leaves: Map<string, Leaf>, { name, file = unknownFile }: Portion): Leaf {
  const key = `${file}\n${name}`;
  let leaf = leaves.get(key);
  if (leaf === undefined) {
    const zeros = (): number[] => uses.map(() => 0);
    leaves.set(key, (leaf = { name, file, bytes: zeros(), before: zeros() }));
  }
  return leaf;
}

/** What is empty is left out, since most lists are. */
function pageSymbol(
  symbol: SymbolReport,
  numbers: ReadonlyMap<string, number>,
  names: Numbered,
  show: (name: string) => string,
): PageSymbol {
  const { name, bytes, file, madeBy, calls = [], open = [], root = [], registers, stack } = symbol;
  const list = <T>(key: keyof PageSymbol, all: readonly T[] | undefined): object =>
    all === undefined || all.length === 0 ? {} : { [key]: all };
  const named = (key: keyof PageSymbol, all: readonly string[] | undefined): object =>
    list(key, all === undefined ? undefined : names.all(all));
  return {
    name: show(name),
    bytes: totalOf(bytes),
    code: bytes.code ?? 0,
    ...(file === undefined ? {} : { file }),
    ...(madeBy === undefined ? {} : { madeBy }),
    ...list("calls", [...new Set(calls.flatMap((callee) => numbers.get(callee) ?? []))]),
    ...list("outside", calls.filter((callee) => !numbers.has(callee)).map(show)),
    ...list("open", open),
    ...list("root", root),
    ...named("changes", registers?.changes),
    ...named("own", registers?.own),
    ...named("saves", registers?.saves),
    ...named("gives", registers?.gives),
    ...named("preserves", registers?.preserves),
    ...list("unknown", registers?.callsUnknown),
    ...(registers?.convention === undefined ? {} : { convention: registers.convention }),
    ...(stack === undefined ? {} : { stack }),
  };
}

/** Adds what is on the stack with callees. Each function once, callees first; what a call leads back to counts as nothing. */
function withDepths(symbols: readonly PageSymbol[]): PageSymbol[] {
  const depths: (number | undefined)[] = [];
  const least = new Uint8Array(symbols.length);
  const state = new Uint8Array(symbols.length);
  const stack: { readonly at: number; next: number }[] = [];
  for (let start = 0; start < symbols.length; start++) {
    if (state[start] === 0) stack.push({ at: start, next: 0 });
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const { calls = [], outside = [], unknown = [], stack: own } = symbols[top.at]!;
      state[top.at] = 1;
      const callee = calls[top.next++];
      if (callee !== undefined) {
        if (state[callee] === 0) stack.push({ at: callee, next: 0 });
        continue;
      }
      stack.pop();
      let depth = 0;
      if (own === undefined || outside.length + unknown.length > 0) least[top.at] = 1;
      for (const number of calls) {
        // A callee that is not done yet is one that led here.
        if (state[number] === 1) least[top.at] = 1;
        else depth = Math.max(depth, depths[number] ?? 0);
        if (least[number] === 1) least[top.at] = 1;
      }
      depths[top.at] = (own ?? 0) + depth;
      state[top.at] = 2;
    }
  }
  return symbols.map((symbol, i) =>
    symbol.changes === undefined && symbol.stack === undefined
      ? symbol
      : { ...symbol, depth: depths[i]!, ...(least[i] === 1 ? { isLeastDepth: true } : {}) },
  );
}

function estimatesOf({ decisions }: SizeReport): [string, number][] {
  const sums = new Map<string, number>();
  for (const { by, counter, count } of decisions) {
    if (counter !== "bytes" && counter !== "outlinedBytes") continue;
    const pass = counter === "outlinedBytes" ? "outline" : by;
    sums.set(pass, (sums.get(pass) ?? 0) + count);
  }
  return [...sums].filter(([, bytes]) => bytes > 0).sort((a, b) => b[1] - a[1]);
}
