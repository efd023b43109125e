/**
 * Constants in registers by two instructions or by arithmetic: forms that change the flags, for where nothing may be
 * pushed. `push $n; pop r` takes 3 bytes, but in asynchronous unwind tables 6 more.
 *
 *   or $-1, r            3      mov $n, r  5
 *   xor r, r; inc r      4      (registers without REX prefix: with one nothing is gained)
 *   xor r, r; mov $n, r8 4      (those whose low byte needs no prefix either)
 */

/** What there is besides a move for this value and register, where nothing reads the flags. */
export type FlagsConstantForm = "ones" | "increment" | "byte" | null;

/** @param value sign-extended from the size of the move */
export function flagsConstantForm(value: number, to: number): FlagsConstantForm {
  if (value === -1) return "ones";
  if (value === 1 && to < 8) return "increment";
  return value > 1 && value <= 255 && to < 4 ? "byte" : null;
}

/** Bytes of the form. @param wide of 64 bits */
export const formBytes = (form: FlagsConstantForm, to: number, wide: boolean): number =>
  form === null ? Number.POSITIVE_INFINITY : form === "ones" ? 3 + Number(wide || to >= 8) : 4;
