/**
 * Random functions of vector operations, as text of LLVM's IR, for functions of several levels of features in one module.
 *
 * What two right compilers may do differently is kept out: each NaN is made a zero before it is stored or seen as bits; shift
 * amounts are below the width; floats become integers by saturation, or from values in range.
 */
import { Random } from "../support/random.js";
import { vectorBuffer as buffer, vectorLevels } from "./vector-levels.js";
import {
  bits,
  type Element,
  floats,
  integers,
  isFloat,
  isSame,
  mostBits,
  room,
  type Shape,
  suffixOf,
  typeOf,
  ValueMaker,
  wideIntegers,
  widthOf,
  words,
} from "./vector-values.js";

class FunctionMaker extends ValueMaker {
  readonly helpers: string[] = [];
  private blocks = 0;
  private depth = 0;
  private block = "entry";

  constructor(
    random: Random,
    private readonly name: string,
    private readonly level: number,
    hasHalf: boolean,
    declarations: Set<string>,
  ) {
    super(random, hasHalf, declarations);
  }

  /** A function of so many steps that stores most of what it has computed last. */
  body(): string {
    const steps = 4 + this.random.below(22);
    for (let i = 0; i < steps; i++) this.step();
    for (const value of this.pool.filter(() => !this.random.oneIn(3)).slice(-14)) this.store(value);
    return [
      ...this.helpers,
      `define void @${this.name}(ptr %in, ptr %out) noinline #${this.level} {`,
      "entry:",
      ...this.lines,
      "  ret void",
      "}",
    ].join("\n");
  }

  private shuffleMask(count: number, length: number): number[] {
    const { random } = this;
    const kind = random.below(9);
    const start = random.below(2 * count);
    const quarter = Math.max(1, count >> 2);
    return Array.from({ length }, (_, i) => {
      switch (kind) {
        case 0:
          return random.below(2 * count);
        case 1:
          return random.below(count);
        case 2:
          return (start + i) % (2 * count);
        case 3:
          return ((i >> 1) + (i % 2) * count) % (2 * count);
        case 4:
          return (i % count) + random.below(2) * count;
        case 5:
          return (16 * count - 1 - i) % count;
        case 6:
          return ((i >> 1) + (i % 2) * count + (count >> 1)) % (2 * count);
        case 7:
          return (Math.floor(i / quarter) * quarter + ((i * 3 + start) % quarter)) % count;
        default:
          return (i ^ (start & (count - 1))) % count;
      }
    });
  }

  private step(): void {
    const steps = [
      () => this.integerBinary(),
      () => this.integerBinary(),
      () => this.floatBinary(),
      () => this.floatBinary(),
      () => this.shift(),
      () => void this.compare(this.anyVector()),
      () => void this.compare(this.anyVector()),
      () => this.select(),
      () => this.select(),
      () => this.maskOperation(),
      () => this.extendMask(),
      () => this.shuffle(),
      () => this.shuffle(),
      () => this.shuffle(),
      () => this.lane(),
      () => this.chain(),
      () => this.resize(),
      () => this.clamp(),
      () => this.productOfExtended(),
      () => this.toFloat(),
      () => this.saturate(),
      () => this.toIntInRange(),
      () => this.resizeFloat(),
      () => this.integerUnary(),
      () => this.integerIntrinsic(),
      () => this.floatIntrinsic(),
      () => this.reinterpret(),
      () => this.reduce(),
      () => this.maskedLoad(),
      () => this.maskedStore(),
      () => this.diamond(),
      () => this.callHelper(),
      () => this.loop(),
    ];
    this.random.pick(steps)();
  }

