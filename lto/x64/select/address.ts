/**
 * Addressing modes: pointer values as base + index·scale + displacement.
 *
 * Getelementptr chains with constant offsets always fold into the access. A variable index folds when the
 * getelementptr has a single use, or all its uses are memory accesses: then recomputing the address in each
 * is at most as long as keeping it in a register. Constant addresses become rip-relative operands.
 */

import { type MemOperand, MInst, RegOperand, type SymbolRef, type VReg } from "../../codegen/mir.js";
import { constantNumber, foldedInteger, symbolOffset } from "../../codegen/select/constants.js";
import { constantSum, type GepTerms, gepTerms, isRecomputed } from "../../codegen/select/gep.js";
import { isLocalSymbol, isThreadLocalAddress, tlsModel } from "../../codegen/select/symbols.js";
import { type Inst, type InstWith, Op } from "../../ir/instructions.js";
import type { Constant, Value } from "../../ir/values.js";
import { isConstant } from "../../ir/values.js";
import { hasSegment, memory, type Scale, scaleOf } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import { fitsImm8, fitsImm32 } from "./operand-facts.js";
import type { Selector } from "./selector.js";

/** A partly built address: values not yet put into registers. */
interface AddressMode {
  base: Value | null;
  index: Value | null;
  /** Width the index must be sign-extended from; 64 when it is a full register. */
  scale: Scale;
  disp: number;
  slot: number;
  symbol: SymbolRef | null;
  segment: "" | "fs" | "gs";
  /** For an access, not for `lea`: segment bases may fold. */
  readonly access: boolean;
  /** Part of the address is of use elsewhere too. */
  isShared: boolean;
}

/** The memory operand for accessing `pointer`, with `extra` bytes added. */
export function address(s: Selector, pointer: Value, extra = 0, access = true): MemOperand {
  const mode: AddressMode = {
    base: pointer,
    index: null,
    scale: 1,
    disp: extra,
    slot: -1,
    symbol: null,
    segment: segmentOf(pointer.type.addressSpace),
    access,
    isShared: false,
  };
  while (foldBase(s, mode));
  return finish(s, mode);
}

function segmentOf(addressSpace: number): "" | "fs" | "gs" {
  return addressSpace === 257 ? "fs" : addressSpace === 256 ? "gs" : "";
}

/** Absorbs the definition of the base; false when nothing more folds. */
function foldBase(s: Selector, mode: AddressMode): boolean {
  const base = mode.base === null ? null : s.resolve(mode.base);
  mode.base = base;
  if (base === null) return false;
  // Beside a symbol the base is a second index: there is no room for another symbol or slot.
  if (mode.symbol !== null && (base.valueKind !== "inst" || base.op !== Op.Add)) return false;
  if (isConstant(base)) return foldConstantBase(s, mode, base);
  if (base.valueKind === "argument") {
    mode.slot = s.abi.pointedSlots.get(base.index) ?? -1;
    if (mode.slot >= 0) mode.base = null;
    return false;
  }
  if (base.valueKind !== "inst") return false;
  if (base.op === Op.Alloca && s.slots.slots[base.id]! >= 0) {
    mode.slot = s.slots.slots[base.id]!;
    mode.base = null;
    return false;
  }
  if (base.op === Op.GetElementPtr) return foldGep(s, mode, base);
  if (base.op === Op.Call && isThreadLocalAddress(base)) {
    mode.base = base.operands[1]!;
    if (foldConstantBase(s, mode, mode.base as Constant) || mode.base === null) return false;
    mode.base = base;
    return false;
  }
  if (base.op === Op.Add && s.optimize && base.type.bits === 64) {
    const n = constantNumber(base.operands[1]!);
    if (n !== null && reaches(mode, mode.disp + n)) {
      mode.disp += n;
      mode.base = base.operands[0]!;
      return true;
    }
  }
  return false;
}

/** Inside what the small code model promises for symbol + addend. */
const fitsSymbol = (disp: number): boolean => disp >= -0x1000000 && disp <= 0x1000000;

/** Whether the displacement of the mode may be `disp`. */
const reaches = ({ symbol }: AddressMode, disp: number): boolean =>
  symbol === null ? fitsImm32(disp) : fitsSymbol(disp);

function foldConstantBase(s: Selector, mode: AddressMode, base: Constant): boolean {
  const target = symbolOffset(s.layout, base);
  if (target !== null) {
    const { global, offset } = target;
    if (global.threadLocal !== "none") {
      if (!mode.access || tlsModel(s, global) !== "localexec" || !fitsImm32(mode.disp + offset)) return false;
      mode.symbol = s.globalSymbol(global, "tls-offset");
      mode.segment = "fs";
      mode.disp += offset;
      mode.base = null;
      return false;
    }
    if (!isLocalSymbol(s, global) || (s.pic && mode.index !== null)) return false;
    const disp = mode.disp + offset;
    if (!fitsSymbol(disp)) return false;
    mode.symbol = s.globalSymbol(global);
    mode.disp = disp;
    mode.base = null;
    return false;
  }
  const absolute = foldedInteger(s.layout, base);
  if (absolute !== null) {
    const disp = Number(absolute) + mode.disp;
    if (Number.isSafeInteger(disp) && fitsImm32(disp)) {
      mode.disp = disp;
      mode.base = null;
    }
  }
  return false;
}

