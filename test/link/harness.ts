/** Shorthand for link tests: modules from text, links, and what came out. */
import { readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule, printModule } from "../../formats/text/index.js";
import { isCall } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import {
  type LazyMember,
  type LinkInput,
  type LinkOptions,
  type LinkResult,
  lazyDefinitions,
  linkModules,
  type ModuleInput,
  type NativeInput,
  type NativeSymbol,
  nativeDefinitions,
} from "../../lto/link/index.js";

/** Text through the object format and back: bodies lazy, summary stored. */
export function ir(file: string, text: string): ModuleInput {
  const { module, summary } = readObjectContents(writeObject(parseModule(text, file)), file);
  return { kind: "module", module, summary };
}

/** Text as parsed: bodies decoded, no summary. */
export function text(file: string, source: string): ModuleInput {
  return { kind: "module", module: parseModule(source, file) };
}

export const symbol = (name: string, fields: Partial<NativeSymbol> = {}): NativeSymbol => ({
  name,
  defined: true,
  weak: false,
  common: false,
  visibility: "default",
  tls: fields.defined === false ? null : false,
  size: 0,
  align: 0,
  ...fields,
});
export const native = (file: string, symbols: NativeSymbol[], shared = false): NativeInput => ({
  kind: "native",
  file,
  shared,
  symbols,
});

export function archive(...inputs: (ModuleInput | NativeInput)[]): LinkInput {
  return {
    kind: "archive",
    members: inputs.map(
      (input): LazyMember => ({
        file: input.kind === "module" ? input.module.file : input.file,
        defines:
          input.kind === "module" ? lazyDefinitions(input.module.globals) : nativeDefinitions(input.symbols),
        isNative: input.kind === "native",
        load: () => input,
      }),
    ),
  };
}

export class Linked {
  readonly result: LinkResult;
  constructor(inputs: readonly LinkInput[], options: Partial<LinkOptions> = {}) {
    this.result = finish(linkModules(inputs, options));
  }
  get module(): Module {
    if (this.result.module === null) throw new Error(this.messages.join("\n"));
    return this.result.module;
  }
  get messages(): string[] {
    return this.result.diagnostics.map((d) => `${d.severity}: ${d.message}`);
  }
  find(name: string): GlobalValue | undefined {
    return this.module.globals.find((g) => g.name === name);
  }
  get(name: string): GlobalValue {
    const global = this.find(name);
    if (global === undefined) throw new Error(`no @${name} in\n${this.names.join("\n")}`);
    return global;
  }
  fn(name: string): Func {
    return this.get(name) as Func;
  }
  get names(): string[] {
    return this.module.globals.map((g) => g.name);
  }
  /** Definitions that are not local. */
  get exported(): string[] {
    return this.module.globals
      .filter((g) => !g.isLocal && !g.isDeclaration && g.linkage !== "appending")
      .map((g) => g.name);
  }
  /** Names of the functions that a function calls directly, in order. */
  calls(name: string): string[] {
    const names: string[] = [];
    for (const block of this.fn(name).view().blocks)
      for (const inst of block.insts)
        if (isCall(inst) && inst.operands[0]!.valueKind === "global") names.push(inst.operands[0]!.name);
    return names;
  }
  /** The module as text; every mention must be of a global of the module. */
  get text(): string {
    return printModule(this.module);
  }
}
export const link = (inputs: readonly LinkInput[], options: Partial<LinkOptions> = {}): Linked =>
  new Linked(inputs, options);

/** Throws when a body or initialiser mentions a global that is not in the module, or a name occurs twice. */
export function checkClosed(module: Module): void {
  const once = writeObject(module);
  const { module: again } = readObjectContents(once, "again.o");
  if (printModule(again) !== printModule(module)) throw new Error("the linked module changes when written");
}
