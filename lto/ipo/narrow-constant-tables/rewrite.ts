/** Changes tables that shrink, and all that leads into them or loads from them. */
import { AttributeList } from "../../ir/attributes.js";
import { Builder } from "../../ir/builder.js";
import type { Editor } from "../../ir/editor.js";
import { foldGep } from "../../ir/fold/addresses.js";
import { withHints } from "../../ir/hints.js";
import {
  type BodyView,
  type CallInst,
  type Inst,
  type InstWith,
  isCall,
  Op,
  setCallData,
} from "../../ir/instructions.js";
import type { Func, GlobalVariable } from "../../ir/module.js";
import { arrayType, i8, i64, ptr, type Type } from "../../ir/types.js";
import {
  type Constant,
  ConstExpr,
  constI64,
  constInt,
  isConstant,
  type Value,
  zeroOf,
} from "../../ir/values.js";
import { withOnly } from "../parameter-attributes.js";
import { type Places, type PointerFlow, stepsOf } from "./flow.js";
import type { Extension, Narrowing } from "./narrowing.js";
import { PointerMaker } from "./pointers.js";
import { NewShape } from "./shape.js";
import type { Place, Table } from "./tables.js";

const noClaims = { align: 0, dereferenceable: 0, dereferenceableOrNull: 0 };
/** What may still be said of a pointer into a table: nothing of where it is, and how far it can be followed. */
const kept = new Set([
  "noundef",
  "noalias",
  "nonnull",
  "readonly",
  "readnone",
  "nofree",
  "captures",
  "returned",
]);

export class Rewriter {
  /**
   * @param narrowings by leader
   * @param placesIn where the values of a body point
   */
  constructor(
    private readonly flow: PointerFlow,
    private readonly narrowings: ReadonlyMap<Table, Narrowing>,
    private readonly placesIn: (fn: Func, body: BodyView) => Places,
  ) {}

  /** @param done what to do with each function after the last change of its body */
  run(users: readonly Func[], done: (fn: Func) => void): void {
    for (const fn of users) {
      this.body(fn);
      done(fn);
    }
    for (const fn of users) fn.attributes = this.withoutClaims(fn.attributes, fn);
    for (const [variable, table] of this.flow.tables) if (!table.isUnsafe) this.variable(variable, table);
  }

  private of(at: Place | null): Narrowing | null {
    return at === null ? null : (this.narrowings.get(at.table.leader) ?? null);
  }

  private variable(variable: GlobalVariable, { leader }: Table): void {
    const narrowing = this.narrowings.get(leader);
    const { fields } = leader.shape;
    // Those that stay may point into those that change.
    if (narrowing === undefined && leader.facts.every(({ content }) => this.of(content) === null)) return;
    const types = narrowing?.shape.types ?? fields.map(({ type }) => type);
    const shape = narrowing?.shape ?? new NewShape(leader.shape, types, false, this.flow.dataLayout);
    const initializer = shape.rebuilt(variable.initializer!, (field, old, at) => {
      const place = { variable, at };
      return narrowed(this.constant(old), types[field]!, narrowing?.extensions[field] ?? null, place);
    });
    variable.retype(shape.typeOf(variable.valueType), initializer);
    if (narrowing !== undefined) variable.align = shape.align;
  }

  /** Where an address in a table is now; all other constants are what they were. */
  private constant(value: Constant): Constant {
    const at = this.flow.placeOf(value);
    const narrowing = at === null ? undefined : this.narrowings.get(at.table.leader);
    if (at === null || narrowing === undefined || at.offset === 0) return value;
    const offset = constI64(narrowing.shape.moved(at.offset));
    return foldGep(this.flow.dataLayout, ptr, i8, [at.variable, offset], 0)!;
  }

  private body(fn: Func): void {
    const view = fn.view();
    const places = this.placesIn(fn, view);
    // Where all of them point is asked before any is changed.
    const concerned: {
      readonly inst: Inst;
      readonly at: Place | null;
      readonly content: Narrowing | null;
    }[] = [];
    for (const { insts } of view.blocks)
      for (const inst of insts)
        if (this.concerns(inst, places)) {
          const isAccess = inst.op === Op.Load || inst.op === Op.GetElementPtr;
          const at = isAccess ? this.flow.pointerOf(inst.operands[0]!, places) : null;
          concerned.push({ inst, at, content: this.of(places.get(inst) ?? null) });
        }
    if (concerned.length === 0) return;
    const editor = fn.edit();
    const pointers = new PointerMaker(editor);
    // All before any instruction goes: in place of it may come a constant that was moved already.
    for (const { inst } of concerned)
      inst.operands.forEach((operand, i) => {
        if (isConstant(operand)) editor.setOperand(inst, i, this.constant(operand));
      });
    for (const { inst, at, content } of concerned) this.instruction(inst, at, content, editor, pointers);
  }

