/**
 * Random functions of one operation each, as IR text, over types legal and not.
 *
 * A function loads its operands from `%in`, computes, and stores its results to `%out`. Integers of odd width
 * come in by truncation and leave by extension, so every byte of memory is defined.
 */

import type { Random } from "../support/random.js";

interface Shape {
  /** 0: a scalar. */
  readonly count: number;
  readonly element: string;
}

const floatBytes: Readonly<Record<string, number>> = { half: 2, bfloat: 2, float: 4, double: 8 };
const suffixes: Readonly<Record<string, string>> = {
  half: "f16",
  bfloat: "bf16",
  float: "f32",
  double: "f64",
};
const scalarInts = "i1 i3 i7 i8 i13 i16 i24 i31 i32 i33 i48 i63 i64 i65 i96 i100 i127 i128 i192 i256".split(
  " ",
);
const laneInts = "i1 i3 i8 i16 i24 i32 i64 i8 i16 i32 i64 i48 i128".split(" ");
const counts = [1, 2, 3, 4, 5, 7, 8, 12, 16, 20];

const widthOf = (element: string): number => Number(element.slice(1));
const isFloat = (element: string): boolean => element in floatBytes;
const text = (s: Shape): string => (s.count === 0 ? s.element : `<${s.count} x ${s.element}>`);
const of = (s: Shape, element: string): Shape => ({ count: s.count, element });
const suffix = (s: Shape): string => {
  const element = suffixes[s.element] ?? s.element;
  return s.count === 0 ? element : `v${s.count}${element}`;
};
/** Width in memory: a machine integer, or whole words. */
const held = (width: number): number =>
  width <= 8 ? 8 : width <= 16 ? 16 : width <= 32 ? 32 : Math.ceil(width / 64) * 64;

export class FunctionWriter {
  readonly lines: string[] = [];
  readonly declarations = new Set<string>();
  inputBytes = 0;
  outputBytes = 0;
  private next = 0;
  constructor(readonly random: Random) {}

  emit(code: string): string {
    const name = `%t${this.next++}`;
    this.lines.push(`  ${name} = ${code}`);
    return name;
  }
  private place(base: "in" | "out", bytes: number): string {
    const size = Math.ceil(bytes / 16) * 16;
    const at = base === "in" ? this.inputBytes : this.outputBytes;
    if (base === "in") this.inputBytes += size;
    else this.outputBytes += size;
    return this.emit(`getelementptr i8, ptr %${base}, i64 ${at}`);
  }
  load(s: Shape): string {
    const lanes = Math.max(1, s.count);
    if (isFloat(s.element)) {
      const pointer = this.place("in", floatBytes[s.element]! * lanes);
      return this.emit(`load ${text(s)}, ptr ${pointer}, align 1`);
    }
    const width = widthOf(s.element);
    const wide = of(s, `i${held(width)}`);
    const pointer = this.place("in", (held(width) / 8) * lanes);
    const value = this.emit(`load ${text(wide)}, ptr ${pointer}, align 1`);
    return held(width) === width ? value : this.emit(`trunc ${text(wide)} ${value} to ${text(s)}`);
  }
  store(s: Shape, value: string): void {
    const lanes = Math.max(1, s.count);
    if (isFloat(s.element)) {
      // One NaN for all.
      const bits = of(s, "i1");
      const unordered = this.emit(`fcmp uno ${text(s)} ${value}, ${value}`);
      const zero =
        s.count > 0
          ? "zeroinitializer"
          : s.element === "half"
            ? "0xH0000"
            : s.element === "bfloat"
              ? "0xR0000"
              : "0.0";
      const clean = this.emit(`select ${text(bits)} ${unordered}, ${text(s)} ${zero}, ${text(s)} ${value}`);
      const pointer = this.place("out", floatBytes[s.element]! * lanes);
      this.lines.push(`  store ${text(s)} ${clean}, ptr ${pointer}, align 1`);
      this.store(bits, unordered);
      return;
    }
    const width = widthOf(s.element);
    const wide = of(s, `i${held(width)}`);
    const stored =
      held(width) === width
        ? value
        : this.emit(`${this.random.pick(["zext", "sext"])} ${text(s)} ${value} to ${text(wide)}`);
    const pointer = this.place("out", (held(width) / 8) * lanes);
    this.lines.push(`  store ${text(wide)} ${stored}, ptr ${pointer}, align 1`);
  }
  constant(s: Shape, value?: bigint): string {
    const width = widthOf(s.element);
    const one = (): string => {
      const w = BigInt(width);
      const v =
        value ??
        this.random.pick([
          0n,
          1n,
          -1n,
          2n,
          (1n << (w - 1n)) - 1n,
          -(1n << (w - 1n)),
          BigInt(this.random.below(1 << 30)),
        ]);
      const wrapped = BigInt.asIntN(width, v);
      return width === 1 ? String(wrapped !== 0n) : String(wrapped);
    };
    if (s.count === 0) return one();
    const same = this.random.chance(0.5) ? one() : null;
    return `<${Array.from({ length: s.count }, () => `${s.element} ${same ?? one()}`).join(", ")}>`;
  }
  /** A shift amount below the width, from any value. */
  amount(s: Shape, value: string): string {
    const width = widthOf(s.element);
    const isPower = (width & (width - 1)) === 0;
    if (!isPower && width <= 128)
      return this.emit(`urem ${text(s)} ${value}, ${this.constant(s, BigInt(width))}`);
    let power = 1;
    while (power * 2 <= width) power *= 2;
    return this.emit(`and ${text(s)} ${value}, ${this.constant(s, BigInt(power - 1))}`);
  }
  call(name: string, result: string, args: readonly (readonly [string, string])[]): string {
    this.declarations.add(`declare ${result} @${name}(${args.map((a) => a[0]).join(", ")})`);
    return this.emit(`call ${result} @${name}(${args.map((a) => a.join(" ")).join(", ")})`);
  }

