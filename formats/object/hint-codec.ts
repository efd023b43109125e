/**
 * Hints of a body: alias domains and scopes first, then hints, which instructions name by number. Equal ones are one
 * entry. What hints refer to outside of the body lies in lists before it, like its symbols, so that a body can be put
 * into another module without being decoded: type tags, and the functions of callee sets, which do not keep those
 * functions alive (`Outside`).
 */
import { InputError } from "../../lto/ir/errors.js";
import { AliasDomain, AliasScope, type ScopeList } from "../../lto/ir/hints/scopes.js";
import type { TbaaTag } from "../../lto/ir/hints/tbaa.js";
import {
  type CalleeSet,
  type HintFields,
  type Hints,
  type LoopHints,
  makeHints,
  noHints,
} from "../../lto/ir/hints.js";
import type { Func } from "../../lto/ir/module.js";
import { type ByteReader, ByteWriter } from "./bytes.js";

/** Which fields follow. */
const Has = {
  Flags: 1 << 0,
  Align: 1 << 1,
  Dereferenceable: 1 << 2,
  DereferenceableOrNull: 1 << 3,
  Tbaa: 1 << 4,
  Scopes: 1 << 5,
  NoAlias: 1 << 6,
  Range: 1 << 7,
  Weights: 1 << 8,
  Loop: 1 << 9,
  Callees: 1 << 10,
  Accuracy: 1 << 11,
} as const;
const allFields = (1 << 12) - 1;
const allFlags = 0x7f;

const unrolls: readonly LoopHints["unroll"][] = ["", "enable", "disable", "full"];
const choices: readonly LoopHints["vectorize"][] = ["", "enable", "disable"];

export class HintTableWriter {
  private readonly byObject = new Map<Hints, number>();
  private readonly byBytes = new Map<string, number>();
  /** By number. */
  readonly entries: Hints[] = [];
  private readonly bytes = new ByteWriter();
  private readonly entry = new ByteWriter();
  private readonly domains = new Map<AliasDomain, number>();
  private readonly scopes = new Map<AliasScope, number>();

  constructor(
    private readonly string: (text: string) => number,
    private readonly tag: (tag: TbaaTag) => number,
    private readonly callee: (fn: Func) => number,
  ) {}

  /** Number of hints, which are entered on first use. */
  index(hints: Hints): number {
    let index = this.byObject.get(hints);
    if (index !== undefined) return index;
    const { entry } = this;
    entry.clear();
    this.encode(hints);
    const key = entry.key();
    index = this.byBytes.get(key);
    if (index === undefined) {
      index = this.byBytes.size;
      this.byBytes.set(key, index);
      this.entries.push(hints);
      this.bytes.append(entry);
    }
    this.byObject.set(hints, index);
    return index;
  }

  private encode(hints: Hints): void {
    const { entry: out } = this;
    const { flags, align, dereferenceable, dereferenceableOrNull, tbaa, scopes, noalias } = hints;
    const { range, weights, loop, callees, accuracy } = hints;
    out.uint(
      (flags !== 0 ? Has.Flags : 0) |
        (align !== 0 ? Has.Align : 0) |
        (dereferenceable !== 0 ? Has.Dereferenceable : 0) |
        (dereferenceableOrNull !== 0 ? Has.DereferenceableOrNull : 0) |
        (tbaa !== null ? Has.Tbaa : 0) |
        (scopes !== null ? Has.Scopes : 0) |
        (noalias !== null ? Has.NoAlias : 0) |
        (range !== null ? Has.Range : 0) |
        (weights !== null ? Has.Weights : 0) |
        (loop !== null ? Has.Loop : 0) |
        (callees !== null ? Has.Callees : 0) |
        (accuracy !== 0 ? Has.Accuracy : 0),
    );
    if (flags !== 0) out.uint(flags);
    if (align !== 0) out.byte(Math.round(Math.log2(align)));
    if (dereferenceable !== 0) out.uint(dereferenceable);
    if (dereferenceableOrNull !== 0) out.uint(dereferenceableOrNull);
    if (tbaa !== null) out.uint(this.tag(tbaa));
    if (scopes !== null) this.scopeList(scopes);
    if (noalias !== null) this.scopeList(noalias);
    if (range !== null) this.range(range);
    if (weights !== null) {
      out.uint(weights.length);
      for (const weight of weights) out.uint(weight);
    }
    if (loop !== null) this.loop(loop);
    if (callees !== null) {
      out.byte(callees.open ? 1 : 0);
      out.uint(callees.members.length);
      for (const member of callees.members) out.uint(this.callee(member));
    }
    if (accuracy !== 0) {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setFloat32(0, accuracy, true);
      out.raw(bytes);
    }
  }

