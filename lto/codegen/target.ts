/**
 * The one interface to a machine: everything code generation asks about the target. Nothing else outside of the
 * target's own folders (`lto/x64`, `formats/asm/x64`) names its registers, opcodes or encodings.
 *
 * Questions about opcodes that hot loops ask are bits in a table (`InstructionFacts.facts`); whatever needs the
 * operands is a function.
 */

import type { AttributeSet } from "../ir/attributes.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { Block } from "../ir/instructions.js";
import type { Func, GlobalValue } from "../ir/module.js";
import type { Type } from "../ir/types.js";
import type { TargetCosts } from "../target/costs.js";
import type { PassedRegisters } from "./ipra/variable-arguments.js";
import type { MachineRuleInfo, RuleUse } from "./late/rule-use.js";
import type { ShrinkWrapRegion } from "./late/shrink-wrap.js";
import type { LegalFunction } from "./legalize/index.js";
import type { LoweringTarget } from "./lowering/context.js";
import type { Location, MBlock, MFunction, MInst, RegClass, RegOperand } from "./mir.js";
import type { RegisterSet } from "./register-set.js";
import type { RequestTable } from "./requests.js";

/** A machine. */
/** Mentions of memory by way of a register that holds an address near it (`late/section-anchors.ts`). */
export interface BaseRegisters {
  /** Registers that can hold it, those first that are named in fewer bytes. */
  registers(mf: MFunction): readonly number[];
  /** The variable that the instruction mentions so that `rebase` can reach it otherwise; null if there is none. */
  mentioned(inst: MInst): GlobalValue | null;
  /** How many bytes after the variable's start that is. */
  addend(inst: MInst): number;
  /**
   * The instruction with its mention made from a register, to stand in its place.
   * @param offset of a variable from the anchor
   * @returns null where that is out of reach
   */
  rebase(inst: MInst, register: number, offset: (variable: GlobalValue) => number): MInst | null;
  /** Lets the register hold the anchor; changes no flags. */
  set(register: number, isPositionIndependent: boolean): MInst;
  /** The same for what is so many bytes after a variable's start. */
  setBehind(register: number, variable: GlobalValue, bytes: number, isPositionIndependent: boolean): MInst;
  /** How far from what a register holds the place in memory is that the instruction mentions; NaN: it mentions no such. */
  distance(inst: MInst): number;
  /** That register. */
  pointer(inst: MInst): number;
  /** The instruction with its place at a distance from what another register holds. */
  atDistance(inst: MInst, register: number, distance: number): MInst;
  /** Lets the register hold what is so far from what another one holds; changes no flags. */
  setDistance(register: number, from: number, distance: number): MInst;
  /** After the instruction the register may hold something else; the stack pointer, too. */
  changes(inst: MInst, register: number): boolean;
}

/** What native code passes otherwise than code generation does. */
export interface NativeBoundary {
  /** For functions with these attributes, what of a type that is: itself, or a member; null: there can be nothing such. */
  differing(attributes: AttributeSet): ((type: Type) => Type | null) | null;
  /** A number for how functions with these attributes pass values: between equal ones nothing differs. */
  convention(attributes: AttributeSet): number;
  /** What of a type functions of these unequal numbers pass differently; null: nothing. */
  disputed(type: Type, one: number, other: number): Type | null;
}

export interface Target {
  /** For tables by target, such as that of printers. */
  readonly name: string;
  readonly registers: TargetRegisters;
  readonly instructions: InstructionFacts;
  readonly frame: TargetFrame;
  readonly conventions: TargetConventions;
  readonly outlining: TargetOutlining;
  readonly lowering: LoweringTarget;
  readonly costs: TargetCosts;
  readonly requests: RequestTable;
  readonly boundary: NativeBoundary;
  readonly base: BaseRegisters;
  /**
   * @param order the blocks that may be entered, in the order they should be laid out
   * @throws UnsupportedError naming the construct and the function
   */
  select(
    legal: LegalFunction,
    order: readonly Block[],
    layout: DataLayout,
    goal: MFunction["goal"],
    options: SelectOptions,
  ): MFunction;
  /** Makes calls of tail calls that pass an argument in a register which the function restores before it leaves. */
  untieTailCalls(mf: MFunction, saved: RegisterSet): void;
  /** Blocks that end in a call which could be a jump, since nothing but the return follows, and the frame holds nothing. */
  findTailCalls(mf: MFunction, saved: RegisterSet): MBlock[];
  /** Makes jumps of the calls that such blocks end with; edges are not up to date after that. */
  formTailCalls(blocks: readonly MBlock[], mf: MFunction): void;
  /**
   * Improves the instructions of a function that has its frame; edges must be up to date.
   * @param redZone memory below the stack pointer is in use
   * @param preserved registers that callers rely on although the convention does not preserve them
   * @param use which rules are wanted; is told of each application
   * @param timeIn bytes that an instruction in a block is worth which is executed less (late/block-time.ts)
   */
  peepholes(
    mf: MFunction,
    redZone: boolean,
    preserved: RegisterSet,
    use: RuleUse,
    timeIn: (block: MBlock) => number,
  ): void;
  /** The rules of the peepholes. */
  readonly rules: readonly MachineRuleInfo[];
  /**
   * Puts in what attributes ask for at entries, exits and targets of indirect branches, when all other code is final.
   * It may change all registers that the convention lets a call change; `ipra/added-code.ts` knows where it does.
   */
  harden(mf: MFunction): void;
}

