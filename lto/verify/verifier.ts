/**
 * Verifier: the rules that every pass and reader of the IR relies on.
 *
 * Readers check what they need in order to build objects; whether the objects mean anything is checked here,
 * so nothing is assumed about a body but that it is made of the classes of this folder. Per function, in
 * order: ownership and block structure; shape of each instruction; control flow; types; dominance. Each step
 * needs the ones before, and the first that finds a problem ends the check of that function.
 *
 * Linear in the IR, but for sorting predecessors of blocks with phis. `Body.renumber()` is called.
 */
import { predecessorLists } from "../analysis/cfg.js";
import { DominatorTree } from "../analysis/dominators.js";
import { type Block, type BodyView, type Inst, isCall, isTerminator, Op } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import { type ConstAggregate, type ConstExpr, isConstant, sameConstant, type Value } from "../ir/values.js";
import { mustTailProblem } from "./calls.js";
import { ConstantVerifier } from "./constants.js";
import { Describer } from "./describe.js";
import { GlobalVerifier } from "./globals.js";
import { instructionProblem, shapeProblem } from "./instructions.js";
import { intrinsicCallProblem } from "./intrinsics.js";

/** Messages per function; a broken pass breaks everything in the same way. */
const maxMessages = 20;

/** Shows an instruction in a message. */
export type ShowInst = (inst: Inst) => string;

/**
 * Checks a module with all bodies; those that were not decoded are released again.
 * @returns messages, empty if the module is valid
 * @throws InputError if a body cannot be decoded
 */
export function verifyModule(module: Module, show?: ShowInst): string[] {
  const messages: string[] = [];
  const constants = new ConstantVerifier(new Set(module.globals));
  const globals = new GlobalVerifier(constants);
  const broken = new Set<GlobalValue>();
  for (const global of module.globals) {
    const problem = globals.check(global);
    if (problem === null) continue;
    broken.add(global);
    messages.push(`@${global.name.slice(0, 200)}: ${problem}`);
  }
  for (const global of module.globals) {
    if (global.kind !== "function" || global.isDeclaration || broken.has(global)) continue;
    const found = global.peek((body) => new FunctionVerifier(global, body, constants, show).run());
    for (const message of found) messages.push(message);
  }
  return messages;
}

/**
 * Checks the body of one function, decoding it if need be.
 * @param show how messages show instructions; by default shortened, numbered as in the textual form
 * @returns messages, empty if the function is valid; a declaration is
 */
export function verifyFunction(fn: Func, show?: ShowInst): string[] {
  if (fn.isDeclaration) return [];
  return verifyBody(fn, fn.view(), show);
}

/** The same for a body that was taken from its function. */
export function verifyBody(fn: Func, body: BodyView, show?: ShowInst): string[] {
  return new FunctionVerifier(fn, body, new ConstantVerifier(null), show).run();
}

/**
 * Structure, control flow and dominance alone, at a third of the cost: for bodies of readers that check types and
 * shapes themselves.
 */
export function verifyOrder(fn: Func, body: BodyView, show?: ShowInst): string[] {
  return new FunctionVerifier(fn, body, new ConstantVerifier(null), show).runOrder();
}

class FunctionVerifier {
  private readonly messages: string[] = [];
  private readonly describer: Describer;
  private readonly show: ShowInst;
  /** Instructions by id. */
  private insts: Inst[] = [];
  private successors: number[][] = [];
  private predecessors: number[][] = [];

  constructor(
    private readonly fn: Func,
    private readonly body: BodyView,
    private readonly constants: ConstantVerifier,
    show: ShowInst | undefined,
  ) {
    this.describer = new Describer(fn, this.body);
    this.show = show ?? ((inst) => this.describer.inst(inst));
  }

  run(): string[] {
    return this.steps(
      this.checkStructure,
      this.checkShapes,
      this.checkFlow,
      this.checkInstructions,
      this.checkDominance,
    );
  }

  runOrder(): string[] {
    return this.steps(this.checkStructure, this.checkFlow, this.checkDominance);
  }

  private steps(...steps: readonly (() => void)[]): string[] {
    for (const step of steps) {
      step.call(this);
      if (this.messages.length > 0) break;
    }
    return this.messages;
  }

  private report(text: string): void {
    if (this.messages.length < maxMessages) this.messages.push(`@${this.fn.name.slice(0, 200)}: ${text}`);
    else if (this.messages.length === maxMessages)
      this.messages.push(`@${this.fn.name.slice(0, 200)}: more problems are not shown`);
  }
  private reportInst(inst: Inst, rule: string): void {
    this.report(`'${this.show(inst)}': ${rule}`);
  }
  private reportBlock(block: Block, rule: string): void {
    this.report(`block ${this.describer.block(block)}: ${rule}`);
  }