function foldGep(s: Selector, mode: AddressMode, gep: Extract<Inst, { op: Op.GetElementPtr }>): boolean {
  const decomposed = decomposeGep(s, gep);
  if (decomposed === null) return false;
  const { offset, variable, scale } = decomposed;
  if (!fitsImm32(mode.disp + offset)) return false;
  mode.isShared ||= s.values.uses[gep.id] !== 1;
  if (variable !== null) {
    if (s.layout.bitWidth(variable.type) !== 64 || !isRecomputed(s, gep)) return false;
    if (mode.index !== null)
      return scale === 1 && foldSecondIndex(s, mode, gep.operands[0]!, variable, offset);
    mode.index = variable;
    mode.scale = scale;
  }
  if (variable === null && isStep(s, gep)) return false;
  mode.disp += offset;
  mode.base = gep.operands[0]!;
  return true;
}

/**
 * What a pointer becomes in the next round, where nobody else asks for the pointer: `*--p`. It is there anyway, and accesses
 * by way of the pointer before would keep that in a register of its own, with a copy each round.
 */
function isStep({ optimize, values }: Selector, gep: InstWith<Op.GetElementPtr>): boolean {
  const base = gep.operands[0]!;
  return (
    optimize &&
    base.valueKind === "inst" &&
    base.op === Op.Phi &&
    values.uses[base.id] === 1 &&
    base.operands.includes(gep)
  );
}

/**
 * Beside an index there is room for another one where the base is a symbol: in its place. For speed, or where this access alone
 * goes by the address: each gets longer.
 */
function foldSecondIndex(
  s: Selector,
  mode: AddressMode,
  base: Value,
  variable: Value,
  offset: number,
): boolean {
  const symbol = s.resolve(base);
  if ((s.mf.goal !== "speed" && mode.isShared) || mode.symbol !== null) return false;
  if (mode.segment !== "" || !isConstant(symbol)) return false;
  const sum: AddressMode = { ...mode, disp: mode.disp + offset };
  foldConstantBase(s, sum, symbol);
  if (sum.base !== null || sum.segment !== "") return false;
  mode.symbol = sum.symbol;
  mode.disp = sum.disp;
  mode.base = variable;
  return true;
}

const isScale = (stride: number): stride is Scale =>
  stride === 1 || stride === 2 || stride === 4 || stride === 8;

/** A getelementptr as base + variable·scale + offset, or null if it needs more than one variable index. */
export const decomposeGep = (s: Selector, gep: InstWith<Op.GetElementPtr>): GepTerms<Scale> | null =>
  gepTerms(s.layout, gep, isScale);

/** Where a sum is the index of several addresses: what its constant costs them is less than it costs itself. */
function isCheapIn(s: Selector, sum: Inst, bytes: number): boolean {
  const uses = s.values.uses[sum.id]!;
  if (uses === 1) return true;
  if (!s.optimize || s.values.indexOnly[sum.id] === 0) return false;
  return s.mf.goal === "speed" || (uses <= 3 && fitsImm8(bytes));
}

function finish(s: Selector, mode: AddressMode): MemOperand {
  if (mode.index !== null) {
    const index = s.resolve(mode.index);
    // index + constant: the constant belongs in the displacement. Not under an extension, where the sum may wrap.
    const sum = constantSum(index);
    if (sum !== null) {
      const bytes = sum.constant * mode.scale;
      if (reaches(mode, mode.disp + bytes) && isCheapIn(s, index as Inst, bytes)) {
        mode.disp += bytes;
        mode.index = sum.term;
      }
    }
    if (mode.scale === 1 && mode.base === null && mode.slot < 0) {
      mode.base = mode.index;
      mode.index = null;
    } else if (mode.scale === 2 && mode.base === null && mode.slot < 0 && mode.symbol === null) {
      // (,r,2) forces a 32-bit displacement; (r,r,1) does not.
      mode.base = mode.index;
      mode.scale = 1;
    }
  }
  const rip =
    mode.symbol !== null && mode.symbol.kind === "direct" && mode.base === null && mode.index === null;
  const base = mode.base === null ? null : new RegOperand(s.reg(mode.base));
  const index = mode.index === null ? null : new RegOperand(s.reg(mode.index));
  return memory(base, index, mode.scale, mode.disp, mode.symbol, rip, mode.slot, mode.segment);
}

