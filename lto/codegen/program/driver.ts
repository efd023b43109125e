/**
 * Code generation of a whole program, from its plan to the text of its functions.
 *
 * The order, and why:
 *   1. compile  — components of the call graph, callees first, so that a function is compiled with the clobber masks
 *      of its callees. Within a recursive component calls obey the platform's convention; what the component changes
 *      as a whole is published when all of it is allocated, and the next wave starts from there.
 *      Beyond this point no function changes what it writes or whom it calls.
 *   2. decide   — who saves the callee-saved registers, once it is known of every function which it writes and which
 *      its callers keep values in; and which calls need an aligned stack. Nothing has to be allocated again: a
 *      register is let go only where no value relies on it.
 *      Beyond this point every function's contract with its callers is fixed.
 *   3. complete — frames with those saves, peepholes: function by function, which then wait packed.
 *      Beyond this point no step on one function changes its instructions.
 *   4. steps on the program — all final code is there to be seen and changed (late/pipeline.ts).
 *      Beyond this point nothing changes an instruction.
 *   5. emit     — layout, unwind directives, text: function by function.
 *
 * Which thread does what is the business of `FunctionCompilers`; what is done follows from the plan alone.
 */

import { callWork } from "../../analysis/loop-shares.js";
import { retainedIn } from "../../analysis/references.js";
import type { Module } from "../../ir/module.js";
import { Remarks } from "../../pass/remarks.js";
import { emptyReport, mergeReports, type PassReport } from "../../pass/report.js";
import { layOutFunction } from "../late/finish.js";
import { orderFunctions } from "../late/function-order.js";
import type { GlobalCluster } from "../late/global-cluster.js";
import {
  fallThroughStep,
  outlineStep,
  type ProgramStep,
  repack,
  shareEpiloguesStep,
} from "../late/pipeline.js";
import { ProgramCode } from "../late/program-code.js";
import { sectionAnchors } from "../late/section-anchors.js";
import { epilogueRemarks, shareEpilogues } from "../late/share-epilogues.js";
import type { MFunction, MInst } from "../mir.js";
import { nothingOutlined, type OutlineReport, outlineCode, type ProgramTime } from "../outline/outliner.js";
import { outlineRemarks } from "../outline/remarks.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import { type RegisterSet, union } from "../register-set.js";
import type { Target, TargetRegisters } from "../target.js";
import { alignmentNeeds } from "./alignment.js";
import { type FunctionFacts, setFacts } from "./facts.js";
import type { Decisions, FunctionCompilers, PrintedFunction, PublishedMask } from "./function-compilers.js";
import { type CalleeNumber, type FunctionNumber, Numbering } from "./numbering.js";
import { type CodegenOptions, doesIpra, goalOf, type IpraOptions } from "./options.js";
import type { ProgramPlan } from "./plan.js";
import { changedByComponent, changesByCallee } from "./publication.js";
import { decideSaves, executionsOf, localSaves, worksOf } from "./saves.js";
import {
  type CodegenStatistics,
  type IpraStatistics,
  instructionCount,
  ipraStatistics,
} from "./statistics.js";

export interface GeneratedCode {
  /** Registers that a call of each function may change, by number. */
  readonly clobbers: readonly RegisterSet[];
  /** Callee-saved registers that each function saves and restores, likewise. */
  readonly saved: readonly RegisterSet[];
  /** Variables that the code expects to find side by side. */
  readonly cluster: GlobalCluster | null;
  readonly statistics: CodegenStatistics;
  readonly passes: PassReport;
}

export type CodegenPhase = "compile" | "complete" | "program steps" | "emit";

/** What code is generated for. */
export interface CodegenJob {
  readonly module: Module;
  readonly plan: ProgramPlan;
  readonly options: CodegenOptions;
  readonly target: Target;
}

/**
 * @param write takes the functions, and those that were made of repeated code
 * @param print gives a function of the latter, which is laid out, its text
 * @param finished is told the name of each phase that is over
 * @throws InputError, InternalError
 */
