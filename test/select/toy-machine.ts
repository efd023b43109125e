/** Runs selected code of the made-up machine, and finds what is read before it is written. */
import {
  CopyOp,
  type MBlock,
  type MFunction,
  type MInst,
  tableOf,
  type VReg,
} from "../../lto/codegen/mir.js";
import { Toy } from "./toy-selection.js";

const stepLimit = 20_000;
const slotBytes = 256;
const all = (1n << 64n) - 1n;

export interface ToyRun {
  readonly results: readonly bigint[];
  readonly steps: number;
}

/** @throws Error where the code is not what it has to be */
export function runToy(mf: MFunction, args: readonly bigint[]): ToyRun {
  const registers = new Map<VReg, bigint>();
  const memory = new DataView(new ArrayBuffer(slotBytes * (mf.slots.length + 1)));
  const read = (vreg: VReg): bigint => {
    const value = registers.get(vreg);
    if (value === undefined) throw new Error(`v${vreg} is read before it is written`);
    return value;
  };
  let block = mf.blocks[0]!;
  let steps = 0;
  /** Control goes along an edge, which passes values to the parameters. */
  const enter = (next: MBlock): void => {
    const edge = block.succs.indexOf(next);
    if (edge < 0 || !next.preds.includes(block)) throw new Error(`b${block.id} has no edge to b${next.id}`);
    const passed = (block.succArgs[edge] ?? []).map((operand) => read(operand.vreg));
    if (passed.length !== next.params.length && next.params.length > 0)
      throw new Error(`b${block.id} passes ${passed.length} values to b${next.id}`);
    for (const [i, { vreg }] of next.params.entries()) registers.set(vreg, passed[i]!);
    block = next;
  };
  for (;;) {
    let next: MBlock | null = null;
    for (const inst of block.insts) {
      if (++steps > stepLimit) throw new Error("endless");
      if (inst.op === Toy.Return) return { results: inst.uses.map((operand) => read(operand.vreg)), steps };
      if (inst.op === Toy.Entry)
        inst.defs.forEach(({ vreg }, i) => {
          if (vreg >= 0) registers.set(vreg, rubbishAbove(args[i]!, 8));
        });
      else
        next = execute(
          inst,
          inst.uses.map((operand) => read(operand.vreg)),
          registers,
          memory,
        );
      if (next !== null) break;
    }
    if (next === null) throw new Error(`b${block.id} does not end`);
    enter(next);
  }
}

/** What an operation of so many bytes leaves in a register: rubbish above them. */
const rubbishAbove = (value: bigint, size: number): bigint =>
  BigInt.asUintN(size * 8, value) | ((0x5aa5c33c5aa5c33cn << BigInt(size * 8)) & all);

const signed = (value: bigint, bits: number): bigint => BigInt.asIntN(bits, value);
const unsigned = (value: bigint, bits: number): bigint => BigInt.asUintN(bits, value);

function compare(op: number, a: bigint, b: bigint, bits: number): boolean {
  switch (op) {
    case Toy.Equal:
      return unsigned(a, bits) === unsigned(b, bits);
    case Toy.Less:
      return signed(a, bits) < signed(b, bits);
    default:
      return unsigned(a, bits) < unsigned(b, bits);
  }
}

/** @returns where control goes on; null: after the instruction */
function execute(
  inst: MInst,
  uses: readonly bigint[],
  registers: Map<VReg, bigint>,
  memory: DataView,
): MBlock | null {
  const [a = 0n, b = 0n, c = 0n] = uses;
  const { op, size } = inst;
  const bits = size * 8;
  const imm = Number(inst.imm ?? 0);
  const set = (value: bigint, bytes = size): null => {
    registers.set(inst.defs[0]!.vreg, rubbishAbove(value, bytes));
    return null;
  };
  switch (op) {
    case CopyOp:
      return set(a, 8);
    case Toy.Const:
      return set(BigInt(inst.imm!), 8);
    case Toy.Add:
      return set(a + b);
    case Toy.Sub:
      return set(a - b);
    case Toy.Mul:
      return set(a * b);
    case Toy.And:
      return set(a & b);
    case Toy.Or:
      return set(a | b);
    case Toy.Xor:
      return set(a ^ b);
    case Toy.Shl:
      return set(a << (b % BigInt(bits)));
    case Toy.LShr:
      return set(unsigned(a, bits) >> (unsigned(b, bits) % BigInt(bits)));
    case Toy.AShr:
      return set(signed(a, bits) >> (unsigned(b, bits) % BigInt(bits)));
    case Toy.ZExt:
      return set(unsigned(a, imm));
    case Toy.SExt:
      return set(signed(a, imm));
    case Toy.Equal:
    case Toy.Less:
    case Toy.LessU:
      return set(compare(op, a, b, imm) ? 1n : 0n, 1);
    case Toy.Select:
      return set((a & 1n) === 1n ? b : c);
    case Toy.SlotAddress:
      return set(BigInt(imm));
    case Toy.Load:
      return set(load(memory, Number(a), size));
    case Toy.Store:
      return store(memory, Number(b), size, a);
    case Toy.CopyMemory:
      return store(memory, Number(b), 8, load(memory, Number(a), 8));
    case Toy.Jump:
      return inst.targets[0]!;
    case Toy.Branch:
      return compare(inst.condition, a, b, 64) ? inst.targets[0]! : null;
    case Toy.BranchOdd:
      return (a & 1n) === 1n ? inst.targets[0]! : null;
    case Toy.TableJump: {
      const target = tableOf(inst).targets[Number(a)];
      if (target === undefined) throw new Error(`entry ${a} of a table of ${tableOf(inst).targets.length}`);
      return target;
    }
    default:
      throw new Error(`${Toy[op]} is executed`);
  }
}

function load(memory: DataView, at: number, size: number): bigint {
  let value = 0n;
  for (let i = size - 1; i >= 0; i--) value = (value << 8n) | BigInt(memory.getUint8(at + i));
  return value;
}

function store(memory: DataView, at: number, size: number, value: bigint): null {
  for (let i = 0; i < size; i++) memory.setUint8(at + i, Number((value >> BigInt(8 * i)) & 0xffn));
  return null;
}
