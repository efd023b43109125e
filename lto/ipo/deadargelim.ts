/**
 * deadargelim: removes parameters that nothing reads, results that nobody uses, stores to variables that nothing reads,
 * and what only computed such.
 *
 *     static int f(int n, int unused) { … f(n - 1, unused + 1) … }     the second argument only feeds itself
 *
 * Method: one optimistic marking over the whole program. Nothing is live but what has an effect: stores, branches, calls
 * as such. From there liveness goes backwards through operands, and across calls: an argument is live if the parameter
 * it is passed for is, a returned value if some call's result is, a store to a local variable whose address is seen
 * through if something live reads the variable. What is left unmarked goes, also around cycles (counters that are only
 * counted), together with the arithmetic that led there. Then one walk rewrites signatures, calls, returns and bodies.
 * Linear in instructions and operands.
 *
 * Variable arguments of functions that never look at them go too; so their callers set no `al`, and they save no registers.
 *
 * Why after propagation: constant parameters have no uses left.
 *
 * Proof obligations:
 *  - a signature changes only where every call is seen and is of the function's own type: the function is local, no
 *    address of it is known to anybody, no assembly mentions it, nothing must be a tail call of it or in it;
 *  - calls of other functions whose definition is the one that runs pass undefined values for parameters that nothing
 *    reads; these lose the attributes that claim something of the value;
 *  - parameters that belong to the convention (sret, nest, swift's, inalloca, preallocated) stay, and so do all before
 *    variable arguments that are read: a structure after them is in memory since they left no registers for it;
 *  - stores to a variable go only where it is local and all that is done with its address is seen (variable-uses.ts);
 *  - naked and unoptimised functions stay as they are, and so do the functions that they call;
 *  - attributes that name other parameters (`returned`, `allocsize`) go where positions or results change; where a
 *    pointer goes, accesses of argument memory may be of any other now.
 *
 * Breaks if: a call graph misses a way into a local function.
 */

import { isExact } from "../analysis/exact.js";
import { Use, useOf, variableOf } from "../analysis/variable-uses.js";
import { AttributeList, AttributeSet, noAttributes } from "../ir/attributes.js";
import { DebugReconciliation, moveArguments } from "../ir/debug-reconcile.js";
import { passRecords } from "../ir/debug-records.js";
import { withHints } from "../ir/hints.js";
import {
  type Block,
  type BodyView,
  type CallData,
  type CallInst,
  type Inst,
  isCall,
  makeInst,
  Op,
  setCallData,
} from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import { Memory } from "../ir/memory-effects.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { raw } from "../ir/raw.js";
import { functionType, type Type, voidType } from "../ir/types.js";
import { type Argument, ConstUndef, type Value } from "../ir/values.js";
import { isRemovableCall } from "../opt/call-effects.js";
import { isRemovable } from "../opt/dce.js";
import { callGraph, variableUses } from "../pass/analyses.js";
import type { ModulePass, PassContext } from "../pass/pass.js";
import { withoutClaims } from "./parameter-attributes.js";

/** Parameters with these are there whether or not the body reads them. */
const conventional = ["sret", "nest", "inalloca", "preallocated", "swiftself", "swifterror", "swiftasync"];

/** A function and what of it is live. */
class FunctionLiveness {
  readonly body: BodyView;
  readonly isLive: Uint8Array;
  readonly liveParameters: Uint8Array;
  resultIsLive: boolean;
  readsVariable = false;
  /** Calls that pass what the parameters are. */
  readonly calls: { readonly caller: FunctionLiveness; readonly call: CallInst }[] = [];
  readonly returns: Inst[] = [];

  constructor(
    readonly fn: Func,
    /** Its body may be rewritten. */
    readonly isOptimised: boolean,
    /** All calls are seen, and nothing keeps its signature. */
    public isClosed: boolean,
    /** Its body tells what calls of it read. */
    public isExact: boolean,
  ) {
    this.body = fn.view();
    this.isLive = new Uint8Array(this.body.renumber());
    this.liveParameters = new Uint8Array(fn.args.length);
    this.resultIsLive = fn.valueType.result === voidType;
  }
}

