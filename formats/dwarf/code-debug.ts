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
  ScopeInstance,
  VariablePlace,
} from "../../lto/codegen/debug/function-info.js";
import type { PrintedFunction, PrintedVariable } from "../../lto/codegen/program/function-compilers.js";
import {
  type DebugNode,
  type DICompileUnit,
  type DIFile,
  type DILexicalBlock,
  type DILocation,
  type DISubprogram,
  isLocalScope,
  sizeOfType,
} from "../../lto/ir/debug/nodes.js";
import type { Func } from "../../lto/ir/module.js";
import type { Origins } from "../../lto/ir/origins.js";
import { codeMark } from "../asm/code-marks.js";
import { SectionBytes } from "./bytes.js";
import { DwOp } from "./constants.js";
import { appendPiece, withGnuEntryValue } from "./expressions.js";
import type { LineTables } from "./line-tables.js";

interface OpenScope extends ScopeInstance {
  readonly ranges: CodeRange[];
  readonly children: OpenScope[];
  readonly variables: LocatedVariable[];
  readonly labels: LocatedLabel[];
}

interface Start {
  readonly label: string;
  /** The most bytes that lie before it. */
  readonly at: number;
}

/** A scope where it has code, before the function is known that it is in. */
interface Place {
  readonly scope: DISubprogram | DILexicalBlock;
  readonly inlinedAt: DILocation | null;
}

/** Scopes of a location, from the outermost subprogram to the innermost block; blocks that only change the file are looked through. */
function path(location: DILocation): Place[] {
  const found: Place[] = [];
  for (let at: DILocation | null = location; at !== null; at = at.inlinedAt)
    for (let scope: DebugNode | null = at.scope; isLocalScope(scope); scope = scope.scope) {
      if (scope.kind !== "DILexicalBlockFile") found.push({ scope, inlinedAt: at.inlinedAt });
      if (scope.kind === "DISubprogram") break;
    }
  return found.reverse();
}

const nowhere: readonly Place[] = [];

