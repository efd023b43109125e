/**
 * Multiples of bit fields, as interpreters index their registers by fields of instructions:
 *   zext((x >> 16) & 0xff) · 16 = zext((x >> 12) & 0xff0)
 * An operation less, and no multiplication.
 *
 * Right because the new mask is the old one moved left as far as the shift falls short of the old: each bit that it lets
 * through is the one that the product has there, the rest of the product is zero, and nothing is lost at the top, since the
 * new mask is positive in 31 bits.
 * Breaks if: the shift takes out fewer bits than the product moves back (they would have to be zeros, and are not known to be).
 * Constant time.
 */
import { type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";

/** The product is `zext((source >> by) & mask)`; source, shift and mask are of 32 bits, or of 64. */
export interface ScaledField {
  readonly source: Value;
  readonly by: number;
  readonly mask: number;
}

const amount = (value: Value): number => (value.valueKind === "int" ? value.num : Number.NaN);

/**
 * `index` times `stride` as such a field, if that is what it is and nobody else needs a part of it.
 * @param isOnly whether an instruction has one use
 */
export function scaledField(
  index: Value,
  stride: number,
  isOnly: (inst: Inst) => boolean,
): ScaledField | null {
  const scale = 31 - Math.clz32(stride);
  if (stride < 2 || stride !== 2 ** scale || index.type.bits !== 64) return null;
  if (index.valueKind !== "inst" || index.op !== Op.ZExt) return null;
  let field = index.operands[0]!;
  // Of what width it is, and what masks leave of it.
  let mask = 2 ** field.type.bits - 1;
  for (;;) {
    if (field.valueKind !== "inst") return null;
    if (field.op === Op.And) {
      const n = amount(field.operands[1]!);
      // All bits from the lowest one to some other.
      if (!(n > 0 && n <= 0x7fffffff) || (n & (n + 1)) !== 0) return null;
      mask = Math.min(mask, n);
    } else if (field.op !== Op.Trunc) break;
    if (!isOnly(field)) return null;
    field = field.operands[0]!;
  }
  const { bits } = field.type;
  if (field.op !== Op.LShr || (bits !== 32 && bits !== 64) || !isOnly(field) || !isOnly(index)) return null;
  const by = amount(field.operands[1]!);
  if (!(by >= scale && by < bits)) return null;
  mask = Math.min(mask, 2 ** (bits - by) - 1) * stride;
  return mask <= 0x7fffffff ? { source: field.operands[0]!, by: by - scale, mask } : null;
}
