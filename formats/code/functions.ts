/**
 * The functions of an object file as control-flow graphs of decoded instructions.
 *
 * A function is what a sized symbol of a code section covers. Branches that stay inside are edges; calls, and
 * jumps that leave, are sites. Control that goes on after the last instruction enters the next function: that is a jump of
 * no length. An indirect jump goes to every address inside of the function that data or other instructions mention (entries
 * of tables, label addresses), or to the entries of one table when code in the same block mentions it. Entries of
 * position-independent tables are relative to the table, whose start is the nearest address before that is mentioned;
 * those of one or two bytes are distances from an address that the code mentions after the table. Entries that only their
 * own jumps read are no targets of other jumps: those of tables that nothing mentions but such jumps, if the entries are
 * relative (nobody else can add them to the right address) or the jumps read them from memory (so that no register holds one).
 * Linear in code and relocations, but for the searches by address.
 */

import { indirectRoutines } from "./convention.js";
import type { InstructionDecoder, MachineInst } from "./decode.js";
import { Flow, goesOn, isImplied, jumpOfNoLength } from "./decode.js";
import { CodeWithEpilogues, isEpilogue } from "./epilogues.js";
import { type FrameInfo, type FrameRow, readFrameInfo, rowsFrom } from "./frame-info.js";
import { R_X86_64_PC32, R_X86_64_PLT32, tablesOfLabels } from "./label-tables.js";
import type { CodeObject, CodeRelocation, CodeSection } from "./object.js";
import { isPadding, lastOfCode } from "./padding.js";
import { firstAfter, firstAt, instructionAt, startedAt } from "./search.js";
import { type SiteUnwind, unwinding } from "./site-unwind.js";

/** Where a call or jump goes. */
export interface SiteTarget {
  /** Index of a function of the object that surely is what runs; -1 if that is not known. */
  readonly fn: number;
  /** Symbol or function, for messages; "" for an indirect target. */
  readonly name: string;
}

export type SiteKind = "call" | "tail" | "jump";

export interface CallSite {
  /** Index of the instruction. */
  readonly at: number;
  /** `jump`: a jump inside of the function; whether a jump leaves is a guess until claims tell. */
  readonly kind: SiteKind;
  readonly target: SiteTarget;
  /** Of a jump that may stay inside: the instructions it can go to. */
  readonly landings: readonly number[];
  /** Of a call in a function that the unwinder knows. */
  readonly unwind: SiteUnwind | null;
}

export interface CodeFunction {
  readonly index: number;
  readonly names: readonly string[];
  readonly section: number;
  readonly start: number;
  readonly end: number;
  /** Unknown code may enter it: its symbol is not local, or its address is taken. */
  readonly open: boolean;
  /** How often something outside of the function mentions its entry. */
  readonly mentions: number;
  readonly insts: readonly MachineInst[];
  /** Offset of each instruction in the function. */
  readonly offsets: Int32Array;
  /** Edges of branches: instructions that control may go to besides the next one. */
  readonly branches: ReadonlyMap<number, readonly number[]>;
  /** Sites in order of address. */
  readonly sites: readonly CallSite[];
  /** Instructions that indirect jumps may reach. */
  readonly landings: readonly number[];
  /** How the unwinder finds its frame; null if it has no description. */
  readonly rows: readonly FrameRow[] | null;
}

export interface ObjectFunctions {
  readonly functions: readonly CodeFunction[];
  /** What could not be understood, one message each. */
  readonly problems: readonly string[];
}

/** Relocation types of entries of the global offset table, System V ABI AMD64 table 4.10. */
const viaGot = new Set([9, 41, 42]);

interface Range {
  readonly index: number;
  readonly names: string[];
  readonly section: number;
  readonly start: number;
  readonly end: number;
  open: boolean;
  mentions: number;
  /** Names of it that may be another definition's when the program runs. */
  readonly replaceable: string[];
}

/**
 * @param interposable visible global definitions may be replaced at load time (shared libraries)
 * @param follower the function that one may go on to after its last instruction; "": none, undefined: nobody knows
 */
