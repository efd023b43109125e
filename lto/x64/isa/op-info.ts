/**
 * Facts about each opcode: operand format, assembly name, flag effects, and the bytes of its encoding.
 *
 * One row an opcode, in parallel arrays indexed by `X`, so that passes pay one load for a question. Rows hold
 * what every form of an opcode shares; what depends on the form (immediate widths, short accumulator forms)
 * is in `lengths.ts`.
 * Assumes no VEX encodings: the output is baseline x86-64.
 * Source: Intel SDM volume 2.
 */

import { opcodeNames } from "./op-names.js";
import { Format, X } from "./ops.js";

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

const count = X.Emms + 1;
export const opFormat: Format[] = new Array(count).fill(Format.Pseudo);
export const opName: string[] = new Array(count).fill("");
export const opSuffix: Suffix[] = new Array(count).fill(Suffix.None);
/** Bytes of mandatory prefixes and opcode, without operand-size prefix, REX, ModRM and what follows. */
export const opBytes = new Uint8Array(count);
export const opWide = new Uint8Array(count);
export const opFlags = new Uint8Array(count);

function row(op: X, format: Format, name: string, bytes: number, flags = FlagEffect.None): void {
  opFormat[op] = format;
  opName[op] = name;
  opBytes[op] = bytes;
  opFlags[op] = flags;
}

/** Integer rows: suffixed mnemonic, REX.W for 8 bytes. */
function int(op: X, format: Format, name: string, bytes: number, flags = FlagEffect.None): void {
  row(op, format, name, bytes, flags);
  opSuffix[op] = Suffix.Integer;
  opWide[op] = Wide.Size8;
}

const None = FlagEffect.None;
const Logic = FlagEffect.Logic;
const Result = FlagEffect.Result;
const KeepsCarry = FlagEffect.KeepsCarry;
const Other = FlagEffect.Other;

// ── Moves ──
row(X.Copy, Format.Mov, "", 1);
opWide[X.Copy] = Wide.Size8;
int(X.Mov, Format.Mov, "mov", 1);
int(X.MovM, Format.MovM, "mov", 1);
int(X.Movzx8, Format.Extend, "movzb", 2);
int(X.Movzx16, Format.Extend, "movzw", 2);
int(X.Movsx8, Format.Extend, "movsb", 2);
int(X.Movsx16, Format.Extend, "movsw", 2);
row(X.Movsxd, Format.Extend, "movslq", 1);
opWide[X.Movsxd] = Wide.Always;
int(X.Lea, Format.Lea, "lea", 1);

