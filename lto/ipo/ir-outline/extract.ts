/**
 * Makes functions of pieces of code, and calls in their places.
 *
 * The function is a copy of the first piece with parameters for inputs; flags, hints and promises are those that all pieces
 * have. Uses of outputs are replaced at the end, in one walk through each function that was changed.
 */
import { attributesOfPiece } from "../../analysis/made-functions.js";
import { AttributeList, noAttributes } from "../../ir/attributes.js";
import { replaceInRecords } from "../../ir/debug-reconcile.js";
import { allUnknown, passRecords } from "../../ir/debug-records.js";
import { mix } from "../../ir/hash.js";
import { mergeHints, withHints } from "../../ir/hints.js";
import {
  Block,
  Body,
  type CallData,
  copyInst,
  type Inst,
  isCall,
  makeInst,
  Op,
  opNames,
  setCallData,
} from "../../ir/instructions.js";
import { Func } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import { raw } from "../../ir/raw.js";
import { functionType, i8, structType, type Type, voidType } from "../../ir/types.js";
import { ConstUndef, constI64, constInt, type Value } from "../../ir/values.js";
import { commonAttributes } from "../icf/attributes.js";
import { addOperation, type Input } from "../similar/parameters.js";
import { isTailCall, type OutlinePlan } from "./plan.js";
import type { Sequence } from "./sequence.js";

export class Extractor {
  /** What stands for each position whose instruction moved; only those that are used elsewhere. */
  private readonly results = new Map<Inst, Value>();
  /** By the first instruction of a piece: the instructions for it, and how many it had. */
  private readonly calls = new Map<Inst, { readonly made: readonly Inst[]; readonly length: number }>();
  private readonly changed = new Set<Func>();

  /** @param names of all symbols; new ones are added */
  constructor(
    protected readonly sequence: Sequence,
    private readonly names: Set<string>,
    private readonly origins: Origins | null,
  ) {}

  /** Makes the function; the pieces are replaced by `finish`. */
  outline(starts: Int32Array, length: number, plan: OutlinePlan): Func {
    const fn = this.namedFor(starts, length, plan);
    starts.forEach((start, i) => {
      this.replace(start, length, fn, plan, i);
    });
    return fn;
  }

  protected namedFor(starts: Int32Array, length: number, plan: OutlinePlan): Func {
    return this.functionFor(this.nameFor(starts[0]!, length, plan), starts, length, plan);
  }

  /** The function alone. */
  functionFor(name: string, starts: Int32Array, length: number, plan: OutlinePlan): Func {
    const { places, placeAt } = this.sequence;
    const { parameters } = plan;
    const result = this.resultOf(starts[0]!, plan);
    const fn = new Func(
      name,
      functionType(
        result,
        parameters.list.map(({ type }) => type),
      ),
    );
    fn.linkage = "internal";
    fn.dsoLocal = true;
    fn.unnamedAddr = "global";
    const origins = [...starts].map((start) => places[placeAt[start]!]!.fn);
    fn.attributes = attributesOfPiece(origins);
    fn.define(this.bodyFor(fn, starts, length, plan, result));
    return fn;
  }

  protected resultOf(first: number, { outputs }: OutlinePlan): Type {
    const types = outputs.map((k) => this.sequence.insts[first + k]!.type);
    return types.length === 0 ? voidType : types.length === 1 ? types[0]! : structType(types);
  }

