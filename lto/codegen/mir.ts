/**
 * Machine IR: what selection produces, register allocation rewrites, and emission prints.
 *
 * Before allocation it is SSA over virtual registers with block parameters. Everything irregular about a
 * machine instruction is an operand constraint: a set of allowed registers (one register = fixed), "may be a
 * stack slot", tied definitions, early clobbers, and a clobber mask. Allocation writes a location into every
 * register operand and inserts moves; the virtual register numbers stay, so a checker can compare both.
 *
 * Roles instead of positions: an instruction has definitions, register uses, at most one memory operand, and
 * an immediate. Which of them plays which part of the assembly instruction is the target's business.
 */

import { noLabel } from "../ir/instructions.js";
import type { GlobalValue } from "../ir/module.js";
import type { FunctionDebug } from "./debug/function-debug.js";
import { noRegisters, type RegisterSet } from "./register-set.js";
import type { Target } from "./target.js";

/** Index into `MFunction.vregs`; -1 for an operand that names a physical register from the start. */
export type VReg = number;

/** Where an operand lives after allocation: a register number ≥ 0, or a stack slot as `~slot` (< 0). */
export type Location = number;
export const noLocation: Location = -(2 ** 31);
export const slotLocation = (slot: number): Location => ~slot;
export const slotOf = (location: Location): number => ~location;
export const isSlot = (location: Location): boolean => location < 0 && location !== noLocation;

/** Register classes are small numbers that the target defines; 0 are the general registers. */
export type RegClass = number;

export interface VRegInfo {
  readonly cls: RegClass;
  /** Bytes a spill must keep: 4 or 8 (general), 4, 8, 16 or 32 (vector). */
  size: number;
  /**
   * An instruction without register uses that recomputes the value anywhere in the function at no more cost
   * than a reload (constant, address of a global or a slot); null if there is none. Its single definition
   * is this register.
   */
  remat: MInst | null;
}

/** A use or definition of a register. */
export class RegOperand {
  /** Filled by allocation (from the start for physical operands). */
  loc: Location = noLocation;
  constructor(
    public vreg: VReg,
    /** Registers it may be in; none means any allocatable register of its class. */
    public allowed: RegisterSet = noRegisters,
    /** Uses and definitions: the instruction can also take it from (or leave it in) a stack slot. */
    public mayBeSlot = false,
    /**
     * Definitions: index in `uses` of the operand that must be in the same place; -1 if none. The used
     * value may be needed afterwards: then the allocator copies it first.
     */
    public tiedTo = -1,
    /** Definitions: written before all uses are read; shares a register with no use but the one it is tied to. */
    public early = false,
  ) {}
  /** A definition that must be in the same place as `uses[0]`. */
  static tied(vreg: VReg): RegOperand {
    return new RegOperand(vreg, noRegisters, false, 0);
  }
  static physical(register: number): RegOperand {
    const operand = new RegOperand(-1);
    operand.loc = register;
    return operand;
  }
}

/** How a symbol is referred to, in the terms of ELF. Which relocation that becomes is the printer's business. */
export type SymbolKind =
  /** The symbol's address. */
  | "direct"
  /** The entry of the global offset table that holds it. */
  | "got"
  /** The procedure linkage table's stub, for calls. */
  | "plt"
  /** Without bounds on distances: the address, its offset from the global offset table, the offset of its entry there. */
  | "far"
  | "far-offset"
  | "far-got"
  /** The address, which is the sign extension of 32 bits. */
  | "high"
  /** Offset from the thread pointer (the local-exec model), and the table entry that holds it (initial-exec). */
  | "tls-offset"
  | "tls-offset-entry"
  /** What the run-time routine takes that finds a variable of whatever module (general-dynamic). */
  | "tls-dynamic";

