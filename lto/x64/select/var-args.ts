/**
 * Functions with variable arguments: the register save area, of which only what callers use is there, and `va_list`s
 * (System V ABI AMD64, section 3.5.7).
 */

import type { LegalFunction } from "../../codegen/legalize/index.js";
import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { knownCallee } from "../../codegen/select/calls.js";
import type { ArgumentLayout } from "../../codegen/select/function-abi.js";
import { type CallInst, callArguments, Op } from "../../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import { GPR, integerArguments, maskOf, RAX, vectorArgumentCount, XMM, XMM0 } from "../isa/registers.js";
import { homeBytes, microsoftWord } from "./abi.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";

/** Offset of the vector registers in the register save area (ABI section 3.5.7). */
const vectorSaves = integerArguments.length * 8;

export class VarArgs {
  /** The register save area, or -1. */
  slot = -1;
  /** Offset in the platform's register save area at which the slot begins. */
  start = 0;
  /** Of Microsoft's convention: how many arguments have names; -1 elsewhere. */
  home = -1;
  /** Named integer and vector arguments in registers. */
  gpr = 0;
  xmm = 0;
  /** The first registers after those that callers use. */
  gprEnd = 0;
  xmmEnd = 0;
  /** By register: variable arguments that a jump hands on, and their count; empty: none does. */
  readonly forwarded = new Map<number, VReg>();
}

/** Room for the argument registers that callers pass variable arguments in: a part of the platform's save area. */
export function makeSaveArea(s: Selector, legal: LegalFunction, { registerCounts }: ArgumentLayout): void {
  s.varArgs.gpr = registerCounts[GPR]!;
  s.varArgs.xmm = registerCounts[XMM]!;
  const { integers, vectors } = s.options.passedTo(legal.fn, -1);
  s.varArgs.gprEnd = Math.max(s.varArgs.gpr, Math.min(integers, integerArguments.length));
  s.varArgs.xmmEnd = Math.max(s.varArgs.xmm, Math.min(vectors, vectorArgumentCount));
  const onlyWords = s.varArgs.xmmEnd === s.varArgs.xmm;
  s.varArgs.start = s.varArgs.gpr === s.varArgs.gprEnd ? vectorSaves + s.varArgs.xmm * 16 : s.varArgs.gpr * 8;
  if (!onlyWords) s.varArgs.start &= ~15;
  const end = onlyWords ? s.varArgs.gprEnd * 8 : vectorSaves + s.varArgs.xmmEnd * 16;
  if (end > s.varArgs.start && usesVarArgs(legal))
    s.varArgs.slot = s.mf.newSlot(end - s.varArgs.start, onlyWords ? 8 : 16);
}

function usesVarArgs(legal: LegalFunction): boolean {
  for (const block of legal.body.blocks)
    for (const inst of block.insts) {
      if (inst.op !== Op.Call) continue;
      if (intrinsicOf(inst.operands[0]!) === intrinsics.va_start) return true;
    }
  return false;
}

/** Stores the argument registers that hold variable arguments into the register save area. */
export function saveVarArgs(s: Selector, entry: MInst, after: (() => void)[]): void {
  const slot = s.varArgs.slot;
  const at = (offset: number): MemOperand => s.slotMem(slot, offset - s.varArgs.start);
  for (let i = s.varArgs.gpr; i < s.varArgs.gprEnd; i++) {
    const register = integerArguments[i]!;
    const vreg = s.varArgs.forwarded.get(register) ?? s.newGpr();
    if (!s.varArgs.forwarded.has(register)) entry.defs.push(new RegOperand(vreg, maskOf(register)));
    after.push(() => s.store(X.MovM, 8, at(i * 8), vreg));
  }
  // All vector registers, without testing al: the branch costs more bytes than it saves time.
  for (let i = s.varArgs.xmm; i < s.varArgs.xmmEnd; i++) {
    const vreg = s.varArgs.forwarded.get(XMM0 + i) ?? s.newXmm();
    if (!s.varArgs.forwarded.has(XMM0 + i)) entry.defs.push(new RegOperand(vreg, maskOf(XMM0 + i)));
    after.push(() => s.store(X.MovapsM, 16, at(vectorSaves + i * 16), vreg));
  }
}

