/**
 * `.eh_frame` of a relocatable object: where each function's frame is, instruction by instruction, and where its
 * exception table lies. Only what code for x86-64 has: registers stored at offsets from the CFA, the CFA at an offset
 * from a register. Linear in the section.
 * Source: DWARF 5, section 6.4; Linux Standard Base, Core, "Exception Frames".
 */

import { InputError } from "../../lto/ir/errors.js";
import { ByteCursor } from "./byte-cursor.js";
import type { CodeObject, CodeRelocation, CodeSection } from "./object.js";
import { startedAt } from "./search.js";

/** How the unwinder finds a frame from one address on. Registers are numbered as in machine code. */
export interface FrameRow {
  /** Offset from the start of the description. */
  readonly start: number;
  /** The CFA is `offset` above this register. */
  readonly register: number;
  readonly offset: number;
  /** Registers of the caller, and how far from the CFA they are stored. */
  readonly stored: ReadonlyMap<number, number>;
  /** Bytes of arguments on the stack, gone when a landing pad is entered. */
  readonly arguments: number;
}

/** What one description tells the unwinder: of a function, or of several that stand beside each other. */
export interface FrameInfo {
  readonly section: number;
  readonly start: number;
  readonly size: number;
  /** In order of their starts; the first starts at 0. */
  readonly rows: readonly FrameRow[];
  /** Name of the personality routine, or of the word that holds its address; "" for none. */
  readonly personality: string;
  readonly table: { readonly section: number; readonly offset: number } | null;
}

/** Numbers in machine code of DWARF's registers 0–16; 16 is the return address. */
const machineRegister = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16];

interface Cie {
  readonly codeAlign: number;
  readonly dataAlign: number;
  readonly personality: string;
  readonly pointerEncoding: number;
  readonly tableEncoding: number;
  readonly hasAugmentation: boolean;
  readonly program: readonly [start: number, end: number];
}

const DW_EH_PE_omit = 0xff;

/** @throws InputError when the section is malformed or has constructs that no compiler makes for x86-64 */
export function readFrameInfo(object: CodeObject): FrameInfo[] {
  return object.sections
    .filter(({ name, bytes }) => name === ".eh_frame" && bytes.length > 0)
    .flatMap((section) => new Reader(section).run());
}

class Reader {
  private readonly relocations: ReadonlyMap<number, CodeRelocation>;
  private readonly cies = new Map<number, Cie>();

  constructor(private readonly section: CodeSection) {
    this.relocations = new Map(section.relocations.map((r) => [r.offset, r]));
  }

  run(): FrameInfo[] {
    const { bytes } = this.section;
    const found: FrameInfo[] = [];
    const cursor = new ByteCursor(bytes, ".eh_frame");
    while (!cursor.done) {
      const start = cursor.at;
      const length = cursor.u32();
      if (length === 0) break;
      const end = cursor.at + length;
      const entry = new ByteCursor(bytes, ".eh_frame", cursor.at, Math.min(end, bytes.length));
      const at = entry.at;
      const back = entry.u32();
      if (back === 0) this.cies.set(start, this.cie(entry, end));
      else {
        const cie = this.cies.get(at - back);
        if (cie === undefined) throw new InputError("malformed ELF file: .eh_frame refers to no entry");
        found.push(this.fde(entry, cie, end));
      }
      cursor.skip(length);
    }
    return found;
  }

  private cie(cursor: ByteCursor, end: number): Cie {
    cursor.u8();
    const augmentation = cursor.text();
    const codeAlign = cursor.uleb();
    const dataAlign = cursor.sleb();
    cursor.uleb();
    let personality = "";
    let pointerEncoding = 0;
    let tableEncoding = DW_EH_PE_omit;
    const hasAugmentation = augmentation.startsWith("z");
    if (hasAugmentation) {
      const size = cursor.uleb();
      const after = cursor.at + size;
      for (const letter of augmentation.slice(1)) {
        if (letter === "R") pointerEncoding = cursor.u8();
        else if (letter === "L") tableEncoding = cursor.u8();
        else if (letter === "P") {
          const encoding = cursor.u8();
          personality = this.relocations.get(cursor.at)?.symbol.name ?? "";
          this.pointer(cursor, encoding);
        } else if (letter !== "S")
          throw new InputError(`unsupported: .eh_frame with augmentation '${letter}'`);
      }
      cursor.at = after;
    }
    const program = [cursor.at, end] as const;
    return { codeAlign, dataAlign, personality, pointerEncoding, tableEncoding, hasAugmentation, program };
  }

  /** Passes over a pointer and returns what it leads to. */
  private pointer(cursor: ByteCursor, encoding: number): { section: number; offset: number } | null {
    const at = cursor.at;
    switch (encoding & 15) {
      case 0x0:
      case 0x4:
      case 0xc:
        cursor.skip(8);
        break;
      case 0x3:
      case 0xb:
        cursor.skip(4);
        break;
      default:
        throw new InputError("unsupported: .eh_frame with pointers of unusual size");
    }
    const relocation = this.relocations.get(at);
    if (relocation === undefined) return null;
    return { section: relocation.symbol.section, offset: relocation.symbol.value + relocation.addend };
  }