  private scopeList(list: ScopeList): void {
    this.entry.uint(list.length);
    for (const scope of list) {
      if (!this.domains.has(scope.domain)) this.domains.set(scope.domain, this.domains.size);
      let index = this.scopes.get(scope);
      if (index === undefined) this.scopes.set(scope, (index = this.scopes.size));
      this.entry.uint(index);
    }
  }

  /** Each bound with as few bytes as hold it and its sign. */
  private range(bounds: readonly bigint[]): void {
    this.entry.uint(bounds.length);
    for (const bound of bounds) {
      let bytes = 1;
      while (BigInt.asIntN(bytes * 8, bound) !== bound) bytes++;
      this.entry.byte(bytes);
      this.entry.bigint(BigInt.asUintN(bytes * 8, bound), bytes);
    }
  }

  private loop(loop: LoopHints): void {
    const { entry: out } = this;
    out.uint(
      (loop.mustProgress ? 1 : 0) |
        (loop.noRuntimeUnroll ? 2 : 0) |
        (loop.isVectorized ? 4 : 0) |
        (unrolls.indexOf(loop.unroll) << 3) |
        (choices.indexOf(loop.vectorize) << 5) |
        (choices.indexOf(loop.distribute) << 7),
    );
    out.uint(loop.unrollCount);
    out.uint(loop.vectorWidth);
    out.uint(loop.interleave);
  }

  write(out: ByteWriter): void {
    out.uint(this.domains.size);
    for (const { name } of this.domains.keys()) out.uint(this.string(name));
    out.uint(this.scopes.size);
    for (const { domain, name } of this.scopes.keys()) {
      out.uint(this.domains.get(domain)!);
      out.uint(this.string(name));
    }
    out.uint(this.byBytes.size);
    out.append(this.bytes);
  }

  /** Enters the strings that `write` will refer to. */
  enterStrings(): void {
    for (const { name } of this.domains.keys()) this.string(name);
    for (const { name } of this.scopes.keys()) this.string(name);
  }
}

/** What hints refer to outside of their body; null for what is no longer there. */
export interface Outside {
  readonly tags: readonly TbaaTag[];
  readonly callees: readonly (Func | null)[];
}

