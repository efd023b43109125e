/**
 * Random C programs with many local variables, that stop at sampled places and tell there what their variables hold.
 *
 * A place has a number and comes as one of two texts. With `TELL` it prints each variable in scope, which needs no
 * debugger. Without, it is a trap that does nothing else, after which follows its number in an instruction without
 * effect; or the call of a function outside the program that traps, with the number as its argument, so that variables are
 * those of a caller. Places are passed in the same order both ways, since no compiler moves them past each other.
 * Variables have names that no other one in the program has.
 */
import { Random } from "../support/random.js";

/** A part of a variable that is compared. */
export interface Leaf {
  /** As debuggers and C spell it. */
  readonly path: string;
  readonly kind: "integer" | "float" | "double";
  /** Bytes. */
  readonly size: number;
}

export interface StopPlace {
  readonly leaves: readonly Leaf[];
  /** The variables are the caller's. */
  readonly isCall: boolean;
}

export interface VariableProgram {
  readonly text: string;
  /** By their numbers. */
  readonly places: readonly StopPlace[];
}

/** What traps outside the program, as a source of its own. */
export const outsideSource = `
__attribute__((noinline)) void stop_in_callee(int number) {
  __asm__ volatile("int3" : : "D"(number) : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
}
`;

const head = `
#include <stdint.h>
#ifdef TELL
int printf(const char *, ...);
static unsigned long long bits_of_double(double d) { unsigned long long u; __builtin_memcpy(&u, &d, 8); return u; }
static unsigned long long bits_of_float(float f) { unsigned u; __builtin_memcpy(&u, &f, 4); return u; }
#define STOP(number, ...) do { printf("%d", number); __VA_ARGS__ printf("\\n"); } while (0);
#define STOP_IN_CALLEE STOP
#define I(path) printf(" %llx", (unsigned long long)(path));
#define D(path) printf(" %llx", bits_of_double(path));
#define F(path) printf(" %llx", bits_of_float(path));
#else
void stop_in_callee(int);
#define STOP(number, ...) __asm__ volatile("int3; .byte 0x0f, 0x1f, 0x80; .long " #number : : : "memory");
#define STOP_IN_CALLEE(number, ...) stop_in_callee(number);
#endif
`;

interface Scalar {
  readonly type: string;
  readonly kind: Leaf["kind"];
  readonly size: number;
}
const scalars: readonly Scalar[] = [
  { type: "int8_t", kind: "integer", size: 1 },
  { type: "uint8_t", kind: "integer", size: 1 },
  { type: "int16_t", kind: "integer", size: 2 },
  { type: "uint16_t", kind: "integer", size: 2 },
  { type: "int32_t", kind: "integer", size: 4 },
  { type: "int32_t", kind: "integer", size: 4 },
  { type: "uint32_t", kind: "integer", size: 4 },
  { type: "int64_t", kind: "integer", size: 8 },
  { type: "uint64_t", kind: "integer", size: 8 },
  { type: "_Bool", kind: "integer", size: 1 },
  { type: "float", kind: "float", size: 4 },
  { type: "double", kind: "double", size: 8 },
];

interface Struct {
  readonly name: string;
  readonly fields: readonly Scalar[];
}

/** A variable in scope. */
interface Variable {
  readonly name: string;
  readonly leaves: readonly (Leaf & { readonly type: string })[];
  readonly struct: Struct | null;
  /** Nothing but its own loop changes it. */
  readonly isCounter: boolean;
}

interface Callee {
  readonly name: string;
  readonly params: readonly (Scalar | Struct | "pointer")[];
}

const isStruct = (type: Scalar | Struct): type is Struct => "fields" in type;

class ProgramMaker {
  private readonly random: Random;
  private readonly structs: Struct[] = [];
  private readonly callees: Callee[] = [];
  private readonly places: StopPlace[] = [];
  private readonly globals: Variable[] = [];
  private names = 0;
  private scopes: Variable[][] = [];
  private out: string[] = [];
  private depth = 0;
  /** Calls in the function, which multiply. */
  private calls = 0;
  private isInLoop = false;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  make(): VariableProgram {
    const { random } = this;
    const parts: string[] = [head, "volatile int64_t input[8] = {3, -7, 100000, 12, 255, 1, -1, 77};\n"];
    for (let s = 0; s < 3; s++) {
      const fields = Array.from({ length: 2 + random.below(3) }, () => random.pick(scalars));
      const struct: Struct = { name: `S${s}`, fields };
      this.structs.push(struct);
      parts.push(`struct S${s} { ${fields.map(({ type }, f) => `${type} f${f};`).join(" ")} };\n`);
    }
    for (let g = 0; g < 4; g++) {
      const scalar = random.pick(scalars.filter(({ kind }) => kind === "integer"));
      this.globals.push(this.variable(`g${g}`, scalar));
      parts.push(`static ${scalar.type} g${g} = ${random.below(100)};\n`);
    }
    const count = 3 + random.below(4);
    for (let f = 0; f < count; f++) parts.push(this.makeFunction(`f${f}`));
    parts.push(this.makeFunction("main"));
    return { text: parts.join(""), places: this.places };
  }

