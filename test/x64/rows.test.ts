/**
 * What the table of instructions says of registers, flags, memory and the stack is what the iced-x86 library says of the
 * bytes that GNU as makes of each form.
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
  type Register,
  RegisterExt,
  RflagsBits,
} from "iced-x86";
import { beforeAll, describe, expect, test } from "vitest";
import type { MInst } from "../../lto/codegen/mir.js";
import { lowWord } from "../../lto/codegen/register-set.js";
import { OpFact } from "../../lto/codegen/target.js";
import { killsFlags, usedRegisters, writtenRegisters } from "../../lto/x64/isa/effects.js";
import { x64Instructions } from "../../lto/x64/isa/facts.js";
import { opcodeCount, readsFlags, rowOf, writesFlags } from "../../lto/x64/isa/op-info.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Format, X } from "../../lto/x64/isa/ops.js";
import {
  bytesRead,
  FlagEffect,
  FlagRead,
  noMemory,
  Pure,
  SameSource,
  Stack,
  Takes,
  Upper,
} from "../../lto/x64/isa/row.js";
import { UpperBits, upperBits } from "../../lto/x64/isa/upper-bits.js";
import { V } from "../../lto/x64/isa/vex-ops.js";
import { assembled, formText } from "./assemble.js";
import { allForms } from "./forms.js";

const { CF, OF, SF, ZF, PF } = RflagsBits;
const status = CF | OF | SF | ZF | PF;
const RSP = 4;

/** Flags of the conditions, by half their number. */
const conditionFlags = [OF, CF, ZF, CF | ZF, SF, PF, SF | OF, ZF | SF | OF];

const flowBits =
  OpFact.Jump |
  OpFact.Branch |
  OpFact.IndirectJump |
  OpFact.Return |
  OpFact.TailCall |
  OpFact.Call |
  OpFact.Trap;

/** Registers as bits: 0–15 general, 16–31 xmm; 0 for what the table does not follow. */
function bitOf(register: Register): number {
  if (RegisterExt.isVectorRegister(register)) return 1 << (16 + RegisterExt.number(register));
  if (!RegisterExt.isGPR(register)) return 0;
  const number = RegisterExt.number(RegisterExt.fullRegister(register));
  return number === RSP ? 0 : 1 << number;
}

/** One form as it was decoded. */
interface Decoded {
  readonly inst: MInst;
  readonly mnemonic: Mnemonic;
  readonly isLocked: boolean;
  readonly reads: number;
  /** Surely, and perhaps. */
  readonly writes: number;
  readonly mayWrite: number;
  /** Bytes of each general register that is written, and of each that is an operand, by number. */
  readonly writtenBytes: ReadonlyMap<number, number>;
  readonly namedAt: ReadonlyMap<number, number>;
  readonly readsMemory: boolean;
  readonly writesMemory: boolean;
  readonly memoryBytes: number;
  readonly flagsRead: number;
  readonly flagsModified: number;
  readonly flagsCleared: number;
  readonly flagsUndefined: number;
  readonly flow: FlowControl;
  readonly stack: number;
}

const readingAccesses = new Set([
  OpAccess.Read,
  OpAccess.CondRead,
  OpAccess.ReadWrite,
  OpAccess.ReadCondWrite,
  // The old value may stay.
  OpAccess.CondWrite,
]);
const sureWrites = new Set([OpAccess.Write, OpAccess.ReadWrite]);
const perhapsWrites = new Set([OpAccess.CondWrite, OpAccess.ReadCondWrite]);

/** Keeps the largest part of each register. */
function noteBytes(bytes: Map<number, number>, register: Register): void {
  const number = RegisterExt.number(RegisterExt.fullRegister(register));
  bytes.set(number, Math.max(bytes.get(number) ?? 0, RegisterExt.size(register)));
}

