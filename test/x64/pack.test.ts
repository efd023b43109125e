/** Allocated functions survive being packed: every form of every instruction, block and property comes back. */

import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import {
  type CallInfo,
  CfiKind,
  type JumpTable,
  type MBlock,
  MFunction,
  MInst,
  poolConstant,
  RegOperand,
  type SymbolRef,
} from "../../lto/codegen/mir.js";
import { packFunction } from "../../lto/codegen/pack/pack.js";
import { SymbolNumbers } from "../../lto/codegen/pack/symbol-numbers.js";
import { restoreFunction, unpackFunction } from "../../lto/codegen/pack/unpack.js";
import { setOfWords } from "../../lto/codegen/register-set.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { memory } from "../../lto/x64/isa/memory-operand.js";
import { JumpMark, X } from "../../lto/x64/isa/ops.js";
import { x64Target } from "../../lto/x64/target.js";
import { allForms } from "./forms.js";

const fn = new Func("f", functionType(voidType, []));
const other = new Func("other", functionType(voidType, []));
const routine = new Func("__divti3", functionType(voidType, []));
const symbols = new SymbolNumbers({ globals: [other, fn] });

const emptyFunction = (): MFunction => new MFunction(fn, "f", "speed", x64Target);

function inBlocks(insts: readonly MInst[]): MFunction {
  const mf = emptyFunction();
  const [first, second] = [mf.newBlock(), mf.newBlock()];
  first.insts.push(insts[0]!);
  second.insts.push(...insts.slice(1));
  return mf;
}

/** What the function is after a way there and back. */
const travelled = (mf: MFunction): MFunction => unpackFunction(packFunction(mf, symbols), symbols, x64Target);
const instsOf = (mf: MFunction): MInst[] => mf.blocks.flatMap((block) => block.insts);

// Tables belong to functions: the next test has them.
const packable = (): MInst[] => allForms().filter(({ extra }) => extra?.kind !== "jump-table");

test("every instruction form comes back", () => {
  const forms = packable();
  expect(forms.length).toBeGreaterThan(500);
  const mf = travelled(inBlocks(forms));
  expect(mf.blocks.map((b) => b.insts.length)).toEqual([1, forms.length - 1]);
  const [got, expected] = [instsOf(mf), packable()];
  const wrong = expected.filter((inst, i) => !isDeepStrictEqual(got[i], inst));
  expect(wrong).toEqual([]);
});

test("immediates of every kind, slots, targets, ties and long lists of operands come back", () => {
  const make = (): MFunction => {
    const mf = emptyFunction();
    const [first, target] = [mf.newBlock(), mf.newBlock()];
    const insts = [0, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1, 2n ** 63n - 1n, -5n, 2n ** 64n - 1n].map(
      (imm) => {
        const inst = new MInst(X.Mov, 8);
        inst.imm = imm;
        const def = RegOperand.physical(31);
        def.tiedTo = 2;
        inst.defs = [def];
        const slot = RegOperand.physical(3);
        slot.loc = ~100_000;
        inst.uses = [slot];
        return inst;
      },
    );
    const store = new MInst(X.MovM, 4);
    store.mem = memory(null, RegOperand.physical(9), 8, -(2 ** 31), null, true, 70_000, "gs");
    store.clobbers = setOfWords(-1);
    const wide = new MInst(X.Jmp, 8);
    wide.clobbers = setOfWords(0, -5);
    const many = new MInst(X.Entry, 512);
    many.defs = Array.from({ length: 20 }, (_, r) => RegOperand.physical(r));
    many.uses = Array.from({ length: 40 }, (_, r) => RegOperand.physical(r % 32));
    const jump = new MInst(X.Jcc, 8);
    jump.condition = 15;
    wide.marks = 31;
    jump.targets = [target];
    first.insts = [...insts, store, wide, many, jump];
    return mf;
  };
  expect(travelled(make())).toEqual(make());
});

