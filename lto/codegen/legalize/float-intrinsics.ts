/**
 * Floating-point intrinsics: machine operations, libm calls, inline expansions, and the constrained forms,
 * whose operations are emitted as strict as the call is (nothing here folds or reorders floating-point code).
 */
import { type FloatPredicate, Op } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import { floatType, halfType, i1, i16, i32, i64, type Type } from "../../ir/types.js";
import { constI64, constInt, type Value } from "../../ir/values.js";
import { toBits } from "./bits.js";
import { floatToIntSaturating } from "./conversions.js";
import type { LaneCall, LaneHandler } from "./elementwise.js";
import {
  copySign,
  floatAbs,
  floatBinary,
  floatCompare,
  floatConvert,
  floatMinMax,
  floatSuffix,
  isSmallFloat,
  mathCall,
  modeSuffix,
  powerOfTwo,
} from "./floats.js";
import { intBinary, intCompare, intConstant, intResize, isNegative } from "./integers.js";
import type { Lowering, Parts } from "./lowering.js";
import { scalarCast } from "./scalars.js";
import { smallFma } from "./small-fma.js";
import { strictMinMax } from "./strict-min-max.js";

const first = (c: LaneCall): Value => c.args[0]![0]!;

/** A libm function of the same name and shape. */
const library =
  (name: string): LaneHandler =>
  (l, c) => [
    mathCall(
      l,
      name,
      c.type,
      c.args.map((a) => a[0]!),
    ),
  ];

/** To an integer: an instruction where the target has one. */
const rounded =
  (name: string): LaneHandler =>
  (l, c) => {
    const value = l.target.roundToInteger(l, name, c.args[0]![0]!);
    return value === null ? library(name)(l, c) : [value];
  };

const sqrt: LaneHandler = (l, c) => {
  if (isSmallFloat(c.type)) {
    const wide = machineSqrt(l, floatType, floatConvert(l, c.type, floatType, first(c)));
    return [floatConvert(l, floatType, c.type, wide)];
  }
  if (c.type.kind === "fp128") return [mathCall(l, "sqrt", c.type, [first(c)])];
  return [machineSqrt(l, c.type, first(c))];
};
const machineSqrt = (l: Lowering, type: Type, value: Value): Value =>
  l.strict("sqrt", type, [value]) ?? l.intrinsic(`llvm.sqrt.${floatSuffix(type)}`, type, [value]);

/** One instruction, where the target has one for the type. */
function fusedInstruction(l: Lowering, c: LaneCall): Parts | null {
  if (c.type.kind !== "float" && c.type.kind !== "double") return null;
  const [a, b, addend] = c.args.map(([part]) => part!) as [Value, Value, Value];
  const result = l.target.multiplyAdd(l, a, b, addend);
  return result === null ? null : [result];
}

const fmuladd: LaneHandler = (l, c) => {
  const fused = fusedInstruction(l, c);
  if (fused !== null) return fused;
  const [a, b, addend] = c.args as [Parts, Parts, Parts];
  return floatBinary(l, Op.FAdd, c.type, floatBinary(l, Op.FMul, c.type, a, b, c.flags), addend, c.flags);
};

const fma: LaneHandler = (l, c) =>
  isSmallFloat(c.type)
    ? [smallFma(l, c.type, c.args.map(([part]) => part!) as [Value, Value, Value])]
    : (fusedInstruction(l, c) ?? library("fma")(l, c));

const powi: LaneHandler = (l, c) => {
  const exponent = intResize(l, c.argTypes[1]!.bits, 32, c.args[1]!, true)[0]!;
  if (isSmallFloat(c.type)) {
    const wide = floatConvert(l, c.type, floatType, first(c));
    return [floatConvert(l, floatType, c.type, l.library("__powisf2", floatType, [wide, exponent]))];
  }
  return [l.library(`__powi${modeSuffix(c.type)}2`, c.type, [first(c), exponent])];
};

