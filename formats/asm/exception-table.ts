/**
 * The language-specific data of a function: what the personality routine reads to find landing pads.
 *
 *     header        encodings; distance to the type table
 *     call sites    ranges of code, each with its landing pad and its first action; what lies in no range must not
 *                   throw: the program ends if it does
 *     actions       lists of (type filter, next): > 0 a caught type, < 0 a list of permitted types, 0 a clean-up
 *     types         addresses, numbered backwards from the end
 *     filters       lists of permitted types, by number
 *
 * Calls that lead to a landing pad get labels before and after them; neighbours that lead to the same one share an
 * entry. What may throw between them without one gets an entry without landing pad. Lists of actions share ends.
 * Positions are ULEB128 numbers, from the start of the function. Addresses of types and of the personality are
 * absolute in static code; else they are relative references to words that hold them, so that code stays shareable.
 * Linear in the code.
 * Breaks if: a call that can throw is taken for one that cannot (`CallInfo.noUnwind`).
 * Source: Itanium C++ ABI, "Exception Handling Tables" (HP's level III, as GCC has it); Linux Standard Base, Core,
 * "Exception Frames" (pointer encodings).
 */
import {
  type LandingPadInfo,
  type MBlock,
  type MFunction,
  type MInst,
  unwindTarget,
} from "../../lto/codegen/mir.js";
import { OpFact } from "../../lto/codegen/target.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import type { SymbolNames } from "./names.js";
import type { AsmOptions } from "./options.js";
import type { PoolSet } from "./pool.js";

/** Encodings of pointers. */
const DW_EH_PE_absptr = 0x00;
const DW_EH_PE_uleb128 = 0x01;
const DW_EH_PE_udata4 = 0x03;
const DW_EH_PE_sdata4 = 0x0b;
const DW_EH_PE_sdata8 = 0x0c;
const DW_EH_PE_pcrel = 0x10;
const DW_EH_PE_indirect = 0x80;
const DW_EH_PE_omit = 0xff;

/** Personalities that do nothing for a function without landing pads. */
const idlePersonality =
  /^(__gxx_personality_v0|__gcc_personality_v0|__gnat_personality_v0|rust_eh_personality)$/;

interface Labels {
  readonly start: string;
  readonly end: string;
}

/** A range of code; null: the function's start or end. */
interface CallSite {
  readonly start: string | null;
  end: string | null;
  readonly pad: MBlock | null;
  readonly action: number;
}

/** Bytes of a number as ULEB128 and SLEB128. */
function unsignedBytes(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push(128 | (value & 127));
  bytes.push(value);
  return bytes;
}
function signedBytes(value: number): number[] {
  const bytes: number[] = [];
  for (; value < -64 || value > 63; value >>= 7) bytes.push(128 | (value & 127));
  bytes.push(value & 127);
  return bytes;
}

const byteText = (bytes: readonly number[]): string =>
  bytes.length === 0 ? "" : `\t.byte\t${bytes.join(",")}\n`;

/** Lists of actions, of which equal ends are there once. */
class Actions {
  readonly bytes: number[] = [];
  /** Offset of the first record of each list, by its filters. */
  private readonly known = new Map<string, number>();

  /** What a call site says for a list: 1 more than the offset of its first record; 0 for a mere clean-up. */
  numberOf(filters: readonly number[]): number {
    let next = -1;
    for (let i = filters.length - 1; i >= 0; i--) {
      const key = filters.slice(i).join(",");
      const found = this.known.get(key);
      if (found !== undefined) next = found;
      else {
        const at = this.bytes.length;
        this.bytes.push(...signedBytes(filters[i]!));
        this.bytes.push(...signedBytes(next < 0 ? 0 : next - this.bytes.length));
        this.known.set(key, (next = at));
      }
    }
    return next + 1;
  }
}

/** Lists of permitted types. */
class Filters {
  readonly bytes: number[] = [];
  private readonly known = new Map<string, number>();

  /** The type filter of a list: below 0. */
  numberOf(types: readonly number[]): number {
    const key = types.join(",");
    let number = this.known.get(key);
    if (number === undefined) {
      number = -1 - this.bytes.length;
      for (const type of types) this.bytes.push(...unsignedBytes(type + 1));
      this.bytes.push(0);
      this.known.set(key, number);
    }
    return number;
  }
}

/** Calls and assembly from which an exception may come. */
function mayThrow({ extra, op }: MInst, facts: Uint32Array): boolean {
  if (extra === null) return false;
  if (extra.kind === "asm") return extra.template.trim() !== "";
  return extra.kind === "call" && !extra.noUnwind && (facts[op]! & OpFact.TailCall) === 0;
}

export class ExceptionTable {
  private readonly labels = new Map<MInst, Labels>();
  private readonly sites: CallSite[] = [];
  private readonly actions = new Actions();
  private readonly filters = new Filters();

  /** The table of a finished function; null if it needs none. @param number makes labels unique */
  static of(
    mf: MFunction,
    number: number,
    names: SymbolNames,
    pool: PoolSet,
    options: AsmOptions,
  ): ExceptionTable | null {
    const { personality } = mf.fn as Func;
    if (personality === null) return null;
    if (personality.valueKind !== "global")
      throw new UnsupportedError("personality that is no symbol", `function '${mf.name}'`);
    const hasPads = mf.blocks.some((block) => block.insts.some((inst) => unwindTarget(inst) !== null));
    if (!hasPads && idlePersonality.test(personality.name)) return null;
    return new ExceptionTable(mf, number, personality, names, pool, options);
  }

