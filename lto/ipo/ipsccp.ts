/**
 * ipsccp: interprocedural sparse conditional constant propagation, with intervals of integers.
 *
 * Problem: a parameter that every caller passes the same constant for, a function that always returns the same value, a
 * variable that nobody sets to anything but its first value; and code that only runs otherwise.
 *
 *     static int level = 0;  static void log(int to) { if (level > 2 && to == 1) … }      every caller passes 1
 *
 * Method: one optimistic fixpoint over the program. No function is reached and nothing is known, but that unknown code
 * may call what it can see. Each function has a `ConstantSolver`; reached calls join their arguments into the callee's
 * parameters, reached returns into the function's result, reached stores into the variable. Whoever read a fact that
 * gets lower is swept again. An integer that is no constant is an interval, which branches narrow (`conditions.ts`):
 * it decides comparisons and cases of switches, makes signed operations unsigned ones, and stays as an attribute
 * (`range`) of parameters and results that are `noundef`. A fact gets lower ten times at most; functions are swept in the
 * order in which they were first reached, callers before callees, so most are swept once or twice. At -Oz .text of lz4 is
 * 0.987, of bzip2 0.993, of zlib 0.994, of lua 1.000 of what it is without what branches and operations say of integers.
 *
 * Why first: what it deletes no other pass has to look at.
 *
 * Proof obligations:
 *  - a parameter is tracked only where every call is seen: the function is local, no address of it is known to anybody,
 *    no assembly mentions it; other functions' parameters may be anything;
 *  - a parameter whose pointer is not what the caller passes (byval, inalloca, preallocated) or whose value belongs to
 *    the convention (swifterror) may be anything;
 *  - a result is tracked only where the definition is the one that runs (not weak, not replaceable at load time);
 *  - a variable is tracked only where it is local, defined, and all that is done with it are plain loads and stores of
 *    its own type, and no assembly mentions it; a load of another type, an address that is kept, a volatile or atomic
 *    access end that;
 *  - naked and unoptimised functions are left as they are, and what they touch may be anything;
 *  - a call of a function through another type, or with too few arguments, passes anything.
 *
 * Breaks if: a call graph misses a way into a local function.
 */
import { type ProgramVariableUses, Use } from "../analysis/variable-uses.js";
import { AttributeList, AttributeSet, IntegerRange } from "../ir/attributes.js";
import { Folder, floatModeOf } from "../ir/fold/index.js";
import { type CallInst, type Inst, type InstWith, isPlainAccess, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { voidType } from "../ir/types.js";
import type { Argument, Constant, Value } from "../ir/values.js";
import { Inflow, isConstantFact, type Known, unknown, varying } from "../opt/constants/lattice.js";
import { resultOfIntrinsic } from "../opt/constants/local.js";
import { findRelaxed, rewriteConstants } from "../opt/constants/rewrite.js";
import { ConstantSolver, type Surroundings, settled } from "../opt/constants/solver.js";
import { callGraph, variableUses } from "../pass/analyses.js";
import type { ModulePass, PassContext } from "../pass/pass.js";

type KnownOf = (value: Value) => Known;

/** A function of the program and what is known of it. */
class Subject implements Surroundings {
  solver: ConstantSolver | null = null;
  readonly parameters: readonly Inflow[];
  readonly result: Inflow;
  isWaiting = false;
  readonly folder: Folder;
  /** By call whose result matters: where it is. */
  private readonly calls = new Map<CallInst, Subject>();
  /** Every parameter may be anything. */
  private takesAnything: boolean;

  constructor(
    readonly fn: Func,
    private readonly program: Program,
    /** All calls are seen. */
    readonly isClosed: boolean,
    /** What it returns is what calls of it get. */
    tracksResult: boolean,
    /** It may be rewritten. */
    readonly isOptimised: boolean,
  ) {
    this.parameters = fn.args.map((_, i) => new Inflow(isClosed && passesValue(fn, i) ? unknown : varying));
    this.takesAnything = !isClosed;
    this.result = new Inflow(tracksResult && fn.valueType.result !== voidType ? unknown : varying);
    this.folder = new Folder(program.layout, floatModeOf(fn));
  }

  /** A call of this function in reached code. @returns its result */
  enter(caller: Subject, call: CallInst, known: KnownOf): Known | typeof settled {
    let isNew = this.solver === null;
    if (!this.takesAnything) {
      this.takesAnything = true;
      for (let i = 0; i < this.parameters.length; i++) {
        const parameter = this.parameters[i]!;
        if (parameter.isAnything) continue;
        const passed = i < call.data.argumentCount ? call.operands[i + 1]! : null;
        const fits = passed !== null && passed.type === this.fn.args[i]!.type;
        if (parameter.add(fits ? known(passed) : varying)) {
          isNew = true;
          this.solver?.argumentChanged(this.fn.args[i]!);
        }
        if (!parameter.isAnything) this.takesAnything = false;
      }
    }
    if (isNew) this.program.enqueue(this);
    const { known: result } = this.result;
    if (result === varying || call.type !== this.fn.valueType.result)
      return this.takesAnything ? settled : varying;
    this.calls.set(call, caller);
    return result;
  }

  argument({ index }: Argument): Known {
    return this.parameters[index]!.known;
  }
  call(call: CallInst, known: KnownOf): Known | typeof settled {
    return this.program.call(this, call, known);
  }
  load(load: InstWith<Op.Load>, pointer: Known): Known {
    return this.program.load(this, load, pointer);
  }
  store(store: InstWith<Op.Store>, value: Known): void {
    this.program.store(store, value);
  }
  ret(value: Known): void {
    if (!this.result.add(value)) return;
    this.program.recheck(this.calls);
  }
  fold(inst: Inst, operands: readonly Constant[]): Constant | null {
    return this.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags);
  }
}

