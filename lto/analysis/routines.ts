/**
 * Which routines of the run-time libraries code generation may call for what IR says, where the program defines them itself
 * and nothing else mentions them (`Module.routines`).
 *
 * Names are rather too many than too few: they go by words of intrinsics' names and by types, not by what the machine has an
 * instruction for. What calls them is codegen/legalize and the selection of copies; test/legalize/routines.test.ts has all of it say
 * which names it asks for.
 *
 * Mathematics and the environment of floating point are asked for by intrinsics alone, which passes make none of: their absence is
 * final as soon as the program is linked. Others go by operations too, and passes make copies and square roots: the last pass on the
 * program knows.
 */
import { type BodyView, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { GlobalValue, Module } from "../ir/module.js";
import type { Type, TypeKind } from "../ir/types.js";

/** Functions of `math.h` that intrinsics of the same name become calls of. */
const mathematics = (
  "sqrt fmod pow powi exp exp2 exp10 log log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh sincos " +
  "floor ceil trunc rint nearbyint round roundeven lround llround lrint llrint fma fmin fmax fminimum fmaximum " +
  "fdim copysign fabs ldexp frexp modf"
).split(" ");
/** What is at the end of the names for a type of numbers; half precision is computed in single. */
const suffixOf: Readonly<Partial<Record<TypeKind, string>>> = {
  half: "f",
  bfloat: "f",
  float: "f",
  double: "",
  x86_fp80: "l",
  fp128: "f128",
};
const suffixes = [...new Set(Object.values(suffixOf))];
export const mathRoutines: readonly string[] = mathematics.flatMap((name) =>
  suffixes.map((suffix) => name + suffix),
);

/** Functions of `fenv.h`. */
export const environmentRoutines: readonly string[] = "fegetenv fesetenv fegetmode fesetmode".split(" ");

/** Functions of mathematics by words of intrinsics' names, which are separated by dots. */
const mathByWord = new Map<string, readonly string[]>([
  ...mathematics.map((name) => [name, [name]] as const),
  ["sincos", ["sincos", "sin", "cos"]],
  ["sincospi", ["sincos", "sin", "cos"]],
  ["frem", ["fmod"]],
  ...["minnum", "minimum", "minimumnum"].map((word) => [word, ["fmin", "fminimum"]] as const),
  ...["maxnum", "maximum", "maximumnum"].map((word) => [word, ["fmax", "fmaximum"]] as const),
]);
/** Other routines by such words. */
const byWord = new Map<string, readonly string[]>([
  ["fpenv", environmentRoutines],
  ["fpmode", environmentRoutines],
  ["memcpy", ["memcpy", "memmove"]],
  ["memmove", ["memcpy", "memmove"]],
  ["memset", ["memset"]],
]);

/** Of remainders, which are operations. */
const remainder = "fmod";
/** Those whose absence is final at the link: nothing but an intrinsic of the name asks for them. */
const finalAtLink = new Set([...mathRoutines, ...environmentRoutines]);
for (const suffix of suffixes) finalAtLink.delete(remainder + suffix);

/** Words of intrinsics that become calls of the compiler's own routines, whatever their types: fixed-point division is one of twice the width. */
const compilersWords: ReadonlySet<string> = new Set(["powi", "fp16", "unordered", "fix"]);

/** Memory that C's routines look at. Of them code generation calls `memcpy`, `memmove` and `memset`. */
const memory: ReadonlySet<string> = new Set(
  "memcpy memmove memset memcmp bcmp bzero mempcpy strlen abort".split(" "),
);

/** Numbers that registers do not hold are computed by the compiler's routines. */
function isComputedByRoutines(type: Type): boolean {
  switch (type.kind) {
    case "int":
      return type.bits > 64;
    case "half":
    case "bfloat":
    case "fp128":
      return true;
    case "vector":
    case "array":
    case "struct":
      return type.elements.some(isComputedByRoutines);
    default:
      return false;
  }
}

/** The suffixes for the types of numbers in a type. */
function suffixesIn(type: Type): readonly string[] {
  const suffix = suffixOf[type.kind];
  return suffix === undefined ? type.elements.flatMap(suffixesIn) : [suffix];
}

/** What leaves a frame on the way of an exception. */
export const unwindingRoutine = "_Unwind_Resume";

/** The routines of a module, for those who follow what mentions what. */
export class Routines {
  /** What stays for a call of each name. */
  private readonly byName = new Map<string, readonly GlobalValue[]>();
  private readonly definitions = new Set<GlobalValue>();
  /** Those that operations may ask for. */
  private readonly ofLaterCalls = new Set<GlobalValue>();
  private readonly known = new Map<Type, boolean>();

  constructor({ globals, routines }: Pick<Module, "globals" | "routines">) {
    if (routines.size === 0) return;
    const present = new Set(globals);
    for (const [name, listed] of routines) {
      const definitions = listed.filter((definition) => present.has(definition));
      this.byName.set(name, definitions);
      for (const definition of definitions) {
        this.definitions.add(definition);
        if (!finalAtLink.has(name)) this.ofLaterCalls.add(definition);
      }
    }
  }

  get count(): number {
    return this.definitions.size;
  }

  has(global: GlobalValue): boolean {
    return this.definitions.has(global);
  }

  /** Whether it is one that goes if no intrinsic asks for it, though operations were not looked at. */
  isFinalAtLink(global: GlobalValue): boolean {
    return this.has(global) && !this.ofLaterCalls.has(global);
  }

  /** Shows what calls of a function may become, if that is an intrinsic. */
  ofIntrinsic(callee: GlobalValue, show: (routine: GlobalValue) => void): void {
    const intrinsic = intrinsicOf(callee);
    if (intrinsic === null) return;
    for (const word of intrinsic.name.split(".")) {
      for (const name of mathByWord.get(word) ?? [])
        for (const suffix of suffixesIn(callee.valueType)) this.show(name + suffix, show);
      for (const name of byWord.get(word) ?? []) this.show(name, show);
      if (compilersWords.has(word)) this.showCompilers(show);
    }
  }

  /** Shows what the operations of a body may become calls of, those of intrinsics aside. */
  ofOperations(body: BodyView, show: (routine: GlobalValue) => void): void {
    let isWide = false;
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        if (inst.op === Op.FRem)
          for (const suffix of suffixesIn(inst.type)) this.show(remainder + suffix, show);
        else if (inst.op === Op.Resume) this.show(unwindingRoutine, show);
        isWide ||= this.isWide(inst.type) || inst.operands.some(({ type }) => this.isWide(type));
      }
    if (isWide) this.showCompilers(show);
  }

  private isWide(type: Type): boolean {
    let isWide = this.known.get(type);
    if (isWide === undefined) this.known.set(type, (isWide = isComputedByRoutines(type)));
    return isWide;
  }

  private show(name: string, show: (routine: GlobalValue) => void): void {
    for (const routine of this.byName.get(name) ?? []) show(routine);
  }

  /** libgcc's and compiler-rt's. */
  private showCompilers(show: (routine: GlobalValue) => void): void {
    for (const name of this.byName.keys())
      if (
        !finalAtLink.has(name) &&
        !memory.has(name) &&
        !name.startsWith(remainder) &&
        name !== unwindingRoutine
      )
        this.show(name, show);
  }
}
