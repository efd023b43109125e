/**
 * Rule of `simplify-cfg`: a phi of two ways that do next to nothing becomes a select.
 *
 *     br i1 %c, label %a, label %m          %s = add i32 %x, 1
 *     a: %s = add i32 %x, 1          →      %p = select i1 %c, i32 %s, i32 %x
 *     m: %p = phi [ %s, %a ], [ %x, … ]
 *
 * What moves before the branch has no effect and no undefined behaviour; where it is poison, nobody picks it. Loads move where
 * they never trap (`readable.ts`), without what they promise of their value.
 */
import { jumpTo, phisOf, replaceTerminator } from "../../ir/cfg-edit.js";
import { dropUBImplying } from "../../ir/hints.js";
import { type Block, type Inst, isCall, makeInst, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { isConstant } from "../../ir/values.js";
import { enteringFrom, type Graph, isPinned, onlyIncoming, type Plan } from "./graph.js";

/** A branch and what it decides between; null for a way that leads to the phis at once. */
interface Fork {
  readonly head: Block;
  readonly arms: readonly Block[];
}

export function makeSelects(block: Block, graph: Graph): Plan | null {
  if (block.insts[0]!.op !== Op.Phi || isPinned(block, graph)) return null;
  const edges = graph.incoming(block);
  if (edges.length !== 2 || edges[0] === edges[1]) return null;
  const fork = forkBefore(edges[0]!, edges[1]!, block, graph);
  if (fork === null) return null;
  const { head, arms } = fork;
  const isSmall = graph.goal !== "speed";
  if (!isSmall && isPredictable(head.terminator)) return null;
  let moved = 0;
  for (const arm of arms) {
    for (let i = 0; i < arm.insts.length - 1; i++) {
      const inst = arm.insts[i]!;
      if (!canMove(inst, graph)) return null;
      if (!isNear(inst)) moved++;
    }
  }
  const most = mostOf(isSmall, arms.length);
  if (moved > most.moved) return null;
  let selects = 0;
  for (const phi of block.insts) {
    if (phi.op !== Op.Phi) break;
    if (phi.operands[0] === phi.operands[1]) continue;
    selects++;
    if (!isSelectable(phi.type)) return null;
  }
  if (selects > most.selects) return null;
  return ({ editor, origins, kill }) => {
    const branch = head.terminator;
    for (const arm of arms) {
      for (const inst of [...arm.insts]) {
        if (inst.parent !== arm || inst === arm.terminator) continue;
        editor.move(inst, branch);
        if (inst.op === Op.Load) inst.hints = dropUBImplying(inst.hints);
        if (origins !== null) inst.origin = origins.unplaced(inst.origin, isCall(inst));
      }
    }
    const condition = branch.operands[0]!;
    const from = [0, 1].map((i) => (branch.blocks[i] === block ? head : branch.blocks[i]!));
    for (const phi of phisOf(block)) {
      const a = enteringFrom(phi, from[0]!);
      const b = enteringFrom(phi, from[1]!);
      if (a === b) editor.replace(phi, a);
      else {
        const select = makeInst(Op.Select, phi.type, [condition, a, b], null, [], phi.flags);
        editor.insertBefore(select, branch);
        editor.replace(phi, select);
      }
    }
    replaceTerminator(editor, head, jumpTo(block));
    for (const arm of arms) kill(arm);
  };
}

/** What moves, and what is chosen. For size two ways that both do something have a jump, too, for which a select more is paid. */
const mostOf = (isSmall: boolean, arms: number): { readonly moved: number; readonly selects: number } =>
  !isSmall ? { moved: 2, selects: 2 } : arms < 2 ? { moved: 1, selects: 1 } : { moved: 3, selects: 2 };

/** Of so many runs one may go the other way: what is predicted waits for nothing, and a select waits for both sides. */
const predictable = 100;

/** The source or a profile says that it nearly always goes one way. */
function isPredictable({ hints }: Inst): boolean {
  const weights = hints?.weights;
  if (weights?.length !== 2) return false;
  const [a, b] = weights as [number, number];
  return a + b > 0 && Math.min(a, b) * predictable <= a + b;
}

function forkBefore(a: Block, b: Block, block: Block, graph: Graph): Fork | null {
  const aboveA = armFrom(a, block, graph);
  const aboveB = armFrom(b, block, graph);
  if (aboveA !== null && aboveA === aboveB) return { head: aboveA, arms: [a, b] };
  if (aboveA === b && leadsTo(b, block)) return { head: b, arms: [a] };
  if (aboveB === a && leadsTo(a, block)) return { head: a, arms: [b] };
  return null;
}
const leadsTo = (head: Block, block: Block): boolean =>
  head.terminator.op === Op.CondBr && head.terminator.blocks.includes(block);

/** The branch that decides whether an arm is taken. */
function armFrom(arm: Block, block: Block, graph: Graph): Block | null {
  if (arm.terminator.op !== Op.Br || isPinned(arm, graph) || arm === block) return null;
  const head = onlyIncoming(arm, graph);
  if (head === null || head.terminator.op !== Op.CondBr || head === block) return null;
  return head.terminator.blocks[0] === head.terminator.blocks[1] ? null : head;
}

const isSelectable = (type: Type): boolean =>
  type.kind === "ptr" || (type.kind === "int" && type.bits <= 64 && (type.bits & (type.bits - 1)) === 0);

/** Part of an address. */
const isNear = ({ op, operands }: Inst): boolean =>
  op === Op.GetElementPtr && operands.slice(1).every(isConstant);

const canMove = (inst: Inst, { memory }: Graph): boolean =>
  isCheap(inst) || (inst.op === Op.Load && isSelectable(inst.type) && memory.canRead(inst));

/** Takes one short instruction, does nothing else. */
function isCheap(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.ICmp:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.GetElementPtr:
      return inst.type.kind !== "vector" && inst.operands[0]!.type.kind !== "vector";
    default:
      return false;
  }
}