// ── Integer arithmetic ──
int(X.Add, Format.Alu, "add", 1, Result);
int(X.Or, Format.Alu, "or", 1, Logic);
int(X.Adc, Format.Alu, "adc", 1, Result);
int(X.Sbb, Format.Alu, "sbb", 1, Result);
int(X.And, Format.Alu, "and", 1, Logic);
int(X.Sub, Format.Alu, "sub", 1, Result);
int(X.Xor, Format.Alu, "xor", 1, Logic);
int(X.AddM, Format.AluM, "add", 1, Result);
int(X.OrM, Format.AluM, "or", 1, Logic);
int(X.AdcM, Format.AluM, "adc", 1, Result);
int(X.SbbM, Format.AluM, "sbb", 1, Result);
int(X.AndM, Format.AluM, "and", 1, Logic);
int(X.SubM, Format.AluM, "sub", 1, Result);
int(X.XorM, Format.AluM, "xor", 1, Logic);
int(X.Cmp, Format.Compare, "cmp", 1, Other);
int(X.Test, Format.Compare, "test", 1, Other);
int(X.CmpM, Format.CompareM, "cmp", 1, Other);
int(X.TestM, Format.CompareM, "test", 1, Other);
int(X.Imul, Format.Alu, "imul", 2, Other);
int(X.ImulImm, Format.MulImm, "imul", 1, Other);
int(X.Neg, Format.Unary, "neg", 1, Result);
int(X.Not, Format.Unary, "not", 1);
int(X.Inc, Format.Unary, "inc", 1, KeepsCarry);
int(X.Dec, Format.Unary, "dec", 1, KeepsCarry);
int(X.Bswap, Format.Unary, "bswap", 2);
int(X.NegM, Format.UnaryM, "neg", 1, Result);
int(X.NotM, Format.UnaryM, "not", 1);
int(X.IncM, Format.UnaryM, "inc", 1, KeepsCarry);
int(X.DecM, Format.UnaryM, "dec", 1, KeepsCarry);
// A shift by a count of zero leaves the flags: only `flagsDescribeResult` knows when a row's word holds.
int(X.Shl, Format.Shift, "shl", 1, Result);
int(X.Shr, Format.Shift, "shr", 1, Result);
int(X.Sar, Format.Shift, "sar", 1, Result);
int(X.Rol, Format.Shift, "rol", 1, Other);
int(X.Ror, Format.Shift, "ror", 1, Other);
int(X.ShlM, Format.ShiftM, "shl", 1, Result);
int(X.ShrM, Format.ShiftM, "shr", 1, Result);
int(X.SarM, Format.ShiftM, "sar", 1, Result);
int(X.RolM, Format.ShiftM, "rol", 1, Other);
int(X.RorM, Format.ShiftM, "ror", 1, Other);
int(X.Shld, Format.DoubleShift, "shld", 2, Result);
int(X.Shrd, Format.DoubleShift, "shrd", 2, Result);
int(X.Mul, Format.Wide, "mul", 1, Other);
int(X.IMulWide, Format.Wide, "imul", 1, Other);
int(X.Div, Format.Wide, "div", 1, Other);
int(X.IDiv, Format.Wide, "idiv", 1, Other);
row(X.SignRax, Format.Implicit, "", 1);
row(X.ExtendRax, Format.Implicit, "", 1);
opWide[X.SignRax] = Wide.Size8;
opWide[X.ExtendRax] = Wide.Size8;
int(X.Bt, Format.Compare, "bt", 2, Other);
int(X.Bts, Format.Alu, "bts", 2, Other);
int(X.Btr, Format.Alu, "btr", 2, Other);
int(X.Btc, Format.Alu, "btc", 2, Other);
int(X.Bsf, Format.Mov, "bsf", 2, Other);
int(X.Bsr, Format.Mov, "bsr", 2, Other);
int(X.Tzcnt, Format.Mov, "tzcnt", 3, Other);
int(X.Lzcnt, Format.Mov, "lzcnt", 3, Other);
int(X.Popcnt, Format.Mov, "popcnt", 3, Other);
row(X.Setcc, Format.SetCc, "set", 2);
row(X.SetccM, Format.SetCcM, "set", 2);
row(X.Cmov, Format.Alu, "cmov", 2);
opWide[X.Cmov] = Wide.Size8;
int(X.Xchg, Format.Pseudo, "xchg", 1);

// ── Control ──
row(X.Jmp, Format.Jump, "jmp", 1);
row(X.Jcc, Format.Jump, "j", 2);
row(X.JmpIndirect, Format.Jump, "jmp", 1);
row(X.TableLoad, Format.Pseudo, "", 0, Other);
row(X.Call, Format.Call, "call", 1, Other);
row(X.CallIndirect, Format.Call, "call", 1, Other);
row(X.TailCall, Format.Jump, "jmp", 1, Other);
row(X.TailCallIndirect, Format.Jump, "jmp", 1, Other);
row(X.Ret, Format.Implicit, "ret", 1, Other);
row(X.TlsGetAddr, Format.Pseudo, "", 16, Other);
row(X.GotBase, Format.Pseudo, "", 20, Other);
row(X.Ud2, Format.Implicit, "ud2", 2, Other);
row(X.Int3, Format.Implicit, "int3", 1);
row(X.Endbr64, Format.Implicit, "endbr64", 4);
row(X.Push, Format.Push, "pushq", 1);
row(X.Pop, Format.Pop, "popq", 1);
row(X.PushSaved, Format.Push, "pushq", 1);
row(X.PopSaved, Format.Pop, "popq", 1);
row(X.PushPad, Format.Implicit, "pushq\t%rax", 1);
row(X.Probe, Format.Implicit, "movq\t$0, (%rsp)", 8);
row(X.ProbeLoop, Format.Pseudo, "", 23, Other);
row(X.ProbeTo, Format.Pseudo, "", 27, Other);
row(X.KcfiCheck, Format.Pseudo, "", 14, Other);
// Frame pseudos become code that may move the stack pointer by arithmetic.
row(X.CallSetup, Format.Pseudo, "", 0, Other);
row(X.CallCleanup, Format.Pseudo, "", 0, Other);
row(X.StackAlloc, Format.Pseudo, "", 0, Other);
row(X.DynamicAlloca, Format.Pseudo, "", 0, Other);
row(X.Asm, Format.Pseudo, "", 0, Other);
row(X.Leave, Format.Implicit, "leave", 1);

