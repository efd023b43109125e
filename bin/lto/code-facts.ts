/** What a size report says of one function's final code; gathered in the thread that has it. Plain data. */
import { stackBytes, unwindBytes } from "../../lto/codegen/late/cfi.js";
import { type CodeSizes, codeSizes } from "../../lto/codegen/late/code-origins.js";
import type { MFunction, SymbolRef } from "../../lto/codegen/mir.js";
import { noRegisters, type RegisterSet, union, withRegister } from "../../lto/codegen/register-set.js";
import { OpFact } from "../../lto/codegen/target.js";

export interface CodeFacts {
  readonly symbol: string;
  /** Bytes of code, and of them what was written elsewhere. */
  readonly sizes: CodeSizes;
  /** Of unwind tables, estimated, without what every description has. */
  readonly unwind: number;
  /** On the stack, with its return address; null: not known before run time. */
  readonly stack: number | null;
  /** Registers that its own instructions change, saved ones as well. */
  readonly own: RegisterSet;
  /** Names of what it calls or jumps to, and of what else it mentions; each once. */
  readonly calls: readonly string[];
  readonly mentions: readonly string[];
  /** It calls by pointer, to any or to listed functions; it has assembly. */
  readonly callsPointers: boolean;
  readonly hasAssembly: boolean;
  /** Of its convention, where that is not the platform's. */
  readonly remark: string;
}

/** @param mf laid out */
export function codeFacts(mf: MFunction): CodeFacts {
  const { facts } = mf.target.instructions;
  const calls = new Set<string>();
  const mentions = new Set<string>();
  let own = noRegisters;
  let callsPointers = false;
  let hasAssembly = false;
  const mention = (ref: SymbolRef | null, into: Set<string>): void => {
    if (ref?.target.kind === "global") into.add(ref.target.global.name);
    else if (ref?.target.kind === "external") into.add(ref.target.name);
  };
  for (const { insts } of mf.blocks)
    for (const inst of insts) {
      const { op, defs, extra, symbol, mem } = inst;
      const fact = facts[op]!;
      const isCall = extra?.kind === "call";
      const leaves = isCall || (fact & (OpFact.TailCall | OpFact.Branch)) !== 0;
      if (!isCall) own = union(own, inst.clobbers);
      if (!isCall && (fact & OpFact.Entry) === 0)
        for (const def of defs) if (def.loc >= 0) own = withRegister(own, def.loc);
      mention(symbol, leaves ? calls : mentions);
      mention(mem?.symbol ?? null, mentions);
      if (isCall && extra.callee !== null) calls.add(extra.callee.name);
      else if (isCall && symbol === null) callsPointers = true;
      if (extra?.kind === "asm") {
        hasAssembly = true;
        for (const operand of extra.operands)
          if (operand.kind === "symbol") mention(operand.symbol, mentions);
          else if (operand.kind === "mem") mention(operand.mem.symbol, mentions);
      }
    }
  return {
    symbol: mf.name,
    sizes: codeSizes(mf),
    unwind: mf.unwind === "async" ? unwindBytes(mf) : 0,
    stack: stackBytes(mf),
    own,
    calls: [...calls],
    mentions: [...mentions],
    callsPointers,
    hasAssembly,
    remark: mf.remark,
  };
}
