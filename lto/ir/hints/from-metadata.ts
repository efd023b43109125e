/**
 * LLVM's metadata to typed hints (LLVM Language Reference, "Metadata").
 *
 * Whoever reads a module shows its metadata as a graph of numbered entries, which are looked at when an instruction
 * refers to them. What this file does not understand, or what does not fit the instruction, says nothing: hints may
 * be dropped. Type tags and types, which many accesses share, are translated once for each number.
 *
 * Time: linear in attachments, plus the parts of the types they mention for the first time.
 */
import { kcfiAttribute, sanitizeAttribute, withFunctionString } from "../attributes.js";
import {
  type CalleeSet,
  type HintFields,
  HintFlag,
  type Hints,
  hintsOfTag,
  type LoopHints,
  makeHints,
  noHints,
  noLoopHints,
} from "../hints.js";
import { type Inst, Op } from "../instructions.js";
import type { Func, GlobalVariable } from "../module.js";
import type { Constant } from "../values.js";
import { AliasDomain, AliasScope, type ScopeList } from "./scopes.js";
import { type TbaaTag, type TbaaType, tbaaTag, tbaaType } from "./tbaa.js";

/** A string, the entries of a node (null for none), a constant, or something else. */
export type MetadataEntry =
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "node"; readonly distinct: boolean; readonly operands: readonly (number | null)[] }
  | { readonly kind: "value"; readonly value: Constant | null }
  | { readonly kind: "other" };

export interface MetadataGraph {
  /** The entry of a number that an attachment or another entry mentioned. @throws InputError when there is none */
  entry(id: number): MetadataEntry;
  /** The module's source file. */
  readonly source: string;
}

/**
 * What a type of `!type` and `llvm.type.test` is called: its string; for one that only its module knows, which is a node
 * without operands, something that modules of other source files do not call theirs. Should two have the same name
 * nevertheless, they are taken for one type, of which less is known.
 */
