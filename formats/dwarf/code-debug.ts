/**
 * What debuggers are told of code, from the marks in the text of functions (formats/asm/code-marks.ts): rows of line tables,
 * and the scopes that code belongs to. Labels take the marks' places.
 *
 * A row begins where the location changes. It is a place to stop at ("statement") where the line is another one than before;
 * the first located row of a function ends its prologue, which is of the line where its scope begins. Code of unknown origin
 * is of line 0, and of no scope but the function's.
 * Code that stands in a function without being of it or inlined into it (an outliner moved it) has lines, and no scope.
 * What was passed to a function says nothing of variables and calls of what was inlined into it, as LLVM has it: gdb 13 looks for
 * what the caller knows in the function itself there.
 * Linear in the text.
 * Source: LLVM, `DwarfDebug::beginInstruction` and `LexicalScopes`, for which rows and ranges there are.
 */
import type {
  CodeRange,
  FunctionDebugInfo,
  LocatedLabel,
  LocatedVariable,
  ProgramDebugInfo,
  ScopeInstance,
} from "../../lto/codegen/debug/function-info.js";
import { VariableField } from "../../lto/codegen/debug/located-ranges.js";
import {
  PlaceField,
  type PrintedFunction,
  type PrintedVariables,
} from "../../lto/codegen/program/function-compilers.js";
import {
  type DebugNode,
  type DICompileUnit,
  type DIFile,
  type DILexicalBlock,
  type DILocation,
  type DISubprogram,
  sizeOfType,
} from "../../lto/ir/debug/nodes.js";
import type { Func } from "../../lto/ir/module.js";
import type { Origins } from "../../lto/ir/origins.js";
import { MarkKind, withoutMarks } from "../asm/code-marks.js";
import { SectionBytes } from "./bytes.js";
import { DwOp } from "./constants.js";
import { appendPiece, withGnuEntryValue } from "./expressions.js";
import type { LineTables } from "./line-tables.js";
import { debugLabel } from "./range-lists.js";

/** A scope of the function that is being written, where it has code. */
interface OpenScope {
  readonly scope: DISubprogram | DILexicalBlock;
  readonly inlinedAt: DILocation | null;
  readonly parent: OpenScope | null;
  readonly depth: number;
  ranges: readonly CodeRange[];
  children: readonly OpenScope[];
  variables: readonly LocatedVariable[];
  labels: readonly LocatedLabel[];
}

interface Start {
  readonly label: string;
  /** The most bytes that lie before it. */
  readonly at: number;
}

/** Most scopes have nothing in them. */
const none: readonly never[] = [];
function more<T>(list: readonly T[], item: T): readonly T[] {
  // The list that all share stays empty.
  if (list.length === 0) return [item];
  (list as T[]).push(item);
  return list;
}

/** The function whose text is being written. */
class FunctionWriter {
  private readonly subprogram: DISubprogram | null;
  private readonly unit: DICompileUnit | null;
  readonly root: OpenScope | null;
  /** Scopes that are open, from the function's on, and where each opened. */
  private readonly open: OpenScope[] = [];
  private readonly starts: Start[] = [];
  /** All scopes but the function's own, by what tells them apart. */
  private readonly instances = new Map<DebugNode, Map<DILocation | null, OpenScope>>();
  private readonly byLocation = new Map<DILocation, OpenScope | null>();
  /* Of the row before. */
  private file: DIFile | null = null;
  private line = 0;
  private column = 0;
  /** Of the last one that had a line. */
  private stopFile: DIFile | null = null;
  private stopLine = 0;
  private isPrologue = true;
  private distance = 0;
  /** The most bytes that the code has up to here. */
  private length = 0;

  constructor(
    fn: Func | null,
    private readonly lines: LineTables,
    private readonly label: () => string,
  ) {
    this.subprogram = fn?.subprogram ?? null;
    this.unit = this.subprogram?.unit ?? null;
    this.root = this.subprogram === null ? null : opened(this.subprogram, null, null);
    if (this.root !== null) this.open.push(this.root);
  }

  /** @returns what stands at the start of the code */
  begin(label: string, isJoined: boolean): void {
    const { subprogram } = this;
    this.starts.push({ label, at: 0 });
    if (subprogram === null || this.unit === null) return;
    this.file = this.stopFile = subprogram.file;
    this.line = this.stopLine = subprogram.scopeLine > 0 ? subprogram.scopeLine : subprogram.line;
    this.lines.add(this.unit, {
      label,
      distance: isJoined ? Number.POSITIVE_INFINITY : 0,
      file: this.file,
      line: this.line,
      column: 0,
      isStatement: true,
      endsPrologue: false,
    });
  }

