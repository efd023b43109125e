/**
 * What a machine instruction does to registers and to the stack, decoded by the iced-x86 library: nothing
 * here comes from the tables that code generation uses.
 *
 * Registers are numbered as in the ABI's encoding, 0–15 general purpose and 16–31 xmm. The parts of a general
 * register are kept apart, because `setcc %al` leaves the rest: bits 0–7, bits 8–15, and the rest (a write of
 * 32 bits is a write of all).
 * Equal bytes decode to the same shared object, so that the library is asked once for each.
 */
import {
  Code,
  Decoder,
  DecoderOptions,
  FlowControl,
  Instruction,
  type InstructionInfo,
  InstructionInfoFactory,
  MemorySizeExt,
  Mnemonic,
  OpAccess,
  OpKind,
  Register,
  RegisterExt,
  RflagsBits,
} from "iced-x86";

/** Parts of registers as two words of bits. */
export interface RegisterParts {
  /** Bits 0–15: bits 0–7 of each general register; bits 16–31: bits 8–15 of each. */
  readonly low: number;
  /** Bits 0–15: the rest of each general register; bits 16–31: xmm registers. */
  readonly high: number;
}

export const enum Flow {
  Next,
  Call,
  CallIndirect,
  Jump,
  Branch,
  JumpIndirect,
  Return,
  /** Control does not go on: ud2, hlt. */
  Stop,
}

/** Effects on the stack and copies that the stack analysis follows; everything else is `Other`. */
export const enum StackOp {
  Other,
  /** push of `source`, or of something unknown when it is -1. */
  Push,
  /** pop into `target`, or into something unknown when it is -1. */
  Pop,
  /** 64-bit copy of register `source` to `target`. */
  Copy,
  /** 64-bit exchange of `source` and `target`. */
  Exchange,
  /** The same of 32 bits. */
  ExchangeHalf,
  /** 64-bit load of `target` from base + displacement. */
  Load,
  /** 64-bit store of `source` to base + displacement. */
  Store,
  /** target = base + displacement. */
  Address,
  /** Writes `size` bytes at base + displacement; of register `source` if it is a plain store. */
  Write,
  Leave,
}

export interface MachineInst {
  readonly length: number;
  readonly flow: Flow;
  readonly reads: RegisterParts;
  /** Parts surely written: their old value is gone. */
  readonly writes: RegisterParts;
  /**
   * The result register if each of its parts depends only on the same and lower parts of the registers read, as
   * with moves, bitwise operations and addition; -1 otherwise.
   */
  readonly upward: number;
  /** What is read for that result; `reads` has what is needed whole, as addresses. */
  readonly upwardReads: RegisterParts;
  /** Whole bytes that a shift moves what it reads up by. */
  readonly movedUp: number;
  /** What is read for flags alone: the bits that a shift loses. */
  readonly flagReads: RegisterParts;
  /** Status flags that it reads, and all flags that may get new values, as RflagsBits. */
  readonly flagsRead: number;
  readonly flagsWritten: number;
  /** Registers that may be written, one bit each. */
  readonly changes: number;
  /** Of a relative branch: from the end of the instruction. */
  readonly branch: number;
  /** Displacement of a rip-relative operand from the end of the instruction; null without one. */
  readonly ripDisplacement: number | null;
  readonly stack: StackOp;
  readonly target: number;
  readonly source: number;
  readonly base: number;
  readonly displacement: number;
  readonly size: number;
  /** Bytes that it loads from memory to zero-extend them; 0 if it is no such load. */
  readonly zeroExtended: number;
  /** It changes nothing else. */
  readonly zeroesUpperHalves: boolean;
  /** Faults unless its memory operand is a multiple of 16. */
  readonly aligned: boolean;
  /** Returns that pop arguments, far transfers and the like: not made by us. */
  readonly strange: boolean;
}

/** Control may go on after the instruction. */
export const goesOn = ({ flow }: MachineInst): boolean =>
  flow === Flow.Next || flow === Flow.Call || flow === Flow.CallIndirect || flow === Flow.Branch;

