/** Passes that only tests have: good ones that show what the runner does, and broken ones that it has to find. */

import type { LoweringStep } from "../../lto/codegen/lowering/index.js";
import { Block, makeInst, Op } from "../../lto/ir/instructions.js";
import { raw } from "../../lto/ir/raw.js";
import { callGraph, cfg, dominators, useCounts } from "../../lto/pass/analyses.js";
import { bottomUp, onFunctions, onModule, type Stage } from "../../lto/pass/module-pipeline.js";
import {
  type ComponentPass,
  type FunctionContext,
  type FunctionPass,
  type ModulePass,
  may,
} from "../../lto/pass/pass.js";
import { type Pipelines, pipelines } from "../../lto/pipeline/pipelines.js";
import { type PassSet, passes } from "../../lto/pipeline/registry.js";

const common = { description: "for tests", requires: [], preserves: [] } as const;

/** Broken: exchanges the operands of the first subtraction of each function. */
export const swapSubtraction: FunctionPass = {
  ...common,
  name: "swap-subtraction",
  level: "function",
  counters: { swapped: "subtractions broken" },
  preserves: [cfg, dominators],
  run(_, context) {
    const swapped = swapFirst(context);
    if (swapped) context.count("swapped");
    return swapped;
  },
};

function swapFirst(context: FunctionContext): boolean {
  for (const { insts } of context.view().blocks)
    for (const inst of insts)
      if (inst.op === Op.Sub) {
        context.rewrite();
        raw(inst).operands.reverse();
        return true;
      }
  return false;
}

/** Broken: leaves a block without its terminator. */
export const loseTerminator: FunctionPass = {
  ...common,
  name: "lose-terminator",
  level: "function",
  run(_, context) {
    raw(context.rewrite().blocks[0]!).insts.pop();
    return true;
  },
};

/** Broken: code that it leaves where it is comes from elsewhere all at once. */
export const inventOrigin: FunctionPass = {
  ...common,
  name: "invent-origin",
  level: "function",
  run(fn, context) {
    if (fn.name !== "leaf") return false;
    context.rewrite().blocks[0]!.insts[0]!.origin = 1;
    return true;
  },
};

/** Broken: changes the body and denies it. */
export const denyChange: FunctionPass = {
  ...common,
  name: "deny-change",
  level: "function",
  run(_, context) {
    swapFirst(context);
    return false;
  },
};

/** Broken: says that blocks stay as they are, and adds one. */
export const claimBlocks: FunctionPass = {
  ...common,
  name: "claim-blocks",
  level: "function",
  requires: [cfg],
  preserves: [cfg],
  run(_, context) {
    context.ofBody(cfg, context.view());
    const body = context.rewrite();
    const entry = body.blocks[0]!;
    const ret = raw(entry).insts.pop()!;
    const end = new Block();
    body.blocks.push(end);
    entry.append(makeInst(Op.Br, ret.type, [], null, [end]));
    end.append(ret);
    return true;
  },
};

/** Broken: asks for what it does not require. */
export const askUnsaid: FunctionPass = {
  ...common,
  name: "ask-unsaid",
  level: "function",
  run(_, context) {
    context.ofBody(useCounts, context.view());
    return false;
  },
};

/** What passes at the three levels saw, in order. */
export class Witness {
  readonly seen: string[] = [];
  readonly module: ModulePass = {
    ...common,
    name: "see-module",
    level: "module",
    requires: [callGraph],
    run: (module, context) => {
      const { count } = context.ofModule(callGraph).components;
      this.seen.push(`module ${module.functions.length} functions, ${count} components`);
      return false;
    },
  };
  readonly component: ComponentPass = {
    ...common,
    name: "see-component",
    level: "component",
    run: (functions) => {
      this.seen.push(`component ${functions.map((fn) => fn.name).join(" ")}`);
      return false;
    },
  };
  readonly fn: FunctionPass = {
    ...common,
    name: "see-function",
    level: "function",
    requires: [useCounts],
    run: (fn, context) => {
      const uses = context.ofBody(useCounts, context.view()).reduce((sum, n) => sum + n, 0);
      this.seen.push(`function ${fn.name}, ${uses} uses`);
      return false;
    },
  };
  stages(): Stage[] {
    return [
      onModule(may(this.module)),
      bottomUp(may(this.component), may(this.fn)),
      onFunctions(may(this.fn)),
    ];
  }
}

/**
 * The product's lowering, with further passes before it, and these passes on the program: so tests of the runner do
 * not depend on what else the product does to programs.
 */
export function withPasses(program: readonly Stage[], lowering: readonly FunctionPass[]): PassSet {
  const steps: LoweringStep[] = lowering.map((pass) => may(pass));
  const extended = Object.fromEntries(
    Object.entries(pipelines).map(([level, pipeline]) => [
      level,
      { program, lowering: [...steps, ...pipeline.lowering] },
    ]),
  ) as unknown as Pipelines;
  const added = [...program.flatMap((stage) => [...stage.steps].map((step) => step.pass)), ...lowering];
  return { passes: [...passes, ...new Set(added)], pipelines: extended };
}