/** Reads what `HintTableWriter.write` wrote. @throws InputError on malformed data */
export function readHintTable(
  reader: ByteReader,
  strings: readonly string[],
  outside: Outside,
): (Hints | null)[] {
  const text = (): string => strings[reader.below(strings.length, "string")]!;
  const domains: AliasDomain[] = [];
  for (let left = reader.count("alias domains"); left > 0; left--) domains.push(new AliasDomain(text()));
  const scopes: AliasScope[] = [];
  for (let left = reader.count("alias scopes", 2); left > 0; left--) {
    const domain = domains[reader.below(domains.length, "alias domain")]!;
    scopes.push(new AliasScope(domain, text()));
  }
  const hints: (Hints | null)[] = [];
  for (let left = reader.count("hints"); left > 0; left--) hints.push(readHints(reader, scopes, outside));
  return hints;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function readHints(
  reader: ByteReader,
  scopes: readonly AliasScope[],
  { tags, callees }: Outside,
): Hints | null {
  const has = reader.uint();
  if (has === Has.Tbaa) {
    const tbaa = tags[reader.below(tags.length, "type tag")]!;
    return makeHints({ ...noHints, tbaa });
  }
  if (has > allFields || has === 0) throw new InputError("malformed hints");
  const fields: Mutable<HintFields> = { ...noHints };
  if ((has & Has.Flags) !== 0) fields.flags = reader.below(allFlags + 1, "flags");
  if ((has & Has.Align) !== 0) fields.align = 2 ** reader.below(33, "alignment");
  if ((has & Has.Dereferenceable) !== 0) fields.dereferenceable = reader.long();
  if ((has & Has.DereferenceableOrNull) !== 0) fields.dereferenceableOrNull = reader.long();
  if ((has & Has.Tbaa) !== 0) fields.tbaa = tags[reader.below(tags.length, "type tag")]!;
  if ((has & Has.Scopes) !== 0) fields.scopes = readScopes(reader, scopes);
  if ((has & Has.NoAlias) !== 0) fields.noalias = readScopes(reader, scopes);
  if ((has & Has.Range) !== 0) fields.range = readRange(reader);
  if ((has & Has.Weights) !== 0) {
    const weights: number[] = [];
    for (let left = reader.count("weights"); left > 0; left--) weights.push(reader.long());
    fields.weights = weights;
  }
  if ((has & Has.Loop) !== 0) fields.loop = readLoop(reader);
  if ((has & Has.Callees) !== 0) fields.callees = readCallees(reader, callees);
  if ((has & Has.Accuracy) !== 0) {
    const bytes = reader.raw(4);
    const accuracy = new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
    if (!(accuracy > 0 && accuracy < Number.POSITIVE_INFINITY)) throw new InputError("malformed accuracy");
    fields.accuracy = accuracy;
  }
  return makeHints(fields);
}

function readScopes(reader: ByteReader, scopes: readonly AliasScope[]): ScopeList {
  const list: AliasScope[] = [];
  for (let left = reader.count("alias scopes"); left > 0; left--)
    list.push(scopes[reader.below(scopes.length, "alias scope")]!);
  if (list.length === 0) throw new InputError("an empty list of alias scopes");
  return list;
}

function readRange(reader: ByteReader): readonly bigint[] {
  const bounds: bigint[] = [];
  const count = reader.count("bounds", 2);
  if (count === 0 || count % 2 !== 0) throw new InputError("half of a range");
  for (let i = 0; i < count; i++) {
    const bytes = reader.byte();
    if (bytes < 1 || bytes > 17) throw new InputError("malformed range");
    bounds.push(BigInt.asIntN(bytes * 8, reader.bigint(bytes)));
  }
  return bounds;
}

function readLoop(reader: ByteReader): LoopHints {
  const bits = reader.below(1 << 9, "loop hints");
  const vectorize = choices[(bits >> 5) & 3];
  const distribute = choices[(bits >> 7) & 3];
  if (vectorize === undefined || distribute === undefined) throw new InputError("malformed loop hints");
  // In this order: one shape for all.
  return {
    mustProgress: (bits & 1) !== 0,
    unroll: unrolls[(bits >> 3) & 3]!,
    unrollCount: reader.uint(),
    noRuntimeUnroll: (bits & 2) !== 0,
    vectorize,
    vectorWidth: reader.uint(),
    interleave: reader.uint(),
    isVectorized: (bits & 4) !== 0,
    distribute,
  };
}

/** A set of which a member is missing says nothing any more. */
function readCallees(reader: ByteReader, callees: readonly (Func | null)[]): CalleeSet | null {
  const open = reader.below(2, "flag") === 1;
  const members: Func[] = [];
  let complete = true;
  for (let left = reader.count("callees"); left > 0; left--) {
    const member = callees[reader.below(callees.length, "callee")]!;
    if (member === null) complete = false;
    else if (!members.includes(member)) members.push(member);
  }
  return complete ? { members, open } : null;
}
