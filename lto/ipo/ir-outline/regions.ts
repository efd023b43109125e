/**
 * Pieces of code with branches: regions of a function that are entered at one place and left to one block, or not at all.
 *
 * A region begins inside of a block, its head, and has the blocks that are reached from there and from nowhere else. Found are
 * those that grow from a branch block by block: next comes the first block, in the order in which they are reached, all
 * edges to which are the region's. Wherever one block is left that is reached and not taken, this is the exit, and what there
 * is so far is a region; where none is left, all its ways return or end. Where all edges to the exit are the region's, the exit's
 * phis and further instructions may belong to it, too. Loops are not entered: their heads have edges from what comes later.
 * So the blocks' order is topological, and depends on nothing but the branches: regions that are alike number their
 * blocks alike.
 *
 * Proof obligations, beside those of straight pieces:
 *  - one entry: every block of the region but the head has all its edges from the region, none is the entry or address-taken;
 *  - what is used after the region is computed on every way through it. Only the exit follows, so whatever dominates a use
 *    after it dominates the exit's edges; where that is not so, the use is unreachable, and the region is refused;
 *  - phis of an exit that has other edges too have one value for all edges of the region, since one edge is left;
 *  - targets of branches, cases of switches and blocks of phis correspond (`shape`).
 *
 * Linear in the instructions times the blocks that branches follow each other in, bounded by `mostInstructions`.
 * Breaks if: `order` is not topological (results are taken from what was copied before), or a block has edges that no
 * terminator shows.
 */
import { mix } from "../../ir/hash.js";
import { type Block, type BodyView, type Inst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { isConstant, sameConstant, type Value } from "../../ir/values.js";
import { mayMove } from "./legality.js";
import type { Operations } from "./operations.js";

const mostInstructions = 120;
/** Sets of blocks are bits of a number. */
const mostBlocks = 30;
const lookBits = 15;

/** Equal for blocks that do the same. */
function lookOf({ insts }: Block): number {
  const { length } = insts;
  const first = insts[0]!;
  const middle = insts[length >> 1]!;
  let hash = mix(mix(length, first.op), first.type.id);
  hash = mix(mix(hash, middle.op), middle.type.id);
  return mix(hash, insts[length - 1]!.op) & ((1 << lookBits) - 1);
}

export interface Region {
  readonly fn: Func;
  /** The head first; the region has the first `count` of them. */
  readonly order: readonly Block[];
  readonly count: number;
  /** Null: it returns, or ends. */
  readonly exit: Block | null;
  /** The exit's phis belong to it. */
  readonly takesPhis: boolean;
  /** Equal for those that may be alike. */
  readonly hash: number;
}

/** What regions may begin with, end with, and consist of. */
const mayBelong = (inst: Inst): boolean => {
  switch (inst.op) {
    case Op.Phi:
      return inst.type.kind !== "token";
    case Op.Br:
    case Op.CondBr:
    case Op.Switch:
    case Op.Ret:
    case Op.Unreachable:
      return true;
    default:
      return mayMove(inst);
  }
};

/** Finds the regions of one function after the other. */
export class RegionFinder {
  readonly found: Region[] = [];
  private fn!: Func;
  /** By block: edges to it, those that come from elsewhere included; the region's; the number it was reached as. */
  private edges = new Int32Array(0);
  private own = new Int32Array(0);
  private numbers = new Int32Array(0);
  /** By block: 1 if all of it may belong to a region, 2 if not, 0 if that is not known. */
  private kinds = new Uint8Array(0);
  /** By instruction: its place in the region, plus 1; the number of its operation, plus 1, once that was asked for. */
  private places = new Int32Array(0);
  private symbols = new Int32Array(0);
  /** By phi of an exit that has other edges, too: its values by the blocks they come from. */
  private readonly incoming = new Map<Inst, ReadonlyMap<Block, Value>>();

  /** How many blocks look alike at a glance: one that is alone is in no region that occurs twice. */
  private readonly looks = new Uint16Array(1 << lookBits);

  constructor(
    private readonly operations: Operations,
    functions: readonly Func[],
  ) {
    for (const fn of functions) {
      const body = fn.view();
      for (const block of body.blocks) {
        const look = lookOf(block);
        if (this.looks[look]! < 2) this.looks[look]!++;
      }
    }
  }

  /** Instructions have to be numbered. */
  add(fn: Func, { blocks }: BodyView, instructions: number): void {
    if (blocks.length < 3) return;
    this.fn = fn;
    this.incoming.clear();
    this.edges = new Int32Array(blocks.length);
    this.own = new Int32Array(blocks.length);
    this.numbers = new Int32Array(blocks.length);
    this.kinds = new Uint8Array(blocks.length);
    this.places = new Int32Array(instructions);
    this.symbols = new Int32Array(instructions);
    this.edges[0] = 1;
    for (const block of blocks) {
      if (block.addressTaken) this.edges[block.id]!++;
      for (const next of block.terminator.blocks) this.edges[next.id]!++;
    }
    for (const block of blocks) {
      const { op } = block.terminator;
      if (op === Op.CondBr || op === Op.Switch) this.grow(block);
    }
  }

  private grow(head: Block): void {
    const { edges, own, numbers, places } = this;
    const order = [head];
    const reached: Block[] = [head];
    const waiting: Block[] = [];
    numbers[head.id] = 1;
    places[head.terminator.id] = 1;
    let size = 1;
    let hash = this.symbolOf(head.terminator);
    let returns = false;
    for (let last = head; ; ) {
      let loops = false;
      if (last.terminator.op === Op.Ret) returns = true;
      for (const next of last.terminator.blocks) {
        if (next === head) loops = true;
        if (numbers[next.id] === 0) {
          reached.push(next);
          waiting.push(next);
          numbers[next.id] = reached.length;
        }
        own[next.id]!++;
        hash = mix(hash, numbers[next.id]!);
      }
      if (loops) break;
      if (order.length > 1 && waiting.length <= (returns ? 0 : 1)) this.note(order, waiting[0] ?? null, hash);
      const at = waiting.findIndex((block) => own[block.id] === edges[block.id] && this.belongs(block));
      if (at < 0 || order.length === mostBlocks) break;
      const block = waiting[at]!;
      waiting.splice(at, 1);
      if (size + block.insts.length > mostInstructions) break;
      for (const inst of block.insts) {
        hash = this.mixInst(hash, inst);
        places[inst.id] = ++size;
      }
      order.push(block);
      last = block;
    }
    for (const block of reached) numbers[block.id] = own[block.id] = 0;
    for (const { insts } of order) for (let i = insts.length - 1; i >= 0; i--) places[insts[i]!.id] = 0;
  }

  private note(order: readonly Block[], exit: Block | null, before: number): void {
    let hash = mix(before, exit === null ? 1 : 2);
    const takesPhis = exit !== null && this.own[exit.id] === this.edges[exit.id];
    if (takesPhis) {
      hash = mix(hash, 3);
      for (const inst of exit.insts) {
        if (inst.op !== Op.Phi) break;
        hash = this.mixInst(hash, inst);
      }
    } else if (exit !== null && !this.hasOneValue(exit, order)) return;
    this.found.push({ fn: this.fn, order, count: order.length, exit, takesPhis, hash });
  }

  private mixInst(before: number, inst: Inst): number {
    const { operands } = inst;
    let hash = mix(before, this.symbolOf(inst));
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      hash = mix(hash, operand.valueKind === "inst" ? this.places[operand.id]! : 0);
    }
    if (inst.op === Op.Phi) for (const block of inst.blocks) hash = mix(hash, this.numbers[block.id]!);
    return hash;
  }

  private symbolOf(inst: Inst): number {
    let symbol = this.symbols[inst.id]!;
    if (symbol === 0) this.symbols[inst.id] = symbol = this.operations.numberOf(inst, null, 0) + 1;
    return symbol;
  }

  /** Whether phis of an exit have one value for all edges from these blocks. */
  private hasOneValue({ insts }: Block, order: readonly Block[]): boolean {
    for (const phi of insts) {
      if (phi.op !== Op.Phi) break;
      const incoming = this.incomingOf(phi);
      let value: Value | null = null;
      for (const block of order) {
        const here = incoming.get(block);
        if (here === undefined || here === value) continue;
        if (value !== null) {
          if (isConstant(value) && isConstant(here) && sameConstant(value, here)) continue;
          return false;
        }
        value = here;
      }
    }
    return true;
  }

  /** Many regions may share an exit with many edges: its phis are not walked for each. */
  private incomingOf(phi: Inst): ReadonlyMap<Block, Value> {
    let incoming = this.incoming.get(phi);
    if (incoming === undefined) {
      incoming = new Map(phi.blocks.map((block, i) => [block, phi.operands[i]!]));
      this.incoming.set(phi, incoming);
    }
    return incoming;
  }

  private belongs(block: Block): boolean {
    let kind = this.kinds[block.id]!;
    if (kind === 0) {
      kind = this.looks[lookOf(block)]! > 1 && block.insts.every(mayBelong) ? 1 : 2;
      this.kinds[block.id] = kind;
    }
    return kind === 1;
  }
}