  private integerBinary(): void {
    const a = this.anyInt();
    const b = this.like(a.shape);
    const operation = this.random.pick(words("add sub mul and or xor"));
    this.add(a.shape, this.emit(`${operation} ${typeOf(a.shape)} ${a.text}, ${b.text}`));
  }
  private floatBinary(): void {
    const a = this.anyFloats();
    const b = this.like(a.shape);
    const type = typeOf(a.shape);
    if (this.random.oneIn(6)) {
      this.add(a.shape, this.emit(`fneg ${type} ${a.text}`));
      return;
    }
    const operation = this.random.pick(words("fadd fsub fmul fdiv"));
    this.add(a.shape, this.emit(`${operation} ${type} ${a.text}, ${b.text}`));
  }
  private shift(): void {
    const a = this.anyInt();
    const operation = this.random.pick(words("shl lshr ashr"));
    this.add(a.shape, this.emit(`${operation} ${typeOf(a.shape)} ${a.text}, ${this.amount(a.shape)}`));
  }
  private select(): void {
    const a = this.anyVector();
    const mask = this.mask(a.shape.count);
    const other = this.random.oneIn(5) ? "zeroinitializer" : this.like(a.shape).text;
    const type = typeOf(a.shape);
    this.add(
      a.shape,
      this.emit(`select ${typeOf(mask.shape)} ${mask.text}, ${type} ${a.text}, ${type} ${other}`),
    );
  }
  private maskOperation(): void {
    const { random } = this;
    const mask = this.someMask(0) ?? this.mask(random.pick([8, 16, 32, 64, 4]));
    const other = this.mask(mask.shape.count);
    const type = typeOf(mask.shape);
    if (random.oneIn(3)) {
      const third = this.mask(mask.shape.count);
      const text = `select ${type} ${mask.text}, ${type} ${other.text}, ${type} ${third.text}`;
      this.add(mask.shape, this.emit(text));
    } else {
      const operation = random.pick(words("and or xor add"));
      this.add(mask.shape, this.emit(`${operation} ${type} ${mask.text}, ${other.text}`));
    }
  }
  private extendMask(): void {
    const { random } = this;
    const mask = this.someMask(0) ?? this.mask(16);
    const { count } = mask.shape;
    const shape: Shape = { count, element: random.pick(count > 16 ? ["i8", "i16", "i32"] : integers) };
    const operation = random.pick(words("zext sext"));
    this.add(shape, this.emit(`${operation} ${typeOf(mask.shape)} ${mask.text} to ${typeOf(shape)}`));
  }
  private shuffle(): void {
    const { random } = this;
    const a = random.oneIn(5) ? (this.someMask(1) ?? this.anyVector()) : this.anyVector();
    const { count, element } = a.shape;
    if (count < 2) return;
    const b = random.oneIn(4) ? "zeroinitializer" : this.like(a.shape).text;
    const length = random.oneIn(3) ? random.pick([2, 4, 8, 16, 32, 64]) : count;
    const result: Shape = { count: length, element };
    if (widthOf(result) > mostBits) return;
    const lanes = this.shuffleMask(count, length).map((lane) => (random.oneIn(24) ? -1 : lane));
    const type = typeOf(a.shape);
    const mask = lanes.map((lane) => `i32 ${lane < 0 ? "poison" : lane}`).join(", ");
    const made = this.emit(`shufflevector ${type} ${a.text}, ${type} ${b}, <${length} x i32> <${mask}>`);
    const isDefined = lanes.map((lane) => lane >= 0);
    this.add(result, this.without(result, made, isDefined));
  }
  private lane(): void {
    const { random } = this;
    const a = this.anyVector();
    const { count, element } = a.shape;
    const type = typeOf(a.shape);
    if (random.oneIn(2)) {
      const text = `extractelement ${type} ${a.text}, i32 ${random.below(count)}`;
      this.add({ count: 0, element }, this.emit(text));
      return;
    }
    const index = random.oneIn(2)
      ? String(random.below(count))
      : this.emit(`urem i32 ${this.like({ count: 0, element: "i32" }).text}, ${count}`);
    const value = this.like({ count: 0, element });
    this.add(a.shape, this.emit(`insertelement ${type} ${a.text}, ${element} ${value.text}, i32 ${index}`));
  }
  /** Lanes put in one after the other, some twice and some never. */
  private chain(): void {
    const { random } = this;
    const shape = random.oneIn(3)
      ? this.mask(random.pick([2, 3, 4, 8, 9, 16, 32])).shape
      : this.anyShape("any");
    const { count, element } = shape;
    const type = typeOf(shape);
    const start = random.pick(["poison", this.constant(shape), this.like(shape).text]);
    const isDefined = new Array<boolean>(count).fill(start !== "poison");
    let text = start;
    const every = random.oneIn(2);
    for (let i = 0; i < (every ? count : 1 + random.below(count)); i++) {
      const at = every && !random.oneIn(5) ? i : random.below(count);
      const lane = random.oneIn(3) ? this.oneConstant(element) : this.scalar(element);
      text = this.emit(`insertelement ${type} ${text}, ${element} ${lane}, i32 ${at}`);
      isDefined[at] = true;
      if (random.oneIn(6) && isDefined.every(Boolean)) this.add(shape, text);
    }
    this.add(shape, this.without(shape, text, isDefined));
  }
  private scalar(element: Element): string {
    if (element !== "i1") return this.like({ count: 0, element }).text;
    return this.emit(`trunc i8 ${this.like({ count: 0, element: "i8" }).text} to i1`);
  }
  /** With zeros in place of what is poison, which must not be seen. */
  private without(shape: Shape, text: string, isDefined: readonly boolean[]): string {
    if (isDefined.every(Boolean)) return text;
    const type = typeOf(shape);
    const condition = `<${shape.count} x i1> <${isDefined.map((is) => `i1 ${is}`).join(", ")}>`;
    return this.emit(`select ${condition}, ${type} ${text}, ${type} zeroinitializer`);
  }
  private resize(): void {
    const a = this.anyInt();
    const element = this.random.pick(integers);
    const result: Shape = { count: a.shape.count, element };
    if (element === a.shape.element || widthOf(result) > mostBits) return;
    const operation = bits[element] < bits[a.shape.element] ? "trunc" : this.random.pick(words("zext sext"));
    this.add(result, this.emit(`${operation} ${typeOf(a.shape)} ${a.text} to ${typeOf(result)}`));
  }
  /** Held within bounds, mostly those of a narrower type, and made narrower. */
  private clamp(): void {
    const { random } = this;
    const [wide, narrow] = random.pick([
      ["i32", "i8"],
      ["i32", "i16"],
      ["i16", "i8"],
      ["i64", "i32"],
    ] as const);
    const count = random.pick([4, 8, 16, 32]);
    const shape: Shape = { count, element: wide };
    if (widthOf(shape) > mostBits) return;
    const type = typeOf(shape);
    const signed = random.oneIn(2);
    const top = (1n << BigInt(bits[narrow] - (signed ? 1 : 0))) - (random.oneIn(6) ? 0n : 1n);
    const bottom = signed ? -(1n << BigInt(bits[narrow] - 1)) : random.oneIn(6) ? 1n : 0n;
    const upper = random.oneIn(2) && !signed ? "umin" : "smin";
    const bounds: [string, bigint][] = [
      ["smax", bottom],
      [upper, top],
    ];
    if (random.oneIn(3)) bounds.reverse();
    let { text } = this.like(shape);
    for (const [name, bound] of bounds)
      text = this.call(`llvm.${name}.${suffixOf(shape)}`, shape, [
        [type, text],
        [type, this.constant(shape, String(bound))],
      ]);
    if (random.oneIn(4)) this.add(shape, text);
    const result: Shape = { count, element: narrow };
    this.add(result, this.emit(`trunc ${type} ${text} to ${typeOf(result)}`));
  }
  /** Of narrower lanes, or of one in all lanes. */
  private productOfExtended(): void {
    const { random } = this;
    const wide: Shape = { count: random.pick([4, 8, 16]), element: random.pick(wideIntegers) };
    if (widthOf(wide) > mostBits) return;
    const factor = (): string => {
      const narrow: Shape = { count: wide.count, element: random.pick(["i8", "i16"]) };
      const type = typeOf(narrow);
      let { text } = this.like(narrow);
      if (random.oneIn(3)) {
        const scalar = this.like({ count: 0, element: narrow.element }).text;
        const one = this.emit(`insertelement ${type} poison, ${narrow.element} ${scalar}, i32 0`);
        text = this.emit(
          `shufflevector ${type} ${one}, ${type} poison, <${wide.count} x i32> zeroinitializer`,
        );
      }
      return this.emit(`${random.pick(words("zext sext"))} ${type} ${text} to ${typeOf(wide)}`);
    };
    const [a, b] = [factor(), factor()];
    this.add(wide, this.emit(`mul ${typeOf(wide)} ${a}, ${b}`));
  }
  private toFloat(): void {
    const a = this.anyInt();
    const result: Shape = { count: a.shape.count, element: this.anyFloat(8) };
    if (widthOf(result) > mostBits) return;
    const operation = this.random.pick(words("sitofp uitofp"));
    this.add(result, this.emit(`${operation} ${typeOf(a.shape)} ${a.text} to ${typeOf(result)}`));
  }
  private saturate(): void {
    const a = this.anyFloats();
    const result: Shape = { count: a.shape.count, element: this.random.pick(integers) };
    if (widthOf(result) > mostBits) return;
    const name = `llvm.fpto${this.random.pick(words("si ui"))}.sat.${suffixOf(result)}.${suffixOf(a.shape)}`;
    this.add(result, this.call(name, result, [[typeOf(a.shape), a.text]]));
  }
  private toIntInRange(): void {
    const { random } = this;
    const count = random.pick([2, 4, 8, 16, 16, 32]);
    const a = this.load({ count, element: random.pick(["i8", "i16"]) });
    const middle: Shape = { count, element: random.pick(floats) };
    if (widthOf(middle) > mostBits) return;
    const sign = random.pick(words("u s"));
    const float = this.emit(`${sign}itofp ${typeOf(a.shape)} ${a.text} to ${typeOf(middle)}`);
    const result: Shape = { count, element: random.pick([a.shape.element, ...wideIntegers]) };
    if (widthOf(result) > mostBits) return;
    this.add(result, this.emit(`fpto${sign}i ${typeOf(middle)} ${float} to ${typeOf(result)}`));
  }
  private resizeFloat(): void {
    const a = this.anyFloats();
    const element = this.anyFloat(3);
    const result: Shape = { count: a.shape.count, element };
    const more = bits[element] - bits[a.shape.element];
    if (more === 0 || widthOf(result) > mostBits) return;
    const operation = more > 0 ? "fpext" : "fptrunc";
    this.add(result, this.emit(`${operation} ${typeOf(a.shape)} ${a.text} to ${typeOf(result)}`));
  }
  private integerUnary(): void {
    const a = this.anyInt();
    const name = this.random.pick(words("ctpop ctlz cttz bswap bitreverse abs"));
    if (name === "bswap" && a.shape.element === "i8") return;
    const args: [string, string][] = [[typeOf(a.shape), a.text]];
    if (/ct.z|abs/.test(name)) args.push(["i1", "false"]);
    this.add(a.shape, this.call(`llvm.${name}.${suffixOf(a.shape)}`, a.shape, args));
  }
  private integerIntrinsic(): void {
    const { random } = this;
    const a = this.anyInt();
    const b = this.like(a.shape);
    const type = typeOf(a.shape);
    const name = random.pick(words("smax smin umax umin sadd.sat uadd.sat ssub.sat usub.sat fshl fshr"));
    const isFunnel = name.startsWith("f");
    const args: [string, string][] = [
      [type, a.text],
      [type, isFunnel && random.oneIn(2) ? a.text : b.text],
    ];
    if (isFunnel) args.push([type, random.oneIn(2) ? this.amount(a.shape) : this.like(a.shape).text]);
    this.add(a.shape, this.call(`llvm.${name}.${suffixOf(a.shape)}`, a.shape, args));
  }
  private floatIntrinsic(): void {
    const a = this.anyFloats();
    const type = typeOf(a.shape);
    const name = this.random.pick(
      words("fabs copysign sqrt minimum maximum floor ceil trunc rint nearbyint roundeven fma"),
    );
    if (name === "fma" && a.shape.element === "half") return;
    const args: [string, string][] = [[type, a.text]];
    if (/copysign|^m|fma/.test(name)) args.push([type, this.clean(this.like(a.shape)).text]);
    if (name === "fma") args.push([type, this.like(a.shape).text]);
    this.add(a.shape, this.call(`llvm.${name}.${suffixOf(a.shape)}`, a.shape, args));
  }
  private reinterpret(): void {
    const a = this.clean(this.anyVector());
    const width = widthOf(a.shape);
    const all: readonly Element[] = [...integers, ...floats, ...(this.hasHalf ? (["half"] as const) : [])];
    const element = this.random.pick(all.filter((e) => width % bits[e] === 0 && width / bits[e] <= 128));
    if (element === a.shape.element) return;
    const result: Shape = { count: width / bits[element], element };
    this.add(result, this.emit(`bitcast ${typeOf(a.shape)} ${a.text} to ${typeOf(result)}`));
  }
  private reduce(): void {
    const { random } = this;
    if (random.oneIn(2)) {
      const a = this.anyInt();
      const { count, element } = a.shape;
      if ((count & (count - 1)) !== 0) return;
      const name = random.pick(words("add mul and or xor smax smin umax umin"));
      const result: Shape = { count: 0, element };
      const args: [string, string][] = [[typeOf(a.shape), a.text]];
      this.add(result, this.call(`llvm.vector.reduce.${name}.${suffixOf(a.shape)}`, result, args));
      return;
    }
    const mask = this.someMask(1) ?? this.mask(16);
    const bit: Shape = { count: 0, element: "i1" };
    const name = `llvm.vector.reduce.${random.pick(words("and or xor add"))}.${suffixOf(mask.shape)}`;
    const found = this.call(name, bit, [[typeOf(mask.shape), mask.text]]);
    this.add({ count: 0, element: "i8" }, this.emit(`zext i1 ${found} to i8`));
  }
  private maskedLoad(): void {
    const shape = this.anyShape("any");
    const mask = this.mask(shape.count);
    const pointer = this.at("in", room(shape));
    const rest = this.random.oneIn(3) ? "zeroinitializer" : this.like(shape).text;
    const text = this.call(`llvm.masked.load.${suffixOf(shape)}.p0`, shape, [
      ["ptr", pointer],
      ["i32", "1"],
      [typeOf(mask.shape), mask.text],
      [typeOf(shape), rest],
    ]);
    this.add(shape, text);
  }
  private maskedStore(): void {
    const a = this.clean(this.anyVector());
    const mask = this.mask(a.shape.count);
    const type = typeOf(a.shape);
    const pointer = this.at("out", room(a.shape));
    const name = `llvm.masked.store.${suffixOf(a.shape)}.p0`;
    this.declarations.add(`declare void @${name}(${type}, ptr, i32, ${typeOf(mask.shape)})`);
    const args = `${type} ${a.text}, ptr ${pointer}, i32 1, ${typeOf(mask.shape)} ${mask.text}`;
    this.lines.push(`  call void @${name}(${args})`);
  }