export function readFunctions(
  object: CodeObject,
  decoder: InstructionDecoder,
  interposable: boolean,
  follower: (symbol: string) => string | undefined = () => undefined,
): ObjectFunctions {
  return new Reader(object, decoder, interposable, follower).run();
}

/** An entry of a table: an address in a function. */
interface TableEntry {
  readonly range: Range;
  readonly offset: number;
  /** It is stored as a distance from the table. */
  readonly isRelative: boolean;
}

/** An instruction that mentions an address. */
interface Mention {
  readonly range: Range;
  readonly inst: number;
}

/** An address inside of a function that instructions mention. */
interface Label {
  readonly range: Range;
  readonly offset: number;
  readonly mentions: Mention[];
}

/** A jump by the entries of a table. */
interface TableJump {
  readonly landings: readonly number[];
  /** Instructions that mention the table, or the code that entries count from. */
  readonly mentions: readonly number[];
}

interface Decoded {
  readonly insts: readonly MachineInst[];
  readonly offsets: Int32Array;
  /** Relocation inside of each instruction that has one. */
  readonly relocations: ReadonlyMap<number, CodeRelocation>;
}

class Reader {
  private readonly ranges: Range[] = [];
  /** Ranges of each section by address. */
  private readonly bySection = new Map<number, Range[]>();
  private readonly decoded: (Decoded | null)[] = [];
  private readonly problems: string[] = [];
  private readonly frames = new Map<Range, FrameInfo>();
  /** Addresses inside of functions that something mentions, by function. */
  private readonly interior: Set<number>[] = [];
  /** The same of addresses that are in tables which only their own jumps read. */
  private readonly jumpedTo: Set<number>[] = [];
  /** Entries of tables by section and start of the table. */
  private readonly tables = new Map<string, TableEntry[]>();
  /** Instructions that mention data, by section and address. */
  private readonly mentions = new Map<string, Mention[]>();
  /** Addresses of data that data mentions. */
  private readonly pointedTo = new Set<string>();
  /** Instructions that mention addresses inside of functions, by function and address. */
  private readonly labels = new Map<string, Label>();
  /** Indirect jumps by a table, by function and instruction. */
  private readonly tableJumps = new Map<string, TableJump>();
  /** Addresses of data that code mentions, by section. */
  private readonly mentioned = new Map<number, number[]>();
  /** Addresses that symbols have, by section. */
  private readonly named = new Map<number, number[]>();

  constructor(
    private readonly object: CodeObject,
    private readonly decoder: InstructionDecoder,
    private readonly interposable: boolean,
    private readonly follower: (symbol: string) => string | undefined,
  ) {}

  run(): ObjectFunctions {
    this.findRanges();
    for (const info of readFrameInfo(this.object)) this.assignFrames(info);
    for (const range of this.ranges) this.decoded.push(this.decode(range));
    this.ranges.forEach((range, i) => {
      this.noteCodeReferences(range, this.decoded[i]!);
    });
    for (const section of this.object.sections)
      if (section.executable) this.noteOtherCode(section);
      else this.notePointers(section);
    for (const { section, value } of this.object.symbols) append(this.named, section, value);
    for (const places of [this.mentioned, this.named])
      for (const list of places.values()) list.sort((a, b) => a - b);
    for (const section of this.object.sections) this.noteDataReferences(section);
    this.findTableJumps();
    const functions: CodeFunction[] = [];
    this.ranges.forEach((range, i) => {
      const decoded = this.decoded[i]!;
      const isFunction = decoded !== null && !isEpilogue(decoded.insts);
      functions.push(isFunction ? this.graph(range, decoded) : emptyFunction(range));
    });
    return { functions, problems: this.problems };
  }

