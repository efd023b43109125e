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
import { buildCallGraph, type ModuleSummary } from "../../lto/link/index.js";
import type { CodegenOptions } from "../../lto/pipeline.js";
import {
  alignmentNeeds,
  CodegenSession,
  decideConventions,
  decideSaves,
  definedFunctions,
  type FunctionFacts,
  ipraStatistics,
  localSaves,
  type ProgramGraph,
  publishComponent,
} from "../../lto/program.js";
import { callClobbers } from "../../lto/x64/registers.js";
import { type FinishOrder, finishOrders } from "./finish-orders.js";
import { type CodegenStatistics, noStatistics } from "./statistics.js";
import { WorkerSessions } from "./worker-sessions.js";

/** IR instructions from which on worker threads pay for their start-up and the second JIT warm-up. */
const parallelThreshold = 400_000;

export interface CodegenResult {
  readonly assembly: string;
  /** Registers that a call of each function may change, by name. */
  readonly usage: readonly (readonly [string, RegMask])[];
  readonly statistics: CodegenStatistics;
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
    conventions: Uint32Array,
    private readonly printer: AsmPrinter,
  ) {
    this.session = new CodegenSession(module, options, conventions);
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
  const graph = programGraph(module, summary);
  const conventions = options.ipra
    ? decideConventions(module, graph.open, options)
    : new Uint32Array(graph.open.length);
  const sessions = parallel
    ? new WorkerSessions(module, options, conventions, jobs, printer)
    : new LocalSession(module, options, conventions, printer);
  try {
    const { texts, clobbers, statistics } = await run(sessions, graph, options);
    const usage = definedFunctions(module).map((fn, i) => [fn.name, clobbers[i]!] as const);
    return { usage, assembly: [printer.header(), ...texts, printer.data()].join(""), statistics };
  } finally {
    await sessions.close();
  }
}

interface WavedGraph extends ProgramGraph {
  /** Components that can be worked on at the same time, by wave. */
  readonly waves: readonly (readonly number[])[];
}

/** The call graph by function number. */
function programGraph(module: Module, summary: ModuleSummary): WavedGraph {
  const graph = buildCallGraph(summary);
  const numbers = new Map(definedFunctions(module).map((fn, i) => [fn as unknown, i]));
  const numberOf = (node: number): number => numbers.get(module.globals[graph.symbolOf[node]!]) ?? -1;
  const open = new Uint8Array(numbers.size);
  for (let node = 0; node < graph.symbolOf.length; node++) {
    const number = numberOf(node);
    if (number >= 0) open[number] = graph.openToCallers[node]!;
  }
  const { members, count, waves } = graph.components;
  const components = Array.from({ length: count }, (_, c) =>
    Array.from(members.items.subarray(members.start[c], members.start[c + 1]), numberOf).filter(
      (n) => n >= 0,
    ),
  );
  return { components, open, waves };
}

async function run(
  sessions: Sessions,
  graph: WavedGraph,
  options: CodegenOptions,
): Promise<{ texts: string[]; clobbers: RegMask[]; statistics: CodegenStatistics }> {
  const count = graph.open.length;
  const facts = new Array<FunctionFacts>(count);
  const changed = new Array<RegMask>(count).fill(callClobbers);
  for (const wave of graph.waves) {
    const masks: [number, RegMask][] = [];
    const results = await Promise.all(wave.map(async (c) => sessions.allocate(graph.components[c]!)));
    wave.forEach((c, i) => {
      const members = graph.components[c]!;
      members.forEach((member, k) => {
        facts[member] = results[i]![k]!;
      });
      if (!options.ipra) return;
      const mask = publishComponent(
        members,
        (n) => facts[n]!,
        (n) => changed[n]!,
      );
      for (const member of members) {
        changed[member] = mask;
        masks.push([member, ~mask]);
      }
    });
    if (masks.length > 0) sessions.publish(masks);
  }
  const placement: Placement = options.ipra ? decideSaves(facts, graph.open) : localSaves(facts);
  const orders = facts.map((_, number) => ({
    number,
    saves: placement.saves[number]!,
    free: changed[number]! | placement.changes[number]!,
  }));
  const aligned = options.ipra ? alignmentNeeds(facts) : new Uint8Array(count).fill(1);
  const texts = await sessions.finish(orders, placement.changes, aligned);
  const ipra = ipraStatistics(facts, placement, changed);
  return { texts, clobbers: orders.map((o) => o.free), statistics: { ...sessions.statistics, ...ipra } };
}