  /** @param others where what the code does is besides @returns what takes the place of a mark */
  change(
    location: DILocation | null,
    others: readonly DILocation[],
    isEntered: boolean,
    bytes: number,
  ): string {
    this.distance += bytes;
    this.length += bytes;
    // Of unknown origin: as what is before it, where that leads to it alone.
    if (this.unit === null || (location === null && !isEntered)) return "";
    this.hereLabel = null;
    this.enter(location === null ? this.root : this.scopeOf(location));
    for (const other of others) this.row(other);
    this.row(location);
    return this.hereLabel === null ? "" : `${this.hereLabel}:\n`;
  }

  /** The label of the place where the text is; null: it has none as yet. */
  private hereLabel: string | null = null;
  private here(): string {
    return (this.hereLabel ??= this.label());
  }

  private row(location: DILocation | null): void {
    const line = location?.line ?? 0;
    if (line === 0 && this.line === 0) return;
    const file = location === null ? this.file : fileOf(location);
    const column = location?.column ?? 0;
    if (file === this.file && line === this.line && column === this.column && !this.isPrologue) return;
    const isStatement = line !== 0 && (line !== this.stopLine || file !== this.stopFile || this.isPrologue);
    this.lines.add(this.unit!, {
      label: this.here(),
      distance: this.distance,
      file,
      line,
      column,
      isStatement,
      endsPrologue: this.isPrologue && line !== 0,
    });
    this.distance = 0;
    this.file = file;
    this.line = line;
    this.column = column;
    if (line === 0) return;
    this.isPrologue = false;
    this.stopFile = file;
    this.stopLine = line;
  }

  /** The code here was inlined. */
  get isInlined(): boolean {
    return this.open.some(({ scope, inlinedAt }) => scope.kind === "DISubprogram" && inlinedAt !== null);
  }

  private scopeOf(location: DILocation): OpenScope | null {
    let known = this.byLocation.get(location);
    if (known === undefined) {
      known = this.find(location.scope, location.inlinedAt, true) ?? this.root;
      this.byLocation.set(location, known);
    }
    return known;
  }

  /**
   * The instance of a scope; null: it has no code, or is not of this function.
   * @param isMade it is made where it is missing, with those around it
   */
  private find(scope: DebugNode | null, inlinedAt: DILocation | null, isMade: boolean): OpenScope | null {
    const missing: (readonly [DISubprogram | DILexicalBlock, DILocation | null])[] = [];
    let at = scope;
    let site = inlinedAt;
    let found: OpenScope | undefined;
    for (;;) {
      // Blocks that only change the file are looked through.
      while (at?.kind === "DILexicalBlockFile") at = at.scope;
      if (at?.kind === "DISubprogram" || at?.kind === "DILexicalBlock") {
        if (at === this.subprogram && site === null) found = this.root ?? undefined;
        else found = this.instances.get(at)?.get(site);
        if (found !== undefined) break;
        if (!isMade) return null;
        missing.push([at, site]);
      }
      if (at?.kind === "DILexicalBlock") at = at.scope;
      else if (site === null) return null;
      else {
        at = site.scope;
        site = site.inlinedAt;
      }
    }
    for (let i = missing.length - 1; i >= 0; i--) {
      const [node, call] = missing[i]!;
      const parent: OpenScope = found;
      found = opened(node, call, parent);
      parent.children = more(parent.children, found);
      let sites = this.instances.get(node);
      if (sites === undefined) this.instances.set(node, (sites = new Map()));
      sites.set(call, found);
    }
    return found;
  }

  /** Leaves scopes that the code from here on is not in, and enters those that it is in. */
  private enter(scope: OpenScope | null): void {
    const { open } = this;
    if (scope === null || scope === open.at(-1)) return;
    let common: OpenScope | null = scope;
    while (common !== null && open[common.depth] !== common) common = common.parent;
    const same = common === null ? 0 : common.depth + 1;
    const label = this.here();
    this.leave(same, label);
    const start = { label, at: this.length };
    open.length = this.starts.length = scope.depth + 1;
    for (let at: OpenScope | null = scope; at !== null && at.depth >= same; at = at.parent) {
      open[at.depth] = at;
      this.starts[at.depth] = start;
    }
  }

  /** Closes the ranges of all but so many open scopes. */
  private leave(kept: number, label: string): void {
    while (this.open.length > kept) {
      const { label: begin, at } = this.starts.pop()!;
      const most = this.length - at + 1;
      const scope = this.open.pop()!;
      if (begin !== label) scope.ranges = more(scope.ranges, { begin, end: label, most });
    }
  }

