/** Tail merging: equal ends are shared, however many blocks have them and through however many jumps. */
import { expect, test } from "vitest";
import { rebuildEdges, simplifyControlFlow } from "../../lto/codegen/late/cfg.js";
import { mergeTails } from "../../lto/codegen/late/merge-tails.js";
import { type MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { aluImm, movImm, physical } from "../../lto/x64/isa/build.js";
import { Cc, X } from "../../lto/x64/isa/ops.js";
import { RAX, RBX, RCX } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";

function jump(op: X.Jmp | X.Jcc, target: MBlock): MInst {
  const inst = new MInst(op, 8);
  inst.targets = [target];
  if (op === X.Jcc) inst.condition = Cc.E;
  return inst;
}

/** A chain of tests, each with a block of its own that `fill` makes; all end in one return. */
function cases(
  count: number,
  fill: (block: MBlock, i: number, mf: MFunction, end: MBlock) => void,
): MFunction {
  const fn = new Func("f", functionType(voidType, []));
  const mf = new MFunction(fn, "f", "minsize", x64Target);
  const heads = Array.from({ length: count }, () => mf.newBlock());
  const end = mf.newBlock();
  const ret = new MInst(X.Ret, 8);
  ret.uses = [RAX, RBX, RCX].map(physical);
  end.insts = [ret];
  heads.forEach((head, i) => {
    const block = mf.newBlock();
    fill(block, i, mf, end);
    const compare = new MInst(X.Cmp, 4);
    compare.uses = [physical(RCX)];
    compare.imm = i;
    head.insts = [compare, jump(X.Jcc, block), jump(X.Jmp, heads[i + 1] ?? end)];
  });
  rebuildEdges(mf);
  return mf;
}

const additions = (mf: MFunction): number =>
  mf.blocks.flatMap((b) => b.insts).filter((inst) => inst.op === X.Add).length;

test("hundreds of blocks share one end", () => {
  const mf = cases(300, (block, i, _mf, end) => {
    block.insts = [
      movImm(4, RAX, 1000 + i),
      aluImm(X.Add, 4, RBX, 77),
      aluImm(X.Add, 4, RBX, 99),
      jump(X.Jmp, end),
    ];
  });
  mergeTails(mf);
  simplifyControlFlow(mf);
  expect(additions(mf)).toBe(2);
});

test("ends that differ by what they jump to are equal once those are shared", () => {
  const mf = cases(20, (block, i, fn, end) => {
    const last = fn.newBlock();
    last.insts = [aluImm(X.Add, 4, RBX, 12345), jump(X.Jmp, end)];
    const other = fn.newBlock();
    other.insts = [movImm(4, RAX, 2000 + i), jump(X.Jmp, last)];
    block.insts = [aluImm(X.Add, 4, RCX, 54321), jump(X.Jcc, other), jump(X.Jmp, last)];
  });
  mergeTails(mf);
  simplifyControlFlow(mf);
  const shared = mf.blocks.filter((b) => b.insts.some((inst) => inst.op === X.Add && inst.imm === 12345));
  expect(shared).toHaveLength(1);
});
