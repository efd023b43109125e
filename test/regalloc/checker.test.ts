import { describe, expect, it } from "vitest";
import { type MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { allocateRegisters, checkAllocation, snapshotForCheck } from "../../lto/codegen/regalloc/index.js";
import { normalizeConstraints } from "../../lto/codegen/regalloc/normalize.js";
import { setOfWords } from "../../lto/codegen/register-set.js";
import { Random } from "../support/random.js";
import { generateFunction } from "./generate.js";
import { trace } from "./interpret.js";
import { mockTarget, Op } from "./mock-target.js";

const target = mockTarget(6, 4);
const shape = { blocks: 8, instsPerBlock: 8, general: 6, vector: 4, calls: 0.15, reach: 16 };

function allocated(seed: number): { fn: MFunction; complaints: () => string[] } {
  const fn = generateFunction(seed, shape);
  normalizeConstraints(fn, target);
  const snapshot = snapshotForCheck(fn);
  allocateRegisters(fn, target, {
    allocator: "ssa",
    coalesce: "pereira",
    spillCost: "size",
    sizeTime: 1,
    check: false,
  });
  return { fn, complaints: () => checkAllocation(fn, target, snapshot) };
}

/** Damages an allocation in one place; false if this function offers none. */
type Damage = (fn: MFunction, random: Random) => boolean;

const inserted = (inst: MInst): boolean =>
  inst.op <= Op.Swap && [...inst.defs, ...inst.uses].every((operand) => operand.vreg < 0);

const damages: Record<string, Damage> = {
  "drops a move": (fn, random) => {
    const sites = fn.blocks.flatMap((block) => block.insts.filter(inserted).map((inst) => ({ block, inst })));
    if (sites.length === 0) return false;
    const { block, inst } = sites[random.below(sites.length)]!;
    block.insts.splice(block.insts.indexOf(inst), 1);
    return true;
  },
  "reads another register": (fn, random) => {
    const uses = fn.blocks
      .flatMap((block) => block.insts)
      .flatMap((inst) =>
        inst.uses.filter((use) => use.vreg >= 0 && use.loc >= 0 && fn.vregs[use.vreg]!.cls === 0),
      );
    if (uses.length === 0) return false;
    const use = uses[random.below(uses.length)]!;
    use.loc = (use.loc + 1 + random.below(5)) % 6;
    return true;
  },
  "clobbers what a call preserved": (fn, random) => {
    const calls = fn.blocks.flatMap((block) => block.insts).filter((inst) => inst.op === Op.Call);
    if (calls.length === 0) return false;
    calls[random.below(calls.length)]!.clobbers = setOfWords(-1);
    return true;
  },
  "moves a register over another": (fn, random) => {
    const block = fn.blocks[random.below(fn.blocks.length)]!;
    const inst = new MInst(Op.Copy, 8);
    inst.defs.push(RegOperand.physical(random.below(6)));
    inst.uses.push(RegOperand.physical(random.below(6)));
    block.insts.splice(target.terminatorStart(block.insts), 0, inst);
    return true;
  },
};

describe("the checker", () => {
  for (const [name, damage] of Object.entries(damages)) {
    it(`finds damage that ${name} wherever a run shows it`, () => {
      let shown = 0;
      let found = 0;
      for (let seed = 0; seed < 150; seed++) {
        const before = generateFunction(seed, shape);
        normalizeConstraints(before, target);
        const expected = [1, 2, 3].map((run) => trace(before, run, false).join());
        const { fn, complaints } = allocated(seed);
        expect(complaints()).toEqual([]);
        if (!damage(fn, new Random(seed))) continue;
        const different = [1, 2, 3].some((run) => trace(fn, run, true).join() !== expected[run - 1]);
        const detected = complaints().length > 0;
        if (different && !detected) throw new Error(`seed ${seed}: undetected damage`);
        if (different) shown++;
        if (detected) found++;
      }
      expect(shown).toBeGreaterThan(5);
      expect(found).toBeGreaterThanOrEqual(shown);
    });
  }

  it("finds violated operand constraints", () => {
    const { fn, complaints } = allocated(3);
    const tied = fn.blocks
      .flatMap((block) => block.insts)
      .find((inst) => inst.defs.some((def) => def.tiedTo >= 0))!;
    const def = tied.defs.find((d) => d.tiedTo >= 0)!;
    def.loc = (def.loc + 1) % 6;
    expect(complaints().some((text) => text.includes("not in the place it is tied to"))).toBe(true);
  });

  it("finds a missing instruction", () => {
    const { fn, complaints } = allocated(5);
    const block = fn.blocks.find((b) =>
      b.insts.some((inst) => inst.op === Op.Work && inst.defs.length === 0),
    )!;
    block.insts.splice(
      block.insts.findIndex((inst) => inst.op === Op.Work && inst.defs.length === 0),
      1,
    );
    expect(complaints().some((text) => text.includes("missing or out of order"))).toBe(true);
  });
});
