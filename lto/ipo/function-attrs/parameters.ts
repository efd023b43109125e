/**
 * What functions do with the pointers that are passed to them: whether they keep them (`captures`), and whether they
 * read or write through them (`readnone`, `readonly`, `writeonly`).
 *
 * Pointers are followed through `getelementptr`, phis and selects, from each parameter to what uses it. Passing one to a
 * function of the same component links the two parameters, and links are followed to a fixpoint from the best assumption.
 * Linear in the instructions, but for chains of phis and links, which are walked until nothing changes.
 *
 * Proof obligations (LLVM Language Reference, "Parameter Attributes"):
 *  - whatever is not known to be harmless keeps the pointer and does everything through it: returning it, storing it,
 *    making an integer of it, volatile accesses, bundles;
 *  - comparing it gives away its address, but no right to access what it points to;
 *  - what may be kept may be accessed by others: nothing is said of accesses then;
 *  - copies that calls make (`byval`) belong to the callee.
 */
import { AttributeSet } from "../../ir/attributes.js";
import { type CallInst, type Inst, isCall, isPlainAccess, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { Memory } from "../../ir/memory-effects.js";
import type { Func } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { callEffects } from "../../opt/call-effects.js";
import { passingAttributes } from "../parameter-attributes.js";

/** Parameters beyond these are not followed: sets of them are the bits of a number. */
const mostParameters = 30;
/** Bits of what is given away, as `captures` has them: that it is null, its address, the right to access through it. */
const Captured = { IsNull: 1, Address: 3, All: 15 } as const;
const Access = { Read: 1, Write: 2, Both: 3 } as const;
const provenance = 12;

/** What is known of a function's parameters. */
interface State {
  readonly captured: Uint8Array;
  readonly access: Uint8Array;
}
/** The parameter `from` of a function is passed on as the parameter `to` of another. */
interface Link {
  readonly from: State;
  readonly index: number;
  readonly to: State;
  readonly as: number;
}

/** Of the functions of one component. Bodies are numbered. */
export class PointerParameters {
  private readonly states = new Map<Func, State>();
  private readonly links: Link[] = [];

  constructor(functions: Iterable<Func>) {
    for (const fn of functions) {
      const count = fn.args.length;
      this.states.set(fn, { captured: new Uint8Array(count), access: new Uint8Array(count) });
    }
    for (const [fn, state] of this.states) if (fn.args.some(isFollowed)) this.look(fn, state);
    this.follow();
  }

  private look(fn: Func, state: State): void {
    const sets = rootsOf(fn);
    for (const { insts } of fn.view().blocks)
      for (const inst of insts) {
        const { operands } = inst;
        for (let slot = 0; slot < operands.length; slot++) {
          const operand = operands[slot]!;
          let set = 0;
          if (operand.valueKind === "inst") set = sets[operand.id]!;
          else if (operand.valueKind === "argument" && isFollowed(operand)) set = 1 << operand.index;
          if (set !== 0) this.use(inst, slot, set, state);
        }
      }
  }

  private use(inst: Inst, slot: number, set: number, state: State): void {
    switch (inst.op) {
      case Op.Load:
      case Op.Store: {
        const isAddress = slot === (inst.op === Op.Load ? 0 : 1);
        if (!isAddress || !isPlainAccess(inst)) mark(state, set, Captured.All, Access.Both);
        else mark(state, set, 0, inst.op === Op.Load ? Access.Read : Access.Write);
        return;
      }
      case Op.GetElementPtr:
      case Op.Phi:
      case Op.Select:
        if (inst.type.kind === "ptr") return;
        break;
      case Op.ICmp: {
        const other = inst.operands[1 - slot]!;
        mark(state, set, other.valueKind === "zero" ? Captured.IsNull : Captured.Address, 0);
        return;
      }
      default:
        if (isCall(inst)) {
          this.passed(inst, slot, set, state);
          return;
        }
    }
    mark(state, set, Captured.All, Access.Both);
  }

  private passed(call: CallInst, slot: number, set: number, state: State): void {
    const index = slot - 1;
    const { data } = call;
    if (index < 0 || index >= data.argumentCount) {
      mark(state, set, Captured.All, Access.Both);
      return;
    }
    const callee = call.operands[0]!;
    const intrinsic = intrinsicOf(callee);
    if (intrinsic !== null) {
      const bit = 1 << index;
      const isVolatile = call.operands[4];
      const isPlain = isVolatile === undefined || (isVolatile.valueKind === "int" && isVolatile.value === 0n);
      const keeps = (intrinsic.noCapture & bit) === 0 || !isPlain;
      const reads = (intrinsic.writeOnly & bit) === 0 ? Access.Read : 0;
      const writes = (intrinsic.readOnly & bit) === 0 ? Access.Write : 0;
      mark(state, set, keeps ? Captured.All : 0, (reads | writes) & accessOf(callEffects(call)));
      return;
    }
    const known = callee.valueKind === "global" && callee.kind === "function" ? callee : null;
    const agrees = known !== null && data.functionType === known.valueType;
    const here = data.attributes.parameter(index);
    const there = agrees ? known.attributes.parameter(index) : null;
    const says = (name: string): boolean => here.has(name) || there?.has(name) === true;
    if (says("byval")) {
      mark(state, set, 0, Access.Read);
      return;
    }
    if (says("returned") || data.bundles.length > 0) {
      mark(state, set, Captured.All, Access.Both);
      return;
    }
    const target = agrees ? this.states.get(known) : undefined;
    if (target !== undefined && index < known!.args.length) {
      for (let i = 0; i < state.captured.length && i < mostParameters; i++)
        if ((set & (1 << i)) !== 0) this.links.push({ from: state, index: i, to: target, as: index });
      return;
    }
    let access: number = accessOf(callEffects(call));
    if (says("readnone")) access = 0;
    if (says("readonly")) access &= Access.Read;
    if (says("writeonly")) access &= Access.Write;
    const captures = here.int("captures") ?? there?.int("captures") ?? 255;
    // What comes back by the result is not followed.
    const captured = (captures & 15) !== 0 ? Captured.All : captures >> 4;
    mark(state, set, captured, access);
  }

  private follow(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const { from, index, to, as } of this.links) {
        const captured = from.captured[index]! | to.captured[as]!;
        const access = from.access[index]! | to.access[as]!;
        if (captured === from.captured[index] && access === from.access[index]) continue;
        from.captured[index] = captured;
        from.access[index] = access;
        changed = true;
      }
    }
  }

  /** A function's parameters' attributes with what was found, where that is more than they say. */
  withFacts(fn: Func, sets: readonly AttributeSet[]): readonly AttributeSet[] {
    const { captured, access } = this.states.get(fn)!;
    let result: AttributeSet[] | null = null;
    fn.args.forEach((argument, i) => {
      if (!isFollowed(argument)) return;
      const set = fn.attributes.parameter(i);
      const made = parameterWith(set, captured[i]!, access[i]!);
      if (made === set) return;
      result ??= fn.args.map((_, k) => fn.attributes.parameter(k));
      result[i] = made;
    });
    return result ?? sets;
  }
}

