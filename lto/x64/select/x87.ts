/**
 * x86_fp80 arithmetic. Every long double value lives in a 16-byte stack slot between instructions; an
 * operation loads its inputs onto the x87 stack, computes, and stores with 80-bit precision. The register
 * stack is empty between IR instructions, which is all that makes calls and branches safe (System V ABI
 * section 3.2.1 wants it empty at calls anyway). Rare code: simple beats fast here.
 */

import { type MemOperand, MInst, RegOperand } from "../../codegen/mir.js";
import { constantBytes } from "../../codegen/select/constants.js";
import { Flag, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import { address } from "./address.js";
import { poolMem } from "./constants.js";
import type { Selector } from "./selector.js";

function emitMem(s: Selector, op: X, size: number, mem: MemOperand): void {
  const inst = new MInst(op, size);
  inst.mem = mem;
  s.emit(inst);
}
function emitPlain(s: Selector, op: X): void {
  s.emit(new MInst(op, 10));
}

/** Pushes an fp80 value onto the x87 stack. */
export function push80(s: Selector, value: Value): void {
  const inst = s.resolve(value);
  if (isConstant(inst)) {
    if (inst.valueKind === "float" || inst.valueKind === "zero" || inst.valueKind === "undef") {
      const bits = inst.valueKind === "float" ? inst.bits : 0n;
      if (bits === 0n) return emitPlain(s, X.Fldz);
      if (bits === 0x3fff8000000000000000n) return emitPlain(s, X.Fld1);
      const bytes = new Uint8Array(16);
      bytes.set(constantBytes(s.layout, inst)!);
      return emitMem(s, X.Fld, 10, poolMem(bytes));
    }
    return s.unsupported("constant expression of type x86_fp80");
  }
  if (inst.valueKind === "inst" && inst.op === Op.ExtractValue)
    return emitMem(s, X.Fld, 10, s.slotMem(s.slots.ofPart(inst.operands[0] as Inst, inst.data[0]!)));
  emitMem(s, X.Fld, 10, s.slotMem(s.slots.of(inst)));
}

/** Pops the x87 stack into the slot of `inst`. */
export function pop80(s: Selector, inst: Inst): void {
  emitMem(s, X.FstpM, 10, s.slotMem(s.slots.of(inst)));
}
export function popToSlot(s: Selector, slot: number): void {
  emitMem(s, X.FstpM, 10, s.slotMem(slot));
}

/** Flags of a against b as ucomis, or comis if it signals, sets them. */
export function emitX87Compare(s: Selector, a: Value, b: Value, signals = false): void {
  push80(s, b);
  push80(s, a);
  emitPlain(s, signals ? X.Fcomip : X.Fucomip);
  emitPlain(s, X.FstpSt0);
}

const arithmetic: Partial<Record<Op, X>> = {
  // After pushing a then b: st(1) = a, st(0) = b; the plain forms compute st(1) op st(0).
  [Op.FAdd]: X.Faddp,
  [Op.FSub]: X.Fsubp,
  [Op.FMul]: X.Fmulp,
  [Op.FDiv]: X.Fdivp,
};

export function selectX87Binary(s: Selector, inst: Inst): void {
  push80(s, inst.operands[0]!);
  push80(s, inst.operands[1]!);
  emitPlain(s, arithmetic[inst.op]!);
  pop80(s, inst);
}

/** fneg, fabs, sqrt, rint. */
export function selectX87Unary(s: Selector, op: X, source: Value, inst: Inst): void {
  push80(s, source);
  emitPlain(s, op);
  pop80(s, inst);
}

export function selectX87Load(s: Selector, inst: InstWith<Op.Load>): void {
  emitMem(s, X.Fld, 10, address(s, inst.operands[0]!));
  pop80(s, inst);
}

/** Stores exactly 10 bytes: the padding of the in-memory type is not ours to touch. */
export function selectX87Store(s: Selector, inst: InstWith<Op.Store>): void {
  push80(s, inst.operands[0]!);
  emitMem(s, X.FstpM, 10, address(s, inst.operands[1]!));
}

/** float or double → fp80. */
export function selectX87Extend(s: Selector, inst: InstWith<Op.FPExt>): void {
  const source = inst.operands[0]!;
  const size = source.type.kind === "float" ? 4 : 8;
  const slot = s.mf.newSlot(size, size);
  s.store(size === 4 ? X.MovssM : X.MovsdM, size, s.slotMem(slot), s.reg(source));
  emitMem(s, X.Fld, size, s.slotMem(slot));
  pop80(s, inst);
}

/** fp80 → float or double. */
export function selectX87Truncate(s: Selector, inst: InstWith<Op.FPTrunc>): void {
  const size = inst.type.kind === "float" ? 4 : 8;
  const slot = s.mf.newSlot(size, size);
  push80(s, inst.operands[0]!);
  emitMem(s, X.FstpM, size, s.slotMem(slot));
  s.load(size === 4 ? X.Movss : X.Movsd, size, s.resultOf(inst), s.slotMem(slot));
}

/** Integer (i32 or i64, signed or not) → fp80. */
export function selectIntToX87(s: Selector, inst: InstWith<Op.SIToFP | Op.UIToFP>): void {
  const source = inst.operands[0]!;
  const unsigned = inst.op === Op.UIToFP && (inst.flags & Flag.NonNeg) === 0;
  const slot = s.mf.newSlot(8, 8);
  if (source.type.bits === 64) {
    const value = s.reg(source);
    s.store(X.MovM, 8, s.slotMem(slot), value);
    emitMem(s, X.Fild, 8, s.slotMem(slot));
    if (unsigned) {
      // A set top bit was read as negative: add 2^64 then, chosen from a two-entry table by the sign.
      const table = new Uint8Array(16);
      table.set([0, 0, 0, 0, 0, 0, 0x80, 0x5f], 0); // float 0, float 2^64
      const sign = s.newGpr();
      s.binaryImm(X.Shr, 8, sign, value, 63);
      const base = s.newGpr();
      const lea = new MInst(X.Lea, 8);
      lea.defs = [new RegOperand(base)];
      lea.mem = poolMem(table);
      s.emit(lea);
      emitMem(s, X.Fld, 4, memory(new RegOperand(base), new RegOperand(sign), 4));
      emitPlain(s, X.Faddp);
    }
  } else if (unsigned) {
    // Zero-extended to 64 bits the value is non-negative.
    const wide = s.newGpr();
    s.unary(X.Mov, 4, wide, s.reg(source));
    s.store(X.MovM, 8, s.slotMem(slot), wide);
    emitMem(s, X.Fild, 8, s.slotMem(slot));
  } else {
    s.store(X.MovM, 4, s.slotMem(slot), s.reg(source));
    emitMem(s, X.Fild, 4, s.slotMem(slot));
  }
  pop80(s, inst);
}

/**
 * fp80 → i32 or i64, truncating: the rounding mode is switched for the store.
 * @param bytes of the signed integer that is stored: 8, or 4 where the result is one of that width
 */
export function selectX87ToInt(s: Selector, inst: InstWith<Op.FPToSI | Op.FPToUI>, bytes = 8): void {
  const bits = inst.type.bits;
  const unsigned = inst.op === Op.FPToUI;
  const slot = s.mf.newSlot(8, 8);
  const result = s.resultOf(inst);
  if (!unsigned || bits < 64) {
    push80(s, inst.operands[0]!);
    truncatingStore(s, slot, bytes);
    s.load(X.Mov, bits > 32 ? 8 : 4, result, s.slotMem(slot));
    return;
  }
  // Values of 2^63 and above are reduced by 2^63 first; the top bit is put back after.
  const threshold = new Uint8Array([0, 0, 0, 0x5f]); // float 2^63
  push80(s, inst.operands[0]!);
  emitMem(s, X.Fld, 4, poolMem(threshold));
  emitPlain(s, X.Fucomip); // flags of 2^63 against x; pops the threshold
  const flag = s.newGpr(4);
  const set = new MInst(X.Setcc, 1);
  set.condition = Cc.BE; // 2^63 ≤ x (or unordered: the result is poison)
  set.defs = [new RegOperand(flag)];
  s.emit(set);
  const big = s.newGpr(4);
  s.unary(X.Movzx8, 4, big, flag);
  const table = new Uint8Array(8);
  table.set(threshold, 4);
  const base = s.newGpr();
  const lea = new MInst(X.Lea, 8);
  lea.defs = [new RegOperand(base)];
  lea.mem = poolMem(table);
  s.emit(lea);
  emitMem(s, X.Fld, 4, memory(new RegOperand(base), new RegOperand(big), 4));
  emitPlain(s, X.Fsubp);
  truncatingStore(s, slot);
  const low = s.newGpr();
  s.load(X.Mov, 8, low, s.slotMem(slot));
  const top = s.newGpr();
  s.binaryImm(X.Shl, 8, top, big, 63);
  s.binary(X.Xor, 8, result, low, top);
}

/** Pops st(0) into an 8-byte slot as a truncated integer. */
function truncatingStore(s: Selector, slot: number, bytes = 8): void {
  const saved = s.mf.newSlot(2, 2);
  const changed = s.mf.newSlot(2, 2);
  emitMem(s, X.FnstcwM, 2, s.slotMem(saved));
  const control = s.newGpr(4);
  s.load(X.Movzx16, 4, control, s.slotMem(saved));
  const truncating = s.newGpr(4);
  s.binaryImm(X.Or, 4, truncating, control, 0xc00);
  s.store(X.MovM, 2, s.slotMem(changed), truncating);
  emitMem(s, X.FldcwM, 2, s.slotMem(changed));
  emitMem(s, X.FistpM, bytes, s.slotMem(slot));
  emitMem(s, X.FldcwM, 2, s.slotMem(saved));
}

/** copysign on fp80: the sign is the top bit of the tenth byte. */
export function selectX87CopySign(s: Selector, magnitude: Value, sign: Value, inst: Inst): void {
  const scratch = s.mf.newSlot(16, 16);
  push80(s, sign);
  emitMem(s, X.FstpM, 10, s.slotMem(scratch));
  push80(s, magnitude);
  pop80(s, inst);
  const target = s.slots.of(inst);
  const a = s.newGpr(4);
  s.load(X.Movzx8, 4, a, s.slotMem(target, 9));
  const cleared = s.newGpr(4);
  s.binaryImm(X.And, 4, cleared, a, 0x7f);
  const b = s.newGpr(4);
  s.load(X.Movzx8, 4, b, s.slotMem(scratch, 9));
  const bit = s.newGpr(4);
  s.binaryImm(X.And, 4, bit, b, 0x80);
  const merged = s.newGpr(4);
  s.binary(X.Or, 4, merged, cleared, bit);
  s.store(X.MovM, 1, s.slotMem(target, 9), merged);
}

/** Stores a value to a slot. */
export function storeToSlot(s: Selector, slot: number, value: Value): void {
  push80(s, value);
  popToSlot(s, slot);
}

/** Copies from slot to slot. */
export function copySlot(s: Selector, to: number, from: number): void {
  emitMem(s, X.Fld, 10, s.slotMem(from));
  popToSlot(s, to);
}
