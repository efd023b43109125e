/**
 * Where the variables of a function are, at each instruction of its final code.
 *
 * Method: forwards data flow over two kinds of facts, like the symbolic checker of register allocation
 * (`regalloc/checker.ts`), with which it shares no code: which registers and spill slots hold which values, and which
 * value each variable is by the last mark on every way. A definition makes a new instance of its value: what held the old
 * one, and variables that were it, are known no more. Facts of several ways meet in what all of them say. Instructions
 * that steps made late name no values, so they only end facts.
 * Linear in the code times the iterations, and in blocks times values and variables.
 * Breaks if: an operand names a value that its instruction does not define.
 */
import { fragmentOf, withoutFragment } from "../../ir/debug-records.js";
import {
  isSlot,
  type Location,
  type MBlock,
  type MemOperand,
  type MFunction,
  type MInst,
  slotOf,
} from "../mir.js";
import { lowWord } from "../register-set.js";
import { OpFact } from "../target.js";
import { composed, locationBytes, ofAll, type ValuePlace } from "./expressions.js";
import { joined } from "./joined-parts.js";
import { type LocationTable, NumberList, type VariableList } from "./located-ranges.js";
import { lowestBit, lowestSlot, nowhere, registerPlaces, State } from "./location-state.js";
import { type FunctionMarks, type OneValue, partKey, partsOf, type VariableMark } from "./marks.js";

/** Beyond this much work no values are followed. */
const mostFacts = 1 << 24;
const noPlaces: number[] = [];

/** A variable, or a part of it, of one instance of its scope. */
interface Subject {
  readonly variable: number;
  readonly origin: number;
  readonly offset: number;
  /** Bits; infinite: all of it. */
  readonly size: number;
  /** Others of the same variable with bits in common. */
  overlaps: number[];
}

/** What is said of variables and parts of them that lie in the frame; null: it is contradictory. */
type Declarations = Map<string, Declared | null>;
interface Declared {
  readonly variable: number;
  readonly origin: number;
  /** Number of a location. */
  readonly location: number;
}

/** @param dwarfRegister the number of a register; -1 if it has none @param found variables are added to it */
export function locateVariables(
  mf: MFunction,
  marks: FunctionMarks,
  dwarfRegister: (register: number) => number,
  found: VariableList,
): void {
  new Locator(mf, marks, dwarfRegister, found).run();
}

type FollowedValue = Extract<OneValue, { kind: "value" }>;

/** Values that an instruction brings to a location. */
interface Move {
  to: Location;
  readonly values: NumberList;
}
const newMove = (): Move => ({ to: nowhere, values: new NumberList() });

/** A range that has begun, and the places that have been right since. */
interface Open {
  readonly from: number;
  readonly mark: number;
  readonly parts: readonly OneValue[];
  /** As in `State`, of each value that the mark names; none: the caller may know it. */
  readonly places: number[];
}

class Locator {
  private readonly subjects: Subject[] = [];
  private readonly subjectOf = new Map<string, number>();
  private readonly all: VariableMark[] = [];
  /** Subject of each mark, by number. */
  private readonly markSubjects: number[] = [];
  /** Marks that say the same have one number, so that it does not matter by which of them control comes. */
  private readonly markNumbers = new Map<VariableMark, number>();
  private readonly saidBefore = new Map<string, number>();
  /** Numbers of the values that each mark names, in its order. */
  private readonly markValues: (readonly number[])[] = [];
  /** Dense numbers of values that marks name. */
  private readonly numbers = new Map<number, number>();
  private readonly neededBytes: number[] = [];
  private readonly constant: boolean[] = [];
  /** Values that the caller may know, where the function does not. */
  private readonly isArrival: boolean[] = [];
  private readonly namers: number[][] = [];
  private readonly slotNumbers = new Map<number, number>();
  private readonly slots: number[] = [];
  private readonly loads = new Set<number>();
  private readonly stores = new Set<number>();
  private readonly swap: number;
  private words = 1;