/** Microsoft's: variable arguments in registers go to their places in front of those on the stack. */
export function saveHome(s: Selector, named: number, entry: MInst, after: (() => void)[]): void {
  for (let at = named; at < homeBytes / 8; at++) {
    const register = microsoftWord(at);
    let vreg = s.kept.get(register);
    if (vreg === undefined) {
      vreg = s.newGpr();
      entry.defs.push(new RegOperand(vreg, maskOf(register)));
    }
    const value = vreg;
    const slot = s.mf.newSlot(8, 8, "incoming", 8 * at);
    after.push(() => s.store(X.MovM, 8, s.slotMem(slot), value));
  }
}

/** A list is a pointer to the next argument. */
function startHome(s: Selector, list: Value): void {
  const first = s.newGpr();
  const incoming = new MInst(X.IncomingAddress, 8);
  incoming.defs = [new RegOperand(first)];
  incoming.imm = 8 * s.varArgs.home;
  s.emit(incoming);
  s.store(X.MovM, 8, address(s, list), first);
}

/** Microsoft's convention: what variable arguments hold in vector registers is in the general ones, too. */
export function doubleVarArgs(s: Selector, call: CallInst, layout: ArgumentLayout, uses: RegOperand[]): void {
  if (!call.data.functionType.isVarArg) return;
  callArguments(call).forEach((value, i) => {
    const place = layout.places[i]!;
    if (place.kind !== "register" || place.register < XMM0 || value.valueKind === "undef") return;
    const word = s.newGpr();
    const isSingle = value.type.kind === "float";
    s.unary(isSingle ? X.MovdFrom : X.MovqFrom, isSingle ? 4 : 8, word, s.reg(value));
    uses.push(new RegOperand(word, maskOf(microsoftWord(place.register - XMM0))));
  });
}

/** va_start: fills the four fields of the va_list (ABI section 3.5.7). */
export function selectVaStart(s: Selector, list: Value): void {
  if (s.varArgs.home >= 0) return startHome(s, list);
  const field = (offset: number, size: number, imm: number): void => {
    const store = new MInst(X.MovM, size);
    store.imm = imm;
    store.mem = address(s, list, offset);
    s.emit(store);
  };
  field(0, 4, s.varArgs.gpr * 8);
  field(4, 4, vectorSaves + s.varArgs.xmm * 16);
  const overflow = s.newGpr();
  const incoming = new MInst(X.IncomingAddress, 8);
  incoming.defs = [new RegOperand(overflow)];
  incoming.imm = s.mf.incomingBytes;
  s.emit(incoming);
  s.store(X.MovM, 8, address(s, list, 8), overflow);
  // Where nobody passes anything in registers nothing is to be read there, but programs that read too much stay alive.
  const area = s.varArgs.slot < 0 ? overflow : s.slotAddress(s.varArgs.slot, -s.varArgs.start);
  s.store(X.MovM, 8, address(s, list, 16), area);
}

export function selectVaCopy(s: Selector, to: Value, from: Value): void {
  const low = s.newXmm();
  s.load(X.Movups, 16, low, address(s, from));
  const high = s.newGpr();
  s.load(X.Mov, 8, high, address(s, from, 16));
  s.store(X.MovupsM, 16, address(s, to), low);
  s.store(X.MovM, 8, address(s, to, 16), high);
}

/** Hands the variable arguments on as they came. Those on the stack are where they have to be. */
export function forwardVarArgs(s: Selector, uses: RegOperand[]): void {
  if (s.varArgs.forwarded.size === 0) {
    s.varArgs.forwarded.set(RAX, s.newGpr(4));
    for (let i = s.varArgs.gpr; i < integerArguments.length; i++)
      s.varArgs.forwarded.set(integerArguments[i]!, s.newGpr());
    for (let i = s.varArgs.xmm; i < vectorArgumentCount; i++) s.varArgs.forwarded.set(XMM0 + i, s.newXmm());
  }
  for (const [register, vreg] of s.varArgs.forwarded) uses.push(new RegOperand(vreg, maskOf(register)));
}

/**
 * al holds an upper bound of the vector registers used, for callees that take variable arguments. Our own prologues do
 * not read it.
 */
export function addVarArgCount(
  s: Selector,
  call: CallInst,
  layout: ArgumentLayout,
  uses: RegOperand[],
): void {
  if (!call.data.functionType.isVarArg) return;
  if (!s.options.passedTo(knownCallee(call), call.data.calleeSet ?? -1).readsCount) return;
  const count = s.newGpr(4);
  s.moveImm(count, 4, layout.registerCounts[XMM]!);
  uses.push(new RegOperand(count, maskOf(RAX)));
}
