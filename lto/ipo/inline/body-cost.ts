/**
 * What a body costs: for the speed of calls, in the field's customary units, 5 an instruction and 25 a call; and where in
 * it calls are.
 *
 * The units measure what a processor has to do for one pass through code that was not specialised, roughly; thresholds
 * were tuned for them over many years in compilers that count so. With constants for some parameters, only the
 * blocks count that can be reached then, and values that become constant are free (`ConstantSolver`).
 * Linear in the body.
 */
import { bodySuccessors } from "../../analysis/cfg.js";
import {
  type BlockExecutions,
  type Executions,
  executionsAt,
  executionsOf,
  type WorkOfCallee,
} from "../../analysis/executions.js";
import type { DataLayout } from "../../ir/data-layout.js";
import {
  type Block,
  type BodyView,
  type CallInst,
  type Inst,
  isCall,
  isStaticAlloca,
  Op,
} from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func } from "../../ir/module.js";
import type { Constant, Value } from "../../ir/values.js";
import type { Interval } from "../../opt/constants/interval.js";
import { isConstantFact } from "../../opt/constants/lattice.js";
import { LocalSurroundings } from "../../opt/constants/local.js";
import { ConstantSolver } from "../../opt/constants/solver.js";
import type { TargetCosts } from "../../target/costs.js";
import { bytesOf } from "./body-size.js";

export const instructionCost = 5;
export const callCost = 25;

/** Intrinsics that no code is made for. */
const free = new Set([
  "lifetime.start",
  "lifetime.end",
  "assume",
  "donothing",
  "sideeffect",
  "invariant.start",
  "invariant.end",
  "launder.invariant.group",
  "strip.invariant.group",
  "experimental.noalias.scope.decl",
  "var.annotation",
  "ptr.annotation",
  "annotation",
  "expect",
  "expect.with.probability",
  "is.constant",
  "objectsize",
  "ssa.copy",
  "pseudoprobe",
]);
/** Intrinsics that become calls of library functions, mostly. */
const called =
  /^(?:mem(?:cpy|move|set)|sin|cos|tan|pow|powi|exp|exp2|exp10|log|log2|log10|fmod|ldexp|frexp)$/;

/** The cost of one instruction. */
function costOf(inst: Inst): number {
  switch (inst.op) {
    case Op.Phi:
    case Op.Ret:
    case Op.Br:
    case Op.Unreachable:
    case Op.BitCast:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.AddrSpaceCast:
    case Op.Freeze:
    case Op.Trunc:
    case Op.LandingPad:
    case Op.ExtractValue:
    case Op.InsertValue:
      return 0;
    case Op.FAdd:
    case Op.FSub:
      // Front ends write a product that is added to something as one instruction.
      return inst.operands.some((value) => value.valueKind === "inst" && value.op === Op.FMul)
        ? 0
        : instructionCost;
    case Op.ExtractElement: {
      // The first one is where a number by itself would be.
      const index = inst.operands[1]!;
      return index.valueKind === "int" && index.value === 0n ? 0 : instructionCost;
    }
    case Op.Alloca:
      return inst.operands[0]!.valueKind === "int" ? 0 : instructionCost;
    case Op.GetElementPtr:
      // A constant offset is part of the address; so is an index, as far as one fits.
      for (let i = 1; i < inst.operands.length; i++)
        if (inst.operands[i]!.valueKind !== "int") return instructionCost;
      return 0;
    case Op.ZExt:
      return inst.operands[0]!.type.bits === 32 ? 0 : instructionCost;
    case Op.Switch:
      return switchCost(inst.blocks.length - 1);
    case Op.Call:
    case Op.Invoke: {
      const intrinsic = intrinsicOf(inst.operands[0]!);
      if (intrinsic !== null && free.has(intrinsic.name)) return 0;
      if (intrinsic !== null && !called.test(intrinsic.name)) return instructionCost;
      if (inst.operands[0]!.valueKind === "asm") return instructionCost;
      return callCost + instructionCost * (1 + inst.data.argumentCount);
    }
    default:
      return instructionCost;
  }
}

/** A tree of comparisons, or the bounds check and the table with its jump. */
const switchCost = (cases: number): number => (cases <= 3 ? 2 * cases : cases + 4) * instructionCost;

/** A call in a body, and how often it runs. */
export interface PlacedCall extends BlockExecutions {
  readonly call: CallInst;
  /** What leads to it ends in a call that never returns, or is said to be unlikely. */
  readonly isCold: boolean;
}