  /** What each mark names, in its order. */
  private readonly markParts: (readonly OneValue[])[] = [];

  private readonly locations: LocationTable;
  private state!: State;
  /** Values that each location holds, in whatever order. */
  private holders: NumberList[] = [];
  /** Subjects that have to be looked at, once ranges are collected. */
  private readonly dirty = new NumberList();
  private isDirty: Uint8Array | null = null;
  /** Of the instruction that is executed; so many of them are in use. */
  private readonly moves: readonly Move[] = [newMove(), newMove()];
  private moveCount = 0;
  /** What an instruction stores. */
  private readonly stored = new NumberList();

  constructor(
    private readonly mf: MFunction,
    private readonly marks: FunctionMarks,
    private readonly dwarfRegister: (register: number) => number,
    private readonly found: VariableList,
  ) {
    this.locations = found.locations;
    const { registers } = mf.target;
    for (const cls of [0, 1])
      for (const size of [4, 8, 16]) {
        if (cls === 0 && size === 16) continue;
        this.loads.add(registers.load(cls, size, 0, 0).op);
        this.stores.add(registers.store(cls, size, 0, 0).op);
      }
    this.swap = registers.swap(0, 0, 1)?.op ?? -1;
  }

  run(): void {
    const declarations: Declarations = new Map();
    for (const block of this.mf.blocks)
      for (const inst of block.insts) {
        const marks = this.marks.before.get(inst);
        if (marks === undefined) continue;
        for (const mark of marks) {
          if (mark.kind !== "variable" || this.marks.forgotten.has(mark.variable)) continue;
          if (mark.isDeclaration && mark.of.kind === "slot") this.declare(mark, declarations);
          else this.note(mark);
        }
      }
    for (const declared of declarations.values())
      if (declared !== null) this.found.whole(declared.variable, declared.origin, declared.location);
    if (this.all.length === 0) return;
    const { length } = this.mf.blocks;
    const words = Math.floor((mostFacts / length - this.subjects.length) / Math.max(1, this.numbers.size));
    if (words < 1) return;
    this.findOverlaps();
    this.findSlots(registerPlaces * (words - 1));
    this.words = 1 + Math.ceil(this.slots.length / registerPlaces);
    const entry = this.solve();
    this.collect(entry);
  }

  /** A variable that lies in the frame for as long as the function runs: in one place, else it is not known where. */
  private declare(mark: VariableMark, declarations: Declarations): void {
    const place = mark.of.kind === "slot" ? this.placeOf(mark.of, -1, -1) : null;
    const bytes = place === null ? null : locationBytes([place], withoutFragment(mark.expression), true);
    const fragment = fragmentOf(mark.expression);
    const key = `${mark.variable} ${mark.origin} ${fragment?.offset ?? ""}`;
    if (bytes === null) return;
    const location = this.locations.number(
      fragment === null ? ofAll(bytes) : composed([{ ...fragment, bytes }]),
    );
    const known = declarations.get(key);
    if (known !== undefined) {
      if (known?.location !== location) declarations.set(key, null);
      return;
    }
    const { variable, origin } = mark;
    declarations.set(key, { variable, origin, location });
  }

  private note(mark: VariableMark): void {
    const fragment = fragmentOf(mark.expression);
    const { variable, origin, of } = mark;
    const offset = fragment?.offset ?? 0;
    const size = fragment?.size ?? Number.POSITIVE_INFINITY;
    const key = `${variable} ${origin} ${offset} ${size}`;
    let subject = this.subjectOf.get(key);
    if (subject === undefined) {
      this.subjectOf.set(key, (subject = this.subjects.length));
      this.subjects.push({ variable, origin, offset, size, overlaps: [] });
    }
    const parts = partsOf(of);
    let said = `${subject} ${mark.isDeclaration} ${mark.expression.join()}`;
    for (const part of parts) said += ` ${partKey(part)}`;
    const known = this.saidBefore.get(said);
    if (known !== undefined) {
      this.markNumbers.set(mark, known);
      return;
    }
    this.saidBefore.set(said, this.all.length);
    this.markNumbers.set(mark, this.all.length);
    this.all.push(mark);
    this.markSubjects.push(subject);
    this.markParts.push(parts);
    const values: number[] = [];
    for (const part of parts) if (part.kind === "value") values.push(this.noteValue(part, subject));
    this.markValues.push(values);
  }

