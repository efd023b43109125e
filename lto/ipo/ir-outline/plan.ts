/**
 * What a function for several equal pieces of code would be: its parameters, its results, and its bytes.
 *
 * Inputs are what pieces use and do not compute; they are condensed as `similar/parameters.ts` says. Outputs are what they
 * compute and others use; several are returned as a structure, in registers.
 *
 * Bytes are estimated with the model of inlining (`inline/body-size.ts`). A piece that goes saves its own bytes, with its
 * constants; a call costs its five, what it passes, and what it does to the code around it; the function costs its body,
 * its end, and if it calls anything a frame with its description, unless the call is its end.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { type CallInst, type Inst, isCall, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Constant, Value } from "../../ir/values.js";
import type { TargetCosts } from "../../target/costs.js";
import { commonAttributes } from "../icf/attributes.js";
import { type Input, isPassable, Parameters } from "../similar/parameters.js";
import { partOfOperation } from "./operations.js";
import type { Sequence } from "./sequence.js";

/** Parameters for floating point, however many the platform passes in registers. */
const mostFloats = 6;
const mostOutputs = 2;

export interface OutlinePlan {
  /** Of operands that are inputs, in order; others are computed inside. */
  readonly inputs: readonly Input[];
  readonly parameters: Parameters;
  /** Places in the piece of what is returned, ascending. */
  readonly outputs: readonly number[];
  /** The last instruction is a call that does not return. */
  readonly endsThere: boolean;
  /** The last instruction is a call whose result is all that is returned: it becomes a jump. */
  readonly jumps: boolean;
  /** There is another call: the function has a frame. */
  readonly callsInside: boolean;
  /** Estimated bytes: what all pieces take, and what is there instead. */
  readonly before: number;
  readonly after: number;
  /** Of the latter: the function's. */
  readonly body: number;
  /** Code was generated for the function. */
  readonly isTried: boolean;
}

/** Whether pieces are the same function of their inputs, with the same attributes. */
export function areAlike(sequence: Sequence, starts: Int32Array, length: number): boolean {
  for (let i = 1; i < starts.length; i++)
    if (!isAlike(sequence, starts[0]!, starts[i]!, length)) return false;
  return true;
}

function isAlike(sequence: Sequence, first: number, start: number, length: number): boolean {
  const { insts, places, placeAt, operandsAt, definitions } = sequence;
  if (places[placeAt[first]!]!.attributes !== places[placeAt[start]!]!.attributes) return false;
  let one = operandsAt[first]!;
  let two = operandsAt[start]!;
  if (operandsAt[first + length]! - one !== operandsAt[start + length]! - two) return false;
  for (let k = 0; k < length; k++) {
    const end = operandsAt[first + k + 1]!;
    if (end - one !== operandsAt[start + k + 1]! - two) return false;
    for (; one < end; one++, two++) {
      const inside = definitions[one]! - first;
      const other = definitions[two]! - start;
      const isInside = inside >= 0 && inside < length;
      if (isInside !== (other >= 0 && other < length) || (isInside && inside !== other)) return false;
    }
    const a = insts[first + k]!;
    if (isCall(a) && !isSameCall(a, insts[start + k] as CallInst)) return false;
  }
  return true;
}

/** Of calls of the same type; those of variable arguments say less. */
function isSameCall(a: CallInst, b: CallInst): boolean {
  if (a.data.functionType.isVarArg)
    for (let i = 0; i < a.operands.length; i++) if (a.operands[i]!.type !== b.operands[i]!.type) return false;
  return commonAttributes(a.data.attributes, b.data.attributes) !== null;
}

/**
 * Bytes below which nothing is certain: in any case, and parts of what is there. Of the errors of estimates some are one
 * piece's and get less with many, and some are of all; the machine outliner finds some of it too, and pays less for it.
 */
const leastBenefit = 5;
const doubtOfPiece = 0.08;
const doubt = 0.1;

/** What estimates of pieces may be wrong by, by the bytes that all of them take. */
const errorOf = (before: number, count: number): number =>
  leastBenefit + (doubt + doubtOfPiece / Math.sqrt(count)) * before;

/** Whether it saves more than the estimate may be wrong by. */
export const isCertain = ({ before, after }: OutlinePlan, count: number): boolean =>
  before - after >= errorOf(before, count);