export interface SymbolRef {
  readonly kind: SymbolKind;
  /** A global, a block of this function (its address), a constant, or one of the function's tables. */
  readonly target:
    | { readonly kind: "global"; readonly global: GlobalValue }
    | { readonly kind: "block"; readonly block: MBlock }
    /** A block of another function: the body's block index. */
    | { readonly kind: "foreign-block"; readonly global: GlobalValue; readonly block: number }
    /** An entry of the literal pool; equal entries are one object (`poolConstant`). */
    | { readonly kind: "constant"; readonly constant: PoolConstant }
    | { readonly kind: "jump-table"; readonly table: JumpTable }
    /** A runtime routine that no IR names, e.g. `__tls_get_addr`. */
    | { readonly kind: "external"; readonly name: string };
}

/**
 * Memory at the sum of what is there of base, index, slot, symbol and displacement. In which way they are added (a
 * scaled index, relative to the program counter, …) is in `mode`, which only the target understands.
 */
export class MemOperand {
  constructor(
    public base: RegOperand | null,
    public index: RegOperand | null = null,
    /** A signed 32-bit number. */
    public disp = 0,
    public symbol: SymbolRef | null = null,
    /** Index into `MFunction.slots`, or -1. The frame pass turns it into base and displacement. */
    public slot = -1,
    /** Less than 2^16; 0: the plain sum. */
    public mode = 0,
  ) {}
}

/** Assembly text with operands, for inline assembly. */
export interface AsmData {
  readonly kind: "asm";
  /** LLVM's template: `$0`, `${0:w}`, `$$`, `$(…$|…$)` for alternatives by dialect. */
  readonly template: string;
  /** It and its operands are in Intel syntax. */
  readonly intel: boolean;
  /** What `$n` stands for, in order. */
  readonly operands: readonly AsmOperand[];
  /** As in `CallInfo`. */
  readonly unwind: MBlock | null;
}
export type AsmOperand =
  | { readonly kind: "def"; readonly index: number; readonly size: number }
  | { readonly kind: "use"; readonly index: number; readonly size: number }
  | { readonly kind: "mem"; readonly mem: MemOperand }
  /** An immediate or symbolic constant. */
  | { readonly kind: "imm"; readonly value: bigint }
  | { readonly kind: "symbol"; readonly symbol: SymbolRef; readonly offset: number }
  | { readonly kind: "block"; readonly block: MBlock }
  /** A register outside allocation, as it is written: `%st(1)`. */
  | { readonly kind: "text"; readonly text: string };

/** In place of a callee set: the call is none of those that the analysis of the program saw, so may be any of them. */
export const unlistedCall = -2;

/** What a call instruction promises; the IPRA propagation replaces `clobbers` of the instruction. */
export interface CallInfo {
  readonly kind: "call";
  /** The callee when it is known. */
  readonly callee: GlobalValue | null;
  /**
   * Of a call through a pointer: number of the set of functions that it can reach; -1 if it is not known, or
   * `unlistedCall`.
   */
  readonly calleeSet: number;
  /** Control leaves for good: nothing is needed after it. */
  readonly noReturn: boolean;
  /** May return twice (setjmp). */
  readonly returnsTwice: boolean;
  /**
   * The landing pad in which an exception that leaves the callee continues. Such a call ends its block: behind it
   * there is only the jump to where it returns. Null: the exception leaves this function too.
   */
  readonly unwind: MBlock | null;
  /** No exception leaves the callee: should one try, the program ends. */
  readonly noUnwind: boolean;
  /**
   * Bytes of arguments and padding on the stack: the unwinder takes them off before it enters the landing pad, and
   * nothing may come between them and the call. Set by the frame pass.
   */
  readonly pushed: number;
  /** There are arguments at the stack pointer, in the frame's own room, which stays. Set by the frame pass. */
  readonly hasStored: boolean;
}

/** Of a call of a routine that is no function of the program, returns, and does not unwind. */
export const routineCall: CallInfo = {
  kind: "call",
  callee: null,
  calleeSet: -1,
  noReturn: false,
  returnsTwice: false,
  unwind: null,
  noUnwind: true,
  pushed: 0,
  hasStored: false,
};