  /** @returns the value's number */
  private noteValue({ value, bits }: FollowedValue, subject: number): number {
    let k = this.numbers.get(value);
    if (k === undefined) {
      this.numbers.set(value, (k = this.numbers.size));
      this.neededBytes.push(0);
      this.namers.push([]);
      this.constant.push(this.marks.constant.has(value));
      this.isArrival.push(this.isKnownOnEntry(value));
    }
    this.neededBytes[k] = Math.max(this.neededBytes[k]!, Math.ceil(bits / 8));
    if (!this.namers[k]!.includes(subject)) this.namers[k]!.push(subject);
    return k;
  }

  /** Subjects of each variable, which are parts of it. */
  private byVariable(): Iterable<readonly number[]> {
    const byVariable = new Map<string, number[]>();
    this.subjects.forEach(({ variable, origin }, s) => {
      const key = `${variable} ${origin}`;
      const list = byVariable.get(key);
      if (list === undefined) byVariable.set(key, [s]);
      else list.push(s);
    });
    return byVariable.values();
  }

  private findOverlaps(): void {
    for (const list of this.byVariable())
      for (const s of list) {
        const a = this.subjects[s]!;
        a.overlaps = list.filter((t) => {
          const b = this.subjects[t]!;
          return t !== s && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
        });
      }
  }

  /** Spill slots that are named, so many at most. */
  private findSlots(most: number): void {
    const add = (slot: number | undefined): void => {
      if (slot === undefined || this.slotNumbers.has(slot) || this.slots.length >= most) return;
      if (this.mf.slots[slot]?.kind !== "spill" || this.marks.slotPlaces[slot] == null) return;
      this.slotNumbers.set(slot, registerPlaces + this.slots.length);
      this.slots.push(slot);
    };
    for (const { insts } of this.mf.blocks)
      for (const inst of insts) if (inst.mem !== null && this.stores.has(inst.op)) add(this.slotIn(inst.mem));
  }

  /** The slot that an operand is, at its start. */
  private slotIn(mem: MemOperand): number | undefined {
    return this.marks.slotOf.get(mem);
  }

  // ── Data flow ──

  private solve(): Map<MBlock, State> {
    const { blocks } = this.mf;
    const entry = new Map<MBlock, State>();
    const empty = (): State => State.empty(this.words, this.numbers.size, this.subjects.length);
    this.state = empty();
    const queued = new Set<MBlock>();
    blocks.forEach((block, b) => {
      // Jumps to addresses of blocks have edges to all of them.
      if (b > 0 && !(block.addressTaken && block.preds.length === 0)) return;
      entry.set(block, empty());
      queued.add(block);
    });
    while (queued.size > 0)
      for (const block of blocks) {
        if (!queued.delete(block)) continue;
        this.enter(entry.get(block)!);
        for (const inst of block.insts) {
          this.takeMarks(inst);
          this.execute(inst);
        }
        for (const next of block.succs) {
          const known = entry.get(next);
          if (known === undefined) {
            const arriving = this.state.copy();
            if (next.landingPad) arriving.clearRegisters();
            entry.set(next, arriving);
          } else if (!known.meet(this.state, !next.landingPad)) continue;
          queued.add(next);
        }
      }
    for (const block of blocks) if (!entry.has(block)) entry.set(block, empty());
    return entry;
  }