export async function generateCode(
  job: CodegenJob,
  compilers: FunctionCompilers,
  write: (printed: PrintedFunction) => void,
  print: (mf: MFunction) => PrintedFunction,
  finished: (phase: CodegenPhase) => void = () => {},
): Promise<GeneratedCode> {
  const { decisions, executions, works, statistics } = await allocateAndDecide(job, compilers);
  finished("compile");
  await compilers.complete(decisions);
  finished("complete");
  const remarks = Remarks.wantedBy(job.options.passes);
  let outlined = nothingOutlined;
  const steps = programSteps(job, decisions, { executions, works }, remarks, (report) => {
    outlined = report;
  });
  const code = steps.length > 0 ? await takeProgramSteps(steps, job, compilers) : null;
  if (steps.length > 0) finished("program steps");
  const addedInstructions = await emit(code, job.plan.open.length, compilers, write, print);
  finished("emit");
  return {
    clobbers: decisions.scratch,
    saved: decisions.saved,
    cluster: code?.cluster ?? null,
    statistics: {
      ...compilers.statistics,
      ...statistics,
      ...outlined,
      machineInstructions: compilers.statistics.machineInstructions + addedInstructions,
    },
    passes: mergeReports([compilers.passes, { ...emptyReport, remarks: remarks?.take() ?? [] }]),
  };
}

/** Steps 1 and 2, after which the facts of all functions are forgotten. */
async function allocateAndDecide(
  { plan, options, target: { registers } }: CodegenJob,
  compilers: FunctionCompilers,
): Promise<Decided> {
  const allocated = await allocateInWaves(plan, options, registers.callClobbers, compilers);
  return decide(plan, options, registers, allocated);
}

/** What step 4 consists of. @param outlined is told what outlining did */
function programSteps(
  { module, options }: CodegenJob,
  { aligned }: Decisions,
  { executions, works }: Pick<Decided, "executions" | "works">,
  remarks: Remarks | null,
  outlined: (report: OutlineReport) => void,
): ProgramStep[] {
  const { outline, level, sharedUnwind, relocation, sizeTime } = options;
  const steps: ProgramStep[] = [];
  const numbering = new Numbering(module, relocation);
  const forSize = numbering.functions.some((fn) => /size$/.test(goalOf(fn, level)));
  // Before code is shared. Where each variable has a section, the linker decides where it lies.
  if (options.baseRegister && options.dataSections !== true && forSize) steps.push(sectionAnchors);
  const names = new Set(module.globals.map((global) => global.name));
  const isTaken = (name: string): boolean => names.has(name);
  if (outline !== null && forSize) {
    const alignedCall = ({ extra }: MInst): boolean => {
      if (extra?.kind !== "call") return true;
      const reached = numbering.calleeOf(extra.callee, extra.calleeSet);
      return reached === undefined || aligned[reached] === 1;
    };
    const workOf: ProgramTime["workOf"] = (callee, calleeSet) => {
      const reached = numbering.calleeOf(callee, calleeSet);
      return reached === undefined ? callWork : works[reached]!;
    };
    const outlining = {
      ...outline,
      sharedUnwind,
      time: { sizeTime, executions, workOf },
      remarks: remarks?.wants(outlineRemarks) === true ? remarks : null,
    };
    const run = (code: ProgramCode): void => outlined(outlineCode(code, outlining, alignedCall, isTaken));
    steps.push({ name: outlineStep.name, run });
  }
  // After the outliner, which would take the jumps for code to share.
  if (options.sharedEpilogues && forSize)
    steps.push({
      name: shareEpiloguesStep.name,
      run: shareEpilogues(sharedUnwind, isTaken, remarks?.wants(epilogueRemarks) === true ? remarks : null),
    });
  // Where each function has a section, the linker decides what follows it. After all that adds functions and jumps.
  if (options.functionLayout && options.functionSections !== true && forSize)
    steps.push({ name: fallThroughStep.name, run: orderFunctions((callee) => numbering.numberOf(callee)) });
  return options.checkPacking === true ? [...steps, repack] : steps;
}

