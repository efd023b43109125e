/**
 * sink: cheap arithmetic that only rarer code needs in a register is done there.
 *
 *     loop: %q = gep i8, %p, 1              loop: %q = gep i8, %p, 1        ; part of the load's address
 *           %c = load i8, %q                      %c = load i8, %q
 *           br …, label %loop, label %out         br …, label %loop, label %out
 *     out:  phi [ %q, %loop ]         →     out': %q.1 = gep i8, %p, 1
 *
 * Why here: edges have blocks of their own by now, so what only a phi needs on one way out can be computed on that way.
 * For speed only, since a value that several places need is computed in each.
 *
 * Method: blocks from the last to the first in reverse postorder, instructions from the last to the first, so that what
 * sinks takes along what it was computed from. A use as the address of an access in the same block does not count where
 * selection makes the computation a part of that. The others must lie in blocks that together run less often than the
 * computation's own, by estimate; edges' blocks count twice, for the jump that they had no need of. Linear in
 * instructions and uses, times a search among the uses of what sinks.
 *
 * Right because: the operations have no effects, do not trap and read no memory, so where and how often they are computed
 * does not matter, nor that they are not. A block with a use is dominated by the definition, hence by that of its operand.
 * A copy gives what the original would have: none of its operands is undef, which may be another value each time.
 * Registers: with a single operand that is not constant, one value lives longer for one that lives less long.
 * Breaks if: an operation is taken in that traps, or whose value changes (loads), or a use in a phi is taken for one in the
 * phi's block and not at the end of the edge's.
 */
import { estimatedFrequencies } from "../../analysis/branch-probability.js";
import { type Block, type Body, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { replaceUses, type Use, Uses } from "./blocks.js";
import type { LoweringContext } from "./context.js";

/** So many blocks at most get a copy. */
const mostPlaces = 4;
/** What the others run at most, for each time that the computation's own block does. */
const worthwhile = 0.7;
/** A block that is only a jump is none as yet: layout lets it go. */
const edgeFactor = 2;

/** Whether it is cheap, the same wherever it is computed, and of one value. */
function canSink(inst: Inst): boolean {
  switch (inst.op) {
    case Op.GetElementPtr:
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      break;
    case Op.SExt:
      // Otherwise part of the load.
      if (inst.operands[0]!.valueKind === "inst" && inst.operands[0]!.op === Op.Load) return false;
      break;
    default:
      return false;
  }
  if (inst.type.kind === "vector") return false;
  let variables = 0;
  for (let i = 0; i < inst.operands.length; i++) {
    const operand = inst.operands[i]!;
    if (operand.valueKind === "undef") return false;
    if (!isConstant(operand)) variables++;
  }
  return variables === 1;
}

/** Whether the access takes in the computation of its address. */
const isFolded = ({ user, position, block }: Use, inst: Inst): boolean =>
  inst.op === Op.GetElementPtr &&
  block === inst.parent &&
  ((user.op === Op.Load && position === 0) || (user.op === Op.Store && position === 1));

class Sinking {
  sunk = 0;
  private readonly uses: Uses;

  constructor(
    private readonly body: Body,
    private readonly frequencies: Float64Array,
  ) {
    this.uses = new Uses(body, canSink);
  }

  run(order: readonly number[]): void {
    for (let k = order.length - 1; k >= 0; k--) {
      const block = this.body.blocks[order[k]!]!;
      for (let i = block.insts.length - 1; i >= 0; i--) {
        const inst = block.insts[i]!;
        if (canSink(inst) && this.sink(inst, block)) raw(block).insts.splice(i, 1);
      }
    }
  }

  /** @returns whether nothing needs the original any more */
  private sink(inst: Inst, block: Block): boolean {
    const uses = this.uses.of(inst);
    const others = uses.filter((use) => !isFolded(use, inst));
    const places = new Set<Block>();
    for (const use of others) {
      if (use.block === block) return false;
      places.add(use.block);
    }
    if (places.size === 0 || places.size > mostPlaces || !this.pays(block, places)) return false;
    for (const place of places) {
      const copy = makeInst(inst.op, inst.type, [...inst.operands], inst.data, [], inst.flags) as Inst;
      copy.parent = place;
      const { insts } = place;
      let at = 0;
      while (insts[at]!.op === Op.Phi || insts[at]!.op === Op.LandingPad) at++;
      raw(place).insts.splice(at, 0, copy);
      const moved = others.filter((use) => use.block === place);
      for (const { user, position } of moved) raw(user).operands[position] = copy;
      this.uses.set(copy, moved);
      this.uses.note(copy, place);
    }
    this.sunk++;
    const left = uses.filter((use) => !others.includes(use));
    this.uses.set(inst, left);
    if (left.length > 0) return false;
    this.uses.forget(inst);
    return true;
  }

  private pays(block: Block, places: ReadonlySet<Block>): boolean {
    const own = this.frequencies[block.id]!;
    let sum = 0;
    for (const place of places)
      sum += this.frequencies[place.id]! * (place.insts.length === 1 ? edgeFactor : 1);
    return sum < own * worthwhile;
  }
}

/** Takes phis of one value, which loops end with, for that value: then what needs it is after them. */
function dropSinglePhis(body: Body): void {
  const values = new Map<Value, Value>();
  const sourceOf = (value: Value): Value => {
    let found = value;
    for (let next = values.get(found); next !== undefined; next = values.get(found)) found = next;
    return found;
  };
  for (const block of body.blocks) {
    if (block.insts[0]!.op !== Op.Phi || block.insts[0]!.operands.length !== 1) continue;
    // In a block that nothing enters a phi may be its own value.
    const phis = block.insts.filter((inst) => inst.op === Op.Phi && sourceOf(inst.operands[0]!) !== inst);
    if (phis.length === 0) continue;
    for (const phi of phis) values.set(phi, phi.operands[0]!);
    raw(block).insts = block.insts.filter((inst) => !values.has(inst));
  }
  if (values.size === 0) return;
  for (const phi of values.keys()) values.set(phi, sourceOf(phi));
  replaceUses(body, values);
}

export const sink: FunctionPass<LoweringContext> = {
  name: "sink",
  level: "function",
  description: "computes what only rarer code needs there, for speed",
  counters: { sunk: "computations sunk" },
  requires: [cfg, loops],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    if (context.goal !== "speed") return false;
    const body = context.rewrite();
    dropSinglePhis(body);
    const successors = context.ofBody(cfg, body);
    const nest = context.ofBody(loops, body);
    const sinking = new Sinking(body, estimatedFrequencies(body.blocks, successors, nest));
    sinking.run(nest.reversePostOrder);
    if (sinking.sunk > 0) context.count("sunk", sinking.sunk);
    return true;
  },
};