/** Where code may be placed and what may be assumed of addresses. */
export type RelocationModel = "static" | "pie" | "pic";

/**
 * Where code and data may be (System V ABI AMD64, section 3.5.1): within 2 GB; within the last 2 GB of all addresses; the
 * code and small data within 2 GB; anywhere.
 */
export type CodeModel = "small" | "kernel" | "medium" | "large";

/** Where a function takes its arguments and leaves its results: a number that the target defines, 0 for the platform's way. */
export type Convention = number;
export const platformConvention: Convention = 0;

/** What selection has to know beyond the function. */
export interface SelectOptions {
  readonly relocation: RelocationModel;
  readonly codeModel: CodeModel;
  /** Bytes up to which variables are near the code, in the medium code model. */
  readonly nearData: number;
  /** Bytes to which functions align the stack at calls of unknown code; 0: as the ABI says. */
  readonly stackAlignment: number;
  /** Registers that a call of this function may change; null for a call through a pointer, with its `calleeSet`. */
  readonly clobbersOf: (callee: GlobalValue | null, calleeSet: number) => RegisterSet;
  readonly conventionOf: (callee: GlobalValue | null) => Convention;
  /** Bounds of what functions that a call reaches are passed, by all their callers; null as in `clobbersOf`. */
  readonly passedTo: (callee: GlobalValue | null, calleeSet: number) => PassedRegisters;
  /** Takes what the author of the input asked to be told. */
  readonly warn?: (message: string) => void;
}

/** Conventions that closed functions may have instead of the platform's. */
export interface TargetConventions {
  /** For each register that may take the place of an argument register: its name costs a byte in narrow instructions. */
  readonly substituteIsLong: readonly boolean[];
  /** Estimated bytes. */
  readonly bytes: {
    readonly move: number;
    /** Of a callee-saved register, without the restore. */
    readonly save: number;
    /** One more callee-saved register in use: its save, and longer names for others. */
    readonly extraRegister: number;
    /** A tail call that has to become a call, with the save and restore around it. */
    readonly lostTailCall: number;
  };
  /** The convention that besides passes the argument in `position` in the substitute numbered `which`; -1: none. */
  withArgument(convention: Convention, which: number, position: number): Convention;
  /** The convention that passes all arguments and results of the function in registers, where that differs. */
  wantedExtras(fn: Func): Convention;
}

/** What an opcode is and does, whatever its operands: bits of `InstructionFacts.facts`. */
export const enum OpFact {
  /** Goes to `targets[0]`. */
  Jump = 1 << 0,
  /** Goes to `targets[0]`, or on, by `condition`. With a symbol it leaves the function instead. */
  Branch = 1 << 1,
  /** Goes to one of `targets`, by an address. */
  IndirectJump = 1 << 2,
  Return = 1 << 3,
  /** Leaves the function for another, which returns to the caller. */
  TailCall = 1 << 4,
  Call = 1 << 5,
  /** Control does not get past it. */
  Trap = 1 << 6,
  /** Inline assembly. */
  Asm = 1 << 7,
  /** Start of the function: its definitions are the arguments, which arrive and are not written. */
  Entry = 1 << 8,
  ReadsFlags = 1 << 9,
  WritesFlags = 1 << 10,
  /** Moves the stack pointer, or counts on its place: has to run where the frame is. */
  NeedsFrame = 1 << 11,
  /** Tells the address or size of the frame to more than slot operands. */
  ExposesFrame = 1 << 12,
  /** A slot that it names escapes: its address is computed. */
  TakesAddress = 1 << 13,
  /** `defs[0] = mem`, a general register of `size` bytes. */
  Load = 1 << 14,
  /** `mem = uses[0]`, or a constant: a general register of `size` bytes. */
  Store = 1 << 15,
  /** Part of an epilogue: brings a callee-saved register back. */
  Restores = 1 << 16,
  /** Push or pop of the body: changes how much lies on the stack. */
  MovesStack = 1 << 17,
  /** No code: its definitions have undefined values. */
  Undefined = 1 << 18,
  /** The memory that it names is a source: nothing is written there. */
  ReadsMemory = 1 << 19,
}