const ldexp: LaneHandler = (l, c) => {
  const exponent = intResize(l, c.argTypes[1]!.bits, 32, c.args[1]!, true)[0]!;
  return [mathCall(l, "ldexp", c.type, [first(c), exponent])];
};

/** {fraction, exponent} through a stack slot for the exponent. */
const frexp: LaneHandler = (l, c) => {
  const slot = l.scratchSlot(i32, 4);
  const fraction = mathCall(l, "frexp", c.type, [first(c), slot]);
  const exponent = l.load(i32, slot, 4);
  return [fraction, ...intResize(l, 32, c.result.elements[1]!.bits, [exponent], true)];
};

/** {fraction, integral part} */
const modf: LaneHandler = (l, c) => {
  if (isSmallFloat(c.type)) {
    const wide = modf(l, { ...c, type: floatType, args: [[floatConvert(l, c.type, floatType, first(c))]] });
    return wide.map((v) => floatConvert(l, floatType, c.type, v));
  }
  const slot = l.stackSlot(c.type, 16);
  const fraction = mathCall(l, "modf", c.type, [first(c), slot]);
  return [fraction, l.load(c.type, slot, 16)];
};

const sincos: LaneHandler = (l, c) => [
  mathCall(l, "sin", c.type, [first(c)]),
  mathCall(l, "cos", c.type, [first(c)]),
];

/** lround and kin: `long` functions, whatever the width of the result. */
const toInteger =
  (name: string): LaneHandler =>
  (l, c) => {
    const type = isSmallFloat(c.type) ? floatType : c.type;
    const value = floatConvert(l, c.type, type, first(c));
    const suffix =
      type.kind === "float" ? "f" : type.kind === "double" ? "" : type.kind === "x86_fp80" ? "l" : "f128";
    return intResize(l, 64, c.result.bits, [l.library(name + suffix, i64, [value])], true);
  };

const canonicalize: LaneHandler = (l, c) => {
  if (isSmallFloat(c.type)) {
    const wide = floatConvert(l, c.type, floatType, first(c));
    return [floatConvert(l, floatType, c.type, l.bin(Op.FMul, wide, powerOfTwo(floatType, 0)))];
  }
  return floatBinary(l, Op.FMul, c.type, c.args[0]!, [powerOfTwo(c.type, 0)], 0);
};

/**
 * is.fpclass by comparing the bits without the sign, as integers, against the limits of the classes.
 * x86_fp80's explicit integer bit makes unnormals, which count as NaNs that are neither signaling nor quiet, like LLVM
 * has it.
 */
const isFpClass: LaneHandler = (l, c) => {
  const mask = c.args[1]![0]!;
  if (mask.valueKind !== "int") throw l.unsupported("llvm.is.fpclass with a variable mask");
  const test = Number(mask.value) & 0x3ff;
  // A comparison raises a flag for signaling NaNs, which this must not where somebody looks.
  if (!l.fn.attributes.fn.has("strictfp")) {
    if (test === 3) return [floatCompare(l, "uno", c.type, c.args[0]!, c.args[0]!)];
    if (test === 0x3fc) return [floatCompare(l, "ord", c.type, c.args[0]!, c.args[0]!)];
  }
  const width = l.layout.bitWidth(c.type);
  const bits = toBits(l, c.type, c.args[0]!);
  const negative = isNegative(l, width, bits);
  const magnitude = intBinary(l, Op.And, width, bits, intConstant(width, (1n << BigInt(width - 1)) - 1n));
  const classes = classTests(l, c.type, width, magnitude);
  let any: Value | null = null;
  const also = (condition: Value): void => {
    any = any === null ? condition : l.or(any, condition);
  };
  if ((test & 3) === 3) also(classes.notNumber());
  else if (test & 1) also(classes.signaling());
  else if (test & 2) also(classes.quiet());
  // Bits 2 … 5 are the negative classes outward in, bits 6 … 9 the positive ones inward out.
  const pairs: [number, number, () => Value][] = [
    [2, 9, classes.infinite],
    [3, 8, classes.normal],
    [4, 7, classes.subnormal],
    [5, 6, classes.zero],
  ];
  for (const [below, above, holds] of pairs) {
    const wantsNegative = (test >> below) & 1;
    const wantsPositive = (test >> above) & 1;
    if (wantsNegative && wantsPositive) also(holds());
    else if (wantsNegative) also(l.and(holds(), negative));
    else if (wantsPositive) also(l.and(holds(), l.not(negative)));
  }
  return [any ?? constInt(i1, 0)];
};

