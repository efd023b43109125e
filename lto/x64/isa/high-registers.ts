/**
 * Vector registers 16 to 31: which functions have them, and which instructions can name them.
 *
 * EVEX encoding names 32 registers, VEX 16. All of 64 bytes has EVEX encoding, and what is there with AVX-512 alone; of the rest,
 * which selection knows in VEX encoding, most has a twin with the same mnemonic (assemblers take it where registers ask for it)
 * or, for bitwise operations, with the width of lanes in its name (`vex.ts`). What has none takes the other registers.
 * Without AVX-512VL that is so of 64 bytes and of scalars alone: nothing else names them then but copies, loads and stores between
 * allocation and final code, which has forms of them that name all of the register (`vex.ts`).
 * No call keeps them: `TargetRegisters.callClobbers` has only what masks of functions speak of, so each call of a function
 * that has them says it.
 * Source: Intel SDM volume 2, 2.7.
 */
import type { MFunction, RegOperand } from "../../codegen/mir.js";
import { intersect, isEmptySet, union } from "../../codegen/register-set.js";
import { OpFact } from "../../codegen/target.js";
import type { GlobalValue } from "../../ir/module.js";
import { opcodeCount, opFacts, opLength } from "./op-info.js";
import { X } from "./ops.js";
import { highMask, XMM, xmmMask } from "./registers.js";
import { Length } from "./row.js";
import { featureOfWidest, isFused } from "./rows/evex.js";
import { vectorFeatures } from "./vector-features.js";
import { widestForms } from "./vex.js";
import { V } from "./vex-ops.js";

/** The function's vector values may be in registers 16 to 31. */
export function hasHighRegisters(fn: GlobalValue): boolean {
  if (fn.kind !== "function") return false;
  return vectorFeatures(fn.attributes.fn).avx512;
}

/** Of scalars, and between register files: AVX-512F has twins of them. */
const scalars: readonly V[] = [
  V.Zero,
  V.Movss,
  V.Movsd,
  V.MovssM,
  V.MovsdM,
  V.MovdTo,
  V.MovqTo,
  V.MovdFrom,
  V.MovqFrom,
  V.Addss,
  V.Addsd,
  V.Subss,
  V.Subsd,
  V.Mulss,
  V.Mulsd,
  V.Divss,
  V.Divsd,
  V.Minss,
  V.Minsd,
  V.Maxss,
  V.Maxsd,
  V.Sqrtss,
  V.Sqrtsd,
  V.MovssMerge,
  V.MovsdMerge,
  V.Ucomiss,
  V.Ucomisd,
  V.Comiss,
  V.Comisd,
  V.Cvtsi2ss,
  V.Cvtsi2sd,
  V.Cvttss2si,
  V.Cvttsd2si,
  V.Cvtss2si,
  V.Cvtsd2si,
  V.Cvtss2sd,
  V.Cvtsd2ss,
];

/** What is of any width, or of none. */
const widthless: readonly (X | V)[] = [X.Copy, X.Keep, X.ImplicitDef, ...scalars];
const always: readonly (X | V)[] = [...widthless, X.Asm, ...widestForms.keys()];

/** By opcode: 1 where it can name them at any width, 2 where AVX-512BW has to be there for less than 64 bytes, 0 for 64 alone. */
const reach = new Uint8Array(opcodeCount);
for (let op = 0; op < opcodeCount; op++) {
  const feature = featureOfWidest.get(op);
  if (feature !== undefined) reach[op] = feature === "avx512bw" ? 2 : 1;
  else if (opLength[op] === Length.Evex || isFused(op)) reach[op] = 1;
}
for (const op of always) reach[op] = 1;
/** By opcode: 1 where AVX-512F alone will do. */
const reachAlone = new Uint8Array(opcodeCount);
for (const op of widthless) reachAlone[op] = 1;

/** The instruction, of `size` bytes, can name them. */
export const reachesHigh = (op: number, size: number, { bw, vl }: { bw: boolean; vl: boolean }): boolean =>
  size === 64 || reachAlone[op] === 1 || (vl && (reach[op] === 1 || (reach[op] === 2 && bw)));

/** Has instructions of selected code that cannot name them take others, and calls change them. */
export function restrictRegisters(mf: MFunction): void {
  if (mf.fn.kind !== "function" || !hasHighRegisters(mf.fn)) return;
  const features = vectorFeatures(mf.fn.attributes.fn);
  const restrict = (operand: RegOperand): void => {
    if (operand.vreg < 0 || mf.vregs[operand.vreg]!.cls !== XMM) return;
    operand.allowed = isEmptySet(operand.allowed) ? xmmMask : intersect(operand.allowed, xmmMask);
  };
  for (const { insts } of mf.blocks)
    for (const inst of insts) {
      if (inst.extra?.kind === "call" || (opFacts[inst.op]! & OpFact.Call) !== 0 || inst.op === X.LandingPad)
        inst.clobbers = union(inst.clobbers, highMask);
      if (reachesHigh(inst.op, inst.size, features)) continue;
      // Assembly knows the width of each operand, of which nobody else does.
      const isWide = ({ vreg }: RegOperand): boolean => inst.op === X.Asm && mf.vregs[vreg]?.size === 64;
      for (const operand of [...inst.defs, ...inst.uses]) if (!isWide(operand)) restrict(operand);
    }
}
