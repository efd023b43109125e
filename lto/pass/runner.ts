/**
 * Runs passes, and does for each of them what passes have no code for: skipping, bisecting, verifying, dumping, timing
 * and counting.
 *
 * A runner belongs to one thread. What it counts is in its report, plain data; several threads' reports add up to the
 * same, since runs are numbered by function and step and not in the order in which they happen.
 */

import { defaultSizeTime } from "../analysis/heat.js";
import type { DataLayout } from "../ir/data-layout.js";
import { DebugReconciliation } from "../ir/debug-reconcile.js";
import { InputError, InternalError } from "../ir/errors.js";
import type { Body, BodyView } from "../ir/instructions.js";
import type { Func, Module } from "../ir/module.js";
import type { Origins } from "../ir/origins.js";
import type { Addresses } from "../target/addresses.js";
import type { TargetCosts } from "../target/costs.js";
import { AnalysisCache } from "./analyses.js";
import { diffLines } from "./diff.js";
import type { PassOptions } from "./options.js";
import { type FoundOrigins, originProblems, originsIn } from "./origin-check.js";
import type {
  Analysis,
  AnyPass,
  FunctionAnalysis,
  FunctionContext,
  FunctionPass,
  Goal,
  ModuleAnalysis,
  PassContext,
  ProgramContext,
  Step,
  TrialCode,
} from "./pass.js";
import { Remarks } from "./remarks.js";
import { type PassReport, type RuleCount, sumOfRule, type Warning } from "./report.js";
import { type Clock, Trace } from "./trace.js";

/** What a runner cannot do itself. */
export interface RunnerServices {
  /** The function as text. */
  readonly print: (fn: Func) => string;
  readonly log: (text: string) => void;
  /** Of the machine that the program is for. */
  readonly costs: TargetCosts;
  /** What time is worth in code for size; without it, what it is where nobody says. */
  readonly sizeTime?: number;
  readonly now: Clock;
  /** Number of the thread in the trace. */
  readonly thread: number;
  /** Told when many bodies may have been let go. */
  readonly released?: () => void;
  /** Told now and then in between, when little of what was made since may be in use. */
  readonly partDone?: () => void;
}

/** What a pass is run on. */
export interface Unit {
  readonly kind: "module" | "component" | "function";
  /** For messages: a function's name, a component's, a module's file. */
  readonly name: string;
  /** Functions as they can be printed. */
  shown(): readonly Func[];
  /** What the verifier says; empty: nothing. */
  problems(): readonly string[];
  /** Bodies whose facts a change makes invalid. */
  bodies(): readonly BodyView[];
}

/** What a unit was before a pass. */
interface Observed {
  readonly text: string;
  readonly origins: FoundOrigins | null;
}

interface Sum {
  runs: number;
  milliseconds: number;
  instructions: number;
}

/** Whether a runner needs the text of what passes work on. */
export const showsText = (options: PassOptions): boolean =>
  options.verifyEach ||
  options.printChanged !== null ||
  options.printBefore.length > 0 ||
  options.printAfter.length > 0;

