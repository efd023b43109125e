/**
 * Selects that are one instruction: minima and maxima in floating point.
 *
 * `maxsd a, b` is `a > b ? a : b` and `minsd a, b` is `a < b ? a : b`, exactly: where one is no number, or both are zeros of
 * whatever sign, they give b (Intel SDM, MAXSD). What a select gives in these cases decides which of the two is first.
 */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { Flag, type FloatPredicate, type Inst, Op } from "../../ir/instructions.js";
import { ConstFloat, type Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import type { Selector } from "./selector.js";
import { setVectorSource } from "./source.js";

interface MinMax {
  readonly isMax: boolean;
  /** The one that is given only where the comparison of numbers says so. */
  readonly first: Value;
  readonly second: Value;
}

/** What the comparison says of x and y where it holds: of numbers, x is more (1) or less (-1); else, the opposite does not hold. */
interface Relation {
  readonly sign: 1 | -1;
  readonly isNegated: boolean;
}

const relations: Partial<Record<FloatPredicate, Relation>> = {
  ogt: { sign: 1, isNegated: false },
  olt: { sign: -1, isNegated: false },
  // Not less; not more.
  uge: { sign: -1, isNegated: true },
  ule: { sign: 1, isNegated: true },
};
/** The same where the sign of zero does not count, and where both are numbers. */
const withoutZeros: Partial<Record<FloatPredicate, FloatPredicate>> = {
  oge: "ogt",
  ole: "olt",
  ugt: "uge",
  ult: "ule",
};
const ofNumbers: Partial<Record<FloatPredicate, FloatPredicate>> = {
  oge: "uge",
  ole: "ule",
  ugt: "ogt",
  ult: "olt",
};

function relationOf(select: Inst, compare: Inst): Relation | undefined {
  let predicate = compare.data as FloatPredicate;
  if ((select.flags & Flag.NoSignedZeros) !== 0) predicate = withoutZeros[predicate] ?? predicate;
  if ((compare.flags & Flag.NoNaNs) !== 0) predicate = ofNumbers[predicate] ?? predicate;
  return relations[predicate];
}

const same = (a: Value, b: Value): boolean =>
  a === b || (a instanceof ConstFloat && b instanceof ConstFloat && a.type === b.type && a.bits === b.bits);

/** A select of scalars that is a minimum or maximum, or null. */
export function minMaxOf(select: Inst): MinMax | null {
  const { kind } = select.type;
  if (select.op !== Op.Select || (kind !== "float" && kind !== "double")) return null;
  const [condition, a, b] = select.operands as readonly [Value, Value, Value];
  if (condition.valueKind !== "inst" || condition.op !== Op.FCmp) return null;
  const relation = relationOf(select, condition);
  if (relation === undefined) return null;
  const [x, y] = condition.operands as readonly [Value, Value];
  // c ? a : b where c is x ≷ y, or b where x ≷ y and else a.
  const [taken, other] = relation.isNegated ? [b, a] : [a, b];
  if (same(taken, x) && same(other, y)) return { isMax: relation.sign > 0, first: x, second: y };
  if (same(taken, y) && same(other, x)) return { isMax: relation.sign < 0, first: y, second: x };
  return null;
}

/** @param found what `minMaxOf` says of it */
export function selectMinMax(s: Selector, select: Inst, { isMax, first, second }: MinMax): void {
  const size = s.layout.storeSize(select.type);
  const [max, min] = size === 8 ? [X.Maxsd, X.Minsd] : [X.Maxss, X.Minss];
  const machine = new MInst(isMax ? max : min, size);
  machine.defs = [RegOperand.tied(s.resultOf(select))];
  machine.uses = [s.use(first)];
  setVectorSource(s, machine, second, size);
  s.emit(machine);
}
