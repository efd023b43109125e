/**
 * Random C++ programs about exceptions: trees of calls with throws at random depths, handlers and clean-ups that read
 * values which live across the calls, in functions of many shapes. They compute with unsigned numbers and bounded
 * doubles, so their output does not depend on the compiler; fuel bounds their run time.
 */
import { Random } from "../support/random.js";

const prelude = `extern "C" int printf(const char *, ...);
extern "C" void *memset(void *, int, unsigned long);
typedef unsigned long u64;
static u64 acc = 1, fuel;
static inline void mix(u64 x) { acc = (acc ^ x) * 0x9E3779B97F4A7C15UL + (acc >> 29); }
struct E0 { u64 v; E0(u64 x) : v(x) {} virtual ~E0() { mix(v + 1); } virtual u64 get() const { return v; } };
struct E1 : E0 { u64 w; E1(u64 x) : E0(x), w(x * 3) {} u64 get() const override { return v + w; } };
struct M { u64 m; virtual ~M() {} };
struct E2 : M, E0 { E2(u64 x) : E0(x ^ 5) { m = x; } ~E2() { mix(m); } };
struct Big { u64 a[3]; };
struct Pair { u64 x, y; };
struct Mixed { double d; u64 n; };
struct alignas(64) Wide { u64 a[8]; };
static inline double bound(double d) { return d > 1e6 || d < -1e6 ? d / 1048576.0 : d; }
static inline u64 bits(double d) { return (u64)(long)(d * 16.0); }
`;

type Kind = "u64" | "double" | "int" | "Big" | "Pair" | "Mixed";

interface Signature {
  readonly name: string;
  readonly parameters: readonly Kind[];
  readonly result: "u64" | "double" | "Big" | "Pair" | "Mixed" | "int";
  /** Never lets an exception out. */
  readonly isQuiet: boolean;
}

/** @returns the text of one program */
export function exceptionProgram(seed: number): string {
  return new ProgramWriter(new Random(seed)).run();
}

class ProgramWriter {
  private readonly functions: Signature[] = [];
  constructor(private readonly random: Random) {}

  run(): string {
    const { random } = this;
    const count = 5 + random.below(9);
    const kinds: readonly Kind[] = ["u64", "u64", "u64", "u64", "double", "int", "Big", "Pair", "Mixed"];
    for (let i = 0; i < count; i++) {
      const arity = random.oneIn(4) ? 6 + random.below(6) : 1 + random.below(4);
      this.functions.push({
        name: `f${i}`,
        parameters: Array.from({ length: arity }, () => random.pick(kinds)),
        result: random.pick(["u64", "u64", "u64", "u64", "double", "Big", "Pair", "Mixed", "int"] as const),
        isQuiet: random.oneIn(8),
      });
    }
    const linkage = this.functions.map(() =>
      random.pick([
        "static __attribute__((noinline)) ",
        "static __attribute__((noinline)) ",
        "static ",
        "__attribute__((noinline)) ",
      ]),
    );
    let text = prelude;
    this.functions.forEach((f, i) => {
      text += `${linkage[i]}${this.header(f)};\n`;
    });
    // Pointers to functions of one signature, some of which change.
    text += `static u64 plain(u64 x) { mix(x); if ((x & 15) == 9) throw E1(x); return x * 5; }\n`;
    text += `typedef u64 (*Pointer)(u64);\nstatic Pointer volatile pointer = plain;\n`;
    this.functions.forEach((f, i) => {
      text += `\n${linkage[i]}${this.header(f)} {\n${new BodyWriter(random, this.functions, i).run()}}\n`;
    });
    return `${text}\n${this.main()}`;
  }

  private header(f: Signature): string {
    const parameters = f.parameters.map((kind, i) => `${kind} p${i}`).join(", ");
    return `${f.result} ${f.name}(${parameters})${f.isQuiet ? " noexcept" : ""}`;
  }

  private main(): string {
    const { random } = this;
    let text = `int main() {\n  for (u64 i = 0; i < ${6 + random.below(20)}; i++) {\n    fuel = 300;\n`;
    const calls = 1 + random.below(3);
    for (let c = 0; c < calls; c++) {
      const f = this.functions[Math.min(c, this.functions.length - 1)]!;
      const args = f.parameters.map((kind) =>
        fromU64(kind, `(i * ${1 + random.below(50)} + ${random.below(99)})`),
      );
      text += `    try { mix(${toU64(f.result, `${f.name}(${args.join(", ")})`)}); }\n`;
      text += `    catch (const E0 &e) { mix(e.get() + 1); } catch (u64 x) { mix(x + 2); } catch (...) { mix(3); }\n`;
    }
    return `${text}    printf("%lu\\n", acc);\n  }\n}\n`;
  }
}

/** A value of the kind made of a number. */
function fromU64(kind: Kind, value: string): string {
  switch (kind) {
    case "u64":
      return `(u64)${value}`;
    case "int":
      return `(int)(${value} & 0xffff)`;
    case "double":
      return `(double)(long)(${value} & 1023)`;
    case "Big":
      return `Big{{${value}, 2, ${value} >> 3}}`;
    case "Pair":
      return `Pair{${value}, 7}`;
    case "Mixed":
      return `Mixed{(double)(long)(${value} & 255), 11}`;
  }
}

