/** Values of random functions of vector operations (vector-programs.ts): shapes, constants, loads, comparisons. */
import type { Random } from "../support/random.js";

export type Element = "i1" | "i8" | "i16" | "i32" | "i64" | "half" | "float" | "double";
export interface Shape {
  /** 0: a scalar. */
  readonly count: number;
  readonly element: Element;
}
export interface Known {
  readonly shape: Shape;
  readonly text: string;
}

export const bits: Readonly<Record<Element, number>> = {
  i1: 1,
  i8: 8,
  i16: 16,
  i32: 32,
  i64: 64,
  half: 16,
  float: 32,
  double: 64,
};
export const suffixes: Readonly<Partial<Record<Element, string>>> = {
  half: "f16",
  float: "f32",
  double: "f64",
};
export const integers = ["i8", "i16", "i32", "i64"] as const;
export const wideIntegers = ["i32", "i64"] as const;
export const floats = ["float", "double"] as const;

export const isFloat = (e: Element): boolean => e in suffixes;
export const typeOf = ({ count, element }: Shape): string =>
  count === 0 ? element : `<${count} x ${element}>`;
export const suffixOf = ({ count, element }: Shape): string =>
  `${count === 0 ? "" : `v${count}`}${suffixes[element] ?? element}`;
export const isSame = (a: Shape, b: Shape): boolean => a.count === b.count && a.element === b.element;
export const widthOf = (s: Shape): number => (s.count || 1) * bits[s.element];
/** Bytes of memory, a multiple of 16. */
export const room = (s: Shape): number => Math.ceil(widthOf(s) / 128) * 16;
export const words = (text: string): readonly string[] => text.split(" ");

export const mostBits = 1024;
export const halfConstants = ["0xH3C00", "0xHC000", "0xH0000"];
export const floatConstants = ["1.0", "-2.5", "0.0", "1024.0", "-0.0"];

/** What steps of a random function are made of: values, loads and stores. */
export class ValueMaker {
  readonly lines: string[] = [];
  /** Bytes of the buffers that are used. */
  inputs = 0;
  outputs = 0;
  protected pool: Known[] = [];
  private names = 0;

  constructor(
    protected readonly random: Random,
    protected readonly hasHalf: boolean,
    protected readonly declarations: Set<string>,
  ) {}

  protected emit(code: string): string {
    const name = `%t${this.names++}`;
    this.lines.push(`  ${name} = ${code}`);
    return name;
  }
  protected add(shape: Shape, text: string): Known {
    const known = { shape, text };
    this.pool.push(known);
    return known;
  }
  protected call(
    name: string,
    result: Shape,
    args: readonly (readonly [type: string, value: string])[],
  ): string {
    const type = typeOf(result);
    this.declarations.add(`declare ${type} @${name}(${args.map((a) => a[0]).join(", ")})`);
    return this.emit(`call ${type} @${name}(${args.map((a) => a.join(" ")).join(", ")})`);
  }
  protected at(pointer: "in" | "out", bytes: number): string {
    const offset = pointer === "in" ? this.inputs : this.outputs;
    if (pointer === "in") this.inputs += bytes;
    else this.outputs += bytes;
    return this.emit(`getelementptr i8, ptr %${pointer}, i64 ${offset}`);
  }
  protected anyFloat(oneIn: number): Element {
    return this.hasHalf && this.random.oneIn(oneIn) ? "half" : this.random.pick(floats);
  }

  protected anyShape(kind: "float" | "int" | "any"): Shape {
    const { random } = this;
    const element =
      kind === "float"
        ? this.anyFloat(8)
        : kind === "int"
          ? random.pick(integers)
          : random.pick([...integers, ...floats]);
    if (random.oneIn(12)) return { count: random.pick([2, 3, 4, 5, 6, 7, 12, 24, 33]), element };
    const width = random.pick([512, 512, 512, 1024, 256, 128, 128]);
    return { count: Math.min(64, width / bits[element]), element };
  }

  protected load(shape: Shape): Known {
    if (shape.element === "i1") {
      const bytes: Shape = { count: shape.count, element: "i8" };
      const text = this.emit(`trunc ${typeOf(bytes)} ${this.load(bytes).text} to ${typeOf(shape)}`);
      return { shape, text };
    }
    const pointer = this.at("in", room(shape));
    return this.add(
      shape,
      this.emit(`load ${typeOf(shape)}, ptr ${pointer}, align ${this.random.pick([1, 1, 16])}`),
    );
  }
  protected some(fits: (shape: Shape) => boolean): Known | null {
    const found = this.pool.filter(({ shape }) => fits(shape));
    return found.length > 0 && !this.random.oneIn(10) ? this.random.pick(found.slice(-6)) : null;
  }
  protected like(shape: Shape): Known {
    const found = this.pool.filter((known) => isSame(known.shape, shape));
    if (found.length > 0 && !this.random.oneIn(6)) return this.random.pick(found);
    if (this.random.oneIn(4) && shape.count > 0) return { shape, text: this.constant(shape) };
    return this.load(shape);
  }
  protected anyInt(): Known {
    return (
      this.some(({ count, element }) => count > 0 && !isFloat(element) && element !== "i1") ??
      this.load(this.anyShape("int"))
    );
  }
  protected anyFloats(): Known {
    return this.some((s) => s.count > 0 && isFloat(s.element)) ?? this.load(this.anyShape("float"));
  }
  protected anyVector(): Known {
    return this.some((s) => s.count > 0 && s.element !== "i1") ?? this.load(this.anyShape("any"));
  }
  protected someMask(least: number): Known | null {
    return this.some((s) => s.element === "i1" && s.count > least);
  }

