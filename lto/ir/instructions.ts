/**
 * Instructions and basic blocks.
 *
 * Every instruction is one runtime shape, `InstNode`, so that walking a body stays monomorphic; `Inst` is
 * the same object seen as a union discriminated by `op`, so that `data` has its exact type after a switch.
 *
 * `blocks` are the successors of a terminator (in LLVM's order) and the incoming blocks of a phi, aligned
 * with its operands. Operand order is given at each op.
 */
import type { AttributeList } from "./attributes.js";
import type { DebugRecord } from "./debug-records.js";
import type { Editor } from "./editor.js";
import type { Hints } from "./hints.js";
import type { Type } from "./types.js";
import type { ConstInt, Value } from "./values.js";

/** Opcodes, in LLVM's groups; ranges of them are meaningful. */
export const enum Op {
  // Terminators.
  Ret = 1, // [value?]
  Br, // []                        blocks [target]
  CondBr, // [condition]           blocks [ifTrue, ifFalse]
  Switch, // [value]               blocks [default, case 0, case 1, …]
  IndirectBr, // [address]         blocks destinations
  Invoke, // [callee, args…]       blocks [normal, unwind]
  CallBr, // [callee, args…]       blocks [fallthrough, indirect…]
  Resume, // [value]
  Unreachable, // []
  // Unary and binary.
  FNeg,
  Add,
  FAdd,
  Sub,
  FSub,
  Mul,
  FMul,
  UDiv,
  SDiv,
  FDiv,
  URem,
  SRem,
  FRem,
  Shl,
  LShr,
  AShr,
  And,
  Or,
  Xor,
  // Memory.
  Alloca, // [count]
  Load, // [pointer]
  Store, // [value, pointer]
  Fence, // []
  CmpXchg, // [pointer, expected, replacement] → { T, i1 }
  AtomicRMW, // [pointer, value]
  GetElementPtr, // [base, indices…]
  // Casts: [value].
  Trunc,
  ZExt,
  SExt,
  FPTrunc,
  FPExt,
  FPToUI,
  FPToSI,
  UIToFP,
  SIToFP,
  PtrToInt,
  IntToPtr,
  BitCast,
  AddrSpaceCast,
  // Other.
  ICmp, // [a, b]
  FCmp, // [a, b]
  Phi, // incoming values          blocks incoming blocks
  Select, // [condition, a, b]
  Call, // [callee, args…, bundle inputs…]
  VAArg, // [va_list pointer]
  ExtractElement, // [vector, index]
  InsertElement, // [vector, element, index]
  ShuffleVector, // [a, b]
  ExtractValue, // [aggregate]
  InsertValue, // [aggregate, element]
  LandingPad, // clauses
  Freeze, // [value]
}

