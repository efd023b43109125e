/**
 * How many bytes of code an instruction becomes, on average over what is around it.
 *
 * A linear model, whose terms are the target's (`target/instructions.ts`). It sorts what is clearly smaller from what is clearly
 * larger, and no more: what a copy does to the registers around it, the model does not see.
 */
import { type Block, type Inst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Value } from "../../ir/values.js";
import type { ConstantCosts } from "../../target/addresses.js";
import type { TargetCosts } from "../../target/costs.js";
import type { InstructionCosts } from "../../target/instructions.js";

const free = /^(?:lifetime|assume|experimental\.noalias|donothing|invariant|annotation)/;

const always = (): boolean => true;
/** It is in a register, as it were; others have to be brought there. */
const isComputed = ({ valueKind }: Value): boolean => valueKind === "inst" || valueKind === "argument";

/** Bytes that passing the arguments of a call takes, with the call itself. */
export function bytesOfCall(call: Inst, count: number, bytes: InstructionCosts): number {
  const { operands } = call;
  let sum = bytes.call + bytesOfCallee(call, bytes);
  for (let i = 1; i <= count; i++) sum += bytesOfArgument(operands[i]!, bytes);
  return sum;
}
function bytesOfCallee({ operands, parent }: Inst, bytes: InstructionCosts): number {
  const callee = operands[0]!;
  if (callee.valueKind === "global") return 0;
  const isLoaded = callee.valueKind === "inst" && callee.op === Op.Load && callee.parent === parent;
  return isLoaded ? bytes.indirectLoaded : bytes.indirect;
}

function bytesOfArgument(value: Value, bytes: InstructionCosts): number {
  switch (value.valueKind) {
    case "inst":
    case "argument":
      return bytes.argument;
    case "undef":
      return 0;
    case "int":
    case "zero":
      return bytes.smallArgument;
    default:
      return bytes.address;
  }
}

/** Constants among the operands that lengthen an instruction. */
function bytesOfConstants(
  { operands }: Inst,
  bytes: InstructionCosts,
  { smallFrom, smallTo }: ConstantCosts,
): number {
  let sum = 0;
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i]!;
    if (operand.valueKind === "int" && (operand.num > smallTo || operand.num < smallFrom))
      sum += bytes.wideConstant;
    else if (operand.valueKind === "global" || operand.valueKind === "expr") sum += bytes.globalOperand;
  }
  return sum;
}

/** @param isEntered whether control comes to the instruction's block from there, where it does not from everywhere */
export function bytesOf(
  inst: Inst,
  { instructions: bytes, constants }: TargetCosts,
  isEntered: (from: Block) => boolean = always,
): number {
  const { op, operands } = inst;
  switch (op) {
    case Op.Phi: {
      let sum = bytes.phi;
      let entries = 0;
      for (let i = 0; i < operands.length; i++) {
        if (!isEntered(inst.blocks[i]!)) continue;
        entries++;
        if (!isComputed(operands[i]!)) sum += bytes.constantEntry;
      }
      return entries === 1 ? 0 : sum;
    }
    case Op.GetElementPtr: {
      let sum = operands[0]!.valueKind === "global" ? bytes.globalOperand : 0;
      for (let i = 1; i < operands.length; i++)
        if (operands[i]!.valueKind !== "int") {
          sum += bytes.variableIndex;
          break;
        }
      return sum;
    }
    case Op.Select: {
      let sum = bytes.select + bytesOfConstants(inst, bytes, constants);
      for (let i = 1; i < operands.length; i++) if (!isComputed(operands[i]!)) sum += bytes.selectedConstant;
      return sum;
    }
    case Op.Br:
      return bytes.jump;
    case Op.Switch:
      return bytes.table + bytes.case * (inst.blocks.length - 1);
    case Op.Ret:
    case Op.Trunc:
    case Op.BitCast:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.AddrSpaceCast:
    case Op.Freeze:
    case Op.Unreachable:
    case Op.Alloca:
    case Op.LandingPad:
      return 0;
    default:
      return isCall(inst)
        ? bytesOfAnyCall(inst, bytes)
        : bytesOfPlain(op, operands[0]!, bytes) + bytesOfConstants(inst, bytes, constants);
  }
}

/**
 * Bytes by which the estimate of an instruction may be too high because its number stands for very different operations. A
 * maximum takes 7, `abs` 6, `bswap` 2 and a saturated sum 10 bytes of the 18 that there are for intrinsics; selects become
 * from 3 bytes (a flag) to 12, multiplications with an immediate 4, copies of 16 bytes or less some moves.
 * @param estimate what `bytesOf` says of it
 */
export function errorOfBytes(inst: Inst, estimate: number, bytes: InstructionCosts): number {
  switch (inst.op) {
    case Op.Call:
      return estimate >= bytes.memory && intrinsicOf(inst.operands[0]!) !== null ? estimate * 0.65 : 0;
    case Op.Select:
    case Op.Mul:
      return estimate / 2;
    case Op.FNeg:
    case Op.FCmp:
    case Op.FPExt:
    case Op.FPTrunc:
    case Op.SIToFP:
    case Op.FPToSI:
      return estimate / 4;
    default:
      return estimate === bytes.other ? bytes.other / 2 : 0;
  }
}

function bytesOfAnyCall(
  call: Extract<Inst, { op: Op.Call | Op.Invoke | Op.CallBr }>,
  bytes: InstructionCosts,
): number {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null) return bytesOfCall(call, call.data.argumentCount, bytes);
  if (free.test(intrinsic.name)) return 0;
  return intrinsic.name.startsWith("mem") ? bytes.memory : bytes.intrinsic;
}

function bytesOfPlain(op: Op, first: Value, bytes: InstructionCosts): number {
  switch (op) {
    case Op.Load:
      return bytes.load;
    case Op.Store:
      return first.valueKind === "int" || first.valueKind === "zero" ? bytes.storedConstant : bytes.store;
    case Op.ICmp:
      return bytes.comparison;
    case Op.CondBr:
      return bytes.branch;
    case Op.Mul:
    case Op.SDiv:
    case Op.UDiv:
    case Op.SRem:
    case Op.URem:
      return bytes.product;
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return bytes.integer;
    case Op.ZExt:
    case Op.SExt:
      return bytes.extension;
    case Op.ExtractValue:
    case Op.InsertValue:
      return bytes.member;
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
    case Op.FNeg:
    case Op.FCmp:
    case Op.SIToFP:
    case Op.UIToFP:
    case Op.FPToSI:
    case Op.FPToUI:
    case Op.FPExt:
    case Op.FPTrunc:
      return bytes.float;
    default:
      return bytes.other;
  }
}
