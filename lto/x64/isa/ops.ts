/**
 * x86-64 machine opcodes and the roles of their operands.
 *
 * An opcode is an operation; which encoding it takes follows from its operands (register, memory, immediate)
 * and `MInst.size`. Opcodes ending in M write memory. A source written `src` below is `uses[…]`, or `mem`,
 * or `imm`/`symbol`: exactly one of them is there. A register source with `mayBeSlot` may turn out to be a
 * stack slot after allocation; it then takes the place of the memory operand. Source: Intel SDM volume 2.
 */

/** How operands play their parts; each opcode has one format. */
export const enum Format {
  /** defs[0] ← src; no flags. Copy, loads, moves of constants and addresses. */
  Mov,
  /** mem ← uses[0] | imm | symbol. */
  MovM,
  /** defs[0] = tied uses[0]; then op with src = uses[1] | mem | imm | symbol. */
  Alu,
  /** mem op= uses[0] | imm | symbol. */
  AluM,
  /** Flags of uses[0] against src = uses[1] | mem | imm | symbol. */
  Compare,
  /** Flags of mem against uses[0] | imm | symbol. */
  CompareM,
  /** defs[0] = tied uses[0]. */
  Unary,
  /** mem. */
  UnaryM,
  /** defs[0] = tied uses[0], by imm or by cl = uses[1] (fixed rcx). */
  Shift,
  /** mem, by imm or by cl = uses[0] (fixed rcx). */
  ShiftM,
  /** defs[0] = tied uses[0]; bits from uses[1]; by imm or by cl = uses[2] (fixed rcx). */
  DoubleShift,
  /** defs[0] ← src widened; the op names the source width. */
  Extend,
  /** defs[0] ← uses[0] op src = uses[1] | mem | imm; nothing is tied. */
  Three,
  /** The same with an immediate that is no source. */
  ThreeImm,
  /** defs[0] ← uses[0] or src = uses[1] | mem, lane by lane, by the last of uses. */
  Blend,
  /** defs[0] = tied uses[0]; sources uses[1] and src = uses[2] | mem. */
  Fused,
  /** The same with an immediate that is no source. */
  FusedImm,
  /** The low lane of defs[0] ← src = uses[0] | mem; the others are whatever, by marks: those of vector register marks - 1. */
  Merge,
  /** mem ← uses[1], the lanes that uses[0] marks. */
  MaskStore,
  /** mem ← uses[0], with imm. */
  MovMImm,
  /** defs[0] ← src = uses[0] | mem, by the last of uses. */
  Counted,
  /** defs[0] ← address of mem. */
  Lea,
  /** defs[0] ← src · imm. */
  MulImm,
  /** defs [rax, rdx] (both fixed) from uses [rax, …]: see each op. */
  Wide,
  /** defs[0] (1 byte) ← `condition`. */
  SetCc,
  SetCcM,
  /** Alu format plus an immediate that is no source: src = uses[1] | mem, and imm. */
  AluImm,
  /** defs[0] ← src = uses[0] | mem, with imm. */
  MovImm,
  /** defs[0] = tied uses[0]; then op with src = uses[1] | mem, by the last of uses (fixed xmm0). */
  ByXmm0,
  /** Flags, and defs[0] (fixed), of uses[0] against src = uses[1] | mem, with imm; further uses are in fixed registers. */
  CompareImm,
  /** uses[0] only, or mem, or imm. */
  Push,
  Pop,
  /** Operands in fixed registers only: nothing to print but the mnemonic. */
  Implicit,
  /** Control transfer. */
  Jump,
  Call,
  /** x87 instruction with memory operand; the register stack is implicit. */
  X87M,
  /** x87 instruction without explicit operands. */
  X87,
  /** mem only (prefetch, fldcw, ldmxcsr). */
  Mem,
  /** Atomic read-modify-write of mem: mem op= uses[0] | imm. */
  Atomic,
  /** mem. */
  AtomicUnary,
  /** mem is exchanged with, or takes, the last of uses; the others are in fixed registers. */
  AtomicExchange,
  /** mem; all registers are fixed. */
  AtomicPair,
  /** Expanded by the frame or emission passes; see each op. */
  Pseudo,
  /** Tells the assembler something about the place; no code, no operands. */
  Directive,
}

