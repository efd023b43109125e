/**
 * Thumb-2: instructions of two or four bytes. Sources: ARMv7-M Architecture Reference Manual, A5 (encodings) and A7 (offsets);
 * Procedure Call Standard for the Arm Architecture, "Parameter passing".
 */
import type { TargetCosts } from "../target/costs.js";
import { passing, plainCosts } from "./plain.js";

const pass = passing({ small: 2, large: 4, address: 6, copy: 2 }, 255);

export const thumbCosts: TargetCosts = {
  addresses: {
    ...plainCosts.addresses,
    nearFrom: 0,
    nearTo: 124,
    far: 2,
    copy: 2,
    sum: 2,
    set: 2,
    setParameter: 2,
    farthestBias: 1 << 12,
    step: () => 0,
  },
  constants: { ...plainCosts.constants, smallFrom: 0, smallTo: 255, large: 2, relocation: 8 },
  instructions: {
    fusesMultiplyAdd: () => true,
    load: 2.6,
    store: 2.6,
    storedConstant: 4.4,
    change: 7.8,
    variableIndex: 1.5,
    comparison: 2.4,
    branch: 2.3,
    jump: 1,
    table: 14,
    case: 1.2,
    call: 4.4,
    indirect: -2,
    indirectLoaded: -2,
    smallArgument: 2,
    address: 5.5,
    argument: 1.8,
    integer: 2.6,
    product: 4,
    extension: 1.5,
    select: 5,
    selectedConstant: 0,
    phi: 2,
    constantEntry: 2,
    float: 8,
    memory: 12,
    intrinsic: 12,
    other: 10,
    wideConstant: 2,
    globalOperand: 5.5,
    member: 2,
    function: 10,
  },
  calls: {
    ...plainCosts.calls,
    integers: 4,
    around: 2,
    nextResult: 2,
    kept: 2,
    keptParameter: 3,
    folded: 2,
    plus: 2,
    pass,
    constant: pass,
    load: () => 8,
  },
  frames: {
    ...plainCosts.frames,
    return: 2,
    adjust: 4,
    leaf: 4,
    // Registers are pushed, and popped with the return, by one instruction each.
    frame: 8,
    thunk: 6,
    firstCall: 4,
    description: 8,
    sharedDescription: 8,
    row: 0,
    savedRegister: 0,
  },
  branches: { short: 2, reach: 254, boundAddress: 4 },
  // Tables have entries of one byte where functions are small.
  switches: {
    minsize: { leastRanges: 4, leastTests: 20, longestChain: 6 },
    size: { leastRanges: 4, leastTests: 20, longestChain: 3 },
    speed: { leastRanges: 4, leastTests: 10, longestChain: 3 },
  },
};
