/**
 * Salvaging debug records: what named a value that goes names what the value was made of.
 *
 * Only operations whose low bits follow from the low bits of their operands are followed, since the upper bits of
 * a narrow value's register are anything; extensions and truncations say of how many bits they are. Loads are not:
 * memory changes.
 */
import {
  type DebugRecord,
  Dw,
  Encoding,
  type Expression,
  fragmentOf,
  withoutFragment,
} from "./debug-records.js";
import { type Inst, Op } from "./instructions.js";
import type { Type } from "./types.js";
import type { Value } from "./values.js";

/** Longer expressions are not worth their bytes. */
const longest = 24;

/** Numbers beyond are not put into expressions. */
const largest = 2 ** 48;

/** What a value is: operations on another one. */
interface Derived {
  readonly from: Value;
  readonly operations: Expression;
}

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
  [Op.Mul]: Dw.Mul,
  [Op.And]: Dw.And,
  [Op.Or]: Dw.Or,
  [Op.Xor]: Dw.Xor,
};

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
      return bitsOf(inst.type) > 64 ? null : on(withConstant(b, adding));
    case Op.Sub:
      return bitsOf(inst.type) > 64 ? null : on(withConstant(b, (c) => adding(-c)));
    case Op.Shl:
      return bitsOf(inst.type) > 64 ? null : on(withConstant(b, (c) => [Dw.Constu, c, Dw.Shl]));
    case Op.Mul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      if (bitsOf(inst.type) > 64) return null;
      return on(withConstant(b, (c) => [...constant(c), binaries[inst.op]!]));
    case Op.GetElementPtr: {
      const stride = strideOf(inst.data.elementType);
      if (stride === 0 || inst.operands.length !== 2) return null;
      return on(withConstant(b, (c) => (Math.abs(c * stride) < largest ? adding(c * stride) : null)));
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
  const derived = record.values.length === 1 ? derivedBy(inst) : null;
  if (derived === null || derived.from === inst) record.forget();
  else speakOf(record, derived.from, derived.operations);
}

/** Makes a record of one value name another one, from which operations lead to the value. What cannot be said is forgotten. */
export function speakOf(record: DebugRecord, from: Value, operations: Expression): void {
  const { expression } = record;
  if (
    record.values.length !== 1 ||
    expression.length + operations.length > longest ||
    record.isDeclaration ||
    expression.includes(Dw.Arg) ||
    expression.includes(Dw.EntryValue)
  ) {
    record.forget();
    return;
  }
  const fragment = fragmentOf(expression);
  const body = withoutFragment(expression);
  if (operations.length > 0) {
    // A trailing dereference makes it the address of memory; else the value is computed.
    const end = endsInMemory(body) || body.includes(Dw.StackValue) ? [] : [Dw.StackValue];
    const own = fragment === null ? [] : [Dw.Fragment, fragment.offset, fragment.size];
    record.expression = [...operations, ...body, ...end, ...own];
  }
  record.values = [from];
}
