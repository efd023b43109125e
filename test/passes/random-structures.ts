/**
 * Random functions about local variables that are accessed as many things: parts of several sizes, vectors of which lanes
 * may be poison, copies among variables and memory of the arguments, overlapping ones within a variable, and fills.
 *
 * Each variable is filled first. Little else is done: what is read goes where it is seen, on several ways of control. Where lanes
 * are poison nothing is copied: a copy in wide loads and stores, which LLVM takes for right, too, spreads what bytes are poison.
 */
import type { Random } from "../support/random.js";

const scalars = ["i8", "i16", "i32", "i64", "i32", "i64", "i24", "i128"] as const;
const vectors = [
  "<2 x i32>",
  "<4 x i16>",
  "<2 x i16>",
  "<8 x i8>",
  "<4 x i8>",
  "<2 x i64>",
  "<4 x i32>",
] as const;

const prelude = `
declare void @use(i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
`;

const bitsOf = (type: string): number => {
  const vector = /^<(\d+) x i(\d+)>$/.exec(type);
  return vector === null ? Number(type.slice(1)) : Number(vector[1]) * Number(vector[2]);
};
const laneOf = (type: string): { count: number; element: string } => {
  const [, count, element] = /^<(\d+) x (i\d+)>$/.exec(type)!;
  return { count: Number(count), element: element! };
};

class Writer {
  private readonly lines: string[] = [];
  private names = 0;
  private labels = 0;
  private readonly variables: string[] = [];
  private readonly bytes: number;
  private readonly hasPoison: boolean;
  /** Where results go, one after the other. */
  private seen = 0;

  constructor(private readonly random: Random) {
    this.bytes = random.pick([8, 16, 16, 24]);
    this.hasPoison = random.chance(0.5);
  }

  module(): string {
    const count = 1 + this.random.below(3);
    for (let i = 0; i < count; i++) {
      const name = this.emit(`alloca [${this.bytes} x i8], align 8`);
      this.line(
        this.random.chance(0.5)
          ? `call void @llvm.memset.p0.i64(ptr ${name}, i8 ${this.random.below(3)}, i64 ${this.bytes}, i1 false)`
          : `call void @llvm.memcpy.p0.p0.i64(ptr ${name}, ptr %p, i64 ${this.bytes}, i1 false)`,
      );
      this.variables.push(name);
    }
    const steps = 3 + this.random.below(9);
    for (let i = 0; i < steps; i++) this.step(true);
    for (let i = 0; i < 3; i++) this.read();
    return `${prelude}define i32 @f(i32 %a, i64 %b, i1 %c, ptr %p, ptr %q) {\n${this.lines.join("\n")}\n  ret i32 %a\n}\n`;
  }

  private line(text: string): void {
    this.lines.push(`  ${text}`);
  }
  private emit(code: string): string {
    const name = `%v${this.names++}`;
    this.line(`${name} = ${code}`);
    return name;
  }
  private at(base: string, offset: number): string {
    return offset === 0 ? base : this.emit(`getelementptr i8, ptr ${base}, i64 ${offset}`);
  }
  /** A place of so many bytes in a variable. */
  private place(size: number): string {
    const step = this.random.pick([1, 2, 4, 8, 8]);
    const most = Math.floor((this.bytes - size) / step);
    return this.at(this.random.pick(this.variables), step * this.random.below(most + 1));
  }
  private type(): string {
    const type = this.random.chance(0.6) ? this.random.pick(scalars) : this.random.pick(vectors);
    return bitsOf(type) / 8 <= this.bytes ? type : this.type();
  }

