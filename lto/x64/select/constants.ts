/**
 * Constants in registers: the shortest way to make each, and the literal pool.
 *
 * Integers become immediates; addresses become immediates (static), rip-relative `lea` or GOT loads;
 * floating-point and vector constants are loaded from the pool, zero is `xorps`-able.
 */

import { type MemOperand, MInst, poolConstant, RegOperand, type VReg } from "../../codegen/mir.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { constantGepOffset } from "../../ir/fold/addresses.js";
import { Op } from "../../ir/instructions.js";
import type { GlobalValue } from "../../ir/module.js";
import type { Constant } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import { GPR, XMM } from "../isa/registers.js";
import type { Selector } from "./selector.js";
import { isLocalSymbol } from "./symbols.js";
import { tlsAddress } from "./tls.js";

/** A symbol plus offset that a constant reduces to. */
export interface SymbolOffset {
  readonly global: GlobalValue;
  readonly offset: number;
}

/**
 * Reduces a pointer-valued (or i64) constant to a symbol plus a byte offset, through getelementptr, casts
 * and additions of constants. Null when it is something else.
 */
export function symbolOffset(layout: DataLayout, value: Constant): SymbolOffset | null {
  switch (value.valueKind) {
    case "global":
      return { global: value, offset: 0 };
    case "globalref":
      return { global: value.global, offset: 0 };
    case "expr":
      break;
    default:
      return null;
  }
  switch (value.op) {
    case Op.BitCast:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.AddrSpaceCast:
      return layout.bitWidth(value.type) === 64 ? symbolOffset(layout, value.operands[0]!) : null;
    case Op.GetElementPtr: {
      const base = symbolOffset(layout, value.operands[0]!);
      const offset = constantGepOffset(layout, value.elementType!, value.operands);
      return base !== null && offset !== null ? { global: base.global, offset: base.offset + offset } : null;
    }
    case Op.Add:
    case Op.Sub: {
      const base = symbolOffset(layout, value.operands[0]!);
      const right = value.operands[1]!;
      if (base === null || right.valueKind !== "int" || Number.isNaN(right.num)) return null;
      return { global: base.global, offset: base.offset + (value.op === Op.Add ? right.num : -right.num) };
    }
    default:
      return null;
  }
}

/**
 * Folds an integer or address constant expression without symbols to its value, or null. Covers what
 * remains of pointer arithmetic on null and of casts.
 */
export function foldedInteger(layout: DataLayout, value: Constant): bigint | null {
  switch (value.valueKind) {
    case "int":
      return value.value;
    case "zero":
      return value.type.kind === "ptr" || value.type.kind === "int" ? 0n : null;
    case "blockaddress":
      return value.fn.hasDropped(value.label) ? 1n : null;
    case "expr":
      break;
    default:
      return null;
  }
  const bits = layout.bitWidth(value.type);
  const a = foldedInteger(layout, value.operands[0]!);
  if (a === null) return null;
  const wrap = (n: bigint): bigint => BigInt.asIntN(bits, n);
  switch (value.op) {
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.ZExt:
      return wrap(BigInt.asUintN(layout.bitWidth(value.operands[0]!.type), a));
    case Op.BitCast:
    case Op.AddrSpaceCast:
    case Op.Trunc:
    case Op.SExt:
      return wrap(a);
    case Op.GetElementPtr: {
      const offset = constantGepOffset(layout, value.elementType!, value.operands);
      return offset === null ? null : wrap(a + BigInt(offset));
    }
  }
  const second = value.operands[1];
  const b = second === undefined ? null : foldedInteger(layout, second);
  if (b === null) return null;
  switch (value.op) {
    case Op.Add:
      return wrap(a + b);
    case Op.Sub:
      return wrap(a - b);
    case Op.Mul:
      return wrap(a * b);
    case Op.And:
      return wrap(a & b);
    case Op.Or:
      return wrap(a | b);
    case Op.Xor:
      return wrap(a ^ b);
    case Op.Shl:
      return wrap(a << BigInt.asUintN(16, b));
    default:
      return null;
  }
}

/** Key under which a constant may be shared within a block; null when remaking it is as cheap. */
export function sharedConstantKey(value: Constant): string | null {
  switch (value.valueKind) {
    case "int":
      return value.num >= -128 && value.num <= 127
        ? null
        : `i${value.type.bits <= 32 ? 32 : 64}:${value.value}`;
    case "float":
      return value.bits === 0n ? null : `${value.type.kind}:${value.bits}`;
    case "global":
      return `@${value.kind}${value.name}`;
    default:
      return null;
  }
}

/** Emits code for a constant into a fresh register. */
export function materialize(s: Selector, value: Constant): VReg {
  const { type } = value;
  if (value.valueKind === "undef")
    return s.undefined(s.isGpr(type) ? GPR : XMM, s.isGpr(type) ? s.spillSize(type) : 16);
  if (s.isGpr(type)) return materializeInteger(s, value);
  return materializeVector(s, value);
}

