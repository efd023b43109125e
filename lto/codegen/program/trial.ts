/**
 * Code generation on trial: how many bytes a function takes as it is, or would take after a change, before anything of
 * the program is decided. What passes that decide by size ask (`TrialCode`).
 *
 * Method: a copy of the body goes the way of a function alone, through simplification, lowering, selection, allocation,
 * frame, peepholes and layout, and its exact length is taken, with the bytes of its unwind tables. Callees are done
 * before their callers, so what calls change is known: masks and needs of alignment come from trials of the callees, made
 * when first asked for. Closed functions have the conventions that take all arguments and results in registers.
 *
 * What a trial does not see is decided later for the program as a whole: who saves callee-saved registers (here every
 * function saves its own), argument registers that the conventions exchange, code shared between functions.
 *
 * Budget: IR instructions, counted as they are compiled, so the answers depend on the order of questions and not on time.
 * A change that is not urgent may spend half of it.
 *
 * Costs as much as compiling the functions: with 100% as budget, links of four programs at -Oz (360 kB) took 1.4 times the
 * processor time for 0.1% of their bytes. Estimates decide most calls alike, so there is no budget by default.
 * Breaks if: compiling a function changes anything but its body.
 */
import { unknownIndirectCalls } from "../../analysis/function-pointers/index.js";
import { CloneMap, cloneBody } from "../../ir/clone.js";
import { InputError } from "../../ir/errors.js";
import { type Body, type BodyView, isCall } from "../../ir/instructions.js";
import { Func, type GlobalValue, type Module } from "../../ir/module.js";
import type { FunctionPass, Step, TrialChange, TrialCode, TrialSize } from "../../pass/pass.js";
import { FunctionRunContext, type PassRunner, runFunctionSteps, type Unit } from "../../pass/runner.js";
import { changesUnseen } from "../ipra/added-code.js";
import { boundsOf, unknownBounds } from "../ipra/variable-arguments.js";
import { completeFunction, laidOutSizes } from "../late/finish.js";
import type { LoweringPipelines } from "../lowering/index.js";
import type { MFunction } from "../mir.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import { intersect, type RegisterSet } from "../register-set.js";
import { type AllocationResult, OpFact, platformConvention, type Target } from "../target.js";
import { allocateFunction } from "./function.js";
import { type FunctionNumber, isExact } from "./numbering.js";
import { type CodegenOptions, goalOf } from "./options.js";

/** Callees that are compiled for the sake of a caller, one within the other. */
const deepest = 40;

/** What a trial of a function found. */
interface Trial {
  readonly revision: number;
  /** Null: it has inline assembly, or cannot be compiled. */
  readonly bytes: number | null;
  readonly size: TrialSize | null;
  /** Registers that a call may change. */
  readonly clobbers: RegisterSet;
  readonly aligned: boolean;
}

export interface TrialJob {
  readonly module: Module;
  readonly options: CodegenOptions;
  readonly target: Target;
  /** Of trials alone: what it counts and warns of is nobody's business. */
  readonly runner: PassRunner;
  readonly lowering: LoweringPipelines;
  /** What callers go through after a change, before they are compiled. */
  readonly simplification: readonly Step<FunctionPass>[];
  /** IR instructions that may be compiled. */
  readonly budget: number;
  /** And of functions that are looked at alone. */
  readonly budgetAlone: number;
}

export class TrialCodegen implements TrialCode {
  private readonly known = new Map<GlobalValue, Trial>();
  private readonly simplified = new Map<Func, { readonly revision: number; readonly bytes: number | null }>();
  private readonly atWork = new Set<GlobalValue>();
  private symbols: SymbolNumbers | null = null;
  private numbered = 0;
  private left: number;
  private leftAlone: number;

  get triesProgram(): boolean {
    return this.job.budget > 0;
  }

  constructor(private readonly job: TrialJob) {
    this.left = job.budget;
    this.leftAlone = job.budgetAlone;
  }

