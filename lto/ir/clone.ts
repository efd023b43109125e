/**
 * Copies of blocks and bodies, with a map from what was copied to its copy.
 *
 * Copies keep flags, data and hints of the instructions, calls all of theirs. What the map does not know stays: arguments and
 * values from outside of the copied blocks, and their addresses. Linear in what is copied.
 *
 * Copies of blocks have no addresses: what jumps to an address reaches the original. So code that can jump to an
 * address must not be copied (`jumpsToAddresses`).
 */

import { AliasScope, type ScopeList } from "./hints/scopes.js";
import { type Hints, withHints } from "./hints.js";
import { Block, Body, type BodyView, copyInst, type Inst, Op } from "./instructions.js";
import { raw } from "./raw.js";
import type { Value } from "./values.js";

/** Originals and copies. The numbers of the original body (`Body.renumber`) must stay while the map is in use. */
export class CloneMap {
  private readonly insts: Inst[] = [];
  private readonly blocks: Block[] = [];
  private readonly scopes = new Map<AliasScope, AliasScope>();

  /** @param args what stands for each argument; those left out stand for themselves */
  constructor(readonly args: readonly (Value | undefined)[] = []) {}

  addInst(original: Inst, copy: Inst): void {
    this.insts[original.id] = copy;
  }
  addBlock(original: Block, copy: Block): void {
    this.blocks[original.id] = copy;
  }
  /** The copy of an instruction, what an argument stands for, or the value itself. */
  value(of: Value): Value {
    if (of.valueKind === "inst") return this.insts[of.id] ?? of;
    if (of.valueKind === "argument") return this.args[of.index] ?? of;
    return of;
  }
  block(of: Block): Block {
    return this.blocks[of.id] ?? of;
  }
  /**
   * Hints for a copy: alias scopes are others, the same ones for all copies by this map. What two executions of
   * one access touch may well overlap.
   */
  hints(of: Hints): Hints | null {
    if (of.scopes === null && of.noalias === null) return of;
    return withHints(of, { scopes: this.scopeList(of.scopes), noalias: this.scopeList(of.noalias) });
  }
  private scopeList(list: ScopeList | null): ScopeList | null {
    if (list === null) return null;
    return list.map((scope) => {
      let copy = this.scopes.get(scope);
      if (copy === undefined) this.scopes.set(scope, (copy = new AliasScope(scope.domain, scope.name)));
      return copy;
    });
  }
}

/**
 * Copies blocks of a numbered body: the copies are in no body yet, and not in any use lists; `Editor.adopt` puts them
 * into one. Phis keep entries of blocks that were not copied.
 */
export function cloneBlocks(blocks: readonly Block[], map: CloneMap): Block[] {
  const copies = blocks.map((block) => {
    const copy = new Block();
    map.addBlock(block, copy);
    return copy;
  });
  const made: [Inst, Inst][] = [];
  for (let b = 0; b < blocks.length; b++)
    for (const inst of blocks[b]!.insts) {
      const copy = copyInst(inst, [], []);
      if (copy.hints !== null) copy.hints = map.hints(copy.hints);
      map.addInst(inst, copy);
      made.push([inst, copy]);
      copies[b]!.append(copy);
    }
  for (const copy of copies) copy.trim();
  for (const [inst, copy] of made) {
    setLists(copy, inst, map);
    if (inst.debug !== null)
      copy.debug = inst.debug.map((record) => record.copy(record.values.map((value) => map.value(value))));
  }
  return copies;
}

function setLists(copy: Inst, inst: Inst, map: CloneMap): void {
  const lists = raw(copy);
  lists.operands = inst.operands.map((operand) => map.value(operand));
  if (inst.blocks.length > 0) lists.blocks = inst.blocks.map((block) => map.block(block));
}

/** Copies one instruction; it is in no block. */
export function cloneInst(inst: Inst, map: CloneMap): Inst {
  const copy = copyInst(
    inst,
    inst.operands.map((operand) => map.value(operand)),
    inst.blocks.map((block) => map.block(block)),
  );
  if (copy.hints !== null) copy.hints = map.hints(copy.hints);
  return copy;
}

/**
 * Copies a body, for another function of the same signature or for one whose arguments the map replaces. Numbers the
 * original.
 */
export function cloneBody(body: BodyView, map: CloneMap): Body {
  body.renumber();
  const copy = new Body();
  copy.blocks = cloneBlocks(body.blocks, map);
  copy.hasDebug = body.hasDebug;
  return copy;
}

/** Whether something in these blocks jumps to the address of a block. */
export const jumpsToAddresses = (blocks: readonly Block[]): boolean =>
  blocks.some(({ terminator }) => terminator.op === Op.IndirectBr || terminator.op === Op.CallBr);
