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
import { decodeBody } from "./body-decode.js";
import { encodeBody } from "./body-encode.js";
import { ByteReader, ByteWriter } from "./bytes.js";
import { readSymbolIndices } from "./pool.js";

export { decodeBody } from "./body-decode.js";
export { encodeBody } from "./body-encode.js";

/** A body that stays encoded until it is used. */
export class EncodedBody implements BodySource {
  /** @param originals the globals before any replacement, which own the blocks whose address is taken */
  constructor(
    readonly bytes: Uint8Array,
    readonly symbols: (index: number) => GlobalValue,
    readonly originals: (index: number) => GlobalValue = symbols,
  ) {}
  decode(fn: Func): Body {
    return decodeBody(this.bytes, fn, this.symbols, this.originals);
  }
  /** See `BodySource.remap`. */
  remap(map: (symbol: GlobalValue) => GlobalValue): EncodedBody {
    const { symbols } = this;
    return new EncodedBody(this.bytes, (index) => map(symbols(index)), this.originals);
  }
  /**
   * The body with its symbols numbered anew, without decoding it: only the symbol table in front changes.
   * Null when that is not possible, because a replaced function may have blocks whose address is taken, or a block
   * whose address is taken may be gone.
   */
  renumber(symbolIndex: (symbol: GlobalValue) => number): Uint8Array | null {
    const reader = new ByteReader(this.bytes);
    const indices = readSymbolIndices(reader);
    const out = new ByteWriter(this.bytes.length + indices.length + 8);
    out.uint(indices.length);
    for (const index of indices) {
      const symbol = this.symbols(index);
      const original = this.originals(index);
      if (original.kind === "function" && original.hasDroppedLabels) return null;
      if (symbol !== original && original.kind === "function" && !isPlainDeclaration(original)) return null;
      out.uint(symbolIndex(symbol));
    }
    out.raw(this.bytes.subarray(reader.pos));
    return out.finish();
  }
}

/**
 * The codec for bodies that were edited: the form of object files, with a numbering of globals of its own, which
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
  return {
    encode: (fn, body) => new EncodedBody(encodeBody(fn, numberOf, body), (index) => globals[index]!),
  };
}

/** Surely never had a body: a definition that lost keeps its linkage and comdat. */
const isPlainDeclaration = (fn: Func): boolean =>
  fn.isDeclaration && fn.comdat === null && (fn.linkage === "external" || fn.linkage === "extern_weak");

/** Numbers of the symbols that a body mentions, in order of first use, without decoding the body. */
export function bodySymbols(bytes: Uint8Array): number[] {
  return readSymbolIndices(new ByteReader(bytes));
}
