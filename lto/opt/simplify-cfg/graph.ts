/**
 * The body as the rules of `simplify-cfg` see it: the same questions while it is only looked at and while it is edited.
 * A rule returns what is to be done, or null; nothing changes before that is called.
 */
import { type KnownBits, knownBits } from "../../analysis/known-bits.js";
import { incomingEdges } from "../../ir/cfg-edit.js";
import type { Editor } from "../../ir/editor.js";
import { withHints } from "../../ir/hints.js";
import { type Block, type BodyView, type Inst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import type { Value } from "../../ir/values.js";
import type { Goal } from "../../pass/pass.js";
import type { ReadableMemory } from "./readable.js";

export interface Graph {
  readonly fn: Func;
  readonly goal: Goal;
  readonly entry: Block;
  /** Before any rule was followed. */
  readonly blockCount: number;
  /** The start of each edge into a block. */
  incoming(block: Block): readonly Block[];
  /** Number of uses of an instruction. */
  uses(inst: Inst): number;
  readonly memory: ReadableMemory;
}

/** What a rule wants to do. */
export type Plan = (edit: Edit) => void;
export type Rule = (block: Block, graph: Graph) => Plan | null;

/** How plans change the body. */
export interface Edit {
  readonly editor: Editor;
  readonly origins: Origins | null;
  /** Takes a block that nothing branches to out of the control flow; its terminator may be gone already. */
  kill(block: Block): void;
}

/** Of a body without use lists. */
export class ViewedGraph implements Graph {
  readonly entry: Block;
  readonly blockCount: number;
  private readonly before: Block[][];

  /**
   * @param body whose blocks are numbered
   * @param useCounts how often each instruction is used; few ask
   */
  constructor(
    readonly fn: Func,
    readonly goal: Goal,
    { blocks }: BodyView,
    private readonly useCounts: () => Int32Array,
    readonly memory: ReadableMemory,
  ) {
    this.entry = blocks[0]!;
    this.blockCount = blocks.length;
    this.before = blocks.map(() => []);
    for (let b = 0; b < blocks.length; b++) {
      const block = blocks[b]!;
      const { successors } = block;
      for (let i = 0; i < successors.length; i++) this.before[successors[i]!.id]!.push(block);
    }
  }
  incoming(block: Block): readonly Block[] {
    return this.before[block.id]!;
  }
  uses(inst: Inst): number {
    return this.useCounts()[inst.id]!;
  }
}

/** Of a body that is edited. */
export class EditedGraph implements Graph {
  readonly entry: Block;
  readonly blockCount: number;
  constructor(
    readonly fn: Func,
    readonly goal: Goal,
    private readonly editor: Editor,
    readonly memory: ReadableMemory,
  ) {
    const { blocks } = editor.body;
    this.entry = blocks[0]!;
    this.blockCount = blocks.length;
  }
  incoming(block: Block): readonly Block[] {
    return incomingEdges(this.editor, block);
  }
  uses(inst: Inst): number {
    return this.editor.uses.count(inst);
  }
}

/** The only edge into a block comes from here; null: none, or there are several. */
export function onlyIncoming(block: Block, graph: Graph): Block | null {
  const edges = graph.incoming(block);
  return edges.length === 1 ? edges[0]! : null;
}
/** Other edges than those that are seen lead here, or edges that cannot be moved. */
export const isPinned = (block: Block, { entry }: Graph): boolean => block.addressTaken || block === entry;
/** Edges of this terminator can be moved one by one. */
export const hasMovableEdges = ({ terminator: { op } }: Block): boolean =>
  op === Op.Br || op === Op.CondBr || op === Op.Switch;

/** First instruction that is no phi. */
function firstOf({ insts }: Block): Inst {
  let i = 0;
  while (insts[i]!.op === Op.Phi) i++;
  return insts[i]!;
}
/** Control never gets beyond its start. */
export const isDead = (block: Block): boolean => firstOf(block).op === Op.Unreachable;

/** What an edge from `from` passes for a value of `block`: its phis' operands, and other values as they are. */
export function passedFrom(value: Value, block: Block, from: Block): Value {
  if (value.valueKind !== "inst" || value.op !== Op.Phi || value.parent !== block) return value;
  return value.operands[value.blocks.indexOf(from)]!;
}
/** What a phi gets from a block that branches to it. */
export const enteringFrom = (phi: Inst, from: Block): Value => phi.operands[phi.blocks.indexOf(from)]!;

/**
 * Whether edges from `from` to `block` can lead to `target` instead, which `block` branches to: where there is such an
 * edge already, both have to pass the same.
 */
export function canRedirect(from: Block, block: Block, target: Block): boolean {
  if (!from.successors.includes(target)) return true;
  for (const phi of target.insts) {
    if (phi.op !== Op.Phi) break;
    const passed = passedFrom(enteringFrom(phi, block), block, from);
    const other = enteringFrom(phi, from);
    const isSame =
      passed === other ||
      (passed.valueKind === "int" && other.valueKind === "int" && passed.value === other.value);
    if (!isSame) return false;
  }
  return true;
}

export const bitsOf = (value: Value, { fn }: Graph): KnownBits => knownBits(value, fn);

/** For an edge that goes elsewhere from now on: what its branch says of one loop's end would be said of another's. */
export function forgetLoop(end: Inst): void {
  if (end.hints !== null) end.hints = withHints(end.hints, { loop: null });
}
