import type { AttributeSet } from "../ir/attributes.js";

/** Estimated bytes of what IR instructions become, on average over what is around them: terms of a linear model. */
export interface InstructionCosts {
  /** In functions with these attributes one instruction may multiply and add, which rounds once. */
  fusesMultiplyAdd(attributes: AttributeSet): boolean;
  readonly load: number;
  readonly store: number;
  readonly storedConstant: number;
  /** An operation on a word of memory that leaves its result there: with load and store one instruction, where the target has such. */
  readonly change: number;
  /** An index that is no constant, in an address. */
  readonly variableIndex: number;
  readonly comparison: number;
  readonly branch: number;
  readonly jump: number;
  /** A switch, and each of its cases. */
  readonly table: number;
  readonly case: number;
  readonly call: number;
  /** A call through a pointer, in addition; and through one that its block loads, as calls of virtual functions are. */
  readonly indirect: number;
  readonly indirectLoaded: number;
  /** Arguments: a number, an address, anything else. */
  readonly smallArgument: number;
  readonly address: number;
  readonly argument: number;
  readonly integer: number;
  /** Multiplications and divisions. */
  readonly product: number;
  readonly extension: number;
  /** A choice, and each constant that it may give. */
  readonly select: number;
  readonly selectedConstant: number;
  /** A phi, and each constant in it. */
  readonly phi: number;
  readonly constantEntry: number;
  readonly float: number;
  /** Copies and fills of memory, and other intrinsics. */
  readonly memory: number;
  readonly intrinsic: number;
  readonly other: number;
  /** Operands that lengthen an instruction. */
  readonly wideConstant: number;
  readonly globalOperand: number;
  /** A member of a structure that is taken or replaced. */
  readonly member: number;
  /** A function: description for the unwinder, return, and what saves of registers take. */
  readonly function: number;
}
