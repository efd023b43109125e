/**
 * Outlined functions, and the instructions that stand for them where their code was.
 *
 * A function's name comes from its content, so that it stays the same when other code changes. The call of one says
 * which registers its code reads, sets and changes, as a call of a function with a convention of its own would: what
 * looks at the code afterwards needs to know nothing else. Linear in the code.
 */
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import { Func } from "../../ir/module.js";
import { functionType, voidType } from "../../ir/types.js";
import { dumpFunction } from "../dump.js";
import { type CallInfo, MFunction, type MInst, RegOperand, type UnwindTables } from "../mir.js";
import { minus, noRegisters, type RegisterSet, registerSet, registersIn, union } from "../register-set.js";
import { OpFact, type Target } from "../target.js";
import { deadAfter, type OutlineCandidate, resultsOf } from "./candidates.js";
import type { Dictionary } from "./sequence.js";

/** Says who made the function, wherever its name shows. */
const prefix = "outlined.";

const nounwind = new AttributeList(
  new AttributeSet(new Map([["nounwind", true]]), new Map()),
  noAttributes,
  [],
);

/** Two hashes of 32 bits each (Fowler, Noll, Vo, FNV-1a, with two offsets). */
function contentHash(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x3c6ef372;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    a = Math.imul(a ^ char, 0x01000193);
    b = Math.imul(b ^ char, 0x01000193) ^ (b >>> 15);
  }
  return ((a >>> 0).toString(16).padStart(8, "0") + (b >>> 0).toString(16).padStart(8, "0")).slice(0, 12);
}

export interface Outlined {
  readonly mf: MFunction;
  /** What stands where its code was. */
  readonly transfer: MInst;
}

/** @param isTaken whether a symbol has the name already */
export function outlinedFunction(
  candidate: OutlineCandidate,
  dictionary: Dictionary,
  target: Target,
  unwind: UnwindTables,
  isTaken: (name: string) => boolean,
): Outlined {
  const { form, symbols, padded } = candidate;
  const { outlining } = target;
  const original = Array.from(symbols, (symbol) => {
    const inst = dictionary.instruction(symbol);
    inst.origin = 0;
    return inst;
  });
  const effect = effectOf(original, target);
  const lower = form === "jump" ? 0 : outlining.returnAddress + (padded ? outlining.padding : 0);
  const insts = original.map((inst) => (lower === 0 ? inst : outlining.lowered(inst, lower)!));
  const last = insts.at(-1)!;
  if (form === "call") {
    if (padded) {
      const [before, behind] = outlining.pad(deadAfter(symbols, dictionary, target));
      insts.unshift(before);
      insts.push(behind);
    }
    insts.push(outlining.return());
  }
  const call = form === "thunk" && last.extra?.kind === "call" ? last.extra : null;
  if (form === "thunk") insts[insts.length - 1] = outlining.exitFor(last);
  const mf = make(insts, unwind, target, isTaken);
  mf.hasCalls = effect.calls > 0;
  const transfer = form === "jump" ? outlining.jump(mf.name) : outlining.call(mf.name);
  transfer.uses = operands(effect.reads);
  transfer.defs = form === "jump" ? [] : operands(effect.sets);
  transfer.clobbers = effect.changes;
  transfer.extra = {
    ...(transfer.extra as CallInfo),
    noUnwind: effect.noUnwind,
    noReturn: call?.noReturn ?? false,
    pushed: call?.pushed ?? 0,
    hasStored: call?.hasStored ?? false,
  };
  return { mf, transfer };
}

const operands = (set: RegisterSet): RegOperand[] => registersIn(set).map((r) => RegOperand.physical(r));

interface Effect {
  /** Registers whose values it starts from. */
  readonly reads: RegisterSet;
  /** Registers that it leaves a value in. */
  readonly sets: RegisterSet;
  /** Registers whose values are not the same after it. */
  readonly changes: RegisterSet;
  readonly calls: number;
  readonly noUnwind: boolean;
}

function effectOf(insts: readonly MInst[], { instructions }: Target): Effect {
  let reads = noRegisters;
  let sets = noRegisters;
  let changes = noRegisters;
  let calls = 0;
  let noUnwind = true;
  for (const inst of insts) {
    reads = union(reads, minus(instructions.reads(inst), changes));
    const writes = instructions.writes(inst);
    const isCall = inst.extra?.kind === "call";
    sets = isCall ? union(minus(sets, writes), resultsOf(inst)) : union(sets, writes);
    changes = union(changes, writes);
    if (!isCall) continue;
    calls++;
    noUnwind &&= (inst.extra as CallInfo).noUnwind;
  }
  return { reads, sets, changes, calls, noUnwind };
}

function make(
  insts: MInst[],
  unwind: UnwindTables,
  target: Target,
  isTaken: (name: string) => boolean,
): MFunction {
  const draft = codeFunction("", insts, unwind, target);
  const hash = contentHash(`${unwind} ${dumpFunction(draft)}`);
  let name = prefix + hash;
  for (let n = 2; isTaken(name); n++) name = `${prefix}${hash}.${n}`;
  return codeFunction(name, insts, unwind, target);
}

/** A function of one block of final code, of which nothing but the code is known. */
export function codeFunction(name: string, insts: MInst[], unwind: UnwindTables, target: Target): MFunction {
  const fn = new Func(name, functionType(voidType, []));
  fn.linkage = "internal";
  fn.attributes = nounwind;
  const mf = new MFunction(fn, name, "minsize", target);
  mf.unwind = unwind;
  mf.outlined = true;
  const block = mf.newBlock();
  block.insts = insts;
  const last = insts.at(-1)!;
  if ((target.instructions.facts[last.op]! & OpFact.Return) !== 0)
    mf.resultRegisters = registerSet(...last.uses.map((use) => use.loc));
  return mf;
}