  /** Every block and instruction is where it says it is, and each block is a straight line. */
  private checkStructure(): void {
    const { blocks } = this.body;
    if (blocks.length === 0) this.report("it has no blocks");
    const count = this.body.renumber();
    this.insts = new Array<Inst>(count);
    for (const block of blocks) for (const inst of block.insts) this.insts[inst.id] = inst;
    let id = 0;
    for (let b = 0; b < blocks.length; b++) {
      const block = blocks[b]!;
      if (block.id !== b) {
        this.report(`block number ${b} occurs twice`);
        return;
      }
      const last = block.insts.length - 1;
      if (last < 0) this.reportBlock(block, "it is empty");
      for (let i = 0; i <= last; i++) {
        const inst = block.insts[i]!;
        if (inst.id !== id++) this.reportInst(inst, "it occurs twice");
        if (inst.parent !== block) this.reportInst(inst, "its parent is another block");
        if (isTerminator(inst.op) !== (i === last))
          this.reportInst(
            inst,
            i === last ? "the block does not end in a terminator" : "a terminator inside a block",
          );
      }
    }
  }

  private checkShapes(): void {
    for (const inst of this.insts) {
      const problem = shapeProblem(inst);
      if (problem !== null) this.reportInst(inst, problem);
    }
  }

  /** Targets exist; phis agree with predecessors; landing pads stand where unwinding arrives. */
  private checkFlow(): void {
    const { blocks } = this.body;
    for (const block of blocks) {
      const { terminator } = block;
      for (const target of terminator.blocks)
        if (blocks[target.id] !== target)
          this.reportInst(terminator, "it goes to a block outside the function");
      this.successors.push(terminator.blocks.map((target) => target.id));
    }
    if (this.messages.length > 0) return;
    this.predecessors = predecessorLists(this.successors);
    if (this.predecessors[0]!.length > 0) this.reportBlock(blocks[0]!, "the entry block has predecessors");
    for (const block of blocks) this.checkBlockStart(block);
  }

  private checkBlockStart(block: Block): void {
    const { insts } = block;
    const predecessors = this.predecessors[block.id]!;
    let i = 0;
    for (; i < insts.length && insts[i]!.op === Op.Phi; i++) this.checkIncoming(insts[i]!, predecessors);
    const first = i;
    for (; i < insts.length; i++) {
      const inst = insts[i]!;
      if (inst.op === Op.Phi) this.reportInst(inst, "a phi after other instructions");
      else if (inst.op === Op.LandingPad && i !== first)
        this.reportInst(inst, "a landingpad that is not the first instruction of its block");
      else if (inst.op === Op.Invoke && firstNonPhi(inst.blocks[1]!)?.op !== Op.LandingPad)
        this.reportInst(inst, "it unwinds to a block without a landingpad");
    }
    if (insts[first]?.op === Op.LandingPad) this.checkUnwindEdges(block, insts[first]!, predecessors);
  }

  /** Only unwind edges of invokes lead to a landing pad. */
  private checkUnwindEdges(block: Block, pad: Inst, predecessors: readonly number[]): void {
    for (const pred of predecessors) {
      const { terminator } = this.body.blocks[pred]!;
      if (terminator.op !== Op.Invoke || terminator.blocks[1] !== block || terminator.blocks[0] === block) {
        this.reportInst(pad, `a landingpad entered from ${this.describer.block(this.body.blocks[pred]!)}`);
        return;
      }
    }
    if (block === this.body.blocks[0]) this.reportInst(pad, "a landingpad in the entry block");
  }

  private checkIncoming(phi: Inst, predecessors: readonly number[]): void {
    const { blocks } = this.body;
    if (phi.operands.length !== phi.blocks.length) {
      this.reportInst(phi, "values and blocks differ in number");
      return;
    }
    for (const block of phi.blocks)
      if (blocks[block.id] !== block) {
        this.reportInst(phi, "an incoming block is not in the function");
        return;
      }
    // Predecessors are listed in order of their numbers.
    const order = phi.blocks.map((_, i) => i).sort((a, b) => phi.blocks[a]!.id - phi.blocks[b]!.id);
    if (
      order.length !== predecessors.length ||
      order.some((at, i) => phi.blocks[at]!.id !== predecessors[i])
    ) {
      this.reportInst(phi, "incoming blocks are not the predecessors of its block");
      return;
    }
    for (let i = 1; i < order.length; i++) {
      const [before, at] = [order[i - 1]!, order[i]!];
      if (phi.blocks[before] === phi.blocks[at] && !sameIncoming(phi.operands[before]!, phi.operands[at]!)) {
        this.reportInst(phi, `different values from one block, ${this.describer.block(phi.blocks[at]!)}`);
        return;
      }
    }
  }

  private checkInstructions(): void {
    for (const inst of this.insts) {
      let problem = instructionProblem(inst, this.fn) ?? this.operandProblem(inst);
      if (problem === null && inst.op === Op.Call && inst.data.tail === "musttail")
        problem = mustTailProblem(inst, this.insts[inst.id + 1], this.fn);
      if (problem !== null) this.reportInst(inst, problem);
    }
    this.checkLandingPadTypes();
  }

