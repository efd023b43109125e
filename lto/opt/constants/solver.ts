/**
 * Sparse conditional constant propagation over one body: which values are constant on the paths that can run.
 *
 * Problem: `x = flag ? 1 : 2` where `flag` is always false, then `if (x == 1) …`: each fact needs the other.
 * Method (Wegman and Zadeck 1991): assume that no block runs and no value is known, and only lower that where the code
 * says so: a block is reached when a branch that is reached can take an edge to it, a value is joined from what
 * flows in along such edges. Instead of def-use edges the solver sweeps the reached blocks in reverse postorder, and
 * once more as long as a phi changes by a back edge: two or three sweeps, no use lists, three arrays a body.
 *
 * Calls, memory and arguments are the surroundings' to know: the local pass knows nothing, the interprocedural one
 * much. A body can be swept again when its surroundings know less; what was lowered stays so.
 *
 * What breaks it: a folder that gives a constant which differs from what the instruction computes; surroundings that
 * raise a fact again.
 */
import { reversePostOrder } from "../../analysis/cfg.js";
import {
  type Block,
  type BodyView,
  type CallInst,
  type Inst,
  type InstWith,
  isCall,
  Op,
} from "../../ir/instructions.js";
import { type Argument, type Constant, isConstant, type Value } from "../../ir/values.js";
import { isConstantFact, join, type Known, lower, unknown, varying } from "./lattice.js";

/** What is known outside of the body. Facts only get lower. */
export interface Surroundings {
  argument(argument: Argument): Known;
  /** Shows a call that is reached. @returns its result */
  call(call: CallInst, known: (value: Value) => Known): Known;
  load(load: InstWith<Op.Load>, pointer: Known): Known;
  /** Shows a store that is reached. */
  store(store: InstWith<Op.Store>, value: Known): void;
  /** Shows what a reached return gives. */
  ret(value: Known): void;
  /** The value of an operation on constants; null: not to be known. */
  fold(inst: Inst, operands: readonly Constant[]): Constant | null;
}

/** Every successor may be taken; none is, as far as is known; the block was not looked at. */
const allSuccessors = -1;
const noSuccessor = -2;
const unseen = -3;

export class ConstantSolver {
  private readonly values: Known[];
  private readonly reached: Uint8Array;
  /** By block: the number of the only successor that is taken, or one of the above. */
  private readonly taken: Int32Array;
  private readonly order: readonly number[];
  private readonly operands: Constant[] = [];
  private readonly known = (value: Value): Known => this.of(value);

  /** @param body numbered, and not renumbered while the solver is in use */
  constructor(
    private readonly body: BodyView,
    instructions: number,
    private readonly around: Surroundings,
  ) {
    this.values = new Array<Known>(instructions).fill(unknown);
    this.reached = new Uint8Array(body.blocks.length);
    this.taken = new Int32Array(body.blocks.length).fill(unseen);
    this.order = reversePostOrder(body);
    this.reached[0] = 1;
  }

  /** Lowers facts until they agree with the code and the surroundings. */
  solve(): void {
    const { blocks } = this.body;
    do {
      for (const b of this.order) if (this.reached[b] === 1) this.evaluateBlock(blocks[b]!);
    } while (this.isPhiStale());
  }

  /** Whether the body would change. @param isDead says that an instruction goes for another reason */
  findsAnything(isDead: (inst: Inst) => boolean): boolean {
    return this.body.blocks.some((block) => {
      if (!this.isReached(block)) return true;
      const { op, blocks } = block.terminator;
      const only = this.onlySuccessor(block);
      if (only === undefined ? blocks.length > 0 : only !== null && op !== Op.Br) return true;
      return block.insts.some((inst) => isConstantFact(this.values[inst.id]!) || isDead(inst));
    });
  }
  isReached(block: Block): boolean {
    return this.reached[block.id] === 1;
  }
  of(value: Value): Known {
    if (value.valueKind === "inst") return this.values[value.id]!;
    if (value.valueKind === "argument") return this.around.argument(value);
    return isConstant(value) ? value : varying;
  }
  /** The only successor that a reached block goes to; null: any; undefined: none, what is before never ends. */
  onlySuccessor(block: Block): Block | null | undefined {
    const taken = this.taken[block.id]!;
    if (taken === allSuccessors) return null;
    return taken === noSuccessor ? undefined : block.successors[taken]!;
  }

  /** Whether something that a back edge brings has not been seen by its phi. */
  private isPhiStale(): boolean {
    const { blocks } = this.body;
    for (const b of this.order) {
      if (this.reached[b] === 0) continue;
      const block = blocks[b]!;
      // Reached after its turn was over.
      if (this.taken[b] === unseen) return true;
      for (const inst of block.insts) {
        if (inst.op !== Op.Phi) break;
        const before = this.values[inst.id]!;
        if (before !== varying && lower(before, this.join(inst)) !== before) return true;
      }
    }
    return false;
  }

