/**
 * A small interpreter of frame code: enough of the machine to see where rsp goes, what callee-saved registers
 * hold, which memory slots are touched, and whether unwind directives tell the truth at every instruction.
 */

import {
  CfiKind,
  type MBlock,
  type MemOperand,
  type MFunction,
  type MInst,
  unwindDirective,
} from "../../lto/codegen/mir.js";
import { hasRegister } from "../../lto/codegen/register-set.js";
import { scaleOf } from "../../lto/x64/isa/memory-operand.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Cc, X } from "../../lto/x64/isa/ops.js";
import { calleeSavedMask, RAX, RBP, RSP } from "../../lto/x64/isa/registers.js";

const entryRsp = 0x10000008;

/** What the unwinder would compute, as `.cfi_*` directives change it. */
interface UnwindRow {
  register: number;
  offset: number;
  saved: Map<number, number>;
}

export interface RunOptions {
  /** Chooses a successor of a conditional branch. */
  readonly choose: (n: number) => number;
  /** Called at each access of memory with its address and size. */
  readonly access?: (address: number, size: number, inst: MInst, rsp: number) => void;
  /**
   * Values count: loads give what was stored, `je` and `jne` follow the last comparison, and this is called at calls
   * and exits, where it may set registers.
   */
  readonly values?: (inst: MInst, registers: Float64Array) => void;
}

export class Machine {
  readonly registers = new Float64Array(32);
  private readonly memory = new Map<number, number>();
  private readonly entryValues: Float64Array;
  /** Result of the last comparison: zero is "equal". */
  private compared = 1;
  /** Row of the unwind table by block: directives are positional, so they are collected in layout order. */
  private readonly rows = new Map<MInst, UnwindRow>();

  constructor(
    private readonly mf: MFunction,
    private readonly options: RunOptions,
  ) {
    for (let r = 0; r < 32; r++) this.registers[r] = 1000 + r;
    this.registers[RSP] = entryRsp;
    this.entryValues = this.registers.slice();
    this.collectRows();
    if (this.remembered.length > 0) throw new Error("an unwind state is remembered in vain");
  }

  /** Reads the directives in layout order, as an unwinder reads the table. */
  private collectRows(): void {
    const row: UnwindRow = { register: RSP, offset: 8, saved: new Map() };
    for (const block of this.mf.blocks)
      for (const inst of block.insts) {
        if (inst.op === X.Cfi) this.directive(row, inst);
        else this.rows.set(inst, { ...row, saved: new Map(row.saved) });
      }
    for (const inst of this.mf.unwindReset) this.directive(row, inst);
    // A description may go on with the next function.
    if (row.register !== RSP || row.offset !== 8 || row.saved.size > 0)
      throw new Error("the unwind directives do not end as they began");
  }

  private readonly remembered: UnwindRow[] = [];

  private directive(row: UnwindRow, inst: MInst): void {
    const { directive, register, offset } = unwindDirective(inst);
    switch (directive) {
      case CfiKind.DefCfaOffset:
        row.offset = offset;
        break;
      case CfiKind.DefCfaRegister:
        row.register = register;
        break;
      case CfiKind.DefCfa:
        row.register = register;
        row.offset = offset;
        break;
      case CfiKind.Offset:
        row.saved.set(register, offset);
        break;
      case CfiKind.Restore:
        row.saved.delete(register);
        break;
      case CfiKind.RememberState:
        this.remembered.push({ ...row, saved: new Map(row.saved) });
        break;
      case CfiKind.RestoreState: {
        const state = this.remembered.pop();
        if (state === undefined) throw new Error("no unwind state is remembered");
        Object.assign(row, state);
        break;
      }
    }
  }

  /** Checks the unwind row that holds before `inst` runs. */
  private checkUnwind(inst: MInst): void {
    const row = this.rows.get(inst)!;
    const cfa = this.registers[row.register]! + row.offset;
    if (cfa !== entryRsp + 8)
      throw new Error(`CFA is off by ${cfa - entryRsp - 8} before ${opcodeNames[inst.op]}`);
    for (let r = 0; r < 16; r++) {
      if (r === RSP || !hasRegister(calleeSavedMask, r)) continue;
      const at = row.saved.get(r);
      const value = at === undefined ? this.registers[r] : this.memory.get(cfa + at);
      if (value !== this.entryValues[r])
        throw new Error(`register ${r} would unwind wrongly before ${opcodeNames[inst.op]}`);
    }
  }

  private address(mem: MemOperand): number {
    const base = mem.base === null ? 0 : this.registers[mem.base.loc]!;
    const index = mem.index === null ? 0 : this.registers[mem.index.loc]!;
    return base + index * scaleOf(mem) + mem.disp;
  }

  /** Pushes so far. */
  pushes = 0;

  private push(value: number): void {
    this.pushes++;
    this.registers[RSP]! -= 8;
    this.memory.set(this.registers[RSP]!, value);
  }

  private pop(): number {
    const value = this.memory.get(this.registers[RSP]!);
    this.registers[RSP]! += 8;
    return value ?? Number.NaN;
  }

