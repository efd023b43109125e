/** Debug records of a body that is made legal: they speak of the parts of values. */
import { type DebugRecord, Dw, forEachRecord, fragmentOf, withoutFragment } from "../../ir/debug-records.js";
import type { Inst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { Lowering, Parts } from "./lowering.js";

/** After the body is rewritten, with what became of each value. */
export function legalizeRecords(l: Lowering): void {
  const split: [Inst, DebugRecord, DebugRecord[]][] = [];
  forEachRecord(l.body, (record, anchor) => {
    const parts = record.values.map((value) => partsOf(l, value));
    if (parts.every((own, i) => own.length === 1 && own[0] === record.values[i])) return;
    if (parts.every((own, i) => own.length === 1 && own[0]!.type === record.values[i]!.type)) {
      record.values = parts.map(([only]) => only!);
      return;
    }
    const pieces = parts.length === 1 ? piecesOf(record, parts[0]!) : null;
    if (pieces === null) record.forget();
    else split.push([anchor, record, pieces]);
  });
  for (const [anchor, record, pieces] of split)
    anchor.debug = anchor.debug!.flatMap((each) => (each === record ? pieces : [each]));
}

function partsOf(l: Lowering, value: Value): Parts {
  if (value.valueKind === "inst") return (value.id >= 0 ? l.lowered[value.id] : undefined) ?? [value];
  if (value.valueKind === "argument" && l.argumentParts !== null) return l.argumentParts[value.index] ?? [];
  return [value];
}

/** A wide integer lies in words, the lowest first. */
function piecesOf(record: DebugRecord, parts: Parts): DebugRecord[] | null {
  const { expression } = record;
  const type = record.values[0]!.type;
  if (type.kind !== "int" || type.bits <= 64 || type.bits % 64 !== 0) return null;
  if (withoutFragment(expression).length > 0 || parts.length * 64 !== type.bits) return null;
  const { offset } = fragmentOf(expression) ?? { offset: 0 };
  return parts.map((part, i) => {
    const piece = record.copy([part]);
    piece.expression = [Dw.Fragment, offset + 64 * i, 64];
    return piece;
  });
}
