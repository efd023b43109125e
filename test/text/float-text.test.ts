import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatFloat, parseFloatText } from "../../formats/text/float-text.js";
import {
  bfloatType,
  doubleType,
  floatType,
  fp80Type,
  fp128Type,
  halfType,
  type Type,
} from "../../lto/ir/types.js";

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);
const bitsOfFloat = (value: number): bigint => {
  f32[0] = value;
  return BigInt(u32[0]!);
};

describe("floating point text", () => {
  const widths: readonly (readonly [Type, number])[] = [
    [halfType, 16],
    [bfloatType, 16],
    [floatType, 32],
    [doubleType, 64],
    [fp80Type, 80],
    [fp128Type, 128],
  ];
  it.each(widths)("%s keeps all bits", (type, width) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }), (bits) => {
        expect(parseFloatText(type, formatFloat(type, bits))).toBe(bits);
      }),
      { numRuns: 2000, seed: 7 },
    );
  });

  it("agrees with the machine on floats", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const bits = bitsOfFloat(value);
        expect(parseFloatText(floatType, formatFloat(floatType, bits))).toBe(bits);
        expect(
          parseFloatText(floatType, `${value < 0 || Object.is(value, -0) ? "-" : ""}${decimal(value)}`),
        ).toBe(bits);
      }),
      { numRuns: 1000, seed: 7 },
    );
  });

  it("takes exact halves in decimal", () => {
    expect(parseFloatText(halfType, "1.5")).toBe(0x3e00n);
    expect(parseFloatText(halfType, "65504.0")).toBe(0x7bffn);
    expect(parseFloatText(halfType, "5.9604644775390625e-8")).toBe(1n);
    expect(parseFloatText(bfloatType, "-2.0")).toBe(0xc000n);
  });

  it("widens NaNs without losing their payload", () => {
    expect(formatFloat(floatType, 0x7fa00000n)).toBe("0x7FF4000000000000");
    expect(parseFloatText(floatType, "0x7FF4000000000000")).toBe(0x7fa00000n);
    expect(formatFloat(doubleType, 0x7ff0000000000001n)).toBe("0x7FF0000000000001");
  });

  it.each([
    [floatType, "0.1"],
    [floatType, "1.0e300"],
    [halfType, "65520.0"],
    [floatType, "0x7FF0000000000001"],
    [fp80Type, "1.0"],
    [doubleType, "0xH3C00"],
    [fp80Type, "0xK000000000000000000000"],
    [doubleType, "0x10000000000000000"],
  ] as const)("%s does not take %s", (type, text) => {
    expect(() => parseFloatText(type, text)).toThrow(/floating point constant/);
  });
});

/** A decimal fraction that denotes the double exactly. */
function decimal(value: number): string {
  const [digits, exponent] = Math.abs(value).toExponential().split("e") as [string, string];
  return `${digits.includes(".") ? digits : `${digits}.0`}e${exponent}`;
}