/** LLVM assembly spelling of each opcode; `br` and `call` serve two forms each. */
export const opNames: Readonly<Record<Op, string>> = {
  [Op.Ret]: "ret",
  [Op.Br]: "br",
  [Op.CondBr]: "br",
  [Op.Switch]: "switch",
  [Op.IndirectBr]: "indirectbr",
  [Op.Invoke]: "invoke",
  [Op.CallBr]: "callbr",
  [Op.Resume]: "resume",
  [Op.Unreachable]: "unreachable",
  [Op.FNeg]: "fneg",
  [Op.Add]: "add",
  [Op.FAdd]: "fadd",
  [Op.Sub]: "sub",
  [Op.FSub]: "fsub",
  [Op.Mul]: "mul",
  [Op.FMul]: "fmul",
  [Op.UDiv]: "udiv",
  [Op.SDiv]: "sdiv",
  [Op.FDiv]: "fdiv",
  [Op.URem]: "urem",
  [Op.SRem]: "srem",
  [Op.FRem]: "frem",
  [Op.Shl]: "shl",
  [Op.LShr]: "lshr",
  [Op.AShr]: "ashr",
  [Op.And]: "and",
  [Op.Or]: "or",
  [Op.Xor]: "xor",
  [Op.Alloca]: "alloca",
  [Op.Load]: "load",
  [Op.Store]: "store",
  [Op.Fence]: "fence",
  [Op.CmpXchg]: "cmpxchg",
  [Op.AtomicRMW]: "atomicrmw",
  [Op.GetElementPtr]: "getelementptr",
  [Op.Trunc]: "trunc",
  [Op.ZExt]: "zext",
  [Op.SExt]: "sext",
  [Op.FPTrunc]: "fptrunc",
  [Op.FPExt]: "fpext",
  [Op.FPToUI]: "fptoui",
  [Op.FPToSI]: "fptosi",
  [Op.UIToFP]: "uitofp",
  [Op.SIToFP]: "sitofp",
  [Op.PtrToInt]: "ptrtoint",
  [Op.IntToPtr]: "inttoptr",
  [Op.BitCast]: "bitcast",
  [Op.AddrSpaceCast]: "addrspacecast",
  [Op.ICmp]: "icmp",
  [Op.FCmp]: "fcmp",
  [Op.Phi]: "phi",
  [Op.Select]: "select",
  [Op.Call]: "call",
  [Op.VAArg]: "va_arg",
  [Op.ExtractElement]: "extractelement",
  [Op.InsertElement]: "insertelement",
  [Op.ShuffleVector]: "shufflevector",
  [Op.ExtractValue]: "extractvalue",
  [Op.InsertValue]: "insertvalue",
  [Op.LandingPad]: "landingpad",
  [Op.Freeze]: "freeze",
};

/** Flag bits of `Inst.flags`. A bit's meaning depends on the op; no op has two meanings for one bit. */
export const Flag = {
  /** add, sub, mul, shl, trunc, getelementptr: no unsigned wrap. */
  Nuw: 1 << 0,
  /** add, sub, mul, shl, trunc: no signed wrap. */
  Nsw: 1 << 1,
  /** udiv, sdiv, lshr, ashr. */
  Exact: 1 << 2,
  /** or. */
  Disjoint: 1 << 3,
  /** zext, uitofp. */
  NonNeg: 1 << 4,
  /** icmp. */
  SameSign: 1 << 5,
  /** getelementptr; implies Nusw. */
  InBounds: 1 << 6,
  /** getelementptr: no unsigned-signed wrap. */
  Nusw: 1 << 7,
  /** load, store, cmpxchg, atomicrmw. */
  Volatile: 1 << 8,
  // Fast-math flags of floating-point arithmetic, fcmp, phi, select and call.
  NoNaNs: 1 << 9,
  NoInfs: 1 << 10,
  NoSignedZeros: 1 << 11,
  AllowReciprocal: 1 << 12,
  AllowContract: 1 << 13,
  ApproxFunc: 1 << 14,
  AllowReassoc: 1 << 15,
} as const;

/** All fast-math flags. */
export const fastMathMask =
  Flag.NoNaNs |
  Flag.NoInfs |
  Flag.NoSignedZeros |
  Flag.AllowReciprocal |
  Flag.AllowContract |
  Flag.ApproxFunc |
  Flag.AllowReassoc;

export type IntPredicate = "eq" | "ne" | "ugt" | "uge" | "ult" | "ule" | "sgt" | "sge" | "slt" | "sle";
/** What holds of exchanged operands. */
export const swappedPredicate: Readonly<Record<IntPredicate, IntPredicate>> = {
  eq: "eq",
  ne: "ne",
  ugt: "ult",
  uge: "ule",
  ult: "ugt",
  ule: "uge",
  sgt: "slt",
  sge: "sle",
  slt: "sgt",
  sle: "sge",
};
/** What holds where a comparison does not. */
export const inversePredicate: Readonly<Record<IntPredicate, IntPredicate>> = {
  eq: "ne",
  ne: "eq",
  ugt: "ule",
  uge: "ult",
  ult: "uge",
  ule: "ugt",
  sgt: "sle",
  sge: "slt",
  slt: "sge",
  sle: "sgt",
};
export type FloatPredicate =
  | "false"
  | "oeq"
  | "ogt"
  | "oge"
  | "olt"
  | "ole"
  | "one"
  | "ord"
  | "uno"
  | "ueq"
  | "ugt"
  | "uge"
  | "ult"
  | "ule"
  | "une"
  | "true";

