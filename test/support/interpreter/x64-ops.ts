/**
 * What the instructions that `tsc.x64.*` stand for do, from the Intel SDM's operation sections, on lanes as bits.
 *
 * Written from the manual, not from the lowering, so that the two can be compared.
 */
import { doubleType, floatType, type Type } from "../../../lto/ir/types.js";
import { bitWidth, fromNumber, signed, toNumber, wrap } from "./bits.js";
import { floatCompare } from "./scalar-ops.js";

type Lanes = bigint[];

/** The register as one 128-bit number. */
const join = (lanes: readonly bigint[], width: number): bigint =>
  lanes.reduce((sum, lane, i) => sum | (lane << BigInt(i * width)), 0n);
export function split(bits: bigint, width: number): Lanes {
  return Array.from({ length: 128 / width }, (_, i) => wrap(bits >> BigInt(i * width), width));
}

const widths: Readonly<Record<string, number>> = { b: 8, w: 16, d: 32, q: 64 };
const bounded = (value: bigint, low: bigint, high: bigint): bigint =>
  value < low ? low : value > high ? high : value;
const signedBound = (value: bigint, w: number): bigint =>
  wrap(bounded(value, -(1n << BigInt(w - 1)), (1n << BigInt(w - 1)) - 1n), w);
const unsignedBound = (value: bigint, w: number): bigint => bounded(value, 0n, (1n << BigInt(w)) - 1n);
/** What a conversion gives that does not fit a dword. */
const indefinite = 0x80000000n;

function toDword(value: number, truncates: boolean): bigint {
  const rounded = truncates ? Math.trunc(value) : roundEven(value);
  return Number.isFinite(rounded) && rounded >= -(2 ** 31) && rounded < 2 ** 31
    ? wrap(BigInt(rounded), 32)
    : indefinite;
}
function roundEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

const garbage = 0xa5c3_96f0_5a3c_690f_b4d2_871e_4b2d_78e1n;
const predicates = ["oeq", "olt", "ole", "uno", "une", "uge", "ugt", "ord"];

/**
 * @param args registers as 128-bit numbers, scalars as their bits
 * @param argTypes their types
 * @returns the result's bits
 */
