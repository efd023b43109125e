/** What the peepholes make of short instruction sequences, and what they must leave alone. */

import { describe, expect, test } from "vitest";
import { instructionText } from "../../formats/asm/x64/instructions.js";
import { cloneInst } from "../../lto/codegen/clone.js";
import { MFunction, MInst, type UnwindTables } from "../../lto/codegen/mir.js";
import { single } from "../../lto/codegen/register-set.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { aluImm, aluReg, baseDisp, copy, lea, movImm, physical, pop } from "../../lto/x64/isa/build.js";
import { AccessMark, Cc, X } from "../../lto/x64/isa/ops.js";
import { R8, RAX, RBP, RBX, RCX, RDI, RDX, RSI, XMM0 } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { withRegisters } from "./insts.js";
import { type RunOptions, runRules } from "./rule-runs.js";

const fail = (): never => {
  throw new Error("no such operand here");
};
const names = {
  symbol: fail,
  direct: fail,
  block: () => "L",
  foreignBlock: fail,
  constant: fail,
  addressWord: () => null,
  jumpTable: fail,
  trapSection: () => "\t.text",
  patchLabel: () => "",
  asmId: () => "0",
};

interface Options extends RunOptions {
  goal?: "speed" | "size" | "minsize";
  /** By default "none": only the code counts. */
  unwind?: UnwindTables;
  framePointer?: boolean;
}

/** Runs the peepholes over one block that returns `results`; the lines without the return. */
function optimised(insts: MInst[], results: number[], options: Options = {}): string[] {
  const fn = new Func("f", functionType(voidType, []));
  const mf = new MFunction(fn, "f", options.goal ?? "minsize", x64Target);
  mf.unwind = options.unwind ?? "none";
  mf.framePointer = options.framePointer ?? false;
  const block = mf.newBlock();
  const ret = new MInst(X.Ret, 8);
  ret.uses = results.map(physical);
  block.insts = [...insts, ret];
  runRules(mf, options);
  return block.insts.slice(0, -1).map((inst) => instructionText(inst, names).trim().replace("\t", " "));
}

const compare = (size: number, register: number, imm: number): MInst => {
  const inst = withRegisters(X.Cmp, size, [], [register]);
  inst.imm = imm;
  return inst;
};
const testSelf = (size: number, r: number): MInst => withRegisters(X.Test, size, [], [r, r]);
const set = (cc: Cc, register: number): MInst => withRegisters(X.Setcc, 1, [register], [], cc);

