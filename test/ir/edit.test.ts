/** The editor: use lists stay what the body says, and edits of the control flow keep what a body computes. */
import { describe, expect, it } from "vitest";
import { parseModule, printModule } from "../../formats/text/index.js";
import { Builder } from "../../lto/ir/builder.js";
import {
  endUnreachable,
  incomingEdges,
  jumpTo,
  mergeIntoPredecessor,
  predecessors,
  removeBlocks,
  replaceSuccessor,
  replaceTerminator,
  setSuccessor,
  splitBlock,
  splitEdge,
  uniquePredecessor,
} from "../../lto/ir/cfg-edit.js";
import { CloneMap, cloneBlocks, cloneBody, cloneInst } from "../../lto/ir/clone.js";
import type { Editor } from "../../lto/ir/editor.js";
import { type Inst, makeInst, Op } from "../../lto/ir/instructions.js";
import { Func, type Module } from "../../lto/ir/module.js";
import { i32 } from "../../lto/ir/types.js";
import { constI32 } from "../../lto/ir/values.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { Interpreter } from "../support/interpreter/interpreter.js";
import { Random } from "../support/random.js";

/** Collatz-like: loops, a diamond, a switch with doubled targets, phis of phis. */
const source = `define i32 @f(i32 %a, i32 %b) {
entry:
  %odd = and i32 %a, 1
  %isOdd = icmp eq i32 %odd, 0
  br i1 %isOdd, label %left, label %right
left:
  %x = add i32 %a, %b
  br label %join
right:
  %y = mul i32 %b, %b
  br label %join
join:
  %v = phi i32 [ %x, %left ], [ %y, %right ]
  br label %loop
loop:
  %i = phi i32 [ 0, %join ], [ %i2, %latch ]
  %s = phi i32 [ %v, %join ], [ %s2, %latch ]
  %k = and i32 %s, 3
  switch i32 %k, label %latch [
    i32 1, label %one
    i32 2, label %two
    i32 3, label %two
  ]
one:
  %p = add i32 %s, %i
  br label %latch
two:
  %q = phi i32 [ %k, %loop ], [ %k, %loop ]
  %r = xor i32 %q, %s
  br label %latch
latch:
  %t = phi i32 [ %s, %loop ], [ %p, %one ], [ %r, %two ]
  %s2 = add i32 %t, 7
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, 9
  br i1 %more, label %loop, label %done
done:
  %u = sub i32 %s2, %v
  ret i32 %u
}
`;
const parse = (text = source): Module => parseModule(text, "edit.ll");
const inputs = [0, 1, 2, 3, 17, 1000, 0x7fffffff, 0x80000001];

function results(module: Module): unknown[] {
  const fn = module.functions[0]!;
  return inputs.map((n) =>
    new Interpreter(module.dataLayout, "exact").run(fn.view() as never, [
      [fn.args[0]!, BigInt(n)],
      [fn.args[1]!, BigInt(n ^ 0x55)],
    ]),
  );
}
function check(module: Module, editor: Editor): void {
  expect(editor.uses.check()).toBeNull();
  expect(verifyModule(module)).toEqual([]);
}
const find = (editor: Editor, op: Op, skip = 0): Inst =>
  editor.body.blocks.flatMap((block) => block.insts).filter((inst) => inst.op === op)[skip]!;

