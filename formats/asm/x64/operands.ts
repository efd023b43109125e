/** Operands in AT&T syntax (GNU as manual, section "AT&T Syntax versus Intel Syntax"). */

import type { MemOperand, SymbolRef } from "../../../lto/codegen/mir.js";
import { hasSegment, isRipRelative, scaleOf, segmentOf } from "../../../lto/x64/isa/memory-operand.js";
import { registerNames } from "../../../lto/x64/isa/registers.js";
import { type OperandNames, targetText } from "../instruction-printer.js";

const withPercent = (names: readonly string[]): string[] => names.map((n) => `%${n}`);
const registers: Readonly<Record<number, readonly string[]>> = {
  1: withPercent(registerNames[1]!),
  2: withPercent(registerNames[2]!),
  4: withPercent(registerNames[4]!),
  8: withPercent(registerNames[8]!),
  10: withPercent(registerNames[8]!),
  16: withPercent(registerNames[16]!),
  32: withPercent(registerNames[32]!),
  64: withPercent(registerNames[64]!),
};
const wide = registers[8]!;

/** `%eax` and so on; vector registers have one name at every size. */
export function registerText(register: number, size: number): string {
  const name = registers[size]?.[register];
  if (name === undefined) throw new Error(`no register ${register} of ${size} bytes`);
  return name;
}

const relocationSuffix: Readonly<Record<SymbolRef["kind"], string>> = {
  direct: "",
  got: "@GOTPCREL",
  plt: "@PLT",
  far: "",
  "far-offset": "@GOTOFF",
  "far-got": "@GOT",
  high: "",
  "tls-offset": "@TPOFF",
  "tls-offset-entry": "@GOTTPOFF",
  "tls-dynamic": "@TLSGD",
};

/** The symbol with its relocation operator and addend. */
export function symbolText(symbol: SymbolRef, addend: number | bigint, names: OperandNames): string {
  const { kind, target } = symbol;
  const word = kind === "got" && target.kind === "global" ? names.addressWord(target.global) : null;
  const text = word ?? targetText(symbol, names) + relocationSuffix[kind];
  return addend === 0 || addend === 0n ? text : addend > 0 ? `${text}+${addend}` : `${text}${addend}`;
}

/** `seg:symbol+disp(base,index,scale)`. */
export function memoryText(mem: MemOperand, names: OperandNames): string {
  let text = !hasSegment(mem) ? "" : `%${segmentOf(mem)}:`;
  if (mem.symbol !== null) text += symbolText(mem.symbol, mem.disp, names);
  else if (mem.disp !== 0 || mem.base === null) text += mem.disp;
  if (isRipRelative(mem)) return `${text}(%rip)`;
  const { base, index } = mem;
  if (index !== null) {
    const first = base === null ? "" : wide[base.loc]!;
    // A base and an unscaled index are written without the scale.
    return scaleOf(mem) === 1 && base !== null
      ? `${text}(${first},${wide[index.loc]!})`
      : `${text}(${first},${wide[index.loc]!},${scaleOf(mem)})`;
  }
  return base === null ? text : `${text}(${wide[base.loc]!})`;
}