  /** Of the globals as they are now: passes add and remove some. */
  private currentSymbols(): SymbolNumbers {
    const { globals } = this.job.module;
    if (this.symbols === null || this.numbered !== globals.length) {
      this.symbols = new SymbolNumbers({ globals: [...globals] });
      this.numbered = globals.length;
    }
    return this.symbols;
  }

  sizeOf(fn: Func): number | null {
    return this.trialOf(fn)?.bytes ?? null;
  }

  sizeWith(fn: Func, change: TrialChange | null, isUrgent: boolean): number | null {
    if (this.left <= 0 || (!isUrgent && this.left * 2 < this.job.budget)) return null;
    if (change !== null) return this.simplifiedSize(fn, change);
    const known = this.simplified.get(fn);
    if (known?.revision === fn.revision) return known.bytes;
    const { revision } = fn;
    const bytes = this.simplifiedSize(fn, null);
    this.simplified.set(fn, { revision, bytes });
    return bytes;
  }

  sizeAlone(fn: Func): TrialSize | null {
    const body = fn.take();
    const count = instructionsOf(body);
    if (this.leftAlone < count) return null;
    this.leftAlone -= count;
    const size = this.attempt(fn, fn, body)?.size ?? null;
    // Neighbours without directives share a description.
    return size === null || size.tables === 0
      ? size
      : { ...size, tables: size.tables + this.job.target.costs.frames.sharedDescription };
  }

  private simplifiedSize(fn: Func, change: TrialChange | null): number | null {
    const original = fn.view();
    if (!isCopied(original)) return null;
    // With arguments of its own: use lists hang on them.
    const scratch = scratchOf(fn);
    const map = new CloneMap(scratch.args);
    scratch.define(cloneBody(original, map));
    change?.(scratch, map);
    const { runner, module, simplification, options } = this.job;
    const context = new FunctionRunContext(runner, module.dataLayout, goalOf(fn, options.level), scratch);
    runFunctionSteps(runner, simplification, scratch, context, unitOf(scratch), 1);
    runner.cache.forget(scratch.view());
    return this.compile(fn, scratch, scratch.take())?.bytes ?? null;
  }

  /** The trial of a function as it is; null: it cannot be copied, or there is nothing left of the budget. */
  private trialOf(fn: Func): Trial | null {
    const known = this.known.get(fn);
    if (known?.revision === fn.revision) return known;
    if (this.left <= 0 || this.atWork.has(fn) || this.atWork.size > deepest) return null;
    const { revision } = fn;
    const body = fn.source !== null ? fn.source.decode(fn) : copyOf(fn.view());
    const trial = body === null ? null : this.compile(fn, fn, body);
    if (trial !== null) this.known.set(fn, { ...trial, revision });
    return trial;
  }

  /**
   * @param fn the function of the program
   * @param subject itself, or a copy
   * @param body of the subject; it is consumed
   */
  private compile(fn: Func, subject: Func, body: Body): Trial | null {
    this.prepareCallees(fn, body);
    this.left -= instructionsOf(body);
    return this.attempt(fn, subject, body);
  }

  private attempt(fn: Func, subject: Func, body: Body): Trial | null {
    // Where variables are is nobody's business.
    body.hasDebug = false;
    try {
      return this.generate(fn, subject, body);
    } catch (e) {
      // Whoever compiles the function in earnest reports it.
      if (e instanceof InputError) return null;
      throw e;
    }
  }

