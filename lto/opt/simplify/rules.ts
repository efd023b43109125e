/** Which rules look at which instruction. */
import type { Inst } from "../../ir/instructions.js";
import { Op } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { simplifyCompare } from "./compares.js";
import type { Forms } from "./forms.js";
import { simplifyBinary } from "./integers.js";
import {
  extractFromConstant,
  simplifyCall,
  simplifyCast,
  simplifyExtractElement,
  simplifyExtractValue,
  simplifyFloat,
  simplifyGep,
  simplifyPhi,
  simplifySelect,
  simplifyShuffle,
} from "./values.js";

/** What an instruction is, in fewer or simpler operations; null: what it is. See forms.ts. */
export function simpler(inst: Inst, forms: Forms): Value | null {
  const { op } = inst;
  if (op >= Op.Add && op <= Op.Xor && inst.type.scalar.kind === "int")
    return folded(inst, forms) ?? simplifyBinary(inst, forms);
  if (op >= Op.FNeg && op <= Op.FRem) return folded(inst, forms) ?? simplifyFloat(inst, forms);
  if (op >= Op.Trunc && op <= Op.AddrSpaceCast) return folded(inst, forms) ?? simplifyCast(inst, forms);
  switch (op) {
    case Op.ICmp:
      return folded(inst, forms) ?? simplifyCompare(inst, forms);
    case Op.FCmp:
      return folded(inst, forms);
    case Op.Phi:
      return simplifyPhi(inst, forms);
    case Op.Select:
      return folded(inst, forms) ?? simplifySelect(inst, forms);
    case Op.GetElementPtr:
      return folded(inst, forms) ?? simplifyGep(inst, forms);
    case Op.Load:
      return isConstant(inst.operands[0]!) ? forms.folder.inst(inst) : null;
    case Op.Call:
      return simplifyCall(inst, forms);
    case Op.ExtractValue:
      return folded(inst, forms) ?? simplifyExtractValue(inst) ?? extractFromConstant(inst, forms);
    case Op.InsertValue:
    case Op.InsertElement:
      return folded(inst, forms);
    case Op.ExtractElement:
      return folded(inst, forms) ?? simplifyExtractElement(inst);
    case Op.ShuffleVector:
      return folded(inst, forms) ?? simplifyShuffle(inst);
    case Op.Freeze: {
      const value = inst.operands[0]!;
      return forms.isWellDefined(value) ? value : null;
    }
    default:
      return null;
  }
}

/** The result, where all operands are constants. */
function folded(inst: Inst, forms: Forms): Value | null {
  const { operands } = inst;
  for (let i = 0; i < operands.length; i++) if (!isConstant(operands[i]!)) return null;
  return forms.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags);
}
