/** Which intrinsics selection takes as they are, by kind of operand. */
import type { CallInst } from "../../ir/instructions.js";
import { type Intrinsic, type IntrinsicName, intrinsics } from "../../ir/intrinsics.js";
import { classOf, isLegalType, TypeClass } from "./legal-types.js";
import type { VectorTarget } from "./target.js";

const enum Rule {
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

/** By the intrinsic's number. */
const rules: Rule[] = [];
function register(rule: Rule, names: readonly IntrinsicName[]): void {
  for (const name of names) rules[intrinsics[name].id] = rule;
}

for (const { id } of Object.values(intrinsics)) rules[id] = Rule.Lower;
register(Rule.Keep, [
  "stacksave",
  "stackrestore",
  "va_start",
  "va_end",
  "va_copy",
  "frameaddress",
  "returnaddress",
  "addressofreturnaddress",
  "sponentry",
  "stackguard",
  "stackprotector",
  "eh.typeid.for",
  "eh.return.i32",
  "eh.return.i64",
  "eh.unwind.init",
  "eh.dwarf.cfa",
  "eh.sjlj.setjmp",
  "eh.sjlj.longjmp",
  "eh.sjlj.lsda",
  "eh.sjlj.callsite",
  "eh.sjlj.functioncontext",
  "eh.sjlj.setup.dispatch",
  "trap",
  "debugtrap",
  "ubsantrap",
  "prefetch",
  "read_register",
  "read_volatile_register",
  "write_register",
  "readcyclecounter",
  "thread.pointer",
  "threadlocal.address",
]);
register(Rule.Int, ["smax", "smin", "umax", "umin", "abs", "fshl", "fshr"]);
register(Rule.Swap, ["bswap"]);
register(Rule.Word, ["ctlz", "cttz"]);
register(Rule.Float, ["sqrt", "fabs", "copysign"]);
register(Rule.Memory, ["memcpy", "memmove", "memset", "memcpy.inline", "memset.inline"]);

const ruleOf = (intrinsic: Intrinsic): Rule =>
  intrinsic.id < rules.length ? rules[intrinsic.id]! : Rule.Lower;

/** Whether selection takes the intrinsic with any legal operands. */
export const isKept = (intrinsic: Intrinsic): boolean => ruleOf(intrinsic) === Rule.Keep;

/** Whether selection takes a call of an intrinsic whose result type is legal. */
export function intrinsicIsLegal(inst: CallInst, intrinsic: Intrinsic, vectors: VectorTarget): boolean {
  switch (ruleOf(intrinsic)) {
    case Rule.Lower:
      return false;
    case Rule.Keep:
      for (let i = 1; i <= inst.data.argumentCount; i++) {
        const type = inst.operands[i]!.type;
        if (type.kind !== "metadata" && type.kind !== "token" && !isLegalType(type, vectors)) return false;
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