describe("constants", () => {
  test("zero is xor where the flags are free, else pushed", () => {
    expect(optimised([movImm(4, RAX, 0)], [RAX])).toEqual(["xorl %eax, %eax"]);
    const between = [compare(4, RDI, 5), movImm(4, RCX, 0), set(Cc.E, RAX)];
    expect(optimised(between, [RAX, RCX])).toEqual(["cmpl $5, %edi", "pushq $0", "popq %rcx", "sete %al"]);
  });
  test("small ones are pushed at minimum size, unless memory below rsp is in use", () => {
    expect(optimised([movImm(4, RAX, -5)], [RAX])).toEqual(["pushq $-5", "popq %rax"]);
    expect(optimised([movImm(4, RAX, -5)], [RAX], { redZone: true })).toEqual(["movl $-5, %eax"]);
    expect(optimised([movImm(4, RAX, 5)], [RAX], { goal: "size" })).toEqual(["movl $5, %eax"]);
  });
  test("are not pushed where unwind tables would tell of it", () => {
    const pushed = ["pushq $-5", "popq %rax"];
    const code = (): MInst[] => [movImm(4, RAX, -5)];
    expect(optimised(code(), [RAX], { unwind: "async" })).toEqual(["movl $-5, %eax"]);
    expect(optimised(code(), [RAX], { unwind: "sync" })).toEqual(pushed);
    expect(optimised(code(), [RAX], { unwind: "async", framePointer: true })).toEqual(pushed);
    const move = (): MInst[] => [copy(8, RDX, RDI)];
    expect(optimised(move(), [RDX, RDI])).toEqual(["pushq %rdi", "popq %rdx"]);
    expect(optimised(move(), [RDX, RDI], { unwind: "async" })).toEqual(["movq %rdi, %rdx"]);
  });
  test("have forms that change the flags, where nothing is pushed", () => {
    const form = (register: number, imm: number, size = 4): string[] =>
      optimised([movImm(size, register, imm)], [register], { unwind: "async" });
    expect(form(RCX, -1)).toEqual(["orl $-1, %ecx"]);
    expect(form(RCX, -1, 8)).toEqual(["orq $-1, %rcx"]);
    expect(form(RSI, 1)).toEqual(["xorl %esi, %esi", "incl %esi"]);
    expect(form(RCX, 200)).toEqual(["xorl %ecx, %ecx", "movb $-56, %cl"]);
    expect(form(RSI, 5)).toEqual(["movl $5, %esi"]);
    expect(form(R8, 1)).toEqual(["movl $1, %r8d"]);
    const between = [compare(4, RDI, 5), movImm(4, RCX, -1), set(Cc.E, RAX)];
    expect(optimised(between, [RAX, RCX], { unwind: "async" })[1]).toBe("movl $-1, %ecx");
  });
  test("change the low byte of a register without other bits", () => {
    const extended = withRegisters(X.Movzx8, 4, [RDX], [RDI]);
    const copied = copy(4, RSI, RDX);
    const code = [extended, copied, movImm(4, RDX, 7), movImm(4, RCX, 7)];
    expect(optimised(code, [RSI, RDX, RCX], { unwind: "async" })).toEqual([
      "movzbl %dil, %edx",
      "movl %edx, %esi",
      "movb $7, %dl",
      "movl %edx, %ecx",
    ]);
  });
  test("that pushes sign-extend stand for their low half only", () => {
    const wide = movImm(8, RCX, 0);
    wide.imm = 0xffffff80;
    const again = movImm(8, RAX, 0);
    again.imm = 0xffffff80;
    const kept8 = optimised([movImm(4, RAX, -128), again], [RAX]);
    expect(kept8).toEqual(["pushq $-128", "popq %rax", "movl %eax, %eax"]);
    expect(optimised([movImm(4, RAX, -128), wide], [RAX, RCX])).toEqual([
      "pushq $-128",
      "popq %rax",
      "movl %eax, %ecx",
    ]);
    // Nor is the register zero-extended for others.
    const extended = copy(4, RCX, RAX);
    const kept = optimised([movImm(4, RAX, -128), copy(4, RAX, RAX)], [RAX]);
    expect(kept).toEqual(["pushq $-128", "popq %rax", "movl %eax, %eax"]);
    expect(optimised([movImm(4, RAX, -128), extended], [RAX, RCX])).toContain("movl %eax, %ecx");
    // Without pushes it is, and again nothing is there to do.
    expect(optimised([movImm(4, RAX, -128), copy(4, RAX, RAX)], [RAX], { goal: "speed" })).toHaveLength(1);
  });
  test("are made from near ones", () => {
    const near = (a: number, b: number, size = 4): string[] =>
      optimised([movImm(size, RAX, a), movImm(size, RCX, b)], [RAX, RCX], { unwind: "async" });
    expect(near(1000, 1100)).toEqual(["movl $1000, %eax", "leal 100(%rax), %ecx"]);
    expect(near(1000, 1128)).toEqual(["movl $1000, %eax", "movl $1128, %ecx"]);
    expect(near(1000, 872)).toEqual(["movl $1000, %eax", "leal -128(%rax), %ecx"]);
    expect(near(-2, -7, 8)).toEqual(["movq $-2, %rax", "leaq -5(%rax), %rcx"]);
    expect(near(-2, 5)).toEqual(["movl $-2, %eax", "leal 7(%rax), %ecx"]);
  });
  test("are taken from a register that has them", () => {
    const two = [movImm(4, RAX, 1000), movImm(4, RCX, 1000)];
    expect(optimised(two, [RAX, RCX])).toEqual(["movl $1000, %eax", "movl %eax, %ecx"]);
  });
});

