/**
 * stack-protector: a guard between the buffers of a function and what it returns to (attributes `ssp`, `sspstrong`,
 * `sspreq`).
 *
 *     %guard = alloca ptr
 *     call void @llvm.stackprotector(ptr %value, ptr %guard)          at the entry
 *     …
 *     %now = call ptr @llvm.stackguard()                              before each way out
 *     %kept = load volatile ptr, ptr %guard
 *     br (%now == %kept), %leave, %fail                               %fail: call void @__stack_chk_fail()
 *
 * Which functions have one, and where it is checked, is as in LLVM: before returns, tail calls that must be, and calls
 * that leave by an exception only. The frame pass puts the slot above all others, and arrays next to it.
 * Where the value comes from is the target's business, unless the module has it in a variable of its own
 * (`stack-protector-guard`, `-symbol`); what its flags say of it goes to the functions, as attributes of their names.
 *
 * Has to run after all that moves code between functions. What breaks it: a pass after it that forwards volatile
 * loads. Linear in the bodies of functions with the attributes.
 */
import { arrayKind, type ProtectionLevel, protectionLevel } from "../analysis/protected-arrays.js";
import { withFunctionString } from "../ir/attributes.js";
import { Builder } from "../ir/builder.js";
import { splitBlock } from "../ir/cfg-edit.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { Editor } from "../ir/editor.js";
import { UnsupportedError } from "../ir/errors.js";
import { Block, type BodyView, Flag, type Inst, Op } from "../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../ir/intrinsics.js";
import { type Func, type GlobalValue, GlobalVariable, type Module } from "../ir/module.js";
import { functionType, pointerType, ptr, type Type, voidType } from "../ir/types.js";
import type { Value } from "../ir/values.js";
import type { ModulePass } from "../pass/pass.js";
import { plainCall, runtimeFunction } from "./runtime-function.js";

/** The value and the functions that deal with it. */
interface Runtime {
  /** A variable that holds the value; null: the target knows where it is. */
  readonly variable: GlobalValue | null;
  readonly guard: GlobalValue;
  readonly protector: GlobalValue;
  readonly fail: GlobalValue;
}

const guardType = functionType(ptr, []);
const protectorType = functionType(voidType, [ptr, ptr]);
const failType = functionType(voidType, []);

function makeRuntime(module: Module): Runtime {
  return {
    variable: guardVariable(module),
    guard: runtimeFunction(module, "llvm.stackguard", guardType, []),
    protector: runtimeFunction(module, "llvm.stackprotector", protectorType, []),
    fail: runtimeFunction(module, "__stack_chk_fail", failType, ["noreturn", "nounwind"]),
  };
}

/** Address spaces of what lies relative to a segment's base (LLVM's X86 back end). */
const segmentSpaces: Readonly<Record<string, number>> = { gs: 256, fs: 257 };

/** The variable that holds the value, if the module names one: in memory, or relative to a segment. */
function guardVariable(module: Module): GlobalValue | null {
  const named = (name: string, type: Type): GlobalValue => {
    const known = module.globals.find((global) => global.name === name);
    if (known !== undefined) return known;
    const variable = new GlobalVariable(name, ptr, type);
    module.globals.push(variable);
    return variable;
  };
  if (module.flag("stack-protector-guard") === "global") return named("__stack_chk_guard", ptr);
  const symbol = module.flag("stack-protector-guard-symbol");
  if (symbol === undefined) return null;
  // In the kernel's code model it is found as the kernel has it.
  const usual = Number(module.flag("Code Model") ?? 1) === 2 ? "gs" : "fs";
  const space = segmentSpaces[String(module.flag("stack-protector-guard-reg") ?? usual)];
  const variable = space === undefined ? null : named(String(symbol), pointerType(space));
  if (variable?.type.addressSpace !== space || variable?.threadLocal !== "none")
    throw new UnsupportedError(`stack-protector-guard-symbol ${symbol} that is not relative to fs or gs`);
  return variable;
}

/** Whether some use of a variable's address, `room` bytes before the variable's end, is more than a plain access. */
function escapes(editor: Editor, pointer: Inst, room: number, layout: DataLayout, seen: Set<Inst>): boolean {
  const tooWide = (type: Value["type"]): boolean => layout.storeSize(type) > room;
  for (const user of editor.users(pointer)) {
    switch (user.op) {
      case Op.Load:
        if (tooWide(user.type)) return true;
        break;
      case Op.Store:
        if (user.operands[0] === pointer || tooWide(user.operands[0]!.type)) return true;
        break;
      case Op.CmpXchg:
      case Op.AtomicRMW:
        if (user.operands.indexOf(pointer, 1) >= 0 || tooWide(user.operands[1]!.type)) return true;
        break;
      case Op.Call: {
        const intrinsic = intrinsicOf(user.operands[0]!);
        const marks = intrinsic === intrinsics["lifetime.start"] || intrinsic === intrinsics["lifetime.end"];
        if (!marks) return true;
        break;
      }
      case Op.GetElementPtr: {
        const offset = constantOffset(user, layout);
        if (offset === null || offset < 0 || offset >= room) return true;
        if (escapes(editor, user, room - offset, layout, seen)) return true;
        break;
      }
      case Op.Phi:
        if (seen.has(user)) break;
        seen.add(user);
        if (escapes(editor, user, room, layout, seen)) return true;
        break;
      case Op.Select:
      case Op.BitCast:
      case Op.AddrSpaceCast:
        if (escapes(editor, user, room, layout, seen)) return true;
        break;
      case Op.ICmp:
      case Op.Ret:
        break;
      default:
        return true;
    }
  }
  return false;
}

