/** Intrinsics that inlined code needs, declared in the module where it lacks them. */

import { AttributeList, AttributeSet, noAttributeList, noAttributes } from "../../ir/attributes.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type CallData, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { Func, type Module } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import { functionType, i1, i64, ptr, type Type, voidType } from "../../ir/types.js";
import { constBool, constI64, type Value } from "../../ir/values.js";

export class InlineRuntime {
  readonly layout: DataLayout;
  /** Null: nobody asks where code comes from. */
  readonly origins: Origins | null;

  constructor(private readonly module: Module) {
    this.layout = module.dataLayout;
    this.origins = module.origins;
  }

  /** A call that copies `size` bytes; the alignments are in bytes. */
  copy(to: Value, toAlign: number, from: Value, fromAlign: number, size: number): Inst {
    const type = functionType(voidType, [ptr, ptr, i64, i1]);
    const attributes = new AttributeList(noAttributes, noAttributes, [aligned(toAlign), aligned(fromAlign)]);
    return this.call("llvm.memcpy.p0.p0.i64", type, [to, from, constI64(size), constBool(false)], attributes);
  }
  saveStack(): Inst {
    return this.call("llvm.stacksave.p0", functionType(ptr, []), []);
  }
  restoreStack(to: Value): Inst {
    return this.call("llvm.stackrestore.p0", functionType(voidType, [ptr]), [to]);
  }

  private call(name: string, type: Type, args: Value[], attributes = noAttributeList): Inst {
    const data: CallData = {
      functionType: type,
      callingConvention: 0,
      attributes,
      tail: "",
      argumentCount: args.length,
      bundles: [],
    };
    return makeInst(Op.Call, type.result, [this.declared(name, type), ...args], data);
  }
  private declared(name: string, type: Type): Func {
    const { globals } = this.module;
    const known = globals.find((global) => global.name === name);
    if (known?.kind === "function") return known;
    const fn = new Func(name, type);
    globals.push(fn);
    return fn;
  }
}

const aligned = (align: number): AttributeSet =>
  align > 1 ? new AttributeSet(new Map([["align", align]]), new Map()) : noAttributes;
