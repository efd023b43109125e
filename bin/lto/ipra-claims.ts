/**
 * What code generation promises of a finished function, in the terms of the checker (formats/code/claims.ts):
 * for each call and jump in the order of the code, the registers it may change, its results and arguments.
 */

import { type FunctionClaim, type SiteClaim, unknownTarget } from "../../formats/code/claims.js";
import type { IndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import { AskedConvention } from "../../lto/codegen/asked-conventions.js";
import { fallingExit } from "../../lto/codegen/late/tail-jumps.js";
import { type CallInfo, forEachUse, type MBlock, type MFunction, type MInst } from "../../lto/codegen/mir.js";
import {
  lowWord,
  minus,
  noRegisters,
  type RegisterSet,
  single,
  withRegister,
} from "../../lto/codegen/register-set.js";
import { OpFact } from "../../lto/codegen/target.js";

/** Inline assembly that calls something or leaves; jumps to its own numbered labels stay inside. */
const transfersControl = /\b(call|jmp|j[a-z]{1,3}|loop\w*|ret)[lq]?\b(?!\s+\d+[bf]\b)/;

/** Registers of an allocated function that somewhere hold values which the IR leaves undefined. */
export function undefinedRegisters(mf: MFunction): RegisterSet {
  const { facts } = mf.target.instructions;
  let set = noRegisters;
  for (const { insts } of mf.blocks)
    for (const { op, defs } of insts)
      if ((facts[op]! & OpFact.Undefined) !== 0 && defs[0]!.loc >= 0) set = withRegister(set, defs[0]!.loc);
  return set;
}

/** What is known of calls through pointers, by names. */
export interface IndirectNames {
  /** Functions of each set (`CallInfo.calleeSet`). */
  readonly targets: readonly (readonly string[])[];
  /** Functions whose address is taken, but which only calls listed with them can enter. */
  readonly closed: ReadonlySet<string>;
  /** Functions that unknown code cannot enter. */
  readonly sealed: ReadonlySet<string>;
}

/** @param names of the functions, by number  @param open 1: unknown code may enter the function */
export function indirectNames(
  { sets, closed }: IndirectCalls,
  names: readonly string[],
  open: Uint8Array,
): IndirectNames {
  return {
    targets: sets.map(({ members, unknown }) => [
      ...members.map((fn) => names[fn]!),
      ...(unknown ? [unknownTarget] : []),
    ]),
    closed: new Set(names.filter((_, fn) => closed[fn] === 1)),
    sealed: new Set(names.filter((_, fn) => open[fn] === 0)),
  };
}

const savesNothing = ({ fn }: MFunction): boolean =>
  fn.kind === "function" && fn.callingConvention === AskedConvention.PreserveNone;
const givenAway = ({ target: { registers } }: MFunction): RegisterSet =>
  minus(registers.calleeSaved, single(registers.framePointer));

/**
 * The claims of a function after its last pass, without what only the program knows: `undefinedRegisters`, `closed`,
 * and the targets of calls through pointers.
 * @returns also the set of callees of each site, -1 where it has none
 */
export function functionClaim(mf: MFunction): { claim: FunctionClaim; sets: number[] } {
  const { facts } = mf.target.instructions;
  const sites: SiteClaim[] = [];
  const sets: number[] = [];
  let results = 0;
  let opaque = false;
  for (const block of mf.blocks) {
    const last = lastCallWithoutReturn(block, mf.target.frame.directive);
    for (const inst of block.insts) {
      const { op, extra } = inst;
      if ((facts[op]! & OpFact.Return) !== 0) results |= uses(inst);
      else if (extra?.kind === "asm") opaque ||= transfersControl.test(extra.template);
      else if ((facts[op]! & OpFact.IndirectJump) !== 0) {
        sites.push(jumpClaim(inst));
        sets.push(-1);
      } else if (extra === null && (facts[op]! & OpFact.TailCall) !== 0) {
        // The function's own epilogue, which others share.
        results |= uses(inst);
      } else if (extra?.kind === "call") {
        sites.push(callClaim(inst, extra, inst !== last, facts));
        sets.push(extra.calleeSet);
      }
    }
  }
  const exit = fallingExit(mf);
  const claim: FunctionClaim = {
    symbol: mf.name,
    sites: opaque ? null : sites,
    results,
    undefinedRegisters: 0,
    closed: false,
    sealed: false,
    ...(savesNothing(mf) ? { givenAway: lowWord(givenAway(mf)) } : {}),
    outlined: mf.outlined,
    ...(exit === null ? {} : { fallsInto: typeof exit.to === "string" ? exit.to : exit.to.name }),
    unwind: mf.unwind,
  };
  return { claim, sets };
}

/** The call a block ends with when nothing follows: the program does not expect it to return. */
function lastCallWithoutReturn(block: MBlock, directive: number): MInst | null {
  if (block.succs.some((next) => !next.landingPad)) return null;
  const inst = block.insts.findLast((i) => i.op !== directive);
  return inst !== undefined && inst.extra?.kind === "call" ? inst : null;
}

/** What a thread reports of a function, once allocated and once finished. Plain data. */
export type ClaimReport =
  | { readonly kind: "undefined"; readonly symbol: string; readonly registers: RegisterSet }
  | { readonly kind: "claim"; readonly claim: FunctionClaim; readonly sets: readonly number[] };

/** Collects the claims of every function that code generation finishes, from whatever thread they come. */
export class ClaimCollector {
  private readonly finished: Extract<ClaimReport, { kind: "claim" }>[] = [];
  private readonly undefinedRegisters = new Map<string, RegisterSet>();

  accept(report: ClaimReport): void {
    if (report.kind === "claim") this.finished.push(report);
    else this.undefinedRegisters.set(report.symbol, report.registers);
  }

  /** The claims, after code generation. */
  claims({ targets, closed, sealed }: IndirectNames): FunctionClaim[] {
    return this.finished.map(({ claim, sets }) => ({
      ...claim,
      sites:
        claim.sites?.map((site, i) => (sets[i]! < 0 ? site : { ...site, targets: targets[sets[i]!]! })) ??
        null,
      undefinedRegisters: lowWord(this.undefinedRegisters.get(claim.symbol) ?? noRegisters),
      closed: closed.has(claim.symbol),
      sealed: sealed.has(claim.symbol),
    }));
  }
}

/** Of registers below, claims say what becomes of them; others no call keeps, nor takes. */
const claimed = 32;

function uses(inst: MInst): number {
  let mask = 0;
  forEachUse(inst, (use) => {
    if (use.loc >= 0 && use.loc < claimed) mask |= 1 << use.loc;
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
    throws: false,
  };
}

function callClaim(
  inst: MInst,
  { callee, noReturn, noUnwind }: CallInfo,
  comesBack: boolean,
  facts: Uint32Array,
): SiteClaim {
  const tail = (facts[inst.op]! & OpFact.TailCall) !== 0;
  let results = 0;
  for (const def of inst.defs) if (def.loc >= 0 && def.loc < claimed) results |= 1 << def.loc;
  const target = inst.symbol?.target;
  // Code that was outlined goes by its name.
  const outlined = target?.kind === "external" ? target.name : null;
  return {
    kind: tail ? "tail" : "call",
    callee: callee === null ? outlined : callee.name,
    targets: null,
    clobbers: lowWord(inst.clobbers),
    results,
    arguments: uses(inst),
    returns: (tail || comesBack) && !noReturn,
    throws: !noUnwind,
  };
}
