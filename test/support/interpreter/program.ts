/**
 * Functions as observers see them: run on generated arguments and memory, with calls of unknown functions recorded.
 * Two forms of a function are the same if on every input they do the same to memory, call the same functions with the
 * same arguments, and return the same. Where the first does something undefined, the second may do anything.
 */
import type { Func, GlobalValue, GlobalVariable, Module } from "../../../lto/ir/module.js";
import type { Type } from "../../../lto/ir/types.js";
import type { Random } from "../random.js";
import { bitWidth, wrap } from "./bits.js";
import { type Code, globalsAt, Interpreter, type Val, type World } from "./interpreter.js";
import { CLibrary } from "./libc.js";
import { refinesMemory } from "./memory.js";
import { Undefined } from "./scalar-ops.js";

/** Memory that pointer arguments point into, at the start of the interpreter's. */
const argumentBytes = 2048;
const functionsAt = 0x100000n;
const blocksAt = 0x200000n;

/** Whether what was seen of a second form is allowed by what was seen of the first: poison may become anything. */
export function refines(first: Behaviour, second: Behaviour, withResults: boolean): boolean {
  const same = (a: Val, b: Val): boolean =>
    a === null ||
    (Array.isArray(a) ? Array.isArray(b) && a.every((element, i) => same(element, b[i]!)) : a === b);
  return (
    refinesMemory(first.memory, second.memory) &&
    first.events.join("\n") === second.events.join("\n") &&
    (!withResults || first.results.every((result, i) => same(result, second.results[i]!)))
  );
}

/** What a run showed. */
export interface Behaviour {
  readonly results: readonly Val[];
  /** Argument memory and global variables; bytes of poison are "..". */
  readonly memory: string;
  readonly events: readonly string[];
}

export interface Input {
  readonly args: readonly Val[];
  readonly memory: Uint8Array;
}

/** Arguments and memory; small and special numbers among others. */
export function randomInput(fn: Func, random: Random): Input {
  const memory = Uint8Array.from({ length: argumentBytes }, () => random.below(256));
  return { args: fn.args.map((argument) => randomValue(argument.type, random)), memory };
}

function randomValue(type: Type, random: Random): Val {
  switch (type.kind) {
    case "int":
    case "float":
    case "double": {
      const kind = random.below(4);
      if (kind === 0) return wrap(BigInt(random.below(5)), bitWidth(type));
      if (kind === 1) return wrap(-BigInt(random.below(5)), bitWidth(type));
      let bits = 0n;
      for (let i = 0; i < 4; i++) bits = (bits << 32n) | BigInt(random.bits());
      return wrap(bits, bitWidth(type));
    }
    case "ptr":
      // Not null, which claims about pointers may exclude.
      return BigInt(64 * (1 + random.below(argumentBytes / 64 / 2)));
    case "vector":
      return Array.from({ length: type.count }, () => randomValue(type.element, random));
    case "array":
      return Array.from({ length: type.count }, () => randomValue(type.element, random));
    case "struct":
      return type.elements.map((element) => randomValue(element, random));
    default:
      throw new Error(`no random value of type ${type}`);
  }
}

/** Functions have the same address in all forms of a program, whichever are left. */
const numbers = new Map<string, number>();
function numberOf(name: string): number {
  let number = numbers.get(name);
  if (number === undefined) numbers.set(name, (number = numbers.size));
  return number;
}

/** Unknown code was called that does not return. */
class Stopped extends Error {}

class RecordingWorld implements World {
  readonly events: string[] = [];
  private library: CLibrary | null = null;
  private readonly addresses = new Map<GlobalValue, bigint>();
  private readonly functions = new Map<bigint, Func>();
  /** After all variables, and after those that are not local, which come first. */
  readonly end: number;
  readonly visibleEnd: number;

  constructor(
    private readonly module: Module,
    private readonly bodies: ReadonlyMap<string, Code>,
  ) {
    for (const fn of module.functions) {
      const address = functionsAt + 16n * BigInt(numberOf(fn.name));
      this.addresses.set(fn, address);
      this.functions.set(address, fn);
    }
    let next = globalsAt;
    const place = (variable: GlobalVariable): void => {
      this.addresses.set(variable, BigInt(next));
      next += Math.ceil(module.dataLayout.allocSize(variable.valueType) / 16) * 16;
    };
    for (const variable of module.variables) if (!variable.isLocal) place(variable);
    this.visibleEnd = next;
    for (const variable of module.variables) if (variable.isLocal) place(variable);
    this.end = next;
  }