  protected bodyFor(fn: Func, starts: Int32Array, length: number, plan: OutlinePlan, result: Type): Body {
    const { sequence } = this;
    const { insts } = sequence;
    const { inputs, outputs, endsThere } = plan;
    const first = starts[0]!;
    const block = new Block();
    const copies: Inst[] = [];
    const sums = new Map<string, Inst>();
    let next = 0;
    for (let k = 0; k < length; k++) {
      const inst = insts[first + k]!;
      const operands = inst.operands.map((operand, i): Value => {
        const inside = sequence.definition(first + k, i) - first;
        if (inside >= 0 && inside < length) return copies[inside]!;
        return sequence.isInput(first + k, i) ? inputValue(inputs[next++]!, fn, block, sums) : operand;
      });
      const copy = copyInst(inst, operands, []);
      this.weaken(copy, starts, k);
      copies.push(block.append(copy));
    }
    const last = copies[length - 1]!;
    if (endsThere) block.append(makeInst(Op.Unreachable, voidType, [], null));
    else {
      if (outputs.length < 2 && isCall(last))
        setCallData(last, {
          ...last.data,
          tail: isTailCall(sequence, first, outputs, length) ? "tail" : last.data.tail,
        });
      appendReturn(
        block,
        result,
        outputs.map((k) => copies[k]!),
      );
    }
    const body = new Body();
    body.blocks.push(block);
    return body;
  }

  /** Lets a copy say what all pieces say. */
  protected weaken(copy: Inst, starts: Int32Array, k: number): void {
    let { hints } = copy;
    for (const start of starts) {
      const inst = this.sequence.insts[start + k]!;
      copy.flags &= inst.flags;
      hints = mergeHints(hints, inst.hints);
      if (!isCall(copy)) continue;
      const { attributes, tail } = (inst as typeof copy).data;
      const data: CallData = copy.data;
      setCallData(copy, {
        ...data,
        attributes: commonAttributes(data.attributes, attributes)!,
        tail: tail === data.tail ? tail : "",
      });
    }
    // Scopes are those of one execution of one function.
    copy.hints = hints === null ? null : withHints(hints, { scopes: null, noalias: null });
  }

  private replace(start: number, length: number, fn: Func, plan: OutlinePlan, member: number): void {
    const { insts, places, placeAt } = this.sequence;
    this.calls.set(insts[start]!, {
      made: this.callFor(start, length, fn, plan, member, this.results),
      length,
    });
    this.changed.add(places[placeAt[start]!]!.fn);
  }

  /** The call in the place of a piece, with what takes its results apart. @param results learns what stands for outputs */
  protected callFor(
    start: number,
    length: number,
    fn: Func,
    { parameters, outputs }: OutlinePlan,
    member: number,
    results: Map<Inst, Value>,
  ): Inst[] {
    const { insts, places, placeAt } = this.sequence;
    const args = parameters.list.map(({ values }) => values[member]!);
    const place = places[placeAt[start]!]!;
    const call = makeInst(Op.Call, fn.valueType.result, [fn, ...args], {
      functionType: fn.valueType,
      callingConvention: 0,
      attributes: new AttributeList(noAttributes, noAttributes, []),
      tail: place.showsFrame ? "" : "tail",
      argumentCount: args.length,
      bundles: [],
    });
    const made: Inst[] = [call];
    if (this.origins !== null)
      call.origin = this.origins.standingFor(insts.slice(start, start + length).map(({ origin }) => origin));
    if (outputs.length === 1) results.set(insts[start + outputs[0]!]!, call);
    else
      outputs.forEach((k, i) => {
        const inst = insts[start + k]!;
        const part = makeInst(Op.ExtractValue, inst.type, [call], [i]);
        made.push(part);
        results.set(inst, part);
      });
    return made;
  }

  /** Puts calls in the places of pieces. @returns the functions that were changed */
  finish(): ReadonlySet<Func> {
    for (const fn of this.changed) {
      const body = fn.rewrite();
      const gone = new Set<Inst>();
      for (const block of body.blocks) {
        const kept: Inst[] = [];
        const { insts } = block;
        for (let i = 0; i < insts.length; i++) {
          const piece = this.calls.get(insts[i]!);
          if (piece === undefined) {
            kept.push(insts[i]!);
            continue;
          }
          for (const inst of piece.made) {
            inst.parent = block;
            kept.push(inst);
          }
          const taken = insts.slice(i, i + piece.length);
          for (const inst of taken) gone.add(inst);
          i += piece.length - 1;
          if (body.hasDebug) loseRecords(taken, piece.made[0]!);
        }
        raw(block).insts = kept;
        replaceOperands(kept, this.results);
      }
      replaceTaken(body, gone, this.results);
    }
    return this.changed;
  }

