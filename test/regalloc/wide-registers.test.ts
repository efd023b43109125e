/** Allocation on a machine with more registers than a word has bits: 32 general ones and 32 for vectors. */

import { describe, expect, it } from "vitest";
import type { MFunction, RegOperand } from "../../lto/codegen/mir.js";
import { checkAllocation, snapshotForCheck } from "../../lto/codegen/regalloc/checker.js";
import { allocateRegisters } from "../../lto/codegen/regalloc/index.js";
import { normalizeConstraints } from "../../lto/codegen/regalloc/normalize.js";
import {
  hasRegister,
  highWord,
  minus,
  noRegisters,
  type RegisterSet,
  registerRange,
  registerSet,
  registersIn,
  setOfWords,
  union,
} from "../../lto/codegen/register-set.js";
import type { Target, TargetRegisters } from "../../lto/codegen/target.js";
import { generateFunction, type Shape } from "./generate.js";
import { trace } from "./interpret.js";
import { mockTarget, show } from "./mock-target.js";

/** Where register `r` of the small mock target is on the wide one: vector registers begin with the second word. */
const place = (register: number): number => (register < 16 ? register : register + 16);
const widened = (set: RegisterSet): RegisterSet => registerSet(...registersIn(set).map(place));

const small = mockTarget(16, 16);
/** Registers that only the wide machine has; calls preserve them. */
const added = union(registerRange(16, 16), registerRange(48, 16));

function wideRegisters(general: number, vector: number): TargetRegisters {
  return {
    ...small,
    names: Array.from({ length: 64 }, (_, r) => (r < 32 ? `r${r}` : `v${r - 32}`)),
    count: 64,
    generalCount: 32,
    all: setOfWords(-1, -1),
    calleeSaved: union(widened(small.calleeSaved), added),
    callClobbers: minus(setOfWords(-1, -1), union(widened(small.calleeSaved), added)),
    allocatable: (_fn, cls) => (cls === 0 ? registerRange(0, general) : registerRange(32, vector)),
  };
}

/** Moves the constraints of a function for the small machine to the wide one. */
function widen(fn: MFunction): void {
  const operand = (o: RegOperand): void => {
    o.allowed = widened(o.allowed);
  };
  for (const { insts } of fn.blocks)
    for (const inst of insts) {
      inst.defs.forEach(operand);
      inst.uses.forEach(operand);
      inst.clobbers = widened(inst.clobbers);
    }
}

const shapes: Record<string, Shape & { readonly many: number }> = {
  "few registers": { blocks: 10, instsPerBlock: 10, general: 8, vector: 6, calls: 0.2, reach: 30, many: 0 },
  "all registers": {
    blocks: 12,
    instsPerBlock: 24,
    general: 16,
    vector: 16,
    calls: 0.2,
    reach: 80,
    many: 16,
  },
};

for (const allocator of ["ssa", "greedy", "linear", "graph"] as const)
  describe(allocator, () => {
    for (const [name, { many, ...shape }] of Object.entries(shapes))
      it(`keeps the meaning of random functions on 64 registers: ${name}`, () => {
        const registers = wideRegisters(shape.general + many, shape.vector + many);
        const machine = { registers } as Target;
        let written: RegisterSet = noRegisters;
        for (let seed = 0; seed < 12; seed++) {
          const fn = generateFunction(seed, shape, machine);
          widen(fn);
          const before = [1, 2, 3].map((run) => trace(fn, run, false));
          normalizeConstraints(fn, registers);
          const listing = show(fn);
          const snapshot = snapshotForCheck(fn);
          const result = allocateRegisters(fn, registers, {
            allocator,
            coalesce: "pereira",
            spillCost: "size",
            sizeTime: 1,
            check: false,
          });
          expect(checkAllocation(fn, registers, snapshot), listing).toEqual([]);
          expect(
            [1, 2, 3].map((run) => trace(fn, run, true)),
            listing,
          ).toEqual(before);
          written = union(written, result.written);
        }
        // Registers of the second word really were in use, and with all registers also those that only this machine has.
        expect(highWord(written)).not.toBe(0);
        if (many > 0)
          expect(registersIn(added).filter((r) => hasRegister(written, r)).length).toBeGreaterThan(4);
      });
  });