// ── Memory blocks, fences, atomics ──
row(X.RepMovs, Format.Implicit, "rep movs", 2);
row(X.RepStos, Format.Implicit, "rep stos", 2);
for (const op of [X.RepMovs, X.RepStos]) {
  opSuffix[op] = Suffix.Integer;
  opWide[op] = Wide.Size8;
}
row(X.Mfence, Format.Implicit, "mfence", 3);
row(X.Lfence, Format.Implicit, "lfence", 3);
row(X.Sfence, Format.Implicit, "sfence", 3);
row(X.Pause, Format.Implicit, "pause", 2);
row(X.Cpuid, Format.Implicit, "cpuid", 2);
row(X.Rdtsc, Format.Implicit, "rdtsc", 2);
row(X.Prefetcht0, Format.Mem, "prefetcht0", 2);
row(X.Prefetcht1, Format.Mem, "prefetcht1", 2);
row(X.Prefetcht2, Format.Mem, "prefetcht2", 2);
row(X.Prefetchnta, Format.Mem, "prefetchnta", 2);
int(X.LockAdd, Format.Atomic, "lock add", 2, Result);
int(X.LockSub, Format.Atomic, "lock sub", 2, Result);
int(X.LockAnd, Format.Atomic, "lock and", 2, Logic);
int(X.LockOr, Format.Atomic, "lock or", 2, Logic);
int(X.LockXor, Format.Atomic, "lock xor", 2, Logic);
int(X.LockInc, Format.Atomic, "lock inc", 2, KeepsCarry);
int(X.LockDec, Format.Atomic, "lock dec", 2, KeepsCarry);
int(X.LockNeg, Format.Atomic, "lock neg", 2, Result);
int(X.LockNot, Format.Atomic, "lock not", 2);
int(X.XchgM, Format.Atomic, "xchg", 1);
int(X.LockXadd, Format.Atomic, "lock xadd", 3, Other);
int(X.LockCmpxchg, Format.Atomic, "lock cmpxchg", 3, Other);
row(X.LockCmpxchg16b, Format.Atomic, "lock cmpxchg16b", 3, Other);
opWide[X.LockCmpxchg16b] = Wide.Always;

// ── SSE: `p` counts the mandatory prefix ──
const sse = (op: X, format: Format, name: string, prefix: 0 | 1): void => row(op, format, name, prefix + 2);
sse(X.Movss, Format.Mov, "movss", 1);
sse(X.Movsd, Format.Mov, "movsd", 1);
sse(X.MovssM, Format.MovM, "movss", 1);
sse(X.MovsdM, Format.MovM, "movsd", 1);
sse(X.Movaps, Format.Mov, "movaps", 0);
sse(X.Movups, Format.Mov, "movups", 0);
sse(X.MovapsM, Format.MovM, "movaps", 0);
sse(X.MovupsM, Format.MovM, "movups", 0);
sse(X.MovdTo, Format.Mov, "movd", 1);
sse(X.MovqTo, Format.Mov, "movq", 1);
sse(X.MovdFrom, Format.Mov, "movd", 1);
sse(X.MovqFrom, Format.Mov, "movq", 1);
sse(X.XorpsZero, Format.Pseudo, "xorps", 0);