function describeForm(inst: MInst, decoded: Instruction, info: InstructionInfo): Decoded {
  let reads = 0;
  let writes = 0;
  let mayWrite = 0;
  const writtenBytes = new Map<number, number>();
  for (const { register, access } of info.usedRegisters()) {
    const bit = bitOf(register);
    if (readingAccesses.has(access)) reads |= bit;
    if (sureWrites.has(access)) writes |= bit;
    if (!sureWrites.has(access) && !perhapsWrites.has(access)) continue;
    mayWrite |= bit;
    if (RegisterExt.isGPR(register)) noteBytes(writtenBytes, register);
  }
  const namedAt = new Map<number, number>();
  for (let i = 0; i < decoded.opCount; i++)
    if (decoded.opKind(i) === OpKind.Register && RegisterExt.isGPR(decoded.opRegister(i)))
      noteBytes(namedAt, decoded.opRegister(i));
  let readsMemory = false;
  let writesMemory = false;
  for (const { access } of info.usedMemory()) {
    readsMemory ||= readingAccesses.has(access);
    writesMemory ||= sureWrites.has(access) || perhapsWrites.has(access);
  }
  return {
    inst,
    mnemonic: decoded.mnemonic,
    isLocked: decoded.hasLockPrefix,
    reads,
    writes,
    mayWrite,
    writtenBytes,
    namedAt,
    readsMemory,
    writesMemory,
    memoryBytes: MemorySizeExt.size(decoded.memorySize),
    flagsRead: decoded.rflagsRead & status,
    flagsModified: decoded.rflagsModified & status,
    flagsCleared: decoded.rflagsCleared & status,
    flagsUndefined: decoded.rflagsUndefined & status,
    flow: decoded.flowControl,
    stack: decoded.stackPointerIncrement,
  };
}

/** What facts there may be of an instruction that goes on so. */
function expectedFacts(flow: FlowControl): readonly number[] {
  switch (flow) {
    case FlowControl.Next:
    case FlowControl.Interrupt:
      return [0];
    case FlowControl.UnconditionalBranch:
      return [OpFact.Jump, OpFact.TailCall];
    case FlowControl.ConditionalBranch:
      return [OpFact.Branch];
    case FlowControl.IndirectBranch:
      return [OpFact.IndirectJump, OpFact.TailCall];
    case FlowControl.Call:
    case FlowControl.IndirectCall:
      return [OpFact.Call];
    case FlowControl.Return:
      return [OpFact.Return];
    case FlowControl.Exception:
      return [OpFact.Trap];
    default:
      return [];
  }
}

let forms: Decoded[] = [];

beforeAll(() => {
  // What prints several instructions is no form of one.
  const insts = allForms().filter(({ op }) => op !== X.TableLoad && op !== X.TlsGetAddr);
  const bytes = assembled(insts);
  const factory = new InstructionInfoFactory();
  const decoded = new Instruction();
  forms = insts.map((inst, i) => {
    const decoder = new Decoder(64, bytes[i]!, DecoderOptions.None);
    decoder.decodeOut(decoded);
    decoder.free();
    if (decoded.code === Code.INVALID || decoded.length !== bytes[i]!.length)
      throw new Error(`not one instruction: ${formText(inst)}`);
    return describeForm(inst, decoded, factory.info(decoded));
  });
}, 60_000);

/** Changes no low half, which may be in use. */
const zeroUpper = V.Zeroupper as number;

/** Expects `complaint` to be null of every form; tells one form of each opcode and size. */
function expectAll(complaint: (form: Decoded) => string | null): void {
  const wrong = new Map<string, string>();
  for (const form of forms) {
    const text = complaint(form);
    if (text === null) continue;
    const { op, size } = form.inst;
    wrong.set(`${opcodeNames[op]}.${size}`, `${text}: ${formText(form.inst).trim()}`);
  }
  expect([...wrong].slice(0, 100)).toEqual([]);
}

const hex = (bits: number): string => (bits >>> 0).toString(16);
/** How two sets of bits differ; null if they do not. */
const difference = (ours: number, theirs: number): string | null =>
  ours === theirs ? null : `too many ${hex(ours & ~theirs)}, missing ${hex(theirs & ~ours)}`;

/** The result does not depend on the register, whatever the encoding says. */
function ignoresSource({ op, uses, imm, size, mem }: MInst): boolean {
  if (op === X.Or && imm === -1 && size >= 4 && mem === null) return true;
  const { same } = rowOf(op);
  return same !== SameSource.None && uses.length === 2 && uses[0]!.loc === uses[1]!.loc;
}

