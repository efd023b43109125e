/**
 * Loads, stores and address arithmetic.
 *
 * A plain access of an illegal type becomes accesses of its parts that touch exactly the bytes of the
 * original: an integer of w bits occupies ceil(w/8) bytes, little endian, its padding bits stored as zero.
 * Aggregates go member by member; padding between members is not accessed.
 */
import { Flag, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { i64 } from "../../ir/types.js";
import { constInt, isConstant, type Value } from "../../ir/values.js";
import { lowerAtomicLoad, lowerAtomicStore } from "./atomics.js";
import { elementOf } from "./constants.js";
import { intResize } from "./integers.js";
import { isLegalType } from "./legal-types.js";
import type { Lowering, Parts } from "./lowering.js";
import { loadParts, storeParts } from "./memory-parts.js";

const accessFlags = (inst: Inst): number => inst.flags & Flag.Volatile;
export function lowerLoad(l: Lowering, inst: InstWith<Op.Load>): Parts {
  const pointer = l.value(inst.operands[0]!);
  if (inst.data.ordering !== "not_atomic") return lowerAtomicLoad(l, inst, pointer);
  return loadParts(l, inst.type, pointer, inst.data.align, accessFlags(inst));
}

export function lowerStore(l: Lowering, inst: InstWith<Op.Store>): Parts {
  const value = inst.operands[0]!;
  const pointer = l.value(inst.operands[1]!);
  if (inst.data.ordering !== "not_atomic") {
    lowerAtomicStore(l, inst, pointer);
    return [];
  }
  storeParts(l, value.type, l.parts(value), pointer, inst.data.align, accessFlags(inst));
  return [];
}

/** getelementptr: indices to legal integers, vectors of pointers element by element. */
export function lowerGep(l: Lowering, inst: InstWith<Op.GetElementPtr>): Parts {
  if (inst.type.kind === "vector") return vectorGep(l, inst);
  const operands = inst.operands.map((v, i) => (i === 0 ? l.value(v) : gepIndex(l, v)));
  return [l.push(makeInst(Op.GetElementPtr, inst.type, operands, inst.data, [], inst.flags))];
}

function gepIndex(l: Lowering, index: Value): Value {
  const type = index.type;
  if (index.valueKind === "zero" || index.valueKind === "undef") return constInt(i64, 0);
  if (index.valueKind === "int") return type.bits <= 64 ? index : constInt(i64, index.value);
  if (type.kind === "int" && type.bits <= 64 && isLegalType(type, l.vectors) && type.bits > 1)
    return l.value(index);
  return intResize(l, type.bits, 64, l.parts(index), true)[0]!;
}

function vectorGep(l: Lowering, inst: InstWith<Op.GetElementPtr>): Parts {
  const count = inst.type.count;
  const columns = inst.operands.map((v) =>
    v.type.kind === "vector" ? l.vectors.elements(l, v.type, l.parts(v)) : null,
  );
  // Struct member numbers may be splats; getelementptr wants them scalar and constant.
  const elements: Parts[] = [];
  for (let lane = 0; lane < count; lane++) {
    const operands = inst.operands.map((v, i) => {
      const column = columns[i];
      if (column === null || column === undefined) return i === 0 ? l.value(v) : gepIndex(l, v);
      if (isConstant(v) && v.valueKind !== "expr" && v.type.element.kind === "int")
        return gepIndex(l, elementOf(v, lane));
      const parts = column[lane]!;
      return i === 0 ? parts[0]! : intResize(l, v.type.element.bits, 64, parts, true)[0]!;
    });
    elements.push([
      l.push(makeInst(Op.GetElementPtr, inst.type.element, operands, inst.data, [], inst.flags)),
    ]);
  }
  return l.vectors.build(l, inst.type, elements);
}

export function lowerAlloca(l: Lowering, inst: InstWith<Op.Alloca>): Parts {
  const count = inst.operands[0]!;
  const wide = intResize(l, count.type.bits, 64, l.parts(count), false)[0]!;
  return [l.push(makeInst(Op.Alloca, inst.type, [wide], inst.data, [], inst.flags))];
}
