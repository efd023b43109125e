/** Calls of LLVM's and our own intrinsics. */

import { add128, smulWide, sub128, umulWide } from "../../codegen/legalize/internal.js";
import { MInst, RegOperand } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { isOverflowIntrinsic } from "../../codegen/select/overflow.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import { type Intrinsic, type IntrinsicName, intrinsics } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import { maskOf, RAX, RDX, registerNames } from "../isa/registers.js";
import { address } from "./address.js";
import { offers, selectBitIntrinsic } from "./bit-manipulation.js";
import { selectCarry } from "./carry.js";
import { selectStrictCompare } from "./condition.js";
import { selectCopySign, selectFAbs, selectSqrt } from "./float.js";
import { selectFunnel, selectWideAdd, selectWideMul } from "./integer.js";
import { selectMemCopy, selectMemSet } from "./memory.js";
import { selectOverflow } from "./overflow.js";
import type { Selector } from "./selector.js";
import { selectSjljLongjmp, selectSjljSetjmp } from "./sjlj.js";
import { registerSource } from "./source.js";
import { selectStackGuard, selectStackProtector } from "./stack-guard.js";
import { selectStrict } from "./strict-float.js";
import { threadPointer } from "./tls.js";
import { selectVaCopy, selectVaStart } from "./var-args.js";
import { selectVectorIntrinsic } from "./vector.js";
import { selectExtension } from "./vector-extensions.js";
import { selectVex } from "./vex.js";

type Lowering = (s: Selector, call: CallInst, args: Value[]) => void;

const lowerings: Partial<Readonly<Record<IntrinsicName, Lowering>>> = {
  memcpy: (s, call) => selectMemCopy(s, call, false, false),
  "memcpy.inline": (s, call) => selectMemCopy(s, call, false, true),
  memmove: (s, call) => selectMemCopy(s, call, true, false),
  memset: (s, call) => selectMemSet(s, call, false),
  "memset.inline": (s, call) => selectMemSet(s, call, true),
  va_start: (s, _call, args) => selectVaStart(s, args[0]!),
  va_end: () => {},
  va_copy: (s, _call, args) => selectVaCopy(s, args[0]!, args[1]!),
  stacksave: (s, call) => {
    const save = new MInst(X.StackSave, 8);
    save.defs = [new RegOperand(s.resultOf(call))];
    s.emit(save);
  },
  stackrestore: (s, _call, args) => {
    // Only variables of other sizes move the stack pointer. Without them the frame may lack the register to tell it by.
    if (!s.mf.hasDynamicAlloca) return;
    const restore = new MInst(X.StackRestore, 8);
    restore.uses = [s.use(args[0]!)];
    s.emit(restore);
  },
  frameaddress: (s, call, args) => selectFrameAddress(s, call, args),
  returnaddress: (s, call, args) => selectReturnAddress(s, call, args),
  addressofreturnaddress: (s, call) => incomingAddress(s, s.resultOf(call), -8),
  sponentry: (s, call) => incomingAddress(s, s.resultOf(call), 0),
  stackguard: (s, call) => selectStackGuard(s, call),
  stackprotector: (s, _call, args) => selectStackProtector(s, args),
  "eh.sjlj.setjmp": (s, call, args) => selectSjljSetjmp(s, call, args[0]!),
  "eh.sjlj.longjmp": (s, _call, args) => selectSjljLongjmp(s, args[0]!),
  trap: (s, call) => selectTrap(s, call, X.Ud2),
  ubsantrap: (s, call) => selectTrap(s, call, X.Ud2),
  debugtrap: (s, call) => selectTrap(s, call, X.Int3),
  prefetch: (s, _call, args) => selectPrefetch(s, args),
  read_register: (s, call, args) => selectReadRegister(s, call, args),
  read_volatile_register: (s, call, args) => selectReadRegister(s, call, args),
  readcyclecounter: (s, call) => selectCycleCounter(s, call),
  "thread.pointer": (s, call) => s.copy(s.resultOf(call), threadPointer(s), 8),
  "threadlocal.address": (s, call, args) => s.copy(s.resultOf(call), s.reg(args[0]!), 8),
  bswap: (s, call, args) => selectByteSwap(s, call, args),
  ctlz: (s, call, args) => selectLeadingZeros(s, call, args),
  cttz: (s, call, args) => selectTrailingZeros(s, call, args),
  ctpop: (s, call, args) => selectPopulationCount(s, call, args),
  fshl: (s, call, args) => selectFunnel(s, true, args, s.resultOf(call), operationSize(s.layout, call.type)),
  fshr: (s, call, args) => selectFunnel(s, false, args, s.resultOf(call), operationSize(s.layout, call.type)),
  smax: (s, call, args) => selectMinMax(s, call, args, Cc.L),
  smin: (s, call, args) => selectMinMax(s, call, args, Cc.G),
  umax: (s, call, args) => selectMinMax(s, call, args, Cc.B),
  umin: (s, call, args) => selectMinMax(s, call, args, Cc.A),
  abs: (s, call, args) => selectAbs(s, call, args),
  sqrt: (s, call, args) => selectSqrt(s, call, args[0]!),
  fabs: (s, call, args) => selectFAbs(s, call, args[0]!),
  copysign: (s, call, args) => selectCopySign(s, call, args[0]!, args[1]!),
};

