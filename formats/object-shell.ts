/**
 * The ELF shell of an IR object: a relocatable file whose symbol table is that of the object which a compiler would make
 * of the module, and whose code is IR, in a section of its own. So nm, ar, libtool and their like read it as any object.
 *
 * Nothing of it must get into a program unseen: a note, which linkers keep, mentions a hidden symbol that nobody defines. GNU
 * ld, gold, lld and mold refuse that in programs and shared libraries, also with --gc-sections; the symbol's name says
 * why. `ld -r` of any of them puts the sections of several shells one after another, which is as good as an archive.
 *
 * Sections are empty and symbols have no values: only of which kind they are is known. Sizes of variables are right, those of
 * functions 0.
 */

import { baseObject, ownReferences } from "../lto/analysis/references.js";
import { isReservedName } from "../lto/ir/intrinsics.js";
import type { GlobalValue, GlobalVariable, Module } from "../lto/ir/module.js";
import { ptr } from "../lto/ir/types.js";
import { scanModuleAsm } from "../lto/link/module-asm.js";
import { elfMachineOf } from "../lto/targets-by-triple.js";
import { isZeroConstant } from "./asm/data-image.js";
import {
  irSection,
  noteSection,
  SHF_ALLOC,
  SHF_EXCLUDE,
  SHF_EXECINSTR,
  SHF_TLS,
  SHF_WRITE,
  SHN_ABS,
  SHN_COMMON,
  SHN_UNDEF,
  SHT_NOBITS,
  SHT_NOTE,
  SHT_PROGBITS,
  STB_GLOBAL,
  STB_LOCAL,
  STB_WEAK,
  STT_FILE,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_NOTYPE,
  STT_OBJECT,
  STT_TLS,
} from "./elf-constants.js";
import { type ElfMachine, type ElfSection, type ElfSymbol, writeRelocatable } from "./elf-writer.js";

/** What linkers say is undefined. */
const mark = "__lto_object_without_machine_code_needs_tsc_lto";

/** What the psABI of a machine says. */
interface ShellMachine {
  /** The relocation for the 32-bit distance to a symbol. */
  readonly distance: number;
  /** REL instead of RELA. */
  readonly inPlace?: true;
  readonly flags?: number;
}

/** By the e_machine field. Modules of big-endian targets cannot be read anyway. */
const machines: ReadonlyMap<number, ShellMachine> = new Map([
  [62, { distance: 2 }], // R_X86_64_PC32
  [3, { distance: 2, inPlace: true }], // R_386_PC32
  [183, { distance: 261 }], // R_AARCH64_PREL32
  [40, { distance: 3, inPlace: true, flags: 0x05000000 }], // R_ARM_REL32; EABI version 5
  [243, { distance: 57 }], // R_RISCV_32_PCREL
  [258, { distance: 99 }], // R_LARCH_32_PCREL
  [21, { distance: 26, flags: 2 }], // R_PPC64_REL32; ELFv2
]);

const visibilities = { default: 0, hidden: 2, protected: 3 } as const;

/** Sections that symbols are in, each only where one is. Those of data are empty, so they need no bytes of a file. */
const sectionKinds: readonly { name: string; type: number; flags: number }[] = [
  { name: ".text", type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_EXECINSTR },
  { name: ".data", type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE },
  { name: ".bss", type: SHT_NOBITS, flags: SHF_ALLOC | SHF_WRITE },
  { name: ".data.rel.ro", type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE },
  { name: ".rodata", type: SHT_PROGBITS, flags: SHF_ALLOC },
  { name: ".tdata", type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE | SHF_TLS },
  { name: ".tbss", type: SHT_NOBITS, flags: SHF_ALLOC | SHF_WRITE | SHF_TLS },
];

/**
 * @param object the module as an IR object
 * @returns null for a machine that has no such files here
 */
export function writeShell(module: Module, object: Uint8Array): Uint8Array | null {
  const known = elfMachineOf(module);
  const machine = known === null ? undefined : machines.get(known.number);
  if (known === null || machine === undefined) return null;
  const file: ElfMachine = {
    machine: known.number,
    flags: machine.flags ?? 0,
    bits: module.dataLayout.allocSize(ptr) === 4 ? 32 : 64,
    littleEndian: true,
    rela: machine.inPlace !== true,
  };
  const symbols = shellSymbols(module);
  const used = new Set(symbols.map(({ section }) => section));
  const sections: ElfSection[] = sectionKinds
    .filter(({ name }) => used.has(name))
    .map((kind) => ({ ...kind, align: 1, bytes: nothing }));
  sections.push({
    name: irSection,
    type: SHT_PROGBITS,
    flags: SHF_EXCLUDE,
    align: 1,
    bytes: object,
  });
  sections.push({
    name: noteSection,
    type: SHT_NOTE,
    flags: SHF_ALLOC,
    align: 4,
    bytes: note(file),
    relocations: [{ offset: noteSize - 4, type: machine.distance, symbol: mark }],
  });
  // An executable stack is not asked for.
  sections.push({ name: ".note.GNU-stack", type: SHT_PROGBITS, flags: 0, align: 1, bytes: nothing });
  return writeRelocatable(file, sections, symbols);
}