/** Bytes that a `getelementptr` with constant indices adds; null for others. */
function constantOffset(gep: Extract<Inst, { op: Op.GetElementPtr }>, layout: DataLayout): number | null {
  let type = gep.data.elementType;
  let offset = 0;
  for (let i = 1; i < gep.operands.length; i++) {
    const index = gep.operands[i]!;
    if (index.valueKind !== "int") return null;
    const number = Number(BigInt.asIntN(64, index.value));
    if (i === 1) offset += number * layout.allocSize(type);
    else {
      offset += layout.elementOffset(type, number);
      type = type.kind === "struct" ? type.elements[number]! : type.element;
    }
  }
  return offset;
}

const allocationsOf = (body: BodyView) =>
  body.blocks.flatMap((block) => block.insts.filter((inst) => inst.op === Op.Alloca));

/** A module that was written after this pass has its guards. */
const isProtector = (inst: Inst): boolean =>
  inst.op === Op.Call && intrinsicOf(inst.operands[0]!) === intrinsics.stackprotector;

/** Whether any variable of the function asks for a guard that it does not have yet. */
function needsGuard(fn: Func, level: ProtectionLevel, layout: DataLayout): boolean {
  if (fn.view().blocks.some((block) => block.insts.some(isProtector))) return false;
  if (fn.attributes.fn.has("sspreq")) return true;
  const allocations = allocationsOf(fn.view());
  if (allocations.some((alloca) => arrayKind(alloca, layout, level) !== "none")) return true;
  if (!level.strong || allocations.length === 0) return false;
  const editor = fn.edit();
  return allocations.some((alloca) =>
    escapes(editor, alloca, layout.allocSize(alloca.data.allocatedType), layout, new Set()),
  );
}

/** Instructions before which the guard is checked. */
function waysOut(body: BodyView): Inst[] {
  const ways: Inst[] = [];
  for (const { insts } of body.blocks) {
    const last = insts[insts.length - 1]!;
    if (last.op === Op.Ret) ways.push(mustTailBefore(insts) ?? last);
    else {
      const leaving = insts.find(leavesByException);
      if (leaving !== undefined) ways.push(leaving);
    }
  }
  return ways;
}

/** The `musttail` call that a block ends with before its return. */
function mustTailBefore(insts: readonly Inst[]): Inst | null {
  const call = insts[insts.length - 2];
  return call?.op === Op.Call && call.data.tail === "musttail" ? call : null;
}

function leavesByException(inst: Inst): boolean {
  if (inst.op !== Op.Call && inst.op !== Op.Invoke) return false;
  const callee = inst.operands[0]!;
  const has = (name: string): boolean =>
    inst.data.attributes.fn.has(name) ||
    (callee.valueKind === "global" && callee.kind === "function" && callee.attributes.fn.has(name));
  return has("noreturn") && !has("nounwind");
}

function protect(fn: Func, runtime: Runtime): void {
  const editor = fn.edit();
  const ways = waysOut(editor.body);
  const builder = new Builder(editor);
  const value = (): Value =>
    runtime.variable !== null
      ? builder.load(ptr, runtime.variable, 8, Flag.Volatile)
      : builder.call(runtime.guard, [], plainCall(guardType));
  builder.before(editor.body.blocks[0]!.insts[0]!);
  const slot = builder.alloca(ptr, 8);
  builder.call(runtime.protector, [value(), slot], plainCall(protectorType));
  if (ways.length === 0) return;
  const fail = editor.addBlock(new Block());
  builder.atEnd(fail).call(runtime.fail, [], plainCall(failType, ["noreturn", "nounwind"]));
  builder.unreachable();
  for (const way of ways) {
    const before = way.parent!;
    const rest = splitBlock(editor, way);
    builder.before(before.terminator);
    const now = value();
    const kept = builder.load(ptr, slot, 8, Flag.Volatile);
    const same = builder.icmp("eq", now, kept);
    editor.erase(before.terminator);
    builder.atEnd(before).condBr(same, rest, fail);
  }
}

/** Flags that say where the target finds the value. */
const placeFlags = [
  "stack-protector-guard",
  "stack-protector-guard-reg",
  "stack-protector-guard-offset",
  "stack-protector-guard-symbol",
];

export const stackProtector: ModulePass = {
  name: "stack-protector",
  level: "module",
  description: "checks a guard after the buffers of functions whose attributes ask for it",
  counters: { protected: "functions with a guard" },
  requires: [],
  preserves: [],
  run(module, context) {
    let runtime: Runtime | null = null;
    for (const fn of module.functions) {
      if (fn.isDeclaration || fn.linkage === "available_externally") continue;
      const attributes = fn.attributes.fn;
      const level = protectionLevel(attributes);
      if (level === null || attributes.has("naked") || !needsGuard(fn, level, module.dataLayout)) continue;
      runtime ??= makeRuntime(module);
      protect(fn, runtime);
      for (const key of placeFlags) {
        const value = module.flag(key);
        if (value !== undefined) fn.attributes = withFunctionString(fn.attributes, key, String(value));
      }
      context.count("protected");
    }
    return runtime !== null;
  },
};
