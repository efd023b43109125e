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
  instructions: {
    ...plainCosts.instructions,
    variableIndex: 2,
    storedConstant: 5.5,
    comparison: 3.5,
    extension: 0.8,
    wideConstant: 4,
    table: 20,
    case: 1.2,
    select: 6,
  },
  calls: { ...plainCosts.calls, pass, constant: pass },
  frames: { ...plainCosts.frames, frame: 32, thunk: 8, firstCall: 10 },
  branches: { short: 4, reach: 1 << 15, boundAddress: 4 },
};
