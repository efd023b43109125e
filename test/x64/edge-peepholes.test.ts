/** Peepholes across the edges of branches: what two blocks compare, and what moves after a branch. */
import { describe, expect, test } from "vitest";
import { rebuildEdges } from "../../lto/codegen/late/cfg.js";
import { MFunction, type MInst } from "../../lto/codegen/mir.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { physical } from "../../lto/x64/isa/build.js";
import { jump } from "../../lto/x64/isa/facts.js";
import { memory } from "../../lto/x64/isa/memory-operand.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Cc, X } from "../../lto/x64/isa/ops.js";
import { RAX, RCX, RDI, RDX, RSI } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { withRegisters as inst } from "./insts.js";
import { runRulesOfEdges } from "./rule-runs.js";

/** The operations of two blocks: one that ends in a branch, and one that it leads to; a third returns. */
function across(first: MInst[], second: MInst[], result: number): [string[], string[]] {
  const fn = new Func("f", functionType(voidType, []));
  const mf = new MFunction(fn, "f", "speed", x64Target);
  const [a, b, c] = [mf.newBlock(), mf.newBlock(), mf.newBlock()];
  const branch = inst(X.Jcc, 8, [], [], Cc.E);
  branch.targets = [b];
  a.insts = [...first, branch, jump(c)];
  for (const last of second) if (last.op === X.Jcc) last.targets = [c];
  b.insts = [...second, ...(second.at(-1)?.op === X.Jcc ? [jump(a)] : [inst(X.Ret, 8, [], [result])])];
  c.insts = [inst(X.Ret, 8, [], [RCX])];
  rebuildEdges(mf);
  runRulesOfEdges(mf);
  const names = (insts: MInst[]): string[] => insts.map(({ op }) => opcodeNames[op]!);
  return [names(a.insts), names(b.insts)];
}

describe("across the edge of a branch", () => {
  const compare = () => inst(X.Cmp, 4, [], [RDX, RSI]);
  const set = () => inst(X.Setcc, 1, [RAX], [], Cc.A);

  test("the same comparison is made once", () => {
    const [, second] = across([compare()], [compare(), set()], RAX);
    expect(second).toEqual(["Setcc", "Ret"]);
  });
  test.each([
    [1, X.Movzx8, ["Cmp", "Jcc", "Jmp"]],
    [1, X.Movsx8, ["Cmp", "Jcc", "Jmp"]],
    [2, X.Movzx16, ["Cmp", "Jcc", "Jmp"]],
    [2, X.Movsx16, ["Cmp", "Jcc", "Jmp"]],
    [4, X.Mov, ["Cmp", "Jcc", "Jmp"]],
    [2, X.Movzx8, ["Movzx8", "Cmp", "Jcc", "Jmp"]],
    [4, X.Movzx16, ["Movzx16", "Cmp", "Jcc", "Jmp"]],
  ])("what was loaded for it alone is compared in memory: %i bytes", (size, op, expected) => {
    const load = inst(op, 4, [RSI], []);
    load.mem = memory(physical(RDI));
    const narrow = () => inst(X.Cmp, size, [], [RDX, RSI]);
    expect(across([load, narrow()], [narrow(), set()], RAX)).toEqual([expected, ["Setcc", "Ret"]]);
  });
  const swapped = () => inst(X.Cmp, 4, [], [RSI, RDX]);
  test("the comparison with its sides exchanged is the same, asked the other way", () => {
    const asked = set();
    expect(across([compare()], [swapped(), asked], RAX)[1]).toEqual(["Setcc", "Ret"]);
    expect(asked.condition).toBe(Cc.B);
  });
  test.each([Cc.S, Cc.O, Cc.P])("not where condition %i of the difference is asked for", (condition) => {
    const asked = inst(X.Setcc, 1, [RAX], [], condition);
    expect(across([compare()], [swapped(), asked], RAX)[1]).toEqual(["Cmp", "Setcc", "Ret"]);
    expect(asked.condition).toBe(condition);
  });
  test("what is asked after other flags were made is asked of those", () => {
    const [first, second] = [set(), inst(X.Setcc, 1, [RAX], [], Cc.L)];
    const code = [swapped(), first, inst(X.Dec, 4, [RCX], [RCX]), second];
    expect(across([compare()], code, RAX)[1]).toEqual(["Setcc", "Dec", "Setcc", "Ret"]);
    expect([first.condition, second.condition]).toEqual([Cc.B, Cc.L]);
  });
  test("another comparison, or one of changed registers, stays", () => {
    const other = inst(X.Cmp, 4, [], [RSI, RCX]);
    expect(across([compare()], [other, set()], RAX)[1]).toEqual(["Cmp", "Setcc", "Ret"]);
    const wide = inst(X.Cmp, 8, [], [RSI, RDX]);
    expect(across([compare()], [wide, set()], RAX)[1]).toEqual(["Cmp", "Setcc", "Ret"]);
    const copy = inst(X.Copy, 4, [RDX], [RCX]);
    expect(across([compare()], [copy, compare(), set()], RAX)[1]).toEqual(["Copy", "Cmp", "Setcc", "Ret"]);
  });
  test("a counter is counted where it is tested, unless the other way needs it", () => {
    const count = (register: number) => inst(X.Dec, 4, [register], [register]);
    const tested = (register: number) => [
      inst(X.Test, 4, [], [register, register]),
      inst(X.Jcc, 8, [], [], Cc.E),
    ];
    const moved = across([count(RAX), compare()], tested(RAX), RAX);
    expect(moved).toEqual([
      ["Cmp", "Jcc", "Jmp"],
      ["Dec", "Jcc", "Jmp"],
    ]);
    expect(across([count(RCX), compare()], tested(RCX), RCX)[0]).toEqual(["Dec", "Cmp", "Jcc", "Jmp"]);
  });
  test("copies of one way alone move in front of the branch, however rare both are", () => {
    const fn = new Func("f", functionType(voidType, []));
    const mf = new MFunction(fn, "f", "speed", x64Target);
    const [a, b, c, d] = [mf.newBlock(), mf.newBlock(), mf.newBlock(), mf.newBlock()];
    // The least that a block counts: neither is taken more often than the other.
    for (const block of mf.blocks) block.frequency = 2 ** -30;
    const branch = inst(X.Jcc, 8, [], [], Cc.E);
    branch.targets = [b];
    a.insts = [compare(), branch, jump(c)];
    b.insts = [inst(X.Copy, 8, [RAX], [RSI]), jump(d)];
    c.insts = [inst(X.Copy, 8, [RAX], [RCX]), jump(d)];
    d.insts = [inst(X.Ret, 8, [], [RAX])];
    rebuildEdges(mf);
    runRulesOfEdges(mf);
    const names = (insts: MInst[]): string[] => insts.map(({ op }) => opcodeNames[op]!);
    expect([a, b, c].map(({ insts }) => names(insts))).toEqual([
      ["Copy", "Cmp", "Jcc", "Jmp"],
      ["Jmp"],
      ["Copy", "Jmp"],
    ]);
  });
});
