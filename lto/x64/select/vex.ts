/**
 * The internal operations `tsc.x64.v.NAME`, which legalisation makes for functions with AVX: one for one the instructions
 * that `V` names, with operands in the order of their formats and the immediate last; and halves of registers. Functions with
 * SSE4.1 have those of 16 bytes without VEX.
 */
import { MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { foldableLoad } from "../../codegen/select/loads.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { isConstant, type Value } from "../../ir/values.js";
import { opFormat, opSourceBytes, rowOf } from "../isa/op-info.js";
import { opcodeNames } from "../isa/op-names.js";
import { type Cc, ccNames, Format, X } from "../isa/ops.js";
import { bytesRead, packed, Takes } from "../isa/row.js";
import { formAt } from "../isa/vex.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { foldLowEnd, setVectorSource } from "./source.js";
import { selectVectorIntrinsic } from "./vector.js";
import { selectExtension } from "./vector-extensions.js";

const opcodes = new Map(Object.entries(opcodeNames).map(([op, name]) => [name, Number(op)]));

/** Lowers a call of `tsc.x64.v.<name>`; false when there is no such instruction. */
export function selectVex(s: Selector, call: CallInst, name: string): boolean {
  const args = callArguments(call);
  const result = s.resultOf(call);
  switch (name) {
    case "low":
      s.copy(result, s.reg(args[0]!), s.layout.storeSize(call.type));
      return true;
    case "widen":
      // Above it a wider register holds whatever.
      s.copy(result, s.reg(args[0]!), s.layout.storeSize(args[0]!.type));
      return true;
    case "high":
      return selectVex(s, call, s.layout.storeSize(call.type) === 32 ? "Extracti64x4" : "Extractf128");
    case "join":
      return selectVex(s, call, s.layout.storeSize(call.type) === 64 ? "Inserti64x4" : "Insertf128");
  }
  if (!s.vectorFeatures.avx) return selectWithoutVex(s, call, name, args);
  const [mnemonic, flag] = name.split(".") as [string, string?];
  const op = opcodes.get(`V${mnemonic}`);
  if (op === undefined) return false;
  const size = sizeOf(s, op, call.type, args);
  const machine = new MInst(formAt(op, size), size);
  if (flag !== undefined) return selectTest(s, machine, args, result, flag);
  if (opFormat[op] === Format.MaskStore) {
    machine.uses = [s.use(args[0]!), s.use(args[1]!)];
    machine.mem = address(s, args[2]!);
    s.emit(machine);
    return true;
  }
  machine.defs = [new RegOperand(result)];
  operands(s, machine, args);
  if (upperHalves.has(name)) machine.imm = 1;
  s.emit(machine);
  return true;
}

/** Of the same name, but that shifts by a number have one of their own. */
function selectWithoutVex(s: Selector, call: CallInst, name: string, args: readonly Value[]): boolean {
  const isByNumber = /^Ps[lr][la][wdq]$/.test(name) && constantNumber(args[1]!) !== null;
  const own = `${name.toLowerCase()}${isByNumber ? "i" : ""}`;
  return selectExtension(s, call, own) || selectVectorIntrinsic(s, call, own);
}

const upperHalves = new Set(["Extractf128", "Insertf128", "Extracti64x4", "Inserti64x4"]);

/** A test of two registers, and one of its flags as a number. */
function selectTest(
  s: Selector,
  machine: MInst,
  args: readonly Value[],
  result: VReg,
  flag: string,
): boolean {
  machine.uses.push(s.use(args[0]!));
  source(s, machine, args[1]!);
  s.emit(machine);
  const bit = s.newGpr(4);
  setCondition(s, bit, { first: ccNames.indexOf(flag) as Cc, second: -1, and: false });
  s.unary(X.Movzx8, 4, result, bit);
  return true;
}

/** That of what is packed: the result, or the first source. */
function sizeOf(s: Selector, op: number, type: Type, args: readonly Value[]): number {
  const row = rowOf(op);
  if (row.sizes.length === 1) return row.sizes[0]!;
  const isOfSource =
    row.result !== packed || row.format === Format.MaskStore || row.format === Format.Compare;
  return s.layout.storeSize(isOfSource ? args[0]!.type : type);
}

function operands(s: Selector, machine: MInst, args: readonly Value[]): void {
  const { op } = machine;
  switch (opFormat[op] as Format) {
    case Format.Three: {
      machine.uses.push(s.use(args[0]!));
      const count = (rowOf(op).takes & Takes.Byte) !== 0 ? constantNumber(args[1]!) : null;
      if (count !== null) machine.imm = count & 0xff;
      else if (args[1]!.type.kind === "ptr") machine.mem = address(s, args[1]!);
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
    case Format.FusedImm:
      machine.imm = immediate(args[3]);
      machine.defs[0]!.tiedTo = 0;
      machine.uses.push(s.use(args[0]!), s.use(args[1]!));
      source(s, machine, args[2]!);
      return;
    case Format.Fused: {
      const [tied, second, last] = fusedOrder(s, machine, args as Triple);
      machine.defs[0]!.tiedTo = 0;
      machine.uses.push(s.use(tied), s.use(second));
      source(s, machine, last);
      return;
    }
    case Format.Mov:
    case Format.Merge:
      source(s, machine, args[0]!);
      return;
    default:
      throw new Error(`no operation of ${opcodeNames[op]}`);
  }
}

type Triple = [factor: Value, other: Value, addend: Value];

const orders: readonly ReadonlyMap<number, number>[] = ["132", "231"].map(
  (order) =>
    new Map(
      [...opcodes].flatMap(([name, op]): [number, number][] => {
        const other = /^VF/.test(name) ? opcodes.get(name.replace("213", order)) : undefined;
        return other === undefined || other === op ? [] : [[op, other]];
      }),
    ),
);

/**
 * The operands in the order of the instruction, which may become one that multiplies and adds others of them: what is loaded for it
 * alone is the last one, and the result takes the place of one that nobody else reads.
 */
function fusedOrder(s: Selector, machine: MInst, [a, b, addend]: Triple): Triple {
  const [by132, by231] = orders.map((order) => order.get(machine.op));
  const sizes = (op: number): boolean => rowOf(op).sizes.includes(machine.size);
  if (by132 === undefined || by231 === undefined || !sizes(by132) || !sizes(by231)) return [a, b, addend];
  const bytes = bytesRead(opSourceBytes[machine.op]!, machine.size);
  const isInMemory = (v: Value): boolean => isConstant(v) || foldableLoad(s, v, bytes) !== null;
  const isLast = (v: Value): boolean => v.valueKind === "inst" && s.values.uses[v.id] === 1;
  const [kept, loaded] = isInMemory(a) ? [b, a] : [a, b];
  if (!isInMemory(addend)) {
    if (isInMemory(loaded) && !isInMemory(kept)) {
      machine.op = isLast(addend) ? by231 : by132;
      return isLast(addend) ? [addend, kept, loaded] : [kept, addend, loaded];
    }
    if (!isLast(a) && !isLast(b) && isLast(addend)) {
      machine.op = by231;
      return [addend, a, b];
    }
  }
  return isLast(b) && !isLast(a) ? [b, a, addend] : [a, b, addend];
}

const immediate = (value: Value | undefined): number =>
  value === undefined ? 0 : (constantNumber(value) ?? 0) & 0xff;

/** The source that may be memory, where all of it is read. */
function source(s: Selector, machine: MInst, value: Value): void {
  const bytes = bytesRead(opSourceBytes[machine.op]!, machine.size);
  const mayFold = (rowOf(machine.op).takes & Takes.Memory) !== 0 && !s.isGeneral(value.type);
  if (mayFold && s.layout.storeSize(value.type) === bytes) return setVectorSource(s, machine, value, bytes);
  const mem = mayFold ? foldLowEnd(s, value, bytes) : null;
  if (mem !== null) machine.mem = mem;
  else machine.uses.push(s.use(value));
}
