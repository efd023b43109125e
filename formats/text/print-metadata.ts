/**
 * Hints as LLVM's metadata: attachments of instructions and globals, and the numbered nodes they refer to, which stand
 * at the end of the module. Equal nodes are one, except those that LLVM compares by identity.
 */

import type { AliasDomain, AliasScope, ScopeList } from "../../lto/ir/hints/scopes.js";
import type { TbaaTag, TbaaType } from "../../lto/ir/hints/tbaa.js";
import { HintFlag, type Hints, type LoopHints } from "../../lto/ir/hints.js";
import type { Inst } from "../../lto/ir/instructions.js";
import type { Func, GlobalVariable } from "../../lto/ir/module.js";
import { floatType } from "../../lto/ir/types.js";
import { escapeText } from "./escape.js";
import { formatFloat } from "./float-text.js";
import type { Names } from "./print-constants.js";

const quoted = (text: string): string => `!"${escapeText(text)}"`;

export class MetadataNodes {
  private readonly texts: string[] = [];
  private readonly byText = new Map<string, string>();
  private readonly byObject = new Map<TbaaTag | TbaaType | AliasDomain | AliasScope, string>();

  /** `!N` of a node of these operands. */
  node(operands: readonly string[]): string {
    const text = `!{${operands.join(", ")}}`;
    let name = this.byText.get(text);
    if (name === undefined) {
      name = `!${this.texts.length}`;
      this.texts.push(text);
      this.byText.set(text, name);
    }
    return name;
  }

  /** `!N` of a node of its own, which begins with itself. */
  private selfNode(operands: readonly string[]): string {
    const name = `!${this.texts.length}`;
    this.texts.push(`distinct !{${[name, ...operands].join(", ")}}`);
    return name;
  }

  /** `!N = …` of all nodes. */
  lines(): string[] {
    return this.texts.map((text, i) => `!${i} = ${text}`);
  }

  // ── Attachments ──

  /** `, !kind !N` for each hint, in LLVM's order of kinds. */
  ofInstruction(inst: Inst, hints: Hints, names: Names): string {
    const { tbaa, weights, accuracy, range, scopes, noalias, loop, callees } = hints;
    let text = "";
    const add = (kind: string, node: string): void => {
      text += `, !${kind} ${node}`;
    };
    const flag = (kind: string, bit: number): void => {
      if (hints.has(bit)) add(kind, this.node([]));
    };
    const number = (kind: string, value: number): void => {
      if (value !== 0) add(kind, this.node([`i64 ${value}`]));
    };
    if (tbaa !== null) add("tbaa", this.tag(tbaa));
    if (weights !== null) add("prof", this.weights(weights, hints.has(HintFlag.ExpectedWeights)));
    if (accuracy !== 0) add("fpmath", this.node([`float ${accuracyText(accuracy)}`]));
    if (range !== null) {
      const type = names.types.name(inst.type.scalar);
      add("range", this.node(range.map((bound) => `${type} ${bound}`)));
    }
    flag("invariant.load", HintFlag.InvariantLoad);
    if (scopes !== null) add("alias.scope", this.scopeList(scopes));
    if (noalias !== null) add("noalias", this.scopeList(noalias));
    if (hints.has(HintFlag.Nontemporal)) add("nontemporal", this.node(["i32 1"]));
    flag("nonnull", HintFlag.NonNull);
    number("dereferenceable", hints.dereferenceable);
    number("dereferenceable_or_null", hints.dereferenceableOrNull);
    flag("unpredictable", HintFlag.Unpredictable);
    flag("invariant.group", HintFlag.InvariantGroup);
    number("align", hints.align);
    if (loop !== null) add("llvm.loop", this.loop(loop));
    // What else may be reached cannot be said; members that have left the module cannot be reached.
    const members = callees === null || callees.open ? [] : callees.members;
    const listed = members.filter((fn) => names.globals.has(fn));
    if (listed.length > 0) add("callees", this.node(listed.map((fn) => `ptr ${names.globals.name(fn)}`)));
    flag("noundef", HintFlag.NoUndef);
    return text;
  }