  private enter(from: State): void {
    const { words, state } = this;
    state.become(from);
    const { places } = state;
    if (this.holders.length === 0)
      this.holders = Array.from({ length: registerPlaces * words }, () => new NumberList());
    else
      for (let location = 0; location < this.holders.length; location++) this.holders[location]!.length = 0;
    for (let k = 0, i = 0; i < places.length; k++)
      for (let w = 0; w < words; w++, i++)
        for (let rest = places[i]!; rest !== 0; rest &= rest - 1)
          this.holders[registerPlaces * w + 31 - Math.clz32(rest & -rest)]!.push(k);
  }

  private takeMarks(inst: MInst): void {
    const marks = this.marks.before.get(inst);
    if (marks === undefined) return;
    for (const mark of marks) {
      if (mark.kind === "place") {
        const k = this.numbers.get(mark.value);
        const location = this.numberOf(mark.location);
        this.clear(location);
        if (k === undefined) continue;
        this.beginInstance(k);
        if (mark.bytes >= this.neededBytes[k]!) this.hold(k, location);
        continue;
      }
      if (mark.kind === "label") continue;
      const number = this.markNumbers.get(mark);
      if (number === undefined) continue;
      const subject = this.markSubjects[number]!;
      this.setMark(subject, mark.of.kind === "unknown" ? nowhere : number);
      for (const other of this.subjects[subject]!.overlaps) this.setMark(other, nowhere);
    }
  }

  private setMark(subject: number, mark: number): void {
    if (this.state.marks[subject] === mark) return;
    this.state.marks[subject] = mark;
    this.setDirty(subject);
  }
  private setDirty(subject: number): void {
    if (this.isDirty === null || this.isDirty[subject] === 1) return;
    this.isDirty[subject] = 1;
    this.dirty.push(subject);
  }

  private numberOf(location: number): number {
    if (isSlot(location)) return this.slotNumbers.get(slotOf(location)) ?? nowhere;
    return location < registerPlaces ? location : nowhere;
  }
  private hold(k: number, location: number): void {
    if (location < 0) return;
    const { places } = this.state;
    const at = k * this.words + (location >> 5);
    if ((places[at]! & (1 << location)) !== 0) return;
    places[at]! |= 1 << location;
    this.holders[location]!.push(k);
    this.touch(k);
  }
  private clear(location: number): void {
    if (location < 0) return;
    const holders = this.holders[location]!;
    if (holders.length === 0) return;
    for (let i = 0; i < holders.length; i++) {
      const k = holders.items[i]!;
      this.state.places[k * this.words + (location >> 5)]! &= ~(1 << location);
      this.touch(k);
    }
    holders.length = 0;
  }
  /** What was the value is an older one. */
  private beginInstance(k: number): void {
    if (this.constant[k]) return;
    const { places, marks } = this.state;
    for (let w = 0; w < this.words; w++) {
      const at = k * this.words + w;
      for (let rest = places[at]!; rest !== 0; rest &= rest - 1)
        this.holders[registerPlaces * w + 31 - Math.clz32(rest & -rest)]!.remove(k);
      places[at] = 0;
    }
    const namers = this.namers[k]!;
    for (let i = 0; i < namers.length; i++) {
      const mark = marks[namers[i]!]!;
      if (mark !== nowhere && this.markValues[mark]!.includes(k)) this.setMark(namers[i]!, nowhere);
    }
    this.touch(k);
  }
  private touch(k: number): void {
    if (this.isDirty === null) return;
    const namers = this.namers[k]!;
    for (let i = 0; i < namers.length; i++) this.setDirty(namers[i]!);
  }

