import { expect, test } from "vitest";
import { MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { packBody, unpackBody } from "../../lto/codegen/mir-pack.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { memory } from "../../lto/x64/isa/memory-operand.js";
import { X } from "../../lto/x64/isa/ops.js";
import { x64Target } from "../../lto/x64/target.js";
import { allForms } from "./forms.js";

function emptyFunction(): MFunction {
  return new MFunction(new Func("f", functionType(voidType, [])), "f", "speed", x64Target);
}

function packed(insts: readonly MInst[]): MInst[] {
  const mf = emptyFunction();
  const [first, second] = [mf.newBlock(), mf.newBlock()];
  first.insts.push(insts[0]!);
  second.insts.push(...insts.slice(1));
  const body = packBody(mf);
  expect([first.insts, second.insts]).toEqual([[], []]);
  unpackBody(mf, body);
  return [...first.insts, ...second.insts];
}

test("every instruction form comes back", () => {
  const forms = allForms();
  expect(forms.length).toBeGreaterThan(500);
  expect(packed(forms)).toEqual(allForms());
});

test("immediates of every kind, slots, targets and ties come back", () => {
  const make = (): MInst[] => {
    const mf = emptyFunction();
    const target = mf.newBlock();
    const insts = [0, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1, 2n ** 63n - 1n, -5n].map((imm) => {
      const inst = new MInst(X.Mov, 8);
      inst.imm = imm;
      const def = RegOperand.physical(31);
      def.tiedTo = 2;
      inst.defs = [def];
      const slot = RegOperand.physical(3);
      slot.loc = ~100_000;
      inst.uses = [slot];
      return inst;
    });
    const store = new MInst(X.MovM, 4);
    store.mem = memory(null, RegOperand.physical(9), 8, -(2 ** 31), null, true, 70_000, "gs");
    store.clobbers = -1;
    const jump = new MInst(X.Jcc, 8);
    jump.cc = 15;
    jump.targets = [target];
    return [...insts, store, jump];
  };
  const got = packed(make());
  const want = make();
  expect(got.map((i) => i.targets.map((t) => t.id))).toEqual(want.map((i) => i.targets.map((t) => t.id)));
  for (const inst of [...got, ...want]) inst.targets = [];
  expect(got).toEqual(want);
});
