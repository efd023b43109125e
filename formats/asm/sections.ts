/**
 * Which section a global goes to.
 *
 * LLVM's choices, so that objects of both combine: `.rodata.cstN` and `.rodata.strN.M` for what the linker
 * may merge, `.data.rel.ro` for constants with addresses in position-independent code, a section of its own
 * for each comdat member.
 * Source: System V gABI, "Sections" (types and flags); GNU as manual, ".section (ELF version)".
 */
import { saysItIsLarge } from "../../lto/analysis/large-data.js";
import { temperature } from "../../lto/analysis/profile.js";
import type { Comdat, Func, GlobalVariable, Module } from "../../lto/ir/module.js";
import { type DataImage, dependsOnPlace, isZeroConstant } from "./data-image.js";
import { quoteSection, quoteSymbol } from "./names.js";
import type { AsmOptions } from "./options.js";

/** A section to switch to: the directive, and whether its contents take room in the file. */
export interface Section {
  readonly directive: string;
  readonly noBits: boolean;
}

const textSection: Section = { directive: "\t.text", noBits: false };
const dataSection: Section = { directive: "\t.data", noBits: false };
const bssSection: Section = { directive: "\t.bss", noBits: true };

/** Flags that all members of an explicitly named section need together, by section name. */
export type NamedSections = ReadonlyMap<string, string>;

/** Type of a section by its name. */
function typeOf(name: string, noBits: boolean): string {
  const starts = (prefix: string): boolean => name === prefix || name.startsWith(`${prefix}.`);
  if (starts(".init_array")) return "@init_array";
  if (starts(".fini_array")) return "@fini_array";
  if (starts(".preinit_array")) return "@preinit_array";
  if (name.startsWith(".note")) return "@note";
  return noBits ? "@nobits" : "@progbits";
}

function groupSuffix(comdat: Comdat): string {
  const kind = comdat.selection === "nodeduplicate" ? "" : ",comdat";
  return `,${quoteSymbol(comdat.name)}${kind}`;
}

function section(name: string, flags: string, noBits: boolean, comdat: Comdat | null, entry = ""): Section {
  const allFlags = comdat === null ? flags : `${flags}G`;
  const group = comdat === null ? "" : groupSuffix(comdat);
  return {
    directive: `\t.section\t${quoteSection(name)},"${allFlags}",${typeOf(name, noBits)}${entry}${group}`,
    noBits,
  };
}

/** A section of its own, whatever others have the name, that linkers keep. */
function retained(
  global: Func | GlobalVariable,
  name: string,
  flags: string,
  noBits: boolean,
  { retained: all }: AsmOptions,
): Section {
  const plain = section(name, `${flags}R`, noBits, global.comdat);
  const number = [...(all ?? [])].indexOf(global);
  return global.section === "" ? plain : { ...plain, directive: `${plain.directive},unique,${number + 1}` };
}

/** Collects the flags of explicitly named sections: those of every member. */
export function namedSections(
  module: Module,
  needsRelocation: (v: GlobalVariable) => boolean,
): NamedSections {
  const flags = new Map<string, string>();
  const merge = (name: string, more: string): void => {
    const all = new Set((flags.get(name) ?? "") + more);
    flags.set(name, [..."awlxT"].filter((f) => all.has(f)).join(""));
  };
  for (const global of module.globals) {
    if (global.kind === "function" && global.section !== "" && !global.isDeclaration)
      merge(global.section, "ax");
    else if (global.kind === "variable" && global.section !== "" && !global.isDeclaration)
      merge(global.section, explicitFlags(global, needsRelocation(global)));
  }
  return flags;
}

function explicitFlags(variable: GlobalVariable, relocated: boolean): string {
  if (variable.threadLocal !== "none") return "awT";
  const flags = variable.isConstant && !relocated ? "a" : "aw";
  return saysItIsLarge(variable) === true ? `${flags}l` : flags;
}

