/**
 * The unchecked way to change a body: instructions and blocks with writable lists.
 *
 * For whoever makes bodies (decoders, parsers) and whoever consumes them (legalisation and selection, which own
 * what `Func.take` gave them). Such bodies keep no use lists (`Body.uses` is null); every other change goes through
 * the body's editor, which keeps them current. Nothing here costs anything: only types differ.
 */
import type { Block, Inst } from "./instructions.js";
import type { Value } from "./values.js";

/** An instruction with writable lists. */
export interface RawInst {
  operands: Value[];
  blocks: Block[];
}
/** A block with a writable list. */
export interface RawBlock {
  insts: Inst[];
}

export function raw(of: Inst): RawInst;
export function raw(of: Block): RawBlock;
export function raw(of: Inst | Block): RawInst | RawBlock {
  return of as unknown as RawInst | RawBlock;
}
