/**
 * Random machine functions in SSA form: every operand constraint, calls, unwinding, loops (reducible or not),
 * critical edges without arguments, high pressure. The same seed gives the same function.
 */

import { type MBlock, MemOperand, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { isSingle, lowWord, noRegisters, setOfWords, single } from "../../lto/codegen/register-set.js";
import type { Target } from "../../lto/codegen/target.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { Random } from "../support/random.js";
import { calleeSaved, mockMachine, Op } from "./mock-target.js";

export interface Shape {
  readonly blocks: number;
  readonly instsPerBlock: number;
  readonly general: number;
  readonly vector: number;
  /** Probability of a call. */
  readonly calls: number;
  /** How far back operands reach: larger values live longer. */
  readonly reach: number;
}

export function generateFunction(seed: number, shape: Shape, machine: Target = mockMachine): MFunction {
  return new Generator(new Random(seed), shape, machine).build();
}

/**
 * A function of about `size` instructions: diamonds in a row, most of them inside of loops, with values that
 * live briefly, through a few diamonds, or through all of the function. Linear in `size`.
 */
export function generateLong(seed: number, size: number): MFunction {
  const random = new Random(seed);
  const fn = new MFunction({} as GlobalValue, "long", "minsize", mockMachine);
  let identity = 0;
  const recent: number[] = [];
  const forever: number[] = [];
  const work = (block: MBlock, uses: number[], defs: number): number[] => {
    const inst = new MInst(Op.Work, 8);
    inst.imm = ++identity;
    for (const use of uses) inst.uses.push(new RegOperand(use, noRegisters, inst.uses.length === 1));
    const results: number[] = [];
    for (let d = 0; d < defs; d++) {
      const vreg = fn.newVReg(0, 8);
      inst.defs.push(new RegOperand(vreg, noRegisters, false, d === 0 && uses.length > 1 ? 0 : -1));
      results.push(vreg);
    }
    block.insts.push(inst);
    return results;
  };
  const call = (block: MBlock): void => {
    const inst = new MInst(Op.Call, 8);
    inst.imm = ++identity;
    inst.clobbers = setOfWords(~((1 << 3) | (1 << 5) | 0xf000));
    for (let r = 0; r < 3; r++) inst.uses.push(new RegOperand(pick(), single(2 - r)));
    const result = fn.newVReg(0, 8);
    inst.defs.push(new RegOperand(result, single(0)));
    recent.push(result);
    block.insts.push(inst);
  };
  const pick = (): number =>
    random.chance(0.1)
      ? forever[random.below(forever.length)]!
      : recent[Math.max(0, recent.length - 1 - random.below(12))]!;
  const link = (from: MBlock, to: MBlock, args: number[] = []): void => {
    from.succs.push(to);
    from.succArgs.push(args.map((arg) => new RegOperand(arg)));
    to.preds.push(from);
  };
  const end = (block: MBlock): void => {
    const inst = new MInst(
      block.succs.length === 0 ? Op.Return : block.succs.length === 1 ? Op.Jump : Op.Branch,
      8,
    );
    inst.imm = ++identity;
    inst.targets = [...block.succs];
    block.insts.push(inst);
  };
  const fill = (block: MBlock, keep: boolean): void => {
    const count = 2 + random.below(6);
    for (let k = 0; k < count; k++) {
      if (keep && random.chance(0.12)) call(block);
      else {
        const results = work(block, [pick(), pick()], 1);
        if (keep) recent.push(...results);
      }
    }
  };
  let block = fn.newBlock();
  for (let k = 0; k < 6; k++) forever.push(...work(block, [], 1));
  recent.push(...forever);
  let header: MBlock | null = null;
  let before = 0;
  while (identity < size) {
    fill(block, true);
    const [left, right, join] = [fn.newBlock(), fn.newBlock(), fn.newBlock()];
    link(block, left);
    link(block, right);
    end(block);
    fill(left, false);
    fill(right, false);
    link(left, join, [pick(), pick()]);
    link(right, join, [pick(), pick()]);
    end(left);
    end(right);
    for (let p = 0; p < 2; p++) {
      const vreg = fn.newVReg(0, 8);
      join.params.push(new RegOperand(vreg));
      recent.push(vreg);
    }
    block = join;
    if (header === null) {
      if (random.chance(0.5)) {
        const initial = pick();
        header = fn.newBlock();
        link(block, header, [initial]);
        end(block);
        const counter = fn.newVReg(0, 8);
        header.params.push(new RegOperand(counter));
        recent.push(counter);
        before = counter;
        block = header;
      }
    } else if (random.chance(0.3)) {
      const [latch, exit] = [fn.newBlock(), fn.newBlock()];
      link(block, latch);
      link(block, exit);
      end(block);
      const [next] = work(latch, [before, before], 1);
      link(latch, header, [next!]);
      end(latch);
      block = exit;
      header = null;
    }
    if (recent.length > 64) recent.splice(0, 32);
  }
  for (const value of forever) work(block, [value], 0);
  end(block);
  fn.hasCalls = true;
  return fn;
}

class Generator {
  private readonly fn: MFunction;
  private dominators: Set<MBlock>[] = [];
  private readonly defined = new Map<MBlock, number[]>();
  private identity = 0;
  private readonly all: number[];

  constructor(
    private readonly random: Random,
    private readonly shape: Shape,
    machine: Target,
  ) {
    this.fn = new MFunction({} as GlobalValue, "generated", "minsize", machine);
    this.all = [(2 ** shape.general - 1) | 0, ((2 ** shape.vector - 1) << 16) | 0];
  }

  build(): MFunction {
    this.makeGraph();
    this.computeDominators();
    for (const block of this.fn.blocks) this.defined.set(block, []);
    for (const block of this.fn.blocks) this.addParams(block);
    // Dominators first: their values must exist before they are used.
    const order = [...this.fn.blocks].sort(
      (a, b) => this.dominatorsOf(a).size - this.dominatorsOf(b).size || a.id - b.id,
    );
    for (const block of order) this.fill(block);
    for (const block of this.fn.blocks) this.terminate(block);
    this.fn.hasCalls = true;
    return this.fn;
  }

  private makeGraph(): void {
    const { fn, random, shape } = this;
    const count = 1 + random.below(shape.blocks);
    const blocks = Array.from({ length: count }, () => fn.newBlock());
    const targets = new Map<MBlock, MBlock[]>();
    for (let b = 0; b < count; b++) {
      const list: MBlock[] = [];
      const kind = random.below(10);
      const pick = (): MBlock =>
        random.chance(0.75) && b + 1 < count
          ? blocks[Math.min(count - 1, b + 1 + random.below(3))]!
          : blocks[count > 1 ? 1 + random.below(count - 1) : 0]!;
      if (b + 1 < count || (kind > 3 && count > 1)) {
        list.push(b + 1 < count && kind < 8 ? blocks[b + 1]! : pick());
        if (kind > 2) list.push(pick());
        if (kind > 8) list.push(pick());
      }
      targets.set(blocks[b]!, [...new Set(list)]);
    }
    // Drop what cannot be reached.
    const reached = new Set<MBlock>([blocks[0]!]);
    const stack = [blocks[0]!];
    while (stack.length > 0) {
      for (const t of targets.get(stack.pop()!)!) {
        if (!reached.has(t)) {
          reached.add(t);
          stack.push(t);
        }
      }
    }
    fn.blocks = blocks.filter((block) => reached.has(block));
    for (const block of fn.blocks) {
      block.succs = targets.get(block)!;
      block.frequency = 1 + random.below(20);
      for (const succ of block.succs) succ.preds.push(block);
    }
    // Split most critical edges.
    for (const block of [...fn.blocks]) {
      for (let s = 0; s < block.succs.length; s++) {
        const succ = block.succs[s]!;
        if (block.succs.length < 2 || succ.preds.length < 2 || random.chance(0.25)) continue;
        const middle = fn.newBlock();
        middle.succs = [succ];
        middle.preds = [block];
        block.succs[s] = middle;
        succ.preds[succ.preds.indexOf(block)] = middle;
        if (random.chance(0.5)) {
          // Somewhere else in the layout.
          fn.blocks.pop();
          fn.blocks.splice(1 + random.below(fn.blocks.length), 0, middle);
        }
      }
    }
    this.makeLandingPads();
  }

  /** Some blocks with two successors end in a call that may unwind to the second. */
  private makeLandingPads(): void {
    for (const block of this.fn.blocks) {
      if (block.succs.length !== 2 || !this.random.chance(0.3)) continue;
      const pad = block.succs[1]!;
      if (pad.landingPad || pad.preds.some((pred) => pred.succs.length !== 2 || pred.succs[1] !== pad))
        continue;
      pad.landingPad = true;
    }
  }

  private dominatorsOf(block: MBlock): Set<MBlock> {
    return this.dominators[block.id]!;
  }

  private computeDominators(): void {
    const { blocks } = this.fn;
    for (const block of blocks) this.dominators[block.id] = new Set(blocks);
    this.dominators[blocks[0]!.id] = new Set([blocks[0]!]);
    for (let changed = true; changed; ) {
      changed = false;
      for (const block of blocks.slice(1)) {
        const [first, ...others] = block.preds;
        const common = new Set(
          [...this.dominatorsOf(first!)].filter((d) => others.every((p) => this.dominatorsOf(p).has(d))),
        );
        common.add(block);
        if (common.size !== this.dominatorsOf(block).size) {
          this.dominators[block.id] = common;
          changed = true;
        }
      }
    }
  }

  private newValue(block: MBlock, cls = this.random.chance(0.75) ? 0 : 1): number {
    const size = cls === 0 ? (this.random.chance(0.5) ? 4 : 8) : 16;
    const vreg = this.fn.newVReg(cls, size);
    this.defined.get(block)!.push(vreg);
    return vreg;
  }

  private addParams(block: MBlock): void {
    if (block.preds.length === 0) return;
    const critical = block.preds.some((p) => block.preds.length > 1 && p.succs.length > 1);
    if (critical || block.landingPad || this.random.chance(0.3)) return;
    const count = this.random.below(5);
    for (let p = 0; p < count; p++) block.params.push(new RegOperand(this.newValue(block)));
  }

  /** Values that may be used at the end of `block` as far as it has been filled. */
  private available(block: MBlock): number[] {
    const list: number[] = [];
    for (const dominator of this.dominatorsOf(block)) {
      if (dominator !== block) list.push(...this.defined.get(dominator)!);
    }
    list.push(...this.defined.get(block)!);
    return list;
  }

  private pick(values: readonly number[], cls: number): number {
    const { random, shape } = this;
    const fitting = values.filter((v) => this.fn.vregs[v]!.cls === cls);
    if (fitting.length === 0) return -1;
    if (random.chance(0.15)) return fitting[random.below(fitting.length)]!;
    return fitting[Math.max(0, fitting.length - 1 - random.below(shape.reach))]!;
  }

  private fill(block: MBlock): void {
    const { random, shape } = this;
    if (block === this.fn.blocks[0]) this.addEntry(block);
    if (block.landingPad) {
      const pad = this.create(Op.LandingPad);
      pad.clobbers = setOfWords(~calleeSaved);
      pad.extra = { kind: "landing-pad", cleanup: true, clauses: [] };
      pad.defs.push(
        new RegOperand(this.newValue(block, 0), single(0)),
        new RegOperand(this.newValue(block, 0), single(1)),
      );
      block.insts.push(pad);
    }
    const count = random.below(shape.instsPerBlock + 1);
    for (let k = 0; k < count; k++) {
      const values = this.available(block);
      if (random.chance(shape.calls)) this.addCall(block, values);
      else {
        const roll = random.below(100);
        if (roll < 12) this.addConstant(block);
        else if (roll < 24 && values.length > 0) this.addCopy(block, values);
        else this.addWork(block, values);
      }
    }
    if (block.succs.length === 2 && block.succs[1]!.landingPad) {
      this.addCall(block, this.available(block), block.succs[1]!);
    }
  }

  private create(op: Op): MInst {
    const inst = new MInst(op, 8);
    inst.imm = ++this.identity;
    return inst;
  }

  private addEntry(block: MBlock): void {
    const inst = this.create(Op.Work);
    const count = this.random.below(Math.min(4, this.shape.general) + 1);
    for (let r = 0; r < count; r++) inst.defs.push(new RegOperand(this.newValue(block, 0), single(r)));
    block.insts.push(inst);
  }

  private addConstant(block: MBlock): void {
    const inst = this.create(Op.Const);
    // Several registers often hold one constant.
    if (this.random.chance(0.5)) inst.imm = 1 + this.random.below(3);
    const vreg = this.newValue(block);
    inst.size = this.fn.vregs[vreg]!.size;
    inst.defs.push(new RegOperand(vreg));
    this.fn.vregs[vreg]!.remat = inst;
    block.insts.push(inst);
  }

  private addCopy(block: MBlock, values: readonly number[]): void {
    const from = values[this.random.below(values.length)]!;
    const { cls, size } = this.fn.vregs[from]!;
    const to = this.fn.newVReg(cls, cls === 0 && this.random.chance(0.2) ? 4 : size);
    const inst = new MInst(Op.Copy, Math.max(size, this.fn.vregs[to]!.size));
    inst.defs.push(new RegOperand(to));
    inst.uses.push(new RegOperand(from));
    block.insts.push(inst);
    this.defined.get(block)!.push(to);
  }

  private addCall(block: MBlock, values: readonly number[], unwind: MBlock | null = null): void {
    const { random, shape } = this;
    const inst = this.create(Op.Call);
    // Some callees change less than they may.
    inst.clobbers = setOfWords(~calleeSaved & (random.chance(0.3) ? random.below(2 ** 31) : -1));
    inst.extra = {
      kind: "call",
      callee: null,
      calleeSet: -1,
      noReturn: false,
      returnsTwice: random.chance(0.03),
      unwind,
      noUnwind: false,
      pushed: 0,
      hasStored: false,
    };
    const args = random.below(Math.min(4, shape.general) + 1);
    for (let r = 0; r < args; r++) {
      const value = this.pick(values, 0);
      if (value >= 0) inst.uses.push(new RegOperand(value, single(args - 1 - r)));
    }
    if (random.chance(0.3)) {
      const value = this.pick(values, 0);
      if (value >= 0 && shape.general > 4)
        inst.uses.push(new RegOperand(value, noRegisters, random.chance(0.5)));
    }
    if (random.chance(0.3) && shape.vector > 0) {
      const value = this.pick(values, 1);
      if (value >= 0) inst.uses.push(new RegOperand(value, single(16)));
    }
    block.insts.push(inst);
    // The results of a call that unwinds exist on its normal edge only.
    const user = unwind === null ? block : block.succs[0]!;
    if (unwind !== null && user.preds.length > 1) return;
    if (random.chance(0.7)) inst.defs.push(new RegOperand(this.newValue(user, 0), single(0)));
    if (random.chance(0.2)) inst.defs.push(new RegOperand(this.newValue(user, 1), single(16)));
  }

  private addWork(block: MBlock, values: readonly number[]): void {
    const { random, shape } = this;
    const inst = this.create(Op.Work);
    const uses = random.below(4);
    for (let u = 0; u < uses; u++) {
      const value = this.pick(values, random.chance(0.75) ? 0 : 1);
      if (value < 0) continue;
      const operand = new RegOperand(value);
      const cls = this.fn.vregs[value]!.cls;
      if (random.chance(0.15)) operand.allowed = setOfWords(this.single(cls));
      else if (random.chance(0.1)) operand.allowed = setOfWords(this.several(cls));
      else if (random.chance(0.3)) operand.mayBeSlot = true;
      inst.uses.push(operand);
    }
    if (random.chance(0.2)) {
      const base = this.pick(values, 0);
      const index = random.chance(0.5) ? this.pick(values, 0) : -1;
      if (base >= 0) {
        inst.mem = new MemOperand(new RegOperand(base), index >= 0 ? new RegOperand(index) : null);
        for (const use of inst.uses) use.mayBeSlot = false;
      }
    }
    const defs = random.below(3);
    for (let d = 0; d < defs; d++) {
      const tied = random.chance(0.4) && inst.uses.length > 0 ? random.below(inst.uses.length) : -1;
      if (tied >= 0 && !inst.defs.some((def) => def.tiedTo === tied)) {
        const use = inst.uses[tied]!;
        const def = new RegOperand(
          this.newValue(block, this.fn.vregs[use.vreg]!.cls),
          noRegisters,
          false,
          tied,
        );
        def.allowed = use.allowed;
        inst.defs.push(def);
        continue;
      }
      const def = new RegOperand(this.newValue(block));
      const cls = this.fn.vregs[def.vreg]!.cls;
      if (random.chance(0.15)) def.allowed = setOfWords(this.single(cls));
      else if (random.chance(0.1)) def.allowed = setOfWords(this.several(cls));
      else def.mayBeSlot = random.chance(0.1);
      if (random.chance(0.15)) {
        def.early = true;
        def.mayBeSlot = false;
      }
      inst.defs.push(def);
    }
    if (random.chance(0.1)) inst.clobbers = single(random.below(shape.general));
    if (inst.mem !== null) for (const def of inst.defs) def.mayBeSlot = false;
    if (!this.isSatisfiable(inst)) {
      inst.clobbers = noRegisters;
      for (const operand of [...inst.uses, ...inst.defs]) {
        operand.allowed = noRegisters;
      }
    }
    block.insts.push(inst);
  }

  private single(cls: number): number {
    const limit = cls === 0 ? this.shape.general : this.shape.vector;
    return 1 << (16 * cls + this.random.below(limit));
  }

  private several(cls: number): number {
    return this.single(cls) | this.single(cls) | this.single(cls);
  }

  /** Whether distinct registers exist for all operands at each of the instruction's points. */
  private isSatisfiable(inst: MInst): boolean {
    const before: number[] = [];
    const after: number[] = [];
    const fixed = new Map<number, number>();
    const uses = [...inst.uses];
    if (inst.mem !== null)
      for (const use of [inst.mem.base, inst.mem.index]) if (use !== null) uses.push(use);
    for (let u = 0; u < uses.length; u++) {
      const use = uses[u]!;
      const { cls } = this.fn.vregs[use.vreg]!;
      if (inst.defs.some((def) => def.tiedTo === u)) continue;
      const allowed = lowWord(use.allowed);
      const one = isSingle(use.allowed);
      if (one && fixed.has(allowed) && fixed.get(allowed) !== use.vreg) return false;
      if (one && fixed.has(allowed)) continue;
      if (one) fixed.set(allowed, use.vreg);
      before.push(allowed || this.all[cls]!);
    }
    for (const def of inst.defs) {
      const { cls } = this.fn.vregs[def.vreg]!;
      const mask =
        (lowWord(def.allowed) || this.all[cls]!) &
        ~(def.early || def.tiedTo >= 0 ? lowWord(inst.clobbers) : 0);
      if (mask === 0) return false;
      if (def.early || def.tiedTo >= 0) before.push(mask);
      after.push(mask);
    }
    return hasMatching(before) && hasMatching(after);
  }

  private terminate(block: MBlock): void {
    const values = this.available(block);
    const isInvoke = block.succs.length === 2 && block.succs[1]!.landingPad;
    const op =
      block.succs.length === 0 ? Op.Return : block.succs.length === 1 || isInvoke ? Op.Jump : Op.Branch;
    const inst = this.create(op);
    inst.targets = isInvoke ? [block.succs[0]!] : [...block.succs];
    if (op === Op.Branch && this.random.chance(0.3)) {
      const value = this.pick(values, 0);
      if (value >= 0) inst.uses.push(new RegOperand(value, noRegisters, this.random.chance(0.3)));
    }
    if (op === Op.Return) {
      const value = this.pick(values, 0);
      if (value >= 0) inst.uses.push(new RegOperand(value, single(0)));
    }
    block.insts.push(inst);
    for (const succ of block.succs) {
      const args: RegOperand[] = [];
      for (const param of succ.params) {
        const { cls, size } = this.fn.vregs[param.vreg]!;
        const fitting = values.filter((v) => this.fn.vregs[v]!.size === size);
        let value = fitting[this.random.below(fitting.length + 1)] ?? -1;
        if (value < 0) value = this.constantBefore(block, cls, size);
        args.push(new RegOperand(value));
      }
      block.succArgs.push(args);
    }
  }

  /** A constant at the start of `block` (after a landing pad's first instruction). */
  private constantBefore(block: MBlock, cls: number, size: number): number {
    const inst = this.create(Op.Const);
    const vreg = this.fn.newVReg(cls, size);
    inst.size = size;
    inst.defs.push(new RegOperand(vreg));
    if (this.random.chance(0.7)) this.fn.vregs[vreg]!.remat = inst;
    const first = block.insts[0];
    const keepsFirst = first !== undefined && (block === this.fn.blocks[0] || first.op === Op.LandingPad);
    block.insts.splice(keepsFirst ? 1 : 0, 0, inst);
    return vreg;
  }
}

/** Whether each mask can be given a register of its own (Kuhn's algorithm). */
function hasMatching(masks: readonly number[]): boolean {
  const owner = new Map<number, number>();
  const place = (m: number, seen: Set<number>): boolean => {
    for (let r = 0; r < 32; r++) {
      if (((masks[m]! >>> r) & 1) === 0 || seen.has(r)) continue;
      seen.add(r);
      const other = owner.get(r);
      if (other === undefined || place(other, seen)) {
        owner.set(r, m);
        return true;
      }
    }
    return false;
  };
  return masks.every((_, m) => place(m, new Set()));
}