test("symbols and what calls, landing pads, tables and assembly say come back", () => {
  const make = (): MFunction => {
    const mf = emptyFunction();
    const blocks = [mf.newBlock(), mf.newBlock(), mf.newBlock()] as const;
    mf.typeInfos.push(other, null);
    const table: JumpTable = { targets: [blocks[1], blocks[2], blocks[1]], entryBytes: 1, origin: blocks[1] };
    mf.jumpTables.push({ targets: [blocks[2]], entryBytes: 8, origin: "zero" }, table);
    const constant = poolConstant(Uint8Array.of(1, 2, 3, 0xff, 0x80), 4);
    const targets: SymbolRef["target"][] = [
      { kind: "global", global: other },
      { kind: "global", global: routine },
      { kind: "block", block: blocks[2] },
      { kind: "foreign-block", global: other, block: 7 },
      { kind: "constant", constant },
      { kind: "jump-table", table },
      { kind: "external", name: "__tls_get_addr" },
    ];
    const kinds = ["direct", "got", "plt", "tls-offset", "tls-offset-entry", "tls-dynamic"] as const;
    for (const [i, target] of targets.entries()) {
      const inst = new MInst(X.Lea, 8);
      inst.symbol = { kind: kinds[i % 6]!, target };
      inst.mem = memory(null, null, 1, 4, { kind: kinds[(i + 3) % 6]!, target }, true);
      blocks[0].insts.push(inst);
    }
    const callees = [null, other, routine];
    const infos = callees.map(
      (callee, i): CallInfo => ({
        kind: "call",
        callee,
        calleeSet: i - 2,
        noReturn: i === 0,
        returnsTwice: i === 1,
        unwind: i === 2 ? blocks[1] : null,
        noUnwind: i !== 2,
        pushed: 8 * i,
        hasStored: i === 1,
      }),
    );
    for (const extra of infos) {
      const call = new MInst(X.Call, 8);
      call.extra = extra;
      blocks[1].insts.push(call);
    }
    const pad = new MInst(X.LandingPad, 8);
    pad.extra = {
      kind: "landing-pad",
      cleanup: true,
      clauses: [
        { kind: "catch", type: 1 },
        { kind: "filter", types: [0, 1] },
        { kind: "filter", types: [] },
      ],
    };
    const jump = new MInst(X.JmpIndirect, 8);
    jump.extra = { kind: "jump-table", table };
    jump.targets = [blocks[1], blocks[2]];
    jump.marks = JumpMark.NoTrack;
    const saved = new MInst(X.Cfi, 0);
    saved.extra = { kind: "unwind", directive: CfiKind.Offset, register: 3, offset: -16 };
    const check = new MInst(X.KcfiCheck, 8);
    check.imm = -5;
    check.extra = { kind: "number", value: 4 };
    blocks[2].insts.push(pad, saved, check, jump);
    return mf;
  };
  const got = travelled(make());
  expect(got).toEqual(make());
  const [symbol] = got.blocks[0]!.insts.slice(5);
  expect(symbol!.symbol!.target).toMatchObject({ table: got.jumpTables[1] });
  // A thread that never saw the routine knows it by its name.
  const elsewhere = new SymbolNumbers({ globals: [other, fn] });
  const there = unpackFunction(packFunction(make(), symbols), elsewhere, x64Target);
  expect(there.blocks[1]!.insts.map((i) => i.extra?.kind === "call" && i.extra.callee?.name)).toEqual([
    undefined,
    "other",
    "__divti3",
  ]);
});

