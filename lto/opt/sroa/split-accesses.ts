/**
 * Accesses of a local variable made such that each two are the same bytes of one type or have none in common: copies become
 * loads and stores of the parts that they move, and accesses of something in a larger access part of that.
 *
 *     call void @llvm.memcpy(ptr %v, ptr %p, i64 16, …)       %x = load <2 x double>, ptr %p
 *     %x = load <2 x double>, ptr %v                     →    store <2 x double> %x, ptr %v
 *     …                                                       …
 *     %b = getelementptr i8, ptr %v, i64 8                    %w = load <2 x double>, ptr %v
 *     %y = load double, ptr %b                                %y = extractelement <2 x double> %w, i64 1
 *
 * Why: inlining shows where structures that are passed and returned by value come from and go to.
 *
 * Method: what overlaps is a part. Bytes that are only copied, from somewhere to somewhere, are parts of up to eight bytes.
 * All or nothing for a variable, of bounded size and number of parts. Linear in the uses, times the parts.
 *
 * Proof obligations: every use of the address is seen, and none lets it out, so nothing that a copy reads or writes elsewhere
 * is the variable; what is read or written elsewhere is part of what the copy did. Bytes that are never written are undefined,
 * and so may stay what they were where they are copied to. Numbers of which a part is replaced are frozen, and so is
 * the part: undefined bits and poison would be those of all of it. So are vectors that are kept in wider lanes than theirs.
 * Breaks if: parts are not wholly in or out of each copy.
 */

