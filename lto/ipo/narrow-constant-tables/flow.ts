/**
 * Where pointers into tables go: through addresses, phis, selects, and calls and returns of functions all of whose
 * callers are known. Whatever else happens to one gives its table up.
 *
 * Bodies are looked at in rounds, until nothing new is found; then once more, to see that what can be one pointer
 * or another is always one into the table, or null. Pointers into tables that are given up are like all others: where one
 * meets a pointer into a table that is not, that shows in the end, since all bodies that get such a pointer, and all that call
 * those that get or return one, are looked at then. Linear in the bodies, times few rounds.
 */
import { reversePostOrderOf } from "../../analysis/cfg.js";
import { knownBits, unsignedRange } from "../../analysis/known-bits.js";
import { visitGlobals } from "../../analysis/references.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type GepSteps, gepSteps, placeOf } from "../../ir/fold/addresses.js";
import {
  type Block,
  type BodyView,
  type CallInst,
  Flag,
  type Inst,
  type InstWith,
  isCall,
  isPlainAccess,
  Op,
} from "../../ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable } from "../../ir/module.js";
import { ptr } from "../../ir/types.js";
import { type Argument, type Constant, type ConstExpr, isConstant, type Value } from "../../ir/values.js";
import { passingAttributes } from "../parameter-attributes.js";
import { type Place, type Scene, same, type Table } from "./tables.js";

/** Where the values of one body point. */
export type Places = ReadonlyMap<Value, Place>;
const nowhere: Places = new Map();

/** Bytes: steps of so many wrap after 2^48 of them, which would take days. */
const farthest = 2 ** 16;

export class PointerFlow {
  readonly parameters = new Map<Argument, Place>();
  readonly results = new Map<Func, Place>();
  /** Functions whose parameters turned out to be places, and those whose results did; others take them out. */
  readonly entered = new Set<Func>();
  readonly returning = new Set<Func>();
  /** Something was found out since it was last reset. */
  hasNews = false;
  readonly scene: Scene = { fn: null, inst: null };

  /** @param closed functions that only direct calls enter */
  constructor(
    readonly dataLayout: DataLayout,
    readonly tables: ReadonlyMap<GlobalVariable, Table>,
    private readonly closed: ReadonlySet<Value>,
  ) {}

  note(isNews: boolean): void {
    if (isNews) this.hasNews = true;
  }

  /** The table that a global is, or is part of. */
  tableOf(global: GlobalValue): Table | undefined {
    return global.kind === "variable" ? this.tables.get(global) : undefined;
  }
  private readonly markUnsafe = (global: GlobalValue): void => this.tableOf(global)?.markUnsafe();

  /** Gives up all tables that a constant mentions. */
  escape(constant: Constant): void {
    visitGlobals(constant, this.markUnsafe);
  }

  /** Where a constant points, if that is in a table. */
  placeOf(
    value: Constant,
  ): { readonly table: Table; readonly variable: GlobalValue; readonly offset: number } | null {
    if (value.valueKind === "global") {
      const table = this.tableOf(value);
      return table === undefined ? null : { table, variable: value, offset: 0 };
    }
    if (value.valueKind !== "expr") return null;
    const { base, offset } = placeOf(this.dataLayout, value);
    if (base?.valueKind !== "global") return null;
    const table = this.tableOf(base);
    return table === undefined ? null : { table, variable: base, offset: Number(offset) };
  }

  /** What is known of the values of a body. Tells callers and callees what it passes to them. */
  look(fn: Func, body: BodyView): { readonly places: Places; readonly isUser: boolean } {
    this.scene.fn = fn;
    const flow = new BodyFlow(this, fn, body);
    flow.run();
    return flow;
  }
  /** The same for a body that is not to be changed: what it does with tables is not looked into. */
  pass(fn: Func, { blocks }: BodyView): void {
    this.scene.fn = fn;
    for (const { insts } of blocks)
      for (const inst of insts) {
        this.scene.inst = inst;
        for (const operand of inst.operands) this.pointerOf(operand)?.table.markUnsafe();
        if (!isCall(inst)) continue;
        this.checkCall(inst, () => false);
        const callee = this.calleeOf(inst);
        if (callee !== null) this.results.get(callee)?.table.markUnsafe();
      }
  }

