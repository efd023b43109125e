/** LLVM's expressions as DWARF's operations. */
import type { DIExpression } from "../../lto/ir/debug/nodes.js";
import type { SectionBytes } from "./bytes.js";
import { DwOp } from "./constants.js";

/** A piece of a variable, in bits. */
export interface Fragment {
  readonly offset: number;
  readonly size: number;
}

/** How many operands an operation has; -1: unknown. */
function operandsOf(operation: number): number {
  if (operation >= DwOp.Breg0 && operation < DwOp.Regx) return 1;
  if (operation >= DwOp.Lit0 && operation < DwOp.Breg0) return 0;
  switch (operation) {
    case DwOp.Constu:
    case DwOp.Consts:
    case DwOp.PlusUconst:
    case DwOp.Regx:
    case DwOp.Const8u:
    case derefSize:
    case DwOp.LlvmTagOffset:
    case DwOp.LlvmEntryValue:
    case DwOp.LlvmArg:
    case pick:
      return 1;
    case DwOp.Bregx:
    case DwOp.LlvmFragment:
    case DwOp.LlvmConvert:
    case DwOp.LlvmExtractBitsSext:
    case DwOp.LlvmExtractBitsZext:
    case DwOp.BitPiece:
      return 2;
    case DwOp.LlvmImplicitPointer:
    case DwOp.StackValue:
    case DwOp.PushObjectAddress:
      return 0;
  }
  // Arithmetic, comparisons and the stack.
  return (operation >= 0x12 && operation <= 0x14) ||
    (operation >= 0x16 && operation <= 0x2e) ||
    operation === DwOp.Deref
    ? 0
    : -1;
}
const derefSize = 0x94;
const pick = 0x15;

/** The operations of an expression, each with its operands; null where one is unknown or cut short. */
export function splitOperations({ operations }: DIExpression): (readonly [number, ...bigint[]])[] | null {
  const result: (readonly [number, ...bigint[]])[] = [];
  for (let at = 0; at < operations.length; ) {
    const operation = Number(operations[at]!);
    const count = operandsOf(operation);
    if (count < 0 || at + count >= operations.length) return null;
    result.push([operation, ...operations.slice(at + 1, at + 1 + count)]);
    at += 1 + count;
  }
  return result;
}

/** The part of the variable that an expression is about; null for all of it. */
export function fragmentOf({ operations }: DIExpression): Fragment | null {
  const at = operations.length - 3;
  if (at < 0 || operations[at] !== BigInt(DwOp.LlvmFragment)) return null;
  return { offset: Number(operations[at + 1]), size: Number(operations[at + 2]) };
}

function constant(out: SectionBytes, value: bigint): void {
  if (value < 32n) out.byte(DwOp.Lit0 + Number(value));
  else {
    out.byte(DwOp.Constu);
    out.uleb(value);
  }
}

/**
 * Appends what an expression does with what is on the stack; fragments are the caller's.
 * @returns false where DWARF has no word for it
 */
export function appendOperations(out: SectionBytes, expression: DIExpression): boolean {
  const operations = splitOperations(expression);
  if (operations === null) return false;
  let bits = 0;
  for (const [operation, first = 0n, second = 0n] of operations)
    switch (operation) {
      case DwOp.LlvmFragment:
      case DwOp.LlvmTagOffset:
        break;
      case DwOp.Constu:
        constant(out, first);
        break;
      case DwOp.Consts:
        out.byte(operation);
        out.sleb(BigInt.asIntN(64, first));
        break;
      case DwOp.PlusUconst:
        if (first === 0n) break;
        out.byte(operation);
        out.uleb(first);
        break;
      case derefSize:
      case pick:
        out.byte(operation);
        out.byte(Number(first & 0xffn));
        break;
      case DwOp.LlvmConvert:
        // Pairs: from one width to another, by the signedness of the second.
        if (bits !== 0 && Number(first) > bits) extend(out, bits, second === 5n);
        bits = Number(first);
        break;
      case DwOp.LlvmExtractBitsSext:
      case DwOp.LlvmExtractBitsZext:
        extract(out, Number(first), Number(second), operation === DwOp.LlvmExtractBitsSext);
        break;
      case DwOp.LlvmEntryValue:
      case DwOp.LlvmImplicitPointer:
      case DwOp.LlvmArg:
      case DwOp.Const8u:
      case DwOp.Regx:
      case DwOp.Bregx:
      case DwOp.BitPiece:
        return false;
      default:
        if (operation >= DwOp.Reg0 && operation < DwOp.Regx) return false;
        out.byte(operation);
    }
  return true;
}

/** The low bits of what is on the stack, to 64. */
function extend(out: SectionBytes, bits: number, signed: boolean): void {
  if (bits >= 64) return;
  if (signed) extract(out, 0, bits, true);
  else {
    constant(out, (1n << BigInt(bits)) - 1n);
    out.byte(0x1a); // and
  }
}

function extract(out: SectionBytes, offset: number, size: number, signed: boolean): void {
  const left = 64 - offset - size;
  if (left > 0) {
    constant(out, BigInt(left));
    out.byte(0x24); // shl
  }
  if (64 - size > 0) {
    constant(out, BigInt(64 - size));
    out.byte(signed ? 0x26 : 0x25); // shra, shr
  }
}

/** Says that what came before is a part of a value. */
export function appendPiece(out: SectionBytes, bits: number): void {
  if (bits % 8 === 0) {
    out.byte(DwOp.Piece);
    out.uleb(bits / 8);
  } else {
    out.byte(DwOp.BitPiece);
    out.uleb(bits);
    out.uleb(0);
  }
}

/** Operations before version 5: what was passed has GNU's number, where that stands first. */
export const withGnuEntryValue = (bytes: readonly number[]): readonly number[] =>
  bytes[0] === DwOp.EntryValue ? [DwOp.GnuEntryValue, ...bytes.slice(1)] : bytes;
