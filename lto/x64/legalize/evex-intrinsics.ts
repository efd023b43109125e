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
import { blendByWord, type Evex, isWhole } from "./evex-parts.js";
import { evexMachineIntrinsic } from "./evex-x86.js";
import { uniformConstant } from "./vectors.js";
import { shapeOf } from "./vectors-shape.js";
import { imm, letterOf } from "./vectors-sse.js";

/** The parts of a call; null: it is done on halves. */
export function nativeEvexIntrinsic(l: Lowering, base: string, inst: Inst, evex: Evex): Parts | null {
  if (!isCall(inst) || l.strictness !== Strictness.None) return null;
  const args = inst.operands.slice(1, 1 + inst.data.argumentCount);
  if (base.startsWith("x86.")) return evexMachineIntrinsic(l, base.slice("x86.".length), inst, args, evex);
  if (inst.type.kind !== "vector" || args[0]?.type !== inst.type || !isWhole(inst.type, evex.features))
    return null;
  const shape = shapeOf(inst.type);
  if (shape.lane.isFloat) return shape.element.isFloat ? onFloats(l, base, inst, args) : null;
  return shape.element.kind === "int" ? onInts(l, base, inst.type, args, evex) : null;
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

function onInts(l: Lowering, base: string, type: Type, args: readonly Value[], evex: Evex): Parts | null {
  const { features } = evex;
  const bits = type.element.bits;
  const letter = letterOf(bits);
  const a = pinnedParts(l, args[0]!);
  const quad = bits === 64 ? onQuads[base] : undefined;
  if (quad !== undefined) {
    const b = pinnedParts(l, args[1]!);
    return a.map((r, i) => vex(l, quad, r.type, r, b[i]!));
  }
  switch (base) {
    case "abs":
      return a.map((r) => vex(l, `Pabs${letter}`, r.type, r));
    case "ctpop":
      if (bits >= 32 ? features.vpopcntdq : features.bitalg)
        return a.map((r) => vex(l, `Popcnt${letter}`, r.type, r));
      break;
    case "ctlz":
      return bits >= 32 && features.cd ? a.map((r) => vex(l, `Plzcnt${letter}`, r.type, r)) : null;
    case "fshl":
    case "fshr": {
      if (bits < 32 || args[0] !== args[1]) break;
      const direction = base === "fshl" ? "l" : "r";
      const constant = uniformConstant(args[2]!);
      if (constant !== null)
        return a.map((r) => vex(l, `Pro${direction}${letter}`, r.type, r, imm(constant % bits)));
      const counts = pinnedParts(l, args[2]!);
      return a.map((r, i) => vex(l, `Pro${direction}v${letter}`, r.type, r, counts[i]!));
    }
    default:
      break;
  }
  // Those that AVX2 does by shuffles of bytes, and shifts of words.
  if (!features.bw && bytewise.has(base)) return null;
  return integerIntrinsic(l, base, shapeOf(type), args, true);
}
const bytewise = new Set(["bswap", "bitreverse", "ctpop"]);
