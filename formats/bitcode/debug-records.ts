/**
 * What holds of source variables, and where labels are, as calls of LLVM's intrinsics before instructions. All versions read
 * these; from 19 on they make records of them.
 *
 * Left out is what LLVM's verifier would not have, at the price of all debug information: instances of variables whose
 * scopes lead to another function, and a second variable for the same parameter. Where only a version does not know
 * an operation, nothing is known of the variable.
 */
import { leadsTo } from "../../lto/ir/debug/instruction-places.js";
import {
  type DIExpression,
  type DILabel,
  type DILocalVariable,
  type DILocation,
  sizeOfType,
} from "../../lto/ir/debug/nodes.js";
import {
  type DebugRecord,
  Dw,
  type Expression,
  fragmentOf,
  operationsIn,
  withoutFragment,
} from "../../lto/ir/debug-records.js";
import { type BodyView, type Inst, Op } from "../../lto/ir/instructions.js";
import { Func, type Module } from "../../lto/ir/module.js";
import type { Origins } from "../../lto/ir/origins.js";
import { functionType, i32, metadataType, type Type, voidType } from "../../lto/ir/types.js";
import { ConstUndef, type Value } from "../../lto/ir/values.js";

/** A call of `llvm.dbg.value`, `llvm.dbg.declare` or `llvm.dbg.label`. */
export interface VariableCall {
  readonly of: "value" | "declare" | "label";
  readonly variable: DILocalVariable | DILabel;
  /** Null: of a label. */
  readonly expression: DIExpression | null;
  readonly place: DILocation;
  /** One, unless the expression says which of them it means; of a label none. */
  readonly values: readonly Value[];
  /** The values are a list. */
  readonly isList: boolean;
}

const ofVariable = functionType(voidType, [metadataType, metadataType, metadataType]);
const ofLabel = functionType(voidType, [metadataType]);

/** The functions that are called. */
export class VariableFunctions {
  private readonly value: Func;
  private readonly declare: Func;
  private readonly label: Func;
  /** Those that the module does not have. */
  readonly added: Func[] = [];

  constructor(module: Module) {
    this.value = this.find(module, "llvm.dbg.value", ofVariable);
    this.declare = this.find(module, "llvm.dbg.declare", ofVariable);
    this.label = this.find(module, "llvm.dbg.label", ofLabel);
  }

  private find({ globals }: Module, name: string, signature: Type): Func {
    for (const global of globals) if (global.kind === "function" && global.name === name) return global;
    const fn = new Func(name, signature);
    this.added.push(fn);
    return fn;
  }

  of({ of }: VariableCall): Func {
    return this[of];
  }
}

/** The value of a variable of which nothing is known. */
const unknown: readonly Value[] = [new ConstUndef(i32, true)];

/** Operations by the versions that are the first to know them. */
const operationVersions: ReadonlyMap<number, number> = new Map([
  ...[0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e].map((comparison) => [comparison, 17] as const),
  [Dw.ExtractBitsSext, 19],
  [Dw.ExtractBitsZext, 19],
]);

const noCalls: ReadonlyMap<Inst, readonly VariableCall[]> = new Map();

/** The calls that stand before the instructions of a body. @param version of the LLVM that reads them */
export function variableCalls(
  fn: Func,
  body: BodyView,
  origins: Origins | null,
  version: number,
): ReadonlyMap<Inst, readonly VariableCall[]> {
  if (origins === null || fn.subprogram === null || !body.hasDebug) return noCalls;
  const calls = new Map<Inst, readonly VariableCall[]>();
  const made = new CallMaker(fn, origins, version);
  for (const { insts } of body.blocks) {
    let waiting: VariableCall[] = [];
    let last: Inst | null = null;
    for (const inst of insts) {
      if (inst.debug !== null)
        for (const record of inst.debug) {
          const call = made.of(record);
          if (call !== null) waiting.push(call);
        }
      // Nothing comes before these, or between such a call and what returns its result.
      if (inst.op === Op.Phi || inst.op === Op.LandingPad) continue;
      const isReturn = last?.op === Op.Call && last.data.tail === "musttail";
      if (waiting.length > 0 && !isReturn) calls.set(inst, waiting);
      waiting = [];
      last = inst;
    }
  }
  return calls;
}

class CallMaker {
  /** The variable of each parameter of the function itself. */
  private readonly parameters = new Map<number, DILocalVariable>();

  constructor(
    private readonly fn: Func,
    private readonly origins: Origins,
    private readonly version: number,
  ) {}

  of(record: DebugRecord): VariableCall | null {
    const variable = this.origins.variableOf(record.variable);
    const place = this.origins.locationOf(record.origin);
    if (place === null || !leadsTo(place, this.fn.subprogram!)) return null;
    if (variable.kind === "DILabel")
      return { of: "label", variable, expression: null, place, values: [], isList: false };
    if (place.inlinedAt === null && !this.isOnlyOne(variable)) return null;
    const { expression, values } = record;
    const part = fragment(expression, variable);
    if (part === null) return null;
    if (!this.canSay(record))
      return {
        of: "value",
        variable,
        expression: node(part),
        place,
        values: unknown,
        isList: false,
      };
    return {
      of: record.isDeclaration ? "declare" : "value",
      variable,
      expression: node([...withoutFragment(expression), ...part]),
      place,
      values,
      isList: values.length > 1 || expression.includes(Dw.Arg),
    };
  }

  private isOnlyOne(variable: DILocalVariable): boolean {
    const { arg } = variable;
    if (arg === 0) return true;
    const known = this.parameters.get(arg) ?? variable;
    this.parameters.set(arg, known);
    return known === variable;
  }

  private canSay({ isKnown, values, expression }: DebugRecord): boolean {
    return (
      isKnown &&
      values.every(isSayable) &&
      operationsIn(expression)?.every(
        (at) => (operationVersions.get(expression[at]!) ?? 0) <= this.version,
      ) === true
    );
  }
}

/** Whether a value has a number wherever it is mentioned. */
function isSayable({ valueKind, type }: Value): boolean {
  switch (valueKind) {
    case "inst":
    case "argument":
      return hasValue(type);
    case "int":
    case "float":
    case "zero":
      return true;
    default:
      return false;
  }
}
const hasValue = ({ kind }: Type): boolean => kind !== "void" && kind !== "token" && kind !== "metadata";

/** The operations by which a part of a variable is meant; none for all of it, null where it has no such part. */
function fragment(expression: Expression, variable: DILocalVariable): Expression | null {
  const part = fragmentOf(expression);
  if (part === null) return [];
  const size = sizeOfType(variable.type);
  if (size !== null && part.offset + part.size > size) return null;
  return part.size === size ? [] : [Dw.Fragment, part.offset, part.size];
}

const node = (expression: Expression): DIExpression => ({
  kind: "DIExpression",
  distinct: false,
  operations: expression.map(BigInt),
});
