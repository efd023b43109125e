/** tsc-cc's own options, for `--help`, the manual page and completions; all others are clang's. */
import type { DescribedGroup } from "../lto/help.js";

/** A test holds that the driver takes each of them itself, and no others. */
export const ccOptions: readonly DescribedGroup[] = [
  {
    heading: "Compilers",
    rows: [
      {
        flags: "--clang=<path>",
        text: "the clang to use; embedded: the one that comes with this program (default: $TSC_LTO_CLANG, else the newest on PATH, else embedded)",
      },
      {
        flags: "--codegen=<generator>",
        text: "who generates the code of the whole program: this program, or LLVM in clang (own, llvm; default: own for x86-64, llvm for all else)",
        choices: ["own", "llvm"],
      },
      {
        flags: "--driver-mode=<mode>",
        text: "be tsc-cc (gcc) or tsc-c++ (g++)",
        choices: ["gcc", "g++"],
      },
      { flags: "-j <n>", text: "sources to compile at one time (default: the number of cores)" },
    ],
  },
  {
    heading: "Objects",
    rows: [
      {
        flags: "-fdefer-inlining, -fno-defer-inlining",
        text: "at -Os and -Oz leave inlining to the link, where copies of a function in several files can be folded before (default: clang inlines in each file)",
      },
      {
        flags: "-felf-objects, -fno-elf-objects",
        text: "objects with the symbols that nm, ar and others read, or IR alone (default: with symbols)",
      },
      {
        flags: "-ffat-lto-objects, -fno-fat-lto-objects",
        text: "objects with machine code beside the IR, for linkers that do not know it; needs a system clang (default: without)",
      },
      {
        flags: "--error-unsupported",
        text: "what tsc-lto cannot compile is an error; else the system's clang compiles it, with a warning",
      },
    ],
  },
  {
    heading: "Links",
    rows: [
      {
        flags: "-Wl,--<option>",
        text: "an option of tsc-lto or of the linker (-Wl,--no-outline,--skip-pass=gvn); -Wl,--tsc-lto=OPTION where both have one of the name",
      },
      { flags: "-fuse-ld=<linker>", text: "the linker that links the code: lld-22, mold, … or a path" },
      { flags: "--ld-path=<path>", text: "the same by its path", file: "file" },
    ],
  },
  {
    heading: "Messages",
    rows: [
      { flags: "-v", text: "show which clang runs, and all commands" },
      { flags: "--help", text: "show the options that clang does not have" },
      { flags: "--help-all", text: "show clang's too" },
    ],
  },
];
