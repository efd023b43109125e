/**
 * Hints: what LLVM's metadata says of an instruction, as typed fields.
 *
 * They are of two kinds. Advice (weights, loop hints, `nontemporal`, `unpredictable`) may be wrong without harm. Claims
 * are facts that code may rely on: where one is wrong, the program's behaviour is undefined, or a value is poison
 * (`range`, `nonnull`, `align` without `noundef`). Any hint may be dropped at any time; one that is kept must stay true:
 *
 *   edit                                               invalidates
 *   an instruction takes the place of an equal one     what they do not share: `mergeHints`
 *   executing one where it might not have been         claims of undefined behaviour: `dropUBImplying`
 *   other operand for the address of an access         everything but `nontemporal`, unless it is the same address
 *   other type or width of an access                   `tbaa`, `range`, `nonnull`, `align`, `noundef`
 *   reordering or removing successors of a branch,
 *     cases of a switch, arms of a select              `weights`, which are in the order of the blocks
 *   inverting the condition of a branch or select      `weights`: swap them with the arms
 *   copying a body, or code with its scope             `scopes` and `noalias`: see `hints/scopes.ts`
 *   a loop gets a transformation, or is no loop        `loop`
 *   other callees for a call through a pointer         `callees`
 *
 * An instruction without hints has null. Objects are immutable and shared; most consist of a type tag alone, and there
 * is one such object for each tag. Compare with `sameHints`.
 */

import { intersectScopes, joinScopes, type ScopeList } from "./hints/scopes.js";
import { commonTag, type TbaaTag } from "./hints/tbaa.js";
import type { Func, GlobalValue } from "./module.js";

/** Bits of `Hints.flags`. */
export const HintFlag = {
  /** load: the pointer is not null, else the result is poison. */
  NonNull: 1 << 0,
  /** load: undefined behaviour if the result is undef or poison. */
  NoUndef: 1 << 1,
  /** load: while the place can be read at all, it holds this value. */
  InvariantLoad: 1 << 2,
  /** load, store: all such accesses through one pointer see one value. */
  InvariantGroup: 1 << 3,
  /** load, store: not worth a place in the cache. */
  Nontemporal: 1 << 4,
  /** Branch, switch, select: prediction will fail often. */
  Unpredictable: 1 << 5,
  /** `weights` come from what the source says rather than from a run. */
  ExpectedWeights: 1 << 6,
} as const;

/** What the source or an earlier pass asks of a loop; on the branch back to its head. */
export interface LoopHints {
  /** A loop without side effects may be assumed to end. */
  readonly mustProgress: boolean;
  readonly unroll: "" | "enable" | "disable" | "full";
  /** Copies of the body asked for; 0: none said. */
  readonly unrollCount: number;
  readonly noRuntimeUnroll: boolean;
  readonly vectorize: "" | "enable" | "disable";
  readonly vectorWidth: number;
  readonly interleave: number;
  /** Has been vectorised: not to be done again. */
  readonly isVectorized: boolean;
  readonly distribute: "" | "enable" | "disable";
}

export const noLoopHints: LoopHints = {
  mustProgress: false,
  unroll: "",
  unrollCount: 0,
  noRuntimeUnroll: false,
  vectorize: "",
  vectorWidth: 0,
  interleave: 0,
  isVectorized: false,
  distribute: "",
};

/** What a call through a pointer can reach; members that have left the module cannot be. They are not kept for it. */
export interface CalleeSet {
  readonly members: readonly Func[];
  /** Code that is not known may be reached besides; LLVM's `!callees` cannot say so. */
  readonly open: boolean;
}

/** The fields of `Hints`; "none" is 0, null or no bits. */
export interface HintFields {
  readonly flags: number;
  /** load of a pointer: alignment of what it points to, in bytes. */
  readonly align: number;
  /** load of a pointer: so many bytes after it can be read (or, for the second, it is null). */
  readonly dereferenceable: number;
  readonly dereferenceableOrNull: number;
  readonly tbaa: TbaaTag | null;
  readonly scopes: ScopeList | null;
  readonly noalias: ScopeList | null;
  /** load, call: the result is in one of these, [from, to) in pairs, wrapping; sign-extended from its width. */
  readonly range: readonly bigint[] | null;
  /** One a successor (or arm of a select); of a call, how often it is executed. */
  readonly weights: readonly number[] | null;
  readonly loop: LoopHints | null;
  readonly callees: CalleeSet | null;
  /** Floating-point results may be off by so many units in the last place; 0: as exact as ever. */
  readonly accuracy: number;
}

