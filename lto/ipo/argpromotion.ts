/**
 * argpromotion: passes what a pointer argument points to, where the callee only loads it.
 *
 *     static int area(const struct box *b) { return b->w * b->h; }       area(&box)
 *     static int area(int w, int h) { return w * h; }                    area(box.w, box.h)
 *
 * A load moves from the callee to each of its calls: where the caller knows what it stored, the load goes, and a variable
 * whose address was only passed becomes a value. Copies that calls make of `byval` arguments are not made any more.
 *
 * Method: components of the call graph, callees first, since a load that has moved to a caller may move on. One look at the
 * uses of each pointer parameter; blocks before a load by a walk over predecessors. Linear in the bodies of the functions
 * that have such parameters, and in the bodies of their callers.
 *
 * Why here: effects of calls are known; the passes after it make values of the variables.
 *
 * Proof obligations:
 *  - all calls are seen, by the function's own type: it is local, its address is not taken, nothing must be a tail call
 *    (`changeSignature`); neither it nor a caller is naked or unoptimised;
 *  - the pointer is used for nothing but plain loads at constant offsets, of scalars or of vectors that one register holds;
 *  - the load can be made at the call: it is made anyhow, before anything that may not come back, or the pointer is
 *    dereferenceable, by attribute or at each call, and as aligned as the load says;
 *  - what is loaded is what was there at the call: on no path from the entry to the load anything writes memory that the
 *    pointer may point to. Variables of the callee itself are other memory. Of a `byval` argument the callee has a copy
 *    that nobody else writes, so that only its own stores count, and there are none;
 *  - what the load says of its value (ranges, non-null) is forgotten: it may have been said of one path only.
 *
 * For size one value takes the place of one pointer, and only where all calls pass addresses of their own variables: loads
 * at calls elsewhere add up to more than those that go (over three programs at -Oz, 0.1% of the sum). At other levels up to
 * three. Of a `byval` argument as many as there are bytes for in two registers.
 */
import { bodySuccessors, predecessorLists } from "../analysis/cfg.js";
import { constantOffset, constantPlace, sizeOfObject } from "../analysis/objects.js";
import type { Builder } from "../ir/builder.js";
import type { DataLayout } from "../ir/data-layout.js";
import {
  type BodyView,
  type CallInst,
  type Inst,
  type InstWith,
  isCall,
  isPlainAccess,
  Op,
} from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import { Memory, mayWrite } from "../ir/memory-effects.js";
import type { Func } from "../ir/module.js";
import { changeSignature } from "../ir/signature.js";
import { functionType, type Type } from "../ir/types.js";
import { type Argument, ConstUndef, type Value } from "../ir/values.js";
import { callEffects, callReturns, neverUnwinds } from "../opt/call-effects.js";
import { callGraph } from "../pass/analyses.js";
import type { ModulePass, ProgramContext } from "../pass/pass.js";

/** Values that may take the place of a pointer, by what the function is compiled for. */
const mostParts = { size: 1, speed: 3, byval: 2 };
/** Arguments beyond these go over the stack on common platforms: more of them are not worth it. */
const mostParameters = 6;

/** Parameters that are what they are by convention. */
const conventional = [
  "sret",
  "nest",
  "inalloca",
  "preallocated",
  "swiftself",
  "swifterror",
  "swiftasync",
  "returned",
];

/** A place that is loaded: bytes from the pointer, and what is there. */
interface Part {
  readonly offset: number;
  readonly type: Type;
  /** The most that a load of it claims, in bytes. */
  align: number;
  readonly loads: InstWith<Op.Load>[];
  /** Some load of it happens in every call. */
  isCertain: boolean;
}

/** A parameter that becomes parts. */
interface Promotion {
  readonly index: number;
  readonly parts: readonly Part[];
  readonly isCopy: boolean;
}

const isScalar = ({ kind, bits }: Type): boolean =>
  (kind === "int" && bits <= 64) || kind === "ptr" || kind === "float" || kind === "double";
/** A register holds it, as every target of ours passes it. */
const isPassed = (type: Type, layout: DataLayout): boolean => {
  if (!type.isVector) return isScalar(type);
  const { kind } = type.element;
  return (kind === "float" || kind === "double") && [8, 16].includes(layout.storeSize(type));
};

