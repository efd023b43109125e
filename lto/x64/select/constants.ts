/**
 * Constants in registers: the shortest way to make each, and the literal pool.
 *
 * Integers become immediates; addresses become immediates (static), rip-relative `lea` or GOT loads;
 * floating-point and vector constants are loaded from the pool, zero is `xorps`-able.
 */

import { type MemOperand, MInst, poolConstant, RegOperand, type VReg } from "../../codegen/mir.js";
import {
  constantBytes,
  foldedInteger,
  type SymbolOffset,
  symbolOffset,
} from "../../codegen/select/constants.js";
import { isLocalSymbol } from "../../codegen/select/symbols.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { constantGepOffset } from "../../ir/fold/addresses.js";
import { Op } from "../../ir/instructions.js";
import type { GlobalValue } from "../../ir/module.js";
import type { Constant } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import { GPR, XMM } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import type { Selector } from "./selector.js";
import { tlsAddress } from "./tls.js";

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
      return value.threadLocal !== "none" ? null : `@${value.kind}${value.name}`;
    default:
      return null;
  }
}

/** The same of a vector, where a loop has a register for it: the number of its zeros, or its bytes. */
export function vectorKey(layout: DataLayout, value: Constant): string | null {
  if (value.type.kind !== "vector" || value.valueKind === "undef") return null;
  const bytes = constantBytes(layout, value);
  return bytes === null ? null : `v${bytes.every((b) => b === 0) ? bytes.length : bytes.join()}`;
}

/** Takes a move of 10 bytes. */
export const isExpensive = (value: Constant): boolean =>
  value.valueKind === "int" &&
  !(value.num >= -0x80000000 && value.num <= 0xffffffff) &&
  value.type.bits <= 64;

/** Emits code for a constant into a fresh register. */
export function materialize(s: Selector, value: Constant): VReg {
  const { type } = value;
  if (value.valueKind === "undef")
    return s.undefined(
      s.isGeneral(type) ? GPR : XMM,
      s.isGeneral(type) ? s.spillSize(type) : Math.max(16, s.spillSize(type)),
    );
  if (s.isGeneral(type)) return materializeInteger(s, value);
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
      ? { kind: "direct", target: { kind: "block", block: s.blocks.labelled(label) } }
      : { kind: "direct", target: { kind: "foreign-block", global, block: label } },
    true,
  );
  if (own) s.blocks.labelled(label).addressTaken = true;
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
  const op: number =
    bytes.length >= 32 ? V.Movaps : bytes.length === 16 ? X.Movaps : bytes.length === 8 ? X.Movsd : X.Movss;
  const padded = bytes.length === 2 ? Uint8Array.of(bytes[0]!, bytes[1]!, 0, 0) : bytes;
  const load = s.load(op, padded.length, vreg, poolMem(padded));
  s.mf.vregs[vreg]!.remat = load;
  return vreg;
}

/** Memory operand of a literal pool entry with these bytes (4 to 64; aligned to their length). */
export function poolMem(bytes: Uint8Array): MemOperand {
  const constant = poolConstant(bytes, bytes.length);
  return memory(null, null, 1, 0, { kind: "direct", target: { kind: "constant", constant } }, true);
}