  private fde(cursor: ByteCursor, cie: Cie, end: number): FrameInfo {
    const place = this.pointer(cursor, cie.pointerEncoding);
    if (place === null)
      throw new InputError("malformed ELF file: .eh_frame without the place of its function");
    const size = (cie.pointerEncoding & 15) === 0x3 || (cie.pointerEncoding & 15) === 0xb ? cursor.u32() : 0;
    let table: FrameInfo["table"] = null;
    if (cie.hasAugmentation) {
      const after = cursor.uleb() + cursor.at;
      if (cie.tableEncoding !== DW_EH_PE_omit) table = this.pointer(cursor, cie.tableEncoding);
      cursor.at = after;
    }
    const program = new Program(cie, this.section.bytes);
    const rows = program.run([cursor.at, end]);
    return {
      section: place.section,
      start: place.offset,
      size,
      rows,
      personality: cie.personality,
      table,
    };
  }
}

/** Runs the instructions of an entry. */
class Program {
  private rows: FrameRow[] = [];
  private at = 0;
  private register = 4;
  private offset = 8;
  private stored = new Map<number, number>();
  private pushed = 0;
  private initial = new Map<number, number>();
  private readonly remembered: { register: number; offset: number; stored: Map<number, number> }[] = [];

  constructor(
    private readonly cie: Cie,
    private readonly bytes: Uint8Array,
  ) {}

  run(program: readonly [number, number]): readonly FrameRow[] {
    this.execute(this.cie.program);
    this.initial = new Map(this.stored);
    this.execute(program);
    this.row();
    return this.rows;
  }

  private row(): void {
    const { register, offset } = this;
    if (this.rows.at(-1)?.start === this.at) this.rows.pop();
    this.rows.push({
      start: this.at,
      register,
      offset,
      stored: new Map([...this.stored].filter(([r]) => r < 16)),
      arguments: this.pushed,
    });
  }

  private advance(delta: number): void {
    this.row();
    this.at += delta * this.cie.codeAlign;
  }

  private execute([start, end]: readonly [number, number]): void {
    const cursor = new ByteCursor(this.bytes, ".eh_frame", start, end);
    const registerOf = (number: number): number => {
      const register = machineRegister[number];
      if (register === undefined) throw new InputError("unsupported: .eh_frame with an unusual register");
      return register;
    };
    while (!cursor.done) {
      const op = cursor.u8();
      const low = op & 63;
      switch (op >> 6) {
        case 1:
          this.advance(low);
          continue;
        case 2:
          this.stored.set(registerOf(low), cursor.uleb() * this.cie.dataAlign);
          continue;
        case 3:
          this.restore(registerOf(low));
          continue;
      }
      switch (op) {
        case 0x00: // nop
          break;
        case 0x02: // advance_loc1, 2, 4
          this.advance(cursor.u8());
          break;
        case 0x03:
          this.advance(cursor.u16());
          break;
        case 0x04:
          this.advance(cursor.u32());
          break;
        case 0x05: // offset_extended
          this.stored.set(registerOf(cursor.uleb()), cursor.uleb() * this.cie.dataAlign);
          break;
        case 0x06: // restore_extended
        case 0x08: // same_value
          this.restore(registerOf(cursor.uleb()));
          break;
        case 0x0a: // remember_state
          this.remembered.push({
            register: this.register,
            offset: this.offset,
            stored: new Map(this.stored),
          });
          break;
        case 0x0b: {
          const state = this.remembered.pop();
          if (state === undefined) throw new InputError("malformed ELF file: .eh_frame restores no state");
          ({ register: this.register, offset: this.offset, stored: this.stored } = state);
          break;
        }
        case 0x0c: // def_cfa
          this.register = registerOf(cursor.uleb());
          this.offset = cursor.uleb();
          break;
        case 0x0d: // def_cfa_register
          this.register = registerOf(cursor.uleb());
          break;
        case 0x0e: // def_cfa_offset
          this.offset = cursor.uleb();
          break;
        case 0x2e: // GNU_args_size
          this.pushed = cursor.uleb();
          break;
        default:
          throw new InputError(`unsupported: .eh_frame with operation 0x${op.toString(16)}`);
      }
    }
  }

  private restore(register: number): void {
    const before = this.initial.get(register);
    if (before === undefined) this.stored.delete(register);
    else this.stored.set(register, before);
  }
}

/** The row in force at an offset of the function. */
export const rowAt = (rows: readonly FrameRow[], offset: number): FrameRow =>
  rows[startedAt(rows, offset) - 1]!;

/** The rows that hold in `size` bytes from an offset on, counted from there. */
export function rowsFrom(rows: readonly FrameRow[], offset: number, size: number): FrameRow[] {
  const first = { ...rowAt(rows, offset), start: 0 };
  const rest = rows.filter(({ start }) => start > offset && start < offset + size);
  return [first, ...rest.map((row) => ({ ...row, start: row.start - offset }))];
}
