/**
 * State of legalising one function: where the parts of rewritten values are, and the steps every lowering
 * shares.
 *
 * A rewritten value is an array of legal values, its parts: an odd integer is one wider integer whose upper
 * bits are undefined; a wide integer is 64-bit words, lowest first, the top one likewise undefined above
 * its width; a vector is registers (see the target); an aggregate is the parts of its members in order.
 * Kept instructions stay the same objects and stand for themselves.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type Body, type Inst, makeInst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { functionType, ptr, type Type } from "../../ir/types.js";
import { type Argument, type Constant, constI64, type Value } from "../../ir/values.js";
import { constantParts } from "./constants.js";
import { Emitter } from "./emitter.js";
import { internalIntrinsic, libraryFunction } from "./internal.js";
import { isLegalType } from "./legal-types.js";
import { isLegalConstant } from "./legality.js";
import { partTypesOf } from "./part-types.js";
import type { LegalizerTarget, Parts, RoomOf, VectorTarget } from "./target.js";

export type { Parts } from "./target.js";

export class Lowering extends Emitter {
  /** Parts of rewritten instructions by their number; undefined for kept ones. */
  readonly lowered: (Parts | undefined)[];
  /** Parts of each original argument, when the signature changes. */
  argumentParts: readonly Parts[] | null = null;
  /** Hidden result pointer of a demoted return. */
  resultPointer: Argument | null = null;
  /** Block in which the code of a split original block ends. */
  readonly tails = new Map<Block, Block>();
  /** Edges that got a block of their own: in `to`, `from` is no longer the predecessor but `via`. */
  readonly edges: { from: Block; to: Block; via: Block }[] = [];
  /** Edges that are gone. */
  readonly removedEdges: { from: Block; to: Block }[] = [];
  /** Allocas to put at the start of the entry block. */
  readonly allocas: Inst[] = [];
  /** Bits that a promoted integer's value is known to fit in, where that spares masking. */
  readonly knownBits = new Map<Value, number>();
  private scratch: Map<string, Value> | null = null;
  /** What the function has for vectors, or, for a while, less. */
  vectors: VectorTarget;
  /** While `vectors` is less: makes parts of the function's legal types into those of that. */
  narrowed: ((parts: Parts) => Parts) | null = null;

  constructor(
    readonly fn: Func,
    body: Body,
    readonly layout: DataLayout,
    readonly target: LegalizerTarget,
    /** How many results calls of a function (null: of unknown code) return in registers. */
    readonly roomOf: RoomOf,
    instructionCount: number,
  ) {
    super(body);
    this.vectors = target.vectorsOf(fn);
    this.lowered = new Array(instructionCount);
  }

  unsupported(construct: string): UnsupportedError {
    const error = new UnsupportedError(construct, `@${this.fn.name}`);
    error.origin = this.origin;
    return error;
  }

  /** Legal types that stand for a value of `type`; none for void and empty aggregates. */
  partTypes(type: Type): readonly Type[] {
    return partTypesOf(type, this.vectors);
  }

  /** Parts of an operand of the original code. */
  parts(value: Value): Parts {
    const parts = this.ownParts(value);
    return this.narrowed === null ? parts : this.narrowed(parts);
  }
  private ownParts(value: Value): Parts {
    switch (value.valueKind) {
      case "inst": {
        if (value.id >= 0) {
          const parts = this.lowered[value.id];
          if (parts !== undefined) return parts;
        }
        return [value];
      }
      case "argument":
        return this.argumentParts === null ? [value] : this.argumentParts[value.index]!;
      case "asm":
      case "metadata":
        return [value];
      default:
        return this.constant(value);
    }
  }
  /** The one part of an operand of scalar type up to 64 bits, pointer, float or machine vector. */
  value(value: Value): Value {
    const parts = this.parts(value);
    if (parts.length !== 1) throw new Error(`legalize: ${value.type} has ${parts.length} parts, not one`);
    return parts[0]!;
  }
  private constant(value: Constant): Parts {
    if (isLegalType(value.type, this.vectors)) {
      if (isLegalConstant(value)) return [value];
      if (value.valueKind === "expr") return this.expand(value);
    }
    return constantParts(this, value);
  }
  /** Computes a constant expression that selection does not take, here, by instructions. */
  expand(value: Constant): Parts {
    if (value.valueKind !== "expr") throw new Error("legalize: not a constant expression");
    const data = value.op === Op.GetElementPtr ? { elementType: value.elementType! } : value.predicate;
    // The data of the other instructions that constant expressions mirror is null.
    const inst = makeInst(value.op as Op.Add, value.type, [...value.operands], data as null, [], value.flags);
    return this.lowerInst(inst);
  }
  /** Lowers a detached instruction in terms of original operands at the current place. Set by the driver. */
  lowerInst!: (inst: Inst) => Parts;

  /** A call of an LLVM intrinsic in a form that selection takes. @param name with `llvm.` and suffix */
  intrinsic(name: string, result: Type, args: readonly Value[]): Inst {
    return this.call(
      internalIntrinsic(
        name,
        functionType(
          result,
          args.map((a) => a.type),
        ),
      ),
      args,
    );
  }
  /** A call of a run-time library function with legal arguments. */
  library(name: string, result: Type, args: readonly Value[]): Inst {
    return this.call(
      libraryFunction(
        name,
        functionType(
          result,
          args.map((a) => a.type),
        ),
      ),
      args,
    );
  }

  /** A stack object of a type, allocated on entry. @param align in bytes */
  stackSlot(type: Type, align: number): Value {
    const slot = makeInst(Op.Alloca, ptr, [constI64(1)], {
      allocatedType: type,
      align,
      inalloca: false,
      swifterror: false,
    });
    this.allocas.push(slot);
    return slot;
  }
  /** A stack object shared by all uses that are done with it before the next begins. */
  scratchSlot(type: Type, align: number): Value {
    const key = `${type.id},${align}`;
    this.scratch ??= new Map();
    let slot = this.scratch.get(key);
    if (slot === undefined) this.scratch.set(key, (slot = this.stackSlot(type, align)));
    return slot;
  }

  /** Splits the parts of several values of types `types` out of their concatenation. */
  slice(types: readonly Type[], index: number, parts: Parts): Parts {
    let start = 0;
    for (let i = 0; i < index; i++) start += this.partTypes(types[i]!).length;
    return parts.slice(start, start + this.partTypes(types[index]!).length);
  }
}

/** The operand with an undefined constant replaced by zero: for expansions that read it several times. */
export function pinned(parts: Parts, zero: (type: Type) => Value): Parts {
  return parts.some((p) => p.valueKind === "undef")
    ? parts.map((p) => (p.valueKind === "undef" ? zero(p.type) : p))
    : parts;
}