  private execute(inst: MInst): void {
    const { instructions } = this.mf.target;
    const fact = instructions.facts[inst.op]!;
    const { extra } = inst;
    if (extra?.kind === "unwind") return;
    const { defs, uses, mem } = inst;
    const slot = mem === null ? -1 : (this.slotNumbers.get(this.slotIn(mem) ?? -1) ?? -1);
    this.moveCount = 0;
    this.stored.length = 0;
    const kept = instructions.bytesKept(inst);
    if (mem === null) {
      if (kept > 0) this.move(this.numberOf(uses[0]!.loc), kept, defs[0]!.loc);
      else if (inst.op === this.swap && defs.length === 2 && uses.length === 2)
        for (let i = 0; i < 2; i++) this.move(this.numberOf(uses[i]!.loc), inst.size, defs[i]!.loc);
    } else if (slot >= 0) {
      if (defs.length === 1 && (kept > 0 || this.loads.has(inst.op)))
        this.move(slot, kept > 0 ? kept : inst.size, defs[0]!.loc);
      else if (this.stores.has(inst.op) && uses.length === 1)
        this.holdersOf(this.numberOf(uses[0]!.loc), inst.size, this.stored);
    }

    if (extra?.kind === "call" && extra.noReturn) for (let r = 0; r < registerPlaces; r++) this.clear(r);
    else if (extra?.kind === "call" && extra.returnsTwice) this.forgetAll();
    else if (!this.isMarkOnly(fact))
      for (let rest = lowWord(instructions.writes(inst)); rest !== 0; rest &= rest - 1)
        this.clear(lowestBit(rest));
    if (mem !== null) this.writeMemory(inst, fact, mem, slot);
    for (let i = 0; i < this.stored.length; i++) this.hold(this.stored.items[i]!, slot);
    for (let m = 0; m < this.moveCount; m++) {
      const { to, values } = this.moves[m]!;
      for (let i = 0; i < values.length; i++) this.hold(values.items[i]!, this.numberOf(to));
    }
    for (let i = 0; i < defs.length; i++) {
      const def = defs[i]!;
      if (def.vreg < 0 || isSlot(def.loc)) continue;
      const k = this.numbers.get(this.marks.rootOf(def.vreg));
      if (k === undefined || this.isMoved(k, def.loc)) continue;
      this.beginInstance(k);
      this.hold(k, this.numberOf(def.loc));
    }
    const left = this.marks.slotDefinitions.get(inst);
    if (left === undefined) return;
    const k = this.numbers.get(this.marks.rootOf(left));
    if (k === undefined) return;
    this.beginInstance(k);
    this.hold(k, slot);
  }

  /** What has no code changes nothing. */
  private isMarkOnly(fact: number): boolean {
    return (fact & (OpFact.Entry | OpFact.Undefined)) !== 0;
  }

  /** What a location holds of so many bytes or less comes to another one. */
  private move(from: number, bytes: number, to: Location): void {
    const move = this.moves[this.moveCount++]!;
    move.to = to;
    move.values.length = 0;
    this.holdersOf(from, bytes, move.values);
  }
  private isMoved(k: number, to: Location): boolean {
    for (let m = 0; m < this.moveCount; m++)
      if (this.moves[m]!.to === to && this.moves[m]!.values.includes(k)) return true;
    return false;
  }
  /** Adds what a location holds of so many bytes or less. */
  private holdersOf(location: number, size: number, found: NumberList): void {
    if (location < 0) return;
    const holders = this.holders[location]!;
    for (let i = 0; i < holders.length; i++)
      if (this.neededBytes[holders.items[i]!]! <= size) found.push(holders.items[i]!);
  }
  private forgetAll(): void {
    for (let location = 0; location < this.holders.length; location++) this.clear(location);
    for (let s = 0; s < this.subjects.length; s++) this.setMark(s, nowhere);
  }

  /** Slots that an instruction may write. */
  private writeMemory(inst: MInst, fact: number, mem: MemOperand, slot: number): void {
    const isRead = (fact & (OpFact.ReadsMemory | OpFact.TakesAddress)) !== 0 || this.loads.has(inst.op);
    if (isRead && (fact & OpFact.Store) === 0) return;
    if (slot >= 0) {
      this.clear(slot);
      return;
    }
    // Some other slot, or an object of the frame.
    if (this.slotIn(mem) !== undefined) return;
    const { registers } = this.mf.target;
    const base = mem.base?.loc ?? -1;
    const isFrame =
      base === registers.stackPointer ||
      (base === registers.framePointer && this.mf.framePointer) ||
      this.isBase(base) ||
      mem.slot >= 0;
    if (isFrame) for (let s = 0; s < this.slots.length; s++) this.clear(registerPlaces + s);
  }
  private isBase(register: number): boolean {
    return register >= 0 && this.marks.slotPlaces.some((place) => place !== null && place.base === register);
  }

