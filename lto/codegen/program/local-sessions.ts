/** All of code generation in the thread that asks for it. */
import { emptyReport } from "../../pass/report.js";
import type { MFunction } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import type { FunctionFacts } from "./facts.js";
import type { FunctionNumber } from "./numbering.js";
import type { CodegenSession } from "./session.js";
import type { Component, Decisions, PublishedMask, Sessions } from "./sessions.js";
import { addStatistics, instructionCount, noFunctions } from "./statistics.js";

export class LocalSessions implements Sessions {
  statistics = noFunctions;
  passes = emptyReport;

  /** @param print gives a function that is laid out its text */
  constructor(
    private readonly session: CodegenSession,
    private readonly print: (mf: MFunction) => string,
  ) {}

  allocate(components: readonly Component[]): FunctionFacts[][] {
    return components.map((component) => component.map((number) => this.session.allocate(number)));
  }

  publish(masks: readonly PublishedMask[]): void {
    this.session.publish(masks);
  }

  complete(decisions: Decisions): void {
    for (const number of this.numbers)
      this.statistics = addStatistics(this.statistics, this.session.complete(number, decisions));
  }

  collect(): PackedFunction[] {
    return this.numbers.map((number) => this.session.take(number));
  }

  replace(functions: readonly PackedFunction[]): void {
    for (const number of this.numbers) this.session.give(number, functions[number]!);
  }

  emit(write: (text: string) => void): void {
    const { runner } = this.session.passes;
    let machineInstructions = 0;
    for (const number of this.numbers) {
      const machine = this.session.layOut(number);
      machineInstructions += instructionCount(machine);
      write(runner.phase("print", machine.name, () => this.print(machine)));
    }
    this.statistics = addStatistics(this.statistics, { ...noFunctions, machineInstructions });
    this.passes = runner.takeReport();
  }

  private get numbers(): FunctionNumber[] {
    return this.session.numbering.functions.map((_, i) => i as FunctionNumber);
  }
}