class Promoter {
  constructor(
    private readonly layout: DataLayout,
    private readonly context: ProgramContext,
  ) {}

  /** @param callers all of them; the function itself among them where it is recursive */
  promote(fn: Func, callers: readonly Func[]): boolean {
    if (!this.mayChange(fn) || !callers.every((caller) => this.mayChange(caller))) return false;
    const candidates = fn.args.filter((argument) => this.isCandidate(fn, argument));
    if (candidates.length === 0) return false;
    const promotions = this.promotionsOf(fn, candidates, callers);
    if (promotions.length === 0 || !this.rewrite(fn, promotions, callers)) return false;
    this.context.count("arguments", promotions.length);
    return true;
  }

  private mayChange(fn: Func): boolean {
    const { fn: own } = fn.attributes;
    return !own.has("naked") && !own.has("optnone") && !own.has("presplitcoroutine");
  }

  private isCandidate(fn: Func, { index, type }: Argument): boolean {
    // Where variable arguments are depends on what comes before them.
    if (fn.valueType.isVarArg) return false;
    const said = fn.attributes.parameter(index);
    return type.kind === "ptr" && type.addressSpace === 0 && !conventional.some((name) => said.has(name));
  }

  private promotionsOf(fn: Func, candidates: readonly Argument[], callers: readonly Func[]): Promotion[] {
    const isForSize = this.context.goalOf(fn) !== "speed";
    const body = fn.view();
    const uses = new ParameterUses(fn, body, candidates, this.layout);
    let count = fn.args.length;
    const found: Promotion[] = [];
    for (const { index } of candidates) {
      const parts = uses.partsOf(index);
      if (parts === null || parts.length === 0) continue;
      const copied = fn.attributes.parameter(index).type("byval");
      const isCopy = copied !== undefined;
      const most = isCopy ? mostParts.byval : isForSize ? mostParts.size : mostParts.speed;
      if (parts.length > most || count + parts.length - 1 > Math.max(mostParameters, fn.args.length))
        continue;
      if (isCopy) {
        const size = this.layout.allocSize(copied);
        if (!parts.every((part) => this.isInside(part, size))) continue;
      } else {
        if (isForSize && !this.alwaysPassed(fn, index, callers, isSlot)) continue;
        if (!uses.areUnchanged(parts)) continue;
        if (!parts.every((part) => part.isCertain || this.isLoadable(fn, index, part, callers))) continue;
      }
      found.push({ index, parts, isCopy });
      count += parts.length - 1;
    }
    return found;
  }

  private isInside({ offset, type }: Part, size: number): boolean {
    return offset >= 0 && offset + this.layout.storeSize(type) <= size;
  }

  /** The place can be loaded at every call, whether or not the callee gets to its load. */
  private isLoadable(fn: Func, index: number, part: Part, callers: readonly Func[]): boolean {
    const memory = fn.attributes.fn.int("memory") ?? Memory.Any;
    if ((memory & Memory.ArgumentRead) === 0) return false;
    const said = fn.attributes.parameter(index);
    const known = said.int("dereferenceable") ?? 0;
    if (
      this.isInside(part, known) &&
      (said.int("align") ?? 1) % part.align === 0 &&
      part.offset % part.align === 0
    )
      return true;
    return this.alwaysPassed(fn, index, callers, (pointer) => this.isObject(pointer, part));
  }

  /** What all calls pass is such a value. */
  private alwaysPassed(
    fn: Func,
    index: number,
    callers: readonly Func[],
    is: (value: Value) => boolean,
  ): boolean {
    return callers.every((caller) =>
      caller.peek(({ blocks }) =>
        blocks.every(({ insts }) =>
          insts.every((inst) => !isCall(inst) || inst.operands[0] !== fn || is(inst.operands[1 + index]!)),
        ),
      ),
    );
  }

  /** The pointer is the address of a variable, or of a place in one, with room for the part. */
  private isObject(pointer: Value, part: Part): boolean {
    const { base, offset } = constantPlace(pointer, this.layout);
    const size = sizeOfObject(base, this.layout);
    const at = offset + part.offset;
    return (
      size !== null &&
      at >= 0 &&
      at + this.layout.storeSize(part.type) <= size.bytes &&
      size.align % part.align === 0 &&
      at % part.align === 0
    );
  }

