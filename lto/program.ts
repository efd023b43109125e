/**
 * Code generation of a whole program with interprocedural register allocation.
 *
 * Beyond this point no function changes its callees:
 *   1. components of the call graph, callees first: select and allocate each function, with the clobber masks
 *      of the callees that are done. Within a recursive component calls obey the platform's convention; what
 *      the component as a whole changes — the least fixpoint — is published when all of it is allocated;
 *   2. place the saves of callee-saved registers for the program (save-placement.ts);
 *   3. finish each function: frame with the saves it was given, peepholes, layout.
 *
 * A session does this for one thread; with several, each thread has a session with a share of the functions,
 * and what crosses threads are the facts and masks below, plain numbers. The outcome is the same for any
 * number of sessions, since every step's inputs are fixed by the call graph.
 */
import { guardIndirectCalls } from "./analysis/function-pointers/guard.js";
import { type IndirectCalls, unknownIndirectCalls } from "./analysis/function-pointers/index.js";
import { type ArgumentFlow, argumentFlow } from "./codegen/ipra/argument-flow.js";
import { callFrequencies } from "./codegen/ipra/call-frequency.js";
import { chooseConventions } from "./codegen/ipra/choose-conventions.js";
import { ClobberStore } from "./codegen/ipra/clobber-store.js";
import { collectUsage } from "./codegen/ipra/collect.js";
import { type Placement, type PlacementFunction, placeSaves } from "./codegen/ipra/save-placement.js";
import { estimateFrequencies } from "./codegen/late/block-frequency.js";
import { type MBlock, MInst, type RegMask, RegOperand } from "./codegen/mir.js";
import { type PackedBody, packBody, unpackBody } from "./codegen/mir-pack.js";
import { registersIn } from "./codegen/regalloc/problem.js";
import { type Body, type BodyView, isIndirectCall, setCallData } from "./ir/instructions.js";
import type { Func, GlobalValue, Module } from "./ir/module.js";
import {
  allocateFunction,
  type CodegenOptions,
  type CompiledFunction,
  finishCompiled,
  goalOf,
} from "./pipeline.js";
import { type Convention, defaultConvention, substitutes, withArgument } from "./x64/frame/convention.js";
import { wantedExtras } from "./x64/frame/extra-registers.js";
import { X } from "./x64/isa/ops.js";
import { callClobbers, calleeSavedMask } from "./x64/isa/registers.js";
import { x64Target } from "./x64/target.js";

/** What the rest of the program needs to know of an allocated function. Plain data. */
export interface FunctionFacts {
  /** Registers changed by its own instructions and by calls of unknown code. */
  readonly written: RegMask;
  readonly returns: boolean;
  /** Calls of functions of the program. */
  readonly calls: readonly {
    /** Function number; beyond the last one, the set of functions that a call through a pointer can reach. */
    readonly callee: number;
    readonly liveAcross: RegMask;
    readonly tail: boolean;
    /** Estimated executions for one of the function. */
    readonly frequency: number;
  }[];
  /** Bytes count before executions. */
  readonly forSize: boolean;
  /** It relies by itself on the stack being aligned as the ABI says, on entry. */
  readonly aligned: boolean;
}

/** Functions that get code, in the order of the module; their positions are the function numbers. */
export function definedFunctions(module: Module): Func[] {
  return module.functions.filter((f) => !f.isDeclaration && f.linkage !== "available_externally");
}

/** The definition is what a call will reach: nothing can replace it at link or load time. */
export function isExact(fn: Func, options: Pick<CodegenOptions, "relocation">): boolean {
  if (fn.isLocal) return true;
  if (fn.linkage !== "external") return false;
  return options.relocation !== "pic" || fn.dsoLocal || fn.visibility !== "default";
}

const exits = {
  isEntry: (op: number): boolean => op === X.Entry,
  isReturn: (op: number): boolean => op === X.Ret,
  isTailCall: (op: number): boolean => op === X.TailCall || op === X.TailCallIndirect,
};

