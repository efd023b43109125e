/** Laid-out functions: the size we compute is the size that GNU as makes, branches included. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printModule } from "../../formats/asm/index.js";
import { finishFunction, functionSize } from "../../lto/codegen/late/finish.js";
import { shortenBranches } from "../../lto/codegen/late/shorten-branches.js";
import { type MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import { noRegisters } from "../../lto/codegen/register-set.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import { Func, Module } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { aluImm, physical } from "../../lto/x64/isa/build.js";
import { X } from "../../lto/x64/isa/ops.js";
import { RCX } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";

/** Deterministic random numbers (Park & Miller). */
function random(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 48271) % 2147483647;
    return state % n;
  };
}

/** Blocks of 0 to 60 bytes with random branches in both directions. */
function branchy(module: Module, name: string, seed: number): MFunction {
  const below = random(seed * 131 + 7);
  const fn = new Func(name, functionType(voidType, []));
  module.globals.push(fn);
  const mf = new MFunction(fn, name, (["speed", "size", "minsize"] as const)[seed % 3]!, x64Target);
  const count = 2 + below(40);
  for (let i = 0; i < count; i++) mf.newBlock();
  for (const block of mf.blocks) fill(mf, block, below);
  return mf;
}

function fill(mf: MFunction, block: MBlock, below: (n: number) => number): void {
  for (let n = below(8); n > 0; n--) block.insts.push(aluImm(X.Add, 8, RCX, 1000 + below(1000)));
  if (below(12) === 0) {
    block.insts.push(new MInst(X.Ret, 8));
    return;
  }
  const branch = (op: X): void => {
    const inst = new MInst(op, 8);
    inst.targets = [mf.blocks[1 + below(mf.blocks.length - 1)]!];
    if (op === X.Jcc) inst.condition = below(16);
    block.insts.push(inst);
  };
  const compare = new MInst(X.Cmp, 4);
  compare.uses.push(physical(RCX));
  compare.imm = below(300);
  block.insts.push(compare);
  if (below(3) > 0) branch(X.Jcc);
  branch(X.Jmp);
}

function assembledSizes(text: string): Map<string, number> {
  const dir = mkdtempSync(join(tmpdir(), "layout-"));
  try {
    writeFileSync(join(dir, "m.s"), text);
    execFileSync("as", ["--64", "-o", join(dir, "m.o"), join(dir, "m.s")]);
    const sizes = new Map<string, number>();
    for (const line of execFileSync("nm", ["-S", join(dir, "m.o")], { encoding: "utf8" }).split("\n")) {
      const [, size, , name] = line.split(" ");
      if (name !== undefined) sizes.set(name, Number.parseInt(size!, 16));
    }
    return sizes;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe("layout", () => {
  test("computes the size that GNU as makes", () => {
    const module = new Module("m", "m", "x86_64-unknown-linux-gnu", new DataLayout("e"));
    const functions: MFunction[] = [];
    const none = { written: noRegisters, usedCalleeSaved: noRegisters };
    for (let seed = 1; seed <= 300; seed++) {
      const mf = branchy(module, `f${seed}`, seed);
      finishFunction(mf, none, {});
      functions.push(mf);
    }
    const sizes = assembledSizes(printModule(module, functions, { relocation: "static" }));
    const ours = functions.map((mf) => `${mf.name} ${functionSize(mf)}`);
    expect(ours).toEqual(functions.map((mf) => `${mf.name} ${sizes.get(mf.name)}`));
  });
});

/** Blocks that control goes on from to the one after. */
const fallsOn = ({ insts }: MBlock): boolean => ![X.Jmp, X.Ret].includes(insts.at(-1)?.op as X);

/** Another order of what has to stay together, the entry first. */
function shuffled(blocks: readonly MBlock[], below: (n: number) => number): MBlock[] {
  const chains: MBlock[][] = [];
  blocks.forEach((block, i) => {
    if (i > 0 && fallsOn(blocks[i - 1]!)) chains.at(-1)!.push(block);
    else chains.push([block]);
  });
  const [entry, ...rest] = chains;
  for (let i = rest.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [rest[i], rest[j]] = [rest[j]!, rest[i]!];
  }
  return [...entry!, ...rest.flat()];
}

describe("chains of blocks", () => {
  test.each([false, true])("move where that makes code smaller, the last one fixed: %s", (isLastFixed) => {
    const module = new Module("m", "m", "x86_64-unknown-linux-gnu", new DataLayout("e"));
    let [saved, all] = [0, 0];
    for (let seed = 1; seed <= 200; seed++) {
      const mf = branchy(module, `f${seed}`, seed);
      finishFunction(mf, { written: noRegisters, usedCalleeSaved: noRegisters }, {});
      mf.blocks = shuffled(mf.blocks, random(seed));
      const before = [...mf.blocks];
      const bytes = functionSize(mf);
      shortenBranches(mf, isLastFixed);
      const { blocks } = mf;
      expect(new Set(blocks)).toEqual(new Set(before));
      expect([blocks.length, blocks[0]]).toEqual([before.length, before[0]]);
      for (const [i, block] of before.entries())
        if (fallsOn(block) && i + 1 < before.length)
          expect(blocks[blocks.indexOf(block) + 1]).toBe(before[i + 1]);
      if (isLastFixed) expect(blocks.at(-1)).toBe(before.at(-1));
      // Unwind tables count, too.
      expect(functionSize(mf)).toBeLessThanOrEqual(bytes + 3);
      saved += bytes - functionSize(mf);
      all += bytes;
    }
    expect(saved / all).toBeGreaterThan(0.003);
  });

  test("come to where they are branched to from", () => {
    const mf = new MFunction(new Func("f", functionType(voidType, [])), "f", "minsize", x64Target);
    const [entry, far, other, target] = [0, 1, 2, 3].map(() => mf.newBlock()) as [
      MBlock,
      MBlock,
      MBlock,
      MBlock,
    ];
    const long = (block: MBlock, count: number): void => {
      for (let n = 0; n < count; n++) block.insts.push(aluImm(X.Add, 8, RCX, 1000));
      block.insts.push(new MInst(X.Ret, 8));
    };
    const branch = (to: MBlock): void => {
      const inst = new MInst(X.Jcc, 8);
      inst.condition = 4;
      inst.targets = [to];
      entry.insts.push(inst);
    };
    branch(target);
    branch(far);
    long(entry, 4);
    long(far, 15);
    long(other, 15);
    long(target, 1);
    shortenBranches(mf, false);
    expect(mf.blocks).toEqual([entry, target, far, other]);
    mf.blocks = [entry, far, other, target];
    shortenBranches(mf, true);
    expect(mf.blocks).toEqual([entry, far, other, target]);
  });
});