/** Control leaves the function for good. */
export const leavesFunction = OpFact.Return | OpFact.TailCall;
/** Control never goes on after the instruction in this block. */
export const endsBlock = leavesFunction | OpFact.Jump | OpFact.IndirectJump | OpFact.Trap;

/** How a branch to a block grows with distance. Distances count from the end of the branch. */
export interface BranchForms {
  /** Bytes of the short form, and how far back and ahead it reaches. */
  readonly short: number;
  readonly back: number;
  readonly ahead: number;
  /** Bytes of the form that reaches everywhere in a function. */
  readonly near: number;
}

/** The sum of a general register and a number, of which the low `bytes` are kept and the others 0. */
export interface RegisterSum {
  readonly register: number;
  readonly offset: number;
  readonly bytes: 4 | 8;
}

/** What the target says about instructions. */
export interface InstructionFacts {
  /** Opcode names, for dumps. */
  readonly names: readonly string[];
  /** What a `MemOperand.mode` means, for dumps; "" for the plain sum. */
  modeText(mode: number): string;
  /** `OpFact` bits by opcode. */
  readonly facts: Uint32Array;
  /** The condition that holds when this one does not. */
  invert(condition: number): number;
  jump(to: MBlock): MInst;
  /** Exact bytes; a branch to a block in its longest form. Operands must be registers and addressed memory. */
  length(inst: MInst): number;
  /** Of a jump or branch to a block. */
  branchForms(inst: MInst): BranchForms;
  /** Registers that it reads, without those that an exit hands back; after allocation. */
  reads(inst: MInst): RegisterSet;
  /** Registers whose old value is gone afterwards, clobbers included; after allocation. */
  writes(inst: MInst): RegisterSet;
  /**
   * Registers that inline assembly may change without saying so, which only compilers without interprocedural allocation let it:
   * callers take them for changed. None for other instructions; after allocation.
   */
  untoldChanges(inst: MInst): RegisterSet;
  /** Low bytes of its only definition that are those of its only source, a register or memory; 0: it is something else. */
  bytesKept(inst: MInst): number;
  /**
   * What the instruction at `index` leaves in its definition, a general register, with the one before where both make one move:
   * all 64 bits, as a constant or as a sum; null: something else. After allocation.
   */
  simpleValue(insts: readonly MInst[], index: number): bigint | RegisterSum | null;
  /** It leaves none of the old flags. */
  killsFlags(inst: MInst): boolean;
  /** Probability (0 to 1) that the branch at `index` is taken, by what it compares; 1/2 if that says nothing. */
  takenProbability(insts: readonly MInst[], index: number): number;
  /**
   * Whether the use at `index` can name any other general register instead.
   * @param low only the low 4 bytes of that register are the same
   */
  canRename(inst: MInst, index: number, low: boolean): boolean;
}

