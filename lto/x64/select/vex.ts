/**
 * The internal operations `tsc.x64.v.NAME`, which legalisation makes for functions with AVX: one for one the instructions
 * that `V` names, with operands in the order of their formats and the immediate last; and halves of registers.
 */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { opFormat, opSourceBytes, rowOf } from "../isa/op-info.js";
import { opcodeNames } from "../isa/op-names.js";
import { Format } from "../isa/ops.js";
import { bytesRead, packed, Takes } from "../isa/row.js";
import type { Selector } from "./selector.js";
import { setVectorSource } from "./source.js";

const opcodes = new Map(Object.entries(opcodeNames).map(([op, name]) => [name, Number(op)]));

/** Lowers a call of `tsc.x64.v.<name>`; false when there is no such instruction. */
export function selectVex(s: Selector, call: CallInst, name: string): boolean {
  const args = callArguments(call);
  const result = s.resultOf(call);
  switch (name) {
    case "low":
    case "widen":
      // Above it a wider register holds whatever.
      s.copy(result, s.reg(args[0]!), 16);
      return true;
    case "high":
      return selectVex(s, call, "Extractf128");
    case "join":
      return selectVex(s, call, "Insertf128");
  }
  const op = opcodes.get(`V${name}`);
  if (op === undefined) return false;
  const machine = new MInst(op, sizeOf(s, op, call.type, args));
  machine.defs = [new RegOperand(result)];
  operands(s, machine, args);
  if (name === "Extractf128" || name === "Insertf128") machine.imm = 1;
  s.emit(machine);
  return true;
}

/** That of what is packed: the result, or a source. */
function sizeOf(s: Selector, op: number, type: Type, args: readonly Value[]): number {
  const row = rowOf(op);
  if (row.sizes.length === 1) return row.sizes[0]!;
  return s.layout.storeSize(row.result === packed ? type : args[0]!.type);
}

function operands(s: Selector, machine: MInst, args: readonly Value[]): void {
  const { op } = machine;
  switch (opFormat[op] as Format) {
    case Format.Three: {
      machine.uses.push(s.use(args[0]!));
      const count = (rowOf(op).takes & Takes.Byte) !== 0 ? constantNumber(args[1]!) : null;
      if (count !== null) machine.imm = count & 0xff;
      else source(s, machine, args[1]!);
      return;
    }
    case Format.ThreeImm:
      machine.uses.push(s.use(args[0]!));
      source(s, machine, args[1]!);
      machine.imm = immediate(args[2]);
      return;
    case Format.MovImm:
      source(s, machine, args[0]!);
      machine.imm = immediate(args[1]);
      return;
    case Format.Blend: {
      machine.uses.push(s.use(args[0]!));
      const mask = s.use(args[2]!);
      source(s, machine, args[1]!);
      machine.uses.push(mask);
      return;
    }
    case Format.Fused:
      machine.defs[0]!.tiedTo = 0;
      machine.uses.push(s.use(args[0]!), s.use(args[1]!));
      source(s, machine, args[2]!);
      return;
    case Format.Mov:
    case Format.Merge:
      source(s, machine, args[0]!);
      return;
    default:
      throw new Error(`no operation of ${opcodeNames[op]}`);
  }
}

const immediate = (value: Value | undefined): number =>
  value === undefined ? 0 : (constantNumber(value) ?? 0) & 0xff;

/** The source that may be memory, where all of it is read. */
function source(s: Selector, machine: MInst, value: Value): void {
  const bytes = bytesRead(opSourceBytes[machine.op]!, machine.size);
  const mayFold = (rowOf(machine.op).takes & Takes.Memory) !== 0 && !s.isGeneral(value.type);
  if (mayFold && s.layout.storeSize(value.type) === bytes) setVectorSource(s, machine, value, bytes);
  else machine.uses.push(s.use(value));
}
