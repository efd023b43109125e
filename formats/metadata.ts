/**
 * Hints as LLVM's metadata: attachments of instructions and globals, and the numbered nodes they refer to. How nodes are
 * written, as text or as bitcode, is not known here. Equal nodes are one, except those that LLVM compares by identity.
 *
 * Layouts: LLVM Language Reference, "Metadata".
 */

import type { AliasDomain, AliasScope, ScopeList } from "../lto/ir/hints/scopes.js";
import type { TbaaTag, TbaaType } from "../lto/ir/hints/tbaa.js";
import { HintFlag, type Hints, type LoopHints } from "../lto/ir/hints.js";
import type { Inst } from "../lto/ir/instructions.js";
import type { Func, GlobalValue, GlobalVariable, Module } from "../lto/ir/module.js";
import { floatType, i32, i64, type Type } from "../lto/ir/types.js";
import { ConstFloat, constBool, constInt } from "../lto/ir/values.js";

/** An operand of a node: a string, another node by its number, or a constant. */
export type NodeOperand =
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "node"; readonly node: number }
  | { readonly kind: "value"; readonly value: ReturnType<typeof constInt> | ConstFloat | Func };

export interface MetadataNode {
  /** Compared by identity; its first operand is itself. */
  readonly isDistinct: boolean;
  readonly operands: readonly NodeOperand[];
}

/** A kind of attachment, and the number of its node. */
export type Attachment = readonly [kind: string, node: number];

const string = (text: string): NodeOperand => ({ kind: "string", text });
const node = (number: number): NodeOperand => ({ kind: "node", node: number });
const int = (type: Type, value: number | bigint): NodeOperand => ({
  kind: "value",
  value: constInt(type, value),
});

