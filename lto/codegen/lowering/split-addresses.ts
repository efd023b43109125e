/**
 * split-addresses: address arithmetic that no addressing mode holds, taken apart so that what remains of it folds.
 *
 * A getelementptr with a variable index whose stride addressing does not multiply by becomes a multiplication and a
 * byte-wise getelementptr `base + product + offset`; with several variable indices, a chain of them. The
 * multiplication is shared by all addresses of a block with the same index and stride: fields of one array
 * element. So it is by elements at constant distances, as rounds of a loop have them that was written out: the constants become
 * part of the offset, where that leaves fewer products. Where the index is a field of bits, the field moves instead (scaled-field.ts). Values do not change: getelementptr multiplies and adds modulo 2^64 too.
 * Linear in the instructions.
 */

import type { DataLayout } from "../../ir/data-layout.js";
import { type Body, Flag, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { arrayType, i8, i64, type Type } from "../../ir/types.js";
import { constI64, constInt, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { countUses } from "./blocks.js";
import type { LoweringContext } from "./context.js";
import { scaledField } from "./scaled-field.js";

type Gep = InstWith<Op.GetElementPtr>;

interface Term {
  readonly index: Value;
  readonly stride: number;
}
interface Terms {
  readonly offset: number;
  readonly terms: readonly Term[];
}

/** Sums of sums. */
const deepest = 4;
/** Offsets of addresses are numbers of 32 bits. */
const largestOffset = 2 ** 30;

type IsScale = (stride: number) => boolean;
/** Steps by bytes twice: the first index counts as offset, the second may be a variable. */
const bytes = arrayType(1, i8);

/** Offset and variable terms; null for what selection handles, or has to handle, as it is. */
function termsOf(layout: DataLayout, gep: Gep, isScale: IsScale): Terms | null {
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

/** An index as another one and a constant, where it is that sum as a number of 64 bits, too. */
function sumOf(index: Value): { readonly root: Value; readonly plus: number } {
  let root = index;
  let plus = 0;
  for (let depth = 0; depth < deepest && root.valueKind === "inst" && root.op === Op.Add; depth++) {
    const [rest, by] = root.operands as readonly [Value, Value];
    if (by.valueKind !== "int" || Math.abs(by.num) > largestOffset) break;
    if (root.type.bits !== 64 && (root.flags & Flag.Nsw) === 0) break;
    root = rest;
    plus += by.num;
  }
  return { root, plus };
}

/** By index that others are sums with, and stride: the constants, where there are several. */
class Distances {
  private readonly known = new Map<Value, Map<number, Set<number>>>();

  add({ terms }: Terms): void {
    for (const { index, stride } of terms) {
      const { root, plus } = sumOf(index);
      let ofRoot = this.known.get(root);
      if (ofRoot === undefined) this.known.set(root, (ofRoot = new Map()));
      const found = ofRoot.get(stride);
      if (found === undefined) ofRoot.set(stride, new Set([plus]));
      else found.add(plus);
    }
  }

  /** The terms with constants as part of the offset, where products are shared for that. */
  applied({ offset, terms }: Terms, isScale: IsScale): Terms {
    let sum = offset;
    const applied = terms.map((term): Term => {
      const { root, plus } = sumOf(term.index);
      const moved = sum + plus * term.stride;
      if (isScale(term.stride) || Math.abs(moved) > largestOffset) return term;
      if (this.known.get(root)!.get(term.stride)!.size < 2) return term;
      sum = moved;
      return { index: root, stride: term.stride };
    });
    return { offset: sum, terms: applied };
  }
}

/** What one block has computed already. */
class Rewriter {
  readonly out: Inst[] = [];
  private readonly products = new Map<Value, Map<number, Value>>();
  /** Addresses, by what was added to which. */
  private readonly steps = new Map<Value, Map<Value, Map<number, Value>>>();

  constructor(
    private readonly block: Body["blocks"][number],
    private readonly isScale: IsScale,
    private readonly isOnly: (inst: Inst) => boolean,
  ) {}

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
    const field = scaledField(index, stride, this.isOnly);
    if (field !== null) {
      const { source, by, mask } = field;
      const { type } = source;
      const shifted =
        by === 0 ? source : this.emit(makeInst(Op.LShr, type, [source, constInt(type, by)], null));
      const masked = this.emit(makeInst(Op.And, type, [shifted, constInt(type, mask)], null));
      return type.bits === 64 ? masked : this.emit(makeInst(Op.ZExt, i64, [masked], null));
    }
    return this.emit(makeInst(Op.Mul, i64, [index, constI64(stride)], null));
  }

  private stepped(base: Value, term: Term, type: Type): Value {
    const { index, stride } = term;
    let ofBase = this.steps.get(base);
    if (ofBase === undefined) this.steps.set(base, (ofBase = new Map()));
    let ofIndex = ofBase.get(index);
    if (ofIndex === undefined) ofBase.set(index, (ofIndex = new Map()));
    let address = ofIndex.get(stride);
    if (address === undefined) {
      const isScaled = this.isScale(stride) && index.type.bits === 64;
      const operands = isScaled ? [base, index] : [base, this.product(term)];
      const elementType = isScaled && stride > 1 ? arrayType(stride, i8) : i8;
      address = this.emit(makeInst(Op.GetElementPtr, type, operands, { elementType }));
      ofIndex.set(stride, address);
    }
    return address;
  }

  /** Replaces the operands of `gep` by base, offset and the last product; earlier terms are added to the base. */
  split(gep: Gep, offset: number, terms: readonly Term[]): void {
    let base = gep.operands[0]!;
    // A term that scales by itself goes first: it folds into an addition of its own.
    const sorted = [...terms].sort((a, b) => Number(this.isScale(b.stride)) - Number(this.isScale(a.stride)));
    const last = sorted.pop()!;
    for (const term of sorted) {
      base = this.stepped(base, term, gep.type);
    }
    raw(gep).operands = [base, constI64(offset), this.product(last)];
    // Read-only for the IR's users; here the instruction becomes another one in place.
    (gep as { data: Gep["data"] }).data = { elementType: bytes };
    this.emit(gep);
  }
}

/** Splits the address arithmetic of every block. @returns the number of instructions that were split */
function splitAddressesOf(body: Body, layout: DataLayout, isScale: IsScale): number {
  let split = 0;
  let uses: Map<Inst, number> | null = null;
  const isOnly = (inst: Inst): boolean => (uses ??= countUses(body)).get(inst) === 1;
  for (const block of body.blocks) {
    const found = new Map<Inst, Terms>();
    const distances = new Distances();
    for (const inst of block.insts) {
      const parts = inst.op === Op.GetElementPtr ? termsOf(layout, inst, isScale) : null;
      if (parts === null) continue;
      found.set(inst, parts);
      distances.add(parts);
    }
    if (found.size === 0) continue;
    const rewriter = new Rewriter(block, isScale, isOnly);
    for (const inst of block.insts) {
      const parts = found.get(inst);
      if (parts === undefined) rewriter.out.push(inst);
      else {
        const { offset, terms } = distances.applied(parts, isScale);
        rewriter.split(inst as Gep, offset, terms);
        split++;
      }
    }
    raw(block).insts = rewriter.out;
  }
  return split;
}

export const splitAddresses: FunctionPass<LoweringContext> = {
  name: "split-addresses",
  level: "function",
  description: "takes address arithmetic apart that no addressing mode holds",
  counters: { split: "address computations split" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const { target } = context;
    const split = splitAddressesOf(context.rewrite(), context.layout, (stride) => target.isScale(stride));
    if (split > 0) context.count("split", split);
    return split > 0;
  },
};