  /** `!kind !N` for each fact of a global. */
  ofGlobal(global: Func | GlobalVariable): string[] {
    const words: string[] = [];
    if (global.kind === "function" && global.entryCount !== null)
      words.push(`!prof ${this.node([quoted("function_entry_count"), `i64 ${global.entryCount}`])}`);
    for (const { offset, name } of global.typeIds)
      words.push(`!type ${this.node([`i64 ${offset}`, quoted(name)])}`);
    if (global.kind === "variable" && global.vcallVisibility !== 0)
      words.push(`!vcall_visibility ${this.node([`i64 ${global.vcallVisibility}`])}`);
    return words;
  }

  private weights(weights: readonly number[], expected: boolean): string {
    const wide = weights.some((weight) => weight > 0xffffffff);
    return this.node([
      quoted("branch_weights"),
      ...(expected ? [quoted("expected")] : []),
      ...weights.map((weight) => (wide ? `i64 ${weight}` : `i32 ${weight | 0}`)),
    ]);
  }

  private loop(loop: LoopHints): string {
    const properties: string[] = [];
    const add = (name: string, ...rest: string[]): void => {
      properties.push(this.node([quoted(`llvm.loop.${name}`), ...rest]));
    };
    const choice = (name: string, value: string): void => {
      if (value !== "") add(name, `i1 ${value === "enable"}`);
    };
    if (loop.mustProgress) add("mustprogress");
    if (loop.unroll !== "") add(`unroll.${loop.unroll}`);
    if (loop.unrollCount !== 0) add("unroll.count", `i32 ${loop.unrollCount}`);
    if (loop.noRuntimeUnroll) add("unroll.runtime.disable");
    choice("vectorize.enable", loop.vectorize);
    if (loop.vectorWidth !== 0) add("vectorize.width", `i32 ${loop.vectorWidth}`);
    if (loop.interleave !== 0) add("interleave.count", `i32 ${loop.interleave}`);
    if (loop.isVectorized) add("isvectorized", "i32 1");
    choice("distribute.enable", loop.distribute);
    return this.selfNode(properties);
  }

  // ── Types of accesses ──

  private tag(tag: TbaaTag): string {
    return this.once(tag, () => {
      const size = tag.size < 0 ? [] : [`i64 ${tag.size}`];
      const constant = tag.constant ? ["i64 1"] : [];
      return this.node([
        this.type(tag.base),
        this.type(tag.access),
        `i64 ${tag.offset}`,
        ...size,
        ...constant,
      ]);
    });
  }

  private type(type: TbaaType): string {
    return this.once(type, () => {
      const { name, parent, size, sizes, offsets } = type;
      const members = type.members.flatMap((member, i) => [
        this.type(member),
        `i64 ${offsets[i]}`,
        ...(sizes.length === 0 ? [] : [`i64 ${sizes[i]}`]),
      ]);
      return parent === null
        ? this.node([quoted(name), ...members])
        : this.node([this.type(parent), `i64 ${size}`, quoted(name), ...members]);
    });
  }

  // ── Scopes ──

  private scopeList(list: ScopeList): string {
    return this.node(list.map((scope) => this.scope(scope)));
  }

  private scope(scope: AliasScope): string {
    return this.once(scope, () => this.selfNode([this.domain(scope.domain), ...nameOf(scope)]));
  }

  private domain(domain: AliasDomain): string {
    return this.once(domain, () => this.selfNode(nameOf(domain)));
  }

  private once(key: TbaaTag | TbaaType | AliasDomain | AliasScope, make: () => string): string {
    let name = this.byObject.get(key);
    if (name === undefined) this.byObject.set(key, (name = make()));
    return name;
  }
}

function accuracyText(accuracy: number): string {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, accuracy);
  return formatFloat(floatType, BigInt(view.getUint32(0)));
}

const nameOf = ({ name }: AliasDomain | AliasScope): string[] => (name === "" ? [] : [quoted(name)]);