/** What a landing pad catches: one clause of a `landingpad`. Types as they stand in the type table. */
export type PadClause =
  /** Index in `MFunction.typeInfos`. */
  | { readonly kind: "catch"; readonly type: number }
  /** Everything but these types. */
  | { readonly kind: "filter"; readonly types: readonly number[] };

/** The first instruction of a landing pad: it defines the exception pointer and the selector. */
export interface LandingPadInfo {
  readonly kind: "landing-pad";
  /** The block runs also when nothing is caught. */
  readonly cleanup: boolean;
  readonly clauses: readonly PadClause[];
}

/** What a directive tells the unwinder. */
export const enum CfiKind {
  /** The CFA is `offset` above the current CFA register. */
  DefCfaOffset,
  /** The CFA register becomes `register`; the offset stays. */
  DefCfaRegister,
  /** The CFA is `offset` above `register`. */
  DefCfa,
  /** `register` is stored at CFA + `offset`. */
  Offset,
  /** `register` has its value from the function's entry again. */
  Restore,
  /** Of what is on the stack, the lowest `offset` bytes are arguments: gone when a landing pad is entered. */
  Arguments,
  /** Keeps the state for the matching `RestoreState`. `offset` 1: which is in `MFunction.unwindReset`. */
  RememberState,
  RestoreState,
}

/** An unwind directive: makes no code. Made by `late/cfi.ts`. */
export interface UnwindDirective {
  readonly kind: "unwind";
  readonly directive: CfiKind;
  /** -1 where the kind has none. */
  readonly register: number;
  /** 0 where the kind has none. */
  readonly offset: number;
}

export type MExtra =
  | AsmData
  | CallInfo
  | LandingPadInfo
  | UnwindDirective
  /** The second number of a pseudo-instruction whose first is `imm`. */
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "jump-table"; readonly table: JumpTable };

/** The landing pad of an instruction that can unwind within its function, and so ends its block; else null. */
export function unwindTarget(inst: MInst): MBlock | null {
  const { extra } = inst;
  return extra !== null && (extra.kind === "call" || extra.kind === "asm") ? extra.unwind : null;
}

/** The table that an instruction of jumping by table is about. */
export function tableOf({ extra }: MInst): JumpTable {
  if (extra?.kind !== "jump-table") throw new Error("an instruction without its jump table");
  return extra.table;
}

/** What an unwind directive says. */
export function unwindDirective({ extra }: MInst): UnwindDirective {
  if (extra?.kind !== "unwind") throw new Error("an unwind directive that says nothing");
  return extra;
}

/** The second number of a pseudo-instruction. */
export function secondNumber({ extra }: MInst): number {
  if (extra?.kind !== "number") throw new Error("an instruction without its second number");
  return extra.value;
}

/** Of instructions that are no branches: one list for all of them. */
const noTargets: readonly MBlock[] = [];

/** One machine instruction. All instances share one shape. */
export class MInst {
  mem: MemOperand | null = null;
  /** An immediate: a number when it fits 32 bits signed, else a bigint (64-bit moves only). */
  imm: number | bigint | null = null;
  /** A symbol as immediate or call target; `imm` is then its addend. */
  symbol: SymbolRef | null = null;
  /** The target's number, below 255, of the condition that the instruction asks for; -1 if none. */
  condition = -1;
  /** What else holds of the instruction, as bits to which the target gives a meaning by opcode; 0 for nothing. */
  marks = 0;
  /** Registers written besides `defs`: calls, inline assembly, string instructions. */
  clobbers: RegisterSet = noRegisters;
  /** Targets of a branch, in the order of `MBlock.succs`. */
  targets: readonly MBlock[] = noTargets;
  extra: MExtra | null = null;
  /**
   * Where its code was written, as in the IR (`Inst.origin`); -1: like what stands around it, in prologues the function
   * itself (`late/code-origins.ts`).
   */
  origin = -1;
  constructor(
    /** Target opcode. 0 is always the register copy: one definition, one use. */
    public op: number,
    /** Operation width in bytes. */
    public size: number,
    public defs: RegOperand[] = [],
    public uses: RegOperand[] = [],
  ) {}
}

