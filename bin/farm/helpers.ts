/**
 * A link's side of work that is done elsewhere: it makes units of what the cache lacks, and puts answers there.
 *
 * An answer is taken only whole, from the same build, for the unit that was sent, under keys that were asked for, each entry
 * read and checked to its end. Anything else is as if it had never come. So an answer that is damaged, late, or there twice
 * costs a compilation here; what an answer can do besides is up to who may answer (MANUAL.md, "Past one machine").
 */
import { writeObject } from "../../formats/object/writer.js";
import { decodeEntry, encodeEntry } from "../../formats/unit/entry.js";
import { decodeAnswer, encodeUnit, type UnitFunction, unitDigest } from "../../formats/unit/unit.js";
import type { CodeCache, CodeEntry } from "../../lto/codegen/program/code-cache.js";
import type { FunctionCompiler, Missing } from "../../lto/codegen/program/function-compiler.js";
import type { Decisions, PublishedMask } from "../../lto/codegen/program/function-compilers.js";
import { definedFunctions, type FunctionNumber } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { ProgramSlice } from "../../lto/codegen/program/slice.js";
import type { Helpers } from "../../lto/codegen/program/unit-compilers.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import type { Target } from "../../lto/codegen/target.js";
import { InputError } from "../../lto/ir/errors.js";
import { type GlobalValue, Module } from "../../lto/ir/module.js";
import { buildId } from "../lto/cache-files.js";
import { keyedOptions } from "../lto/code-keys.js";
import type { SentUnit, UnitEngine } from "./engine.js";

/** IR instructions of a unit: below, what surrounds the work outweighs it; above, the last unit is waited for too long. */
const leastSize = 5000;
const mostSize = 20_000;
/** Units for each who works at the same time, so that one who is slow does not hold up all. */
const unitsEach = 3;
/** Less than this is done here while a unit would still be on its way. */
const leastWork = 2000;

/** A program whose functions are to be compiled. */
export interface FarmedProgram {
  readonly module: Module;
  readonly options: CodegenOptions;
  readonly target: Target;
  readonly compiler: FunctionCompiler;
  readonly cache: CodeCache;
  /** Of the last link, by name; null: there was none. */
  readonly lastMasks: ReadonlyMap<string, RegisterSet> | null;
  /** IR instructions of each function. */
  readonly instructions: ArrayLike<number>;
}

interface Unit extends SentUnit {
  /** Of the entries that are asked for. */
  readonly kind: CodeEntry["kind"];
}

export class UnitHelpers implements Helpers {
  completed = 0;
  private readonly build = buildId().toString("hex");
  private readonly options: string;
  /** What does not come back, and what was assumed wrongly, is asked for again. */
  private isAssuming = false;
  private readonly count = { units: 0, functions: 0, known: 0, here: 0, refused: 0, sent: 0, received: 0 };

  constructor(
    private readonly program: FarmedProgram,
    private readonly engine: UnitEngine,
    private readonly tell: (text: string) => void,
  ) {
    this.options = keyedOptions(program.options);
  }

  async assume(numbers: readonly FunctionNumber[], waveOf: ArrayLike<number>): Promise<void> {
    const { compiler, lastMasks } = this.program;
    if (lastMasks === null) return;
    const masks = compiler.numbering.functions.flatMap((fn, number): PublishedMask[] => {
      const mask = lastMasks.get(fn.name);
      return mask === undefined ? [] : [[number as FunctionNumber, mask]];
    });
    const end = compiler.assume(masks, waveOf);
    this.isAssuming = true;
    try {
      await this.send(compiler.missing(numbers), null);
    } finally {
      this.isAssuming = false;
      end();
    }
  }

  async allocate(numbers: readonly FunctionNumber[]): Promise<void> {
    await this.send(this.program.compiler.missing(numbers), null);
  }

  async complete(numbers: readonly FunctionNumber[], decisions: Decisions): Promise<void> {
    const { compiler, cache } = this.program;
    const missing = compiler.missingCompleted(numbers, decisions);
    // What the cache could not keep is here alone.
    const known = missing.filter(
      ({ number }) => cache.get(compiler.cachedIdentity(number)!.key) !== undefined,
    );
    this.completed += await this.send(known, decisions);
    const { units, functions, known: taken, here, refused, sent, received } = this.count;
    this.tell(
      `units of work: ${units} with ${functions} functions, ${taken} functions known to others, ${here} functions here, ${refused} answers refused, ${sent} bytes sent, ${received} received`,
    );
  }

  /** @returns how many functions came back */
  private async send(wanted: readonly Missing[], decisions: Decisions | null): Promise<number> {
    const { count } = this;
    // Asked while it looks for what is known: each question takes a way to the engine and back.
    const there = this.sizeOf(wanted) < leastWork ? undefined : this.engine.isThere?.();
    const missing = await this.unknown(wanted, decisions === null ? "allocated" : "completed");
    const known = wanted.length - missing.length;
    const size = this.sizeOf(missing);
    if (size < leastWork || (await there)?.() === false) {
      if (!this.isAssuming) count.here += missing.length;
      return known;
    }
    const units = this.chunks(missing, size).map((chunk) => this.unit(chunk, decisions));
    const done = new Set<number>();
    let came = 0;
    await this.engine.run(units, (index, answer) => {
      if (done.has(index)) return true;
      const taken = this.take(units[index]!, answer);
      if (taken === null) return false;
      done.add(index);
      came += taken;
      return true;
    });
    count.units += units.length;
    count.functions += came;
    if (!this.isAssuming) count.here += missing.length - came;
    this.tell(
      `${units.length} units of work with ${missing.length} functions to ${decisions === null ? "allocate" : "complete"}: ${came} came back`,
    );
    return known + came;
  }

