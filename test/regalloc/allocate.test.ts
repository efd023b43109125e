import { describe, expect, it } from "vitest";
import { checkAllocation, snapshotForCheck } from "../../lto/codegen/regalloc/checker.js";
import { type AllocatorOptions, allocateRegisters } from "../../lto/codegen/regalloc/index.js";
import { normalizeConstraints } from "../../lto/codegen/regalloc/normalize.js";
import { generateFunction, type Shape } from "./generate.js";
import { trace } from "./interpret.js";
import { mockTarget, show } from "./mock-target.js";

const shapes: Record<string, Shape> = {
  straight: { blocks: 1, instsPerBlock: 40, general: 6, vector: 4, calls: 0.1, reach: 8 },
  loops: { blocks: 12, instsPerBlock: 6, general: 8, vector: 4, calls: 0.1, reach: 10 },
  pressure: { blocks: 8, instsPerBlock: 12, general: 6, vector: 4, calls: 0.15, reach: 30 },
  calls: { blocks: 10, instsPerBlock: 8, general: 14, vector: 8, calls: 0.4, reach: 12 },
  branchy: { blocks: 40, instsPerBlock: 3, general: 7, vector: 5, calls: 0.1, reach: 14 },
};

const configurations: AllocatorOptions[] = [];
for (const allocator of ["ssa", "greedy", "linear", "graph"] as const) {
  for (const coalesce of ["pereira", "dominance", "none"] as const) {
    for (const spillCost of ["size", "speed"] as const) {
      configurations.push({ allocator, coalesce, spillCost, sizeTime: 1, check: false });
    }
  }
}

/** Functions for each configuration and shape, or as many as fit the time, but some in any case. */
const seeds = Number(process.env["REGALLOC_SEEDS"] ?? 20);
const milliseconds = 4000;
const fewest = 3;

for (const options of configurations) {
  describe(`${options.allocator}, ${options.coalesce}, ${options.spillCost}`, () => {
    for (const [name, shape] of Object.entries(shapes)) {
      it(`keeps the meaning of random functions: ${name}`, () => {
        const target = mockTarget(shape.general, shape.vector);
        const start = performance.now();
        let tried = 0;
        for (let seed = 0; seed < seeds; seed++) {
          if (seed >= fewest && performance.now() - start > milliseconds) break;
          tried++;
          const fn = generateFunction(seed, shape);
          const before = [1, 2, 3].map((run) => trace(fn, run, false));
          normalizeConstraints(fn, target);
          const listing = show(fn);
          const snapshot = snapshotForCheck(fn);
          try {
            allocateRegisters(fn, target, options);
          } catch (error) {
            throw new Error(`seed ${seed}: ${(error as Error).stack}\n${listing}`);
          }
          const complaints = checkAllocation(fn, target, snapshot);
          if (complaints.length > 0) {
            throw new Error(`seed ${seed}:\n${complaints.join("\n")}\n${listing}\n---\n${show(fn)}`);
          }
          const after = [1, 2, 3].map((run) => trace(fn, run, true));
          if (JSON.stringify(after) !== JSON.stringify(before)) {
            throw new Error(`seed ${seed}: different behaviour\n${listing}\n---\n${show(fn)}`);
          }
        }
        expect(tried).toBeGreaterThanOrEqual(Math.min(seeds, fewest));
      });
    }
  });
}
