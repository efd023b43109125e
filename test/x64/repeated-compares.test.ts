/** Comparisons that have been made on every way to them, and such with a neighbouring number. */
import { describe, expect, test } from "vitest";
import { rebuildEdges } from "../../lto/codegen/late/cfg.js";
import { type MBlock, MFunction, type MInst } from "../../lto/codegen/mir.js";
import { single } from "../../lto/codegen/register-set.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { physical } from "../../lto/x64/isa/build.js";
import { jump } from "../../lto/x64/isa/facts.js";
import { memory } from "../../lto/x64/isa/memory-operand.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Cc, X } from "../../lto/x64/isa/ops.js";
import { RAX, RCX, RDI, RSI } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { withRegisters as inst } from "./insts.js";
import { runRulesOfEdges } from "./rule-runs.js";

const compare = () => inst(X.Cmp, 4, [], [RDI, RSI]);
function number(value: number, size = 4): MInst {
  const made = inst(X.Cmp, size, [], [RDI]);
  made.imm = value;
  return made;
}
const zero = () => inst(X.Test, 1, [], [RDI, RDI]);
function branch(cc: Cc, target: MBlock): MInst {
  const made = inst(X.Jcc, 8, [], [], cc);
  made.targets = [target];
  return made;
}
const ret = () => inst(X.Ret, 8, [], [RAX]);
const set = () => inst(X.Setcc, 1, [RAX], [], Cc.A);

const machine = () => new MFunction(new Func("f", functionType(voidType, [])), "f", "minsize", x64Target);
const blocksOf = (mf: MFunction, count: number): MBlock[] =>
  Array.from({ length: count }, () => mf.newBlock());
function run(mf: MFunction): string[][] {
  rebuildEdges(mf);
  runRulesOfEdges(mf, ["compare-loaded"]);
  return mf.blocks.map(({ insts }) => insts.map(({ op }) => opcodeNames[op]!));
}

describe("comparisons that were made", () => {
  test("go along a chain of branches", () => {
    const mf = machine();
    const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
    a.insts = [compare(), branch(Cc.L, b), jump(c)];
    b.insts = [compare(), branch(Cc.B, c), jump(c)];
    c.insts = [compare(), set(), ret()];
    expect(run(mf)).toEqual([
      ["Cmp", "Jcc", "Jmp"],
      ["Jcc", "Jmp"],
      ["Setcc", "Ret"],
    ]);
  });

  test.each([
    ["the same", () => compare(), true],
    ["another", () => inst(X.Cmp, 4, [], [RSI, RDI]), false],
    ["one of fewer bytes", () => inst(X.Cmp, 2, [], [RDI, RSI]), false],
  ])("where ways meet that made %s", (_, made, goes) => {
    const mf = machine();
    const [a, b, c, d] = blocksOf(mf, 4) as [MBlock, MBlock, MBlock, MBlock];
    a.insts = [inst(X.Test, 4, [], [RAX, RAX]), branch(Cc.E, b), jump(c)];
    b.insts = [compare(), jump(d)];
    c.insts = [made(), jump(d)];
    d.insts = [compare(), set(), ret()];
    expect(run(mf)[3]).toEqual(goes ? ["Setcc", "Ret"] : ["Cmp", "Setcc", "Ret"]);
  });

  test("not at the head of a loop, whose way back comes later", () => {
    const mf = machine();
    const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
    a.insts = [compare(), jump(b)];
    b.insts = [compare(), branch(Cc.L, c), inst(X.Inc, 4, [RDI], [RDI]), jump(b)];
    c.insts = [ret()];
    expect(run(mf)[1]).toEqual(["Cmp", "Jcc", "Inc", "Jmp"]);
  });

  const load = inst(X.Mov, 4, [RDI], []);
  load.mem = memory(physical(RCX));
  const call = inst(X.Call, 8, [], []);
  call.extra = {
    kind: "call",
    callee: null,
    calleeSet: null,
    noReturn: false,
    returnsTwice: false,
    unwind: null,
    noUnwind: false,
    pushed: 0,
  } as unknown as MInst["extra"];
  const clobbering = inst(X.Copy, 8, [RAX], [RCX]);
  clobbering.clobbers = single(RCX);
  test.each<[string, MInst]>([
    ["one of them is loaded", load],
    ["flags change", inst(X.Dec, 4, [RAX], [RAX])],
    ["there is a call", call],
    ["something is clobbered", clobbering],
  ])("not if in between %s", (_, between) => {
    for (const isFirst of [true, false]) {
      const mf = machine();
      const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
      a.insts = [compare(), branch(Cc.L, c), jump(b)];
      if (isFirst) a.insts.splice(1, 0, between);
      b.insts = [...(isFirst ? [] : [between]), compare(), set(), ret()];
      c.insts = [ret()];
      expect(run(mf)[1]).toContain("Cmp");
    }
  });

  test("not of memory, nor after ways that are no branches", () => {
    const inMemory = () => {
      const made = inst(X.Cmp, 4, [], [RDI]);
      made.mem = memory(physical(RSI));
      return made;
    };
    for (const [made, pin] of [
      [inMemory, () => {}],
      [compare, (block: MBlock) => void (block.addressTaken = true)],
      [compare, (block: MBlock) => void (block.landingPad = true)],
    ] as const) {
      const mf = machine();
      const [a, b] = blocksOf(mf, 2) as [MBlock, MBlock];
      a.insts = [made(), jump(b)];
      b.insts = [made(), set(), ret()];
      pin(b);
      expect(run(mf)[1]).toEqual(["Cmp", "Setcc", "Ret"]);
    }
  });
});

