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
  // Fitted (non-negative least squares, weighted by 1/√size) to what clang 22 makes at -Oz of 1458 functions of five C programs, each term at least what its
  // shortest instruction takes, calls as the linker relaxes them: the median error is 10% of a function.
  instructions: {
    fusesMultiplyAdd: () => true,
    load: 2.2,
    store: 3.8,
    storedConstant: 3,
    change: 9,
    variableIndex: 6,
    comparison: 1.3,
    branch: 4.5,
    jump: 0,
    table: 20,
    case: 3.3,
    call: 4.8,
    indirect: 0,
    indirectLoaded: 0,
    smallArgument: 3,
    address: 6,
    argument: 1.7,
    integer: 3,
    product: 4.1,
    extension: 0.9,
    select: 8.8,
    selectedConstant: 0,
    phi: 1.4,
    constantEntry: 1.7,
    float: 4.9,
    memory: 12.5,
    intrinsic: 13.8,
    other: 14,
    wideConstant: 1.2,
    globalOperand: 3,
    member: 1,
    function: 9,
  },
  calls: {
    ...plainCosts.calls,
    signExtendsWords: true,
    rootBytes: null,
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
    // Without what describes it, which few programs of those that count bytes have.
    frame: 16,
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