/** It only takes room. */
export const doesNothing = ({ flow, changes, flagsWritten, stack }: MachineInst): boolean =>
  flow === Flow.Next && changes === 0 && flagsWritten === 0 && stack === StackOp.Other;

/** What stands for control that goes on after the last instruction of a function. @param branch bytes that it skips */
export const jumpOfNoLength = (branch: number): MachineInst => ({ ...noLength, branch });
const none: RegisterParts = { low: 0, high: 0 };
const noStackEffect: StackEffect = {
  stack: StackOp.Other,
  target: -1,
  source: -1,
  base: -1,
  displacement: 0,
  size: 0,
};
const noLength: MachineInst = {
  length: 0,
  flow: Flow.Jump,
  reads: none,
  writes: none,
  upward: -1,
  upwardReads: none,
  movedUp: 0,
  flagReads: none,
  flagsRead: 0,
  flagsWritten: 0,
  changes: 0,
  branch: 0,
  ripDisplacement: null,
  ...noStackEffect,
  zeroExtended: 0,
  zeroesUpperHalves: false,
  aligned: false,
  strange: false,
};

export const isImplied = ({ length }: MachineInst): boolean => length === 0;

const RSP = 4;
/** Carry, overflow, sign, zero, parity. */
const statusFlags = RflagsBits.CF | RflagsBits.OF | RflagsBits.SF | RflagsBits.ZF | RflagsBits.PF;

/** Number of a register, or -1 for what is not followed (flags, x87, segments). */
function numberOf(register: Register): number {
  if (register === Register.None) return -1;
  if (RegisterExt.isVectorRegister(register)) {
    const n = RegisterExt.number(register);
    return n < 16 ? 16 + n : -1;
  }
  if (!RegisterExt.isGPR(register)) return -1;
  const full = RegisterExt.fullRegister(register);
  return RegisterExt.number(full);
}

const isHighByte = (r: Register): boolean =>
  r === Register.AH || r === Register.BH || r === Register.CH || r === Register.DH;

/** Sets of register parts under construction. */
class Parts {
  low = 0;
  high = 0;
  add(register: Register): void {
    const n = numberOf(register);
    if (n < 0) return;
    if (n >= 16) this.high |= 1 << n;
    else if (isHighByte(register)) this.low |= 1 << (16 + n);
    else {
      this.low |= 1 << n;
      const size = RegisterExt.size(register);
      if (size >= 2) this.low |= 1 << (16 + n);
      if (size >= 4) this.high |= 1 << n;
    }
  }
}

/** Scalar SSE instructions that keep the upper part of their target, which no scalar code looks at. */
const mergesUpperPart = new Set<Mnemonic>([
  Mnemonic.Cvtsi2sd,
  Mnemonic.Cvtsi2ss,
  Mnemonic.Cvtss2sd,
  Mnemonic.Cvtsd2ss,
  Mnemonic.Sqrtsd,
  Mnemonic.Sqrtss,
  Mnemonic.Roundsd,
  Mnemonic.Roundss,
  Mnemonic.Rcpss,
  Mnemonic.Rsqrtss,
]);

/** The same in VEX encoding, where an operand of its own gives the upper part: any vector register where the source is none. */
const takesUpperPart = new Set<Mnemonic>([
  Mnemonic.Vcvtsi2sd,
  Mnemonic.Vcvtsi2ss,
  Mnemonic.Vcvtss2sd,
  Mnemonic.Vcvtsd2ss,
  Mnemonic.Vsqrtsd,
  Mnemonic.Vsqrtss,
  Mnemonic.Vroundsd,
  Mnemonic.Vroundss,
  Mnemonic.Vrcpss,
  Mnemonic.Vrsqrtss,
]);

/** Leave their target alone if the source is zero, says AMD; undefined, says Intel. Compilers do not rely on it. */
const bitScans = new Set<Mnemonic>([Mnemonic.Bsf, Mnemonic.Bsr]);

const needsAlignment = new Set<Mnemonic>([
  Mnemonic.Movaps,
  Mnemonic.Movapd,
  Mnemonic.Movdqa,
  Mnemonic.Movntps,
  Mnemonic.Movntdq,
  Mnemonic.Vmovaps,
  Mnemonic.Vmovapd,
  Mnemonic.Vmovdqa,
]);