  /** Where a value points, if that is in a table; tables that a constant mentions otherwise are given up. */
  pointerOf(value: Value, places: Places = nowhere): Place | null {
    switch (value.valueKind) {
      case "inst":
      case "argument":
        // Most bodies have none.
        return places.size === 0 ? null : (places.get(value) ?? null);
      case "global":
      case "expr":
        return this.placeOfConstant(value);
      case "aggregate":
      case "globalref":
        this.escape(value);
        return null;
      default:
        return null;
    }
  }
  private placeOfConstant(value: GlobalValue | ConstExpr): Place | null {
    const at = this.placeOf(value);
    if (at === null) {
      if (value.valueKind === "expr") this.escape(value);
      return null;
    }
    const place = at.table.shape.placeOf(at.offset);
    if (place !== 0 && at.table.shape.fieldAt(place) < 0) at.table.markUnsafe();
    return { table: at.table, place };
  }

  /** The definition that a call enters and that nothing else does; null: who knows. */
  calleeOf({ operands, data }: CallInst): Func | null {
    const callee = operands[0]!;
    if (callee.valueKind !== "global" || callee.kind !== "function" || !this.closed.has(callee)) return null;
    if (data.functionType !== callee.valueType || data.callingConvention !== callee.callingConvention)
      return null;
    return callee;
  }

  /** Gives up what a function is known to get or return that is not passed plainly. */
  passTo(fn: Func, index: number, call: CallInst, to: Place): void {
    const argument = fn.args[index];
    const said = [fn.attributes.parameter(index), call.data.attributes.parameter(index)];
    if (
      argument === undefined ||
      argument.type !== ptr ||
      said.some((set) => passingAttributes.some((name) => set.has(name)))
    ) {
      to.table.markUnsafe();
      return;
    }
    if (this.put(this.parameters, argument, to)) this.entered.add(fn);
  }
  returnFrom(fn: Func, to: Place): void {
    if (!this.closed.has(fn) || fn.valueType.result !== ptr) {
      to.table.markUnsafe();
      return;
    }
    if (this.put(this.results, fn, to)) this.returning.add(fn);
  }
  /** @returns whether it is the first place for that */
  private put<Key>(places: Map<Key, Place>, key: Key, to: Place): boolean {
    const known = places.get(key);
    if (known !== undefined) {
      this.note(same(known, to));
      return false;
    }
    places.set(key, to);
    this.hasNews = true;
    return true;
  }

  /** Gives up tables of which a value may be a pointer, but need not be. */
  check(fn: Func, body: BodyView, places: Places): void {
    const isFine = (value: Value, { table, place }: Place): boolean => {
      if (isNull(value)) return true;
      const at = this.pointerOf(value, places);
      return at !== null && at.table.leader === table.leader && at.place === place;
    };
    const result = this.results.get(fn);
    this.scene.fn = fn;
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        this.scene.inst = inst;
        const { op, operands } = inst;
        if (op === Op.Phi || op === Op.Freeze || op === Op.Select) {
          const own = inst.type === ptr ? places.get(inst) : undefined;
          if (own === undefined) continue;
          for (let i = op === Op.Select ? 1 : 0; i < operands.length; i++)
            if (!isFine(operands[i]!, own)) own.table.markUnsafe();
        } else if (op === Op.ICmp) {
          const [a, b] = operands.map((value) => this.pointerOf(value, places)) as [
            Place | null,
            Place | null,
          ];
          if (a !== null && b === null && !isNull(operands[1]!)) a.table.markUnsafe();
          if (b !== null && a === null && !isNull(operands[0]!)) b.table.markUnsafe();
        } else if (op === Op.Ret) {
          if (result !== undefined && !isFine(operands[0]!, result)) result.table.markUnsafe();
        } else if (isCall(inst)) this.checkCall(inst, isFine);
      }
  }
  private checkCall(call: CallInst, isFine: (value: Value, at: Place) => boolean): void {
    const callee = call.operands[0]!;
    if (callee.valueKind !== "global" || callee.kind !== "function") return;
    const isKnown = this.calleeOf(call) !== null;
    callee.args.forEach((argument, index) => {
      const at = this.parameters.get(argument);
      if (at !== undefined && !(isKnown && isFine(call.operands[1 + index]!, at))) at.table.markUnsafe();
    });
    if (!isKnown) this.results.get(callee)?.table.markUnsafe();
  }
}