  /** @returns more than the bytes of all of the code */
  end(label: string, bytes: number): number {
    this.length += bytes;
    if (this.root !== null) this.leave(0, label);
    return this.length + 1;
  }

  /** The instance of a scope that has code; null: it has none. */
  instanceOf(location: DILocation): OpenScope | null {
    return this.find(location.scope, location.inlinedAt, false);
  }
}

const opened = (
  scope: DISubprogram | DILexicalBlock,
  inlinedAt: DILocation | null,
  parent: OpenScope | null,
): OpenScope => ({
  scope,
  inlinedAt,
  parent,
  depth: parent === null ? 0 : parent.depth + 1,
  ranges: none,
  children: none,
  variables: none,
  labels: none,
});

/** A scope as it is kept, without spare room in its lists. */
function settled({ scope, inlinedAt, ranges, children, variables, labels }: OpenScope): ScopeInstance {
  return {
    scope,
    call: scope.kind === "DISubprogram" ? inlinedAt : null,
    ranges: ranges.length === 0 ? none : ranges.slice(),
    children: children.length === 0 ? none : children.map(settled),
    variables: variables.length === 0 ? none : variables.slice(),
    labels: labels.length === 0 ? none : labels.slice(),
  };
}

/** The file that a location is in. */
function fileOf({ scope }: DILocation): DIFile | null {
  return scope?.file ?? null;
}

/**
 * A location of parts that says of the rest of the variable that it is nowhere: debuggers take what is not mentioned for zero.
 * @returns null where the variable's size is not known
 */
function filled(bytes: readonly number[], described: number, size: number | null): readonly number[] | null {
  if (size === null) return null;
  const rest = size - described;
  if (rest <= 0) return bytes;
  const out = new SectionBytes();
  for (const byte of bytes) out.byte(byte);
  appendPiece(out, rest);
  return out.bytes();
}

/**
 * With GNU's number for what was passed, as LLVM has it before version 5: where that stands first; null where something else in
 * it may be meant by that number.
 */
function older(bytes: readonly number[]): readonly number[] | null {
  if (bytes.lastIndexOf(DwOp.EntryValue) > 0) return null;
  return withGnuEntryValue(bytes);
}

export class CodeDebug {
  private labels = 0;
  private readonly infos: FunctionDebugInfo[] = [];
  private places = new Int32Array(1 << 10);
  private placesEnd = 0;
  private readonly expressions: (readonly number[])[] = [];
  private readonly expressionNumbers = new Map<string, number>();
  /** Whose sequence of rows goes on, to where, and the section. */
  private unit: DICompileUnit | null = null;
  private ended = "";
  private section = "";

  /** @param functions by the names that they have in assembly */
  constructor(
    private readonly origins: Origins,
    private readonly functions: ReadonlyMap<string, Func>,
    private readonly lines: LineTables,
  ) {}

  /** The function's text with labels in the places of marks. To be called in the order of the text. */
  resolved(printed: PrintedFunction): PrintedFunction {
    const fn = this.functions.get(printed.symbol) ?? null;
    const unit = fn?.subprogram?.unit ?? null;
    const isJoined = unit !== null && unit === this.unit && printed.section === this.section;
    if (!isJoined) this.endSequence();
    this.section = printed.section;
    const writer = new FunctionWriter(fn, this.lines, () => this.label());
    const number = this.infos.length;
    let range: CodeRange = { begin: `.Lfunc_begin${number}`, end: `.Lfunc_end${number}` };
    /** Numbers of labels by those of marks. */
    const labels: number[] = [];
    const behindCalls: number[] = [];
    const inlined = new Set<number>();
    const text = withoutMarks(printed.text, (kind, number, isEntered, bytes) => {
      switch (kind) {
        case MarkKind.Begin:
          writer.begin(range.begin, isJoined);
          return `${range.begin}:\n`;
        case MarkKind.End:
          range = { ...range, most: writer.end(range.end, bytes) };
          return `${range.end}:\n`;
        case MarkKind.Origin:
          return this.changed(writer, number, isEntered, bytes);
        default: {
          if (kind === MarkKind.Call && writer.isInlined) inlined.add(number);
          const label = this.labels++;
          (kind === MarkKind.Place ? labels : behindCalls)[number] = label;
          return `${debugLabel(label)}:\n`;
        }
      }
    });
    if (printed.variables !== undefined) this.placeAll(printed.variables, writer, labels, range);
    this.unit = unit;
    this.ended = range.end;
    // A jump at the end that was left out goes on to what follows.
    const calls = (printed.calls ?? []).map(({ mark, ...call }) => ({
      ...call,
      arguments: inlined.has(mark)
        ? call.arguments.filter(({ bytes }) => bytes[0] !== DwOp.EntryValue)
        : call.arguments,
      end: behindCalls[mark] === undefined ? range.end : debugLabel(behindCalls[mark]),
    }));
    const root = writer.root === null ? null : settled(writer.root);
    this.infos.push({ fn, symbol: printed.symbol, range, root, calls });
    return { ...printed, text };
  }