  // ── Ranges ──

  private collect(entry: ReadonlyMap<MBlock, State>): void {
    const count = this.subjects.length;
    const ranges: number[][] = this.subjects.map(() => []);
    const open: (Open | null)[] = this.subjects.map(() => null);
    this.isDirty = new Uint8Array(count);
    let at = 0;
    let called: MInst | null = null;
    for (const block of this.mf.blocks) {
      this.enter(entry.get(block)!);
      for (let s = 0; s < count; s++)
        if (open[s] !== null || this.state.marks[s] !== nowhere) this.setDirty(s);
      for (const inst of block.insts) {
        this.takeMarks(inst);
        for (let i = 0; i < this.dirty.length; i++) {
          const s = this.dirty.items[i]!;
          this.isDirty[s] = 0;
          this.settle(s, at, called, open, ranges);
        }
        this.dirty.length = 0;
        this.execute(inst);
        called = inst.extra?.kind === "call" ? inst : null;
        at++;
      }
    }
    for (let s = 0; s < count; s++) {
      this.state.marks[s] = nowhere;
      this.settle(s, at, called, open, ranges);
    }
    this.compose(ranges);
  }

  private settle(
    s: number,
    at: number,
    called: MInst | null,
    open: (Open | null)[],
    ranges: readonly number[][],
  ): void {
    const before = open[s]!;
    const mark = this.state.marks[s]!;
    if (before !== null && before.mark === mark && this.goOn(before)) return;
    if (before !== null && before.from < at) this.close(before, at, called, ranges[s]!);
    open[s] = mark === nowhere ? null : this.placesOf(mark, at);
  }

  /**
   * Whether each value that had places has some of them left, and the others have none still. What has been right all along
   * is chosen once the range ends.
   */
  private goOn({ mark, places }: Open): boolean {
    const { words } = this;
    const now = this.state.places;
    const values = this.markValues[mark]!;
    let isLess = false;
    for (let i = 0; i < values.length; i++) {
      let had = 0;
      let has = 0;
      let both = 0;
      for (let w = 0; w < words; w++) {
        const a = places[i * words + w]!;
        const b = now[values[i]! * words + w]!;
        had |= a;
        has |= b;
        both |= a & b;
        if ((a & ~b) !== 0) isLess = true;
      }
      if (had === 0 ? has !== 0 : both === 0) return false;
    }
    if (!isLess) return true;
    for (let i = 0; i < values.length; i++)
      for (let w = 0; w < words; w++) places[i * words + w]! &= now[values[i]! * words + w]!;
    return true;
  }

  private close(open: Open, to: number, called: MInst | null, ranges: number[]): void {
    const { from, mark, parts, places } = open;
    let isKept = true;
    let used = 0;
    let next = 0;
    let single = nowhere;
    const found: ValuePlace[] = [];
    for (let p = 0; p < parts.length; p++) {
      const part = parts[p]!;
      let register = nowhere;
      let slot = nowhere;
      if (part.kind === "value") {
        const own = places[next]!;
        // Rather one that the call leaves alone.
        const kept = own & ~(called === null ? 0 : this.changedBy(called));
        slot = lowestSlot(places, next + 1, (next += this.words));
        if (kept === 0 && slot < 0 && own !== 0) isKept = false;
        register = lowestBit(kept !== 0 ? kept : slot >= 0 ? 0 : own);
        if (register >= 0) used |= 1 << register;
      }
      if (parts.length === 1) {
        single = this.singleLocation(mark, part, register, slot);
        break;
      }
      const place = this.placeOf(part, register, slot);
      if (place === null) return;
      found.push(place);
    }
    const location = parts.length === 1 ? single : this.locationOf(mark, found);
    if (location !== nowhere) ranges.push(from, to, isKept ? 0 : 1, location, used);
  }