describe("flags", () => {
  test("inc and dec where nobody reads the carry", () => {
    expect(optimised([aluImm(X.Add, 4, RAX, 1)], [RAX])).toEqual(["incl %eax"]);
    const carry = [aluImm(X.Add, 4, RDI, 1), set(Cc.B, RAX)];
    expect(optimised(carry, [RAX, RDI])).toEqual(["addl $1, %edi", "setb %al"]);
  });
  test("a test of a result that set the flags goes, and its readers follow", () => {
    const code = [aluReg(X.Add, 4, RDI, RSI), testSelf(4, RDI), set(Cc.L, RAX)];
    expect(optimised(code, [RAX, RDI])).toEqual(["addl %esi, %edi", "sets %al"]);
    const other = [aluReg(X.Add, 4, RDI, RSI), testSelf(8, RDI), set(Cc.L, RAX)];
    expect(optimised(other, [RAX, RDI]).length).toBe(3);
    const shifted = [withRegisters(X.Shl, 4, [RDI], [RDI, RCX]), testSelf(4, RDI), set(Cc.E, RAX)];
    expect(optimised(shifted, [RAX, RDI]).length).toBe(3);
  });
  test("a test of the low part of what a mask cleared goes, if its sign cannot differ", () => {
    const masked = (mask: number, size: number, of: number): string[] => {
      const and = aluImm(X.And, size, RAX, mask);
      return optimised([and, testSelf(of, RAX), set(Cc.S, RCX)], [RAX, RCX]);
    };
    expect(masked(15, 4, 1)).toEqual(["andl $15, %eax", "sets %cl"]);
    expect(masked(0x7f, 4, 1)).toHaveLength(2);
    expect(masked(0x8f, 4, 1)).toHaveLength(3);
    expect(masked(-2, 4, 1)).toHaveLength(3);
    expect(masked(15, 1, 4)).toHaveLength(3);
  });
  test("the same comparison is made once", () => {
    const move = (): MInst => withRegisters(X.Cmov, 4, [RCX], [RCX, RDX], Cc.E);
    const again = (between: MInst, register = RDI): string[] =>
      optimised(
        [compare(4, RDI, 5), move(), between, compare(4, register, 5), set(Cc.E, RAX)],
        [RAX, RCX, RDI, RSI],
        { unwind: "async" },
      );
    const cmov = "cmovel %edx, %ecx";
    expect(again(copy(8, RSI, RDX))).toEqual(["cmpl $5, %edi", cmov, "movq %rdx, %rsi", "sete %al"]);
    expect(again(copy(8, RDI, RDX))).toHaveLength(5);
    expect(again(copy(8, RSI, RDX), R8)).toHaveLength(5);
    expect(again(aluReg(X.Add, 4, RSI, RDX))).toHaveLength(5);
  });
  test("a comparison with memory is made again after what may have changed it", () => {
    const inMemory = (): MInst => {
      const inst = new MInst(X.CmpM, 4);
      inst.mem = baseDisp(RDI, 8);
      inst.imm = 5;
      return inst;
    };
    const store = new MInst(X.MovM, 4);
    store.mem = baseDisp(RSI, 0);
    store.uses = [physical(RDX)];
    const code = (between: MInst): MInst[] => [
      inMemory(),
      set(Cc.E, RAX),
      between,
      inMemory(),
      set(Cc.L, RCX),
    ];
    expect(optimised(code(copy(4, R8, RDX)), [RAX, RCX, R8])).toHaveLength(4);
    expect(optimised(code(store), [RAX, RCX])).toHaveLength(5);
  });
  test("the flags of a change in memory describe what is read back", () => {
    const change = aluImm(X.AddM, 4, RAX, -1);
    change.defs = [];
    change.uses = [];
    change.mem = baseDisp(RDI, 8);
    const readBack = (marks: number, disp: number, needed = [RAX, RCX]): string[] => {
      const load = new MInst(X.Mov, 4);
      load.defs = [physical(RAX)];
      load.mem = baseDisp(RDI, disp);
      load.marks = marks;
      return optimised([cloneInst(change), load, testSelf(4, RAX), set(Cc.E, RCX)], needed);
    };
    expect(readBack(AccessMark.Reload, 8)).toEqual(["decl 8(%rdi)", "movl 8(%rdi), %eax", "sete %cl"]);
    expect(readBack(AccessMark.Reload, 4)).toHaveLength(4);
    expect(readBack(AccessMark.Reload, 8, [RCX])).toEqual(["decl 8(%rdi)", "sete %cl"]);
    // Volatile, perhaps.
    expect(readBack(0, 8)).toHaveLength(4);
    expect(readBack(0, 8, [RCX])).toHaveLength(4);
  });
  test("bounds move to what fits a byte", () => {
    expect(optimised([compare(4, RDI, 128), set(Cc.L, RAX)], [RAX])).toEqual([
      "cmpl $127, %edi",
      "setle %al",
    ]);
    expect(optimised([compare(4, RDI, 128), set(Cc.E, RAX)], [RAX])).toEqual(["cmpl $128, %edi", "sete %al"]);
  });
  test("shifts of 32 bits by nothing extend no sign", () => {
    const code = [aluImm(X.Shl, 4, RAX, 0), aluImm(X.Sar, 4, RAX, 0)];
    expect(optimised(code, [RAX])).toEqual(["shll $0, %eax", "sarl $0, %eax"]);
    const wide = [aluImm(X.Shl, 8, RCX, 32), aluImm(X.Sar, 8, RCX, 32)];
    expect(optimised(wide, [RCX])).toEqual(["movslq %ecx, %rcx"]);
  });
  test("readers of a comparison that was made again follow the one that stays", () => {
    const bound = [compare(4, RDI, 128), set(Cc.B, RAX), compare(4, RDI, 128), set(Cc.AE, RCX)];
    expect(optimised(bound, [RAX, RCX])).toEqual(["cmpl $127, %edi", "setbe %al", "seta %cl"]);
    const tests = [
      aluReg(X.Add, 4, RDI, RSI),
      testSelf(4, RDI),
      set(Cc.E, RAX),
      testSelf(4, RDI),
      set(Cc.L, RCX),
    ];
    expect(optimised(tests, [RAX, RCX])).toEqual(["addl %esi, %edi", "sete %al", "sets %cl"]);
  });
  test("conditions after inc are its own", () => {
    const inc = aluImm(X.Inc, 4, RSI, 0);
    inc.imm = null;
    const code = [aluReg(X.Add, 4, RDI, RSI), testSelf(4, RDI), set(Cc.BE, RAX), inc, set(Cc.GE, RCX)];
    const expected = ["addl %esi, %edi", "sete %al", "incl %esi", "setge %cl"];
    expect(optimised(code, [RAX, RCX, RSI, RDI])).toEqual(expected);
  });
  test("nothing is read past a zeroing that was put in from a register that it clears", () => {
    const code = [
      copy(8, RCX, RSI),
      compare(4, RDI, 5),
      withRegisters(X.Movzx8, 4, [RCX], [RCX]),
      set(Cc.E, RSI),
      withRegisters(X.Movzx8, 4, [RSI], [RSI]),
    ];
    const text = optimised(code, [RCX, RSI]);
    // Either the byte of rsi is taken before it is cleared, or from the copy.
    const cleared = text.indexOf("xorl %esi, %esi");
    const read = text.findIndex((line) => /%sil, %ecx|%rsi, %rcx|pushq %rsi/.test(line));
    expect(read).toBeGreaterThanOrEqual(0);
    if (cleared >= 0) expect(read).toBeLessThan(cleared);
  });
  test("two results of one comparison are both zeroed before it", () => {
    const extend = (r: number): MInst => withRegisters(X.Movzx8, 4, [r], [r]);
    const code = [compare(4, RDI, 5), set(Cc.E, RAX), set(Cc.B, RCX), extend(RAX), extend(RCX)];
    expect(optimised(code, [RAX, RCX])).toEqual([
      "xorl %ecx, %ecx",
      "xorl %eax, %eax",
      "cmpl $5, %edi",
      "sete %al",
      "setb %cl",
    ]);
  });
  test("zeroing before the comparison replaces the extension after it", () => {
    const code = [compare(4, RDI, 5), set(Cc.E, RAX), withRegisters(X.Movzx8, 4, [RAX], [RAX])];
    expect(optimised(code, [RAX])).toEqual(["xorl %eax, %eax", "cmpl $5, %edi", "sete %al"]);
    const same = [compare(4, RAX, 5), set(Cc.E, RAX), withRegisters(X.Movzx8, 4, [RAX], [RAX])];
    expect(optimised(same, [RAX])).toEqual(["cmpl $5, %eax", "sete %al", "movzbl %al, %eax"]);
  });
});