/**
 * Whether code should be generated for the function, to know it better: pieces have operations that the estimate hardly
 * knows, and it would not be certain if these took as little as they may.
 */
export function isClose(sequence: Sequence, starts: Int32Array, length: number, plan: OutlinePlan): boolean {
  const count = starts.length;
  const less = sequence.error(starts[0]!, length);
  const before = plan.before - less * count;
  return less > 0 && before - (plan.after - less) < errorOf(before, count);
}

/** Bytes of calls in the places of pieces and of what a function needs around their code, at least. */
function leastAfter({ frames, calls: { call, around } }: TargetCosts, calls: number, count: number): number {
  const end = calls === 0 ? frames.leaf : calls === 1 ? Math.min(frames.leaf, frames.jump) : frames.frame;
  return end + count * (call + (calls === 0 ? around : 0));
}

/** Whether a function for so many pieces of these bytes, each with so many calls, could certainly save something. */
export function mayPay(costs: TargetCosts, bytes: number, calls: number, count: number): boolean {
  const before = bytes * count;
  return before - bytes - leastAfter(costs, calls, count) >= errorOf(before, count);
}

/**
 * What a function for pieces saves at most; 0: it cannot be certain.
 * @param passed bytes that parameters take at least, of each piece
 */
export function mostBenefit(sequence: Sequence, starts: Int32Array, length: number, passed: number): number {
  if (starts.length < 2) return 0;
  const first = starts[0]!;
  const { bytesBefore, placeAt, places, costs } = sequence;
  let before = 0;
  let after =
    leastAfter(costs, sequence.countCalls(first, length), starts.length) +
    sequence.bytes(first, length) +
    passed * starts.length;
  for (let i = 0; i < starts.length; i++) {
    const start = starts[i]!;
    before += bytesBefore[start + length]! - bytesBefore[start]!;
    if (!places[placeAt[start]!]!.hasCalls) after += costs.frames.firstCall;
  }
  return before - after >= errorOf(before, starts.length) ? before - after : 0;
}

/** Pieces that are compared to see how many parameters they need at least. */
const mostCompared = 3;

/**
 * Bytes per piece that parameters take at least, by the length of pieces: those that a few of them need, since more of them
 * need no less.
 * @param length the largest
 * @param least receives them
 */
export function leastPassed(
  { insts, operandsAt, definitions, constantAt, costs: { calls } }: Sequence,
  starts: Int32Array,
  length: number,
  least: Float64Array,
): void {
  const a = starts[0]!;
  const b = starts[starts.length - 1]!;
  const c = starts.length >= mostCompared ? starts[starts.length >> 1]! : b;
  /** Rows that are parameters, three values each. */
  const rows: (Value | number)[] = [];
  /** Types of which there are rows of constants: they might be one another's plus a number. */
  const types: Type[] = [];
  let integers = 0;
  let floats = 0;
  for (let k = 0; k < length; k++) {
    const first = operandsAt[a + k]!;
    const toB = operandsAt[b + k]! - first;
    const toC = operandsAt[c + k]! - first;
    for (let at = first; at < operandsAt[a + k + 1]!; at++) {
      const inside = definitions[at]! - a;
      if (inside >= 0 && inside < length) continue;
      const one = constantAt[at]!;
      if (one === partOfOperation) continue;
      const two = constantAt[at + toB]!;
      const three = constantAt[at + toC]!;
      if (one >= 0 && one === two && one === three) continue;
      const slot = at - first;
      const value = insts[a + k]!.operands[slot]!;
      if (one >= 0 && two >= 0 && three >= 0) {
        if (types.includes(value.type)) continue;
        types.push(value.type);
      } else {
        const x = one >= 0 ? one : value;
        const y = two >= 0 ? two : insts[b + k]!.operands[slot]!;
        const z = three >= 0 ? three : insts[c + k]!.operands[slot]!;
        let row = 0;
        while (row < rows.length && (rows[row] !== x || rows[row + 1] !== y || rows[row + 2] !== z)) row += 3;
        if (row < rows.length) continue;
        rows.push(x, y, z);
      }
      if (value.type.isFloat) floats++;
      else integers++;
    }
    least[k + 1] =
      integers > calls.integers || floats > mostFloats
        ? Number.POSITIVE_INFINITY
        : calls.leastPass * (integers + floats);
  }
}

