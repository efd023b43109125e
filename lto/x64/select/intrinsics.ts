/** Calls of LLVM's and our own intrinsics. */
import { MemOperand, MInst, RegOperand } from "../../codegen/mir.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { Cc, X } from "../isa/ops.js";
import { registerNames } from "../isa/registers.js";
import { address } from "./address.js";
import { lowerVaCopy, lowerVaStart } from "./call.js";
import { lowerCopySign, lowerFAbs, lowerSqrt } from "./float.js";
import { lowerFunnel, lowerWideAdd, lowerWideMul } from "./integer.js";
import { lowerMemCopy, lowerMemSet } from "./memory.js";
import { isOverflowIntrinsic, lowerOverflow } from "./overflow.js";
import { constantNumber, operationSize, type Selector } from "./selector.js";
import { lowerSjljLongjmp, lowerSjljSetjmp } from "./sjlj.js";
import { registerSource } from "./source.js";
import { threadPointer } from "./tls.js";
import { lowerVectorIntrinsic } from "./vector.js";

type Lowering = (s: Selector, call: CallInst, args: Value[]) => void;

/** Whether the intrinsic must be emitted even when its result is not wanted. */
export function intrinsicHasEffect(name: string): boolean {
  return !pure.has(familyOf(name)) && !name.startsWith("tsc.") && !isOverflowIntrinsic(name);
}

/** Whether the intrinsic may write memory that a load could be moved across. */
export function intrinsicWritesMemory(name: string): boolean {
  return intrinsicHasEffect(name) && !harmless.has(familyOf(name));
}

/** Name without the type suffixes: `llvm.umax.i32` → `llvm.umax`. */
function familyOf(name: string): string {
  const parts = name.split(".");
  let end = parts.length;
  while (end > 2 && /^(p\d+|[if]\d+|v\d+\w+|bf16)$/.test(parts[end - 1]!)) end--;
  return parts.slice(0, end).join(".");
}

const pure = new Set([
  "llvm.bswap",
  "llvm.ctlz",
  "llvm.cttz",
  "llvm.ctpop",
  "llvm.fshl",
  "llvm.fshr",
  "llvm.smax",
  "llvm.smin",
  "llvm.umax",
  "llvm.umin",
  "llvm.abs",
  "llvm.sqrt",
  "llvm.fabs",
  "llvm.copysign",
  "llvm.frameaddress",
  "llvm.returnaddress",
  "llvm.addressofreturnaddress",
  "llvm.sponentry",
  "llvm.threadlocal.address",
  "llvm.thread.pointer",
  "llvm.stacksave",
  "llvm.rint",
  "llvm.nearbyint",
]);
const harmless = new Set(["llvm.prefetch", "llvm.trap", "llvm.debugtrap", "llvm.ubsantrap", "llvm.va_end"]);

