/** What attributes of parameters mean to passes that change signatures. */
import { AttributeSet, noAttributes } from "../ir/attributes.js";

/** Those that change how a value is passed: caller and callee must agree on them. */
export const passingAttributes: readonly string[] = [
  "byval",
  "byref",
  "sret",
  "inalloca",
  "preallocated",
  "inreg",
  "nest",
  "swiftself",
  "swifterror",
  "swiftasync",
];

/**
 * Those by which a value is poison or a call undefined unless something holds of the value (LLVM Language Reference,
 * "Parameter Attributes"): they must go where a parameter gets undefined values.
 */
const claims = new Set([
  "noundef",
  "nonnull",
  "dereferenceable",
  "dereferenceable_or_null",
  "align",
  "range",
  "nofpclass",
  "returned",
]);

/** The set without what it claims of the value. */
export function withoutClaims(set: AttributeSet): AttributeSet {
  const kinds = new Map([...set.kinds].filter(([name]) => !claims.has(name)));
  return kinds.size === set.kinds.size ? set : new AttributeSet(kinds, set.strings);
}

/** The set without all that is not of these names; text stays. */
export function withOnly(set: AttributeSet, names: ReadonlySet<string>): AttributeSet {
  const kinds = new Map([...set.kinds].filter(([name]) => names.has(name)));
  return kinds.size === 0 && set.strings.size === 0 ? noAttributes : new AttributeSet(kinds, set.strings);
}
