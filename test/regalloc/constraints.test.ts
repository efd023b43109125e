/**
 * What makes register allocation for a real machine harder than colouring, one complication at a time, each under
 * every allocator, coalescer and cost policy. The checker is on, and a run before and after allocation has to read
 * the same values.
 */

import { describe, expect, it } from "vitest";
import { type MBlock, MemOperand, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { type AllocatorOptions, allocateRegisters } from "../../lto/codegen/regalloc/index.js";
import { equalSets, intersect, noRegisters, setOfWords, single } from "../../lto/codegen/register-set.js";
import type { AllocationResult, TargetRegisters } from "../../lto/codegen/target.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { trace } from "./interpret.js";
import { mockMachine, mockTarget, Op } from "./mock-target.js";

const configurations: AllocatorOptions[] = [];
for (const allocator of ["ssa", "greedy", "linear", "graph"] as const) {
  for (const coalesce of ["pereira", "dominance", "none"] as const) {
    for (const spillCost of ["size", "speed"] as const) {
      configurations.push({ allocator, coalesce, spillCost, sizeTime: 1, check: true });
    }
  }
}

const target = mockTarget(8, 4);
const saved = (1 << 3) | (1 << 5) | 0xf000;

/** One function under construction, with one current block. */
class Code {
  readonly fn = new MFunction({} as GlobalValue, "test", "minsize", mockMachine);
  block: MBlock = this.fn.newBlock();
  private identity = 0;

  value(size = 8, cls = 0): number {
    return this.fn.newVReg(cls, size);
  }
  inst(defs: RegOperand[], uses: RegOperand[], op: Op = Op.Work): MInst {
    const inst = new MInst(op, 8);
    inst.imm = ++this.identity;
    inst.defs = defs;
    inst.uses = uses;
    this.block.insts.push(inst);
    return inst;
  }
  /** Defines a value in any register. */
  define(size = 8, cls = 0): number {
    const v = this.value(size, cls);
    this.inst([new RegOperand(v)], []);
    return v;
  }
  read(...values: number[]): MInst {
    return this.inst(
      [],
      values.map((v) => new RegOperand(v)),
    );
  }
  /** Each value read by an instruction of its own. */
  readEach(values: readonly number[]): void {
    for (const v of values) this.read(v);
  }
  call(args: RegOperand[] = [], results: RegOperand[] = [], clobbers = ~saved): MInst {
    const inst = this.inst(results, args, Op.Call);
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
  link(to: MBlock, ...args: number[]): void {
    this.block.succs.push(to);
    this.block.succArgs.push(args.map((v) => new RegOperand(v)));
    to.preds.push(this.block);
  }
  end(): void {
    const { succs } = this.block;
    const op = succs.length === 0 ? Op.Return : succs.length === 1 ? Op.Jump : Op.Branch;
    this.inst([], [], op).targets = [...succs];
  }
}

const fixed = (v: number, register: number): RegOperand => new RegOperand(v, single(register));
const tied = (v: number, to = 0): RegOperand => new RegOperand(v, noRegisters, false, to);
const early = (v: number): RegOperand => new RegOperand(v, noRegisters, false, -1, true);

/** Checks one function under every configuration. `build` makes it afresh and says what else must hold. */
function everywhere(
  name: string,
  build: () => { code: Code; verify?: (result: AllocationResult) => void },
  machine: TargetRegisters = target,
): void {
  it(name, () => {
    for (const options of configurations) {
      const { code, verify } = build();
      if (code.block.insts.at(-1)?.op !== Op.Return) code.end();
      const before = [1, 2, 3].map((run) => trace(code.fn, run, false));
      const result = allocateRegisters(code.fn, machine, options);
      const label = `${options.allocator} ${options.coalesce} ${options.spillCost}`;
      expect(
        [1, 2, 3].map((run) => trace(code.fn, run, true)),
        label,
      ).toEqual(before);
      verify?.(result);
    }
  });
}

const isGeneral = (loc: number): boolean => loc >= 0 && loc < 8;
const isVector = (loc: number): boolean => loc >= 16 && loc < 20;

describe("register banks", () => {
  everywhere("are filled independently of each other", () => {
    const code = new Code();
    const general = Array.from({ length: 7 }, () => code.define());
    const vector = Array.from({ length: 4 }, () => code.define(16, 1));
    const reads = [...general, ...vector].map((v) => code.read(v));
    return {
      code,
      verify: (result) => {
        expect(result.spillSlots).toBe(0);
        for (const [k, inst] of reads.entries()) {
          const { loc } = inst.uses[0]!;
          expect(k < 7 ? isGeneral(loc) : isVector(loc)).toBe(true);
        }
      },
    };
  });

  everywhere("spill each on its own, with slots of the right size", () => {
    const code = new Code();
    const vector = Array.from({ length: 9 }, () => code.define(16, 1));
    const general = code.define();
    code.readEach(vector);
    code.read(general);
    return {
      code,
      verify: (result) => {
        expect(result.spillSlots).toBeGreaterThan(0);
        for (const slot of code.fn.slots) expect(slot.size).toBe(16);
      },
    };
  });
});

describe("fixed operands", () => {
  everywhere("shift counts: one register for all of them, the shifted value elsewhere", () => {
    const code = new Code();
    const count = code.define(4);
    let value = code.define();
    const shifts: MInst[] = [];
    for (let k = 0; k < 4; k++) {
      const result = code.value();
      shifts.push(code.inst([tied(result)], [new RegOperand(value), fixed(count, 1)]));
      value = result;
    }
    code.read(value, count);
    return {
      code,
      verify: () => {
        for (const shift of shifts) {
          expect(shift.uses[1]!.loc).toBe(1);
          expect(shift.defs[0]!.loc).not.toBe(1);
        }
      },
    };
  });

  everywhere("division: two fixed sources, two fixed results, the divisor in neither", () => {
    const code = new Code();
    const divisor = code.define();
    const kept = code.define();
    let high = code.define();
    let low = code.define();
    const divisions: MInst[] = [];
    for (let k = 0; k < 3; k++) {
      const quotient = code.value();
      const remainder = code.value();
      divisions.push(
        code.inst(
          [new RegOperand(quotient, single(0), false, 0), new RegOperand(remainder, single(2), false, 1)],
          [fixed(low, 0), fixed(high, 2), new RegOperand(divisor, noRegisters, true)],
        ),
      );
      // The next one takes them the other way round.
      low = remainder;
      high = quotient;
    }
    code.read(low, high, divisor, kept);
    return {
      code,
      verify: () => {
        for (const { defs, uses } of divisions) {
          expect([...defs, ...uses].slice(0, 4).map(({ loc }) => loc)).toEqual([0, 2, 0, 2]);
          expect([0, 2]).not.toContain(uses[2]!.loc);
        }
      },
    };
  });

  everywhere("wide multiply: one fixed source, two fixed results, with the registers full", () => {
    const code = new Code();
    const others = Array.from({ length: 6 }, () => code.define());
    const a = code.define();
    const b = code.define();
    const low = code.value();
    const high = code.value();
    const multiply = code.inst(
      [new RegOperand(low, single(0), false, 0), fixed(high, 2)],
      [fixed(a, 0), new RegOperand(b, noRegisters, true)],
    );
    code.read(low);
    code.read(high, a);
    code.readEach(others);
    return { code, verify: () => expect(multiply.defs.map(({ loc }) => loc)).toEqual([0, 2]) };
  });

  everywhere("string instructions: three fixed sources that all change", () => {
    const code = new Code();
    const pointers = [code.define(), code.define(), code.define()];
    for (let k = 0; k < 2; k++) {
      const ends = [code.value(), code.value(), code.value()];
      code.inst(
        ends.map((v, n) => new RegOperand(v, single([7, 6, 1][n]!), false, n)),
        pointers.map((v, n) => fixed(v, [7, 6, 1][n]!)),
      );
      code.read(ends[0]!);
    }
    // All of them are needed unchanged afterwards.
    code.read(...pointers);
    return { code };
  });

  everywhere("in a cycle: three values that all have to be where another one is", () => {
    const code = new Code();
    const [a, b, c] = [code.value(), code.value(), code.value()];
    code.inst([fixed(a, 0), fixed(b, 1), fixed(c, 2)], []);
    code.inst([], [fixed(b, 0), fixed(c, 1), fixed(a, 2)]);
    code.read(a, b, c);
    return { code };
  });
});

describe("subclasses", () => {
  everywhere("of which more values live than there are registers in it", () => {
    const code = new Code();
    const few = setOfWords(0b1100);
    const values = Array.from({ length: 5 }, () => code.define());
    const readers = values.map((v) => code.inst([], [new RegOperand(v, few)]));
    const made = values.map((v) => {
      const result = code.value();
      code.inst([new RegOperand(result, few)], [new RegOperand(v)]);
      return result;
    });
    code.readEach(made);
    return {
      code,
      verify: () => {
        for (const { uses } of readers) expect([2, 3]).toContain(uses[0]!.loc);
      },
    };
  });

  everywhere("all taken by one instruction", () => {
    const code = new Code();
    const [a, b, c] = [code.define(), code.define(), code.define()];
    code.inst(
      [],
      [
        new RegOperand(a, setOfWords(0b110)),
        new RegOperand(b, setOfWords(0b11)),
        new RegOperand(c, setOfWords(0b101)),
      ],
    );
    code.read(a, b, c);
    return { code };
  });
});

describe("tied operands", () => {
  everywhere("of a value that is needed afterwards", () => {
    const code = new Code();
    const value = code.define();
    const results = Array.from({ length: 3 }, () => {
      const result = code.value();
      code.inst([tied(result)], [new RegOperand(value), new RegOperand(value)]);
      return result;
    });
    code.read(value, ...results);
    return { code };
  });

  everywhere("two results tied to two sources, which are exchanged around a loop", () => {
    const code = new Code();
    const [x, y] = [code.define(), code.define()];
    const [loop, exit] = [code.fn.newBlock(), code.fn.newBlock()];
    code.link(loop, x, y);
    code.end();
    const [p, q, r, s] = [code.value(), code.value(), code.value(), code.value()];
    loop.params.push(new RegOperand(p), new RegOperand(q));
    code.block = loop;
    code.inst([tied(r, 0), tied(s, 1)], [new RegOperand(p), new RegOperand(q)]);
    const latch = code.fn.newBlock();
    code.link(latch);
    code.link(exit);
    code.end();
    code.block = latch;
    code.link(loop, s, r);
    code.end();
    code.block = exit;
    code.read(r, s);
    return { code };
  });
});

describe("early clobbers", () => {
  everywhere("share no register with any source, even one that dies there", () => {
    const code = new Code();
    const sources = Array.from({ length: 5 }, () => code.define());
    const [a, b] = [code.value(), code.value()];
    const inst = code.inst(
      [early(a), early(b)],
      sources.map((v) => new RegOperand(v)),
    );
    code.read(a, b);
    return {
      code,
      verify: () => {
        for (const def of inst.defs) expect(inst.uses.map(({ loc }) => loc)).not.toContain(def.loc);
      },
    };
  });

  everywhere("beside a tied result and an address", () => {
    const code = new Code();
    const [value, base, index] = [code.define(), code.define(), code.define()];
    const [a, b] = [code.value(), code.value()];
    const inst = code.inst([early(a), tied(b)], [new RegOperand(value)]);
    inst.mem = new MemOperand(new RegOperand(base), new RegOperand(index), 0, null, -1, 4);
    code.read(a, b, value);
    return {
      code,
      verify: () => {
        expect([inst.mem!.base!.loc, inst.mem!.index!.loc, inst.uses[0]!.loc]).not.toContain(
          inst.defs[0]!.loc,
        );
      },
    };
  });
});

describe("conflicting uses of one value", () => {
  everywhere("as several arguments of a call, and of the address", () => {
    const code = new Code();
    const v = code.define();
    const call = code.call([fixed(v, 2), fixed(v, 1), fixed(v, 0)], [fixed(code.value(), 0)]);
    call.mem = new MemOperand(new RegOperand(v));
    code.read(v);
    return { code, verify: () => expect(call.uses.map(({ loc }) => loc)).toEqual([2, 1, 0]) };
  });

  everywhere("in subclasses that have nothing in common", () => {
    const code = new Code();
    const v = code.define();
    const w = code.define();
    code.inst(
      [],
      [
        new RegOperand(v, setOfWords(0b11)),
        new RegOperand(v, setOfWords(0b1100)),
        new RegOperand(w, setOfWords(0b10000)),
      ],
    );
    code.read(v, w);
    return { code };
  });

  everywhere("fixed, tied and in any register or slot at once", () => {
    const code = new Code();
    const v = code.define();
    const result = code.value();
    code.inst([tied(result)], [new RegOperand(v), fixed(v, 1), new RegOperand(v, noRegisters, true)]);
    code.read(v, result);
    return { code };
  });
});

describe("boundaries of functions", () => {
  everywhere(
    "parameters come in, arguments and results go through, the result goes out in fixed registers",
    () => {
      const code = new Code();
      const params = [code.value(), code.value(), code.value()];
      code.inst(
        params.map((v, n) => fixed(v, n)),
        [],
      );
      const first = code.value();
      code.call([fixed(params[2]!, 0), fixed(params[0]!, 1)], [fixed(first, 0)]);
      const second = code.value();
      code.call([fixed(params[1]!, 0), fixed(first, 1)], [fixed(second, 0)]);
      const end = code.inst([], [fixed(second, 0)], Op.Return);
      end.targets = [];
      return {
        code,
        verify: (result) => {
          expect(equalSets(result.usedCalleeSaved, intersect(result.written, target.calleeSaved))).toBe(true);
          expect(end.uses[0]!.loc).toBe(0);
        },
      };
    },
  );

  everywhere("more values live across a call than registers survive it", () => {
    const code = new Code();
    const values = Array.from({ length: 6 }, () => code.define());
    code.call([fixed(values[0]!, 0)]);
    code.readEach(values);
    code.call();
    code.readEach([...values].reverse());
    return { code, verify: (result) => expect(result.spillSlots).toBeLessThanOrEqual(6) };
  });
});

describe("partial preservation", () => {
  for (const survivor of [1, 4, 6]) {
    everywhere(`a call that changes all registers but ${survivor}`, () => {
      const code = new Code();
      const [a, b] = [code.define(), code.define()];
      code.call([], [], ~(1 << survivor));
      code.read(a);
      code.read(b);
      code.read(a);
      return { code, verify: (result) => expect(result.spillSlots).toBeLessThanOrEqual(2) };
    });
  }

  everywhere("calls with different masks, none of which agree", () => {
    const code = new Code();
    const values = Array.from({ length: 3 }, () => code.define());
    const vector = code.define(16, 1);
    for (let k = 0; k < 6; k++) {
      code.call([], [], ~((1 << k) | (1 << (k + 1)) | (1 << (16 + (k & 3)))));
      code.read(values[k % 3]!);
    }
    code.read(...values);
    code.read(vector);
    return { code };
  });

  everywhere("a call that returns twice preserves nothing, whatever its mask says", () => {
    const code = new Code();
    const v = code.define();
    code.fn.returnsTwice = true;
    code.call([], [], 0).extra = {
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
    code.read(v);
    return { code, verify: (result) => expect(result.spillSlots).toBe(1) };
  });
});

describe("aliasing sub-registers", () => {
  everywhere("a narrow name of a wide value is the same register, and both may be spilled", () => {
    const code = new Code();
    const wide = code.define(8);
    const narrow = code.value(4);
    code.inst([new RegOperand(narrow)], [new RegOperand(wide)], Op.Copy);
    code.call([], [], -1);
    code.read(narrow);
    code.call([], [], -1);
    code.read(wide);
    code.read(narrow, wide);
    return {
      code,
      // A wide value is never kept in a narrow slot.
      verify: () => expect(code.fn.slots.some((slot) => slot.size === 8)).toBe(true),
    };
  });

  everywhere("values of different widths never share a register while both live", () => {
    const code = new Code();
    const values = [8, 4, 8, 4, 8, 4, 8].map((size) => code.define(size));
    const inst = code.read(...values);
    return {
      code,
      verify: () => expect(new Set(inst.uses.map(({ loc }) => loc)).size).toBe(values.length),
    };
  });
});

describe("values that need no register of their own", () => {
  const constant = (code: Code): number => {
    const v = code.value(4);
    const inst = code.inst([new RegOperand(v)], [], Op.Const);
    inst.size = 4;
    code.fn.vregs[v]!.remat = inst;
    return v;
  };

  everywhere("are computed again instead of being stored", () => {
    const code = new Code();
    const values = Array.from({ length: 12 }, () => constant(code));
    code.call([], [], -1);
    code.readEach(values);
    return {
      code,
      verify: (result) => {
        expect(result.spillSlots).toBe(0);
        expect(result.spills + result.reloads).toBe(0);
      },
    };
  });

  everywhere("also on the edges into parameters and in fixed operands", () => {
    const code = new Code();
    const [a, b] = [constant(code), constant(code)];
    const [left, right, join] = [code.fn.newBlock(), code.fn.newBlock(), code.fn.newBlock()];
    code.link(left);
    code.link(right);
    code.end();
    for (const [block, args] of [
      [left, [a, b]],
      [right, [b, a]],
    ] as const) {
      code.block = block;
      code.call([fixed(args[0]!, 0), fixed(args[1]!, 1)]);
      code.link(join, ...args);
      code.end();
    }
    code.block = join;
    const [p, q] = [code.value(4), code.value(4)];
    join.params.push(new RegOperand(p), new RegOperand(q));
    code.read(p, q);
    return { code };
  });
});