  /** What each operand is, whatever its type. */
  private operandProblem(inst: Inst): string | null {
    const call = isCall(inst);
    for (let i = 0; i < inst.operands.length; i++) {
      const operand = inst.operands[i]!;
      switch (operand.valueKind) {
        case "inst":
          if (operand.type.kind === "void") return `operand ${i} has no value`;
          if (this.insts[operand.id] !== operand) return `operand ${i} is not in the function`;
          break;
        case "argument":
          if (this.fn.args[operand.index] !== operand)
            return `operand ${i} is an argument of another function`;
          break;
        case "asm":
          if (!call || i !== 0) return `operand ${i} is assembly`;
          break;
        case "metadata":
          if (!call || i === 0) return `operand ${i} is metadata`;
          break;
        default: {
          if (!isConstant(operand)) return `operand ${i} is not a value`;
          const problem = this.constants.check(operand) ?? this.intrinsicUse(inst, operand, i);
          if (problem !== null) return problem;
        }
      }
    }
    return null;
  }

  /** Intrinsics are nothing but callees, and what they are called with has the types they take. */
  private intrinsicUse(inst: Inst, operand: Value, index: number): string | null {
    if (operand.valueKind !== "global" || operand.kind !== "function" || operand.intrinsic === null)
      return null;
    if (!isCall(inst) || index !== 0) return `@${operand.name.slice(0, 60)} is used other than by a call`;
    return inst.data.functionType === operand.valueType
      ? this.constants.intrinsicCall(operand)
      : intrinsicCallProblem(operand, inst.data.functionType);
  }

  /** All landing pads and resumes of a function deal in one type. */
  private checkLandingPadTypes(): void {
    let type: Inst["type"] | null = null;
    for (const inst of this.insts) {
      if (inst.op !== Op.LandingPad && inst.op !== Op.Resume) continue;
      const own = inst.op === Op.Resume ? inst.operands[0]!.type : inst.type;
      type ??= own;
      if (own !== type) this.reportInst(inst, "landing pads and resumes of one function differ in type");
    }
  }

  /** Definitions dominate uses. What happens in unreachable blocks does not matter. */
  private checkDominance(): void {
    const tree = DominatorTree.of(this.successors);
    for (const block of this.body.blocks) {
      if (!tree.isReachable(block.id)) continue;
      for (const inst of block.insts)
        for (let i = 0; i < inst.operands.length; i++) {
          const operand = inst.operands[i]!;
          if (operand.valueKind !== "inst") continue;
          const ok =
            inst.op === Op.Phi
              ? this.reachesEnd(tree, operand, inst.blocks[i]!, block)
              : this.reaches(tree, operand, inst, block);
          if (!ok)
            this.reportInst(
              inst,
              `operand ${i}, ${this.describer.value(operand)}, does not dominate its use`,
            );
        }
    }
  }

  private reaches(tree: DominatorTree, def: Inst, use: Inst, block: Block): boolean {
    const from = def.parent!;
    if (def.op === Op.Invoke) return this.edgeDominates(tree, from, def.blocks[0]!, block);
    return from === block ? def.id < use.id : tree.dominates(from.id, block.id);
  }

  /** Whether a definition is available at the end of `from`, on the edge to `to`. */
  private reachesEnd(tree: DominatorTree, def: Inst, from: Block, to: Block): boolean {
    if (!tree.isReachable(from.id)) return true;
    const block = def.parent!;
    if (def.op === Op.Invoke)
      return (
        (block === from && def.blocks[0] === to && def.blocks[1] !== to) ||
        this.edgeDominates(tree, block, def.blocks[0]!, from)
      );
    return tree.dominates(block.id, from.id);
  }

  /** Whether every path to `block` uses the edge from `from` to `to`. */
  private edgeDominates(tree: DominatorTree, from: Block, to: Block, block: Block): boolean {
    if (!tree.dominates(to.id, block.id)) return false;
    let edges = 0;
    for (const pred of this.predecessors[to.id]!)
      if (pred === from.id) edges++;
      else if (tree.isReachable(pred) && !tree.dominates(to.id, pred)) return false;
    return edges === 1;
  }
}

function firstNonPhi(block: Block): Inst | undefined {
  for (const inst of block.insts) if (inst.op !== Op.Phi) return inst;
  return undefined;
}

/**
 * Constants of equal value count as the same incoming value. Shared subexpressions could make a full
 * comparison exponential, so it ends after a number of steps, in favour of equality.
 */
function sameIncoming(a: Value, b: Value): boolean {
  let steps = 64;
  const same = (x: Value, y: Value): boolean => {
    if (x === y || --steps < 0) return true;
    if (!isConstant(x) || !isConstant(y) || x.valueKind !== y.valueKind || x.type !== y.type) return false;
    if (x.valueKind === "aggregate") {
      const { elements } = y as ConstAggregate;
      return x.elements.length === elements.length && x.elements.every((e, i) => same(e, elements[i]!));
    }
    if (x.valueKind === "expr") {
      const { op, operands, flags, elementType, predicate } = y as ConstExpr;
      return (
        x.op === op &&
        x.flags === flags &&
        x.elementType === elementType &&
        x.predicate === predicate &&
        x.operands.length === operands.length &&
        x.operands.every((e, i) => same(e, operands[i]!))
      );
    }
    return sameConstant(x, y);
  };
  return same(a, b);
}
