/**
 * guard-callees: makes a program check what the pointer analysis says of it. A call through a pointer that reaches a
 * function outside of its set, or, where the set is not complete, a closed function outside of it, calls address 0
 * instead. For tests: what the analysis claims of memory cannot be seen in machine code, only in a run.
 *
 *     call ptr %p ()      →      %1 = icmp eq ptr %p, @f
 *                                %2 = select i1 %1, ptr %p, ptr null
 *                                call ptr %2 ()
 *
 * One comparison for each member of each call's set.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { type Body, type Inst, isIndirectCall, makeInst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { i1, ptr } from "../../ir/types.js";
import { ConstZero, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";

/** @returns the number of calls that are guarded */
function guard(body: Body, functions: readonly Func[], { sets, closed }: IndirectCalls): number {
  let guarded = 0;
  for (const block of body.blocks) {
    const insts: Inst[] = [];
    for (const inst of block.insts) {
      if (isIndirectCall(inst)) {
        const set = sets[inst.data.calleeSet ?? -1];
        const members = new Set(set?.members ?? []);
        const complete = set?.unknown === false;
        const listed = functions.filter((_, f) =>
          complete ? members.has(f) : closed[f] === 1 && !members.has(f),
        );
        const pointer = inst.operands[0]!;
        const add = <I extends Inst>(made: I): I => {
          made.parent = block;
          insts.push(made);
          return made;
        };
        let found: Value | null = null;
        for (const candidate of listed) {
          const same: Value = add(makeInst(Op.ICmp, i1, [pointer, candidate], "eq"));
          found = found === null ? same : add(makeInst(Op.Or, i1, [found, same], null));
        }
        if (found !== null) {
          const zero = new ConstZero(ptr);
          raw(inst).operands[0] = add(
            makeInst(Op.Select, ptr, complete ? [found, pointer, zero] : [found, zero, pointer], null),
          );
          guarded++;
        }
      }
      insts.push(inst);
    }
    if (insts.length > block.insts.length) raw(block).insts = insts;
  }
  return guarded;
}

export const guardCallees: FunctionPass<LoweringContext> = {
  name: "guard-callees",
  level: "function",
  description: "checks that pointers, and assembly, reach what analysis says",
  option: "make the program fail where a pointer or assembly reaches what analysis says it cannot",
  counters: { guarded: "calls through pointers guarded" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const { functions, indirect } = context.knownCallees;
    const guarded = guard(context.rewrite(), functions, indirect);
    if (guarded > 0) context.count("guarded", guarded);
    return guarded > 0;
  },
};
