/**
 * Random C programs of several files about calls: every kind of parameter and result of the x86-64 convention,
 * unprototyped and variable ones, through names, aliases, weak definitions, tables of pointers, callbacks of the C library,
 * assembly of modules and in functions, with recursion, tail calls and `longjmp`. They compute with unsigned numbers and
 * small whole floats, so their output does not depend on the compiler; fuel bounds their run time and depth.
 */
import { Random } from "../support/random.js";

const prelude = `#ifndef PRELUDE
#define PRELUDE
#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include <setjmp.h>
typedef unsigned long u64;
typedef unsigned __int128 u128;
typedef int v4 __attribute__((vector_size(16)));
typedef u64 (*cb)(u64, int);
struct P { u64 a, b; };
struct M { double d; u64 n; };
struct F { float a, b, c; };
struct B { u64 a[5]; };
struct C { char c[3]; };
struct W { long double l; int i; };
extern u64 acc; extern int fuel; extern jmp_buf *top; extern cb shared[4];
u64 missing(u64) __attribute__((weak));
static inline u64 mix(u64 s, u64 x) { s = (s ^ x) * 0x9E3779B97F4A7C15UL; return s ^ s >> 29; }
#endif
`;

/** A type, how its values are made of a word, and how a word is made of them. */
interface Kind {
  readonly type: string;
  readonly from: (x: string) => string;
  readonly to: (v: string) => string;
  /** Passed unchanged to functions without prototypes and after `...`. */
  readonly promoted?: boolean;
  /** For parameters only. */
  readonly parameterOnly?: boolean;
}

const small = (x: string): string => `(${x} & 0xffff)`;
const kinds = {
  int: { type: "int", from: (x) => `(int)${x}`, to: (v) => `(u64)${v}`, promoted: true },
  u64: { type: "u64", from: (x) => x, to: (v) => v, promoted: true },
  uchar: { type: "unsigned char", from: (x) => `(unsigned char)${x}`, to: (v) => `(u64)${v}` },
  short: { type: "short", from: (x) => `(short)${x}`, to: (v) => `(u64)${v}` },
  bool: { type: "_Bool", from: (x) => `(_Bool)(${x} & 1)`, to: (v) => `(u64)${v}` },
  u128: {
    type: "u128",
    from: (x) => `((u128)${x} << 64 | ${x} * 3)`,
    to: (v) => `(u64)(${v} ^ ${v} >> 64)`,
    promoted: true,
  },
  float: { type: "float", from: (x) => `(float)${small(x)}`, to: (v) => `(u64)${v}` },
  double: { type: "double", from: (x) => `(double)${small(x)}`, to: (v) => `(u64)${v}`, promoted: true },
  ld: {
    type: "long double",
    from: (x) => `(long double)${small(x)}`,
    to: (v) => `(u64)${v}`,
    promoted: true,
  },
  P: {
    type: "struct P",
    from: (x) => `(struct P){${x}, ${x} * 5}`,
    to: (v) => `(${v}.a ^ ${v}.b * 3)`,
    promoted: true,
  },
  M: {
    type: "struct M",
    from: (x) => `(struct M){(double)${small(x)}, ${x}}`,
    to: (v) => `((u64)${v}.d ^ ${v}.n)`,
    promoted: true,
  },
  F: {
    type: "struct F",
    from: (x) => `(struct F){(float)${small(x)}, 2, (float)(${x} & 255)}`,
    to: (v) => `((u64)${v}.a ^ (u64)${v}.b * 5 ^ (u64)${v}.c << 20)`,
    promoted: true,
  },
  B: {
    type: "struct B",
    from: (x) => `(struct B){{${x}, 1, ${x} * 7, 3, ${x} ^ 9}}`,
    to: (v) => `(${v}.a[0] ^ ${v}.a[1] ^ ${v}.a[2] ^ ${v}.a[3] ^ ${v}.a[4])`,
    promoted: true,
  },
  C: {
    type: "struct C",
    from: (x) => `(struct C){{(char)${x}, 4, (char)(${x} >> 8)}}`,
    to: (v) => `((u64)${v}.c[0] ^ (u64)${v}.c[1] << 8 ^ (u64)${v}.c[2] << 16)`,
    promoted: true,
  },
  W: {
    type: "struct W",
    from: (x) => `(struct W){(long double)${small(x)}, (int)${x}}`,
    to: (v) => `((u64)${v}.l ^ (u64)${v}.i)`,
    promoted: true,
  },
  V: {
    type: "v4",
    from: (x) => `(v4){(int)${x}, 1, 2, (int)(${x} >> 32)}`,
    to: (v) => `((u64)(unsigned)${v}[0] ^ (u64)(unsigned)${v}[1] ^ (u64)(unsigned)${v}[3] << 32)`,
  },
  pointer: { type: "u64 *", from: () => "&cell", to: (v) => `((*${v})++ & 0xff)`, parameterOnly: true },
  callback: { type: "cb", from: () => "", to: (v) => `${v}(s, 3)`, parameterOnly: true },
} satisfies Record<string, Kind>;

