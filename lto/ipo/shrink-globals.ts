/**
 * shrink-globals: local integer variables that only ever hold small numbers are bytes.
 *
 *     static int verbose;   verbose = 1;   if (verbose) …       mov byte [verbose], 1 is 3 bytes shorter than mov dword
 *
 * Why: what a program remembers between calls is mostly a flag, or one of a few states, in an `int`; that no other value
 * gets there is known once all stores are seen. Stores of constants are shorter, comparisons in memory of `long` too; a
 * load that extends is a byte longer than one of an `int`, and is no operand of arithmetic any more.
 *
 * Method: variables whose uses are all plain loads and stores of the whole (analysis/variable-uses.ts). One walk over all
 * bodies looks at what is stored, by its known bits, where functions are compiled for size also at what becomes of what is
 * loaded, and adds up bytes; where that says the program gets smaller, a second one rewrites the accesses. Linear.
 *
 * Proof obligations:
 *  - every access is seen: the variable is local, defined here, not pinned, its address in no initialiser, alias or
 *    unoptimised function, and no access is volatile, atomic, of another type or of a part (no `Use` but Read, Written);
 *  - its first value and every value stored, where they are no poison and not undef, come back from a byte by the one
 *    extension that all loads get. Undef stays undef in fewer bits, poison poison: fewer values than before;
 *  - nothing but bodies says how long it is: no section (whose parts a program may walk over), no type identifiers, not
 *    initialised elsewhere, not one a thread, no comdat.
 *
 * Loads are told which values there are only if all that is stored is well defined: others would become poison.
 */
import { knownBits, unsignedRange } from "../analysis/known-bits.js";
import { isWellDefined } from "../analysis/value-facts.js";
import { Use } from "../analysis/variable-uses.js";
import { Builder } from "../ir/builder.js";
import { type Hints, withHints } from "../ir/hints.js";
import { type Inst, Op } from "../ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { i8 } from "../ir/types.js";
import { type Constant, ConstUndef, constInt, type Value } from "../ir/values.js";
import { variableUses } from "../pass/analyses.js";
import { isForSize, type ModulePass, type ProgramContext } from "../pass/pass.js";
import { words } from "../pass/remarks.js";

/** Widths in bits that are worth a look. */
const widths = [16, 32, 64];

/** A variable that may become a byte. */
class Candidate {
  /** Of all that is stored, as signed and as unsigned numbers; the second ones only while nothing is negative. */
  least = 0n;
  largest = 0n;
  hasValue = false;
  isWellDefined = true;
  /** Bytes that the program is shorter by. */
  gain = 0;
  readonly bits: number;

  constructor(readonly variable: GlobalVariable) {
    this.bits = variable.valueType.bits;
  }
  add(least: bigint, largest: bigint): void {
    this.least = this.hasValue && this.least < least ? this.least : least;
    this.largest = this.hasValue && this.largest > largest ? this.largest : largest;
    this.hasValue = true;
  }
  /** Which extension brings all values back; null: none does. */
  get extension(): Op.ZExt | Op.SExt | null {
    if (!this.hasValue || (this.least >= 0n && this.largest <= 255n)) return Op.ZExt;
    return this.least >= -128n && this.largest <= 127n ? Op.SExt : null;
  }
}

/** A value as it is stored. */
function takeIn(candidate: Candidate, value: Value, fn: Func | null): void {
  if (value.valueKind === "int") candidate.add(value.value, value.value);
  else if (value.valueKind === "zero") candidate.add(0n, 0n);
  else if (value.valueKind === "undef") candidate.isWellDefined = false;
  else if (fn === null) candidate.add(-256n, 256n);
  else if (value.valueKind === "inst" && value.op === Op.SExt && value.operands[0]!.type.bits <= 8) {
    candidate.add(-128n, 127n);
    if (!isWellDefined(value, fn)) candidate.isWellDefined = false;
  } else {
    const { bits } = candidate;
    const [least, largest] = unsignedRange(knownBits(value, fn), bits);
    // Past the half it may be a negative number.
    if (largest >= 1n << BigInt(bits - 1)) candidate.add(-256n, 256n);
    else candidate.add(least, largest);
    if (!isWellDefined(value, fn)) candidate.isWellDefined = false;
  }
}

class Shrinker {
  private readonly candidates = new Map<GlobalValue, Candidate>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {}

  run(): boolean {
    this.findCandidates();
    if (this.candidates.size === 0) return false;
    const users: Func[] = [];
    for (const fn of this.module.functions) if (!fn.isDeclaration && this.look(fn)) users.push(fn);
    for (const [variable, candidate] of this.candidates)
      if (!this.decide(candidate)) this.candidates.delete(variable);
    if (this.candidates.size === 0) return false;
    for (const { variable } of this.candidates.values()) shrink(variable);
    for (const fn of users) if (this.mentions(fn)) this.rewrite(fn);
    return true;
  }

  private findCandidates(): void {
    for (const [variable, { traits }] of this.context.ofModule(variableUses).variables) {
      const { valueType, initializer } = variable;
      if (valueType.kind !== "int" || !widths.includes(valueType.bits)) continue;
      if (variable.type.addressSpace !== 0) continue;
      if ((traits & ~(Use.Read | Use.Written)) !== 0 || (traits & Use.Written) === 0) continue;
      if (variable.isConstant || variable.externallyInitialized || variable.threadLocal !== "none") continue;
      if (variable.section !== "" || variable.comdat !== null || variable.typeIds.length > 0) continue;
      const candidate = new Candidate(variable);
      takeIn(candidate, initializer!, null);
      if (candidate.extension !== null) this.candidates.set(variable, candidate);
    }
  }

  private candidateAt(address: Value): Candidate | undefined {
    return address.valueKind === "global" ? this.candidates.get(address) : undefined;
  }