  /** A description without exception table may cover several functions. */
  private assignFrames(info: FrameInfo): void {
    const end = info.table === null ? info.start + info.size : info.start + 1;
    for (const range of this.bySection.get(info.section) ?? []) {
      if (range.start < info.start || range.start >= end) continue;
      const rows = rowsFrom(info.rows, range.start - info.start, range.end - range.start);
      this.frames.set(range, { ...info, rows });
    }
  }

  private findRanges(): void {
    const { sections, symbols } = this.object;
    for (const symbol of symbols) {
      const section = sections[symbol.section];
      if (section === undefined || !section.executable || symbol.kind !== "function") continue;
      const end = symbol.value + symbol.size;
      if (symbol.size === 0 || end > section.bytes.length) continue;
      // The number of a type before a function, which looks like code and which nothing runs.
      if (symbol.name.startsWith("__cfi_")) continue;
      let list = this.bySection.get(section.index);
      if (list === undefined) this.bySection.set(section.index, (list = []));
      let range = list.find((r) => r.start === symbol.value && r.end === end);
      if (range === undefined) {
        range = {
          index: this.ranges.length,
          names: [],
          section: section.index,
          start: symbol.value,
          end,
          open: false,
          mentions: 0,
          replaceable: [],
        };
        list.push(range);
        this.ranges.push(range);
        this.interior.push(new Set());
        this.jumpedTo.push(new Set());
      }
      range.names.push(symbol.name);
      if (symbol.binding === "local") continue;
      range.open = true;
      const isInterposable = this.interposable && symbol.visibility === "default";
      if (symbol.binding === "weak" || section.grouped || isInterposable) range.replaceable.push(symbol.name);
    }
    for (const list of this.bySection.values()) list.sort((a, b) => a.start - b.start);
  }

  /** The function that covers an address. */
  private rangeAt(section: number, address: number): Range | null {
    const list = this.bySection.get(section) ?? [];
    const range = list[startedAt(list, address) - 1];
    return range !== undefined && address < range.end ? range : null;
  }

  private decode(range: Range): Decoded | null {
    const section = this.object.sections[range.section]!;
    const insts = this.decoder.decode(section.bytes.subarray(range.start, range.end));
    if (insts === null) {
      this.problems.push(`@${range.names[0]}: something in it is no instruction`);
      return null;
    }
    const offsets = new Int32Array(insts.length + 1);
    const relocations = new Map<number, CodeRelocation>();
    let relocation = firstAt(section.relocations, range.start);
    insts.forEach((inst, i) => {
      const end = offsets[i]! + inst.length;
      offsets[i + 1] = end;
      for (; relocation < section.relocations.length; relocation++) {
        const found = section.relocations[relocation]!;
        if (found.offset >= range.start + end) break;
        relocations.set(i, found);
      }
    });
    const next = this.entryBehind(range, { insts, offsets, relocations });
    if (next < 0) return { insts, offsets, relocations };
    const implied = jumpOfNoLength(next - range.end);
    return {
      insts: [...insts, implied],
      offsets: Int32Array.from([...offsets, range.end - range.start]),
      relocations,
    };
  }

  /** Where the function starts that control enters after the last instruction; -1: none. */
  private entryBehind(range: Range, code: Decoded): number {
    const list = this.bySection.get(range.section)!;
    const next = list[startedAt(list, range.end - 1)];
    const last = range.index < 0 ? lastOfCode(this.object, range, code) : code.insts.at(-1);
    if (next === undefined || last === undefined) return -1;
    const follower = range.names.map((name) => this.follower(name)).find((known) => known !== undefined);
    // Padding would belong to the function that goes on.
    if (follower !== undefined)
      return next.start === range.end && next.names.includes(follower) ? range.end : -1;
    if (!goesOn(last)) return -1;
    return isPadding(this.decoder, this.object.sections[range.section]!.bytes.subarray(range.end, next.start))
      ? next.start
      : -1;
  }