/** A region with more of its head, and of its exit: what would move. */
export interface Extent {
  readonly region: Region;
  /** Instructions of the head that stay, and of the exit that move. */
  readonly stays: number;
  readonly ofExit: number;
}

/** The region with so many instructions before its branch, and after the exit's phis; null: there are not as many that may move. */
export function extended(region: Region, before: number, behind: number): Extent | null {
  const { order, exit, takesPhis } = region;
  const { insts } = order[0]!;
  const stays = insts.length - 1 - before;
  if (stays < 0 || (before > 0 && !mayMove(insts[stays]!))) return null;
  if (!takesPhis) return behind > 0 ? null : { region, stays, ofExit: 0 };
  let phis = 0;
  while (exit!.insts[phis]!.op === Op.Phi) phis++;
  const ofExit = phis + behind;
  if (behind > 0 && !mayMove(exit!.insts[ofExit - 1]!)) return null;
  return { region, stays, ofExit };
}

/** What moves, in the order in which it is copied. */
export function instsOf({ region: { order, count, exit }, stays, ofExit }: Extent): Inst[] {
  const insts = order[0]!.insts.slice(stays);
  for (let i = 1; i < count; i++) for (const inst of order[i]!.insts) insts.push(inst);
  for (let i = 0; i < ofExit; i++) insts.push(exit!.insts[i]!);
  return insts;
}

/** Where branches lead and phis come from, in numbers that are the same for regions that are alike. */
export function shapeOf({ order, count }: Region, insts: readonly Inst[]): number[] {
  const shape: number[] = [];
  for (const { blocks } of insts)
    for (const block of blocks) {
      const number = order.indexOf(block);
      shape.push(number < count ? number : -1);
    }
  return shape;
}

/**
 * For each block of a region, the blocks that dominate it, as bits; after them the same for the exit. They are asked in
 * topological order.
 */
export function dominatorsOf({ order, count }: Region): Int32Array {
  const sets = new Int32Array(count + 1).fill(-1);
  sets[0] = 1;
  for (let i = 0; i < count; i++) {
    if (i > 0) sets[i]! |= 1 << i;
    for (const next of order[i]!.terminator.blocks) {
      const number = order.indexOf(next);
      sets[number >= 0 && number < count ? number : count]! &= sets[i]!;
    }
  }
  return sets;
}