export function functionSection(
  fn: Func,
  symbol: string,
  named: NamedSections,
  options: AsmOptions,
): Section {
  if (options.retained?.has(fn) === true)
    return retained(fn, fn.section === "" ? `.text.${unquoted(symbol)}` : fn.section, "ax", false, options);
  if (fn.section !== "") return section(fn.section, named.get(fn.section) ?? "ax", false, fn.comdat);
  const prefix = textPrefix(fn, options);
  if (fn.comdat !== null || options.functionSections)
    return section(`${prefix}.${unquoted(symbol)}`, "ax", false, fn.comdat);
  return prefix === ".text" ? textSection : section(`${prefix}.`, "ax", false, null);
}

/**
 * Linkers put together what runs often, and what rarely, by these names. Not where size is all: sections of their own
 * take padding, and unwind descriptions that neighbours could share.
 */
function textPrefix(fn: Func, options: AsmOptions): string {
  if (options.minsize === true || fn.attributes.fn.has("minsize")) return ".text";
  const known = temperature(fn);
  return known === null ? ".text" : known === "hot" ? ".text.hot" : ".text.unlikely";
}

/** Where a function's read-only tables go: into its group if it has one. */
export function tableSection(fn: Func, symbol: string, options: AsmOptions): Section {
  const own = fn.comdat !== null || options.functionSections;
  return section(own ? `.rodata.${unquoted(symbol)}` : ".rodata", "a", false, fn.comdat);
}

/** The list of the places in a function that a tool may replace; it goes with the function. */
export function patchSection(fn: Func, symbol: string): Section {
  const group = fn.comdat === null ? "" : groupSuffix(fn.comdat);
  const flags = fn.comdat === null ? "awo" : "awoG";
  return {
    directive: `\t.section\t__patchable_function_entries,"${flags}",@progbits,${symbol}${group}`,
    noBits: false,
  };
}

/** The list of the traps after checks of types; it goes with the function. */
export function trapSection(fn: Func, symbol: string): Section {
  const group = fn.comdat === null ? "" : groupSuffix(fn.comdat);
  const flags = fn.comdat === null ? "ao" : "aoG";
  return { directive: `\t.section\t.kcfi_traps,"${flags}",@progbits,${symbol}${group}`, noBits: false };
}

/** Where a function's exception table goes: into its group if it has one. */
export function exceptionSection(fn: Func, symbol: string, options: AsmOptions): Section {
  const own = fn.comdat !== null || options.functionSections;
  return section(own ? `.gcc_except_table.${unquoted(symbol)}` : ".gcc_except_table", "a", false, fn.comdat);
}

const unquoted = (symbol: string): string =>
  symbol.startsWith('"') ? symbol.slice(1, -1).replace(/\\(.)/gs, "$1") : symbol;

/** The mergeable section for constants of 4, 8, 16 or 32 bytes. */
export const constantSection = (size: number): Section =>
  section(`.rodata.cst${size}`, "aM", false, null, `,${size}`);

export const readOnlySection: Section = section(".rodata", "a", false, null);

/**
 * Section of a defined variable.
 * @param image its contents; null if they are all zero
 * @param large it need not be near the code
 */