  /** The address that an instruction's relocation or displacement means, or null. */
  private addressOf(range: Range, code: Decoded, i: number): { section: number; address: number } | null {
    const relocation = code.relocations.get(i);
    const end = range.start + code.offsets[i + 1]!;
    const inst = code.insts[i]!;
    if (relocation === undefined) {
      const { flow } = inst;
      if (flow === Flow.Call || flow === Flow.Jump || flow === Flow.Branch)
        return { section: range.section, address: end + inst.branch };
      if (inst.ripDisplacement === null) return null;
      return { section: range.section, address: end + inst.ripDisplacement };
    }
    const { symbol, type, addend } = relocation;
    if (symbol.section < 0) return null;
    if (viaGot.has(type)) return { section: symbol.section, address: symbol.value };
    const relative = type === R_X86_64_PC32 || type === R_X86_64_PLT32;
    const address = symbol.value + addend + (relative ? end - relocation.offset : 0);
    return { section: symbol.section, address };
  }

  private noteCodeReferences(range: Range, code: Decoded | null): void {
    if (code === null) return;
    code.insts.forEach((inst, i) => {
      const { flow } = inst;
      if (isImplied(inst)) return;
      const transfers = flow === Flow.Call || flow === Flow.Jump || flow === Flow.Branch;
      if (!transfers && inst.ripDisplacement === null && !code.relocations.has(i)) return;
      const to = this.addressOf(range, code, i);
      if (to === null) return;
      if ((flow === Flow.Jump || flow === Flow.Branch) && isToEnd(range, code, to)) return;
      const target = this.rangeAt(to.section, to.address);
      if (target !== null && target !== range && target.start === to.address) target.mentions++;
      if (transfers) return;
      const mention = { range, inst: i };
      if (target === null) {
        append(this.mentioned, to.section, to.address);
        append(this.mentions, addressKey(to.section, to.address), mention);
      } else if (to.address === target.start) target.open = true;
      else this.noteLabel(target, to.address - target.start, mention);
    });
  }

  private noteLabel(range: Range, offset: number, mention: Mention): void {
    const key = instructionKey(range, offset);
    const label = this.labels.get(key);
    if (label === undefined) this.labels.set(key, { range, offset, mentions: [mention] });
    else label.mentions.push(mention);
  }

  /** Code that no function covers, such as that of module asm: nothing is known of it but where it leads. */
  private noteOtherCode(section: CodeSection): void {
    let at = 0;
    const gap = (end: number): void => {
      const bytes = section.bytes.subarray(at, end);
      if (bytes.some((byte) => byte !== 0) && !isPadding(this.decoder, bytes)) this.noteGap(section, at, end);
    };
    for (const { start, end } of this.bySection.get(section.index) ?? []) {
      gap(start);
      at = Math.max(at, end);
    }
    gap(section.bytes.length);
  }

  private noteGap(section: CodeSection, start: number, end: number): void {
    const range: Range = {
      index: -1,
      names: [`code outside of functions in ${section.name}`],
      section: section.index,
      start,
      end,
      open: true,
      mentions: 0,
      replaceable: [],
    };
    const code = this.decode(range);
    const enter = (to: number, address: number): void => {
      const target = this.rangeAt(to, address);
      if (target === null) return;
      target.open = true;
      target.mentions++;
    };
    code?.insts.forEach((inst, i) => {
      const { flow } = inst;
      const transfers = flow === Flow.Call || flow === Flow.Jump || flow === Flow.Branch;
      if (!transfers && inst.ripDisplacement === null && !code.relocations.has(i)) return;
      const to = this.addressOf(range, code, i);
      if (to !== null) enter(to.section, to.address);
    });
    if (code === null)
      for (const { offset, symbol, addend } of section.relocations)
        if (offset >= start && offset < end && symbol.section >= 0)
          enter(symbol.section, symbol.value + addend);
  }

  /** Addresses of data that data mentions. */
  private notePointers(section: CodeSection): void {
    if (!holdsData(section)) return;
    for (const { symbol, addend } of section.relocations) {
      const address = symbol.value + addend;
      if (symbol.section < 0 || this.rangeAt(symbol.section, address) !== null) continue;
      append(this.mentioned, symbol.section, address);
      this.pointedTo.add(addressKey(symbol.section, address));
    }
  }