type KindName = keyof typeof kinds;
const names = Object.keys(kinds) as KindName[];
const kindOf = (name: KindName): Kind => kinds[name];
const common: readonly KindName[] = ["int", "u64", "u64", "uchar", "double", "P", "B"];

interface Function {
  readonly name: string;
  readonly file: number;
  readonly isStatic: boolean;
  readonly parameters: readonly KindName[];
  /** Kinds of arguments after `...`; null: not variable. */
  readonly variable: readonly KindName[] | null;
  readonly oldStyle: boolean;
  readonly result: KindName;
  readonly isCallback: boolean;
  readonly attributes: string;
  /** Other names: by alias, assembly of a module. */
  readonly others: string[];
}

/**
 * The files of one program; one after the other they are a file of the same meaning. Without `assembly` there is none in
 * them: functions and calls that only the assembler sees have no unwind information.
 */
export function callGraphProgram(seed: number, assembly = true): string[] {
  return new Writer(new Random(seed), assembly).run();
}

class Writer {
  private readonly functions: Function[] = [];
  private readonly files: number;
  private labels = 0;

  constructor(
    private readonly random: Random,
    private readonly assembly: boolean,
  ) {
    this.files = 1 + random.below(4);
  }

  run(): string[] {
    const { random } = this;
    for (let n = 5 + random.below(14), i = 0; i < n; i++) this.functions.push(this.signature(i));
    // Something for tables and callbacks to point to, in every file.
    for (let file = 0; file < this.files; file++) this.functions.push(this.callback(`c${file}`, file));
    const shared = this.functions.filter((f) => !f.isStatic);
    const head = prelude + shared.map((f) => `${this.declaration(f, f.name)};\n`).join("");
    const texts = Array.from({ length: this.files }, (_, file) => this.file(file));
    // Files are written first: they say which other names there are.
    const others = shared.flatMap((f) => f.others.map((name) => `${this.declaration(f, name)};\n`)).join("");
    return texts.map((text, file) => head + others + text + (file === 0 ? this.main() : ""));
  }

  private signature(i: number): Function {
    const { random } = this;
    const file = random.below(this.files);
    if (random.oneIn(4)) return this.callback(`f${i}`, file);
    const kind = (): KindName => (random.oneIn(2) ? random.pick(common) : random.pick(names));
    const result = (): KindName => {
      const name = kind();
      return kindOf(name).parameterOnly ? "u64" : name;
    };
    const arity = random.oneIn(4) ? 6 + random.below(6) : random.below(5);
    const style = random.below(8);
    const promoted = (): KindName => random.pick(names.filter((name) => kindOf(name).promoted));
    const oldStyle = style === 0;
    // Of these, clang before 20 aligns 128-bit integers where they are read, but not where they are passed.
    const behind = (): KindName => {
      const chosen = promoted();
      return chosen === "u128" ? "P" : chosen;
    };
    const variable = style === 1 ? Array.from({ length: 1 + random.below(9) }, behind) : null;
    const parameters = Array.from({ length: variable === null ? arity : 1 + (arity % 3) }, () =>
      oldStyle ? promoted() : kind(),
    );
    const isStatic = random.oneIn(2);
    return {
      name: `f${i}`,
      file,
      isStatic,
      parameters,
      variable,
      oldStyle,
      result: result(),
      isCallback: false,
      attributes: random.pick([
        "",
        "noinline",
        "noinline",
        "noinline",
        isStatic ? "noinline" : "weak",
        "cold",
        "used",
      ]),
      others: [],
    };
  }

  private callback(name: string, file: number): Function {
    const { random } = this;
    const isStatic = random.oneIn(2);
    return {
      name,
      file,
      isStatic,
      parameters: ["u64", "int"],
      variable: null,
      oldStyle: false,
      result: "u64",
      isCallback: true,
      attributes: random.pick(["", "noinline", "noinline", "used"]),
      others: [],
    };
  }

  private declaration(f: Function, name: string): string {
    const type = kindOf(f.result).type;
    const list = f.parameters.map((p) => kindOf(p).type);
    if (f.variable !== null) list.push("...");
    const attributes = [f.attributes, !f.isStatic && f.name.endsWith("3") ? 'visibility("hidden")' : ""];
    const text = attributes.filter((a) => a !== "" && (name === f.name || a !== "used")).join(", ");
    return `${f.isStatic ? "static " : ""}${text === "" ? "" : `__attribute__((${text})) `}${type} ${name}(${
      f.oldStyle ? "" : list.length === 0 ? "void" : list.join(", ")
    })`;
  }

