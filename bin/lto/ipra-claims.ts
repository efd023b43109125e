/**
 * What code generation promises of a finished function, in the terms of the checker (formats/code/claims.ts):
 * for each call and jump in the order of the code, the registers it may change, its results and arguments.
 */
import { type FunctionClaim, type SiteClaim, unknownTarget } from "../../formats/code/claims.js";
import type { IndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import {
  type CallInfo,
  forEachUse,
  type MBlock,
  type MFunction,
  type MInst,
  type RegMask,
} from "../../lto/codegen/mir.js";
import type { CodegenOptions } from "../../lto/pipeline.js";
import { X } from "../../lto/x64/isa/ops.js";

/** Inline assembly that calls something or leaves; jumps to its own numbered labels stay inside. */
const transfersControl = /\b(call|jmp|j[a-z]{1,3}|loop\w*|ret)[lq]?\b(?!\s+\d+[bf]\b)/;

/** Registers of an allocated function that somewhere hold values which the IR leaves undefined. */
function undefinedRegisters(mf: MFunction): RegMask {
  let mask = 0;
  for (const { insts } of mf.blocks)
    for (const { op, defs } of insts)
      if (op === X.ImplicitDef && defs[0]!.loc >= 0) mask |= 1 << defs[0]!.loc;
  return mask;
}

/** What is known of calls through pointers, by names. */
export interface IndirectNames {
  /** Functions of each set (`CallInfo.calleeSet`). */
  readonly targets: readonly (readonly string[])[];
  /** Functions whose address is taken, but which only calls listed with them can enter. */
  readonly closed: ReadonlySet<string>;
}

/** @param names of the functions, by number */
export function indirectNames({ sets, closed }: IndirectCalls, names: readonly string[]): IndirectNames {
  return {
    targets: sets.map(({ members, unknown }) => [
      ...members.map((fn) => names[fn]!),
      ...(unknown ? [unknownTarget] : []),
    ]),
    closed: new Set(names.filter((_, fn) => closed[fn] === 1)),
  };
}

/**
 * The claims of a function after its last pass; of sites that call through a pointer, `targets` is filled in later.
 * @param undefinedRegisters of it as allocated
 */
function functionClaim(
  mf: MFunction,
  undefinedRegisters: RegMask,
  sets: Map<SiteClaim, number>,
): FunctionClaim {
  const sites: SiteClaim[] = [];
  let results = 0;
  let opaque = false;
  for (const block of mf.blocks) {
    const last = lastCallWithoutReturn(block);
    for (const inst of block.insts) {
      const { op, extra } = inst;
      if (op === X.Ret) results |= uses(inst);
      else if (extra?.kind === "asm") opaque ||= transfersControl.test(extra.template);
      else if (op === X.JmpIndirect) sites.push(jumpClaim(inst));
      else if (extra?.kind === "call") {
        const site = callClaim(inst, extra, inst !== last);
        sites.push(site);
        if (extra.calleeSet >= 0) sets.set(site, extra.calleeSet);
      }
    }
  }
  return {
    symbol: mf.name,
    sites: opaque ? null : sites,
    results,
    undefinedRegisters,
    closed: false,
  };
}

/** The call a block ends with when nothing follows: the program does not expect it to return. */
function lastCallWithoutReturn(block: MBlock): MInst | null {
  if (block.succs.length > 0) return null;
  const inst = block.insts.findLast((i) => i.op !== X.Cfi);
  return inst !== undefined && inst.extra?.kind === "call" ? inst : null;
}

/** Collects the claims of every function that code generation finishes. */
export class ClaimCollector {
  private readonly finished: FunctionClaim[] = [];
  /** Set of callees of calls through pointers. */
  private readonly sets = new Map<SiteClaim, number>();
  /** `undefinedRegisters` of functions that wait to be finished. */
  private readonly undefinedValues = new Map<MFunction, RegMask>();

  /** To be called after each stage, as `CodegenOptions.observe`. */
  readonly observe: NonNullable<CodegenOptions["observe"]> = (stage, mf) => {
    if (stage === "allocate") this.undefinedValues.set(mf, undefinedRegisters(mf));
    else if (stage === "finish")
      this.finished.push(functionClaim(mf, this.undefinedValues.get(mf) ?? 0, this.sets));
  };

  /** The claims, after code generation. */
  claims({ targets, closed }: IndirectNames): FunctionClaim[] {
    const named = (site: SiteClaim): SiteClaim => {
      const set = this.sets.get(site);
      return set === undefined ? site : { ...site, targets: targets[set]! };
    };
    return this.finished.map((claim) => ({
      ...claim,
      sites: claim.sites?.map(named) ?? null,
      closed: closed.has(claim.symbol),
    }));
  }
}

function uses(inst: MInst): number {
  let mask = 0;
  forEachUse(inst, (use) => {
    if (use.loc >= 0) mask |= 1 << use.loc;
  });
  return mask;
}

function jumpClaim(inst: MInst): SiteClaim {
  return {
    kind: "jump",
    callee: null,
    targets: null,
    clobbers: 0,
    results: 0,
    arguments: uses(inst),
    returns: true,
  };
}

function callClaim(inst: MInst, { callee, noReturn }: CallInfo, comesBack: boolean): SiteClaim {
  const tail = inst.op === X.TailCall || inst.op === X.TailCallIndirect;
  let results = 0;
  for (const def of inst.defs) if (def.loc >= 0) results |= 1 << def.loc;
  return {
    kind: tail ? "tail" : "call",
    callee: callee === null ? null : callee.name,
    targets: null,
    clobbers: inst.clobbers,
    results,
    arguments: uses(inst),
    returns: tail || (comesBack && !noReturn),
  };
}
