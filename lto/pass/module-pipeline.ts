/**
 * Runs the whole-program part of a pipeline.
 *
 * Function passes that follow each other go through one function after another: a body is decoded once, all passes of
 * the stretch see it, and it rests in the module's pool; without room there it is encoded again if one of them changed
 * it. So at any time one body is decoded beside those, or one component's, however many passes there are. Passes on
 * the module look at all bodies: those that follow each other in one stage find them decoded.
 */

import type { BodyCodec, Func, Module } from "../ir/module.js";
import type { Steps } from "../ir/steps.js";
import type { Addresses } from "../target/addresses.js";
import { verifyFunction, verifyModule } from "../verify/verifier.js";
import { callGraph, summary } from "./analyses.js";
import type {
  ComponentPass,
  ComponentWalk,
  FunctionPass,
  Goal,
  ModulePass,
  Step,
  TrialCode,
} from "./pass.js";
import { FunctionRunContext, type PassRunner, ProgramRunContext, type Unit } from "./runner.js";

/** A part of a whole-program pipeline. */
export type Stage =
  | { readonly over: "module"; readonly steps: readonly Step<ModulePass>[] }
  /** Components of the call graph, callees first; function passes run on each function of the component. */
  | {
      readonly over: "components";
      readonly steps: readonly Step<ComponentPass | FunctionPass>[];
      /** The first step inlines; the others simplify what it has changed, in whatever order. */
      readonly role?: "inlining";
    }
  | { readonly over: "functions"; readonly steps: readonly Step<FunctionPass>[] };

export const onModule = (...steps: readonly Step<ModulePass>[]): Stage => ({ over: "module", steps });
export const bottomUp = (...steps: readonly Step<ComponentPass | FunctionPass>[]): Stage => ({
  over: "components",
  steps,
});
export const inlining = (
  inliner: Step<ComponentPass>,
  ...simplification: readonly Step<ComponentPass | FunctionPass>[]
): Stage => ({ over: "components", steps: [inliner, ...simplification], role: "inlining" });
export const onFunctions = (...steps: readonly Step<FunctionPass>[]): Stage => ({ over: "functions", steps });

/**
 * The steps are functions, or components of them, through one stage.
 * @param codec encodes bodies that were changed
 * @param trials generates code on trial; null: sizes are estimates
 * @param goalOf what each function is compiled for; passes that can be skipped leave functions without goal alone
 * @returns the number of the next run that can be skipped, for bisection
 */
export function* runModulePipeline(
  runner: PassRunner,
  stages: readonly Stage[],
  module: Module,
  codec: BodyCodec,
  goalOf: (fn: Func) => Goal,
  trials: TrialCode | null = null,
  addresses: Addresses = "anywhere",
): Steps<number> {
  const run = new ModuleRun(runner, module, codec, goalOf, trials, addresses);
  // Bodies are not decoded for passes that options leave out.
  const wanted = stages.filter((stage) => stage.steps.some((step) => runner.mayRun(step)));
  for (const [number, stage] of wanted.entries()) {
    for (const part of run.stage(stage)) yield { done: number + part, total: wanted.length };
    yield { done: number + 1, total: wanted.length };
  }
  run.finish();
  return run.next;
}

const hasBody = (fn: Func): boolean => !fn.isDeclaration;

/** Of each step the position of the last one before it with the same pass; -1: there is none. */
const earlier = (steps: readonly Step[]): number[] =>
  steps.map(({ pass }, i) => steps.slice(0, i).findLastIndex((step) => step.pass === pass));

/** A function on its way through the steps of a stage. */
interface Visit {
  readonly fn: Func;
  readonly goal: Goal;
  readonly context: FunctionRunContext;
  readonly unit: Unit;
  /** How often it was changed. */
  changes: number;
  /** By step: `changes` when its pass found nothing to do; -1: it did not run, or found something. */
  readonly idle: Int32Array;
}

class ModuleRun {
  /** Number of the next run that can be skipped. */
  next = 1;
  private readonly context: ProgramRunContext;
  /** Revisions of the bodies before all passes. */
  private readonly before: ReadonlyMap<Func, number>;

  constructor(
    private readonly runner: PassRunner,
    private readonly module: Module,
    private readonly codec: BodyCodec,
    private readonly goalOf: (fn: Func) => Goal,
    trials: TrialCode | null,
    addresses: Addresses,
  ) {
    const leave = (fn: Func): void => this.leave(fn);
    this.context = new ProgramRunContext(runner, module.dataLayout, goalOf, trials, addresses, leave);
    this.before = new Map(module.functions.map((fn) => [fn, fn.revision]));
  }

  private step(step: Step, unit: Unit, run: () => boolean): boolean {
    const number = this.next;
    if (!step.isRequired) this.next++;
    return this.runner.step(step, unit, number, run);
  }

  /** Runs a stage; between its steps the part of it that is done, below 1. */
  stage(stage: Stage): Generator<number, void, undefined> {
    if (stage.over === "module") return this.onModule(stage.steps);
    return stage.over === "components" ? this.bottomUp(stage.steps) : this.onFunctions(stage.steps);
  }