  private file(file: number): string {
    const { random } = this;
    const own = this.functions.filter((f) => f.file === file);
    let text = own
      .filter((f) => f.isStatic)
      .map((f) => `${this.declaration(f, f.name)};\n`)
      .join("");
    const callbacks = this.callbacks(file);
    text += `static cb table${file}[4] = { ${[0, 1, 2, 3].map(() => random.pick(callbacks)).join(", ")} };\n`;
    text += `static int order${file}(const void *a, const void *b) { fuel--; return *(const int *)a - *(const int *)b; }\n`;
    for (const f of own) {
      if (f.isStatic || !random.oneIn(4)) continue;
      if (random.oneIn(2) && f.attributes !== "weak") {
        f.others.push(`a_${f.name}`);
        text += `${this.declaration(f, `a_${f.name}`)} __attribute__((alias("${f.name}")));\n`;
      } else if (this.assembly) {
        f.others.push(`t_${f.name}`);
        const target = f.name.endsWith("3") || random.oneIn(2) ? f.name : `${f.name}@PLT`;
        text += random.pick([
          `asm(".text\\n.globl t_${f.name}\\n.type t_${f.name}, @function\\nt_${f.name}: jmp ${target}\\n");\n`,
          `asm(".macro tramp n\\n.text\\n.globl t_\\\\n\\nt_\\\\n: jmp \\\\n\\n.endm\\ntramp ${f.name}\\n.purgem tramp\\n");\n`,
          `asm(".text; .globl t_${f.name}; t_${f.name}: jmp \\"${f.name}\\"");\n`,
        ]);
      }
    }
    for (const f of own) text += this.definition(f);
    if (file === this.files - 1) {
      const list = [0, 1, 2, 3].map(() => random.pick(this.callbacks(file)));
      text += `u64 acc = 1; int fuel; jmp_buf *top; cb shared[4] = { ${list.join(", ")} };\n`;
    }
    return text;
  }

  /** Names of functions that pointers may hold here. */
  private callbacks(file: number): string[] {
    return this.visible(file)
      .filter((f) => f.isCallback)
      .flatMap((f) => [f.name, ...(f.file === file ? f.others : [])]);
  }

  private visible(file: number): Function[] {
    return this.functions.filter((f) => f.file === file || !f.isStatic);
  }

  private definition(f: Function): string {
    const { random } = this;
    const type = kindOf(f.result).type;
    const named = f.parameters.map((p, i) => ({ kind: p, name: `p${i}` }));
    const list = named.map((p) => `${kindOf(p.kind).type} ${p.name}`);
    const head = f.oldStyle
      ? `${f.isStatic ? "static " : ""}${f.attributes === "" ? "" : `__attribute__((${f.attributes})) `}${type} ${f.name}(${named.map((p) => p.name).join(", ")}) ${list.map((p) => `${p};`).join(" ")}`
      : this.declaration(f, f.name).replace(
          /\([^()]*\)$/,
          `(${[...list, ...(f.variable === null ? [] : ["..."])].join(", ") || "void"})`,
        );
    const lines = [`u64 s = ${random.below(1 << 30)}UL + acc, cell = s >> 3;`];
    const done = `return ${kindOf(f.result).from("s")};`;
    lines.push(`if (--fuel < 0) { ${done} }`);
    for (const p of named) lines.push(`s = mix(s, ${kindOf(p.kind).to(p.name)});`);
    if (f.variable !== null) {
      lines.push(`va_list ap; va_start(ap, p${named.length - 1});`);
      f.variable.forEach((kind, i) => {
        lines.push(`${kindOf(kind).type} w${i} = va_arg(ap, ${kindOf(kind).type});`);
        lines.push(`s = mix(s, ${kindOf(kind).to(`w${i}`)});`);
      });
      lines.push("va_end(ap);");
    }
    // Values that live across calls.
    lines.push(
      "u64 k0 = s * 3, k1 = s >> 7, k2 = s ^ 0x55; double d0 = (double)(s & 0xfff); int i0 = (int)s;",
    );
    const has = (kind: KindName): string[] => named.filter((p) => p.kind === kind).map((p) => p.name);
    for (let n = 1 + random.below(4); n > 0; n--) lines.push(this.statement(f, has));
    lines.push("s = mix(s, k0 ^ k1 ^ k2 ^ (u64)d0 ^ (u64)i0 ^ cell); acc = mix(acc, s);");
    if (f.isCallback && random.oneIn(3)) {
      const target = random.pick(this.callbacks(f.file).filter((name) => !name.startsWith("t_")));
      lines.push(`__attribute__((musttail)) return ${target}(s, (int)k1);`);
    } else if (random.oneIn(4)) {
      const same = this.visible(f.file).filter((g) => g.result === f.result && g.variable === null);
      lines.push(same.length === 0 ? done : `return ${this.call(random.pick(same), f.file, has)};`);
    } else lines.push(done);
    return `${head}\n{\n  ${lines.join("\n  ")}\n}\n`;
  }

