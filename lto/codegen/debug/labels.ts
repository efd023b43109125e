/** Where labels of the source are in a function's final code: as variables that are there for one instruction, without a place. */
import type { MFunction } from "../mir.js";
import { OpFact } from "../target.js";
import type { LocatedRange, LocatedVariable } from "./locate.js";
import type { FunctionMarks } from "./marks.js";

const noCode = OpFact.Entry | OpFact.Undefined;
const nothing = { bytes: [], described: Number.POSITIVE_INFINITY };

/** A label that stands before nothing that has code in its block is nowhere. A copied one is in several places. */
export function locateLabels(
  { blocks, target }: MFunction,
  marks: FunctionMarks,
): readonly LocatedVariable[] {
  const { facts } = target.instructions;
  const found = new Map<string, LocatedVariable & { readonly ranges: LocatedRange[] }>();
  let at = 0;
  for (const { insts } of blocks) {
    let waiting: LocatedRange[][] = [];
    for (const inst of insts) {
      for (const mark of marks.before.get(inst) ?? []) {
        if (mark.kind !== "label") continue;
        const { variable, origin } = mark;
        const key = `${variable} ${origin}`;
        let label = found.get(key);
        if (label === undefined) found.set(key, (label = { variable, origin, ranges: [], ...nothing }));
        waiting.push(label.ranges);
      }
      if ((facts[inst.op]! & noCode) === 0 && inst.op !== target.frame.directive) {
        for (const ranges of waiting)
          ranges.push({ from: at, to: at + 1, endsInCall: false, registers: 0, ...nothing });
        waiting = [];
      }
      at++;
    }
  }
  return [...found.values()].filter(({ ranges }) => ranges.length > 0);
}