  private noteDataReferences(section: CodeSection): void {
    if (!holdsData(section)) return;
    const starts = this.mentioned.get(section.index) ?? [];
    const found: {
      at: number;
      table: number | undefined;
      isRelative: boolean;
      range: Range;
      section: number;
      address: number;
    }[] = [];
    /** Functions that entries of each table lead into. */
    const owners = new Map<number, Set<Range>>();
    const ofLabels = tablesOfLabels(section, starts, (at, address) => this.rangeAt(at, address));
    for (const { offset, type, symbol, addend } of section.relocations) {
      if (symbol.section < 0) continue;
      const table = starts[firstAfter(starts, offset) - 1];
      let address = symbol.value + addend;
      const isRelative = type === R_X86_64_PC32 && table !== undefined && ofLabels.has(table);
      if (isRelative) address -= offset - table;
      // Functions alone have such distances: what is added is where the entry lies in its table.
      if (type === R_X86_64_PLT32) address = symbol.value;
      const range = this.rangeAt(symbol.section, address);
      if (range === null) continue;
      found.push({ at: offset, table, isRelative, range, section: symbol.section, address });
      if (table === undefined || address === range.start) continue;
      const into = owners.get(table);
      if (into === undefined) owners.set(table, new Set([range]));
      else into.add(range);
    }
    const named = this.named.get(section.index) ?? [];
    for (const { at, table, isRelative, range, section: target, address } of found) {
      if (address === range.start) {
        // Where a function ends in an empty block, a table of its jumps seems to lead into the next one.
        const before = this.rangeAt(target, address - 1);
        if (before !== null && table !== undefined && owners.get(table)?.has(before) === true) continue;
        range.open = true;
        range.mentions++;
      } else if (table === undefined) this.interior[range.index]!.add(address - range.start);
      if (table === undefined) continue;
      const entry = { range, offset: address - range.start, isRelative };
      append(this.tables, addressKey(section.index, table), entry);
      // Something with a name of its own begins between the table and the entry.
      if (firstAfter(named, at) > firstAfter(named, table) && entry.offset > 0)
        this.interior[range.index]!.add(entry.offset);
    }
  }

  /** Which jumps go by a table, and which addresses nothing but such jumps can reach. */
  private findTableJumps(): void {
    /** Instructions whose address of a table or of code serves one jump alone. */
    const serving = new Set<string>();
    for (const range of this.ranges) {
      const code = this.decoded[range.index]!;
      code?.insts.forEach(({ flow }, i) => {
        const jump = flow === Flow.JumpIndirect ? this.tableJump(range, code, i) : null;
        if (jump === null) return;
        this.tableJumps.set(instructionKey(range, i), jump);
        for (const inst of jump.mentions) serving.add(instructionKey(range, inst));
      });
    }
    const serves = ({ range, inst }: Mention): boolean => serving.has(instructionKey(range, inst));
    const isJump = ({ range, inst }: Mention): boolean =>
      this.decoded[range.index]!.insts[inst]!.flow === Flow.JumpIndirect;
    for (const [key, entries] of this.tables) {
      const mentions = this.mentions.get(key) ?? [];
      const isOnlyRead = mentions.length > 0 && mentions.every(serves) && !this.pointedTo.has(key);
      const isDirect = mentions.every(isJump);
      for (const { range, offset, isRelative } of entries) {
        if (offset === 0) continue;
        const isPrivate = isOnlyRead && (isDirect || isRelative);
        (isPrivate ? this.jumpedTo : this.interior)[range.index]!.add(offset);
      }
    }
    for (const { range, offset, mentions } of this.labels.values())
      (mentions.every(serves) ? this.jumpedTo : this.interior)[range.index]!.add(offset);
  }

