/**
 * The body codec: a function body as compact bytes that decode without the rest of the module.
 *
 * The same form lies in object files, is sent to workers (a `Uint8Array`, so it can be transferred) and is
 * hashed for caches. Layout: the pool (`pool.ts`), then the instructions in block order with operands as
 * distances (`instruction-layout.ts`); OBJECT.md has it byte by byte. Both directions are linear in the
 * size of the body. The encoding is canonical: equal bodies (structurally equal types, constants and
 * attributes) of functions in the same symbol numbering have equal bytes.
 */
import type { Body } from "../../lto/ir/instructions.js";
import type { BodyCodec, BodySource, Func, GlobalValue } from "../../lto/ir/module.js";
import { decodeBody, decodeIn } from "./body-decode.js";
import { encodeBody, encodeIn } from "./body-encode.js";
import { ByteReader, ByteWriter } from "./bytes.js";
import { renumberedRecords } from "./debug-records.js";
import {
  type ModuleNumbers,
  type ModuleTables,
  moduleNumbers,
  moduleTables,
  type Pool,
  PoolWriter,
  readOutside,
  renumberedOrigins,
  writeOutside,
} from "./pool.js";

export { decodeBody } from "./body-decode.js";
export { encodeBody } from "./body-encode.js";

/** A body that stays encoded until it is used. */
export class EncodedBody implements BodySource {
  constructor(
    readonly bytes: Uint8Array,
    readonly module: ModuleTables,
  ) {}
  decode(fn: Func): Body {
    return decodeBody(this.bytes, fn, this.module);
  }
  /** See `BodySource.remap`. */
  remap(map: (symbol: GlobalValue) => GlobalValue): EncodedBody {
    return new EncodedBody(this.bytes, remapped(this.module, map));
  }
  /**
   * The body with what it mentions numbered anew, without decoding it: only the tables in front change.
   * Null when that is not possible, because a replaced function may have blocks whose address is taken, or a block
   * whose address is taken may be gone; or because it lists a symbol that it does not use, and that is gone.
   */
  renumber(fn: Func, numbers: ModuleNumbers): Uint8Array | null {
    const { bytes, module } = this;
    const reader = new ByteReader(bytes);
    const outside = readOutside(reader);
    const symbols: number[] = [];
    for (const index of outside.symbols) {
      const symbol = module.symbols(index);
      const original = module.originals(index);
      if (original.kind === "function" && original.hasDroppedLabels) return null;
      if (symbol !== original && original.kind === "function" && !isPlainDeclaration(original)) return null;
      if (numbers.knows?.(symbol) === false) return null;
      symbols.push(numbers.symbol(symbol));
    }
    const callees = outside.callees.map((index) => {
      const callee = index === 0 ? null : module.symbols(index - 1);
      return callee?.kind === "function" ? 1 + numbers.callee(callee) : 0;
    });
    const tags = outside.tags.map((index) => numbers.tag(module.tags(index)));
    const origins = renumberedOrigins(outside.origins, (index) => numbers.origin(module.origins(index, fn)));
    const [variable] = outside.records;
    const areWanted = variable !== undefined && module.variables(variable) >= 0;
    const records = renumberedRecords(
      areWanted ? outside.records : [],
      (index) => numbers.variable(module.variables(index)),
      (index) => (index === 0 ? 0 : numbers.origin(module.origins(index, fn))),
    );
    const count = symbols.length + callees.length + tags.length + origins.length + records.length;
    const out = new ByteWriter(bytes.length + 2 * count + 8);
    writeOutside(out, { symbols, callees, tags, origins, records });
    out.raw(bytes.subarray(reader.pos));
    return out.finish();
  }
}

/** The tables of a module in which each global has been replaced. */
export const remapped = (
  { symbols, ...rest }: ModuleTables,
  map: (symbol: GlobalValue) => GlobalValue,
): ModuleTables => ({ symbols: (index) => map(symbols(index)), ...rest });

/**
 * The codec for bodies that were edited and may leave the process or be hashed: the form of object files, with a numbering of globals of its own, which
 * grows by what the bodies mention. One instance serves a program.
 */
export function bodyCodec(): BodyCodec {
  const globals: GlobalValue[] = [];
  const numbers = new Map<GlobalValue, number>();
  const numberOf = (global: GlobalValue): number => {
    let number = numbers.get(global);
    if (number === undefined) {
      number = globals.length;
      numbers.set(global, number);
      globals.push(global);
    }
    return number;
  };
  const numbering = moduleNumbers(numberOf);
  const tables = moduleTables((index) => globals[index]!);
  return {
    isPortable: true,
    encode: (fn, body) => new EncodedBody(encodeBody(fn, numbering, body), tables),
  };
}

/** A body of a program in one process: what it mentions are objects in a pool that all of them share. */
export class RestingBody implements BodySource {
  constructor(
    private readonly bytes: Uint8Array,
    private readonly pool: Pool,
  ) {}
  decode(fn: Func): Body {
    return decodeIn(this.pool, this.bytes, fn);
  }
}

/**
 * The codec for bodies that do not leave the process: types, constants and attributes neither become bytes nor come back
 * as copies. Links of SQLite take 0.95 of the processor time with it. What is equal becomes one object, as in `bodyCodec`.
 */
export function inMemoryCodec(): BodyCodec {
  const pool = new PoolWriter();
  const entries = pool.entries();
  return {
    isPortable: false,
    encode: (fn, body) => new RestingBody(encodeIn(pool, fn, body), entries),
  };
}

/** Surely never had a body: a definition that lost keeps its linkage and comdat. */
const isPlainDeclaration = (fn: Func): boolean =>
  fn.isDeclaration && fn.comdat === null && (fn.linkage === "external" || fn.linkage === "extern_weak");

/** Numbers of the symbols that a body mentions, in order of first use, without decoding the body. */
export function bodySymbols(bytes: Uint8Array): readonly number[] {
  return readOutside(new ByteReader(bytes)).symbols;
}
