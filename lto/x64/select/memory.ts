/** Loads, stores, read-modify-write folding, and the memory intrinsics. */

import { type MFunction, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { constantBytes, constantNumber, symbolOffset } from "../../codegen/select/constants.js";
import { loadFolds, unchangedSince } from "../../codegen/select/loads.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { isLocalSymbol } from "../../codegen/select/symbols.js";
import { type Piece, pieces } from "../../codegen/select/transfers.js";
import { type CallInst, Flag, type Inst, type InstWith, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import { isConstant, type Value } from "../../ir/values.js";
import { AccessMark, X } from "../isa/ops.js";
import { maskOf, RAX, RCX, RDI, RSI } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import { address, decomposeGep } from "./address.js";
import { selectFloatCompare, selectIntCompare } from "./condition.js";
import { fitsImm32 } from "./operand-facts.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { immediate } from "./source.js";
import * as x87 from "./x87.js";

/** Load opcode and operation size for a legal type held in an xmm register. */
function vectorAccess(s: Selector, type: Type, align: number): { load: number; store: number; size: number } {
  switch (type.kind) {
    case "float":
      return { load: X.Movss, store: X.MovssM, size: 4 };
    case "double":
      return { load: X.Movsd, store: X.MovsdM, size: 8 };
    default:
      if (s.layout.storeSize(type) > 16)
        return { load: V.Movups, store: V.MovupsM, size: s.layout.storeSize(type) };
      return align >= 16
        ? { load: X.Movaps, store: X.MovapsM, size: 16 }
        : { load: X.Movups, store: X.MovupsM, size: 16 };
  }
}

/**
 * Opcode and operation size of a load of so many bytes to a general register.
 * @param low nothing relies on what is above them in the register
 */
function narrowLoad(s: Selector, size: number, low: boolean): { load: X; size: number } {
  // Narrow loads clear the rest of the register; where nothing relies on it, the plain form is shorter.
  if (size >= 4 || (size === 1 && s.minsize && low)) return { load: X.Mov, size };
  return { load: size === 1 ? X.Movzx8 : X.Movzx16, size: 4 };
}

export function selectLoad(s: Selector, inst: InstWith<Op.Load>): void {
  const { type } = inst;
  if (type.kind === "x86_fp80") return x87.selectX87Load(s, inst);
  const result = s.resultOf(inst);
  const mem = address(s, inst.operands[0]!);
  if (s.isGeneral(type)) {
    const size = operationSize(s.layout, type);
    const extended = s.values.signExtended[inst.id]!;
    if (extended > 0) {
      s.load(size === 4 ? X.Movsxd : size === 2 ? X.Movsx16 : X.Movsx8, extended, result, mem);
      return;
    }
    const form = narrowLoad(s, size, s.values.zeroExtended[inst.id] === 0);
    s.load(form.load, form.size, result, mem);
    return;
  }
  if (type.kind === "half" || type.kind === "bfloat") {
    const word = s.newGpr(4);
    s.load(X.Movzx16, 4, word, mem);
    s.unary(X.MovdTo, 4, result, word);
    return;
  }
  const access = vectorAccess(s, type, inst.data.align);
  s.load(access.load, access.size, result, mem);
}

export function selectStore(s: Selector, inst: InstWith<Op.Store>): void {
  const [value, pointer] = inst.operands as [Value, Value];
  const { type } = value;
  if (value.valueKind === "undef" && (inst.flags & Flag.Volatile) === 0) return;
  if (type.kind === "x86_fp80") return x87.selectX87Store(s, inst);
  if (s.isGeneral(type)) return storeInteger(s, inst, value, pointer);
  if (type.kind === "half" || type.kind === "bfloat") {
    const word = s.newGpr(4);
    s.unary(X.MovdFrom, 4, word, s.reg(value));
    s.store(X.MovM, 2, address(s, pointer), word);
    return;
  }
  // Floating-point constants are stored as integers: no literal pool entry, no register.
  if (isConstant(value) && (type.kind === "float" || type.kind === "double")) {
    const bytes = constantBytes(s.layout, value);
    if (bytes !== null) {
      const bits = new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
      const high = bytes.length === 8 ? new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true) : 0;
      if (bytes.length === 4 || high === bits >> 31) {
        storeImmediate(s, bytes.length, pointer, bits, isPlainAccess(inst));
        return;
      }
    }
  }
  const access = vectorAccess(s, type, inst.data.align);
  const from = s.reg(value);
  s.store(access.store, access.size, address(s, pointer), from);
}

function storeImmediate(s: Selector, size: number, pointer: Value, imm: number, plain: boolean): void {
  const store = new MInst(X.MovM, size);
  store.imm = imm;
  if (plain) store.marks = AccessMark.Plain;
  store.mem = address(s, pointer);
  s.emit(store);
}

function storeInteger(s: Selector, inst: InstWith<Op.Store>, value: Value, pointer: Value): void {
  const size = operationSize(s.layout, value.type);
  const imm = immediate(s, value, size);
  if (imm !== null) {
    storeImmediate(s, size, pointer, imm, isPlainAccess(inst));
    return;
  }
  if (isConstant(value) && storeSymbol(s, size, value, pointer)) return;
  if (foldReadModifyWrite(s, inst, value, pointer, size)) return;
  if (storeCondition(s, value, pointer)) return;
  const from = s.reg(value);
  s.store(X.MovM, size, address(s, pointer), from);
}

/** `movq $sym, mem` where addresses are link-time constants. */
function storeSymbol(s: Selector, size: number, value: Value, pointer: Value): boolean {
  if (s.pic || size !== 8 || !isConstant(value)) return false;
  const target = symbolOffset(s.layout, value);
  if (target === null || !isLocalSymbol(s, target.global) || target.global.threadLocal !== "none")
    return false;
  if (!fitsImm32(target.offset)) return false;
  const store = new MInst(X.MovM, 8);
  store.symbol = s.globalSymbol(target.global);
  store.imm = target.offset;
  store.mem = address(s, pointer);
  s.emit(store);
  return true;
}

/** `setcc mem` for a zero-extended comparison stored as a byte. */
function storeCondition(s: Selector, value: Value, pointer: Value): boolean {
  if (!s.optimize || value.valueKind !== "inst" || value.op !== Op.ZExt || value.type.bits !== 8)
    return false;
  const cmp = value.operands[0]!;
  if (cmp.valueKind !== "inst" || (cmp.op !== Op.ICmp && cmp.op !== Op.FCmp)) return false;
  if (s.values.uses[value.id] !== 1 || s.values.uses[cmp.id] !== 1 || s.values.vregs[cmp.id]! >= 0)
    return false;
  // The address must be ready before the flags are set.
  const mem = address(s, pointer);
  const condition = cmp.op === Op.ICmp ? selectIntCompare(s, cmp) : selectFloatCompare(s, cmp);
  if (condition.second < 0) {
    const set = new MInst(X.SetccM, 1);
    set.condition = condition.first;
    set.mem = mem;
    s.emit(set);
  } else {
    const bit = s.newGpr(4);
    setCondition(s, bit, condition);
    s.store(X.MovM, 1, mem, bit);
  }
  return true;
}

const memoryOps: Partial<Record<Op, X>> = {
  [Op.Add]: X.AddM,
  [Op.Sub]: X.SubM,
  [Op.And]: X.AndM,
  [Op.Or]: X.OrM,
  [Op.Xor]: X.XorM,
  [Op.Shl]: X.ShlM,
  [Op.LShr]: X.ShrM,
  [Op.AShr]: X.SarM,
};

/** store(op(load p, x), p) as one instruction on memory. */
function foldReadModifyWrite(
  s: Selector,
  store: InstWith<Op.Store>,
  value: Value,
  pointer: Value,
  size: number,
): boolean {
  if (!s.optimize || value.valueKind !== "inst" || !isPlainAccess(store)) return false;
  if (value.type.bits === 1 || value.parent !== store.parent) return false;
  if (s.values.uses[value.id] !== 1 && !isUsedBehind(s, value, store)) return false;
  if (value.op === Op.GetElementPtr) return advancePointer(s, value, pointer);
  const op = memoryOps[value.op];
  if (op === undefined) return false;
  let [a, b] = value.operands as [Value, Value];
  const commutes = value.op !== Op.Sub && value.op !== Op.Shl && value.op !== Op.LShr && value.op !== Op.AShr;
  const last = s.values.uses[value.id] === 1;
  let load = loadOf(s, a, pointer, size, last);
  if (load === null && commutes) {
    load = loadOf(s, b, pointer, size, last);
    [a, b] = [b, a];
  }
  if (load === null) return false;
  const imm = immediate(s, b, size);
  if (imm === null && isConstant(b)) return false;
  const inst = new MInst(op, size);
  if (value.op === Op.Xor && imm === -1) inst.op = X.NotM;
  else if (value.op === Op.Sub && constantNumber(a) === 0) return false;
  else if (op === X.ShlM || op === X.ShrM || op === X.SarM) {
    if (imm !== null) inst.imm = imm & (size * 8 - 1);
    else inst.uses.push(new RegOperand(s.reg(b), maskOf(RCX)));
  } else if (imm !== null) inst.imm = imm;
  else inst.uses.push(s.use(b));
  changeMemory(s, inst, value, load, pointer);
  return true;
}

/** Emits the change; what else uses the new value finds it in memory, so what uses the old one had better be nobody. */
function changeMemory(s: Selector, inst: MInst, value: Inst, load: Inst, pointer: Value): void {
  inst.mem = address(s, pointer);
  s.emit(inst);
  const wanted = s.values.vregs[value.id]!;
  if (wanted >= 0) {
    const { load, size } = narrowLoad(s, inst.size, s.values.zeroExtended[value.id] === 0);
    const reload = new MInst(load, size);
    reload.defs = [new RegOperand(wanted)];
    reload.mem = address(s, pointer);
    reload.marks = AccessMark.Reload;
    s.emit(reload);
    s.values.vregs[value.id] = -1;
  }
  release(s, load);
}

/** How many instructions are looked through between a value and its store. */
const storeWindow = 16;

/** All users of the value but the store come after that. */
function isUsedBehind(s: Selector, value: Inst, store: Inst): boolean {
  if (!s.minsize) return false;
  const { insts } = store.parent!;
  const at = insts.lastIndexOf(store);
  for (let i = at - 1; i >= 0 && i >= at - storeWindow; i--) {
    if (insts[i] === value) return true;
    if (insts[i]!.operands.includes(value)) return false;
  }
  return false;
}

/** store(gep(load p, offset), p) as an addition. */
function advancePointer(s: Selector, gep: InstWith<Op.GetElementPtr>, pointer: Value): boolean {
  const load = loadOf(s, gep.operands[0]!, pointer, 8, s.values.uses[gep.id] === 1);
  if (load === null) return false;
  const steps = decomposeGep(s, gep);
  if (steps === null || !fitsImm32(steps.offset)) return false;
  const inst = new MInst(X.AddM, 8);
  if (steps.variable === null) inst.imm = steps.offset;
  else if (steps.scale === 1 && steps.offset === 0 && s.layout.bitWidth(steps.variable.type) === 64)
    inst.uses.push(s.use(steps.variable));
  else return false;
  changeMemory(s, inst, gep, load, pointer);
  return true;
}

/** One user of the load less: the last one may perform it. */
function release(s: Selector, load: Inst): void {
  if (s.values.uses[load.id]! > 1) s.values.uses[load.id]!--;
}

/**
 * The load that gave `value`, of memory which nothing has written since. With other users it stays, but for size the
 * instruction on memory is still shorter than one on a register and a store.
 * @param mayStay the load may have other users
 */
function loadOf(s: Selector, value: Value, pointer: Value, size: number, mayStay: boolean): Inst | null {
  if (value.valueKind !== "inst" || value.op !== Op.Load || operationSize(s.layout, value.type) !== size)
    return null;
  const folds = s.minsize && mayStay ? unchangedSince(s, value) : loadFolds(s, value, size);
  return folds && samePointer(value.operands[0]!, pointer) ? value : null;
}

/** The same pointer value; equal constant expressions and equal constant-offset addresses count. */
function samePointer(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a.valueKind === "inst" && b.valueKind === "inst") {
    if (a.op !== Op.GetElementPtr || b.op !== Op.GetElementPtr) return false;
    return (
      a.data.elementType === b.data.elementType &&
      a.operands.length === b.operands.length &&
      a.operands.every((o, i) => {
        const other = b.operands[i]!;
        return o === other || (o.valueKind === "int" && other.valueKind === "int" && o.value === other.value);
      })
    );
  }
  return false;
}