describe("use lists", () => {
  it("list uses in program order, count and answer for arguments and blocks", () => {
    const editor = parse().functions[0]!.edit();
    expect(editor.uses.check()).toBeNull();
    const [a, b] = editor.fn.args;
    expect(editor.users(a!).map((user) => user.op)).toEqual([Op.And, Op.Add]);
    expect(editor.users(b!).map((user) => user.op)).toEqual([Op.Add, Op.Mul, Op.Mul]);
    expect(editor.uses.count(b!)).toBe(3);
    expect(editor.uses.count(b!, 2)).toBe(2);
    expect(editor.hasOneUse(find(editor, Op.Mul))).toBe(true);
    expect(editor.hasUses(find(editor, Op.Ret))).toBe(false);
    const two = editor.body.blocks[6]!;
    const loop = editor.body.blocks[4]!;
    expect(incomingEdges(editor, two)).toEqual([loop, loop]);
    expect(uniquePredecessor(editor, two)).toBe(loop);
    expect(predecessors(editor, loop)).toEqual([editor.body.blocks[3], editor.body.blocks[7]]);
    expect(uniquePredecessor(editor, loop)).toBeNull();
  });

  it("follow setOperand, replaceAllUses, erase and insertion", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    const mul = find(editor, Op.Mul);
    const add = find(editor, Op.Add);
    editor.setOperand(add, 1, add.operands[0]!);
    editor.replaceAllUses(mul, editor.fn.args[0]!);
    check(module, editor);
    editor.erase(mul);
    expect(editor.uses.count(editor.fn.args[1]!)).toBe(0);
    const made = editor.insertAfter(makeInst(Op.Sub, i32, [add, constI32(3)], null), add);
    editor.replaceUsesIf(add, made, (user) => user !== made);
    check(module, editor);
    expect(printModule(module)).toContain("sub i32");
    expect(() => editor.erase(made)).toThrow("an instruction with uses is erased");
    expect(() => editor.replaceAllUses(made, editor.body.blocks[0]!.insts[1]!)).toThrow("another type");
    expect(() => editor.insertBefore(made, add)).toThrow("inserted twice");
  });

  it("are kept from one edit to the next, and made anew after a rewrite", () => {
    const fn = parse().functions[0]!;
    const editor = fn.edit();
    expect(fn.edit()).toBe(editor);
    fn.rewrite();
    expect(fn.edit()).not.toBe(editor);
  });

  it("take constant time for one of very many uses", () => {
    const count = 60000;
    const lines = Array.from({ length: count }, (_, i) => `  %v${i} = add i32 %a, ${i}`);
    const module = parse(`define i32 @f(i32 %a, i32 %b) {\n${lines.join("\n")}\n  ret i32 %a\n}\n`);
    const editor = module.functions[0]!.edit();
    const insts = [...editor.body.blocks[0]!.insts];
    for (let i = 0; i < count; i++) editor.setOperand(insts[i]!, 0, editor.fn.args[1]!);
    for (let i = 0; i < count; i += 2) editor.erase(insts[i]!);
    editor.sweep();
    expect(editor.body.blocks[0]!.insts).toHaveLength(count / 2 + 1);
    expect(editor.uses.count(editor.fn.args[1]!)).toBe(count / 2);
    expect(editor.uses.count(editor.fn.args[0]!)).toBe(1);
    // Quadratic work would take minutes.
  }, 60_000);
});

describe("erased instructions", () => {
  it("are skipped by all who look at the body from outside", () => {
    const module = parse();
    const fn = module.functions[0]!;
    const editor = fn.edit();
    const mul = find(editor, Op.Mul);
    const block = mul.parent!;
    editor.replace(mul, constI32(4));
    expect(block.insts[0]).toBe(mul);
    expect(mul.parent).toBeNull();
    expect(fn.view().blocks[2]!.insts.map((inst) => inst.op)).toEqual([Op.Br]);
    check(module, editor);
    expect(() => editor.erase(mul)).toThrow("erased twice");
  });

  it("may use themselves", () => {
    const module = parse(
      "define void @f() {\n  ret void\nl:\n  %p = phi i32 [ %q, %l ]\n  %q = add i32 %p, 1\n  br label %l\n}\n",
    );
    const editor = module.functions[0]!.edit();
    const [phi, add] = editor.body.blocks[1]!.insts as [Inst, Inst];
    editor.replaceAllUses(add, phi);
    editor.erase(add);
    editor.erase(phi);
    check(module, editor);
  });
});

