/** Which instructions may not be moved across, and which have to be made although nobody wants their result. */
import { noAttributeList } from "../../ir/attributes.js";
import { type Inst, isPlainAccess, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";

/** Whether a call must be emitted even when its result is not wanted. */
export const intrinsicHasEffect = (intrinsic: Intrinsic): boolean => !intrinsic.removable;

/**
 * Assembly of legalisation, which alone has no attributes, that does nothing but make its result of its operands: neither is in
 * memory. Programs' own is left where it is, and as it is.
 */
export function isPureAssembly(inst: Inst): boolean {
  const { operands, type } = inst;
  if (inst.op !== Op.Call || type.kind === "void" || inst.data.attributes !== noAttributeList) return false;
  const asm = operands[0]!;
  return asm.valueKind === "asm" && !asm.sideEffects && !asm.canUnwind && !/\*|memory/.test(asm.constraints);
}

/** They leave alone what loads read, if not for everybody then for the code that they become. */
const harmless: ReadonlySet<Intrinsic> = new Set([
  intrinsics.prefetch,
  intrinsics.trap,
  intrinsics.debugtrap,
  intrinsics.ubsantrap,
  intrinsics.va_end,
]);

/** Whether the instruction may write memory that a load could be moved across. */
export function writesMemory(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Store:
    case Op.Fence:
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.Invoke:
    case Op.CallBr:
    case Op.VAArg:
      return true;
    case Op.Load:
      // Nothing may move across a volatile or ordered load either.
      return !isPlainAccess(inst);
    case Op.Call: {
      if (isPureAssembly(inst)) return false;
      const intrinsic = intrinsicOf(inst.operands[0]!);
      return intrinsic === null || (intrinsicHasEffect(intrinsic) && !harmless.has(intrinsic));
    }
    default:
      return false;
  }
}