const lowerings: Readonly<Record<string, Lowering>> = {
  "llvm.memcpy": (s, call) => lowerMemCopy(s, call, false, false),
  "llvm.memcpy.inline": (s, call) => lowerMemCopy(s, call, false, true),
  "llvm.memmove": (s, call) => lowerMemCopy(s, call, true, false),
  "llvm.memset": (s, call) => lowerMemSet(s, call, false),
  "llvm.memset.inline": (s, call) => lowerMemSet(s, call, true),
  "llvm.va_start": (s, _call, args) => lowerVaStart(s, args[0]!),
  "llvm.va_end": () => {},
  "llvm.va_copy": (s, _call, args) => lowerVaCopy(s, args[0]!, args[1]!),
  "llvm.stacksave": (s, call) => {
    const save = new MInst(X.StackSave, 8);
    save.defs = [new RegOperand(s.resultOf(call))];
    s.emit(save);
  },
  "llvm.stackrestore": (s, _call, args) => {
    const restore = new MInst(X.StackRestore, 8);
    restore.uses = [s.use(args[0]!)];
    s.emit(restore);
  },
  "llvm.frameaddress": (s, call, args) => lowerFrameAddress(s, call, args),
  "llvm.returnaddress": (s, call, args) => lowerReturnAddress(s, call, args),
  "llvm.addressofreturnaddress": (s, call) => incomingAddress(s, s.resultOf(call), -8),
  "llvm.sponentry": (s, call) => incomingAddress(s, s.resultOf(call), 0),
  "llvm.eh.sjlj.setjmp": (s, call, args) => lowerSjljSetjmp(s, call, args[0]!),
  "llvm.eh.sjlj.longjmp": (s, _call, args) => lowerSjljLongjmp(s, args[0]!),
  "llvm.trap": (s) => void s.emit(new MInst(X.Ud2, 8)),
  "llvm.ubsantrap": (s) => void s.emit(new MInst(X.Ud2, 8)),
  "llvm.debugtrap": (s) => void s.emit(new MInst(X.Int3, 8)),
  "llvm.prefetch": (s, _call, args) => lowerPrefetch(s, args),
  "llvm.read_register": (s, call, args) => lowerReadRegister(s, call, args),
  "llvm.read_volatile_register": (s, call, args) => lowerReadRegister(s, call, args),
  "llvm.readcyclecounter": (s, call) => lowerCycleCounter(s, call),
  "llvm.thread.pointer": (s, call) => s.copy(s.resultOf(call), threadPointer(s), 8),
  "llvm.threadlocal.address": (s, call, args) => s.copy(s.resultOf(call), s.reg(args[0]!), 8),
  "llvm.bswap": (s, call, args) => lowerByteSwap(s, call, args),
  "llvm.ctlz": (s, call, args) => lowerLeadingZeros(s, call, args),
  "llvm.cttz": (s, call, args) => lowerTrailingZeros(s, call, args),
  "llvm.ctpop": (s, call, args) => lowerPopulationCount(s, call, args),
  "llvm.fshl": (s, call, args) =>
    lowerFunnel(s, true, args, s.resultOf(call), operationSize(s.layout, call.type)),
  "llvm.fshr": (s, call, args) =>
    lowerFunnel(s, false, args, s.resultOf(call), operationSize(s.layout, call.type)),
  "llvm.smax": (s, call, args) => lowerMinMax(s, call, args, Cc.L),
  "llvm.smin": (s, call, args) => lowerMinMax(s, call, args, Cc.G),
  "llvm.umax": (s, call, args) => lowerMinMax(s, call, args, Cc.B),
  "llvm.umin": (s, call, args) => lowerMinMax(s, call, args, Cc.A),
  "llvm.abs": (s, call, args) => lowerAbs(s, call, args),
  "llvm.sqrt": (s, call, args) => lowerSqrt(s, call, args[0]!),
  "llvm.fabs": (s, call, args) => lowerFAbs(s, call, args[0]!),
  "llvm.copysign": (s, call, args) => lowerCopySign(s, call, args[0]!, args[1]!),
  "tsc.umul.wide": (s, call, args) => lowerWideMul(s, args[0]!, args[1]!, part(s, call, 0), part(s, call, 1)),
  "tsc.add128": (s, call, args) => lowerWideAdd(s, false, args, part(s, call, 0), part(s, call, 1)),
  "tsc.sub128": (s, call, args) => lowerWideAdd(s, true, args, part(s, call, 0), part(s, call, 1)),
};

/** A result register even for a member nobody reads. */
function part(s: Selector, call: CallInst, index: number): number {
  const vreg = s.partOf(call, index);
  return vreg >= 0 ? vreg : s.newGpr();
}