/** A function that waits for `finish`. */
interface Allocated {
  readonly compiled: CompiledFunction;
  readonly body: PackedBody;
  /** Estimated executions of its blocks, where that was asked. */
  readonly frequencies: Float64Array | undefined;
  /** Sets that its unknown calls through pointers may reach. */
  readonly lost: readonly number[];
}

/** One thread's share of code generation. */
export class CodegenSession {
  readonly functions: readonly Func[];
  private readonly numbers = new Map<GlobalValue, number>();
  private readonly store = new ClobberStore(callClobbers);
  /** Functions that wait for `finish`, packed. */
  private readonly allocated = new Map<number, Allocated>();

  constructor(
    private readonly module: Module,
    private readonly options: CodegenOptions,
    /** The `Convention` of each function, by number; none: the platform's. */
    private readonly conventions: Uint32Array = new Uint32Array(0),
    private readonly indirect: IndirectCalls = unknownIndirectCalls(0),
  ) {
    this.functions = definedFunctions(module);
    this.functions.forEach((fn, i) => {
      if (isExact(fn, options)) this.numbers.set(fn, i);
    });
  }

  /** Records the masks of functions allocated elsewhere (or here). */
  publish(masks: readonly (readonly [number, RegMask])[]): void {
    for (const [number, preserved] of masks) {
      const fn = this.functions[number]!;
      // A call of a definition that may be replaced can reach code that changes more.
      if (this.numbers.has(fn)) this.store.publish(fn, preserved);
    }
  }

  /** Registers that a call may change, as far as its callees are known by now. */
  private clobbersOf(callee: GlobalValue | null, calleeSet: number): RegMask {
    if (callee !== null || calleeSet < 0) return this.store.clobbersOf(callee);
    const { members, unknown } = this.indirect.sets[calleeSet]!;
    let clobbers = unknown ? callClobbers : 0;
    for (const member of members) clobbers |= this.store.clobbersOf(this.functions[member]!);
    return clobbers;
  }

  /** The number of what a call reaches, as in `FunctionFacts.calls`; undefined if it is unknown code. */
  private targetOf(callee: GlobalValue | null, calleeSet: number): number | undefined {
    if (callee !== null) return this.numbers.get(callee);
    return calleeSet < 0 ? undefined : this.functions.length + calleeSet;
  }

  private conventionOf(callee: GlobalValue | null): Convention {
    const number = callee === null ? undefined : this.numbers.get(callee);
    return (number === undefined ? undefined : this.conventions[number]) ?? defaultConvention;
  }

