/** Bytes of code for arguments in registers (System V ABI AMD64, section 3.2.3), as estimated. */
import type { Type } from "../../ir/types.js";
import type { Constant } from "../../ir/values.js";
import type { Addresses } from "../../pass/pass.js";
import { isPassable } from "../similar/parameters.js";

const integerRegisters = 6;
const vectorRegisters = 8;

/** Numbers of registers: general ones from 0, vector registers from -1 downwards; null: not all are passed in registers. */
export function registersFor(types: readonly Type[]): readonly number[] | null {
  let general = 0;
  let vector = 0;
  if (!types.every(isPassable)) return null;
  const registers = types.map(({ kind }) =>
    kind === "float" || kind === "double" ? -1 - vector++ : general++,
  );
  return general <= integerRegisters && vector <= vectorRegisters ? registers : null;
}

/** The last two general registers for arguments need a prefix. */
const prefix = (register: number): number => (register >= 4 ? 1 : 0);

export function bytesOfConstant(value: Constant, register: number, addresses: Addresses): number {
  switch (value.valueKind) {
    case "zero":
      return 2 + prefix(register);
    case "int": {
      const { num } = value;
      if (num === 0) return 2 + prefix(register);
      if (num >= -128 && num <= 127) return 4 + prefix(register);
      return (num >= -2147483648 && num <= 4294967295 ? 5 : 10) + prefix(register);
    }
    case "float":
      return value.bits === 0n ? 3 : 8;
    default:
      return addresses === "low" ? 5 + prefix(register) : 7;
  }
}

export const bytesOfLoad = (register: number): number => (register < 0 ? 8 : 7);

/** Of setting how many vector registers have arguments. */
export const bytesOfVectorCount = (count: number): number => (count === 0 ? 2 : 2.5);
