/**
 * Values on the edges from calls to landing pads, under every allocator: a value is there in a callee-saved register
 * or in memory, whatever the call itself leaves alone; nothing is moved behind the call; the unwinder's own registers
 * are free of other values. The checker and the interpreter both let the unwinder destroy what nobody restores.
 */

import { describe, expect, it } from "vitest";
import { type MBlock, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import {
  type AllocatorOptions,
  allocateRegisters,
  checkAllocation,
  snapshotForCheck,
} from "../../lto/codegen/regalloc/index.js";
import { setOfWords, single } from "../../lto/codegen/register-set.js";
import type { AllocationResult } from "../../lto/codegen/target.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { trace } from "./interpret.js";
import { calleeSaved, mockMachine, mockTarget, Op } from "./mock-target.js";

const target = mockTarget(8, 4);
const isSaved = (loc: number): boolean => loc >= 0 && ((calleeSaved >>> loc) & 1) === 1;

/** A function of calls with one landing pad each, or one for several. */
class Code {
  readonly fn = new MFunction({} as GlobalValue, "test", "minsize", mockMachine);
  block: MBlock = this.fn.newBlock();
  private identity = 0;

  inst(op: Op, defs: RegOperand[], uses: RegOperand[]): MInst {
    const inst = new MInst(op, 8);
    inst.imm = ++this.identity;
    inst.defs = defs;
    inst.uses = uses;
    this.block.insts.push(inst);
    return inst;
  }
  value = (size = 8, cls = 0): number => this.fn.newVReg(cls, size);
  define(size = 8, cls = 0): number {
    const v = this.value(size, cls);
    this.inst(Op.Work, [new RegOperand(v)], []);
    return v;
  }
  read(...values: number[]): void {
    for (const v of values) this.inst(Op.Work, [], [new RegOperand(v)]);
  }
  /** A landing pad; code goes on in it. */
  pad(block: MBlock): { pointer: number; selector: number } {
    this.block = block;
    const [pointer, selector] = [this.value(), this.value(4)];
    const inst = this.inst(
      Op.LandingPad,
      [new RegOperand(pointer, single(0)), new RegOperand(selector, single(1))],
      [],
    );
    inst.clobbers = setOfWords(~calleeSaved);
    inst.extra = { kind: "landing-pad", cleanup: true, clauses: [] };
    block.landingPad = true;
    return { pointer, selector };
  }
  /** A call that may unwind to `unwind`; code goes on where it returns. Its result. */
  invoke(unwind: MBlock, clobbers: number, args: number[] = []): number {
    const result = this.value();
    const call = this.inst(
      Op.Call,
      [new RegOperand(result, single(0))],
      args.map((v, r) => new RegOperand(v, single(r))),
    );
    call.clobbers = setOfWords(clobbers);
    call.extra = {
      kind: "call",
      callee: null,
      calleeSet: -1,
      noReturn: false,
      returnsTwice: false,
      unwind,
      noUnwind: false,
      pushed: 0,
      hasStored: false,
    };
    const normal = this.fn.newBlock();
    this.inst(Op.Jump, [], []).targets = [normal];
    for (const next of [normal, unwind]) {
      this.block.succs.push(next);
      this.block.succArgs.push([]);
      next.preds.push(this.block);
    }
    this.block = normal;
    return result;
  }
  end(): void {
    this.inst(Op.Return, [], []);
  }
}

/** Where a value is read from in a block, after allocation: all locations. */
const placesIn = (block: MBlock, vreg: number): number[] =>
  block.insts.flatMap((inst) => inst.uses.filter((use) => use.vreg === vreg).map((use) => use.loc));

function everywhere(
  name: string,
  build: () => { code: Code; verify?: (result: AllocationResult) => void },
): void {
  for (const allocator of ["ssa", "greedy", "linear", "graph"] as const)
    it(`${name}: ${allocator}`, () => {
      for (const coalesce of ["pereira", "dominance", "none"] as const)
        for (const spillCost of ["size", "speed"] as const) {
          const options: AllocatorOptions = { allocator, coalesce, spillCost, sizeTime: 1, check: true };
          const { code, verify } = build();
          const runs = [1, 2, 3, 4, 5, 6];
          const before = runs.map((run) => trace(code.fn, run, false));
          const result = allocateRegisters(code.fn, target, options);
          expect(
            runs.map((run) => trace(code.fn, run, true)),
            `${coalesce} ${spillCost}`,
          ).toEqual(before);
          for (const { insts } of code.fn.blocks) {
            const call = insts.findIndex(({ extra }) => extra?.kind === "call" && extra.unwind !== null);
            if (call >= 0) expect(insts.slice(call + 1).map(({ op }) => op)).toEqual([Op.Jump]);
          }
          verify?.(result);
        }
    });
}

describe("values on unwind edges", () => {
  everywhere("a value that the call leaves where it is does not stay in a caller-saved register", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const kept = Array.from({ length: 4 }, () => code.define());
    // The callee changes next to nothing; an exception still runs through the unwinder.
    const result = code.invoke(pad, 1);
    code.read(result, ...kept);
    code.end();
    const { pointer, selector } = code.pad(pad);
    code.read(pointer, selector, ...kept);
    code.end();
    return {
      code,
      verify: (result) => expect(result.spillSlots).toBeGreaterThanOrEqual(2),
    };
  });

  everywhere("what fits stays in callee-saved registers, without a move", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const kept = [code.define(), code.define()];
    code.read(code.invoke(pad, ~calleeSaved), ...kept);
    code.end();
    code.pad(pad);
    code.read(...kept);
    code.end();
    return {
      code,
      verify: (result) => {
        expect(result.spillSlots).toBe(0);
        for (const v of kept) for (const loc of placesIn(pad, v)) expect(isSaved(loc)).toBe(true);
      },
    };
  });

  everywhere("a landing pad of several calls, between which values move", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const kept = Array.from({ length: 5 }, () => code.define());
    for (let k = 0; k < 4; k++) {
      code.read(kept[k]!);
      const more = [code.define(), code.define(), code.define()];
      code.read(code.invoke(pad, k % 2 === 0 ? ~calleeSaved : 3, [kept[k]!]), ...more);
    }
    code.read(...kept);
    code.end();
    const { pointer } = code.pad(pad);
    code.read(...kept, pointer);
    code.end();
    return { code };
  });

  everywhere("results exist on the way on alone", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const base = code.define();
    const results = [0, 1, 2, 3, 4, 5].map((k) => code.invoke(pad, k < 3 ? ~calleeSaved : 7, [base]));
    code.read(...results, base);
    code.end();
    const { pointer } = code.pad(pad);
    code.read(pointer, base);
    code.end();
    return { code };
  });

  everywhere("no vector register survives", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const vector = code.define(16, 1);
    code.read(code.invoke(pad, 1), vector);
    code.end();
    code.pad(pad);
    code.read(vector);
    code.end();
    return { code, verify: (result) => expect(result.spillSlots).toBeGreaterThan(0) };
  });

  everywhere("what the unwinder brings is there from the head of the landing pad", () => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const kept = Array.from({ length: 8 }, () => code.define());
    code.read(code.invoke(pad, ~calleeSaved, [kept[1]!, kept[0]!]), ...kept);
    code.end();
    const { pointer, selector } = code.pad(pad);
    code.read(...kept, selector, pointer);
    code.end();
    return { code };
  });
});