/** What passes get; the runner, which gives them, knows which pass asks. */
export class RunContext implements PassContext {
  constructor(
    protected readonly runner: PassRunner,
    readonly layout: DataLayout,
  ) {}
  ofModule<Result>(analysis: ModuleAnalysis<Result>): Result {
    this.runner.checkRequired(analysis);
    return this.runner.cache.ofModule(analysis);
  }
  ofBody<Result>(analysis: FunctionAnalysis<Result>, body: BodyView): Result {
    this.runner.checkRequired(analysis);
    return this.runner.cache.ofBody(analysis, body);
  }
  count(counter: string, by = 1): void {
    this.runner.count(counter, by);
  }
  countRule(rule: string, by: number): void {
    this.runner.countRule(rule, by);
  }
  get skippedRules(): readonly string[] {
    return this.runner.options.skipRule;
  }
  get costs(): TargetCosts {
    return this.runner.costs;
  }
  get sizeTime(): number {
    return this.runner.sizeTime;
  }
  get remarks(): Remarks | null {
    return this.runner.remarks;
  }
  get origins(): Origins | null {
    return this.runner.origins;
  }
}
/** For passes on the linked module. */
export class ProgramRunContext extends RunContext implements ProgramContext {
  constructor(
    runner: PassRunner,
    layout: DataLayout,
    readonly goalOf: (fn: Func) => Goal,
    readonly trials: TrialCode | null,
    readonly addresses: Addresses,
    readonly bodyDone: (fn: Func) => void,
  ) {
    super(runner, layout);
  }
  partDone(): void {
    this.runner.partDone();
  }
}
/** For a function of the linked module. */
export class FunctionRunContext extends RunContext implements FunctionContext {
  constructor(
    runner: PassRunner,
    layout: DataLayout,
    readonly goal: Goal,
    private readonly fn: Func,
  ) {
    super(runner, layout);
  }
  view(): BodyView {
    return this.fn.view();
  }
  rewrite(): Body {
    return this.runner.reconciles(this.fn.rewrite());
  }
}

export class PassRunner {
  readonly cache: AnalysisCache;
  readonly trace: Trace | null;
  /** Null if nobody wants them. */
  readonly remarks: Remarks | null;
  readonly origins: Origins | null;
  readonly warnings: Warning[] = [];
  private current: AnyPass | null = null;
  private readonly counts = new Map<AnyPass, Map<string, number>>();
  private readonly rules = new Map<string, RuleCount>();
  private readonly times = new Map<string, Sum>();
  private readonly observes: boolean;
  private readonly reconciled: DebugReconciliation[] = [];

  /** @param module null where functions come one at a time */
  constructor(
    readonly options: PassOptions,
    private readonly services: RunnerServices,
    private readonly module: Module | null,
  ) {
    this.origins = module?.origins ?? null;
    this.cache = new AnalysisCache(module);
    this.trace =
      options.timeTrace === null
        ? null
        : new Trace(services.now, services.thread, options.timeTraceGranularity);
    this.remarks = Remarks.wantedBy(options);
    this.observes = showsText(options);
  }

  get costs(): TargetCosts {
    return this.services.costs;
  }
  get sizeTime(): number {
    return this.services.sizeTime ?? defaultSizeTime;
  }

  /** Debug records of a body, whose lists the pass at work changes, are put right once it is over. */
  reconciles(body: Body): Body {
    if (body.hasDebug) this.reconciled.push(new DebugReconciliation(body));
    return body;
  }

  /** Many bodies may have been let go. */
  released(): void {
    this.services.released?.();
  }

  /** A pass on the program, or a part of one, is over. */
  partDone(): void {
    this.services.partDone?.();
  }

  /** Fails when the pass at work asks for what it did not say. */
  checkRequired(analysis: Analysis): void {
    const pass = this.current;
    if (pass !== null && !pass.requires.includes(analysis))
      throw new Error(`pass ${pass.name} uses ${analysis.name} without requiring it`);
  }
  count(counter: string, by: number): void {
    const pass = this.current!;
    if (pass.counters?.[counter] === undefined)
      throw new Error(`pass ${pass.name} has no counter '${counter}'`);
    let counts = this.counts.get(pass);
    if (counts === undefined) this.counts.set(pass, (counts = new Map()));
    counts.set(counter, (counts.get(counter) ?? 0) + by);
  }

  /** Counts what a rule of the pass at work did. */
  countRule(rule: string, applied: number): void {
    if (this.options.stats) this.addRule(`${this.current!.name}:${rule}`, applied, null);
  }

  /** Counts what rules on machine code did. @param of by position in `rules` */
  countRules(
    rules: readonly { readonly name: string }[],
    of: { readonly applied: Int32Array; readonly saved: Int32Array },
  ): void {
    if (!this.options.stats) return;
    for (let i = 0; i < rules.length; i++) {
      const applied = of.applied[i]!;
      if (applied === 0) continue;
      this.addRule(rules[i]!.name, applied, of.saved[i]!);
    }
  }

