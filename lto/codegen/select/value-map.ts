/**
 * What selection knows of the values of a function: their registers and slots, who uses them, and when.
 *
 * Arrays are by `Inst.id`. A value gets a register when its first user, which is lowered before it, asks for one; one that
 * all of its users folded away has none and is never made.
 */
import type { Inst } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Argument } from "../../ir/values.js";
import type { VReg } from "../mir.js";

export class ValueMap {
  /** The register of each result; -1 while nothing demands it. */
  readonly vregs: Int32Array;
  /** 1 once a lowered instruction reads the value (phis have registers from the start). */
  readonly read: Uint8Array;
  /** Number of uses of each result. */
  readonly uses: Int32Array;
  /** Instructions of one epoch have nothing between them that may write memory. */
  readonly epochs: Int32Array;
  /** 1 for an address whose every use is the pointer of a load or store. */
  readonly addressOnly: Uint8Array;
  /** 1 for a value whose every use is the index of an address that its users compute themselves. */
  readonly indexOnly: Uint8Array;
  /** 1 for what some user counts on to be zero above its type's width. */
  readonly zeroExtended: Uint8Array;
  /** Bytes to which loads extend the sign of what they read; 0: not at all. */
  readonly signExtended: Uint8Array;
  /** The register of each argument, by its index; -1 while nothing demands it. */
  readonly argumentVRegs: VReg[];
  /** Instructions of several results that were emitted where their user is, later than their own place. */
  readonly sunk = new Set<number>();
  /** Registers of the members of an instruction of several results; -1 while not demanded. */
  private readonly parts = new Map<number, VReg[]>();

  constructor(
    instructions: number,
    args: number,
    private readonly newRegister: (type: Type) => VReg,
  ) {
    this.vregs = new Int32Array(instructions).fill(-1);
    this.read = new Uint8Array(instructions);
    this.uses = new Int32Array(instructions);
    this.epochs = new Int32Array(instructions);
    this.addressOnly = new Uint8Array(instructions).fill(1);
    this.indexOnly = new Uint8Array(instructions).fill(1);
    this.zeroExtended = new Uint8Array(instructions);
    this.signExtended = new Uint8Array(instructions);
    this.argumentVRegs = new Array<VReg>(args).fill(-1);
  }

  /** The register of an instruction's result, demanding it, without counting as a use. */
  demand(inst: Inst): VReg {
    let vreg = this.vregs[inst.id]!;
    if (vreg < 0) {
      vreg = this.newRegister(inst.type);
      this.vregs[inst.id] = vreg;
    }
    return vreg;
  }

  /** The register of an argument, demanding it. */
  argument(arg: Argument): VReg {
    let vreg = this.argumentVRegs[arg.index]!;
    if (vreg < 0) {
      vreg = this.newRegister(arg.type);
      this.argumentVRegs[arg.index] = vreg;
    }
    return vreg;
  }

  /** The register of member `index` of an instruction of several results, demanding it. */
  part(inst: Inst, index: number): VReg {
    let parts = this.parts.get(inst.id);
    if (parts === undefined) {
      parts = inst.type.elements.map(() => -1);
      this.parts.set(inst.id, parts);
    }
    if (parts[index]! < 0) parts[index] = this.newRegister(inst.type.elements[index]!);
    return parts[index]!;
  }

  /** The register of a member if something demanded it, else -1. */
  partOf(inst: Inst, index: number): VReg {
    return this.parts.get(inst.id)?.[index] ?? -1;
  }

  /** Whether something demanded a member. */
  hasParts(inst: Inst): boolean {
    return this.parts.has(inst.id);
  }
}
