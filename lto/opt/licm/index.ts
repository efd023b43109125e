/**
 * licm: what a loop computes or loads anew in each round, with the same result, is done once before it; a place in
 * memory that a loop reads and writes all the time is kept in a register meanwhile (loop-invariant code motion, and scalar
 * promotion).
 *
 *   loop:                                       %n = load i32, ptr @limit
 *     …                                         %c0 = load i32, ptr @count
 *     %n = load i32, ptr @limit               loop:
 *     %c = load i32, ptr @count          →      %c = phi [ %c0, … ], [ %c1, … ]
 *     %c1 = add i32 %c, 1                       %c1 = add i32 %c, 1
 *     store i32 %c1, ptr @count                 br … loop, out
 *     br … loop, out                          out:
 *                                               store i32 %c1, ptr @count
 *
 * Why: compilers of single files did that with what they saw; what callees do not write, and which objects are different,
 * shows at link time, and inlining puts loops around code.
 *
 * Method: the body is only looked at first. `hoist.ts` finds what each loop computes anew, outermost loops first, so that
 * everything moves at once as far as it goes; `promotion.ts` finds places. Only where there is something a loop gets a
 * block before it. Addresses that add what is fixed last are turned round after that (regroup.ts). Bodies without loops
 * cost a walk over their blocks. Otherwise linear in instructions times the nesting depth, but for loads against what
 * loops write, of which a bounded number of pairs is looked at.
 *
 * Proof obligations: operands are computed outside, or move as well; what may trap or not come back moves only if control
 * would get there whenever it enters the loop, before anything else that may stop it; what a load reads nothing in the
 * loop writes; what is claimed of a load that might not have been executed is dropped. A place is kept in a register only
 * if a store to it is executed each time that the loop is entered (so that none is made up), nothing else in the loop
 * touches it, no call may leave the loop otherwise than by its edges, and each edge out gets a store.
 * Breaks if: control enters loops by ways that are no edges, or memory changes in a way that `memory/alias.ts` does not know.
 *
 * For size there is no promotion, and only what is slow (divisions, roots, calls) or what loops in loops do anew moves, if
 * bytes may be given for time: in memory operands loads cost few bytes, in registers they take other values' place. Loaded bytes of SQLite are 1.0007 so, of eight
 * programs of Debian's between 1 and 1.0001; with all loops 1.0012, of grep 1.001. A stencil over five arrays whose sizes
 * are in memory (himenobmtxpa of the LLVM test suite) takes 0.82 of the time.
 */
import { predecessorLists } from "../../analysis/cfg.js";
import type { Editor } from "../../ir/editor.js";
import { dropUBImplying, withHints } from "../../ir/hints.js";
import { type Block, type BodyView, isCall } from "../../ir/instructions.js";
import type { Origins } from "../../ir/origins.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import type { Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { isExpression } from "../gvn/expressions.js";
import { CertainInstructions } from "../loops/certain.js";
import { type Loop, Loops, mayLoop, preheaderOf } from "../loops/loop.js";
import { MemoryOperations } from "../memory/operations.js";
import { type Hoist, Hoisting, isSlow } from "./hoist.js";
import { LoopMemory } from "./loop-memory.js";
import { findPromotions, promotePlaces } from "./promotion.js";
import { findRegroups, regroup } from "./regroup.js";

/** How often what is in a loop has to be nested to cost bytes in code for size. */
const depthForSize = 2;

export const licm: FunctionPass = {
  name: "licm",
  level: "function",
  description:
    "does once in front of loops what they do anew in each round, and keeps places in registers meanwhile",
  counters: {
    hoisted: "instructions moved in front of loops",
    loads: "of them, loads",
    regrouped: "addresses whose fixed parts are added in front of loops",
    promoted: "places in memory that loops keep in registers",
  },
  requires: [cfg, dominators, loops],
  preserves: [],
  run(fn, context) {
    const isForSpeed = context.goal === "speed";
    if (!isForSpeed && context.sizeTime === 0) return false;
    const { fn: attributes } = fn.attributes;
    if (attributes.has("naked") || attributes.has("presplitcoroutine") || attributes.has("strictfp"))
      return false;
    const view = context.view();
    if (!mayLoop(view)) return false;
    const nest = context.ofBody(loops, view);
    const found = new Loops(view, nest, context.ofBody(dominators, view));
    const leastDepth = isForSpeed ? 1 : depthForSize;
    if (!found.all.some(({ depth, blocks }) => depth >= leastDepth || blocks.some(hasSlow))) return false;
    const count = view.renumber();
    if (mayReturnTwice(view)) return false;
    const predecessors = predecessorLists(context.ofBody(cfg, view));
    const certain = new CertainInstructions(found, nest.reversePostOrder, predecessors, view.blocks);
    const { layout } = context;
    const memory = new LoopMemory(found, layout, () => new MemoryOperations(view, count, fn, layout));
    const hoisting = new Hoisting(found, predecessors, certain, memory, count);
    hoisting.look();
    const promotions = isForSpeed ? findPromotions(hoisting, certain, memory) : [];
    const hoists = hoisting.list(leastDepth);
    const moved = new Map(hoists.map(({ inst, loop }) => [inst as Value, loop]));
    const isFixed = (value: Value, loop: Loop): boolean => {
      if (value.valueKind !== "inst" || !found.contains(loop, value.parent!.id)) return true;
      const target = moved.get(value);
      return target !== undefined && found.contains(target, loop.header.id);
    };
    const sums = findRegroups(found, isFixed, leastDepth).filter(({ loop }) => hoisting.hasPreheader(loop));
    if (hoists.length === 0 && promotions.length === 0 && sums.length === 0) return false;
    const editor = fn.edit();
    for (const hoist of hoists) {
      move(editor, hoist, context.origins);
      context.count("hoisted");
      if (hoist.isLoad) context.count("loads");
    }
    regroup(editor, sums, context.origins);
    context.count("regrouped", sums.length);
    promotePlaces(editor, promotions);
    context.count("promoted", promotions.length);
    return true;
  },
};

const hasSlow = ({ insts }: Block): boolean => insts.some((inst) => isSlow(inst) && isExpression(inst));

const mayReturnTwice = ({ blocks }: BodyView): boolean =>
  blocks.some(({ insts }) => insts.some((inst) => isCall(inst) && returnsTwice(inst)));

function move(editor: Editor, { inst, loop, isCertain }: Hoist, origins: Origins | null): void {
  editor.move(inst, preheaderOf(editor, loop).terminator);
  if (origins !== null) inst.origin = origins.unplaced(inst.origin, isCall(inst));
  // Scopes would speak of all rounds of the loop.
  if (inst.hints !== null)
    inst.hints = isCertain
      ? withHints(inst.hints, { scopes: null, noalias: null })
      : dropUBImplying(inst.hints);
}
