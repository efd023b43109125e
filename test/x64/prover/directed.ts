/** For each rule of the peepholes what it is for, written with random operands: what proves that the rule can be applied, and right. */
import { MInst } from "../../../lto/codegen/mir.js";
import { aluImm, aluReg, baseDisp, copy, lea, movImm, physical } from "../../../lto/x64/isa/build.js";
import { signedImmediate } from "../../../lto/x64/isa/lengths.js";
import { memory } from "../../../lto/x64/isa/memory-operand.js";
import { AccessMark, Cc, X } from "../../../lto/x64/isa/ops.js";
import { R13, R15, RAX, RBP, RSP, XMM0 } from "../../../lto/x64/isa/registers.js";
import { directedEdges } from "./directed-edges.js";
import type { Directed } from "./sequences.js";
import { allConditions, ofResult, setOf, type Writer, withoutCarry } from "./writer.js";

const extension = (w: Writer, op: X, size: number, to: number, from: number): void =>
  w.put(w.make(op, size, [to], [from]));

/** A register without bits above the low byte. */
function narrow(w: Writer, register: number): void {
  extension(w, X.Movzx8, 4, register, w.source(1));
}

function storeOf(w: Writer, size: number, disp: number, imm: number): MInst {
  const store = new MInst(X.MovM, size);
  store.mem = baseDisp(R15, disp);
  store.imm = imm;
  store.marks = AccessMark.Plain;
  w.put(store);
  return store;
}

/** A comparison of a register with a number. */
function compareWith(w: Writer, size: number, register: number, imm: number): void {
  const compare = w.make(X.Cmp, size, [], [register]);
  compare.imm = imm;
  w.put(compare, allConditions);
}
const testSelf = (w: Writer, size: number, register: number): void =>
  w.put(w.make(X.Test, size, [], [register, register]), allConditions);

/** Writes an instruction without mention of flags that were there. */
const unread = (w: Writer, inst: MInst): void => w.put(inst, 0);

