/**
 * Attributes of functions, results and parameters, by LLVM's names.
 *
 * Enum attributes map to `true`, integer attributes to their value (a bigint only past 2^53), type
 * attributes (`byval`, `sret`, `elementtype`, …) to the type, `range` to an interval; string attributes keep their text. Kinds the
 * reader does not know never get here.
 */
import type { Type } from "./types.js";

/** Integers from `from` up to but not including `to`, wrapping; both sign-extended from the width of the type. */
export class IntegerRange {
  constructor(
    readonly type: Type,
    readonly from: bigint,
    readonly to: bigint,
  ) {}
}

export type AttributeValue = true | number | bigint | Type | IntegerRange;

export class AttributeSet {
  constructor(
    readonly kinds: ReadonlyMap<string, AttributeValue>,
    readonly strings: ReadonlyMap<string, string>,
  ) {}
  has(name: string): boolean {
    return this.kinds.has(name);
  }
  /** Value of an integer attribute, or undefined. */
  int(name: string): number | undefined {
    const value = this.kinds.get(name);
    return typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : undefined;
  }
  /** Type of a type attribute (`byval(T)`), or undefined. */
  type(name: string): Type | undefined {
    const value = this.kinds.get(name);
    return typeof value === "object" && !(value instanceof IntegerRange) ? value : undefined;
  }
  /** What the integer is in (`range(…)`), or it is poison; undefined if that is not said. */
  get range(): IntegerRange | undefined {
    const value = this.kinds.get("range");
    return value instanceof IntegerRange ? value : undefined;
  }
  string(name: string): string | undefined {
    return this.strings.get(name);
  }
  get isEmpty(): boolean {
    return this.kinds.size === 0 && this.strings.size === 0;
  }
}

export const noAttributes = new AttributeSet(new Map(), new Map());

/** The attributes of a function or of a call site; `parameters` may be shorter than the parameter list. */
export class AttributeList {
  constructor(
    readonly fn: AttributeSet,
    readonly result: AttributeSet,
    readonly parameters: readonly AttributeSet[],
  ) {}
  parameter(index: number): AttributeSet {
    return this.parameters[index] ?? noAttributes;
  }
}

export const noAttributeList = new AttributeList(noAttributes, noAttributes, []);

/** Strings that stand for a function's `!kcfi_type` and `!func_sanitize`: the numbers in them, with commas between. */
export const kcfiAttribute = "kcfi-type";
export const sanitizeAttribute = "func-sanitize";

/** The list with one more string among the function's attributes. */
export function withFunctionString(list: AttributeList, name: string, value: string): AttributeList {
  const { kinds, strings } = list.fn;
  if (strings.get(name) === value) return list;
  const fn = new AttributeSet(kinds, new Map([...strings, [name, value]]));
  return new AttributeList(fn, list.result, list.parameters);
}

/**
 * A string that a definition gets where indirect branches may only lead to marked places: `entry` if its entry can be
 * such a place, `inside` if only places in it can.
 */
export const branchMarks = { attribute: "branch-marks", entry: "entry", inside: "inside" } as const;