/** Machine opcodes. Order is free (never stored), but Copy must be 0. */
export const enum X {
  /** Register copy of `size` (4 or 8 general; 4, 8, 16 vector). Format Mov. */
  Copy = 0,

  // ── Moves ──
  /** General-purpose load, constant, address of a symbol (`symbol` + imm): size 1, 2 (register part only), 4, 8. */
  Mov,
  MovM,
  Movzx8,
  Movzx16,
  Movsx8,
  Movsx16,
  /** 32 → 64. */
  Movsxd,
  Lea,

  // ── Integer arithmetic: Alu / AluM ──
  Add,
  Or,
  Adc,
  Sbb,
  And,
  Sub,
  Xor,
  AddM,
  OrM,
  AdcM,
  SbbM,
  AndM,
  SubM,
  XorM,
  Cmp,
  Test,
  CmpM,
  TestM,
  Imul,
  /** Three-operand form, Format MulImm. */
  ImulImm,
  Neg,
  Not,
  Inc,
  Dec,
  Bswap,
  NegM,
  NotM,
  IncM,
  DecM,
  Shl,
  Shr,
  Sar,
  Rol,
  Ror,
  ShlM,
  ShrM,
  SarM,
  RolM,
  RorM,
  Shld,
  Shrd,
  /** Wide: defs [rax, rdx] = rax (uses[0]) · src (uses[1] | mem). Size 1 writes ax only. */
  Mul,
  IMulWide,
  /** Wide: defs [rax quotient, rdx remainder]; uses [rax, rdx, divisor] or [rax, rdx] and mem. Size 1: defs [rax], uses [rax, divisor], quotient in al, remainder in ah. */
  Div,
  IDiv,
  /** Sign of rax (uses[0]) into rdx (defs[0]): cwd, cltd, cqto by size. */
  SignRax,
  /** defs[0] = rax sign-extended from the lower half, tied: cbtw, cwtl, cltq by size. */
  ExtendRax,
  /** Compare format: bit test of uses[0] by uses[1] | imm. */
  Bt,
  /** Alu format, source may not be memory. */
  Bts,
  Btr,
  Btc,
  /** Mov format; undefined for zero. */
  Bsf,
  Bsr,
  /** Mov format (only with the target features). */
  Tzcnt,
  Lzcnt,
  Popcnt,
  /** Three (BMI): not uses[0], and src. */
  Andn,
  /** Mov format (BMI): the lowest bit that is set alone, cleared, or with all below it. */
  Blsi,
  Blsr,
  Blsmsk,
  /** Counted (BMI, BMI2): the field whose position and length are bytes of the count; the bits below the count. */
  Bextr,
  Bzhi,
  /** MovImm (BMI2): rotated right by a constant, no flags. */
  Rorx,
  /** Alu format: defs[0] (4 bytes, or 8 at size 8) is the checksum on, by `size` bytes of src. */
  Crc32,
  /** Three (BMI2): low bits of uses[0] to where the mask src has ones; the bits there to low ones. */
  Pdep,
  Pext,
  /** Counted (BMI2): no flags, and the count in any register. */
  Shlx,
  Shrx,
  Sarx,
  /** Format SetCc(M), by `condition`. */
  Setcc,
  SetccM,
  /** Alu format: defs[0] = tied uses[0] unless `condition`, then src. Sizes 2, 4, 8. */
  Cmov,
  /** defs [a, b] tied to uses [a, b] swapped. Pseudo: prints xchg. */
  Xchg,

  // ── Control ──
  Jmp,
  /** `condition`, targets [taken]; falls through or is followed by Jmp. */
  Jcc,
  /** Through uses[0] or mem; targets are the possible ones. */
  JmpIndirect,
  /**
   * Pseudo: defs[0] = address of the target that entry uses[0] of `extra`'s table means, changes the flags. In
   * position-independent code defs[1] is a further register that it needs.
   */
  TableLoad,
  /** Direct call of `symbol` (Format Call); defs are results, uses arguments, clobbers the mask. */
  Call,
  /** Through uses[0] or mem; further uses are arguments in fixed registers. */
  CallIndirect,
  /** Tail call: frame is torn down before it. symbol, or uses[0]. Ends the block. */
  TailCall,
  TailCallIndirect,
  /** uses: results in fixed registers. */
  Ret,
  /**
   * Pseudo, 16 bytes: the general-dynamic sequence `data16 leaq sym@TLSGD(%rip), %rdi; data16 data16 rex64
   * call __tls_get_addr@PLT`. symbol; defs [rax]; a call (the stack must be aligned).
   */
  TlsGetAddr,
  /** Pseudo: defs[0] = address of the global offset table, wherever it is; defs[1] is scratch. */
  GotBase,
  Ud2,
  Int3,
  /** What indirect branches may lead to. */
  Endbr64,
  /** Pseudo: `imm` bytes of no operation, one instruction. */
  Nop,
  Push,
  Pop,
  /** Push and pop of a callee-saved register (uses[0] / defs[0]) by the prologue and epilogue. */
  PushSaved,
  PopSaved,
  /** Stack pointer = rbp, pop rbp. */
  Leave,
  /** Stack pointer -= 8 by pushing whatever rax holds; no operands. */
  PushPad,
  /** Pseudo: before arguments are pushed; imm = bytes that will be pushed. Aligns the stack. */
  CallSetup,
  /** Pseudo, between CallSetup and the call: lowers the stack pointer by imm bytes (they count as pushed). */
  StackAlloc,
  /** Pseudo: after the call; imm = bytes pushed. */
  CallCleanup,
  /** Touches the word at the stack pointer. */
  Probe,
  /** Pseudo: lowers the stack pointer by `imm` bytes down to rbp, `secondNumber` bytes at a time, each probed. */
  ProbeLoop,
  /** Pseudo: lowers the stack pointer to uses[0], `imm` bytes at a time, each probed. */
  ProbeTo,
  /** Pseudo: traps unless `imm` and the word `secondNumber` bytes before uses[0] add up to 0; defs [the same, scratch]. */
  KcfiCheck,
  /** Pseudo: function entry; defs are the register arguments. */
  Entry,
  /** Pseudo: landing pad entry; defs [rax exception, rdx selector]. */
  LandingPad,
  /** Pseudo: defs[0] = stack pointer after lowering it by uses[0] bytes, rounded; imm = alignment. */
  DynamicAlloca,
  /** Pseudo: stack pointer = uses[0] (stackrestore); defs[0] = stack pointer (stacksave). */
  StackRestore,
  StackSave,
  /** Pseudo: defs[0] = address of the frame (frameaddress 0): needsFramePointer is set. */
  FrameAddress,
  /** Pseudo: defs[0] = address of the first byte above the return address' incoming area (va_start overflow area) + imm. */
  IncomingAddress,
  /** Pseudo: no code; keeps its uses alive / gives its defs an undefined value. */
  Keep,
  ImplicitDef,
  /** Directive: for the unwinder, made by `cfi.ts`; `extra` is an UnwindDirective. */
  Cfi,
  /** Directive: the label by which the list of places that a tool may patch names this one. */
  PatchLabel,
  /** Inline assembly: `extra` is AsmData. */
  Asm,

  // ── Memory blocks, fences, atomics ──
  /** Implicit: rep movsb/w/l/q by size; uses and defs [rdi, rsi, rcx] tied. */
  RepMovs,
  /** Implicit: rep stos by size; uses [rdi, rcx, rax], defs [rdi, rcx] tied. */
  RepStos,
  Mfence,
  Lfence,
  Sfence,
  Pause,
  Cpuid,
  Rdtsc,
  Prefetcht0,
  Prefetcht1,
  Prefetcht2,
  Prefetchnta,
  /** Atomic: mem op= uses[0] | imm, locked; the last four AtomicUnary. */
  LockAdd,
  LockSub,
  LockAnd,
  LockOr,
  LockXor,
  LockInc,
  LockDec,
  LockNeg,
  LockNot,
  /** AtomicExchange: defs[0] = tied uses[0] exchanged with mem. */
  XchgM,
  LockXadd,
  /** AtomicExchange: uses [rax expected, replacement], defs [rax old]; ZF on success. */
  LockCmpxchg,
  /** AtomicPair: uses [rax, rdx, rbx, rcx], defs [rax, rdx]. */
  LockCmpxchg16b,

  // ── Scalar and packed SSE ──
  /** Loads (Mov) and stores (MovM) of the low 4 / 8 bytes; loads zero the rest. */
  Movss,
  Movsd,
  MovssM,
  MovsdM,
  Movaps,
  Movups,
  MovapsM,
  MovupsM,
  /** Low 4 / 8 bytes between a general register and xmm, or memory (Mov format both ways). */
  MovdTo,
  MovqTo,
  MovdFrom,
  MovqFrom,
  Addss,
  Addsd,
  Subss,
  Subsd,
  Mulss,
  Mulsd,
  Divss,
  Divsd,
  Minss,
  Minsd,
  Maxss,
  Maxsd,
  Addps,
  Addpd,
  Subps,
  Subpd,
  Mulps,
  Mulpd,
  Divps,
  Divpd,
  Minps,
  Minpd,
  Maxps,
  Maxpd,
  /** Mov format. */
  Sqrtss,
  Sqrtsd,
  Sqrtps,
  Sqrtpd,
  Rcpss,
  Rsqrtss,
  Rcpps,
  Rsqrtps,
  Andps,
  Andnps,
  Orps,
  Xorps,
  /** Alu format, register source only: the low lane of src into defs[0]. */
  /** defs[0] = 0 by `xorps d, d`; no uses, no flags. Format Pseudo. */
  XorpsZero,
  MovssMerge,
  MovsdMerge,
  Ucomiss,
  Ucomisd,
  /** The same, with the invalid flag for quiet NaNs, too. */
  Comiss,
  Comisd,
  /** AluImm. */
  Cmpss,
  Cmpsd,
  Cmpps,
  Cmppd,
  Shufps,
  Shufpd,
  Unpcklps,
  Unpckhps,
  Unpcklpd,
  Unpckhpd,
  /** Conversions, Mov format; integer side has `size` bytes (4 or 8). */
  Cvtsi2ss,
  Cvtsi2sd,
  Cvttss2si,
  Cvttsd2si,
  Cvtss2si,
  Cvtsd2si,
  Cvtss2sd,
  Cvtsd2ss,
  Cvtdq2ps,
  Cvtps2dq,
  Cvttps2dq,
  Cvtdq2pd,
  Cvtpd2dq,
  Cvttpd2dq,
  Cvtps2pd,
  Cvtpd2ps,
  // Packed integers, Alu.
  Paddb,
  Paddw,
  Paddd,
  Paddq,
  Psubb,
  Psubw,
  Psubd,
  Psubq,
  Paddsb,
  Paddsw,
  Paddusb,
  Paddusw,
  Psubsb,
  Psubsw,
  Psubusb,
  Psubusw,
  Pmullw,
  Pmulhw,
  Pmulhuw,
  Pmuludq,
  Pmaddwd,
  Psadbw,
  Pavgb,
  Pavgw,
  Pminub,
  Pmaxub,
  Pminsw,
  Pmaxsw,
  Pand,
  Pandn,
  Por,
  Pxor,
  Pcmpeqb,
  Pcmpeqw,
  Pcmpeqd,
  Pcmpgtb,
  Pcmpgtw,
  Pcmpgtd,
  Packsswb,
  Packssdw,
  Packuswb,
  Punpcklbw,
  Punpcklwd,
  Punpckldq,
  Punpcklqdq,
  Punpckhbw,
  Punpckhwd,
  Punpckhdq,
  Punpckhqdq,
  /** Alu with src = uses[1] | mem (count in the low quadword) or imm. */
  Psllw,
  Pslld,
  Psllq,
  Psrlw,
  Psrld,
  Psrlq,
  Psraw,
  Psrad,
  /** Alu with imm = bytes. */
  Pslldq,
  Psrldq,
  /** MovImm. */
  Pshufd,
  Pshuflw,
  Pshufhw,
  /** AluImm: src is a general register (4 bytes) or 2 bytes of memory. */
  Pinsrw,
  /** MovImm: general destination. */
  Pextrw,
  /** Mov format: general destination. */
  Movmskps,
  Movmskpd,
  Pmovmskb,
  Ldmxcsr,
  StmxcsrM,
  // SSE3 to SSE4.2, AES, PCLMUL, SHA, GFNI: Alu, but where it says something else.
  Addsubps,
  Addsubpd,
  Haddps,
  Haddpd,
  Hsubps,
  Hsubpd,
  /** Mov format, memory only, of any alignment. */
  Lddqu,
  Pshufb,
  Phaddw,
  Phaddd,
  Phaddsw,
  Phsubw,
  Phsubd,
  Phsubsw,
  Pmaddubsw,
  Pmulhrsw,
  Psignb,
  Psignw,
  Psignd,
  /** Mov format. */
  Pabsb,
  Pabsw,
  Pabsd,
  Packusdw,
  Pminsb,
  Pminsd,
  Pminuw,
  Pminud,
  Pmaxsb,
  Pmaxsd,
  Pmaxuw,
  Pmaxud,
  Pmulld,
  Pmuldq,
  Pcmpeqq,
  Pcmpgtq,
  /** Mov format: the low lanes, extended. */
  Pmovsxbw,
  Pmovsxbd,
  Pmovsxbq,
  Pmovsxwd,
  Pmovsxwq,
  Pmovsxdq,
  Pmovzxbw,
  Pmovzxbd,
  Pmovzxbq,
  Pmovzxwd,
  Pmovzxwq,
  Pmovzxdq,
  /** AluImm: general source. */
  Pinsrb,
  Pinsrd,
  Pinsrq,
  /** MovImm: general destination. */
  Pextrb,
  Pextrd,
  Pextrq,
  /** AluImm. */
  Palignr,
  Blendps,
  Blendpd,
  Pblendw,
  Dpps,
  Dppd,
  Mpsadbw,
  Insertps,
  /** Mov format. */
  Phminposuw,
  /** MovImm; AluImm of scalars, whose upper lanes are those of uses[0]. */
  Roundps,
  Roundpd,
  Roundss,
  Roundsd,
  /** Compare format: ZF, no common bit; CF, none of src besides. */
  Ptest,
  /** ByXmm0. */
  Blendvps,
  Blendvpd,
  Pblendvb,
  /** CompareImm: index in rcx, or mask in xmm0; lengths of the second two in rax and rdx. */
  Pcmpistri,
  Pcmpistrm,
  Pcmpestri,
  Pcmpestrm,
  Aesenc,
  Aesenclast,
  Aesdec,
  Aesdeclast,
  /** Mov, MovImm, AluImm. */
  Aesimc,
  Aeskeygenassist,
  Pclmulqdq,
  Sha1rnds4,
  Sha1nexte,
  Sha1msg1,
  Sha1msg2,
  /** ByXmm0. */
  Sha256rnds2,
  Sha256msg1,
  Sha256msg2,
  Gf2p8mulb,
  /** AluImm. */
  Gf2p8affineqb,
  Gf2p8affineinvqb,

  // ── x87: `size` is that of the memory operand (4, 8, 10; 2, 4, 8 for integers) ──
  Fld,
  FstpM,
  Fild,
  FistpM,
  FisttpM,
  Fldz,
  Fld1,
  Fchs,
  Fabs,
  Fsqrt,
  /** st(1) op= st(0), pop. */
  Faddp,
  Fsubp,
  Fsubrp,
  Fmulp,
  Fdivp,
  Fdivrp,
  /** Compare st(0) with st(1) into flags, pop (one). */
  Fucomip,
  /** The same, with the invalid flag for quiet NaNs, too. */
  Fcomip,
  /** Pop st(0). */
  FstpSt0,
  Fxch,
  FnstcwM,
  FldcwM,
  FnstswM,
  Fprem,
  Frndint,
  Emms,
}