  private rewrite(fn: Func, promotions: readonly Promotion[], callers: readonly Func[]): boolean {
    const from: number[] = [];
    const types: Type[] = [];
    /** By new parameter: what it is a part of. */
    const origin: ({ readonly index: number; readonly part: Part; readonly isCopy: boolean } | null)[] = [];
    fn.args.forEach(({ type }, index) => {
      const promotion = promotions.find((each) => each.index === index);
      if (promotion === undefined) {
        from.push(index);
        types.push(type);
        origin.push(null);
      } else
        for (const part of promotion.parts) {
          from.push(-1);
          types.push(part.type);
          origin.push({ index, part, isCopy: promotion.isCopy });
        }
    });
    const { result, isVarArg } = fn.valueType;
    return changeSignature(
      fn,
      {
        type: functionType(result, types, isVarArg),
        from,
        replaceArgument: (old, args) => {
          const editor = fn.edit();
          origin.forEach((of, i) => {
            if (of?.index !== old.index) return;
            for (const load of of.part.loads) editor.replace(load, args[i]!);
          });
          removeAddresses(fn, old);
          return new ConstUndef(old.type, true);
        },
        newArgument: (index, call: CallInst, before: Builder) => {
          const { index: old, part, isCopy } = origin[index]!;
          this.context.count("loads");
          const pointer = call.operands[1 + old]!;
          const place = part.offset === 0 ? pointer : before.byteOffset(pointer, part.offset, 0);
          return before.load(part.type, place, isCopy ? 1 : part.align);
        },
      },
      callers,
    );
  }
}

/** Removes computations of addresses from a pointer that nothing uses any more. */
function removeAddresses(fn: Func, pointer: Value): void {
  const editor = fn.edit();
  for (const user of editor.users(pointer as Argument)) {
    if (user.op !== Op.GetElementPtr) continue;
    removeAddresses(fn, user);
    if (!editor.hasUses(user)) editor.erase(user);
  }
}

/** What a body does with its pointer parameters. */
class ParameterUses {
  /** By parameter; null: something else than loads is done with it. */
  private readonly parts = new Map<number, Part[] | null>();
  private predecessors: readonly (readonly number[])[] = [];
  /** By block: the first instruction that may write, or the number of instructions. Null: nobody has asked yet. */
  private firstWrite: Int32Array | null = null;

  constructor(
    fn: Func,
    private readonly body: BodyView,
    candidates: readonly Argument[],
    private readonly layout: DataLayout,
  ) {
    body.renumber();
    for (const { index } of candidates) this.parts.set(index, []);
    let isCertain = true;
    const { blocks } = body;
    for (let b = 0; b < blocks.length; b++) {
      if (b > 0) isCertain = false;
      for (const inst of blocks[b]!.insts) {
        this.look(inst, isCertain, fn);
        if (isCertain && !comesBack(inst)) isCertain = false;
      }
    }
  }

  private look(inst: Inst, isCertain: boolean, fn: Func): void {
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      // Constant addresses lie in no parameter.
      if (
        operand.valueKind !== "argument" &&
        (operand.valueKind !== "inst" || operand.op !== Op.GetElementPtr)
      )
        continue;
      const { base: root, offset } = constantPlace(operand, this.layout);
      if (root.valueKind !== "argument" || root !== fn.args[root.index]) continue;
      const parts = this.parts.get(root.index);
      if (parts == null) continue;
      // A computation of an address is judged by those who use it.
      if (inst.op === Op.GetElementPtr && i === 0 && constantOffset(inst, this.layout) !== null) continue;
      if (inst.op !== Op.Load || !isPlainAccess(inst) || !isPassed(inst.type, this.layout)) {
        this.parts.set(root.index, null);
        continue;
      }
      addLoad(parts, inst, offset, isCertain);
    }
  }

  /** Places that the parameter is loaded from; null if it is used otherwise, or they are of several types. */
  partsOf(parameter: number): readonly Part[] | null {
    const parts = this.parts.get(parameter) ?? null;
    if (parts === null) return null;
    const places = new Set(parts.map(({ offset }) => offset));
    return places.size === parts.length ? parts : null;
  }

  /** Nothing writes memory of others between the entry and any of these loads. */
  areUnchanged(parts: readonly Part[]): boolean {
    if (this.firstWrite === null) {
      const { blocks } = this.body;
      this.predecessors = predecessorLists(bodySuccessors(this.body));
      this.firstWrite = Int32Array.from(blocks, ({ insts }) => {
        const at = insts.findIndex(writesOthers);
        return at < 0 ? insts.length : at;
      });
    }
    const { firstWrite } = this;
    return parts.every(({ loads }) => loads.every((load) => this.isUnchanged(load, firstWrite)));
  }

  private isUnchanged(load: Inst, firstWrite: Int32Array): boolean {
    const { blocks } = this.body;
    const own = load.parent!.id;
    if (firstWrite[own]! < blocks[own]!.insts.indexOf(load)) return false;
    const seen = new Uint8Array(blocks.length);
    const work = [...this.predecessors[own]!];
    for (let b = work.pop(); b !== undefined; b = work.pop()) {
      if (seen[b] === 1) continue;
      seen[b] = 1;
      if (firstWrite[b]! < blocks[b]!.insts.length) return false;
      work.push(...this.predecessors[b]!);
    }
    return true;
  }
}