/** Instructions whose result does not depend on the register when both operands are the same one. */
const constantOfEqual = new Set<Mnemonic>([
  Mnemonic.Pcmpeqb,
  Mnemonic.Pcmpeqw,
  Mnemonic.Pcmpeqd,
  Mnemonic.Sbb,
]);

/** The register of which the old value does not matter, whatever the encoding says; -1: there is none. */
function ignoredRegister(inst: Instruction): number {
  if (takesUpperPart.has(inst.mnemonic)) {
    const hasLanes = inst.opKind(2) === OpKind.Register && RegisterExt.isVectorRegister(inst.opRegister(2));
    return hasLanes ? -1 : numberOf(inst.opRegister(1));
  }
  return ignoresTarget(inst) ? numberOf(inst.opRegister(0)) : -1;
}

function ignoresTarget(inst: Instruction): boolean {
  const { mnemonic } = inst;
  if (mergesUpperPart.has(mnemonic)) return true;
  const register = inst.opCount > 0 && inst.opKind(0) === OpKind.Register;
  if (!register || inst.opCount < 2) return false;
  if (bitScans.has(mnemonic))
    return inst.opKind(1) !== OpKind.Register || inst.opRegister(0) !== inst.opRegister(1);
  if (constantOfEqual.has(mnemonic))
    return inst.opKind(1) === OpKind.Register && inst.opRegister(0) === inst.opRegister(1);
  const immediate = inst.opKind(1) >= OpKind.Immediate8 && inst.opKind(1) <= OpKind.Immediate32to64;
  if (!immediate) return false;
  if (mnemonic === Mnemonic.And) return inst.immediate(1) === 0n;
  return mnemonic === Mnemonic.Or && BigInt.asIntN(8, inst.immediate(1)) === -1n && isAllOnes(inst);
}

function isAllOnes(inst: Instruction): boolean {
  const bits = 8 * RegisterExt.size(inst.opRegister(0));
  return BigInt.asIntN(bits, inst.immediate(1)) === -1n;
}

/**
 * Moves to vectors and masks, by the bytes that are surely needed of a general register. That of a mask of 16 moves those of 8
 * and fewer lanes as well, of which nothing above is looked at.
 */
const movedBytes = new Map<Mnemonic, number>([
  [Mnemonic.Kmovb, 1],
  [Mnemonic.Kmovw, 1],
  [Mnemonic.Pinsrb, 1],
  [Mnemonic.Vpinsrb, 1],
  [Mnemonic.Pinsrw, 2],
  [Mnemonic.Vpinsrw, 2],
]);

/** How many of the lowest bits of a general register that it reads get into the result; null: all. */
function bitsKept(inst: Instruction): number | null {
  const bytes = movedBytes.get(inst.mnemonic);
  if (bytes !== undefined) return hasMemory(inst) ? null : bytes * 8;
  const { mnemonic } = inst;
  if (mnemonic !== Mnemonic.Shl && mnemonic !== Mnemonic.And && mnemonic !== Mnemonic.Test) return null;
  if (inst.opKind(0) !== OpKind.Register) return null;
  if (inst.opKind(1) === OpKind.Register || inst.opKind(1) === OpKind.Memory) return null;
  const bits = 8 * RegisterExt.size(inst.opRegister(0));
  // Which byte of the register it is does not matter here.
  if (bits === 8) return null;
  // Where the count is 0 flags and register stay.
  if (mnemonic === Mnemonic.Shl) return bits - (Number(inst.immediate(1)) & (bits === 64 ? 63 : 31));
  const mask = BigInt.asUintN(bits, inst.immediate(1));
  return mask < 0x100n ? 8 : mask < 0x10000n ? 16 : null;
}

/** By how many whole bytes a shift by a number moves a register; 0: it is none. */
function bytesMovedUp(inst: Instruction): number {
  if (
    inst.mnemonic !== Mnemonic.Shl ||
    inst.opKind(0) !== OpKind.Register ||
    inst.opKind(1) !== OpKind.Immediate8
  )
    return 0;
  const size = RegisterExt.size(inst.opRegister(0));
  return size < 4 ? 0 : (Number(inst.immediate(1)) & (8 * size - 1)) >> 3;
}