// ── Memory intrinsics ──

type Goal = MFunction["goal"];

/** How many load/store pairs an inline copy may take before a call is better. */
function inlineLimit(goal: Goal, isSet: boolean): number {
  switch (goal) {
    case "minsize":
    case "size":
      return isSet ? 6 : 4;
    case "none":
      return 8;
    default:
      return isSet ? 16 : 8;
  }
}

/** The accesses that a copy of this length takes; null where a routine does it. */
function copyPieces(goal: Goal, length: number | null, limit = inlineLimit(goal, false)): Piece[] | null {
  if (length === null || length <= 0 || length > 512) return null;
  const parts = pieces(length, length >= 16 ? 16 : 8);
  return parts.length <= limit ? parts : null;
}
/** The same for a fill. @param value null: not known */
function fillPieces(goal: Goal, length: number | null, value: number | null): Piece[] | null {
  if (length === null || length <= 0 || length > 512 || value === null) return null;
  const parts = pieces(length, value === 0 && length >= 16 ? 16 : 8);
  return parts.length <= inlineLimit(goal, true) ? parts : null;
}

/** Whether `llvm.memcpy`, `llvm.memmove` or `llvm.memset` becomes instructions, or nothing at all. */
export function transfersInline({ operands }: CallInst, goal: Goal): boolean {
  const [callee, , second, last] = operands as [Value, Value, Value, Value];
  const length = constantNumber(last);
  if (length === 0) return true;
  if (intrinsicOf(callee) === intrinsics.memset)
    return fillPieces(goal, length, constantNumber(second)) !== null;
  return copyPieces(goal, length) !== null;
}