  /** Selects and allocates a function and keeps it. */
  allocate(number: number): FunctionFacts {
    const fn = this.functions[number]!;
    const sets = this.indirect.sites[number] ?? [];
    const body = fn.take();
    markIndirectCalls(body, sets);
    if (this.options.guardCallees === true) guardIndirectCalls(number, body, this.functions, this.indirect);
    const compiled = allocateFunction(fn, body, this.module.dataLayout, this.options, {
      clobbersOf: (callee, calleeSet) => this.clobbersOf(callee, calleeSet),
      conventionOf: (callee) => this.conventionOf(callee),
    });
    const forSize = compiled.machine.goal !== "speed";
    const frequencies = forSize ? undefined : estimateFrequencies(compiled.machine);
    const usage = collectUsage(compiled.machine, calleeSavedMask, exits, frequencies);
    const isNaked = fn.attributes.fn.has("naked");
    // The body of a naked function is assembly that says nothing of what it changes: it keeps to the convention.
    let written = usage.written | usage.unknownClobbers | (isNaked ? callClobbers : 0);
    const calls: FunctionFacts["calls"][number][] = [];
    // Arguments on the stack may be accessed as aligned ones.
    const { slots, incomingBytes } = compiled.machine;
    let aligned =
      x64Target.frame.reliesOnAlignment(compiled.machine) ||
      incomingBytes > 0 ||
      slots.some((s) => s.kind === "incoming");
    // The registers that address the frame hold a value across every call, though no operand shows it.
    const frame = x64Target.frame.reserved(compiled.machine);
    for (const { callee, calleeSet, liveAcross, tail, frequency } of usage.calls) {
      const target = this.targetOf(callee, calleeSet);
      if (target === undefined) {
        written |= callClobbers;
        aligned = true;
      } else
        calls.push({ callee: target, liveAcross: tail ? liveAcross : liveAcross | frame, tail, frequency });
    }
    // A call that was made anew on the way, and lost its set by that, may be any of those that are missing.
    const kept = calls.filter((call) => call.callee >= this.functions.length).length;
    const known = sets.filter((set) => set >= 0);
    const lost = kept < known.length ? [...new Set(known)].map((set) => this.functions.length + set) : [];
    for (const { callee, calleeSet, liveAcross, tail, frequency } of usage.calls)
      if (callee === null && calleeSet < 0)
        for (const set of lost)
          calls.push({ callee: set, liveAcross: tail ? liveAcross : liveAcross | frame, tail, frequency });
    if (isNaked) aligned = true;
    // An exception leaves a function too: only `nounwind` makes "never returns" final.
    const returns = usage.returns || isNaked || !fn.attributes.fn.has("nounwind");
    this.allocated.set(number, { compiled, body: packBody(compiled.machine), frequencies, lost });
    return { written, returns, calls, aligned, forSize };
  }

  /**
   * Finishes a function allocated here.
   * @param free caller-saved registers it may change
   * @param alignedOf whether a function, or what it calls, relies on an aligned stack
   */
  finish(
    number: number,
    saves: RegMask,
    free: RegMask,
    changesOf: (callee: number) => RegMask,
    alignedOf: (callee: number) => boolean = () => true,
  ): CompiledFunction {
    const { compiled, body, frequencies, lost } = this.allocated.get(number)!;
    this.allocated.delete(number);
    unpackBody(compiled.machine, body);
    // Later passes must see what calls really change, no less and no more: what they may use themselves is
    // judged by what the body changes, and calls within a recursive component were allocated with more.
    let written = 0;
    for (const block of compiled.machine.blocks)
      for (const inst of block.insts) {
        if (inst.op !== X.Entry) for (const def of inst.defs) if (def.loc >= 0) written |= 1 << def.loc;
        if (inst.extra?.kind === "call") {
          const { callee, calleeSet } = inst.extra;
          const target = this.targetOf(callee, calleeSet);
          if (target !== undefined) inst.clobbers = this.clobbersOf(callee, calleeSet) | changesOf(target);
          else if (callee === null) for (const set of lost) inst.clobbers |= changesOf(set);
        }
        written |= inst.clobbers;
      }
    for (const block of compiled.machine.blocks)
      untieTailCalls(block, saves, compiled.machine.resultRegisters);
    const allocation = { ...compiled.allocation, written };
    const finished = { machine: compiled.machine, allocation };
    const alignedCall = (callee: GlobalValue | null, calleeSet: number): boolean => {
      const target = this.targetOf(callee, calleeSet);
      return target === undefined || alignedOf(target);
    };
    const { shrinkWrap } = this.options;
    const wrapped = finishCompiled(finished, this.options, {
      saved: saves,
      scratch: free,
      alignedCall,
      shrinkWrap,
      ...(frequencies === undefined ? {} : { frequencies }),
    });
    return { ...finished, wrapped };
  }
}

/**
 * The convention of each function of a program, by function number.
 * @param look is shown each body, which is decoded for the decision and forgotten again
 */
