/**
 * AArch64: every instruction takes four bytes. Sources: Arm Architecture Reference Manual for A-profile, C3 and C6 (offsets,
 * immediates); Procedure Call Standard for the Arm 64-bit Architecture, "Parameter passing".
 */
import type { TargetCosts } from "../target/costs.js";
import { passing, plainCosts } from "./plain.js";

const pass = passing({ small: 4, large: 8, address: 8, copy: 3 }, 65535);

export const aarch64Costs: TargetCosts = {
  ...plainCosts,
  addresses: { ...plainCosts.addresses, nearTo: 4095, farthestBias: 1 << 12, step: () => 0 },
  constants: { ...plainCosts.constants, smallFrom: -4095, smallTo: 4095, large: 4 },
  // Fitted (non-negative least squares, weighted by 1/√size) to what clang 22 makes at -Oz of 1462 functions of five C
  // programs: the median error is 11% of a function.
  instructions: {
    fusesMultiplyAdd: () => true,
    load: 3.6,
    store: 5,
    storedConstant: 4,
    change: 12,
    variableIndex: 2.1,
    comparison: 1.5,
    branch: 6.5,
    jump: 1.5,
    table: 20,
    case: 2,
    call: 3.8,
    indirect: 0,
    indirectLoaded: 0,
    smallArgument: 4.6,
    address: 7.5,
    argument: 3.5,
    integer: 3.4,
    product: 4,
    extension: 0.3,
    select: 9.5,
    selectedConstant: 0,
    phi: 1.5,
    constantEntry: 3.3,
    float: 4,
    memory: 13.8,
    intrinsic: 15,
    other: 15,
    wideConstant: 2,
    globalOperand: 5,
    member: 1,
    function: 15,
  },
  calls: { ...plainCosts.calls, pass, constant: pass },
  frames: { ...plainCosts.frames, frame: 32, thunk: 8, firstCall: 10 },
  branches: { short: 4, reach: 1 << 15, boundAddress: 4 },
};