function toU64(kind: Kind, value: string): string {
  switch (kind) {
    case "u64":
    case "int":
      return `(u64)${value}`;
    case "double":
      return `bits(${value})`;
    case "Big":
      return `${value}.a[0]`;
    case "Pair":
      return `${value}.x`;
    case "Mixed":
      return `${value}.n`;
  }
}

class BodyWriter {
  private text = "";
  private indent = 1;
  private fresh = 0;
  private inHandler = 0;
  private loops = 0;
  private readonly numbers: string[] = [];
  private readonly doubles: string[] = [];
  private readonly self: Signature;

  constructor(
    private readonly random: Random,
    private readonly functions: readonly Signature[],
    private readonly index: number,
  ) {
    this.self = functions[index]!;
  }

  private line(text: string): void {
    this.text += `${"  ".repeat(this.indent)}${text}\n`;
  }

  run(): string {
    const { random, self } = this;
    self.parameters.forEach((kind, i) => {
      if (kind === "u64") this.numbers.push(`p${i}`);
      else if (kind === "double") this.doubles.push(`p${i}`);
      else if (kind === "Mixed") this.doubles.push(`p${i}.d`);
      else if (kind === "Pair") this.numbers.push(`p${i}.x`, `p${i}.y`);
      else if (kind === "Big") this.numbers.push(`p${i}.a[${random.below(3)}]`);
    });
    const seed = self.parameters.map((kind, i) => toU64(kind, `p${i}`)).join(" + ");
    this.line(`u64 n0 = ${seed};`);
    this.numbers.push("n0");
    const stop = this.result("n0");
    this.line(`if (fuel == 0) return ${stop};`);
    this.line("fuel--;");
    const locals = 1 + random.below(9);
    for (let i = 0; i < locals; i++) {
      const init = this.number();
      this.line(`u64 n${i + 1} = ${init};`);
      this.numbers.push(`n${i + 1}`);
    }
    for (let i = random.below(5); i > 0; i--) {
      const init = this.double();
      this.line(`double d${i} = ${init};`);
      this.doubles.push(`d${i}`);
    }
    if (random.oneIn(7)) {
      this.line("Wide wide = {};");
      this.line("wide.a[3] = n0; mix((u64)&wide & 63);");
      this.numbers.push("wide.a[3]", "wide.a[5]");
    }
    if (random.oneIn(7)) {
      this.line("u64 *room = (u64 *)__builtin_alloca((n0 & 31) * 8 + 16);");
      this.line("room[0] = n0; room[1] = 3;");
      this.numbers.push("room[0]", "room[1]");
    }
    if (self.isQuiet) {
      this.line("try {");
      this.indent++;
    }
    this.statements(3 + random.below(6), 3);
    if (self.isQuiet) {
      this.indent--;
      this.line("} catch (...) { mix(n0 + 77); }");
    }
    const sum = [...this.numbers, ...this.doubles.map((d) => `bits(${d})`)].map(
      (v, i) => `${v} * ${2 * i + 1}`,
    );
    this.line(`mix(${sum.join(" + ")});`);
    this.line(`return ${this.result(this.random.pick(this.numbers))};`);
    return this.text;
  }

  private result(value: string): string {
    return fromU64(this.self.result, value);
  }

  private number(): string {
    const { random } = this;
    const a = random.pick(this.numbers);
    const b = random.oneIn(3) ? String(1 + random.below(1000)) : random.pick(this.numbers);
    switch (random.below(8)) {
      case 0:
        return `${a} * ${b}`;
      case 1:
        return `${a} ^ ${b}`;
      case 2:
        return `(${a} >> ${1 + random.below(20)}) + ${b}`;
      case 3:
        return `(${a} & ${b}) | ${1 + random.below(255)}`;
      case 4:
        return this.doubles.length > 0 ? `bits(${random.pick(this.doubles)}) + ${a}` : `~${a}`;
      default:
        return random.chance(0.5) ? `${a} + ${b}` : `${a} - ${b}`;
    }
  }

  private double(): string {
    const { random } = this;
    const a =
      this.doubles.length > 0 && !random.oneIn(3)
        ? random.pick(this.doubles)
        : `(double)(long)(${random.pick(this.numbers)} & 127)`;
    return `bound(${a} * ${random.pick(["0.5", "1.25", "3.0"])} + ${random.below(9)}.0)`;
  }

  private condition(): string {
    const mask = this.random.pick([1, 3, 3, 7, 15]);
    return `(${this.random.pick(this.numbers)} & ${mask}) == ${this.random.below(mask + 1)}`;
  }