export function decideConventions(
  module: Module,
  open: Uint8Array,
  options: CodegenOptions,
  look: (fn: number, body: BodyView) => void = () => {},
): Uint32Array {
  const functions = definedFunctions(module);
  const numbers = new Map<GlobalValue, number>(functions.map((fn, i) => [fn, i]));
  const eligible = Uint8Array.from(functions, (fn, i) =>
    open[i] === 0 && goalOf(fn, options.level) !== "none" ? 1 : 0,
  );
  const flows = functions.map((fn, i) => {
    const flow = argumentFlow(fn, (callee) => {
      const number = numbers.get(callee);
      return number === undefined || eligible[number] === 0 ? -1 : number;
    });
    look(i, fn.view());
    fn.release();
    return flow;
  });
  const extras = agreedExtras(functions, flows, eligible);
  const chosen = chooseConventions(
    flows,
    eligible,
    substitutes.map((register) => register >= 8),
  );
  return Uint32Array.from(functions, (_, f) => {
    let convention = extras[f]!;
    for (let which = 0; which < substitutes.length; which++)
      convention = withArgument(convention, which, chosen[f * substitutes.length + which]!);
    return convention;
  });
}

/**
 * The extra argument and result registers of each function. Unlike a register's substitute, they only work where
 * each call agrees with the definition on what is passed and returned, and where jumps that have to stay jumps do
 * not lead from one layout of the stack to another.
 */
function agreedExtras(
  functions: readonly Func[],
  flows: readonly ArgumentFlow[],
  eligible: Uint8Array,
): Uint32Array {
  const extras = Uint32Array.from(functions, (fn, f) => {
    const { rigid, leavesByMustTail } = flows[f]!;
    const bound = eligible[f] === 0 || rigid || leavesByMustTail;
    return bound || fn.valueType.isVarArg ? 0 : wantedExtras(fn);
  });
  for (const { mustTail, mismatched } of flows) {
    for (const callee of mustTail) extras[callee] = 0;
    for (const callee of mismatched) extras[callee] = 0;
  }
  return extras;
}

/** The sets of `indirect` as functions that jump to one of their members. */
export function setFacts({ sets }: IndirectCalls): FunctionFacts[] {
  return sets.map(({ members, unknown }) => ({
    written: unknown ? callClobbers : 0,
    returns: true,
    calls: members.map((callee) => ({
      callee,
      liveAcross: 0,
      tail: true,
      frequency: 1 / members.length,
    })),
    aligned: unknown,
    forSize: true,
  }));
}

/** What a call changes, by the number of its callee in `FunctionFacts.calls`. @param changed by each function */
export function changesByCallee(
  { sets }: IndirectCalls,
  changed: readonly RegMask[],
): (callee: number) => RegMask {
  return (callee) => {
    if (callee < changed.length) return changed[callee]!;
    const { members, unknown } = sets[callee - changed.length]!;
    return members.reduce((mask, member) => mask | changed[member]!, unknown ? callClobbers : 0);
  };
}

/** The masks that a component's allocation lets its callers rely on. */
export function publishComponent(
  members: readonly number[],
  facts: (number: number) => FunctionFacts,
  changedBy: (number: number) => RegMask,
): RegMask {
  const inside = new Set(members);
  let changed = 0;
  for (const member of members) {
    const { written, calls } = facts(member);
    changed |= written;
    for (const { callee } of calls) if (!inside.has(callee)) changed |= changedBy(callee);
  }
  return changed & callClobbers;
}

/** Decides the saves of the whole program. */
export function decideSaves(facts: readonly FunctionFacts[], open: Uint8Array): Placement {
  const runs = callFrequencies(facts.map((f, i) => ({ open: open[i] === 1, calls: f.calls })));
  const functions: PlacementFunction[] = facts.map((f, i) => ({
    open: open[i] === 1,
    forSize: f.forSize,
    executions: runs[i]!,
    writes: f.written & calleeSavedMask,
    returns: f.returns,
    calls: f.calls,
  }));
  return placeSaves(functions, calleeSavedMask, (register) => x64Target.registers.saveCost(register));
}