/** The function whose text is being written. */
class FunctionWriter {
  private readonly subprogram: DISubprogram | null;
  private readonly unit: DICompileUnit | null;
  readonly root: OpenScope | null;
  /** Scopes that are open, from the function's on, and where each opened. */
  private readonly open: OpenScope[] = [];
  private readonly starts: Start[] = [];
  private readonly instances = new Map<OpenScope, Map<DISubprogram | DILexicalBlock, OpenScope[]>>();
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
    this.root = this.subprogram === null ? null : instance({ scope: this.subprogram, inlinedAt: null });
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
    let label: string | null = null;
    const here = (): string => (label ??= this.label());
    this.enter(location === null ? nowhere : this.pathOf(location), here);
    for (const other of others) this.row(other, here);
    this.row(location, here);
    return label === null ? "" : `${label}:\n`;
  }

  private row(location: DILocation | null, here: () => string): void {
    const line = location?.line ?? 0;
    if (line === 0 && this.line === 0) return;
    const file = location === null ? this.file : fileOf(location);
    const column = location?.column ?? 0;
    if (file === this.file && line === this.line && column === this.column && !this.isPrologue) return;
    const isStatement = line !== 0 && (line !== this.stopLine || file !== this.stopFile || this.isPrologue);
    this.lines.add(this.unit!, {
      label: here(),
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
    return this.open.some(({ call }) => call !== null);
  }

  private pathOf(location: DILocation): readonly Place[] {
    let known = this.paths.get(location);
    if (known === undefined) this.paths.set(location, (known = path(location)));
    return known;
  }
  private readonly paths = new Map<DILocation, readonly Place[]>();
  /** Where the code is that was entered last. */
  private entered: readonly Place[] = nowhere;

  /** Leaves scopes that the code from here on is not in, and enters those that it is in. */
  private enter(places: readonly Place[], here: () => string): void {
    if (this.root === null || places === this.entered) return;
    this.entered = places;
    const wanted: OpenScope[] = [this.root];
    const isOwn = places[0]?.scope === this.subprogram;
    if (isOwn) for (const place of places.slice(1)) wanted.push(this.child(wanted.at(-1)!, place));
    let same = 0;
    while (same < wanted.length && this.open[same] === wanted[same]) same++;
    if (same === this.open.length && same === wanted.length) return;
    const label = here();
    this.leave(same, label);
    for (const scope of wanted.slice(same)) {
      this.open.push(scope);
      this.starts.push({ label, at: this.length });
    }
  }

  /** Closes the ranges of all but so many open scopes. */
  private leave(kept: number, label: string): void {
    while (this.open.length > kept) {
      const { label: begin, at } = this.starts.pop()!;
      const most = this.length - at + 1;
      if (begin !== label) this.open.at(-1)!.ranges.push({ begin, end: label, most });
      this.open.pop();
    }
  }

  private child(parent: OpenScope, place: Place): OpenScope {
    let children = this.instances.get(parent);
    if (children === undefined) this.instances.set(parent, (children = new Map()));
    let list = children.get(place.scope);
    if (list === undefined) children.set(place.scope, (list = []));
    let found = list.find(({ inlinedAt }) => inlinedAt === place.inlinedAt);
    if (found === undefined) {
      list.push((found = instance(place)));
      parent.children.push(found);
    }
    return found;
  }

  /** @returns more than the bytes of all of the code */
  end(label: string, bytes: number): number {
    this.length += bytes;
    if (this.root !== null) this.leave(0, label);
    return this.length + 1;
  }

  /** The instance of a scope that has code; null: it has none. */
  instanceOf(location: DILocation): OpenScope | null {
    const [own, ...inner] = path(location);
    if (this.root === null || own?.scope !== this.subprogram) return null;
    let at: OpenScope | undefined = this.root;
    for (const { scope, inlinedAt } of inner)
      at =
        at &&
        this.instances
          .get(at)
          ?.get(scope)
          ?.find((known) => known.inlinedAt === inlinedAt);
    return at ?? null;
  }
}

function instance({ scope, inlinedAt }: Place): OpenScope {
  const isInlined = scope.kind === "DISubprogram" && inlinedAt !== null;
  const call = isInlined ? { file: fileOf(inlinedAt), line: inlinedAt.line, column: inlinedAt.column } : null;
  return { scope, inlinedAt, call, ranges: [], children: [], variables: [], labels: [] };
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
    const labels = new Map<number, string>();
    const behindCalls = new Map<number, string>();
    const inlined = new Set<number>();
    const text = printed.text.replace(codeMark, (_, what: string, entered: string, bytes: string) => {
      switch (what) {
        case "begin":
          writer.begin(range.begin, isJoined);
          return `${range.begin}:\n`;
        case "end":
          range = { ...range, most: writer.end(range.end, Number(bytes)) };
          return `${range.end}:\n`;
        default:
          if (what.startsWith("v") || what.startsWith("c")) {
            if (what.startsWith("c") && writer.isInlined) inlined.add(Number(what.slice(1)));
            const label = this.label();
            (what.startsWith("v") ? labels : behindCalls).set(Number(what.slice(1)), label);
            return `${label}:\n`;
          }
          return this.changed(writer, Number(what), entered !== "", Number(bytes));
      }
    });
    for (const variable of printed.variables ?? []) this.place(variable, writer, labels, range);
    this.unit = unit;
    this.ended = range.end;
    // A jump at the end that was left out goes on to what follows.
    const calls = (printed.calls ?? []).map(({ mark, ...call }) => ({
      ...call,
      arguments: inlined.has(mark)
        ? call.arguments.filter(({ bytes }) => bytes[0] !== DwOp.EntryValue)
        : call.arguments,
      end: behindCalls.get(mark) ?? range.end,
    }));
    this.infos.push({ fn, symbol: printed.symbol, range, root: writer.root, calls });
    return { ...printed, text };
  }

  /** A variable is said to be in its scope, if there is code of that. */
  private place(
    { variable, origin, places }: PrintedVariable,
    writer: FunctionWriter,
    labels: ReadonlyMap<number, string>,
    { begin, end }: CodeRange,
  ): void {
    const location = this.origins.locationOf(origin);
    const scope = location === null ? null : writer.instanceOf(location);
    if (scope === null) return;
    const node = this.origins.variableOf(variable);
    if (node.kind === "DILabel") {
      // Of copies, the first.
      const { from } = places[0]!;
      const place = from < 0 ? begin : labels.get(from);
      if (place !== undefined) scope.labels.push({ label: node, place });
      return;
    }
    const size = sizeOfType(node.type);
    const found: VariablePlace[] = [];
    for (const { from, to, endsInCall, bytes, described } of places) {
      // A jump at the end that was left out took its mark along.
      const first = from < 0 ? begin : labels.get(from);
      const last = to < 0 ? end : (labels.get(to) ?? end);
      const expression = described === Number.POSITIVE_INFINITY ? bytes : filled(bytes, described, size);
      if (first === undefined || expression === null) continue;
      const told = this.lines.version >= 5 ? expression : older(expression);
      if (told === null || (location!.inlinedAt !== null && bytes.includes(DwOp.EntryValue))) continue;
      found.push({ range: { begin: first, end: endsInCall ? `${last}-1` : last }, expression: told });
    }
    if (found.length > 0) scope.variables.push({ variable: node, places: found });
  }

  private changed(writer: FunctionWriter, origin: number, isEntered: boolean, bytes: number): string {
    const { origins } = this;
    const others = origins.othersOf(origin).map((other) => origins.locationOf(other));
    return writer.change(
      origins.locationOf(origin),
      others.filter((other) => other !== null),
      isEntered,
      bytes,
    );
  }

  private label(): string {
    return `.Ldebug${this.labels++}`;
  }

  private endSequence(): void {
    if (this.unit !== null) this.lines.end(this.unit, this.ended);
    this.unit = null;
  }

  /** All functions, in the order of the text; to be called when there are no more. */
  close(): readonly FunctionDebugInfo[] {
    this.endSequence();
    return this.infos;
  }
}
