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
  /** Those that some byte has. */
  readonly uses: readonly Use[];
  readonly files: readonly string[];
  /** Functions and variables by where they were written: what was inlined elsewhere is theirs. */
  readonly leaves: {
    readonly names: readonly string[];
    /** Positions in `files`. */
    readonly files: readonly number[];
    /** The symbol of that name, by position; -1: all of it was inlined, or is no symbol's. */
    readonly symbols: readonly number[];
    /** A column of bytes for each of `uses`; and of what there were less before, none where there is nothing to compare with. */
    readonly bytes: readonly (readonly number[])[];
    readonly grown: readonly (readonly number[])[];
  };
  readonly symbols: {
    /** The name, or the position of a leaf that has it. */
    readonly names: readonly (string | number)[];
    readonly bytes: readonly number[];
    readonly code: readonly number[];
    /** Positions of symbols. */
    readonly calls: readonly (readonly number[])[];
    /** Positions in `masks`; -1: nothing is known. */
    readonly masks: readonly number[];
    /** As in `SymbolReport`; -1: not known. */
    readonly stack: readonly number[];
    /**
     * With its callees; the complement of what it is at least, where calls are recursive, lead to unknown code, or frames grow as
     * they run.
     */
    readonly depth: readonly number[];
    /** What few have, by position. */
    readonly rare: readonly (readonly [symbol: number, RareFacts])[];
  };
  readonly registers: readonly string[];
  readonly masks: readonly Mask[];
  /** What passes say that they saved, in bytes; an estimate. */
  readonly estimates: readonly (readonly [pass: string, bytes: number])[];
  readonly measured: MeasuredSteps | null;
}

/** What a call of a function does to registers, by position: as in `RegistersReport`. */
export interface Mask {
  readonly changes: readonly number[];
  readonly own: readonly number[];
  readonly saves: readonly number[];
  readonly gives: readonly number[];
  readonly preserves: readonly number[];
}

/** As in `SymbolReport`. */
export interface RareFacts {
  readonly file?: string;
  readonly madeBy?: string;
  readonly open?: readonly string[];
  readonly root?: readonly string[];
  readonly convention?: string;
  readonly unknown?: readonly string[];
  /** Functions that it calls and the report has not, by name. */
  readonly outside?: readonly string[];
}

interface Leaf {
  readonly name: string;
  readonly file: string;
  /** By use, all of them. */
  readonly bytes: number[];
  readonly old: number[];
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
  const shorten = withoutCommon(leaves.map(({ file }) => file));
  const files = [...new Set(leaves.map(({ file }) => file))].sort();
  const fileNumbers = new Map(files.map((file, i) => [file, i]));
  const present = report.symbols.filter(
    ({ kind, bytes, registers }) => kind !== "rest" && (totalOf(bytes) > 0 || registers !== undefined),
  );
  const numbers = new Map<string, number>();
  present.forEach(({ name, aliases = [] }, i) => {
    for (const one of [name, ...aliases]) if (!numbers.has(one)) numbers.set(one, i);
  });
  const leafNumbers = new Map(leaves.map(({ name }, i) => [name, i]));
  const used = uses.filter((_, i) => leaves.some(({ bytes, old }) => bytes[i]! > 0 || old[i]! > 0));
  const columns = (value: (leaf: Leaf, use: number) => number): number[][] =>
    used.map((use) => leaves.map((leaf) => value(leaf, uses.indexOf(use))));
  const calls = present.map(({ calls: all = [] }) => [
    ...new Set(all.flatMap((callee) => numbers.get(callee) ?? [])),
  ]);
  const registers = new Numbered();
  const masks = new Masks(registers);
  return {
    program: lastPart(report.file),
    before: before === null ? null : lastPart(before.file),
    uses: used,
    files: files.map(shorten),
    leaves: {
      names: leaves.map(({ name }) => show(name)),
      files: leaves.map(({ file }) => fileNumbers.get(file)!),
      symbols: leaves.map(({ name }) => numbers.get(name) ?? -1),
      bytes: columns(({ bytes }, use) => bytes[use]!),
      grown: before === null ? [] : columns(({ bytes, old }, use) => bytes[use]! - old[use]!),
    },
    symbols: {
      names: present.map(({ name }) => leafNumbers.get(name) ?? show(name)),
      bytes: present.map(({ bytes }) => totalOf(bytes)),
      code: present.map(({ bytes }) => bytes.code ?? 0),
      calls,
      masks: present.map((symbol) => masks.numberOf(symbol)),
      stack: present.map(({ stack = -1 }) => stack),
      depth: depthsOf(present, calls, numbers),
      rare: present.flatMap((symbol, i) => {
        const { file, ...facts } = rareFacts(
          symbol,
          numbers,
          show,
          leafNumbers.has(symbol.name) ? leaves[leafNumbers.get(symbol.name)!]!.file : "",
        );
        const all = file === undefined ? facts : { ...facts, file: shorten(file) };
        return Object.keys(all).length === 0 ? [] : [[i, all] as const];
      }),
    },
    registers: registers.names,
    masks: masks.all,
    estimates: estimatesOf(report),
    measured,
  };
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Absolute paths from the directory on that all of them are in, which tells nothing of the program. */
function withoutCommon(files: readonly string[]): (file: string) => string {
  let common: string | null = null;
  for (const file of files) {
    if (!file.startsWith("/")) continue;
    common ??= file.slice(0, file.lastIndexOf("/") + 1);
    while (!file.startsWith(common)) common = common.slice(0, common.lastIndexOf("/", common.length - 2) + 1);
  }
  const length = common?.length ?? 0;
  return (file) => (file.startsWith("/") ? file.slice(length > 1 ? length : 0) : file);
}

/** Equal ones once: most functions share theirs with others. */
class Masks {
  readonly all: Mask[] = [];
  private readonly numbers = new Map<string, number>();

