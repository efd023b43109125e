/**
 * Salvaging debug records: what named a value that goes names what the value was made of.
 *
 * Upper bits of a narrow value's register are anything: extensions and truncations say of how many bits they are, and who makes
 * DWARF of it extends what is shifted to the right (codegen/debug/expressions.ts). Loads are not followed: memory changes.
 * Where an instruction works on two values, the record names both: what dominates it does so, too, and neither is another one
 * without that the instruction is executed again, since it is between them and the record on every way.
 */
import {
  type DebugRecord,
  Dw,
  Encoding,
  type Expression,
  fragmentOf,
  noExpression,
  operationsIn,
  withoutFragment,
} from "./debug-records.js";
import { type Inst, Op } from "./instructions.js";
import type { Type } from "./types.js";
import type { Value } from "./values.js";

/** Longer expressions are not worth their bytes. */
const longest = 24;

/** Numbers beyond are not put into expressions. */
const largest = 2 ** 48;

/** What a value is: operations on another one, and on a second one. */
interface Derived {
  readonly from: Value;
  readonly operations: Expression;
  /** The operations' `Arg 0`. */
  readonly second?: Value;
}

/** Records name no more values. */
const mostValues = 4;

const bitsOf = (type: Type): number => (type.kind === "int" ? type.bits : type.kind === "ptr" ? 64 : 0);

const sizes: Readonly<Partial<Record<Type["kind"], number>>> = { ptr: 8, float: 4, double: 8 };
/** Bytes from one element to the next, of types whose size needs no layout; 0 for others. */
function strideOf(type: Type): number {
  if (type.kind === "int") return [8, 16, 32, 64].includes(type.bits) ? type.bits / 8 : 0;
  return sizes[type.kind] ?? 0;
}

function withConstant(
  value: Value | undefined,
  operation: (constant: number) => Expression | null,
): Expression | null {
  return value?.valueKind === "int" && Math.abs(value.num) < largest && value.type.bits <= 64
    ? operation(value.num)
    : null;
}

const constant = (value: number): Expression => (value >= 0 ? [Dw.Constu, value] : [Dw.Consts, value]);

/** Adds a number of either sign. */
export const adding = (value: number): Expression =>
  value >= 0 ? [Dw.PlusUconst, value] : [Dw.Constu, -value, Dw.Minus];

const binaries: Readonly<Partial<Record<Op, Dw>>> = {
  [Op.Add]: Dw.Plus,
  [Op.Sub]: Dw.Minus,
  [Op.Mul]: Dw.Mul,
  [Op.And]: Dw.And,
  [Op.Or]: Dw.Or,
  [Op.Xor]: Dw.Xor,
};

/** Of what is extended before, since bits come down. */
function shiftedRight({ type }: Inst, by: number, encoding: Encoding, shift: Dw): Expression | null {
  const bits = bitsOf(type);
  if (bits === 0 || bits > 64 || by < 0) return null;
  const extended = bits === 64 ? noExpression : [Dw.Convert, bits, encoding, Dw.Convert, 64, encoding];
  return [...extended, Dw.Constu, by, shift];
}

const byConstant = (op: Op, c: number): Expression =>
  op === Op.Add ? adding(c) : op === Op.Sub ? adding(-c) : [...constant(c), binaries[op]!];

function converted(inst: Inst, encoding: Encoding): Expression | null {
  const from = bitsOf(inst.operands[0]!.type);
  const to = bitsOf(inst.type);
  if (from === 0 || to === 0 || from > 64 || to > 64) return null;
  return [Dw.Convert, from, encoding, Dw.Convert, to, encoding];
}

