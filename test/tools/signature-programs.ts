/**
 * Random C programs of two files that call each other: every type that the x86-64 convention tells apart, as arguments,
 * results and variable arguments, constant and computed, by name, through pointers and by tail calls, in both
 * directions. Each side holds every part of what it is given against the constant that it must be, so a program needs no
 * other program to be compared with.
 *
 * Left out: where one side is gcc's, `_BitInt`, which it lacks, and vectors of more than 16 bytes as results, which it
 * returns in memory and clang in pairs of registers (without AVX; with it, of more than 32); as variable arguments, types
 * that promotions change.
 */
import { Random } from "../support/random.js";

/** A type: how it is declared, a random value, and what of a value is compared. */
interface Kind {
  /** Its name; definitions it needs are made with it. */
  readonly type: string;
  readonly make: (random: Random) => Sample;
  /** Promotions leave it alone. */
  readonly variadic: boolean;
  /** May be a bit-field of so many bits at most. */
  readonly bits?: number;
  /** A vector of more bytes than the machine's registers have. */
  readonly isWide?: boolean;
}

/** A value: as an initialiser, and its scalars, by path. */
interface Sample {
  readonly init: string;
  readonly leaves: readonly Leaf[];
}
interface Leaf {
  readonly path: string;
  readonly value: string;
  /** Its lowest byte is compared, not what C makes of it. */
  readonly byte?: boolean;
}

const scalar = (value: string, byte = false): Sample => ({
  init: value,
  leaves: [{ path: "", value, byte }],
});

/** An integer of so many bits at an edge or anywhere, as C text of a type. */
function integer(random: Random, bits: number, signed: boolean, type: string): string {
  const any =
    (BigInt(random.bits()) << 96n) | (BigInt(random.bits()) << 64n) | (BigInt(random.bits()) << 32n);
  const all = any | BigInt(random.bits());
  const raw = random.pick([
    0n,
    1n,
    -1n,
    1n << BigInt(bits - 1),
    (1n << BigInt(bits - 1)) - 1n,
    all,
    all,
    -128n,
  ]);
  const value = signed ? BigInt.asIntN(bits, raw) : BigInt.asUintN(bits, raw);
  if (bits <= 64) return `(${type})${BigInt.asUintN(64, value)}ULL`;
  const low = BigInt.asUintN(64, value);
  const high = BigInt.asUintN(64, value >> 64n);
  return `(${type})((unsigned __int128)${high}ULL << 64 | ${low}ULL)`;
}

const integers: readonly (readonly [type: string, bits: number, signed: boolean])[] = [
  ["char", 8, true],
  ["signed char", 8, true],
  ["unsigned char", 8, false],
  ["short", 16, true],
  ["unsigned short", 16, false],
  ["int", 32, true],
  ["unsigned", 32, false],
  ["long", 64, true],
  ["unsigned long", 64, false],
  ["__int128", 128, true],
  ["unsigned __int128", 128, false],
];
const floating = (random: Random): string => `${random.below(2000) - 1000}.${random.pick(["0", "5", "25"])}`;

const scalars: readonly Kind[] = [
  ...integers.map(
    ([type, bits, signed]): Kind => ({
      type,
      make: (random) => scalar(integer(random, bits, signed, type)),
      variadic: bits >= 32,
      ...(bits <= 64 ? { bits } : {}),
    }),
  ),
  { type: "_Bool", make: (random) => scalar(String(random.below(2)), true), variadic: false, bits: 1 },
  { type: "enum E", make: (random) => scalar(random.pick(["e0", "e1", "e2"])), variadic: true },
  { type: "void *", make: (random) => scalar(`(void *)${random.bits()}UL`), variadic: true },
  ...["float", "double", "long double", "__float128", "_Float16"].map(
    (type): Kind => ({
      type,
      make: (random) => scalar(`(${type})${floating(random)}`),
      variadic: type !== "float" && type !== "_Float16",
    }),
  ),
  ...["float", "double", "long double"].map(
    (type): Kind => ({
      type: `_Complex ${type}`,
      make: (random) => {
        const [re, im] = [`(${type})${floating(random)}`, `(${type})${floating(random)}`];
        return {
          init: `__builtin_complex(${re}, ${im})`,
          leaves: [
            { path: "__real__", value: re },
            { path: "__imag__", value: im },
          ],
        };
      },
      variadic: true,
    }),
  ),
];