  ints(): Shape {
    return this.random.chance(0.5)
      ? { count: 0, element: this.random.pick(scalarInts) }
      : { count: this.random.pick(counts), element: this.random.pick(laneInts) };
  }
  floats(): Shape {
    const element = this.random.pick(["float", "double", "float", "double", "half"]);
    return { count: this.random.chance(0.4) ? 0 : this.random.pick([1, 2, 3, 4, 5, 8]), element };
  }
}

const width = (s: Shape): number => widthOf(s.element);

/** Generators by name; each writes one computation, or gives up by returning false. */
export const generators: Readonly<Record<string, (w: FunctionWriter) => boolean>> = {
  arithmetic(w) {
    const s = w.ints();
    const b = w.load(s);
    const op = w.random.pick("add sub mul and or xor".split(" "));
    w.store(s, w.emit(`${op} ${text(s)} ${w.load(s)}, ${w.random.chance(0.25) ? w.constant(s) : b}`));
    return true;
  },
  shift(w) {
    const s = w.ints();
    const a = w.load(s);
    let by = w.amount(s, w.load(s));
    if (w.random.chance(0.25)) by = w.constant(s, BigInt(w.random.below(width(s))));
    else if (s.count > 0 && w.random.chance(0.4))
      by = w.emit(`shufflevector ${text(s)} ${by}, ${text(s)} poison, <${s.count} x i32> zeroinitializer`);
    w.store(s, w.emit(`${w.random.pick(["shl", "lshr", "ashr"])} ${text(s)} ${a}, ${by}`));
    return true;
  },
  division(w) {
    const s = w.ints();
    if (width(s) === 1) return false;
    const op = w.random.pick("udiv sdiv urem srem".split(" "));
    let a = w.load(s);
    if (op[0] === "s") a = w.emit(`lshr ${text(s)} ${a}, ${w.constant(s, 1n)}`);
    const b = w.emit(`or ${text(s)} ${w.load(s)}, ${w.constant(s, 1n)}`);
    w.store(s, w.emit(`${op} ${text(s)} ${a}, ${b}`));
    return true;
  },
  comparison(w) {
    const s = w.ints();
    const a = w.load(s);
    const b = w.random.chance(0.2) ? w.constant(s) : w.load(s);
    const predicate = w.random.pick("eq ne ugt uge ult ule sgt sge slt sle".split(" "));
    const c = w.emit(`icmp ${predicate} ${text(s)} ${a}, ${b}`);
    const bits = of(s, "i1");
    switch (w.random.below(4)) {
      case 0:
        w.store(bits, c);
        break;
      case 1: {
        const to = of(s, w.random.pick(["i8", "i16", "i32", "i64"]));
        w.store(to, w.emit(`${w.random.pick(["zext", "sext"])} ${text(bits)} ${c} to ${text(to)}`));
        break;
      }
      case 2:
        w.store(s, w.emit(`select ${text(bits)} ${c}, ${text(s)} ${a}, ${text(s)} ${b}`));
        break;
      default: {
        const d = w.emit(`icmp ult ${text(s)} ${w.load(s)}, ${b}`);
        const both = w.emit(`${w.random.pick(["and", "or", "xor"])} ${text(bits)} ${c}, ${d}`);
        const t = of(s, w.random.pick(["i8", "i32", "float", "double", "i64", "half"]));
        w.store(t, w.emit(`select ${text(bits)} ${both}, ${text(t)} ${w.load(t)}, ${text(t)} ${w.load(t)}`));
      }
    }
    return true;
  },
  unaryIntrinsic(w) {
    const s = w.ints();
    const name = w.random.pick("ctpop ctlz cttz bswap bitreverse abs".split(" "));
    if (name === "bswap" && width(s) % 16 !== 0) return false;
    const args: [string, string][] = [[text(s), w.load(s)]];
    if (name === "ctlz" || name === "cttz" || name === "abs") args.push(["i1", "false"]);
    w.store(s, w.call(`llvm.${name}.${suffix(s)}`, text(s), args));
    return true;
  },
  binaryIntrinsic(w) {
    const s = w.ints();
    const name = w.random.pick(
      "smax smin umax umin sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat fshl fshr".split(" "),
    );
    const isShift = name.endsWith("shl.sat") || name.startsWith("fsh");
    if (isShift && width(s) > 128) return false;
    const a = w.load(s);
    const b = w.load(s);
    const args: [string, string][] = [
      [text(s), a],
      [text(s), name.endsWith("shl.sat") ? w.amount(s, b) : b],
    ];
    if (name.startsWith("fsh")) args.push([text(s), w.load(s)]);
    w.store(s, w.call(`llvm.${name}.${suffix(s)}`, text(s), args));
    return true;
  },
  overflow(w) {
    const s = w.ints();
    const name = w.random.pick("sadd uadd ssub usub smul umul".split(" "));
    if (name.endsWith("mul") && width(s) > 128) return false;
    const result = `{ ${text(s)}, ${text(of(s, "i1"))} }`;
    const both = w.call(`llvm.${name}.with.overflow.${suffix(s)}`, result, [
      [text(s), w.load(s)],
      [text(s), w.random.chance(0.25) ? w.constant(s) : w.load(s)],
    ]);
    w.store(s, w.emit(`extractvalue ${result} ${both}, 0`));
    w.store(of(s, "i1"), w.emit(`extractvalue ${result} ${both}, 1`));
    return true;
  },
  resize(w) {
    const s = w.ints();
    const to = of(s, w.random.pick(s.count === 0 ? scalarInts : laneInts));
    if (width(s) === width(to)) return false;
    const op = width(to) < width(s) ? "trunc" : w.random.pick(["zext", "sext"]);
    w.store(to, w.emit(`${op} ${text(s)} ${w.load(s)} to ${text(to)}`));
    return true;
  },
  bitcast(w) {
    const pool: Shape[] = ["i16", "i24", "i32", "i64", "i96", "i128", "float", "double", "half", "i48"].map(
      (element) => ({ count: 0, element }),
    );
    for (const element of "i1 i4 i8 i16 i32 i64 float double half i24 i128".split(" "))
      for (const count of [1, 2, 3, 4, 6, 8, 16]) pool.push({ count, element });
    const size = (s: Shape): number =>
      Math.max(1, s.count) * (isFloat(s.element) ? floatBytes[s.element]! * 8 : widthOf(s.element));
    const from = w.random.pick(pool);
    const to = w.random.pick(pool.filter((s) => size(s) === size(from)));
    if (text(from) === text(to)) return false;
    w.store(to, w.emit(`bitcast ${text(from)} ${w.load(from)} to ${text(to)}`));
    return true;
  },
  shuffle(w) {
    const count = w.random.pick([2, 3, 4, 5, 7, 8, 12, 16]);
    const s = { count, element: w.random.pick("i1 i8 i16 i32 i64 float double half i24 i128".split(" ")) };
    const length = w.random.chance(0.5) ? count : w.random.pick([2, 3, 4, 8, 16]);
    const start = w.random.below(2 * count);
    const kind = w.random.below(6);
    const mask = Array.from({ length }, (_, i) => {
      switch (kind) {
        case 0:
          return w.random.below(2 * count);
        case 1:
          return w.random.below(count);
        case 2:
          return (start + i) % (2 * count);
        case 3:
          return ((i >> 1) + (i % 2) * count) % (2 * count);
        case 4:
          return (i % count) + w.random.below(2) * count;
        default:
          return (16 * count - 1 - i) % count;
      }
    });
    const lanes = mask.map((i) => `i32 ${i}`).join(", ");
    const to = { count: length, element: s.element };
    w.store(
      to,
      w.emit(`shufflevector ${text(s)} ${w.load(s)}, ${text(s)} ${w.load(s)}, <${length} x i32> <${lanes}>`),
    );
    return true;
  },
  element(w) {
    const count = w.random.pick([2, 3, 4, 5, 8, 16]);
    const s = { count, element: w.random.pick("i1 i8 i16 i32 i64 float double half i24 i128".split(" ")) };
    const one = { count: 0, element: s.element };
    const vector = w.load(s);
    const index = w.random.chance(0.5)
      ? String(w.random.below(count))
      : w.emit(`urem i32 ${w.load({ count: 0, element: "i32" })}, ${count}`);
    if (w.random.chance(0.5)) w.store(one, w.emit(`extractelement ${text(s)} ${vector}, i32 ${index}`));
    else w.store(s, w.emit(`insertelement ${text(s)} ${vector}, ${s.element} ${w.load(one)}, i32 ${index}`));
    return true;
  },
  build(w) {
    const count = w.random.pick([2, 3, 4, 5, 8, 16]);
    const s = { count, element: w.random.pick("i1 i8 i16 i32 i64 float double half i24".split(" ")) };
    const parts = Array.from({ length: Math.min(count, 3) }, () => w.load({ count: 0, element: s.element }));
    // Lanes in turn, or any, some of them twice, of what is known in all, in some or in no lanes.
    const inTurn = w.random.chance(0.5);
    const length = inTurn ? count : w.random.below(2 * count) + 1;
    let vector = inTurn ? "poison" : w.random.pick(["poison", "zeroinitializer", w.load(s)]);
    for (let i = 0; i < length; i++) {
      const lane = inTurn ? i : w.random.below(count);
      vector = w.emit(
        `insertelement ${text(s)} ${vector}, ${s.element} ${w.random.pick(parts)}, i32 ${lane}`,
      );
      if (!inTurn && w.random.chance(0.1)) w.store(s, vector);
    }
    w.store(s, vector);
    return true;
  },
  /** Operations whose lowering looks at what is known of the lanes. */
  known(w) {
    const s = { count: w.random.pick([2, 4, 8]), element: w.random.pick(["i16", "i32", "i32", "i64"]) };
    const bounded = (): string => {
      switch (w.random.below(5)) {
        case 0:
          return w.load(s);
        case 1:
          return w.constant(s, BigInt(w.random.pick([77, 255, 32767, 32768, 65535, -1, -32768])));
        case 2:
          return w.emit(`lshr ${text(s)} ${w.load(s)}, ${w.constant(s, BigInt(w.random.below(width(s))))}`);
        default: {
          const from = of(s, w.random.pick(width(s) === 16 ? ["i8"] : ["i8", "i16"]));
          return w.emit(`${w.random.pick(["zext", "sext"])} ${text(from)} ${w.load(from)} to ${text(s)}`);
        }
      }
    };
    const a = bounded();
    const b = bounded();
    switch (w.random.below(4)) {
      case 0:
        w.store(
          of(s, "i1"),
          w.emit(`icmp ${w.random.pick(["ult", "ugt", "ule", "uge"])} ${text(s)} ${a}, ${b}`),
        );
        break;
      case 1: {
        const args: [string, string][] = [
          [text(s), a],
          [text(s), b],
        ];
        const name = w.random.pick(["umin", "umax", "smin", "smax"]);
        w.store(s, w.call(`llvm.${name}.${suffix(s)}`, text(s), args));
        break;
      }
      case 2: {
        const to = of(s, w.random.pick(["float", "double"]));
        w.store(to, w.emit(`uitofp ${text(s)} ${a} to ${text(to)}`));
        break;
      }
      default:
        w.store(s, w.emit(`mul ${text(s)} ${a}, ${b}`));
    }
    return true;
  },
  reduction(w) {
    const s = { count: w.random.pick([2, 3, 4, 5, 8, 16]), element: w.random.pick(laneInts) };
    const name = w.random.pick("add mul and or xor smax smin umax umin".split(" "));
    w.store(
      { count: 0, element: s.element },
      w.call(`llvm.vector.reduce.${name}.${suffix(s)}`, s.element, [[text(s), w.load(s)]]),
    );
    return true;
  },
  floatArithmetic(w) {
    const s = w.floats();
    const op = w.random.pick("fadd fsub fmul fdiv frem".split(" "));
    w.store(s, w.emit(`${op} ${text(s)} ${w.load(s)}, ${w.load(s)}`));
    return true;
  },
  floatIntrinsic(w) {
    const s = w.floats();
    const name = w.random.pick("fabs copysign sqrt minimum maximum floor ceil trunc".split(" "));
    const binary = name === "copysign" || name.startsWith("m");
    const args: [string, string][] = [[text(s), w.load(s)]];
    if (binary) args.push([text(s), w.load(s)]);
    w.store(s, w.call(`llvm.${name}.${suffix(s)}`, text(s), args));
    return true;
  },
  floatComparison(w) {
    const s = w.floats();
    const a = w.load(s);
    const b = w.load(s);
    const predicate = w.random.pick("oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une".split(" "));
    const c = w.emit(`fcmp ${predicate} ${text(s)} ${a}, ${b}`);
    const bits = of(s, "i1");
    if (w.random.chance(0.5)) w.store(bits, c);
    else w.store(s, w.emit(`select ${text(bits)} ${c}, ${text(s)} ${a}, ${text(s)} ${b}`));
    return true;
  },
  floatConversion(w) {
    const s = w.floats();
    const to = of(s, w.random.pick(["float", "double", "half", "bfloat"]));
    const grows = floatBytes[to.element]! - floatBytes[s.element]!;
    if (grows === 0) return false;
    w.store(to, w.emit(`${grows > 0 ? "fpext" : "fptrunc"} ${text(s)} ${w.load(s)} to ${text(to)}`));
    return true;
  },
  intToFloat(w) {
    const to = of(w.floats(), w.random.pick(["float", "double"]));
    const s = of(to, w.random.pick(to.count === 0 ? scalarInts : laneInts));
    if (width(s) > 128) return false;
    w.store(to, w.emit(`${w.random.pick(["sitofp", "uitofp"])} ${text(s)} ${w.load(s)} to ${text(to)}`));
    return true;
  },
  floatToInt(w) {
    const s = w.floats();
    const to = of(s, w.random.pick(s.count === 0 ? scalarInts : laneInts));
    if (width(to) > 128) return false;
    const kind = w.random.pick(["si", "ui"]);
    if (w.random.chance(0.5)) w.store(to, w.emit(`fpto${kind} ${text(s)} ${w.load(s)} to ${text(to)}`));
    else
      w.store(
        to,
        w.call(`llvm.fpto${kind}.sat.${suffix(to)}.${suffix(s)}`, text(to), [[text(s), w.load(s)]]),
      );
    return true;
  },
  memory(w) {
    const type = w.random.pick([
      "i24",
      "i48",
      "<3 x float>",
      "<2 x i32>",
      "<3 x i8>",
      "<5 x i16>",
      "<1 x i64>",
      "<2 x half>",
      "<3 x i24>",
      "<5 x double>",
      "{ i8, i24, [2 x i16], float }",
      "[3 x <2 x float>]",
      "<9 x i8>",
      "<2 x i128>",
    ]);
    const pointer = w.emit("getelementptr i8, ptr %in, i64 0");
    w.inputBytes += 64;
    const value = w.emit(`load ${type}, ptr ${pointer}, align 1`);
    w.lines.push(`  store ${type} ${value}, ptr %out, align 1`);
    w.outputBytes += 64;
    return true;
  },
  aggregate(w) {
    const type = "{ i32, { i64, float }, [2 x i16] }";
    const a = w.emit(`load ${type}, ptr %in, align 1`);
    w.inputBytes += 32;
    const b = w.emit(
      `insertvalue ${type} ${a}, i16 ${w.load({ count: 0, element: "i16" })}, 2, ${w.random.below(2)}`,
    );
    const c = w.emit(`insertvalue ${type} ${b}, { i64, float } zeroinitializer, 1`);
    const bit = w.load({ count: 0, element: "i1" });
    const d = w.emit(`select i1 ${bit}, ${type} ${b}, ${type} ${c}`);
    w.lines.push(`  store ${type} ${d}, ptr %out, align 1`);
    w.outputBytes += 32;
    const array = w.emit(`extractvalue ${type} ${d}, 2`);
    w.store({ count: 0, element: "i16" }, w.emit(`extractvalue [2 x i16] ${array}, 1`));
    return true;
  },
  control(w) {
    const s = w.random.chance(0.7) ? w.ints() : w.floats();
    const bit = w.load({ count: 0, element: "i1" });
    const a = w.load(s);
    const b = w.load(s);
    w.lines.push(
      `  br i1 ${bit}, label %yes, label %no`,
      "yes:",
      "  br label %join",
      "no:",
      "  br label %join",
      "join:",
    );
    w.store(s, w.emit(`phi ${text(s)} [ ${a}, %yes ], [ ${b}, %no ]`));
    return true;
  },
  switch(w) {
    const s = { count: 0, element: w.random.pick("i1 i3 i8 i13 i32 i64 i100 i128".split(" ")) };
    const value = w.emit(`and ${s.element} ${w.load(s)}, ${w.constant(s, 3n)}`);
    const cases = width(s) === 1 ? [0, 1] : [0, 1, 2];
    const targets = cases.map((c) => `${s.element} ${w.constant(s, BigInt(c))}, label %case${c}`);
    w.lines.push(`  switch ${s.element} ${value}, label %other [${targets.join(" ")}]`);
    for (const c of cases) w.lines.push(`case${c}:`, "  br label %join");
    w.lines.push("other:", "  br label %join", "join:");
    const incoming = cases.map((c) => `[ ${c + 10}, %case${c} ]`).join(", ");
    w.store({ count: 0, element: "i32" }, w.emit(`phi i32 ${incoming}, [ 99, %other ]`));
    return true;
  },
  atomic(w) {
    const element = w.random.pick("i8 i16 i32 i64 float double".split(" "));
    const s = { count: 0, element };
    const integer = element === "float" ? "i32" : element === "double" ? "i64" : element;
    const op = w.random.pick(
      isFloat(element)
        ? ["fadd", "fsub", "xchg"]
        : "xchg add sub and nand or xor max min umax umin uinc_wrap udec_wrap".split(" "),
    );
    const old = w.load({ count: 0, element: integer });
    w.lines.push(`  store ${integer} ${old}, ptr %out, align 8`);
    w.outputBytes += 16;
    w.store(s, w.emit(`atomicrmw ${op} ptr %out, ${element} ${w.load(s)} seq_cst`));
    if (isFloat(element)) {
      w.store(s, w.emit(`load ${element}, ptr %out, align 8`));
      w.lines.push("  store i64 0, ptr %out, align 8");
    }
    return true;
  },
};

/** Text of a module with the function @f. */
export function randomModule(generator: string, random: Random): FunctionWriter & { source: string } {
  for (;;) {
    const writer = new FunctionWriter(random);
    if (!generators[generator]!(writer) || writer.inputBytes > 1800 || writer.outputBytes > 1800) continue;
    const source = [
      'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"',
      "define void @f(ptr %in, ptr %out) {",
      "entry:",
      ...writer.lines,
      "  ret void",
      "}",
      ...writer.declarations,
      "",
    ].join("\n");
    return Object.assign(writer, { source });
  }
}
