/**
 * LLVM's intrinsics by base name, without their type suffixes, and which of them selection takes as they
 * are (LLVM Language Reference, "Intrinsic Functions").
 */
import type { CallInst } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { classOf, isLegalType, TypeClass } from "./legality.js";

enum Rule {
  /** Never legal: dropped, expanded or called. */
  Lower,
  /** Legal when all its types are. */
  Keep,
  /** Legal on i8 … i64. */
  Int,
  /** Legal on i16, i32, i64. */
  Swap,
  /** Legal on i32, i64. */
  Word,
  /** Legal on float, double, x86_fp80. */
  Float,
  /** memcpy and its kin: legal with a 64-bit length. */
  Memory,
}

const rules = new Map<string, Rule>();
function register(rule: Rule, names: string): void {
  for (const name of names.split(/\s+/)) if (name !== "") rules.set(name, rule);
}

register(
  Rule.Keep,
  `stacksave stackrestore va_start va_end va_copy frameaddress returnaddress addressofreturnaddress sponentry
  eh.typeid.for eh.return.i32 eh.return.i64 eh.unwind.init eh.dwarf.cfa eh.sjlj.setjmp eh.sjlj.longjmp
  eh.sjlj.lsda eh.sjlj.callsite eh.sjlj.functioncontext eh.sjlj.setup.dispatch
  trap debugtrap ubsantrap prefetch read_register read_volatile_register write_register readcyclecounter
  thread.pointer threadlocal.address`,
);
register(Rule.Int, "smax smin umax umin abs fshl fshr");
register(Rule.Swap, "bswap");
register(Rule.Word, "ctlz cttz");
register(Rule.Float, "sqrt fabs copysign");
register(Rule.Memory, "memcpy memmove memset memcpy.inline memset.inline");

const cache = new Map<string, Rule>();
const bases = new Map<string, string>();

/** Names the dispatch table knows, so that a base name can be told from its type suffixes. */
const known = new Set<string>(rules.keys());

/** Makes base names (without `llvm.`) known to `intrinsicBase`. */
export function knowIntrinsics(names: Iterable<string>): void {
  for (const name of names) known.add(name);
  bases.clear();
}

/**
 * The base name of an intrinsic: `llvm.umul.with.overflow.i64` gives `umul.with.overflow`. An unknown
 * intrinsic gives its whole name without `llvm.`.
 */
export function intrinsicBase(name: string): string {
  let base = bases.get(name);
  if (base !== undefined) return base;
  const full = name.slice("llvm.".length);
  base = full;
  while (!known.has(base)) {
    const dot = base.lastIndexOf(".");
    if (dot < 0) {
      base = full;
      break;
    }
    base = base.slice(0, dot);
  }
  bases.set(name, base);
  return base;
}

/** Whether selection takes the intrinsic with any legal operands. */
export const isKept = (base: string): boolean => rules.get(base) === Rule.Keep;

function ruleOf(name: string): Rule {
  let rule = cache.get(name);
  if (rule === undefined) {
    rule = rules.get(intrinsicBase(name)) ?? Rule.Lower;
    cache.set(name, rule);
  }
  return rule;
}

/** Whether selection takes a call of an intrinsic whose result type is legal. */
export function intrinsicIsLegal(inst: CallInst): boolean {
  const rule = ruleOf((inst.operands[0] as Func).name);
  switch (rule) {
    case Rule.Lower:
      return false;
    case Rule.Keep:
      for (let i = 1; i <= inst.data.argumentCount; i++) {
        const type = inst.operands[i]!.type;
        if (type.kind !== "metadata" && type.kind !== "token" && !isLegalType(type)) return false;
      }
      return true;
    case Rule.Int:
      return classOf(inst.type) === TypeClass.Int;
    case Rule.Swap:
      return classOf(inst.type) === TypeClass.Int && inst.type.bits >= 16;
    case Rule.Word:
      return classOf(inst.type) === TypeClass.Int && inst.type.bits >= 32;
    case Rule.Float:
      return classOf(inst.type) === TypeClass.Float;
    case Rule.Memory:
      return inst.operands[3]!.type.isInt(64);
  }
}