function addLoad(parts: Part[], load: InstWith<Op.Load>, offset: number, isCertain: boolean): void {
  const known = parts.find((part) => part.offset === offset && part.type === load.type);
  const { align } = load.data;
  if (known === undefined) {
    parts.push({ offset, type: load.type, align, loads: [load], isCertain });
    return;
  }
  known.loads.push(load);
  // Where one is certain, it is what may be claimed; else all that is claimed has to be shown.
  if (isCertain && !known.isCertain) known.align = align;
  else if (isCertain === known.isCertain) known.align = Math.max(known.align, align);
  known.isCertain ||= isCertain;
}

const isMarker = (call: CallInst): boolean => {
  const name = intrinsicOf(call.operands[0]!)?.name ?? "";
  return name === "assume" || name.startsWith("lifetime.");
};

/** Whether the instruction may write memory that was there before the function was entered, or waits for others to. */
function writesOthers(inst: Inst): boolean {
  switch (inst.op) {
    case Op.Store:
      return !isPlainAccess(inst) || !isSlot(inst.operands[1]!);
    case Op.Load:
      return !isPlainAccess(inst);
    case Op.CmpXchg:
    case Op.AtomicRMW:
    case Op.Fence:
    case Op.VAArg:
      return true;
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr:
      return !isMarker(inst) && mayWrite(callEffects(inst));
    default:
      return false;
  }
}
/** The address of a variable of the function itself, or of a place in one. */
function isSlot(pointer: Value): boolean {
  let base = pointer;
  while (base.valueKind === "inst" && base.op === Op.GetElementPtr) base = base.operands[0]!;
  return base.valueKind === "inst" && base.op === Op.Alloca;
}

/** Control goes on after the instruction. */
function comesBack(inst: Inst): boolean {
  if (isCall(inst)) return callReturns(inst) && neverUnwinds(inst);
  // What traps or waits is not in the way of a load; it may end the program before it, though.
  return inst.op === Op.Load || inst.op === Op.Store
    ? isPlainAccess(inst)
    : inst.op !== Op.CmpXchg && inst.op !== Op.AtomicRMW;
}

export const argpromotion: ModulePass = {
  name: "argpromotion",
  level: "module",
  description: "passes what pointer arguments point to, where callees only load it",
  counters: {
    arguments: "pointer arguments that became values",
    loads: "loads made at calls",
  },
  requires: [callGraph],
  preserves: [],
  run(module, context) {
    const { symbolOf, callers, openToCallers, addressTaken, components } = context.ofModule(callGraph);
    const { count, members } = components;
    const functionAt = (node: number): Func => module.globals[symbolOf[node]!]! as Func;
    const promoter = new Promoter(module.dataLayout, context);
    let changed = false;
    for (let c = 0; c < count; c++)
      for (let i = members.start[c]!; i < members.start[c + 1]!; i++) {
        const node = members.items[i]!;
        if (openToCallers[node] === 1 || addressTaken[node] === 1) continue;
        const fn = functionAt(node);
        if (!fn.args.some(({ type }) => type.kind === "ptr") || context.goalOf(fn) === "none") continue;
        const all: Func[] = [];
        for (let k = callers.start[node]!; k < callers.start[node + 1]!; k++)
          all.push(functionAt(callers.items[k]!));
        if (all.length > 0 && promoter.promote(fn, all)) changed = true;
      }
    return changed;
  },
};