  /** Writes initialisers. */
  fill(interpreter: Interpreter): void {
    this.library = new CLibrary(interpreter.store, this.events);
    for (const global of this.module.variables)
      if (global.initializer !== null)
        interpreter.storeType(
          global.valueType,
          interpreter.value(global.initializer),
          Number(this.addressOf(global)),
        );
  }
  addressOf(global: GlobalValue): bigint {
    const address = this.addresses.get(global);
    if (address === undefined) throw new Error(`interpreter: address of ${global.kind} @${global.name}`);
    return address;
  }
  code(fn: Func): Code | undefined {
    return this.bodies.get(fn.name);
  }
  functionAt(address: bigint): Func | undefined {
    return this.functions.get(address);
  }
  hasType(address: bigint, type: string): boolean {
    return [...this.module.functions, ...this.module.variables].some((global) =>
      global.typeIds.some(
        ({ name, offset }) => name === type && this.addressOf(global) + BigInt(offset) === address,
      ),
    );
  }
  addressOfLabel(label: number): bigint {
    return blocksAt + BigInt(label);
  }
  callUnknown(fn: Func, args: readonly Val[], result: Type): Val {
    // What is poison may be anything afterwards, so there is nothing to compare.
    if (args.includes(null)) throw new Undefined("poison is passed to unknown code");
    if (this.library !== null && args.every((arg) => typeof arg === "bigint")) {
      const done = this.library.call(fn.name, args as bigint[], result, () => this.answer(result));
      if (done !== undefined) return done;
    }
    this.events.push(`${fn.name}(${args.map(shown).join(", ")})`);
    if (fn.attributes.fn.has("noreturn")) throw new Stopped();
    return result.kind === "void" ? null : this.answer(result);
  }
  /** A result that depends on how many calls there were. */
  private answer(type: Type): Val {
    if (type.kind === "struct") return type.elements.map((element) => this.answer(element));
    if (type.kind === "array" || type.kind === "vector")
      return Array.from({ length: type.count }, () => this.answer(type.element));
    if (type.kind === "ptr") return 64n;
    return wrap(0x9e3779b97f4a7c15n * BigInt(this.events.length), bitWidth(type));
  }
}

function shown(value: Val): string {
  return Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : String(value);
}

/** The bodies of a module's functions, by name. */
export const codeOf = (module: Module): Map<string, Code> =>
  new Map(
    module.functions
      .filter((fn) => !fn.isDeclaration)
      .map((fn) => [fn.name, { body: fn.view(), args: fn.args }]),
  );

/**
 * Runs a function.
 * @param bodies of all functions
 * @param input arguments in the order of those of the body
 * @param seesLocal whether local variables count among what a run leaves behind
 * @param frozen the bits that `freeze` makes of poison; null: that is undefined
 * @returns null if it does something undefined
 */
export function behaviourOf(
  module: Module,
  bodies: ReadonlyMap<string, Code>,
  name: string,
  input: Input,
  mode: "exact" | "machine",
  seesLocal = true,
  frozen: bigint | null = null,
): Behaviour | null {
  const world = new RecordingWorld(module, bodies);
  const interpreter = new Interpreter(module.dataLayout, mode, world);
  const { body, args } = bodies.get(name)!;
  interpreter.memory.set(input.memory);
  interpreter.frozen = frozen;
  interpreter.store.holdsPoison = mode === "exact";
  try {
    world.fill(interpreter);
    let results: Val[] = [];
    try {
      results = interpreter.run(
        body,
        args.map((argument, i) => [argument, input.args[i]!]),
      );
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    const { store } = interpreter;
    return {
      results,
      memory: `${store.shown(0, argumentBytes)}|${store.shown(globalsAt, seesLocal ? world.end : world.visibleEnd)}`,
      events: world.events,
    };
  } catch (error) {
    if (error instanceof Undefined) return null;
    throw error;
  }
}
