/**
 * What code costs on a machine of which nothing more is known: a load-store architecture with instructions of four bytes.
 * Other descriptions say in what they differ.
 */
import type { Value } from "../ir/values.js";
import type { TargetCosts } from "../target/costs.js";

/** Bytes of a number in a register, of an address there, and of a copy. */
export interface ValueBytes {
  readonly small: number;
  readonly large: number;
  readonly address: number;
  readonly copy: number;
}

/** Of passing a value, by what it is. @param smallest numbers up to this size take one short instruction */
export const passing =
  ({ small, large, address, copy }: ValueBytes, smallest: number) =>
  (value: Value): number => {
    switch (value.valueKind) {
      case "inst":
      case "argument":
        return copy;
      case "undef":
        return 0;
      case "zero":
        return small;
      case "int":
        return Math.abs(value.num) <= smallest ? small : large;
      case "float":
        return value.bits === 0n ? small : address + 4;
      default:
        return address;
    }
  };

const values: ValueBytes = { small: 4, large: 8, address: 8, copy: 3 };

export const plainCosts: TargetCosts = {
  addresses: {
    nearFrom: -256,
    nearTo: 2047,
    zero: 0,
    near: 0,
    far: 8,
    copy: 4,
    sum: 4,
    set: 4,
    setParameter: 4,
    farthestBias: 1 << 11,
    farthest: 1 << 30,
    step: (stride) => (stride === 1 ? 0 : 4),
  },
  constants: {
    smallFrom: -2048,
    smallTo: 2047,
    small: 0,
    large: 8,
    // Accesses of all widths have equal lengths.
    narrowerStore: () => 0,
    relocation: 24,
    narrowedLoad: (how, _from, _to, isOperand) =>
      how === "low" || how === "integer" ? 0 : isOperand ? 12 : 8,
  },
  instructions: {
    fusesMultiplyAdd: () => true,
    load: 4,
    store: 4,
    storedConstant: 6,
    change: 12,
    variableIndex: 4,
    comparison: 4,
    branch: 4,
    jump: 2,
    table: 28,
    case: 4,
    call: 5,
    indirect: 1,
    indirectLoaded: 1,
    smallArgument: 4,
    address: 8,
    argument: 3,
    integer: 4,
    product: 5,
    extension: 2,
    select: 6,
    selectedConstant: 0,
    phi: 3,
    constantEntry: 4,
    float: 5,
    memory: 16,
    intrinsic: 16,
    other: 16,
    wideConstant: 6,
    globalOperand: 8,
    member: 4,
    function: 20,
  },
  calls: {
    integers: 8,
    floats: 8,
    signExtendsWords: false,
    rootBytes: null,
    call: 4,
    around: 3,
    result: 1,
    nextResult: 3,
    kept: 6,
    keptParameter: 8,
    folded: 4,
    leastPass: 2,
    plus: 4,
    pass: passing(values, 2047),
    constant: passing(values, 2047),
    load: () => 12,
    // Conventions for variable arguments need no such number.
    vectorCount: () => 0,
  },
  frames: {
    return: 4,
    adjust: 8,
    leaf: 8,
    frame: 40,
    jump: 4,
    thunk: 12,
    firstCall: 12,
    description: 28,
    sharedDescription: 28,
    row: 3,
    savedRegister: 2,
  },
  branches: { short: 4, reach: 1 << 12, boundAddress: 8 },
  // A test is two instructions, a table an entry of four bytes a value besides about six instructions.
  switches: {
    minsize: { leastRanges: 5, leastTests: 50, longestChain: 6 },
    size: { leastRanges: 5, leastTests: 50, longestChain: 3 },
    speed: { leastRanges: 4, leastTests: 10, longestChain: 3 },
  },
};