/** Lowers a getelementptr that some user needs in a register. */
export function selectGep(s: Selector, gep: Extract<Inst, { op: Op.GetElementPtr }>): void {
  const result = s.resultOf(gep);
  const decomposed = decomposeGep(s, gep);
  if (decomposed !== null) {
    selectSimpleGep(s, gep, result, decomposed);
    return;
  }
  // General form: add the contribution of each index in turn.
  let type = gep.data.elementType;
  let sum: VReg = s.reg(gep.operands[0]!);
  let pendingOffset = 0;
  for (let i = 1; i < gep.operands.length; i++) {
    const index = gep.operands[i]!;
    let stride: number;
    if (i === 1) stride = s.layout.allocSize(type);
    else if (type.kind === "struct") {
      const member = constantNumber(index)!;
      pendingOffset += s.layout.structLayout(type).offsets[member]!;
      type = type.elements[member]!;
      continue;
    } else {
      type = type.element;
      stride = s.layout.allocSize(type);
    }
    const n = constantNumber(index);
    if (n !== null) pendingOffset += n * stride;
    else if (stride !== 0) sum = addScaled(s, sum, signExtended(s, index), stride);
  }
  if (!Number.isSafeInteger(pendingOffset) || !fitsImm32(pendingOffset)) {
    const wide = s.newGpr();
    s.moveImm(wide, 8, BigInt(pendingOffset));
    s.binary(X.Add, 8, result, sum, wide);
  } else if (pendingOffset !== 0) leaInto(s, result, memory(new RegOperand(sum), null, 1, pendingOffset));
  else s.copy(result, sum, 8);
}

function selectSimpleGep(
  s: Selector,
  gep: Extract<Inst, { op: Op.GetElementPtr }>,
  result: VReg,
  { offset, variable, scale }: GepTerms<Scale>,
): void {
  const base = gep.operands[0]!;
  if (!fitsImm32(offset)) {
    const wide = s.newGpr();
    s.moveImm(wide, 8, BigInt(offset));
    const sum = variable === null ? result : s.newGpr();
    s.binary(X.Add, 8, sum, s.reg(base), wide);
    if (variable !== null)
      leaInto(s, result, memory(new RegOperand(sum), new RegOperand(signExtended(s, variable)), scale));
    return;
  }
  if (variable === null) {
    const mem = address(s, base, offset, false);
    addressInto(s, result, mem, base);
    return;
  }
  const mode: AddressMode = {
    base,
    index: variable,
    scale,
    disp: offset,
    slot: -1,
    symbol: null,
    segment: "",
    access: false,
    isShared: false,
  };
  if (s.layout.bitWidth(variable.type) !== 64) {
    leaInto(
      s,
      result,
      memory(new RegOperand(s.reg(base)), new RegOperand(signExtended(s, variable)), scale, offset),
    );
    return;
  }
  while (foldBase(s, mode));
  const mem = finish(s, mode);
  addressInto(s, result, mem, base);
}

/** result = address of mem; as an addition in place when the base dies here. */
function addressInto(s: Selector, result: VReg, mem: MemOperand, baseValue: Value): void {
  const plain = mem.symbol === null && mem.slot < 0 && !hasSegment(mem) && mem.base !== null;
  if (plain && mem.index === null && mem.disp === 0) {
    s.copy(result, mem.base!.vreg, 8);
    return;
  }
  if (plain && mem.base!.vreg !== result && s.diesHere(baseValue)) {
    if (mem.index === null) {
      s.binaryImm(X.Add, 8, result, mem.base!.vreg, mem.disp);
      return;
    }
    if (scaleOf(mem) === 1 && mem.disp === 0) {
      s.binary(X.Add, 8, result, mem.base!.vreg, mem.index.vreg);
      return;
    }
  }
  leaInto(s, result, mem);
}

function leaInto(s: Selector, result: VReg, mem: MemOperand): void {
  const lea = new MInst(X.Lea, 8);
  lea.defs = [new RegOperand(result)];
  lea.mem = mem;
  if (mem.base === null && mem.index === null) s.mf.vregs[result]!.remat = lea;
  s.emit(lea);
}

/** A getelementptr index as a 64-bit register. */
function signExtended(s: Selector, index: Value): VReg {
  const bits = s.layout.bitWidth(index.type);
  if (bits === 64) return s.reg(index);
  const wide = s.newGpr();
  const op = bits === 32 ? X.Movsxd : bits === 16 ? X.Movsx16 : X.Movsx8;
  s.unary(op, 8, wide, s.reg(index));
  return wide;
}

function addScaled(s: Selector, sum: VReg, index: VReg, stride: number): VReg {
  const result = s.newGpr();
  if (isScale(stride)) {
    leaInto(s, result, memory(new RegOperand(sum), new RegOperand(index), stride));
    return result;
  }
  let product: VReg;
  if (fitsImm32(stride)) {
    product = s.newGpr();
    const mul = new MInst(X.ImulImm, 8);
    mul.defs = [new RegOperand(product)];
    mul.uses = [new RegOperand(index)];
    mul.imm = stride;
    s.emit(mul);
  } else {
    const wide = s.newGpr();
    s.moveImm(wide, 8, BigInt(stride));
    product = s.newGpr();
    s.binary(X.Imul, 8, product, index, wide);
  }
  s.binary(X.Add, 8, result, sum, product);
  return result;
}