export function x64Operation(name: string, args: readonly bigint[], argTypes: readonly Type[]): bigint {
  const [a, b, third] = args as [bigint, bigint, bigint];
  const lanewise = (w: number, f: (x: bigint, y: bigint) => bigint): bigint => {
    const y = split(b, w);
    return join(
      split(a, w).map((x, i) => f(x, y[i]!)),
      w,
    );
  };
  const floats = (type: Type, f: (x: bigint, y: bigint) => bigint): bigint => lanewise(bitWidth(type), f);
  const shuffled = (from: bigint, w: number, control: number, base = 0): Lanes => {
    const lanes = split(from, w);
    return Array.from({ length: 4 }, (_, i) => lanes[base + ((control >> (2 * i)) & 3)]!);
  };
  const imm = Number(argTypes.length === 3 ? third : b);

  const arithmetic = /^p(add|sub)(us|s)([bw])$/.exec(name);
  if (arithmetic !== null) {
    const w = widths[arithmetic[3]!]!;
    const isSigned = arithmetic[2] === "s";
    return lanewise(w, (x, y) => {
      const p = isSigned ? signed(x, w) : x;
      const q = isSigned ? signed(y, w) : y;
      const exact = arithmetic[1] === "add" ? p + q : p - q;
      return isSigned ? signedBound(exact, w) : unsignedBound(exact, w);
    });
  }
  const comparison = /^pcmp(eq|gt)([bwd])$/.exec(name);
  if (comparison !== null) {
    const w = widths[comparison[2]!]!;
    return lanewise(w, (x, y) => {
      const holds = comparison[1] === "eq" ? x === y : signed(x, w) > signed(y, w);
      return holds ? wrap(-1n, w) : 0n;
    });
  }
  const shift = /^ps(ll|rl|ra)([wdq])(i?)$/.exec(name);
  if (shift !== null) {
    const w = widths[shift[2]!]!;
    const count = shift[3] === "i" ? wrap(b, 8) : wrap(b, 64);
    const over = count >= BigInt(w);
    return join(
      split(a, w).map((x) => {
        if (shift[1] === "ra") return wrap(signed(x, w) >> (over ? BigInt(w - 1) : count), w);
        if (over) return 0n;
        return shift[1] === "ll" ? wrap(x << count, w) : x >> count;
      }),
      w,
    );
  }
  const extreme = /^p(min|max)(ub|sw)$/.exec(name);
  if (extreme !== null) {
    const w = extreme[2] === "ub" ? 8 : 16;
    return lanewise(w, (x, y) => {
      const less = extreme[2] === "ub" ? x < y : signed(x, w) < signed(y, w);
      return less === (extreme[1] === "min") ? x : y;
    });
  }
  const unpack = /^(?:punpck(l|h)(bw|wd|dq|qdq)|unpck(l|h)p([sd]))$/.exec(name);
  if (unpack !== null) {
    const kind = unpack[2];
    const w = kind === "bw" ? 8 : kind === "wd" ? 16 : kind === "dq" || unpack[4] === "s" ? 32 : 64;
    const x = split(a, w);
    const y = split(b, w);
    const half = x.length / 2;
    const start = (unpack[1] ?? unpack[3]) === "l" ? 0 : half;
    return join(Array.from({ length: half }, (_, i) => [x[start + i]!, y[start + i]!]).flat(), w);
  }
  const scalarExtreme = /^(min|max)([ps])([sd])$/.exec(name);
  if (scalarExtreme !== null) {
    const type = scalarExtreme[3] === "s" ? floatType : doubleType;
    const w = bitWidth(type);
    // The second operand wins on NaNs and on equal values.
    const pick = (x: bigint, y: bigint): bigint =>
      floatCompare(scalarExtreme[1] === "min" ? "olt" : "ogt", type, x, y) ? x : y;
    if (scalarExtreme[2] === "p") return floats(type, pick);
    const lanes = split(a, w);
    lanes[0] = pick(lanes[0]!, split(b, w)[0]!);
    return join(lanes, w);
  }
  switch (name) {
    case "pandn":
    case "andnps":
    case "andnpd":
      return wrap(~a, 128) & b;
    case "pmuludq":
      return lanewise(64, (x, y) => wrap(x, 32) * wrap(y, 32));
    case "pmullw":
      return lanewise(16, (x, y) => wrap(x * y, 16));
    case "pmulhuw":
      return lanewise(16, (x, y) => (x * y) >> 16n);
    case "pmulhw":
      return lanewise(16, (x, y) => wrap((signed(x, 16) * signed(y, 16)) >> 16n, 16));
    case "pmaddwd":
      return lanewise(32, (x, y) => {
        const p = split(x, 16);
        const q = split(y, 16);
        return wrap(signed(p[0]!, 16) * signed(q[0]!, 16) + signed(p[1]!, 16) * signed(q[1]!, 16), 32);
      });
    case "pavgb":
      return lanewise(8, (x, y) => (x + y + 1n) >> 1n);
    case "pavgw":
      return lanewise(16, (x, y) => (x + y + 1n) >> 1n);
    case "psadbw":
      return lanewise(64, (x, y) => {
        const q = split(y, 8);
        return split(x, 8)
          .slice(0, 8)
          .reduce((sum, p, i) => sum + (p > q[i]! ? p - q[i]! : q[i]! - p), 0n);
      });
    case "pslldq":
      return imm > 15 ? 0n : wrap(a << BigInt(imm * 8), 128);
    case "psrldq":
      return imm > 15 ? 0n : a >> BigInt(imm * 8);
    case "packsswb":
    case "packssdw":
    case "packuswb": {
      const w = name === "packssdw" ? 32 : 16;
      const narrow = (x: bigint): bigint =>
        name === "packuswb" ? unsignedBound(signed(x, w), 8) : signedBound(signed(x, w), w / 2);
      return join([...split(a, w), ...split(b, w)].map(narrow), w / 2);
    }
    case "pshufd":
      return join(shuffled(a, 32, imm), 32);
    case "pshuflw":
      return join([...shuffled(a, 16, imm), ...split(a, 16).slice(4)], 16);
    case "pshufhw":
      return join([...split(a, 16).slice(0, 4), ...shuffled(a, 16, imm, 4)], 16);
    case "shufps":
      return join([...shuffled(a, 32, imm).slice(0, 2), ...shuffled(b, 32, imm).slice(2)], 32);
    case "shufpd":
      return join([split(a, 64)[imm & 1]!, split(b, 64)[(imm >> 1) & 1]!], 64);
    case "movss":
      return (a & ~0xffffffffn) | wrap(b, 32);
    case "movsd":
      return (a & ~0xffffffffffffffffn) | wrap(b, 64);
    case "cmpps":
    case "cmppd": {
      const type = name === "cmpps" ? floatType : doubleType;
      const w = bitWidth(type);
      return floats(type, (x, y) => (floatCompare(predicates[imm]!, type, x, y) ? wrap(-1n, w) : 0n));
    }
    case "sqrtps":
      return join(
        split(a, 32).map((x) => fromNumber(floatType, Math.sqrt(toNumber(floatType, x)))),
        32,
      );
    case "sqrtpd":
      return join(
        split(a, 64).map((x) => fromNumber(doubleType, Math.sqrt(toNumber(doubleType, x)))),
        64,
      );
    case "cvtdq2ps":
      return join(
        split(a, 32).map((x) => fromNumber(floatType, Number(signed(x, 32)))),
        32,
      );
    case "cvtdq2pd":
      return join(
        split(a, 32)
          .slice(0, 2)
          .map((x) => fromNumber(doubleType, Number(signed(x, 32)))),
        64,
      );
    case "cvtps2dq":
    case "cvttps2dq":
      return join(
        split(a, 32).map((x) => toDword(toNumber(floatType, x), name === "cvttps2dq")),
        32,
      );
    case "cvtpd2dq":
    case "cvttpd2dq":
      return join(
        split(a, 64).map((x) => toDword(toNumber(doubleType, x), name === "cvttpd2dq")),
        32,
      );
    case "cvtps2pd":
      return join(
        split(a, 32)
          .slice(0, 2)
          .map((x) => fromNumber(doubleType, toNumber(floatType, x))),
        64,
      );
    case "cvtpd2ps":
      return join(
        split(a, 64).map((x) => fromNumber(floatType, toNumber(doubleType, x))),
        32,
      );
    case "movd.to":
    case "movq.to":
      return a;
    case "ss.to":
    case "sd.to": {
      // A move within the register: the other lanes hold anything.
      const w = name === "ss.to" ? 32 : 64;
      return a | wrap(garbage << BigInt(w), 128);
    }
    case "movd.from":
    case "ss.from":
      return wrap(a, 32);
    case "movq.from":
    case "sd.from":
      return wrap(a, 64);
    case "pinsrw": {
      const lanes = split(a, 16);
      lanes[imm & 7] = wrap(b, 16);
      return join(lanes, 16);
    }
    case "pextrw":
      return split(a, 16)[imm & 7]!;
    case "movmskps":
    case "movmskpd":
    case "pmovmskb": {
      const w = name === "movmskps" ? 32 : name === "movmskpd" ? 64 : 8;
      return split(a, w).reduce((sum, x, i) => sum | ((x >> BigInt(w - 1)) << BigInt(i)), 0n);
    }
    default:
      throw new Error(`interpreter: tsc.x64.${name}`);
  }
}