  private step(mayBranch: boolean): void {
    switch (this.random.below(mayBranch ? 12 : 9)) {
      case 0:
      case 1:
      case 2:
        return this.write();
      case 3:
      case 4:
        return this.read();
      case 5:
      case 6:
        return this.hasPoison ? this.write() : this.copy();
      case 7: {
        const size = this.random.pick([2, 4, 8, this.bytes]);
        const byte = this.random.pick([0, 0, 255, 3]);
        return this.line(
          `call void @llvm.memset.p0.i64(ptr ${this.place(size)}, i8 ${byte}, i64 ${size}, i1 false)`,
        );
      }
      case 8: {
        // A part goes from one place to another.
        const type = this.type();
        const value = this.emit(`load ${type}, ptr ${this.place(bitsOf(type) / 8)}, align 1`);
        return this.line(`store ${type} ${value}, ptr ${this.place(bitsOf(type) / 8)}, align 1`);
      }
      case 9:
        return this.loop();
      default:
        return this.conditional();
    }
  }

  private value(type: string): string {
    if (!type.startsWith("<")) {
      if (this.random.chance(0.3)) return type === "i8" ? "7" : String(this.random.below(100));
      if (type === "i64") return "%b";
      if (type === "i32") return "%a";
      return this.emit(`${bitsOf(type) > 64 ? "zext" : "trunc"} i64 %b to ${type}`);
    }
    const { count, element } = laneOf(type);
    const known = Array.from(
      { length: count },
      (_, i) => `${element} ${this.hasPoison && this.random.chance(0.4) ? "poison" : i + 1}`,
    );
    let vector = this.random.pick([this.hasPoison ? "poison" : "zeroinitializer", `<${known.join(", ")}>`]);
    for (let i = 0; i < count; i++)
      if (this.random.chance(0.4))
        vector = this.emit(`insertelement ${type} ${vector}, ${element} ${this.value(element)}, i32 ${i}`);
    return vector;
  }
  private write(): void {
    const type = this.type();
    this.line(`store ${type} ${this.value(type)}, ptr ${this.place(bitsOf(type) / 8)}, align 1`);
  }
  /** What is read goes to memory, a vector's lane alone, too. */
  private read(): void {
    let type = this.type();
    let value = this.emit(`load ${type}, ptr ${this.place(bitsOf(type) / 8)}, align 1`);
    if (type.startsWith("<") && this.random.chance(0.5)) {
      const { count, element } = laneOf(type);
      value = this.emit(`extractelement ${type} ${value}, i32 ${this.random.below(count)}`);
      type = element;
    }
    this.line(`store ${type} ${value}, ptr ${this.at("%q", 16 * this.seen++)}, align 1`);
  }
  private copy(): void {
    const size = this.random.pick([this.bytes, this.bytes, 1, 2, 4, 8, 8, 12]);
    if (size > this.bytes) return this.copy();
    const here = this.place(size);
    const there = this.random.chance(0.5) ? this.place(size) : this.at("%p", 8 * this.random.below(3));
    const [to, from] = this.random.chance(0.5) ? [here, there] : [there, here];
    this.line(`call void @llvm.memmove.p0.p0.i64(ptr ${to}, ptr ${from}, i64 ${size}, i1 false)`);
  }

  private label(): string {
    return `l${this.labels++}`;
  }
  private steps(): void {
    for (let i = this.random.below(3); i >= 0; i--) this.step(false);
  }
  private conditional(): void {
    const [then, end] = [this.label(), this.label()];
    this.line(`br i1 %c, label %${then}, label %${end}`);
    this.lines.push(`${then}:`);
    this.steps();
    this.line(`br label %${end}`);
    this.lines.push(`${end}:`);
  }
  /** Once, or twice. */
  private loop(): void {
    const [head, body, end] = [this.label(), this.label(), this.label()];
    const count = this.emit("alloca i1");
    this.line(`store i1 false, ptr ${count}`);
    this.line(`br label %${head}`);
    this.lines.push(`${head}:`);
    this.steps();
    const isAgain = this.emit(`load i1, ptr ${count}`);
    this.line(`store i1 true, ptr ${count}`);
    this.line(`br i1 ${isAgain}, label %${end}, label %${body}`);
    this.lines.push(`${body}:`);
    this.steps();
    this.line(`br i1 %c, label %${head}, label %${end}`);
    this.lines.push(`${end}:`);
  }
}

export const randomStructureFunction = (random: Random): string => new Writer(random).module();