const nothing = new Uint8Array(0);
const noteName = "tsc-lto\0";
/** "IR". */
const noteKind = 0x5249;
const noteSize = 24;

/** [size of the name, size of the contents, kind], the name, and the distance as the contents. */
function note({ littleEndian }: ElfMachine): Uint8Array {
  const bytes = Buffer.alloc(noteSize);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  [noteName.length, 4, noteKind].forEach((field, i) => {
    view.setUint32(4 * i, field, littleEndian);
  });
  bytes.write(noteName, 12, "latin1");
  return bytes;
}

function shellSymbols(module: Module): ElfSymbol[] {
  const asm = scanModuleAsm(module.moduleAsm, module.triple);
  const symbols = new Map<string, ElfSymbol>();
  const isAsm = (name: string): boolean => asm.globals.has(name) || asm.locals.has(name);
  for (const global of module.globals) {
    const { name, linkage, visibility } = global;
    if (name === "" || isReservedName(name) || linkage === "private") continue;
    if (isUndefined(global)) {
      if (!isAsm(name)) symbols.set(name, undefinedSymbol(name, linkage === "extern_weak"));
      continue;
    }
    const binding = linkage === "internal" ? STB_LOCAL : bindingOf(global);
    symbols.set(name, { name, binding, visibility: visibilities[visibility], ...placeOf(global, module) });
  }
  const place = (name: string) => ({
    name,
    visibility: 0,
    type: STT_NOTYPE,
    section: asm.absolute.has(name) ? SHN_ABS : ".text",
    value: 0,
    size: 0,
  });
  for (const name of asm.globals)
    symbols.set(name, { ...place(name), binding: asm.weak.has(name) ? STB_WEAK : STB_GLOBAL });
  for (const name of asm.locals) symbols.set(name, { ...place(name), binding: STB_LOCAL });
  for (const [names, isWeak] of [
    [asm.references, false],
    [asm.weakReferences, true],
  ] as const)
    for (const name of names) if (!symbols.has(name)) symbols.set(name, undefinedSymbol(name, isWeak));
  const file: ElfSymbol = {
    name: module.sourceName.substring(module.sourceName.lastIndexOf("/") + 1),
    binding: STB_LOCAL,
    type: STT_FILE,
    visibility: 0,
    section: SHN_ABS,
    value: 0,
    size: 0,
  };
  return [file, ...symbols.values(), { ...undefinedSymbol(mark, false), visibility: visibilities.hidden }];
}

/** A body for the inliner alone is none of the object's. */
const isUndefined = (global: GlobalValue): boolean =>
  global.isDeclaration || global.linkage === "available_externally";

const undefinedSymbol = (name: string, isWeak: boolean): ElfSymbol => ({
  name,
  binding: isWeak ? STB_WEAK : STB_GLOBAL,
  type: STT_NOTYPE,
  visibility: 0,
  section: SHN_UNDEF,
  value: 0,
  size: 0,
});

const bindingOf = ({ linkage }: GlobalValue): number =>
  linkage === "external" || linkage === "common" ? STB_GLOBAL : STB_WEAK;

type Place = Pick<ElfSymbol, "type" | "section" | "value" | "size">;

/** Where a definition is. An alias is where its object is. */
function placeOf(global: GlobalValue, module: Module): Place {
  if (global.kind === "ifunc") return { type: STT_GNU_IFUNC, section: ".text", value: 0, size: 0 };
  const object = global.kind === "alias" ? baseObject(global) : global;
  if (object?.kind === "ifunc") return { type: STT_GNU_IFUNC, section: ".text", value: 0, size: 0 };
  if (object?.kind !== "variable") return { type: STT_FUNC, section: ".text", value: 0, size: 0 };
  const { dataLayout } = module;
  const size = dataLayout.allocSize(global.valueType);
  if (global.linkage === "common") {
    const value = object.align || dataLayout.abiAlign(global.valueType);
    return { type: STT_OBJECT, section: SHN_COMMON, value, size };
  }
  const isLocalToThreads = object.threadLocal !== "none";
  return {
    type: isLocalToThreads ? STT_TLS : STT_OBJECT,
    section: dataSection(object, isLocalToThreads, module),
    value: 0,
    size,
  };
}

function dataSection(variable: GlobalVariable, isLocalToThreads: boolean, module: Module): string {
  const { initializer, isConstant, section } = variable;
  const isZero = section === "" && initializer !== null && isZeroConstant(initializer);
  if (isLocalToThreads) return isZero ? ".tbss" : ".tdata";
  if (!isConstant) return isZero ? ".bss" : ".data";
  // Addresses in it are written when the program starts.
  const isRelocated = module.flag("PIC Level") !== undefined && ownReferences(variable).size > 0;
  return isRelocated ? ".data.rel.ro" : ".rodata";
}
