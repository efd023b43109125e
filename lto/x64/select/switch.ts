/** The tests and tables that switches are made of (codegen/select/switch.ts). */

import { type JumpTable, type MBlock, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { noRegisters } from "../../codegen/register-set.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import type { SwitchCode } from "../../codegen/select/switch.js";
import type { Type } from "../../ir/types.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import type { Selector } from "./selector.js";

export class X64SwitchCode implements SwitchCode {
  /** Bytes of the value. */
  private readonly size: number;
  readonly allowsTables: boolean;

  constructor(
    private readonly s: Selector,
    private readonly value: VReg,
    type: Type,
  ) {
    this.size = operationSize(s.layout, type);
    this.allowsTables = s.allowsJumpTables;
  }

  prepare(): void {}

  branchIfLess(bound: bigint, target: MBlock): void {
    this.compare(bound);
    this.s.jumpIf(Cc.L, target);
  }

  branchIfEqual(n: bigint, target: MBlock): void {
    this.compare(n);
    this.s.jumpIf(Cc.E, target);
  }

  branchIfInside(low: bigint, high: bigint, target: MBlock): void {
    const offset = this.offsetFrom(low);
    this.compareRegister(offset, high - low);
    this.s.jumpIf(Cc.BE, target);
  }

  index(low: bigint, high: bigint, outside: MBlock): VReg {
    const index = this.offsetFrom(low, true);
    this.compareRegister(index, high - low);
    this.s.jumpIf(Cc.A, outside);
    return index;
  }

  tableForm(): Pick<JumpTable, "entryBytes" | "origin"> {
    const { pic, mf, options } = this.s;
    // Short entries are zero-extended addresses.
    const isLow = options.codeModel === "small" || options.codeModel === "medium";
    const direct = !pic && (mf.goal === "speed" || !isLow);
    return { entryBytes: direct ? 8 : 4, origin: pic ? "table" : "zero" };
  }

  jumpByTable(index: VReg, table: JumpTable, targets: readonly MBlock[]): void {
    const { s } = this;
    const machine = new MInst(X.JmpIndirect, 8);
    machine.extra = { kind: "jump-table", table };
    machine.targets = targets;
    if (table.entryBytes === 8) {
      const symbol = { kind: "direct", target: { kind: "jump-table", table } } as const;
      machine.mem = memory(null, new RegOperand(index), 8, 0, symbol);
    } else machine.uses.push(new RegOperand(this.loadTarget(index, table)));
    s.emit(machine);
  }

  /** The address of the target by its index. */
  private loadTarget(index: VReg, table: JumpTable): VReg {
    const { s } = this;
    const target = s.newGpr();
    const load = new MInst(X.TableLoad, 8);
    load.defs = [new RegOperand(target)];
    // Position-independent code adds the address of the table, in a register of its own.
    if (s.pic) load.defs.push(new RegOperand(s.newGpr(), noRegisters, false, -1, true));
    load.uses = [new RegOperand(index)];
    load.extra = { kind: "jump-table", table };
    s.emit(load);
    return target;
  }

  /** value − low in at least 32 bits; zero-extended to a full register when it is to be an index. */
  private offsetFrom(low: bigint, index = false): VReg {
    const { s } = this;
    const width = this.size === 8 ? 8 : 4;
    let value = this.value;
    if (this.size < 4) {
      // Narrow subtraction wraps in 32 bits otherwise: sign-extend first, the bounds are signed.
      const wide = s.newGpr(4);
      s.unary(this.size === 1 ? X.Movsx8 : X.Movsx16, 4, wide, value);
      value = wide;
    }
    if (low === 0n) {
      if (!index || width === 8) return value;
      const zeroExtended = s.newGpr();
      s.unary(X.Mov, 4, zeroExtended, value);
      return zeroExtended;
    }
    const result = s.newGpr();
    if (low >= -2147483647n && low <= 2147483648n) {
      const lea = new MInst(X.Lea, width);
      lea.defs = [new RegOperand(result)];
      lea.mem = memory(new RegOperand(value), null, 1, Number(-low));
      s.emit(lea);
    } else {
      const bound = s.newGpr();
      s.moveImm(bound, width, width === 8 ? low : Number(low));
      s.binary(X.Sub, width, result, value, bound);
    }
    return result;
  }

  private compare(bound: bigint): void {
    const { s } = this;
    const cmp = new MInst(X.Cmp, this.size);
    cmp.uses = [new RegOperand(this.value)];
    if (bound >= -2147483648n && bound <= 2147483647n) cmp.imm = Number(bound);
    else {
      const wide = s.newGpr();
      s.moveImm(wide, 8, bound);
      cmp.uses.push(new RegOperand(wide));
    }
    s.emit(cmp);
  }

  /** Compares an offset (32 or 64 bits) with an unsigned bound. */
  private compareRegister(offset: VReg, bound: bigint): void {
    const { s } = this;
    const width = this.size === 8 ? 8 : 4;
    const cmp = new MInst(X.Cmp, width);
    cmp.uses = [new RegOperand(offset)];
    if (bound <= 2147483647n) cmp.imm = Number(bound);
    else if (width === 4) cmp.imm = Number(BigInt.asIntN(32, bound));
    else {
      const wide = s.newGpr();
      s.moveImm(wide, 8, bound);
      cmp.uses.push(new RegOperand(wide));
    }
    s.emit(cmp);
  }
}