const isNull = (value: Value): boolean => value.valueKind === "zero" || value.valueKind === "undef";

class BodyFlow {
  readonly places = new Map<Value, Place>();
  /** It has to do with tables. */
  isUser = false;
  private changed = false;
  /** Pointers that instructions before them use. */
  private early: Inst[] = [];

  constructor(
    private readonly flow: PointerFlow,
    private readonly fn: Func,
    private readonly body: BodyView,
  ) {}

  run(): void {
    const { flow, fn, places } = this;
    for (const argument of fn.args) {
      const at = flow.parameters.get(argument);
      if (at !== undefined && !at.table.isUnsafe) places.set(argument, at);
    }
    this.body.renumber();
    const { blocks } = this.body;
    this.sweep(blocks);
    if (!this.placedEarly()) return;
    this.early = [];
    this.sweep(blocks);
    if (!this.placedEarly()) return;
    // Blocks may stand against the flow.
    const ordered = inOrder(blocks);
    do {
      this.changed = false;
      this.sweep(ordered);
    } while (this.changed);
  }

  private sweep(blocks: readonly Block[]): void {
    for (const { insts } of blocks) for (let i = 0; i < insts.length; i++) this.instruction(insts[i]!);
  }
  /** Where a pointer leads was not known yet where it was used. */
  private placedEarly(): boolean {
    return this.early.some((pointer) => this.places.has(pointer));
  }