  /** Callees first: code generation works on one function at a time. */
  private prepareCallees(fn: Func, body: BodyView): void {
    this.atWork.add(fn);
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        const callee = isCall(inst) ? inst.operands[0]! : null;
        if (callee?.valueKind === "global" && callee.kind === "function" && this.isKnowable(callee))
          this.trialOf(callee);
      }
    this.atWork.delete(fn);
  }
  /** A call is sure to reach the function's body, which there is. */
  private isKnowable(fn: Func): boolean {
    const { ipra, relocation } = this.job.options;
    return ipra && !fn.isDeclaration && isExact(fn, relocation);
  }

  private generate(fn: Func, subject: Func, body: Body): Trial {
    const { module, options, target, runner, lowering } = this.job;
    const callees = {
      clobbersOf: (callee: GlobalValue | null) =>
        this.calleeOf(callee)?.clobbers ?? target.registers.callClobbers,
      conventionOf: (callee: GlobalValue | null) => this.conventionOf(callee),
      passedTo: () => boundsOf(unknownBounds),
    };
    const knownCallees = {
      functions: [],
      indirect: unknownIndirectCalls(0),
      isRecursive: (callee: unknown) => callee === fn,
    };
    const { machine, allocation } = allocateFunction(
      subject,
      0 as FunctionNumber,
      body,
      module.dataLayout,
      { ...options, checkAllocation: false, verify: false },
      target,
      callees,
      { runner, pipelines: lowering, earlierRuns: 0, knownCallees },
    );
    runner.warnings.length = 0;
    return this.finish(fn, machine, allocation);
  }

  private finish(fn: Func, machine: MFunction, allocation: AllocationResult): Trial {
    const { registers, instructions, frame } = this.job.target;
    const alignedCall = (callee: GlobalValue | null): boolean => this.calleeOf(callee)?.aligned ?? true;
    let isMeasurable = true;
    let aligned = changesUnseen(fn) || frame.reliesOnAlignment(machine) || machine.incomingBytes > 0;
    for (const { insts } of machine.blocks)
      for (const { op, extra } of insts) {
        if ((instructions.facts[op]! & OpFact.Asm) !== 0) isMeasurable = false;
        if (extra?.kind === "call" && alignedCall(extra.callee)) aligned = true;
      }
    const clobbers = changesUnseen(fn)
      ? registers.callClobbers
      : intersect(allocation.written, registers.callClobbers);
    if (!isMeasurable)
      return { revision: 0, bytes: null, size: null, clobbers: registers.callClobbers, aligned: true };
    const { shrinkWrap, passes, sizeTime } = this.job.options;
    const scratch = clobbers;
    completeFunction(machine, allocation, {
      symbols: this.currentSymbols(),
      scratch,
      alignedCall,
      shrinkWrap,
      rules: { skipRule: passes.skipRule, ruleBisectLimit: null, sizeTime },
    });
    const size = laidOutSizes(machine);
    const bytes =
      size.code +
      size.tables +
      (machine.unwind === "none" ? 0 : machine.target.costs.frames.sharedDescription);
    return { revision: 0, bytes, size, clobbers, aligned };
  }

  /** What is known of a callee that a call is sure to reach. */
  private calleeOf(callee: GlobalValue | null): Trial | null {
    if (callee === null || callee.kind !== "function" || !this.isKnowable(callee)) return null;
    const known = this.known.get(callee);
    return known?.revision === callee.revision ? known : null;
  }

  private conventionOf(callee: GlobalValue | null): number {
    const { options, target } = this.job;
    if (!options.ipra || callee === null || callee.kind !== "function") return platformConvention;
    return callee.isLocal && !callee.isDeclaration
      ? target.conventions.wantedExtras(callee)
      : platformConvention;
  }
}

const instructionsOf = ({ blocks }: BodyView): number =>
  blocks.reduce((sum, { insts }) => sum + insts.length, 0);

/** Copies of blocks have no addresses. */
const isCopied = ({ blocks }: BodyView): boolean => blocks.every((block) => !block.addressTaken);
const copyOf = (body: BodyView): Body | null => (isCopied(body) ? cloneBody(body, new CloneMap()) : null);

/** A function that is in no module, with what says how it is compiled. */
function scratchOf(fn: Func): Func {
  const { attributes, linkage, visibility, callingConvention, personality, section, gc, align } = fn;
  return Object.assign(new Func(fn.name, fn.valueType), {
    attributes,
    linkage,
    visibility,
    callingConvention,
    personality,
    section,
    gc,
    align,
  });
}

const unitOf = (fn: Func): Unit => ({
  kind: "function",
  name: fn.name,
  shown: () => [],
  problems: () => [],
  bodies: () => [fn.view()],
});