  /** A call of another function as a number. */
  private call(): string {
    const { random, functions, index } = this;
    if (random.oneIn(8)) return `pointer(${this.number()})`;
    // Mostly down the tree, sometimes back up: fuel ends that.
    const callee = random.oneIn(10)
      ? random.pick(functions)
      : functions[
          Math.min(functions.length - 1, index + 1 + random.below(Math.max(1, functions.length - index - 1)))
        ]!;
    const args = callee.parameters.map((kind) =>
      kind === "double" ? this.double() : fromU64(kind, `(${this.number()})`),
    );
    return toU64(callee.result, `${callee.name}(${args.join(", ")})`);
  }

  private statements(count: number, depth: number): void {
    const numbers = this.numbers.length;
    const doubles = this.doubles.length;
    for (let i = 0; i < count; i++) this.statement(depth);
    // What a block declares ends with it.
    this.numbers.length = numbers;
    this.doubles.length = doubles;
  }

  private target(): string {
    return this.random.pick(this.numbers);
  }

  private statement(depth: number): void {
    const { random } = this;
    const roll = random.below(100);
    if (roll < 30) this.line(`${this.target()} ${random.pick(["+=", "^=", "-=", "="])} ${this.call()};`);
    else if (roll < 42) this.line(`${this.target()} = ${this.number()};`);
    else if (roll < 48 && this.doubles.length > 0)
      this.line(`${random.pick(this.doubles)} = ${this.double()};`);
    else if (roll < 58) this.throwing();
    else if (roll < 66) this.object();
    else if (roll < 70 && this.inHandler > 0 && !this.self.isQuiet)
      this.line(`if (${this.condition()}) throw;`);
    else if (depth === 0) this.line(`mix(${this.number()});`);
    else if (roll < 84) this.attempt(depth - 1);
    else if (roll < 92) {
      this.line(`if (${this.condition()}) {`);
      this.block(depth - 1);
      if (random.chance(0.5)) {
        this.line("} else {");
        this.block(depth - 1);
      }
      this.line("}");
    } else if (this.loops < 2) {
      const i = `i${this.fresh++}`;
      this.line(`for (u64 ${i} = 0; ${i} < ${2 + random.below(4)}; ${i}++) {`);
      this.loops++;
      this.numbers.push(i);
      // The counter is read only.
      const at = this.numbers.length - 1;
      this.indent++;
      const keep = this.numbers.splice(at, 1);
      this.line(`u64 c${i} = ${keep[0]} * 3;`);
      this.numbers.push(`c${i}`);
      this.indent--;
      this.block(depth - 1);
      this.numbers.splice(this.numbers.indexOf(`c${i}`), 1);
      this.loops--;
      this.line("}");
    } else this.line(`mix(${this.number()});`);
  }

  private block(depth: number): void {
    this.indent++;
    this.statements(1 + this.random.below(4), depth);
    this.indent--;
  }

  private throwing(): void {
    const value = this.number();
    const thrown = this.random.pick([
      `E0(${value})`,
      `E1(${value})`,
      `E2(${value})`,
      `(u64)(${value})`,
      `(int)(${value} & 0xff)`,
      `(double)(long)(${value} & 63)`,
      `Pair{${value}, 3}`,
    ]);
    this.line(`if (${this.condition()}) throw ${thrown};`);
  }

  /** An object whose destructor reads and changes what it refers to. */
  private object(): void {
    const { random } = this;
    const id = this.fresh++;
    const count = 1 + random.below(4);
    const references = Array.from({ length: count }, () => random.pick(this.numbers));
    const fields = references.map((_, i) => `u64 &r${i};`).join(" ");
    const reads = references.map((_, i) => `r${i} * ${i + 2}`).join(" + ");
    const body = random.oneIn(3) ? `r0 += ${1 + random.below(9)};` : "";
    this.line(
      `struct O${id} { ${fields} ~O${id}() { mix(${reads}); ${body} } } o${id}{${references.join(", ")}};`,
    );
    if (random.oneIn(4)) {
      const read = random.pick(this.numbers);
      this.line(
        `struct T${id} { u64 v; ~T${id}() { try { if (v & 1) throw v; } catch (u64 x) { mix(x); } } } t${id}{${read}};`,
      );
    }
  }

  private attempt(depth: number): void {
    const { random } = this;
    this.line("try {");
    this.block(depth);
    const handlers = random.pick([
      ["const E0 &e"],
      ["E1 &e", "E0 &e"],
      ["u64 x"],
      ["int x", "double y"],
      ["E2 &e", "u64 x", "..."],
      ["..."],
      ["M &m", "..."],
      ["Pair q", "const E0 &e", "double y"],
      ["E0 e"],
    ]);
    for (const handler of handlers) {
      this.line(`} catch (${handler}) {`);
      this.indent++;
      const [, name] = /(\w)$/.exec(handler) ?? [];
      const read = { e: "e.get()", x: "(u64)x", y: "bits(y)", m: "m.m", q: "q.x" }[name ?? ""] ?? "5";
      this.line(`${this.target()} += ${read};`);
      this.indent--;
      this.inHandler++;
      this.block(random.oneIn(3) ? Math.max(0, depth - 1) : 0);
      this.inHandler--;
    }
    this.line("}");
  }
}