/** Opcode 0 of every target: `defs[0] = uses[0]`. */
export const CopyOp = 0;

export class MBlock {
  insts: MInst[] = [];
  preds: MBlock[] = [];
  succs: MBlock[] = [];
  /**
   * Block parameters (SSA phis), in registers or slots as the allocator likes. `succArgs[s][p]` is what this
   * block passes for parameter p of successor s. Selection guarantees that an edge with arguments is not
   * critical: either this block has one successor, or the successor has one predecessor; and that landing pads have no
   * parameters, since nothing can be moved on the way there.
   */
  params: RegOperand[] = [];
  succArgs: RegOperand[][] = [];
  /** Estimated executions relative to one entry of the function. */
  frequency = 1;
  /** A label that something other than a branch refers to: landing pad, block address, jump table. */
  addressTaken = false;
  /** What `blockaddress` constants call the block (`Block.label`); `noLabel` if none can mean it. */
  label = noLabel;
  /**
   * Entered by the unwinder alone: from the calls that name it, with what was on the stack at the call but its
   * arguments, and of the registers only those that every frame in between has put back.
   */
  landingPad = false;
  constructor(
    /** Index in `MFunction.blocks` when selection made it; unique, kept through layout. */
    readonly id: number,
  ) {}
}

/** How near to the guard of the stack protector a slot lies: the higher, the nearer; where the function has a guard. */
export const enum SlotRank {
  /** What is only accessed by name. */
  Plain,
  Variable,
  SmallArray,
  LargeArray,
  Guard,
}

export interface FrameSlot {
  /** Bytes. */
  size: number;
  align: number;
  /**
   * `local`: an alloca; `spill`: the allocator's; `incoming`: a stack argument, `offset` bytes above the
   * return address.
   */
  readonly kind: "local" | "spill" | "incoming";
  /** `incoming`: bytes above the return address' end. Otherwise assigned by the frame pass. */
  offset: number;
  rank: SlotRank;
}

/** An entry of the literal pool of the program. */
export interface PoolConstant {
  readonly bytes: Uint8Array;
  readonly align: number;
}

const pool = new Map<string, PoolConstant>();

/** The pool entry with this content: one object for it in this thread, whatever function asks. */
export function poolConstant(bytes: Uint8Array, align: number): PoolConstant {
  const key = `${align} ${String.fromCharCode(...bytes)}`;
  let constant = pool.get(key);
  if (constant === undefined) {
    constant = { bytes, align };
    pool.set(key, constant);
  }
  return constant;
}

/** Where a switch goes, by value. */
export interface JumpTable {
  /** No targets are left of a table whose last jump is gone. */
  targets: readonly MBlock[];
  /** Layout narrows those of 4 bytes where functions are small (`late/jump-tables.ts`). */
  entryBytes: 1 | 2 | 4 | 8;
  /** What entries count from: they are addresses, offsets from the table, or offsets from the first of the targets. */
  origin: "zero" | "table" | MBlock;
}

/**
 * What the unwinder has to be told of a function: nothing, its frame at calls alone ("sync"), or at every instruction
 * ("async").
 */
export type UnwindTables = "none" | "sync" | "async";

