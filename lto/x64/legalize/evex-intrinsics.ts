/** Vector intrinsics that have instructions of AVX-512, on registers of 512 bits, and the machine's own. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type Inst, isCall } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { integerIntrinsic, roundingImmediates } from "./avx-intrinsics.js";
import { compareImmediates, pinnedParts } from "./avx-native.js";
import { splatOf, vex } from "./avx-registers.js";
import { makeMask } from "./evex-assembly.js";
import { blendByWord, type Evex, isMaskable, isWhole } from "./evex-parts.js";
import { evexMachineIntrinsic } from "./evex-x86.js";
import { uniformConstant } from "./vectors-facts.js";
import { shapeOf } from "./vectors-shape.js";
import { imm, letterOf } from "./vectors-sse.js";

/** The parts of a call; null: it is done on halves. */
export function nativeEvexIntrinsic(l: Lowering, base: string, inst: Inst, evex: Evex): Parts | null {
  if (!isCall(inst) || l.strictness !== Strictness.None) return null;
  const args = inst.operands.slice(1, 1 + inst.data.argumentCount);
  if (base.startsWith("x86.")) return evexMachineIntrinsic(l, base.slice("x86.".length), inst, args, evex);
  if (inst.type.kind !== "vector" || args[0]?.type !== inst.type || !isMaskable(inst.type, evex.features))
    return null;
  const shape = shapeOf(inst.type);
  const fills = isWhole(inst.type, evex.features);
  if (shape.lane.isFloat) return shape.element.isFloat && fills ? onFloats(l, base, inst, args) : null;
  if (shape.element.kind !== "int") return null;
  return onlyEvex(l, base, inst.type, args, evex) ?? (fills ? onInts(l, base, inst.type, args, evex) : null);
}

function onFloats(l: Lowering, base: string, inst: Inst, args: readonly Value[]): Parts | null {
  const bits = inst.type.element.kind === "float" ? 32 : 64;
  const suffix = bits === 32 ? "ps" : "pd";
  const a = pinnedParts(l, args[0]!);
  const sign = 1n << BigInt(bits - 1);
  const ofBits = (type: Type, inverted: boolean): Value => splatOf(type, inverted ? sign - 1n : sign);
  const rounding = roundingImmediates[base];
  if (rounding !== undefined) return a.map((r) => vex(l, `Rndscale${suffix}`, r.type, r, imm(rounding)));
  switch (base) {
    case "fma":
    case "fmuladd": {
      const b = pinnedParts(l, args[1]!);
      const c = pinnedParts(l, args[2]!);
      return a.map((r, i) => vex(l, `Fmadd213${suffix}`, r.type, r, b[i]!, c[i]!));
    }
    case "sqrt":
      return a.map((r) => vex(l, `Sqrt${suffix}`, r.type, r));
    case "fabs":
      return a.map((r) => vex(l, "Andps", r.type, r, ofBits(r.type, true)));
    case "copysign": {
      const b = pinnedParts(l, args[1]!);
      return a.map((r, i) => {
        const magnitude = vex(l, "Andps", r.type, r, ofBits(r.type, true));
        return vex(l, "Orps", r.type, magnitude, vex(l, "Andps", r.type, b[i]!, ofBits(r.type, false)));
      });
    }
    case "minnum":
    case "maxnum": {
      // min(b, a) gives a for any NaN, right unless a is the NaN.
      const b = pinnedParts(l, args[1]!);
      return a.map((r, i) => {
        const chosen = vex(l, `${base === "minnum" ? "Min" : "Max"}${suffix}`, r.type, b[i]!, r);
        const text = `vcmp${suffix} $$${compareImmediates["uno"]!}, $1, $1`;
        return blendByWord(l, makeMask(l, text, r.type.count, [r]), b[i]!, chosen);
      });
    }
    default:
      return null;
  }
}

/** Of quadwords, which AVX2 has not. */
const onQuads: Readonly<Record<string, string>> = {
  smax: "Pmaxsq",
  smin: "Pminsq",
  umax: "Pmaxuq",
  umin: "Pminuq",
};

/** What AVX-512 alone has an instruction for, of 128 bits and up. */
function onlyEvex(
  l: Lowering,
  base: string,
  type: Type,
  args: readonly Value[],
  { features }: Evex,
): Parts | null {
  const { bits } = type.element;
  const letter = letterOf(bits);
  const parts = (at: number): Parts => pinnedParts(l, args[at]!);
  const quad = bits === 64 ? onQuads[base] : undefined;
  if (quad !== undefined) {
    const b = parts(1);
    return parts(0).map((r, i) => vex(l, quad, r.type, r, b[i]!));
  }
  const each = (name: string): Parts => parts(0).map((r) => vex(l, `${name}${letter}`, r.type, r));
  switch (base) {
    case "abs":
      return bits === 64 ? each("Pabs") : null;
    case "ctpop":
      return (bits >= 32 ? features.vpopcntdq : features.bitalg) ? each("Popcnt") : null;
    case "ctlz":
      return bits >= 32 && features.cd ? each("Plzcnt") : null;
    case "fshl":
    case "fshr": {
      if (bits < 32 || args[0] !== args[1]) return null;
      const direction = base === "fshl" ? "l" : "r";
      const constant = uniformConstant(args[2]!);
      if (constant !== null)
        return parts(0).map((r) => vex(l, `Pro${direction}${letter}`, r.type, r, imm(constant % bits)));
      const counts = parts(2);
      return parts(0).map((r, i) => vex(l, `Pro${direction}v${letter}`, r.type, r, counts[i]!));
    }
    default:
      return null;
  }
}

function onInts(
  l: Lowering,
  base: string,
  type: Type,
  args: readonly Value[],
  { features }: Evex,
): Parts | null {
  const { bits } = type.element;
  if (base === "abs") return pinnedParts(l, args[0]!).map((r) => vex(l, `Pabs${letterOf(bits)}`, r.type, r));
  if (base === "ctlz") return null;
  // Those that AVX2 does by shuffles of bytes, and shifts of words.
  if (!features.bw && bytewise.has(base)) return null;
  return integerIntrinsic(l, base, shapeOf(type), args, true);
}
const bytewise = new Set(["bswap", "bitreverse", "ctpop"]);