/** [name, prefix] of the two-operand SSE operations, by opcode, for one format. */
function sseRows(format: Format, rows: readonly (readonly [X, string, 0 | 1])[]): void {
  for (const [op, name, prefix] of rows) sse(op, format, name, prefix);
}
sseRows(Format.Alu, [
  [X.Addss, "addss", 1],
  [X.Addsd, "addsd", 1],
  [X.Subss, "subss", 1],
  [X.Subsd, "subsd", 1],
  [X.Mulss, "mulss", 1],
  [X.Mulsd, "mulsd", 1],
  [X.Divss, "divss", 1],
  [X.Divsd, "divsd", 1],
  [X.Minss, "minss", 1],
  [X.Minsd, "minsd", 1],
  [X.Maxss, "maxss", 1],
  [X.Maxsd, "maxsd", 1],
  [X.Addps, "addps", 0],
  [X.Addpd, "addpd", 1],
  [X.Subps, "subps", 0],
  [X.Subpd, "subpd", 1],
  [X.Mulps, "mulps", 0],
  [X.Mulpd, "mulpd", 1],
  [X.Divps, "divps", 0],
  [X.Divpd, "divpd", 1],
  [X.Minps, "minps", 0],
  [X.Minpd, "minpd", 1],
  [X.Maxps, "maxps", 0],
  [X.Maxpd, "maxpd", 1],
  [X.Andps, "andps", 0],
  [X.Andnps, "andnps", 0],
  [X.Orps, "orps", 0],
  [X.Xorps, "xorps", 0],
  [X.MovssMerge, "movss", 1],
  [X.MovsdMerge, "movsd", 1],
  [X.Unpcklps, "unpcklps", 0],
  [X.Unpckhps, "unpckhps", 0],
  [X.Unpcklpd, "unpcklpd", 1],
  [X.Unpckhpd, "unpckhpd", 1],
]);
sseRows(Format.Mov, [
  [X.Sqrtss, "sqrtss", 1],
  [X.Sqrtsd, "sqrtsd", 1],
  [X.Sqrtps, "sqrtps", 0],
  [X.Sqrtpd, "sqrtpd", 1],
  [X.Rcpss, "rcpss", 1],
  [X.Rsqrtss, "rsqrtss", 1],
  [X.Rcpps, "rcpps", 0],
  [X.Rsqrtps, "rsqrtps", 0],
  [X.Cvtss2sd, "cvtss2sd", 1],
  [X.Cvtsd2ss, "cvtsd2ss", 1],
  [X.Cvtdq2ps, "cvtdq2ps", 0],
  [X.Cvtps2dq, "cvtps2dq", 1],
  [X.Cvttps2dq, "cvttps2dq", 1],
  [X.Cvtdq2pd, "cvtdq2pd", 1],
  [X.Cvtpd2dq, "cvtpd2dq", 1],
  [X.Cvttpd2dq, "cvttpd2dq", 1],
  [X.Cvtps2pd, "cvtps2pd", 0],
  [X.Cvtpd2ps, "cvtpd2ps", 1],
  [X.Cvtsi2ss, "cvtsi2ss", 1],
  [X.Cvtsi2sd, "cvtsi2sd", 1],
  [X.Cvttss2si, "cvttss2si", 1],
  [X.Cvttsd2si, "cvttsd2si", 1],
  [X.Cvtss2si, "cvtss2si", 1],
  [X.Cvtsd2si, "cvtsd2si", 1],
  [X.Movmskps, "movmskps", 0],
  [X.Movmskpd, "movmskpd", 1],
  [X.Pmovmskb, "pmovmskb", 1],
]);
for (const op of [X.Cvtsi2ss, X.Cvtsi2sd, X.Cvttss2si, X.Cvttsd2si, X.Cvtss2si, X.Cvtsd2si])
  opWide[op] = Wide.Size8;