function materializeInteger(s: Selector, value: Constant): VReg {
  const { type } = value;
  const folded = foldedInteger(s.layout, value);
  if (folded !== null) {
    const vreg = s.newReg(type);
    moveConstant(s, vreg, s.layout.bitWidth(type), folded);
    return vreg;
  }
  if (value.valueKind === "blockaddress") return blockAddress(s, value.fn, value.label);
  const target = symbolOffset(s.layout, value);
  if (target !== null && s.layout.bitWidth(type) === 64) return symbolAddress(s, target);
  if (value.valueKind === "expr") return materializeExpression(s, value);
  return s.unsupported(`constant operand of kind ${value.valueKind}`);
}

/** Sets `vreg` to an integer of `bits` bits by the shortest flag-preserving move. */
function moveConstant(s: Selector, vreg: VReg, bits: number, value: bigint): void {
  if (bits <= 32) {
    // Narrow constants keep their sign so that one register serves every width.
    s.moveImm(vreg, 4, bits === 1 ? Number(value & 1n) : Number(BigInt.asIntN(32, value)));
    return;
  }
  const wide = BigInt.asIntN(64, value);
  const fits = wide >= -2147483648n && wide <= 4294967295n;
  s.moveImm(vreg, 8, fits ? Number(wide) : wide);
}

function blockAddress(s: Selector, global: GlobalValue, label: number): VReg {
  const vreg = s.newGpr();
  const lea = new MInst(X.Lea, 8);
  lea.defs = [new RegOperand(vreg)];
  const own = global === s.mf.fn;
  lea.mem = memory(
    null,
    null,
    1,
    0,
    own
      ? { kind: "direct", target: { kind: "block", block: s.labelled(label) } }
      : { kind: "direct", target: { kind: "foreign-block", global, block: label } },
    true,
  );
  if (own) s.labelled(label).addressTaken = true;
  s.emit(lea);
  return vreg;
}

/** Address of symbol + offset in a fresh register, by the relocation model and the symbol's binding. */
function symbolAddress(s: Selector, target: SymbolOffset): VReg {
  const { global, offset } = target;
  if (global.threadLocal !== "none") {
    // Modules older than llvm.threadlocal.address (LLVM 15) have places in such variables as constants.
    const base = tlsAddress(s, global);
    if (offset === 0) return base;
    const place = s.newGpr();
    addConstant(s, place, base, offset);
    return place;
  }
  const vreg = s.newGpr();
  if (!isLocalSymbol(s, global)) {
    const load = s.load(X.Mov, 8, vreg, memory(null, null, 1, 0, s.globalSymbol(global, "got"), true));
    if (offset === 0) {
      s.mf.vregs[vreg]!.remat = load;
      return vreg;
    }
    const sum = s.newGpr();
    addConstant(s, sum, vreg, offset);
    return sum;
  }
  const fitsAddend = offset >= -0x1000000 && offset <= 0x1000000;
  const addend = fitsAddend ? offset : 0;
  const inst = new MInst(s.pic ? X.Lea : X.Mov, s.pic ? 8 : 4);
  inst.defs = [new RegOperand(vreg)];
  if (s.pic) inst.mem = memory(null, null, 1, addend, s.globalSymbol(global), true);
  else {
    // In the static small code model addresses fit 31 bits; the 32-bit move zero-extends. The kernel's are negative.
    const isHigh = s.options.codeModel === "kernel";
    if (isHigh) inst.size = 8;
    inst.symbol = s.globalSymbol(global, isHigh ? "high" : "direct");
    inst.imm = addend;
  }
  s.mf.vregs[vreg]!.remat = inst;
  s.emit(inst);
  if (fitsAddend) return vreg;
  const sum = s.newGpr();
  addConstant(s, sum, vreg, offset);
  return sum;
}

/** to = from + n, for any n that a 64-bit register can hold. */
function addConstant(s: Selector, to: VReg, from: VReg, n: number): void {
  if (n >= -2147483648 && n <= 2147483647) {
    const lea = new MInst(X.Lea, 8);
    lea.defs = [new RegOperand(to)];
    lea.mem = memory(new RegOperand(from), null, 1, n);
    s.emit(lea);
    return;
  }
  const wide = s.newGpr();
  s.moveImm(wide, 8, BigInt(n));
  s.binary(X.Add, 8, to, from, wide);
}