  private constructor(
    private readonly mf: MFunction,
    private readonly number: number,
    private readonly personality: GlobalValue,
    private readonly names: SymbolNames,
    private readonly pool: PoolSet,
    private readonly options: AsmOptions,
  ) {
    let site: CallSite | null = null;
    let last: string | null = null;
    let throwing = false;
    const { facts } = mf.target.instructions;
    for (const block of mf.blocks)
      for (const inst of block.insts) {
        const pad = unwindTarget(inst);
        if (pad === null) {
          throwing ||= mayThrow(inst, facts);
          continue;
        }
        const count = this.labels.size;
        const labels: Labels = { start: `.LEHB${number}_${count}`, end: `.LEHE${number}_${count}` };
        this.labels.set(inst, labels);
        const action = this.actionOf(pad);
        if (throwing) this.sites.push({ start: last, end: labels.start, pad: null, action: 0 });
        if (!throwing && site !== null && site.pad === pad) site.end = labels.end;
        else this.sites.push((site = { ...labels, pad, action }));
        last = labels.end;
        throwing = false;
      }
    if (throwing) this.sites.push({ start: last, end: null, pad: null, action: 0 });
  }

  private actionOf(pad: MBlock): number {
    const { cleanup, clauses } = padInfo(this.mf, pad);
    const filters = clauses.map((clause) =>
      clause.kind === "catch" ? clause.type + 1 : this.filters.numberOf(clause.types),
    );
    if (cleanup && filters.length > 0) filters.push(0);
    return this.actions.numberOf(filters);
  }

  /** Labels to put around the instruction's code. */
  labelsOf(inst: MInst): Labels | undefined {
    return this.labels.get(inst);
  }

  private get isStatic(): boolean {
    return this.options.relocation === "static";
  }
  /** Addresses in tables take 8 bytes: they do not fit 31 bits, or distances may be large. */
  private get isWide(): boolean {
    const { codeModel } = this.options;
    return codeModel === "large" || (this.isStatic && codeModel === "kernel");
  }
  /** How the tables refer to what they name. */
  private get encoding(): number {
    if (this.isStatic) return this.isWide ? DW_EH_PE_absptr : DW_EH_PE_udata4;
    return DW_EH_PE_indirect | DW_EH_PE_pcrel | (this.isWide ? DW_EH_PE_sdata8 : DW_EH_PE_sdata4);
  }
  private get start(): string {
    return `.LEHS${this.number}`;
  }
  private get end(): string {
    return `.LEHF${this.number}`;
  }

  private reference(global: GlobalValue): string {
    return this.pool.reference({ symbol: this.names.symbol(global), isLocal: global.isLocal });
  }

  /** What belongs after `.cfi_startproc`. */
  header(): string {
    const symbol = this.isStatic ? this.names.symbol(this.personality) : this.reference(this.personality);
    const { encoding } = this;
    const own = encoding & ~DW_EH_PE_indirect;
    return `\t.cfi_personality ${encoding}, ${symbol}\n\t.cfi_lsda ${own}, .LEHT${this.number}\n${this.start}:\n`;
  }

  /** What belongs before `.cfi_endproc`. */
  footer(): string {
    return `${this.end}:\n`;
  }

  /** The table itself, without its section. */
  text(labelOf: (block: MBlock) => string): string {
    const { number, start } = this;
    const { typeInfos } = this.mf;
    const { encoding } = this;
    const hasTypes = typeInfos.length > 0 || this.filters.bytes.length > 0;
    let out = `.LEHT${number}:\n${byteText([DW_EH_PE_omit, hasTypes ? encoding : DW_EH_PE_omit])}`;
    if (hasTypes) out += `\t.uleb128 .LEHX${number}-.LEHY${number}\n.LEHY${number}:\n`;
    out += byteText([DW_EH_PE_uleb128]);
    out += `\t.uleb128 .LEHA${number}-.LEHC${number}\n.LEHC${number}:\n`;
    for (const site of this.sites) {
      const from = site.start ?? start;
      out += `\t.uleb128 ${from}-${start}\n\t.uleb128 ${site.end ?? this.end}-${from}\n`;
      out += site.pad === null ? "\t.byte\t0\n" : `\t.uleb128 ${labelOf(site.pad)}-${start}\n`;
      out += byteText(unsignedBytes(site.action));
    }
    out += `.LEHA${number}:\n${byteText(this.actions.bytes)}`;
    if (!hasTypes) return out;
    for (let i = typeInfos.length - 1; i >= 0; i--) out += this.typeText(typeInfos[i]!);
    return `${out}.LEHX${number}:\n${byteText(this.filters.bytes)}`;
  }

  private typeText(type: GlobalValue | null): string {
    const directive = this.isWide ? ".quad" : ".long";
    if (type === null) return `\t${directive}\t0\n`;
    const address = this.isStatic ? this.names.symbol(type) : `${this.reference(type)}-.`;
    return `\t${directive}\t${address}\n`;
  }
}

/** What a landing pad says of itself. */
function padInfo(mf: MFunction, pad: MBlock): LandingPadInfo {
  for (const { extra } of pad.insts) if (extra !== null && extra.kind === "landing-pad") return extra;
  throw new Error(`@${mf.name}: block ${pad.id} is no landing pad`);
}