/** Whether a parameter's uses are looked at. */
const isFollowed = ({ type, index }: { readonly type: Value["type"]; readonly index: number }): boolean =>
  type.kind === "ptr" && index < mostParameters;

function mark({ captured, access }: State, set: number, captures: number, how: number): void {
  for (let i = 0; i < captured.length && i < mostParameters; i++)
    if ((set & (1 << i)) !== 0) {
      captured[i]! |= captures;
      access[i]! |= how;
    }
}

const accessOf = (effects: number): number =>
  ((effects & Memory.ArgumentRead) !== 0 ? Access.Read : 0) |
  ((effects & Memory.ArgumentWrite) !== 0 ? Access.Write : 0);

/** For each instruction of a body, by number, the parameters that it may be an offset from, as bits. */
function rootsOf(fn: Func): Int32Array {
  const { blocks } = fn.view();
  let count = 0;
  const derived: Inst[] = [];
  for (const { insts } of blocks) {
    count += insts.length;
    for (const inst of insts)
      if (
        inst.type.kind === "ptr" &&
        (inst.op === Op.GetElementPtr || inst.op === Op.Phi || inst.op === Op.Select)
      )
        derived.push(inst);
  }
  const sets = new Int32Array(count);
  const of = (value: Value): number => {
    if (value.valueKind === "inst") return sets[value.id]!;
    return value.valueKind === "argument" && isFollowed(value) ? 1 << value.index : 0;
  };
  for (let changed = derived.length > 0; changed; ) {
    changed = false;
    for (const inst of derived) {
      let set = sets[inst.id]!;
      const last = inst.op === Op.GetElementPtr ? 1 : inst.operands.length;
      for (let k = inst.op === Op.Select ? 1 : 0; k < last; k++) set |= of(inst.operands[k]!);
      if (set === sets[inst.id]) continue;
      sets[inst.id] = set;
      changed = true;
    }
  }
  return sets;
}

function parameterWith(set: AttributeSet, captured: number, access: number): AttributeSet {
  if (passingAttributes.some((name) => name !== "sret" && name !== "inreg" && set.has(name))) return set;
  const kinds = new Map(set.kinds);
  const known = set.int("captures") ?? 255;
  const captures = known & (captured * 17);
  if (captures !== known) kinds.set("captures", captures);
  if ((captured & provenance) === 0) {
    const reads = (access & Access.Read) !== 0 && !set.has("readnone") && !set.has("writeonly");
    const writes = (access & Access.Write) !== 0 && !set.has("readnone") && !set.has("readonly");
    const word = reads ? (writes ? null : "readonly") : writes ? "writeonly" : "readnone";
    for (const other of ["readnone", "readonly", "writeonly"]) if (other !== word) kinds.delete(other);
    if (word !== null) kinds.set(word, true);
  }
  const isSame =
    kinds.size === set.kinds.size && [...kinds].every(([name, value]) => set.kinds.get(name) === value);
  return isSame ? set : new AttributeSet(kinds, set.strings);
}
