/**
 * always-inline: inlines calls of functions that are `alwaysinline`, whatever it costs.
 *
 * Why: the program asked for it, at every level; some such functions cannot be called (they need registers or constants
 * that only their callers have).
 * Method: components of the call graph, callees first, so that what is copied has nothing left to inline. Callers that the
 * summary shows no such call of are not decoded.
 * What cannot be inlined (recursion, variable arguments, …: obstacles.ts) stays a call, as in LLVM.
 */
import type { CallInst } from "../../ir/instructions.js";
import { isCall } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { callGraph } from "../../pass/analyses.js";
import type { ComponentPass, ProgramContext } from "../../pass/pass.js";
import { InlineSession } from "./session.js";

const isForced = (global: GlobalValue): global is Func =>
  global.kind === "function" && !global.isDeclaration && global.attributes.fn.has("alwaysinline");

export const alwaysInline: ComponentPass = {
  name: "always-inline",
  level: "component",
  description: "inlines calls of functions that are to be inlined always",
  counters: { calls: "calls inlined" },
  requires: [callGraph],
  preserves: [],
  movesCode: true,
  begin(module, context) {
    const { symbolOf, nodeOf, callees } = context.ofModule(callGraph);
    const isWanted = symbolOf.map((symbol) => (isForced(module.globals[symbol]!) ? 1 : 0));
    if (!isWanted.includes(1)) return { run: () => false, finish: () => false };
    const callers = new Set<Func>();
    // Globals are added and numbered anew on the way.
    module.globals.forEach((global, symbol) => {
      const node = nodeOf[symbol]!;
      if (global.kind !== "function" || node < 0) return;
      for (let i = callees.start[node]!; i < callees.start[node + 1]!; i++)
        if (isWanted[callees.items[i]!] === 1) callers.add(global);
    });
    const session = new InlineSession(module, context.ofModule(callGraph));
    return {
      run(functions) {
        let changed = false;
        for (const fn of functions) if (callers.has(fn)) changed = inlineIn(fn, session, context) || changed;
        session.releaseBodies(functions);
        return changed;
      },
      finish() {
        session.releaseBodies([], 0);
        const removed = session.removeUncalled(context.ofModule(callGraph));
        return dropElsewhere(module) || removed > 0;
      },
    };
  },
};

/** Calls that are left lead to where the function is defined. */
function dropElsewhere(module: Module): boolean {
  let dropped = false;
  for (const global of module.globals) {
    if (!isForced(global) || global.linkage !== "available_externally") continue;
    global.dropBody();
    global.linkage = "external";
    dropped = true;
  }
  return dropped;
}

function inlineIn(caller: Func, session: InlineSession, context: ProgramContext): boolean {
  const work = callsOfForced(caller);
  let inlined = 0;
  for (let call = work.pop(); call !== undefined; call = work.pop()) {
    const callee = call.operands[0] as Func;
    if (call.parent === null || session.obstacle(caller, call, callee, true) !== null) continue;
    session.inline(caller.edit(), call, callee);
    inlined++;
  }
  context.count("calls", inlined);
  return inlined > 0;
}

function callsOfForced(fn: Func): CallInst[] {
  const calls: CallInst[] = [];
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      const callee = isCall(inst) ? inst.operands[0]! : null;
      if (callee !== null && callee.valueKind === "global" && isForced(callee)) calls.push(inst as CallInst);
    }
  return calls.reverse();
}