export function typeName(graph: MetadataGraph, id: number): string | null {
  const entry = graph.entry(id);
  if (entry.kind === "string") return entry.text;
  if (entry.kind !== "node" || !entry.distinct || entry.operands.length > 0) return null;
  return `${id} of ${graph.source}`;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Types nested deeper than this say nothing. */
const maxDepth = 200;

/** What entries have been found to mean. */
class Memo<T> {
  private readonly shared = new Map<number, T>();
  private local = new Map<number, T>();
  /** Entries from this number on belong to one function. */
  private localFrom = Number.POSITIVE_INFINITY;

  get(id: number): T | undefined {
    return (id < this.localFrom ? this.shared : this.local).get(id);
  }
  set(id: number, value: T): void {
    (id < this.localFrom ? this.shared : this.local).set(id, value);
  }
  enter(localFrom: number): void {
    this.localFrom = localFrom;
    if (this.local.size > 0) this.local = new Map();
  }
}

export class HintReader {
  private readonly tags = new Memo<TbaaTag | null>();
  private readonly types = new Memo<TbaaType | null>();
  private readonly scopeLists = new Memo<ScopeList | null>();
  private readonly scopes = new Memo<AliasScope | null>();
  private readonly domains = new Memo<AliasDomain | null>();

  constructor(private readonly graph: MetadataGraph) {}

  /** A function begins whose own entries have numbers from this one on. */
  enterFunction(localFrom: number): void {
    for (const memo of [this.tags, this.types, this.scopeLists, this.scopes, this.domains])
      memo.enter(localFrom);
  }

  /** What the attachments [kind, entry] of an instruction say. */
  hints(inst: Inst, attachments: readonly (readonly [string, number])[]): Hints | null {
    const [first] = attachments;
    if (attachments.length === 1 && first![0] === "tbaa") {
      const tag = acceptsTags(inst) ? this.tag(first![1]) : null;
      return tag === null ? null : hintsOfTag(tag);
    }
    const fields: Mutable<HintFields> = { ...noHints };
    for (const [kind, id] of attachments) this.attach(fields, inst, kind, id);
    return makeHints(fields);
  }

  private attach(fields: Mutable<HintFields>, inst: Inst, kind: string, id: number): void {
    const isLoad = inst.op === Op.Load;
    switch (kind) {
      case "tbaa":
        if (acceptsTags(inst)) fields.tbaa = this.tag(id);
        return;
      case "alias.scope":
        if (acceptsTags(inst)) fields.scopes = this.scopeList(id);
        return;
      case "noalias":
        if (acceptsTags(inst)) fields.noalias = this.scopeList(id);
        return;
      case "prof":
        this.weights(fields, inst, id);
        return;
      case "range":
        if (isLoad || inst.op === Op.Call || inst.op === Op.Invoke) fields.range = this.ranges(inst, id);
        return;
      case "nonnull":
        if (isLoad && inst.type.isPointer) fields.flags |= HintFlag.NonNull;
        return;
      case "noundef":
        if (isLoad) fields.flags |= HintFlag.NoUndef;
        return;
      case "invariant.load":
        if (isLoad) fields.flags |= HintFlag.InvariantLoad;
        return;
      case "invariant.group":
        if (isLoad || inst.op === Op.Store) fields.flags |= HintFlag.InvariantGroup;
        return;
      case "nontemporal":
        if (isLoad || inst.op === Op.Store) fields.flags |= HintFlag.Nontemporal;
        return;
      case "unpredictable":
        if (armsOf(inst) >= 0) fields.flags |= HintFlag.Unpredictable;
        return;
      case "align": {
        const align = this.single(id);
        if (isLoad && inst.type.isPointer && isPowerOfTwo(align)) fields.align = align;
        return;
      }
      case "dereferenceable":
      case "dereferenceable_or_null": {
        const bytes = this.single(id);
        if (!isLoad || !inst.type.isPointer || !(bytes > 0)) return;
        if (kind === "dereferenceable") fields.dereferenceable = bytes;
        else fields.dereferenceableOrNull = bytes;
        return;
      }
      case "llvm.loop":
        if (inst.blocks.length > 0 && inst.op !== Op.Phi) fields.loop = this.loop(id);
        return;
      case "callees":
        fields.callees = this.callees(inst, id);
        return;
      case "fpmath": {
        const [value] = this.operands(id) ?? [];
        if (inst.type.scalar.isFloat && value?.kind === "value" && value.value?.valueKind === "float")
          fields.accuracy = value.value.type.kind === "float" ? floatOf(value.value.bits) : 0;
        return;
      }
    }
  }

  // ── Nodes in general ──

  /** The operands of a node, as entries; null for anything else. */
  private operands(id: number): (MetadataEntry | null)[] | null {
    const entry = this.graph.entry(id);
    if (entry.kind !== "node") return null;
    return entry.operands.map((operand) => (operand === null ? null : this.graph.entry(operand)));
  }

  /** The integer of a node of one; NaN if it is none. */
  private single(id: number): number {
    const operands = this.operands(id);
    return operands?.length === 1 ? integer(operands[0]) : Number.NaN;
  }

  // ── Profile ──

  private weights(fields: Mutable<HintFields>, inst: Inst, id: number): void {
    const operands = this.operands(id);
    if (operands === null || textOf(operands[0]) !== "branch_weights") return;
    const expected = textOf(operands[1]) === "expected";
    const weights = operands.slice(expected ? 2 : 1).map((operand) => unsigned(operand));
    const isCall = inst.op === Op.Call || inst.op === Op.Invoke;
    const arms = armsOf(inst);
    const fits = weights.length === arms || (isCall && weights.length === 1);
    if (!fits || !weights.every((weight) => weight >= 0)) return;
    fields.weights = weights;
    if (expected) fields.flags |= HintFlag.ExpectedWeights;
  }

  /** How often a function was entered; null when this is not what the entry says. */
  entryCount(id: number): number | null {
    const operands = this.operands(id);
    if (operands === null || operands.length < 2 || textOf(operands[0]) !== "function_entry_count")
      return null;
    // All ones stand for "not known".
    const count = integer(operands[1]);
    return count >= 0 && Number.isSafeInteger(count) ? count : null;
  }

  // ── Values ──

  private ranges(inst: Inst, id: number): readonly bigint[] | null {
    const operands = this.operands(id);
    const type = inst.type.scalar;
    if (operands === null || operands.length < 2 || operands.length % 2 !== 0 || type.kind !== "int")
      return null;
    if (type.bits > 128) return null;
    const bounds: bigint[] = [];
    for (const operand of operands) {
      const value = operand?.kind === "value" ? operand.value : null;
      if (value?.valueKind !== "int" || value.type !== type) return null;
      bounds.push(value.value);
    }
    return bounds.some((bound, i) => i % 2 === 0 && bound === bounds[i + 1]) ? null : bounds;
  }

  private callees(inst: Inst, id: number): CalleeSet | null {
    const callee = inst.operands[0];
    const isIndirect =
      (inst.op === Op.Call || inst.op === Op.Invoke) &&
      callee !== undefined &&
      callee.valueKind !== "global" &&
      callee.valueKind !== "asm";
    const operands = isIndirect ? this.operands(id) : null;
    if (operands === null) return null;
    const members: Func[] = [];
    for (const operand of operands) {
      const fn = operand?.kind === "value" ? operand.value : null;
      if (fn?.valueKind !== "global" || fn.kind !== "function") return null;
      if (!members.includes(fn)) members.push(fn);
    }
    return { members, open: false };
  }

  // ── Types of accesses ──

  private tag(id: number): TbaaTag | null {
    let tag = this.tags.get(id);
    if (tag === undefined) this.tags.set(id, (tag = this.makeTag(id)));
    return tag;
  }

  private makeTag(id: number): TbaaTag | null {
    const node = this.graph.entry(id);
    if (node.kind !== "node" || node.operands.length < 3) return null;
    const [base, access, ...rest] = node.operands;
    if (base == null || access == null) return null;
    const baseType = this.type(base, 0);
    const accessType = this.type(access, 0);
    if (baseType === null || accessType === null) return null;
    const numbers = rest.map((operand) => integer(operand === null ? null : this.graph.entry(operand)));
    const sized = accessType.sized;
    const last = sized ? 2 : 1;
    if (numbers.length < last || numbers.length > last + 1 || !numbers.every((n) => n >= 0)) return null;
    if (sized !== baseType.sized || accessType.isRoot) return null;
    return tbaaTag(baseType, accessType, numbers[0]!, sized ? numbers[1]! : -1, numbers[last] === 1);
  }

  private type(id: number, depth: number): TbaaType | null {
    let type = this.types.get(id);
    if (type === undefined) {
      // A type inside itself: not one.
      this.types.set(id, null);
      type = depth > maxDepth ? null : this.makeType(id, depth);
      this.types.set(id, type);
    }
    return type;
  }

  private makeType(id: number, depth: number): TbaaType | null {
    const node = this.graph.entry(id);
    if (node.kind !== "node" || node.operands.length === 0) return null;
    const { operands } = node;
    const entries = operands.map((operand) => (operand === null ? null : this.graph.entry(operand)));
    const name = textOf(entries[0]);
    if (name !== null) {
      if (operands.length === 1) return node.distinct ? null : tbaaType(name, null, [], []);
      if (operands.length === 2) {
        const above = operands[1] == null ? null : this.type(operands[1], depth + 1);
        return above === null ? null : tbaaType(name, null, [above], [0]);
      }
      // Whatever else a scalar says (that it is constant, in old modules) stands after its offset.
      return this.members(
        name,
        null,
        -1,
        operands,
        entries,
        operands.length === 4 ? 3 : operands.length,
        1,
        depth,
      );
    }
    // The newer form: !{parent, size, name, member, offset, size, …}.
    const size = integer(entries[1]);
    const ownName = textOf(entries[2]) ?? "";
    const parent = operands[0] == null ? null : this.type(operands[0], depth + 1);
    if (parent === null || !(size >= 0)) return null;
    return this.members(ownName, parent, size, operands, entries, operands.length, 3, depth);
  }

  private members(
    name: string,
    parent: TbaaType | null,
    size: number,
    operands: readonly (number | null)[],
    entries: readonly (MetadataEntry | null)[],
    end: number,
    first: number,
    depth: number,
  ): TbaaType | null {
    const step = size < 0 ? 2 : 3;
    if ((end - first) % step !== 0) return null;
    const members: TbaaType[] = [];
    const offsets: number[] = [];
    const sizes: number[] = [];
    for (let i = first; i < end; i += step) {
      const operand = operands[i];
      const member = operand == null ? null : this.type(operand, depth + 1);
      const offset = integer(entries[i + 1]);
      if (member === null || !(offset >= (offsets[offsets.length - 1] ?? 0))) return null;
      members.push(member);
      offsets.push(offset);
      if (size < 0) continue;
      const bytes = integer(entries[i + 2]);
      if (!(bytes >= 0)) return null;
      sizes.push(bytes);
    }
    return tbaaType(name, parent, members, offsets, sizes, size);
  }

  // ── Scopes ──

  private scopeList(id: number): ScopeList | null {
    let list = this.scopeLists.get(id);
    if (list === undefined) this.scopeLists.set(id, (list = this.makeScopeList(id)));
    return list;
  }

  private makeScopeList(id: number): ScopeList | null {
    const node = this.graph.entry(id);
    if (node.kind !== "node") return null;
    const list: AliasScope[] = [];
    for (const operand of node.operands) {
      const scope = operand === null ? null : this.scope(operand);
      // A list that lacks one would claim too much as scopes, and too little as scopes not touched.
      if (scope === null) return null;
      if (!list.includes(scope)) list.push(scope);
    }
    return list.length === 0 ? null : list;
  }

  private scope(id: number): AliasScope | null {
    let scope = this.scopes.get(id);
    if (scope === undefined) {
      const entry = this.graph.entry(id);
      const operands = entry.kind === "node" ? entry.operands : [];
      const domain = operands[1] == null ? null : this.domain(operands[1]);
      const name = operands[2] == null ? "" : (textOf(this.graph.entry(operands[2])) ?? "");
      scope = domain === null ? null : new AliasScope(domain, name);
      this.scopes.set(id, scope);
    }
    return scope;
  }

  private domain(id: number): AliasDomain | null {
    let domain = this.domains.get(id);
    if (domain === undefined) {
      const entry = this.graph.entry(id);
      if (entry.kind !== "node") domain = null;
      else {
        const second = entry.operands[1];
        domain = new AliasDomain(second == null ? "" : (textOf(this.graph.entry(second)) ?? ""));
      }
      this.domains.set(id, domain);
    }
    return domain;
  }

  // ── Loops ──

  private loop(id: number): LoopHints | null {
    const node = this.graph.entry(id);
    if (node.kind !== "node") return null;
    const loop: Mutable<LoopHints> = { ...noLoopHints };
    let says = false;
    for (const operand of node.operands.slice(1)) {
      if (operand === null) continue;
      const property = this.operands(operand);
      const name = property === null ? null : textOf(property[0]);
      if (name !== null && readProperty(loop, name, property![1] ?? null)) says = true;
    }
    return says ? loop : null;
  }

  // ── Globals ──

  /** Reads an attachment of a variable or function; kinds that are none of its business are passed over. */
  attachToGlobal(global: GlobalVariable | Func, kind: string, id: number): void {
    if (kind === "type") {
      const operands = this.operands(id);
      const offset = operands?.length === 2 ? integer(operands[0]) : -1;
      const node = this.graph.entry(id);
      const type = node.kind === "node" ? node.operands[1] : undefined;
      const name = typeof type === "number" ? typeName(this.graph, type) : null;
      if (offset >= 0 && name !== null) global.typeIds = [...global.typeIds, { offset, name }];
    } else if (kind === "prof" && global.kind === "function") global.entryCount = this.entryCount(id);
    else if ((kind === "kcfi_type" || kind === "func_sanitize") && global.kind === "function")
      this.attachIdentifier(global, kind, id);
    else if (kind === "vcall_visibility" && global.kind === "variable") {
      const visibility = this.single(id);
      if (visibility === 1 || visibility === 2) global.vcallVisibility = visibility;
    }
  }

  /** Numbers that lie before a function's code and that callers compare: an attribute, which no pass loses. */
  private attachIdentifier(fn: Func, kind: "kcfi_type" | "func_sanitize", id: number): void {
    const numbers = (this.operands(id) ?? []).map((operand) =>
      operand?.kind === "value" && operand.value?.valueKind === "int" ? String(operand.value.value) : "?",
    );
    fn.attributes = withFunctionString(
      fn.attributes,
      kind === "kcfi_type" ? kcfiAttribute : sanitizeAttribute,
      numbers.join(),
    );
  }
}

function readProperty(loop: Mutable<LoopHints>, name: string, value: MetadataEntry | null): boolean {
  const number = integer(value);
  const truth = number === 0 ? "disable" : "enable";
  switch (name) {
    case "llvm.loop.mustprogress":
      loop.mustProgress = true;
      return true;
    case "llvm.loop.unroll.enable":
      loop.unroll = "enable";
      return true;
    case "llvm.loop.unroll.disable":
      loop.unroll = "disable";
      return true;
    case "llvm.loop.unroll.full":
      loop.unroll = "full";
      return true;
    case "llvm.loop.unroll.runtime.disable":
      loop.noRuntimeUnroll = true;
      return true;
    case "llvm.loop.isvectorized":
      loop.isVectorized = number !== 0;
      return true;
  }
  if (!Number.isInteger(number)) return false;
  switch (name) {
    case "llvm.loop.unroll.count":
      loop.unrollCount = count(number);
      return true;
    case "llvm.loop.vectorize.enable":
      loop.vectorize = truth;
      return true;
    case "llvm.loop.vectorize.width":
      loop.vectorWidth = count(number);
      return true;
    case "llvm.loop.interleave.count":
      loop.interleave = count(number);
      return true;
    case "llvm.loop.distribute.enable":
      loop.distribute = truth;
      return true;
    default:
      return false;
  }
}

const count = (n: number): number => (n >= 0 && n <= 0x7fffffff ? n : 0);

/** Instructions whose memory accesses a tag describes. */
export const acceptsTags = ({ op }: Inst): boolean =>
  op === Op.Load ||
  op === Op.Store ||
  op === Op.Call ||
  op === Op.Invoke ||
  op === Op.AtomicRMW ||
  op === Op.CmpXchg ||
  op === Op.VAArg;

/** How many weights an instruction takes, or -1. */
export function armsOf(inst: Inst): number {
  switch (inst.op) {
    case Op.CondBr:
    case Op.Switch:
    case Op.IndirectBr:
    case Op.Invoke:
    case Op.CallBr:
      return inst.blocks.length;
    case Op.Select:
      return 2;
    default:
      return -1;
  }
}

const textOf = (entry: MetadataEntry | null | undefined): string | null =>
  entry?.kind === "string" ? entry.text : null;

/** A number, by sign; NaN for what is none or not exact. */
function integer(entry: MetadataEntry | null | undefined): number {
  const value = entry?.kind === "value" ? entry.value : null;
  return value?.valueKind === "int" ? value.num : Number.NaN;
}

/** A number below 2^53; NaN for what is none. */
function unsigned(entry: MetadataEntry | null | undefined): number {
  const value = entry?.kind === "value" ? entry.value : null;
  if (value?.valueKind !== "int") return Number.NaN;
  const number = Number(BigInt.asUintN(value.type.bits, value.value));
  return Number.isSafeInteger(number) ? number : Number.NaN;
}

const isPowerOfTwo = (n: number): boolean => n > 0 && Number.isInteger(Math.log2(n));

/** The number whose bits, as a 32-bit float, these are; 0 unless it is positive. */
function floatOf(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, Number(bits));
  const value = view.getFloat32(0);
  return value > 0 && value < Number.POSITIVE_INFINITY ? value : 0;
}
