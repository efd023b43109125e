/**
 * What one row of the table of instructions says (`rows/`): all that is the same whatever the operands of an opcode are. Passes
 * ask by array (`op-info.ts`); what depends on operands is said by form here, and computed where it is asked.
 *
 * Columns, by who reads them:
 *   - `format` (ops.ts) says which of definitions, uses, memory and immediate plays which part, what is tied, and the order in
 *     the text; `takes`, what the source may be; `sizes`, what `MInst.size` may be;
 *   - text: `name`, `suffix`, and `result` and `argument`, the widths at which registers are named;
 *   - length: `length`, the kind of encoding, with `bytes` and `wide`;
 *   - registers: what the format names, and what `same` says of two equal sources; `upper`, the bits above the result; `flags`
 *     and `reads`; `stack`;
 *   - other forms: `memory`, the opcode with memory as result; `source` and `sourceBytes`, which operand allocation may leave in
 *     memory, and how much of it is read; `commutes`;
 *   - passes: `pure`, `facts`, `outlining`; and `feature`, for selection.
 *
 * An opcode is added by a member of `X`, a row, and what selects it. Test forms come from the row, and tests hold it against GNU
 * as (length) and a decoder (registers, flags, memory, upper bits, control). A new format, suffix or kind of length has to be
 * taught to printer, lengths and forms: the compiler says where.
 *
 * VEX prefixes: integer instructions of the maps 0F38 and 0F3A take three bytes whatever the registers are (`Length.Vex`);
 * those of vectors in the map 0F mostly two (`Length.ShortVex`). Opcodes of vectors with VEX are those of `V`, beside those of
 * `X`, as whole functions use one or the other. EVEX prefixes have four bytes: all of 64 bytes have one, and what VEX has
 * not (`rows/evex.ts`); displacements of a byte are then in units of what is accessed, which `sourceBytes` says.
 * Source: Intel SDM volume 2.
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

/** Which arithmetic flags an instruction reads. */
export const enum FlagRead {
  None,
  /** Those of `MInst.condition`. */
  Condition,
  Carry,
}

/** How `MInst.size` shows at the end of the mnemonic: see `suffixes`. */
export const enum Suffix {
  None,
  Integer,
  /** Integer, but to 64 bits as to 32, which zero the rest. */
  ZeroExtended,
  /** Numbers and integers in memory of the x87. */
  Float,
  X87Integer,
  /** Of a result that is narrower than the source. */
  Packed,
  /** The whole mnemonic: the sign of the accumulator into rdx; its lower half extended. */
  SignRax,
  ExtendRax,
}

/** The ends of mnemonics by suffix and size in bytes. */
export const suffixes: Readonly<Record<Suffix, Readonly<Record<number, string>>>> = {
  [Suffix.None]: {},
  [Suffix.Integer]: { 1: "b", 2: "w", 4: "l", 8: "q" },
  [Suffix.ZeroExtended]: { 2: "w", 4: "l", 8: "l" },
  [Suffix.Float]: { 4: "s", 8: "l", 10: "t" },
  [Suffix.X87Integer]: { 2: "s", 4: "l", 8: "ll" },
  [Suffix.Packed]: { 16: "x", 32: "y", 64: "" },
  [Suffix.SignRax]: { 2: "cwtd", 4: "cltd", 8: "cqto" },
  [Suffix.ExtendRax]: { 2: "cbtw", 4: "cwtl", 8: "cltq" },
};

/** What the source that the format calls `src` may be: bits. */
export const enum Takes {
  Register = 1,
  Memory = 2,
  /** An immediate of the operation's size, at most 4 bytes with the sign extended; or a symbol. */
  Immediate = 4,
  /** One byte: a count, a number of a bit. */
  Byte = 8,
}

/** What the operation makes of two sources in one register. */
export const enum SameSource {
  /** Nothing special. */
  None,
  /** Zero, whatever it holds. */
  Zero,
  /** The carry alone, whatever it holds. */
  Carry,
}

/** What is above an operation's size in a general register that it writes: see `upper-bits.ts`. */
export const enum Upper {
  /** The machine's rule: operations of 4 bytes zero the rest. Less than that is promised of smaller ones. */
  Size,
  /** The register may be left as it was. */
  Unsure,
  /** One byte is written. */
  Byte,
  /** The upper lanes of a vector register stay, and nobody looks at them: a scalar result. */
  Lanes,
}

