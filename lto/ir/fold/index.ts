/**
 * The constant folder: what an operation on constants is.
 *
 * One place for the semantics of LLVM's IR on constants, undef and poison included; the passes, the builder and code
 * generation ask it. Vectors are folded element by element. Results are canonical (`aggregates.ts`, `addresses.ts`).
 * What is undefined behaviour (division by zero) is never folded, x87 and 128-bit floating point neither.
 *
 * Breaks if: the program changes its rounding mode or floating-point environment outside of constrained intrinsics;
 * the mode says that subnormal numbers are honoured in a function that flushes them.
 */
import type { DataLayout } from "../data-layout.js";
import {
  type BinaryOp,
  type CastOp,
  type FloatPredicate,
  type GepData,
  type Inst,
  type InstData,
  type IntPredicate,
  isPlainAccess,
  Op,
} from "../instructions.js";
import type { Func } from "../module.js";
import type { Type } from "../types.js";
import { type Constant, isConstant, type Value, zeroOf } from "../values.js";
import { foldAddressCast, foldAddressCompare, foldAddressDifference, foldGep } from "./addresses.js";
import { aggregateOf, elementOf, elementsOf, memberOf, withMember } from "./aggregates.js";
import { foldBitCast } from "./bits.js";
import { foldFloatIntrinsic } from "./float-intrinsics.js";
import { foldIntegerIntrinsic, foldReduction, isReduction } from "./intrinsics.js";
import { foldLoad } from "./load.js";
import {
  type FloatMode,
  foldBinary,
  foldCast,
  foldFloatCompare,
  foldIntegerCompare,
  foldNegate,
  foldSelect,
  isUndef,
  poisonOf,
} from "./scalars.js";

export { constantGepOffset } from "./addresses.js";

const defaultMode: FloatMode = { subnormals: true };

/** What arithmetic on floating point means in a function, by its attributes. */
export function floatModeOf(fn: Func): FloatMode {
  const attributes = fn.attributes.fn;
  for (const name of ["denormal-fp-math", "denormal-fp-math-f32"]) {
    const value = attributes.string(name);
    if (value !== undefined && value !== "ieee" && value !== "ieee,ieee") return { subnormals: false };
  }
  return defaultMode;
}

export class Folder {
  constructor(
    private readonly layout: DataLayout,
    private readonly mode: FloatMode = defaultMode,
  ) {}

  /** What an instruction is, all of whose operands are constants, or null. Loads are folded too, unless volatile. */
  inst(inst: Inst): Constant | null {
    const { operands } = inst;
    if (inst.op === Op.Call) return this.call(inst);
    for (let i = 0; i < operands.length; i++) if (!isConstant(operands[i]!)) return null;
    if (inst.op === Op.Load)
      return isPlainAccess(inst) ? this.load(inst.type, operands[0] as Constant) : null;
    return this.operation(inst.op, inst.type, operands, inst.data, inst.flags);
  }

  private call(call: Inst): Constant | null {
    const [callee, ...args] = call.operands;
    if (callee!.valueKind !== "global" || callee!.kind !== "function" || callee!.intrinsic === null)
      return null;
    if (!args.every(isConstant)) return null;
    return this.intrinsic(callee!.intrinsic.name, call.type, args);
  }

  /** A load that is neither volatile nor atomic. */
  load(type: Type, address: Constant): Constant | null {
    return foldLoad(this.layout, type, address);
  }

  /** What a call of an intrinsic (`Intrinsic.name`) is, or null. */
  intrinsic(name: string, type: Type, args: readonly Constant[]): Constant | null {
    if (isReduction(name)) {
      const elements = args[0]!.type.kind === "vector" ? elementsOf(args[0]!) : null;
      return elements === null ? null : foldReduction(name, elements);
    }
    if (type.kind === "struct" && type.elements[0]!.kind === "vector") return null;
    if (type.kind !== "vector")
      return foldIntegerIntrinsic(name, type, args) ?? foldFloatIntrinsic(name, type, args, this.mode);
    // Operands that are no vectors (`is_zero_poison`) serve every element.
    return this.perElement(type, args, (parts) => this.intrinsic(name, type.element, parts));
  }

  /** What an operation is, or null. Fits `FoldOperation`. */
  readonly operation = (
    op: Op,
    type: Type,
    operands: readonly Value[],
    data: InstData,
    flags: number,
  ): Constant | null => {
    if (!operands.every(isConstant)) return null;
    return this.constants(op, type, operands, data, flags);
  };

