/**
 * Rules for constants (LLVM Language Reference, "Constants", "Constant Expressions").
 *
 * Constants are shared, so each object is checked once per verifier; problems found then are reported again
 * at every use.
 */
import { Op } from "../ir/instructions.js";
import type { Func, GlobalValue } from "../ir/module.js";
import { floatBits, type Type } from "../ir/types.js";
import type { ConstAggregate, Constant, ConstData, ConstExpr } from "../ir/values.js";
import { describeType } from "./describe.js";
import { intrinsicCallProblem } from "./intrinsics.js";
import {
  binaryProblem,
  castProblem,
  comparisonProblem,
  gepProblem,
  isBinary,
  isCast,
  isFirstClass,
  type Problem,
  selectProblem,
} from "./rules.js";

/** Deeper constants would endanger everything that walks them recursively. */
const maxDepth = 1000;

export class ConstantVerifier {
  private readonly known = new Map<Constant, Problem>();

  private readonly intrinsics = new Map<Func, Problem>();

  /** @param globals the module's globals, or null where the module is not known */
  constructor(private readonly globals: ReadonlySet<GlobalValue> | null) {}

  /** What is wrong with a constant, or null. */
  check(constant: Constant, depth = 0): Problem {
    switch (constant.valueKind) {
      // The many small ones are not worth remembering.
      case "int":
        if (constant.type.kind !== "int") return `integer constant of type ${describeType(constant.type)}`;
        return BigInt.asIntN(constant.type.bits, constant.value) === constant.value
          ? null
          : `integer constant does not fit ${describeType(constant.type)}`;
      case "global":
        return this.global(constant);
      case "undef":
        return isFirstClass(constant.type) || constant.type.kind === "token"
          ? null
          : `undefined value of type ${describeType(constant.type)}`;
      case "none":
        return null;
    }
    const known = this.known.get(constant);
    if (known !== undefined) return known;
    const problem = depth > maxDepth ? "constant nested too deeply" : this.composite(constant, depth);
    this.known.set(constant, problem);
    return problem;
  }

  /** What is wrong with calls to an intrinsic that go by its declared type. */
  intrinsicCall(fn: Func): Problem {
    let problem = this.intrinsics.get(fn);
    if (problem === undefined) this.intrinsics.set(fn, (problem = intrinsicCallProblem(fn, fn.valueType)));
    return problem;
  }

  private global(global: GlobalValue): Problem {
    return this.globals === null || this.globals.has(global)
      ? null
      : `@${global.name.slice(0, 60)} is not in the module`;
  }

  private composite(constant: Constant, depth: number): Problem {
    const { type } = constant;
    switch (constant.valueKind) {
      case "float":
        if (!type.isFloat) return `floating point constant of type ${describeType(type)}`;
        return constant.bits >= 0n && constant.bits >> BigInt(floatBits[type.kind]!) === 0n
          ? null
          : `floating point constant does not fit ${type.kind}`;
      case "zero":
        return isFirstClass(type) ? null : `zero of type ${describeType(type)}`;
      case "data":
        return dataProblem(constant);
      case "aggregate":
        return this.aggregate(constant, depth);
      case "blockaddress": {
        const { fn, label } = constant;
        const problem = this.global(fn);
        if (problem !== null) return problem;
        if (type !== fn.type) return `blockaddress of type ${describeType(type)}`;
        if (fn.isDeclaration) return `blockaddress in @${fn.name.slice(0, 60)}, which has no body`;
        if (fn.hasDropped(label) || !fn.isDecoded) return null;
        // LLVM forbids the entry block, which nothing can jump to.
        return fn.view().blocks.findIndex((block) => block.label === label) > 0
          ? null
          : `blockaddress of block ${label}, which cannot be jumped to`;
      }
      case "globalref": {
        if (type !== constant.global.type) return `${constant.kind} of type ${describeType(type)}`;
        if (constant.kind === "dso_local_equivalent" && constant.global.valueType.kind !== "function")
          return "dso_local_equivalent of something that is not a function";
        return this.global(constant.global);
      }
      case "expr":
        return this.expression(constant, depth);
      default:
        return "not a constant";
    }
  }