/** Bits of general registers that the result does not keep are not read for it. */
function restrictToBits(inst: Instruction, reads: Parts): void {
  const kept = bitsKept(inst);
  if (kept === null || kept > 16) return;
  reads.high &= ~0xffff;
  if (kept <= 8) reads.low &= 0xffff;
}

function flowOf(inst: Instruction): Flow {
  switch (inst.flowControl) {
    case FlowControl.Call:
      return inst.mnemonic === Mnemonic.Call ? Flow.Call : Flow.Next;
    case FlowControl.IndirectCall:
      return Flow.CallIndirect;
    case FlowControl.UnconditionalBranch:
      return Flow.Jump;
    case FlowControl.ConditionalBranch:
      return Flow.Branch;
    case FlowControl.IndirectBranch:
      return Flow.JumpIndirect;
    case FlowControl.Return:
      return Flow.Return;
    case FlowControl.Exception:
      return Flow.Stop;
    default:
      return inst.mnemonic === Mnemonic.Hlt ? Flow.Stop : Flow.Next;
  }
}

const dependUpward = new Set<Mnemonic>([
  Mnemonic.Mov,
  Mnemonic.And,
  Mnemonic.Or,
  Mnemonic.Xor,
  Mnemonic.Not,
  Mnemonic.Add,
  Mnemonic.Sub,
  Mnemonic.Neg,
  Mnemonic.Inc,
  Mnemonic.Dec,
  Mnemonic.Imul,
  Mnemonic.Lea,
  Mnemonic.Shl,
  Mnemonic.Cmova,
  Mnemonic.Cmovae,
  Mnemonic.Cmovb,
  Mnemonic.Cmovbe,
  Mnemonic.Cmove,
  Mnemonic.Cmovg,
  Mnemonic.Cmovge,
  Mnemonic.Cmovl,
  Mnemonic.Cmovle,
  Mnemonic.Cmovne,
  Mnemonic.Cmovno,
  Mnemonic.Cmovnp,
  Mnemonic.Cmovns,
  Mnemonic.Cmovo,
  Mnemonic.Cmovp,
  Mnemonic.Cmovs,
]);

function upwardResult(inst: Instruction): number {
  if (!dependUpward.has(inst.mnemonic) || inst.opKind(0) !== OpKind.Register) return -1;
  if (inst.mnemonic === Mnemonic.Imul && inst.opCount < 2) return -1;
  return RegisterExt.size(inst.opRegister(0)) >= 4 ? numberOf(inst.opRegister(0)) : -1;
}

interface StackEffect {
  stack: StackOp;
  target: number;
  source: number;
  base: number;
  displacement: number;
  size: number;
}

/** The base register and the displacement of a memory operand without index; base -1 if it is not of this form. */
function plainAddress(inst: Instruction): { base: number; displacement: number } {
  const none = { base: -1, displacement: 0 };
  const simple = inst.memoryIndex === Register.None && inst.memorySegment !== Register.FS;
  if (!simple || inst.memorySegment === Register.GS || inst.isIpRelMemoryOperand) return none;
  const base = numberOf(inst.memoryBase);
  if (base < 0 || RegisterExt.size(inst.memoryBase) !== 8) return none;
  return { base, displacement: Number(BigInt.asIntN(64, inst.memoryDisplacement)) };
}

const register64 = (inst: Instruction, operand: number): number =>
  inst.opKind(operand) === OpKind.Register && RegisterExt.isGPR64(inst.opRegister(operand))
    ? numberOf(inst.opRegister(operand))
    : -1;

const storesRegister = (inst: Instruction): boolean =>
  inst.mnemonic === Mnemonic.Mov && inst.opKind(1) === OpKind.Register;