/** Atomic orderings; `not_atomic` for plain accesses. LLVM's `unordered` is kept. */
export type Ordering =
  | "not_atomic"
  | "unordered"
  | "monotonic"
  | "acquire"
  | "release"
  | "acq_rel"
  | "seq_cst";

export type RMWOp =
  | "xchg"
  | "add"
  | "sub"
  | "and"
  | "nand"
  | "or"
  | "xor"
  | "max"
  | "min"
  | "umax"
  | "umin"
  | "fadd"
  | "fsub"
  | "fmax"
  | "fmin"
  | "uinc_wrap"
  | "udec_wrap"
  | "usub_cond"
  | "usub_sat"
  | "fmaximum"
  | "fminimum";

export interface MemoryData {
  /** In bytes, a power of two; never 0 (readers substitute the ABI alignment). */
  readonly align: number;
  readonly ordering: Ordering;
  /** Synchronisation scope: "" is the whole system, else e.g. "singlethread". */
  readonly scope: string;
}
export interface CmpXchgData extends MemoryData {
  readonly failureOrdering: Ordering;
  readonly weak: boolean;
}
export interface AtomicRMWData extends MemoryData {
  readonly rmw: RMWOp;
}
export interface AllocaData {
  readonly allocatedType: Type;
  /** In bytes, a power of two. */
  readonly align: number;
  /** Argument-allocation and Swift markers. */
  readonly inalloca: boolean;
  readonly swifterror: boolean;
}
export interface GepData {
  readonly elementType: Type;
}
export type TailKind = "" | "tail" | "musttail" | "notail";
export interface OperandBundle {
  readonly tag: string;
  /** How many of the call's trailing operands belong to it; bundles lie in order after the arguments. */
  readonly inputs: number;
}
export interface CallData {
  readonly functionType: Type;
  /** LLVM's calling convention number; 0 is C, 8 fast, 9 cold, 15 preserve_all, … */
  readonly callingConvention: number;
  readonly attributes: AttributeList;
  readonly tail: TailKind;
  /** Number of arguments proper; they are operands 1 … argumentCount. */
  readonly argumentCount: number;
  readonly bundles: readonly OperandBundle[];
  /** Of a call through a pointer, in code generation: number of its `Hints.callees` in the program. Not stored. */
  readonly calleeSet?: number;
}
export interface LandingPadData {
  readonly cleanup: boolean;
  /** Kind of each operand. */
  readonly clauses: readonly ("catch" | "filter")[];
}

export type BinaryOp =
  | Op.Add
  | Op.FAdd
  | Op.Sub
  | Op.FSub
  | Op.Mul
  | Op.FMul
  | Op.UDiv
  | Op.SDiv
  | Op.FDiv
  | Op.URem
  | Op.SRem
  | Op.FRem
  | Op.Shl
  | Op.LShr
  | Op.AShr
  | Op.And
  | Op.Or
  | Op.Xor;
export type CastOp =
  | Op.Trunc
  | Op.ZExt
  | Op.SExt
  | Op.FPTrunc
  | Op.FPExt
  | Op.FPToUI
  | Op.FPToSI
  | Op.UIToFP
  | Op.SIToFP
  | Op.PtrToInt
  | Op.IntToPtr
  | Op.BitCast
  | Op.AddrSpaceCast;
type PlainOp =
  | BinaryOp
  | CastOp
  | Op.Ret
  | Op.Br
  | Op.CondBr
  | Op.IndirectBr
  | Op.Resume
  | Op.Unreachable
  | Op.FNeg
  | Op.Phi
  | Op.Select
  | Op.VAArg
  | Op.ExtractElement
  | Op.InsertElement
  | Op.Freeze;