  private evaluateBlock(block: Block): void {
    const { insts } = block;
    const last = insts.length - 1;
    for (let i = 0; i < last; i++) {
      const inst = insts[i]!;
      const before = this.values[inst.id]!;
      // Calls and stores have surroundings to tell, whatever is known of them.
      if (before === varying && !isCall(inst)) continue;
      this.values[inst.id] = lower(before, this.evaluate(inst));
    }
    this.evaluateTerminator(block, block.terminator);
  }

  private evaluateTerminator(block: Block, inst: Inst): void {
    let taken = allSuccessors;
    switch (inst.op) {
      case Op.Ret:
        if (inst.operands.length > 0) this.around.ret(this.of(inst.operands[0]!));
        break;
      case Op.CondBr:
      case Op.Switch:
        taken = this.decide(inst);
        break;
      case Op.Invoke:
      case Op.CallBr:
        this.values[inst.id] = lower(this.values[inst.id]!, this.around.call(inst, this.known));
        break;
    }
    const before = this.taken[block.id]!;
    if (before === allSuccessors || (before >= 0 && before !== taken)) taken = allSuccessors;
    this.taken[block.id] = taken;
    const { successors } = block;
    if (taken >= 0) this.reached[successors[taken]!.id] = 1;
    else if (taken === allSuccessors) for (const successor of successors) this.reached[successor.id] = 1;
  }

  /** The successor that a branch takes. */
  private decide(inst: Inst): number {
    const condition = this.of(inst.operands[0]!);
    if (condition === unknown) return noSuccessor;
    if (condition === varying || condition.valueKind !== "int") return allSuccessors;
    if (inst.op === Op.CondBr) return condition.value === 0n ? 1 : 0;
    if (inst.op !== Op.Switch) return allSuccessors;
    const at = inst.data.findIndex((label) => label.value === condition.value);
    return at + 1;
  }

  private join(phi: Inst): Known {
    const block = phi.parent!;
    let all: Known = unknown;
    for (let i = 0; i < phi.operands.length && all !== varying; i++)
      if (this.isTaken(phi.blocks[i]!, block)) all = join(all, this.of(phi.operands[i]!));
    return all;
  }
  private isTaken(from: Block, to: Block): boolean {
    const taken = this.taken[from.id]!;
    return taken >= 0 ? from.successors[taken] === to : taken === allSuccessors;
  }

  private evaluate(inst: Inst): Known {
    switch (inst.op) {
      case Op.Phi:
        return this.join(inst);
      case Op.Call:
        return this.around.call(inst, this.known);
      case Op.Load:
        return this.around.load(inst, this.of(inst.operands[0]!));
      case Op.Store:
        this.around.store(inst, this.of(inst.operands[0]!));
        return unknown;
      case Op.Select:
        return this.select(inst);
      case Op.Freeze:
        return frozen(this.of(inst.operands[0]!));
      default:
        return isFoldable(inst.op) ? this.fold(inst) : varying;
    }
  }

  private select(inst: Inst): Known {
    const condition = this.of(inst.operands[0]!);
    if (condition === unknown) return unknown;
    const ifTrue = this.of(inst.operands[1]!);
    const ifFalse = this.of(inst.operands[2]!);
    if (condition !== varying && condition.valueKind === "int")
      return condition.value === 0n ? ifFalse : ifTrue;
    return join(ifTrue, ifFalse);
  }

  private fold(inst: Inst): Known {
    const { operands } = this;
    operands.length = 0;
    let anyVarying = false;
    for (const operand of inst.operands) {
      const known = this.of(operand);
      if (known === unknown) return unknown;
      if (known === varying) anyVarying = true;
      else operands.push(known);
    }
    if (anyVarying) return varying;
    return this.around.fold(inst, operands) ?? varying;
  }
}

/** A frozen constant is itself; what is undefined becomes some value, which nobody knows. */
function frozen(known: Known): Known {
  if (!isConstantFact(known)) return known;
  switch (known.valueKind) {
    case "int":
    case "float":
    case "zero":
    case "global":
    case "data":
      return known;
    default:
      return varying;
  }
}

/** Operations whose results depend on nothing but their operands. */
const isFoldable = (op: Op): boolean =>
  (op >= Op.FNeg && op <= Op.Xor) ||
  (op >= Op.GetElementPtr && op <= Op.FCmp) ||
  op === Op.ExtractElement ||
  op === Op.InsertElement ||
  op === Op.ShuffleVector ||
  op === Op.ExtractValue ||
  op === Op.InsertValue;