  private variable(name: string, type: Scalar | Struct, isCounter = false): Variable {
    const leaves = isStruct(type)
      ? type.fields.map((field, f) => ({ ...field, path: `${name}.f${f}` }))
      : [{ ...type, path: name }];
    return { name, leaves, struct: isStruct(type) ? type : null, isCounter };
  }

  private get visible(): Variable[] {
    return this.scopes.flat();
  }
  private line(text: string): void {
    this.out.push(`${"  ".repeat(this.depth + 1)}${text}\n`);
  }
  private declare(type: Scalar | Struct, init: string): Variable {
    const variable = this.variable(`v${this.names++}`, type);
    this.line(`${isStruct(type) ? `struct ${type.name}` : type.type} ${variable.name} = ${init};`);
    this.scopes.at(-1)!.push(variable);
    return variable;
  }

  private makeFunction(name: string): string {
    const { random } = this;
    this.out = [];
    this.depth = 0;
    this.calls = 0;
    this.scopes = [[]];
    const isMain = name === "main";
    const params: (Scalar | Struct | "pointer")[] = [];
    const texts: string[] = [];
    if (isMain) {
      params.push({ type: "int", kind: "integer", size: 4 });
      texts.push("int argc");
      this.scopes[0]!.push(this.variable("argc", params[0] as Scalar));
    } else
      for (let p = random.below(9); p >= 0; p--) {
        const choice = random.below(12);
        const type =
          choice === 0 ? random.pick(this.structs) : choice === 1 ? "pointer" : random.pick(scalars);
        const own = `v${this.names++}`;
        params.push(type);
        if (type === "pointer") {
          texts.push(`int64_t *${own}`);
          this.scopes[0]!.push({
            name: own,
            leaves: [{ path: `*${own}`, kind: "integer", size: 8, type: "int64_t" }],
            struct: null,
            isCounter: false,
          });
          continue;
        }
        texts.push(`${isStruct(type) ? `struct ${type.name}` : type.type} ${own}`);
        this.scopes[0]!.push(this.variable(own, type));
      }
    for (let v = 2 + random.below(8); v > 0; v--) this.declaration();
    this.statements(4 + random.below(8));
    if (isMain) for (const callee of this.callees) this.call(callee);
    this.stop();
    const result = this.expression(2);
    const attribute = random.pick([
      "",
      "",
      "__attribute__((noinline)) ",
      "__attribute__((always_inline)) inline ",
    ]);
    if (!isMain) this.callees.push({ name, params });
    const header = isMain
      ? `int main(${texts.join(", ")})`
      : `static ${attribute}int64_t ${name}(${texts.join(", ")})`;
    return `${header} {\n${this.out.join("")}  return (${isMain ? "int" : "int64_t"})(${result})${isMain ? " & 0" : ""};\n}\n`;
  }

  private declaration(): void {
    const { random } = this;
    const choice = random.below(7);
    if (choice === 0) {
      const struct = random.pick(this.structs);
      this.declare(struct, `{ ${struct.fields.map((field) => this.valueOf(field)).join(", ")} }`);
    } else if (choice === 1) {
      // Its address is taken.
      const of = this.declare({ type: "int64_t", kind: "integer", size: 8 }, this.valueOf(scalars[7]!));
      this.line(`int64_t *p_${of.name} = &${of.name};`);
      this.line(`if (input[${random.below(8)}] == 4711) input[0] = (int64_t)p_${of.name};`);
    } else {
      const scalar = random.pick(scalars);
      this.declare(scalar, this.valueOf(scalar));
    }
  }

  private statements(count: number): void {
    for (let i = 0; i < count; i++) this.statement();
  }

  private block(count: number): void {
    this.depth++;
    this.scopes.push([]);
    if (this.random.below(2) === 0) this.declaration();
    this.statements(count);
    this.scopes.pop();
    this.depth--;
  }

  private statement(): void {
    const { random } = this;
    const choice = random.below(20);
    if (choice < 8) this.assignment();
    else if (choice < 11) this.stop();
    else if (choice < 13) this.declaration();
    else if (choice < 15 && this.depth < 3) {
      this.line(`if (${this.condition()}) {`);
      this.block(1 + random.below(3));
      if (random.below(2) === 0) {
        this.line("} else {");
        this.block(1 + random.below(3));
      }
      this.line("}");
    } else if (choice < 17 && this.depth < 2) {
      const counter = `v${this.names++}`;
      const type = random.pick(scalars.filter(({ size, kind }) => kind === "integer" && size >= 4));
      const bound = random.pick([`${1 + random.below(4)}`, `(input[${random.below(8)}] & 3)`]);
      this.line(`for (${type.type} ${counter} = 0; ${counter} < ${bound}; ${counter}++) {`);
      this.scopes.push([this.variable(counter, type, true)]);
      const wasInLoop = this.isInLoop;
      this.isInLoop = true;
      this.block(1 + random.below(3));
      this.isInLoop = wasInLoop;
      this.scopes.pop();
      this.line("}");
    } else if (choice < 19 && this.callees.length > 0 && this.calls < 3 && !this.isInLoop)
      this.call(random.pick(this.callees));
    else this.assignment();
  }