describe("control flow", () => {
  it("splits and merges blocks back to what they were", () => {
    const module = parse();
    const before = printModule(module);
    const expected = results(module);
    const editor = module.functions[0]!.edit();
    for (const op of [Op.And, Op.Mul, Op.Xor, Op.Sub]) {
      const rest = splitBlock(editor, find(editor, op));
      check(module, editor);
      expect(results(module)).toEqual(expected);
      expect(mergeIntoPredecessor(editor, rest)).toBe(true);
      check(module, editor);
      expect(printModule(module)).toBe(before);
    }
    expect(mergeIntoPredecessor(editor, editor.body.blocks[0]!)).toBe(false);
    expect(mergeIntoPredecessor(editor, editor.body.blocks[3]!)).toBe(false);
  });

  it("merges a block with phis of one entry", () => {
    const module = parse(
      "define i32 @f(i32 %a, i32 %b) {\nentry:\n  br label %n\nn:\n  %p = phi i32 [ %a, %entry ]\n  ret i32 %p\n}\n",
    );
    const editor = module.functions[0]!.edit();
    expect(mergeIntoPredecessor(editor, editor.body.blocks[1]!)).toBe(true);
    expect(editor.body.blocks).toHaveLength(1);
    expect(editor.body.blocks[0]!.insts.map((i) => i.op)).toEqual([Op.Ret]);
    check(module, editor);
  });

  it("splits edges, one of several to the same block too", () => {
    const module = parse();
    const expected = results(module);
    const editor = module.functions[0]!.edit();
    const loop = editor.body.blocks[4]!;
    for (let i = 0; i < 4; i++) splitEdge(editor, loop, i);
    check(module, editor);
    expect(results(module)).toEqual(expected);
    expect(editor.body.blocks).toHaveLength(13);
  });

  it("replaces terminators and drops the phi entries of edges that are gone", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    const [entry, left, right, join] = editor.body.blocks as never[];
    replaceTerminator(editor, entry!, jumpTo(left!));
    removeBlocks(editor, [right!]);
    check(module, editor);
    expect((join as unknown as { insts: Inst[] }).insts[0]!.operands).toHaveLength(1);
    const loop = editor.body.blocks[3]!;
    const two = editor.body.blocks[5]!;
    replaceTerminator(editor, loop, jumpTo(two));
    expect(two.insts[0]!.operands).toHaveLength(1);
    expect(() => replaceTerminator(editor, loop, jumpTo(editor.body.blocks[6]!))).toThrow(
      "passes nothing to a phi",
    );
  });

  it("redirects edges with values for the phis of the target", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    const [entry, left, right, join] = editor.body.blocks;
    setSuccessor(editor, entry!, 0, join!, () => constI32(5));
    expect(editor.uses.check()).toBeNull();
    removeBlocks(editor, [left!]);
    check(module, editor);
    replaceSuccessor(editor, entry!, right!, join!);
    removeBlocks(editor, [right!]);
    check(module, editor);
    // Two edges from one block pass the same value.
    expect(join!.insts[0]!.operands.map((v) => (v as { num: number }).num)).toEqual([5, 5]);
    expect(() => removeBlocks(editor, [join!])).toThrow("a block with predecessors is removed");
  });

  it("ends a block where it is unreachable", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    endUnreachable(editor, find(editor, Op.Mul));
    check(module, editor);
    expect(editor.body.blocks[2]!.insts.map((i) => i.op)).toEqual([Op.Unreachable]);
    expect(editor.body.blocks[3]!.insts[0]!.operands).toHaveLength(1);
  });
});

describe("the builder", () => {
  it("makes instructions where it stands", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    const sub = find(editor, Op.Sub);
    const b = new Builder(editor).before(sub);
    const doubled = b.add(sub.operands[0]!, sub.operands[0]!);
    const chosen = b.select(b.icmp("slt", doubled, constI32(0)), doubled, b.not(doubled));
    const slot = b.alloca(i32, 4);
    b.store(chosen, slot, 4);
    editor.setOperand(sub, 0, b.load(i32, b.byteOffset(slot, 0), 4));
    b.after(editor.body.blocks[4]!.insts[0]!);
    b.freeze(
      b.cast(Op.Trunc, b.cast(Op.ZExt, editor.fn.args[0]!, editor.fn.args[0]!.type), editor.fn.args[0]!.type),
    );
    check(module, editor);
    expect(editor.body.blocks[4]!.insts.map((i) => i.op)).toEqual([
      Op.Phi,
      Op.Phi,
      Op.Freeze,
      Op.And,
      Op.Switch,
    ]);
    expect(editor.body.blocks.at(-1)!.insts.map((i) => i.op)).toEqual([
      Op.Add,
      Op.ICmp,
      Op.Xor,
      Op.Select,
      Op.Alloca,
      Op.Store,
      Op.Load,
      Op.Sub,
      Op.Ret,
    ]);
  });

  it("asks the folder first", () => {
    const editor = parse().functions[0]!.edit();
    const b = new Builder(editor, (op) => (op === Op.Add ? constI32(42) : null)).atStart(
      editor.body.blocks[0]!,
    );
    expect(b.add(constI32(1), constI32(2))).toMatchObject({ num: 42 });
    expect(b.mul(constI32(1), constI32(2))).toMatchObject({ valueKind: "inst" });
  });
});