  constructor(private readonly registers: Numbered) {}

  numberOf({ registers }: SymbolReport): number {
    if (registers === undefined) return -1;
    const { changes, own, saves, gives, preserves } = registers;
    const key = [changes, own, saves, gives, preserves].join(";");
    let number = this.numbers.get(key);
    if (number === undefined) {
      const list = (names: readonly string[]): number[] => this.registers.all(names);
      const mask = {
        changes: list(changes),
        own: list(own),
        saves: list(saves),
        gives: list(gives),
        preserves: list(preserves),
      };
      this.numbers.set(key, (number = this.all.push(mask) - 1));
    }
    return number;
  }
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
  const add = (of: SizeReport, which: "bytes" | "old"): void => {
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
  if (before !== null) add(before, "old");
  return [...leaves.values()];
}

function leafOf(leaves: Map<string, Leaf>, { name, file = unknownFile }: Portion): Leaf {
  const key = `${file}\n${name}`;
  let leaf = leaves.get(key);
  if (leaf === undefined) {
    const zeros = (): number[] => uses.map(() => 0);
    leaves.set(key, (leaf = { name, file, bytes: zeros(), old: zeros() }));
  }
  return leaf;
}

/** What is empty is left out. @param known the file of its leaf */
function rareFacts(
  { calls = [], file, madeBy, open = [], root = [], registers }: SymbolReport,
  numbers: ReadonlyMap<string, number>,
  show: (name: string) => string,
  known: string,
): RareFacts {
  const list = (key: keyof RareFacts, all: readonly string[] = []): object =>
    all.length === 0 ? {} : { [key]: all };
  return {
    ...(file === undefined || file === known ? {} : { file }),
    ...(madeBy === undefined ? {} : { madeBy }),
    ...list("open", open),
    ...list("root", root),
    ...list("unknown", registers?.callsUnknown),
    ...(registers?.convention === undefined ? {} : { convention: registers.convention }),
    ...list("outside", calls.filter((callee) => !numbers.has(callee)).map(show)),
  };
}

/** Each function once, callees first; what a call leads back to counts as nothing. */
function depthsOf(
  symbols: readonly SymbolReport[],
  calls: readonly (readonly number[])[],
  numbers: ReadonlyMap<string, number>,
): number[] {
  const depths = new Array<number>(symbols.length).fill(0);
  const isLeast = new Uint8Array(symbols.length);
  const state = new Uint8Array(symbols.length);
  const stack: { readonly at: number; next: number }[] = [];
  for (let start = 0; start < symbols.length; start++) {
    if (state[start] === 0) stack.push({ at: start, next: 0 });
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const { at } = top;
      state[at] = 1;
      const callee = calls[at]![top.next++];
      if (callee !== undefined) {
        if (state[callee] === 0) stack.push({ at: callee, next: 0 });
        continue;
      }
      stack.pop();
      const { stack: own, calls: named = [], registers } = symbols[at]!;
      const isOpenEnded =
        named.some((name) => !numbers.has(name)) || (registers?.callsUnknown.length ?? 0) > 0;
      if (own === undefined || isOpenEnded) isLeast[at] = 1;
      let most = 0;
      for (const number of calls[at]!) {
        // A callee that is not done yet is one that led here.
        if (state[number] === 1) isLeast[at] = 1;
        else most = Math.max(most, depths[number]!);
        if (isLeast[number] === 1) isLeast[at] = 1;
      }
      depths[at] = (own ?? 0) + most;
      state[at] = 2;
    }
  }
  return depths.map((depth, i) => (isLeast[i] === 1 ? ~depth : depth));
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
