/**
 * Machines that LLVM generates the code for: how their programs are compiled, linked and run here.
 *
 * Linux programs are dynamically linked against Debian's cross C libraries and run by qemu's user mode. Bare-metal ones are
 * linked with newlib or picolibc, reach files by semihosting, and run on a board that qemu emulates.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "../root.js";

export interface LinkWords {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** C sources of native objects that belong to the board. */
  readonly sources: readonly (readonly [name: string, text: string])[];
}

export interface Machine {
  readonly name: string;
  readonly isBare: boolean;
  /** Words of both steps, for clang and for tsc-cc. */
  readonly words: readonly string[];
  /** Words of compilations only. */
  readonly compile: readonly string[];
  /**
   * Words of the link step around the program's own inputs.
   * @param dir a folder for files that linking needs
   */
  link(dir: string): LinkWords;
  /** Words that run a program that has an operating system. */
  readonly emulator: readonly string[];
  /** A shell command that runs the program. Its arguments are the script's (`$@`). */
  run(program: string): string;
  /** What has to be installed, as paths or names of programs, with the Debian packages they come from. */
  readonly needs: readonly (readonly [what: string, debian: string])[];
}

function linux(name: string, triple: string, more: readonly string[] = []): Machine {
  const emulator = `qemu-${triple.split("-", 1)[0]!}`;
  return {
    name,
    isBare: false,
    words: [`--target=${triple}`, "-fuse-ld=lld", "-fPIE", ...more],
    compile: [],
    link: () => ({ before: ["-pie"], after: [], sources: [] }),
    emulator: [emulator, "-L", `/usr/${triple}`],
    run: (program) => `exec ${emulator} -L /usr/${triple} ${program} "$@"`,
    needs: [
      [emulator, "qemu-user"],
      [`/usr/${triple}/lib/libc.so.6`, `libc6-dev-${name.startsWith("aarch64") ? "arm64" : "riscv64"}-cross`],
    ],
  };
}

/**
 * Command-line arguments for qemu's semihosting, from those of the shell script. The start-up code of newlib takes the first
 * for the name of the program, that of picolibc has one of its own. What programs print qemu prints as errors.
 */
const semihostingArguments = 'a=""; for x in "$@"; do a="$a,arg=$x"; done';

/** Headers of small C libraries lack what programs ask for in vain. */
const implicit = "-Wno-implicit-function-declaration";

/** The flash has the code; what is written starts a long way above, as on most boards of this kind. */
const cortexScript = `ENTRY(_start)
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x21000000, LENGTH = 16M }
SECTIONS {
  .vectors : { KEEP(*(.isr_vector)) } > FLASH
  .text : { *(.text*) KEEP(*(.init)) KEEP(*(.fini)) } > FLASH
  .rodata : { *(.rodata*) } > FLASH
  .init_array : {
    __preinit_array_start = .; KEEP(*(.preinit_array)) __preinit_array_end = .;
    __init_array_start = .; KEEP(*(SORT(.init_array.*))) KEEP(*(.init_array)) __init_array_end = .;
    __fini_array_start = .; KEEP(*(.fini_array)) __fini_array_end = .;
  } > FLASH
  .ARM.extab : { *(.ARM.extab*) } > FLASH
  .ARM.exidx : { __exidx_start = .; *(.ARM.exidx*) __exidx_end = .; } > FLASH
  .data : { *(.data*) } > RAM
  .bss : { __bss_start__ = .; *(.bss*) *(COMMON) __bss_end__ = .; } > RAM
  end = .; _end = .; __end__ = .;
  __stack = ORIGIN(RAM) + LENGTH(RAM);
}
`;

/** The loader of qemu writes variables where they live, so that nothing has to copy them. */
const cortexVectors = `__asm__(".section .isr_vector,\\"a\\",%progbits\\n.global vectors\\nvectors: .word __stack\\n.word _start\\n.fill 62,4,0\\n");\n`;

function cortexM3(): Machine {
  const newlib = "/usr/lib/arm-none-eabi/newlib/thumb/v7-m/nofp";
  const versions = "/usr/lib/gcc/arm-none-eabi";
  const gcc = join(
    versions,
    existsSync(versions) ? (readdirSync(versions).at(-1) ?? "") : "",
    "thumb/v7-m/nofp",
  );
  return {
    name: "cortex-m3",
    isBare: true,
    words: ["--target=thumbv7m-none-eabi", "-mcpu=cortex-m3", "-mfloat-abi=soft", "-fuse-ld=lld"],
    compile: ["-isystem", "/usr/include/newlib", implicit],
    link(dir) {
      const script = join(dir, "cortex.ld");
      writeFileSync(script, cortexScript);
      return {
        before: [
          "-nostdlib",
          "-static",
          "-T",
          script,
          `${newlib}/rdimon-crt0.o`,
          `${gcc}/crti.o`,
          `${gcc}/crtbegin.o`,
        ],
        after: [
          ...[
            `-L${newlib}`,
            `-L${gcc}`,
            "-Wl,--start-group",
            "-lc",
            "-lm",
            "-lrdimon",
            "-lgcc",
            "-Wl,--end-group",
          ],
          ...[`${gcc}/crtend.o`, `${gcc}/crtn.o`],
        ],
        sources: [["vectors", cortexVectors]],
      };
    },
    emulator: [],
    run: (program) =>
      `${semihostingArguments}; exec qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none -semihosting-config "enable=on,target=native,arg=x$a" -kernel ${program} 2>&1 < /dev/null`,
    needs: [
      ["qemu-system-arm", "qemu-system-arm"],
      [newlib, "libnewlib-arm-none-eabi"],
      [gcc, "gcc-arm-none-eabi"],
    ],
  };
}