  /** By what the function does, so that the same code has the same name in every build. */
  private nameFor(first: number, length: number, plan: OutlinePlan): string {
    const { sequence } = this;
    let hash = length;
    const add = (text: string): void => {
      for (let i = 0; i < text.length; i++) hash = mix(hash, text.charCodeAt(i));
    };
    for (const { type } of plan.parameters.list) add(String(type));
    for (let k = 0; k < length; k++) {
      const inst = sequence.insts[first + k]!;
      add(opNames[inst.op]);
      add(String(inst.type));
      inst.operands.forEach((operand, i) => {
        const inside = sequence.definition(first + k, i) - first;
        if (inside >= 0 && inside < length) add(`%${inside}`);
        else if (operand.valueKind === "global") add(operand.name);
        else if (operand.valueKind === "int") add(String(operand.value));
      });
    }
    const base = `outlined.${(hash >>> 0).toString(16).padStart(8, "0")}`;
    let name = base;
    for (let i = 2; this.names.has(name); i++) name = `${base}.${i}`;
    this.names.add(name);
    return name;
  }
}

/**
 * What is said of variables where code was taken out is not known from the call on: while that runs, and after it.
 * @param taken instructions that stand elsewhere now
 */
export function loseRecords(taken: readonly Inst[], call: Inst): void {
  passRecords(taken[0]!, call);
  const unknown = allUnknown(taken.flatMap(({ debug }) => debug ?? []));
  if (unknown.length > 0) call.debug = [...(call.debug ?? []), ...unknown];
  for (const inst of taken) inst.debug = null;
}

/** Lets results stand in what is said of variables for instructions that were taken out; what has none is not known. */
export function replaceTaken(body: Body, taken: ReadonlySet<Inst>, results: ReadonlyMap<Inst, Value>): void {
  if (!body.hasDebug || taken.size === 0) return;
  replaceInRecords(body, (inst) => {
    const result = results.get(inst);
    if (result !== undefined) return result;
    return taken.has(inst) ? new ConstUndef(inst.type, true) : inst;
  });
}

/** Lets results stand for instructions that moved. */
export function replaceOperands(insts: readonly Inst[], results: ReadonlyMap<Inst, Value>): void {
  for (const inst of insts) {
    const { operands } = raw(inst);
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (operand.valueKind === "inst") operands[i] = results.get(operand) ?? operand;
    }
  }
}

/** Ends a function with the values that are its result. */
export function appendReturn(block: Block, result: Type, values: readonly Value[]): void {
  let whole = values[0];
  if (values.length > 1) {
    whole = new ConstUndef(result, true);
    for (let i = 0; i < values.length; i++)
      whole = block.append(makeInst(Op.InsertValue, result, [whole, values[i]!], [i]));
  }
  block.append(makeInst(Op.Ret, voidType, whole === undefined ? [] : [whole], null));
}

export function inputValue(input: Input, fn: Func, block: Block, sums: Map<string, Inst>): Value {
  if (input.kind === "constant") return input.value;
  const argument = fn.args[input.index]!;
  if (input.plus === 0n) return argument;
  const key = `${input.index},${input.plus}`;
  const known = sums.get(key);
  if (known !== undefined) return known;
  const { type } = argument;
  const sum =
    addOperation(type) === Op.GetElementPtr
      ? makeInst(Op.GetElementPtr, type, [argument, constI64(input.plus)], { elementType: i8 })
      : makeInst(Op.Add, type, [argument, constInt(type, input.plus)], null);
  sums.set(key, sum);
  return block.append(sum as Inst);
}
