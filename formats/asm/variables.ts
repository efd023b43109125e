/**
 * Global variables, constructor lists, aliases and declarations as directives.
 * Linear in the module's data.
 */

import { isLarge } from "../../lto/analysis/large-data.js";
import { alignOf, anchorSymbol, type GlobalCluster } from "../../lto/codegen/late/global-cluster.js";
import type { DataLayout } from "../../lto/ir/data-layout.js";
import { InputError } from "../../lto/ir/errors.js";
import { isReservedName } from "../../lto/ir/intrinsics.js";
import {
  type Alias,
  belongsElsewhere,
  type GlobalValue,
  type GlobalVariable,
  type IFunc,
  isReference,
  type Module,
} from "../../lto/ir/module.js";
import type { Constant } from "../../lto/ir/values.js";
import { evaluate, integerOf } from "./const-eval.js";
import { type DataImage, dataImage } from "./data-image.js";
import { addressText, imageText } from "./data-text.js";
import { alignText } from "./functions.js";
import { quoteSymbol, type SymbolNames } from "./names.js";
import type { AsmOptions } from "./options.js";
import {
  isStringSection,
  isZeroVariable,
  type NamedSections,
  type Section,
  variableSection,
} from "./sections.js";
import { type PlacedString, type StringTail, stringTails } from "./string-tails.js";
import { bindingText, visibilityText } from "./symbols.js";

/** Prints the data of one module. */
export class DataPrinter {
  /** Strings that lie at the ends of others. */
  private tails: ReadonlyMap<GlobalValue, StringTail> = new Map();

  constructor(
    private readonly module: Module,
    private readonly names: SymbolNames,
    private readonly named: NamedSections,
    private readonly options: AsmOptions,
  ) {}

  private get layout(): DataLayout {
    return this.module.dataLayout;
  }

  /** @param cluster variables that lie side by side */
  text(cluster: GlobalCluster | null = null): string {
    const parts: string[] = [];
    let section = "";
    this.tails = stringTails(this.strings());
    if (cluster !== null) {
      const { variables, anchor } = cluster;
      section = variables.every(isZeroVariable) ? "\t.bss" : "\t.data";
      const first = this.names.symbol(variables[0]!);
      parts.push(`${section}\n`, ...variables.map((variable) => this.variable(variable)[1]));
      parts.push(`\t.set\t${anchorSymbol}, ${first}+${anchor}\n`);
    }
    for (const global of this.module.globals) {
      if (global.kind !== "variable" || global.isDeclaration || global.linkage === "available_externally")
        continue;
      if (cluster?.offsets.has(global) === true) continue;
      if (isReservedName(global.name) || global.section === "llvm.metadata") {
        const special = this.special(global);
        if (special === "") continue;
        parts.push(special);
        section = "";
        continue;
      }
      const tail = this.tails.get(global);
      if (tail !== undefined) {
        parts.push(this.tail(global, tail));
        continue;
      }
      const [directive, body] = this.variable(global);
      if (directive !== section && directive !== "") parts.push(`${directive}\n`);
      if (directive !== "") section = directive;
      parts.push(body);
    }
    for (const global of this.module.globals) {
      if (global.kind === "alias") parts.push(this.alias(global));
      else if (global.kind === "ifunc") parts.push(this.ifunc(global));
    }
    parts.push(this.declarations());
    return parts.join("");
  }

  /** Those that linkers may merge, of the program's own. */
  private strings(): PlacedString[] {
    const out: PlacedString[] = [];
    for (const variable of this.module.globals) {
      if (variable.kind !== "variable" || !variable.isConstant || !variable.isLocal) continue;
      if (variable.initializer === null || variable.unnamedAddr !== "global") continue;
      if (variable.valueType.kind !== "array" || isReservedName(variable.name)) continue;
      const { align, image, section } = this.place(variable);
      if (!isStringSection(section)) continue;
      const bytes = image?.bytes ?? new Uint8Array(this.layout.allocSize(variable.valueType));
      out.push({ variable, bytes, align, section: section.directive });
    }
    return out;
  }

  /** A label inside of another string. */
  private tail(variable: GlobalVariable, { host, offset }: StringTail): string {
    const symbol = this.names.symbol(variable);
    const place = `\t.set\t${symbol}, ${this.names.symbol(host)}+${offset}\n`;
    if (variable.linkage === "private") return place;
    const size = this.layout.allocSize(variable.valueType);
    return `${bindingText(variable, symbol)}\t.type\t${symbol},@object\n${place}\t.size\t${symbol}, ${size}\n`;
  }

