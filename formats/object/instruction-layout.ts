/**
 * Which fields an instruction has in the packed stream, by opcode. Encoder and decoder are driven by the
 * same table, so they cannot disagree on the order.
 *
 *     opcode byte (bit 7: flags follow; bit 6: hints follow)  [flags]  [hints]  [type]  [operand count]  operands
 *     [blocks]  data
 */
import { Op } from "../../lto/ir/instructions.js";
import { lastOp } from "./opcodes.js";

/** Bits of the opcode byte: a flags field follows; the number of hints follows. */
export const HasFlags = 0x80;
export const HasHints = 0x40;

/** Operand counts by opcode; -1: written in the stream; -2: described by the call header. */
export const arity = new Int8Array(lastOp + 1);
/** Successor or incoming-block counts; -1: written in the stream; -2: as many as operands. */
export const blockArity = new Int8Array(lastOp + 1);
/** 1 when the result type is written; otherwise it is void, or for calls their function type's result. */
export const hasType = new Uint8Array(lastOp + 1).fill(1);

arity.fill(1);
for (let op = Op.Add; op <= Op.Xor; op++) arity[op] = 2;
for (const op of [
  Op.Store,
  Op.AtomicRMW,
  Op.ICmp,
  Op.FCmp,
  Op.ExtractElement,
  Op.ShuffleVector,
  Op.InsertValue,
])
  arity[op] = 2;
for (const op of [Op.CmpXchg, Op.Select, Op.InsertElement]) arity[op] = 3;
for (const op of [Op.Br, Op.Unreachable, Op.Fence]) arity[op] = 0;
for (const op of [Op.Ret, Op.GetElementPtr, Op.Phi, Op.LandingPad]) arity[op] = -1;
for (const op of [Op.Call, Op.Invoke, Op.CallBr]) arity[op] = -2;

blockArity[Op.Br] = 1;
blockArity[Op.CondBr] = 2;
blockArity[Op.Invoke] = 2;
for (const op of [Op.Switch, Op.IndirectBr, Op.CallBr]) blockArity[op] = -1;
blockArity[Op.Phi] = -2;

for (const op of [
  Op.Ret,
  Op.Br,
  Op.CondBr,
  Op.Switch,
  Op.IndirectBr,
  Op.Resume,
  Op.Unreachable,
  Op.Store,
  Op.Fence,
  Op.Call,
  Op.Invoke,
  Op.CallBr,
])
  hasType[op] = 0;

/**
 * Memory byte of loads, stores and atomics: low six bits log2 of the alignment, then
 * `MemoryOrdered` when an ordering and a scope follow (always so for cmpxchg, atomicrmw and fence).
 */
export const MemoryOrdered = 0x40;
/** Alloca byte: low six bits log2 of the alignment. */
export const AllocaInAlloca = 0x40;
export const AllocaSwiftError = 0x80;

/** Call header: low two bits the tail kind, then what follows. */
export const CallConvention = 0x04;
export const CallBundles = 0x08;
/** The callee is inline assembly, and no operand stands for it. */
export const CallAsm = 0x10;

/**
 * Operand codes. Bit 0 clear: an instruction that many places back. Bits 01: a leaf (arguments first, then
 * the pool's). Bits 11: an instruction that many places ahead.
 */
export const OperandLeaf = 1;
export const OperandAhead = 3;
