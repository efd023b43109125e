/** Constants of types that are not legal, as constants of their parts. */
import { elementOf as elementOrNull } from "../../ir/fold/aggregates.js";
import { Op } from "../../ir/instructions.js";
import { i64 } from "../../ir/types.js";
import {
  type Constant,
  ConstExpr,
  type ConstInt,
  ConstUndef,
  constI64,
  constInt,
  zeroOf,
} from "../../ir/values.js";
import { promotedInt } from "./emitter.js";
import type { Lowering, Parts } from "./lowering.js";
import { memberTypes } from "./part-types.js";

/**
 * Parts of a constant. Constants stay constants, except expressions that need computing: those become
 * instructions at the current place.
 */
export function constantParts(l: Lowering, c: Constant): Parts {
  const type = c.type;
  switch (c.valueKind) {
    case "int":
      return intParts(c);
    case "undef":
      return l.partTypes(type).map((t) => new ConstUndef(t, c.poison));
    case "zero":
      return l.partTypes(type).map(zeroOf);
    case "expr":
      return exprParts(l, c);
    case "none":
      return [c];
    default:
      break;
  }
  if (type.kind === "vector") return l.vectors.constant(l, c);
  if (type.isAggregate) {
    const parts = [];
    for (let i = 0, n = memberTypes(type).length; i < n; i++)
      for (const part of l.parts(elementOf(c, i))) parts.push(part);
    return parts;
  }
  return [c];
}

function intParts(c: ConstInt): Parts {
  const bits = c.type.bits;
  if (bits <= 64) return [constInt(promotedInt(bits), BigInt.asUintN(bits, c.value))];
  const words: ConstInt[] = [];
  for (let at = 0; at < bits; at += 64) words.push(constI64(BigInt.asIntN(64, c.value >> BigInt(at))));
  return words;
}

function exprParts(l: Lowering, c: ConstExpr): Parts {
  if (c.op === Op.PtrToInt && c.type.kind === "int" && c.operands[0]!.type.kind === "ptr") {
    if (c.type.bits > 64) {
      const low = new ConstExpr(i64, Op.PtrToInt, c.operands);
      const words: Constant[] = [low];
      for (let at = 64; at < c.type.bits; at += 64) words.push(constI64(0));
      return words;
    }
  }
  return l.expand(c);
}

/** Element `index` of a constant array, vector or struct. */
export function elementOf(c: Constant, index: number): Constant {
  const element = elementOrNull(c, index);
  if (element === null) throw new Error(`legalize: element of a constant ${c.valueKind}`);
  return element;
}
