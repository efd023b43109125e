/**
 * Instructions of vector registers in VEX encoding in place of those of SSE: a function with AVX has the former alone, since
 * changing between the two costs time while upper halves are in use.
 */
import type { MInst, RegOperand } from "../../codegen/mir.js";
import { opCommutes, opLength, rowOf } from "./op-info.js";
import { opcodeNames } from "./op-names.js";
import { X } from "./ops.js";
import { XMM16 } from "./registers.js";
import { Length, packed } from "./row.js";
import { V } from "./vex-ops.js";

/** Opcode of the VEX form by that of SSE. */
const forms = new Map<number, number>();
const numbers = new Map(Object.entries(opcodeNames).map(([op, name]) => [name, Number(op)]));
for (const [name, op] of numbers) {
  const form = numbers.get(`V${name}`);
  if (form !== undefined) forms.set(op, form);
}
forms.set(X.XorpsZero, V.Zero);

/** What has another name in EVEX encoding, where that of floats wants AVX-512DQ. */
export const widestForms: ReadonlyMap<number, number> = new Map<number, number>([
  [V.Andps, V.Pandd],
  [V.Andnps, V.Pandnd],
  [V.Orps, V.Pord],
  [V.Xorps, V.Pxord],
  [V.Pand, V.Pandd],
  [V.Pandn, V.Pandnd],
  [V.Por, V.Pord],
  [V.Pxor, V.Pxord],
]);

/** The form of an opcode of `V` on `size` bytes. */
export const formAt = (op: number, size: number): number => (size === 64 ? (widestForms.get(op) ?? op) : op);

/** The moves of a whole register. */
const vectorCopy = (inst: MInst): boolean => inst.op === X.Copy && inst.defs[0]!.loc >= 16;

/** Gives an instruction its VEX form, if it is of SSE. */
export function useVex(inst: MInst): void {
  const form = forms.get(inst.op);
  if (form === undefined) return;
  inst.op = formAt(form, inst.size);
  if (inst.defs.length > 0) inst.defs[0]!.tiedTo = -1;
  // Where the source may be wider than the result, the size is the source's.
  if (rowOf(form).argument === packed && inst.size < 16) inst.size = 16;
}

/**
 * The same for final code, where copies have their registers, and the last source may cost a byte.
 * @param vl AVX-512VL is there, or no AVX-512 at all
 */
export function useVexFinally(inst: MInst, vl: boolean): void {
  if (vectorCopy(inst)) {
    inst.op = V.Movaps;
    if (inst.size < 16) inst.size = 16;
    if (!vl && namesHigh(inst)) inst.size = 64;
    return;
  }
  useVex(inst);
  if (!vl && namesHigh(inst)) moveWhole(inst);
  nameEvex(inst);
  const { op, uses, mem } = inst;
  // Of scalars the first source gives the lanes above.
  if (op < V.Zero || inst.size < 16 || opCommutes[op] === 0 || opLength[op] !== Length.ShortVex) return;
  if (uses.length !== 2 || mem !== null) return;
  const [first, second] = uses as [RegOperand, RegOperand];
  if (isLong(second) && !isLong(first)) inst.uses = [second, first];
}

const isHigh = ({ loc }: RegOperand): boolean => loc >= XMM16;
const namesHigh = ({ defs, uses }: MInst): boolean => defs.some(isHigh) || uses.some(isHigh);

/** Where EVEX encoding has to be used, bitwise operations have the width of lanes in their name. */
function nameEvex(inst: MInst): void {
  if (widestForms.has(inst.op) && namesHigh(inst)) inst.op = widestForms.get(inst.op)!;
}

/** Zeroes, loads and stores that AVX-512F has no form of 16 and 32 bytes of: zeroed or filled is all of the register. */
function moveWhole(inst: MInst): void {
  const { size } = inst;
  if (size === 64) return;
  switch (inst.op) {
    case V.Zero as number:
      inst.size = 64;
      break;
    case V.Movaps as number:
    case V.Movups as number:
      inst.op = size === 16 ? V.Broadcasti32x4 : V.Broadcasti64x4;
      inst.size = 64;
      break;
    case V.MovapsM as number:
    case V.MovupsM as number:
      inst.op = size === 16 ? V.Extracti32x4M : V.Extracti64x4M;
      inst.size = 64;
      inst.imm = 0;
      break;
  }
}

/** As what may be memory it takes a prefix of three bytes. */
const isLong = ({ loc }: RegOperand): boolean => (loc & 8) !== 0;