/** Operations that only legalisation makes. */
const internalLowerings: readonly (readonly [Func, Lowering])[] = [
  [umulWide, (s, call, args) => selectWideMul(s, false, args, part(s, call, 0), part(s, call, 1))],
  [smulWide, (s, call, args) => selectWideMul(s, true, args, part(s, call, 0), part(s, call, 1))],
  [add128, (s, call, args) => selectWideAdd(s, false, args, part(s, call, 0), part(s, call, 1))],
  [sub128, (s, call, args) => selectWideAdd(s, true, args, part(s, call, 0), part(s, call, 1))],
];

/** By the intrinsic. */
const table = new Map<Intrinsic, Lowering>([
  ...Object.entries(lowerings).map(
    ([name, lowering]) => [intrinsics[name as IntrinsicName], lowering] as const,
  ),
  ...internalLowerings.map(([fn, lowering]) => [fn.intrinsic!, lowering] as const),
]);

/** A result register even for a member nobody reads. */
function part(s: Selector, call: CallInst, index: number): number {
  const vreg = s.values.partOf(call, index);
  return vreg >= 0 ? vreg : s.newGpr();
}

/** Lowers an intrinsic call. @throws UnsupportedError naming it when it is unknown. */
export function selectIntrinsic(s: Selector, call: CallInst, intrinsic: Intrinsic): void {
  const lowering = table.get(intrinsic);
  if (lowering !== undefined) return lowering(s, call, callArguments(call));
  if (isOverflowIntrinsic(intrinsic)) return selectOverflow(s, call);
  const { name, origin } = intrinsic;
  if (selectStrict(s, call, intrinsic) || selectStrictCompare(s, call)) return;
  if (origin !== "internal") return s.unsupported(`intrinsic '${(call.operands[0] as Func).name}'`);
  const own = name.startsWith("tsc.x64.") ? name.slice(8) : "";
  if (own.startsWith("v.") && selectVex(s, call, own.slice(2))) return;
  if (selectBitIntrinsic(s, call, own) || selectCarry(s, call, own) || selectExtension(s, call, own)) return;
  if (own === "" || !selectVectorIntrinsic(s, call, own)) s.unsupported(`internal intrinsic ${name}`);
}

function incomingAddress(s: Selector, result: number, offset: number): void {
  const inst = new MInst(X.IncomingAddress, 8);
  inst.defs = [new RegOperand(result)];
  inst.imm = offset;
  s.emit(inst);
}

/** Frame of depth n: follows the chain of saved frame pointers. */
function framePointer(s: Selector, depth: number): number {
  s.mf.needsFramePointer = true;
  let frame = s.newGpr();
  const inst = new MInst(X.FrameAddress, 8);
  inst.defs = [new RegOperand(frame)];
  s.emit(inst);
  for (let i = 0; i < depth; i++) {
    const outer = s.newGpr();
    s.load(X.Mov, 8, outer, memory(new RegOperand(frame)));
    frame = outer;
  }
  return frame;
}

function selectFrameAddress(s: Selector, call: CallInst, args: Value[]): void {
  s.copy(s.resultOf(call), framePointer(s, constantNumber(args[0]!) ?? 0), 8);
}

function selectReturnAddress(s: Selector, call: CallInst, args: Value[]): void {
  const depth = constantNumber(args[0]!) ?? 0;
  if (depth === 0) {
    const slot = s.newGpr();
    incomingAddress(s, slot, -8);
    s.load(X.Mov, 8, s.resultOf(call), memory(new RegOperand(slot)));
    return;
  }
  const frame = framePointer(s, depth);
  s.load(X.Mov, 8, s.resultOf(call), memory(new RegOperand(frame), null, 1, 8));
}

function selectPrefetch(s: Selector, args: Value[]): void {
  const locality = constantNumber(args[2]!) ?? 3;
  const op = [X.Prefetchnta, X.Prefetcht2, X.Prefetcht1, X.Prefetcht0][locality]!;
  const inst = new MInst(op, 8);
  inst.mem = address(s, args[0]!);
  s.emit(inst);
}

function selectReadRegister(s: Selector, call: CallInst, args: Value[]): void {
  const operand = args[0]!;
  const name = operand.valueKind === "metadata" ? operand.text : null;
  if (name === "rsp" || name === "esp") {
    const inst = new MInst(X.StackSave, 8);
    inst.defs = [new RegOperand(s.resultOf(call))];
    s.emit(inst);
    return;
  }
  if (name === "rbp") return s.copy(s.resultOf(call), framePointer(s, 0), 8);
  const known = name !== null && registerNames[8]!.includes(name);
  s.unsupported(known ? `reading register ${name}` : "llvm.read_register of an unknown register");
}