/** `_BitInt(N)`, which not every compiler has. */
function bitInt(random: Random): Kind {
  const bits = random.pick([2, 7, 8, 13, 24, 31, 33, 48, 63, 65, 100, 127, 128]);
  const signed = random.oneIn(2);
  const type = `${signed ? "" : "unsigned "}_BitInt(${bits})`;
  return { type, make: (r) => scalar(integer(r, bits, signed, type)), variadic: bits > 32 };
}

/** Makes types, and the definitions that they need. */
class Types {
  readonly definitions: string[] = [];
  constructor(
    private readonly random: Random,
    private readonly isAllClang: boolean,
    private readonly registerBytes: number,
  ) {}

  /** Of an argument or result. */
  any(): Kind {
    const { random } = this;
    const which = random.below(20);
    if (which < 9) return this.scalar();
    if (which < 11) return this.vector();
    return this.aggregate(0);
  }

  /** Enough to fill the integer registers, and some narrow values. */
  onStack(): Kind[] {
    const { random } = this;
    const boolean = scalars.find(({ type }) => type === "_Bool")!;
    const narrow = [boolean, boolean, ...scalars.filter(({ bits = 64 }) => bits <= 16)];
    const fill = scalars.find(({ type }) => type === "long")!;
    const length = 1 + random.below(4);
    const own = Array.from({ length }, () =>
      this.isAllClang && random.oneIn(4) ? bitInt(random) : random.pick(narrow),
    );
    return [...new Array<Kind>(6).fill(fill), ...own];
  }

  result(): Kind {
    const kind = this.any();
    return kind.isWide === true && !this.isAllClang ? this.result() : kind;
  }

  private scalar(): Kind {
    if (this.isAllClang && this.random.oneIn(8)) return bitInt(this.random);
    return this.random.pick(scalars);
  }

  private define(text: (name: string) => string): string {
    const name = `t${this.definitions.length}`;
    this.definitions.push(text(name));
    return name;
  }

  private vector(): Kind {
    const { random } = this;
    const elements = ["char", "unsigned char", "short", "int", "unsigned", "long", "float", "double"];
    const element = random.pick(elements);
    const size = { char: 1, "unsigned char": 1, short: 2, long: 8, double: 8 }[element] ?? 4;
    const bytes = random.pick(size === 8 ? [16, 32] : [8, 16, 16, 32, 64]);
    const kind = scalars.find(({ type }) => type === element)!;
    const type = this.define((name) => `typedef ${element} ${name} __attribute__((vector_size(${bytes})));`);
    return {
      type,
      make: (r) => {
        const values = Array.from({ length: bytes / size }, () => kind.make(r).init);
        return {
          init: `{ ${values.join(", ")} }`,
          leaves: values.map((value, i) => ({ path: `[${i}]`, value })),
        };
      },
      variadic: true,
      isWide: bytes > this.registerBytes,
    };
  }

  private aggregate(depth: number): Kind {
    const { random } = this;
    if (random.oneIn(12)) return this.bytes();
    const isUnion = random.oneIn(7);
    const count = random.oneIn(25) ? 0 : 1 + random.below(random.pick([2, 3, 6]));
    const members: { name: string; kind: Kind; length: number }[] = [];
    const lines: string[] = [];
    for (let i = 0; i < count; i++) {
      const inner = depth < 2 && random.oneIn(5);
      const kind = inner ? this.aggregate(depth + 1) : random.oneIn(8) ? this.vector() : this.scalar();
      const name = `m${i}`;
      const length = random.oneIn(5) ? 1 + random.below(4) : 0;
      if (kind.bits !== undefined && length === 0 && !isUnion && random.oneIn(3)) {
        lines.push(this.bitField(kind, name, members));
        continue;
      }
      lines.push(`${kind.type} ${name}${length > 0 ? `[${length}]` : ""};`);
      members.push({ name, kind, length });
    }
    const attribute = random.oneIn(8)
      ? "__attribute__((packed)) "
      : random.oneIn(10)
        ? `__attribute__((aligned(${random.pick([8, 16, 32])}))) `
        : "";
    const word = isUnion ? "union" : "struct";
    const tag = this.define((name) => `${word} ${attribute}${name} { ${lines.join(" ")} };`);
    return {
      type: `${word} ${tag}`,
      make: (r) => {
        const active = isUnion && members.length > 0 ? [r.pick(members)] : members;
        const parts: string[] = [];
        const leaves: Leaf[] = [];
        for (const { name, kind, length } of active) {
          const samples = Array.from({ length: Math.max(1, length) }, () => kind.make(r));
          const inits = samples.map(({ init }) => init).join(", ");
          parts.push(`.${name} = ${length > 0 ? `{ ${inits} }` : inits}`);
          samples.forEach((sample, i) => {
            const prefix = `.${name}${length > 0 ? `[${i}]` : ""}`;
            for (const leaf of sample.leaves) leaves.push({ ...leaf, path: under(prefix, leaf.path) });
          });
        }
        return { init: `{ ${parts.join(", ")} }`, leaves };
      },
      variadic: members.length > 0,
    };
  }

