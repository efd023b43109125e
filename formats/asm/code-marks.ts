/**
 * Marks in the text of functions, from which the thread that writes it makes what debuggers are told: who prints functions
 * knows the numbers of origins only (lto/ir/origins.ts), and where in the file a function will be is not known yet.
 *
 * A mark is a line of its own: a character that no other line begins with, what is marked, and the most bytes that the code
 * since the mark before may have.
 *
 * Instructions that steps after selection made have the origin of what follows them in their block, as in
 * lto/codegen/late/code-origins.ts; the first ones of a function, which have no mark of their own, are its prologue. Code
 * of no origin belongs to what is before it, unless something may jump to it: then it is marked as unknown.
 * Source: LLVM, `DwarfDebug::beginInstruction`.
 */
import { callArguments, calleeAddress } from "../../lto/codegen/debug/call-sites.js";
import type { JumpTarget } from "../../lto/codegen/late/tail-jumps.js";
import type { MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import type { PrintedCall, PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import { OpFact } from "../../lto/codegen/target.js";
import { VariableMarks } from "./variable-marks.js";

const sign = "\x01";
/**
 * What a mark is of, by what stands behind its sign: the number of an origin; `begin` or `end` of the function's code; `v` and
 * the number of a mark at which some variable has another place, or `c` and that of the call behind which it stands. Behind that a star
 * where something may jump to, and bytes.
 */
export const enum MarkKind {
  Origin,
  Begin,
  End,
  Place,
  Call,
}

/** The text with what takes the places of its marks. */
export function withoutMarks(
  text: string,
  replace: (kind: MarkKind, number: number, isEntered: boolean, bytes: number) => string,
): string {
  const parts: string[] = [];
  let end = 0;
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (
      let digit = text.charCodeAt(at) - zero;
      digit >= 0 && digit <= 9;
      digit = text.charCodeAt(++at) - zero
    )
      value = 10 * value + digit;
    return value;
  };
  for (let start = text.indexOf(sign); start >= 0; start = text.indexOf(sign, end)) {
    if (start > end) parts.push(text.slice(end, start));
    at = start + 1;
    let kind = MarkKind.Origin;
    switch (text[at]) {
      case "b":
        kind = MarkKind.Begin;
        at += "begin".length;
        break;
      case "e":
        kind = MarkKind.End;
        at += "end".length;
        break;
      case "v":
        kind = MarkKind.Place;
        at++;
        break;
      case "c":
        kind = MarkKind.Call;
        at++;
    }
    const what = number();
    const isEntered = text[at] === "*";
    at += isEntered ? 2 : 1;
    const bytes = number();
    end = at + 1;
    const by = replace(kind, what, isEntered, bytes);
    if (by !== "") parts.push(by);
  }
  parts.push(text.slice(end));
  return parts.join("");
}
const zero = 0x30;

/** Bytes of which nothing is known: of inline assembly. */
const anyLength = 100000;

export class CodeMarks {
  private readonly facts: Uint32Array;
  private bytes = 0;
  private current = 0;
  private origins: Int32Array = new Int32Array(0);

  private readonly places: VariableMarks | null;
  readonly calls: PrintedCall[] = [];
  private insts: readonly MInst[] = [];
  private isFirst = false;

  /** @param symbolOf names of globals as calls have them */
  constructor(
    private readonly mf: MFunction,
    private readonly symbolOf: (to: JumpTarget) => string,
  ) {
    this.facts = mf.target.instructions.facts;
    const located = mf.debug?.located ?? null;
    this.places = located === null ? null : new VariableMarks(mf, located);
  }

  get variables(): Pick<PrintedFunction, "variables"> {
    return this.places === null ? {} : { variables: this.places.variables };
  }

  begin(): string {
    return this.mark("begin");
  }
  end(): string {
    return this.mark("end");
  }

  /** A block comes next. */
  enter({ insts }: MBlock, isLabelled: boolean): void {
    this.insts = insts;
    this.isFirst = this.isEntry && !isLabelled;
    const { length } = insts;
    const own = insts.map(({ op, origin }) => ((this.facts[op]! & noCode) === 0 ? origin : -1));
    const last = own.findLastIndex((origin) => origin >= 0);
    let origin = last < 0 ? 0 : own[last]!;
    this.origins = new Int32Array(length);
    for (let i = length - 1; i >= 0; i--) {
      if (own[i]! >= 0) origin = own[i]!;
      this.origins[i] = origin;
    }
    if (this.isEntry) {
      const first = own.findIndex((known) => known >= 0);
      this.origins.fill(0, 0, first < 0 ? length : first);
    }
    this.isLabelled = isLabelled;
    this.isEntry = false;
  }
  private isEntry = true;
  private isLabelled = false;

  /** What stands before an instruction of the block, by its position. */
  before(inst: MInst, index: number): string {
    if (inst.op === this.mf.target.frame.directive || (this.facts[inst.op]! & noCode) !== 0) return "";
    const origin = this.origins[index]!;
    const isEntered = this.isLabelled;
    this.isLabelled = false;
    const place = this.places?.marks.get(inst);
    let mark = place === undefined ? "" : `${sign}v${place} 0\n`;
    if (origin !== this.current && (origin > 0 || isEntered)) {
      mark += this.mark(`${origin}${isEntered ? "*" : ""}`);
      this.current = origin;
    }
    const isAsm = (this.facts[inst.op]! & OpFact.Asm) !== 0;
    this.bytes += isAsm ? anyLength : this.mf.target.instructions.length(inst);
    if ((this.facts[inst.op]! & (OpFact.Jump | OpFact.Branch)) !== 0) this.bytes += branchMarks;
    return mark;
  }

  /** What stands behind it, after the end of its line: nothing, or a line without an end. */
  after(inst: MInst, index: number): string {
    const { facts, mf } = this;
    const fact = facts[inst.op]!;
    const isTail = (fact & OpFact.TailCall) !== 0 || ((fact & OpFact.Branch) !== 0 && inst.symbol !== null);
    if (!isTail && (fact & OpFact.Call) === 0) return "";
    const symbol = inst.symbol ?? (inst.mem?.symbol?.kind === "got" ? inst.mem.symbol : null);
    const to = symbol?.target;
    const callee = to?.kind === "global" ? to.global : to?.kind === "external" ? to.name : null;
    const mark = this.calls.length;
    this.calls.push({
      mark,
      isTail,
      callee: callee === null ? null : this.symbolOf(callee),
      target: callee === null && !isTail ? calleeAddress(mf, inst) : null,
      arguments: callArguments(mf, this.insts, index, this.isFirst),
    });
    return `\n${sign}c${mark} 0`;
  }

  private mark(what: string): string {
    const { bytes } = this;
    this.bytes = 0;
    return `${sign}${what} ${bytes}\n`;
  }
}

const noCode = OpFact.Entry | OpFact.Undefined;
/** Bytes that branches may have beside those of their longest form: a prefix, and what stops speculation behind them. */
const branchMarks = 2;