/** Bytes per piece that results take at least: those of a few pieces, since more of them have no fewer. */
export function leastReturned(
  { firstUser, lastUser, costs }: Sequence,
  starts: Int32Array,
  length: number,
): number {
  const a = starts[0]!;
  const b = starts[starts.length - 1]!;
  let outputs = 0;
  for (let k = 0; k < length; k++) {
    const last = lastUser[a + k]!;
    if (last < a + length && (last < 0 || firstUser[a + k]! >= a)) {
      const other = lastUser[b + k]!;
      if (other < b + length && (other < 0 || firstUser[b + k]! >= b)) continue;
    }
    if (++outputs > mostOutputs) return Number.POSITIVE_INFINITY;
  }
  return outputs === 0 ? 0 : costs.calls.result + (outputs - 1) * costs.calls.nextResult;
}

/** What may be spent on passing inputs and results. */
function roomFor(sequence: Sequence, starts: Int32Array, length: number): number {
  let before = 0;
  for (let i = 0; i < starts.length; i++) before += sequence.bytes(starts[i]!, length);
  return mostBenefit(sequence, starts, length, 0) - errorOf(before, starts.length);
}

/**
 * Null where they would take more registers than there are, or more bytes than there is room for.
 * @param starts of pieces of one structure that do not overlap
 * @param room bytes that it may cost to pass inputs
 */
export function planFor(
  sequence: Sequence,
  starts: Int32Array,
  length: number,
  layout: DataLayout,
  room = roomFor(sequence, starts, length),
): OutlinePlan | null {
  const { insts, costs } = sequence;
  const { calls: passing } = costs;
  const first = starts[0]!;
  const parameters = new Parameters(layout);
  const inputs: Input[] = [];
  const outputs = outputsOf(sequence, starts, length);
  if (outputs === null) return null;
  let added = 0;
  let left = room;
  for (let k = 0; k < length; k++) {
    const inst = insts[first + k]!;
    for (let i = 0; i < inst.operands.length; i++) {
      const inside = sequence.definition(first + k, i) - first;
      // Used before it is computed: nothing executes such code.
      if (inside >= k && inside < length) return null;
      if (inside >= 0 && inside < length) continue;
      if (!sequence.isInput(first + k, i)) continue;
      if (sequence.commonConstant(starts, k, i) >= 0) {
        inputs.push({ kind: "constant", value: inst.operands[i] as Constant });
        continue;
      }
      const row: Value[] = [];
      for (let j = 0; j < starts.length; j++) row.push(insts[starts[j]! + k]!.operands[i]!);
      const { length: known } = parameters.list;
      const input = parameters.add(row);
      if (input.kind === "parameter") {
        if (parameters.list.length > known)
          for (let j = 0; j < row.length; j++) left -= passing.pass(row[j]!);
        if (left < 0) return null;
        if (!isPassable(row[0]!.type) || !fits(parameters, passing.integers)) return null;
        if (input.plus !== 0n) added += passing.plus;
      }
      inputs.push(input);
    }
  }
  const end = insts[first + length - 1]!;
  const calls = sequence.countCalls(first, length);
  const jumps = isTailCall(sequence, first, outputs, length);
  const callsInside = calls > (jumps ? 1 : 0);
  const plan = { inputs, parameters, outputs, endsThere: isEnd(end), jumps, callsInside };
  const bytes = bytesOfPlan(sequence, starts, length, plan, calls, added);
  return { ...plan, ...bytes, isTried: false };
}

function fits({ list }: Parameters, mostIntegers: number): boolean {
  let integers = 0;
  let floats = 0;
  for (const { type } of list)
    if (type.isFloat) floats++;
    else integers++;
  return integers <= mostIntegers && floats <= mostFloats;
}

/** What pieces compute that is used after some of them; null: too much, or what no register holds. */
function outputsOf(sequence: Sequence, starts: Int32Array, length: number): number[] | null {
  const outputs: number[] = [];
  const { firstUser, lastUser, insts } = sequence;
  const isUsedOutside = (k: number): boolean => {
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i]!;
      const last = lastUser[start + k]!;
      if (last >= 0 && (last >= start + length || firstUser[start + k]! < start)) return true;
    }
    return false;
  };
  for (let k = 0; k < length; k++) {
    if (!isUsedOutside(k)) continue;
    if (!isPassable(insts[starts[0]! + k]!.type) || outputs.length === mostOutputs) return null;
    outputs.push(k);
  }
  return outputs;
}