interface InstOf<O extends Op, D> extends InstBase {
  readonly op: O;
  readonly data: D;
}
export type Inst =
  | InstOf<PlainOp, null>
  /** Case values; `cases[i]` goes to `blocks[i + 1]`. */
  | InstOf<Op.Switch, readonly ConstInt[]>
  | InstOf<Op.Invoke, CallData>
  | InstOf<Op.Call, CallData>
  | InstOf<Op.CallBr, CallData>
  | InstOf<Op.Alloca, AllocaData>
  | InstOf<Op.Load, MemoryData>
  | InstOf<Op.Store, MemoryData>
  /** `align` is meaningless. */
  | InstOf<Op.Fence, MemoryData>
  | InstOf<Op.CmpXchg, CmpXchgData>
  | InstOf<Op.AtomicRMW, AtomicRMWData>
  | InstOf<Op.GetElementPtr, GepData>
  | InstOf<Op.ICmp, IntPredicate>
  | InstOf<Op.FCmp, FloatPredicate>
  /** The mask; -1 selects poison. Its length is the result's element count. */
  | InstOf<Op.ShuffleVector, readonly number[]>
  /** Index path. */
  | InstOf<Op.ExtractValue, readonly number[]>
  | InstOf<Op.InsertValue, readonly number[]>
  | InstOf<Op.LandingPad, LandingPadData>;

export type InstData = Inst["data"];
export type CallInst = Extract<Inst, { op: Op.Call | Op.Invoke | Op.CallBr }>;
/** The instruction variant of one op. */
export type InstWith<O extends Op> = Inst extends infer I
  ? I extends Inst
    ? [Extract<I["op"], O>] extends [never]
      ? never
      : I & { readonly op: O }
    : never
  : never;

interface InstBase {
  readonly valueKind: "inst";
  readonly type: Type;
  /** Change them through the editor of the body (`Func.edit`), or, in bodies without use lists, `raw`. */
  readonly operands: readonly Value[];
  /** Likewise. */
  readonly blocks: readonly Block[];
  flags: number;
  /** What metadata says of it; null for most. See `hints.ts` on what an edit must do about them. */
  hints: Hints | null;
  /** Where its code was written: a number of `Origins`, 0 for the function that it stands in. */
  origin: number;
  /** What is said of source variables before it; null where nothing is (`debug-records.ts`). Nothing may depend on it. */
  debug: DebugRecord[] | null;
  /** The block that holds it; null while detached. */
  parent: Block | null;
  /** Dense number, valid after `Body.renumber()`; passes may use it as an index into side tables. */
  id: number;
}

/** What all instructions that have no blocks share: nothing is ever added to it. */
const noBlocks: Block[] = [];

class InstNode {
  readonly valueKind = "inst";
  hints: Hints | null = null;
  origin = 0;
  debug: DebugRecord[] | null = null;
  parent: Block | null = null;
  id = -1;
  /** Of the use lists (`uses.ts`): the number of the first use, and of the use in its own first slot. */
  protected firstUse = -1;
  protected firstSlot = -1;
  constructor(
    readonly op: Op,
    readonly type: Type,
    public operands: Value[],
    public blocks: Block[],
    public flags: number,
    public data: InstData,
  ) {
    if (op > Op.Unreachable && op !== Op.Phi) this.blocks = noBlocks;
  }
}

/** Makes a detached instruction. The caller answers for `data` fitting `op`; the verifier checks. */
export function makeInst<O extends Op>(
  op: O,
  type: Type,
  operands: Value[],
  data: InstWith<O>["data"],
  blocks: Block[] = [],
  flags = 0,
): InstWith<O> {
  // One runtime class stands for the whole union; see the file header.
  return new InstNode(op, type, operands, blocks, flags, data) as unknown as InstWith<O>;
}

/**
 * A detached instruction with the same operation, data, flags, hints and origin as `inst`, and the given lists. Alias scopes among
 * the hints are the caller's to replace (`CloneMap.hints`).
 */
