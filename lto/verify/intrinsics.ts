/**
 * Signatures of intrinsics (LLVM Language Reference, "Intrinsic Functions").
 *
 * Whoever lowers an intrinsic relies on the types of its operands, so calls are held to them. A declaration
 * that nothing calls is harmless, and compilers that upgrade older modules leave some behind. The table has the target-independent ones that mean something to code generation; others may be
 * declared in any way, and are refused where they are lowered.
 */
import type { Func } from "../ir/module.js";
import { i1, type Type, vectorType } from "../ir/types.js";
import { describeType } from "./describe.js";
import type { Problem } from "./rules.js";

/*
 * A signature is `result(parameters)`, one character a type, alternatives separated by `|`:
 *
 *   v void    b i1    c i8    h i16    w i32    x i64    d double    m metadata    p pointer
 *   i an integer              N an integer or a vector of integers
 *   f a float                 F a float or a vector of floats
 *   P a pointer or a vector of pointers       V a vector       * anything
 *   0 the type of the result, 1…9 that of a parameter
 *   E the element type of the first vector among the parameters
 *   B i1, or a vector of i1 as long as the first parameter
 *   O { T, B } where T is the type of the first parameter
 */
const signatures: Readonly<Record<string, string>> = {
  vppib: "memcpy memmove memcpy.inline",
  vpcib: "memset memset.inline",
  "vxp|vp": "lifetime.start lifetime.end",
  pxp: "invariant.start",
  vpxp: "invariant.end",
  vb: "assume",
  i00: "expect",
  i00d: "expect.with.probability",
  v: "donothing trap debugtrap sideeffect eh.unwind.init",
  vc: "ubsantrap",
  vxxwx: "pseudoprobe",
  vp: "va_start va_end stackrestore eh.sjlj.longjmp",
  vpp: "va_copy clear_cache",
  p: "stacksave addressofreturnaddress sponentry thread.pointer",
  pw: "frameaddress returnaddress eh.dwarf.cfa",
  pp: "threadlocal.address launder.invariant.group strip.invariant.group",
  vpwww: "prefetch",
  x: "readcyclecounter readsteadycounter",
  im: "read_register read_volatile_register",
  vmi: "write_register",
  wp: "eh.typeid.for eh.sjlj.setjmp",
  "ipbbb|ipbb|ipb": "objectsize",
  i: "get.dynamic.area.offset",
  "b*": "is.constant",
  P0N: "ptrmask",
  "*0": "ssa.copy",
  vm: "experimental.noalias.scope.decl",
  bpm: "type.test public.type.test",
  ppi: "load.relative",
  N0: "bswap bitreverse ctpop",
  N0b: "ctlz cttz abs",
  N000: "fshl fshr",
  N00: "smax smin umax umin sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat",
  NN1: "scmp ucmp",
  N00w: "smul.fix umul.fix smul.fix.sat umul.fix.sat sdiv.fix udiv.fix sdiv.fix.sat udiv.fix.sat",
  ON1: "sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow smul.with.overflow umul.with.overflow",
  F0:
    "sqrt fabs floor ceil trunc rint nearbyint round roundeven sin cos tan asin acos atan sinh cosh tanh " +
    "exp exp2 exp10 log log2 log10 canonicalize arithmetic.fence",
  F00: "pow copysign minnum maxnum minimum maximum minimumnum maximumnum atan2",
  F000: "fma fmuladd",
  F0i: "powi",
  F0N: "ldexp",
  NF: "lrint llrint lround llround fptosi.sat fptoui.sat",
  BFw: "is.fpclass",
  hf: "convert.to.fp16",
  fh: "convert.from.fp16",
  w: "get.rounding",
  vw: "set.rounding",
  EV:
    "vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor " +
    "vector.reduce.smax vector.reduce.smin vector.reduce.umax vector.reduce.umin vector.reduce.fmax " +
    "vector.reduce.fmin vector.reduce.fmaximum vector.reduce.fminimum",
  EEV: "vector.reduce.fadd vector.reduce.fmul",
};

const table = new Map<string, readonly string[]>();
for (const [signature, names] of Object.entries(signatures))
  for (const name of names.split(" ")) table.set(name, signature.split("|"));

/** How the types of an overload are spelled in a name: `i32`, `f64`, `bf16`, `v4i32`, `p0`, `sl_i32i32s`, … */
const overload = /^(?:[ifvap]\d|bf16|nxv|ppcf|x86|isVoid|Metadata|sl?_|f_|t)/;

/** Alternatives for an intrinsic; what stands behind its name in the table are the overloaded types. */
function signaturesOf(name: string): readonly string[] | undefined {
  if (!name.startsWith("llvm.")) return undefined;
  let base = name.slice(5);
  for (;;) {
    const found = table.get(base);
    if (found !== undefined) return found;
    const dot = base.lastIndexOf(".");
    if (dot < 0 || !overload.test(base.slice(dot + 1))) return undefined;
    base = base.slice(0, dot);
  }
}

/** What is wrong with a definition that has the name of an intrinsic, or null. */
export const intrinsicBodyProblem = (fn: Func): Problem =>
  fn.isDeclaration || signaturesOf(fn.name) === undefined ? null : "an intrinsic with a body";

/**
 * What is wrong with a call to a function that may have the name of an intrinsic, or null.
 * @param type that of the call: modules of different ages may disagree with the declaration
 */
export function intrinsicCallProblem(fn: Func, type: Type): Problem {
  const alternatives = signaturesOf(fn.name);
  if (alternatives === undefined) return null;
  return alternatives.some((signature) => fits(signature, type))
    ? null
    : `${describeType(type)} is not a type of @${fn.name.slice(0, 60)}`;
}

function fits(signature: string, type: Type): boolean {
  const { elements } = type;
  if (type.isVarArg || elements.length !== signature.length) return false;
  for (let i = 0; i < elements.length; i++) if (!matches(signature[i]!, elements[i]!, elements)) return false;
  return true;
}

/** i1, or as many of them as `type` has lanes. */
const truth = (type: Type): Type => (type.isVector ? vectorType(type.count, i1) : i1);

/** @param all the result and the parameters */
function matches(code: string, type: Type, all: readonly Type[]): boolean {
  switch (code) {
    case "v":
      return type.kind === "void";
    case "b":
      return type === i1;
    case "c":
      return type.isInt(8);
    case "h":
      return type.isInt(16);
    case "w":
      return type.isInt(32);
    case "x":
      return type.isInt(64);
    case "d":
      return type.kind === "double";
    case "m":
      return type.kind === "metadata";
    case "p":
      return type.isPointer;
    case "i":
      return type.kind === "int";
    case "N":
      return type.scalar.kind === "int";
    case "f":
      return type.isFloat;
    case "F":
      return type.scalar.isFloat;
    case "P":
      return type.scalar.isPointer;
    case "V":
      return type.isVector;
    case "*":
      return true;
    case "E":
      return all.slice(1).find((t) => t.isVector)?.element === type;
    case "B":
      return type === truth(all[1]!);
    case "O":
      return (
        type.kind === "struct" &&
        type.elements.length === 2 &&
        type.elements[0] === all[1] &&
        type.elements[1] === truth(all[1]!)
      );
    default:
      return type === all[Number(code)];
  }
}