  /** Runs from the entry to an exit. @throws Error when a rule is broken */
  run(): void {
    let block: MBlock = this.mf.blocks[0]!;
    for (let steps = 0; steps < 4000; steps++) {
      const next = this.runBlock(block);
      if (next === null) return;
      block = next;
    }
    throw new Error("endless path");
  }

  private runBlock(block: MBlock): MBlock | null {
    for (const inst of block.insts) {
      if (inst.op === X.Cfi) continue;
      this.checkUnwind(inst);
      switch (inst.op) {
        case X.Jmp:
          return inst.targets[0]!;
        case X.Jcc:
          if (this.takes(inst)) return inst.targets[0]!;
          break;
        case X.Ret:
        case X.TailCall:
          this.checkExit();
          this.options.values?.(inst, this.registers);
          return null;
        case X.Ud2:
          this.options.values?.(inst, this.registers);
          return null;
        default:
          this.step(inst);
      }
    }
    return this.mf.blocks[this.mf.blocks.indexOf(block) + 1] ?? null;
  }

  private takes(branch: MInst): boolean {
    if (this.options.values === undefined) return this.options.choose(2) === 0;
    if (branch.condition !== Cc.E && branch.condition !== Cc.NE)
      throw new Error("the interpreter lacks the condition");
    return (this.compared === 0) === (branch.condition === Cc.E);
  }

  private checkExit(): void {
    if (this.registers[RSP] !== entryRsp)
      throw new Error(`rsp is off by ${this.registers[RSP]! - entryRsp} at exit`);
    for (let r = 0; r < 16; r++)
      if (hasRegister(calleeSavedMask, r) && this.registers[r] !== this.entryValues[r])
        throw new Error(`callee-saved register ${r} is lost`);
  }

  private step(inst: MInst): void {
    const reg = this.registers;
    const to = inst.defs.length > 0 ? inst.defs[0]!.loc : -1;
    const source = (): number => (inst.uses.length > 1 ? reg[inst.uses[1]!.loc]! : Number(inst.imm));
    switch (inst.op) {
      case X.Push:
      case X.PushSaved:
        this.push(inst.uses.length > 0 ? reg[inst.uses[0]!.loc]! : Number(inst.imm));
        return;
      case X.PushPad:
        this.push(Number.NaN);
        return;
      case X.Pop:
      case X.PopSaved:
        reg[to] = this.pop();
        return;
      case X.Leave:
        reg[RSP] = reg[RBP]!;
        reg[RBP] = this.pop();
        return;
      case X.Add:
        this.compared = reg[to] = reg[to]! + source();
        return;
      case X.Sub:
        this.compared = reg[to] = reg[to]! - source();
        return;
      case X.And:
        reg[to] = Number(BigInt(reg[to]!) & BigInt(source()));
        return;
      case X.Xor:
        // Only ever made to zero a register.
        this.compared = reg[to] = 0;
        return;
      case X.Copy:
        reg[to] = reg[inst.uses[0]!.loc]!;
        return;
      case X.Xchg: {
        const [a, b] = [inst.defs[0]!.loc, inst.defs[1]!.loc];
        [reg[a], reg[b]] = [reg[b]!, reg[a]!];
        return;
      }
      case X.Test:
        this.compared = reg[inst.uses[0]!.loc]!;
        return;
      case X.Dec:
        this.compared = reg[to] = reg[to]! - 1;
        return;
      case X.Inc:
        this.compared = reg[to] = reg[to]! + 1;
        return;
      case X.Lea:
        reg[to] = this.address(inst.mem!);
        return;
      case X.Mov:
        if (inst.mem !== null) reg[to] = this.load(inst);
        else reg[to] = Number(inst.imm);
        return;
      case X.MovM:
        this.touch(inst);
        if (this.options.values !== undefined) {
          const value = inst.uses.length > 0 ? reg[inst.uses[0]!.loc]! : Number(inst.imm);
          this.memory.set(this.address(inst.mem!), value);
        }
        return;
      case X.Call:
        if (this.needsAlignment(inst) && reg[RSP]! % 16 !== 0) throw new Error("misaligned call");
        this.options.values?.(inst, reg);
        for (let r = 0; r < 32; r++)
          if (hasRegister(inst.clobbers, r) && !(r === RAX && this.options.values !== undefined))
            reg[r] = Number.NaN;
        return;
      default:
        throw new Error(`the interpreter lacks ${opcodeNames[inst.op]}`);
    }
  }

  /** Calls of unknown code expect the ABI's alignment; the tests' known callee does not. */
  private needsAlignment(inst: MInst): boolean {
    return inst.extra?.kind === "call" && inst.extra.callee === null;
  }

  private load(inst: MInst): number {
    const address = this.address(inst.mem!);
    this.options.access?.(address, inst.size, inst, this.registers[RSP]!);
    return this.options.values === undefined ? 7 : (this.memory.get(address) ?? Number.NaN);
  }

  /** An access of a local: writes garbage there, so that a saved value in the same place is lost. */
  private touch(inst: MInst): void {
    const address = this.address(inst.mem!);
    for (let i = 0; i < inst.size; i += 1) {
      const word = Math.floor((address + i) / 8) * 8;
      this.memory.set(word, Number.NaN);
    }
    this.options.access?.(address, inst.size, inst, this.registers[RSP]!);
  }
}