const withoutEffectOnZero = new Set([Mnemonic.Add, Mnemonic.Sub, Mnemonic.Or, Mnemonic.Xor]);
/** It touches memory and writes what is there: a probe of the stack (`xorq $0, (%rsp)`). */
const leavesMemory = (inst: Instruction): boolean =>
  withoutEffectOnZero.has(inst.mnemonic) &&
  inst.opKind(1) >= OpKind.Immediate8 &&
  inst.opKind(1) <= OpKind.Immediate32to64 &&
  inst.immediate(1) === 0n;

function hasMemory(inst: Instruction): boolean {
  for (let i = 0; i < inst.opCount; i++) if (inst.opKind(i) === OpKind.Memory) return true;
  return false;
}

function stackEffect(inst: Instruction, info: InstructionInfo): StackEffect {
  const effect = noStackEffect;
  const { mnemonic } = inst;
  if (mnemonic === Mnemonic.Push) return { ...effect, stack: StackOp.Push, source: register64(inst, 0) };
  if (mnemonic === Mnemonic.Pushfq) return { ...effect, stack: StackOp.Push };
  if (mnemonic === Mnemonic.Pop) return { ...effect, stack: StackOp.Pop, target: register64(inst, 0) };
  if (mnemonic === Mnemonic.Popfq) return { ...effect, stack: StackOp.Pop };
  if (mnemonic === Mnemonic.Leave) return { ...effect, stack: StackOp.Leave };
  const first = inst.opCount > 0 ? register64(inst, 0) : -1;
  const second = inst.opCount > 1 ? register64(inst, 1) : -1;
  const memory = hasMemory(inst);
  const address = memory ? plainAddress(inst) : { base: -1, displacement: 0 };
  if (mnemonic === Mnemonic.Mov && first >= 0 && second >= 0)
    return { ...effect, stack: StackOp.Copy, target: first, source: second };
  if (mnemonic === Mnemonic.Xchg && first >= 0 && second >= 0)
    return { ...effect, stack: StackOp.Exchange, target: first, source: second };
  if (inst.code === Code.Xchg_rm32_r32 || inst.code === Code.Xchg_r32_EAX)
    if (inst.opKind(0) === OpKind.Register) {
      const [target, source] = [numberOf(inst.opRegister(0)), numberOf(inst.opRegister(1))];
      return { ...effect, stack: StackOp.ExchangeHalf, target, source };
    }
  if (mnemonic === Mnemonic.Mov && first >= 0 && address.base >= 0)
    return { ...effect, ...address, stack: StackOp.Load, target: first };
  if (mnemonic === Mnemonic.Mov && second >= 0 && address.base >= 0)
    return { ...effect, ...address, stack: StackOp.Store, source: second, size: 8 };
  if (mnemonic === Mnemonic.Lea && first >= 0 && address.base >= 0)
    return { ...effect, ...address, stack: StackOp.Address, target: first };
  const adds = mnemonic === Mnemonic.Add || mnemonic === Mnemonic.Sub;
  if (adds && first >= 0 && second < 0 && !memory) {
    const amount = Number(BigInt.asIntN(64, inst.immediate(1)));
    const displacement = mnemonic === Mnemonic.Add ? amount : -amount;
    return { ...effect, stack: StackOp.Address, target: first, base: first, displacement };
  }
  if ((mnemonic === Mnemonic.Inc || mnemonic === Mnemonic.Dec) && first >= 0) {
    const displacement = mnemonic === Mnemonic.Inc ? 1 : -1;
    return { ...effect, stack: StackOp.Address, target: first, base: first, displacement };
  }
  if (address.base >= 0 && !leavesMemory(inst) && info.usedMemory().some((m) => m.access !== OpAccess.Read))
    return {
      ...effect,
      ...address,
      stack: StackOp.Write,
      source: storesRegister(inst) ? numberOf(inst.opRegister(1)) : -1,
      size: MemorySizeExt.size(inst.memorySize),
    };
  return address.base >= 0 ? { ...effect, ...address } : effect;
}

