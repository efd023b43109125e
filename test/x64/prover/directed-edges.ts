/** The same for rules across edges. */
import type { MBlock, MFunction } from "../../../lto/codegen/mir.js";
import { aluImm, baseDisp, copy, movImm } from "../../../lto/x64/isa/build.js";
import { jump } from "../../../lto/x64/isa/facts.js";
import { Cc, X } from "../../../lto/x64/isa/ops.js";
import { R15 } from "../../../lto/x64/isa/registers.js";
import type { Directed, End } from "./sequences.js";
import { allConditions, setOf, type Writer } from "./writer.js";

/** The same registers on both sides of an edge. */
const [a, b] = [0, 1];

function compareRegisters(w: Writer): void {
  w.put(w.make(X.Cmp, 4, [], [w.registers[a]!, w.registers[b]!]), allConditions);
}
function compareNumber(w: Writer, imm: number): void {
  const compare = w.make(X.Cmp, 4, [], [w.registers[a]!]);
  compare.imm = imm;
  w.put(compare, allConditions);
}
const define = (w: Writer, which: number): void => w.put(movImm(8, w.registers[which]!, w.immediateOf(4)));

/** Keeps a register's value where it is seen. */
function observe(w: Writer, register: number): void {
  const store = w.make(X.MovM, 8, [], [register]);
  store.mem = baseDisp(R15, 64);
  w.put(store);
}

/** A block that ends here, with its return to come. */
const endOf = (writer: Writer, block: MBlock): End => ({ writer, block });

/** Blocks after the one that is being written. */
const newBlocks = (mf: MFunction, count: number): MBlock[] =>
  Array.from({ length: count }, () => mf.newBlock());

export const directedEdges: Readonly<Record<string, Directed>> = {
  "drop-compare-of-all-paths": {
    write(w) {
      define(w, a);
      define(w, b);
      compareRegisters(w);
    },
    next(w) {
      if (w.random.oneIn(2)) compareRegisters(w);
      else w.put(w.make(X.Cmp, 4, [], [w.registers[b]!, w.registers[a]!]), allConditions);
      w.reader();
    },
  },
  "compare-neighbour": {
    write(w) {
      define(w, a);
      compareNumber(w, 4);
    },
    next(w) {
      compareNumber(w, w.random.pick([3, 5]));
      w.reader();
    },
  },
  "compare-loaded": {
    after: ["drop-compare-of-all-paths"],
    write(w) {
      define(w, a);
      w.unneeded.add(w.registers[b]!);
      const load = w.make(X.Mov, 4, [w.registers[b]!], []);
      load.mem = w.address();
      w.put(load);
      compareRegisters(w);
    },
    next(w) {
      compareRegisters(w);
      const set = w.make(X.Setcc, 1, [w.registers[b]!], []);
      set.condition = w.random.below(16);
      w.put(set, 0);
      w.put(movImm(8, w.registers[b]!, 0));
    },
  },
  "sink-to-test": {
    goal: "speed",
    write(w) {
      const counter = w.registers[a]!;
      w.unneeded.add(counter);
      define(w, a);
      w.put(aluImm(w.random.pick([X.Add, X.Sub, X.And]), 4, counter, w.immediateOf(4)), 0);
      const compare = w.make(X.Cmp, 4, [], [w.source(4)]);
      if (compare.uses[0]!.loc === counter) compare.uses[0]!.loc = R15;
      compare.imm = w.immediateOf(4);
      w.put(compare, allConditions);
    },
    blocks(mf, w) {
      const [first] = mf.blocks as [MBlock];
      const [tested, other, zero, not] = newBlocks(mf, 4) as [MBlock, MBlock, MBlock, MBlock];
      const counter = w.registers[a]!;
      const [inner, outer] = [w.next(), w.next()];
      w.finish(first, w.branch(tested), jump(other));
      inner.put(w.make(X.Test, 4, [], [counter, counter]), setOf(Cc.E, Cc.NE));
      const [onZero, onOther] = [inner.next(), inner.next()];
      inner.finish(tested, inner.branch(zero), jump(not));
      observe(onZero, counter);
      observe(onOther, counter);
      return [endOf(outer, other), endOf(onZero, zero), endOf(onOther, not)];
    },
  },
  "hoist-latch-copies": {
    goal: "speed",
    write(w) {
      define(w, a);
      w.unneeded.add(w.registers[b]!);
      const compare = w.make(X.Cmp, 4, [], [w.registers[a]!]);
      compare.imm = w.immediateOf(4);
      w.put(compare, allConditions);
    },
    blocks(mf, w) {
      const [first] = mf.blocks as [MBlock];
      const [exit, latch, head] = newBlocks(mf, 3) as [MBlock, MBlock, MBlock];
      const [leaves, repeats] = [w.next(), w.next()];
      w.finish(first, w.branch(exit), jump(latch));
      repeats.put(copy(8, w.registers[b]!, w.registers[a]!));
      const again = repeats.next();
      repeats.finish(latch, jump(head));
      observe(again, w.registers[b]!);
      return [endOf(leaves, exit), endOf(again, head)];
    },
  },
};
