/** Marks through register allocation. */
import { CopyOp, isSlot, type MFunction, type MInst, noLocation } from "../mir.js";
import { OpFact } from "../target.js";
import {
  type FunctionMarks,
  follow,
  type Mark,
  type OneValue,
  type PlaceMark,
  type Snapshot,
  snapshot,
} from "./marks.js";

/** Before registers are assigned, in SSA form. @returns what `marksAfterAllocation` wants */
export function marksBeforeAllocation(fn: MFunction, marks: FunctionMarks): Snapshot {
  marks.roots = rootsOf(fn);
  fn.vregs.forEach(({ remat }, vreg) => {
    if (remat !== null) marks.constant.add(marks.rootOf(vreg));
  });
  // Definitions name roots from now on, so what is said of copies is said of these.
  const rooted = (of: OneValue): OneValue =>
    of.kind === "value" ? { ...of, value: marks.rootOf(of.value) } : of;
  for (const [inst, own] of marks.before)
    marks.before.set(
      inst,
      own.map((mark) => {
        if (mark.kind !== "variable" || mark.of.kind === "unknown") return mark;
        const { of } = mark;
        return {
          ...mark,
          of: of.kind === "several" ? { kind: "several", parts: of.parts.map(rooted) } : rooted(of),
        };
      }),
    );
  return snapshot(fn.blocks);
}

/** The value that each virtual register is a copy of. */
function rootsOf(fn: MFunction): Int32Array {
  const { vregs } = fn;
  const copyOf = new Int32Array(vregs.length).fill(-1);
  const copies = (to: number, from: number): void => {
    if (to >= 0 && from >= 0 && vregs[to]!.cls === vregs[from]!.cls && vregs[to]!.size <= vregs[from]!.size)
      copyOf[to] = from;
  };
  for (const block of fn.blocks) {
    for (const { op, defs, uses, size } of block.insts)
      if (op === CopyOp && defs.length === 1 && uses.length === 1 && defs[0]!.vreg >= 0)
        if (vregs[defs[0]!.vreg]!.size <= size) copies(defs[0]!.vreg, uses[0]!.vreg);
    for (let s = 0; s < block.succs.length; s++) {
      const next = block.succs[s]!;
      if (next.preds.length !== 1) continue;
      for (let p = 0; p < next.params.length; p++) copies(next.params[p]!.vreg, block.succArgs[s]![p]!.vreg);
    }
  }
  return copyOf.map((_, vreg) => {
    let root = vreg;
    while (copyOf[root]! >= 0) root = copyOf[root]!;
    return root;
  });
}

/** Says where parameters of blocks and of the function are, which no instruction brings there. */
export function marksAfterAllocation(fn: MFunction, marks: FunctionMarks, before: Snapshot): void {
  follow(marks, before, fn.blocks, true);
  const { facts } = fn.target.instructions;
  for (const block of fn.blocks) {
    const [first] = block.insts;
    if (first === undefined) continue;
    const places: Mark[] = [];
    // Elsewhere they are copies of what is passed.
    if (block.preds.length !== 1)
      for (const { vreg, loc } of block.params) places.push(...placeOf(fn, marks, vreg, loc));
    const isEntry = (inst: MInst): boolean => (facts[inst.op]! & OpFact.Entry) !== 0;
    const at = block.insts.findIndex(isEntry);
    marks.put(first, places);
    if (at < 0) continue;
    const entry = block.insts[at]!;
    // In front of it, where the frame will be made.
    if (block.preds.length > 0) continue;
    const arriving = entry.defs.flatMap(({ vreg, loc }) => placeOf(fn, marks, vreg, loc));
    for (const { value, location } of [...(marks.before.get(entry) ?? []), ...arriving].filter(isPlace))
      if (!isSlot(location)) marks.arrivals.set(value, location);
    marks.put(entry, arriving);
  }
}

const isPlace = (mark: Mark): mark is PlaceMark => mark.kind === "place";

function placeOf(fn: MFunction, marks: FunctionMarks, vreg: number, location: number): PlaceMark[] {
  if (vreg < 0 || location === noLocation) return [];
  return [{ kind: "place", value: marks.rootOf(vreg), location, bytes: fn.vregs[vreg]!.size }];
}
