/**
 * Which globals constants and bodies mention.
 *
 * A body's mentions are split into direct calls and everything else, because only the latter let an address
 * escape. Linear in the operands; constants shared between operands are walked once per body.
 */

import type { BodyView } from "../ir/instructions.js";
import { isCall, Op } from "../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../ir/module.js";
import { returnsTwice } from "../ir/returns-twice.js";
import type { Constant } from "../ir/values.js";

/**
 * Calls `visit` for each global that a constant mentions, more than once when it is mentioned so.
 * @param seen composite constants already walked, which are skipped
 */
export function visitGlobals(
  constant: Constant,
  visit: (global: GlobalValue) => void,
  seen: Set<Constant> = new Set(),
): void {
  const stack = [constant];
  for (let item = stack.pop(); item !== undefined; item = stack.pop())
    switch (item.valueKind) {
      case "global":
        visit(item);
        break;
      case "aggregate":
      case "expr": {
        if (seen.has(item)) break;
        seen.add(item);
        const parts = item.valueKind === "aggregate" ? item.elements : item.operands;
        // Reversed, so that globals are visited in the order in which they are written.
        for (let i = parts.length - 1; i >= 0; i--) stack.push(parts[i]!);
        break;
      }
      case "blockaddress":
        if (!item.fn.hasDropped(item.label)) visit(item.fn);
        break;
      case "globalref":
        visit(item.global);
        break;
    }
}

/** Visits what a global mentions outside of a body: its initialiser, aliasee, resolver, personality, … */
export function visitOwnConstants(global: GlobalValue, visit: (constant: Constant) => void): void {
  switch (global.kind) {
    case "variable":
      if (global.initializer !== null) visit(global.initializer);
      break;
    case "alias":
      visit(global.aliasee);
      break;
    case "ifunc":
      visit(global.resolver);
      break;
    case "function":
      if (global.prefix !== null) visit(global.prefix);
      if (global.prologue !== null) visit(global.prologue);
      if (global.personality !== null) visit(global.personality);
      break;
  }
}

/** The distinct globals that a global mentions outside of a body, in order of first mention. */
export function ownReferences(global: GlobalValue): Set<GlobalValue> {
  const found = new Set<GlobalValue>();
  const seen = new Set<Constant>();
  visitOwnConstants(global, (constant) => visitGlobals(constant, (g) => found.add(g), seen));
  return found;
}

/** The function or variable that an alias, or a constant address, lies in; null when there is none. */
export function baseObject(constant: Constant): GlobalValue | null {
  let current: Constant = constant;
  // An alias cycle is malformed; the bound keeps it from hanging.
  for (let steps = 0; steps < 1000; steps++)
    switch (current.valueKind) {
      case "global":
        if (current.kind !== "alias") return current;
        current = current.aliasee;
        break;
      case "expr": {
        const next: Constant | undefined = current.operands.find((o) => baseIsPossible(o));
        if (next === undefined) return null;
        current = next;
        break;
      }
      case "globalref":
        return current.global;
      default:
        return null;
    }
  return null;
}

const baseIsPossible = (constant: Constant): boolean =>
  constant.valueKind === "global" || constant.valueKind === "expr" || constant.valueKind === "globalref";

/** Facts about a body that passes between functions ask for. Bits of `SymbolSummary.traits`. */
export const Trait = {
  /** Calls through a pointer. */
  IndirectCalls: 1 << 0,
  /** Contains inline assembly, or is naked. */
  InlineAsm: 1 << 1,
  /** Calls a function that may return twice (setjmp). */
  ReturnsTwice: 1 << 2,
  /** Takes variable arguments. */
  VarArg: 1 << 3,
  /** Has a block whose address is taken. */
  BlockAddress: 1 << 4,
  /** Has a call that must be or may be a tail call. */
  TailCalls: 1 << 5,
  /** Has an invoke or a landing pad. */
  Exceptions: 1 << 6,
} as const;

export interface BodyFacts {
  /** Distinct globals called directly. */
  readonly calls: Set<GlobalValue>;
  /** Distinct globals mentioned in any other way, also those of personality, prefix and prologue. */
  readonly references: Set<GlobalValue>;
  readonly instructions: number;
  readonly traits: number;
  /** Templates of its inline assembly, a line each; they may mention globals by name. */
  readonly assembly: string;
}

/** Scans a decoded body. */
export function scanBody(fn: Func, body: BodyView): BodyFacts {
  const calls = new Set<GlobalValue>();
  const references = ownReferences(fn);
  const seen = new Set<Constant>();
  const refer = (global: GlobalValue): void => {
    references.add(global);
  };
  let instructions = 0;
  let traits = 0;
  let assembly = "";
  if (fn.valueType.isVarArg) traits |= Trait.VarArg;
  if (fn.attributes.fn.has("naked")) traits |= Trait.InlineAsm;
  for (const block of body.blocks) {
    if (block.addressTaken) traits |= Trait.BlockAddress;
    instructions += block.insts.length;
    for (const inst of block.insts) {
      const { operands } = inst;
      let first = 0;
      if (isCall(inst)) {
        first = 1;
        const callee = operands[0]!;
        if (callee.valueKind === "global") calls.add(callee);
        else if (callee.valueKind === "asm") {
          traits |= Trait.InlineAsm;
          // Nobody here tells names from registers in that: whatever has a name counts as mentioned.
          assembly += `${callee.intelDialect ? ".intel_syntax\n" : ""}${callee.template}\n`;
        } else {
          first = 0;
          traits |= Trait.IndirectCalls;
        }
        if (returnsTwice(inst)) traits |= Trait.ReturnsTwice;
        if (inst.data.tail === "tail" || inst.data.tail === "musttail") traits |= Trait.TailCalls;
        if (inst.op === Op.Invoke) traits |= Trait.Exceptions;
      }
      for (let i = first; i < operands.length; i++) {
        const operand = operands[i]!;
        switch (operand.valueKind) {
          case "global":
            references.add(operand);
            break;
          case "expr":
          case "aggregate":
          case "blockaddress":
          case "globalref":
            visitGlobals(operand, refer, seen);
            break;
        }
      }
    }
  }
  return { calls, references, instructions, traits, assembly };
}

/** What `llvm.used` lists: the linker must keep it although nothing mentions it. */
export function retainedIn({ globals }: Pick<Module, "globals">): ReadonlySet<GlobalValue> {
  const used = globals.find((global) => global.name === "llvm.used");
  if (used?.kind !== "variable" || used.initializer?.valueKind !== "aggregate") return new Set();
  return new Set(used.initializer.elements.flatMap((element) => baseObject(element) ?? []));
}
