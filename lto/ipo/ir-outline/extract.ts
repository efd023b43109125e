/**
 * Makes functions of pieces of code, and calls in their places.
 *
 * The function is a copy of the first piece with parameters for inputs; flags, hints and promises are those that all pieces
 * have. Uses of outputs are replaced at the end, in one walk through each function that was changed.
 */
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
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
import { raw } from "../../ir/raw.js";
import { functionType, i8, structType, type Type, voidType } from "../../ir/types.js";
import { ConstUndef, constI64, constInt, type Value } from "../../ir/values.js";
import { commonAttributes } from "../fold-functions/attributes.js";
import { addOperation, type Input } from "../similar/parameters.js";
import { isCodeAttribute } from "./legality.js";
import { isTailCall, type OutlinePlan } from "./plan.js";
import type { Sequence } from "./sequence.js";

export class Extractor {
  /** What stands for each position whose instruction moved; only those that are used elsewhere. */
  private readonly results = new Map<Inst, Value>();
  /** By the first instruction of a piece: the instructions for it, and how many it had. */
  private readonly calls = new Map<Inst, { readonly made: readonly Inst[]; readonly length: number }>();
  private readonly changed = new Set<Func>();
  private readonly names: Set<string>;

  constructor(
    private readonly sequence: Sequence,
    names: Iterable<string>,
  ) {
    this.names = new Set(names);
  }

  /** Makes the function; the pieces are replaced by `finish`. */
  outline(starts: Int32Array, length: number, plan: OutlinePlan): Func {
    const fn = this.functionFor(this.nameFor(starts[0]!, length, plan), starts, length, plan);
    starts.forEach((start, i) => {
      this.replace(start, length, fn, plan, i);
    });
    return fn;
  }

  /** The function alone. */
  functionFor(name: string, starts: Int32Array, length: number, plan: OutlinePlan): Func {
    const { insts, places, placeAt } = this.sequence;
    const { parameters, outputs } = plan;
    const first = starts[0]!;
    const types = outputs.map((k) => insts[first + k]!.type);
    const result = types.length === 0 ? voidType : types.length === 1 ? types[0]! : structType(types);
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
    fn.attributes = attributesOf(origins);
    fn.define(this.bodyFor(fn, starts, length, plan, result));
    return fn;
  }

  private bodyFor(fn: Func, starts: Int32Array, length: number, plan: OutlinePlan, result: Type): Body {
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
    else if (outputs.length > 1) {
      let whole: Value = new ConstUndef(result, true);
      outputs.forEach((k, i) => {
        whole = block.append(makeInst(Op.InsertValue, result, [whole, copies[k]!], [i]));
      });
      block.append(makeInst(Op.Ret, voidType, [whole], null));
    } else {
      if (isCall(last))
        setCallData(last, {
          ...last.data,
          tail: isTailCall(sequence, first, outputs, length) ? "tail" : last.data.tail,
        });
      block.append(makeInst(Op.Ret, voidType, outputs.length === 0 ? [] : [copies[outputs[0]!]!], null));
    }
    const body = new Body();
    body.blocks.push(block);
    return body;
  }

  /** Lets a copy say what all pieces say. */
  private weaken(copy: Inst, starts: Int32Array, k: number): void {
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

  /** Prepares the call in the place of a piece. */
  private replace(
    start: number,
    length: number,
    fn: Func,
    { parameters, outputs }: OutlinePlan,
    member: number,
  ): void {
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
    if (outputs.length === 1) this.results.set(insts[start + outputs[0]!]!, call);
    else
      outputs.forEach((k, i) => {
        const inst = insts[start + k]!;
        const part = makeInst(Op.ExtractValue, inst.type, [call], [i]);
        made.push(part);
        this.results.set(inst, part);
      });
    this.calls.set(insts[start]!, { made, length });
    this.changed.add(place.fn);
  }

  /** Puts calls in the places of pieces. @returns the functions that were changed */
  finish(): ReadonlySet<Func> {
    for (const fn of this.changed)
      for (const block of fn.rewrite().blocks) {
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
          i += piece.length - 1;
        }
        raw(block).insts = kept;
        for (const inst of kept) {
          const { operands } = raw(inst);
          for (let i = 0; i < operands.length; i++) {
            const operand = operands[i]!;
            if (operand.valueKind === "inst") operands[i] = this.results.get(operand) ?? operand;
          }
        }
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

function inputValue(input: Input, fn: Func, block: Block, sums: Map<string, Inst>): Value {
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

/** Code attributes are the same in all functions it comes from; of the others only what all promise. */
function attributesOf(origins: readonly Func[]): AttributeList {
  const { kinds, strings } = origins[0]!.attributes.fn;
  const own = new Map([...kinds].filter(([kind]) => isCodeAttribute(kind)));
  own.set("minsize", true);
  own.set("optsize", true);
  own.set("noinline", true);
  if (origins.every(({ attributes }) => attributes.fn.has("nounwind"))) own.set("nounwind", true);
  return new AttributeList(new AttributeSet(own, strings), noAttributes, []);
}
