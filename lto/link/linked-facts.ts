/**
 * What each global of the linked module mentions, in terms of linked globals: from the stored summaries of
 * its objects where there are any, else by scanning the body, which is decoded for that.
 * Inline assembly mentions globals by their names, which no summary has: such bodies are always decoded.
 */

import { ownReferences, scanBody, Trait } from "../analysis/references.js";
import { type ModuleSummary, revisionOf, type SymbolSummary } from "../analysis/summary.js";
import { InputError } from "../ir/errors.js";
import type { Func, GlobalValue } from "../ir/module.js";
import { templateText } from "./asm-template.js";
import type { Merged } from "./merge.js";
import { scanModuleAsm } from "./module-asm.js";

export interface GlobalFacts {
  readonly calls: readonly GlobalValue[];
  readonly references: readonly GlobalValue[];
  readonly instructions: number;
  readonly traits: number;
  readonly hash: string;
}

/** The name by which assembly can mention a global: private ones get the prefix of local labels. */
const printedName = ({ linkage, name }: GlobalValue): string => (linkage === "private" ? `.L${name}` : name);

export class LinkedFacts {
  private readonly cache = new Map<GlobalValue, GlobalFacts>();
  private named: Map<string, GlobalValue> | null = null;
  constructor(private readonly merged: Merged) {}

  of(global: GlobalValue): GlobalFacts {
    let facts = this.cache.get(global);
    if (facts === undefined) {
      facts = this.compute(global);
      this.cache.set(global, facts);
    }
    return facts;
  }

  private compute(global: GlobalValue): GlobalFacts {
    if (global.kind === "function" && !global.isDeclaration)
      return this.fromSummary(global) ?? this.fromBody(global);
    const references = [...ownReferences(global)];
    return { calls: [], references, instructions: 0, traits: 0, hash: "" };
  }

  private fromBody(fn: Func): GlobalFacts {
    const { calls, references, instructions, traits, assembly } = scanBody(fn, fn.view());
    this.merged.module.pool.rest(fn);
    if (assembly !== "") this.addNamed(fn, assembly, references);
    return { calls: [...calls], references: [...references], instructions, traits, hash: "" };
  }

  private fromSummary(fn: Func): GlobalFacts | null {
    const origin = this.merged.origins.get(fn);
    const summary = origin?.file.input.summary;
    if (origin === undefined || summary === undefined) return null;
    // The body may have changed since the summary was made.
    if (summary.symbols[origin.index]!.revision !== revisionOf(fn)) return null;
    const { replacements } = this.merged;
    const { globals } = origin.file.module;
    const mapped = (indices: readonly number[]): GlobalValue[] => [
      ...new Set(indices.map((index) => replacements.get(globals[index]!) ?? globals[index]!)),
    ];
    const { calls, references, instructions, traits, hash } = summary.symbols[origin.index]!;
    if ((traits & Trait.InlineAsm) !== 0) return { ...this.fromBody(fn), hash };
    // Personality, prefix and prologue come from the linked function itself.
    const own = ownReferences(fn);
    for (const global of mapped(references)) own.add(global);
    return { calls: mapped(calls), references: [...own], instructions, traits, hash };
  }

  /**
   * Adds the globals whose names occur in assembly, as far as a scan can tell; rather too many than too few.
   * @throws InputError when a name means a local global that had to be renamed
   */
  private addNamed(fn: Func, assembly: string, references: Set<GlobalValue>): void {
    const { module, origins, replacements, renamed } = this.merged;
    const mention = (global: GlobalValue): void => {
      references.add(global);
      this.merged.module.pinned.add(global);
    };
    const { text, pastes } = templateText(assembly);
    const symbols = scanModuleAsm(text, module.triple);
    this.named ??= new Map(module.globals.map((global) => [printedName(global), global]));
    const names = new Set([...symbols.globals, ...symbols.references, ...symbols.weakReferences]);
    for (const name of names) {
      const global = this.named.get(name);
      if (global !== undefined) mention(global);
    }
    const own = origins.get(fn)?.file.module.globals ?? module.globals;
    if (symbols.opaque || pastes)
      for (const global of own)
        if (!global.name.startsWith("llvm.")) mention(replacements.get(global) ?? global);
    if (renamed.size === 0 || text.includes(".intel_syntax")) return;
    for (const global of own) {
      const before = renamed.get(global);
      if (before !== undefined && names.has(before))
        throw new InputError(
          `local symbol '${before}' is mentioned by inline assembly in @${fn.name}, but its name is not unique`,
          origins.get(fn)?.file.file,
        );
    }
  }

  /** The summary of the linked module, whose globals must be all that these mention. */
  summarize(globals: readonly GlobalValue[]): ModuleSummary {
    const indices = new Map(globals.map((global, index) => [global, index]));
    const list = (mentioned: readonly GlobalValue[]): number[] => {
      const result: number[] = [];
      for (const global of mentioned) {
        const index = indices.get(global);
        if (index !== undefined) result.push(index);
      }
      return result.sort((a, b) => a - b);
    };
    const symbols = globals.map((global): SymbolSummary => {
      const { calls, references, instructions, traits, hash } = this.of(global);
      return {
        name: global.name,
        kind: global.kind,
        linkage: global.linkage,
        visibility: global.visibility,
        isDeclaration: global.isDeclaration,
        calls: list(calls),
        references: list(references),
        instructions,
        traits,
        hash,
        revision: revisionOf(global),
      };
    });
    const pinned = list([...this.merged.module.pinned]);
    return { symbols, pinned };
  }
}
