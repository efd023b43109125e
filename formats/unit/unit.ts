/**
 * Units of work as bytes: functions to be compiled for a link, with all that compiling them asks, and what is answered.
 *
 * A unit means the same wherever there is the build that it names; its bytes follow from what is in it, so that they name the
 * work (what remote execution calls an action). An answer names its unit by the digest of its bytes, and holds entries
 * of the code cache by key. Both are sealed with a digest, and every field is checked when it is read.
 */
import { createHash } from "node:crypto";
import type { Decisions, PublishedMask } from "../../lto/codegen/program/function-compilers.js";
import type { FunctionNumber } from "../../lto/codegen/program/numbering.js";
import type { SessionPlan } from "../../lto/codegen/program/plan.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import { InputError } from "../../lto/ir/errors.js";
import { ByteReader, ByteWriter } from "../object/bytes.js";
import { readFlag, readHex, readList, readSet, writeFlag, writeHex, writeList, writeSet } from "./fields.js";
import { seal, unseal } from "./seal.js";

const unitMagic = "tscltoU2";
const answerMagic = "tscltoA1";
/** That a set can hold. */
const mostRegisters = 64;

/** A function that is allocated and is to be completed. */
export interface AllocatedUnitFunction {
  /** Of its entry. */
  readonly key: string;
  /** Symbols that its body mentions, by their numbers in the unit's module. */
  readonly mentioned: readonly number[];
  readonly origins: readonly number[];
  readonly entry: Uint8Array;
}

export interface UnitFunction {
  /** In the unit's module. */
  readonly number: FunctionNumber;
  /** Functions of the unit's module whose masks it does not know, though others do. */
  readonly hidden: readonly FunctionNumber[];
  /** Null: it is to be allocated. */
  readonly allocated: AllocatedUnitFunction | null;
}

/** Numbers are those of the unit's module. */
export interface CompileUnit {
  /** What tells the build that is to do it. */
  readonly build: string;
  /** As `keyedOptions` writes them. */
  readonly options: string;
  /** The module, as an IR object. */
  readonly object: Uint8Array;
  readonly functions: readonly UnitFunction[];
  readonly plan: SessionPlan;
  readonly masks: readonly PublishedMask[];
  /** Present where functions are to be completed. */
  readonly decisions: Decisions | null;
}

export interface UnitAnswer {
  readonly build: string;
  /** `unitDigest` of the unit. */
  readonly unit: string;
  /** Entries as bytes, by key. */
  readonly entries: readonly (readonly [key: string, entry: Uint8Array])[];
}

/** What names a unit. */
export const unitDigest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function encodeUnit(unit: CompileUnit): Uint8Array {
  const out = new ByteWriter(unit.object.length + 4096);
  writeHex(out, unit.build);
  out.string(unit.options);
  out.bytes(unit.object);
  writePlan(out, unit.plan);
  for (const [, mask] of unit.masks) writeSet(out, mask);
  writeList(out, unit.functions, ({ number, hidden, allocated }) => {
    out.uint(number);
    writeList(out, hidden, (other) => out.uint(other));
    writeFlag(out, allocated !== null);
    if (allocated === null) return;
    writeHex(out, allocated.key);
    writeList(out, allocated.mentioned, (symbol) => out.uint(symbol));
    writeList(out, allocated.origins, (origin) => out.int(origin));
    out.bytes(allocated.entry);
  });
  writeFlag(out, unit.decisions !== null);
  if (unit.decisions !== null) writeDecisions(out, unit.decisions);
  return seal(unitMagic, out.view());
}