/** How the stack pointer moves. */
export const enum Stack {
  Stays,
  /** By a word; and keeps, or brings back, a callee-saved register. */
  Push,
  Pop,
  PushSaved,
  PopSaved,
  /** To what the frame pointer says, which is popped. */
  Leave,
  /** Down by `imm` bytes. */
  Lower,
  /** To what a register says. */
  Set,
  /** By arithmetic, where it is the result. */
  Result,
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
  /** VEX prefix of three bytes. */
  Vex,
  /** VEX prefix of two bytes where neither a base, an index or the last source is extended, nor REX.W is there. */
  ShortVex,
  /** EVEX prefix: displacements of a byte count in units of what is accessed. */
  Evex,
  /** As `Integer`, with single bytes as source alone. */
  ByteSource,
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
/** As `memory`: there is none. */
export const noMemory = -1;
/** As `sourceBytes`, `result` and `argument`: `MInst.size`. */
export const operandSize = 0;
/** As `result`: the same, but 4 at most, which defines 8 bytes as well. */
export const upTo4 = 32;
/** As `result`: the same, but 4 at least. */
export const from4 = 64;
/** As `result` and `argument`: a vector register. */
export const vector = 16;
/** As `result` and `argument`: a vector register of `MInst.size` bytes. */
export const packed = 128;
/** As `sourceBytes`: a part of `MInst.size`; as `result` and `argument`: the vector register that holds as much. */
export const half = 129;
export const quarter = 130;
export const eighth = 131;

/** Bytes of memory that a row says are read there, of an operation of `size` bytes. */
export const bytesRead = (sourceBytes: number, size: number): number =>
  sourceBytes === operandSize ? size : sourceBytes > packed ? size >> (sourceBytes - packed) : sourceBytes;

export interface Row {
  /** Of `X` or `V`. */
  readonly op: number;
  readonly format: Format;
  /** The mnemonic, without a suffix by size; with operands where they are fixed. */
  readonly name: string;
  /** Bytes of mandatory prefixes and opcode, without operand-size prefix, REX, ModRM and what follows. */
  readonly bytes: number;
  readonly suffix: Suffix;
  readonly wide: Wide;
  /** Bytes that `MInst.size` may be. */
  readonly sizes: readonly number[];
  /** Bytes of the register that is the result, or the first source of a comparison; `operandSize`, `upTo4`, `from4` or `vector`. */
  readonly result: number;
  /** Bytes of the register that is the source; `operandSize` or `vector`. */
  readonly argument: number;
  /** Bits of `Takes`. */
  readonly takes: number;
  readonly flags: FlagEffect;
  readonly reads: FlagRead;
  readonly upper: Upper;
  readonly same: SameSource;
  readonly stack: Stack;
  readonly length: Length;
  /**
   * The opcode that does to memory what this one does to its result, or its first source, or `noMemory`. The opcode itself:
   * a memory operand in place of the result.
   */
  readonly memory: number;
  /** Index in `uses` of the source that may be memory, `noSource` or `lastUse`. */
  readonly source: number;
  /** Bytes that are read there, or `operandSize`. */
  readonly sourceBytes: number;
  /** The first two sources may change places: the result is tied to the first. */
  readonly commutes: boolean;
  readonly pure: Pure;
  /** The feature of LLVM's x86 target that has it; "" for what every x86-64 has. */
  readonly feature: string;
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
  [Format.ByXmm0]: 1,
  [Format.CompareImm]: 1,
  [Format.Compare]: 1,
  [Format.Three]: 1,
  [Format.ThreeImm]: 1,
  [Format.Blend]: 1,
  [Format.Fused]: 2,
  [Format.FusedImm]: 2,
  [Format.Merge]: 0,
  [Format.Counted]: 0,
  [Format.Wide]: lastUse,
};

/** What the source may be, where the format decides. */
const takesOf: Partial<Record<Format, number>> = {
  [Format.Mov]: Takes.Register | Takes.Memory,
  [Format.MovM]: Takes.Register | Takes.Immediate,
  [Format.MovImm]: Takes.Register | Takes.Memory,
  [Format.Extend]: Takes.Register | Takes.Memory,
  [Format.MulImm]: Takes.Register | Takes.Memory,
  [Format.Three]: Takes.Register | Takes.Memory,
  [Format.ThreeImm]: Takes.Register | Takes.Memory,
  [Format.Blend]: Takes.Register | Takes.Memory,
  [Format.Fused]: Takes.Register | Takes.Memory,
  [Format.FusedImm]: Takes.Register | Takes.Memory,
  [Format.Merge]: Takes.Register | Takes.Memory,
  [Format.MaskStore]: Takes.Register,
  [Format.MovMImm]: Takes.Register,
  [Format.Counted]: Takes.Register | Takes.Memory,
  [Format.Alu]: Takes.Register | Takes.Memory | Takes.Immediate,
  [Format.AluM]: Takes.Register | Takes.Immediate,
  [Format.AluImm]: Takes.Register | Takes.Memory,
  [Format.ByXmm0]: Takes.Register | Takes.Memory,
  [Format.CompareImm]: Takes.Register | Takes.Memory,
  [Format.Compare]: Takes.Register | Takes.Memory | Takes.Immediate,
  [Format.CompareM]: Takes.Register | Takes.Immediate,
  [Format.Shift]: Takes.Register | Takes.Byte,
  [Format.ShiftM]: Takes.Register | Takes.Byte,
  [Format.DoubleShift]: Takes.Register | Takes.Byte,
  [Format.Wide]: Takes.Register | Takes.Memory,
  [Format.Push]: Takes.Register | Takes.Memory | Takes.Immediate,
  [Format.Pop]: Takes.Register | Takes.Memory,
  [Format.Atomic]: Takes.Register | Takes.Immediate,
  [Format.AtomicExchange]: Takes.Register,
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
  [Format.Atomic]: Length.AtomicAlu,
  [Format.AtomicUnary]: Length.AtomicUnary,
  [Format.AtomicExchange]: Length.AtomicExchange,
  [Format.AtomicPair]: Length.AtomicPair,
};

/** A row; columns that are not given are what the format says, or what most instructions are. */
export const row = (op: number, format: Format, name: string, bytes: number, columns: Columns = {}): Row => ({
  op,
  format,
  name,
  bytes,
  suffix: Suffix.None,
  wide: Wide.Never,
  flags: FlagEffect.None,
  sizes: format === Format.X87 ? [10] : [8],
  result: operandSize,
  argument: operandSize,
  takes: takesOf[format] ?? 0,
  reads: FlagRead.None,
  upper: Upper.Size,
  same: SameSource.None,
  stack: Stack.Stays,
  length: lengthOf[format] ?? Length.Plain,
  memory: noMemory,
  source: sourceOf[format] ?? noSource,
  sourceBytes: operandSize,
  commutes: false,
  pure: Pure.Never,
  feature: "",
  facts: 0,
  outlining: format === Format.Pseudo || format === Format.Directive ? Outlining.Never : Outlining.Plain,
  ...columns,
});

/** Sizes of what has no form for single bytes, or for words either. */
export const fromWords: readonly number[] = [2, 4, 8];
export const fromDoubleWords: readonly number[] = [4, 8];

/** Integer operations of all sizes: a mnemonic with a suffix, REX.W for 8 bytes. */
export const int = (op: X, format: Format, name: string, bytes: number, columns: Columns = {}): Row =>
  row(op, format, name, bytes, {
    suffix: Suffix.Integer,
    wide: Wide.Size8,
    sizes: [1, 2, 4, 8],
    ...columns,
  });

/** Integer operations with a VEX prefix, of 4 and 8 bytes. */
export const vex = (op: X, format: Format, name: string, feature: string, columns: Columns = {}): Row =>
  row(op, format, name, 4, {
    suffix: Suffix.Integer,
    wide: Wide.Size8,
    sizes: fromDoubleWords,
    length: Length.Vex,
    feature,
    ...columns,
  });

/** Operations of vector registers, which read 16 bytes of memory unless they say less: 4 and 8 are scalars. @param prefix there is a mandatory one */
export const sse = (op: X, format: Format, name: string, prefix: 0 | 1, columns: Columns = {}): Row =>
  row(op, format, name, prefix + 2, {
    length: Length.Plain,
    sizes: [columns.sourceBytes === 4 || columns.sourceBytes === 8 ? columns.sourceBytes : 16],
    result: vector,
    argument: vector,
    takes: format === Format.MovM ? Takes.Register : Takes.Register | Takes.Memory,
    sourceBytes: 16,
    ...columns,
  });

/** What makes no code but tells the assembler something. */
export const directive = (op: number): Row => row(op, Format.Directive, "", 0);

/** What later steps replace, or what prints nothing. */
export const pseudo = (op: number, columns: Columns = {}): Row => row(op, Format.Pseudo, "", 0, columns);