  private target(): Leaf & { readonly type: string } {
    const changeable = [...this.visible.filter(({ isCounter }) => !isCounter), ...this.globals];
    return this.random.pick(this.random.pick(changeable).leaves);
  }

  private assignment(): void {
    const leaf = this.target();
    this.line(`${leaf.path} = ${this.valueOf(leaf)};`);
  }

  private call(callee: Callee): void {
    this.calls++;
    const args = callee.params.map((type) => {
      if (type === "pointer") {
        const pointed = this.visible.filter(
          ({ leaves }) => leaves[0]!.type === "int64_t" && leaves.length === 1,
        );
        const [found] = pointed.length > 0 ? [this.random.pick(pointed)] : [];
        if (found !== undefined && !found.isCounter)
          return found.leaves[0]!.path.startsWith("*") ? found.name : `&${found.name}`;
        return `&(int64_t){${this.random.below(50)}}`;
      }
      if (!isStruct(type)) return this.valueOf(type);
      const same = this.visible.filter(({ struct }) => struct === type);
      if (same.length > 0) return this.random.pick(same).name;
      return `(struct ${type.name}){ ${type.fields.map((field) => this.valueOf(field)).join(", ")} }`;
    });
    const text = `${callee.name}(${args.join(", ")})`;
    if (this.random.below(3) === 0) {
      const leaf = this.target();
      this.line(`${leaf.path} = ${this.converted(leaf, text)};`);
    } else this.declare({ type: "int64_t", kind: "integer", size: 8 }, text);
  }

  private stop(): void {
    const { random } = this;
    // What a pointer leads to is not the pointer: stores there may be left out.
    const leaves = this.visible
      .flatMap((variable) => variable.leaves)
      .filter(({ path }) => !path.startsWith("*"));
    const isCall = random.below(3) === 0;
    const number = this.places.length;
    this.places.push({ leaves: leaves.map(({ path, kind, size }) => ({ path, kind, size })), isCall });
    const told = leaves.map(
      ({ path, kind }) => `${kind === "integer" ? "I" : kind === "float" ? "F" : "D"}(${path})`,
    );
    this.line(`${isCall ? "STOP_IN_CALLEE" : "STOP"}(${number}, ${told.join(" ")})`);
  }

  private condition(): string {
    return `(${this.expression(1)}) ${this.random.pick(["<", ">", "==", "!=", "<="])} (${this.expression(1)})`;
  }

  /** A value of a scalar's type. */
  private valueOf(type: Scalar | Leaf): string {
    if (this.random.below(4) === 0) return String(this.random.below(type.size === 1 ? 2 : 120));
    return this.converted(type, this.expression(2));
  }

  /** Conversions that C defines for all values. */
  private converted({ kind }: Scalar | Leaf, text: string): string {
    return kind === "integer" ? text : `(${kind})((${text}) % 1000) / 4`;
  }

  /** Of type int64_t. */
  private expression(depth: number): string {
    const { random } = this;
    if (depth === 0 || random.below(4) === 0) {
      const choice = random.below(6);
      if (choice === 0) return `(int64_t)${random.below(2000) - 1000}`;
      if (choice === 1) return `input[${random.below(8)}]`;
      const leaf = random.pick(random.pick([...this.visible, ...this.globals]).leaves);
      return leaf.kind === "integer" ? `(int64_t)${leaf.path}` : `(int64_t)(${leaf.path} > 2)`;
    }
    const a = this.expression(depth - 1);
    const b = this.expression(depth - 1);
    const wrapped = (operator: string): string => `(int64_t)((uint64_t)(${a}) ${operator} (uint64_t)(${b}))`;
    switch (random.below(9)) {
      case 0:
      case 1:
        return wrapped("+");
      case 2:
        return wrapped("-");
      case 3:
        return wrapped("*");
      case 4:
        return wrapped(random.pick(["&", "|", "^"]));
      case 5:
        return `((${a}) >> ${random.below(40)})`;
      case 6:
        return `(int64_t)((uint64_t)(${a}) << ${random.below(20)})`;
      case 7:
        return `((${a}) % ((${b}) & 0xff | 1))`;
      default:
        return `((${a}) < (${b}) ? (${a}) : (int64_t)${random.below(50)})`;
    }
  }
}

export const variableProgram = (seed: number): VariableProgram => new ProgramMaker(seed).make();