  /** Variables are said to be in their scopes, if there is code of these. */
  private placeAll(
    { variables, places, locations }: PrintedVariables,
    writer: FunctionWriter,
    labels: readonly number[],
    { begin }: CodeRange,
  ): void {
    /** Of locations of whole variables, the expressions. */
    const numbers = locations.map(({ bytes, described }) =>
      described === Number.POSITIVE_INFINITY ? this.expressionNumber(bytes) : -1,
    );
    this.makeRoom(places.length);
    for (let v = 0; v < variables.length; v += VariableField.Count) {
      const location = this.origins.locationOf(variables[v + VariableField.Origin]!);
      const scope = location === null ? null : writer.instanceOf(location);
      if (scope === null) continue;
      const start = variables[v + VariableField.First]!;
      const node = this.origins.variableOf(variables[v + VariableField.Variable]!);
      if (node.kind === "DILabel") {
        // Of copies, the first.
        const from = places[start + PlaceField.From]!;
        const place = from < 0 ? begin : labels[from] === undefined ? null : debugLabel(labels[from]);
        if (place !== null) scope.labels = more(scope.labels, { label: node, place });
        continue;
      }
      const isInlined = location!.inlinedAt !== null;
      const size = sizeOfType(node.type);
      const first = this.placesEnd;
      const stop = variables[v + VariableField.End]!;
      for (let at = start; at < stop; at += PlaceField.Count) {
        const from = places[at + PlaceField.From]!;
        const to = places[at + PlaceField.To]!;
        // A jump at the end that was left out took its mark along.
        const begins = from < 0 ? -1 : labels[from];
        const ends = to < 0 ? -1 : (labels[to] ?? -1);
        const number = places[at + PlaceField.Location]!;
        const { bytes, described } = locations[number]!;
        let expression = numbers[number]!;
        if (described !== Number.POSITIVE_INFINITY) {
          const whole = filled(bytes, described, size);
          expression = whole === null ? -1 : this.expressionNumber(whole);
        }
        if (begins === undefined || expression < 0) continue;
        if (isInlined && bytes.includes(DwOp.EntryValue)) continue;
        const end = this.placesEnd;
        this.places[end + PlaceField.From] = begins;
        this.places[end + PlaceField.To] = ends;
        this.places[end + PlaceField.EndsInCall] = places[at + PlaceField.EndsInCall]!;
        this.places[end + PlaceField.Location] = expression;
        this.placesEnd += PlaceField.Count;
      }
      const end = this.placesEnd;
      if (end > first) scope.variables = more(scope.variables, { variable: node, first, end });
    }
  }

  private makeRoom(more: number): void {
    if (this.placesEnd + more <= this.places.length) return;
    const larger = new Int32Array(Math.max(this.placesEnd + more, 2 * this.places.length));
    larger.set(this.places);
    this.places = larger;
  }

  /** @returns the number of what is told; -1: nothing is */
  private expressionNumber(bytes: readonly number[]): number {
    const told = this.lines.version >= 5 ? bytes : older(bytes);
    if (told === null) return -1;
    const key = told.join();
    let number = this.expressionNumbers.get(key);
    if (number === undefined) this.expressionNumbers.set(key, (number = this.expressions.push(told) - 1));
    return number;
  }

  private changed(writer: FunctionWriter, origin: number, isEntered: boolean, bytes: number): string {
    const { origins } = this;
    const others = origins.othersOf(origin);
    const locations =
      others.length === 0
        ? none
        : others.map((other) => origins.locationOf(other)).filter((other) => other !== null);
    return writer.change(origins.locationOf(origin), locations, isEntered, bytes);
  }

  private label(): string {
    return debugLabel(this.labels++);
  }

  private endSequence(): void {
    if (this.unit !== null) this.lines.end(this.unit, this.ended);
    this.unit = null;
  }

  /** All functions, in the order of the text; to be called when there are no more. */
  close(): ProgramDebugInfo {
    this.endSequence();
    return { functions: this.infos, places: { rows: this.places, expressions: this.expressions } };
  }

  /** Functions are needed no more, whoever still has the list of them. */
  forget(): void {
    this.infos.length = 0;
  }
}