/** What an instruction's value is made of by one operation; null where that cannot be said. */
function derivedBy(inst: Inst): Derived | null {
  const [a, b] = inst.operands;
  const on = (operations: Expression | null): Derived | null =>
    operations === null ? null : { from: a!, operations };
  const both = (operations: Expression): Derived | null =>
    b!.valueKind === "inst" || b!.valueKind === "argument" ? { from: a!, operations, second: b! } : null;
  switch (inst.op) {
    case Op.Phi:
      return inst.operands.length > 0 && inst.operands.every((value) => value === a) ? on([]) : null;
    case Op.BitCast:
    case Op.Freeze:
      return on(bitsOf(inst.type) > 0 && bitsOf(inst.type) === bitsOf(a!.type) ? [] : null);
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.Trunc:
    case Op.ZExt:
      return on(converted(inst, Encoding.Unsigned));
    case Op.SExt:
      return on(converted(inst, Encoding.Signed));
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      if (bitsOf(inst.type) > 64 || bitsOf(inst.type) === 0) return null;
      return on(withConstant(b, (c) => byConstant(inst.op, c))) ?? both([Dw.Arg, 0, binaries[inst.op]!]);
    case Op.Shl:
      return bitsOf(inst.type) > 64 ? null : on(withConstant(b, (c) => [Dw.Constu, c, Dw.Shl]));
    case Op.LShr:
      return on(withConstant(b, (c) => shiftedRight(inst, c, Encoding.Unsigned, Dw.Shr)));
    case Op.AShr:
      return on(withConstant(b, (c) => shiftedRight(inst, c, Encoding.Signed, Dw.Shra)));
    case Op.GetElementPtr: {
      const stride = strideOf(inst.data.elementType);
      if (stride === 0 || inst.operands.length !== 2) return null;
      const index = bitsOf(b!.type);
      const scaled = stride === 1 ? [] : [Dw.Constu, stride, Dw.Mul];
      return (
        on(withConstant(b, (c) => (Math.abs(c * stride) < largest ? adding(c * stride) : null))) ??
        (index === 64 ? both([Dw.Arg, 0, ...scaled, Dw.Plus]) : null)
      );
    }
    default:
      return null;
  }
}

/** Whether the expression speaks of memory: its value is what lies at the address that it computes. */
const endsInMemory = (expression: Expression): boolean => {
  const { length } = expression;
  return length > 0 && expression[length - 1] !== Dw.StackValue;
};

/**
 * Makes a record that names an instruction's value name what the instruction works on. What cannot be said is forgotten.
 */
export function salvage(record: DebugRecord, inst: Inst): void {
  if (!record.values.includes(inst)) return;
  const derived = derivedBy(inst);
  if (derived === null || derived.from === inst || derived.second === inst) record.forget();
  else replaceValue(record, inst, derived);
}

/** Makes a record of a value name another one, from which operations lead to the value. What cannot be said is forgotten. */
export function speakOf(record: DebugRecord, of: Value, from: Value, operations: Expression): void {
  replaceValue(record, of, { from, operations });
}

function replaceValue(record: DebugRecord, of: Value, { from, operations, second }: Derived): void {
  const { expression } = record;
  const isList = expression.includes(Dw.Arg);
  if (
    expression.length + operations.length > longest ||
    record.isDeclaration ||
    expression.includes(Dw.EntryValue) ||
    (!isList && record.values.length !== 1)
  ) {
    record.forget();
    return;
  }
  if (!isList && second === undefined) {
    if (operations.length > 0) record.expression = computed(expression, operations, noExpression);
    record.values = [from];
    return;
  }
  const values = record.values.map((value) => (value === of ? from : value));
  let steps = operations;
  if (second !== undefined) {
    if (!values.includes(second)) values.push(second);
    const number = values.indexOf(second);
    // The number of the second value stands where the operations begin.
    steps = [Dw.Arg, number, ...operations.slice(2)];
  }
  const list = isList ? withSteps(record, of, steps) : computed(expression, steps, [Dw.Arg, 0]);
  if (list === null || list.length > longest || values.length > mostValues) {
    record.forget();
    return;
  }
  record.expression = list;
  record.values = values;
}

/** An expression of one value that is computed by operations before. */
function computed(expression: Expression, operations: Expression, first: Expression): Expression {
  const fragment = fragmentOf(expression);
  const body = withoutFragment(expression);
  // A trailing dereference makes it the address of memory; else the value is computed.
  const end = endsInMemory(body) || body.includes(Dw.StackValue) ? [] : [Dw.StackValue];
  const own = fragment === null ? [] : [Dw.Fragment, fragment.offset, fragment.size];
  return [...first, ...operations, ...body, ...end, ...own];
}

/** Behind each mention of a value, operations; null: the expression is malformed. */
function withSteps({ expression, values }: DebugRecord, of: Value, steps: Expression): Expression | null {
  const places = operationsIn(expression);
  if (places === null) return null;
  return places.flatMap((at, i) => {
    const operation = expression.slice(at, places[i + 1]);
    return operation[0] === Dw.Arg && values[operation[1]!] === of ? [...operation, ...steps] : operation;
  });
}