  private constants(
    op: Op,
    type: Type,
    operands: readonly Constant[],
    data: InstData,
    flags: number,
  ): Constant | null {
    const [a, b, c] = operands as [Constant, Constant, Constant];
    switch (op) {
      case Op.ExtractValue:
        return memberOf(a, data as readonly number[]);
      case Op.InsertValue:
        return withMember(a, data as readonly number[], b);
      case Op.ExtractElement:
        return this.extractElement(type, a, b);
      case Op.InsertElement:
        return this.insertElement(type, a, b, c);
      case Op.ShuffleVector:
        return this.shuffle(type, a, b, data as readonly number[]);
      case Op.BitCast:
        return foldBitCast(a, type);
      case Op.GetElementPtr:
        return foldGep(this.layout, type, (data as GepData).elementType, operands, flags);
      case Op.Freeze:
        return frozen(a);
      case Op.Select:
        if (a.type.kind !== "vector") return foldSelect(a, b, c);
        break;
    }
    if (a === undefined) return null;
    if (type.kind === "vector")
      return this.perElement(type, operands, (parts) => this.scalar(op, type.element, parts, data, flags));
    return a.type.kind === "vector" ? null : this.scalar(op, type, operands, data, flags);
  }

  private perElement(
    type: Type,
    operands: readonly Constant[],
    fold: (parts: readonly Constant[]) => Constant | null,
  ): Constant | null {
    const elements: Constant[] = [];
    for (let i = 0; i < type.count; i++) {
      const parts: Constant[] = [];
      for (const operand of operands) {
        const part = operand.type.kind === "vector" ? elementOf(operand, i) : operand;
        if (part === null) return null;
        parts.push(part);
      }
      const element = fold(parts);
      if (element === null) return null;
      elements.push(element);
    }
    return aggregateOf(type, elements);
  }

  private scalar(
    op: Op,
    type: Type,
    operands: readonly Constant[],
    data: InstData,
    flags: number,
  ): Constant | null {
    const [a, b, c] = operands as [Constant, Constant, Constant];
    const { mode, layout } = this;
    if (op >= Op.Add && op <= Op.Xor) {
      const folded = foldBinary(op as BinaryOp, a, b, flags, mode);
      return folded ?? (op === Op.Sub ? foldAddressDifference(layout, a, b) : null);
    }
    if (op >= Op.Trunc && op <= Op.AddrSpaceCast) {
      const folded = foldCast(op as CastOp, a, type, flags, mode);
      return folded ?? foldAddressCast(layout, op as CastOp, a, type);
    }
    switch (op) {
      case Op.FNeg:
        return foldNegate(a);
      case Op.ICmp: {
        const predicate = data as IntPredicate;
        const folded = foldIntegerCompare(predicate, type, a, b, flags);
        return folded ?? foldAddressCompare(layout, predicate, a, b);
      }
      case Op.FCmp:
        return foldFloatCompare(data as FloatPredicate, type, a, b, mode);
      case Op.Select:
        return foldSelect(a, b, c);
      default:
        return null;
    }
  }

  private extractElement(type: Type, vector: Constant, index: Constant): Constant | null {
    if (isUndef(index)) return poisonOf(type);
    if (index.valueKind !== "int") return null;
    const at = BigInt.asUintN(index.type.bits, index.value);
    return at >= BigInt(vector.type.count) ? poisonOf(type) : elementOf(vector, Number(at));
  }

  private insertElement(type: Type, vector: Constant, element: Constant, index: Constant): Constant | null {
    if (isUndef(index)) return poisonOf(type);
    if (index.valueKind !== "int") return null;
    const at = BigInt.asUintN(index.type.bits, index.value);
    return at >= BigInt(type.count) ? poisonOf(type) : withMember(vector, [Number(at)], element);
  }

  private shuffle(type: Type, a: Constant, b: Constant, mask: readonly number[]): Constant | null {
    const { count } = a.type;
    const elements: Constant[] = [];
    for (const at of mask) {
      const element =
        at < 0 ? poisonOf(type.element) : at < count ? elementOf(a, at) : elementOf(b, at - count);
      if (element === null) return null;
      elements.push(element);
    }
    return aggregateOf(type, elements);
  }
}

/** A value that stays the same; undefined parts become zero. Null where it may be poison in ways not seen here. */
function frozen(c: Constant): Constant | null {
  switch (c.valueKind) {
    case "undef":
      return zeroOf(c.type);
    case "int":
    case "float":
    case "zero":
    case "data":
    case "global":
      return c;
    case "aggregate": {
      const elements = c.elements.map(frozen);
      return elements.some((e) => e === null) ? null : aggregateOf(c.type, elements as Constant[]);
    }
    default:
      return null;
  }
}