describe("the checker on unwind edges", () => {
  const small = (): { code: Code; pad: MBlock; kept: number; normal: () => MBlock } => {
    const code = new Code();
    const pad = code.fn.newBlock();
    const kept = code.define();
    code.read(code.invoke(pad, 1), kept);
    const normal = code.block;
    code.end();
    code.pad(pad);
    code.read(kept);
    code.end();
    return { code, pad, kept, normal: () => normal };
  };
  const complaints = (damage: (made: ReturnType<typeof small>) => void): string[] => {
    const made = small();
    const snapshot = snapshotForCheck(made.code.fn);
    allocateRegisters(made.code.fn, target, {
      allocator: "ssa",
      coalesce: "pereira",
      spillCost: "size",
      sizeTime: 1,
      check: true,
    });
    damage(made);
    return checkAllocation(made.code.fn, target, snapshot);
  };
  const copy = (to: number, from: number): MInst => {
    const inst = new MInst(Op.Copy, 8);
    inst.defs.push(RegOperand.physical(to));
    inst.uses.push(RegOperand.physical(from));
    return inst;
  };

  it("finds nothing wrong without damage", () => expect(complaints(() => {})).toEqual([]));

  it("finds a value kept in a caller-saved register that the call does not change", () => {
    const found = complaints(({ code, kept }) => {
      const operands = code.fn.blocks.flatMap(({ insts }) => insts.flatMap((i) => [...i.defs, ...i.uses]));
      for (const operand of operands) if (operand.vreg === kept) operand.loc = 6;
    });
    expect(found.some((text) => text.includes("is read from r6"))).toBe(true);
  });

  it("finds a move after the call", () => {
    const found = complaints(({ code }) => {
      const { insts } = code.fn.blocks[0]!;
      insts.splice(insts.length - 1, 0, copy(6, 0));
    });
    expect(found.some((text) => text.includes("after a call that unwinds"))).toBe(true);
  });

  it("finds a move that comes before the unwinder's registers are read", () => {
    const found = complaints(({ pad }) => void pad.insts.unshift(copy(0, 3)));
    expect(found.some((text) => text.includes("before the landing pad has been entered"))).toBe(true);
  });
});
