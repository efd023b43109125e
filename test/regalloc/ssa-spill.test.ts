/** Spilling before colouring: what goes to memory, and that enough does. */

import { describe, expect, it } from "vitest";
import { MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import type { Bundle } from "../../lto/codegen/regalloc/bundle.js";
import { BundleCosts } from "../../lto/codegen/regalloc/bundle-costs.js";
import { coalesceByIntervals } from "../../lto/codegen/regalloc/coalesce.js";
import { normalizeConstraints } from "../../lto/codegen/regalloc/normalize.js";
import { type AllocationProblem, describeProblem } from "../../lto/codegen/regalloc/problem.js";
import { sizePolicy } from "../../lto/codegen/regalloc/spill-cost.js";
import { spillToPressure } from "../../lto/codegen/regalloc/ssa-spill.js";
import { minus, registerCount } from "../../lto/codegen/register-set.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { generateFunction, generateLong } from "./generate.js";
import { mockMachine, mockTarget, Op } from "./mock-target.js";

const target = mockTarget(8, 4);

function spill(fn: MFunction): { problem: AllocationProblem; kept: Bundle[]; gone: Bundle[] } {
  normalizeConstraints(fn, target);
  const problem = describeProblem(fn, target, sizePolicy(target));
  const { bundles } = coalesceByIntervals(problem);
  const costs = new BundleCosts(problem);
  for (const bundle of bundles) costs.measure(bundle);
  const spilled = spillToPressure(problem, bundles);
  return {
    problem,
    kept: bundles.filter((_, b) => spilled[b] === 0),
    gone: bundles.filter((_, b) => spilled[b] === 1),
  };
}

/** Straight-line code: values 0 … n-1 defined in order, then used in the order of `uses`. */
function straightLine(count: number, uses: readonly number[]): MFunction {
  const fn = new MFunction({} as GlobalValue, "straight", "minsize", mockMachine);
  const block = fn.newBlock();
  const values: number[] = [];
  const emit = (op: Op, defs: number[], used: number[]): void => {
    const inst = new MInst(op, 8);
    inst.imm = block.insts.length;
    inst.defs = defs.map((v) => new RegOperand(v));
    inst.uses = used.map((v) => new RegOperand(v));
    block.insts.push(inst);
  };
  for (let k = 0; k < count; k++) {
    const v = fn.newVReg(0, 8);
    values.push(v);
    emit(Op.Work, [v], []);
  }
  for (const k of uses) emit(Op.Work, [], [values[k]!]);
  emit(Op.Return, [], []);
  return fn;
}

describe("spilling to the register pressure", () => {
  it("leaves everything alone where there are registers enough", () => {
    expect(spill(straightLine(8, [0, 1, 2, 3, 4, 5, 6, 7])).gone).toEqual([]);
  });

  it("sends the value to memory that is needed last", () => {
    const { gone } = spill(straightLine(9, [1, 2, 3, 4, 0, 5, 6, 8, 7]));
    expect(gone.map((bundle) => bundle.vregs)).toEqual([[7]]);
  });

  it("keeps the value with many uses, though its next one is the farthest", () => {
    const far = [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3];
    const { gone } = spill(straightLine(9, [0, 1, 2, 4, 5, 6, 7, 8, ...far]));
    expect(gone).toHaveLength(1);
    expect(gone[0]!.vregs).not.toEqual([3]);
  });

  it("never leaves more values alive than there are registers, in random functions", () => {
    const functions = [
      generateLong(7, 3000),
      generateLong(8, 3000),
      ...[1, 2, 3, 4, 5, 6].map((seed) =>
        generateFunction(seed, {
          blocks: 12,
          instsPerBlock: 12,
          general: 8,
          vector: 4,
          calls: 0.2,
          reach: 40,
        }),
      ),
    ];
    let spills = 0;
    for (const fn of functions) {
      const { problem, kept, gone } = spill(fn);
      spills += gone.length;
      const { head } = problem.liveness.numbering;
      for (let cls = 0; cls < target.classCount; cls++) {
        const mask = problem.allocatable[cls]!;
        const alive = new Int32Array(4 * head[fn.blocks.length]! + 4);
        for (const bundle of kept) {
          if (bundle.cls !== cls) continue;
          for (const { start, end } of bundle.ranges) for (let p = start; p < end; p++) alive[p]!++;
        }
        expect(Math.max(...alive)).toBeLessThanOrEqual(registerCount(mask));
        fn.blocks.forEach((block, b) => {
          block.insts.forEach((inst, i) => {
            const left = registerCount(minus(mask, inst.clobbers));
            expect(alive[4 * (head[b]! + 1 + i) + 1]).toBeLessThanOrEqual(left);
          });
        });
      }
    }
    expect(spills).toBeGreaterThan(50);
  });
});
