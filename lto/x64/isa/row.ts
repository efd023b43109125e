/**
 * What one row of the table of instructions says (`rows/`): all that is the same whatever the operands of an opcode are. Passes
 * ask by array (`op-info.ts`); what depends on operands is said by form here, and computed where it is asked.
 * No VEX encodings: the output is baseline x86-64. Source: Intel SDM volume 2.
 */
import { Outlining } from "../../codegen/target.js";
import { Format, type X } from "./ops.js";

/** What an instruction does to the arithmetic flags. */
export const enum FlagEffect {
  /** Leaves all of them. */
  None,
  /** ZF, SF and PF describe the result, CF and OF are cleared: the same as `test result, result`. */
  Logic,
  /** ZF, SF and PF describe the result, CF and OF are something else. */
  Result,
  /** Like Result, but CF is left alone (inc, dec). */
  KeepsCarry,
  /** Anything else: comparisons, undefined flags. */
  Other,
}

/** How `MInst.size` shows in the mnemonic. */
export const enum Suffix {
  None,
  /** b, w, l, q. */
  Integer,
}

/** When REX.W is part of the encoding. */
export const enum Wide {
  Never,
  /** For size 8. */
  Size8,
  Always,
}

/** Whether an instruction does nothing but its definition, and so may go when that is dead. */
export const enum Pure {
  Never,
  /** Where it has no memory operand. */
  WithoutMemory,
  /** In any form. */
  Always,
}

/** How the length of an instruction follows from its operands: see `lengths.ts`. */
export const enum Length {
  /** Prints nothing. */
  None,
  /** As many bytes as the row says. */
  Fixed,
  /** Registers only, or registers and memory. */
  Plain,
  PlainImmediate,
  /** The same with an operand-size prefix. */
  Integer,
  IntegerImmediate,
  Copy,
  Mov,
  Store,
  Extend,
  Alu,
  AluMemory,
  Test,
  MulImmediate,
  Unary,
  UnaryMemory,
  Bswap,
  Shift,
  ShiftMemory,
  DoubleShift,
  Wide,
  Implicit,
  SetCc,
  SetCcMemory,
  Exchange,
  Jump,
  Branch,
  DirectCall,
  Indirect,
  TableLoad,
  Push,
  Pop,
  Return,
  Nop,
  Asm,
  Memory,
  AtomicAlu,
  AtomicUnary,
  AtomicExchange,
  AtomicPair,
  CrossMove,
  ZeroVector,
}

/** As `source`: no operand may be memory. */
export const noSource = -1;
/** As `source`: the last use, after those in fixed registers. */
export const lastUse = -2;
/** As `sourceBytes`: `MInst.size`. */
export const operandSize = 0;

export interface Row {
  readonly op: X;
  readonly format: Format;
  /** The mnemonic, without a suffix by size; with operands where they are fixed. */
  readonly name: string;
  /** Bytes of mandatory prefixes and opcode, without operand-size prefix, REX, ModRM and what follows. */
  readonly bytes: number;
  readonly suffix: Suffix;
  readonly wide: Wide;
  readonly flags: FlagEffect;
  readonly readsFlags: boolean;
  readonly length: Length;
  /** The opcode that does to memory what this one does to its result, or its first source; `op` itself: none. */
  readonly memory: X;
  /** Index in `uses` of the source that may be memory, `noSource` or `lastUse`. */
  readonly source: number;
  /** Bytes that are read there, or `operandSize`. */
  readonly sourceBytes: number;
  /** The first two sources may change places: the result is tied to the first. */
  readonly commutes: boolean;
  readonly pure: Pure;
  /** Bits of `OpFact`, without those about flags. */
  readonly facts: number;
  /** What the opcode alone says of moving to an outlined function. */
  readonly outlining: Outlining;
}

type Columns = Partial<Omit<Row, "op" | "format" | "name" | "bytes">>;

/** Which source may be memory, where the format decides. */
const sourceOf: Partial<Record<Format, number>> = {
  [Format.Mov]: 0,
  [Format.MovImm]: 0,
  [Format.Extend]: 0,
  [Format.MulImm]: 0,
  [Format.Alu]: 1,
  [Format.AluImm]: 1,
  [Format.Compare]: 1,
  [Format.Wide]: lastUse,
};

/** How long instructions of a format are, where it decides. */
const lengthOf: Partial<Record<Format, Length>> = {
  [Format.Pseudo]: Length.None,
  [Format.Directive]: Length.None,
  [Format.Alu]: Length.Alu,
  [Format.AluM]: Length.AluMemory,
  [Format.Unary]: Length.Unary,
  [Format.UnaryM]: Length.UnaryMemory,
  [Format.Shift]: Length.Shift,
  [Format.ShiftM]: Length.ShiftMemory,
  [Format.DoubleShift]: Length.DoubleShift,
  [Format.Wide]: Length.Wide,
  [Format.Extend]: Length.Extend,
  [Format.Mem]: Length.Memory,
  [Format.X87M]: Length.Memory,
  [Format.X87]: Length.Fixed,
  [Format.Implicit]: Length.Fixed,
};

/** A row; columns that are not given are what the format says, or what most instructions are. */
export const row = (op: X, format: Format, name: string, bytes: number, columns: Columns = {}): Row => ({
  op,
  format,
  name,
  bytes,
  suffix: Suffix.None,
  wide: Wide.Never,
  flags: FlagEffect.None,
  readsFlags: false,
  length: lengthOf[format] ?? Length.Plain,
  memory: op,
  source: sourceOf[format] ?? noSource,
  sourceBytes: operandSize,
  commutes: false,
  pure: Pure.Never,
  facts: 0,
  outlining: format === Format.Pseudo || format === Format.Directive ? Outlining.Never : Outlining.Plain,
  ...columns,
});

/** Integer operations: a mnemonic with a suffix, REX.W for 8 bytes. */
export const int = (op: X, format: Format, name: string, bytes: number, columns: Columns = {}): Row =>
  row(op, format, name, bytes, { suffix: Suffix.Integer, wide: Wide.Size8, ...columns });

/** Operations of vector registers, which read 16 bytes of memory unless they say less. @param prefix there is a mandatory one */
export const sse = (op: X, format: Format, name: string, prefix: 0 | 1, columns: Columns = {}): Row =>
  row(op, format, name, prefix + 2, { length: Length.Plain, sourceBytes: 16, ...columns });

/** What makes no code but tells the assembler something. */
export const directive = (op: X): Row => row(op, Format.Directive, "", 0);

/** What later steps replace, or what prints nothing. */
export const pseudo = (op: X, columns: Columns = {}): Row => row(op, Format.Pseudo, "", 0, columns);