export const noHints: HintFields = {
  flags: 0,
  align: 0,
  dereferenceable: 0,
  dereferenceableOrNull: 0,
  tbaa: null,
  scopes: null,
  noalias: null,
  range: null,
  weights: null,
  loop: null,
  callees: null,
  accuracy: 0,
};

export class Hints implements HintFields {
  readonly flags: number;
  readonly align: number;
  readonly dereferenceable: number;
  readonly dereferenceableOrNull: number;
  readonly tbaa: TbaaTag | null;
  readonly scopes: ScopeList | null;
  readonly noalias: ScopeList | null;
  readonly range: readonly bigint[] | null;
  readonly weights: readonly number[] | null;
  readonly loop: LoopHints | null;
  readonly callees: CalleeSet | null;
  readonly accuracy: number;

  constructor(fields: HintFields) {
    this.flags = fields.flags;
    this.align = fields.align;
    this.dereferenceable = fields.dereferenceable;
    this.dereferenceableOrNull = fields.dereferenceableOrNull;
    this.tbaa = fields.tbaa;
    this.scopes = fields.scopes;
    this.noalias = fields.noalias;
    this.range = fields.range;
    this.weights = fields.weights;
    this.loop = fields.loop;
    this.callees = fields.callees;
    this.accuracy = fields.accuracy;
  }
  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }
}

/** By the tag's number. */
const ofTags: Hints[] = [];

/** The object of an access of which only its type tag is known. */
export function hintsOfTag(tag: TbaaTag): Hints {
  return (ofTags[tag.id] ??= new Hints({ ...noHints, tbaa: tag }));
}

/** Hints with these fields; null when they say nothing. */
export function makeHints(fields: HintFields): Hints | null {
  const { flags, align, dereferenceable, dereferenceableOrNull, tbaa, accuracy } = fields;
  const { scopes, noalias, range, weights, loop, callees } = fields;
  const numbers = flags | align | dereferenceable | dereferenceableOrNull | (accuracy === 0 ? 0 : 1);
  const rest = scopes ?? noalias ?? range ?? weights ?? loop ?? callees;
  // The numbers are no bits, but zero together only when each is, or past 2^32.
  if (numbers === 0 && rest === null && dereferenceable === 0 && dereferenceableOrNull === 0)
    return tbaa === null ? null : hintsOfTag(tbaa);
  return new Hints(fields);
}

/** The hints with some fields other. */
export const withHints = (hints: Hints | null, fields: Partial<HintFields>): Hints | null =>
  makeHints({ ...(hints ?? noHints), ...fields });

const sameList = <T>(a: readonly T[] | null, b: readonly T[] | null): boolean =>
  a === b || (a !== null && b !== null && a.length === b.length && a.every((item, i) => item === b[i]));

const loopKeys = Object.keys(noLoopHints) as (keyof LoopHints)[];
const sameLoop = (a: LoopHints | null, b: LoopHints | null): boolean =>
  a === b || (a !== null && b !== null && loopKeys.every((key) => a[key] === b[key]));

const sameCallees = (a: CalleeSet | null, b: CalleeSet | null): boolean =>
  a === b || (a !== null && b !== null && a.open === b.open && sameList(a.members, b.members));

/** Whether two instructions are told the same. */
export function sameHints(a: Hints | null, b: Hints | null): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  return (
    a.flags === b.flags &&
    a.align === b.align &&
    a.dereferenceable === b.dereferenceable &&
    a.dereferenceableOrNull === b.dereferenceableOrNull &&
    a.accuracy === b.accuracy &&
    a.tbaa === b.tbaa &&
    sameList(a.scopes, b.scopes) &&
    sameList(a.noalias, b.noalias) &&
    sameList(a.range, b.range) &&
    sameList(a.weights, b.weights) &&
    sameLoop(a.loop, b.loop) &&
    sameCallees(a.callees, b.callees)
  );
}