export function variableSection(
  variable: GlobalVariable,
  symbol: string,
  align: number,
  image: DataImage | null,
  named: NamedSections,
  options: AsmOptions,
  large: boolean,
): Section {
  const zero = image === null;
  if (options.retained?.has(variable) === true) {
    const kind = retainedKind(variable, zero, image, options);
    const name = variable.section === "" ? `${kind.prefix}.${unquoted(symbol)}` : variable.section;
    const noBits = zero && /^\.(l?bss|tbss)(\.|$)/.test(name);
    return retained(variable, name, kind.flags, noBits, options);
  }
  if (variable.section !== "") {
    const noBits = zero && /^\.(l?bss|tbss)(\.|$)/.test(variable.section);
    return section(variable.section, named.get(variable.section) ?? "aw", noBits, variable.comdat);
  }
  const relocated = image !== null && image.relocations.length > 0;
  const moves = image !== null && options.relocation !== "static" && dependsOnPlace(image);
  if (large) {
    const kind = !variable.isConstant ? (zero ? ".lbss" : ".ldata") : moves ? ".ldata.rel.ro" : ".lrodata";
    const ownName = variable.comdat !== null || options.dataSections === true;
    const flags = variable.isConstant && !moves ? "al" : "awl";
    return section(
      ownName ? `${kind}.${unquoted(symbol)}` : kind,
      flags,
      zero && !variable.isConstant,
      variable.comdat,
    );
  }
  const own = variable.comdat !== null || options.dataSections === true;
  const name = (prefix: string): string => (own ? `${prefix}.${unquoted(symbol)}` : prefix);
  if (variable.threadLocal !== "none")
    return section(name(zero ? ".tbss" : ".tdata"), "awT", zero, variable.comdat);
  if (variable.isConstant) {
    if (moves) return section(name(".data.rel.ro"), "aw", false, variable.comdat);
    if (!relocated && variable.comdat === null && variable.unnamedAddr === "global") {
      const merged = mergeableSection(variable, align, image);
      if (merged !== null) return merged;
    }
    return section(name(".rodata"), "a", false, variable.comdat);
  }
  if (own) return section(name(zero ? ".bss" : ".data"), "aw", zero, variable.comdat);
  return zero ? bssSection : dataSection;
}

/** Where a variable with a section of its own goes, by its contents. */
function retainedKind(
  variable: GlobalVariable,
  zero: boolean,
  image: DataImage | null,
  { relocation }: AsmOptions,
): { readonly prefix: string; readonly flags: string } {
  if (variable.threadLocal !== "none") return { prefix: zero ? ".tbss" : ".tdata", flags: "awT" };
  if (!variable.isConstant) return { prefix: zero ? ".bss" : ".data", flags: "aw" };
  const moves = image !== null && relocation !== "static" && dependsOnPlace(image);
  return moves ? { prefix: ".data.rel.ro", flags: "aw" } : { prefix: ".rodata", flags: "a" };
}

/** Section whose equal entries the linker merges, for a constant whose address does not matter. */
function mergeableSection(variable: GlobalVariable, align: number, image: DataImage | null): Section | null {
  const bytes = image?.bytes;
  const width = stringWidth(variable, bytes);
  if (width > 0 && align <= 16)
    return section(`.rodata.str${width}.${align}`, "aMS", false, null, `,${width}`);
  if (bytes === undefined) return null;
  const size = bytes.length;
  if ((size === 4 || size === 8 || size === 16 || size === 32) && align <= size) return constantSection(size);
  return null;
}

/** Linkers merge its equal strings. */
export const isStringSection = ({ directive }: Section): boolean =>
  directive.startsWith("\t.section\t.rodata.str") && directive.includes('"aMS"');

/** Width of the characters if the contents are one string with a single, final terminator; else 0. */
function stringWidth(variable: GlobalVariable, bytes: Uint8Array | undefined): number {
  const type = variable.valueType;
  if (type.kind !== "array" || !type.element.isInt() || type.count === 0) return 0;
  const width = type.element.bits / 8;
  if (width !== 1 && width !== 2 && width !== 4) return 0;
  if (bytes === undefined) return type.count === 1 ? width : 0;
  const isZero = (at: number): boolean => {
    for (let i = at; i < at + width; i++) if (bytes[i] !== 0) return false;
    return true;
  };
  for (let at = 0; at < bytes.length - width; at += width) if (isZero(at)) return 0;
  return isZero(bytes.length - width) ? width : 0;
}

/** A variable of zeros that takes no room in the file. */
export const isZeroVariable = (variable: GlobalVariable): boolean =>
  variable.initializer !== null && isZeroConstant(variable.initializer);