export function copyInst(inst: Inst, operands: Value[], blocks: Block[]): Inst {
  const copy = new InstNode(inst.op, inst.type, operands, blocks, inst.flags, inst.data);
  copy.hints = inst.hints;
  copy.origin = inst.origin;
  return copy as unknown as Inst;
}

export const noLabel = -1;

export class Block {
  /** Position in the body, valid after `Body.renumber()`. */
  id = -1;
  /** Number of its first use (`uses.ts`). */
  protected firstUse = -1;
  /** Change them through the editor of the body (`Func.edit`), or, in bodies without use lists, `raw`. */
  readonly insts: readonly Inst[] = [];
  /**
   * What `BlockAddress` constants call it: a number of its own in the function, for as long as it exists, wherever it
   * stands; `noLabel` where none can.
   */
  label = noLabel;

  /** Appends an instruction; only for bodies without use lists. */
  append<I extends Inst>(inst: I): I {
    inst.parent = this;
    (this.insts as Inst[]).push(inst);
    return inst;
  }
  /** Its address may be taken by a `blockaddress`: it can be entered in ways that no edge shows. */
  get addressTaken(): boolean {
    return this.label !== noLabel;
  }
  /** Gives the list of instructions the room it needs, once all are there: arrays that were grown keep several times as much. */
  trim(): void {
    (this as { insts: readonly Inst[] }).insts = this.insts.slice();
  }
  /** Last instruction; only an unfinished block lacks it. */
  get terminator(): Inst {
    return this.insts[this.insts.length - 1]!;
  }
  get successors(): readonly Block[] {
    return this.terminator.blocks;
  }
}

/** A body to look at. Numbering it anew is allowed: ids are scratch space of whoever works on it. */
export interface BodyView {
  readonly blocks: readonly Block[];
  /** Instructions may have debug records. */
  readonly hasDebug: boolean;
  renumber(): number;
}

/** A function's blocks, the entry first. */
export class Body {
  blocks: Block[] = [];
  hasDebug = false;
  /** Keeps use lists, once the body has been edited (`Func.edit`). */
  editor: Editor | null = null;

  /** Gives blocks and instructions dense numbers in layout order. @returns the number of instructions */
  renumber(): number {
    this.editor?.sweep();
    let next = 0;
    for (let b = 0; b < this.blocks.length; b++) {
      const block = this.blocks[b]!;
      block.id = b;
      for (const inst of block.insts) inst.id = next++;
    }
    return next;
  }
}

/** Neither volatile nor atomic: may be left out, joined or moved as far as the program itself sees. */
export const isPlainAccess = (inst: InstWith<Op.Load> | InstWith<Op.Store>): boolean =>
  (inst.flags & Flag.Volatile) === 0 && inst.data.ordering === "not_atomic";

/** Whether an alloca has its place in the frame, from the function's entry on. */
export const isStaticAlloca = (inst: InstWith<Op.Alloca>, inEntry: boolean): boolean =>
  inEntry && inst.operands[0]!.valueKind === "int" && !inst.data.inalloca;

export function isTerminator(op: Op): boolean {
  return op >= Op.Ret && op <= Op.Unreachable;
}
export function isCall(inst: Inst): inst is CallInst {
  const { op } = inst;
  return op === Op.Call || op === Op.Invoke || op === Op.CallBr;
}
/** The callee operand of a call. */
export const calleeOf = (call: CallInst): Value => call.operands[0]!;
/** Arguments of a call, without callee and bundle inputs. */
export const callArguments = (call: CallInst): Value[] => call.operands.slice(1, 1 + call.data.argumentCount);
/** A call through a pointer. */
export function isIndirectCall(inst: Inst): inst is CallInst {
  if (!isCall(inst)) return false;
  const { valueKind } = inst.operands[0]!;
  return valueKind !== "global" && valueKind !== "asm";
}
/** Gives a call other data. */
export function setCallData(call: CallInst, data: CallData): void {
  (call as { data: CallData }).data = data;
}
