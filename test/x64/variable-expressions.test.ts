/** Places of variables as DWARF's operations. Source: DWARF 5, 7.7.1. */
import { describe, expect, it } from "vitest";
import { composed, locationBytes, type ValuePlace } from "../../lto/codegen/debug/expressions.js";
import { Dw } from "../../lto/ir/debug-records.js";

const rbx = 3;
const register = (bits = 32, number = rbx): ValuePlace => ({ kind: "register", register: number, bits });
const slot: ValuePlace = { kind: "memory", at: { register: -1, offset: -24 }, bits: 32 };

describe("places of variables", () => {
  it("are registers and memory", () => {
    expect(locationBytes(register(), [], false)).toEqual([0x50 + rbx]);
    // DW_OP_fbreg -24
    expect(locationBytes(slot, [], false)).toEqual([0x91, 0x68]);
    // DW_OP_regx 33
    expect(locationBytes(register(64, 33), [], false)).toEqual([0x90, 33]);
  });

  it("are constants that are no places", () => {
    const five: ValuePlace = { kind: "constant", low: 5, high: 0, bits: 32 };
    expect(locationBytes(five, [], false)).toEqual([0x35, 0x9f]);
    const negative: ValuePlace = { kind: "constant", low: -1, high: -1, bits: 32 };
    expect(locationBytes(negative, [], false)).toEqual([0x11, 0x7f, 0x9f]);
  });

  it("are what a register held on entry", () => {
    // DW_OP_entry_value of DW_OP_reg3, DW_OP_stack_value
    expect(locationBytes({ kind: "arrival", register: rbx, bits: 64 }, [], false)).toEqual([
      0xa3, 1, 0x53, 0x9f,
    ]);
  });

  it("are computed of lower bits; upper ones of a register may be anything", () => {
    expect(locationBytes(register(), [Dw.PlusUconst, 4, Dw.StackValue], false)).toEqual([
      0x73, 0, 0x23, 4, 0x9f,
    ]);
    const shifted = locationBytes(register(), [Dw.Constu, 3, Dw.Shr, Dw.StackValue], false)!;
    // The value is cut to its 32 bits before it is shifted to the right.
    expect(shifted).toContain(Dw.And);
    expect(shifted.indexOf(Dw.And)).toBeLessThan(shifted.indexOf(Dw.Shr));
  });

  it("are none where debuggers could not compute", () => {
    expect(locationBytes(register(64, 17), [Dw.PlusUconst, 4, Dw.StackValue], false)).toBeNull();
    expect(locationBytes(register(), [Dw.PlusUconst, 4], false)).toBeNull();
  });

  it("of parts leave out what is nowhere", () => {
    const parts = [
      { offset: 64, size: 32, bytes: [0x50] },
      { offset: 0, size: 32, bytes: [0x51] },
    ];
    expect(composed(parts)).toEqual({
      bytes: [0x51, 0x93, 4, 0x93, 4, 0x50, 0x93, 4],
      described: 96,
    });
  });
});