/** Whether a byte fulfils a condition after its comparison with a number. */
function holds(cc: Cc, x: number, y: number): boolean {
  const difference = (x - y) & 0xff;
  const carry = (x & 0xff) < (y & 0xff);
  const sign = difference >= 0x80;
  const overflow = x - y < -0x80 || x - y > 0x7f;
  const parity = [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (difference >> bit) & 1).length % 2 === 0;
  const base = [overflow, carry, difference === 0, carry || difference === 0, sign, parity];
  const order = [...base, sign !== overflow, sign !== overflow || difference === 0];
  return order[cc >> 1]! !== ((cc & 1) === 1);
}

describe("comparisons with a neighbouring number", () => {
  const edges = [-128, -127, -2, -1, 0, 1, 2, 126, 127];
  const formsOf = (value: number): MInst[] => (value === 0 ? [number(0, 1), zero()] : [number(value, 1)]);

  test("ask the same, for all bytes and conditions", () => {
    let gone = 0;
    for (const first of edges)
      for (const second of edges)
        for (let cc: Cc = Cc.O; cc <= Cc.G; cc++)
          for (let form = 0; form < formsOf(first).length * formsOf(second).length; form++) {
            const mf = machine();
            const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
            const made = formsOf(first)[form % formsOf(first).length]!;
            const other = formsOf(second)[Math.floor(form / formsOf(first).length)]!;
            const asked = branch(cc, c);
            a.insts = [made, asked, jump(b)];
            b.insts = [other, set(), ret()];
            c.insts = [ret()];
            if (run(mf)[1]![0] === "Setcc") gone++;
            const [compared] = a.insts;
            const now = compared!.op === X.Test ? 0 : Number(compared!.imm);
            for (let x = -128; x < 128; x++)
              if (holds(cc, x, first) !== holds(asked.condition, x, now))
                expect.fail(`${x} against ${first}, ${second}: condition ${cc}`);
          }
    expect(gone).toBeGreaterThan(100);
  });

  test("stay where the flags are read after the branch, or by an instruction that carries", () => {
    for (const [behind, also] of [
      [[set()], []],
      [[], [inst(X.Sbb, 4, [RAX], [RAX, RAX])]],
    ]) {
      const mf = machine();
      const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
      a.insts = [number(4), ...also!, branch(Cc.G, b), jump(c)];
      b.insts = [number(5), set(), ret()];
      c.insts = [...behind!, ret()];
      expect(run(mf)[1]![0]).toBe("Cmp");
      expect(a.insts[0]!.imm).toBe(4);
    }
  });

  test("stay where the other way asks again for the number that there is", () => {
    const mf = machine();
    const [a, b, c] = blocksOf(mf, 3) as [MBlock, MBlock, MBlock];
    a.insts = [number(4), branch(Cc.G, b), jump(c)];
    b.insts = [number(5), set(), ret()];
    c.insts = [number(4), set(), ret()];
    expect(run(mf).map(([first]) => first)).toEqual(["Cmp", "Cmp", "Setcc"]);
  });

  test("give way one after the other", () => {
    const mf = machine();
    const [a, b, c, d] = blocksOf(mf, 4) as [MBlock, MBlock, MBlock, MBlock];
    a.insts = [number(1), branch(Cc.G, b), jump(d)];
    b.insts = [number(1), branch(Cc.G, c), jump(d)];
    c.insts = [number(2), set(), ret()];
    d.insts = [ret()];
    expect(run(mf).map(([first]) => first)).toEqual(["Cmp", "Jcc", "Setcc", "Ret"]);
  });
});