/** Attributes with which the callee gets something else than the operand, or more. */
const special = ["byval", "inalloca", "preallocated", "swifterror"];
const passesValue = (fn: Func, index: number): boolean => {
  const attributes = fn.attributes.parameter(index);
  return !special.some((name) => attributes.has(name));
};

/** A local variable that is only loaded and stored, as what it is. */
interface Variable {
  readonly type: GlobalVariable["valueType"];
  readonly value: Inflow;
  /** By load: where it is. */
  readonly loads: Map<Inst, Subject>;
}

/** Functions solved from one look at the memory in use to the next. */
const solvedApart = 64;

class Program {
  readonly layout;
  readonly subjects = new Map<GlobalValue, Subject>();
  readonly variables = new Map<GlobalValue, Variable>();
  private work: Subject[] = [];

  constructor(module: Module, context: PassContext) {
    this.layout = module.dataLayout;
    const graph = context.ofModule(callGraph);
    const open = new Set<GlobalValue>();
    graph.symbolOf.forEach((symbol, node) => {
      if (graph.openToCallers[node] === 1) open.add(module.globals[symbol]!);
    });
    for (const fn of module.functions) {
      if (fn.isDeclaration || fn.linkage === "available_externally") continue;
      const isOptimised = !fn.attributes.fn.has("naked") && !fn.attributes.fn.has("optnone");
      const isClosed = isOptimised && fn.isLocal && !open.has(fn);
      const isExact = fn.isLocal || (fn.linkage === "external" && fn.dsoLocal && fn.comdat === null);
      this.subjects.set(fn, new Subject(fn, this, isClosed, isOptimised && isExact, isOptimised));
    }
    this.findVariables(context.ofModule(variableUses));
    for (const subject of this.subjects.values()) if (!subject.isClosed) this.enqueue(subject);
  }

  private findVariables(uses: ProgramVariableUses): void {
    for (const [variable, { traits }] of uses.variables) {
      if ((traits & ~(Use.Read | Use.Written)) !== 0 || variable.externallyInitialized) continue;
      const { initializer: value, valueType: type } = variable;
      if (type.kind !== "int" && type.kind !== "ptr" && !type.isFloat) continue;
      this.variables.set(variable, { type, value: new Inflow(value!), loads: new Map() });
    }
  }

  enqueue(subject: Subject): void {
    if (subject.isWaiting) return;
    subject.isWaiting = true;
    this.work.push(subject);
  }

  /** What instructions give got lower. */
  recheck(givers: ReadonlyMap<Inst, Subject>): void {
    for (const [inst, subject] of givers) {
      subject.solver!.recheck(inst.parent!.id);
      this.enqueue(subject);
    }
  }

  /** @param partDone is called now and then: most of what is made on the way is garbage */
  solve(partDone: () => void): void {
    let solved = 0;
    while (this.work.length > 0) {
      const now = this.work;
      this.work = [];
      for (const subject of now) {
        if (++solved % solvedApart === 0) partDone();
        subject.isWaiting = false;
        if (subject.solver === null) {
          const body = subject.fn.view();
          subject.solver = new ConstantSolver(body, body.renumber(), subject, true);
        }
        subject.solver.solve();
      }
    }
  }

  call(caller: Subject, call: CallInst, known: KnownOf): Known | typeof settled {
    const place = call.operands[0]!;
    const callee = place.valueKind === "global" ? place : known(place);
    if (callee === unknown) return unknown;
    if (callee === varying) return settled;
    if (!isConstantFact(callee) || callee.valueKind !== "global") return varying;
    const subject = this.subjects.get(callee);
    if (subject !== undefined) return subject.enter(caller, call, known);
    const intrinsic = intrinsicOf(callee);
    if (intrinsic === null || !intrinsic.pure) return callee === place ? settled : varying;
    return resultOfIntrinsic(caller.folder, intrinsic, call, known);
  }