/** What the target says about its registers. */
export interface TargetRegisters {
  /** DWARF's number of a register; -1 if it has none. */
  dwarfNumber(register: number): number;
  /** Register names by number, for messages. */
  readonly names: readonly string[];
  readonly classCount: number;
  /** Registers are numbered below this: 64 at most. */
  readonly count: number;
  /** Every register. */
  readonly all: RegisterSet;
  /** Allocatable registers of a class in this function (the frame pointer drops out where it is needed). */
  allocatable(fn: MFunction, cls: RegClass): RegisterSet;
  /** General registers are those of class 0; their numbers are below this. */
  readonly generalCount: number;
  /** Never allocated. */
  readonly stackPointer: number;
  /** Points to the frame in functions where frames have a pointer. */
  readonly framePointer: number;
  /** The number by which sets of registers name the arithmetic flags: a register that is never allocated. */
  readonly flags: number;
  /** Registers that a call of the default convention leaves unchanged. */
  readonly calleeSaved: RegisterSet;
  /** What a call of the default convention may change. */
  readonly callClobbers: RegisterSet;
  /**
   * Extra cost in bytes of mentioning `reg` once in an instruction (REX prefix), for choosing among free
   * registers when optimising for size. May be fractional: an estimate.
   */
  mentionCost(reg: number): number;
  /**
   * How much of `mentionCost` a mention in `inst` really costs: 0 if the instruction needs the prefix anyway.
   * 1 if absent.
   */
  mentionWeight?(inst: MInst): number;
  /** How `inst` names the register of `operand`: an index into `formCosts`, or -1 for the plain way. */
  encodingForm?(inst: MInst, operand: RegOperand): number;
  /** By form and register: bytes more than `mentionCost` that encoding it in that form takes. */
  readonly formCosts?: readonly (readonly number[])[];
  /** Estimated bytes of what spilling adds, by the size of the value in bytes. */
  readonly bytes: {
    /** A register-to-register move. */
    move(size: number): number;
    /** A load from or a store to a slot. */
    memory(size: number): number;
    /** What an instruction takes more with a slot as operand than with a register. */
    readonly fold: number;
    /** Recomputing a constant. */
    readonly remat: number;
  };
  /** Cost in bytes of using callee-saved register `reg` at all: its push and pop. */
  saveCost(reg: number): number;

  /** A register-to-register move that changes no flags. `size` is the spill size of the value. */
  move(cls: RegClass, size: number, to: number, from: number): MInst;
  /** Store to / load from spill slot `slot`; changes no flags. */
  store(cls: RegClass, size: number, slot: number, from: number): MInst;
  load(cls: RegClass, size: number, to: number, slot: number): MInst;
  /** Exchange of two registers without a temporary, or null where the class has none. Changes no flags. */
  swap(cls: RegClass, a: number, b: number): MInst | null;
  /** A fresh copy of a rematerialisable definition that writes `to`; changes no flags. */
  rematerialize(definition: MInst, to: number): MInst;
  /**
   * An instruction that writes the low `size` bytes of what `definition` computes to a spill slot without a
   * register and changes no flags; null if there is none.
   */
  storeConstant?(definition: MInst, size: number, slot: number): MInst | null;
  /** Marks operands that the instruction can also take from (leave in) a spill slot: sets `mayBeSlot`. */
  permitSlots?(fn: MFunction, inst: MInst): void;
  /** True if uses[0] and uses[1] may be exchanged without changing the result, which is tied to uses[0]. */
  commutes?(inst: MInst): boolean;
  /** They were exchanged: changes what else makes the result the same. */
  exchanged?(inst: MInst): void;
  /** Index of the first instruction of the trailing branch group: moves for out-edges go before it. */
  terminatorStart(insts: readonly MInst[]): number;
}

/** What a frame is made for. */
export interface FrameRequest {
  /** Callee-saved registers that the function must preserve although it writes them. */
  readonly saved: RegisterSet;
  /** Every register that the body writes. */
  readonly written: RegisterSet;
  /** Further registers that may be clobbered: not promised to any caller. */
  readonly scratch: RegisterSet;
  /**
   * Whether a call needs the stack aligned as the ABI says: one of a function, or (null) one through a pointer with
   * the number of its set of callees, -1 for unknown code.
   */
  readonly alignedCall: (callee: GlobalValue | null, calleeSet: number) => boolean;
}

/** A frame that is decided and not yet made. */
export interface FramePlan {
  /** Callee-saved registers that the frame saves, the frame pointer included. */
  readonly saved: RegisterSet;
  /** There is nothing to make and to take away. */
  readonly isEmpty: boolean;
  /** It may be made and taken away in the middle of the function. */
  readonly isMovable: boolean;
  readonly framePointer: boolean;
  /** Memory below the stack pointer is in use. */
  readonly redZone: boolean;
  /** Instructions of the prologue and of an epilogue. */
  readonly prologue: number;
  readonly epilogue: number;
  /** Estimated bytes of the prologue, and of an epilogue without the return. */
  readonly enterBytes: number;
  readonly leaveBytes: number;
}

/** Where the frame is, as the unwinder has to know it. */
export interface CfaState {
  /** The CFA is `offset` above this register. */
  register: number;
  offset: number;
  /** CFA minus stack pointer; -1 once it is unknown. */
  depth: number;
  /** Stored registers, and where: negative offsets from the CFA. */
  saved: { register: number; offset: number }[];
}

