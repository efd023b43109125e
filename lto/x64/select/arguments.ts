/** Arguments of calls: in registers, and on the stack. */

import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { noRegisters } from "../../codegen/register-set.js";
import { type AbiArgument, type ArgumentLayout, extensionOf } from "../../codegen/select/function-abi.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { JumpMark, X } from "../isa/ops.js";
import { maskOf, RSP } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import { extended } from "./integer.js";
import type { Selector } from "./selector.js";
import { immediate } from "./source.js";
import { push80 } from "./x87.js";

/** Evaluates register arguments; the operands are fixed to their registers. */
export function registerArguments(
  s: Selector,
  values: readonly Value[],
  args: readonly AbiArgument[],
  layout: ArgumentLayout,
): RegOperand[] {
  const uses: RegOperand[] = [];
  values.forEach((value, i) => {
    const place = layout.places[i]!;
    if (place.kind !== "register" || value.valueKind === "undef") return;
    uses.push(new RegOperand(argumentRegister(s, value, args[i]!), maskOf(place.register)));
  });
  return uses;
}

/** Notes whether a call or return has more than the low half of a vector register among its operands. */
export function markWide(s: Selector, machine: MInst): void {
  const isWide = ({ vreg }: RegOperand): boolean => vreg >= 0 && s.mf.vregs[vreg]!.size > 16;
  if (machine.uses.some(isWide) || machine.defs.some(isWide)) machine.marks |= JumpMark.Wide;
}

/** Of a narrow integer, whose bits up to 32 are what the ABI attribute demands; null where it demands nothing. */
const demanded = ({ type, attributes }: AbiArgument): "signext" | "zeroext" | null =>
  type.kind === "int" && type.bits < 32 ? extensionOf(attributes) : null;

/**
 * A constant argument as an immediate of its place, on the stack as in a register; null when it is none (sign-extended
 * 32 bits).
 */
function argumentImmediate(s: Selector, value: Value, argument: AbiArgument): number | null {
  if (!s.isGeneral(value.type)) return null;
  const imm = immediate(s, value, operationSize(s.layout, value.type));
  const extension = demanded(argument);
  if (imm === null || extension === null) return imm;
  const { bits } = argument.type;
  return Number(
    extension === "signext" ? BigInt.asIntN(bits, BigInt(imm)) : BigInt.asUintN(bits, BigInt(imm)),
  );
}

/** The value in a register, extended to 32 bits where the ABI attribute demands it. */
export function argumentRegister(s: Selector, value: Value, argument: AbiArgument): VReg {
  const { type } = argument;
  const extension = demanded(argument);
  if (extension === null) return s.reg(value);
  const signed = extension === "signext";
  const imm = argumentImmediate(s, value, argument);
  if (imm !== null) {
    const constant = s.newGpr(4);
    s.moveImm(constant, 4, imm);
    return constant;
  }
  if (type.bits === 1) {
    const wide = s.newGpr(4);
    if (s.isBoolean(value)) s.unary(X.Movzx8, 4, wide, s.reg(value));
    else s.binaryImm(X.And, 4, wide, s.reg(value), 1);
    if (!signed) return wide;
    const negated = s.newGpr(4);
    s.tiedUnary(X.Neg, 4, negated, wide);
    return negated;
  }
  if (!signed && s.relyOnZeros(value, 32)) return s.reg(value);
  return extended(s, value, type.bits / 8, signed);
}

/**
 * Pushes stack arguments, last first; byval copies and wide values go to room made beforehand.
 * @returns bytes to take off after the call
 */