/** The variable that a store, or an intrinsic that copies or sets memory, writes to; null for others. */
function writtenBy(inst: Inst): GlobalVariable | null {
  if (inst.op === Op.Store) return variableOf(inst.operands[1]!);
  if (inst.op !== Op.Call || intrinsicOf(inst.operands[0]!) === null || inst.operands.length < 2) return null;
  return useOf(inst, 1) === (Use.Written | Use.Parts) ? variableOf(inst.operands[1]!) : null;
}

/** Only what uses its result makes it live. */
const isPure = (inst: Inst): boolean =>
  isRemovable(inst) || (isCall(inst) && intrinsicOf(inst.operands[0]!) === null && isRemovableCall(inst));

/** What is live from the start, once it is known which calls are seen. */
function settle(subject: FunctionLiveness): void {
  const { fn, isClosed, liveParameters } = subject;
  if (!isClosed) subject.resultIsLive = subject.readsVariable = true;
  // Where variable arguments are depends on what comes before them, and the reading of them is compiled already.
  if (!subject.isExact || (fn.valueType.isVarArg && subject.readsVariable)) liveParameters.fill(1);
  for (let i = 0; i < fn.args.length; i++) {
    const attributes = fn.attributes.parameter(i);
    // The copy of what is passed by value is made by the call.
    if (conventional.some((name) => attributes.has(name)) || (!isClosed && attributes.has("byval")))
      liveParameters[i] = 1;
  }
}

interface Write {
  readonly subject: FunctionLiveness;
  readonly inst: Inst;
}

class Program {
  readonly subjects = new Map<GlobalValue, FunctionLiveness>();
  /** What writes each variable that nothing live is known to read. */
  private readonly unread = new Map<GlobalValue, Write[]>();
  private readonly values: (Inst | Argument)[] = [];
  private readonly owners: FunctionLiveness[] = [];

  constructor(module: Module, context: PassContext) {
    const graph = context.ofModule(callGraph);
    for (const [variable, { traits }] of context.ofModule(variableUses).variables)
      if ((traits & (Use.Escapes | Use.WrittenByCall)) === 0) this.unread.set(variable, []);
    module.globals.forEach((fn, index) => {
      if (fn.kind !== "function" || fn.isDeclaration) return;
      const { fn: attributes } = fn.attributes;
      const isOptimised =
        !attributes.has("naked") && !attributes.has("optnone") && fn.linkage !== "available_externally";
      const node = graph.nodeOf[index]!;
      const isClosed = isOptimised && node >= 0 && graph.openToCallers[node] === 0;
      this.subjects.set(fn, new FunctionLiveness(fn, isOptimised, isClosed, isOptimised && isExact(fn)));
    });
    for (const subject of this.subjects.values()) this.collect(subject);
    for (const subject of this.subjects.values()) settle(subject);
    for (const subject of this.subjects.values()) this.start(subject);
    this.propagate();
  }