function describe(inst: Instruction, info: InstructionInfo): MachineInst {
  const reads = new Parts();
  const writes = new Parts();
  let changes = 0;
  const ignored = ignoredRegister(inst);
  for (const used of info.usedRegisters()) {
    const { register, access } = used;
    const n = numberOf(register);
    if (n < 0) continue;
    // Halves that are followed stay; callers may have more in a register.
    if (inst.mnemonic === Mnemonic.Vzeroupper) {
      changes |= 1 << n;
      continue;
    }
    const isRead =
      access === OpAccess.Read ||
      access === OpAccess.CondRead ||
      access === OpAccess.ReadWrite ||
      access === OpAccess.ReadCondWrite;
    if (isRead && !(n === ignored && (access === OpAccess.ReadWrite || !mergesUpperPart.has(inst.mnemonic))))
      reads.add(register);
    if (
      access === OpAccess.Write ||
      access === OpAccess.ReadWrite ||
      (n === ignored && bitScans.has(inst.mnemonic))
    )
      writes.add(register);
    const isWrite =
      access === OpAccess.Write ||
      access === OpAccess.ReadWrite ||
      access === OpAccess.CondWrite ||
      access === OpAccess.ReadCondWrite;
    if (isWrite) changes |= 1 << n;
  }
  const shifted = inst.mnemonic === Mnemonic.Shl ? { low: reads.low, high: reads.high } : none;
  restrictToBits(inst, reads);
  const upward = upwardResult(inst);
  const whole = new Parts();
  if (upward >= 0 && inst.mnemonic !== Mnemonic.Lea && hasMemory(inst)) {
    whole.add(inst.memoryBase);
    whole.add(inst.memoryIndex);
  }
  // The operating system leaves its answer in rax.
  if (inst.code === Code.Syscall) changes |= 1;
  const near = inst.opCount > 0 && inst.opKind(0) === OpKind.NearBranch64;
  const flow = flowOf(inst);
  return {
    length: inst.length,
    flow,
    reads: upward >= 0 ? { low: whole.low, high: whole.high } : { low: reads.low, high: reads.high },
    writes: { low: writes.low, high: writes.high },
    upward,
    upwardReads: upward >= 0 ? { low: reads.low, high: reads.high } : { low: 0, high: 0 },
    movedUp: bytesMovedUp(inst),
    flagReads: shifted,
    flagsRead: inst.rflagsRead & statusFlags,
    flagsWritten: inst.rflagsModified,
    changes: changes & ~(1 << RSP),
    branch: near ? Number(BigInt.asIntN(64, inst.nearBranchTarget - inst.nextIP)) : 0,
    ripDisplacement: inst.isIpRelMemoryOperand
      ? Number(BigInt.asIntN(64, inst.ipRelMemoryAddress - inst.nextIP))
      : null,
    ...stackEffect(inst, info),
    zeroExtended:
      inst.mnemonic === Mnemonic.Movzx && hasMemory(inst) ? MemorySizeExt.size(inst.memorySize) : 0,
    zeroesUpperHalves: inst.mnemonic === Mnemonic.Vzeroupper,
    aligned: needsAlignment.has(inst.mnemonic) && hasMemory(inst),
    strange:
      ((flow === Flow.Jump || flow === Flow.Branch || flow === Flow.Call) && !near) ||
      (flow === Flow.Return && inst.code !== Code.Retnq),
  };
}

/** Decodes instructions; equal bytes give the same object. */
export class InstructionDecoder {
  private readonly known = new Map<string, MachineInst>();
  private readonly factory = new InstructionInfoFactory();

  /**
   * The instructions of `bytes` one after the other.
   * @returns null when something in them is no instruction
   */
  decode(bytes: Uint8Array): MachineInst[] | null {
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    const inst = new Instruction();
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const out: MachineInst[] = [];
    try {
      for (let at = 0; at < bytes.length; ) {
        decoder.decodeOut(inst);
        const { length } = inst;
        if (inst.code === Code.INVALID || length === 0) return null;
        const key = text.slice(at, at + length);
        let known = this.known.get(key);
        if (known === undefined) {
          known = describe(inst, this.factory.info(inst));
          this.known.set(key, known);
        }
        out.push(known);
        at += length;
      }
      return out;
    } finally {
      decoder.free();
      inst.free();
    }
  }
}