function addressAt(s: Selector, pointer: Value, offset: number) {
  return address(s, pointer, offset);
}

/** memcpy, memmove: inline when short and constant, else the library routine. */
export function selectMemCopy(s: Selector, call: CallInst, move: boolean, forceInline: boolean): void {
  const [, to, from, length] = call.operands as [Value, Value, Value, Value];
  const n = constantNumber(length);
  if (n === 0) return;
  const { goal } = s.mf;
  const parts = copyPieces(goal, n, forceInline ? 8 : inlineLimit(goal, false));
  if (parts !== null) {
    // All loads come first: right for overlapping memory too.
    const loaded = parts.map((part) => loadPiece(s, from, part));
    parts.forEach((part, i) => {
      storePiece(s, to, part, loaded[i]!);
    });
    return;
  }
  if (forceInline) {
    repeatMove(s, to, from, length);
    return;
  }
  s.callRoutine(move ? "memmove" : "memcpy", [to, from, length]);
}

function loadPiece(s: Selector, pointer: Value, part: Piece): VReg {
  const mem = addressAt(s, pointer, part.offset);
  if (part.size === 16) {
    const vreg = s.newXmm();
    s.load(X.Movups, 16, vreg, mem);
    return vreg;
  }
  const vreg = s.newGpr(part.size);
  if (part.size >= 4) s.load(X.Mov, part.size, vreg, mem);
  else s.load(part.size === 1 ? X.Movzx8 : X.Movzx16, 4, vreg, mem);
  return vreg;
}

