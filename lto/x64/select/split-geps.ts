/**
 * Address arithmetic that no addressing mode holds, taken apart so that what remains of it folds.
 *
 * A getelementptr with a variable index whose stride is not 1, 2, 4 or 8 becomes a multiplication and a
 * byte-wise getelementptr `base + product + offset`; with several variable indices, a chain of them. The
 * multiplication is shared by all addresses of a block with the same index and stride: fields of one array
 * element. Values do not change: getelementptr multiplies and adds modulo 2^64 too.
 * Linear in the instructions.
 */

import type { DataLayout } from "../../ir/data-layout.js";
import { type Body, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { arrayType, i8, i64, type Type } from "../../ir/types.js";
import { constI64, isConstant, type Value } from "../../ir/values.js";

type Gep = InstWith<Op.GetElementPtr>;

interface Term {
  readonly index: Value;
  readonly stride: number;
}

const isScale = (stride: number): boolean => stride === 1 || stride === 2 || stride === 4 || stride === 8;
/** Steps by bytes twice: the first index counts as offset, the second may be a variable. */
const bytes = arrayType(1, i8);

/** Offset and variable terms; null for what selection handles, or has to handle, as it is. */
function termsOf(layout: DataLayout, gep: Gep): { offset: number; terms: Term[] } | null {
  if (gep.type.kind !== "ptr" || gep.operands[0]!.type.kind !== "ptr") return null;
  const terms: Term[] = [];
  let offset = 0;
  let type: Type = gep.data.elementType;
  for (let i = 1; i < gep.operands.length; i++) {
    const index = gep.operands[i]!;
    const n = index.valueKind === "int" ? index.num : index.valueKind === "zero" ? 0 : Number.NaN;
    let stride: number;
    if (i === 1) stride = layout.allocSize(type);
    else if (type.kind === "struct") {
      if (Number.isNaN(n)) return null;
      offset += layout.structLayout(type).offsets[n]!;
      type = type.elements[n]!;
      continue;
    } else {
      type = type.element;
      stride = layout.allocSize(type);
    }
    if (!Number.isNaN(n)) offset += n * stride;
    else if (isConstant(index) || index.type.kind !== "int" || index.type.bits > 64) return null;
    else if (stride !== 0) terms.push({ index, stride });
  }
  if (terms.length === 0 || (terms.length === 1 && isScale(terms[0]!.stride))) return null;
  if (!Number.isSafeInteger(offset) || terms.some((t) => t.stride > 0x7fffffff)) return null;
  return { offset, terms };
}

/** What one block has computed already. */
class Rewriter {
  readonly out: Inst[] = [];
  private readonly products = new Map<Value, Map<number, Value>>();

  constructor(private readonly block: Body["blocks"][number]) {}

  emit<I extends Inst>(inst: I): I {
    inst.parent = this.block;
    this.out.push(inst);
    return inst;
  }

  /** index · stride as i64. */
  private product({ index, stride }: Term): Value {
    let known = this.products.get(index);
    if (known === undefined) this.products.set(index, (known = new Map()));
    let value = known.get(stride);
    if (value === undefined) {
      value = stride === 1 ? this.wide(index) : this.multiply(this.wide(index), stride);
      known.set(stride, value);
    }
    return value;
  }

  private wide(index: Value): Value {
    return index.type.bits === 64 ? index : this.emit(makeInst(Op.SExt, i64, [index], null));
  }

  private multiply(index: Value, stride: number): Value {
    return this.emit(makeInst(Op.Mul, i64, [index, constI64(stride)], null));
  }

  /** Replaces the operands of `gep` by base, offset and the last product; earlier terms are added to the base. */
  split(gep: Gep, offset: number, terms: readonly Term[]): void {
    let base = gep.operands[0]!;
    // A term that scales by itself goes first: it folds into an addition of its own.
    const sorted = [...terms].sort((a, b) => Number(isScale(b.stride)) - Number(isScale(a.stride)));
    const last = sorted.pop()!;
    for (const term of sorted) {
      const step = isScale(term.stride) && term.index.type.bits === 64;
      const operands = step ? [base, term.index] : [base, this.product(term)];
      const elementType = step && term.stride > 1 ? arrayType(term.stride, i8) : i8;
      base = this.emit(makeInst(Op.GetElementPtr, gep.type, operands, { elementType }));
    }
    raw(gep).operands = [base, constI64(offset), this.product(last)];
    // Read-only for the IR's users; here the instruction becomes another one in place.
    (gep as { data: Gep["data"] }).data = { elementType: bytes };
    this.emit(gep);
  }
}

/** Splits the address arithmetic of every block. */
export function splitGeps(body: Body, layout: DataLayout): void {
  for (const block of body.blocks) {
    let rewriter: Rewriter | null = null;
    for (let i = 0; i < block.insts.length; i++) {
      const inst = block.insts[i]!;
      const parts = inst.op === Op.GetElementPtr ? termsOf(layout, inst) : null;
      if (parts !== null && rewriter === null) {
        rewriter = new Rewriter(block);
        for (let k = 0; k < i; k++) rewriter.out.push(block.insts[k]!);
      }
      if (parts !== null) rewriter!.split(inst as Gep, parts.offset, parts.terms);
      else rewriter?.out.push(inst);
    }
    if (rewriter !== null) raw(block).insts = rewriter.out;
  }
}
