/** Jump tables are as narrow as the distances allow, which GNU as confirms. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printModule } from "../../formats/asm/index.js";
import { finishFunction } from "../../lto/codegen/late/finish.js";
import { type JumpTable, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { noRegisters } from "../../lto/codegen/register-set.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import { Func, Module } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { aluImm, physical } from "../../lto/x64/isa/build.js";
import { X } from "../../lto/x64/isa/ops.js";
import { RAX, RCX, RDX } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";

interface Shape {
  /** 7-byte instructions in each target. */
  readonly lengths: readonly number[];
  /** Bytes more in the first target. */
  readonly more?: number;
  readonly pic?: boolean;
  readonly goal?: MFunction["goal"];
  readonly assembly?: boolean;
}

/** A function that jumps to one of as many blocks as there are lengths; each ends in a trap. */
function dispatching({ lengths, more = 0, pic = false, goal = "minsize", assembly = false }: Shape): {
  text: string;
  table: JumpTable;
} {
  const module = new Module("m", "m", "x86_64-unknown-linux-gnu", new DataLayout("e"));
  const fn = new Func("f", functionType(voidType, []));
  module.globals.push(fn);
  const mf = new MFunction(fn, "f", goal, x64Target);
  const head = mf.newBlock();
  const targets = lengths.map((length, i) => {
    const block = mf.newBlock();
    for (let k = 0; k < length; k++) block.insts.push(aluImm(X.Add, 8, RCX, 100000 + i));
    // Instructions of 4, 3 and 2 bytes.
    for (let left = i === 0 ? more : 0; left > 0; ) {
      const bytes = left === 5 ? 3 : Math.min(left, 4);
      block.insts.push(
        bytes === 4 ? aluImm(X.Add, 8, RCX, 5) : bytes === 3 ? aluImm(X.Add, 4, RCX, 5) : inc(),
      );
      left -= bytes;
    }
    if (assembly && i === 0) {
      const inst = new MInst(X.Asm, 8);
      inst.extra = { kind: "asm", intel: false, template: "nop", operands: [], unwind: null };
      block.insts.push(inst);
    }
    block.insts.push(new MInst(X.Ud2, 8));
    return block;
  });
  const table: JumpTable = { targets: [...targets], entryBytes: 4, origin: pic ? "table" : "zero" };
  mf.jumpTables.push({ ...table, targets: [...targets] }, table);
  const load = new MInst(X.TableLoad, 8);
  load.defs = pic ? [physical(RAX), physical(RDX)] : [physical(RAX)];
  load.uses = [physical(RAX)];
  load.extra = { kind: "jump-table", table };
  const jump = new MInst(X.JmpIndirect, 8);
  jump.uses = [RegOperand.physical(RAX)];
  jump.targets = targets;
  jump.extra = load.extra;
  head.insts.push(load, jump);
  for (const target of targets) {
    head.succs.push(target);
    target.preds.push(head);
  }
  finishFunction(mf, { written: noRegisters, usedCalleeSaved: noRegisters }, {});
  return { text: printModule(module, [mf], { relocation: pic ? "pie" : "static" }), table };
}

function inc(): MInst {
  const inst = new MInst(X.Inc, 4);
  inst.defs = [physical(RCX)];
  inst.uses = [physical(RCX)];
  return inst;
}

/** What `.rodata` holds once assembled. @throws when an entry does not fit */
function readOnlyBytes(text: string): number {
  const dir = mkdtempSync(join(tmpdir(), "tables-"));
  try {
    writeFileSync(join(dir, "m.s"), text);
    execFileSync("as", ["--64", "-o", join(dir, "m.o"), join(dir, "m.s")]);
    const sizes = execFileSync("size", ["-A", join(dir, "m.o")], { encoding: "utf8" });
    return Number(/^\.rodata\s+(\d+)/m.exec(sizes)?.[1] ?? 0);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The entries once assembled. */
function readOnlyValues(text: string, bytes: number): number[] {
  const dir = mkdtempSync(join(tmpdir(), "tables-"));
  try {
    writeFileSync(join(dir, "m.s"), text);
    execFileSync("as", ["--64", "-o", join(dir, "m.o"), join(dir, "m.s")]);
    execFileSync("objcopy", ["-O", "binary", "-j", ".rodata", "m.o", "s"], { cwd: dir });
    const contents = readFileSync(join(dir, "s"));
    return Array.from({ length: contents.length / bytes }, (_, i) => contents.readUIntLE(i * bytes, bytes));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe("jump tables", () => {
  // A trap takes 2 bytes: the last of 5 blocks starts 4 · 2 + 7 · n bytes after the first.
  for (const pic of [false, true])
    test(`${pic ? "relative" : "absolute"} ones get entries that just hold the farthest distance`, () => {
      const entries = (lengths: readonly number[]): number => {
        const { text, table } = dispatching({ lengths, pic });
        expect(readOnlyBytes(text)).toBe(lengths.length * table.entryBytes);
        return table.entryBytes;
      };
      expect(entries([1, 1, 1, 1, 1])).toBe(1);
      expect(entries([35, 0, 0, 0, 90])).toBe(1);
      expect(entries([36, 0, 0, 0, 0])).toBe(2);
      expect(entries([9361, 0, 0, 0, 0])).toBe(2);
      expect(entries([9362, 0, 0, 0, 0])).toBe(4);
    });
  // What is beyond the short branches' reach is in here, too: 127, 128, 32767 and 32768 are nothing to unsigned entries.
  test.each([
    [127, 1],
    [128, 1],
    [255, 1],
    [256, 2],
    [32767, 2],
    [32768, 2],
    [65535, 2],
    [65536, 4],
  ])("a distance of %i takes entries of %i bytes", (distance, bytes) => {
    const rest = distance - 4 * 2;
    const sevens = Math.max(0, Math.floor(rest / 7) - 1);
    for (const pic of [false, true]) {
      const lengths = [sevens, 0, 0, 0, 3];
      const { text, table } = dispatching({ lengths, more: rest - 7 * sevens, pic });
      expect(table.entryBytes).toBe(bytes);
      const values = readOnlyValues(text, bytes);
      if (bytes < 4) expect(values).toEqual([0, distance - 6, distance - 4, distance - 2, distance]);
      else expect(values).toHaveLength(5);
    }
  });
  test("few entries stay wide, and so do all where speed counts or the length of code is not known", () => {
    expect(dispatching({ lengths: [1, 1, 1, 1] }).table.entryBytes).toBe(4);
    expect(dispatching({ lengths: [1, 1, 1, 1, 1], goal: "speed" }).table.entryBytes).toBe(4);
    expect(dispatching({ lengths: [1, 1, 1, 1, 1], assembly: true }).table.entryBytes).toBe(4);
  });
  test("without a jump there is no table", () => {
    expect(dispatching({ lengths: [1, 1, 1, 1, 1] }).text.match(/^\.LJTI.*:$/gm)).toEqual([".LJTI0_1:"]);
  });
});
