/**
 * Modules as text: LLVM assembly with opaque pointers, without local names and without metadata other than
 * module flags and hints. The output is canonical, a function of the IR alone: globals in module order, attributes
 * sorted, large struct types and attribute groups numbered in order of first use.
 *
 * llvm-as accepts the output for every valid module whose attributes and instructions it knows.
 */
import { type AttributeSet, noAttributes } from "../../lto/ir/attributes.js";
import type { Hints } from "../../lto/ir/hints.js";
import type { BodyView, Inst } from "../../lto/ir/instructions.js";
import type { Alias, Comdat, Func, GlobalValue, GlobalVariable, IFunc, Module } from "../../lto/ir/module.js";
import type { Constant } from "../../lto/ir/values.js";
import { escapeText, quoteName } from "./escape.js";
import { attributeWords } from "./print-attributes.js";
import { typedText, valueText } from "./print-constants.js";
import { conventionText, type InstNames, instructionText } from "./print-instructions.js";
import { MetadataText } from "./print-metadata.js";
import { GlobalNames, idNames, type LocalNames, LocalNumbers, TypeNames } from "./print-names.js";

export type { LocalNames } from "./print-names.js";
export { LocalNumbers } from "./print-names.js";

/** The whole module. Decodes function bodies that are not decoded yet, and releases them again. */
export function printModule(module: Module): string {
  const printer = new ModulePrinter(new GlobalNames(module.globals), true);
  const body: string[] = [];
  let previous = "";
  for (const global of module.globals) {
    if (previous !== "" && (previous !== global.kind || global.kind === "function")) body.push("");
    body.push(printer.global(global));
    previous = global.kind;
  }
  const head = [`source_filename = "${escapeText(module.sourceName)}"`];
  if (module.dataLayout.text !== "") head.push(`target datalayout = "${escapeText(module.dataLayout.text)}"`);
  if (module.triple !== "") head.push(`target triple = "${escapeText(module.triple)}"`);
  const sections = [
    head,
    module.moduleAsm === "" ? [] : moduleAsmLines(module.moduleAsm),
    printer.types.definitions,
    comdatLines(module.globals),
    body,
    printer.attributeLines(),
    moduleMetadata(module, printer.metadata),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** One function; the types it names come first, the metadata last, attributes are written in place. */
export function printFunction(fn: Func): string {
  const printer = new ModulePrinter(new GlobalNames(null), false);
  const text = printer.global(fn);
  const sections = [printer.types.definitions, [text], printer.metadata.lines()];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** One instruction, without metadata. Without `locals`, values are shown by their dense ids. */
export function printInst(inst: Inst, locals: LocalNames = idNames): string {
  const printer = new ModulePrinter(new GlobalNames(null), false, locals);
  printer.showsHints = false;
  return instructionText(inst, printer);
}

/** A constant with its type. */
export function printConstant(value: Constant): string {
  return typedText(value, new ModulePrinter(new GlobalNames(null), false));
}

class ModulePrinter implements InstNames {
  readonly types = new TypeNames();
  readonly metadata: MetadataText;
  showsHints = true;
  private readonly groups = new Map<string, string>();

  constructor(
    readonly globals: GlobalNames,
    private readonly useGroups: boolean,
    public locals: LocalNames = idNames,
  ) {
    this.metadata = new MetadataText(this);
  }

  functionAttributes(set: AttributeSet): string {
    if (set === noAttributes || set.isEmpty) return "";
    if (!this.useGroups) return attributeWords(set, this.types.name).join(" ");
    const text = attributeWords(set, this.types.name, true).join(" ");
    let name = this.groups.get(text);
    if (name === undefined) {
      name = `#${this.groups.size}`;
      this.groups.set(text, name);
    }
    return name;
  }

  attachments(inst: Inst, hints: Hints): string {
    return this.showsHints ? this.metadata.ofInstruction(inst, hints) : "";
  }

  attributeLines(): string[] {
    return [...this.groups].map(([text, name]) => `attributes ${name} = { ${text} }`);
  }

  global(global: GlobalValue): string {
    switch (global.kind) {
      case "function":
        return this.fn(global);
      case "variable":
        return this.variable(global);
      case "alias":
        return this.indirect(global, "alias", global.aliasee);
      case "ifunc":
        return this.indirect(global, "ifunc", global.resolver);
    }
  }

  private indirect(global: Alias | IFunc, word: string, target: Constant): string {
    // An expression may go without its type, except where readers would assume another.
    const plain = target.valueKind === "expr" && global.type.addressSpace === 0;
    const text = plain ? valueText(target, this) : typedText(target, this);
    return `${this.globals.name(global)} = ${linkageText(global, true)}${word} ${this.types.name(global.valueType)}, ${text}`;
  }

  private variable(global: GlobalVariable): string {
    const space = global.type.addressSpace;
    let text = `${this.globals.name(global)} = ${linkageText(global, global.initializer !== null)}`;
    if (space !== 0) text += `addrspace(${space}) `;
    if (global.externallyInitialized) text += "externally_initialized ";
    text += `${global.isConstant ? "constant" : "global"} ${this.types.name(global.valueType)}`;
    if (global.initializer !== null) text += ` ${valueText(global.initializer, this)}`;
    if (global.section !== "") text += `, section "${escapeText(global.section)}"`;
    if (global.comdat !== null) text += `, ${comdatText(global, global.comdat)}`;
    if (global.align !== 0) text += `, align ${global.align}`;
    if (global.codeModel !== null) text += `, code_model "${global.codeModel}"`;
    for (const attachment of this.metadata.ofGlobal(global)) text += `, ${attachment}`;
    return text;
  }

  private fn(fn: Func): string {
    return fn.isDeclaration ? this.fnWith(fn, null) : fn.peek((body) => this.fnWith(fn, body));
  }

  private fnWith(fn: Func, body: BodyView | null): string {
    const outer = this.locals;
    if (body !== null) this.locals = new LocalNumbers(fn.args.length, body);
    const words = (set: AttributeSet): string[] => attributeWords(set, this.types.name);
    const params = fn.args.map((arg, i) =>
      [
        this.types.name(arg.type),
        ...words(fn.attributes.parameter(i)),
        ...(body === null ? [] : [`%${i}`]),
      ].join(" "),
    );
    if (fn.valueType.isVarArg) params.push("...");
    const result = [...words(fn.attributes.result), this.types.name(fn.valueType.result)].join(" ");
    const attachments = this.metadata.ofGlobal(fn);
    let text = body === null ? "declare " : "define ";
    if (body === null) for (const attachment of attachments) text += `${attachment} `;
    text += linkageText(fn, body !== null);
    text += `${conventionText(fn.callingConvention)}${result} ${this.globals.name(fn)}(${params.join(", ")})`;
    if (fn.unnamedAddr !== "none") text += ` ${unnamedText[fn.unnamedAddr]}`;
    if (fn.type.addressSpace !== 0) text += ` addrspace(${fn.type.addressSpace})`;
    const group = this.functionAttributes(fn.attributes.fn);
    if (group !== "") text += ` ${group}`;
    if (fn.section !== "") text += ` section "${escapeText(fn.section)}"`;
    if (fn.comdat !== null) text += ` ${comdatText(fn, fn.comdat)}`;
    if (fn.align !== 0) text += ` align ${fn.align}`;
    if (fn.gc !== "") text += ` gc "${escapeText(fn.gc)}"`;
    for (const word of ["prefix", "prologue", "personality"] as const) {
      const value = fn[word];
      if (value !== null) text += ` ${word} ${typedText(value, this)}`;
    }
    if (body !== null) {
      for (const attachment of attachments) text += ` ${attachment}`;
      const lines = [`${text} {`];
      body.blocks.forEach((block, index) => {
        if (index > 0 || block.addressTaken) lines.push("", `${this.locals.block(block).slice(1)}:`);
        for (const inst of block.insts) lines.push(`  ${instructionText(inst, this)}`);
      });
      lines.push("}");
      text = lines.join("\n");
    }
    this.locals = outer;
    return text;
  }
}

const unnamedText = { none: "", local: "local_unnamed_addr", global: "unnamed_addr" } as const;

/** Linkage and what follows it up to the kind of the global; each word is followed by a space. */
function linkageText(global: GlobalValue, defined: boolean): string {
  let text = "";
  if (global.linkage !== "external") text += `${global.linkage} `;
  else if (!defined && global.kind === "variable") text += "external ";
  const implied = global.isLocal || (global.visibility !== "default" && global.linkage !== "extern_weak");
  if (global.dsoLocal && !implied) text += "dso_local ";
  if (global.visibility !== "default") text += `${global.visibility} `;
  if (global.threadLocal !== "none")
    text +=
      global.threadLocal === "generaldynamic" ? "thread_local " : `thread_local(${global.threadLocal}) `;
  if (global.kind !== "function" && global.unnamedAddr !== "none")
    text += `${unnamedText[global.unnamedAddr]} `;
  return text;
}

const comdatText = (global: GlobalValue, comdat: Comdat): string =>
  comdat.name === global.name ? "comdat" : `comdat($${quoteName(comdat.name)})`;

function comdatLines(globals: readonly GlobalValue[]): string[] {
  const lines = new Map<string, string>();
  for (const { comdat } of globals)
    if (comdat !== null && !lines.has(comdat.name))
      lines.set(comdat.name, `$${quoteName(comdat.name)} = comdat ${comdat.selection}`);
  return [...lines.values()];
}

function moduleAsmLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines.map((line) => `module asm "${escapeText(line)}"`);
}

const moduleMetadata = (module: Module, metadata: MetadataText): string[] => [
  ...metadata.named(module),
  ...metadata.lines(),
];