  private concerns(inst: Inst, places: Places): boolean {
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      // No other values lead into tables; constants may mention them.
      if (operand.type !== ptr && !isConstant(operand)) continue;
      if (this.of(this.flow.pointerOf(operand, places)) !== null) return true;
    }
    return (isCall(inst) || inst.op === Op.Load) && this.of(places.get(inst) ?? null) !== null;
  }

  private instruction(
    inst: Inst,
    at: Place | null,
    content: Narrowing | null,
    editor: Editor,
    pointers: PointerMaker,
  ): void {
    if (isCall(inst)) this.call(inst);
    // What it points to is smaller, and not aligned as it was.
    if (inst.op === Op.Load && content !== null) inst.hints = withHints(inst.hints, noClaims);
    const narrowing = this.of(at);
    if (at === null || narrowing === null) return;
    if (inst.op === Op.Load) this.load(inst, editor, at, narrowing, pointers);
    else if (inst.op === Op.GetElementPtr) this.step(inst, editor, at, narrowing);
  }

  private call(call: CallInst): void {
    const callee = this.flow.calleeOf(call);
    if (callee !== null)
      setCallData(call, { ...call.data, attributes: this.withoutClaims(call.data.attributes, callee) });
  }

  private step(
    inst: InstWith<Op.GetElementPtr>,
    editor: Editor,
    { place }: Place,
    { shape }: Narrowing,
  ): void {
    const { bytes, scales } = stepsOf(inst, this.flow.dataLayout)!;
    const builder = new Builder(editor).before(inst);
    let address = inst.operands[0]!;
    const rest = shape.moved(place + bytes) - shape.moved(place);
    // On the way of several steps it may be outside, since their order is another one.
    const flags = scales.length + Number(rest !== 0) > 1 ? 0 : inst.flags;
    for (const { index, bytes: scale } of scales) {
      const element = (scale / shape.old.period) * shape.period;
      address = builder.gep(element === 1 ? i8 : arrayType(element, i8), address, [index], flags);
    }
    address = builder.byteOffset(address, rest, flags);
    editor.replace(inst, address);
  }

  private load(
    inst: InstWith<Op.Load>,
    editor: Editor,
    { table, place }: Place,
    { shape, extensions }: Narrowing,
    pointers: PointerMaker,
  ): void {
    const field = table.shape.fieldAt(place);
    const extension = extensions[field]!;
    const builder = new Builder(editor).before(inst);
    const [address] = inst.operands as [Value];
    const align = Math.min(inst.data.align, shape.alignOf(field));
    if (extension === null) {
      const load = builder.load(inst.type, address, align, inst.flags);
      load.hints = inst.hints;
      editor.replace(inst, load);
      return;
    }
    const load = builder.load(shape.types[field]!, address, align);
    if (extension === Op.ZExt || extension === Op.SExt) {
      editor.replace(inst, builder.cast(extension, load, inst.type));
      return;
    }
    pointers.replace(inst, load, address, extension);
  }

  /** What is said of a function's parameters and result, or by a call of it. */
  private withoutClaims(attributes: AttributeList, fn: Func): AttributeList {
    const isMoved = (index: number): boolean => {
      const argument = fn.args[index];
      return argument !== undefined && this.of(this.flow.parameters.get(argument) ?? null) !== null;
    };
    const result =
      this.of(this.flow.results.get(fn) ?? null) === null
        ? attributes.result
        : withOnly(attributes.result, kept);
    const parameters = attributes.parameters.map((said, index) =>
      isMoved(index) ? withOnly(said, kept) : said,
    );
    return new AttributeList(attributes.fn, result, parameters);
  }
}

/** A field's value in its new type, and where it is: so many bytes into a variable. */
function narrowed(
  value: Constant,
  type: Type,
  extension: Extension,
  { variable, at }: { readonly variable: GlobalVariable; readonly at: number },
): Constant {
  if (extension === null) return type.kind === "array" && type.count === 0 ? zeroOf(type) : value;
  if (value.valueKind === "int") return constInt(type, value.value);
  if (value.valueKind === "zero" || value.valueKind === "undef") return zeroOf(type);
  const address = new ConstExpr(i64, Op.PtrToInt, [value]);
  if (extension === "low") return new ConstExpr(type, Op.Trunc, [address]);
  const place = new ConstExpr(ptr, Op.GetElementPtr, [variable, constI64(at)], 0, i8);
  const distance = new ConstExpr(i64, Op.Sub, [address, new ConstExpr(i64, Op.PtrToInt, [place])]);
  return new ConstExpr(type, Op.Trunc, [distance]);
}