/** The target keeps something, which its row declares to be of no interest. */
const mergesTarget = ({ op, mem, uses }: MInst): boolean =>
  rowOf(op).upper === Upper.Lanes ||
  (rowOf(op).format === Format.Merge && (mem !== null || uses[0]!.loc < 16)) ||
  (rowOf(op).upper === Upper.Unsure && rowOf(op).format === Format.Mov);

/** Flags that instructions leave although they are said to leave none: nobody asks for them afterwards. */
const unasked: Readonly<Record<number, number>> = {
  [X.Bt]: ZF,
  [X.Bts]: ZF,
  [X.Btr]: ZF,
  [X.Btc]: ZF,
  [X.LockCmpxchg16b]: status & ~ZF,
};

const atomicFormats = new Set([Format.Atomic, Format.AtomicUnary, Format.AtomicExchange, Format.AtomicPair]);

/** Opcodes that make no single instruction, or that later steps replace. */
const formless = new Set<number>([
  X.Jmp,
  X.TableLoad,
  X.TlsGetAddr,
  X.GotBase,
  X.Nop,
  X.CallSetup,
  X.StackAlloc,
  X.CallCleanup,
  X.ProbeLoop,
  X.ProbeTo,
  X.KcfiCheck,
  X.Entry,
  X.LandingPad,
  X.DynamicAlloca,
  X.StackRestore,
  X.StackSave,
  X.FrameAddress,
  X.IncomingAddress,
  X.Keep,
  X.ImplicitDef,
  X.Cfi,
  X.PatchLabel,
  X.Asm,
]);

test("every opcode has a form, at each of its sizes", () => {
  const seen = new Set(forms.map(({ inst }) => `${opcodeNames[inst.op]}.${inst.size}`));
  const missing: string[] = [];
  for (let op = 0; op < opcodeCount; op++)
    if (!formless.has(op))
      for (const size of rowOf(op).sizes)
        if (!seen.has(`${opcodeNames[op]}.${size}`)) missing.push(`${opcodeNames[op]}.${size}`);
  expect(missing).toEqual([]);
});