test("inline assembly comes back, with the memory operands it shares", () => {
  const make = (): MFunction => {
    const mf = emptyFunction();
    const [block, target] = [mf.newBlock(), mf.newBlock()];
    const inst = new MInst(X.Asm, 8);
    const own = memory(RegOperand.physical(3), null, 1, 8);
    const extra = memory(RegOperand.physical(5), RegOperand.physical(6), 4, -1);
    inst.mem = own;
    inst.defs = [RegOperand.physical(0)];
    inst.targets = [target];
    inst.extra = {
      kind: "asm",
      intel: true,
      template: "odd “text”\n\t$0",
      unwind: target,
      operands: [
        { kind: "def", index: 0, size: 8 },
        { kind: "use", index: 1, size: 4 },
        { kind: "mem", mem: own },
        { kind: "mem", mem: extra },
        { kind: "mem", mem: extra },
        { kind: "imm", value: -(2n ** 63n) },
        {
          kind: "symbol",
          symbol: { kind: "direct", target: { kind: "global", global: other } },
          offset: 2 ** 40,
        },
        { kind: "block", block: target },
        { kind: "text", text: "%st(1)" },
      ],
    };
    block.insts = [inst];
    return mf;
  };
  const mf = travelled(make());
  expect(mf).toEqual(make());
  const [inst] = mf.blocks[0]!.insts;
  if (inst!.extra?.kind !== "asm") throw new Error("no assembly");
  const mems = inst!.extra.operands.flatMap((o) => (o.kind === "mem" ? [o.mem] : []));
  expect(mems[0]).toBe(inst!.mem);
  expect(mems[2]).toBe(mems[1]);
});

function described(): { mf: MFunction; blocks: MBlock[] } {
  const mf = new MFunction(fn, "f", "minsize", x64Target);
  const blocks = [mf.newBlock(), mf.newBlock(), mf.newBlock()];
  const [a, b, c] = blocks as [MBlock, MBlock, MBlock];
  mf.blocks = [b, a, c];
  a.succs = [c, b];
  b.preds = [a, c];
  c.preds = [a];
  a.frequency = 1 / 3;
  b.addressTaken = true;
  b.label = 4;
  c.landingPad = true;
  mf.newSlot(2 ** 33, 32, "spill", -24);
  mf.newSlot(8, 8, "incoming", 16);
  mf.hasDynamicAlloca = mf.hasCalls = mf.noRedZone = true;
  mf.needsFramePointer = mf.returnsTwice = mf.framePointer = true;
  mf.unwind = "sync";
  mf.resultRegisters = setOfWords(-(2 ** 31), 3);
  mf.remark = "convention";
  mf.incomingBytes = 48;
  return { mf, blocks };
}

test("blocks with their edges, slots and properties come back", () => {
  const { mf } = described();
  const got = travelled(mf);
  expect(got).toEqual(mf);
  expect(got.newBlock().id).toBe(3);
});

test("a function is restored to what it was, but for the numbers of its blocks", () => {
  const { mf } = described();
  const packed = packFunction(mf, symbols);
  mf.newBlock();
  mf.slots[0]!.offset = 1;
  mf.newSlot(1, 1);
  mf.hasCalls = false;
  restoreFunction(mf, packed, symbols);
  const { mf: original } = described();
  original.reserveBlockIds(4);
  expect(mf).toEqual(original);
});

test("equal code is equal words, whatever the numbers of the blocks", () => {
  const make = (skip: number): MFunction => {
    const mf = emptyFunction();
    mf.reserveBlockIds(skip);
    const [first, second] = [mf.newBlock(), mf.newBlock()];
    const load = new MInst(X.Movsd, 8);
    load.defs = [RegOperand.physical(16)];
    const constant = poolConstant(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, skip === 9 ? 1 : 64), 8);
    load.mem = memory(null, null, 1, 0, { kind: "direct", target: { kind: "constant", constant } }, true);
    const jump = new MInst(X.Jmp, 8);
    jump.targets = [second];
    first.insts = [load, jump];
    second.insts = [new MInst(X.Ret, 8)];
    return mf;
  };
  const code = (mf: MFunction): Int32Array => {
    const packed = packFunction(mf, symbols);
    return packed.words.subarray(packed.code);
  };
  expect(code(make(5))).toEqual(code(make(0)));
  expect(code(make(9))).not.toEqual(code(make(0)));
});
