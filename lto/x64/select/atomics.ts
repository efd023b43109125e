/**
 * Atomic operations. x86 is TSO: plain loads acquire, plain stores release; only sequentially consistent
 * stores need a locked exchange and seq_cst fences a full barrier (Intel SDM volume 3, 9.2).
 */
import { type MemOperand, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { type Inst, type InstWith, Op, type RMWOp } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { Cc, X } from "../isa/ops.js";
import { maskOf, RAX } from "../isa/registers.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { immediate } from "./source.js";

export function selectFence(s: Selector, inst: InstWith<Op.Fence>): void {
  if (inst.data.ordering === "seq_cst" && inst.data.scope === "") s.emit(new MInst(X.Mfence, 4));
}

/** A sequentially consistent store: exchange with memory. */
export function selectAtomicStore(s: Selector, inst: InstWith<Op.Store>): void {
  const [value, pointer] = inst.operands as [Value, Value];
  const size = operationSize(s.layout, value.type);
  const from = s.reg(value);
  const exchange = new MInst(X.XchgM, size);
  exchange.defs = [RegOperand.tied(s.newGpr(size))];
  exchange.uses = [new RegOperand(from)];
  exchange.mem = address(s, pointer);
  s.emit(exchange);
}

const plainLocked: Partial<Record<RMWOp, X>> = {
  add: X.LockAdd,
  sub: X.LockSub,
  and: X.LockAnd,
  or: X.LockOr,
  xor: X.LockXor,
};

/**
 * xchg, add and sub have instructions that give the old value; the others do only when nobody wants it.
 * What remains (and/or/xor/nand/min/max with a result) was turned into a compare-exchange loop before
 * selection, see codegen/lowering/expand-atomics.ts.
 */
export function needsLoop(rmw: RMWOp, resultUsed: boolean): boolean {
  if (rmw === "xchg" || rmw === "add" || rmw === "sub") return false;
  return resultUsed || plainLocked[rmw] === undefined;
}

export function selectAtomicRMW(s: Selector, inst: InstWith<Op.AtomicRMW>): void {
  const [pointer, value] = inst.operands as [Value, Value];
  const { rmw } = inst.data;
  const size = operationSize(s.layout, inst.type);
  const wanted = s.resultOf(inst);
  const locked = plainLocked[rmw];
  if (wanted < 0 && locked !== undefined) {
    const machine = new MInst(locked, size);
    const imm = immediate(s, value, size);
    if (imm !== null) machine.imm = imm;
    else machine.uses.push(s.use(value));
    machine.mem = address(s, pointer);
    s.emit(machine);
    return;
  }
  const result = wanted >= 0 ? wanted : s.newReg(inst.type);
  if (rmw === "xchg") return exchange(s, X.XchgM, size, result, s.reg(value), address(s, pointer));
  if (rmw === "add") return exchange(s, X.LockXadd, size, result, s.reg(value), address(s, pointer));
  if (rmw === "sub") {
    const negated = s.newReg(inst.type);
    s.tiedUnary(X.Neg, Math.max(size, 4), negated, s.reg(value));
    return exchange(s, X.LockXadd, size, result, negated, address(s, pointer));
  }
  return s.unsupported(`atomicrmw ${rmw}`);
}

function exchange(s: Selector, op: X, size: number, result: VReg, value: VReg, mem: MemOperand): void {
  const machine = new MInst(op, size);
  machine.defs = [RegOperand.tied(result)];
  machine.uses = [new RegOperand(value)];
  machine.mem = mem;
  s.emit(machine);
}

/** cmpxchg: the old value in rax, success in ZF. */
export function selectCmpXchg(s: Selector, inst: Inst): void {
  const [pointer, expected, replacement] = inst.operands as [Value, Value, Value];
  const size = operationSize(s.layout, expected.type);
  const old = s.values.partOf(inst, 0);
  const success = s.values.partOf(inst, 1);
  const machine = new MInst(X.LockCmpxchg, size);
  machine.uses = [new RegOperand(s.reg(expected), maskOf(RAX)), new RegOperand(s.reg(replacement))];
  machine.defs = [new RegOperand(old >= 0 ? old : s.newReg(expected.type), maskOf(RAX), false, 0)];
  machine.mem = address(s, pointer);
  s.emit(machine);
  if (success >= 0) setCondition(s, success, { first: Cc.E, second: -1, and: false });
}

export const isAtomicStore = (inst: Inst): inst is InstWith<Op.Store> =>
  inst.op === Op.Store && inst.data.ordering === "seq_cst" && inst.data.scope === "";
