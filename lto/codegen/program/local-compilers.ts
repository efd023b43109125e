/** All of code generation in the thread that asks for it: at once, or in steps of a function. */
import { finish, type Steps } from "../../ir/steps.js";
import { emptyReport } from "../../pass/report.js";
import type { MFunction } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import type { FunctionFacts } from "./facts.js";
import type { FunctionCompiler } from "./function-compiler.js";
import type {
  Component,
  Decisions,
  FunctionCompilers,
  PrintedFunction,
  PublishedMask,
} from "./function-compilers.js";
import type { FunctionNumber } from "./numbering.js";
import { addStatistics, instructionCount, noFunctions } from "./statistics.js";

/** Takes all steps of a phase, or of a part of it. */
export type StepTaker = <Result>(
  phase: "compile" | "complete" | "emit",
  steps: Steps<Result>,
) => Result | Promise<Result>;

export class LocalCompilers implements FunctionCompilers {
  statistics = noFunctions;
  passes = emptyReport;

  private allocated = 0;

  /**
   * @param print gives a function that is laid out its text
   * @param take takes the steps of a phase
   */
  constructor(
    private readonly compiler: FunctionCompiler,
    private readonly print: (mf: MFunction) => PrintedFunction,
    private readonly take: StepTaker = (_, steps) => finish(steps),
  ) {}

  allocate(components: readonly Component[]): FunctionFacts[][] | Promise<FunctionFacts[][]> {
    return this.take("compile", this.allocateAll(components));
  }

  private *allocateAll(components: readonly Component[]): Steps<FunctionFacts[][]> {
    const total = this.compiler.numbering.functions.length;
    const facts: FunctionFacts[][] = [];
    for (const component of components) {
      const own: FunctionFacts[] = [];
      for (const number of component) {
        own.push(this.compiler.allocate(number));
        yield { done: ++this.allocated, total };
      }
      facts.push(own);
    }
    return facts;
  }

  publish(masks: readonly PublishedMask[]): void {
    this.compiler.publish(masks);
  }

  complete(decisions: Decisions): void | Promise<void> {
    return this.take("complete", this.completeAll(decisions));
  }

  private *completeAll(decisions: Decisions): Steps<void> {
    const { numbers } = this;
    for (const number of numbers) {
      this.statistics = addStatistics(this.statistics, this.compiler.complete(number, decisions));
      yield { done: number + 1, total: numbers.length };
    }
  }

  collect(): PackedFunction[] {
    return this.numbers.map((number) => this.compiler.take(number));
  }

  replace(functions: readonly PackedFunction[]): void {
    for (const number of this.numbers) this.compiler.give(number, functions[number]!);
  }

  emit(order: readonly FunctionNumber[], write: (printed: PrintedFunction) => void): void | Promise<void> {
    return this.take("emit", this.emitAll(order, write));
  }

  private *emitAll(order: readonly FunctionNumber[], write: (printed: PrintedFunction) => void): Steps<void> {
    const { runner } = this.compiler.passes;
    let machineInstructions = 0;
    for (const [done, number] of order.entries()) {
      const machine = this.compiler.layOut(number);
      machineInstructions += instructionCount(machine);
      write(runner.phase("print", machine.name, () => this.print(machine)));
      yield { done: done + 1, total: order.length };
    }
    this.statistics = addStatistics(this.statistics, { ...noFunctions, machineInstructions });
    this.passes = runner.takeReport();
  }

  protected get numbers(): FunctionNumber[] {
    return this.compiler.numbering.functions.map((_, i) => i as FunctionNumber);
  }
}