opSuffix[X.Cvtsi2ss] = Suffix.Integer;
opSuffix[X.Cvtsi2sd] = Suffix.Integer;
sse(X.Ucomiss, Format.Compare, "ucomiss", 0);
sse(X.Ucomisd, Format.Compare, "ucomisd", 1);
opFlags[X.Ucomiss] = Other;
opFlags[X.Ucomisd] = Other;
sseRows(Format.AluImm, [
  [X.Cmpss, "cmpss", 1],
  [X.Cmpsd, "cmpsd", 1],
  [X.Cmpps, "cmpps", 0],
  [X.Cmppd, "cmppd", 1],
  [X.Shufps, "shufps", 0],
  [X.Shufpd, "shufpd", 1],
  [X.Pinsrw, "pinsrw", 1],
]);
sseRows(Format.MovImm, [
  [X.Pshufd, "pshufd", 1],
  [X.Pshuflw, "pshuflw", 1],
  [X.Pshufhw, "pshufhw", 1],
  [X.Pextrw, "pextrw", 1],
]);
// The packed-integer operations are named as their opcodes are, and all have the 66 prefix.
for (let op = X.Paddb; op <= X.Psrldq; op++) sse(op, Format.Alu, opcodeNames[op]!.toLowerCase(), 1);
sse(X.Ldmxcsr, Format.Mem, "ldmxcsr", 0);
sse(X.StmxcsrM, Format.Mem, "stmxcsr", 0);

// ── x87: the suffix by size is in `x87Name` ──
row(X.Fld, Format.X87M, "fld", 1);
row(X.FstpM, Format.X87M, "fstp", 1);
row(X.Fild, Format.X87M, "fild", 1);
row(X.FistpM, Format.X87M, "fistp", 1);
row(X.FisttpM, Format.X87M, "fisttp", 1);
row(X.FnstcwM, Format.X87M, "fnstcw", 1);
row(X.FldcwM, Format.X87M, "fldcw", 1);
row(X.FnstswM, Format.X87M, "fnstsw", 1);
row(X.Fldz, Format.X87, "fldz", 2);
row(X.Fld1, Format.X87, "fld1", 2);
row(X.Fchs, Format.X87, "fchs", 2);
row(X.Fabs, Format.X87, "fabs", 2);
row(X.Fsqrt, Format.X87, "fsqrt", 2);
row(X.Faddp, Format.X87, "faddp\t%st, %st(1)", 2);
// AT&T assemblers swap the reversed and plain names of the non-commutative register forms (a bug of the
// original AT&T assembler that is kept for compatibility): st(1) - st(0) is spelt fsubrp.
row(X.Fsubp, Format.X87, "fsubrp\t%st, %st(1)", 2);
row(X.Fsubrp, Format.X87, "fsubp\t%st, %st(1)", 2);
row(X.Fmulp, Format.X87, "fmulp\t%st, %st(1)", 2);
row(X.Fdivp, Format.X87, "fdivrp\t%st, %st(1)", 2);
row(X.Fdivrp, Format.X87, "fdivp\t%st, %st(1)", 2);
row(X.Fucomip, Format.X87, "fucomip\t%st(1), %st", 2, Other);
row(X.FstpSt0, Format.X87, "fstp\t%st(0)", 2);
row(X.Fxch, Format.X87, "fxch\t%st(1)", 2);
row(X.Fprem, Format.X87, "fprem", 2);
row(X.Frndint, Format.X87, "frndint", 2);
row(X.Emms, Format.X87, "emms", 2);

/** Whether the instruction reads any arithmetic flag. */
export function readsFlags(op: number): boolean {
  switch (op) {
    case X.Adc:
    case X.Sbb:
    case X.AdcM:
    case X.SbbM:
    case X.Setcc:
    case X.SetccM:
    case X.Cmov:
    case X.Jcc:
      return true;
    default:
      return false;
  }
}

/** Whether the instruction may change any arithmetic flag. */
export const writesFlags = (op: number): boolean => opFlags[op] !== None;

/** Suffix letter of an integer mnemonic by operand size in bytes. */
export const integerSuffix: Readonly<Record<number, string>> = { 1: "b", 2: "w", 4: "l", 8: "q", 16: "q" };

/** Suffix of an x87 memory instruction: floats 4 s, 8 l, 10 t; integers 2 s, 4 l, 8 ll; control words none. */
export function x87Suffix(op: number, size: number): string {
  switch (op) {
    case X.Fld:
    case X.FstpM:
      return size === 4 ? "s" : size === 8 ? "l" : "t";
    case X.Fild:
    case X.FistpM:
    case X.FisttpM:
      return size === 2 ? "s" : size === 4 ? "l" : "ll";
    default:
      return "";
  }
}
