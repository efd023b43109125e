/** What register allocation needs to know about a machine. `lto/x64/target.ts` is the only implementation. */
import type { Location, MFunction, MInst, RegClass, RegMask, RegOperand } from "./mir.js";

export interface TargetRegisters {
  /** Register names by number, for messages. */
  readonly names: readonly string[];
  readonly classCount: number;
  /** Allocatable registers of a class in this function (the frame pointer drops out where it is needed). */
  allocatable(fn: MFunction, cls: RegClass): RegMask;
  /** Registers that a call of the default convention leaves unchanged. */
  readonly calleeSaved: RegMask;
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
  namingForm?(inst: MInst, operand: RegOperand): number;
  /** By form and register: bytes more than `mentionCost` that naming it in that form takes. */
  readonly formCosts?: readonly (readonly number[])[];
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
  /** Index of the first instruction of the trailing branch group: moves for out-edges go before it. */
  terminatorStart(insts: readonly MInst[]): number;
}

/** The result of an allocation, for the frame pass, IPRA and reports. The function itself is rewritten. */
export interface AllocationResult {
  /** Every register written anywhere in the body, by definitions or clobbers. */
  readonly written: RegMask;
  /** Callee-saved registers (of the default convention) that the body writes: the frame pass saves them. */
  readonly usedCalleeSaved: RegMask;
  readonly spillSlots: number;
  readonly moves: number;
  readonly spills: number;
  readonly reloads: number;
  readonly rematerializations: number;
}

export type { Location };