/** Address arithmetic on symbols that the assembler cannot express in an operand: computed at run time. */
function materializeExpression(s: Selector, value: Extract<Constant, { valueKind: "expr" }>): VReg {
  const [a, b] = value.operands;
  const size = s.layout.bitWidth(value.type) > 32 ? 8 : 4;
  const result = s.newReg(value.type);
  switch (value.op) {
    case Op.PtrToInt:
    case Op.Trunc:
    case Op.BitCast:
    case Op.IntToPtr:
    case Op.AddrSpaceCast: {
      const source = s.reg(a!);
      s.copy(result, source, size);
      return result;
    }
    case Op.ZExt:
      s.unary(X.Mov, 4, result, s.reg(a!));
      return result;
    case Op.SExt:
      s.unary(X.Movsxd, 8, result, s.reg(a!));
      return result;
    case Op.GetElementPtr: {
      const offset = constantGepOffset(s.layout, value.elementType!, value.operands);
      if (offset !== null) {
        addConstant(s, result, s.reg(a!), offset);
        return result;
      }
      // Indices that are themselves expressions: (base + sum of index · size), each product by imul.
      return gepExpression(s, value);
    }
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor: {
      const op = { [Op.Add]: X.Add, [Op.Sub]: X.Sub, [Op.And]: X.And, [Op.Or]: X.Or, [Op.Xor]: X.Xor }[
        value.op
      ];
      s.binary(op, size, result, s.reg(a!), s.reg(b!));
      return result;
    }
    case Op.Mul:
      s.binary(X.Imul, size, result, s.reg(a!), s.reg(b!));
      return result;
    default:
      return s.unsupported("constant expression as an operand");
  }
}

function gepExpression(s: Selector, value: Extract<Constant, { valueKind: "expr" }>): VReg {
  let type = value.elementType!;
  let sum = s.reg(value.operands[0]!);
  for (let i = 1; i < value.operands.length; i++) {
    const index = value.operands[i]!;
    let scale: number;
    if (i === 1) scale = s.layout.allocSize(type);
    else if (type.kind === "struct") {
      const member = index.valueKind === "int" ? index.num : 0;
      const next = s.newGpr();
      addConstant(s, next, sum, s.layout.structLayout(type).offsets[member]!);
      sum = next;
      type = type.elements[member]!;
      continue;
    } else {
      type = type.element;
      scale = s.layout.allocSize(type);
    }
    const next = s.newGpr();
    const n = foldedInteger(s.layout, index);
    if (n !== null) addConstant(s, next, sum, Number(n) * scale);
    else {
      const product = s.newGpr();
      const mul = new MInst(X.ImulImm, 8);
      mul.defs = [new RegOperand(product)];
      mul.uses = [new RegOperand(s.reg(index))];
      mul.imm = scale;
      s.emit(mul);
      s.binary(X.Add, 8, next, sum, product);
    }
    sum = next;
  }
  return sum;
}

/** Loads of floating-point and vector constants. */
function materializeVector(s: Selector, value: Constant): VReg {
  const vreg = s.newReg(value.type);
  const bytes = constantBytes(s.layout, value);
  if (bytes === null) return s.unsupported(`constant operand of type ${value.type}`);
  if (bytes.every((b) => b === 0)) {
    const zero = new MInst(X.XorpsZero, 16);
    zero.defs = [new RegOperand(vreg)];
    s.mf.vregs[vreg]!.remat = zero;
    s.emit(zero);
    return vreg;
  }
  const op = bytes.length === 16 ? X.Movaps : bytes.length === 8 ? X.Movsd : X.Movss;
  const padded = bytes.length === 2 ? Uint8Array.of(bytes[0]!, bytes[1]!, 0, 0) : bytes;
  const load = s.load(op, padded.length, vreg, poolMem(padded));
  s.mf.vregs[vreg]!.remat = load;
  return vreg;
}

/** Memory operand of a literal pool entry with these bytes (4, 8 or 16; aligned to their length). */
export function poolMem(bytes: Uint8Array): MemOperand {
  const constant = poolConstant(bytes, bytes.length);
  return memory(null, null, 1, 0, { kind: "direct", target: { kind: "constant", constant } }, true);
}

/** Little-endian bytes of a scalar or vector constant without symbols; null if it has some. Undef is zero. */
export function constantBytes(layout: DataLayout, value: Constant): Uint8Array | null {
  const size = layout.storeSize(value.type);
  switch (value.valueKind) {
    case "int":
      return integerBytes(value.value, size);
    case "float":
      return integerBytes(value.bits, size);
    case "zero":
    case "undef":
      return new Uint8Array(size);
    case "data":
      return value.bytes;
    case "aggregate": {
      const out = new Uint8Array(size);
      let offset = 0;
      for (const element of value.elements) {
        const bytes = constantBytes(layout, element);
        if (bytes === null) return null;
        out.set(bytes, offset);
        offset += bytes.length;
      }
      return out;
    }
    default: {
      const folded = foldedInteger(layout, value);
      return folded === null ? null : integerBytes(folded, size);
    }
  }
}

function integerBytes(value: bigint, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let rest = BigInt.asUintN(size * 8, value);
  for (let i = 0; i < size; i++) {
    out[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return out;
}