  /** Finds calls and returns, and what keeps signatures as they are. */
  private collect(subject: FunctionLiveness): void {
    const { body, isOptimised } = subject;
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        if (inst.op === Op.Ret) subject.returns.push(inst);
        if (!isCall(inst)) continue;
        if (inst.data.tail === "musttail") subject.isClosed = subject.isExact = false;
        const callee = inst.operands[0]!;
        if (intrinsicOf(callee)?.name === "va_start") subject.readsVariable = true;
        const target = callee.valueKind === "global" ? this.subjects.get(callee) : undefined;
        if (target === undefined) continue;
        const { functionType: type, tail, callingConvention } = inst.data;
        const fits = type === target.fn.valueType && callingConvention === target.fn.callingConvention;
        if (!fits || !isOptimised || tail === "musttail") target.isClosed = target.isExact = false;
        target.calls.push({ caller: subject, call: inst });
      }
  }

  private start(subject: FunctionLiveness): void {
    for (const { insts } of subject.body.blocks)
      for (const inst of insts) {
        if (subject.isOptimised && isPure(inst)) continue;
        const written = writtenBy(inst);
        const writes = written === null ? undefined : this.unread.get(written);
        if (writes !== undefined) {
          writes.push({ subject, inst });
          continue;
        }
        subject.isLive[inst.id] = 1;
        if (isCall(inst)) this.markCall(subject, inst);
        else if (inst.op !== Op.Ret || subject.resultIsLive) this.markOperands(subject, inst);
      }
  }

  /** A call that is executed: only what the callee reads is used. Its result is another matter. */
  private markCall(caller: FunctionLiveness, call: CallInst): void {
    const { operands } = call;
    const target = this.targetOf(call);
    const fixed = target?.fn.args.length ?? 0;
    const { argumentCount } = call.data;
    for (let i = 0; i < operands.length; i++) {
      if (target !== undefined && i > 0 && i <= argumentCount) {
        if (i <= fixed ? target.liveParameters[i - 1] === 0 : !target.readsVariable) continue;
      }
      this.read(call, i);
      this.mark(caller, operands[i]!);
    }
  }
  /** The function of the program that a call reaches, if its signature is the call's. */
  targetOf(call: CallInst): FunctionLiveness | undefined {
    const callee = call.operands[0]!;
    const target = callee.valueKind === "global" ? this.subjects.get(callee) : undefined;
    return target?.isExact === true ? target : undefined;
  }

  private markOperands(subject: FunctionLiveness, inst: Inst): void {
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      this.read(inst, i);
      this.mark(subject, operands[i]!);
    }
  }
  /** If operand `slot` of a live instruction is where it reads a variable, that is live. */
  private read(inst: Inst, slot: number): void {
    const operand = inst.operands[slot]!;
    switch (operand.valueKind) {
      case "inst":
        if (operand.op !== Op.GetElementPtr) return;
        break;
      case "global":
      case "expr":
        break;
      default:
        return;
    }
    if (operand.type.kind !== "ptr") return;
    const variable = variableOf(operand);
    const writes = variable === null ? undefined : this.unread.get(variable);
    if (writes === undefined || (useOf(inst, slot) & Use.Read) === 0) return;
    this.unread.delete(variable!);
    for (const write of writes) {
      write.subject.isLive[write.inst.id] = 1;
      this.markOperands(write.subject, write.inst);
    }
  }
  private mark(subject: FunctionLiveness, value: Value): void {
    if (value.valueKind === "argument") {
      if (subject.liveParameters[value.index] === 1) return;
      subject.liveParameters[value.index] = 1;
    } else if (value.valueKind === "inst") {
      const isKnown = subject.isLive[value.id]!;
      // Calls are executed all the same, but those without effect; a second mark says that the result is used.
      if (isKnown === (isCall(value) ? 2 : 1)) return;
      subject.isLive[value.id] = isCall(value) ? 2 : 1;
      if (isKnown === 0 && isCall(value)) this.markCall(subject, value);
    } else return;
    this.values.push(value);
    this.owners.push(subject);
  }

  private propagate(): void {
    for (let value = this.values.pop(); value !== undefined; value = this.values.pop()) {
      const subject = this.owners.pop()!;
      if (value.valueKind === "argument") {
        for (const { caller, call } of subject.calls) {
          this.read(call, 1 + value.index);
          this.mark(caller, call.operands[1 + value.index]!);
        }
      } else if (isCall(value)) {
        const target = this.targetOf(value);
        if (target === undefined) this.markOperands(subject, value);
        else if (!target.resultIsLive) {
          target.resultIsLive = true;
          for (const ret of target.returns) this.markOperands(target, ret);
        }
      } else this.markOperands(subject, value);
    }
  }
}

/** What becomes of a function's signature. */
class Change {
  /** The old parameters that stay. */
  readonly kept: readonly number[];
  /** Where each old parameter is now. */
  readonly place: Int32Array;
  readonly losesResult: boolean;
  readonly losesVariable: boolean;
  /** A parameter goes through which memory may be reached. */
  readonly losesPointer: boolean;
  /** Parameters there were, without variable ones. */
  readonly fixed: number;
  readonly type: Type;

