/**
 * What rules on library calls share: which calls are ones of the C library, what constant strings say, and making calls of
 * other functions of it.
 *
 * A call is the library's where LLVM takes it for that: a direct call of a function that the program declares and does not
 * define, under its name and with its exact prototype, and nothing says that it may be another (`nobuiltin` on the call,
 * `no-builtins` or `no-builtin-NAME` on the caller).
 */
import type { BlockTimes } from "../../analysis/function-times.js";
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import { Builder } from "../../ir/builder.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Editor } from "../../ir/editor.js";
import { placeOf } from "../../ir/fold/addresses.js";
import { readBytes } from "../../ir/fold/bits.js";
import { hasFixedContents } from "../../ir/fold/load.js";
import { type CallData, type CallInst, type InstWith, Op } from "../../ir/instructions.js";
import { Func, type GlobalValue, GlobalVariable, type Module } from "../../ir/module.js";
import {
  arrayType,
  doubleType,
  floatType,
  functionType,
  i1,
  i8,
  i32,
  i64,
  intType,
  ptr,
  type Type,
  voidType,
} from "../../ir/types.js";
import { ConstData, constBool, constInt, isConstant, type Value } from "../../ir/values.js";
import { isBuiltinCall, neverUnwinds } from "../../opt/call-effects.js";
import type { Goal } from "../../pass/pass.js";
import type { CallCosts } from "../../target/calls.js";

/** A call that is what rules look at. */
export type LibraryCall = InstWith<Op.Call>;
/** Makes what takes the place of a call, before it. @returns its result; null where nothing uses that */
export type Change = (make: Maker) => Value | null;
/** What a call becomes, or null: what it is. Looks only. */
export type Rule = (call: LibraryCall, context: RuleContext) => Change | null;

/** The module's globals by name, also those that other passes add meanwhile. */
export class Names {
  private readonly byName = new Map<string, GlobalValue>();
  private seen = 0;
  /** Globals that were added through this. */
  added = 0;

  constructor(private readonly module: Module) {}

  find(name: string): GlobalValue | undefined {
    const { globals } = this.module;
    if (globals.length < this.seen) {
      this.byName.clear();
      this.seen = 0;
    }
    for (; this.seen < globals.length; this.seen++) {
      const global = globals[this.seen]!;
      this.byName.set(global.name, global);
    }
    return this.byName.get(name);
  }
  add(global: GlobalValue): void {
    this.module.globals.push(global);
    if (!global.isDeclaration) this.module.origins?.recordMade(global, "libcalls", []);
    this.added++;
  }
}

/** p pointer, i int, l long and size_t (as wide as a pointer), L long long, d double, f float, v void. */
const letters: Readonly<Record<string, Type>> = {
  p: ptr,
  i: i32,
  L: i64,
  d: doubleType,
  f: floatType,
  v: voidType,
};

/** C's `size_t`, and its `long`: of the data models there are, LP64 and ILP32. */
const sizeType = (layout: DataLayout): Type => intType(layout.bitWidth(ptr));

/** A function type by letters: the result's first; `.` at the end for variable arguments. */
export function prototype(spelling: string, layout: DataLayout): Type {
  const isVariadic = spelling.endsWith(".");
  const types = [...(isVariadic ? spelling.slice(0, -1) : spelling)].map((letter) => {
    const type = letter === "l" ? sizeType(layout) : letters[letter];
    if (type === undefined) throw new Error(`no type '${letter}'`);
    return type;
  });
  return functionType(types[0]!, types.slice(1), isVariadic);
}

/** Types of functions that rules make calls of. */
const signatures = {
  puts: "ip",
  putchar: "ii",
  fputs: "ipp",
  fputc: "iip",
  fwrite: "lpllp",
  strcpy: "ppp",
  strlen: "lp",
  malloc: "pl",
} as const;
export type Emitted = keyof typeof signatures;

/** Longer strings are not looked into. */
const longestString = 1 << 16;