describe("the table of instructions and a decoder agree about", () => {
  test("registers that are read", () => {
    expectAll(({ inst, reads }) => {
      if (inst.op === X.PushPad || inst.op === zeroUpper) return null;
      // Nobody looks at the lanes that stay in the target, nor at what zero leaves in it.
      const merged = mergesTarget(inst) ? 1 << inst.defs[0]!.loc : 0;
      if ((reads & merged) !== merged) return "does not merge";
      const ours = lowWord(usedRegisters(inst));
      return difference(ours, ignoresSource(inst) ? 0 : reads & ~(merged & ~ours));
    });
  });
  test("registers that are written", () => {
    expectAll(({ inst, mayWrite }) =>
      inst.op === zeroUpper ? null : difference(lowWord(writtenRegisters(inst)), mayWrite),
    );
  });
  test("flags that are read", () => {
    expectAll(({ inst, flagsRead }) => {
      switch (rowOf(inst.op).reads) {
        case FlagRead.None:
          return difference(0, flagsRead);
        case FlagRead.Carry:
          return difference(CF, flagsRead);
        case FlagRead.Condition:
          return difference(conditionFlags[inst.condition >> 1]!, flagsRead);
      }
    });
    expectAll(({ inst, flagsRead }) => (readsFlags(inst.op) === (flagsRead !== 0) ? null : "differs"));
  });
  test("flags that may change", () => {
    expectAll(({ inst, flagsModified }) =>
      writesFlags(inst.op) || flagsModified === 0 ? null : `writes ${hex(flagsModified)}`,
    );
  });
  test("flags of which nothing is left", () => {
    expectAll(({ inst, flagsModified }) => {
      // Callees and callers keep no flags.
      if (!killsFlags(inst) || (rowOf(inst.op).facts & flowBits) !== 0) return null;
      return difference(status & ~(unasked[inst.op] ?? 0), flagsModified);
    });
  });
  test("flags that describe the result", () => {
    expectAll(({ inst, flagsModified, flagsCleared, flagsUndefined }) => {
      // Of a constant result all are known.
      if (ignoresSource(inst)) return null;
      const { flags } = rowOf(inst.op);
      const known = flagsModified & ~flagsUndefined;
      switch (flags) {
        case FlagEffect.None:
          return difference(0, flagsModified);
        case FlagEffect.Logic:
          return flagsCleared === (CF | OF) && known === status ? null : "is not as after a test";
        case FlagEffect.Result:
          return (known & (ZF | SF | PF)) === (ZF | SF | PF) ? null : "does not describe the result";
        case FlagEffect.KeepsCarry:
          return difference(OF | ZF | SF | PF, flagsModified);
        case FlagEffect.Other:
          return null;
      }
    });
  });
  test("memory", () => {
    expectAll(({ inst, writesMemory, readsMemory, memoryBytes }) => {
      const { pure, sourceBytes, takes, format } = rowOf(inst.op);
      const isPure = pure === Pure.Always || (pure === Pure.WithoutMemory && inst.mem === null);
      if (isPure && writesMemory) return "is pure and writes memory";
      if ((x64Instructions.facts[inst.op]! & OpFact.ReadsMemory) !== 0 && inst.mem !== null && writesMemory)
        if (format !== Format.Push && format !== Format.Call) return "only reads memory and writes it";
      if (inst.mem === null || (takes & Takes.Memory) === 0 || format === Format.Pop) return null;
      const bytes = bytesRead(sourceBytes, inst.size);
      if (!readsMemory) return "reads no memory";
      return bytes === memoryBytes ? null : `${bytes} bytes of memory, not ${memoryBytes}`;
    });
  });
  test("the bits above the result", () => {
    expectAll(({ inst, namedAt, writtenBytes }) => {
      const { defs } = inst;
      if (defs.length !== 1 || defs[0]!.loc >= 16) return null;
      // The library does not tell 4 bytes of a register that is no operand from 8.
      const bytes = namedAt.get(defs[0]!.loc) ?? writtenBytes.get(defs[0]!.loc);
      switch (upperBits(inst, false)) {
        case UpperBits.None:
          return bytes === 8 || bytes === 4 ? null : `none, but ${bytes} bytes are written`;
        case UpperBits.Zero:
          return bytes === 4 || (bytes === 8 && !namedAt.has(defs[0]!.loc))
            ? null
            : `zero, but ${bytes} bytes are written`;
        case UpperBits.Kept:
          return bytes === inst.size ? null : `kept, but ${bytes} bytes are written`;
        case UpperBits.Undefined:
          return null;
      }
    });
  });
  test("the forms with memory as result", () => {
    const mnemonics = new Map<number, Set<Mnemonic>>();
    for (const { inst, mnemonic } of forms)
      mnemonics.set(inst.op, (mnemonics.get(inst.op) ?? new Set()).add(mnemonic));
    const storing = new Set(forms.filter((form) => form.writesMemory).map(({ inst }) => inst.op));
    const wrong: string[] = [];
    for (let op = 0; op < opcodeCount; op++) {
      const { memory, format } = rowOf(op);
      if (memory === noMemory || op === X.Copy) continue;
      const compares = format === Format.Compare;
      if (String([...mnemonics.get(op)!].sort()) !== String([...mnemonics.get(memory)!].sort()))
        wrong.push(`${opcodeNames[op]}: another instruction`);
      if (storing.has(memory) === compares) wrong.push(`${opcodeNames[op]}: does not store`);
    }
    expect(wrong).toEqual([]);
  });
  test("atomic operations", () => {
    expectAll(({ inst, mnemonic, isLocked }) => {
      const atomic = atomicFormats.has(rowOf(inst.op).format);
      return (isLocked || (mnemonic === Mnemonic.Xchg && inst.mem !== null)) === atomic ? null : "differs";
    });
  });
  test("the stack pointer", () => {
    expectAll(({ inst, stack, flow }) => {
      if (flow !== FlowControl.Next) return null;
      const moves = rowOf(inst.op).stack;
      const down = moves === Stack.Push || moves === Stack.PushSaved ? -8 : 0;
      const up = moves === Stack.Pop || moves === Stack.PopSaved ? 8 : 0;
      return moves === Stack.Leave || stack === down + up ? null : `moves by ${stack}`;
    });
  });
  test("where control goes", () => {
    expectAll(({ inst, flow }) => {
      const facts = rowOf(inst.op).facts & flowBits;
      return expectedFacts(flow).includes(facts) ? null : `facts ${hex(facts)}, flow ${FlowControl[flow]}`;
    });
  });
});
