/** What debuggers are told of arguments at calls: DWARF's operations, in the caller's frame. Source: DWARF 5, 3.4 and 7.7.1. */
import { describe, expect, it } from "vitest";
import { callArguments } from "../../lto/codegen/debug/call-sites.js";
import { type MFunction, type MInst, routineCall } from "../../lto/codegen/mir.js";
import { physical } from "../../lto/x64/isa/build.js";
import { memory } from "../../lto/x64/isa/memory-operand.js";
import { X } from "../../lto/x64/isa/ops.js";
import { maskOf, RAX, RBX, RCX, RDI, RSI, RSP } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { withRegisters } from "./insts.js";

const mf = { target: x64Target } as MFunction;
/** DWARF's numbers. */
const rbx = 3;
const rdi = 5;
const rsp = 7;

function withImmediate(op: X, size: number, to: number, imm: number): MInst {
  const inst = withRegisters(op, size, [to], []);
  inst.imm = imm;
  return inst;
}
const copy = (to: number, from: number, size = 8): MInst => withRegisters(X.Copy, size, [to], [from]);
function address(to: number, base: number, disp: number): MInst {
  const inst = withRegisters(X.Lea, 8, [to], []);
  inst.mem = memory(physical(base), null, 1, disp);
  return inst;
}
/** A call that changes rax, rcx, rsi and rdi and is passed rdi; or a jump. */
function call(op = X.Call): MInst {
  const inst = withRegisters(op, 8, [], [RDI]);
  inst.clobbers = maskOf(RAX, RCX, RSI, RDI);
  inst.extra = routineCall;
  inst.symbol = { kind: "direct", target: { kind: "external", name: "callee" } };
  return inst;
}
/** What is said of rdi. */
function passed(before: readonly MInst[], isEntry = false, at = call()): readonly number[] | null {
  const found = callArguments(mf, [...before, at], before.length, isEntry);
  expect(found.length).toBeLessThan(2);
  expect(found.every(({ register }) => register === rdi)).toBe(true);
  return found[0]?.bytes ?? null;
}

const entryOf = (register: number): number[] => [0xa3, 1, 0x50 + register];
/** DW_OP_constu 0xffffffff, DW_OP_and. */
const low32 = [0x10, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x1a];

describe("arguments at calls", () => {
  it("are constants, wherever they went through", () => {
    expect(passed([withImmediate(X.Mov, 4, RDI, 5)])).toEqual([0x35]);
    expect(passed([withImmediate(X.Mov, 8, RDI, -1)])).toEqual([0x11, 0x7f]);
    // Moves of 4 bytes leave zeros above.
    expect(passed([withImmediate(X.Mov, 4, RDI, -1)])).toEqual([0x10, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    expect(passed([withRegisters(X.Xor, 4, [RDI], [RDI, RDI])])).toEqual([0x30]);
    expect(passed([withImmediate(X.Mov, 4, RAX, 5), copy(RDI, RAX)])).toEqual([0x35]);
    expect(passed([withImmediate(X.Mov, 8, RAX, -1), copy(RDI, RAX, 4)])).toEqual([
      0x10, 0xff, 0xff, 0xff, 0xff, 0x0f,
    ]);
    const push = withRegisters(X.Push, 8, [], []);
    push.imm = 7;
    expect(passed([push, withRegisters(X.Pop, 8, [RDI], [])])).toEqual([0x37]);
  });

  it("are what registers hold that the callee leaves alone", () => {
    expect(passed([copy(RDI, RBX)])).toEqual([0x70 + rbx, 0]);
    expect(passed([copy(RDI, RBX, 4)])).toEqual([0x70 + rbx, 0, ...low32]);
    expect(passed([address(RDI, RBX, 16)])).toEqual([0x70 + rbx, 16]);
    expect(passed([address(RDI, RSP, 8)])).toEqual([0x70 + rsp, 8]);
  });

  it("are not what is changed before the call, or by it", () => {
    expect(passed([copy(RDI, RBX), withImmediate(X.Mov, 4, RBX, 1)])).toBeNull();
    expect(passed([copy(RDI, RCX)])).toBeNull();
    expect(passed([address(RDI, RSP, 8), withRegisters(X.Push, 8, [], [RCX])])).toBeNull();
  });

  it("are not said where they are in the same register while the callee runs", () => {
    const known = withRegisters(X.Call, 8, [], [RBX]);
    known.extra = routineCall;
    expect(passed([withImmediate(X.Mov, 4, RBX, 5)], true, known)).toBeNull();
  });

  it("are not in a frame that is gone", () => {
    expect(passed([copy(RDI, RBX)], false, call(X.TailCall))).toBeNull();
    expect(passed([], false, call(X.TailCall))).toBeNull();
    expect(passed([], true, call(X.TailCall))).toEqual(entryOf(rdi));
    expect(passed([address(RDI, RSP, 8)], false, call(X.TailCall))).toBeNull();
    expect(passed([withImmediate(X.Mov, 4, RDI, 5)], false, call(X.TailCall))).toEqual([0x35]);
  });

  it("are nothing but constants where the callee never returns", () => {
    const leaving = call();
    leaving.extra = { ...routineCall, noReturn: true };
    expect(passed([copy(RDI, RBX)], false, leaving)).toBeNull();
    expect(passed([withImmediate(X.Mov, 4, RDI, 5)], false, leaving)).toEqual([0x35]);
  });

  it("are what the function itself was passed, in its first block", () => {
    expect(passed([], true)).toEqual(entryOf(rdi));
    expect(passed([copy(RDI, RCX)], true)).toEqual(entryOf(2));
    expect(passed([address(RDI, RDI, 1)], true)).toEqual([...entryOf(rdi), 0x23, 1]);
    expect(passed([copy(RDI, RCX)], false)).toBeNull();
    expect(passed([address(RAX, RCX, 1), copy(RDI, RAX, 4)], true)).toEqual([
      ...entryOf(2),
      0x23,
      1,
      ...low32,
    ]);
    // Upper bits go before the number is added.
    expect(passed([copy(RAX, RCX, 4), address(RDI, RAX, 1)], true)).toBeNull();
  });

  it("are not what is computed otherwise", () => {
    const load = withRegisters(X.Mov, 8, [RDI], []);
    load.mem = memory(physical(RSP), null, 1, 8);
    expect(passed([load])).toBeNull();
    expect(passed([withRegisters(X.Add, 8, [RDI], [RDI, RBX])], true)).toBeNull();
  });
});