function classTests(l: Lowering, type: Type, width: number, magnitude: Parts) {
  const [exponentBits, fractionBits] =
    type.kind === "half"
      ? [5, 10]
      : type.kind === "bfloat"
        ? [8, 7]
        : type.kind === "float"
          ? [8, 23]
          : type.kind === "double"
            ? [11, 52]
            : type.kind === "x86_fp80"
              ? [15, 64]
              : [15, 112];
  const isExtended = type.kind === "x86_fp80";
  const fraction = BigInt(fractionBits);
  const allOnes = (1n << BigInt(exponentBits)) - 1n;
  const integerBit = isExtended ? 1n << 63n : 0n;
  const infinity = (allOnes << fraction) | integerBit;
  const quietBit = 1n << (fraction - (isExtended ? 2n : 1n));
  const k = (value: bigint): Parts => intConstant(width, value);
  const compare = (p: "eq" | "ugt" | "uge" | "ult", value: bigint): Value =>
    intCompare(l, p, width, magnitude, k(value));
  /** low ≤ magnitude < high */
  const between = (low: bigint, high: bigint): Value =>
    intCompare(l, "ult", width, intBinary(l, Op.Sub, width, magnitude, k(low)), k(high - low));
  const smallestNormal = 1n << fraction;
  const hasIntegerBit = (): Value => l.icmp("slt", magnitude[0]!, constI64(0));
  const isNotNumber = (): Value => {
    const above = compare("ugt", infinity);
    if (!isExtended) return above;
    const unnormal = l.and(compare("uge", smallestNormal), l.not(hasIntegerBit()));
    return l.or(above, unnormal);
  };
  return {
    quiet: (): Value => compare("uge", infinity | quietBit),
    signaling: (): Value => l.and(compare("ugt", infinity), compare("ult", infinity | quietBit)),
    notNumber: isNotNumber,
    infinite: (): Value => compare("eq", infinity),
    zero: (): Value => compare("eq", 0n),
    subnormal: (): Value => between(1n, smallestNormal),
    normal: (): Value => {
      const inRange = between(smallestNormal, allOnes << fraction);
      return isExtended ? l.and(inRange, hasIntegerBit()) : inRange;
    },
  };
}

const saturatingConversion =
  (signed: boolean): LaneHandler =>
  (l, c) =>
    floatToIntSaturating(l, c.type, first(c), c.result.bits, signed);

const minMax: LaneHandler = (l, c) =>
  floatMinMax(l, c.base.slice(c.base.lastIndexOf(".") + 1), c.type, c.args[0]!, c.args[1]!, c.flags);

const libraryNames = `round sin cos tan asin acos atan atan2 sinh cosh
tanh exp exp2 exp10 log log2 log10 pow`
  .split(/\s+/)
  .filter((n) => n !== "");