  /** Where a variable goes that is not common. */
  private place(variable: GlobalVariable): {
    readonly align: number;
    /** Null if all of it is zero. */
    readonly image: DataImage | null;
    readonly section: Section;
  } {
    const { layout, options } = this;
    const align = alignOf(variable, layout);
    const image = isZeroVariable(variable) ? null : dataImage(variable.initializer!, layout);
    const large = isLarge(variable, layout, options.nearData ?? Number.POSITIVE_INFINITY);
    const symbol = this.names.symbol(variable);
    const section = variableSection(variable, symbol, align, image, this.named, options, large);
    return { align, image, section };
  }

  /** Section directive ("" for a common symbol) and definition. */
  private variable(variable: GlobalVariable): [string, string] {
    const symbol = this.names.symbol(variable);
    const size = this.layout.allocSize(variable.valueType);
    const type = `\t.type\t${symbol},@object\n`;
    if (variable.linkage === "common") {
      const large = isLarge(variable, this.layout, this.options.nearData ?? Number.POSITIVE_INFINITY);
      const align = alignOf(variable, this.layout);
      return [
        "",
        `${visibilityText(variable, symbol)}${type}\t${large ? ".largecomm" : ".comm"}\t${symbol},${Math.max(size, 1)},${align}\n`,
      ];
    }
    const { align, image, section } = this.place(variable);
    let body = bindingText(variable, symbol) + type;
    body += `${alignText(align)}${symbol}:\n`;
    body += image === null ? (size > 0 ? `\t.zero\t${size}\n` : "") : imageText(image, this.names, variable);
    body += `\t.size\t${symbol}, ${size}\n`;
    return [section.directive, body];
  }

  /** The `llvm.` variables, of which only the constructor lists become anything. */
  private special(variable: GlobalVariable): string {
    switch (variable.name) {
      case "llvm.global_ctors":
        return this.structors(variable, ".init_array");
      case "llvm.global_dtors":
        return this.structors(variable, ".fini_array");
      default:
        return "";
    }
  }

  private structors(variable: GlobalVariable, section: string): string {
    const initializer = variable.initializer!;
    if (initializer.valueKind !== "aggregate") return "";
    const entries = initializer.elements
      .filter((e) => e.valueKind === "aggregate")
      .map((e) => ({ priority: Number(integerOf(e.elements[0]!, this.layout)), fields: e.elements }));
    // Stable: equal priorities keep their order.
    entries.sort((a, b) => a.priority - b.priority);
    let out = "";
    for (const { priority, fields } of entries) {
      const fn = fields[1]!;
      if (fn.valueKind === "zero" || belongsElsewhere(fields[2])) continue;
      const name = priority === 65535 ? section : `${section}.${String(priority).padStart(5, "0")}`;
      out += `\t.section\t${name},"aw${this.structorGroup(fields[2], section)}\n\t.p2align\t3\n`;
      out += `\t.quad\t${this.address(fn)}\n`;
    }
    return out;
  }

  /** Rest of the section directive: flags' end, type, and the group of the associated data. */
  private structorGroup(associated: Constant | undefined, section: string): string {
    const type = `@${section.slice(1)}`;
    const comdat = associated?.valueKind === "global" ? associated.comdat : null;
    return comdat === null ? `",${type}` : `G",${type},${quoteSymbol(comdat.name)},comdat`;
  }

  private address(constant: Constant): string {
    return addressText(evaluate(constant, this.layout), this.names);
  }

  private alias(alias: Alias): string {
    const symbol = this.names.symbol(alias);
    const value = evaluate(alias.aliasee, this.layout);
    if (value.minus !== null || value.plus === null)
      throw new InputError(`alias '${alias.name}' is not an address`);
    const base = value.plus.kind === "global" ? value.plus.global : value.plus.fn;
    const isCode = alias.valueType.kind === "function" || (base.kind === "function" && value.offset === 0n);
    let out = bindingText(alias, symbol);
    out += `\t.type\t${symbol},${isCode ? "@function" : "@object"}\n`;
    out += `\t.set\t${symbol}, ${addressText(value, this.names)}\n`;
    if (!isCode) out += `\t.size\t${symbol}, ${this.layout.allocSize(alias.valueType)}\n`;
    return out;
  }

  private ifunc(ifunc: IFunc): string {
    const symbol = this.names.symbol(ifunc);
    return (
      `${bindingText(ifunc, symbol)}\t.type\t${symbol},@gnu_indirect_function\n` +
      `\t.set\t${symbol}, ${this.address(ifunc.resolver)}\n`
    );
  }

  /** Weak and non-default-visibility references to symbols defined elsewhere. */
  private declarations(): string {
    let out = "";
    for (const global of this.module.globals) {
      if (!isReference(global) || isReservedName(global.name)) continue;
      const symbol = this.names.symbol(global);
      if (global.linkage === "extern_weak") out += `\t.weak\t${symbol}\n`;
      out += visibilityText(global, symbol);
    }
    return out;
  }
}
