/** What the target-neutral legaliser asks of a target, above all how it does vectors. */
import type { Inst } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Constant, InlineAsm, Value } from "../../ir/values.js";
import type { Lowering } from "./lowering.js";

/** How many results of each kind a calling convention returns in registers; more of any kind go to memory. */
export interface ResultRoom {
  readonly integers: number;
  /** Of floats and doubles; where a result is a vector, of `vectors`. */
  readonly floats: number;
  readonly vectors: number;
  /** Of the type that is wider than double and has registers of its own, where there is one. */
  readonly extended: number;
}
/** The room of a function's results; null: of unknown code. */
export type RoomOf = (callee: GlobalValue | null) => ResultRoom;

/** A value as the legal values that stand for it, in order. */
export type Parts = readonly Value[];

/** What the legaliser asks of a target. */
export interface LegalizerTarget {
  /** What a function has for vectors. */
  vectorsOf(fn: Func): VectorTarget;
  /** The next variable argument of a list. */
  vaArg(l: Lowering, inst: Inst): Parts;
  /**
   * The two registers that inline assembly gets for an integer of twice their size, as constraints for the lower
   * and the upper half; null if the constraint stands for something else.
   */
  pairConstraints(constraint: string): readonly [string, string] | null;
  /**
   * Inline assembly with general registers in place of those for masks; null: their constraints are others, or they are too many.
   * @param lanes of each operand, results first; 0: it is no mask
   */
  maskAssembly(asm: InlineAsm, lanes: readonly number[]): InlineAsm | null;
  /** Whether the function may use `exchangePair`. */
  hasPairExchange(l: Lowering): boolean;
  /**
   * Atomic compare-exchange, sequentially consistent, of two registers' size: what was there, and whether that was
   * expected; null if there is none.
   */
  exchangePair(
    l: Lowering,
    pointer: Value,
    expected: Parts,
    replacement: Parts,
  ): readonly [Parts, Value] | null;
  /** The rounding mode, in FLT_ROUNDS encoding. */
  roundingMode(l: Lowering): Parts;
  /** A float or double rounded to an integer as LLVM's intrinsic of that name does it; null where there is no instruction. */
  roundToInteger(l: Lowering, name: string, value: Value): Value | null;
  /** a·b + c of floats or doubles, rounded once; null where there is no instruction. */
  multiplyAdd(l: Lowering, a: Value, b: Value, c: Value): Value | null;
  /** A half as a float, or a float rounded to a half; null where there is no instruction. */
  convertHalf(l: Lowering, value: Value, to: Type): Value | null;
  /** Sets it. @param mode 0 … 3 in that encoding, an i32 */
  setRoundingMode(l: Lowering, mode: Value): void;
}

export interface VectorTarget {
  /** Of vector registers: what decides which vectors are legal, and what stands for others. */
  readonly registerBytes: 16 | 32 | 64;
  /** Legal types that stand for a value of a vector type. */
  partTypes(type: Type, scalarParts: (type: Type) => readonly Type[]): readonly Type[];
  /**
   * How a vector crosses calls: in its registers, element by element, or as a mask of which the caller or
   * callee may have set only the lowest bit of each lane.
   */
  argumentForm(type: Type): "registers" | "elements" | "mask";
  /** A mask with every lane all ones or zeros, from the lowest bit of each lane. */
  wholeMask(l: Lowering, parts: Parts): Parts;
  /** Whether selection takes an instruction on legal vectors as it is. Asked only for such operands. */
  isLegal(inst: Inst): boolean;
  /** Lowers any instruction with a vector operand or result that is not done part by part. */
  lower(l: Lowering, inst: Inst): Parts;
  /** Lowers a call of an intrinsic on vectors, or of the target's own. Null: not one it knows. */
  intrinsic(l: Lowering, base: string, inst: Inst): Parts | null;
  constant(l: Lowering, constant: Constant): Parts;
  load(l: Lowering, type: Type, pointer: Value, align: number, flags: number): Parts;
  store(l: Lowering, type: Type, parts: Parts, pointer: Value, align: number, flags: number): void;
  /** Loads the lanes that a mask chooses, the others being those of `rest`; null: there is no instruction for it. */
  maskedLoad?(l: Lowering, type: Type, pointer: Value, mask: Value, rest: Value): Parts | null;
  /** Stores the lanes that a mask chooses; false: there is no instruction for it. */
  maskedStore?(l: Lowering, value: Value, pointer: Value, mask: Value): boolean;
  /** Loads what the lanes that a mask chooses are next to each other in memory; null: there is no instruction for it. */
  expandLoad?(l: Lowering, type: Type, pointer: Value, mask: Value, rest: Value): Parts | null;
  /** Stores the lanes that a mask chooses next to each other; false: there is no instruction for it. */
  compressStore?(l: Lowering, value: Value, pointer: Value, mask: Value): boolean;
  /** The bits of a vector as parts of one integer of the same width. */
  toBits(l: Lowering, type: Type, parts: Parts): Parts;
  fromBits(l: Lowering, type: Type, bits: Parts): Parts;
  /** The elements, each as parts of the element type. */
  elements(l: Lowering, type: Type, parts: Parts): Parts[];
  /** A vector from its elements. */
  build(l: Lowering, type: Type, elements: readonly Parts[]): Parts;
}