/** Calls of functions in a body, in order. Numbers the body. @param workOf instructions that a call of this executes */
export function placedCalls(body: BodyView, workOf: WorkOfCallee): PlacedCall[] {
  body.renumber();
  let calls: PlacedCall[] | null = null;
  let executions: Executions | null = null;
  let cold: Uint8Array | null = null;
  body.blocks.forEach((block, b) => {
    for (const inst of block.insts) {
      if (!isCall(inst) || !isFunction(inst.operands[0]!)) continue;
      if (calls === null) {
        executions = executionsOf(body, workOf);
        cold = coldBlocks(body.blocks, bodySuccessors(body));
        calls = [];
      }
      calls.push({ call: inst, ...executionsAt(executions!, b), isCold: cold![b] === 1 });
    }
  });
  return calls ?? [];
}
/** Calls of functions in a body, in order. */
export function callsIn({ blocks }: BodyView): CallInst[] {
  const calls: CallInst[] = [];
  for (const { insts } of blocks)
    for (const inst of insts) if (isCall(inst) && isFunction(inst.operands[0]!)) calls.push(inst);
  return calls;
}
const isFunction = (callee: Value): boolean =>
  callee.valueKind === "global" && callee.kind === "function" && callee.intrinsic === null;

/** A branch with less than one in so many executions is unlikely. */
const unlikely = 50;

/** Blocks that run rarely: all they lead to ends the program, or all that leads to them is unlikely. */
function coldBlocks(blocks: readonly Block[], successors: readonly (readonly number[])[]): Uint8Array {
  const cold = new Uint8Array(blocks.length);
  /** By block: edges that lead there, and those of them that are likely. */
  const edges = new Int32Array(blocks.length);
  const likely = new Int32Array(blocks.length);
  blocks.forEach((block, b) => {
    if (block.terminator.op === Op.Unreachable || block.terminator.op === Op.Resume) cold[b] = 1;
    for (const inst of block.insts)
      if (inst.op === Op.LandingPad || (isCall(inst) && isColdCall(inst))) cold[b] = 1;
    const weights = block.terminator.hints?.weights;
    const isWeighed = weights != null && weights.length === successors[b]!.length;
    const sum = isWeighed ? weights.reduce((total, weight) => total + weight, 0) : 0;
    successors[b]!.forEach((to, i) => {
      edges[to]!++;
      if (!isWeighed || weights[i]! * unlikely >= sum) likely[to]!++;
    });
  });
  for (let b = 0; b < blocks.length; b++) if (edges[b]! > 0 && likely[b] === 0) cold[b] = 1;
  // Backwards; what a loop leads to is found in the second round.
  for (let round = 0; round < 2; round++)
    for (let b = blocks.length - 1; b >= 0; b--)
      if (cold[b] === 0 && successors[b]!.length > 0 && successors[b]!.every((s) => cold[s] === 1))
        cold[b] = 1;
  if (blocks.length > 0 && cold[0] === 1) return new Uint8Array(blocks.length).fill(1);
  return cold;
}

function isColdCall({ data, operands }: CallInst): boolean {
  const callee = operands[0]!;
  const own = data.attributes.fn;
  if (own.has("cold") || own.has("noreturn")) return true;
  if (callee.valueKind !== "global" || callee.kind !== "function") return false;
  return callee.attributes.fn.has("cold") || callee.attributes.fn.has("noreturn");
}

/** What copying a body costs, whatever is passed. */
export interface BodyCost {
  readonly cost: number;
  /** Of code, by estimate. */
  readonly bytes: number;
  readonly instructions: number;
  readonly isSingleBlock: boolean;
  /** Operations on vectors, of all instructions. */
  readonly vectorShare: number;
  /** By parameter: what is saved if it is the address of a slot that disappears then. */
  readonly slotSavings: readonly number[];
  /** The same in bytes of code. */
  readonly savedBytes: readonly number[];
  /** By parameter: it decides a branch, or what is called. */
  readonly decides: Uint8Array;
  /** Bytes that it adds to a frame. */
  readonly slotBytes: number;
  /** False: it is of the first blocks, which have more bytes of code than were asked for. */
  readonly isWhole: boolean;
}