  private instruction(inst: Inst): void {
    const { operands } = inst;
    const { flow, places } = this;
    flow.scene.inst = inst;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      const { valueKind } = operand;
      if (valueKind === "int") continue;
      let at: Place | null;
      if (valueKind === "inst" || valueKind === "argument") {
        // Others never lead into tables.
        if (operand.type !== ptr) continue;
        at = places.size === 0 ? null : (places.get(operand) ?? null);
        if (at === null && valueKind === "inst" && operand.id >= inst.id) this.early.push(operand);
      } else at = flow.pointerOf(operand);
      if (at !== null && !at.table.isUnsafe) this.use(inst, i, at);
    }
    if (flow.results.size === 0 || !isCall(inst)) return;
    const callee = flow.calleeOf(inst);
    const result = callee === null ? undefined : flow.results.get(callee);
    if (result !== undefined && !result.table.isUnsafe) this.put(inst, result);
  }

  private put(value: Inst, at: Place): void {
    const known = this.places.get(value);
    this.isUser = true;
    if (known !== undefined) {
      this.flow.note(same(known, at));
      return;
    }
    if (value.type !== ptr) {
      at.table.markUnsafe();
      return;
    }
    this.places.set(value, at);
    this.changed = true;
  }

  private use(inst: Inst, slot: number, at: Place): void {
    const { flow } = this;
    this.isUser = true;
    switch (inst.op) {
      case Op.GetElementPtr:
        return this.step(inst, slot, at);
      case Op.Phi:
      case Op.Freeze:
      case Op.Select:
        return this.put(inst, at);
      case Op.Load:
        return this.load(inst, at);
      case Op.ICmp: {
        const other = flow.pointerOf(inst.operands[1 - slot]!, this.places);
        if (other !== null) flow.note(same(at, other));
        return;
      }
      case Op.Ret:
        return flow.returnFrom(this.fn, at);
      default: {
        const callee =
          isCall(inst) && slot > 0 && slot <= inst.data.argumentCount ? flow.calleeOf(inst) : null;
        if (callee === null) at.table.markUnsafe();
        else flow.passTo(callee, slot - 1, inst as CallInst, at);
      }
    }
  }

  private step(inst: InstWith<Op.GetElementPtr>, slot: number, at: Place): void {
    const { shape } = at.table;
    const steps = slot === 0 ? stepsOf(inst, this.flow.dataLayout) : null;
    if (steps === null || steps.scales.some(({ bytes }) => bytes % shape.period !== 0))
      return at.table.markUnsafe();
    if ((inst.flags & Flag.InBounds) === 0 && !this.isShort(inst, steps)) return at.table.markUnsafe();
    const place = shape.placeOf(at.place + steps.bytes);
    if (place !== 0 && shape.fieldAt(place) < 0) return at.table.markUnsafe();
    this.put(inst, { table: at.table, place });
  }

  /**
   * Whether a step that nothing says stays inside is so short that no number of them leads around the address space:
   * by few bytes, or from where no loop and no call comes by an index that is small.
   */
  private isShort({ operands }: Inst, { bytes, scales }: GepSteps): boolean {
    if (Math.abs(bytes) > farthest) return false;
    if (scales.length === 0) return true;
    let from = operands[0]!;
    while (from.valueKind === "inst" && from.op === Op.GetElementPtr) from = from.operands[0]!;
    if (!isConstant(from) && !(from.valueKind === "inst" && from.op === Op.Load)) return false;
    return scales.every(({ index, bytes }) => bytes <= farthest && isSmall(index, bytes, this.fn));
  }

  private load(inst: InstWith<Op.Load>, { table, place }: Place): void {
    const { shape } = table;
    const number = shape.fieldAt(place);
    const field = shape.fields[number];
    if (field === undefined || !isPlainAccess(inst)) return table.markUnsafe();
    if (field.kind === "rest") {
      if (place + this.flow.dataLayout.storeSize(inst.type) > field.offset + field.bytes) table.markUnsafe();
    } else if (inst.type !== field.type) table.markUnsafe();
    else {
      const { content } = table.leader.facts[number]!;
      if (content !== null && !content.table.isUnsafe) this.put(inst, content);
    }
  }
}

/** Whether an index, as a signed number, has 32 bits, or counts from there in steps that are short, too. */
function isSmall(index: Value, bytes: number, fn: Func): boolean {
  const isShort = (by: Value): boolean =>
    by.valueKind === "int" && Math.abs(Number(by.value)) * bytes <= farthest;
  let from = index;
  while (
    from.valueKind === "inst" &&
    (from.op === Op.SExt || (from.op === Op.Add && isShort(from.operands[1]!)))
  )
    from = from.operands[0]!;
  const { type } = from;
  if (type.kind !== "int") return false;
  if (type.bits <= 32) return true;
  if (from.valueKind === "inst" && from.op === Op.Phi)
    return from.operands.every((value) =>
      value.valueKind === "inst" && value.op === Op.Add && value.operands[0] === from
        ? isShort(value.operands[1]!)
        : isShort(value),
    );
  return unsignedRange(knownBits(from, fn), type.bits)[1] < 1n << 32n;
}

/** Blocks in reverse postorder, and after them those that nothing leads to. */
function inOrder(blocks: readonly Block[]): readonly Block[] {
  const numbers = new Map(blocks.map((block, i) => [block, i]));
  const order = reversePostOrderOf(blocks.map(({ successors }) => successors.map((to) => numbers.get(to)!)));
  const reached = new Set(order);
  return [...order.map((i) => blocks[i]!), ...blocks.filter((_, i) => !reached.has(i))];
}

/** What a getelementptr adds to one pointer; null: that is not known, or it makes several. */
export function stepsOf(inst: InstWith<Op.GetElementPtr>, layout: DataLayout): GepSteps | null {
  const steps = gepSteps(layout, inst.data.elementType, inst.operands);
  return inst.type === ptr && Number.isSafeInteger(steps.bytes) ? steps : null;
}
