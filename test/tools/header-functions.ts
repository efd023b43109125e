/**
 * What clang's headers of intrinsics declare, and C programs that call each function of them on its own.
 *
 * Functions are read from their definitions; macros, which have immediate operands, from the prototype in the comment
 * before them, else from the casts of their bodies. What cannot be told that way is not tried, and said.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface HeaderFunction {
  readonly name: string;
  readonly header: string;
  /** The feature that the header names for it, as `target` wants it; "" for none. */
  readonly features: string;
  /** As C writes it; "" if whoever calls has to ask the compiler. */
  readonly result: string;
  readonly parameters: readonly string[];
  readonly isMacro: boolean;
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "");
const spaces = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Types of a list of parameters. */
function parameterTypes(list: string): string[] {
  if (/^\s*(?:void)?\s*$/.test(list)) return [];
  return list.split(",").map((p) => {
    const text = spaces(p);
    const [, type, name] = /^(.*?)(\b[A-Za-z_]\w*)?$/.exec(text)!;
    const isWord = /^(?:int|char|short|long|float|double|unsigned|void|const|__m\w+|_\w*16)$/.test(
      name ?? "",
    );
    return spaces(isWord ? text : type!);
  });
}

/** Types of the arguments of a macro by the casts around them in its body; null where one has none. */
function castTypes(body: string, names: readonly string[]): string[] | null {
  const types: string[] = [];
  for (const name of names) {
    const cast = new RegExp(`\\(([\\w\\s]+\\*?\\s*(?:const\\s*\\*)?)\\)\\s*\\(?${name}\\b`).exec(body);
    if (cast === null) return null;
    types.push(spaces(cast[1]!));
  }
  return types;
}