function storePiece(s: Selector, pointer: Value, part: Piece, from: VReg): void {
  s.store(part.size === 16 ? X.MovupsM : X.MovM, part.size, addressAt(s, pointer, part.offset), from);
}

/** rep movsb. */
function repeatMove(s: Selector, to: Value, from: Value, length: Value): void {
  const inst = new MInst(X.RepMovs, 1);
  const registers = [RDI, RSI, RCX];
  [to, from, length].forEach((value, i) => {
    inst.uses.push(new RegOperand(s.reg(value), maskOf(registers[i]!)));
    inst.defs.push(new RegOperand(s.newGpr(), maskOf(registers[i]!), false, i));
  });
  s.emit(inst);
}

export function selectMemSet(s: Selector, call: CallInst, forceInline: boolean): void {
  const [, to, byte, length] = call.operands as [Value, Value, Value, Value];
  const n = constantNumber(length);
  if (n === 0) return;
  const value = constantNumber(byte);
  const parts = fillPieces(s.mf.goal, n, value);
  if (parts !== null) {
    storePattern(s, to, value! & 0xff, parts, constantNumber(call.operands[3]!) === 0);
    return;
  }
  if (forceInline) {
    const inst = new MInst(X.RepStos, 1);
    inst.uses.push(
      new RegOperand(s.reg(to), maskOf(RDI)),
      new RegOperand(s.reg(length), maskOf(RCX)),
      new RegOperand(s.reg(byte), maskOf(RAX)),
    );
    inst.defs.push(
      new RegOperand(s.newGpr(), maskOf(RDI), false, 0),
      new RegOperand(s.newGpr(), maskOf(RCX), false, 1),
    );
    s.emit(inst);
    return;
  }
  s.callRoutine("memset", [to, byte, length]);
}

function storePattern(s: Selector, to: Value, byte: number, parts: readonly Piece[], plain: boolean): void {
  let zero: VReg = -1;
  let wide: VReg = -1;
  const signed = byte > 127 ? byte - 256 : byte;
  for (const { offset, size } of parts) {
    if (size === 16) {
      if (zero < 0) {
        zero = s.newXmm();
        const inst = new MInst(X.XorpsZero, 16);
        inst.defs = [new RegOperand(zero)];
        s.mf.vregs[zero]!.remat = inst;
        s.emit(inst);
      }
      s.store(X.MovupsM, 16, addressAt(s, to, offset), zero);
      continue;
    }
    const pattern = BigInt.asIntN(size * 8, BigInt(byte) * 0x0101010101010101n);
    if (size < 8 || pattern === BigInt(signed)) {
      const store = new MInst(X.MovM, size);
      store.imm = Number(pattern);
      if (plain) store.marks = AccessMark.Plain;
      store.mem = addressAt(s, to, offset);
      s.emit(store);
      continue;
    }
    if (wide < 0) {
      wide = s.newGpr();
      s.moveImm(wide, 8, pattern);
    }
    s.store(X.MovM, 8, addressAt(s, to, offset), wide);
  }
}
