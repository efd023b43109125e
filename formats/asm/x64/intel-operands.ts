/** Operands in Intel syntax, for inline assembly that is written in it (GNU as manual, "i386-Syntax"). */
import type { MemOperand } from "../../../lto/codegen/mir.js";
import { hasSegment, isRipRelative, scaleOf, segmentOf } from "../../../lto/x64/isa/memory-operand.js";
import { registerNames } from "../../../lto/x64/isa/registers.js";
import type { OperandNames } from "../instruction-printer.js";
import { symbolText } from "./operands.js";

/** `seg:[base + index*scale + symbol+disp]`. Its size is for the template to say. */
export function intelMemoryText(mem: MemOperand, names: OperandNames): string {
  const terms: string[] = [];
  const wide = registerNames[8]!;
  if (isRipRelative(mem)) terms.push("rip");
  if (mem.base !== null) terms.push(wide[mem.base.loc]!);
  if (mem.index !== null) terms.push(`${wide[mem.index.loc]!}*${scaleOf(mem)}`);
  if (mem.symbol !== null) terms.push(symbolText(mem.symbol, mem.disp, names));
  else if (mem.disp !== 0 || terms.length === 0) terms.push(String(mem.disp));
  return `${hasSegment(mem) ? `${segmentOf(mem)}:` : ""}[${terms.join(" + ")}]`;
}