describe("moves and arithmetic", () => {
  test("a copy and an addition are one lea while the flags are free", () => {
    expect(optimised([copy(4, RDX, RDI), aluImm(X.Add, 4, RDX, 7)], [RDX, RDI])).toEqual([
      "leal 7(%rdi), %edx",
    ]);
    const read = [copy(4, RDX, RDI), aluImm(X.Add, 4, RDX, 7), set(Cc.E, RCX)];
    expect(optimised(read, [RDX, RDI, RCX]).length).toBe(3);
    const wide = [copy(4, RDX, RDI), aluImm(X.Add, 8, RDX, 7)];
    expect(optimised(wide, [RDX, RDI]).length).toBe(2);
  });
  test("lea that only adds", () => {
    expect(optimised([lea(8, RDI, baseDisp(RDI, 8))], [RDI])).toEqual(["addq $8, %rdi"]);
    expect(optimised([lea(8, RDX, baseDisp(RDI, 0))], [RDX, RDI], { goal: "size" })).toEqual([
      "movq %rdi, %rdx",
    ]);
  });
  test("exchanges only where the source is nobody's", () => {
    expect(optimised([copy(4, RAX, RDI)], [RAX])).toEqual(["xchgl %eax, %edi"]);
    // The unwinder does, until the frame is gone.
    const leaves = [copy(8, RAX, RBP), pop(RBP, X.PopSaved)];
    expect(optimised(leaves, [RAX], { framePointer: true })).not.toContain("xchgq %rax, %rbp");
    expect(optimised([copy(4, RAX, RDI)], [RAX, RDI])).toEqual(["movl %edi, %eax"]);
    // A caller may count on rdi, or on the convention for rbx.
    expect(optimised([copy(4, RAX, RDI)], [RAX], { preserved: single(RDI) })).toEqual(["movl %edi, %eax"]);
    expect(optimised([copy(4, RAX, RBX)], [RAX])).toEqual(["movl %ebx, %eax"]);
  });
  test("upper halves known to be zero need no REX prefix and no extension", () => {
    const load = new MInst(X.Mov, 4);
    load.defs = [physical(RCX)];
    load.mem = baseDisp(RDI, 0);
    const code = [load, copy(8, RDX, RCX), withRegisters(X.Movzx16, 4, [RSI], [RDX])];
    expect(optimised(code, [RDX, RSI, RCX], { goal: "size" })).toEqual([
      "movl (%rdi), %ecx",
      "movl %ecx, %edx",
      "movzwl %dx, %esi",
    ]);
  });
  test("stores of zero become and only where memory is plain", () => {
    const store = (marks: number): MInst => {
      const inst = new MInst(X.MovM, 4);
      inst.mem = baseDisp(RDI, 0);
      inst.imm = 0;
      inst.marks = marks;
      return inst;
    };
    expect(optimised([store(AccessMark.Plain)], [])).toEqual(["andl $0, (%rdi)"]);
    expect(optimised([store(0)], [])).toEqual(["movl $0, (%rdi)"]);
  });
});