  /** The text of a bit-field, which becomes a member. */
  private bitField(
    kind: Kind,
    name: string,
    members: { name: string; kind: Kind; length: number }[],
  ): string {
    const { random } = this;
    const bits = 1 + random.below(kind.bits!);
    const isBool = kind.type === "_Bool";
    const type = isBool ? "_Bool" : random.oneIn(2) ? "unsigned long" : "unsigned";
    const width = type === "unsigned" ? Math.min(bits, 32) : bits;
    const field: Kind = {
      type,
      make: (r) => scalar(isBool ? String(r.below(2)) : integer(r, width, false, type)),
      variadic: false,
    };
    members.push({ name, kind: field, length: 0 });
    return `${type} ${name} : ${width};`;
  }

  /** A structure of 1 to 64 bytes. */
  private bytes(): Kind {
    const length = 1 + this.random.below(64);
    const tag = this.define((name) => `struct ${name} { unsigned char m0[${length}]; };`);
    return {
      type: `struct ${tag}`,
      make: (r) => {
        const values = Array.from({ length }, () => String(r.below(256)));
        return {
          init: `{ { ${values.join(", ")} } }`,
          leaves: values.map((value, i) => ({ path: `.m0[${i}]`, value })),
        };
      },
      variadic: true,
    };
  }
}

/** A path below another; parts of complex numbers are written before what they are parts of. */
const under = (prefix: string, path: string): string => {
  const part = /^__(real|imag)__/.exec(path);
  return part === null ? prefix + path : `${part[0]}${prefix}${path.slice(part[0].length)}`;
};
const access = (of: string, path: string): string => {
  const part = /^(__(?:real|imag)__)(.*)$/.exec(path);
  return part === null ? of + path : `${part[1]} ${of}${part[2]}`;
};

interface Signature {
  readonly result: Kind | null;
  readonly args: readonly Kind[];
  /** What is passed and returned: the same whoever calls. */
  readonly samples: readonly Sample[];
  readonly returned: Sample | null;
  readonly isVariadic: boolean;
}

/** Counts and compares. @param at the signature's number, and which value of it */
function checks(of: string, sample: Sample, at: string): string[] {
  return sample.leaves.map(({ path, value, byte }) => {
    const found = access(of, path);
    // A boolean is looked at as it lies in memory: C takes whatever is not 0 for true.
    const low = byte === true && path === "" ? `lowest(&${of})` : found;
    return `  check(${low} == ${value}, ${at});`;
  });
}

const literal = (kind: Kind, { init }: Sample): string =>
  init.startsWith("{") ? `(${kind.type})${init}` : init;
const list = (args: readonly Kind[], name: (i: number) => string): string =>
  args.length === 0 ? "void" : args.map(({ type }, i) => `${type} ${name(i)}`).join(", ");

const prelude = `#include <stdarg.h>
#include <stdio.h>
enum E { e0, e1 = 77, e2 = -5 };
extern long checked, wrong;
void failed(int signature, int value, const char *side);
static inline void check_at(int holds, int signature, int value, const char *side) {
  checked++;
  if (!holds) failed(signature, value, side);
}
`;