  private addRule(rule: string, applied: number, bytes: number | null): void {
    const count = { rule, applied, bytes };
    const before = this.rules.get(rule);
    this.rules.set(rule, before === undefined ? count : sumOfRule(before, count));
  }

  log(text: string): void {
    this.services.log(text);
  }

  /** Times a phase that is no pass; nested calls nest in the trace. */
  phase<Result>(name: string, detail: string, run: () => Result): Result {
    if (this.trace === null && !this.options.timePasses) return run();
    const start = this.services.now();
    try {
      return run();
    } finally {
      this.trace?.end(name, detail, start);
      this.addTime(name, this.services.now() - start, 0);
    }
  }
  private addTime(name: string, microseconds: number, instructions: number): void {
    let sum = this.times.get(name);
    if (sum === undefined) this.times.set(name, (sum = { runs: 0, milliseconds: 0, instructions: 0 }));
    sum.runs++;
    sum.milliseconds += microseconds / 1000;
    sum.instructions += instructions;
  }

  /** Everything so far, and forgets it. */
  takeReport(): PassReport {
    const report: PassReport = {
      times: [...this.times].map(([name, sum]) => ({ name, ...sum })),
      counts: [...this.counts].flatMap(([pass, counts]) =>
        [...counts].map(([counter, count]) => ({ pass: pass.name, counter, count })),
      ),
      rules: [...this.rules.values()],
      events: this.trace?.events.splice(0) ?? [],
      remarks: this.remarks?.take() ?? [],
      warnings: this.warnings.splice(0),
    };
    this.times.clear();
    this.counts.clear();
    this.rules.clear();
    return report;
  }

  /** Whether options let a step run; bisection may still leave out some of its runs. */
  mayRun({ pass, isRequired }: Step): boolean {
    if (pass.option !== undefined && !this.options.enabled.includes(pass.name)) return false;
    return isRequired || this.isLetRun(pass.name);
  }
  /** Whether a pass is among those named to run alone: it runs wherever it can. */
  isChosen(name: string): boolean {
    return this.options.onlyPasses?.includes(name) === true;
  }
  private isLetRun(name: string): boolean {
    const { skipPass, onlyPasses } = this.options;
    return !skipPass.includes(name) && (onlyPasses === null || onlyPasses.includes(name));
  }

  /** Whether a step runs at all. @param number of the run, for bisection; ignored for required steps */
  private isWanted(step: Step, unit: Unit, number: number): boolean {
    return this.mayRun(step) && (step.isRequired || this.wants(step.pass.name, unit, number));
  }

  /** Whether a step that can be left out runs: a pass, or what steps on machine code ask. */
  wants(name: string, unit: Pick<Unit, "kind" | "name">, number: number): boolean {
    const { optBisectLimit } = this.options;
    if (!this.isLetRun(name)) return false;
    if (optBisectLimit === null) return true;
    const runs = optBisectLimit < 0 || number <= optBisectLimit;
    this.services.log(
      `BISECT: ${runs ? "" : "NOT "}running pass (${number}) ${name} on ${unit.kind} ${unit.name}\n`,
    );
    return runs;
  }

  /**
   * Runs one step on one unit.
   * @param number of the run among those that may be skipped, from 1
   * @returns whether the pass changed anything
   * @throws InputError when the IR is broken afterwards and `--verify-each` is on
   */
  step(step: Step, unit: Unit, number: number, run: () => boolean): boolean {
    if (!this.isWanted(step, unit, number)) return false;
    const { pass } = step;
    const before = this.observes ? this.observeBefore(pass, unit) : null;
    this.current = pass;
    const observed = this.trace !== null || this.options.timePasses ? () => this.timed(pass, unit, run) : run;
    const hint = step.isRequired ? "" : ` (--skip-pass=${pass.name} goes without it)`;
    const changed = InternalError.in(`running pass ${pass.name} on ${unit.kind}`, unit.name, observed, hint);
    this.current = null;
    for (const records of this.reconciled.splice(0)) records.settle();
    if (changed) {
      for (const body of unit.bodies()) this.cache.changed(body, pass.preserves);
      this.cache.moduleChanged(pass.preserves);
    }
    if (before !== null) this.observeAfter(pass, unit, before, changed);
    return changed;
  }