  /** Of a mark whose parts are there: a number of the table; nowhere: it cannot be said. */
  private locationOf(mark: number, places: readonly ValuePlace[]): number {
    const { expression, isDeclaration } = this.all[mark]!;
    const bytes = locationBytes(places, withoutFragment(expression), isDeclaration);
    return bytes === null ? nowhere : this.locations.number(ofAll(bytes));
  }

  /** The same of a mark with one part; most marks are, and are found in the same places again. */
  private singleLocation(mark: number, part: OneValue, register: number, slot: number): number {
    const choice = register >= 0 ? 1 + register : slot >= 0 ? 1 + registerPlaces + slot : 0;
    const key = mark * (2 + this.words * registerPlaces) + choice;
    let location = this.singleLocations.get(key);
    if (location === undefined) {
      const place = this.placeOf(part, register, register >= 0 ? nowhere : slot);
      location = place === null ? nowhere : this.locationOf(mark, [place]);
      this.singleLocations.set(key, location);
    }
    return location;
  }
  private readonly singleLocations = new Map<number, number>();

  /** Registers that hold nothing while a call runs. */
  private changedBy(call: MInst): number {
    if (call.extra?.kind === "call" && call.extra.noReturn) return -1;
    return lowWord(this.mf.target.instructions.writes(call));
  }

  /** The places of a mark's values; null: one of them has none, or nothing is known. */
  private placesOf(mark: number, from: number): Open | null {
    const values = this.markValues[mark]!;
    const parts = this.markParts[mark]!;
    if (values.length === 0) return { from, mark, parts, places: noPlaces };
    const { words } = this;
    // Typed arrays of a word or two would cost several times as much.
    const places: number[] = [];
    for (let i = 0; i < values.length; i++) {
      let has = 0;
      for (let w = 0; w < words; w++) {
        const own = this.state.places[values[i]! * words + w]!;
        places.push(own);
        has |= own;
      }
      if (has === 0 && !this.isArrival[values[i]!]!) return null;
    }
    return { from, mark, parts, places };
  }

  private isKnownOnEntry(value: number): boolean {
    const register = this.marks.arrivals.get(value) ?? -1;
    const isGeneral = register >= 0 && register < this.mf.target.registers.generalCount;
    return isGeneral && this.dwarfRegister(register) >= 0;
  }

  /** @param register of the value; -1: it is in a slot, by its place in `slots`, or was somewhere on entry */
  private placeOf(of: OneValue, register: number, slot: number): ValuePlace | null {
    switch (of.kind) {
      case "constant":
        return of;
      case "slot": {
        const at = this.marks.slotPlaces[of.slot] ?? null;
        return at === null ? null : { kind: "address", at };
      }
      case "value": {
        if (register >= 0) {
          const number = this.dwarfRegister(register);
          return number < 0 ? null : { kind: "register", register: number, bits: of.bits };
        }
        if (slot < 0) {
          const arrival = this.dwarfRegister(this.marks.arrivals.get(of.value) ?? -1);
          return arrival < 0 ? null : { kind: "arrival", register: arrival, bits: of.bits };
        }
        const at = this.marks.slotPlaces[this.slots[slot]!] ?? null;
        return at === null ? null : { kind: "memory", at, bits: of.bits };
      }
    }
  }

  /** Joins the parts of each variable. */
  private compose(ranges: readonly number[][]): void {
    for (const list of this.byVariable()) {
      const { variable, origin } = this.subjects[list[0]!]!;
      const isWhole = list.length === 1 && this.subjects[list[0]!]!.size === Number.POSITIVE_INFINITY;
      const rows = isWhole
        ? ranges[list[0]!]!
        : joined(
            list.map((s) => ({ subject: this.subjects[s]!, rows: ranges[s]! })),
            this.locations,
          );
      this.found.add(variable, origin, rows);
    }
  }
}