/** A machine function: one IR function between selection and emission. */
export class MFunction {
  /** In layout order; the first is the entry. */
  blocks: MBlock[] = [];
  readonly vregs: VRegInfo[] = [];
  readonly slots: FrameSlot[] = [];
  readonly jumpTables: JumpTable[] = [];
  /** The stack pointer moves by amounts unknown before run time: the frame needs a frame pointer. */
  hasDynamicAlloca = false;
  /** Calls anything at all (else it may be a leaf with a red zone). */
  hasCalls = false;
  /** Inline assembly or intrinsics that may use the stack below the stack pointer. */
  noRedZone = false;
  /** The address of the frame is asked for, or a frame pointer is demanded by attribute. */
  needsFramePointer = false;
  /** It aligns the stack itself, to so many bytes and at least to the ABI's: callers may not; 0: it counts on them. */
  stackAlignment = 0;
  /** Contains a call that returns twice: nothing may live in a callee-saved register across it. */
  returnsTwice = false;
  /** Registers that hold the results on return. */
  resultRegisters: RegisterSet = noRegisters;
  /** Callee-saved registers that no caller relies on; known once it is decided who saves what. */
  unpreserved: RegisterSet = noRegisters;
  /** What the reader of the assembly should know; "" for nothing. */
  remark = "";
  /** Bytes of named arguments on the stack, for va_start. */
  incomingBytes = 0;
  /** Frequencies of blocks were counted by a profile, where it has weights of branches. */
  profiled = false;
  /** Code that others shared: it obeys no convention, and its name is nobody's. */
  outlined = false;
  /** It consists of pops and a return, and is entered with the frame of whoever jumps to it. */
  startsFramed = false;
  /** It should end in the jump to the function that will stand after it (late/function-order.ts). */
  fallsThrough = false;
  unwind: UnwindTables = "async";
  /** Its frame, once it is decided, is addressed by a frame pointer. */
  framePointer = false;
  /** Memory below the stack pointer is in use; known once the frame is decided. */
  redZone = false;
  /** Directives that lead from what the unwinder believes at the end of the code to what holds on entry; made last. */
  unwindReset: readonly MInst[] = [];
  /** What is said of source variables; null where nothing is. */
  debug: FunctionDebug | null = null;
  /** Objects that stand for types in landing pads and selectors, each once; null catches everything. */
  readonly typeInfos: (GlobalValue | null)[] = [];
  constructor(
    readonly fn: GlobalValue,
    readonly name: string,
    /** Optimisation goal: "none" (-O0), "speed", "size" (-Os), "minsize" (-Oz). */
    readonly goal: "none" | "speed" | "size" | "minsize",
    /** The machine it is for. */
    readonly target: Target,
  ) {}

  newVReg(cls: RegClass, size: number): VReg {
    this.vregs.push({ cls, size, remat: null });
    return this.vregs.length - 1;
  }
  newSlot(size: number, align: number, kind: FrameSlot["kind"] = "local", offset = 0): number {
    this.slots.push({ size, align, kind, offset, rank: SlotRank.Plain });
    return this.slots.length - 1;
  }
  newBlock(): MBlock {
    const block = new MBlock(this.nextBlockId++);
    this.blocks.push(block);
    return block;
  }
  private nextBlockId = 0;

  /** Ids of blocks are below this. */
  get blockIds(): number {
    return this.nextBlockId;
  }
  /** Leaves ids below `count` to blocks that exist. */
  reserveBlockIds(count: number): void {
    this.nextBlockId = Math.max(this.nextBlockId, count);
  }
}

/** A slot for a value that has no register. Moves of more than 16 bytes do not ask for their alignment. */
export const newSpillSlot = (fn: MFunction, size: number): number =>
  fn.newSlot(size, Math.min(size, 16), "spill");

/** Calls `visit` on every register operand the instruction reads, address registers included. */
export function forEachUse(inst: MInst, visit: (operand: RegOperand) => void): void {
  for (const use of inst.uses) visit(use);
  const mem = inst.mem;
  if (mem !== null) {
    if (mem.base !== null) visit(mem.base);
    if (mem.index !== null) visit(mem.index);
  }
  if (inst.extra !== null && inst.extra.kind === "asm") {
    for (const operand of inst.extra.operands) {
      if (operand.kind !== "mem" || operand.mem === inst.mem) continue;
      if (operand.mem.base !== null) visit(operand.mem.base);
      if (operand.mem.index !== null) visit(operand.mem.index);
    }
  }
}