  constructor({ fn, liveParameters, resultIsLive, readsVariable, isClosed }: FunctionLiveness) {
    const { result, parameters, isVarArg } = fn.valueType;
    const all = parameters.map((_, i) => i);
    this.fixed = all.length;
    this.kept = isClosed ? all.filter((i) => liveParameters[i] === 1) : all;
    this.place = new Int32Array(all.length).fill(-1);
    this.kept.forEach((old, i) => {
      this.place[old] = i;
    });
    this.losesPointer = parameters.some(
      (type, i) => this.place[i]! < 0 && (type.scalar.kind === "ptr" || type.isAggregate),
    );
    this.losesResult = isClosed && !resultIsLive;
    this.losesVariable = isClosed && isVarArg && !readsVariable;
    this.type = functionType(
      this.losesResult ? voidType : result,
      this.kept.map((i) => parameters[i]!),
      isVarArg && !this.losesVariable,
    );
  }
}

/** @param first operands after which variable arguments come, for a call; 0 for the function */
function changedAttributes(list: AttributeList, change: Change, first: number): AttributeList {
  const parameters = change.kept.map((i) =>
    change.losesResult ? without(list.parameter(i), "returned") : list.parameter(i),
  );
  if (!change.losesVariable && first > 0) parameters.push(...list.parameters.slice(first));
  const result = change.losesResult ? noAttributes : list.result;
  const own = without(list.fn, "allocsize");
  return new AttributeList(change.losesPointer ? withoutArgumentMemory(own) : own, result, parameters);
}
/** What was reached through a parameter is reached without one now, if propagation has put a constant in its place. */
function withoutArgumentMemory(set: AttributeSet): AttributeSet {
  const memory = set.int("memory");
  if (memory === undefined || (memory & Memory.Argument) === 0) return set;
  const read = (memory & Memory.ArgumentRead) !== 0 ? Memory.Read : Memory.None;
  const write = (memory & Memory.ArgumentWrite) !== 0 ? Memory.Write : Memory.None;
  const kinds = new Map(set.kinds).set("memory", memory | ((read | write) & ~Memory.Inaccessible));
  return new AttributeSet(kinds, set.strings);
}
function without(set: AttributeSet, name: string): AttributeSet {
  if (!set.has(name)) return set;
  return new AttributeSet(new Map([...set.kinds].filter(([kind]) => kind !== name)), set.strings);
}

/** The call by the new signature: itself, or one that takes its place. */
function changeCall(call: CallInst, change: Change, fn: Func): Inst {
  const { fixed } = change;
  const { data } = call;
  const variable = change.losesVariable ? [] : call.operands.slice(1 + fixed, 1 + data.argumentCount);
  const args = change.kept.map((i) => call.operands[1 + i]!);
  const operands = [fn, ...args, ...variable, ...call.operands.slice(1 + data.argumentCount)];
  const changed: CallData = {
    ...data,
    functionType: change.type,
    argumentCount: args.length + variable.length,
    attributes: changedAttributes(data.attributes, change, fixed),
  };
  if (!change.losesResult) {
    raw(call).operands = operands;
    setCallData(call, changed);
    return call;
  }
  const made = makeInst(call.op, voidType, operands, changed, [...call.blocks]) as CallInst;
  made.origin = call.origin;
  made.hints = withHints(call.hints, { range: null });
  made.parent = call.parent;
  passRecords(call, made);
  return made;
}

/** Writes down what was found. */
class Rewriter {
  private readonly changes = new Map<FunctionLiveness, Change>();

  constructor(
    private readonly program: Program,
    private readonly context: PassContext,
  ) {}

  run(): boolean {
    for (const subject of this.program.subjects.values()) {
      const change = new Change(subject);
      const removed = subject.fn.args.length - change.kept.length;
      if (removed + Number(change.losesResult) + Number(change.losesVariable) === 0) continue;
      this.changes.set(subject, change);
      this.context.count("parameters", removed);
      this.context.count("results", Number(change.losesResult));
      this.context.count("variable", Number(change.losesVariable));
    }
    for (const [{ fn }, change] of this.changes) {
      fn.attributes = changedAttributes(fn.attributes, change, 0);
      fn.retype(change.type);
    }
    let changed = false;
    for (const subject of this.program.subjects.values()) changed = this.rewriteBody(subject) || changed;
    return changed;
  }