  load(reader: Subject, load: InstWith<Op.Load>, pointer: Known): Known {
    if (pointer === unknown) return unknown;
    if (!isConstantFact(pointer) || !isPlainAccess(load)) return varying;
    const variable = pointer.valueKind === "global" ? this.variables.get(pointer) : undefined;
    if (variable === undefined) return reader.folder.load(load.type, pointer) ?? varying;
    if (variable.type !== load.type) return varying;
    variable.loads.set(load, reader);
    return variable.value.known;
  }
  store(store: InstWith<Op.Store>, value: Known): void {
    const place = store.operands[1]!;
    const variable = place.valueKind === "global" ? this.variables.get(place) : undefined;
    if (variable === undefined) return;
    if (!variable.value.add(value)) return;
    this.recheck(variable.loads);
  }
}

export const ipsccp: ModulePass = {
  name: "ipsccp",
  level: "module",
  description:
    "propagates constants through parameters, results and local variables, and removes what never runs",
  counters: {
    parameters: "parameters that are constant",
    values: "values replaced by constants",
    branches: "branches decided",
    blocks: "blocks removed that nothing reaches",
    variables: "variables that keep one value",
    stores: "stores to such variables removed",
    operations: "operations that became cheaper, since operands are not negative",
  },
  requires: [callGraph, variableUses],
  preserves: [],
  run(module, context) {
    const program = new Program(module, context);
    program.solve(() => context.partDone());
    const constant = new Set<GlobalValue>();
    for (const [variable, { value }] of program.variables)
      if (isConstantFact(value.known)) constant.add(variable);
    context.count("variables", constant.size);
    let changed = false;
    for (const subject of program.subjects.values())
      if (subject.solver !== null && subject.isOptimised) {
        changed = rewrite(subject, constant, context) || changed;
        subject.solver = null;
      }
    return changed;
  },
};

function rewrite(subject: Subject, constant: ReadonlySet<GlobalValue>, context: PassContext): boolean {
  const { fn, parameters } = subject;
  const solver = subject.solver!;
  const fixed = fn.args.filter((_, i) => isConstantFact(parameters[i]!.known));
  const isDead = (inst: Inst): boolean =>
    inst.op === Op.Store && inst.operands[1]!.valueKind === "global" && constant.has(inst.operands[1]!);
  const isTold = tellBounds(subject);
  const relaxed = findRelaxed(fn.view(), solver);
  if (fixed.length === 0 && relaxed.size === 0 && !solver.findsAnything(isDead)) return isTold;
  const editor = fn.edit();
  const before = fn.revision;
  for (const argument of fixed) {
    if (!editor.hasUses(argument)) continue;
    editor.replaceAllUses(argument, parameters[argument.index]!.known as Constant);
    context.count("parameters");
  }
  const { values, branches, blocks, operations } = rewriteConstants(editor, solver, relaxed);
  let stores = 0;
  for (const { insts } of editor.body.blocks)
    for (const inst of [...insts])
      if (inst.parent !== null && isDead(inst)) {
        editor.erase(inst);
        stores++;
      }
  context.count("values", values);
  context.count("branches", branches);
  context.count("blocks", blocks);
  context.count("stores", stores);
  context.count("operations", operations);
  const done = values + branches + blocks + stores + operations + fixed.length;
  return isTold || fn.revision !== before || done > 0;
}

/** Says of parameters and the result what integers they are, for later passes. @returns whether anything was to say */
function tellBounds({ fn, parameters, result }: Subject): boolean {
  const { attributes } = fn;
  const { fn: own, result: ofResult } = attributes;
  const sets = fn.args.map((_, i) => withRange(attributes.parameter(i), parameters[i]!.known));
  const told = withRange(ofResult, result.known);
  if (told === ofResult && sets.every((set, i) => set === attributes.parameter(i))) return false;
  fn.attributes = new AttributeList(own, told, [...sets, ...attributes.parameters.slice(sets.length)]);
  return true;
}
/** Other numbers are poison then: only where undef is not allowed, which is any of them. */
function withRange(set: AttributeSet, known: Known): AttributeSet {
  if (known === unknown || known === varying || known.valueKind !== "interval") return set;
  if (!set.has("noundef") || set.range !== undefined) return set;
  const { type, least, largest } = known;
  const half = 1n << BigInt(type.bits - 1);
  const from = Number.isFinite(least) ? BigInt(least) : -half;
  const last = Number.isFinite(largest) ? BigInt(largest) : half - 1n;
  const range = new IntegerRange(type, from, BigInt.asIntN(type.bits, last + 1n));
  return new AttributeSet(new Map([...set.kinds, ["range", range]]), set.strings);
}
