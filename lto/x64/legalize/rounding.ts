/** The rounding mode of floating-point operations. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { noAttributeList } from "../../ir/attributes.js";
import { makeInst, Op } from "../../ir/instructions.js";
import { functionType, i16, i32, ptr, voidType } from "../../ir/types.js";
import { constI32, InlineAsm } from "../../ir/values.js";

/** The rounding mode from bits 10 and 11 of the x87 control word, in FLT_ROUNDS encoding. */
export function roundingMode(l: Lowering): Parts {
  const slot = l.scratchSlot(i16, 2);
  const type = functionType(voidType, [ptr]);
  const code = new InlineAsm(type, "fnstcw ($0)", "r,~{memory}", true, false, false, false);
  l.push(
    makeInst(Op.Call, voidType, [code, slot], {
      functionType: type,
      callingConvention: 0,
      attributes: noAttributeList,
      tail: "",
      argumentCount: 1,
      bundles: [],
    }),
  );
  const control = l.cast(Op.ZExt, l.load(i16, slot, 2), i32);
  // nearest 1, down 3, up 2, zero 0: two bits each, indexed by twice the field.
  const shift = l.and(l.lshr(control, 9), constI32(6));
  return [l.and(l.bin(Op.LShr, constI32(0x2d), shift), constI32(3))];
}