  /** Where an indirect jump goes by the table that it, or code just before it, mentions; null if none does. */
  private tableJump(range: Range, code: Decoded, jump: number): TableJump | null {
    for (let i = jump; i >= 0 && (i === jump || code.insts[i]!.flow === Flow.Next); i--) {
      const to = this.addressOf(range, code, i);
      if (to === null) continue;
      const entries = this.tables.get(addressKey(to.section, to.address));
      if (entries === undefined) {
        const narrow = this.narrowJump(range, code, i, jump, to.section, to.address);
        if (narrow !== null) return narrow;
        continue;
      }
      const inside = entries
        .filter((e) => e.range === range)
        .map((e) => instructionAt(code.offsets, e.offset));
      const landings = [...new Set(inside)].filter((at) => at >= 0).sort((a, b) => a - b);
      return { landings, mentions: [i] };
    }
    return null;
  }

  /**
   * Where a jump goes that adds an entry of one or two bytes to an address inside of the function, or null if it is
   * none: the assembler has computed these entries. A table ends where the next thing is that code mentions or a symbol
   * names, or where an entry leads to no instruction.
   * @param mention instruction that mentions the table
   */
  private narrowJump(
    range: Range,
    code: Decoded,
    mention: number,
    jump: number,
    section: number,
    table: number,
  ): TableJump | null {
    let width = 0;
    let origin = -1;
    const mentions = [mention];
    for (let i = mention; i < jump; i++) {
      width = code.insts[i]!.zeroExtended || width;
      const to = this.addressOf(range, code, i);
      if (to === null || to.section !== range.section || this.rangeAt(to.section, to.address) !== range)
        continue;
      origin = to.address - range.start;
      mentions[1] = i;
    }
    const { executable, bytes } = this.object.sections[section]!;
    if (width === 0 || width > 2 || origin < 0 || executable) return null;
    const next = [this.mentioned, this.named].map((places) => {
      const starts = places.get(section) ?? [];
      return starts[firstAfter(starts, table)] ?? bytes.length;
    });
    const end = Math.min(...next);
    const landings = new Set<number>();
    for (let at = table; at + width <= end; at += width) {
      const entry = bytes[at]! + (width === 2 ? bytes[at + 1]! * 256 : 0);
      const landing = instructionAt(code.offsets, origin + entry);
      if (landing < 0) break;
      landings.add(landing);
    }
    return { landings: [...landings].sort((a, b) => a - b), mentions };
  }

  private graph(range: Range, code: Decoded): CodeFunction {
    const { insts, offsets } = code;
    const branches = new Map<number, readonly number[]>();
    const sites: CallSite[] = [];
    const instructionsAt = (addresses: Iterable<number>): number[] => {
      const list: number[] = [];
      for (const address of addresses) {
        const at = instructionAt(offsets, address);
        if (at >= 0) list.push(at);
        else this.problems.push(`@${range.names[0]}: a table leads into the middle of an instruction`);
      }
      return list.sort((a, b) => a - b);
    };
    const interior = this.interior[range.index]!;
    /** Where a jump may go of which nothing is known. */
    const anywhere = instructionsAt(interior);
    const landings = instructionsAt(new Set([...interior, ...this.jumpedTo[range.index]!]));
    const unwindOf = unwinding(this.object, this.frames.get(range), offsets, () =>
      this.problems.push(`@${range.names[0]}: a landing pad in the middle of an instruction`),
    );
    const whole = new CodeWithEpilogues(code, this.frames.get(range)?.rows ?? null);
    const add = (at: number, kind: SiteKind, target: SiteTarget, inside: readonly number[] = []): void =>
      void sites.push({ at, kind, target, landings: inside, unwind: unwindOf(at, kind) });
    insts.forEach((inst, i) => {
      if (inst.strange)
        this.problems.push(`@${range.names[0]}+${hex(offsets[i]!)}: unusual transfer of control`);
      switch (inst.flow) {
        case Flow.Call:
          add(i, "call", this.target(range, code, i));
          break;
        case Flow.Jump:
        case Flow.Branch: {
          const to = this.addressOf(range, code, i);
          const inside =
            to !== null &&
            to.section === range.section &&
            to.address >= range.start &&
            (to.address < range.end || (isToEnd(range, code, to) && !isImplied(inst)));
          const at = inside ? instructionAt(offsets, to.address - range.start) : -1;
          const epilogue = this.epilogueAt(to);
          if (epilogue !== null) {
            const rows = this.frames.get(epilogue)?.rows ?? null;
            branches.set(i, [whole.append(this.decoded[epilogue.index]!, rows)]);
            break;
          }
          // A jump to the function's start is a loop or a call of itself: to registers that is the same.
          if (at === 0) add(i, "tail", this.target(range, code, i), [0]);
          else if (at > 0) branches.set(i, [at]);
          else {
            // Where it goes is in a register, as after an indirect jump.
            const target = this.target(range, code, i);
            const reached = indirectRoutines.has(target.name) ? anywhere : [];
            add(i, reached.length > 0 ? "jump" : "tail", target, reached);
          }
          break;
        }
        case Flow.CallIndirect:
          add(i, "call", this.indirectTarget(code, i));
          break;
        case Flow.JumpIndirect: {
          const inside = this.tableJumps.get(instructionKey(range, i))?.landings ?? anywhere;
          add(i, inside.length > 0 ? "jump" : "tail", this.indirectTarget(code, i), inside);
          break;
        }
      }
    });
    const { index, names, section, start, end, open, mentions } = range;
    return {
      index,
      names,
      section,
      start,
      end,
      open,
      mentions,
      insts: whole.insts,
      offsets: whole.offsets,
      branches,
      sites,
      landings,
      rows: whole.rows,
    };
  }