  /** Up to three steps in a block; a value of the shape that is there at its end. */
  private arm(label: string, shape: Shape, join: string): readonly [value: string, block: string] {
    this.lines.push(`${label}:`);
    this.block = label;
    const many = this.random.below(4);
    if (this.depth < 3) for (let i = 0; i < many; i++) this.step();
    const value = this.random.pick(this.pool.filter((known) => isSame(known.shape, shape))).text;
    this.lines.push(`  br label %${join}`);
    return [value, this.block];
  }
  private diamond(): void {
    if (this.pool.length === 0) return;
    const condition = this.emit(`trunc i8 ${this.load({ count: 0, element: "i8" }).text} to i1`);
    const { shape } = this.random.pick(this.pool.slice(-6));
    const [yes, no, join] = ["yes", "no", "join"].map((name) => `${name}${this.blocks}`) as [
      string,
      string,
      string,
    ];
    this.blocks++;
    const before = [...this.pool];
    this.lines.push(`  br i1 ${condition}, label %${yes}, label %${no}`);
    this.depth++;
    const first = this.arm(yes, shape, join);
    this.pool = [...before];
    const second = this.arm(no, shape, join);
    this.depth--;
    this.pool = before;
    this.lines.push(`${join}:`);
    this.block = join;
    const pair = [first, second].map(([value, block]) => `[ ${value}, %${block} ]`).join(", ");
    this.add(shape, this.emit(`phi ${typeOf(shape)} ${pair}`));
  }
  private loop(): void {
    if (this.depth > 1 || this.pool.length === 0) return;
    const { shape, text } = this.random.pick(this.pool.slice(-6));
    const id = this.blocks++;
    const before = this.block;
    this.lines.push(`  br label %loop${id}`, `loop${id}:`);
    const start = this.lines.length;
    this.block = `loop${id}`;
    this.add(shape, `%p${id}`);
    this.depth++;
    const many = this.random.below(5);
    for (let i = 0; i < many; i++) this.step();
    this.depth--;
    const last = this.pool.filter((known) => isSame(known.shape, shape)).at(-1)!;
    const next = this.emit(`add i32 %i${id}, 1`);
    const again = this.emit(`icmp ult i32 ${next}, 3`);
    this.lines.push(`  br i1 ${again}, label %loop${id}, label %end${id}`, `end${id}:`);
    this.lines.splice(
      start,
      0,
      `  %i${id} = phi i32 [ 0, %${before} ], [ ${next}, %${this.block} ]`,
      `  %p${id} = phi ${typeOf(shape)} [ ${text}, %${before} ], [ ${last.text}, %${this.block} ]`,
    );
    this.block = `end${id}`;
  }
  /** A call of native code that changes all registers, or of a function with the same features. */
  private callHelper(): void {
    const { random } = this;
    if (random.oneIn(3)) {
      this.lines.push("  call void @opaque()");
      return;
    }
    const a = random.oneIn(4) ? this.mask(random.pick([8, 16, 32])) : this.anyVector();
    const b = random.oneIn(2) ? this.anyVector() : this.anyInt();
    const shape = (this.some(({ count }) => count > 0) ?? a).shape;
    const type = typeOf(shape);
    let body: readonly string[];
    if (isSame(shape, a.shape)) {
      const one = this.constant(shape, shape.element === "i1" ? "true" : "1");
      const code = isFloat(shape.element) ? `fadd ${type} %a, %a` : `xor ${type} %a, ${one}`;
      body = [`  %r = ${code}`, `  ret ${type} %r`];
    } else if (isSame(shape, b.shape)) body = [`  ret ${type} %b`];
    else if (shape.element === "i1") return;
    else body = [`  %r = load ${type}, ptr %q, align 1`, `  ret ${type} %r`];
    const name = `${this.name}_h${this.helpers.length}`;
    const [typeA, typeB] = [typeOf(a.shape), typeOf(b.shape)];
    const head = `define internal ${type} @${name}(${typeA} %a, ptr %q, ${typeB} %b) noinline #${this.level} {`;
    this.helpers.push([head, ...body, "}"].join("\n"));
    const pointer = this.at("in", 128);
    this.add(
      shape,
      this.emit(`call ${type} @${name}(${typeA} ${a.text}, ptr ${pointer}, ${typeB} ${b.text})`),
    );
  }
}

function vectorFunction(random: Random, name: string, level: number, declarations: Set<string>): string {
  for (;;) {
    const own = new Set<string>();
    const { hasHalf } = vectorLevels[level]!;
    const maker = new FunctionMaker(new Random(random.bits()), name, level, hasHalf, own);
    const text = maker.body();
    const isFull = maker.inputs > buffer - 256 || maker.outputs > buffer - 256;
    if (isFull || maker.outputs === 0 || maker.lines.length > 400) continue;
    for (const declaration of own) declarations.add(declaration);
    return text;
  }
}

const head = [
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"',
  'target triple = "x86_64-unknown-linux-gnu"',
  "declare void @opaque()",
];

/** A module of functions `f0` and so on, each of one of the levels (indices into `vectorLevels`). */
export function vectorModule(seed: number, functions: number, levels: readonly number[]): string {
  const random = new Random(seed);
  const declarations = new Set<string>();
  const made = Array.from({ length: functions }, (_, i) =>
    vectorFunction(random, `f${i}`, random.pick(levels), declarations),
  );
  const attributes = vectorLevels.map(
    ({ features }, i) => `attributes #${i} = { "target-features"="${features}" }`,
  );
  return [...head, ...made, ...declarations, ...attributes, ""].join("\n");
}