/** Step 4. @returns the code with the functions that the steps made, and the order of all */
async function takeProgramSteps(
  steps: readonly ProgramStep[],
  { module, target, options }: CodegenJob,
  compilers: FunctionCompilers,
): Promise<ProgramCode> {
  const functions = await compilers.collect();
  const code = new ProgramCode(functions, new SymbolNumbers(module), target, {
    globals: module.globals,
    layout: module.dataLayout,
    retained: retainedIn(module),
    isPositionIndependent: options.relocation !== "static",
    origins: module.origins,
  });
  for (const step of steps) step.run(code);
  await compilers.replace(functions);
  return code;
}

/**
 * Step 5, of the program's functions and of those that were added, in the order of the code.
 * @param count of the program's functions
 * @returns instructions of those that were added
 */
async function emit(
  code: ProgramCode | null,
  count: number,
  compilers: FunctionCompilers,
  write: (printed: PrintedFunction) => void,
  print: (mf: MFunction) => PrintedFunction,
): Promise<number> {
  const order = code?.order ?? Array.from({ length: code?.count ?? count }, (_, number) => number);
  let instructions = 0;
  let at = 0;
  /** Those that were added, up to the next of the program's. */
  const writeAdded = (): void => {
    for (; at < order.length && order[at]! >= count; at++) {
      const mf = code!.view(order[at]!);
      layOutFunction(mf);
      instructions += instructionCount(mf);
      write(print(mf));
    }
  };
  const own = order.filter((number): number is FunctionNumber => number < count);
  await compilers.emit(own, (printed) => {
    writeAdded();
    at++;
    write(printed);
  });
  writeAdded();
  return instructions;
}

interface Decided {
  readonly decisions: Decisions;
  /** Estimated, of each function, by number. */
  readonly executions: Float64Array;
  /** Instructions that a call executes, estimated, of functions and sets of callees. */
  readonly works: Float64Array;
  readonly statistics: IpraStatistics;
}

interface AllocatedProgram {
  readonly facts: readonly FunctionFacts[];
  /** Registers that each function changes, of those that calls of unknown code may change. */
  readonly changed: readonly RegisterSet[];
  readonly changedBy: (callee: CalleeNumber) => RegisterSet;
}

/** Step 1. */
async function allocateInWaves(
  plan: ProgramPlan,
  options: IpraOptions,
  callClobbers: RegisterSet,
  compilers: FunctionCompilers,
): Promise<AllocatedProgram> {
  const count = plan.open.length;
  const facts = new Array<FunctionFacts>(count);
  const changed = new Array<RegisterSet>(count).fill(callClobbers);
  const changedBy = changesByCallee(plan.indirect, changed, callClobbers);
  for (const wave of plan.waves) {
    const components = wave.map((c) => plan.components[c]!);
    const results = await compilers.allocate(components);
    const masks: PublishedMask[] = [];
    components.forEach((members, c) => {
      members.forEach((member, k) => {
        facts[member] = results[c]![k]!;
      });
      if (!doesIpra(options, "masks")) return;
      const mask = changedByComponent(members, (n) => facts[n]!, changedBy, callClobbers);
      for (const member of members) {
        changed[member] = mask;
        masks.push([member, mask]);
      }
    });
    if (masks.length > 0) compilers.publish(masks);
  }
  return { facts, changed, changedBy };
}

/** Step 2. */
function decide(
  plan: ProgramPlan,
  options: IpraOptions,
  registers: TargetRegisters,
  { facts, changed, changedBy }: AllocatedProgram,
): Decided {
  // Sets of callees take part in what concerns the whole program as functions do.
  const all = [...facts, ...setFacts(plan.indirect, registers.callClobbers)];
  const open = new Uint8Array(all.length);
  open.set(plan.open);
  const executions = executionsOf(all, open, plan.entries);
  const saves = doesIpra(options, "saves")
    ? decideSaves(all, open, executions, registers)
    : localSaves(all, registers);
  const decisions: Decisions = {
    saved: saves.saved.slice(0, facts.length),
    scratch: facts.map((_, n) => union(changed[n as FunctionNumber]!, saves.changed[n]!)),
    changed: saves.changed,
    aligned: doesIpra(options, "alignment") ? alignmentNeeds(all) : new Uint8Array(all.length).fill(1),
  };
  const statistics = ipraStatistics(facts, saves, changedBy, plan.indirect, registers);
  return { decisions, executions, works: worksOf(all), statistics };
}
