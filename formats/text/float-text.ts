/**
 * Floating-point constants as text, exactly (LLVM Language Reference, "Simple Constants").
 *
 * `half` and `bfloat` are written as their bits (0xH, 0xR), `float` as the bits of the double of equal value,
 * `x86_fp80` as sign and exponent followed by the significand (0xK), `fp128` as its low and then its high
 * half (0xL). A `float` or `double` whose six-decimal form is exact is written so.
 *
 * No NaN ever passes through a JavaScript number, which would lose its payload.
 */
import { InputError } from "../../lto/ir/errors.js";
import type { Type } from "../../lto/ir/types.js";

const f64 = new Float64Array(1);
const u64 = new BigUint64Array(f64.buffer);

/** Bits of an IEEE format narrower than double, by mantissa and exponent width. */
interface Narrow {
  readonly mantissa: bigint;
  readonly exponent: bigint;
}
const narrowFormats: Readonly<Record<string, Narrow>> = {
  half: { mantissa: 10n, exponent: 5n },
  bfloat: { mantissa: 7n, exponent: 8n },
  float: { mantissa: 23n, exponent: 8n },
};

/** Widens the bits of a narrow format to those of the double of equal value. */
function widen(bits: bigint, { mantissa, exponent }: Narrow): bigint {
  const sign = (bits >> (mantissa + exponent)) & 1n;
  const maxExponent = (1n << exponent) - 1n;
  const bias = maxExponent >> 1n;
  let exp = (bits >> mantissa) & maxExponent;
  let frac = bits & ((1n << mantissa) - 1n);
  if (exp === maxExponent) exp = 2047n;
  else if (exp !== 0n) exp += 1023n - bias;
  else if (frac !== 0n) {
    exp = 1024n - bias;
    while ((frac & (1n << mantissa)) === 0n) {
      frac <<= 1n;
      exp--;
    }
    frac &= (1n << mantissa) - 1n;
  }
  return (sign << 63n) | (exp << 52n) | (frac << (52n - mantissa));
}

/** The inverse of `widen`, or null when the value is not representable. */
function narrow(bits: bigint, format: Narrow): bigint | null {
  const { mantissa, exponent } = format;
  const sign = bits >> 63n;
  const maxExponent = (1n << exponent) - 1n;
  const bias = maxExponent >> 1n;
  let exp = (bits >> 52n) & 2047n;
  let frac = bits & ((1n << 52n) - 1n);
  let shift = 52n - mantissa;
  if (exp === 2047n) exp = maxExponent;
  else if (exp === 0n) {
    // A double below the normal range is far below every narrow format's.
    if (frac !== 0n) return null;
  } else {
    exp += bias - 1023n;
    if (exp >= maxExponent) return null;
    if (exp <= 0n) {
      frac |= 1n << 52n;
      shift += 1n - exp;
      exp = 0n;
      if (shift > 52n) return null;
    }
  }
  if ((frac & ((1n << shift) - 1n)) !== 0n) return null;
  return (sign << (mantissa + exponent)) | (exp << mantissa) | (frac >> shift);
}

const hex = (bits: bigint, digits: number): string => bits.toString(16).toUpperCase().padStart(digits, "0");

/** Text of the constant of floating-point type `type` with the given raw bits. */
export function formatFloat(type: Type, bits: bigint): string {
  switch (type.kind) {
    case "half":
      return `0xH${hex(bits, 4)}`;
    case "bfloat":
      return `0xR${hex(bits, 4)}`;
    case "x86_fp80":
      return `0xK${hex(bits, 20)}`;
    case "fp128":
      return `0xL${hex(bits & 0xffffffffffffffffn, 16)}${hex(bits >> 64n, 16)}`;
    default: {
      const wide = type.kind === "float" ? widen(bits, narrowFormats["float"]!) : bits;
      u64[0] = wide;
      const value = f64[0]!;
      if (Number.isFinite(value)) {
        const [digits, exponent] = Math.abs(value).toExponential(6).split("e") as [string, string];
        const sign = wide >> 63n === 1n ? "-" : "";
        const text = `${sign}${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
        if (Number(text) === value) return text;
      }
      return `0x${hex(wide, 16)}`;
    }
  }
}

const hexPrefixes: Readonly<Record<string, string>> = { K: "x86_fp80", L: "fp128", H: "half", R: "bfloat" };
const hexDigits: Readonly<Record<string, number>> = { x86_fp80: 20, fp128: 32, half: 4, bfloat: 4 };

/**
 * Bits of a floating-point constant of type `type`.
 * @throws InputError (without a line) if the text does not denote a value of the type exactly
 */
export function parseFloatText(type: Type, text: string): bigint {
  let wide: bigint;
  if (text.startsWith("0x")) {
    const prefixed = hexPrefixes[text[2]!];
    if (prefixed !== undefined) {
      const digits = text.slice(3);
      if (prefixed !== type.kind || digits.length > hexDigits[prefixed]!)
        throw new InputError(`floating point constant '${clip(text)}' does not fit type '${type}'`);
      if (prefixed !== "fp128") return BigInt(`0x${digits}`);
      const padded = digits.padStart(32, "0");
      return (BigInt(`0x${padded.slice(16)}`) << 64n) | BigInt(`0x${padded.slice(0, 16)}`);
    }
    if (text.length > 18) throw new InputError(`floating point constant '${clip(text)}' is too long`);
    wide = BigInt(text);
  } else {
    f64[0] = Number(text);
    wide = u64[0]!;
  }
  if (type.kind === "double") return wide;
  const format = narrowFormats[type.kind];
  const bits = format === undefined ? null : narrow(wide, format);
  if (bits === null)
    throw new InputError(`floating point constant '${clip(text)}' does not fit type '${type}'`);
  return bits;
}

const clip = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