  private timed(pass: AnyPass, unit: Unit, run: () => boolean): boolean {
    let instructions = 0;
    for (const body of unit.bodies()) for (const block of body.blocks) instructions += block.insts.length;
    const start = this.services.now();
    const changed = run();
    this.trace?.end(pass.name, unit.name, start);
    this.addTime(pass.name, this.services.now() - start, instructions);
    return changed;
  }

  private text(unit: Unit): string {
    const { filterFunction } = this.options;
    return unit
      .shown()
      .filter((fn) => filterFunction === null || fn.name === filterFunction)
      .map((fn) => this.services.print(fn))
      .join("\n");
  }

  private observeBefore(pass: AnyPass, unit: Unit): Observed {
    const { printBefore, printChanged, verifyEach } = this.options;
    const prints = printBefore.includes(pass.name) || printBefore.includes("all");
    const text = prints || printChanged !== null || verifyEach ? this.text(unit) : "";
    if (prints && text !== "") this.services.log(`${title("before", pass, unit)}${text}`);
    return { text, origins: verifyEach ? originsIn(unit.shown()) : null };
  }

  private observeAfter(pass: AnyPass, unit: Unit, observed: Observed, changed: boolean): void {
    const { text: before, origins } = observed;
    const { printAfter, printChanged, verifyEach } = this.options;
    const prints = printAfter.includes(pass.name) || printAfter.includes("all");
    const text = prints || printChanged !== null || verifyEach ? this.text(unit) : "";
    if (prints && text !== "") this.services.log(`${title("after", pass, unit)}${text}`);
    if (printChanged !== null && text + before !== "") {
      if (text === before) {
        if (printChanged === "full") this.services.log(title("after", pass, unit, "; nothing changed\n"));
      } else
        this.services.log(
          `${title("after", pass, unit)}${printChanged === "diff" ? diffLines(before, text) : text}`,
        );
    }
    if (!verifyEach) return;
    const problems = [...unit.problems()];
    if (!changed && text !== before) problems.push("the pass changed the IR and said that it did not");
    if (origins !== null && problems.length === 0)
      problems.push(...originProblems(pass, origins, originsIn(unit.shown()), this.module?.origins ?? null));
    for (const body of unit.bodies())
      for (const name of this.cache.stale(body)) problems.push(`the pass does not preserve '${name}'`);
    if (problems.length > 0)
      throw new InputError(
        `pass '${pass.name}' left ${unit.kind} '${unit.name}' broken: ${problems.slice(0, 20).join("; ")}`,
      );
  }
}

function title(when: "before" | "after", pass: AnyPass, unit: Unit, rest = ""): string {
  return `; *** IR ${when} ${pass.name} on ${unit.kind} ${unit.name} ***\n${rest}`;
}

/** How many runs of a list can be skipped: the numbers that bisection has to give each function. */
export const optionalSteps = (steps: readonly Step[]): number =>
  steps.filter((step) => !step.isRequired).length;

/**
 * Runs a list of function passes on one function.
 * @param first number of the first run that may be skipped
 * @returns whether any changed the function
 */
export function runFunctionSteps<Context extends FunctionContext>(
  runner: PassRunner,
  steps: readonly Step<FunctionPass<Context>>[],
  fn: Func,
  context: Context,
  unit: Unit,
  first: number,
): boolean {
  let number = first;
  let changed = false;
  for (const step of steps) {
    changed = runner.step(step, unit, number, () => step.pass.run(fn, context)) || changed;
    if (!step.isRequired) number++;
  }
  return changed;
}
