/** Access to the bitcode fixtures and to parts of what was read. */
import { readFileSync } from "node:fs";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import type { Inst, InstWith, Op } from "../../lto/ir/instructions.js";
import type { Alias, Func, GlobalValue, GlobalVariable, Module } from "../../lto/ir/module.js";
import type { Constant } from "../../lto/ir/values.js";

export function fixtureBytes(name: string): Uint8Array {
  return readFileSync(new URL(`../../fixtures/bitcode/${name}`, import.meta.url));
}

export function readFixture(name: string): Module {
  return readBitcode(fixtureBytes(name), name)[0]!;
}

export function named(module: Module, name: string): GlobalValue {
  const global = module.globals.find((g) => g.name === name);
  if (global === undefined) throw new Error(`no @${name}`);
  return global;
}
export const variable = (module: Module, name: string): GlobalVariable =>
  named(module, name) as GlobalVariable;
export const func = (module: Module, name: string): Func => named(module, name) as Func;
export const alias = (module: Module, name: string): Alias => named(module, name) as Alias;

export function insts(module: Module, name: string): Inst[] {
  return func(module, name)
    .view()
    .blocks.flatMap((block) => block.insts);
}

export function instsOf<O extends Op>(module: Module, name: string, op: O): InstWith<O>[] {
  return insts(module, name).filter((inst) => inst.op === op) as InstWith<O>[];
}

/** Short text of a constant, for comparing. */
export function text(constant: Constant | null): string {
  if (constant === null) return "none";
  switch (constant.valueKind) {
    case "int":
      return `${constant.type} ${constant.value}`;
    case "float":
      return `${constant.type} 0x${constant.bits.toString(16)}`;
    case "zero":
      return `${constant.type} zero`;
    case "undef":
      return `${constant.type} ${constant.poison ? "poison" : "undef"}`;
    case "aggregate":
      return `${constant.type} [${constant.elements.map(text).join(", ")}]`;
    case "data":
      return `${constant.type} ${Buffer.from(constant.bytes).toString("hex")}`;
    case "expr":
      return `${constant.type} expr ${constant.op}${constant.predicate === null ? "" : ` ${constant.predicate}`}(${constant.operands.map(text).join(", ")})`;
    case "blockaddress":
      return `block ${constant.label} of @${constant.fn.name}`;
    case "globalref":
      return `${constant.kind} @${constant.global.name}`;
    case "global":
      return `@${constant.name}`;
    default:
      return constant.valueKind;
  }
}