/** What rules may ask. */
export class RuleContext {
  goal: Goal = "speed";
  private caller: Func | null = null;
  /** Numbers of the caller's instructions whose results are used; made when first asked for. */
  private used: Uint8Array | null = null;
  /** What was answered for the caller, in which blocks may be split since. */
  private readonly worths = new Map<LibraryCall, number>();

  /** @param times what time is worth in code for size; null: nothing */
  constructor(
    readonly layout: DataLayout,
    private readonly names: Names,
    readonly costs: CallCosts,
    private readonly times: BlockTimes | null,
  ) {}

  /** A number as `size_t`. */
  size(value: number): Value {
    return constInt(sizeType(this.layout), value);
  }
  /** Begins with another function. */
  enter(caller: Func, goal: Goal): void {
    this.caller = caller;
    this.goal = goal;
    this.used = null;
    this.worths.clear();
    this.times?.forget();
  }
  /** Bytes that code for size may take so that so many instructions are executed less where the call is. */
  timeBytes(call: LibraryCall, instructions: number): number {
    if (this.times === null) return 0;
    let worth = this.worths.get(call);
    if (worth === undefined) {
      this.caller!.view().renumber();
      this.worths.set(call, (worth = this.times.bytes(this.caller!, call.parent!, 1)));
    }
    return worth * instructions;
  }
  /** Shorter before faster. */
  get isSmall(): boolean {
    return this.goal === "minsize";
  }

  /** Of a root, and the question whether it is a number; null: roots are no instructions. */
  get rootBytes(): number | null {
    return this.costs.rootBytes;
  }

  /** Whether something reads the call's result. */
  isUsed(call: LibraryCall): boolean {
    if (this.used === null) {
      const body = this.caller!.view();
      const used = new Uint8Array(body.renumber());
      for (const { insts } of body.blocks)
        for (let i = 0; i < insts.length; i++)
          for (const operand of insts[i]!.operands) if (operand.valueKind === "inst") used[operand.id] = 1;
      this.used = used;
    }
    return this.used[call.id] === 1;
  }

  /** Whether the caller may get calls of this function: nothing else has its name, and it is not excluded there. */
  mayCall(name: Emitted): boolean {
    const type = prototype(signatures[name], this.layout);
    const { strings } = this.caller!.attributes.fn;
    if (strings.has(`no-builtin-${name}`)) return false;
    const known = this.names.find(name);
    return (
      known === undefined ||
      (known.kind === "function" && known.isDeclaration && known.valueType === type && !known.isLocal)
    );
  }

  /** The bytes from a constant address to the end of the variable, or null. */
  bytesAt(address: Value): Uint8Array | null {
    if (!isConstant(address) || address.type.kind !== "ptr") return null;
    const { base, offset } = placeOf(this.layout, address);
    if (base?.valueKind !== "global" || base.kind !== "variable" || !hasFixedContents(base)) return null;
    const size = this.layout.allocSize(base.valueType) - Number(offset);
    if (offset < 0n || size <= 0) return null;
    const bytes = new Uint8Array(Math.min(size, longestString));
    return readBytes(this.layout, base.initializer!, Number(offset), bytes) ? bytes : null;
  }
  /** The string at a constant address, without its end; null where it is not known, or has none. */
  stringAt(address: Value): Uint8Array | null {
    const bytes = this.bytesAt(address);
    const end = bytes === null ? -1 : bytes.indexOf(0);
    return end < 0 ? null : bytes!.subarray(0, end);
  }
}

/** Makes instructions before the call that they replace. */
export class Maker {
  readonly build: Builder;

  constructor(
    private readonly names: Names,
    private readonly context: RuleContext,
    readonly editor: Editor,
    private readonly call: LibraryCall,
  ) {
    this.build = new Builder(editor).before(call);
  }