describe("clones", () => {
  it("of a body compute the same", () => {
    const module = parse();
    const fn = module.functions[0]!;
    const copy = new Func("g", fn.valueType);
    copy.define(cloneBody(fn.view(), new CloneMap(copy.args)));
    module.globals.push(copy);
    expect(verifyModule(module)).toEqual([]);
    const expected = results(module);
    module.globals.reverse();
    expect(results(module)).toEqual(expected);
    const [, first, second] = printModule(module).split("define");
    expect(second!.trim()).toBe(first!.trim().replace("@g", "@f"));
  });

  it("of blocks use copies inside and originals outside", () => {
    const module = parse();
    const editor = module.functions[0]!.edit();
    editor.body.renumber();
    // The loop once more, before itself: what its first copy computes arrives at the original's entry.
    const [, , , join, loop, one, two, latch, done] = editor.body.blocks;
    const map = new CloneMap();
    const copies = cloneBlocks([loop!, one!, two!, latch!], map);
    editor.adopt(copies, join!);
    const passed = new Map([0, 1].map((i) => [copies[0]!.insts[i]!, loop!.insts[i]!.operands[0]!]));
    for (const phi of passed.keys()) editor.removeIncoming(phi, 0);
    replaceSuccessor(editor, join!, loop!, copies[0]!, (phi) => passed.get(phi)!);
    replaceSuccessor(editor, copies[3]!, done!, loop!, (phi) => map.value(phi.operands[0]!));
    check(module, editor);
    expect(copies[0]!.insts[2]!.operands[0]).toBe(copies[0]!.insts[1]);
    expect(copies[0]!.insts[1]!.operands[1]).toBe(join!.insts[0]);
  });

  it("of one instruction take mapped operands", () => {
    const editor = parse().functions[0]!.edit();
    editor.body.renumber();
    const add = find(editor, Op.Add);
    const copy = cloneInst(add, new CloneMap([constI32(8)]));
    expect(copy.parent).toBeNull();
    expect(copy.operands).toEqual([constI32(8), editor.fn.args[1]]);
  });
});

describe("random edits", () => {
  it("keep use lists, validity and what is computed", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = new Random(seed);
      const module = parse();
      const expected = results(module);
      const editor = module.functions[0]!.edit();
      for (let step = 0; step < 25; step++) {
        const block = random.pick(editor.body.blocks);
        const inst = random.pick(block.insts.filter((i) => i.parent === block));
        switch (random.below(6)) {
          case 0:
            if (inst.op !== Op.Phi && inst !== block.insts[0]) splitBlock(editor, inst);
            break;
          case 1:
            mergeIntoPredecessor(editor, block);
            break;
          case 2:
            if (block.successors.length > 0) splitEdge(editor, block, random.below(block.successors.length));
            break;
          case 3: {
            // A value computed once more takes over some of the uses.
            if (inst.op === Op.Phi || inst.type !== i32 || inst.op === Op.Ret) break;
            editor.body.renumber();
            const copy = editor.insertBefore(cloneInst(inst, new CloneMap()), inst);
            editor.replaceUsesIf(inst, copy, (user) => user.op !== Op.Phi && random.oneIn(2));
            break;
          }
          case 4:
            if (!editor.hasUses(inst) && inst.type === i32) editor.erase(inst);
            break;
          default:
            if (inst.op === Op.Add && inst.operands[0]!.type === i32) {
              const [a, b] = [inst.operands[0]!, inst.operands[1]!];
              editor.setOperand(inst, 0, b);
              editor.setOperand(inst, 1, a);
            }
        }
        const problem = editor.uses.check();
        expect(problem, `seed ${seed} step ${step}`).toBeNull();
      }
      expect(verifyModule(module), `seed ${seed}`).toEqual([]);
      expect(results(module), `seed ${seed}`).toEqual(expected);
    }
  });
});