  /** The epilogue that an address is the start of. */
  private epilogueAt(to: { section: number; address: number } | null): Range | null {
    const range = to === null ? null : this.rangeAt(to.section, to.address);
    if (range === null || range.start !== to!.address) return null;
    return isEpilogue(this.decoded[range.index]?.insts ?? []) ? range : null;
  }

  private target(range: Range, code: Decoded, i: number): SiteTarget {
    const to = this.addressOf(range, code, i);
    const callee = to === null ? null : this.rangeAt(to.section, to.address);
    const name = code.relocations.get(i)?.symbol.name ?? "";
    if (callee === null || callee.start !== to!.address) return { fn: -1, name };
    // Without a name of the function's any of them may be meant.
    const { names, replaceable } = callee;
    const isCertain = names.includes(name) ? !replaceable.includes(name) : replaceable.length === 0;
    return { fn: isCertain ? callee.index : -1, name: names[0]! };
  }

  /** `call *symbol@GOTPCREL(%rip)` names its target, which may still be another definition. */
  private indirectTarget(code: Decoded, i: number): SiteTarget {
    const relocation = code.relocations.get(i);
    return {
      fn: -1,
      name: relocation !== undefined && viaGot.has(relocation.type) ? relocation.symbol.name : "",
    };
  }
}

/** The address is where control goes on to the next function. */
const isToEnd = (
  { section, end }: Range,
  { insts }: Decoded,
  to: { section: number; address: number },
): boolean => to.section === section && to.address === end && isImplied(insts.at(-1)!);

function emptyFunction({ index, names, section, start, end, open, mentions }: Range): CodeFunction {
  return {
    index,
    names,
    section,
    start,
    end,
    open,
    mentions,
    insts: [],
    offsets: new Int32Array(1),
    branches: new Map(),
    sites: [],
    landings: [],
    rows: null,
  };
}

const addressKey = (section: number, address: number): string => `${section}:${address}`;

/** Of an instruction, by index, or of a place in a function. */
const instructionKey = (range: Range, at: number): string => `${range.index}:${at}`;

/** Neither code nor descriptions for the unwinder, which mention code as well. */
const holdsData = ({ allocated, executable, name }: CodeSection): boolean =>
  allocated && !executable && !name.startsWith(".eh_frame");

export const hex = (n: number): string => `0x${n.toString(16)}`;

function append<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
