/** Does a unit of work: reads it, compiles its functions as a link does, and answers with what the link's cache is to hold. */
import { readObject } from "../../formats/object/reader.js";
import { decodeEntry, encodeEntry } from "../../formats/unit/entry.js";
import { type CompileUnit, decodeUnit, encodeAnswer, unitDigest } from "../../formats/unit/unit.js";
import type { CodeCache, CodeEntry } from "../../lto/codegen/program/code-cache.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { Target } from "../../lto/codegen/target.js";
import { InputError, InternalError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { pipelines } from "../../lto/pipeline/pipelines.js";
import { targetOf } from "../../lto/targets.js";
import { buildId } from "../lto/cache-files.js";
import { CodeKeys } from "../lto/code-keys.js";
import { sessionPasses } from "../lto/passes.js";

/** Entries in memory: what goes into a unit, and what is made of it. */
class UnitCache extends CodeKeys implements CodeCache {
  private readonly given = new Map<string, CodeEntry>();
  readonly made = new Map<string, CodeEntry>();

  give(key: string, bytes: Uint8Array, target: Target): void {
    this.given.set(key, decodeEntry(bytes, target));
  }
  has(key: string): boolean {
    return this.given.has(key) || this.made.has(key);
  }
  get(key: string): CodeEntry | undefined {
    return this.given.get(key) ?? this.made.get(key);
  }
  put(key: string, entry: CodeEntry): void {
    this.made.set(key, entry);
  }
}

/**
 * What cannot be compiled is left out of the answer: the link comes to the same end, and knows better how to say it.
 * @param bytes a unit @returns the answer @throws InputError when the unit is damaged, or of another build
 */
export function compileUnit(bytes: Uint8Array): Uint8Array {
  const unit = decodeUnit(bytes);
  const build = buildId().toString("hex");
  if (unit.build !== build) throw new InputError("the unit of work is of another build of tsc-lto");
  const module = readObject(unit.object, "a unit of work");
  const target = targetOf(module);
  if (definedFunctions(module).length !== unit.plan.conventions.length)
    throw new InputError("the plan of a unit of work is of other functions");
  const cache = new UnitCache(module, unit.options);
  compileAll(unit, module, target, cache);
  const entries = [...cache.made].map(([key, entry]) => [key, encodeEntry(entry)] as const);
  return encodeAnswer({ build, unit: unitDigest(bytes), entries });
}

function compileAll(unit: CompileUnit, module: Module, target: Target, cache: UnitCache): void {
  const options = optionsOf(unit.options);
  const passes = sessionPasses(options, target, { pipelines, origin: 0, earlierRuns: 0 }, 0, () => {});
  const compiler = new FunctionCompiler(module, options, unit.plan, target, passes, undefined, cache);
  compiler.publish(unit.masks);
  const { functions } = compiler.numbering;
  for (const { number, hidden, allocated } of unit.functions)
    try {
      if (allocated === null)
        compiler.hiding(
          hidden.map((other) => functions[other]!),
          () => compiler.allocate(number),
        );
      else {
        if (unit.decisions === null) throw new InputError("a unit of work lacks decisions");
        cache.give(allocated.key, allocated.entry, target);
        const mentioned = allocated.mentioned.map((symbol) => symbolOf(module, symbol));
        const { key, origins } = allocated;
        if (compiler.adopt(number, { digest: "", mentioned, origins, key }))
          compiler.complete(number, unit.decisions);
      }
    } catch (e) {
      if (!(e instanceof InputError || e instanceof InternalError)) throw e;
    }
}

function symbolOf({ globals }: Module, number: number): Module["globals"][number] {
  const global = globals[number];
  if (global === undefined) throw new InputError(`symbol ${number} is out of range`);
  return global;
}

/** Only the code generator reads them, and a wrong one leads to other keys. */
function optionsOf(text: string): CodegenOptions {
  let options: unknown;
  try {
    options = JSON.parse(text);
  } catch {
    options = null;
  }
  if (typeof options !== "object" || options === null || !("passes" in options))
    throw new InputError("the options of a unit of work are malformed");
  const told = options as CodegenOptions;
  return { ...told, passes: { ...noPassOptions, ...told.passes } };
}