/** All in the board's memory. Variables are where they are loaded: the start-up code copies nothing. */
const virtScript = `ENTRY(_start)
MEMORY { RAM (rwx) : ORIGIN = 0x80000000, LENGTH = 64M }
SECTIONS {
  .init : { KEEP(*(.text.init.enter)) KEEP(*(.init)) } > RAM
  .text : { *(.text*) KEEP(*(.fini)) } > RAM
  .rodata : { *(.rodata*) *(.srodata*) } > RAM
  .init_array : {
    . = ALIGN(8);
    __preinit_array_start = .; KEEP(*(.preinit_array)) __preinit_array_end = .;
    __init_array_start = .; KEEP(*(SORT(.init_array.*))) KEEP(*(.init_array)) __init_array_end = .;
    __fini_array_start = .; KEEP(*(.fini_array)) __fini_array_end = .;
  } > RAM
  .eh_frame : { *(.eh_frame) } > RAM
  .data : { . = ALIGN(8); *(.data*) . = ALIGN(8); __global_pointer$ = . + 0x800; *(.sdata*) } > RAM
  .tdata : { __tls_base = .; *(.tdata*) } > RAM
  .tbss (NOLOAD) : { *(.tbss*) } > RAM
  .room (NOLOAD) : { . = . + SIZEOF(.tbss); } > RAM
  .bss (NOLOAD) : { . = ALIGN(8); __bss_start = .; *(.sbss*) *(.bss*) *(COMMON) . = ALIGN(8); __bss_end = .; } > RAM
  __data_start = ADDR(.data); __data_source = ADDR(.data); __data_size = 0;
  __bss_size = __bss_end - __bss_start;
  __heap_start = __bss_end; __heap_end = 0x83f00000; __stack = 0x84000000; end = .; _end = .;
}
`;

function riscv32(name: string, more: readonly string[] = []): Machine {
  const picolibc = "/usr/lib/picolibc/riscv64-unknown-elf";
  const versions = "/usr/lib/gcc/riscv64-unknown-elf";
  const gcc = join(
    versions,
    existsSync(versions) ? (readdirSync(versions).at(-1) ?? "") : "",
    "rv32imac/ilp32",
  );
  const lib = `${picolibc}/lib/rv32imac/ilp32`;
  return {
    name,
    isBare: true,
    words: [
      ...[
        "--target=riscv32-unknown-elf",
        "-march=rv32imac",
        "-mabi=ilp32",
        "-fuse-ld=lld",
        "-ftls-model=local-exec",
      ],
      ...more,
    ],
    compile: ["-isystem", `${picolibc}/include`, implicit],
    link(dir) {
      const script = join(dir, "virt.ld");
      writeFileSync(script, virtScript);
      return {
        before: [
          "-nostdlib",
          "-static",
          "-T",
          script,
          `${lib}/crt0-semihost.o`,
          "-Wl,--defsym=vfprintf=__d_vfprintf",
        ],
        after: [`-L${lib}`, `-L${gcc}`, "-Wl,--start-group", "-lc", "-lsemihost", "-lgcc", "-Wl,--end-group"],
        sources: [],
      };
    },
    emulator: [],
    run: (program) =>
      `${semihostingArguments}; exec qemu-system-riscv32 -M virt -bios none -nographic -monitor none -serial none -semihosting-config "enable=on,target=native$a" -kernel ${program} 2>&1 < /dev/null`,
    needs: [
      ["qemu-system-riscv32", "qemu-system-misc"],
      [lib, "picolibc-riscv64-unknown-elf"],
      [gcc, "gcc-riscv64-unknown-elf"],
    ],
  };
}

/** The machine that this runs on, as LLVM generates code for it; `-m32`: its predecessor. */
function native(name: string, more: readonly string[], needs: Machine["needs"]): Machine {
  return {
    name,
    isBare: false,
    words: ["-fuse-ld=lld", "-fPIE", ...more],
    // Where headers of the kernel are that both share.
    compile: ["-idirafter", "/usr/include/x86_64-linux-gnu"],
    link: () => ({ before: ["-pie"], after: [], sources: [] }),
    emulator: [],
    run: (program) => `exec ${program} "$@"`,
    needs,
  };
}

export const machines: readonly Machine[] = [
  linux("aarch64", "aarch64-linux-gnu"),
  linux("riscv64", "riscv64-linux-gnu"),
  linux("riscv64-save-restore", "riscv64-linux-gnu", ["-msave-restore"]),
  riscv32("riscv32"),
  riscv32("riscv32-save-restore", ["-msave-restore"]),
  cortexM3(),
  native("i386", ["-m32"], [["/usr/lib32/crt1.o", "libc6-dev-i386"]]),
  native("x86-64", [], []),
];

/** Debian packages that a machine lacks here. */
export const missing = ({ needs }: Machine): string[] =>
  needs.flatMap(([what, debian]) =>
    (what.startsWith("/") ? existsSync(what) : findProgram(what) !== undefined) ? [] : [debian],
  );

/** @throws Error when there is none of the name */
export function machineNamed(name: string): Machine {
  const found = machines.find((machine) => machine.name === name);
  if (found === undefined)
    throw new Error(`no machine '${name}'; there are: ${machines.map((m) => m.name).join(" ")}`);
  return found;
}