export function passStackArguments(
  s: Selector,
  values: readonly Value[],
  args: readonly AbiArgument[],
  layout: ArgumentLayout,
): number {
  const total = layout.stackBytes;
  if (total === 0) return 0;
  const setup = new MInst(X.CallSetup, 8);
  const unit = Math.max(layout.align, 16);
  const room = layout.align > 8 ? Math.ceil(total / unit) * unit : total;
  setup.imm = room;
  // The argument area starts at the stack pointer: a slot of its alignment makes the frame realign that.
  if (layout.align > 16) s.mf.newSlot(layout.align, layout.align);
  // Pushing works where eight-byte values fill the area without gaps.
  const words = layout.places.filter((p) => p.kind === "stack" && p.size === 8).length;
  if (words * 8 === room) {
    const onStack = layout.places
      .map((place, i) => ({ place, i }))
      .filter(({ place }) => place.kind === "stack");
    const operands = onStack.map(({ i }) => pushOperand(s, values[i]!, args[i]!));
    s.emit(setup);
    for (let k = onStack.length - 1; k >= 0; k--) s.emit(operands[k]!);
    return room;
  }
  // Registers first: nothing may be computed with pushes between (the addresses are relative to rsp).
  const stores: (() => void)[] = [];
  layout.places.forEach((place, i) => {
    const value = values[i]!;
    if (place.kind === "register") return;
    if (place.kind === "byval") stores.push(byvalCopy(s, value, place.offset, place.size));
    else if (value.type.kind === "x86_fp80")
      stores.push(() => {
        push80(s, value);
        const store = new MInst(X.FstpM, 10);
        store.mem = outgoing(place.offset);
        s.emit(store);
      });
    else if (value.valueKind !== "undef") {
      const imm = argumentImmediate(s, value, args[i]!);
      const vreg = imm === null ? argumentRegister(s, value, args[i]!) : -1;
      stores.push(() => {
        if (imm !== null) {
          const store = new MInst(X.MovM, 8);
          store.imm = imm;
          store.mem = outgoing(place.offset);
          s.emit(store);
        } else if (s.isGeneral(value.type)) s.store(X.MovM, 8, outgoing(place.offset), vreg);
        else {
          const size = s.mf.vregs[vreg]!.size;
          const op = size === 4 ? X.MovssM : size === 8 ? X.MovsdM : size === 16 ? X.MovupsM : V.MovupsM;
          s.store(op, size, outgoing(place.offset), vreg);
        }
      });
    }
  });
  s.emit(setup);
  const alloc = new MInst(X.StackAlloc, 8);
  alloc.imm = room;
  s.emit(alloc);
  for (const store of stores) store();
  return room;
}

const outgoing = (offset: number): MemOperand => memory(RegOperand.physical(RSP), null, 1, offset);

function byvalCopy(s: Selector, pointer: Value, offset: number, size: number): () => void {
  const from = s.reg(pointer);
  return () => copyMemory(s, from, (at) => outgoing(offset + at), size);
}

/** Copies an argument from an address to a place: through registers when short, else by rep movs. */
export function copyMemory(s: Selector, from: VReg, place: (at: number) => MemOperand, size: number): void {
  if (size <= 64) {
    let at = 0;
    for (const width of [16, 8, 4, 2, 1])
      while (size - at >= width) {
        const source = memory(new RegOperand(from), null, 1, at);
        if (width === 16) {
          const vreg = s.newXmm();
          s.load(X.Movups, 16, vreg, source);
          s.store(X.MovupsM, 16, place(at), vreg);
        } else {
          const vreg = s.newGpr(width);
          s.load(width >= 4 ? X.Mov : width === 2 ? X.Movzx16 : X.Movzx8, Math.max(width, 4), vreg, source);
          s.store(X.MovM, width, place(at), vreg);
        }
        at += width;
      }
    return;
  }
  const to = s.newGpr();
  s.load(X.Lea, 8, to, place(0));
  const count = s.newGpr(4);
  const words = size % 8 === 0;
  s.moveImm(count, 4, words ? size / 8 : size);
  const copy = new MInst(X.RepMovs, words ? 8 : 1);
  const registers = [7, 6, 1];
  [to, from, count].forEach((vreg, i) => {
    copy.uses.push(new RegOperand(vreg, maskOf(registers[i]!)));
    copy.defs.push(new RegOperand(s.newGpr(), maskOf(registers[i]!), false, i));
  });
  s.emit(copy);
}

function pushOperand(s: Selector, value: Value, arg: AbiArgument): MInst {
  const push = new MInst(X.Push, 8);
  if (s.isGeneral(value.type)) {
    const imm = argumentImmediate(s, value, arg);
    if (imm !== null) push.imm = imm;
    else
      push.uses.push(
        new RegOperand(argumentRegister(s, value, arg), noRegisters, s.mf.vregs[s.reg(value)]!.size === 8),
      );
    return push;
  }
  // A float or double: its bits through a general register.
  const size = s.mf.vregs[s.reg(value)]!.size;
  const word = s.newGpr();
  s.unary(size === 8 ? X.MovqFrom : X.MovdFrom, size === 8 ? 8 : 4, word, s.reg(value));
  push.uses.push(new RegOperand(word));
  return push;
}
