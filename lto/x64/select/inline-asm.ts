/**
 * Inline assembly: LLVM's constraint strings as operand constraints
 * (LLVM Language Reference, "Inline Asm Constraint String"; GCC's x86 machine constraints).
 */

import { type AsmOperand, type MBlock, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import {
  intersect,
  isEmptySet,
  isSingle,
  minus,
  noRegisters,
  overlaps,
  type RegisterSet,
  registerRange,
  single,
  union,
  withRegister,
} from "../../codegen/register-set.js";
import { type AsmConstraint, parseConstraints } from "../../codegen/select/asm-constraints.js";
import { connect } from "../../codegen/select/blocks.js";
import { foldedInteger, symbolOffset } from "../../codegen/select/constants.js";
import { endInvoke } from "../../codegen/select/exceptions.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import { type CallInst, callArguments, type InstWith, Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type Constant, type InlineAsm, isConstant, type Value } from "../../ir/values.js";
import { needsBasePointer, needsFramePointer } from "../frame/frame-registers.js";
import { impliedChanges, registersByName } from "../isa/assembly-effects.js";
import { hasHighRegisters } from "../isa/high-registers.js";
import { type Cc, ccNames, X } from "../isa/ops.js";
import { everyXmmMask, GPR, gprMask, maskOf, RBP, RSP, XMM, XMM0, xmmMask } from "../isa/registers.js";
import { V } from "../isa/vex-ops.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";
import { popToSlot, push80 } from "./x87.js";

/** General registers that `r` may take: the frame pointer may be in use, so never rbp. */
const anyGpr = minus(gprMask, maskOf(RSP, RBP));

/** General registers that an address may be made of. */
const anyAddress = minus(gprMask, maskOf(RSP));

const letterRegisters: Readonly<Record<string, RegisterSet>> = {
  a: maskOf(0),
  b: maskOf(3),
  c: maskOf(1),
  d: maskOf(2),
  S: maskOf(6),
  D: maskOf(7),
  r: anyGpr,
  q: anyGpr,
  R: intersect(anyGpr, registerRange(0, 8)),
  l: anyGpr,
  Q: maskOf(0, 1, 2, 3),
  A: maskOf(0),
  x: xmmMask,
};

/** Registers that code generation does not have: masks, mmx. */
const otherFiles = /^(?:k|y|\^Y[^2itz])$/;

/** Whether inline assembly with these constraints changes rbp, or is given a value in it. */
export const writesFramePointer = (constraints: string): boolean => /\{[re]?bp\}/.test(constraints);
/** Whether it changes or is given r15. */
const writesBasePointer = (constraints: string): boolean => /\{r15[dwb]?\}/.test(constraints);

export function selectInlineAsm(s: Selector, call: CallInst, asm: InlineAsm, block: MBlock): void {
  const { operands: constraints, clobbers } = parseConstraints(asm.constraints);
  for (const { codes } of constraints)
    if (codes.length > 0 && codes.every((code) => otherFiles.test(code)))
      s.unsupported(`inline assembly constraint '${codes.join("")}'`);
  const machine = new MInst(X.Asm, 8);
  const implied = minus(impliedChanges(asm.template), registersOfResults(constraints));
  machine.clobbers = clobbers.reduce((set, name) => union(set, clobberOf(name)), implied);
  if (
    (needsFramePointer(s.mf) && writesFramePointer(asm.constraints)) ||
    (needsBasePointer(s.mf) && writesBasePointer(asm.constraints))
  )
    s.unsupported("inline assembly that changes the register the frame is addressed by");
  const lowering = new AsmLowering(s, call, machine, constraints, poppedByAsm(asm.constraints));
  const operands = lowering.run();
  const unwind = s.unwindBlock(call);
  machine.extra = { kind: "asm", template: asm.template, intel: asm.intelDialect, operands, unwind };
  if (asm.template.trim() !== "") s.mf.noRedZone = true;
  // What it calls needs an aligned stack, and a frame that the unwinder finds its way through.
  if (asm.canUnwind) s.mf.hasCalls = true;
  s.emit(machine);
  if (call.op === Op.CallBr) endAsmGoto(s, call, machine, block, lowering.hasAfterwards);
  else if (call.op === Op.Invoke) endInvoke(s, call, block, () => lowering.afterwards());
  else lowering.afterwards();
}

/**
 * Ends the block of an `asm goto`: the assembly names the blocks that it may jump to, and otherwise control goes on to
 * the first target. Nothing can stand after it that both ways need: outputs are in memory by now
 * (codegen/lowering/demote-asm-outputs.ts).
 */
function endAsmGoto(
  s: Selector,
  call: InstWith<Op.CallBr>,
  machine: MInst,
  block: MBlock,
  hasAfterwards: boolean,
): void {
  if (hasAfterwards) s.unsupported("asm goto with outputs through pointers or on the x87 stack");
  const [next, ...others] = call.blocks.map((target) => s.blocks.head(target));
  for (const target of others) target.addressTaken = true;
  machine.targets = [...new Set(others)];
  for (const target of [...machine.targets, next!]) connect(block, target);
  s.jump(next!);
}

/** Registers that the assembly says its results are in. */
function registersOfResults(constraints: readonly AsmConstraint[]): RegisterSet {
  let registers = noRegisters;
  for (const { output, codes } of constraints) {
    if (!output || codes.length !== 1) continue;
    const named = registersByName.get(/^\{(.*)\}$/.exec(codes[0]!)?.[1] ?? "");
    const fixed = named === undefined ? (letterRegisters[codes[0]!] ?? noRegisters) : single(named);
    if (isSingle(fixed)) registers = union(registers, fixed);
  }
  return registers;
}

function clobberOf(name: string): RegisterSet {
  const register = registersByName.get(name);
  return register === undefined || register === RSP ? noRegisters : single(register);
}

/** How many x87 registers the assembly says it pops (by clobbering them). */
const poppedByAsm = (constraints: string): number => (constraints.match(/~\{st(\(\d\))?\}/g) ?? []).length;

/** Depth on the x87 stack that a constraint names, or -1. */
function stackDepth(constraint: AsmConstraint): number {
  for (const code of constraint.codes) {
    if (code === "t" || code === "{st}" || code === "{st(0)}") return 0;
    if (code === "u") return 1;
    const named = /^\{st\((\d)\)\}$/.exec(code);
    if (named !== null) return Number(named[1]);
  }
  return -1;
}

/** Whether a constraint takes a number as an immediate (GCC's manual, "Constraints for Particular Machines", x86). */
function takesNumber(code: string, value: bigint, bits: number): boolean {
  const number = BigInt.asUintN(bits, value);
  const most: Readonly<Record<string, bigint>> = { I: 31n, J: 63n, M: 3n, N: 255n, O: 127n, Z: 0xffffffffn };
  switch (code) {
    case "i":
    case "n":
    case "g":
    case "X":
      return true;
    case "e":
      return BigInt.asIntN(32, value) === value;
    case "K":
      return BigInt.asIntN(8, value) === value;
    case "L":
      return number === 0xffn || number === 0xffffn || number === 0xffffffffn;
    default:
      return most[code] !== undefined && number <= most[code];
  }
}

class AsmLowering {
  private readonly operands: AsmOperand[] = [];
  /** Definition index of each output, by constraint number. */
  private readonly defOf: number[] = [];
  private readonly after: (() => void)[] = [];
  private readonly args: Value[];
  private nextArg = 0;
  private nextLabel = 1;
  private nextResult = 0;

  constructor(
    private readonly s: Selector,
    private readonly call: CallInst,
    private readonly machine: MInst,
    private readonly constraints: readonly AsmConstraint[],
    private readonly popped: number,
  ) {
    this.args = callArguments(call);
  }

  /** x87 inputs: depth → value; and where the outputs at each depth go. */
  private readonly stackInputs: (Value | undefined)[] = [];
  private readonly stackOutputs: ((() => void) | undefined)[] = [];
  private untiedInputs = 0;
  /** Inputs at any depth of the x87 stack. */
  private readonly anywhere: { readonly value: Value; readonly index: number }[] = [];

  run(): AsmOperand[] {
    // Inputs are evaluated in order; outputs only reserve their definitions.
    for (let i = 0; i < this.constraints.length; i++) {
      const constraint = this.constraints[i]!;
      if (constraint.label) this.label(i);
      else if (constraint.indirect) this.indirect(constraint, i);
      else if (constraint.output) this.output(constraint, i);
      else this.input(constraint, i);
    }
    // Below those that have a depth, so that these can be popped.
    for (const { value, index } of this.anywhere) {
      let depth = 0;
      while (this.stackInputs[depth] !== undefined) depth++;
      this.stackInput(depth, value, index);
    }
    for (let depth = this.stackInputs.length - 1; depth >= 0; depth--) {
      const value = this.stackInputs[depth];
      if (value === undefined) return this.s.unsupported("inline assembly with a gap among x87 operands");
      pushFloat(this.s, value);
    }
    this.avoidClobbers();
    return this.operands;
  }

  /** Keeps operands out of the clobbered registers: the text may write those before it reads its last operand. */
  private avoidClobbers(): void {
    const { machine } = this;
    if (isEmptySet(machine.clobbers)) return;
    const avoid = (operand: RegOperand | null, every: RegisterSet) => {
      if (operand === null || operand.vreg < 0) return;
      const wanted = isEmptySet(operand.allowed) ? every : operand.allowed;
      const allowed = minus(wanted, machine.clobbers);
      if (!isEmptySet(allowed)) operand.allowed = allowed;
    };
    for (const use of machine.uses) avoid(use, anyGpr);
    for (const def of machine.defs) avoid(def, anyGpr);
    for (const operand of this.operands) {
      if (operand.kind !== "mem") continue;
      avoid(operand.mem.base, anyAddress);
      avoid(operand.mem.index, anyAddress);
    }
  }

  private label(index: number): void {
    const { s, call } = this;
    if (call.op !== Op.CallBr) return s.unsupported("inline assembly with labels that is no callbr");
    this.operands[index] = { kind: "block", block: s.blocks.head(call.blocks[this.nextLabel++]!) };
  }

  /** Whether something has to stand after the assembly. */
  get hasAfterwards(): boolean {
    return this.after.length > 0 || this.stackInputs.length > 0 || this.stackOutputs.length > 0;
  }

  afterwards(): void {
    for (const pop of this.stackOutputs) {
      if (pop === undefined) return this.s.unsupported("inline assembly with a gap among x87 operands");
      pop();
    }
    for (let n = this.popped; n < this.untiedInputs; n++) this.s.emit(new MInst(X.FstpSt0, 10));
    for (const step of this.after) step();
  }

  private stackInput(depth: number, value: Value, index: number): void {
    this.stackInputs[depth] = value;
    this.operands[index] = { kind: "text", text: depth === 0 ? "%st" : `%st(${depth})` };
  }

  private get attributes() {
    return this.call.data.attributes;
  }

  /** The operand's address is an argument: memory, or a register that is loaded before or stored after. */
  private indirect(constraint: AsmConstraint, index: number): void {
    const { s } = this;
    const pointer = this.args[this.nextArg]!;
    const type = this.attributes.parameter(this.nextArg).type("elementtype");
    this.nextArg++;
    if (constraint.codes.some((c) => "moVgXp".includes(c)) || constraint.codes.length === 0) {
      this.operands[index] = { kind: "mem", mem: address(s, pointer) };
      return;
    }
    if (type === undefined) return s.unsupported("indirect inline assembly operand without elementtype");
    const size = operationSize(s.layout, type);
    const mask = this.registers(constraint, type);
    const vreg = s.newReg(type);
    if (constraint.output) {
      this.addDef(vreg, mask, constraint.early, index, size);
      const mem = address(s, pointer);
      this.after.push(() => s.store(storeOp(s, type), size, mem, vreg));
    } else {
      s.load(loadOp(s, type), size, vreg, address(s, pointer));
      this.addUse(vreg, mask, index, size);
    }
  }

  private output(constraint: AsmConstraint, index: number): void {
    const { s, call } = this;
    const isStruct = call.type.kind === "struct";
    const resultIndex = this.nextResult++;
    const type = isStruct ? call.type.elements[resultIndex]! : call.type;
    const wanted = isStruct ? s.values.partOf(call, resultIndex) : s.resultOf(call);
    const flag = constraint.codes.find((c) => c.startsWith("{@cc"));
    if (flag !== undefined) {
      this.operands[index] = { kind: "imm", value: 0n };
      this.flagOutput(flag.slice(4, -1), wanted);
      return;
    }
    const depth = stackDepth(constraint);
    if (depth >= 0) {
      this.operands[index] = { kind: "text", text: depth === 0 ? "%st" : `%st(${depth})` };
      this.stackOutputs[depth] = () => popFloat(s, call, isStruct ? resultIndex : -1, type, wanted);
      return;
    }
    // Where it is popped from, the constraint has to say; clang refuses others, too.
    if (type.kind === "x86_fp80" || constraint.codes.includes("f"))
      return s.unsupported(`inline assembly constraint '=${constraint.codes.join("")}'`);
    const vreg = wanted >= 0 ? wanted : s.newReg(type);
    this.addDef(
      vreg,
      this.registers(constraint, type),
      constraint.early,
      index,
      operationSize(s.layout, type),
    );
  }

  private flagOutput(name: string, wanted: VReg): void {
    const { s } = this;
    const aliases: Readonly<Record<string, string>> = {
      c: "b",
      nc: "ae",
      z: "e",
      nz: "ne",
      pe: "p",
      po: "np",
      na: "be",
      nb: "ae",
      nae: "b",
      nbe: "a",
      ng: "le",
      nge: "l",
      nl: "ge",
      nle: "g",
    };
    const cc = ccNames.indexOf(aliases[name] ?? name);
    if (cc < 0) return s.unsupported(`inline assembly flag output '@cc${name}'`);
    if (wanted < 0) return;
    this.after.push(() => {
      const bit = s.newGpr(4);
      const set = new MInst(X.Setcc, 1);
      set.condition = cc as Cc;
      set.defs = [new RegOperand(bit)];
      s.emit(set);
      s.unary(X.Movzx8, 4, wanted, bit);
    });
  }

  private input(constraint: AsmConstraint, index: number): void {
    const { s } = this;
    const value = this.args[this.nextArg++]!;
    const { type } = value;
    if (constraint.tied >= 0) return this.tiedInput(constraint.tied, value, index);
    const depth = stackDepth(constraint);
    if (depth >= 0) {
      this.untiedInputs++;
      return this.stackInput(depth, value, index);
    }
    if (isConstant(value) && this.immediateInput(constraint, value, index)) return;
    const registers = this.registers(constraint, type);
    if (isEmptySet(registers) || type.kind === "x86_fp80") {
      if (constraint.codes.includes("f")) {
        this.untiedInputs++;
        this.anywhere.push({ value, index });
        return;
      }
      if (!constraint.codes.some((c) => "moVgX".includes(c)))
        return s.unsupported(`inline assembly constraint '${constraint.codes.join("")}' for this operand`);
      return this.memoryInput(value, index);
    }
    this.addUse(s.reg(value), registers, index, operationSize(s.layout, type));
  }

  /** A constant printed into the text; false when it is not one that the constraint takes. */
  private immediateInput({ codes }: AsmConstraint, value: Constant, index: number): boolean {
    const { s } = this;
    const folded = foldedInteger(s.layout, value);
    if (folded !== null) {
      const { bits } = value.type;
      if (!codes.some((code) => takesNumber(code, folded, bits))) return false;
      // As in a register: true is 1.
      this.operands[index] = { kind: "imm", value: value.type.bits === 1 ? folded & 1n : folded };
      return true;
    }
    if (!codes.some((code) => "ingXse".includes(code))) return false;
    const target = symbolOffset(s.layout, value);
    if (target !== null) {
      this.operands[index] = { kind: "symbol", symbol: s.globalSymbol(target.global), offset: target.offset };
      return true;
    }
    if (value.valueKind === "blockaddress" && value.fn === s.mf.fn) {
      const block = s.blocks.labelled(value.label);
      block.addressTaken = true;
      this.operands[index] = { kind: "block", block };
      return true;
    }
    return false;
  }

  private tiedInput(output: number, value: Value, index: number): void {
    const { s } = this;
    const shared = this.operands[output];
    if (shared !== undefined && shared.kind === "mem") {
      this.operands[index] = shared;
      return;
    }
    const depth = stackDepth(this.constraints[output]!);
    if (depth >= 0) return this.stackInput(depth, value, index);
    const def = this.defOf[output];
    if (def === undefined)
      return s.unsupported("inline assembly input tied to an operand without a register");
    const size = operationSize(s.layout, value.type);
    const { uses, defs } = this.machine;
    // A narrower input shares the register of a wider output.
    uses.push(new RegOperand(s.reg(value), defs[def]!.allowed));
    defs[def]!.tiedTo = uses.length - 1;
    this.operands[index] = { kind: "use", index: uses.length - 1, size };
  }

  /** A value that must be in memory: stored to a slot of its own first. */
  private memoryInput(value: Value, index: number): void {
    const { s } = this;
    const size = operationSize(s.layout, value.type);
    const slot = s.mf.newSlot(size, size);
    s.store(storeOp(s, value.type), size, s.slotMem(slot), s.reg(value));
    this.operands[index] = { kind: "mem", mem: s.slotMem(slot) };
  }

  private addDef(vreg: VReg, allowed: RegisterSet, early: boolean, index: number, size: number): void {
    this.defOf[index] = this.machine.defs.length;
    this.operands[index] = { kind: "def", index: this.machine.defs.length, size };
    this.machine.defs.push(new RegOperand(vreg, allowed, false, -1, early));
  }

  private addUse(vreg: VReg, allowed: RegisterSet, index: number, size: number): void {
    this.operands[index] = { kind: "use", index: this.machine.uses.length, size };
    this.machine.uses.push(new RegOperand(vreg, allowed));
  }

  /** Registers a constraint allows for a value of the type. */
  private registers(constraint: AsmConstraint, type: Type): RegisterSet {
    const { s } = this;
    if (type.kind === "x86_fp80") return noRegisters;
    const cls = s.isGeneral(type) ? GPR : XMM;
    const everyXmm = hasHighRegisters(s.mf.fn) ? everyXmmMask : xmmMask;
    const classMask = cls === GPR ? anyGpr : everyXmm;
    let mask = noRegisters;
    for (const code of constraint.codes) {
      if (code.startsWith("{")) {
        const name = code.slice(1, -1);
        const register = registersByName.get(name);
        if (register === undefined) s.unsupported(`inline assembly register '${name}'`);
        else mask = withRegister(mask, register);
      } else if (code === "g" || code === "X") {
        if (cls === GPR || code === "X") mask = union(mask, classMask);
      } else if (code === "v") mask = union(mask, everyXmm);
      else if (code === "^Yz") mask = withRegister(mask, XMM0);
      else if (code.startsWith("^Y")) mask = union(mask, xmmMask);
      else mask = union(mask, letterRegisters[code] ?? noRegisters);
    }
    if (!overlaps(mask, classMask) && !isEmptySet(mask))
      s.unsupported(`inline assembly constraint '${constraint.codes.join("")}' for a value of type ${type}`);
    return intersect(mask, cls === GPR ? gprMask : everyXmm);
  }
}

/** Pushes a floating-point value of any scalar type onto the x87 stack. */
function pushFloat(s: Selector, value: Value): void {
  if (value.type.kind === "x86_fp80") return push80(s, value);
  const size = value.type.kind === "float" ? 4 : 8;
  const slot = s.mf.newSlot(size, size);
  s.store(storeOp(s, value.type), size, s.slotMem(slot), s.reg(value));
  s.load(X.Fld, size, -1, s.slotMem(slot)).defs.length = 0;
}

/** Pops the x87 stack into a result of the call (member `part`, or the whole for −1). */
function popFloat(s: Selector, call: CallInst, part: number, type: Type, wanted: VReg): void {
  if (type.kind === "x86_fp80") return popToSlot(s, part < 0 ? s.slots.of(call) : s.slots.ofPart(call, part));
  const size = type.kind === "float" ? 4 : 8;
  const slot = s.mf.newSlot(size, size);
  const pop = new MInst(X.FstpM, size);
  pop.mem = s.slotMem(slot);
  s.emit(pop);
  if (wanted >= 0) s.load(loadOp(s, type), size, wanted, s.slotMem(slot));
}

function loadOp(s: Selector, type: Type): number {
  if (s.isGeneral(type)) return X.Mov;
  if (s.layout.storeSize(type) > 16) return V.Movups;
  return type.kind === "float" ? X.Movss : type.kind === "double" ? X.Movsd : X.Movups;
}
function storeOp(s: Selector, type: Type): number {
  if (s.isGeneral(type)) return X.MovM;
  if (s.layout.storeSize(type) > 16) return V.MovupsM;
  return type.kind === "float" ? X.MovssM : type.kind === "double" ? X.MovsdM : X.MovupsM;
}