/** @param mostBytes of code; bodies that have more are not looked at to their end */
export function bodyCost(
  fn: Func,
  body: BodyView,
  layout: DataLayout,
  costs: TargetCosts,
  mostBytes: number,
): BodyCost {
  const numbers = body.renumber();
  let cost = 0;
  let slotBytes = 0;
  let bytes = 0;
  let vectors = 0;
  for (let i = 0; i < fn.args.length; i++) {
    const copied = fn.attributes.parameter(i).type("byval");
    if (copied !== undefined) slotBytes += layout.allocSize(copied);
  }
  const slotSavings = new Array<number>(fn.args.length).fill(0);
  const savedBytes = new Array<number>(fn.args.length).fill(0);
  const decides = new Uint8Array(fn.args.length);
  /** By instruction, plus one: the parameter that it is an address in, and the one that it depends on. */
  const root = new Int32Array(numbers);
  const depends = new Int32Array(numbers);
  const lose = (value: Value): void => {
    const parameter = parameterOf(value, root);
    if (parameter > 0) slotSavings[parameter - 1] = Number.NEGATIVE_INFINITY;
  };
  const { blocks } = body;
  let b = 0;
  for (; b < blocks.length && bytes <= mostBytes; b++)
    for (const inst of blocks[b]!.insts) {
      const { op, operands } = inst;
      const own = costOf(inst);
      const ownBytes = bytesOf(inst, costs);
      cost += own;
      bytes += ownBytes;
      if (isVectorOperation(inst)) vectors++;
      if (op === Op.Alloca && isStaticAlloca(inst, b === 0))
        slotBytes += layout.allocSize(inst.data.allocatedType) * Number((operands[0] as { num: number }).num);
      switch (op) {
        case Op.GetElementPtr:
          if (own === 0) root[inst.id] = parameterOf(operands[0]!, root);
          else for (const operand of operands) lose(operand);
          break;
        case Op.Load:
          save(parameterOf(operands[0]!, root), own, ownBytes);
          break;
        case Op.Store:
          lose(operands[0]!);
          save(parameterOf(operands[1]!, root), own, ownBytes);
          break;
        case Op.ICmp:
          break;
        case Op.Call:
          // Filling and copying of slots goes with them.
          if (own === 0 || intrinsicOf(operands[0]!)?.name.startsWith("mem") === true) break;
          for (const operand of operands) lose(operand);
          break;
        default:
          for (const operand of operands) lose(operand);
      }
      if (op === Op.CondBr || op === Op.Switch || isCall(inst)) {
        const parameter = parameterOf(operands[0]!, depends);
        if (parameter > 0) decides[parameter - 1] = 1;
      } else if (op !== Op.Load && op !== Op.Phi) {
        let only = 0;
        for (const operand of operands) {
          const parameter = parameterOf(operand, depends);
          if (parameter > 0) only = parameter;
        }
        depends[inst.id] = only;
      }
    }
  return {
    cost,
    bytes,
    instructions: numbers,
    isSingleBlock: body.blocks.length === 1,
    vectorShare: vectors / numbers,
    slotSavings: slotSavings.map((saved) => Math.max(saved, 0)),
    savedBytes: savedBytes.map((saved, i) => (slotSavings[i]! > 0 ? saved : 0)),
    decides,
    slotBytes,
    isWhole: b === blocks.length,
  };

  function save(parameter: number, own: number, ownBytes: number): void {
    if (parameter === 0) return;
    slotSavings[parameter - 1]! += own;
    savedBytes[parameter - 1]! += ownBytes;
  }
}

/** Computes, loads or stores a vector. */
const isVectorOperation = ({ type, operands }: Inst): boolean =>
  type.kind === "vector" || operands[0]?.type.kind === "vector";

/** @param table of instructions, as numbers of parameters plus one */
function parameterOf(value: Value, table: Int32Array): number {
  if (value.valueKind === "inst") return table[value.id]!;
  return value.valueKind === "argument" ? value.index + 1 : 0;
}

/** With constants for some parameters, or bounds of them: what is left to do, and whether that is one block. */
export function specialisedCost(
  fn: Func,
  body: BodyView,
  layout: DataLayout,
  facts: readonly (Constant | Interval | null)[],
  costOfInstruction: (inst: Inst, isEntered: (from: Block) => boolean) => number = costOf,
): { readonly cost: number; readonly isSingleBlock: boolean } {
  const solver = new ConstantSolver(
    body,
    body.renumber(),
    new LocalSurroundings(fn, layout, facts),
    facts.some((fact) => fact?.valueKind === "interval"),
  );
  solver.solve();
  let cost = 0;
  let blocks = 0;
  for (const block of body.blocks) {
    if (!solver.isReached(block)) continue;
    if (block.terminator.op !== Op.Br) blocks++;
    const isEntered = (from: Block): boolean => {
      const only = solver.isReached(from) ? solver.onlySuccessor(from) : undefined;
      return only === null || only === block;
    };
    for (const inst of block.insts) {
      if (isConstantFact(solver.of(inst))) continue;
      if (inst === block.terminator && !isCall(inst) && solver.onlySuccessor(block) !== null) {
        if (inst.op !== Op.Ret) blocks--;
        continue;
      }
      cost += costOfInstruction(inst, isEntered);
    }
  }
  return { cost, isSingleBlock: blocks <= 1 };
}