const plain: (readonly [string, LaneHandler])[] = [
  ...libraryNames.map((name) => [name, library(name)] as const),
  ...["floor", "ceil", "trunc", "rint", "nearbyint", "roundeven"].map(
    (name) => [name, rounded(name)] as const,
  ),
  ["sqrt", sqrt],
  ["fabs", (l, c) => floatAbs(l, c.type, c.args[0]!)],
  ["copysign", (l, c) => copySign(l, c.type, c.args[0]!, c.args[1]!)],
  ["fmuladd", fmuladd],
  ["fma", fma],
  ["powi", powi],
  ["ldexp", ldexp],
  ["frexp", frexp],
  ["modf", modf],
  ["sincos", sincos],
  ["lround", toInteger("lround")],
  ["llround", toInteger("llround")],
  ["lrint", toInteger("lrint")],
  ["llrint", toInteger("llrint")],
  ["canonicalize", canonicalize],
  ["minnum", minMax],
  ["maxnum", minMax],
  ["minimum", minMax],
  ["maximum", minMax],
  ["minimumnum", minMax],
  ["maximumnum", minMax],
  ["is.fpclass", isFpClass],
  ["fptosi.sat", saturatingConversion(true)],
  ["fptoui.sat", saturatingConversion(false)],
  ["convert.to.fp16", (l, c) => [l.cast(Op.BitCast, floatConvert(l, c.type, halfType, first(c)), i16)]],
  [
    "convert.from.fp16",
    (l, c) => [floatConvert(l, halfType, c.result, l.cast(Op.BitCast, first(c), halfType))],
  ],
];

const arithmetic = (op: Op.FAdd | Op.FSub | Op.FMul | Op.FDiv | Op.FRem): LaneHandler => {
  return (l, c) => floatBinary(l, op, c.type, c.args[0]!, c.args[1]!, 0);
};
const conversion = (
  op: Op.FPToSI | Op.FPToUI | Op.SIToFP | Op.UIToFP | Op.FPExt | Op.FPTrunc,
): LaneHandler => {
  return (l, c) => scalarCast(l, op, c.type, c.result, c.args[0]!);
};
const compare: LaneHandler = (l, c) => {
  const signals = c.base.endsWith("fcmps");
  const predicate = c.metadata.find((text) => text !== null && predicates.has(text));
  if (predicate === undefined || predicate === null)
    throw l.unsupported("constrained comparison without predicate");
  return [floatCompare(l, predicate as FloatPredicate, c.type, c.args[0]!, c.args[1]!, signals)];
};
const predicates = new Set("oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une".split(" "));

/** Minima and maxima whose comparisons raise no flags for quiet NaNs: those that ignore NaNs by the library's functions. */
const constrainedMinMax =
  (kind: string): LaneHandler =>
  (l, c) => {
    if (l.strictness === Strictness.None) return minMax(l, c);
    if (kind.length === 6) return library(kind === "minnum" ? "fmin" : "fmax")(l, c);
    return [strictMinMax(l, kind, c.type, first(c), c.args[1]![0]!)];
  };

const constrained: (readonly [string, LaneHandler])[] = [
  ["fadd", arithmetic(Op.FAdd)],
  ["fsub", arithmetic(Op.FSub)],
  ["fmul", arithmetic(Op.FMul)],
  ["fdiv", arithmetic(Op.FDiv)],
  ["frem", arithmetic(Op.FRem)],
  ["fptosi", conversion(Op.FPToSI)],
  ["fptoui", conversion(Op.FPToUI)],
  ["sitofp", conversion(Op.SIToFP)],
  ["uitofp", conversion(Op.UIToFP)],
  ["fpext", conversion(Op.FPExt)],
  ["fptrunc", conversion(Op.FPTrunc)],
  ["fcmp", compare],
  ["fcmps", compare],
  ...plain.filter(([name]) => !name.endsWith(".sat") && !name.startsWith("convert.")),
  ...["minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum"].map(
    (kind) => [kind, constrainedMinMax(kind)] as const,
  ),
];

export const floatIntrinsics: readonly (readonly [string, LaneHandler])[] = [
  ...plain,
  ...constrained.map(([name, handler]) => [`experimental.constrained.${name}`, handler] as const),
];