  private *onModule(steps: readonly Step<ModulePass>[]): Generator<number, void, undefined> {
    const { module } = this;
    const unit: Unit = {
      kind: "module",
      name: module.file,
      shown: () => module.functions.filter(hasBody),
      problems: () => verifyModule(module),
      bodies: () => [],
    };
    // Passes that follow each other look at the same bodies: those stay decoded until the last one is done.
    for (const [number, step] of steps.entries()) {
      yield number / steps.length;
      this.step(step, unit, () => step.pass.run(module, this.context));
      this.runner.cache.forgetBodies();
      this.runner.partDone();
    }
    for (const fn of module.functions) if (hasBody(fn)) this.leave(fn);
    this.runner.released();
  }

  private *onFunctions(steps: readonly Step<FunctionPass>[]): Generator<number, void, undefined> {
    const functions = this.module.functions.filter(hasBody);
    const before = earlier(steps);
    for (const [number, fn] of functions.entries()) {
      yield number / functions.length;
      const visit = this.visit(fn, steps.length);
      for (let s = 0; s < steps.length; s++) this.onFunction(steps[s]!, visit, s, before[s]!);
      this.leave(fn);
    }
  }

  private *bottomUp(
    steps: readonly Step<ComponentPass | FunctionPass>[],
  ): Generator<number, void, undefined> {
    const walks = new Map<ComponentPass, ComponentWalk>();
    const run = (pass: ComponentPass, functions: readonly Func[]): boolean => {
      if ("run" in pass) return pass.run(functions, this.context);
      let walk = walks.get(pass);
      if (walk === undefined) walks.set(pass, (walk = pass.begin(this.module, this.context)));
      return walk.run(functions);
    };
    const components = this.components();
    const before = earlier(steps);
    for (const [number, functions] of components.entries()) {
      yield number / components.length;
      const unit: Unit = {
        kind: "component",
        name: functions.map((fn) => fn.name).join(", "),
        shown: () => functions,
        problems: () => functions.flatMap((fn) => verifyFunction(fn)),
        bodies: () => functions.map((fn) => fn.view()),
      };
      let visits: Visit[] | null = null;
      for (let s = 0; s < steps.length; s++) {
        const { pass } = steps[s]!;
        if (pass.level === "function") {
          visits ??= functions.map((fn) => this.visit(fn, steps.length));
          const step = { ...steps[s]!, pass };
          for (const visit of visits) this.onFunction(step, visit, s, before[s]!);
          // What changed a component, its functions' attributes perhaps, nothing is known after.
        } else if (this.step(steps[s]!, unit, () => run(pass, functions))) visits = null;
      }
      for (const fn of functions) this.leave(fn);
    }
    for (const walk of walks.values()) if (walk.finish()) this.runner.cache.moduleChanged([]);
  }

  /** @param steps how many will be taken */
  private visit(fn: Func, steps: number): Visit {
    const goal = this.goalOf(fn);
    return {
      fn,
      goal,
      context: new FunctionRunContext(this.runner, this.module.dataLayout, goal, fn),
      unit: {
        kind: "function",
        name: fn.name,
        shown: () => [fn],
        problems: () => verifyFunction(fn),
        bodies: () => [fn.view()],
      },
      changes: 0,
      idle: new Int32Array(steps).fill(-1),
    };
  }

  /**
   * Takes a step on a function. What a pass finds depends on the body and on what no function pass changes, so it is not
   * asked again about a body in which it found nothing.
   * @param position of the step  @param before position of the same pass earlier on; -1: nowhere
   */
  private onFunction(step: Step<FunctionPass>, visit: Visit, position: number, before: number): void {
    const { fn, context, unit, idle, goal } = visit;
    if (!step.isRequired && goal === "none") return;
    if (step.isForChanged && !this.isChanged(fn) && !this.runner.isChosen(step.pass.name)) return;
    const changed = this.step(step, unit, () => {
      const isIdle = (before >= 0 && idle[before] === visit.changes) || !step.pass.run(fn, context);
      if (isIdle) idle[position] = visit.changes;
      return !isIdle;
    });
    if (changed) visit.changes++;
  }

  private isChanged(fn: Func): boolean {
    return fn.revision !== this.before.get(fn);
  }

  private leave(fn: Func): void {
    if (fn.isDecoded) this.runner.cache.forget(fn.view());
    this.module.pool.rest(fn, this.codec);
  }

  /**
   * Encodes all that was changed, if it may go to other threads or caches. Bodies that are compiled here rest as they are:
   * links of lua, mawk, libpng and gawk (-Oz, no outliners) take 0.976 of the processor time that they take with encoding
   * and decoding, and give the same bytes (geometric mean, least of five in turn).
   */
  finish(): void {
    // Looks at those bodies, while they are decoded.
    this.runner.cache.ofModule(summary);
    if (!this.codec.isPortable) return;
    for (const fn of this.module.functions) if (hasBody(fn) && this.isChanged(fn)) fn.commit(this.codec);
  }

  /** Functions of each component, callees first, as the call graph is before the stage. */
  private components(): Func[][] {
    const graph = this.runner.cache.ofModule(callGraph);
    const { members, count } = graph.components;
    const { globals } = this.module;
    const all: Func[][] = [];
    for (let c = 0; c < count; c++) {
      const functions: Func[] = [];
      for (let i = members.start[c]!; i < members.start[c + 1]!; i++) {
        const global = globals[graph.symbolOf[members.items[i]!]!]!;
        if (global.kind === "function" && hasBody(global)) functions.push(global);
      }
      if (functions.length > 0) all.push(functions);
    }
    return all;
  }
}