/** Which functions need an aligned stack on entry: by themselves, or for what they call. 1 a function that does. */
export function alignmentNeeds(facts: readonly FunctionFacts[]): Uint8Array {
  const callers: number[][] = facts.map(() => []);
  facts.forEach((f, caller) => {
    for (const { callee } of f.calls) callers[callee]!.push(caller);
  });
  const needs = Uint8Array.from(facts, (f) => Number(f.aligned));
  const work: number[] = [];
  for (let f = 0; f < facts.length; f++) if (needs[f] === 1) work.push(f);
  for (let f = work.pop(); f !== undefined; f = work.pop())
    for (const caller of callers[f]!)
      if (needs[caller] === 0) {
        needs[caller] = 1;
        work.push(caller);
      }
  return needs;
}

/** Without interprocedural allocation: each function saves what it writes. */
export function localSaves(facts: readonly FunctionFacts[]): Placement {
  return {
    saves: facts.map((f) => f.written & calleeSavedMask),
    changes: facts.map(() => 0),
  };
}

/** Counts for `--stats`. */
export interface IpraStatistics {
  /** Functions that write a callee-saved register and save none. */
  readonly functionsWithoutSaves: number;
  /** Saves that callers spared, registers times functions. */
  readonly savesRemoved: number;
  /** Calls whose mask is narrower than the convention's. */
  readonly narrowedCalls: number;
  /** Calls through a pointer whose callees are all known. */
  readonly knownIndirectCalls: number;
}

export function ipraStatistics(
  facts: readonly FunctionFacts[],
  placement: Placement,
  changedBy: (callee: number) => RegMask,
  { sets }: IndirectCalls,
): IpraStatistics {
  let functionsWithoutSaves = 0;
  let savesRemoved = 0;
  let narrowedCalls = 0;
  let knownIndirectCalls = 0;
  facts.forEach((f, i) => {
    const writes = f.written & calleeSavedMask;
    const removed = writes & ~placement.saves[i]!;
    if (writes !== 0 && placement.saves[i] === 0) functionsWithoutSaves++;
    savesRemoved += bitCount(removed);
    for (const { callee } of f.calls) {
      if ((callClobbers & ~changedBy(callee)) !== 0) narrowedCalls++;
      if (callee >= facts.length && !sets[callee - facts.length]!.unknown) knownIndirectCalls++;
    }
  });
  return { functionsWithoutSaves, savesRemoved, narrowedCalls, knownIndirectCalls };
}

function bitCount(mask: RegMask): number {
  let n = 0;
  for (let rest = mask >>> 0; rest !== 0; rest &= rest - 1) n++;
  return n;
}

/** Tells the calls through pointers of a body which sets of functions they can reach. */
function markIndirectCalls(body: Body, sets: readonly number[]): void {
  if (!sets.some((set) => set >= 0)) return;
  let site = 0;
  for (const { insts } of body.blocks)
    for (const inst of insts) {
      if (!isIndirectCall(inst)) continue;
      const calleeSet = sets[site++]!;
      if (calleeSet >= 0) setCallData(inst, { ...inst.data, calleeSet });
    }
}

/**
 * A tail call that passes an argument in a register which the function has to restore first becomes a call.
 * The results are in the same places: the function returns what its callee returns.
 */
function untieTailCalls(block: MBlock, saves: RegMask, results: RegMask): void {
  const last = block.insts.length - 1;
  const inst = block.insts[last];
  if (inst === undefined || inst.op !== X.TailCall) return;
  if (!inst.uses.some((use) => use.loc >= 0 && ((saves >>> use.loc) & 1) === 1)) return;
  inst.op = X.Call;
  if (inst.extra?.kind === "call") inst.extra = { ...inst.extra, noReturn: false };
  const ret = new MInst(X.Ret, 8);
  for (const register of registersIn(results)) {
    inst.defs.push(RegOperand.physical(register));
    ret.uses.push(RegOperand.physical(register));
  }
  block.insts.push(ret);
}
