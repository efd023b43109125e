/**
 * The costs of a made-up machine: accesses reach two kilobytes either way at no cost, arguments cost nothing to set, calls
 * are dear, and nothing describes a function. Whatever decides otherwise for it asks the target.
 */
import type { TargetCosts } from "../../lto/target/costs.js";
import { x64Costs } from "../../lto/x64/costs.js";

export const otherCosts: TargetCosts = {
  addresses: {
    ...x64Costs.addresses,
    nearFrom: -2048,
    nearTo: 2047,
    near: 0,
    far: 8,
    copy: 4,
    sum: 4,
    set: 4,
    setParameter: 4,
    step: () => 0,
  },
  constants: {
    ...x64Costs.constants,
    smallFrom: -2048,
    smallTo: 2047,
    narrowerStore: () => 0,
    narrowedLoad: () => 1000,
  },
  instructions: {
    ...x64Costs.instructions,
    load: 40,
    integer: 40,
    call: 1,
    argument: 0,
    smallArgument: 0,
    address: 0,
    function: 1,
  },
  calls: {
    ...x64Costs.calls,
    integers: 8,
    floats: 8,
    call: 200,
    pass: () => 40,
    constant: () => 0,
    load: () => 0,
    vectorCount: () => 0,
  },
  frames: { ...x64Costs.frames, thunk: 400, leaf: 100, frame: 200 },
  branches: { short: 4, reach: 1 << 20, boundAddress: 8 },
  switches: x64Costs.switches,
};
