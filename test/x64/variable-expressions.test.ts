/** Places of variables as DWARF's operations. Source: DWARF 5, 7.7.1. */
import { describe, expect, it } from "vitest";
import { composed, locationBytes, type ValuePlace } from "../../lto/codegen/debug/expressions.js";
import { Dw } from "../../lto/ir/debug-records.js";

const rbx = 3;
const register = (bits = 32, number = rbx): ValuePlace => ({ kind: "register", register: number, bits });
const slot: ValuePlace = { kind: "memory", at: { register: -1, offset: -24 }, bits: 32 };

/** What a debugger computes: operations on numbers of 64 bits, the result with its sign. Source: DWARF 5, 2.5.1. */
function evaluate(bytes: readonly number[], registers: Readonly<Record<number, bigint>>): bigint {
  const stack: bigint[] = [];
  let at = 0;
  const leb = (signed: boolean): bigint => {
    let value = 0n;
    let shift = 0n;
    for (;;) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if ((byte & 0x80) === 0) return signed ? BigInt.asIntN(Number(shift), value) : value;
    }
  };
  const binary = (compute: (a: bigint, b: bigint) => bigint): void => {
    const b = stack.pop()!;
    stack.push(compute(stack.pop()!, b));
  };
  const { asIntN, asUintN } = BigInt;
  while (at < bytes.length) {
    const op = bytes[at++]!;
    if (op >= 0x30 && op < 0x50) stack.push(BigInt(op - 0x30));
    else if (op >= 0x70 && op < 0x90) stack.push(registers[op - 0x70]! + leb(true));
    else if (op === Dw.Constu) stack.push(leb(false));
    else if (op === Dw.Consts) stack.push(leb(true));
    else if (op === Dw.PlusUconst) stack.push(stack.pop()! + leb(false));
    else if (op === Dw.Plus) binary((a, b) => a + b);
    else if (op === Dw.Mul) binary((a, b) => a * b);
    else if (op === Dw.And) binary((a, b) => a & b);
    else if (op === Dw.Xor) binary((a, b) => a ^ b);
    else if (op === Dw.Shl) binary((a, b) => a << b);
    else if (op === Dw.Shr) binary((a, b) => asUintN(64, a) >> b);
    else if (op === Dw.Shra) binary((a, b) => asIntN(64, a) >> b);
    else if (op === 0x29) binary((a, b) => (asUintN(64, a) === asUintN(64, b) ? 1n : 0n));
    else if (op !== Dw.StackValue) throw new Error(`operation ${op}`);
  }
  expect(stack.length).toBe(1);
  return asIntN(64, stack[0]!);
}

describe("places of variables", () => {
  it("are registers and memory", () => {
    expect(locationBytes([register()], [], false)).toEqual([0x50 + rbx]);
    // DW_OP_fbreg -24
    expect(locationBytes([slot], [], false)).toEqual([0x91, 0x68]);
    // DW_OP_regx 33
    expect(locationBytes([register(64, 33)], [], false)).toEqual([0x90, 33]);
  });

  it("are constants that are no places", () => {
    const five: ValuePlace = { kind: "constant", low: 5, high: 0, bits: 32 };
    expect(locationBytes([five], [], false)).toEqual([0x35, 0x9f]);
    const negative: ValuePlace = { kind: "constant", low: -1, high: -1, bits: 32 };
    expect(locationBytes([negative], [], false)).toEqual([0x11, 0x7f, 0x9f]);
  });

  it("are what a register held on entry", () => {
    // DW_OP_entry_value of DW_OP_reg3, DW_OP_stack_value
    expect(locationBytes([{ kind: "arrival", register: rbx, bits: 64 }], [], false)).toEqual([
      0xa3, 1, 0x53, 0x9f,
    ]);
  });

  it("are computed of lower bits; upper ones of a register may be anything", () => {
    expect(locationBytes([register()], [Dw.PlusUconst, 4, Dw.StackValue], false)).toEqual([
      0x73, 0, 0x23, 4, 0x9f,
    ]);
  });

  it("extend each value of which upper bits matter", () => {
    const garbage = 0xdead_beef_0000_0000n;
    const of = (places: ValuePlace[], expression: number[], registers: Record<number, bigint>): bigint => {
      const bytes = locationBytes(places, [...expression, Dw.StackValue], false);
      expect(bytes).not.toBeNull();
      return evaluate(bytes!, registers);
    };
    const [rcx, unsigned, signed] = [2, 7, 5];
    // Not the number of the shift.
    expect(of([register()], [Dw.Constu, 3, Dw.Shr], { [rbx]: garbage | 0x80n })).toBe(0x10n);
    expect(of([register()], [Dw.Constu, 3, Dw.Shra], { [rbx]: garbage | 0xffff_ff80n })).toBe(-16n);
    const widened = [Dw.Convert, 32, signed, Dw.Convert, 64, signed];
    const sum = [Dw.Arg, 0, ...widened, Dw.Arg, 1, Dw.Plus];
    const two = { [rbx]: garbage | 0xffff_fffen, [rcx]: 5n };
    expect(of([register(), register(64, rcx)], sum, two)).toBe(3n);
    expect(
      of([register(), register(64, rcx)], [Dw.Arg, 1, Dw.Arg, 0, Dw.Constu, 1, Dw.Shr, Dw.Xor], two),
    ).toBe(0x7fff_fffan);
    // A constant with a sign is the same number as a register's lower bits.
    const minusTwo: ValuePlace = { kind: "constant", low: -2, high: -1, bits: 32 };
    expect(of([register(), minusTwo], [Dw.Arg, 0, Dw.Arg, 1, 0x29], two)).toBe(1n);
    expect(of([minusTwo], [Dw.Constu, 1, Dw.Shr], {})).toBe(0x7fff_ffffn);
    const byte = [Dw.Convert, 8, unsigned, Dw.Convert, 64, unsigned];
    expect(of([register(8), register(64, rcx)], [Dw.Arg, 0, ...byte, Dw.Arg, 1, Dw.Mul], two)).toBe(
      0xfen * 5n,
    );
  });

  it("name only values that are there, and no comparison that may be about signs", () => {
    const two = [register(), register(64, 0)];
    expect(locationBytes(two, [Dw.Arg, 0, Dw.Arg, 2, Dw.Plus, Dw.StackValue], false)).toBeNull();
    expect(locationBytes(two, [Dw.Plus, Dw.StackValue], false)).toBeNull();
    expect(locationBytes(two, [Dw.Arg, 0, Dw.Arg, 1, Dw.StackValue], false)).toBeNull();
    expect(locationBytes(two, [Dw.Arg, 0, Dw.Arg, 1, 0x2d, Dw.StackValue], false)).toBeNull();
    // Memory at a sum: DW_OP_breg3 0, mask, DW_OP_breg0 0, DW_OP_plus
    expect(
      locationBytes([register(64), register(64, 0)], [Dw.Arg, 0, Dw.Arg, 1, Dw.Plus, Dw.Deref], false),
    ).toEqual([0x73, 0, 0x70, 0, 0x22]);
  });

  it("are none where debuggers could not compute", () => {
    expect(locationBytes([register(64, 17)], [Dw.PlusUconst, 4, Dw.StackValue], false)).toBeNull();
    expect(locationBytes([register()], [Dw.PlusUconst, 4], false)).toBeNull();
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
