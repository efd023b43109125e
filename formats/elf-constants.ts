/** Names and numbers of the ELF format (System V ABI, chapter 4; GNU's and LLVM's where they are said to be). */

export const SHT_PROGBITS = 1;
export const SHT_SYMTAB = 2;
export const SHT_STRTAB = 3;
export const SHT_RELA = 4;
export const SHT_NOTE = 7;
export const SHT_NOBITS = 8;
export const SHT_REL = 9;
/** LLVM's: bitcode beside the code of a fat object. */
export const SHT_LLVM_LTO = 0x6fff4c0c;
export const SHF_WRITE = 1;
export const SHF_ALLOC = 2;
export const SHF_EXECINSTR = 4;
export const SHF_INFO_LINK = 0x40;
export const SHF_TLS = 0x400;
/** GNU's and LLVM's: not in the output of a link. */
export const SHF_EXCLUDE = 0x80000000;
export const SHN_UNDEF = 0;
export const SHN_ABS = 0xfff1;
export const SHN_COMMON = 0xfff2;
export const STB_LOCAL = 0;
export const STB_GLOBAL = 1;
export const STB_WEAK = 2;
export const STT_NOTYPE = 0;
export const STT_OBJECT = 1;
export const STT_FUNC = 2;
export const STT_FILE = 4;
export const STT_TLS = 6;
export const STT_GNU_IFUNC = 10;
export const ELFOSABI_GNU = 3;
export const ET_REL = 1;

/** Of a shell: the section that has the IR. */
export const irSection = ".tsc_lto";
/** Of a shell: the section that linkers which do not know the former fail at. */
export const noteSection = ".note.tsc-lto";