function selectCycleCounter(s: Selector, call: CallInst): void {
  const low = s.newGpr();
  const high = s.newGpr();
  const read = new MInst(X.Rdtsc, 8);
  read.defs = [new RegOperand(low, maskOf(RAX)), new RegOperand(high, maskOf(RDX))];
  s.emit(read);
  const shifted = s.newGpr();
  s.binaryImm(X.Shl, 8, shifted, high, 32);
  s.binary(X.Or, 8, s.resultOf(call), shifted, low);
}

// ── Bits ──

function selectByteSwap(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const result = s.resultOf(call);
  if (size === 2) return void s.binaryImm(X.Rol, 2, result, s.reg(args[0]!), 8);
  s.tiedUnary(X.Bswap, size, result, s.reg(args[0]!));
}

/** bsr gives the index of the top bit: the count is (bits − 1) xor it. Zero yields `bits` by a conditional move. */
function selectLeadingZeros(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const bits = size * 8;
  const result = s.resultOf(call);
  if (offers(s, X.Lzcnt)) return void bitScan(s, X.Lzcnt, size, result, args[0]!);
  const zeroIsPoison = constantNumber(args[1]!) !== 0;
  const top = s.newGpr(size);
  if (zeroIsPoison) {
    bitScan(s, X.Bsr, size, top, args[0]!);
    s.binaryImm(X.Xor, 4, result, top, bits - 1);
    return;
  }
  const fallback = s.newGpr(size);
  s.moveImm(fallback, size, 2 * bits - 1);
  bitScan(s, X.Bsr, size, top, args[0]!);
  const chosen = cmovZero(s, size, top, fallback);
  s.binaryImm(X.Xor, 4, result, chosen, bits - 1);
}

function selectTrailingZeros(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const result = s.resultOf(call);
  if (offers(s, X.Tzcnt)) return void bitScan(s, X.Tzcnt, size, result, args[0]!);
  if (constantNumber(args[1]!) !== 0) {
    bitScan(s, X.Bsf, size, result, args[0]!);
    return;
  }
  const fallback = s.newGpr(size);
  s.moveImm(fallback, size, size * 8);
  const low = s.newGpr(size);
  bitScan(s, X.Bsf, size, low, args[0]!);
  const chosen = cmovZero(s, size, low, fallback);
  s.copy(result, chosen, s.mf.vregs[result]!.size);
}

function bitScan(s: Selector, op: X, size: number, result: number, source: Value): void {
  const inst = new MInst(op, size);
  inst.defs = [new RegOperand(result)];
  inst.uses = [registerSource(s, source, size)];
  s.emit(inst);
}

/** value, or fallback when the preceding scan found no bit (ZF set). */
function cmovZero(s: Selector, size: number, value: number, fallback: number): number {
  const result = s.newGpr(size);
  const inst = s.binary(X.Cmov, size, result, value, fallback);
  inst.condition = Cc.E;
  return result;
}

function selectPopulationCount(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  if (!offers(s, X.Popcnt) || size < 4) return s.unsupported(`intrinsic llvm.ctpop.i${size * 8}`);
  bitScan(s, X.Popcnt, size, s.resultOf(call), args[0]!);
}

/** max and min: compare, then take the other one on the given condition of a against b. */
function selectMinMax(s: Selector, call: CallInst, args: Value[], otherWins: Cc): void {
  const size = operationSize(s.layout, call.type);
  const [a, b] = args as [Value, Value];
  const first = s.reg(a);
  const second = s.reg(b);
  const cmp = new MInst(X.Cmp, size);
  cmp.uses = [new RegOperand(first)];
  const n = constantNumber(b);
  if (n !== null && n >= -2147483648 && n <= 2147483647) cmp.imm = n;
  else cmp.uses.push(new RegOperand(second));
  s.emit(cmp);
  const move = s.binary(X.Cmov, Math.max(size, 4), s.resultOf(call), first, second);
  move.condition = otherWins;
}

/** |x|: negate; if that came out negative, x was positive. */
function selectAbs(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const value = s.reg(args[0]!);
  const negated = s.newGpr(size);
  s.tiedUnary(X.Neg, size, negated, value);
  const move = s.binary(X.Cmov, Math.max(size, 4), s.resultOf(call), negated, value);
  move.condition = Cc.S;
}

/** A trap is an instruction; where a function is to be called instead, that is refused. */
function selectTrap(s: Selector, call: CallInst, op: X): void {
  const name = call.data.attributes.fn.string("trap-func-name") ?? "";
  if (name !== "") s.unsupported(`trap function "${name}"`);
  s.emit(new MInst(op, 8));
}
