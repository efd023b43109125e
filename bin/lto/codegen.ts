/**
 * Code generation of a linked module: which functions, in which order, in which thread.
 *
 * Small programs stay in this thread. For large ones the module is written once in the object format and shared
 * with worker threads, which decode only the bodies they compile; a component of the call graph belongs to one
 * worker, waves of components go one after the other, and masks are exchanged between waves (see
 * lto/program.ts). The text of each function depends on nothing but the module and the options, so neither the
 * number of workers nor their timing can show in the result.
 */
import { AsmPrinter } from "../../formats/asm/index.js";
import type { Placement } from "../../lto/codegen/ipra/save-placement.js";
import type { RegMask } from "../../lto/codegen/mir.js";
import type { Module } from "../../lto/ir/module.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import type { CodegenOptions } from "../../lto/pipeline.js";
import {
  alignmentNeeds,
  CodegenSession,
  changesByCallee,
  decideSaves,
  definedFunctions,
  type FunctionFacts,
  ipraStatistics,
  localSaves,
  publishComponent,
  setFacts,
} from "../../lto/program.js";
import { type ProgramPlan, planProgram } from "../../lto/program-plan.js";
import { callClobbers } from "../../lto/x64/isa/registers.js";
import { type FinishOrder, finishOrders } from "./finish-orders.js";
import { type IndirectNames, indirectNames } from "./ipra-claims.js";
import { type CodegenStatistics, noStatistics } from "./statistics.js";

/** IR instructions from which on worker threads pay for their start-up and the second JIT warm-up. */
const parallelThreshold = 400_000;

export interface CodegenResult {
  readonly assembly: string;
  /** Registers that a call of each function may change, by name. */
  readonly usage: readonly (readonly [string, RegMask])[];
  readonly statistics: CodegenStatistics;
  readonly indirect: IndirectNames;
}

/** Sessions in one thread or several, seen alike. */
export interface Sessions {
  allocate(component: readonly number[]): Promise<FunctionFacts[]> | FunctionFacts[];
  publish(masks: readonly (readonly [number, RegMask])[]): void;
  /** @param changes callee-saved registers each function may change  @param aligned 1: it needs an aligned stack */
  finish(
    orders: readonly FinishOrder[],
    changes: readonly RegMask[],
    aligned: Uint8Array,
  ): Promise<string[]> | string[];
  /** Statistics and pool constants are complete after the last `finish`. */
  readonly statistics: CodegenStatistics;
  close(): Promise<void>;
}

/** A session in this thread. */
class LocalSession implements Sessions {
  statistics = noStatistics;
  private readonly session: CodegenSession;
  constructor(
    module: Module,
    options: CodegenOptions,
    { conventions, indirect }: ProgramPlan,
    private readonly printer: AsmPrinter,
  ) {
    this.session = new CodegenSession(module, options, conventions, indirect);
  }
  allocate(component: readonly number[]): FunctionFacts[] {
    return component.map((number) => this.session.allocate(number));
  }
  publish(masks: readonly (readonly [number, RegMask])[]): void {
    this.session.publish(masks);
  }
  finish(orders: readonly FinishOrder[], changes: readonly RegMask[], aligned: Uint8Array): string[] {
    const { texts, statistics } = finishOrders(this.session, this.printer, orders, changes, aligned);
    this.statistics = statistics;
    return texts;
  }
  async close(): Promise<void> {}
}

export async function generate(
  module: Module,
  summary: ModuleSummary,
  options: CodegenOptions,
  jobs: number,
): Promise<CodegenResult> {
  const size = summary.symbols.reduce((sum, s) => sum + s.instructions, 0);
  const printer = new AsmPrinter(module, { relocation: options.relocation });
  const parallel = jobs > 1 && size >= parallelThreshold && options.observe === undefined;
  const plan = planProgram(module, summary, options);
  const sessions = parallel
    ? new (await import("./worker-sessions.js")).WorkerSessions(module, options, plan, jobs, printer)
    : new LocalSession(module, options, plan, printer);
  try {
    const { texts, clobbers, statistics } = await run(sessions, plan, options);
    const names = definedFunctions(module).map((fn) => fn.name);
    const usage = names.map((name, i) => [name, clobbers[i]!] as const);
    const assembly = [printer.header(), ...texts, printer.data()].join("");
    return { usage, assembly, statistics, indirect: indirectNames(plan.indirect, names) };
  } finally {
    await sessions.close();
  }
}

async function run(
  sessions: Sessions,
  plan: ProgramPlan,
  options: CodegenOptions,
): Promise<{ texts: string[]; clobbers: RegMask[]; statistics: CodegenStatistics }> {
  const count = plan.open.length;
  const facts = new Array<FunctionFacts>(count);
  const changed = new Array<RegMask>(count).fill(callClobbers);
  const changedBy = changesByCallee(plan.indirect, changed);
  for (const wave of plan.waves) {
    const masks: [number, RegMask][] = [];
    const results = await Promise.all(wave.map(async (c) => sessions.allocate(plan.components[c]!)));
    wave.forEach((c, i) => {
      const members = plan.components[c]!;
      members.forEach((member, k) => {
        facts[member] = results[i]![k]!;
      });
      if (!options.ipra) return;
      const mask = publishComponent(members, (n) => facts[n]!, changedBy);
      for (const member of members) {
        changed[member] = mask;
        masks.push([member, ~mask]);
      }
    });
    if (masks.length > 0) sessions.publish(masks);
  }
  // Sets of callees take part in what concerns the whole program as functions do.
  const all = [...facts, ...setFacts(plan.indirect)];
  const open = new Uint8Array(all.length);
  open.set(plan.open);
  const placement: Placement = options.ipra ? decideSaves(all, open) : localSaves(facts);
  const orders = facts.map((_, number) => ({
    number,
    saves: placement.saves[number]!,
    free: changed[number]! | placement.changes[number]!,
  }));
  const aligned = options.ipra ? alignmentNeeds(all) : new Uint8Array(count).fill(1);
  const texts = await sessions.finish(orders, placement.changes, aligned);
  const ipra = ipraStatistics(facts, placement, changedBy, plan.indirect);
  return { texts, clobbers: orders.map((o) => o.free), statistics: { ...sessions.statistics, ...ipra } };
}