  /** Takes what others have made before. @returns the rest */
  private async unknown(missing: readonly Missing[], kind: CodeEntry["kind"]): Promise<readonly Missing[]> {
    const { store } = this.engine;
    if (store === undefined || missing.length === 0) return missing;
    const found = await store.find(missing.map(({ key }) => key));
    const taken = new Set<string>();
    for (const [key, bytes] of found) {
      this.count.received += bytes.length;
      try {
        const entry = decodeEntry(bytes, this.program.target);
        if (entry.kind !== kind) throw new InputError("code of another kind");
        this.program.cache.put(key, entry);
        taken.add(key);
      } catch (e) {
        if (!(e instanceof InputError)) throw e;
        this.count.refused++;
        this.tell(`code that others have made is refused: ${e.message}`);
      }
    }
    this.count.known += taken.size;
    if (taken.size > 0) this.tell(`${taken.size} functions of others taken`);
    return missing.filter(({ key }) => !taken.has(key));
  }

  private sizeOf(functions: readonly Missing[]): number {
    return functions.reduce((sum, { number }) => sum + this.program.instructions[number]!, 0);
  }

  /** Neighbours in the module go together: they mention the same symbols. */
  private chunks(missing: readonly Missing[], size: number): Missing[][] {
    const wanted = size / (unitsEach * this.engine.parallel);
    const limit = Math.min(mostSize, Math.max(leastSize, wanted));
    const chunks: Missing[][] = [];
    let room = 0;
    for (const one of [...missing].sort((a, b) => a.number - b.number)) {
      const own = this.program.instructions[one.number]!;
      if (room <= 0) {
        chunks.push([]);
        room = limit;
      }
      chunks.at(-1)!.push(one);
      room -= own;
    }
    return chunks;
  }

  private unit(functions: readonly Missing[], decisions: Decisions | null): Unit {
    const { compiler } = this.program;
    const slice = compiler.slice(
      functions.map(({ number }) => number),
      decisions,
    );
    const bytes = encodeUnit({
      build: this.build,
      options: this.options,
      object: this.object(slice),
      functions: this.unitFunctions(functions, slice),
      plan: slice.plan,
      masks: slice.masks,
      decisions: slice.decisions,
    });
    this.count.sent += bytes.length;
    return {
      bytes,
      digest: unitDigest(bytes),
      size: this.sizeOf(functions),
      keys: new Set(functions.map(({ key }) => key)),
      kind: decisions === null ? "allocated" : "completed",
    };
  }

  private unitFunctions(functions: readonly Missing[], slice: ProgramSlice): UnitFunction[] {
    const { compiler, cache } = this.program;
    const own = definedFunctions({ functions: slice.globals.filter((global) => global.kind === "function") });
    const numbers = new Map<GlobalValue, number>(own.map((fn, i) => [fn, i]));
    const hiddenIn = (number: FunctionNumber): FunctionNumber[] =>
      compiler.laterThan(number).map((fn) => numbers.get(fn)! as FunctionNumber);
    const places = new Map<GlobalValue, number>();
    if (slice.decisions !== null)
      for (const [place, global] of slice.globals.entries()) places.set(global, place);
    return functions.map((one, i) => {
      const number = slice.functions[i]!;
      if (slice.decisions === null) return { number, hidden: hiddenIn(one.number), allocated: null };
      const { key, mentioned, origins } = compiler.cachedIdentity(one.number)!;
      const entry = encodeEntry(cache.get(key)!);
      return {
        number,
        hidden: [],
        allocated: { key, mentioned: mentioned.map((symbol) => places.get(symbol)!), origins, entry },
      };
    });
  }

  private object({ globals, bodies }: ProgramSlice): Uint8Array {
    const { triple, dataLayout, flags } = this.program.module;
    const part = new Module("", "", triple, dataLayout);
    part.flags = flags;
    for (const global of globals) part.globals.push(global);
    return writeObject(part, undefined, { forThreads: true, only: bodies });
  }

  /** @returns how many functions of the unit it has; null: it is no answer to it */
  private take(unit: Unit, bytes: Uint8Array): number | null {
    const { cache, target } = this.program;
    this.count.received += bytes.length;
    try {
      const answer = decodeAnswer(bytes);
      if (answer.build !== this.build) throw new InputError("an answer of another build");
      if (answer.unit !== unit.digest) throw new InputError("an answer to another unit");
      const entries = answer.entries.map(([key, entry]) => [key, decodeEntry(entry, target)] as const);
      const wanted = entries.filter(([key, { kind }]) => unit.keys.has(key) && kind === unit.kind);
      for (const [key, entry] of wanted) cache.put(key, entry);
      return wanted.length;
    } catch (e) {
      if (!(e instanceof InputError)) throw e;
      this.count.refused++;
      this.tell(`an answer is refused: ${e.message}`);
      return null;
    }
  }
}
