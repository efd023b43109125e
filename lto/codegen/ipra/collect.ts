/**
 * Register usage of an allocated function: what its body writes, and what it keeps in registers across each
 * call: the work of LLVM's RegUsageInfoCollector, but run before the frame is made, so that the decision who saves a
 * callee-saved register can still be taken for the whole program (save-placement.ts).
 *
 * Liveness is over physical registers: one set a block, solved backwards; linear in the instructions
 * for each of the few rounds that nested loops need.
 * Breaks if: an instruction reads a register that is not among its operands (the frame pass adds such reads,
 * so this must run before it).
 */

import type { GlobalValue } from "../../ir/module.js";
import { forEachUse, type MBlock, type MFunction, type MInst } from "../mir.js";
import {
  equalSets,
  intersect,
  minus,
  noRegisters,
  type RegisterSet,
  union,
  withRegister,
} from "../register-set.js";
import { leavesFunction, OpFact } from "../target.js";

/** One call. */
export interface CallSite {
  /** Null for calls through a pointer, and of routines that no IR names. */
  readonly callee: GlobalValue | null;
  /** Number of the set of functions that a call through a pointer can reach; -1 if it is not known. */
  readonly calleeSet: number;
  /** Callee-saved registers that hold a value needed after the call. */
  readonly liveAcross: RegisterSet;
  /** The frame is gone when control reaches the callee: this function cannot save on its behalf. */
  readonly tail: boolean;
  /** Estimated executions for one of the function. */
  readonly frequency: number;
}

export interface RegisterUsage {
  /** Registers that instructions of the body write, calls' clobbers left out. */
  readonly written: RegisterSet;
  readonly calls: readonly CallSite[];
  /** Clobbers of calls whose callee is not known. */
  readonly unknownClobbers: RegisterSet;
  /** Control can leave through a return or a tail call. */
  readonly returns: boolean;
}

/** @param frequencies executions of each block, by position; absent: by loop depth */
export function collectUsage(mf: MFunction, frequencies?: Float64Array): RegisterUsage {
  const { calleeSaved } = mf.target.registers;
  const { facts, untoldChanges } = mf.target.instructions;
  const { liveOut } = registerLiveness(mf);
  let written = noRegisters;
  let unknownClobbers = noRegisters;
  let returns = false;
  const calls: CallSite[] = [];
  for (let b = 0; b < mf.blocks.length; b++) {
    const block = mf.blocks[b]!;
    let live = liveOut[b]!;
    for (let i = block.insts.length - 1; i >= 0; i--) {
      const inst = block.insts[i]!;
      const defs = definitions(inst);
      const fact = facts[inst.op]!;
      // Parameters arrive in registers: that changes none.
      if ((fact & OpFact.Entry) === 0) written = union(written, defs);
      const isTail = (fact & OpFact.TailCall) !== 0;
      if ((fact & leavesFunction) !== 0) returns = true;
      if (inst.extra?.kind === "call") {
        const { callee, calleeSet } = inst.extra;
        // A convention that gives callee-saved registers away says so at the call.
        written = union(written, intersect(inst.clobbers, calleeSaved));
        if (callee === null && calleeSet < 0) unknownClobbers = union(unknownClobbers, inst.clobbers);
        const frequency = frequencies?.[b] ?? block.frequency;
        calls.push({
          callee,
          calleeSet,
          liveAcross: intersect(minus(live, defs), calleeSaved),
          tail: isTail,
          frequency,
        });
      } else {
        written = union(written, inst.clobbers);
        if ((fact & OpFact.Asm) !== 0) written = union(written, untoldChanges(inst));
      }
      live = union(minus(live, union(defs, inst.clobbers)), reads(inst));
    }
  }
  return { written, calls, unknownClobbers, returns };
}

/** Physical registers that hold a value needed at the start and end of each block, by position. */
export interface RegisterLiveness {
  readonly liveIn: readonly RegisterSet[];
  readonly liveOut: readonly RegisterSet[];
}

/** Liveness of an allocated function without its frame: nothing is kept for the caller. */
export function registerLiveness(mf: MFunction): RegisterLiveness {
  const { blocks } = mf;
  const count = blocks.length;
  const position = positionsById(blocks);
  const kill = new Array<RegisterSet>(count).fill(noRegisters);
  const liveIn = new Array<RegisterSet>(count).fill(noRegisters);
  const liveOut = new Array<RegisterSet>(count).fill(noRegisters);
  for (let b = 0; b < count; b++) {
    let use = noRegisters;
    let def = noRegisters;
    for (const inst of blocks[b]!.insts) {
      use = union(use, minus(reads(inst), def));
      def = union(def, union(definitions(inst), inst.clobbers));
    }
    liveIn[b] = use;
    kill[b] = def;
  }
  for (let changed = true; changed; ) {
    changed = false;
    for (let b = count - 1; b >= 0; b--) {
      let out = noRegisters;
      for (const succ of blocks[b]!.succs) out = union(out, liveIn[position[succ.id]!]!);
      if (equalSets(out, liveOut[b]!)) continue;
      liveOut[b] = out;
      // What the block itself reads is in liveIn from the start.
      const into = union(liveIn[b]!, minus(out, kill[b]!));
      if (!equalSets(into, liveIn[b]!)) {
        liveIn[b] = into;
        changed = true;
      }
    }
  }
  return { liveIn, liveOut };
}

function positionsById(blocks: readonly MBlock[]): Int32Array {
  const position = new Int32Array(blocks.reduce((last, b) => Math.max(last, b.id), 0) + 1);
  blocks.forEach((block, i) => {
    position[block.id] = i;
  });
  return position;
}

function definitions(inst: MInst): RegisterSet {
  let set = noRegisters;
  for (const def of inst.defs) if (def.loc >= 0) set = withRegister(set, def.loc);
  return set;
}

function reads(inst: MInst): RegisterSet {
  let set = noRegisters;
  forEachUse(inst, (use) => {
    if (use.loc >= 0) set = withRegister(set, use.loc);
  });
  return set;
}
