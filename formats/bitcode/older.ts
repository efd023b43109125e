/**
 * What older versions of LLVM write otherwise: before version 22 the marks of a variable's lifetime say how many bytes live,
 * -1 for all of them.
 */
import { AttributeList, noAttributes } from "../../lto/ir/attributes.js";
import { type CallInst, type Inst, makeInst, Op } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import { functionType, i64, type Type } from "../../lto/ir/types.js";
import { constI64 } from "../../lto/ir/values.js";

/** The first version without sizes. */
const unsizedLifetimes = 22;

const isUnsizedMark = ({ name, valueType }: Func): boolean =>
  /^llvm\.lifetime\.(?:start|end)(?:\.|$)/.test(name) && valueType.elements.length === 2;

/** A module's functions and calls as one version has them. */
export class Older {
  private readonly calls = new WeakMap<Inst, CallInst>();

  /** @param version of the LLVM that reads */
  constructor(private readonly version: number) {}

  private isMark(global: GlobalValue): boolean {
    return this.version < unsizedLifetimes && global.kind === "function" && isUnsizedMark(global);
  }

  typeOf(global: GlobalValue): Type {
    return this.isMark(global) ? withSize(global.valueType) : global.valueType;
  }

  attributesOf(fn: Func): AttributeList {
    return this.isMark(fn) ? behindSize(fn.attributes) : fn.attributes;
  }

  /** The instruction that stands for one, the same each time; it gives no result that the other does not give. */
  instruction(inst: Inst): Inst {
    if (inst.op !== Op.Call) return inst;
    const callee = inst.operands[0]!;
    if (callee.valueKind !== "global" || !this.isMark(callee)) return inst;
    let call = this.calls.get(inst);
    if (call === undefined) {
      const { data, operands } = inst;
      call = makeInst(Op.Call, inst.type, [callee, constI64(-1), ...operands.slice(1)], {
        ...data,
        functionType: withSize(data.functionType),
        attributes: behindSize(data.attributes),
        argumentCount: data.argumentCount + 1,
      });
      this.calls.set(inst, call);
    }
    return call;
  }
}

function withSize({ elements }: Type): Type {
  const [result, ...parameters] = elements;
  return functionType(result!, [i64, ...parameters]);
}

const behindSize = ({ fn, result, parameters }: AttributeList): AttributeList =>
  new AttributeList(fn, result, [noAttributes, ...parameters]);
