/** What each loop does to memory: its operations that may write, and whether they may change what a load reads. */
import type { DataLayout } from "../../ir/data-layout.js";
import { hasFixedContents } from "../../ir/fold/load.js";
import { HintFlag } from "../../ir/hints.js";
import { type Inst, Op } from "../../ir/instructions.js";
import { mayWrite } from "../../ir/memory-effects.js";
import type { Loop, Loops } from "../loops/loop.js";
import { isFrameOwn, mayModify } from "../memory/alias.js";
import { Access, type MemoryOperation, type MemoryOperations } from "../memory/operations.js";

/** Loads of one loop times writes: beyond it nothing is asked. */
const mostPairs = 20000;

const mayChange = (operation: MemoryOperation): boolean =>
  operation.access === Access.Call ? mayWrite(operation.effects) : operation.access !== Access.Load;

export class LoopMemory {
  private readonly writesOf = new Map<Loop, readonly MemoryOperation[]>();
  private pairs = 0;
  private found: MemoryOperations | null = null;

  /** @param findOperations called when somebody asks for the first time */
  constructor(
    readonly loops: Loops,
    private readonly layout: DataLayout,
    private readonly findOperations: () => MemoryOperations,
  ) {}
  get memory(): MemoryOperations {
    this.found ??= this.findOperations();
    return this.found;
  }

  /** Operations of a loop in the order of its blocks. */
  operations(loop: Loop): MemoryOperation[] {
    const { operations, starts } = this.memory;
    const found: MemoryOperation[] = [];
    for (const { id } of loop.blocks)
      for (let i = starts[id]!; i < starts[id + 1]!; i++) found.push(operations[i]!);
    return found;
  }
  writes(loop: Loop): readonly MemoryOperation[] {
    let writes = this.writesOf.get(loop);
    if (writes === undefined) this.writesOf.set(loop, (writes = this.operations(loop).filter(mayChange)));
    return writes;
  }
  of(inst: Inst): MemoryOperation | null {
    const number = this.memory.numbers[inst.id]!;
    return number < 0 ? null : this.memory.operations[number]!;
  }

  /** Whether nothing in a loop writes what a plain load reads, whose address is the same in all rounds. */
  isUnchanged(load: Inst, loop: Loop): boolean {
    if (load.hints?.has(HintFlag.InvariantLoad) === true) return true;
    const access = this.of(load);
    if (access === null || access.access !== Access.Load) return false;
    const { base } = access;
    if (base.valueKind === "global" && base.kind === "variable" && hasFixedContents(base)) return true;
    const writes = this.writes(loop);
    this.pairs += writes.length;
    if (this.pairs > mostPairs) return false;
    for (let i = 0; i < writes.length; i++)
      if (mayModify(writes[i]!, access, this.memory, true)) return false;
    return true;
  }

  /** Whether a load cannot trap wherever it stands, nor break what it says of its alignment. */
  isAlwaysReadable(load: Inst): boolean {
    const access = this.of(load);
    if (access === null || load.op !== Op.Load || access.base !== access.anchor) return false;
    const { base, offset, size } = access;
    if (offset < 0 || Number.isNaN(size)) return false;
    const { layout } = this;
    if (base.valueKind === "inst") {
      if (base.op !== Op.Alloca || !isFrameOwn(access, this.memory)) return false;
      const count = base.operands[0]!;
      if (count.valueKind !== "int" || count.value !== 1n) return false;
      return (
        offset + size <= layout.allocSize(base.data.allocatedType) &&
        isAligned(offset, base.data.align, load.data.align)
      );
    }
    if (base.valueKind !== "global" || base.kind !== "variable") return false;
    if (base.isDeclaration || base.linkage === "extern_weak" || base.threadLocal !== "none") return false;
    // Another definition may take its place, with fewer bytes.
    if (!base.isLocal) return false;
    return (
      offset + size <= layout.allocSize(base.valueType) &&
      isAligned(offset, base.align === 0 ? layout.abiAlign(base.valueType) : base.align, load.data.align)
    );
  }
}

const isAligned = (offset: number, align: number, wanted: number): boolean =>
  align % wanted === 0 && offset % wanted === 0;