  private aggregate(constant: ConstAggregate, depth: number): Problem {
    const { type, elements } = constant;
    const isStruct = type.kind === "struct";
    if (!isStruct && type.kind !== "array" && type.kind !== "vector")
      return `aggregate constant of type ${describeType(type)}`;
    const count = isStruct ? type.elements.length : type.count;
    if (elements.length !== count) return `constant with ${elements.length} of ${count} elements`;
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i]!;
      const expected: Type = isStruct ? type.elements[i]! : type.element;
      if (element.type !== expected)
        return `element ${i} of a constant has type ${describeType(element.type)} instead of ${describeType(expected)}`;
      const problem = this.check(element, depth + 1);
      if (problem !== null) return problem;
    }
    return null;
  }

  private expression(constant: ConstExpr, depth: number): Problem {
    const { op, type, operands } = constant;
    for (const operand of operands) {
      const problem = this.check(operand, depth + 1);
      if (problem !== null) return problem;
    }
    const problem = expressionProblem(constant);
    if (problem !== null) return `constant expression: ${problem}`;
    return op === Op.GetElementPtr || isFirstClass(type) ? null : "constant expression without a value";
  }
}

function dataProblem({ type, bytes }: ConstData): Problem {
  if (type.kind !== "array" && type.kind !== "vector") return `data constant of type ${describeType(type)}`;
  const { element } = type;
  let size = 0;
  if (element.kind === "int") size = [8, 16, 32, 64].includes(element.bits) ? element.bits / 8 : 0;
  else if (element.kind === "half" || element.kind === "float" || element.kind === "double")
    size = floatBits[element.kind]! / 8;
  if (size === 0) return `data constant with elements of type ${describeType(element)}`;
  return bytes.length === size * type.count ? null : `data constant with ${bytes.length} bytes`;
}

/** Number of operands of the expressions that are neither binary, casts nor getelementptr. */
const arity: ReadonlyMap<Op, number> = new Map([
  [Op.FNeg, 1],
  [Op.ICmp, 2],
  [Op.FCmp, 2],
  [Op.Select, 3],
  [Op.ExtractElement, 2],
  [Op.InsertElement, 3],
  [Op.ShuffleVector, 3],
]);

function expressionProblem({ op, type, operands, elementType, predicate }: ConstExpr): Problem {
  if (op === Op.GetElementPtr)
    return elementType === null ? "no element type" : gepProblem(elementType, type, operands);
  const expected = isCast(op) ? 1 : isBinary(op) ? 2 : arity.get(op);
  if (expected === undefined) return "not an operation on constants";
  if (operands.length !== expected) return `${operands.length} operands instead of ${expected}`;
  const [a, b, c] = operands.map((operand) => operand.type) as [Type, Type, Type];
  if (isCast(op)) return castProblem(op, a, type);
  if (isBinary(op)) return binaryProblem(op, type, a, b);
  switch (op) {
    case Op.FNeg:
      return a === type && a.scalar.isFloat ? null : `operand of type ${describeType(a)}`;
    case Op.ICmp:
    case Op.FCmp:
      return comparisonProblem(op, predicate, type, a, b);
    case Op.Select:
      return selectProblem(a, type, b, c);
    case Op.ExtractElement:
      return a.isVector && a.element === type && b.kind === "int"
        ? null
        : "operands do not fit the operation";
    case Op.InsertElement:
      return a === type && a.isVector && a.element === b && c.kind === "int"
        ? null
        : "operands do not fit the operation";
    default:
      return a.isVector &&
        a === b &&
        c.isVector &&
        type.isVector &&
        type.element === a.element &&
        type.count === c.count
        ? null
        : "operands do not fit the operation";
  }
}