  /** Adds up what a function stores and loads. @returns whether it mentions any of the variables */
  private look(fn: Func): boolean {
    const { blocks } = fn.view();
    const isSmall = isForSize(this.context.goalOf(fn));
    let loads: Map<Value, Candidate> | null = null;
    let isUser = false;
    for (const { insts } of blocks)
      for (const inst of insts)
        if (inst.op === Op.Load) {
          const candidate = this.candidateAt(inst.operands[0]!);
          if (candidate === undefined) continue;
          isUser = true;
          // A byte more to extend an int, no prefix of a long.
          if (isSmall) candidate.gain -= candidate.bits === 32 ? 1 : 0;
          (loads ??= new Map()).set(inst, candidate);
        } else if (inst.op === Op.Store) {
          const value = inst.operands[0]!;
          const candidate = this.candidateAt(inst.operands[1]!);
          if (candidate === undefined) continue;
          isUser = true;
          takeIn(candidate, value, fn);
          if (isSmall && value.valueKind === "int")
            candidate.gain += this.context.costs.constants.narrowerStore(candidate.bits);
          // What cannot be known stays as it is, however often it is stored.
          if (candidate.extension === null) this.candidates.delete(candidate.variable);
        }
    if (loads !== null && isSmall) weighUses(fn, loads);
    return isUser;
  }

  private decide({ variable, gain, extension }: Candidate): boolean {
    if (extension === null) return false;
    const isTaken = gain > 0;
    if (gain !== 0)
      this.context.remarks?.add({
        kind: isTaken ? "Passed" : "Missed",
        pass: shrinkGlobals.name,
        name: isTaken ? "Shrunk" : "NotCheaper",
        function: variable.name,
        facts: [
          words(isTaken ? "made a byte: cost=" : "not made a byte: cost="),
          ["Cost", -gain],
          words(" (threshold="),
          ["Threshold", 0],
          words(")"),
        ],
      });
    if (isTaken) this.context.count("shrunk");
    return isTaken;
  }

  /** Whether a function accesses one of those that are left. */
  private mentions(fn: Func): boolean {
    return fn
      .view()
      .blocks.some(({ insts }) =>
        insts.some(
          ({ op, operands }) =>
            (op === Op.Load && this.candidateAt(operands[0]!) !== undefined) ||
            (op === Op.Store && this.candidateAt(operands[1]!) !== undefined),
        ),
      );
  }

  private rewrite(fn: Func): void {
    const editor = fn.edit();
    for (const { insts } of editor.body.blocks)
      for (const inst of [...insts]) {
        if (inst.parent === null || (inst.op !== Op.Load && inst.op !== Op.Store)) continue;
        const candidate = this.candidateAt(inst.operands[inst.op === Op.Load ? 0 : 1]!);
        if (candidate === undefined) continue;
        const { variable } = candidate;
        const builder = new Builder(editor).before(inst);
        if (inst.op === Op.Load) {
          const byte = builder.load(i8, variable, 1);
          byte.hints = rangeOf(candidate);
          editor.replace(inst, builder.cast(candidate.extension!, byte, inst.type));
        } else {
          builder.store(narrowed(inst.operands[0]!, builder), variable, 1);
          editor.erase(inst);
        }
        this.context.count("accesses");
      }
  }
}

/** Takes off what uses of loaded values lose, and adds what comparisons with constants in memory gain. */
function weighUses(fn: Func, loads: ReadonlyMap<Value, Candidate>): void {
  const uses = new Map<Value, Inst[]>();
  for (const { insts } of fn.view().blocks)
    for (const inst of insts)
      for (const operand of inst.operands)
        if (operand.valueKind === "inst" && loads.has(operand)) {
          const list = uses.get(operand);
          if (list === undefined) uses.set(operand, [inst]);
          else list.push(inst);
        }
  for (const [load, candidate] of loads) {
    const users = uses.get(load) ?? [];
    if (users.length !== 1) continue;
    const user = users[0]!;
    const { bits } = candidate;
    // Compared in memory: nothing is extended.
    if (user.op === Op.ICmp && user.operands[1]!.valueKind === "int") candidate.gain += 1;
    else if (user.op === Op.Trunc && user.type.bits <= 8) candidate.gain += bits === 32 ? 1 : 0;
    // Was an operand in memory: now it takes an instruction of its own.
    else if (user.op >= Op.Add && user.op <= Op.Xor && bits !== 16) candidate.gain -= bits === 32 ? 2 : 3;
  }
}

function shrink(variable: GlobalVariable): void {
  variable.retype(i8, narrowed(variable.initializer!, null) as Constant);
  variable.align = 1;
}

/** The low byte. @param builder null: it is a constant */
function narrowed(value: Value, builder: Builder | null): Value {
  if (value.valueKind === "int") return constInt(i8, BigInt.asIntN(8, value.value));
  if (value.valueKind === "undef") return new ConstUndef(i8, value.poison);
  return builder === null ? constInt(i8, 0) : builder.cast(Op.Trunc, value, i8);
}

/** What loads are told; null: nothing. */
function rangeOf({ isWellDefined: isSure, least, largest, hasValue }: Candidate): Hints | null {
  if (!isSure || !hasValue || largest - least >= 255n) return null;
  return withHints(null, { range: [BigInt.asIntN(8, least), BigInt.asIntN(8, largest + 1n)] });
}

export const shrinkGlobals: ModulePass = {
  name: "shrink-globals",
  level: "module",
  description: "makes local integer variables bytes that only hold small numbers, where that is smaller",
  counters: { shrunk: "variables that are bytes now", accesses: "loads and stores of them" },
  requires: [variableUses],
  preserves: [],
  run: (module, context) => new Shrinker(module, context).run(),
};
