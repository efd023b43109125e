/**
 * RISC-V with compressed instructions: most take two or four bytes. Sources: The RISC-V Instruction Set Manual, volume I,
 * chapters "RV32I" and "C" (offsets, immediates); RISC-V ABIs Specification, "Integer Calling Convention".
 */
import type { TargetCosts } from "../target/costs.js";
import { passing, plainCosts } from "./plain.js";

const pass = passing({ small: 2, large: 6, address: 7, copy: 2 }, 31);

const costs: TargetCosts = {
  addresses: {
    ...plainCosts.addresses,
    nearFrom: 0,
    nearTo: 124,
    far: 2,
    copy: 2,
    sum: 3,
    setParameter: 3,
    step: (stride) => (stride === 1 ? 0 : 2),
  },
  constants: { ...plainCosts.constants, smallFrom: -32, smallTo: 31, large: 3 },
  instructions: {
    load: 3,
    store: 3,
    storedConstant: 4.5,
    variableIndex: 4,
    comparison: 1.5,
    branch: 3.5,
    jump: 1.5,
    table: 26,
    case: 4,
    call: 5,
    indirect: -1,
    smallArgument: 2.2,
    address: 7,
    argument: 2,
    integer: 2.8,
    product: 4,
    extension: 2.5,
    select: 6,
    phi: 2,
    constantEntry: 2,
    float: 4,
    memory: 14,
    intrinsic: 14,
    other: 12,
    wideConstant: 2.5,
    globalOperand: 7,
    member: 2,
    function: 16,
  },
  calls: {
    ...plainCosts.calls,
    signExtendsWords: true,
    around: 2,
    nextResult: 2,
    kept: 3,
    keptParameter: 5,
    plus: 3,
    pass,
    constant: pass,
    load: () => 10,
  },
  frames: {
    ...plainCosts.frames,
    return: 2,
    adjust: 4,
    leaf: 4,
    // Saved and restored by the functions for that, where size matters.
    frame: 32,
    thunk: 6,
    firstCall: 8,
  },
  branches: { short: 4, reach: 1 << 12, boundAddress: 8 },
  switches: plainCosts.switches,
};

export const riscv64Costs: TargetCosts = costs;
/** Integers of 32 bits are as wide as registers, and relocations have half the size. */
export const riscv32Costs: TargetCosts = {
  ...costs,
  constants: { ...costs.constants, relocation: 12 },
  calls: { ...costs.calls, signExtendsWords: false },
};