const direct: Readonly<Record<string, Directed>> = {
  "merge-constant-stores": {
    write(w) {
      const size = w.random.pick([1, 1, 2, 4]);
      for (let n = 0; n < 2 + w.random.below(3); n++)
        storeOf(w, size, 8 + n * size, size === 4 ? 0 : w.immediateOf(size));
    },
  },
  "drop-known-copy": {
    write(w) {
      const [a, b] = w.two();
      w.source(8);
      w.put(movImm(8, a, 7));
      w.put(copy(8, b, a));
      if (w.random.oneIn(2)) w.put(copy(8, a, b));
      else w.put(copy(8, b, a));
    },
  },
  "narrow-copy": {
    write(w) {
      const [a, b] = w.two();
      narrow(w, a);
      w.put(copy(8, b, a));
    },
  },
  "drop-extension": {
    write(w) {
      const [a, b] = w.two();
      narrow(w, a);
      const op = w.random.pick([X.Movzx8, X.Movzx16, X.Movsxd]);
      extension(w, op, op === X.Movsxd ? 8 : 4, w.random.oneIn(2) ? a : b, a);
    },
  },
  "drop-known-constant": {
    write(w) {
      const to = w.register();
      const value = w.immediateOf(4);
      w.put(movImm(4, to, value));
      w.put(movImm(4, to, value));
    },
  },
  "constant-from-register": {
    goal: "minsize",
    write(w) {
      const [a, b] = w.two();
      w.put(movImm(4, a, 1000));
      w.put(movImm(4, b, 1000 + w.random.pick([0, 1, 100, 127, -128])));
    },
  },
  "constant-in-low-byte": {
    goal: "minsize",
    pushes: false,
    write(w) {
      const a = w.register();
      narrow(w, a);
      w.put(movImm(4, a, 2 + w.random.below(200)));
    },
  },
  "store-from-register": {
    goal: "minsize",
    write(w) {
      const size = w.random.pick([2, 4, 8]);
      w.put(movImm(8, w.register(), 1000));
      storeOf(w, size, 8, 1000);
    },
  },
  "test-by-number": {
    goal: "minsize",
    write(w) {
      const size = w.random.pick([2, 4, 4, 8]);
      const test = w.make(X.Test, size, [], [w.source(size)]);
      test.imm = signedImmediate(1 << w.random.below(Math.min(size * 8, size === 8 ? 31 : 32)), size);
      w.put(test, setOf(Cc.E, Cc.NE));
    },
  },
  "change-by-number": {
    goal: "minsize",
    write(w) {
      const size = w.random.pick([4, 8]);
      const op = w.random.pick([X.Or, X.And, X.Xor]);
      const mask = 1 << w.random.below(size === 8 ? 31 : 32);
      w.put(aluImm(op, size, w.source(size), op === X.And ? ~mask : mask), 0);
    },
  },
  "drop-zeroed-vector": {
    write(w) {
      w.put(w.make(X.XorpsZero, 16, [XMM0], []));
      w.put(w.make(X.XorpsZero, 16, [XMM0], []));
    },
  },
  "narrow-logic": {
    write(w) {
      const [a, b] = w.two();
      narrow(w, a);
      narrow(w, b);
      w.put(aluReg(w.random.pick([X.And, X.Or, X.Xor]), 8, a, b), allConditions);
    },
  },
  "narrow-test": {
    write(w) {
      const a = w.register();
      narrow(w, a);
      testSelf(w, 8, a);
      w.reader();
    },
  },
  "narrow-compare": {
    write(w) {
      const [a, b] = w.two();
      narrow(w, a);
      narrow(w, b);
      w.put(w.make(X.Cmp, 8, [], [a, b]), allConditions);
      w.reader();
    },
  },
  "drop-dead": {
    write(w) {
      const a = w.register();
      w.put(copy(8, a, w.source(8)));
      w.put(movImm(8, a, 5));
    },
  },
  "drop-test-of-result": {
    write(w) {
      const size = w.size();
      const a = w.source(size);
      w.put(aluReg(w.random.pick([X.Add, X.Sub, X.And, X.Or]), size, a, w.source(size)), allConditions);
      testSelf(w, size, a);
      w.reader();
    },
  },
  "drop-test-of-memory": {
    write(w) {
      const size = w.random.pick([1, 2, 4, 8]);
      const change = new MInst(w.random.pick([X.AddM, X.SubM, X.AndM]), size);
      change.mem = baseDisp(R15, 8);
      change.imm = w.immediateOf(Math.min(size, 4));
      w.put(change, allConditions);
      const isExtended = size < 4 && (size === 2 || w.random.oneIn(2));
      const load = w.make(
        isExtended ? (size === 1 ? X.Movzx8 : X.Movzx16) : X.Mov,
        isExtended ? 4 : size,
        [w.register()],
        [],
      );
      load.mem = baseDisp(R15, 8);
      load.marks = AccessMark.Reload;
      w.put(load);
      testSelf(w, size, load.defs[0]!.loc);
      if (w.random.oneIn(2)) w.unneeded.add(load.defs[0]!.loc);
      w.reader();
    },
  },
  "drop-repeated-compare": {
    write(w) {
      const size = w.size();
      const a = w.source(size);
      const imm = w.immediateOf(size);
      compareWith(w, size, a, imm);
      const move = aluReg(X.Cmov, 4, ...otherThan(w, a));
      move.condition = w.random.below(16);
      if (move.defs[0]!.loc !== a) w.put(move);
      compareWith(w, size, a, imm);
      w.reader();
    },
  },
  "add-of-copy": {
    write(w) {
      const [a, d] = w.two();
      const size = w.random.pick([4, 8]);
      w.put(copy(8, d, a));
      const op = w.random.pick([X.Add, X.Sub, X.Inc, X.Dec, X.Shl]);
      const imm = op === X.Shl ? 1 : w.immediateOf(4);
      const inst = op === X.Add && w.random.oneIn(2) ? aluReg(op, size, d, a) : aluImm(op, size, d, imm);
      if (op === X.Inc || op === X.Dec) inst.imm = null;
      unread(w, inst);
    },
  },
  "compute-in-place": {
    write(w) {
      const [a, d] = w.two();
      const size = w.random.pick([4, 8]);
      const op = w.random.pick([X.Add, X.And, X.Or, X.Xor, X.Imul, X.Cmov]);
      const made = aluReg(op, size, d, a);
      if (op === X.Cmov) {
        // Its condition turns round.
        compareWith(w, 4, d, w.immediateOf(4));
        made.condition = w.random.below(16);
        w.put(made);
      } else w.put(made, allConditions);
      w.put(copy(size === 4 && w.random.oneIn(2) ? 8 : size, a, d));
      w.put(movImm(8, d, w.immediateOf(4)));
    },
  },
  "shifts-by-extension": {
    write(w) {
      const a = w.source(8);
      const size = w.random.pick([4, 8]);
      const count = size === 4 ? w.random.pick([16, 24]) : w.random.pick([32, 48, 56]);
      unread(w, aluImm(X.Shl, size, a, count));
      unread(w, aluImm(count === 32 ? X.Sar : w.random.pick([X.Sar, X.Shr]), size, a, count));
    },
  },
  "zero-before-set": {
    write(w) {
      const [a, b] = w.two();
      const to = w.random.oneIn(2) ? a : b;
      const size = w.size();
      const compared = w.registers.filter((register) => register !== to && register !== a);
      const [c] = compared;
      if (c === undefined) return;
      w.put(movImm(8, c, w.immediateOf(4)));
      compareWith(w, size, c, w.immediateOf(size));
      const set = w.make(X.Setcc, 1, [a], []);
      set.condition = w.random.below(16);
      w.put(set);
      extension(w, X.Movzx8, 4, to, a);
    },
  },
  "extend-original": {
    write(w) {
      const [a, d] = w.two();
      w.put(movImm(8, a, w.immediateOf(4)));
      w.put(copy(8, d, a));
      const op = w.random.pick([X.Movzx8, X.Movzx16, X.Movsx8, X.Movsx16, X.Movsxd]);
      extension(w, op, op === X.Movsxd ? 8 : 4, d, d);
    },
  },
  "zero-by-xor": { write: (w) => w.put(movImm(w.random.pick([4, 8]), w.register(), 0)) },
  "constant-by-push": {
    goal: "minsize",
    pushes: true,
    write: (w) => w.put(movImm(w.random.pick([4, 8]), w.register(), w.random.below(256) - 128)),
  },
  "ones-by-or": {
    goal: "minsize",
    pushes: false,
    write: (w) => w.put(movImm(w.random.pick([4, 8]), w.register(), -1)),
  },
  "one-by-increment": {
    goal: "minsize",
    pushes: false,
    write: (w) => w.put(movImm(w.random.pick([4, 8]), w.register(), 1)),
  },
  "byte-over-zero": {
    goal: "minsize",
    pushes: false,
    write: (w) => w.put(movImm(w.random.pick([4, 8]), w.register(), 2 + w.random.below(254))),
  },
  "add-by-increment": {
    write(w) {
      const one = w.random.pick([1, -1]);
      const size = w.size();
      if (w.random.oneIn(2))
        return w.put(aluImm(w.random.pick([X.Add, X.Sub]), size, w.source(size), one), ofResult);
      const inst = new MInst(w.random.pick([X.AddM, X.SubM]), size);
      inst.mem = w.address();
      inst.imm = one;
      w.put(inst, ofResult);
    },
  },
  "add-byte-negated": {
    write(w) {
      const size = w.random.pick([2, 4, 8]);
      if (w.random.oneIn(2))
        return w.put(aluImm(w.random.pick([X.Add, X.Sub]), size, w.source(size), 128), withoutCarry);
      const inst = new MInst(w.random.pick([X.AddM, X.SubM]), size);
      inst.mem = w.address();
      inst.imm = 128;
      w.put(inst, withoutCarry);
    },
  },
  "compare-by-test": {
    write(w) {
      const size = w.size();
      compareWith(w, size, w.source(size), 0);
      w.reader();
    },
  },
  "compare-byte-bound": {
    write(w) {
      const size = w.random.pick([2, 4, 8]);
      compareWith(w, size, w.source(size), w.random.pick([128, -129]));
      w.reader();
    },
  },
  "test-low-byte": {
    write(w) {
      const size = w.random.pick([2, 4, 8]);
      const test = w.make(X.Test, size, [], [w.source(size)]);
      test.imm = w.random.below(256);
      w.put(test, allConditions);
      w.reader();
    },
  },
  "test-low-half": {
    write(w) {
      const test = w.make(X.Test, 8, [], [w.source(8)]);
      test.imm = w.random.pick([256, 0x1000, 0x7fffffff]);
      w.put(test, allConditions);
      w.reader();
    },
  },
  "mask-by-extension": {
    write: (w) => unread(w, aluImm(X.And, w.random.pick([4, 8]), w.source(8), w.random.pick([0xff, 0xffff]))),
  },
  "narrow-mask": {
    write: (w) => w.put(aluImm(X.And, 8, w.source(8), w.random.pick([1, 127, 0x7fffffff])), allConditions),
  },
  "lea-by-copy": {
    write(w) {
      const base = w.random.oneIn(8) ? RSP : w.source(8);
      // The stack pointer is one in both runs.
      w.put(lea(8, w.register(), baseDisp(base, 0)));
    },
  },
  "lea-by-add": {
    write(w) {
      const a = w.source(8);
      const b = w.source(8);
      const size = w.random.pick([4, 8]);
      if (w.random.oneIn(2)) w.put(lea(size, a, baseDisp(a, w.immediateOf(4))));
      else w.put(lea(size, w.random.pick([a, b]), memory(physical(a), physical(b))));
    },
  },
  "index-as-base": {
    write(w) {
      const scale = w.random.pick([1, 2] as const);
      w.put(lea(8, w.register(), memory(null, physical(w.source(8)), scale, w.immediateOf(4))));
    },
  },
  "exchange-base-and-index": {
    write(w) {
      const [base] = w.registers.filter((register) => register === RBP || register === R13);
      if (base === undefined) return;
      w.put(movImm(8, base, 16));
      w.put(lea(8, w.register(), memory(physical(base), physical(w.source(8)))));
    },
  },
  "extend-rax": {
    write(w) {
      if (!w.registers.includes(RAX)) return;
      w.put(movImm(8, RAX, w.immediateOf(4)));
      if (w.random.oneIn(2)) extension(w, X.Movsxd, 8, RAX, RAX);
      else extension(w, X.Movsx16, 4, RAX, RAX);
    },
  },
  "store-by-mask": {
    goal: "minsize",
    write: (w) => void storeOf(w, w.random.pick([2, 4, 8]), 16, w.random.pick([0, -1])),
  },
  "copy-by-exchange": {
    goal: "minsize",
    write(w) {
      const [a] = w.registers.filter((register) => register !== RAX);
      if (!w.registers.includes(RAX) || a === undefined) return;
      const [to, from] = w.random.oneIn(2) ? [a, RAX] : [RAX, a];
      const size = w.random.pick([4, 8]);
      w.put(copy(size, to, from));
      // The source is dead.
      w.put(movImm(8, from, 3));
    },
  },
  "copy-by-push": {
    goal: "minsize",
    pushes: true,
    write(w) {
      const [a, d] = w.two();
      w.put(copy(8, d, a));
    },
  },
  ...directedEdges,
};

/** Destination and source of a conditional move that leave a register alone. */
function otherThan(w: Writer, register: number): [number, number] {
  const [other] = w.registers.filter((candidate) => candidate !== register);
  return [other ?? register, other ?? register];
}

export const directed: ReadonlyMap<string, Directed> = new Map(Object.entries(direct));