function isEnd(inst: Inst): boolean {
  if (!isCall(inst)) return false;
  if (inst.data.attributes.fn.has("noreturn")) return true;
  const callee = inst.operands[0]!;
  return callee.valueKind === "global" && callee.kind === "function" && callee.attributes.fn.has("noreturn");
}

function bytesOfPlan(
  sequence: Sequence,
  starts: Int32Array,
  length: number,
  plan: Omit<OutlinePlan, "before" | "after" | "body" | "isTried">,
  calls: number,
  added: number,
): Pick<OutlinePlan, "before" | "after" | "body"> {
  const { insts, places, placeAt, firstUser, lastUser } = sequence;
  const { frames, calls: passing } = sequence.costs;
  const { parameters, outputs, endsThere, jumps } = plan;
  const first = starts[0]!;
  // The body: what is longest among the pieces is not more than what there is.
  let after = sequence.bytes(first, length) + added;
  if (endsThere) after += calls > 1 ? frames.frame : frames.leaf;
  else if (calls === 0) after += frames.leaf;
  else if (calls === 1 && jumps) after += frames.jump;
  else after += frames.frame + passing.kept * keptAcrossCalls(sequence, first, length, outputs);
  if (outputs.length > 1) after += passing.nextResult;
  const body = after;
  let before = 0;
  starts.forEach((start, i) => {
    before += sequence.bytes(start, length);
    after += passing.call + (calls === 0 ? passing.around : 0);
    if (!places[placeAt[start]!]!.hasCalls) after += frames.firstCall;
    for (const { values } of parameters.list) {
      const value = values[i]!;
      after += passing.pass(value);
      if (value.type.bits === 1 || isAddress(value)) after += passing.folded;
      // The input was made for this piece alone, perhaps as a part of its instructions.
      if (value.valueKind === "inst" && value.op === Op.Load) {
        const at = places[placeAt[start]!]!.start + value.id;
        if (firstUser[at]! >= start && lastUser[at]! < start + length) after += passing.folded;
      }
    }
    outputs.forEach((k, number) => {
      after += number === 0 ? passing.result : passing.nextResult;
      if (insts[first + k]!.type.bits === 1) after += 2 * passing.folded;
    });
  });
  return { before, after, body };
}

const isAddress = (value: Value): boolean =>
  value.valueKind === "inst" && (value.op === Op.GetElementPtr || value.op === Op.Alloca);

/** Whether the call that a piece ends with is all that is returned. */
export function isTailCall(
  sequence: Sequence,
  first: number,
  outputs: readonly number[],
  length: number,
): boolean {
  const last = sequence.insts[first + length - 1]!;
  if (last.op !== Op.Call || sequence.isRealCall[first + length - 1] === 0) return false;
  for (let i = 0; i < last.data.argumentCount; i++)
    if (last.data.attributes.parameter(i).has("byval")) return false;
  if (outputs.length === 0) return last.type.kind === "void";
  return outputs.length === 1 && outputs[0] === length - 1;
}

/** Values that are there before a call and used after one, roughly. */
function keptAcrossCalls(
  sequence: Sequence,
  first: number,
  length: number,
  outputs: readonly number[],
): number {
  const { insts, isRealCall } = sequence;
  const kept = new Set<Value>();
  const callsBefore: number[] = [];
  let calls = 0;
  for (let k = 0; k < length; k++) {
    callsBefore.push(calls);
    const inst = insts[first + k]!;
    for (let i = 0; i < inst.operands.length; i++) {
      const operand = inst.operands[i]!;
      if (operand.valueKind !== "inst" && operand.valueKind !== "argument") continue;
      const inside = sequence.definition(first + k, i) - first;
      const since = inside >= 0 && inside < length ? callsBefore[inside]! + isRealCall[first + inside]! : 0;
      if (calls > since) kept.add(operand);
    }
    calls += isRealCall[first + k]!;
  }
  for (const k of outputs) if (calls > callsBefore[k]! + isRealCall[first + k]!) kept.add(insts[first + k]!);
  return kept.size;
}