  private rewriteBody(subject: FunctionLiveness): boolean {
    const own = this.changes.get(subject);
    if (own === undefined && !this.hasWork(subject)) return false;
    const body = subject.fn.rewrite();
    const records = body.hasDebug ? new DebugReconciliation(body) : null;
    for (const block of body.blocks) this.rewriteBlock(block, subject, own);
    records?.settle();
    if (own !== undefined) moveArguments(body, (index) => subject.fn.args[own.place[index]!] ?? null);
    return true;
  }

  private hasWork({ body, isLive, isOptimised }: FunctionLiveness): boolean {
    if (!isOptimised) return false;
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        if (isLive[inst.id] === 0) return true;
        if (!isCall(inst)) continue;
        const target = this.program.targetOf(inst);
        if (target !== undefined && (this.changes.has(target) || passesUnread(inst, target))) return true;
      }
    return false;
  }

  private rewriteBlock(block: Block, { fn, isLive }: FunctionLiveness, own: Change | undefined): void {
    const kept: Inst[] = [];
    for (let inst of block.insts) {
      if (isLive[inst.id] === 0) {
        this.context.count("instructions");
        continue;
      }
      if (isCall(inst)) inst = this.rewriteCall(inst);
      else if (inst.op === Op.Ret && own?.losesResult === true) raw(inst).operands = [];
      if (own !== undefined) {
        const { operands } = raw(inst);
        for (let i = 0; i < operands.length; i++) {
          const operand = operands[i]!;
          if (operand.valueKind === "argument") operands[i] = fn.args[own.place[operand.index]!]!;
        }
      }
      kept.push(inst);
    }
    raw(block).insts = kept;
  }

  private rewriteCall(call: CallInst): Inst {
    const target = this.program.targetOf(call);
    if (target === undefined) return call;
    const change = this.changes.get(target);
    if (change !== undefined) return changeCall(call, change, target.fn);
    if (passesUnread(call, target)) this.passNothing(call, target);
    return call;
  }

  /** Nothing reads some of the arguments, but they have to stay. */
  private passNothing(call: CallInst, { fn, liveParameters }: FunctionLiveness): void {
    const { operands } = raw(call);
    for (let i = 0; i < liveParameters.length; i++)
      if (liveParameters[i] === 0) {
        operands[i + 1] = new ConstUndef(fn.args[i]!.type, true);
        this.context.count("undefined");
      }
    const admit = ({ fn: own, result, parameters }: AttributeList): AttributeList =>
      new AttributeList(
        own,
        result,
        parameters.map((set, i) => (liveParameters[i] === 0 ? withoutClaims(set) : set)),
      );
    fn.attributes = admit(fn.attributes);
    setCallData(call, { ...call.data, attributes: admit(call.data.attributes) });
  }
}

/** A function whose signature stays is passed something for a parameter that it does not read. */
function passesUnread({ operands }: CallInst, { isClosed, liveParameters }: FunctionLiveness): boolean {
  if (isClosed) return false;
  for (let i = 0; i < liveParameters.length; i++)
    if (liveParameters[i] === 0 && operands[i + 1]!.valueKind !== "undef") return true;
  return false;
}

export const deadargelim: ModulePass = {
  name: "deadargelim",
  level: "module",
  description:
    "removes parameters and variables that nothing reads, results that nobody uses, and what only computed them",
  counters: {
    parameters: "parameters removed",
    results: "results removed",
    variable: "functions that no longer take variable arguments",
    undefined: "arguments that nothing reads made undefined",
    instructions: "instructions removed that only computed such",
  },
  requires: [callGraph, variableUses],
  preserves: [],
  run(module, context) {
    return new Rewriter(new Program(module, context), context).run();
  },
};
