/** Loads of what the instruction before has put into memory. */
import type { MInst } from "../../codegen/mir.js";
import { AccessMark, X } from "../isa/ops.js";

const loadedBytes = ({ op, size }: MInst): number =>
  op === X.Mov ? size : op === X.Movzx16 ? 2 : op === X.Movzx8 ? 1 : 0;

/** Bytes of memory that such a load reads; 0: it is something else. */
export const reloadedBytes = (inst: MInst): number =>
  inst.mem !== null && inst.marks === AccessMark.Reload ? loadedBytes(inst) : 0;

/** Makes of such a load one as any other. */
export function forgetReload(inst: MInst): void {
  if (reloadedBytes(inst) > 0) inst.marks = 0;
}