import { Builder } from "../../ir/builder.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Editor } from "../../ir/editor.js";
import { type CallInst, type Inst, type InstWith, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { intType, type Type } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { type Goal, isForSize } from "../../pass/pass.js";
import { isVolatileTransfer } from "../call-effects.js";
import { byteOf, filledValue, offsetOf } from "./slices.js";

/** So large may a variable be. */
const mostBytes = 128;
const mostUses = 500;
/** Parts at most, for each of which a copy takes a load and a store. */
const mostParts = 12;
const mostPartsForSize = 6;

interface Range {
  readonly offset: number;
  readonly size: number;
}
interface Access extends Range {
  readonly inst: InstWith<Op.Load> | InstWith<Op.Store>;
  readonly type: Type;
}
interface Copy extends Range {
  readonly inst: CallInst;
  /** Whether the variable is what is written. */
  readonly isInto: boolean;
}
interface Fill extends Range {
  readonly byte: number;
}
interface Part extends Range {
  readonly type: Type;
}

const end = ({ offset, size }: Range): number => offset + size;
const overlap = (a: Range, b: Range): boolean => a.offset < end(b) && b.offset < end(a);
const contains = (outer: Range, inner: Range): boolean =>
  outer.offset <= inner.offset && end(inner) <= end(outer);

/** A plain copy of known length. */
export function isCopy(inst: Inst, slot: number): boolean {
  if (!isCall(inst) || (slot !== 1 && slot !== 2) || inst.data.bundles.length > 0) return false;
  const name = intrinsicOf(inst.operands[0]!)?.name;
  if (name !== "memcpy" && name !== "memmove" && name !== "memcpy.inline") return false;
  const length = inst.operands[3]!;
  return length.valueKind === "int" && length.num > 0 && !isVolatileTransfer(inst, name);
}

/** @returns whether the variable can be taken apart now, which it could not be */
export function splitAccesses(
  alloca: InstWith<Op.Alloca>,
  editor: Editor,
  layout: DataLayout,
  goal: Goal,
): boolean {
  const size = layout.allocSize(alloca.data.allocatedType);
  if (size > mostBytes) return false;
  const uses = new Uses(editor, layout, size);
  if (!uses.collect(alloca, 0)) return false;
  const parts = partsOf(uses, layout, size);
  if (parts === null || parts.length > (isForSize(goal) ? mostPartsForSize : mostParts)) return false;
  const rewriter = new Rewriter(alloca, editor, layout, parts);
  for (const access of uses.accesses) rewriter.access(access);
  for (const copy of uses.copies) rewriter.copy(copy, uses);
  return true;
}

class Uses {
  readonly accesses: Access[] = [];
  readonly copies: Copy[] = [];
  readonly fills: Fill[] = [];
  private budget = mostUses;

  constructor(
    private readonly editor: Editor,
    private readonly layout: DataLayout,
    private readonly size: number,
  ) {}

  /** @returns whether all uses are known. @param pointer `offset` bytes into the variable */
  collect(pointer: Inst, offset: number): boolean {
    let isGood = true;
    const inner: (readonly [Inst, number])[] = [];
    this.editor.uses.forEach(pointer, (user, slot) => {
      if (!isGood) return;
      if (--this.budget < 0) isGood = false;
      else if (user.op === Op.GetElementPtr) {
        const by = slot === 0 ? offsetOf(user, this.layout) : null;
        if (by === null) isGood = false;
        else inner.push([user, offset + by]);
      } else isGood = this.use(user, slot, offset);
    });
    return isGood && inner.every(([gep, at]) => this.collect(gep, at));
  }

  private isInside = (range: Range): boolean => range.offset >= 0 && end(range) <= this.size;

  private use(user: Inst, slot: number, offset: number): boolean {
    if (user.op === Op.Load || user.op === Op.Store) {
      if (!isPlainAccess(user) || (user.op === Op.Store && slot !== 1)) return false;
      const { type } = user.op === Op.Load ? user : user.operands[0]!;
      if (type.kind !== "int" && type.kind !== "ptr" && type.kind !== "vector" && !type.isFloat) return false;
      const access = { inst: user, offset, size: this.layout.storeSize(type), type };
      this.accesses.push(access);
      return this.isInside(access);
    }
    if (!isCall(user) || slot === 0) return false;
    const name = intrinsicOf(user.operands[0]!)?.name;
    if (name === "lifetime.start" || name === "lifetime.end") return user.data.bundles.length === 0;
    const length = user.operands[3]?.valueKind === "int" ? user.operands[3].num : Number.NaN;
    if (isCopy(user, slot)) {
      const copy = { inst: user, offset, size: length, isInto: slot === 1 };
      // To and from itself.
      if (this.copies.some(({ inst }) => inst === user)) return false;
      this.copies.push(copy);
      return this.isInside(copy);
    }
    if (name !== "memset" || slot !== 1 || user.operands[2]!.valueKind !== "int") return false;
    if (Number.isNaN(length) || length < 0 || isVolatileTransfer(user, name)) return false;
    const fill = { offset, size: length, byte: byteOf(user) };
    this.fills.push(fill);
    return this.isInside(fill);
  }
}

/** What the variable falls into; null where it does not. */
function partsOf({ accesses, copies, fills }: Uses, layout: DataLayout, size: number): Part[] | null {
  const parts: Part[] = [];
  const sorted = [...accesses].sort((a, b) => a.offset - b.offset);
  for (let i = 0; i < sorted.length; ) {
    const offset = sorted[i]!.offset;
    let to = end(sorted[i]!);
    let k = i + 1;
    while (k < sorted.length && sorted[k]!.offset < to) to = Math.max(to, end(sorted[k++]!));
    const part = { offset, size: to - offset };
    const type = typeOf(part, sorted.slice(i, k), layout);
    if (type === null) return null;
    parts.push({ ...part, type });
    i = k;
  }
  parts.push(...copiedParts(parts, copies, fills, size));
  for (const part of parts) {
    for (const range of [...copies, ...fills])
      if (overlap(range, part) && !contains(range, part)) return null;
    const isFilled = (fill: Fill): boolean => filledValue(fill.byte, { ...part, accesses: [] }) !== null;
    if (fills.some((fill) => overlap(fill, part) && !isFilled(fill))) return null;
    // A load would lose bits that a copy moves.
    if (layout.bitWidth(part.type) !== 8 * part.size && copies.some((copy) => overlap(copy, part)))
      return null;
  }
  return parts;
}

/** Bytes that nobody reads or writes but copies that bring them and copies that take them away. */
function copiedParts(
  accessed: readonly Part[],
  copies: readonly Copy[],
  fills: readonly Fill[],
  size: number,
): Part[] {
  const isIn = (at: number) => (range: Range) => range.offset <= at && at < end(range);
  const isMoved = Array.from({ length: size }, (_, at) => {
    if (accessed.some(isIn(at)) || !copies.some((copy) => !copy.isInto && isIn(at)(copy))) return false;
    return copies.some((copy) => copy.isInto && isIn(at)(copy)) || fills.some(isIn(at));
  });
  const borders = new Set([...copies, ...fills].flatMap((range) => [range.offset, end(range)]));
  const fits = (offset: number, bytes: number): boolean => {
    if (offset % bytes !== 0) return false;
    for (let at = offset; at < offset + bytes; at++)
      if (isMoved[at] !== true || (at > offset && borders.has(at))) return false;
    return true;
  };
  const parts: Part[] = [];
  for (let offset = 0; offset < size; ) {
    const bytes = [8, 4, 2, 1].find((n) => fits(offset, n));
    if (bytes !== undefined) parts.push({ offset, size: bytes, type: intType(8 * bytes) });
    offset += bytes ?? 1;
  }
  return parts;
}

const hasPointers = (type: Type): boolean => type.scalar.kind === "ptr";

/** As what a part is kept that all its accesses can be made of; null: there is nothing. */
function typeOf(part: Range, accesses: readonly Access[], layout: DataLayout): Type | null {
  const first = accesses[0]!;
  const isWhole = ({ offset, size }: Range): boolean => offset === part.offset && size === part.size;
  if (accesses.every((access) => isWhole(access) && access.type === first.type)) return first.type;
  // Beyond this point bits change their type.
  if (accesses.some(({ type, size }) => hasPointers(type) || layout.bitWidth(type) !== 8 * size)) return null;
  if (accesses.every(isWhole)) return (accesses.find(({ inst }) => inst.op === Op.Load) ?? first).type;
  const vector = accesses.find((access) => isWhole(access) && access.type.kind === "vector")?.type;
  if (vector !== undefined) {
    const lane = layout.bitWidth(vector.element) / 8;
    const isLane = ({ offset, size }: Range): boolean => size === lane && (offset - part.offset) % lane === 0;
    if (accesses.every((access) => isWhole(access) || isLane(access))) return vector;
  }
  return part.size === 2 || part.size === 4 || part.size === 8 ? intType(8 * part.size) : null;
}

class Rewriter {
  private readonly build: Builder;

  constructor(
    private readonly alloca: InstWith<Op.Alloca>,
    private readonly editor: Editor,
    private readonly layout: DataLayout,
    private readonly parts: readonly Part[],
  ) {
    this.build = new Builder(editor);
  }

  private load({ type, offset }: Part): Value {
    return this.build.load(type, this.build.byteOffset(this.alloca, offset), 1);
  }
  private store(value: Value, { offset }: Part): void {
    this.build.store(value, this.build.byteOffset(this.alloca, offset), 1);
  }

  access({ inst, offset, size, type }: Access): void {
    const part = this.parts.find((p) => p.offset <= offset && offset < end(p))!;
    if (part.type === type && part.size === size) return;
    this.build.before(inst);
    const at = offset - part.offset;
    const isWhole = part.size === size;
    if (inst.op === Op.Load) {
      const whole = this.load(part);
      this.editor.replace(inst, this.cast(isWhole ? whole : this.taken(whole, at, size), type));
      return;
    }
    const value = inst.operands[0]!;
    this.store(isWhole ? this.kept(value, part.type) : this.put(this.load(part), value, at, size), part);
    this.editor.erase(inst);
  }

  private cast(value: Value, type: Type): Value {
    return value.type === type ? value : this.build.cast(Op.BitCast, value, type);
  }
  /** What is stored, in lanes of another type: one that is poison must not make others so. */
  private kept(value: Value, type: Type): Value {
    const isMerged = this.layout.bitWidth(value.type.scalar) < this.layout.bitWidth(type.scalar);
    return this.cast(isMerged ? this.build.freeze(value) : value, type);
  }
  /** Bytes of a part, as a lane or as a number. */
  private taken(whole: Value, at: number, size: number): Value {
    const { type } = whole;
    if (type.kind === "vector") return this.build.extractElement(whole, constInt(intType(64), at / size));
    const shifted = at === 0 ? whole : this.build.lshr(whole, constInt(type, 8 * at));
    return this.build.cast(Op.Trunc, shifted, intType(8 * size));
  }
  /** A part with other bytes put in. */
  private put(whole: Value, value: Value, at: number, size: number): Value {
    const { type } = whole;
    if (type.kind === "vector") {
      const lane = this.kept(value, type.element);
      return this.build.insertElement(whole, lane, constInt(intType(64), at / size));
    }
    const bits = this.cast(this.build.freeze(value), intType(8 * size));
    const wide = this.build.cast(Op.ZExt, bits, type);
    const placed = at === 0 ? wide : this.build.shl(wide, constInt(type, 8 * at));
    const mask = ((1n << BigInt(8 * size)) - 1n) << BigInt(8 * at);
    // The rest may be undefined, or poison.
    const rest = this.build.freeze(whole);
    const kept = this.build.and(rest, constInt(type, BigInt.asIntN(type.bits, ~mask)));
    return this.build.or(kept, placed);
  }

  copy(copy: Copy, { accesses, copies, fills }: Uses): void {
    const { inst, isInto } = copy;
    this.build.before(inst);
    const other = inst.operands[isInto ? 2 : 1]!;
    const said = inst.data.attributes.parameter(isInto ? 1 : 0).int("align") ?? 1;
    for (const part of this.parts) {
      if (!contains(copy, part)) continue;
      const isUsed = isInto
        ? accesses.some(({ inst, ...range }) => inst.op === Op.Load && overlap(range, part)) ||
          copies.some((c) => !c.isInto && overlap(c, part))
        : accesses.some(({ inst, ...range }) => inst.op === Op.Store && overlap(range, part)) ||
          copies.some((c) => c.isInto && overlap(c, part)) ||
          fills.some((fill) => overlap(fill, part));
      if (!isUsed) continue;
      const by = part.offset - copy.offset;
      // The largest power of two that divides both.
      const align = by === 0 ? said : Math.min(said, by & -by);
      const elsewhere = this.build.byteOffset(other, by);
      if (isInto) this.store(this.build.load(part.type, elsewhere, align), part);
      else this.build.store(this.load(part), elsewhere, align);
    }
    this.editor.erase(inst);
  }
}