/** The functions of one side. @param me its letter @param you that of the other */
function side(signatures: readonly Signature[], me: string, you: string): string {
  const lines: string[] = [`#define check(holds, ...) check_at(holds, __VA_ARGS__, "${me}")`];
  signatures.forEach((signature, k) => {
    const { result, args, samples, returned, isVariadic } = signature;
    const type = result?.type ?? "void";
    const own = samples.flatMap((sample, i) => checks(`x${i}`, sample, `${k}, ${i}`));
    const returns = result === null ? "" : `  static ${type} r = ${returned!.init};\n  return r;\n`;
    const after = result === null ? [] : checks("r", returned!, `${k}, -1`);
    const store = result === null ? "" : `${type} r = `;
    const constants = args.map((kind, i) => literal(kind, samples[i]!)).join(", ");
    const computed = args.map((_, i) => `v${k}_${i}`).join(", ");
    for (const [i, kind] of args.entries())
      lines.push(`static ${kind.type} v${k}_${i} = ${samples[i]!.init};`);
    const hide = args.map((_, i) => `  hide(&v${k}_${i});`);
    const block = (call: string): string => `  { ${store}${call};\n${after.join("\n")} }`;
    if (isVariadic) {
      const taken = args.map(({ type: t }, i) => `  ${t} x${i} = va_arg(list, ${t});`);
      lines.push(
        `${type} ${me}${k}(int n, ...) {\n  va_list list;\n  va_start(list, n);\n${taken.join("\n")}\n  va_end(list);`,
        ...own,
        `${returns}}`,
        `void ${me}_calls${k}(void) {`,
        ...hide,
        block(`${you}${k}(${[args.length, constants].filter((t) => t !== "").join(", ")})`),
        block(`${you}${k}(${[args.length, computed].filter((t) => t !== "").join(", ")})`),
        "}",
      );
      return;
    }
    const names = args.map((_, i) => `x${i}`).join(", ");
    lines.push(
      `${type} ${me}${k}(${list(args, (i) => `x${i}`)}) {`,
      ...own,
      `${returns}}`,
      `${type} ${me}_tail${k}(${list(args, (i) => `x${i}`)}) { ${result === null ? "" : "return "}${you}${k}(${names}); }`,
      `void ${me}_back${k}(${type} (*f)(${list(args, () => "")})) {`,
      ...hide,
      block(`f(${constants})`),
      block(`f(${computed})`),
      "}",
      `void ${me}_calls${k}(void) {`,
      ...hide,
      block(`${you}${k}(${constants})`),
      block(`${you}${k}(${computed})`),
      block(`${you}_tail${k}(${computed})`),
      `  ${you}_back${k}(${me}${k});`,
      "}",
    );
  });
  return lines.join("\n");
}

function prototypes(signatures: readonly Signature[]): string {
  const lines = ["a", "b"].flatMap((me) =>
    signatures.flatMap(({ result, args, isVariadic }, k) => {
      const type = result?.type ?? "void";
      const taken = list(args, () => "");
      if (isVariadic) return [`${type} ${me}${k}(int, ...);`, `void ${me}_calls${k}(void);`];
      return [
        `${type} ${me}${k}(${taken});`,
        `${type} ${me}_tail${k}(${taken});`,
        `void ${me}_back${k}(${type} (*)(${taken}));`,
        `void ${me}_calls${k}(void);`,
      ];
    }),
  );
  return lines.join("\n");
}

/** A program; it prints what is wrong, and how much was looked at. */
export interface SignatureProgram {
  readonly first: string;
  readonly second: string;
}

/** @param isAllClang neither side is compiled by gcc @param registerBytes of the machine's vector registers */
export function signatureProgram(
  seed: number,
  count: number,
  isAllClang: boolean,
  registerBytes = 16,
): SignatureProgram {
  const random = new Random(seed);
  const types = new Types(random, isAllClang, registerBytes);
  const signatures = Array.from({ length: count }, (): Signature => {
    const isVariadic = random.oneIn(5);
    const wanted = random.below(random.pick([4, 8, 12]));
    const all = Array.from({ length: wanted }, () => types.any());
    // What the registers are full of leaves the stack to narrow values.
    if (random.oneIn(3)) all.unshift(...types.onStack());
    const args = isVariadic ? all.filter(({ variadic }) => variadic) : all;
    const result = random.oneIn(6) ? null : types.result();
    const samples = args.map((kind) => kind.make(random));
    return { result, args, samples, returned: result?.make(random) ?? null, isVariadic };
  });
  const head = `${prelude}${types.definitions.join("\n")}\n${prototypes(signatures)}
static inline void hide(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
static inline int lowest(void *p) { hide(p); return *(unsigned char *)p; }
`;
  const calls = signatures.map((_, k) => `  a_calls${k}();\n  b_calls${k}();`).join("\n");
  const main = `long checked, wrong;
void failed(int signature, int value, const char *side) {
  wrong++;
  printf("signature %d value %d side %s\\n", signature, value, side);
}
int main(void) {
${calls}
  printf("%ld checks\\n", checked);
  return wrong > 0 || checked == 0;
}`;
  return {
    first: `${head}${side(signatures, "a", "b")}\n${main}\n`,
    second: `${head}${side(signatures, "b", "a")}\n`,
  };
}
