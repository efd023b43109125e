/**
 * Which x86-64 instructions may move to an outlined function, and what connects one to its callers.
 *
 * In an outlined function that is called the stack pointer is 8 lower than where its code stood, so what is addressed
 * by rsp is 8 higher. An instruction that reads or writes rsp otherwise stays where it is, as do prologues and
 * epilogues, whatever mentions its own place, and what speculation or a tool must find where it was put.
 * Breaks if: an opcode relies on its place or on rsp and its row does not say so (`isa/rows/`).
 * Source: Intel SDM volume 2; System V ABI AMD64, section 3.2.2 (the red zone: functions that use it are not looked at).
 */
import { type MemOperand, MInst, type RegOperand, routineCall } from "../codegen/mir.js";
import { hasRegister, type RegisterSet } from "../codegen/register-set.js";
import { Outlining, type TargetOutlining } from "../codegen/target.js";
import type { Func } from "../ir/module.js";
import { baseDisp, lea, pop } from "./isa/build.js";
import { opOutlining } from "./isa/op-info.js";
import { X } from "./isa/ops.js";
import { RBP, RSP } from "./isa/registers.js";

const isStack = (operand: RegOperand): boolean => operand.loc === RSP;

/** Names rsp otherwise than as the base of an address. */
const namesStack = ({ defs, uses }: MInst): boolean => defs.some(isStack) || uses.some(isStack);

const addressesStack = (mem: MemOperand | null): boolean => mem?.base?.loc === RSP;

function callKind({ marks, extra }: MInst): Outlining {
  // Marks are about speculation and the target; what returns twice has to find its frame.
  if (marks !== 0 || extra?.kind !== "call" || extra.returnsTwice || extra.unwind !== null)
    return Outlining.Never;
  return Outlining.Call;
}

function kind(inst: MInst): Outlining {
  const known: Outlining = opOutlining[inst.op]!;
  switch (known) {
    case Outlining.Call:
      return callKind(inst);
    case Outlining.Exit:
      return inst.marks !== 0 || addressesStack(inst.mem) ? Outlining.Never : known;
    case Outlining.Push:
    case Outlining.Pop:
      return addressesStack(inst.mem) || namesStack(inst) ? Outlining.Never : known;
    case Outlining.Plain:
      return namesStack(inst) ? Outlining.Never : known;
    default:
      return known;
  }
}

/** Attributes of functions whose entries, exits or every instruction somebody counts on. */
const refusedAttributes = [
  "fentry-call",
  "instrument-function-entry",
  "instrument-function-entry-inlined",
  "function-instrument",
  "xray-instruction-threshold",
  "split-stack",
];

function refuses(fn: Func): boolean {
  const attributes = fn.attributes.fn;
  return (
    fn.section !== "" ||
    attributes.has("nooutline") ||
    attributes.has("naked") ||
    attributes.has("optnone") ||
    attributes.has("fn_ret_thunk_extern") ||
    (attributes.string("zero-call-used-regs") ?? "skip") !== "skip" ||
    refusedAttributes.some((name) => attributes.string(name) !== undefined) ||
    /\+(harden-sls|retpoline|lvi)/.test(attributes.string("target-features") ?? "")
  );
}

function transfer(op: X, name: string): MInst {
  const inst = new MInst(op, 8);
  inst.symbol = { kind: "direct", target: { kind: "external", name } };
  inst.imm = 0;
  inst.extra = routineCall;
  return inst;
}

/** Registers whose pop takes one byte. */
const legacy = 8;

export const x64Outlining: TargetOutlining = {
  kind,
  opcodes: opOutlining,
  refuses,
  usesStack: ({ mem }) => addressesStack(mem),
  stackOffset: ({ mem }) => (mem!.index === null ? mem!.disp : Number.NEGATIVE_INFINITY),
  lowered(inst, bytes) {
    if (!addressesStack(inst.mem)) return inst;
    inst.mem!.disp += bytes;
    return inst.mem!.disp === (inst.mem!.disp | 0) ? inst : null;
  },
  returnAddress: 8,
  pushBytes: 8,
  call: (name) => transfer(X.Call, name),
  jump: (name) => transfer(X.TailCall, name),
  return: () => new MInst(X.Ret, 8),
  isPlainReturn: ({ op, marks, imm, mem }) => op === X.Ret && marks === 0 && imm === null && mem === null,
  popped(inst) {
    const isPop = inst.op === X.Pop || inst.op === X.PopSaved;
    return isPop && inst.mem === null && !namesStack(inst) ? inst.defs[0]!.loc : -1;
  },
  exitFor(call) {
    call.op = call.op === X.Call ? X.TailCall : X.TailCallIndirect;
    return call;
  },
  padding: 8,
  pad(dead: RegisterSet) {
    const pad = new MInst(X.PushPad, 8);
    for (let register = 0; register < legacy; register++)
      if (register !== RSP && register !== RBP && hasRegister(dead, register)) return [pad, pop(register)];
    return [pad, lea(8, RSP, baseDisp(RSP, 8))];
  },
};