export class MetadataNodes {
  /** By number; operands of a node that is no distinct one have lower numbers. */
  readonly nodes: MetadataNode[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly byObject = new Map<TbaaTag | TbaaType | AliasDomain | AliasScope, number>();
  private readonly functions = new Map<Func, number>();

  /** @param isListed whether the module has a global */
  constructor(private readonly isListed: (global: GlobalValue) => boolean) {}

  /** The number of a node of these operands. */
  node(operands: readonly NodeOperand[]): number {
    const key = operands.map((operand) => this.keyOf(operand)).join(",");
    let number = this.byKey.get(key);
    if (number === undefined) {
      number = this.nodes.length;
      this.nodes.push({ isDistinct: false, operands });
      this.byKey.set(key, number);
    }
    return number;
  }

  private keyOf(operand: NodeOperand): string {
    switch (operand.kind) {
      case "string":
        return JSON.stringify(operand.text);
      case "node":
        return `!${operand.node}`;
      case "value": {
        const { value } = operand;
        if (value.valueKind === "int") return `${value.type} ${value.value}`;
        if (value.valueKind === "float") return `${value.type} ${value.bits}`;
        let number = this.functions.get(value);
        if (number === undefined) this.functions.set(value, (number = this.functions.size));
        return `@${number}`;
      }
    }
  }

  /** The number of a node of its own, which begins with itself. */
  selfNode(operands: readonly NodeOperand[]): number {
    const number = this.nodes.length;
    this.nodes.push({ isDistinct: true, operands: [node(number), ...operands] });
    return number;
  }

  // ── Attachments ──

  /** One for each hint, in LLVM's order of kinds. */
  ofInstruction(inst: Inst, hints: Hints): Attachment[] {
    const { tbaa, weights, accuracy, range, scopes, noalias, loop, callees } = hints;
    const list: Attachment[] = [];
    const add = (kind: string, number: number): void => {
      list.push([kind, number]);
    };
    const flag = (kind: string, bit: number): void => {
      if (hints.has(bit)) add(kind, this.node([]));
    };
    const number = (kind: string, value: number): void => {
      if (value !== 0) add(kind, this.node([int(i64, value)]));
    };
    if (tbaa !== null) add("tbaa", this.tag(tbaa));
    if (weights !== null) add("prof", this.weights(weights, hints.has(HintFlag.ExpectedWeights)));
    if (accuracy !== 0) add("fpmath", this.node([{ kind: "value", value: accuracyOf(accuracy) }]));
    if (range !== null) add("range", this.node(range.map((bound) => int(inst.type.scalar, bound))));
    flag("invariant.load", HintFlag.InvariantLoad);
    if (scopes !== null) add("alias.scope", this.scopeList(scopes));
    if (noalias !== null) add("noalias", this.scopeList(noalias));
    if (hints.has(HintFlag.Nontemporal)) add("nontemporal", this.node([int(i32, 1)]));
    flag("nonnull", HintFlag.NonNull);
    number("dereferenceable", hints.dereferenceable);
    number("dereferenceable_or_null", hints.dereferenceableOrNull);
    flag("unpredictable", HintFlag.Unpredictable);
    flag("invariant.group", HintFlag.InvariantGroup);
    number("align", hints.align);
    if (loop !== null) add("llvm.loop", this.loop(loop));
    // What else may be reached cannot be said; members that have left the module cannot be reached.
    const members = callees === null || callees.open ? [] : callees.members;
    const listed = members.filter(this.isListed);
    if (listed.length > 0) add("callees", this.node(listed.map((value) => ({ kind: "value", value }))));
    flag("noundef", HintFlag.NoUndef);
    return list;
  }

  /** One for each fact of a global. */
  ofGlobal(global: Func | GlobalVariable): Attachment[] {
    const list: Attachment[] = [];
    if (global.kind === "function" && global.entryCount !== null)
      list.push(["prof", this.node([string("function_entry_count"), int(i64, global.entryCount)])]);
    for (const { offset, name } of global.typeIds)
      list.push(["type", this.node([int(i64, offset), string(name)])]);
    if (global.kind === "variable" && global.vcallVisibility !== 0)
      list.push(["vcall_visibility", this.node([int(i64, global.vcallVisibility)])]);
    return list;
  }

  /** The named nodes of a module, with the numbers of what is in them. */
  ofModule({ flags, dependentLibraries }: Module): [name: string, nodes: number[]][] {
    const list: [string, number[]][] = [];
    if (flags.length > 0)
      list.push([
        "llvm.module.flags",
        flags.map(({ behavior, key, value }) =>
          this.node([int(i32, behavior), string(key), flagValue(value)]),
        ),
      ]);
    if (dependentLibraries.length > 0)
      list.push(["llvm.dependent-libraries", dependentLibraries.map((name) => this.node([string(name)]))]);
    return list;
  }

  private weights(weights: readonly number[], expected: boolean): number {
    const wide = weights.some((weight) => weight > 0xffffffff);
    return this.node([
      string("branch_weights"),
      ...(expected ? [string("expected")] : []),
      ...weights.map((weight) => int(wide ? i64 : i32, weight)),
    ]);
  }

  private loop(loop: LoopHints): number {
    const properties: NodeOperand[] = [];
    const add = (name: string, ...rest: NodeOperand[]): void => {
      properties.push(node(this.node([string(`llvm.loop.${name}`), ...rest])));
    };
    const choice = (name: string, value: string): void => {
      if (value !== "") add(name, { kind: "value", value: constBool(value === "enable") });
    };
    if (loop.mustProgress) add("mustprogress");
    if (loop.unroll !== "") add(`unroll.${loop.unroll}`);
    if (loop.unrollCount !== 0) add("unroll.count", int(i32, loop.unrollCount));
    if (loop.noRuntimeUnroll) add("unroll.runtime.disable");
    choice("vectorize.enable", loop.vectorize);
    if (loop.vectorWidth !== 0) add("vectorize.width", int(i32, loop.vectorWidth));
    if (loop.interleave !== 0) add("interleave.count", int(i32, loop.interleave));
    if (loop.isVectorized) add("isvectorized", int(i32, 1));
    choice("distribute.enable", loop.distribute);
    return this.selfNode(properties);
  }

  // ── Types of accesses ──

  private tag(tag: TbaaTag): number {
    return this.once(tag, () =>
      this.node([
        node(this.type(tag.base)),
        node(this.type(tag.access)),
        int(i64, tag.offset),
        ...(tag.size < 0 ? [] : [int(i64, tag.size)]),
        ...(tag.constant ? [int(i64, 1)] : []),
      ]),
    );
  }

  private type(type: TbaaType): number {
    return this.once(type, () => {
      const { name, parent, size, sizes, offsets } = type;
      const members = type.members.flatMap((member, i) => [
        node(this.type(member)),
        int(i64, offsets[i]!),
        ...(sizes.length === 0 ? [] : [int(i64, sizes[i]!)]),
      ]);
      return parent === null
        ? this.node([string(name), ...members])
        : this.node([node(this.type(parent)), int(i64, size), string(name), ...members]);
    });
  }

  // ── Scopes ──

  private scopeList(list: ScopeList): number {
    return this.node(list.map((scope) => node(this.scope(scope))));
  }

  private scope(scope: AliasScope): number {
    return this.once(scope, () => this.selfNode([node(this.domain(scope.domain)), ...nameOf(scope)]));
  }

  private domain(domain: AliasDomain): number {
    return this.once(domain, () => this.selfNode(nameOf(domain)));
  }

  private once(key: TbaaTag | TbaaType | AliasDomain | AliasScope, make: () => number): number {
    let number = this.byObject.get(key);
    if (number === undefined) this.byObject.set(key, (number = make()));
    return number;
  }
}

function flagValue(value: number | string): NodeOperand {
  if (typeof value === "string") return string(value);
  return int(value >= -0x80000000 && value <= 0xffffffff ? i32 : i64, value);
}

function accuracyOf(accuracy: number): ConstFloat {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, accuracy);
  return new ConstFloat(floatType, BigInt(view.getUint32(0)));
}

const nameOf = ({ name }: AliasDomain | AliasScope): NodeOperand[] => (name === "" ? [] : [string(name)]);