describe("stores of constants", () => {
  const store = (size: number, disp: number, imm: number, marks: number = AccessMark.Plain): MInst => {
    const inst = new MInst(X.MovM, size);
    inst.mem = baseDisp(RDI, disp);
    inst.imm = imm;
    inst.marks = marks;
    return inst;
  };
  test("neighbours become wider ones", () => {
    const fields = [store(1, 8, 1), store(1, 9, -2), store(2, 10, 3), store(4, 16, -1), store(4, 20, -1)];
    expect(optimised(fields, [], { goal: "size" })).toEqual(["movl $261633, 8(%rdi)", "movq $-1, 16(%rdi)"]);
  });
  test("but not where an 8-byte immediate cannot say it, nor across a gap or an overlap", () => {
    const wide = [store(4, 0, 1), store(4, 4, 1)];
    expect(optimised(wide, [], { goal: "size" })).toHaveLength(2);
    const gap = [store(2, 0, 1), store(2, 4, 1)];
    expect(optimised(gap, [], { goal: "size" })).toHaveLength(2);
    const overlap = [store(4, 0, 1), store(4, 2, 1)];
    expect(optimised(overlap, [], { goal: "size" })).toEqual(["movl $1, (%rdi)", "movl $1, 2(%rdi)"]);
  });
  test("volatile ones stay as they are", () => {
    const two = [store(4, 0, 0, 0), store(4, 4, 0, 0)];
    expect(optimised(two, [])).toEqual(["movl $0, (%rdi)", "movl $0, 4(%rdi)"]);
  });
  test("take the constant from a register that holds it", () => {
    const insts = [movImm(4, RAX, 1000), store(4, 0, 1000), store(1, 8, 1000), store(8, 16, 1000)];
    const lines = ["movl $1000, %eax", "movl %eax, (%rdi)", "movb %al, 8(%rdi)", "movq %rax, 16(%rdi)"];
    expect(optimised(insts, [RAX])).toEqual(lines);
    // movl -1 leaves zeros above: not the 64-bit -1.
    const minus = [movImm(4, RAX, -1), store(8, 0, -1)];
    expect(optimised(minus, [RAX]).at(-1)).toBe("orq $-1, (%rdi)");
  });
  test("a vector register is zeroed once", () => {
    const zero = (r: number): MInst => withRegisters(X.XorpsZero, 16, [r], []);
    expect(optimised([zero(XMM0), zero(XMM0)], [XMM0])).toEqual(["xorps %xmm0, %xmm0"]);
    const other = withRegisters(X.Movaps, 16, [XMM0], [XMM0 + 1]);
    expect(optimised([zero(XMM0), other, zero(XMM0)], [XMM0])).toContain("xorps %xmm0, %xmm0");
  });
});