  protected oneConstant(element: Element): string {
    const { random } = this;
    if (element === "i1") return String(random.oneIn(2));
    if (isFloat(element)) return random.pick(element === "half" ? halfConstants : floatConstants);
    const width = bits[element];
    const top = 1n << BigInt(width - 1);
    const value = random.pick([0n, 1n, -1n, 2n, top - 1n, -top, BigInt(random.below(1 << 30)), 255n, 128n]);
    return String(BigInt.asIntN(width, value));
  }
  protected constant(shape: Shape, value?: string): string {
    const one = (): string => value ?? this.oneConstant(shape.element);
    if (shape.count === 0) return one();
    const same = this.random.oneIn(2) ? one() : null;
    const lanes = Array.from({ length: shape.count }, () => `${shape.element} ${same ?? one()}`);
    return `<${lanes.join(", ")}>`;
  }

  /** With zeros in place of NaNs. */
  protected clean(value: Known): Known {
    const { shape, text } = value;
    if (!isFloat(shape.element)) return value;
    const type = typeOf(shape);
    const isUnordered = this.emit(`fcmp uno ${type} ${text}, ${text}`);
    const condition = typeOf({ count: shape.count, element: "i1" });
    const zero = shape.count > 0 ? "zeroinitializer" : shape.element === "half" ? "0xH0000" : "0.0";
    return { shape, text: this.emit(`select ${condition} ${isUnordered}, ${type} ${zero}, ${type} ${text}`) };
  }

  protected mask(count: number): Known {
    const { random } = this;
    const shape: Shape = { count, element: "i1" };
    const found = this.pool.filter((known) => isSame(known.shape, shape));
    if (found.length > 0 && !random.oneIn(4)) return random.pick(found);
    switch (random.below(4)) {
      case 0:
        return this.load(shape);
      case 1: {
        if (![8, 16, 32, 64].includes(count)) return this.load(shape);
        const word = this.load({ count: 0, element: `i${count}` as Element });
        return this.add(shape, this.emit(`bitcast i${count} ${word.text} to ${typeOf(shape)}`));
      }
      default: {
        const others = this.pool.filter(
          (known) => known.shape.count === count && known.shape.element !== "i1",
        );
        const elements: readonly Element[] =
          count <= 8
            ? ["i64", "double", "i32", "i16"]
            : count <= 16
              ? ["i32", "float", "i8", "i16"]
              : ["i8", "i16"];
        return this.compare(
          others.length > 0 ? random.pick(others) : this.load({ count, element: random.pick(elements) }),
        );
      }
    }
  }
  protected compare(a: Known): Known {
    const { random } = this;
    const b = random.oneIn(6) ? { text: "zeroinitializer" } : this.like(a.shape);
    const result: Shape = { count: a.shape.count, element: "i1" };
    const operation = isFloat(a.shape.element)
      ? `fcmp ${random.pick(words("oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une"))}`
      : `icmp ${random.pick(words("eq ne ugt uge ult ule sgt sge slt sle"))}`;
    return this.add(result, this.emit(`${operation} ${typeOf(a.shape)} ${a.text}, ${b.text}`));
  }
  /** Below the width of each lane. */
  protected amount(shape: Shape): string {
    const { random } = this;
    const by = this.like(shape);
    const width = bits[shape.element];
    const type = typeOf(shape);
    if (random.oneIn(3)) return this.constant(shape, String(random.below(width)));
    const text = this.emit(`and ${type} ${by.text}, ${this.constant(shape, String(width - 1))}`);
    if (!random.oneIn(3) || shape.count === 0) return text;
    return this.emit(`shufflevector ${type} ${text}, ${type} poison, <${shape.count} x i32> zeroinitializer`);
  }

  protected store(given: Known): void {
    const { random } = this;
    let value = given;
    const { count } = given.shape;
    if (given.shape.element === "i1") {
      const type = typeOf(given.shape);
      if ([8, 16, 32, 64].includes(count) && random.oneIn(2))
        value = {
          shape: { count: 0, element: `i${count}` as Element },
          text: this.emit(`bitcast ${type} ${given.text} to i${count}`),
        };
      else {
        const shape: Shape = { count, element: random.pick(count > 16 ? ["i8", "i16"] : integers) };
        const operation = random.pick(["zext", "sext"]);
        value = { shape, text: this.emit(`${operation} ${type} ${given.text} to ${typeOf(shape)}`) };
      }
    }
    value = this.clean(value);
    const pointer = this.at("out", room(value.shape));
    this.lines.push(`  store ${typeOf(value.shape)} ${value.text}, ptr ${pointer}, align 1`);
  }
}
