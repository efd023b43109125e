/**
 * What code costs on x86-64. Source of exact numbers: Intel SDM, volume 2, chapter 2 (ModRM, displacements, REX) and System V
 * ABI AMD64, sections 3.2.3 (argument registers) and 3.5.1 (code models); ELF-64 Object File Format, section 6 (relocations).
 */
import type { Constant, Value } from "../ir/values.js";
import type { AddressCosts, Addresses, ConstantCosts } from "../target/addresses.js";
import type { CallCosts } from "../target/calls.js";
import type { TargetCosts } from "../target/costs.js";
import type { InstructionCosts } from "../target/instructions.js";
import { integerArguments, vectorArgumentCount } from "./isa/registers.js";
import { vectorFeatures } from "./isa/vector-features.js";

const addresses: AddressCosts = {
  nearFrom: -128,
  nearTo: 127,
  zero: 0,
  near: 1,
  far: 4,
  copy: 2,
  sum: 3,
  set: 4,
  setParameter: 3,
  farthestBias: 1 << 20,
  farthest: 1 << 30,
  step: (stride) => ([1, 2, 4, 8].includes(stride) ? 0 : 4),
};

const constants: ConstantCosts = {
  smallFrom: -128,
  smallTo: 127,
  small: 1,
  large: 4,
  // Its own bytes, and a prefix.
  narrowerStore: (bits) => (bits === 64 ? 4 : bits === 32 ? 3 : 2),
  relocation: 24,
  narrowedLoad(how, from, to, isOperand) {
    switch (how) {
      case "low":
        // No prefix; but it needs a register where it was an operand.
        return isOperand ? 2 : -1;
      case "distance":
        return isOperand ? 7 : 5;
      case "distance or null":
        return isOperand ? 14 : 12;
      case "integer": {
        const plain = from === 32 && to < 32 ? 1 : 0;
        return isOperand ? plain + 2 : plain;
      }
    }
  },
};

/**
 * Fitted off line (non-negative least squares, weighted by 1/√size) to the functions of nine C programs of 30 to 110 kB
 * as this compiler made them at -Oz: 2 665 functions. The median error is 11% of a function (5 bytes below 100), 13% on
 * programs left out of the fit; the sum over a program is off by -9% to +9%.
 */
const instructions: InstructionCosts = {
  fusesMultiplyAdd: (attributes) => vectorFeatures(attributes).fma,
  load: 2,
  store: 5.5,
  storedConstant: 6.5,
  // `incl 8(%rdi)` takes 3, `addl %esi, 8(%rdi)` 3, with a constant or one of the newer registers 4, 16 bits one more.
  change: 4,
  variableIndex: 3.7,
  comparison: 3.3,
  branch: 2.7,
  jump: 0.6,
  table: 11,
  case: 1,
  call: 4.4,
  indirect: 0.8,
  // With the load it is one instruction of 3 bytes, where the address is a register and a near constant.
  indirectLoaded: -3.4,
  smallArgument: 2,
  address: 5.4,
  argument: 2.5,
  integer: 3.3,
  product: 6.8,
  extension: 0.7,
  // Fitted to all selects together it is 8.8; a conditional move of what is in registers takes 3 or 4, and a copy.
  select: 5,
  selectedConstant: 3.2,
  phi: 3.5,
  constantEntry: 3.2,
  float: 7,
  memory: 15,
  intrinsic: 18,
  other: 15,
  wideConstant: 2.4,
  globalOperand: 2.5,
  member: 5,
  function: 20,
};

const fitsByte = (value: number): boolean => value >= -128 && value <= 127;

/** Roughly, in whatever register. */
function bytesToPass(value: Value): number {
  switch (value.valueKind) {
    case "inst":
    case "argument":
      return 2.5;
    case "undef":
      return 0;
    case "zero":
      return 2;
    case "int": {
      const { num } = value;
      if (num === 0) return 2;
      if (fitsByte(num)) return 3.5;
      return num >= -2147483648 && num <= 4294967295 ? 5 : 10;
    }
    case "float":
      return value.bits === 0n ? 3 : 12;
    default:
      return 7;
  }
}

/** The last two general registers for arguments need a prefix. */
const prefix = (register: number): number => (register >= 4 ? 1 : 0);

function bytesOfConstant(value: Constant, register: number, where: Addresses): number {
  switch (value.valueKind) {
    case "zero":
      return 2 + prefix(register);
    case "int": {
      const { num } = value;
      if (num === 0) return 2 + prefix(register);
      if (fitsByte(num)) return 4 + prefix(register);
      return (num >= -2147483648 && num <= 4294967295 ? 5 : 10) + prefix(register);
    }
    case "float":
      return value.bits === 0n ? 3 : 8;
    default:
      return where === "low" ? 5 + prefix(register) : 7;
  }
}

const calls: CallCosts = {
  integers: integerArguments.length,
  floats: vectorArgumentCount,
  signExtendsWords: false,
  rootBytes: 14,
  call: 5,
  around: 1.5,
  result: 0.5,
  nextResult: 4,
  kept: 4,
  keptParameter: 6,
  folded: 2,
  leastPass: 2,
  plus: 3,
  pass: bytesToPass,
  constant: bytesOfConstant,
  load: (register) => (register < 0 ? 8 : 7),
  vectorCount: (count) => (count === 0 ? 2 : 2.5),
};

export const x64Costs: TargetCosts = {
  addresses,
  constants,
  instructions,
  calls,
  frames: {
    return: 1,
    adjust: 2,
    leaf: 5,
    frame: 22,
    jump: 4,
    thunk: 9,
    firstCall: 7,
    description: 28,
    sharedDescription: 20,
    row: 3,
    savedRegister: 2,
  },
  branches: { short: 2, reach: 127, boundAddress: 7 },
  // A compare and a short jump take 5 bytes, a table an entry's 1 to 4 bytes a value besides about 20 bytes of code.
  switches: {
    minsize: { leastRanges: 5, leastTests: 40, longestChain: 6 },
    size: { leastRanges: 5, leastTests: 40, longestChain: 3 },
    speed: { leastRanges: 4, leastTests: 10, longestChain: 3 },
  },
};