  private statement(f: Function, has: (kind: KindName) => string[]): string {
    const { random } = this;
    const word = (): string => random.pick(["s", "k0", "k1", "k2", "(s + k1)", "(u64)i0"]);
    const call = (): string => {
      const g = random.pick(this.visible(f.file));
      const text = this.call(g, f.file, has);
      return `{ ${kindOf(g.result).type} r = ${text}; s = mix(s, ${kindOf(g.result).to("r")}); }`;
    };
    const callbacks = this.callbacks(f.file);
    switch (random.below(11)) {
      case 0:
        return `for (int i = 0; i < ${1 + random.below(3)}; i++) { ${call()} k0 += s; }`;
      case 1:
        return `if (${word()} & ${1 << random.below(5)}) ${call()} else ${call()}`;
      case 2:
        return `s = mix(s, ${random.pick([`table${f.file}`, "shared"])}[${word()} & 3](${word()}, i0));`;
      case 3: {
        const entry = `table${f.file}[1]`;
        return `{ cb old = ${entry}; ${entry} = ${random.pick(callbacks)}; ${call()} ${entry} = old; }`;
      }
      case 4:
        return `{ int list[5] = { i0 & 15, 3, (int)(k1 & 15), 9, 1 }; qsort(list, 5, sizeof *list, order${f.file}); s = mix(s, (u64)list[2]); }`;
      case 5:
        return `{ jmp_buf here, *old = top; volatile u64 seen = s; int code = setjmp(here); if (code == 0) { top = &here; ${call()} seen = s; } top = old; s = mix(seen, (u64)code); }`;
      case 6:
        return `if (top && (${word()} & 15) == 3) longjmp(*top, (int)(k1 & 7) + 1);`;
      case 7:
        return "if (missing) s = missing(s);";
      case 8: {
        // A call that only the assembler sees, off the red zone, with all that calls may change.
        if (!this.assembly) return call();
        const target = random.pick(callbacks);
        const isLocal = this.functions.some((g) => g.name === target && g.isStatic);
        const callee = isLocal ? "%P[f]" : `${target}@PLT`;
        const lines = [
          "mov %%rsp, %%rbx",
          "lea -128(%%rsp), %%rsp",
          "and $-16, %%rsp",
          `call ${callee}`,
          "mov %%rbx, %%rsp",
        ];
        const clobbers = ["rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "st", "cc", "memory"];
        for (let i = 0; i < 16; i++) clobbers.push(`xmm${i}`);
        const inputs = isLocal ? `[f] "i"(${target})` : "";
        const outputs = '"=a"(r), "+D"(x), "+S"(y)';
        const asm = `asm volatile("${lines.join("\\n")}" : ${outputs} : ${inputs} : ${clobbers.map((c) => `"${c}"`).join(", ")})`;
        return `{ u64 r, x = ${word()}; int y = i0; ${asm}; s = mix(s, r); }`;
      }
      default:
        return call();
    }
  }

  /** A call of a function, by one of its names. */
  private call(g: Function, file: number, has: (kind: KindName) => string[]): string {
    const { random } = this;
    const argument = (kind: KindName): string => {
      const known = has(kind);
      if (known.length > 0 && random.oneIn(2)) return random.pick(known);
      if (kind === "callback") return random.pick(this.callbacks(file));
      return kindOf(kind).from(random.pick(["s", "k0", "k2", "(s ^ k1)"]));
    };
    const list = [...g.parameters, ...(g.variable ?? [])].map(argument);
    return `${random.pick([g.name, g.name, ...(g.file === file ? g.others : [])])}(${list.join(", ")})`;
  }

  private main(): string {
    const { random } = this;
    const lines: string[] = ["u64 s = 5, k0 = 1, k1 = 2, k2 = 3, cell = 9;"];
    for (let n = 4 + random.below(4); n > 0; n--) {
      const g = random.pick(this.visible(0));
      const text = this.call(g, 0, () => []);
      lines.push(
        `fuel = ${60 + random.below(200)}; top = 0;`,
        `{ ${kindOf(g.result).type} r = ${text}; s = mix(s, ${kindOf(g.result).to("r")}); } printf("${this.labels++} %lx %lx\\n", s, acc);`,
      );
    }
    return `int main(void)\n{\n  ${lines.join("\n  ")}\n  (void)k1; (void)cell;\n  return 0;\n}\n`;
  }
}
