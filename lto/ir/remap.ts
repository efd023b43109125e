/**
 * Replaces globals in constants and bodies: after symbol resolution, what mentioned a module's own
 * declaration or losing definition must mention the prevailing one; after copies were found, the one that stays.
 *
 * A constant that mentions nothing replaced stays the same object; a rebuilt one is cached. Bodies are
 * changed while they are decoded (`BodySource.remap`) where the source can do so, else right after.
 */

import { mapCallees } from "./hints.js";
import type { Body } from "./instructions.js";
import type { BodySource, Func, GlobalValue } from "./module.js";
import { raw } from "./raw.js";
import {
  type BlockAddress,
  ConstAggregate,
  type Constant,
  ConstExpr,
  droppedAddress,
  GlobalRef,
} from "./values.js";

/** What each replaced global is replaced by. */
export type Replacements = ReadonlyMap<GlobalValue, GlobalValue>;

export class ConstantRemapper {
  private readonly cache = new Map<Constant, Constant>();
  constructor(private readonly replacements: Replacements) {}

  global(global: GlobalValue): GlobalValue {
    return this.replacements.get(global) ?? global;
  }

  /** The constant with its globals replaced. Recursive in the nesting, which readers bound. */
  constant(constant: Constant): Constant {
    switch (constant.valueKind) {
      case "global":
        return this.global(constant);
      case "aggregate":
      case "expr":
      case "blockaddress":
      case "globalref": {
        let result = this.cache.get(constant);
        if (result === undefined) {
          result = this.rebuild(constant);
          this.cache.set(constant, result);
        }
        return result;
      }
      default:
        return constant;
    }
  }

  private list(constants: readonly Constant[]): readonly Constant[] {
    let changed: Constant[] | null = null;
    for (let i = 0; i < constants.length; i++) {
      const mapped = this.constant(constants[i]!);
      if (mapped === constants[i]) continue;
      if (changed === null) changed = constants.slice();
      changed[i] = mapped;
    }
    return changed ?? constants;
  }

  private rebuild(constant: ConstAggregate | ConstExpr | BlockAddress | GlobalRef): Constant {
    switch (constant.valueKind) {
      case "aggregate": {
        const elements = this.list(constant.elements);
        return elements === constant.elements ? constant : new ConstAggregate(constant.type, elements);
      }
      case "expr": {
        const operands = this.list(constant.operands);
        if (operands === constant.operands) return constant;
        const { type, op, flags, elementType, predicate } = constant;
        return new ConstExpr(type, op, operands, flags, elementType, predicate);
      }
      case "blockaddress":
        // Blocks of a definition that lost do not exist, and only that definition could have jumped to
        // them: any non-null address will do. A replaced function that kept its body still owns its blocks.
        return droppedAddress(constant) ?? constant;
      case "globalref": {
        const global = this.global(constant.global);
        return global === constant.global ? constant : new GlobalRef(constant.type, constant.kind, global);
      }
    }
  }
}

/** Replaces the globals in a decoded body, in place. */
export function remapBody(body: Body, replacements: Replacements): void {
  // Debug records name no globals.
  const remapper = new ConstantRemapper(replacements);
  for (const block of body.blocks)
    for (const inst of block.insts) {
      if (inst.hints?.callees != null)
        inst.hints = mapCallees(inst.hints, (fn) => replacements.get(fn) ?? fn);
      const { operands } = raw(inst);
      for (let i = 0; i < operands.length; i++) {
        const operand = operands[i]!;
        switch (operand.valueKind) {
          case "global":
          case "expr":
          case "aggregate":
          case "blockaddress":
          case "globalref":
            operands[i] = remapper.constant(operand);
            break;
        }
      }
    }
}

class RemappedBody implements BodySource {
  constructor(
    private readonly source: BodySource,
    private readonly replacements: Replacements,
  ) {}
  decode(fn: Func): Body {
    const body = this.source.decode(fn);
    remapBody(body, this.replacements);
    return body;
  }
}

/** Makes a function's body, decoded or not, mention the replacements. */
export function remapFunction(fn: Func, replacements: Replacements): void {
  fn.transform(
    (source) =>
      source.remap?.((global) => replacements.get(global) ?? global) ??
      new RemappedBody(source, replacements),
    (body) => remapBody(body, replacements),
  );
}
