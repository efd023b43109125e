/**
 * Which instructions the legaliser may leave alone.
 *
 * A table by operation on classes of interned types; this runs over every instruction of the program, so a
 * function that is legal as it stands costs one scan and nothing else.
 */
import { type CallInst, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { intrinsicIsLegal } from "./intrinsic-legality.js";
import { classIn, classOf, isLegalType, TypeClass } from "./legal-types.js";
import type { VectorTarget } from "./target.js";

/**
 * Whether a constant operand of legal type can be handed to selection: literals, addresses, and the
 * expressions on them that a relocation can express or that selection computes as an address.
 */
export function isLegalConstant(value: Value): boolean {
  switch (value.valueKind) {
    case "expr": {
      if (classOf(value.type) !== TypeClass.Pointer && !value.type.isInt(64)) return false;
      const first = value.operands[0]!;
      switch (value.op) {
        case Op.GetElementPtr:
          for (let i = 1; i < value.operands.length; i++) {
            const index = value.operands[i]!;
            if (index.valueKind !== "int" && index.valueKind !== "zero") return false;
            if (index.type.kind !== "int") return false;
          }
          return first.type.kind === "ptr" && isLegalConstant(first);
        case Op.PtrToInt:
        case Op.IntToPtr:
        case Op.BitCast:
        case Op.AddrSpaceCast:
          return (first.type.kind === "ptr" || first.type.isInt(64)) && isLegalConstant(first);
        case Op.Add:
        case Op.Sub:
          return value.operands[1]!.valueKind === "int" && isLegalConstant(first);
        default:
          return false;
      }
    }
    case "aggregate":
      if (value.type.kind !== "vector") return true;
      for (const element of value.elements) {
        const kind = element.valueKind;
        if (kind !== "int" && kind !== "float" && kind !== "undef") return false;
      }
      return true;
    default:
      return true;
  }
}

/** Classes of types, as bits. */
const classes = (...of: readonly number[]): number => of.reduce((set, c) => set | (1 << c), 0);
const has = (set: number, type: Type, vectors: VectorTarget): boolean =>
  ((set >> classIn(type, vectors)) & 1) !== 0;

/** Of any type: nobody looks. */
const any = -1;
const bool = classes(TypeClass.Bool);
const int = classes(TypeClass.Int);
const pointer = classes(TypeClass.Pointer);
const float = classes(TypeClass.Float);
const legal = bool | int | pointer | float | classes(TypeClass.SoftFloat, TypeClass.Vector);
const vector = classes(TypeClass.Vector);
const none = classes(TypeClass.None);
/** What memory holds of legal types. */
const stored = legal & ~bool;

type Condition = (inst: Inst, vectors: VectorTarget) => boolean;

/** When an instruction is legal. */
interface Rule {
  /** Classes of its type, and of that of its first operand. */
  readonly result: number;
  readonly first: number;
  /** What has to hold besides. */
  readonly also: Condition | null;
}

const rule = (result: number, first = any, also: Condition | null = null): Rule => ({ result, first, also });

const vectorIsLegal: Condition = (inst, vectors) => !has(vector, inst.type, vectors) || vectors.isLegal(inst);
const integer = rule(int | vector, any, vectorIsLegal);
const bitwise = rule(int | bool | vector, any, vectorIsLegal);
const floating = rule(float | vector, any, vectorIsLegal);
const always = rule(any);
const resultIsWord: Condition = ({ type }) => isWordInt(type);

/** By operation. What has none is always rewritten: element and value access, compare-exchange, landing pads, … */
const rules: Partial<Readonly<Record<Op, Rule>>> = {
  [Op.Ret]: rule(
    any,
    any,
    ({ operands }, vectors) => operands.length === 0 || isLegalType(operands[0]!.type, vectors),
  ),
  [Op.Br]: always,
  [Op.CondBr]: always,
  [Op.IndirectBr]: always,
  [Op.Unreachable]: always,
  [Op.Fence]: always,
  [Op.Switch]: rule(any, int),
  [Op.Add]: integer,
  [Op.Sub]: integer,
  [Op.Mul]: integer,
  [Op.UDiv]: integer,
  [Op.SDiv]: integer,
  [Op.URem]: integer,
  [Op.SRem]: integer,
  [Op.Shl]: integer,
  [Op.LShr]: integer,
  [Op.AShr]: integer,
  [Op.And]: bitwise,
  [Op.Or]: bitwise,
  [Op.Xor]: bitwise,
  [Op.FNeg]: floating,
  [Op.FAdd]: floating,
  [Op.FSub]: floating,
  [Op.FMul]: floating,
  [Op.FDiv]: floating,
  [Op.Alloca]: rule(any, any, ({ operands: [count] }) => isLegalCount(count!)),
  [Op.Load]: rule(stored, any, (inst, vectors) => isPlain(inst) || has(int | pointer, inst.type, vectors)),
  [Op.Store]: rule(
    any,
    stored,
    (inst, vectors) => isPlain(inst) || has(int | pointer, inst.operands[0]!.type, vectors),
  ),
  [Op.AtomicRMW]: rule(int | pointer, any, (inst) => isDirectRMW((inst as InstWith<Op.AtomicRMW>).data.rmw)),
  [Op.GetElementPtr]: rule(any, any, isLegalGep),
  [Op.Trunc]: rule(int | bool, int),
  [Op.ZExt]: rule(int, int | bool),
  [Op.SExt]: rule(int, int | bool),
  [Op.FPTrunc]: rule(float, float),
  [Op.FPExt]: rule(float, float),
  [Op.FPToUI]: rule(any, float, resultIsWord),
  [Op.FPToSI]: rule(any, float, resultIsWord),
  [Op.UIToFP]: rule(float, any, ({ operands }) => isWordInt(operands[0]!.type)),
  [Op.SIToFP]: rule(float, any, ({ operands }) => isWordInt(operands[0]!.type)),
  [Op.PtrToInt]: rule(any, any, (inst) => inst.type.isInt(64) && inst.operands[0]!.type.kind === "ptr"),
  [Op.IntToPtr]: rule(any, any, (inst) => inst.operands[0]!.type.isInt(64) && inst.type.kind === "ptr"),
  [Op.BitCast]: rule(any, any, (inst, vectors) => isLegalBitCast(inst.operands[0]!.type, inst.type, vectors)),
  [Op.AddrSpaceCast]: rule(any, any, ({ type }) => type.kind === "ptr"),
  // Single bits are compared for equality alone.
  [Op.ICmp]: rule(
    any,
    int | pointer | bool,
    ({ operands, data }, vectors) => !has(bool, operands[0]!.type, vectors) || data === "eq" || data === "ne",
  ),
  [Op.FCmp]: rule(any, float),
  [Op.Freeze]: rule(legal, any, ({ type }) => type.kind !== "x86_fp80"),
  [Op.Phi]: rule(legal),
  [Op.Select]: rule(legal, any, ({ operands }) => operands[0]!.type.kind === "int"),
  [Op.Call]: rule(legal | none, any, isLegalCall),
  [Op.Invoke]: rule(legal | none, any, isLegalCall),
  [Op.CallBr]: rule(legal | none, any, isLegalCall),
};

/** Whether selection takes the instruction as it is. */
export function isLegalInst(inst: Inst, vectors: VectorTarget): boolean {
  const { operands } = inst;
  for (let i = 0; i < operands.length; i++) {
    const kind = operands[i]!.valueKind;
    if ((kind === "expr" || kind === "aggregate") && !isLegalConstant(operands[i]!)) return false;
  }
  const found = rules[inst.op];
  if (found === undefined) return false;
  const { result, first, also } = found;
  if (result !== any && !has(result, inst.type, vectors)) return false;
  if (first !== any && !has(first, operands[0]!.type, vectors)) return false;
  return also === null || also(inst, vectors);
}

const isPlain = (inst: Inst): boolean =>
  (inst as InstWith<Op.Load | Op.Store>).data.ordering === "not_atomic";

const isLegalCount = (count: Value): boolean =>
  count.type.isInt(64) || (count.valueKind === "int" && count.type.bits <= 64 && count.value >= 0n);

function isLegalGep({ type, operands }: Inst, vectors: VectorTarget): boolean {
  if (type.kind !== "ptr") return false;
  for (let i = 1; i < operands.length; i++) {
    const index = operands[i]!;
    if (index.type.kind !== "int") return false;
    if (index.valueKind !== "int" && classIn(index.type, vectors) !== TypeClass.Int) return false;
  }
  return true;
}

function isLegalCall(inst: Inst, vectors: VectorTarget): boolean {
  const { op, operands, data } = inst as CallInst;
  const intrinsic = intrinsicOf(operands[0]!);
  if (intrinsic !== null) return op === Op.Call && intrinsicIsLegal(inst as CallInst, intrinsic, vectors);
  for (let i = 1; i <= data.argumentCount; i++)
    if (!has(legal | none, operands[i]!.type, vectors)) return false;
  return true;
}

const isWordInt = (type: Type): boolean => type.isInt(32) || type.isInt(64);

/** int ↔ float or half of the same size, vector ↔ vector. */
export function isLegalBitCast(from: Type, to: Type, vectors: VectorTarget): boolean {
  if (from === to) return false;
  const f = classIn(from, vectors);
  const t = classIn(to, vectors);
  if (f === TypeClass.Vector && t === TypeClass.Vector) return true;
  // fp128 lives in a vector register, so its bits are a vector for free.
  if (from.kind === "fp128") return t === TypeClass.Vector;
  if (to.kind === "fp128") return f === TypeClass.Vector;
  if (from.kind === "x86_fp80" || to.kind === "x86_fp80") return false;
  const isMoved = (c: number): boolean => c === TypeClass.Float || c === TypeClass.SoftFloat;
  return (f === TypeClass.Int && isMoved(t)) || (t === TypeClass.Int && isMoved(f));
}

/** Read-modify-write operations that selection has instructions or loops for. */
export function isDirectRMW(op: string): boolean {
  switch (op) {
    case "xchg":
    case "add":
    case "sub":
    case "and":
    case "or":
    case "xor":
    case "nand":
    case "max":
    case "min":
    case "umax":
    case "umin":
      return true;
    default:
      return false;
  }
}