/** All functions of one header. */
export function headerFunctions(folder: string, header: string): HeaderFunction[] {
  const raw = readFileSync(join(folder, header), "utf8");
  const found = new Map<string, HeaderFunction>();
  const attributes = new Map<string, string>();
  for (const [, name, body] of raw.matchAll(/#define (_\w*ATTRS\w*)((?:[^\n]*\\\n)*[^\n]*)/g)) {
    const target = /__target__\(\s*((?:"[^"]*"\s*)+)/.exec(body!)?.[1]?.replace(/"\s*"|"|\s/g, "");
    const inherited = [...attributes].find(([other]) => new RegExp(`\\b${other}\\b`).test(body!))?.[1];
    const features = target ?? inherited;
    if (features !== undefined) attributes.set(name!, features);
  }
  const first = [...attributes.values()][0] ?? "";
  // Attributes that a function has of its own get a name, too.
  const code = withoutComments(raw)
    .replace(/\/\/\/[^\n]*|^#\s*define (?:[^\n]*\\\n)*[^\n]*/gm, "")
    .replace(/__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)/g, (text) => {
      const name = `_OWN_ATTRS_${attributes.size}`;
      const target = /__target__\(\s*"([^"]*)"/.exec(text)?.[1];
      if (target !== undefined) attributes.set(name, target);
      return ` ${name} `;
    });
  const definition =
    /(?:static\s+)?(?:__inline__|__inline|__INLINE|inline)\s+([\w\s*()]*?)\b(_\w+)\s*\(([^(){}]*)\)\s*\{/g;
  for (const [, before, name, list] of code.matchAll(definition)) {
    const macro = /\b(_\w*ATTRS\w*)\b/.exec(before!)?.[1];
    const own = attributes.get(macro ?? "");
    const result = spaces(
      before!.replace(/\b_\w*ATTRS\w*\b|\bstatic\b|\bconstexpr\b|__attribute__\s*\(\(.*?\)\)/g, ""),
    );
    found.set(name!, {
      name: name!,
      header,
      features: own ?? "",
      result,
      parameters: parameterTypes(list!),
      isMacro: false,
    });
  }
  for (const match of raw.matchAll(
    /((?:^\/\/\/[^\n]*\n)*)^#\s*define (_\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)/gm,
  )) {
    const [, comment, name, list, body] = match;
    if (found.has(name!) || /^_MM_|^__/.test(name!)) continue;
    const names = list!
      .split(",")
      .map((p) => p.trim())
      .filter((p) => p !== "");
    const flat = comment!.replace(/^\/\/\/ ?/gm, "");
    const prototype = new RegExp(`\\\\code\\s+([\\w\\s*]*?)\\b${name}\\s*\\(([^)]*)\\)`).exec(flat);
    const documented = prototype === null ? null : parameterTypes(prototype[2]!);
    const parameters =
      documented !== null && documented.length === names.length ? documented : castTypes(body!, names);
    if (parameters === null) continue;
    found.set(name!, { name: name!, header, features: first, result: "", parameters, isMacro: true });
  }
  return [...found.values()];
}

/** Numbers that immediate operands get, one program function each; the compiler refuses those out of range. */
const immediates = [0, 1, 2, 3, 4, 8, 11, 0x1b, 0x44, 0x93, 255];

/** A function of the program: calls one of a header's. */
export interface Caller {
  readonly of: HeaderFunction;
  readonly symbol: string;
  readonly text: string;
  /** Its text tells that nothing is returned. */
  readonly isVoid: boolean;
}

const isImmediate = (f: HeaderFunction, type: string): boolean =>
  f.isMacro && /^(?:const )?(?:unsigned )?(?:int|char|short|long long|_MM_\w+|long)(?: const)?$/.test(type);

const target = (features: string): string =>
  features === ""
    ? ""
    : `__attribute__((target("${features
        .split(",")
        .filter((f) => !f.startsWith("no-"))
        .join(",")}"))) `;

/** Functions `void SYMBOL(char *out, char *in)` that call `f`: argument number i is at `in + 64 * i`, memory at `in + 1024`. */
export function callersOf(f: HeaderFunction, number: number): Caller[] {
  const hasImmediate = f.parameters.some((type) => isImmediate(f, type));
  const out: Caller[] = [];
  for (const [k, value] of (hasImmediate ? immediates : [0]).entries()) {
    let pointers = 0;
    const args = f.parameters.map((type, i) => {
      if (isImmediate(f, type)) return String(value);
      if (type.includes("*")) return `(${type})(in + ${1024 + 512 * pointers++})`;
      return `*(${type} *)(in + ${64 * i})`;
    });
    const call = `${f.name}(${args.join(", ")})`;
    const symbol = `t${number}_${k}_${f.name}`;
    const isVoid = f.result === "void";
    const type = f.result === "" ? "__typeof__(" + call + ")" : f.result;
    const body = isVoid ? `${call};` : `${type} r = ${call}; __builtin_memcpy(out, &r, sizeof r);`;
    out.push({
      of: f,
      symbol,
      isVoid,
      text: `${target(f.features)}void ${symbol}(char *out, char *in) { ${body} }`,
    });
  }
  return out;
}

/** The program's head; `main` follows from `programMain`. */
export const programHead = `#include <x86intrin.h>
#include <cpuid.h>
typedef char byte;
`;

/** Calls each function on several inputs, and prints what it leaves. @param floats those whose inputs are numbers */
export function programMain(callers: readonly Caller[], rounds: number): string {
  const kindOf = ({ of }: Caller): number =>
    of.parameters.some((t) => /__m\d+d\b|double/.test(t))
      ? 2
      : of.parameters.some((t) => /__m\d+\b(?![di])|float/.test(t))
        ? 1
        : 0;
  return `
int printf(const char *, ...);
void *memcpy(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);
static unsigned long state = 88172645463325252ull;
static unsigned long next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
static const float singles[] = {0, 1, -1, 2.5f, -3.75f, 1e10f, -1e-10f, 0.5f, 1.5f, -2.5f, -0.0f, 123456.7f, 3e38f, 1e-40f, __builtin_inff(), -7};
static const double doubles[] = {0, 1, -1, 2.5, -3.75, 1e100, -1e-100, 0.5, 1.5, -2.5, -0.0, 123456789.7, 1e300, 1e-310, __builtin_inf(), -7};
static void fill(char *p, int bytes, int kind, int round) {
  for (int i = 0; i < bytes; i += 8) {
    unsigned long x = next();
    if (kind == 2) { double d = doubles[x & 15]; memcpy(p + i, &d, 8); continue; }
    if (kind == 1) { memcpy(p + i, &singles[x & 15], 4); memcpy(p + i + 4, &singles[x >> 4 & 15], 4); continue; }
    if (round == 0) x = 0;
    if (round == 1) x = ~0ul;
    if (round == 2) x &= 0x0f070f0300ff7f80ul;
    if (round == 3) x &= 15;
    if (round == 4) x = (x & 0x0101010101010101ul) * 'a';
    memcpy(p + i, &x, 8);
  }
}
static const struct { const char *name; void (*f)(char *, char *); int kind; } all[] = {
${callers.map((c) => `  {"${c.symbol}", ${c.symbol}, ${kindOf(c)}},`).join("\n")}
};
int main(void) {
  static char in[4096] __attribute__((aligned(64))), out[64] __attribute__((aligned(64)));
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    for (int round = 0; round < ${rounds}; round++) {
      memset(out, 0, sizeof out);
      fill(in, 1024, all[i].kind, round);
      fill(in + 1024, 3072, all[i].kind, 9);
      all[i].f(out, in);
      unsigned long sum = 0;
      for (int b = 1024; b < 4096; b++) sum = sum * 31 + (unsigned char)in[b];
      printf("%s %d ", all[i].name, round);
      for (int b = 0; b < 64; b++) printf("%02x", (unsigned char)out[b]);
      printf(" %lx\\n", sum);
    }
  return 0;
}
`;
}
