/** Machine instructions for tests. */
import { MInst } from "../../lto/codegen/mir.js";
import { physical } from "../../lto/x64/isa/build.js";
import type { X } from "../../lto/x64/isa/ops.js";

export function withRegisters(op: X, size: number, defs: number[], uses: number[], cc = -1): MInst {
  const inst = new MInst(op, size);
  inst.defs = defs.map(physical);
  inst.uses = uses.map(physical);
  inst.condition = cc;
  return inst;
}