/** Frames: made between allocation and layout. */
export interface TargetFrame<Plan extends FramePlan = FramePlan> {
  /** Registers that address the frame and hold a value across every call, though no operand shows it. */
  reserved(mf: MFunction): RegisterSet;
  /**
   * Whether an allocated function relies by itself (not through the functions it calls directly) on its caller
   * aligning the stack.
   */
  reliesOnAlignment(mf: MFunction): boolean;
  /** Decides the function's frame. Afterwards slot operands are memory operands. */
  decide(mf: MFunction, request: FrameRequest): Plan;
  /**
   * Gives the function its frame: afterwards no slot, call-sequence or frame pseudo is left.
   * @param wrapping blocks that have it; null: all
   */
  insert(mf: MFunction, request: FrameRequest, plan: Plan, wrapping: ShrinkWrapRegion | null): void;

  /** Unwind state on entry. */
  entryState(): CfaState;
  /**
   * Carries the unwind state over an instruction.
   * @param framePointer the function has one
   * @returns whether the state may have changed
   */
  step(state: CfaState, inst: MInst, framePointer: boolean): boolean;
  /** Unwind state from which pops and a return lead to that on entry. */
  stateBefore(pops: readonly MInst[]): CfaState;
  /** Takes `bytes` off the stack: what the unwinder does with arguments before it enters a landing pad. */
  release(state: CfaState, bytes: number): void;
  /** The instruction changes what the unwinder must know. */
  movesStack(inst: MInst): boolean;
  /** Estimated bytes that the instruction adds to asynchronous unwind tables. */
  tableBytes(inst: MInst, framePointer: boolean): number;
  /** Opcode of an unwind directive, whose `extra` says what it tells. */
  readonly directive: number;
}

/** What may be done with an instruction of final code when it moves to a function of its own. */
export const enum Outlining {
  /** It must stay. */
  Never,
  /** It makes no code, and may be lost. */
  Invisible,
  Plain,
  /** A call that returns here, or not at all. */
  Call,
  /** Leaves the function. */
  Exit,
  /** Lowers the stack pointer by a word; or raises it. */
  Push,
  Pop,
}

/** What the target says about moving final code to functions of its own (outline/). */
export interface TargetOutlining {
  kind(inst: MInst): Outlining;
  /**
   * By opcode, what `kind` says of all its instructions where that is `Never` or `Invisible`, so that they need not be
   * asked about; any other number stands for "ask".
   */
  readonly opcodes: Uint8Array;
  /** The function's code must stay what and where it is. */
  refuses(fn: Func): boolean;
  /** Addresses memory by the stack pointer. */
  usesStack(inst: MInst): boolean;
  /** How far above the stack pointer what it addresses by that begins, in bytes; where that is not known, -Infinity. */
  stackOffset(inst: MInst): number;
  /** What does the same where the stack pointer is `bytes` lower; it may be changed itself. Null if that does not fit. */
  lowered(inst: MInst, bytes: number): MInst | null;
  /** Bytes that a call takes on the stack. */
  readonly returnAddress: number;
  /** Bytes of a push. */
  readonly pushBytes: number;
  /** The call of an outlined function. */
  call(name: string): MInst;
  jump(name: string): MInst;
  return(): MInst;
  /** A return and nothing else: without marks, and taking no arguments off the stack. */
  isPlainReturn(inst: MInst): boolean;
  /** The register that a pop takes a word of the stack to; -1 for other instructions. */
  popped(inst: MInst): number;
  /** What leaves for the callee of a call, which returns to whoever called the outlined function. */
  exitFor(call: MInst): MInst;
  /** Aligns the stack of an outlined function for calls in it by `padding` bytes: before and after its code. */
  readonly padding: number;
  pad(dead: RegisterSet): readonly [before: MInst, behind: MInst];
}

/** The result of an allocation, for the frame pass, IPRA and reports. The function itself is rewritten. */
export interface AllocationResult {
  /** Every register written anywhere in the body, by definitions or clobbers. */
  readonly written: RegisterSet;
  /** Callee-saved registers (of the default convention) that the body writes: the frame pass saves them. */
  readonly usedCalleeSaved: RegisterSet;
  readonly spillSlots: number;
  readonly moves: number;
  readonly spills: number;
  readonly reloads: number;
  readonly rematerializations: number;
}

export type { Location };
