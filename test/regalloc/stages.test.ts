/** The stages of register allocation, each alone on functions small enough to reason about. */

import { describe, expect, it } from "vitest";
import { computeLiveness, UseKind } from "../../lto/codegen/liveness.js";
import { type MBlock, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { overlap, singletonBundles } from "../../lto/codegen/regalloc/bundle.js";
import { coalesceByIntervals } from "../../lto/codegen/regalloc/coalesce.js";
import { coalesceByValues } from "../../lto/codegen/regalloc/coalesce-values.js";
import { type AllocatorOptions, allocateRegisters } from "../../lto/codegen/regalloc/index.js";
import { IntervalSet } from "../../lto/codegen/regalloc/interval-set.js";
import { normalizeConstraints } from "../../lto/codegen/regalloc/normalize.js";
import { describeProblem } from "../../lto/codegen/regalloc/problem.js";
import { sizePolicy } from "../../lto/codegen/regalloc/spill-cost.js";
import { noRegisters, overlaps, setOfWords, single } from "../../lto/codegen/register-set.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { Random } from "../support/random.js";
import { generateFunction, generateLong } from "./generate.js";
import { trace } from "./interpret.js";
import { mockMachine, mockTarget, Op, show } from "./mock-target.js";

const target = mockTarget(8, 4);
const options: AllocatorOptions = {
  allocator: "ssa",
  coalesce: "pereira",
  spillCost: "size",
  sizeTime: 1,
  check: true,
};

class Builder {
  readonly fn = new MFunction({} as GlobalValue, "test", "minsize", mockMachine);
  private identity = 0;
  block(): MBlock {
    return this.fn.newBlock();
  }
  value(size = 8): number {
    return this.fn.newVReg(0, size);
  }
  inst(block: MBlock, op: Op, defs: RegOperand[], uses: RegOperand[]): MInst {
    const inst = new MInst(op, 8);
    inst.imm = ++this.identity;
    inst.defs = defs;
    inst.uses = uses;
    block.insts.push(inst);
    return inst;
  }
  define(block: MBlock): number {
    const v = this.value();
    this.inst(block, Op.Work, [new RegOperand(v)], []);
    return v;
  }
  use(block: MBlock, ...values: number[]): void {
    this.inst(
      block,
      Op.Work,
      [],
      values.map((v) => new RegOperand(v)),
    );
  }
  call(block: MBlock, clobbers = ~((1 << 3) | (1 << 5) | 0xf000)): MInst {
    const inst = this.inst(block, Op.Call, [], []);
    inst.clobbers = setOfWords(clobbers);
    inst.extra = {
      kind: "call",
      callee: null,
      calleeSet: -1,
      noReturn: false,
      returnsTwice: false,
      unwind: null,
      noUnwind: false,
      pushed: 0,
      hasStored: false,
    };
    return inst;
  }
  jump(from: MBlock, to: MBlock, ...args: number[]): void {
    from.succs.push(to);
    to.preds.push(from);
    from.succArgs.push(args.map((v) => new RegOperand(v)));
  }
  end(block: MBlock): void {
    const op = block.succs.length === 0 ? Op.Return : block.succs.length === 1 ? Op.Jump : Op.Branch;
    this.inst(block, op, [], []).targets = [...block.succs];
  }
}

const opsOf = (fn: MFunction): string[] =>
  fn.blocks.flatMap((block) => block.insts.map((inst) => Op[inst.op]!));

describe("liveness", () => {
  it("gives intervals by program points, with holes", () => {
    const b = new Builder();
    const [entry, left, right, join] = [b.block(), b.block(), b.block(), b.block()];
    const v = b.define(entry);
    b.jump(entry, left);
    b.jump(entry, right);
    b.use(right, v);
    b.jump(left, join);
    b.jump(right, join);
    for (const block of [entry, left, right, join]) b.end(block);
    const live = computeLiveness(b.fn);
    // entry: head 0, define 1, branch 2; left: head 3, jump 4; right: head 5, use 6, jump 7.
    expect([...live.rangeFrom]).toEqual([4 * 1 + 2, 4 * 5]);
    expect([...live.rangeTo]).toEqual([4 * 3, 4 * 6 + 1]);
  });

  it("lets consumed values end in the gap", () => {
    const b = new Builder();
    const block = b.block();
    const v = b.define(block);
    const w = b.value();
    b.inst(block, Op.Work, [RegOperand.tied(w)], [new RegOperand(v)]);
    b.inst(block, Op.Work, [], [new RegOperand(w, single(2))]);
    b.end(block);
    const live = computeLiveness(b.fn);
    expect([...live.rangeTo]).toEqual([4 * 2, 4 * 3]);
    expect([...live.rangeFrom]).toEqual([4 * 1 + 2, 4 * 2]);
    expect([...live.useKind]).toEqual([UseKind.Def, UseKind.Tied, UseKind.Def, UseKind.Fixed]);
  });

  it("ignores parameters that only feed each other", () => {
    const b = new Builder();
    const [entry, loop] = [b.block(), b.block()];
    const v = b.define(entry);
    const p = b.value();
    loop.params.push(new RegOperand(p));
    b.jump(entry, loop, v);
    b.jump(loop, loop, p);
    b.end(entry);
    b.end(loop);
    const live = computeLiveness(b.fn);
    expect(live.deadParam[p]).toBe(1);
    expect(live.rangeStart[p + 1]! - live.rangeStart[p]!).toBe(0);
  });

  it("stays right when sources of commutative instructions change places", () => {
    const exchanging = { ...target, commutes: (inst: MInst) => inst.op === Op.Work };
    const shape = { blocks: 9, instsPerBlock: 8, general: 8, vector: 4, calls: 0.1, reach: 8 };
    let exchanged = 0;
    for (let seed = 0; seed < 60; seed++) {
      const fn = seed % 2 === 0 ? generateFunction(seed, shape) : generateLong(seed, 300);
      normalizeConstraints(fn, exchanging);
      const before = show(fn);
      const { liveness } = describeProblem(fn, exchanging, sizePolicy(exchanging));
      expect(liveness).toEqual(computeLiveness(fn));
      if (show(fn) !== before) exchanged++;
    }
    expect(exchanged).toBeGreaterThan(20);
  });

  it("refuses functions that are not in SSA form", () => {
    const b = new Builder();
    const block = b.block();
    const v = b.define(block);
    b.inst(block, Op.Work, [new RegOperand(v)], []);
    b.end(block);
    expect(() => computeLiveness(b.fn)).toThrow("defined twice");
    const c = new Builder();
    const other = c.block();
    c.use(other, c.value());
    c.end(other);
    expect(() => computeLiveness(c.fn)).toThrow("never defined");
  });
});

describe("interval sets", () => {
  it("agree with a plain list under random insertions and removals", () => {
    const random = new Random(7);
    const set = new IntervalSet<number>();
    let list: { from: number; to: number; id: number }[] = [];
    for (let step = 0; step < 4000; step++) {
      const from = random.below(20000);
      const to = from + 1 + random.below(30);
      const overlapping = list.filter((e) => e.from < to && e.to > from).sort((x, y) => x.from - y.from);
      expect(set.firstOverlap(from, to)).toBe(overlapping[0]?.id ?? null);
      if (overlapping.length === 0) {
        set.insert(from, to, step);
        list.push({ from, to, id: step });
      } else if (random.chance(0.3)) {
        set.remove(overlapping[0]!.from);
        list = list.filter((e) => e !== overlapping[0]);
      }
    }
    expect(list.length).toBeGreaterThan(300);
  });
});

describe("coalescing", () => {
  it("merges a loop's counter into one bundle", () => {
    const b = new Builder();
    const [entry, loop, exit] = [b.block(), b.block(), b.block()];
    const start = b.define(entry);
    const i = b.value();
    const next = b.value();
    loop.params.push(new RegOperand(i));
    b.jump(entry, loop, start);
    b.inst(loop, Op.Work, [RegOperand.tied(next)], [new RegOperand(i)]);
    const latch = b.block();
    b.jump(loop, latch);
    b.jump(loop, exit);
    b.jump(latch, loop, next);
    for (const block of [entry, loop, latch, exit]) b.end(block);
    const { bundles } = coalesceByIntervals(describeProblem(b.fn, target, sizePolicy(target)));
    expect(bundles).toHaveLength(1);
    allocateRegisters(b.fn, target, options);
    expect(opsOf(b.fn)).not.toContain("Copy");
  });

  it("keeps values apart that live at the same time, unless they are one value and that is asked for", () => {
    const make = (): Builder => {
      const b = new Builder();
      const block = b.block();
      const v = b.define(block);
      const w = b.value();
      b.inst(block, Op.Copy, [new RegOperand(w)], [new RegOperand(v)]).imm = null;
      b.use(block, v, w);
      b.end(block);
      return b;
    };
    const problem = describeProblem(make().fn, target, sizePolicy(target));
    const [v, w] = singletonBundles(problem.fn, problem.liveness);
    expect(overlap(v!, w!)).toBe(true);
    expect(coalesceByIntervals(problem).bundles).toHaveLength(2);
    const merged = coalesceByValues(describeProblem(make().fn, target, sizePolicy(target))).bundles;
    expect(merged).toHaveLength(1);
    expect(merged[0]!.shadows).toHaveLength(1);
  });
});

describe("choice of places", () => {
  it("prefers a callee-saved register to memory for a value across a call", () => {
    const b = new Builder();
    const block = b.block();
    const v = b.define(block);
    b.call(block);
    b.use(block, v);
    b.end(block);
    const result = allocateRegisters(b.fn, target, options);
    expect(result.spillSlots).toBe(0);
    expect(overlaps(result.usedCalleeSaved, target.calleeSaved)).toBe(true);
  });

  it("leaves callee-saved registers alone where no call is crossed", () => {
    const b = new Builder();
    const block = b.block();
    b.call(block);
    const v = b.define(block);
    b.use(block, v);
    b.end(block);
    expect(allocateRegisters(b.fn, target, options).usedCalleeSaved).toBe(0);
  });

  it("recomputes a constant rather than saving a register for it", () => {
    const b = new Builder();
    const block = b.block();
    const v = b.value(4);
    const constant = b.inst(block, Op.Const, [new RegOperand(v)], []);
    b.fn.vregs[v]!.remat = constant;
    b.call(block, -1);
    b.use(block, v);
    b.end(block);
    const result = allocateRegisters(b.fn, target, options);
    expect(result.spillSlots).toBe(0);
    expect(result.rematerializations).toBe(1);
    expect(opsOf(b.fn)).toEqual(["Call", "Const", "Work", "Return"]);
  });

  it("keeps values in slots of their own across a call that returns twice", () => {
    const b = new Builder();
    const block = b.block();
    const first = b.define(block);
    const second = b.define(block);
    b.fn.returnsTwice = true;
    b.call(block).extra = {
      kind: "call",
      callee: null,
      calleeSet: -1,
      noReturn: false,
      returnsTwice: true,
      unwind: null,
      noUnwind: false,
      pushed: 0,
      hasStored: false,
    };
    b.use(block, first);
    const third = b.define(block);
    b.use(block, second);
    b.call(block, -1);
    b.use(block, third);
    b.end(block);
    const result = allocateRegisters(b.fn, target, options);
    expect(result.spillSlots).toBe(3);
  });

  it("takes slots for values at different times only once", () => {
    const b = new Builder();
    const block = b.block();
    for (let k = 0; k < 5; k++) {
      const v = b.define(block);
      b.call(block, -1);
      b.use(block, v);
    }
    b.end(block);
    expect(allocateRegisters(b.fn, target, options).spillSlots).toBe(1);
  });

  it("reads a spilled value from its slot where the instruction can", () => {
    const b = new Builder();
    const block = b.block();
    const v = b.define(block);
    b.call(block, -1);
    b.inst(block, Op.Work, [], [new RegOperand(v, noRegisters, true)]);
    b.end(block);
    expect(allocateRegisters(b.fn, target, options).reloads).toBe(0);
  });
});

describe("large functions", () => {
  it("of a hundred thousand instructions are allocated and keep their meaning", () => {
    const before = trace(generateLong(1, 100_000), 1, false, 20_000);
    const fn = generateLong(1, 100_000);
    const result = allocateRegisters(fn, mockTarget(14, 4), { ...options, check: false });
    expect(result.spillSlots).toBeGreaterThan(0);
    expect(trace(fn, 1, true, 20_000)).toEqual(before);
  });

  for (const allocator of ["ssa", "greedy", "linear", "graph"] as const) {
    it(`are sound with ${allocator}`, () => {
      const fn = generateLong(2, 8_000);
      const result = allocateRegisters(fn, mockTarget(14, 4), { ...options, allocator });
      expect(result.moves).toBeGreaterThan(0);
    });
  }

  it("give the same result every time", () => {
    const run = (): string[] => {
      const fn = generateLong(3, 3_000);
      allocateRegisters(fn, mockTarget(14, 4), { ...options, check: false });
      return fn.blocks.flatMap((block) =>
        block.insts.map((inst) => `${inst.op}:${inst.defs.map((d) => d.loc)}:${inst.uses.map((u) => u.loc)}`),
      );
    };
    expect(run()).toEqual(run());
  });
});