/** Lowers an intrinsic call. @throws UnsupportedError naming it when it is unknown. */
export function lowerIntrinsic(s: Selector, call: CallInst, name: string): void {
  if (isOverflowIntrinsic(name)) return lowerOverflow(s, call);
  if (name.startsWith("tsc.x64.")) {
    if (!lowerVectorIntrinsic(s, call, name.slice(8))) s.unsupported(`internal intrinsic ${name}`);
    return;
  }
  const lowering = lowerings[familyOf(name)];
  if (lowering === undefined) return s.unsupported(`intrinsic '${name}'`);
  lowering(s, call, callArguments(call));
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
    s.load(X.Mov, 8, outer, new MemOperand(new RegOperand(frame)));
    frame = outer;
  }
  return frame;
}

function lowerFrameAddress(s: Selector, call: CallInst, args: Value[]): void {
  s.copy(s.resultOf(call), framePointer(s, constantNumber(args[0]!) ?? 0), 8);
}

function lowerReturnAddress(s: Selector, call: CallInst, args: Value[]): void {
  const depth = constantNumber(args[0]!) ?? 0;
  if (depth === 0) {
    const slot = s.newGpr();
    incomingAddress(s, slot, -8);
    s.load(X.Mov, 8, s.resultOf(call), new MemOperand(new RegOperand(slot)));
    return;
  }
  const frame = framePointer(s, depth);
  s.load(X.Mov, 8, s.resultOf(call), new MemOperand(new RegOperand(frame), null, 1, 8));
}

function lowerPrefetch(s: Selector, args: Value[]): void {
  const locality = constantNumber(args[2]!) ?? 3;
  const op = [X.Prefetchnta, X.Prefetcht2, X.Prefetcht1, X.Prefetcht0][locality]!;
  const inst = new MInst(op, 8);
  inst.mem = address(s, args[0]!);
  s.emit(inst);
}

function lowerReadRegister(s: Selector, call: CallInst, args: Value[]): void {
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

function lowerCycleCounter(s: Selector, call: CallInst): void {
  const low = s.newGpr();
  const high = s.newGpr();
  const read = new MInst(X.Rdtsc, 8);
  read.defs = [new RegOperand(low, 1 << 0), new RegOperand(high, 1 << 2)];
  s.emit(read);
  const shifted = s.newGpr();
  s.binaryImm(X.Shl, 8, shifted, high, 32);
  s.binary(X.Or, 8, s.resultOf(call), shifted, low);
}

// ── Bits ──

function lowerByteSwap(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const result = s.resultOf(call);
  if (size === 2) return void s.binaryImm(X.Rol, 2, result, s.reg(args[0]!), 8);
  s.tiedUnary(X.Bswap, size, result, s.reg(args[0]!));
}

/** bsr gives the index of the top bit: the count is (bits − 1) xor it. Zero yields `bits` by a conditional move. */
function lowerLeadingZeros(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const bits = size * 8;
  const result = s.resultOf(call);
  if (s.features.has("lzcnt")) return void bitScan(s, X.Lzcnt, size, result, args[0]!);
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

function lowerTrailingZeros(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const result = s.resultOf(call);
  if (s.features.has("bmi")) return void bitScan(s, X.Tzcnt, size, result, args[0]!);
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
  inst.cc = Cc.E;
  return result;
}

function lowerPopulationCount(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  if (!s.features.has("popcnt") || size < 4) return s.unsupported(`intrinsic llvm.ctpop.i${size * 8}`);
  bitScan(s, X.Popcnt, size, s.resultOf(call), args[0]!);
}

/** max and min: compare, then take the other one on the given condition of a against b. */
function lowerMinMax(s: Selector, call: CallInst, args: Value[], otherWins: Cc): void {
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
  move.cc = otherWins;
}

/** |x|: negate; if that came out negative, x was positive. */
function lowerAbs(s: Selector, call: CallInst, args: Value[]): void {
  const size = operationSize(s.layout, call.type);
  const value = s.reg(args[0]!);
  const negated = s.newGpr(size);
  s.tiedUnary(X.Neg, size, negated, value);
  const move = s.binary(X.Cmov, Math.max(size, 4), s.resultOf(call), negated, value);
  move.cc = Cc.S;
}