  /** A call of a library function, on the terms of the one that it replaces. */
  library(name: Emitted, args: readonly Value[]): Value {
    const type = prototype(signatures[name], this.context.layout);
    const fn = this.named(name, type, ["nounwind"]);
    const kinds = neverUnwinds(this.call) ? new Map([["nounwind", true as const]]) : new Map();
    const { tail } = this.call.data;
    const { signExtendsWords } = this.context.costs;
    const parameters = type.parameters.map(({ kind, bits }) =>
      signExtendsWords && kind === "int" && bits === 32 ? signExtended : noAttributes,
    );
    return this.build.call(fn, args, {
      ...callOf(type),
      attributes: new AttributeList(new AttributeSet(kinds, new Map()), noAttributes, parameters),
      tail,
    });
  }
  /** `llvm.memcpy` and its like of so many bytes. */
  transfer(kind: "memcpy" | "memmove", to: Value, from: Value, length: Value | number): void {
    const size = typeof length === "number" ? this.context.size(length) : length;
    const type = functionType(voidType, [ptr, ptr, size.type, i1]);
    const fn = this.named(`llvm.${kind}.p0.p0.${size.type}`, type, []);
    this.build.call(fn, [to, from, size, constBool(false)], callOf(type));
  }
  /** `llvm.abs`, undefined where the result has no place. */
  absolute(value: Value): Value {
    const type = functionType(value.type, [value.type, i1]);
    const fn = this.named(`llvm.abs.${value.type}`, type, []);
    return this.build.call(fn, [value, constBool(true)], callOf(type));
  }
  /** `llvm.sqrt`. */
  squareRoot(value: Value, flags: number): Value {
    const { type } = value;
    const signature = functionType(type, [type]);
    const fn = this.named(`llvm.sqrt.${type.kind === "float" ? "f32" : "f64"}`, signature, []);
    return this.build.call(fn, [value], callOf(signature), flags);
  }
  fill(to: Value, byte: Value, length: Value): void {
    const type = functionType(voidType, [ptr, i8, length.type, i1]);
    this.build.call(
      this.named(`llvm.memset.p0.${length.type}`, type, []),
      [to, byte, length, constBool(false)],
      callOf(type),
    );
  }
  /** The address of a constant string, to which an end is added. */
  string(bytes: Uint8Array): Value {
    const type = arrayType(bytes.length + 1, i8);
    const data = new Uint8Array(bytes.length + 1);
    data.set(bytes);
    let name = ".str.out";
    for (let n = 1; this.names.find(name) !== undefined; n++) name = `.str.out.${n}`;
    const variable = new GlobalVariable(name, type, ptr);
    variable.linkage = "private";
    variable.dsoLocal = true;
    variable.unnamedAddr = "global";
    variable.isConstant = true;
    variable.align = 1;
    variable.initializer = new ConstData(type, data);
    this.names.add(variable);
    return variable;
  }

  private named(name: string, type: Type, attributes: readonly string[]): GlobalValue {
    const known = this.names.find(name);
    if (known !== undefined) return known;
    const fn = new Func(name, type);
    fn.attributes = new AttributeList(
      new AttributeSet(new Map(attributes.map((attribute) => [attribute, true])), new Map()),
      noAttributes,
      [],
    );
    this.names.add(fn);
    return fn;
  }
}

const signExtended = new AttributeSet(new Map([["signext", true as const]]), new Map());

const callOf = (type: Type): CallData => ({
  functionType: type,
  callingConvention: 0,
  attributes: new AttributeList(noAttributes, noAttributes, []),
  tail: "",
  argumentCount: type.parameters.length,
  bundles: [],
});

/** Whether a call is one of the function of the C library that its callee is named after. */
export function isLibraryCall(call: CallInst, callee: Func, caller: Func): call is LibraryCall {
  const { callingConvention, functionType: type } = call.data;
  if (call.op !== Op.Call || callingConvention !== 0 || type !== callee.valueType) return false;
  return !call.data.attributes.fn.has("strictfp") && isBuiltinCall(call, callee, caller);
}