/** Hints with other functions in place of the callees; a set with something else than a function says nothing. */
export function mapCallees(hints: Hints, map: (fn: Func) => GlobalValue): Hints | null {
  const { callees } = hints;
  if (callees === null) return hints;
  const members: Func[] = [];
  for (const member of callees.members) {
    const mapped = map(member);
    if (mapped.kind !== "function") return withHints(hints, { callees: null });
    if (!members.includes(mapped)) members.push(mapped);
  }
  return sameList(members, callees.members) ? hints : withHints(hints, { callees: { ...callees, members } });
}

/** What an instruction must share with the one it replaces; unlike the others, these hold of either alone. */
const anyFlags = HintFlag.Unpredictable;

/**
 * Hints for an instruction that stands for two equal ones, wherever it ends up: what both say, at the weaker
 * strength. (LLVM's combineMetadata with the first one moving.)
 */
export function mergeHints(a: Hints | null, b: Hints | null): Hints | null {
  if (a === b) return a;
  if (a === null || b === null) {
    const flags = ((a ?? b)?.flags ?? 0) & anyFlags;
    return flags === 0 ? null : makeHints({ ...noHints, flags });
  }
  const { flags } = a;
  const dereferenceable = Math.min(a.dereferenceable, b.dereferenceable);
  const unlessNull = Math.min(orNull(a), orNull(b));
  return makeHints({
    flags: (flags & b.flags) | ((flags | b.flags) & anyFlags),
    align: Math.min(a.align, b.align),
    dereferenceable,
    dereferenceableOrNull: unlessNull > dereferenceable ? unlessNull : 0,
    tbaa: commonTag(a.tbaa, b.tbaa),
    scopes: joinScopes(a.scopes, b.scopes),
    noalias: intersectScopes(a.noalias, b.noalias),
    range: joinRanges(a.range, b.range),
    weights: joinWeights(a.weights, b.weights),
    loop: sameLoop(a.loop, b.loop) ? a.loop : null,
    callees: joinCallees(a.callees, b.callees),
    accuracy: a.accuracy === 0 || b.accuracy === 0 ? 0 : Math.min(a.accuracy, b.accuracy),
  });
}

/** Dereferenceable pointers are so unless null, too. */
const orNull = (hints: Hints): number => Math.max(hints.dereferenceable, hints.dereferenceableOrNull);

/** Only equal lists are kept: that loses little, since both accesses read one place. */
const joinRanges = (a: Hints["range"], b: Hints["range"]): Hints["range"] => (sameList(a, b) ? a : null);

/** Both are executed, or the one for both: their counts add up. */
function joinWeights(a: Hints["weights"], b: Hints["weights"]): Hints["weights"] {
  if (a === null || b === null || a.length !== b.length) return null;
  return a.map((weight, i) => Math.min(weight + b[i]!, 0xffffffff));
}

function joinCallees(a: CalleeSet | null, b: CalleeSet | null): CalleeSet | null {
  if (a === null || b === null || sameCallees(a, b)) return b === null ? null : a;
  return { members: [...new Set([...a.members, ...b.members])], open: a.open || b.open };
}

/** Claims that are about the result alone: where they fail it is poison, which nobody need look at. */
const poisonFlags =
  HintFlag.NonNull | HintFlag.Nontemporal | HintFlag.Unpredictable | HintFlag.ExpectedWeights;

/**
 * Hints for an instruction that will be executed where it might not have been before, so that what was undefined
 * behaviour there must not become so here. Claims on the value of the result stay, at the price of poison.
 */
export function dropUBImplying(hints: Hints | null): Hints | null {
  if (hints === null) return null;
  const { flags, align, range, weights, loop, accuracy } = hints;
  return makeHints({ ...noHints, flags: flags & poisonFlags, align, range, weights, loop, accuracy });
}

/** Hints for a branch, switch or select whose arms are now these of before, in this order. */
export function permuteWeights(hints: Hints | null, order: readonly number[]): Hints | null {
  if (hints?.weights == null) return hints;
  const { weights } = hints;
  return withHints(hints, { weights: order.map((arm) => weights[arm] ?? 0) });
}