/** `MInst.marks` of Mov, Movzx8, Movzx16 and MovM. */
export const enum AccessMark {
  /** A store that may become a read-modify-write of the same bytes: neither volatile nor atomic. */
  Plain = 1,
  /** A load that is known to find what the instruction before left in memory. */
  Reload = 2,
}

/** `MInst.marks` of operations of SSE on one lane: the result's register, which is no source, is zeroed first. */
export const lanesZeroed = 1;

/** `MInst.marks` of returns, indirect jumps and calls. */
export const enum JumpMark {
  /** A trap follows, which only speculation reaches. */
  Stop = 1,
  /** May lead where no `endbr64` is. */
  NoTrack = 2,
  /** By way of a routine that keeps speculation away; the target is in r11. */
  Thunk = 4,
  /** The routine is not ours. */
  ExternalThunk = 8,
  /** Stays after the check of its target, which is in r11. */
  Checked = 16,
  /** Arguments, or results, are in more than the low half of vector registers. */
  Wide = 32,
  /** Is a call, whatever follows: marked `notail`. */
  Stays = 64,
}

const targetInR11 = JumpMark.Thunk | JumpMark.ExternalThunk | JumpMark.Checked;
/** What a jump or call with these marks leads to has to be in r11. */
export const wantsR11 = (marks: number): boolean => (marks & targetInR11) !== 0;

/** Condition codes, in encoding order. */
export const enum Cc {
  O,
  NO,
  B,
  AE,
  E,
  NE,
  BE,
  A,
  S,
  NS,
  P,
  NP,
  L,
  GE,
  LE,
  G,
}
/** The opposite condition. */
export const invert = (condition: Cc): Cc => condition ^ 1;
export const ccNames = [
  "o",
  "no",
  "b",
  "ae",
  "e",
  "ne",
  "be",
  "a",
  "s",
  "ns",
  "p",
  "np",
  "l",
  "ge",
  "le",
  "g",
];
