/**
 * Makes a program check what the pointer analysis says of it: a call through a pointer that reaches a function
 * outside of its set, or, where the set is not complete, a closed function outside of it, calls address 0 instead.
 * For tests: what the analysis claims of memory cannot be seen in machine code, only in a run.
 */

import { type Body, type Inst, isIndirectCall, makeInst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { raw } from "../../ir/raw.js";
import { i1, ptr } from "../../ir/types.js";
import { ConstZero, type Value } from "../../ir/values.js";
import type { IndirectCalls } from "./index.js";

/** @param fn number of the function whose body it is; its calls through pointers are as the analysis saw them */
export function guardIndirectCalls(
  fn: number,
  body: Body,
  functions: readonly Func[],
  { sets, sites, closed }: IndirectCalls,
): void {
  let site = 0;
  for (const block of body.blocks) {
    const insts: Inst[] = [];
    for (const inst of block.insts) {
      if (isIndirectCall(inst)) {
        const set = sets[sites[fn]?.[site++] ?? -1];
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
        }
      }
      insts.push(inst);
    }
    raw(block).insts = insts;
  }
}