/** @throws InputError */
export function decodeUnit(bytes: Uint8Array): CompileUnit {
  const reader = new ByteReader(unseal(unitMagic, bytes, "a unit of work"));
  const build = readHex(reader);
  const options = reader.string();
  const object = reader.bytesRun();
  const plan = readPlan(reader);
  const functions = plan.conventions.length;
  const masks = Array.from(
    { length: functions },
    (_, i): PublishedMask => [i as FunctionNumber, readSet(reader, mostRegisters)],
  );
  const list = readList(reader, (): UnitFunction => {
    const functionNumber = (): FunctionNumber => reader.below(functions, "function") as FunctionNumber;
    const number = functionNumber();
    const hidden = readList(reader, functionNumber);
    if (!readFlag(reader)) return { number, hidden, allocated: null };
    const key = readHex(reader);
    const mentioned = readList(reader, () => reader.uint());
    const origins = readList(reader, () => reader.int());
    return { number, hidden, allocated: { key, mentioned, origins, entry: reader.bytesRun() } };
  });
  const sets = plan.indirect.sets.length;
  const decisions = readFlag(reader) ? readDecisions(reader, functions, sets) : null;
  if (reader.remaining !== 0) throw new InputError("trailing bytes after a unit of work");
  return { build, options, object, functions: list, plan, masks, decisions };
}

function writePlan(out: ByteWriter, { conventions, passed, componentOf, indirect }: SessionPlan): void {
  writeList(out, conventions, (convention) => out.uint(convention));
  for (const bounds of passed) out.byte(bounds);
  for (const component of componentOf) out.uint(component);
  writeList(out, indirect.sets, ({ members, unknown }) => {
    writeFlag(out, unknown);
    writeList(out, members, (member) => out.uint(member));
  });
  for (const sites of indirect.sites) writeList(out, sites, (set) => out.int(set));
}

function readPlan(reader: ByteReader): SessionPlan {
  const conventions = Uint32Array.from(readList(reader, () => reader.uint()));
  const count = conventions.length;
  const passed = new Uint8Array(count);
  for (let i = 0; i < count; i++) passed[i] = reader.byte();
  const componentOf = new Uint32Array(count);
  for (let i = 0; i < count; i++) componentOf[i] = reader.uint();
  const sets = readList(reader, () => {
    const unknown = readFlag(reader);
    return { unknown, members: readList(reader, () => reader.below(count, "function")) };
  });
  const sites = Array.from({ length: count }, () => readList(reader, () => readSite(reader, sets.length)));
  return {
    conventions,
    passed,
    componentOf,
    indirect: { sets, sites, closed: new Uint8Array(count) },
  };
}

function readSite(reader: ByteReader, sets: number): number {
  const set = reader.int();
  if (set < -1 || set >= sets) throw new InputError(`set of callees ${set} is out of range`);
  return set;
}

function writeDecisions(out: ByteWriter, { saved, scratch, changed, aligned }: Decisions): void {
  for (const list of [saved, scratch, changed]) for (const set of list) writeSet(out, set);
  for (const flag of aligned) out.byte(flag);
}

function readDecisions(reader: ByteReader, functions: number, sets: number): Decisions {
  const list = (length: number): RegisterSet[] =>
    Array.from({ length }, () => readSet(reader, mostRegisters));
  const saved = list(functions);
  const scratch = list(functions);
  const changed = list(functions + sets);
  const aligned = Uint8Array.from({ length: functions + sets }, () => reader.below(2, "flag"));
  return { saved, scratch, changed, aligned };
}

export function encodeAnswer({ build, unit, entries }: UnitAnswer): Uint8Array {
  const out = new ByteWriter(entries.reduce((sum, [, entry]) => sum + entry.length + 64, 256));
  writeHex(out, build);
  writeHex(out, unit);
  writeList(out, entries, ([key, entry]) => {
    writeHex(out, key);
    out.bytes(entry);
  });
  return seal(answerMagic, out.view());
}

/** @throws InputError */
export function decodeAnswer(bytes: Uint8Array): UnitAnswer {
  const reader = new ByteReader(unseal(answerMagic, bytes, "an answer to a unit of work"));
  const build = readHex(reader);
  const unit = readHex(reader);
  const entries = readList(reader, () => [readHex(reader), reader.bytesRun()] as const, 2);
  if (reader.remaining !== 0) throw new InputError("trailing bytes after an answer");
  return { build, unit, entries };
}
