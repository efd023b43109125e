/** All of code generation in the thread that asks for it. */
import { emptyReport } from "../../pass/report.js";
import type { MFunction } from "../mir.js";
import type { FunctionFacts } from "./facts.js";
import type { FunctionNumber } from "./numbering.js";
import type { CodegenSession } from "./session.js";
import type { Component, Decisions, PublishedMask, Sessions } from "./sessions.js";
import { addStatistics, noFunctions } from "./statistics.js";

export class LocalSessions implements Sessions {
  statistics = noFunctions;
  passes = emptyReport;

  /** @param print gives a finished function its text */
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

  finish(decisions: Decisions, write: (text: string) => void): void {
    const { runner } = this.session.passes;
    for (let number = 0; number < decisions.saved.length; number++) {
      const { machine, statistics } = this.session.finish(number as FunctionNumber, decisions);
      this.statistics = addStatistics(this.statistics, statistics);
      write(runner.phase("print", machine.name, () => this.print(machine)));
    }
    this.passes = runner.takeReport();
  }
}
